/*
 * A GPU's driver as stet sees it: a table of pointers under neutral names (entries.inl), filled at run time, and what the two
 * vendors' drivers have different (sti_gpu_vendor). Nothing of a vendor is needed to build.
 *
 * Invariants:
 *   DRIVER-1  a driver is used only when every required entry point was found and its version is one that is known to do
 *   DRIVER-2  no number or layout is taken from a driver whose version does not vouch for it
 *   DRIVER-3  outside cuda.c and hip.c nobody knows which vendor it is
 */
#ifndef STI_DEVICE_GPU_DRIVER_H
#define STI_DEVICE_GPU_DRIVER_H

#include "device/gpu/library.h"
#include "stet/device.h"

typedef struct sti_gpu_api {
#define BOTH(need, name, cuda, hip, result, parameters) result(*name) parameters;
#define CUDA(need, name, cuda, result, parameters) result(*name) parameters;
#define HIP(need, name, hip, result, parameters) result(*name) parameters;
#include "device/gpu/entries.inl"
} sti_gpu_api;

/* What is asked of a device once, when it is opened. */
#define STI_GPU_FACTS(X)                                                                                               \
    X(MAX_THREADS) /* of a block */                                                                                    \
    X(MAX_X)       /* threads of a block in x, y */                                                                    \
    X(MAX_Y)                                                                                                           \
    X(MAX_GRID)    /* blocks in x */                                                                                   \
    X(SHARED)      /* bytes of shared memory a block may have as it is … */                                          \
    X(SHARED_MOST) /* … and when it is asked for */                                                                  \
    X(WARP)                                                                                                            \
    X(PROCESSORS) /* multiprocessors, compute units */                                                                 \
    X(MAJOR)      /* of the architecture */                                                                            \
    X(MINOR)
typedef enum sti_gpu_fact {
#define STI_GPU_FACT_ENUM(name) STI_GPU_##name,
    STI_GPU_FACTS(STI_GPU_FACT_ENUM)
#undef STI_GPU_FACT_ENUM
        STI_GPU_FACT_COUNT
} sti_gpu_fact;

typedef struct sti_gpu_driver sti_gpu_driver;

/* Which device the calls of this thread went to before stet's, and what a capture may refuse it. */
typedef struct sti_gpu_current {
    void *context; /* CUDA */
    int ordinal;   /* HIP */
    bool switched;
    int mode; /* of captures */
} sti_gpu_current;

/* Results of driver calls that stet tells apart; both vendors number these alike. */
enum {
    STI_GPU_OK = 0,
    STI_GPU_OUT_OF_MEMORY = 2,
    STI_GPU_NO_DEVICE = 100,
    STI_GPU_INVALID_DEVICE = 101, /* what HIP's init says where there is none */
    STI_GPU_NOT_FOUND = 500,
    STI_GPU_NOT_READY = 600,
    STI_GPU_NOT_SUPPORTED = 801,
    STI_GPU_CAPTURE_RELAXED = 2,
    STI_GPU_STREAM_NON_BLOCKING = 1, /* flags, alike too */
    STI_GPU_EVENT_TIMING = 0,
    STI_GPU_EVENT_NO_TIMING = 2,
    STI_GPU_HOST_PORTABLE = 1
};

/* What a launch of a kernel comes to: blocks in x, threads of each in x and y, bytes of shared memory of each. */
typedef struct sti_gpu_kernel {
    void *function;
    unsigned grid, team, teams, shared;
    void **arguments;
} sti_gpu_kernel;

/* Where a node of a graph goes. */
typedef struct sti_gpu_place {
    void *graph;
    void *const *after; /* nodes */
    size_t nafter;
    const bool *early; /* [nafter]: while these end the node, a kernel that waits by itself, may start; or NULL */
} sti_gpu_place;

