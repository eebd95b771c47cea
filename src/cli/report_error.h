/*
 * What the command says when something is wrong: one line on standard error, and the exit code to end with.
 *
 * Invariant: a run that ends with EXIT_INPUT has written nothing, and nothing is on standard output unless it succeeds.
 */
#ifndef STI_CLI_REPORT_ERROR_H
#define STI_CLI_REPORT_ERROR_H

enum {
    EXIT_WORK = 1, /* what was asked for is fine, but doing it failed */
    EXIT_INPUT = 2 /* what was asked for is not possible */
};

/* Who speaks from now on: "stet run". Also collects the library's warnings from here on. */
void report_begin(const char *who);
/* Prints "who: sentence" in one line; returns the code. */
int report_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the sentence of this thread's last failed call of the library. */
int report_last_error(int code);

/* Warnings of the library, each once, at most a few; index from 0, NULL after the last. */
const char *report_warning(int index);

#endif
