/* Plain views of arrays of worlds in blocked layout; see plain_view.h for PLAIN-1 to PLAIN-4. */
#include "device/plain_view.h"

#include "device/array.h"

#include <assert.h>
#include <string.h>

static sti_mechanisms *mechanisms_of(const sti_plain_view *v) { return &v->array->device->mechanisms; }

/* ---- making and ending ------------------------------------------------------------------------------------------- */

static void free_view(sti_plain_view *v)
{
    sti_free(v->rows);
    sti_free(v->last);
    sti_stamp_free(&v->shown);
    sti_free(v);
}

void sti_plain_view_close(sti_plain_view *v)
{
    int64_t refs = atomic_fetch_sub(&v->refs, 1);
    assert(refs > 0 && "closed more often than opened");
    if (refs == 1) free_view(v);
}

void sti_plain_view_detach(stet_array *a)
{
    sti_plain_view *v = a->view, **at = &a->device->views;
    if (!v) return;
    while (*at != v) at = &(*at)->next;
    *at = v->next;
    a->view = NULL;
    sti_count_held(mechanisms_of(v), STET_MECHANISM_PLAIN_VIEW, -2 * (int64_t)v->size);
    sti_plain_view_close(v);
}

static stet_result make_view(stet_array *a)
{
    assert(!a->view && a->device->can.host_memory && "PLAIN-1");
    sti_plain_view *v;
    STI_TRY(sti_alloc(&v, sizeof *v, "the plain view of an array"));
    v->array = a;
    v->size = stet_array_get_bytes(a);
    atomic_init(&v->refs, 1);
    stet_result result = sti_alloc(&v->rows, v->size, a->name);
    if (result == STET_OK) result = sti_alloc(&v->last, v->size, a->name);
    if (result != STET_OK) {
        free_view(v);
        return result;
    }
    a->view = v;
    v->next = a->device->views;
    a->device->views = v;
    sti_count_held(mechanisms_of(v), STET_MECHANISM_PLAIN_VIEW, 2 * (int64_t)v->size);
    return STET_OK;
}

/* ---- what tensors wrote ------------------------------------------------------------------------------------------ */

/* Copies what was written to a row into the array (PLAIN-3); an element is 4 or 8 bytes. */
static void take_written_row(sti_plain_view *v, int64_t world)
{
    assert(v->writable && world >= 0 && world < v->array->shape[0] && "PLAIN-3");
    stet_array *a = v->array;
    size_t element = stet_dtype_size(a->device, a->dtype), from = (size_t)(world * a->nitem) * element;
    for (int64_t i = 0; i < a->nitem; ++i, from += element) {
        if (memcmp(v->rows + from, v->last + from, element) == 0) continue;
        memcpy((char *)a->data + (size_t)sti_array_index(a, world, i) * element, v->rows + from, element);
        memcpy(v->last + from, v->rows + from, element);
        mechanisms_of(v)->counters.bytes_copied += (int64_t)element;
    }
}

static stet_result refuse_write(sti_plain_view *v)
{
    memcpy(v->rows, v->last, v->size);
    return sti_error(STET_ERROR_STATE,
                     "array %s: a tensor that was given out for reading was written, and has its content back; write "
                     "the array itself, or export it for writing",
                     v->array->name);
}

static stet_result take_plain_view(sti_plain_view *v)
{
    sti_validate_plain_view(v);
    stet_array *a = v->array;
    int64_t nworld = a->shape[0];
    size_t row = nworld ? v->size / (size_t)nworld : 0;
    if (memcmp(v->rows, v->last, v->size) == 0) return STET_OK;
    if (!v->writable) return refuse_write(v);
    STI_TRY(sti_before_host_access(a->device, STI_ACT_WRITE, a, a->name));
    STI_TRY(sti_array_call_producer(a));
    bool current = sti_stamp_is(&v->shown, &a->version);
    for (int64_t w = 0; w < nworld; ++w)
        if (memcmp(v->rows + (size_t)w * row, v->last + (size_t)w * row, row) != 0) take_written_row(v, w);
    sti_version_bump(&a->version);
    if (current) sti_stamp_keep_version(&v->shown, &a->version);
    sti_count_miss(mechanisms_of(v), STET_MECHANISM_PLAIN_VIEW, STET_REASON_PLAIN_VIEW_WRITTEN, 0, (int64_t)v->size);
    return STET_OK;
}

