/*
 * Stage sensor: sensordata, as MuJoCo's mj_sensorPos, mj_sensorVel and mj_sensorAcc have it. Part of the kernels that
 * include it, after after.k.h.
 *
 * A sensor is SN_SIZE ints of m from M_SENSOR on. Most are evaluated when forward dynamics are done; those that need
 * the forces of rows (kinds from PH_SENSE_ROWS on), when the rows of a group of lanes are solved.
 */

#define PH_MOST_SENSED 14 /* numbers of a sensor: a rangefinder with all its data */

/* n numbers x of sensor i, from `first` on, cut off, in the lanes `where`. */
LFN void ph_put_sensed(const int *m, const ureal *f, const real *v, real *w, int i, int first, int n, const real *x,
                       mask where)
{
    const int *row = m + m[M_SENSOR] + SN_SIZE * i;
    real *out = PH_AT(W_SENSORDATA) + row[SN_ADR] + first, most = par(m, f, v, M_SENSOR_CUTOFF, i);
    rolled for (int k = 0; k < n; ++k)
    {
        real y = x[k];
        if (row[SN_CUT] > 0) y = select(gt(y, most), most, y);
        if (row[SN_CUT] == 1) y = select(lt(y, -most), -most, y);
        out[k] = select(where, y, out[k]);
    }
}

