/*
 * The pilots on every device that runs kernels: the recorded hashes, whatever the size of a team.
 */
#include "device/devices.h"

#include "kernel/gpu/programs.h"
#include "kernel/lang/pilots.h"

static const sti_team world_teams[] = {{1, 1}, {8, 4}, {32, 1}, {32, 2}, {96, 1}};
static const sti_team item_teams[] = {{1, 1}, {32, 1}, {64, 1}, {128, 1}, {256, 1}};
enum { TEAMS = 5 };

static void check(const rig_device *rig, size_t g, const char *team)
{
    sti_pilot p;
    uint64_t hash;
    OK(sti_pilot_create(rig->device, golden[g].kind, golden[g].size, &p));
    OK(sti_pilot_run(rig->device, &p));
    OK(sti_pilot_hash(&p, &hash));
    if (hash != golden[g].hash)
        fail_msg("%s on %s, team %s: %016llx, not %016llx", sti_pilot_name(golden[g].kind), rig->name, team,
                 (unsigned long long)hash, (unsigned long long)golden[g].hash);
    sti_pilot_destroy(&p);
}

static void golden_hashes_on_every_device(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        for (size_t g = 0; g < sizeof golden / sizeof *golden; ++g) check(&rig, g, "as it comes");
    }
}

static const sti_kernel *kernel_of(stet_device *device, sti_pilot_kind kind)
{
    sti_pilot p;
    OK(sti_pilot_create(device, kind, 1, &p));
    const sti_kernel *kernel = p.kernel;
    sti_pilot_destroy(&p);
    return kernel;
}

static void no_size_of_team_changes_a_bit(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        if (rig.def.type == STET_DEVICE_CPU) continue;
        for (size_t g = 0; g < sizeof golden / sizeof *golden; ++g)
            for (int t = 0; t < TEAMS; ++t) {
                const sti_kernel *kernel = kernel_of(rig.device, golden[g].kind);
                sti_team team = kernel->kind == STI_KERNEL_WORLD ? world_teams[t] : item_teams[t];
                char text[32];
                (void)snprintf(text, sizeof text, "%d x %d", team.team, team.teams);
                OK(sti_program_set_team(rig.device, kernel, team));
                check(&rig, g, text);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_hashes_on_every_device),
        cmocka_unit_test(no_size_of_team_changes_a_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
