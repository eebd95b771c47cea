/* What worlds that found no room for their contacts go on with (NATIVE-8): all the room that there can be. */
#include "physics/native_state.h"

#include "kernel/gpu/programs.h"
#include "kernel/record/launch.h"
#include "physics/model_code.h"

#include <limits.h>
#include <string.h>

extern const sti_kernel sti_k_native_step;

void sti_native_spare_free(sti_native *n)
{
    stet_array_destroy(n->spare.tables);
    stet_array_destroy(n->spare.memory);
    stet_array_destroy(n->spare.plain_memory);
    sti_free(n->spare.m);
    memset(&n->spare, 0, sizeof n->spare);
}

static stet_result drop_spare(sti_native *n)
{
    STI_TRY(sti_native_drop_array(&n->spare.tables));
    STI_TRY(sti_native_drop_array(&n->spare.memory));
    STI_TRY(sti_native_drop_array(&n->spare.plain_memory));
    sti_native_spare_free(n);
    return STET_OK;
}

/* For as many teams as run at once, but no more than SPARE_… bytes, or for one: few worlds need it at once. */
stet_result sti_native_make_spare_memory(sti_native *n, int reals)
{
    if (!n->spare.m) return STET_OK;
    if (reals < n->spare.m[M_NMEMORY_ALL]) reals = n->spare.m[M_NMEMORY_ALL];

    enum { SPARE_HOST = 1 << 25, SPARE_GPU = 1 << 28, TEAMS = 8, INTS = STI_ALIGN / sizeof(int) };
    stet_device *device = n->worlds->device;
    bool gpu = device->can.teams;
    int64_t line = STI_ALIGN / (int64_t)device->real_size, lanes = device->lanes;
    int64_t team = (lanes * reals + line - 1) / line * line, ints = (n->spare.m[M_NINTS] + INTS - 1) / INTS * INTS;
    if (n->spare.plain_memory && n->spare.memory->nitem >= team) return STET_OK;
    int64_t teams = gpu ? TEAMS * (device->processors > 0 ? device->processors : 1) : device->threads;
    int64_t groups = (n->worlds->nworld + lanes - 1) / lanes;
    int64_t fit = (gpu ? SPARE_GPU : SPARE_HOST) / (team * (int64_t)device->real_size + ints * (int64_t)sizeof(int));
    if (teams > groups) teams = groups;
    if (teams > fit) teams = fit > 0 ? fit : 1;
    STI_TRY(sti_native_drop_array(&n->spare.memory));
    STI_TRY(sti_native_drop_array(&n->spare.plain_memory));
    STI_TRY(STI_ARRAY(device, "spare memory of the physics", STET_DTYPE_REAL, false, &n->spare.memory, teams * team));
    return STI_ARRAY(device, "spare lists of the physics", STET_DTYPE_INT, false, &n->spare.plain_memory, teams * ints);
}

stet_result sti_native_make_spare(sti_native *n)
{
    stet_device *device = n->worlds->device;
    sti_physics_tables all = n->tables;
    size_t bytes = (size_t)all.nm * sizeof *all.m;
    STI_TRY(drop_spare(n));
    if (!all.m[M_HOLDS]) return STET_OK;
    STI_TRY(sti_alloc(&n->spare.m, bytes, "spare tables of the physics"));
    memcpy(n->spare.m, all.m, bytes);
    all.m = n->spare.m;
    sti_physics_tables_resize(n->worlds->model->mj, &all, INT_MAX);
    STI_TRY(STI_ARRAY(device, "spare tables of the physics", STET_DTYPE_INT, false, &n->spare.tables, all.nm));
    STI_TRY(stet_array_write(n->spare.tables, all.m, bytes));
    if (device->can.compiles) sti_program_begin(device, &sti_k_native_step);
    return STET_OK;
}

stet_result sti_native_greatest(stet_array *a, int32_t *out)
{
    void *mirror;
    STI_TRY(sti_array_mirror(a, &mirror));
    *out = 0;
    for (int64_t w = 0; w < a->shape[0]; ++w) {
        int32_t own = ((const int32_t *)mirror)[sti_array_index(a, w, 0)];
        *out = own > *out ? own : *out;
    }
    return STET_OK;
}

stet_result sti_native_may_be(stet_array *numbers, bool *out)
{
    const stet_device *device = numbers->device;
    int32_t greatest = 1;
    if (device->can.host_memory && !device->listing) STI_TRY(sti_native_greatest(numbers, &greatest));
    *out = greatest > 0;
    return STET_OK;
}

stet_result sti_native_run_beside(sti_native *n, int nstep, int how)
{
    bool owed = how == PH_OWED;
    const sti_native_spare *spare = &n->spare;
    const int *m = owed ? spare->m : n->tables.m;
    return STI_LAUNCH(sti_k_native_step, n->worlds->device, n->worlds->nworld,
                      sti_arg_array(owed ? spare->tables : n->m), sti_arg_array(n->f), sti_arg_array(n->own.v),
                      sti_arg_array(n->stepped.array), sti_arg_team(NULL, 0),
                      sti_arg_team(owed ? spare->memory : n->memory, m[sti_model_memory(&n->tables)]),
                      sti_arg_team(owed ? spare->plain_memory : n->plain_memory, m[M_NINTS]), STEP_ARGS,
                      sti_arg_int(nstep), sti_arg_int(how));
}

stet_result sti_native_catch_up(sti_native *n, int nstep)
{
    bool owed = false;
    if (n->spare.m) STI_TRY(sti_native_may_be(n->owed, &owed));
    return owed ? sti_native_run_beside(n, nstep, PH_OWED) : STET_OK;
}
