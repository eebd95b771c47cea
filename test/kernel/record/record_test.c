/*
 * Recordings: when they are made, compared, used and dropped; what a replay leaves behind; the known failures of
 * others.
 */
#include "kernel/lists.h"

#include "base/failing.h"

/* ---- what is counted ------------------------------------------------------------------------------------------- */

static void recorded_then_compared_then_replayed(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 10; ++i) {
        OK(add_and_mix(&b, 1));
        assert_true(real_at(b.a[0], 3) == (float)(i + 1));
        assert_true(real_at(b.a[1], 3) == (float)(i + 1) / 2 + 1);
        assert_int_equal(stet_array_get_generation(b.a[0]), i + 2); /* RECORD-2: once a play, compared or not */
        assert_int_equal(stet_array_get_generation(b.a[1]), i + 2);
    }
    assert_int_equal(REASON(&b, FIRST), 1);
    assert_int_equal(REASON(&b, COMPARED), 1);
    assert_int_equal(ROW(&b).misses, 2);
    assert_int_equal(ROW(&b).hits, 8);
    assert_int_equal(ROW(&b).fallbacks, 0);
    assert_int_equal(ROW(&b).saved_launches, 8 * 2);
    assert_int_equal(ROW(&b).done_launches, 2 + 2 + 2);       /* recorded; replayed and launched to compare */
    assert_int_equal(ROW(&b).done_bytes, 2 * 32);             /* what was compared */
    assert_int_equal(counters_of(b.device).launches, 10 * 2); /* the comparison is no launch of the caller's */
    expect_issued(&b, 2 + 2, 1 + 8, 2);                       /* recorded, compared; each replay */
    assert_int_equal(faulty.makes, graphs(&b) ? 1 : 0);
    assert_int_equal(faulty.sets, 0);
    assert_int_equal(ARGS(&b).misses, 2);
    assert_int_equal(ARGS(&b).done_bytes, 5 * 16);
    assert_int_equal(ARGS(&b).hits, 8 * 2);
    assert_int_equal(ARGS(&b).saved_bytes, 8 * 5 * 16);
    /* Of all arguments, ever (graphs have them in their nodes); and the comparison puts two arrays back. */
    assert_int_equal(faulty.uploads, (graphs(&b) ? 0 : 1) + 2);
    assert_int_equal(b.device->recorder->built, 1);
    close_bench(&b);
}

static void switched_off_the_bits_are_the_same(void **state)
{
    bench b;
    open_bench(&b);
    set_options(b.device, 1u << STET_MECHANISM_GRAPH_REPLAY, false, false);
    for (int i = 0; i < 10; ++i) OK(add_and_mix(&b, 1));
    assert_true(real_at(b.a[1], 7) == 6 && stet_array_get_generation(b.a[1]) == 11);
    assert_int_equal(REASON(&b, DISABLED), 10);
    assert_int_equal(ROW(&b).misses, 10);
    assert_int_equal(ROW(&b).done_launches, 20);
    assert_int_equal(ROW(&b).held_bytes, 0);
    assert_int_equal(ARGS(&b).misses + ARGS(&b).hits, 0); /* by value */
    assert_int_equal(faulty.launches, 20);
    assert_int_equal(faulty.uploads, 0);
    set_options(b.device, 1u << STET_MECHANISM_ARGS, false, false);
    for (int i = 0; i < 10; ++i) OK(add_and_mix(&b, 1)); /* nine replays upload 80 bytes each */
    assert_true(real_at(b.a[1], 7) == 11);
    assert_int_equal(ARGS(&b).misses, 9 * 2);
    assert_int_equal(ARGS(&b).done_bytes, 9 * 5 * 16);
    assert_int_equal(faulty.sets, graphs(&b) ? 9 * 2 : 0);
    assert_int_equal(ROW(&b).hits, 8);
    close_bench(&b);
}

static void a_list_of_one_is_a_launch(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 4; ++i) {
        OK(sti_record_begin(b.device, "one"));
        OK(sti_record_end(b.device, add(&b, b.a[0], 1)));
        OK(sti_record_begin(b.device, "none"));
        OK(sti_record_end(b.device, STET_OK));
    }
    assert_true(real_at(b.a[0], 0) == 4);
    assert_int_equal(ROW(&b).hits + ROW(&b).misses, 0);
    assert_int_equal(b.device->recorder->nrecording, 0);
    close_bench(&b);
}

