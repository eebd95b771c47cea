/*
 * Code of several kernels in one: what it does is what the launches do one by one, bit for bit, whatever the team and
 * however often over.
 */
#include "fused_rig.h"

#include "bench/pilot/springs.h"

extern const sti_kernel sti_k_mass_velocity, sti_k_mass_position;

/* ---- springs ----------------------------------------------------------------------------------------------------- */

/* The ten launches of half a step, as the springs list them. */
static void half_step(sti_springs *s, sequence *out)
{
    memset(out, 0, sizeof *out);
    OK(sti_record_begin(s->device, "half a step"));
    OK(sti_springs_step(s, false));
    const sti_list *list = sti_record_pending(s->device);
    assert_int_equal(list->nop, STI_SPRING_LAUNCHES);
    for (int i = 0; i < list->nop / 2; ++i)
        add_slots(out, list->op[i].kernel, list->slot + list->op[i].slot, list->op[i].nslot);
    assert_int_equal(sti_record_end(s->device, STET_ERROR_STATE), STET_ERROR_STATE); /* it is not to run */
}

typedef struct two_springs {
    sti_springs s[2];
    sequence half[2];
} two_springs;

static two_springs open_two(stet_device *device)
{
    two_springs t;
    for (int i = 0; i < 2; ++i) {
        OK(sti_springs_create(device, WORLDS, &t.s[i]));
        half_step(&t.s[i], &t.half[i]);
    }
    return t;
}

static void close_two(two_springs *t)
{
    for (int i = 0; i < 2; ++i) sti_springs_destroy(&t->s[i]);
}

static void expect_equal(const stet_array *a, const stet_array *b)
{
    void *want = bytes_take(a);
    bool equal = bytes_equal(b, want, a->size);
    bytes_give(a, want, false);
    if (!equal) fail_msg("%s differs", a->name);
}

static void expect_same(const two_springs *t)
{
    const sti_springs *a = &t->s[0], *b = &t->s[1];
    expect_equal(a->pos, b->pos);
    expect_equal(a->vel, b->vel);
    expect_equal(a->force, b->force);
    expect_equal(a->way, b->way);
    expect_equal(a->length, b->length);
    expect_equal(a->rate, b->rate);
    expect_equal(a->tension, b->tension);
}

static void springs_are_the_same_bits(void **state)
{
    FOR_GPUS(rig)
    {
        two_springs t = open_two(rig.device);
        const sti_code *code = fuse(rig.device, &t.half[1], 1);
        assert_int_equal(code->repeats, 5);
        assert_string_equal(code->name, "fused k_spring_way … k_mass_position (10)");
        assert_true(code->worlds && code->value && !code->block);
        for (int times = 1; times <= code->repeats; ++times) {
            for (int i = 0; i < times; ++i) launch_singly(rig.device, &t.half[0], WORLDS);
            OK(launch_fused(rig.device, code, &t.half[1], times, WORLDS));
            expect_same(&t);
        }
        close_two(&t);
    }
}

static void every_team_gives_the_same_bits(void **state)
{
    static const sti_team teams[] = {{256, 1}, {128, 1}, {64, 1}, {32, 4}};
    FOR_GPUS(rig)
    {
        two_springs t = open_two(rig.device);
        const sti_code *code[4];
        for (int i = 0; i < 4; ++i) {
            code[i] = fuse(rig.device, &t.half[1], count_for(rig.device, teams[i].team));
            assert_int_equal(code[i]->team, teams[i].team);
            assert_int_equal(code[i]->teams, teams[i].teams);
            for (int k = 0; k < 2; ++k) launch_singly(rig.device, &t.half[0], WORLDS);
            OK(launch_fused(rig.device, code[i], &t.half[1], 2, WORLDS));
            expect_same(&t);
        }
        for (int i = 0; i < 4; ++i) /* made once */
            assert_ptr_equal(fuse(rig.device, &t.half[0], count_for(rig.device, teams[i].team)), code[i]);
        close_two(&t);
    }
}

