/*
 * Details of surfaces: smooth normals and textures of hits, as MuJoCo's classic renderer maps them. Part of render.k.h.
 *
 * The pixels of a row show few geoms; each of them is worked on once, for its lanes.
 */

/* How rays of a fisheye (right, up, back) turn with the angle across, then down the picture: 2 x 3 numbers. */
LFN void fisheye_bend(const sight *ray, real *bend)
{
    real flat = sqrt(fma(ray->u, ray->u, ray->v * ray->v)), angle = atan2(flat, ray->w);
    mask middle = lt(flat, splat((ureal)1e-3));
    real stretch = select(middle, splat(1), flat / angle), to[2] = {ray->u / stretch, ray->v / stretch};
    real fall = select(middle, splat(0), (ray->w - stretch) / (angle * angle));
    for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < 2; ++k) bend[3 * i + k] = fma(to[i] * to[k], fall, k == i ? stretch : splat(0));
        bend[3 * i + 2] = to[i] * stretch;
    }
}

/*
 * A hit in the camera's frame, 9 numbers: its place, then the place's change from this pixel to the next, across and
 * down (along the surface). n: normal in the camera's frame, of any length; t: depth.
 */
LFN void camera_hit(const ureal *view, int flat, const sight *seen, real t, const real *n, real *hit)
{
    int round = SCENE_HAS >> SCENE_FISHEYE & 1 && view[VIEW_FISHEYE] != 0;
    real u = seen->u, v = seen->v, w = seen->w, bend[6];
    for (int k = 0; k < 6; ++k) bend[k] = splat(0);
    real ray[3] = {flat ? splat(0) : u, flat ? splat(0) : v, -w};
    if (round) fisheye_bend(seen, bend);
    real reach = flat ? splat(1) : t, facing = dot3(n, ray);
    real inv = reach / select(eq(facing, splat(0)), splat((ureal)RAY_TINY), facing);
    hit[0] = flat ? u : t * u;
    hit[1] = flat ? v : t * v;
    hit[2] = -(t * w);
    for (int i = 1; i < 3; ++i) {
        real pixel = splat(view[VIEW_LENS + (i == 1 ? 1 : 4)]), slide = -(n[i - 1] * inv);
        if (round) slide = -(dot3(n, bend + 3 * (i - 1)) * inv);
        for (int k = 0; k < 3; ++k) {
            real across = round ? reach * bend[3 * (i - 1) + k] : k == i - 1 ? reach : splat(0);
            hit[3 * i + k] = pixel * fma(slide, ray[k], across);
        }
    }
}

/* The same in the geom's frame, from that in the camera's. */
LFN void local_hit(const ureal *candidate, const real *near, real *hit)
{
    for (int i = 0; i < 3; ++i) {
        const real *from = near + 3 * i;
        for (int k = 0; k < 3; ++k) {
            const ureal *axes = candidate + 3 * k;
            real sum = fma(splat(axes[2]), from[2], fma(splat(axes[1]), from[1], splat(axes[0]) * from[0]));
            hit[3 * i + k] = i == 0 ? sum + splat(candidate[9 + k]) : sum;
        }
    }
}

/* Weights of a triangle's second and third corner at `place` (its plane's nearest point); e: edges from the first. */
LFN void corner_weights(const real *e, const real *place, real *weight)
{
    real a = dot3(e, e), b = dot3(e, e + 3), c = dot3(e + 3, e + 3), p = dot3(place, e), q = dot3(place, e + 3);
    real inv = splat(1) / fma(a, c, -(b * b));
    weight[0] = fma(c, p, -(b * q)) * inv;
    weight[1] = fma(a, q, -(b * p)) * inv;
}

/* What corners hold at `k`, k + step, …, weighted; of a change of place: without the first corner's weight. */
LFN real mix_corners(const ureal *look, lint corner, int k, int step, const real *weight, int change)
{
    real a = gather(look + k, corner), b = gather(look + k + step, corner), c = gather(look + k + 2 * step, corner);
    return fma(c - a, weight[1], fma(b - a, weight[0], change ? splat(0) : a));
}

/*
 * The smooth normal (geom's frame, not unit) and texture coordinates of a mesh: out: normal (3), then s, t and their
 * changes across and down. tri: the mesh' triangles, in the order of the tree; hit: local_hit.
 */
