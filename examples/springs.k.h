/*
 * Kernels of the example `fit`: a net of masses on springs over a floor, how far it is from one that was seen, and a
 * step of an optimizer. A world is an attempt of its own: it has its own guess of the net's constants. Kind world.
 *
 * pos, vel [nmass * 3] (m, m/s; z up); constant [3]: stiffness of the springs along the net's threads, of those across
 * (N/m), damping (N s/m); guess [3]: their logarithms, so that they stay positive, and a step of the optimizer is a
 * factor.
 */
#include "stet/lang.h"

/* The beginning: masses at start [nmass * 3] (m), at rest; nothing missed yet. */
world_kernel void k_begin(const real *guess, const ureal *start, real *constant, real *pos, real *vel, real *miss,
                          int nmass)
{
    each (i, 3) put(constant, i, exp(guess[i]));
    each (i, nmass * 3) {
        put(pos, i, splat(start[i]));
        put(vel, i, splat(0));
    }
    each (i, nmass) put(miss, i, splat(0));
}

/*
 * pull [nspring * 3] (N): what each spring does to its first mass; to its second the opposite. Hooke's law with damping
 * along the spring. spring [nspring * 2]: its masses; rest [nspring] (m): its length at rest; kind [nspring]: which
 * stiffness it has.
 */
world_kernel void k_springs(const real *pos, const real *vel, const real *constant, const int *spring,
                            const ureal *rest, const int *kind, real *pull, int nspring)
{
    each (i, nspring) {
        int a = spring[i * 2], b = spring[i * 2 + 1];
        real way[3], square = splat(0), closing = splat(0);
        for (int k = 0; k < 3; ++k) {
            way[k] = pos[b * 3 + k] - pos[a * 3 + k];
            square = fma(way[k], way[k], square);
            closing = fma(vel[b * 3 + k] - vel[a * 3 + k], way[k], closing);
        }
        real length = sqrt(square);
        real tension = fma(constant[kind[i]], length - splat(rest[i]), constant[2] * (closing / length));
        real scale = tension / length;
        for (int k = 0; k < 3; ++k) put(pull, i * 3 + k, scale * way[k]);
    }
}

/*
 * A time step: velocities, then positions with the new ones. side[first[i]] … side[first[i + 1] - 1] are the springs of
 * mass i, as 2 * spring + (1: it is the spring's second mass). timestep (s), mass (kg), gravity (m/s^2); the floor z =
 * 0 pushes with `floor` (N/m) times the depth, and rubs with `rub` (N s/m).
 */
world_kernel void k_masses(const real *pull, const int *first, const int *side, real *pos, real *vel, ureal timestep,
                           ureal mass, ureal gravity, ureal floor, ureal rub, int nmass)
{
    each (i, nmass) {
        real force[3] = {splat(0), splat(0), splat(0)};
        for (int s = first[i]; s < first[i + 1]; ++s) {
            int spring = side[s] / 2;
            real sign = splat(side[s] % 2 == 1 ? -1 : 1);
            for (int k = 0; k < 3; ++k) force[k] = fma(sign, pull[spring * 3 + k], force[k]);
        }
        real deep = rmax(-pos[i * 3 + 2], splat(0));
        real drag = select(lt(splat(0), deep), splat(-rub), splat(0));
        for (int k = 0; k < 3; ++k) force[k] = fma(drag, vel[i * 3 + k], force[k]);
        force[2] = fma(splat(floor), deep, force[2] - splat(mass * gravity));
        for (int k = 0; k < 3; ++k) {
            real v = fma(force[k], splat(timestep / mass), vel[i * 3 + k]);
            put(vel, i * 3 + k, v);
            put(pos, i * 3 + k, fma(v, splat(timestep), pos[i * 3 + k]));
        }
    }
}

/* miss [nmass] (m^2): the squared distances to where each mass was seen, added up over the steps. */
world_kernel void k_miss(const real *pos, const ureal *seen, real *miss, int step, int nmass)
{
    each (i, nmass) {
        real sum = miss[i];
        for (int k = 0; k < 3; ++k) {
            real off = pos[i * 3 + k] - splat(seen[(step * nmass + i) * 3 + k]);
            sum = fma(off, off, sum);
        }
        put(miss, i, sum);
    }
}