static void a_steady_state_allocates_nothing(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 2; ++i) OK(add_and_mix(&b, 1));
    int64_t before = stet_get_memory_stats().allocations;
    for (int i = 0; i < 100; ++i) OK(add_and_mix(&b, i % 3));
    assert_int_equal(stet_get_memory_stats().allocations, before);
    close_bench(&b);
}

static stet_result play_pair(bench *b, int i)
{
    STI_TRY(sti_record_begin(b->device, "pair"));
    stet_result result = add(b, b->a[i], 1);
    if (result == STET_OK) result = add(b, b->a[i], 1);
    return sti_record_end(b->device, result);
}

static void the_least_recently_used_goes(void **state)
{
    bench b;
    open_bench(&b);
    OK(play_pair(&b, 0));
    b.device->recorder->most = 3;
    static const int order[] = {1, 2, 0, 3, 0, 2, 1, 3, 3};
    static const int64_t built[] = {2, 3, 3, 4, 4,
                                    4, 5, 6, 6}; /* 3 drives out 1; then 1 drives out 3, and 3 drives out 0 */
    for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
        OK(play_pair(&b, order[i]));
        assert_int_equal(b.device->recorder->built, built[i]);
        assert_true(b.device->recorder->nrecording <= 3);
    }
    assert_int_equal(REASON(&b, FIRST), 6);
    assert_int_equal(b.device->recorder->dropped, 3);
    close_bench(&b);
}

static void equal_hashes_of_unequal_lists_are_told_apart(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 3; ++i) OK(play_pair(&b, 0));
    OK(play_pair(&b, 1));
    sti_recorder *r = b.device->recorder;
    r->recording[0]->hash = r->recording[1]->hash;
    for (int i = 0; i < 4; ++i) OK(play_pair(&b, 1));
    assert_true(real_at(b.a[0], 0) == 6 && real_at(b.a[1], 0) == 10);
    assert_int_equal(REASON(&b, COMPARED), 2);
    assert_int_equal(ROW(&b).hits, 1 + 3);
    assert_int_equal(ARGS(&b).misses, 2 + 2); /* each through its own blocks */
    close_bench(&b);
}

static void two_views_of_one_memory_are_two_arrays(void **state)
{
    bench b;
    open_bench(&b);
    stet_array *whole = b.a[0], view = *whole;
    view.borrowed = true;
    view.version = sti_version_new();
    for (int i = 0; i < 3; ++i) {
        b.a[0] = whole;
        OK(play_pair(&b, 0));
        b.a[0] = &view;
        OK(play_pair(&b, 0));
        assert_int_equal(view.version.generation, 1 + 2 * (i + 1));
    }
    b.a[0] = whole;
    assert_int_equal(b.device->recorder->built, 2);
    b.device->list_hooks->array_gone(b.device, &view); /* takes its own recording only */
    OK(play_pair(&b, 0));
    assert_int_equal(b.device->recorder->nrecording, 1);
    assert_int_equal(ROW(&b).hits, 3);
    close_bench(&b);
}

static void a_recording_goes_with_its_kernels(void **state)
{
    bench b;
    open_bench(&b);
    sti_record_kernel_gone(b.device, b.add); /* nothing was ever listed */
    OK(add_and_mix(&b, 1));
    OK(play_pair(&b, 0));
    sti_record_kernel_gone(b.device, b.mix);
    assert_int_equal(b.device->recorder->nrecording, 1);
    OK(sti_record_begin(b.device, "goes"));
    OK(add(&b, b.a[0], 1));
    sti_record_kernel_gone(b.device, b.mix); /* not listed */
    assert_true(real_at(b.a[0], 0) == 3);
    sti_record_kernel_gone(b.device, b.add); /* it runs first */
    assert_true(real_at(b.a[0], 0) == 4);
    OK(sti_record_end(b.device, STET_OK));
    assert_int_equal(b.device->recorder->nrecording, 0);
    OK(sti_record_begin(b.device, "goes"));
    OK(add(&b, b.a[0], 1));
    faulty.fail_launch = 1;
    sti_record_kernel_gone(b.device, b.add); /* and a failure is told at the end */
    FAILS(sti_record_end(b.device, STET_OK), STET_ERROR_DEVICE,
          "goes: a part of it failed before: the launch was made to fail");
    close_bench(&b);
}

