/*
 * The state that all adjoints of a device share: the memory of their stacks, known sizes, the registry of ids, and the
 * check of their overflow flags. It exists while an adjoint exists and until all errors were reported.
 *
 * A launch whose stack is too short sets a flag, `tape_overs`, and stops there. The host does not wait for that flag
 * after a launch. It reads the flag before the next host read of any array (STACKS-1). A launch whose sizes come from
 * memory that code outside of stet can write is checked at once (launch.c).
 *
 * Invariants:
 *   STACKS-1  between a launch whose stack was too short and the error that reports it, no host read of any array
 *       succeeds
 *   STACKS-2  flags are read only if a launch or replay that can set them has run since the last read. Versions tell
 *   STACKS-3  on the device, gradients of such a launch are NaN: what reads them there, and never asks the host, cannot
 *       take them for gradients
 */
#ifndef STI_ADJOINT_LAUNCH_STACKS_H
#define STI_ADJOINT_LAUNCH_STACKS_H

#include "adjoint/launch/gather.h"
#include "adjoint/launch/spill_pool.h"
#include "adjoint/sizing/reduce.h"
#include "stet/adjoint.h"

/*
 * A registry of ids that are hashes of content. Each user of an id registers its content, so two different contents
 * with the same id are detected, in any order.
 */
typedef struct sti_ids {
    struct sti_id *first;
} sti_ids;

/*
 * Registers a user of an id. STATE: the id has another content; nothing was added. `what` names the user in messages.
 */
stet_result sti_ids_add(sti_ids *ids, uint64_t id, const char *content, const char *what);
/* Removes a user of an id. An id that was never added is allowed. */
void sti_ids_drop(sti_ids *ids, uint64_t id);

typedef struct sti_stacks {
    stet_device *device;
    sti_spill_pool spill_pool;
    sti_known known;
    sti_ids ids;
    sti_gathering *gathering; /* NULL: not needed so far */
    stet_array *found;        /* results of the check: [block] (place, mark); NULL: not needed so far */
    stet_adjoint *first;      /* list of the device's adjoints, linked by `next` */
    bool checking;            /* the flags are being read */
    /* An overflow of an adjoint that was destroyed, not reported yet; with its message. */
    bool unreported;
    char message[320];
} sti_stacks;

/* Adds the adjoint to its device's stacks, which the first adjoint creates and the last one destroys. */
stet_result sti_stacks_join(stet_adjoint *adjoint);
void sti_stacks_leave(stet_adjoint *adjoint);
/* Bytes of stacks and lists that the device has now. */
int64_t sti_stacks_bytes(const stet_device *device);

/* Makes room for n flags, all zero. */
stet_result sti_flags_room(stet_adjoint *adjoint, int64_t n);
/*
 * *mark: the mark (adjoint.h) of the first stack, in the order of worlds and columns, that was too short since the last
 * check; 0: none.
 */
stet_result sti_flags_check(stet_adjoint *adjoint, int64_t *mark);

/*
 * Launches what makes the gradients of a launch over `count` NaN if a stack was too short: those of the worlds that it
 * was of, or all of an item kernel's. (STACKS-3)
 */
stet_result sti_flags_poison(stet_adjoint *adjoint, int64_t count, int64_t width, stet_array *const *gradients);

/* Makes the error about a stack that was too short. */
stet_result sti_overflow_error(const stet_adjoint *adjoint, int64_t mark, int64_t had, const char *needed);

#endif
