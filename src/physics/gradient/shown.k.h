/*
 * Gradients of quantities that somebody reads (sensors/show.k.h) and of sensors (sensors/sensor.k.h): bars of what they
 * are made of. Part of the kernels that include it, after rows.k.h.
 *
 * g is the gradient of the numbers that are read. What goes to dofs and bodies has the sign of z' r (gradients.md): all
 * of that is subtracted in the end.
 */

/* Of subtree_com and subtree_linvel, 3 nbody reals each: scratch of others. */
#define PH_COM_BARS(w) cfrc(w)
#define PH_LINVEL_BARS(w) (cfrc(w) + 3 * nbody(w))

/* ---- places and axes --------------------------------------------------------------------------------------------- */

/* The gradients of a place that is fixed to body b, and of its turning. */
LFN void ph_shown_place(ph_world w, int b, const real *p, const real *turn, const real *place)
{
    real t[3], x[3];
    for (int k = 0; k < 3; ++k) {
        t[k] = -turn[k];
        x[k] = -place[k];
    }
    ph_pull_place(w, b, p, t, x);
}

LFN void ph_shown_turn(ph_world w, int b, const real *turn)
{
    real none[3];
    ph_zero(none, 3);
    ph_shown_place(w, b, xpos(w) + 3 * b, turn, none);
}

/* Of three axes that are fixed to body b, the columns of R. */
LFN void ph_shown_axes(ph_world w, int b, const real *R, const real *g)
{
    real turn[3], axis[3], by[3];
    ph_zero(turn, 3);
    for (int c = 0; c < 3; ++c) {
        m3_column(R, c, axis);
        m3_column(g, c, by);
        ph_add_cross(axis, by, turn);
    }
    ph_shown_turn(w, b, turn);
}

/* Of the unit quaternion q of a frame that is fixed to body b. */
LFN void ph_shown_quat(ph_world w, int b, const real *q, const real *g)
{
    real own[3], turn[3];
    ph_pull_quat(q, g, own);
    ph_rotate(q, own, turn);
    ph_shown_turn(w, b, turn);
}

/* g, the gradient of a vector v of the world as the frame R of body b sees it, becomes that of v. */
LFN void ph_shown_from(ph_world w, int b, const real *R, const real *v, real *g)
{
    real x[3], turn[3];
    m3_mul(R, g, x);
    v3_cross(x, v, turn);
    ph_shown_turn(w, b, turn);
    ph_copy(g, x, 3);
}

/* The gradients of the velocity of a place p of body b, and of its turning. */
LFN void ph_shown_velocity(ph_world w, int b, const real *p, const real *turn, const real *velocity)
{
    real t[3], v[3], place[3], none[3];
    ph_zero(place, 3);
    ph_zero(none, 3);
    for (int k = 0; k < 3; ++k) {
        t[k] = -turn[k];
        v[k] = -velocity[k];
    }
    ph_pull_point(w, b, p, t, v, cvel(w), GB_SPEED, place);
    ph_pull_place(w, b, p, none, place);
}

/* The acceleration of the place p of body b with qacc, gravity included: 0 … 2; of its turning: 3 … 5. */
LFN void ph_shown_acceleration(ph_world w, int b, const real *p, real *out)
{
    real a[6], off[3], motion[6];
    for (int k = 0; k < 6; ++k) a[k] = cacc(w)[6 * b + k] + PH_BODIES(GB_ACC)[6 * b + k];
    ph_offset(w, b, p, off);
    ph_point_motion(w, b, p, motion);
    ph_copy(out, a + 3, 3);
    ph_add_cross(a, off, out);
    ph_add_cross(cvel(w) + 6 * b, motion + 3, out);
    ph_copy(out + 3, a, 3);
}

/* ---- quantities -------------------------------------------------------------------------------------------------- */

/* How many numbers an object has in a quantity of places, axes or velocities. */
LFN int ph_shown_size(int from)
{
    if (from == W_XQUAT) return 4;
    if (from == W_CVEL) return 6;
    return from == W_XMAT || from == W_XIMAT || from == W_GEOM_XMAT || from == W_SITE_XMAT ? 9 : 3;
}

LFN int ph_shown_body(ph_world w, int from, int i)
{
    if (from == W_GEOM_XPOS || from == W_GEOM_XMAT) return geom_bodyid(w)[i];
    return from == W_SITE_XPOS || from == W_SITE_XMAT ? site_bodyid(w)[i] : i;
}

