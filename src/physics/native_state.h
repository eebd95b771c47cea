/* What native physics keeps on the host, for its steps (native.c) and reads (native_read.c). */
#ifndef STI_PHYSICS_NATIVE_STATE_H
#define STI_PHYSICS_NATIVE_STATE_H

#include "base/memory.h"
#include "base/validate.h"
#include "kernel/kernel.h"
#include "kernel/compile/text_buffer.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/model_code.h"
#include "physics/native.h"
#include "physics/native_tape.h"
#include "physics/parameters.h"
#include "physics/tables.h"
#include "worlds/mask.h"

/* The state and the inputs of a step, and what says its time: arrays of worlds. */
#define STI_NATIVE_SEEN_FIELDS(X)                                                                                      \
    X(qpos)                                                                                                            \
    X(qvel)                                                                                                            \
    X(act)                                                                                                             \
    X(history)                                                                                                         \
    X(ctrl)                                                                                                            \
    X(qfrc_applied)                                                                                                    \
    X(xfrc_applied)                                                                                                    \
    X(mocap_pos)                                                                                                       \
    X(mocap_quat)                                                                                                      \
    X(qacc_warmstart)                                                                                                  \
    X(eq_active)
#define STI_NATIVE_SEEN(X)                                                                                             \
    STI_NATIVE_SEEN_FIELDS(X)                                                                                          \
    X(clock)                                                                                                           \
    X(fault)                                                                                                           \
    X(ticks)

/* What reads keep: the quantities of the latest list, one after the other. */
typedef struct sti_native_reads {
    stet_array *list, *points, *all; /* Q_SIZE ints each; three reals each; [nworld][all items] */
    stet_array *lack;                /* [nworld][1], not 0: a world had no room for its contacts */
    int32_t *listed;                 /* what `list` holds, */
    int nlisted;                     /* and how many */
} sti_native_reads;

/* NATIVE-9: what quantities of the step are computed from, once somebody asked; NULL until then. */
typedef struct sti_native_seen {
    stet_array *kept; /* [nworld][1], 0: the world began anew since, and they follow its present state */
#define SEEN(name) stet_array *name;
    STI_NATIVE_SEEN(SEEN)
#undef SEEN
    sti_mask mask;       /* of the host */
    stet_array *sensing; /* the mask of worlds whose step_sensordata the running pass fills; NULL: it fills none */
    sti_native_reads reads;
} sti_native_seen;

/* Quantities that are read together. */
typedef struct sti_native_list {
    int32_t *list;      /* rows of Q_SIZE */
    double *point;      /* [3] each */
    stet_array **array; /* where they go; NULL: sensors of a forward, to step_sensordata */
    int nlist, npoint, items;
    int extra;    /* as in ph_forward */
    bool of_step; /* of the state before the last step; the present one */
} sti_native_list;

/* On a GPU code is made for a model from so many worlds on, if its tables have no more ints. */
enum { STI_NATIVE_MODEL_WORLDS = 256, STI_NATIVE_MODEL_INTS = 1 << 19 };
enum { NO_KEY = -2, STI_NATIVE_GROUPS = 7 };

/* A launch of a step in stages (stages.k.h). */
typedef struct sti_native_group {
    int stages;           /* bits PH_STAGE_… */
    sti_kernel kernel;    /* k_native_stages; on a GPU with a team that suits the number of worlds */
    sti_text_buffer code; /* and, with many worlds, for the model and these stages, */
    int near;             /* with so many reals of shared memory a team */
} sti_native_group;

/* NATIVE-7: what a step in stages has. */
typedef struct sti_native_stages {
    sti_native_group group[STI_NATIVE_GROUPS];
    int n;                             /* 0: a step has no stages */
    bool single;                       /* it is a launch of the one kernel, not a part of a launch for all steps */
    bool made;                         /* their code and memory are there */
    sti_team team;                     /* on a GPU */
    stet_array *memory, *lists, *left; /* of worlds, on a GPU of their teams: reals, ints, LEFT_… (stages.k.h) */
} sti_native_stages;

/* NATIVE-8: what worlds that found no room go on with. Only where tables hold worlds (M_HOLDS). */
typedef struct sti_native_spare {
    int *m;                            /* the tables with all the room that there can be, */
    stet_array *tables;                /* and on the device */
    stet_array *memory, *plain_memory; /* of a few teams: reals and ints */
} sti_native_spare;

typedef struct sti_native_linear sti_native_linear;

