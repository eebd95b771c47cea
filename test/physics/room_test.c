/*
 * Room for contacts: it begins small, and grows. It decides nothing, because worlds without room make their steps with
 * other memory. Runs with little room in the beginning are held against runs with room for all contacts.
 */
#include "physics/balls.h"
#include "physics/native_state.h"
#include "worlds/rig.h"

#include "base/dice.h"
#include "base/failing.h"
#include "kernel/record/record.h"
#include "stet/kernel.h"

#include <math.h>

enum { N = 9, TEXT = 1 << 15, ALL = 1 << 20 };

typedef struct run {
    rig r;
    sti_native *native;
} run;

/* A room of -1 is that of the beginning; it is not counted for the first step. */
static run begin(const char *text, const char *isa, int room)
{
    run x = {.r = rig_make(text, N, isa, 2, false)};
    OK(sti_native_create(x.r.worlds, &x.native));
    x.native->begun = true;
    if (room >= 0) OK(sti_native_set_room(x.native, room));
    return x;
}

static void end(run *x)
{
    sti_native_destroy(x->native);
    rig_free(&x->r);
}

static int room_of(const run *x) { return sti_physics_room(&x->native->tables); }

static uint32_t fault_of(const run *x, int64_t w) { return stet_worlds_get_faults(x->r.worlds)[w]; }

static void check_same(const run *a, const run *b, int64_t w)
{
    static const char *const fields[] = {"qpos", "qvel", "act", "time", "qacc_warmstart", "step_sensordata"};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f)
        for (int64_t i = 0; i < rig_array(&a->r, fields[f])->nitem; ++i) {
            double x = rig_get(&a->r, fields[f], w, i), y = rig_get(&b->r, fields[f], w, i);
            assert_true(x == y && signbit(x) == signbit(y));
        }
}

/* ---- one world that has too many at once ------------------------------------------------------------------------- */

/* World `busy` lies on the floor, the others fly. */
static void place_balls(const run *x, int64_t busy)
{
    for (int64_t w = 0; w < N; ++w) {
        for (int64_t i = 0; i < 7; ++i) rig_set(&x->r, "qpos", w, i, i == 3 ? 1 : 0);
        for (int64_t i = 0; i < 6; ++i) rig_set(&x->r, "qvel", w, i, i == 0 ? 0.1f * (float)w : 0);
        for (int64_t i = 0; i < 6; ++i) rig_set(&x->r, "qacc_warmstart", w, i, 0);
        rig_set(&x->r, "qpos", w, 2, w == busy ? 0.049f : 0.5f + 0.01f * (float)w);
    }
}

static void step_both(run *a, run *b, int n)
{
    for (int i = 0; i < n; ++i) {
        OK(sti_native_steps(a->native, NULL, 2));
        OK(sti_native_steps(b->native, NULL, 2));
    }
}

static void check_all(const run *a, const run *b)
{
    for (int64_t w = 0; w < N; ++w) {
        assert_int_equal(fault_of(a, w), 0);
        check_same(a, b, w);
    }
}

/* A world makes its steps without room; then there is room. */
static void kf42_an_overflow_is_no_fault_and_the_room_grows(void **state)
{
    enum { BUSY = 3, BALLS = 144 };
    run x = begin(many_balls(), NULL, -1), all = begin(many_balls(), NULL, ALL);
    int before = room_of(&x);
    assert_true(before < BALLS && room_of(&all) == BALLS);
    place_balls(&x, BUSY);
    place_balls(&all, BUSY);
    step_both(&x, &all, 4);
    check_all(&x, &all);
    assert_int_equal(room_of(&x), BALLS); /* no more than there can be */
    stet_reset_def reset = stet_default_reset_def();
    OK(stet_worlds_reset(x.r.worlds, &reset));
    OK(stet_worlds_reset(all.r.worlds, &reset));
    place_balls(&x, BUSY);
    place_balls(&all, BUSY);
    step_both(&x, &all, 4);
    check_all(&x, &all);
    end(&x);
    end(&all);
}

