/*
 * What the tests of a step with the caller's kernels share: kernels, arrays, a sim with them in its step.
 */
#ifndef TEST_SIM_PHASES_H
#define TEST_SIM_PHASES_H

#include "sim/room.h"

#include "base/folder.h"
#include "kernel/record/record.h"

#include <sys/stat.h>
#include <unistd.h>

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Each takes what it says; `order` is a decimal digit more each time, so it tells who ran, and when. */
static const char phases_source[] =
    "#include \"stet/lang.h\"\n"
    "world_kernel void k_note(lint *order, int who)\n"
    "{ each (i, 1) order[i] = order[i] * isplat(10) + isplat(who); }\n"
    "world_kernel void k_time(const real *time, real *seen, int at)\n"
    "{ each (i, 1) put(seen, at + i, time[i]); }\n"
    "world_kernel void k_push(const real *qpos, const real *qvel, real *ctrl, ureal gain, int n)\n"
    "{ each (i, n) put(ctrl, i, splat(gain) * (qpos[i] + splat(0.2f) * qvel[i])); }\n"
    "world_kernel void k_fell(const real *qpos, lint *done, lint *length, int limit)\n"
    "{\n"
    "    each (i, 1) {\n"
    "        length[i] = length[i] + isplat(1);\n"
    "        mask over = m_or(gt(rabs(qpos[1]), splat(0.3f)), m_not(ilt(length[i], isplat(limit))));\n"
    "        done[i] = iselect(over, isplat(1), isplat(0));\n"
    "    }\n"
    "}\n"
    "world_kernel void k_end(lint *done, lint *dice)\n" /* at random, one of 64 */
    "{\n"
    "    each (i, 1) {\n"
    "        dice[i] = ishr(ishl(dice[i] * isplat(109) + isplat(853), 20), 20);\n"
    "        done[i] = iselect(ilt(dice[i], isplat(64)), isplat(1), isplat(0));\n"
    "    }\n"
    "}\n"
    "world_kernel void k_begin(const lint *done, lint *length)\n"
    "{ each (i, 1) length[i] = iselect(ieq(done[i], isplat(0)), length[i], isplat(0)); }\n"
    "world_kernel void k_look(const real *qpos, const real *xpos, real *seen, int body)\n"
    "{ each (i, 3) put(seen, i, xpos[3 * body + i] + qpos[0]); }\n"
    "world_kernel void k_lift(real *xpos, ureal by, int nbody)\n"
    "{ each (i, nbody) put(xpos, 3 * i + 2, xpos[3 * i + 2] + splat(by)); }\n"
    "world_kernel void k_set(real *qpos, ureal x)\n"
    "{ each (i, 1) put(qpos, i, splat(x)); }\n"
    "world_kernel void k_where(const real *world, real *seen, int prim)\n"
    "{ each (i, 1) put(seen, i, world[12 * prim + 11]); }\n";

/* Kernels are compiled once for all tests of the program, into its folder. */
static inline stet_kernel *phases_kernel(stet_sim *sim, const char *name)
{
    stet_kernel_def def = stet_default_kernel_def();
    stet_kernel *kernel;
    def.source = phases_source;
    def.name = name;
    def.cache_folder = folder;
    OK(stet_kernel_create(stet_sim_get_device(sim), &def, &kernel));
    return kernel;
}

/* ---- a sim with a program ---------------------------------------------------------------------------------------- */

enum { MOST = 16 };

/* The cart-pole without its sensors, which native physics lacks. */
#define POLE                                                                                                           \
    "<mujoco><compiler angle='radian'/><option timestep='.005' integrator='implicitfast'/><default><geom contype='0' " \
    "conaffinity='0'/></default><worldbody><light pos='0 0 3'/><camera name='main' pos='0 -2.9 .95' "                  \
    "xyaxes='1 0 0 0 0 1'/><body pos='0 0 .85'><joint name='x' type='slide' axis='1 0 0' limited='true' "              \
    "range='-.95 .95' damping='.05'/><geom type='box' size='.2 .1 .07' mass='1'/><body pos='0 -.12 .03'><joint "       \
    "axis='0 1 0' damping='.002'/><geom type='capsule' fromto='0 0 0 0 0 .65' size='.02' mass='.2'/></body></body>"    \
    "</worldbody><actuator><motor joint='x' gear='10' ctrllimited='true' ctrlrange='-1 1'/></actuator></mujoco>"

typedef struct phases {
    stet_sim *sim;
    int64_t nworld;
    stet_kernel *kernel[MOST];
    stet_array *array[MOST];
    int nkernel, narray;
} phases;

static inline stet_array *phases_array(phases *p, const char *name, stet_dtype dtype, int64_t items)
{
    assert_true(p->narray < MOST);
    stet_array **a = &p->array[p->narray++];
    OK(STI_ARRAY(stet_sim_get_device(p->sim), name, dtype, true, a, p->nworld, items));
    return *a;
}

