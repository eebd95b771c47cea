/*
 * The adjoint of one kernel as an object; see handle.h.
 */
#include "adjoint/launch/handle.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- what a launch passes ---------------------------------------------------------------------------------------- */

static const struct own {
    const char *name;
    sti_passed what;
    sti_stack stack;
} owns[] = {{"tapes", STI_PASSED_STACK, STI_STACK_REAL},
            {"ltapes", STI_PASSED_STACK, STI_STACK_LINT},
            {"utapes", STI_PASSED_STACK, STI_STACK_UREAL},
            {"wtapes", STI_PASSED_STACK, STI_STACK_INT},
            {"tape_overs", STI_PASSED_FLAGS, 0},
            {"list_places", STI_PASSED_STACK, STI_STACK_DESTINATIONS},
            {"list_values", STI_PASSED_STACK, STI_STACK_VALUES},
            {"tape_width", STI_PASSED_WIDTH, 0},
            {"tape_depth", STI_PASSED_DEPTH, 0},
            {"list_depth", STI_PASSED_LIST_DEPTH, 0},
            {"utape_room", STI_PASSED_ROOM, STI_STACK_UREAL},
            {"wtape_room", STI_PASSED_ROOM, STI_STACK_INT},
            {"over_room", STI_PASSED_FLAGS_ROOM, 0},
            {"gather_plan", STI_PASSED_PLAN, 0},
            {"gather_planned", STI_PASSED_PLANNED, 0}};

static int find_param(const stet_adjoint *a, const char *name)
{
    for (int i = 0; i < a->nparam; ++i)
        if (strcmp(a->param[i].name, name) == 0) return i;
    return -1;
}

/* `y_after` of an adjoint that the source has is what the kernel left in its parameter y; -1: it is none. */
static int find_result(const stet_adjoint *a, const char *name)
{
    static const char ending[] = "_after";
    char own[STI_MAX_NAME];
    size_t n = strlen(name), end = sizeof ending - 1;
    if (a->k != &a->given || n <= end || n >= sizeof own || strcmp(name + n - end, ending) != 0) return -1;
    (void)snprintf(own, sizeof own, "%.*s", (int)(n - end), name);
    int i = find_param(a, own);
    return i >= 0 && a->param[i].kind == STET_ARG_ARRAY && a->param[i].written ? i : -1;
}

/* Finds the source of one parameter of the code. A gradient comes right behind its parameter. */
static sti_passing passing_of(const stet_adjoint *a, const char *name, int before)
{
    int own = find_param(a, name);
    if (own >= 0) return (sti_passing){.what = STI_PASSED_ARGUMENT, .number = own};
    bool taped = a->k->taped || a->k->entries;
    for (size_t i = 0; taped && i < sizeof owns / sizeof *owns; ++i)
        if (strcmp(name, owns[i].name) == 0) return (sti_passing){.what = owns[i].what, .number = (int)owns[i].stack};
    int result = find_result(a, name);
    if (result >= 0) return (sti_passing){.what = STI_PASSED_RESULT, .number = result};
    return (sti_passing){.what = STI_PASSED_GRADIENT, .number = before};
}

static const sti_signature *find_signature(const stet_adjoint *a)
{
    char name[2 * STI_MAX_NAME];
    (void)snprintf(name, sizeof name, "%s_adj", a->k->name);
    for (int i = 0; i < a->made.nsignature; ++i)
        if (strcmp(a->made.signature[i].name, name) == 0) return &a->made.signature[i];
    return NULL;
}

