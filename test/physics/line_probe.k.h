/*
 * Searches along lines as arrays: lanes are searches. `in` [LINE_IN][padded] has g1 and g2, how small the slope shall
 * be, and of each term its mass, its residual and how that changes; a term with a residual above 0 costs nothing. `out`
 * [LINE_OUT][padded] gets the step and how many steps were looked at. `padded` is a multiple of the 256 of a block.
 */
#include "stet/lang.h"

#include "physics/solver/line_search.k.h"
#include "test/physics/line_probe.h"

LFN void probe_slope(const real *row, real step, real *slope, real *curve, real *size)
{
    *slope = fma(step, row[1], row[0]);
    *curve = row[1];
    *size = rabs(row[0]) + rabs(step * row[1]);
    for (int k = 0; k < LINE_TERMS; ++k) {
        real jv = row[5 + 3 * k], x = fma(step, jv, row[4 + 3 * k]);
        real t = select(lt(x, splat(0)), row[3 + 3 * k] * jv, splat(0)), force = t * x;
        *slope = *slope + force;
        *size = *size + rabs(force);
        *curve = fma(t, jv, *curve);
    }
}

item_kernel void k_probe_line(const ureal *in, ureal *out, int padded, int block)
{
    int first = block * 256;
    items (p, 256) {
        real row[LINE_IN], slope, curve, size, n = splat(0);
        ph_search s;
        for (int k = 0; k < LINE_IN; ++k) row[k] = load(in + first + p + k * padded);
        probe_slope(row, splat(0), &slope, &curve, &size);
        ph_search_begin(slope, m_all(), &s);
        for (int i = 0; i < LINE_MOST && !all(s.done); ++i) {
            n = select(s.done, n, n + splat(1));
            probe_slope(row, s.next, &slope, &curve, &size);
            ph_search_next(slope, curve, size, row[2], &s);
        }
        store(out + first + p, s.best);
        store(out + first + p + padded, n);
    }
}
