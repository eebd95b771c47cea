/* Launches of the gradient of a time step; see native_pull.h. */
#include "physics/native_pull.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernel/gpu/programs.h"
#include "kernel/record/launch.h"
#include "physics/features.h"
#include "physics/gradient/memory.k.h"
#include "physics/native_state.h"

#include <assert.h>

extern const sti_kernel sti_k_native_pull, sti_k_native_pull_reads, sti_k_native_give;

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
    if (!device->can.teams) return STET_OK;
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
    stet_array_destroy(n->pull.touched);
    n->pull.memory = n->pull.lists = n->pull.touched = NULL;
}

stet_array *sti_native_touches(const sti_native *n) { return n->pull.touches ? n->pull.touched : NULL; }

stet_result sti_native_set_touch(sti_native *n, bool touches)
{
    int integrator = n->worlds->model->mj->opt.integrator;
    if (touches && integrator == mjINT_RK4)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "gradients: where touch begins within a step of integrator RK4 is not known; use Euler, "
                         "implicit or implicitfast");
    if (touches && !n->pull.touched)
        STI_TRY(STI_ARRAY(n->worlds->device, "rows that began", STET_DTYPE_INT, true, &n->pull.touched,
                          n->worlds->nworld, 1));
    n->pull.touches = touches;
    if (!touches) return STET_OK;
    int32_t *zeros;
    size_t size = (size_t)n->worlds->nworld * sizeof *zeros;
    STI_TRY(sti_alloc(&zeros, size, "rows that began"));
    stet_result result = stet_array_write(n->pull.touched, zeros, size);
    sti_free(zeros);
    return result;
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

enum { FIRST = PH_PARAMETER_FIRST, TABLES = PH_MEMORY_FIRST - FIRST };

/* Where the table begins among the shared numbers, as if none had moved to the worlds' own. */
static int begin_of(const sti_native *n, int number)
{
    return n->own.begin ? n->own.begin[number - FIRST] : n->tables.m[number];
}

/* Numbers of all blocks: to where the next table begins. */
static int count_block_numbers(const sti_native *n)
{
    const int *m = n->tables.m;
    int begin = begin_of(n, M_BLOCK_PRM), end = n->tables.nf;
    assert(begin >= 0 && begin <= end);
    for (int k = FIRST; k < PH_MEMORY_FIRST; ++k) {
        int other = begin_of(n, k);
        if (other > begin && other < end) end = other;
    }
    return m[M_NBLOCK] + m[M_NPAIR] + m[M_NMADE] > 0 ? end - begin : 0;
}

/* How many numbers a table with a gradient has; -1: it has none. n: NULL, if only that is asked. */
static int count_numbers(const sti_native *n, int number)
{
    const mjModel *m = n ? n->worlds->model->mj : NULL;
    switch (number) {
    case M_GRAVITY: return 3;
    case M_QPOS_SPRING: return m ? (int)m->nq : 0;
    case M_BODY_MASS: return m ? (int)m->nbody : 0;
    case M_BODY_INERTIA: return m ? 3 * (int)m->nbody : 0;
    case M_JNT_STIFFNESS: return m ? (int)m->njnt : 0;
    case M_JNT_STIFFNESSPOLY: return m ? 2 * (int)m->njnt : 0;
    case M_DOF_ARMATURE:
    case M_DOF_DAMPING:
    case M_DOF_M0: return m ? (int)m->nv : 0;
    case M_DOF_DAMPINGPOLY: return m ? 2 * (int)m->nv : 0;
    case M_TEN_STIFFNESS:
    case M_TEN_DAMPING: return m ? (int)m->ntendon : 0;
    case M_TEN_STIFFNESSPOLY:
    case M_TEN_DAMPINGPOLY:
    case M_TEN_LENGTHSPRING: return m ? 2 * (int)m->ntendon : 0;
    case M_ACT_GAINPRM:
    case M_ACT_BIASPRM: return m ? 3 * (int)m->nactuator : 0;
    case M_BLOCK_PRM: return n ? count_block_numbers(n) : 0;
    default: return -1;
    }
}

bool sti_gradient_has_parameter(int number) { return count_numbers(NULL, number) >= 0; }

