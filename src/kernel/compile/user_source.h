/*
 * The source of a kernel of the user's as one text: the file (or string) with everything that it includes put in its
 * place.
 *
 * Invariants:
 *   SOURCE-1  the text is all that a compiler sees: it opens no file of the user's, so whatever goes into the code is in the
 *       text
 *   SOURCE-2  files are named <0>, <1>, … in the text's #line, so it does not depend on where they lie;
 *       sti_user_source_explain puts their names into what a compiler says.
 *       With def.files all files have their own names there
 *   SOURCE-3  a file is read once, however often it is included
 *   SOURCE-4  the checker and the compiler see the same lines of the user's files, under the same names
 */
#ifndef STI_KERNEL_COMPILE_USER_SOURCE_H
#define STI_KERNEL_COMPILE_USER_SOURCE_H

#include "kernel/compile/text_buffer.h"
#include "kernel/check/check.h"

enum { STI_SOURCE_MAX_DEPTH = 32, STI_SOURCE_MAX_SIZE = 1 << 24 };

typedef struct sti_user_source_def {
    const char *text;            /* the source itself; NULL: the file `path` holds it */
    const char *path;            /* with a text: what messages call it; no file of that name is opened */
    const char *const *includes; /* folders in which `#include "…"` looks, after that of the including file */
    int ninclude;
    const struct sti_embedded *files; /* also found, before the folders, by their names (language.h); NULL: none */
    bool gpu;                         /* without the slots of the CPU's calls */
} sti_user_source_def;

typedef struct sti_user_source_file {
    char *name; /* for messages */
    char *real; /* without links; what tells files apart */
    sti_text_buffer text;
    bool embedded; /* carried in the library: a header of the language, or one of def.files */
    bool language; /* a header of the language */
    bool open;     /* being expanded now */
} sti_user_source_file;

typedef struct sti_user_source {
    sti_text_buffer text;       /* for the compiler: the language's headers, then file[0] */
    sti_text_buffer own;        /* for the checker, which knows the language: the same without its headers */
    sti_user_source_file *file; /* file[0]: the one that was asked for */
    int nfile;
    bool named;            /* #line has the files' own names */
    sti_signature *kernel; /* of file[0]; made by sti_user_source_check */
    int nkernel;
} sti_user_source;

/*
 * On failure out holds nothing. A file that is included but not found, or a header of somebody else's, becomes an
 * #error in its place: it matters only where the compiler gets there.
 */
stet_result sti_user_source_read(const sti_user_source_def *def, sti_user_source *out);
void sti_user_source_free(sti_user_source *s);
/* Says in the text that what follows is this line of file[0]. */
void sti_user_source_mark(sti_user_source *s, int line);
/*
 * Holds the source to the language's rules, for a device of this configuration, and fills its kernels. STET_PARSE: the first few
 * mistakes in one sentence, each with file, line, column and what is wanted instead.
 */
stet_result sti_user_source_check(sti_user_source *s, const sti_check_options *options);
/* Adds what the compiler said to `out`, with the files' own names. */
void sti_user_source_explain(const sti_user_source *s, const char *said, size_t size, sti_text_buffer *out);

#endif