LFN void mesh_corners(const ureal *look, const int *detail, const ureal *tri, lint part, const real *hit, real *out)
{
    lint at = part * isplat(RAY_TRI);
    lint corner = to_int(gather(tri + RAY_TRI_FACE, at)) * isplat(CORNER_SIZE) + isplat(detail[DETAIL_CORNER]);
    const ureal *normals = detail[DETAIL_NORMALS] ? tri + (i64)detail[DETAIL_NORMALS] * RAY_TRI : look + CORNER_NORMAL;
    lint normal = detail[DETAIL_NORMALS] ? at : corner;
    real e[6], from[3], weight[2];
    for (int k = 0; k < 3; ++k) {
        real a = gather(tri + k, at);
        e[k] = gather(tri + 3 + k, at) - a;
        e[3 + k] = gather(tri + 6 + k, at) - a;
        from[k] = hit[k] - a;
    }
    for (int i = 0; i < 3; ++i) {
        corner_weights(e, i == 0 ? from : hit + 3 * i, weight);
        for (int k = 0; k < 3 && i == 0; ++k) out[k] = mix_corners(normals, normal, k, 3, weight, 0);
        for (int k = 0; k < 2; ++k) out[3 + 2 * i + k] = mix_corners(look, corner, CORNER_COORD + k, 2, weight, i > 0);
    }
}

/* The point of a unit shape that MuJoCo maps to a cube: a capsule's ends are half balls on a cylinder's. */
LFN void cube_direction(const ureal *scale, const real *hit, real *r)
{
    for (int i = 0; i < 9; ++i) r[i] = hit[i] * splat(scale[i % 3]);
    if (scale[SCALE_LENGTH] > 0) {
        real half = splat(scale[SCALE_LENGTH]), body = clamp(hit[2], -half, half);
        mask end = lt(half, rabs(hit[2]));
        r[2] = fma(hit[2] - body, splat(scale[SCALE_END]), body * splat(scale[2]));
        for (int i = 5; i < 9; i += 3) r[i] = select(end, hit[i] * splat(scale[SCALE_END]), r[i]);
    }
}

/* Each side of a box shows the whole picture. */
LFN void box_coordinates(const real *unit, real *uv)
{
    real size[3] = {rabs(unit[0]), rabs(unit[1]), rabs(unit[2])};
    mask z = m_and(le(size[0], size[2]), le(size[1], size[2])), x = m_andnot(le(size[1], size[0]), z);
    for (int i = 0; i < 3; ++i) {
        real middle = splat(i == 0 ? (ureal)0.5 : 0);
        uv[2 * i] = fma(select(x, unit[3 * i + 1], unit[3 * i]), splat((ureal)0.5), middle);
        uv[2 * i + 1] = fma(select(z, unit[3 * i + 1], unit[3 * i + 2]), splat((ureal)-0.5), middle);
    }
}

/* Once around z; from the top down: of a ball by angle, of others by height, whose ends are maps of their own. */
LFN void round_coordinates(int map, const ureal *scale, const real *hit, const real *unit, real *uv)
{
    const ureal turn = (ureal)0.15915494309189535, half = (ureal)0.5; /* 1 / 2 pi */
    real x = unit[0], y = unit[1], z = unit[2], far2 = fma(x, x, y * y), far = sqrt(far2);
    real around = atan2(y, x) * splat(turn), over = rabs(hit[2]) - splat(scale[SCALE_LENGTH]);
    mask end = map == MAP_CAPSULE ? lt(splat(0), over) : map == MAP_CYLINDER ? lt(far, rabs(z)) : m_all();
    real lift = map == MAP_CAPSULE ? over * splat(scale[SCALE_END]) : z;
    real angle = asin(clamp(lift, splat(-1), splat(1))) * splat(2 * turn);
    uv[0] = select(lt(around, splat(0)), around + splat(1), around);
    uv[1] = fma(z, splat(-half), splat(half));
    for (int i = 1; i < 3; ++i) {
        uv[2 * i] = fma(x, unit[3 * i + 1], -(y * unit[3 * i])) / far2 * splat(turn);
        uv[2 * i + 1] = unit[3 * i + 2] * splat(-half);
    }
    if (map == MAP_CYLINDER) {
        for (int i = 0; i < 6; ++i)
            uv[i] = select(end, fma(unit[3 * (i / 2) + i % 2], splat(half), splat(i < 2 ? half : 0)), uv[i]);
    } else {
        real whole = map == MAP_CAPSULE ? select(lt(z, splat(0)), splat(0), splat(1)) : splat(half);
        real sign = map == MAP_CAPSULE ? copysign_(splat(2), z) : splat(1);
        ureal down = map == MAP_CAPSULE ? -4 * turn * scale[SCALE_END] : -2 * turn * scale[2];
        uv[1] = select(end, fma(-sign, angle, whole), uv[1]);
        for (int i = 1; i < 3; ++i) uv[2 * i + 1] = select(end, hit[3 * i + 2] * splat(down) / far, uv[2 * i + 1]);
    }
}

