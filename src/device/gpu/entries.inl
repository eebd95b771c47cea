/*
 * The entry points of a GPU's driver that stet calls, under neutral names. The table of pointers (driver.h), the code
 * that fills it at run time (driver.c), and the messages that name what is missing are made from this list.
 *
 *   BOTH(need, name, CUDA's symbol, HIP's symbol, result, (parameters))
 *   CUDA(need, name, CUDA's symbol, result, (parameters))               only CUDA has it or needs it
 *   HIP(need, name, HIP's symbol, result, (parameters))                 only HIP has it or needs it
 *
 * need: REQUIRED (without it the driver is not used) or OPTIONAL (a NULL pointer if it is missing). The two drivers
 * have the same order of parameters in every row of BOTH. Types with different names are equal to the calling
 * convention: results are ints, handles are pointers, and a device address is as wide as a pointer (CUdeviceptr is an
 * integer, hipDeviceptr_t a pointer). Numbers that differ (attributes, flags, limits) are in cuda.c and hip.c.
 *
 * Include it with the three macros defined; it undefines them.
 */

/* ---- the driver and its devices ---------------------------------------------------------------------------------- */

BOTH(REQUIRED, init, cuInit, hipInit, int, (unsigned flags))
BOTH(REQUIRED, driver_version, cuDriverGetVersion, hipDriverGetVersion, int, (int *version))
HIP(REQUIRED, runtime_version, hipRuntimeGetVersion, int, (int *version))
BOTH(REQUIRED, device_count, cuDeviceGetCount, hipGetDeviceCount, int, (int *count))
BOTH(REQUIRED, device_get, cuDeviceGet, hipDeviceGet, int, (int *ordinal, int index))
BOTH(REQUIRED, device_name, cuDeviceGetName, hipDeviceGetName, int, (char *name, int size, int ordinal))
BOTH(REQUIRED, device_attribute, cuDeviceGetAttribute, hipDeviceGetAttribute, int,
     (int *value, int attribute, int ordinal))
BOTH(REQUIRED, device_memory, cuDeviceTotalMem_v2, hipDeviceTotalMem, int, (size_t *bytes, int ordinal))
/* The symbol names the version of the struct that it fills: HIP 6 and later, and HIP 5. */
HIP(OPTIONAL, device_properties_6, hipGetDevicePropertiesR0600, int, (void *properties, int ordinal))
HIP(OPTIONAL, device_properties_5, hipGetDeviceProperties, int, (void *properties, int ordinal))
CUDA(REQUIRED, error_name_into, cuGetErrorName, int, (int code, const char **name))
CUDA(REQUIRED, error_text_into, cuGetErrorString, int, (int code, const char **text))
HIP(REQUIRED, error_name_of, hipGetErrorName, const char *, (int code))
HIP(REQUIRED, error_text_of, hipGetErrorString, const char *, (int code))

/* ---- which device a thread's calls go to ------------------------------------------------------------------------- */

CUDA(REQUIRED, context_retain, cuDevicePrimaryCtxRetain, int, (void **context, int ordinal))
CUDA(REQUIRED, context_release, cuDevicePrimaryCtxRelease_v2, int, (int ordinal))
CUDA(REQUIRED, context_get, cuCtxGetCurrent, int, (void **context))
CUDA(REQUIRED, context_set, cuCtxSetCurrent, int, (void *context))
HIP(REQUIRED, device_current, hipGetDevice, int, (int *ordinal))
HIP(REQUIRED, device_set, hipSetDevice, int, (int ordinal))

/* ---- memory ------------------------------------------------------------------------------------------------------ */

BOTH(REQUIRED, memory_info, cuMemGetInfo_v2, hipMemGetInfo, int, (size_t *free, size_t *total))
BOTH(REQUIRED, alloc, cuMemAlloc_v2, hipMalloc, int, (void **memory, size_t size))
BOTH(REQUIRED, free, cuMemFree_v2, hipFree, int, (void *memory))
BOTH(OPTIONAL, alloc_async, cuMemAllocAsync, hipMallocAsync, int, (void **memory, size_t size, void *stream))
BOTH(OPTIONAL, free_async, cuMemFreeAsync, hipFreeAsync, int, (void *memory, void *stream))
BOTH(REQUIRED, host_alloc, cuMemHostAlloc, hipHostMalloc, int, (void **memory, size_t size, unsigned flags))
BOTH(REQUIRED, host_free, cuMemFreeHost, hipHostFree, int, (void *memory))
BOTH(REQUIRED, fill_async, cuMemsetD8Async, hipMemsetD8Async, int,
     (void *memory, unsigned char value, size_t size, void *stream))
BOTH(REQUIRED, copy_to_device_async, cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync, int,
     (void *to, const void *from, size_t size, void *stream))
BOTH(REQUIRED, copy_to_host_async, cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync, int,
     (void *to, const void *from, size_t size, void *stream))
BOTH(REQUIRED, copy_async, cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync, int,
     (void *to, const void *from, size_t size, void *stream))

/* ---- streams and events ------------------------------------------------------------------------------------------ */

BOTH(REQUIRED, stream_create, cuStreamCreate, hipStreamCreateWithFlags, int, (void **stream, unsigned flags))
BOTH(REQUIRED, stream_destroy, cuStreamDestroy_v2, hipStreamDestroy, int, (void *stream))
BOTH(REQUIRED, stream_synchronize, cuStreamSynchronize, hipStreamSynchronize, int, (void *stream))
BOTH(REQUIRED, stream_wait_event, cuStreamWaitEvent, hipStreamWaitEvent, int,
     (void *stream, void *event, unsigned flags))
