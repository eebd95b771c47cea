/*
 * What of a recording is done world by world: which launches go together, that no bit changes, and what is counted. Run
 * on each device.
 */
#include "kernel/faulty.h"

#include "base/failing.h"
#include "kernel/record/record.h"
#include "kernel/user/user.h"
#include "bench/pilot/springs.h"

enum { WORLDS = 37, ITEMS = 5, KERNELS = 6, ARRAYS = 4 };

static const char *const source =
    "#include \"stet/lang.h\"\n"
    /* b[i] = a[i] * h + i */
    "world_kernel void k_scale(const real *a, real *b, ureal h, int n)\n"
    "{ each (i, n) put(b, i, fma(a[i], splat(h), splat((ureal)i))); }\n"
    /* Looks at what another thread of the team has written in the launch before. */
    "world_kernel void k_turn(const real *a, real *b, int n) { each (i, n) put(b, i, a[n - 1 - i]); }\n"
    /* Each world its own mark in a plain array … */
    "world_kernel void k_mark(real *a, int *p, int mark, int world)\n"
    "{\n"
    "    each (i, 1) {\n"
    "        put(a, i, a[i] + splat(1));\n"
    "        p[world] = mark;\n"
    "    }\n"
    "}\n"
    /* … and what the world beside it has marked. */
    "world_kernel void k_look(const int *p, real *b, int count, int world)\n"
    "{ each (i, 1) put(b, i, b[i] + splat((ureal)p[(world + STET_W) % count])); }\n"
    "world_kernel void k_own(int *p, real *b, int world)\n"
    "{\n"
    "    each (i, 1) {\n"
    "        p[world] = p[world] + 1;\n"
    "        put(b, i, b[i] + splat((ureal)p[world]));\n"
    "    }\n"
    "}\n"
    "item_kernel void k_item(ureal *q, int block) { each (i, 1) q[block] = q[block] + 1; }\n";

enum { SCALE, TURN, MARK, LOOK, OWN, ITEM };
static const char *const names[KERNELS] = {"k_scale", "k_turn", "k_mark", "k_look", "k_own", "k_item"};

typedef struct bench {
    stet_device *device;
    stet_array *a[ARRAYS]; /* [WORLDS][ITEMS] */
    stet_array *few;       /* [3][ITEMS] */
    stet_array *p;         /* plain, an int a world and more */
    stet_array *q;         /* plain reals */
    stet_kernel *own[KERNELS];
} bench;

static stet_array *new_array(bench *b, stet_dtype dtype, bool worlds, int64_t first, int64_t second)
{
    stet_array *a;
    OK(STI_ARRAY(b->device, "a", dtype, worlds, &a, first, second));
    return a;
}

static void fill(stet_array *a, float start)
{
    float x[WORLDS * ITEMS];
    for (int i = 0; i < WORLDS * ITEMS; ++i) x[i] = start + (float)i / 8;
    OK(stet_array_write(a, x, stet_array_get_bytes(a)));
}

static void open_bench(bench *b)
{
    memset(b, 0, sizeof *b);
    b->device = open_faulty();
    for (int i = 0; i < ARRAYS; ++i) {
        b->a[i] = new_array(b, STET_DTYPE_REAL, true, WORLDS, ITEMS);
        fill(b->a[i], (float)i);
    }
    b->few = new_array(b, STET_DTYPE_REAL, true, 3, ITEMS);
    b->p = new_array(b, STET_DTYPE_INT, false, WORLDS + 64, 1);
    b->q = new_array(b, STET_DTYPE_REAL, false, 4, 1);
    for (int k = 0; k < KERNELS; ++k) {
        stet_kernel_def def = stet_default_kernel_def();
        def.source = source;
        def.name = names[k];
        def.cache_folder = double_cache_folder();
        OK(stet_kernel_create(b->device, &def, &b->own[k]));
    }
}

static void close_bench(bench *b)
{
    for (int i = 0; i < ARRAYS; ++i) stet_array_destroy(b->a[i]);
    stet_array_destroy(b->few);
    stet_array_destroy(b->p);
    stet_array_destroy(b->q);
    for (int k = 0; k < KERNELS; ++k) stet_kernel_destroy(b->own[k]);
    stet_device_destroy(b->device);
}

#define RUN(b, kernel, count, ...) OK(STI_LAUNCH(*sti_user_kernel((b)->own[kernel]), (b)->device, count, __VA_ARGS__))

