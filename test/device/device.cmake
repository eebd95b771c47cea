# The tests of devices and arrays.
stet_tests(device device null processors threads)
stet_tests(device/arrays array dlpack host_mirror import plain_view)
stet_tests(device/gpu gpu_fork)
include(device/arrays/numpy.cmake)
include(device/ranges.cmake)
# Over the driver doubles.
stet_tests(device times)
stet_tests(device/arrays tensor_capture)
stet_tests(device/gpu gpu gpu_fault gpu_graph_fault gpu_library)
stet_test_doubles(device/gpu device/gpu_fault device/gpu_graph_fault device/gpu_library device/tensor_capture
    device/times)
# Over the doubles and on this machine's GPU.
stet_tests(device/arrays array_devices tensor_devices tensor_streams)
stet_tests(device/gpu gpu_capture gpu_capture_fault gpu_foreign gpu_graph gpu_stream gpu_upload_stream)
foreach(noun IN ITEMS array_devices gpu_capture gpu_capture_fault gpu_foreign gpu_graph gpu_stream gpu_upload_stream
        tensor_devices tensor_streams)
    stet_test_doubles(device/${noun})
    stet_test_sees_gpu(device/${noun})
endforeach()
# They open and close libraries, and GCC 12's leak checker takes the memory of one that has gone for thread-local data,
# and crashes.
foreach(noun IN ITEMS gpu gpu_library)
    set_property(TEST device/${noun} APPEND PROPERTY
        ENVIRONMENT "ASAN_OPTIONS=${STET_ASAN_OPTIONS}:intercept_tls_get_addr=0")
endforeach()
