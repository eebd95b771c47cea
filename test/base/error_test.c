/* Results and messages: what a failure leaves behind for its thread. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void every_result_has_its_own_sentence(void **state)
{
    for (int i = 0; i < STET_RESULT_COUNT; i++) {
        const char *sentence = stet_result_sentence((stet_result)i);
        assert_true(strlen(sentence) > 1);
        for (int k = 0; k < i; k++) assert_string_not_equal(sentence, stet_result_sentence((stet_result)k));
    }
    assert_string_equal(stet_result_sentence(STET_OK), "ok");
    assert_int_equal(STET_OK, 0);
    assert_string_equal(stet_result_sentence(STET_RESULT_COUNT), stet_result_sentence((stet_result)1000));
    assert_string_not_equal(stet_result_sentence(STET_RESULT_COUNT), "ok");
}

static void a_failure_leaves_message_and_place(void **state)
{
    stet_result result = sti_error(STET_ERROR_NOT_FOUND, "scene %s: no such file; check the path", "hand.xml");
    int line = __LINE__ - 1;
    char where[64];
    snprintf(where, sizeof where, "error_test.c:%d", line);
    assert_int_equal(result, STET_ERROR_NOT_FOUND);
    assert_string_equal(stet_get_last_error(), "scene hand.xml: no such file; check the path");
    assert_string_equal(stet_get_last_error_where(), where);
}

static void a_prefix_keeps_message_and_place(void **state)
{
    (void)sti_error(STET_ERROR_IO, "disk full");
    char where[64];
    snprintf(where, sizeof where, "%s", stet_get_last_error_where());
    assert_int_equal(sti_error_prefix(STET_ERROR_PARSE, "saving %d worlds", 7), STET_ERROR_PARSE);
    assert_string_equal(stet_get_last_error(), "saving 7 worlds: disk full");
    assert_string_equal(stet_get_last_error_where(), where);
}

static void a_message_may_quote_the_last_one(void **state)
{
    (void)sti_error(STET_ERROR_IO, "disk full");
    (void)sti_error(STET_ERROR_IO, "again (%s)", stet_get_last_error());
    assert_string_equal(stet_get_last_error(), "again (disk full)");
}

static void a_long_message_is_cut_visibly(void **state)
{
    char text[4001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)sti_error(STET_ERROR_IO, "%s", text);
    assert_int_equal(strlen(stet_get_last_error()), 1023);
    assert_string_equal(stet_get_last_error() + 1020, "...");
    (void)sti_error_prefix(STET_ERROR_IO, "%s", text);
    assert_int_equal(strlen(stet_get_last_error()), 1023);
    assert_string_equal(stet_get_last_error() + 1020, "...");
    (void)sti_error(STET_ERROR_IO, "%.1020s", text);
    (void)sti_error_prefix(STET_ERROR_IO, "ab");
    assert_int_equal(strncmp(stet_get_last_error(), "ab: xxx", 7), 0);
    assert_string_equal(stet_get_last_error() + 1020, "...");
}

/* A message that just fits is not cut. */
static void a_message_of_the_full_size_is_kept(void **state)
{
    char text[1024];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)sti_error(STET_ERROR_IO, "%s", text);
    assert_string_equal(stet_get_last_error(), text);
}

/* Four shifts of a text of three-byte characters: wherever the limit falls, only whole characters precede "...". */
static void a_cut_falls_between_characters(void **state)
{
    char text[3 * 700 + 4];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = 0; i < 700; i++) memcpy(text + shift + 3 * i, "\xE2\x82\xAC", 3);
        text[shift + 2100] = '\0';
        (void)sti_error(STET_ERROR_IO, "%s", text);
        size_t length = strlen(stet_get_last_error());
        assert_in_range(length, 1021, 1023);
        assert_string_equal(stet_get_last_error() + length - 3, "...");
        assert_int_equal((length - 3 - shift) % 3, 0);
        assert_memory_equal(stet_get_last_error(), text, length - 3);
    }
}

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *barrier;
    int index;
    bool empty_at_first, kept;
} worker;

/* Names of files and in models go into messages, and these to a terminal. */
static void a_message_controls_no_terminal(void **state)
{
    (void)state;
    assert_int_equal(sti_error(STET_ERROR_IO, "%s", "a\x1b[31mred\x07\x7f\xc2\x9bz \xc3\xa9\xe2\x80\xa6\n\tb"),
                     STET_ERROR_IO);
    assert_string_equal(stet_get_last_error(), "a?[31mred????z \xc3\xa9\xe2\x80\xa6\n\tb");
    assert_int_equal(sti_error_prefix(STET_ERROR_IO, "%s", "\x1b]0;"), STET_ERROR_IO);
    assert_string_equal(stet_get_last_error(), "?]0;: a?[31mred????z \xc3\xa9\xe2\x80\xa6\n\tb");
}

static void *fail_in_thread(void *context)
{
    worker *w = context;
    w->empty_at_first = stet_get_last_error()[0] == '\0' && stet_get_last_error_where()[0] == '\0';
    char expected[64];
    snprintf(expected, sizeof expected, "thread %d failed", w->index);
    (void)sti_error(STET_ERROR_DEVICE, "thread %d failed", w->index);
    pthread_barrier_wait(w->barrier);
    w->kept = strcmp(stet_get_last_error(), expected) == 0;
    return NULL;
}

static void each_thread_has_its_own_message(void **state)
{
    enum { NTHREAD = 4 };
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, NTHREAD), 0);
    (void)sti_error(STET_ERROR_IO, "of the main thread");
    worker workers[NTHREAD];
    for (int i = 0; i < NTHREAD; i++) {
        workers[i] = (worker){.barrier = &barrier, .index = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, fail_in_thread, &workers[i]), 0);
    }
    for (int i = 0; i < NTHREAD; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_true(workers[i].empty_at_first);
        assert_true(workers[i].kept);
    }
    pthread_barrier_destroy(&barrier);
    assert_string_equal(stet_get_last_error(), "of the main thread");
}

static stet_result tries(stet_result first, int *reached)
{
    STI_TRY(first);
    *reached = 1;
    return STET_OK;
}

static void try_returns_the_first_failure(void **state)
{
    int reached = 0;
    assert_int_equal(tries(STET_ERROR_LIMIT, &reached), STET_ERROR_LIMIT);
    assert_int_equal(reached, 0);
    assert_int_equal(tries(STET_OK, &reached), STET_OK);
    assert_int_equal(reached, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_result_has_its_own_sentence), cmocka_unit_test(a_failure_leaves_message_and_place),
        cmocka_unit_test(a_prefix_keeps_message_and_place),  cmocka_unit_test(a_message_may_quote_the_last_one),
        cmocka_unit_test(a_long_message_is_cut_visibly),     cmocka_unit_test(a_message_of_the_full_size_is_kept),
        cmocka_unit_test(a_cut_falls_between_characters),    cmocka_unit_test(each_thread_has_its_own_message),
        cmocka_unit_test(try_returns_the_first_failure),     cmocka_unit_test(a_message_controls_no_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