static stet_result plan(stet_adjoint *a)
{
    const sti_signature *sig = find_signature(a);
    int before = -1;
    if (!sig) return sti_error(STET_ERROR_UNSUPPORTED, "kernel %s: it has no adjoint", a->k->name);
    a->given.items = sig->kind == STI_KERNEL_ITEM; /* the same kind as the kernel */
    for (int i = 0; i < a->nparam; ++i) a->listed[i] = -1;
    for (const sti_listing *l = a->k->listing; l; l = l->next) {
        int i = find_param(a, l->name);
        if (i >= 0) a->has_gradient[i] = true;
        if (i >= 0) a->listed[i] = l->code;
    }
    for (int i = 0; i < sig->nparam; ++i) {
        if (sig->param[i].index) continue;
        sti_passing p = passing_of(a, sig->param[i].name, before);
        if (p.what == STI_PASSED_GRADIENT && p.number >= 0) a->has_gradient[p.number] = true;
        p.written = sig->param[i].pointer && sig->param[i].written;
        if (p.what == STI_PASSED_RESULT) {
            a->has_result[p.number] = true;
            if (p.written)
                return sti_error(STET_ERROR_UNSUPPORTED,
                                 "kernel %s_adj: %s is what the kernel left in %s: declare it const", a->k->name,
                                 sig->param[i].name, a->param[p.number].name);
        }
        before = p.what == STI_PASSED_ARGUMENT ? p.number : -1;
        a->passing[a->npassing++] = p;
    }
    return STET_OK;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static void destroy(sti_attachment *attachment)
{
    stet_adjoint *a = (stet_adjoint *)(void *)attachment;
    stet_kernel_destroy(a->code); /* listed launches of it run now */
    sti_stacks_leave(a);
    sti_sizing_free(&a->sizing);
    sti_gather_plans_free(&a->planning);
    sti_adjoint_free(&a->made);
    sti_unit_destroy(a->unit);
    sti_free(a);
}

/* Replaces the numbers of files in a message by their names (SOURCE-2). */
static stet_result explain(const sti_kernel_source *origin, stet_result result)
{
    sti_text_buffer text = {0};
    const char *said = stet_get_last_error();
    sti_user_source_explain(&origin->source, said, strlen(said), &text);
    if (text.result == STET_OK) result = sti_error(result, "%s", text.data);
    sti_text_buffer_free(&text);
    return result;
}

/* Uses k_x_adj of the source itself, if there is one; the transformation leaves k_x out then. */
static void choose(stet_adjoint *a)
{
    const char *name = stet_kernel_get_name(a->kernel);
    a->given.name = name;
    a->given.id = sti_hash_bytes(a->made.text.data, a->made.text.size);
    a->k = &a->given;
    for (const sti_adjoint_kernel *k = a->made.kernel; k; k = k->next)
        if (strcmp(k->name, name) == 0) a->k = k;
}

static stet_result make_adjoint(stet_adjoint *a)
{
    const sti_kernel_source *origin = sti_user_kernel_source(a->kernel);
    sti_check_options check = sti_user_check_options(sti_user_kernel_device(a->kernel));
    sti_adjoint_options options = {.constant = (const char *const *)origin->constant,
                                   .nconstant = origin->nconstant,
                                   .kernel = stet_kernel_get_name(a->kernel)};
    STI_TRY(sti_check_source(origin->source.own.data, "<0>", &check, &a->unit));
    stet_result result = sti_adjoint_make(a->unit, &options, &a->made);
    if (result != STET_OK) return explain(origin, result);
    choose(a);
    a->nparam = stet_kernel_get_nparam(a->kernel);
    for (int i = 0; i < a->nparam; ++i) STI_TRY(stet_kernel_get_param(a->kernel, i, &a->param[i]));
    STI_TRY(plan(a));
    sti_bound *const bound[STI_SIZES] = {a->k->width, a->k->depth, a->k->entries};
    sti_sizing_open(&a->sizing, bound, a->param, a->nparam);
    return sti_stacks_join(a);
}

stet_result stet_kernel_get_adjoint(stet_kernel *kernel, stet_adjoint **out)
{
    if (!kernel || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_kernel_get_adjoint: kernel and out must not be NULL");
    sti_attachment **kept = sti_user_kernel_attachment(kernel);
    stet_adjoint *a = (stet_adjoint *)(void *)*kept;
    *out = a;
    if (a) return STET_OK;
    STI_TRY(sti_alloc(&a, sizeof *a, "an adjoint"));
    a->attachment.destroy = destroy;
    a->kernel = kernel;
    stet_result result = make_adjoint(a);
    if (result != STET_OK) {
        destroy(&a->attachment);
        return result;
    }
    *kept = &a->attachment;
    *out = a;
    return STET_OK;
}

stet_result sti_adjoint_code(stet_adjoint *a)
{
    const sti_kernel_source *origin = sti_user_kernel_source(a->kernel);
    char name[2 * STI_MAX_NAME];
    if (a->code) return STET_OK;
    stet_kernel_def def = sti_kernel_source_def(origin);
    (void)snprintf(name, sizeof name, "%s_adj", a->k->name);
    def.source = a->made.text.data;
    def.path = origin->source.file[0].name;
    def.name = name;
    stet_result result = stet_kernel_create(sti_user_kernel_device(a->kernel), &def, &a->code);
    return result == STET_OK ? result : sti_error_prefix(result, "the adjoint of kernel %s", a->k->name);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

const char *stet_adjoint_get_source(const stet_adjoint *adjoint) { return adjoint ? adjoint->made.text.data : ""; }

stet_result stet_adjoint_has_gradient(const stet_adjoint *adjoint, int i, bool *out)
{
    if (!adjoint || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_adjoint_has_gradient: adjoint and out must not be NULL");
    if (i < 0 || i >= adjoint->nparam)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: there is no parameter %d; it has %d",
                         adjoint->k->name, i, adjoint->nparam);
    *out = adjoint->has_gradient[i];
    return STET_OK;
}
