/*
 * Stage constraint: which blocks hold, their Jacobians, and the reference acceleration and mass of each row. Part of
 * the kernels that include it, after integrate.k.h.
 *
 * A block is a constraint with 1 to 6 base rows: an equality, a friction loss, a limit, a contact (normal, two
 * tangents, torsion, two rolling rows; edges of a pyramid are combinations of them). Its description in w.tables says
 * of which kind it is, what it constrains, and which dofs its Jacobian touches. Blocks that hold in some lane get slots
 * in MuJoCo's order of rows; a lane in which a slot's block does not hold has D = 0, aref = 0 and J = 0 there, so that
 * it adds nothing.
 *
 * w.ints is the team's plain memory: w.ints[S_NSLOT], w.ints[S_NROW], w.ints[S_NJ], S_FULL, S_NNEAR, S_WANTED, S_PARTS,
 * and four ints a slot: where its block is described in w.tables, its first row, where its Jacobian is in memory from
 * efc_J(w) on, its number (of a contact: M_NBLOCK + PH_MOST_CONTACTS * pair + number in the pair). Then which blocks
 * hold (M_NBLOCK), NEAR_SIZE ints for each of w.ints[S_NNEAR] pairs (of M_NPAIR), the pattern of H (pattern.k.h), the
 * slots that the solver looks at, the part of each slot (solve.k.h; PH_SUMS: it is not looked at), and those slots by
 * their parts.
 */

/*
 * Callers pass the rows of a block as a literal: 1, 3, and 4 and 6 on lanes or if the code is made for a model that has
 * them; each takes a GPU's compiler its time.
 */
#ifdef PH_MODEL
#define PH_IS(rows, dim) (PH_HAS_ROWS(rows) && (dim) == (rows))
#define PH_IS_OTHER (PH_HAS_ROWS(2) || PH_HAS_ROWS(5))
#else
#define PH_IS(rows, dim) ((STET_W > 1 || (rows) <= 3) && (dim) == (rows))
#define PH_IS_OTHER 1
#endif
/* The statement f(rows) with the rows of a block, `dim`, as a literal, if that is common. */
#define PH_WITH_ROWS(dim, f)                                                                                           \
    if (PH_IS(1, dim))                                                                                                 \
        f(1);                                                                                                          \
    else if (PH_IS(3, dim))                                                                                            \
        f(3);                                                                                                          \
    else if (PH_IS(4, dim))                                                                                            \
        f(4);                                                                                                          \
    else if (PH_IS(6, dim))                                                                                            \
        f(6);                                                                                                          \
    else if (PH_IS_OTHER)                                                                                              \
    f(dim)

/* The description of a block, in w.tables, or at ~at in w.ints; that of a near pair. */
#define PH_BLOCK(at) (!PH_HAS_TREES || (at) >= 0 ? PH_TABLES(w) + (at) : w.ints + ~(at))
#define PH_PAIR(pair) PH_BLOCK(ph_pair_place(w, pair))

LFN int ph_slot_block(ph_world w, int k) { return w.ints[S_SLOTS + 4 * k]; }
LFN int ph_slot_row(ph_world w, int k) { return w.ints[S_SLOTS + 4 * k + 1]; }
LFN int ph_slot_J(ph_world w, int k) { return w.ints[S_SLOTS + 4 * k + 2]; }

/* Which contact comes first: an int of its slot, the same in all lanes. */
LFN int ph_slot_order(ph_world w, int k)
{
    int number = w.ints[S_SLOTS + 4 * k + 3] - nblock(w);
    return PH_MOST_CONTACTS * pair_order(w)[number / PH_MOST_CONTACTS] + number % PH_MOST_CONTACTS;
}

/*
 * Where in w.ints near pairs begin, the pattern of H, the active slots, parts of slots, and the active slots by part.
 */
