/*
 * The collision functions against MuJoCo's mj_collision: random pairs of geoms, apart, touching, deep in one another,
 * with margins; and degenerate ones with parallel axes, places in common and tiny sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "physics/collide_rig.h"

enum { CASES = 4000 };

extern const sti_kernel sti_k_probe_plane_sphere, sti_k_probe_plane_capsule, sti_k_probe_plane_ellipsoid,
    sti_k_probe_plane_cylinder, sti_k_probe_plane_box, sti_k_probe_sphere_sphere, sti_k_probe_sphere_capsule,
    sti_k_probe_sphere_cylinder, sti_k_probe_capsule_capsule, sti_k_probe_sphere_box, sti_k_probe_capsule_box,
    sti_k_probe_box_box;

static const collide_pair pairs[] = {
    {"plane sphere", "plane", "sphere", &sti_k_probe_plane_sphere, 1, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false, NULL},
    {"plane capsule", "plane", "capsule", &sti_k_probe_plane_capsule, 2, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false, NULL},
    {"plane ellipsoid", "plane", "ellipsoid", &sti_k_probe_plane_ellipsoid, 1, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false,
     NULL},
    {"plane cylinder", "plane", "cylinder", &sti_k_probe_plane_cylinder, 4, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false,
     NULL},
    {"plane box", "plane", "box", &sti_k_probe_plane_box, 4, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false, NULL},
    {"sphere sphere", "sphere", "sphere", &sti_k_probe_sphere_sphere, 1, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false, NULL},
    {"sphere capsule", "sphere", "capsule", &sti_k_probe_sphere_capsule, 1, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false,
     NULL},
    {"sphere cylinder", "sphere", "cylinder", &sti_k_probe_sphere_cylinder, 1, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false,
     NULL},
    {"capsule capsule", "capsule", "capsule", &sti_k_probe_capsule_capsule, 2, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false,
     NULL},
    {"sphere box", "sphere", "box", &sti_k_probe_sphere_box, 1, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false, NULL},
    {"capsule box", "capsule", "box", &sti_k_probe_capsule_box, 2, 1, 0.9, 1e-9, 1e-9, 0.1, 0, 0, false, NULL},
    {"box box", "box", "box", &sti_k_probe_box_box, 8, 1, 0.95, 1e-9, 1e-9, 0.1, 0, 0, false, NULL},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static void contacts_are_mujocos(void **state)
{
    random_state r = start(__func__);
    for (int i = 0; i < PAIRS; ++i) collide_check_pair(&pairs[i], &r, CASES, 0.01, 0.01);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(contacts_are_mujocos)};
    rays_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
