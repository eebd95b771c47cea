/*
 * Recordings as graphs of the device: when they are built, what reaches them, what becomes of those that cannot be. Run
 * on each device (stet_test_on_devices); without graphs a replay is a loop, and the same holds.
 */
#include "kernel/lists.h"

/* ---- graphs that cannot be built --------------------------------------------------------------------------------- */

static void kf08_a_graph_that_cannot_be_built_is_dropped(void **state)
{
    static const struct {
        stet_result result;
        stet_reason why;
    } cases[] = {{STET_ERROR_DEVICE, STET_REASON_GRAPH_REPLAY_FAILED},
                 {STET_ERROR_OUT_OF_MEMORY, STET_REASON_GRAPH_REPLAY_MEMORY}};
    for (int i = 0; i < 2; ++i) {
        bench b;
        open_bench(&b);
        faulty.make_result = cases[i].result;
        faulty.fail_make = 1;
        for (int play = 1; play <= 6; ++play) {
            OK(add_and_mix(&b, 1));
            assert_true(real_at(b.a[0], 0) == (float)play && real_at(b.a[1], 0) == (float)play / 2 + 1);
            assert_int_equal(stet_array_get_generation(b.a[1]), play + 1);
        }
        assert_int_equal(counters_of(b.device).reason[cases[i].why], graphs(&b) ? 1 : 0);
        assert_int_equal(b.device->recorder->dropped, graphs(&b) ? 1 : 0);
        assert_int_equal(ROW(&b).hits, graphs(&b) ? 2 : 4); /* built anew, compared, trusted */
        assert_int_equal(counters_of(b.device).launches, 6 * 2);
        close_bench(&b);
    }
}

static void a_driver_that_cannot_is_said_once(void **state)
{
    bench b;
    open_bench(&b);
    faulty.make_result = STET_ERROR_UNSUPPORTED;
    faulty.all_makes = true;
    for (int play = 1; play <= 8; ++play) OK(add_and_mix(&b, play));
    assert_true(real_at(b.a[0], 0) == 36 && real_at(b.a[1], 0) == 26);
    assert_int_equal(REASON(&b, UNSUPPORTED), graphs(&b) ? 1 : 0);
    assert_int_equal(ROW(&b).fallbacks, graphs(&b) ? 1 : 0);
    assert_int_equal(ROW(&b).hits, 6); /* by a loop over its blocks */
    assert_int_equal(faulty.launches, 8 * 2 + 2);
    assert_int_equal(faulty.graphs, 0);
    set_options(b.device, 0, true, false);
    OK(add_and_mix(&b, 1)); /* it was said */
    stet_array_destroy(b.a[1]);
    b.a[1] = new_reals(b.device);
    OK(add_and_mix(&b, 1));
    for (int i = 0; graphs(&b) && i < 2; ++i)
        FAILS(add_and_mix(&b, 1), STET_ERROR_STRICT, "add and mix (the graph was made");
    assert_true(real_at(b.a[0], 0) == 38); /* nothing ran */
    close_bench(&b);
}

/* a0 = 0; while c0 { --c0; a0 += 1; a1 = a0 / 2 }; a2 = a1 / 2; a3 = a2 / 2 */
static stet_result play_loop(bench *b, int trips, int64_t most)
{
    STI_TRY(sti_record_begin(b->device, "loop"));
    stet_result result = set(b, b->c[0], trips);
    if (result == STET_OK) result = sti_record_while(b->device, b->c[0], most);
    if (result == STET_OK) result = count(b, b->c[0]);
    if (result == STET_OK) result = add(b, b->a[0], 1);
    if (result == STET_OK) result = mix(b, b->a[0], b->a[1], 0);
    if (result == STET_OK) result = sti_record_while_end(b->device);
    if (result == STET_OK) result = mix(b, b->a[1], b->a[2], 0);
    if (result == STET_OK) result = mix(b, b->a[2], b->a[3], 0);
    return sti_record_end(b->device, result);
}

static void without_conditional_nodes_a_loop_is_the_host_s(void **state)
{
    static const int trips[] = {3, 4, 0, 5, 2, 7}, most[] = {9, 9, 9, 2, 9, 9};
    bench b;
    float sum = 0;
    open_bench(&b);
    for (int i = 0; i < 6; ++i) {
        int done = trips[i] < most[i] ? trips[i] : most[i];
        if (i == 2) faulty.graphs = 0;
        OK(play_loop(&b, trips[i], most[i]));
        sum += (float)done;
        assert_true(real_at(b.a[0], 1) == sum && real_at(b.a[1], 1) == sum / 2 && real_at(b.a[3], 1) == sum / 8);
        /* A replay is one graph, or the body's for each trip and what comes behind; what comes before is one launch. */
        int replayed = trips[2] + most[3] + trips[4] + trips[5];
        if (i == 5 && graphs(&b)) assert_int_equal(faulty.graphs, device_loops(&b) ? 4 : replayed + 4);
    }
    bool host_loop = graphs(&b) && !device_loops(&b);
    assert_int_equal(REASON(&b, HOST_LOOP), host_loop ? 1 : 0);
    assert_int_equal(ROW(&b).fallbacks, host_loop ? 1 : 0);
    assert_int_equal(ROW(&b).hits, 4);
    assert_int_equal(ROW(&b).misses, 2);
    close_bench(&b);
}