/* All numbers of sensor i. */
LFN void ph_put_sensor(const int *m, const ureal *f, const real *v, real *w, int i, const real *x, mask where)
{
    ph_put_sensed(m, f, v, w, i, 0, (m + m[M_SENSOR] + SN_SIZE * i)[SN_DIM], x, where);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* Position and axes of an object: SN_OBJECT or SN_REF of a sensor. */
LFN void ph_object_pose(const int *m, const ureal *f, const real *v, const real *w, const int *object, real *p, real *R)
{
    int kind = object[0], id = object[1];
    if (kind == PH_CAMERA) {
        ph_fixed_pose(m, f, v, w, object[2], 0, M_CAM_POS, M_CAM_QUAT, id, p, R);
        return;
    }
    int pos = kind == PH_GEOM ? W_GEOM_XPOS : kind == PH_SITE ? W_SITE_XPOS : kind == PH_BODY ? W_XIPOS : W_XPOS;
    int mat = kind == PH_GEOM ? W_GEOM_XMAT : kind == PH_SITE ? W_SITE_XMAT : kind == PH_BODY ? W_XIMAT : W_XMAT;
    ph_copy(p, PH_AT(pos) + 3 * id, 3);
    ph_copy(R, PH_AT(mat) + 9 * id, 9);
}

LFN void ph_object_quat(const int *m, const ureal *f, const real *v, const real *w, const int *object, real *q)
{
    int kind = object[0], id = object[1];
    int quat = kind == PH_GEOM   ? M_GEOM_QUAT
               : kind == PH_SITE ? M_SITE_QUAT
               : kind == PH_BODY ? M_BODY_IQUAT
                                 : M_CAM_QUAT;
    real own[4];
    ph_copy(q, PH_AT(W_XQUAT) + 4 * object[2], 4);
    if (kind == PH_XBODY) return;
    pars(m, f, v, quat, 4 * id, 4, own);
    ph_quat_mul(q, own);
}

/* x, a vector of the world, in the frame whose axes are the columns of R. */
LFN void ph_turn_back(const real *R, real *x)
{
    real t[3];
    ph_copy(t, x, 3);
    m3_mul_transposed(R, t, x);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

LFN void ph_sense_pose(const int *m, const ureal *f, const real *v, const real *w, const int *row, real *x)
{
    real p[3], R[9], origin[3], frame[9];
    ph_object_pose(m, f, v, w, row + SN_OBJECT, p, R);
    if (row[SN_KIND] == PH_SENSE_POS)
        ph_copy(x, p, 3);
    else
        m3_column(R, row[SN_ITEM], x);
    if (row[SN_REF] < 0) return;
    ph_object_pose(m, f, v, w, row + SN_REF, origin, frame);
    for (int k = 0; row[SN_KIND] == PH_SENSE_POS && k < 3; ++k) x[k] = x[k] - origin[k];
    ph_turn_back(frame, x);
}

LFN void ph_sense_quat(const int *m, const ureal *f, const real *v, const real *w, const int *row, real *x)
{
    real q[4];
    ph_object_quat(m, f, v, w, row + SN_OBJECT, q);
    ph_copy(x, q, 4);
    if (row[SN_REF] < 0) return;
    ph_object_quat(m, f, v, w, row + SN_REF, x);
    for (int k = 1; k < 4; ++k) x[k] = -x[k];
    ph_quat_mul(x, q);
}

/* Velocity of an object: in the world's directions, or in its own, or as seen from a reference frame that moves. */
LFN void ph_sense_velocity(const int *m, const ureal *f, const real *v, const real *w, const int *row, real *x)
{
    int first = row[SN_KIND] == PH_SENSE_LINVEL ? 3 : 0;
    real p[3], R[9], origin[3], motion[6], other[6], off[3], turn[3];
    ph_object_pose(m, f, v, w, row + SN_OBJECT, p, R);
    ph_point_motion(m, w, row[SN_OBJECT + 2], p, motion);
    ph_copy(x, motion + first, 3);
    if (row[SN_REF] >= 0) {
        ph_object_pose(m, f, v, w, row + SN_REF, origin, R);
        ph_point_motion(m, w, row[SN_REF + 2], origin, other);
        for (int k = 0; k < 3; ++k) x[k] = x[k] - other[first + k];
        v3_sub(p, origin, off);
        v3_cross(other, off, turn);
        for (int k = 0; first > 0 && k < 3; ++k) x[k] = x[k] - turn[k];
    }
    if (row[SN_REF] >= 0 || row[SN_ITEM] == 1) ph_turn_back(R, x);
}

/* Acceleration of an object, gravity included, in the world's directions or in its own. */
LFN void ph_sense_acceleration(const int *m, const ureal *f, const real *v, const real *w, const int *row, real *x)
{
    real p[3], R[9], a[6]; /* cacc has qacc now: what drifts is all */
    ph_object_pose(m, f, v, w, row + SN_OBJECT, p, R);
    ph_point_drift(m, w, row[SN_OBJECT + 2], p, a);
    ph_copy(x, a + (row[SN_KIND] == PH_SENSE_LINACC ? 0 : 3), 3);
    if (row[SN_ITEM] == 1) ph_turn_back(R, x);
}

/* The force or torque at a site that its body's parent exerts on the body, in the site's directions. */
LFN void ph_sense_force(const int *m, const real *w, const int *row, real *x)
{
    int site = row[SN_OBJECT + 1], body = row[SN_OBJECT + 2];
    const real *cfrc = PH_AT(W_CFRC_INT) + 6 * body;
    real off[3];
    ph_copy(x, row[SN_KIND] == PH_SENSE_FORCE ? cfrc + 3 : cfrc, 3);
    v3_sub(PH_AT(W_SITE_XPOS) + 3 * site, PH_AT(W_SUBTREE_COM) + 3 * (m + m[M_BODY_ROOTID])[body], off);
    if (row[SN_KIND] == PH_SENSE_TORQUE) ph_add_cross(cfrc + 3, off, x);
    ph_turn_back(PH_AT(W_SITE_XMAT) + 9 * site, x);
}

/* ---- rays -------------------------------------------------------------------------------------------------------- */

/* Takes the hit of the ray o + t d with a shape if it is nearer than *t; its size is entry `item` of a table. */
LFN void ph_ray(const int *m, const ureal *f, const real *v, int type, int table, int item, const real *pos,
                const real *R, const real *o, const real *d, real *t, real *normal)
{
    ray_range range = {0, 0, 0};
    real size[3], off[3], from[3], way[3], n[3], turned[3], best = *t;
    pars(m, f, v, table, 3 * item, 3, size);
    v3_sub(o, pos, off);
    m3_mul_transposed(R, off, from);
    m3_mul_transposed(R, d, way);
    ph_zero(n, 3);
    real inv = splat(1) / v3_dot(way, way);
    if (type == RAY_PLANE) ray_plane(range, size, from, way, m_all(), &best, n);
    if (type == RAY_SPHERE) ray_sphere(range, size, from, way, inv, m_all(), &best, n);
    if (type == RAY_CAPSULE) ray_capsule(range, size, from, way, inv, m_all(), &best, n);
    if (type == RAY_ELLIPSOID) ray_ellipsoid(range, size, from, way, m_all(), &best, n);
    if (type == RAY_CYLINDER) ray_cylinder(range, size, from, way, m_all(), &best, n);
    if (type == RAY_BOX) ray_box(range, size, splat(0), from, way, m_all(), &best, n);
    m3_mul(R, n, turned);
    v3_select(lt(best, *t), turned, normal, normal);
    *t = best;
}

/*
 * The same for geom g, a mesh or a height field. Four ints of M_RAY_SHAPE say where in M_RAY_PRM the nodes of its tree
 * are, where its triangles or sizes and heights, and how many rows and columns the heights have.
 */
LFN void ph_ray_shape(const int *m, const ureal *f, const real *w, int g, const real *o, const real *d, real *t,
                      real *normal)
{
    const int *shape = m + m[M_RAY_SHAPE] + 4 * g;
    const ureal *node = f + m[M_RAY_PRM] + shape[0], *behind = f + m[M_RAY_PRM] + shape[1];
    const real *R = PH_AT(W_GEOM_XMAT) + 9 * g;
    int data[4] = {0, 0, 0, 0}, part[STET_W] = {0};
    ray_range range = {0, 0, 0};
    real off[3], from[3], way[3], n[3], turned[3], best = *t;
    v3_sub(o, PH_AT(W_GEOM_XPOS) + 3 * g, off);
    m3_mul_transposed(R, off, from);
    m3_mul_transposed(R, d, way);
    ph_zero(n, 3);
    if ((m + m[M_GEOM_TYPE])[g] == PH_MESH) {
        ray_mesh(range, 0, data, node, behind, from, way, m_all(), &best, n, part);
    } else {
        data[0] = RAY_HEADER;
        data[1] = shape[2];
        data[2] = shape[3];
        ray_hfield(range, data, node, behind, from, way, m_all(), &best, n);
    }
    m3_mul(R, n, turned);
    v3_select(lt(best, *t), turned, normal, normal);
    *t = best;
}

/* The distance and normal of the nearest surface along o + t d that is not body b's. */
LFN void ph_cast(const int *m, const ureal *f, const real *v, const real *w, int b, const real *o, const real *d,
                 real *t, real *normal)
{
    const int *list = m + m[M_RAY_GEOM];
    *t = splat((ureal)RAY_HUGE);
    ph_zero(normal, 3);
    rolled for (int i = 0; i < m[M_NRAYGEOM]; ++i)
    {
        int g = list[i], type = (m + m[M_GEOM_TYPE])[g];
        if ((m + m[M_GEOM_BODYID])[g] == b) continue;
        if (m[M_NRAYSHAPE] > 0 && (type == PH_MESH || type == PH_HFIELD))
            ph_ray_shape(m, f, w, g, o, d, t, normal);
        else
            ph_ray(m, f, v, type, M_GEOM_SIZE, g, PH_AT(W_GEOM_XPOS) + 3 * g, PH_AT(W_GEOM_XMAT) + 9 * g, o, d, t,
                   normal);
    }
}

/* What a ray o + t d tells, those data that `bits` name, in their order. deep: how far along the view t is 1. */
LFN void ph_ray_data(int bits, const real *o, const real *d, real t, const real *normal, real deep, real *x)
{
    mask hit = lt(t, splat((ureal)RAY_HUGE));
    real none = splat(-1);
    int n = 0;
    for (int data = 0; data < 6; ++data) {
        if (!(bits >> data & 1)) continue;
        if (data == 0 || data == 5) {
            x[n] = select(hit, data == 0 ? t : deep * t, none);
            n = n + 1;
            continue;
        }
        for (int k = 0; k < 3; ++k) {
            real y = data == 1 ? d[k] : data == 2 ? o[k] : data == 3 ? fma(t, d[k], o[k]) : normal[k];
            x[n + k] = data == 2 ? y : select(hit, y, splat(0));
        }
        n = n + 3;
    }
}

/* Along a site's z axis: the nearest surface of another body. */
LFN void ph_sense_range(const int *m, const ureal *f, const real *v, const real *w, const int *row, real *x)
{
    real p[3], R[9], d[3], normal[3], t;
    ph_object_pose(m, f, v, w, row + SN_OBJECT, p, R);
    m3_column(R, 2, d);
    ph_cast(m, f, v, w, row[SN_OBJECT + 2], p, d, &t, normal);
    ph_ray_data(row[SN_ITEM], p, d, t, normal, splat(1), x);
}

/* Where the point p is inside a site. */
LFN mask ph_inside_site(const int *m, const ureal *f, const real *v, const real *w, int site, const real *p)
{
    int type = (m + m[M_SITE_TYPE])[site];
    real x[3], off[3], size[3], one = splat(1);
    pars(m, f, v, M_SITE_SIZE, 3 * site, 3, size);
    v3_sub(p, PH_AT(W_SITE_XPOS) + 3 * site, off);
    m3_mul_transposed(PH_AT(W_SITE_XMAT) + 9 * site, off, x);
    if (type == PH_BOX) return m_and(lt(rabs(x[0]), size[0]), m_and(lt(rabs(x[1]), size[1]), lt(rabs(x[2]), size[2])));
    if (type == PH_ELLIPSOID) {
        for (int k = 0; k < 3; ++k) x[k] = x[k] / size[k];
        return lt(v3_dot(x, x), one);
    }
    real z = rabs(x[2]), beyond = rmax(z - size[1], splat(0));
    if (type == PH_SPHERE) beyond = z;
    if (type == PH_CYLINDER) beyond = splat(0);
    mask in = lt(fma(beyond, beyond, fma(x[1], x[1], x[0] * x[0])), size[0] * size[0]);
    return type == PH_CYLINDER ? m_and(in, lt(z, size[1])) : in;
}

/* 1 where the object is inside the site SN_REF. */
LFN real ph_sense_inside(const int *m, const ureal *f, const real *v, const real *w, const int *row)
{
    real p[3], R[9];
    ph_object_pose(m, f, v, w, row + SN_OBJECT, p, R);
    return select(ph_inside_site(m, f, v, w, row[SN_REF + 1], p), splat(1), splat(0));
}

/* ---- cameras ----------------------------------------------------------------------------------------------------- */

/* Where a site is in a camera's picture, in pixels from its upper left corner. */
LFN void ph_sense_projection(const int *m, const ureal *f, const real *v, const real *w, const int *row, real *x)
{
    real p[3], R[9], off[3], seen[3], least = splat(PHYSICS_MINVAL), lens[4];
    pars(m, f, v, M_CAM_PRM, PH_CAM_PRM * row[SN_REF + 1] + 5, 4, lens);
    ph_object_pose(m, f, v, w, row + SN_REF, p, R);
    v3_sub(PH_AT(W_SITE_XPOS) + 3 * row[SN_OBJECT + 1], p, off);
    m3_mul_transposed(R, off, seen);
    real deep = select(lt(seen[2], splat(0)), rmin(seen[2], -least), rmax(seen[2], least));
    x[0] = fma(-lens[0], seen[0] / deep, lens[2]);
    x[1] = fma(lens[1], seen[1] / deep, lens[3]);
}

/* Pixel `pixel` of rangefinder number i, on a camera: rays from a point or, with M_CAM_PRM[4], side by side. */
LFN void ph_sense_pixel(const int *m, const ureal *f, const real *v, real *w, int i, int pixel)
{
    const int *row = m + m[M_SENSOR] + SN_SIZE * i;
    int width = row[SN_BLOCK], n = row[SN_DIM] / (width * row[SN_NBLOCK]);
    real p[3], R[9], o[3], d[3], normal[3], lens[5], way[3], t, x[PH_MOST_SENSED], one = splat(1), zero = splat(0);
    pars(m, f, v, M_CAM_PRM, PH_CAM_PRM * row[SN_OBJECT + 1], 5, lens);
    ph_object_pose(m, f, v, w, row + SN_OBJECT, p, R);
    real half = splat((ureal)0.5), across = splat((ureal)(pixel % width)) + half - lens[2];
    real down = splat((ureal)(pixel / width)) + half - lens[3];
    way[0] = across / lens[0];
    way[1] = -(down / lens[1]);
    way[2] = -one;
    mask parallel = gt(lens[4], zero);
    real length = select(parallel, one, sqrt(v3_dot(way, way))), aside[3];
    for (int k = 0; k < 2; ++k) {
        aside[k] = select(parallel, way[k] * lens[4], zero);
        way[k] = select(parallel, zero, way[k] / length);
    }
    aside[2] = zero;
    way[2] = way[2] / length;
    m3_mul(R, way, d);
    m3_mul(R, aside, o);
    for (int k = 0; k < 3; ++k) o[k] = p[k] + o[k];
    ph_cast(m, f, v, w, row[SN_OBJECT + 2], o, d, &t, normal);
    ph_ray_data(row[SN_ITEM], o, d, t, normal, -way[2], x);
    ph_put_sensed(m, f, v, w, i, n * pixel, n, x, m_all());
}

/* Rangefinders on cameras. */
PH_PART LFN void ph_sense_cameras(const int *m, const ureal *f, const real *v, real *w)
{
    int first = m[M_NSENSOR] + m[M_NSENSORROW] + m[M_NSENSORCONTACT] + m[M_NSENSORDISTANCE];
    rolled for (int i = first; i < first + m[M_NSENSORCAMERA]; ++i)
    {
        const int *row = m + m[M_SENSOR] + SN_SIZE * i;
        each (pixel, row[SN_BLOCK] * row[SN_NBLOCK]) ph_sense_pixel(m, f, v, w, i, pixel);
    }
    sync();
}

/* ---- limits and contacts ----------------------------------------------------------------------------------------- */

/* How fast a limit's distance changes; axis: of a ball's (ph_limit_pos). */
LFN real ph_sense_limit_rate(const int *m, const real *w, const int *row, const int *block, const real *axis)
{
    const real *rate = PH_AT(row[SN_FROM]) + row[SN_ITEM];
    real sum = splat(0);
    if (block[B_TYPE] != PH_LIMIT_BALL) return splat((ureal)-block[B_SIDE]) * rate[0];
    for (int k = 0; k < 3; ++k) sum = fma(-axis[k], rate[k], sum);
    return sum;
}

/* Distance (less the margin) or velocity of a joint's or tendon's limit that holds, 0 where none does. */
LFN real ph_sense_limit(const int *m, const ureal *f, const real *v, const real *w, const int *row)
{
    real x = splat(0), axis[3];
    for (int b = row[SN_NBLOCK] - 1; b >= 0; --b) {
        const int *block = m + m[M_BLOCK] + B_SIZE * (row[SN_BLOCK] + b);
        real pos = ph_limit_pos(m, f, v, w, block, axis), y = pos - ph_block_par(m, f, v, block, P_MARGIN);
        if (row[SN_KIND] != PH_SENSE_LIMITPOS) y = ph_sense_limit_rate(m, w, row, block, axis);
        x = select(ph_block_holds(m, f, v, w, block), y, x);
    }
    return x;
}

/* The force of that limit. */
LFN real ph_sense_limit_force(const int *m, const ureal *f, const real *v, const real *w, const int *s, const int *row)
{
    real x = splat(0);
    for (int k = s[S_NSLOT] - 1; k >= 0; --k) {
        int number = s[S_SLOTS + 4 * k + 3] - row[SN_BLOCK];
        if (number < 0 || number >= row[SN_NBLOCK]) continue;
        mask holds = ph_block_holds(m, f, v, w, PH_BLOCK(ph_slot_block(s, k)));
        x = select(holds, PH_AT(W_EFC_FORCE)[ph_slot_row(s, k)], x);
    }
    return x;
}

/*
 * The normal forces of contacts of the site's body that are inside the site, or whose normal points to it: the ray from
 * the contact into the body meets the site.
 */
LFN real ph_sense_touch(const int *m, const ureal *f, const real *v, const real *w, const int *s, const int *row,
                        mask group)
{
    const int *body = m + m[M_GEOM_BODYID];
    int site = row[SN_OBJECT + 1];
    real sum = splat(0), far = splat((ureal)RAY_HUGE);
    rolled for (int p = 0; p < s[S_NNEAR]; ++p)
    {
        const int *near = s + ph_near_pairs(m) + NEAR_SIZE * p, *pair = PH_PAIR(near[NEAR_PAIR]);
        int bits = near[NEAR_BITS], slot = near[NEAR_SLOT], second = body[pair[B_OBJ2]] == row[SN_OBJECT + 2];
        contact con[PH_MOST_CONTACTS];
        real hint[3], way[3], normal[3];
        if (!bits || !(second || body[pair[B_OBJ1]] == row[SN_OBJECT + 2])) continue;
        ph_collide(m, f, v, w, pair, group, con, hint);
        rolled for (int k = 0; k < pair[B_SIDE]; ++k)
        {
            if (!(bits >> k & 1)) continue;
            real force = PH_AT(W_EFC_FORCE)[ph_slot_row(s, slot)], t = far;
            v3_scale(con[k].normal, splat(second ? -1 : 1), way);
            ph_ray(m, f, v, (m + m[M_SITE_TYPE])[site], M_SITE_SIZE, site, PH_AT(W_SITE_XPOS) + 3 * site,
                   PH_AT(W_SITE_XMAT) + 9 * site, con[k].pos, way, &t, normal);
            mask counts = m_and(m_and(con[k].hit, gt(force, splat(0))), lt(t, far));
            sum = select(counts, sum + force, sum);
            slot = slot + 1;
        }
    }
    return sum;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Sensors that need the forces of the rows of a group of lanes. */
PH_PART LFN void ph_sense_rows(const int *m, const ureal *f, const real *v, real *w, const int *s, mask group)
{
    each (i, m[M_NSENSORROW]) {
        const int *row = m + m[M_SENSOR] + SN_SIZE * (m[M_NSENSOR] + i);
        int touch = row[SN_KIND] == PH_SENSE_TOUCH;
        real x = touch ? ph_sense_touch(m, f, v, w, s, row, group) : ph_sense_limit_force(m, f, v, w, s, row);
        ph_put_sensor(m, f, v, w, m[M_NSENSOR] + i, &x, group);
    }
}

/* The sum of the forces of a tendon's actuators. */
LFN real ph_sense_tendon_force(const int *m, const real *w, int t)
{
    const int *adr = m + m[M_TEN_ACT_ADR], *act = m + m[M_TEN_ACT];
    real sum = splat(0);
    rolled for (int k = adr[t]; k < adr[t + 1]; ++k) sum = sum + PH_AT(W_ACTUATOR_FORCE)[act[k]];
    return sum;
}

LFN void ph_sense(const int *m, const ureal *f, const real *v, const real *w, const int *row, real *x)
{
    int kind = row[SN_KIND], item = row[SN_ITEM];
    if (kind == PH_SENSE_NOTHING) ph_zero(x, row[SN_DIM]);
    if (kind == PH_SENSE_COPY) ph_copy(x, PH_AT(row[SN_FROM]) + item, row[SN_DIM]);
    if (kind == PH_SENSE_BALLQUAT) {
        ph_copy(x, PH_AT(W_QPOS) + item, 4);
        ph_quat_unit(x);
    }
    if (kind == PH_SENSE_TENDONFORCE) x[0] = ph_sense_tendon_force(m, w, item);
    if (kind == PH_SENSE_MAGNETOMETER) {
        pars(m, f, v, M_MAGNETIC, 0, 3, x);
        ph_turn_back(PH_AT(W_SITE_XMAT) + 9 * row[SN_OBJECT + 1], x);
    }
    if (kind == PH_SENSE_RANGEFINDER) ph_sense_range(m, f, v, w, row, x);
    if (kind == PH_SENSE_PROJECTION) ph_sense_projection(m, f, v, w, row, x);
    if (kind == PH_SENSE_INSIDE) x[0] = ph_sense_inside(m, f, v, w, row);
    if (kind == PH_SENSE_LIMITPOS || kind == PH_SENSE_LIMITVEL) x[0] = ph_sense_limit(m, f, v, w, row);
    if (kind == PH_SENSE_POS || kind == PH_SENSE_AXIS) ph_sense_pose(m, f, v, w, row, x);
    if (kind == PH_SENSE_QUAT) ph_sense_quat(m, f, v, w, row, x);
    if (kind == PH_SENSE_LINVEL || kind == PH_SENSE_ANGVEL) ph_sense_velocity(m, f, v, w, row, x);
    if (kind == PH_SENSE_LINACC || kind == PH_SENSE_ANGACC) ph_sense_acceleration(m, f, v, w, row, x);
    if (kind == PH_SENSE_FORCE || kind == PH_SENSE_TORQUE) ph_sense_force(m, w, row, x);
}

/* The other sensors, of the state of which forward dynamics are done. */
PH_PART LFN void ph_sensors(const int *m, const ureal *f, const real *v, real *w)
{
    if (m[M_NSENSOR] == 0) return;
    each (i, m[M_NSENSOR]) {
        real x[PH_MOST_SENSED];
        ph_sense(m, f, v, w, m + m[M_SENSOR] + SN_SIZE * i, x);
        ph_put_sensor(m, f, v, w, i, x, m_all());
    }
    sync();
}
