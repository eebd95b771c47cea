/*
 * Stage kinematics: where bodies, joints, geoms and sites are. Part of the kernels that include it, after spatial.k.h.
 */

/* Moves the body's frame (p, q) by joint j, and keeps the joint's anchor and axis. */
LFN void ph_joint(const int *m, const ureal *f, const real *v, real *w, int j, real *p, real *q)
{
    int type = (m + m[M_JNT_TYPE])[j], adr = (m + m[M_JNT_QPOSADR])[j];
    int offset = (m + m[M_JNT_FLAGS])[j] & PH_JNT_POS;
    const real *qpos = PH_AT(W_QPOS) + adr;
    real *anchor = PH_AT(W_XANCHOR) + 3 * j, *axis = PH_AT(W_XAXIS) + 3 * j;
    real local[3], pos[3], turned[3], r[4];
    pars(m, f, v, M_JNT_AXIS, 3 * j, 3, local);
    ph_rotate(q, local, turned);
    ph_copy(axis, turned, 3);
    ph_zero(pos, 3);
    ph_zero(r, 3);
    if (offset) {
        pars(m, f, v, M_JNT_POS, 3 * j, 3, pos);
        ph_rotate(q, pos, r);
    }
    for (int k = 0; k < 3; ++k) anchor[k] = offset ? p[k] + r[k] : p[k];
    if (type == 2) { /* slide */
        ph_add_scaled(p, turned, qpos[0] - par(m, f, v, M_QPOS0, adr), 3);
        return;
    }
    if (type == 3) { /* hinge */
        real half = splat((ureal)0.5) * (qpos[0] - par(m, f, v, M_QPOS0, adr)), s = sin(half);
        r[0] = cos(half);
        for (int k = 0; k < 3; ++k) r[1 + k] = local[k] * s;
    } else { /* ball */
        ph_copy(r, qpos, 4);
        ph_quat_unit(r);
    }
    ph_quat_mul(q, r);
    if (offset) { /* the anchor stays where it is */
        ph_rotate(q, pos, r);
        for (int k = 0; k < 3; ++k) p[k] = anchor[k] - r[k];
    }
}

LFN void ph_body_pose(const int *m, const ureal *f, const real *v, real *w, int b)
{
    int flags = (m + m[M_BODY_FLAGS])[b], parent = (m + m[M_BODY_PARENTID])[b], first = (m + m[M_BODY_JNTADR])[b];
    int mocap = (m + m[M_BODY_MOCAPID])[b];
    real p[3], q[4], R[9];
    if (flags & PH_BODY_FREE) {
        const real *qpos = PH_AT(W_QPOS) + (m + m[M_JNT_QPOSADR])[first];
        ph_copy(p, qpos, 3);
        ph_copy(q, qpos + 3, 4);
        ph_quat_unit(q);
        ph_copy(PH_AT(W_XANCHOR) + 3 * first, p, 3);
        pars(m, f, v, M_JNT_AXIS, 3 * first, 3, PH_AT(W_XAXIS) + 3 * first);
    } else {
        if (mocap >= 0) {
            ph_copy(p, PH_AT(W_MOCAP_POS) + 3 * mocap, 3);
            ph_copy(q, PH_AT(W_MOCAP_QUAT) + 4 * mocap, 4);
            ph_quat_unit(q);
        } else {
            pars(m, f, v, M_BODY_POS, 3 * b, 3, p);
            pars(m, f, v, M_BODY_QUAT, 4 * b, 4, q);
        }
        if (parent != 0) {
            const real *at = PH_AT(W_XPOS) + 3 * parent;
            real local[3], own[4];
            ph_copy(local, p, 3);
            ph_copy(own, q, 4);
            m3_mul(PH_AT(W_XMAT) + 9 * parent, local, p);
            for (int k = 0; k < 3; ++k) p[k] = at[k] + p[k];
            ph_copy(q, PH_AT(W_XQUAT) + 4 * parent, 4);
            if (!(flags & PH_BODY_STRAIGHT)) ph_quat_mul(q, own);
        }
        int njoint = (m + m[M_BODY_JNTNUM])[b];
        rolled for (int j = first; j < first + njoint; ++j) ph_joint(m, f, v, w, j, p, q);
        ph_quat_trim(q);
    }
    ph_copy(PH_AT(W_XPOS) + 3 * b, p, 3);
    ph_copy(PH_AT(W_XQUAT) + 4 * b, q, 4);
    ph_quat_matrix(q, R);
    ph_copy(PH_AT(W_XMAT) + 9 * b, R, 9);
}

