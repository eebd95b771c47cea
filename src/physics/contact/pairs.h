/* Pairs of geoms that may touch, and what their contacts are like. */
#ifndef STI_PHYSICS_PAIRS_H
#define STI_PHYSICS_PAIRS_H

#include "model/model.h"

#include <stdbool.h>

/* One block, before it is in tables. */
typedef struct sti_block {
    int kind, type, dim, id, side, obj[2];
    const mjtNum *solref, *solimp;
    double margin, gap, adhesion, reach, diag[2], loss;
    const mjtNum *solref_friction;
    double friction[5], ref[mjNREF], imp[mjNIMP]; /* of contacts; solref and solimp may point here */
} sti_block;

/* A kind of constraint that is disabled, alone or with all. */
bool sti_physics_is_off(const mjModel *model, int flag);
/*
 * How many contacts two geoms of these types, in ascending order, may have; 0: no function of native physics has them.
 */
int sti_physics_pair_contacts(int first, int second);
/* Are the contacts of these types, in ascending order, found by iterations? */
bool sti_physics_is_searched(int first, int second);
/* Do the bits of two geoms (contype, conaffinity) let them touch? */
bool sti_physics_bits_match(const mjModel *model, int g1, int g2);
/* The margin of a geom's contacts, as options have it. */
double sti_physics_geom_margin(const mjModel *model, int g);
/*
 * Do contacts above the margin, within a gap, count? They have no forces but between geoms that adhere; sensors of
 * contacts, and actuators that pull bodies to what they touch, need them, too.
 */
bool sti_physics_sees_gaps(const mjModel *model);
/* Do geoms pull at what they touch? */
bool sti_physics_is_adhesive(const mjModel *model);
/* The gap of a geom, 0 where it does not count. */
double sti_physics_geom_gap(const mjModel *model, int g);
/* Can these two geoms ever touch, without being an explicit pair? As MuJoCo filters pairs of geoms. */
bool sti_physics_may_touch(const mjModel *model, int g1, int g2);
/* The block of two geoms, the first before the second; pair: the explicit pair that says so, or -1. */
sti_block sti_physics_geoms_block(const mjModel *model, int g1, int g2, int pair);
/* A place in the list of all pairs of geoms that may touch: explicit ones, then by the first and the second geom. */
typedef struct sti_pair_place {
    int geom[2]; /* of the latest pair */
    int pair;    /* the explicit pair that it is, or -1 */
    int next;    /* the explicit pair to look at next */
} sti_pair_place;

/*
 * The next pair, from {.next = 0} on; false: there is none. Planes and height fields among themselves are none, unless
 * they are explicit.
 */
bool sti_physics_next_pair(const mjModel *model, sti_pair_place *place);
bool sti_physics_has_pairs(const mjModel *model);
/* May something slip: is there friction of contacts, dofs or tendons? */
bool sti_physics_slips(const mjModel *model);

#endif
