/*
 * The state that the adjoints of a device share; see stacks.h.
 */
#include "adjoint/launch/handle.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernel/check/unit.h"
#include "kernel/record/record.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { CHECK_BLOCKS = 64, CHECK_TEAM = 256 /* as in stacks.k.h */ };

extern const sti_kernel sti_k_stack_flags, sti_k_poison_worlds, sti_k_poison_shares, sti_k_poison_items;

/* ---- ids --------------------------------------------------------------------------------------------------------- */

typedef struct sti_id {
    uint64_t id;
    char *content;
    int64_t users;
    struct sti_id *next;
} sti_id;

static sti_id **find_id(sti_ids *ids, uint64_t id)
{
    sti_id **at = &ids->first;
    while (*at && (*at)->id != id) at = &(*at)->next;
    return at;
}

static stet_result append_id(sti_id **at, uint64_t id, const char *content)
{
    sti_id *own;
    STI_TRY(sti_alloc(&own, sizeof *own, "an id"));
    own->id = id;
    own->users = 1;
    stet_result result = sti_strdup(&own->content, content);
    if (result != STET_OK)
        sti_free(own);
    else
        *at = own;
    return result;
}

stet_result sti_ids_add(sti_ids *ids, uint64_t id, const char *content, const char *what)
{
    assert(content && what);
    sti_id **at = find_id(ids, id);
    if (!*at) return append_id(at, id, content);
    if (strcmp((*at)->content, content) != 0)
        return sti_error(STET_ERROR_STATE,
                         "%s has the id %016" PRIx64 ", which stands for something else here: change its text a little "
                         "(a name in it, say)",
                         what, id);
    (*at)->users++;
    return STET_OK;
}

void sti_ids_drop(sti_ids *ids, uint64_t id)
{
    sti_id **at = find_id(ids, id), *own = *at;
    assert((!own || own->users > 0) && "an id goes with its last user");
    if (!own || --own->users > 0) return;
    *at = own->next;
    sti_free(own->content);
    sti_free(own);
}

/* ---- flags ------------------------------------------------------------------------------------------------------- */

stet_result sti_flags_room(stet_adjoint *a, int64_t n)
{
    assert(n > 0 && a->stacks);
    stet_device *device = a->stacks->device;
    bool listing = device->listing;
    stet_array *more;
    if (a->flags && a->flags->nitem >= n) return STET_OK;
    if (a->flags) { /* their overflow must be reported before they are replaced */
        STI_TRY(sti_before_host_access(device, STI_ACT_READ, a->flags, a->flags->name));
        STI_TRY(device->check_overflow(device));
    }
    device->listing = false;
    stet_result result = STI_ARRAY(device, "flags of stacks", STET_DTYPE_INT, false, &more, n);
    if (result == STET_OK) {
        stet_array_destroy(a->flags);
        a->flags = more;
        sti_array_held_by(more, STET_MECHANISM_ADSTACK);
        more->by_world = !a->k->items; /* each world has its own part, the same in each launch over as many worlds */
        sti_stamp_keep_version(&a->checked, &more->version);
    }
    device->listing = listing;
    return result;
}

static stet_result clear(stet_array *flags)
{
    void *zero;
    STI_TRY(sti_alloc(&zero, flags->size, "flags of stacks"));
    stet_result result = sti_device_upload_of(flags->device, flags->name, flags->data, zero, flags->size);
    sti_free(zero);
    return result;
}

static int64_t blocks_for(int64_t n)
{
    assert(n >= 0);
    int64_t blocks = (n + CHECK_TEAM - 1) / CHECK_TEAM;
    return blocks < CHECK_BLOCKS ? blocks : CHECK_BLOCKS;
}

static stet_result make_found(sti_stacks *s)
{
    bool listing = s->device->listing;
    if (s->found) return STET_OK;
    s->device->listing = false;
    stet_result result =
        STI_ARRAY(s->device, "looks at stacks", STET_DTYPE_I64, false, &s->found, (int64_t)2 * CHECK_BLOCKS);
    s->device->listing = listing;
    return result;
}

/* The device looks at the first n flags: s->found [blocks_for(n)]. */
static stet_result look_at_flags(stet_adjoint *a, int64_t n)
{
    sti_stacks *s = a->stacks;
    STI_TRY(make_found(s));
    return STI_LAUNCH(sti_k_stack_flags, s->device, blocks_for(n), sti_arg_array(a->flags), sti_arg_int(n),
                      sti_arg_int(blocks_for(n)), sti_arg_array(s->found));
}

static stet_result read_flags(stet_adjoint *a, int64_t *mark)
{
    sti_stacks *s = a->stacks;
    stet_device *device = s->device;
    int64_t found[2 * CHECK_BLOCKS], n = a->flags->nitem, blocks = blocks_for(n);
    assert(blocks <= CHECK_BLOCKS && *mark == 0);
    STI_TRY(look_at_flags(a, n));
    size_t size = (size_t)blocks * 2 * sizeof *found;
    STI_TRY(sti_device_download_of(device, s->found->name, found, s->found->data, size));
    device->mechanisms.counters.bytes_copied += (int64_t)size;
    int64_t first = n;
    for (int64_t b = 0; b < blocks && device->type != STET_DEVICE_NULL; ++b) {
        if (found[2 * b] >= first) continue;
        first = found[2 * b];
        *mark = found[2 * b + 1];
    }
    return *mark ? clear(a->flags) : STET_OK;
}

