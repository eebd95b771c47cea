/*
 * The stored results of reductions; see reduce.h.
 */
#include "adjoint/sizing/reduce.h"

#include "base/memory.h"

#include <assert.h>

void sti_reduce_stamp(const sti_reduce_query *q, uint64_t inputs, sti_stamp *out)
{
    sti_stamp_begin(out);
    if (inputs >> STI_COUNT_INPUT & 1) sti_stamp_add_value(out, (uint64_t)q->count);
    for (int i = 0; i < q->reducing->nparam; ++i) {
        const stet_array *a = q->args[i].array;
        if (!(inputs >> i & 1)) continue;
        if (q->reducing->param[i].kind != STET_ARG_ARRAY) {
            sti_stamp_add_value(out, (uint64_t)q->args[i].i);
            continue;
        }
        sti_stamp_add(out, a ? &a->version : NULL);
        sti_stamp_add_value(out, a ? (uint64_t)a->nitem : 0);
    }
}

static const uint64_t *words(const sti_stamp *s) { return s->capacity > 0 ? s->more : s->few; }

/* True if two stamps have the same numbers and arrays, whatever the generations. */
static bool same_but_generations(const sti_reduce_query *q, uint64_t inputs, const sti_stamp *a, const sti_stamp *b)
{
    uint32_t at = inputs >> STI_COUNT_INPUT & 1 ? 1 : 0;
    if (a->count != b->count || (at > 0 && words(a)[0] != words(b)[0])) return false;
    for (int i = 0; i < q->reducing->nparam; ++i) {
        if (!(inputs >> i & 1)) continue;
        bool array = q->reducing->param[i].kind == STET_ARG_ARRAY;
        if (words(a)[at] != words(b)[at] || (array && words(a)[at + 2] != words(b)[at + 2])) return false;
        at += array ? 3 : 1;
    }
    return true;
}

sti_reduced *sti_known_find(const sti_reduce_query *q, const sti_reduction *r, const sti_stamp *now)
{
    sti_reduced *same = NULL;
    for (int i = 0; i < q->known->n; ++i) {
        sti_reduced *own = q->known->reduced[i];
        if (own->id != r->id) continue;
        if (sti_stamp_equal(&own->stamp, now)) return own;
        if (same_but_generations(q, r->inputs, &own->stamp, now)) same = own;
    }
    return same;
}

stet_result sti_known_add(sti_known *known, uint64_t id, sti_reduced **out)
{
    if (known->n == STI_REDUCED) {
        int at = 0;
        for (int i = 1; i < known->n; ++i)
            if (known->reduced[i]->used < known->reduced[at]->used) at = i;
        sti_stamp_invalidate(&known->reduced[at]->stamp);
        known->reduced[at]->id = id;
        *out = known->reduced[at];
        return STET_OK;
    }
    STI_TRY(sti_alloc(out, sizeof **out, "what is known of stacks"));
    (*out)->id = id;
    known->reduced[known->n++] = *out;
    return STET_OK;
}

void sti_known_free(sti_known *known)
{
    for (int i = 0; i < known->n; ++i) {
        sti_stamp_free(&known->reduced[i]->stamp);
        sti_free(known->reduced[i]);
    }
    *known = (sti_known){0};
}

void sti_validate_known(const sti_known *known)
{
    assert(known->n >= 0 && known->n <= STI_REDUCED);
    for (int i = 0; i < known->n; ++i) {
        const sti_reduced *own = known->reduced[i];
        assert(own && own->used <= known->clock);
        for (int k = 0; k < i; ++k)
            assert(known->reduced[k]->id != own->id || !sti_stamp_equal(&known->reduced[k]->stamp, &own->stamp));
        (void)own;
    }
    (void)known;
}
