/*
 * The whole frame of the hand, and what it costs without stet's mechanisms: two substeps of all worlds, a picture
 * (colour and depth) of each world's camera, and its tensors asked for on the device, as a policy does. Controls are
 * noise; with external physics, recorded poses are written instead. A scene at rest does this in every second frame
 * only; in the others nothing moves, and the picture is asked for all the same.
 *
 * Variants are code paths of the switches of the mechanisms, and of nothing else, but that `allocates` makes the memory
 * of a frame (pixels, tensors, tables) in each frame:
 *
 *     naive     no mechanism; allocates. Poses of a GPU's worlds come to the host after each substep, transforms of the
 *               scene's tree are computed there, and go back
 *     plain     what a careful engineer writes: memory is made once; poses and transforms of all worlds are computed
 *               once a frame, everything is drawn, one launch extracts; launches pass arguments by value; nothing of
 *               the last frame is used. `pose_sync`, `hierarchy` and `tiles` are on, and compute no more than that; in
 *               a frame at rest they compute less, which is to plain's advantage.
 *     plus_…    naive, and one mechanism more in each, in the order in which they were published elsewhere
 *     full      all of them: what the rows plus_… lead to
 *     without_… full but one
 *
 * Invariants:
 *   FRAME-1  all variants play the same frames from the same state; each of the first frames (tensors, poses, state)
 *            and the last one of a turn have equal hashes in all of them, or nothing is reported
 *   FRAME-2  variants take turns on one sim, forwards and then backwards (A B B A)
 */
#include "bench/frame_work.h"

#include "base/error.h"
#include "base/memory.h"
#include "device/device.h"
#include "stet/trace.h"

#include <assert.h>
#include <stdio.h>

enum {
    WARM_UP = 2,     /* frames of a turn that are not timed */
    CHECKED = 6,     /* frames whose hashes are compared */
    MANY = 4096,     /* worlds from which on there are as few turns and checked frames as can be */
    LEAST = 2,       /* … of each */
    MOST_TIMED = 32, /* frames of a turn */
    FEW_TURNS = 4,   /* where few variants were asked for */
    STARTS = 4,      /* sims that are made to see their first frames, of each variant */
    WARM = 3,        /* frames after the first, until every recording is trusted */
    STARTED = 3,     /* variants whose first frames are timed: naive, plain, full */
    VARIANTS = 9 + STET_MECHANISM_COUNT
};
static_assert((int)FRAME_TURNS <= (int)BENCH_SAMPLES && (int)STARTS <= (int)BENCH_SAMPLES,
              "a row has room for all samples");

/* ---- variants ---------------------------------------------------------------------------------------------------- */

enum {
    POSE_SYNC = 1 << STET_MECHANISM_POSE_SYNC,
    RECORDING = 1 << STET_MECHANISM_GRAPH_REPLAY | 1 << STET_MECHANISM_ARGS | 1 << STET_MECHANISM_FUSION,
    HIERARCHY = 1 << STET_MECHANISM_HIERARCHY,
    EXTRACTION = 1 << STET_MECHANISM_TILES,
    IDLE = BENCH_IDLE_IN_FRAMES,
    ALL = BENCH_ALL_MECHANISMS
};

enum { NAIVE, PLAIN };

static void add_variant(frame_variant *list, int *n, const char *how, const char *which, uint32_t on, bool allocates)
{
    frame_variant *v = &list[(*n)++];
    (void)snprintf(v->name, sizeof v->name, "%s%s", how, which);
    v->on = on | IDLE;
    v->allocates = allocates;
}