/* Where there is no room for more, a world goes on with its deepest contacts and is flagged; the others do not. */
static void at_the_limit_a_world_is_flagged(void **state)
{
    enum { BUSY = 3, LITTLE = 5 };
    run x = begin(many_balls(), NULL, LITTLE), all = begin(many_balls(), NULL, ALL);
    x.native->tables.m[M_HOLDS] = 0;
    place_balls(&x, BUSY);
    place_balls(&all, BUSY);
    step_both(&x, &all, 3);
    for (int64_t w = 0; w < N; ++w) {
        assert_int_equal(fault_of(&x, w), w == BUSY ? 1u << STET_FAULT_CONTACTS_FULL : 0);
        if (w != BUSY) check_same(&x, &all, w);
    }
    for (int64_t i = 0; i < 7; ++i) assert_true(isfinite(rig_get(&x.r, "qpos", BUSY, i)));
    end(&x);
    end(&all);
}

/* No device lacks room for what a run begins with, in a list or not. */
static void kf48_the_first_step_has_room(void **state)
{
    enum { BUSY = 3 };
    for (int listed = 0; listed < 2; ++listed) {
        run x = begin(many_balls(), NULL, -1), all = begin(many_balls(), NULL, ALL);
        int before = room_of(&x);
        x.native->begun = false;
        place_balls(&x, BUSY);
        place_balls(&all, BUSY);
        if (listed) OK(stet_record_begin(x.r.device, "a step"));
        stet_result result = sti_native_steps(x.native, NULL, 1);
        assert_true(room_of(&x) > before);
        if (listed) OK(stet_record_end(x.r.device, result));
        OK(sti_native_steps(all.native, NULL, 1));
        check_all(&x, &all);
        end(&x);
        end(&all);
    }
}

/* What follows a step in its list reads worlds that have made it, whatever the room; so do later steps of the list. */
static void what_follows_in_a_list_sees_the_step(void **state)
{
    enum { BUSY = 3, LISTS = 4 };
    run x = begin(many_balls(), NULL, -1), all = begin(many_balls(), NULL, ALL);
    stet_array *seen;
    int64_t nq = rig_array(&x.r, "qpos")->nitem;
    OK(STI_ARRAY(x.r.device, "seen", STET_DTYPE_REAL, true, &seen, N, nq));
    place_balls(&x, BUSY);
    place_balls(&all, BUSY);
    int before = room_of(&x);
    for (int i = 0; i < LISTS; ++i) {
        OK(stet_record_begin(x.r.device, "steps and a copy"));
        OK(sti_native_steps(x.native, NULL, 2));
        OK(sti_record_copy(seen, rig_array(&x.r, "qpos")));
        OK(sti_native_steps(x.native, NULL, 1));
        OK(stet_record_end(x.r.device, STET_OK));
        assert_int_equal(room_of(&x), before); /* nobody has looked */
        OK(sti_native_steps(all.native, NULL, 2));
        OK(sti_array_ensure(seen));
        for (int64_t w = 0; w < N; ++w)
            for (int64_t k = 0; k < nq; ++k) assert_true(reals_get(seen, w, k) == rig_get(&all.r, "qpos", w, k));
        OK(sti_native_steps(all.native, NULL, 1));
    }
    check_all(&x, &all);
    stet_array_destroy(seen);
    end(&x);
    end(&all);
}

/* Worlds that a mask leaves out stay, whether they had room or not. */
static void a_mask_leaves_worlds_where_they_are(void **state)
{
    run x = begin(many_balls(), NULL, -1), all = begin(many_balls(), NULL, ALL);
    uint64_t dice = dice_seed("a_mask_leaves_worlds_where_they_are");
    for (int i = 0; i < 12; ++i) {
        uint8_t mask[N];
        int steps = 1 + (int)dice_below(&dice, 4);
        for (int w = 0; w < N; ++w) mask[w] = dice_next(&dice) % 2 == 0;
        if (i % 4 == 0) place_balls(&x, i / 4);
        if (i % 4 == 0) place_balls(&all, i / 4);
        if (i % 4 == 2) OK(sti_native_set_room(x.native, 5 + i));
        bool listed = i % 3 == 1;
        if (listed) OK(stet_record_begin(x.r.device, "steps"));
        stet_result result = sti_native_steps(x.native, mask, steps);
        if (listed) result = stet_record_end(x.r.device, result);
        OK(result);
        OK(sti_native_steps(all.native, mask, steps));
        check_all(&x, &all);
    }
    end(&x);
    end(&all);
}

