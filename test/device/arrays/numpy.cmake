# The round trip through NumPy: a small module that Python loads. A Python that is not instrumented cannot load one that
# is.
if(NOT STET_SANITIZE)
    add_library(test_device_numpy MODULE "${CMAKE_CURRENT_LIST_DIR}/numpy_module.c")
    stet_target_options(test_device_numpy)
    target_link_libraries(test_device_numpy PRIVATE stet)
    set_target_properties(test_device_numpy PROPERTIES PREFIX "" OUTPUT_NAME numpy_module
        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/device")
    stet_script_test(device/arrays/numpy)
endif()
