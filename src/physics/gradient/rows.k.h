/*
 * Gradients of rows of constraints: H z = the bar of qacc, and what z' of the rows' forces leaves on joints, tendons
 * and bodies. Part of the kernels that include it, after contacts.k.h.
 */

/* ---- rows of joints and tendons ---------------------------------------------------------------------------------- */

/* Bars of a row that has `c` times the gradient of joint or tendon `id`. */
LFN void ph_pull_scalar(ph_world w, int tendon, int id, real c, const ph_row_bars *bars)
{
    if (tendon) {
        PH_TENDONS(GT_LENGTH)[id] = fma(c, bars->pos[0], PH_TENDONS(GT_LENGTH)[id]);
        PH_TENDONS(GT_BY_Z)[id] = fma(c, bars->z[0], PH_TENDONS(GT_BY_Z)[id]);
        PH_TENDONS(GT_BY_ACC)[id] = fma(c, bars->acc[0], PH_TENDONS(GT_BY_ACC)[id]);
        PH_TENDONS(GT_SPEED)[id] = fma(c, bars->speed[0], PH_TENDONS(GT_SPEED)[id]);
    } else {
        int d = jnt_dofadr(w)[id];
        PH_DOFS(GD_TURN)[d] = fma(c, bars->pos[0], PH_DOFS(GD_TURN)[d]);
        PH_DOFS(GD_SPEED)[d] = fma(c, bars->speed[0], PH_DOFS(GD_SPEED)[d]);
    }
}

/* An equality of two joints or tendons: the second has the slope of a polynomial, which its position changes. */
LFN void ph_pull_couple(ph_world w, const int *block, const ph_row_bars *bars)
{
    int tendon = block[B_TYPE] == PH_EQ_TENDON, two = block[B_OBJ2];
    real value, slope, curve = splat(0), a[5], by;
    ph_pull_scalar(w, tendon, block[B_OBJ1], splat(1), bars);
    if (two < 0) return;
    ph_couple(w, block, &value, &slope);
    ph_pull_scalar(w, tendon, two, -slope, bars);
    real x = ph_scalar_pos(w, block, 1);
    pars(w, M_EQ_DATA, 15 * block[B_ID], 5, a);
    for (int k = 4; k >= 2; --k) curve = fma(curve, x, splat((ureal)(k * (k - 1))) * a[k]);
    if (tendon) {
        by = bars->speed[0] * ten_velocity(w)[two];
        by = fma(bars->acc[0], ph_tendon_rate(w, two, qacc(w)), by);
        by = fma(bars->z[0], PH_TENDONS(GT_Z)[two], by);
        PH_TENDONS(GT_LENGTH)[two] = fma(-curve, by, PH_TENDONS(GT_LENGTH)[two]);
    } else {
        int d = jnt_dofadr(w)[two];
        by = bars->speed[0] * qvel(w)[d];
        by = fma(bars->acc[0], qacc(w)[d], by);
        by = fma(bars->z[0], PH_DOFS(GD_Z)[d], by);
        PH_DOFS(GD_TURN)[d] = fma(-curve, by, PH_DOFS(GD_TURN)[d]);
    }
}

/* The limit of a ball: its row is the axis of its rotation vector, which turns, too. */
LFN void ph_pull_ball_limit(ph_world w, const int *block, const ph_row_bars *bars)
{
    int id = block[B_ID], d = jnt_dofadr(w)[id];
    real q[4], u[3], axis[3], bar[3], *turn = PH_DOFS(GD_TURN) + d, *speed = PH_DOFS(GD_SPEED) + d;
    ph_copy(q, qpos(w) + jnt_qposadr(w)[id], 4);
    ph_quat_unit(q);
    ph_quat_log(q, u);
    ph_copy(axis, u, 3);
    real angle = v3_normalize(axis), inverse = splat(1) / rmax(angle, splat(PHYSICS_MINVAL));
    for (int k = 0; k < 3; ++k) {
        bar[k] = -(bars->z[0] * PH_DOFS(GD_Z)[d + k]);
        bar[k] = fma(-bars->acc[0], qacc(w)[d + k], bar[k]);
        bar[k] = fma(-bars->speed[0], qvel(w)[d + k], bar[k]);
        speed[k] = fma(-bars->speed[0], axis[k], speed[k]);
    }
    real part = v3_dot(bar, axis);
    for (int k = 0; k < 3; ++k) bar[k] = fma(bar[k] - part * axis[k], inverse, -(bars->pos[0] * axis[k]));
    ph_pull_log(u, bar);
    v3_add(turn, bar, turn);
}

