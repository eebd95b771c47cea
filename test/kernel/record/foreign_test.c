/*
 * Work of others in lists: where it comes in the order, what it moves, how often it is called, and what is refused. Run
 * on each device (stet_test_on_devices).
 */
#include "kernel/lists.h"

#include "kernel/caller.h"

static float bytes_of(unsigned char byte)
{
    float x;
    memset(&x, byte, sizeof x);
    return x;
}

/* a0 += 1; a1 = a0 (theirs); a2 = a1 / 2 + h; a3 = bytes (theirs) */
static stet_result play(bench *b, caller_work *copy, caller_work *fill, double h)
{
    STI_TRY(sti_record_begin(b->device, "mixed"));
    stet_result result = add(b, b->a[0], 1);
    if (result == STET_OK) result = record_work(b->device, copy);
    if (result == STET_OK) result = mix(b, b->a[1], b->a[2], h);
    if (result == STET_OK) result = record_work(b->device, fill);
    return sti_record_end(b->device, result);
}

static void it_is_captured_once_and_keeps_its_place(void **state)
{
    bench b;
    open_bench(&b);
    caller_work copy = {.to = b.a[1], .from = b.a[0]}, fill = {.to = b.a[3], .byte = 0x40};
    for (int i = 1; i <= 8; ++i) {
        int calls = copy.calls;
        OK(play(&b, &copy, &fill, i));
        for (int k = 0; k < N; ++k) {
            assert_true(real_at(b.a[1], k) == (float)i);
            assert_true(real_at(b.a[2], k) == (float)i / 2 + (float)i);
            assert_true(real_at(b.a[3], k) == bytes_of(0x40));
        }
        for (int k = 0; k < 4; ++k) assert_int_equal(stet_array_get_generation(b.a[k]), 1 + i);
        /* Plain; captured or replayed, and plain; a replay, which on a device with graphs calls nobody. */
        assert_int_equal(copy.calls - calls, i == 2 ? 2 : graphs(&b) && i > 2 ? 0 : 1);
        assert_int_equal(copy.calls, fill.calls);
    }
    assert_int_equal(ROW(&b).hits, 6);
    assert_int_equal(ROW(&b).fallbacks, 0);
    assert_int_equal(counters_of(b.device).launches, 8 * 2);
    fill.byte = 0x41; /* what is issued must be the same each time: another context is another list */
    caller_work other = fill;
    OK(play(&b, &copy, &other, 1));
    assert_int_equal(REASON(&b, FIRST), 2);
    assert_true(real_at(b.a[3], 0) == bytes_of(0x41));
    close_bench(&b);
}

static void alone_it_is_done_at_once(void **state)
{
    bench b;
    open_bench(&b);
    caller_work fill = {.to = b.a[2], .byte = 0x42};
    OK(record_work(b.device, &fill));
    assert_true(real_at(b.a[2], 1) == bytes_of(0x42));
    assert_int_equal(stet_array_get_generation(b.a[2]), 2);
    OK(sti_record_begin(b.device, "one"));
    OK(record_work(b.device, &fill));
    assert_int_equal(fill.calls, 1);
    OK(sti_record_end(b.device, STET_OK));
    assert_int_equal(fill.calls, 2);
    assert_int_equal(ROW(&b).hits + ROW(&b).misses, 0);
    close_bench(&b);
}

static stet_result bring(void *context)
{
    bench *b = context;
    return add(b, b->a[0], 4);
}

static void what_it_reads_is_brought_up_to_date(void **state)
{
    bench b;
    open_bench(&b);
    caller_work copy = {.to = b.a[1], .from = b.a[0]};
    sti_array_set_producer(b.a[0], bring, &b);
    OK(record_work(b.device, &copy));
    assert_true(real_at(b.a[1], 0) == 4);
    sti_array_set_producer(b.a[0], NULL, NULL);
    float x[N] = {9};
    OK(stet_array_write(b.a[0], x, sizeof x)); /* what the host wrote goes there, too */
    OK(record_work(b.device, &copy));
    assert_true(real_at(b.a[1], 0) == 9);
    close_bench(&b);
}

static void what_cannot_be_captured_is_done_each_time(void **state)
{
    bench b;
    open_bench(&b);
    caller_work copy = {.to = b.a[1], .from = b.a[0], .waits = true}, fill = {.to = b.a[3], .byte = 1};
    for (int i = 1; i <= 6; ++i) {
        OK(play(&b, &copy, &fill, 1));
        assert_true(real_at(b.a[1], 0) == (float)i && real_at(b.a[3], 0) == bytes_of(1));
    }
    assert_int_equal(REASON(&b, CAPTURE), graphs(&b) ? 1 : 0); /* said once */
    assert_int_equal(ROW(&b).hits, 4);
    stet_array_destroy(b.a[0]);
    b.a[0] = new_reals(b.device);
    copy.from = b.a[0];
    set_options(b.device, 0, true, false);
    OK(play(&b, &copy, &fill, 1));
    for (int i = 0; graphs(&b) && i < 2; ++i) {
        FAILS(play(&b, &copy, &fill, 1), STET_ERROR_STRICT, "could not be captured");
        assert_true(real_at(b.a[0], 0) == 1); /* nothing ran */
    }
    close_bench(&b);
}