static stet_result make_places(sti_native *n, const int *numbers, sti_native_wanted *out)
{
    int32_t place[TABLES];
    int at = 0;
    assert(out->n >= 0 && out->n <= TABLES);
    for (int k = 0; k < TABLES; ++k) place[k] = -1;
    for (int k = 0; k < out->n; ++k) {
        assert(numbers[k] >= FIRST && numbers[k] < FIRST + TABLES && place[numbers[k] - FIRST] < 0 && "named once");
        place[numbers[k] - FIRST] = out->begin[k] = at;
        at += count_numbers(n, numbers[k]);
    }
    out->begin[out->n] = at;
    STI_TRY(STI_ARRAY(n->worlds->device, "places of parameters", STET_DTYPE_INT, false, &out->places, TABLES));
    STI_TRY(stet_array_write(out->places, place, sizeof place));
    return STI_ARRAY(n->worlds->device, "gradients of parameters", STET_DTYPE_REAL, true, &out->gradient,
                     n->worlds->nworld, at);
}

/* In a medium, of any world, drag follows from mass and inertia, too. */
static stet_result check_parameter(const sti_native *n, int number)
{
    bool drags = n->tables.m[M_FLAGS] & PH_FLUID;
    if (!sti_gradient_has_parameter(number))
        return sti_error(STET_ERROR_UNSUPPORTED, "gradients: parameter %d of the physics has none", number);
    if (drags && (number == M_BODY_MASS || number == M_BODY_INERTIA))
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "gradients: masses and inertias have none in a medium, whose drag follows from them");
    return STET_OK;
}

stet_result sti_native_want(sti_native *n, const int *numbers, int count, sti_native_wanted *out)
{
    *out = (sti_native_wanted){.n = count};
    STI_TRY(sti_native_update(n));
    for (int k = 0; k < count; ++k) STI_TRY(check_parameter(n, numbers[k]));
    STI_TRY(sti_alloc(&out->begin, (size_t)(count + 1) * sizeof *out->begin, "parameters that have gradients"));
    return make_places(n, numbers, out);
}

void sti_native_wanted_free(sti_native_wanted *wanted)
{
    stet_array_destroy(wanted->places);
    stet_array_destroy(wanted->gradient);
    sti_free(wanted->begin);
    *wanted = (sti_native_wanted){.n = 0};
}

/* A step of Euler's integrator takes damping implicitly as soon as there is some. */
static int wanted_bits(const sti_native *n, const sti_native_wanted *wanted)
{
    const mjModel *m = n->worlds->model->mj;
    bool damps = m->opt.integrator == mjINT_EULER && !(m->opt.disableflags & (mjDSBL_EULERDAMP | mjDSBL_DAMPER));
    return !wanted ? PH_WANTED_NONE : damps ? PH_WANTED_DAMPED : PH_WANTED;
}

#define ARRAY(of, name) sti_arg_array((of)->name)

/* ---- a launch ---------------------------------------------------------------------------------------------------- */

stet_result sti_native_converge(sti_native *n)
{
    const mjModel *m = n->worlds->model->mj;
    if (n->converges || !sti_physics_ends_early(m)) return STET_OK;
    n->converges = true;
    sti_log(STET_LOG_WARNING,
            "gradients: the model asks for iterations %d, ls_iterations %d of its solver, which may end before it has "
            "converged, and only then has a step a gradient: steps of this sim have as many as they need from now on; "
            "give 6 and 20 or more to have them from the beginning",
            m->opt.iterations, m->opt.ls_iterations);
    return sti_native_update(n);
}

static stet_result prepare(sti_native *n, const sti_kernel *kernel)
{
    const sti_code *code;
    STI_TRY(sti_native_update(n));
    STI_TRY(make_memory(n));
    if (!n->worlds->device->can.compiles) return STET_OK;
    return sti_program_code(n->worlds->device, kernel, false, &code);
}

/* Contacts of meshes that differ between worlds have no gradient. */
static stet_result check_meshes(const sti_native *n)
{
    if (!n->worlds->parameters.given[STI_PARAMETER_geom_dataid]) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED, "gradients: steps have none while the parameter geom_dataid is given; "
                                             "take it back");
}

stet_result sti_native_prepare_pull(sti_native *n)
{
    STI_TRY(check_meshes(n));
    STI_TRY(sti_gradient_check_model(n->worlds->model->mj));
    STI_TRY(sti_native_converge(n));
    return prepare(n, &sti_k_native_pull);
}

stet_result sti_native_prepare_pull_reads(sti_native *n)
{
    STI_TRY(check_meshes(n));
    const sti_code *code;
    STI_TRY(prepare(n, &sti_k_native_pull_reads));
    if (!n->worlds->device->can.compiles) return STET_OK;
    return sti_program_code(n->worlds->device, &sti_k_native_give, false, &code);
}