static inline stet_array *phases_field(const phases *p, const char *name)
{
    stet_array *a;
    OK(stet_worlds_get_array(stet_sim_get_worlds(p->sim), name, &a));
    return a;
}

/* A kernel of phases_source in a phase; its number. */
#define ADD(p, phase, name, ...)                                                                                       \
    phases_add((p), (phase), (name), (const stet_arg[]){__VA_ARGS__},                                                  \
               (int)(sizeof((const stet_arg[]){__VA_ARGS__}) / sizeof(stet_arg)))
static inline int phases_add(phases *p, stet_phase phase, const char *name, const stet_arg *args, int narg)
{
    int id;
    assert_true(p->nkernel < MOST);
    stet_kernel *k = p->kernel[p->nkernel++] = phases_kernel(p->sim, name);
    OK(stet_sim_add_kernel(p->sim, phase, k, p->nworld, args, narg, &id));
    return id;
}

static inline phases phases_open(const room_def *d)
{
    phases p = {.sim = room_open(d->physics == STET_PHYSICS_NATIVE ? POLE : "cartpole.xml", d)};
    p.nworld = stet_worlds_get_nworld(stet_sim_get_worlds(p.sim));
    return p;
}

static inline void phases_close(phases *p)
{
    for (int i = 0; i < p->nkernel; ++i) stet_kernel_destroy(p->kernel[i]);
    for (int i = 0; i < p->narray; ++i) stet_array_destroy(p->array[i]);
    stet_sim_destroy(p->sim);
}

/*
 * What an episode needs: a push before physics; afterwards, who fell; then, the reset; then, counters and an
 * observation.
 */
typedef struct episode {
    stet_array *done, *length, *seen;
    int push; /* number of the kernel */
} episode;

static const stet_phase BEFORE = STET_PHASE_BEFORE_PHYSICS, AFTER = STET_PHASE_AFTER_PHYSICS,
                        RESET = STET_PHASE_AFTER_RESET;

static inline stet_reset_def phases_noise(void)
{
    stet_reset_def def = stet_default_reset_def();
    def.qpos_noise = 0.1;
    def.qvel_noise = 0.05;
    return def;
}

static inline episode phases_episode(phases *p, bool reset)
{
    stet_array *qpos = phases_field(p, "qpos"), *qvel = phases_field(p, "qvel");
    stet_reset_def def = phases_noise();
    episode e = {.done = phases_array(p, "done", STET_DTYPE_INT, 1),
                 .length = phases_array(p, "length", STET_DTYPE_INT, 1),
                 .seen = phases_array(p, "seen", STET_DTYPE_REAL, 3)};
    e.push = ADD(p, BEFORE, "k_push", stet_arg_array(qpos), stet_arg_array(qvel),
                 stet_arg_array(phases_field(p, "ctrl")), stet_arg_real(3), stet_arg_int(1));
    (void)ADD(p, AFTER, "k_fell", stet_arg_array(qpos), stet_arg_array(e.done), stet_arg_array(e.length),
              stet_arg_int(9));
    if (reset) OK(stet_sim_set_reset(p->sim, e.done, &def));
    (void)ADD(p, RESET, "k_begin", stet_arg_array(e.done), stet_arg_array(e.length));
    (void)ADD(p, RESET, "k_look", stet_arg_array(qpos), stet_arg_array(phases_field(p, "xpos")), stet_arg_array(e.seen),
              stet_arg_int(2));
    return e;
}

static inline uint64_t phases_hash(stet_array *a)
{
    uint64_t hash;
    OK(stet_array_hash(a, &hash));
    return hash;
}

static inline int32_t phases_int(const phases *p, stet_array *a, int64_t world)
{
    int32_t *rows = malloc(stet_array_get_bytes(a));
    assert_non_null(rows);
    OK(stet_array_read(a, rows, stet_array_get_bytes(a)));
    int32_t x = rows[world * (stet_array_get_nelement(a) / p->nworld)];
    free(rows);
    return x;
}

static inline float phases_real(const phases *p, stet_array *a, int64_t world, int64_t i)
{
    float *rows = malloc(stet_array_get_bytes(a));
    assert_non_null(rows);
    OK(stet_array_read(a, rows, stet_array_get_bytes(a)));
    float x = rows[world * (stet_array_get_nelement(a) / p->nworld) + i];
    free(rows);
    return x;
}

/* A step in a steady state: no allocation, no fallback, no miss of graph_replay. */
static inline stet_counters phases_steady(stet_sim *sim, int steps, int n)
{
    stet_device_clear_counters(stet_sim_get_device(sim));
    int64_t before = stet_get_memory_stats().allocations;
    for (int i = 0; i < steps; ++i) OK(stet_sim_step(sim, n));
    assert_int_equal(stet_get_memory_stats().allocations, before);
    stet_counters c = room_counters(sim);
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k) assert_int_equal(c.mechanism[k].fallbacks, 0);
    return c;
}

#endif
