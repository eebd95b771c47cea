/*
 * Stages velocity, bias and passive: velocities of bodies, Coriolis, centrifugal and gravitational forces, springs,
 * dampers, gravity compensation. Part of the kernels that include it, after spatial.k.h.
 */

/* a += cdof * qvel of n dofs. */
LFN void ph_add_motion(real *a, const real *cdof, const real *qvel, int n)
{
    for (int d = 0; d < n; ++d) ph_add_scaled(a, cdof + 6 * d, qvel[d], 6);
}

/* cvel of body b and cdof_dot of its dofs: the three rotations of a ball turn together. */
LFN void ph_body_velocity(ph_world w, int b)
{
    const real *cdof = cdof(w), *qvel = qvel(w);
    real *dot = cdof_dot(w);
    int first = body_jntadr(w)[b], njoint = body_jntnum(w)[b];
    real a[6], t[6];
    ph_copy(a, cvel(w) + 6 * body_parentid(w)[b], 6);
    rolled
    for (int j = first; j < first + njoint; ++j) {
        int type = jnt_type(w)[j], d = jnt_dofadr(w)[j], n = type < PH_SLIDE ? 3 : 1;
        if (type == PH_FREE) {
            ph_zero(dot + 6 * d, 18);
            ph_add_motion(a, cdof + 6 * d, qvel + d, 3);
            d += 3;
        }
        rolled
        for (int k = d; k < d + n; ++k) {
            ph_cross_motion(a, cdof + 6 * k, t);
            ph_copy(dot + 6 * k, t, 6);
        }
        ph_add_motion(a, cdof + 6 * d, qvel + d, n);
    }
    ph_copy(cvel(w) + 6 * b, a, 6);
}

LFN void ph_velocity(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    each (k, 6) cvel(w)[k] = splat(0);
    rolled
    for (int l = 0; l < nlevel(w); ++l) {
        sync();
        each (i, level[l + 1] - level[l]) ph_body_velocity(w, body[level[l] + i]);
    }
    sync();
}

/* cacc of body b without qacc, and the force that it needs. */
LFN void ph_body_bias(ph_world w, int b)
{
    const real *I = cinert(w) + 10 * b, *cvel = cvel(w) + 6 * b;
    int d = body_dofadr(w)[b], n = body_dofnum(w)[b];
    real a[6], force[6], momentum[6];
    ph_copy(a, cacc(w) + 6 * body_parentid(w)[b], 6);
    if (n > 0) ph_add_motion(a, cdof_dot(w) + 6 * d, qvel(w) + d, n);
    ph_copy(cacc(w) + 6 * b, a, 6);
    ph_inertia_mul(I, a, force);
    ph_inertia_mul(I, cvel, momentum);
    ph_add_cross_force(cvel, momentum, force);
    ph_copy(cfrc(w) + 6 * b, force, 6);
}

/* Sums of the forces in cfrc over subtrees, in place. */
LFN void ph_gather_forces(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    real *cfrc = cfrc(w);
    for (int l = nlevel(w) - 2; l >= 0; --l) {
        each (i, level[l + 1] - level[l]) {
            int b = body[level[l] + i];
            ph_gather_children(w, b, 6, cfrc + 6 * b, cfrc, cfrc + 6 * b);
        }
        sync();
    }
}

/* qfrc_bias: the recursive Newton-Euler algorithm with qacc = 0. */
LFN void ph_bias(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    each (k, 6) cacc(w)[k] = k < 3 ? splat(0) : -gravity(w, k < 3 ? 0 : k - 3);
    rolled
    for (int l = 0; l < nlevel(w); ++l) {
        sync();
        each (i, level[l + 1] - level[l]) ph_body_bias(w, body[level[l] + i]);
    }
    sync();
    ph_gather_forces(w);
    each (d, nv(w)) qfrc_bias(w)[d] = ph_dot6(cdof(w) + 6 * d, cfrc(w) + 6 * dof_bodyid(w)[d]);
    sync();
    ph_tendon_bias(w);
}

/* k x + p[0] x^2 + p[1] x^3 */
LFN real ph_spring(real k, const real *p, real x) { return x * fma(x, fma(x, p[1], p[0]), k); }
/* … and its derivative by x */
LFN real ph_spring_slope(real k, const real *p, real x) { return fma(x, fma(splat(3) * x, p[1], splat(2) * p[0]), k); }
/* b v + p[0] v |v| + p[1] v^3 */
LFN real ph_damper(real b, const real *p, real v) { return v * fma(rabs(v), fma(rabs(v), p[1], p[0]), b); }
/* … and its derivative by v */
LFN real ph_damper_slope(real b, const real *p, real v)
{
    real a = rabs(v);
    return fma(a, fma(splat(3) * a, p[1], splat(2) * p[0]), b);
}

/* Coefficients of a spring or a damper: `poly` says whether it has any but the linear one. */
LFN real ph_coefficients(ph_world w, int linear, int higher, int poly, int i, real *p)
{
    ph_zero(p, 2);
    if (poly) pars(w, higher, 2 * i, 2, p);
    return par(w, linear, i);
}

