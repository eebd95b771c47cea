/* Launches of adjoints; see launch.h. */
#include "adjoint/launch.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernel/user.h"

#include <inttypes.h>
#include <string.h>

enum { PARTS = 5 };

typedef struct launching {
    stet_kernel *adjoint;
    const sti_adjoint_kernel *k;
    int64_t count;
    const sti_adjoint_arg *arg;
    int narg;
    int64_t width, depth;
    stet_array *tape[PARTS]; /* in the order of `parts` */
    int64_t *element;        /* of the array that a bound looked at last */
    const stet_array *looked_at;
    int64_t nelement;
    stet_result result; /* of a look */
} launching;

static const struct part {
    const char *name;
    stet_dtype type;
    bool worlds, flags;
} parts[PARTS] = {{"tapes", STET_REAL, true, false},
                  {"ltapes", STET_INT, true, false},
                  {"utapes", STET_REAL, false, false},
                  {"wtapes", STET_I64, false, false},
                  {"tape_overs", STET_INT, false, true}};

static const sti_adjoint_arg *find(const launching *l, const char *name)
{
    for (int i = 0; i < l->narg; ++i)
        if (strcmp(l->arg[i].name, name) == 0) return &l->arg[i];
    return NULL;
}

/* ---- what bounds ask ---------------------------------------------------------------------------------------------- */

static bool number(void *context, const char *name, int64_t *out)
{
    const launching *l = context;
    const sti_adjoint_arg *a = find(l, name);
    if (!a || a->value.kind != STET_ARG_INT) return false;
    *out = a->value.i;
    return true;
}

static int64_t widened(const void *bytes, stet_dtype type, int64_t i)
{
    switch (type) {
    case STET_INT: return ((const int32_t *)bytes)[i];
    case STET_I64: return ((const int64_t *)bytes)[i];
    case STET_U32: return ((const uint32_t *)bytes)[i];
    case STET_U16: return ((const uint16_t *)bytes)[i];
    default: return ((const uint8_t *)bytes)[i];
    }
}

/* All of an array's whole numbers; the last one that was asked for stays. */
static stet_result look_at(launching *l, const stet_array *a)
{
    void *bytes = NULL;
    size_t size = stet_array_bytes(a);
    if (l->looked_at == a) return STET_OK;
    l->looked_at = NULL;
    STI_TRY(sti_alloc(&bytes, size + 1, "the counts of an adjoint"));
    int64_t n = 1;
    for (int d = 0; d < stet_array_ndim(a); ++d) n *= stet_array_shape(a)[d];
    stet_result result = stet_array_read(a, bytes, size);
    if (result == STET_OK)
        result = sti_realloc(&l->element, ((size_t)n + 1) * sizeof *l->element, "the counts of an adjoint");
    for (int64_t i = 0; result == STET_OK && i < n; ++i) l->element[i] = widened(bytes, stet_array_dtype(a), i);
    sti_free(bytes);
    l->nelement = n;
    if (result == STET_OK) l->looked_at = a;
    return result;
}

static bool element(void *context, const char *name, int64_t index, int64_t *out)
{
    launching *l = context;
    const sti_adjoint_arg *a = find(l, name);
    if (!a || a->value.kind != STET_ARG_ARRAY || !a->value.array || stet_array_dtype(a->value.array) == STET_REAL)
        return false;
    l->result = look_at(l, a->value.array);
    if (l->result != STET_OK || index < 0 || index >= l->nelement) return false;
    *out = l->element[index];
    return true;
}

/* ---- the tape ----------------------------------------------------------------------------------------------------- */

static stet_result evaluate(launching *l, sti_bound *bound, int64_t *out)
{
    const sti_bound_values values = {number, element, l};
    stet_result result = sti_bound_evaluate(bound, &values, out);
    if (l->result != STET_OK) result = l->result;
    return result == STET_OK ? result : sti_error_prefix(result, "kernel %s_adj", l->k->name);
}

static bool takes(const launching *l, const char *name)
{
    stet_kernel_param p;
    for (int i = 0; i < stet_kernel_nparam(l->adjoint); ++i)
        if (stet_kernel_get_param(l->adjoint, i, &p) == STET_OK && strcmp(p.name, name) == 0) return true;
    return false;
}

