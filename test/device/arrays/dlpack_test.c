/*
 * Exports through DLPack: what a tensor looks like and how long it lives, and whose writes are noticed.
 */
#include "device/tensor.h"
#include "device/null/null.h"

#include "base/failing.h"
#include "bench/pilot/pilot.h"

#include <pthread.h>

/* ---- what an export looks like -------------------------------------------------------------------------------- */

static void a_plain_array_is_exported_as_it_is(void **state)
{
    static const struct {
        stet_dtype dtype;
        int code, bits;
    } types[] = {{STET_DTYPE_REAL, kDLFloat, 32}, {STET_DTYPE_INT, kDLInt, 32},  {STET_DTYPE_I64, kDLInt, 64},
                 {STET_DTYPE_U32, kDLUInt, 32},   {STET_DTYPE_U16, kDLUInt, 16}, {STET_DTYPE_U8, kDLUInt, 8},
                 {STET_DTYPE_F16, kDLFloat, 16}};
    FOR_ISAS(isa)
    for (size_t k = 0; k < sizeof types / sizeof *types; ++k) {
        stet_device *device = open_device(isa, 1);
        stet_array *a;
        OK(STI_ARRAY(device, "a", types[k].dtype, false, &a, 3, 1, 5));
        tensor *t = export_as(a, false, false, false);
        check_header(t, DLPACK_FLAG_BITMASK_READ_ONLY, 3, (int64_t[]){3, 1, 5});
        assert_ptr_equal(t->dl_tensor.data, a->data);
        assert_int_equal(t->dl_tensor.dtype.code, types[k].code);
        assert_int_equal(t->dl_tensor.dtype.bits, isa == STI_ISA_f64 && !k ? 64 : types[k].bits);
        end(t);
        t = export_as(a, true, false, false);
        check_header(t, 0, 3, (int64_t[]){3, 1, 5});
        end(t);
        stet_array_destroy(a);
        stet_device_destroy(device);
    }
}

/* Worlds lie in blocks of lanes; a copy lies as the host sees it. */
static void an_array_of_worlds_is_exported_in_blocks_or_as_a_copy(void **state)
{
    enum { WORLDS = 21, ITEMS = 6 };
    int rows[WORLDS][2][3];
    for (int k = 0; k < WORLDS * ITEMS; ++k) ((int *)rows)[k] = k + 1;
    FOR_ISAS(isa)
    {
        stet_device *device = open_device(isa, 1);
        int64_t lanes = stet_device_get_lanes(device), nblock = (WORLDS + lanes - 1) / lanes;
        stet_array *a;
        OK(STI_ARRAY(device, "a", STET_DTYPE_INT, true, &a, WORLDS, 2, 3));
        OK(stet_array_write(a, rows, sizeof rows));
        tensor *t = export_as(a, false, false, false);
        const int *data = t->dl_tensor.data;
        assert_ptr_equal(data, a->data);
        if (lanes > 1)
            check_header(t, DLPACK_FLAG_BITMASK_READ_ONLY, 3, (int64_t[]){nblock, ITEMS, lanes});
        else
            check_header(t, DLPACK_FLAG_BITMASK_READ_ONLY, 3, (int64_t[]){WORLDS, 2, 3});
        for (int w = 0; w < WORLDS; ++w)
            for (int i = 0; i < ITEMS; ++i)
                assert_int_equal(data[(w / lanes * ITEMS + i) * lanes + w % lanes], w * ITEMS + i + 1);
        end(t);

        stet_device_clear_counters(device);
        t = export_as(a, false, false, true);
        stet_counters c = stet_device_get_counters(device);
        assert_int_equal(c.bytes_copied, sizeof rows);
        check_header(t, DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED, 3, (int64_t[]){WORLDS, 2, 3});
        assert_memory_equal(t->dl_tensor.data, rows, sizeof rows);
        OK(stet_array_write_worlds(a, 3, 1, rows, sizeof rows[0]));
        stet_array_destroy(a);
        assert_memory_equal(t->dl_tensor.data, rows, sizeof rows); /* a snapshot */
        end(t);
        stet_device_destroy(device);
    }
}