LFN void ph_joint_spring(ph_world w, int j)
{
    int type = jnt_type(w)[j], q = jnt_qposadr(w)[j], d = jnt_dofadr(w)[j];
    int flags = jnt_flags(w)[j];
    const real *qpos = qpos(w);
    real *out = qfrc_spring(w);
    real p[2], x[3], quat[4], from[4];
    if (!(flags & PH_JNT_STIFF)) {
        ph_zero(out + d, type == PH_FREE ? 6 : type == PH_BALL ? 3 : 1);
        return;
    }
    real k = ph_coefficients(w, M_JNT_STIFFNESS, M_JNT_STIFFNESSPOLY, flags & PH_JNT_POLY, j, p);
    if (type >= PH_SLIDE) {
        out[d] = -ph_spring(k, p, qpos[q] - qpos_spring(w, q));
        return;
    }
    if (type == PH_FREE) {
        for (int c = 0; c < 3; ++c) out[d + c] = -(k * (qpos[q + c] - qpos_spring(w, q + c)));
        q += 3;
        d += 3;
    }
    pars(w, M_QPOS_SPRING, q, 4, from);
    for (int c = 1; c < 4; ++c) from[c] = -from[c];
    ph_copy(quat, qpos + q, 4);
    ph_quat_unit(quat);
    ph_quat_mul(from, quat);
    ph_quat_log(from, x);
    for (int c = 0; c < 3; ++c) out[d + c] = -(k * x[c]);
}

/* By how much a tendon is longer (or, negative, shorter) than the range in which its spring is slack. */
LFN real ph_tendon_stretch(ph_world w, int t)
{
    real length = ten_length(w)[t], low = tendon_lengthspring(w, 2 * t);
    real high = tendon_lengthspring(w, 2 * t + 1);
    return select(gt(length, high), length - high, select(lt(length, low), length - low, splat(0)));
}
/* Force of a tendon along its length: springs and dampers. */
LFN real ph_tendon_spring(ph_world w, int t)
{
    int flags = tendon_flags(w)[t];
    real p[2];
    if (!(flags & PH_TEN_STIFF) || model_flags(w) & PH_NO_SPRING) return splat(0);
    real k = ph_coefficients(w, M_TEN_STIFFNESS, M_TEN_STIFFNESSPOLY, flags & PH_TEN_STIFF_POLY, t, p);
    return -ph_spring(k, p, ph_tendon_stretch(w, t));
}
LFN real ph_tendon_damper(ph_world w, int t)
{
    int flags = tendon_flags(w)[t];
    real p[2];
    if (!(flags & PH_TEN_DAMPED) || model_flags(w) & PH_NO_DAMPER) return splat(0);
    real b = ph_coefficients(w, M_TEN_DAMPING, M_TEN_DAMPINGPOLY, flags & PH_TEN_DAMPED_POLY, t, p);
    return -ph_damper(b, p, ten_velocity(w)[t]);
}

/* cfrc = a force on each body, and at = where it acts, as a spatial force about the tree's centre of mass. */
LFN void ph_place_force(ph_world w, int b, const real *force)
{
    const real *com = subtree_com(w) + 3 * body_rootid(w)[b], *at = xipos(w) + 3 * b;
    real *out = cfrc(w) + 6 * b;
    real off[3], t[3];
    for (int k = 0; k < 3; ++k) off[k] = at[k] - com[k];
    v3_cross(off, force, t);
    ph_copy(out, t, 3);
    ph_copy(out + 3, force, 3);
}

/* qfrc_gravcomp: forces against gravity on the bodies. */
LFN void ph_gravcomp(ph_world w)
{
    real *out = qfrc_gravcomp(w);
    if (!(model_flags(w) & PH_GRAVCOMP)) {
        each (d, nv(w)) out[d] = splat(0);
        sync();
        return;
    }
    each (i, nbody(w) - 1) {
        int b = i + 1;
        real force[3], s = body_mass(w, b) * body_gravcomp(w, b);
        for (int k = 0; k < 3; ++k) force[k] = -(s * gravity(w, k));
        ph_place_force(w, b, force);
    }
    sync();
    ph_gather_forces(w);
    each (d, nv(w)) out[d] = ph_dot6(cdof(w) + 6 * d, cfrc(w) + 6 * dof_bodyid(w)[d]);
    sync();
}

/* The damping of dof d at its present velocity. */
LFN real ph_dof_damper(ph_world w, int d)
{
    int flags = dof_flags(w)[d];
    real p[2];
    if (!(flags & PH_DOF_DAMPED) || model_flags(w) & PH_NO_DAMPER) return splat(0);
    real b = ph_coefficients(w, M_DOF_DAMPING, M_DOF_DAMPINGPOLY, flags & PH_DOF_POLY, d, p);
    return -ph_damper(b, p, qvel(w)[d]);
}

/* After ph_fluid. */
LFN void ph_passive(ph_world w)
{
    real *spring = qfrc_spring(w), *damper = qfrc_damper(w), *force = ten_force(w);
    int ntendon = ntendon(w);
    ph_gravcomp(w);
    if (model_flags(w) & PH_NO_SPRING) {
        each (d, nv(w)) spring[d] = splat(0);
    } else {
        each (j, njnt(w)) ph_joint_spring(w, j);
    }
    each (d, nv(w)) damper[d] = ph_dof_damper(w, d);
    each (t, ntendon) {
        force[t] = ph_tendon_spring(w, t);
        force[ntendon + t] = ph_tendon_damper(w, t);
    }
    sync();
    each (d, nv(w)) {
        int flags = jnt_flags(w)[dof_jntid(w)[d]];
        spring[d] = ph_add_tendons(w, force, d, spring[d]);
        damper[d] = ph_add_tendons(w, force + ntendon, d, damper[d]);
        real sum = spring[d] + damper[d] + qfrc_fluid(w)[d];
        qfrc_passive(w)[d] = flags & PH_JNT_ACTGRAVCOMP ? sum : sum + qfrc_gravcomp(w)[d];
    }
    sync();
}
