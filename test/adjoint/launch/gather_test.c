/*
 * Listed gradients: every destination gets its entries, items in their order, 256 at a time; the same bits on every
 * device.
 */
#include "device/devices.h"

#include <stdlib.h>

#include "adjoint/launch/gather.h"

enum { MOST = 1 << 17 };

/* A list on the host, in the order of the device: [block][entry][column]. */
typedef struct host_lists {
    int64_t blocks, depth, width, n;
    int64_t destination[MOST];
    float value[MOST];
} host_lists;

static host_lists l;
static float wanted[MOST];

static uint64_t next(uint64_t *random)
{
    uint64_t z = (*random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A third of the entries is empty; half of the rest goes to the first few places. */
static void fill(uint64_t seed, int64_t blocks, int64_t depth, int64_t width, int64_t places)
{
    uint64_t random = seed;
    l.blocks = blocks, l.depth = depth, l.width = width, l.n = blocks * depth * width;
    assert_true(l.n <= MOST);
    for (int64_t i = 0; i < l.n; ++i) {
        int64_t near = places < 3 ? places : 3, range = next(&random) % 2 ? places : near;
        int64_t place = (int64_t)(next(&random) % (uint64_t)range), code = (int64_t)(next(&random) % 3);
        l.destination[i] = next(&random) % 3 == 0 ? -1 : place * STI_LISTING_CODES + code;
        l.value[i] = (float)((double)(next(&random) >> 11) * 0x1p-53 - 0.25);
    }
}

/* The definition, for one place. */
static float sum_of(float before, int64_t place, int64_t code)
{
    float total = 0, piece = 0;
    int64_t count = 0;
    for (int64_t item = 0; item < l.blocks * l.width; ++item)
        for (int64_t k = 0; k < l.depth; ++k) {
            int64_t at = (item / l.width * l.depth + k) * l.width + item % l.width;
            if (l.destination[at] != place * STI_LISTING_CODES + code) continue;
            if (count > 0 && count % 256 == 0) {
                total = count == 256 ? piece : total + piece;
                piece = 0;
            }
            piece = count % 256 == 0 ? l.value[at] : piece + l.value[at];
            ++count;
        }
    if (count == 0) return before;
    return before + (count <= 256 ? piece : total + piece);
}

static float before_of(int64_t place) { return 0.5f + (float)(place % 7); }

static void gather_on(rig_device *r, sti_gathering *g, int64_t nworld, int64_t nitem, int code)
{
    sti_lists lists = {.blocks = l.blocks, .depth = l.depth, .width = l.width};
    stet_array *gradient;
    int64_t n = nworld ? nworld * nitem : nitem;
    float *found = calloc((size_t)n, sizeof *found);
    OK(STI_ARRAY(r->device, "destinations", STET_DTYPE_I64, false, &lists.destinations, l.n));
    OK(STI_ARRAY(r->device, "values", STET_DTYPE_REAL, false, &lists.values, l.n));
    OK(stet_array_write(lists.destinations, l.destination, (size_t)l.n * sizeof *l.destination));
    OK(stet_array_write(lists.values, l.value, (size_t)l.n * sizeof *l.value));
    if (nworld)
        OK(STI_ARRAY(r->device, "gradient", STET_DTYPE_REAL, true, &gradient, nworld, nitem));
    else
        OK(STI_ARRAY(r->device, "gradient", STET_DTYPE_REAL, false, &gradient, nitem));
    for (int64_t i = 0; i < n; ++i) found[i] = before_of(i);
    OK(stet_array_write(gradient, found, (size_t)n * sizeof *found));
    OK(sti_adjoint_gather(g, &lists, code, gradient));
    OK(stet_array_read(gradient, found, (size_t)n * sizeof *found));
    for (int64_t i = 0; i < n; ++i)
        if (memcmp(&found[i], &wanted[i], sizeof *found) != 0)
            fail_msg("%s: place %lld of code %d: %.9g, not %.9g", r->name, (long long)i, code, (double)found[i],
                     (double)wanted[i]);
    free(found);
    stet_array_destroy(gradient);
    stet_array_destroy(lists.destinations);
    stet_array_destroy(lists.values);
}

typedef struct shape {
    int64_t blocks, depth, width, nworld, nitem;
} shape;

/* Also one entry, one place, lists that grow and shrink, and sums of several levels. */
static const shape shapes[] = {{1, 1, 16, 0, 1},     {3, 5, 32, 0, 1},   {7, 3, 48, 0, 40},  {2, 1, 16, 5, 3},
                               {40, 8, 128, 0, 300}, {11, 4, 64, 9, 21}, {60, 33, 64, 0, 5}, {1, 1000, 16, 0, 70000}};

static void owners_add_in_the_order_of_items(void **state)
{
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    const uint64_t seed = 20261;
    print_message("seed %llu\n", (unsigned long long)seed);
    FOR_RUNNING_DEVICES(rig)
    {
        sti_gathering *g;
        OK(sti_gathering_create(rig.device, &g));
        for (int k = 0; k < SHAPES; ++k) {
            const shape *s = &shapes[k];
            int64_t places = s->nworld ? s->nworld * s->nitem : s->nitem;
            fill(seed + (uint64_t)k, s->blocks, s->depth, s->width, places);
            for (int64_t i = 0; i < places; ++i) wanted[i] = before_of(i);
            if (places < 1000)
                for (int64_t i = 0; i < places; ++i) wanted[i] = sum_of(before_of(i), i, k % 3);
            else /* few of many places have entries */
                for (int64_t at = 0; at < l.n; ++at)
                    if (l.destination[at] >= 0 && l.destination[at] % STI_LISTING_CODES == k % 3) {
                        int64_t i = l.destination[at] / STI_LISTING_CODES;
                        wanted[i] = sum_of(before_of(i), i, k % 3);
                    }
            gather_on(&rig, g, s->nworld, s->nitem, k % 3);
        }
        assert_true(sti_gathering_bytes(g) > 0);
        sti_gathering_destroy(g);
    }
}

/* Places beyond 2^24, where a float would no longer count, and a sort of seven rounds. */
static void long_axes_are_reached(void **state)
{
    const int64_t nitem = (INT64_C(1) << 24) + 1001;
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    sti_gathering *g;
    stet_array *gradient;
    def.type = STET_DEVICE_CPU;
    OK(stet_device_create(&def, &device));
    OK(sti_gathering_create(device, &g));
    OK(STI_ARRAY(device, "gradient", STET_DTYPE_REAL, false, &gradient, nitem));
    sti_lists lists = {.blocks = 2, .depth = 1, .width = 16};
    float values[32];
    int64_t destinations[32];
    for (int i = 0; i < 32; ++i) {
        destinations[i] = (nitem - 1 - i % 4) * STI_LISTING_CODES;
        values[i] = (float)(1 + i);
    }
    OK(STI_ARRAY(device, "destinations", STET_DTYPE_I64, false, &lists.destinations, 32));
    OK(STI_ARRAY(device, "values", STET_DTYPE_REAL, false, &lists.values, 32));
    OK(stet_array_write(lists.destinations, destinations, sizeof destinations));
    OK(stet_array_write(lists.values, values, sizeof values));
    OK(sti_adjoint_gather(g, &lists, 0, gradient));
    const float *found;
    OK(stet_array_get_host(gradient, (const void **)&found));
    for (int64_t i = 0; i < nitem; ++i) {
        int64_t k = nitem - 1 - i;
        float sum = k < 4 ? (float)(8 * (1 + k) + 4 * (0 + 1 + 2 + 3 + 4 + 5 + 6 + 7)) : 0;
        if (found[i] != sum) fail_msg("place %lld: %g, not %g", (long long)i, (double)found[i], (double)sum);
    }
    stet_array_destroy(gradient);
    stet_array_destroy(lists.destinations);
    stet_array_destroy(lists.values);
    sti_gathering_destroy(g);
    stet_device_destroy(device);
}

static void too_long_lists_are_refused(void **state)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    sti_gathering *g;
    stet_array *gradient;
    OK(stet_device_create(&def, &device));
    OK(sti_gathering_create(device, &g));
    OK(STI_ARRAY(device, "gradient", STET_DTYPE_REAL, false, &gradient, 1));
    const sti_lists lists = {.blocks = INT64_C(1) << 20, .depth = INT64_C(1) << 10, .width = INT64_C(1) << 11};
    assert_int_equal(sti_adjoint_gather(g, &lists, 0, gradient), STET_ERROR_LIMIT);
    stet_array_destroy(gradient);
    sti_gathering_destroy(g);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(owners_add_in_the_order_of_items),
                                       cmocka_unit_test(long_axes_are_reached),
                                       cmocka_unit_test(too_long_lists_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
