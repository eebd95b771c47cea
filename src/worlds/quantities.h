/*
 * Quantities: what follows from the state and the inputs (accelerations, forces, velocities of bodies, contacts,
 * Jacobians …), as arrays that are made when somebody asks for them and filled when somebody reads them (mechanism
 * quantities).
 *
 *   QUANTITY-1  a quantity is a function of the present state, inputs and parameters of its world; reading it changes
 *       nothing that a step reads
 *   QUANTITY-2  one pass fills all quantities that were read since the pass before, for the worlds that changed since
 *   QUANTITY-3  a world's generation in `changed` grows whenever something that a quantity depends on may have changed
 *   QUANTITY-4  a quantity of the step is what a world's last step or forward left, whatever was written since; in a
 *       world that began anew since (a reset, a restore, a round) it is that of the present state. What they leave of
 *       sensordata is a field, step_sensordata
 */
#ifndef STI_WORLDS_QUANTITIES_H
#define STI_WORLDS_QUANTITIES_H

#include "base/version.h"
#include "device/device.h"
#include "model/model.h"
#include "stet/worlds.h"

#if mjVERSION_HEADER >= 4000000
#define STI_NOUT(m) ((m)->nout)
#else
#define STI_NOUT(m) ((m)->nu)
#endif

/* How far forward dynamics must run for a quantity. */
typedef enum sti_stage {
    STI_STAGE_NONE,
    STI_STAGE_POSITION,
    STI_STAGE_VELOCITY,
    STI_STAGE_ACCELERATION,
    STI_STAGE_AFTER
} sti_stage;

/*
 * Name, type, numbers per world (of `const mjModel *m`; `slots` are those of contacts), stage, and the numbers in
 * `mjData *d`; NULL: they are computed from them.
 */
#define STI_QUANTITIES(X)                                                                                              \
    X(qacc, REAL, m->nv, ACCELERATION, d->qacc)                                                                        \
    X(qfrc_bias, REAL, m->nv, VELOCITY, d->qfrc_bias)                                                                  \
    X(qfrc_passive, REAL, m->nv, VELOCITY, d->qfrc_passive)                                                            \
    X(qfrc_actuator, REAL, m->nv, ACCELERATION, d->qfrc_actuator)                                                      \
    X(qfrc_constraint, REAL, m->nv, ACCELERATION, d->qfrc_constraint)                                                  \
    X(actuator_length, REAL, STI_NOUT(m), POSITION, d->actuator_length)                                                \
    X(actuator_velocity, REAL, STI_NOUT(m), VELOCITY, d->actuator_velocity)                                            \
    X(actuator_force, REAL, STI_NOUT(m), ACCELERATION, d->actuator_force)                                              \
    X(ten_length, REAL, m->ntendon, POSITION, d->ten_length)                                                           \
    X(ten_velocity, REAL, m->ntendon, VELOCITY, d->ten_velocity)                                                       \
    X(xanchor, REAL, 3 * m->njnt, POSITION, d->xanchor)                                                                \
    X(xaxis, REAL, 3 * m->njnt, POSITION, d->xaxis)                                                                    \
    X(xmat, REAL, 9 * m->nbody, POSITION, d->xmat)                                                                     \
    X(xipos, REAL, 3 * m->nbody, POSITION, d->xipos)                                                                   \
    X(ximat, REAL, 9 * m->nbody, POSITION, d->ximat)                                                                   \
    X(geom_xpos, REAL, 3 * m->ngeom, POSITION, d->geom_xpos)                                                           \
    X(geom_xmat, REAL, 9 * m->ngeom, POSITION, d->geom_xmat)                                                           \
    X(geom_xquat, REAL, 4 * m->ngeom, POSITION, NULL)                                                                  \
    X(site_xpos, REAL, 3 * m->nsite, POSITION, d->site_xpos)                                                           \
    X(site_xmat, REAL, 9 * m->nsite, POSITION, d->site_xmat)                                                           \
    X(site_xquat, REAL, 4 * m->nsite, POSITION, NULL)                                                                  \
    X(subtree_com, REAL, 3 * m->nbody, POSITION, d->subtree_com)                                                       \
    X(cinert, REAL, 10 * m->nbody, POSITION, d->cinert)                                                                \
    X(cvel, REAL, 6 * m->nbody, VELOCITY, d->cvel)                                                                     \
    X(cacc, REAL, 6 * m->nbody, AFTER, d->cacc)                                                                        \
    X(cfrc_int, REAL, 6 * m->nbody, AFTER, d->cfrc_int)                                                                \
    X(cfrc_ext, REAL, 6 * m->nbody, AFTER, d->cfrc_ext)                                                                \
    X(subtree_linvel, REAL, 3 * m->nbody, AFTER, d->subtree_linvel)                                                    \
    X(subtree_angmom, REAL, 3 * m->nbody, AFTER, d->subtree_angmom)                                                    \
    X(sensordata, REAL, m->nsensordata, ACCELERATION, d->sensordata)                                                   \
    X(energy, REAL, 2, AFTER, d->energy)                                                                               \
    X(qM, REAL, m->nv * m->nv, POSITION, NULL)                                                                         \
    X(ncon, INT, 1, POSITION, NULL)                                                                                    \
    X(contact_geom, INT, 2 * slots, POSITION, NULL)                                                                    \
    X(contact_dist, REAL, slots, POSITION, NULL)                                                                       \
    X(contact_pos, REAL, 3 * slots, POSITION, NULL)                                                                    \
    X(contact_frame, REAL, 9 * slots, POSITION, NULL)                                                                  \
    X(contact_force, REAL, 6 * slots, ACCELERATION, NULL)

