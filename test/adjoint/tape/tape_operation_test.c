/*
 * Operations of the library on a tape: several launches that are one thing with an adjoint of its own, which reads what
 * they left. Here two kernels stand in for the library's: r = x u, x = x + r r.
 */
#include "device/devices.h"

#include "kernel/user_rig.h"

#include "kernel/record/launch_observer.h"
#include "kernel/record/record.h"
#include "stet/adjoint.h"

#include <math.h>
#include <string.h>

enum { WORLDS = 5, ITEMS = 3, STEPS = 20 };

static const char source[] =
    "#include \"stet/lang.h\"\n"
    "world_kernel void k_first(const real *x, const real *u, real *r, int n) { each (i, n) put(r, i, x[i] * u[i]); }\n"
    "world_kernel void k_second(real *x, const real *r, int n) { each (i, n) put(x, i, x[i] + r[i] * r[i]); }\n"
    "world_kernel void k_back(const real *x, const real *u, const real *r, real *x_of, real *u_of, int n)\n"
    "{ each (i, n) { real g = splat(2) * r[i] * x_of[i];\n"
    "    put(u_of, i, u_of[i] + g * x[i]); put(x_of, i, x_of[i] + g * u[i]); } }\n"
    "world_kernel void k_policy(const real *x, real *u, int n) { each (i, n) put(u, i, splat(0.5f) - x[i] * x[i]); }\n"
    "world_kernel void k_take(const real *r, real *y, int n) { each (i, n) put(y, i, r[i]); }\n";

typedef enum kernel { FIRST, SECOND, BACK, POLICY, TAKE, KERNELS } kernel;

typedef struct standin {
    stet_device *device;
    stet_kernel *kernel[KERNELS];
    stet_array *x, *u, *r, *y;
    stet_tape *tape;
    sti_operation operation;
    bool refused; /* the operation says that it has no adjoint */
    int runs;     /* how often it was done, again or not */
} standin;

static const sti_operand operands[] = {
    {"x", STI_OPERAND_READ | STI_OPERAND_WRITTEN | STI_OPERAND_GRADED, true, false},
    {"u", STI_OPERAND_READ | STI_OPERAND_GRADED, true, false},
    {"r", STI_OPERAND_WRITTEN | STI_OPERAND_RESULT, true, false},
    {"n", 0, false, true},
};
enum { OPERANDS = sizeof operands / sizeof *operands };

#define LAUNCH(k, ...)                                                                                                 \
    stet_kernel_launch(s->kernel[k], WORLDS, (const stet_arg[]){__VA_ARGS__},                                          \
                       (int)(sizeof((const stet_arg[]){__VA_ARGS__}) / sizeof(stet_arg)))
#define A stet_arg_array
#define N stet_arg_int(ITEMS)

/* ---- the operation ----------------------------------------------------------------------------------------------- */

static stet_result check(const sti_operation *operation)
{
    const standin *s = operation->owner;
    return s->refused ? sti_error(STET_ERROR_UNSUPPORTED, "the stand-in is not smooth") : STET_OK;
}

static stet_result prepare(const sti_operation *operation)
{
    (void)operation;
    return STET_OK;
}

static stet_result again(const sti_operation *operation, const sti_arg *args)
{
    standin *s = operation->owner;
    assert_true(args[0].array == s->x && args[3].i == ITEMS);
    s->runs++;
    STI_TRY(LAUNCH(FIRST, A(s->x), A(s->u), A(s->r), N));
    return LAUNCH(SECOND, A(s->x), A(s->r), N);
}

static stet_result back(const sti_operation *operation, const sti_arg *args, stet_array *const *results,
                        stet_array *const *gradients)
{
    const standin *s = operation->owner;
    assert_true(!results[0] && !results[1] && results[2] && !gradients[2] && !gradients[3]);
    return LAUNCH(BACK, A(args[0].array), A(args[1].array), A(results[2]), A(gradients[0]), A(gradients[1]), N);
}

static stet_result operate(standin *s)
{
    const sti_arg args[OPERANDS] = {sti_arg_array(s->x), sti_arg_array(s->u), sti_arg_array(s->r), sti_arg_int(ITEMS)};
    sti_operation_begin(s->device, &s->operation, args);
    return sti_operation_end(s->device, &s->operation, again(&s->operation, args));
}

/* ---- the rig ----------------------------------------------------------------------------------------------------- */

static void write_all(stet_array *a, const double *values)
{
    void *mirror;
    OK(sti_array_mirror_write(a, &mirror));
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < ITEMS; ++i) sti_mirror_set(a, mirror, w, i, values[ITEMS * w + i]);
    sti_array_mirror_written(a);
}

