/*
 * Arrays: where each element lies, what the host sees of it, versions, mirrors, producers, and what is refused.
 */
#include "device/rig.h"

#include "base/dice.h"
#include "base/failing.h"
#include "device/reals.h"
#include "base/hash.h"

#include <stdlib.h>

enum { ARRAY_DIMS_TOO_MANY = STET_MAX_DIMS + 1 };

/* ---- layout --------------------------------------------------------------------------------------------------- */

static void worlds_are_blocked_by_the_lane_width(void **state)
{
    enum { WORLDS = 21, ITEMS = 6 };
    FOR_ISAS(isa)
    {
        stet_device *device = open_device(isa, 1);
        int64_t lanes = stet_device_get_lanes(device), blocks = (WORLDS + lanes - 1) / lanes;
        stet_array *a;
        OK(STI_ARRAY(device, "a", STET_DTYPE_INT, true, &a, WORLDS, 2, 3));
        int host[WORLDS][ITEMS], back[WORLDS][ITEMS];
        for (int w = 0; w < WORLDS; ++w)
            for (int i = 0; i < ITEMS; ++i) host[w][i] = 100 * w + i + 1;
        OK(stet_array_write(a, host, sizeof host));
        assert_int_equal(a->nitem, ITEMS);
        assert_int_equal(a->size, (size_t)(blocks * ITEMS * lanes) * sizeof(int));
        const int *data = a->data;
        for (int64_t b = 0; b < blocks; ++b)
            for (int64_t i = 0; i < ITEMS; ++i)
                for (int64_t l = 0; l < lanes; ++l) {
                    int64_t w = b * lanes + l;
                    assert_int_equal(data[(b * ITEMS + i) * lanes + l], w < WORLDS ? host[w][i] : 0);
                    if (w < WORLDS) assert_int_equal(sti_array_index(a, w, i), (b * ITEMS + i) * lanes + l);
                }
        OK(stet_array_read(a, back, sizeof back));
        assert_memory_equal(back, host, sizeof host);
        stet_array_destroy(a);
        stet_device_destroy(device);
    }
}

static void plain_arrays_are_in_c_order(void **state)
{
    static const size_t sizes[STET_DTYPE_COUNT] = {4, 4, 8, 4, 2, 1, 2};
    FOR_ISAS(isa)
    for (int t = 0; t < STET_DTYPE_COUNT; ++t) {
        stet_device *device = open_device(isa, 1);
        size_t size = t == STET_DTYPE_REAL && isa == STI_ISA_f64 ? 8 : sizes[t];
        assert_int_equal(stet_dtype_size(device, (stet_dtype)t), size);
        stet_array *a;
        OK(STI_ARRAY(device, "a", (stet_dtype)t, false, &a, 3, 5, 2));
        assert_int_equal(stet_array_get_nelement(a), 30);
        assert_int_equal(stet_array_get_bytes(a), 30 * size);
        assert_int_equal(a->size, 30 * size);
        assert_int_equal((uintptr_t)a->data % STI_ALIGN, 0);
        uint8_t host[30 * 8], back[30 * 8];
        for (size_t i = 0; i < sizeof host; ++i) host[i] = (uint8_t)(i * 7 + 1);
        OK(stet_array_write(a, host, 30 * size));
        assert_memory_equal(a->data, host, 30 * size);
        OK(stet_array_read_worlds(a, 1, 2, back, 20 * size));
        assert_memory_equal(back, host + 10 * size, 20 * size);
        stet_array_destroy(a);
        stet_device_destroy(device);
    }
}

