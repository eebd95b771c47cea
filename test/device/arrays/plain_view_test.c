/*
 * Plain views: tensors [world][item] over arrays that lie in blocks are fresh after what stet writes, and what is
 * written through them arrives.
 */
#include "device/tensor.h"

#include "base/failing.h"
#include "device/plain_view.h"

enum { WORLDS = 21, ITEMS = 3, COUNT = WORLDS * ITEMS };

typedef struct rig {
    stet_device *device;
    stet_array *a;
    int rows[COUNT];
} rig;

static tensor *show_plain(stet_array *a, bool writable)
{
    stet_export_def def = stet_default_export_def();
    def.writable = writable;
    def.plain = true;
    tensor *t;
    OK(stet_array_export(a, &def, &t));
    return t;
}

static rig open_rig(int isa)
{
    rig r = {.device = open_device(isa, 1)};
    OK(STI_ARRAY(r.device, "a", STET_DTYPE_INT, true, &r.a, WORLDS, ITEMS));
    for (int k = 0; k < COUNT; ++k) r.rows[k] = k + 1;
    OK(stet_array_write(r.a, r.rows, sizeof r.rows));
    return r;
}

static void close_rig(rig *r)
{
    stet_array_destroy(r->a);
    stet_device_destroy(r->device);
}

static void array_has(rig *r, const int *rows)
{
    int there[COUNT];
    OK(stet_array_read(r->a, there, sizeof there));
    assert_memory_equal(there, rows, sizeof there);
}

static stet_counter counters_of(const rig *r)
{
    stet_counters all = stet_device_get_counters(r->device);
    return all.mechanism[STET_MECHANISM_PLAIN_VIEW];
}

static int64_t why(const rig *r, stet_reason reason)
{
    stet_counters all = stet_device_get_counters(r->device);
    return all.reason[reason];
}

static void a_view_is_plain_and_follows_the_array(void **state)
{
    FOR_FLOAT_ISAS(isa)
    {
        rig r = open_rig(isa);
        tensor *t = show_plain(r.a, false);
        check_header(t, DLPACK_FLAG_BITMASK_READ_ONLY, 2, (int64_t[]){WORLDS, ITEMS});
        assert_memory_equal(t->dl_tensor.data, r.rows, sizeof r.rows);
        assert_int_equal(t->dl_tensor.data == r.a->data, stet_device_get_lanes(r.device) == 1);
        r.rows[10] = -5;
        OK(stet_array_write(r.a, r.rows, sizeof r.rows));
        OK(stet_device_show_views(r.device));
        assert_memory_equal(t->dl_tensor.data, r.rows, sizeof r.rows);
        int64_t moved = why(&r, STET_REASON_PLAIN_VIEW_MOVED);
        OK(stet_device_take_views(r.device));
        OK(stet_device_show_views(r.device)); /* nothing moved: it stands */
        assert_int_equal(why(&r, STET_REASON_PLAIN_VIEW_MOVED), moved);
        assert_int_equal(counters_of(&r).hits, stet_device_get_lanes(r.device) > 1);
        end(t);
        close_rig(&r);
    }
}

static void what_others_write_arrives_element_by_element(void **state)
{
    FOR_FLOAT_ISAS(isa)
    {
        rig r = open_rig(isa);
        tensor *t = show_plain(r.a, true);
        int *data = t->dl_tensor.data;
        uint64_t before = stet_array_get_generation(r.a);
        OK(stet_device_take_views(r.device));
        if (stet_device_get_lanes(r.device) > 1)
            assert_int_equal(stet_array_get_generation(r.a), before); /* nobody wrote */
        data[4 * ITEMS + 1] = 77;
        r.rows[4 * ITEMS + 1] = 77;
        OK(stet_device_take_views(r.device));
        assert_true(stet_array_get_generation(r.a) > before);
        array_has(&r, r.rows);
        /*
         * Both write before the view is brought in step: the elements that others wrote are theirs, all else is stet's.
         */
        data[20 * ITEMS] = 88;
        for (int k = 0; k < COUNT; ++k) r.rows[k] += 100;
        if (stet_device_get_lanes(r.device) > 1) {
            OK(stet_array_write(r.a, r.rows, sizeof r.rows));
            OK(stet_device_show_views(r.device));
            r.rows[20 * ITEMS] = 88;
            array_has(&r, r.rows);
            assert_memory_equal(data, r.rows, sizeof r.rows);
        }
        end(t);
        close_rig(&r);
    }
}