/* ---- recordings that are wrong --------------------------------------------------------------------------------- */

static struct jitter {
    bool on;
    const stet_array *a;
    int k;
} jitter;

/* A replay that leaves other bits than it should. */
static void disturb(void)
{
    if (jitter.on) set_real(jitter.a, 5, (float)++jitter.k);
}

/* What is left in scratch may differ from run to run. */
static void scratch_is_not_compared(void **state)
{
    bench b;
    open_bench(&b);
    b.a[1]->scratch = true;
    jitter = (struct jitter){true, b.a[1], 100};
    faulty.after_replay = disturb;
    for (int i = 0; i < 4; ++i) OK(add_and_mix(&b, 1));
    assert_int_equal(REASON(&b, COMPARED), 1);
    assert_int_equal(ROW(&b).done_bytes, 32); /* of the other array */
    assert_int_equal(ROW(&b).hits, 2);
    assert_true(real_at(b.a[0], 5) == 4);
    close_bench(&b);
}

static void one_that_differs_is_dropped_and_eager_bits_stay(void **state)
{
    bench b;
    open_bench(&b);
    jitter = (struct jitter){true, b.a[1], 100};
    faulty.after_replay = disturb;
    OK(add_and_mix(&b, 1));
    assert_true(real_at(b.a[1], 5) == 1.5f);
    OK(add_and_mix(&b, 1)); /* what the replay did is undone */
    assert_true(real_at(b.a[0], 5) == 2 && real_at(b.a[1], 5) == 2);
    assert_int_equal(REASON(&b, DIFFERED), 1);
    assert_int_equal(b.device->recorder->nrecording, 0);
    jitter.on = false;
    for (int i = 0; i < 4; ++i) OK(add_and_mix(&b, 1));
    assert_int_equal(ROW(&b).hits, 2);
    set_options(b.device, 0, false, true);
    OK(add_and_mix(&b, 1)); /* audited hits count as hits */
    assert_int_equal(ROW(&b).hits, 3);
    assert_true(real_at(b.a[0], 5) == 7);
    jitter.on = true;
    /* Byte 20 and some, by the number's bits. */
    FAILS(add_and_mix(&b, 1), STET_ERROR_AUDIT,
          "graph_replay: add and mix: the replay left array a different at byte 2");
    assert_int_equal(b.device->recorder->nrecording, 0);
    jitter.on = false;
    OK(add_and_mix(&b, 1));
    set_options(b.device, 0, true, false);
    jitter.on = true;
    FAILS(add_and_mix(&b, 1), STET_ERROR_STRICT, "other bits than launches one by one");
    close_bench(&b);
}

/* On a CPU, where a device and its kernels are made without a compiler. */
static void run_mix(const sti_slot *s, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; ++k) ((float *)s[1].p)[k] = ((const float *)s[0].p)[k] / 2 + (float)s[2].f;
}

static void run_add(const sti_slot *s, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; ++k) ((float *)s[0].p)[k] += (float)s[1].f;
}

static stet_result some_plays(void)
{
    bench b;
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    stet_array *a[2] = {0};
    test_kernel k[2];
    make_kernel(&k[0], "item_kernel void k_add(ureal *a, ureal h)", run_add);
    make_kernel(&k[1], "item_kernel void k_mix(const ureal *a, ureal *b, ureal h)", run_mix);
    b.add = &k[0].kernel;
    b.mix = &k[1].kernel;
    def.isa = "portable";
    def.threads = 1;
    STI_TRY(stet_device_create(&def, &device));
    stet_result result = STI_ARRAY(device, "a", STET_DTYPE_REAL, false, &a[0], N);
    if (result == STET_OK) result = STI_ARRAY(device, "b", STET_DTYPE_REAL, false, &a[1], N);
    b.device = device;
    b.a[0] = a[0];
    b.a[1] = a[1];
    for (int i = 1; result == STET_OK && i <= 4; ++i) { /* RECORD-7: from here on nothing fails */
        OK(add_and_mix(&b, 1));
        const float *x = a[0]->data, *y = a[1]->data;
        assert_true(x[0] == (float)i && y[0] == (float)i / 2 + 1);
        assert_int_equal(stet_array_get_generation(a[1]), 1 + i);
    }
    if (result == STET_OK) assert_false(device->listing || device->unlisted);
    stet_array_destroy(a[0]);
    stet_array_destroy(a[1]);
    stet_device_destroy(device);
    return result;
}

