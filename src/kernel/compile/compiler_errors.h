/*
 * Makes one sentence of a compiler's output.
 */
#ifndef STI_KERNEL_COMPILE_COMPILER_ERRORS_H
#define STI_KERNEL_COMPILE_COMPILER_ERRORS_H

#include "kernel/compile/user_source.h"

/*
 * Returns the result of a failed compilation. If the output has errors it is STET_ERROR_PARSE with the first few of
 * them as FILE:LINE …, else STET_ERROR_IO with the first few lines. `compiler` names the compiler in messages
 * ("compiler /usr/bin/cc failed (status 1)").
 */
stet_result sti_compiler_errors_report(const char *compiler, const sti_user_source *source,
                                       const sti_text_buffer *said);

#endif
