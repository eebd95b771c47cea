/*
 * The device: a small table of functions, and the arrays on top of it.
 */
#ifndef STI_DEVICE_DEVICE_H
#define STI_DEVICE_DEVICE_H

#include "base/error.h"
#include "base/mechanism.h"
#include "base/memory.h"
#include "device/slot.h"
#include "stet/device.h"

#include <stdatomic.h>

enum { STI_DEVICE_OPS_VERSION = 2 };

/* The code of one kernel, as one device runs it. */
typedef struct sti_code {
    const char *name;
    sti_call *call; /* on devices that run on the host */
} sti_code;

/*
 * What a kind of device can do. Contract of all: called by one thread at a time for one device; a failure leaves
 * everything as it was and sets the thread's message. Copies and launches are ordered as issued. Only `free` may be
 * called from any thread at any time (by the deleter of an exported tensor).
 */
typedef struct sti_device_ops {
    int version; /* STI_DEVICE_OPS_VERSION */
    void (*destroy)(stet_device *device);
    /* Zeroed device memory, aligned to STI_ALIGN. */
    stet_result (*alloc)(stet_device *device, size_t size, const char *what, void **out);
    void (*free)(stet_device *device, void *memory);
    /* Host to device, device to host, device to device. Complete on return where the host is involved. */
    stet_result (*upload)(stet_device *device, void *to, const void *from, size_t size);
    stet_result (*download)(stet_device *device, void *to, const void *from, size_t size);
    stet_result (*copy)(stet_device *device, void *to, const void *from, size_t size);
    /*
     * Runs blocks 0 … nblock - 1 of a kernel. The slots are in the host's memory and read before it returns, or (in_block) in a block of
     * arguments on the device, which must stay as it is until the launch has run.
     */
    stet_result (*launch)(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot, int64_t nblock,
                          bool in_block);
    stet_result (*synchronize)(stet_device *device);
} sti_device_ops;

/* What the host does beside launches that were listed and not run yet. */
typedef enum sti_act { STI_ACT_READ, STI_ACT_WRITE, STI_ACT_CREATE, STI_ACT_PRODUCE } sti_act;

/*
 * The layer above lists launches and keeps recordings of them (kernel/record.h). It hears of what concerns them.
 */
typedef struct sti_keeper {
    /* While listing: runs what has to run before the host does this, or refuses. CREATE has no array yet. */
    stet_result (*before)(stet_device *device, sti_act act, const stet_array *array, const char *name);
    /* An array is about to go, its memory is still there. */
    void (*array_gone)(stet_device *device, const stet_array *array);
    void (*destroy)(stet_device *device);
} sti_keeper;

struct stet_device {
    const sti_device_ops *ops;
    stet_device_type type;
    sti_isa isa; /* CPU */
    int lanes;   /* B */
    int threads;
    size_t real_size;
    bool host_memory;     /* array.c may touch the device's memory itself; else it goes through upload and download */
    _Atomic int64_t refs; /* the owner's, and one a block of memory that is shared with tensors (device/share.h) */
    int64_t narray;       /* alive */
    char name[96];
    void *state; /* of this kind of device */
    sti_mechanisms mechanisms;
    const sti_keeper *keeper; /* NULL: nothing was listed yet; with it goes recorder */
    struct sti_recorder *recorder;
    bool listing; /* launches are listed instead of run */
    int unlisted; /* lists that were begun without memory for a recorder: their launches run at once */
};

static inline stet_result sti_before(stet_device *device, sti_act act, const stet_array *array, const char *name)
{
    return device->listing ? device->keeper->before(device, act, array, name) : STET_OK;
}

/* The one way to the copies of a device. */
static inline stet_result sti_device_upload(stet_device *device, void *to, const void *from, size_t size)
{
    return device->ops->upload(device, to, from, size);
}
static inline stet_result sti_device_download(stet_device *device, void *to, const void *from, size_t size)
{
    return device->ops->download(device, to, from, size);
}
static inline stet_result sti_device_copy(stet_device *device, void *to, const void *from, size_t size)
{
    return device->ops->copy(device, to, from, size);
}

