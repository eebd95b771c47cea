/* Checks the values that a def gives by name: the parameter must exist, and the value must fit it; see gradcheck.h. */
#include "adjoint/gradcheck/gradcheck.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const sti_param *param_of(const sti_signature *const *k, int n, const char *name)
{
    for (int i = 0; i < n; ++i)
        for (int p = 0; p < k[i]->nparam; ++p)
            if (!k[i]->param[p].index && strcmp(k[i]->param[p].name, name) == 0) return &k[i]->param[p];
    return NULL;
}

static stet_result refuse_name(const sti_signature *const *k, int n, const char *name)
{
    char all[400] = "";
    size_t length = 0;
    for (int i = 0; i < n; ++i)
        for (int p = 0; p < k[i]->nparam; ++p) {
            const sti_param *q = &k[i]->param[p];
            if (q->index || param_of(k, i, q->name) || length + STI_MAX_NAME + 2 > sizeof all) continue;
            length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", length ? ", " : "", q->name);
        }
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_gradcheck: %s%s has %s parameter `%s`; there are %s",
                     n == 1 ? "kernel " : "none of the kernels", n == 1 ? k[0]->name : "", n == 1 ? "no" : "a", name,
                     all);
}

static bool is_real(const sti_param *p)
{
    return p->type == STI_PARAM_REAL || p->type == STI_PARAM_UREAL || p->type == STI_PARAM_WREAL;
}

static bool fits(sti_param_type type, int64_t value)
{
    switch (type) {
    case STI_PARAM_I64: return true;
    case STI_PARAM_U32: return value >= 0 && value <= UINT32_MAX;
    case STI_PARAM_U16: return value >= 0 && value <= UINT16_MAX;
    case STI_PARAM_U8: return value >= 0 && value <= UINT8_MAX;
    default: return value >= INT32_MIN && value <= INT32_MAX;
    }
}

static stet_result refuse_unfit(const sti_param *p, int64_t value)
{
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_gradcheck: %" PRId64 " for `%s` does not fit into its type %s",
                     value, p->name, sti_param_type_name(p->type));
}

static stet_result check_value(const sti_param *p, const stet_gradcheck_value *v)
{
    bool ranged = v->low != 0 || v->high != 0;
    if (v->nitem < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_gradcheck: `%s` cannot have %" PRId64 " items", p->name,
                         v->nitem);
    if (ranged && !(isfinite(v->low) && isfinite(v->high) && v->low <= v->high))
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT,
            "stet_gradcheck: the range of `%s` goes from %g to %g: give finite numbers, the lower one first", p->name,
            v->low, v->high);
    if (ranged && !is_real(p))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_gradcheck: `%s` holds whole numbers, which have no range: give %s", p->name,
                         p->pointer ? "its content (--values)" : "its value (--int)");
    if ((v->value || v->nitem > 0) && !p->pointer)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_gradcheck: `%s` is a number, not an array: give %s",
                         p->name, is_real(p) ? "its range (--range)" : "its value (--int)");
    if (v->value && is_real(p))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_gradcheck: `%s` holds reals, which are random: give their range (--range)", p->name);
    bool only_number = !v->value && v->nitem == 0 && !ranged;
    if (only_number && (p->pointer || is_real(p)))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_gradcheck: `%s` is %s, not a whole number: give %s",
                         p->name, p->pointer ? "an array" : "a real",
                         is_real(p) ? "its range (--range)" : "its content (--values)");
    if (!p->pointer && !is_real(p) && !fits(p->type, v->number)) return refuse_unfit(p, v->number);
    for (int64_t i = 0; v->value && i < v->nitem; ++i)
        if (!fits(p->type, v->value[i])) return refuse_unfit(p, v->value[i]);
    return STET_OK;
}

stet_result sti_gradcheck_names(const stet_gradcheck_def *def, const sti_signature *const *k, int n)
{
    for (int i = 0; i < def->nvalue; ++i) {
        const sti_param *p = param_of(k, n, def->value[i].name);
        if (!p) return refuse_name(k, n, def->value[i].name);
        STI_TRY(check_value(p, &def->value[i]));
    }
    return STET_OK;
}
