/*
 * Reductions: collects, looks up and computes them; see reduce.h.
 */
#include "adjoint/sizing/reduce.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TROUBLE ((int64_t)1 << 62)

/* ---- which there are --------------------------------------------------------------------------------------------- */

uint64_t sti_reduce_inputs(const sti_reducing *r, const sti_bound *b)
{
    uint64_t inputs = 0;
    if (!b) return 0;
    if (b->kind == STI_BOUND_ARGUMENT && strcmp(b->name, STI_BOUND_COUNT) == 0)
        inputs |= UINT64_C(1) << STI_COUNT_INPUT;
    for (int i = 0; i < r->nparam && (b->kind == STI_BOUND_ARGUMENT || b->kind == STI_BOUND_ELEMENT); ++i)
        if (strcmp(r->param[i].name, b->name) == 0) inputs |= UINT64_C(1) << i;
    return inputs | sti_reduce_inputs(r, b->a) | sti_reduce_inputs(r, b->b) | sti_reduce_inputs(r, b->c);
}

static bool has_kind(const sti_bound *b, sti_bound_kind kind)
{
    return b && (b->kind == kind || has_kind(b->a, kind) || has_kind(b->b, kind) || has_kind(b->c, kind));
}

/* True if the kernel cannot read an input: an array of worlds, or of reals. */
static bool needs_host(const sti_reducing *r, uint64_t inputs)
{
    for (int i = 0; i < r->nparam; ++i)
        if (inputs >> i & 1 && r->param[i].kind == STET_ARG_ARRAY &&
            (r->param[i].worlds || strcmp(r->param[i].type, "ureal") == 0))
            return true;
    return false;
}

/* Adds a reduction, or replaces it by an equal one that was added before (REDUCE-4). */
static void add_reduction(sti_reducing *r, sti_bound **place)
{
    uint64_t id = sti_bound_id(*place);
    for (int k = 0; k < r->nreduction; ++k)
        if (r->reduction[k].id == id) {
            *place = r->reduction[k].bound;
            return;
        }
    if (r->nreduction == STI_REDUCTIONS) {
        r->more = true;
        return;
    }
    sti_reduction *own = &r->reduction[r->nreduction++];
    *own = (sti_reduction){*place, id, sti_reduce_inputs(r, *place)};
    r->on_host |= needs_host(r, own->inputs);
}

void sti_reduce_collect(sti_reducing *r, sti_bound **place)
{
    sti_bound *b = *place;
    if (!b || !has_kind(b, STI_BOUND_ELEMENT)) return;
    if (b->kind == STI_BOUND_OVER || b->kind == STI_BOUND_ELEMENT) {
        add_reduction(r, place);
        return;
    }
    sti_reduce_collect(r, &b->a);
    sti_reduce_collect(r, &b->b);
}

/* ---- stored results ---------------------------------------------------------------------------------------------- */

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

/* Finds the result with this stamp, else one that differs only in generations. NULL: there is none. */
static sti_reduced *find_known(const sti_reduce_query *q, const sti_reduction *r, const sti_stamp *now)
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

/* Adds a new result. If the list is full it replaces the least recently used one. */
static stet_result add_known(sti_known *known, uint64_t id, sti_reduced **out)
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

/* ---- working out ------------------------------------------------------------------------------------------------- */

static stet_result make_code(const sti_reduce_query *q, uint64_t inputs)
{
    const sti_kernel_source *origin = sti_user_kernel_source(q->kernel);
    sti_reducing *r = q->reducing;
    sti_text_buffer text = {0};
    if (r->code) return STET_OK;
    if (!r->out)
        STI_TRY(STI_ARRAY(q->device, "stack sizes", STET_DTYPE_I64, false, &r->out,
                          (int64_t)r->nreduction * STI_REDUCE_BLOCKS));
    sti_reduce_text(r, inputs, &text);
    stet_result result = text.result;
    if (result == STET_OK) {
        stet_kernel_def def = sti_kernel_source_def(origin);
        def.source = text.data;
        def.path = "the sizes of stacks";
        def.team = def.teams = 0;
        result = stet_kernel_create(q->device, &def, &r->code);
    }
    sti_text_buffer_free(&text);
    return result;
}

static uint64_t all_inputs(const sti_reducing *r)
{
    uint64_t inputs = 0;
    for (int k = 0; k < r->nreduction; ++k) inputs |= r->reduction[k].inputs;
    return inputs;
}

