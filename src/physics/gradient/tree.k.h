/*
 * Derivatives of rotations and of what joints move; the gradient of inverse dynamics, of z' (M qacc + c) by qpos and
 * qvel, and what all other forces leave on bodies brought to dofs. Part of the kernels that include it, after
 * memory.k.h.
 *
 * z' (M qacc + c) is a sum over bodies of the power that the force I A + V x I V has at the field Z. Turning a dof
 * moves all that is below it as one. Seen from there nothing changes but what comes from above the joint: Z, V and A
 * there, turned back. So with the bars F, B, P of these fields, summed over what is below,
 *
 *   gradient by the dof = axis . (G - Z x F - V x B - A x P …),     fields as they are before the joint,
 *
 * where G is what bodies have of their own: the bar of a pose whose fields move with it.
 *
 * A rotation q changes by a small rotation vector t in its own frame, q exp(t): dofs of ball and free joints do that.
 * Formulas are those of the right Jacobian of SO(3) (Chirikjian, Stochastic Models, Information Theory, and Lie Groups,
 * volume 2, section 10.3).
 */

/* ---- rotations --------------------------------------------------------------------------------------------------- */

/* Item i of a gradient, in the lanes `on`. Never -0: what other lanes have adds 0. */
LFN void ph_put_gradient(real *out, int i, real x, mask on) { put(out, i, select(on, x + splat(0), out[i])); }

/* x += a (u x x) + b u x (u x x) */
LFN void ph_add_turns(const real *u, real a, real b, real *x)
{
    real once[3], twice[3];
    v3_cross(u, x, once);
    v3_cross(u, once, twice);
    ph_add_scaled(x, once, a, 3);
    ph_add_scaled(x, twice, b, 3);
}

/* The bar of the rotation vector u of exp(u) from the bar x of what turns exp(u) in its own frame. */
LFN void ph_pull_exp(const real *u, real *x)
{
    real t = v3_dot(u, u), one = splat(1);
    mask small = lt(t, splat((ureal)0.25));
    real far = select(small, one, t), angle = sqrt(far), half = sin(splat((ureal)0.5) * angle);
    real a = fma(t, splat((ureal)(1. / 3628800)), splat((ureal)(-1. / 40320)));
    a = fma(t, fma(t, a, splat((ureal)(1. / 720))), splat((ureal)(-1. / 24)));
    a = fma(t, a, splat((ureal)0.5));
    real b = fma(t, splat((ureal)(1. / 39916800)), splat((ureal)(-1. / 362880)));
    b = fma(t, fma(t, b, splat((ureal)(1. / 5040))), splat((ureal)(-1. / 120)));
    b = fma(t, b, splat((ureal)(1. / 6)));
    a = select(small, a, splat(2) * half * half / far);
    b = select(small, b, (angle - sin(angle)) / (far * angle));
    ph_add_turns(u, a, b, x);
}

/* The bar of what turns exp(u) in its own frame, from the bar x of its rotation vector u. */
LFN void ph_pull_log(const real *u, real *x)
{
    real t = v3_dot(u, u), one = splat(1);
    mask small = lt(t, splat((ureal)0.25));
    real far = select(small, one, t), half = splat((ureal)0.5) * sqrt(far);
    real c = fma(t, splat((ureal)(691. / 1307674368000.)), splat((ureal)(1. / 47900160)));
    c = fma(t, c, splat((ureal)(1. / 1209600)));
    c = fma(t, fma(t, c, splat((ureal)(1. / 30240))), splat((ureal)(1. / 720)));
    c = fma(t, c, splat((ureal)(1. / 12)));
    c = select(small, c, (one - half * cos(half) / sin(half)) / far);
    ph_add_turns(u, splat((ureal)-0.5), c, x);
}

/* out = half of the vector part of q* g: the bar of what turns the unit quaternion q, from the bar g of its numbers. */
LFN void ph_pull_quat(const real *q, const real *g, real *out)
{
    real half = splat((ureal)0.5), t[3];
    v3_cross(q + 1, g + 1, t);
    for (int k = 0; k < 3; ++k) out[k] = half * (fma(q[0], g[1 + k], -(g[0] * q[1 + k])) - t[k]);
}

