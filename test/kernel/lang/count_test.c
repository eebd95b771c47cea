/* Kernels that count their operations and bytes (bench/count): a kernel whose numbers are known. */
#include "bench/count/count.h"
#include "kernel/record/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

extern const sti_kernel sti_k_count;
extern const bench_counted test_counted[];

#define OK(expression)                                                                                                 \
    do {                                                                                                               \
        if ((expression) != STET_OK) fail_msg("%s: %s", #expression, stet_get_last_error());                           \
    } while (0)

enum { ITEMS = 4, BLOCKS = 3 };
typedef struct results {
    float y[BLOCKS][ITEMS + 1];
    uint8_t small[BLOCKS][ITEMS];
} results;

static stet_array *make(stet_device *device, const char *name, stet_dtype type, int64_t n, const void *from)
{
    stet_array *a;
    OK(STI_ARRAY(device, name, type, false, &a, n));
    OK(stet_array_write(a, from, stet_array_get_bytes(a)));
    return a;
}

/* counted: by the kernels that count. */
static results run(const float *x, const int *index, bool counted)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    results out = {0};
    def.type = STET_DEVICE_CPU;
    def.isa = "w1";
    def.threads = 1;
    OK(stet_device_create(&def, &device));
    if (counted) bench_count_on(device, test_counted);
    stet_array *xs = make(device, "x", STET_DTYPE_REAL, ITEMS, x),
               *at = make(device, "i", STET_DTYPE_INT, ITEMS, index),
               *y = make(device, "y", STET_DTYPE_REAL, BLOCKS * (ITEMS + 1), out.y),
               *small = make(device, "small", STET_DTYPE_U8, BLOCKS * ITEMS, out.small);
    bench_counts.flops = bench_counts.bytes = 0;
    OK(STI_LAUNCH(sti_k_count, device, BLOCKS, sti_arg_array(xs), sti_arg_array(at), sti_arg_array(y),
                  sti_arg_array(small), sti_arg_team(NULL, ITEMS)));
    OK(stet_array_read(y, out.y, sizeof out.y));
    OK(stet_array_read(small, out.small, sizeof out.small));
    stet_array_destroy(xs);
    stet_array_destroy(at);
    stet_array_destroy(y);
    stet_array_destroy(small);
    stet_device_destroy(device);
    return out;
}

static void test_known_counts(void **state)
{
    static const struct {
        float x[ITEMS];
        int index[ITEMS];
        int less, both; /* items with a < b; whether `first > 0 && at > 3` */
    } row[] = {
        {{1, 2, 3, 4}, {3, 2, 1, 0}, 2, 0}, /* 1 < 4, 2 < 3; at is 0 */
        {{1, 2, 3, 4}, {1, 2, 3, 3}, 3, 1},
        {{-1, 2, 3, 4}, {3, 3, 3, 3}, 3, 0},
    };
    sti_isa isa;
    if (!sti_isa_find("w1", &isa) || !sti_isa_available(isa)) skip();
    for (size_t r = 0; r < sizeof row / sizeof *row; ++r) {
        results usual = run(row[r].x, row[r].index, false);
        assert_int_equal(bench_counts.flops + bench_counts.bytes, 0);
        results counted = run(row[r].x, row[r].index, true);
        assert_memory_equal(&counted, &usual, sizeof usual);
        int item = 1 + 5 + 4 + 40 + 1 + 3 * row[r].both;
        assert_int_equal(bench_counts.flops, BLOCKS * (4 + ITEMS * item));
        assert_int_equal(bench_counts.bytes, BLOCKS * (12 + ITEMS * 12 + 4 * row[r].less + (ITEMS - row[r].less)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