/* The number of blocks: enough for the longest outermost range, or the most if a range depends on data. */
static int64_t blocks_of(const sti_reduce_query *q, uint64_t wanted)
{
    int64_t most = 1;
    for (int k = 0; k < q->reducing->nreduction; ++k) {
        const sti_bound *b = q->reducing->reduction[k].bound;
        int64_t from, to;
        if (!(wanted >> k & 1) || b->kind != STI_BOUND_OVER) continue;
        bool data = has_kind(b->a, STI_BOUND_ELEMENT) || has_kind(b->b, STI_BOUND_ELEMENT);
        if (data || sti_reduce_on_host(q, b->a, &from) != STET_OK || sti_reduce_on_host(q, b->b, &to) != STET_OK)
            return STI_REDUCE_BLOCKS;
        int64_t blocks = (to - from + STI_REDUCE_TEAM - 1) / STI_REDUCE_TEAM;
        if (blocks > most) most = blocks;
    }
    return most < STI_REDUCE_BLOCKS ? most : STI_REDUCE_BLOCKS;
}

static stet_result launch(const sti_reduce_query *q, uint64_t wanted, int64_t blocks)
{
    const sti_reducing *r = q->reducing;
    stet_arg args[STI_MAX_PARAMS];
    uint64_t inputs = all_inputs(r);
    int n = 0;
    for (int i = 0; i < r->nparam; ++i) {
        if (!(inputs >> i & 1)) continue;
        if (n + 6 > STI_MAX_PARAMS)
            return sti_error(STET_ERROR_LIMIT, "the sizes of its stacks depend on more than %d arguments", n);
        args[n++] = q->args[i];
        if (r->param[i].kind != STET_ARG_ARRAY) continue;
        args[n++] = stet_arg_int(q->args[i].array ? q->args[i].array->nitem : 0);
    }
    if (inputs >> STI_COUNT_INPUT & 1) args[n++] = stet_arg_int(q->count);
    args[n++] = stet_arg_int((int64_t)wanted);
    args[n++] = stet_arg_int(blocks);
    args[n++] = stet_arg_array(r->out);
    return stet_kernel_launch(r->code, blocks, args, n);
}

/* Computes the wanted reductions (REDUCE-3) into values [reduction]. Leaves the other values as they are. */
static stet_result compute(const sti_reduce_query *q, uint64_t wanted, int64_t *values)
{
    sti_reducing *r = q->reducing;
    int64_t found[STI_REDUCTIONS * STI_REDUCE_BLOCKS];
    size_t size = (size_t)r->nreduction * STI_REDUCE_BLOCKS * sizeof *found;
    STI_TRY(make_code(q, all_inputs(r)));
    int64_t blocks = blocks_of(q, wanted);
    STI_TRY(launch(q, wanted, blocks));
    STI_TRY(sti_device_download_of(q->device, r->out->name, found, r->out->data, size));
    q->device->mechanisms.counters.bytes_copied += (int64_t)size;
    for (int k = 0; k < r->nreduction; ++k) {
        if (!(wanted >> k & 1)) continue;
        const int64_t *of = found + (size_t)k * STI_REDUCE_BLOCKS;
        values[k] = of[0];
        for (int64_t b = 1; b < blocks; ++b)
            if (of[b] > values[k]) values[k] = of[b];
    }
    return STET_OK;
}

