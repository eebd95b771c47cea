/* Copies between the host and a GPU; see staging.h. */
#include "device/gpu/gpu.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

typedef struct sti_staging_piece piece;
typedef sti_staging_ring ring;

struct sti_host_block {
    char *address;
    size_t size;
    bool locked; /* page-locked; else ordinary memory */
    bool kept;   /* STAGING-4 */
    bool busy;   /* the event was recorded and not waited for */
    /* behind the last upload from kept memory, in this stream; NULL: there was none */
    void *event, *stream;
    sti_host_block *next;
};

/* ---- the ring ---------------------------------------------------------------------------------------------------- */

static stet_result make_staging(sti_gpu *gpu, piece *p)
{
    void *memory = NULL, *event = NULL;
    if (!p->event) {
        STI_TRY(STI_GPU_CALL(gpu, event_create, &event, STI_GPU_EVENT_NO_TIMING));
        p->event = event;
    }
    if (p->memory) return STET_OK;
    STI_TRY(STI_GPU_CALL(gpu, host_alloc, &memory, STI_STAGING_BYTES, STI_GPU_HOST_PORTABLE));
    p->memory = memory;
    return STET_OK;
}

static void *stream_of(const sti_gpu *gpu, const ring *r)
{
    return r == &gpu->staging.upload_stream ? gpu->upload_stream.stream : gpu->stream;
}

/* Records the event that the piece waits for before it is used again. */
static stet_result record_event(sti_gpu *gpu, const ring *r, piece *p)
{
    STI_TRY(STI_GPU_CALL(gpu, event_record, p->event, stream_of(gpu, r)));
    p->busy = true;
    return STET_OK;
}

static stet_result wait_for_piece(sti_gpu *gpu, piece *p)
{
    if (!p->busy) return STET_OK;
    STI_TRY(STI_GPU_CALL(gpu, event_synchronize, p->event));
    p->busy = false;
    return STET_OK;
}

/* If anything in the present piece was used, goes on to the next one, and waits until it is free (STAGING-1). */
static stet_result next_piece(sti_gpu *gpu, ring *r)
{
    if (r->used) {
        if (!r->piece[r->at].busy) STI_TRY(record_event(gpu, r, &r->piece[r->at]));
        r->at = (r->at + 1) % STI_STAGING_PIECES;
        r->used = 0;
    }
    STI_TRY(make_staging(gpu, &r->piece[r->at]));
    return wait_for_piece(gpu, &r->piece[r->at]);
}

/* Returns `size` bytes (at most a piece) that no copy uses. */
static stet_result take_bytes(sti_gpu *gpu, ring *r, size_t size, char **out)
{
    if (r->used == 0 || STI_STAGING_BYTES - r->used < size) STI_TRY(next_piece(gpu, r));
    assert(size > 0 && size <= STI_STAGING_BYTES - r->used && !r->piece[r->at].busy && "STAGING-1");
    *out = r->piece[r->at].memory + r->used;
    r->used += (size + STI_ALIGN - 1) / STI_ALIGN * STI_ALIGN;
    return STET_OK;
}

/* ---- page-locked memory of the caller's -------------------------------------------------------------------------- */

/* Returns the page-locked block that contains these bytes, or NULL. Its owner does not free it meanwhile. */
static sti_host_block *locked_block(sti_gpu_staging *s, const char *memory, size_t size)
{
    pthread_mutex_lock(&s->lock);
    sti_host_block *b = s->host;
    while (b &&
           !(b->locked && memory >= b->address && size <= b->size && (size_t)(memory - b->address) <= b->size - size))
        b = b->next;
    pthread_mutex_unlock(&s->lock);
    return b;
}

static bool is_locked(sti_gpu_staging *s, const char *memory, size_t size)
{
    return locked_block(s, memory, size) != NULL;
}

/* STAGING-4: returns the block of an upload that needs no wait, or NULL. */
static sti_host_block *kept_block(sti_gpu_staging *s, const void *memory, size_t size)
{
    sti_host_block *b = size < STI_STAGING_KEPT ? NULL : locked_block(s, memory, size);
    return b && b->kept ? b : NULL;
}

static stet_result wait_for_kept(sti_gpu *gpu, sti_host_block *b)
{
    if (!b->busy) return STET_OK;
    STI_TRY(STI_GPU_CALL(gpu, event_synchronize, b->event));
    b->busy = false;
    return STET_OK;
}

