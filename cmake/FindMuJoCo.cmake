# Finds MuJoCo's C library: in MUJOCO_DIR (the cache variable, else the environment's), an unpacked release or a wheel's
# folder `mujoco`; else, where pip builds stet, in the wheel of the building Python; else in the wheel that
# tools/setup.sh put into .venv/. Defines mujoco::mujoco, MuJoCo_VERSION, MuJoCo_LIBRARY (the file itself, links
# followed), MuJoCo_PLUGINS (the files of its own plugins). Headers and library must be of the same release: the layout
# of mjModel changes between releases.

set(_mujoco_dir "${MUJOCO_DIR}")
if(NOT _mujoco_dir)
    set(_mujoco_dir "$ENV{MUJOCO_DIR}")
endif()
set(_mujoco_advice "set MUJOCO_DIR to an unpacked MuJoCo release, or unset it and run tools/setup.sh")
if(_mujoco_dir)
    get_filename_component(_mujoco_dir "${_mujoco_dir}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}")
    set(_mujoco_named "MUJOCO_DIR is '${_mujoco_dir}', which")
else()
    if(SKBUILD)
        execute_process(COMMAND "${Python_EXECUTABLE}" -c
            "import importlib.util; print(importlib.util.find_spec('mujoco').submodule_search_locations[0])"
            OUTPUT_VARIABLE _mujoco_dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
    if(NOT _mujoco_dir)
        file(GLOB _mujoco_wheels "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/mujoco")
        list(POP_FRONT _mujoco_wheels _mujoco_dir)
    endif()
    if(NOT _mujoco_dir)
        message(FATAL_ERROR
            "MuJoCo is not in ${PROJECT_SOURCE_DIR}/.venv: run tools/setup.sh, or set MUJOCO_DIR "
            "to an unpacked MuJoCo release")
    endif()
    set(_mujoco_named "The wheel folder '${_mujoco_dir}'")
endif()

set(_mujoco_header "${_mujoco_dir}/include/mujoco/mujoco.h")
if(NOT EXISTS "${_mujoco_header}")
    message(FATAL_ERROR "${_mujoco_named} has no include/mujoco/mujoco.h: ${_mujoco_advice}")
endif()

# The header's number is major · 1000000 + minor · 1000 + patch; releases that wrote three digits are too old anyway.
file(STRINGS "${_mujoco_header}" _mujoco_line REGEX "#define +mjVERSION_HEADER +[0-9]+")
string(REGEX MATCH "[0-9]+$" _mujoco_number "${_mujoco_line}")
if(_mujoco_number GREATER_EQUAL 1000000)
    math(EXPR _mujoco_major "${_mujoco_number} / 1000000")
    math(EXPR _mujoco_minor "${_mujoco_number} / 1000 % 1000")
    math(EXPR _mujoco_patch "${_mujoco_number} % 1000")
    set(MuJoCo_VERSION "${_mujoco_major}.${_mujoco_minor}.${_mujoco_patch}")
else()
    set(MuJoCo_VERSION "0")
endif()

foreach(_mujoco_try
        "lib/libmujoco.so.${MuJoCo_VERSION}" "libmujoco.so.${MuJoCo_VERSION}"
        "lib/libmujoco.${MuJoCo_VERSION}.dylib" "libmujoco.${MuJoCo_VERSION}.dylib")
    if(EXISTS "${_mujoco_dir}/${_mujoco_try}")
        set(MuJoCo_LIBRARY "${_mujoco_dir}/${_mujoco_try}")
        break()
    endif()
endforeach()

if(MuJoCo_VERSION VERSION_LESS MuJoCo_FIND_VERSION OR MuJoCo_VERSION VERSION_GREATER_EQUAL 5)
    message(FATAL_ERROR "${_mujoco_named} holds MuJoCo ${MuJoCo_VERSION} (by its header), but stet needs "
        "${MuJoCo_FIND_VERSION} or later, below 5: ${_mujoco_advice}")
endif()
if(NOT MuJoCo_LIBRARY)
    message(FATAL_ERROR
        "${_mujoco_named} has no libmujoco.so.${MuJoCo_VERSION} to go with its headers, "
        "neither at its top nor in lib/: ${_mujoco_advice}")
endif()

# Where src/model/plugins.c looks for them, too: in wheels, in archives.
get_filename_component(_mujoco_beside "${MuJoCo_LIBRARY}" DIRECTORY)
file(GLOB MuJoCo_PLUGINS "${_mujoco_beside}/plugin/*.so" "${_mujoco_beside}/plugin/*.dylib"
    "${_mujoco_beside}/../bin/mujoco_plugin/*.so" "${_mujoco_beside}/../bin/mujoco_plugin/*.dylib")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MuJoCo REQUIRED_VARS MuJoCo_LIBRARY VERSION_VAR MuJoCo_VERSION)

if(NOT TARGET mujoco::mujoco)
    add_library(mujoco::mujoco SHARED IMPORTED)
    set_target_properties(mujoco::mujoco PROPERTIES
        IMPORTED_LOCATION "${MuJoCo_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${_mujoco_dir}/include")
endif()
