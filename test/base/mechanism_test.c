/* Mechanisms: the table, the switches, and letting things stand in every mode. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/mechanism.h"
#include "base/memory.h"
#include "base/failing.h"

#include <stdio.h>
#include <string.h>

/* ---- the table ---- */

static void names_are_found_and_unique(void **state)
{
    for (int i = 0; i < STET_MECHANISM_COUNT; i++) {
        stet_mechanism found = STET_MECHANISM_COUNT;
        assert_int_equal(stet_mechanism_find(stet_mechanism_name((stet_mechanism)i), &found), STET_OK);
        assert_int_equal(found, i);
        assert_true(strlen(stet_mechanism_sentence((stet_mechanism)i)) > 20);
    }
    assert_string_equal(stet_mechanism_name(STET_MECHANISM_POSE_SYNC), "pose_sync");
    assert_string_equal(stet_mechanism_name(STET_MECHANISM_COUNT), "unknown");
}

static void an_unknown_name_is_answered_with_the_known_ones(void **state)
{
    static const char *const wrong[] = {"", "pose", "pose_synchronise", "POSE_SYNC", " frame"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        stet_mechanism out = STET_MECHANISM_FRAME;
        assert_int_equal(stet_mechanism_find(wrong[i], &out), STET_ERROR_NOT_FOUND);
        assert_int_equal(out, STET_MECHANISM_FRAME);
        for (int k = 0; k < STET_MECHANISM_COUNT; k++) {
            assert_non_null(strstr(stet_get_last_error(), stet_mechanism_name((stet_mechanism)k)));
        }
    }
    stet_mechanism out;
    assert_int_equal(stet_mechanism_find(NULL, &out), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_mechanism_find("frame", NULL), STET_ERROR_INVALID_ARGUMENT);
}

static void each_reason_belongs_to_its_mechanism(void **state)
{
    for (int i = 1; i < STET_REASON_COUNT; i++) {
        stet_reason reason = (stet_reason)i;
        assert_true(stet_reason_mechanism(reason) < STET_MECHANISM_COUNT);
        assert_true(strlen(stet_reason_name(reason)) > 0);
        assert_true(strlen(stet_reason_sentence(reason)) > 0);
        for (int k = 1; k < i; k++) {
            if (stet_reason_mechanism((stet_reason)k) != stet_reason_mechanism(reason)) continue;
            assert_string_not_equal(stet_reason_name((stet_reason)k), stet_reason_name(reason));
        }
    }
    assert_int_equal(stet_reason_mechanism(STET_REASON_TILES_NOT_DIRECT), STET_MECHANISM_TILES);
    assert_string_equal(stet_reason_name(STET_REASON_TILES_NOT_DIRECT), "not_direct");
    assert_int_equal(stet_reason_mechanism(STET_REASON_NONE), STET_MECHANISM_COUNT);
    assert_int_equal(stet_reason_mechanism(STET_REASON_COUNT), STET_MECHANISM_COUNT);
    for (int i = 0; i < STET_MECHANISM_COUNT; i++) {
        stet_reason disabled = sti_reason_disabled((stet_mechanism)i);
        assert_int_equal(stet_reason_mechanism(disabled), i);
        assert_string_equal(stet_reason_name(disabled), "disabled");
    }
}

/* ---- switches ---- */

static int forget_environment(void **state) { return unsetenv("STET_DISABLE"); }

static void everything_is_on_by_default(void **state)
{
    stet_mechanism_options options = {.disabled = 99, .strict = true, .audit = true};
    assert_int_equal(stet_default_mechanism_options(&options), STET_OK);
    assert_int_equal(options.disabled, 0);
    assert_false(options.strict);
    assert_false(options.audit);
    assert_int_equal(stet_default_mechanism_options(NULL), STET_ERROR_INVALID_ARGUMENT);
}

