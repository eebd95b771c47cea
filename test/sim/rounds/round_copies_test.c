/*
 * What rounds with external physics ask of the driver, call by call of the doubles: from the second on inputs that
 * differ go up, outputs come down, and nothing else does; nothing is allocated, compiled or instantiated; and what the
 * round before wrote is put back by one graph.
 */
#include "sim/rounds/rounds.h"

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
    stet_round_value outputs[] = {stet_round_array(t->length, STET_DIRECTION_OUT, o->length, sizeof o->length),
                                  stet_round_array(t->seen, STET_DIRECTION_OUT, o->seen, sizeof o->seen)};
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
    static const int kinds[] = {0, WITH_LENGTH, WITH_CONTROLS | WITH_LENGTH, WITH_QPOS | WITH_CONTROLS | WITH_LENGTH};
    for (int hip = 0; hip < 2; ++hip)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
            on_double(hip);
            task t = task_open(&external);
            round_in in[2];
            out first[2], later;
            round_contracts(&t);
            for (uint64_t s = 0; s < 2; ++s) round_fill(&in[s], &t, s, kinds[k]);
            for (int r = 0; r < 8; ++r)
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

/* ---- the calls of a begin ---------------------------------------------------------------------------------------- */

static const char *const entries[] = {
#define BOTH(need, name, ...) #name,
#define CUDA(need, name, ...) #name,
#define HIP(need, name, ...) #name,
#include "device/gpu/entries.inl"
};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* Each entry point's calls since `before`, as text: "graph_launch 1 …"; and `before` is now. */
static const char *calls_since(int64_t before[ENTRIES])
{
    static char text[1024];
    size_t used = 0;
    text[0] = 0;
    for (size_t k = 0; k < ENTRIES; ++k) {
        int64_t now = picked_double->calls(entries[k]), n = now - before[k];
        before[k] = now;
        if (n && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %d", used ? ", " : "", entries[k], (int)n);
    }
    return text;
}

/* What a begin asked the driver for, beside entering and leaving it. */
static void expect(const char *what, const char *got, const char *want)
{
    if (strcmp(got, want) != 0) fail_msg("%s: %s; it should be: %s", what, got, want);
}

/*
 * The round writes ctrl, time and the poses, which are put back: the driver is asked for one thing. An input that
 * differs, of an array that nobody wrote, is that, an upload and a copy.
 */
static void a_begin_is_one_graph_and_what_differs(void **state)
{
    static const char *const one[] = {"context_get 1, context_set 2, graph_launch 1, capture_mode 2",
                                      "device_current 1, graph_launch 1, capture_mode 2"};
    static const char *const differs[] = {
        "context_get 3, context_set 6, copy_to_device_async 1, copy_async 1, graph_launch 1, capture_mode 6",
        "device_current 3, copy_to_device_async 1, copy_async 1, graph_launch 1, capture_mode 6"};
    for (int hip = 0; hip < 2; ++hip) {
        int64_t before[ENTRIES] = {0};
        on_double(hip);
        task t = task_open(&external);
        round_in in;
        out last;
        round_contracts(&t);
        round_fill(&in, &t, 3, WITH_QPOS | WITH_CONTROLS | WITH_LENGTH);
        for (int r = 0; r < 5; ++r) (void)play(&t, &in, &last);
        for (int r = 0; r < 6; ++r) {
            in.length[0] += r % 2;
            (void)calls_since(before);
            OK(stet_sim_round_begin(t.p.sim, in.value, in.n));
            expect(r % 2 ? "differs" : "the same", calls_since(before), r % 2 ? differs[hip] : one[hip]);
            OK(stet_sim_step(t.p.sim, 1));
            OK(stet_sim_round_end(t.p.sim, NULL, 0));
        }
        task_close(&t);
        double_expect_clean(picked_double);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_that_differ_go_up_and_outputs_come_down),
        cmocka_unit_test(a_begin_is_one_graph_and_what_differs),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