static stet_result launch(const sti_native *n, int64_t count, stet_array *v, stet_array *stepped,
                          const sti_native_before *b, const sti_native_gradients *g, const sti_native_wanted *wanted,
                          bool touch)
{
    const int *m = tables_of(n);
    assert(count > 0 && (!n->worlds->device->can.teams || (n->pull.memory && n->pull.lists)) && "it was prepared");
    return STI_LAUNCH(sti_k_native_pull, n->worlds->device, count, sti_arg_array(n->spare.m ? n->spare.tables : n->m),
                      sti_arg_array(n->f), sti_arg_array(v), sti_arg_array(stepped),
                      sti_arg_team(n->pull.memory, PH_GRADIENT_MEMORY(m)), sti_arg_team(n->pull.lists, m[M_NINTS]),
                      ARRAY(b, qpos), ARRAY(b, qvel), ARRAY(b, act), ARRAY(b, ctrl), ARRAY(b, qfrc_applied),
                      ARRAY(b, xfrc_applied), ARRAY(b, mocap_pos), ARRAY(b, mocap_quat), ARRAY(b, eq_active),
                      ARRAY(b, qacc), ARRAY(g, qpos), ARRAY(g, qvel), ARRAY(g, act), ARRAY(g, ctrl),
                      ARRAY(g, qfrc_applied), ARRAY(g, xfrc_applied), ARRAY(g, mocap_pos), ARRAY(g, mocap_quat),
                      sti_arg_array(wanted ? wanted->places : NULL), sti_arg_array(wanted ? wanted->gradient : NULL),
                      sti_arg_array(touch ? n->pull.touched : NULL), sti_arg_int(wanted_bits(n, wanted)),
                      sti_arg_int(touch));
}

stet_result sti_native_same_parameters(const sti_native *n, const sti_operation *operation, const stet_array *v)
{
    if (v == n->own.v) return STET_OK;
    return sti_error(STET_ERROR_STATE,
                     "%s: parameters of worlds were given or taken since the tape; take down a new tape",
                     operation->name);
}

stet_result sti_native_pull(sti_native *n, stet_array *stepped, const sti_native_before *b,
                            const sti_native_gradients *g, const sti_native_wanted *wanted)
{
    STI_TRY(sti_native_prepare_pull(n));
    return launch(n, n->worlds->nworld, n->own.v, stepped, b, g, wanted, n->pull.touches);
}

stet_result sti_native_pull_spread(const sti_native *n, int64_t count, stet_array *v, stet_array *stepped,
                                   const sti_native_before *b, const sti_native_gradients *g)
{
    return launch(n, count, v, stepped, b, g, NULL, false);
}

static stet_result launch_reads(const sti_native *n, int64_t count, stet_array *v, stet_array *due, stet_array *list,
                                int nlist, const sti_native_before *b, stet_array *grad, const sti_native_gradients *g,
                                bool solves)
{
    const int *m = tables_of(n);
    assert(nlist > 0 && (!n->worlds->device->can.teams || (n->pull.memory && n->pull.lists)) && "it was prepared");
    return STI_LAUNCH(sti_k_native_pull_reads, n->worlds->device, count,
                      sti_arg_array(n->spare.m ? n->spare.tables : n->m), sti_arg_array(n->f), sti_arg_array(v),
                      sti_arg_array(due), sti_arg_array(list), sti_arg_team(n->pull.memory, PH_GRADIENT_MEMORY(m)),
                      sti_arg_team(n->pull.lists, m[M_NINTS]), ARRAY(b, qpos), ARRAY(b, qvel), ARRAY(b, act),
                      ARRAY(b, ctrl), ARRAY(b, qfrc_applied), ARRAY(b, xfrc_applied), ARRAY(b, mocap_pos),
                      ARRAY(b, mocap_quat), ARRAY(b, qacc), ARRAY(b, eq_active), sti_arg_array(grad), ARRAY(g, qpos),
                      ARRAY(g, qvel), ARRAY(g, act), ARRAY(g, ctrl), ARRAY(g, qfrc_applied), ARRAY(g, xfrc_applied),
                      ARRAY(g, mocap_pos), ARRAY(g, mocap_quat), sti_arg_int(nlist), sti_arg_int(solves));
}

stet_result sti_native_pull_reads(const sti_native *n, stet_array *due, stet_array *list, int nlist,
                                  const sti_native_before *b, stet_array *grad, const sti_native_gradients *g,
                                  bool solves)
{
    return launch_reads(n, n->worlds->nworld, n->own.v, due, list, nlist, b, grad, g, solves);
}

stet_result sti_native_pull_reads_spread(const sti_native *n, int64_t count, stet_array *v, stet_array *due,
                                         stet_array *list, const sti_native_before *b, stet_array *grad,
                                         const sti_native_gradients *g, bool solves)
{
    return launch_reads(n, count, v, due, list, 1, b, grad, g, solves);
}
