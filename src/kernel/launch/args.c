/* Blocks of arguments; see args.h for the invariants. */
#include "kernel/launch/args.h"

#include "kernel/record/record.h"
#include "kernel/launch/launch_observer.h"

#include <assert.h>
#include <string.h>

/* The capacity of a block is a multiple of whole cache lines. */
enum { STEP = STI_ALIGN / sizeof(sti_slot) };

static_assert(sizeof(sti_slot) == 16 && STI_ALIGN % sizeof(sti_slot) == 0, "slots have no padding, and fill lines");

static void count_held(stet_device *device, int64_t slots)
{
    device->mechanisms.counters.mechanism[STET_MECH_args].held_bytes += slots * (int64_t)sizeof(sti_slot);
}

void sti_args_free(stet_device *device, sti_args *a)
{
    if (a->block) device->ops->free(device, a->block);
    count_held(device, -a->capacity);
    sti_free(a->shadow);
    sti_free(a->next);
    *a = (sti_args){0};
}

void sti_args_mark_written(sti_args *a) { a->known = 0; }

/* ARGS-3. The old block is freed only after the new one was allocated. */
static stet_result reserve(stet_device *device, sti_args *a, int nslot, const char *what)
{
    if (nslot <= a->capacity) return STET_OK;
    sti_args bigger = {.capacity = (nslot + STEP - 1) / STEP * STEP};
    size_t size = (size_t)bigger.capacity * sizeof(sti_slot);
    stet_result result = sti_alloc(&bigger.shadow, size, what);
    if (result == STET_OK) result = sti_alloc(&bigger.next, size, what);
    if (result == STET_OK) {
        void *block = NULL;
        result = device->ops->alloc(device, size, what, &block);
        bigger.block = block;
    }
    count_held(device, bigger.capacity);
    if (result != STET_OK) {
        sti_args_free(device, &bigger);
        return result;
    }
    sti_args_free(device, a);
    *a = bigger;
    return STET_OK;
}

/* ---- uploading --------------------------------------------------------------------------------------------------- */

/*
 * Copies the slots to `next` and zeroes the slots behind them, which a longer launch may have used (ARGS-2). The
 * block's content is unknown from here until commit_upload.
 */
static void fill_next(sti_args *a, const sti_slot *slots, int nslot)
{
    memset(a->next + nslot, 0, (size_t)(a->capacity - nslot) * sizeof *a->next);
    memcpy(a->next, slots, (size_t)nslot * sizeof *slots);
    a->known = 0;
}

static stet_result upload(stet_device *device, const sti_args *a, int from, int n)
{
    size_t size = (size_t)n * sizeof *a->next;
    STI_TRY(sti_device_upload(device, a->block + from, a->next + from, size));
    device->mechanisms.counters.bytes_copied += (int64_t)size;
    return STET_OK;
}

/* Makes the uploaded slots the shadow, after all uploads succeeded (ARGS-1, ARGS-4). */
static void commit_upload(sti_args *a, int nslot)
{
    sti_slot *shadow = a->next;
    a->next = a->shadow;
    a->shadow = shadow;
    a->known = nslot;
}

/*
 * Compares the block on the device with the shadow, for an audit. *byte: the first byte that differs; -1: there is
 * none.
 */
static stet_result compare_block(stet_device *device, sti_args *a, ptrdiff_t *byte)
{
    sti_slot *found;
    size_t size = (size_t)a->capacity * sizeof *found;
    *byte = -1;
    STI_TRY(sti_alloc(&found, size, "the audit's copy of a block of arguments"));
    stet_result result = sti_device_download(device, found, a->block, size);
    for (size_t k = 0; result == STET_OK && *byte < 0 && k < size; ++k)
        if (((const char *)found)[k] != ((const char *)a->shadow)[k]) *byte = (ptrdiff_t)k;
    sti_free(found);
    if (*byte >= 0) a->known = 0;
    return result;
}

