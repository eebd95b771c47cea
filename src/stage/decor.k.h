/*
 * World transforms of decorations: unit shapes, scaled (decor.h). What is not shown gets a transform of zeros, which no
 * ray meets. Kind world.
 */
#include "stet/lang.h"

#define STET_IN_EVERY_SIM /* its code for a GPU is made with that of the others */

#include "stage/axis.k.h"
#include "stage/decor_rows.k.h"

/* Columns, then the place. here: lanes that are shown. */
LFN void dc_put(real *part, const real *x, const real *y, const real *z, const real *at, mask here)
{
    for (int i = 0; i < 3; ++i) {
        put(part, 4 * i, select(here, x[i], splat(0)));
        put(part, 4 * i + 1, select(here, y[i], splat(0)));
        put(part, 4 * i + 2, select(here, z[i], splat(0)));
        put(part, 4 * i + 3, select(here, at[i], splat(0)));
    }
}

/*
 * A shape of half width `width` along a unit axis: its z = 0 is `start` from the place, and its z = 1 `length` further
 * on.
 */
LFN void dc_put_along(real *part, const real *place, const real *axis, real width, real length, real start, mask here)
{
    real x[3], y[3], z[3], at[3];
    axis_across(axis, x, y);
    for (int i = 0; i < 3; ++i) {
        at[i] = fma(axis[i], start, place[i]);
        x[i] = x[i] * width;
        y[i] = y[i] * width;
        z[i] = axis[i] * length;
    }
    dc_put(part, x, y, z, at, here);
}

/* A block of half size `size` at a place, turned as a prim is. */
LFN void dc_put_block(real *part, const real *frame, const real *place, real size)
{
    real column[9];
    for (int k = 0; k < 9; ++k) column[k] = frame[4 * (k % 3) + k / 3] * size;
    dc_put(part, column, column + 3, column + 6, place, m_all());
}

/* A cylinder between two places; none where they are the same. */
LFN void dc_put_span(real *part, const real *from, const real *way, real width, mask here)
{
    real axis[3], half = sqrt(fma(way[2], way[2], fma(way[1], way[1], way[0] * way[0]))) * splat((ureal)0.5);
    here = m_and(here, lt(splat(0), half));
    real inv = splat((ureal)0.5) / select(here, half, splat(1));
    for (int i = 0; i < 3; ++i) axis[i] = select(here, way[i] * inv, splat(i == 2 ? 1 : 0));
    dc_put_along(part, from, axis, width, half, half, here);
}

/* Parts that are fixed to a prim. own: their numbers in each world, from part `first` on, if `apart`. */
world_kernel void k_decor_fixed(const lint *stale, real *xform, const int *row, const ureal *number, const real *own,
                                int apart, int first, int n)
{
    if (!any(ilt(isplat(0), stale[0]))) return;
    each (p, n) {
        const int *part = row + (first + p) * DECOR_ROW;
        const ureal *look = number + (first + p) * DECOR_LOOK;
        real *out = xform + (i64)part[DECOR_PRIM] * 12;
        const real *frame = xform + (i64)part[DECOR_AT] * 12;
        real turn[DECOR_LOOK];
        for (int k = 0; k < DECOR_LOOK; ++k) turn[k] = splat(look[k]);
        for (int k = 0; k < DECOR_LOOK && apart; ++k) turn[k] = own[p * DECOR_LOOK + k];
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 4; ++k) {
                real sum = fma(frame[4 * i + 1], turn[4 + k], frame[4 * i] * turn[k]);
                sum = fma(frame[4 * i + 2], turn[8 + k], sum);
                put(out, 4 * i + k, k == 3 ? sum + frame[4 * i + 3] : sum);
            }
    }
}

world_kernel void k_decor_joints(const lint *stale, real *xform, const int *row, const ureal *number,
                                 const real *xanchor, const real *xaxis, int first, int n)
{
    if (!any(ilt(isplat(0), stale[0]))) return;
    each (p, n) {
        const int *part = row + (first + p) * DECOR_ROW;
        const ureal *look = number + (first + p) * DECOR_LOOK;
        real *out = xform + (i64)part[DECOR_PRIM] * 12;
        const real *place = xanchor + 3 * part[DECOR_AT];
        if (part[DECOR_KIND] == DECOR_JOINT_ARROW)
            dc_put_along(out, place, xaxis + 3 * part[DECOR_AT], splat(look[DECOR_WIDTH]), splat(look[DECOR_LENGTH]),
                         splat(look[DECOR_START]), m_all());
        else
            dc_put_block(out, xform + (i64)part[DECOR_MORE] * 12, place, splat(look[DECOR_WIDTH]));
    }
}