LFN int ph_near_pairs(ph_world w) { return S_SLOTS + 4 * nslot(w) + nblock(w); }
LFN int ph_pattern(ph_world w) { return ph_near_pairs(w) + NEAR_SIZE * nnear(w); }
LFN int ph_active(ph_world w) { return ph_pattern(w) + npattern(w); }
LFN int ph_parts(ph_world w) { return ph_active(w) + nslot(w); }
LFN int ph_by_part(ph_world w) { return ph_parts(w) + nslot(w); }
/* Descriptions of near pairs that are made in the step, and their lists of dofs, at the first slot of each. */
LFN int ph_made(ph_world w) { return ph_by_part(w) + nslot(w); }
LFN int ph_listed(ph_world w, int slot) { return ph_made(w) + B_SIZE * nnear(w) + nlisted(w) * slot; }
LFN int ph_pair_place(ph_world w, int pair)
{
    int made = PH_HAS_TREES && pair >= npair(w);
    return made ? ~(ph_made(w) + B_SIZE * (pair - npair(w))) : PH_NUMBER(w, M_PAIR) + B_SIZE * pair;
}
LFN int ph_nactive(ph_world w) { return w.ints[S_PARTS + PH_SUMS]; }

/* In a loop, side by side or in order, over active slots: f(rows) for slot k, the i-th of them. */
#define PH_DO_SLOT(i, f)                                                                                               \
    int k = (w.ints + ph_active(w))[i], dim = PH_BLOCK(ph_slot_block(w, k))[B_DIM];                                    \
    PH_WITH_ROWS(dim, f)

/* Parameter `which` of a block. */
LFN real ph_block_par(ph_world w, const int *block, int which) { return block_prm(w, block[B_PRM] + which); }

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* The distance of a limit to its bound; a ball's rotation vector goes to axis, as a unit vector. */
LFN real ph_limit_pos(ph_world w, const int *block, real *axis)
{
    int id = block[B_ID], side = block[B_SIDE];
    ph_zero(axis, 3);
    if (block[B_TYPE] == PH_LIMIT_BALL) {
        real q[4];
        ph_copy(q, qpos(w) + jnt_qposadr(w)[id], 4);
        ph_quat_unit(q);
        ph_quat_log(q, axis);
        real angle = sqrt(v3_dot(axis, axis));
        mask tiny = lt(angle, splat(PHYSICS_MINVAL));
        for (int k = 0; k < 3; ++k) axis[k] = select(tiny, splat((ureal)(k == 0)), axis[k] / angle);
        return rmax(jnt_range(w, 2 * id), jnt_range(w, 2 * id + 1)) - angle;
    }
    int tendon = block[B_TYPE] == PH_LIMIT_TENDON;
    real x = tendon ? ten_length(w)[id] : qpos(w)[jnt_qposadr(w)[id]];
    real bound = par(w, tendon ? M_TEN_RANGE : M_JNT_RANGE, 2 * id + (side > 0));
    return side > 0 ? bound - x : x - bound;
}

LFN mask ph_block_holds(ph_world w, const int *block)
{
    real axis[3];
    if (block[B_KIND] == PH_EQUALITY) return m_not(eq(eq_active(w)[block[B_ID]], splat(0)));
    if (block[B_KIND] == PH_FRICTION) return gt(ph_block_par(w, block, P_LOSS), splat(0));
    real pos = ph_limit_pos(w, block, axis);
    return lt(pos, ph_block_par(w, block, P_MARGIN));
}

/* ---- Jacobians --------------------------------------------------------------------------------------------------- */

/* Where the two points of a connect or a weld are, and the orientation of each frame of a weld. */
LFN void ph_weld_point(ph_world w, const int *block, int second, real *p, real *q)
{
    int body = block[second ? B_OBJ2 : B_OBJ1], first = 15 * block[B_ID];
    real local[3], turned[3], own[4];
    pars(w, M_EQ_DATA, first + 3 * second, 3, local);
    m3_mul(xmat(w) + 9 * body, local, turned);
    for (int k = 0; k < 3; ++k) p[k] = xpos(w)[3 * body + k] + turned[k];
    pars(w, M_EQ_DATA, first + 6 + 4 * second, 4, own);
    ph_copy(q, xquat(w) + 4 * body, 4);
    ph_quat_mul(q, own);
}