static void scale(bench *b, int from, int to, double h)
{
    RUN(b, SCALE, WORLDS, sti_arg_array(b->a[from]), sti_arg_array(b->a[to]), sti_arg_real(h), sti_arg_int(ITEMS));
}
static void turn(bench *b, int from, int to)
{
    RUN(b, TURN, WORLDS, sti_arg_array(b->a[from]), sti_arg_array(b->a[to]), sti_arg_int(ITEMS));
}
static void mark(bench *b, int number)
{
    RUN(b, MARK, WORLDS, sti_arg_array(b->a[3]), sti_arg_array(b->p), sti_arg_int(number));
}
static void look(bench *b, int to)
{
    RUN(b, LOOK, WORLDS, sti_arg_array(b->p), sti_arg_array(b->a[to]), sti_arg_int(WORLDS));
}
static void own(bench *b, int to) { RUN(b, OWN, WORLDS, sti_arg_array(b->p), sti_arg_array(b->a[to])); }
static void few(bench *b)
{
    RUN(b, SCALE, 3, sti_arg_array(b->few), sti_arg_array(b->few), sti_arg_real(2), sti_arg_int(ITEMS));
}
static void item(bench *b) { RUN(b, ITEM, 4, sti_arg_array(b->q)); }
static void copy(bench *b, int from, int to) { OK(sti_record_copy(b->a[to], b->a[from])); }

#define FUSION(b) (counters_of((b)->device).mechanism[STET_MECHANISM_FUSION])
#define CUTS(b) (counters_of((b)->device).reason[STET_REASON_FUSION_CUT])

/* ---- what goes together ------------------------------------------------------------------------------------------ */

/* Of a list that has been listed and not played: the ends of runs of more than one operation, as "first-end …". */
static void expect_runs(bench *b, void (*list)(bench *b), const char *want)
{
    char got[128] = "";
    sti_stretch run;
    OK(sti_record_begin(b->device, "runs"));
    list(b);
    const sti_list *l = sti_record_pending(b->device);
    for (int first = 0, end; first < l->nop; first = end) {
        end = sti_fuse_run_end(b->device, l, first, &run);
        size_t n = strlen(got);
        if (run.together) (void)snprintf(got + n, sizeof got - n, "%s%d-%d", n ? " " : "", first, end);
    }
    assert_int_equal(sti_record_end(b->device, STET_ERROR_LIMIT), STET_ERROR_LIMIT); /* never runs */
    assert_string_equal(got, want);
}

static void three(bench *b)
{
    scale(b, 0, 1, 2);
    turn(b, 1, 2);
    scale(b, 2, 0, 3);
}
static void with_copies(bench *b)
{
    copy(b, 0, 3);
    scale(b, 0, 1, 2);
    copy(b, 1, 2);
    turn(b, 2, 0);
    copy(b, 0, 1);
}
static void with_items(bench *b)
{
    three(b);
    item(b);
    three(b);
}
static void others(bench *b)
{
    three(b);
    few(b);
    few(b);
}
static void marks(bench *b)
{
    scale(b, 0, 1, 2);
    mark(b, 7);
    look(b, 1); /* looks at what other worlds marked */
    scale(b, 1, 2, 2);
}
static void looks(bench *b)
{
    look(b, 0); /* nobody writes it */
    look(b, 1);
}
static void own_marks(bench *b)
{
    own(b, 0);
    own(b, 1);
}
static void loop(bench *b)
{
    scale(b, 0, 1, 2);
    OK(sti_record_while(b->device, b->p, 2));
    scale(b, 1, 2, 2);
    turn(b, 2, 3);
    OK(sti_record_while_end(b->device));
    scale(b, 3, 1, 2);
}

static void runs_are_found(void **state)
{
    bench b;
    open_bench(&b);
    expect_runs(&b, three, "0-3");
    expect_runs(&b, with_copies, "0-4"); /* a copy at the end is better off by itself */
    expect_runs(&b, with_items, "0-3 4-7");
    expect_runs(&b, others, "0-3 3-5");
    bool gpu = b.device->can.compiles; /* there launches that wait for nobody stay side by side */
    expect_runs(&b, marks, gpu ? "2-4" : "0-2 2-4");
    expect_runs(&b, looks, gpu ? "" : "0-2");
    expect_runs(&b, own_marks, "");
    b.p->by_world = true;
    expect_runs(&b, own_marks, "0-2");
    expect_runs(&b, loop, "2-4");
    close_bench(&b);
}