/* Returns their number; *full: the index of the one with all mechanisms. brief: naive, plain and full alone. */
static int list_variants(frame_variant *list, bool brief, int *full)
{
    uint32_t on = 0;
    int n = 0;
    add_variant(list, &n, "naive", "", 0, true);
    add_variant(list, &n, "plain", "", POSE_SYNC | HIERARCHY | EXTRACTION, false);
    if (brief) {
        *full = n;
        add_variant(list, &n, "full", "", ALL, false);
        return n;
    }
    add_variant(list, &n, "plus_", "deferred_sync", on |= POSE_SYNC, true);
    add_variant(list, &n, "plus_", "recording", on |= RECORDING, true);
    add_variant(list, &n, "plus_", "device_hierarchy", on |= HIERARCHY, true);
    add_variant(list, &n, "plus_", "one_extraction", on |= EXTRACTION, true);
    add_variant(list, &n, "plus_", "kept_memory", on, false);
    *full = n;
    add_variant(list, &n, "full", "", ALL, false);
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k)
        if (!(1 << k & IDLE))
            add_variant(list, &n, "without_", stet_mechanism_name((stet_mechanism)k), ALL & ~(1u << k), false);
    add_variant(list, &n, "without_", "kept_memory", ALL, true);
    return n;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

typedef struct measured {
    frame_work work;
    frame_variant variant[VARIANTS];
    int nvariant, full, nchecked, nturn, ntimed;
    uint64_t hash[2];                                                  /* of the checked frames; moving, resting */
    double cold[STARTED][BENCH_SAMPLES], warm[STARTED][BENCH_SAMPLES]; /* ms */
    int64_t bytes;                                                     /* that the sim holds after all turns */
    size_t device_free, device_total;                                  /* bytes of a GPU then; total 0: not known */
    double host[FRAME_TURNS], over_kernels[FRAME_TURNS];               /* of full, on a GPU: us; ratio */
    double captured[FRAME_TURNS], captured_host[FRAME_TURNS], eager[FRAME_TURNS]; /* likewise: ms, us, ms */
} measured;

static stet_result compare(const frame_variant *v, const frame_variant *first, uint64_t hash, uint64_t expected)
{
    if (hash == expected) return STET_OK;
    return sti_error(STET_ERROR_STATE, "bench frame: %s made other frames (%016llx) than %s (%016llx)", v->name,
                     (unsigned long long)hash, first->name, (unsigned long long)expected);
}

/* FRAME-1: the first frames. It also sets up what variants reuse. */
static stet_result check_frames(measured *m, bool rests)
{
    for (int i = 0; i < m->nvariant; ++i) {
        sti_hash h;
        sti_hash_begin(&h);
        STI_TRY(frame_work_begin(&m->work, &m->variant[i], rests));
        for (int k = 0; k < m->nchecked; ++k) STI_TRY(frame_work_play(&m->work, k, NULL, &h));
        uint64_t hash = sti_hash_end(&h);
        if (i == 0) m->hash[rests] = hash;
        STI_TRY(compare(&m->variant[i], m->variant, hash, m->hash[rests]));
    }
    return STET_OK;
}

/* Seconds of a frame that moves. */
static stet_result time_frame(measured *m, int which, double *seconds)
{
    STI_TRY(frame_work_begin(&m->work, &m->variant[which], false));
    STI_TRY(frame_work_time(&m->work, 0, WARM_UP, seconds));
    return frame_work_time(&m->work, WARM_UP, 2, seconds);
}

/* How many frames a turn times: an even number that takes full about a quarter of a second, and naive one at most. */
static stet_result choose_length(measured *m, const bench *b)
{
    double full, naive;
    STI_TRY(time_frame(m, m->full, &full));
    STI_TRY(time_frame(m, NAIVE, &naive));
    m->ntimed = 2;
    while (!b->quick && m->ntimed < MOST_TIMED && m->ntimed * full < 0.25 && m->ntimed * naive < 1) m->ntimed += 2;
    return STET_OK;
}

