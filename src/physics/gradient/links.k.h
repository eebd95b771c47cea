/*
 * Gradients of the links of spatial tendons: what bars of their lengths, and of the rates of these, are for bodies.
 * Part of the kernels that include it, after tree.k.h.
 *
 * A link goes straight from a place of one body to one of another, or by two touching points of a geom's circle. Its
 * length is stationary where those lie, so its gradient has them stand on the geom. The directions of the straight
 * pieces, by which fields change the length, move with the touching points, and these with both ends and the geom.
 */

/* ten_J x of tendon t */
LFN real ph_tendon_rate(ph_world w, int t, const real *x)
{
    const int *adr = ten_J_rowadr(w), *col = ten_J_colind(w);
    real sum = splat(0);
    rolled
    for (int e = adr[t]; e < adr[t + 1]; ++e) sum = fma(ph_ten_j(w, e), x[col[e]], sum);
    return sum;
}

/* ---- around a geom ----------------------------------------------------------------------------------------------- */

/* Where a link touches its geom, and what that follows from, from the geom's centre. */
typedef struct ph_touch {
    real from[3], to[3]; /* the ends */
    real axis[9], t[4], angle, base, rise, radius;
    int sphere;
    mask within; /* the path touches the circle from its inside, in one point */
    mask wraps;
} ph_touch;

/* Bars of both ends, of the centre, and of the axis of a cylinder. */
typedef struct ph_touch_bars {
    real end[2][3], centre[3], axis[3];
} ph_touch_bars;

/* Finds the touching points p and q of link l, whose ends are a and b. */
LFN void ph_find_touch(ph_world w, int l, const real *a, const real *b, ph_touch *s, real *p, real *q)
{
    const int *row = link_first(w) + LK_SIZE * l;
    int g = row[LK_GEOM], sided = row[LK_SIDE] >= 0;
    const real *centre = geom_xpos(w) + 3 * g;
    real side[3], off[3];
    wrap_way way;
    way.radius = geom_size(w, 3 * g);
    ph_copy(way.centre, centre, 3);
    s->sphere = row[LK_SPHERE];
    ph_copy(side, sided ? site_xpos(w) + 3 * row[LK_SIDE] : a, 3);
    for (int k = 0; k < 9; ++k) way.axis[k] = geom_xmat(w)[9 * g + 3 * (k % 3) + k / 3];
    v3_sub(a, centre, s->from);
    v3_sub(b, centre, s->to);
    mask wraps = wrap_geom(s->sphere, sided, side, a, b, &way);
    s->wraps = wraps;
    s->radius = way.radius;
    s->angle = way.angle;
    s->base = way.base;
    s->rise = way.rise;
    ph_copy(s->axis, way.axis, 9);
    ph_copy(s->t, way.t, 4);
    v3_sub(side, centre, off);
    s->within = sided ? lt(wrap_dot(off, off), s->radius * s->radius) : m_none();
    wrap_out(centre, s->axis, s->t, s->base, p);
    wrap_out(centre, s->axis, s->t + 2, s->base + s->rise * (rabs(s->angle) * s->radius), q);
}

/*
 * Adds the bars of an end, of which f is the part in the plane of the circle and t its touching point, from those of t
 * and of the length of the straight piece. The path is around the circle from its outside; `way`: to which side.
 */
LFN void ph_pull_tangent(const ph_touch *s, const real *f, const real *t, real way, const real *t_bar, real leg_bar,
                         mask on, real *f_bar, real *z_bar)
{
    const real *z = s->axis + 6;
    real one = splat(1), zero = splat(0), rr = s->radius * s->radius, len2 = v3_dot(f, f), over[3], side[3], x[3];
    real inverse = one / select(on, len2, one), root = sqrt(rmax(len2 - rr, zero));
    real steep = select(gt(root, zero), one / rmax(root, splat(PHYSICS_MINVAL)), zero);
    /* t = (rr f + by f x z) / f², by = way radius root */
    real by = way * s->radius * root;
    v3_scale(t_bar, select(on, inverse, zero), over);
    v3_cross(f, z, side);
    real root_bar = fma(way * s->radius, v3_dot(side, over), select(on, leg_bar, zero));
    real len2_bar = fma(splat((ureal)0.5) * steep, root_bar, -v3_dot(over, t));
    v3_cross(z, over, x);
    for (int k = 0; k < 3; ++k) f_bar[k] = f_bar[k] + fma(rr, over[k], fma(by, x[k], splat(2) * len2_bar * f[k]));
    v3_cross(over, f, x);
    ph_add_scaled(z_bar, x, by, 3);
}

