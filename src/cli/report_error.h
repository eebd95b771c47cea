/*
 * Errors of the command: one line on standard error, and the exit code.
 *
 * Invariant: a run that ends with EXIT_INPUT has written nothing, and nothing is on standard output unless it succeeds.
 */
#ifndef STI_CLI_REPORT_ERROR_H
#define STI_CLI_REPORT_ERROR_H

enum {
    EXIT_WORK = 1, /* the request is valid, but the work failed */
    EXIT_INPUT = 2 /* the request is not possible */
};

/* Sets the name in messages, "stet run", and starts to collect the library's warnings. */
void report_begin(const char *who);
/* Prints "name: message" in one line; returns the code. */
int report_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the message of this thread's last failed call of the library. */
int report_last_error(int code);

/* Warnings of the library, a few at most, without duplicates; index from 0, NULL after the last. */
const char *report_warning(int index);

/*
 * Checks that all output of the command was written; the last call of the program. A closed standard output is fine if
 * nothing was printed. Returns the exit code.
 */
int report_end_output(int code);

#endif
