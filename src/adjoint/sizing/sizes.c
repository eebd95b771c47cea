/*
 * Computes and caches sizes of stacks; see sizes.h.
 */
#include "adjoint/sizing/sizes.h"

#include "base/error.h"
#include "device/host_mirror.h"

#include <inttypes.h>
#include <string.h>

void sti_sizing_open(sti_sizing *s, sti_bound *const bound[STI_SIZES], const stet_kernel_param *param, int nparam)
{
    s->reducing.param = param;
    s->reducing.nparam = nparam;
    for (int i = 0; i < STI_SIZES; ++i) {
        s->bound[i] = bound[i];
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

/* ---- working out ------------------------------------------------------------------------------------------------- */

typedef struct finding {
    sti_sizing *s;
    sti_question q;
    sti_sized *to;
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
        STI_TRY(sti_before(device, STI_ACT_READ, a, a->name));
        if (sti_array_is_current(a)) continue;
        f->q.exported |= sti_array_poll_external_writes(a);
        STI_TRY(sti_array_produce(a));
    }
    return STET_OK;
}

/* Returns the entry with this stamp, else the least recently used one. */
static sti_sized *choose_entry(sti_sizing *s, const sti_stamp *now)
{
    sti_sized *oldest = &s->kept[0];
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

/* ---- the launch before ------------------------------------------------------------------------------------------- */

/* True if an array is unchanged, and nothing has to bring it up to date. */
static bool array_is_unchanged(const stet_device *device, const stet_array *a, const uint64_t *word)
{
    if (!a) return word[0] == 0 && word[1] == 0 && word[2] == 0;
    return word[0] == a->version.id && word[1] == a->version.generation && word[2] == (uint64_t)a->nitem &&
           sti_array_is_current(a) && !device->listing;
}

/* Compares the launch with the latest stamp (SIZES-3). The words have the order of sti_reduce_stamp. */
static bool latest_is_valid(const sti_sizing *s, const stet_device *device, int64_t count, const stet_arg *args)
{
    const sti_stamp *stamp = &s->latest->stamp;
    const uint64_t *word = stamp->capacity > 0 ? stamp->more : stamp->few, *end = word + stamp->count;
    if (!stamp->valid || stamp->failed) return false;
    if (s->inputs >> STI_COUNT_INPUT & 1 && *word++ != (uint64_t)count) return false;
    for (int i = 0; i < s->reducing.nparam; ++i) {
        bool array = s->reducing.param[i].kind == STET_ARG_ARRAY;
        if (!(s->inputs >> i & 1)) continue;
        if (array ? !array_is_unchanged(device, args[i].array, word) : *word != (uint64_t)args[i].i) return false;
        word += array ? 3 : 1;
    }
    return word == end;
}

static bool reuse_latest(sti_sizing *s, stet_device *device, int64_t count, const stet_arg *args, int64_t *size)
{
    sti_mechanisms *m = &device->mechanisms;
    if (!s->latest || s->asked || s->overflown || m->options.audit || !sti_enabled(m, STET_MECHANISM_ADSTACK_HANDLE) ||
        !latest_is_valid(s, device, count, args))
        return false;
    sti_count_hit(m, STET_MECHANISM_ADSTACK_HANDLE, 0, 0);
    s->latest->used = ++s->clock;
    memcpy(size, s->latest->size, sizeof s->latest->size);
    return true;
}

stet_result sti_sizing_find(sti_sizing *s, const stet_kernel *kernel, sti_known *known, int64_t count,
                            const stet_arg *args, int64_t size[STI_SIZES])
{
    if (reuse_latest(s, sti_user_kernel_device(kernel), count, args, size)) return STET_OK;
    s->latest = NULL; /* until sizes were found */
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
    stet_result result = bring_up_to_date(&f);
    s->asked = true;
    if (result == STET_OK) {
        sti_reduce_stamp(&f.q, s->inputs, now);
        result = find_sizes(&f, now, size);
    }
    s->asked = asked;
    sti_stamp_free(&own);
    if (result == STET_OK) {
        STI_TRY(check_sizes(stet_kernel_get_name(kernel), size));
        s->latest = f.to;
        return STET_OK;
    }
    return sti_error_prefix(result, "kernel %s_adj", stet_kernel_get_name(kernel));
}
