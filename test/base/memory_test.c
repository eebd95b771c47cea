/* Memory: the hook, the counts, and what is left after a failure. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/failing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool all_bytes_are(const void *data, size_t size, unsigned char value)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) {
        if (p[i] != value) return false;
    }
    return true;
}

static int nothing_is_held(void **state)
{
    stet_memory_stats stats = stet_get_memory_stats();
    return stats.blocks == 0 && stats.bytes == 0 ? 0 : 1;
}

static void blocks_are_zeroed_aligned_and_know_their_size(void **state)
{
    static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int again = 0; again < 2; again++) {
            char *block;
            assert_int_equal(sti_alloc(&block, sizes[i], "a test"), STET_OK);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % STI_ALIGN, 0);
            assert_int_equal(sti_block_size(block), sizes[i]);
            assert_true(all_bytes_are(block, sizes[i], 0));
            memset(block, 0xA5, sizes[i]);
            sti_free(block);
        }
    }
    sti_free(NULL);
    assert_int_equal(sti_block_size(NULL), 0);
}

static void what_is_held_is_counted(void **state)
{
    stet_memory_stats before = stet_get_memory_stats();
    void *a, *b;
    assert_int_equal(sti_alloc(&a, 3 << 20, "a"), STET_OK);
    assert_int_equal(sti_alloc(&b, 5, "b"), STET_OK);
    stet_memory_stats stats = stet_get_memory_stats();
    assert_int_equal(stats.blocks - before.blocks, 2);
    assert_int_equal(stats.bytes - before.bytes, (3 << 20) + 5);
    assert_int_equal(stats.allocations - before.allocations, 2);
    assert_true(stats.peak_bytes >= stats.bytes);
    sti_free(a);
    assert_int_equal(stet_get_memory_stats().blocks - before.blocks, 1); /* b would be found as a leak */
    assert_int_equal(stet_get_memory_stats().bytes - before.bytes, 5);
    assert_int_equal(stet_get_memory_stats().peak_bytes, stats.peak_bytes);
    sti_free(b);
    assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
    assert_int_equal(stet_get_memory_stats().bytes, before.bytes);
}

static void realloc_keeps_and_zeroes(void **state)
{
    unsigned char *block = NULL;
    assert_int_equal(sti_realloc(&block, 100, "a test"), STET_OK);
    assert_true(all_bytes_are(block, 100, 0));
    memset(block, 7, 100);
    assert_int_equal(sti_realloc(&block, 300, "a test"), STET_OK);
    assert_true(all_bytes_are(block, 100, 7));
    assert_true(all_bytes_are(block + 100, 200, 0));
    memset(block, 9, 300);
    assert_int_equal(sti_realloc(&block, 10, "a test"), STET_OK);
    assert_int_equal(sti_block_size(block), 10);
    assert_true(all_bytes_are(block, 10, 9));
    assert_int_equal(sti_realloc(&block, 20, "a test"), STET_OK);
    assert_true(all_bytes_are(block, 10, 9));
    assert_true(all_bytes_are(block + 10, 10, 0));
    int64_t calls = stet_get_memory_stats().allocations;
    assert_int_equal(sti_realloc(&block, 20, "a test"), STET_OK);
    assert_int_equal(stet_get_memory_stats().allocations, calls);
    sti_free(block);
}

#ifdef __SANITIZE_ADDRESS__ /* which keeps shadows of blocks, and their neighbours apart */
enum { SHADOWED = 1 };
#else
enum { SHADOWED = 0 };
#endif

/* How many pages of a block are in memory. */
static size_t count_resident(const char *block, size_t size, size_t page)
{
    unsigned char *in;
    size_t n = size / page, count = 0;
    assert_non_null(in = malloc(n));
    uintptr_t begin = (uintptr_t)block / page * page;
    assert_int_equal(mincore((void *)begin, n * page, in), 0);
    for (size_t i = 0; i < n; ++i) count += in[i] & 1;
    free(in);
    return count;
}

/* MEMORY-4 */
static void what_is_not_used_of_a_large_block_takes_no_memory(void **state)
{
    const size_t size = (size_t)64 << 20, page = (size_t)sysconf(_SC_PAGESIZE), some = (size_t)4 << 20;
    char *block;
    assert_int_equal(sti_alloc(&block, size, "a large block"), STET_OK);
    if (!SHADOWED) assert_in_range(count_resident(block, size, page), 1, some / page); /* where its header is */
    block[size / 2] = 1;
    block[size - 1] = 1;
    assert_int_equal(block[size / 2 - 1], 0);
    assert_int_equal(sti_realloc(&block, 2 * size, "a larger block"), STET_OK);
    assert_int_equal(block[size - 1], 1);
    assert_int_equal(block[size], 0);
    assert_int_equal(block[2 * size - 1], 0);
    sti_free(block);
}

static void realloc_keeps_the_old_block_on_failure(void **state)
{
    failing f = {.fail_at = 2};
    assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
    unsigned char *block = NULL;
    assert_int_equal(sti_realloc(&block, 100, "a test"), STET_OK);
    memset(block, 7, 100);
    const unsigned char *old = block;
    assert_int_equal(sti_realloc(&block, 200, "the poses"), STET_ERROR_OUT_OF_MEMORY);
    assert_ptr_equal(block, old);
    assert_int_equal(sti_block_size(block), 100);
    assert_true(all_bytes_are(block, 100, 7));
    assert_non_null(strstr(stet_get_last_error(), "200 bytes for the poses"));
    sti_free(block);
    assert_int_equal(f.held, 0);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
}