/* Quantities of a state that has more contacts than room have all of them, too. */
static void reads_have_all_contacts(void **state)
{
    enum { BUSY = 3 };
    run x = begin(many_balls(), NULL, -1), all = begin(many_balls(), NULL, ALL);
    static const char *const names[] = {"qacc", "qfrc_constraint", "cacc"};
    place_balls(&x, BUSY);
    place_balls(&all, BUSY);
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        stet_array *a, *b;
        OK(sti_native_quantity(x.native, names[k], &a));
        OK(sti_native_quantity(all.native, names[k], &b));
        OK(sti_array_ensure(a));
        OK(sti_array_ensure(b));
        bool busy = false;
        for (int64_t i = 0; i < a->nitem; ++i) {
            for (int64_t w = 0; w < N; ++w) assert_true(reals_get(a, w, i) == reals_get(b, w, i));
            busy = busy || reals_get(a, BUSY, i) != reals_get(a, BUSY + 1, i);
        }
        assert_true(busy);
        stet_array_destroy(a);
        stet_array_destroy(b);
    }
    end(&x);
    end(&all);
}

/* A step that fails for want of memory has stepped no world; the next one goes on as if it had not been tried. */
static void without_memory_no_world_has_stepped(void **state)
{
    enum { BUSY = 3, LITTLE = 20 };
    failing f = {0};
    OK(stet_set_allocator(failing_alloc, failing_free, &f));
    run all = begin(many_balls(), NULL, ALL), still = begin(many_balls(), NULL, ALL);
    if (!sti_native_is_whole(all.native)) { /* stages that are launched one by one are there to be measured */
        end(&all);
        end(&still);
        OK(stet_set_allocator(NULL, NULL, NULL));
        skip();
    }
    place_balls(&all, BUSY);
    place_balls(&still, BUSY);
    OK(sti_native_steps(all.native, NULL, 3));
    const test_part p = all.r.device->can.host_memory ? (test_part){1, 1} : choose_part(5);
    int refused = 0;
    f.failed = true;
    for (int64_t k = p.first; f.failed; k += p.step) {
        run x = begin(many_balls(), NULL, LITTLE);
        place_balls(&x, BUSY);
        f.failed = false;
        f.fail_at = f.calls + k;
        stet_result result = sti_native_steps(x.native, NULL, 3);
        bool failed = f.failed;
        f.fail_at = 0;
        if (result != STET_OK) {
            assert_int_equal(result, STET_ERROR_OUT_OF_MEMORY);
            check_all(&x, &still);
            OK(sti_native_steps(x.native, NULL, 3));
            refused++;
        }
        check_all(&x, &all);
        end(&x);
        f.failed = failed;
    }
    assert_in_range(refused, 1, 2000);
    end(&all);
    end(&still);
    OK(stet_set_allocator(NULL, NULL, NULL));
}

/* Recorded launches had the old memory; what is replayed after the room has grown has the new one. */
static void kf5_listed_steps_follow_the_room_that_grew(void **state)
{
    enum { BUSY = 3, LISTS = 6, GROWN = 3 };
    run x = begin(many_balls(), NULL, -1), all = begin(many_balls(), NULL, ALL);
    stet_reset_def reset = stet_default_reset_def();
    int before = room_of(&x);
    for (int i = 0; i < LISTS; ++i) {
        if (i == 1 || i == GROWN) {
            OK(stet_worlds_reset(x.r.worlds, &reset));
            OK(stet_worlds_reset(all.r.worlds, &reset));
            place_balls(&x, BUSY);
            place_balls(&all, BUSY);
        }
        OK(stet_record_begin(x.r.device, "steps"));
        stet_result result = sti_native_steps(x.native, NULL, 2);
        if (result == STET_OK) result = sti_native_steps(x.native, NULL, 1);
        OK(stet_record_end(x.r.device, result));
        OK(sti_native_steps(all.native, NULL, 3));
        check_all(&x, &all);
        assert_int_equal(room_of(&x) > before, i > 0);
    }
    end(&x);
    end(&all);
}

