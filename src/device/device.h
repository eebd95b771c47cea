/*
 * The device: a small table of functions, and the arrays on top of it.
 */
#ifndef STI_DEVICE_DEVICE_H
#define STI_DEVICE_DEVICE_H

#include "base/error.h"
#include "base/mechanism.h"
#include "base/memory.h"
#include "device/graph.h"
#include "device/slot.h"
#include "stet/device.h"

#include <stdatomic.h>

enum { STI_DEVICE_OPS_VERSION = 5 };

/*
 * The code of one kernel, as one device runs it.
 *
 * On a GPU it has two entries, which differ in how the slots get there. Of a kernel with n slots (m = n, or 1 if it has none):
 *   value   extern "C" __global__ void (struct of an array of m slots, by value; i64 count)
 *   block   extern "C" __global__ void (const slot *, i64 count)
 * count is the launch's number of worlds or blocks. A world kernel (`worlds`) gets ceil(count / teams) blocks of (team, teams) threads
 * in x, an entry finds its world as blockIdx.x * teams + threadIdx.y and leaves if there is none; an item kernel gets count blocks of
 * (team, 1) threads, a block's number is blockIdx.x.
 */
struct sti_code {
    const char *name; /* for messages; lives as long as the device */
    sti_call *call;   /* on devices that run on the host */
    void *value;      /* on GPUs: functions of a module (`function`); NULL: there is none */
    void *block;
    int team, teams; /* threads; teams is 1 in an item kernel */
    bool worlds;
    bool waits;      /* on GPUs: its entries wait by themselves for the kernels before them (stet/lang_gpu.h) */
    unsigned shared; /* bytes of shared memory a block, beyond what its code declares */
    int nslot;       /* slots that its entry takes; 0: one for each argument */
    int repeats;     /* of fused code (kernel/gpu/fused.h): how many times over one launch can do its phases */
};

/* What can be asked of a function of a module. */
typedef enum sti_attribute {
    STI_ATTRIBUTE_REGISTERS,    /* of a thread */
    STI_ATTRIBUTE_LOCAL_BYTES,  /* of a thread: what did not fit in registers, and arrays */
    STI_ATTRIBUTE_SHARED_BYTES, /* of a block, declared */
    STI_ATTRIBUTE_MAX_THREADS   /* of a block */
} sti_attribute;

/*
 * What comes after what. `stream`: one of others. Aside: a second stream of the device's own, to which stream_upload alone goes; what it gets is
 * ordered with nothing else but by these. STREAM_BEHIND: what `stream` gets from now on comes after all that was issued; BEHIND_STREAM: what is
 * issued from now on comes after what `stream` has got so far. The last two are of memory that host_alloc gave, in the place of `stream`, at its
 * beginning: HOST_KEEPS: from now on uploads of it may read it after they have returned, and so need not copy it; HOST_BEHIND, before it is written
 * again, waits for those. Freeing it waits, too.
 */
