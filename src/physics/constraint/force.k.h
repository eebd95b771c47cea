/*
 * What a block of constraint.k.h does with the residuals x = J a - aref of its rows: forces, their negative derivative,
 * the cost, and the derivatives of the cost along a line. Part of the kernels that include it, before solve.k.h. `dim`
 * is the block's; callers pass it as a literal where they can, so that loops over rows unroll.
 */

#define PH_IS_KIND(which, dim, kind) (PH_HAS_KIND(dim, which) && (kind) == (which))

/* Edges of a pyramid: residuals x[0] + mu x[k] and x[0] - mu x[k]; an edge pushes where its residual is negative. */
LFN void ph_edge(const real *x, real mu, int k, real *high, real *low)
{
    *high = rmin(fma(mu, x[k], x[0]), splat(0));
    *low = rmin(fma(-mu, x[k], x[0]), splat(0));
}

/* The middle zone of an elliptic cone, in which its edge slides: cost Dm s s / 2 with s = U - mu T. */
typedef struct ph_zones {
    real U, T, s, Dm;
    mask bottom, middle;
} ph_zones;

/* mu [0]: regularised friction of the cone, mu [1 …] those of the rows. */
LFN void ph_cone_zones(const real *x, const real *mu, int dim, const real *D, ph_zones *z)
{
    real square = splat(0), zero = splat(0);
    z->U = mu[0] * x[0];
    for (int k = 1; k < dim; ++k) square = fma(mu[k] * x[k], mu[k] * x[k], square);
    z->T = sqrt(square);
    z->s = fma(-mu[0], z->T, z->U);
    mask still = le(z->T, splat(PHYSICS_MINVAL));
    mask top = m_or(ge(z->U, mu[0] * z->T), m_and(still, ge(z->U, zero)));
    z->bottom = m_andnot(m_or(le(fma(mu[0], z->U, z->T), zero), m_and(still, lt(z->U, zero))), top);
    z->middle = m_not(m_or(top, z->bottom));
    z->Dm = D[0] / (mu[0] * mu[0] * fma(mu[0], mu[0], splat(1)));
}

LFN void ph_cone_force(const real *x, const real *mu, int dim, const real *D, real *force)
{
    ph_zones z;
    ph_cone_zones(x, mu, dim, D, &z);
    real inv = splat(1) / select(z.middle, z.T, splat(1)), push = z.Dm * z.s * mu[0];
    for (int k = 0; k < dim; ++k) {
        real slide = k == 0 ? -push : push * mu[k] * (mu[k] * x[k] * inv);
        force[k] = select(z.middle, slide, select(z.bottom, -(D[k] * x[k]), splat(0)));
    }
}

LFN void ph_cone_curve(const real *x, const real *mu, int dim, const real *D, real *C)
{
    real slope[PH_ROWS], dir[PH_ROWS], one = splat(1), zero = splat(0);
    ph_zones z;
    ph_cone_zones(x, mu, dim, D, &z);
    real inv = select(z.middle, one / select(z.middle, z.T, one), zero);
    for (int k = 0; k < dim; ++k) {
        dir[k] = k == 0 ? zero : mu[k] * x[k] * inv;
        slope[k] = k == 0 ? mu[0] : -(mu[0] * mu[k] * dir[k]);
    }
    for (int k = 0; k < dim; ++k)
        for (int j = 0; j < dim; ++j) {
            real h = slope[k] * slope[j];
            if (k > 0 && j > 0) {
                real turn = mu[k] * mu[j] * (((k == j ? one : zero) - dir[k] * dir[j]) * inv);
                h = fma(-(z.s * mu[0]), turn, h);
            }
            C[k * dim + j] = select(z.middle, z.Dm * h, k == j ? select(z.bottom, D[k], zero) : zero);
        }
}

/* Frictions of a block with a cone. */
LFN void ph_block_frictions(ph_world w, const int *block, int dim, real *mu)
{
    if (PH_IS_KIND(PH_ELLIPTIC, dim, block[B_KIND])) mu[0] = ph_block_par(w, block, P_MU);
    for (int k = 1; k < dim; ++k) mu[k] = ph_block_par(w, block, P_FRICTION + k - 1);
}