/* A snapshot of a run that has grown goes on in worlds that have not, without a fault. */
static void a_state_goes_on_with_its_room(void **state)
{
    enum { BUSY = 3 };
    run x = begin(many_balls(), NULL, -1), fresh = begin(many_balls(), NULL, -1);
    stet_snapshot *s;
    place_balls(&x, BUSY);
    OK(sti_native_steps(x.native, NULL, 2));
    assert_int_equal(fault_of(&x, BUSY), 0);
    stet_reset_def reset = stet_default_reset_def();
    OK(stet_worlds_reset(x.r.worlds, &reset));
    place_balls(&x, BUSY);
    OK(sti_native_steps(x.native, NULL, 2));
    OK(stet_snapshot_create(x.r.worlds, &s));
    OK(stet_worlds_restore(fresh.r.worlds, s));
    assert_int_equal(room_of(&fresh), room_of(&x));
    step_both(&x, &fresh, 4);
    for (int64_t w = 0; w < N; ++w) {
        assert_int_equal(fault_of(&fresh, w), 0);
        check_same(&x, &fresh, w);
    }
    stet_snapshot_destroy(s);
    end(&x);
    end(&fresh);
}

/* Tables that parameters of worlds make anew have the room that the old ones had. */
static void parameters_keep_the_room(void **state)
{
    run x = begin(many_balls(), NULL, 70), all = begin(many_balls(), NULL, ALL);
    double mass[2] = {0, 2};
    uint8_t mask[N] = {[2] = 1};
    place_balls(&x, -1);
    place_balls(&all, -1);
    for (int stage = 0; stage < 2; ++stage) {
        OK(stet_worlds_set_parameter_where(x.r.worlds, "body_mass", mask, stage ? NULL : mass, 2));
        OK(stet_worlds_set_parameter_where(all.r.worlds, "body_mass", mask, stage ? NULL : mass, 2));
        step_both(&x, &all, 2);
        assert_int_equal(room_of(&x), 70);
        for (int64_t w = 0; w < N; ++w) check_same(&x, &all, w);
    }
    end(&x);
    end(&all);
}

/* ---- random piles ------------------------------------------------------------------------------------------------ */

/* Bodies of all kinds over a floor; in some worlds they are thrown together, in others far apart. */
static void draw_pile(uint64_t *dice, char *text, int nbody)
{
    static const char *const geoms[] = {"size='.1'", "type='capsule' size='.06 .1'", "type='box' size='.1 .08 .06'"};
    size_t at = (size_t)snprintf(text, TEXT,
                                 "<mujoco><option timestep='.004' cone='%s' integrator='%s'/><worldbody><geom "
                                 "type='plane' size='9 9 1'/>",
                                 dice_next(dice) % 2 ? "elliptic" : "pyramidal",
                                 dice_next(dice) % 2 ? "Euler" : "implicitfast");
    for (int b = 0; b < nbody; ++b) {
        static const int condims[] = {1, 3, 3, 4};
        at += (size_t)snprintf(text + at, TEXT - at, "<body pos='%d 0 .12'><freejoint/><geom condim='%d' %s/></body>",
                               b, condims[dice_next(dice) % 4], geoms[dice_next(dice) % 3]);
    }
    (void)snprintf(text + at, TEXT - at, "</worldbody></mujoco>");
}

/* Piles, the wider the world's number modulo 3; those of the last world are in the air and touch nothing. */
static void place_pile(const run *x, int nbody, uint64_t seed)
{
    for (int64_t w = 0; w < N; ++w) {
        uint64_t dice = seed * 31 + (uint64_t)w;
        double apart = w % 3 == 0 ? 0.12 : w % 3 == 1 ? 0.3 : 1;
        for (int b = 0; b < nbody; ++b) {
            double where[3] = {b % 2 * apart, b / 2 % 2 * apart, (w == N - 1 ? 9 : 0.12) + b / 4 * apart};
            for (int i = 0; i < 3; ++i)
                rig_set(&x->r, "qpos", w, 7 * b + i, (float)(where[i] + 0.03 * (double)dice_below(&dice, 1000) / 1000));
        }
    }
}

