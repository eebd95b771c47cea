/*
 * The way of a tendon around a sphere or an infinite cylinder. Lanes are worlds. Part of the kernels that include it,
 * after lang.h.
 *
 * What wraps and where is MuJoCo 4's (its documentation, "sidesite"): the ends and the circle are seen in a plane, a
 * cylinder's or the one through a sphere's centre and both ends. The way is the shortest one around, or, with a side
 * site, the shortest of those that pass the centre as the path over the side site does. With a side site within the
 * geom it touches the circle from its inside.
 */
#define WRAP_HALVINGS 26
#define WRAP_TURN 6.283185307179586

LFN real wrap_dot(const real *a, const real *b) { return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0])); }
LFN real wrap_dot2(const real *a, const real *b) { return fma(a[1], b[1], a[0] * b[0]); }
LFN real wrap_cross2(const real *a, const real *b) { return fma(a[0], b[1], -(a[1] * b[0])); }

LFN void wrap_cross(const real *a, const real *b, real *out)
{
    for (int i = 0; i < 3; ++i) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = fma(a[j], b[k], -(a[k] * b[j]));
    }
}

/* Makes a of n numbers a unit vector, and zeros where it is shorter than 1e-15. Returns lanes where it is not. */
LFN mask wrap_unit(real *a, int n)
{
    real sum = splat(0);
    for (int i = 0; i < n; ++i) sum = fma(a[i], a[i], sum);
    mask long_enough = lt(splat((ureal)1e-30), sum);
    real len = sqrt(select(long_enough, sum, splat(1)));
    for (int i = 0; i < n; ++i) a[i] = select(long_enough, a[i] / len, splat(0));
    return long_enough;
}

/* ---- around a circle --------------------------------------------------------------------------------------------- */

/* The point of the segment from p to p + 2 that is nearest to the circle's centre; *at: how far along, 0 … 1. */
LFN void wrap_nearest(const real *p, real *at, real *out)
{
    real way[2] = {p[2] - p[0], p[3] - p[1]}, len2 = wrap_dot2(way, way);
    *at = clamp(-wrap_dot2(way, p) / rmax(len2, splat((ureal)1e-20)), splat(0), splat(1));
    for (int i = 0; i < 2; ++i) out[i] = fma(*at, way[i], p[i]);
}

/* Does the segment from p to p + 2 cross the ray from the centre that is opposite to s? */
LFN mask wrap_opposite(const real *p, const real *s)
{
    real from = wrap_cross2(s, p), to = wrap_cross2(s, p + 2), apart = from - to;
    mask across = lt(from * to, splat(0));
    real at = from / select(across, apart, splat(1)), start = wrap_dot2(p, s);
    return m_and(across, lt(fma(at, wrap_dot2(p + 2, s) - start, start), splat(0)));
}

/*
 * The way from p to p + 2 around a circle, on the side where the straight line passes its centre, or, if that is
 * opposite to s, on the other one: sets where it touches (t, t + 2) and the angle between, positive from x to y.
 * Returns lanes whose straight line meets the circle, or passes opposite to s. sided: there is s.
 */
LFN mask wrap_around(const real *p, int sided, const real *s, real radius, real *t, real *angle)
{
    real rr = radius * radius;
    real near[2], at, turn, zero = splat(0), ccw = copysign_(splat(1), wrap_cross2(p, p + 2));
    real len2[2] = {wrap_dot2(p, p), wrap_dot2(p + 2, p + 2)}, way[2] = {p[2] - p[0], p[3] - p[1]};
    wrap_nearest(p, &at, near);
    mask blocked = le(wrap_dot2(near, near), rr);
    if (sided) {
        mask opposite = wrap_opposite(p, s);
        blocked = m_or(blocked, opposite);
        ccw = select(opposite, -ccw, ccw);
    }
    for (int e = 0; e < 2; ++e) {
        const real *from = p + 2 * e;
        real side = sqrt(rmax(len2[e] - rr, zero)) * ccw * (e == 0 ? -radius : radius);
        real inv = splat(1) / rmax(len2[e], splat((ureal)1e-20));
        t[2 * e] = fma(from[0], rr, side * from[1]) * inv;
        t[2 * e + 1] = fma(from[1], rr, -(side * from[0])) * inv;
    }
    turn = atan2(wrap_cross2(t, t + 2), wrap_dot2(t, t + 2));
    *angle = select(lt(turn * ccw, zero), fma(ccw, splat((ureal)WRAP_TURN), turn), turn);
    blocked = m_and(blocked, m_and(le(rr, len2[0]), le(rr, len2[1])));
    return m_and(blocked, m_and(lt(splat((ureal)1e-15), wrap_dot2(way, way)), lt(splat((ureal)1e-15), radius)));
}

/*
 * The way from p to p + 2 that touches a circle from its inside, in one point, where both parts make the same angle
 * with the circle: by bisection of the arc. Returns lanes whose straight line misses the circle.
 */