static stet_result produce_seven(void *context)
{
    stet_array *a = context;
    ((int *)a->data)[0] = 7;
    stet_array_mark_written(a);
    return STET_OK;
}

static stet_result produce_nothing(void *context)
{
    (void)context;
    return sti_error(STET_ERROR_STATE, "nothing to make it of");
}

static void an_array_is_brought_up_to_date_first(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_array *a;
    OK(STI_ARRAY(device, "lazy", STET_DTYPE_INT, false, &a, 1));
    sti_array_set_producer(a, produce_seven, a);
    tensor *t = export_as(a, false, false, false);
    assert_int_equal(*(int *)t->dl_tensor.data, 7);
    ((int *)a->data)[0] = 0;
    OK(stet_array_update(a)); /* for those that stet cannot see reading */
    assert_int_equal(*(int *)t->dl_tensor.data, 7);
    end(t);
    t = export_as(a, true, true, false);
    end(t);
    stet_export_def def = stet_default_export_def();
    def.writable = true;
    FAILS(stet_array_export(a, &def, &t), STET_ERROR_INVALID_ARGUMENT, "array lazy: stet works it out");
    def.writable = false;
    sti_array_set_producer(a, produce_nothing, NULL);
    FAILS(stet_array_export(a, &def, &t), STET_ERROR_STATE, "nothing to make it of");
    assert_null(t);
    FAILS(stet_array_update(a), STET_ERROR_STATE, "nothing to make it of");
    FAILS(stet_array_update(NULL), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    stet_array_destroy(a);
    stet_device_destroy(device);
}

static void exports_that_make_no_sense(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_array *a;
    tensor *t = NULL;
    OK(STI_ARRAY(device, "a", STET_DTYPE_INT, false, &a, 4));
    stet_export_def def = stet_default_export_def(), zero = {0};
    FAILS(stet_array_export(NULL, &def, &t), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_array_export(a, NULL, &t), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_array_export(a, &def, NULL), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_array_export(a, &zero, &t), STET_ERROR_INVALID_ARGUMENT, "stet_default_export_def");
    def.writable = def.copy = true;
    FAILS(stet_array_export(a, &def, &t), STET_ERROR_INVALID_ARGUMENT, "writes to a copy would be lost");
    stet_array_destroy(a);
    stet_device_destroy(device);
}

/* ---- lifetimes ------------------------------------------------------------------------------------------------ */

static void a_tensor_outlives_its_array_and_its_device(void **state)
{
    int64_t before = blocks();
    for (int order = 0; order < 4; ++order) {
        stet_device *device = open_device(STI_ISA_portable, 1);
        stet_array *a;
        int rows[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        OK(STI_ARRAY(device, "a", STET_DTYPE_INT, false, &a, 8));
        OK(stet_array_write(a, rows, sizeof rows));
        tensor *t = export_as(a, order & 1, false, false), *u = export_as(a, false, false, false);
        if (order < 2) end(u);
        stet_array_destroy(a);
        assert_memory_equal(t->dl_tensor.data, rows, sizeof rows);
        stet_device_destroy(device);
        assert_true(blocks() > before);
        assert_memory_equal(t->dl_tensor.data, rows, sizeof rows);
        ((int *)t->dl_tensor.data)[7] = 1;
        end(t);
        if (order >= 2) {
            assert_int_equal(((int *)u->dl_tensor.data)[7], 1);
            end(u);
        }
        assert_int_equal(blocks(), before); /* the memory, and the device with it */
    }
}

static void on_a_null_device_memory_goes_back_through_its_slot(void **state)
{
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_NULL;
    def.null = &(sti_null_def){.lanes = 8};
    stet_device *device;
    stet_array *a;
    OK(stet_device_create(&def, &device));
    OK(STI_ARRAY(device, "a", STET_DTYPE_REAL, true, &a, 9, 2));
    tensor *t = export_as(a, false, false, false), *u = export_as(a, false, false, true);
    check_header(t, DLPACK_FLAG_BITMASK_READ_ONLY, 3, (int64_t[]){2, 2, 8});
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_DOWNLOAD), 1);
    stet_array_destroy(a);
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_FREE), 0);
    end(u);
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_FREE), 0);
    end(t);
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_FREE), 1);
    stet_device_destroy(device);
}

