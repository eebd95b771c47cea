/*
 * What crosses in rounds with external physics, call by call of the driver doubles: from the second on inputs that differ go up, outputs come down,
 * and nothing else does; nothing is allocated, compiled or instantiated.
 */
#include "sim/rounds.h"

#include <stdlib.h>

static const room_def external = {
    .nworld = ROUND_WORLDS, .threads = 1, .physics = STET_PHYSICS_EXTERNAL, .outputs = BIT(DEPTH)};

static void on_double(bool hip)
{
    assert_int_equal(setenv("STET_TEST_DEVICE", hip ? "double-hip" : "double-cuda", 1), 0);
    picked_double = double_open(hip ? DOUBLE_HIP : DOUBLE_CUDA);
    double_start(picked_double, 31);
}

typedef struct calls {
    int64_t up, down, alloc, module, graph, program;
} calls;

static calls count(void)
{
    return (calls){.up = picked_double->calls("copy_to_device_async"),
                   .down = picked_double->calls("copy_to_host_async"),
                   .alloc = picked_double->calls("alloc") + picked_double->calls("host_alloc"),
                   .module = picked_double->calls("module_load"),
                   .graph = picked_double->calls("graph_instantiate"),
                   .program = picked_double->calls("rtc_compile")};
}

typedef struct out {
    int32_t length[ROUND_WORLDS];
    float seen[ROUND_WORLDS * 3];
} out;

/* A round with two outputs; what it asked the driver for. */
static calls play(task *t, round_in *in, out *o)
{
    stet_round_value outputs[] = {stet_round_array(t->length, STET_OUT, o->length, sizeof o->length),
                                  stet_round_array(t->seen, STET_OUT, o->seen, sizeof o->seen)};
    calls before = count();
    OK(stet_sim_round_begin(t->p.sim, in->value, in->n));
    for (int i = 0; i < ROUND_STEPS; ++i) OK(stet_sim_step(t->p.sim, 1));
    OK(stet_sim_round_end(t->p.sim, outputs, 2));
    calls c = count();
    return (calls){c.up - before.up,         c.down - before.down,   c.alloc - before.alloc,
                   c.module - before.module, c.graph - before.graph, c.program - before.program};
}

static void inputs_that_differ_go_up_and_outputs_come_down(void **state)
{
    (void)state;
    static const int kinds[] = {0, WITH_LENGTH, WITH_CONTROLS | WITH_LENGTH, WITH_QPOS | WITH_CONTROLS | WITH_LENGTH};
    for (int hip = 0; hip < 2; ++hip)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
            on_double(hip);
            task t = task_open(&external);
            round_in in[2];
            out first[2], later;
            round_contracts(&t);
            for (uint64_t s = 0; s < 2; ++s) round_fill(&in[s], &t, s, kinds[k]);
            for (int r = 0; r < 4; ++r)
                (void)play(&t, &in[r / 2 % 2], &first[r / 2 % 2]); /* recordings come to be trusted */
            for (int r = 0; r < 6; ++r) {
                int s = r / 2 % 2;
                calls c = play(&t, &in[s], &later);
                int64_t differ = r % 2 == 0 ? in[0].n : 0;
                assert_memory_equal(&later, &first[s], sizeof later);
                if (r % 2 == 0 && kinds[k] & WITH_QPOS)
                    differ += 2; /* the poses that follow from it, which the host works out */
                assert_int_equal(c.alloc + c.module + c.graph + c.program, 0);
                assert_int_equal(c.down, 2);
                assert_int_equal(c.up, differ);
            }
            task_close(&t);
            double_expect_clean(picked_double);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_that_differ_go_up_and_outputs_come_down),
    };
    return cmocka_run_group_tests(tests, phases_open_cache, phases_close_cache);
}
