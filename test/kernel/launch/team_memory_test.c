/*
 * Memory of a team, of a size that the launch passes: what kernels compute in it on each device, in lists, in checked
 * mode and beside threads, and what is refused. Run on each device (stet_test_on_devices).
 */
#include "kernel/faulty.h"

#include "kernel/record/launch.h"
#include "kernel/user/user.h"

enum { WORLDS = 37, ITEMS = 12 };

/*
 * out[i] = the sum over the items before i of twice the item, in lanes; count[i] = how many items before i are odd by
 * number; marks[i] = 1 in lanes where x[i] is below the mean of all.
 */
static const char *const source =
    "#include \"stet/lang.h\"\n"
    "LFN void twice(const real *x, real *w, int n) { each (i, n) w[i] = x[i] + x[i]; }\n"
    "LFN int before(const int *odd, int i) { int k = 0; for (int j = 0; j < i; ++j) k = k + odd[j]; return k; }\n"
    "world_kernel void k_team(const real *x, treal *w, tlint *below, tint *odd, real *out, lint *count, lint *marks,\n"
    "                         int n)\n"
    "{\n"
    "    twice(x, w, n);\n"
    "    each (i, n) odd[i] = i & 1;\n"
    "    sync();\n"
    "    real all = splat(0);\n"
    "    for (int i = 0; i < n; ++i) all = all + x[i];\n"
    "    each (i, n) below[i] = iselect(lt(x[i] * splat((ureal)n), all), isplat(1), isplat(0));\n"
    "    sync();\n"
    "    each (i, n) {\n"
    "        real sum = splat(0);\n"
    "        for (int j = 0; j < i; ++j) sum = sum + w[j];\n"
    "        put(out, i, sum);\n"
    "        count[i] = isplat(before(odd, i));\n"
    "        marks[i] = below[i];\n"
    "    }\n"
    "}\n";

typedef struct bench {
    stet_device *device;
    stet_kernel *kernel;
    stet_array *x, *out, *count, *marks;
} bench;

static void open_with(bench *b, stet_device *device, int team, int teams)
{
    stet_kernel_def def = stet_default_kernel_def();
    def.team = team;
    def.teams = teams;
    b->device = device;
    OK(STI_ARRAY(device, "x", STET_DTYPE_REAL, true, &b->x, WORLDS, ITEMS));
    OK(STI_ARRAY(device, "out", STET_DTYPE_REAL, true, &b->out, WORLDS, ITEMS));
    OK(STI_ARRAY(device, "count", STET_DTYPE_INT, true, &b->count, WORLDS, ITEMS));
    OK(STI_ARRAY(device, "marks", STET_DTYPE_INT, true, &b->marks, WORLDS, ITEMS));
    def.source = source;
    def.cache_folder = double_cache_folder();
    OK(stet_kernel_create(device, &def, &b->kernel));
}

static void open_on(bench *b, stet_device *device) { open_with(b, device, 0, 0); }

static void close_bench(bench *b)
{
    stet_kernel_destroy(b->kernel);
    stet_array_destroy(b->x);
    stet_array_destroy(b->out);
    stet_array_destroy(b->count);
    stet_array_destroy(b->marks);
    stet_device_destroy(b->device);
}

static float value_of(int w, int i, int round) { return (float)((w * 7 + i * 5 + round * 3) % 11); }

static void fill(bench *b, int round)
{
    float x[WORLDS][ITEMS];
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < ITEMS; ++i) x[w][i] = value_of(w, i, round);
    OK(stet_array_write(b->x, x, sizeof x));
}

static stet_result launch(bench *b, int64_t reals, int64_t lints, int64_t ints, int n)
{
    const stet_arg args[] = {stet_arg_array(b->x),     stet_arg_int(reals),    stet_arg_int(lints),
                             stet_arg_int(ints),       stet_arg_array(b->out), stet_arg_array(b->count),
                             stet_arg_array(b->marks), stet_arg_int(n)};
    return stet_kernel_launch(b->kernel, WORLDS, args, 8);
}

static void check(bench *b, int round, int n)
{
    float out[WORLDS][ITEMS];
    int count[WORLDS][ITEMS], marks[WORLDS][ITEMS];
    OK(stet_array_read(b->out, out, sizeof out));
    OK(stet_array_read(b->count, count, sizeof count));
    OK(stet_array_read(b->marks, marks, sizeof marks));
    for (int w = 0; w < WORLDS; ++w) {
        float all = 0, sum = 0;
        for (int i = 0; i < n; ++i) all += value_of(w, i, round);
        for (int i = 0; i < n; ++i) {
            assert_true(out[w][i] == sum);
            assert_int_equal(count[w][i], i / 2);
            assert_int_equal(marks[w][i], value_of(w, i, round) * (float)n < all);
            sum += 2 * value_of(w, i, round);
        }
    }
}

static void each_team_has_its_own(void **state)
{
    bench b;
    open_on(&b, open_faulty());
    static const int sizes[] = {ITEMS, 1, 5, ITEMS};
    for (int round = 0; round < 4; ++round) {
        fill(&b, round);
        OK(launch(&b, sizes[round] + round, sizes[round], sizes[round], sizes[round]));
        check(&b, round, sizes[round]);
    }
    close_bench(&b);
}

/* A GPU's block has as many teams as their memory allows: of four, three here (the doubles' blocks have 64 KiB). */
static void as_many_teams_as_fit(void **state)
{
    enum { REALS = 5000 };
    bench b;
    open_with(&b, open_faulty(), 8, 4);
    fill(&b, 1);
    OK(launch(&b, ITEMS, ITEMS, ITEMS, ITEMS));
    check(&b, 1, ITEMS);
    fill(&b, 2);
    OK(launch(&b, REALS, ITEMS, ITEMS, ITEMS));
    check(&b, 2, ITEMS);
    close_bench(&b);
}