static double value(stet_array *a, int w, int i)
{
    void *mirror;
    OK(sti_array_mirror_read(a, &mirror));
    return sti_mirror_get(a, mirror, w, i);
}

static double first_of(int w, int i) { return 0.125 * (w + 1) - 0.0625 * i; }

static void fill(standin *s)
{
    double x[WORLDS * ITEMS];
    for (int k = 0; k < WORLDS * ITEMS; ++k) x[k] = first_of(k / ITEMS, k % ITEMS);
    write_all(s->x, x);
}

static void open_standin_in(standin *s, stet_device *device, int64_t every, int64_t memory)
{
    static const char *const names[KERNELS] = {"k_first", "k_second", "k_back", "k_policy", "k_take"};
    memset(s, 0, sizeof *s);
    s->device = device;
    for (int i = 0; i < KERNELS; ++i) {
        stet_kernel_def def = kernel_def(source);
        def.name = names[i];
        s->kernel[i] = make_kernel(device, &def);
    }
    stet_array **all[] = {&s->x, &s->u, &s->r, &s->y};
    static const char *const arrays[] = {"x", "u", "r", "y"};
    for (int i = 0; i < 4; ++i) OK(STI_ARRAY(device, arrays[i], STET_DTYPE_REAL, true, all[i], WORLDS, ITEMS));
    fill(s);
    stet_tape_def def = stet_default_tape_def();
    def.every = every;
    def.memory = memory;
    OK(stet_tape_create(device, &def, &s->tape));
    s->operation = (sti_operation){.name = "the stand-in",
                                   .owner = s,
                                   .operand = operands,
                                   .noperand = OPERANDS,
                                   .count = WORLDS,
                                   .most = 2,
                                   .check = check,
                                   .prepare = prepare,
                                   .again = again,
                                   .back = back};
}

static void open_standin(standin *s, stet_device *device, int64_t every)
{
    open_standin_in(s, device, every, stet_default_tape_def().memory);
}

static void close_standin(standin *s)
{
    stet_tape_destroy(s->tape);
    for (int i = 0; i < KERNELS; ++i) stet_kernel_destroy(s->kernel[i]);
    stet_array *all[] = {s->x, s->u, s->r, s->y};
    for (int i = 0; i < 4; ++i) stet_array_destroy(all[i]);
}

/* u = 0.5 - x x, then the operation, n times. */
static stet_result run(standin *s, int n, bool listed)
{
    for (int k = 0; k < n; ++k) {
        STI_TRY(stet_tape_step(s->tape));
        if (listed) STI_TRY(stet_record_begin(s->device, "a step"));
        stet_result result = LAUNCH(POLICY, A(s->x), A(s->u), N);
        if (result == STET_OK) result = operate(s);
        STI_TRY(listed ? stet_record_end(s->device, result) : result);
    }
    return STET_OK;
}

static stet_array *gradient_of(const standin *s, stet_array *a)
{
    stet_array *gradient;
    OK(stet_tape_get_gradient(s->tape, a, &gradient));
    return gradient;
}

static void seed(const standin *s)
{
    double ones[WORLDS * ITEMS];
    for (int k = 0; k < WORLDS * ITEMS; ++k) ones[k] = 1;
    OK(stet_tape_zero(s->tape));
    write_all(gradient_of(s, s->x), ones);
}

