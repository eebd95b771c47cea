/*
 * Finds code that was compiled before, without a compiler.
 *
 * A key without a compiler (sti_compile_key) determines what the code does. A compiler's name and version determine its
 * bytes.
 */
#ifndef STI_KERNEL_COMPILE_COMPILED_H
#define STI_KERNEL_COMPILE_COMPILED_H

#include "kernel/compile/cache.h"

/*
 * Loads code that was shipped with a program: a folder of entries `<id>.kernel` under keys without a compiler, which is
 * only read. With STI_FOUND the code was added to `object`. Fails only for lack of memory.
 */
stet_result sti_compiled_shipped(const char *folder, const sti_cache_key *key, sti_text_buffer *object,
                                 sti_verdict *verdict);
/* Writes such an entry into an existing folder. */
stet_result sti_compiled_ship(const char *folder, const sti_cache_key *key, const sti_text_buffer *object);

/*
 * Looks in the user's cache (folder NULL: the default one) for an entry that any compiler made of `key`, which has no
 * compiler. *key becomes the key of that entry, of several the one used last. STET_ERROR_NOT_FOUND: there is none; the
 * message then is the one that was set before the call (that there is no compiler).
 */
stet_result sti_compiled_by_any(const char *folder, sti_text_buffer *key);

#endif
