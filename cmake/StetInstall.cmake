# Install rules. The installed tree stands by itself: MuJoCo's library and its plugins go beside libstet (lib/stet/),
# found from there by run path, unless STET_INSTALL_MUJOCO is off, in which case the one that was built against stays
# where it is.

include(CMakePackageConfigHelpers)

set(stet_private_dir "${CMAKE_INSTALL_LIBDIR}/stet")
if(STET_INSTALL_MUJOCO)
    install(FILES "${MuJoCo_LIBRARY}" DESTINATION "${stet_private_dir}")
    install(FILES ${MuJoCo_PLUGINS} DESTINATION "${stet_private_dir}/plugin")
    get_filename_component(stet_mujoco_file "${MuJoCo_LIBRARY}" NAME)
    set(stet_mujoco_installed "\${PACKAGE_PREFIX_DIR}/${stet_private_dir}/${stet_mujoco_file}")
    set(stet_mujoco_pc_dir "\${libdir}/stet")
    set(stet_run_path "$ORIGIN/../${stet_private_dir};$ORIGIN/stet;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
else()
    set(stet_mujoco_installed "${MuJoCo_LIBRARY}")
    get_filename_component(stet_mujoco_pc_dir "${MuJoCo_LIBRARY}" DIRECTORY)
    get_filename_component(stet_mujoco_file "${MuJoCo_LIBRARY}" NAME)
    set(stet_run_path "${stet_mujoco_pc_dir};$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()

if(STET_PYTHON)
    list(APPEND stet_run_path "$ORIGIN/..") # of the package, whose command lies in bin/ beside MuJoCo's library
endif()
set_target_properties(stet stet_cli stet_bench PROPERTIES INSTALL_RPATH "${stet_run_path}")
install(TARGETS stet EXPORT stetTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET stet_mpi)
    install(TARGETS stet_mpi LIBRARY DESTINATION "${stet_private_dir}")
endif()
if(STET_GPU_CODE)
    install(DIRECTORY "${PROJECT_BINARY_DIR}/gpu_code" DESTINATION "${stet_private_dir}"
        FILES_MATCHING PATTERN "*.kernel")
endif()
install(TARGETS stet_cli stet_bench RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/stet" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/scenes" DESTINATION "${CMAKE_INSTALL_DATADIR}/stet")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DATADIR}/stet"
    PATTERN CMakeLists.txt EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# CMake package: find_package(stet) gives stet::stet.
set(stet_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stet")
install(EXPORT stetTargets NAMESPACE stet:: DESTINATION "${stet_package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/stetConfig.cmake.in" "${PROJECT_BINARY_DIR}/stetConfig.cmake"
    INSTALL_DESTINATION "${stet_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stetConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/stetConfig.cmake" "${PROJECT_BINARY_DIR}/stetConfigVersion.cmake"
    DESTINATION "${stet_package_dir}")

# pkg-config: a static libstet carries what it was linked with to whoever links it; a shared one has it already.
set(stet_pc_libraries
    "-L${stet_mujoco_pc_dir} -l:${stet_mujoco_file} -Wl,-rpath,${stet_mujoco_pc_dir} -pthread -lm -ldl")
set(stet_pc_requires "libpng jansson")
if(BUILD_SHARED_LIBS)
    set(stet_pc_public "")
    set(stet_pc_public_requires "")
else()
    set(stet_pc_public "${stet_pc_libraries}")
    set(stet_pc_public_requires "${stet_pc_requires}")
endif()
foreach(kind BINDIR LIBDIR INCLUDEDIR DATADIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
        set(stet_pc_${kind} "${CMAKE_INSTALL_${kind}}")
    else()
        set(stet_pc_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
    endif()
endforeach()
# The prefix is told from the file's own place, so that an installed tree can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(stet_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH stet_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" stet_pc_prefix "${stet_pc_prefix}")
    string(PREPEND stet_pc_prefix "\${pcfiledir}/")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/stet.pc.in" "${PROJECT_BINARY_DIR}/stet.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/stet.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