typedef enum sti_order {
    STI_ORDER_STREAM_BEHIND,
    STI_ORDER_BEHIND_STREAM,
    STI_ORDER_UPLOADS_AFTER,
    STI_ORDER_AFTER_UPLOADS,
    STI_ORDER_HOST_KEEPS,
    STI_ORDER_HOST_BEHIND
} sti_order;

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
    /* Waits for all that was issued; what went wrong on the device meanwhile is its result. */
    stet_result (*synchronize)(stet_device *device);

    /* ---- of GPUs alone; NULL elsewhere ---- */
    /* Compiled code (of the device's arch), and its functions. `what` names it in messages. The image may go when load returns. */
    stet_result (*load)(stet_device *device, const void *image, size_t size, const char *what, void **module);
    void (*unload)(stet_device *device, void *module); /* no launch of it may be under way: waits for them */
    /* STET_NOT_FOUND: the module has no such function. */
    stet_result (*function)(stet_device *device, void *module, const char *symbol, void **out);
    stet_result (*attribute)(stet_device *device, void *function, sti_attribute attribute, int *out);

    /* ---- optional ---- */
    /* The host's memory from which copies are fast (page-locked), zeroed. NULL: any memory is as good. Freed from any thread. */
    stet_result (*host_alloc)(stet_device *device, size_t size, const char *what, void **out);
    void (*host_free)(stet_device *device, void *memory);
    /* Bytes of the device's memory: free now (with what stet keeps for later), and all. NULL: not known. */
    stet_result (*memory)(stet_device *device, size_t *free, size_t *total);

    /* ---- graphs (device/graph.h); all four or none. NULL: lists of launches are played one by one ---- */
    /*
     * Builds a graph of a list; runs nothing. Edges come as sti_list_edges gives them. STET_UNSUPPORTED: the driver has no graphs, or
     * lacks what one of the operations needs; a failure says which.
     */
    stet_result (*graph_make)(stet_device *device, const sti_graph_op *ops, int nop, const sti_edge *edges, int nedge,
                              const char *what, void **out);
    /*
     * From the next launch of the graph on: of a launch these arguments (read before it returns) and number of blocks (0: it is left
     * out), of a loop this number of trips. Launches in flight keep theirs; nothing is instantiated anew.
     */
    stet_result (*graph_set)(stet_device *device, void *graph, int op, const sti_slot *slots, int nslot,
                             int64_t number);
    stet_result (*graph_launch)(stet_device *device, void *graph);
    void (*graph_free)(stet_device *device,
                       void *graph); /* once it has run; does not wait where the driver does that itself */

    /* ---- streams; NULL: the device has none, and work is done when a call returns ---- */
    /*
     * From now on work goes to `stream`, or to the device's own (own: true). It comes after all that was issued before, unless one of the two
     * streams is being captured: what is captured depends on nothing outside of it.
     */
    stet_result (*use_stream)(stet_device *device, void *stream, bool own);
    /* BEHIND_ASIDE works at any time (where the stream in use is captured, the host waits); where nothing went aside, neither does anything. */
    stet_result (*order)(stet_device *device, void *stream, sti_order how);
    /* An upload in the second stream; `from` may go when it returns. Its place in the order is the caller's to see to. */
    stet_result (*stream_upload)(stet_device *device, void *to, const void *from, size_t size);
    /* Number of the capture that the stream in use is a part of; 0: none. While there is one only launches and copies on the device work. */
    stet_result (*capturing)(stet_device *device, uint64_t *out);

    /* ---- times; NULL: they are the host's ---- */
    /* Notes a moment in the stream: *id, for the next. Nothing waits. NULL: drops all that are kept. */
    stet_result (*moment)(stet_device *device, int64_t *id);
    /* Nanoseconds from moment `from` to moment `to`; waits for both. */
    stet_result (*between)(stet_device *device, int64_t from, int64_t to, int64_t *ns);
} sti_device_ops;

/* What the host does beside launches that were listed and not run yet. */
typedef enum sti_act { STI_ACT_READ, STI_ACT_WRITE, STI_ACT_CREATE, STI_ACT_PRODUCE } sti_act;

/*
 * The layer above lists launches and keeps recordings of them (kernel/record/record.h). It hears of what concerns them.
 */
typedef struct sti_list_hooks {
    /* While listing: runs what has to run before the host does this, or refuses. CREATE has no array yet. */
    stet_result (*before)(stet_device *device, sti_act act, const stet_array *array, const char *name);
    /* An array is about to go, its memory is still there. */
    void (*array_gone)(stet_device *device, const stet_array *array);
    void (*destroy)(stet_device *device);
} sti_list_hooks;

/* Somebody who keeps pointers to arrays or kernels that others own: told when one goes, which is still there. */
typedef struct sti_watcher {
    void (*gone)(struct sti_watcher *watcher, const void *thing);
    struct sti_watcher *next;
} sti_watcher;

struct stet_device {
    const sti_device_ops *ops;
    stet_device_type type;
    sti_isa isa; /* CPU */
    int lanes;   /* B */
    int threads;
    size_t real_size;
    bool
        host_memory; /* the host may touch the device's memory: host mirrors are it (device/host mirror.h); else only the slots do */
    bool apart;           /* a null device whose addresses mean nothing to the host */
    bool no_reuse;        /* what a round set up cannot be used by the next (stet/round.h) */
    _Atomic int64_t refs; /* the owner's, one an array or kernel, one a block shared with tensors (share.h) */
    int64_t narray;       /* alive */
    int64_t array_bytes;  /* of the device's memory that they were given */
    char name[96];
    int index;              /* of a GPU: the def's gpu.index */
    int driver_version;     /* of a GPU's, in its own numbers: 13000 is CUDA 13.0 */
    int processors;         /* of a GPU; 0: not known */
    char arch[32];          /* of a GPU, as its compiler is told it: "sm_90", "gfx90a"; "" elsewhere */
    char *compiler_library; /* the def's gpu.compiler_library and cache_folder; NULL: not given */
    char *cache_folder;
    void *state;  /* of this kind of device */
    void *stream; /* to which work goes now; of a device without streams NULL */
    sti_mechanisms mechanisms;
    sti_trace *traced;         /* the latest trace: mechanisms.trace, or one that has ended; NULL: there was none */
    struct sti_ranges *ranges; /* for profilers (device/ranges.h); NULL: nobody wants them */
    struct sti_times *times;   /* on the device, of what is traced (device/trace.h); NULL: there are none */
    const sti_list_hooks *list_hooks; /* NULL: nothing was listed yet; with it goes recorder */
    struct sti_recorder *recorder;
    struct sti_programs
        *programs; /* of a GPU: the code of kernels (kernel/gpu); NULL: none was needed yet; with it goes … */
    void (*drop_programs)(stet_device *device); /* … this, called before the device goes */
    sti_watcher *watchers;
    struct sti_plain_view *views; /* that tensors of others show (device/plain_view.h) */
    struct sti_launch_observer
        *launch_observer; /* is told of what is issued (kernel/launch/launch_observer.h); NULL: nobody is */
    struct sti_stacks
        *stacks; /* of adjoints, who make and free it (adjoint/launch/stacks.h); NULL: there are none; and … */
    stet_result (*check_overflow)(
        stet_device *device); /* … this, called before the host reads what launches have left */
    bool checked; /* people's kernels are made in checked mode (kernel/checked.h); those that ran unlooked at … */
    struct sti_checked *unlooked; /* … are chained here */
    bool listing;                 /* launches are listed instead of run */
    int unlisted;                 /* lists that were begun without memory for a recorder: their launches run at once */
};

