/*
 * MuJoCo's plugin "mujoco.sensor.touch_grid": forces of the contacts of a site's body, summed up in the cells of a grid
 * of angles about the site. Part of the kernels that include it, after contact_sensor.k.h.
 *
 * Of such a sensor SN_ITEM has the channels, SN_BLOCK and SN_NBLOCK columns and rows, SN_REF the body that moves the
 * site; SN_FROM is where in M_GRID_EDGES the edges of columns, then of rows, begin.
 */

/* Adds x to the cell of sensor i that lies at these angles, in the lanes `on`. */
LFN void ph_add_touch(ph_world w, int i, const real *angles, const real *x, mask on)
{
    const int *row = sensor_first(w) + SN_SIZE * i;
    int ncol = row[SN_BLOCK], nrow = row[SN_NBLOCK], edges = row[SN_FROM];
    real *out = sensordata(w) + row[SN_ADR];
    rolled
    for (int r = 0; r < nrow; ++r) {
        real low = grid_edges(w, edges + ncol + 1 + r), high = grid_edges(w, edges + ncol + 2 + r);
        mask inside = m_and(on, m_and(gt(angles[1], low), le(angles[1], high)));
        if (!any(inside)) continue;
        rolled
        for (int c = 0; c < ncol; ++c) {
            low = grid_edges(w, edges + c);
            high = grid_edges(w, edges + c + 1);
            mask here = m_and(inside, m_and(gt(angles[0], low), le(angles[0], high)));
            if (!any(here)) continue;
            for (int k = 0; k < 6; ++k) {
                if (k >= row[SN_ITEM]) continue;
                real *cell = out + (k * nrow + r) * ncol + c;
                *cell = select(here, *cell + x[k], *cell);
            }
        }
    }
}

/* Adds the forces and torques of the contacts of sensor i, along the site's z axis first, as its body feels them. */
LFN void ph_sense_grid(ph_world w, int i, mask group)
{
    const int *row = sensor_first(w) + SN_SIZE * i, *body = geom_bodyid(w), *weld = body_weldid(w);
    real *out = sensordata(w) + row[SN_ADR];
    const real *R = site_xmat(w) + 9 * row[SN_OBJECT + 1];
    rolled
    for (int k = 0; k < row[SN_DIM]; ++k) out[k] = select(group, splat(0), out[k]);
    rolled
    for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
        const int *block = PH_BLOCK(ph_slot_block(w, k));
        const real *seen = contact_seen(w) + PH_SEEN * k;
        real wrench[6], push[3], turned[3], off[3], p[3], angles[2], x[6];
        if (block[B_TYPE] != PH_GEOMS) continue;
        int first = weld[body[block[B_OBJ1]]] == row[SN_REF], second = weld[body[block[B_OBJ2]]] == row[SN_REF];
        if (!first && !second) continue;
        real sign = splat(second ? 1 : -1);
        ph_contact_wrench(w, k, wrench);
        for (int half = 0; half < 6; half += 3) {
            m3_mul_transposed(seen + PH_SEEN_FRAME, wrench + half, push);
            m3_mul_transposed(R, push, turned);
            x[half] = sign * turned[2];
            x[half + 1] = sign * turned[0];
            x[half + 2] = sign * turned[1];
        }
        v3_sub(seen + PH_SEEN_POS, site_xpos(w) + 3 * row[SN_OBJECT + 1], off);
        m3_mul_transposed(R, off, p);
        angles[0] = atan2(p[0], -p[2]);
        angles[1] = atan2(p[1], sqrt(fma(p[2], p[2], p[0] * p[0])));
        ph_add_touch(w, i, angles, x, m_and(group, m_not(eq(seen[0], splat(0)))));
    }
}

/* All contact sensors, and grids of touch. */
PH_PART LFN void ph_sense_contacts(ph_world w, mask group)
{
    int first = nsensor(w) + nsensorrow(w);
    each (i, nsensorcontact(w)) {
        if ((sensor_first(w) + SN_SIZE * (first + i))[SN_KIND] == PH_SENSE_GRID)
            ph_sense_grid(w, first + i, group);
        else
            ph_sense_contact(w, first + i, group);
    }
    sync();
}