struct sti_native {
    stet_worlds *worlds;
    sti_physics_tables tables;
    stet_array *m, *f; /* the tables on the device */
    bool old;          /* they are not these tables */
    sti_native_spare spare;
    sti_native_parameters own; /* parameters that differ between worlds */
    sti_mask stepped;          /* of the last step */
    stet_array *fault, *ticks; /* [nworld][1], NATIVE-3 */
    sti_stamp pulled;          /* version of `fault` after the last pull */
    stet_array *clock;         /* [nworld][2], time then, and key_time; kept where something needs the time */
    sti_stamp clocked;         /* version of the field `time` that it follows from */
    double clock_key;          /* key_time then */
    stet_array *most;          /* [nworld][1], contacts that a world had at most (NATIVE-5) */
    stet_array *owed;          /* [nworld][1], time steps that it was held before (NATIVE-8) */
    bool begun;                /* contacts were counted for the first step */
    int first_room;            /* for contacts, in the beginning */
    int looked;                /* calls of steps since `most` was looked at */
    bool captured;             /* steps are parts of a caller's graph, which keep their memory */
    int64_t unpulled;          /* time steps since, at most; `ticks` has room for INT32_MAX */
    sti_mask due;              /* worlds whose poses were computed last */
    stet_array *key;           /* the state of the latest reset's keyframe, see k_native_reset; NULL: there was none */
    int keyframe;              /* the one that `key` holds; NO_KEY: not known */
    double key_time;           /* its time */
    stet_array *resets;        /* [nworld][3], see k_native_reset */
    sti_stamp numbered;        /* version of worlds->resets that it follows from, */
    sti_stamp counted;         /* and its own version then */
    sti_mask put_back;         /* the host's mask of the last reset, or one of bytes */
    sti_native_reads reads;
    sti_native_seen seen;
    sti_kernel step;                   /* k_native_step; on a GPU with a team that suits the number of worlds, */
    sti_team team;                     /* this one, */
    bool many;                         /* and, with STI_NATIVE_MODEL_WORLDS worlds or more, */
    sti_text_buffer code;              /* made for the model (model_code.h), */
    int near;                          /* with so many reals of shared memory a team */
    stet_array *memory, *plain_memory; /* on a GPU, of the teams that run at once: reals and ints */
    sti_native_stages stages;
    sti_native_tape tape;
    bool converges;            /* steps have as many iterations of the solver as it needs (native_pull.h) */
    sti_native_linear *linear; /* native_linearize.c; NULL: nobody asked */
    struct {
        stet_array *memory, *lists; /* on a GPU, of the teams that run at once: of gradients (native_pull.c) */
        stet_array *touched;        /* how many rows began, if that counts */
        bool touches;
    } pull;
};

#define STATE_ARG(name) sti_arg_array(n->worlds->state.field[STI_FIELD_##name])
#define MODEL_ARGS sti_arg_array(n->m), sti_arg_array(n->f), sti_arg_array(n->own.v)
#define INPUT_ARGS                                                                                                     \
    STATE_ARG(history), STATE_ARG(ctrl), STATE_ARG(qfrc_applied), STATE_ARG(xfrc_applied), STATE_ARG(mocap_pos),       \
        STATE_ARG(mocap_quat), STATE_ARG(qacc_warmstart), STATE_ARG(eq_active)

/* What a step changes. */
#define STEP_ARGS                                                                                                      \
    STATE_ARG(qpos), STATE_ARG(qvel), STATE_ARG(act), INPUT_ARGS, STATE_ARG(step_sensordata), sti_arg_array(n->clock), \
        sti_arg_array(n->fault), sti_arg_array(n->ticks), sti_arg_array(n->most), sti_arg_array(n->owed)

/* Are teams one thread, whose code has memory of its own? */
static inline bool sti_native_is_lone(const sti_native *n) { return n->code.size > 0 && n->team.team == 1; }

/* NATIVE-3 and NATIVE-5: what is counted fits the arrays that count it, and there is the room that was said. */
STI_VALIDATE(native, sti_native)
/* Tables and numbers of worlds follow the worlds' parameters. */
stet_result sti_native_update(sti_native *n);

/* Destroys an array, if there is one, after the host may: a caller's capture is refused. */
static inline stet_result sti_native_drop_array(stet_array **a)
{
    if (*a) STI_TRY(sti_before_host_access((*a)->device, STI_ACT_WRITE, *a, (*a)->name));
    stet_array_destroy(*a);
    *a = NULL;
    return STET_OK;
}
/* The clock follows the time of worlds, if something needs it. */
stet_result sti_native_put_clock(sti_native *n);
/* Memory for the teams of a GPU, once. */
stet_result sti_native_make_memory(sti_native *n);
/* Forgets it, if there is any, because its size changes. */
stet_result sti_native_drop_memory(sti_native *n);

/* Launches nstep time steps, and those of worlds without room again. */
stet_result sti_native_run(sti_native *n, int nstep);
/* Are steps the one kernel, once for all of a call? */
static inline bool sti_native_is_whole(const sti_native *n) { return n->stages.n == 0 && !n->stages.single; }

/* ---- room for contacts: native_room.c */

/* NATIVE-5: looks at the most contacts of all worlds, and makes room for them. */
stet_result sti_native_grow_room(sti_native *n);
/* The same where it costs nothing, elsewhere in few calls. */
stet_result sti_native_look_at_room(sti_native *n);
/* Room for the contacts of the first step, before it is made. */
stet_result sti_native_count_room(sti_native *n);
/* worlds/worlds.h: sti_worlds_physics */
int sti_native_grown_room(void *native);
stet_result sti_native_restore_room(void *native, int room);