/* Object i of a quantity of places, axes or velocities. */
LFN void ph_shown_object(ph_world w, int from, int i, const real *g)
{
    int size = ph_shown_size(from), b = ph_shown_body(w, from, i);
    const real *x = PH_AT(w, from) + size * i;
    real none[3];
    ph_zero(none, 3);
    if (size == 9) {
        ph_shown_axes(w, b, x, g);
    } else if (size == 4) {
        ph_shown_quat(w, b, x, g);
    } else if (size == 6) { /* its place is the centre of mass of the tree */
        const real *field = cvel(w) + 6 * b;
        int root = body_rootid(w)[b];
        real back[6], at[3];
        ph_copy(at, subtree_com(w) + 3 * root, 3);
        ph_zero(back, 3);
        for (int k = 0; k < 3; ++k) back[3 + k] = -g[3 + k];
        ph_add_cross(back + 3, field, PH_COM_BARS(w) + 3 * root);
        for (int k = 0; k < 3; ++k) back[k] = -g[k];
        ph_pull_point(w, b, at, back, back + 3, cvel(w), GB_SPEED, none);
    } else {
        ph_shown_place(w, b, x, none, g);
    }
}

/* n numbers from `item` on of a quantity in team memory. z: that of qacc, too. */
LFN void ph_shown_numbers(ph_world w, int from, int item, int n, const real *g, int z)
{
    int size = ph_shown_size(from);
    if (from == W_QACC) {
        for (int k = 0; k < n && z; ++k) PH_DOFS(GD_Z)[item + k] = PH_DOFS(GD_Z)[item + k] + g[k];
    } else if (from == W_QVEL) {
        for (int k = 0; k < n; ++k) PH_DOFS(GD_SPEED)[item + k] = PH_DOFS(GD_SPEED)[item + k] - g[k];
    } else if (from == W_SUBTREE_COM) {
        for (int k = 0; k < n; ++k) PH_COM_BARS(w)[item + k] = PH_COM_BARS(w)[item + k] - g[k];
    } else if (from == W_SUBTREE_LINVEL) {
        for (int k = 0; k < n; ++k) PH_LINVEL_BARS(w)[item + k] = PH_LINVEL_BARS(w)[item + k] - g[k];
    } else if (from == W_TEN_LENGTH || from == W_TEN_VELOCITY) {
        real *bar = PH_TENDONS(from == W_TEN_LENGTH ? GT_LENGTH : GT_SPEED) + item;
        for (int k = 0; k < n; ++k) bar[k] = bar[k] - g[k];
    } else if (from == W_ACTUATOR_LENGTH || from == W_ACTUATOR_VELOCITY) {
        int speed = from == W_ACTUATOR_VELOCITY;
        rolled
        for (int k = 0; k < n; ++k) {
            real zero = splat(0), x = -g[k];
            ph_pull_transmission(w, item + k, zero, speed ? zero : x, speed ? x : zero);
        }
    } else {
        rolled
        for (int k = 0; k < n / size; ++k) ph_shown_object(w, from, item / size + k, g + size * k);
    }
}

/* The bars of subtree_com and subtree_linvel of body b and all above it, as far as body b has a part in them. */
LFN void ph_shown_subtrees(ph_world w, int b)
{
    real com[3], linvel[3], none[3], mass = body_mass(w, b);
    const real *at = xipos(w) + 3 * b;
    ph_zero(com, 3);
    ph_zero(linvel, 3);
    ph_zero(none, 3);
    rolled
    for (int a = b;; a = body_parentid(w)[a]) {
        real part = mass * body_invsubtreemass(w, a), own = part;
        if (a == b) own = select(eq(body_invsubtreemass(w, a), splat(0)), splat(1), part); /* ph_com */
        ph_add_scaled(com, PH_COM_BARS(w) + 3 * a, -own, 3);
        ph_add_scaled(linvel, PH_LINVEL_BARS(w) + 3 * a, -part, 3);
        if (a == 0) break;
    }
    ph_shown_place(w, b, at, none, com);
    ph_shown_velocity(w, b, at, none, linvel);
}

/* ---- sensors ----------------------------------------------------------------------------------------------------- */

