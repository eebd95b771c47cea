/*
 * Copies between the arrays and MuJoCo's data: push copies what the caller changed, pull copies what the physics
 * computed (WORLDS-2).
 *
 * Invariant: a NaN that is pulled has the one canonical bit pattern, whatever the machine produced.
 */
#include "worlds/history.h"
#include "worlds/poses.h"
#include "worlds/worlds.h"

#include <assert.h>
#include <string.h>

/* ---- one field of one world: n numbers, `stride` apart in the array ---------------------------------------------- */

/* Is x (of the array) equal to the rounding of the exact number? Zeros of different sign differ, NaNs do not. */
static inline bool same_float(float x, float rounded)
{
    uint32_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &rounded, sizeof b);
    return a == b || (x != x && rounded != rounded);
}

static inline bool same_double(double x, double rounded)
{
    uint64_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &rounded, sizeof b);
    return a == b || (x != x && rounded != rounded);
}

static bool push_float(double *exact, const float *mirror, int64_t n, int64_t stride)
{
    bool changed = false;
    for (int64_t i = 0; i < n; ++i) {
        float x = mirror[i * stride];
        if (same_float(x, (float)exact[i])) continue;
        exact[i] = (double)x;
        changed = true;
    }
    return changed;
}

static bool push_double(double *exact, const double *mirror, int64_t n, int64_t stride)
{
    bool changed = false;
    for (int64_t i = 0; i < n; ++i) {
        if (same_double(mirror[i * stride], exact[i])) continue;
        exact[i] = mirror[i * stride];
        changed = true;
    }
    return changed;
}

static void pull_float(const double *exact, float *mirror, int64_t n, int64_t stride)
{
    const uint32_t nan_bits = 0x7fc00000u;
    for (int64_t i = 0; i < n; ++i) {
        float x = (float)exact[i];
        if (x != x) memcpy(&x, &nan_bits, sizeof x);
        mirror[i * stride] = x;
    }
}

static void pull_double(const double *exact, double *mirror, int64_t n, int64_t stride)
{
    const uint64_t nan_bits = UINT64_C(0x7ff8000000000000);
    for (int64_t i = 0; i < n; ++i) {
        double x = exact[i];
        if (x != x) memcpy(&x, &nan_bits, sizeof x);
        mirror[i * stride] = x;
    }
}

static bool push_numbers(const stet_worlds *worlds, int f, int64_t w, double *exact)
{
    assert(w >= 0 && w < worlds->nworld && worlds->state.mirror[f] && exact && "WORLDS-7");
    const stet_array *a = worlds->state.field[f];
    int64_t at = sti_array_index(a, w, 0), stride = a->device->lanes;
    if (a->device->real_size == sizeof(double))
        return push_double(exact, (const double *)worlds->state.mirror[f] + at, a->nitem, stride);
    return push_float(exact, (const float *)worlds->state.mirror[f] + at, a->nitem, stride);
}

static void pull_numbers(const stet_worlds *worlds, int f, int64_t w, const double *exact)
{
    assert(w >= 0 && w < worlds->nworld && (worlds->state.mirror[f] || worlds->state.field[f]->nitem == 0) &&
           "WORLDS-7");
    const stet_array *a = worlds->state.field[f];
    int64_t at = sti_array_index(a, w, 0), stride = a->device->lanes;
    if (a->device->real_size == sizeof(double))
        pull_double(exact, (double *)worlds->state.mirror[f] + at, a->nitem, stride);
    else
        pull_float(exact, (float *)worlds->state.mirror[f] + at, a->nitem, stride);
}

/* eq_active: in an array 0 or another number, in MuJoCo's data bytes. */
static bool push_active(const stet_worlds *worlds, int64_t w, mjData *d)
{
    const stet_array *a = worlds->state.field[STI_FIELD_eq_active];
    bool changed = false;
    for (int64_t i = 0; i < a->nitem; ++i) {
        bool on = sti_mirror_get(a, worlds->state.mirror[STI_FIELD_eq_active], w, i) != 0;
        changed = changed || on != (d->eq_active[i] != 0);
        d->eq_active[i] = on;
    }
    return changed;
}

static void pull_active(const stet_worlds *worlds, int64_t w, const mjData *d)
{
    const stet_array *a = worlds->state.field[STI_FIELD_eq_active];
    for (int64_t i = 0; i < a->nitem; ++i)
        sti_mirror_set(a, worlds->state.mirror[STI_FIELD_eq_active], w, i, d->eq_active[i] != 0);
}

static bool push_field(const stet_worlds *worlds, int f, int64_t w, mjData *d)
{
    if (f == STI_FIELD_eq_active) return push_active(worlds, w, d);
    return push_numbers(worlds, f, w, sti_field_exact(d, (sti_field)f));
}