/* Where a picture is on a geom, s and t, then their changes across and down; corners: mesh_corners. */
LFN void picture_coordinates(int map, const ureal *scale, const real *hit, const real *corners, real *uv)
{
    real unit[9];
    for (int i = 0; i < 9; ++i) unit[i] = hit[i] * splat(scale[i % 3]);
    if (map == MAP_BOX) {
        box_coordinates(unit, uv);
    } else if (map >= MAP_BALL) {
        round_coordinates(map, scale, hit, unit, uv);
    } else {
        for (int i = 0; i < 6; ++i)
            uv[i] =
                map == MAP_CORNERS ? corners[3 + i] : unit[3 * (i / 2) + i % 2] * splat((ureal)(i % 2 ? -0.5 : 0.5));
    }
    for (int i = 0; i < 6; ++i)
        uv[i] = fma(uv[i], splat(scale[SCALE_REPEAT + i % 2]), splat(i < 2 ? scale[SCALE_SHIFT + i % 2] : 0));
}

/* Where a geom's texture is; uv: picture_coordinates, but for cubes. */
LFN void place_texture(rd_world w, const int *detail, const ureal *scale, const real *hit, const real *uv,
                       texel_place *place)
{
    real unit[9];
    if (detail[DETAIL_MAP] == MAP_CUBE) {
        cube_direction(scale, hit, unit);
        place_cube(w, detail[DETAIL_TEXTURE], unit, unit + 3, unit + 6, place);
    } else {
        place_2d(w, detail[DETAIL_TEXTURE], uv[0], uv[1], uv + 2, uv + 4, place);
    }
}

/* A normal of the geom's frame in the camera's. */
LFN void camera_normal(const ureal *candidate, const real *local, real *out)
{
    for (int k = 0; k < 3; ++k)
        out[k] = fma(splat(candidate[6 + k]), local[2],
                     fma(splat(candidate[3 + k]), local[1], splat(candidate[k]) * local[0]));
}

/*
 * Tilts the normal n (camera's frame) of lanes of `here` by a texel of a texture of normals. Its x is along s,
 * its y up in the picture, against t (glTF 2.0, section 3.9.3), both as they lie on the surface: from the changes of
 * places (near: camera_hit) and of coordinates (uv) from pixel to pixel, so any map has them.
 */
LFN void tilt_normal(const real *texel, const real *near, const real *uv, mask here, real *n)
{
    real along[3], up[3], side[3], level[3] = {n[0], n[1], n[2]}, sign = uv[2] * uv[5] - uv[3] * uv[4];
    sign = copysign_(splat(1), sign);
    for (int k = 0; k < 3; ++k) {
        along[k] = (near[3 + k] * uv[5] - near[6 + k] * uv[3]) * sign;
        up[k] = (near[3 + k] * uv[4] - near[6 + k] * uv[2]) * sign;
    }
    unit3(level);
    real lift = dot3(along, level);
    for (int k = 0; k < 3; ++k) along[k] = along[k] - level[k] * lift;
    mask known = m_and(here, lt(splat(0), dot3(along, along)));
    unit3(along);
    for (int k = 0; k < 3; ++k)
        side[k] = level[(k + 1) % 3] * along[(k + 2) % 3] - level[(k + 2) % 3] * along[(k + 1) % 3];
    real part[3];
    for (int k = 0; k < 3; ++k) part[k] = fma(texel[k], splat(2), splat(-1));
    part[1] = part[1] * copysign_(splat(1), dot3(side, up));
    for (int k = 0; k < 3; ++k)
        n[k] = select(known, fma(part[0], along[k], fma(part[1], side[k], part[2] * level[k])), n[k]);
}

/* The colour of one texture where a picture is, 0 … 1 a channel. */
LFN void picture_colour(rd_world w, int texture, const real *uv, real *rgb)
{
    texel_place place;
    place_2d(w, texture, uv[0], uv[1], uv + 2, uv + 4, &place);
    texture_colour(w, &place, rgb);
}

LFN int has_any_role(const int *detail)
{
    int sum = 0;
    for (int k = DETAIL_BUMPS; k <= DETAIL_METAL; ++k) sum += detail[k];
    return sum != 0;
}