/* Has a sensor that forward dynamics make (sensors.c) a gradient? The numbers of some are 0, or the time. */
LFN int ph_sensor_is_graded(const int *row)
{
    int kind = row[SN_KIND], from = row[SN_FROM];
    if (kind == PH_SENSE_COPY)
        return from == W_QPOS || from == W_QVEL || from == W_TEN_LENGTH || from == W_TEN_VELOCITY ||
               from == W_ACTUATOR_LENGTH || from == W_ACTUATOR_VELOCITY || from == W_SUBTREE_COM ||
               from == W_SUBTREE_LINVEL || from == W_TIME;
    return kind == PH_SENSE_NOTHING || kind == PH_SENSE_BALLQUAT || kind == PH_SENSE_MAGNETOMETER ||
           (kind >= PH_SENSE_POS && kind <= PH_SENSE_ANGACC);
}

LFN void ph_shown_copy(ph_world w, const int *row, const real *g, int z)
{
    int from = row[SN_FROM];
    if (from == W_TIME) return;
    if (from == W_QPOS) {
        real *turn = PH_DOFS(GD_TURN) + jnt_dofadr(w)[row[SN_OBJECT + 1]];
        *turn = *turn - g[0];
    } else {
        ph_shown_numbers(w, from, row[SN_ITEM], row[SN_DIM], g, z);
    }
}

LFN void ph_shown_ball(ph_world w, const int *row, const real *g)
{
    real q[4], turn[3], *to = PH_DOFS(GD_TURN) + jnt_dofadr(w)[row[SN_OBJECT + 1]];
    ph_copy(q, qpos(w) + row[SN_ITEM], 4);
    ph_quat_unit(q);
    ph_pull_quat(q, g, turn);
    v3_sub(to, turn, to);
}

/* The position or an axis of an object. */
LFN void ph_shown_pose(ph_world w, const int *row, real *g)
{
    int b = row[SN_OBJECT + 2], base = row[SN_REF + 2];
    real p[3], R[9], origin[3], frame[9], x[3], turn[3], none[3];
    ph_zero(none, 3);
    ph_object_pose(w, row + SN_OBJECT, p, R);
    ph_copy(x, p, 3);
    if (row[SN_KIND] == PH_SENSE_AXIS) m3_column(R, row[SN_ITEM], x);
    if (row[SN_REF] >= 0) {
        ph_object_pose(w, row + SN_REF, origin, frame);
        if (row[SN_KIND] == PH_SENSE_POS) v3_sub(x, origin, x);
        ph_shown_from(w, base, frame, x, g);
    }
    if (row[SN_KIND] == PH_SENSE_AXIS) {
        v3_cross(x, g, turn);
        ph_shown_turn(w, b, turn);
        return;
    }
    ph_shown_place(w, b, p, none, g);
    if (row[SN_REF] < 0) return;
    for (int k = 0; k < 3; ++k) x[k] = -g[k];
    ph_shown_place(w, base, origin, none, x);
}

/* The orientation of an object, perhaps as another sees it, whose turning takes it back. */
LFN void ph_shown_orientation(ph_world w, const int *row, const real *g)
{
    real x[4], q[4], own[3], turn[3];
    ph_sense_quat(w, row, x);
    ph_object_quat(w, row + SN_OBJECT, q);
    ph_pull_quat(x, g, own);
    ph_rotate(q, own, turn);
    ph_shown_turn(w, row[SN_OBJECT + 2], turn);
    if (row[SN_REF] < 0) return;
    for (int k = 0; k < 3; ++k) turn[k] = -turn[k];
    ph_shown_turn(w, row[SN_REF + 2], turn);
}

