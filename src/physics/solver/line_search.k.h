/*
 * The search for the step along a line at which the slope of a convex cost is 0. Part of the kernels that include it.
 *
 * Steps are Newton's, between the last ones with a slope below and above 0. Where the cost has a kink between them,
 * Newton's method jumps from one side of it to the other and gains little: then, and where it leaves the bounds, the
 * next step is where the secant through both is 0, or in the middle. The search ends where the slope is as small as
 * asked for, or as its rounding, or where the bounds are neighbours, since the rounding of a step can keep a slope from
 * being small. Each step keeps a distance from the bounds, so that they become neighbours.
 */
#if STET_DOUBLE
#define PH_ROUNDING ((ureal)1e-15) /* of a sum, relative to the sizes of what it adds */
#else
#define PH_ROUNDING ((ureal)5e-7)
#endif
#define PH_SLOW 4 /* so many steps in a row that do not halve the bounds are followed by one to their middle */

typedef struct ph_search {
    real next, best;            /* the step to look at next; of those so far the one with the least slope */
    real low, high;             /* the bounds: slopes below and above 0; high is -1 before there is one */
    real low_slope, high_slope; /* there */
    real width;                 /* of the bounds, before the last step; -1 as long as there is no high */
    real slow;                  /* how many of the last steps left more than half of it */
    real least;                 /* slope at best, without its sign */
    mask under;                 /* the last slope was below 0 */
    mask done;
} ph_search;

/* slope: at step 0. The first step is 1, as the direction is that of Newton's method. */
LFN void ph_search_begin(real slope, mask on, ph_search *s)
{
    s->next = splat(1);
    s->best = splat(0);
    s->low = splat(0);
    s->high = splat(-1);
    s->low_slope = slope;
    s->high_slope = splat(0);
    s->width = splat(-1);
    s->slow = splat(0);
    s->least = rabs(slope);
    s->under = m_all();
    s->done = m_or(m_not(on), m_not(lt(slope, splat(0))));
}

/*
 * What is at s->next: the slope, the curve and the sizes of what the slope adds. The search ends at slopes of at most
 * `enough`.
 */
LFN void ph_search_next(real slope, real curve, real size, real enough, ph_search *s)
{
    real zero = splat(0), rounding = splat(PH_ROUNDING), at = s->next;
    mask better = m_andnot(le(rabs(slope), s->least), s->done), under = lt(slope, zero);
    s->best = select(better, at, s->best);
    s->least = select(better, rabs(slope), s->least);
    mask below = m_andnot(under, s->done), above = m_andnot(m_not(under), s->done); /* a search that is done rests */
    s->low = select(below, at, s->low);
    s->low_slope = select(below, slope, s->low_slope);
    s->high = select(above, at, s->high);
    s->high_slope = select(above, slope, s->high_slope);
    mask bounded = gt(s->high, zero);
    real width = s->high - s->low, near = rounding * select(bounded, s->high, at);
    s->done = m_or(s->done, m_not(gt(rabs(slope), rmax(enough, rounding * size))));
    s->done = m_or(s->done, m_andnot(bounded, gt(width, near + near)));
    mask jumped = m_or(m_andnot(under, s->under), m_andnot(s->under, under));
    mask slow = m_and(m_and(bounded, gt(s->width, zero)), gt(width, splat((ureal)0.5) * s->width));
    s->width = select(bounded, width, s->width);
    s->slow = select(slow, s->slow + splat(1), zero);
    s->under = under;
    real newton = at - slope / curve, secant = s->low - s->low_slope * (width / (s->high_slope - s->low_slope));
    mask outside = m_or(lt(newton, s->low), gt(newton, s->high));
    real next = select(m_and(bounded, m_or(outside, m_and(slow, jumped))), secant, newton);
    next = select(ge(s->slow, splat(PH_SLOW)), splat((ureal)0.5) * (s->low + s->high), next);
    next = rmax(next, s->low + near);
    s->next = select(bounded, rmin(next, s->high - near), next);
}

/*
 * The step that the search ends with; slope: at step 0. Where its slope is well above 0, which iterations that were too
 * few leave, it is the high bound, and the cost may be higher there than at 0. It is not if the sum below is negative:
 * a convex cost falls by at least the slope at the low bound until there, and rises by at most the slope at the high
 * bound behind it. Else the low bound is taken.
 */
LFN real ph_search_end(const ph_search *s, real slope)
{
    real change = fma(s->low, s->low_slope, (s->high - s->low) * s->high_slope);
    mask over = m_and(eq(s->best, s->high), gt(s->high_slope, splat((ureal)0.1) * rabs(slope)));
    return select(m_andnot(over, le(change, splat(0))), s->low, s->best);
}
