/*
 * Fluid forces and, for integrators that want them, their derivatives by velocities: of a body as of the box with its
 * inertia or, if it has geoms with fluidshape="ellipsoid", of each of those as of an ellipsoid (MuJoCo's chapter Fluid
 * forces). Part of the kernels that include it, after velocity.k.h.
 *
 * A force is found in the frame of the body's inertia or of the geom, where velocities are those of its origin against
 * the medium: six numbers, rotation first, as the force has torque first.
 */

/* The velocity of the point `at` of body b in the frame R, against the medium. */
LFN void ph_flow(ph_world w, int b, const real *R, const real *at, real *local)
{
    const real *cvel = cvel(w) + 6 * b, *com = subtree_com(w) + 3 * body_rootid(w)[b];
    real off[3], velocity[3];
    for (int k = 0; k < 3; ++k) {
        off[k] = at[k] - com[k];
        velocity[k] = cvel[3 + k] - fluid(w, 2 + k);
    }
    ph_add_cross(cvel, off, velocity);
    m3_mul_transposed(R, cvel, local);
    m3_mul_transposed(R, velocity, local + 3);
}

/* What the medium does to the box of a body: along and about the axes of its inertial frame. */
typedef struct ph_drag {
    real flow[3], spin[3]; /* the body's velocities in the medium */
    real area[3], turn[3]; /* of the force and the torque: what grows with their squares, */
    real push, twist;      /* and with themselves */
    mask none;             /* the body has no mass, so there is nothing */
} ph_drag;

LFN void ph_find_drag(ph_world w, int b, ph_drag *out)
{
    real mass = body_mass(w, b), density = fluid(w, 0), viscosity = fluid(w, 1);
    real I[3], s[3], local[6];
    out->none = lt(mass, splat(PHYSICS_MINVAL));
    real inverse = select(out->none, splat(0), splat(1) / mass);
    pars(w, M_BODY_INERTIA, 3 * b, 3, I);
    ph_flow(w, b, ximat(w) + 9 * b, xipos(w) + 3 * b, local);
    for (int k = 0; k < 3; ++k) {
        real more = I[(k + 1) % 3] + I[(k + 2) % 3] - I[k];
        s[k] = sqrt(rmax(splat(PHYSICS_MINVAL), more) * inverse * splat(6));
        out->spin[k] = local[k];
        out->flow[k] = local[3 + k];
    }
    real diameter = (s[0] + s[1] + s[2]) * splat((ureal)(1. / 3)), pi = splat((ureal)3.14159265358979323846);
    real drag = pi * diameter * viscosity;
    out->push = splat(3) * drag;
    out->twist = drag * diameter * diameter;
    for (int k = 0; k < 3; ++k) {
        real p = s[(k + 1) % 3], q = s[(k + 2) % 3];
        out->area[k] = splat((ureal)0.5) * density * p * q;
        out->turn[k] = density * s[k] * (p * p * p * p + q * q * q * q) * splat((ureal)(1. / 64));
    }
}

/* The force and the torque of that, along the same axes. */
LFN void ph_drag_forces(const ph_drag *d, real *force, real *torque)
{
    for (int k = 0; k < 3; ++k) {
        force[k] = select(d->none, splat(0), -(d->flow[k] * fma(d->area[k], rabs(d->flow[k]), d->push)));
        torque[k] = select(d->none, splat(0), -(d->spin[k] * fma(d->turn[k], rabs(d->spin[k]), d->twist)));
    }
}

/* Minus their derivatives by the same velocities, which are diagonal. */
LFN void ph_drag_slopes(const ph_drag *d, real *by_flow, real *by_spin)
{
    for (int k = 0; k < 3; ++k) {
        by_flow[k] = select(d->none, splat(0), fma(splat(2) * d->area[k], rabs(d->flow[k]), d->push));
        by_spin[k] = select(d->none, splat(0), fma(splat(2) * d->turn[k], rabs(d->spin[k]), d->twist));
    }
}

