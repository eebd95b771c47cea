/*
 * Code of kernels that was compiled before, found without a compiler.
 *
 * A key without a compiler (sti_compile_key) says all that code does; a compiler's name and version say which bytes.
 */
#ifndef STI_KERNEL_COMPILE_COMPILED_H
#define STI_KERNEL_COMPILE_COMPILED_H

#include "kernel/compile/cache.h"

/* Code that came with the program, in a folder of entries `<id>.kernel` under keys without a compiler. An entry that is not whole is not found. */
stet_result sti_compiled_shipped(const char *folder, const sti_cache_key *key, sti_text_buffer *object, bool *found);
/* Writes such an entry; the folder is there. */
stet_result sti_compiled_ship(const char *folder, const sti_cache_key *key, const sti_text_buffer *object);

/*
 * `key`, without a compiler, becomes that of an entry of the user's cache (folder NULL: the default one) that some compiler made; of several, of the
 * one that was used last. STET_NOT_FOUND: there is none; the sentence is the one that the caller had before (that there is no compiler).
 */
stet_result sti_compiled_by_any(const char *folder, sti_text_buffer *key);

#endif
