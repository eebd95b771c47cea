/*
 * The springs: right by plain loops in double, the same bits on every instruction set, number of threads, as launches
 * and as recordings; a sheet that falls comes to rest on the floor.
 */
#include "device/devices.h"

#include "base/part.h"
#include "kernel/caller.h"
#include "bench/pilot/springs.h"

#include <math.h>
#include <stdlib.h>

/* After 2000 and after a few steps of 37 worlds; recorded once. */
static const uint64_t GOLDEN = UINT64_C(0x59212a2cd4b0edef), GOLDEN_FEW = UINT64_C(0x68fed815e0ccfc07);
enum { FEW = 10, MANY = 2000 };

enum { M = STI_SPRING_MASSES };

static void *host_copy(const stet_array *a)
{
    void *out = malloc(stet_array_get_bytes(a));
    assert_non_null(out);
    OK(stet_array_read(a, out, stet_array_get_bytes(a)));
    return out;
}

static sti_springs made(stet_device *device, int64_t nworld)
{
    sti_springs s;
    OK(sti_springs_create(device, nworld, &s));
    return s;
}

static void steps(sti_springs *s, int n, bool recorded)
{
    for (int i = 0; i < n; ++i) OK(sti_springs_step(s, recorded));
}

static uint64_t hash_of(const sti_springs *s)
{
    uint64_t hash;
    OK(sti_springs_hash(s, &hash));
    return hash;
}

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

/* One world; forces are summed spring by spring, with no thought of which array comes first. */
typedef struct plain {
    double pos[M][3], vel[M][3], *rest, stiffness, damping;
    int32_t *spring;
    int nspring, touched;
} plain;

static void pull_plainly(const plain *p, double force[M][3])
{
    for (int s = 0; s < p->nspring; ++s) {
        const double *a = p->pos[p->spring[2 * s]], *b = p->pos[p->spring[2 * s + 1]];
        const double *va = p->vel[p->spring[2 * s]], *vb = p->vel[p->spring[2 * s + 1]];
        double way[3], length = 0, rate = 0;
        for (int k = 0; k < 3; ++k) length += (b[k] - a[k]) * (b[k] - a[k]);
        length = sqrt(length);
        for (int k = 0; k < 3; ++k) way[k] = (b[k] - a[k]) / length;
        for (int k = 0; k < 3; ++k) rate += (vb[k] - va[k]) * way[k];
        double tension = p->stiffness * (length - p->rest[s]) + p->damping * rate;
        for (int k = 0; k < 3; ++k) {
            force[p->spring[2 * s]][k] += tension * way[k];
            force[p->spring[2 * s + 1]][k] -= tension * way[k];
        }
    }
}

static void step_plainly(plain *p)
{
    for (int half = 0; half < 2; ++half) {
        double force[M][3];
        for (int i = 0; i < M; ++i) {
            double deep = STI_SPRING_RADIUS - p->pos[i][2], *v = p->vel[i];
            force[i][0] = deep > 0 ? -STI_FLOOR_SLIP * v[0] : 0;
            force[i][1] = deep > 0 ? -STI_FLOOR_SLIP * v[1] : 0;
            p->touched += deep > 0;
            force[i][2] = -STI_SPRING_MASS * STI_SPRING_GRAVITY;
            if (deep > 0) force[i][2] += fmax(0, STI_FLOOR_STIFFNESS * deep - STI_FLOOR_DAMPING * v[2]);
        }
        pull_plainly(p, force);
        for (int i = 0; i < M; ++i)
            for (int k = 0; k < 3; ++k) {
                p->vel[i][k] += STI_SPRING_HALF / STI_SPRING_MASS * force[i][k];
                p->pos[i][k] += STI_SPRING_HALF * p->vel[i][k];
            }
    }
}

