/*
 * The device: a table of functions for each kind of device, and the arrays on top of it.
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

enum { STI_DEVICE_OPS_VERSION = 7 };

/*
 * The code of one kernel, as one device runs it.
 *
 * On a GPU it has two entries, which differ in how they receive the slots. For a kernel with n slots (m = n, or 1 if n
 * is 0):
 *   value   extern "C" __global__ void (struct of an array of m slots, by value; i64 count)
 *   block   extern "C" __global__ void (const slot *, i64 count)
 * count is the launch's number of worlds or blocks. A world kernel (`worlds`) is launched with ceil(count / teams)
 * blocks of (team, teams) threads, or of fewer teams if their memory would not fit. Its entry computes the world as
 * blockIdx.x * blockDim.y + threadIdx.y and returns if that is not below count. With memory of teams it goes on with
 * the world that is as many further as there are teams, so fewer blocks do, too: as many as there is memory for. An
 * item kernel is launched with count blocks of (team, 1) threads; the number of a block is blockIdx.x.
 */
struct sti_code {
    const char *name; /* for messages; lives as long as the device */
    sti_call *call;   /* devices that run on the host */
    void *value;      /* GPUs: functions of a module (`function`); NULL: this entry does not exist */
    void *block;
    int team, teams; /* threads; teams is 1 in an item kernel */
    bool worlds;
    /* a bit for each slot that is memory of a team; such a slot says how many bytes a team needs, and may say where */
    uint64_t team_slots;
    /* GPUs: its entries wait by themselves for the kernels before them (stet/lang_gpu.h) */
    bool waits;
    unsigned shared; /* bytes of shared memory a block, beyond what its code declares */
    int nslot;       /* slots that its entry takes; 0: one per argument */
    /* fused code (kernel/gpu/fused.h): how many times one launch can run through its phases */
    int repeats;
};

/* What `attribute` can query of a function of a module. */
typedef enum sti_attribute {
    STI_ATTRIBUTE_REGISTERS,    /* per thread */
    STI_ATTRIBUTE_LOCAL_BYTES,  /* per thread: spilled registers and local arrays */
    STI_ATTRIBUTE_SHARED_BYTES, /* per block, as declared */
    STI_ATTRIBUTE_MAX_THREADS   /* per block */
} sti_attribute;

/*
 * How work is ordered between streams. `stream` belongs to the caller. The upload stream is a second stream of the
 * device's own; only stream_upload uses it, and only these calls order it against other work.
 *   STREAM_BEHIND  work that `stream` gets from now on runs after all work issued so far
 *   BEHIND_STREAM  work issued from now on runs after the work that `stream` has got so far
 *   UPLOADS_AFTER  uploads in the upload stream from now on run after all work issued so far
 *   AFTER_UPLOADS  work issued from now on runs after the uploads in the upload stream so far
 * The last two take, in place of `stream`, the beginning of memory that host_alloc returned:
 *   HOST_KEEPS     the caller leaves this memory unchanged, so uploads may read it after they have returned, without
 *       a copy
 *   HOST_BEHIND    waits for those uploads; call it before the memory is written again. Freeing the memory waits, too.
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
 * What a kind of device can do. For all functions: one thread at a time calls them for one device. A function that
 * fails leaves everything as it was and sets the thread's message. Copies and launches run in the order in which they
 * were issued. Only `free` may be called from any thread at any time (by the deleter of an exported tensor).
 */