static void the_nth_allocation_fails(void **state)
{
    if (picked_any()) skip();
    assert_true(fail_each_allocation(some_plays, true) > 20);
}

static void a_failure_while_listing_runs_nothing(void **state)
{
    bench b;
    open_bench(&b);
    OK(sti_record_begin(b.device, "half"));
    OK(add(&b, b.a[0], 1));
    FAILS(sti_record_end(b.device, add(&b, b.c[0], 1)), STET_ERROR_INVALID_ARGUMENT,
          "parameter a is ureal *, array c holds int");
    assert_true(real_at(b.a[0], 0) == 0);
    assert_int_equal(faulty.launches, 0);
    assert_int_equal(stet_array_get_generation(b.a[0]), 1);
    OK(add_and_mix(&b, 1));
    FAILS(sti_record_end(b.device, STET_OK), STET_ERROR_STATE, "no list of launches was begun");
    close_bench(&b);
}

static void a_launch_that_fails_by_itself_fails_the_list(void **state)
{
    bench b;
    open_bench(&b);
    faulty.fail_launch = 2;
    FAILS(add_and_mix(&b, 1), STET_ERROR_DEVICE, "made to fail"); /* the first time: by value */
    assert_true(real_at(b.a[0], 0) == 1);
    assert_int_equal(stet_array_get_generation(b.a[0]), 2); /* what ran has run */
    assert_int_equal(stet_array_get_generation(b.a[1]), 1);
    for (int i = 0; i < 3; ++i) OK(add_and_mix(&b, 1));
    assert_true(real_at(b.a[0], 0) == 4);
    close_bench(&b);
}

/* ---- known failures -------------------------------------------------------------------------------------------- */

static void kf04_building_a_recording_leaves_the_state_alone(void **state)
{
    bench b;
    open_bench(&b);
    float forces[N];
    for (int i = 0; i < N; ++i) forces[i] = (float)i;
    OK(stet_array_write(b.a[2], forces, sizeof forces));
    for (int i = 1; i < 6; ++i) { /* applied forces are used once, then zero: none may be eaten */
        OK(sti_record_begin(b.device, "forces"));
        stet_result result = mix(&b, b.a[2], b.a[3], 0);
        if (result == STET_OK) result = add(&b, b.a[2], -1);
        if (result == STET_OK) result = mix(&b, b.a[3], b.a[4], 0);
        expect_issued(&b, 3 * (i < 3 ? i - 1 : 2), i < 3 ? 0 : i - 2, 3); /* RECORD-1 */
        OK(sti_record_end(b.device, result));
        for (int k = 0; k < N; ++k) {
            assert_true(real_at(b.a[2], k) == (float)(k - i));
            assert_true(real_at(b.a[3], k) == (float)(k - i + 1) / 2);
            assert_true(real_at(b.a[4], k) == (float)(k - i + 1) / 4);
        }
    }
    close_bench(&b);
}

static void kf05_a_recording_goes_with_its_arrays(void **state)
{
    bench b;
    open_bench(&b);
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 3; ++i) OK(add_and_mix(&b, 1));
        OK(play_pair(&b, 2));
        assert_int_equal(b.device->recorder->nrecording, 2);
        stet_array_destroy(b.a[round % 2]);
        assert_int_equal(b.device->recorder->nrecording, 1); /* the other one stays */
        b.a[round % 2] = new_reals(b.device);                /* the allocator may well give the same memory */
    }
    assert_int_equal(b.device->recorder->dropped, 20);
    assert_int_equal(REASON(&b, FIRST), 20 + 1);
    close_bench(&b);
}

static void kf06_an_odd_number_of_steps_keeps_both_buffers(void **state)
{
    bench b;
    open_bench(&b);
    stet_array *x = b.a[0], *y = b.a[1], *t;
    for (int replay = 0; replay < 12; ++replay) { /* three steps each, so that the parities take turns */
        OK(sti_record_begin(b.device, "three steps"));
        for (int i = 0; i < 3; ++i) {
            OK(mix(&b, x, y, 1));
            t = x, x = y, y = t;
        }
        OK(sti_record_end(b.device, STET_OK));
    }
    float expected = 0;
    for (int i = 0; i < 36; ++i) expected = expected / 2 + 1;
    for (int k = 0; k < N; ++k) assert_true(real_at(x, k) == expected);
    assert_int_equal(b.device->recorder->built, 2);
    assert_int_equal(ROW(&b).hits, 8);
    close_bench(&b);
}