static stet_result take_turn(measured *m, frame_variant *v, bool rests, int turn, uint64_t *hash)
{
    stet_device *device = stet_sim_get_device(m->work.sim);
    double seconds;
    sti_hash h;
    STI_TRY(frame_work_begin(&m->work, v, rests));
    STI_TRY(frame_work_time(&m->work, 0, WARM_UP, &seconds));
    stet_device_clear_counters(device);
    STI_TRY(frame_work_time(&m->work, WARM_UP, m->ntimed, &seconds));
    v->ms[rests][turn] = 1e3 * seconds;
    v->counters[rests] = stet_device_get_counters(device);
    sti_hash_begin(&h);
    STI_TRY(frame_work_play(&m->work, WARM_UP + m->ntimed, NULL, &h));
    *hash = sti_hash_end(&h);
    return STET_OK;
}

/* FRAME-2: of the scene that moves and of the one that rests, one after the other. */
static stet_result take_turns(measured *m, const char *name)
{
    uint64_t expected[2] = {0}, hash;
    for (int t = 0; t < m->nturn; ++t)
        for (int i = 0; i < 2 * m->nvariant; ++i) {
            int rests = i % 2;
            frame_variant *v = &m->variant[t % 2 ? m->nvariant - 1 - i / 2 : i / 2];
            bench_progress("%s: turn %d of %d, %s", name, t + 1, m->nturn, v->name);
            STI_TRY(take_turn(m, v, rests, t, &hash));
            if (t == 0 && i < 2) expected[rests] = hash;
            STI_TRY(compare(v, m->variant, hash, expected[rests]));
        }
    return STET_OK;
}

/* What full holds: by then what other variants made for a frame is gone. */
static stet_result measure_memory(measured *m)
{
    stet_device *device = stet_sim_get_device(m->work.sim);
    double seconds;
    STI_TRY(frame_work_begin(&m->work, &m->variant[m->full], false));
    STI_TRY(frame_work_time(&m->work, 0, WARM_UP, &seconds));
    m->bytes = stet_sim_get_bytes(m->work.sim);
    return device->ops->memory ? device->ops->memory(device, &m->device_free, &m->device_total) : STET_OK;
}

/* Seconds of the host for a frame of full: the device's queue has room for these few. */
static stet_result time_host(measured *m, double *seconds)
{
    enum { QUEUED = 4 };
    double all;
    STI_TRY(frame_work_begin(&m->work, &m->variant[m->full], false));
    STI_TRY(frame_work_time(&m->work, 0, WARM_UP, &all));
    double start = bench_now();
    for (int k = 0; k < QUEUED; ++k) STI_TRY(frame_work_play(&m->work, WARM_UP + k, NULL, NULL));
    *seconds = (bench_now() - start) / QUEUED;
    return stet_device_synchronize(stet_sim_get_device(m->work.sim));
}

/* Seconds of the device for all that a frame launches and copies, each by itself between two of the driver's events. */
static stet_result time_kernels(measured *m, double *seconds)
{
    stet_device *device = stet_sim_get_device(m->work.sim);
    stet_trace_def def = stet_default_trace_def();
    frame_variant singly = m->variant[m->full];
    stet_profile_row row;
    double all;
    int64_t ns = 0;
    singly.on &= ~(uint32_t)RECORDING;
    def.events = false;
    STI_TRY(frame_work_begin(&m->work, &singly, false));
    STI_TRY(frame_work_time(&m->work, 0, WARM_UP, &all));
    STI_TRY(stet_trace_begin(device, &def));
    stet_result result = frame_work_time(&m->work, WARM_UP, m->ntimed, &all);
    STI_TRY(stet_trace_end(device));
    for (int64_t i = 0; stet_profile_get_row(device, i, &row); ++i)
        if (row.kind != STET_TRACE_PHASE) ns += row.device_duration;
    *seconds = 1e-9 * (double)ns / m->ntimed;
    return result;
}