/* A linear or angular velocity: see ph_sense_velocity. */
LFN void ph_shown_motion(ph_world w, const int *row, real *g)
{
    int linear = row[SN_KIND] == PH_SENSE_LINVEL, b = row[SN_OBJECT + 2], base = row[SN_REF + 2];
    real p[3], R[9], origin[3], motion[6], other[6], off[3], x[3], none[3], back[3], turn[3];
    ph_zero(none, 3);
    ph_object_pose(w, row + SN_OBJECT, p, R);
    ph_point_motion(w, b, p, motion);
    ph_copy(x, motion + (linear ? 3 : 0), 3);
    if (row[SN_REF] < 0) {
        if (row[SN_ITEM] == 1) ph_shown_from(w, b, R, x, g);
        ph_shown_velocity(w, b, p, linear ? none : g, linear ? g : none);
        return;
    }
    ph_object_pose(w, row + SN_REF, origin, R);
    ph_point_motion(w, base, origin, other);
    v3_sub(p, origin, off);
    v3_cross(other, off, turn);
    for (int k = 0; k < 3; ++k) x[k] = x[k] - other[(linear ? 3 : 0) + k];
    if (linear) v3_sub(x, turn, x);
    ph_shown_from(w, base, R, x, g);
    for (int k = 0; k < 3; ++k) back[k] = -g[k];
    ph_shown_velocity(w, b, p, linear ? none : g, linear ? g : none);
    if (!linear) {
        ph_shown_velocity(w, base, origin, back, none);
        return;
    }
    v3_cross(off, back, turn);
    ph_shown_velocity(w, base, origin, turn, back);
    v3_cross(back, other, turn); /* what turns with the frame moves with the place */
    ph_shown_place(w, b, p, none, turn);
    for (int k = 0; k < 3; ++k) turn[k] = -turn[k];
    ph_shown_place(w, base, origin, none, turn);
}

/* An acceleration: see ph_sense_acceleration. */
LFN void ph_shown_acceleration_bars(ph_world w, const int *row, real *g)
{
    int linear = row[SN_KIND] == PH_SENSE_LINACC, b = row[SN_OBJECT + 2];
    real p[3], R[9], a[6], back[3], place[3], none[3];
    ph_zero(place, 3);
    ph_zero(none, 3);
    ph_object_pose(w, row + SN_OBJECT, p, R);
    ph_shown_acceleration(w, b, p, a);
    if (row[SN_ITEM] == 1) ph_shown_from(w, b, R, a + (linear ? 0 : 3), g);
    for (int k = 0; k < 3; ++k) back[k] = -g[k];
    ph_pull_acceleration(w, b, p, linear ? none : back, linear ? back : none, place);
    ph_pull_place(w, b, p, none, place);
}

/* A sensor's numbers, of sensors that have gradients. */
LFN void ph_sensed_again(ph_world w, const int *row, real *x)
{
    real p[3], R[9], a[6];
    if (row[SN_KIND] == PH_SENSE_LINACC || row[SN_KIND] == PH_SENSE_ANGACC) {
        ph_object_pose(w, row + SN_OBJECT, p, R);
        ph_shown_acceleration(w, row[SN_OBJECT + 2], p, a);
        ph_copy(x, a + (row[SN_KIND] == PH_SENSE_LINACC ? 0 : 3), 3);
        if (row[SN_ITEM] == 1) ph_turn_back(R, x);
    } else {
        ph_sense(w, row, x);
    }
}

/* Sensor i, whose numbers have the gradient `grad`. Where a cutoff holds a number it has none. */
LFN void ph_shown_sensor(ph_world w, int i, const real *grad, int z)
{
    const int *row = sensor_first(w) + SN_SIZE * i;
    int kind = row[SN_KIND], cut = row[SN_CUT];
    real x[PH_MOST_SENSED], g[PH_MOST_SENSED], most = sensor_cutoff(w, i), field[3];
    ph_copy(g, grad + row[SN_ADR], row[SN_DIM]);
    if (cut > 0) {
        ph_sensed_again(w, row, x);
        for (int k = 0; k < row[SN_DIM]; ++k) {
            mask over = gt(x[k], most);
            if (cut == 1) over = m_or(over, lt(x[k], -most));
            g[k] = select(over, splat(0), g[k]);
        }
    }
    if (kind == PH_SENSE_COPY) ph_shown_copy(w, row, g, z);
    if (kind == PH_SENSE_BALLQUAT) ph_shown_ball(w, row, g);
    if (kind == PH_SENSE_MAGNETOMETER) {
        int site = row[SN_OBJECT + 1];
        pars(w, M_MAGNETIC, 0, 3, field);
        ph_shown_from(w, site_bodyid(w)[site], site_xmat(w) + 9 * site, field, g);
    }
    if (kind == PH_SENSE_POS || kind == PH_SENSE_AXIS) ph_shown_pose(w, row, g);
    if (kind == PH_SENSE_QUAT) ph_shown_orientation(w, row, g);
    if (kind == PH_SENSE_LINVEL || kind == PH_SENSE_ANGVEL) ph_shown_motion(w, row, g);
    if (kind == PH_SENSE_LINACC || kind == PH_SENSE_ANGACC) ph_shown_acceleration_bars(w, row, g);
}