/* out += the bar of a quaternion q of any length, from the bar x of what turns it in its own frame. */
LFN void ph_push_quat(const real *q, const real *x, real *out)
{
    real unit[4], turned[4], length = sqrt(fma(q[3], q[3], fma(q[2], q[2], fma(q[1], q[1], q[0] * q[0]))));
    mask tiny = lt(length, splat(PHYSICS_MINVAL));
    real scale = select(tiny, splat(0), splat(2) / select(tiny, splat(1), length));
    ph_copy(unit, q, 4);
    ph_quat_unit(unit);
    turned[0] = splat(0);
    ph_copy(turned + 1, x, 3);
    ph_quat_mul(unit, turned);
    ph_add_scaled(out, unit, scale, 4);
}

/*
 * The bar of what moves joint j where its positions have been moved for a time h with the velocities qvel, from the
 * gradient of these positions.
 */
LFN void ph_pull_positions(ph_world w, int j, const real *qvel, const real *qpos_grad, real h, real *out)
{
    int type = jnt_type(w)[j], q = jnt_qposadr(w)[j], d = jnt_dofadr(w)[j];
    int straight = type == PH_FREE ? 3 : type == PH_BALL ? 0 : 1;
    real quat[4];
    for (int k = 0; k < straight; ++k) out[d + k] = qpos_grad[q + k];
    if (type >= PH_SLIDE) return;
    ph_copy(quat, qpos(w) + q + straight, 4);
    ph_quat_integrate(quat, qvel + d + straight, h);
    ph_pull_quat(quat, qpos_grad + q + straight, out + d + straight);
}

/*
 * Adds to turn and step the bars of what moves joint j and of the velocities qvel, with which it is moved for a time h,
 * from that of what moves it afterwards.
 */
LFN void ph_pull_move(ph_world w, int j, const real *qvel, const real *after, real h, real *turn, real *step)
{
    int type = jnt_type(w)[j], d = jnt_dofadr(w)[j], straight = type == PH_FREE ? 3 : type == PH_BALL ? 0 : 1;
    real u[3], x[3], r[4], turned[3];
    for (int k = d; k < d + straight; ++k) {
        turn[k] = turn[k] + after[k];
        step[k] = fma(h, after[k], step[k]);
    }
    if (type >= PH_SLIDE) return;
    d += straight;
    /* what turns it before turns it afterwards, seen from there */
    ph_zero(r, 4);
    r[0] = splat(1);
    ph_quat_integrate(r, qvel + d, h);
    ph_rotate(r, after + d, turned);
    v3_add(turn + d, turned, turn + d);
    v3_scale(qvel + d, h, u);
    ph_copy(x, after + d, 3);
    ph_pull_exp(u, x);
    ph_add_scaled(step + d, x, h, 3);
}

/* The gradient by qpos, in the lanes `on`, from that by what moves it. */
LFN void ph_push_joint(ph_world w, int j, mask on, const real *turn, real *out)
{
    int type = jnt_type(w)[j], q = jnt_qposadr(w)[j], d = jnt_dofadr(w)[j];
    int straight = type == PH_FREE ? 3 : type == PH_BALL ? 0 : 1;
    real x[7];
    ph_zero(x, 7);
    ph_copy(x, turn + d, straight);
    if (type < PH_SLIDE) ph_push_quat(qpos(w) + q + straight, turn + d + straight, x + straight);
    for (int k = 0; k < straight + (type < PH_SLIDE ? 4 : 0); ++k) ph_put_gradient(out, q + k, x[k], on);
}

/* ---- inverse dynamics -------------------------------------------------------------------------------------------- */

#define PH_CARRIED 6 /* fields that come from above, with a bar each */

