/*
 * Stages com, inertia and factor: centres of mass, motion axes and inertias about them, qM and its factors. Part of the
 * kernels that include it, after spatial.k.h.
 *
 * Motion axes (cdof), inertias (cinert) and velocities of a tree are given in the world's directions, at the centre of
 * mass of the whole tree: that keeps numbers small, far from the origin, too.
 */

/* The body's inertia about the centre of mass of its tree. */
LFN void ph_body_inertia(ph_world w, int b)
{
    const real *R = ximat(w) + 9 * b, *at = xipos(w) + 3 * b;
    const real *com = subtree_com(w) + 3 * body_rootid(w)[b];
    real *out = cinert(w) + 10 * b;
    real I[3], d[3], md[3], T[9];
    real mass = body_mass(w, b);
    pars(w, M_BODY_INERTIA, 3 * b, 3, I);
    for (int k = 0; k < 3; ++k) d[k] = at[k] - com[k];
    for (int k = 0; k < 3; ++k) md[k] = mass * d[k];
    for (int k = 0; k < 9; ++k) T[k] = R[k] * I[k % 3];
    real xx = md[0] * d[0], yy = md[1] * d[1], zz = md[2] * d[2];
    out[0] = v3_dot(T, R) + (yy + zz);
    out[1] = v3_dot(T + 3, R + 3) + (xx + zz);
    out[2] = v3_dot(T + 6, R + 6) + (xx + yy);
    out[3] = fma(-md[0], d[1], v3_dot(T, R + 3));
    out[4] = fma(-md[0], d[2], v3_dot(T, R + 6));
    out[5] = fma(-md[1], d[2], v3_dot(T + 3, R + 6));
    for (int k = 0; k < 3; ++k) out[6 + k] = md[k];
    out[9] = mass;
}

/* A rotation about an axis through a place that is `off` before the centre of mass. */
LFN void ph_rotation_axis(const real *axis, const real *off, real *out)
{
    real t[3];
    v3_cross(axis, off, t);
    ph_copy(out, axis, 3);
    ph_copy(out + 3, t, 3);
}

LFN void ph_joint_axes(ph_world w, int j)
{
    int type = jnt_type(w)[j], b = jnt_bodyid(w)[j];
    const real *com = subtree_com(w) + 3 * body_rootid(w)[b];
    const real *anchor = xanchor(w) + 3 * j, *R = xmat(w) + 9 * b;
    real *out = cdof(w) + 6 * jnt_dofadr(w)[j];
    real off[3], axis[3];
    ph_copy(axis, xaxis(w) + 3 * j, 3);
    if (type == PH_SLIDE) {
        ph_zero(out, 3);
        ph_copy(out + 3, axis, 3);
        return;
    }
    for (int k = 0; k < 3; ++k) off[k] = com[k] - anchor[k];
    if (type == PH_HINGE) {
        ph_rotation_axis(axis, off, out);
        return;
    }
    int skip = type == PH_FREE ? 18 : 0;
    rolled
    for (int k = 0; k < skip; ++k) out[k] = splat((ureal)(k % 7 == 3));
    for (int c = 0; c < 3; ++c) {
        for (int k = 0; k < 3; ++k) axis[k] = R[3 * k + c];
        ph_rotation_axis(axis, off, out + skip + 6 * c);
    }
}

/* Sums of subtrees, n items a body (at most 10), from the leaves up: out = own + those of the children, ascending. */
LFN void ph_gather_children(ph_world w, int b, int n, const real *own, const real *all, real *out)
{
    const int *adr = body_child_adr(w), *child = body_child(w);
    real sum[10];
    ph_copy(sum, own, n);
    rolled
    for (int c = adr[b]; c < adr[b + 1]; ++c)
        for (int k = 0; k < n; ++k) sum[k] = sum[k] + all[n * child[c] + k];
    ph_copy(out, sum, n);
}

LFN void ph_com(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    real *com = subtree_com(w);
    for (int l = nlevel(w); l >= 0; --l) {
        int first = l > 0 ? level[l - 1] : 0, n = l > 0 ? level[l] - first : 1;
        each (i, n) {
            int b = l > 0 ? body[first + i] : 0;
            real own[3], mass = body_mass(w, b);
            for (int k = 0; k < 3; ++k) own[k] = mass * xipos(w)[3 * b + k];
            ph_gather_children(w, b, 3, own, com, com + 3 * b);
        }
        sync();
    }
    each (b, nbody(w)) {
        real inv = body_invsubtreemass(w, b);
        mask none = eq(inv, splat(0));
        for (int k = 0; k < 3; ++k) com[3 * b + k] = select(none, xipos(w)[3 * b + k], com[3 * b + k] * inv);
    }
    sync();
    each (i, nbody(w) - 1) ph_body_inertia(w, i + 1);
    each (j, njnt(w)) ph_joint_axes(w, j);
    sync();
}

