/*
 * The source of a user's kernel as one text: the file (or string) with every include replaced by the file's text.
 *
 * Invariants:
 *   SOURCE-1  the compiler sees only this text and opens no file of the user's, so everything that affects the code is
 *       in the text
 *   SOURCE-2  in the text's #line directives files are named <0>, <1>, …, so the text does not depend on where the
 *       files are. sti_user_source_explain replaces these names in a compiler's output. With def.files or
 *       def.tree, #line has the files' own names
 *   SOURCE-3  a file is read once, however often it is included
 *   SOURCE-4  the checker and the compiler see the same lines of the user's files, under the same names
 */
#ifndef STI_KERNEL_COMPILE_USER_SOURCE_H
#define STI_KERNEL_COMPILE_USER_SOURCE_H

#include "kernel/compile/text_buffer.h"
#include "kernel/check/check.h"

enum { STI_SOURCE_MAX_DEPTH = 32, STI_SOURCE_MAX_SIZE = 1 << 24 };

typedef struct sti_user_source_def {
    const char *text; /* the source; NULL: the file `path` has it */
    /* With a text: the name of the source in messages; no file of that name is opened. */
    const char *path;
    const char *const *includes; /* folders in which `#include "…"` searches after the including file's own folder */
    int ninclude;
    /* Sources that are found by name before the folders (language.h); NULL: none. */
    const struct sti_embedded *files;
    bool gpu;  /* for a GPU: without the slots of the CPU's calls */
    bool tree; /* for the checker alone: `text` lacks the language; #line has the files' own names */
} sti_user_source_def;

typedef struct sti_user_source_file {
    char *name; /* for messages */
    char *real; /* the path without links; identifies the file */
    sti_text_buffer text;
    bool embedded; /* from the library: a header of the language, or one of def.files */
    bool language; /* a header of the language */
    bool open;     /* it is being expanded now */
    bool done;     /* it is in the text, and its guard would skip it from now on */
} sti_user_source_file;

typedef struct sti_user_source {
    sti_text_buffer text;       /* for the compiler: the language's headers, then file[0] */
    sti_text_buffer own;        /* for the checker, which knows the language: the text without the language's headers */
    sti_user_source_file *file; /* file[0]: the source itself */
    int nfile;
    bool named;            /* #line has the files' own names */
    sti_signature *kernel; /* the kernels of file[0]; filled by sti_user_source_check */
    int nkernel;
} sti_user_source;

/*
 * Reads a source. On failure out is empty. An included file that is not found, and a system header, become an #error in
 * their place, so they matter only if the compiler reaches them.
 */
stet_result sti_user_source_read(const sti_user_source_def *def, sti_user_source *out);
void sti_user_source_free(sti_user_source *s);
/* Adds a #line directive: the next line is this line of file[0]. */
void sti_user_source_mark(sti_user_source *s, int line);
/*
 * Checks the source against the language's rules, for a device with these options, and fills its kernels.
 * STET_ERROR_PARSE: the first few mistakes in one sentence, each with file, line, column and how to correct it.
 */
stet_result sti_user_source_check(sti_user_source *s, const sti_check_options *options);
/*
 * Checks a source for its tree alone, with the files' own names; results as of sti_check_source and
 * sti_user_source_read. The caller destroys *out; it is NULL unless the result is STET_OK or STET_ERROR_PARSE.
 */
stet_result sti_user_source_unit(const sti_user_source_def *def, const sti_check_options *options, sti_unit **out);
/* Adds a compiler's output to `out`, with the files' own names. */
void sti_user_source_explain(const sti_user_source *s, const char *said, size_t size, sti_text_buffer *out);

#endif
