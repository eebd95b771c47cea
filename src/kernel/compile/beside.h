/*
 * A compilation in a thread of its own, while the caller goes on (mechanism kernel_cache).
 *
 * Invariants:
 *   BESIDE-1  the thread compiles and stores what it compiled; only the caller's thread counts and writes messages
 *   BESIDE-2  a compilation that has begun ends, and what it makes is kept for the next time. Its device may leave it;
 *       the end of the process by exit() waits for it, because the thread is in a vendor's library. Only _exit() stops
 *       it: the command ends by that, and so does a process that called stet_leave_code_at_exit
 *   BESIDE-3  in the child of a fork, which has no such thread, it has failed
 */
#ifndef STI_KERNEL_COMPILE_BESIDE_H
#define STI_KERNEL_COMPILE_BESIDE_H

#include "kernel/compile/cached_compile.h"

typedef struct sti_beside sti_beside;

/*
 * Fills wanted->object from the cache and sets *out to NULL. If the cache does not have it, and unless `only_look`, a
 * thread begins to compile it; `wanted`, what its context points to, and the folder stay as they are until
 * sti_beside_end.
 */
stet_result sti_beside_begin(stet_device *device, const sti_cache_options *keeping, sti_compile_request *wanted,
                             bool only_look, sti_beside **out);
bool sti_beside_is_done(const sti_beside *it);
/* Does the process have such a thread? */
bool sti_beside_is_running(void);
/* Waits until at least one of them is done. */
void sti_beside_wait(sti_beside *const *all, int n);
/* Waits until it is done, counts it and frees it. The result is that of the compilation. */
stet_result sti_beside_end(stet_device *device, sti_beside *it);
/*
 * Nobody waits for it any more: the thread keeps what it makes in the cache, then calls drop(context), which frees
 * what the thread uses, and frees `it`. False: it has ended already, so the caller calls sti_beside_end.
 */
bool sti_beside_leave(sti_beside *it, void (*drop)(void *context), void *context);

#endif
