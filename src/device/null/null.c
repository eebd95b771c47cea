/*
 * A device for tests: it runs no kernel, counts the calls of its functions, and fails where a test tells it to.
 *
 * Its memory is the host's, but stet does not know that: copies go through the device's functions, as on a GPU. With
 * sti_null_def.apart it returns addresses that no processor can access, so code that does not use the functions is
 * found.
 *
 * Invariants:
 *   NULL-1  a call that fails is counted and does nothing else
 *   NULL-2  at most one failure is armed, and it is disarmed when it happens
 *   NULL-3  the functions take addresses of either kind: the device's own, and the host's (imported tensors)
 */
#include "device/null/null.h"

#include "base/plural.h"
#include "device/device.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct null_state {
    _Atomic int64_t calls[STI_NULL_OP_COUNT]; /* any thread may free memory */
    sti_null_op fail_op;
    int64_t fail_in; /* calls until the one that fails; 0: none will */
    bool no_reuse;
} null_state;

const char *sti_null_op_name(sti_null_op op)
{
    static const char *const names[] = {
#define X(id, name) name,
        STI_NULL_OPS(X)
#undef X
    };
    return (unsigned)op < STI_NULL_OP_COUNT ? names[op] : "?";
}

/* Every function that can fail begins with this. */
static stet_result count_call(stet_device *device, sti_null_op op)
{
    null_state *s = device->state;
    int64_t call = atomic_fetch_add(&s->calls[op], 1) + 1;
    atomic_fetch_add(&s->calls[STI_NULL_OP_ANY], 1);
    if (s->fail_in == 0 || (s->fail_op != STI_NULL_OP_ANY && s->fail_op != op)) return STET_OK;
    if (--s->fail_in > 0) return STET_OK;
    return sti_error(STET_ERROR_DEVICE, "null device: %s failed at its call %lld, as it was told to",
                     sti_null_op_name(op), (long long)call);
}

/*
 * Bit 55: on no 64-bit machine does a program have memory there (virtual addresses have 48, 52 or 57 bits, and programs
 * get the lower half), and no machine ignores it.
 */
static_assert(sizeof(void *) == 8, "addresses that are apart are told by a bit that no address of a program has");
static const uintptr_t apart_bit = (uintptr_t)1 << 55;

static void *apart_address(void *memory) { return (char *)memory + apart_bit; }

static void *host_address(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    return at & apart_bit ? (char *)(uintptr_t)address - apart_bit : (void *)at;
}

static void null_destroy(stet_device *device) { sti_free(device->state); }

static stet_result null_alloc(stet_device *device, size_t size, const char *what, void **out)
{
    *out = NULL;
    STI_TRY(count_call(device, STI_NULL_OP_ALLOC));
    STI_TRY(sti_alloc(out, size, what));
    if (device->apart) *out = apart_address(*out);
    return STET_OK;
}

static void null_free(stet_device *device, void *memory)
{
    null_state *s = device->state;
    atomic_fetch_add(&s->calls[STI_NULL_OP_FREE], 1);
    sti_free(host_address(memory));
}

static stet_result copy_bytes(stet_device *device, sti_null_op op, void *to, const void *from, size_t size)
{
    STI_TRY(count_call(device, op));
    if (size > 0) memcpy(host_address(to), host_address(from), size);
    return STET_OK;
}

static stet_result null_upload(stet_device *device, void *to, const void *from, size_t size)
{
    return copy_bytes(device, STI_NULL_OP_UPLOAD, to, from, size);
}

static stet_result null_download(stet_device *device, void *to, const void *from, size_t size)
{
    return copy_bytes(device, STI_NULL_OP_DOWNLOAD, to, from, size);
}

static stet_result null_copy(stet_device *device, void *to, const void *from, size_t size)
{
    return copy_bytes(device, STI_NULL_OP_COPY, to, from, size);
}

static stet_result null_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot,
                               int64_t nblock, bool in_block)
{
    (void)code;
    (void)slots;
    (void)nslot;
    (void)nblock;
    (void)in_block;
    return count_call(device, STI_NULL_OP_LAUNCH);
}

static stet_result null_synchronize(stet_device *device) { return count_call(device, STI_NULL_OP_SYNCHRONIZE); }

static const char *null_instead(const stet_device *device, stet_reuse reuse)
{
    const null_state *s = device->state;
    if (reuse == STET_REUSE_GRAPHS) return "a null device has no graphs: lists are replayed launch by launch";
    if (reuse == STET_REUSE_STAGING) return "a null device has no second stream: inputs are staged by a copy at once";
    return s->no_reuse ? "this null device was made without reuse: each round sets up everything again" : NULL;
}

static const sti_device_ops null_ops = {
    .version = STI_DEVICE_OPS_VERSION,
    .destroy = null_destroy,
    .alloc = null_alloc,
    .free = null_free,
    .upload = null_upload,
    .download = null_download,
    .copy = null_copy,
    .launch = null_launch,
    .synchronize = null_synchronize,
    .instead = null_instead,
};

/* ---- making, counts, failures ------------------------------------------------------------------------------------ */

static stet_result check_fail(sti_null_op op, int64_t at)
{
    if ((unsigned)op >= STI_NULL_OP_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "null device: there is no operation %d", (int)op);
    if (op == STI_NULL_OP_FREE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "null device: operation free cannot fail");
    if (at < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "null device: call %lld of %s cannot fail; calls are counted from 1", (long long)at,
                         sti_null_op_name(op));
    return STET_OK;
}

static stet_result check_def(const stet_device_def *def, const sti_null_def *null)
{
    int lanes = null->lanes;
    if (def->isa)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "null device: it has no instruction set, so '%s' means nothing",
                         def->isa);
    if (lanes != 0 && lanes != 1 && lanes != 4 && lanes != 8 && lanes != 16)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "null device: %d lanes; 1, 4, 8 and 16 are possible", lanes);
    return check_fail(null->fail_op, null->fail_at);
}

stet_result sti_null_device_init(stet_device *device, const stet_device_def *def)
{
    static const sti_null_def usual;
    const sti_null_def *null = def->null ? def->null : &usual;
    null_state *s;
    STI_TRY(check_def(def, null));
    STI_TRY(sti_alloc(&s, sizeof *s, "null device"));
    s->fail_op = null->fail_op;
    s->fail_in = null->fail_at;
    s->no_reuse = null->no_reuse;
    device->ops = &null_ops;
    device->type = STET_DEVICE_NULL;
    device->state = s;
    device->isa = STI_ISA_portable; /* for compiling kernels, though none runs */
    device->apart = null->apart;
    device->lanes = null->lanes ? null->lanes : 1;
    device->threads = def->threads ? def->threads : 1;
    device->real_size = sizeof(float);
    snprintf(device->name, sizeof device->name, "null (%d lane%s)", device->lanes, STI_S(device->lanes));
    return STET_OK;
}

int64_t sti_null_calls(const stet_device *device, sti_null_op op)
{
    if (!device || device->type != STET_DEVICE_NULL || (unsigned)op >= STI_NULL_OP_COUNT) return -1;
    null_state *s = device->state;
    return atomic_load(&s->calls[op]);
}

stet_result sti_null_fail(stet_device *device, sti_null_op op, int64_t at)
{
    if (!device || device->type != STET_DEVICE_NULL)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sti_null_fail: failures can be ordered of null devices only, not of %s",
                         device ? device->name : "NULL");
    STI_TRY(check_fail(op, at));
    null_state *s = device->state;
    s->fail_op = op;
    s->fail_in = at;
    return STET_OK;
}