LFN mask wrap_inside(const real *p, real radius, real *t)
{
    real rr = radius * radius;
    real low[2] = {p[0], p[1]}, high[2] = {p[2], p[3]}, near[2], at;
    wrap_nearest(p, &at, near);
    mask inner = m_and(m_and(lt(splat(0), at), lt(at, splat(1))), le(wrap_dot2(near, near), rr));
    mask out = m_and(lt(rr, wrap_dot2(p, p)), lt(rr, wrap_dot2(p + 2, p + 2)));
    mask has_low = wrap_unit(low, 2), has_high = wrap_unit(high, 2);
    out = m_and(out, m_and(m_and(has_low, has_high), lt(splat((ureal)-1 + (ureal)1e-6), wrap_dot2(low, high))));
    real order = copysign_(splat(1), wrap_cross2(low, high));
    for (int step = 0; step < WRAP_HALVINGS; ++step) {
        real middle[2] = {low[0] + high[0], low[1] + high[1]}, lean = splat(0);
        mask has_middle = wrap_unit(middle, 2);
        for (int e = 0; e < 2; ++e) {
            real leg[2];
            for (int i = 0; i < 2; ++i) leg[i] = fma(middle[i], -radius, p[2 * e + i]);
            mask has_leg = wrap_unit(leg, 2);
            lean = select(has_leg, lean + wrap_cross2(middle, leg), lean);
        }
        mask up = m_and(has_middle, le(splat(0), lean * order));
        for (int i = 0; i < 2; ++i) {
            low[i] = select(up, middle[i], low[i]);
            high[i] = select(up, high[i], middle[i]);
        }
    }
    for (int i = 0; i < 4; ++i) t[i] = low[i % 2] * radius;
    return m_andnot(out, inner);
}

/* ---- around a geom ----------------------------------------------------------------------------------------------- */

/*
 * The plane of a circle and its normal, columns x, y, z of axis: a cylinder's, which are there, or through a sphere's
 * centre and both ends.
 */
LFN void wrap_plane(int sphere, const real *from, const real *to, real *axis)
{
    if (!sphere) return;
    real other[3], *x = axis, *y = axis + 3, *z = axis + 6;
    for (int i = 0; i < 3; ++i) x[i] = from[i];
    mask has_x = wrap_unit(x, 3);
    x[0] = select(has_x, x[0], splat(1));
    wrap_cross(from, to, z);
    mask has_z = wrap_unit(z, 3);
    real big = rmax(rabs(x[0]), rmax(rabs(x[1]), rabs(x[2])));
    for (int i = 0; i < 3; ++i) other[i] = select(eq(rabs(x[i]), big), splat(0), splat(1));
    wrap_cross(x, other, y);
    mask has_y = wrap_unit(y, 3);
    for (int i = 0; i < 3; ++i) z[i] = select(has_z, z[i], select(has_y, y[i], splat(0)));
    wrap_cross(z, x, y);
}

/* Coordinates in the circle's frame to a place in the world. */
LFN void wrap_out(const real *centre, const real *axis, const real *uv, real height, real *out)
{
    for (int i = 0; i < 3; ++i)
        out[i] = fma(axis[6 + i], height, fma(axis[3 + i], uv[1], fma(axis[i], uv[0], centre[i])));
}

/* A geom that a way wraps around, whose axes (columns) become those of the circle, and the way's part on it. */
typedef struct wrap_way {
    real centre[3], axis[9], radius;
    real t[4];  /* where the way touches the circle */
    real angle; /* how far it follows it */
    real base;  /* its height there */
    real rise;  /* by how much it gains height for each metre */
} wrap_way;

/* The way from a to b around a geom; side: the place of the side site, if sided. Returns lanes that wrap. */
LFN mask wrap_geom(int sphere, int sided, const real *side, const real *a, const real *b, wrap_way *w)
{
    const real *centre = w->centre;
    real *axis = w->axis, *t = w->t, radius = w->radius;
    real from[3], to[3], p[4], height[2], leg[2], s[2] = {splat(0), splat(0)};
    mask within = m_none();
    for (int i = 0; i < 3; ++i) {
        from[i] = a[i] - centre[i];
        to[i] = b[i] - centre[i];
    }
    wrap_plane(sphere, from, to, axis);
    for (int e = 0; e < 2; ++e) {
        const real *end = e ? to : from;
        for (int i = 0; i < 2; ++i) p[2 * e + i] = wrap_dot(end, axis + 3 * i);
        height[e] = sphere ? splat(0) : wrap_dot(end, axis + 6);
    }
    if (sided) {
        real off[3];
        for (int i = 0; i < 3; ++i) off[i] = side[i] - centre[i];
        within = lt(wrap_dot(off, off), radius * radius);
        for (int i = 0; i < 2; ++i) s[i] = wrap_dot(off, axis + 3 * i);
        wrap_unit(s, 2);
    }
    mask wraps = wrap_around(p, sided, s, radius, t, &w->angle);
    if (any(within)) {
        real touch[4];
        mask touches = wrap_inside(p, radius, touch);
        for (int i = 0; i < 4; ++i) t[i] = select(within, touch[i], t[i]);
        w->angle = select(within, splat(0), w->angle);
        wraps = m_or(m_and(within, touches), m_andnot(wraps, within));
    }
    for (int e = 0; e < 2; ++e) {
        real d[2] = {p[2 * e] - t[2 * e], p[2 * e + 1] - t[2 * e + 1]};
        leg[e] = sqrt(wrap_dot2(d, d));
    }
    w->rise = (height[1] - height[0]) / rmax(leg[0] + rabs(w->angle) * radius + leg[1], splat((ureal)1e-20));
    w->base = fma(w->rise, leg[0], height[0]);
    return wraps;
}
