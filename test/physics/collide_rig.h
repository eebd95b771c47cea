/* Shared by the tests of collisions: random pairs of geoms, MuJoCo's contacts for them, those of a probe kernel. */
#ifndef TEST_PHYSICS_COLLIDE_RIG_H
#define TEST_PHYSICS_COLLIDE_RIG_H

#include "geom/rays.h"
#include "kernel/record/launch.h"
#include "physics/collide_probe.h"

#include <mujoco/mujoco.h>

enum { COLLIDE_MOST = 64, COLLIDE_BLOCK = 256 };

typedef struct touch {
    double dist, pos[3], normal[3];
} touch;
typedef struct touches {
    int n;
    touch at[COLLIDE_MOST];
} touches;

/* How a case came about; generic cases have no two directions or places that belong together. */
typedef enum collide_kind { COLLIDE_GENERIC, COLLIDE_DEGENERATE, COLLIDE_KINDS } collide_kind;

/* Pairs of geoms of two types, in MuJoCo's order, and what MuJoCo makes of them. */
typedef struct collide_set {
    int n, padded;
    double *in; /* [PROBE_IN][padded] */
    collide_kind *kind;
    touches *want;
    mjModel *model; /* of the two geoms 0 and 1 */
} collide_set;

typedef struct collide_pair {
    const char *name, *first, *second; /* types of MJCF */
    const sti_kernel *kernel;
    int slots;
    double generic_share, degenerate_share; /* of cases that must agree */
    double tolerance;                       /* of the distance (m) */
    double way_tolerance;                   /* of position (m) and normal */
    double most_margin;
    int disable;          /* mjtDisableBit for MuJoCo */
    double ccd_tolerance; /* for MuJoCo; 0: its own */
    bool deeper;          /* a contact that is deeper than MuJoCo's agrees, too */
    /* Arguments between `out` and `padded`, of the model. NULL: none */
    int (*more)(const mjModel *m, bool real_is_double, sti_slot *slot);
} collide_pair;

collide_set collide_set_create(const collide_pair *pair, random_state *r, int n);
void collide_set_destroy(collide_set *s);
/* The contacts of a set: out [slots][PROBE_OUT][padded], of the instruction set's real. */
void collide_run(const collide_pair *pair, const collide_set *s, int isa, void *out);
touches collide_contacts(const collide_pair *pair, const collide_set *s, const double *out, int i);
/*
 * Compares all cases in double with MuJoCo's, prints the share that agrees and fails if it is too small. Whatever
 * agrees: normals are unit vectors and no contact is beyond the margin.
 */
void collide_check_oracle(const collide_pair *pair, const collide_set *s);
/* Both geoms moved alike: so are the contacts. At most the share of `allowed` generic cases may differ. */
void collide_check_moved(const collide_pair *pair, collide_set *s, random_state *r, double allowed);
/* In float the deepest contact is near that in double, but for the share of `allowed` generic cases. */
void collide_check_float(const collide_pair *pair, const collide_set *s, double bound, double allowed);
/* All contacts have the same bits at every width, wherever among the lanes a pair is. */
void collide_check_widths(const collide_pair *pair, const collide_set *s);

/* Makes n random cases and all these checks; in float 1e-4 m is near. `allowed`: shares of generic cases. */
void collide_check_pair(const collide_pair *pair, random_state *r, int n, double float_allowed, double moved_allowed);

#endif
