/*
 * Convex pairs against MuJoCo's mj_collision, whose ways of finding the same nearest points or least depth differ from
 * ours: so round surfaces agree to its tolerance only. MuJoCo's further contacts of flat faces are left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "physics/collide_rig.h"

#include <stdlib.h>

enum { CASES = 2048 };

extern const sti_kernel sti_k_probe_convex;

/* The vertices of the hulls of both geoms, and where they are. */
static double vertices[3 * 256];
static float float_vertices[3 * 256];
static int shape[6];

static int hull_arguments(const mjModel *m, bool real_is_double, sti_slot *slot)
{
    int n = 0;
    for (int g = 0; g < 2; ++g) {
        shape[3 * g] = m->geom_type[g];
        shape[3 * g + 1] = n;
        if (m->geom_type[g] == mjGEOM_MESH) {
            int mesh = m->geom_dataid[g];
            const int *graph = m->mesh_graph + m->mesh_graphadr[mesh], count = graph[0];
            for (int i = 0; i < count; ++i, ++n)
                for (int k = 0; k < 3; ++k)
                    float_vertices[3 * n + k] = m->mesh_vert[3 * (m->mesh_vertadr[mesh] + graph[2 + count + i]) + k];
        }
        shape[3 * g + 2] = n - shape[3 * g + 1];
    }
    for (int i = 0; i < 3 * n; ++i) vertices[i] = (double)float_vertices[i];
    slot[0] = (sti_slot){.p = real_is_double ? (void *)vertices : (void *)float_vertices};
    slot[1] = (sti_slot){.p = shape};
    return 2;
}

static const collide_pair pairs[] = {
    {"sphere ellipsoid", "sphere", "ellipsoid", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"sphere mesh", "sphere", "mesh", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"capsule ellipsoid", "capsule", "ellipsoid", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"capsule cylinder", "capsule", "cylinder", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"capsule mesh", "capsule", "mesh", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"ellipsoid ellipsoid", "ellipsoid", "ellipsoid", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"ellipsoid cylinder", "ellipsoid", "cylinder", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"ellipsoid box", "ellipsoid", "box", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"ellipsoid mesh", "ellipsoid", "mesh", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"cylinder cylinder", "cylinder", "cylinder", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"cylinder box", "cylinder", "box", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"cylinder mesh", "cylinder", "mesh", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"box mesh", "box", "mesh", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
    {"mesh mesh", "mesh", "mesh", &sti_k_probe_convex, 1, 0.5, 0, 1e-6, 0.1, hull_arguments},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static void contacts_are_mujocos(void **state)
{
    (void)state;
    random_state r = start(__func__);
    for (int i = 0; i < PAIRS; ++i) {
        collide_set s = collide_set_create(&pairs[i], &r, CASES);
        collide_check_oracle(&pairs[i], &s);
        collide_check_widths(&pairs[i], &s);
        collide_set_destroy(&s);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(contacts_are_mujocos)};
    rays_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