static stet_result was_written(const char *what, ptrdiff_t byte)
{
    return sti_error(
        STET_AUDIT,
        "args: kernel %s: its block of arguments changed at byte %td though nobody uploaded it: some kernel "
        "writes where it must not, or a write was not announced",
        what, byte);
}

/* ---- one launch -------------------------------------------------------------------------------------------------- */

static stet_result audit(stet_device *device, sti_args *a, const char *what)
{
    ptrdiff_t byte;
    STI_TRY(compare_block(device, a, &byte));
    return byte < 0 ? STET_OK : was_written(what, byte);
}

stet_result sti_args_put(stet_device *device, sti_args *a, const char *what, const sti_slot *slots, int nslot,
                         const sti_slot **out)
{
    sti_mechanisms *m = &device->mechanisms;
    int64_t size = nslot * (int64_t)sizeof *slots;
    bool enabled = sti_enabled(m, STET_MECH_args);
    *out = a->block;
    if (nslot == 0) return STET_OK;
    if (enabled && a->known == nslot && memcmp(a->shadow, slots, (size_t)size) == 0) {
        if (m->options.audit) STI_TRY(audit(device, a, what));
        sti_count_hit(m, STET_MECH_args, 0, size);
        return STET_OK;
    }
    stet_reason why = !a->block             ? STET_REASON_args_first
                      : nslot > a->capacity ? STET_REASON_args_grown
                      : a->known == 0       ? STET_REASON_args_unknown
                                            : STET_REASON_args_changed;
    int n = why == STET_REASON_args_unknown ? a->capacity : nslot > a->known ? nslot : a->known;
    STI_TRY(reserve(device, a, nslot, what));
    fill_next(a, slots, nslot);
    STI_TRY(upload(device, a, 0, n));
    commit_upload(a, nslot);
    sti_count_miss(m, STET_MECH_args, enabled ? why : STET_REASON_args_disabled, 0, n * (int64_t)sizeof *slots);
    *out = a->block;
    return STET_OK;
}

/* ---- the launches of a list -------------------------------------------------------------------------------------- */

/*
 * Two changed ranges with at most so many equal slots between them are uploaded at once: one more upload costs more
 * than 16 KiB do.
 */
enum { BRIDGE = 1024 };

static bool is_site(const sti_op *op) { return op->kind == STI_OP_LAUNCH && op->nslot > 0; }

static stet_result audit_list(stet_device *device, sti_args *a, const sti_list *l)
{
    ptrdiff_t byte;
    STI_TRY(compare_block(device, a, &byte));
    if (byte < 0) return STET_OK;
    const char *kernel = "?";
    ptrdiff_t begin = 0;
    for (int i = 0; i < l->nop; ++i) {
        ptrdiff_t first = l->op[i].slot * (ptrdiff_t)sizeof *a->block;
        if (!is_site(&l->op[i]) || first > byte) continue;
        kernel = l->op[i].kernel->name;
        begin = first;
    }
    return was_written(kernel, byte - begin);
}

/* An upload of a list's arguments, whose slots are in `next`. `all`: upload all of them, `why`: the reason to count. */
typedef struct args_upload {
    stet_device *device;
    sti_args *a;
    const sti_list *list;
    bool all;
    stet_reason why;
} args_upload;

static bool differs(const args_upload *s, const sti_op *op)
{
    return s->all ||
           memcmp(s->a->shadow + op->slot, s->a->next + op->slot, (size_t)op->nslot * sizeof *s->a->next) != 0;
}

/* *sent: slots that were uploaded. */
static stet_result upload_changed(const args_upload *s, int64_t *sent)
{
    int begin = 0, end = -1; /* the range to upload: empty so far */
    *sent = 0;
    for (int i = 0; i < s->list->nop; ++i) {
        const sti_op *op = &s->list->op[i];
        if (!is_site(op) || !differs(s, op)) continue;
        if (end >= 0 && op->slot - end > BRIDGE) {
            STI_TRY(upload(s->device, s->a, begin, end - begin));
            *sent += end - begin;
            end = -1;
        }
        if (end < 0) begin = op->slot;
        end = op->slot + op->nslot;
    }
    *sent += end - begin;
    return upload(s->device, s->a, begin, end - begin);
}

