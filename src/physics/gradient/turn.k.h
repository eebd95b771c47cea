/*
 * Derivatives of rotations and positions: of what a joint's velocity turns, of rotation vectors, and of quaternions.
 * Part of the kernels that include it, after spatial.k.h.
 *
 * A rotation q changes by a small rotation vector t in its own frame, q exp(t): dofs of ball and free joints do that.
 * Formulas are those of the right Jacobian of SO(3) (Chirikjian, Stochastic Models, Information Theory, and Lie Groups,
 * volume 2, section 10.3).
 */

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
LFN void ph_pull_positions(const int *m, const real *w, int j, const real *qvel, const real *qpos_grad, real h,
                           real *out)
{
    int type = (m + m[M_JNT_TYPE])[j], q = (m + m[M_JNT_QPOSADR])[j], d = (m + m[M_JNT_DOFADR])[j];
    int straight = type == 0 ? 3 : type == 1 ? 0 : 1;
    real quat[4];
    for (int k = 0; k < straight; ++k) out[d + k] = qpos_grad[q + k];
    if (type >= 2) return;
    ph_copy(quat, PH_AT(W_QPOS) + q + straight, 4);
    ph_quat_integrate(quat, qvel + d + straight, h);
    ph_pull_quat(quat, qpos_grad + q + straight, out + d + straight);
}

/*
 * Adds to turn and step the bars of what moves joint j and of the velocities qvel, with which it is moved for a time h,
 * from that of what moves it afterwards.
 */
LFN void ph_pull_move(const int *m, int j, const real *qvel, const real *after, real h, real *turn, real *step)
{
    int type = (m + m[M_JNT_TYPE])[j], d = (m + m[M_JNT_DOFADR])[j], straight = type == 0 ? 3 : type == 1 ? 0 : 1;
    real u[3], x[3], r[4], turned[3];
    for (int k = d; k < d + straight; ++k) {
        turn[k] = turn[k] + after[k];
        step[k] = fma(h, after[k], step[k]);
    }
    if (type >= 2) return;
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
LFN void ph_push_joint(const int *m, const real *w, int j, mask on, const real *turn, real *out)
{
    int type = (m + m[M_JNT_TYPE])[j], q = (m + m[M_JNT_QPOSADR])[j], d = (m + m[M_JNT_DOFADR])[j];
    int straight = type == 0 ? 3 : type == 1 ? 0 : 1;
    real x[7];
    ph_zero(x, 7);
    ph_copy(x, turn + d, straight);
    if (type < 2) ph_push_quat(PH_AT(W_QPOS) + q + straight, turn + d + straight, x + straight);
    for (int k = 0; k < straight + (type < 2 ? 4 : 0); ++k) ph_put_gradient(out, q + k, x[k], on);
}
