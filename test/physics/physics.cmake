# The collision functions of src/physics/collide, in probe kernels that are compiled for each instruction set with the
# very flags of the library's kernels.
function(stet_collide_probes unit result)
    set(source "${PROJECT_BINARY_DIR}/kernels/test/physics_${unit}.c")
    set(path "test/physics/${unit}.k.h")
    add_custom_command(
        OUTPUT "${source}"
        COMMAND kernelgen "${PROJECT_SOURCE_DIR}/${path}" "${path}" "${source}"
        DEPENDS kernelgen "${PROJECT_SOURCE_DIR}/${path}"
        VERBATIM)
    add_custom_target(physics_${unit}_generated DEPENDS "${source}")
    set(objects)
    foreach(isa IN LISTS STET_ISAS ITEMS "")
        set(target "physics_${unit}_${isa}")
        add_library(${target} OBJECT "${source}")
        add_dependencies(${target} physics_${unit}_generated)
        target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
            "${PROJECT_SOURCE_DIR}/test" "${PROJECT_SOURCE_DIR}")
        target_compile_options(${target} PRIVATE ${STET_KERNEL_WARNINGS} ${STET_KERNEL_FLAGS} ${STET_KERNEL_LEVEL}
            ${STET_KERNEL_SANITIZE_FLAGS})
        if(isa) # without one: the descriptions
            target_compile_definitions(${target} PRIVATE STI_ISA=${isa} ${STET_ISA_${isa}_DEFINITIONS})
            target_compile_options(${target} PRIVATE ${STET_ISA_${isa}_FLAGS})
        endif()
        list(APPEND objects $<TARGET_OBJECTS:${target}>)
    endforeach()
    set(${result} ${objects} PARENT_SCOPE)
endfunction()

stet_collide_probes(collide_probe COLLIDE_PROBES)
stet_collide_probes(convex_probe CONVEX_PROBES)
stet_collide_probes(manifold_probe MANIFOLD_PROBES)
stet_test(physics/collide SOURCES physics/collide_rig.c geom/rays.c ${COLLIDE_PROBES})
stet_test(physics/convex SOURCES physics/collide_rig.c geom/rays.c ${CONVEX_PROBES} ${MANIFOLD_PROBES})
stet_collide_probes(hfield_probe HFIELD_PROBES)
stet_test(physics/hfield SOURCES physics/collide_rig.c geom/rays.c ${HFIELD_PROBES})
