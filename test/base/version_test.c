/* Identities, generations and stamps: what counts as unchanged, and what does not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/version.h"
#include "base/dice.h"
#include "base/failing.h"

#include <pthread.h>
#include <string.h>

enum { NTHREAD = 8, NEACH = 5000, NINPUT = 64 };

static void *take_versions(void *context)
{
    sti_version *out = context;
    for (int i = 0; i < NEACH; i++) out[i] = sti_version_new();
    return NULL;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const sti_version *)a)->id, y = ((const sti_version *)b)->id;
    return (x > y) - (x < y);
}

static void identities_never_repeat(void **state)
{
    static sti_version all[NTHREAD * NEACH];
    pthread_t threads[NTHREAD];
    for (int i = 0; i < NTHREAD; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_versions, all + (ptrdiff_t)i * NEACH), 0);
    }
    for (int i = 0; i < NTHREAD; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    qsort(all, NTHREAD * NEACH, sizeof all[0], by_id);
    assert_true(all[0].id != 0);
    for (int i = 0; i < NTHREAD * NEACH; i++) {
        assert_int_equal(all[i].generation, 1);
        if (i > 0) assert_true(all[i].id != all[i - 1].id);
    }
}

static void a_bump_grows_the_generation_only(void **state)
{
    sti_version v = sti_version_new(), before = v;
    sti_version_bump(&v);
    assert_true(v.id == before.id);
    assert_true(v.generation == before.generation + 1);
}

static void the_zeroed_stamp_is_never_current(void **state)
{
    sti_stamp nothing = {0}, other = {0}, empty = {0};
    sti_stamp_begin(&empty);
    assert_false(sti_stamp_equal(&nothing, &other));
    assert_false(sti_stamp_equal(&nothing, &nothing));
    assert_false(sti_stamp_equal(&nothing, &empty));
    assert_false(sti_stamp_equal(&empty, &nothing));
}

static void equal_words_are_equal_stamps(void **state)
{
    sti_version v = sti_version_new();
    int thing;
    sti_stamp a = {0}, b = {0};
    for (int i = 0; i < 2; i++) {
        sti_stamp *s = i == 0 ? &a : &b;
        sti_stamp_begin(s);
        sti_stamp_add(s, &v);
        sti_stamp_add_value(s, 42);
        sti_stamp_add_address(s, &thing);
    }
    assert_true(sti_stamp_equal(&a, &b));
    sti_stamp_invalidate(&a);
    assert_false(sti_stamp_equal(&a, &b));
    assert_false(sti_stamp_equal(&b, &a));
}

static void a_write_makes_stamps_unequal(void **state)
{
    sti_version v = sti_version_new();
    sti_stamp kept = {0}, now = {0};
    sti_stamp_begin(&kept);
    sti_stamp_add(&kept, &v);
    sti_version_bump(&v);
    sti_stamp_begin(&now);
    sti_stamp_add(&now, &v);
    assert_false(sti_stamp_equal(&kept, &now));
    sti_stamp_keep(&kept, &now);
    assert_true(sti_stamp_equal(&kept, &now));
}

/* A shorter list that begins alike is another list. */
static void a_prefix_is_not_equal(void **state)
{
    sti_stamp a = {0}, b = {0};
    sti_stamp_begin(&a);
    sti_stamp_begin(&b);
    sti_stamp_add_value(&a, 0);
    assert_false(sti_stamp_equal(&a, &b));
    assert_false(sti_stamp_equal(&b, &a));
}

static void kf17_a_stamp_of_an_empty_list_is_current_once_kept(void **state)
{
    sti_stamp kept = {0}, now = {0};
    sti_stamp_begin(&now);
    assert_false(sti_stamp_equal(&kept, &now));
    sti_stamp_keep(&kept, &now);
    assert_true(sti_stamp_equal(&kept, &now));
}

/* An allocator that gives the same memory to each new owner. */
static _Alignas(64) char only_place[256];

static void *give_the_place(size_t size, size_t align, void *context)
{
    (void)align, (void)context;
    return size <= sizeof only_place ? only_place : NULL;
}

static void take_the_place(void *memory, void *context) { (void)memory, (void)context; }

typedef struct resource {
    sti_version version;
    float value;
} resource;

static void stamp_of(sti_stamp *s, const resource *r)
{
    sti_stamp_begin(s);
    sti_stamp_add_address(s, r);
    sti_stamp_add(s, &r->version);
}

static void kf22_a_recycled_address_has_another_identity(void **state)
{
    assert_int_equal(stet_set_allocator(give_the_place, take_the_place, NULL), STET_OK);
    sti_stamp first = {0}, second = {0};
    resource *old, *new;
    assert_int_equal(sti_alloc(&old, sizeof *old, "a resource"), STET_OK);
    old->version = sti_version_new();
    sti_version_bump(&old->version);
    stamp_of(&first, old);
    uint64_t old_generation = old->version.generation;
    uintptr_t old_address = (uintptr_t)old;
    sti_free(old);

    assert_int_equal(sti_alloc(&new, sizeof *new, "a resource"), STET_OK);
    new->version = sti_version_new();
    sti_version_bump(&new->version);
    stamp_of(&second, new);
    assert_true((uintptr_t) new == old_address);
    assert_true(new->version.generation == old_generation);
    assert_false(sti_stamp_equal(&first, &second));
    sti_free(new);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
}

