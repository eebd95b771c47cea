/* Failures that users of other systems met with runs that follow each other in one process. */
#include "sim/rounds/rounds.h"

#include "stet/trace.h"

static const room_def mujoco = {.nworld = ROUND_WORLDS, .threads = 3, .outputs = BIT(DEPTH)};

/*
 * Clean-up that was incomplete: here whatever the first round left, the second goes through, on all threads, and is
 * right.
 */
static void kf37_the_second_round_goes_through_whatever_the_first_left(void **state)
{
    uint64_t want = round_alone(&mujoco, 1, WITH_ALL, true);
    for (int left = 0; left < 4; ++left) {
        task t = task_open(&mujoco);
        round_in in;
        float short_of[3];
        stet_round_value bad = stet_round_out("qpos", short_of, sizeof short_of);
        round_contracts(&t);
        round_fill(&in, &t, 2, WITH_ALL);
        OK(stet_sim_round_begin(t.p.sim, in.value, in.n));
        OK(stet_sim_step(t.p.sim, 2));
        if (left == 0) OK(stet_sim_round_end(t.p.sim, NULL, 0));
        if (left == 1) REFUSED(STET_ERROR_INVALID_ARGUMENT, "12 bytes", stet_sim_round_end(t.p.sim, &bad, 1));
        if (left == 2) (void)room_render(t.p.sim); /* a frame that nobody read; and no end */
        assert_true(round_play(&t, 1, WITH_ALL, true) == want);
        task_close(&t);
    }
}

/* ---- */

static stet_kernel *giver(stet_sim *sim, int what)
{
    char source[256];
    stet_kernel *kernel;
    stet_kernel_def def = stet_default_kernel_def();
    (void)snprintf(source, sizeof source,
                   "#include \"stet/lang.h\"\nworld_kernel void k_give(lint *out)\n{ each (i, 1) out[i] = isplat(%d); "
                   "}\n",
                   what);
    def.source = source;
    def.cache_folder = folder;
    OK(stet_kernel_create(stet_sim_get_device(sim), &def, &kernel));
    return kernel;
}

/* Symbols of the first round's kernels are not the second's, though they bear the same names. */
static void kf38_a_kernel_of_the_same_name_is_another_in_another_round(void **state)
{
    stet_sim *sim = room_open("cartpole.xml", &mujoco);
    stet_array *out;
    int32_t got[ROUND_WORLDS];
    OK(STI_ARRAY(stet_sim_get_device(sim), "out", STET_DTYPE_INT, true, &out, ROUND_WORLDS, 1));
    stet_kernel *kept = NULL;
    for (int r = 0; r < 4; ++r) {
        stet_kernel *kernel = giver(sim, 100 + r);
        stet_arg arg = stet_arg_array(out);
        stet_round_value end = stet_round_array(out, STET_DIRECTION_OUT, got, sizeof got);
        int id;
        OK(stet_sim_add_kernel(sim, STET_PHASE_AFTER_PHYSICS, kernel, ROUND_WORLDS, &arg, 1, &id));
        OK(stet_sim_round_begin(sim, NULL, 0));
        OK(stet_sim_step(sim, 1));
        OK(stet_sim_round_end(sim, &end, 1));
        for (int w = 0; w < ROUND_WORLDS; ++w) assert_int_equal(got[w], 100 + r);
        OK(stet_sim_remove_kernel(sim, id));
        stet_kernel_destroy(kept); /* one lives beside its namesake, the others have gone */
        kept = kernel;
    }
    stet_kernel_destroy(kept);
    stet_array_destroy(out);
    stet_sim_destroy(sim);
}

/* ---- */

