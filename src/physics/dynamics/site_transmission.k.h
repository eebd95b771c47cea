/*
 * Actuators on sites and slider-cranks: lengths and moments, as MuJoCo has them. Part of the kernels that include it,
 * before actuation.k.h.
 *
 * The entries of such a moment are the dofs that move one of the two sites, but not both; M_MOMENT_SIDE is 1 where it
 * moves the first site, and -1 where it moves the reference site or the slider.
 */

/* The velocity of the point p per unit of dof d. */
LFN void ph_point_velocity(ph_world w, int d, const real *p, real *out)
{
    const real *cdof = cdof(w) + 6 * d;
    const real *com = subtree_com(w) + 3 * body_rootid(w)[dof_bodyid(w)[d]];
    real off[3];
    for (int k = 0; k < 3; ++k) off[k] = p[k] - com[k];
    ph_copy(out, cdof + 3, 3);
    ph_add_cross(cdof, off, out);
}

/* The orientation of a site. */
LFN void ph_site_quat(ph_world w, int site, real *q)
{
    real own[4];
    ph_copy(q, xquat(w) + 4 * site_bodyid(w)[site], 4);
    pars(w, M_SITE_QUAT, 4 * site, 4, own);
    ph_quat_mul(q, own);
}

/* How far a site is turned from its reference site, as a rotation vector. */
LFN void ph_site_turn(ph_world w, int site, int ref, real *out)
{
    real q[4], back[4];
    ph_site_quat(w, site, q);
    ph_site_quat(w, ref, back);
    for (int k = 1; k < 4; ++k) back[k] = -back[k];
    ph_quat_mul(back, q);
    ph_quat_log(back, out);
}

/* A wrench at a site, along its own axes or those of its reference site. */
LFN void ph_transmit_site(ph_world w, int i)
{
    int site = actuator_trnid(w)[i], ref = actuator_refid(w)[i];
    int out = ph_out(w, i), first = moment_rowadr(w)[out], n = moment_rowadr(w)[out + 1] - first;
    const int *col = moment_colind(w) + first, *side = moment_side(w) + first;
    const real *p = site_xpos(w) + 3 * site, *origin = site_xpos(w) + 3 * nmax(ref, 0);
    const real *R = site_xmat(w) + 9 * (ref < 0 ? site : ref);
    real gear[6], push[3], turn[3], x[3], off[3], length = splat(0), *moment = actuator_moment(w) + first;
    pars(w, M_ACT_GEAR, 6 * out, 6, gear);
    m3_mul(R, gear, push);
    m3_mul(R, gear + 3, turn);
    if (ref >= 0) {
        v3_sub(p, origin, off);
        m3_mul_transposed(R, off, x);
        length = v3_dot(x, gear);
        ph_site_turn(w, site, ref, x);
        length = length + v3_dot(x, gear + 3);
    }
    rolled
    for (int e = 0; e < n; ++e) {
        ph_point_velocity(w, col[e], side[e] > 0 ? p : origin, x);
        moment[e] = splat((ureal)side[e]) * (v3_dot(x, push) + v3_dot(cdof(w) + 6 * col[e], turn));
    }
    actuator_length(w)[out] = length;
}

/* A rod from the crank's site to the axis of the slider's, z; where it is too short for that, it is the way along z. */
LFN void ph_transmit_crank(ph_world w, int i)
{
    int crank = actuator_trnid(w)[i], slider = actuator_refid(w)[i];
    int out = ph_out(w, i), first = moment_rowadr(w)[out], n = moment_rowadr(w)[out + 1] - first;
    const int *col = moment_colind(w) + first, *side = moment_side(w) + first;
    const real *p = site_xpos(w) + 3 * crank, *origin = site_xpos(w) + 3 * slider;
    real axis[3], way[3], by_axis[3], by_way[3], x[3], turn[3], *moment = actuator_moment(w) + first;
    real gear = actuator_gear(w, 6 * out), rod = actuator_cranklength(w, i), zero = splat(0);
    m3_column(site_xmat(w) + 9 * slider, 2, axis);
    v3_sub(p, origin, way);
    real along = v3_dot(way, axis), left = fma(along, along, fma(rod, rod, -v3_dot(way, way)));
    mask reaches = gt(left, zero);
    real root = select(reaches, sqrt(left), zero), inverse = splat(1) / select(reaches, root, splat(1));
    real part = select(reaches, splat(1) - along * inverse, splat(1));
    for (int k = 0; k < 3; ++k) {
        by_axis[k] = part * way[k];
        by_way[k] = fma(part, axis[k], select(reaches, inverse * way[k], zero));
    }
    rolled
    for (int e = 0; e < n; ++e) {
        ph_point_velocity(w, col[e], side[e] > 0 ? p : origin, x);
        real rate = splat((ureal)side[e]) * v3_dot(by_way, x);
        v3_cross(cdof(w) + 6 * col[e], axis, turn);
        if (side[e] < 0) rate = rate + v3_dot(by_axis, turn);
        moment[e] = gear * rate;
    }
    actuator_length(w)[out] = gear * (along - root);
}
