# The driver double, as CUDA and as HIP: shared objects that tests open at run time. They are built without sanitizers:
# their fibers change stacks, and their device memory is closed on purpose. A test that opens them says
# stet_test_doubles(<layer>/<noun>). What their compiler made is kept in STET_DOUBLE_CODE (driver/source.c).
set(STET_DOUBLE_CODE "${PROJECT_BINARY_DIR}/test/double_code" CACHE PATH
    "What the compiler of the driver doubles made; trees of one checkout may share it")
file(MAKE_DIRECTORY "${STET_DOUBLE_CODE}")
foreach(kind IN ITEMS cuda hip)
    set(target "double_${kind}")
    add_library(${target} MODULE)
    foreach(noun IN ITEMS driver/entry driver/entry_graph driver/graph driver/memory driver/module driver/queue
            driver/rtc driver/source driver/state exec/condition exec/exec exec/fiber exec/stack exec/work)
        target_sources(${target} PRIVATE "${CMAKE_CURRENT_LIST_DIR}/${noun}.c")
    endforeach()
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/test")
    target_compile_options(${target} PRIVATE ${STET_WARNINGS} -ffp-contract=off)
    target_compile_definitions(${target} PRIVATE DD_HIP=$<STREQUAL:${kind},hip>
        DOUBLE_PRELUDE="${CMAKE_CURRENT_LIST_DIR}/exec/prelude.h" DOUBLE_CODE="${STET_DOUBLE_CODE}")
    target_link_libraries(${target} PRIVATE m ${CMAKE_DL_LIBS} pthread)
    set_target_properties(${target} PROPERTIES PREFIX "lib" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/double"
        LINK_OPTIONS -Wl,-Bsymbolic)
    # What its compiler made before is not what it makes now. One after the other: the folder is of both.
    add_custom_command(TARGET ${target} POST_BUILD
        COMMAND "${CMAKE_COMMAND}" -E rm -rf "${PROJECT_BINARY_DIR}/test/kernel_cache")
    add_library(double_nccl_${kind} MODULE "${CMAKE_CURRENT_LIST_DIR}/nccl/nccl.c")
    target_include_directories(double_nccl_${kind} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/test")
    target_compile_options(double_nccl_${kind} PRIVATE ${STET_WARNINGS})
    target_compile_definitions(double_nccl_${kind} PRIVATE DD_HIP=$<STREQUAL:${kind},hip>
        NCCL_DRIVER="${PROJECT_BINARY_DIR}/test/double/libdouble_${kind}.so")
    target_link_libraries(double_nccl_${kind} PRIVATE ${CMAKE_DL_LIBS} pthread)
    set_target_properties(double_nccl_${kind} PROPERTIES PREFIX "lib"
        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/double" LINK_OPTIONS -Wl,-Bsymbolic)
    add_dependencies(double_nccl_${kind} ${target})
endforeach()
add_dependencies(double_hip double_cuda)

function(stet_test_doubles)
    foreach(name IN LISTS ARGN)
        string(REPLACE "/" "_" target "test_${name}")
        add_dependencies(${target} double_cuda double_hip double_nccl_cuda double_nccl_hip)
    endforeach()
endfunction()

# stet_test_on(<device> <layer>/<name> COMMAND … [TIER <tier>] [TIMEOUT <seconds>] [ENVIRONMENT …]): the command as a
# test <layer>/<name>@<device>, with what it opens on the best device opened on this one, unless that is `cpu`
# (test/device/picked.h); `cuda` is skipped where there is none.
function(stet_test_on device name)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIER;TIMEOUT" "COMMAND;ENVIRONMENT")
    set(test "${name}@${device}")
    get_filename_component(layer "${name}" DIRECTORY)
    add_test(NAME "${test}" COMMAND ${arg_COMMAND})
    stet_test_properties("${test}" ${layer} devices ${arg_TIER})
    if(device STREQUAL "cuda")
        stet_test_sees_gpu("${test}")
    endif()
    if(NOT device STREQUAL "cpu")
        list(PREPEND arg_ENVIRONMENT "STET_TEST_DEVICE=${device}")
    endif()
    set_property(TEST "${test}" APPEND PROPERTY ENVIRONMENT ${arg_ENVIRONMENT})
    if(device STREQUAL "cuda")
        set_tests_properties("${test}" PROPERTIES SKIP_RETURN_CODE 77)
    endif()
    if(arg_TIMEOUT)
        set_tests_properties("${test}" PROPERTIES TIMEOUT ${arg_TIMEOUT})
    endif()
endfunction()

# stet_test_on_devices(<layer>/<noun> … OFTEN <layer>/<noun> … HIP <layer>/<noun> … DOUBLES <layer>/<noun> …) runs test
# programs again, with what they open on the best device opened on each of these (test/device/picked.h); `cuda` is
# skipped where there is none. Those after DOUBLES run on the doubles only.
# Those after OFTEN and HIP have between them what the host does for each feature; the others run on the double as CUDA,
# too, but under a sanitizer only in `long`. As HIP, which differs from CUDA below the table of entry points only, those
# after HIP run, which have between them what is asked of that table; the others do in `whole`.
function(stet_test_on_devices)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "OFTEN;HIP;DOUBLES")
    foreach(name IN LISTS arg_UNPARSED_ARGUMENTS arg_OFTEN arg_HIP arg_DOUBLES)
        string(REPLACE "/" "_" target "test_${name}")
        stet_test_doubles("${name}")
        foreach(device IN ITEMS double-cuda double-hip cuda)
            set(tier)
            if(device STREQUAL "double-hip")
                set(tier whole)
                if(name IN_LIST arg_HIP)
                    set(tier long)
                endif()
            elseif(STET_SANITIZE AND NOT name IN_LIST arg_OFTEN AND NOT name IN_LIST arg_HIP)
                set(tier long)
            endif()
            if(NOT (device STREQUAL "cuda" AND name IN_LIST arg_DOUBLES))
                stet_test_on(${device} "${name}" COMMAND ${target} TIER ${tier})
            endif()
        endforeach()
    endforeach()
endfunction()

stet_tests(double double graph kernel loop warp)
stet_test_doubles(double/double double/graph double/kernel double/loop double/warp)
