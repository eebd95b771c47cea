/* Checked mode of people's kernels; see checked.h. */
#include "kernel/checked/checked.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/plural.h"

#include <stdio.h>
#include <string.h>

/* ---- the text ---------------------------------------------------------------------------------------------------- */

/* The kernels of a source with the parameter that their entries fill in. */
static stet_result add_watches(const sti_user_source *source, sti_user_source *out)
{
    STI_TRY(sti_alloc(&out->kernel, (size_t)source->nkernel * sizeof *out->kernel, "the kernels of a source"));
    out->nkernel = source->nkernel;
    for (int i = 0; i < source->nkernel; ++i) {
        sti_signature *sig = &out->kernel[i];
        *sig = source->kernel[i];
        sti_param *p = &sig->param[sig->nparam++];
        *p = (sti_param){.name = STI_WATCH, .type = STI_PARAM_I64, .index = true};
    }
    return STET_OK;
}

static stet_result instrument(const sti_user_source *source, const sti_check_options *options, char **text,
                              sti_sites *sites)
{
    sti_unit *unit;
    STI_TRY(sti_check_source(source->own.data, "<0>", options, &unit));
    stet_result result = sti_unit_instrument(unit, text, sites);
    sti_unit_destroy(unit);
    return result;
}

/* Files as people call them. */
static stet_result name_files(const sti_user_source *source, sti_sites *sites)
{
    for (int i = 0; i < sites->nsite; ++i) {
        int number = -1;
        if (sscanf(sites->site[i].file, "<%d>", &number) != 1 || number < 0 || number >= source->nfile) continue;
        sti_free(sites->site[i].file);
        sites->site[i].file = NULL;
        STI_TRY(sti_strdup(&sites->site[i].file, source->file[number].name));
    }
    return STET_OK;
}