stet_result sti_flags_check(stet_adjoint *a, int64_t *mark)
{
    stet_device *device = a->stacks->device;
    *mark = 0;
    if (!a->flags || sti_stamp_is(&a->checked, &a->flags->version)) return STET_OK; /* STACKS-2 */
    bool listing = device->listing;
    assert(device->check_overflow && "whoever reads results looks at the flags");
    device->listing = false;
    stet_result result = read_flags(a, mark);
    device->listing = listing;
    if (result == STET_OK) sti_stamp_keep_version(&a->checked, &a->flags->version);
    return result;
}

static stet_result poison_one(stet_adjoint *a, int64_t count, int64_t width, stet_array *gradient)
{
    stet_device *device = a->stacks->device;
    const stet_array *found = a->stacks->found;
    int64_t n = gradient->nitem, blocks = blocks_for(n), flags = count * width;
    if (!a->k->items)
        return STI_LAUNCH(sti_k_poison_worlds, device, count, sti_arg_array(a->flags),
                          sti_arg_int(a->flags->nitem / count), sti_arg_int(width), sti_arg_array(gradient),
                          sti_arg_int(n));
    if (gradient->worlds)
        return STI_LAUNCH(sti_k_poison_shares, device, gradient->shape[0], sti_arg_array(found),
                          sti_arg_int(blocks_for(flags)), sti_arg_int(flags), sti_arg_array(gradient), sti_arg_int(n));
    return STI_LAUNCH(sti_k_poison_items, device, blocks, sti_arg_array(found), sti_arg_int(blocks_for(flags)),
                      sti_arg_int(flags), sti_arg_array(gradient), sti_arg_int(n), sti_arg_int(blocks));
}

stet_result sti_flags_poison(stet_adjoint *a, int64_t count, int64_t width, stet_array *const *gradients)
{
    assert(a->flags && count > 0 && width > 0 && a->flags->nitem >= count * width && "each launch has its flags");
    if (a->k->items) STI_TRY(look_at_flags(a, count * width));
    for (int i = 0; i < a->nparam; ++i)
        if (gradients[i] && gradients[i]->nitem > 0) STI_TRY(poison_one(a, count, width, gradients[i]));
    return STET_OK;
}

/* ---- STACKS-1 ---------------------------------------------------------------------------------------------------- */

stet_result sti_overflow_error(const stet_adjoint *a, int64_t mark, int64_t had, const char *needed)
{
    const sti_kernel_source *origin = sti_user_kernel_source(a->kernel);
    assert(mark > 0 && a->unit->nfile > 0);
    const char *file = a->unit->file[mark / STI_MARK_LINES % a->unit->nfile];
    sti_text_buffer where = {0}, name = {0};
    sti_text_buffer_format(&where, "%s:%" PRId64, file, mark % STI_MARK_LINES);
    if (where.result == STET_OK) sti_user_source_explain(&origin->source, where.data, where.size, &name);
    bool known = where.result == STET_OK && name.result == STET_OK;
    stet_result result =
        sti_error(STET_ERROR_LIMIT,
                  "kernel %s_adj: the stack of the loop at %s was too short: it had %" PRId64
                  " slots%s. An array that its trip count comes from was written without being announced "
                  "(stet_array_mark_written), so gradients since are not to be used",
                  a->k->name, known ? name.data : "?", had, needed);
    sti_text_buffer_free(&where);
    sti_text_buffer_free(&name);
    return result;
}

static stet_result report_overflow(stet_adjoint *a, int64_t mark)
{
    char needed[96] = "";
    int64_t had = a->last.size[STI_DEPTH], size[STI_SIZES];
    if (a->last.valid) sti_sizing_overflown(&a->sizing, a->last.args);
    if (a->last.valid &&
        sti_sizing_find(&a->sizing, a->kernel, &a->stacks->known, a->last.count, a->last.args, size) == STET_OK)
        (void)snprintf(needed, sizeof needed, " and needs %" PRId64 " now", size[STI_DEPTH]);
    return sti_overflow_error(a, mark, had, needed);
}

/* Reports an overflow of an adjoint that was destroyed. */
static stet_result report_late_overflow(sti_stacks *s)
{
    s->unreported = false;
    return sti_error(STET_ERROR_LIMIT, "%s", s->message);
}

/* Checks the flags of an adjoint before it is destroyed. The next host read reports an overflow. */
static void check_before_destroy(stet_adjoint *a)
{
    sti_stacks *s = a->stacks;
    int64_t mark = 0;
    a->last.valid = false;
    if (s->unreported || sti_flags_check(a, &mark) != STET_OK || !mark) return;
    (void)report_overflow(a, mark);
    s->unreported = true;
    (void)snprintf(s->message, sizeof s->message, "%s", stet_get_last_error());
}

