/*
 * The pilots on an NVIDIA GPU: compiled with NVRTC for the device's architecture, run on the inputs that the CPU has, compared with
 * the CPU's hash, and timed. Usage: pilot_gpu KERNEL_FOLDER INCLUDE_FOLDER [--compile-only | --small]. Exit status 0: all equal; 77: no GPU.
 *
 * Nothing of a vendor is needed to build: the libraries are opened at run time and the few entry points declared here.
 */
#include "base/hash.h"
#include "kernel/pilot/pilot.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct driver {
    CUresult (*cuInit)(unsigned);
    CUresult (*cuDeviceGet)(int *, int);
    CUresult (*cuDeviceGetName)(char *, int, int);
    CUresult (*cuDeviceGetAttribute)(int *, int, int);
    CUresult (*cuDevicePrimaryCtxRetain)(void **, int);
    CUresult (*cuCtxSetCurrent)(void *);
    CUresult (*cuModuleLoadData)(void **, const void *);
    CUresult (*cuModuleGetFunction)(void **, void *, const char *);
    CUresult (*cuFuncGetAttribute)(int *, int, void *);
    CUresult (*cuMemAlloc_v2)(CUdeviceptr *, size_t);
    CUresult (*cuMemFree_v2)(CUdeviceptr);
    CUresult (*cuMemcpyHtoD_v2)(CUdeviceptr, const void *, size_t);
    CUresult (*cuMemcpyDtoH_v2)(void *, CUdeviceptr, size_t);
    CUresult (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                               void **, void **);
    CUresult (*cuCtxSynchronize)(void);
    CUresult (*cuEventCreate)(void **, unsigned);
    CUresult (*cuEventRecord)(void *, void *);
    CUresult (*cuEventSynchronize)(void *);
    CUresult (*cuEventElapsedTime)(float *, void *, void *);
} driver;
typedef struct compiler {
    int (*nvrtcVersion)(int *, int *);
    int (*nvrtcCreateProgram)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*nvrtcCompileProgram)(void *, int, const char *const *);
    int (*nvrtcGetProgramLogSize)(void *, size_t *);
    int (*nvrtcGetProgramLog)(void *, char *);
    int (*nvrtcGetCUBINSize)(void *, size_t *);
    int (*nvrtcGetCUBIN)(void *, char *);
    int (*nvrtcDestroyProgram)(void **);
} compiler;

static driver cu;
static compiler rtc;

static void *open_first(const char *const *names)
{
    void *library = NULL;
    for (; !library && *names; ++names) library = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
    return library;
}

static void load(void *library, const char *name, void *slot)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "symbol %s is missing\n", name);
        exit(1);
    }
    memcpy(slot, &symbol, sizeof symbol);
}
#define LOAD(library, table, name) load(library, #name, &(table).name)

static bool load_compiler(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so", NULL};
    void *lib = open_first(names);
    if (!lib) return false;
    LOAD(lib, rtc, nvrtcVersion);
    LOAD(lib, rtc, nvrtcCreateProgram);
    LOAD(lib, rtc, nvrtcCompileProgram);
    LOAD(lib, rtc, nvrtcGetProgramLogSize);
    LOAD(lib, rtc, nvrtcGetProgramLog);
    LOAD(lib, rtc, nvrtcGetCUBINSize);
    LOAD(lib, rtc, nvrtcGetCUBIN);
    LOAD(lib, rtc, nvrtcDestroyProgram);
    return true;
}

static bool load_driver(void)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    void *lib = open_first(names);
    if (!lib) return false;
    LOAD(lib, cu, cuInit);
    LOAD(lib, cu, cuDeviceGet);
    LOAD(lib, cu, cuDeviceGetName);
    LOAD(lib, cu, cuDeviceGetAttribute);
    LOAD(lib, cu, cuDevicePrimaryCtxRetain);
    LOAD(lib, cu, cuCtxSetCurrent);
    LOAD(lib, cu, cuModuleLoadData);
    LOAD(lib, cu, cuModuleGetFunction);
    LOAD(lib, cu, cuFuncGetAttribute);
    LOAD(lib, cu, cuMemAlloc_v2);
    LOAD(lib, cu, cuMemFree_v2);
    LOAD(lib, cu, cuMemcpyHtoD_v2);
    LOAD(lib, cu, cuMemcpyDtoH_v2);
    LOAD(lib, cu, cuLaunchKernel);
    LOAD(lib, cu, cuCtxSynchronize);
    LOAD(lib, cu, cuEventCreate);
    LOAD(lib, cu, cuEventRecord);
    LOAD(lib, cu, cuEventSynchronize);
    LOAD(lib, cu, cuEventElapsedTime);
    return cu.cuInit(0) == 0;
}

