/* Buffers of past controls and sensors; see history.h. */
#include "worlds/history.h"

#include <math.h>
#include <string.h>

/* An age that is a whole number but for rounding is that number. */
#define NEAR_WHOLE 1e-6

static int count_actuators(const mjModel *m)
{
#if mjVERSION_HEADER >= 4000000
    return (int)m->nactuator;
#else
    return (int)m->nu;
#endif
}

static int count_controls(const mjModel *m, int actuator)
{
#if mjVERSION_HEADER >= 4000000
    return m->actuator_ctrlnum[actuator];
#else
    (void)m;
    (void)actuator;
    return 1;
#endif
}

bool sti_history_find(const mjModel *m, int64_t k, sti_history *out)
{
    int nactuator = count_actuators(m), i = (int)k;
    bool sensor = i >= nactuator;
    if (sensor) i -= nactuator;
    if (sensor && i >= m->nsensor) return false;
    const int *row = sensor ? m->sensor_history + 2 * i : m->actuator_history + 2 * i;
    *out = (sti_history){.sensor = sensor,
                         .item = i,
                         .at = sensor ? m->sensor_historyadr[i] : m->actuator_historyadr[i],
                         .n = row[0],
                         .dim = sensor ? m->sensor_dim[i] : count_controls(m, i),
                         .interp = row[1]};
    return row[0] > 0;
}

static void begin_buffer(const mjModel *m, const sti_history *h, mjtNum *out)
{
    double dt = m->opt.timestep, period = h->sensor ? m->sensor_interval[2 * h->item] : 0;
    double phase = period > 0 ? m->sensor_interval[2 * h->item + 1] : 0, last = phase == 0 ? -period : phase;
    memset(out, 0, (2 + (size_t)h->n * (size_t)(1 + h->dim)) * sizeof *out);
    out[0] = period > 0 ? last : h->sensor ? -dt : 0;
    out[1] = h->n - 1;
    for (int j = 0; j < h->n; ++j)
        out[2 + j] = period > 0 ? ceil((last - (h->n - 1 - j) * period) / dt) * dt : -(h->n - j) * dt;
}

void sti_history_begin(const mjModel *m, mjtNum *history)
{
    sti_history h;
    for (int64_t k = 0; k < sti_history_most(m); ++k)
        if (sti_history_find(m, k, &h)) begin_buffer(m, &h, history + h.at);
}

static double age_of(double timestep, double time, double t)
{
    double age = (time - t) / timestep, whole = rint(age);
    return fabs(age - whole) < NEAR_WHOLE ? whole : age;
}

static void reverse(mjtNum *x, int low, int high)
{
    for (; low < high; ++low, --high) {
        mjtNum kept = x[low];
        x[low] = x[high];
        x[high] = kept;
    }
}

/* The first k of n numbers go behind the others. */
static void rotate(mjtNum *x, int n, int k)
{
    reverse(x, 0, k - 1);
    reverse(x, k, n - 1);
    reverse(x, 0, n - 1);
}

/* The oldest sample becomes the first. */
static void put_in_order(const sti_history *h, mjtNum *buffer)
{
    int oldest = ((int)buffer[1] + 1) % h->n;
    buffer[1] = h->n - 1;
    if (oldest == 0) return;
    rotate(buffer + 2, h->n, oldest);
    rotate(buffer + 2 + h->n, h->n * h->dim, oldest * h->dim);
}

void sti_history_to_ages(const mjModel *m, double timestep, double time, mjtNum *history)
{
    sti_history h;
    for (int64_t k = 0; k < sti_history_most(m); ++k) {
        if (!sti_history_find(m, k, &h)) continue;
        mjtNum *buffer = history + h.at;
        put_in_order(&h, buffer);
        if (h.sensor) buffer[0] = age_of(timestep, time, buffer[0]);
        for (int j = 2; j < 2 + h.n; ++j) buffer[j] = age_of(timestep, time, buffer[j]);
    }
}

void sti_history_to_times(const mjModel *m, double timestep, double time, mjtNum *history)
{
    sti_history h;
    for (int64_t k = 0; k < sti_history_most(m); ++k) {
        if (!sti_history_find(m, k, &h)) continue;
        mjtNum *buffer = history + h.at;
        if (h.sensor) buffer[0] = time - buffer[0] * timestep;
        for (int j = 2; j < 2 + h.n; ++j) buffer[j] = time - buffer[j] * timestep;
    }
}