/* On a GPU teams go on with further worlds where there is memory for fewer; a line of memory is enough for a team. */
static void in_the_callers_arrays(void **state)
{
    static const int rooms[] = {1, 3, 8, WORLDS + 2, 0};
    bench b;
    open_on(&b, open_faulty());
    for (int round = 0; round < 2 * (int)(sizeof rooms / sizeof *rooms); ++round) {
        enum { LINE = STI_ALIGN / sizeof(int) };
        int64_t room = rooms[round / 2], n = room ? room * LINE : 1;
        stet_array *reals, *lints, *ints;
        OK(STI_ARRAY(b.device, "reals", STET_DTYPE_REAL, false, &reals, n));
        OK(STI_ARRAY(b.device, "lints", STET_DTYPE_INT, false, &lints, n + LINE));
        OK(STI_ARRAY(b.device, "ints", STET_DTYPE_INT, false, &ints, n));
        fill(&b, round);
        if (round & 1) OK(stet_record_begin(b.device, "list"));
        for (int k = 0; k < 2; ++k)
            OK(STI_LAUNCH(*sti_user_kernel(b.kernel), b.device, WORLDS, sti_arg_array(b.x), sti_arg_team(reals, ITEMS),
                          sti_arg_team(lints, ITEMS), sti_arg_team(ints, ITEMS), sti_arg_array(b.out),
                          sti_arg_array(b.count), sti_arg_array(b.marks), sti_arg_int(ITEMS)));
        if (round & 1) OK(stet_record_end(b.device, STET_OK));
        check(&b, round, ITEMS);
        stet_array_destroy(reals);
        stet_array_destroy(lints);
        stet_array_destroy(ints);
    }
    close_bench(&b);
}

/* The launch is listed, recorded and replayed, with other content each time. */
static void in_recordings(void **state)
{
    bench b;
    open_on(&b, open_faulty());
    for (int round = 0; round < 5; ++round) {
        fill(&b, round);
        OK(stet_record_begin(b.device, "list"));
        OK(launch(&b, ITEMS, ITEMS, ITEMS, ITEMS));
        OK(launch(&b, 2 * ITEMS, ITEMS, ITEMS, ITEMS));
        OK(stet_record_end(b.device, STET_OK));
        check(&b, round, ITEMS);
    }
    close_bench(&b);
}

static void at_each_width_with_threads(void **state)
{
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) {
        if (!sti_isa_available((sti_isa)isa) || (sti_isa)isa == STI_ISA_f64) continue;
        bench b;
        open_on(&b, open_device(isa, 3));
        fill(&b, isa);
        OK(launch(&b, ITEMS, ITEMS, ITEMS, ITEMS));
        check(&b, isa, ITEMS);
        close_bench(&b);
    }
}

static void steady_launches_allocate_nothing(void **state)
{
    bench b;
    open_on(&b, open_device(STI_ISA_portable, 2));
    fill(&b, 1);
    OK(launch(&b, ITEMS, ITEMS, ITEMS, ITEMS));
    int64_t before = stet_get_memory_stats().allocations;
    for (int i = 0; i < 3; ++i) OK(launch(&b, ITEMS - i, ITEMS, ITEMS, ITEMS - i));
    assert_int_equal(stet_get_memory_stats().allocations, before);
    close_bench(&b);
}

/* Checked mode knows how much memory a team was given. */
static void too_little_is_found_in_checked_mode(void **state)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    bench b;
    def.checked = true;
    def.threads = 1;
    picked_device(&def);
    OK(stet_device_create(&def, &device));
    open_on(&b, device);
    fill(&b, 0);
    OK(launch(&b, ITEMS, ITEMS, ITEMS, ITEMS));
    check(&b, 0, ITEMS);
    FAILS(launch(&b, ITEMS, ITEMS, ITEMS - 1, ITEMS), STET_ERROR_FAULT,
          "`odd[i]` writes element 11 of `odd`, which has 11");
    close_bench(&b);
}

static void sizes_that_cannot_be(void **state)
{
    bench b;
    open_on(&b, open_faulty());
    FAILS(launch(&b, -1, 1, 1, 1), STET_ERROR_LIMIT, "parameter w: -1 elements of team memory; ask for 0 to 67108864");
    FAILS(launch(&b, 1, 1, (1 << 26) + 1, 1), STET_ERROR_LIMIT, "parameter odd: 67108865 elements of team memory");
    if (b.device->can.compiles) FAILS(launch(&b, 1 << 24, 1, 1, 1), STET_ERROR_LIMIT, "bytes of shared memory a block");
    const stet_arg array = stet_arg_array(b.x);
    const stet_arg args[] = {array, array, array, array, array, array, array, array};
    FAILS(stet_kernel_launch(b.kernel, WORLDS, args, 8), STET_ERROR_INVALID_ARGUMENT,
          "parameter w takes an integer, not an array");
    stet_kernel_param p;
    OK(stet_kernel_get_param(b.kernel, 1, &p));
    assert_string_equal(p.type, "treal");
    assert_int_equal(p.kind, STET_ARG_INT);
    assert_false(p.worlds);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_team_has_its_own),
        cmocka_unit_test(as_many_teams_as_fit),
        cmocka_unit_test(in_the_callers_arrays),
        cmocka_unit_test(in_recordings),
        cmocka_unit_test(at_each_width_with_threads),
        cmocka_unit_test(steady_launches_allocate_nothing),
        cmocka_unit_test(too_little_is_found_in_checked_mode),
        cmocka_unit_test(sizes_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
