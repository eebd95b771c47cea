/*
 * Quantities by MuJoCo's library: forward dynamics of the present state on scratch data.
 *
 *   FORWARD-1  of the data of a world nothing is written that a step reads
 */
#include "worlds/history.h"
#include "worlds/poses.h"
#include "worlds/quantities.h"
#include "worlds/worlds.h"

#include "base/memory.h"
#include "base/plural.h"
#include "kernel/record/launch_observer.h"

#include <string.h>

typedef struct pass {
    stet_worlds *worlds;
    uint64_t from;
    sti_stage stage[2]; /* of the quantities of the present state, and of those of the step */
    bool sensors;       /* sensordata is one of them */
    mjtNum *room;       /* [threads][each]: numbers of one quantity of one world */
    int64_t each;
} pass;

/* ---- the state --------------------------------------------------------------------------------------------------- */

/* Is it a field that forward dynamics depend on? */
static bool is_input(int f) { return sti_field_writer[f] & STI_WRITER_CALLER || f == STI_FIELD_qacc_warmstart; }

/* The state in the arrays, of worlds that have no data. */
static void copy_arrays(const stet_worlds *worlds, int64_t w, mjData *to)
{
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        mjtNum *out = sti_field_exact(to, (sti_field)f);
        const stet_array *a = worlds->state.field[f];
        for (int64_t i = 0; is_input(f) && i < a->nitem; ++i) {
            double x = sti_mirror_get(a, worlds->state.mirror[f], w, i);
            if (out)
                out[i] = x;
            else
                to->eq_active[i] = x != 0;
        }
    }
    to->time = worlds->state.time[w];
    sti_history_to_times(worlds->model->mj, sti_parameters_timestep(worlds, w), to->time, to->history);
}

/* The present state of a world into scratch data. */
static void copy_state(const stet_worlds *worlds, int64_t w, const mjModel *m, mjData *to)
{
    if (worlds->state.data)
        mj_copyState(m, worlds->state.data[w], to, mjSTATE_INTEGRATION);
    else
        copy_arrays(worlds, w, to);
}

/* The model of a world, for scratch data, which do not record which bodies sleep. */
static mjModel awake_model(const stet_worlds *worlds, int64_t w, int thread)
{
    mjModel m = *sti_parameters_model(worlds, w, thread);
    m.opt.enableflags &= ~mjENBL_SLEEP;
    return m;
}

/* Before copy_state of worlds that have no data. */
static stet_result take_inputs(stet_worlds *worlds)
{
    for (int f = 0; !worlds->state.data && f < STI_FIELD_COUNT; ++f)
        if (is_input(f)) STI_TRY(sti_array_mirror(worlds->state.field[f], &worlds->state.mirror[f]));
    return STET_OK;
}

typedef struct forward {
    const pass *p;
    int64_t w;
    int thread;
    mjData *d;
    sti_stage stage;
    mjModel m;
} forward;

/* ---- quantities that MuJoCo's data do not hold ------------------------------------------------------------------- */

static void fill_quats(const mjtNum *mat, int64_t n, mjtNum *out)
{
    for (int64_t i = 0; i < n; ++i) mju_mat2Quat(out + 4 * i, mat + 9 * i);
}

/* The body, and the point in the world's frame, that a Jacobian is of. */
static int find_place(const mjModel *m, const mjData *d, const sti_quantity *q, mjtNum point[3])
{
    int i = q->object;
    switch (q->jacobian) {
    case STET_JACOBIAN_BODY_COM: mju_copy3(point, d->xipos + 3 * (ptrdiff_t)i); return i;
    case STET_JACOBIAN_GEOM: mju_copy3(point, d->geom_xpos + 3 * (ptrdiff_t)i); return m->geom_bodyid[i];
    case STET_JACOBIAN_SITE: mju_copy3(point, d->site_xpos + 3 * (ptrdiff_t)i); return m->site_bodyid[i];
    case STET_JACOBIAN_POINT:
        mju_mulMatVec3(point, d->xmat + 9 * (ptrdiff_t)i, q->point);
        mju_addTo3(point, d->xpos + 3 * (ptrdiff_t)i);
        return i;
    default: mju_copy3(point, d->xpos + 3 * (ptrdiff_t)i); return i;
    }
}

static void fill_jacobian(const mjModel *m, const mjData *d, const sti_quantity *q, mjtNum *out)
{
    mjtNum point[3];
    int body = find_place(m, d, q, point);
    mj_jac(m, d, out, out + 3 * m->nv, point, body);
}

/* Does contact i have a slot? If there are not enough, those with the least distances have. */
static bool has_slot(const mjData *d, int i, int64_t slots)
{
    int before = 0;
    if (d->ncon <= slots) return true;
    for (int k = 0; k < d->ncon; ++k) {
        mjtNum a = d->contact[k].dist, b = d->contact[i].dist;
        before += a < b || (a == b && k < i);
    }
    return before < slots;
}