/* In worlds without MuJoCo's data it has ages. */
static void pull_history(const stet_worlds *worlds, int64_t w, mjData *d)
{
    const mjModel *m = worlds->model->mj;
    double timestep = worlds->state.data ? 0 : sti_parameters_timestep(worlds, w);
    if (!worlds->state.data) sti_history_to_ages(m, timestep, d->time, d->history);
    pull_numbers(worlds, STI_FIELD_history, w, d->history);
    if (!worlds->state.data) sti_history_to_times(m, timestep, d->time, d->history);
}

static void pull_field(const stet_worlds *worlds, int f, int64_t w, mjData *d)
{
    if (f == STI_FIELD_eq_active)
        pull_active(worlds, w, d);
    else if (f == STI_FIELD_history)
        pull_history(worlds, w, d);
    else
        pull_numbers(worlds, f, w, sti_field_exact(d, (sti_field)f));
}

static bool field_moves(int f) { return f == STI_FIELD_qpos || f == STI_FIELD_mocap_pos || f == STI_FIELD_mocap_quat; }

/* ---- one world -------------------------------------------------------------------------------------------------- */

uint8_t sti_worlds_push(stet_worlds *worlds, int64_t w, const bool dirty[STI_FIELD_COUNT])
{
    assert(worlds->state.data && "only MuJoCo's data have exact numbers");
    uint8_t pushed = 0;
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        if (!dirty[f] || !push_field(worlds, f, w, worlds->state.data[w])) continue;
        pushed |= field_moves(f) ? STI_PUSHED_ANY | STI_PUSHED_POSE : STI_PUSHED_ANY;
    }
    return pushed;
}

void sti_worlds_pull_fields(stet_worlds *worlds, int64_t w, mjData *d, const bool fields[STI_FIELD_COUNT])
{
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (fields[f]) pull_field(worlds, f, w, d);
    if (worlds->state.time) worlds->state.time[w] = d->time;
}

void sti_worlds_pull(stet_worlds *worlds, int64_t w, mjData *d, bool all)
{
    int writers = all ? STI_WRITER_BOTH : STI_WRITER_PHYSICS;
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (sti_field_writer[f] & writers) pull_field(worlds, f, w, d);
    if (worlds->state.time) worlds->state.time[w] = d->time;
}

/* ---- all worlds ------------------------------------------------------------------------------------------------- */

void sti_worlds_field_written(stet_worlds *worlds, sti_field field)
{
    assert((unsigned)field < STI_FIELD_COUNT);
    sti_array_mirror_written(worlds->state.field[field]);
    sti_stamp_keep_version(&worlds->state.stamps.pushed[field], &worlds->state.field[field]->version);
}

void sti_worlds_written(stet_worlds *worlds, bool all)
{
    int writers = all ? STI_WRITER_BOTH : STI_WRITER_PHYSICS;
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (sti_field_writer[f] & writers && worlds->state.field[f]->nitem > 0)
            sti_worlds_field_written(worlds, (sti_field)f);
}

stet_result sti_worlds_take_mirrors(stet_worlds *worlds, int writers)
{
    assert(writers > 0 && writers <= (STI_WRITER_BOTH | STI_WRITER_POSES));
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (sti_field_writer[f] & writers)
            STI_TRY(sti_array_mirror_write(worlds->state.field[f], &worlds->state.mirror[f]));
    return STET_OK;
}

/*
 * True for fields whose numbers a push compares. Without MuJoCo's data the arrays are the state, and what was written
 * on the device stays there.
 */
static bool is_compared(const stet_worlds *worlds, int f)
{
    if (worlds->state.data) return (sti_field_writer[f] & STI_WRITER_CALLER) != 0;
    return f == STI_FIELD_time && !sti_stamp_is(&worlds->state.stamps.pushed[f], &worlds->state.field[f]->version);
}

/* Where there is no data of MuJoCo's to hold it. */
static void push_times(const stet_worlds *worlds)
{
    assert(worlds->state.time && !worlds->state.data);
    for (int64_t w = 0; w < worlds->nworld; ++w) (void)push_numbers(worlds, STI_FIELD_time, w, &worlds->state.time[w]);
}

stet_result sti_worlds_take_time(stet_worlds *worlds)
{
    assert(worlds->state.time && "worlds without MuJoCo's data");
    stet_array *time = worlds->state.field[STI_FIELD_time];
    sti_stamp *pushed = &worlds->state.stamps.pushed[STI_FIELD_time];
    (void)sti_array_poll_external_writes(time);
    if (sti_stamp_is(pushed, &time->version)) return STET_OK;
    STI_TRY(sti_array_mirror(time, &worlds->state.mirror[STI_FIELD_time]));
    push_times(worlds);
    sti_stamp_keep_version(pushed, &time->version);
    return STET_OK;
}

/*
 * Brings a field up to date before it is looked at. Time that only steps have moved since stays on the device
 * (WORLDS-10).
 */