/* Counts each launch. Equal slots that were uploaded between changed ones count as done bytes of no launch. */
static void count_sent(const args_upload *s, int64_t sent)
{
    sti_mechanisms *m = &s->device->mechanisms;
    const int64_t size = sizeof *s->a->next;
    for (int i = 0; i < s->list->nop; ++i) {
        const sti_op *op = &s->list->op[i];
        if (!is_site(op)) continue;
        if (differs(s, op)) {
            sti_count_miss(m, STET_MECH_args, s->why, 0, op->nslot * size);
            sent -= op->nslot;
        } else {
            sti_count_hit(m, STET_MECH_args, 0, op->nslot * size);
        }
    }
    m->counters.mechanism[STET_MECH_args].done_bytes += sent * size;
    m->counters.mechanism[STET_MECH_args].saved_bytes -= sent * size;
}

stet_result sti_args_put_list(stet_device *device, sti_args *a, const sti_list *list)
{
    sti_mechanisms *m = &device->mechanisms;
    size_t size = (size_t)list->nslot * sizeof *list->slot;
    bool enabled = sti_enabled(m, STET_MECH_args);
    if (list->nslot == 0) return STET_OK;
    if (enabled && a->known == list->nslot && m->options.audit) STI_TRY(audit_list(device, a, list));
    if (enabled && a->known == list->nslot && memcmp(a->shadow, list->slot, size) == 0) {
        m->counters.mechanism[STET_MECH_args].hits += list->nsite;
        m->counters.mechanism[STET_MECH_args].saved_bytes += (int64_t)size;
        return STET_OK;
    }
    args_upload s = {device, a, list, !enabled || a->known != list->nslot, STET_REASON_args_changed};
    if (a->known == 0) s.why = a->block ? STET_REASON_args_unknown : STET_REASON_args_first;
    if (!enabled) s.why = STET_REASON_args_disabled;
    int64_t sent;
    STI_TRY(reserve(device, a, list->nslot, "arguments of a recording"));
    fill_next(a, list->slot, list->nslot);
    STI_TRY(upload_changed(&s, &sent));
    count_sent(&s, sent);
    commit_upload(a, list->nslot);
    return STET_OK;
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

stet_result sti_args_launch(stet_device *device, sti_args *a, const sti_kernel *k, const sti_slot *slots, int nslot,
                            int64_t nblock)
{
    const sti_slot *block;
    if (sti_joining(device)) return sti_kernel_run(device, k, slots, nslot, nblock, false);
    if (a->running) {
        STI_TRY(sti_fallback(&device->mechanisms, STET_MECH_args, STET_REASON_args_running, k->name));
        return sti_kernel_run(device, k, slots, nslot, nblock, false);
    }
    STI_TRY(sti_args_put(device, a, k->name, slots, nslot, &block));
    a->running = true;
    stet_result result = sti_kernel_run(device, k, block, nslot, nblock, true);
    a->running = false;
    return result;
}

stet_result sti_launch_at(sti_args *site, stet_device *device, const sti_kernel *kernel, int64_t count,
                          const sti_arg *args, int narg)
{
    sti_launch launch;
    STI_TRY(sti_launch_prepare(device, kernel, count, args, narg, &launch));
    if (launch.nblock == 0) return STET_OK;
    if (device->listing) return sti_launch_issue(device, &launch, count, true);
    sti_observe_launch(device, &launch, count);
    stet_result result = sti_args_launch(device, site, kernel, launch.slot, launch.nslot, launch.nblock);
    if (result == STET_OK)
        sti_launch_done(device, &launch);
    else
        sti_observe_lost(device, kernel->name);
    return result;
}