static void the_environment_switches_off(void **state)
{
    static const struct {
        const char *list;
        uint32_t disabled;
    } cases[] = {
        {"", 0},
        {" , ,", 0},
        {"frame", 1u << STET_MECHANISM_FRAME},
        {"tiles,hierarchy", 1u << STET_MECHANISM_TILES | 1u << STET_MECHANISM_HIERARCHY},
        {" tiles ,\thierarchy,,tiles ", 1u << STET_MECHANISM_TILES | 1u << STET_MECHANISM_HIERARCHY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stet_mechanism_options options;
        assert_int_equal(setenv("STET_DISABLE", cases[i].list, 1), 0);
        assert_int_equal(stet_default_mechanism_options(&options), STET_OK);
        assert_int_equal(options.disabled, cases[i].disabled);
    }
    sti_mechanisms m = {.options.disabled = 1u << STET_MECHANISM_TILES};
    assert_false(sti_enabled(&m, STET_MECHANISM_TILES));
    assert_true(sti_enabled(&m, STET_MECHANISM_DEFERRED_TILES));
}

static void an_unknown_name_in_the_environment_is_an_error(void **state)
{
    stet_mechanism_options options = {.disabled = 99};
    assert_int_equal(setenv("STET_DISABLE", "frame,frames,tiles", 1), 0);
    assert_int_equal(stet_default_mechanism_options(&options), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(options.disabled, 0);
    assert_non_null(strstr(stet_get_last_error(), "STET_DISABLE"));
    assert_non_null(strstr(stet_get_last_error(), "'frames'"));
    for (int k = 0; k < STET_MECHANISM_COUNT; k++) {
        assert_non_null(strstr(stet_get_last_error(), stet_mechanism_name((stet_mechanism)k)));
    }
}

/* ---- letting stand ---- */

/* A thing with three outputs (the middle one empty), made from one input and an option. */
typedef struct thing {
    sti_mechanisms m;
    sti_version input;
    uint64_t option;
    int value; /* the input's content */
    int calls;
    stet_result result; /* of make */
    stet_result fetch;  /* of fetching `last`, where it has to be */
    int fetches;
    unsigned char first[40], last[100];
    sti_span outputs[3];
    sti_stamp kept, now;
    sti_work work;
} thing;

static stet_result make_thing(void *context)
{
    thing *t = context;
    t->calls++;
    memset(t->first, t->value, sizeof t->first); /* half made, if it fails now */
    if (t->result != STET_OK) return sti_error(t->result, "the thing cannot be made");
    memset(t->last, t->value + 1, sizeof t->last);
    return STET_OK;
}

static void thing_init(thing *t)
{
    *t = (thing){.input = sti_version_new(), .value = 1};
    t->outputs[0] = (sti_span){t->first, sizeof t->first, NULL};
    t->outputs[2] = (sti_span){t->last, sizeof t->last, NULL};
    t->work = (sti_work){.mechanism = STET_MECHANISM_HIERARCHY,
                         .why = STET_REASON_HIERARCHY_VALUES,
                         .what = "world transforms",
                         .kept = &t->kept,
                         .now = &t->now,
                         .make = make_thing,
                         .context = t,
                         .outputs = t->outputs,
                         .noutput = 3,
                         .launches = 2,
                         .bytes = 140};
}

/* As if `last` were somewhere that the host cannot touch. */
static stet_result fetch_last(const void *data, size_t size, void *to)
{
    thing *t = (thing *)(uintptr_t)data;
    t->fetches++;
    assert_int_equal(size, sizeof t->last);
    if (t->fetch != STET_OK) return sti_error(t->fetch, "it cannot be fetched");
    memcpy(to, t->last, size);
    return STET_OK;
}

static stet_result bring_up_to_date(thing *t)
{
    sti_stamp_begin(&t->now);
    sti_stamp_add(&t->now, &t->input);
    sti_stamp_add_value(&t->now, t->option);
    return sti_let_stand(&t->m, &t->work);
}

static void set_value(thing *t, int value)
{
    t->value = value;
    sti_version_bump(&t->input);
}

static const stet_counter *counter(const thing *t) { return &t->m.counters.mechanism[STET_MECHANISM_HIERARCHY]; }

static void a_miss_makes_and_a_hit_does_nothing(void **state)
{
    thing t;
    thing_init(&t);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.last[99], 2);
    for (int i = 0; i < 5; i++) assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 1);
    stet_counter expected = {
        .hits = 5, .misses = 1, .done_launches = 2, .done_bytes = 140, .saved_launches = 10, .saved_bytes = 700};
    assert_memory_equal(counter(&t), &expected, sizeof expected);
    assert_int_equal(t.m.counters.reason[STET_REASON_HIERARCHY_VALUES], 1);
    set_value(&t, 8);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 2);
    assert_int_equal(t.last[0], 9);
    t.option = 7;
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 3);
    assert_int_equal(t.m.counters.reason[STET_REASON_HIERARCHY_VALUES], 3);
    assert_int_equal(t.m.counters.reason[STET_REASON_HIERARCHY_DISABLED], 0);
}