/* One slot of a contact quantity; returns how many numbers it has. */
static int fill_contact(const mjModel *m, const mjData *d, sti_quantity_kind kind, int i, mjtNum *out)
{
    const mjContact *c = &d->contact[i];
    switch (kind) {
    case STI_QUANTITY_contact_geom:
        out[0] = c->geom[0];
        out[1] = c->geom[1];
        return 2;
    case STI_QUANTITY_contact_dist: out[0] = c->dist; return 1;
    case STI_QUANTITY_contact_pos: memcpy(out, c->pos, 3 * sizeof *out); return 3;
    case STI_QUANTITY_contact_frame: memcpy(out, c->frame, 9 * sizeof *out); return 9;
    default: mj_contactForce(m, d, i, out); return 6;
    }
}

static void fill_contacts(const mjModel *m, const mjData *d, const sti_quantity *q, mjtNum *out)
{
    static const int sizes[] = {2, 1, 3, 9, 6};
    int64_t n = q->array->nitem, slots = n / sizes[q->kind - STI_QUANTITY_contact_geom], at = 0;
    for (int i = 0; i < d->ncon; ++i)
        if (has_slot(d, i, slots)) at += fill_contact(m, d, q->kind, i, out + at);
    for (; at < n; ++at) out[at] = q->kind == STI_QUANTITY_contact_geom ? -1 : 0;
}

/* ---- one world --------------------------------------------------------------------------------------------------- */

/* The numbers of a quantity, in MuJoCo's data or in `room`. */
static const mjtNum *find_numbers(const mjModel *m, const mjData *d, const sti_quantity *q, mjtNum *room)
{
    const mjtNum *exact = sti_quantity_exact(d, q->kind);
    if (exact) return exact;
    switch (q->kind) {
    case STI_QUANTITY_geom_xquat: fill_quats(d->geom_xmat, m->ngeom, room); break;
    case STI_QUANTITY_site_xquat: fill_quats(d->site_xmat, m->nsite, room); break;
    case STI_QUANTITY_qM: mj_fullM(m, d, room); break;
    case STI_QUANTITY_ncon: room[0] = d->ncon; break;
    case STI_QUANTITY_jacobian: fill_jacobian(m, d, q, room); break;
    default: fill_contacts(m, d, q, room); break;
    }
    return room;
}

/* Rounds into the array; NULL: all numbers are NaN, because MuJoCo reported an error. */
static void put_numbers(const sti_quantity *q, int64_t w, const mjtNum *exact)
{
    const stet_array *a = q->array;
    for (int64_t i = 0; i < a->nitem; ++i) {
        double x = exact && exact[i] == exact[i] ? exact[i] : (double)__builtin_nan("");
        if (a->dtype == STET_DTYPE_INT)
            ((int32_t *)q->mirror)[sti_array_index(a, w, i)] = exact ? (int32_t)x : -1;
        else
            sti_mirror_set(a, q->mirror, w, i, x);
    }
}

/* Forward dynamics of the present state of a world, in scratch data. */
static void run_forward(const forward *k)
{
    copy_state(k->p->worlds, k->w, &k->m, k->d);
    if (k->stage >= STI_STAGE_ACCELERATION) {
        mj_forwardSkip(&k->m, k->d, mjSTAGE_NONE, !k->p->sensors);
    } else {
        mj_fwdPosition(&k->m, k->d);
        if (k->stage == STI_STAGE_VELOCITY) mj_fwdVelocity(&k->m, k->d);
    }
}

/* Puts quantities of one kind (of the step or not), from data that have what a step computes. */
static void put_quantities(const forward *k, mjData *d, sti_stage stage, bool of_step)
{
    if (stage == STI_STAGE_AFTER) {
        mj_rnePostConstraint(&k->m, d);
        mj_subtreeVel(&k->m, d);
        mj_energyPos(&k->m, d);
        mj_energyVel(&k->m, d);
    }
    for (const sti_quantity *q = k->p->worlds->quantities.list; q; q = q->next)
        if (q->in_pass && q->of_step == of_step)
            put_numbers(q, k->w, find_numbers(&k->m, d, q, k->p->room + k->p->each * k->thread));
}

static void fill_world(void *context)
{
    forward *k = context;
    const stet_worlds *worlds = k->p->worlds;
    const sti_stage *stage = k->p->stage;
    bool stepped =
        worlds->state.data && sti_generation_of(&worlds->quantities.stamps.stepped, k->w) > 0; /* QUANTITY-4 */
    k->stage = stepped || stage[0] > stage[1] ? stage[0] : stage[1];
    if (k->stage > STI_STAGE_NONE) run_forward(k);
    put_quantities(k, k->d, k->stage, false);
    if (stage[1] > STI_STAGE_NONE) put_quantities(k, stepped ? worlds->state.data[k->w] : k->d, stage[1], true);
}

