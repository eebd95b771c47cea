/*
 * The memory of stacks: takes, grows, divides it; see spill_pool.h.
 */
#include "adjoint/launch/spill_pool.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <unistd.h>

typedef struct sti_spill_pool_old {
    stet_array *array;
    struct sti_spill_pool_old *next;
} sti_spill_pool_old;

stet_dtype sti_stack_dtype(sti_stack stack)
{
    static const stet_dtype dtypes[STI_STACK_COUNT] = {
        [STI_STACK_REAL] = STET_DTYPE_REAL,        [STI_STACK_LINT] = STET_DTYPE_INT,
        [STI_STACK_UREAL] = STET_DTYPE_REAL,       [STI_STACK_INT] = STET_DTYPE_I64,
        [STI_STACK_DESTINATIONS] = STET_DTYPE_I64, [STI_STACK_VALUES] = STET_DTYPE_REAL};
    return dtypes[stack];
}

static bool is_scratch(sti_stack stack) { return stack != STI_STACK_DESTINATIONS && stack != STI_STACK_VALUES; }

/* ---- replacing --------------------------------------------------------------------------------------------------- */

/* Destroys an array, or keeps it until the pool has no users (SPILL-1). */
static stet_result release_array(sti_spill_pool *h, stet_array *array)
{
    sti_spill_pool_old *old;
    if (h->users > 0) {
        STI_TRY(sti_alloc(&old, sizeof *old, "stacks that are in use"));
        *old = (sti_spill_pool_old){array, h->old};
        h->old = old;
    } else {
        stet_array_destroy(array);
    }
    return STET_OK;
}

static stet_result drop_views(sti_spill_pool *h, sti_stack stack)
{
    for (int i = h->nview - 1; i >= 0; --i) {
        if (h->view[i].stack != stack) continue;
        STI_TRY(release_array(h, h->view[i].array));
        h->view[i] = h->view[--h->nview];
    }
    return STET_OK;
}

void sti_spill_pool_begin(sti_spill_pool *h) { h->users++; }

/* Views must be destroyed before the arrays that they show. `views`: destroys only the views. */
static void drop_old(sti_spill_pool *h, bool views)
{
    for (sti_spill_pool_old **at = &h->old; *at;) {
        sti_spill_pool_old *old = *at;
        if (views && !old->array->base) {
            at = &old->next;
            continue;
        }
        *at = old->next;
        stet_array_destroy(old->array);
        sti_free(old);
    }
}

void sti_spill_pool_end(sti_spill_pool *h)
{
    assert(h->users > 0);
    sti_validate_spill_pool(h);
    if (--h->users > 0) return;
    drop_old(h, true);
    drop_old(h, false);
}

/* ---- growing ----------------------------------------------------------------------------------------------------- */

/* For a device in host memory: all memory of the machine. 0: unknown. */
static size_t host_total(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
}

/* Refuses more than the device has, because an allocation may succeed even though there is not enough memory. */
static stet_result check_room(const sti_spill_pool *h, size_t bytes)
{
    size_t available, total = 0;
    if (!h->device->ops->memory)
        total = host_total();
    else if (h->device->ops->memory(h->device, &available, &total) != STET_OK)
        total = 0;
    if (total == 0 || bytes <= total) return STET_OK;
    return sti_error(STET_ERROR_LIMIT, "its stacks take %zu bytes, and the device has %zu", bytes, total);
}