/* Only the mechanism's own row and reason move. */
static void nothing_else_is_counted(void **state)
{
    thing t;
    thing_init(&t);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    stet_counters expected = {0};
    expected.mechanism[STET_MECHANISM_HIERARCHY] = *counter(&t);
    expected.reason[STET_REASON_HIERARCHY_VALUES] = 1;
    assert_memory_equal(&t.m.counters, &expected, sizeof expected);
}

static void kf17_an_empty_selection_is_set_up_once(void **state)
{
    thing t;
    thing_init(&t);
    sti_stamp_begin(&t.now); /* nothing is selected: no inputs at all */
    for (int i = 0; i < 10; i++) assert_int_equal(sti_let_stand(&t.m, &t.work), STET_OK);
    assert_int_equal(t.calls, 1);
    assert_int_equal(counter(&t)->hits, 9);
}

static void switched_off_everything_is_made_each_time(void **state)
{
    thing t;
    thing_init(&t);
    t.m.options.disabled = 1u << STET_MECHANISM_HIERARCHY;
    for (int i = 0; i < 4; i++) assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 4);
    stet_counter expected = {.misses = 4, .done_launches = 8, .done_bytes = 560};
    assert_memory_equal(counter(&t), &expected, sizeof expected);
    assert_int_equal(t.m.counters.reason[STET_REASON_HIERARCHY_DISABLED], 4);
    assert_int_equal(t.m.counters.reason[STET_REASON_HIERARCHY_VALUES], 0);
    t.m.options.disabled = ~(1u << STET_MECHANISM_HIERARCHY); /* all the others: this one works */
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 4);
}

static void a_failing_make_is_made_again(void **state)
{
    thing t;
    thing_init(&t);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    set_value(&t, 5);
    t.result = STET_ERROR_DEVICE;
    assert_int_equal(bring_up_to_date(&t), STET_ERROR_DEVICE);
    assert_string_equal(stet_get_last_error(), "the thing cannot be made");
    assert_false(t.kept.valid);
    assert_int_equal(counter(&t)->misses, 1);
    t.result = STET_OK;
    t.value = 1;
    t.input.generation--; /* even if the input is what it was before the failure: outputs are half made */
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 3);
    assert_int_equal(t.first[0], 1);
    assert_int_equal(counter(&t)->misses, 2);
}

static void a_good_audit_does_the_work_and_counts_a_hit(void **state)
{
    thing t;
    thing_init(&t);
    t.m.options.audit = true;
    for (int i = 0; i < 3; i++) assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 3);
    assert_int_equal(counter(&t)->misses, 1);
    assert_int_equal(counter(&t)->hits, 2);
    assert_int_equal(counter(&t)->saved_bytes, 280);
    assert_int_equal(stet_get_memory_stats().blocks, 0);
    t.work.noutput = 0;
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 4);
}

