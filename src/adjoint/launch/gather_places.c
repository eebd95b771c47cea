/*
 * Finds what a launch of an adjoint lists by launching it over one world. All arrays that it writes, and all reals, are
 * replaced by scratch arrays; see gather_plan.h.
 */
#include "adjoint/launch/gather_plan.h"

#include "adjoint/launch/handle.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/record/record.h"
#include "kernel/user/user.h"

typedef struct scratch {
    const sti_adjoint_call *call;
    stet_device *device;
    stet_array *made[STI_MAX_PARAMS];     /* by parameter of the code */
    stet_array *gradient[STI_MAX_PARAMS]; /* by parameter of the kernel: one of `made`; NULL: no gradient */
    stet_array *places;
} scratch;

static stet_result make_array(scratch *s, int i, stet_dtype dtype, bool worlds, int64_t items, stet_arg *out)
{
    stet_array_def def = stet_default_array_def();
    def.name = "a plan's own";
    def.dtype = dtype;
    def.worlds = worlds;
    def.ndim = worlds ? 2 : 1;
    def.shape[0] = worlds ? 1 : items;
    def.shape[1] = items;
    STI_TRY(stet_array_create(s->device, &def, &s->made[i]));
    *out = stet_arg_array(s->made[i]);
    return STET_OK;
}

/* Passes the caller's plain whole numbers; everything else is 0. */
static stet_result make_argument(scratch *s, int i, int number, stet_arg *out)
{
    const stet_arg *given = &s->call->args[number];
    const stet_array *a = given->array;
    *out = *given;
    if (given->kind != STET_ARG_ARRAY || !a || (!a->worlds && a->dtype != STET_DTYPE_REAL)) return STET_OK;
    return make_array(s, i, a->dtype, a->worlds, a->nitem, out);
}

static stet_result make_gradient(scratch *s, int i, int number, stet_arg *out)
{
    const stet_array *g = s->call->gradients[number];
    *out = stet_arg_array(NULL);
    if (!g) return STET_OK;
    STI_TRY(make_array(s, i, STET_DTYPE_REAL, true, g->nitem, out));
    s->gradient[number] = s->made[i];
    return STET_OK;
}

static stet_result make_stack(scratch *s, int i, sti_stack stack, stet_arg *out)
{
    STI_TRY(make_array(s, i, sti_stack_dtype(stack), sti_stack_has_lanes(stack),
                       s->call->size[STI_WIDTH] * s->call->size[STI_DEPTH], out));
    if (stack == STI_STACK_INT) s->places = s->made[i];
    return STET_OK;
}

static stet_result make_one(scratch *s, int i, stet_arg *out)
{
    const sti_adjoint_call *c = s->call;
    const sti_passing *p = &c->adjoint->passing[i];
    switch (p->what) {
    case STI_PASSED_ARGUMENT: return make_argument(s, i, p->number, out);
    case STI_PASSED_GRADIENT: return make_gradient(s, i, p->number, out);
    case STI_PASSED_STACK: return make_stack(s, i, (sti_stack)p->number, out);
    case STI_PASSED_FLAGS: return make_array(s, i, STET_DTYPE_INT, false, c->size[STI_WIDTH], out);
    case STI_PASSED_ROOM: *out = stet_arg_int(c->size[STI_WIDTH] * c->size[STI_DEPTH]); break;
    case STI_PASSED_WIDTH:
    case STI_PASSED_FLAGS_ROOM: *out = stet_arg_int(c->size[STI_WIDTH]); break;
    case STI_PASSED_DEPTH: *out = stet_arg_int(c->size[STI_DEPTH]); break;
    case STI_PASSED_PLAN: *out = stet_arg_array(NULL); break;
    default: *out = stet_arg_int(0); break;
    }
    return STET_OK;
}