static void check(CUresult r, const char *what)
{
    if (r == 0) return;
    fprintf(stderr, "%s: driver error %d\n", what, r);
    exit(1);
}

/* CUDA source of a kernel: its file, and an entry point that unpacks the slots and finds the team's world or the block. */
static void write_source(const sti_kernel *k, char *out, size_t size)
{
    size_t n = (size_t)snprintf(
        out, size,
        "#include \"%s\"\nstruct sti_slot { union { void *p; i64 i; double f; }; i64 n; };\n"
        "struct sti_block { sti_slot s[%d]; };\nextern \"C\" __global__ void __launch_bounds__(STET_TEAM *STET_TEAMS) "
        "sti_entry(sti_block b, i64 count)\n{\n",
        k->file, k->nparam);
    bool world = k->kind == STI_KERNEL_WORLD;
    n += (size_t)snprintf(out + n, size - n,
                          world ? "    i64 k = (i64)blockIdx.x * STET_TEAMS + threadIdx.y;\n"
                                : "    i64 k = blockIdx.x;\n");
    n += (size_t)snprintf(out + n, size - n, "    if (k >= count) return;\n    %s(", k->name);
    for (int i = 0, s = 0; i < k->nparam; ++i) {
        const sti_param *p = &k->param[i];
        const char *t = sti_param_type_name(p->type);
        if (i) n += (size_t)snprintf(out + n, size - n, ", ");
        if (p->index)
            n += (size_t)snprintf(out + n, size - n, "(int)k");
        else if (p->pointer && world && sti_param_type_worlds(p->type))
            n += (size_t)snprintf(out + n, size - n, "(%s *)b.s[%d].p + k * b.s[%d].n", t, s, s);
        else if (p->pointer)
            n += (size_t)snprintf(out + n, size - n, "(%s *)b.s[%d].p", t, s);
        else
            n += (size_t)snprintf(out + n, size - n, "(%s)b.s[%d].%s", t, s, p->type == STI_PARAM_UREAL ? "f" : "i");
        s += !p->index;
    }
    snprintf(out + n, size - n, ");\n}\n");
}