static void one_launch(bench *b) { scale(b, 0, 1, 2); }
static void a_view(bench *b)
{
    stet_array *had = b->a[1];
    static stet_array view; /* outlives the list; the same memory, shared out among fewer items */
    view = *b->a[0];
    view.nitem = 1;
    view.size = view.size / ITEMS;
    b->a[1] = &view;
    scale(b, 2, 0, 2);
    RUN(b, SCALE, WORLDS, sti_arg_array(&view), sti_arg_array(b->a[3]), sti_arg_real(1), sti_arg_int(1));
    b->a[1] = had;
}

static void memory_counts_and_not_names(void **state)
{
    bench b;
    open_bench(&b);
    expect_runs(&b, one_launch, "");
    expect_runs(&b, a_view, "");
    close_bench(&b);
}

static void expect_period(bench *b, void (*list)(bench *b), int first, int unit, int times)
{
    int got_unit, got_times;
    OK(sti_record_begin(b->device, "periods"));
    list(b);
    const sti_list *l = sti_record_pending(b->device);
    sti_fuse_period(l, first, l->nop, &got_unit, &got_times);
    assert_int_equal(sti_record_end(b->device, STET_ERROR_LIMIT), STET_ERROR_LIMIT);
    assert_int_equal(got_unit, unit);
    assert_int_equal(got_times, times);
}

static void four_times_three(bench *b)
{
    for (int i = 0; i < 4; ++i) three(b);
}
static void head_and_tail(bench *b)
{
    turn(b, 0, 1);
    turn(b, 1, 2);
    four_times_three(b);
    scale(b, 0, 1, 1);
}

static void sequences_that_come_again_are_found(void **state)
{
    bench b;
    open_bench(&b);
    expect_period(&b, three, 0, 3, 1);
    expect_period(&b, four_times_three, 0, 3, 4);
    expect_period(&b, head_and_tail, 0, 2, 1);
    expect_period(&b, head_and_tail, 2, 3, 4);
    expect_period(&b, head_and_tail, 14, 1, 1);
    close_bench(&b);
}

/* ---- bits and counters ------------------------------------------------------------------------------------------- */

static void play(bench *b, void (*list)(bench *b))
{
    OK(sti_record_begin(b->device, "a list"));
    list(b);
    OK(sti_record_end(b->device, STET_OK));
}

static uint64_t hash_of(bench *b)
{
    uint64_t hash = 0, one;
    for (int i = 0; i < ARRAYS; ++i) {
        OK(stet_array_hash(b->a[i], &one));
        hash = hash * 31 + one;
    }
    OK(stet_array_hash(b->p, &one));
    return hash * 31 + one;
}

static uint64_t played(void (*list)(bench *b), uint32_t off, int times)
{
    bench b;
    open_bench(&b);
    stet_mechanism_options options = b.device->mechanisms.options;
    options.disabled |= off;
    OK(stet_device_set_mechanisms(b.device, &options));
    for (int i = 0; i < times; ++i) play(&b, list);
    uint64_t hash = hash_of(&b);
    close_bench(&b);
    return hash;
}

static void no_bit_changes(void **state)
{
    static void (*const lists[])(bench *) = {three, with_copies, with_items,       others,
                                             marks, looks,       four_times_three, head_and_tail};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
        uint64_t want = played(lists[i], 1u << STET_MECHANISM_GRAPH_REPLAY, 5);
        assert_int_equal(played(lists[i], 0, 5), want);
        assert_int_equal(played(lists[i], 1u << STET_MECHANISM_FUSION, 5), want);
    }
}

static void a_replay_is_counted(void **state)
{
    bench b;
    open_bench(&b);
    play(&b, three);
    assert_int_equal(FUSION(&b).misses, 0); /* the first play notes the list */
    play(&b, three);
    assert_int_equal(FUSION(&b).misses, 1);
    assert_int_equal(counters_of(b.device).reason[STET_REASON_FUSION_PLANNED], 1);
    assert_int_equal(FUSION(&b).hits, 0); /* what is compared is done again */
    stet_device_clear_counters(b.device);
    play(&b, three);
    assert_int_equal(FUSION(&b).hits, 1);
    assert_int_equal(FUSION(&b).saved_launches, 2);
    assert_int_equal(FUSION(&b).misses, 0);
    assert_int_equal(counters_of(b.device).launches, 3); /* they were done, together */
    assert_int_equal(counters_of(b.device).mechanism[STET_MECHANISM_GRAPH_REPLAY].hits, 1);
    close_bench(&b);
}

