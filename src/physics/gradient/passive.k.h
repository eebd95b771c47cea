/*
 * Gradients of what springs, dampers, gravity compensation, the medium and applied forces do to dofs, and of tendons'
 * paths. Part of the kernels that include it, after tree.k.h.
 */

/* 2 p[0] sign(v) + 6 p[1] v: that of ph_damper_slope. */
LFN real ph_damper_curve(const real *p, real v)
{
    real way = select(gt(v, splat(0)), splat(1), select(lt(v, splat(0)), splat(-1), splat(0)));
    return fma(splat(6) * p[1], v, splat(2) * p[0] * way);
}

LFN void ph_pull_joint_spring(const int *m, const ureal *f, const real *v, real *w, int j)
{
    int type = (m + m[M_JNT_TYPE])[j], q = (m + m[M_JNT_QPOSADR])[j], d = (m + m[M_JNT_DOFADR])[j];
    int flags = (m + m[M_JNT_FLAGS])[j];
    const real *qpos = PH_AT(W_QPOS), *z = PH_DOFS(GD_Z);
    real *turn = PH_DOFS(GD_TURN), p[2], x[3], bar[3], quat[4], from[4];
    if (!(flags & PH_JNT_STIFF) || m[M_FLAGS] & PH_NO_SPRING) return;
    real k = ph_coefficients(m, f, v, M_JNT_STIFFNESS, M_JNT_STIFFNESSPOLY, flags & PH_JNT_POLY, j, p);
    if (type >= 2) {
        real slope = ph_spring_slope(k, p, qpos[q] - par(m, f, v, M_QPOS_SPRING, q));
        turn[d] = fma(slope, z[d], turn[d]);
        return;
    }
    if (type == 0) {
        for (int c = 0; c < 3; ++c) turn[d + c] = fma(k, z[d + c], turn[d + c]);
        q += 3;
        d += 3;
    }
    pars(m, f, v, M_QPOS_SPRING, q, 4, from);
    for (int c = 1; c < 4; ++c) from[c] = -from[c];
    ph_copy(quat, qpos + q, 4);
    ph_quat_unit(quat);
    ph_quat_mul(from, quat);
    ph_quat_log(from, x);
    ph_copy(bar, z + d, 3);
    ph_pull_log(x, bar);
    ph_add_scaled(turn + d, bar, k, 3);
}

/* Damping of dof d, and what the integrator takes of it implicitly. */
LFN void ph_pull_dof_damper(const int *m, const ureal *f, const real *v, real *w, int d)
{
    int flags = (m + m[M_DOF_FLAGS])[d];
    real p[2], *speed = PH_DOFS(GD_SPEED), qvel = PH_AT(W_QVEL)[d], h = par(m, f, v, M_TIMESTEP, 0);
    if (!(flags & PH_DOF_DAMPED) || m[M_FLAGS] & PH_NO_DAMPER) return;
    real b = ph_coefficients(m, f, v, M_DOF_DAMPING, M_DOF_DAMPINGPOLY, flags & PH_DOF_POLY, d, p);
    real implicit = h * (PH_DOFS(GD_W)[d] * (PH_AT(W_QACC)[d] + PH_DOFS(GD_MORE)[d]));
    speed[d] = fma(ph_damper_slope(b, p, qvel), PH_DOFS(GD_Z)[d], speed[d]);
    if (flags & PH_DOF_POLY) speed[d] = fma(ph_damper_curve(p, qvel), implicit, speed[d]);
}

