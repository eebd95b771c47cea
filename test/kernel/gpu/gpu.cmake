# Kernels for GPUs, compiled with NVRTC and hipRTC where they are installed; no GPU is needed. Not under a sanitizer,
# which would judge the vendors' compilers.
if(NOT STET_SANITIZE)
    stet_tests(kernel/gpu gpu_compile gpu_programs shipped)
    add_test(NAME kernel/gpu_compile_amd COMMAND test_kernel_gpu_compile "*_for_amd")
    stet_test_properties(kernel/gpu_compile_amd kernel)
    add_test(NAME kernel/gpu_compile_all COMMAND test_kernel_gpu_compile all)
    stet_test_properties(kernel/gpu_compile_all kernel whole)
    foreach(name IN ITEMS kernel/gpu_compile kernel/gpu_compile_amd) # whose whole is kernel/gpu_compile_all
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "STET_TEST_IN_PART=1")
    endforeach()
    stet_test_doubles(kernel/gpu_programs kernel/shipped)
endif()
