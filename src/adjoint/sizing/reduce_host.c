/*
 * Evaluates bounds on the host, from downloaded arrays; see reduce.h.
 */
#include "adjoint/sizing/reduce.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

typedef struct looking {
    const sti_reduce_query *q;
    int64_t *element[STI_MAX_PARAMS]; /* the arrays that were downloaded */
    stet_result result;
} looking;

static int find_param(const sti_reduce_query *q, const char *name)
{
    for (int i = 0; i < q->reducing->nparam; ++i)
        if (strcmp(q->reducing->param[i].name, name) == 0) return i;
    return -1;
}

static bool number(void *context, const char *name, int64_t *out)
{
    const sti_reduce_query *q = ((const looking *)context)->q;
    int i = find_param(q, name);
    if (strcmp(name, STI_BOUND_COUNT) == 0) {
        *out = q->count;
        return true;
    }
    if (i < 0 || q->args[i].kind != STET_ARG_INT) return false;
    *out = q->args[i].i;
    return true;
}

/* Reads an element as a kernel with this parameter type does. */
static int64_t widened(const void *bytes, const char *type, int64_t i)
{
    if (strcmp(type, "i64") == 0) return ((const int64_t *)bytes)[i];
    if (strcmp(type, "u32") == 0) return ((const uint32_t *)bytes)[i];
    if (strcmp(type, "u16") == 0) return ((const uint16_t *)bytes)[i];
    if (strcmp(type, "u8") == 0) return ((const uint8_t *)bytes)[i];
    return ((const int32_t *)bytes)[i];
}

static stet_result look_at(looking *l, int i)
{
    const stet_array *a = l->q->args[i].array;
    size_t size = stet_array_get_bytes(a);
    int64_t n = stet_array_get_nelement(a);
    void *bytes;
    if (l->element[i]) return STET_OK;
    STI_TRY(sti_alloc(&bytes, size + 1, "the counts of an adjoint"));
    stet_result result = stet_array_read(a, bytes, size);
    if (result == STET_OK)
        result = sti_alloc(&l->element[i], ((size_t)n + 1) * sizeof *l->element[i], "the counts of an adjoint");
    for (int64_t k = 0; result == STET_OK && k < n; ++k)
        l->element[i][k] = widened(bytes, l->q->reducing->param[i].type, k);
    sti_free(bytes);
    return result;
}

static bool element(void *context, const char *name, int64_t index, int64_t *out)
{
    looking *l = context;
    int i = find_param(l->q, name);
    if (i < 0 || l->q->args[i].kind != STET_ARG_ARRAY || !l->q->args[i].array) return false;
    if (index < 0 || index >= stet_array_get_nelement(l->q->args[i].array)) return false;
    l->result = look_at(l, i);
    if (l->result != STET_OK) return false;
    *out = l->element[i][index];
    return true;
}

static bool known(void *context, const sti_bound *bound, int64_t *out)
{
    const sti_reduce_query *q = ((const looking *)context)->q;
    for (int k = 0; k < q->reducing->nreduction; ++k)
        if (q->reducing->reduction[k].bound == bound && q->found[k]) {
            *out = q->found[k]->value;
            return true;
        }
    return false;
}

static stet_result evaluate(const sti_reduce_query *q, sti_bound *bound, bool given, int64_t *out)
{
    looking l = {.q = q};
    const sti_bound_values values = {number, element, &l, given ? known : NULL};
    stet_result result = sti_bound_evaluate(bound, &values, out);
    for (int i = 0; i < q->reducing->nparam; ++i) sti_free(l.element[i]);
    return l.result != STET_OK ? l.result : result;
}

stet_result sti_reduce_evaluate(const sti_reduce_query *q, sti_bound *bound, int64_t *out)
{
    return evaluate(q, bound, true, out);
}

stet_result sti_reduce_on_host(const sti_reduce_query *q, sti_bound *bound, int64_t *out)
{
    return evaluate(q, bound, false, out);
}