/* ---- worlds without room: native_spare.c */

/* The spare tables that belong to new tables. */
stet_result sti_native_make_spare(sti_native *n);
/* Spare memory, if there are spare tables, in which a team has at least so many reals. */
stet_result sti_native_make_spare_memory(sti_native *n, int reals);
void sti_native_spare_free(sti_native *n);
/* NATIVE-8: worlds that were held make the steps that they owe, at most nstep. */
stet_result sti_native_catch_up(sti_native *n, int nstep);
/* A launch of the code for all models, PH_COUNT or, with what is spare, PH_OWED. */
stet_result sti_native_run_beside(sti_native *n, int nstep, int how);
/* The greatest number of an array that has one of each world, if that is above 0, else 0. */
stet_result sti_native_greatest(stet_array *a, int32_t *out);
/* May some world's number in an array of one int each be above 0? A host that would have to wait does not look. */
stet_result sti_native_may_be(stet_array *numbers, bool *out);

/* ---- quantities of the step: native_seen.c */

/* worlds/worlds.h: sti_worlds_physics */
stet_result sti_native_keep_steps(void *native);
stet_result sti_native_begun(void *native, const uint8_t *mask);
/* NATIVE-9: the chosen worlds (a mask on the device) are as they will have been seen; how: SEEN_…, seen_how.k.h. */
stet_result sti_native_see(sti_native *n, stet_array *chosen, int how);
static inline bool sti_native_sees(const sti_native *n) { return n->seen.kept != NULL; }
void sti_native_seen_free(sti_native *n);

/* ---- on a tape: native_tape.c */

/* The same as operations, one a time step. */
stet_result sti_native_run_taped(sti_native *n, int nstep);
void sti_native_tape_free(sti_native *n);
/* STATE: the worlds' parameters are not those, v, that an operation on a tape was done with. */
stet_result sti_native_same_parameters(const sti_native *n, const sti_operation *operation, const stet_array *v);
void sti_native_parameter_gradients_free(sti_native *n);
/* A time step that counts nothing: no faults, time, or resets (NATIVE-TAPE-2). */
stet_result sti_native_step_uncounted(sti_native *n);
void sti_native_linear_free(sti_native *n);

/* ---- steps in stages: native_stages.c */

/* Forgets their code and memory, which the next steps make again. */
stet_result sti_native_drop_stages(sti_native *n);
void sti_native_stages_free(sti_native *n);

/* Writes a plain array of REAL: n numbers, and behind them ints as they lie in memory. */
stet_result sti_native_put_numbers(stet_array *array, const double *reals, int64_t n, const int *ints, int64_t nint);

/* ---- resets: native_reset.c */

/* Numbers of resets from the host's; nothing is left to be pulled from them. */
stet_result sti_native_put_resets(sti_native *n);
typedef struct sti_native_reset_args {
    stet_array *mask; /* as stet_reset_def.mask_array */
    int keyframe;
    double qpos_noise, qvel_noise;
} sti_native_reset_args;
/* The state of the keyframe is on the device then. */
stet_result sti_native_take_key(sti_native *n, int keyframe);
/* A mask of bytes becomes one of numbers of worlds. */
stet_result sti_native_take_mask(sti_native *n, stet_array **mask);
stet_result sti_native_launch_reset(sti_native *n, const sti_native_reset_args *reset);
/* The same as an operation (native_tape.c). */
stet_result sti_native_reset_taped(sti_native *n, const sti_native_reset_args *reset);

/* Fills the arrays of a list: forward dynamics once, then one copy each. r: what that keeps. */
stet_result sti_native_read(sti_native *n, sti_native_reads *r, const sti_native_list *k);
void sti_native_list_free(sti_native_list *k);
/* The list of a pass (k->of_step). The caller frees it, also after an error. */
stet_result sti_native_list_pass(const sti_native *n, sti_native_list *k);
/* The same as an operation, which takes over the list (native_tape_reads.c); and poses of the worlds in n->due. */
stet_result sti_native_read_taped(sti_native *n, sti_native_list *list);
stet_result sti_native_pose_taped(sti_native *n);
stet_result sti_native_launch_poses(sti_native *n);
void sti_native_readings_free(sti_native *n);

/* Fills the quantities of a pass (worlds/quantities.h). */
stet_result sti_native_fill(void *native);
/* A GPU begins to compile what that launches. */
void sti_native_expect_reads(void *native);

static inline void sti_native_reads_free(sti_native_reads *reads)
{
    stet_array_destroy(reads->list);
    stet_array_destroy(reads->points);
    stet_array_destroy(reads->all);
    stet_array_destroy(reads->lack);
    sti_free(reads->listed);
    *reads = (sti_native_reads){.list = NULL};
}

#endif