/* What a frame of full takes of the host, and how much longer it is than its kernels; of a GPU. */
static stet_result measure_launching(measured *m)
{
    double frame, kernels;
    for (int t = 0; t < m->nturn && stet_sim_get_device(m->work.sim)->can.compiles; ++t) {
        STI_TRY(time_host(m, &m->host[t]));
        m->host[t] *= 1e6;
        STI_TRY(frame_work_begin(&m->work, &m->variant[m->full], false));
        STI_TRY(frame_work_time(&m->work, 0, WARM_UP, &frame));
        STI_TRY(frame_work_time(&m->work, WARM_UP, m->ntimed, &frame));
        STI_TRY(time_kernels(m, &kernels));
        m->over_kernels[t] = kernels > 0 ? frame / kernels : 0;
        if (stet_sim_get_physics(m->work.sim) != STET_PHYSICS_NATIVE) continue; /* others' steps are not captured */
        frame_times of;
        STI_TRY(frame_work_captured(&m->work, &m->variant[m->full], m->ntimed, &of));
        m->captured[t] = 1e3 * of.captured;
        m->captured_host[t] = 1e6 * of.host;
        m->eager[t] = 1e3 * of.eager;
    }
    return STET_OK;
}

/* The first frames of a new sim, with kernels that this process has compiled before. */
static stet_result start_one(const frame_work *like, const frame_variant *v, bench *b, double *cold, double *warm)
{
    frame_work w = {.nworld = like->nworld, .width = like->width, .height = like->height};
    stet_result result = frame_work_open(&w, b);
    if (result == STET_OK) result = frame_work_begin(&w, v, false);
    if (result == STET_OK) result = stet_device_synchronize(stet_sim_get_device(w.sim));
    if (result == STET_OK) result = frame_work_time(&w, 0, 1, cold);
    if (result == STET_OK) result = frame_work_time(&w, 1, WARM, warm);
    frame_work_close(&w);
    *cold *= 1e3;
    *warm *= 1e3;
    return result;
}