typedef struct sti_device_ops {
    int version; /* STI_DEVICE_OPS_VERSION */
    void (*destroy)(stet_device *device);
    /* Allocates zeroed device memory, aligned to STI_ALIGN. */
    stet_result (*alloc)(stet_device *device, size_t size, const char *what, void **out);
    void (*free)(stet_device *device, void *memory);
    /*
     * Copy host to device, device to host, device to device. A copy that involves the host is complete on return. With
     * size 0 the addresses may be NULL.
     */
    stet_result (*upload)(stet_device *device, void *to, const void *from, size_t size);
    stet_result (*download)(stet_device *device, void *to, const void *from, size_t size);
    stet_result (*copy)(stet_device *device, void *to, const void *from, size_t size);
    /*
     * Runs blocks 0 … nblock - 1 of a kernel. The slots are either in host memory and read before the function returns,
     * or (in_block) in a block of arguments on the device, which must not change until the launch has run.
     */
    stet_result (*launch)(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot, int64_t nblock,
                          bool in_block);
    /* Waits for all work that was issued. Returns the error, if something failed on the device meanwhile. */
    stet_result (*synchronize)(stet_device *device);

    /* What happens where this cannot be reused (stet_device_get_instead); NULL: it is. */
    const char *(*instead)(const stet_device *device, stet_reuse reuse);

    /* ---- GPUs only; NULL elsewhere ---- */
    /*
     * Loads compiled code (for the device's arch). `what` names it in messages. The image may be freed when load
     * returns.
     */
    stet_result (*load)(stet_device *device, const void *image, size_t size, const char *what, void **module);
    void (*unload)(stet_device *device, void *module); /* waits for launches of its functions */
    /* Looks a function up. STET_ERROR_NOT_FOUND: the module has no such function. */
    stet_result (*function)(stet_device *device, void *module, const char *symbol, void **out);
    stet_result (*attribute)(stet_device *device, void *function, sti_attribute attribute, int *out);

    /* ---- optional ---- */
    /*
     * Allocates zeroed, page-locked host memory, from which copies are fast. NULL: all memory is equally fast. Any
     * thread may free it.
     */
    stet_result (*host_alloc)(stet_device *device, size_t size, const char *what, void **out);
    void (*host_free)(stet_device *device, void *memory);
    /* Bytes of device memory: free now (with what stet keeps for reuse), and in total. NULL: not known. */
    stet_result (*memory)(stet_device *device, size_t *free, size_t *total);

    /* ---- graphs (device/graph.h); all five or none. NULL: lists of launches are played one by one ---- */
    /*
     * Builds a graph of a list and runs nothing. Edges are in the order in which sti_list_edges gives them.
     * STET_ERROR_UNSUPPORTED: the driver has no graphs, or lacks what one of the operations needs; the message says
     * which.
     */
    stet_result (*graph_make)(stet_device *device, const sti_graph_op *ops, int nop, const sti_edge *edges, int nedge,
                              const char *what, void **out);
    /*
     * Changes one operation, beginning with the next launch of the graph. A launch gets new arguments (read before the
     * function returns) and a number of blocks (0: it is skipped). A loop gets a number of trips. Launches in flight
     * keep their values; nothing is instantiated again.
     */
    stet_result (*graph_set)(stet_device *device, void *graph, int op, const sti_slot *slots, int nslot,
                             int64_t number);
    stet_result (*graph_launch)(stet_device *device, void *graph);
    /*
     * Adds the nodes of such a list to the graph that the caller's capture of the stream in use becomes, behind all
     * that is captured so far and before all that follows. The device keeps what they need until it is destroyed,
     * because the caller's graph may live as long. UNSUPPORTED: as graph_make, or there is no capture.
     */
    stet_result (*graph_join)(stet_device *device, const sti_graph_op *ops, int nop, const sti_edge *edges, int nedge,
                              const char *what);
    /* Frees the graph once it has run. Does not wait where the driver defers the destruction itself. */
    void (*graph_free)(stet_device *device, void *graph);

    /* ---- streams; NULL: the device has none, and work is done when a call returns ---- */
    /*
     * From now on work goes to `stream`, or to the device's own stream (own: true). It runs after all work issued
     * before, unless one of the two streams is being captured: captured work depends on nothing outside of its capture.
     */
    stet_result (*use_stream)(stet_device *device, void *stream, bool own);
    /*
     * AFTER_UPLOADS works at any time; where the stream in use is being captured, the host waits. Both orders of the
     * upload stream do nothing if there is nothing to order: AFTER_UPLOADS without an upload since the last such order,
     * UPLOADS_AFTER before the upload stream exists.
     */
    stet_result (*order)(stet_device *device, void *stream, sti_order how);
    /* Uploads in the upload stream. `from` may be freed when it returns. The caller orders the upload (`order`). */
    stet_result (*stream_upload)(stet_device *device, void *to, const void *from, size_t size);
    /*
     * The number of the capture that the stream in use is part of; 0: none. During a capture only launches and copies
     * on the device work.
     */
    stet_result (*capturing)(stet_device *device, uint64_t *out);

    /* ---- times; NULL: the device has none, and times are the host's ---- */
    /* Records a moment in the stream and stores its number in *id. Nothing waits. id NULL: drops all moments. */
    stet_result (*moment)(stet_device *device, int64_t *id);
    /* Nanoseconds from moment `from` to moment `to`; waits for both. */
    stet_result (*between)(stet_device *device, int64_t from, int64_t to, int64_t *ns);
} sti_device_ops;