/* Body b's force against gravity acts at its centre of mass, and does not turn with it. */
LFN void ph_pull_gravcomp(const int *m, const ureal *f, const real *v, real *w, int b)
{
    const real *at = PH_AT(W_XIPOS) + 3 * b, *z = PH_BODIES(GB_Z);
    real force[3], none[3], velocity[3], sum[6], s = par(m, f, v, M_BODY_MASS, b) * par(m, f, v, M_BODY_GRAVCOMP, b);
    ph_zero(none, 3);
    for (int k = 0; k < 3; ++k) force[k] = s * par(m, f, v, M_GRAVITY, k);
    ph_wrench(m, w, b, at, none, force, sum);
    ph_at_point(m, w, b, at, z, velocity);
    for (int k = 0; k < 6; ++k) PH_BODIES(GB_FORCE)[6 * b + k] = PH_BODIES(GB_FORCE)[6 * b + k] + sum[k];
    ph_add_cross(velocity, force, PH_BODIES(GB_POSE) + 6 * b);
}

/* The same of xfrc_applied, of which this is the gradient, too. */
LFN void ph_pull_applied(const int *m, real *w, int b, mask on, real *xfrc_grad)
{
    const real *at = PH_AT(W_XIPOS) + 3 * b, *z = PH_BODIES(GB_Z), *x = PH_AT(W_XFRC_APPLIED) + 6 * b;
    real velocity[3], sum[6], *pose = PH_BODIES(GB_POSE) + 6 * b;
    ph_wrench(m, w, b, at, x + 3, x, sum);
    ph_at_point(m, w, b, at, z, velocity);
    for (int k = 0; k < 6; ++k) PH_BODIES(GB_FORCE)[6 * b + k] = PH_BODIES(GB_FORCE)[6 * b + k] - sum[k];
    ph_add_cross(x, velocity, pose);
    ph_add_cross(x + 3, z + 6 * b, pose);
    for (int k = 0; k < 3; ++k) {
        ph_put_gradient(xfrc_grad, 6 * b + k, xfrc_grad[6 * b + k] + velocity[k], on);
        ph_put_gradient(xfrc_grad, 6 * b + 3 + k, xfrc_grad[6 * b + 3 + k] + (z + 6 * b)[k], on);
    }
}

/* The medium's force turns with the body, but for the wind in it. */
LFN void ph_pull_fluid(const int *m, const ureal *f, const real *v, real *w, int b)
{
    const real *R = PH_AT(W_XIMAT) + 9 * b, *at = PH_AT(W_XIPOS) + 3 * b, *z = PH_BODIES(GB_Z);
    real force[3], torque[3], velocity[3], along[3], about[3], by_flow[3], by_spin[3], wind[3], x[3], y[3], wrench[6];
    real *F = PH_BODIES(GB_FORCE) + 6 * b, *B = PH_BODIES(GB_SPEED) + 6 * b;
    ph_drag d;
    ph_find_drag(m, f, v, w, b, &d);
    ph_drag_forces(&d, force, torque);
    m3_mul(R, force, x);
    m3_mul(R, torque, y);
    ph_wrench(m, w, b, at, y, x, wrench);
    for (int k = 0; k < 6; ++k) F[k] = F[k] - wrench[k];
    ph_at_point(m, w, b, at, z, velocity);
    m3_mul_transposed(R, velocity, along);
    m3_mul_transposed(R, z + 6 * b, about);
    ph_drag_slopes(&d, by_flow, by_spin);
    for (int k = 0; k < 3; ++k) {
        along[k] = along[k] * by_flow[k];
        about[k] = about[k] * by_spin[k];
    }
    m3_mul(R, along, x);
    m3_mul(R, about, y);
    ph_wrench(m, w, b, at, y, x, wrench);
    for (int k = 0; k < 6; ++k) B[k] = B[k] + wrench[k];
    pars(m, f, v, M_FLUID, 2, 3, wind);
    ph_add_cross(wind, x, PH_BODIES(GB_POSE) + 6 * b);
}

/* ---- tendons ----------------------------------------------------------------------------------------------------- */

