/*
 * Gradients of parameters: of the numbers that stages read from f, or of a world's own from v. Part of the kernels that
 * include it, after rows.k.h.
 *
 * places [M_PARAMETERS_END - M_TIMESTEP] says where the numbers of each table begin in the gradient, or -1: nobody asks
 * for them. A gradient is right where the number is 0 in the model, too: flags that leave it out are not looked at.
 */

#define PH_WANTS(name) (places[(name)-M_TIMESTEP] >= 0)

/* Takes x, the bar of item i of a parameter in z' r, from its gradient. */
LFN void ph_add_bar(const int *places, real *grad, int name, int i, real x, mask on)
{
    int at = places[name - M_TIMESTEP] + i;
    if (PH_WANTS(name)) ph_put_gradient(grad, at, grad[at] - x, on);
}

/* ---- dofs and joints --------------------------------------------------------------------------------------------- */

LFN void ph_pull_dof_parameters(ph_world w, int d, real h, mask on, const int *places, real *grad)
{
    real z = PH_DOFS(GD_Z)[d], x = PH_DOFS(GD_W)[d], acc = qacc(w)[d], more = PH_DOFS(GD_MORE)[d];
    real speed = qvel(w)[d], size = rabs(speed), implicit = h * (x * (acc + more));
    ph_add_bar(places, grad, dof_flags(w)[d] & PH_DOF_SIMPLE ? M_DOF_M0 : M_DOF_ARMATURE, d, fma(z, acc, x * more), on);
    if (model_flags(w) & PH_NO_DAMPER) return;
    ph_add_bar(places, grad, M_DOF_DAMPING, d, fma(z, speed, implicit), on);
    ph_add_bar(places, grad, M_DOF_DAMPINGPOLY, 2 * d, size * fma(z, speed, splat(2) * implicit), on);
    ph_add_bar(places, grad, M_DOF_DAMPINGPOLY, 2 * d + 1, size * size * fma(z, speed, splat(3) * implicit), on);
}

LFN void ph_pull_joint_parameters(ph_world w, int j, mask on, const int *places, real *grad)
{
    int type = jnt_type(w)[j], q = jnt_qposadr(w)[j], d = jnt_dofadr(w)[j];
    const real *qpos = qpos(w), *z = PH_DOFS(GD_Z);
    real sum = splat(0), quat[4], from[4], x[3], p[2];
    if (model_flags(w) & PH_NO_SPRING) return;
    real k = ph_coefficients(w, M_JNT_STIFFNESS, M_JNT_STIFFNESSPOLY, 1, j, p);
    if (type >= PH_SLIDE) {
        real off = qpos[q] - qpos_spring(w, q);
        ph_add_bar(places, grad, M_JNT_STIFFNESS, j, off * z[d], on);
        ph_add_bar(places, grad, M_JNT_STIFFNESSPOLY, 2 * j, off * off * z[d], on);
        ph_add_bar(places, grad, M_JNT_STIFFNESSPOLY, 2 * j + 1, off * off * off * z[d], on);
        ph_add_bar(places, grad, M_QPOS_SPRING, q, -(ph_spring_slope(k, p, off) * z[d]), on);
        return;
    }
    if (type == PH_FREE) {
        for (int c = 0; c < 3; ++c) {
            sum = fma(qpos[q + c] - qpos_spring(w, q + c), z[d + c], sum);
            ph_add_bar(places, grad, M_QPOS_SPRING, q + c, -(k * z[d + c]), on);
        }
        q += 3;
        d += 3;
    }
    pars(w, M_QPOS_SPRING, q, 4, from);
    for (int c = 1; c < 4; ++c) from[c] = -from[c];
    ph_copy(quat, qpos + q, 4);
    ph_quat_unit(quat);
    ph_quat_mul(from, quat);
    ph_quat_log(from, x);
    ph_add_bar(places, grad, M_JNT_STIFFNESS, j, sum + v3_dot(x, z + d), on);
    real turn[3], rest[4]; /* of the rest's own frame: it turns what is seen from there the other way */
    for (int c = 0; c < 3; ++c) {
        x[c] = -x[c];
        turn[c] = -(k * z[d + c]);
    }
    pars(w, M_QPOS_SPRING, q, 4, from);
    ph_pull_log(x, turn);
    ph_zero(rest, 4);
    ph_push_quat(from, turn, rest);
    for (int c = 0; c < 4; ++c) ph_add_bar(places, grad, M_QPOS_SPRING, q + c, rest[c], on);
}

