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

enum { STI_DEVICE_OPS_VERSION = 1 };

/*
 * What a kind of device can do. Contract of all: called by one thread at a time for one device; a failure leaves everything as it
 * was and sets the thread's message. Copies and launches are ordered as issued.
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
    /* Runs blocks 0 … nblock - 1 of a kernel; calls holds one function an instruction set. The slots are read before it returns. */
    stet_result (*launch)(stet_device *device, sti_call *const *calls, const sti_slot *slots, int nslot,
                          int64_t nblock);
    stet_result (*synchronize)(stet_device *device);
} sti_device_ops;

struct stet_device {
    const sti_device_ops *ops;
    stet_device_type type;
    sti_isa isa; /* CPU */
    int lanes;   /* B */
    int threads;
    size_t real_size;
    int64_t narray; /* alive */
    char name[96];
    sti_mechanisms mechanisms;
};

stet_result sti_cpu_device_init(stet_device *device, const stet_device_def *def);

/* Brings an array up to date; sees to it through sti_let_stand that what stands is not made again. */
typedef stet_result sti_producer(void *context);

struct stet_array {
    stet_device *device;
    char name[48];
    stet_dtype dtype;
    bool worlds;
    bool borrowed; /* data belongs to somebody else */
    int ndim;
    int64_t shape[STET_MAX_DIMS];
    int64_t nitem;  /* of a world: product of the other dimensions; of a plain array: all */
    int64_t nblock; /* of worlds; a plain array: 1 */
    size_t size;    /* bytes held on the device, with padding */
    void *data;
    sti_version version;
    void *host; /* mirror of stet_array_host */
    sti_stamp host_stamp;
    sti_producer *producer; /* who brings the content up to date before a read; NULL: it always is */
    void *producer_context;
    bool producing; /* inside producer: its own reads and writes go straight through */
};

/*
 * Makes an array's content follow something else. Before stet reads the array (host read, hash, an argument that a kernel reads, a
 * stamp), `producer` is called; it lets stand what stands. So nothing stale is ever read, and nothing is made that nobody reads.
 */
void sti_array_set_producer(stet_array *array, sti_producer *producer, void *context);
/* Brings the content up to date; call it before looking at version or data. */
stet_result sti_array_ensure(stet_array *array);

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
 * For host code that is itself the producer or consumer (CPU only): item i of world w as float or double. The writer bumps the
 * generation once when done, with stet_array_mark_written.
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

/* Runs f(context, i) for i = 0 … n - 1 over the device's threads (CPU); thread is 0 … threads - 1. */
void sti_device_parallel(stet_device *device, int64_t n, void (*f)(void *context, int64_t i, int thread),
                         void *context);

#endif