static void reals_are_the_devices_own(void **state)
{
    FOR_ISAS(isa)
    {
        stet_device *device = open_device(isa, 1);
        stet_array *a;
        OK(STI_ARRAY(device, "a", STET_DTYPE_REAL, true, &a, 3, 2));
        double d[3][2] = {{0.1, 0.2}, {1e-40, -1e30}, {3, -0.0}};
        float f[3][2], fback[3][2];
        double dback[3][2];
        for (int k = 0; k < 6; ++k) f[k / 2][k % 2] = (float)d[k / 2][k % 2];
        if (isa == STI_ISA_f64) {
            OK(stet_array_write(a, d, sizeof d));
            OK(stet_array_read(a, dback, sizeof dback));
            assert_memory_equal(d, dback, sizeof d);
            FAILS(stet_array_read(a, fback, sizeof fback), STET_ERROR_INVALID_ARGUMENT, "24 bytes given");
        } else {
            OK(stet_array_write(a, f, sizeof f));
            OK(stet_array_read(a, fback, sizeof fback));
            assert_memory_equal(f, fback, sizeof f);
        }
        assert_true(reals_get(a, 0, 1) == (isa == STI_ISA_f64 ? 0.2 : (double)0.2f));
        reals_set(a, 2, 0, 0.7);
        assert_true(reals_get(a, 2, 0) == (isa == STI_ISA_f64 ? 0.7 : (double)0.7f));
        assert_true(reals_get(a, 1, 1) == (isa == STI_ISA_f64 ? d[1][1] : (double)f[1][1]));
        stet_array_destroy(a);
        stet_device_destroy(device);
    }
}

/* ---- ranges --------------------------------------------------------------------------------------------------- */

static void ranges_beyond_the_array_are_refused(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_array *a;
    int some[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}}, back[4][2];
    OK(STI_ARRAY(device, "poses", STET_DTYPE_INT, true, &a, 4, 2));
    OK(stet_array_write(a, some, sizeof some));
    uint64_t generation = stet_array_get_generation(a);
    static const int64_t bad[][2] = {{-1, 1}, {0, 5}, {4, 1}, {5, 0}, {2, -1}, {1, INT64_MAX}, {INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        FAILS(stet_array_read_worlds(a, bad[i][0], bad[i][1], back, 8), STET_ERROR_INVALID_ARGUMENT, "array poses: ");
        FAILS(stet_array_write_worlds(a, bad[i][0], bad[i][1], back, 8), STET_ERROR_INVALID_ARGUMENT, "array poses: ");
    }
    FAILS(stet_array_read(a, back, sizeof back - 4), STET_ERROR_INVALID_ARGUMENT,
          "28 bytes given, not the 32 of 4 rows");
    FAILS(stet_array_write(a, back, sizeof back + 4), STET_ERROR_INVALID_ARGUMENT,
          "36 bytes given, not the 32 of 4 rows");
    FAILS(stet_array_write_worlds(a, 1, 2, back, 32), STET_ERROR_INVALID_ARGUMENT,
          "32 bytes given, not the 16 of 2 rows");
    FAILS(stet_array_write_worlds(a, 1, 1, back, 9), STET_ERROR_INVALID_ARGUMENT, "9 bytes given, not the 8 of 1 row");
    assert_int_equal(stet_array_get_generation(a), generation);
    OK(stet_array_read(a, back, sizeof back));
    assert_memory_equal(back, some, sizeof some);
    stet_array_destroy(a);
    stet_device_destroy(device);
}

/* ---- hashes --------------------------------------------------------------------------------------------------- */

/* ---- versions ------------------------------------------------------------------------------------------------- */

static void only_writes_move_a_generation(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_array *a, *b;
    int some[8] = {0};
    const void *mirror;
    uint64_t hash;
    OK(STI_ARRAY(device, "a", STET_DTYPE_INT, false, &a, 8));
    OK(STI_ARRAY(device, "b", STET_DTYPE_INT, false, &b, 8));
    assert_true(stet_array_get_id(a) != 0 && stet_array_get_id(a) != stet_array_get_id(b));
    uint64_t g = stet_array_get_generation(a), id = stet_array_get_id(b);
    OK(stet_array_read(a, some, sizeof some));
    OK(stet_array_get_host(a, &mirror));
    OK(stet_array_hash(a, &hash));
    assert_int_equal(stet_array_get_generation(a), g);
    OK(stet_array_write(a, some, sizeof some));
    assert_int_equal(stet_array_get_generation(a), g + 1);
    stet_array_mark_written(a);
    assert_int_equal(stet_array_get_generation(a), g + 2);
    stet_array_destroy(b);
    OK(STI_ARRAY(device, "b", STET_DTYPE_INT, false, &b, 8)); /* most likely at the same address */
    assert_true(stet_array_get_id(b) != id);
    stet_array_destroy(a);
    stet_array_destroy(b);
    stet_device_destroy(device);
}