static stet_result grow(sti_spill_pool *h, sti_stack stack, int64_t need)
{
    stet_array **memory = &h->memory[stack];
    int64_t had = *memory ? (*memory)->nitem : 0, want = had + had / 2 > need ? had + had / 2 : need;
    STI_TRY(check_room(h, (size_t)need * stet_dtype_size(h->device, sti_stack_dtype(stack))));
    STI_TRY(drop_views(h, stack));
    if (*memory) STI_TRY(release_array(h, *memory));
    *memory = NULL;
    stet_result result = STI_ARRAY(h->device, "stacks", sti_stack_dtype(stack), false, memory, want);
    if (result != STET_OK && want > need)
        result = STI_ARRAY(h->device, "stacks", sti_stack_dtype(stack), false, memory, need);
    if (result != STET_OK) return result;
    sti_array_held_by(*memory, STET_MECHANISM_ADSTACK);
    (*memory)->by_world = true; /* SPILL-3 */
    (*memory)->scratch = is_scratch(stack);
    return STET_OK;
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* Makes a view of all the memory, divided among the worlds. It is used until the memory grows. */
static stet_result make_view(sti_spill_pool *h, sti_stack stack, int64_t worlds, stet_array **out)
{
    stet_array *of = h->memory[stack], *a;
    stet_array_def def = stet_default_array_def();
    int64_t lanes = h->device->lanes, padded = (worlds + lanes - 1) / lanes * lanes;
    def.name = "stacks";
    def.dtype = sti_stack_dtype(stack);
    def.worlds = true;
    def.ndim = 2;
    def.shape[0] = worlds;
    def.shape[1] = of->nitem / padded;
    STI_TRY(sti_array_make(h->device, &def, &a));
    a->borrowed = true;
    a->base = of;
    a->data = of->data;
    a->scratch = of->scratch;
    *out = a;
    return STET_OK;
}

static stet_result evict_view(sti_spill_pool *h)
{
    int oldest = 0;
    if (h->nview < STI_SPILL_POOL_VIEWS) return STET_OK;
    for (int i = 1; i < h->nview; ++i)
        if (h->view[i].used < h->view[oldest].used) oldest = i;
    STI_TRY(release_array(h, h->view[oldest].array));
    h->view[oldest] = h->view[--h->nview];
    return STET_OK;
}

static stet_result take_view(sti_spill_pool *h, sti_stack stack, int64_t worlds, stet_array **out)
{
    for (int i = 0; i < h->nview; ++i) {
        sti_spill_pool_view *v = &h->view[i];
        if (v->stack != stack || v->array->shape[0] != worlds) continue;
        v->used = ++h->clock;
        *out = v->array;
        return STET_OK;
    }
    STI_TRY(evict_view(h));
    STI_TRY(make_view(h, stack, worlds, out));
    h->view[h->nview++] = (sti_spill_pool_view){*out, stack, ++h->clock};
    return STET_OK;
}

/* ---- taking ------------------------------------------------------------------------------------------------------ */

static stet_result take_memory(sti_spill_pool *h, sti_stack stack, int64_t worlds, int64_t items, stet_array **out)
{
    int64_t lanes = h->device->lanes, need = items;
    if (worlds > 0 && __builtin_mul_overflow((worlds + lanes - 1) / lanes * lanes, items, &need)) need = INT64_MAX;
    if (need > INT64_C(1) << 60) return sti_error(STET_ERROR_LIMIT, "its stacks are more than can be addressed");
    if (!h->memory[stack] || h->memory[stack]->nitem < need) STI_TRY(grow(h, stack, need));
    if (worlds > 0) return take_view(h, stack, worlds, out);
    *out = h->memory[stack];
    return STET_OK;
}

/* Arrays are made outside of any list of launches, because they outlive the list. */
stet_result sti_spill_pool_take(sti_spill_pool *h, sti_stack stack, int64_t worlds, int64_t items, stet_array **out)
{
    bool listing = h->device->listing;
    assert(stack >= 0 && stack < STI_STACK_COUNT && worlds >= 0 && h->users > 0);
    *out = NULL;
    h->device->listing = false;
    stet_result result = take_memory(h, stack, worlds, items > 0 ? items : 1, out);
    h->device->listing = listing;
    return result;
}

int64_t sti_spill_pool_room(const sti_spill_pool *h, sti_stack stack, int64_t worlds)
{
    return h->memory[stack]->nitem / worlds;
}

int64_t sti_spill_pool_bytes(const sti_spill_pool *h)
{
    int64_t bytes = 0;
    for (int s = 0; s < STI_STACK_COUNT; ++s) bytes += h->memory[s] ? (int64_t)h->memory[s]->size : 0;
    return bytes;
}

void sti_spill_pool_free(sti_spill_pool *h)
{
    h->users = 0;
    drop_old(h, true);
    drop_old(h, false);
    for (int i = 0; i < h->nview; ++i) stet_array_destroy(h->view[i].array);
    for (int s = 0; s < STI_STACK_COUNT; ++s) stet_array_destroy(h->memory[s]);
    *h = (sti_spill_pool){.device = h->device};
}

void sti_validate_spill_pool(const sti_spill_pool *h)
{
    assert(h->users >= 0 && (h->users > 0 || !h->old)); /* SPILL-1 */
    assert(h->nview >= 0 && h->nview <= STI_SPILL_POOL_VIEWS);
    for (int i = 0; i < h->nview; ++i) {
        const sti_spill_pool_view *v = &h->view[i];
        assert(v->used <= h->clock && v->array->base == h->memory[v->stack]);
        assert(v->array->data == h->memory[v->stack]->data && h->memory[v->stack]->by_world);
        assert(v->array->scratch == is_scratch(v->stack));
        (void)v;
    }
    (void)h;
}
