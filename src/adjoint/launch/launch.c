/* Launches of adjoints; see launch.h. */
#include "adjoint/launch/launch.h"

#include "base/error.h"
#include "kernel/record/list.h"

#include <inttypes.h>
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
    int64_t items = p->kind == STET_ARG_ARRAY ? of ? of->nitem : g->nitem : 1;
    if (g->dtype == STET_DTYPE_REAL && g->worlds == worlds && g->nitem == items) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "kernel %s: the gradient of parameter %s is %s of %" PRId64 " reals%s; %s is not",
                     c->adjoint->k->name, p->name, worlds ? "an array of worlds" : "a plain array", items,
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
    int64_t items = c->size[STI_WIDTH] * c->size[list ? STI_ENTRIES : STI_DEPTH];
    if (!worlds && __builtin_mul_overflow(items, c->count, &items)) items = INT64_MAX;
    stet_result result = sti_spill_pool_take(&a->stacks->spill_pool, stack, worlds ? c->count : 0, items, out);
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

stet_result sti_adjoint_run(sti_adjoint_call *c)
{
    sti_spill_pool *spill_pool = &c->adjoint->stacks->spill_pool;
    sti_spill_pool_begin(spill_pool);
    stet_result result = run_launch(c);
    sti_spill_pool_end(spill_pool);
    return result;
}

stet_result sti_adjoint_add_up(const sti_adjoint_call *c)
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

/* ---- launching --------------------------------------------------------------------------------------------------- */

static stet_result launch(sti_adjoint_call *c)
{
    stet_adjoint *a = c->adjoint;
    STI_TRY(sti_adjoint_code(a));
    c->size[STI_WIDTH] = c->size[STI_DEPTH] = c->size[STI_ENTRIES] = 1;
    if (a->k->taped || a->k->entries)
        STI_TRY(sti_sizing_find(&a->sizing, a->kernel, &a->stacks->known, c->count, c->args, c->size));
    STI_TRY(sti_gather_plan_find(c, &c->plan));
    if (sti_overflow_possible(c)) return sti_overflow_run(c);
    STI_TRY(sti_adjoint_run(c));
    return sti_adjoint_add_up(c);
}

stet_result stet_adjoint_launch(stet_adjoint *adjoint, int64_t count, const stet_arg *args,
                                stet_array *const *gradients, int narg)
{
    if (!adjoint || (narg > 0 && (!args || !gradients)))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_adjoint_launch: adjoint, args and gradients must not be NULL");
    sti_adjoint_call c = {.adjoint = adjoint, .count = count, .args = args, .gradients = gradients};
    STI_TRY(check_call(&c, narg));
    return count > 0 ? launch(&c) : STET_OK;
}
