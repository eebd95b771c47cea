/* Arenas: pieces, high-water marks, and no allocation once a round has been seen. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/dice.h"
#include "base/failing.h"

#include <string.h>

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    enum { NPIECE = 500 };
    uint64_t dice = dice_seed("pieces_are_zeroed_aligned_and_apart");
    unsigned char *pieces[NPIECE];
    size_t sizes[NPIECE];
    sti_arena a;
    sti_arena_init(&a, "scratch");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < NPIECE; i++) {
            sizes[i] = dice_below(&dice, 3000);
            assert_int_equal(sti_arena_take(&a, sizes[i], &pieces[i]), STET_OK);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % STI_ALIGN, 0);
            for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(pieces[i][k], 0);
            memset(pieces[i], i % 255 + 1, sizes[i]);
        }
        for (int i = 0; i < NPIECE; i++) { /* still there: no piece moved, none lies in another */
            for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(pieces[i][k], i % 255 + 1);
        }
        sti_arena_reset(&a);
    }
    sti_arena_free(&a);
    assert_int_equal(stet_get_memory_stats().blocks, 0);
}

static void empty_pieces_are_pieces(void **state)
{
    sti_arena a;
    sti_arena_init(&a, "scratch");
    void *p = NULL, *q = NULL;
    assert_int_equal(sti_arena_take(&a, 0, &p), STET_OK);
    assert_int_equal(sti_arena_take(&a, 0, &q), STET_OK);
    assert_non_null(p);
    assert_ptr_not_equal(p, q);
    sti_arena_free(&a);
}

static void the_high_water_mark_stays(void **state)
{
    sti_arena a;
    sti_arena_init(&a, "scratch");
    void *p;
    assert_int_equal(sti_arena_take(&a, 1000, &p), STET_OK);
    assert_int_equal(sti_arena_take(&a, 300000, &p), STET_OK);
    assert_in_range(a.used, 301000, 301000 + 2 * STI_ALIGN);
    size_t high = a.high;
    assert_int_equal(high, a.used);
    sti_arena_reset(&a);
    assert_int_equal(a.used, 0);
    assert_int_equal(a.high, high);
    assert_int_equal(sti_arena_take(&a, 10, &p), STET_OK);
    assert_int_equal(a.used, STI_ALIGN);
    assert_int_equal(a.high, high);
    sti_arena_free(&a);
}

static stet_result one_round(sti_arena *a)
{
    for (size_t i = 0; i < 40; i++) {
        void *p;
        stet_result result = sti_arena_take(a, 10000 + 777 * i, &p);
        if (result != STET_OK) return result;
    }
    return STET_OK;
}

static void a_reset_merges_and_the_steady_state_allocates_nothing(void **state)
{
    sti_arena a;
    sti_arena_init(&a, "scratch");
    assert_int_equal(one_round(&a), STET_OK);
    assert_true(stet_get_memory_stats().blocks > 1);
    sti_arena_reset(&a);
    assert_int_equal(stet_get_memory_stats().blocks, 1);
    int64_t calls = stet_get_memory_stats().allocations;
    for (int round = 0; round < 10; round++) {
        assert_int_equal(one_round(&a), STET_OK);
        sti_arena_reset(&a);
    }
    assert_int_equal(stet_get_memory_stats().allocations, calls);
    sti_arena_free(&a);
    assert_int_equal(stet_get_memory_stats().blocks, 0);
}

/* A reset that cannot merge keeps what it has, and a round of the same size still needs nothing new. */
static void a_reset_without_memory_keeps_the_chain(void **state)
{
    failing f = {0};
    assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
    sti_arena a;
    sti_arena_init(&a, "scratch");
    assert_int_equal(one_round(&a), STET_OK);
    int64_t held = f.held;
    assert_true(held > 1);
    f.fail_at = f.calls + 1;
    f.then_all = true;
    for (int round = 0; round < 3; round++) {
        sti_arena_reset(&a);
        assert_true(f.failed);
        assert_int_equal(f.held, held);
        assert_int_equal(one_round(&a), STET_OK);
    }
    sti_arena_free(&a);
    assert_int_equal(f.held, 0);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
}

static void a_failure_names_the_arena_and_leaves_it_usable(void **state)
{
    failing f = {.fail_at = 2};
    assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
    sti_arena a;
    sti_arena_init(&a, "the contacts' scratch");
    unsigned char *kept, *p = NULL;
    assert_int_equal(sti_arena_take(&a, 100, &kept), STET_OK);
    memset(kept, 5, 100);
    size_t used = a.used;
    p = kept;
    assert_int_equal(sti_arena_take(&a, 1 << 20, &p), STET_ERROR_OUT_OF_MEMORY);
    assert_null(p);
    assert_int_equal(a.used, used);
    assert_non_null(strstr(stet_get_last_error(), "the contacts' scratch"));
    assert_int_equal(sti_arena_take(&a, SIZE_MAX - 10, &p), STET_ERROR_OUT_OF_MEMORY);
    assert_int_equal(sti_arena_take(&a, 1 << 20, &p), STET_OK);
    assert_int_equal(kept[99], 5);
    sti_arena_free(&a);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
}

static stet_result two_rounds(void)
{
    sti_arena a;
    sti_arena_init(&a, "scratch");
    stet_result result = one_round(&a);
    sti_arena_reset(&a);
    if (result == STET_OK) result = one_round(&a);
    sti_arena_free(&a);
    sti_arena_free(&a);
    return result;
}

static void each_allocation_may_fail(void **state) { assert_true(fail_each_allocation(two_rounds, true) >= 3); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(empty_pieces_are_pieces),
        cmocka_unit_test(the_high_water_mark_stays),
        cmocka_unit_test(a_reset_merges_and_the_steady_state_allocates_nothing),
        cmocka_unit_test(a_reset_without_memory_keeps_the_chain),
        cmocka_unit_test(a_failure_names_the_arena_and_leaves_it_usable),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
