/* Launches of adjoints: their arguments and gradients, their stacks, the gradients that they list. */
#include "adjoint/launch/handle.h"

#include "base/error.h"
#include "kernel/record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what the caller passed -------------------------------------------------------------------------------------- */

static stet_result refuse_gradient(const sti_adjoint_call *c, int i, const char *wanted)
{
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: the gradient of parameter %s is %s", c->adjoint->k->name,
                     c->adjoint->param[i].name, wanted);
}

/* Checks a gradient's shape: one share a world, or in an item kernel the shape of the array itself. */
static stet_result check_shape(const sti_adjoint_call *c, int i)
{
    const stet_kernel_param *p = &c->adjoint->param[i];
    const stet_array *g = c->gradients[i], *of = c->args[i].array;
    bool worlds = p->worlds || !c->adjoint->k->items;
    int64_t nitem = p->kind == STET_ARG_ARRAY ? of ? of->nitem : g->nitem : 1;
    if (g->dtype == STET_DTYPE_REAL && g->worlds == worlds && g->nitem == nitem) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "kernel %s: the gradient of parameter %s is %s of %" PRId64 " reals%s; %s is not",
                     c->adjoint->k->name, p->name, worlds ? "an array of worlds" : "a plain array", nitem,
                     worlds ? " a world" : "", g->name);
}

static stet_result check_gradient(const sti_adjoint_call *c, int i)
{
    const stet_array *g = c->gradients[i];
    bool has = c->adjoint->has_gradient[i], absent = c->args[i].kind == STET_ARG_ARRAY && !c->args[i].array;
    if (!g) return has && !absent ? refuse_gradient(c, i, "missing") : STET_OK;
    if (!has) return refuse_gradient(c, i, "given, but it has none: pass NULL");
    for (int k = 0; k < i; ++k)
        if (c->gradients[k] == g) return refuse_gradient(c, i, "that of another parameter, too: give it its own");
    return check_shape(c, i);
}

/* Refuses arrays that occur twice: an adjoint does not account for two parameters that are one array. */
static stet_result check_places(const sti_adjoint_call *c, int i)
{
    const stet_kernel_param *p = c->adjoint->param;
    const stet_array *array = c->args[i].kind == STET_ARG_ARRAY ? c->args[i].array : NULL;
    for (int k = 0; array && k < i; ++k) {
        const stet_array *other = c->args[k].kind == STET_ARG_ARRAY ? c->args[k].array : NULL;
        if (other && (p[i].written || p[k].written) && sti_memory_overlaps(array, other))
            return sti_error(
                STET_ERROR_INVALID_ARGUMENT,
                "kernel %s_adj: %s and %s are the same memory, and the kernel writes it; give it two arrays "
                "(stet_array_copy)",
                c->adjoint->k->name, p[k].name, p[i].name);
    }
    return STET_OK;
}

static stet_result check_call(const sti_adjoint_call *c, int narg)
{
    const stet_adjoint *a = c->adjoint;
    if (narg != a->nparam)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "kernel %s_adj: takes %d arguments, and as many gradients, not %d", a->k->name, a->nparam,
                         narg);
    if (c->count < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s_adj: launched over %" PRId64, a->k->name, c->count);
    for (int i = 0; i < narg; ++i) {
        if (c->args[i].kind != a->param[i].kind)
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "kernel %s_adj: the argument for parameter %s is of another kind", a->k->name,
                             a->param[i].name);
        if (a->has_result[i] && !c->results)
            return sti_error(
                STET_ERROR_UNSUPPORTED,
                "kernel %s_adj: reads what the kernel left in %s, which a tape knows; launch the kernel on "
                "a tape (stet_tape_backward)",
                a->k->name, a->param[i].name);
        STI_TRY(check_gradient(c, i));
        STI_TRY(check_places(c, i));
    }
    return STET_OK;
}

/* ---- what stet passes -------------------------------------------------------------------------------------------- */

/*
 * Passes a stack. Lanes of a world kernel are arrays of worlds; all others are plain. The array must be taken before
 * its room a world is passed.
 */
static stet_result take_stack(sti_adjoint_call *c, sti_stack stack, stet_array **out)
{
    stet_adjoint *a = c->adjoint;
    bool list = stack == STI_STACK_DESTINATIONS || stack == STI_STACK_VALUES;
    bool worlds = !a->k->items && sti_stack_has_lanes(stack);
    int64_t nitem = c->size[STI_WIDTH] * c->size[list ? STI_ENTRIES : STI_DEPTH];
    if (!worlds && __builtin_mul_overflow(nitem, c->count, &nitem)) nitem = INT64_MAX;
    stet_result result = sti_spill_pool_take(&a->stacks->spill_pool, stack, worlds ? c->count : 0, nitem, out);
    if (stack == STI_STACK_DESTINATIONS) c->destinations = *out;
    if (stack == STI_STACK_VALUES) c->values = *out;
    if (result == STET_OK) return result;
    return sti_error_prefix(result, "kernel %s_adj: %" PRId64 " columns of %" PRId64 " slots, launched over %" PRId64,
                            a->k->name, c->size[STI_WIDTH], c->size[list ? STI_ENTRIES : STI_DEPTH], c->count);
}

