/*
 * Derivatives of smooth forces, which the matrices of integrators are made of: by velocities and, with discrete, by
 * positions. Part of the kernels that include it, after actuation.k.h and twofold.k.h.
 *
 * By velocities of bodies go fluid forces (with discrete their drag) and, with implicit, Coriolis, centripetal and
 * gyroscopic forces.
 *
 * Let T be the derivative of the forces on a body by its velocity, and for a dof, T and I summed over the bodies that
 * it moves. Then qDeriv of a dof i and a dof j at or above it is
 *
 *   cdof_i . T_i cdof_j - (I_i cdof_i) . a_j      in row i, and      cdof_j . (T_i cdof_i - I_i a_i)      in row j,
 *
 * since dof j moves all that dof i does. a_j is what the accelerations of those bodies, at qacc 0, grow by with qvel_j,
 * but for cdof_j x cvel of the body, which is in T: cdof_dot of j, and of each dof after j its own turn by j. It holds
 * of row and column alike that a dof after another moves no more than that, so each body's forces are counted once.
 * Bodies that are solved for apart (ph_free_step) have T of fluid forces alone.
 */

/* M_SLOPE of reals in W_SLOPE_DOF: T' cdof and, with integrator implicit, three more. */
#define PH_SLOPE_LEFT 0   /* T' cdof */
#define PH_SLOPE_MOMENT 6 /* I cdof */
#define PH_SLOPE_TURN 12  /* a */
#define PH_SLOPE_RIGHT 18 /* T cdof - I a */

/* Minus the derivative, by the velocity of body b, of what its inertia needs for moving with it: T -= … */
LFN void ph_take_inertia_slope(const int *m, const real *w, int b, real *T)
{
    const real *I = PH_AT(W_CINERT) + 10 * b, *cvel = PH_AT(W_CVEL) + 6 * b;
    real momentum[6];
    ph_inertia_mul(I, cvel, momentum);
    rolled for (int c = 0; c < 6; ++c)
    {
        real x[6], a[6], force[6];
        for (int k = 0; k < 6; ++k) x[k] = splat((ureal)(k == c));
        ph_cross_motion(x, cvel, a);
        ph_inertia_mul(I, a, force);
        ph_add_cross_force(x, momentum, force);
        ph_inertia_mul(I, x, a);
        ph_add_cross_force(cvel, a, force);
        for (int k = 0; k < 6; ++k) T[6 * k + c] = T[6 * k + c] - force[k];
    }
}

/* T of all bodies, summed over subtrees. */
LFN void ph_body_slopes(const int *m, const ureal *f, const real *v, real *w)
{
    const int *level = m + m[M_LEVEL_ADR], *body = m + m[M_LEVEL_BODY];
    const int *child_adr = m + m[M_CHILD_ADR], *child = m + m[M_CHILD];
    real *T = PH_AT(W_SLOPE_BODY);
    for (int l = m[M_NLEVEL] - 1; l >= 0; --l) {
        each (i, level[l + 1] - level[l]) {
            int b = body[level[l] + i];
            int even = m[M_INTEGRATOR] != PH_IMPLICIT && !((m + m[M_BODY_FLAGS])[b] & PH_BODY_ALONE);
            int drag = m[M_INTEGRATOR] == PH_DISCRETE;
            ph_zero(T + 36 * b, 36);
            if (m[M_FLAGS] & PH_FLUID) ph_body_fluid_slope(m, f, v, w, b, even, drag, T + 36 * b);
            if (m[M_INTEGRATOR] == PH_IMPLICIT && !((m + m[M_BODY_FLAGS])[b] & PH_BODY_ALONE))
                ph_take_inertia_slope(m, w, b, T + 36 * b);
            rolled for (int c = child_adr[b]; c < child_adr[b + 1]; ++c) for (int k = 0; k < 36; ++k) T[36 * b + k] =
                T[36 * b + k] + T[36 * child[c] + k];
        }
        sync();
    }
}

