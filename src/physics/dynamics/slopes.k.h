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
LFN void ph_take_inertia_slope(ph_world w, int b, real *T)
{
    const real *I = cinert(w) + 10 * b, *cvel = cvel(w) + 6 * b;
    real momentum[6];
    ph_inertia_mul(I, cvel, momentum);
    rolled
    for (int c = 0; c < 6; ++c) {
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
LFN void ph_body_slopes(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    const int *child_adr = body_child_adr(w), *child = body_child(w);
    real *T = slope_body(w);
    for (int l = nlevel(w) - 1; l >= 0; --l) {
        each (i, level[l + 1] - level[l]) {
            int b = body[level[l] + i];
            int even = integrator(w) != PH_IMPLICIT && !(body_flags(w)[b] & PH_BODY_ALONE);
            int drag = integrator(w) == PH_DISCRETE;
            ph_zero(T + 36 * b, 36);
            if (model_flags(w) & PH_FLUID) ph_body_fluid_slope(w, b, even, drag, T + 36 * b);
            if (integrator(w) == PH_IMPLICIT && !(body_flags(w)[b] & PH_BODY_ALONE))
                ph_take_inertia_slope(w, b, T + 36 * b);
            rolled
            for (int c = child_adr[b]; c < child_adr[b + 1]; ++c)
                for (int k = 0; k < 36; ++k) T[36 * b + k] = T[36 * b + k] + T[36 * child[c] + k];
        }
        sync();
    }
}

/* a of dof d: of the three rotations of a ball or a free joint none turns another. */
LFN void ph_dof_turn(ph_world w, int d, real *a)
{
    int j = dof_jntid(w)[d], type = jnt_type(w)[j];
    int first = jnt_dofadr(w)[j] + (type == PH_FREE ? 3 : 0);
    const real *cdof = cdof(w), *dot = cdof_dot(w) + 6 * d;
    for (int k = 0; k < 6; ++k) a[k] = dot[k] + dot[k];
    if (type < PH_SLIDE && d >= first) {
        real together[6], t[6];
        ph_zero(together, 6);
        ph_add_motion(together, cdof + 6 * first, qvel(w) + first, 3);
        ph_cross_motion(cdof + 6 * d, together, t);
        for (int k = 0; k < 6; ++k) a[k] = a[k] - t[k];
    }
}

/* W_SLOPE_DOF, where the model has it. */
LFN void ph_slopes(ph_world w)
{
    int size = slope(w);
    if (size == 0) return;
    ph_body_slopes(w);
    each (d, nv(w)) {
        int b = dof_bodyid(w)[d];
        const real *T = slope_body(w) + 36 * b, *I = crb(w) + 10 * b, *cdof = cdof(w) + 6 * d;
        real *out = slope_dof(w) + size * d, x[6];
        for (int k = 0; k < 6; ++k) {
            for (int r = 0; r < 6; ++r) x[r] = T[6 * r + k];
            out[k] = ph_dot6(x, cdof);
        }
        if (size > PH_SLOPE_MOMENT) {
            ph_inertia_mul(I, cdof, out + PH_SLOPE_MOMENT);
            ph_dof_turn(w, d, out + PH_SLOPE_TURN);
            ph_inertia_mul(I, out + PH_SLOPE_TURN, x);
            for (int r = 0; r < 6; ++r) out[PH_SLOPE_RIGHT + r] = ph_dot6(T + 6 * r, cdof) - x[r];
        }
    }
    sync();
}

/* Of qDeriv, from W_SLOPE_DOF: row i and column j, which is i or above it; and row j and column i. */
LFN real ph_slope_below(ph_world w, int i, int j)
{
    const real *own = slope_dof(w) + slope(w) * i, *other = slope_dof(w) + slope(w) * j;
    real s = ph_dot6(own + PH_SLOPE_LEFT, cdof(w) + 6 * j);
    if (slope(w) > PH_SLOPE_MOMENT) s = s - ph_dot6(own + PH_SLOPE_MOMENT, other + PH_SLOPE_TURN);
    return s;
}
LFN real ph_slope_above(ph_world w, int i, int j)
{
    return ph_dot6(slope_dof(w) + slope(w) * i + PH_SLOPE_RIGHT, cdof(w) + 6 * j);
}

/* ---- of dofs, tendons, actuators --------------------------------------------------------------------------------- */

/* Minus the derivative of the damping of dof d by its velocity. */
LFN real ph_dof_slope(ph_world w, int d)
{
    int flags = dof_flags(w)[d];
    real p[2];
    if (!(flags & PH_DOF_DAMPED) || model_flags(w) & PH_NO_DAMPER) return splat(0);
    real b = ph_coefficients(w, M_DOF_DAMPING, M_DOF_DAMPINGPOLY, flags & PH_DOF_POLY, d, p);
    return ph_damper_slope(b, p, qvel(w)[d]);
}

/* The same of tendon t. */
LFN real ph_tendon_slope(ph_world w, int t)
{
    int flags = tendon_flags(w)[t];
    real p[2];
    if (!(flags & PH_TEN_DAMPED) || model_flags(w) & PH_NO_DAMPER) return splat(0);
    real b = ph_coefficients(w, M_TEN_DAMPING, M_TEN_DAMPINGPOLY, flags & PH_TEN_DAMPED_POLY, t, p);
    return ph_damper_slope(b, p, ten_velocity(w)[t]);
}

/* ---- by positions, of integrator discrete ------------------------------------------------------------------------ */

/*
 * How stiff springs of dof d, springs of tendon t and output i of actuators are, at least 0: what has no stable side
 * takes no part in the metric.
 */
LFN real ph_dof_stiffness(ph_world w, int d)
{
    int j = dof_jntid(w)[d], flags = jnt_flags(w)[j], q = jnt_qposadr(w)[j];
    real p[2];
    if (!(flags & PH_JNT_STIFF) || model_flags(w) & PH_NO_SPRING) return splat(0);
    real k = ph_coefficients(w, M_JNT_STIFFNESS, M_JNT_STIFFNESSPOLY, flags & PH_JNT_POLY, j, p);
    if (jnt_type(w)[j] < PH_SLIDE) return rmax(splat(0), k);
    return rmax(splat(0), ph_spring_slope(k, p, qpos(w)[q] - qpos_spring(w, q)));
}
LFN real ph_tendon_stiffness(ph_world w, int t)
{
    int flags = tendon_flags(w)[t];
    real p[2];
    if (!(flags & PH_TEN_STIFF) || model_flags(w) & PH_NO_SPRING) return splat(0);
    real k = ph_coefficients(w, M_TEN_STIFFNESS, M_TEN_STIFFNESSPOLY, flags & PH_TEN_STIFF_POLY, t, p);
    real x = ph_tendon_stretch(w, t);
    return select(eq(x, splat(0)), splat(0), rmax(splat(0), ph_spring_slope(k, p, x)));
}
LFN real ph_actuator_stiffness(ph_world w, int i) { return rmax(splat(0), -actuator_stiff(w)[i]); }

/* What springs and dampers of dof d add to its entry of the metric, divided by the time step. */
LFN real ph_dof_late(ph_world w, int d)
{
    real damping = rmax(splat(0), ph_dof_slope(w, d));
    return fma(timestep(w, 0), ph_dof_stiffness(w, d), damping);
}

/* ---- matrices of integrators ------------------------------------------------------------------------------------- */

/* Is dof i one of a body that is solved for apart? */
LFN int ph_is_alone(ph_world w, int i) { return (body_flags(w)[dof_bodyid(w)[i]] & PH_BODY_ALONE) != 0; }

/* Entry e, in row i, of -qDeriv as the integrator has it; of discrete with h times what goes by positions. */
LFN real ph_implicit_slope(ph_world w, int i, int e)
{
    const int *adr = entry_adr(w), *pair = entry_pair(w);
    int last = M_rowadr(w)[i] + M_rownnz(w)[i] - 1;
    int late = integrator(w) == PH_DISCRETE;
    real s = splat(0), h = timestep(w, 0);
    if (e == last && !late) s = ph_dof_slope(w, i);
    if (e == last && late) s = ph_dof_late(w, i);
    rolled
    for (int k = adr[e]; k < adr[e + 1] && integrator(w) != 0; ++k) {
        const int *p = pair + 4 * k;
        if (p[0] == 0) {
            real jj = ph_ten_j(w, p[2]) * ph_ten_j(w, p[3]);
            real slope = ph_tendon_slope(w, p[1]);
            if (late) slope = fma(h, ph_tendon_stiffness(w, p[1]), rmax(splat(0), slope));
            s = fma(slope, jj, s);
        } else {
            const real *moment = actuator_moment(w);
            real slope = -actuator_deriv(w)[p[1]];
            if (late) slope = fma(h, ph_actuator_stiffness(w, p[1]), rmax(splat(0), slope));
            s = fma(slope, moment[p[2]] * moment[p[3]], s);
        }
    }
    if (slope(w) > 0 && !ph_is_alone(w, i)) s = s - ph_slope_below(w, i, M_colind(w)[e]);
    return s;
}

/* Does an entry of -qDeriv, which is the last of its row or not, have anything? */
LFN int ph_is_implicit(ph_world w, int e, int last)
{
    return slope(w) > 0 || e == last || entry_adr(w)[e] < entry_adr(w)[e + 1];
}

/*
 * Low parts += of a matrix A that is h times such entries more than qM, in qM's pattern or, if they are `placed`, in H.
 */
LFN void ph_low_slopes(ph_world w, const real *A, int placed, real *low)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *place = M_place(w);
    real h = timestep(w, 0);
    each (d, nv(w)) {
        int last = adr[d] + nnz[d] - 1;
        rolled
        for (int e = adr[d]; e <= last; ++e) {
            int at = placed ? place[e] : e;
            if (ph_is_implicit(w, e, last)) low[at] = low[at] + fma(h, ph_implicit_slope(w, d, e), qM(w)[e] - A[e]);
        }
    }
    sync();
}

/* Factors such a matrix anew in the lanes `thin`. */
STET_CALLED LFN void ph_mend_implicit(ph_world w, mask thin, const real *A)
{
    ph_low_inertia(w, 0, hessian_low(w));
    ph_low_slopes(w, A, 0, hessian_low(w));
    ph_mend_factor(w, thin, A, qLD(w), qLDiagInv(w));
}

/*
 * x [nv] becomes A^-1 x for a matrix whose rows have, from the diagonal to the left, qM's pattern, in L, and whose
 * columns have it upwards, in U (the diagonal there counts for nothing). Both become its factors. From the last dof on,
 * so no entry is added to the pattern.
 */
LFN void ph_solve_uneven(ph_world w, real *L, real *U, real *x)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w);
    for (int i = nv(w) - 1; i >= 0; --i) {
        const int *above = M_colind(w) + adr[i];
        int n = nnz[i] - 1;
        real *row = L + adr[i], *column = U + adr[i], inverse = splat(1) / row[n], own = x[i];
        each (q, ph_items(n)) {
            int a, first, count;
            ph_item(w, q, &a, &first, &count);
            ph_add_item(L + adr[above[a]] + first, row + first, -(column[a] * inverse), count);
            ph_add_item(U + adr[above[a]] + first, column + first, -(row[a] * inverse), count);
        }
        each (a, n) x[above[a]] = fma(-(column[a] * inverse), own, x[above[a]]);
        sync();
        each (e, n) row[e] = row[e] * inverse;
        each (one, 1) x[i + one] = own * inverse;
    }
    ph_solve_down(w, L, x);
}
