/*
 * Compiles a kernel's source for the CPU with the system's C compiler and the same flags as the library's own kernels.
 */
#ifndef STI_KERNEL_COMPILE_COMPILE_CPU_H
#define STI_KERNEL_COMPILE_COMPILE_CPU_H

#include "device/isa.h"
#include "kernel/compile/user_source.h"

enum { STI_COMPILER_WORDS = 8 };

typedef struct sti_compiler {
    char *path;
    sti_text_buffer version; /* what it prints for --version */
    /* the words behind the program's name in CC: "ccache gcc", "gcc -m64" */
    char *words, *argument[STI_COMPILER_WORDS];
    int nargument;
    int patience; /* ms after which a line in the log says that compiling takes long */
} sti_compiler;

/* Finds a compiler and asks for its version. name NULL: the environment variable CC, else "cc". */
stet_result sti_compiler_open(const char *name, sti_compiler *out);
void sti_compiler_close(sti_compiler *c);

/* Adds the functions that the device calls, one for each kernel, to the text of a checked source. */
stet_result sti_compile_finish(sti_user_source *source);
/*
 * Writes the key of the code, a text of lines with everything that the code depends on and nothing else. `source` is
 * finished. The compiler comes last; c NULL: the key has no compiler. Two compilers may make different bytes of a
 * source, but the results are the same, so the text before the compiler determines what the code does.
 */
stet_result sti_compile_key(const sti_compiler *c, sti_isa isa, const sti_user_source *source, sti_text_buffer *out);
/*
 * Compiles. The object, a shared library with a function sti_<kernel>__<isa> for each kernel, is added to `object`.
 * Errors in the source are STET_ERROR_PARSE: one sentence with the compiler's first few errors, with the user's files
 * and lines.
 */
stet_result sti_compile_cpu(const sti_compiler *c, sti_isa isa, const sti_user_source *source, sti_text_buffer *object);

#endif