BOTH(REQUIRED, event_create, cuEventCreate, hipEventCreateWithFlags, int, (void **event, unsigned flags))
BOTH(REQUIRED, event_destroy, cuEventDestroy_v2, hipEventDestroy, int, (void *event))
BOTH(REQUIRED, event_record, cuEventRecord, hipEventRecord, int, (void *event, void *stream))
BOTH(REQUIRED, event_query, cuEventQuery, hipEventQuery, int, (void *event))
BOTH(REQUIRED, event_synchronize, cuEventSynchronize, hipEventSynchronize, int, (void *event))
BOTH(OPTIONAL, event_elapsed, cuEventElapsedTime, hipEventElapsedTime, int,
     (float *milliseconds, void *begin, void *end))

/* ---- code -------------------------------------------------------------------------------------------------------- */

BOTH(REQUIRED, module_load, cuModuleLoadData, hipModuleLoadData, int, (void **module, const void *image))
BOTH(REQUIRED, module_unload, cuModuleUnload, hipModuleUnload, int, (void *module))
BOTH(REQUIRED, module_function, cuModuleGetFunction, hipModuleGetFunction, int,
     (void **function, void *module, const char *symbol))
BOTH(REQUIRED, function_attribute, cuFuncGetAttribute, hipFuncGetAttribute, int,
     (int *value, int attribute, void *function))
CUDA(REQUIRED, function_set, cuFuncSetAttribute, int, (void *function, int attribute, int value))
BOTH(REQUIRED, launch, cuLaunchKernel, hipModuleLaunchKernel, int,
     (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
      unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra))

/* ---- recordings as graphs of the device, and what is captured ---------------------------------------------------- */

BOTH(OPTIONAL, graph_create, cuGraphCreate, hipGraphCreate, int, (void **graph, unsigned flags))
BOTH(OPTIONAL, graph_destroy, cuGraphDestroy, hipGraphDestroy, int, (void *graph))
/* parameters: a struct that differs between the drivers */
BOTH(OPTIONAL, graph_add_kernel, cuGraphAddKernelNode_v2, hipGraphAddKernelNode, int,
     (void **node, void *graph, void *const *after, size_t nafter, const void *parameters))
CUDA(OPTIONAL, graph_add_copy, cuGraphAddMemcpyNode, int,
     (void **node, void *graph, void *const *after, size_t nafter, const void *parameters, void *context))
HIP(OPTIONAL, graph_add_copy_1d, hipGraphAddMemcpyNode1D, int,
    (void **node, void *graph, void *const *after, size_t nafter, void *to, const void *from, size_t size, int kind))
BOTH(OPTIONAL, graph_add_empty, cuGraphAddEmptyNode, hipGraphAddEmptyNode, int,
     (void **node, void *graph, void *const *after, size_t nafter))
BOTH(OPTIONAL, graph_add_child, cuGraphAddChildGraphNode, hipGraphAddChildGraphNode, int,
     (void **node, void *graph, void *const *after, size_t nafter, void *child))
CUDA(OPTIONAL, graph_add_node, cuGraphAddNode_v2, int,
     (void **node, void *graph, void *const *after, const void *edges, size_t nafter, void *parameters))
CUDA(OPTIONAL, graph_condition, cuGraphConditionalHandleCreate, int,
     (uint64_t *handle, void *graph, void *context, unsigned initial, unsigned flags))
BOTH(OPTIONAL, graph_instantiate, cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags, int,
     (void **executable, void *graph, unsigned long long flags))
BOTH(OPTIONAL, graph_exec_destroy, cuGraphExecDestroy, hipGraphExecDestroy, int, (void *executable))
CUDA(OPTIONAL, graph_exec_update, cuGraphExecUpdate_v2, int, (void *executable, void *graph, void *result))
HIP(OPTIONAL, graph_exec_update_into, hipGraphExecUpdate, int,
    (void *executable, void *graph, void **error_node, int *result))
BOTH(OPTIONAL, graph_exec_set_kernel, cuGraphExecKernelNodeSetParams_v2, hipGraphExecKernelNodeSetParams, int,
     (void *executable, void *node, const void *parameters))
BOTH(OPTIONAL, graph_upload, cuGraphUpload, hipGraphUpload, int, (void *executable, void *stream))
BOTH(OPTIONAL, graph_launch, cuGraphLaunch, hipGraphLaunch, int, (void *executable, void *stream))
BOTH(OPTIONAL, capture_begin, cuStreamBeginCapture_v2, hipStreamBeginCapture, int, (void *stream, int mode))
BOTH(OPTIONAL, capture_end, cuStreamEndCapture, hipStreamEndCapture, int, (void *stream, void **graph))
BOTH(OPTIONAL, capture_status, cuStreamIsCapturing, hipStreamIsCapturing, int, (void *stream, int *status))
/*
 * status as above; id: the capture's, never reused; graph: the one that becomes of it; after: the nodes that its next
 * node comes after, valid until the next call for the stream. All but status may be NULL
 */
BOTH(OPTIONAL, capture_info, cuStreamGetCaptureInfo_v2, hipStreamGetCaptureInfo_v2, int,
     (void *stream, int *status, uint64_t *id, void **graph, void *const **after, size_t *nafter))
/* flags 1: these nodes are what the capture's next node comes after, and no others */
BOTH(OPTIONAL, capture_depend, cuStreamUpdateCaptureDependencies, hipStreamUpdateCaptureDependencies, int,
     (void *stream, void *const *after, size_t nafter, unsigned flags))
BOTH(OPTIONAL, capture_mode, cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode, int, (int *mode))

#undef BOTH
#undef CUDA
#undef HIP