static uint64_t hash(const stet_array *a)
{
    uint64_t h;
    OK(stet_array_hash(a, &h));
    return h;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* dx'/dx by hand, in double. */
static double slope_of(double x, int n)
{
    double slope = 1;
    for (int k = 0; k < n; ++k) {
        double u = 0.5 - x * x, r = x * u;
        slope *= 1 + 2 * r * (u - 2 * x * x);
        x += r * r;
    }
    return slope;
}

static void gradients_are_those_of_the_operation(void **state)
{
    uint64_t wanted = 0;
    /* all steps but the last one of each segment are done again; every 4 steps where there is no memory */
    static const struct {
        int64_t every, memory;
        int again;
    } ways[] = {{0, 1 << 20, 0}, {0, 0, 15}, {1, 0, 0}, {7, 0, 17}, {100, 0, 19}};
    FOR_RUNNING_DEVICES(rig)
    {
        for (int k = 0; k < 5; ++k) {
            standin s;
            open_standin_in(&s, rig.device, ways[k].every, ways[k].memory);
            OK(stet_tape_begin(s.tape));
            OK(stet_tape_end(s.tape, run(&s, STEPS, k % 2)));
            uint64_t left = hash(s.x), results = hash(s.r);
            for (int pass = 0; pass < 2; ++pass) {
                int before = s.runs;
                seed(&s);
                OK(stet_tape_backward(s.tape));
                assert_int_equal(s.runs - before, ways[k].again);
                uint64_t found = hash(gradient_of(&s, s.x));
                if (!wanted) wanted = found;
                if (found != wanted) fail_msg("%s, every %d: other gradients", rig.name, (int)ways[k].every);
                assert_true(hash(s.x) == left && hash(s.r) == results);
            }
            for (int w = 0; w < WORLDS; ++w)
                for (int i = 0; i < ITEMS; ++i)
                    assert_true(fabs(value(gradient_of(&s, s.x), w, i) - slope_of(first_of(w, i), STEPS)) < 2e-5);
            assert_int_equal(stet_tape_get_info(s.tape).launches, 2 * STEPS);
            close_standin(&s);
        }
    }
}

/* What it left is no longer there to be seen: it is done again. */
static void a_result_that_was_overwritten_is_made_again(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        standin open, *s = &open;
        double zeros[WORLDS * ITEMS] = {0};
        uint64_t wanted = 0;
        open_standin(s, rig.device, 0);
        for (int way = 0; way < 3; ++way) { /* left alone; overwritten behind the tape; between its last two steps */
            fill(s);
            OK(stet_tape_begin(s->tape));
            stet_result result = run(s, STEPS, false);
            if (way == 2) write_all(s->r, zeros);
            if (way != 1) OK(stet_tape_step(s->tape));
            if (way != 1 && result == STET_OK) result = LAUNCH(POLICY, A(s->x), A(s->u), N);
            OK(stet_tape_end(s->tape, result));
            if (way == 1) write_all(s->r, zeros);
            int before = s->runs;
            seed(s);
            OK(stet_tape_backward(s->tape));
            assert_int_equal(s->runs - before, way > 0);
            uint64_t found = hash(gradient_of(s, s->x));
            if (!wanted) wanted = found;
            assert_true(found == wanted);
        }
        close_standin(s);
    }
}

/* Operations of one step are steps of their own, so that they have checkpoints. */
static void an_operation_that_comes_again_begins_a_step(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        standin open, *s = &open;
        open_standin(s, rig.device, 0);
        OK(stet_tape_begin(s->tape));
        for (int k = 0; k < STEPS; ++k) {
            if (k % 5 == 0) OK(stet_tape_step(s->tape));
            OK(operate(s));
        }
        OK(stet_tape_end(s->tape, STET_OK));
        assert_int_equal(stet_tape_get_info(s->tape).steps, STEPS);
        assert_int_equal(stet_tape_get_info(s->tape).checkpoints, STEPS);
        seed(s);
        OK(stet_tape_backward(s->tape));
        assert_int_equal(s->runs, STEPS);
        close_standin(s);
    }
}

static void a_second_pass_is_a_replay(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    standin s;
    open_standin(&s, device, 5);
    OK(stet_tape_begin(s.tape));
    OK(stet_tape_end(s.tape, run(&s, STEPS, false)));
    seed(&s);
    OK(stet_tape_backward(s.tape));
    seed(&s);
    const stet_counters before = stet_device_get_counters(device);
    OK(stet_tape_backward(s.tape));
    const stet_counters after = stet_device_get_counters(device);
    assert_int_equal(after.mechanism[STET_MECHANISM_GRAPH_REPLAY].misses,
                     before.mechanism[STET_MECHANISM_GRAPH_REPLAY].misses);
    assert_int_equal(after.mechanism[STET_MECHANISM_GRAPH_REPLAY].hits,
                     before.mechanism[STET_MECHANISM_GRAPH_REPLAY].hits + STEPS / 5);
    close_standin(&s);
    stet_device_destroy(device);
}

static void what_has_no_derivative_is_refused(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    standin open, *s = &open;
    open_standin(s, device, 0);

    OK(stet_tape_begin(s->tape)); /* r has none */
    OK(run(s, 1, false));
    OK(LAUNCH(TAKE, A(s->r), A(s->y), N));
    FAILS(stet_tape_end(s->tape, STET_OK), STET_ERROR_UNSUPPORTED,
          "k_take reads array r, which the stand-in without an adjoint wrote: there is no derivative of it");

    OK(stet_tape_begin(s->tape));
    OK(stet_tape_end(s->tape, run(s, 2, false)));
    (void)gradient_of(s, s->r);
    FAILS(stet_tape_backward(s->tape), STET_ERROR_UNSUPPORTED,
          "array r has a gradient, and the stand-in wrote it, which has no adjoint");

    s->refused = true;
    OK(stet_tape_begin(s->tape));
    FAILS(stet_tape_end(s->tape, run(s, 2, false)), STET_ERROR_UNSUPPORTED,
          "k_policy reads array x, which the stand-in without an adjoint wrote: the stand-in is not smooth");
    close_standin(s);
    stet_device_destroy(device);
}

