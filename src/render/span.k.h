/*
 * Which rows and columns of a patch may show a candidate. Part of render.k.h; not for threads, which have one pixel
 * each.
 *
 * The rays of a row lie in a plane through the eye (orthographic: along the viewing axis), and a geom whose box is on
 * one side of it, by more than rounding errors, is not met by any. That takes a tenth of the operations of a test of
 * its ball by every vector of rays, and is closer around what is long. Of a plane, the rows whose rays go away from it
 * are left out, too.
 */
/*
 * A box (cull.k.h) in the camera's axes right, up, ahead: its centre from the eye, half of its three edges; returns
 * the slack of tests of it. Orthographic: depth does not count.
 */
LFN ureal box_in_view(const ureal *view, int flat, const ureal *pyramid, const ureal *box, int stride, ureal *out)
{
    ureal sum = pyramid[21] + box[BOX_SLACK * stride];
    for (int j = 0; j < 4; ++j) {
        ureal from[3];
        for (int k = 0; k < 3; ++k) {
            from[k] = box[(3 * j + k) * stride] - (j ? 0 : view[VIEW_EYE + k]);
            if (j == 0) sum = sum + uabs(from[k]) + uabs(view[VIEW_EYE + k]);
        }
        for (int k = 0; k < 3; ++k) out[3 * j + k] = udot(view + VIEW_RIGHT + 3 * k, from);
        out[3 * j + 2] = flat ? (ureal)(j == 0) : -out[3 * j + 2];
    }
    return 5 * pyramid[20] * sum;
}

/* Planes of rows (k = 1) or columns (0) at the places of lanes that touch a box. */
LFN mask planes_meet(const ureal *box, ureal slack, int k, real at)
{
    real far = rabs(fma(at, splat(-box[2]), splat(box[k]))), reach = splat(slack);
    for (int e = 3; e < 12; e += 3) reach = reach + rabs(fma(at, splat(-box[e + 2]), splat(box[e + k])));
    return m_not(lt(reach, far));
}

/*
 * Rows (lanes, at v) with rays that come down on a plane, between u0 and u1. most: what their components are at most,
 * times roundings.
 */
LFN mask rows_face(const ureal *candidate, int flat, ureal most, ureal u0, ureal u1, real v)
{
    ureal across = flat ? 0 : candidate[6], along = flat ? 0 : candidate[7];
    ureal one = across * u0, other = across * u1, low = (one < other ? one : other) - candidate[8];
    real down = fma(splat(along), v, splat(low));
    return lt(down, splat(most * (uabs(across) + uabs(along) + uabs(candidate[8]))));
}

/*
 * Fills the spans of the listed candidates, whose boxes' numbers are `stride` apart: a bit for each row of the patch,
 * and for each vector of columns.
 */
LFN void mark_spans(rd_patch patch, rd_found found, const ureal *boxes, int stride, int *spans)
{
    const ureal *view = patch.view, *lens = view + VIEW_LENS;
    int px = patch.x, py = patch.y;
    ureal u0 = edge_u(lens, px), u1 = edge_u(lens, px + PATCH), v0 = edge_v(lens, py), v1 = edge_v(lens, py + PATCH);
    ureal most = (ureal)2e-6 * umax(1, umax(umax(uabs(u0), uabs(u1)), umax(uabs(v0), uabs(v1))));
    for (int c = 0; c < found.n; ++c) {
        int span = 0, lanes[STET_W], g = found.list[c], plane = found.shown[g * SHOWN_SIZE + SHOWN_TYPE] == RAY_PLANE;
        ureal box[12], slack = box_in_view(view, patch.flat, patch.pyramid, boxes + g, stride, box);
        for (int i = 0; i < PATCH; i += STET_W) {
            real v = view_vs(view, lane() + isplat(py + i));
            mask rows = planes_meet(box, slack, 1, v);
            if (plane) rows = m_and(rows, rows_face(found.candidate + c * CANDIDATE_SIZE, patch.flat, most, u0, u1, v));
            istore(lanes, rows & isplat(1));
            for (int l = 0; l < STET_W; ++l) span |= lanes[l] << (i + l);
            span |= any(planes_meet(box, slack, 0, view_us(view, lane() + isplat(px + i)))) << (PATCH + i / STET_W);
        }
        spans[c] = span;
    }
}

/* The bits of a span that the vector of pixels from p on needs. */
LFN int span_bits(int p) { return STET_W > 1 ? 1 << p / PATCH | 1 << (PATCH + (p & (PATCH - 1)) / STET_W) : 0; }
