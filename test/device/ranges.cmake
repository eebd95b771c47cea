# Two libraries that stand in for NVTX and ROCTX, found by their names once a test has opened them:
# stet_test_ranges(<layer>/<noun>).
foreach(kind IN ITEMS nvtx roctx)
    set(target "test_ranges_${kind}")
    add_library(${target} MODULE "${CMAKE_CURRENT_LIST_DIR}/ranges_library.c")
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/test")
    target_compile_options(${target} PRIVATE ${STET_WARNINGS})
    target_compile_definitions(${target} PRIVATE RANGES_PUSH=${kind}RangePushA RANGES_POP=${kind}RangePop)
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${kind}"
        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/device")
endforeach()
target_link_options(test_ranges_nvtx PRIVATE -Wl,-soname,libnvtx3interop.so.1)
target_link_options(test_ranges_roctx PRIVATE -Wl,-soname,librocprofiler-sdk-roctx.so.1)

function(stet_test_ranges name)
    string(REPLACE "/" "_" target "test_${name}")
    add_dependencies(${target} test_ranges_nvtx test_ranges_roctx)
endfunction()
