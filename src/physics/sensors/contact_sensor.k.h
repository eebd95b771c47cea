/*
 * Contact sensors: which contacts match, which of them a sensor takes, and their numbers, as MuJoCo has them. Part of
 * the kernels that include it, after sensor.k.h.
 *
 * Of a contact sensor SN_ITEM has bits of mjtConDataField, SN_FROM how contacts are chosen (PH_TAKE_…), SN_BLOCK the
 * numbers of a contact, SN_NBLOCK how many contacts have room. W_SEEN has the contacts of the group of lanes.
 */

#define PH_TAKE_FIRST 0
#define PH_TAKE_DEEPEST 1
#define PH_TAKE_STRONGEST 2
#define PH_TAKE_NET 3

#define PH_CONTACT_FIELDS 9 /* found, force, torque, dist, pos, normal, tangent, linvel, angvel */
#define PH_CONTACT_DATA 23  /* their numbers */

/* Numbers of field i of a contact. */
LFN int ph_field_size(int i) { return i == 0 || i == 3 ? 1 : 3; }

/* Is geom g what a sensor names? A site looks at places, and nothing names all. */
LFN int ph_is_named(ph_world w, int g, const int *object)
{
    int body = geom_bodyid(w)[g];
    if (object[0] == PH_GEOM) return g == object[1];
    if (object[0] == PH_BODY) return body == object[1];
    if (object[0] != PH_XBODY) return 1;
    for (; body > object[1];) body = body_parentid(w)[body];
    return body == object[1];
}

/* 1: the normal of such a contact points from what the sensor names first; -1: to it; 0: the geoms are others. */
LFN int ph_contact_way(ph_world w, const int *block, const int *row)
{
    int first = block[B_OBJ1], second = block[B_OBJ2];
    const int *one = row + SN_OBJECT, *two = row + SN_REF;
    if (block[B_TYPE] != PH_GEOMS) return 0;
    if (ph_is_named(w, first, one) && ph_is_named(w, second, two)) return 1;
    return ph_is_named(w, second, one) && ph_is_named(w, first, two) ? -1 : 0;
}

/* Where the contact of a slot that matches by its geoms exists, inside the sensor's site, if it names one. */
LFN mask ph_contact_matches(ph_world w, const int *row, const real *seen)
{
    mask on = m_not(eq(seen[0], splat(0)));
    if (row[SN_OBJECT] != PH_SITE) return on;
    return m_and(on, ph_inside_site(w, row[SN_OBJECT + 1], seen + PH_SEEN_POS));
}

/* Force and torque of a slot's contact along the axes of its frame. */
LFN void ph_contact_wrench(ph_world w, int k, real *out)
{
    ph_zero(out, 6);
    ph_copy(out, efc_force(w) + ph_slot_row(w, k), PH_BLOCK(ph_slot_block(w, k))[B_DIM]);
}

/* All numbers of a slot's contact, as it is seen if its normal points the way that is wanted (1) or not (-1). */
LFN void ph_contact_data(ph_world w, int k, int way, real *x)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *body = geom_bodyid(w);
    const real *seen = contact_seen(w) + PH_SEEN * k, *frame = seen + PH_SEEN_FRAME;
    real one[6], two[6], sign = splat((ureal)way);
    ph_point_motion(w, body[block[B_OBJ1]], seen + PH_SEEN_POS, one);
    ph_point_motion(w, body[block[B_OBJ2]], seen + PH_SEEN_POS, two);
    for (int i = 0; i < 6; ++i) two[i] = two[i] - one[i];
    ph_contact_wrench(w, k, x + 1);
    x[7] = seen[PH_SEEN_DIST];
    ph_copy(x + 8, seen + PH_SEEN_POS, 3);
    v3_scale(frame, sign, x + 11);
    v3_scale(frame + 3, sign, x + 14);
    m3_mul(frame, two + 3, x + 17);
    m3_mul(frame, two, x + 20);
    x[3] = sign * x[3]; /* the frame is turned about its third axis, and what acts has the opposite sign */
    x[6] = sign * x[6];
    x[19] = sign * x[19];
    x[22] = sign * x[22];
}

/* The fields that a sensor wants of x, all numbers of a contact, go to `to` in the lanes `where`. */
LFN void ph_put_contact(const int *row, const real *x, real *to, mask where)
{
    int n = 0, from = 0;
    for (int i = 0; i < PH_CONTACT_FIELDS; ++i) {
        int size = ph_field_size(i);
        for (int k = 0; k < size && row[SN_ITEM] >> i & 1; ++k) to[n + k] = select(where, x[from + k], to[n + k]);
        if (row[SN_ITEM] >> i & 1) n = n + size;
        from = from + size;
    }
}