/* An upload that was issued cannot be revoked: if no event can be recorded behind it, it is waited for. */
static stet_result upload_kept(sti_gpu *gpu, sti_host_block *b, void *to, const void *from, size_t size, void *stream)
{
    if (b->stream != stream) STI_TRY(wait_for_kept(gpu, b)); /* the event belongs to one stream */
    if (!b->event) STI_TRY(STI_GPU_CALL(gpu, event_create, &b->event, STI_GPU_EVENT_NO_TIMING));
    STI_TRY(STI_GPU_CALL(gpu, copy_to_device_async, to, from, size, stream));
    stet_result result = STI_GPU_CALL(gpu, event_record, b->event, stream);
    b->stream = stream;
    b->busy = result == STET_OK;
    if (result != STET_OK) (void)gpu->driver.api.stream_synchronize(stream);
    return result;
}

stet_result sti_staging_order_host(sti_gpu *gpu, const void *memory, bool behind)
{
    sti_host_block *b = locked_block(&gpu->staging, memory, 1);
    if (!b) return STET_OK; /* other memory is copied through the ring */
    b->kept = true;
    if (!behind || !b->busy) return STET_OK;
    STI_GPU_WITHIN(gpu, wait_for_kept(gpu, b));
}

/* Smaller blocks always use the ring (STAGING-3, STAGING-4), so locking their pages would be useless. */
static stet_result make_host(sti_gpu *gpu, size_t size, const char *what, sti_host_block *out)
{
    void *memory = NULL;
    out->size = size;
    out->locked = size >= STI_STAGING_KEPT;
    if (!out->locked) return sti_alloc(&out->address, size, what);
    int code = gpu->driver.api.host_alloc(&memory, size, STI_GPU_HOST_PORTABLE);
    if (code == STI_GPU_OUT_OF_MEMORY)
        return sti_error(STET_ERROR_OUT_OF_MEMORY, "%s: out of page-locked memory: %s needs %zu bytes of the host's",
                         gpu->where, what, size);
    STI_TRY(sti_gpu_check(gpu, code, "host_alloc"));
    memset(memory, 0, size);
    out->address = memory;
    return STET_OK;
}

stet_result sti_staging_host_alloc(sti_gpu *gpu, size_t size, const char *what, void **out)
{
    sti_gpu_staging *s = &gpu->staging;
    sti_host_block *b;
    STI_TRY(sti_alloc(&b, sizeof *b, "a block of the host's memory"));
    stet_result result = make_host(gpu, size, what, b);
    if (result != STET_OK) {
        sti_free(b);
        return result;
    }
    pthread_mutex_lock(&s->lock);
    b->next = s->host;
    s->host = b;
    pthread_mutex_unlock(&s->lock);
    *out = b->address;
    return STET_OK;
}

static void unlock_host(sti_gpu *gpu, sti_host_block *b)
{
    sti_gpu_current was;
    stet_result result = STET_OK;
    if (sti_gpu_enter_unchecked(gpu, &was) == STI_GPU_OK) {
        if (b->busy) (void)gpu->driver.api.event_synchronize(b->event);
        if (b->event) (void)gpu->driver.api.event_destroy(b->event);
        int code = gpu->driver.api.host_free(b->address);
        if (!atomic_load(&gpu->lost)) result = sti_gpu_check(gpu, code, "host_free");
        (void)sti_gpu_leave_unchecked(gpu, &was);
    }
    if (result != STET_OK) sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
}

static void release_host(sti_gpu *gpu, sti_host_block *b)
{
    if (b->locked)
        unlock_host(gpu, b);
    else
        sti_free(b->address);
    sti_free(b);
}

