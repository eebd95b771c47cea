/*
 * The source of a program of the double's compiler: files in a folder of its own, the entry points found in it, the run
 * of the system's compiler, and what that says.
 */
#ifndef TEST_DOUBLE_SOURCE_H
#define TEST_DOUBLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct dd_text {
    char *text;
    size_t size;
} dd_text;
void dd_text_say(dd_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct dd_source {
    char folder[64];        /* "": not made */
    char file[512];         /* the program's */
    char name[256];         /* of it, as the program has it */
    char *tail;             /* what is put behind the source: a description of each entry point */
    unsigned long long key; /* of all its text */
} dd_source;

bool dd_source_make(dd_source *out, const char *text, const char *name, int nheader, const char *const *headers,
                    const char *const *names);
void dd_source_drop(dd_source *source);
/* Arguments end with NULL and have room for six more. `brackets`: lines as in file(3). False: it does not compile. */
bool dd_source_compile(const dd_source *source, const char **arguments, const char *arch, bool brackets, dd_text *log,
                       dd_text *code);

#endif
