# Whole runs on every device that runs kernels, the driver doubles and this machine's GPU among them.
stet_test(gpu/golden)
stet_test(gpu/scenes)
stet_test(gpu/large)
stet_test_doubles(gpu/golden gpu/scenes)
stet_test_sees_gpu(gpu/golden gpu/scenes gpu/large)

# A little of everything, for the GPU's sanitizers (tools/test_gpu.sh); here over the doubles, so that the program
# itself is tested.
add_executable(gpu_small "${CMAKE_CURRENT_LIST_DIR}/small.c")
stet_target_options(gpu_small)
target_include_directories(gpu_small PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(gpu_small PRIVATE stet_pilots ${STET_TEST_LIBRARY} mujoco::mujoco Threads::Threads PNG::PNG
    PkgConfig::JANSSON m)
set_target_properties(gpu_small PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/gpu")
add_dependencies(gpu_small double_cuda double_hip)
foreach(kind IN ITEMS cuda hip)
    set(flags)
    if(kind STREQUAL "hip")
        set(flags --hip)
    endif()
    add_test(NAME gpu/small_${kind} COMMAND gpu_small "${PROJECT_SOURCE_DIR}/scenes/hand.xml"
        --library "$<TARGET_FILE:double_${kind}>" --cache "${PROJECT_BINARY_DIR}/test/small_cache" ${flags})
    stet_test_properties(gpu/small_${kind} gpu)
endforeach()