/* What the host is about to do while launches are listed that have not run yet. */
typedef enum sti_act { STI_ACT_READ, STI_ACT_WRITE, STI_ACT_CREATE, STI_ACT_PRODUCE } sti_act;

struct sti_kernel;

/* Callbacks of the layer above, which lists launches and keeps recordings of them (kernel/record/record.h). */
typedef struct sti_list_hooks {
    /*
     * While launches are listed: runs the launches that must run before the host does this, or refuses. CREATE has no
     * array yet.
     */
    stet_result (*before)(stet_device *device, sti_act act, const stet_array *array, const char *name);
    /* Called before an array is destroyed; its memory still exists. */
    void (*array_gone)(stet_device *device, const stet_array *array);
    /* Called before a kernel is destroyed, or its code is. */
    void (*kernel_gone)(stet_device *device, const struct sti_kernel *kernel);
    /* True if a launch of the kernel is listed and has not run. */
    bool (*is_listed)(const stet_device *device, const struct sti_kernel *kernel);
    void (*destroy)(stet_device *device);
} sti_list_hooks;

/* Someone who keeps pointers to arrays or kernels of other owners. `gone` is called before one of them is destroyed. */
typedef struct sti_watcher {
    void (*gone)(struct sti_watcher *watcher, const void *thing);
    struct sti_watcher *next;
} sti_watcher;

/* What a kind of device can do, beyond what its functions say. */
typedef struct sti_capabilities {
    /*
     * the host can access the device's memory and host mirrors are that memory (device/host_mirror.h); else only copies
     * reach it
     */
    bool host_memory;
    bool own_memory; /* arrays are not in the machine's memory */
    bool
        compiles; /* kernels are compiled for it when they are first used (kernel/gpu); else they are the host's code */
    bool teams;   /* a kernel's team is several threads, and many teams run at the same time */
    bool queues;  /* work runs after the call that issues it has returned */
} sti_capabilities;

struct stet_device {
    const sti_device_ops *ops;
    sti_capabilities can;
    stet_device_type type;
    sti_isa isa; /* CPU only */
    int lanes;   /* lane width B */
    int threads;
    size_t real_size;
    bool apart; /* a null device whose addresses mean nothing to the host */
    /* the owner's; one per array, kernel, and block of memory shared with tensors (share.h) */
    _Atomic int64_t refs;
    int64_t narray;      /* arrays alive */
    int64_t array_bytes; /* bytes of device memory that these arrays were given */
    char name[96];
    int index;          /* GPU: the def's gpu.index */
    int driver_version; /* GPU: the driver's version in the vendor's numbers: 13000 is CUDA 13.0 */
    int processors;     /* GPU: multiprocessors; 0: not known */
    int64_t shared;     /* GPU: bytes of shared memory that a block can have */
    /* GPU: the architecture as its compiler spells it: "sm_90", "gfx90a"; "" elsewhere */
    char arch[32];
    /* the def's gpu.compiler_library and gpu.cache_folder; NULL: not given */
    char *compiler_library;
    char *cache_folder;
    void *state;  /* belongs to the kind of device */
    void *stream; /* the stream in use; NULL on devices without streams */
    sti_mechanisms mechanisms;
    /* the latest trace: mechanisms.trace, or one that has ended; NULL: there was none */
    sti_trace *traced;
    struct sti_ranges *ranges; /* ranges for profilers (device/ranges.h); NULL: none are wanted */
    /* device times of traced work (device/trace.h); NULL: there are none */
    struct sti_times *times;
    /* NULL: no launch was listed yet; set together with recorder */
    const sti_list_hooks *list_hooks;
    struct sti_recorder *recorder;
    /* GPU: the code of kernels (kernel/gpu); NULL: none was needed yet; set together with … */
    struct sti_programs *programs;
    /* … this function, called before the device is destroyed */
    void (*drop_programs)(stet_device *device);
    sti_watcher *watchers;
    struct sti_plain_view *views; /* plain views that tensors show (device/plain_view.h) */
    /* is notified of each launch issued (kernel/record/launch_observer.h); NULL: no observer */
    struct sti_launch_observer *launch_observer;
    /*
     * stacks of adjoints, which that layer makes and frees (adjoint/launch/stacks.h); NULL: there are none; set
     * together with …
     */
    struct sti_stacks *stacks;
    /* … this function, called before the host reads results of launches */
    stet_result (*check_overflow)(stet_device *device);
    /*
     * users' kernels are compiled in checked mode (kernel/checked/checked.h); those that ran and whose reports were not
     * read yet …
     */
    bool checked;
    struct sti_checked *unread_faults; /* … are in this list */
    bool wait_for_code;                /* the def's (kernel/gpu/programs.h) */
    bool listing;                      /* launches are listed instead of run */
    /* open lists that have no recorder, because memory ran out: their launches run at once */
    int unlisted;
};