static void an_audit_finds_an_unannounced_write(void **state)
{
    thing t;
    thing_init(&t);
    t.m.options.audit = true;
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    t.last[17] ^= 1; /* an output was written behind our back */
    assert_int_equal(bring_up_to_date(&t), STET_ERROR_AUDIT);
    assert_int_equal(strncmp(stet_get_last_error(),
                             "hierarchy: world transforms had changed at byte 17 of output 2 though its stamp stood",
                             85),
                     0);
    assert_false(t.kept.valid);
    assert_int_equal(counter(&t)->hits, 0);
    assert_int_equal(stet_get_memory_stats().blocks, 0);
    assert_int_equal(bring_up_to_date(&t), STET_OK); /* made again, as a miss */
    assert_int_equal(counter(&t)->misses, 2);
    t.value = 3; /* an input was written, and no generation moved */
    assert_int_equal(bring_up_to_date(&t), STET_ERROR_AUDIT);
    assert_non_null(strstr(stet_get_last_error(), "at byte 0 of output 0"));
}

static void without_audit_the_unannounced_write_stands(void **state)
{
    thing t;
    thing_init(&t);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    t.value = 3;
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.first[0], 1);
}

static void an_audit_whose_make_fails_says_so(void **state)
{
    thing t;
    thing_init(&t);
    t.m.options.audit = true;
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    t.result = STET_ERROR_IO;
    assert_int_equal(bring_up_to_date(&t), STET_ERROR_IO);
    assert_false(t.kept.valid);
    assert_int_equal(counter(&t)->hits, 0);
    assert_int_equal(stet_get_memory_stats().blocks, 0);
}

static void an_audit_without_memory_leaves_all_as_it_was(void **state)
{
    failing f = {.fail_at = 1};
    assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
    thing t;
    thing_init(&t);
    t.m.options.audit = true;
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(bring_up_to_date(&t), STET_ERROR_OUT_OF_MEMORY);
    assert_int_equal(t.calls, 1);
    assert_true(t.kept.valid);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 2);
    assert_int_equal(counter(&t)->hits, 1);
    assert_int_equal(f.held, 0);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
}

static void a_stamp_without_memory_only_costs_a_hit(void **state)
{
    thing t;
    thing_init(&t);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    t.now.failed = true;
    assert_int_equal(sti_let_stand(&t.m, &t.work), STET_OK);
    assert_int_equal(t.calls, 2);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 3);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.calls, 3);
}

/* ---- fallbacks ---- */

typedef struct heard {
    int calls;
    stet_log_level level;
    char message[512];
} heard;

static void hear(stet_log_level level, const char *message, void *context)
{
    heard *h = context;
    h->calls++;
    h->level = level;
    snprintf(h->message, sizeof h->message, "%s", message);
}

static void a_fallback_is_counted_and_heard(void **state)
{
    sti_mechanisms m = {0};
    heard h = {0};
    stet_set_log(hear, &h);
    assert_int_equal(sti_fallback(&m, STET_MECHANISM_TILES, STET_REASON_TILES_NOT_DIRECT, "output rgb"), STET_OK);
    stet_set_log(NULL, NULL);
    assert_int_equal(m.counters.mechanism[STET_MECHANISM_TILES].fallbacks, 1);
    assert_int_equal(m.counters.reason[STET_REASON_TILES_NOT_DIRECT], 1);
    assert_int_equal(h.calls, 1);
    assert_int_equal(h.level, STET_LOG_INFO);
    assert_non_null(strstr(h.message, "tiles"));
    assert_non_null(strstr(h.message, "output rgb"));
    assert_non_null(strstr(h.message, stet_reason_sentence(STET_REASON_TILES_NOT_DIRECT)));
}

