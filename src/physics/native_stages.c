/* Launches of steps of native physics: of one kernel, or of groups of its stages (NATIVE-7); see native.h. */
#include "physics/native_state.h"

#include "kernel/gpu/programs.h"
#include "kernel/record/launch.h"
#include "kernel/record/record.h"
#include "physics/model_code.h"

#include <string.h>

extern const sti_kernel sti_k_native_step, sti_k_native_stages;

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Groups of stages, in order. Together they are all but PH_STAGE_AGAIN, which is a launch of its own. */
enum {
    FIRST = PH_STAGE_BEGIN | PH_STAGE_POSES,
    SMOOTH = FIRST | PH_STAGE_INERTIA | PH_STAGE_FORCES,
    CONTACTS = PH_STAGE_CONTACTS | PH_STAGE_ROWS,
    LAST = PH_STAGE_AFTER | PH_STAGE_END
};
static const struct {
    const char *name;
    int n, stages[STI_NATIVE_GROUPS];
} groupings[] = {
    {"whole", 0, {0}},
    {"single", 0, {0}},
    {"one", 1, {SMOOTH | CONTACTS | PH_STAGE_SOLVE | LAST}},
    {"three", 3, {SMOOTH, CONTACTS, PH_STAGE_SOLVE | LAST}},
    {"apart", 7, {FIRST, PH_STAGE_INERTIA, PH_STAGE_FORCES, PH_STAGE_CONTACTS, PH_STAGE_ROWS, PH_STAGE_SOLVE, LAST}},
};

stet_result sti_native_set_stages(sti_native *n, const char *stages)
{
    STI_TRY(sti_native_drop_stages(n));
    for (size_t k = 0; k < sizeof groupings / sizeof *groupings; ++k) {
        if (strcmp(stages, groupings[k].name) != 0) continue;
        for (int i = 0; i < groupings[k].n; ++i)
            n->stages.group[i] = (sti_native_group){.stages = groupings[k].stages[i], .kernel = sti_k_native_stages};
        n->stages.n = groupings[k].n;
        n->stages.single = strcmp(stages, "single") == 0;
        return STET_OK;
    }
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "stages of a step: '%.64s'; there are whole (one kernel), single, one, three and apart", stages);
}

void sti_native_stages_free(sti_native *n)
{
    sti_native_stages *s = &n->stages;
    for (int i = 0; i < s->n; ++i) {
        sti_program_drop(n->worlds->device, &s->group[i].kernel);
        sti_text_buffer_free(&s->group[i].code);
        s->group[i].kernel.constants = NULL;
        s->group[i].near = 0;
    }
    stet_array_destroy(s->memory);
    stet_array_destroy(s->lists);
    stet_array_destroy(s->left);
    s->memory = s->lists = s->left = NULL;
    s->made = false;
}

stet_result sti_native_drop_stages(sti_native *n)
{
    enum { MADE = 3 };
    stet_array *const made[MADE] = {n->stages.memory, n->stages.lists, n->stages.left};
    for (int k = 0; k < MADE; ++k)
        if (made[k]) STI_TRY(sti_before_host_access(n->worlds->device, STI_ACT_WRITE, made[k], made[k]->name));
    sti_native_stages_free(n);
    return STET_OK;
}

/* As a step's (make_step in native_tables.c). */
static stet_result make_code(sti_native *n, sti_native_group *g)
{
    stet_device *device = n->worlds->device;
    if (!device->can.compiles || !n->many) return STET_OK;
    if (n->tables.nm <= STI_NATIVE_MODEL_INTS) {
        sti_model_code_write(&n->tables, n->stages.team, device->shared, g->stages, &g->code, &g->near);
        STI_TRY(g->code.result);
    }
    g->kernel.constants = g->code.data ? g->code.data : "";
    STI_TRY(sti_program_set_team(device, &g->kernel, n->stages.team));
    sti_program_begin_either(device, &g->kernel, &sti_k_native_stages);
    return STET_OK;
}

