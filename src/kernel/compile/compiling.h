/*
 * What the process waits for compilers to make: for a line that shows it, and for a signal that ends the process then.
 *
 * Invariant: a call is counted from its first compilation to its last, whatever comes of it.
 */
#ifndef STI_KERNEL_COMPILE_COMPILING_H
#define STI_KERNEL_COMPILE_COMPILING_H

#include <stdbool.h>

typedef struct sti_compiling {
    bool waits;      /* a call waits now */
    int done, total; /* of what the calls that wait have asked for */
    double since;    /* seconds that they have waited */
    double seconds;  /* that the process has waited so far, these included */
    char what[48];   /* what began last: the end of its name */
} sti_compiling;

void sti_compiling_begin(const char *what, int n);
void sti_compiling_name(const char *what); /* this one begins; from any thread */
void sti_compiling_done(void);             /* one of them ended; from any thread */
void sti_compiling_end(void);
/* Called where a call begins to wait. NULL: nothing is. */
void sti_compiling_on_wait(void (*hook)(void));

sti_compiling sti_compiling_look(void);
/* Does a call wait? Safe in a signal handler. */
bool sti_compiling_waits(void);

#endif
