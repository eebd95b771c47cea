/*
 * Random lists, with loops, copies, changing numbers, arrays that come and go, switches and audits, against a model of
 * what the arrays hold and how often they were written. Run on each device (stet_test_on_devices).
 */
#include "kernel/lists.h"

#include "base/dice.h"

enum { PROGRAMS = 8, STEPS = 12 };

typedef enum what { ADD, MIX, COPY, LOOP, CLOSE, WHATS } what;

typedef struct step {
    what what;
    int x, y;
} step;

typedef struct program {
    step step[STEPS];
    int nstep;
    uint64_t recording;
} program;

/* What the arrays should hold, and how often they were written. */
typedef struct model {
    float a[ARRAYS][N];
    int32_t c[2];
    uint64_t generation[ARRAYS];
} model;

/*
 * A loop is LOOP, counting c[x] down from 3, …, CLOSE; the two loops that are open at the same time have conditions of
 * their own.
 */
static program random_program(uint64_t *dice)
{
    program p = {0};
    int open = 0;
    while (p.nstep < STEPS - open) {
        what w = (what)dice_below(dice, WHATS);
        if ((w == CLOSE && open == 0) || (w == LOOP && (open == 2 || p.nstep + open + 2 > STEPS))) continue;
        p.step[p.nstep++] = (step){w, (int)dice_below(dice, ARRAYS), (int)dice_below(dice, ARRAYS)};
        open += w == LOOP ? 1 : w == CLOSE ? -1 : 0;
    }
    for (; open > 0; --open) p.step[p.nstep++].what = CLOSE;
    return p;
}

/* Returns the step after the one that closes what was open. */
static int expect(model *m, const program *p, int at, int open, double h, int n)
{
    for (; at < p->nstep; ++at) {
        const step *s = &p->step[at];
        if (s->what == CLOSE) return at + 1;
        if (s->what == LOOP) {
            int next = at;
            m->c[open] = 3;
            while (m->c[open]) {
                m->c[open]--;
                next = expect(m, p, at + 1, open + 1, h, n);
            }
            at = next - 1;
            continue;
        }
        m->generation[s->x]++;
        for (int k = 0; k < (s->what == COPY ? N : n); ++k)
            m->a[s->x][k] = s->what == ADD   ? m->a[s->x][k] + (float)(h + s->y)
                            : s->what == MIX ? m->a[s->y][k] / 2 + (float)h
                                             : m->a[s->y][k];
    }
    return at;
}

static stet_result issue(bench *b, const program *p, double h, int n)
{
    int open = 0;
    for (int at = 0; at < p->nstep; ++at) {
        const step *s = &p->step[at];
        stet_array *x = b->a[s->x], *y = b->a[s->y];
        switch (s->what) {
        case ADD: STI_TRY(STI_LAUNCH(*b->add, b->device, n, sti_arg_array(x), sti_arg_real(h + s->y))); break;
        case MIX:
            STI_TRY(STI_LAUNCH(*b->mix, b->device, n, sti_arg_array(y), sti_arg_array(x), sti_arg_real(h)));
            break;
        case COPY: STI_TRY(sti_record_copy(x, y)); break;
        case LOOP:
            STI_TRY(set(b, b->c[open], 3));
            STI_TRY(sti_record_while(b->device, b->c[open], 10));
            STI_TRY(count(b, b->c[open++]));
            break;
        default: open--; STI_TRY(sti_record_while_end(b->device));
        }
    }
    return STET_OK;
}

static bool is_recorded(const bench *b, uint64_t id)
{
    for (int k = 0; k < b->device->recorder->nrecording; ++k)
        if (b->device->recorder->recording[k]->id == id) return true;
    return false;
}

static void check_model(const bench *b, const model *m)
{
    for (int i = 0; i < ARRAYS; ++i) {
        float now[N];
        peek(now, b->device, b->a[i]->data, sizeof now);
        assert_memory_equal(now, m->a[i], sizeof now);
        assert_int_equal(stet_array_get_generation(b->a[i]), m->generation[i]);
    }
}

static void replace_array(bench *b, model *m, int i)
{
    stet_array_destroy(b->a[i]);
    b->a[i] = new_reals(b->device);
    memset(m->a[i], 0, sizeof m->a[i]);
    m->generation[i] = 1;
}

/* Programs that come back, in random order, with random numbers, and what they have left. */
typedef struct world {
    uint64_t before[ARRAYS]; /* the model's generations before the latest play */
    bench b;
    program p[PROGRAMS];
    model m;
} world;

static void open_world(world *w, uint64_t *dice)
{
    *w = (world){0};
    open_bench(&w->b);
    for (int i = 0; i < PROGRAMS; ++i) w->p[i] = random_program(dice);
    for (int i = 0; i < ARRAYS; ++i) w->m.generation[i] = 1;
    OK(sti_record_begin(w->b.device, "makes the recorder"));
    OK(sti_record_end(w->b.device, STET_OK));
    w->b.device->recorder->most = 3 + (int)dice_below(dice, 8);
}