/* ---- tendons and actuators --------------------------------------------------------------------------------------- */

LFN void ph_pull_tendon_parameters(ph_world w, int t, real h, mask on, const int *places, real *grad)
{
    real z = PH_TENDONS(GT_Z)[t], velocity = ten_velocity(w)[t], size = rabs(velocity), zero = splat(0), p[2];
    real x = ph_tendon_stretch(w, t), implicit = zero;
    if (!(model_flags(w) & PH_NO_SPRING)) {
        real k = ph_coefficients(w, M_TEN_STIFFNESS, M_TEN_STIFFNESSPOLY, 1, t, p);
        real slope = ph_spring_slope(k, p, x) * z;
        ph_add_bar(places, grad, M_TEN_STIFFNESS, t, x * z, on);
        ph_add_bar(places, grad, M_TEN_STIFFNESSPOLY, 2 * t, x * x * z, on);
        ph_add_bar(places, grad, M_TEN_STIFFNESSPOLY, 2 * t + 1, x * x * x * z, on);
        ph_add_bar(places, grad, M_TEN_LENGTHSPRING, 2 * t, select(lt(x, zero), -slope, zero), on);
        ph_add_bar(places, grad, M_TEN_LENGTHSPRING, 2 * t + 1, select(gt(x, zero), -slope, zero), on);
    }
    if (model_flags(w) & PH_NO_DAMPER) return;
    if (integrator(w) != 0) implicit = h * ph_implicit_rate(w, t, 0);
    ph_add_bar(places, grad, M_TEN_DAMPING, t, fma(z, velocity, implicit), on);
    ph_add_bar(places, grad, M_TEN_DAMPINGPOLY, 2 * t, size * fma(z, velocity, splat(2) * implicit), on);
    ph_add_bar(places, grad, M_TEN_DAMPINGPOLY, 2 * t + 1, size * size * fma(z, velocity, splat(3) * implicit), on);
}