/* ---- the ellipsoid model ----------------------------------------------------------------------------------------- */

/*
 * What forces on an ellipsoid have in common: area and lift of its section across the velocity v, of length `speed`,
 * where the section's normal is along n. Lengths to the fourth power would leave the range of float, so they are parts
 * of the greatest product of two axes.
 */
typedef struct ph_section {
    real n[3], share[3]; /* n = share v, by components */
    real num, den;       /* v n, n n */
    real speed, area, widest;
    real lift; /* the force of lift is lift (num v - speed^2 n) */
} ph_section;

LFN void ph_cut(const real *axes, const real *v, real density, real kutta, ph_section *s)
{
    real pi = splat((ureal)3.14159265358979323846), most = splat(0), least = rmin(axes[0], rmin(axes[1], axes[2]));
    real top = rmax(axes[0], rmax(axes[1], axes[2])), middle = axes[0] + axes[1] + axes[2] - top - least;
    for (int k = 0; k < 3; ++k) {
        s->share[k] = axes[(k + 1) % 3] * axes[(k + 2) % 3];
        most = rmax(most, s->share[k]);
    }
    for (int k = 0; k < 3; ++k) {
        real part = s->share[k] / most;
        s->share[k] = part * part;
        s->n[k] = s->share[k] * v[k];
    }
    s->num = v3_dot(v, s->n);
    s->den = v3_dot(s->n, s->n);
    s->speed = sqrt(v3_dot(v, v));
    s->widest = pi * top * middle;
    mask still = m_or(lt(s->speed, splat(PHYSICS_MINVAL)), le(s->den, splat(0)));
    real ratio = sqrt(select(still, splat(0), s->den) / select(still, splat(1), s->num));
    s->area = pi * most * ratio;
    real lift = pi * most * kutta * density;
    s->lift = select(still, splat(0), lift / select(still, splat(1), ratio * s->speed));
}

/* Of the torque of drag: what turns about each axis. */
LFN void ph_turning(const real *axes, real slender, real angular, real *out)
{
    real pi = splat((ureal)(8. / 15 * 3.14159265358979323846));
    real least = rmin(axes[0], rmin(axes[1], axes[2])), top = rmax(axes[0], rmax(axes[1], axes[2]));
    real middle = axes[0] + axes[1] + axes[2] - top - least, most = pi * middle * ((top * top) * (top * top));
    for (int k = 0; k < 3; ++k) {
        real wide = rmax(axes[(k + 1) % 3], axes[(k + 2) % 3]);
        real own = pi * axes[k] * ((wide * wide) * (wide * wide));
        out[k] = fma(angular, own, slender * (most - own));
    }
}

/* Coefficients of linear drag, for force and torque. */
LFN real ph_stokes(const real *axes) { return splat((ureal)(2. / 3)) * (axes[0] + axes[1] + axes[2]); }

/* The force on the ellipsoid `p` (FL_…) at this velocity. */
LFN void ph_ellipsoid_force(ph_world w, const real *p, const real *local, real *out)
{
    const real *spin = local, *flow = local + 3;
    real density = fluid(w, 0), viscosity = fluid(w, 1);
    real turning[3], drag[3], momentum[3], turned[3], round[3], stokes = ph_stokes(p + FL_AXES);
    real pi = splat((ureal)3.14159265358979323846);
    ph_section s;
    ph_cut(p + FL_AXES, flow, density, p[FL_KUTTA], &s);
    ph_turning(p + FL_AXES, p[FL_SLENDER], p[FL_ANGULAR], turning);
    for (int k = 0; k < 3; ++k) {
        drag[k] = turning[k] * spin[k];
        momentum[k] = density * p[FL_MASS + k] * flow[k];
        turned[k] = density * p[FL_INERTIA + k] * spin[k];
    }
    real quadratic = fma(s.area, p[FL_BLUNT], p[FL_SLENDER] * (s.widest - s.area));
    real linear = fma(density * s.speed, quadratic, splat(3) * pi * stokes * viscosity);
    real angular = fma(density, sqrt(v3_dot(drag, drag)), pi * stokes * stokes * stokes * viscosity);
    real volume = splat((ureal)(4. / 3)) * pi * p[FL_AXES] * p[FL_AXES + 1] * p[FL_AXES + 2];
    real magnus = p[FL_MAGNUS] * density * volume;
    v3_cross(spin, flow, round);
    for (int k = 0; k < 3; ++k) {
        out[k] = -(angular * spin[k]);
        real lift = s.lift * fma(s.num, flow[k], -(s.speed * s.speed * s.n[k]));
        out[3 + k] = fma(magnus, round[k], lift) - linear * flow[k];
    }
    ph_add_cross(momentum, flow, out);
    ph_add_cross(turned, spin, out);
    ph_add_cross(momentum, spin, out + 3);
    for (int k = 0; k < 6; ++k) out[k] = p[FL_SCALE] * out[k];
}

