# The tests of the whole loop.
stet_tests(sim apart beside control division free_camera known linearize native native_tape native_tape_parameters
    native_tape_reads native_tape_touch phase ranges sim tape tensor trace)
stet_test_ranges(sim/ranges)
stet_test(sim/recorded SOURCES ${PROJECT_SOURCE_DIR}/src/cli/files/npy.c
    ${PROJECT_SOURCE_DIR}/src/cli/report_error.c)
add_test(NAME sim/recorded_long COMMAND test_sim_recorded 2000)
stet_test_properties(sim/recorded_long sim whole)
stet_tests(sim/reuse frame held idle long_native long_run same subset switches)
add_test(NAME sim/long_run_long COMMAND test_sim_long_run 10000)
stet_test_properties(sim/long_run_long sim whole)
set_tests_properties(sim/long_run_long PROPERTIES TIMEOUT 2400)
stet_tests(sim/rounds round round_copies round_fault round_hand round_known round_null round_stage)
stet_test_doubles(sim/round_copies sim/round_stage)
stet_tests(sim/faults interrupt null phase_fault)
stet_test(sim/faults/failure SOURCES sim/faults/everything.c)
stet_test(sim/faults/driver_fault SOURCES sim/faults/everything.c)
stet_test_doubles(sim/driver_fault)
set(shares 8)
foreach(table IN ITEMS cuda hip)
    foreach(share RANGE 1 ${shares})
        set(name sim/driver_fault_${table}_${share})
        add_test(NAME ${name} COMMAND test_sim_driver_fault ${table} ${share} ${shares})
        stet_test_properties(${name} sim whole)
        set_tests_properties(${name} PROPERTIES TIMEOUT 2400)
    endforeach()
endforeach()
# A call of each function of the public headers; all of them, for one that is missing would go untested.
file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/stet/*.h")
add_custom_command(OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/null_calls.inl"
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tools/nullgen.py"
    "${CMAKE_CURRENT_BINARY_DIR}/null_calls.inl"
    DEPENDS "${PROJECT_SOURCE_DIR}/tools/nullgen.py" "${PROJECT_SOURCE_DIR}/tools/source.py" ${headers} VERBATIM)
stet_test(sim/faults/nulls SOURCES "${CMAKE_CURRENT_BINARY_DIR}/null_calls.inl")
target_include_directories(test_sim_nulls PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
stet_test(sim/program/program SOURCES sim/program/program.c sim/program/export.c sim/program/faults.c
    sim/program/frames.c sim/program/kernels.c sim/program/open.c sim/program/process.c sim/program/rounds.c
    sim/program/scenes.c sim/program/stage.c sim/program/tiles.c sim/program/worlds.c)
add_test(NAME sim/program_long COMMAND test_sim_program 8000)
stet_test_properties(sim/program_long sim long)
add_test(NAME sim/program_longer COMMAND test_sim_program 100000)
stet_test_properties(sim/program_longer sim whole)
add_test(NAME sim/program_checked COMMAND test_sim_program) # its own kernels in checked mode
stet_test_properties(sim/program_checked sim)
set_property(TEST sim/program_checked APPEND PROPERTY ENVIRONMENT STET_CHECKED=1)
# Instructions of six short runs, by callgrind; a sanitizer's code has others.
if(NOT STET_SANITIZE)
    add_executable(counted sim/counted.c ${PROJECT_SOURCE_DIR}/bench/copies.c)
    stet_target_options(counted)
    target_include_directories(counted PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(counted PRIVATE stet_pilots ${STET_TEST_LIBRARY} mujoco::mujoco Threads::Threads PNG::PNG
        PkgConfig::JANSSON m)
    set_target_properties(counted PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/sim")
    add_dependencies(tests_of_sim counted)
    stet_script_test(sim/counts)
    set_property(TEST sim/counts APPEND PROPERTY ENVIRONMENT
        "STET_TEST_COUNTED=$<TARGET_FILE:counted>"
        "STET_TEST_CC=${CMAKE_C_COMPILER}"
        "STET_TEST_BUILD=${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}$<$<BOOL:${STET_ASSERT}>:, with assertions>")
endif()
