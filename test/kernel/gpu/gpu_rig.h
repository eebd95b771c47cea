/*
 * A device that pretends to be a GPU as far as programs are concerned: its modules are real code of a real run-time
 * compiler, kept and looked into, but never run. For tests of what is compiled when; what runs is tested over the
 * driver double.
 */
#ifndef TEST_KERNEL_GPU_RIG_H
#define TEST_KERNEL_GPU_RIG_H

#include "double/rig.h"
#include "kernel/user_rig.h"

#include "kernel/gpu/programs.h"
#include "kernel/gpu/rtc.h"
#include "kernel/compile/cached_compile.h"

enum { RIG_MODULES = 64 };

typedef struct rig_module {
    char *image;
    size_t size;
} rig_module;

static struct {
    sti_device_ops ops;
    rig_module *module[RIG_MODULES]; /* those that are loaded */
    int loads, unloads, functions, fail_load;
    sti_code last; /* that was launched */
    bool in_block;
    int launches;
    bool installed; /* compilers are the vendors', else the driver double's */
} rig;

static inline stet_result rig_load(stet_device *device, const void *image, size_t size, const char *what, void **module)
{
    (void)device;
    if (++rig.loads == rig.fail_load) return sti_error(STET_ERROR_DEVICE, "%s: the driver refuses the module", what);
    for (int i = 0; i < RIG_MODULES; ++i) {
        if (rig.module[i]) continue;
        rig_module *m = calloc(1, sizeof *m);
        m->image = malloc(size);
        memcpy(m->image, image, size);
        m->size = size;
        rig.module[i] = m;
        *module = m;
        return STET_OK;
    }
    return sti_error(STET_ERROR_LIMIT, "%s: too many modules for the rig", what);
}

static inline void rig_unload(stet_device *device, void *module)
{
    (void)device;
    rig_module *m = module;
    rig.unloads++;
    for (int i = 0; i < RIG_MODULES; ++i)
        if (rig.module[i] == m) rig.module[i] = NULL;
    free(m->image);
    free(m);
}

/* Where the image has this symbol, and no longer one that begins with it. */
static inline void *rig_find(const rig_module *m, const char *symbol)
{
    bool code = memcmp(m->image, "\177ELF", 4) == 0; /* else text, in which a bracket follows */
    char name[256];
    (void)snprintf(name, sizeof name, "%s(", symbol);
    return memmem(m->image, m->size, code ? symbol : name, strlen(symbol) + 1);
}

static inline bool rig_has(const rig_module *m, const char *symbol) { return rig_find(m, symbol) != NULL; }

/* The address of the symbol in the image stands for the function. */
static inline stet_result rig_function(stet_device *device, void *module, const char *symbol, void **out)
{
    (void)device;
    rig.functions++;
    *out = rig_find(module, symbol);
    return *out ? STET_OK : sti_error(STET_ERROR_NOT_FOUND, "module: no function %s", symbol);
}

static inline stet_result rig_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot,
                                     int64_t nblock, bool in_block)
{
    (void)device;
    (void)slots;
    (void)nslot;
    (void)nblock;
    rig.last = *code;
    rig.in_block = in_block;
    rig.launches++;
    return STET_OK;
}

static inline int rig_loaded(void)
{
    int n = 0;
    for (int i = 0; i < RIG_MODULES; ++i) n += rig.module[i] != NULL;
    return n;
}

/* A device of type NULL passes for a GPU, whose code the rig loads and launches. */
static inline void pass_for_gpu(stet_device *d, stet_device_type type, const char *arch)
{
    rig.ops = *d->ops;
    rig.ops.load = rig_load;
    rig.ops.unload = rig_unload;
    rig.ops.function = rig_function;
    rig.ops.launch = rig_launch;
    d->ops = &rig.ops;
    d->type = type;
    d->can.compiles = d->can.teams = d->can.own_memory = d->can.queues = true;
    (void)snprintf(d->arch, sizeof d->arch, "%s", arch);
}

/* compiler NULL: the one of this run (need_compiler). */
static inline stet_device *open_gpu(stet_device_type type, const char *arch, const char *compiler)
{
    stet_device_def def = stet_default_device_def();
    stet_device *d;
    def.type = STET_DEVICE_NULL;
    def.threads = 2;
    OK(stet_device_create(&def, &d));
    pass_for_gpu(d, type, arch);
    (void)snprintf(d->name, sizeof d->name, "a GPU of the test's (%s)", arch);
    OK(sti_strdup(&d->cache_folder, in_folder("cache")));
    if (!compiler && !rig.installed) compiler = type == STET_DEVICE_HIP ? DOUBLE_HIP : DOUBLE_CUDA;
    if (compiler) OK(sti_strdup(&d->compiler_library, compiler));
    memset(rig.module, 0, sizeof rig.module); /* of a test that failed */
    rig.loads = rig.unloads = rig.functions = rig.fail_load = rig.launches = 0;
    return d;
}

/* Every module that was loaded is unloaded by then. */
static inline void close_gpu(stet_device *d)
{
    sti_free(d->cache_folder);
    sti_free(d->compiler_library);
    d->cache_folder = d->compiler_library = NULL;
    stet_device_destroy(d);
    assert_int_equal(rig_loaded(), 0);
}

/*
 * Before a test that compiles: with the vendors' compilers, it is skipped where there is none; else the double's is
 * taken, which runs the system's compiler.
 */
static inline void need_compiler(stet_device_type type)
{
    sti_rtc rtc;
    if (!rig.installed || sti_rtc_open(type, NULL, 0, &rtc) == STET_OK) {
        if (rig.installed) sti_rtc_close(&rtc);
        return;
    }
    print_message("skipped: %s\n", stet_get_last_error());
    skip();
}

#endif
