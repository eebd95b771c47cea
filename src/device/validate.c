/*
 * The invariants of arrays and devices, as assertions; see base/validate.h.
 */
#include "device/host_mirror.h"
#include "device/plain_view.h"
#include "device/share.h"

#ifndef NDEBUG

static void validate_shape(const stet_array *a)
{
    int64_t nitem = 1;
    assert(a->ndim >= 1 && a->ndim <= STET_MAX_DIMS);
    assert((unsigned)a->dtype < STET_DTYPE_COUNT);
    assert((!a->worlds || a->dtype == STET_DTYPE_REAL || a->dtype == STET_DTYPE_INT) &&
           "an array of worlds holds lanes");
    for (int k = 0; k < a->ndim; ++k) assert(a->shape[k] >= 0);
    for (int k = a->worlds ? 1 : 0; k < a->ndim; ++k) nitem *= a->shape[k];
    assert(a->nitem == nitem);
    int64_t lanes = a->worlds ? a->device->lanes : 1;
    assert(a->nblock == (a->worlds ? (a->shape[0] + lanes - 1) / lanes : 1));
    assert(a->size == (size_t)(a->nitem * a->nblock * lanes) * stet_dtype_size(a->device, a->dtype));
}

void sti_validate_array(const stet_array *a)
{
    assert(a->device && a->name[sizeof a->name - 1] == '\0');
    sti_validate_version(&a->version);
    sti_validate_stamp(&a->host_stamp);
    validate_shape(a);
    assert((a->size == 0 || a->data) && "an array has memory");
    assert(a->borrowed == (a->base != NULL) && "only a view borrows");
    assert(!a->base || a->base->device == a->device);
    assert(!a->producing || a->producer);
    assert(a->holder >= 0 && a->holder <= STET_MECHANISM_COUNT);
    assert(!a->share || a->share->device == a->device);
    assert(!a->share || (atomic_load(&a->share->refs) > 0 && atomic_load(&a->share->writers) >= 0));
    if (a->mirror) sti_validate_mirror(a);
    assert(!a->view || a->view->array == a);
    if (a->view) sti_validate_plain_view(a->view);
}

void sti_validate_device(const stet_device *d)
{
    assert(d->ops && d->ops->version == STI_DEVICE_OPS_VERSION);
    assert(d->lanes > 0 && (d->lanes & (d->lanes - 1)) == 0);
    assert(d->real_size == sizeof(float) || d->real_size == sizeof(double));
    assert(d->threads > 0);
    assert(d->narray >= 0 && d->array_bytes >= 0);
    assert(atomic_load(&d->refs) >= d->narray && "each array holds its device");
    assert((d->recorder != NULL) == (d->list_hooks != NULL));
    assert((d->programs != NULL) == (d->drop_programs != NULL));
    assert((!d->listing || d->recorder) && "lists have a recorder");
    assert(d->unlisted >= 0);
    sti_validate_mechanisms(&d->mechanisms);
    for (const sti_plain_view *v = d->views; v; v = v->next) sti_validate_plain_view(v);
}

#endif
