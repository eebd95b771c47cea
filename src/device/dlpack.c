/* Tensors of other libraries: element types and devices in DLPack's terms and in stet's; see dlpack.h. */
#include "device/dlpack.h"

#include <stdio.h>

/* Pairs of element types. The first row of a dtype is the one that exports use. */
static const struct {
    stet_dtype dtype;
    uint8_t code, bits;
} types[] = {
    {STET_DTYPE_REAL, kDLFloat, 32}, {STET_DTYPE_REAL, kDLFloat, 64}, {STET_DTYPE_INT, kDLInt, 32},
    {STET_DTYPE_I64, kDLInt, 64},    {STET_DTYPE_U32, kDLUInt, 32},   {STET_DTYPE_U16, kDLUInt, 16},
    {STET_DTYPE_U8, kDLUInt, 8},     {STET_DTYPE_U8, kDLBool, 8},     {STET_DTYPE_F16, kDLFloat, 16},
};

static bool is_type(size_t k, const stet_device *device)
{
    return types[k].bits == 8 * stet_dtype_size(device, types[k].dtype);
}

DLDataType sti_dlpack_type(const stet_device *device, stet_dtype dtype)
{
    size_t k = 0;
    while (types[k].dtype != dtype || !is_type(k, device)) ++k; /* every dtype has a row */
    return (DLDataType){types[k].code, types[k].bits, 1};
}

bool sti_dlpack_find_type(const stet_device *device, DLDataType type, stet_dtype *out)
{
    for (size_t k = 0; k < sizeof types / sizeof *types; ++k)
        if (types[k].code == type.code && types[k].bits == type.bits && is_type(k, device)) {
            *out = types[k].dtype;
            return true;
        }
    return false;
}

DLDevice sti_dlpack_place(const stet_device *device)
{
    switch (device->type) {
    case STET_DEVICE_CUDA: return (DLDevice){kDLCUDA, device->index};
    case STET_DEVICE_HIP: return (DLDevice){kDLROCM, device->index};
    default: return (DLDevice){device->apart ? kDLExtDev : kDLCPU, 0};
    }
}

/* A null device's functions take host addresses, too (NULL-3). There is one CPU, whatever its number. */
bool sti_dlpack_reaches(const stet_device *device, DLDevice place)
{
    DLDevice own = sti_dlpack_place(device);
    if (!device->can.own_memory) return place.device_type == kDLCPU || place.device_type == own.device_type;
    bool type =
        place.device_type == own.device_type || (own.device_type == kDLCUDA && place.device_type == kDLCUDAManaged);
    return type && place.device_id == own.device_id;
}

void sti_dlpack_name_place(DLDevice place, char *out, size_t size)
{
    static const struct {
        int type;
        const char *name;
    } known[] = {{kDLCPU, "the CPU"},
                 {kDLCUDA, "cuda"},
                 {kDLCUDAHost, "page-locked memory of the host, for cuda"},
                 {kDLROCM, "hip"},
                 {kDLROCMHost, "page-locked memory of the host, for hip"},
                 {kDLExtDev, "another kind of device"},
                 {kDLCUDAManaged, "managed memory of cuda"}};
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
        if (known[k].type != (int)place.device_type) continue;
        if (place.device_type == kDLCPU)
            (void)snprintf(out, size, "%s", known[k].name);
        else
            (void)snprintf(out, size, "%s:%d", known[k].name, (int)place.device_id);
        return;
    }
    (void)snprintf(out, size, "a device of DLPack's type %d", (int)place.device_type);
}
