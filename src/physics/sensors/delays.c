/* Tables of controls and sensors that are kept; see delays.h. */
#include "physics/sensors/delays.h"

#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/sensors/sensors.h"
#include "worlds/history.h"

#include <assert.h>

/* The next one from k on that is kept. Sensors that are disabled are not. */
static bool next_past(const mjModel *m, int64_t *k, sti_history *out)
{
    while (*k < sti_history_most(m))
        if (sti_history_find(m, (*k)++, out) && (!out->sensor || sti_physics_has_sensors(m))) return true;
    return false;
}

static int count_past(const mjModel *m, bool sensors)
{
    sti_history h;
    int n = 0;
    for (int64_t k = 0; next_past(m, &k, &h);) n += h.sensor == sensors;
    return n;
}

void sti_physics_put_past(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int n = count_past(m, false), nsensor = count_past(m, true);
    sti_history h;
    sti_physics_fill(b, M_NPAST, n);
    sti_physics_fill(b, M_NPASTSENSOR, nsensor);
    int *row = sti_physics_new_table(b, M_PAST, (int64_t)PA_SIZE * (n + nsensor));
    for (int64_t k = 0; row && next_past(m, &k, &h); row += PA_SIZE) {
        row[PA_FROM] = h.sensor ? m->sensor_adr[h.item] : m->actuator_ctrladr[h.item];
        row[PA_DIM] = h.dim;
        row[PA_AT] = h.at;
        row[PA_N] = h.n;
        row[PA_INTERP] = h.interp;
        assert(h.dim > 0 && h.n > 0 && h.at >= 0 && h.at < m->nhistory && "what is kept has a place in the history");
    }
}

void sti_physics_put_past_values(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    double dt = m->opt.timestep;
    sti_history h;
    double *times = sti_physics_new_parameter(b, M_PAST_TIMES, 2 * (count_past(m, false) + count_past(m, true)));
    for (int64_t k = 0; times && next_past(m, &k, &h); times += 2) {
        times[0] = (h.sensor ? m->sensor_delay[h.item] : m->actuator_delay[h.item]) / dt;
        times[1] = h.sensor ? m->sensor_interval[2 * h.item] / dt : 0;
    }
    double *begin = sti_physics_new_parameter(b, M_HISTORY0, m->nhistory);
    if (!begin) return;
    sti_history_begin(m, begin);
    sti_history_to_ages(m, dt, 0, begin);
}
