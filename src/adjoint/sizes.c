/* Sizes of stacks; see sizes.h. */
#include "adjoint/sizes.h"

#include "adjoint/adjoint.h"
#include "base/error.h"
#include "device/face.h"

#include <inttypes.h>
#include <string.h>

void sti_sizing_open(sti_sizing *s, const sti_adjoint_kernel *k, const stet_kernel_param *param, int nparam)
{
    s->bound[STI_WIDTH] = k->width;
    s->bound[STI_DEPTH] = k->depth;
    s->bound[STI_ENTRIES] = k->entries;
    s->reducing.param = param;
    s->reducing.nparam = nparam;
    for (int i = 0; i < STI_SIZES; ++i) {
        s->inputs |= sti_reduce_inputs(&s->reducing, s->bound[i]);
        sti_reduce_collect(&s->reducing, s->bound[i]);
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

/* ---- working out -------------------------------------------------------------------------------------------------- */

typedef struct finding {
    sti_sizing *s;
    sti_question q;
    sti_sized *to;
} finding;

static stet_result make(void *context)
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

/* Z2. Lists are played first where they write what is asked for; nothing else of the host's reading is needed. */
static stet_result bring_up(finding *f)
{
    stet_device *device = f->q.device;
    for (int i = 0; i < f->s->reducing.nparam; ++i) {
        if (!(f->s->inputs >> i & 1) || f->q.args[i].kind != STET_ARG_ARRAY || !f->q.args[i].array) continue;
        stet_array *a = (stet_array *)(uintptr_t)f->q.args[i].array;
        STI_TRY(sti_before(device, STI_ACT_READ, a, a->name));
        if (sti_array_settled(a)) continue;
        f->q.exported |= sti_array_look(a);
        STI_TRY(sti_array_produce(a));
    }
    return STET_OK;
}

/* The one that was made from the same, or the one that was not used the longest. */
static sti_sized *choose(sti_sizing *s, const sti_stamp *now)
{
    sti_sized *oldest = &s->kept[0];
    for (int i = 0; i < STI_SIZED; ++i) {
        if (sti_stamp_equal(&s->kept[i].stamp, now)) return &s->kept[i];
        if (s->kept[i].used < oldest->used) oldest = &s->kept[i];
    }
    return oldest;
}

static stet_result check(const char *name, const int64_t size[STI_SIZES])
{
    const int64_t most = INT32_MAX;
    if (size[STI_WIDTH] <= most && size[STI_DEPTH] <= most && size[STI_ENTRIES] <= most) return STET_OK;
    return sti_error(STET_LIMIT,
                     "kernel %s_adj: its stacks would have %" PRId64 " columns of %" PRId64
                     " slots and lists of %" PRId64 ": its arguments are no sensible counts",
                     name, size[STI_WIDTH], size[STI_DEPTH], size[STI_ENTRIES]);
}

static stet_result find(finding *f, const sti_stamp *now, int64_t size[STI_SIZES])
{
    f->to = choose(f->s, now);
    sti_span output = {f->to->size, sizeof f->to->size, NULL};
    const sti_work work = {.mechanism = STET_MECH_adstack_handle,
                           .why = f->to->used ? STET_REASON_adstack_handle_moved : STET_REASON_adstack_handle_first,
                           .what = stet_kernel_name(f->q.kernel),
                           .kept = &f->to->stamp,
                           .now = now,
                           .make = make,
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
    finding f = {.s = s};
    sti_stamp own = {0}, *now = s->asked ? &own : &s->now;
    bool asked = s->asked;
    f.q.device = sti_user_kernel_device(kernel);
    f.q.reducing = &s->reducing;
    f.q.known = known;
    f.q.kernel = kernel;
    f.q.args = args;
    f.q.count = count;
    f.q.overflown = s->overflown;
    stet_result result = bring_up(&f);
    s->asked = true;
    if (result == STET_OK) {
        sti_reduce_stamp(&f.q, s->inputs, now);
        result = find(&f, now, size);
    }
    s->asked = asked;
    sti_stamp_free(&own);
    if (result == STET_OK) return check(stet_kernel_name(kernel), size);
    return sti_error_prefix(result, "kernel %s_adj", stet_kernel_name(kernel));
}