/* The same of both ends where the path touches from the inside, at t, so that both pieces lean as much to it. */
LFN void ph_pull_reflection(const ph_touch *s, real f[2][3], const real *t, const real *t_bar, const real *leg_bar,
                            mask on, real f_bar[2][3], real *z_bar)
{
    const real *z = s->axis + 6;
    real zero = splat(0), one = splat(1), bar[3], way[3], leg[2][3], length[2], lean[2], slope = zero;
    real safe = select(on, s->radius, one);
    for (int k = 0; k < 3; ++k) bar[k] = select(on, t_bar[k], zero);
    v3_cross(z, t, way); /* radius times how t goes around */
    for (int e = 0; e < 2; ++e) {
        v3_sub(f[e], t, leg[e]);
        real size = v3_normalize(leg[e]);
        length[e] = rmax(size, splat(PHYSICS_MINVAL));
        real by = select(on, leg_bar[e], zero);
        ph_add_scaled(f_bar[e], leg[e], by, 3);
        ph_add_scaled(bar, leg[e], -by, 3);
        /* the sum of way f / length is 0 */
        lean[e] = v3_dot(way, f[e]) / length[e];
        slope = slope + fma(lean[e], lean[e], -v3_dot(t, f[e])) / length[e];
    }
    mask sure = m_and(on, lt(splat(PHYSICS_MINVAL), rabs(slope)));
    real share = select(sure, -v3_dot(bar, way) / select(sure, slope, one), zero);
    for (int e = 0; e < 2; ++e)
        for (int k = 0; k < 3; ++k) f_bar[e][k] = fma(share, (way[k] - lean[e] * leg[e][k]) / length[e], f_bar[e][k]);
    ph_add_scaled(z_bar, t, -(v3_dot(bar, z) * (safe / safe)), 3);
}

/* From the bars of the touching points, in lanes that wrap. */
LFN void ph_pull_touch(const ph_touch *s, const real *p_bar, const real *q_bar, ph_touch_bars *out)
{
    const real *z = s->axis + 6;
    real zero = splat(0), flat = rabs(s->angle) * s->radius, f[2][3], t[2][3], t_bar[2][3], f_bar[2][3], z_bar[3];
    real height[2], height_bar[2], leg[2], leg_bar[2], way = copysign_(splat(1), s->angle);
    mask on = s->wraps, outside = m_andnot(on, s->within), inside = m_and(on, s->within);
    real least = splat(PHYSICS_MINVAL), whole = flat;
    for (int e = 0; e < 2; ++e) {
        const real *end = e ? s->to : s->from, *bar = e ? q_bar : p_bar;
        real apart[3];
        height[e] = s->sphere ? zero : v3_dot(end, z);
        for (int k = 0; k < 3; ++k) {
            f[e][k] = fma(-height[e], z[k], end[k]);
            t[e][k] = fma(s->axis[3 + k], s->t[2 * e + 1], s->axis[k] * s->t[2 * e]);
            t_bar[e][k] = select(on, bar[k], zero);
            f_bar[e][k] = zero;
        }
        v3_sub(f[e], t[e], apart);
        leg[e] = sqrt(v3_dot(apart, apart));
        whole = whole + leg[e];
    }
    /* the touching points' heights are base and base + rise flat, base = height + rise leg, and rise is for all */
    real base_bar = v3_dot(t_bar[0], z), top_bar = v3_dot(t_bar[1], z), top = fma(s->rise, flat, s->base);
    real rise_bar = fma(base_bar, leg[0], top_bar * (leg[0] + flat)), over = rise_bar / rmax(whole, least);
    real sum_bar = s->sphere ? zero : -(over * s->rise), flat_bar = fma(s->rise, top_bar, sum_bar);
    leg_bar[0] = fma(s->rise, base_bar + top_bar, sum_bar);
    leg_bar[1] = sum_bar;
    height_bar[0] = base_bar + top_bar - over;
    height_bar[1] = over;
    for (int k = 0; k < 3; ++k) {
        out->centre[k] = t_bar[0][k] + t_bar[1][k];
        z_bar[k] = fma(s->base, t_bar[0][k], top * t_bar[1][k]);
    }
    if (any(inside)) {
        real both[3];
        v3_add(t_bar[0], t_bar[1], both);
        ph_pull_reflection(s, f, t[0], both, leg_bar, inside, f_bar, z_bar);
    }
    for (int e = 0; e < 2; ++e) {
        real around[3], sign = e ? way : -way;
        v3_cross(z, t[e], around);
        ph_add_scaled(t_bar[e], around, sign * flat_bar / rmax(s->radius, least), 3);
        ph_pull_tangent(s, f[e], t[e], sign, t_bar[e], leg_bar[e], outside, f_bar[e], z_bar);
    }
    for (int e = 0; e < 2; ++e) ph_copy(out->end[e], f_bar[e], 3);
    ph_zero(out->axis, 3);
    if (s->sphere) { /* the circle's plane is that of both ends */
        real normal[3], part = v3_dot(z, z_bar), x[3];
        v3_cross(s->from, s->to, normal);
        real size = sqrt(v3_dot(normal, normal));
        mask sure = m_and(on, lt(least, size));
        for (int k = 0; k < 3; ++k)
            normal[k] = select(sure, fma(-part, z[k], z_bar[k]) / select(sure, size, splat(1)), zero);
        v3_cross(s->to, normal, x);
        v3_add(out->end[0], x, out->end[0]);
        v3_cross(normal, s->from, x);
        v3_add(out->end[1], x, out->end[1]);
    } else {
        for (int e = 0; e < 2; ++e) { /* f = end - z height */
            const real *end = e ? s->to : s->from;
            real along = select(on, v3_dot(z, f_bar[e]), zero), by = select(on, height_bar[e], zero) - along;
            for (int k = 0; k < 3; ++k) {
                z_bar[k] = fma(by, end[k], fma(-height[e], f_bar[e][k], z_bar[k]));
                out->end[e][k] = fma(by, z[k], f_bar[e][k]);
            }
        }
        for (int k = 0; k < 3; ++k) out->axis[k] = select(on, z_bar[k], zero);
    }
    for (int e = 0; e < 2; ++e)
        for (int k = 0; k < 3; ++k) out->centre[k] = out->centre[k] - out->end[e][k];
}