/* Roles of lanes of `here`, and their normals; near: camera_hit; at: picture_coordinates. */
LFN void hit_roles(rd_world w, const int *detail, const ureal *scale, const real *near, const real *at, mask here,
                   real *n, details *r)
{
    real texel[3], uv[6], orm[3];
    for (int i = 0; i < 6; ++i) uv[i] = select(here, at[i], splat(0));
    if (detail[DETAIL_BUMPS]) {
        picture_colour(w, detail[DETAIL_BUMPS], uv, texel);
        tilt_normal(texel, near, uv, here, n);
    }
    for (int k = 0; k < 3; ++k) {
        orm[k] = splat(k == 0 ? 1 : scale[SCALE_ROUGHNESS + k - 1]);
        if (!detail[DETAIL_ORM + k]) continue;
        picture_colour(w, detail[DETAIL_ORM + k], uv, texel);
        orm[k] = orm[k] * texel[k];
    }
    if (detail[DETAIL_EMISSIVE]) {
        picture_colour(w, detail[DETAIL_EMISSIVE], uv, texel);
        for (int k = 0; k < 3; ++k) r->light[k] = select(here, texel[k], r->light[k]);
    }
    r->open = select(here, orm[0], r->open);
    r->rough = select(here, orm[1], r->rough);
    r->metal = select(here, orm[2], r->metal);
    r->lit = iselect(here, isplat(detail[DETAIL_METAL]), r->lit);
}

/*
 * Details of the hits of pixels p …, whose geoms and triangles are in `hits`: sets the normal where it is smooth or
 * tilted, and the texture's colour, and roles, where there are any.
 */
LFN void hit_details(rd_world w, rd_surfaces surfaces, rd_patch patch, rd_hits hits, int p, lane_hits *hit,
                     details *further)
{
    const int *geoms = hits.geom + p;
    lint geom = iload(geoms), part = iload(hits.part + p);
    mask left = m_all(), textured = m_none();
    texel_place place = {isplat(0), isplat(0), splat(0), splat(0), splat(0)};
    sight ray;
    row_sight(patch.view, patch.x + p % PATCH, patch.y + p / PATCH, &ray);
    for (int l = 0; l < STET_W; ++l) {
        mask here = m_and(left, ieq(geom, isplat(geoms[l])));
        if (geoms[l] < 0 || !any(here)) continue;
        left = m_andnot(left, here);
        int row = nchoice(w) ? surfaces.choice[geoms[l]] : geoms[l];
        const int *detail = w.scene + details_at(w) + row * DETAIL_SIZE;
        int roles = has_roles(w) ? has_any_role(detail) : 0;
        if (detail[DETAIL_TEXTURE] + detail[DETAIL_CORNER] + roles == 0) continue;
        ureal m[12], candidate[CANDIDATE_SIZE];
        real near[9], local[9], corners[9], uv[6];
        prim_xform(w, detail[DETAIL_PRIM], m);
        candidate_of(m, patch.view, candidate);
        camera_hit(patch.view, patch.flat, &ray, hit->t, hit->n, near);
        local_hit(candidate, near, local);
        if (detail[DETAIL_CORNER]) {
            real smooth[3];
            const int *shape = surfaces.data + 4 * geoms[l];
            const ureal *own = surfaces.tri + (shape[1] + (i64)w.world * shape[3]) * RAY_TRI;
            mesh_corners(surfaces.look, detail, own, iselect(here, part, isplat(0)), local, corners);
            camera_normal(candidate, corners, smooth);
            for (int k = 0; k < 3; ++k) hit->n[k] = select(here, smooth[k], hit->n[k]);
        }
        const ureal *scale = surfaces.scales + row * SCALE_SIZE;
        for (int i = 0; i < 6; ++i) uv[i] = splat(0);
        if (detail[DETAIL_MAP] != MAP_CUBE) picture_coordinates(detail[DETAIL_MAP], scale, local, corners, uv);
        if (roles) hit_roles(w, detail, scale, near, uv, here, hit->n, further);
        if (detail[DETAIL_TEXTURE]) {
            texel_place own;
            place_texture(w, detail, scale, local, uv, &own);
            lint others = any(textured) ? place.texture : own.texture; /* lanes without a texture read from one, too */
            place.texture = iselect(here, own.texture, others);
            place.face = iselect(here, own.face, place.face);
            place.s = select(here, own.s, place.s);
            place.t = select(here, own.t, place.t);
            place.footprint = select(here, own.footprint, place.footprint);
            textured = m_or(textured, here);
        }
    }
    if (!any(textured)) return;
    real colour[3];
    texture_colour(w, &place, colour);
    for (int k = 0; k < 3; ++k) further->colour[k] = select(textured, colour[k], further->colour[k]);
}
