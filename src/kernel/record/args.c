/* Blocks of arguments; see args.h for the invariants. */
#include "kernel/record/args.h"

#include "kernel/record/record.h"

#include <assert.h>
#include <string.h>

/* Blocks are made of whole lines of the cache. */
enum { STEP = STI_ALIGN / sizeof(sti_slot) };

static_assert(sizeof(sti_slot) == 16 && STI_ALIGN % sizeof(sti_slot) == 0, "slots have no padding, and fill lines");

static void count_held(stet_device *device, int64_t slots)
{
    sti_count_held(&device->mechanisms, STET_MECHANISM_ARGS, slots * (int64_t)sizeof(sti_slot));
}

void sti_args_free(stet_device *device, sti_args *a)
{
    if (a->block) device->ops->free(device, a->block);
    count_held(device, -a->capacity);
    sti_free(a->shadow);
    sti_free(a->next);
    *a = (sti_args){0};
}

/* ARGS-3. */
static stet_result reserve(stet_device *device, sti_args *a, int nslot)
{
    static const char what[] = "arguments of a recording";
    assert(!a->block || nslot <= a->capacity);
    if (a->block) return STET_OK;
    a->capacity = (nslot + STEP - 1) / STEP * STEP;
    size_t size = (size_t)a->capacity * sizeof(sti_slot);
    count_held(device, a->capacity);
    stet_result result = sti_alloc(&a->shadow, size, what);
    if (result == STET_OK) result = sti_alloc(&a->next, size, what);
    if (result == STET_OK) {
        void *block = NULL;
        result = device->ops->alloc(device, size, what, &block);
        a->block = block;
    }
    if (result != STET_OK) sti_args_free(device, a);
    return result;
}

/* ---- uploading --------------------------------------------------------------------------------------------------- */

static stet_result upload(stet_device *device, const sti_args *a, int from, int n)
{
    size_t size = (size_t)n * sizeof *a->next;
    assert(from >= 0 && n > 0 && from + n <= a->capacity && "ARGS-3");
    STI_TRY(sti_device_upload(device, a->block + from, a->next + from, size));
    device->mechanisms.counters.bytes_copied += (int64_t)size;
    return STET_OK;
}

/* Audited, a hit looks at the block itself. *byte: the first that is not the shadow's; -1: there is none. */
static stet_result look_args(stet_device *device, sti_args *a, ptrdiff_t *byte)
{
    sti_slot *found;
    size_t size = (size_t)a->capacity * sizeof *found;
    *byte = -1;
    STI_TRY(sti_alloc(&found, size, "the audit's copy of a block of arguments"));
    stet_result result = sti_device_download(device, found, a->block, size);
    for (size_t k = 0; result == STET_OK && *byte < 0 && k < size; ++k)
        if (((const char *)found)[k] != ((const char *)a->shadow)[k]) *byte = (ptrdiff_t)k;
    sti_free(found);
    if (*byte >= 0) a->known = false;
    return result;
}

static stet_result was_written(const char *what, ptrdiff_t byte)
{
    return sti_error(
        STET_ERROR_AUDIT,
        "args: kernel %s: its block of arguments changed at byte %td though nobody uploaded it: some kernel "
        "writes where it must not, or a write was not announced",
        what, byte);
}

/* ---- the launches of a list -------------------------------------------------------------------------------------- */

/* As many clean slots are sent along rather than beginning another upload, whose call costs more than 16 KiB do. */
enum { BRIDGE = 1024 };

static bool is_site(const sti_op *op) { return op->kind == STI_OP_LAUNCH && op->nslot > 0; }