/* The fields of body b (0: the world's). */
LFN void ph_carried(ph_world w, int b, real *out)
{
    ph_copy(out, PH_BODIES(GB_Z) + 6 * b, 6);
    ph_copy(out + 6, cvel(w) + 6 * b, 6);
    for (int k = 0; k < 6; ++k) out[12 + k] = cacc(w)[6 * b + k] + PH_BODIES(GB_ACC)[6 * b + k];
    ph_copy(out + 18, PH_BODIES(GB_ACC) + 6 * b, 6);
    ph_copy(out + 24, PH_BODIES(GB_W) + 6 * b, 6);
    ph_copy(out + 30, PH_BODIES(GB_MORE) + 6 * b, 6);
}

/* What dofs d … d + n - 1 add to them. */
LFN void ph_carry(ph_world w, int d, int n, real *out)
{
    const real *cdof = cdof(w) + 6 * d, *dot = cdof_dot(w) + 6 * d, *qvel = qvel(w) + d;
    const real *qacc = qacc(w) + d;
    ph_add_motion(out, cdof, PH_DOFS(GD_Z) + d, n);
    ph_add_motion(out + 6, cdof, qvel, n);
    ph_add_motion(out + 12, dot, qvel, n);
    ph_add_motion(out + 12, cdof, qacc, n);
    ph_add_motion(out + 18, cdof, qacc, n);
    ph_add_motion(out + 24, cdof, PH_DOFS(GD_W) + d, n);
    ph_add_motion(out + 30, cdof, PH_DOFS(GD_MORE) + d, n);
}

/* A field of body b from that of its parent. */
LFN void ph_body_field(ph_world w, int b, const real *x, real *field)
{
    int d = body_dofadr(w)[b], n = body_dofnum(w)[b];
    real a[6];
    ph_copy(a, field + 6 * body_parentid(w)[b], 6);
    if (n > 0) ph_add_motion(a, cdof(w) + 6 * d, x + d, n);
    ph_copy(field + 6 * b, a, 6);
}

/* A field of all bodies. */
LFN void ph_field(ph_world w, const real *x, real *field)
{
    const int *level = level_adr(w), *body = level_body(w);
    each (k, 6) field[k] = splat(0);
    rolled
    for (int l = 0; l < nlevel(w); ++l) {
        sync();
        each (i, level[l + 1] - level[l]) ph_body_field(w, body[level[l] + i], x, field);
    }
    sync();
}

/* out -= a x f of a motion and a force. */
LFN void ph_take_cross_force(const real *a, const real *f, real *out)
{
    real t[6];
    ph_zero(t, 6);
    ph_add_cross_force(a, f, t);
    for (int k = 0; k < 6; ++k) out[k] = out[k] - t[k];
}

/* Adds the bars of body b's share in z' (M qacc + c), and in w' M times what the integrator adds. */
LFN void ph_pull_inertia(ph_world w, int b)
{
    const real *I = cinert(w) + 10 * b, *cvel = cvel(w) + 6 * b, *z = PH_BODIES(GB_Z) + 6 * b;
    const real *acc = PH_BODIES(GB_ACC) + 6 * b;
    real *F = PH_BODIES(GB_FORCE) + 6 * b, *B = PH_BODIES(GB_SPEED) + 6 * b, *P = PH_BODIES(GB_MOMENTUM) + 6 * b;
    real a[6], t[6], momentum[6];
    for (int k = 0; k < 6; ++k) a[k] = cacc(w)[6 * b + k] + acc[k];
    ph_inertia_mul(I, a, t);
    ph_inertia_mul(I, cvel, momentum);
    ph_add_cross_force(cvel, momentum, t);
    for (int k = 0; k < 6; ++k) F[k] = F[k] + t[k];
    ph_inertia_mul(I, z, t);
    for (int k = 0; k < 6; ++k) P[k] = P[k] + t[k];
    ph_take_cross_force(z, momentum, B);
    ph_cross_motion(cvel, z, a);
    ph_inertia_mul(I, a, t);
    for (int k = 0; k < 6; ++k) B[k] = B[k] - t[k];
    ph_inertia_mul(I, PH_BODIES(GB_MORE) + 6 * b, t);
    ph_inertia_mul(I, PH_BODIES(GB_W) + 6 * b, a);
    real *W = PH_BODIES(GB_W_FORCE) + 6 * b, *more = PH_BODIES(GB_W_MOMENTUM) + 6 * b;
    for (int k = 0; k < 6; ++k) W[k] = W[k] + t[k];
    for (int k = 0; k < 6; ++k) more[k] = more[k] + a[k];
}