static stet_result pass(sti_adjoint_call *c, const sti_passing *p, stet_arg *out)
{
    stet_array *array = NULL;
    switch (p->what) {
    case STI_PASSED_ARGUMENT: *out = c->args[p->number]; return STET_OK;
    case STI_PASSED_GRADIENT: array = c->gradients[p->number]; break;
    case STI_PASSED_RESULT: array = c->results[p->number]; break;
    case STI_PASSED_STACK: STI_TRY(take_stack(c, (sti_stack)p->number, &array)); break;
    case STI_PASSED_FLAGS:
        STI_TRY(sti_flags_room(c->adjoint, c->count * c->size[STI_WIDTH]));
        array = c->adjoint->flags;
        break;
    case STI_PASSED_WIDTH: *out = stet_arg_int(c->size[STI_WIDTH]); return STET_OK;
    case STI_PASSED_DEPTH: *out = stet_arg_int(c->size[STI_DEPTH]); return STET_OK;
    case STI_PASSED_ROOM:
        *out = stet_arg_int(sti_spill_pool_room(&c->adjoint->stacks->spill_pool, (sti_stack)p->number, c->count));
        return STET_OK;
    case STI_PASSED_PLAN: array = c->plan; break;
    case STI_PASSED_PLANNED: *out = stet_arg_int(c->plan != NULL); return STET_OK;
    case STI_PASSED_FLAGS_ROOM: *out = stet_arg_int(c->adjoint->flags->nitem / c->count); return STET_OK;
    default: *out = stet_arg_int(c->size[STI_ENTRIES]); return STET_OK;
    }
    *out = stet_arg_array(array);
    return STET_OK;
}

static void remember(sti_adjoint_call *c)
{
    sti_last_launch *last = &c->adjoint->last;
    last->count = c->count;
    last->valid = true;
    memcpy(last->size, c->size, sizeof c->size);
    memcpy(last->args, c->args, (size_t)c->adjoint->nparam * sizeof *c->args);
}

static stet_result run_launch(sti_adjoint_call *c)
{
    stet_adjoint *a = c->adjoint;
    stet_arg args[STI_MAX_PARAMS];
    for (int i = 0; i < a->npassing; ++i) STI_TRY(pass(c, &a->passing[i], &args[i]));
    if (a->flags) remember(c);
    return stet_kernel_launch(a->code, c->count, args, a->npassing);
}

/* Runs the code, or lists it. Its stacks have c->size. The overflow flags are not read. */
static stet_result run(sti_adjoint_call *c)
{
    sti_spill_pool *spill_pool = &c->adjoint->stacks->spill_pool;
    sti_spill_pool_begin(spill_pool);
    stet_result result = run_launch(c);
    sti_spill_pool_end(spill_pool);
    return result;
}

static stet_result add_up_listed(const sti_adjoint_call *c)
{
    const stet_adjoint *a = c->adjoint;
    sti_stacks *s = a->stacks;
    const sti_lists lists = {.destinations = c->destinations,
                             .values = c->values,
                             .blocks = c->count,
                             .depth = c->size[STI_ENTRIES],
                             .width = c->size[STI_WIDTH]};
    if (!c->destinations) return STET_OK;
    if (!s->gathering) STI_TRY(sti_gathering_create(s->device, &s->gathering));
    for (int i = 0; i < a->nparam; ++i)
        if (a->listed[i] >= 0 && c->gradients[i])
            STI_TRY(sti_adjoint_gather(s->gathering, &lists, a->listed[i], c->gradients[i]));
    return STET_OK;
}

/* ---- stacks that were too short ---------------------------------------------------------------------------------- */

/*
 * Stacks that were too short. Sizes of stacks are computed from data, so a stack is too short only if an array was
 * written without being marked, after its size was computed and before the launch.
 *
 * Code outside of stet can do that if an exported tensor shows one of the arrays that sizes come from, or if a captured
 * graph of the caller's holds its address. Then a launch saves what the adjoint writes and reads the overflow flags. If
 * a stack was too short it restores the arrays, marks the inputs as written, and runs again with larger stacks. In a
 * list of launches or in the caller's capture the flags cannot be read in between. There, and if no outside code can
 * write, the flags are read before the next host read (stacks.h), which then fails; and the device itself makes the
 * gradients NaN, for those that read them there.
 */
static bool can_be_written_outside(const stet_array *a)
{
    while (a->base) a = a->base;
    return a->share || a->outside;
}