static void *end_elsewhere(void *context)
{
    tensor *t = context;
    for (int k = 0; k < 4; ++k) ((int *)t->dl_tensor.data)[k] = k; /* its last words */
    end(t);
    return NULL;
}

/* Other threads end tensors while this one reads on. */
static void any_thread_may_end_a_tensor(void **state)
{
    for (int round = 0; round < 200; ++round) {
        stet_device *device = open_device(STI_ISA_portable, 1);
        stet_array *a;
        pthread_t thread;
        OK(STI_ARRAY(device, "a", STET_DTYPE_INT, false, &a, 4));
        uint64_t first = stet_array_get_generation(a);
        tensor *t = export_as(a, true, false, false);
        assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, t), 0);
        for (int k = 0; k < round % 7; ++k) (void)stet_array_get_generation(a);
        if (round % 2) {
            stet_array_destroy(a);
            stet_device_destroy(device);
            assert_int_equal(pthread_join(thread, NULL), 0);
            continue;
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        uint64_t last = stet_array_get_generation(a);
        assert_true(last > first);
        assert_true(stet_array_get_generation(a) == last);
        stet_array_destroy(a);
        stet_device_destroy(device);
    }
}

/* ---- whose writes are noticed --------------------------------------------------------------------------------- */

static void kf24_written_through_dlpack(void **state)
{
    FOR_ISAS(isa)
    for (int worlds = 0; worlds < 2; ++worlds) {
        stet_device *device = open_device(isa, 1);
        stet_array *a;
        stet_counters c;
        uint64_t hash[3];
        OK(STI_ARRAY(device, "a", STET_DTYPE_INT, worlds, &a, 5, 3));
        assert_int_equal(first_number(a), 0);
        OK(stet_array_hash(a, &hash[0]));
        tensor *t = export_as(a, true, false, false);
        int *data = t->dl_tensor.data;
        uint64_t seen = stet_array_get_generation(a);
        for (int k = 1; k <= 3; ++k) {
            data[0] = k;
            assert_int_equal(first_number(a), k);
            assert_true(stet_array_get_generation(a) > seen);
            seen = stet_array_get_generation(a);
        }
        OK(stet_array_hash(a, &hash[1]));
        assert_true(hash[0] != hash[1]);
        assert_true(stet_array_get_generation(a) > seen);
        /* It says why, and nothing stands though nothing was written. */
        stet_device_clear_counters(device);
        assert_int_equal(first_number(a), 3);
        assert_int_equal(first_number(a), 3);
        c = stet_device_get_counters(device);
        assert_int_equal(c.reason[STET_REASON_READBACK_EXPORTED], 2);
        assert_int_equal(c.mechanism[STET_MECHANISM_READBACK].hits, 0);
        /* What is written last, before the end, is seen; then things stand again. */
        data[0] = 99;
        end(t);
        assert_int_equal(first_number(a), 99);
        seen = stet_array_get_generation(a);
        stet_device_clear_counters(device);
        assert_int_equal(first_number(a), 99);
        c = stet_device_get_counters(device);
        assert_int_equal(c.mechanism[STET_MECHANISM_READBACK].hits, 1);
        assert_int_equal(stet_array_get_generation(a), seen);
        OK(stet_array_hash(a, &hash[2]));
        assert_true(hash[2] != hash[1]);
        stet_array_destroy(a);
        stet_device_destroy(device);
    }
}

