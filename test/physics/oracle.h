/*
 * Native physics held against MuJoCo: the same state in both, then forward dynamics and a step, quantity by quantity.
 *
 * The error of a quantity is the greatest difference of its numbers, divided by the greatest of MuJoCo's numbers (at
 * least ORACLE_FLOOR, in float ORACLE_FLOOR_FLOAT: a quantity that is all rounding has no relative error).
 */
#ifndef TEST_PHYSICS_ORACLE_H
#define TEST_PHYSICS_ORACLE_H

#include "worlds/rig.h"

#include "physics/native.h"

enum { ORACLE_MOST = 48, ORACLE_WORLDS = 8 };
#define ORACLE_FLOOR 1e-2
#define ORACLE_FLOOR_FLOAT 1.0

/* The greatest error of each quantity over all comparisons so far, and where it was. */
typedef struct oracle_errors {
    const char *name[ORACLE_MOST];
    double worst[ORACLE_MOST];
    int n;
    int nsingular; /* worlds whose step is not compared: a matrix is singular, or nearly so in float */
} oracle_errors;

/* Fills worlds and mjData alike: worlds[w] and data[w] for w < ORACLE_WORLDS have the same state and inputs. */
void oracle_states(const rig *r, mjData **data, uint64_t *dice);
/* The same near qpos0: size is by how much qpos differs from it. */
void oracle_near_states(const rig *r, mjData **data, double size, uint64_t *dice);
/*
 * mj_forward, with constraint forces as exact as rounding allows: MuJoCo's Newton's method ends where costs do not
 * differ any more, and costs have half the digits that accelerations have. So it begins again where it ended.
 */
void oracle_forward(const mjModel *m, mjData *d);
/* Compares all quantities of the present state, then the state after nstep steps. */
void oracle_compare(rig *r, mjData **data, int nstep, oracle_errors *errors);
/* Both, on a device of this instruction set, for a model's text or scene. */
void oracle_check(const char *scene, const char *isa, int nstep, uint64_t *dice, oracle_errors *errors);
/* all = the greater of both. */
void oracle_merge(oracle_errors *all, const oracle_errors *one);
void oracle_print(const oracle_errors *errors, const char *what);
/*
 * Fails if a quantity's error is above the limit. `conditioned` is the limit for those that an inertia matrix which is
 * nearly singular makes as large as it likes: its factors, accelerations, the state after a step. For them "qacc
 * backward" is the measure: the force that the wrong acceleration would need, relative to the forces at work.
 */
void oracle_limit(const oracle_errors *errors, double limit, double conditioned, const char *what);

double oracle_uniform(uint64_t *dice, double low, double high);

#endif
