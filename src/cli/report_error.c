/* See report_error.h. */
#include "cli/report_error.h"

#include "base/printable.h"
#include "stet/base.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WARNINGS = 8, WARNING_SIZE = 400, TEXT_SIZE = 8192 };

static const char *speaker = "stet";
static bool shows_warnings;
static bool holding;
static char held[TEXT_SIZE]; /* the first message since report_hold */
static pthread_mutex_t warning_lock = PTHREAD_MUTEX_INITIALIZER;
static char warnings[WARNINGS][WARNING_SIZE];
static int nwarning;

static void one_line(char *text)
{
    for (char *p = text; *p; ++p)
        if (*p == '\n' || *p == '\r') *p = ' ';
    sti_make_printable(text);
}

const char *report_name(const char *name)
{
    static _Thread_local char text[1024];
    (void)snprintf(text, sizeof text, "%s", name);
    one_line(text);
    return text;
}

/* May be called from any thread. Information (why a mechanism fell back) is in the counters and is not kept. */
static void hear_warning(stet_log_level level, const char *message, void *context)
{
    (void)context;
    if (level == STET_LOG_INFO) return;
    char text[WARNING_SIZE];
    snprintf(text, sizeof text, "%s", message);
    one_line(text);
    pthread_mutex_lock(&warning_lock);
    bool known = false;
    for (int i = 0; i < nwarning; ++i) known = known || strcmp(warnings[i], text) == 0;
    if (!known && nwarning < WARNINGS) {
        memcpy(warnings[nwarning++], text, sizeof text);
        if (shows_warnings) fprintf(stderr, "%s: warning: %s\n", speaker, text);
    }
    pthread_mutex_unlock(&warning_lock);
}

void report_begin(const char *who, enum report_warnings warnings_are)
{
    speaker = who;
    shows_warnings = warnings_are == WARNINGS_SHOWN;
    stet_set_log(hear_warning, NULL);
}

int report_error(int code, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    one_line(text);
    if (!holding)
        fprintf(stderr, "%s: %s\n", speaker, text);
    else if (!held[0])
        memcpy(held, text, sizeof held);
    return code;
}

void report_hold(void) { holding = true; }

const char *report_held(void) { return held; }

void report_release(bool print)
{
    holding = false;
    if (print && held[0]) fprintf(stderr, "%s: %s\n", speaker, held);
    held[0] = 0;
}

const char *error_text(const char *format, ...)
{
    static _Thread_local char text[TEXT_SIZE];
    char next[TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(next, sizeof next, format, args);
    va_end(args);
    return memcpy(text, next, sizeof text);
}

int report_text(int code, const char *text) { return text ? report_error(code, "%s", text) : -1; }

int report_last_error(int code) { return report_error(code, "%s", stet_get_last_error()); }

const char *report_warning(int index) { return index >= 0 && index < nwarning ? warnings[index] : NULL; }

int report_end_output(int code)
{
    bool lost = ferror(stdout) != 0;
    int error = fflush(stdout) != 0 ? errno : 0;
    if (fclose(stdout) != 0 && !error && errno != EBADF) error = errno;
    if ((!lost && !error) || code != 0) return code;
    return report_error(EXIT_WORK, "standard output: what was printed is lost: %s; look where it goes",
                        error ? strerror(error) : "it cannot be written to");
}
