# The pilots compiled for a GPU with NVRTC, where that is installed (no GPU is needed); else the test counts as skipped. Not under
# a sanitizer, which would judge NVRTC.
if(NOT STET_SANITIZE)
    add_executable(pilot_gpu "${PROJECT_SOURCE_DIR}/test/gpu/pilot_gpu.c")
    stet_target_options(pilot_gpu)
    target_include_directories(pilot_gpu PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(pilot_gpu PRIVATE ${STET_TEST_LIBRARY} ${CMAKE_DL_LIBS})
    set_target_properties(pilot_gpu PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/gpu")
    add_test(NAME gpu/pilot COMMAND pilot_gpu "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include" --compile-only)
    stet_test_properties(gpu/pilot gpu-compile)
    set_tests_properties(gpu/pilot PROPERTIES SKIP_RETURN_CODE 77)
endif()