static stet_result ensure_field(stet_worlds *worlds, int f)
{
    stet_array *a = worlds->state.field[f];
    if (f != STI_FIELD_time || !worlds->physics.pull) return sti_array_ensure(a);
    STI_TRY(sti_before_host_access(a->device, STI_ACT_READ, a, a->name));
    (void)sti_array_poll_external_writes(a);
    return sti_stamp_is(&worlds->state.stamps.pushed[f], &a->version) ? STET_OK : sti_worlds_pull_physics(worlds);
}

stet_result sti_worlds_take_dirty(stet_worlds *worlds, bool dirty[STI_FIELD_COUNT])
{
    sti_poses_take_written(worlds);
    memset(dirty, 0, STI_FIELD_COUNT * sizeof *dirty);
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        if (!(sti_field_writer[f] & STI_WRITER_CALLER)) continue;
        STI_TRY(ensure_field(worlds, f));
    }
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (is_compared(worlds, f)) STI_TRY(sti_array_mirror(worlds->state.field[f], &worlds->state.mirror[f]));
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        if (!(sti_field_writer[f] & STI_WRITER_CALLER)) continue;
        const sti_version *now = &worlds->state.field[f]->version;
        if (sti_stamp_is(&worlds->state.stamps.pushed[f], now)) continue;
        dirty[f] = worlds->state.field[f]->nitem > 0;
        sti_stamp_keep_version(&worlds->state.stamps.pushed[f], now);
        assert(sti_stamp_is(&worlds->state.stamps.pushed[f], now) && "counted as pushed");
    }
    return STET_OK;
}

typedef struct syncing {
    stet_worlds *worlds;
    bool dirty[STI_FIELD_COUNT];
} syncing;

static void push_world(void *context, int64_t w, int thread)
{
    (void)thread;
    syncing *s = context;
    s->worlds->marks[w] = sti_worlds_push(s->worlds, w, s->dirty);
}

/* Worlds that the caller moved; NULL: all. */
static void mark_moved(stet_worlds *worlds, const uint8_t *mask)
{
    assert(!mask || mask == worlds->marks);
    if (worlds->poses.external)
        sti_worlds_moved_unless_posed(worlds, mask);
    else
        sti_worlds_moved(worlds, mask);
}

static void sync_data(syncing *s)
{
    stet_worlds *worlds = s->worlds;
    sti_worlds_parallel(worlds, push_world, s, 0);
    sti_quantities_changed(worlds, worlds->marks);
    for (int64_t w = 0; w < worlds->nworld; ++w) worlds->marks[w] &= STI_PUSHED_POSE;
    mark_moved(worlds, worlds->marks);
}

/* Without MuJoCo's data the arrays are the state: nothing is compared, and all worlds count as changed. */
static void sync_arrays(const syncing *s)
{
    stet_worlds *worlds = s->worlds;
    bool moves = false;
    for (int f = 0; f < STI_FIELD_COUNT; ++f) moves = moves || (s->dirty[f] && field_moves(f));
    if (s->dirty[STI_FIELD_time]) push_times(worlds);
    sti_quantities_changed(worlds, NULL);
    if (moves) mark_moved(worlds, NULL);
}

stet_result sti_worlds_sync(stet_worlds *worlds)
{
    syncing s = {.worlds = worlds};
    STI_TRY(sti_parameters_take(worlds));
    STI_TRY(sti_worlds_take_dirty(worlds, s.dirty));
    bool any = false;
    for (int f = 0; f < STI_FIELD_COUNT; ++f) any = any || s.dirty[f];
    if (!any) return STET_OK;
    if (worlds->state.data)
        sync_data(&s);
    else
        sync_arrays(&s);
    return STET_OK;
}

stet_result sti_worlds_take_writes(stet_worlds *worlds)
{
    static const sti_field poses[] = {STI_FIELD_xpos, STI_FIELD_xquat};
    if (!worlds->device->listing) return sti_worlds_sync(worlds);
    for (size_t k = 0; k < sizeof poses / sizeof *poses; ++k) {
        stet_array *a = worlds->state.field[poses[k]];
        STI_TRY(sti_before_host_access(a->device, STI_ACT_READ, a, a->name));
    }
    sti_poses_take_written(worlds);
    return STET_OK;
}

void sti_worlds_launch_wrote(stet_worlds *worlds)
{
    static const sti_field written[] = {STI_FIELD_qpos,         STI_FIELD_qvel,          STI_FIELD_act,
                                        STI_FIELD_history,      STI_FIELD_ctrl,          STI_FIELD_qfrc_applied,
                                        STI_FIELD_xfrc_applied, STI_FIELD_mocap_pos,     STI_FIELD_mocap_quat,
                                        STI_FIELD_eq_active,    STI_FIELD_qacc_warmstart};
    for (size_t k = 0; k < sizeof written / sizeof *written; ++k)
        sti_stamp_keep_version(&worlds->state.stamps.pushed[written[k]], &worlds->state.field[written[k]]->version);
}