static void forward_world(void *context, int64_t w, int thread)
{
    const pass *p = context;
    stet_worlds *worlds = p->worlds;
    if (sti_generation_of(&worlds->quantities.stamps.changed, w) <= p->from) return;
    forward k = {.p = p, .w = w, .thread = thread, .d = worlds->poses.scratch[thread]};
    k.m = awake_model(worlds, w, thread);
    bool done = sti_mujoco_guard(fill_world, &k, NULL, 0);
    memset(k.d->warning, 0, sizeof k.d->warning);
    if (done) return;
    worlds->state.faults[w] |= 1u << STET_FAULT_PHYSICS_ERROR;
    for (const sti_quantity *q = worlds->quantities.list; q; q = q->next)
        if (q->in_pass) put_numbers(q, w, NULL);
}

/* ---- all worlds -------------------------------------------------------------------------------------------------- */

static stet_result take_mirrors(pass *p, bool all)
{
    stet_worlds *worlds = p->worlds;
    for (sti_quantity *q = worlds->quantities.list; q; q = q->next) {
        if (!q->in_pass) continue;
        sti_stage *stage = &p->stage[q->of_step];
        if (sti_quantity_stage(q) > *stage) *stage = sti_quantity_stage(q);
        p->sensors = p->sensors || q->kind == STI_QUANTITY_sensordata;
        if (q->array->nitem > p->each) p->each = q->array->nitem;
        STI_TRY(sti_before_host_access(q->array->device, STI_ACT_WRITE, q->array, q->array->name));
        STI_TRY(all ? sti_mirror_overwrite(q->array, &q->mirror) : sti_array_mirror(q->array, &q->mirror));
    }
    return take_inputs(worlds);
}

stet_result sti_quantities_forward(stet_worlds *worlds, uint64_t from)
{
    pass p = {.worlds = worlds, .from = from};
    int64_t due = sti_generations_since(&worlds->quantities.stamps.changed, from, NULL);
    if (due == 0) return STET_OK;
    STI_TRY(sti_parameters_update(worlds));
    STI_TRY(take_mirrors(&p, due == worlds->nworld));
    STI_TRY(sti_alloc(&p.room, (size_t)(worlds->device->threads * p.each) * sizeof *p.room, "quantities of a world"));
    sti_worlds_parallel(worlds, forward_world, &p, worlds->state.step_seconds * (double)due);
    sti_free(p.room);
    worlds->quantities.forwards += due;
    for (sti_quantity *q = worlds->quantities.list; q; q = q->next) {
        if (!q->in_pass) continue;
        sti_array_mirror_written(q->array);
        sti_observe_host(q->array, "MuJoCo's forward dynamics");
    }
    return STET_OK;
}

/* ---- inverse dynamics -------------------------------------------------------------------------------------------- */

typedef struct inverse {
    stet_worlds *worlds;
    const double *qacc;
    double *out;
} inverse;

typedef struct inverse_world {
    const inverse *p;
    int64_t w;
    mjModel m;
    mjData *d;
} inverse_world;

static void run_inverse(void *context)
{
    const inverse_world *k = context;
    copy_state(k->p->worlds, k->w, &k->m, k->d);
    memcpy(k->d->qacc, k->p->qacc + k->w * k->m.nv, (size_t)k->m.nv * sizeof *k->d->qacc);
    mj_inverse(&k->m, k->d);
}

static void inverse_of_world(void *context, int64_t w, int thread)
{
    const inverse *p = context;
    inverse_world k = {p, w, awake_model(p->worlds, w, thread), p->worlds->poses.scratch[thread]};
    double *out = p->out + w * k.m.nv;
    bool good = sti_mujoco_guard(run_inverse, &k, NULL, 0);
    for (int64_t i = 0; i < k.m.nv; ++i) out[i] = good ? k.d->qfrc_inverse[i] : (double)__builtin_nan("");
    memset(k.d->warning, 0, sizeof k.d->warning);
}

stet_result stet_worlds_inverse_dynamics(stet_worlds *worlds, const double *qacc, double *out, int64_t nvalue)
{
    if (!worlds || !qacc || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_worlds_inverse_dynamics: worlds, qacc and out must not be NULL");
    int64_t nv = worlds->model->mj->nv;
    if (nvalue != nv * worlds->nworld)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "inverse dynamics: %lld accelerations; give %lld, %lld a world for %lld world%s",
                         (long long)nvalue, (long long)(nv * worlds->nworld), (long long)nv, (long long)worlds->nworld,
                         STI_S(worlds->nworld));
    STI_TRY(sti_worlds_pull_physics(worlds));
    STI_TRY(sti_worlds_sync(worlds));
    STI_TRY(sti_parameters_update(worlds));
    STI_TRY(take_inputs(worlds));
    inverse p = {worlds, qacc, out};
    sti_worlds_parallel(worlds, inverse_of_world, &p, worlds->state.step_seconds * (double)worlds->nworld);
    return STET_OK;
}