/* Positions and Jacobian of a connect or a weld. */
LFN void ph_weld_rows(ph_world w, const int *block, real *pos, real *J)
{
    real p[2][3], q[2][4], back[4], turn[4];
    int n = block[B_NDOF], weld = block[B_TYPE] == PH_EQ_WELD;
    const int *dof = block + block[B_DOFS];
    for (int k = 0; k < 2; ++k) ph_weld_point(w, block, k, p[k], q[k]);
    for (int k = 0; k < 3; ++k) pos[k] = p[0][k] - p[1][k];
    real scale = eq_data(w, 15 * block[B_ID] + 14);
    back[0] = q[1][0];
    for (int k = 1; k < 4; ++k) back[k] = -q[1][k];
    ph_copy(turn, back, 4);
    ph_quat_mul(turn, q[0]);
    for (int k = 0; weld && k < 3; ++k) pos[3 + k] = scale * turn[1 + k];
    for (int c = 0; c < n; ++c) {
        int d = dof[2 * c], sides = dof[2 * c + 1];
        real sum[3], lin[3];
        ph_zero(sum, 3);
        if (sides & 1) {
            ph_point_velocity(w, d, p[0], lin);
            for (int k = 0; k < 3; ++k) sum[k] = sum[k] + lin[k];
        }
        if (sides & 2) {
            ph_point_velocity(w, d, p[1], lin);
            for (int k = 0; k < 3; ++k) sum[k] = sum[k] - lin[k];
        }
        for (int k = 0; k < 3; ++k) J[k * n + c] = sum[k];
        if (weld) {
            real half[4], spin[4];
            ureal sign = sides == 3 ? 0 : sides == 1 ? (ureal)0.5 : (ureal)-0.5;
            spin[0] = splat(0);
            for (int k = 0; k < 3; ++k) spin[1 + k] = splat(sign) * cdof(w)[6 * d + k];
            ph_copy(half, back, 4);
            ph_quat_mul(half, spin);
            ph_quat_mul(half, q[0]);
            for (int k = 0; k < 3; ++k) J[(3 + k) * n + c] = scale * half[1 + k];
        }
    }
}

/* What J changes by in time, times qvel. Gravity, which cacc has, is the same for both bodies. */
LFN void ph_weld_drift(ph_world w, const int *block, real *out)
{
    real p[2][3], q[2][4], a[2][6], back[4], turn[4], between[3];
    const real *one = cvel(w) + 6 * block[B_OBJ1], *two = cvel(w) + 6 * block[B_OBJ2];
    for (int k = 0; k < 2; ++k) {
        ph_weld_point(w, block, k, p[k], q[k]);
        ph_point_drift(w, block[k ? B_OBJ2 : B_OBJ1], p[k], a[k]);
    }
    for (int k = 0; k < 3; ++k) out[k] = a[0][k] - a[1][k];
    if (block[B_TYPE] != PH_EQ_WELD) return;
    real half = splat((ureal)0.5) * eq_data(w, 15 * block[B_ID] + 14);
    for (int k = 0; k < 3; ++k) between[k] = one[k] - two[k];
    back[0] = q[1][0];
    for (int k = 1; k < 4; ++k) back[k] = -q[1][k];
    turn[0] = splat((ureal)-0.5) * v3_dot(between, between);
    for (int k = 0; k < 3; ++k) turn[1 + k] = a[0][3 + k] - a[1][3 + k];
    ph_add_cross(one, two, turn + 1);
    ph_quat_mul(back, turn);
    ph_quat_mul(back, q[0]);
    for (int k = 0; k < 3; ++k) out[3 + k] = half * back[1 + k];
}

/* How far a joint or a tendon of an equality is from where it began, and where in J its entries begin. */
LFN real ph_scalar_pos(ph_world w, const int *block, int second)
{
    int id = block[second ? B_OBJ2 : B_OBJ1];
    if (id < 0) return splat(0);
    real ref = eq_data(w, 15 * block[B_ID] + 5 + second);
    if (block[B_TYPE] == PH_EQ_TENDON) return ten_length(w)[id] - ref;
    return qpos(w)[jnt_qposadr(w)[id]] - ref;
}