/* Up to which residual a friction loss is a spring. */
LFN real ph_reach(ph_world w, const int *block, real D)
{
    return ph_block_par(w, block, P_LOSS) / rmax(D, splat(PHYSICS_MINVAL));
}

LFN void ph_block_force(ph_world w, const int *block, int dim, const real *D, const real *x, real *force)
{
    int kind = block[B_KIND];
    real mu[PH_ROWS], high, low;
    ph_zero(mu, dim);
    if (kind >= PH_PYRAMID) ph_block_frictions(w, block, dim, mu);
    if (PH_IS_KIND(PH_PYRAMID, dim, kind)) {
        force[0] = splat(0);
        for (int k = 1; k < dim; ++k) {
            ph_edge(x, mu[k], k, &high, &low);
            force[0] = fma(-D[0], high + low, force[0]);
            force[k] = -(mu[k] * (D[0] * (high - low)));
        }
    } else if (PH_IS_KIND(PH_ELLIPTIC, dim, kind)) {
        ph_cone_force(x, mu, dim, D, force);
    } else if (PH_IS_KIND(PH_FRICTION, dim, kind)) {
        real reach = ph_reach(w, block, D[0]);
        force[0] = -(D[0] * clamp(x[0], -reach, reach));
    } else {
        for (int r = 0; r < dim; ++r) force[r] = -(D[r] * (kind == PH_EQUALITY ? x[r] : rmin(x[r], splat(0))));
    }
}

/* C [dim][dim]: the negative derivative of the forces. */
LFN void ph_block_curve(ph_world w, const int *block, int dim, const real *D, const real *x, real *C)
{
    int kind = block[B_KIND];
    real mu[PH_ROWS], high, low, zero = splat(0);
    ph_zero(mu, dim);
    if (PH_IS_KIND(PH_ELLIPTIC, dim, kind)) {
        ph_block_frictions(w, block, dim, mu);
        ph_cone_curve(x, mu, dim, D, C);
        return;
    }
    for (int k = 0; k < dim * dim; ++k) C[k] = zero;
    if (PH_IS_KIND(PH_PYRAMID, dim, kind)) {
        ph_block_frictions(w, block, dim, mu);
        for (int k = 1; k < dim; ++k) {
            ph_edge(x, mu[k], k, &high, &low);
            real a = select(lt(high, zero), D[0], zero), b = select(lt(low, zero), D[0], zero), cross = mu[k] * (a - b);
            C[0] = C[0] + (a + b);
            C[k * dim] = cross;
            C[k] = cross;
            C[k * dim + k] = mu[k] * mu[k] * (a + b);
        }
    } else if (PH_IS_KIND(PH_FRICTION, dim, kind)) {
        real reach = ph_reach(w, block, D[0]);
        C[0] = select(lt(rabs(x[0]), reach), D[0], zero);
    } else {
        for (int r = 0; r < dim; ++r) C[r * dim + r] = kind == PH_EQUALITY ? D[r] : select(lt(x[r], zero), D[r], zero);
    }
}

LFN real ph_block_cost(ph_world w, const int *block, int dim, const real *D, const real *x)
{
    int kind = block[B_KIND];
    real mu[PH_ROWS], high, low, sum = splat(0), half = splat((ureal)0.5);
    ph_zero(mu, dim);
    if (kind >= PH_PYRAMID) ph_block_frictions(w, block, dim, mu);
    if (PH_IS_KIND(PH_PYRAMID, dim, kind)) {
        for (int k = 1; k < dim; ++k) {
            ph_edge(x, mu[k], k, &high, &low);
            sum = sum + (high * high + low * low);
        }
        return half * (D[0] * sum);
    }
    if (PH_IS_KIND(PH_ELLIPTIC, dim, kind)) {
        ph_zones z;
        ph_cone_zones(x, mu, dim, D, &z);
        for (int k = 0; k < dim; ++k) sum = fma(D[k] * x[k], x[k], sum);
        return select(z.middle, half * (z.Dm * z.s * z.s), select(z.bottom, half * sum, splat(0)));
    }
    if (PH_IS_KIND(PH_FRICTION, dim, kind)) {
        real loss = ph_block_par(w, block, P_LOSS), reach = ph_reach(w, block, D[0]);
        real c = clamp(x[0], -reach, reach), beyond = rabs(x[0]) - rabs(c);
        return fma(half * D[0], c * c, select(gt(beyond, splat(0)), loss * beyond, splat(0)));
    }
    for (int r = 0; r < dim; ++r) {
        real c = kind == PH_EQUALITY ? x[r] : rmin(x[r], splat(0));
        sum = fma(D[r] * c, c, sum);
    }
    return half * sum;
}

