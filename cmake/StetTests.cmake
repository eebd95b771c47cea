# stet_test(<layer>[/<folder>]/<noun> [LABELS …] [SOURCES …]) builds test/<layer>[/<folder>]/<noun>_test.c and registers
# it as `<layer>/<noun>`: a test's name does not say the folder. stet_tests(<layer>[/<folder>] <noun> …) does it for
# each noun. The target tests_of_<layer> builds those of a layer.
#
# Labels: the layer's name, and `short` unless LABELS has `long` (most short tests also run under ASan and UBSan in
# .ci/run: label `memory`), or `whole`: what takes a quarter of an hour or more, and all of what others do in part;
# it runs only when it is asked for (LABEL=whole). A test sees the internals of the library (src/) and, as definitions:
# STET_TEST_SOURCE_DIR (the checkout), STET_TEST_BINARY_DIR (the build tree, may be written), STET_TEST_COMMAND (the
# built command), STET_TEST_PACKAGES (the folder that holds the packages gymnasium and dm_control; "" where they are not
# installed), STET_TEST_PYTHON (a Python that has numpy).

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

file(GLOB stet_test_found "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/dm_control")
list(POP_FRONT stet_test_found stet_test_packages)
if(stet_test_packages)
    get_filename_component(stet_test_packages "${stet_test_packages}" DIRECTORY)
endif()

# Internals are hidden in a shared library: the tests then take the same objects from a static one.
set(STET_TEST_LIBRARY stet)
if(BUILD_SHARED_LIBS)
    set(STET_TEST_LIBRARY stet_internals)
    add_library(stet_internals STATIC)
    add_dependencies(stet_internals stet) # generated sources are made once
    stet_target_options(stet_internals)
    stet_keep_assertions(stet_internals)
    get_target_property(stet_sources stet SOURCES)
    target_sources(stet_internals PRIVATE ${stet_sources})
    foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS LINK_LIBRARIES)
        get_target_property(value stet ${property})
        if(value)
            set_property(TARGET stet_internals PROPERTY ${property} "${value}")
            set_property(TARGET stet_internals PROPERTY INTERFACE_${property} "${value}")
        endif()
    endforeach()
endif()

# cmocka catches signals: with handle_*=2 the sanitizer's report comes first. Use after return is not looked for,
# because its stacks are aligned to 32 bytes before GCC 13, which faults on vectors of 64.
string(JOIN ":" STET_ASAN_OPTIONS detect_leaks=1 strict_string_checks=1 detect_stack_use_after_return=0
    handle_segv=2 handle_sigbus=2 handle_sigfpe=2)
# Tests count launches and recordings, which must not depend on when a compiler is ready; and what is compiled, which
# must not depend on what code lies in the build tree.
set(STET_TEST_ENVIRONMENT
    "STET_WAIT_FOR_CODE=1"
    "STET_GPU_CODE_FOLDER=${PROJECT_BINARY_DIR}/test/no_gpu_code"
    "ASAN_OPTIONS=${STET_ASAN_OPTIONS}"
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")
if(STET_SANITIZE STREQUAL "thread")
    list(APPEND STET_TEST_ENVIRONMENT
        "TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1:second_deadlock_stack=1:handle_segv=2:\
die_after_fork=0")
endif()

# The test's name and its layer, from its path.
function(stet_test_name path name_out layer_out)
    string(REGEX REPLACE "/.*" "" layer "${path}")
    get_filename_component(noun "${path}" NAME)
    set(${name_out} "${layer}/${noun}" PARENT_SCOPE)
    set(${layer_out} "${layer}" PARENT_SCOPE)
endfunction()

# What each test program has besides its own: base/drawn.c.
add_library(test_drawn STATIC "${PROJECT_SOURCE_DIR}/test/base/drawn.c")
target_include_directories(test_drawn PRIVATE "${PROJECT_SOURCE_DIR}/test")
target_link_libraries(test_drawn PRIVATE PkgConfig::CMOCKA)
stet_target_options(test_drawn)

function(stet_test path)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;SOURCES")
    stet_test_name("${path}" name layer)
    string(REPLACE "/" "_" target "test_${name}")
    add_executable(${target} "${PROJECT_SOURCE_DIR}/test/${path}_test.c" ${arg_SOURCES})
    stet_target_options(${target})
    target_compile_options(${target} PRIVATE -Wno-unused-parameter) # cmocka gives every test a state
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/test")
    target_link_libraries(${target} PRIVATE test_drawn stet_pilots ${STET_TEST_LIBRARY} mujoco::mujoco Threads::Threads
        PNG::PNG PkgConfig::JANSSON PkgConfig::CMOCKA m)
    target_link_options(${target} PRIVATE -Wl,--wrap=_cmocka_run_group_tests)
    target_compile_definitions(${target} PRIVATE
        STET_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
        STET_TEST_BINARY_DIR="${PROJECT_BINARY_DIR}"
        STET_TEST_COMMAND="${PROJECT_BINARY_DIR}/stet"
        STET_TEST_PACKAGES="${stet_test_packages}"
        STET_TEST_PYTHON="${PROJECT_SOURCE_DIR}/.venv/bin/python")
    add_dependencies(${target} stet_cli)
    if(NOT TARGET tests_of_${layer})
        add_custom_target(tests_of_${layer})
    endif()
    add_dependencies(tests_of_${layer} ${target})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/${layer}")
    add_test(NAME "${name}" COMMAND ${target})
    stet_test_properties("${name}" ${layer} ${arg_LABELS})
endfunction()

function(stet_tests folder)
    foreach(noun IN LISTS ARGN)
        stet_test("${folder}/${noun}")
    endforeach()
endfunction()

function(stet_test_properties name)
    set(labels ${ARGN})
    if(NOT "long" IN_LIST labels AND NOT "whole" IN_LIST labels)
        list(APPEND labels short)
    endif()
    # A test runs on the same devices everywhere: a GPU of this machine is hidden, unless stet_test_sees_gpu says
    # otherwise.
    set_tests_properties("${name}" PROPERTIES LABELS "${labels}" TIMEOUT 900
        ENVIRONMENT "${STET_TEST_ENVIRONMENT};CUDA_VISIBLE_DEVICES=;HIP_VISIBLE_DEVICES=")
endfunction()

# <test>_whole[@<device>]: the test as it is now, label `whole`; what is then set in its environment makes a part of it.
function(stet_add_whole name)
    string(REGEX REPLACE "@.*$" "" program "${name}")
    string(REPLACE "/" "_" target "test_${program}")
    if(NOT TARGET ${target}) # a program that is run in another way, too
        string(REGEX REPLACE "_[a-z]+$" "" target ${target})
    endif()
    get_filename_component(layer "${name}" DIRECTORY)
    string(REPLACE "${program}" "${program}_whole" whole "${name}")
    get_property(environment TEST "${name}" PROPERTY ENVIRONMENT)
    add_test(NAME "${whole}" COMMAND ${target})
    stet_test_properties("${whole}" ${layer} whole)
    set_property(TEST "${whole}" PROPERTY ENVIRONMENT "${environment}")
endfunction()

# Tests that repeat much (test/base/part.h): under a sanitizer, and on a device that is slow (<test>@<device>), those
# after ALWAYS everywhere, they do a part of it; the whole does <test>_whole[@<device>].
function(stet_test_in_part)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "ALWAYS")
    foreach(name IN LISTS arg_UNPARSED_ARGUMENTS arg_ALWAYS)
        if(STET_SANITIZE OR name MATCHES "@" OR name IN_LIST arg_ALWAYS)
            stet_add_whole("${name}")
            set_property(TEST "${name}" APPEND PROPERTY ENVIRONMENT "STET_TEST_IN_PART=1")
        endif()
    endforeach()