static void kf23_a_shape_is_recorded(void **state)
{
    sti_version v = sti_version_new();
    uint64_t shape[2] = {64, 3};
    sti_stamp kept = {0}, now = {0};
    sti_stamp_begin(&kept);
    sti_stamp_add(&kept, &v);
    for (int i = 0; i < 2; i++) sti_stamp_add_value(&kept, shape[i]);
    shape[0] = 3, shape[1] = 64; /* the same content and size in another shape */
    sti_stamp_begin(&now);
    sti_stamp_add(&now, &v);
    for (int i = 0; i < 2; i++) sti_stamp_add_value(&now, shape[i]);
    assert_false(sti_stamp_equal(&kept, &now));
}

static void kf23_an_absence_is_recorded(void **state)
{
    sti_stamp absent = {0}, nothing = {0}, present = {0}, again = {0};
    sti_version v = sti_version_new();
    sti_stamp_begin(&absent);
    sti_stamp_add(&absent, NULL);
    sti_stamp_begin(&nothing);
    sti_stamp_begin(&present);
    sti_stamp_add(&present, &v);
    sti_stamp_begin(&again);
    sti_stamp_add(&again, NULL);
    assert_false(sti_stamp_equal(&absent, &nothing)); /* looked for and not found is not the same as not looked for */
    assert_false(sti_stamp_equal(&absent, &present)); /* what was absent exists now */
    assert_true(sti_stamp_equal(&absent, &again));
}

static void add_inputs(sti_stamp *s, const sti_version *inputs, int n)
{
    sti_stamp_begin(s);
    for (int i = 0; i < n; i++) sti_stamp_add(s, &inputs[i]);
}

static void many_inputs_grow_the_stamp_once(void **state)
{
    sti_version inputs[NINPUT];
    for (int i = 0; i < NINPUT; i++) inputs[i] = sti_version_new();
    sti_stamp kept = {0}, now = {0};
    for (int n = 0; n <= NINPUT; n++) {
        add_inputs(&now, inputs, n);
        assert_int_equal(now.count, 2 * n);
        sti_stamp_keep(&kept, &now);
        assert_true(sti_stamp_equal(&kept, &now));
    }
    int64_t calls = stet_get_memory_stats().allocations;
    for (int n = NINPUT; n >= 0; n--) {
        add_inputs(&now, inputs, n);
        sti_stamp_keep(&kept, &now);
        assert_true(sti_stamp_equal(&kept, &now));
    }
    assert_int_equal(stet_get_memory_stats().allocations, calls);
    for (int i = 0; i < NINPUT; i++) { /* each of the inputs counts */
        add_inputs(&now, inputs, NINPUT);
        sti_stamp_keep(&kept, &now);
        sti_version_bump(&inputs[i]);
        add_inputs(&now, inputs, NINPUT);
        assert_false(sti_stamp_equal(&kept, &now));
    }
    sti_stamp_free(&kept);
    sti_stamp_free(&now);
    assert_int_equal(stet_get_memory_stats().blocks, 0);
}

/*
 * Words that the caller fills are the words that adding one by one gives; and a stamp of one version knows that it is
 * that.
 */
static void words_in_bulk_and_a_stamp_of_one(void **state)
{
    sti_version inputs[NINPUT], other = sti_version_new();
    sti_stamp singly = {0}, bulk = {0}, one = {0};
    for (int i = 0; i < NINPUT; i++) inputs[i] = sti_version_new();
    assert_false(sti_stamp_is(&one, &inputs[0])); /* made from nothing yet */
    for (int n = 0; n <= NINPUT; n++) {
        add_inputs(&singly, inputs, n);
        sti_stamp_begin(&bulk);
        uint64_t *word = sti_stamp_extend(&bulk, 2 * (uint32_t)n);
        assert_non_null(word);
        for (int i = 0; i < n; i++) word[2 * i] = inputs[i].id, word[2 * i + 1] = inputs[i].generation;
        assert_true(sti_stamp_equal(&singly, &bulk));
        assert_int_equal(sti_stamp_is(&bulk, &inputs[0]), n == 1);
    }
    sti_stamp_keep_version(&one, &inputs[0]);
    sti_stamp_begin(&singly);
    sti_stamp_add(&singly, &inputs[0]);
    assert_true(sti_stamp_equal(&one, &singly) && sti_stamp_is(&one, &inputs[0]));
    assert_false(sti_stamp_is(&one, &other));
    sti_version_bump(&inputs[0]);
    assert_false(sti_stamp_is(&one, &inputs[0]));
    sti_stamp_keep_version(&one, &inputs[0]);
    assert_true(sti_stamp_is(&one, &inputs[0]));
    sti_stamp_add_value(&one, 0); /* one word more is another stamp */
    assert_false(sti_stamp_is(&one, &inputs[0]));
    sti_stamp_keep_version(&one, &inputs[0]);
    sti_stamp_invalidate(&one);
    assert_false(sti_stamp_is(&one, &inputs[0]));
    sti_stamp_free(&singly);
    sti_stamp_free(&bulk);
    sti_stamp_free(&one);
}

