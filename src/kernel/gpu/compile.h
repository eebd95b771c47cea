/*
 * Compiles a finished source (source.h) for a GPU, with the options that the language needs for equal bits.
 */
#ifndef STI_KERNEL_GPU_COMPILE_H
#define STI_KERNEL_GPU_COMPILE_H

#include "kernel/gpu/rtc.h"
#include "kernel/gpu/teams.h"
#include "kernel/compile/user_source.h"

/* A compilation: source, target and team. All pointers are borrowed. */
typedef struct sti_gpu_program {
    const sti_rtc *rtc; /* NULL, and no target: for a key without a compiler */
    const sti_compile_target *target;
    const char *arch; /* of the device */
    sti_team team;
    const sti_user_source *source;
} sti_gpu_program;

/*
 * Writes the key of the code, a text of lines with everything that the code depends on and nothing else. Without a
 * compiler it determines what the code does, which is what shipped code needs; the compiler, its version and its own
 * options determine the bytes.
 */
stet_result sti_gpu_key(const sti_gpu_program *program, const sti_signature *const *kernel, int nkernel,
                        sti_text_buffer *out);
/* Adds the compiler to a key that was written without one. */
stet_result sti_gpu_key_compiler(const sti_gpu_program *program, sti_text_buffer *key);
/*
 * Compiles and adds the code to `object`. STET_ERROR_PARSE: errors in the source, with its files and lines. May be
 * called from any thread if rtc.parallel.
 */
stet_result sti_gpu_compile(const sti_gpu_program *program, sti_text_buffer *object);

#endif
