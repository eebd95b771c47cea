/* Rays against height fields. Part of ray.k.h. */

/* The surface. Its triangle 2 k + i is number i of the cell whose first vertex is k, row by row. */
LFN void ray_surface(ray_range range, const ureal *node, const ureal *head, int nrow, int ncol, ray_lanes rays,
                     ray_hit nearest)
{
    ray_best best = {*nearest.t, isplat(-1)};
    ray_trees(range, node, head, nrow, ncol, rays, &best);
    mask hit = m_and(rays.live, ilt(isplat(-1), best.at));
    if (!any(hit)) return;
    *nearest.t = select(hit, best.t, *nearest.t);
    if (range.bare) return;
    lint at = imax(best.at, isplat(0)), k = ishr(at, 1);
    mask second = ieq(at & isplat(1), isplat(1));
    const ureal *z = head + RAY_HEADER;
    real z00 = gather(z, k), z11 = gather(z, k + isplat(ncol + 1));
    real corner = gather(z, k + iselect(second, isplat(ncol), isplat(1)));
    real along_x = select(second, z11 - corner, corner - z00), along_y = select(second, corner - z00, z11 - corner);
    ureal per_x = (ureal)(ncol - 1) / (2 * head[0]), per_y = (ureal)(nrow - 1) / (2 * head[1]);
    ray_take_direction(hit, along_x * splat(-per_x), along_y * splat(-per_y), splat(1), nearest.n);
}

/*
 * One wall: across the axis (0 or 1), on its lower (side -1) or upper (side 1) end; from z = 0 up to the profile of the
 * surface. Along one row or column alone the profile is level.
 */
LFN void ray_wall(ray_range range, const ureal *head, int nrow, int ncol, int axis, int side, ray_lanes rays,
                  ray_hit nearest)
{
    const real *o = rays.o, *d = rays.d;
    mask live = rays.live;
    int other = 1 - axis, count = axis == 0 ? nrow : ncol, step = axis == 0 ? ncol : 1;
    int first = side < 0 ? 0 : axis == 0 ? ncol - 1 : (nrow - 1) * ncol;
    int last = count > 1 ? count - 2 : 0, next = count > 1 ? step : 0;
    ureal half = head[other];
    if (range.front && range.from >= 0) { /* from outside, exactly as the test of c below has it */
        live = m_and(live, le(splat(head[axis]), o[axis] * splat((ureal)side)));
        if (!any(live)) return;
    }
    real c = (splat((ureal)side * head[axis]) - o[axis]) * ray_inverse(d[axis]);
    real p = fma(c, d[other], o[other]), z = fma(c, d[2], o[2]);
    live = m_and(live, m_and(le(rabs(p), splat(half)), m_and(le(splat(0), z), le(z, splat(head[2])))));
    if (range.front) live = m_and(live, lt(d[axis] * splat((ureal)side), splat(0)));
    if (!any(live)) return;
    real y = select(live, (p + splat(half)) * splat((ureal)(count - 1) / (2 * half)), splat(0));
    lint row = imin(to_int(floor(y)), isplat(last));
    lint at = isplat(RAY_HEADER + first) + row * isplat(step);
    real part = y - to_real(row), z0 = gather(head, at), z1 = gather(head, at + isplat(next));
    live = ray_take(range, m_and(live, le(z, fma(part, z1 - z0, z0))), c, nearest.t);
    if (range.bare) return;
    ray_take_normal(live, splat(axis == 0 ? (ureal)side : 0), splat(axis == 1 ? (ureal)side : 0), splat(0), nearest.n);
}

/*
 * Lanes that begin above the base and not above the surface's highest point: the lid of the base cannot be seen from
 * there.
 */
LFN mask ray_in_hill(ray_range range, const ureal *head, const real *o, const real *d)
{
    real p[3];
    for (int k = 0; k < 3; ++k) p[k] = fma(splat(range.from), d[k], o[k]);
    return m_and(m_and(le(rabs(p[0]), splat(head[0])), le(rabs(p[1]), splat(head[1]))),
                 m_and(lt(splat(0), p[2]), le(p[2], splat(head[2]))));
}

LFN void ray_hfield(ray_range range, const int *data, const ureal *node, const ureal *elevation, ray_lanes rays,
                    ray_hit nearest)
{
    const ureal *head = elevation + data[0] - RAY_HEADER;
    RAY_SIZE base[3] = {ray_same(head[0]), ray_same(head[1]), ray_same(head[3] / 2)};
    mask outside = rays.live;
    if (range.front) outside = m_andnot(rays.live, ray_in_hill(range, head, rays.o, rays.d));
    ray_box(range, base, -base[2], rays.o, rays.d, outside, nearest.t, nearest.n);
    if (data[1] > 1 && data[2] > 1)
        ray_surface(range, node + (i64)data[3] * RAY_NODE, head, data[1], data[2], rays, nearest);
    for (int i = 0; i < 4; ++i) ray_wall(range, head, data[1], data[2], i / 2, i % 2 ? 1 : -1, rays, nearest);
}
