/*
 * Integrator discrete: forces at the end of the time step, to first order, within forward dynamics. Part of the kernels
 * that include it, after slopes.k.h.
 *
 * What springs and dampers do along the step is an inertia: qacc is what M + h D + h^2 K, the metric, makes of the
 * forces and of what they change by at the present velocity, and the solver minimises in it. So qacc is the step. D and
 * K are of joints, tendons, actuators and the drag of the medium, as far as they have a stable side. A row of
 * constraints is a spring and a damper, too: the force that it has at the end of the step is that of a softer row,
 * whose reference acceleration is less.
 */

/* The matrix that accelerations are solved with. */
#define PH_METRIC (m[M_INTEGRATOR] == PH_DISCRETE ? PH_AT(W_METRIC) : PH_AT(W_QM))

/* What forces of springs and actuators change by in the time step, at the velocity of dof d. */
LFN real ph_dof_shift(const int *m, const ureal *f, const real *v, const real *w, int d)
{
    const int *ten = m + m[M_DOF_TEN_ADR], *row = m + m[M_DOF_TEN];
    const int *act = m + m[M_DOF_ACT_ADR], *pair = m + m[M_DOF_ACT];
    real s = ph_dof_stiffness(m, f, v, w, d) * PH_AT(W_QVEL)[d];
    rolled for (int k = ten[d]; k < ten[d + 1]; ++k)
    {
        int t = row[2 * k];
        real rate = ph_tendon_stiffness(m, f, v, w, t) * PH_AT(W_TEN_VELOCITY)[t];
        s = fma(rate, ph_ten_j(m, f, v, w, row[2 * k + 1]), s);
    }
    rolled for (int k = act[d]; k < act[d + 1]; ++k)
    {
        int i = pair[2 * k];
        real rate = ph_actuator_stiffness(m, w, i) * PH_AT(W_ACTUATOR_VELOCITY)[i];
        s = fma(rate, PH_AT(W_ACTUATOR_MOMENT)[pair[2 * k + 1]], s);
    }
    return -(par(m, f, v, M_TIMESTEP, 0) * s);
}

/* The metric, and what forces change by. */
LFN void ph_metric(const int *m, const ureal *f, const real *v, real *w)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR];
    real h = par(m, f, v, M_TIMESTEP, 0);
    ph_slopes(m, f, v, w);
    each (d, m[M_NV]) {
        int last = adr[d] + nnz[d] - 1;
        rolled for (int e = adr[d]; e <= last; ++e)
        {
            real x = PH_AT(W_QM)[e] + splat(0);
            if (ph_is_implicit(m, e, last)) x = fma(h, ph_implicit_slope(m, f, v, w, d, e), x);
            PH_AT(W_METRIC)[e] = x;
        }
        PH_AT(W_SHIFT)[d] = ph_dof_shift(m, f, v, w, d);
    }
    sync();
}

/* Its factor, and W_THIN. */
LFN void ph_factor_metric(const int *m, const ureal *f, const real *v, real *w)
{
    each (e, m[M_NC]) PH_AT(W_QLD)[e] = PH_AT(W_METRIC)[e];
    sync();
    ph_factor(m, PH_AT(W_QLD), PH_AT(W_QLDIAGINV));
    mask thin = ph_any_thin(m, PH_AT(W_METRIC), PH_AT(W_QLDIAGINV));
    ph_put_thin(m, w, thin);
    if (any(thin)) ph_mend_implicit(m, f, v, w, thin, PH_AT(W_METRIC));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define PH_MOST_IMPEDANCE ((ureal)0.9999) /* mjMAXIMP */

/*
 * A spring and damper (K, B) that the time step cannot resolve becomes the stiffest one without a rebound, of the same
 * damping ratio where that leaves an impedance within MuJoCo's bound. ratio 0: it stays.
 */
LFN void ph_resolve_row(real h, real imp, real ratio, real *K, real *B)
{
    real one = splat(1), least = splat(PH_MOST_IMPEDANCE / (1 - PH_MOST_IMPEDANCE)) * ((one - imp) / imp);
    mask hard = m_and(gt(ratio, splat(0)), gt(h * h * (*K * imp), one));
    real damping = rmax(splat(0), rmin(splat(2) * ratio / sqrt(imp), least - splat(2)));
    *K = select(hard, one / (h * h * imp), *K);
    *B = select(hard, damping / h, *B);
}

/*
 * By how much a row with this Jacobian is easier to move in the metric than in qM, as their diagonals have it; 1 where
 * it moves nothing. edge: what of the second row of a pyramid is in its edges.
 */
LFN real ph_row_ease(const int *m, const real *w, const int *block, const real *J, real edge)
{
    const int *dof = block + block[B_DOFS];
    int n = block[B_NDOF], second = block[B_KIND] == PH_PYRAMID && block[B_DIM] > 1;
    real late = splat(0), bare = splat(0);
    for (int k = 0; k < n; ++k) {
        int d = dof[2 * k], last = (m + m[M_M_ROWADR])[d] + (m + m[M_M_ROWNNZ])[d] - 1;
        real x = second ? fma(edge, J[n + k], J[k]) : J[k] + splat(0);
        late = fma(x * x, splat(1) / PH_AT(W_METRIC)[last], late);
        bare = fma(x * x, splat(1) / PH_AT(W_QM)[last], bare);
    }
    mask none = le(bare, splat(0));
    return select(none, splat(1), late / select(none, splat(1), bare));
}