static void an_announced_writer_announces(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_array *a;
    OK(STI_ARRAY(device, "a", STET_DTYPE_INT, false, &a, 2));
    assert_int_equal(first_number(a), 0);
    tensor *t = export_as(a, true, true, false);
    assert_true(t->flags == 0);
    uint64_t seen = stet_array_get_generation(a);
    int *data = t->dl_tensor.data;
    assert_int_equal(first_number(a), 0);
    assert_int_equal(stet_array_get_generation(a), seen);
    data[0] = 5;
    stet_array_mark_written(a);
    assert_int_equal(first_number(a), 5);
    assert_true(stet_array_get_generation(a) > seen);
    seen = stet_array_get_generation(a);
    end(t);
    assert_int_equal(stet_array_get_generation(a), seen);
    t = export_as(a, false, false, false); /* nor does a reader count */
    assert_int_equal(stet_array_get_generation(a), seen);
    end(t);
    assert_int_equal(stet_array_get_generation(a), seen);
    stet_array_destroy(a);
    stet_device_destroy(device);
}

/* A launch reads its arguments: what a writer may have changed is another version for who made something of it. */
static void a_launch_looks_too(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    sti_pilot p;
    OK(sti_pilot_create(device, STI_PILOT_LEVEL, 3, &p));
    int k = 0; /* an argument that is only read */
    while (p.arg[k].kind != STI_ARG_ARRAY || p.arg[k].array == p.output[0]) ++k;
    stet_array *read = p.arg[k].array;
    tensor *t = export_as(read, true, false, false);
    uint64_t seen = stet_array_get_generation(read);
    OK(sti_pilot_run(device, &p));
    assert_true(read->version.generation > seen);
    end(t);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

/* ---- failures ------------------------------------------------------------------------------------------------- */

static int ended_in_scenario, imported_in_scenario;

static void count_in_scenario(tensor *t)
{
    ended_in_scenario++;
    free(t);
}

static stet_result out_and_in(stet_device *device, stet_array *a)
{
    tensor *t = NULL;
    stet_array *b = NULL;
    stet_export_def out = stet_default_export_def();
    stet_import_def in = stet_default_import_def();
    const void *host;
    in.worlds = true;
    in.nworld = 5;
    STI_TRY(stet_array_export(a, &out, &t));
    STI_TRY(stet_array_import(device, t, &in, &b)); /* also ends it where it fails */
    stet_result result = stet_array_get_host(b, &host);
    stet_array_destroy(b);
    STI_TRY(result);
    out.copy = true;
    STI_TRY(stet_array_export(a, &out, &t));
    end(t);
    static int64_t shape[] = {2};
    static _Alignas(64) int data[2];
    tensor *theirs = calloc(1, sizeof *theirs);
    *theirs = (tensor){.version = {1, 0}, .deleter = count_in_scenario};
    theirs->dl_tensor =
        (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLInt, 32, 1}, .shape = shape};
    imported_in_scenario++;
    in.worlds = false;
    in.nworld = 0;
    STI_TRY(stet_array_import(device, theirs, &in, &b));
    stet_array_destroy(b);
    return STET_OK;
}

static stet_result scenario(void)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    stet_array *a;
    def.isa = "portable";
    def.threads = 1;
    STI_TRY(stet_device_create(&def, &device));
    stet_result result = STI_ARRAY(device, "a", STET_DTYPE_REAL, true, &a, 5, 2);
    if (result == STET_OK) result = out_and_in(device, a);
    stet_array_destroy(a);
    stet_device_destroy(device);
    return result;
}

static void every_allocation_may_fail(void **state)
{
    assert_true(fail_each_allocation(scenario, false) > 8);
    assert_true(imported_in_scenario > 2);
    assert_int_equal(ended_in_scenario, imported_in_scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_array_is_exported_as_it_is),
        cmocka_unit_test(an_array_of_worlds_is_exported_in_blocks_or_as_a_copy),
        cmocka_unit_test(an_array_is_brought_up_to_date_first),
        cmocka_unit_test(exports_that_make_no_sense),
        cmocka_unit_test(a_tensor_outlives_its_array_and_its_device),
        cmocka_unit_test(on_a_null_device_memory_goes_back_through_its_slot),
        cmocka_unit_test(any_thread_may_end_a_tensor),
        cmocka_unit_test(kf24_written_through_dlpack),
        cmocka_unit_test(an_announced_writer_announces),
        cmocka_unit_test(a_launch_looks_too),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