typedef struct sti_gpu_vendor {
    const char *name;  /* "cuda", as --device and messages have it */
    const char *title; /* "CUDA" */
    stet_device_type type;
    const sti_library_names *driver, *compiler;
    int least; /* version of the driver that will do, in its own numbers */
    void (*version_text)(int version, char *out, size_t size);
    int fact[STI_GPU_FACT_COUNT]; /* the numbers of attributes; -1: it has none */
    int attribute[4];             /* sti_attribute's, of functions */
    int shared_attribute;         /* of a function: how much shared memory it may be given; -1: none needed */
    uint64_t max_threads;         /* of a whole launch, in x */
    /* "sm_90", "gfx90a"; fact[] is known already */
    stet_result (*arch)(const sti_gpu_driver *driver, int ordinal, const int *fact, char *out, size_t size);
    void (*error_text)(const sti_gpu_driver *driver, int code, const char **name, const char **text);
    bool (*fatal)(int code); /* after this one no call on the device works any more */
    /* The device's context: made when the first asks for it. The calls are driver calls, their results the driver's. */
    int (*retain)(const sti_gpu_driver *driver, int ordinal, void **context);
    int (*release)(const sti_gpu_driver *driver, int ordinal);
    /* Has this thread's calls go to the device, and back to where they went. */
    int (*enter)(const sti_gpu_driver *driver, int ordinal, void *context, sti_gpu_current *was);
    int (*leave)(const sti_gpu_driver *driver, const sti_gpu_current *was);
    /* Of graphs, what takes structs of the vendor's own; the results are the driver's. */
    int (*add_kernel)(const sti_gpu_driver *driver, const sti_gpu_place *at, const sti_gpu_kernel *kernel, void **node);
    int (*set_kernel)(const sti_gpu_driver *driver, void *executable, void *node, const sti_gpu_kernel *kernel);
    int (*add_copy)(const sti_gpu_driver *driver, const sti_gpu_place *at, void *context, void *to, const void *from,
                    size_t size, void **node);
    /* A node that runs *body again and again while the handle is not 0. NULL: the vendor's drivers have none. */
    int (*add_while)(const sti_gpu_driver *driver, const sti_gpu_place *at, void *context, uint64_t handle, void **node,
                     void **body);
    int early_version, early_major; /* least version of the driver and of the architecture for `early`; 0: never */
    bool graphs_wait;               /* an executable graph may go only after it has run */
} sti_gpu_vendor;

extern const sti_gpu_vendor sti_gpu_cuda, sti_gpu_hip;

struct sti_gpu_driver {
    const sti_gpu_vendor *vendor;
    sti_library library;
    sti_gpu_api api;
    int version; /* of the driver, in its own numbers */
    char version_text[32];
    int ndevice;
};

/*
 * Finds, checks and starts a driver; `given`: its file, or NULL. STET_NOT_FOUND: there is no driver, or it has no device; anything
 * else: there is one, and why it cannot be used. What was opened stays loaded: a driver has threads of its own.
 */
stet_result sti_gpu_driver_open(const sti_gpu_vendor *vendor, const char *given, sti_gpu_driver *out);

/*
 * Do all of these optional entry points exist, that the vendor has? Neutral names, ended by NULL. UNSUPPORTED: the sentence says what needs them,
 * and which are missing.
 */
stet_result sti_gpu_driver_needs(const sti_gpu_driver *driver, const char *const *names, const char *what);

/* What is known of a device without making it work. */
typedef struct sti_gpu_facts {
    int ordinal;
    char name[64], arch[32];
    int fact[STI_GPU_FACT_COUNT];
    size_t memory; /* bytes */
} sti_gpu_facts;
stet_result sti_gpu_facts_of(const sti_gpu_driver *driver, int index, sti_gpu_facts *out);

/* The sentence of a driver call that failed: the device, the call, the driver's name of the code and what it says of it. */
stet_result sti_gpu_call_failed(const sti_gpu_driver *driver, int code, const char *where, const char *call);

#endif