static void kf07_an_allocation_in_a_list_is_no_part_of_it(void **state)
{
    bench b;
    stet_array *made = NULL;
    open_bench(&b);
    OK(sti_record_begin(b.device, "careless"));
    OK(add(&b, b.a[0], 1));
    OK(STI_ARRAY(b.device, "made", STET_DTYPE_REAL, false, &made, N)); /* what was listed runs first, and it is said */
    assert_true(real_at(b.a[0], 0) == 1);
    assert_int_equal(REASON(&b, ALLOCATES), 1);
    OK(mix(&b, b.a[0], made, 2));
    OK(sti_record_end(b.device, STET_OK));
    assert_true(real_at(made, 0) == 2.5f);
    stet_array_destroy(made);
    OK(sti_record_begin(b.device, "careless"));
    OK(sti_record_while(b.device, b.c[0], 3));
    FAILS(STI_ARRAY(b.device, "made", STET_DTYPE_REAL, false, &made, N), STET_ERROR_UNSUPPORTED,
          "careless: array made cannot be made inside a loop that is being listed");
    FAILS(sti_record_end(b.device, STET_OK), STET_ERROR_STATE, "a loop is still open");
    set_options(b.device, 0, true, false);
    OK(sti_record_begin(b.device, "careless"));
    stet_result result = STI_ARRAY(b.device, "made", STET_DTYPE_REAL, false, &made, N);
    FAILS(sti_record_end(b.device, result), STET_ERROR_STRICT, "an array was created while launches were listed");
    for (int i = 0; i < 3; ++i) OK(add_and_mix(&b, 1));
    assert_int_equal(ROW(&b).hits, 1);
    close_bench(&b);
}

static void kf08_a_recording_that_fails_is_dropped(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 3; ++i) OK(add_and_mix(&b, 1));
    for (int which = 1; which <= 2; ++which) { /* the first launch or the second: what ran is not run again */
        *(graphs(&b) ? &faulty.fail_graph : &faulty.fail_launch) = graphs(&b) ? 1 : which;
        OK(add_and_mix(&b, 1));
        assert_int_equal(REASON(&b, FAILED), which);
        assert_int_equal(b.device->recorder->nrecording, 0);
        assert_true(real_at(b.a[0], 0) == (float)(4 * which));
        assert_int_equal(stet_array_get_generation(b.a[0]), 4 * which + 1);
        assert_int_equal(stet_array_get_generation(b.a[1]), 4 * which + 1);
        for (int i = 0; i < 3; ++i) OK(add_and_mix(&b, 1)); /* built anew, and good */
        assert_int_equal(ROW(&b).hits, 1 + which);
    }
    *(graphs(&b) ? &faulty.fail_set : &faulty.fail_upload) = 1;
    OK(add_and_mix(&b, 5)); /* other arguments, which do not get there */
    assert_int_equal(REASON(&b, FAILED), 3);
    assert_true(real_at(b.a[0], 0) == 16);
    OK(add_and_mix(&b, 1));
    *(graphs(&b) ? &faulty.fail_graph : &faulty.fail_launch) = graphs(&b) ? 1 : 2;
    OK(add_and_mix(&b, 1)); /* in the comparison: what it did is undone */
    assert_int_equal(REASON(&b, FAILED), 4);
    assert_true(real_at(b.a[0], 0) == 18 && real_at(b.a[1], 0) == 10);
    assert_int_equal(b.device->recorder->nrecording, 0);
    close_bench(&b);
}