/* ten_J x of tendon t */
LFN real ph_tendon_rate(const int *m, const ureal *f, const real *v, const real *w, int t, const real *x)
{
    const int *adr = m + m[M_TEN_J_ROWADR], *col = m + m[M_TEN_J_COLIND];
    real sum = splat(0);
    rolled for (int e = adr[t]; e < adr[t + 1]; ++e) sum = fma(ph_ten_j(m, f, v, w, e), x[col[e]], sum);
    return sum;
}

/*
 * w' ten_J' ten_J (qacc + more) of tendon t (or the moment of an actuator), as far as its entries are in the pattern of
 * qM: the others the integrator leaves out.
 */
LFN real ph_implicit_rate(const int *m, const ureal *f, const real *v, const real *w, int i, int actuator)
{
    const int *row = m + m[actuator ? M_MOMENT_ROWADR : M_TEN_J_ROWADR];
    const int *col = m + m[actuator ? M_MOMENT_COLIND : M_TEN_J_COLIND], *adr = m + m[M_M_ROWADR];
    const int *nnz = m + m[M_M_ROWNNZ], *above = m + m[M_M_COLIND];
    const real *x = PH_DOFS(GD_W), *moment = PH_AT(W_ACTUATOR_MOMENT);
    real sum = splat(0);
    rolled for (int e = row[i]; e < row[i + 1]; ++e)
    {
        int d = col[e];
        real own = actuator ? moment[e] : ph_ten_j(m, f, v, w, e), acc = PH_AT(W_QACC)[d] + PH_DOFS(GD_MORE)[d];
        rolled for (int o = row[i]; o < row[i + 1]; ++o)
        {
            int c = col[o], found = 0;
            real other = own * (actuator ? moment[o] : ph_ten_j(m, f, v, w, o));
            rolled for (int k = adr[d]; k < adr[d] + nnz[d]; ++k) found = found | (above[k] == c);
            if (!found) continue;
            sum = fma(other, x[c] * acc, sum);
            if (c != d) sum = fma(other, x[d] * (PH_AT(W_QACC)[c] + PH_DOFS(GD_MORE)[c]), sum);
        }
    }
    return sum;
}

/* Bars of springs and dampers of tendon t, after those of its actuators and rows. */
LFN void ph_pull_tendon_forces(const int *m, const ureal *f, const real *v, real *w, int t)
{
    int flags = (m + m[M_TEN_FLAGS])[t];
    real p[2], z = PH_TENDONS(GT_Z)[t], h = par(m, f, v, M_TIMESTEP, 0), velocity = PH_AT(W_TEN_VELOCITY)[t];
    real *by_z = PH_TENDONS(GT_BY_Z) + t, *length = PH_TENDONS(GT_LENGTH) + t, *speed = PH_TENDONS(GT_SPEED) + t;
    *by_z = *by_z - (ph_tendon_spring(m, f, v, w, t) + ph_tendon_damper(m, f, v, w, t));
    if (flags & PH_TEN_STIFF && !(m[M_FLAGS] & PH_NO_SPRING)) {
        real k = ph_coefficients(m, f, v, M_TEN_STIFFNESS, M_TEN_STIFFNESSPOLY, flags & PH_TEN_STIFF_POLY, t, p);
        real x = ph_tendon_stretch(m, f, v, w, t), slope = ph_spring_slope(k, p, x) * z;
        *length = *length + select(eq(x, splat(0)), splat(0), slope);
    }
    if (flags & PH_TEN_DAMPED && !(m[M_FLAGS] & PH_NO_DAMPER)) {
        real b = ph_coefficients(m, f, v, M_TEN_DAMPING, M_TEN_DAMPINGPOLY, flags & PH_TEN_DAMPED_POLY, t, p);
        *speed = fma(ph_damper_slope(b, p, velocity), z, *speed);
        if (m[M_INTEGRATOR] != 0 && flags & PH_TEN_DAMPED_POLY)
            *speed = fma(ph_damper_curve(p, velocity) * h, ph_implicit_rate(m, f, v, w, t, 0), *speed);
    }
}

