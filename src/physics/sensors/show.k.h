/*
 * Stage show: quantities that somebody reads, one after the other into one array of worlds. A quantity is Q_SIZE ints
 * of a list (layout.k.h). Part of the kernels that include it, after after.k.h.
 */

/* The quaternion of a rotation matrix, with MuJoCo's signs: the largest component is positive. */
LFN void ph_matrix_quat(const real *R, real *q)
{
    real quarter = splat((ureal)0.25), half = splat((ureal)0.5), zero = splat(0);
    mask done = m_none();
    for (int k = 0; k < 4; ++k) {
        /* component k is the greatest of the four; x, y, z: the axes that follow k - 1 */
        int i = k == 0 ? 0 : k - 1, j = (i + 1) % 3, l = (i + 2) % 3;
        real a = R[4 * i], b = R[4 * j], c = R[4 * l];
        mask here = k == 0 ? gt(a + b + c, zero) : gt(a, b);
        if (k == 1) here = m_and(here, gt(a, c));
        if (k == 3) here = m_all();
        here = m_andnot(here, done);
        done = m_or(done, here);
        real sum = k == 0 ? a + b + c : a - b - c;
        real big = half * sqrt(splat(1) + sum), s = quarter / big, r[4];
        if (k == 0) {
            r[0] = big;
            r[1] = s * (R[7] - R[5]);
            r[2] = s * (R[2] - R[6]);
            r[3] = s * (R[3] - R[1]);
        } else {
            r[0] = s * (R[3 * l + j] - R[3 * j + l]);
            r[1 + i] = big;
            r[1 + j] = s * (R[3 * i + j] + R[3 * j + i]);
            r[1 + l] = s * (R[3 * i + l] + R[3 * l + i]);
        }
        for (int n = 0; n < 4; ++n) q[n] = select(here, r[n], q[n]);
    }
    ph_quat_unit(q);
}

LFN void ph_show_quats(ph_world w, const int *q, real *out)
{
    each (i, q[Q_N] / 4) {
        real quat[4];
        ph_zero(quat, 4);
        ph_matrix_quat(PH_AT(w, q[Q_FROM]) + 9 * i, quat);
        for (int k = 0; k < 4; ++k) put(out, q[Q_AT] + 4 * i + k, quat[k]);
    }
}

/* qM as a full matrix. */
LFN void ph_show_dense(ph_world w, const int *q, real *out)
{
    int nv = nv(w);
    each (i, nv * nv) {
        int row = nmax(i / nv, i % nv), col = nmin(i / nv, i % nv), first = M_rowadr(w)[row];
        real x = splat(0);
        rolled
        for (int e = first; e < first + M_rownnz(w)[row]; ++e)
            if (M_colind(w)[e] == col) x = qM(w)[e];
        put(out, q[Q_AT] + i, x);
    }
}

/* Does a dof move a body? */
LFN int ph_moves(ph_world w, int dof, int body)
{
    int of = dof_bodyid(w)[dof];
    rolled
    for (; body > 0 && body != of;) body = body_parentid(w)[body];
    return body > 0;
}

LFN void ph_show_jacobian(ph_world w, const int *q, const ureal *points, real *out)
{
    int nv = nv(w), body = q[Q_BODY];
    real p[3], local[3];
    if (q[Q_KIND] == PH_SHOW_POINT) {
        for (int k = 0; k < 3; ++k) local[k] = splat(points[3 * q[Q_ITEM] + k]);
        m3_mul(xmat(w) + 9 * body, local, p);
        for (int k = 0; k < 3; ++k) p[k] = p[k] + xpos(w)[3 * body + k];
    } else {
        ph_copy(p, PH_AT(w, q[Q_FROM]) + 3 * q[Q_ITEM], 3);
    }
    each (d, nv) {
        real lin[3], ang[3];
        ph_zero(lin, 3);
        ph_zero(ang, 3);
        if (ph_moves(w, d, body)) {
            ph_point_velocity(w, d, p, lin);
            ph_copy(ang, cdof(w) + 6 * d, 3);
        }
        for (int k = 0; k < 3; ++k) put(out, q[Q_AT] + k * nv + d, lin[k]);
        for (int k = 0; k < 3; ++k) put(out, q[Q_AT] + (3 + k) * nv + d, ang[k]);
    }
}

LFN void ph_show_contacts(ph_world w, const int *q, real *out)
{
    const real *list = w.memory + nmemory_all(w) + 1;
    int n = q[Q_ITEM];
    each (i, q[Q_N]) put(out, q[Q_AT] + i, list[PH_LISTED * (i / n) + q[Q_FROM] + i % n]);
}

PH_PART LFN void ph_show(ph_world w, const int *q, const ureal *points, real *out)
{
    int kind = q[Q_KIND];
    if (kind == PH_SHOW_COPY) {
        each (i, q[Q_N]) put(out, q[Q_AT] + i, PH_AT(w, q[Q_FROM])[i]);
    } else if (kind == PH_SHOW_QUAT) {
        ph_show_quats(w, q, out);
    } else if (kind == PH_SHOW_DENSE) {
        ph_show_dense(w, q, out);
    } else if (kind == PH_SHOW_CONTACT) {
        ph_show_contacts(w, q, out);
    } else {
        ph_show_jacobian(w, q, points, out);
    }
}