static bool overflow_possible(const sti_adjoint_call *c)
{
    const stet_adjoint *a = c->adjoint;
    stet_device *device = a->stacks->device;
    bool others = false;
    for (int i = 0; i < a->nparam; ++i)
        if (a->sizing.inputs >> i & 1 && c->args[i].kind == STET_ARG_ARRAY && c->args[i].array)
            others |= can_be_written_outside(c->args[i].array);
    return others && !device->listing && !sti_device_capture(device);
}

/* The caller's array that parameter i of the code writes, or NULL. */
static stet_array *written(const sti_adjoint_call *c, int i)
{
    const sti_passing *p = &c->adjoint->passing[i];
    if (!p->written) return NULL;
    if (p->what == STI_PASSED_ARGUMENT) return (stet_array *)(uintptr_t)c->args[p->number].array;
    return p->what == STI_PASSED_GRADIENT ? c->gradients[p->number] : NULL;
}

static bool fits(const stet_array *a, const stet_array *b)
{
    return a && a->dtype == b->dtype && a->worlds == b->worlds && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

static stet_result save_written(const sti_adjoint_call *c)
{
    stet_array **saved = c->adjoint->saved;
    for (int i = 0; i < c->adjoint->npassing; ++i) {
        stet_array *a = written(c, i);
        if (!a) continue;
        if (!fits(saved[i], a)) {
            stet_array_destroy(saved[i]);
            saved[i] = NULL;
            STI_TRY(
                sti_array_new(a->device, "kept for another try", a->dtype, a->worlds, a->ndim, a->shape, &saved[i]));
            sti_array_held_by(saved[i], STET_MECHANISM_ADSTACK);
        }
        STI_TRY(sti_record_copy(saved[i], a));
    }
    return STET_OK;
}

static stet_result restore_written(const sti_adjoint_call *c)
{
    for (int i = 0; i < c->adjoint->npassing; ++i) {
        stet_array *a = written(c, i);
        if (a) STI_TRY(sti_record_copy(a, c->adjoint->saved[i]));
    }
    return STET_OK;
}

static stet_result run_and_check(sti_adjoint_call *c, int64_t *mark)
{
    STI_TRY(run(c));
    return sti_flags_check(c->adjoint, mark);
}

static stet_result run_again_if_short(sti_adjoint_call *c)
{
    stet_adjoint *a = c->adjoint;
    int64_t mark, had = c->size[STI_DEPTH];
    char needed[96];
    STI_TRY(a->stacks->device->check_overflow(a->stacks->device)); /* reports overflows of earlier launches first */
    STI_TRY(save_written(c));
    STI_TRY(run_and_check(c, &mark));
    if (mark) {
        STI_TRY(restore_written(c));
        sti_sizing_overflown(&a->sizing, c->args);
        STI_TRY(sti_sizing_find(&a->sizing, a->kernel, &a->stacks->known, c->count, c->args, c->size));
        sti_log(STET_LOG_INFO, "adstack: kernel %s_adj: a stack had %lld slots and needs %lld: launched again",
                a->k->name, (long long)had, (long long)c->size[STI_DEPTH]);
        had = c->size[STI_DEPTH];
        STI_TRY(run_and_check(c, &mark));
    }
    if (!mark) return add_up_listed(c);
    STI_TRY(restore_written(c));
    (void)snprintf(needed, sizeof needed, ", as many as it needs by its arguments, twice");
    return sti_overflow_error(a, mark, had, needed);
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

static stet_result launch(sti_adjoint_call *c)
{
    stet_adjoint *a = c->adjoint;
    STI_TRY(sti_adjoint_code(a));
    c->size[STI_WIDTH] = c->size[STI_DEPTH] = c->size[STI_ENTRIES] = 1;
    if (a->k->taped || a->k->entries)
        STI_TRY(sti_sizing_find(&a->sizing, a->kernel, &a->stacks->known, c->count, c->args, c->size));
    STI_TRY(sti_gather_plan_find(c, &c->plan));
    if (overflow_possible(c)) return run_again_if_short(c);
    STI_TRY(run(c));
    STI_TRY(add_up_listed(c));
    return a->flags ? sti_flags_poison(a, c->count, c->size[STI_WIDTH], c->gradients) : STET_OK;
}

stet_result sti_adjoint_launch(stet_adjoint *adjoint, int64_t count, const stet_arg *args, stet_array *const *results,
                               stet_array *const *gradients, int narg)
{
    sti_adjoint_call c = {.adjoint = adjoint, .count = count, .args = args, .results = results, .gradients = gradients};
    STI_TRY(check_call(&c, narg));
    return count > 0 ? launch(&c) : STET_OK;
}

stet_result stet_adjoint_launch(stet_adjoint *adjoint, int64_t count, const stet_arg *args,
                                stet_array *const *gradients, int narg)
{
    if (!adjoint || (narg > 0 && (!args || !gradients)))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_adjoint_launch: adjoint, args and gradients must not be NULL");
    return sti_adjoint_launch(adjoint, count, args, NULL, gradients, narg);
}