static stet_result audit_list(stet_device *device, sti_args *a, const sti_list *l)
{
    ptrdiff_t byte;
    STI_TRY(look_args(device, a, &byte));
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

/* The launches of a list whose slots are in `next`, and why they go up; `all`: whatever the shadow says. */
typedef struct sending {
    stet_device *device;
    sti_args *a;
    const sti_list *list;
    bool all;
    stet_reason why;
} sending;

static bool differs(const sending *s, const sti_op *op)
{
    return s->all ||
           memcmp(s->a->shadow + op->slot, s->a->next + op->slot, (size_t)op->nslot * sizeof *s->a->next) != 0;
}

/* *sent: slots that went up. */
static stet_result send_args(const sending *s, int64_t *sent)
{
    int begin = 0, end = -1; /* what is to be sent: nothing yet */
    *sent = 0;
    for (int i = 0; i < s->list->nop; ++i) {
        const sti_op *op = &s->list->op[i];
        if (!is_site(op) || !differs(s, op)) continue;
        if (end >= 0 && op->slot - end > BRIDGE) {
            STI_TRY(upload(s->device, s->a, begin, end - begin));
            *sent += end - begin;
            end = -1;
        }
        assert(op->slot >= (end < 0 ? 0 : end) && "slots are in the order of their launches");
        if (end < 0) begin = op->slot;
        end = op->slot + op->nslot;
    }
    *sent += end - begin;
    return upload(s->device, s->a, begin, end - begin);
}

/* Each launch for itself; what went up between two of them is nobody's, and saved nothing. */
static void count_sent(const sending *s, int64_t sent)
{
    sti_mechanisms *m = &s->device->mechanisms;
    const int64_t size = sizeof *s->a->next;
    for (int i = 0; i < s->list->nop; ++i) {
        const sti_op *op = &s->list->op[i];
        if (!is_site(op)) continue;
        if (differs(s, op)) {
            sti_count_miss(m, STET_MECHANISM_ARGS, s->why, 0, op->nslot * size);
            sent -= op->nslot;
        } else {
            sti_count_hit(m, STET_MECHANISM_ARGS, 0, op->nslot * size);
        }
    }
    assert(sent >= 0 && "no more was counted than went up");
    m->counters.mechanism[STET_MECHANISM_ARGS].done_bytes += sent * size;
    m->counters.mechanism[STET_MECHANISM_ARGS].saved_bytes -= sent * size;
}

stet_result sti_args_upload(stet_device *device, sti_args *a, const sti_list *list)
{
    sti_mechanisms *m = &device->mechanisms;
    size_t size = (size_t)list->nslot * sizeof *list->slot;
    bool enabled = sti_enabled(m, STET_MECHANISM_ARGS);
    if (list->nslot == 0) return STET_OK;
    if (enabled && a->known && m->options.audit) STI_TRY(audit_list(device, a, list));
    if (enabled && a->known && memcmp(a->shadow, list->slot, size) == 0) {
        sti_count_hits(m, STET_MECHANISM_ARGS, list->nsite, 0, (int64_t)size);
        return STET_OK;
    }
    sending s = {device, a, list, !enabled || !a->known, STET_REASON_ARGS_CHANGED};
    if (!a->known) s.why = a->block ? STET_REASON_ARGS_UNKNOWN : STET_REASON_ARGS_FIRST;
    if (!enabled) s.why = STET_REASON_ARGS_DISABLED;
    int64_t sent;
    STI_TRY(reserve(device, a, list->nslot));
    memcpy(a->next, list->slot, size);
    a->known = false; /* until all that differs went up */
    STI_TRY(send_args(&s, &sent));
    count_sent(&s, sent);
    sti_slot *shadow = a->next; /* ARGS-1, ARGS-4 */
    a->next = a->shadow;
    a->shadow = shadow;
    a->known = true;
    sti_validate_args(a);
    return STET_OK;
}

#ifndef NDEBUG
void sti_validate_args(const sti_args *a)
{
    assert((a->block != NULL) == (a->capacity > 0));
    assert((a->shadow != NULL) == (a->block != NULL) && (a->next != NULL) == (a->block != NULL));
    assert(a->capacity % STEP == 0);
    assert((!a->known || a->block) && "ARGS-1: only what a block holds is known");
}
#endif
