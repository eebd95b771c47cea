/*
 * Masses on springs over a floor: one time step in small kernels, as a person would write them. Kind world.
 *
 * pos, vel, force [nmass * 3] (m, m/s, N, world frame, z up); way [nspring * 3] from the first mass of a spring to its
 * second; length, rate, tension [nspring] (m, m/s, N; a positive tension pulls the masses together). Integration is
 * semi-implicit Euler: first velocities, then positions with the new velocities (E. Hairer, C. Lubich, G. Wanner,
 * Geometric Numerical Integration, I.1).
 */
#include "stet/lang.h"

world_kernel void k_spring_way(const real *pos, const int *spring, real *way, int nspring)
{
    each (i, nspring) {
        int a = spring[i * 2], b = spring[i * 2 + 1];
        for (int k = 0; k < 3; ++k) put(way, i * 3 + k, pos[b * 3 + k] - pos[a * 3 + k]);
    }
}

world_kernel void k_spring_length(const real *way, real *length, int nspring)
{
    each (i, nspring) {
        real x = way[i * 3], y = way[i * 3 + 1], z = way[i * 3 + 2];
        put(length, i, sqrt(fma(z, z, fma(y, y, x * x))));
    }
}

/* way becomes a unit vector; that of a spring without length stays zero, so that it pulls nowhere. */
world_kernel void k_spring_direction(const real *length, real *way, int nspring)
{
    each (i, nspring) {
        mask some = lt(splat(0), length[i]);
        real scale = select(some, splat(1) / select(some, length[i], splat(1)), splat(0));
        for (int k = 0; k < 3; ++k) put(way, i * 3 + k, way[i * 3 + k] * scale);
    }
}

/* How fast a spring grows longer. */
world_kernel void k_spring_rate(const real *vel, const real *way, const int *spring, real *rate, int nspring)
{
    each (i, nspring) {
        int a = spring[i * 2], b = spring[i * 2 + 1];
        real sum = splat(0);
        for (int k = 0; k < 3; ++k) sum = fma(vel[b * 3 + k] - vel[a * 3 + k], way[i * 3 + k], sum);
        put(rate, i, sum);
    }
}

/* Hooke's law with linear damping; stiffness [1] (N/m) and damping [1] (N s/m) are each world's own. */
world_kernel void k_spring_tension(const real *length, const real *rate, const ureal *rest, const real *stiffness,
                                   const real *damping, real *tension, int nspring)
{
    each (i, nspring) put(tension, i, fma(stiffness[0], length[i] - splat(rest[i]), damping[0] * rate[i]));
}

world_kernel void k_mass_weight(real *force, ureal weight, int nmass)
{
    each (i, nmass) {
        put(force, i * 3, splat(0));
        put(force, i * 3 + 1, splat(0));
        put(force, i * 3 + 2, splat(-weight));
    }
}

/*
 * The pull of the springs: end[first[i]] … end[first[i + 1] - 1] are the springs of mass i, each as 2 * spring + (1: it
 * is the spring's second mass). They are summed in that order, so the result does not depend on the order of threads.
 */
world_kernel void k_mass_pull(const real *tension, const real *way, const int *first, const int *end, real *force,
                              int nmass)
{
    each (i, nmass) {
        real f[3];
        for (int k = 0; k < 3; ++k) f[k] = force[i * 3 + k];
        for (int e = first[i]; e < first[i + 1]; ++e) {
            int s = end[e] / 2;
            real t = end[e] % 2 == 1 ? -tension[s] : tension[s];
            for (int k = 0; k < 3; ++k) f[k] = fma(t, way[s * 3 + k], f[k]);
        }
        for (int k = 0; k < 3; ++k) put(force, i * 3 + k, f[k]);
    }
}

/*
 * The floor z = 0 pushes back by penalty: stiffness (N/m) times how deep a mass of this radius (m) is in it, less
 * damping (N s/m) times its speed upwards, never pulling; and it resists sliding with slip (N s/m).
 */
world_kernel void k_mass_contact(const real *pos, const real *vel, real *force, ureal radius, ureal stiffness,
                                 ureal damping, ureal slip, int nmass)
{
    each (i, nmass) {
        real deep = splat(radius) - pos[i * 3 + 2];
        mask touches = lt(splat(0), deep);
        real push = rmax(fma(splat(stiffness), deep, -(splat(damping) * vel[i * 3 + 2])), splat(0));
        real drag = select(touches, splat(slip), splat(0));
        put(force, i * 3, fma(-drag, vel[i * 3], force[i * 3]));
        put(force, i * 3 + 1, fma(-drag, vel[i * 3 + 1], force[i * 3 + 1]));
        put(force, i * 3 + 2, force[i * 3 + 2] + select(touches, push, splat(0)));
    }
}

/* scale: the time step over the mass of one (s/kg). */
world_kernel void k_mass_velocity(const real *force, real *vel, ureal scale, int nmass)
{
    each (i, nmass * 3) put(vel, i, fma(force[i], splat(scale), vel[i]));
}

world_kernel void k_mass_position(const real *vel, real *pos, ureal timestep, int nmass)
{
    each (i, nmass * 3) put(pos, i, fma(vel[i], splat(timestep), pos[i]));
}
