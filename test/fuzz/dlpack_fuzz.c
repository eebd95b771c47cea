/*
 * Fuzz target: import of a tensor that says anything of itself. Whatever is taken must be a whole array over the
 * tensor's memory, and every tensor must be ended exactly once. Where the memory that it claims is really there, the
 * array is used.
 *
 * The bytes are the fields of a tensor one after the other, least significant first; where they end, those of a good
 * one follow.
 */
#include "device/device.h"
#include "device/null/null.h"
#include "stet/dlpack.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 4096 };

typedef struct input {
    const uint8_t *bytes;
    size_t size;
} input;

/* The next `size` bytes as a number, or what it is if there are none. */
static uint64_t take(input *in, size_t size, uint64_t otherwise)
{
    uint64_t x = 0;
    if (in->size < size) return otherwise;
    for (size_t k = 0; k < size; ++k) x |= (uint64_t)in->bytes[k] << (8 * k);
    in->bytes += size;
    in->size -= size;
    return x;
}

static void require(bool holds)
{
    if (!holds) abort();
}

/* A tensor over `room`; shape and strides are no longer than they say, so that a sanitizer sees a look beyond. */
typedef struct subject {
    struct DLManagedTensorVersioned tensor;
    int ended;
    char *room;
    int64_t *shape, *strides;
} subject;

static void end_subject(struct DLManagedTensorVersioned *t) { ((subject *)t->manager_ctx)->ended++; }

static int64_t *take_list(input *in, int32_t n, int64_t otherwise)
{
    size_t length = n > 0 && n <= STET_MAX_DIMS ? (size_t)n : 1;
    int64_t *list = malloc(length * sizeof *list);
    require(list != NULL);
    for (size_t k = 0; k < length; ++k) {
        uint64_t small = take(in, 1, (uint64_t)otherwise);
        list[k] = small < 250 ? (int64_t)small : (int64_t)take(in, 8, small); /* most are small */
    }
    return list;
}

static void take_subject(input *in, subject *s)
{
    DLTensor *t = &s->tensor.dl_tensor;
    memset(s, 0, sizeof *s);
    s->room = aligned_alloc(STI_ALIGN, ROOM);
    require(s->room != NULL);
    memset(s->room, 0, ROOM);
    s->tensor.version.major = take(in, 1, 1) % 16 == 0 ? 2 : 1;
    s->tensor.flags = take(in, 1, 0);
    s->tensor.manager_ctx = s;
    s->tensor.deleter = end_subject;
    t->device.device_type = take(in, 1, 1) < 250 ? kDLCPU : (int32_t)take(in, 4, 2);
    uint64_t ndim = take(in, 1, 2);
    t->ndim = ndim < 250 ? (int32_t)(ndim % 8) : (int32_t)take(in, 4, ndim);
    t->dtype.code = (uint8_t)(take(in, 1, kDLFloat) % 8);
    t->dtype.bits = (uint8_t)take(in, 1, 32);
    t->dtype.lanes = (uint16_t)(take(in, 1, 1) < 250 ? 1 : take(in, 2, 4));
    uint64_t offset = take(in, 1, 0);
    t->byte_offset = offset < 250 ? offset : take(in, 8, offset);
    uint64_t where = take(in, 1, 1);
    t->data = where == 0 ? NULL : where < 250 ? s->room + where - 1 : (void *)(uintptr_t)take(in, 8, where);
    t->shape = s->shape = take_list(in, t->ndim, 3);
    t->strides = s->strides = take_list(in, t->ndim, 3);
    if (take(in, 1, 0) % 4 == 0) t->strides = NULL;
}

static stet_device *take_device(input *in)
{
    static const sti_null_def nulls[] = {{.lanes = 1}, {.lanes = 4}, {.lanes = 8}, {.lanes = 16}};
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    uint64_t kind = take(in, 1, 0);
    def.type = kind & 4 ? STET_DEVICE_CPU : STET_DEVICE_NULL;
    def.threads = 1;
    if (def.type == STET_DEVICE_NULL) def.null = &nulls[kind & 3];
    if (def.type == STET_DEVICE_CPU) def.isa = kind & 1 ? "f64" : "portable";
    require(stet_device_create(&def, &device) == STET_OK);
    return device;
}

static bool lies_in_room(const subject *s, const stet_array *a)
{
    uintptr_t room = (uintptr_t)s->room, data = (uintptr_t)a->data;
    return data >= room && data - room <= ROOM && a->size <= ROOM - (data - room);
}

static void use_array(stet_array *a)
{
    size_t size = stet_array_get_bytes(a);
    char *copy = malloc(size + 1);
    uint64_t before, after;
    struct DLManagedTensorVersioned *t;
    stet_export_def def = stet_default_export_def();
    require(copy != NULL);
    require(stet_array_hash(a, &before) == STET_OK);
    require(stet_array_read(a, copy, size) == STET_OK);
    memset(copy, 0x5a, size);
    require((stet_array_write(a, copy, size) == STET_OK) == !a->read_only);
    require(stet_array_hash(a, &after) == STET_OK);
    require(a->read_only ? before == after : size == 0 || before != after);
    def.copy = size % 2;
    require(stet_array_export(a, &def, &t) == STET_OK);
    require(size == 0 || def.copy || t->dl_tensor.data == a->data);
    t->deleter(t);
    free(copy);
}

static void check_array(const subject *s, const stet_array *a)
{
    const DLTensor *t = &s->tensor.dl_tensor;
    size_t count = 1;
    for (int k = 0; k < t->ndim; ++k) count *= (size_t)t->shape[k];
    require(a->size == count * (t->dtype.bits / 8U));
    require(a->size == 0 || (char *)a->data == (char *)t->data + t->byte_offset);
    require(stet_array_get_bytes(a) <= a->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    subject s;
    stet_array *a;
    int64_t blocks = stet_get_memory_stats().blocks;
    stet_device *device = take_device(&in);
    stet_import_def def = stet_default_import_def();
    def.worlds = take(&in, 1, 0) % 2;
    def.announced = take(&in, 1, 0) % 2;
    uint64_t nworld = take(&in, 1, 0);
    def.nworld = nworld < 250 ? (int64_t)nworld : (int64_t)take(&in, 8, nworld);
    take_subject(&in, &s);
    stet_result result = stet_array_import(device, &s.tensor, &def, &a);
    require(s.ended == (result != STET_OK));
    require((a != NULL) == (result == STET_OK));
    if (a) check_array(&s, a);
    if (a && (a->size == 0 || lies_in_room(&s, a))) use_array(a);
    stet_array_destroy(a);
    require(s.ended == 1);
    stet_device_destroy(device);
    require(stet_get_memory_stats().blocks == blocks);
    free(s.room);
    free(s.shape);
    free(s.strides);
    return 0;
}
