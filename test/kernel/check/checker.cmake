# The checker of the kernel language: the command kernelcheck (make lint runs it), its tests, and the pilots as it
# prints them.
add_executable(kernelcheck "${PROJECT_SOURCE_DIR}/tools/kernelcheck.c")
target_link_libraries(kernelcheck PRIVATE ${STET_TEST_LIBRARY})
stet_target_options(kernelcheck)
target_include_directories(kernelcheck PRIVATE "${PROJECT_SOURCE_DIR}/src")
set_target_properties(kernelcheck PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

set(CHECKER_PRINTED)
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/kernels/test/printed")
foreach(pilot hierarchy newton rays)
    set(printed "${PROJECT_BINARY_DIR}/kernels/test/printed/${pilot}.k.h")
    set(pilot "${PROJECT_SOURCE_DIR}/bench/pilot/${pilot}.k.h")
    add_custom_command(
        OUTPUT "${printed}"
        COMMAND kernelcheck --print -I "${PROJECT_SOURCE_DIR}/src" "${pilot}" > "${printed}"
        DEPENDS kernelcheck "${pilot}")
    list(APPEND CHECKER_PRINTED "${printed}")
endforeach()

stet_tests(kernel/check check_bundle check_kernels check_language check_limits check_rules check_syntax check_types)
target_compile_definitions(test_kernel_check_kernels PRIVATE STET_TEST_CC="${CMAKE_C_COMPILER}")
stet_test(kernel/check/check_printed SOURCES kernel/check/check_printed.c ${CHECKER_PRINTED})
target_include_directories(test_kernel_check_printed PRIVATE "${PROJECT_BINARY_DIR}/kernels/test")