static stet_result measure_starts(measured *m, bench *b, int nstart)
{
    const int variants[STARTED] = {NAIVE, PLAIN, m->full};
    for (int s = 0; s < nstart; ++s)
        for (int i = 0; i < STARTED; ++i) {
            int k = s % 2 ? STARTED - 1 - i : i;
            STI_TRY(start_one(&m->work, &m->variant[variants[k]], b, &m->cold[k][s], &m->warm[k][s]));
        }
    return STET_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* "frame/hand/1225", with the physics where it is not native, and the size of a picture where it is unusual. */
static void name_rows(const bench *b, const frame_work *w, const char *when, char out[BENCH_NAME])
{
    char size[32] = "";
    bool native = b->frame.physics == STET_PHYSICS_NATIVE;
    bool usual = w->width == BENCH_FRAME_EDGE && w->height == BENCH_FRAME_EDGE;
    if (!usual) (void)snprintf(size, sizeof size, "x%dx%d", w->width, w->height);
    (void)snprintf(out, BENCH_NAME, "frame/hand%s%s/%lld%s%s", native ? "" : "_",
                   native ? "" : stet_physics_name(b->frame.physics), (long long)w->nworld, size, when);
}

static void ratios(const double *above, const double *below, int n, double *out)
{
    for (int s = 0; s < n; ++s) out[s] = above[s] / below[s];
}

/* `goal` 0: none; of full, ms. */
static stet_result add_variants(bench *b, const measured *m, bool rests, const char *name, double goal)
{
    double of_naive[FRAME_TURNS], of_full[FRAME_TURNS];
    for (int i = 0; i < m->nvariant; ++i) {
        const frame_variant *v = &m->variant[i];
        const stet_counters *c = &v->counters[rests];
        bench_row *row;
        STI_TRY(bench_add(b, &row, v->ms[rests], m->nturn, "ms a frame", false, "%s/%s_ms", name, v->name));
        if (goal > 0 && i == m->full) bench_goal(row, goal);
        ratios(v->ms[rests], m->variant[NAIVE].ms[rests], m->nturn, of_naive);
        ratios(v->ms[rests], m->variant[m->full].ms[rests], m->nturn, of_full);
        bench_note(row, "%.3g of naive, %.3g of full; %.4g launches, %.4g MB copied, kinematics of %.4g worlds",
                   bench_median(of_naive, m->nturn), bench_median(of_full, m->nturn), (double)c->launches / m->ntimed,
                   1e-6 * (double)c->bytes_copied / m->ntimed, (double)c->kinematics / m->ntimed);
    }
    return STET_OK;
}

/* `goal` 0: none. */
static stet_result add_speedup(bench *b, const measured *m, bool rests, int over, const char *name, double goal)
{
    double ratio[FRAME_TURNS];
    bench_row *row;
    ratios(m->variant[over].ms[rests], m->variant[m->full].ms[rests], m->nturn, ratio);
    STI_TRY(bench_add(b, &row, ratio, m->nturn, "times", true, "%s/full_over_%s", name, m->variant[over].name));
    if (goal > 0) bench_goal(row, goal);
    bench_note(row, "pictures %d x %d, rgb and depth; %d substeps; %d threads; all variants' frames have hash %016llx",
               m->work.width, m->work.height, FRAME_SUBSTEPS, b->threads, (unsigned long long)m->hash[rests]);
    return STET_OK;
}

static stet_result add_starts(bench *b, const measured *m, const char *name, int nstart)
{
    static const char *const names[STARTED] = {"naive", "plain", "full"};
    for (int k = 0; k < STARTED; ++k) {
        bench_row *row;
        STI_TRY(bench_add(b, &row, m->cold[k], nstart, "ms", false, "%s/cold/%s_ms", name, names[k]));
        bench_note(row, "the first frame of a new sim; kernels were compiled before");
        STI_TRY(bench_add(b, &row, m->warm[k], nstart, "ms a frame", false, "%s/warm/%s_ms", name, names[k]));
        bench_note(row, "the %d frames after it, in which recordings are made and compared", WARM);
    }
    return STET_OK;
}

static stet_result add_memory(bench *b, const measured *m, const char *name)
{
    double mb = 1e-6 * (double)m->bytes, kib = (double)m->bytes / 1024 / (double)m->work.nworld;
    char of_gpu[96] = "";
    bench_row *row;
    if (m->device_total)
        (void)snprintf(of_gpu, sizeof of_gpu, "; %.0f MB of the GPU are in use, by code and driver, too",
                       1e-6 * (double)(m->device_total - m->device_free));
    STI_TRY(bench_add(b, &row, &mb, 1, "MB", false, "%s/memory_mb", name));
    bench_note(row, "arrays and their host mirrors, with full: %.1f KiB a world%s", kib, of_gpu);
    return STET_OK;
}

static stet_result add_captured(bench *b, const measured *m, const char *name, bool goals)
{
    double ratio[FRAME_TURNS];
    bench_row *row;
    STI_TRY(bench_add(b, &row, m->captured_host, m->nturn, "us a frame", false, "%s/captured/host_us", name));
    if (goals) bench_goal(row, 20);
    bench_note(row, "of the host to launch a frame of full that the caller captured, as tensor libraries do");
    for (int t = 0; t < m->nturn; ++t) ratio[t] = m->captured[t] / m->eager[t];
    STI_TRY(bench_add(b, &row, ratio, m->nturn, "times", false, "%s/captured/over_eager", name));
    bench_note(row, "%.4g ms a frame of full that is one graph, %.4g the same frame launch by launch; equal frames",
               bench_median(m->captured, m->nturn), bench_median(m->eager, m->nturn));
    return STET_OK;
}

/* `goals`: those of 1225 hands. */
static stet_result add_launching(bench *b, const measured *m, const char *name, bool goals)
{
    bench_row *row;
    if (m->host[0] <= 0) return STET_OK;
    STI_TRY(bench_add(b, &row, m->host, m->nturn, "us a frame", false, "%s/host_us", name));
    if (goals) bench_goal(row, 20);
    bench_note(row, "of the host for a frame of full that the device has not done yet");
    if (m->captured[0] > 0) STI_TRY(add_captured(b, m, name, goals));
    STI_TRY(bench_add(b, &row, m->over_kernels, m->nturn, "times", false, "%s/over_kernels", name));
    if (goals) bench_goal(row, 1.1);
    bench_note(row, "a frame of full over the sum of what its launches and copies take on the device, one by one");
    return STET_OK;
}

static stet_result add_rows(bench *b, const measured *m, int nstart)
{
    /* goals are of the scene that moves, on a GPU that it fills */
    bool goals = *b->gpu && m->work.nworld == 1225 && b->frame.physics == STET_PHYSICS_NATIVE;
    char name[BENCH_NAME];
    for (int rests = 0; rests < 2; ++rests) {
        name_rows(b, &m->work, rests ? "/resting" : "", name);
        STI_TRY(add_variants(b, m, rests, name, goals && !rests && m->work.width == 120 ? 4 : 0));
        STI_TRY(add_speedup(b, m, rests, NAIVE, name, goals && !rests ? 10 : 0));
        STI_TRY(add_speedup(b, m, rests, PLAIN, name, goals && !rests ? 1.5 : 0));
    }
    name_rows(b, &m->work, "", name);
    STI_TRY(add_launching(b, m, name, goals));
    STI_TRY(add_memory(b, m, name));
    return b->frame.brief ? STET_OK : add_starts(b, m, name, nstart);
}

static void choose_schedule(measured *m, const bench *b)
{
    bool many = m->work.nworld >= MANY;
    m->nchecked = many ? LEAST : CHECKED;
    m->nturn = b->frame.brief ? FEW_TURNS : FRAME_TURNS;
    if (b->quick || many) m->nturn = LEAST;
}

static stet_result measure_frame(bench *b, measured *m, int64_t nworld, int width, int height)
{
    int nstart = b->quick ? 2 : STARTS;
    char name[BENCH_NAME];
    *m = (measured){.work = {.nworld = nworld, .width = width, .height = height}};
    choose_schedule(m, b);
    m->nvariant = list_variants(m->variant, b->frame.brief, &m->full);
    name_rows(b, &m->work, "", name);
    bench_progress("%s: worlds are made", name);
    stet_result result = frame_work_open(&m->work, b);
    if (result == STET_OK) bench_progress("%s: kernels are compiled, first frames compared", name);
    for (int rests = 0; rests < 2 && result == STET_OK; ++rests) result = check_frames(m, rests);
    if (result == STET_OK) result = choose_length(m, b);
    if (result == STET_OK) result = take_turns(m, name);
    if (result == STET_OK) bench_progress("%s: memory, launches, first frames of new sims", name);
    if (result == STET_OK) result = measure_memory(m);
    if (result == STET_OK) result = measure_launching(m);
    frame_work_close(&m->work);
    if (result == STET_OK && !b->frame.brief) result = measure_starts(m, b, nstart);
    if (result == STET_OK) result = add_rows(b, m, nstart);
    return result == STET_OK ? bench_keep(b) : result;
}

/* What was asked for, or the usual. */
static bench_frame_def frames_of(const bench *b)
{
    bench_frame_def def = b->frame;
    if (!def.nworlds) {
        def.nworlds = b->quick ? 1 : 2;
        def.nworld[0] = b->quick ? 6 : 64;
        def.nworld[1] = 1225;
    }
    if (!def.nsize) {
        def.nsize = 1;
        def.size[0].width = def.size[0].height = BENCH_FRAME_EDGE;
    }
    return def;
}

stet_result bench_frame(bench *b)
{
    const bench_frame_def def = frames_of(b);
    measured *m;
    STI_TRY(sti_alloc(&m, sizeof *m, "what was measured"));
    stet_result result = STET_OK;
    for (int k = 0; k < def.nsize; ++k)
        for (int i = 0; i < def.nworlds && result == STET_OK; ++i)
            result = measure_frame(b, m, def.nworld[i], def.size[k].width, def.size[k].height);
    sti_free(m);
    return result;
}
