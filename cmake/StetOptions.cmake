# Compiler settings of everything built here: stet_target_options(TARGET); of what holds the library's own C, the
# command and its benchmarks besides stet_keep_assertions(TARGET).
# Contraction is off throughout: kernels and the host code around them must round alike on every machine.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
if(NOT CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
    message(FATAL_ERROR "stet needs GCC or Clang (vector extensions); this compiler is ${CMAKE_C_COMPILER_ID}")
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")

set(STET_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Werror)
# Generated code: the checks that concern how a person writes are off.
set(STET_KERNEL_WARNINGS -Wall -Wextra -Wvla -Werror -Wno-psabi)

if(STET_SANITIZE STREQUAL "address")
    set(STET_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(STET_SANITIZE STREQUAL "thread")
    set(STET_SANITIZE_FLAGS -fsanitize=thread)
elseif(NOT STET_SANITIZE STREQUAL "")
    message(FATAL_ERROR "STET_SANITIZE is '${STET_SANITIZE}'; it may be empty, 'address' or 'thread'")
endif()

set(STET_KERNEL_LEVEL -O3)
if(STET_SANITIZE_FLAGS)
    # Assertions stay on in these builds. Reports need lines, and no more.
    set(CMAKE_C_FLAGS_RELEASE "-O1 -g1")
    list(APPEND STET_SANITIZE_FLAGS -fno-omit-frame-pointer)
    set(STET_KERNEL_SANITIZE_FLAGS ${STET_SANITIZE_FLAGS})
    if(STET_SANITIZE STREQUAL "address")
        # In generated code these take most of the time to compile, and see nothing that is not a fault or an address
        # that ASan checks. So do ASan's checks where they are not calls.
        list(APPEND STET_KERNEL_SANITIZE_FLAGS -fno-sanitize=null,object-size,pointer-overflow)
        if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
            list(APPEND STET_KERNEL_SANITIZE_FLAGS "SHELL:--param asan-instrumentation-with-call-threshold=0")
        endif()
    endif()
    set(STET_KERNEL_LEVEL -O1)
    add_link_options(${STET_SANITIZE_FLAGS})
endif()

function(stet_target_options target)
    target_compile_options(${target} PRIVATE ${STET_WARNINGS} -ffp-contract=off ${STET_SANITIZE_FLAGS})
endfunction()

# Assertions and sti_validate_* of the target, where the tree has STET_ASSERT; trees with sanitizers have them anyway.
# Not of the programs that generate kernels: those would all be compiled again when the option changes.
function(stet_keep_assertions target)
    if(STET_ASSERT)
        target_compile_options(${target} PRIVATE -UNDEBUG)
    endif()
endfunction()

# For programs that use what is inside of the library: a shared one hides that, so they carry its objects themselves.
function(stet_use_internals target)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} PRIVATE mujoco::mujoco ${CMAKE_DL_LIBS})
    if(BUILD_SHARED_LIBS)
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:stet>)
        foreach(isa IN LISTS STET_ISAS)
            target_sources(${target} PRIVATE $<TARGET_OBJECTS:stet_kernels_${isa}>)
        endforeach()
    endif()
endfunction()