/* All sensors. Where one that has no derivative has a gradient, *lost becomes 1. */
LFN void ph_shown_sensors(ph_world w, const real *grad, int z, real *lost)
{
    int n = nsensor(w) + nsensorrow(w) + nsensorcontact(w) + nsensordistance(w) + nsensorcamera(w);
    rolled
    for (int i = 0; i < n; ++i) {
        const int *row = sensor_first(w) + SN_SIZE * i;
        if (i < nsensor(w) && ph_sensor_is_graded(row)) {
            ph_shown_sensor(w, i, grad, z);
        } else if (i < nsensor(w) || i >= nsensor(w) + nsensorrow(w)) { /* of rows: ph_shown_forces */
            rolled
            for (int k = 0; k < row[SN_DIM]; ++k) *lost = select(eq(grad[row[SN_ADR] + k], splat(0)), *lost, splat(1));
        }
    }
}

/* ---- all that is read -------------------------------------------------------------------------------------------- */

/* One row of a list (layout.k.h), whose numbers are in grad. */
LFN void ph_shown_row(ph_world w, const int *q, const real *grad, int z, real *lost)
{
    int from = q[Q_FROM], size = q[Q_N];
    const real *g = grad + q[Q_AT];
    if (q[Q_KIND] == PH_SHOW_QUAT) {
        rolled
        for (int i = 0; i < size / 4; ++i) {
            real quat[4];
            ph_zero(quat, 4);
            ph_matrix_quat(PH_AT(w, from) + 9 * i, quat);
            ph_shown_quat(w, ph_shown_body(w, from, i), quat, g + 4 * i);
        }
    } else if (from == W_SENSORDATA) {
        ph_shown_sensors(w, g, z, lost);
    } else {
        ph_shown_numbers(w, from, 0, size, g, z);
    }
}

/* Bars of all rows, which are added; lost [1]: as in ph_shown_sensors. */
LFN void ph_pull_shown(ph_world w, const int *list, int nlist, const real *grad, int z, real *lost)
{
    each (i, 6 * nbody(w)) cfrc(w)[i] = splat(0);
    sync();
    each (one, 1) {
        for (int k = one; k < nlist; ++k) ph_shown_row(w, list + Q_SIZE * k, grad, z, lost + one);
    }
    sync();
    each (b, nbody(w)) ph_shown_subtrees(w, b);
    sync();
}

/* GD_Z += what the bars of bodies' accelerations, which are minus gradients, are by qacc. */
LFN void ph_gather_accelerations(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    real *sum = PH_BODIES(GB_MOMENTUM), *z = PH_DOFS(GD_Z);
    rolled
    for (int l = nlevel(w) - 1; l >= 0; --l) {
        each (i, level[l + 1] - level[l]) {
            int b = body[level[l] + i];
            real own[6];
            ph_gather_children(w, b, 6, sum + 6 * b, sum, own);
            ph_copy(sum + 6 * b, own, 6);
        }
        sync();
    }
    each (d, nv(w)) z[d] = z[d] - ph_dot6(cdof(w) + 6 * d, sum + 6 * dof_bodyid(w)[d]);
    sync();
}

/* ---- forces of rows ---------------------------------------------------------------------------------------------- */

/* The normal forces that a touch sensor adds up (ph_sense_touch) have the gradient g. */
LFN void ph_shown_touch(ph_world w, const int *row, mask group, real g)
{
    const int *body = geom_bodyid(w);
    rolled
    for (int p = 0; p < w.ints[S_NNEAR]; ++p) {
        const int *near = w.ints + ph_near_pairs(w) + NEAR_SIZE * p, *pair = PH_PAIR(near[NEAR_PAIR]);
        int bits = near[NEAR_BITS], slot = near[NEAR_SLOT], second = body[pair[B_OBJ2]] == row[SN_OBJECT + 2];
        contact con[PH_MOST_CONTACTS];
        real hint[3];
        if (!bits || !(second || body[pair[B_OBJ1]] == row[SN_OBJECT + 2])) continue;
        ph_collide(w, pair, group, con, hint);
        rolled
        for (int k = 0; k < pair[B_SIDE]; ++k) {
            if (!(bits >> k & 1)) continue;
            real *to = efc_aref(w) + ph_slot_row(w, slot), force = efc_force(w)[ph_slot_row(w, slot)];
            *to = select(ph_is_touch(w, row, &con[k], second, force), *to + g, *to);
            slot = slot + 1;
        }
    }
}

