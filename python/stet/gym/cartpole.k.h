/*
 * Kernels of the cart-pole. q [2]: x of the cart (m), angle of the pole from upright (rad, leaning to +x); v [2]: their
 * rates.
 *
 * The task, its constants and its limits are those of Barto, Sutton and Anderson, "Neuronlike adaptive elements that
 * can solve difficult learning control problems" (1983).
 */
#include "stet/lang.h"

#include "episode.k.h"

/*
 * ctrl [1], force / 10 N, of the caller's actions [nworld]: choice 0 or 1 (to -x, to +x) if it is discrete, else push
 * in [-1, 1].
 */
world_kernel void k_push(const int *choice, const ureal *push, real *ctrl, int discrete, int nworld, int world)
{
    each (i, 1) {
        lint at = ep_world(world, nworld);
        real u;
        if (discrete)
            u = select(ieq(igather(choice, at), isplat(0)), splat(-1), splat(1));
        else
            u = clamp(gather(push, at), splat(-1), splat(1));
        put(ctrl, i, u);
    }
}

/*
 * dt seconds of a cart of 1 kg with a uniform pole of 0.1 kg and 1 m on it, under 10 N * ctrl. Semi-implicit Euler:
 * first rates, then positions with the new rates. The equations are those without friction of Florian, "Correct
 * equations for the dynamics of the cart-pole system" (2007).
 */
world_kernel void k_move(const real *ctrl, real *q, real *v, ureal dt)
{
    each (i, 1) {
        const ureal pole = (ureal)0.1, total = (ureal)1.1, half = (ureal)0.5, gravity = (ureal)9.8;
        real s = sin(q[1]), c = cos(q[1]), w = v[1];
        real push = (splat(10) * ctrl[0] + splat(pole * half) * w * w * s) / splat(total);
        real bend = (splat(gravity) * s - c * push) /
                    (splat(half) * (splat((ureal)4 / (ureal)3) - splat(pole / total) * c * c));
        real slide = push - splat(pole * half / total) * bend * c;
        real xrate = fma(splat(dt), slide, v[0]), rate = fma(splat(dt), bend, w);
        put(v, 0, xrate);
        put(v, 1, rate);
        put(q, 0, fma(splat(dt), xrate, q[0]));
        put(q, 1, fma(splat(dt), rate, q[1]));
    }
}

/* worth [1]: 1 a step. failed [1]: the cart left its rail or the pole leans too far (or a number is none). */
world_kernel void k_judge(const real *q, real *worth, lint *failed, ureal farthest, ureal steepest)
{
    each (i, 1) {
        mask fine = m_and(le(rabs(q[0]), splat(farthest)), le(rabs(q[1]), splat(steepest)));
        put(worth, i, splat(1));
        failed[i] = iselect(fine, isplat(0), isplat(1));
    }
}

/* observation [nworld][4], plain: x, its rate, angle, its rate. */
world_kernel void k_observe(const real *q, const real *v, ureal *observation, int nworld, int world)
{
    each (i, 2) {
        mask live = ep_live(world, nworld);
        lint at = ishl(ep_world(world, nworld), 2) + isplat(2 * i);
        scatter_if(live, observation, at, q[i]);
        scatter_if(live, observation, at + isplat(1), v[i]);
    }
}

/*
 * Poses of bodies for a picture: xpos [nbody][3], xquat [nbody][4]. rest [nbody][3], plain: where they are at q = 0.
 * Body 0 is the world, all others ride on the cart, and the last one is the pole.
 */
world_kernel void k_poses(const real *q, const ureal *rest, real *xpos, real *xquat, int nbody)
{
    each (b, nbody) {
        real half = splat((ureal)0.5) * q[1];
        int turned = b == nbody - 1;
        put(xpos, 3 * b, splat(rest[3 * b]) + (b > 0 ? q[0] : splat(0)));
        put(xpos, 3 * b + 1, splat(rest[3 * b + 1]));
        put(xpos, 3 * b + 2, splat(rest[3 * b + 2]));
        put(xquat, 4 * b, turned ? cos(half) : splat(1));
        put(xquat, 4 * b + 1, splat(0));
        put(xquat, 4 * b + 2, turned ? sin(half) : splat(0));
        put(xquat, 4 * b + 3, splat(0));
    }
}
