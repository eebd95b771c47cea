/* Rays against a geom of any type. Part of ray.k.h. */

/*
 * What rays meet besides the sizes of a geom: geom.h. data: of this geom, 4 numbers; the others: of all.
 */
typedef struct ray_shapes {
    const int *data;
    const ureal *node, *tri, *elevation;
} ray_shapes;

/*
 * Rays against one geom, all in its frame. Its first size is the number of the world if it is a surface that deforms.
 * On lanes that hit in range with t < tmax, `hit` is set; other lanes keep theirs.
 */
LFN void ray_geom(ray_range range, int type, const ureal *size, ray_shapes shapes, ray_lanes rays, real tmax,
                  ray_hit hit)
{
    const real *o = rays.o, *d = rays.d;
    mask live = rays.live;
    real dd = ray_dot(d, d), limit = splat((ureal)RAY_HUGE), best = tmax;
    live = m_and(live, m_and(lt(splat(0), dd), m_and(lt(dd, limit), lt(rabs(ray_dot(o, d)), limit))));
    if (!any(live)) return;
    real inv = splat(1) / select(live, dd, splat(1));
    ray_lanes valid = {o, d, live};
    ray_hit nearest = {&best, hit.n, hit.part};
    if (ray_is(type, RAY_PLANE))
        ray_plane(range, size, o, d, live, &best, hit.n);
    else if (ray_is(type, RAY_SPHERE))
        ray_sphere(range, size, o, d, inv, live, &best, hit.n);
    else if (ray_is(type, RAY_CAPSULE))
        ray_capsule(range, size, o, d, inv, live, &best, hit.n);
    else if (ray_is(type, RAY_ELLIPSOID))
        ray_ellipsoid(range, size, o, d, live, &best, hit.n);
    else if (ray_is(type, RAY_CYLINDER))
        ray_cylinder(range, size, o, d, live, &best, hit.n);
    else if (ray_is(type, RAY_BOX))
        ray_box(range, size, 0, o, d, live, &best, hit.n);
    else if (ray_is(type, RAY_MESH) || ray_is(type, RAY_SDF))
        ray_mesh(range, shapes.data[2] ? (int)size[0] : 0, shapes.data, shapes.node, shapes.tri, valid, nearest);
    else if (ray_is(type, RAY_HFIELD))
        ray_hfield(range, shapes.data, shapes.node, shapes.elevation, valid, nearest);
    else if (ray_is(type, RAY_CONE))
        ray_cone(range, size, o, d, inv, live, &best, hit.n);
    *hit.t = select(m_and(live, lt(best, tmax)), best, *hit.t);
}