/*
 * Reads the overflow flags. LIMIT: a stack was too short in a launch or replay since the last check. Reads nothing if
 * no launch that can set a flag has run since, nor while the stream is being captured.
 */
static stet_result check_overflow(stet_device *device)
{
    sti_stacks *s = device->stacks;
    stet_result result = STET_OK;
    int64_t mark;
    if (s->checking) return STET_OK;
    if (s->unreported) return report_late_overflow(s);
    for (stet_adjoint *a = s->first; a && result == STET_OK; a = a->next) {
        if (!a->flags || sti_stamp_is(&a->checked, &a->flags->version)) continue;
        if (sti_device_capture(device)) return STET_OK; /* during a capture nothing can be read, and nothing has run */
        s->checking = true;
        result = sti_flags_check(a, &mark);
        if (result == STET_OK && mark) result = report_overflow(a, mark);
        s->checking = false;
    }
    return result;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

static void forget_last(sti_watcher *watcher, const void *thing)
{
    stet_adjoint *a = (stet_adjoint *)(void *)((char *)watcher - offsetof(stet_adjoint, watcher));
    for (int i = 0; i < a->nparam && a->last.valid; ++i)
        if (a->last.args[i].kind == STET_ARG_ARRAY && a->last.args[i].array == thing) a->last.valid = false;
}

static stet_result open_stacks(stet_device *device)
{
    if (device->stacks) return STET_OK;
    STI_TRY(sti_alloc(&device->stacks, sizeof *device->stacks, "the stacks of a device"));
    device->stacks->device = device;
    device->stacks->spill_pool.device = device;
    device->check_overflow = check_overflow;
    return STET_OK;
}

static void close_stacks(stet_device *device)
{
    sti_stacks *s = device->stacks;
    if (s->first) return;
    assert(!s->ids.first && !s->checking && "ids go with their adjoints");
    stet_array_destroy(s->found);
    s->found = NULL;
    sti_gathering_destroy(s->gathering);
    s->gathering = NULL;
    sti_known_free(&s->known);
    sti_spill_pool_free(&s->spill_pool);
    if (s->unreported) return; /* an error is still to be reported: the device frees it */
    sti_free(s);
    device->stacks = NULL;
    device->check_overflow = NULL;
}

/* Registers the ids of the adjoint's text and of its reductions, so that equal ids mean equal texts. */
static stet_result add_ids(stet_adjoint *a)
{
    sti_ids *ids = &a->stacks->ids;
    const sti_reducing *r = &a->sizing.reducing;
    stet_result result = sti_ids_add(ids, a->k->id, a->made.text.data, a->k->name);
    a->nid = result == STET_OK;
    for (int k = 0; k < r->nreduction && result == STET_OK; ++k) {
        sti_text_buffer text = {0};
        sti_bound_print(r->reduction[k].bound, &text);
        result = text.result;
        if (result == STET_OK) result = sti_ids_add(ids, r->reduction[k].id, text.data, a->k->name);
        a->nid += result == STET_OK;
        sti_text_buffer_free(&text);
    }
    return result;
}

static void drop_ids(stet_adjoint *a)
{
    assert(a->nid >= 0 && a->nid <= a->sizing.reducing.nreduction + 1);
    sti_ids *ids = &a->stacks->ids;
    if (a->nid > 0) sti_ids_drop(ids, a->k->id);
    for (int k = 0; k + 1 < a->nid; ++k) sti_ids_drop(ids, a->sizing.reducing.reduction[k].id);
}

stet_result sti_stacks_join(stet_adjoint *a)
{
    stet_device *device = sti_user_kernel_device(a->kernel);
    STI_TRY(open_stacks(device));
    assert(!a->stacks && "an adjoint joins once");
    a->stacks = device->stacks;
    a->next = a->stacks->first;
    a->stacks->first = a;
    a->watcher.gone = forget_last;
    sti_device_watch(device, &a->watcher);
    return add_ids(a);
}

void sti_stacks_leave(stet_adjoint *a)
{
    if (!a->stacks) return;
    stet_device *device = a->stacks->device;
    check_before_destroy(a);
    drop_ids(a);
    sti_device_unwatch(device, &a->watcher);
    for (stet_adjoint **at = &a->stacks->first; *at; at = &(*at)->next)
        if (*at == a) {
            *at = a->next;
            break;
        }
    stet_array_destroy(a->flags);
    sti_stamp_free(&a->checked);
    for (int i = 0; i < STI_MAX_PARAMS; ++i) stet_array_destroy(a->saved[i]);
    close_stacks(device);
}

int64_t sti_stacks_bytes(const stet_device *device)
{
    const sti_stacks *s = device->stacks;
    if (!s) return 0;
    return sti_spill_pool_bytes(&s->spill_pool) + (s->gathering ? sti_gathering_bytes(s->gathering) : 0);
}