static stet_result make_stages(sti_native *n)
{
    enum { LINE = STI_ALIGN / sizeof(float), BLOCK = STI_TEAM_MOST };
    stet_device *device = n->worlds->device;
    sti_native_stages *s = &n->stages;
    int64_t nworld = n->worlds->nworld, teams = nworld + BLOCK, groups = (nworld + device->lanes - 1) / device->lanes;
    int64_t reals = n->tables.m[sti_model_memory(&n->tables)], ints = n->tables.m[M_NINTS];
    STI_TRY(sti_native_drop_stages(n));
    STI_TRY(STI_ARRAY(device, "what stages leave", STET_DTYPE_INT, true, &s->left, nworld, LEFT_SIZE));
    if (device->can.teams) { /* a launch has a team for each world; the last block may have more */
        STI_TRY(STI_ARRAY(device, "memory of stages", STET_DTYPE_REAL, false, &s->memory, teams * (reals + LINE)));
        STI_TRY(STI_ARRAY(device, "lists of stages", STET_DTYPE_INT, false, &s->lists, teams * (ints + LINE)));
    } else {
        STI_TRY(STI_ARRAY(device, "memory of stages", STET_DTYPE_REAL, true, &s->memory, nworld, reals));
        STI_TRY(STI_ARRAY(device, "lists of stages", STET_DTYPE_INT, false, &s->lists, groups * ints));
    }
    for (int i = 0; i < s->n; ++i) STI_TRY(make_code(n, &s->group[i]));
    s->made = true;
    return STET_OK;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* Pass `turn` of one of the time steps of a call. */
static stet_result launch(sti_native *n, const sti_kernel *kernel, int near, int stages, int turn, bool first, int rest)
{
    const sti_native_stages *s = &n->stages;
    stet_device *device = n->worlds->device;
    bool gpu = device->can.teams;
    return STI_LAUNCH(*kernel, device, n->worlds->nworld, MODEL_ARGS, sti_arg_array(n->stepped.array),
                      sti_arg_team(NULL, near),
                      sti_arg_team(gpu ? s->memory : NULL, n->tables.m[sti_model_memory(&n->tables)]),
                      sti_arg_team(gpu ? s->lists : NULL, n->tables.m[M_NINTS]), sti_arg_array(gpu ? NULL : s->memory),
                      sti_arg_array(gpu ? NULL : s->lists), sti_arg_array(s->left), STEP_ARGS, sti_arg_int(stages),
                      sti_arg_int(turn), sti_arg_int(first), sti_arg_int(rest));
}

static stet_result launch_group(sti_native *n, const sti_native_group *g, int turn, bool first, int rest)
{
    const sti_kernel *kernel;
    STI_TRY(sti_program_choose(n->worlds->device, &g->kernel, &sti_k_native_stages, &kernel));
    return launch(n, kernel, kernel == &g->kernel ? g->near : 0, g->stages, turn, first, rest);
}

static stet_result run_whole(sti_native *n, int nstep)
{
    stet_device *device = n->worlds->device;
    const sti_kernel *step;
    STI_TRY(sti_program_choose(device, &n->step, &sti_k_native_step, &step));
    bool own = step == &n->step, lone = own && sti_native_is_lone(n);
    int memory = lone ? 0 : n->tables.m[sti_model_memory(&n->tables)], ints = lone ? 0 : n->tables.m[M_NINTS];
    return STI_LAUNCH(*step, device, n->worlds->nworld, MODEL_ARGS, sti_arg_array(n->stepped.array),
                      sti_arg_team(NULL, own ? n->near : 0), sti_arg_team(n->memory, memory),
                      sti_arg_team(n->plain_memory, ints), STEP_ARGS, sti_arg_int(nstep), sti_arg_int(0));
}

/* One of the time steps of a call, in stages; so many are left. */
static stet_result launch_stages(sti_native *n, bool first, int rest)
{
    const int *m = n->tables.m;
    int nturn = m[M_INTEGRATOR] == PH_RK4 ? 4 : 1;
    for (int turn = 0; turn < nturn; ++turn) {
        for (int i = 0; i < n->stages.n; ++i) STI_TRY(launch_group(n, &n->stages.group[i], turn, first, rest));
        if (turn == 0 && !(m[M_FLAGS] & PH_NO_AUTORESET))
            STI_TRY(launch(n, &sti_k_native_stages, 0, PH_STAGE_AGAIN, turn, first, rest));
    }
    return STET_OK;
}

static stet_result run_single(sti_native *n)
{
    STI_TRY(run_whole(n, 1));
    return sti_native_catch_up(n, 1);
}

static stet_result launch_steps(sti_native *n, int nstep)
{
    for (int k = 0; k < nstep; ++k) STI_TRY(n->stages.n > 0 ? launch_stages(n, k == 0, nstep - 1 - k) : run_single(n));
    return n->stages.n > 0 ? sti_native_catch_up(n, nstep) : STET_OK;
}

/* Several launches are one list, so that a GPU replays a call's as one graph. */
stet_result sti_native_run(sti_native *n, int nstep)
{
    stet_device *device = n->worlds->device;
    const sti_code *code; /* of the launch that catches up is there before a world is held */
    if (n->spare.m && device->can.compiles) STI_TRY(sti_program_code(device, &sti_k_native_step, false, &code));
    if (sti_native_is_whole(n)) {
        STI_TRY(run_whole(n, nstep));
        return sti_native_catch_up(n, nstep);
    }
    if (n->stages.n > 0 && !n->stages.made) STI_TRY(make_stages(n));
    if (device->listing) return launch_steps(n, nstep);
    STI_TRY(sti_record_begin(device, "the stages of steps"));
    return sti_record_end(device, launch_steps(n, nstep));
}
