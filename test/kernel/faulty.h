/*
 * For tests of launches: kernels whose function is written in the test (for a CPU), and a device whose table of
 * functions counts calls, fails one of them, or does its uploads late. Which device that is, the run says
 * (device/picked.h).
 */
#ifndef TEST_KERNEL_FAULTY_H
#define TEST_KERNEL_FAULTY_H

#include "device/picked.h"
#include "device/rig.h"

#include "kernel/record/launch.h"

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
    int graphs, makes, sets; /* launched, made, given other arguments or numbers */
    /* The call from now on that fails, from 1; 0: none. */
    int fail_upload, fail_launch, fail_download, fail_graph, fail_make, fail_set;
    stet_result make_result;    /* of a graph that is made to fail; 0: DEVICE */
    bool all_makes;             /* all of them are */
    void (*after_replay)(void); /* called after a graph, and after a launch that reads a block */
    bool late;                  /* uploads happen when something is launched */
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
    if (fails_now(&faulty.fail_upload)) return sti_error(STET_ERROR_DEVICE, "the upload was made to fail");
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
    if (fails_now(&faulty.fail_download)) return sti_error(STET_ERROR_DEVICE, "the download was made to fail");
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
    if (fails_now(&faulty.fail_launch)) return sti_error(STET_ERROR_DEVICE, "the launch was made to fail");
    for (int i = 0; i < faulty.nwaiting; ++i)
        OK(faulty.real->upload(device, faulty.waiting[i].to, faulty.waiting[i].from, faulty.waiting[i].size));
    faulty.nwaiting = 0;
    stet_result result = faulty.real->launch(device, code, slots, nslot, nblock, in_block);
    if (in_block && faulty.after_replay) faulty.after_replay();
    return result;
}

static inline stet_result faulty_graph_make(stet_device *device, const sti_graph_op *ops, int nop,
                                            const sti_edge *edges, int nedge, const char *what, void **out)
{
    faulty.makes++;
    if (fails_now(&faulty.fail_make) || faulty.all_makes)
        return sti_error(faulty.make_result ? faulty.make_result : STET_ERROR_DEVICE, "the graph was made to fail");
    return faulty.real->graph_make(device, ops, nop, edges, nedge, what, out);
}

static inline stet_result faulty_graph_set(stet_device *device, void *graph, int op, const sti_slot *slots, int nslot,
                                           int64_t number)
{
    faulty.sets++;
    if (fails_now(&faulty.fail_set)) return sti_error(STET_ERROR_DEVICE, "the change was made to fail");
    return faulty.real->graph_set(device, graph, op, slots, nslot, number);
}

static inline stet_result faulty_graph_launch(stet_device *device, void *graph)
{
    faulty.graphs++;
    if (fails_now(&faulty.fail_graph)) return sti_error(STET_ERROR_DEVICE, "the launch of a graph was made to fail");
    stet_result result = faulty.real->graph_launch(device, graph);
    if (faulty.after_replay) faulty.after_replay();
    return result;
}

/* One such device at a time; on a CPU its kernels see one thread. */
static inline stet_device *open_faulty(void)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    if (!picked_any()) def.isa = "portable";
    def.threads = 1;
    picked_device(&def);
    OK(stet_device_create(&def, &device));
    memset(&faulty, 0, sizeof faulty);
    faulty.real = device->ops;
    faulty.ops = *device->ops;
    faulty.ops.upload = faulty_upload;
    faulty.ops.download = faulty_download;
    faulty.ops.copy = faulty_copy;
    faulty.ops.launch = faulty_launch;
    if (faulty.real->graph_make) {
        faulty.ops.graph_make = faulty_graph_make;
        faulty.ops.graph_set = faulty_graph_set;
        faulty.ops.graph_launch = faulty_graph_launch;
    }
    device->ops = &faulty.ops;
    return device;
}

/* Device memory as it is, past stet and past what is counted. */
static inline void peek(void *to, const stet_device *device, const void *from, size_t size)
{
    OK(faulty.real->download((stet_device *)(uintptr_t)device, to, from, size));
}
static inline void poke(const stet_device *device, void *to, const void *from, size_t size)
{
    OK(faulty.real->upload((stet_device *)(uintptr_t)device, to, from, size));
}

static inline void set_options(stet_device *device, uint32_t disabled, bool strict, bool audit)
{
    stet_mechanism_options options = {.disabled = disabled, .strict = strict, .audit = audit};
    OK(stet_device_set_mechanisms(device, &options));
}

static inline stet_counters counters_of(const stet_device *device)
{
    stet_counters c = stet_device_get_counters(device);
    return c;
}

#endif
