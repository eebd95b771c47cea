/*
 * What export and import of tensors share: element types and places, in DLPack's terms and in stet's. See stet/dlpack.h.
 */
#ifndef STI_DEVICE_DLPACK_H
#define STI_DEVICE_DLPACK_H

#include "device/device.h"
#include "stet/dlpack.h"

/* The version that is written, and whose major number is understood. */
enum { STI_DLPACK_MAJOR = 1, STI_DLPACK_MINOR = 1 };

/* Memory of the host that a GPU may read in place, by its owner's number; stet takes none. */
enum { kDLCUDAHost = 3, kDLROCMHost = 11 };

/* What elements of an array are to others. */
DLDataType sti_dlpack_type(const stet_device *device, stet_dtype dtype);
/* And the other way round; false: they are none of this device's. */
bool sti_dlpack_find_type(const stet_device *device, DLDataType type, stet_dtype *out);

/* Where a device's memory lies. */
DLDevice sti_dlpack_place(const stet_device *device);
/* May the device's kernels and copies use memory that lies there? */
bool sti_dlpack_reaches(const stet_device *device, DLDevice place);
/* "the CPU", "cuda:1" */
void sti_dlpack_name_place(DLDevice place, char *out, size_t size);

#endif
