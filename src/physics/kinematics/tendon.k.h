/*
 * Stage tendon: lengths of tendons, ten_J and velocities. Part of the kernels that include it, after inertia.k.h and
 * geom/wrap.k.h.
 *
 * A spatial tendon is made of links, each from a site to the next one, straight or around a geom. A link pulls its ends
 * and the geom: what it does to them per newton are three spatial forces about the centres of mass of their trees, and
 * an entry of ten_J is the power of those in its list (tendons.c) at a unit velocity of its dof. A dof that moves all
 * that a link touches has nothing of it in its list, so it gets an exact 0.
 */
/* Entry e of ten_J: of fixed tendons alone constants. */
LFN real ph_ten_j(ph_world w, int e) { return nlink(w) > 0 ? ten_J(w)[e] : tendon_coef(w, e); }

/* out += a force along u at a place, times s, as a spatial force about the centre of mass of the tree of body b. */
LFN void ph_add_pull(ph_world w, int b, const real *at, const real *u, real s, real *out)
{
    const real *com = subtree_com(w) + 3 * body_rootid(w)[b];
    real off[3], force[3];
    for (int k = 0; k < 3; ++k) {
        off[k] = at[k] - com[k];
        force[k] = s * u[k];
        out[3 + k] = out[3 + k] + force[k];
    }
    ph_add_cross(off, force, out);
}

/* The link's length and its three forces, divided by its pulley's divisor; a piece within one body has no forces. */
LFN void ph_link(ph_world w, int l)
{
    const int *row = link_first(w) + LK_SIZE * l;
    const real *from = site_xpos(w) + 3 * row[LK_FROM], *to = site_xpos(w) + 3 * row[LK_TO];
    int g = row[LK_GEOM], first = site_bodyid(w)[row[LK_FROM]], last = site_bodyid(w)[row[LK_TO]];
    real a[3], b[3], p[3], q[3], u[3], out[18], scale = link_scale(w, l), arc = splat(0);
    mask wraps = m_none();
    ph_copy(a, from, 3);
    ph_copy(b, to, 3);
    ph_zero(out, 18);
    if (g >= 0) {
        wrap_way way;
        real side[3];
        int sided = row[LK_SIDE] >= 0;
        way.radius = geom_size(w, 3 * g);
        ph_copy(way.centre, geom_xpos(w) + 3 * g, 3);
        for (int k = 0; k < 9; ++k) way.axis[k] = geom_xmat(w)[9 * g + 3 * (k % 3) + k / 3];
        ph_copy(side, sided ? site_xpos(w) + 3 * row[LK_SIDE] : from, 3);
        wraps = wrap_geom(row[LK_SPHERE], sided, side, a, b, &way);
        real flat = rabs(way.angle) * way.radius, gain = way.rise * flat;
        wrap_out(way.centre, way.axis, way.t, way.base, p);
        wrap_out(way.centre, way.axis, way.t + 2, way.base + gain, q);
        arc = select(wraps, sqrt(fma(gain, gain, flat * flat)), splat(0));
    }
    for (int k = 0; k < 3; ++k) {
        p[k] = g >= 0 ? select(wraps, p[k], b[k]) : b[k];
        u[k] = p[k] - a[k];
    }
    real length = v3_normalize(u), none = splat(0), away[3];
    real leaves = first != last ? scale : none, comes = leaves; /* per newton at the first and at the second site */
    ph_copy(away, u, 3);
    if (g >= 0) {
        int body = geom_bodyid(w)[g];
        real end[3];
        v3_sub(b, q, end);
        real rest = v3_normalize(end);
        length = length + select(wraps, arc + rest, none);
        leaves = select(wraps, first != body ? scale : none, leaves);
        comes = select(wraps, last != body ? scale : none, comes);
        v3_select(wraps, end, u, away);
        ph_add_pull(w, body, p, u, select(wraps, leaves, none), out + 6);
        ph_add_pull(w, body, q, away, select(wraps, -comes, none), out + 6);
    }
    ph_add_pull(w, first, a, u, -leaves, out);
    ph_add_pull(w, last, b, away, comes, out + 12);
    ph_copy(link_pull(w) + 18 * l, out, 18);
    link_length(w)[l] = length * scale;
}

/* Entry e of ten_J where there are spatial tendons. */
LFN void ph_ten_entry(ph_world w, int e)
{
    const int *adr = tendon_pull_adr(w), *pull = tendon_pull(w);
    const real *cdof = cdof(w) + 6 * ten_J_colind(w)[e];
    real x = tendon_coef(w, e);
    rolled
    for (int k = adr[e]; k < adr[e + 1]; ++k) x = x + ph_dot6(cdof, link_pull(w) + 6 * pull[k]);
    ten_J(w)[e] = x;
}