static void a_failure_says_what_and_how_much(void **state)
{
    failing f = {.fail_at = 1};
    assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
    int something;
    void *block = &something;
    assert_int_equal(sti_alloc(&block, 12345, "the contacts"), STET_ERROR_OUT_OF_MEMORY);
    assert_null(block);
    assert_non_null(strstr(stet_get_last_error(), "12345 bytes for the contacts"));
    assert_int_equal(stet_get_memory_stats().blocks, 0);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
}

static void an_absurd_size_fails_and_does_not_wrap(void **state)
{
    void *block = NULL;
    assert_int_equal(sti_alloc(&block, SIZE_MAX, "a test"), STET_ERROR_OUT_OF_MEMORY);
    assert_null(block);
    assert_int_equal(sti_alloc(&block, SIZE_MAX - STI_ALIGN + 1, "a test"), STET_ERROR_OUT_OF_MEMORY);
    assert_null(block);
}

static void the_hook_is_used_and_cannot_change_while_blocks_are_held(void **state)
{
    failing f = {0};
    assert_int_equal(stet_set_allocator(failing_alloc, NULL, &f), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_set_allocator(NULL, failing_free, &f), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
    char *text;
    assert_int_equal(sti_strdup(&text, "let it stand"), STET_OK);
    assert_string_equal(text, "let it stand");
    assert_int_equal(f.calls, 1);
    assert_int_equal(f.held, 1);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_ERROR_STATE);
    sti_free(text);
    assert_int_equal(f.held, 0);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
    assert_int_equal(sti_strdup(&text, ""), STET_OK);
    assert_int_equal(f.calls, 1);
    sti_free(text);
}

static void *misaligned_alloc(size_t size, size_t align, void *context)
{
    char *memory = failing_alloc(size + align, align, context);
    return memory ? memory + 8 : NULL;
}

static void misaligned_free(void *memory, void *context) { failing_free((char *)memory - 8, context); }

static void a_hook_that_does_not_align_is_refused(void **state)
{
    failing f = {0};
    assert_int_equal(stet_set_allocator(misaligned_alloc, misaligned_free, &f), STET_OK);
    void *block;
    assert_int_equal(sti_alloc(&block, 10, "a test"), STET_ERROR_OUT_OF_MEMORY);
    assert_null(block);
    assert_non_null(strstr(stet_get_last_error(), "aligned"));
    assert_int_equal(f.calls, 1);
    assert_int_equal(f.held, 0);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
}

static stet_result make_three(void)
{
    void *a = NULL, *b = NULL;
    char *c = NULL;
    stet_result result = sti_alloc(&a, 10, "a");
    if (result == STET_OK) result = sti_realloc(&b, 20, "b");
    if (result == STET_OK) result = sti_strdup(&c, "c");
    if (result == STET_OK) result = sti_realloc(&a, 40, "a");
    sti_free(a);
    sti_free(b);
    sti_free(c);
    return result;
}

static void each_allocation_may_fail(void **state) { assert_int_equal(fail_each_allocation(make_three, false), 4); }

static void products_do_not_wrap(void **state)
{
    size_t out = 1;
    assert_int_equal(sti_mul_size(0, SIZE_MAX, &out, "poses"), STET_OK);
    assert_int_equal(out, 0);
    assert_int_equal(sti_mul_size(SIZE_MAX, 0, &out, "poses"), STET_OK);
    assert_int_equal(sti_mul_size(SIZE_MAX, 1, &out, "poses"), STET_OK);
    assert_true(out == SIZE_MAX);
    assert_int_equal(sti_mul_size(7, 6, &out, "poses"), STET_OK);
    assert_int_equal(out, 42);
    assert_int_equal(sti_mul_size(SIZE_MAX / 2 + 1, 2, &out, "poses"), STET_ERROR_LIMIT);
    assert_int_equal(out, 0);
    assert_non_null(strstr(stet_get_last_error(), "poses"));
}

static void *hold_and_free(void *context)
{
    (void)context;
    for (int i = 0; i < 2000; i++) {
        void *a = NULL, *b = NULL;
        if (sti_alloc(&a, 100, "a") != STET_OK || sti_alloc(&b, 28, "b") != STET_OK) return context;
        sti_free(a);
        sti_free(b);
    }
    return NULL;
}

static void counts_hold_with_many_threads(void **state)
{
    enum { NTHREAD = 4 };
    stet_memory_stats before = stet_get_memory_stats();
    pthread_t threads[NTHREAD];
    for (int i = 0; i < NTHREAD; i++) assert_int_equal(pthread_create(&threads[i], NULL, hold_and_free, &before), 0);
    for (int i = 0; i < NTHREAD; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    stet_memory_stats after = stet_get_memory_stats();
    assert_int_equal(after.blocks, before.blocks);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.allocations - before.allocations, NTHREAD * 2000 * 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, nothing_is_held, nothing_is_held)
    const struct CMUnitTest tests[] = {
        TEST(blocks_are_zeroed_aligned_and_know_their_size),
        TEST(what_is_held_is_counted),
        TEST(realloc_keeps_and_zeroes),
        TEST(what_is_not_used_of_a_large_block_takes_no_memory),
        TEST(realloc_keeps_the_old_block_on_failure),
        TEST(a_failure_says_what_and_how_much),
        TEST(an_absurd_size_fails_and_does_not_wrap),
        TEST(the_hook_is_used_and_cannot_change_while_blocks_are_held),
        TEST(a_hook_that_does_not_align_is_refused),
        TEST(each_allocation_may_fail),
        TEST(products_do_not_wrap),
        TEST(counts_hold_with_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