static void in_strict_mode_a_fallback_is_an_error(void **state)
{
    sti_mechanisms m = {.options.strict = true};
    assert_int_equal(sti_fallback(&m, STET_MECHANISM_TILES, STET_REASON_TILES_NOT_DIRECT, "output rgb"),
                     STET_ERROR_STRICT);
    assert_int_equal(m.counters.mechanism[STET_MECHANISM_TILES].fallbacks, 1);
    assert_non_null(strstr(stet_get_last_error(), "tiles: output rgb"));
    assert_non_null(strstr(stet_get_last_error(), stet_reason_sentence(STET_REASON_TILES_NOT_DIRECT)));
}

static void hits_and_misses_are_counted_by_hand(void **state)
{
    sti_mechanisms m = {0};
    sti_count_hit(&m, STET_MECHANISM_READBACK, 0, 100);
    sti_count_hit(&m, STET_MECHANISM_READBACK, 1, 100);
    sti_count_miss(&m, STET_MECHANISM_READBACK, STET_REASON_READBACK_MOVED, 3, 50);
    stet_counters expected = {0};
    expected.mechanism[STET_MECHANISM_READBACK] = (stet_counter){
        .hits = 2, .misses = 1, .saved_launches = 1, .saved_bytes = 200, .done_launches = 3, .done_bytes = 50};
    expected.reason[STET_REASON_READBACK_MOVED] = 1;
    assert_memory_equal(&m.counters, &expected, sizeof expected);
}

static void an_audit_fetches_what_is_elsewhere(void **state)
{
    thing t;
    thing_init(&t);
    t.outputs[2] = (sti_span){&t, sizeof t.last, fetch_last};
    t.m.options.audit = true;
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.fetches, 0);
    assert_int_equal(bring_up_to_date(&t), STET_OK);
    assert_int_equal(t.fetches, 2);
    t.fetch = STET_ERROR_DEVICE; /* nothing is made that could not be compared */
    assert_int_equal(bring_up_to_date(&t), STET_ERROR_DEVICE);
    assert_int_equal(t.calls, 2);
    t.fetch = STET_OK;
    t.last[7] = 99;
    assert_int_equal(bring_up_to_date(&t), STET_ERROR_AUDIT);
    assert_non_null(strstr(stet_get_last_error(), "byte 7 of output 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_and_unique),
        cmocka_unit_test(an_unknown_name_is_answered_with_the_known_ones),
        cmocka_unit_test(each_reason_belongs_to_its_mechanism),
        cmocka_unit_test_setup_teardown(everything_is_on_by_default, forget_environment, forget_environment),
        cmocka_unit_test_setup_teardown(the_environment_switches_off, forget_environment, forget_environment),
        cmocka_unit_test_setup_teardown(an_unknown_name_in_the_environment_is_an_error, forget_environment,
                                        forget_environment),
        cmocka_unit_test(a_miss_makes_and_a_hit_does_nothing),
        cmocka_unit_test(nothing_else_is_counted),
        cmocka_unit_test(kf17_an_empty_selection_is_set_up_once),
        cmocka_unit_test(switched_off_everything_is_made_each_time),
        cmocka_unit_test(a_failing_make_is_made_again),
        cmocka_unit_test(a_good_audit_does_the_work_and_counts_a_hit),
        cmocka_unit_test(an_audit_finds_an_unannounced_write),
        cmocka_unit_test(without_audit_the_unannounced_write_stands),
        cmocka_unit_test(an_audit_whose_make_fails_says_so),
        cmocka_unit_test(an_audit_without_memory_leaves_all_as_it_was),
        cmocka_unit_test(a_stamp_without_memory_only_costs_a_hit),
        cmocka_unit_test(a_fallback_is_counted_and_heard),
        cmocka_unit_test(in_strict_mode_a_fallback_is_an_error),
        cmocka_unit_test(hits_and_misses_are_counted_by_hand),
        cmocka_unit_test(an_audit_fetches_what_is_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
