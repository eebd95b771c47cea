/*
 * For tests of launches: kernels whose function is written in the test, and a device whose table of functions counts calls, fails
 * one of them, or does its uploads late.
 */
#ifndef TEST_KERNEL_FAULTY_H
#define TEST_KERNEL_FAULTY_H

#include "device/rig.h"

#include "kernel/kernel.h"

/* ---- kernels ------------------------------------------------------------------------------------------------- */

typedef struct test_kernel {
    sti_signature signature;
    sti_kernel kernel; /* points into signature */
} test_kernel;

static inline void make_kernel(test_kernel *k, const char *text, sti_call *call)
{
    size_t cursor = 0;
    char message[512] = "";
    if (sti_signature_next(text, &cursor, &k->signature, message, sizeof message) != 1) fail_msg("%s", message);
    k->kernel = (sti_kernel){.name = k->signature.name,
                             .kind = k->signature.kind,
                             .nparam = k->signature.nparam,
                             .param = k->signature.param};
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) k->kernel.call[isa] = call;
}

/* ---- a device that can fail ---------------------------------------------------------------------------------- */

enum { LATE = 16 };

static struct faulty {
    const sti_device_ops *real;
    sti_device_ops ops;
    int uploads, downloads, launches, copies;
    int fail_upload, fail_launch, fail_download; /* the call from now on that fails, from 1; 0: none */
    bool late;                                   /* uploads happen when something is launched */
    struct {
        void *to;
        const void *from;
        size_t size;
    } waiting[LATE];
    int nwaiting;
} faulty;

static inline bool fails_now(int *countdown) { return *countdown > 0 && --*countdown == 0; }

static inline stet_result faulty_upload(stet_device *device, void *to, const void *from, size_t size)
{
    faulty.uploads++;
    if (fails_now(&faulty.fail_upload)) return sti_error(STET_DEVICE, "the upload was made to fail");
    if (!faulty.late) return faulty.real->upload(device, to, from, size);
    assert_true(faulty.nwaiting < LATE);
    faulty.waiting[faulty.nwaiting].to = to;
    faulty.waiting[faulty.nwaiting].from = from;
    faulty.waiting[faulty.nwaiting++].size = size;
    return STET_OK;
}

static inline stet_result faulty_download(stet_device *device, void *to, const void *from, size_t size)
{
    faulty.downloads++;
    if (fails_now(&faulty.fail_download)) return sti_error(STET_DEVICE, "the download was made to fail");
    return faulty.real->download(device, to, from, size);
}

static inline stet_result faulty_copy(stet_device *device, void *to, const void *from, size_t size)
{
    faulty.copies++;
    return faulty.real->copy(device, to, from, size);
}

static inline stet_result faulty_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot,
                                        int64_t nblock, bool in_block)
{
    faulty.launches++;
    if (fails_now(&faulty.fail_launch)) return sti_error(STET_DEVICE, "the launch was made to fail");
    for (int i = 0; i < faulty.nwaiting; ++i)
        OK(faulty.real->upload(device, faulty.waiting[i].to, faulty.waiting[i].from, faulty.waiting[i].size));
    faulty.nwaiting = 0;
    return faulty.real->launch(device, code, slots, nslot, nblock, in_block);
}

/* One such device at a time; its kernels see one thread. */
static inline stet_device *open_faulty(void)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    memset(&faulty, 0, sizeof faulty);
    faulty.real = device->ops;
    faulty.ops = *device->ops;
    faulty.ops.upload = faulty_upload;
    faulty.ops.download = faulty_download;
    faulty.ops.copy = faulty_copy;
    faulty.ops.launch = faulty_launch;
    device->ops = &faulty.ops;
    return device;
}

static inline void set_options(stet_device *device, uint32_t disabled, bool strict, bool audit)
{
    stet_mechanism_options options = {.disabled = disabled, .strict = strict, .audit = audit};
    OK(stet_device_set_mechanisms(device, &options));
}

static inline stet_counters counters_of(const stet_device *device)
{
    stet_counters c;
    stet_device_counters(device, &c);
    return c;
}

#endif