/* Lengths of fixed tendons are weighted sums of joint positions, those of spatial ones sums over links. */
LFN void ph_tendon(ph_world w)
{
    const int *adr = ten_J_rowadr(w), *col = ten_J_colind(w), *at = ten_J_qpos(w);
    const int *link = tendon_link_adr(w);
    if (nlink(w) > 0) {
        each (l, nlink(w)) ph_link(w, l);
        sync();
        each (e, ntenj(w)) ph_ten_entry(w, e);
        sync();
    }
    each (t, ntendon(w)) {
        int fixed = link[t] == link[t + 1];
        real length = splat(0), velocity = splat(0);
        rolled
        for (int l = link[t]; l < link[t + 1]; ++l) length = length + link_length(w)[l];
        rolled
        for (int e = adr[t]; e < adr[t + 1]; ++e) {
            real c = ph_ten_j(w, e);
            if (fixed) length = fma(c, qpos(w)[at[e]], length);
            velocity = fma(c, qvel(w)[col[e]], velocity);
        }
        ten_length(w)[t] = length;
        ten_velocity(w)[t] = velocity;
    }
    sync();
}

/* Adds tendons' armature to qM, entry by entry. */
LFN void ph_tendon_armature(ph_world w)
{
    const int *adr = entry_adr(w), *pair = entry_pair(w);
    if (!(model_flags(w) & PH_TEN_ARMATURE)) return;
    each (e, nC(w)) {
        real s = qM(w)[e];
        rolled
        for (int k = adr[e]; k < adr[e + 1]; ++k) {
            const int *p = pair + 4 * k;
            if (p[0] == 0) {
                real jj = ph_ten_j(w, p[2]) * ph_ten_j(w, p[3]);
                s = fma(tendon_armature(w, p[1]), jj, s);
            }
        }
        qM(w)[e] = s;
    }
    sync();
}

/* ten_J' * force at dof d, added to x in the order of tendons. */
LFN real ph_add_tendons(ph_world w, const real *force, int d, real x)
{
    const int *adr = dof_ten_adr(w), *pair = dof_ten(w);
    rolled
    for (int k = adr[d]; k < adr[d + 1]; ++k) x = fma(ph_ten_j(w, pair[2 * k + 1]), force[pair[2 * k]], x);
    return x;
}

/* Rotation and translation of the point p of a body. */
LFN void ph_point_motion(ph_world w, int body, const real *p, real *out)
{
    const real *com = subtree_com(w) + 3 * body_rootid(w)[body], *cvel = cvel(w) + 6 * body;
    real off[3];
    v3_sub(p, com, off);
    ph_copy(out, cvel, 6);
    ph_add_cross(cvel, off, out + 3);
}

/* The acceleration of the point p of a body that accelerations of dofs do not make: 0 … 2; turning: 3 … 5. */
LFN void ph_point_drift(ph_world w, int body, const real *p, real *out)
{
    const real *com = subtree_com(w) + 3 * body_rootid(w)[body];
    const real *cvel = cvel(w) + 6 * body, *cacc = cacc(w) + 6 * body;
    real off[3], motion[6];
    v3_sub(p, com, off);
    ph_point_motion(w, body, p, motion);
    ph_copy(out, cacc + 3, 3);
    ph_add_cross(cacc, off, out);
    ph_add_cross(cvel, motion + 3, out);
    ph_copy(out + 3, cacc, 3);
}

/* The acceleration of the length of tendon t, whose links are straight, where qacc is 0; gravity falls out of it. */
LFN real ph_tendon_drift(ph_world w, int t)
{
    const int *adr = tendon_link_adr(w);
    real sum = splat(0);
    rolled
    for (int l = adr[t]; l < adr[t + 1]; ++l) {
        const int *row = link_first(w) + LK_SIZE * l;
        int first = site_bodyid(w)[row[LK_FROM]], last = site_bodyid(w)[row[LK_TO]];
        const real *from = site_xpos(w) + 3 * row[LK_FROM], *to = site_xpos(w) + 3 * row[LK_TO];
        real u[3], motion[2][6], acc[2][6], vel[3];
        for (int k = 0; k < 3; ++k) u[k] = to[k] - from[k];
        real length = v3_normalize(u);
        ph_point_motion(w, first, from, motion[0]);
        ph_point_drift(w, first, from, acc[0]);
        ph_point_motion(w, last, to, motion[1]);
        ph_point_drift(w, last, to, acc[1]);
        for (int k = 0; k < 3; ++k) {
            vel[k] = motion[1][3 + k] - motion[0][3 + k];
            acc[1][k] = acc[1][k] - acc[0][k];
        }
        real along = v3_dot(u, vel), across = fma(-along, along, v3_dot(vel, vel));
        real turn = select(lt(splat(PHYSICS_MINVAL), length), across / length, splat(0));
        if (first != last) sum = fma(link_scale(w, l), v3_dot(u, acc[1]) + turn, sum);
    }
    return sum;
}

/* Does a tendon with links have armature? */
LFN int ph_drifts(ph_world w) { return nlink(w) > 0 && model_flags(w) & PH_TEN_ARMATURE; }

/* qfrc_bias += what tendons' armature resists of the drift of their lengths. */
LFN void ph_tendon_bias(ph_world w)
{
    if (!ph_drifts(w)) return;
    each (t, ntendon(w)) ten_force(w)[t] = tendon_armature(w, t) * ph_tendon_drift(w, t);
    sync();
    each (d, nv(w)) qfrc_bias(w)[d] = ph_add_tendons(w, ten_force(w), d, qfrc_bias(w)[d]);
    sync();
}
