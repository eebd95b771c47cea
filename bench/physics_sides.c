/* Sides of the benchmark of native physics; see physics_sides.h. */
#include "bench/physics_sides.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "physics/features.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/native_state.h"
#include "physics/tables.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { DRAW = 20 };
static const double PUSH = 1; /* half-width of noise on velocities that tells worlds without controls apart */

static const char *const field[STATE_FIELDS] = {"qpos", "qvel", "act", "ctrl"};

/* ---- sides ------------------------------------------------------------------------------------------------------- */

stet_result load_scene(const bench *b, const bench_scene *scene, cut without, stet_model **out)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", b->scenes, scene->text);
    STI_TRY(scene->text[0] == '<' ? stet_model_load_string(scene->text, out)
                                  : stet_model_load(scene->given ? scene->text : path, out));
    mjOption *option = &((mjModel *)(*out)->mj)->opt; /* before anything reads it */
    option->disableflags |= mjDSBL_SENSOR | (without == CUT_CONSTRAINTS ? mjDSBL_CONSTRAINT : 0);
    if (without == CUT_ITERATIONS) option->iterations = 0;
    return STET_OK;
}

void close_side(side *s)
{
    sti_native_destroy(s->native);
    stet_step_destroy(s->mujoco);
    stet_worlds_destroy(s->worlds);
    stet_model_destroy(s->model);
    stet_device_destroy(s->device);
    *s = (side){.native = NULL};
}

static stet_result open_with(const bench *b, const bench_scene *scene, const stet_device_def *device, bool native,
                             int64_t nworld, cut without, side *s)
{
    stet_worlds_def worlds = stet_default_worlds_def();
    worlds.nworld = nworld;
    worlds.exact = !native;
    STI_TRY(load_scene(b, scene, without, &s->model));
    if (s->model->mj->nkey > 0) worlds.keyframe = 0;
    stet_device_def own = *device; /* with the lanes that a sim takes */
    if (own.nworld > 0) own.nworld = sti_physics_count_lanes(s->model->mj, own.nworld);
    STI_TRY(stet_device_create(&own, &s->device));
    STI_TRY(stet_worlds_create(s->device, s->model, &worlds, &s->worlds));
    return native ? sti_native_create(s->worlds, &s->native)
                  : stet_step_create(s->worlds, STET_PHYSICS_MUJOCO, &s->mujoco);
}

stet_result open_side(const bench *b, const bench_scene *scene, bool native, int threads, int64_t nworld,
                      const char *isa, cut without, side *s)
{
    stet_device_def device = bench_cpu_def();
    device.threads = threads;
    device.isa = isa;
    device.nworld = nworld;
    return open_with(b, scene, &device, native, nworld, without, s);
}

stet_result open_side_on(const bench *b, const bench_scene *scene, const stet_device_def *device, int64_t nworld,
                         side *s)
{
    return open_with(b, scene, device, true, nworld, CUT_NOTHING, s);
}