static inline stet_result sti_before_host_access(stet_device *device, sti_act act, const stet_array *array,
                                                 const char *name)
{
    return device->listing ? device->list_hooks->before(device, act, array, name) : STET_OK;
}

/* For calls that cannot be part of a list of launches. */
static inline stet_result sti_not_listing(const stet_device *device, const char *call)
{
    if (!device->listing) return STET_OK;
    return sti_error(STET_ERROR_STATE, "%s: launches are being listed; end the list (stet_record_end) before this call",
                     call);
}

/*
 * All copies of a device go through these functions. `name`: the array's name for traces; NULL: the memory is no
 * array's.
 */
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
/* Type CUDA or HIP. */
stet_result sti_gpu_device_init(stet_device *device, const stet_device_def *def);
/* STET_ERROR_NOT_FOUND: the run-time compiler of kernels for the def's type is not installed. */
stet_result sti_gpu_find_compiler(const stet_device_def *def);
/*
 * Call it before others access the device's memory outside of the device's stream: waits for all work that was issued.
 */
static inline stet_result sti_device_wait_idle(stet_device *device)
{
    return device->can.queues ? device->ops->synchronize(device) : STET_OK;
}
/* The same for one stream of the caller: what it gets from now on runs after the work issued so far. */
static inline stet_result sti_device_signal(stet_device *device, void *stream)
{
    return device->ops->order ? device->ops->order(device, stream, STI_ORDER_STREAM_BEHIND)
                              : sti_device_wait_idle(device);
}
/* What is issued from now on runs after the work that the caller's stream has got so far. */
static inline stet_result sti_device_wait_for_stream(stet_device *device, void *stream)
{
    return device->ops->order ? device->ops->order(device, stream, STI_ORDER_BEHIND_STREAM) : STET_OK;
}
/*
 * Order work after uploads in the upload stream, and these uploads after work. Without such a stream all work is in one
 * order.
 */
static inline stet_result sti_device_after_uploads(stet_device *device)
{
    return device->ops->order ? device->ops->order(device, NULL, STI_ORDER_AFTER_UPLOADS) : STET_OK;
}
static inline stet_result sti_device_uploads_after(stet_device *device)
{
    return device->ops->order ? device->ops->order(device, NULL, STI_ORDER_UPLOADS_AFTER) : STET_OK;
}
/* The id of the caller's capture that work issued now becomes part of; 0: none. */
uint64_t sti_device_capture(stet_device *device);
/* Any thread may release. The last release destroys the device. */
void sti_device_retain(stet_device *device);
void sti_device_release(stet_device *device);
void sti_device_watch(stet_device *device, sti_watcher *watcher);
/* Does nothing if it is not registered. */
void sti_device_unwatch(stet_device *device, sti_watcher *watcher);
void sti_device_notify_destroyed(stet_device *device, const void *thing);

/* Brings an array up to date. It calls sti_let_stand, so content that is still valid is not computed again. */
typedef stet_result sti_producer(void *context);