static void a_view_goes_with_its_last_tensor(void **state)
{
    rig r = open_rig(STI_ISA_portable);
    tensor *one = show_plain(r.a, true), *two = show_plain(r.a, false);
    int64_t held = 2 * (int64_t)sizeof r.rows;
    assert_ptr_equal(one->dl_tensor.data, two->dl_tensor.data);
    assert_int_equal(counters_of(&r).held_bytes, held);
    end(two);
    OK(stet_device_take_views(r.device));
    assert_int_equal(counters_of(&r).held_bytes, held);
    r.rows[2] = ((int *)one->dl_tensor.data)[2] = -9;
    end(one);
    OK(stet_device_take_views(r.device)); /* the last writes arrive */
    assert_int_equal(counters_of(&r).held_bytes, 0);
    array_has(&r, r.rows);
    one = show_plain(r.a, true);
    close_rig(&r);
    ((int *)one->dl_tensor.data)[0] = 3; /* it outlives array and device */
    assert_memory_equal((int *)one->dl_tensor.data + 1, r.rows + 1, sizeof r.rows - sizeof *r.rows);
    end(one);
}

static void what_was_given_for_reading_is_put_back(void **state)
{
    rig r = open_rig(STI_ISA_portable);
    tensor *t = show_plain(r.a, false);
    ((int *)t->dl_tensor.data)[5] = 0;
    FAILS(stet_device_take_views(r.device), STET_ERROR_STATE,
          "array a: a tensor that was given out for reading was written");
    assert_memory_equal(t->dl_tensor.data, r.rows, sizeof r.rows);
    OK(stet_device_take_views(r.device));
    end(t);
    FAILS(stet_device_take_views(NULL), STET_ERROR_INVALID_ARGUMENT, "device");
    FAILS(stet_device_show_views(NULL), STET_ERROR_INVALID_ARGUMENT, "device");
    close_rig(&r);
}

static void switched_off_and_audited_it_shows_the_same(void **state)
{
    for (int kind = 0; kind < 2; ++kind) {
        rig r = open_rig(STI_ISA_portable);
        stet_mechanism_options options = {.disabled = kind ? 0 : 1u << STET_MECHANISM_PLAIN_VIEW, .audit = kind};
        OK(stet_device_set_mechanisms(r.device, &options));
        tensor *t = show_plain(r.a, true);
        for (int k = 0; k < 4; ++k) {
            OK(stet_device_take_views(r.device));
            OK(stet_device_show_views(r.device));
            assert_memory_equal(t->dl_tensor.data, r.rows, sizeof r.rows);
        }
        if (kind == 0) assert_int_equal(why(&r, STET_REASON_PLAIN_VIEW_DISABLED), 5);
        if (kind == 1) { /* a write of the array that moved no generation is found */
            ((int *)r.a->data)[0] ^= 1;
            FAILS(stet_device_show_views(r.device), STET_ERROR_AUDIT, "plain_view: a");
        }
        end(t);
        close_rig(&r);
    }
}

static stet_result export_once(void)
{
    stet_device_def device_def = stet_default_device_def();
    stet_export_def def = stet_default_export_def();
    stet_device *device;
    stet_array *a = NULL;
    tensor *t = NULL;
    device_def.isa = "portable";
    device_def.threads = 1;
    def.plain = def.writable = true;
    STI_TRY(stet_device_create(&device_def, &device));
    stet_result result = STI_ARRAY(device, "a", STET_DTYPE_INT, true, &a, WORLDS, ITEMS);
    if (result == STET_OK) result = stet_array_export(a, &def, &t);
    assert_int_equal(result == STET_OK, t != NULL);
    if (t) end(t);
    stet_array_destroy(a);
    stet_device_destroy(device);
    return result;
}

static void without_memory_nothing_is_half_made(void **state) { (void)fail_each_allocation(export_once, false); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_is_plain_and_follows_the_array),
        cmocka_unit_test(what_others_write_arrives_element_by_element),
        cmocka_unit_test(a_view_goes_with_its_last_tensor),
        cmocka_unit_test(what_was_given_for_reading_is_put_back),
        cmocka_unit_test(switched_off_and_audited_it_shows_the_same),
        cmocka_unit_test(without_memory_nothing_is_half_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
