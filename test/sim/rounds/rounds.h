/*
 * What the tests of rounds share: a small task with all kinds of inputs, and the same as a sim of its own for each
 * round.
 */
#ifndef TEST_SIM_ROUNDS_H
#define TEST_SIM_ROUNDS_H

#include "sim/phases.h"

#include "base/hash.h"
#include "stet/round.h"

enum { ROUND_WORLDS = 5, ROUND_STEPS = 4, ROUND_VALUES = 8 };

/*
 * The cart-pole with a policy, an end of episodes and a reset by mask, or (external) a scene whose poses a kernel
 * writes. Its arrays: `length` counts steps, `done` is the mask, `sum` adds positions up, `scratch` is written before
 * it is read.
 */
typedef struct task {
    phases p;
    stet_array *length, *done, *seen;
    bool external, parameters;
    int64_t nworld, nq, nv, nu;
} task;

static inline task task_open(const room_def *d)
{
    task t = {.p = phases_open(d), .external = d->physics == STET_PHYSICS_EXTERNAL};
    t.parameters = stet_sim_get_worlds(t.p.sim)->state.data != NULL;
    phases *p = &t.p;
    t.nworld = p->nworld;
    stet_model_info info = stet_model_get_info(stet_sim_get_model(p->sim));
    t.nq = info.nq;
    t.nv = info.nv;
    t.nu = info.nu;
    t.length = phases_array(p, "length", STET_DTYPE_INT, 1);
    t.done = phases_array(p, "done", STET_DTYPE_INT, 1);
    t.seen = phases_array(p, "seen", STET_DTYPE_REAL, 3);
    if (t.external) {
        stet_array *xpos = phases_field(p, "xpos");
        ADD(p, STET_PHASE_BEFORE_PHYSICS, "k_lift", stet_arg_array(xpos), stet_arg_real(0.25),
            stet_arg_int(info.nbody));
        ADD(p, STET_PHASE_AFTER_PHYSICS, "k_look", stet_arg_array(phases_field(p, "ctrl")), stet_arg_array(xpos),
            stet_arg_array(t.seen), stet_arg_int(1));
        return t;
    }
    stet_arg qpos = stet_arg_array(phases_field(p, "qpos")), done = stet_arg_array(t.done),
             length = stet_arg_array(t.length);
    ADD(p, STET_PHASE_AFTER_PHYSICS, "k_look", qpos, stet_arg_array(phases_field(p, "xpos")), stet_arg_array(t.seen),
        stet_arg_int(1));
    ADD(p, STET_PHASE_AFTER_PHYSICS, "k_fell", qpos, done, length, stet_arg_int(3));
    stet_reset_def reset = stet_default_reset_def();
    reset.qpos_noise = 0.1;
    OK(stet_sim_set_reset(p->sim, t.done, &reset));
    ADD(p, STET_PHASE_AFTER_RESET, "k_begin", done, length);
    return t;
}

/* All of a round's numbers, from its own number alone. */
typedef struct round_in {
    float qpos[ROUND_WORLDS * 2], controls[ROUND_STEPS * ROUND_WORLDS];
    int32_t length[ROUND_WORLDS];
    double gravity[3], friction[ROUND_WORLDS];
    stet_round_value value[ROUND_VALUES];
    int n;
} round_in;

/* Kinds of rounds: which inputs they have. */
enum { WITH_QPOS = 1, WITH_CONTROLS = 2, WITH_LENGTH = 4, WITH_PARAMETERS = 8, WITH_ALL = 15 };

static inline void round_fill(round_in *in, const task *t, uint64_t seed, int kinds)
{
    for (int i = 0; i < ROUND_WORLDS * 2; ++i) in->qpos[i] = 0.2f * rig_wave((int64_t)seed, 1, i);
    for (int i = 0; i < ROUND_STEPS * ROUND_WORLDS; ++i) in->controls[i] = rig_wave((int64_t)seed, 2, i);
    for (int i = 0; i < ROUND_WORLDS; ++i) {
        in->length[i] = (int32_t)((seed + (uint64_t)i) % 3);
        in->friction[i] = 0.5 + 0.1 * i;
    }
    in->gravity[0] = 0.5 * (double)rig_wave((int64_t)seed, 3, 0);
    in->gravity[1] = 0;
    in->gravity[2] = -9 + (double)(seed % 7);
    in->n = 0;
    if (kinds & WITH_QPOS) in->value[in->n++] = stet_round_in("qpos", in->qpos, sizeof in->qpos);
    if (kinds & WITH_CONTROLS) {
        in->value[in->n] = stet_round_in("controls", in->controls, sizeof in->controls);
        in->value[in->n++].frames = ROUND_STEPS;
    }
    if (kinds & WITH_LENGTH)
        in->value[in->n++] = stet_round_array(t->length, STET_DIRECTION_INOUT, in->length, sizeof in->length);
    if (!t->parameters || !(kinds & WITH_PARAMETERS)) return;
    in->value[in->n++] = stet_round_in("gravity", in->gravity, sizeof in->gravity);
    in->value[in->n++] = stet_round_in("friction", in->friction, sizeof in->friction);
}