struct stet_array {
    stet_device *device;
    char name[48];
    stet_dtype dtype;
    bool worlds;
    bool borrowed;  /* data belongs to another array, `base` */
    bool counted;   /* its size is part of the device's array_bytes */
    bool read_only; /* imported as read-only: no launch and no host write may change it */
    bool outside;   /* a graph of the caller holds its address (sti_array_set_outside) */
    /* a plain array whose writers keep worlds apart: each launch writes the same part for the same world */
    bool by_world;
    bool scratch; /* a launch reads nothing of it that it has not written: what is left in it means nothing */
    int ndim;
    int64_t shape[STET_MAX_DIMS];
    /* items of a world: the product of the other dimensions; of a plain array: all items */
    int64_t nitem;
    int64_t nblock; /* blocks of worlds; of a plain array: 1 */
    size_t size;    /* bytes on the device, with padding */
    void *data;
    stet_array *base;        /* a view's owner */
    struct sti_share *share; /* data is shared with tensors; NULL: it is not */
    /* the plain view that tensors show where data lies in blocks; NULL: there is none */
    struct sti_plain_view *view;
    sti_version version;
    void *host; /* the copy that stet_array_get_host returns */
    sti_stamp host_stamp;
    struct sti_host_mirror *mirror; /* the host mirror, if one was made (device/host_mirror.h) */
    /* brings the content up to date before a read; NULL: the content is always up to date */
    sti_producer *producer;
    void *producer_context;
    bool producing; /* the producer is running: its own reads and writes do not call it again */
    int holder;     /* 1 + the mechanism whose held_bytes includes this array; 0: none */
};

/*
 * Gives an array a producer. stet calls it before it reads the array (host read, hash, an argument that a kernel reads,
 * a stamp) and before the host writes to it. So nothing stale is read, nothing is computed that nobody reads, and of
 * two writes the later one wins.
 */
void sti_array_set_producer(stet_array *array, sti_producer *producer, void *context);
/* Counts the array's memory, while it lives, as held by a mechanism. */
void sti_array_held_by(stet_array *array, stet_mechanism mechanism);
/*
 * Brings the content up to date. Call it before reading version or data. Listed launches that write the array run
 * first.
 */
stet_result sti_array_ensure(stet_array *array);
/* Calls the producer and uploads a dirty host mirror, without running listed launches. For arrays of a launch. */
stet_result sti_array_produce(stet_array *array);
/* Uploads a dirty host mirror (device/host_mirror.h), before the device address is handed out. Calls no producer. */
stet_result sti_array_to_device(stet_array *array);
/*
 * Moves the generation if someone may have written through a tensor since the last poll (stet/dlpack.h).
 * sti_array_produce calls it. Returns true while a tensor exists through which someone may write at any time: then
 * nothing derived from the array is still valid.
 */
bool sti_array_poll_external_writes(stet_array *array);
/*
 * Makes `data`, in the host's order, the content of a plain array or of one with an item a world. If the host knows
 * that it is, nothing is done. Not while launches are listed. Memory for the host's side is taken the first time, or by
 * sti_array_prepare_put.
 */
stet_result sti_array_put(stet_array *array, const void *data, size_t size);
stet_result sti_array_prepare_put(stet_array *array);
/*
 * Writes all of an array in the upload stream, while other work runs. The caller orders it (sti_device_uploads_after,
 * sti_device_after_uploads). For arrays that only the caller uses. A device without an upload stream writes in its one
 * order.
 */
stet_result sti_array_stream_upload(stet_array *array, const void *data, size_t size);
/* Checks the def and the size, and creates the array without memory. */
stet_result sti_array_make(stet_device *device, const stet_array_def *def, stet_array **out);
/* Items of a world (or of a plain array), blocks of worlds and bytes, from the array's type and shape. LIMIT. */
stet_result sti_array_measure(const stet_array *a, int64_t *nitem, int64_t *nblock, size_t *size);

/* Shorthand for the layers: the shape is a list, ndim is counted. */
stet_result sti_array_new(stet_device *device, const char *name, stet_dtype dtype, bool worlds, int ndim,
                          const int64_t *shape, stet_array **out);
#define STI_ARRAY(device, name, dtype, worlds, out, ...)                                                               \
    sti_array_new((device), (name), (dtype), (worlds), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),      \
                  (int64_t[]){__VA_ARGS__}, (out))

STI_VALIDATE(array, stet_array)
/* Its counters too. */
STI_VALIDATE(device, stet_device)

/* Index of the element (world w, item i) in the data of an array of worlds. */
static inline int64_t sti_array_index(const stet_array *a, int64_t w, int64_t i)
{
    int64_t b = a->device->lanes;
    return (w / b * a->nitem + i) * b + w % b;
}

/*
 * Runs f(context, i) for i = 0 … n - 1 over the device's threads, on the host. thread is 0 … threads - 1. seconds: what
 * all of it takes one thread, see sti_loop_def.
 */
void sti_device_parallel(stet_device *device, int64_t n, double seconds,
                         void (*f)(void *context, int64_t i, int thread), void *context);

#endif
