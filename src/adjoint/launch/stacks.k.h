/* What is done about flags of stacks that were too short: the host looks for them, and gradients become NaN. */
#include "stet/lang.h"

#define STACK_TEAM 256

/*
 * Finds the first flag that is not 0 in each block's part of flags [n]: found[2 * block] = its place, or n if there is
 * none; found[2 * block + 1] = its value.
 */
item_kernel void k_stack_flags(const int *flags, i64 n, i64 blocks, i64 *found, int block)
{
    shared(i64, part, STACK_TEAM);
    each (g, STACK_TEAM) {
        i64 first = n;
        for (i64 i = (i64)block * STACK_TEAM + g; i < n; i += blocks * STACK_TEAM)
            if (flags[i] != 0 && i < first) first = i;
        part[g] = first;
    }
    sync();
    each (one, 1) {
        i64 first = n;
        for (int k = 0; k < STACK_TEAM; ++k)
            if (part[k] < first) first = part[k];
        found[2 * (i64)block] = first;
        found[2 * (i64)block + 1] = first < n ? (i64)flags[first] : 0;
    }
}

/*
 * A gradient of a world kernel becomes NaN in a world that has a flag among its `width`; overs [world][room]. Worlds
 * that share a vector share their flags.
 */
world_kernel void k_poison_worlds(const int *overs, i64 room, int width, real *gradient, int n, int world)
{
    int over = 0;
    for (int c = 0; c < width; ++c) over = over | overs[(i64)world * room + c];
    if (over != 0) {
        each (i, n) put(gradient, i, splat(0) / splat(0));
    }
}

/* Whether k_stack_flags found a flag among `flags` in its `looks` blocks. */
LFN int stack_found(const i64 *found, i64 looks, i64 flags)
{
    int over = 0;
    for (i64 k = 0; k < looks; ++k)
        if (found[2 * k] < flags) over = 1;
    return over;
}

/* Then all of a gradient of an item kernel becomes NaN: of an array of worlds with n items, or of a plain one of n. */
world_kernel void k_poison_shares(const i64 *found, i64 looks, i64 flags, real *gradient, int n, int world)
{
    (void)world;
    int over = stack_found(found, looks, flags);
    if (over != 0) {
        each (i, n) put(gradient, i, splat(0) / splat(0));
    }
}

item_kernel void k_poison_items(const i64 *found, i64 looks, i64 flags, ureal *gradient, i64 n, i64 blocks, int block)
{
    int over = stack_found(found, looks, flags);
    i64 part = (n + blocks - 1) / blocks, begin = part * block;
    if (over != 0 && begin < n) {
        int m = (int)(n - begin < part ? n - begin : part);
        items (i, m) store(gradient + begin + i, splat(0) / splat(0));
    }
}
