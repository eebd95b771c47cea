/*
 * What export and import of tensors share: element types and devices, in DLPack's terms and in stet's (stet/dlpack.h).
 */
#ifndef STI_DEVICE_DLPACK_H
#define STI_DEVICE_DLPACK_H

#include "device/device.h"
#include "stet/dlpack.h"

/* The version that exports carry. Imports accept the same major number. */
enum { STI_DLPACK_MAJOR = 1, STI_DLPACK_MINOR = 1 };

/* DLPack's numbers for page-locked host memory, which a GPU can read in place. stet imports none. */
enum { kDLCUDAHost = 3, kDLROCMHost = 11 };

/* The element type of an array in DLPack's terms. */
DLDataType sti_dlpack_type(const stet_device *device, stet_dtype dtype);
/* The reverse; returns false for types that this device has no arrays of. */
bool sti_dlpack_find_type(const stet_device *device, DLDataType type, stet_dtype *out);

/* The DLPack device of a device's memory. */
DLDevice sti_dlpack_place(const stet_device *device);
/* May the device's kernels and copies access memory there? */
bool sti_dlpack_reaches(const stet_device *device, DLDevice place);
/* Writes a name for messages: "the CPU", "cuda:1". */
void sti_dlpack_name_place(DLDevice place, char *out, size_t size);

#endif