static inline stet_result sti_before(stet_device *device, sti_act act, const stet_array *array, const char *name)
{
    return device->listing ? device->list_hooks->before(device, act, array, name) : STET_OK;
}

/* For calls that cannot be part of a list of launches. */
static inline stet_result sti_not_listing(const stet_device *device, const char *call)
{
    if (!device->listing) return STET_OK;
    return sti_error(STET_STATE, "%s: launches are being listed; end the list (stet_record_end) before this call",
                     call);
}

/* The one way to the copies of a device. `name`: of the array, for traces; NULL: it is none. */
stet_result sti_device_upload_traced(stet_device *device, const char *name, void *to, const void *from, size_t size);
stet_result sti_device_download_traced(stet_device *device, const char *name, void *to, const void *from, size_t size);
stet_result sti_device_copy_traced(stet_device *device, const char *name, void *to, const void *from, size_t size);
stet_result sti_device_stream_upload(stet_device *device, const char *name, void *to, const void *from, size_t size);
static inline stet_result sti_device_upload_of(stet_device *device, const char *name, void *to, const void *from,
                                               size_t size)
{
    if (device->mechanisms.trace) return sti_device_upload_traced(device, name, to, from, size);
    return device->ops->upload(device, to, from, size);
}
static inline stet_result sti_device_download_of(stet_device *device, const char *name, void *to, const void *from,
                                                 size_t size)
{
    if (device->mechanisms.trace) return sti_device_download_traced(device, name, to, from, size);
    return device->ops->download(device, to, from, size);
}
static inline stet_result sti_device_copy_of(stet_device *device, const char *name, void *to, const void *from,
                                             size_t size)
{
    if (device->mechanisms.trace) return sti_device_copy_traced(device, name, to, from, size);
    return device->ops->copy(device, to, from, size);
}
static inline stet_result sti_device_upload(stet_device *device, void *to, const void *from, size_t size)
{
    return sti_device_upload_of(device, NULL, to, from, size);
}
static inline stet_result sti_device_download(stet_device *device, void *to, const void *from, size_t size)
{
    return sti_device_download_of(device, NULL, to, from, size);
}
static inline stet_result sti_device_copy(stet_device *device, void *to, const void *from, size_t size)
{
    return sti_device_copy_of(device, NULL, to, from, size);
}

stet_result sti_cpu_device_init(stet_device *device, const stet_device_def *def);
stet_result sti_null_device_init(stet_device *device, const stet_device_def *def);
stet_result sti_gpu_device_init(stet_device *device, const stet_device_def *def); /* type CUDA or HIP */
/* Kernels run as compiled at first use (kernel/gpu). */
static inline bool sti_device_is_gpu(const stet_device *device)
{
    return device->type == STET_DEVICE_CUDA || device->type == STET_DEVICE_HIP;
}
/* Others than the device's own stream are about to look at its memory: waits for what was issued. */
static inline stet_result sti_device_wait_idle(stet_device *device)
{
    return sti_device_is_gpu(device) ? device->ops->synchronize(device) : STET_OK;
}
/* The same for one stream of others: what it gets from now on comes after what was issued. */
static inline stet_result sti_device_signal(stet_device *device, void *stream)
{
    return device->ops->order ? device->ops->order(device, stream, STI_ORDER_STREAM_BEHIND)
                              : sti_device_wait_idle(device);
}
/* What is issued from now on comes after what a stream of others has got so far. */
static inline stet_result sti_device_follow(stet_device *device, void *stream)
{
    return device->ops->order ? device->ops->order(device, stream, STI_ORDER_BEHIND_STREAM) : STET_OK;
}
/* The same for the device's second stream; without one all is in one order. */
static inline stet_result sti_device_after_uploads(stet_device *device)
{
    return device->ops->order ? device->ops->order(device, NULL, STI_ORDER_AFTER_UPLOADS) : STET_OK;
}
static inline stet_result sti_device_uploads_after(stet_device *device)
{
    return device->ops->order ? device->ops->order(device, NULL, STI_ORDER_UPLOADS_AFTER) : STET_OK;
}
/* The last one that lets go ends the device; from any thread. */
void sti_device_retain(stet_device *device);
void sti_device_release(stet_device *device);
void sti_device_watch(stet_device *device, sti_watcher *watcher);
void sti_device_unwatch(stet_device *device, sti_watcher *watcher); /* one that does not watch is fine */
void sti_device_tell_gone(stet_device *device, const void *thing);