/* Something in its recording is going to fail, which changes nothing. */
static void spoil(const world *w, const program *now, uint64_t *dice)
{
    if (!is_recorded(&w->b, now->recording) || dice_below(dice, 10)) return;
    if (!graphs(&w->b)) {
        faulty.fail_launch = 1 + (int)dice_below(dice, 3);
        return;
    }
    int *const which[] = {&faulty.fail_graph, &faulty.fail_make, &faulty.fail_set};
    *which[dice_below(dice, 3)] = 1;
}

/* One play of one program; `spoils`: something else than the play's own launches may fail. */
static stet_result play_one(world *w, uint64_t *dice, bool spoils)
{
    program *now = &w->p[dice_below(dice, PROGRAMS)];
    double h = (double)dice_below(dice, 3) / 4;
    int n = 1 + (int)dice_below(dice, N);
    uint32_t off = dice_below(dice, 10) == 0 ? 1u << STET_MECHANISM_GRAPH_REPLAY : 0;
    if (dice_below(dice, 10) == 0) off |= 1u << STET_MECHANISM_ARGS;
    set_options(w->b.device, off, false, dice_below(dice, 6) == 0);
    if (spoils && !(off >> STET_MECHANISM_GRAPH_REPLAY & 1)) spoil(w, now, dice);
    OK(sti_record_begin(w->b.device, "random"));
    stet_result result = sti_record_end(w->b.device, issue(&w->b, now, h, n));
    faulty.fail_launch = faulty.fail_graph = faulty.fail_make = faulty.fail_set = 0;
    now->recording = sti_record_last(w->b.device);
    memcpy(w->before, w->m.generation, sizeof w->before);
    (void)expect(&w->m, now, 0, 0, h, n);
    return result;
}

/* Where the device ends loops, generations move less often than the model's; they move. */
static void check_world(world *w)
{
    for (int i = 0; device_loops(&w->b) && i < ARRAYS; ++i) {
        uint64_t now = stet_array_get_generation(w->b.a[i]);
        assert_true(now <= w->m.generation[i] && (now > w->before[i]) == (w->m.generation[i] > w->before[i]));
        w->m.generation[i] = now;
    }
    check_model(&w->b, &w->m);
}

static void random_lists_replayed_are_random_lists_run(void **state)
{
    uint64_t dice = dice_seed("random_lists_replayed_are_random_lists_run");
    for (int round = 0; round < (picked_any() ? 6 : 20); ++round) {
        world w;
        open_world(&w, &dice);
        for (int play = 0; play < 150; ++play) {
            if (dice_below(&dice, 30) == 0) replace_array(&w.b, &w.m, (int)dice_below(&dice, ARRAYS));
            OK(play_one(&w, &dice, true));
            check_world(&w);
        }
        assert_true(ROW(&w.b).hits > 0);
        assert_int_equal(REASON(&w.b, DIFFERED), 0);
        close_bench(&w.b);
    }
}

/* Any call of the driver may fail: a play tells of it, or what it did is right. Afterwards all is as ever. */
static void random_lists_over_a_driver_that_fails(void **state)
{
    static const char *const calls[] = {"launch",
                                        "graph_launch",
                                        "graph_create",
                                        "graph_add_kernel",
                                        "graph_add_copy",
                                        "graph_add_node",
                                        "graph_instantiate",
                                        "copy_async",
                                        "copy_to_host_async",
                                        "graph_exec_set_kernel",
                                        "stream_synchronize",
                                        "copy_to_device_async",
                                        "alloc",
                                        "event_record",
                                        NULL};
    if (!picked_double) skip();
    uint64_t dice = dice_seed("random_lists_over_a_driver_that_fails");
    int failed = 0;
    for (int round = 0; round < 4; ++round) {
        world w;
        open_world(&w, &dice);
        for (int play = 0; play < 150; ++play) {
            const char *call = calls[dice_below(&dice, sizeof calls / sizeof *calls)];
            bool fail = dice_below(&dice, 3) == 0;
            if (fail)
                picked_double->fail_call(call, 1 + (int64_t)dice_below(&dice, 6), 1 + (int)dice_below(&dice, 2), false);
            stet_result result = play_one(&w, &dice, false);
            picked_double->fail_call(call, 0, 0, false);
            if (result != STET_OK)
                for (int i = 0; i < ARRAYS; ++i) replace_array(&w.b, &w.m, i);
            if (result != STET_OK) memcpy(w.before, w.m.generation, sizeof w.before);
            assert_true(result == STET_OK || fail);
            failed += result != STET_OK;
            check_world(&w);
        }
        assert_int_equal(REASON(&w.b, DIFFERED), 0);
        close_bench(&w.b);
    }
    assert_true(failed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lists_replayed_are_random_lists_run),
        cmocka_unit_test(random_lists_over_a_driver_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