static void right_by_plain_loops(void **state)
{
    enum { N = 3 };
    stet_device *device = open_device(STI_ISA_f64, 1);
    sti_springs s = made(device, N);
    plain p[N];
    double *pos = host_copy(s.pos), *stiffness = host_copy(s.stiffness), *damping = host_copy(s.damping);
    double *rest = host_copy(s.rest), largest = 0, moved = 0;
    int32_t *spring = host_copy(s.spring);
    assert_int_equal(s.nspring, 2 * 8 * 7 + 2 * 7 * 7);
    for (int w = 0; w < N; ++w) {
        p[w] = (plain){.rest = rest, .stiffness = stiffness[w], .damping = damping[w], .spring = spring};
        p[w].nspring = s.nspring;
        memcpy(p[w].pos, pos + (ptrdiff_t)w * 3 * M, sizeof p[w].pos);
    }
    steps(&s, 400, false);
    double *now = host_copy(s.pos);
    for (int w = 0; w < N; ++w) {
        for (int i = 0; i < 400; ++i) step_plainly(&p[w]);
        for (int i = 0; i < 3 * M; ++i) {
            largest = fmax(largest, fabs(now[w * 3 * M + i] - p[w].pos[i / 3][i % 3]));
            moved = fmax(moved, fabs(now[w * 3 * M + i] - pos[w * 3 * M + i]));
        }
    }
    if (!(largest < 1e-9)) fail_msg("a mass is %g m off", largest);
    assert_true(moved > 0.1);
    for (int w = 0; w < N; ++w) assert_true(p[w].touched > 0); /* it fell, and met the floor */
    void *all[] = {pos, stiffness, damping, rest, spring, now};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) free(all[k]);
    sti_springs_destroy(&s);
    stet_device_destroy(device);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* One way to make steps. */
typedef struct way {
    const char *name;
    bool recorded, two; /* over two streams by turns */
    uint32_t off;       /* mechanisms */
} way;

#define OFF(mechanism) (1u << STET_MECHANISM_##mechanism)
static const way ways[] = {
    {"launch by launch", false, false, 0},
    {"recorded", true, false, 0},
    {"recorded, args off", true, false, OFF(ARGS)},
    {"recorded, fusion off", true, false, OFF(FUSION)},
    {"recorded, graph_replay off", true, false, OFF(GRAPH_REPLAY)},
    {"recorded, both off", true, false, OFF(ARGS) | OFF(GRAPH_REPLAY)},
    {"recorded, two streams", true, true, 0},
    {"recorded, two streams, args off", true, true, OFF(ARGS)},
    {"recorded, two streams, graph_replay off", true, true, OFF(GRAPH_REPLAY)},
    {"launch by launch, two streams", false, true, 0},
};
enum { WAYS = sizeof ways / sizeof *ways };

static uint64_t steps_hash(stet_device *device, const way *w, int n)
{
    void *stream[2] = {NULL, NULL};
    stet_mechanism_options options = device->mechanisms.options, own = options;
    own.disabled |= w->off;
    sti_springs s = made(device, 37);
    for (int i = 0; i < 2 && w->two; ++i) stream[i] = caller_stream(device);
    OK(stet_device_set_mechanisms(device, &own));
    for (int i = 0; i < n; ++i) {
        if (w->two) OK(stet_device_use_stream(device, stream[i % 2]));
        OK(sti_springs_step(&s, w->recorded));
    }
    if (w->two) OK(stet_device_use_own_stream(device));
    OK(stet_device_set_mechanisms(device, &options));
    for (int i = 0; i < 2 && w->two; ++i) caller_stream_end(device, stream[i]);
    uint64_t hash = hash_of(&s);
    sti_springs_destroy(&s);
    return hash;
}

static void check_way(stet_device *device, const char *name, const way *w, int n, uint64_t want)
{
    uint64_t got = steps_hash(device, w, n);
    if (got != want)
        fail_msg("%s, %s: %016llx, not %016llx", name, w->name, (unsigned long long)got, (unsigned long long)want);
}

