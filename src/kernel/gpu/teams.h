/*
 * How a kernel's work is shared out on a GPU: a world kernel's team of threads has a world, a block some teams; an item
 * kernel's block is one team.
 */
#ifndef STI_KERNEL_GPU_TEAMS_H
#define STI_KERNEL_GPU_TEAMS_H

#include "kernel/launch/kernel.h"

typedef struct sti_team {
    int team, teams;
} sti_team;

enum {
    STI_TEAM_WORLD = 32,         /* the default of a world kernel, with … */
    STI_TEAMS_WORLD = 4,         /* … this many teams a block, 1 if its source shares memory within a team */
    STI_TEAM_ITEM = 128,         /* the default of an item kernel */
    STI_TEAM_MOST = 1024,        /* threads of a block that every device can have */
    STI_TEAM_FUSED = 256,        /* the most of fused code */
    STI_TEAM_RESIDENT = 1024,    /* threads of fused code that a processor runs at the same time, … */
    STI_TEAM_RESIDENT_FEW = 512, /* … and where it needs more registers than … */
    STI_TEAM_REGISTERS = 64      /* … a thread of the former can have */
};

/* The choice for a kernel, as measured (teams.inl), or the default. `shares` as sti_gpu_shares has it. */
sti_team sti_team_choose(const char *kernel, sti_kernel_kind kind, const char *arch, bool shares);
/*
 * The same, with what somebody asks for in place of it; 0: nothing is asked for. STET_INVALID_ARGUMENT where the language
 * cannot have it: several teams a block need teams of 1, 2, 4 … 32 threads; an item kernel's block is one team.
 */
stet_result sti_team_ask(const char *kernel, sti_kernel_kind kind, sti_team asked, sti_team *choice);

/*
 * The team of fused code (fused.h) over this many worlds: the largest of a few with which all worlds still run at the same time on a device of
 * so many processors (0: not known); where they do not in any case, a warp a world.
 */
sti_team sti_team_fused(int64_t count, int processors, int resident);

/*
 * For tuning and tests: from now on a kernel of the library runs with this team (0, 0: as it does by itself), and has a module of
 * its own (programs.c).
 */
stet_result sti_program_set_team(stet_device *device, const sti_kernel *kernel, sti_team team);

#endif
