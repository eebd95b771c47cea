/*
 * Code of the library's kernels that was compiled before it was installed, and lies beside it: a folder `gpu_code` of
 * entries under keys without a compiler (compile/compiled.h). A first step needs no compiler then. Which compiler made
 * the code does not matter for results: the options leave it no choice in arithmetic (compile.h).
 *
 * Invariants:
 *   SHIPPED-1  the folder is only read
 *   SHIPPED-2  it is trusted as the library is, beside which it lies, or as the environment, which may name it
 */
#ifndef STI_KERNEL_GPU_SHIPPED_H
#define STI_KERNEL_GPU_SHIPPED_H

#include "device/device.h"
#include "kernel/compile/text_buffer.h"
#include "kernel/language.h"

/*
 * Adds the folder's path to `out`: $STET_GPU_CODE_FOLDER, or the first that exists of those beside the library or the
 * program that it is a part of. Nothing: there is none.
 */
stet_result sti_shipped_folder(sti_text_buffer *out);

/*
 * What a first run of any scene launches, for one architecture: the kernels of a table of sources with the teams that
 * they have by themselves, arguments by value, and the condition of loops in graphs. Code for one model or scene is not
 * among it.
 */
typedef struct sti_fill_def {
    const char *arch;            /* "sm_90", "gfx90a" */
    const sti_embedded *sources; /* sti_kernel_sources */
    const char *folder;          /* a cache's (compile/cache.h); NULL: the default one */
    bool shipped;                /* under keys without a compiler, to be shipped; else as a device would keep it */
    const char *compiler;        /* the library to compile with; NULL: the best that is installed */
} sti_fill_def;

/*
 * Checks what can be asked before minutes are spent. STET_ERROR_INVALID_ARGUMENT: there is no such architecture.
 * STET_ERROR_NOT_FOUND: there is no compiler. STET_ERROR_UNSUPPORTED: it does not know the architecture, or the folder
 * cannot be used.
 */
stet_result sti_fill_check(const sti_fill_def *def);
/*
 * Compiles what the folder does not have, with the threads of a host device, whose counters say what was there and what
 * was not. No GPU is needed. It checks first.
 */
stet_result sti_fill(stet_device *host, const sti_fill_def *def);
/* Counts the codes that `def` asks for, and those that its folder has to ship. No compiler is needed. */
stet_result sti_fill_count(const sti_fill_def *def, int *there, int *asked);

#endif
