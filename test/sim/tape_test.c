/*
 * Tapes over the steps of a sim: the caller's kernels in a step are taken down; what physics on the host writes is
 * noticed.
 */
#include "sim/phases.h"

#include "stet/adjoint.h"

static stet_tape *tape_of(const phases *p)
{
    stet_tape_def def = stet_default_tape_def();
    stet_tape *tape;
    OK(stet_tape_create(stet_sim_get_device(p->sim), &def, &tape));
    return tape;
}

static stet_result steps(const phases *p, stet_tape *tape, int n)
{
    for (int i = 0; i < n; ++i) {
        STI_TRY(stet_tape_step(tape));
        STI_TRY(stet_sim_step(p->sim, 1));
    }
    return STET_OK;
}

static void fill(stet_array *a, double value)
{
    void *mirror;
    OK(sti_array_mirror_write(a, &mirror));
    for (int64_t w = 0; w < a->shape[0]; ++w)
        for (int64_t i = 0; i < a->nitem; ++i) sti_mirror_set(a, mirror, w, i, value);
    sti_array_mirror_written(a);
}

static void kernels_in_a_step_are_taken_down(void **state)
{
    enum { STEPS = 5 };
    phases p = phases_open(&(room_def){.nworld = 5, .physics = STET_PHYSICS_EXTERNAL});
    stet_array *qpos = phases_field(&p, "qpos"), *qvel = phases_field(&p, "qvel"), *ctrl = phases_field(&p, "ctrl");
    stet_array *seen = phases_array(&p, "seen", STET_DTYPE_REAL, 1), *gradient;
    (void)ADD(&p, BEFORE, "k_push", stet_arg_array(qpos), stet_arg_array(qvel), stet_arg_array(ctrl), stet_arg_real(3),
              stet_arg_int(1));
    (void)ADD(&p, AFTER, "k_time", stet_arg_array(ctrl), stet_arg_array(seen), stet_arg_int(0)); /* seen = ctrl */
    stet_tape *tape = tape_of(&p);
    OK(stet_sim_step(p.sim, 1));
    OK(stet_tape_begin(tape));
    OK(stet_tape_end(tape, steps(&p, tape, STEPS)));
    assert_int_equal(stet_tape_get_info(tape).launches, 2 * STEPS);
    OK(stet_tape_get_gradient(tape, seen, &gradient));
    fill(gradient, 1);
    OK(stet_tape_backward(tape));
    OK(stet_tape_get_gradient(tape, qpos, &gradient));
    for (int w = 0; w < 5; ++w) assert_true(phases_real(&p, gradient, w, 0) == 3);
    OK(stet_tape_get_gradient(tape, qvel, &gradient));
    for (int w = 0; w < 5; ++w) assert_true(phases_real(&p, gradient, w, 0) == 3 * 0.2f);
    OK(stet_tape_get_number_gradient(tape, p.kernel[0], "gain", &gradient));
    for (int w = 0; w < 5; ++w)
        assert_true(phases_real(&p, gradient, w, 0) ==
                    phases_real(&p, qpos, w, 0) + 0.2f * phases_real(&p, qvel, w, 0));
    stet_tape_destroy(tape);
    phases_close(&p);
}

static void what_physics_writes_is_noticed(void **state)
{
    phases p = phases_open(&(room_def){.nworld = 5});
    (void)ADD(&p, BEFORE, "k_push", stet_arg_array(phases_field(&p, "qpos")), stet_arg_array(phases_field(&p, "qvel")),
              stet_arg_array(phases_field(&p, "ctrl")), stet_arg_real(3), stet_arg_int(1));
    stet_tape *tape = tape_of(&p);
    OK(stet_tape_begin(tape));
    FAILS(stet_tape_end(tape, steps(&p, tape, 3)), STET_ERROR_UNSUPPORTED,
          "k_push reads array qpos, which was written by a step of MuJoCo's physics");
    stet_tape_destroy(tape);
    phases_close(&p);
}

/* Also before the first launch, and of what follows from the state: there is no gradient through any of it. */
static void what_the_host_computes_has_no_adjoint(void **state)
{
    static const struct {
        const char *array, *by;
        stet_physics physics;
    } rows[] = {{"qpos", "a step of MuJoCo's physics", STET_PHYSICS_MUJOCO},
                {"xpos", "MuJoCo's kinematics", STET_PHYSICS_MUJOCO},
                {"qacc", "MuJoCo's forward dynamics", STET_PHYSICS_MUJOCO},
                {"time", "a step of external physics", STET_PHYSICS_EXTERNAL},
                {"qacc", "MuJoCo's forward dynamics", STET_PHYSICS_EXTERNAL}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        phases p = phases_open(&(room_def){.nworld = 5, .physics = rows[k].physics});
        stet_array *read = phases_field(&p, rows[k].array), *seen = phases_array(&p, "seen", STET_DTYPE_REAL, 1);
        stet_tape *tape = tape_of(&p);
        (void)ADD(&p, AFTER, "k_time", stet_arg_array(read), stet_arg_array(seen), stet_arg_int(0));
        OK(stet_tape_begin(tape));
        FAILS(stet_tape_end(tape, steps(&p, tape, 1)), STET_ERROR_UNSUPPORTED, rows[k].by);
        stet_tape_destroy(tape);
        phases_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_in_a_step_are_taken_down),
        cmocka_unit_test(what_physics_writes_is_noticed),
        cmocka_unit_test(what_the_host_computes_has_no_adjoint),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