static void kf10_what_changes_reaches_a_recording(void **state)
{
    bench b;
    open_bench(&b);
    float expected = 0;
    for (int i = 1; i <= 20; ++i) {
        double h = i * 0.25; /* derived anew for each play */
        OK(add_and_mix(&b, h));
        expected += (float)h;
        assert_true(real_at(b.a[0], 0) == expected);
        assert_true(real_at(b.a[1], 0) == expected / 2 + (float)h);
    }
    assert_int_equal(b.device->recorder->built, 1);
    assert_int_equal(ROW(&b).hits, 18);
    assert_int_equal(counters_of(b.device).reason[STET_REASON_ARGS_CHANGED], 18 * 2);
    assert_int_equal(ARGS(&b).done_bytes, 19 * 5 * 16);
    assert_int_equal(faulty.uploads, (graphs(&b) ? 0 : 19) + 2); /* one for all that changed; and the comparison's */
    assert_int_equal(faulty.sets, graphs(&b) ? 18 * 2 : 0);
    for (int i = 1; i <= N; ++i) { /* and so does how much is launched */
        OK(sti_record_begin(b.device, "some"));
        OK(STI_LAUNCH(*b.add, b.device, i, sti_arg_array(b.a[2]), sti_arg_real(1)));
        OK(STI_LAUNCH(*b.add, b.device, i, sti_arg_array(b.a[3]), sti_arg_real(1)));
        OK(sti_record_end(b.device, STET_OK));
        for (int k = 0; k < N; ++k) assert_true(real_at(b.a[3], k) == (float)(k < i ? i - k : 0));
    }
    assert_int_equal(b.device->recorder->built, 2);
    /* The graph was made for two blocks, and given another number six times. */
    assert_int_equal(faulty.sets, graphs(&b) ? 18 * 2 + 2 * (N - 2) : 0);
    close_bench(&b);
}

static void kf11_a_replay_by_somebody_else_is_announced(void **state)
{
    bench b;
    const void *mirror;
    open_bench(&b);
    assert_int_equal(sti_record_last(b.device), 0);
    OK(add_and_mix(&b, 1));
    uint64_t id = sti_record_last(b.device);
    assert_true(id != 0);
    OK(stet_array_get_host(b.a[0], &mirror));
    set_real(b.a[0], 0, 42); /* his graph ran */
    OK(stet_recording_mark_replayed(b.device, id));
    assert_int_equal(stet_array_get_generation(b.a[0]), 3);
    assert_int_equal(stet_array_get_generation(b.a[1]), 3);
    assert_int_equal(stet_array_get_generation(b.a[2]), 1);
    OK(stet_array_get_host(b.a[0], &mirror));
    assert_true(*(const float *)mirror == 42);
    stet_array_destroy(b.a[1]);
    b.a[1] = new_reals(b.device);
    assert_int_equal(sti_record_last(b.device), 0);
    FAILS(stet_recording_mark_replayed(b.device, id), STET_ERROR_NOT_FOUND, "it went with an array");
    close_bench(&b);
}

static void kf15_recordings_of_one_kernel_have_blocks_of_their_own(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 12; ++i) {
        OK(play_pair(&b, i % 3));
        for (int k = 0; k < 3; ++k) assert_true(real_at(b.a[k], 0) == (float)(2 * ((i + 3 - k) / 3)));
    }
    assert_int_equal(ARGS(&b).misses, 3 * 2);
    assert_int_equal(ROW(&b).hits, 6);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_then_compared_then_replayed),
        cmocka_unit_test(switched_off_the_bits_are_the_same),
        cmocka_unit_test(a_list_of_one_is_a_launch),
        cmocka_unit_test(a_steady_state_allocates_nothing),
        cmocka_unit_test(the_least_recently_used_goes),
        cmocka_unit_test(equal_hashes_of_unequal_lists_are_told_apart),
        cmocka_unit_test(two_views_of_one_memory_are_two_arrays),
        cmocka_unit_test(a_recording_goes_with_its_kernels),
        cmocka_unit_test(scratch_is_not_compared),
        cmocka_unit_test(one_that_differs_is_dropped_and_eager_bits_stay),
        cmocka_unit_test(the_nth_allocation_fails),
        cmocka_unit_test(a_failure_while_listing_runs_nothing),
        cmocka_unit_test(a_launch_that_fails_by_itself_fails_the_list),
        cmocka_unit_test(kf04_building_a_recording_leaves_the_state_alone),
        cmocka_unit_test(kf05_a_recording_goes_with_its_arrays),
        cmocka_unit_test(kf06_an_odd_number_of_steps_keeps_both_buffers),
        cmocka_unit_test(kf07_an_allocation_in_a_list_is_no_part_of_it),
        cmocka_unit_test(kf08_a_recording_that_fails_is_dropped),
        cmocka_unit_test(kf10_what_changes_reaches_a_recording),
        cmocka_unit_test(kf11_a_replay_by_somebody_else_is_announced),
        cmocka_unit_test(kf15_recordings_of_one_kernel_have_blocks_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