/* Computes outside of any list of launches. */
static stet_result compute_unlisted(const sti_reduce_query *q, uint64_t wanted, int64_t *values)
{
    sti_reducing *r = q->reducing;
    bool listing = q->device->listing;
    for (int k = 0; k < r->nreduction; ++k) values[k] = TROUBLE;
    if (r->on_host)
        return sti_fallback(&q->device->mechanisms, STET_MECHANISM_ADSTACK, STET_REASON_ADSTACK_HOST,
                            stet_kernel_get_name(q->kernel));
    q->device->listing = false;
    stet_result result = compute(q, wanted, values);
    q->device->listing = listing;
    return result;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* Stores a value or a failure. Failures that do not depend on the data, such as lack of memory, are returned. */
static stet_result store_value(const sti_reduce_query *q, int k, int64_t value, sti_reduced *out)
{
    out->result = STET_OK;
    out->value = value;
    if (value < TROUBLE) return STET_OK;
    stet_result result = sti_reduce_on_host(q, q->reducing->reduction[k].bound, &out->value);
    if (result != STET_OK && result != STET_ERROR_INVALID_ARGUMENT && result != STET_ERROR_LIMIT) return result;
    out->result = result;
    if (result != STET_OK) (void)snprintf(out->why, sizeof out->why, "%s", stet_get_last_error());
    return STET_OK;
}

/* Audit: compares a stored result with the new value. */
static stet_result audit_value(const sti_reduce_query *q, int k, int64_t value)
{
    sti_reduced again = {0};
    const sti_reduced *stood = q->found[k];
    STI_TRY(store_value(q, k, value, &again));
    if (again.result == stood->result && (again.result != STET_OK || again.value == stood->value)) return STET_OK;
    return sti_error(
        STET_ERROR_AUDIT,
        "adstack: kernel %s: a maximum stood at %lld and is %lld: an array that it is taken over was written "
        "without being announced",
        stet_kernel_get_name(q->kernel), (long long)stood->value, (long long)again.value);
}

typedef struct lookup {
    sti_reduce_query *q;
    sti_stamp now;
    sti_reduced *own[STI_REDUCTIONS]; /* the entry for the result; NULL: none so far */
    stet_reason why[STI_REDUCTIONS];
    uint64_t missed, audited;
} lookup;

static void look_up(lookup *a, int k)
{
    sti_reduce_query *q = a->q;
    sti_mechanisms *m = &q->device->mechanisms;
    const sti_reduction *r = &q->reducing->reduction[k];
    bool enabled = sti_enabled(m, STET_MECHANISM_ADSTACK);
    sti_reduce_stamp(q, r->inputs, &a->now);
    sti_reduced *own = find_known(q, r, &a->now);
    a->own[k] = own;
    if (own) own->used = ++q->known->clock;
    if (enabled && own && sti_stamp_equal(&own->stamp, &a->now)) {
        q->found[k] = own;
        sti_count_hit(m, STET_MECHANISM_ADSTACK, 0, 0);
        if (m->options.audit) a->audited |= UINT64_C(1) << k;
        return;
    }
    a->missed |= UINT64_C(1) << k;
    a->why[k] = !enabled       ? STET_REASON_ADSTACK_DISABLED
                : !own         ? STET_REASON_ADSTACK_FIRST
                : q->overflown ? STET_REASON_ADSTACK_OVERFLOW
                : q->exported  ? STET_REASON_ADSTACK_EXPORTED
                               : STET_REASON_ADSTACK_MOVED;
}

static stet_result store_result(lookup *a, int k, int64_t value)
{
    sti_reduce_query *q = a->q;
    const sti_reduction *r = &q->reducing->reduction[k];
    sti_reduced *own = a->own[k];
    if (!own) STI_TRY(add_known(q->known, r->id, &own));
    sti_stamp_invalidate(&own->stamp);
    own->used = ++q->known->clock;
    STI_TRY(store_value(q, k, value, own));
    sti_reduce_stamp(q, r->inputs, &a->now);
    sti_stamp_keep(&own->stamp, &a->now);
    q->found[k] = own;
    return STET_OK;
}

static stet_result compute_missing(lookup *a)
{
    sti_reduce_query *q = a->q;
    sti_mechanisms *m = &q->device->mechanisms;
    int64_t values[STI_REDUCTIONS] = {0}, launches = 1, bytes = 0;
    if (!(a->missed | a->audited)) return STET_OK;
    STI_TRY(compute_unlisted(q, a->missed | a->audited, values));
    if (q->reducing->out) bytes = (int64_t)q->reducing->out->size;
    for (int k = 0; k < q->reducing->nreduction; ++k) {
        if (a->audited >> k & 1) STI_TRY(audit_value(q, k, values[k]));
        if (!(a->missed >> k & 1)) continue;
        STI_TRY(store_result(a, k, values[k]));
        /* one launch computes all of them: count it once */
        sti_count_miss(m, STET_MECHANISM_ADSTACK, a->why[k], launches, bytes);
        launches = bytes = 0;
    }
    return STET_OK;
}

stet_result sti_reduce(sti_reduce_query *q)
{
    lookup a = {.q = q};
    if (q->reducing->more)
        STI_TRY(sti_fallback(&q->device->mechanisms, STET_MECHANISM_ADSTACK, STET_REASON_ADSTACK_HOST,
                             stet_kernel_get_name(q->kernel)));
    for (int k = 0; k < q->reducing->nreduction; ++k) look_up(&a, k);
    stet_result result = compute_missing(&a);
    sti_stamp_free(&a.now);
    for (int k = 0; k < q->reducing->nreduction && result == STET_OK; ++k)
        if (q->found[k]->result != STET_OK) result = sti_error(q->found[k]->result, "%s", q->found[k]->why);
    return result;
}

void sti_reducing_free(sti_reducing *r)
{
    stet_kernel_destroy(r->code);
    stet_array_destroy(r->out);
    *r = (sti_reducing){0};
}