static void a_change_that_fails_drops_the_graph(void **state)
{
    bench b;
    open_bench(&b);
    for (int play = 1; play <= 8; ++play) {
        if (play == 5) faulty.fail_set = 2;
        OK(sti_record_begin(b.device, "some"));
        for (int i = 0; i < 3; ++i)
            OK(STI_LAUNCH(*b.add, b.device, play < 5 ? N : 2, sti_arg_array(b.a[i]), sti_arg_real(1)));
        OK(sti_record_end(b.device, STET_OK));
        for (int i = 0; i < 3; ++i)
            assert_true(real_at(b.a[i], 1) == (float)play && real_at(b.a[i], 2) == (float)(play < 5 ? play : 4));
    }
    assert_int_equal(REASON(&b, FAILED), graphs(&b) ? 1 : 0);
    assert_int_equal(b.device->recorder->built, graphs(&b) ? 2 : 1);
    close_bench(&b);
}

/* ---- what reaches a graph ---------------------------------------------------------------------------------------- */

/*
 * Of three launches the arguments of the middle one change, then those of the outer two. Without graphs: one upload of
 * its two slots, and one of all six; with graphs as many launches are given their two slots anew.
 */
static void only_what_changed_goes_there(void **state)
{
    static const int changed[] = {0, 0, 0, 1, 2, 2};
    bench b;
    float want[3] = {0};
    open_bench(&b);
    for (int play = 0; play < 6; ++play) {
        double h[3] = {play == 4 ? 7 : 1, play >= 3 ? 5 : 1, play == 4 ? 9 : 1};
        int slots = changed[play] == 2 && !graphs(&b) ? 6 : 2 * changed[play];
        stet_counter was = ARGS(&b);
        int uploads = faulty.uploads, sets = faulty.sets;
        OK(sti_record_begin(b.device, "three"));
        for (int i = 0; i < 3; ++i) OK(add(&b, b.a[i], h[i]));
        OK(sti_record_end(b.device, STET_OK));
        for (int i = 0; i < 3; ++i) {
            want[i] += (float)h[i];
            assert_true(real_at(b.a[i], 0) == want[i]);
        }
        if (play < 2) continue; /* recorded, compared */
        assert_int_equal(faulty.uploads - uploads, !graphs(&b) && changed[play] ? 1 : 0);
        assert_int_equal(faulty.sets - sets, graphs(&b) ? changed[play] : 0);
        assert_int_equal(ARGS(&b).done_bytes - was.done_bytes, 16 * slots);
        assert_int_equal(ARGS(&b).saved_bytes - was.saved_bytes, 16 * (6 - slots));
        assert_int_equal(ARGS(&b).hits - was.hits, 3 - changed[play]);
        assert_int_equal(ARGS(&b).misses - was.misses, changed[play]);
    }
    assert_int_equal(ARGS(&b).held_bytes, (graphs(&b) ? 6 : 8) * 16); /* six slots; a block has whole lines */
    assert_int_equal(b.device->recorder->built, 1);
    close_bench(&b);
}

static void kf10_one_handle_twice_in_a_list(void **state)
{
    bench b;
    float want = 0;
    open_bench(&b);
    for (int play = 1; play <= 12; ++play) {
        OK(sti_record_begin(b.device, "twice"));
        OK(add(&b, b.a[0], play));
        OK(mix(&b, b.a[0], b.a[0], 0.5 * play));
        OK(add(&b, b.a[0], -0.25 * play));
        OK(sti_record_end(b.device, STET_OK));
        want = (want + (float)play) / 2 + 0.5f * (float)play;
        want += -0.25f * (float)play;
        for (int k = 0; k < N; ++k) assert_true(real_at(b.a[0], k) == want);
    }
    assert_int_equal(ROW(&b).hits, 10);
    close_bench(&b);
}

static void kf12_an_audit_finds_what_wrote_into_the_arguments(void **state)
{
    bench b;
    open_bench(&b);
    if (graphs(&b)) { /* nothing in memory to write to */
        close_bench(&b);
        skip();
    }
    for (int i = 0; i < 3; ++i) OK(add_and_mix(&b, 1));
    const sti_recording *x = b.device->recorder->recording[0];
    double other = 2;
    poke(b.device, (char *)(x->args.block + 4), &other, sizeof other); /* the third slot of the second launch */
    set_options(b.device, 0, false, true);
    FAILS(add_and_mix(&b, 1), STET_ERROR_AUDIT, "args: kernel k_mix: its block of arguments changed at byte 3");
    assert_true(real_at(b.a[0], 0) == 3 && real_at(b.a[1], 0) == 2.5f); /* nothing ran */
    assert_int_equal(b.device->recorder->nrecording, 0);
    for (int i = 0; i < 4; ++i) OK(add_and_mix(&b, 1));
    assert_true(real_at(b.a[1], 0) == 4.5f);
    close_bench(&b);
}