static const stet_counter *readback(const stet_device *device)
{
    return &device->mechanisms.counters.mechanism[STET_MECHANISM_READBACK];
}

static void readback_off_copies_each_time(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_mechanism_options options = stet_device_get_mechanisms(device);
    options.disabled |= 1u << STET_MECHANISM_READBACK;
    OK(stet_device_set_mechanisms(device, &options));
    stet_array *a;
    const void *mirror;
    OK(STI_ARRAY(device, "a", STET_DTYPE_INT, false, &a, 6));
    for (int k = 0; k < 3; ++k) OK(stet_array_get_host(a, &mirror));
    assert_int_equal(readback(device)->hits, 0);
    assert_int_equal(readback(device)->misses, 3);
    assert_int_equal(device->mechanisms.counters.reason[STET_REASON_READBACK_DISABLED], 3);
    assert_int_equal(device->mechanisms.counters.bytes_copied, 3 * 24);
    stet_array_destroy(a);
    stet_device_destroy(device);
}

static void audit_finds_a_write_that_nobody_announced(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_mechanism_options options = stet_device_get_mechanisms(device);
    options.disabled = 0;
    options.audit = true;
    OK(stet_device_set_mechanisms(device, &options));
    stet_array *a;
    const void *mirror;
    OK(STI_ARRAY(device, "poses", STET_DTYPE_INT, false, &a, 6));
    OK(stet_array_get_host(a, &mirror));
    OK(stet_array_get_host(a, &mirror));
    ((int *)a->data)[2] = 1;
    FAILS(stet_array_get_host(a, &mirror), STET_ERROR_AUDIT, "readback: poses had changed at byte 8");
    ((int *)a->data)[2] = 2;
    stet_array_mark_written(a);
    OK(stet_array_get_host(a, &mirror));
    assert_int_equal(((const int *)mirror)[2], 2);
    stet_array_destroy(a);
    stet_device_destroy(device);
}

/* ---- producers ------------------------------------------------------------------------------------------------ */

typedef struct maker {
    stet_array *array;
    int calls;
    bool fails;
} maker;

/* Writes its own number of calls; reads and writes the array that it makes, which must not call it again. */
static stet_result make(void *context)
{
    maker *m = context;
    int was[3];
    m->calls++;
    if (m->fails) return sti_error(STET_ERROR_STATE, "the maker is tired");
    STI_TRY(stet_array_read(m->array, was, sizeof was));
    int now[3] = {m->calls, was[1], was[2]};
    return stet_array_write_worlds(m->array, 0, 3, now, sizeof now);
}

static void what_a_producer_fails_with_is_passed_on(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    maker m = {.fails = true};
    int got[3] = {5, 5, 5};
    const void *mirror = got;
    uint64_t hash;
    OK(STI_ARRAY(device, "made", STET_DTYPE_INT, false, &m.array, 3));
    sti_array_set_producer(m.array, make, &m);
    uint64_t g = stet_array_get_generation(m.array);
    FAILS(stet_array_read(m.array, got, sizeof got), STET_ERROR_STATE, "the maker is tired");
    FAILS(stet_array_hash(m.array, &hash), STET_ERROR_STATE, "the maker is tired");
    FAILS(stet_array_get_host(m.array, &mirror), STET_ERROR_STATE, "the maker is tired");
    assert_null(mirror);
    FAILS(stet_array_write_worlds(m.array, 0, 1, got, 4), STET_ERROR_STATE, "the maker is tired");
    assert_int_equal(got[0], 5);
    assert_int_equal(stet_array_get_generation(m.array), g);
    assert_int_equal(m.calls, 4);
    m.fails = false; /* and a failure is not kept */
    OK(stet_array_read(m.array, got, sizeof got));
    assert_int_equal(got[0], 5); /* its fifth call */
    assert_int_equal(got[1], 0);
    sti_array_set_producer(m.array, NULL, NULL);
    OK(stet_array_read(m.array, got, sizeof got));
    assert_int_equal(m.calls, 5);
    stet_array_destroy(m.array);
    stet_device_destroy(device);
}

