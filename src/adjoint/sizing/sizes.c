/*
 * Computes and caches sizes of stacks; see sizes.h.
 */
#include "adjoint/sizing/sizes.h"

#include "base/error.h"
#include "device/host_mirror.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

void sti_sizing_open(sti_sizing *s, sti_bound *const bound[STI_SIZES], const stet_kernel_param *param, int nparam)
{
    s->reducing.param = param;
    s->reducing.nparam = nparam;
    for (int i = 0; i < STI_SIZES; ++i) {
        s->bound[i] = bound[i];
        s->inputs |= sti_reduce_inputs(&s->reducing, s->bound[i]);
        sti_reduce_collect(&s->reducing, &s->bound[i]);
    }
}

void sti_sizing_free(sti_sizing *s)
{
    for (int i = 0; i < STI_SIZED; ++i) sti_stamp_free(&s->kept[i].stamp);
    sti_stamp_free(&s->now);
    sti_reducing_free(&s->reducing);
}

void sti_sizing_overflown(sti_sizing *s, const stet_arg *args)
{
    s->overflown = true;
    for (int i = 0; i < s->reducing.nparam; ++i)
        if (s->inputs >> i & 1 && args[i].kind == STET_ARG_ARRAY && args[i].array)
            stet_array_mark_written((stet_array *)(uintptr_t)args[i].array);
}

/* ---- working out ------------------------------------------------------------------------------------------------- */

typedef struct finding {
    sti_sizing *s;
    sti_reduce_query q;
    sti_sizes_entry *to;
} finding;

static stet_result make_sizes(void *context)
{
    finding *f = context;
    int64_t size[STI_SIZES];
    STI_TRY(sti_reduce(&f->q));
    for (int i = 0; i < STI_SIZES; ++i) {
        size[i] = 1;
        if (f->s->bound[i]) STI_TRY(sti_reduce_evaluate(&f->q, f->s->bound[i], &size[i]));
        if (size[i] < 1) size[i] = 1;
    }
    memcpy(f->to->size, size, sizeof size);
    return STET_OK;
}

/*
 * Brings the inputs up to date (SIZES-2). Plays a pending list that writes one of them. Needs no download to the host.
 */
static stet_result bring_up_to_date(finding *f)
{
    stet_device *device = f->q.device;
    for (int i = 0; i < f->s->reducing.nparam; ++i) {
        if (!(f->s->inputs >> i & 1) || f->q.args[i].kind != STET_ARG_ARRAY || !f->q.args[i].array) continue;
        stet_array *a = (stet_array *)(uintptr_t)f->q.args[i].array;
        STI_TRY(sti_before_host_access(device, STI_ACT_READ, a, a->name));
        if (sti_array_is_current(a)) continue;
        f->q.exported |= sti_array_poll_external_writes(a);
        STI_TRY(sti_array_produce(a));
    }
    return STET_OK;
}

/* Returns the entry with this stamp, else the least recently used one. */
static sti_sizes_entry *choose_entry(sti_sizing *s, const sti_stamp *now)
{
    sti_sizes_entry *oldest = &s->kept[0];
    for (int i = 0; i < STI_SIZED; ++i) {
        if (sti_stamp_equal(&s->kept[i].stamp, now)) return &s->kept[i];
        if (s->kept[i].used < oldest->used) oldest = &s->kept[i];
    }
    return oldest;
}

static stet_result check_sizes(const char *name, const int64_t size[STI_SIZES])
{
    const int64_t most = INT32_MAX;
    if (size[STI_WIDTH] <= most && size[STI_DEPTH] <= most && size[STI_ENTRIES] <= most) return STET_OK;
    return sti_error(STET_ERROR_LIMIT,
                     "kernel %s_adj: its stacks would have %" PRId64 " columns of %" PRId64
                     " slots and lists of %" PRId64 ": its arguments are no sensible counts",
                     name, size[STI_WIDTH], size[STI_DEPTH], size[STI_ENTRIES]);
}

static stet_result find_sizes(finding *f, const sti_stamp *now, int64_t size[STI_SIZES])
{
    f->to = choose_entry(f->s, now);
    sti_span output = {f->to->size, sizeof f->to->size, NULL};
    const sti_work work = {.mechanism = STET_MECHANISM_ADSTACK_HANDLE,
                           .why = f->to->used ? STET_REASON_ADSTACK_HANDLE_MOVED : STET_REASON_ADSTACK_HANDLE_FIRST,
                           .what = stet_kernel_get_name(f->q.kernel),
                           .kept = &f->to->stamp,
                           .now = now,
                           .make = make_sizes,
                           .context = f,
                           .outputs = &output,
                           .noutput = 1};
    STI_TRY(sti_let_stand(&f->q.device->mechanisms, &work));
    f->to->used = ++f->s->clock;
    f->s->overflown = false;
    memcpy(size, f->to->size, sizeof f->to->size);
    return STET_OK;
}

stet_result sti_sizing_find(sti_sizing *s, const stet_kernel *kernel, sti_known *known, int64_t count,
                            const stet_arg *args, int64_t size[STI_SIZES])
{
    finding f = {.s = s,
                 .q = {.device = sti_user_kernel_device(kernel),
                       .reducing = &s->reducing,
                       .known = known,
                       .kernel = kernel,
                       .args = args,
                       .count = count,
                       .overflown = s->overflown}};
    sti_stamp own = {0}, *now = s->nested ? &own : &s->now;
    bool nested = s->nested;
    assert(args && count >= 0);
    stet_result result = bring_up_to_date(&f);
    s->nested = true;
    if (result == STET_OK) {
        sti_reduce_stamp(&f.q, s->inputs, now);
        result = find_sizes(&f, now, size);
    }
    s->nested = nested;
    sti_stamp_free(&own);
    sti_validate_known(known);
    if (result == STET_OK) return check_sizes(stet_kernel_get_name(kernel), size);
    return sti_error_prefix(result, "kernel %s_adj", stet_kernel_get_name(kernel));
}
