/* Rays against cones. Part of ray.k.h. */

/*
 * Where a ray is within an endless cone that opens downwards from z = size[1]: from *in to *out; returns the lanes
 * where it is. o: near the cone.
 */
LFN mask ray_funnel(const ureal *size, const real *o, const real *d, real *in, real *out)
{
    ureal slope = size[0] / size[1], slope2 = slope * slope;
    real low = splat((ureal)-RAY_HUGE), high = splat((ureal)RAY_HUGE), w = splat(size[1]) - o[2];
    real a = fma(splat(-slope2) * d[2], d[2], fma(d[1], d[1], d[0] * d[0]));
    real b = fma(splat(slope2) * w, d[2], fma(o[1], d[1], o[0] * d[0]));
    real c = fma(splat(-slope2) * w, w, fma(o[1], o[1], o[0] * o[0]));
    real rest = fma(b, b, -(a * c));
    mask ok = le(splat(0), rest), both = lt(splat(0), a);
    real far = -(b + copysign_(sqrt(select(ok, rest, splat(0))), b));
    real x = far * ray_inverse(a), y = c * ray_inverse(far), first = rmin(x, y), last = rmax(x, y);
    mask up = lt(splat(0), d[2]);
    *in = select(both, first, select(up, low, last));
    *out = select(both, last, select(up, first, high));
    real middle = (first + last) * splat((ureal)0.5);
    return m_and(ok, m_or(m_not(both), le(splat(0), fma(-middle, d[2], w))));
}

LFN void ray_cone(ray_range range, const ureal *size, const real *o, const real *d, real inv, mask live, real *t,
                  real *n)
{
    real s = -ray_dot(o, d) * inv, p[3], in, out;
    for (int k = 0; k < 3; ++k) p[k] = fma(s, d[k], o[k]);
    mask ok = ray_funnel(size, p, d, &in, &out);
    ok = m_and(live, ok);
    real rise = ray_inverse(d[2]), base = -p[2] * rise;
    mask up = lt(splat(0), rise);
    mask base_in = m_and(up, lt(in, base)), base_out = m_andnot(lt(base, out), up);
    in = select(base_in, base, in);
    out = select(base_out, base, out);
    ok = m_and(ok, le(in, out));
    in = in + s;
    out = out + s;
    mask outside = ray_enters(range, in);
    real c = select(outside, in, out);
    ok = ray_take(range, ok, c, t);
    if (range.bare || !any(ok)) return;
    ureal slope = size[0] / size[1];
    mask lid = m_or(m_and(outside, base_in), m_andnot(base_out, outside));
    real z = splat(slope * slope) * (splat(size[1]) - fma(c, d[2], o[2]));
    ray_take_direction(ok, select(lid, splat(0), fma(c, d[0], o[0])), select(lid, splat(0), fma(c, d[1], o[1])),
                       select(lid, splat(-1), z), n);
}
