/* Memory shared with tensors: who holds it, and who may have written it; see share.h for SHARE-1 to SHARE-3. */
#include "device/share.h"

#include "stet/dlpack.h"

#include <assert.h>

stet_result sti_share_create(stet_device *device, void *data, struct DLManagedTensorVersioned *tensor, sti_share **out)
{
    sti_share *s;
    *out = NULL;
    STI_TRY(sti_alloc(&s, sizeof *s, "shared memory of an array"));
    atomic_init(&s->refs, 1);
    s->device = device;
    s->data = data;
    s->tensor = tensor;
    sti_device_retain(device);
    *out = s;
    return STET_OK;
}

void sti_share_begin(sti_share *s, bool writer)
{
    assert(atomic_load(&s->refs) > 0 && "SHARE-1: who shares memory holds it");
    atomic_fetch_add(&s->refs, 1);
    if (writer) atomic_fetch_add(&s->writers, 1);
}

static void release_share(sti_share *s)
{
    int64_t refs = atomic_fetch_sub(&s->refs, 1);
    assert(refs > 0 && "released more often than held");
    if (refs > 1) return;
    if (!s->tensor)
        s->device->ops->free(s->device, s->data);
    else if (s->tensor->deleter)
        s->tensor->deleter(s->tensor);
    sti_device_release(s->device);
    sti_free(s);
}

void sti_share_end(sti_share *s, bool writer)
{
    if (writer) {
        /* In this order, a thread that sees no writer sees `written`. */
        atomic_store(&s->written, true);
        int64_t writers = atomic_fetch_sub(&s->writers, 1);
        assert(writers > 0);
        (void)writers;
    }
    release_share(s);
}

/*
 * stet issues no more work on the memory, so SHARE-3 only concerns work that is running. Later calls report a failure.
 */
void sti_share_detach(sti_share *s)
{
    bool in_its_stream = s->streamed && stet_device_get_stream(s->device) == s->stream;
    if (s->tensor && !in_its_stream) (void)sti_device_wait_idle(s->device);
    release_share(s);
}

bool sti_share_shown(sti_share *s) { return s->tensor || atomic_load(&s->refs) > 1; }

bool sti_share_writer(sti_share *s) { return atomic_load(&s->writers) > 0; }

bool sti_share_poll_external_writes(sti_share *s, bool *now)
{
    *now = atomic_load(&s->writers) > 0;
    return *now || atomic_exchange(&s->written, false);
}