/*
 * The pose of something that is fixed to body b: `same` is MuJoCo's mjtSameFrame, which says what the body's (1, 3) or
 * its inertial frame (2, 4) has in common with it: all, or the rotation.
 */
LFN void ph_fixed_pose(const int *m, const ureal *f, const real *v, const real *w, int b, int same, int pos, int quat,
                       int i, real *xpos, real *xmat)
{
    const real *p = PH_AT(W_XPOS) + 3 * b, *R = PH_AT(W_XMAT) + 9 * b;
    real local[3], turned[3], own[4], q[4], S[9];
    if (same == 1) {
        ph_copy(xpos, p, 3);
        ph_copy(xmat, R, 9);
        return;
    }
    if (same == 2) {
        ph_copy(xpos, PH_AT(W_XIPOS) + 3 * b, 3);
        ph_copy(xmat, PH_AT(W_XIMAT) + 9 * b, 9);
        return;
    }
    pars(m, f, v, pos, 3 * i, 3, local);
    m3_mul(R, local, turned);
    for (int k = 0; k < 3; ++k) xpos[k] = p[k] + turned[k];
    if (same == 3) {
        ph_copy(xmat, R, 9);
    } else if (same == 4) {
        ph_copy(xmat, PH_AT(W_XIMAT) + 9 * b, 9);
    } else {
        pars(m, f, v, quat, 4 * i, 4, own);
        ph_copy(q, PH_AT(W_XQUAT) + 4 * b, 4);
        ph_quat_mul(q, own);
        ph_quat_matrix(q, S);
        ph_copy(xmat, S, 9);
    }
}

/* ngeom, nsite: how many of them are wanted, from the first on. */
LFN void ph_kinematics(const int *m, const ureal *f, const real *v, real *w, int ngeom, int nsite)
{
    const int *level = m + m[M_LEVEL_ADR], *body = m + m[M_LEVEL_BODY];
    each (k, 9) {
        PH_AT(W_XMAT)[k] = splat((ureal)(k % 4 == 0));
        PH_AT(W_XIMAT)[k] = splat((ureal)(k % 4 == 0));
        if (k < 3) PH_AT(W_XPOS)[k] = splat(0);
        if (k < 3) PH_AT(W_XIPOS)[k] = splat(0);
        if (k < 4) PH_AT(W_XQUAT)[k] = splat((ureal)(k == 0));
    }
    rolled for (int l = 0; l < m[M_NLEVEL]; ++l)
    {
        sync();
        each (i, level[l + 1] - level[l]) ph_body_pose(m, f, v, w, body[level[l] + i]);
    }
    sync();
    each (i, m[M_NBODY] - 1) {
        int b = i + 1;
        ph_fixed_pose(m, f, v, w, b, (m + m[M_BODY_SAMEFRAME])[b], M_BODY_IPOS, M_BODY_IQUAT, b, PH_AT(W_XIPOS) + 3 * b,
                      PH_AT(W_XIMAT) + 9 * b);
    }
    sync();
    each (i, ngeom)
        ph_fixed_pose(m, f, v, w, (m + m[M_GEOM_BODYID])[i], (m + m[M_GEOM_SAMEFRAME])[i], M_GEOM_POS, M_GEOM_QUAT, i,
                      PH_AT(W_GEOM_XPOS) + 3 * i, PH_AT(W_GEOM_XMAT) + 9 * i);
    each (i, nsite)
        ph_fixed_pose(m, f, v, w, (m + m[M_SITE_BODYID])[i], (m + m[M_SITE_SAMEFRAME])[i], M_SITE_POS, M_SITE_QUAT, i,
                      PH_AT(W_SITE_XPOS) + 3 * i, PH_AT(W_SITE_XMAT) + 9 * i);
    sync();
}
