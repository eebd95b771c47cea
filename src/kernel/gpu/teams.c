/* Sizes of teams; see teams.h. */
#include "kernel/gpu/teams.h"

#include "kernel/compile/directive.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

sti_team sti_team_choose(const char *text, const char *kernel, sti_kernel_kind kind, bool shares)
{
    char macro[2 * STI_MAX_NAME];
    (void)snprintf(macro, sizeof macro, "STET_TEAM_%s", kernel);
    const char *value = sti_directive_value(text, macro);
    if (value) {
        char *end;
        sti_team t = {.team = (int)strtol(value, &end, 10)};
        t.teams = *end == ',' ? (int)strtol(end + 1, NULL, 10) : 0;
        assert(t.team > 0 && t.teams > 0 && t.team * t.teams <= STI_TEAM_MOST && "threads of a team, teams of a block");
        return t;
    }
    if (kind == STI_KERNEL_ITEM) return (sti_team){STI_TEAM_ITEM, 1};
    return (sti_team){STI_TEAM_WORLD, shares ? 1 : STI_TEAMS_WORLD};
}

stet_result sti_team_ask(const char *kernel, sti_kernel_kind kind, sti_team asked, sti_team *choice)
{
    bool in_warp;
    sti_team t = *choice;
    if (asked.team < 0 || asked.teams < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "kernel %s: a team of %d threads, %d a block; give 0 for the default", kernel, asked.team,
                         asked.teams);
    if (asked.team) t.team = asked.team;
    in_warp = t.team <= 32 && (t.team & (t.team - 1)) == 0;
    if (asked.teams)
        t.teams = asked.teams;
    else if (asked.team) /* as many threads a block as by default, if the language allows it */
        t.teams = kind == STI_KERNEL_ITEM || !in_warp || choice->teams == 1 ? 1 : choice->team * choice->teams / t.team;
    if (t.teams > 1 && kind == STI_KERNEL_ITEM)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "kernel %s: an item kernel's block is one team; %d were asked for", kernel, t.teams);
    if (t.teams > 1 && !in_warp)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "kernel %s: %d teams a block need teams of 1, 2, 4, 8, 16 or 32 threads, not %d", kernel,
                         t.teams, t.team);
    if (t.team > STI_TEAM_MOST || t.teams > STI_TEAM_MOST || t.team * t.teams > STI_TEAM_MOST)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: %d x %d threads a block; a block has at most %d",
                         kernel, t.team, t.teams, STI_TEAM_MOST);
    *choice = t;
    return STET_OK;
}

sti_team sti_team_fused(int64_t count, int processors, int resident)
{
    const int64_t room = (int64_t)processors * resident;
    for (int team = STI_TEAM_FUSED; team > STI_TEAM_WORLD; team /= 2)
        if (count <= room / team) return (sti_team){team, 1};
    return (sti_team){STI_TEAM_WORLD, STI_TEAMS_WORLD};
}
