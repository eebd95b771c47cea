/* Faces: making them, and what crosses when; see face.h for the invariants. */
#include "device/face.h"

#include "device/share.h"

#include <string.h>

typedef struct sti_face {
    void *memory;   /* of the array's size */
    sti_stamp held; /* the content that it holds */
    sti_stamp sent; /* the content that it and the device held when last it crossed, either way */
} sti_face;

/* The array whose memory a view shows (F5). */
static stet_array *owner(const stet_array *a)
{
    while (a->base) a = a->base;
    return (stet_array *)a;
}

static size_t place_in(const stet_array *own, const stet_array *a)
{
    return (size_t)((uintptr_t)a->data - (uintptr_t)own->data);
}

static bool holds(const stet_array *a) { return a->face && sti_stamp_is(&a->face->held, &a->version); }

bool sti_face_ahead(const stet_array *a) { return holds(a) && !sti_stamp_is(&a->face->sent, &a->version); }

/* May others read or write its memory without a word (F4)? */
static bool shown(const stet_array *a) { return a->outside || (a->share && sti_share_shown(a->share)); }

static bool enabled(const stet_array *a) { return sti_enabled(&a->device->mechanisms, STET_MECH_readback); }

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static stet_result take_memory(stet_device *device, size_t size, const char *what, void **out)
{
    return device->ops->host_alloc ? device->ops->host_alloc(device, size, what, out) : sti_alloc(out, size, what);
}

static stet_result make_face(stet_array *a)
{
    sti_face *f;
    STI_TRY(sti_alloc(&f, sizeof *f, "the host's side of an array"));
    stet_result result = take_memory(a->device, a->size, a->name, &f->memory);
    if (result != STET_OK) {
        sti_free(f);
        return result;
    }
    a->device->mechanisms.counters.mechanism[STET_MECH_readback].held_bytes += (int64_t)a->size;
    a->face = f;
    return STET_OK;
}

void sti_face_free(stet_array *a)
{
    sti_face *f = a->face;
    if (!f) return;
    a->face = NULL;
    a->device->mechanisms.counters.mechanism[STET_MECH_readback].held_bytes -= (int64_t)a->size;
    if (a->device->ops->host_free)
        a->device->ops->host_free(a->device, f->memory);
    else
        sti_free(f->memory);
    sti_stamp_free(&f->held);
    sti_stamp_free(&f->sent);
    sti_free(f);
}

/* ---- crossing ----------------------------------------------------------------------------------------------------- */

/* Both sides hold the same from here on. */
static void has_crossed(stet_array *a)
{
    a->device->mechanisms.counters.bytes_copied += (int64_t)a->size;
    sti_stamp_keep_version(&a->face->sent, &a->version);
}

static stet_result download(void *context)
{
    stet_array *a = context;
    STI_TRY(sti_device_download_of(a->device, a->name, a->face->memory, a->data, a->size));
    has_crossed(a);
    return STET_OK;
}

static stet_result upload(void *context)
{
    stet_array *a = context;
    STI_TRY(sti_device_upload_of(a->device, a->name, a->data, a->face->memory, a->size));
    has_crossed(a);
    return STET_OK;
}

static stet_result let_cross(stet_array *a, sti_stamp *kept, stet_reason why, stet_result (*make)(void *context),
                             const sti_span *output)
{
    sti_stamp now = {0};
    sti_stamp_keep_version(&now, &a->version);
    sti_work work = {.mechanism = STET_MECH_readback,
                     .why = why,
                     .what = a->name,
                     .kept = kept,
                     .now = &now,
                     .make = make,
                     .context = a,
                     .outputs = output,
                     .noutput = 1,
                     .bytes = (int64_t)a->size};
    return sti_let_stand(&a->device->mechanisms, &work);
}

/* What is on the device, whatever the face holds. */
static stet_result fetch_device(const void *array, size_t size, void *to)
{
    const stet_array *a = array;
    return sti_device_download_of(a->device, a->name, to, a->data, size);
}

/*
 * Nothing that is listed waits to touch the array: that ran before the face was taken for writing, and what is listed from then on sends
 * the face first.
 */
static stet_result send(stet_array *a)
{
    /* Switched off, each read copies; what the device has need not be sent all the same. */
    bool ahead = sti_face_ahead(a);
    if (!ahead && !enabled(a)) return STET_OK;
    /* Each launch asks this of each argument: no stamp is made for it. */
    if (!ahead && !a->device->mechanisms.options.audit) {
        sti_count_hit(&a->device->mechanisms, STET_MECH_readback, 0, (int64_t)a->size);
        return STET_OK;
    }
    sti_span output = {a, a->size, fetch_device};
    return let_cross(a, &a->face->sent, STET_REASON_readback_uploaded, upload, &output);
}