/* Whatever it says to being captured is about it, and not about the driver. */
static void work_that_refuses_to_be_captured_is_no_fault_of_the_driver(void **state)
{
    static const stet_result says[] = {STET_ERROR_UNSUPPORTED, STET_ERROR_STATE, STET_ERROR_IO};
    for (size_t k = 0; k < sizeof says / sizeof *says; ++k) {
        bench b;
        open_bench(&b);
        caller_work copy = {.to = b.a[1], .from = b.a[0], .captured = says[k]}, fill = {.to = b.a[3], .byte = 1};
        for (int i = 1; i <= 4; ++i) {
            OK(play(&b, &copy, &fill, 1));
            assert_true(real_at(b.a[1], 0) == (float)i && real_at(b.a[3], 0) == bytes_of(1));
        }
        assert_int_equal(REASON(&b, CAPTURE), graphs(&b) ? 1 : 0);
        assert_int_equal(REASON(&b, UNSUPPORTED), 0);
        assert_int_equal(ROW(&b).fallbacks, graphs(&b) ? 1 : 0);
        assert_int_equal(ROW(&b).hits, 2);
        close_bench(&b);
    }
}

static void its_failure_is_the_play_s(void **state)
{
    bench b;
    open_bench(&b);
    caller_work fill = {.to = b.a[3], .result = STET_ERROR_IO}, copy = {.to = b.a[1], .from = b.a[0]};
    FAILS(record_work(b.device, &fill), STET_ERROR_IO, "the caller's: work that stet does not launch itself says: ");
    FAILS(play(&b, &copy, &fill, 1), STET_ERROR_IO, "the caller's");
    assert_int_equal(stet_array_get_generation(b.a[3]), 1); /* what did not run moved nothing */
    assert_int_equal(stet_array_get_generation(b.a[2]), 2);
    fill.result = STET_OK;
    for (int i = 0; i < 3; ++i) OK(play(&b, &copy, &fill, 1));
    fill.result = STET_ERROR_IO; /* of a replay on a device without graphs: tried again one by one, which fails, too */
    stet_result result = play(&b, &copy, &fill, 1);
    assert_int_equal(result, graphs(&b) ? STET_OK : STET_ERROR_IO);
    close_bench(&b);
}

static void what_is_refused(void **state)
{
    bench b;
    open_bench(&b);
    caller_work fill = {.to = b.a[3], .byte = 1};
    stet_use use = {NULL, true};
    FAILS(stet_record_foreign(NULL, "x", caller_does, &fill, &use, 1), STET_ERROR_INVALID_ARGUMENT,
          "device must not be NULL");
    FAILS(stet_record_foreign(b.device, "x", NULL, &fill, &use, 1), STET_ERROR_INVALID_ARGUMENT,
          "work must not be NULL");
    FAILS(stet_record_foreign(b.device, "x", caller_does, &fill, NULL, 1), STET_ERROR_INVALID_ARGUMENT,
          "uses must not be");
    FAILS(stet_record_foreign(b.device, "x", caller_does, &fill, &use, 1), STET_ERROR_INVALID_ARGUMENT, "an array");
    FAILS(stet_record_foreign(b.device, "x", caller_does, &fill, &use, -1), STET_ERROR_INVALID_ARGUMENT, "-1 uses");
    b.a[3]->read_only = true;
    FAILS(record_work(b.device, &fill), STET_ERROR_INVALID_ARGUMENT, "imported for reading");
    b.a[3]->read_only = false;
    stet_device *other = open_device(STI_ISA_portable, 1);
    fill.to = new_reals(other);
    FAILS(record_work(b.device, &fill), STET_ERROR_INVALID_ARGUMENT, "another device");
    stet_array_destroy(fill.to);
    stet_device_destroy(other);
    assert_int_equal(fill.calls, 0);
    close_bench(&b);
}

/* trips times: a0 += 1; a1 = a0 (theirs) */
static stet_result play_loop(bench *b, caller_work *copy, int trips)
{
    STI_TRY(sti_record_begin(b->device, "a loop"));
    stet_result result = set(b, b->c[0], trips);
    if (result == STET_OK) result = sti_record_while(b->device, b->c[0], 4);
    if (result == STET_OK) result = add(b, b->a[0], 1);
    if (result == STET_OK) result = record_work(b->device, copy);
    if (result == STET_OK) result = count(b, b->c[0]);
    if (result == STET_OK) result = sti_record_while_end(b->device);
    return sti_record_end(b->device, result);
}

static void it_is_a_part_of_loops(void **state)
{
    static const int trips[] = {3, 1, 4, 0, 2};
    bench b;
    float sum = 0;
    open_bench(&b);
    caller_work copy = {.to = b.a[1], .from = b.a[0]};
    for (int i = 0; i < 5; ++i) {
        int calls = copy.calls;
        OK(play_loop(&b, &copy, trips[i]));
        sum += (float)trips[i];
        for (int k = 0; k < N; ++k) assert_true(real_at(b.a[0], k) == sum && real_at(b.a[1], k) == sum);
        if (device_loops(&b) && i > 1) assert_int_equal(copy.calls, calls);
        if (!graphs(&b) && i != 1) assert_int_equal(copy.calls - calls, trips[i]);
    }
    assert_int_equal(ROW(&b).hits, 3);
    assert_int_equal(ROW(&b).fallbacks, device_loops(&b) || !graphs(&b) ? 0 : 1); /* HIP: the host reads conditions */
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_captured_once_and_keeps_its_place),
        cmocka_unit_test(alone_it_is_done_at_once),
        cmocka_unit_test(what_it_reads_is_brought_up_to_date),
        cmocka_unit_test(what_cannot_be_captured_is_done_each_time),
        cmocka_unit_test(work_that_refuses_to_be_captured_is_no_fault_of_the_driver),
        cmocka_unit_test(its_failure_is_the_play_s),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(it_is_a_part_of_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