/* Brings an array up to date; sees to it through sti_let_stand that what stands is not made again. */
typedef stet_result sti_producer(void *context);

struct stet_array {
    stet_device *device;
    char name[48];
    stet_dtype dtype;
    bool worlds;
    bool borrowed;  /* data belongs to another array, `base` */
    bool counted;   /* its size is in the device's array_bytes */
    bool read_only; /* imported as such: no launch and no write of the host may change it */
    bool outside;   /* a graph of somebody else's holds its address (sti_array_set_outside) */
    bool by_world;  /* plain, but whoever writes it keeps worlds apart: of a world, the same part in every launch */
    int ndim;
    int64_t shape[STET_MAX_DIMS];
    int64_t nitem;  /* of a world: product of the other dimensions; of a plain array: all */
    int64_t nblock; /* of worlds; a plain array: 1 */
    size_t size;    /* bytes held on the device, with padding */
    void *data;
    stet_array *base;            /* of a view */
    struct sti_share *share;     /* data is shared with tensors; NULL: it is the array's alone */
    struct sti_plain_view *view; /* what tensors show instead, where it lies in blocks; NULL: none do */
    sti_version version;
    void *host; /* mirror of stet_array_host */
    sti_stamp host_stamp;
    struct sti_host_mirror *mirror; /* the host's side, where it has one (device/host mirror.h) */
    sti_producer *producer;         /* who brings the content up to date before a read; NULL: it always is */
    void *producer_context;
    bool producing; /* inside producer: its own reads and writes go straight through */
    int holder;     /* 1 + the mechanism whose held_bytes has the size of this array; 0: none */
};

/*
 * Makes an array's content follow something else. Before stet reads the array (host read, hash, an argument that a kernel reads, a
 * stamp), and before the host writes to it, `producer` is called; it lets stand what stands. So nothing stale is ever read, nothing is
 * made that nobody reads, and of two writes the later wins.
 */
void sti_array_set_producer(stet_array *array, sti_producer *producer, void *context);
/* Counts the array's memory, while it lives, as held by a mechanism: it is what stands, or what finding that out takes. */
void sti_array_held_by(stet_array *array, stet_mechanism mechanism);
/* Brings the content up to date; call it before looking at version or data. Launches that write it and were listed run first. */
stet_result sti_array_ensure(stet_array *array);
/* The part of it that is the producer's, and what the host wrote: for an array that a launch is to touch, listed or not. */
stet_result sti_array_produce(stet_array *array);
/* Brings the device's memory up to what the host wrote (device/host mirror.h), for whoever is given its address; no producer is asked. */
stet_result sti_array_to_device(stet_array *array);
/*
 * Moves the generation if somebody may have written through a tensor since the last look (see stet/dlpack.h); part of
 * sti_array_produce. True: such a tensor lives, so that what is made of the array never stands.
 */
bool sti_array_poll_external_writes(stet_array *array);
/*
 * Writes all of an array beside what runs, in the device's second stream; what comes before it and after it is the caller's to order
 * (sti_device_uploads_after, sti_device_after_uploads). For arrays that nobody else knows. A device without such a stream writes as ever.
 */
stet_result sti_array_stream_upload(stet_array *array, const void *data, size_t size);
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

/* Processors that this process may run on. */
int sti_processors(void);
/*
 * Runs f(context, i) for i = 0 … n - 1 over the device's threads, on the host; thread is 0 … threads - 1. seconds: of one thread, see
 * sti_loop_def.
 */
void sti_device_parallel(stet_device *device, int64_t n, double seconds,
                         void (*f)(void *context, int64_t i, int thread), void *context);

#endif