/* ---- rows of bodies ---------------------------------------------------------------------------------------------- */

/* Bars of the rotation of a weld, from those of its three rows: see ph_weld_rows and ph_weld_drift. */
LFN void ph_pull_weld_turn(ph_world w, const int *block, const real *quats, const ph_row_bars *bars)
{
    int body[2] = {block[B_OBJ1], block[B_OBJ2]};
    const real *one = cvel(w) + 6 * body[0], *two = cvel(w) + 6 * body[1];
    real T[4], R[9], scale = eq_data(w, 15 * block[B_ID] + 14), half = splat((ureal)0.5) * scale;
    real T_bar[4], turn_bar[3], none[3], t[3];
    ph_zero(none, 3);
    ph_quat_matrix(quats + 4, R);
    T[0] = quats[4];
    for (int k = 1; k < 4; ++k) T[k] = -quats[4 + k];
    ph_quat_mul(T, quats);
    T_bar[0] = splat(0);
    for (int k = 0; k < 3; ++k) T_bar[1 + k] = scale * bars->pos[3 + k];
    ph_zero(turn_bar, 3); /* of body 2's own turning of what it looks at */
    for (int c = 0; c < 3; ++c) {
        const real *by = c == 0 ? bars->z + 3 : c == 1 ? bars->acc + 3 : bars->speed + 3;
        const real *field = c == 0 ? PH_BODIES(GB_Z) : c == 1 ? PH_BODIES(GB_ACC) : cvel(w);
        real y[3], local[3], y_bar[3], local_bar[3], first = splat(0);
        for (int k = 0; k < 3; ++k) {
            y[k] = field[6 * body[0] + k] - field[6 * body[1] + k];
            if (c == 1) y[k] = y[k] + (cacc(w)[6 * body[0] + k] - cacc(w)[6 * body[1] + k]);
            t[k] = half * by[k];
        }
        if (c == 1) {
            real between[3];
            v3_sub(one, two, between);
            ph_add_cross(one, two, y);
            first = splat((ureal)-0.5) * v3_dot(between, between);
        }
        m3_mul_transposed(R, y, local);
        v3_cross(T + 1, t, local_bar);
        ph_add_scaled(local_bar, t, T[0], 3);
        m3_mul(R, local_bar, y_bar);
        T_bar[0] = T_bar[0] + v3_dot(t, local);
        ph_add_scaled(T_bar + 1, t, first, 3);
        ph_add_cross(t, local, T_bar + 1);
        ph_add_cross(y_bar, y, turn_bar);
        for (int k = 0; k < 2; ++k) {
            real out[6], *pose = PH_BODIES(GB_POSE) + 6 * body[k];
            real *to = PH_BODIES(c == 0 ? GB_FORCE : c == 1 ? GB_MOMENTUM : GB_SPEED) + 6 * body[k];
            ph_zero(out, 6);
            v3_scale(y_bar, splat((ureal)(k ? -1 : 1)), out);
            for (int i = 0; i < 3; ++i) to[i] = to[i] + out[i];
            ph_add_cross_force(field + 6 * body[k], out, pose);
            if (c == 1) {
                real gyro[6], extra = v3_dot(t, T + 1) * splat((ureal)(k ? 1 : -1));
                ph_add_cross_force(cacc(w) + 6 * body[k], out, pose);
                ph_zero(gyro, 6);
                for (int i = 0; i < 3; ++i) gyro[i] = extra * (one[i] - two[i]);
                if (k)
                    ph_add_cross(y_bar, one, gyro);
                else
                    ph_add_cross(two, y_bar, gyro);
                real *speed = PH_BODIES(GB_SPEED) + 6 * body[k];
                for (int i = 0; i < 3; ++i) speed[i] = speed[i] + gyro[i];
                ph_add_cross_force(cvel(w) + 6 * body[k], gyro, pose);
            }
        }
    }
    real d[3], world[3];
    v3_cross(T + 1, T_bar + 1, d);
    for (int k = 0; k < 3; ++k) d[k] = splat((ureal)0.5) * (d[k] + fma(T[0], T_bar[1 + k], -(T_bar[0] * T[1 + k])));
    m3_mul(R, d, world);
    for (int k = 0; k < 3; ++k) {
        PH_BODIES(GB_POSE)[6 * body[0] + k] = PH_BODIES(GB_POSE)[6 * body[0] + k] + world[k];
        PH_BODIES(GB_POSE)[6 * body[1] + k] = PH_BODIES(GB_POSE)[6 * body[1] + k] + (turn_bar[k] - world[k]);
    }
}

