/*
 * Quaternions (w x y z), spatial vectors (rotation, then translation), and how stages read parameters. Part of the
 * kernels that include it, after math.k.h. An output may not overlap an input unless that is said.
 */

/* Item i of a parameter: shared by all worlds, or one of this world's own. */
LFN real par(ph_world w, int name, int i)
{
    int at = PH_TABLES(w)[name];
    return at >= 0 ? splat(w.reals[at + i]) : w.own[~at + i];
}
/* Items i … i + n - 1. */
LFN void pars(ph_world w, int name, int i, int n, real *out)
{
    for (int k = 0; k < n; ++k) out[k] = par(w, name, i + k);
}

LFN void ph_copy(real *out, const real *a, int n)
{
    for (int k = 0; k < n; ++k) out[k] = a[k];
}
LFN void ph_zero(real *out, int n)
{
    for (int k = 0; k < n; ++k) out[k] = splat(0);
}

LFN real ph_dot6(const real *a, const real *b)
{
    return fma(a[5], b[5], fma(a[4], b[4], fma(a[3], b[3], v3_dot(a, b))));
}
/* out += a x b */
LFN void ph_add_cross(const real *a, const real *b, real *out)
{
    out[0] = fma(a[1], b[2], fma(-a[2], b[1], out[0]));
    out[1] = fma(a[2], b[0], fma(-a[0], b[2], out[1]));
    out[2] = fma(a[0], b[1], fma(-a[1], b[0], out[2]));
}
/* out += s * a */
LFN void ph_add_scaled(real *out, const real *a, real s, int n)
{
    for (int k = 0; k < n; ++k) out[k] = fma(s, a[k], out[k]);
}

/* out = a turned by the unit quaternion q. */
LFN void ph_rotate(const real *q, const real *a, real *out)
{
    real t[3];
    v3_cross(q + 1, a, t);
    for (int k = 0; k < 3; ++k) t[k] = t[k] + t[k];
    for (int k = 0; k < 3; ++k) out[k] = fma(q[0], t[k], a[k]);
    ph_add_cross(q + 1, t, out);
}
/* q = q * r */
LFN void ph_quat_mul(real *q, const real *r)
{
    real w = fma(-q[3], r[3], fma(-q[2], r[2], fma(-q[1], r[1], q[0] * r[0])));
    real x = fma(-q[3], r[2], fma(q[2], r[3], fma(q[1], r[0], q[0] * r[1])));
    real y = fma(q[3], r[1], fma(q[2], r[0], fma(-q[1], r[3], q[0] * r[2])));
    real z = fma(q[3], r[0], fma(-q[2], r[1], fma(q[1], r[2], q[0] * r[3])));
    q[0] = w;
    q[1] = x;
    q[2] = y;
    q[3] = z;
}
/* R of the unit quaternion q. */
LFN void ph_quat_matrix(const real *q, real *R)
{
    real x = q[1] + q[1], y = q[2] + q[2], z = q[3] + q[3];
    real wx = q[0] * x, wy = q[0] * y, wz = q[0] * z;
    real one = splat(1);
    R[0] = one - fma(q[3], z, q[2] * y);
    R[1] = fma(q[1], y, -wz);
    R[2] = fma(q[1], z, wy);
    R[3] = fma(q[1], y, wz);
    R[4] = one - fma(q[3], z, q[1] * x);
    R[5] = fma(q[2], z, -wx);
    R[6] = fma(q[1], z, -wy);
    R[7] = fma(q[2], z, wx);
    R[8] = one - fma(q[2], y, q[1] * x);
}
/* Makes q a unit quaternion: 1 0 0 0 where it is shorter than 1e-15. */
LFN void ph_quat_unit(real *q)
{
    real norm = sqrt(fma(q[3], q[3], fma(q[2], q[2], fma(q[1], q[1], q[0] * q[0]))));
    mask tiny = lt(norm, splat(PHYSICS_MINVAL));
    real s = splat(1) / norm;
    for (int k = 0; k < 4; ++k) q[k] = select(tiny, splat((ureal)(k == 0)), q[k] * s);
}
/* The same for a product of unit quaternions, whose length is 1 but for rounding: one step of Newton's method. */
LFN void ph_quat_trim(real *q)
{
    real n = fma(q[3], q[3], fma(q[2], q[2], fma(q[1], q[1], q[0] * q[0])));
    real s = fma(splat((ureal)-0.5), n, splat((ureal)1.5));
    for (int k = 0; k < 4; ++k) q[k] = q[k] * s;
}
/* The rotation vector of the unit quaternion q: its axis times its angle in (-pi, pi]. */
LFN void ph_quat_log(const real *q, real *out)
{
    real s = sqrt(v3_dot(q + 1, q + 1));
    mask tiny = lt(s, splat(PHYSICS_MINVAL));
    real angle = splat(2) * atan2(s, q[0]);
    angle =
        select(gt(angle, splat((ureal)3.14159265358979323846)), angle - splat((ureal)6.28318530717958647692), angle);
    real scale = angle / s;
    out[0] = select(tiny, angle, q[1] * scale);
    out[1] = select(tiny, splat(0), q[2] * scale);
    out[2] = select(tiny, splat(0), q[3] * scale);
}
/* q turned for a time h with the angular velocity a, which is given in its own frame; then a unit quaternion. */
LFN void ph_quat_integrate(real *q, const real *a, real h)
{
    real speed = sqrt(v3_dot(a, a)), half = splat((ureal)0.5) * (h * speed);
    mask tiny = lt(speed, splat(PHYSICS_MINVAL));
    real s = sin(half) / speed, r[4];
    r[0] = select(tiny, splat(1), cos(half));
    for (int k = 0; k < 3; ++k) r[1 + k] = select(tiny, splat(0), a[k] * s);
    ph_quat_unit(q);
    ph_quat_mul(q, r);
}

/* out = the inertia i (xx yy zz xy xz yz, mass times offset, mass) times the motion a. */
LFN void ph_inertia_mul(const real *i, const real *a, real *out)
{
    out[0] = fma(i[7], a[5], fma(-i[8], a[4], fma(i[4], a[2], fma(i[3], a[1], i[0] * a[0]))));
    out[1] = fma(-i[6], a[5], fma(i[8], a[3], fma(i[5], a[2], fma(i[1], a[1], i[3] * a[0]))));
    out[2] = fma(i[6], a[4], fma(-i[7], a[3], fma(i[2], a[2], fma(i[5], a[1], i[4] * a[0]))));
    out[3] = fma(i[9], a[3], fma(-i[7], a[2], i[8] * a[1]));
    out[4] = fma(i[9], a[4], fma(-i[8], a[0], i[6] * a[2]));
    out[5] = fma(i[9], a[5], fma(-i[6], a[1], i[7] * a[0]));
}
/* out = a x b of two motions. */
LFN void ph_cross_motion(const real *a, const real *b, real *out)
{
    v3_cross(a, b, out);
    v3_cross(a, b + 3, out + 3);
    ph_add_cross(a + 3, b, out + 3);
}
/* out += a x f of a motion and a force. */
LFN void ph_add_cross_force(const real *a, const real *f, real *out)
{
    ph_add_cross(a, f, out);
    ph_add_cross(a + 3, f + 3, out);
    ph_add_cross(a, f + 3, out + 3);
}