/* J += c times the gradient of joint or tendon `id`. */
LFN void ph_add_scalar(ph_world w, const int *block, int tendon, int id, real c, real *J)
{
    const int *dof = block + block[B_DOFS];
    rolled
    for (int k = 0; k < block[B_NDOF]; ++k) {
        int d = dof[2 * k];
        if (!tendon) {
            if (d == jnt_dofadr(w)[id]) J[k] = J[k] + c;
        } else {
            rolled
            for (int e = ten_J_rowadr(w)[id]; e < ten_J_rowadr(w)[id + 1]; ++e)
                if (ten_J_colind(w)[e] == d) J[k] = fma(c, ph_ten_j(w, e), J[k]);
        }
    }
}

/* The polynomial of an equality of two joints or tendons, and its derivative, where the second is. */
LFN void ph_couple(ph_world w, const int *block, real *value, real *slope)
{
    real a[5], x = ph_scalar_pos(w, block, 1);
    *value = splat(0);
    *slope = splat(0);
    pars(w, M_EQ_DATA, 15 * block[B_ID], 5, a);
    for (int k = 4; k >= 0; --k) {
        *slope = fma(*slope, x, *value);
        *value = fma(*value, x, a[k]);
    }
}

/* Equality of two joints or tendons: the first is a polynomial of the second. */
LFN void ph_couple_rows(ph_world w, const int *block, real *pos, real *J)
{
    real value, slope;
    int tendon = block[B_TYPE] == PH_EQ_TENDON;
    ph_couple(w, block, &value, &slope);
    pos[0] = ph_scalar_pos(w, block, 0) - value;
    ph_add_scalar(w, block, tendon, block[B_OBJ1], splat(1), J);
    if (block[B_OBJ2] >= 0) ph_add_scalar(w, block, tendon, block[B_OBJ2], -slope, J);
}

LFN void ph_block_rows(ph_world w, const int *block, real *pos, real *J)
{
    int type = block[B_TYPE], id = block[B_ID];
    real axis[3];
    rolled
    for (int k = 0; k < block[B_DIM] * block[B_NDOF]; ++k) J[k] = splat(0);
    ph_zero(pos, block[B_DIM]);
    if (type <= PH_EQ_WELD) {
        ph_weld_rows(w, block, pos, J);
    } else if (type <= PH_EQ_TENDON) {
        ph_couple_rows(w, block, pos, J);
    } else if (type == PH_LOSS_DOF) {
        J[0] = splat(1);
    } else if (type == PH_LOSS_TENDON) {
        ph_add_scalar(w, block, 1, id, splat(1), J);
    } else {
        real limit = ph_limit_pos(w, block, axis);
        pos[0] = limit;
        if (type == PH_LIMIT_BALL) {
            for (int k = 0; k < 3; ++k) J[k] = -axis[k];
        } else {
            ph_add_scalar(w, block, type == PH_LIMIT_TENDON, id, splat((ureal)(-block[B_SIDE])), J);
        }
    }
}

/* ---- impedance --------------------------------------------------------------------------------------------------- */

/* x^p; a square is a product. */
LFN real ph_power(real x, real p)
{
    mask square = eq(p, splat(2));
    return all(square) ? x * x : select(square, x * x, pow(x, p));
}

/* The impedance at a distance from the margin; solimp is what MuJoCo makes of it. */
LFN real ph_impedance(ph_world w, const int *block, real dist)
{
    real low = ph_block_par(w, block, P_SOLIMP), high = ph_block_par(w, block, P_SOLIMP + 1);
    real width = ph_block_par(w, block, P_SOLIMP + 2), mid = ph_block_par(w, block, P_SOLIMP + 3);
    real p = ph_block_par(w, block, P_SOLIMP + 4), one = splat(1);
    mask flat = m_or(eq(low, high), le(width, splat(PHYSICS_MINVAL)));
    real x = rmin(rabs(dist) / select(flat, one, width), one);
    mask near = le(x, mid);
    real part = select(near, x / mid, (one - x) / (one - mid));
    real scale = select(near, mid, one - mid);
    real y = scale * ph_power(part, p);
    y = select(eq(p, one), x, select(near, y, one - y));
    return select(flat, splat((ureal)0.5) * (low + high), fma(y, high - low, low));
}

