/* Kernels of the hand that turns a cube. The cube's free joint comes last in qpos and qvel (scenes/hand.xml). */
#include "stet/lang.h"

#include "episode.k.h"

/*
 * ctrl [nu] of the caller's actions [nworld][nu], plain: hold + half * action, action in [-1, 1], kept in the
 * actuator's range. hold, half, low, high [nu] are plain.
 */
world_kernel void k_act(const ureal *action, const ureal *hold, const ureal *half, const ureal *low, const ureal *high,
                        real *ctrl, int nu, int nworld, int world)
{
    each (i, nu) {
        lint at = ep_world(world, nworld) * isplat(nu) + isplat(i);
        real u = clamp(gather(action, at), splat(-1), splat(1));
        put(ctrl, i, clamp(fma(splat(half[i]), u, splat(hold[i])), splat(low[i]), splat(high[i])));
    }
}

/*
 * worth [1]: how fast the cube turns about the vertical, counter-clockwise from above, in rad/s and at most 5 either
 * way; -10 for dropping it. failed [1]: it is farther than `farthest` (m) from where it lies in home [nq]. Rates of a
 * free joint are about the body's own axes, so the vertical one is the last row of its rotation times them.
 */
world_kernel void k_judge(const real *qpos, const real *qvel, const ureal *home, real *worth, lint *failed, int nq,
                          int nv, ureal farthest)
{
    each (i, 1) {
        int p = nq - 7, r = nv - 3;
        real w = qpos[p + 3], x = qpos[p + 4], y = qpos[p + 5], z = qpos[p + 6];
        real turn = splat(2) * (x * z - w * y) * qvel[r] + splat(2) * (y * z + w * x) * qvel[r + 1] +
                    (splat(1) - splat(2) * (x * x + y * y)) * qvel[r + 2];
        real dx = qpos[p] - splat(home[p]), dy = qpos[p + 1] - splat(home[p + 1]),
             dz = qpos[p + 2] - splat(home[p + 2]);
        mask held = le(dx * dx + dy * dy + dz * dz, splat(farthest * farthest));
        put(worth, i, select(held, clamp(turn, splat(-5), splat(5)), splat(-10)));
        failed[i] = iselect(held, isplat(0), isplat(1));
    }
}
