# stet_fuzz(<noun> SOURCES src/… …): the fuzz target test/fuzz/<noun>_fuzz.c. Every build runs it on its corpus
# (test/fuzz/corpus/<noun>) as the test fuzz/<noun>. With Clang there is also the program fuzz_<noun>, built on demand
# with libFuzzer, ASan and UBSan from the target and the SOURCES that it is about:
#
#   cmake --build BUILD --target fuzz_cache && BUILD/test/fuzz/fuzz_cache -max_total_time=60 NEW-CORPUS
#   test/fuzz/corpus/cache
function(stet_fuzz noun)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
    set(target "${PROJECT_SOURCE_DIR}/test/fuzz/${noun}_fuzz.c")
    set(corpus "${PROJECT_SOURCE_DIR}/test/fuzz/corpus/${noun}")
    add_executable(replay_${noun} "${target}" "${PROJECT_SOURCE_DIR}/test/fuzz/replay.c")
    stet_target_options(replay_${noun})
    target_include_directories(replay_${noun} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(replay_${noun} PRIVATE ${STET_TEST_LIBRARY})
    set_target_properties(replay_${noun} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/fuzz")
    add_test(NAME "fuzz/${noun}" COMMAND replay_${noun} "${corpus}")
    stet_test_properties("fuzz/${noun}" fuzz)
    if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
        list(TRANSFORM arg_SOURCES PREPEND "${PROJECT_SOURCE_DIR}/")
        add_executable(fuzz_${noun} EXCLUDE_FROM_ALL "${target}" ${arg_SOURCES})
        stet_target_options(fuzz_${noun})
        target_include_directories(fuzz_${noun} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
        target_compile_options(fuzz_${noun} PRIVATE -O1 -g -fsanitize=fuzzer,address,undefined
            -fno-sanitize-recover=all)
        target_link_options(fuzz_${noun} PRIVATE -fsanitize=fuzzer,address,undefined)
        set_target_properties(fuzz_${noun} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/fuzz")
    endif()
endfunction()

stet_fuzz(cache SOURCES src/base/error.c src/base/hash.c src/base/log.c src/base/memory.c
    src/kernel/compile/text_buffer.c src/kernel/compile/entry.c src/kernel/compile/generate.c src/kernel/signature.c)
include("${PROJECT_SOURCE_DIR}/src/kernel/check/sources.cmake")
stet_fuzz(check SOURCES src/base/arena.c src/base/error.c src/base/memory.c ${STET_CHECKER_SOURCES})
include("${PROJECT_SOURCE_DIR}/src/adjoint/sources.cmake")
stet_fuzz(adjoint SOURCES src/base/arena.c src/base/error.c src/base/hash.c src/base/memory.c
    src/kernel/compile/text_buffer.c ${STET_CHECKER_SOURCES} ${STET_ADJOINT_SOURCES})
get_target_property(stet_device_sources stet SOURCES)
list(FILTER stet_device_sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/src/(base|device)/.*[.]c$")
list(TRANSFORM stet_device_sources REPLACE "^${PROJECT_SOURCE_DIR}/" "")
stet_fuzz(dlpack SOURCES ${stet_device_sources})
if(TARGET fuzz_dlpack)
    target_link_libraries(fuzz_dlpack PRIVATE Threads::Threads)
endif()
