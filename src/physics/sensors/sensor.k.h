/*
 * Stage sensor: sensordata, as MuJoCo's mj_sensorPos, mj_sensorVel and mj_sensorAcc have it. Part of the kernels that
 * include it, after after.k.h.
 *
 * A sensor is SN_SIZE ints of m from M_SENSOR on. Most are evaluated when forward dynamics are done; those that need
 * the forces of rows (kinds from PH_SENSE_ROWS on), when the rows of a group of lanes are solved.
 */

#define PH_MOST_SENSED 14 /* numbers of a sensor: a rangefinder with all its data */

/* n numbers x of sensor i, from `first` on, cut off, in the lanes `where`. */
LFN void ph_put_sensed(ph_world w, int i, int first, int n, const real *x, mask where)
{
    const int *row = sensor_first(w) + SN_SIZE * i;
    real *out = sensordata(w) + row[SN_ADR] + first, most = sensor_cutoff(w, i);
    rolled
    for (int k = 0; k < n; ++k) {
        real y = x[k];
        if (row[SN_CUT] > 0) y = select(gt(y, most), most, y);
        if (row[SN_CUT] == 1) y = select(lt(y, -most), -most, y);
        out[k] = select(where, y, out[k]);
    }
}

/* All numbers of sensor i. */
LFN void ph_put_sensor(ph_world w, int i, const real *x, mask where)
{
    ph_put_sensed(w, i, 0, (sensor_first(w) + SN_SIZE * i)[SN_DIM], x, where);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* Position and axes of an object: SN_OBJECT or SN_REF of a sensor. */
LFN void ph_object_pose(ph_world w, const int *object, real *p, real *R)
{
    int kind = object[0], id = object[1];
    if (kind == PH_CAMERA) {
        ph_fixed_pose(w, object[2], 0, M_CAM_POS, M_CAM_QUAT, id, p, R);
        return;
    }
    int pos = kind == PH_GEOM ? W_GEOM_XPOS : kind == PH_SITE ? W_SITE_XPOS : kind == PH_BODY ? W_XIPOS : W_XPOS;
    int mat = kind == PH_GEOM ? W_GEOM_XMAT : kind == PH_SITE ? W_SITE_XMAT : kind == PH_BODY ? W_XIMAT : W_XMAT;
    ph_copy(p, PH_AT(w, pos) + 3 * id, 3);
    ph_copy(R, PH_AT(w, mat) + 9 * id, 9);
}

LFN void ph_object_quat(ph_world w, const int *object, real *q)
{
    int kind = object[0], id = object[1];
    int quat = kind == PH_GEOM   ? M_GEOM_QUAT
               : kind == PH_SITE ? M_SITE_QUAT
               : kind == PH_BODY ? M_BODY_IQUAT
                                 : M_CAM_QUAT;
    real own[4];
    ph_copy(q, xquat(w) + 4 * object[2], 4);
    if (kind == PH_XBODY) return;
    pars(w, quat, 4 * id, 4, own);
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

LFN void ph_sense_pose(ph_world w, const int *row, real *x)
{
    real p[3], R[9], origin[3], frame[9];
    ph_object_pose(w, row + SN_OBJECT, p, R);
    if (row[SN_KIND] == PH_SENSE_POS)
        ph_copy(x, p, 3);
    else
        m3_column(R, row[SN_ITEM], x);
    if (row[SN_REF] < 0) return;
    ph_object_pose(w, row + SN_REF, origin, frame);
    for (int k = 0; row[SN_KIND] == PH_SENSE_POS && k < 3; ++k) x[k] = x[k] - origin[k];
    ph_turn_back(frame, x);
}

LFN void ph_sense_quat(ph_world w, const int *row, real *x)
{
    real q[4];
    ph_object_quat(w, row + SN_OBJECT, q);
    ph_copy(x, q, 4);
    if (row[SN_REF] < 0) return;
    ph_object_quat(w, row + SN_REF, x);
    for (int k = 1; k < 4; ++k) x[k] = -x[k];
    ph_quat_mul(x, q);
}

/* Velocity of an object: in the world's directions, or in its own, or as seen from a reference frame that moves. */
LFN void ph_sense_velocity(ph_world w, const int *row, real *x)
{
    int first = row[SN_KIND] == PH_SENSE_LINVEL ? 3 : 0;
    real p[3], R[9], origin[3], motion[6], other[6], off[3], turn[3];
    ph_object_pose(w, row + SN_OBJECT, p, R);
    ph_point_motion(w, row[SN_OBJECT + 2], p, motion);
    ph_copy(x, motion + first, 3);
    if (row[SN_REF] >= 0) {
        ph_object_pose(w, row + SN_REF, origin, R);
        ph_point_motion(w, row[SN_REF + 2], origin, other);
        for (int k = 0; k < 3; ++k) x[k] = x[k] - other[first + k];
        v3_sub(p, origin, off);
        v3_cross(other, off, turn);
        for (int k = 0; first > 0 && k < 3; ++k) x[k] = x[k] - turn[k];
    }
    if (row[SN_REF] >= 0 || row[SN_ITEM] == 1) ph_turn_back(R, x);
}

/* Acceleration of an object, gravity included, in the world's directions or in its own. */
LFN void ph_sense_acceleration(ph_world w, const int *row, real *x)
{
    real p[3], R[9], a[6]; /* cacc has qacc now: what drifts is all */
    ph_object_pose(w, row + SN_OBJECT, p, R);
    ph_point_drift(w, row[SN_OBJECT + 2], p, a);
    ph_copy(x, a + (row[SN_KIND] == PH_SENSE_LINACC ? 0 : 3), 3);
    if (row[SN_ITEM] == 1) ph_turn_back(R, x);
}

/* The force or torque at a site that its body's parent exerts on the body, in the site's directions. */
LFN void ph_sense_force(ph_world w, const int *row, real *x)
{
    int site = row[SN_OBJECT + 1], body = row[SN_OBJECT + 2];
    const real *cfrc = cfrc_int(w) + 6 * body;
    real off[3];
    ph_copy(x, row[SN_KIND] == PH_SENSE_FORCE ? cfrc + 3 : cfrc, 3);
    v3_sub(site_xpos(w) + 3 * site, subtree_com(w) + 3 * body_rootid(w)[body], off);
    if (row[SN_KIND] == PH_SENSE_TORQUE) ph_add_cross(cfrc + 3, off, x);
    ph_turn_back(site_xmat(w) + 9 * site, x);
}

/* ---- rays -------------------------------------------------------------------------------------------------------- */

/* Takes the hit of a ray with a shape if it is nearer than the last one; its size is entry `item` of a table. */
LFN void ph_ray(ph_world w, int type, int table, int item, const real *pos, const real *R, ray_lanes ray, ray_hit hit)
{
    ray_range range = {0, 0, 0};
    real size[3], off[3], from[3], way[3], n[3], turned[3], best = *hit.t;
    pars(w, table, 3 * item, 3, size);
    v3_sub(ray.o, pos, off);
    m3_mul_transposed(R, off, from);
    m3_mul_transposed(R, ray.d, way);
    ph_zero(n, 3);
    real inv = splat(1) / v3_dot(way, way);
    if (type == RAY_PLANE) ray_plane(range, size, from, way, m_all(), &best, n);
    if (type == RAY_SPHERE) ray_sphere(range, size, from, way, inv, m_all(), &best, n);
    if (type == RAY_CAPSULE) ray_capsule(range, size, from, way, inv, m_all(), &best, n);
    if (type == RAY_ELLIPSOID) ray_ellipsoid(range, size, from, way, m_all(), &best, n);
    if (type == RAY_CYLINDER) ray_cylinder(range, size, from, way, m_all(), &best, n);
    if (type == RAY_BOX) ray_box(range, size, splat(0), from, way, m_all(), &best, n);
    m3_mul(R, n, turned);
    v3_select(lt(best, *hit.t), turned, hit.n, hit.n);
    *hit.t = best;
}

/*
 * The same for geom g, a mesh or a height field. Four ints of M_RAY_SHAPE say where in M_RAY_PRM the nodes of its tree
 * are, where its triangles or sizes and heights, and how many rows and columns the heights have.
 */
LFN void ph_ray_shape(ph_world w, int g, ray_lanes ray, ray_hit hit)
{
    const int *shape = ray_shape(w) + 4 * g;
    const ureal *node = w.reals + PH_NUMBER(w, M_RAY_PRM) + shape[0],
                *behind = w.reals + PH_NUMBER(w, M_RAY_PRM) + shape[1];
    const real *R = geom_xmat(w) + 9 * g;
    int data[4] = {0, 0, 0, 0};
    ray_range range = {0, 0, 0};
    real off[3], from[3], way[3], n[3], turned[3], best = *hit.t;
    v3_sub(ray.o, geom_xpos(w) + 3 * g, off);
    m3_mul_transposed(R, off, from);
    m3_mul_transposed(R, ray.d, way);
    ph_zero(n, 3);
    ray_lanes rays = {from, way, ray.live};
    ray_hit nearest = {&best, n, hit.part};
    if (geom_type(w)[g] == PH_MESH) {
        ray_mesh(range, 0, data, node, behind, rays, nearest);
    } else {
        data[0] = RAY_HEADER;
        data[1] = shape[2];
        data[2] = shape[3];
        ray_hfield(range, data, node, behind, rays, nearest);
    }
    m3_mul(R, n, turned);
    v3_select(lt(best, *hit.t), turned, hit.n, hit.n);
    *hit.t = best;
}

/* The distance and normal of the nearest surface along o + t d that is not body b's. */
LFN void ph_cast(ph_world w, int b, const real *o, const real *d, real *t, real *normal)
{
    const int *list = ray_geom(w);
    int part[STET_W] = {0};
    ray_lanes ray = {o, d, m_all()};
    ray_hit hit = {t, normal, part};
    *t = splat((ureal)RAY_HUGE);
    ph_zero(normal, 3);
    rolled
    for (int i = 0; i < nraygeom(w); ++i) {
        int g = list[i], type = geom_type(w)[g];
        if (geom_bodyid(w)[g] == b) continue;
        if (nrayshape(w) > 0 && (type == PH_MESH || type == PH_HFIELD))
            ph_ray_shape(w, g, ray, hit);
        else
            ph_ray(w, type, M_GEOM_SIZE, g, geom_xpos(w) + 3 * g, geom_xmat(w) + 9 * g, ray, hit);
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
LFN void ph_sense_range(ph_world w, const int *row, real *x)
{
    real p[3], R[9], d[3], normal[3], t;
    ph_object_pose(w, row + SN_OBJECT, p, R);
    m3_column(R, 2, d);
    ph_cast(w, row[SN_OBJECT + 2], p, d, &t, normal);
    ph_ray_data(row[SN_ITEM], p, d, t, normal, splat(1), x);
}

/* Where the point p is inside a site. */
LFN mask ph_inside_site(ph_world w, int site, const real *p)
{
    int type = site_type(w)[site];
    real x[3], off[3], size[3], one = splat(1);
    pars(w, M_SITE_SIZE, 3 * site, 3, size);
    v3_sub(p, site_xpos(w) + 3 * site, off);
    m3_mul_transposed(site_xmat(w) + 9 * site, off, x);
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
LFN real ph_sense_inside(ph_world w, const int *row)
{
    real p[3], R[9];
    ph_object_pose(w, row + SN_OBJECT, p, R);
    return select(ph_inside_site(w, row[SN_REF + 1], p), splat(1), splat(0));
}

/* ---- cameras ----------------------------------------------------------------------------------------------------- */

/* Where a site is in a camera's picture, in pixels from its upper left corner. */
LFN void ph_sense_projection(ph_world w, const int *row, real *x)
{
    real p[3], R[9], off[3], seen[3], least = splat(PHYSICS_MINVAL), lens[4];
    pars(w, M_CAM_PRM, PH_CAM_PRM * row[SN_REF + 1] + 5, 4, lens);
    ph_object_pose(w, row + SN_REF, p, R);
    v3_sub(site_xpos(w) + 3 * row[SN_OBJECT + 1], p, off);
    m3_mul_transposed(R, off, seen);
    real deep = select(lt(seen[2], splat(0)), rmin(seen[2], -least), rmax(seen[2], least));
    x[0] = fma(-lens[0], seen[0] / deep, lens[2]);
    x[1] = fma(lens[1], seen[1] / deep, lens[3]);
}

/* Pixel `pixel` of rangefinder number i, on a camera: rays from a point or, with M_CAM_PRM[4], side by side. */
LFN void ph_sense_pixel(ph_world w, int i, int pixel)
{
    const int *row = sensor_first(w) + SN_SIZE * i;
    int width = row[SN_BLOCK], n = row[SN_DIM] / (width * row[SN_NBLOCK]);
    real p[3], R[9], o[3], d[3], normal[3], lens[5], way[3], t, x[PH_MOST_SENSED], one = splat(1), zero = splat(0);
    pars(w, M_CAM_PRM, PH_CAM_PRM * row[SN_OBJECT + 1], 5, lens);
    ph_object_pose(w, row + SN_OBJECT, p, R);
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
    ph_cast(w, row[SN_OBJECT + 2], o, d, &t, normal);
    ph_ray_data(row[SN_ITEM], o, d, t, normal, -way[2], x);
    ph_put_sensed(w, i, n * pixel, n, x, m_all());
}

/* Rangefinders on cameras. */
PH_PART LFN void ph_sense_cameras(ph_world w)
{
    int first = nsensor(w) + nsensorrow(w) + nsensorcontact(w) + nsensordistance(w);
    rolled
    for (int i = first; i < first + nsensorcamera(w); ++i) {
        const int *row = sensor_first(w) + SN_SIZE * i;
        each (pixel, row[SN_BLOCK] * row[SN_NBLOCK]) ph_sense_pixel(w, i, pixel);
    }
    sync();
}

/* ---- limits and contacts ----------------------------------------------------------------------------------------- */

/* How fast a limit's distance changes; axis: of a ball's (ph_limit_pos). */
LFN real ph_sense_limit_rate(ph_world w, const int *row, const int *block, const real *axis)
{
    const real *rate = PH_AT(w, row[SN_FROM]) + row[SN_ITEM];
    real sum = splat(0);
    if (block[B_TYPE] != PH_LIMIT_BALL) return splat((ureal)-block[B_SIDE]) * rate[0];
    for (int k = 0; k < 3; ++k) sum = fma(-axis[k], rate[k], sum);
    return sum;
}

/* Distance (less the margin) or velocity of a joint's or tendon's limit that holds, 0 where none does. */
LFN real ph_sense_limit(ph_world w, const int *row)
{
    real x = splat(0), axis[3];
    for (int b = row[SN_NBLOCK] - 1; b >= 0; --b) {
        const int *block = block_first(w) + B_SIZE * (row[SN_BLOCK] + b);
        real pos = ph_limit_pos(w, block, axis), y = pos - ph_block_par(w, block, P_MARGIN);
        if (row[SN_KIND] != PH_SENSE_LIMITPOS) y = ph_sense_limit_rate(w, row, block, axis);
        x = select(ph_block_holds(w, block), y, x);
    }
    return x;
}

/* The force of that limit. */
LFN real ph_sense_limit_force(ph_world w, const int *row)
{
    real x = splat(0);
    for (int k = w.ints[S_NSLOT] - 1; k >= 0; --k) {
        int number = w.ints[S_SLOTS + 4 * k + 3] - row[SN_BLOCK];
        if (number < 0 || number >= row[SN_NBLOCK]) continue;
        mask holds = ph_block_holds(w, PH_BLOCK(ph_slot_block(w, k)));
        x = select(holds, efc_force(w)[ph_slot_row(w, k)], x);
    }
    return x;
}

/*
 * Does a touch sensor count a contact of its site's body, which is the second of the pair or the first? Its point is
 * inside the site, or its normal points to it: the ray from the contact into the body meets the site.
 */
LFN mask ph_is_touch(ph_world w, const int *row, const contact *con, int second, real force)
{
    int site = row[SN_OBJECT + 1], part[STET_W] = {0};
    real way[3], normal[3], far = splat((ureal)RAY_HUGE), t = far;
    v3_scale(con->normal, splat(second ? -1 : 1), way);
    ray_lanes ray = {con->pos, way, m_all()};
    ray_hit hit = {&t, normal, part};
    ph_ray(w, site_type(w)[site], M_SITE_SIZE, site, site_xpos(w) + 3 * site, site_xmat(w) + 9 * site, ray, hit);
    return m_and(m_and(con->hit, gt(force, splat(0))), lt(t, far));
}

/* The sum of the normal forces that a touch sensor counts. */
LFN real ph_sense_touch(ph_world w, const int *row, mask group)
{
    const int *body = geom_bodyid(w);
    real sum = splat(0);
    rolled
    for (int p = 0; p < w.ints[S_NNEAR]; ++p) {
        const int *near = w.ints + ph_near_pairs(w) + NEAR_SIZE * p, *pair = PH_PAIR(near[NEAR_PAIR]);
        int bits = near[NEAR_BITS], slot = near[NEAR_SLOT], second = body[pair[B_OBJ2]] == row[SN_OBJECT + 2];
        contact con[PH_MOST_CONTACTS];
        real hint[3];
        if (!bits || !(second || body[pair[B_OBJ1]] == row[SN_OBJECT + 2])) continue;
        ph_collide(w, pair, group, con, hint);
        rolled
        for (int k = 0; k < pair[B_SIDE]; ++k) {
            if (!(bits >> k & 1)) continue;
            real force = efc_force(w)[ph_slot_row(w, slot)];
            sum = select(ph_is_touch(w, row, &con[k], second, force), sum + force, sum);
            slot = slot + 1;
        }
    }
    return sum;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Sensors that need the forces of the rows of a group of lanes. */
PH_PART LFN void ph_sense_rows(ph_world w, mask group)
{
    each (i, nsensorrow(w)) {
        const int *row = sensor_first(w) + SN_SIZE * (nsensor(w) + i);
        int touch = row[SN_KIND] == PH_SENSE_TOUCH;
        real x = touch ? ph_sense_touch(w, row, group) : ph_sense_limit_force(w, row);
        ph_put_sensor(w, nsensor(w) + i, &x, group);
    }
}

/* The sum of the forces of a tendon's actuators. */
LFN real ph_sense_tendon_force(ph_world w, int t)
{
    const int *adr = tendon_act_adr(w), *act = tendon_act(w);
    real sum = splat(0);
    rolled
    for (int k = adr[t]; k < adr[t + 1]; ++k) sum = sum + actuator_force(w)[act[k]];
    return sum;
}

LFN void ph_sense(ph_world w, const int *row, real *x)
{
    int kind = row[SN_KIND], item = row[SN_ITEM];
    if (kind == PH_SENSE_NOTHING) ph_zero(x, row[SN_DIM]);
    if (kind == PH_SENSE_COPY) ph_copy(x, PH_AT(w, row[SN_FROM]) + item, row[SN_DIM]);
    if (kind == PH_SENSE_BALLQUAT) {
        ph_copy(x, qpos(w) + item, 4);
        ph_quat_unit(x);
    }
    if (kind == PH_SENSE_TENDONFORCE) x[0] = ph_sense_tendon_force(w, item);
    if (kind == PH_SENSE_MAGNETOMETER) {
        pars(w, M_MAGNETIC, 0, 3, x);
        ph_turn_back(site_xmat(w) + 9 * row[SN_OBJECT + 1], x);
    }
    if (kind == PH_SENSE_RANGEFINDER) ph_sense_range(w, row, x);
    if (kind == PH_SENSE_PROJECTION) ph_sense_projection(w, row, x);
    if (kind == PH_SENSE_INSIDE) x[0] = ph_sense_inside(w, row);
    if (kind == PH_SENSE_LIMITPOS || kind == PH_SENSE_LIMITVEL) x[0] = ph_sense_limit(w, row);
    if (kind == PH_SENSE_POS || kind == PH_SENSE_AXIS) ph_sense_pose(w, row, x);
    if (kind == PH_SENSE_QUAT) ph_sense_quat(w, row, x);
    if (kind == PH_SENSE_LINVEL || kind == PH_SENSE_ANGVEL) ph_sense_velocity(w, row, x);
    if (kind == PH_SENSE_LINACC || kind == PH_SENSE_ANGACC) ph_sense_acceleration(w, row, x);
    if (kind == PH_SENSE_FORCE || kind == PH_SENSE_TORQUE) ph_sense_force(w, row, x);
}

/* The other sensors, of the state of which forward dynamics are done. */
PH_PART LFN void ph_sensors(ph_world w)
{
    if (nsensor(w) == 0) return;
    each (i, nsensor(w)) {
        real x[PH_MOST_SENSED];
        ph_sense(w, sensor_first(w) + SN_SIZE * i, x);
        ph_put_sensor(w, i, x, m_all());
    }
    sync();
}