stet_result step_side(side *s, int n)
{
    return s->native ? sti_native_steps(s->native, NULL, n) : stet_step_run(s->mujoco, n);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

void free_states(states *s)
{
    for (int i = 0; i < STATE_FIELDS; ++i) sti_free(s->row[i]);
}

double draw_wave(uint64_t *dice)
{
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return (double)(*dice >> 11) / 4503599627370496.0 - 1;
}

static stet_result draw_controls(side *s, float *row, uint64_t *dice)
{
    const mjModel *m = s->model->mj;
    stet_array *ctrl;
    if (m->nu == 0) return STET_OK;
    for (int64_t i = 0; i < s->worlds->nworld * m->nu; ++i) {
        const mjtNum *range = m->actuator_ctrlrange + 2 * (i % m->nu);
        bool limited = m->actuator_ctrllimited[i % m->nu];
        double low = limited ? range[0] : -1, high = limited ? range[1] : 1;
        row[i] = (float)((low + high) / 2 + 0.3 * (high - low) / 2 * draw_wave(dice));
    }
    STI_TRY(stet_worlds_get_array(s->worlds, "ctrl", &ctrl));
    return stet_array_write(ctrl, row, (size_t)(s->worlds->nworld * m->nu) * sizeof *row);
}

stet_result push_worlds(side *s)
{
    stet_reset_def reset = stet_default_reset_def();
    reset.qvel_noise = PUSH;
    return s->model->mj->nu == 0 ? stet_worlds_reset(s->worlds, &reset) : STET_OK;
}

stet_result make_states(side *s, int steps, states *out)
{
    uint64_t dice = 1;
    out->nworld = s->worlds->nworld;
    for (int i = 0; i < STATE_FIELDS; ++i) {
        stet_array *a;
        STI_TRY(stet_worlds_get_array(s->worlds, field[i], &a));
        size_t bytes = (size_t)(out->nworld * a->nitem) * sizeof(float);
        STI_TRY(sti_alloc(&out->row[i], bytes + 1, "states of a benchmark"));
    }
    for (int i = 0; i < steps / DRAW; ++i) {
        STI_TRY(draw_controls(s, out->row[STATE_FIELDS - 1], &dice));
        STI_TRY(step_side(s, DRAW));
    }
    for (int i = 0; i < STATE_FIELDS; ++i) {
        stet_array *a;
        STI_TRY(stet_worlds_get_array(s->worlds, field[i], &a));
        if (a->nitem > 0) STI_TRY(stet_array_read(a, out->row[i], (size_t)(out->nworld * a->nitem) * sizeof(float)));
    }
    return STET_OK;
}

stet_result put_states(side *s, const states *from)
{
    for (int i = 0; i < STATE_FIELDS; ++i) {
        stet_array *a;
        STI_TRY(stet_worlds_get_array(s->worlds, field[i], &a));
        for (int64_t w = 0; a->nitem > 0 && w < s->worlds->nworld; w += from->nworld) {
            int64_t left = s->worlds->nworld - w, n = left < from->nworld ? left : from->nworld;
            STI_TRY(stet_array_write_worlds(a, w, n, from->row[i], (size_t)(n * a->nitem) * sizeof(float)));
        }
    }
    return step_side(s, 1); /* the solver's warm start belongs to these states */
}

stet_result settle(side *s, const states *from, int steps, states *out)
{
    STI_TRY(put_states(s, from));
    return make_states(s, steps, out);
}

/* ---- worlds that are not alike, and room ------------------------------------------------------------------------- */

/* Gives each world a parameter of its own: the model's numbers times 1 - by … 1 + by; none of a mesh (`type`). */
static stet_result give_parameter(side *s, const char *name, const double *own, const int *type, int64_t n,
                                  int64_t each, double by)
{
    double *values;
    uint64_t dice = 3;
    int64_t nworld = s->worlds->nworld;
    STI_TRY(sti_alloc(&values, (size_t)(nworld * n + 1) * sizeof *values, "parameters of a benchmark"));
    for (int64_t w = 0; w < nworld; ++w)
        for (int64_t i = 0; i < n; i += each) {
            bool fixed = type && (type[i / each] < mjGEOM_SPHERE || type[i / each] > mjGEOM_BOX);
            double factor = fixed ? 1 : 1 + by * draw_wave(&dice);
            for (int64_t k = 0; k < each; ++k) values[w * n + i + k] = own[i + k] * factor;
        }
    stet_result result = stet_worlds_set_parameter(s->worlds, name, values, nworld * n);
    sti_free(values);
    return result;
}

stet_result make_worlds_differ(side *s)
{
    const mjModel *m = s->model->mj;
    STI_TRY(give_parameter(s, "body_mass", m->body_mass, NULL, m->nbody, 1, 0.3));
    STI_TRY(give_parameter(s, "body_inertia", m->body_inertia, NULL, 3 * (int64_t)m->nbody, 3, 0.3));
    STI_TRY(give_parameter(s, "geom_friction", m->geom_friction, NULL, 3 * (int64_t)m->ngeom, 3, 0.5));
    return give_parameter(s, "geom_size", m->geom_size, m->geom_type, 3 * (int64_t)m->ngeom, 3, 0.02);
}

stet_result lift_worlds(const side *s, const states *from, bool all, states *out)
{
    const int64_t items[STATE_FIELDS] = {s->model->mj->nq, s->model->mj->nv, s->model->mj->na, s->model->mj->nu};
    out->nworld = from->nworld;
    for (int i = 0; i < STATE_FIELDS; ++i) {
        size_t bytes = (size_t)(from->nworld * items[i]) * sizeof(float);
        STI_TRY(sti_alloc(&out->row[i], bytes + 1, "states of a benchmark"));
        if (bytes > 0) memcpy(out->row[i], from->row[i], bytes);
    }
    for (int64_t w = 0; w < from->nworld; ++w)
        if (all || w % 2) out->row[0][w * items[0] + 2] += 2;
    return STET_OK;
}

bool has_free_root(const side *s) { return s->model->mj->njnt > 0 && s->model->mj->jnt_type[0] == mjJNT_FREE; }

stet_result make_more_room(side *s, const side *plain, int *before, int *now)
{
    int limit = sti_physics_contact_sizes(s->native->tables.m).limit, room = sti_physics_room(&plain->native->tables);
    int more = 4 * room < limit ? 4 * room : limit;
    *before = room;
    *now = more > room ? more : 0;
    return *now ? sti_native_set_room(s->native, more) : STET_OK;
}

/* ---- what the steps were about ----------------------------------------------------------------------------------- */

/* The slots that hold in each world. */
typedef struct holds {
    int nworld, nslot, lanes;
    int *number, *dim;         /* [nworld][nslot]; behind a world's last: -1 */
    int *group;                /* [numbers]: the group of lanes that has a slot with that number, the last one */
    bool *taken;               /* [nworld] */
    double own, all, contacts; /* rows that are on, those of all slots, contacts that are on: of all worlds */
} holds;

static void free_holds(holds *h)
{
    sti_free(h->number);
    sti_free(h->dim);
    sti_free(h->group);
    sti_free(h->taken);
}

static stet_result make_holds(holds *h, const int *m, const side *s)
{
    size_t n = (size_t)s->worlds->nworld, nnumber = (size_t)m[M_NBLOCK] + (size_t)PH_MOST_CONTACTS * (size_t)m[M_NPAIR];
    *h = (holds){.nworld = (int)n, .nslot = m[M_NSLOT] + 1, .lanes = stet_device_get_lanes(s->device)};
    STI_TRY(sti_alloc(&h->number, n * (size_t)h->nslot * sizeof(int), "slots of worlds"));
    STI_TRY(sti_alloc(&h->dim, n * (size_t)h->nslot * sizeof(int), "rows of slots"));
    STI_TRY(sti_alloc(&h->group, (nnumber + 1) * sizeof(int), "slots of lanes"));
    STI_TRY(sti_alloc(&h->taken, n, "worlds in groups"));
    for (size_t i = 0; i < n * (size_t)h->nslot; ++i) h->number[i] = -1;
    return STET_OK;
}

/* Rows of a world's slots that are new to a group of lanes, which then has them if `join`. */
static int count_new_rows(holds *h, int world, int group, bool join)
{
    int rows = 0;
    for (int at = world * h->nslot; h->number[at] >= 0; ++at) {
        if (h->group[h->number[at]] != group) rows += h->dim[at];
        if (join) h->group[h->number[at]] = group;
    }
    return rows;
}

/* Rows that lanes have if each group begins with the world of most rows and then takes what adds least to it. */
static double pack_rows(holds *h)
{
    double all = 0;
    for (int done = 0, group = 1; done < h->nworld; ++group) {
        int rows = 0, n = 0;
        for (; n < h->lanes && done < h->nworld; ++n, ++done) {
            int best = -1, most = 0;
            for (int w = 0; w < h->nworld; ++w) {
                if (h->taken[w]) continue;
                int value = count_new_rows(h, w, 0, false) - (n > 0 ? 64 * count_new_rows(h, w, group, false) : 0);
                if (best < 0 || value > most) best = w;
                if (best == w) most = value;
            }
            rows += count_new_rows(h, best, group, true);
            h->taken[best] = true;
        }
        all += (double)rows * n;
    }
    return all;
}

/* Rows of one world's slots: its own, and those that some world of its lanes has. */
static void count_slots(const int *m, const stet_array *block, const stet_array *D, const void *blocks, const void *Ds,
                        int64_t w, holds *h)
{
    int row = 0, at = (int)w * h->nslot;
    for (int k = 0; k < m[M_NSLOT]; ++k) {
        int number = (int)sti_mirror_get(block, blocks, w, k);
        if (number < 0) return;
        bool contact = number >= m[M_NBLOCK];
        int dim = m[contact ? m[M_PAIR] + B_SIZE * ((number - m[M_NBLOCK]) / PH_MOST_CONTACTS) + B_DIM
                            : m[M_BLOCK] + B_SIZE * number + B_DIM];
        bool on = sti_mirror_get(D, Ds, w, row) != 0;
        h->all += dim;
        h->own += on ? dim : 0;
        h->contacts += on && contact;
        if (on) {
            h->number[at] = number;
            h->dim[at++] = dim;
        }
        row += dim;
    }
}

static stet_result read_quantity(side *s, const char *name, stet_array **a, void **mirror)
{
    STI_TRY(sti_native_quantity(s->native, name, a));
    return sti_array_mirror_read(*a, mirror);
}

stet_result measure_load(side *s, load *out)
{
    enum { BLOCK, D, NITER, QPOS, N };
    static const char *const names[N] = {"efc_block", "efc_D", "solver_niter", "qpos"};
    const mjModel *mj = s->model->mj;
    stet_array *a[N] = {NULL};
    void *at[N];
    const int *m = s->native->tables.m; /* with the room that steps have made */
    double n = (double)s->worlds->nworld;
    holds h;
    stet_result result = make_holds(&h, m, s);
    for (int i = 0; i < N && result == STET_OK; ++i) result = read_quantity(s, names[i], &a[i], &at[i]);
    *out = (load){.bad = 0};
    for (int64_t w = 0; w < s->worlds->nworld && result == STET_OK; ++w) {
        bool bad = stet_worlds_get_faults(s->worlds)[w] != 0;
        count_slots(m, a[BLOCK], a[D], at[BLOCK], at[D], w, &h);
        out->iterations += sti_mirror_get(a[NITER], at[NITER], w, 0) / n;
        for (int64_t i = 0; i < mj->nq; ++i) bad = bad || !isfinite(sti_mirror_get(a[QPOS], at[QPOS], w, i));
        out->bad += bad;
    }
    out->contacts = h.contacts / n;
    out->rows = h.own / n;
    /* Lanes without a world are in `all`, but no step counts them. */
    out->shared = h.own > 0 && n > 1 ? h.all / h.own : 1;
    if (result == STET_OK) out->packed = h.own > 0 && n > 1 && h.lanes > 1 ? pack_rows(&h) / h.own : 1;
    free_holds(&h);
    for (int i = 0; i < N; ++i) stet_array_destroy(a[i]);
    return result;
}

stet_result make_late_states(const bench *b, const bench_scene *scene, states *out, load *of)
{
    side s = {.native = NULL};
    if (of) (void)setenv("STET_PAIR_ROWS", "1e15", 0); /* so that numbers of slots say which rows of pairs they are */
    stet_result result = open_side(b, scene, true, b->threads, b->quick ? 20 : STATES, NULL, CUT_NOTHING, &s);
    if (result == STET_OK) result = push_worlds(&s);
    if (result == STET_OK) result = make_states(&s, b->quick ? WARM : LATE, out);
    if (result == STET_OK && of) result = measure_load(&s, of);
    if (of) (void)unsetenv("STET_PAIR_ROWS");
    close_side(&s);
    return result;
}

int count_faults(const side *s)
{
    int n = 0;
    for (int64_t w = 0; w < s->worlds->nworld; ++w) n += stet_worlds_get_faults(s->worlds)[w] != 0;
    return n;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

stet_result time_calls(side *s, const states *from, int calls, int steps, double least, double *seconds)
{
    double spent = 0;
    int n = 0;
    for (; n == 0 || spent < least; ++n) {
        STI_TRY(put_states(s, from));
        STI_TRY(stet_device_synchronize(s->device));
        double start = bench_now();
        for (int i = 0; i < calls; ++i) STI_TRY(step_side(s, steps));
        STI_TRY(stet_device_synchronize(s->device));
        spent += bench_now() - start;
    }
    *seconds = spent / n;
    return STET_OK;
}

stet_result time_side(side *s, const states *from, double least, double *seconds)
{
    return time_calls(s, from, CALLS, CALL, least, seconds);
}

stet_result grow_room(side *s, const states *from)
{
    double seconds;
    for (int room = -1; room != sti_physics_room(&s->native->tables);) {
        room = sti_physics_room(&s->native->tables);
        STI_TRY(time_side(s, from, 0, &seconds));
        (void)stet_worlds_get_faults(s->worlds); /* which looks at the room */
    }
    /* Faults of steps with less room are no part of what follows. */
    const stet_reset_def reset = stet_default_reset_def();
    return stet_worlds_reset(s->worlds, &reset);
}
