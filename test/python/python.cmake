# Tests of the Python package: test_<name>.py, each a run of pytest over the package of the build tree. Which may skip,
# and why: test/skips.txt. Those that use PyTorch have the label `learners`, too (make test-learners).
if(STET_PYTHON AND NOT STET_SANITIZE)
    file(GLOB stet_python_tests CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_LIST_DIR}"
        "${CMAKE_CURRENT_LIST_DIR}/test_*.py")
    list(TRANSFORM stet_python_tests REPLACE "^test_(.*)\\.py$" "\\1")
    foreach(name IN LISTS stet_python_tests)
        add_test(NAME "python/${name}" COMMAND "${Python_EXECUTABLE}" -B -m pytest -q -p no:cacheprovider
            "${CMAKE_CURRENT_LIST_DIR}/test_${name}.py")
        set(labels python)
        if(name MATCHES "^view_(browser|golden)$")
            list(APPEND labels long)
        endif()
        stet_test_properties("python/${name}" ${labels})
    endforeach()
    # Tasks of other projects, one by one, and episodes in each mode: a part of those, which the run's seed draws.
    set(stet_python_drawn gym_device_jax gym_mujoco gym_suite)
    foreach(name IN LISTS stet_python_drawn)
        add_test(NAME "python/${name}_whole" COMMAND "${Python_EXECUTABLE}" -B -m pytest -q -p no:cacheprovider
            "${CMAKE_CURRENT_LIST_DIR}/test_${name}.py")
        stet_test_properties("python/${name}_whole" python whole)
        set_property(TEST "python/${name}_whole" APPEND PROPERTY ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
        set_property(TEST "python/${name}" APPEND PROPERTY ENVIRONMENT "STET_TEST_DRAW=3")
    endforeach()
    # Of the wheel that "make wheel" made, if there is one.
    add_test(NAME python/wheel COMMAND "${PROJECT_SOURCE_DIR}/tools/check_wheel.sh" "${PROJECT_BINARY_DIR}/wheels"
        "${Python_EXECUTABLE}")
    stet_test_properties(python/wheel python whole)
    stet_test_sees_gpu(python/gym_device python/gym_device_jax python/jax python/jax_function python/torch
        python/torch_function)
    foreach(name IN LISTS stet_python_tests)
        set_property(TEST "python/${name}" APPEND PROPERTY ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
    endforeach()
    file(STRINGS "${PROJECT_SOURCE_DIR}/test/skips.txt" stet_use_torch REGEX "^python/.* torch")
    foreach(line IN LISTS stet_use_torch)
        string(REGEX REPLACE " .*" "" name "${line}")
        set_property(TEST "${name}" APPEND PROPERTY LABELS learners)
    endforeach()
endif()
