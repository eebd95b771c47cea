/*
 * The kernel that looks for flags of stacks that were too short. Kind item.
 */
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