/* The force of the limit that holds (ph_sense_limit_force). */
LFN void ph_shown_limit(ph_world w, const int *row, real g)
{
    mask left = m_all();
    rolled
    for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
        int number = w.ints[S_SLOTS + 4 * k + 3] - row[SN_BLOCK];
        if (number < 0 || number >= row[SN_NBLOCK]) continue;
        mask holds = m_and(left, ph_block_holds(w, PH_BLOCK(ph_slot_block(w, k))));
        real *to = efc_aref(w) + ph_slot_row(w, k);
        *to = select(holds, *to + g, *to);
        left = m_andnot(left, holds);
    }
}

LFN void ph_shown_force(ph_world w, int i, const real *grad, mask group)
{
    const int *row = sensor_first(w) + SN_SIZE * i;
    int touch = row[SN_KIND] == PH_SENSE_TOUCH;
    real g = grad[row[SN_ADR]], most = sensor_cutoff(w, i);
    if (row[SN_CUT] > 0) {
        real x = touch ? ph_sense_touch(w, row, group) : ph_sense_limit_force(w, row);
        mask over = gt(x, most);
        if (row[SN_CUT] == 1) over = m_or(over, lt(x, -most));
        g = select(over, splat(0), g);
    }
    if (touch)
        ph_shown_touch(w, row, group, g);
    else
        ph_shown_limit(w, row, g);
}

/* The gradients of forces of rows, in efc_aref, which nobody reads any more; efc_force has the forces. */
LFN void ph_shown_forces(ph_world w, const int *list, int nlist, const real *grad, mask group)
{
    ph_clear_distances(w);
    each (one, nsensorrow(w) > 0 ? 1 : 0) {
        for (int k = one; k < nlist; ++k) {
            const int *q = list + Q_SIZE * k;
            for (int i = 0; i < nsensorrow(w) && q[Q_FROM] == W_SENSORDATA; ++i)
                ph_shown_force(w, nsensor(w) + i, grad + q[Q_AT], group);
        }
    }
    sync();
}

/*
 * As ph_pull_rows, where forces of rows have gradients of their own. A force is -C times its row's acceleration: from
 * there they go to GD_Z, the bar of qacc. To what rows are made of they go as J z does, of which a force's bar is made.
 */
LFN void ph_pull_read_rows(ph_world w, mask on, const int *list, int nlist, const real *grad)
{
    mask todo = on;
    real *z = PH_DOFS(GD_Z), *back = solver_grad(w);
    for (int i = -1; any(todo); ++i) {
        mask group = m_and(on, i < 0 ? m_all() : ieq(lane(), isplat(i)));
        int fit = ph_repeat_rows(w, group, i);
        if (!fit) continue;
        ph_forces(w, group);
        ph_shown_forces(w, list, nlist, grad, group);
        ph_curves(w);
        each (j, ph_nactive(w)) {
            int k = (w.ints + ph_active(w))[j], row = ph_slot_row(w, k), dim = PH_BLOCK(ph_slot_block(w, k))[B_DIM];
            const real *C = efc_c(w) + blockdim(w) * row;
            for (int r = 0; r < dim; ++r) {
                real sum = splat(0);
                for (int q = 0; q < dim; ++q) sum = fma(C[r * dim + q], efc_aref(w)[row + q], sum);
                efc_force(w)[row + r] = sum;
            }
        }
        sync();
        ph_gather_rows(w, back);
        each (d, nv(w)) z[d] = select(group, z[d] - back[d], z[d]);
        sync();
        ph_solve_z(w, group);
        each (j, ph_nactive(w)) {
            int k = (w.ints + ph_active(w))[j], row = ph_slot_row(w, k), dim = PH_BLOCK(ph_slot_block(w, k))[B_DIM];
            for (int r = 0; r < dim; ++r) efc_jv(w)[row + r] = efc_jv(w)[row + r] + efc_aref(w)[row + r];
        }
        sync();
        ph_clear_distances(w);
        ph_pull_blocks(w, group);
        todo = m_andnot(todo, group);
    }
}
