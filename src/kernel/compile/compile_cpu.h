/*
 * Compiling a kernel's source for the CPU with the system's C compiler, with the very flags of the library's own
 * kernels.
 */
#ifndef STI_KERNEL_COMPILE_COMPILE_CPU_H
#define STI_KERNEL_COMPILE_COMPILE_CPU_H

#include "device/isa.h"
#include "kernel/compile/user_source.h"

typedef struct sti_compiler {
    char *path;
    sti_text_buffer version; /* what it says of itself */
} sti_compiler;

/* name NULL: "cc". Finds it and asks for its version. */
stet_result sti_compiler_open(const char *name, sti_compiler *out);
void sti_compiler_close(sti_compiler *c);

/* Adds to the text of a source that was checked the functions that the device calls, one for each kernel. */
stet_result sti_compile_finish(sti_user_source *source);
/* All that the code depends on, as a text of lines; nothing else. `source` is finished. */
stet_result sti_compile_key(const sti_compiler *c, sti_isa isa, const sti_user_source *source, sti_text_buffer *out);
/*
 * The compiled object, a shared library with a function sti_<kernel>__<isa> for each kernel, is added to `object`. What
 * the compiler has to say about the source is STET_PARSE, its first few errors in one sentence with the user's files
 * and lines.
 */
stet_result sti_compile_cpu(const sti_compiler *c, sti_isa isa, const sti_user_source *source, sti_text_buffer *object);

#endif
