/*
 * The one list of devices that tests of behaviour run over: null (at several widths, one of them with addresses that
 * are apart), the CPU at each width whose `real` is float, the driver doubles through the CUDA and the HIP table, and a
 * CUDA device if this machine has one (else it says so, once).
 *
 *     FOR_DEVICES(rig) { … rig.device … }      opens and closes each in turn
 *     FOR_RUNNING_DEVICES(rig) { … }           those that run kernels: all but null
 *     FOR_DEVICES_AND_DOUBLE(rig) { … }        all, and the CPU whose `real` is double
 *
 * A test whose list has doubles is linked to them with stet_test_doubles(<layer>/<noun>) (test/double/double.cmake).
 */
#ifndef TEST_DEVICE_DEVICES_H
#define TEST_DEVICE_DEVICES_H

#include "device/rig.h"
#include "device/null/null.h"

#include "device/context.h"
#include "double/rig.h"

typedef struct rig_device {
    const char *name; /* "cpu avx2", "double hip" */
    stet_device_def def;
    stet_device *device;
    const double_control *control; /* of a double; else NULL */
    bool runs;                     /* kernels run */
    int at;                        /* its place in the list */
    bool running_only, with_double;
} rig_device;

enum {
    RIG_NULL,
    RIG_NULL_LANES,
    RIG_NULL_APART,
    RIG_CPU,
    RIG_CUDA_DOUBLE = RIG_CPU + STI_ISA_COUNT,
    RIG_HIP_DOUBLE,
    RIG_CUDA,
    RIG_END
};

static inline void rig_double(rig_device *r, bool hip)
{
    r->name = hip ? "double hip" : "double cuda";
    r->def.type = hip ? STET_DEVICE_HIP : STET_DEVICE_CUDA;
    r->def.gpu.library = r->def.gpu.compiler_library = hip ? DOUBLE_HIP : DOUBLE_CUDA;
    r->def.cache_folder = double_cache_folder();
    r->def.threads = 2;
    r->runs = true;
    r->control = double_open(r->def.gpu.library);
}

/* A CUDA device of this machine. Where there is a driver and a device, and it cannot be used, the test fails. */
static inline bool rig_cuda(rig_device *r)
{
    static bool said;
    stet_result result = keep_cuda_context();
    if (result == STET_ERROR_NOT_FOUND) {
        if (!said) print_message("cuda is skipped: %s\n", stet_get_last_error());
        said = true;
        return false;
    }
    if (result != STET_OK) fail_msg("%s", stet_get_last_error());
    r->name = "cuda";
    r->def.type = STET_DEVICE_CUDA;
    r->def.cache_folder = double_cache_folder();
    r->runs = true;
    return true;
}

/* Describes the device at r->at; false: this machine does not have it. */
static inline bool rig_describe(rig_device *r)
{
    static const sti_null_def lanes = {.lanes = 8}, apart = {.apart = true};
    r->def = stet_default_device_def();
    r->control = NULL;
    r->runs = false;
    if (r->at <= RIG_NULL_APART) {
        r->name = r->at == RIG_NULL ? "null" : r->at == RIG_NULL_LANES ? "null 8" : "null apart";
        r->def.type = STET_DEVICE_NULL;
        r->def.null = r->at == RIG_NULL_LANES ? &lanes : r->at == RIG_NULL_APART ? &apart : NULL;
        return !r->running_only;
    }
    if (r->at < RIG_CUDA_DOUBLE) {
        sti_isa isa = (sti_isa)(r->at - RIG_CPU);
        r->name = r->def.isa = sti_isa_name(isa);
        r->def.type = STET_DEVICE_CPU;
        r->def.threads = 2;
        r->runs = true;
        return (r->with_double || isa != STI_ISA_f64) && sti_isa_available(isa);
    }
    if (r->at == RIG_CUDA) return rig_cuda(r);
    rig_double(r, r->at == RIG_HIP_DOUBLE);
    return true;
}

/* Nothing went wrong that a driver would not tell of, and nothing is left. */
static inline void rig_close(rig_device *r)
{
    stet_device_destroy(r->device);
    r->device = NULL;
    if (!r->control) return;
    double_expect_clean(r->control);
    double_alive alive = r->control->alive();
    if (alive.blocks || alive.host_blocks || alive.streams || alive.events || alive.modules || alive.contexts ||
        alive.programs)
        fail_msg("%s: left are %lld blocks, %lld of the host, %lld streams, %lld events, %lld modules, %lld contexts, "
                 "%lld programs",
                 r->name, (long long)alive.blocks, (long long)alive.host_blocks, (long long)alive.streams,
                 (long long)alive.events, (long long)alive.modules, (long long)alive.contexts,
                 (long long)alive.programs);
}

static inline bool rig_next(rig_device *r)
{
    if (r->device) rig_close(r);
    while (++r->at < RIG_END) {
        if (!rig_describe(r)) continue;
        if (r->control) double_start(r->control, 20250 + (uint64_t)r->at);
        if (stet_device_create(&r->def, &r->device) != STET_OK) fail_msg("%s: %s", r->name, stet_get_last_error());
        print_message("on %s\n", r->name);
        return true;
    }
    return false;
}

#define FOR_DEVICES(rig) for (rig_device rig = {.at = -1}; rig_next(&rig);)
#define FOR_DEVICES_AND_DOUBLE(rig) for (rig_device rig = {.at = -1, .with_double = true}; rig_next(&rig);)
#define FOR_RUNNING_DEVICES(rig) for (rig_device rig = {.at = -1, .running_only = true}; rig_next(&rig);)

#endif