/* D and aref of a block's rows, whose J and pos are done; `on` are the lanes in which it holds. */
LFN void ph_block_reference(ph_world w, const int *block, int row, const real *J, mask on)
{
    int dim = block[B_DIM], n = block[B_NDOF], touches = block[B_KIND] >= PH_CONTACT;
    const int *dof = block + block[B_DOFS];
    const real *pos = efc_pos(w) + row;
    real margin = ph_block_par(w, block, P_MARGIN), dist = pos[0] - margin, all2 = splat(0);
    for (int r = 0; r < dim; ++r) all2 = fma(pos[r], pos[r], all2);
    if (dim > 1 && !touches) dist = sqrt(all2);
    real imp = ph_impedance(w, block, dist), drift[6];
    ph_zero(drift, 6);
    if (block[B_TYPE] <= PH_EQ_WELD) ph_weld_drift(w, block, drift);
    real K = ph_block_par(w, block, P_K), B = ph_block_par(w, block, P_B);
    int late = integrator(w) == PH_DISCRETE;
    real h = timestep(w, 0), late_R = splat(1), ease = splat(1);
    if (late) {
        ph_resolve_row(h, imp, ph_block_par(w, block, P_RATIO), &K, &B);
        late_R = splat(1) / fma(h, B, fma(h * h, K * imp, splat(1)));
        if (touches) ease = ph_row_ease(w, block, J, ph_block_par(w, block, P_FRICTION));
    }
    real least = touches ? ph_block_par(w, block, P_LEAST_R) : splat(PHYSICS_MINVAL);
    for (int r = 0; r < dim; ++r) {
        int friction = r > 0 && block[B_KIND] == PH_ELLIPTIC;
        int moved = surfaces(w) && touches && r > 0;
        real vel = moved ? efc_aref(w)[row + r] + splat(0) : splat(0),
             damping = friction ? ph_block_par(w, block, P_B_FRICTION) : B,
             diag = ph_block_par(w, block, r < 3 || touches ? P_DIAG : P_DIAG + 1);
        for (int k = 0; k < n; ++k) vel = fma(J[r * n + k], qvel(w)[dof[2 * k]], vel);
        real R = rmax(least, (splat(1) - imp) * diag / imp);
        if (late) {
            if (!touches) ease = ph_row_ease(w, block, J + r * n, splat(0));
            real stiffest = splat((1 - PH_MOST_IMPEDANCE) / PH_MOST_IMPEDANCE) * (diag * ease);
            R = rmax(least, rmax(stiffest, (splat(1) - imp) * (diag * ease) / imp * late_R));
        }
        if (friction) R = R * ph_block_par(w, block, P_SCALE + r - 1);
        real spring = touches && r > 0 ? splat(0) : K * imp * (pos[r] - margin);
        real aref = fma(-damping, vel, -spring) - drift[r];
        if (late) {
            real stiff = friction ? splat(0) : K * imp, part = friction ? splat(1) / fma(h, damping, splat(1)) : late_R;
            aref = fma(-(h * stiff), vel, aref) * part;
        }
        efc_D(w)[row + r] = select(on, splat(1) / R, splat(0));
        efc_aref(w)[row + r] = select(on, aref, splat(0));
    }
}

