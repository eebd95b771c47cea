/* Blocks of arguments; see args.h for the invariants. */
#include "kernel/args.h"

#include "kernel/record.h"

#include <assert.h>
#include <string.h>

/* Blocks are made of whole lines of the cache. */
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

/* A3. The old block goes only when the new one exists. */
static stet_result grow(stet_device *device, sti_args *a, int nslot, const char *what)
{
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

/* A2: slots that an earlier, longer launch used become zero again; `n` of them are written. */
static stet_result upload(stet_device *device, sti_args *a, const sti_slot *slots, int nslot, int n)
{
    memset(a->next, 0, (size_t)a->capacity * sizeof *a->next);
    memcpy(a->next, slots, (size_t)nslot * sizeof *slots);
    a->known = 0;
    STI_TRY(sti_device_upload(device, a->block, a->next, (size_t)n * sizeof *slots));
    sti_slot *shadow = a->next; /* A1, A4 */
    a->next = a->shadow;
    a->shadow = shadow;
    a->known = nslot;
    return STET_OK;
}

/* Audited, a hit looks at the block itself. */
static stet_result audit(stet_device *device, sti_args *a, const char *what)
{
    sti_slot *found;
    size_t size = (size_t)a->capacity * sizeof *found;
    STI_TRY(sti_alloc(&found, size, "the audit's copy of a block of arguments"));
    stet_result result = sti_device_download(device, found, a->block, size);
    for (size_t k = 0; result == STET_OK && k < size; ++k)
        if (((const char *)found)[k] != ((const char *)a->shadow)[k]) {
            a->known = 0;
            result = sti_error(STET_AUDIT,
                               "args: kernel %s: its block of arguments changed at byte %zu though nobody uploaded it: "
                               "some kernel writes where it must not, or a write was not announced",
                               what, k);
        }
    sti_free(found);
    return result;
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
    if (nslot > a->capacity) STI_TRY(grow(device, a, nslot, what));
    STI_TRY(upload(device, a, slots, nslot, n));
    size = n * (int64_t)sizeof *slots;
    m->counters.bytes_copied += size;
    sti_count_miss(m, STET_MECH_args, enabled ? why : STET_REASON_args_disabled, 0, size);
    *out = a->block;
    return STET_OK;
}

stet_result sti_args_launch(stet_device *device, sti_args *a, const sti_kernel *k, const sti_slot *slots, int nslot,
                            int64_t nblock)
{
    const sti_slot *block;
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
    if (device->listing) return sti_record_launch(device, &launch);
    STI_TRY(sti_args_launch(device, site, kernel, launch.slot, launch.nslot, launch.nblock));
    sti_launch_done(device, &launch);
    return STET_OK;
}