stet_result sti_checked_make(const sti_user_source *source, const sti_check_options *options, bool gpu,
                             sti_user_source *out, sti_checked **checked)
{
    char *text = NULL;
    STI_TRY(sti_alloc(checked, sizeof **checked, "a checked kernel"));
    sti_checked *c = *checked;
    STI_TRY(sti_strdup(&c->file, source->file[0].name));
    stet_result result = instrument(source, options, &text, &c->sites);
    if (result == STET_OK) result = name_files(source, &c->sites);
    const sti_user_source_def def = {.text = text, .path = c->file, .gpu = gpu};
    if (result == STET_OK) result = sti_user_source_read(&def, out);
    if (result == STET_OK) result = add_watches(source, out);
    sti_free(text);
    return result;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void forget(stet_device *device, const sti_checked *c)
{
    for (sti_checked **at = &device->unread_faults; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            return;
        }
}

void sti_checked_free(stet_device *device, sti_checked *c)
{
    if (!c) return;
    forget(device, c);
    if (c->record) device->ops->free(device, c->record);
    while (c->before) {
        sti_former_record *former = c->before;
        c->before = former->next;
        device->ops->free(device, former->record);
        sti_free(former);
    }
    sti_sites_free(&c->sites);
    sti_free(c->file);
    sti_free(c);
}

static stet_result clear(stet_device *device, uint64_t *record, int64_t blocks)
{
    uint64_t *zero;
    size_t size = (size_t)(blocks + 1) * sizeof *zero;
    STI_TRY(sti_alloc(&zero, size, "a record of faults")); /* zeroed */
    stet_result result = sti_device_upload(device, record, zero, size);
    sti_free(zero);
    return result;
}

/* The former record stays: a list may hold it. */
static stet_result reserve(stet_device *device, sti_checked *c, int64_t blocks)
{
    if (blocks <= c->blocks) return STET_OK;
    sti_former_record *former = NULL;
    void *record = NULL;
    int64_t room = 2 * c->blocks > blocks ? 2 * c->blocks : blocks;
    if (c->record) STI_TRY(sti_alloc(&former, sizeof *former, "a record of faults"));
    stet_result result =
        device->ops->alloc(device, (size_t)(room + 1) * sizeof *c->record, "a record of faults", &record);
    if (result == STET_OK) result = clear(device, record, room);
    if (result != STET_OK) {
        if (record) device->ops->free(device, record);
        sti_free(former);
        return result;
    }
    if (former) {
        *former = (sti_former_record){c->record, c->before};
        c->before = former;
    }
    c->record = record;
    c->blocks = room;
    return STET_OK;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

int64_t sti_checked_size(const sti_kernel *k, const stet_array *a)
{
    if (a->worlds && k->kind == STI_KERNEL_WORLD) return a->nitem;
    if (a->worlds) return (int64_t)(a->size / stet_dtype_size(a->device, a->dtype));
    return a->nitem;
}

stet_result sti_checked_prepare(stet_device *device, sti_launch *launch, int64_t count)
{
    const sti_kernel *k = launch->kernel;
    sti_checked *c = k->checked;
    if (launch->nblock == 0) return STET_OK;
    STI_TRY(reserve(device, c, launch->nblock));
    c->count = k->kind == STI_KERNEL_WORLD ? count : 0;
    for (int i = 0; i < launch->nslot; ++i) {
        const stet_array *a = launch->args[i].kind == STI_ARG_ARRAY ? launch->args[i].array : NULL;
        c->items[i] = a ? a->nitem : launch->args[i].i; /* memory of a team */
        c->worlds[i] = a && a->worlds ? a->shape[0] : 0;
    }
    launch->slot[launch->nslot] = (sti_slot){.p = c->record, .n = count};
    launch->nslot++;
    return STET_OK;
}

void sti_checked_note_launch(stet_device *device, const sti_kernel *k)
{
    sti_checked *c = k->checked;
    if (c->waiting) return;
    c->waiting = true;
    c->next = NULL;
    sti_checked **at = &device->unread_faults;
    while (*at) at = &(*at)->next;
    *at = c;
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/* A word of the record, and what its lane may say: see sti_fault in lang_checked.h. */
enum { LANES_UNSYNC = 29, LANES_MEET = 30 };
typedef struct fault {
    int64_t block, index;
    int site, lane, root;
} fault;

static fault read_fault(uint64_t word, int64_t block)
{
    uint64_t w = ~word;
    return (fault){.block = block,
                   .site = (int)(w >> 49),
                   .lane = (int)(w >> 44 & 31),
                   .root = (int)(w >> 36 & 255),
                   .index = (int64_t)(w & ((1ull << 36) - 1)) - (1ll << 35)};
}

/* Which worlds, or which block. */
static void put_where(const stet_device *device, const sti_checked *c, const fault *f, char *out, size_t size)
{
    int64_t first = f->block * device->lanes, last = first + device->lanes - 1;
    if (c->kernel->kind != STI_KERNEL_WORLD)
        (void)snprintf(out, size, "block %lld", (long long)f->block);
    else if (f->lane < LANES_UNSYNC)
        (void)snprintf(out, size, "world %lld", (long long)first + f->lane);
    else if (first >= c->count - 1 || device->lanes == 1)
        (void)snprintf(out, size, "world %lld", (long long)first);
    else
        (void)snprintf(out, size, "worlds %lld to %lld", (long long)first,
                       (long long)(last < c->count ? last : c->count - 1));
}

/* NULL: there is no such argument. */
static const char *argument_name(const sti_kernel *k, int slot)
{
    for (int i = 0, at = 0; i < k->nparam; ++i)
        if (!k->param[i].index && at++ == slot) return k->param[i].name;
    return NULL;
}

/* Iterations that meet in an element. */
static void put_meeting(const sti_site *s, const fault *f, const char *name, char *out, size_t size)
{
    const bool writes = s->kind == STI_SITE_WRITE;
    const char *does = writes ? "writes" : "reads", *other = writes ? "touches" : "writes";
    if (f->lane == LANES_MEET)
        (void)snprintf(out, size,
                       "%s element %lld of `%s`, which another iteration of the same each %s: give each iteration "
                       "elements of its own",
                       does, (long long)f->index, name, other);
    else
        (void)snprintf(out, size,
                       "%s element %lld of `%s`, which another iteration of an each before %s: put sync() "
                       "between the two",
                       does, (long long)f->index, name, other);
}

static void put_access(const sti_checked *c, const sti_site *s, const fault *f, char *out, size_t size)
{
    const sti_root *r =
        f->root >= STI_ROOT && f->root - STI_ROOT < c->sites.nroot ? &c->sites.root[f->root - STI_ROOT] : NULL;
    const char *does = s->kind == STI_SITE_WRITE ? "writes" : "reads",
               *name = r ? r->name : argument_name(c->kernel, f->root - 1);
    if (!name) {
        (void)snprintf(out, size, "%s element %lld, which is not there", does, (long long)f->index);
        return;
    }
    if (f->lane == LANES_MEET || f->lane == LANES_UNSYNC) {
        put_meeting(s, f, name, out, size);
        return;
    }
    int64_t items = r ? r->count : c->items[f->root - 1], worlds = r ? 0 : c->worlds[f->root - 1];
    if (s->kind == STI_SITE_WORLDS)
        (void)snprintf(out, size, "looks for %lld in `%s`, which has %lld item%s a world and %lld world%s",
                       (long long)f->index, name, (long long)items, STI_S(items), (long long)worlds, STI_S(worlds));
    else
        (void)snprintf(out, size, "%s element %lld of `%s`, which has %lld", does, (long long)f->index, name,
                       (long long)items);
}

static stet_result tell_checked(const stet_device *device, const sti_checked *c, const fault *f)
{
    char where[96], what[256];
    if (f->site >= c->sites.nsite)
        return sti_error(STET_ERROR_FAULT, "kernel %s: its record of faults was overwritten", c->kernel->name);
    const sti_site *s = &c->sites.site[f->site];
    put_where(device, c, f, where, sizeof where);
    switch (s->kind) {
    case STI_SITE_DIVISION:
        (void)snprintf(what, sizeof what, f->index == 0 ? "divides by 0" : "divides the least number by -1");
        break;
    case STI_SITE_OVERFLOW: (void)snprintf(what, sizeof what, "overflows, and becomes an index"); break;
    case STI_SITE_COUNT:
        (void)snprintf(what, sizeof what, "is %lld, more than a loop can count", (long long)f->index);
        break;
    default: put_access(c, s, f, what, sizeof what);
    }
    return sti_error(STET_ERROR_FAULT, "kernel %s: %s:%d:%d: `%s` %s (%s)", c->kernel->name, s->file, s->line,
                     s->column, s->text, what, where);
}

/* The lowest block that has one. */
static stet_result find_checked(stet_device *device, sti_checked *c)
{
    uint64_t *word;
    fault f = {.site = -1};
    size_t size = (size_t)(c->blocks + 1) * sizeof *word;
    STI_TRY(sti_alloc(&word, size, "a record of faults"));
    stet_result result = sti_device_download(device, word, c->record, size);
    for (int64_t b = 0; result == STET_OK && f.site < 0 && b < c->blocks; ++b)
        if (word[1 + b] != 0) f = read_fault(word[1 + b], b);
    sti_free(word);
    if (result == STET_OK) result = clear(device, c->record, c->blocks); /* CHECKED-3 */
    return result == STET_OK && f.site >= 0 ? tell_checked(device, c, &f) : result;
}

static stet_result look_checked(stet_device *device, sti_checked *c)
{
    uint64_t some = 0;
    STI_TRY(sti_device_download(device, &some, c->record, sizeof some));
    return some ? find_checked(device, c) : STET_OK;
}

stet_result sti_checked_read_faults(stet_device *device)
{
    stet_result result = STET_OK;
    if (!device->unread_faults || sti_device_capture(device)) return STET_OK;
    while (device->unread_faults) {
        sti_checked *c = device->unread_faults;
        stet_result one = result == STET_OK ? look_checked(device, c) : clear(device, c->record, c->blocks);
        if (one != STET_OK && one != STET_ERROR_FAULT) return result == STET_OK ? one : result; /* CHECKED-4 */
        device->unread_faults = c->next;
        c->waiting = false;
        if (result == STET_OK) result = one;
    }
    return result;
}
