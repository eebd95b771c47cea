/*
 * Parameters that differ between worlds, as native physics reads them. What differs from the shared array f in any
 * world moves to an array of worlds v, table by table; its entry in m becomes negative (layout.k.h).
 *
 *   OWN-1  the tables of ints are those of a model in which everything that any world has is present: a spring, a
 *       damper, friction loss, a frame of its own. What a world lacks there contributes nothing to it.
 *       Pairs of geoms are those that the bits of any world let touch; where a world's own do not, its reach is NaN
 *   OWN-2  the numbers of a world are those that the tables would hold for a model with that world's parameters
 *   OWN-3  a table that moved to v stays there until no parameter is given
 *   OWN-4  kernels read parameters by par(), which knows where they are; but for those that read_raw lists, of meshes
 *       and options that all worlds share (tools/check_source.py)
 */
#ifndef STI_PHYSICS_PARAMETERS_H
#define STI_PHYSICS_PARAMETERS_H

#include "physics/tables.h"
#include "worlds/worlds.h"

typedef struct sti_native_parameters {
    stet_array *v;  /* [nworld][nv]; NULL: no parameter differs */
    int nv;         /* numbers of a world */
    int *begin;     /* where tables begin in f, as if none had moved; from PH_PARAMETER_FIRST on */
    uint64_t clock; /* of the worlds' parameters when this was last made */
    uint64_t *key;  /* [nworld], the content of a world's parameters that v has; see sti_parameters */
    mjModel all;    /* OWN-1: the structure, with arrays of its own */
    void *arrays;   /* the memory of those arrays; NULL: `all` is not made */
    bool *meshes;   /* [nmesh], which meshes a world has where the model has another; */
    bool meshed;    /* whether there are such */
    double *f;      /* [threads][nf] */
} sti_native_parameters;

/*
 * Brings v up to date, and the tables, which are those of the worlds' model in the beginning. Sets *changed if the
 * tables changed and have to be uploaded. Costs nothing if no parameter changed since the last call.
 */
stet_result sti_native_parameters_update(sti_native_parameters *p, stet_worlds *worlds, sti_physics_tables *tables,
                                         bool *changed);
void sti_native_parameters_free(sti_native_parameters *p);

#endif