stet_result stet_device_take_views(stet_device *device)
{
    stet_result result = STET_OK;
    if (!device) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_device_take_views: device must not be NULL");
    for (sti_plain_view *v = device->views, *next; v; v = next) {
        next = v->next;
        /* its tensors have ended, so it cannot be written any more */
        bool last = atomic_load(&v->refs) == 1;
        stet_result one = take_plain_view(v);
        if (result == STET_OK) result = one;
        if (last && one == STET_OK) sti_plain_view_detach(v->array);
    }
    return result;
}

/* ---- what stet wrote --------------------------------------------------------------------------------------------- */

static stet_result fill_plain_view(void *context)
{
    sti_plain_view *v = context;
    STI_TRY(sti_rows_read(v->array, NULL, 0, v->array->shape[0], v->rows, v->size));
    memcpy(v->last, v->rows, v->size);
    mechanisms_of(v)->counters.bytes_copied += (int64_t)v->size;
    return STET_OK;
}

/*
 * What was written through a tensor since the last call, for example between the launches of a list, is not overwritten
 * (PLAIN-3).
 */
static stet_result show_plain_view(sti_plain_view *v)
{
    sti_validate_plain_view(v);
    stet_array *a = v->array;
    STI_TRY(sti_array_ensure(a));
    if (!sti_stamp_is(&v->shown, &a->version)) STI_TRY(take_plain_view(v));
    sti_stamp now = {0};
    sti_stamp_keep_version(&now, &a->version);
    sti_span output = {v->rows, v->size, NULL};
    sti_work work = {.mechanism = STET_MECHANISM_PLAIN_VIEW,
                     .why = STET_REASON_PLAIN_VIEW_MOVED,
                     .what = a->name,
                     .kept = &v->shown,
                     .now = &now,
                     .make = fill_plain_view,
                     .context = v,
                     .outputs = &output,
                     .noutput = 1,
                     .bytes = (int64_t)v->size};
    return sti_let_stand(mechanisms_of(v), &work);
}

/* While launches are listed, nothing is shown: their results are shown after the list has run. */
stet_result stet_device_show_views(stet_device *device)
{
    stet_result result = STET_OK;
    if (!device) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_device_show_views: device must not be NULL");
    for (sti_plain_view *v = device->views; v && !device->listing; v = v->next) {
        stet_result one = show_plain_view(v);
        if (result == STET_OK) result = one;
    }
    return result;
}

#ifndef NDEBUG
void sti_validate_plain_view(const sti_plain_view *v)
{
    const stet_array *a = v->array;
    assert(atomic_load(&v->refs) > 0);
    assert(a && a->view == v && "PLAIN-1: the array's one view");
    assert(sti_array_blocked(a) && a->device->can.host_memory && !a->base);
    assert(v->size == stet_array_get_bytes(a) && (v->size == 0 || (v->rows && v->last)));
    sti_validate_stamp(&v->shown);
    assert(!v->shown.valid || (v->shown.few[0] == a->version.id && v->shown.few[1] <= a->version.generation));
}
#endif

/* ---- for exports ------------------------------------------------------------------------------------------------- */

stet_result sti_plain_view_open(stet_array *a, bool writable, sti_plain_view **out)
{
    *out = NULL;
    if (!a->device->can.host_memory || a->base)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "array %s: it lies in blocks of worlds that the host cannot reach, so there is no plain view "
                         "of it; export it as it lies, or a copy",
                         a->name);
    if (!a->view)
        STI_TRY(make_view(a));
    else
        STI_TRY(take_plain_view(a->view));
    STI_TRY(show_plain_view(a->view));
    a->view->writable |= writable;
    atomic_fetch_add(&a->view->refs, 1);
    *out = a->view;
    return STET_OK;
}
