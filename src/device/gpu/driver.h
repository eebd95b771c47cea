/*
 * A GPU's driver as stet uses it: a table of function pointers under neutral names (entries.inl), filled at run time,
 * and what differs between the two vendors' drivers (sti_gpu_vendor). Building stet needs nothing of a vendor.
 *
 * Invariants:
 *   DRIVER-1  a driver is used only when every required entry point was found and its version is known to suffice
 *   DRIVER-2  no number or struct layout is taken from a driver whose version does not guarantee it
 *   DRIVER-3  outside cuda.c and hip.c no code depends on the vendor
 */
#ifndef STI_DEVICE_GPU_DRIVER_H
#define STI_DEVICE_GPU_DRIVER_H

#include "base/shared_library.h"
#include "stet/device.h"

typedef struct sti_gpu_api {
#define BOTH(need, name, cuda, hip, result, parameters) result(*name) parameters;
#define CUDA(need, name, cuda, result, parameters) result(*name) parameters;
#define HIP(need, name, hip, result, parameters) result(*name) parameters;
#include "device/gpu/entries.inl"
} sti_gpu_api;

/* Attributes that are queried once, when a device is opened. */
#define STI_GPU_FACTS(X)                                                                                               \
    X(MAX_THREADS) /* threads per block */                                                                             \
    X(MAX_X)       /* threads per block in x, y */                                                                     \
    X(MAX_Y)                                                                                                           \
    X(MAX_GRID)    /* blocks in x */                                                                                   \
    X(SHARED)      /* bytes of shared memory per block by default … */                                               \
    X(SHARED_MOST) /* … and when a kernel requests them */                                                           \
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

/* The device that this thread's driver calls went to before a call of stet, and the thread's capture mode. */
typedef struct sti_gpu_current {
    void *context; /* CUDA */
    int ordinal;   /* HIP */
    bool switched;
    int mode; /* capture mode */
} sti_gpu_current;

/* Driver results that stet distinguishes; both vendors use the same numbers. */
enum {
    STI_GPU_OK = 0,
    STI_GPU_OUT_OF_MEMORY = 2,
    STI_GPU_NO_DEVICE = 100,
    STI_GPU_INVALID_DEVICE = 101, /* what HIP's init returns where there is no device */
    STI_GPU_NOT_FOUND = 500,
    STI_GPU_NOT_READY = 600,
    STI_GPU_NOT_SUPPORTED = 801,
    STI_GPU_CAPTURE_RELAXED = 2,
    STI_GPU_CAPTURE_ACTIVE = 1,      /* a status */
    STI_GPU_DEPEND_SET = 1,          /* a flag */
    STI_GPU_STREAM_NON_BLOCKING = 1, /* flags; also the same numbers */
    STI_GPU_EVENT_TIMING = 0,
    STI_GPU_EVENT_NO_TIMING = 2,
    STI_GPU_HOST_PORTABLE = 1
};

/*
 * A kernel launch as the driver takes it: blocks in x, threads per block in x and y, bytes of shared memory per block.
 */
typedef struct sti_gpu_kernel {
    void *function;
    unsigned grid, team, teams, shared;
    void **arguments;
} sti_gpu_kernel;

/* Where a node is added to a graph. */
typedef struct sti_gpu_place {
    void *graph;
    void *const *after; /* nodes that it runs after */
    size_t nafter;
    /* [nafter] a kernel that waits by itself may start while this node is still ending; or NULL */
    const bool *early;
} sti_gpu_place;

typedef struct sti_gpu_vendor {
    const char *name;  /* "cuda", as in --device and messages */
    const char *title; /* "CUDA" */
    stet_device_type type;
    const sti_library_names *driver, *compiler;
    int least; /* least sufficient driver version, in the vendor's numbers */
    void (*version_text)(int version, char *out, size_t size);
    int fact[STI_GPU_FACT_COUNT]; /* the vendor's numbers of attributes; -1: it has none */
    int attribute[4];             /* the vendor's numbers for sti_attribute */
    int shared_attribute;         /* function attribute that permits more shared memory; -1: none needed */
    uint64_t max_threads;         /* of a launch, in x */
    /* Writes "sm_90", "gfx90a"; fact[] is known already. */
    stet_result (*arch)(const sti_gpu_driver *driver, int ordinal, const int *fact, char *out, size_t size);
    void (*error_text)(const sti_gpu_driver *driver, int code, const char **name, const char **text);
    bool (*fatal)(int code); /* after this error no call on the device works any more */
    /*
     * The device's context, which is created by the first retain. These are driver calls and return the driver's
     * results.
     */
    int (*retain)(const sti_gpu_driver *driver, int ordinal, void **context);
    int (*release)(const sti_gpu_driver *driver, int ordinal);
    /* Make the device current for this thread's driver calls, and restore what was current before. */
    int (*enter)(const sti_gpu_driver *driver, int ordinal, void *context, sti_gpu_current *was);
    int (*leave)(const sti_gpu_driver *driver, const sti_gpu_current *was);
    /* Graph calls that take structs of the vendor; they return the driver's results. */
    int (*add_kernel)(const sti_gpu_driver *driver, const sti_gpu_place *at, const sti_gpu_kernel *kernel, void **node);
    int (*set_kernel)(const sti_gpu_driver *driver, void *executable, void *node, const sti_gpu_kernel *kernel);
    int (*add_copy)(const sti_gpu_driver *driver, const sti_gpu_place *at, void *context, void *to, const void *from,
                    size_t size, void **node);
    /* A node that repeats *body while the handle is not 0. NULL: the vendor's drivers have none. */
    int (*add_while)(const sti_gpu_driver *driver, const sti_gpu_place *at, void *context, uint64_t handle, void **node,
                     void **body);
    int early_version, early_major; /* least driver version and architecture for `early`; 0: never */
    bool graphs_wait;               /* an executable graph may be destroyed only after it has run */
} sti_gpu_vendor;

extern const sti_gpu_vendor sti_gpu_cuda, sti_gpu_hip;

/* The run-time compilers of kernels: NVRTC, hipRTC (cuda.c, hip.c). */
extern const sti_library_names sti_cuda_compiler, sti_hip_compiler;

struct sti_gpu_driver {
    const sti_gpu_vendor *vendor;
    sti_library library;
    sti_gpu_api api;
    int version; /* in the vendor's numbers */
    char version_text[32];
    int ndevice;
};

/*
 * Finds, checks and initializes a driver. `given`: its file, or NULL. STET_ERROR_NOT_FOUND: there is no driver, or it
 * has no device. Any other error: there is a driver, and the message says why it cannot be used. An opened driver stays
 * loaded, because it has threads of its own.
 */
stet_result sti_gpu_driver_open(const sti_gpu_vendor *vendor, const char *given, sti_gpu_driver *out);

/*
 * Checks that all optional entry points in a list exist, if the vendor has them. Neutral names, ended by NULL.
 * UNSUPPORTED: the message says what needs them, and which are missing.
 */
stet_result sti_gpu_driver_needs(const sti_gpu_driver *driver, const char *const *names, const char *what);

/* What is known of a device without creating a context on it. */
typedef struct sti_gpu_facts {
    int ordinal;
    char name[64], arch[32];
    int fact[STI_GPU_FACT_COUNT];
    size_t memory; /* bytes */
} sti_gpu_facts;
stet_result sti_gpu_facts_of(const sti_gpu_driver *driver, int index, sti_gpu_facts *out);

/* Sets the message of a failed driver call: the device, the call, the driver's name of the code and its text. */
stet_result sti_gpu_call_failed(const sti_gpu_driver *driver, int code, const char *where, const char *call);

#endif
