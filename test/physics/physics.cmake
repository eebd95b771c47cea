# The collision functions of src/physics/collide, in probe kernels that are compiled for each instruction set with the
# very flags of the library's kernels.
stet_probe_kernels(test/physics/collide_probe.k.h COLLIDE_PROBES)
stet_probe_kernels(test/physics/convex_probe.k.h CONVEX_PROBES)
stet_probe_kernels(test/physics/manifold_probe.k.h MANIFOLD_PROBES)
stet_test(physics/collide SOURCES physics/collide_rig.c geom/rays.c ${COLLIDE_PROBES})
stet_test(physics/aligned SOURCES physics/collide_rig.c geom/rays.c ${COLLIDE_PROBES})
stet_test(physics/convex SOURCES physics/collide_rig.c geom/rays.c ${CONVEX_PROBES} ${MANIFOLD_PROBES})
stet_probe_kernels(test/physics/hfield_probe.k.h HFIELD_PROBES)
stet_test(physics/hfield SOURCES physics/collide_rig.c geom/rays.c ${HFIELD_PROBES})
stet_probe_kernels(test/physics/hull_probe.k.h HULL_PROBES)
stet_test(physics/hull SOURCES geom/rays.c ${HULL_PROBES})
stet_probe_kernels(test/physics/line_probe.k.h LINE_PROBES)
stet_test(physics/line_search SOURCES ${LINE_PROBES})