stet_result sti_array_to_device(stet_array *a)
{
    stet_array *own = owner(a);
    if (!holds(own)) return STET_OK;
    STI_TRY(send(own));
    if (own != a) sti_stamp_invalidate(&own->face->held); /* a write of the view moves no version of its owner */
    return STET_OK;
}

stet_result sti_face_bring(stet_array *a, void **out)
{
    *out = a->data; /* of nothing, anywhere */
    if (a->size == 0) return STET_OK;
    *out = NULL;
    bool exported = sti_array_look(a);
    if (!a->face) STI_TRY(make_face(a));
    /* Where the face is filled again though it stands, the device must have what it holds. */
    if (sti_face_ahead(a) && (!enabled(a) || a->device->mechanisms.options.audit)) STI_TRY(send(a));
    sti_span output = {a->face->memory, a->size, NULL};
    stet_reason why = exported ? STET_REASON_readback_exported : STET_REASON_readback_moved;
    STI_TRY(let_cross(a, &a->face->held, why, download, &output));
    *out = a->face->memory;
    return STET_OK;
}

stet_result sti_face_overwrite(stet_array *a, void **out)
{
    *out = a->data;
    if (a->device->host_memory || a->size == 0) return STET_OK;
    *out = NULL;
    if (!a->face) STI_TRY(make_face(a));
    *out = a->face->memory;
    return STET_OK;
}

bool sti_array_host_has(const stet_array *a) { return a->device->host_memory || a->size == 0 || holds(a); }

void sti_array_host_gets(stet_array *a, const void *bytes)
{
    if (!a->face || a->size == 0) return;
    memcpy(a->face->memory, bytes, a->size);
    sti_stamp_keep_version(&a->face->held, &a->version);
    sti_stamp_keep_version(&a->face->sent, &a->version);
}

/* F4: of a failure the next ask tells, which has to send it too. */
void sti_face_announce(stet_array *a)
{
    sti_version_bump(&a->version);
    if (!a->face) return; /* an array of nothing */
    sti_stamp_keep_version(&a->face->held, &a->version);
    if (!shown(a)) return;
    if (sti_array_to_device(a) != STET_OK)
        sti_log(STET_LOG_WARNING, "array %s: what was written on the host did not reach the device: %s", a->name,
                stet_last_error());
}

void sti_face_told(stet_array *a)
{
    bool ahead = sti_face_ahead(a);
    sti_version_bump(&a->version);
    if (ahead) sti_stamp_keep_version(&a->face->held, &a->version);
}

/* ---- reads and writes of the caller ------------------------------------------------------------------------------- */

stet_result sti_face_reach(stet_array *a, bool writes, size_t bytes, char **out)
{
    sti_mechanisms *m = &a->device->mechanisms;
    stet_array *own = owner(a);
    void *memory;
    *out = NULL;
    if (!holds(own)) return STET_OK;
    /* A write to a view, and one that others have to see at once, goes to the device. */
    if (!enabled(own) || (writes && (own != a || shown(own)))) return sti_array_to_device(a);
    memory = own->face->memory;
    if (!writes && m->options.audit)
        STI_TRY(sti_face_bring(own, &memory));
    else if (!writes)
        sti_count_hit(m, STET_MECH_readback, 0, (int64_t)bytes);
    *out = (char *)memory + place_in(own, a);
    return STET_OK;
}

/* ---- parts ---------------------------------------------------------------------------------------------------------- */

/* Bytes of a large copy that take as long as a small one: some ten microseconds. */
enum { SMALL_COPY = 128 << 10 };

bool sti_face_in_parts(const stet_array *a, int64_t n)
{
    bool rows = a->device->lanes == 1 && !a->base; /* elsewhere a row is not in one piece */
    return !a->device->host_memory && rows && n <= (int64_t)(a->size / SMALL_COPY) && !holds(a);
}

stet_result sti_face_get_part(stet_array *a, size_t offset, void *to, size_t size)
{
    STI_TRY(sti_device_download_of(a->device, a->name, to, (const char *)a->data + offset, size));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    return STET_OK;
}

stet_result sti_face_put_part(stet_array *a, size_t offset, const void *from, size_t size)
{
    STI_TRY(sti_device_upload_of(a->device, a->name, (char *)a->data + offset, from, size));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    return STET_OK;
}

/* ---- audits ------------------------------------------------------------------------------------------------------- */

static stet_result fetch_content(const void *array, size_t size, void *to)
{
    const stet_array *a = array, *own = owner(a);
    if (!holds(own)) return fetch_device(a, size, to);
    memcpy(to, (const char *)own->face->memory + place_in(own, a), size);
    return STET_OK;
}

sti_span sti_array_span(const stet_array *a)
{
    if (a->device->host_memory) return (sti_span){a->data, a->size, NULL};
    return (sti_span){a, a->size, fetch_content};
}
