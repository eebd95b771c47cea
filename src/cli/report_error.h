/*
 * Errors of the command: one line on standard error, and the exit code.
 *
 * A function of the command fails in one of two ways. One that knows the exit code reports the error itself and returns
 * the code, -1 on success (or false and true). One that writes or reads a file returns an error text, NULL on success,
 * and its caller reports it.
 *
 * Invariant: a run that ends with EXIT_INPUT has written nothing, and nothing is on standard output unless it succeeds.
 */
#ifndef STI_CLI_REPORT_ERROR_H
#define STI_CLI_REPORT_ERROR_H

#include <stdbool.h>

enum {
    EXIT_WORK = 1, /* the request is valid, but the work failed */
    EXIT_INPUT = 2 /* the request is not possible */
};

enum report_warnings {
    WARNINGS_KEPT, /* for report_warning, because the command has a place for them in what it prints */
    WARNINGS_SHOWN /* printed at once, in one line each */
};
/* Sets the name in messages, "stet run", and starts to hear the library's warnings. */
void report_begin(const char *who, enum report_warnings warnings);
/* Prints "name: message" in one line; returns the code. */
int report_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the message of this thread's last failed call of the library. */
int report_last_error(int code);

/*
 * From report_hold to report_release messages are not printed; the first one is kept, and printed then, or dropped.
 * report_held: that message, or "".
 */
void report_hold(void);
const char *report_held(void);
void report_release(bool print);

/* A name out of a model as a terminal may have it; valid until this thread's next call. */
const char *report_name(const char *name);

/* Formats an error text; it is valid until this thread's next call. An argument may be the present text. */
const char *error_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports an error text and returns the code; NULL: returns -1. */
int report_text(int code, const char *text);

/* Warnings of the library, a few at most, without duplicates; index from 0, NULL after the last. */
const char *report_warning(int index);

/*
 * Checks that all output of the command was written; the last call of the program. A closed standard output is fine if
 * nothing was printed. Returns the exit code.
 */
int report_end_output(int code);

#endif