/* The bar of a motion of all that is below a place where the fields are `above`, with the bars of what is below. */
LFN void ph_pull_motion(const real *above, const real *bars, const real *pose, real *out)
{
    ph_copy(out, pose, 6);
    for (int k = 0; k < PH_CARRIED; ++k) ph_take_cross_force(above + 6 * k, bars + 6 * k, out);
}

/* Gradients of dofs d … d + n - 1, whose axes are one joint's: bars of what is below them become those above them. */
LFN void ph_pull_dofs(ph_world w, int d, int n, const real *above, real *bars, const real *pose)
{
    const real *cdof = cdof(w), *dot = cdof_dot(w), *P = bars + 12;
    real *B = bars + 6, more[6], motion[6];
    ph_zero(more, 6);
    for (int k = d; k < d + n; ++k) {
        real turned[6];
        PH_DOFS(GD_SPEED)[k] = PH_DOFS(GD_SPEED)[k] + (ph_dot6(cdof + 6 * k, B) + ph_dot6(dot + 6 * k, P));
        ph_zero(turned, 6);
        ph_add_cross_force(cdof + 6 * k, P, turned);
        ph_add_scaled(more, turned, qvel(w)[k], 6);
    }
    for (int k = 0; k < 6; ++k) B[k] = B[k] + more[k];
    ph_pull_motion(above, bars, pose, motion);
    for (int k = d; k < d + n; ++k) PH_DOFS(GD_TURN)[k] = PH_DOFS(GD_TURN)[k] + ph_dot6(cdof + 6 * k, motion);
}

/* Joint j: from its last dofs to its first; `above` are the fields before it. */
LFN void ph_pull_joint(ph_world w, int j, const real *above, real *bars, const real *pose)
{
    int type = jnt_type(w)[j], d = jnt_dofadr(w)[j];
    if (type == PH_FREE) {
        real moved[6 * PH_CARRIED];
        ph_copy(moved, above, 6 * PH_CARRIED);
        /* translations of a free joint have axes that do not turn */
        ph_carry(w, d, 3, moved);
        ph_pull_dofs(w, d + 3, 3, moved, bars, pose);
    }
    ph_pull_dofs(w, d, type < PH_SLIDE ? 3 : 1, above, bars, pose);
}

/* The bars of body b, with those of its children, and gradients of its dofs: bars become those of its parent. */
LFN void ph_pull_body(ph_world w, int b)
{
    const int own[PH_CARRIED + 1] = {GB_FORCE, GB_SPEED, GB_MOMENTUM, GB_PUSH, GB_W_FORCE, GB_W_MOMENTUM, GB_POSE};
    int first = body_jntadr(w)[b], njoint = body_jntnum(w)[b];
    real bars[6 * (PH_CARRIED + 1)], base[6 * PH_CARRIED], above[6 * PH_CARRIED];
    for (int k = 0; k <= PH_CARRIED; ++k) {
        real *all = PH_BODIES(own[k]);
        ph_gather_children(w, b, 6, all + 6 * b, all, bars + 6 * k);
    }
    ph_carried(w, body_parentid(w)[b], base);
    rolled
    for (int j = first + njoint - 1; j >= first; --j) {
        ph_copy(above, base, 6 * PH_CARRIED);
        rolled
        for (int i = first; i < j; ++i) ph_carry(w, jnt_dofadr(w)[i], jnt_type(w)[i] == PH_BALL ? 3 : 1, above);
        ph_pull_joint(w, j, above, bars, bars + 6 * PH_CARRIED);
    }
    for (int k = 0; k <= PH_CARRIED; ++k) ph_copy(PH_BODIES(own[k]) + 6 * b, bars + 6 * k, 6);
}