static void teams_follow_from_how_many_worlds_there_are(void **state)
{
    static const struct {
        int64_t count;
        int processors, team, teams;
    } rows[] = {
        {1, 132, 256, 1},   {528, 132, 256, 1}, {529, 132, 128, 1}, {1056, 132, 128, 1},   {1057, 132, 64, 1},
        {2112, 132, 64, 1}, {2113, 132, 32, 4}, {4224, 132, 32, 4}, {1 << 20, 132, 32, 4}, {INT32_MAX, 132, 32, 4},
        {0, 132, 256, 1},   {1, 0, 32, 4},      {4, 1, 256, 1},     {16, 1, 64, 1},        {17, 1, 32, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        sti_team team = sti_team_fused(rows[i].count, rows[i].processors, STI_TEAM_RESIDENT);
        assert_int_equal(team.team, rows[i].team);
        assert_int_equal(team.teams, rows[i].teams);
        sti_team few = sti_team_fused(rows[i].count / 2, rows[i].processors, STI_TEAM_RESIDENT_FEW);
        assert_true(few.team >= team.team); /* half as many worlds, half as many threads */
    }
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static void sources_do_not_know_of_each_other(void **state)
{
    FOR_GPUS(rig)
    {
        stet_array *y = numbers(rig.device, 5);
        stet_kernel *one = step_kernel(rig.device, "one", part_one, once_one);
        stet_kernel *two = step_kernel(rig.device, "two", part_two, once_two);
        const sti_kernel *k[] = {sti_user_kernel(one), sti_user_kernel(two)};
        sequence q = {.n = 0};
        static const int order[] = {0, 1, 1, 0};
        for (int i = 0; i < 4; ++i) OK(ADD(&q, k[order[i]], sti_arg_array(y), sti_arg_int(5)));
        const sti_code *code = fuse(rig.device, &q, WORLDS);
        assert_string_equal(code->name, "fused k_step … k_step (4)");
        OK(launch_fused(rig.device, code, &q, 1, WORLDS));
        expect_numbers(y, 9, 3 * (3 * 3 - 5) - 5 + 3); /* x + 3; 3 x - 5; 3 x - 5; x + 3 */
        stet_kernel_destroy(one);
        stet_kernel_destroy(two);
        stet_array_destroy(y);
    }
}

/* The library's and a person's; a source with several kernels stands in the text once. */
static void the_library_beside_a_persons(void **state)
{
    FOR_GPUS(rig)
    {
        stet_array *y = numbers(rig.device, 6), *v = numbers(rig.device, 6);
        stet_kernel *k = kernel_from(rig.device, adder(7));
        sequence q = {.n = 0};
        OK(ADD(&q, &sti_k_mass_velocity, sti_arg_array(y), sti_arg_array(v), sti_arg_real(2), sti_arg_int(2)));
        OK(ADD(&q, sti_user_kernel(k), sti_arg_array(v), sti_arg_int(6)));
        OK(ADD(&q, &sti_k_mass_position, sti_arg_array(v), sti_arg_array(y), sti_arg_real(0.5), sti_arg_int(2)));
        OK(launch_fused(rig.device, fuse(rig.device, &q, WORLDS), &q, 1, WORLDS));
        expect_numbers(v, 3, 7);
        expect_numbers(y, 2.5, 3.5);
        stet_kernel_destroy(k);
        stet_array_destroy(y);
        stet_array_destroy(v);
    }
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* z and y of so many items a world: y += 5, z = y, z += 5, three times over. */
static void copies_over(stet_device *device, int nitem, int64_t count)
{
    stet_array *y = numbers(device, nitem), *z = numbers(device, nitem);
    stet_kernel *k = kernel_from(device, adder(5));
    sequence q = {.n = 0};
    OK(ADD(&q, sti_user_kernel(k), sti_arg_array(y), sti_arg_int(nitem)));
    add_copy(&q, z, y);
    OK(ADD(&q, sti_user_kernel(k), sti_arg_array(z), sti_arg_int(nitem)));
    const sti_code *code = fuse(device, &q, count);
    OK(launch_fused(device, code, &q, 3, WORLDS));
    expect_numbers(y, 1, 15);
    expect_numbers(z, 1, 20);
    q = (sequence){.n = 0}; /* nothing but copies */
    add_copy(&q, y, z);
    code = fuse(device, &q, count);
    assert_string_equal(code->name, "fused copy (1)");
    assert_int_equal(code->repeats, STI_FUSED_REPEATS);
    OK(launch_fused(device, code, &q, 1, WORLDS));
    expect_numbers(y, 1, 20);
    stet_kernel_destroy(k);
    stet_array_destroy(y);
    stet_array_destroy(z);
}

static void copies_of_worlds(void **state)
{
    static const int nitem[] = {1, 3, 4, 300, 1024};
    FOR_GPUS(rig)
    for (size_t i = 0; i < sizeof nitem / sizeof *nitem; ++i)
        copies_over(rig.device, nitem[i], count_for(rig.device, i % 2 ? 32 : 128));
}

/* Words and no more: neighbours of a world's share stay, whatever the alignment of its address. */
static void a_copy_touches_its_own_worlds_only(void **state)
{
    FOR_GPUS(rig)
    for (int shift = 0; shift < 5; ++shift) {
        enum { N = 8, W = 3 };
        stet_array *to = numbers(rig.device, 2 * N), *from = numbers(rig.device, 2 * N);
        sequence q = {.n = 0};
        const sti_slot slot[2] = {{.p = (float *)to->data + shift, .n = N * sizeof(float)},
                                  {.p = (float *)from->data + 100, .n = N * sizeof(float)}};
        add_slots(&q, NULL, slot, 2);
        OK(launch_fused(rig.device, fuse(rig.device, &q, W), &q, 1, W));
        float *now = bytes_take(to), *was = bytes_take(from);
        for (int i = 0; i < WORLDS * 2 * N; ++i) {
            bool copied = i >= shift && i < shift + N * W;
            assert_true(now[i] == was[copied ? i - shift + 100 : i]);
        }
        bytes_give(to, now, false);
        bytes_give(from, was, false);
        stet_array_destroy(to);
        stet_array_destroy(from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(springs_are_the_same_bits),
        cmocka_unit_test(every_team_gives_the_same_bits),
        cmocka_unit_test(teams_follow_from_how_many_worlds_there_are),
        cmocka_unit_test(sources_do_not_know_of_each_other),
        cmocka_unit_test(the_library_beside_a_persons),
        cmocka_unit_test(copies_of_worlds),
        cmocka_unit_test(a_copy_touches_its_own_worlds_only),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