static void kf13_an_upload_that_fails_is_no_argument(void **state)
{
    bench b;
    float want = 0;
    open_bench(&b);
    for (int play = 1; play <= 12; ++play) {
        if (play % 4 == 0)
            *(graphs(&b) ? &faulty.fail_set : &faulty.fail_upload) =
                1; /* its arguments do not get there: one by one, by value */
        OK(add_and_mix(&b, play));
        want += (float)play;
        assert_true(real_at(b.a[0], 0) == want && real_at(b.a[1], 0) == want / 2 + (float)play);
    }
    assert_int_equal(REASON(&b, FAILED), 3);
    close_bench(&b);
}

/* ---- what a recording holds -------------------------------------------------------------------------------------- */

static void kf22_an_address_that_comes_again_is_another_array(void **state)
{
    bench b;
    int again = 0;
    open_bench(&b);
    for (int round = 0; round < 20; ++round) {
        const void *was = b.a[1]->data;
        stet_array_destroy(b.a[1]);
        b.a[1] = new_reals(b.device);
        again += b.a[1]->data == was;
        for (int i = 1; i <= 4; ++i) {
            OK(add_and_mix(&b, 1));
            assert_true(real_at(b.a[1], 0) == real_at(b.a[0], 0) / 2 + 1);
        }
        assert_int_equal(REASON(&b, FIRST), round + 1);
        assert_int_equal(b.device->recorder->nrecording, 1);
    }
    print_message("the address came again %d times\n", again);
    assert_int_equal(ROW(&b).hits, 20 * 2);
    close_bench(&b);
}

/* Arrays of another size from play to play, made and freed between replays: nothing of an old recording is used. */
static void kf05_arrays_grow_and_shrink_between_replays(void **state)
{
    bench b;
    open_bench(&b);
    for (int round = 0; round < 12; ++round) {
        int n = 1 + 37 * round % 64;
        stet_array *a, *c;
        OK(STI_ARRAY(b.device, "grows", STET_DTYPE_REAL, false, &a, n));
        OK(STI_ARRAY(b.device, "follows", STET_DTYPE_REAL, false, &c, n));
        for (int i = 1; i <= 4; ++i) {
            OK(sti_record_begin(b.device, "grows"));
            OK(STI_LAUNCH(*b.add, b.device, n, sti_arg_array(a), sti_arg_real(i)));
            OK(STI_LAUNCH(*b.mix, b.device, n, sti_arg_array(a), sti_arg_array(c), sti_arg_real(round)));
            OK(sti_record_end(b.device, STET_OK));
            assert_true(real_at(c, n - 1) == (float)(i * (i + 1) / 2) / 2 + (float)round);
        }
        stet_array_destroy(a);
        stet_array_destroy(c);
        assert_int_equal(b.device->recorder->nrecording, 0);
    }
    assert_int_equal(ROW(&b).hits, 12 * 2);
    close_bench(&b);
}

static void a_steady_state_uploads_and_allocates_nothing(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 3; ++i) OK(add_and_mix(&b, 1));
    OK(play_loop(&b, 3, 9));
    OK(play_loop(&b, 3, 9));
    OK(play_loop(&b, 3, 9));
    int uploads = faulty.uploads, makes = faulty.makes;
    int64_t allocations = stet_get_memory_stats().allocations;
    for (int i = 0; i < 50; ++i) {
        OK(add_and_mix(&b, 1));
        OK(play_loop(&b, 3, 9));
    }
    assert_int_equal(faulty.uploads, uploads);
    assert_int_equal(faulty.makes, makes);
    assert_int_equal(stet_get_memory_stats().allocations, allocations);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf08_a_graph_that_cannot_be_built_is_dropped),
        cmocka_unit_test(a_driver_that_cannot_is_said_once),
        cmocka_unit_test(without_conditional_nodes_a_loop_is_the_host_s),
        cmocka_unit_test(a_change_that_fails_drops_the_graph),
        cmocka_unit_test(only_what_changed_goes_there),
        cmocka_unit_test(kf10_one_handle_twice_in_a_list),
        cmocka_unit_test(kf12_an_audit_finds_what_wrote_into_the_arguments),
        cmocka_unit_test(kf13_an_upload_that_fails_is_no_argument),
        cmocka_unit_test(kf22_an_address_that_comes_again_is_another_array),
        cmocka_unit_test(kf05_arrays_grow_and_shrink_between_replays),
        cmocka_unit_test(a_steady_state_uploads_and_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