/* What bars of tendon lengths and velocities are for the bodies that a straight link joins. */
LFN void ph_pull_link(const int *m, const ureal *f, const real *v, real *w, int l, int t)
{
    const int *row = m + m[M_LINK] + LK_SIZE * l, *of = m + m[M_SITE_BODYID];
    const int field[3] = {GB_Z, GB_ACC, -1}, bar[3] = {GB_FORCE, GB_PUSH, GB_SPEED};
    const int number[3] = {GT_BY_Z, GT_BY_ACC, GT_SPEED};
    int body[2] = {of[row[LK_FROM]], of[row[LK_TO]]};
    real u[3], along[3], place[2][3], none[3], scale = par(m, f, v, M_LINK_SCALE, l);
    real p[2][3];
    if (body[0] == body[1]) return;
    ph_zero(none, 3);
    ph_copy(p[0], PH_AT(W_SITE_XPOS) + 3 * row[LK_FROM], 3);
    ph_copy(p[1], PH_AT(W_SITE_XPOS) + 3 * row[LK_TO], 3);
    v3_sub(p[1], p[0], u);
    real length = v3_normalize(u), inverse = splat(1) / rmax(length, splat(PHYSICS_MINVAL));
    ph_zero(along, 3); /* the bar of u */
    for (int k = 0; k < 2; ++k) v3_scale(u, (k ? scale : -scale) * PH_TENDONS(GT_LENGTH)[t], place[k]);
    for (int c = 0; c < 3; ++c) {
        const real *x = field[c] < 0 ? PH_AT(W_CVEL) : PH_BODIES(field[c]);
        real one[3], two[3], by = scale * PH_TENDONS(number[c])[t];
        ph_at_point(m, w, body[0], p[0], x, one);
        ph_at_point(m, w, body[1], p[1], x, two);
        for (int k = 0; k < 3; ++k) along[k] = fma(by, two[k] - one[k], along[k]);
        for (int k = 0; k < 2; ++k) {
            real pull[3];
            v3_scale(u, k ? by : -by, pull);
            ph_pull_point(m, w, body[k], p[k], none, pull, x, bar[c], place[k]);
        }
    }
    real part = v3_dot(along, u);
    for (int k = 0; k < 3; ++k) {
        real side = (along[k] - part * u[k]) * inverse;
        place[0][k] = place[0][k] - side;
        place[1][k] = place[1][k] + side;
    }
    for (int k = 0; k < 2; ++k) ph_pull_place(m, w, body[k], p[k], none, place[k]);
}

/* Bars of lengths and velocities of all tendons go to dofs and bodies. */
LFN void ph_pull_tendons(const int *m, const ureal *f, const real *v, real *w)
{
    const int *link = m + m[M_TEN_LINK_ADR], *adr = m + m[M_DOF_TEN_ADR], *pair = m + m[M_DOF_TEN];
    each (t, m[M_NTENDON]) ph_pull_tendon_forces(m, f, v, w, t);
    sync();
    each (one, m[M_NLINK] > 0 ? 1 : 0) {
        rolled for (int t = one; t < m[M_NTENDON]; ++t) rolled for (int l = link[t]; l < link[t + 1]; ++l)
            ph_pull_link(m, f, v, w, l, t);
    }
    each (d, m[M_NV]) {
        real *turn = PH_DOFS(GD_TURN) + d, *speed = PH_DOFS(GD_SPEED) + d;
        rolled for (int k = adr[d]; k < adr[d + 1]; ++k)
        {
            int t = pair[2 * k];
            if (link[t] != link[t + 1]) continue; /* the links did it */
            real c = ph_ten_j(m, f, v, w, pair[2 * k + 1]);
            *turn = fma(c, PH_TENDONS(GT_LENGTH)[t], *turn);
            *speed = fma(c, PH_TENDONS(GT_SPEED)[t], *speed);
        }
    }
    sync();
}