/* A connect or a weld. */
LFN void ph_pull_weld(ph_world w, const int *block, const ph_row_bars *bars)
{
    real p[2][3], q[8], none[3];
    ph_zero(none, 3);
    for (int k = 0; k < 2; ++k) ph_weld_point(w, block, k, p[k], q + 4 * k);
    for (int k = 0; k < 2; ++k) {
        int b = block[k ? B_OBJ2 : B_OBJ1];
        real sign = splat((ureal)(k ? -1 : 1)), by[3], place[3];
        v3_scale(bars->pos, sign, place);
        v3_scale(bars->z, sign, by);
        ph_pull_point(w, b, p[k], none, by, PH_BODIES(GB_Z), GB_FORCE, place);
        v3_scale(bars->speed, sign, by);
        ph_pull_point(w, b, p[k], none, by, cvel(w), GB_SPEED, place);
        v3_scale(bars->acc, sign, by);
        ph_pull_acceleration(w, b, p[k], none, by, place);
        ph_pull_place(w, b, p[k], none, place);
    }
    if (block[B_TYPE] == PH_EQ_WELD) ph_pull_weld_turn(w, block, q, bars);
}

/* Bars of a slot that is no contact. */
LFN void ph_pull_block(ph_world w, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int type = block[B_TYPE], id = block[B_ID], side = block[B_SIDE];
    ph_row_bars bars;
    if (type == PH_GEOMS) return;
    ph_pull_slot(w, k, block[B_DIM], &bars);
    if (type <= PH_EQ_WELD) {
        ph_pull_weld(w, block, &bars);
    } else if (type <= PH_EQ_TENDON) {
        ph_pull_couple(w, block, &bars);
    } else if (type == PH_LOSS_DOF) {
        PH_DOFS(GD_SPEED)[id] = PH_DOFS(GD_SPEED)[id] + bars.speed[0];
    } else if (type == PH_LOSS_TENDON) {
        bars.pos[0] = splat(0);
        ph_pull_scalar(w, 1, id, splat(1), &bars);
    } else if (type == PH_LIMIT_BALL) {
        ph_pull_ball_limit(w, block, &bars);
    } else {
        ph_pull_scalar(w, type == PH_LIMIT_TENDON, id, splat((ureal)(-side)), &bars);
    }
}

/* ---- all rows ---------------------------------------------------------------------------------------------------- */

/* Fields, and bars that are 0, in the lanes of a group, whose z is known. */
LFN void ph_pull_begin(ph_world w, mask group)
{
    ph_field(w, PH_DOFS(GD_Z), PH_BODIES(GB_Z));
    ph_field(w, qacc(w), PH_BODIES(GB_ACC));
    ph_field(w, PH_DOFS(GD_W), PH_BODIES(GB_W));
    ph_field(w, PH_DOFS(GD_MORE), PH_BODIES(GB_MORE));
    each (k, 6 * nbody(w) * (GB_FIELDS - GB_FORCE))
        PH_BODIES(GB_FORCE)[k] = select(group, splat(0), PH_BODIES(GB_FORCE)[k]);
    each (t, ntendon(w)) {
        for (int k = GT_LENGTH; k < GT_NUMBERS; ++k) PH_TENDONS(k)[t] = select(group, splat(0), PH_TENDONS(k)[t]);
        PH_TENDONS(GT_Z)[t] = ph_tendon_rate(w, t, PH_DOFS(GD_Z));
    }
    sync();
}