/* ---- a link ------------------------------------------------------------------------------------------------------ */

/* How many fields change lengths: of z, of qacc, of qvel; and with armature of w and of what the integrator adds. */
#define PH_LINK_FIELDS 5

/* Bars of what tendon t's length changes by in each field; armature has those of w and of what the integrator adds. */
LFN void ph_link_rates(ph_world w, int t, real *by)
{
    by[0] = PH_TENDONS(GT_BY_Z)[t];
    by[1] = PH_TENDONS(GT_BY_ACC)[t];
    by[2] = PH_TENDONS(GT_SPEED)[t];
    by[3] = splat(0);
    by[4] = splat(0);
    if (!ph_drifts(w)) return;
    by[3] = tendon_armature(w, t) * ph_tendon_rate(w, t, PH_DOFS(GD_MORE));
    by[4] = tendon_armature(w, t) * ph_tendon_rate(w, t, PH_DOFS(GD_W));
}

/*
 * A straight piece from p of a body to q of another, in some lanes: bars of the rates of its length, of its
 * acceleration with qacc, and of the length. They go to the bodies, and to places [2][3], which are added to.
 */
LFN void ph_pull_piece(ph_world w, const int *body, const real *p, const real *q, real scale, const real *rates,
                       real acc_bar, real length_bar, mask on, real places[2][3], real fixed[2][3])
{
    const int field[PH_LINK_FIELDS] = {GB_Z, GB_ACC, -1, GB_W, GB_MORE};
    const int bar[PH_LINK_FIELDS] = {GB_FORCE, GB_PUSH, GB_SPEED, GB_W_FORCE, GB_W_MOMENTUM};
    real point[2][3], u[3], along[3], none[3], zero = splat(0), gain = select(on, scale, zero);
    ph_zero(none, 3);
    ph_zero(along, 3); /* the bar of u */
    ph_copy(point[0], p, 3);
    ph_copy(point[1], q, 3);
    v3_sub(q, p, u);
    real length = v3_normalize(u), inverse = splat(1) / rmax(length, splat(PHYSICS_MINVAL));
    for (int k = 0; k < 2; ++k) ph_add_scaled(fixed[k], u, (k ? gain : -gain) * length_bar, 3);
    for (int c = 0; c < (ph_drifts(w) ? PH_LINK_FIELDS : 3); ++c) {
        const real *x = field[c] < 0 ? cvel(w) : PH_BODIES(field[c]);
        real one[3], two[3], by = gain * rates[c];
        ph_at_point(w, body[0], p, x, one);
        ph_at_point(w, body[1], q, x, two);
        for (int k = 0; k < 3; ++k) along[k] = fma(by, two[k] - one[k], along[k]);
        for (int k = 0; k < 2; ++k) {
            real pull[3];
            v3_scale(u, k ? by : -by, pull);
            ph_pull_point(w, body[k], point[k], none, pull, x, bar[c], places[k]);
        }
    }
    if (ph_drifts(w)) {
        real by = gain * acc_bar, motion[2][6], acc[2][6], velocity[3], pull[3], push[3];
        for (int e = 0; e < 2; ++e) {
            ph_point_motion(w, body[e], point[e], motion[e]);
            ph_point_drift(w, body[e], point[e], acc[e]);
            ph_at_point(w, body[e], point[e], PH_BODIES(GB_ACC), push);
            v3_add(acc[e], push, acc[e]);
        }
        v3_sub(motion[1] + 3, motion[0] + 3, velocity);
        real speed = v3_dot(u, velocity), across = fma(-speed, speed, v3_dot(velocity, velocity)), turn = by * inverse;
        for (int k = 0; k < 3; ++k) {
            along[k] = fma(by, acc[1][k] - acc[0][k], along[k]);
            along[k] = fma(splat(-2) * turn * speed, velocity[k], along[k]);
        }
        for (int e = 0; e < 2; ++e) {
            real sign = splat((ureal)(e ? 1 : -1)), shorter = sign * turn * inverse * across;
            v3_scale(u, sign * by, pull);
            ph_pull_acceleration(w, body[e], point[e], none, pull, places[e]);
            for (int k = 0; k < 3; ++k) pull[k] = splat(2) * sign * turn * fma(-speed, u[k], velocity[k]);
            ph_pull_point(w, body[e], point[e], none, pull, cvel(w), GB_SPEED, places[e]);
            ph_add_scaled(places[e], u, -shorter, 3);
        }
    }
    real part = v3_dot(along, u);
    for (int k = 0; k < 3; ++k) {
        real side = (along[k] - part * u[k]) * inverse;
        places[0][k] = places[0][k] - side;
        places[1][k] = places[1][k] + side;
    }
}