/* As an operation's, an adjoint that a source brings: r = x u, y = y + r r, again and again over the same r. */
static const char own_source[] =
    "#include \"stet/lang.h\"\n"
    "world_kernel void k_own(const real *x, real *r, int n) { each (i, n) put(r, i, x[i] * x[i]); }\n"
    "world_kernel void k_own_adj(const real *x, real *x_of, const real *r, real *r_of, const real *r_after, int n)\n"
    "{ (void)r; each (i, n) { real s = select(lt(x[i], splat(0)), -sqrt(r_after[i]), sqrt(r_after[i]));\n"
    "    put(x_of, i, x_of[i] + splat(2) * s * r_of[i]); put(r_of, i, splat(0)); } }\n"
    "world_kernel void k_add(const real *r, real *x, int n) { each (i, n) put(x, i, x[i] + r[i]); }\n";

static void a_kernels_own_adjoint_reads_results(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        standin open, *s = &open;
        stet_kernel *own[2];
        static const char *const names[] = {"k_own", "k_add"};
        open_standin(s, rig.device, 3);
        for (int i = 0; i < 2; ++i) {
            stet_kernel_def def = kernel_def(own_source);
            def.name = names[i];
            own[i] = make_kernel(rig.device, &def);
        }
        OK(stet_tape_begin(s->tape));
        for (int k = 0; k < STEPS / 2; ++k) {
            const stet_arg root[] = {A(s->x), A(s->r), N}, add[] = {A(s->r), A(s->x), N};
            OK(stet_tape_step(s->tape));
            OK(stet_kernel_launch(own[0], WORLDS, root, 3));
            OK(stet_kernel_launch(own[1], WORLDS, add, 3));
        }
        OK(stet_tape_end(s->tape, STET_OK));
        for (int pass = 0; pass < 2; ++pass) {
            seed(s);
            OK(stet_tape_backward(s->tape));
            for (int w = 0; w < WORLDS; ++w)
                for (int i = 0; i < ITEMS; ++i) {
                    double x = first_of(w, i), slope = 1;
                    for (int k = 0; k < STEPS / 2 && x < 1e6; ++k) {
                        slope *= 1 + 2 * x;
                        x += x * x;
                    }
                    if (x < 1e6)
                        assert_true(fabs(value(gradient_of(s, s->x), w, i) - slope) < 1e-4 * (1 + fabs(slope)));
                }
        }
        stet_adjoint *adjoint;
        OK(stet_kernel_get_adjoint(own[0], &adjoint));
        const stet_arg args[] = {A(s->x), A(s->r), N};
        stet_array *gradients[] = {gradient_of(s, s->x), gradient_of(s, s->r), NULL};
        FAILS(stet_adjoint_launch(adjoint, WORLDS, args, gradients, 3), STET_ERROR_UNSUPPORTED,
              "kernel k_own_adj: reads what the kernel left in r, which a tape knows");
        for (int i = 0; i < 2; ++i) stet_kernel_destroy(own[i]);
        close_standin(s);
    }
}

static void an_operation_that_is_gone_is_said(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    standin s;
    open_standin(&s, device, 0);
    OK(stet_tape_begin(s.tape));
    OK(stet_tape_end(s.tape, run(&s, 2, false)));
    seed(&s);
    sti_device_notify_destroyed(device, &s.operation);
    FAILS(stet_tape_backward(s.tape), STET_ERROR_STATE, "kernel the stand-in was destroyed");
    OK(stet_tape_begin(s.tape)); /* and the tape goes on without it */
    OK(stet_tape_end(s.tape, run(&s, 2, false)));
    seed(&s);
    OK(stet_tape_backward(s.tape));
    close_standin(&s);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_the_operation),
        cmocka_unit_test(a_second_pass_is_a_replay),
        cmocka_unit_test(a_result_that_was_overwritten_is_made_again),
        cmocka_unit_test(an_operation_that_comes_again_begins_a_step),
        cmocka_unit_test(what_has_no_derivative_is_refused),
        cmocka_unit_test(a_kernels_own_adjoint_reads_results),
        cmocka_unit_test(an_operation_that_is_gone_is_said),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
