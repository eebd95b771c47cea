/*
 * A CPU's device that runs kernels, with memory that the host cannot touch: what it gives out are no addresses of the
 * host's, and whoever goes round its calls dies. So stet on it is stet on a GPU, with the CPU's bits.
 *
 * Invariant: an address given out has the mark, and no other number that reaches a kernel has (a float, a count, a
 * distance of addresses)
 */
#ifndef TEST_DEVICE_APART_H
#define TEST_DEVICE_APART_H

#include "device/rig.h"

#include "kernel/signature.h"

#define APART_MARK ((uintptr_t)0x0080 << 48)

static inline bool apart_is(const void *address) { return (uintptr_t)address >> 48 == 0x0080; }
/* Where it really is. */
static inline void *apart_here(const void *address)
{
    char *at = (char *)(uintptr_t)address;
    return apart_is(address) ? at - APART_MARK : at;
}

/* One kind at a time, any number of devices of it. */
static struct apart {
    const sti_device_ops *real;
    sti_device_ops ops;
    int uploads, downloads, launches;
    int64_t bytes_up, bytes_down;
    int fail_upload, fail_download, fail_host; /* the call from now on that fails, from 1; 0: none */
    int host;                                  /* blocks of host_alloc that live */
} apart;

static inline bool apart_fails(int *countdown) { return *countdown > 0 && --*countdown == 0; }

static inline stet_result apart_alloc(stet_device *device, size_t size, const char *what, void **out)
{
    STI_TRY(apart.real->alloc(device, size, what, out));
    *out = (char *)*out + APART_MARK;
    return STET_OK;
}

static inline void apart_free(stet_device *device, void *memory) { apart.real->free(device, apart_here(memory)); }

static inline stet_result apart_upload(stet_device *device, void *to, const void *from, size_t size)
{
    apart.uploads++;
    assert_true(apart_is(to) && !apart_is(from));
    if (apart_fails(&apart.fail_upload)) return sti_error(STET_ERROR_DEVICE, "the upload was made to fail");
    apart.bytes_up += (int64_t)size;
    return apart.real->upload(device, apart_here(to), from, size);
}

static inline stet_result apart_download(stet_device *device, void *to, const void *from, size_t size)
{
    apart.downloads++;
    assert_true(!apart_is(to) && apart_is(from));
    if (apart_fails(&apart.fail_download)) return sti_error(STET_ERROR_DEVICE, "the download was made to fail");
    apart.bytes_down += (int64_t)size;
    return apart.real->download(device, to, apart_here(from), size);
}

static inline stet_result apart_copy(stet_device *device, void *to, const void *from, size_t size)
{
    assert_true(apart_is(to) && apart_is(from));
    return apart.real->copy(device, apart_here(to), apart_here(from), size);
}

static inline stet_result apart_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot,
                                       int64_t nblock, bool in_block)
{
    sti_slot real[STI_MAX_PARAMS + 1];
    apart.launches++;
    assert_true(apart_is(slots) == in_block);
    if (nslot > 0) memcpy(real, apart_here(slots), (size_t)nslot * sizeof *real);
    for (int i = 0; i < nslot; ++i) real[i].p = apart_here(real[i].p);
    return apart.real->launch(device, code, real, nslot, nblock, false);
}

static inline stet_result apart_host_alloc(stet_device *device, size_t size, const char *what, void **out)
{
    (void)device;
    *out = NULL;
    if (apart_fails(&apart.fail_host))
        return sti_error(STET_ERROR_OUT_OF_MEMORY, "page-locked memory was made to fail");
    STI_TRY(sti_alloc(out, size, what));
    apart.host++;
    return STET_OK;
}

static inline void apart_host_free(stet_device *device, void *memory)
{
    (void)device;
    apart.host--;
    sti_free(memory);
}

static inline stet_device *open_apart(int isa, int threads)
{
    stet_device *device = open_device(isa, threads);
    memset(&apart, 0, sizeof apart);
    apart.real = device->ops;
    apart.ops = *device->ops;
    apart.ops.alloc = apart_alloc;
    apart.ops.free = apart_free;
    apart.ops.upload = apart_upload;
    apart.ops.download = apart_download;
    apart.ops.copy = apart_copy;
    apart.ops.launch = apart_launch;
    apart.ops.host_alloc = apart_host_alloc;
    apart.ops.host_free = apart_host_free;
    device->ops = &apart.ops;
    device->can.host_memory = false;
    device->apart = true;
    return device;
}

#endif