/* Centres of mass: balls. */
world_kernel void k_decor_coms(const lint *stale, real *xform, const int *row, const ureal *number,
                               const real *subtree_com, int first, int n)
{
    if (!any(ilt(isplat(0), stale[0]))) return;
    each (p, n) {
        const int *part = row + (first + p) * DECOR_ROW;
        const ureal *look = number + (first + p) * DECOR_LOOK;
        real *out = xform + (i64)part[DECOR_PRIM] * 12;
        dc_put_block(out, xform, subtree_com + 3 * part[DECOR_AT], splat(look[DECOR_WIDTH]));
    }
}

/* Rays of range finders along z of their sites, and spans between two points of sensors. */
world_kernel void k_decor_rays(const lint *stale, real *xform, const int *row, const ureal *number,
                               const real *sensordata, int first, int n)
{
    if (!any(ilt(isplat(0), stale[0]))) return;
    each (p, n) {
        const int *part = row + (first + p) * DECOR_ROW;
        const ureal *look = number + (first + p) * DECOR_LOOK;
        real *out = xform + (i64)part[DECOR_PRIM] * 12;
        const real *data = sensordata + part[DECOR_AT];
        real from[3], way[3];
        mask here = m_all();
        if (part[DECOR_KIND] == DECOR_RAY) {
            const real *site = xform + (i64)part[DECOR_MORE] * 12;
            here = le(splat(0), data[0]);
            for (int i = 0; i < 3; ++i) {
                from[i] = site[4 * i + 3];
                way[i] = site[4 * i + 2] * data[0];
            }
        } else {
            for (int i = 0; i < 3; ++i) {
                from[i] = data[i];
                way[i] = data[3 + i] - data[i];
            }
        }
        dc_put_span(out, from, way, splat(look[DECOR_WIDTH]), here);
    }
}

/* Contact points: cylinders along the normal, as deep as the contact. */
world_kernel void k_decor_contacts(const lint *stale, real *xform, const int *row, const ureal *number,
                                   const lint *ncon, const real *dist, const real *pos, const real *frame, int first,
                                   int n)
{
    if (!any(ilt(isplat(0), stale[0]))) return;
    each (p, n) {
        const int *part = row + (first + p) * DECOR_ROW;
        const ureal *look = number + (first + p) * DECOR_LOOK;
        real *out = xform + (i64)part[DECOR_PRIM] * 12;
        int slot = part[DECOR_AT];
        real half = rmax(splat(look[DECOR_LENGTH]), dist[slot] * splat((ureal)-0.5));
        dc_put_along(out, pos + 3 * slot, frame + 9 * slot, splat(look[DECOR_WIDTH]), half, splat(0),
                     ilt(isplat(slot), ncon[0]));
    }
}

/*
 * Arrows of contact forces, towards the body with the higher number; both ways between two that are not the world.
 * body: that of geom i at i + 1; what is no geom counts as a body beyond all.
 */
world_kernel void k_decor_forces(const lint *stale, real *xform, const int *row, const ureal *number, const int *body,
                                 const lint *ncon, const lint *geom, const real *pos, const real *frame,
                                 const real *force, int first, int n)
{
    if (!any(ilt(isplat(0), stale[0]))) return;
    each (p, n) {
        const int *part = row + (first + p) * DECOR_ROW;
        const ureal *look = number + (first + p) * DECOR_LOOK;
        real *out = xform + (i64)part[DECOR_PRIM] * 12;
        int slot = part[DECOR_AT], kind = part[DECOR_KIND];
        lint a = igather(body, geom[2 * slot] + isplat(1)), b = igather(body, geom[2 * slot + 1] + isplat(1));
        mask two = m_and(ilt(isplat(0), a), ilt(isplat(0), b));
        real sign = select(ilt(b, a), splat(-1), splat(1)), axis[3];
        for (int i = 0; i < 3; ++i) {
            const real *m = frame + 9 * slot, *f = force + 6 * slot;
            axis[i] = fma(m[6 + i], f[2], fma(m[3 + i], f[1], m[i] * f[0]));
        }
        real size = sqrt(fma(axis[2], axis[2], fma(axis[1], axis[1], axis[0] * axis[0])));
        mask here = m_and(ilt(isplat(slot), ncon[0]), le(splat((ureal)DECOR_LEAST), size));
        real inv = sign / select(here, size, splat(1)), sixth = size * splat(look[DECOR_LENGTH] * (ureal)DECOR_HEAD);
        for (int i = 0; i < 3; ++i) axis[i] = select(here, axis[i] * inv, splat(i == 2 ? 1 : 0));
        real start = kind == DECOR_FORCE_SHAFT ? select(two, splat(0), sixth) : sixth + sixth, length = sixth;
        if (kind == DECOR_FORCE_SHAFT) length = select(two, sixth + sixth, sixth);
        if (kind == DECOR_FORCE_TAIL) {
            here = m_and(here, two);
            start = -start;
            length = -length;
        }
        dc_put_along(out, pos + 3 * slot, axis, splat(look[DECOR_WIDTH]), length, start, here);
    }
}
