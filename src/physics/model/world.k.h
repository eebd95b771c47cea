/*
 * What kernels of the physics read and write of a world, by name. `w` is the world (ph_world): nv(w) is a size of its
 * model, body_parentid(w) a table of ints, body_mass(w, i) item i of a parameter, which may be this world's own, and
 * xpos(w) a quantity in its memory. Several items of a parameter: pars(w, M_BODY_POS, i, n, out). rows.inl says
 * what each is.
 */
#ifndef STI_PHYSICS_WORLD_K_H
#define STI_PHYSICS_WORLD_K_H

#include "physics/model/layout.k.h"

typedef struct ph_world {
    const int *tables;  /* of the model */
    const ureal *reals; /* of the model: parameters that all worlds share */
    const real *own;    /* parameters that are this world's own */
    real *memory;       /* of the team */
    int *ints;          /* of the team: plain */
} ph_world;

#define PH_NUMBER(w, number) (PH_TABLES(w)[number])
#define PH_TABLE(w, number) (PH_TABLES(w) + PH_TABLES(w)[number])

#include "physics/access.k.h"

#endif