typedef enum sti_quantity_kind {
#define STI_QUANTITY_ENUM(name, dtype, items, stage, member) STI_QUANTITY_##name,
    STI_QUANTITIES(STI_QUANTITY_ENUM)
#undef STI_QUANTITY_ENUM
        STI_QUANTITY_COUNT,
    STI_QUANTITY_jacobian = STI_QUANTITY_COUNT,
    STI_QUANTITY_xpos,  /* of the step alone: of the present state it is a field, */
    STI_QUANTITY_xquat, /* and so is this */
    STI_QUANTITY_ALL
} sti_quantity_kind;

/* One quantity that somebody asked for. */
typedef struct sti_quantity {
    stet_worlds *worlds;
    struct sti_quantity *next;
    sti_quantity_kind kind;
    stet_jacobian jacobian; /* of a Jacobian: of what, its id, a point in the frame of a body */
    int object;
    double point[3];
    bool of_step; /* as the last step left it, QUANTITY-4 */
    stet_array *array;
    void *mirror;      /* while a pass fills it */
    sti_stamp stamp;   /* what it was filled from */
    uint64_t filled;   /* generation of worlds->quantities.stamps.version at that time; 0: never */
    uint64_t observer; /* serial of the last observer that learnt of a pass for it */
    bool wanted;       /* it was read since the last pass */
    bool in_pass;      /* the present pass fills it */
} sti_quantity;

/* Something that quantities depend on may have changed in the worlds of mask [nworld] (NULL: all; QUANTITY-3). */
void sti_quantities_changed(stet_worlds *worlds, const uint8_t *mask);
/*
 * The worlds of mask [nworld] (NULL: all) have just made a step, or what follows from their state was computed
 * (QUANTITY-4).
 */
void sti_quantities_stepped(stet_worlds *worlds, const uint8_t *mask);
/* They began anew, on the host. */
stet_result sti_quantities_begun(stet_worlds *worlds, const uint8_t *mask);
/* Some worlds began anew, and native physics has taken that. */
void sti_quantities_begun_there(stet_worlds *worlds);
/* Fills all quantities of the step that somebody has asked for. */
stet_result sti_quantities_fill_step(stet_worlds *worlds);
/* Is it the array of a quantity of these worlds? */
bool sti_is_quantity(const stet_worlds *worlds, const stet_array *array);
void sti_quantities_free(stet_worlds *worlds);

enum { STI_MOST_SLOTS = 4096 }; /* of contacts */
sti_stage sti_quantity_stage(const sti_quantity *q);
stet_dtype sti_quantity_type(sti_quantity_kind kind);
int64_t sti_quantity_items(const stet_worlds *worlds, sti_quantity_kind kind);
const char *sti_quantity_name(sti_quantity_kind kind);
/* The numbers of a quantity in MuJoCo's data, or NULL. */
const mjtNum *sti_quantity_exact(const mjData *d, sti_quantity_kind kind);

/* The pass of MuJoCo's library: forward dynamics on scratch data, in worlds that changed later than `from`. */
stet_result sti_quantities_forward(stet_worlds *worlds, uint64_t from);

#endif