/* A GPU takes all steps; on the others, whose threads wait for each other at each launch, a few show as much. */
static void the_same_bits_on_every_device(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        bool all = rig.at == RIG_CUDA;
        for (int w = 0; w < WAYS; ++w)
            if (!ways[w].two || caller_can(rig.device))
                check_way(rig.device, rig.name, &ways[w], all ? MANY : FEW, all ? GOLDEN : GOLDEN_FEW);
    }
}

/*
 * Plainly and recorded; at the widest, where steps are cheap, with each mechanism switched off, too. In part: a few
 * steps.
 */
static void the_same_bits_at_every_width(void **state)
{
    FOR_FLOAT_ISAS(isa)
    {
        stet_device *device = open_device(isa, 1);
        for (int w = 0; w < (isa == (int)sti_isa_best() ? WAYS : 2); ++w)
            if (!ways[w].two)
                check_way(device, stet_device_get_name(device), &ways[w], in_part() ? FEW : MANY,
                          in_part() ? GOLDEN_FEW : GOLDEN);
        stet_device_destroy(device);
    }
}

/* What a world does is no matter of how many others there are. */
static void a_world_alone_is_the_same(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_springs few = made(device, 1), many = made(device, 21);
    steps(&few, 300, false);
    steps(&many, 300, false);
    float *a = host_copy(few.pos), *b = host_copy(many.pos);
    assert_memory_equal(a, b, 3 * M * sizeof *a);
    assert_memory_not_equal(a, b + 3 * M, 3 * M * sizeof *a);
    free(a);
    free(b);
    sti_springs_destroy(&few);
    sti_springs_destroy(&many);
    stet_device_destroy(device);
}

/* ---- what it costs ----------------------------------------------------------------------------------------------- */

static void a_step_is_twenty_launches_and_one_recording(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    sti_springs s = made(device, 5);
    stet_counters c;
    steps(&s, 2, true); /* listed, compared */
    stet_device_clear_counters(device);
    steps(&s, 7, true);
    c = stet_device_get_counters(device);
    assert_int_equal(c.launches, 7 * STI_SPRING_LAUNCHES);
    assert_int_equal(c.mechanism[STET_MECHANISM_GRAPH_REPLAY].hits, 7);
    assert_int_equal(c.mechanism[STET_MECHANISM_GRAPH_REPLAY].misses, 0);
    assert_int_equal(c.mechanism[STET_MECHANISM_ARGS].misses, 0);
    assert_int_equal(c.mechanism[STET_MECHANISM_ARGS].hits, 7 * STI_SPRING_LAUNCHES);
    assert_int_equal(c.bytes_copied, 0);
    sti_springs_destroy(&s);
    stet_device_destroy(device);
}

/* ---- what it does ------------------------------------------------------------------------------------------------ */

static void a_sheet_comes_to_rest_on_the_floor(void **state)
{
    if (in_part()) skip(); /* not before thousands of steps */
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_springs s = made(device, 16);
    steps(&s, 6000, false);
    float *pos = host_copy(s.pos), *vel = host_copy(s.vel);
    for (int i = 0; i < 16 * M; ++i) {
        double speed = hypot(hypot(vel[3 * i], vel[3 * i + 1]), vel[3 * i + 2]);
        assert_true(speed < 0.01);
        /* Each mass is carried by the floor alone: m g = stiffness * depth. */
        assert_true(fabs(pos[3 * i + 2] -
                         (STI_SPRING_RADIUS - STI_SPRING_MASS * STI_SPRING_GRAVITY / STI_FLOOR_STIFFNESS)) < 1e-3);
    }
    free(pos);
    free(vel);
    sti_springs_destroy(&s);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_by_plain_loops),
        cmocka_unit_test(the_same_bits_on_every_device),
        cmocka_unit_test(the_same_bits_at_every_width),
        cmocka_unit_test(a_world_alone_is_the_same),
        cmocka_unit_test(a_step_is_twenty_launches_and_one_recording),
        cmocka_unit_test(a_sheet_comes_to_rest_on_the_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