/* Link l of tendon t. */
LFN void ph_pull_link(ph_world w, int l, int t)
{
    const int *row = link_first(w) + LK_SIZE * l, *of = site_bodyid(w);
    int g = row[LK_GEOM], first = of[row[LK_FROM]], last = of[row[LK_TO]], middle = g < 0 ? 0 : geom_bodyid(w)[g];
    int whole[2] = {first, last}, before[2] = {first, middle}, after[2] = {middle, last};
    real a[3], b[3], p[3], q[3], none[3], rates[PH_LINK_FIELDS], places[2][3], touch[2][3], fixed[2][3], on_geom[2][3];
    real scale = link_scale(w, l), length_bar = PH_TENDONS(GT_LENGTH)[t], acc_bar = splat(0);
    mask straight = m_all();
    ph_touch s;
    if (first == last && (g < 0 || first == middle)) return;
    if (ph_drifts(w)) acc_bar = tendon_armature(w, t) * PH_TENDONS(GT_Z)[t];
    ph_link_rates(w, t, rates);
    ph_copy(a, site_xpos(w) + 3 * row[LK_FROM], 3);
    ph_copy(b, site_xpos(w) + 3 * row[LK_TO], 3);
    ph_zero(none, 3);
    for (int e = 0; e < 2; ++e) {
        ph_zero(places[e], 3);
        ph_zero(touch[e], 3);
        ph_zero(fixed[e], 3);
        ph_zero(on_geom[e], 3);
    }
    if (g >= 0) {
        real ends[2][3], rooted[2][3];
        ph_touch_bars bars;
        ph_find_touch(w, l, a, b, &s, p, q);
        for (int k = 0; k < 3; ++k) {
            p[k] = select(s.wraps, p[k], b[k]);
            q[k] = select(s.wraps, q[k], a[k]);
        }
        straight = m_not(s.wraps);
        for (int e = 0; any(s.wraps) && e < 2; ++e) {
            for (int k = 0; k < 2; ++k) {
                ph_zero(ends[k], 3);
                ph_zero(rooted[k], 3);
            }
            if (e == 0 && first != middle)
                ph_pull_piece(w, before, a, p, scale, rates, acc_bar, length_bar, s.wraps, ends, rooted);
            if (e == 1 && last != middle)
                ph_pull_piece(w, after, q, b, scale, rates, acc_bar, length_bar, s.wraps, ends, rooted);
            v3_add(places[e], ends[e], places[e]);
            v3_add(fixed[e], rooted[e], fixed[e]);
            v3_add(touch[e], ends[1 - e], touch[e]);
            v3_add(on_geom[e], rooted[1 - e], on_geom[e]);
        }
        if (any(s.wraps)) {
            real turn[3];
            ph_pull_touch(&s, touch[0], touch[1], &bars);
            for (int e = 0; e < 2; ++e) v3_add(places[e], bars.end[e], places[e]);
            v3_cross(s.axis + 6, bars.axis, turn);
            ph_pull_place(w, middle, geom_xpos(w) + 3 * g, turn, bars.centre);
            ph_pull_place(w, middle, p, none, on_geom[0]);
            ph_pull_place(w, middle, q, none, on_geom[1]);
        }
    }
    if (first != last && any(straight))
        ph_pull_piece(w, whole, a, b, scale, rates, acc_bar, length_bar, straight, places, fixed);
    for (int e = 0; e < 2; ++e) {
        v3_add(places[e], fixed[e], places[e]);
        ph_pull_place(w, whole[e], e ? b : a, none, places[e]);
    }
}
