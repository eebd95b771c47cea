/* Launches of the gradient of a time step; see pull.h. */
#include "physics/gradient/pull.h"

#include "kernel/gpu/programs.h"
#include "kernel/record/launch.h"
#include "physics/gradient/memory.k.h"
#include "physics/native_state.h"

extern const sti_kernel sti_k_native_pull;

/*
 * A world may have more contacts than a step's tables have room for, and then the step was made with those that have
 * room for all (NATIVE-8). These serve every world.
 */
static const int *tables_of(const sti_native *n) { return n->spare.m ? n->spare.m : n->tables.m; }

/* Memory of as many teams as a GPU runs at once, within 2 GiB (as sti_native_make_memory). */
static stet_result make_memory(sti_native *n)
{
    enum { LINE = STI_ALIGN / sizeof(float), TEAMS = 8 };
    stet_device *device = n->worlds->device;
    const int *m = tables_of(n);
    int64_t reals = PH_GRADIENT_MEMORY(m) + LINE, ints = m[M_NINTS] + LINE;
    int64_t teams = TEAMS * (int64_t)(device->processors > 0 ? device->processors : 1);
    int64_t fit = INT32_MAX / (int64_t)sizeof(float) / (reals + ints);
    if (!sti_device_is_gpu(device)) return STET_OK;
    if (teams > n->worlds->nworld) teams = n->worlds->nworld;
    if (teams > fit) teams = fit > 0 ? fit : 1;
    if (n->pull.memory && n->pull.memory->nitem == teams * reals && n->pull.lists->nitem == teams * ints)
        return STET_OK;
    STI_TRY(sti_native_drop_array(&n->pull.memory));
    STI_TRY(sti_native_drop_array(&n->pull.lists));
    STI_TRY(STI_ARRAY(device, "memory of gradients", STET_DTYPE_REAL, false, &n->pull.memory, teams * reals));
    return STI_ARRAY(device, "lists of gradients", STET_DTYPE_INT, false, &n->pull.lists, teams * ints);
}

void sti_native_pull_free(sti_native *n)
{
    stet_array_destroy(n->pull.memory);
    stet_array_destroy(n->pull.lists);
    n->pull.memory = n->pull.lists = NULL;
}

stet_result sti_native_prepare_pull(sti_native *n)
{
    const sti_code *code;
    STI_TRY(sti_gradient_check_model(n->worlds->model->mj));
    STI_TRY(sti_native_update(n));
    STI_TRY(make_memory(n));
    if (!sti_device_is_gpu(n->worlds->device)) return STET_OK;
    return sti_program_code(n->worlds->device, &sti_k_native_pull, false, &code);
}

stet_result sti_native_pull(sti_native *n, stet_array *stepped, const sti_native_before *b,
                            const sti_native_gradients *g)
{
    STI_TRY(sti_native_prepare_pull(n));
    const int *m = tables_of(n);
#define ARRAY(of, name) sti_arg_array((of)->name)
    return STI_LAUNCH(sti_k_native_pull, n->worlds->device, n->worlds->nworld,
                      sti_arg_array(n->spare.m ? n->spare.tables : n->m), sti_arg_array(n->f), sti_arg_array(n->own.v),
                      sti_arg_array(stepped), sti_arg_team(n->pull.memory, PH_GRADIENT_MEMORY(m)),
                      sti_arg_team(n->pull.lists, m[M_NINTS]), ARRAY(b, qpos), ARRAY(b, qvel), ARRAY(b, act),
                      ARRAY(b, ctrl), ARRAY(b, qfrc_applied), ARRAY(b, xfrc_applied), ARRAY(b, mocap_pos),
                      ARRAY(b, mocap_quat), ARRAY(b, eq_active), ARRAY(b, qacc), ARRAY(g, qpos), ARRAY(g, qvel),
                      ARRAY(g, act), ARRAY(g, ctrl), ARRAY(g, qfrc_applied), ARRAY(g, xfrc_applied),
                      ARRAY(g, mocap_pos), ARRAY(g, mocap_quat));
#undef ARRAY
}