/* B [6][n], from its column c on: += s [a]x, the matrix of a x. */
LFN void ph_add_cross_matrix(real *B, const real *a, real s)
{
    for (int k = 0; k < 3; ++k) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        B[6 * i + j] = fma(-s, a[k], B[6 * i + j]);
        B[6 * j + i] = fma(s, a[k], B[6 * j + i]);
    }
}
/* The same of the matrix of a x (scale b), by b. */
LFN void ph_add_cross_scaled(real *B, const real *a, const real *scale, real s)
{
    for (int k = 0; k < 3; ++k) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        B[6 * i + j] = fma(-s * scale[j], a[k], B[6 * i + j]);
        B[6 * j + i] = fma(s * scale[i], a[k], B[6 * j + i]);
    }
}

/* Its derivative B [6][6] by the velocity; with `drag`, of drag alone. */
LFN void ph_ellipsoid_slope(ph_world w, const real *p, const real *local, int drag, real *B)
{
    const real *spin = local, *flow = local + 3;
    real density = fluid(w, 0), viscosity = fluid(w, 1), one = splat(1);
    real turning[3], torque[3], stokes = ph_stokes(p + FL_AXES), pi = splat((ureal)3.14159265358979323846);
    ph_section s;
    ph_cut(p + FL_AXES, flow, density, p[FL_KUTTA], &s);
    ph_turning(p + FL_AXES, p[FL_SLENDER], p[FL_ANGULAR], turning);
    for (int k = 0; k < 3; ++k) torque[k] = turning[k] * spin[k];
    mask still = m_or(lt(s.speed, splat(PHYSICS_MINVAL)), le(s.den, splat(0)));
    real size = sqrt(v3_dot(torque, torque)), square = s.speed * s.speed;
    real per_size = density / rmax(splat(PHYSICS_MINVAL), size), per_num = one / select(still, one, s.num);
    real per_den = one / select(still, one, s.den), per_square = one / select(still, one, square);
    real quadratic = fma(s.area, p[FL_BLUNT], p[FL_SLENDER] * (s.widest - s.area));
    real linear = fma(density * s.speed, quadratic, splat(3) * pi * stokes * viscosity);
    real angular = fma(density, size, pi * stokes * stokes * stokes * viscosity);
    real along = density * quadratic * select(still, splat(0), one / select(still, one, s.speed));
    real wider = density * s.speed * (p[FL_BLUNT] - p[FL_SLENDER]) * s.area;
    ph_zero(B, 36);
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            /* Of the logarithms of the area, of lift. */
            real area = select(still, splat(0), s.share[j] * s.n[j] * per_den - s.n[j] * per_num);
            real growth = select(still, splat(0), -area - flow[j] * per_square);
            B[6 * i + j] = -(per_size * spin[i]) * (turning[j] * torque[j]);
            real x = -(flow[i] * fma(wider, area, along * flow[j]));
            real lifted = fma(s.num, flow[i], -(square * s.n[i]));
            real more = splat(2) * fma(flow[i], s.n[j], -(s.n[i] * flow[j]));
            if (!drag) x = fma(s.lift, fma(lifted, growth, more), x);
            B[21 + 6 * i + j] = x;
        }
        B[7 * i] = B[7 * i] - angular;
        B[21 + 7 * i] = B[21 + 7 * i] - linear;
        if (!drag) B[21 + 7 * i] = fma(s.lift, fma(-square, s.share[i], s.num), B[21 + 7 * i]);
    }
    if (!drag) {
        real momentum[3], turned[3], volume = p[FL_AXES] * p[FL_AXES + 1] * p[FL_AXES + 2];
        real magnus = splat((ureal)(4. / 3)) * pi * p[FL_MAGNUS] * density * volume;
        for (int k = 0; k < 3; ++k) {
            momentum[k] = density * p[FL_MASS + k] * flow[k];
            turned[k] = density * p[FL_INERTIA + k] * spin[k];
        }
        ph_add_cross_matrix(B, turned, one);
        ph_add_cross_scaled(B, spin, p + FL_INERTIA, -density);
        ph_add_cross_matrix(B + 3, momentum, one);
        ph_add_cross_scaled(B + 3, flow, p + FL_MASS, -density);
        ph_add_cross_matrix(B + 18, momentum, one);
        ph_add_cross_matrix(B + 18, flow, -magnus);
        ph_add_cross_matrix(B + 21, spin, magnus);
        ph_add_cross_scaled(B + 21, spin, p + FL_MASS, -density);
    }
    for (int k = 0; k < 36; ++k) B[k] = p[FL_SCALE] * B[k];
}

