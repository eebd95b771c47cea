/*
 * Stage kinematics: where bodies, joints, geoms and sites are. Part of the kernels that include it, after spatial.k.h.
 */

/* Moves the body's frame (p, q) by joint j, and keeps the joint's anchor and axis. */
LFN void ph_joint(ph_world w, int j, real *p, real *q)
{
    int type = jnt_type(w)[j], adr = jnt_qposadr(w)[j];
    int offset = jnt_flags(w)[j] & PH_JNT_POS;
    const real *qpos = qpos(w) + adr;
    real *anchor = xanchor(w) + 3 * j, *axis = xaxis(w) + 3 * j;
    real local[3], pos[3], turned[3], r[4];
    pars(w, M_JNT_AXIS, 3 * j, 3, local);
    ph_rotate(q, local, turned);
    ph_copy(axis, turned, 3);
    ph_zero(pos, 3);
    ph_zero(r, 3);
    if (offset) {
        pars(w, M_JNT_POS, 3 * j, 3, pos);
        ph_rotate(q, pos, r);
    }
    for (int k = 0; k < 3; ++k) anchor[k] = offset ? p[k] + r[k] : p[k];
    if (type == PH_SLIDE) {
        ph_add_scaled(p, turned, qpos[0] - qpos0(w, adr), 3);
        return;
    }
    if (type == PH_HINGE) {
        real half = splat((ureal)0.5) * (qpos[0] - qpos0(w, adr)), s = sin(half);
        r[0] = cos(half);
        for (int k = 0; k < 3; ++k) r[1 + k] = local[k] * s;
    } else { /* PH_BALL */
        ph_copy(r, qpos, 4);
        ph_quat_unit(r);
    }
    ph_quat_mul(q, r);
    if (offset) { /* the anchor stays where it is */
        ph_rotate(q, pos, r);
        for (int k = 0; k < 3; ++k) p[k] = anchor[k] - r[k];
    }
}

LFN void ph_body_pose(ph_world w, int b)
{
    int flags = body_flags(w)[b], parent = body_parentid(w)[b], first = body_jntadr(w)[b];
    int mocap = body_mocapid(w)[b];
    real p[3], q[4], R[9];
    if (flags & PH_BODY_FREE) {
        const real *qpos = qpos(w) + jnt_qposadr(w)[first];
        ph_copy(p, qpos, 3);
        ph_copy(q, qpos + 3, 4);
        ph_quat_unit(q);
        ph_copy(xanchor(w) + 3 * first, p, 3);
        pars(w, M_JNT_AXIS, 3 * first, 3, xaxis(w) + 3 * first);
    } else {
        if (mocap >= 0) {
            ph_copy(p, mocap_pos(w) + 3 * mocap, 3);
            ph_copy(q, mocap_quat(w) + 4 * mocap, 4);
            ph_quat_unit(q);
        } else {
            pars(w, M_BODY_POS, 3 * b, 3, p);
            pars(w, M_BODY_QUAT, 4 * b, 4, q);
        }
        if (parent != 0) {
            const real *at = xpos(w) + 3 * parent;
            real local[3], own[4];
            ph_copy(local, p, 3);
            ph_copy(own, q, 4);
            m3_mul(xmat(w) + 9 * parent, local, p);
            for (int k = 0; k < 3; ++k) p[k] = at[k] + p[k];
            ph_copy(q, xquat(w) + 4 * parent, 4);
            if (!(flags & PH_BODY_STRAIGHT)) ph_quat_mul(q, own);
        }
        int njoint = body_jntnum(w)[b];
        rolled
        for (int j = first; j < first + njoint; ++j) ph_joint(w, j, p, q);
        ph_quat_trim(q);
    }
    ph_copy(xpos(w) + 3 * b, p, 3);
    ph_copy(xquat(w) + 4 * b, q, 4);
    ph_quat_matrix(q, R);
    ph_copy(xmat(w) + 9 * b, R, 9);
}

/*
 * The pose of something that is fixed to body b: `same` is MuJoCo's mjtSameFrame, which says what the body's (1, 3) or
 * its inertial frame (2, 4) has in common with it: all, or the rotation.
 */
LFN void ph_fixed_pose(ph_world w, int b, int same, int pos, int quat, int i, real *xpos, real *xmat)
{
    const real *p = xpos(w) + 3 * b, *R = xmat(w) + 9 * b;
    real local[3], turned[3], own[4], q[4], S[9];
    if (same == PH_SAME_BODY) {
        ph_copy(xpos, p, 3);
        ph_copy(xmat, R, 9);
        return;
    }
    if (same == PH_SAME_INERTIA) {
        ph_copy(xpos, xipos(w) + 3 * b, 3);
        ph_copy(xmat, ximat(w) + 9 * b, 9);
        return;
    }
    pars(w, pos, 3 * i, 3, local);
    m3_mul(R, local, turned);
    for (int k = 0; k < 3; ++k) xpos[k] = p[k] + turned[k];
    if (same == PH_SAME_BODYROT) {
        ph_copy(xmat, R, 9);
    } else if (same == PH_SAME_INERTIAROT) {
        ph_copy(xmat, ximat(w) + 9 * b, 9);
    } else {
        pars(w, quat, 4 * i, 4, own);
        ph_copy(q, xquat(w) + 4 * b, 4);
        ph_quat_mul(q, own);
        ph_quat_matrix(q, S);
        ph_copy(xmat, S, 9);
    }
}

/* ngeom, nsite: how many of them are wanted, from the first on. */
LFN void ph_kinematics(ph_world w, int ngeom, int nsite)
{
    const int *level = level_adr(w), *body = level_body(w);
    each (k, 9) {
        xmat(w)[k] = splat((ureal)(k % 4 == 0));
        ximat(w)[k] = splat((ureal)(k % 4 == 0));
        if (k < 3) xpos(w)[k] = splat(0);
        if (k < 3) xipos(w)[k] = splat(0);
        if (k < 4) xquat(w)[k] = splat((ureal)(k == 0));
    }
    rolled
    for (int l = 0; l < nlevel(w); ++l) {
        sync();
        each (i, level[l + 1] - level[l]) ph_body_pose(w, body[level[l] + i]);
    }
    sync();
    each (i, nbody(w) - 1) {
        int b = i + 1;
        ph_fixed_pose(w, b, body_sameframe(w)[b], M_BODY_IPOS, M_BODY_IQUAT, b, xipos(w) + 3 * b, ximat(w) + 9 * b);
    }
    sync();
    each (i, ngeom)
        ph_fixed_pose(w, geom_bodyid(w)[i], geom_sameframe(w)[i], M_GEOM_POS, M_GEOM_QUAT, i, geom_xpos(w) + 3 * i,
                      geom_xmat(w) + 9 * i);
    each (i, nsite)
        ph_fixed_pose(w, site_bodyid(w)[i], site_sameframe(w)[i], M_SITE_POS, M_SITE_QUAT, i, site_xpos(w) + 3 * i,
                      site_xmat(w) + 9 * i);
    sync();
}
