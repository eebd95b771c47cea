/*
 * Actuators on sites and slider-cranks: lengths and moments, as MuJoCo has them. Part of the kernels that include it,
 * before actuation.k.h.
 *
 * The entries of such a moment are the dofs that move one of the two sites, but not both; M_MOMENT_SIDE is 1 where it
 * moves the first site, and -1 where it moves the reference site or the slider.
 */

/* The velocity of the point p per unit of dof d. */
LFN void ph_point_velocity(const int *m, const real *w, int d, const real *p, real *out)
{
    const real *cdof = PH_AT(W_CDOF) + 6 * d;
    const real *com = PH_AT(W_SUBTREE_COM) + 3 * (m + m[M_BODY_ROOTID])[(m + m[M_DOF_BODYID])[d]];
    real off[3];
    for (int k = 0; k < 3; ++k) off[k] = p[k] - com[k];
    ph_copy(out, cdof + 3, 3);
    ph_add_cross(cdof, off, out);
}

/* The orientation of a site. */
LFN void ph_site_quat(const int *m, const ureal *f, const real *v, const real *w, int site, real *q)
{
    real own[4];
    ph_copy(q, PH_AT(W_XQUAT) + 4 * (m + m[M_SITE_BODYID])[site], 4);
    pars(m, f, v, M_SITE_QUAT, 4 * site, 4, own);
    ph_quat_mul(q, own);
}

/* How far a site is turned from its reference site, as a rotation vector. */
LFN void ph_site_turn(const int *m, const ureal *f, const real *v, const real *w, int site, int ref, real *out)
{
    real q[4], back[4];
    ph_site_quat(m, f, v, w, site, q);
    ph_site_quat(m, f, v, w, ref, back);
    for (int k = 1; k < 4; ++k) back[k] = -back[k];
    ph_quat_mul(back, q);
    ph_quat_log(back, out);
}

/* A wrench at a site, along its own axes or those of its reference site. */
LFN void ph_transmit_site(const int *m, const ureal *f, const real *v, real *w, int i)
{
    int site = (m + m[M_ACT_TRNID])[i], ref = (m + m[M_ACT_REFID])[i];
    int out = ph_out(m, i), first = (m + m[M_MOMENT_ROWADR])[out], n = (m + m[M_MOMENT_ROWADR])[out + 1] - first;
    const int *col = m + m[M_MOMENT_COLIND] + first, *side = m + m[M_MOMENT_SIDE] + first;
    const real *p = PH_AT(W_SITE_XPOS) + 3 * site, *origin = PH_AT(W_SITE_XPOS) + 3 * nmax(ref, 0);
    const real *R = PH_AT(W_SITE_XMAT) + 9 * (ref < 0 ? site : ref);
    real gear[6], push[3], turn[3], x[3], off[3], length = splat(0), *moment = PH_AT(W_ACTUATOR_MOMENT) + first;
    pars(m, f, v, M_ACT_GEAR, 6 * out, 6, gear);
    m3_mul(R, gear, push);
    m3_mul(R, gear + 3, turn);
    if (ref >= 0) {
        v3_sub(p, origin, off);
        m3_mul_transposed(R, off, x);
        length = v3_dot(x, gear);
        ph_site_turn(m, f, v, w, site, ref, x);
        length = length + v3_dot(x, gear + 3);
    }
    rolled for (int e = 0; e < n; ++e)
    {
        ph_point_velocity(m, w, col[e], side[e] > 0 ? p : origin, x);
        moment[e] = splat((ureal)side[e]) * (v3_dot(x, push) + v3_dot(PH_AT(W_CDOF) + 6 * col[e], turn));
    }
    PH_AT(W_ACTUATOR_LENGTH)[out] = length;
}

/* A rod from the crank's site to the axis of the slider's, z; where it is too short for that, it is the way along z. */
LFN void ph_transmit_crank(const int *m, const ureal *f, const real *v, real *w, int i)
{
    int crank = (m + m[M_ACT_TRNID])[i], slider = (m + m[M_ACT_REFID])[i];
    int out = ph_out(m, i), first = (m + m[M_MOMENT_ROWADR])[out], n = (m + m[M_MOMENT_ROWADR])[out + 1] - first;
    const int *col = m + m[M_MOMENT_COLIND] + first, *side = m + m[M_MOMENT_SIDE] + first;
    const real *p = PH_AT(W_SITE_XPOS) + 3 * crank, *origin = PH_AT(W_SITE_XPOS) + 3 * slider;
    real axis[3], way[3], by_axis[3], by_way[3], x[3], turn[3], *moment = PH_AT(W_ACTUATOR_MOMENT) + first;
    real gear = par(m, f, v, M_ACT_GEAR, 6 * out), rod = par(m, f, v, M_ACT_CRANKLENGTH, i), zero = splat(0);
    m3_column(PH_AT(W_SITE_XMAT) + 9 * slider, 2, axis);
    v3_sub(p, origin, way);
    real along = v3_dot(way, axis), left = fma(along, along, fma(rod, rod, -v3_dot(way, way)));
    mask reaches = gt(left, zero);
    real root = select(reaches, sqrt(left), zero), inverse = splat(1) / select(reaches, root, splat(1));
    real part = select(reaches, splat(1) - along * inverse, splat(1));
    for (int k = 0; k < 3; ++k) {
        by_axis[k] = part * way[k];
        by_way[k] = fma(part, axis[k], select(reaches, inverse * way[k], zero));
    }
    rolled for (int e = 0; e < n; ++e)
    {
        ph_point_velocity(m, w, col[e], side[e] > 0 ? p : origin, x);
        real rate = splat((ureal)side[e]) * v3_dot(by_way, x);
        v3_cross(PH_AT(W_CDOF) + 6 * col[e], axis, turn);
        if (side[e] < 0) rate = rate + v3_dot(by_axis, turn);
        moment[e] = gear * rate;
    }
    PH_AT(W_ACTUATOR_LENGTH)[out] = gear * (along - root);
}