/* One list for both calls: an input stays as it is on the host, an output is not copied in. */
static void kf39_each_value_goes_the_way_it_says(void **state)
{
    task t = task_open(&mujoco);
    float qpos[ROUND_WORLDS * 2], start[ROUND_WORLDS * 2], qvel[ROUND_WORLDS * 2];
    int32_t length[ROUND_WORLDS] = {2, 0, 1, 0, 0}, kept[ROUND_WORLDS];
    for (int i = 0; i < ROUND_WORLDS * 2; ++i) start[i] = qpos[i] = 0.01f * (float)i;
    for (int i = 0; i < ROUND_WORLDS * 2; ++i) qvel[i] = 3e38f;
    memcpy(kept, length, sizeof kept);
    stet_round_value values[] = {stet_round_in("qpos", qpos, sizeof qpos), stet_round_out("qvel", qvel, sizeof qvel),
                                 stet_round_array(t.length, STET_DIRECTION_INOUT, length, sizeof length)};
    OK(stet_sim_round_begin(t.p.sim, values, 3));
    assert_true(room_field(t.p.sim, "qvel", 0, 0) == 0);
    OK(stet_sim_step(t.p.sim, 2));
    OK(stet_sim_round_end(t.p.sim, values, 3));
    assert_memory_equal(qpos, start, sizeof qpos);
    assert_true(qvel[3] == room_field(t.p.sim, "qvel", 1, 1) && qvel[3] != 0);
    assert_int_not_equal(length[1], kept[1]);
    stet_round_info info = stet_sim_get_round(t.p.sim);
    assert_int_equal(info.inputs, 2);
    assert_int_equal(info.outputs, 2);
    assert_int_equal(info.copied_out, 2);
    assert_int_equal(info.bytes_out, sizeof qvel + sizeof length);
    task_close(&t);
}

/* ---- */

typedef struct seen {
    int64_t calls[STET_TRACE_COUNT], phases, kernels;
} seen;

/* What a trace has by now. */
static seen look(stet_sim *sim)
{
    seen s = {.phases = 0};
    stet_profile_row row;
    for (int64_t i = 0; stet_profile_get_row(stet_sim_get_device(sim), i, &row); ++i) {
        s.calls[row.kind] += row.calls;
        s.phases += row.kind == STET_TRACE_PHASE && strcmp(row.name, "step") == 0 ? row.calls : 0;
        /* What is replayed as one thing of the device's is one event. */
        bool launched = row.kind == STET_TRACE_LAUNCH && strcmp(row.name, "k_fell") == 0;
        s.kernels += launched || row.kind == STET_TRACE_REPLAY ? row.calls : 0;
    }
    return s;
}

/* Profiling and tracing see the later rounds as they see the first: in a trace a round, and in one over all. */
static void kf40_every_round_is_profiled(void **state)
{
    enum { ROUNDS = 6 };
    for (int whole = 0; whole < 2; ++whole) {
        task t = task_open(&mujoco);
        stet_device *device = stet_sim_get_device(t.p.sim);
        stet_trace_def def = stet_default_trace_def();
        seen before = {.phases = 0}, third = before;
        round_contracts(&t);
        for (int r = 0; r < ROUNDS; ++r) {
            if (!whole || r == 0) OK(stet_trace_begin(device, &def));
            (void)round_play(&t, 1, WITH_ALL, false);
            seen now = look(t.p.sim), of = now;
            for (int k = 0; whole && k < STET_TRACE_COUNT; ++k) of.calls[k] -= before.calls[k];
            of.phases -= whole ? before.phases : 0;
            of.kernels -= whole ? before.kernels : 0;
            assert_int_equal(of.phases, ROUND_STEPS);
            assert_true(of.kernels >= ROUND_STEPS);
            if (r == 3) third = of; /* from now on recordings are trusted: one round is like the other */
            if (r > 3) assert_memory_equal(&of, &third, sizeof of);
            before = now;
            if (!whole || r == ROUNDS - 1) OK(stet_trace_end(device));
        }
        task_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf37_the_second_round_goes_through_whatever_the_first_left),
        cmocka_unit_test(kf38_a_kernel_of_the_same_name_is_another_in_another_round),
        cmocka_unit_test(kf39_each_value_goes_the_way_it_says),
        cmocka_unit_test(kf40_every_round_is_profiled),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