/* Gradients by dofs from the bars of all bodies, of which those of their inertias are left out. */
LFN void ph_pull_fields(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    rolled
    for (int l = nlevel(w) - 1; l >= 0; --l) {
        each (i, level[l + 1] - level[l]) ph_pull_body(w, body[level[l] + i]);
        sync();
    }
}

LFN void ph_pull_tree(ph_world w)
{
    each (i, nbody(w) - 1) ph_pull_inertia(w, i + 1);
    sync();
    ph_pull_fields(w);
}

/* ---- forces at places -------------------------------------------------------------------------------------------- */

/* How far p is from the centre of mass of body b's tree. */
LFN void ph_offset(ph_world w, int b, const real *p, real *out)
{
    v3_sub(p, subtree_com(w) + 3 * body_rootid(w)[b], out);
}

/* The velocity of the point p of body b in a field. */
LFN void ph_at_point(ph_world w, int b, const real *p, const real *field, real *out)
{
    real off[3];
    ph_offset(w, b, p, off);
    ph_copy(out, field + 6 * b + 3, 3);
    ph_add_cross(field + 6 * b, off, out);
}

/* out = a force and a torque at p, as a spatial force on body b. */
LFN void ph_wrench(ph_world w, int b, const real *p, const real *torque, const real *force, real *out)
{
    real off[3];
    ph_offset(w, b, p, off);
    ph_copy(out, torque, 3);
    ph_add_cross(off, force, out);
    ph_copy(out + 3, force, 3);
}

/*
 * The bars of the velocity at p of body b in a field, and of its turning: they go to the field's bar, to the body's
 * pose, because the field turns with it, and to the place, `place`.
 */
LFN void ph_pull_point(ph_world w, int b, const real *p, const real *turn, const real *velocity, const real *field,
                       int bar, real *place)
{
    real force[6];
    ph_wrench(w, b, p, turn, velocity, force);
    real *to = PH_BODIES(bar) + 6 * b;
    for (int k = 0; k < 6; ++k) to[k] = to[k] + force[k];
    ph_add_cross_force(field + 6 * b, force, PH_BODIES(GB_POSE) + 6 * b);
    ph_add_cross(velocity, field + 6 * b, place);
}

/*
 * Bars of the acceleration of the point p that is fixed to body b, with qacc: they are `by`, and those of its turning
 * are `turn`.
 */
LFN void ph_pull_acceleration(ph_world w, int b, const real *p, const real *turn, const real *by, real *place)
{
    const real *cvel = cvel(w) + 6 * b;
    real force[6], spin[3], velocity[3], a[6], none[3], *to = PH_BODIES(GB_MOMENTUM) + 6 * b;
    for (int k = 0; k < 6; ++k) a[k] = cacc(w)[6 * b + k] + PH_BODIES(GB_ACC)[6 * b + k];
    ph_wrench(w, b, p, turn, by, force);
    for (int k = 0; k < 6; ++k) to[k] = to[k] + force[k];
    ph_add_cross_force(a, force, PH_BODIES(GB_POSE) + 6 * b);
    ph_add_cross(by, a, place);
    /* cvel x (the velocity of the point): its bars are those of the turning and of the velocity */
    ph_zero(none, 3);
    ph_at_point(w, b, p, cvel(w), velocity);
    v3_cross(velocity, by, spin);
    v3_cross(by, cvel, none);
    ph_pull_point(w, b, p, spin, none, cvel(w), GB_SPEED, place);
}

/* The bars of a place that is fixed to body b, and of its turning. */
LFN void ph_pull_place(ph_world w, int b, const real *p, const real *turn, const real *place)
{
    real force[6], *pose = PH_BODIES(GB_POSE) + 6 * b;
    ph_wrench(w, b, p, turn, place, force);
    for (int k = 0; k < 6; ++k) pose[k] = pose[k] + force[k];
}

