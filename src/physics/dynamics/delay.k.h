/*
 * Delays: controls and sensors of the past (history). Part of the kernels that include it, after controls.k.h.
 *
 * A row of M_PAST is a control or a sensor whose past is kept: so many samples of it, the oldest first, and their ages
 * in time steps (worlds/history.h). Ages of samples are whole numbers, as samples are taken in time steps; those that
 * differ by less than PH_SAME_AGE are equal, where in MuJoCo rounding of times decides.
 */

#define PH_SAME_AGE 1e-4

/* Between samples i - 1 and i, the part a of the way, of a row that interpolates; sample: a number of the oldest. */
LFN real ph_between(const int *row, const real *age, const real *sample, int i, real a)
{
    int n = row[PA_N], dim = row[PA_DIM];
    real low = sample[dim * (i - 1)], high = sample[dim * i], begin = splat(0), end = splat(0);
    if (row[PA_INTERP] == 1) return fma(a, high - low, low);
    if (i > 1) begin = (high - sample[dim * (i - 2)]) / (age[i - 2] - age[i]);
    if (i < n - 1) end = (sample[dim * (i + 1)] - low) / (age[i - 1] - age[i + 1]);
    real b = splat(1) - a, x = fma((a * a) * fma(splat(-2), a, splat(3)), high - low, low);
    return fma((a * b) * (age[i - 1] - age[i]), fma(b, begin, -(a * end)), x);
}

/* Number k of the samples of a row, as it was `back` time steps ago. */
LFN real ph_read_past(ph_world w, const int *row, int k, real back)
{
    const real *age = history(w) + row[PA_AT] + 2, *sample = age + row[PA_N] + k;
    int dim = row[PA_DIM];
    real x = sample[0];
    rolled
    for (int i = 1; i < row[PA_N]; ++i) {
        real next = sample[dim * i];
        if (row[PA_INTERP] == 0) {
            x = select(ge(age[i], back - splat((ureal)PH_SAME_AGE)), next, x);
        } else {
            real y = ph_between(row, age, sample, i, (age[i - 1] - back) / (age[i - 1] - age[i]));
            x = select(lt(back, age[i - 1]), select(gt(back, age[i]), y, next), x);
        }
    }
    return x;
}

/* Controls as actuators get them in a stage of a step (of Runge-Kutta's), whose time is later. */
LFN void ph_delay_controls(ph_world w, int stage)
{
    real later = stage == 0 ? splat(0) : stage == 3 ? splat(1) : splat((ureal)0.5);
    each (k, nu(w)) late_ctrl(w)[k] = ctrl(w)[k];
    sync();
    each (i, npast(w)) {
        const int *row = past_first(w) + PA_SIZE * i;
        real delay = past_times(w, 2 * i);
        rolled
        for (int k = 0; k < row[PA_DIM]; ++k) {
            real x = ph_read_past(w, row, k, delay - later);
            late_ctrl(w)[row[PA_FROM] + k] = select(gt(delay, splat(0)), x, ctrl(w)[row[PA_FROM] + k]);
        }
    }
    sync();
}

/* Controls of a stage, from the past where they are delayed; gives the lanes in which one is bad. */
LFN mask ph_take_controls(ph_world w, int stage)
{
    if (nhistory(w) > 0) ph_delay_controls(w, stage);
    return ph_bad_controls(w);
}

/* Where sensor i of those that are kept, which is taken now and then, is due. */
LFN mask ph_sample_due(ph_world w, int i)
{
    real since = history(w)[(past_first(w) + PA_SIZE * i)[PA_AT]];
    return ge(since + splat((ureal)PH_SAME_AGE), past_times(w, 2 * i + 1));
}

/* sensordata gets the sensors of the past that it tells of; those of this state go to `sensed`. */
LFN void ph_delay_sensors(ph_world w)
{
    each (j, npastsensor(w)) {
        int i = npast(w) + j;
        const int *row = past_first(w) + PA_SIZE * i;
        real delay = past_times(w, 2 * i), zero = splat(0);
        mask late = gt(delay, zero), due = m_or(le(past_times(w, 2 * i + 1), zero), ph_sample_due(w, i));
        rolled
        for (int k = 0; k < row[PA_DIM]; ++k) {
            int at = row[PA_FROM] + k;
            real now = sensordata(w)[at], x = ph_read_past(w, row, k, delay);
            sensed(w)[at] = now;
            sensordata(w)[at] = select(m_andnot(due, late), now, x);
        }
    }
    sync();
}

/* A sample of each number of row i joins its past in the lanes `where`; time goes on by a step in all. */
LFN void ph_keep_past(ph_world w, int i, const real *from, mask where)
{
    const int *row = past_first(w) + PA_SIZE * i;
    const real *now = from + row[PA_FROM];
    real *age = history(w) + row[PA_AT] + 2, *sample = age + row[PA_N], one = splat(1);
    int n = row[PA_N], dim = row[PA_DIM];
    rolled
    for (int s = 0; s < n; ++s) age[s] = select(where, s < n - 1 ? age[nmin(s + 1, n - 1)] : splat(0), age[s]) + one;
    rolled
    for (int s = 0; s < dim * n; ++s) {
        real next = s < dim * (n - 1) ? sample[nmin(s + dim, dim * n - 1)] : now[nmax(s - dim * (n - 1), 0)];
        sample[s] = select(where, next, sample[s]);
    }
}

/* Controls and sensors of this time step become those of the past, before it integrates. */
LFN void ph_keep_history(ph_world w)
{
    each (i, npast(w) + npastsensor(w)) {
        const int *row = past_first(w) + PA_SIZE * i;
        real *since = history(w) + row[PA_AT], period = past_times(w, 2 * i + 1), zero = splat(0);
        if (i < npast(w)) {
            ph_keep_past(w, i, ctrl(w), m_all());
        } else {
            mask sometimes = gt(period, zero), due = ph_sample_due(w, i);
            ph_keep_past(w, i, sensed(w), m_or(m_not(sometimes), due));
            *since = select(sometimes, *since - select(due, period, zero) + splat(1), *since);
        }
    }
    sync();
}
