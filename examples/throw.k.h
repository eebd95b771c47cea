/*
 * Kernels of the example `throw`: a ball, a floor, and a ring that it is to fly through. A world is a throw of its own.
 * Kind world.
 *
 * pos, vel, launch [3] (m, m/s; z up): the ball, and the velocity with which it was thrown; ring [3] (m): the ring's
 * centre, which faces along x.
 */
#include "stet/lang.h"

/* The beginning; from [3] (m). */
world_kernel void k_throw(const ureal *from, const real *launch, real *pos, real *vel, real *near)
{
    each (k, 3) {
        put(pos, k, splat(from[k]));
        put(vel, k, launch[k]);
    }
    each (i, 1) put(near, i, splat(0));
}

/*
 * A time step (s) of a ball of mass 1 kg: gravity (m/s^2), and a floor that pushes with `stiffness` (N/m) times how
 * deep the ball of this radius (m) is in it, less the faster the ball leaves it already (damping, N s/m a metre of
 * depth; it never pulls), and rubs with `rub` (s/m) of that push. The push begins from nothing, so small changes of a
 * throw make small changes of its path.
 */
world_kernel void k_fly(real *pos, real *vel, ureal timestep, ureal gravity, ureal radius, ureal stiffness,
                        ureal damping, ureal rub)
{
    each (i, 1) {
        real deep = rmax(splat(radius) - pos[2], splat(0));
        real push = rmax(deep * fma(splat(-damping), vel[2], splat(stiffness)), splat(0));
        real drag = splat(-rub) * push;
        real x = fma(drag * vel[0], splat(timestep), vel[0]), y = fma(drag * vel[1], splat(timestep), vel[1]);
        real z = fma(push - splat(gravity), splat(timestep), vel[2]);
        put(pos, 0, fma(x, splat(timestep), pos[0]));
        put(pos, 1, fma(y, splat(timestep), pos[1]));
        put(pos, 2, fma(z, splat(timestep), pos[2]));
        put(vel, 0, x);
        put(vel, 1, y);
        put(vel, 2, z);
    }
}

/*
 * near [1]: the sum over the steps of exp(-sharp d^2), d (m) from the ball to the ring's centre. The moment at which
 * the ball is nearest counts most, the more so the sharper, and nobody has to say beforehand which that is.
 */
world_kernel void k_near(const real *pos, const real *ring, real *near, ureal sharp)
{
    each (i, 1) {
        real sum = splat(0);
        for (int k = 0; k < 3; ++k) {
            real off = pos[k] - ring[k];
            sum = fma(off, off, sum);
        }
        put(near, i, near[i] + exp(splat(-sharp) * sum));
    }
}

/* miss [1] (m^2): about the square of the least distance, and smooth. */
world_kernel void k_miss(const real *near, real *miss, ureal sharp)
{
    each (i, 1) put(miss, i, -log(near[i] + splat(1e-30f)) / splat(sharp));
}

/*
 * through [1]: 1 once the ball's centre has gone through the ring, of this width (m) from its centre, from x below to x
 * above.
 */
world_kernel void k_through(const real *pos, const real *vel, const real *ring, lint *through, ureal timestep,
                            ureal width)
{
    each (i, 1) {
        real ago = (pos[0] - ring[0]) / rmax(vel[0], splat(1e-6f)); /* s since it was in the ring's plane */
        real y = fma(-ago, vel[1], pos[1]) - ring[1], z = fma(-ago, vel[2], pos[2]) - ring[2];
        mask now = m_and(le(splat(0), ago), lt(ago, splat(timestep)));
        mask within = lt(fma(y, y, z * z), splat(width * width));
        through[i] = iselect(m_and(now, within), isplat(1), through[i]);
    }
}