static void what_cannot_go_together_is_counted(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 3; ++i) play(&b, marks);
    assert_int_equal(CUTS(&b), 1);
    assert_int_equal(FUSION(&b).hits, b.device->can.compiles ? 1 : 2);
    close_bench(&b);
}

static void arguments_reach_it(void **state)
{
    bench b;
    float first[WORLDS * ITEMS], x[WORLDS * ITEMS];
    open_bench(&b);
    OK(stet_array_read(b.a[0], first, sizeof first));
    for (int k = 1; k < 6; ++k) {
        OK(sti_record_begin(b.device, "numbers"));
        scale(&b, 0, 1, k);
        scale(&b, 1, 2, 0.5);
        OK(sti_record_end(b.device, STET_OK));
        OK(stet_array_read(b.a[2], x, sizeof x));
        for (int i = 0; i < WORLDS * ITEMS; ++i)
            assert_float_equal(x[i], (first[i] * (float)k + (float)(i % ITEMS)) * 0.5F + (float)(i % ITEMS), 1e-4);
    }
    assert_int_equal(FUSION(&b).hits, 3);
    close_bench(&b);
}

static void a_switch_makes_another_plan(void **state)
{
    bench b;
    open_bench(&b);
    stet_mechanism_options options = b.device->mechanisms.options, without = options;
    without.disabled |= 1u << STET_MECHANISM_FUSION;
    for (int i = 0; i < 3; ++i) play(&b, three);
    assert_int_equal(FUSION(&b).hits, 1);
    OK(stet_device_set_mechanisms(b.device, &without));
    for (int i = 0; i < 3; ++i) play(&b, three);
    assert_int_equal(FUSION(&b).hits, 1);
    assert_int_equal(counters_of(b.device).reason[STET_REASON_FUSION_DISABLED], 1);
    assert_int_equal(counters_of(b.device).reason[STET_REASON_GRAPH_REPLAY_COMPARED], 2); /* trusted anew */
    OK(stet_device_set_mechanisms(b.device, &options));
    for (int i = 0; i < 3; ++i) play(&b, three);
    assert_int_equal(FUSION(&b).hits, 3);
    close_bench(&b);
}

static void an_audit_compares(void **state)
{
    bench b;
    open_bench(&b);
    stet_mechanism_options options = b.device->mechanisms.options;
    options.audit = true;
    OK(stet_device_set_mechanisms(b.device, &options));
    for (int i = 0; i < 4; ++i) play(&b, with_copies);
    assert_int_equal(counters_of(b.device).mechanism[STET_MECHANISM_GRAPH_REPLAY].hits, 2);
    close_bench(&b);
}

/* Springs in three recorded steps, on a CPU; what they come to, if memory allows it. */
static uint64_t springs_hash;
static stet_result some_steps(void)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device = NULL;
    sti_springs s = {0};
    def.type = STET_DEVICE_CPU;
    def.isa = "portable";
    def.threads = 1;
    stet_result result = stet_device_create(&def, &device);
    if (result == STET_OK) result = sti_springs_create(device, 9, &s);
    for (int i = 0; i < 3 && result == STET_OK; ++i) result = sti_springs_step(&s, true);
    if (result == STET_OK) result = sti_springs_hash(&s, &springs_hash);
    sti_springs_destroy(&s);
    stet_device_destroy(device);
    return result;
}

static void memory_that_runs_out_loses_nothing(void **state)
{
    assert_int_equal(some_steps(), STET_OK);
    const uint64_t want = springs_hash;
    springs_hash = 0;
    assert_true(fail_each_allocation(some_steps, true) > 20);
    assert_int_equal(springs_hash, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_found),
        cmocka_unit_test(memory_counts_and_not_names),
        cmocka_unit_test(sequences_that_come_again_are_found),
        cmocka_unit_test(no_bit_changes),
        cmocka_unit_test(a_replay_is_counted),
        cmocka_unit_test(what_cannot_go_together_is_counted),
        cmocka_unit_test(arguments_reach_it),
        cmocka_unit_test(a_switch_makes_another_plan),
        cmocka_unit_test(an_audit_compares),
        cmocka_unit_test(memory_that_runs_out_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
