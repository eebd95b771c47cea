/* The log callback: called with what was logged, with its context, and not at all when there is none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct record {
    int calls;
    stet_log_level level;
    char message[2048];
} record;

static void keep(stet_log_level level, const char *message, void *context)
{
    record *r = context;
    r->calls++;
    r->level = level;
    snprintf(r->message, sizeof r->message, "%s", message);
}

static void the_callback_gets_what_was_logged(void **state)
{
    record r = {0};
    stet_set_log(keep, &r);
    sti_log(STET_LOG_WARNING, "%d worlds %s", 3, "diverged");
    assert_int_equal(r.calls, 1);
    assert_int_equal(r.level, STET_LOG_WARNING);
    assert_string_equal(r.message, "3 worlds diverged");
    stet_set_log(NULL, NULL);
    sti_log(STET_LOG_ERROR, "unheard");
    assert_int_equal(r.calls, 1);
}

static void a_long_line_is_cut(void **state)
{
    record r = {0};
    stet_set_log(keep, &r);
    sti_log(STET_LOG_INFO, "%5000d", 1);
    stet_set_log(NULL, NULL);
    assert_int_equal(strlen(r.message), 1023);
}

static void log_once_more(stet_log_level level, const char *message, void *context)
{
    stet_set_log(keep, context);
    sti_log(level, "inner %s", message);
}

static void a_callback_may_log(void **state)
{
    record r = {0};
    stet_set_log(log_once_more, &r);
    sti_log(STET_LOG_INFO, "outer");
    stet_set_log(NULL, NULL);
    assert_int_equal(r.calls, 1);
    assert_string_equal(r.message, "inner outer");
}

typedef struct owner {
    char name;
    _Atomic int strange;
} owner;

static void expect_a(stet_log_level level, const char *message, void *context)
{
    (void)level, (void)message;
    owner *o = context;
    if (o->name != 'a') atomic_fetch_add(&o->strange, 1);
}

static void expect_b(stet_log_level level, const char *message, void *context)
{
    (void)level, (void)message;
    owner *o = context;
    if (o->name != 'b') atomic_fetch_add(&o->strange, 1);
}

static void *log_much(void *context)
{
    (void)context;
    for (int i = 0; i < 20000; i++) sti_log(STET_LOG_INFO, "%d", i);
    return NULL;
}

/* While another thread logs, the callback and its context change together. */
static void callback_and_context_stay_a_pair(void **state)
{
    owner a = {.name = 'a'}, b = {.name = 'b'};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, log_much, NULL), 0);
    for (int i = 0; i < 20000; i++) {
        if (i % 2 == 0)
            stet_set_log(expect_a, &a);
        else
            stet_set_log(expect_b, &b);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    stet_set_log(NULL, NULL);
    assert_int_equal(atomic_load(&a.strange), 0);
    assert_int_equal(atomic_load(&b.strange), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_callback_gets_what_was_logged),
        cmocka_unit_test(a_long_line_is_cut),
        cmocka_unit_test(a_callback_may_log),
        cmocka_unit_test(callback_and_context_stay_a_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