/* Gains and biases, where no limit holds the force. */
LFN void ph_pull_gain(ph_world w, int i, mask bad, real h, mask on, const int *places, real *grad)
{
    int flags = actuator_flags(w)[i], adr = actuator_actadr(w)[i];
    int gain = actuator_gaintype(w)[i], bias = actuator_biastype(w)[i];
    const int *row = moment_rowadr(w), *col = moment_colind(w);
    real zero = splat(0), rate = zero, implicit = zero,
         input = select(bad, zero, ph_control(w, actuator_ctrladr(w)[i]));
    mask stuck = m_or(ph_force_is_held(w, i), ph_joint_is_held(w, i));
    if (flags & PH_ACT_DISABLED) return;
    rolled
    for (int e = row[i]; e < row[i + 1]; ++e) rate = fma(actuator_moment(w)[e], PH_DOFS(GD_ACT)[col[e]], rate);
    if (adr >= 0) input = flags & PH_ACT_EARLY ? ph_next_activation(w, i, adr, act_dot(w)[adr]) : act(w)[adr];
    if (integrator(w) != 0) implicit = select(stuck, zero, h * ph_implicit_rate(w, i, 1));
    rate = select(ph_force_is_held(w, i), zero, rate);
    for (int k = 0; k < 3; ++k) {
        real by = k == 0 ? splat(1) : k == 1 ? actuator_length(w)[i] : actuator_velocity(w)[i];
        real bar = k == 2 ? fma(by, rate, implicit) : by * rate;
        if (gain < PH_GAIN_MUSCLE && (gain == PH_GAIN_AFFINE || k == 0))
            ph_add_bar(places, grad, M_ACT_GAINPRM, 3 * i + k, -(bar * input), on);
        if (bias == PH_BIAS_AFFINE) ph_add_bar(places, grad, M_ACT_BIASPRM, 3 * i + k, -bar, on);
    }
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/*
 * Adds by times the bars of mass [0] and inertias [1 … 3] of body b in the power at w of the gyroscopic forces at six
 * velocities u of the standalone free body that it is a part of, whose dofs begin at d (tree.k.h).
 */
LFN void ph_pull_gyro_inertia(ph_world w, int b, int d, const real *u, real by, real *out)
{
    const real *at = xipos(w) + 3 * b, *R = ximat(w) + 9 * b, *cdof = cdof(w) + 6 * d;
    const real *x = PH_BODIES(GB_W) + 6 * b;
    real moved[6], V[6], a[6], t[6], off[3], velocity[3], acc[3], by_w[3], spin[3];
    ph_zero(moved, 6);
    ph_zero(a, 6);
    ph_add_motion(moved, cdof, u, 3);
    ph_copy(V, moved, 6);
    ph_add_motion(V, cdof + 18, u + 3, 3);
    for (int k = 3; k < 6; ++k) {
        ph_cross_motion(moved, cdof + 6 * k, t);
        ph_add_scaled(a, t, u[k], 6);
    }
    ph_offset(w, b, at, off);
    ph_at_point(w, b, at, PH_BODIES(GB_W), by_w);
    ph_copy(velocity, V + 3, 3);
    ph_add_cross(V, off, velocity);
    ph_copy(acc, a + 3, 3);
    ph_add_cross(a, off, acc);
    ph_add_cross(V, velocity, acc);
    out[0] = fma(by, v3_dot(by_w, acc), out[0]);
    v3_cross(x, V, spin);
    for (int k = 0; k < 3; ++k) {
        real axis[3];
        m3_column(R, k, axis);
        real sum = v3_dot(x, axis) * v3_dot(a, axis) + v3_dot(spin, axis) * v3_dot(V, axis);
        out[1 + k] = fma(by, sum, out[1 + k]);
    }
}

/* What of that the integrator takes implicitly, if the body is one of those. */
LFN void ph_pull_free_inertia(ph_world w, int b, real *out)
{
    real step[6], both[6], h = timestep(w, 0);
    rolled
    for (int i = 0; i < nfree(w); ++i) {
        int body = free_body(w)[i], d = body_dofadr(w)[body];
        if (body_rootid(w)[b] != body_rootid(w)[body]) continue;
        for (int k = 0; k < 6; ++k) {
            step[k] = qacc(w)[d + k] + PH_DOFS(GD_MORE)[d + k];
            both[k] = qvel(w)[d + k] + step[k];
        }
        ph_pull_gyro_inertia(w, b, d, both, h, out);
        ph_pull_gyro_inertia(w, b, d, qvel(w) + d, -h, out);
        ph_pull_gyro_inertia(w, b, d, step, -h, out);
    }
}

/* Mass and principal inertias of body b: its force at its centre of mass, and its torque, are linear in them. */
LFN void ph_pull_body_parameters(ph_world w, int b, mask on, const int *places, real *grad)
{
    const real *at = xipos(w) + 3 * b, *R = ximat(w) + 9 * b, *cvel = cvel(w) + 6 * b;
    const real *z = PH_BODIES(GB_Z) + 6 * b, *x = PH_BODIES(GB_W) + 6 * b;
    real a[6], more[6], off[3], velocity[3], by_z[3], by_w[3], step[3], spin[3], acc[3];
    /* a simple dof has its inertia from dof_M0 */
    int d = body_dofadr(w)[b], simple = d >= 0 && dof_flags(w)[d] & PH_DOF_SIMPLE;
    for (int k = 0; k < 6; ++k) a[k] = cacc(w)[6 * b + k] + (simple ? splat(0) : PH_BODIES(GB_ACC)[6 * b + k]);
    for (int k = 0; k < 6; ++k) more[k] = simple ? splat(0) : PH_BODIES(GB_MORE)[6 * b + k];
    ph_offset(w, b, at, off);
    ph_at_point(w, b, at, cvel(w), velocity);
    ph_at_point(w, b, at, PH_BODIES(GB_Z), by_z);
    ph_at_point(w, b, at, PH_BODIES(GB_W), by_w);
    ph_copy(step, more + 3, 3);
    ph_add_cross(more, off, step);
    ph_copy(acc, a + 3, 3);
    ph_add_cross(a, off, acc);
    ph_add_cross(cvel, velocity, acc);
    if (model_flags(w) & PH_GRAVCOMP)
        for (int k = 0; k < 3; ++k) acc[k] = fma(body_gravcomp(w, b), gravity(w, k), acc[k]);
    real out[4];
    ph_zero(out, 4);
    ph_pull_free_inertia(w, b, out);
    ph_add_bar(places, grad, M_BODY_MASS, b, out[0] + (v3_dot(by_z, acc) + v3_dot(by_w, step)), on);
    v3_cross(z, cvel, spin);
    for (int k = 0; k < 3; ++k) {
        real axis[3];
        m3_column(R, k, axis);
        real sum = v3_dot(z, axis) * v3_dot(a, axis) + v3_dot(spin, axis) * v3_dot(cvel, axis);
        ph_add_bar(places, grad, M_BODY_INERTIA, 3 * b + k, fma(v3_dot(x, axis), v3_dot(more, axis), sum) + out[1 + k],
                   on);
    }
}

/* Gravity is an acceleration of the world upwards, and what gravity compensation is made of. */
LFN void ph_pull_gravity(ph_world w, mask on, const int *places, real *grad)
{
    real sum[3], velocity[3];
    for (int k = 0; k < 3; ++k) sum[k] = -PH_BODIES(GB_MOMENTUM)[3 + k]; /* rows that hold a body to the world */
    rolled
    for (int b = 1; b < nbody(w); ++b) {
        if (body_parentid(w)[b] == 0) v3_sub(sum, PH_BODIES(GB_MOMENTUM) + 6 * b + 3, sum);
        if (!(model_flags(w) & PH_GRAVCOMP)) continue;
        ph_at_point(w, b, xipos(w) + 3 * b, PH_BODIES(GB_Z), velocity);
        ph_add_scaled(sum, velocity, body_mass(w, b) * body_gravcomp(w, b), 3);
    }
    for (int k = 0; k < 3; ++k) ph_add_bar(places, grad, M_GRAVITY, k, sum[k], on);
}

/* ---- blocks of constraints --------------------------------------------------------------------------------------- */

/* The derivatives of ph_impedance at a distance by the five numbers of P_SOLIMP. */
LFN void ph_impedance_bars(ph_world w, const int *block, real dist, real bar, real *out)
{
    real low = ph_block_par(w, block, P_SOLIMP), high = ph_block_par(w, block, P_SOLIMP + 1);
    real width = ph_block_par(w, block, P_SOLIMP + 2), mid = ph_block_par(w, block, P_SOLIMP + 3);
    real p = ph_block_par(w, block, P_SOLIMP + 4), one = splat(1), zero = splat(0), half = splat((ureal)0.5);
    mask narrow = le(width, splat(PHYSICS_MINVAL)); /* bounds that are equal have a width, too */
    real over = select(narrow, one, width), x = rmin(rabs(dist) / over, one);
    mask near = le(x, mid), straight = eq(p, one);
    real part = select(near, x / mid, (one - x) / (one - mid)), scale = select(near, mid, one - mid);
    real power = ph_power(part, p), y = scale * power, sign = select(near, one, -one);
    y = select(straight, x, select(near, y, one - y));
    mask some = gt(part, zero);
    real by_part = select(some, p * power / select(some, part, one), zero); /* of power */
    real by_x = select(m_or(narrow, ge(x, one)), zero, select(straight, one, by_part));
    /* y = mid (x / mid)^p near, 1 - (1 - mid) ((1 - x) / (1 - mid))^p beyond: by mid both are power - part power' */
    real by_mid = select(straight, zero, power - part * by_part);
    real by_p = select(some, sign * scale * power * log(select(some, part, one)), zero);
    real span = select(narrow, zero, high - low);
    out[0] = bar * select(narrow, half, one - y);
    out[1] = bar * select(narrow, half, y);
    out[2] = -(bar * span * by_x * rabs(dist) / (over * over));
    out[3] = bar * span * by_mid;
    out[4] = bar * span * by_p;
}

/* Bars of the frictions of slot k, whose block has `dim` rows: mu [0] of the cone, mu [1 …] of the rows. */
LFN void ph_friction_bars(ph_world w, const int *block, int dim, const real *D, const real *x, const real *z, real *out)
{
    real mu[PH_ROWS], high, low, zero = splat(0), one = splat(1);
    ph_zero(mu, PH_ROWS);
    ph_block_frictions(w, block, dim, mu);
    if (block[B_KIND] == PH_PYRAMID) {
        for (int k = 1; k < dim; ++k) {
            ph_edge(x, mu[k], k, &high, &low);
            real up = select(lt(high, zero), x[k], zero), down = select(lt(low, zero), x[k], zero);
            out[k] = D[0] * (z[0] * (up - down) + z[k] * fma(mu[k], up + down, high - low));
        }
        return;
    }
    ph_zones zones;
    ph_cone_zones(x, mu, dim, D, &zones);
    real T = select(zones.middle, zones.T, one), inverse = one / T, wide = one / fma(mu[0], mu[0], one);
    real push = D[0] * (x[0] - zones.T) * wide, along = zero;
    for (int k = 1; k < dim; ++k) along = fma(z[k] * mu[k], mu[k] * x[k] * inverse, along);
    /* f[0] = -push, f[k] = push mu[k] (mu[k] x[k] / T); the bar is that of -z f */
    real by_push = z[0] - along;
    out[0] = select(zones.middle, -(splat(2) * mu[0] * wide * push * by_push), zero);
    for (int k = 1; k < dim; ++k) {
        real by_T = mu[k] * x[k] * x[k] * inverse; /* the derivative of T */
        real bar = -(by_push * D[0] * wide * by_T) - splat(2) * push * z[k] * mu[k] * x[k] * inverse;
        out[k] = select(zones.middle, fma(push * along * inverse, by_T, bar), zero);
    }
}

/* Gradients of the parameters of slot k's block. */
LFN void ph_pull_block_parameters(ph_world w, int k, mask group, const int *places, real *grad)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int row = ph_slot_row(w, k), kind = block[B_KIND], touches = kind >= PH_CONTACT, dim = block[B_DIM];
    const int *dof = block + block[B_DOFS];
    const real *x = efc_jar(w) + row, *z = efc_jv(w) + row, *D = efc_D(w) + row;
    const real *pos = efc_pos(w) + row, *J = efc_J(w) + ph_slot_J(w, k);
    int at = block[B_PRM], n = block[B_NDOF];
    real zero = splat(0), one = splat(1), force[PH_ROWS], all2 = zero, out[PH_ROWS], margin_bar = zero, K_bar = zero;
    real by_imp = zero, B_bar[2], diag_bar[2];
    mask on = m_and(group, m_not(eq(D[0], zero))), stuck = m_none();
    ph_row_bars bars;
    ph_zero(B_bar, 2);
    ph_zero(diag_bar, 2);
    ph_zero(force, PH_ROWS);
    ph_pull_slot(w, k, dim, &bars);
    ph_block_force(w, block, dim, D, x, force);
    real margin = ph_block_par(w, block, P_MARGIN), dist = pos[0] - margin, least_bar = zero;
    for (int r = 0; r < dim; ++r) all2 = fma(pos[r], pos[r], all2);
    if (dim > 1 && !touches) dist = sqrt(all2);
    real K = ph_block_par(w, block, P_K), imp = ph_impedance(w, block, dist);
    real least = touches ? ph_block_par(w, block, P_LEAST_R) : splat(PHYSICS_MINVAL);
    if (kind == PH_FRICTION) {
        stuck = ge(rabs(x[0]), ph_reach(w, block, D[0]));
        real way = select(gt(x[0], zero), one, -one);
        ph_add_bar(places, grad, M_BLOCK_PRM, at + P_LOSS, select(stuck, z[0] * way, zero), on);
    }
    for (int r = 0; r < dim; ++r) {
        int friction = r > 0 && kind == PH_ELLIPTIC, other = !(r < 3 || touches);
        real speed = zero, diag = ph_block_par(w, block, P_DIAG + other), power = z[r] * force[r];
        mask at_least = ge(least, (one - imp) * diag / imp);
        for (int c = 0; c < n; ++c) speed = fma(J[r * n + c], qvel(w)[dof[2 * c]], speed);
        power = select(stuck, zero, power); /* less the bar of the logarithm of D: more R, less force */
        by_imp = by_imp - select(at_least, zero, power / (imp * (one - imp)));
        diag_bar[other] = diag_bar[other] + select(at_least, zero, power / diag);
        least_bar = least_bar + select(at_least, power / least, zero);
        B_bar[friction] = fma(bars.acc[r], speed, B_bar[friction]);
        if (friction) {
            mask middle = m_not(eq((efc_c(w) + blockdim(w) * row)[r], zero));
            real scale = ph_block_par(w, block, P_SCALE + r - 1), own = select(middle, zero, power / scale);
            ph_add_bar(places, grad, M_BLOCK_PRM, at + P_SCALE + r - 1, own, on);
        }
        if (touches && r > 0) continue;
        K_bar = fma(bars.acc[r] * imp, pos[r] - margin, K_bar);
        by_imp = fma(bars.acc[r] * K, pos[r] - margin, by_imp);
        margin_bar = fma(-K * imp, bars.acc[r], margin_bar);
    }
    if (dim == 1 || touches) margin_bar = margin_bar - by_imp * ph_impedance_slope(w, block, dist);
    ph_add_bar(places, grad, M_BLOCK_PRM, at + P_K, K_bar, on);
    ph_add_bar(places, grad, M_BLOCK_PRM, at + P_B, B_bar[0], on);
    if (kind == PH_ELLIPTIC) ph_add_bar(places, grad, M_BLOCK_PRM, at + P_B_FRICTION, B_bar[1], on);
    ph_add_bar(places, grad, M_BLOCK_PRM, at + P_MARGIN, margin_bar, on);
    ph_impedance_bars(w, block, dist, by_imp, out);
    for (int c = 0; c < 5; ++c) ph_add_bar(places, grad, M_BLOCK_PRM, at + P_SOLIMP + c, out[c], on);
    for (int c = 0; c < (touches ? 1 : 2); ++c) ph_add_bar(places, grad, M_BLOCK_PRM, at + P_DIAG + c, diag_bar[c], on);
    if (touches) ph_add_bar(places, grad, M_BLOCK_PRM, at + P_LEAST_R, least_bar, on);
    if (kind < PH_PYRAMID) return;
    ph_zero(out, PH_ROWS);
    ph_friction_bars(w, block, dim, D, x, z, out);
    if (kind == PH_ELLIPTIC) ph_add_bar(places, grad, M_BLOCK_PRM, at + P_MU, out[0], on);
    for (int r = 1; r < dim; ++r) ph_add_bar(places, grad, M_BLOCK_PRM, at + P_FRICTION + r - 1, out[r], on);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* Gradients of all parameters but those of blocks, after the bars of bodies went to the dofs. */
LFN void ph_pull_parameters(ph_world w, mask bad, mask on, const int *places, real *grad)
{
    real h = timestep(w, 0);
    each (one, 1) {
        for (int d = one; d < nv(w); ++d) ph_pull_dof_parameters(w, d, h, on, places, grad);
        for (int j = one; j < njnt(w); ++j) ph_pull_joint_parameters(w, j, on, places, grad);
        for (int t = one; t < ntendon(w); ++t) ph_pull_tendon_parameters(w, t, h, on, places, grad);
        for (int i = one; i < nactuator(w) && !(model_flags(w) & PH_NO_ACTUATION); ++i)
            ph_pull_gain(w, i, bad, h, on, places, grad);
        for (int b = one + 1; b < nbody(w); ++b) ph_pull_body_parameters(w, b, on, places, grad);
        if (!one) ph_pull_gravity(w, on, places, grad);
    }
    sync();
}