/* ---- along a line ------------------------------------------------------------------------------------------------ */

typedef struct ph_line {
    real slope, curve; /* the first two derivatives of the cost at a step */
    real size;         /* the sizes of what slope adds */
} ph_line;

/* Adds a term of slope t x, where t is 0 or a mass times v, the velocity of its residual x. */
LFN void ph_line_add(real t, real x, real v, ph_line *line)
{
    real force = t * x;
    line->slope = line->slope + force;
    line->size = line->size + rabs(force);
    line->curve = fma(t, v, line->curve);
}

LFN void ph_line_cone(const real *x, const real *jv, const real *mu, int dim, const real *D, ph_line *line)
{
    real one = splat(1), zero = splat(0), along = zero, square = zero;
    ph_zones z;
    ph_cone_zones(x, mu, dim, D, &z);
    for (int k = 1; k < dim; ++k) {
        along = fma(mu[k] * x[k], mu[k] * jv[k], along);
        square = fma(mu[k] * jv[k], mu[k] * jv[k], square);
    }
    real inv = one / select(z.middle, z.T, one), dT = along * inv, ds = mu[0] * (jv[0] - dT);
    real ddT = (square - dT * dT) * inv, push = select(z.middle, z.Dm * z.s, zero);
    line->slope = fma(push, ds, line->slope);
    line->size = fma(rabs(push), rabs(mu[0] * jv[0]) + rabs(mu[0] * dT), line->size);
    line->curve = line->curve + select(z.middle, z.Dm * fma(ds, ds, -(z.s * (mu[0] * ddT))), zero);
    for (int k = 0; k < dim; ++k) ph_line_add(select(z.bottom, D[k] * jv[k], zero), x[k], jv[k], line);
}

/* Adds the derivatives of a block's cost at residuals jar + alpha jv. */
LFN void ph_block_line(ph_world w, const int *block, int dim, const real *D, const real *jar, const real *jv,
                       real alpha, ph_line *line)
{
    int kind = block[B_KIND];
    real mu[PH_ROWS], x[PH_ROWS], zero = splat(0);
    ph_zero(mu, dim);
    if (kind >= PH_PYRAMID) ph_block_frictions(w, block, dim, mu);
    x[0] = fma(alpha, jv[0], jar[0]);
    for (int r = 1; r < dim; ++r) x[r] = fma(alpha, jv[r], jar[r]);
    if (PH_IS_KIND(PH_PYRAMID, dim, kind)) {
        for (int k = 1; k < dim; ++k) {
            real high = fma(mu[k], x[k], x[0]), low = fma(-mu[k], x[k], x[0]);
            real up = fma(mu[k], jv[k], jv[0]), down = fma(-mu[k], jv[k], jv[0]);
            ph_line_add(select(lt(high, zero), D[0] * up, zero), high, up, line);
            ph_line_add(select(lt(low, zero), D[0] * down, zero), low, down, line);
        }
    } else if (PH_IS_KIND(PH_ELLIPTIC, dim, kind)) {
        ph_line_cone(x, jv, mu, dim, D, line);
    } else if (PH_IS_KIND(PH_FRICTION, dim, kind)) {
        real reach = ph_reach(w, block, D[0]), t = D[0] * jv[0];
        real inside = select(lt(rabs(x[0]), reach), jv[0], zero);
        ph_line_add(t, clamp(x[0], -reach, reach), inside, line);
    } else {
        for (int r = 0; r < dim; ++r) {
            real t = D[r] * jv[r];
            ph_line_add(kind == PH_EQUALITY ? t : select(lt(x[r], zero), t, zero), x[r], jv[r], line);
        }
    }
}
