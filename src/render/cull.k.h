/*
 * Culling: which geoms a patch of pixels may show. Part of render.k.h.
 *
 * Culling is conservative: a geom is left out only if its box is outside one plane of the patch's pyramid by more than
 * rounding errors. The list keeps the order of the geoms, so culling changes no pixel. A geom whose pose is not finite,
 * or is singular, is left out.
 */
#define CHUNK 128 /* geoms that are culled together: the capacity of the shared list */
#define GROUP 16  /* geoms of a chunk that one thread lists */

LFN void xform_of(const wreal *xform, int nitem, int world, int prim, ureal *m)
{
    for (int k = 0; k < 12; ++k) m[k] = of_world(xform, nitem, world, prim * 12 + k);
}

LFN ureal xform_det(const ureal *m)
{
    ureal a = ufma(m[5], m[10], -(m[6] * m[9])), b = ufma(m[4], m[10], -(m[6] * m[8])),
          c = ufma(m[4], m[9], -(m[5] * m[8]));
    return ufma(m[2], c, ufma(m[0], a, -(m[1] * b)));
}

LFN int xform_usable(const ureal *m)
{
    ureal zero = 0;
    for (int k = 0; k < 12; ++k) zero += m[k] - m[k];
    return zero == 0 && uabs(xform_det(m)) > 0;
}

/* bounds: centre and half sizes in the geom's frame. */
LFN int box_may_touch(const ureal *m, const ureal *bounds, const ureal *eye, const ureal *pyramid)
{
    ureal c[3], e[9], sum = pyramid[21];
    for (int r = 0; r < 3; ++r) {
        c[r] = ufma(m[4 * r + 2], bounds[2],
                    ufma(m[4 * r + 1], bounds[1], ufma(m[4 * r], bounds[0], m[4 * r + 3] - eye[r])));
        sum += uabs(c[r]) + uabs(m[4 * r + 3]) + uabs(eye[r]);
        for (int k = 0; k < 3; ++k) {
            e[3 * k + r] = m[4 * r + k] * bounds[3 + k];
            sum += uabs(e[3 * k + r]);
        }
    }
    ureal slack = pyramid[20] * sum;
    for (int p = 0; p < PYRAMID_PLANES; ++p) {
        const ureal *n = pyramid + 4 * p;
        ureal reach = uabs(udot(n, e)) + uabs(udot(n, e + 3)) + uabs(udot(n, e + 6));
        if (udot(n, c) - n[3] + reach + slack < 0) return 0;
    }
    return 1;
}

LFN int geom_may_touch(const wreal *xform, int nitem, int world, const int *shown, const ureal *bounds,
                       const ureal *eye, const ureal *pyramid)
{
    ureal m[12];
    xform_of(xform, nitem, world, shown[SHOWN_PRIM], m);
    if (!xform_usable(m)) return 0;
    return (shown[SHOWN_KIND] & SHOWN_ENDLESS) || box_may_touch(m, bounds + 6 * shown[SHOWN_GEOM], eye, pyramid);
}

/* Group g's part of the list, after the entries of the groups before it. flag, list [CHUNK], 0 past the last geom. */
LFN void list_group(int g, const int *flag, int *list)
{
    int at = 0;
    for (int k = 0; k < g * GROUP; ++k) at += flag[k];
    for (int k = g * GROUP; k < (g + 1) * GROUP; ++k) {
        if (flag[k]) list[at] = k;
        at += flag[k];
    }
}
