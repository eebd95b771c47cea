/* Height fields against MuJoCo's mj_collision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "physics/collide_rig.h"

enum { CASES = 2048 };

extern const sti_kernel sti_k_probe_hfield;

static int field_arguments(const mjModel *m, bool real_is_double, sti_slot *slot)
{
    static int tables[3];
    static double heights[64], size[4];
    static float float_heights[64], float_size[4];
    int n = m->hfield_nrow[0] * m->hfield_ncol[0];
    assert_in_range(n, 4, 64);
    tables[0] = m->hfield_nrow[0];
    tables[1] = m->hfield_ncol[0];
    tables[2] = m->geom_type[1];
    for (int i = 0; i < n; ++i) float_heights[i] = m->hfield_data[i], heights[i] = (double)m->hfield_data[i];
    for (int k = 0; k < 4; ++k) size[k] = m->hfield_size[k], float_size[k] = (float)m->hfield_size[k];
    slot[0] = (sti_slot){.p = tables};
    slot[1] = (sti_slot){.p = real_is_double ? (void *)heights : (void *)float_heights};
    slot[2] = (sti_slot){.p = real_is_double ? (void *)size : (void *)float_size};
    return 3;
}

static const collide_pair pairs[] = {
    {"hfield sphere", "hfield", "sphere", &sti_k_probe_hfield, 32, 0.995, 0.98, 1e-7, 1e-6, 0, 0, 1e-12, false,
     field_arguments},
    {"hfield capsule", "hfield", "capsule", &sti_k_probe_hfield, 32, 0.995, 0.7, 1e-7, 1e-6, 0, 0, 1e-12, false,
     field_arguments},
    {"hfield box", "hfield", "box", &sti_k_probe_hfield, 32, 0.995, 0.98, 1e-7, 1e-6, 0, 0, 1e-12, true,
     field_arguments},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static void contacts_are_mujocos(void **state)
{
    random_state r = start(__func__);
    for (int i = 0; i < PAIRS; ++i) collide_check_pair(&pairs[i], &r, CASES, 0.03, 0.02);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(contacts_are_mujocos)};
    rays_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