/* By what contacts are ordered, ascending, before their own order. */
LFN real ph_contact_key(ph_world w, int k, int take)
{
    real wrench[6];
    if (take == PH_TAKE_FIRST) return splat(0);
    if (take == PH_TAKE_DEEPEST) return contact_seen(w)[PH_SEEN * k + PH_SEEN_DIST];
    ph_contact_wrench(w, k, wrench);
    return -v3_dot(wrench, wrench);
}

/* Of each lane the slot that comes next after what *key and *order say, which become that slot's; -1: none. */
LFN lint ph_next_contact(ph_world w, const int *row, real *key, lint *order)
{
    real low = *key;
    lint after = *order, best = isplat(-1);
    rolled
    for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
        if (ph_contact_way(w, PH_BLOCK(ph_slot_block(w, k)), row) == 0) continue;
        real x = ph_contact_key(w, k, row[SN_FROM]);
        lint place = isplat(ph_slot_order(w, k));
        mask left = m_or(ilt(after, isplat(0)), m_or(gt(x, low), m_and(eq(x, low), igt(place, after))));
        mask better = m_or(lt(x, *key), m_and(eq(x, *key), ilt(place, *order)));
        mask takes = m_and(left, m_or(ilt(best, isplat(0)), better));
        takes = m_and(takes, ph_contact_matches(w, row, contact_seen(w) + PH_SEEN * k));
        best = iselect(takes, isplat(k), best);
        *key = select(takes, x, *key);
        *order = iselect(takes, place, *order);
    }
    return best;
}

/* One contact that stands for all that match, in the world's axes: their forces about their centre. */
LFN void ph_sense_net(ph_world w, const int *row, real *x)
{
    real zero = splat(0), all = zero, *force = x + 1, *torque = x + 4, *centre = x + 8;
    ph_zero(x, PH_CONTACT_DATA);
    for (int pass = 0; pass < 2; ++pass) {
        rolled
        for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
            const real *seen = contact_seen(w) + PH_SEEN * k;
            int way = ph_contact_way(w, PH_BLOCK(ph_slot_block(w, k)), row);
            real wrench[6], push[3], turn[3], off[3];
            if (way == 0) continue;
            mask on = ph_contact_matches(w, row, seen);
            ph_contact_wrench(w, k, wrench);
            for (int i = 0; i < 6; ++i) wrench[i] = select(on, splat((ureal)way) * wrench[i], zero);
            if (pass == 0) {
                real weight = sqrt(v3_dot(wrench, wrench));
                for (int i = 0; i < 3; ++i)
                    centre[i] = select(on, fma(weight, seen[PH_SEEN_POS + i], centre[i]), centre[i]);
                all = all + weight;
                x[0] = x[0] + select(on, splat(1), zero);
            } else {
                m3_mul_transposed(seen + PH_SEEN_FRAME, wrench, push);
                m3_mul_transposed(seen + PH_SEEN_FRAME, wrench + 3, turn);
                v3_sub(seen + PH_SEEN_POS, centre, off);
                ph_add_cross(off, push, turn);
                for (int i = 0; i < 3; ++i) {
                    force[i] = select(on, force[i] + push[i], force[i]);
                    torque[i] = select(on, torque[i] + turn[i], torque[i]);
                }
            }
        }
        for (int i = 0; pass == 0 && i < 3; ++i) centre[i] = centre[i] / rmax(all, splat(PHYSICS_MINVAL));
    }
    x[11] = select(gt(x[0], zero), splat(1), zero);
    x[15] = x[11];
}

/* The contacts that sensor i takes, in the lanes of a group. */
LFN void ph_sense_contact(ph_world w, int i, mask group)
{
    const int *row = sensor_first(w) + SN_SIZE * i;
    real *out = sensordata(w) + row[SN_ADR], x[PH_CONTACT_DATA], n = splat(0), key = splat(0);
    lint order = isplat(-1);
    rolled
    for (int k = 0; k < row[SN_DIM]; ++k) out[k] = select(group, splat(0), out[k]);
    if (row[SN_FROM] == PH_TAKE_NET) {
        ph_sense_net(w, row, x);
        ph_put_contact(row, x, out, group);
        return;
    }
    rolled
    for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
        if (ph_contact_way(w, PH_BLOCK(ph_slot_block(w, k)), row) == 0) continue;
        mask on = ph_contact_matches(w, row, contact_seen(w) + PH_SEEN * k);
        n = n + select(on, splat(1), splat(0));
    }
    rolled
    for (int c = 0; c < row[SN_NBLOCK]; ++c) {
        lint slot = ph_next_contact(w, row, &key, &order);
        rolled
        for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
            mask here = m_and(group, ieq(slot, isplat(k)));
            if (!any(here)) continue;
            ph_contact_data(w, k, ph_contact_way(w, PH_BLOCK(ph_slot_block(w, k)), row), x);
            x[0] = n;
            ph_put_contact(row, x, out + row[SN_BLOCK] * c, here);
        }
    }
}
