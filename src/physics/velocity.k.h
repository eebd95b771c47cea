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
LFN void ph_body_velocity(const int *m, real *w, int b)
{
    const real *cdof = PH_AT(W_CDOF), *qvel = PH_AT(W_QVEL);
    real *dot = PH_AT(W_CDOF_DOT);
    int first = (m + m[M_BODY_JNTADR])[b], njoint = (m + m[M_BODY_JNTNUM])[b];
    real a[6], t[6];
    ph_copy(a, PH_AT(W_CVEL) + 6 * (m + m[M_BODY_PARENTID])[b], 6);
    rolled for (int j = first; j < first + njoint; ++j)
    {
        int type = (m + m[M_JNT_TYPE])[j], d = (m + m[M_JNT_DOFADR])[j], n = type < 2 ? 3 : 1;
        if (type == 0) {
            ph_zero(dot + 6 * d, 18);
            ph_add_motion(a, cdof + 6 * d, qvel + d, 3);
            d += 3;
        }
        rolled for (int k = d; k < d + n; ++k)
        {
            ph_cross_motion(a, cdof + 6 * k, t);
            ph_copy(dot + 6 * k, t, 6);
        }
        ph_add_motion(a, cdof + 6 * d, qvel + d, n);
    }
    ph_copy(PH_AT(W_CVEL) + 6 * b, a, 6);
}

LFN void ph_velocity(const int *m, real *w)
{
    const int *level = m + m[M_LEVEL_ADR], *body = m + m[M_LEVEL_BODY];
    each (k, 6) PH_AT(W_CVEL)[k] = splat(0);
    rolled for (int l = 0; l < m[M_NLEVEL]; ++l)
    {
        sync();
        each (i, level[l + 1] - level[l]) ph_body_velocity(m, w, body[level[l] + i]);
    }
    sync();
}

/* cacc of body b without qacc, and the force that it needs. */
LFN void ph_body_bias(const int *m, real *w, int b)
{
    const real *I = PH_AT(W_CINERT) + 10 * b, *cvel = PH_AT(W_CVEL) + 6 * b;
    int d = (m + m[M_BODY_DOFADR])[b], n = (m + m[M_BODY_DOFNUM])[b];
    real a[6], force[6], momentum[6];
    ph_copy(a, PH_AT(W_CACC) + 6 * (m + m[M_BODY_PARENTID])[b], 6);
    if (n > 0) ph_add_motion(a, PH_AT(W_CDOF_DOT) + 6 * d, PH_AT(W_QVEL) + d, n);
    ph_copy(PH_AT(W_CACC) + 6 * b, a, 6);
    ph_inertia_mul(I, a, force);
    ph_inertia_mul(I, cvel, momentum);
    ph_add_cross_force(cvel, momentum, force);
    ph_copy(PH_AT(W_CFRC) + 6 * b, force, 6);
}

/* Sums of the forces in cfrc over subtrees, in place. */
LFN void ph_gather_forces(const int *m, real *w)
{
    const int *level = m + m[M_LEVEL_ADR], *body = m + m[M_LEVEL_BODY];
    real *cfrc = PH_AT(W_CFRC);
    for (int l = m[M_NLEVEL] - 2; l >= 0; --l) {
        each (i, level[l + 1] - level[l]) {
            int b = body[level[l] + i];
            ph_gather_children(m, b, 6, cfrc + 6 * b, cfrc, cfrc + 6 * b);
        }
        sync();
    }
}