/*
 * The rows of a group of lanes again, of which lane `alone` goes by itself if it is not negative, and their residuals
 * at qacc; 0: lanes have no room together, and go one after the other, as in ph_constrain.
 */
LFN int ph_repeat_rows(ph_world w, mask group, int alone)
{
    if (alone < 0 && PH_LANES_APART(w)) return 0;
    ph_constraint(w, group, alone >= 0, 0);
    if (w.ints[S_FULL] && alone < 0) return 0;
    ph_list_slots(w, group);
    if (nnode(w) > 0)
        ph_find_islands(w, 1);
    else if (!PH_BY_ROWS)
        ph_find_pattern(w, group);
    ph_mul_rows(w, qacc(w), efc_jar(w), 1);
    sync();
    return 1;
}

/* GD_Z, which is the bar of qacc, becomes z, and efc_jv what rows make of it. */
LFN void ph_solve_z(ph_world w, mask group)
{
    real *z = PH_DOFS(GD_Z), *search = solver_search(w);
    each (d, nv(w)) search[d] = z[d] + splat(0);
    sync();
    if (nnode(w) > 0)
        ph_solve_going(w, search, group);
    else
        ph_solve_hessian(w, search, group);
    each (d, nv(w)) z[d] = select(group, search[d], z[d]);
    sync();
    ph_mul_rows(w, z, efc_jv(w), 0);
    sync();
}

/* Bars of all rows, from efc_jar and efc_jv. */
LFN void ph_pull_blocks(ph_world w, mask group)
{
    ph_pull_begin(w, group);
    each (one, 1) {
        for (int k = one; k < ph_nactive(w); ++k) ph_pull_block(w, (w.ints + ph_active(w))[k]);
    }
    sync();
    ph_pull_contacts(w, group);
}

/*
 * The bars of distances: 0, but where rows begin, if these count (touch.k.h). The rows, which that takes, are made
 * again. touched [1]: how many begin is added.
 */
LFN void ph_pull_begins(ph_world w, mask group, int alone, lint *touched)
{
    ph_mul_rows(w, qvel(w), efc_jv(w), 0);
    sync();
    lint n = ph_count_begins(w, group);
    if (!any(m_not(ieq(n, isplat(0))))) {
        ph_clear_distances(w);
        return;
    }
    real jump = ph_touch_jump(w, group);
    int fit = ph_repeat_rows(w, group, alone);
    ph_mul_rows(w, qvel(w), efc_jv(w), 0);
    sync();
    ph_share_jump(w, group, jump);
    each (one, fit) touched[one] = touched[one] + n;
    sync();
}

/*
 * GD_Z, which is the bar of qacc, becomes z, in the lanes `on`; then come the bars of all rows. touch: rows that begin
 * count (ph_pull_begins).
 */
LFN void ph_pull_rows(ph_world w, mask on, int touch, lint *touched, const int *places, real *parameters_grad,
                      int wanted)
{
    mask todo = on;
    for (int i = -1; any(todo); ++i) {
        mask group = m_and(on, i < 0 ? m_all() : ieq(lane(), isplat(i)));
        int fit = ph_repeat_rows(w, group, i);
        if (!fit) continue;
        if (touch)
            ph_pull_begins(w, group, i, touched);
        else
            ph_clear_distances(w);
        ph_solve_z(w, group);
        ph_pull_blocks(w, group);
        each (one, wanted ? 1 : 0) {
            for (int k = one; k < ph_nactive(w); ++k)
                ph_pull_block_parameters(w, (w.ints + ph_active(w))[k], group, places, parameters_grad);
        }
        sync();
        todo = m_andnot(todo, group);
    }
}