/* ---- of bodies --------------------------------------------------------------------------------------------------- */

/* cfrc of body b += a force in the frame R at the point `at`. */
LFN void ph_add_local_force(ph_world w, int b, const real *R, const real *at, const real *local)
{
    const real *com = subtree_com(w) + 3 * body_rootid(w)[b];
    real *out = cfrc(w) + 6 * b;
    real off[3], force[3], torque[3];
    for (int k = 0; k < 3; ++k) off[k] = at[k] - com[k];
    m3_mul(R, local, torque);
    m3_mul(R, local + 3, force);
    ph_add_cross(off, force, torque);
    for (int k = 0; k < 3; ++k) {
        out[k] = out[k] + torque[k];
        out[3 + k] = out[3 + k] + force[k];
    }
}

/* Geom k of those with an ellipsoid: its numbers; its body's mass decides whether it has a force. */
LFN void ph_fluid_numbers(ph_world w, int b, int k, real *p)
{
    pars(w, M_FLUID_PRM, FL_SIZE * k, FL_SIZE, p);
    p[FL_SCALE] = select(lt(body_mass(w, b), splat(PHYSICS_MINVAL)), splat(0), p[FL_SCALE]);
}

/* cfrc = the force of the medium on body b. */
STET_CALLED LFN void ph_body_fluid(ph_world w, int b)
{
    const real *R = ximat(w) + 9 * b;
    int first = fluid_adr(w)[b], end = fluid_adr(w)[b + 1];
    real local[6], force[6], turned[3];
    if (end > first) {
        ph_zero(cfrc(w) + 6 * b, 6);
        rolled
        for (int k = first; k < end; ++k) {
            int g = fluid_geom(w)[k];
            const real *at = geom_xpos(w) + 3 * g, *frame = geom_xmat(w) + 9 * g;
            real p[FL_SIZE];
            ph_fluid_numbers(w, b, k, p);
            ph_flow(w, b, frame, at, local);
            ph_ellipsoid_force(w, p, local, force);
            ph_add_local_force(w, b, frame, at, force);
        }
        return;
    }
    ph_drag d;
    ph_find_drag(w, b, &d);
    ph_drag_forces(&d, force + 3, force);
    m3_mul(R, force + 3, turned);
    ph_place_force(w, b, turned);
    m3_mul(R, force, turned);
    for (int k = 0; k < 3; ++k) cfrc(w)[6 * b + k] = cfrc(w)[6 * b + k] + turned[k];
}