/* ---- gyroscopic forces that are taken implicitly ----------------------------------------------------------------- */

/*
 * The gyroscopic forces c of a standalone free body are a quadratic form of its six velocities, and the integrator's
 * matrix has the derivative of that. So w' dc/dqvel(qvel) step, a bilinear form of qvel and step, is
 * L(qvel + step) - L(qvel) - L(step), where L(u) is
 * w' c(u), and its derivative by qvel is w' dc/dqvel at `step`.
 */

/*
 * Adds `by` times the gradient of L(u) by the six turns and moves of body b to turn [6] and, if `speed` is not NULL,
 * that by u to it. The dofs begin at d.
 */
LFN void ph_pull_gyro(ph_world w, int b, int d, const real *u, real by, int speeds, real *turn, real *speed)
{
    const real *I = crb(w) + 10 * b, *cdof = cdof(w) + 6 * d, *x = PH_DOFS(GD_W) + d;
    real moved[6], V[6], W[6], A[6], F[6], P[6], B[6], above[6], momentum[6], t[6], dot[18];
    ph_zero(moved, 6);
    ph_zero(above, 6);
    ph_zero(A, 6);
    ph_add_motion(moved, cdof, u, 3);
    ph_add_motion(above, cdof, x, 3);
    ph_copy(V, moved, 6);
    ph_copy(W, above, 6);
    for (int k = 0; k < 3; ++k) ph_cross_motion(moved, cdof + 6 * (3 + k), dot + 6 * k);
    ph_add_motion(A, dot, u + 3, 3);
    ph_add_motion(V, cdof + 18, u + 3, 3);
    ph_add_motion(W, cdof + 18, x + 3, 3);
    ph_inertia_mul(I, A, F);
    ph_inertia_mul(I, V, momentum);
    ph_add_cross_force(V, momentum, F);
    ph_inertia_mul(I, W, P);
    ph_cross_motion(V, W, t);
    ph_inertia_mul(I, t, B);
    for (int k = 0; k < 6; ++k) B[k] = -B[k];
    ph_take_cross_force(W, momentum, B);
    for (int k = 0; speeds && k < 3; ++k)
        speed[3 + k] = fma(by, ph_dot6(cdof + 18 + 6 * k, B) + ph_dot6(dot + 6 * k, P), speed[3 + k]);
    for (int k = 0; k < 3; ++k) {
        ph_zero(t, 6);
        ph_add_cross_force(cdof + 18 + 6 * k, P, t);
        ph_add_scaled(B, t, u[3 + k], 6);
    }
    for (int k = 0; speeds && k < 3; ++k) speed[k] = fma(by, ph_dot6(cdof + 6 * k, B), speed[k]);
    ph_zero(t, 6);
    ph_take_cross_force(above, F, t);
    ph_take_cross_force(moved, B, t);
    for (int k = 0; k < 3; ++k) turn[3 + k] = fma(by, ph_dot6(cdof + 18 + 6 * k, t), turn[3 + k]);
}

/* Standalone free body i. */
LFN void ph_pull_free(ph_world w, int i)
{
    int b = free_body(w)[i], d = body_dofadr(w)[b];
    real h = timestep(w, 0), step[6], both[6], *turn = PH_DOFS(GD_TURN) + d, *speed = PH_DOFS(GD_SPEED) + d;
    const real *qvel = qvel(w) + d;
    for (int k = 0; k < 6; ++k) {
        step[k] = qacc(w)[d + k] + PH_DOFS(GD_MORE)[d + k];
        both[k] = qvel[k] + step[k];
    }
    ph_pull_gyro(w, b, d, both, h, 0, turn, speed);
    ph_pull_gyro(w, b, d, qvel, -h, 0, turn, speed);
    ph_pull_gyro(w, b, d, step, -h, 0, turn, speed);
    real none[6];
    ph_zero(none, 6);
    ph_pull_gyro(w, b, d, step, h, 1, none, speed);
}
