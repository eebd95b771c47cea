/*
 * The device that a whole run of a test program is about. CTest runs the programs that ask for it once as they are, and
 * again with STET_TEST_DEVICE set to each of `double-cuda`, `double-hip` and `cuda` (stet_test_on_devices,
 * test/double/double.cmake): what the tests would have opened on the CPU they then open on that one, unless they name
 * an instruction set. Without the device the run is skipped and says why.
 */
#ifndef TEST_DEVICE_PICKED_H
#define TEST_DEVICE_PICKED_H

#include "device/context.h"
#include "double/rig.h"
#include "stet/device.h"

#include <stdlib.h>
#include <unistd.h>

enum { PICKED_SKIP = 77 };

static const double_control *picked_double;

/* At the end of the run: what a driver would not have told of. */
static inline void picked_end(void)
{
    char text[512];
    int n = picked_double->report(text, sizeof text);
    if (n == 0) return;
    fprintf(stderr, "the driver double reports %d errors; the first: %s\n", n, text);
    fflush(stdout);
    _exit(1);
}

static inline void picked_start_double(const char *file)
{
    if (picked_double) return;
    picked_double = double_open(file);
    double_start(picked_double, 4711);
    atexit(picked_end);
}

static inline void picked_need_cuda(void)
{
    if (keep_cuda_context() != STET_ERROR_NOT_FOUND) return;
    printf("cuda is skipped: %s\n", stet_get_last_error());
    exit(PICKED_SKIP);
}

/* Before main: tests that name their instruction set need not run for a run that is skipped. */
__attribute__((constructor)) static void picked_skip_early(void)
{
    const char *name = getenv("STET_TEST_DEVICE");
    if (name && strcmp(name, "cuda") == 0) picked_need_cuda();
}

/* Is this run about a device other than the CPU? */
static inline bool picked_any(void) { return getenv("STET_TEST_DEVICE") != NULL; }

/* Call it last before stet_device_create, with the def otherwise complete. */
static inline void picked_device(stet_device_def *def)
{
    const char *name = getenv("STET_TEST_DEVICE");
    if (def->type != STET_DEVICE_AUTO) return;
    if (!name || def->isa) {
        def->type = STET_DEVICE_CPU; /* whatever else this machine has */
        return;
    }
    bool hip = strcmp(name, "double-hip") == 0;
    def->type = hip ? STET_DEVICE_HIP : STET_DEVICE_CUDA;
    def->cache_folder = double_cache_folder();
    if (strcmp(name, "cuda") == 0) {
        picked_need_cuda();
        return;
    }
    def->gpu.library = def->gpu.compiler_library = hip ? DOUBLE_HIP : DOUBLE_CUDA;
    picked_start_double(def->gpu.library);
}

#endif
