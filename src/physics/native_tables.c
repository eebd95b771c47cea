/* What native physics puts on the device: the tables, a step's code for them and its memory, masks. */
#include "physics/native_state.h"

#include "kernel/gpu/programs.h"
#include "physics/model_code.h"

#include <string.h>

extern const sti_kernel sti_k_native_step;

stet_result sti_native_put_numbers(stet_array *array, const double *reals, int64_t n, const int *ints, int64_t nint)
{
    void *bytes;
    size_t size = array->device->real_size;
    STI_TRY(sti_mirror_overwrite(array, &bytes));
    for (int64_t i = 0; i < n; ++i) {
        if (size == sizeof(double))
            ((double *)bytes)[i] = reals[i];
        else
            ((float *)bytes)[i] = (float)reals[i];
    }
    if (nint > 0) memcpy((char *)bytes + (size_t)n * size, ints, (size_t)nint * sizeof *ints);
    sti_array_mirror_written(array);
    return STET_OK;
}

/*
 * The memory of teams is in the memory of a GPU, because a processor shares too little for as many as it can run. No
 * more than 2 GiB: a model that needs so much for a team has enough to do in each.
 */
stet_result sti_native_make_memory(sti_native *n)
{
    enum { LINE = STI_ALIGN / sizeof(float), FOR_READS = 8 };
    stet_device *device = n->worlds->device;
    if (!device->can.teams || n->plain_memory) return STET_OK;
    int64_t reals = n->tables.m[M_NMEMORY_ALL] + LINE, ints = n->tables.m[M_NINTS] + LINE;
    int64_t teams = (int64_t)(sti_native_is_lone(n) ? FOR_READS : n->team.teams) *
                    (device->processors > 0 ? device->processors : 1);
    int64_t fit = INT32_MAX / (int64_t)sizeof(float) / (reals + ints);
    if (teams > n->worlds->nworld) teams = n->worlds->nworld;
    if (teams > fit) teams = fit > 0 ? fit : 1;
    stet_array_destroy(n->memory); /* of a call that failed */
    n->memory = NULL;
    STI_TRY(STI_ARRAY(device, "memory of the physics", STET_DTYPE_REAL, false, &n->memory, teams * reals));
    return STI_ARRAY(device, "lists of the physics", STET_DTYPE_INT, false, &n->plain_memory, teams * ints);
}

stet_result sti_native_drop_memory(sti_native *n)
{
    STI_TRY(sti_native_drop_array(&n->memory));
    return sti_native_drop_array(&n->plain_memory);
}

/*
 * On a GPU a step's code is made for the model. Where the tables would make it too large it is that for all models with
 * another team, which is compiled beside, too: constants that are empty. Few worlds would not make up for the time to
 * compile either, so they have the code for all models and its team. No program of the former tables is listed. What is
 * not in the cache begins to be compiled; the code for all models needs memory meanwhile, also where the model's needs
 * none.
 */
static stet_result make_step(sti_native *n)
{
    stet_device *device = n->worlds->device;
    STI_TRY(sti_native_drop_stages(n));
    if (!device->can.compiles) return STET_OK;
    sti_program_drop(device, &n->step);
    sti_text_buffer_free(&n->code);
    n->near = 0;
    n->step.constants = NULL;
    if (n->many && n->tables.nm <= STI_NATIVE_MODEL_INTS) {
        sti_model_code_write(&n->tables, n->team, device->shared, 0, &n->code, &n->near);
        STI_TRY(n->code.result);
    }
    if (n->many) n->step.constants = n->code.data ? n->code.data : "";
    STI_TRY(sti_native_make_memory(n));
    STI_TRY(sti_program_set_team(device, &n->step, n->team));
    sti_program_begin_either(device, &n->step, &sti_k_native_step);
    return STET_OK;
}

static stet_result upload_tables(sti_native *n)
{
    stet_device *device = n->worlds->device;
    const sti_physics_tables *t = &n->tables;
    STI_TRY(sti_native_drop_array(&n->m));
    STI_TRY(sti_native_drop_array(&n->f));
    STI_TRY(STI_ARRAY(device, "tables of the physics", STET_DTYPE_INT, false, &n->m, t->nm));
    STI_TRY(stet_array_write(n->m, t->m, (size_t)t->nm * sizeof *t->m));
    int64_t size = (int64_t)device->real_size, bytes = t->nshape * (int64_t)sizeof *t->shapes;
    STI_TRY(STI_ARRAY(device, "parameters of the physics", STET_DTYPE_REAL, false, &n->f,
                      t->nf + (bytes + size - 1) / size));
    STI_TRY(sti_native_put_numbers(n->f, t->f, t->nf, t->shapes, t->nshape));
    STI_TRY(make_step(n));
    STI_TRY(sti_native_make_spare(n));
    n->old = false;
    return STET_OK;
}

stet_result sti_native_put_clock(sti_native *n)
{
    const sti_version *version = &n->worlds->state.field[STI_FIELD_time]->version;
    void *mirror;
    if (!n->clock || n->tables.m[M_NTIME] == 0) return STET_OK;
    if (sti_stamp_is(&n->clocked, version) && n->clock_key == n->key_time) return STET_OK;
    STI_TRY(sti_mirror_overwrite(n->clock, &mirror));
    for (int64_t w = 0; w < n->worlds->nworld; ++w) {
        sti_mirror_set(n->clock, mirror, w, 0, n->worlds->state.time[w]);
        sti_mirror_set(n->clock, mirror, w, 1, n->key_time);
    }
    sti_array_mirror_written(n->clock);
    sti_stamp_keep_version(&n->clocked, version);
    n->clock_key = n->key_time;
    return n->worlds->device->can.host_memory ? STET_OK : sti_array_to_device(n->clock);
}

/* The limits of a solver that has converged, where a gradient needs that, are MuJoCo's defaults. */
static void let_converge(sti_native *n)
{
    enum { ITERATIONS = 100, LS_ITERATIONS = 50 };
    int *m = n->tables.m;
    if (!n->converges || (m[M_ITERATIONS] >= ITERATIONS && m[M_LS_ITERATIONS] >= LS_ITERATIONS)) return;
    if (m[M_ITERATIONS] < ITERATIONS) m[M_ITERATIONS] = ITERATIONS;
    if (m[M_LS_ITERATIONS] < LS_ITERATIONS) m[M_LS_ITERATIONS] = LS_ITERATIONS;
    n->old = true;
}

stet_result sti_native_update(sti_native *n)
{
    STI_TRY(sti_native_parameters_update(&n->own, n->worlds, &n->tables, &n->old));
    let_converge(n);
    if (n->old) STI_TRY(upload_tables(n));
    STI_TRY(sti_native_put_clock(n));
    return sti_native_make_spare_memory(n, 0);
}