/* a of dof d: of the three rotations of a ball or a free joint none turns another. */
LFN void ph_dof_turn(const int *m, const real *w, int d, real *a)
{
    int j = (m + m[M_DOF_JNTID])[d], type = (m + m[M_JNT_TYPE])[j];
    int first = (m + m[M_JNT_DOFADR])[j] + (type == 0 ? 3 : 0);
    const real *cdof = PH_AT(W_CDOF), *dot = PH_AT(W_CDOF_DOT) + 6 * d;
    for (int k = 0; k < 6; ++k) a[k] = dot[k] + dot[k];
    if (type < 2 && d >= first) {
        real together[6], t[6];
        ph_zero(together, 6);
        ph_add_motion(together, cdof + 6 * first, PH_AT(W_QVEL) + first, 3);
        ph_cross_motion(cdof + 6 * d, together, t);
        for (int k = 0; k < 6; ++k) a[k] = a[k] - t[k];
    }
}

/* W_SLOPE_DOF, where the model has it. */
LFN void ph_slopes(const int *m, const ureal *f, const real *v, real *w)
{
    int size = m[M_SLOPE];
    if (size == 0) return;
    ph_body_slopes(m, f, v, w);
    each (d, m[M_NV]) {
        int b = (m + m[M_DOF_BODYID])[d];
        const real *T = PH_AT(W_SLOPE_BODY) + 36 * b, *I = PH_AT(W_CRB) + 10 * b, *cdof = PH_AT(W_CDOF) + 6 * d;
        real *out = PH_AT(W_SLOPE_DOF) + size * d, x[6];
        for (int k = 0; k < 6; ++k) {
            for (int r = 0; r < 6; ++r) x[r] = T[6 * r + k];
            out[k] = ph_dot6(x, cdof);
        }
        if (size > PH_SLOPE_MOMENT) {
            ph_inertia_mul(I, cdof, out + PH_SLOPE_MOMENT);
            ph_dof_turn(m, w, d, out + PH_SLOPE_TURN);
            ph_inertia_mul(I, out + PH_SLOPE_TURN, x);
            for (int r = 0; r < 6; ++r) out[PH_SLOPE_RIGHT + r] = ph_dot6(T + 6 * r, cdof) - x[r];
        }
    }
    sync();
}

/* Of qDeriv, from W_SLOPE_DOF: row i and column j, which is i or above it; and row j and column i. */
LFN real ph_slope_below(const int *m, const real *w, int i, int j)
{
    const real *own = PH_AT(W_SLOPE_DOF) + m[M_SLOPE] * i, *other = PH_AT(W_SLOPE_DOF) + m[M_SLOPE] * j;
    real s = ph_dot6(own + PH_SLOPE_LEFT, PH_AT(W_CDOF) + 6 * j);
    if (m[M_SLOPE] > PH_SLOPE_MOMENT) s = s - ph_dot6(own + PH_SLOPE_MOMENT, other + PH_SLOPE_TURN);
    return s;
}
LFN real ph_slope_above(const int *m, const real *w, int i, int j)
{
    return ph_dot6(PH_AT(W_SLOPE_DOF) + m[M_SLOPE] * i + PH_SLOPE_RIGHT, PH_AT(W_CDOF) + 6 * j);
}

/* ---- of dofs, tendons, actuators --------------------------------------------------------------------------------- */

/* Minus the derivative of the damping of dof d by its velocity. */
LFN real ph_dof_slope(const int *m, const ureal *f, const real *v, const real *w, int d)
{
    int flags = (m + m[M_DOF_FLAGS])[d];
    real p[2];
    if (!(flags & PH_DOF_DAMPED) || m[M_FLAGS] & PH_NO_DAMPER) return splat(0);
    real b = ph_coefficients(m, f, v, M_DOF_DAMPING, M_DOF_DAMPINGPOLY, flags & PH_DOF_POLY, d, p);
    return ph_damper_slope(b, p, PH_AT(W_QVEL)[d]);
}