stet_result sti_cpu_device_init(stet_device *device, const stet_device_def *def);
stet_result sti_null_device_init(stet_device *device, const stet_device_def *def);
/* The last one that lets go ends the device; from any thread. */
void sti_device_retain(stet_device *device);
void sti_device_release(stet_device *device);

/* Brings an array up to date; sees to it through sti_let_stand that what stands is not made again. */
typedef stet_result sti_producer(void *context);

struct stet_array {
    stet_device *device;
    char name[48];
    stet_dtype dtype;
    bool worlds;
    bool borrowed;  /* data belongs to another array, `base` */
    bool read_only; /* imported as such: no launch and no write of the host may change it */
    int ndim;
    int64_t shape[STET_MAX_DIMS];
    int64_t nitem;  /* of a world: product of the other dimensions; of a plain array: all */
    int64_t nblock; /* of worlds; a plain array: 1 */
    size_t size;    /* bytes held on the device, with padding */
    void *data;
    stet_array *base;        /* of a view */
    struct sti_share *share; /* data is shared with tensors; NULL: it is the array's alone */
    sti_version version;
    void *host; /* mirror of stet_array_host */
    sti_stamp host_stamp;
    sti_producer *producer; /* who brings the content up to date before a read; NULL: it always is */
    void *producer_context;
    bool producing; /* inside producer: its own reads and writes go straight through */
};

/*
 * Makes an array's content follow something else. Before stet reads the array (host read, hash, an argument that a kernel reads, a
 * stamp), and before the host writes to it, `producer` is called; it lets stand what stands. So nothing stale is ever read, nothing is
 * made that nobody reads, and of two writes the later wins.
 */
void sti_array_set_producer(stet_array *array, sti_producer *producer, void *context);
/* Brings the content up to date; call it before looking at version or data. Launches that write it and were listed run first. */
stet_result sti_array_ensure(stet_array *array);
/* The part of it that is the producer's: for an array that a launch is to read, listed or not. */
stet_result sti_array_produce(stet_array *array);
/*
 * Moves the generation if somebody may have written through a tensor since the last look (see stet/dlpack.h); part of
 * sti_array_produce. True: such a tensor lives, so that what is made of the array never stands.
 */
bool sti_array_look(stet_array *array);
/* Checks the def and the size, and makes the array without memory. */
stet_result sti_array_make(stet_device *device, const stet_array_def *def, stet_array **out);

/* Shorthand for the layers: shape given as a list, ndim counted. */
stet_result sti_array_new(stet_device *device, const char *name, stet_dtype dtype, bool worlds, int ndim,
                          const int64_t *shape, stet_array **out);
#define STI_ARRAY(device, name, dtype, worlds, out, ...)                                                               \
    sti_array_new((device), (name), (dtype), (worlds), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),      \
                  (int64_t[]){__VA_ARGS__}, (out))

/* Number of the element (world w, item i) in data of an array of worlds. */
static inline int64_t sti_array_index(const stet_array *a, int64_t w, int64_t i)
{
    int64_t b = a->device->lanes;
    return (w / b * a->nitem + i) * b + w % b;
}

/*
 * For host code that is itself the producer or consumer, on devices whose memory the host can address (the CPU, and the
 * null device, whose memory is the host's): item i of world w as float or double. The writer bumps the generation once
 * when done, with stet_array_mark_written.
 */
static inline double sti_array_get_real(const stet_array *a, int64_t w, int64_t i)
{
    int64_t k = a->worlds ? sti_array_index(a, w, i) : i;
    return a->device->real_size == 8 ? ((const double *)a->data)[k] : (double)((const float *)a->data)[k];
}
static inline void sti_array_set_real(stet_array *a, int64_t w, int64_t i, double x)
{
    int64_t k = a->worlds ? sti_array_index(a, w, i) : i;
    if (a->device->real_size == 8)
        ((double *)a->data)[k] = x;
    else
        ((float *)a->data)[k] = (float)x;
}

/* Runs f(context, i) for i = 0 … n - 1 over the device's threads, on the host; thread is 0 … threads - 1. */
void sti_device_parallel(stet_device *device, int64_t n, void (*f)(void *context, int64_t i, int thread),
                         void *context);

#endif