/* qfrc_fluid */
LFN void ph_fluid(ph_world w)
{
    real *out = qfrc_fluid(w);
    if (!(model_flags(w) & PH_FLUID)) {
        each (d, nv(w)) out[d] = splat(0);
        sync();
        return;
    }
    each (i, nbody(w) - 1) ph_body_fluid(w, i + 1);
    sync();
    ph_gather_forces(w);
    each (d, nv(w)) out[d] = ph_dot6(cdof(w) + 6 * d, cfrc(w) + 6 * dof_bodyid(w)[d]);
    sync();
}

/* A column of T [6][6] += X' B X in the frame R at the point `off` from the centre of mass of the tree, see below. */
LFN void ph_add_local_slope(const real *R, const real *off, const real *B, int column, real *T)
{
    real motion[3], local[6], force[6], torque[3], linear[3];
    for (int k = 0; k < 3; ++k) motion[k] = splat((ureal)(column == 3 + k));
    if (column < 3) {
        real axis[3];
        for (int k = 0; k < 3; ++k) axis[k] = splat((ureal)(column == k));
        m3_mul_transposed(R, axis, local);
        v3_cross(axis, off, motion);
    } else {
        ph_zero(local, 3);
    }
    m3_mul_transposed(R, motion, local + 3);
    for (int k = 0; k < 6; ++k) force[k] = ph_dot6(B + 6 * k, local);
    m3_mul(R, force, torque);
    m3_mul(R, force + 3, linear);
    ph_add_cross(off, linear, torque);
    for (int k = 0; k < 3; ++k) {
        T[6 * k + column] = T[6 * k + column] + torque[k];
        T[6 * (3 + k) + column] = T[6 * (3 + k) + column] + linear[k];
    }
}

/*
 * T [6][6] += the derivative of the medium's force on body b, about the centre of mass of its tree, by its velocity
 * there; with `even`, the symmetric part of the derivative; with `drag`, of drag alone.
 */
STET_CALLED LFN void ph_body_fluid_slope(ph_world w, int b, int even, int drag, real *T)
{
    const real *com = subtree_com(w) + 3 * body_rootid(w)[b];
    int first = fluid_adr(w)[b], count = fluid_adr(w)[b + 1] - first;
    rolled
    for (int k = 0; k < nmax(count, 1); ++k) {
        int g = count > 0 ? fluid_geom(w)[first + k] : 0;
        const real *at = count > 0 ? geom_xpos(w) + 3 * g : xipos(w) + 3 * b;
        const real *R = count > 0 ? geom_xmat(w) + 9 * g : ximat(w) + 9 * b;
        real local[6], off[3], B[36];
        for (int c = 0; c < 3; ++c) off[c] = at[c] - com[c];
        if (count > 0) {
            real p[FL_SIZE];
            ph_flow(w, b, R, at, local);
            ph_fluid_numbers(w, b, first + k, p);
            ph_ellipsoid_slope(w, p, local, drag, B);
            for (int i = 0; i < 6; ++i)
                for (int j = 0; j < i; ++j) {
                    real mean = splat((ureal)0.5) * (B[6 * i + j] + B[6 * j + i]);
                    if (even) B[6 * i + j] = mean;
                    if (even) B[6 * j + i] = mean;
                }
        } else {
            real slope[6];
            ph_drag d;
            ph_find_drag(w, b, &d);
            ph_drag_slopes(&d, slope + 3, slope);
            ph_zero(B, 36);
            for (int i = 0; i < 6; ++i) B[7 * i] = -slope[i];
        }
        rolled
        for (int c = 0; c < 6; ++c) ph_add_local_slope(R, off, B, c, T);
    }
}
