# Kernel units. stet_kernel_unit(src/<layer>/<noun>.k.h …) names a kernel source; `kernelgen` turns it into C in the
# build tree, and stet_build_kernels(TARGET TABLE UNITS…), called for the library after all layers, compiles that C once
# per instruction set and puts the objects into TARGET.
#
# Units in the global property STET_SMALL_UNITS are compiled for size: what is not there for processors' speed.
#
# Each compilation sees -DSTI_ISA=<name> -DSTET_W=<lanes>, and -DSTET_DOUBLE=1 where `real` is double. The settings
# below are part of the promise of equal bits: no contraction, no reassociation, never -ffast-math; nor
# -fno-trapping-math, with which GCC 12 turns (float)(int)x into a rounding that gives -0 for -0. -fno-strict-aliasing:
# kernels may read memory as another type than it was stored as; without, Clang drops such stores.

set(STET_KERNEL_FLAGS -ffp-contract=off -fno-math-errno -fwrapv -fno-strict-aliasing)

set(STET_ISAS portable w1 f64)
set(STET_ISA_portable_DEFINITIONS STET_W=4)
set(STET_ISA_w1_DEFINITIONS STET_W=1)
set(STET_ISA_f64_DEFINITIONS STET_W=1 STET_DOUBLE=1)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    list(APPEND STET_ISAS avx2 avx512)
    set(STET_ISA_w1_FLAGS -mavx2 -mfma -mf16c)
    set(STET_ISA_avx2_DEFINITIONS STET_W=8)
    set(STET_ISA_avx2_FLAGS -mavx2 -mfma -mf16c)
    set(STET_ISA_avx512_DEFINITIONS STET_W=16)
    set(STET_ISA_avx512_FLAGS -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
endif()

# Which of these are compiled; the stages of native physics as kernels, which are there to be measured, only with all.
#   machine  what this machine's devices choose by themselves, and f64 without pictures: pip install .
#   widest   of that the widest, which serves one world, too, only slower; f64 for `stet gradcheck` of the caller's
#            kernels; and no gradients of time steps: make run
# A tree with sanitizers has one of the wide ones.
set(STET_INSTRUCTION_SETS all CACHE STRING "Instruction sets of the library's kernels: all, machine or widest")
set_property(CACHE STET_INSTRUCTION_SETS PROPERTY STRINGS all machine widest)
set(stet_flags "")
if(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo stet_flags REGEX "^flags" LIMIT_COUNT 1)
endif()
set(STET_LEFT_OUT) # sets; STET_<set>_LEAVES_OUT: layers, and units as physics/pull
if(STET_INSTRUCTION_SETS MATCHES "^(machine|widest)$")
    foreach(isa IN LISTS STET_ISAS)
        set(STET_${isa}_LEAVES_OUT physics/stages)
    endforeach()
    list(APPEND STET_w1_LEAVES_OUT render) # pictures are drawn with the widest
    list(APPEND STET_f64_LEAVES_OUT render)
    if(stet_flags MATCHES " avx2 ")
        list(APPEND STET_LEFT_OUT portable)
    elseif("avx2" IN_LIST STET_ISAS)
        list(APPEND STET_LEFT_OUT w1 avx2)
    endif()
elseif(NOT STET_INSTRUCTION_SETS STREQUAL "all")
    message(FATAL_ERROR "STET_INSTRUCTION_SETS is '${STET_INSTRUCTION_SETS}': write all, machine or widest")
endif()
if(STET_INSTRUCTION_SETS STREQUAL "widest")
    foreach(isa IN LISTS STET_ISAS)
        list(APPEND STET_${isa}_LEAVES_OUT physics/pull)
    endforeach()
    set(STET_f64_LEAVES_OUT physics render geom stage tiles)
    list(APPEND STET_LEFT_OUT w1)
endif()
if(STET_SANITIZE OR NOT STET_INSTRUCTION_SETS STREQUAL "all")
    if(stet_flags MATCHES " avx512vl")
        list(APPEND STET_LEFT_OUT avx2)
    else()
        list(APPEND STET_LEFT_OUT avx512)
    endif()
endif()
list(REMOVE_DUPLICATES STET_LEFT_OUT)
if(STET_LEFT_OUT)
    list(REMOVE_ITEM STET_ISAS ${STET_LEFT_OUT})
endif()
foreach(isa IN LISTS STET_LEFT_OUT)
    set(STET_${isa}_LEAVES_OUT "[a-z]+")
endforeach()

# Makes kernel_sets.h: STI_UNLESS_LEFT_OUT(set, unit, x) is x, or 0 where the set leaves this unit of the library out,
# src/physics/pull.k.h being physics_pull; unit `all`: where nothing is compiled for the set.
function(stet_write_kernel_sets)
    set(text "/* Made by CMake: which kernels are not compiled. */
#define STI_SECOND_OF(a, b, ...) b
#define STI_SECOND(...) STI_SECOND_OF(__VA_ARGS__)
#define STI_UNLESS_LEFT_OUT_(set, unit, x) STI_SECOND(STI_LEFT_OUT_##set##_##unit, x, 0)
#define STI_UNLESS_LEFT_OUT(set, unit, x) STI_UNLESS_LEFT_OUT_(set, unit, x)
")
    foreach(isa IN LISTS STET_LEFT_OUT)
        string(APPEND text "#define STI_LEFT_OUT_${isa}_all , 0\n")
    endforeach()
    foreach(isa IN LISTS STET_LEFT_OUT STET_ISAS)
        string(REPLACE ";" "|" out "${STET_${isa}_LEAVES_OUT}")
        foreach(unit IN LISTS ARGN)
            if(out AND unit MATCHES "^src/(${out})[/.]")
                string(REGEX REPLACE "^src/(.*)\\.k\\.h$" "\\1" unit "${unit}")
                string(REPLACE "/" "_" unit "${unit}")
                string(APPEND text "#define STI_LEFT_OUT_${isa}_${unit} , 0\n")
            endif()
        endforeach()
    endforeach()
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/language/kernel_sets.h" CONTENT "${text}" @ONLY)
endfunction()

# All compiled kernels; another tree may take them from this one (STET_KERNELS_OF): all, but in a tree with sanitizers
# those of the widest instruction set are its own.
add_custom_target(kernels)
set(STET_TAKEN_ISAS)
if(STET_KERNELS_OF)
    set(STET_TAKEN_ISAS ${STET_ISAS})
    if(STET_SANITIZE)
        list(REMOVE_ITEM STET_TAKEN_ISAS avx2 avx512)
        if(STET_TAKEN_ISAS STREQUAL "${STET_ISAS}")
            list(REMOVE_ITEM STET_TAKEN_ISAS portable)
        endif()
    endif()
endif()

function(stet_kernel_unit)
    foreach(unit IN LISTS ARGN)
        if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${unit}" OR NOT unit MATCHES "^src/[a-z0-9_/]+\\.k\\.h$")
            message(FATAL_ERROR
                "stet_kernel_unit: '${unit}' is not a kernel source src/<layer>/…/<noun>.k.h of this project")
        endif()
        set_property(GLOBAL APPEND PROPERTY STET_KERNEL_UNITS "${unit}")
    endforeach()
endfunction()

# The generator of C around kernels; it runs on this machine during the build, and is not part of what is installed.
add_executable(kernelgen EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tools/kernelgen.c"
    "${PROJECT_SOURCE_DIR}/src/kernel/compile/generate.c" "${PROJECT_SOURCE_DIR}/src/kernel/signature.c")
target_include_directories(kernelgen PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
stet_target_options(kernelgen)

# Adds the command that generates the C of one unit, whose text is in the table of embedded sources `table`; the C's
# path goes to `result`.
function(stet_generate_kernel unit table result)
    string(REGEX REPLACE "^(src/)?(.*)\\.k\\.h$" "kernels/\\2.c" generated "${unit}")
    set(generated "${PROJECT_BINARY_DIR}/${generated}")
    get_filename_component(folder "${generated}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(
        OUTPUT "${generated}"
        COMMAND kernelgen "${PROJECT_SOURCE_DIR}/${unit}" "${unit}" "${generated}" ${table}
        DEPENDS kernelgen "${PROJECT_SOURCE_DIR}/${unit}"
        COMMENT "Generating kernels/${unit}"
        VERBATIM)
    set(${result} "${generated}" PARENT_SCOPE)
endfunction()

# Compiles the kernels of the units named into `target`, and embeds their sources there as `table`.
function(stet_build_kernels target table)
    set(sources)
    set(names)
    foreach(unit IN LISTS ARGN)
        stet_generate_kernel("${unit}" ${table} generated)
        list(APPEND sources "${generated}")
        get_property(small GLOBAL PROPERTY STET_SMALL_UNITS)
        if(unit IN_LIST small)
            set_source_files_properties("${generated}" PROPERTIES COMPILE_OPTIONS -Os)
        endif()
        string(REGEX REPLACE "^src/" "" unit "${unit}")
        stet_collect_sources("${unit}" names)
    endforeach()
    stet_embed(${target} ${table} ${names})
    # One target owns the commands, so that the builds of several instruction sets do not run them at the same time.
    add_custom_target(${target}_kernel_sources DEPENDS ${sources})
    # Without an instruction set, the generated C holds the descriptions of the kernels.
    target_sources(${target} PRIVATE ${sources})
    target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/language")
    add_dependencies(${target} ${target}_kernel_sources)
    stet_compile_kernels(${target}_kernels ${target}_kernel_sources objects ${sources})
    target_sources(${target} PRIVATE ${objects})
endfunction()

# Sets `result` to the objects of generated C, for each instruction set: those of the targets <name>_<set>, which are
# built after `generated`, or those that these targets made in the tree STET_KERNELS_OF.
function(stet_compile_kernels name generated result)
    file(RELATIVE_PATH folder "${PROJECT_BINARY_DIR}" "${CMAKE_CURRENT_BINARY_DIR}")
    set(all)
    foreach(isa IN LISTS STET_ISAS)
        set(objects "${name}_${isa}")
        set(sources ${ARGN})
        if(STET_${isa}_LEAVES_OUT)
            string(REPLACE ";" "|" out "${STET_${isa}_LEAVES_OUT}")
            list(FILTER sources EXCLUDE REGEX "/kernels/(${out})[/.]")
        endif()
        if(isa IN_LIST STET_TAKEN_ISAS)
            foreach(source IN LISTS sources)
                file(RELATIVE_PATH path "${CMAKE_CURRENT_BINARY_DIR}" "${source}")
                string(REPLACE "../" "__/" path "${path}") # CMake's name for what lies above
                list(APPEND all "${STET_KERNELS_OF}/${folder}/CMakeFiles/${objects}.dir/${path}.o")
            endforeach()
            continue()
        endif()
        add_library(${objects} OBJECT ${sources})
        add_dependencies(${objects} ${generated})
        add_dependencies(kernels ${objects})
        stet_kernel_options(${objects} ${isa})
        target_compile_definitions(${objects} PRIVATE STI_ISA=${isa} ${STET_ISA_${isa}_DEFINITIONS})
        list(APPEND all $<TARGET_OBJECTS:${objects}>)
    endforeach()
    set(${result} ${all} PARENT_SCOPE)
endfunction()

# How generated C is compiled; isa: "" where it becomes descriptions.
function(stet_kernel_options target isa)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
        "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/language")
    target_compile_options(${target} PRIVATE ${STET_KERNEL_WARNINGS} ${STET_KERNEL_FLAGS} ${STET_KERNEL_LEVEL}
        ${STET_ISA_${isa}_FLAGS} ${STET_KERNEL_SANITIZE_FLAGS})
endfunction()

# A unit of the tests, test/…/<noun>.k.h: sets `result` to what a test adds to its SOURCES.
function(stet_probe_kernels unit result)
    string(REGEX REPLACE "^test/(.*/)?([a-z0-9_]+)\\.k\\.h$" "\\2" noun "${unit}")
    set(source "${PROJECT_BINARY_DIR}/kernels/test/${noun}.c")
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/kernels/test")
    add_custom_command(
        OUTPUT "${source}"
        COMMAND kernelgen "${PROJECT_SOURCE_DIR}/${unit}" "${unit}" "${source}"
        DEPENDS kernelgen "${PROJECT_SOURCE_DIR}/${unit}"
        VERBATIM)
    add_custom_target(${noun}_generated DEPENDS "${source}")
    stet_compile_kernels(${noun} ${noun}_generated objects "${source}")
    add_library(${noun}_ OBJECT "${source}") # the descriptions
    add_dependencies(${noun}_ ${noun}_generated)
    stet_kernel_options(${noun}_ "")
    set(${result} ${objects} $<TARGET_OBJECTS:${noun}_> PARENT_SCOPE)
endfunction()

# Adds a file and all that it includes of this project to the list `result`, as NAME=PATH: each as its name in an
# #include, from src/ or from the top of the checkout.
function(stet_collect_sources name result)
    set(list ${${result}})
    set(path "${PROJECT_SOURCE_DIR}/src/${name}")
    if(NOT EXISTS "${path}")
        set(path "${PROJECT_SOURCE_DIR}/${name}")
    endif()
    if(NOT EXISTS "${path}")
        set(path "${PROJECT_BINARY_DIR}/language/${name}")
    endif()
    if(NOT "${name}=${path}" IN_LIST list)
        list(APPEND list "${name}=${path}")
        set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
        file(STRINGS "${path}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
        foreach(line IN LISTS lines)
            string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*$" "\\1" included "${line}")
            if(NOT included MATCHES "^stet/")
                stet_collect_sources("${included}" list)
            endif()
        endforeach()
    endif()
    set(${result} "${list}" PARENT_SCOPE)
endfunction()

# Adds the command that makes `table`, C with the content of files NAME=PATH …, and puts it into `target`.
add_executable(embed EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tools/embed.c")
stet_target_options(embed)
function(stet_embed target table)
    set(folder "${PROJECT_BINARY_DIR}/language")
    file(MAKE_DIRECTORY "${folder}")
    list(TRANSFORM ARGN REPLACE "^[^=]*=" "" OUTPUT_VARIABLE paths)
    add_custom_command(
        OUTPUT "${folder}/${table}.c"
        COMMAND embed "${folder}/${table}.c" ${table} ${ARGN}
        DEPENDS embed ${paths}
        VERBATIM)
    add_custom_target(stet_embedded_${table} DEPENDS "${folder}/${table}.c")
    add_dependencies(${target} stet_embedded_${table})
    target_sources(${target} PRIVATE "${folder}/${table}.c")
endfunction()

# What compiling at run time needs, put into `target`: the language's headers as text, and `kernel_flags.h`, a
# flag list for each instruction set as a C initialiser: the very flags of the library's own kernels.
function(stet_embed_language target)
    set(folder "${PROJECT_BINARY_DIR}/language")
    file(MAKE_DIRECTORY "${folder}")
    set(files)
    foreach(name IN ITEMS lang lang_checked lang_common lang_cpu lang_gpu lang_list lang_math)
        list(APPEND files "stet/${name}.h=${PROJECT_SOURCE_DIR}/include/stet/${name}.h")
    endforeach()
    foreach(name IN ITEMS isa slot)
        list(APPEND files "device/${name}.h=${PROJECT_SOURCE_DIR}/src/device/${name}.h")
    endforeach()
    stet_embed(${target} sti_language ${files})

    set(header "/* Made by CMake: how the kernels of the library are compiled. */\n")
    foreach(isa IN LISTS STET_ISAS STET_LEFT_OUT)
        set(flags -std=gnu${CMAKE_C_STANDARD} ${STET_KERNEL_LEVEL} ${STET_KERNEL_FLAGS} STI_ISA=${isa}
            ${STET_ISA_${isa}_DEFINITIONS} ${STET_ISA_${isa}_FLAGS})
        list(TRANSFORM flags REPLACE "^(ST[A-Z_]+=)" "-D\\1")
        list(JOIN flags "\", \"" flags)
        string(APPEND header "#define STI_KERNEL_FLAGS_${isa} \"${flags}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT "${folder}/kernel_flags.h" CONTENT "${header}" @ONLY)
    target_include_directories(${target} PRIVATE "${folder}")
endfunction()
