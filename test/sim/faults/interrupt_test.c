/*
 * A long step that is interrupted: it ends between two time steps, says how many it made, and goes on later with the
 * same bits.
 *
 * No number of steps here depends on the clock but that of the steps that were made, which the test asks for.
 */
#include "sim/phases.h"

#include <pthread.h>

enum { WORLDS = 19, ENDLESS = 1000000000 };

typedef struct question {
    int asked, yes_at; /* the question that is answered with yes; 0: none is */
    pthread_t thread;
    stet_sim *sim;
} question;

static bool ask(void *context)
{
    question *q = context;
    assert_true(pthread_equal(q->thread, pthread_self()));
    assert_true(stet_sim_get_steps_made(q->sim) > 0);
    return ++q->asked == q->yes_at;
}

static stet_sim *open_sim(stet_physics physics, bool follows)
{
    return room_open(ROOM_BALL, &(room_def){.nworld = WORLDS,
                                            .threads = 3,
                                            .physics = physics,
                                            .disabled = follows ? 1u << STET_MECHANISM_POSE_SYNC : 0});
}

static void ends_between_two_steps(stet_physics physics, bool follows)
{
    stet_sim *sim = open_sim(physics, follows), *twin = open_sim(physics, false);
    question q = {.thread = pthread_self(), .sim = sim};
    stet_sim_set_interrupt(sim, ask, &q);
    for (int k = 0; k < 3; ++k) {
        q.yes_at = q.asked + 1 + k;
        REFUSED(STET_ERROR_INTERRUPTED, "of 1000000000 time steps", stet_sim_step(sim, ENDLESS));
        assert_int_equal(q.asked, q.yes_at);
        int made = stet_sim_get_steps_made(sim);
        assert_in_range(made, 1, ENDLESS - 1);
        OK(stet_sim_step(twin, made));
        assert_int_equal(stet_sim_get_steps_made(twin), made);
        assert_int_equal(room_state(sim), room_state(twin));
    }
    q.yes_at = 0;
    OK(stet_sim_step(sim, 50));
    assert_int_equal(stet_sim_get_steps_made(sim), 50);
    OK(stet_sim_step(twin, 50));
    assert_int_equal(room_state(sim), room_state(twin));
    stet_sim_destroy(sim);
    stet_sim_destroy(twin);
}

static void mujoco(void **state) { ends_between_two_steps(STET_PHYSICS_MUJOCO, false); }

static void poses_that_follow(void **state) { ends_between_two_steps(STET_PHYSICS_MUJOCO, true); }

/* One time step is never asked about, and nobody is asked any more who was taken back. */
static void who_is_asked(void **state)
{
    stet_sim *sim = open_sim(STET_PHYSICS_MUJOCO, false);
    question q = {.thread = pthread_self(), .sim = sim, .yes_at = 1};
    stet_sim_set_interrupt(sim, ask, &q);
    for (int k = 0; k < 3000; ++k) OK(stet_sim_step(sim, 1));
    assert_int_equal(q.asked, 0);
    stet_sim_set_interrupt(sim, NULL, NULL);
    OK(stet_sim_step(sim, 3000));
    assert_int_equal(q.asked, 0);
    stet_sim_set_interrupt(NULL, ask, &q);
    stet_sim_destroy(sim);
}

/* A mask that steps few worlds quickly must not make the next call deaf. */
static void masks(void **state)
{
    stet_sim *sim = open_sim(STET_PHYSICS_MUJOCO, false);
    question q = {.thread = pthread_self(), .sim = sim};
    uint8_t mask[WORLDS] = {[3] = 1};
    stet_sim_set_interrupt(sim, ask, &q);
    q.yes_at = q.asked + 2;
    REFUSED(STET_ERROR_INTERRUPTED, "interrupted after", stet_sim_step_worlds(sim, mask, ENDLESS));
    for (int w = 0; w < WORLDS; ++w) assert_true((room_field(sim, "time", w, 0) > 0) == (w == 3));
    q.yes_at = q.asked + 1;
    REFUSED(STET_ERROR_INTERRUPTED, "interrupted after", stet_sim_step(sim, ENDLESS));
    stet_sim_destroy(sim);
}

/* Kernels before the physics have run, those after it have not; the next step begins anew. */
static void kernels_in_the_step(void **state)
{
    phases p = phases_open(&(room_def){.nworld = WORLDS, .threads = 2, .physics = STET_PHYSICS_MUJOCO});
    stet_array *order = phases_array(&p, "order", STET_DTYPE_INT, 1);
    question q = {.thread = pthread_self(), .sim = p.sim, .yes_at = 1};
    (void)ADD(&p, BEFORE, "k_note", stet_arg_array(order), stet_arg_int(1));
    (void)ADD(&p, AFTER, "k_note", stet_arg_array(order), stet_arg_int(2));
    stet_sim_set_interrupt(p.sim, ask, &q);
    REFUSED(STET_ERROR_INTERRUPTED, "interrupted after", stet_sim_step(p.sim, ENDLESS));
    assert_in_range(stet_sim_get_steps_made(p.sim), 1, ENDLESS - 1);
    for (int w = 0; w < WORLDS; ++w) assert_int_equal(phases_int(&p, order, w), 1);
    OK(stet_sim_step(p.sim, 3));
    for (int w = 0; w < WORLDS; ++w) assert_int_equal(phases_int(&p, order, w), 112);
    phases_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mujoco), cmocka_unit_test(poses_that_follow),   cmocka_unit_test(who_is_asked),
        cmocka_unit_test(masks),  cmocka_unit_test(kernels_in_the_step),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