/* qfrc_bias: the recursive Newton-Euler algorithm with qacc = 0. */
LFN void ph_bias(const int *m, const ureal *f, const real *v, real *w)
{
    const int *level = m + m[M_LEVEL_ADR], *body = m + m[M_LEVEL_BODY];
    each (k, 6) PH_AT(W_CACC)[k] = k < 3 ? splat(0) : -par(m, f, v, M_GRAVITY, k < 3 ? 0 : k - 3);
    rolled for (int l = 0; l < m[M_NLEVEL]; ++l)
    {
        sync();
        each (i, level[l + 1] - level[l]) ph_body_bias(m, w, body[level[l] + i]);
    }
    sync();
    ph_gather_forces(m, w);
    each (d, m[M_NV])
        PH_AT(W_QFRC_BIAS)[d] = ph_dot6(PH_AT(W_CDOF) + 6 * d, PH_AT(W_CFRC) + 6 * (m + m[M_DOF_BODYID])[d]);
    sync();
    ph_tendon_bias(m, f, v, w);
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
LFN real ph_coefficients(const int *m, const ureal *f, const real *v, int linear, int higher, int poly, int i, real *p)
{
    ph_zero(p, 2);
    if (poly) pars(m, f, v, higher, 2 * i, 2, p);
    return par(m, f, v, linear, i);
}

LFN void ph_joint_spring(const int *m, const ureal *f, const real *v, real *w, int j)
{
    int type = (m + m[M_JNT_TYPE])[j], q = (m + m[M_JNT_QPOSADR])[j], d = (m + m[M_JNT_DOFADR])[j];
    int flags = (m + m[M_JNT_FLAGS])[j];
    const real *qpos = PH_AT(W_QPOS);
    real *out = PH_AT(W_QFRC_SPRING);
    real p[2], x[3], quat[4], from[4];
    if (!(flags & PH_JNT_STIFF)) {
        ph_zero(out + d, type == 0 ? 6 : type == 1 ? 3 : 1);
        return;
    }
    real k = ph_coefficients(m, f, v, M_JNT_STIFFNESS, M_JNT_STIFFNESSPOLY, flags & PH_JNT_POLY, j, p);
    if (type >= 2) {
        out[d] = -ph_spring(k, p, qpos[q] - par(m, f, v, M_QPOS_SPRING, q));
        return;
    }
    if (type == 0) {
        for (int c = 0; c < 3; ++c) out[d + c] = -(k * (qpos[q + c] - par(m, f, v, M_QPOS_SPRING, q + c)));
        q += 3;
        d += 3;
    }
    pars(m, f, v, M_QPOS_SPRING, q, 4, from);
    for (int c = 1; c < 4; ++c) from[c] = -from[c];
    ph_copy(quat, qpos + q, 4);
    ph_quat_unit(quat);
    ph_quat_mul(from, quat);
    ph_quat_log(from, x);
    for (int c = 0; c < 3; ++c) out[d + c] = -(k * x[c]);
}

/* By how much a tendon is longer (or, negative, shorter) than the range in which its spring is slack. */
LFN real ph_tendon_stretch(const int *m, const ureal *f, const real *v, const real *w, int t)
{
    real length = PH_AT(W_TEN_LENGTH)[t], low = par(m, f, v, M_TEN_LENGTHSPRING, 2 * t);
    real high = par(m, f, v, M_TEN_LENGTHSPRING, 2 * t + 1);
    return select(gt(length, high), length - high, select(lt(length, low), length - low, splat(0)));
}
/* Force of a tendon along its length: springs and dampers. */
LFN real ph_tendon_spring(const int *m, const ureal *f, const real *v, const real *w, int t)
{
    int flags = (m + m[M_TEN_FLAGS])[t];
    real p[2];
    if (!(flags & PH_TEN_STIFF) || m[M_FLAGS] & PH_NO_SPRING) return splat(0);
    real k = ph_coefficients(m, f, v, M_TEN_STIFFNESS, M_TEN_STIFFNESSPOLY, flags & PH_TEN_STIFF_POLY, t, p);
    return -ph_spring(k, p, ph_tendon_stretch(m, f, v, w, t));
}
LFN real ph_tendon_damper(const int *m, const ureal *f, const real *v, const real *w, int t)
{
    int flags = (m + m[M_TEN_FLAGS])[t];
    real p[2];
    if (!(flags & PH_TEN_DAMPED) || m[M_FLAGS] & PH_NO_DAMPER) return splat(0);
    real b = ph_coefficients(m, f, v, M_TEN_DAMPING, M_TEN_DAMPINGPOLY, flags & PH_TEN_DAMPED_POLY, t, p);
    return -ph_damper(b, p, PH_AT(W_TEN_VELOCITY)[t]);
}

/* cfrc = a force on each body, and at = where it acts, as a spatial force about the tree's centre of mass. */
LFN void ph_place_force(const int *m, real *w, int b, const real *force)
{
    const real *com = PH_AT(W_SUBTREE_COM) + 3 * (m + m[M_BODY_ROOTID])[b], *at = PH_AT(W_XIPOS) + 3 * b;
    real *out = PH_AT(W_CFRC) + 6 * b;
    real off[3], t[3];
    for (int k = 0; k < 3; ++k) off[k] = at[k] - com[k];
    v3_cross(off, force, t);
    ph_copy(out, t, 3);
    ph_copy(out + 3, force, 3);
}

/* qfrc_gravcomp: forces against gravity on the bodies. */
LFN void ph_gravcomp(const int *m, const ureal *f, const real *v, real *w)
{
    real *out = PH_AT(W_QFRC_GRAVCOMP);
    if (!(m[M_FLAGS] & PH_GRAVCOMP)) {
        each (d, m[M_NV]) out[d] = splat(0);
        sync();
        return;
    }
    each (i, m[M_NBODY] - 1) {
        int b = i + 1;
        real force[3], s = par(m, f, v, M_BODY_MASS, b) * par(m, f, v, M_BODY_GRAVCOMP, b);
        for (int k = 0; k < 3; ++k) force[k] = -(s * par(m, f, v, M_GRAVITY, k));
        ph_place_force(m, w, b, force);
    }
    sync();
    ph_gather_forces(m, w);
    each (d, m[M_NV]) out[d] = ph_dot6(PH_AT(W_CDOF) + 6 * d, PH_AT(W_CFRC) + 6 * (m + m[M_DOF_BODYID])[d]);
    sync();
}

/* The damping of dof d at its present velocity. */
LFN real ph_dof_damper(const int *m, const ureal *f, const real *v, const real *w, int d)
{
    int flags = (m + m[M_DOF_FLAGS])[d];
    real p[2];
    if (!(flags & PH_DOF_DAMPED) || m[M_FLAGS] & PH_NO_DAMPER) return splat(0);
    real b = ph_coefficients(m, f, v, M_DOF_DAMPING, M_DOF_DAMPINGPOLY, flags & PH_DOF_POLY, d, p);
    return -ph_damper(b, p, PH_AT(W_QVEL)[d]);
}

/* After ph_fluid. */
LFN void ph_passive(const int *m, const ureal *f, const real *v, real *w)
{
    real *spring = PH_AT(W_QFRC_SPRING), *damper = PH_AT(W_QFRC_DAMPER), *force = PH_AT(W_TEN_FORCE);
    int ntendon = m[M_NTENDON];
    ph_gravcomp(m, f, v, w);
    if (m[M_FLAGS] & PH_NO_SPRING) {
        each (d, m[M_NV]) spring[d] = splat(0);
    } else {
        each (j, m[M_NJNT]) ph_joint_spring(m, f, v, w, j);
    }
    each (d, m[M_NV]) damper[d] = ph_dof_damper(m, f, v, w, d);
    each (t, ntendon) {
        force[t] = ph_tendon_spring(m, f, v, w, t);
        force[ntendon + t] = ph_tendon_damper(m, f, v, w, t);
    }
    sync();
    each (d, m[M_NV]) {
        int flags = (m + m[M_JNT_FLAGS])[(m + m[M_DOF_JNTID])[d]];
        spring[d] = ph_add_tendons(m, f, v, w, force, d, spring[d]);
        damper[d] = ph_add_tendons(m, f, v, w, force + ntendon, d, damper[d]);
        real sum = spring[d] + damper[d] + PH_AT(W_QFRC_FLUID)[d];
        PH_AT(W_QFRC_PASSIVE)[d] = flags & PH_JNT_ACTGRAVCOMP ? sum : sum + PH_AT(W_QFRC_GRAVCOMP)[d];
    }
    sync();
}
