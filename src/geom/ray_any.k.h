/* Rays against a geom of any type. Part of ray.k.h. */

/*
 * Rays o + t d against one geom, all in its frame: o in metres; d of a length of 1e-3 … 1e3, t in units of it. `size`
 * (4 numbers) and `data` (4) are this geom's, `node`, `tri` and `elevation` those of all (geom.h); the first size of a
 * surface that deforms is the number of the world. On lanes of `live` that hit in range with t < tmax, *t is set, n is
 * the unit normal that points out of the solid (unless range.bare), and `part` (memory of the lanes) is the triangle of
 * a mesh, in the order of the tree; other lanes keep all three.
 */
LFN void ray_geom(ray_range range, int type, const ureal *size, const int *data, const ureal *node, const ureal *tri,
                  const ureal *elevation, const real o[3], const real d[3], mask live, real tmax, real *t, real n[3],
                  int *part)
{
    real dd = ray_dot(d, d), limit = splat((ureal)RAY_HUGE), best = tmax;
    live = m_and(live, m_and(lt(splat(0), dd), m_and(lt(dd, limit), lt(rabs(ray_dot(o, d)), limit))));
    if (!any(live)) return;
    real inv = splat(1) / select(live, dd, splat(1));
    if (ray_is(type, RAY_PLANE))
        ray_plane(range, size, o, d, live, &best, n);
    else if (ray_is(type, RAY_SPHERE))
        ray_sphere(range, size, o, d, inv, live, &best, n);
    else if (ray_is(type, RAY_CAPSULE))
        ray_capsule(range, size, o, d, inv, live, &best, n);
    else if (ray_is(type, RAY_ELLIPSOID))
        ray_ellipsoid(range, size, o, d, live, &best, n);
    else if (ray_is(type, RAY_CYLINDER))
        ray_cylinder(range, size, o, d, live, &best, n);
    else if (ray_is(type, RAY_BOX))
        ray_box(range, size, 0, o, d, live, &best, n);
    else if (ray_is(type, RAY_MESH) || ray_is(type, RAY_SDF))
        ray_mesh(range, data[2] ? (int)size[0] : 0, data, node, tri, o, d, live, &best, n, part);
    else if (ray_is(type, RAY_HFIELD))
        ray_hfield(range, data, node, elevation, o, d, live, &best, n);
    else if (ray_is(type, RAY_CONE))
        ray_cone(range, size, o, d, inv, live, &best, n);
    *t = select(m_and(live, lt(best, tmax)), best, *t);
}
