/*
 * Gradients of what springs, dampers, tendons, gravity compensation, the medium and applied forces do to dofs. Part of
 * the kernels that include it, after links.k.h.
 */

/* 2 p[0] sign(v) + 6 p[1] v: that of ph_damper_slope. */
LFN real ph_damper_curve(const real *p, real v)
{
    real way = select(gt(v, splat(0)), splat(1), select(lt(v, splat(0)), splat(-1), splat(0)));
    return fma(splat(6) * p[1], v, splat(2) * p[0] * way);
}

LFN void ph_pull_joint_spring(ph_world w, int j)
{
    int type = jnt_type(w)[j], q = jnt_qposadr(w)[j], d = jnt_dofadr(w)[j];
    int flags = jnt_flags(w)[j];
    const real *qpos = qpos(w), *z = PH_DOFS(GD_Z);
    real *turn = PH_DOFS(GD_TURN), p[2], x[3], bar[3], quat[4], from[4];
    if (!(flags & PH_JNT_STIFF) || model_flags(w) & PH_NO_SPRING) return;
    real k = ph_coefficients(w, M_JNT_STIFFNESS, M_JNT_STIFFNESSPOLY, flags & PH_JNT_POLY, j, p);
    if (type >= PH_SLIDE) {
        real slope = ph_spring_slope(k, p, qpos[q] - qpos_spring(w, q));
        turn[d] = fma(slope, z[d], turn[d]);
        return;
    }
    if (type == PH_FREE) {
        for (int c = 0; c < 3; ++c) turn[d + c] = fma(k, z[d + c], turn[d + c]);
        q += 3;
        d += 3;
    }
    pars(w, M_QPOS_SPRING, q, 4, from);
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
LFN void ph_pull_dof_damper(ph_world w, int d)
{
    int flags = dof_flags(w)[d];
    real p[2], *speed = PH_DOFS(GD_SPEED), qvel = qvel(w)[d], h = timestep(w, 0);
    if (!(flags & PH_DOF_DAMPED) || model_flags(w) & PH_NO_DAMPER) return;
    real b = ph_coefficients(w, M_DOF_DAMPING, M_DOF_DAMPINGPOLY, flags & PH_DOF_POLY, d, p);
    real implicit = h * (PH_DOFS(GD_W)[d] * (qacc(w)[d] + PH_DOFS(GD_MORE)[d]));
    speed[d] = fma(ph_damper_slope(b, p, qvel), PH_DOFS(GD_Z)[d], speed[d]);
    if (flags & PH_DOF_POLY) speed[d] = fma(ph_damper_curve(p, qvel), implicit, speed[d]);
}

/* Body b's force against gravity acts at its centre of mass, and does not turn with it. */
LFN void ph_pull_gravcomp(ph_world w, int b)
{
    const real *at = xipos(w) + 3 * b, *z = PH_BODIES(GB_Z);
    real force[3], none[3], velocity[3], sum[6], s = body_mass(w, b) * body_gravcomp(w, b);
    ph_zero(none, 3);
    for (int k = 0; k < 3; ++k) force[k] = s * gravity(w, k);
    ph_wrench(w, b, at, none, force, sum);
    ph_at_point(w, b, at, z, velocity);
    for (int k = 0; k < 6; ++k) PH_BODIES(GB_FORCE)[6 * b + k] = PH_BODIES(GB_FORCE)[6 * b + k] + sum[k];
    ph_add_cross(velocity, force, PH_BODIES(GB_POSE) + 6 * b);
}

/* The same of xfrc_applied, of which this is the gradient, too. */
LFN void ph_pull_applied(ph_world w, int b, mask on, real *xfrc_grad)
{
    const real *at = xipos(w) + 3 * b, *z = PH_BODIES(GB_Z), *x = xfrc_applied(w) + 6 * b;
    real velocity[3], sum[6], *pose = PH_BODIES(GB_POSE) + 6 * b;
    ph_wrench(w, b, at, x + 3, x, sum);
    ph_at_point(w, b, at, z, velocity);
    for (int k = 0; k < 6; ++k) PH_BODIES(GB_FORCE)[6 * b + k] = PH_BODIES(GB_FORCE)[6 * b + k] - sum[k];
    ph_add_cross(x, velocity, pose);
    ph_add_cross(x + 3, z + 6 * b, pose);
    for (int k = 0; k < 3; ++k) {
        ph_put_gradient(xfrc_grad, 6 * b + k, xfrc_grad[6 * b + k] + velocity[k], on);
        ph_put_gradient(xfrc_grad, 6 * b + 3 + k, xfrc_grad[6 * b + 3 + k] + (z + 6 * b)[k], on);
    }
}

/* The medium's force turns with the body, but for the wind in it. */
LFN void ph_pull_fluid(ph_world w, int b)
{
    const real *R = ximat(w) + 9 * b, *at = xipos(w) + 3 * b, *z = PH_BODIES(GB_Z);
    real force[3], torque[3], velocity[3], along[3], about[3], by_flow[3], by_spin[3], wind[3], x[3], y[3], wrench[6];
    real *F = PH_BODIES(GB_FORCE) + 6 * b, *B = PH_BODIES(GB_SPEED) + 6 * b;
    ph_drag d;
    ph_find_drag(w, b, &d);
    ph_drag_forces(&d, force, torque);
    m3_mul(R, force, x);
    m3_mul(R, torque, y);
    ph_wrench(w, b, at, y, x, wrench);
    for (int k = 0; k < 6; ++k) F[k] = F[k] - wrench[k];
    ph_at_point(w, b, at, z, velocity);
    m3_mul_transposed(R, velocity, along);
    m3_mul_transposed(R, z + 6 * b, about);
    ph_drag_slopes(&d, by_flow, by_spin);
    for (int k = 0; k < 3; ++k) {
        along[k] = along[k] * by_flow[k];
        about[k] = about[k] * by_spin[k];
    }
    m3_mul(R, along, x);
    m3_mul(R, about, y);
    ph_wrench(w, b, at, y, x, wrench);
    for (int k = 0; k < 6; ++k) B[k] = B[k] + wrench[k];
    pars(w, M_FLUID, 2, 3, wind);
    ph_add_cross(wind, x, PH_BODIES(GB_POSE) + 6 * b);
}

/* ---- tendons ----------------------------------------------------------------------------------------------------- */

/*
 * w' ten_J' ten_J (qacc + more) of tendon t (or the moment of an actuator), as far as its entries are in the pattern of
 * qM: the others the integrator leaves out.
 */
LFN real ph_implicit_rate(ph_world w, int i, int actuator)
{
    const int *row = PH_TABLE(w, actuator ? M_MOMENT_ROWADR : M_TEN_J_ROWADR);
    const int *col = PH_TABLE(w, actuator ? M_MOMENT_COLIND : M_TEN_J_COLIND), *adr = M_rowadr(w);
    const int *nnz = M_rownnz(w), *above = M_colind(w);
    const real *x = PH_DOFS(GD_W), *moment = actuator_moment(w);
    real sum = splat(0);
    rolled
    for (int e = row[i]; e < row[i + 1]; ++e) {
        int d = col[e];
        real own = actuator ? moment[e] : ph_ten_j(w, e), acc = qacc(w)[d] + PH_DOFS(GD_MORE)[d];
        rolled
        for (int o = row[i]; o < row[i + 1]; ++o) {
            int c = col[o], found = 0;
            real other = own * (actuator ? moment[o] : ph_ten_j(w, o));
            rolled
            for (int k = adr[d]; k < adr[d] + nnz[d]; ++k) found = found | (above[k] == c);
            if (!found) continue;
            sum = fma(other, x[c] * acc, sum);
            if (c != d) sum = fma(other, x[d] * (qacc(w)[c] + PH_DOFS(GD_MORE)[c]), sum);
        }
    }
    return sum;
}

/* Bars of springs and dampers of tendon t, after those of its actuators and rows. */
LFN void ph_pull_tendon_forces(ph_world w, int t)
{
    int flags = tendon_flags(w)[t];
    real p[2], z = PH_TENDONS(GT_Z)[t], h = timestep(w, 0), velocity = ten_velocity(w)[t];
    real *by_z = PH_TENDONS(GT_BY_Z) + t, *length = PH_TENDONS(GT_LENGTH) + t, *speed = PH_TENDONS(GT_SPEED) + t;
    *by_z = *by_z - (ph_tendon_spring(w, t) + ph_tendon_damper(w, t));
    if (ph_drifts(w) && tendon_link_adr(w)[t] != tendon_link_adr(w)[t + 1])
        *by_z = fma(tendon_armature(w, t), ph_tendon_rate(w, t, qacc(w)) + ph_tendon_drift(w, t), *by_z);
    if (flags & PH_TEN_STIFF && !(model_flags(w) & PH_NO_SPRING)) {
        real k = ph_coefficients(w, M_TEN_STIFFNESS, M_TEN_STIFFNESSPOLY, flags & PH_TEN_STIFF_POLY, t, p);
        real x = ph_tendon_stretch(w, t), slope = ph_spring_slope(k, p, x) * z;
        *length = *length + select(eq(x, splat(0)), splat(0), slope);
    }
    if (flags & PH_TEN_DAMPED && !(model_flags(w) & PH_NO_DAMPER)) {
        real b = ph_coefficients(w, M_TEN_DAMPING, M_TEN_DAMPINGPOLY, flags & PH_TEN_DAMPED_POLY, t, p);
        *speed = fma(ph_damper_slope(b, p, velocity), z, *speed);
        if (integrator(w) != 0 && flags & PH_TEN_DAMPED_POLY)
            *speed = fma(ph_damper_curve(p, velocity) * h, ph_implicit_rate(w, t, 0), *speed);
    }
}

/* Bars of lengths and velocities of all tendons go to dofs and bodies. */
LFN void ph_pull_tendons(ph_world w)
{
    const int *link = tendon_link_adr(w), *adr = dof_ten_adr(w), *pair = dof_ten(w);
    each (t, ntendon(w)) ph_pull_tendon_forces(w, t);
    sync();
    each (one, nlink(w) > 0 ? 1 : 0) {
        rolled
        for (int t = one; t < ntendon(w); ++t) rolled
        for (int l = link[t]; l < link[t + 1]; ++l) ph_pull_link(w, l, t);
    }
    each (d, nv(w)) {
        real *turn = PH_DOFS(GD_TURN) + d, *speed = PH_DOFS(GD_SPEED) + d;
        rolled
        for (int k = adr[d]; k < adr[d + 1]; ++k) {
            int t = pair[2 * k];
            if (link[t] != link[t + 1]) continue; /* the links did it */
            real c = ph_ten_j(w, pair[2 * k + 1]);
            *turn = fma(c, PH_TENDONS(GT_LENGTH)[t], *turn);
            *speed = fma(c, PH_TENDONS(GT_SPEED)[t], *speed);
        }
    }
    sync();
}
