/*
 * Sensors of the distance between geoms, its direction, and the two nearest points, as MuJoCo's mj_geomDistance has
 * them. Part of the kernels that include it, after sensor.k.h.
 *
 * Of such a sensor SN_OBJECT and SN_REF have the first geom and how many there are, on each side; SN_ITEM is 0 for the
 * distance, 1 for the direction, 2 for the points. Nothing is found beyond the cutoff. All geoms but planes are convex
 * bodies here, also those whose contacts have a closed form: theirs know separating axes, not all nearest points.
 */

/* Takes what is nearest of geoms g and h if that is nearer than *dist: two points, of g and of h. */
LFN void ph_geom_distance(ph_world w, int g, int h, real far, real *dist, real *points)
{
    const int *type = geom_type(w);
    int turned = type[g] > type[h], pair[B_SIZE], n = 1;
    contact con[PH_MOST_CONTACTS];
    real hint[3];
    geom a, b;
    pair[B_OBJ1] = turned ? h : g;
    pair[B_OBJ2] = turned ? g : h;
    pair[B_SIDE] = 1;
    if (type[pair[B_OBJ2]] == PH_PLANE) return;
    ph_geom(w, pair[B_OBJ1], &a);
    ph_geom(w, pair[B_OBJ2], &b);
    if (type[pair[B_OBJ1]] == PH_PLANE) {
        n = 4;
        contact_clear(con, n);
        ph_collide_plane(w, pair, &a, &b, far, m_all(), con, hint);
    } else {
        ph_collide_convex(w, pair, &a, &b, far, m_all(), con);
    }
    for (int k = 0; k < n; ++k) {
        mask nearer = m_and(m_and(con[k].hit, lt(con[k].dist, far)), lt(con[k].dist, *dist));
        real half = splat(turned ? (ureal)-0.5 : (ureal)0.5) * con[k].dist;
        for (int c = 0; c < 3; ++c) {
            points[c] = select(nearer, fma(-half, con[k].normal[c], con[k].pos[c]), points[c]);
            points[3 + c] = select(nearer, fma(half, con[k].normal[c], con[k].pos[c]), points[3 + c]);
        }
        *dist = select(nearer, con[k].dist, *dist);
    }
}

/* The numbers of sensor i. */
LFN void ph_sense_distance(ph_world w, int i, real *x)
{
    const int *row = sensor_first(w) + SN_SIZE * i;
    real far = sensor_cutoff(w, i), dist = far, points[6], length;
    ph_zero(points, 6);
    rolled
    for (int a = 0; a < row[SN_OBJECT + 1]; ++a) {
        rolled
        for (int b = 0; b < row[SN_REF + 1]; ++b)
            ph_geom_distance(w, row[SN_OBJECT] + a, row[SN_REF] + b, far, &dist, points);
    }
    if (row[SN_ITEM] == 0) x[0] = dist;
    if (row[SN_ITEM] == 2) ph_copy(x, points, 6);
    if (row[SN_ITEM] != 1) return;
    v3_sub(points + 3, points, x);
    length = sqrt(v3_dot(x, x));
    mask none = eq(length, splat(0));
    for (int c = 0; c < 3; ++c) x[c] = select(none, splat(0), x[c] / select(none, splat(1), length));
}

/* All of them. */
PH_PART LFN void ph_sense_distances(ph_world w)
{
    int first = nsensor(w) + nsensorrow(w) + nsensorcontact(w);
    each (i, nsensordistance(w)) {
        real x[6];
        ph_sense_distance(w, first + i, x);
        ph_put_sensor(w, first + i, x, m_all());
    }
}
