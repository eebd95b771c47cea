/*
 * One handler for all messages of MuJoCo, installed before the first guarded call. A guard is a jump buffer in a list
 * per thread. Invariants: guard.h.
 */
#include "model/guard.h"

#include "base/error.h"

#include <assert.h>
#include <mujoco/mujoco.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

typedef struct guard {
    jmp_buf jump;
    struct guard *outer;
    bool finishes;   /* the call must not be aborted: errors do not jump */
    char text[1024]; /* as long as MuJoCo's own buffer */
} guard;

static _Thread_local guard *innermost;
static mjfLogHandler previous; /* set once, before any guard exists */

static bool is_second_plugin(const mjLogMessage *message)
{
    static const char end[] = "is already registered";
    size_t n = strnlen(message->subject, sizeof message->subject), k = sizeof end - 1;
    return strncmp(message->subject, "plugin '", 8) == 0 && n > k && strcmp(message->subject + n - k, end) == 0;
}

static void handle(const mjLogMessage *message)
{
    guard *g = innermost;
    if ((g && g->finishes) || is_second_plugin(message)) {
        if (message->level >= mjLOG_WARNING) sti_log(STET_LOG_INFO, "MuJoCo: %s", message->subject);
        return;
    }
    assert(previous && "GUARD-3: there was a handler before");
    if (!g) {
        previous(message);
        return;
    }
    /* Information (timings of the compiler) is dropped, because MuJoCo itself shows it only on request. */
    if (message->level < mjLOG_WARNING) return;
    (void)snprintf(g->text, sizeof g->text, "%s", message->subject);
    if (message->level >= mjLOG_ERROR) longjmp(g->jump, 1);
    sti_log(STET_LOG_WARNING, "MuJoCo: %s", g->text);
}

static void install(void) { previous = mju_setLogHandler(handle); }

static void install_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install);
}

bool sti_mujoco_guard(void (*call)(void *context), void *context, char *message, size_t size)
{
    assert(call);
    install_once();
    guard g;
    g.finishes = false;
    g.text[0] = 0;
    g.outer = innermost;
    bool good = setjmp(g.jump) == 0;
    if (good) {
        innermost = &g;
        call(context);
    }
    assert(innermost == &g && "GUARD-1: inner guards have ended");
    innermost = g.outer;
    if (message && size > 0) (void)snprintf(message, size, "%s", g.text);
    return good;
}

void sti_mujoco_finish(void (*call)(void *context), void *context)
{
    install_once();
    guard g = {.outer = innermost, .finishes = true};
    innermost = &g;
    call(context);
    assert(innermost == &g && "GUARD-1");
    innermost = g.outer;
}