/* Composite inertias, and from them qM. */
LFN void ph_inertia(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    const real *cdof = cdof(w);
    real *crb = crb(w), *qM = qM(w);
    for (int l = nlevel(w) - 1; l >= 0; --l) {
        each (i, level[l + 1] - level[l]) {
            int b = body[level[l] + i];
            ph_gather_children(w, b, 10, cinert(w) + 10 * b, crb, crb + 10 * b);
        }
        sync();
    }
    each (i, nv(w)) {
        int last = adr[i] + nnz[i] - 1;
        if (dof_flags(w)[i] & PH_DOF_SIMPLE) {
            qM[last] = dof_M0(w, i);
        } else {
            real force[6];
            ph_inertia_mul(crb + 10 * dof_bodyid(w)[i], cdof + 6 * i, force);
            rolled
            for (int e = adr[i]; e < last; ++e) qM[e] = ph_dot6(cdof + 6 * col[e], force);
            qM[last] = ph_dot6(cdof + 6 * i, force) + dof_armature(w, i);
        }
    }
    sync();
}

/*
 * Items of a triangle of n rows, of which row a has entries 0 … a: whole rows or, where a world has many threads, up to
 * PH_CHUNK entries of a row, rows in ascending order.
 */
#if STET_GPU
LFN int ph_items(int n) { return ((n >> 2) + 1) * (2 * (n >> 2) + (n & 3)); }
LFN void ph_item(ph_world w, int q, int *row, int *first, int *count)
{
    const int *item = triangle_chunk(w) + 2 * q;
    *row = item[0];
    *first = item[1];
    *count = nmin(PH_CHUNK, *row + 1 - *first);
}
#else
LFN int ph_items(int n) { return n; }
LFN void ph_item(ph_world w, int q, int *row, int *first, int *count)
{
    (void)w.tables;
    *row = q;
    *first = 0;
    *count = q + 1;
}
#endif

/*
 * The n entries of an item: to += c from. On a GPU all are loaded before the first is stored.
 */
LFN void ph_add_item(real *to, const real *from, real c, int n)
{
#if STET_GPU
    real x[PH_CHUNK];
    for (int j = 0; j < PH_CHUNK; ++j)
        if (j < n) x[j] = fma(c, from[j], to[j]);
    for (int j = 0; j < PH_CHUNK; ++j)
        if (j < n) to[j] = x[j];
#else
    ph_add_scaled(to, from, c, n);
#endif
}

/*
 * In place: a matrix in qM's pattern becomes L and D of L' D L; inv [nv] gets 1 / D. From the last row on: a finished
 * row is taken from those of the dofs above it. A matrix that is not positive definite, as actuators can make it, gets
 * pivots of 1e-15, as in MuJoCo.
 */
LFN void ph_factor(ph_world w, real *H, real *inv)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w);
    for (int i = nv(w) - 1; i >= 0; --i) {
        const int *above = M_colind(w) + adr[i];
        int n = nnz[i] - 1;
        real *row = H + adr[i], inverse = splat(1) / rmax(splat(PHYSICS_MINVAL), row[n]);
        each (q, ph_items(n)) {
            int a, first, count;
            ph_item(w, q, &a, &first, &count);
            ph_add_item(H + adr[above[a]] + first, row + first, -(row[a] * inverse), count);
        }
        sync();
        each (e, n) row[e] = row[e] * inverse;
        each (one, 1) inv[i + one] = inverse;
    }
    sync();
}

/* x becomes L^-1 x. */
LFN void ph_solve_down(ph_world w, const real *L, real *x)
{
    const int *adr = M_rowadr(w), *col = M_colind(w);
    const int *level = doflevel_adr(w), *dof = doflevel(w);
    rolled
    for (int l = 0; l < ndoflevel(w) - 1; ++l) { /* what the dofs of a level take from all those below */
        sync();
        each (k, nv(w) - level[l + 1]) {
            int i = dof[level[l + 1] + k], e = adr[i] + l;
            x[i] = fma(-L[e], x[col[e]], x[i]);
        }
    }
    sync();
}

/* In place: x [nv] becomes the solution of L' D L y = x. */
LFN void ph_solve(ph_world w, const real *H, const real *inv, real *x)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    for (int i = nv(w) - 1; i >= 0; --i) {
        real own = x[i];
        each (e, nnz[i] - 1) x[col[adr[i] + e]] = fma(-H[adr[i] + e], own, x[col[adr[i] + e]]);
        sync();
    }
    each (i, nv(w)) x[i] = x[i] * inv[i];
    ph_solve_down(w, H, x);
}