/* The same of tendon t. */
LFN real ph_tendon_slope(const int *m, const ureal *f, const real *v, const real *w, int t)
{
    int flags = (m + m[M_TEN_FLAGS])[t];
    real p[2];
    if (!(flags & PH_TEN_DAMPED) || m[M_FLAGS] & PH_NO_DAMPER) return splat(0);
    real b = ph_coefficients(m, f, v, M_TEN_DAMPING, M_TEN_DAMPINGPOLY, flags & PH_TEN_DAMPED_POLY, t, p);
    return ph_damper_slope(b, p, PH_AT(W_TEN_VELOCITY)[t]);
}

/* ---- by positions, of integrator discrete ------------------------------------------------------------------------ */

/*
 * How stiff springs of dof d, springs of tendon t and output i of actuators are, at least 0: what has no stable side takes no part
 * in the metric.
 */
LFN real ph_dof_stiffness(const int *m, const ureal *f, const real *v, const real *w, int d)
{
    int j = (m + m[M_DOF_JNTID])[d], flags = (m + m[M_JNT_FLAGS])[j], q = (m + m[M_JNT_QPOSADR])[j];
    real p[2];
    if (!(flags & PH_JNT_STIFF) || m[M_FLAGS] & PH_NO_SPRING) return splat(0);
    real k = ph_coefficients(m, f, v, M_JNT_STIFFNESS, M_JNT_STIFFNESSPOLY, flags & PH_JNT_POLY, j, p);
    if ((m + m[M_JNT_TYPE])[j] < 2) return rmax(splat(0), k);
    return rmax(splat(0), ph_spring_slope(k, p, PH_AT(W_QPOS)[q] - par(m, f, v, M_QPOS_SPRING, q)));
}
LFN real ph_tendon_stiffness(const int *m, const ureal *f, const real *v, const real *w, int t)
{
    int flags = (m + m[M_TEN_FLAGS])[t];
    real p[2];
    if (!(flags & PH_TEN_STIFF) || m[M_FLAGS] & PH_NO_SPRING) return splat(0);
    real k = ph_coefficients(m, f, v, M_TEN_STIFFNESS, M_TEN_STIFFNESSPOLY, flags & PH_TEN_STIFF_POLY, t, p);
    real x = ph_tendon_stretch(m, f, v, w, t);
    return select(eq(x, splat(0)), splat(0), rmax(splat(0), ph_spring_slope(k, p, x)));
}
LFN real ph_actuator_stiffness(const int *m, const real *w, int i)
{
    return rmax(splat(0), -PH_AT(W_ACTUATOR_STIFF)[i]);
}

/* What springs and dampers of dof d add to its entry of the metric, divided by the time step. */
LFN real ph_dof_late(const int *m, const ureal *f, const real *v, const real *w, int d)
{
    real damping = rmax(splat(0), ph_dof_slope(m, f, v, w, d));
    return fma(par(m, f, v, M_TIMESTEP, 0), ph_dof_stiffness(m, f, v, w, d), damping);
}

/* ---- matrices of integrators ------------------------------------------------------------------------------------- */

/* Is dof i one of a body that is solved for apart? */
LFN int ph_is_alone(const int *m, int i)
{
    return ((m + m[M_BODY_FLAGS])[(m + m[M_DOF_BODYID])[i]] & PH_BODY_ALONE) != 0;
}

