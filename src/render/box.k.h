/* Boxes around geoms to draw, which culling tests (cull.k.h). Part of render.k.h and boxes.k.h. */
#define BOX_ENDLESS (1 / (ureal)0) /* slack: of any distance */

LFN ureal xform_det(const ureal *m)
{
    ureal a = ufma(m[5], m[10], -(m[6] * m[9])), b = ufma(m[4], m[10], -(m[6] * m[8])),
          c = ufma(m[4], m[9], -(m[5] * m[8]));
    return ufma(m[2], c, ufma(m[0], a, -(m[1] * b)));
}

/* The box of a transform (3 x 4 by rows) and bounds (centre and half sizes in its frame), its numbers `step` apart. */
LFN void make_box(const ureal *m, const ureal *bounds, int step, ureal *box)
{
    ureal slack = 0, most = 0, e[9];
    for (int r = 0; r < 3; ++r) {
        box[r * step] =
            ufma(m[4 * r + 2], bounds[2], ufma(m[4 * r + 1], bounds[1], ufma(m[4 * r], bounds[0], m[4 * r + 3])));
        slack = slack + uabs(m[4 * r + 3]);
        for (int k = 0; k < 3; ++k) {
            e[3 * k + r] = m[4 * r + k] * bounds[3 + k];
            box[(BOX_EDGE + 3 * k + r) * step] = e[3 * k + r];
            slack = slack + uabs(e[3 * k + r]);
        }
    }
    box[BOX_SLACK * step] = slack;
    for (int i = 0; i < 4 && STET_W > 1; ++i) { /* half of the longest diagonal, and more than roundings */
        ureal d[3];
        for (int r = 0; r < 3; ++r) d[r] = e[r] + (i & 1 ? -e[3 + r] : e[3 + r]) + (i & 2 ? -e[6 + r] : e[6 + r]);
        most = umax(most, udot(d, d));
    }
    if (STET_W > 1) box[BOX_RADIUS * step] = usqrt(most) * (ureal)1.0001;
}

/* The box of a geom to draw, its numbers `step` apart. One without end touches every pyramid. */
LFN void load_box(rd_world w, const int *row, int step, ureal *box)
{
    ureal m[12];
    prim_xform(w, row[SHOWN_PRIM], m);
    make_box(m, w.bounds + 6 * row[SHOWN_GEOM], step, box);
    if (row[SHOWN_KIND] & SHOWN_ENDLESS) box[BOX_SLACK * step] = BOX_ENDLESS;
}
