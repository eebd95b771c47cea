/*
 * Arrays of pairs of geoms, for probe kernels: lanes are pairs. `in` [PROBE_IN][padded] holds poses, sizes and the
 * margin, `out` [slot][PROBE_OUT][padded] the contacts. `padded` is a multiple of the 256 pairs of a block.
 */
#ifndef TEST_PHYSICS_COLLIDE_ARRAYS_K_H
#define TEST_PHYSICS_COLLIDE_ARRAYS_K_H
#include "physics/collide/contact.k.h"
#include "test/physics/collide_probe.h"

LFN void probe_geom(const ureal *in, int padded, geom *g)
{
    for (int k = 0; k < 3; ++k) g->pos[k] = load(in + k * padded);
    for (int k = 0; k < 9; ++k) g->mat[k] = load(in + (3 + k) * padded);
    for (int k = 0; k < 3; ++k) g->size[k] = load(in + (12 + k) * padded);
}

LFN void probe_contacts(const contact *con, int n, ureal *out, int padded)
{
    for (int i = 0; i < n; ++i) {
        ureal *o = out + i * PROBE_OUT * padded;
        store(o, select(con[i].hit, splat(1), splat(0)));
        store(o + padded, select(con[i].hit, con[i].dist, splat(0)));
        for (int k = 0; k < 3; ++k) {
            store(o + (2 + k) * padded, select(con[i].hit, con[i].pos[k], splat(0)));
            store(o + (5 + k) * padded, select(con[i].hit, con[i].normal[k], splat(0)));
        }
    }
}

#endif
