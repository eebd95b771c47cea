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
    const sti_rtc *rtc;
    const sti_compile_target *target;
    const char *arch; /* of the device */
    sti_team team;
    const sti_user_source *source;
} sti_gpu_program;

/* Writes the key of the code, a text of lines with everything that the code depends on and nothing else. */
stet_result sti_gpu_key(const sti_gpu_program *program, const sti_signature *const *kernel, int nkernel,
                        sti_text_buffer *out);
/*
 * Compiles and adds the code to `object`. STET_ERROR_PARSE: errors in the source, with its files and lines. May be
 * called from any thread if rtc.parallel.
 */
stet_result sti_gpu_compile(const sti_gpu_program *program, sti_text_buffer *object);

#endif