/* The lanes of a slot's contact that are within its gap (D is -1 there) have no row any more, and no force. */
LFN void ph_leave_gap(ph_world w, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int row = ph_slot_row(w, k), dim = block[B_DIM];
    real *D = efc_D(w) + row, *aref = efc_aref(w) + row, *force = efc_force(w) + row, *J = efc_J(w) + ph_slot_J(w, k),
         zero = splat(0);
    mask within = lt(D[0], zero);
    if (!any(within)) return;
    rolled
    for (int r = 0; r < dim; ++r) {
        D[r] = select(within, zero, D[r]);
        aref[r] = select(within, zero, aref[r]);
        force[r] = select(within, zero, force[r]);
    }
    rolled
    for (int i = 0; i < dim * block[B_NDOF]; ++i) J[i] = select(within, zero, J[i]);
}

/*
 * A contact of geoms that adhere, in the lanes `on`: what pulls is a constant force (ph_adhere), and the reference of
 * the normal moves by what that would bend the contact by. Above the margin it is a normal row alone; a pyramid of that
 * has no tangents, and all of its edges are the normal.
 */
LFN void ph_stick(ph_world w, const int *block, int row, real *J, mask on)
{
    int dim = block[B_DIM], n = block[B_NDOF];
    real pull = ph_block_par(w, block, P_ADHESION), zero = splat(0), *D = efc_D(w) + row, *aref = efc_aref(w) + row;
    real dist = efc_pos(w)[row] - ph_block_par(w, block, P_MARGIN), edges = splat(1);
    mask sticks = m_and(on, gt(pull, zero)), within = m_and(sticks, ge(dist, zero));
    if (!any(sticks)) return;
    if (block[B_KIND] == PH_PYRAMID) edges = splat((ureal)(2 * (dim - 1)));
    if (block[B_KIND] == PH_PYRAMID && any(within)) {
        real imp = ph_impedance(w, block, dist), diag = ph_block_par(w, block, P_NORMAL_DIAG);
        real R = rmax(ph_block_par(w, block, P_LEAST_R), (splat(1) - imp) * diag / imp) * edges;
        for (int r = 0; r < dim; ++r) D[r] = select(within, splat(1) / R, D[r]);
    }
    aref[0] = select(sticks, aref[0] + pull / (D[0] * edges), aref[0]);
    for (int r = 1; r < dim; ++r) aref[r] = select(within, zero, aref[r]);
    rolled
    for (int i = n; i < dim * n; ++i) J[i] = select(within, zero, J[i]);
}

/*
 * Rows of the slots that are no contacts, in the lanes of a group, and D and aref of all slots. Contacts within a gap
 * have no rows; for adhesion, which needs them, D stays -1.
 */
LFN void ph_references(ph_world w, mask group)
{
    each (k, w.ints[S_NSLOT]) {
        const int *block = PH_BLOCK(ph_slot_block(w, k));
        int row = ph_slot_row(w, k);
        real *J = efc_J(w) + ph_slot_J(w, k), *pos = efc_pos(w) + row;
        mask on = m_not(eq(efc_D(w)[row], splat(0)));
        if (block[B_TYPE] != PH_GEOMS) {
            on = m_and(group, ph_block_holds(w, block));
            ph_block_rows(w, block, pos, J);
            rolled
            for (int i = 0; i < block[B_DIM] * block[B_NDOF]; ++i) J[i] = select(on, J[i], splat(0));
        }
        ph_block_reference(w, block, row, J, on);
        if (adhesive(w) && block[B_TYPE] == PH_GEOMS) ph_stick(w, block, row, J, on);
        if (gaps(w) && block[B_TYPE] == PH_GEOMS) {
            mask within = m_and(on, ge(pos[0], ph_block_par(w, block, P_MARGIN)));
            if (adhesive(w)) within = m_and(within, eq(ph_block_par(w, block, P_ADHESION), splat(0)));
            efc_D(w)[row] = select(within, splat(-1), efc_D(w)[row]);
            if (nadhesion(w) == 0) ph_leave_gap(w, k);
        }
    }
    each (k, nslot(w)) {
        int used = k < w.ints[S_NSLOT];
        efc_block(w)[k] = splat(used ? (ureal)w.ints[S_SLOTS + 4 * (used ? k : 0) + 3] : (ureal)-1);
    }
    sync();
}