/* Random lists against plain arrays: equal exactly when the arrays are. */
static void random_stamps_equal_their_lists(void **state)
{
    uint64_t dice = dice_seed("random_stamps_equal_their_lists");
    sti_stamp a = {0}, b = {0};
    int nequal = 0;
    for (int round = 0; round < 5000; round++) {
        uint64_t list[2][40];
        size_t count[2];
        for (int k = 0; k < 2; k++) {
            count[k] = dice_below(&dice, 2) == 0 ? 15 + dice_below(&dice, 3) : dice_below(&dice, 40);
            for (size_t i = 0; i < count[k]; i++) list[k][i] = dice_below(&dice, 40) == 0;
        }
        sti_stamp_begin(&a);
        sti_stamp_begin(&b);
        for (size_t i = 0; i < count[0]; i++) sti_stamp_add_value(&a, list[0][i]);
        for (size_t i = 0; i < count[1]; i++) sti_stamp_add_value(&b, list[1][i]);
        bool expected = count[0] == count[1] && memcmp(list[0], list[1], count[0] * sizeof(uint64_t)) == 0;
        assert_int_equal(sti_stamp_equal(&a, &b), expected);
        nequal += expected;
        if (dice_below(&dice, 2) == 0) sti_stamp_free(&a); /* the next one grows from the few words on */
        if (dice_below(&dice, 2) == 0) sti_stamp_free(&b);
    }
    assert_in_range(nequal, 1, 4999);
    sti_stamp_free(&a);
    sti_stamp_free(&b);
}

static stet_result keep_many(void)
{
    sti_stamp now = {0}, kept = {0};
    for (int round = 0; round < 2; round++) {
        sti_stamp_begin(&now);
        for (uint64_t i = 0; i < 100; i++) sti_stamp_add_value(&now, i);
        sti_stamp_keep(&kept, &now);
        bool equal = sti_stamp_equal(&kept, &now);
        assert_int_equal(equal, !now.failed && kept.valid);
        if (equal) assert_int_equal(kept.count, 100);
    }
    bool whole = sti_stamp_equal(&kept, &now);
    sti_stamp_free(&now);
    sti_stamp_free(&kept);
    return whole ? STET_OK : STET_ERROR_OUT_OF_MEMORY;
}

/* Without memory a stamp is not current, and nothing worse. */
static void each_allocation_may_fail(void **state) { assert_true(fail_each_allocation(keep_many, true) >= 4); }

static void a_stamp_that_ran_out_of_memory_is_never_current(void **state)
{
    failing f = {.fail_at = 1};
    assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
    sti_stamp now = {0}, kept = {0};
    sti_stamp_begin(&now);
    for (uint64_t i = 0; i < 17; i++) sti_stamp_add_value(&now, i);
    assert_true(f.failed);
    assert_true(now.failed);
    assert_false(sti_stamp_equal(&now, &now));
    sti_stamp_keep(&kept, &now);
    assert_false(kept.valid);
    sti_stamp_begin(&kept); /* the words that now has: the sixteen that fitted */
    for (uint64_t i = 0; i < 16; i++) sti_stamp_add_value(&kept, i);
    assert_false(sti_stamp_equal(&kept, &now));
    assert_false(sti_stamp_equal(&now, &kept));
    sti_stamp_begin(&now); /* the next time there is memory */
    for (uint64_t i = 0; i < 17; i++) sti_stamp_add_value(&now, i);
    sti_stamp_keep(&kept, &now);
    assert_true(sti_stamp_equal(&kept, &now));
    sti_stamp_free(&now);
    sti_stamp_free(&kept);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
}

static void keeping_what_was_not_begun_invalidates(void **state)
{
    sti_stamp now = {0}, kept = {0};
    sti_stamp_begin(&kept);
    sti_stamp_keep(&kept, &now);
    assert_false(kept.valid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identities_never_repeat),
        cmocka_unit_test(a_bump_grows_the_generation_only),
        cmocka_unit_test(the_zeroed_stamp_is_never_current),
        cmocka_unit_test(equal_words_are_equal_stamps),
        cmocka_unit_test(a_write_makes_stamps_unequal),
        cmocka_unit_test(a_prefix_is_not_equal),
        cmocka_unit_test(kf17_a_stamp_of_an_empty_list_is_current_once_kept),
        cmocka_unit_test(kf22_a_recycled_address_has_another_identity),
        cmocka_unit_test(kf23_a_shape_is_recorded),
        cmocka_unit_test(kf23_an_absence_is_recorded),
        cmocka_unit_test(many_inputs_grow_the_stamp_once),
        cmocka_unit_test(words_in_bulk_and_a_stamp_of_one),
        cmocka_unit_test(random_stamps_equal_their_lists),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(a_stamp_that_ran_out_of_memory_is_never_current),
        cmocka_unit_test(keeping_what_was_not_begun_invalidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