void sti_staging_host_free(sti_gpu *gpu, void *memory)
{
    sti_gpu_staging *s = &gpu->staging;
    if (!memory) return;
    pthread_mutex_lock(&s->lock);
    sti_host_block **at = &s->host, *b;
    while (*at && (*at)->address != memory) at = &(*at)->next;
    b = *at;
    if (b) *at = b->next;
    pthread_mutex_unlock(&s->lock);
    if (b)
        release_host(gpu, b);
    else
        sti_log(STET_LOG_ERROR, "%s: %p is freed and is no page-locked block", gpu->where, memory);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static stet_result wait(sti_gpu *gpu) { return STI_GPU_CALL(gpu, stream_synchronize, gpu->stream); }

static stet_result upload_in_parts(sti_gpu *gpu, ring *r, char *target, const char *source, size_t size)
{
    char *piece_at;
    for (size_t n; size > 0; source += n, target += n, size -= n) {
        n = size < STI_STAGING_BYTES ? size : STI_STAGING_BYTES;
        STI_TRY(take_bytes(gpu, r, n, &piece_at));
        memcpy(piece_at, source, n);
        STI_TRY(STI_GPU_CALL(gpu, copy_to_device_async, target, piece_at, n, stream_of(gpu, r)));
    }
    return STET_OK;
}

stet_result sti_staging_upload(sti_gpu *gpu, void *to, const void *from, size_t size)
{
    sti_host_block *kept = kept_block(&gpu->staging, from, size);
    if (kept) return upload_kept(gpu, kept, to, from, size, gpu->stream);
    if (size < STI_STAGING_BYTES || !is_locked(&gpu->staging, from, size))
        return upload_in_parts(gpu, &gpu->staging.ring, to, from, size);
    STI_TRY(STI_GPU_CALL(gpu, copy_to_device_async, to, from, size, gpu->stream));
    return wait(gpu);
}

/*
 * Uses the ring unless the memory is kept: nothing waits for the end of a direct copy here, and its source may be freed
 * (STAGING-2).
 */
stet_result sti_staging_stream_upload(sti_gpu *gpu, void *to, const void *from, size_t size)
{
    sti_host_block *kept = kept_block(&gpu->staging, from, size);
    if (kept) return upload_kept(gpu, kept, to, from, size, gpu->upload_stream.stream);
    return upload_in_parts(gpu, &gpu->staging.upload_stream, to, from, size);
}

/* A part of a running download. */
typedef struct part {
    piece *piece;
    char *target;
    size_t size;
} part;

static stet_result begin_part(sti_gpu *gpu, char *to, const char *from, size_t size, part *out)
{
    ring *r = &gpu->staging.ring;
    assert(size > 0 && size <= STI_STAGING_BYTES);
    STI_TRY(next_piece(gpu, r));
    *out = (part){&r->piece[r->at], to, size};
    r->used = STI_STAGING_BYTES;
    STI_TRY(STI_GPU_CALL(gpu, copy_to_host_async, out->piece->memory, from, size, gpu->stream));
    return record_event(gpu, r, out->piece);
}

static stet_result end_part(sti_gpu *gpu, const part *p)
{
    STI_TRY(wait_for_piece(gpu, p->piece));
    memcpy(p->target, p->piece->memory, p->size);
    return STET_OK;
}

/* While one piece is copied out on the host, the next ones arrive. */
static stet_result download_in_parts(sti_gpu *gpu, char *to, const char *from, size_t size)
{
    enum { AHEAD = STI_STAGING_PIECES - 1 };
    part parts[AHEAD];
    size_t nbegun = 0, nended = 0;
    while (size > 0 || nended < nbegun) {
        assert(nended <= nbegun && nbegun - nended <= AHEAD && "a part is read before its piece is used again");
        if (size > 0 && nbegun - nended < AHEAD) {
            size_t n = size < STI_STAGING_BYTES ? size : STI_STAGING_BYTES;
            STI_TRY(begin_part(gpu, to, from, n, &parts[nbegun++ % AHEAD]));
            to += n;
            from += n;
            size -= n;
        } else {
            STI_TRY(end_part(gpu, &parts[nended++ % AHEAD]));
        }
    }
    return STET_OK;
}

stet_result sti_staging_download(sti_gpu *gpu, void *to, const void *from, size_t size)
{
    char *piece_at;
    if (size == 0) return STET_OK;
    if (size > STI_STAGING_BYTES && !is_locked(&gpu->staging, to, size)) return download_in_parts(gpu, to, from, size);
    bool locked = size > STI_STAGING_BYTES;
    if (locked)
        piece_at = to;
    else
        STI_TRY(take_bytes(gpu, &gpu->staging.ring, size, &piece_at));
    STI_TRY(STI_GPU_CALL(gpu, copy_to_host_async, piece_at, from, size, gpu->stream));
    STI_TRY(wait(gpu));
    if (!locked) memcpy(to, piece_at, size);
    return STET_OK;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

void sti_staging_init(sti_gpu_staging *s)
{
    (void)pthread_mutex_init(&s->lock, NULL); /* default attributes: cannot fail */
}

static void end_ring(const sti_gpu *gpu, const ring *r)
{
    for (int i = 0; i < STI_STAGING_PIECES; ++i) {
        if (r->piece[i].event) (void)gpu->driver.api.event_destroy(r->piece[i].event);
        if (r->piece[i].memory) (void)gpu->driver.api.host_free(r->piece[i].memory);
    }
}

void sti_staging_end(sti_gpu *gpu)
{
    sti_gpu_staging *s = &gpu->staging;
    end_ring(gpu, &s->ring);
    end_ring(gpu, &s->upload_stream);
    while (s->host) sti_staging_host_free(gpu, s->host->address);
    pthread_mutex_destroy(&s->lock);
}