/* Runs the launch without the launch observer, because it is not one of the caller's. */
static stet_result run_launch(scratch *s)
{
    const stet_adjoint *a = s->call->adjoint;
    stet_arg args[STI_MAX_PARAMS];
    sti_arg own[STI_MAX_PARAMS];
    sti_launch launch;
    for (int i = 0; i < a->npassing; ++i) STI_TRY(make_one(s, i, &args[i]));
    STI_TRY(sti_user_args(a->code, args, a->npassing, own));
    STI_TRY(sti_launch_prepare(s->device, sti_user_kernel(a->code), 1, own, a->npassing, &launch));
    return sti_launch_run(s->device, &launch);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Finds the array and element of an entry. */
static stet_result find_element(const scratch *s, int64_t place, sti_place_listed *out)
{
    const stet_adjoint *a = s->call->adjoint;
    uintptr_t at = (uintptr_t)place;
    for (int i = 0; i < a->nparam; ++i) {
        const stet_array *g = s->gradient[i];
        if (!g || a->listed[i] < 0 || at < (uintptr_t)g->data || at >= (uintptr_t)g->data + g->size) continue;
        size_t element = (at - (uintptr_t)g->data) / s->device->real_size;
        out->array = a->listed[i];
        out->element = (int32_t)element;
        return element <= INT32_MAX ? STET_OK : sti_error(STET_ERROR_LIMIT, "a plan of elements beyond %d", INT32_MAX);
    }
    return sti_error(
        STET_ERROR_LIMIT,
        "a plan of elements that are in no array"); /* a wrong index: the caller's own launch will report it */
}

static int64_t count_entries(const int64_t *places, int64_t width)
{
    int64_t n = 0;
    for (int64_t j = 0; j < width; ++j) n += places[j];
    return n;
}

static stet_result read_entries(const scratch *s, const int64_t *places, sti_place_listed *entry)
{
    const int64_t width = s->call->size[STI_WIDTH], depth = s->call->size[STI_DEPTH];
    int32_t order = 0;
    for (int64_t j = 0; j < width; ++j)
        for (int64_t k = 1; k <= places[j]; ++k) {
            int64_t slot = (depth - k) * width + j;
            entry[order].slot = (int32_t)slot;
            entry[order].order = order;
            STI_TRY(find_element(s, places[slot], &entry[order++]));
        }
    return STET_OK;
}

static stet_result read_all(const scratch *s, int64_t *places, sti_place_listed **out, int64_t *n)
{
    if (!s->places) return sti_error(STET_ERROR_LIMIT, "a plan of an adjoint that lists nothing");
    const int64_t width = s->call->size[STI_WIDTH], depth = s->call->size[STI_DEPTH];
    STI_TRY(sti_device_download(s->device, places, s->places->data, (size_t)(width * depth) * sizeof *places));
    *n = count_entries(places, width);
    STI_TRY(sti_alloc(out, (size_t)*n * sizeof **out + 1, "what a gradient gathers"));
    stet_result result = read_entries(s, places, *out);
    if (result != STET_OK) sti_free(*out);
    return result;
}

stet_result sti_places_of(const sti_adjoint_call *c, sti_place_listed **out, int64_t *n)
{
    scratch s = {.call = c, .device = c->adjoint->stacks->device};
    int64_t *places = NULL;
    stet_result result = STET_OK;
    if (c->size[STI_WIDTH] > INT32_MAX / c->size[STI_DEPTH])
        return sti_error(STET_ERROR_LIMIT, "a plan of slots beyond %d", INT32_MAX);
    result = run_launch(&s);
    if (result == STET_OK)
        result = sti_alloc(&places, (size_t)(c->size[STI_WIDTH] * c->size[STI_DEPTH]) * sizeof *places,
                           "what a gradient gathers");
    if (result == STET_OK) result = read_all(&s, places, out, n);
    sti_free(places);
    for (int i = 0; i < STI_MAX_PARAMS; ++i) stet_array_destroy(s.made[i]);
    return result;
}
