/*
 * How a kernel's work is distributed on a GPU. In a world kernel each team of threads has one world, and a block has
 * some teams. In an item kernel a block is one team.
 */
#ifndef STI_KERNEL_GPU_TEAMS_H
#define STI_KERNEL_GPU_TEAMS_H

#include "kernel/kernel.h"

typedef struct sti_team {
    int team, teams;
} sti_team;

enum {
    STI_TEAM_WORLD = 32,         /* the default threads of a world kernel's team */
    STI_TEAMS_WORLD = 4,         /* its default teams a block; 1 if its source shares memory within a team */
    STI_TEAM_ITEM = 128,         /* the default of an item kernel */
    STI_TEAM_MOST = 1024,        /* the most threads of a block on every device */
    STI_TEAM_FUSED = 256,        /* the most threads of fused code's team */
    STI_TEAM_RESIDENT = 1024,    /* threads of fused code that run on a processor at the same time */
    STI_TEAM_RESIDENT_FEW = 512, /* the same, if a thread needs more than STI_TEAM_REGISTERS */
    STI_TEAM_REGISTERS = 64      /* registers of a thread with which STI_TEAM_RESIDENT fit */
};

/*
 * The team that a kernel's source asks for, `#define STET_TEAM_<kernel> threads, teams`, as it was measured to be
 * fastest, or the default. No result depends on it. `shares`: the result of sti_gpu_shares.
 */
sti_team sti_team_choose(const char *text, const char *kernel, sti_kernel_kind kind, bool shares);
/*
 * Applies a requested team to *choice; 0 requests nothing. STET_ERROR_INVALID_ARGUMENT if the language cannot have it:
 * several teams a block need teams of 1, 2, 4 … 32 threads, and an item kernel's block is one team.
 */
stet_result sti_team_ask(const char *kernel, sti_kernel_kind kind, sti_team asked, sti_team *choice);

/*
 * The team of fused code (fused.h) over this many worlds: the largest of a few with which all worlds run at the same
 * time on a device with so many processors (0: unknown). If no team allows that, a warp a world.
 */
sti_team sti_team_fused(int64_t count, int processors, int resident);

/*
 * For tuning and tests: sets the team of a kernel of the library (0, 0: back to its own choice) and gives it a module
 * of its own (programs.c).
 */
stet_result sti_program_set_team(stet_device *device, const sti_kernel *kernel, sti_team team);

#endif
