/*
 * The entry points of a double as a table, for the double's own tests: of the driver and of the compiler, without stet
 * between.
 */
#ifndef TEST_DOUBLE_ENTRIES_H
#define TEST_DOUBLE_ENTRIES_H

#include "double/rig.h"

typedef struct entries {
#define BOTH(need, name, cuda, hip, result, parameters) result(*name) parameters;
#define CUDA(need, name, cuda, result, parameters) result(*name) parameters;
#define HIP(need, name, hip, result, parameters) result(*name) parameters;
#include "device/gpu/entries.inl"
} entries;
typedef struct compiler_entries {
#define BOTH(name, cuda, hip, result, parameters) result(*name) parameters;
#define CUDA(name, cuda, result, parameters) result(*name) parameters;
#define HIP(name, hip, result, parameters) result(*name) parameters;
#include "kernel/gpu/rtc.inl"
} compiler_entries;

typedef struct opened {
    const double_control *control;
    bool hip;
    entries api;
    compiler_entries rtc;
} opened;

static inline void entries_find(void *object, const char *symbol, void *slot)
{
    void *address = dlsym(object, symbol);
    memcpy(slot, &address, sizeof address);
}

static inline void entries_open(opened *o, bool hip)
{
    memset(o, 0, sizeof *o);
    o->hip = hip;
    o->control = double_open(hip ? DOUBLE_HIP : DOUBLE_CUDA);
    void *object = dlopen(hip ? DOUBLE_HIP : DOUBLE_CUDA, RTLD_NOW | RTLD_LOCAL);
#define BOTH(need, name, cuda, hip_name, result, parameters)                                                           \
    entries_find(object, hip ? #hip_name : #cuda, &o->api.name);
#define CUDA(need, name, cuda, result, parameters)                                                                     \
    if (!hip) entries_find(object, #cuda, &o->api.name);
#define HIP(need, name, hip_name, result, parameters)                                                                  \
    if (hip) entries_find(object, #hip_name, &o->api.name);
#include "device/gpu/entries.inl"
#define BOTH(name, cuda, hip_name, result, parameters) entries_find(object, hip ? #hip_name : #cuda, &o->rtc.name);
#define CUDA(name, cuda, result, parameters)                                                                           \
    if (!hip) entries_find(object, #cuda, &o->rtc.name);
#define HIP(name, hip_name, result, parameters)                                                                        \
    if (hip) entries_find(object, #hip_name, &o->rtc.name);
#include "kernel/gpu/rtc.inl"
}

/* Starts the double and has this thread's calls go to its first device. */
static inline void entries_start(const opened *o, const double_config *config)
{
    void *context;
    o->control->start(config);
    assert_int_equal(o->api.init(0), 0);
    if (o->hip) {
        assert_int_equal(o->api.device_set(0), 0);
        return;
    }
    assert_int_equal(o->api.context_retain(&context, 0), 0);
    assert_int_equal(o->api.context_set(context), 0);
}

static inline void entries_start_seed(const opened *o, uint64_t seed)
{
    double_config config = o->control->defaults();
    config.seed = seed;
    entries_start(o, &config);
}

enum { PROGRAMS = 64, CODE = 1 << 16 };

/* Compiles a program; asked again for the same text, it has it still. */
static inline const char *entries_code(const opened *o, const char *source)
{
    static const char *const cuda[] = {"--gpu-architecture=sm_90", "--fmad=false", "--std=c++17"};
    static const char *const hip[] = {"--offload-arch=gfx90a", "-ffp-contract=off", "-std=c++17"};
    static struct {
        const char *source;
        bool hip;
        char code[CODE];
    } kept[PROGRAMS];
    static char log[CODE];
    void *program;
    size_t size = 0;
    int i = 0;
    for (; i < PROGRAMS && kept[i].source; ++i)
        if (kept[i].source == source && kept[i].hip == o->hip) return kept[i].code;
    assert_true(i < PROGRAMS);
    assert_int_equal(o->rtc.create(&program, source, "test.cu", 0, NULL, NULL), 0);
    int result = o->rtc.compile(program, 3, o->hip ? hip : cuda);
    assert_int_equal(o->rtc.log_size(program, &size), 0);
    assert_true(size <= sizeof log);
    assert_int_equal(o->rtc.log(program, log), 0);
    if (result) fail_msg("%s", log);
    assert_int_equal(o->rtc.code_size(program, &size), 0);
    assert_true(size > 0 && size <= CODE);
    assert_int_equal(o->rtc.code(program, kept[i].code), 0);
    assert_int_equal(o->rtc.destroy(&program), 0);
    kept[i].source = source;
    kept[i].hip = o->hip;
    return kept[i].code;
}

static inline void *entries_module(const opened *o, const char *source)
{
    void *module;
    assert_int_equal(o->api.module_load(&module, entries_code(o, source)), 0);
    return module;
}

static inline void *entries_function(const opened *o, void *module, const char *name)
{
    void *function;
    assert_int_equal(o->api.module_function(&function, module, name), 0);
    return function;
}

/* A test of a file that has set_up and tear_down; `state` says of which driver. */
#define DOUBLE_TEST(f)                                                                                                 \
    {                                                                                                                  \
#f, f, set_up, tear_down, state                                                                                \
    }

#endif
