/* The random program of API calls; see program.h. The first argument is the number of operations. */
#include "base/part.h"
#include "sim/program/program.h"

#include "kernel/record/record.h"

#include <stdlib.h>

enum { OPERATIONS = 5000, OF_A_RUN = 2500, ON_A_DOUBLE = 400 };

static int64_t operations = OPERATIONS, faults, failures;

/* Everything that can be read. */
static void op_compare_all(program *p)
{
    say(p, "compare all; ");
    compare_worlds(p);
    compare_stage(p);
    if (p->shown.newest >= 0) op_frame_hash(p);
}

static const struct {
    int weight;
    void (*run)(program *p);
} table[] = {
    {100, op_step},        {40, op_control},     {60, op_reset},         {110, op_write},
    {80, op_read},         {30, op_state},       {80, op_render},        {15, op_render_again},
    {50, op_read_latest},  {40, op_read_frame},  {15, op_frame_hash},    {30, op_hold},
    {15, op_stale},        {40, op_add},         {15, op_remove},        {20, op_reparent},
    {45, op_set_local},    {25, op_set_world},   {60, op_get_transform}, {15, op_stage_arrays},
    {8, op_flush},         {10, op_mechanisms},  {8, op_snapshot},       {12, op_restore},
    {2, op_save},          {2, op_resume},       {6, op_own_open},       {40, op_own_render},
    {40, op_own_read},     {8, op_own_scribble}, {15, op_bad},           {6, op_export},
    {20, op_export_write}, {8, op_compare_all},  {5, op_anew},           {8, op_stage_write_arrays},
    {4, op_kernel_make},   {2, op_kernel_drop},  {40, op_kernel_launch}, {15, op_kernel_list},
    {25, op_fault},        {15, op_stream},      {3, op_fork},           {20, op_step_beside},
    {1, op_interrupt},     {30, op_step_some},   {40, op_render_some},   {12, op_round_begin},
    {8, op_round_end},     {10, op_parameter},
};

static void run_one(program *p)
{
    int sum = 0;
    for (size_t k = 0; k < sizeof table / sizeof *table; ++k) sum += table[k].weight;
    int at = roll(p, sum);
    size_t k = 0;
    for (; at >= table[k].weight; ++k) at -= table[k].weight;
    p->said[p->operation % SAID][0] = '\0';
    table[k].run(p);
    for (int who = 0; who < 2; ++who) {
        sti_validate_device(device_of(p, who));
        sti_validate_recorder(device_of(p, who));
    }
}

static void run(uint64_t seed, int64_t n)
{
    program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    stet_memory_stats before = stet_get_memory_stats();
    p->seed = p->dice = seed;
    program_models(p);
    program_open(p);
    for (p->operation = 1; p->operation <= n; ++p->operation) run_one(p);
    op_compare_all(p);
    program_close(p);
    faults += p->nfault;
    failures += p->nfailure;
    for (int k = 0; k < SCENES; ++k) stet_model_destroy(p->model[k]);
    assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
    assert_int_equal(stet_get_memory_stats().bytes, before.bytes);
    free(p);
}

static void mechanisms_change_no_bit(void **state)
{
    uint64_t seed = dice_seed("program");
    for (int64_t done = 0; done < operations; done += OF_A_RUN)
        run(seed++, operations - done < OF_A_RUN ? operations - done : OF_A_RUN);
    print_message("%lld calls of the device failed, %lld calls of the API for that\n", (long long)faults,
                  (long long)failures);
    program_print_drawn();
    if (operations >= OPERATIONS) assert_true(failures > 0 && (picked_any() || faults > failures));
}

/* MuJoCo and stet take a model with each kind of thing. */
static void each_kind_of_model_loads(void **state)
{
    program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (int kind = 0; kind < program_kinds(); ++kind) {
        p->said[0][0] = '\0';
        stet_model_destroy(program_draw_model(p, kind));
    }
    free(p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind_of_model_loads),
                                       cmocka_unit_test(mechanisms_change_no_bit)};
    const char *device = getenv("STET_TEST_DEVICE");
    if (device && strncmp(device, "double", 6) == 0) operations = ON_A_DOUBLE;
    if (in_part() && operations > OF_A_RUN) operations = OF_A_RUN;
    if (argc > 1) operations = strtoll(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