/* Everything that a round leaves, in one number: state, all fields, the task's arrays, faults, the picture. */
static inline uint64_t round_digest(task *t, bool pictures)
{
    stet_worlds *worlds = stet_sim_get_worlds(t->p.sim);
    rig r = {.worlds = worlds};
    uint64_t all[20] = {rig_all_hash(&r), sti_hash_bytes(stet_worlds_get_faults(worlds), 4 * ROUND_WORLDS)};
    stet_array *const own[] = {t->length, t->done, t->seen};
    for (size_t k = 0; k < 3; ++k) OK(stet_array_hash(own[k], &all[2 + k]));
    if (pictures) {
        (void)room_render(t->p.sim);
        all[5] = room_frame(t->p.sim, STET_FRAME_LATEST);
    }
    return sti_hash_bytes(all, sizeof all);
}

static inline void round_contracts(task *t)
{
    OK(stet_sim_round_contract(t->p.sim, t->length, STET_CONTRACT_ZERO));
    OK(stet_sim_round_contract(t->p.sim, t->done, STET_CONTRACT_ZERO));
    OK(stet_sim_round_contract(t->p.sim, t->seen, STET_CONTRACT_EPOCH));
}

/* One round; what it leaves. */
static inline uint64_t round_play(task *t, uint64_t seed, int kinds, bool pictures)
{
    round_in in;
    round_fill(&in, t, seed, kinds);
    OK(stet_sim_round_begin(t->p.sim, in.value, in.n));
    for (int i = 0; i < ROUND_STEPS; ++i) OK(stet_sim_step(t->p.sim, 1 + (int)(seed % 2)));
    uint64_t digest = round_digest(t, pictures);
    OK(stet_sim_round_end(t->p.sim, NULL, 0));
    return digest;
}

static inline void task_close(task *t) { phases_close(&t->p); }

/* The same round in a sim of its own. */
static inline uint64_t round_alone(const room_def *d, uint64_t seed, int kinds, bool pictures)
{
    task t = task_open(d);
    round_contracts(&t);
    uint64_t digest = round_play(&t, seed, kinds, pictures);
    task_close(&t);
    return digest;
}

/* Without rounds at all: the caller writes what the inputs are into a new sim, step by step. */
static inline uint64_t round_by_hand(const room_def *d, uint64_t seed, int kinds, bool pictures)
{
    task t = task_open(d);
    round_in in;
    round_fill(&in, &t, seed, kinds);
    stet_array *ctrl = phases_field(&t.p, "ctrl");
    if (kinds & WITH_QPOS) OK(stet_array_write(phases_field(&t.p, "qpos"), in.qpos, sizeof in.qpos));
    if (kinds & WITH_LENGTH) OK(stet_array_write(t.length, in.length, sizeof in.length));
    if (t.parameters && kinds & WITH_PARAMETERS) {
        OK(stet_worlds_set_parameter(stet_sim_get_worlds(t.p.sim), "gravity", in.gravity, 3));
        OK(stet_worlds_set_parameter(stet_sim_get_worlds(t.p.sim), "friction", in.friction, ROUND_WORLDS));
    }
    for (int i = 0; i < ROUND_STEPS; ++i) {
        if (kinds & WITH_CONTROLS)
            OK(stet_array_write(ctrl, in.controls + (ptrdiff_t)i * ROUND_WORLDS, ROUND_WORLDS * sizeof(float)));
        OK(stet_sim_step(t.p.sim, 1 + (int)(seed % 2)));
    }
    uint64_t digest = round_digest(&t, pictures);
    task_close(&t);
    return digest;
}

#endif