static void check_pile(const char *text, int nbody, uint64_t seed, const char *isa, int *grown)
{
    enum { LITTLE = 5, CALLS = 20 };
    run x = begin(text, isa, LITTLE), all = begin(text, isa, ALL);
    place_pile(&x, nbody, seed);
    place_pile(&all, nbody, seed);
    step_both(&x, &all, CALLS);
    for (int64_t w = 0; w < N; ++w) assert_int_equal(fault_of(&all, w), 0);
    check_all(&x, &all);
    *grown += room_of(&x) > LITTLE;
    if (room_of(&x) < room_of(&all)) { /* else there is no room for more */
        assert_int_equal(room_of(&x) % LITTLE, 0);
        int times = room_of(&x) / LITTLE; /* a power of two: code that a GPU compiled for another run fits */
        assert_int_equal(times & (times - 1), 0);
    }
    end(&x);
    end(&all);
}

static void kf41_worlds_do_not_depend_on_room(void **state)
{
    enum { MODELS = 6, BODIES = 6 };
    static char text[TEXT];
    uint64_t dice = dice_seed("kf41_worlds_do_not_depend_on_room");
    int grown = 0;
    for (int k = 0; k < MODELS; ++k) {
        draw_pile(&dice, text, BODIES);
        check_pile(text, BODIES, dice_next(&dice), NULL, &grown);
    }
    assert_int_equal(grown, MODELS);
}

/*
 * A call of many time steps in which worlds run out of room at different ones, some more than once, with each
 * integrator; a sensor shows that of the last step.
 */
static void kf49_worlds_without_room_are_caught_up(void **state)
{
    enum { LITTLE = 1, STEPS = 60 };
    static const char *const integrators[] = {"Euler", "implicitfast", "RK4"};
    for (int k = 0; k < 3; ++k) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "<mujoco><option timestep='.004' integrator='%s'/><worldbody><geom type='plane' size='9 9 1'/>"
                       "<replicate count='6' offset='.3 0 .05'><body pos='0 0 .12'><freejoint/><geom size='.1 .08 .06' "
                       "type='box'/><site name='s'/></body></replicate></worldbody><sensor><accelerometer site='s0'/>"
                       "</sensor></mujoco>",
                       integrators[k]);
        run x = begin(text, NULL, LITTLE), all = begin(text, NULL, ALL);
        run *both[] = {&x, &all};
        for (int r = 0; r < 2; ++r)
            for (int64_t w = 0; w < N; ++w) rig_set(&both[r]->r, "qvel", w, 2, -0.2f * (float)w);
        OK(sti_native_steps(x.native, NULL, STEPS));
        for (int i = 0; i < STEPS; ++i) OK(sti_native_steps(all.native, NULL, 1));
        check_all(&x, &all);
        OK(sti_native_steps(x.native, NULL, 1)); /* which looks, on a processor; reading faults did elsewhere */
        assert_true(room_of(&x) > LITTLE);
        end(&x);
        end(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf42_an_overflow_is_no_fault_and_the_room_grows),
        cmocka_unit_test(at_the_limit_a_world_is_flagged),
        cmocka_unit_test(kf48_the_first_step_has_room),
        cmocka_unit_test(what_follows_in_a_list_sees_the_step),
        cmocka_unit_test(a_mask_leaves_worlds_where_they_are),
        cmocka_unit_test(reads_have_all_contacts),
        cmocka_unit_test(without_memory_no_world_has_stepped),
        cmocka_unit_test(kf5_listed_steps_follow_the_room_that_grew),
        cmocka_unit_test(a_state_goes_on_with_its_room),
        cmocka_unit_test(parameters_keep_the_room),
        cmocka_unit_test(kf41_worlds_do_not_depend_on_room),
        cmocka_unit_test(kf49_worlds_without_room_are_caught_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
