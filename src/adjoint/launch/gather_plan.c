/*
 * Makes gather plans and keeps them while their inputs are unchanged; see gather_plan.h.
 */
#include "adjoint/launch/gather_plan.h"

#include "adjoint/launch/handle.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/host_mirror.h"
#include "kernel/record/record.h"

#include <stdlib.h>
#include <string.h>

/* After this many consecutive plans of no use, a launch must repeat before it gets a plan. */
enum { WASTED = 4 };

/* Elements with more entries than this are summed by a warp (stet/lang_list.h). */
enum { LONG = 24 };

static void drop(sti_gather_plan *plan)
{
    stet_array_destroy(plan->array);
    sti_free(plan->words);
    plan->array = NULL;
    plan->words = NULL;
    plan->nword = 0;
}

void sti_gather_plans_free(sti_planning *p)
{
    for (int i = 0; i < STI_PLANS; ++i) {
        drop(&p->kept[i]);
        sti_stamp_free(&p->kept[i].stamp);
    }
    sti_stamp_free(&p->now);
    sti_stamp_free(&p->seen);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static int by_element(const void *x, const void *y)
{
    const sti_place_listed *a = x, *b = y;
    if (a->array != b->array) return a->array < b->array ? -1 : 1;
    if (a->element != b->element) return a->element < b->element ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Returns the end of the run of entries from `first` on that have the same element. */
static int64_t end_of(const sti_place_listed *entry, int64_t first, int64_t n)
{
    int64_t end = first + 1;
    while (end < n && entry[end].array == entry[first].array && entry[end].element == entry[first].element) ++end;
    return end;
}

/*
 * Writes the rows of one array: those with many entries, or those with few. Returns their number. `slots` is where the
 * slots of the entries begin.
 */
static int32_t put_rows(const sti_place_listed *entry, int64_t from, int64_t to, bool many, int32_t slots, int32_t *row)
{
    int32_t n = 0;
    int64_t at = 0;
    for (int64_t first = from, end; first < to; first = end) {
        end = end_of(entry, first, to);
        if ((end - first > LONG) != many) continue;
        row[at++] = entry[first].element;
        row[at++] = slots + (int32_t)first;
        row[at++] = (int32_t)(end - first);
        ++n;
    }
    return n;
}

stet_result sti_plan_words(sti_place_listed *entry, int64_t n, int narray, int32_t **out, int64_t *nword)
{
    int64_t nrow = 0, at = 0;
    if (n > 0) qsort(entry, (size_t)n, sizeof *entry, by_element);
    for (int64_t i = 0; i < n; i = end_of(entry, i, n)) ++nrow;
    *nword = narray + 2 * (int64_t)narray + 3 * nrow + n;
    if (*nword > INT32_MAX) return sti_error(STET_ERROR_LIMIT, "a plan of %lld words", (long long)*nword);
    STI_TRY(sti_alloc(out, (size_t)*nword * sizeof **out + 1, "a plan of what a gradient gathers"));
    int32_t *word = *out, next = narray, slots = (int32_t)(*nword - n);
    for (int a = 0; a < narray; ++a) {
        int64_t end = at;
        while (end < n && entry[end].array == a) ++end;
        word[a] = next;
        int32_t many = put_rows(entry, at, end, true, slots, word + next + 2);
        int32_t few = put_rows(entry, at, end, false, slots, word + next + 2 + 3 * (int64_t)many);
        word[next] = many;
        word[next + 1] = many + few;
        next += 2 + 3 * (many + few);
        at = end;
    }
    for (int64_t i = 0; i < n; ++i) word[slots + i] = entry[i].slot;
    return STET_OK;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

typedef struct making {
    const sti_adjoint_call *call;
    sti_gather_plan *to;
    bool is_valid; /* the plan is still valid, so this is an audit */
} making;

static int count_arrays(const stet_adjoint *a)
{
    int n = 0;
    for (int i = 0; i < a->nparam; ++i)
        if (a->listed[i] >= n) n = a->listed[i] + 1;
    return n;
}

static stet_result upload(const making *m, int32_t *words, int64_t nword)
{
    stet_array *array;
    STI_TRY(STI_ARRAY(m->call->adjoint->stacks->device, "a plan of gathers", STET_DTYPE_INT, false, &array, nword));
    stet_result result = stet_array_write(array, words, (size_t)nword * sizeof *words);
    if (result == STET_OK) result = sti_array_to_device(array);
    if (result != STET_OK) {
        stet_array_destroy(array);
        return result;
    }
    sti_array_held_by(array, STET_MECHANISM_GATHER_PLAN);
    drop(m->to);
    m->to->array = array;
    m->to->words = words;
    m->to->nword = nword;
    return STET_OK;
}

/* An equal plan keeps its array, so in an audit nothing is replaced. */
static stet_result make_plan(void *context)
{
    const making *m = context;
    sti_place_listed *entry = NULL;
    int32_t *words = NULL;
    int64_t n, nword;
    STI_TRY(sti_places_of(m->call, &entry, &n));
    stet_result result = sti_plan_words(entry, n, count_arrays(m->call->adjoint), &words, &nword);
    sti_free(entry);
    STI_TRY(result);
    bool same =
        m->to->array && m->to->nword == nword && memcmp(m->to->words, words, (size_t)nword * sizeof *words) == 0;
    if (m->is_valid && !same)
        result = sti_error(STET_ERROR_AUDIT,
                           "gather_plan: kernel %s: its plan stood and is another one: an array of indices was written "
                           "without being announced",
                           stet_kernel_get_name(m->call->adjoint->kernel));
    else if (!same)
        result = upload(m, words, nword);
    if (same || result != STET_OK) sti_free(words);
    return result;
}

/* Makes a plan outside of any list of launches. */
static stet_result make_beside(void *context)
{
    const making *m = context;
    stet_device *device = m->call->adjoint->stacks->device;
    bool listing = device->listing;
    device->listing = false;
    stet_result result = make_plan(context);
    device->listing = listing;
    return result;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* True for plain whole numbers, single or in an array. */
static bool affects_plan(const sti_adjoint_call *c, int i)
{
    const stet_array *array = c->args[i].array;
    if (c->args[i].kind == STET_ARG_INT) return true;
    return c->args[i].kind == STET_ARG_ARRAY && (!array || (!array->worlds && array->dtype != STET_DTYPE_REAL));
}

/* PLAN-2. */
static void list_stamp(const sti_adjoint_call *c, sti_stamp *s)
{
    const stet_adjoint *a = c->adjoint;
    sti_stamp_begin(s);
    sti_stamp_add_value(s, (uint64_t)c->size[STI_WIDTH]);
    sti_stamp_add_value(s, (uint64_t)c->size[STI_DEPTH]);
    for (int i = 0; i < a->nparam; ++i) {
        const stet_array *array = c->args[i].array;
        if (!affects_plan(c, i)) continue;
        if (c->args[i].kind == STET_ARG_INT) {
            sti_stamp_add_value(s, (uint64_t)c->args[i].i);
        } else {
            sti_stamp_add(s, array ? &array->version : NULL);
            sti_stamp_add_value(s, array ? (uint64_t)array->size : 0);
        }
    }
}

/* Brings these arrays up to date. *why: the reason that this launch can have no plan, or none. */
static stet_result bring_up_to_date(const sti_adjoint_call *c, stet_reason *why)
{
    const stet_adjoint *a = c->adjoint;
    const stet_device *device = a->stacks->device;
    *why = STET_REASON_NONE;
    for (int i = 0; i < a->nparam; ++i) {
        stet_array *array =
            (stet_array *)(uintptr_t)(affects_plan(c, i) && c->args[i].kind == STET_ARG_ARRAY ? c->args[i].array
                                                                                              : NULL);
        if (!array) continue;
        if (array->outside || sti_array_poll_external_writes(array)) *why = STET_REASON_GATHER_PLAN_EXPORTED;
        if (device->listing && sti_list_touches(sti_record_pending(device), array, true))
            *why = STET_REASON_GATHER_PLAN_LISTED;
        else if (!sti_array_is_current(array))
            STI_TRY(sti_array_produce(array));
    }
    return STET_OK;
}

static sti_gather_plan *choose(sti_planning *p, const sti_stamp *now)
{
    sti_gather_plan *oldest = &p->kept[0];
    for (int i = 0; i < STI_PLANS; ++i) {
        if (sti_stamp_equal(&p->kept[i].stamp, now)) return &p->kept[i];
        if (p->kept[i].used < oldest->used) oldest = &p->kept[i];
    }
    return oldest;
}

/* True if the data changes in each launch: then plans would cost more than they save. */
static bool is_too_volatile(sti_planning *p, const sti_gather_plan *to)
{
    if (to->array && !to->again)
        p->wasted++;
    else if (to->array)
        p->wasted = 0;
    bool before = sti_stamp_equal(&p->seen, &p->now);
    sti_stamp_keep(&p->seen, &p->now);
    return p->wasted >= WASTED && !before;
}

static stet_result find_plan(const sti_adjoint_call *c, sti_planning *p, stet_array **out)
{
    sti_mechanisms *m = &c->adjoint->stacks->device->mechanisms;
    making it = {.call = c, .to = choose(p, &p->now)};
    it.is_valid = sti_stamp_equal(&it.to->stamp, &p->now);
    sti_work work = {.mechanism = STET_MECHANISM_GATHER_PLAN,
                     .why = it.to->array ? STET_REASON_GATHER_PLAN_MOVED : STET_REASON_GATHER_PLAN_FIRST,
                     .what = stet_kernel_get_name(c->adjoint->kernel),
                     .kept = &it.to->stamp,
                     .now = &p->now,
                     .make = make_beside,
                     .context = &it};
    if (!it.is_valid && is_too_volatile(p, it.to)) {
        sti_count_miss(m, STET_MECHANISM_GATHER_PLAN, STET_REASON_GATHER_PLAN_RESTLESS, 0, 0);
        return STET_OK;
    }
    stet_result result = sti_let_stand(m, &work);
    if (result == STET_ERROR_LIMIT) {
        sti_count_miss(m, STET_MECHANISM_GATHER_PLAN, STET_REASON_GATHER_PLAN_LARGE, 0, 0);
        return STET_OK;
    }
    STI_TRY(result);
    it.to->again = it.is_valid;
    it.to->used = ++p->clock;
    *out = it.to->array;
    return STET_OK;
}

stet_result sti_gather_plan_find(const sti_adjoint_call *c, stet_array **out)
{
    stet_adjoint *a = c->adjoint;
    stet_device *device = a->stacks->device;
    stet_reason why = STET_REASON_GATHER_PLAN_DISABLED;
    *out = NULL;
    if (!a->k->uniform || !device->can.teams || sti_device_capture(device)) return STET_OK;
    if (sti_enabled(&device->mechanisms, STET_MECHANISM_GATHER_PLAN)) STI_TRY(bring_up_to_date(c, &why));
    if (why != STET_REASON_NONE) {
        sti_count_miss(&device->mechanisms, STET_MECHANISM_GATHER_PLAN, why, 0, 0);
        return STET_OK;
    }
    list_stamp(c, &a->planning.now);
    return find_plan(c, &a->planning, out);
}
