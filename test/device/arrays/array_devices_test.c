/*
 * Arrays on every device of the list: what the host writes is what it reads, whatever lies between. Layout and refusals
 * are array_test.c's.
 */
#include "device/devices.h"

#include "base/dice.h"
#include "base/hash.h"

#include <stdlib.h>

/* ---- content ----------------------------------------------------------------------------------------------------- */

enum { ROWS = 37, ITEMS = 5 };

/* Writes and reads of random ranges against a plain copy of the content. */
static void random_ranges(stet_device *device, bool worlds, uint64_t *dice)
{
    stet_array *a;
    int copy[ROWS][ITEMS] = {{0}}, some[ROWS][ITEMS];
    OK(STI_ARRAY(device, "a", STET_DTYPE_INT, worlds, &a, ROWS, ITEMS));
    for (int round = 0; round < 200; ++round) {
        size_t first = dice_below(dice, ROWS + 1), n = dice_below(dice, ROWS + 1 - first), size = n * sizeof *some;
        if (round % 2) {
            for (size_t r = 0; r < n; ++r)
                for (int i = 0; i < ITEMS; ++i) some[r][i] = copy[first + r][i] = (int)dice_next(dice);
            uint64_t before = stet_array_get_generation(a);
            OK(stet_array_write_worlds(a, (int64_t)first, (int64_t)n, some, size));
            memset(some, 0xee, size);
            assert_int_equal(stet_array_get_generation(a), before + (n > 0));
        } else {
            OK(stet_array_read_worlds(a, (int64_t)first, (int64_t)n, some, size));
            assert_memory_equal(some, copy[first], size);
        }
    }
    OK(stet_array_read(a, some, sizeof some));
    assert_memory_equal(some, copy, sizeof copy);
    stet_array_destroy(a);
}

static void ranges_of_rows(void **state)
{
    uint64_t dice = dice_seed("ranges_of_rows");
    FOR_DEVICES_AND_DOUBLE(rig)
    {
        random_ranges(rig.device, true, &dice);
        random_ranges(rig.device, false, &dice);
    }
}

static void arrays_begin_as_zero(void **state)
{
    static const int64_t counts[] = {1, 1000, 300000, 2000000};
    FOR_DEVICES(rig)
    for (int round = 0; round < 2; ++round)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
            stet_array *a;
            size_t size = (size_t)counts[k];
            unsigned char *host = malloc(size);
            assert_non_null(host);
            OK(STI_ARRAY(rig.device, "a", STET_DTYPE_U8, false, &a, counts[k]));
            OK(stet_array_read(a, host, size));
            for (size_t i = 0; i < size; ++i)
                if (host[i]) fail_msg("byte %zu is %d", i, host[i]);
            memset(host, 0x5a, size);
            OK(stet_array_write(a, host, size));
            stet_array_destroy(a);
            free(host);
        }
}

static void empty_arrays(void **state)
{
    enum { SHAPES = 7 };
    static const int64_t big = INT64_C(1) << 40;
    const int64_t shapes[SHAPES][3] = {
        {0, 3, 1}, {5, 0, 1}, {0, 0, 1}, {0, big, big}, {5, big, 0}, {5, 0, INT64_MAX}, {0, INT64_MAX, INT64_MAX}};
    FOR_DEVICES_AND_DOUBLE(rig)
    for (int k = 0; k < 2 * SHAPES; ++k) {
        stet_array *a;
        int here = 7;
        const void *mirror;
        uint64_t hash;
        OK(sti_array_new(rig.device, "nothing", STET_DTYPE_INT, k % 2, 3, shapes[k / 2], &a));
        assert_int_equal(stet_array_get_nelement(a), 0);
        assert_int_equal(stet_array_get_bytes(a), 0);
        OK(stet_array_read(a, &here, 0));
        OK(stet_array_write(a, &here, 0));
        assert_int_equal(here, 7);
        OK(stet_array_get_host(a, &mirror));
        assert_non_null(mirror);
        OK(stet_array_hash(a, &hash));
        assert_int_equal(hash, sti_hash_bytes("", 0));
        stet_array_destroy(a);
    }
}