endfunction()

# stet_test_drawn(<step> <test> …): of the tests of a program one in <step>, which the run's seed draws (base/drawn.c);
# the whole does <test>_whole[@<device>]. For programs that take long and that run on other devices, too.
function(stet_test_drawn step)
    foreach(name IN LISTS ARGN)
        if(TEST "${name}") # some are not there under a sanitizer
            stet_add_whole("${name}")
            set_property(TEST "${name}" APPEND PROPERTY ENVIRONMENT "STET_TEST_DRAW=${step}")
        endif()
    endforeach()
endfunction()

# Tests whose list of devices has this machine's GPU; their label is `real_gpu`, too.
function(stet_test_sees_gpu)
    foreach(name IN LISTS ARGN)
        set_property(TEST "${name}" PROPERTY ENVIRONMENT "${STET_TEST_ENVIRONMENT}")
        set_property(TEST "${name}" APPEND PROPERTY LABELS real_gpu)
    endforeach()
endfunction()

# stet_script_test(<layer>[/<folder>]/<noun> [LABELS …]) registers <noun>_test.py of that folder, run by
# STET_TEST_PYTHON. Its environment holds the definitions above, and STET_TEST_MUJOCO (MuJoCo's library).
function(stet_script_test path)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS")
    stet_test_name("${path}" name layer)
    add_test(NAME "${name}" 
        COMMAND "${PROJECT_SOURCE_DIR}/.venv/bin/python" -B "${PROJECT_SOURCE_DIR}/test/${path}_test.py")
    stet_test_properties("${name}" ${layer} ${arg_LABELS})
    set_property(TEST "${name}" APPEND PROPERTY ENVIRONMENT
        "STET_TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
        "STET_TEST_BINARY_DIR=${PROJECT_BINARY_DIR}"
        "STET_TEST_COMMAND=${PROJECT_BINARY_DIR}/stet"
        "STET_TEST_PACKAGES=${stet_test_packages}"
        "STET_TEST_MUJOCO=${MuJoCo_LIBRARY}")
endfunction()

# ---- checks of the source and of the installation --------------------------------------------------------------------

find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME project/layers COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/check_layers.py")
add_test(NAME project/headers COMMAND "${PROJECT_SOURCE_DIR}/tools/check_headers.sh" "${CMAKE_C_COMPILER}")
add_test(NAME project/figures COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tools/figures.py" --check)
add_test(NAME project/mechanisms COMMAND "${Python3_EXECUTABLE}" -B
    "${PROJECT_SOURCE_DIR}/tools/mechanisms_doc.py" --check)
add_test(NAME project/kernels_page COMMAND "${Python3_EXECUTABLE}" -B
    "${PROJECT_SOURCE_DIR}/tools/kernel_functions.py" --check)
add_test(NAME project/docs COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tools/check_docs.py")
add_test(NAME project/where COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tools/check_where.py")
stet_test_properties(project/docs)
stet_test_properties(project/figures)
stet_test_properties(project/layers)
stet_test_properties(project/mechanisms)
stet_test_properties(project/kernels_page)
stet_test_properties(project/where)
stet_test_properties(project/headers)
if(NOT STET_SANITIZE)
    add_test(NAME project/install COMMAND "${PROJECT_SOURCE_DIR}/tools/check_install.sh" "${PROJECT_BINARY_DIR}"
        "${CMAKE_COMMAND}" "${CMAKE_C_COMPILER}")
    stet_test_properties(project/install long)
endif()