static char *compile(const sti_kernel *k, const char *folder, const char *include, int arch, int team, int teams)
{
    char source[8192], options[7][512];
    write_source(k, source, sizeof source);
    snprintf(options[0], sizeof options[0], "-I%s", folder);
    snprintf(options[1], sizeof options[1], "-I%s", include);
    snprintf(options[2], sizeof options[2], "-arch=sm_%d", arch);
    snprintf(options[3], sizeof options[3], "-DSTET_TEAM=%d", team);
    snprintf(options[4], sizeof options[4], "-DSTET_TEAMS=%d", teams);
    snprintf(options[5], sizeof options[5], "-I%s/stet", include);
    snprintf(options[6], sizeof options[6], "-I%s/src", folder);
    const char *all[] = {options[0], options[1],     options[2],    options[3],        options[4],         options[5],
                         options[6], "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "-lineinfo"};
    int n = (int)(sizeof all / sizeof *all);
    void *program = NULL;
    if (rtc.nvrtcCreateProgram(&program, source, k->name, 0, NULL, NULL)) return NULL;
    int result = rtc.nvrtcCompileProgram(program, n, all);
    size_t size = 0;
    rtc.nvrtcGetProgramLogSize(program, &size);
    char *log = malloc(size + 1);
    rtc.nvrtcGetProgramLog(program, log);
    if (result || size > 2)
        fprintf(stderr, "%s: %s\n%s\n", k->name, result ? "does not compile" : "compiler says", log);
    free(log);
    char *cubin = NULL;
    if (!result && rtc.nvrtcGetCUBINSize(program, &size) == 0) {
        cubin = malloc(size);
        rtc.nvrtcGetCUBIN(program, cubin);
    }
    rtc.nvrtcDestroyProgram(&program);
    return cubin;
}

typedef struct on_gpu {
    CUdeviceptr memory[STI_PILOT_MAX_ARGS];
    sti_slot slot[STI_MAX_PARAMS];
    void *function;
} on_gpu;

static void upload(on_gpu *g, const sti_pilot *p)
{
    memset(g, 0, sizeof *g);
    for (int i = 0; i < p->narg; ++i) {
        if (p->arg[i].kind != STI_ARG_ARRAY) {
            g->slot[i].i = p->arg[i].i;
            continue;
        }
        stet_array *a = p->arg[i].array;
        size_t size = stet_array_bytes(a);
        void *host = malloc(size);
        if (stet_array_read(a, host, size) != STET_OK) exit(1);
        check(cu.cuMemAlloc_v2(&g->memory[i], size), "alloc");
        check(cu.cuMemcpyHtoD_v2(g->memory[i], host, size), "upload");
        free(host);
        memcpy(&g->slot[i].p, &g->memory[i], sizeof(void *));
        g->slot[i].n = a->worlds ? a->nitem : 0;
    }
}

static uint64_t hash_outputs(const on_gpu *g, const sti_pilot *p)
{
    uint64_t each[2] = {0};
    for (int o = 0; o < p->noutput; ++o)
        for (int i = 0; i < p->narg; ++i) {
            if (p->arg[i].kind != STI_ARG_ARRAY || p->arg[i].array != p->output[o]) continue;
            size_t size = stet_array_bytes(p->output[o]);
            void *host = malloc(size);
            check(cu.cuMemcpyDtoH_v2(host, g->memory[i], size), "download");
            each
                [o] = sti_hash_bytes(host, size);
            free(host);
        }
    return sti_hash_bytes(each, sizeof *each * (size_t)p->noutput);
}

static void launch(const on_gpu *g, const sti_pilot *p, int team, int teams)
{
    /* The slots of the signature's parameters, without world and block, as one struct by value. */
    int64_t count = p->count;
    void *args[] = {(void *)(uintptr_t)g->slot, &count};
    int64_t blocks = p->kernel->kind == STI_KERNEL_WORLD ? (count + teams - 1) / teams : count;
    check(
        cu.cuLaunchKernel(g->function, (unsigned)blocks, 1, 1, (unsigned)team, (unsigned)teams, 1, 0, NULL, args, NULL),
        "launch");
}

static int compare_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float median_ms(const on_gpu *g, const sti_pilot *p, int team, int teams)
{
    enum { RUNS = 15, REPEAT = 10 };
    float ms[RUNS];
    void *from, *to;
    check(cu.cuEventCreate(&from, 0), "event");
    check(cu.cuEventCreate(&to, 0), "event");
    for (int r = 0; r < RUNS; ++r) {
        check(cu.cuEventRecord(from, NULL), "record");
        for (int k = 0; k < REPEAT; ++k) launch(g, p, team, teams);
        check(cu.cuEventRecord(to, NULL), "record");
        check(cu.cuEventSynchronize(to), "synchronize");
        check(cu.cuEventElapsedTime(&ms[r], from, to), "elapsed");
        ms[r] /= REPEAT;
    }
    qsort(ms, RUNS, sizeof *ms, compare_float);
    return ms[RUNS / 2];
}

/* One pilot at one size with one team size; true if the bits are the CPU's. */
static bool run_one(stet_device *device, sti_pilot_kind kind, int64_t size, int team, int teams, int arch, char **argv,
                    bool compile_only)
{
    sti_pilot p;
    if (sti_pilot_create(device, kind, size, &p) != STET_OK) {
        fprintf(stderr, "%s\n", stet_last_error());
        return false;
    }
    bool equal = false;
    char *cubin = compile(p.kernel, argv[1], argv[2], arch, team, teams);
    if (cubin && compile_only) {
        printf("%-9s compiles for sm_%d with teams of %d x %d\n", sti_pilot_name(kind), arch, team, teams);
        equal = true;
    } else if (cubin) {
        on_gpu g;
        void *module;
        int registers = 0, local = 0, shared = 0;
        uint64_t want = 0;
        upload(&g, &p);
        check(cu.cuModuleLoadData(&module, cubin), "module");
        check(cu.cuModuleGetFunction(&g.function, module, "sti_entry"), "function");
        cu.cuFuncGetAttribute(&shared, 1, g.function);
        cu.cuFuncGetAttribute(&local, 3, g.function);
        cu.cuFuncGetAttribute(&registers, 4, g.function);
        launch(&g, &p, team, teams);
        check(cu.cuCtxSynchronize(), "run");
        uint64_t got = hash_outputs(&g, &p);
        if (sti_pilot_run(device, &p) != STET_OK || sti_pilot_hash(&p, &want) != STET_OK) exit(1);
        equal = got == want;
        double items = kind == STI_PILOT_RAYS ? (double)size * (double)size : (double)size;
        printf("%-9s %6lld  team %3d x %d  %3d regs %3d B local %5d B shared  %016llx %s  %8.3f ns/%s\n",
               sti_pilot_name(kind), (long long)size, team, teams, registers, local, shared, (unsigned long long)got,
               equal ? "= cpu" : "DIFFERS from cpu", median_ms(&g, &p, team, teams) * 1e6 / items,
               kind == STI_PILOT_RAYS ? "ray" : "world");
        for (int i = 0; i < p.narg; ++i)
            if (g.memory[i]) cu.cuMemFree_v2(g.memory[i]);
    }
    free(cubin);
    sti_pilot_destroy(&p);
    return equal;
}

int main(int argc, char **argv)
{
    bool compile_only = argc > 3 && strcmp(argv[3], "--compile-only") == 0;
    if (argc < 3 || !load_compiler()) {
        fprintf(stderr, argc < 3 ? "usage: pilot_gpu KERNEL_FOLDER INCLUDE_FOLDER [--compile-only | --small]\n"
                                 : "no libnvrtc was found\n");
        return argc < 3 ? 2 : 77;
    }
    int major = 9, minor = 0;
    if (!compile_only) {
        if (!load_driver()) {
            fprintf(stderr, "no NVIDIA driver or device was found\n");
            return 77;
        }
        char name[128];
        int dev;
        void *context;
        check(cu.cuDeviceGet(&dev, 0), "device");
        check(cu.cuDeviceGetName(name, sizeof name, dev), "name");
        check(cu.cuDeviceGetAttribute(&major, 75, dev), "major");
        check(cu.cuDeviceGetAttribute(&minor, 76, dev), "minor");
        check(cu.cuDevicePrimaryCtxRetain(&context, dev), "context");
        check(cu.cuCtxSetCurrent(context), "context");
        printf("%s, sm_%d%d\n", name, major, minor);
    }
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    if (stet_device_create(&def, &device) != STET_OK) return 1;
    printf("%s\n", stet_device_name(device));
    static const struct {
        sti_pilot_kind kind;
        int64_t size;
        int team, teams;
    } runs[] = {
        {STI_PILOT_NEWTON, 1000, 32, 1},  {STI_PILOT_NEWTON, 1000, 32, 2},  {STI_PILOT_NEWTON, 1000, 64, 1},
        {STI_PILOT_NEWTON, 1000, 8, 4},   {STI_PILOT_NEWTON, 1000, 96, 1},  {STI_PILOT_NEWTON, 1024, 32, 1},
        {STI_PILOT_NEWTON, 8192, 16, 2},  {STI_PILOT_NEWTON, 8192, 32, 1},  {STI_PILOT_NEWTON, 8192, 32, 2},
        {STI_PILOT_NEWTON, 8192, 48, 1},  {STI_PILOT_NEWTON, 8192, 64, 1},  {STI_PILOT_NEWTON, 8192, 96, 1},
        {STI_PILOT_NEWTON, 65536, 32, 1}, {STI_PILOT_NEWTON, 65536, 64, 1}, {STI_PILOT_RAYS, 512, 128, 1},
        {STI_PILOT_RAYS, 512, 256, 1},    {STI_PILOT_RAYS, 1000, 64, 1},    {STI_PILOT_RAYS, 4096, 256, 1},
        {STI_PILOT_LEVEL, 1000, 32, 1},   {STI_PILOT_LEVEL, 1000, 64, 1},   {STI_PILOT_LEVEL, 1000, 16, 2},
        {STI_PILOT_LEVEL, 8192, 32, 4},   {STI_PILOT_LEVEL, 8192, 64, 1},
    };
    /* Under a sanitizer of the device each thread's every access costs: only the small sizes then. */
    bool small = argc > 3 && strcmp(argv[3], "--small") == 0;
    bool good = true;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i)
        if (!small || runs[i].size <= 1000)
            good &= run_one(device, runs[i].kind, runs[i].size, runs[i].team, runs[i].teams, major * 10 + minor, argv,
                            compile_only);
    stet_device_destroy(device);
    printf(good ? "all equal\n" : "NOT all equal\n");
    return good ? 0 : 1;
}