static void hash_is_that_of_the_canonical_bytes(void **state)
{
    enum { N = 1003, M = 301 }; /* more than a megabyte: several pieces */
    uint64_t dice = dice_seed("hash_is_that_of_the_canonical_bytes");
    float(*f)[M] = malloc(sizeof(float[N][M]));
    double(*d)[M] = malloc(sizeof(double[N][M]));
    assert_true(f && d);
    for (int w = 0; w < N; ++w)
        for (int i = 0; i < M; ++i) d[w][i] = (double)(f[w][i] = (float)dice_next(&dice));
    FOR_DEVICES_AND_DOUBLE(rig)
    for (int worlds = 0; worlds < 2; ++worlds) {
        size_t element = stet_dtype_size(rig.device, STET_DTYPE_REAL), size = element * N * M;
        const void *host = element == sizeof(double) ? (const void *)d : (const void *)f;
        stet_array *a;
        uint64_t hash;
        OK(STI_ARRAY(rig.device, "a", STET_DTYPE_REAL, worlds, &a, N, M));
        OK(stet_array_write(a, host, size));
        /* The last element is padding where the lanes do not divide N. */
        if (rig.def.type == STET_DEVICE_CPU && worlds && N % stet_device_get_lanes(rig.device))
            memset((char *)a->data + a->size - element, 0xa5, element);
        OK(stet_array_hash(a, &hash));
        assert_true(hash == sti_hash_bytes(host, size));
        stet_array_destroy(a);
    }
    free(f);
    free(d);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static const stet_counter *readback(const stet_device *device)
{
    return &device->mechanisms.counters.mechanism[STET_MECHANISM_READBACK];
}

static void a_mirror_stands_until_something_is_written(void **state)
{
    FOR_DEVICES_AND_DOUBLE(rig)
    {
        stet_array *a;
        int host[9][2];
        const void *first, *again;
        for (int i = 0; i < 18; ++i) host[i / 2][i % 2] = i * i;
        OK(STI_ARRAY(rig.device, "a", STET_DTYPE_INT, true, &a, 9, 2));
        OK(stet_array_write(a, host, sizeof host));
        stet_device_clear_counters(rig.device);
        OK(stet_array_get_host(a, &first));
        assert_memory_equal(first, host, sizeof host);
        assert_int_equal(readback(rig.device)->misses, 1);
        assert_int_equal(readback(rig.device)->done_bytes, sizeof host);
        OK(stet_array_get_host(a, &again));
        assert_ptr_equal(first, again);
        assert_int_equal(readback(rig.device)->hits, 1);
        assert_int_equal(readback(rig.device)->saved_bytes, sizeof host);
        assert_int_equal(rig.device->mechanisms.counters.bytes_copied, sizeof host);
        host[3][1] = -1;
        OK(stet_array_write_worlds(a, 3, 1, host[3], sizeof host[3]));
        OK(stet_array_get_host(a, &again));
        assert_memory_equal(again, host, sizeof host);
        if (rig.def.type == STET_DEVICE_CPU) { /* elsewhere rows are written into a mirror that is up to date */
            assert_int_equal(readback(rig.device)->misses, 2);
            assert_int_equal(rig.device->mechanisms.counters.reason[STET_REASON_READBACK_MOVED], 2);
        }
        stet_array_destroy(a);
    }
}

/* The allocator of a GPU hands out the same address again; the array is another one. */
static void kf22_a_recycled_address_is_another_array(void **state)
{
    int recycled = 0;
    FOR_DEVICES(rig)
    {
        stet_array *a;
        int some[8] = {1, 2, 3, 4, 5, 6, 7, 8}, none[8] = {0}, back[8];
        const void *mirror;
        OK(STI_ARRAY(rig.device, "a", STET_DTYPE_INT, false, &a, 8));
        OK(stet_array_write(a, some, sizeof some));
        OK(stet_array_get_host(a, &mirror));
        uint64_t id = stet_array_get_id(a), generation = stet_array_get_generation(a);
        const void *address = a->data;
        stet_array_destroy(a);
        OK(STI_ARRAY(rig.device, "a", STET_DTYPE_INT, false, &a, 8));
        recycled += a->data == address;
        assert_true(stet_array_get_id(a) != id);
        OK(stet_array_write(a, none, sizeof none));
        assert_int_equal(stet_array_get_generation(a), generation);
        OK(stet_array_get_host(a, &mirror));
        assert_memory_equal(mirror, none, sizeof none);
        OK(stet_array_read(a, back, sizeof back));
        assert_memory_equal(back, none, sizeof none);
        stet_array_destroy(a);
    }
    assert_true(recycled >= 2); /* by both tables of GPUs at least */
}

/* ---- producers --------------------------------------------------------------------------------------------------- */

typedef struct maker {
    stet_array *array;
    int calls;
} maker;

/* Writes its own number of calls; reads and writes the array that it makes, which must not call it again. */
static stet_result make(void *context)
{
    maker *m = context;
    int was[3];
    m->calls++;
    STI_TRY(stet_array_read(m->array, was, sizeof was));
    int now[3] = {m->calls, was[1], was[2]};
    return stet_array_write_worlds(m->array, 0, 3, now, sizeof now);
}

static void producers_run_before_every_read_and_write(void **state)
{
    FOR_DEVICES_AND_DOUBLE(rig)
    {
        maker m = {0};
        int got[3], mine[3] = {9, 9, 9};
        const void *mirror;
        uint64_t hash;
        OK(STI_ARRAY(rig.device, "made", STET_DTYPE_INT, true, &m.array, 3, 1));
        sti_array_set_producer(m.array, make, &m);
        OK(stet_array_read(m.array, got, sizeof got));
        assert_int_equal(got[0], 1);
        OK(stet_array_read_worlds(m.array, 0, 1, got, 4));
        assert_int_equal(got[0], 2);
        OK(stet_array_get_host(m.array, &mirror));
        assert_int_equal(*(const int *)mirror, 3);
        OK(stet_array_hash(m.array, &hash));
        assert_true(hash == sti_hash_bytes((int[]){4, 0, 0}, 12));
        /*
         * Also before a write of everything: the producer may make other arrays too, from what was written until now.
         */
        OK(stet_array_write(m.array, mine, sizeof mine));
        assert_int_equal(m.calls, 5);
        OK(stet_array_write_worlds(m.array, 2, 1, mine, 4));
        assert_int_equal(m.calls, 6);
        uint64_t generation = stet_array_get_generation(m.array);
        OK(sti_array_ensure(m.array));
        assert_int_equal(m.calls, 7);
        assert_int_equal(stet_array_get_generation(m.array), generation + 1);
        stet_array_destroy(m.array);
    }
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void sizes_beyond_what_can_be_counted(void **state)
{
    static const int64_t big[][3] = {
        {INT64_MAX, INT64_MAX, 1}, {INT64_MAX, 1, 1},
        {INT64_C(1) << 62, 4, 1},  {INT64_C(1) << 31, INT64_C(1) << 31, 4},
        {1, INT64_MAX, 3},         {INT64_MAX - 1, 2, 1},
    };
    FOR_DEVICES_AND_DOUBLE(rig)
    for (size_t k = 0; k < 2 * sizeof big / sizeof *big; ++k) {
        stet_array *a;
        FAILS(sti_array_new(rig.device, "huge", STET_DTYPE_INT, k % 2, 3, big[k / 2], &a), STET_ERROR_LIMIT, "huge");
        assert_null(a);
        assert_int_equal(rig.device->narray, 0);
    }
}

/* Where the machine has a real GPU: its memory is large enough. Rows at both ends and around 2³¹. */
static void kf26_arrays_of_more_than_2_to_the_31_bytes(void **state)
{
    enum { ROW = 4096 };
    const int64_t rows = (INT64_C(1) << 31) / ROW + 3;
    const int64_t at[] = {0, rows - 4, rows - 3, rows - 2, rows - 1};
    FOR_DEVICES(rig)
    {
        if (rig.control || rig.def.type != STET_DEVICE_CUDA) continue;
        stet_array *a;
        unsigned char row[ROW];
        OK(STI_ARRAY(rig.device, "frame", STET_DTYPE_U8, false, &a, rows, ROW));
        for (int i = 0; i < 5; ++i) {
            memset(row, 10 + i, sizeof row);
            OK(stet_array_write_worlds(a, at[i], 1, row, sizeof row));
        }
        for (int i = 0; i < 5; ++i) {
            OK(stet_array_read_worlds(a, at[i], 1, row, sizeof row));
            for (int k = 0; k < ROW; ++k) assert_int_equal(row[k], 10 + i);
        }
        stet_array_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_rows),
        cmocka_unit_test(arrays_begin_as_zero),
        cmocka_unit_test(empty_arrays),
        cmocka_unit_test(hash_is_that_of_the_canonical_bytes),
        cmocka_unit_test(a_mirror_stands_until_something_is_written),
        cmocka_unit_test(kf22_a_recycled_address_is_another_array),
        cmocka_unit_test(producers_run_before_every_read_and_write),
        cmocka_unit_test(sizes_beyond_what_can_be_counted),
        cmocka_unit_test(kf26_arrays_of_more_than_2_to_the_31_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