/* Entry e, in row i, of -qDeriv as the integrator has it; of discrete with h times what goes by positions. */
LFN real ph_implicit_slope(const int *m, const ureal *f, const real *v, const real *w, int i, int e)
{
    const int *adr = m + m[M_ENTRY_ADR], *pair = m + m[M_ENTRY_PAIR];
    int last = (m + m[M_M_ROWADR])[i] + (m + m[M_M_ROWNNZ])[i] - 1;
    int late = m[M_INTEGRATOR] == PH_DISCRETE;
    real s = splat(0), h = par(m, f, v, M_TIMESTEP, 0);
    if (e == last && !late) s = ph_dof_slope(m, f, v, w, i);
    if (e == last && late) s = ph_dof_late(m, f, v, w, i);
    rolled for (int k = adr[e]; k < adr[e + 1] && m[M_INTEGRATOR] != 0; ++k)
    {
        const int *p = pair + 4 * k;
        if (p[0] == 0) {
            real jj = ph_ten_j(m, f, v, w, p[2]) * ph_ten_j(m, f, v, w, p[3]);
            real slope = ph_tendon_slope(m, f, v, w, p[1]);
            if (late) slope = fma(h, ph_tendon_stiffness(m, f, v, w, p[1]), rmax(splat(0), slope));
            s = fma(slope, jj, s);
        } else {
            const real *moment = PH_AT(W_ACTUATOR_MOMENT);
            real slope = -PH_AT(W_ACTUATOR_DERIV)[p[1]];
            if (late) slope = fma(h, ph_actuator_stiffness(m, w, p[1]), rmax(splat(0), slope));
            s = fma(slope, moment[p[2]] * moment[p[3]], s);
        }
    }
    if (m[M_SLOPE] > 0 && !ph_is_alone(m, i)) s = s - ph_slope_below(m, w, i, (m + m[M_M_COLIND])[e]);
    return s;
}

/* Does an entry of -qDeriv, which is the last of its row or not, have anything? */
LFN int ph_is_implicit(const int *m, int e, int last)
{
    return m[M_SLOPE] > 0 || e == last || (m + m[M_ENTRY_ADR])[e] < (m + m[M_ENTRY_ADR])[e + 1];
}

/*
 * Low parts += of a matrix A that is h times such entries more than qM, in qM's pattern or, if they are `placed`, in H.
 */
LFN void ph_low_slopes(const int *m, const ureal *f, const real *v, const real *w, const real *A, int placed, real *low)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR], *place = m + m[M_M_PLACE];
    real h = par(m, f, v, M_TIMESTEP, 0);
    each (d, m[M_NV]) {
        int last = adr[d] + nnz[d] - 1;
        rolled for (int e = adr[d]; e <= last; ++e)
        {
            int at = placed ? place[e] : e;
            if (ph_is_implicit(m, e, last))
                low[at] = low[at] + fma(h, ph_implicit_slope(m, f, v, w, d, e), PH_AT(W_QM)[e] - A[e]);
        }
    }
    sync();
}

/* Factors such a matrix anew in the lanes `thin`. */
STET_CALLED LFN void ph_mend_implicit(const int *m, const ureal *f, const real *v, real *w, mask thin, const real *A)
{
    ph_low_inertia(m, f, v, w, 0, PH_AT(W_H_LOW));
    ph_low_slopes(m, f, v, w, A, 0, PH_AT(W_H_LOW));
    ph_mend_factor(m, w, thin, A, PH_AT(W_QLD), PH_AT(W_QLDIAGINV));
}

/*
 * x [nv] becomes A^-1 x for a matrix whose rows have, from the diagonal to the left, qM's pattern, in L, and whose
 * columns have it upwards, in U (the diagonal there counts for nothing). Both become its factors. From the last dof on,
 * so no entry is added to the pattern.
 */
LFN void ph_solve_uneven(const int *m, real *L, real *U, real *x)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR];
    for (int i = m[M_NV] - 1; i >= 0; --i) {
        const int *above = m + m[M_M_COLIND] + adr[i];
        int n = nnz[i] - 1;
        real *row = L + adr[i], *column = U + adr[i], inverse = splat(1) / row[n], own = x[i];
        each (q, ph_items(n)) {
            int a, first, count;
            ph_item(m, q, &a, &first, &count);
            ph_add_item(L + adr[above[a]] + first, row + first, -(column[a] * inverse), count);
            ph_add_item(U + adr[above[a]] + first, column + first, -(row[a] * inverse), count);
        }
        each (a, n) x[above[a]] = fma(-(column[a] * inverse), own, x[above[a]]);
        sync();
        each (e, n) row[e] = row[e] * inverse;
        each (one, 1) x[i + one] = own * inverse;
    }
    ph_solve_down(m, L, x);
}