/* ---- what is refused ------------------------------------------------------------------------------------------ */

static void defs_that_make_no_sense(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_array *a = (stet_array *)device;
    stet_array_def def = stet_default_array_def(), zero = {0};
    def.name = "x";
    def.shape[0] = 4;
    FAILS(stet_array_create(NULL, &def, &a), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_array_create(device, NULL, &a), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_array_create(device, &def, NULL), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_array_create(device, &zero, &a), STET_ERROR_INVALID_ARGUMENT, "stet_default_array_def");
    assert_null(a);
#define REFUSED(part, ...)                                                                                             \
    do {                                                                                                               \
        stet_array_def bad = def;                                                                                      \
        __VA_ARGS__;                                                                                                   \
        FAILS(stet_array_create(device, &bad, &a), STET_ERROR_INVALID_ARGUMENT, part);                                 \
        assert_null(a);                                                                                                \
    } while (0)
    REFUSED("array x: 0 dimensions", bad.ndim = 0);
    REFUSED("array x: 7 dimensions; 1 to 6", bad.ndim = ARRAY_DIMS_TOO_MANY);
    REFUSED("array x: dimension 0 is -1", bad.shape[0] = -1);
    REFUSED("no element type 7", bad.dtype = STET_DTYPE_COUNT);
    REFUSED("no element type -1", bad.dtype = (stet_dtype)-1);
    for (int t = STET_DTYPE_I64; t < STET_DTYPE_COUNT; ++t)
        REFUSED("an array of worlds holds real or int", bad.worlds = true, bad.dtype = (stet_dtype)t);
    stet_device_destroy(device);
}

static void a_long_name_is_cut(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_array *a;
    char name[200];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    OK(STI_ARRAY(device, name, STET_DTYPE_U8, false, &a, 1));
    assert_int_equal(strlen(stet_array_get_name(a)), sizeof a->name - 1);
    assert_int_equal(stet_array_get_ndim(a), 1);
    assert_int_equal(stet_array_get_shape(a)[0], 1);
    assert_ptr_equal(stet_array_get_device(a), device);
    stet_array_destroy(a);
    stet_array_destroy(NULL);
    stet_device_destroy(device);
}

/* An array in use, from a device of its own, so that nothing was allocated before. */
static stet_result use_an_array(void)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    stet_array *a = NULL;
    const void *mirror;
    uint64_t hash;
    def.type = STET_DEVICE_CPU;
    STI_TRY(stet_device_create(&def, &device));
    stet_result result = STI_ARRAY(device, "a", STET_DTYPE_REAL, true, &a, 20, 3);
    if (result == STET_OK) result = stet_array_get_host(a, &mirror);
    if (result == STET_OK) result = stet_array_hash(a, &hash);
    stet_array_destroy(a);
    stet_device_destroy(device);
    return result;
}

static void every_allocation_may_fail(void **state) { assert_true(fail_each_allocation(use_an_array, false) >= 5); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worlds_are_blocked_by_the_lane_width),
        cmocka_unit_test(plain_arrays_are_in_c_order),
        cmocka_unit_test(reals_are_the_devices_own),
        cmocka_unit_test(ranges_beyond_the_array_are_refused),
        cmocka_unit_test(only_writes_move_a_generation),
        cmocka_unit_test(readback_off_copies_each_time),
        cmocka_unit_test(audit_finds_a_write_that_nobody_announced),
        cmocka_unit_test(what_a_producer_fails_with_is_passed_on),
        cmocka_unit_test(defs_that_make_no_sense),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
