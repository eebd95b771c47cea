/*
 * Copies between the host and a GPU. A driver copies fast, and behind the host's back, only from and to page-locked memory:
 * other memory goes through a ring of such pieces.
 *
 * Invariants:
 *   STAGING-1  a piece is written again only after the copies that use it have run
 *   STAGING-2  an upload's source has been read when the call returns, but for STAGING-4; a download has arrived
 *   STAGING-3  a megabyte or more that lies in memory the caller got from here (then page-locked) is copied from and to directly
 *   STAGING-4  what lies in such memory that the caller said stays as it is (kept), from STI_STAGING_KEPT bytes on, is uploaded directly, and nobody waits; an
 *       event behind its last upload is what is waited for before it is written again, or goes
 */
#ifndef STI_DEVICE_GPU_STAGING_H
#define STI_DEVICE_GPU_STAGING_H

#include "base/error.h"

#include <pthread.h>

enum { STI_STAGING_PIECES = 4, STI_STAGING_BYTES = 1 << 20, STI_STAGING_KEPT = 256 << 10 };

struct sti_gpu;
typedef struct sti_host_block sti_host_block;

/* The copies of one stream at a time. */
typedef struct sti_staging_ring {
    struct sti_staging_piece {
        char *memory; /* STI_STAGING_BYTES, page-locked; NULL: not made yet */
        void *event;  /* behind the last copy that uses it */
        bool busy;    /* the event was recorded and not waited for */
    } piece[STI_STAGING_PIECES];
    int at;      /* the present piece */
    size_t used; /* bytes of it, that copies may still read */
} sti_staging_ring;

typedef struct sti_gpu_staging {
    sti_staging_ring ring;          /* of the stream in use */
    sti_staging_ring upload_stream; /* of uploads aside (upload_stream.h) */
    pthread_mutex_t lock;
    sti_host_block *host; /* what host_alloc gave */
} sti_gpu_staging;

void sti_staging_init(sti_gpu_staging *staging);
/* What follows is called inside enter and leave, but for host_free. */
void sti_staging_end(struct sti_gpu *gpu);
stet_result sti_staging_upload(struct sti_gpu *gpu, void *to, const void *from, size_t size);
stet_result sti_staging_stream_upload(struct sti_gpu *gpu, void *to, const void *from, size_t size);
stet_result sti_staging_download(struct sti_gpu *gpu, void *to, const void *from, size_t size);
/* Memory that host_alloc gave stays as it is from now on (STAGING-4); or, behind: its uploads are waited for. Enters and leaves by itself. */
stet_result sti_staging_order_host(struct sti_gpu *gpu, const void *memory, bool behind);
stet_result sti_staging_host_alloc(struct sti_gpu *gpu, size_t size, const char *what, void **out);
void sti_staging_host_free(struct sti_gpu *gpu, void *memory);

#endif
