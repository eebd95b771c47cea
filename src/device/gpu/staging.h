/*
 * Copies between the host and a GPU. A driver copies fast and asynchronously only from and to page-locked memory. Other
 * memory is copied through a ring of page-locked pieces.
 *
 * Invariants:
 *   STAGING-1  a piece is written again only after the copies that use it have run
 *   STAGING-2  an upload's source has been read when the call returns, but for STAGING-4; a download is complete
 *   STAGING-3  a copy of a megabyte or more whose host memory was allocated here (it is page-locked) does not use the
 *       ring
 *   STAGING-4  an upload of STI_STAGING_KEPT bytes or more from such memory that the caller promised not to change
 *       (kept) does not use the ring and does not wait; an event behind its last upload is waited for before the memory
 *       is written again or freed
 */
#ifndef STI_DEVICE_GPU_STAGING_H
#define STI_DEVICE_GPU_STAGING_H

#include "base/error.h"

#include <pthread.h>

enum { STI_STAGING_PIECES = 4, STI_STAGING_BYTES = 1 << 20, STI_STAGING_KEPT = 256 << 10 };

struct sti_gpu;
typedef struct sti_host_block sti_host_block;

/* The pieces that the copies of one stream use. */
typedef struct sti_staging_ring {
    struct sti_staging_piece {
        char *memory; /* STI_STAGING_BYTES, page-locked; NULL: not made yet */
        void *event;  /* recorded behind the last copy that uses the piece */
        bool busy;    /* the event was recorded and not waited for yet */
    } piece[STI_STAGING_PIECES];
    int at;      /* index of the present piece */
    size_t used; /* its bytes that copies may still read */
} sti_staging_ring;

typedef struct sti_gpu_staging {
    sti_staging_ring ring;          /* for the stream in use */
    sti_staging_ring upload_stream; /* for the upload stream (upload_stream.h) */
    pthread_mutex_t lock;
    sti_host_block *host; /* blocks that host_alloc returned */
} sti_gpu_staging;

void sti_staging_init(sti_gpu_staging *staging);
/* The functions below are called inside enter and leave, except host_free. */
void sti_staging_end(struct sti_gpu *gpu);
stet_result sti_staging_upload(struct sti_gpu *gpu, void *to, const void *from, size_t size);
stet_result sti_staging_stream_upload(struct sti_gpu *gpu, void *to, const void *from, size_t size);
stet_result sti_staging_download(struct sti_gpu *gpu, void *to, const void *from, size_t size);
/*
 * The caller leaves memory of host_alloc unchanged from now on (STAGING-4). With `behind`: waits for its uploads.
 * Enters and leaves by itself.
 */
stet_result sti_staging_order_host(struct sti_gpu *gpu, const void *memory, bool behind);
stet_result sti_staging_host_alloc(struct sti_gpu *gpu, size_t size, const char *what, void **out);
void sti_staging_host_free(struct sti_gpu *gpu, void *memory);

#endif