static stet_result open_tape(launching *l)
{
    stet_device *device = sti_user_kernel_device(l->adjoint);
    if (!l->k->taped) return STET_OK;
    STI_TRY(evaluate(l, l->k->width, &l->width));
    STI_TRY(evaluate(l, l->k->depth, &l->depth));
    if (l->width < 1) l->width = 1;
    if (l->depth < 1) l->depth = 1;
    if (l->width > INT32_MAX || l->depth > INT32_MAX || l->width * l->depth > INT64_C(1) << 40)
        return sti_error(STET_LIMIT, "kernel %s_adj: its tape would have %" PRId64 " columns of %" PRId64 " slots",
                         l->k->name, l->width, l->depth);
    for (int p = 0; p < PARTS; ++p) {
        if (!takes(l, parts[p].name)) continue;
        int64_t items = parts[p].flags ? l->width : l->width * l->depth;
        if (parts[p].worlds)
            STI_TRY(STI_ARRAY(device, parts[p].name, parts[p].type, true, &l->tape[p], l->count, items));
        else
            STI_TRY(STI_ARRAY(device, parts[p].name, parts[p].type, false, &l->tape[p], l->count * items));
    }
    return STET_OK;
}

static stet_result check_tape(launching *l)
{
    const stet_array *over = l->tape[PARTS - 1];
    stet_result result = STET_OK;
    if (!over) return STET_OK;
    l->looked_at = NULL;
    STI_TRY(look_at(l, over));
    for (int64_t i = 0; i < l->nelement && result == STET_OK; ++i)
        if (l->element[i] != 0)
            result = sti_error(STET_LIMIT,
                               "kernel %s_adj: the tape of the loop in line %" PRId64 " is too short (%" PRId64
                               " slots): an array that its trip count comes from holds other values than it did",
                               l->k->name, l->element[i], l->depth);
    return result;
}

static void close_tape(launching *l)
{
    for (int p = 0; p < PARTS; ++p) stet_array_destroy(l->tape[p]);
    sti_free(l->element);
}

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

/* One of ours, or the kernel's own; the one that follows a parameter that has a gradient is that gradient. */
static stet_result argument(launching *l, const stet_kernel_param *p, const sti_adjoint_arg *before, stet_arg *out,
                            const sti_adjoint_arg **own)
{
    *own = find(l, p->name);
    if (*own) {
        *out = (*own)->value;
        return STET_OK;
    }
    for (int i = 0; i < PARTS; ++i)
        if (strcmp(p->name, parts[i].name) == 0) {
            *out = stet_arg_array(l->tape[i]);
            return STET_OK;
        }
    if (strcmp(p->name, "tape_width") == 0 || strcmp(p->name, "tape_depth") == 0) {
        *out = stet_arg_int(p->name[5] == 'w' ? l->width : l->depth);
        return STET_OK;
    }
    if (!before || !before->gradient)
        return sti_error(STET_INVALID_ARGUMENT, "kernel %s_adj: the argument for parameter %s is missing", l->k->name,
                         p->name);
    *out = stet_arg_array(before->gradient);
    return STET_OK;
}

static stet_result run(launching *l)
{
    stet_arg args[64];
    const sti_adjoint_arg *before = NULL, *own = NULL;
    int n = stet_kernel_nparam(l->adjoint);
    for (int i = 0; i < n; ++i, before = own) {
        stet_kernel_param p;
        STI_TRY(stet_kernel_get_param(l->adjoint, i, &p));
        STI_TRY(argument(l, &p, before, &args[i], &own));
    }
    return stet_kernel_launch(l->adjoint, l->count, args, n);
}

stet_result sti_adjoint_launch(stet_kernel *adjoint, const sti_adjoint_kernel *k, int64_t count,
                               const sti_adjoint_arg *args, int narg)
{
    launching l = {.adjoint = adjoint, .k = k, .count = count, .arg = args, .narg = narg, .width = 1, .depth = 1};
    stet_result result = count > 0 ? open_tape(&l) : STET_OK;
    if (result == STET_OK && count > 0) result = run(&l);
    if (result == STET_OK) result = check_tape(&l);
    close_tape(&l);
    return result;
}
