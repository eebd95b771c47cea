/*
 * What goes wrong with the caller's kernels in a step: what is refused, what is destroyed while it is used, the n-th
 * launch, call of the device or allocation that fails. In each case a sentence, nothing half-made, and the next step
 * works.
 */
#include "sim/phases.h"
#include "device/null/null.h"

#include "base/failing.h"

#include <math.h>

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void refused_in_a_sentence(void **state)
{
    phases p = phases_open(&(room_def){.nworld = 5}), q = phases_open(&(room_def){.nworld = 5});
    stet_array *order = phases_array(&p, "order", STET_DTYPE_INT, 1),
               *wide = phases_array(&p, "wide", STET_DTYPE_INT, 2);
    stet_array *far = phases_array(&q, "far", STET_DTYPE_INT, 1),
               *real = phases_array(&p, "numbers", STET_DTYPE_REAL, 1);
    stet_kernel *note = p.kernel[p.nkernel++] = phases_kernel(p.sim, "k_note");
    const stet_arg good[] = {stet_arg_array(order), stet_arg_int(1)}, bad[] = {stet_arg_array(real), stet_arg_int(1)};
    int id = -5;
    FAILS(stet_sim_add_kernel(NULL, BEFORE, note, 5, good, 2, &id), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_sim_add_kernel(p.sim, BEFORE, NULL, 5, good, 2, &id), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_sim_add_kernel(p.sim, STET_PHASE_COUNT, note, 5, good, 2, &id), STET_ERROR_INVALID_ARGUMENT,
          "no phase 3");
    FAILS(stet_sim_add_kernel(q.sim, BEFORE, note, 5, good, 2, &id), STET_ERROR_INVALID_ARGUMENT, "another device");
    FAILS(stet_sim_add_kernel(p.sim, BEFORE, note, 5, bad, 2, &id), STET_ERROR_INVALID_ARGUMENT,
          "parameter order is lint *");
    FAILS(stet_sim_add_kernel(p.sim, BEFORE, note, 4, good, 2, &id), STET_ERROR_INVALID_ARGUMENT, "the launch 4");
    FAILS(stet_sim_add_kernel(p.sim, BEFORE, note, 5, good, 1, &id), STET_ERROR_INVALID_ARGUMENT, "who is missing");
    FAILS(stet_sim_add_kernel(p.sim, BEFORE, note, 5, NULL, 2, &id), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    assert_int_equal(id, -5);
    OK(stet_sim_step(p.sim, 1));
    assert_int_equal(phases_int(&p, order, 0), 0);
    OK(stet_sim_add_kernel(p.sim, BEFORE, note, 5, good, 2, &id));
    assert_int_equal(id, 0);
    FAILS(stet_sim_set_kernel_args(p.sim, id, bad, 2), STET_ERROR_INVALID_ARGUMENT, "parameter order");
    FAILS(stet_sim_set_kernel_args(p.sim, id, good, 1), STET_ERROR_INVALID_ARGUMENT, "who is missing");
    FAILS(stet_sim_set_kernel_args(p.sim, 7, good, 2), STET_ERROR_NOT_FOUND, "no kernel of number 7");
    FAILS(stet_sim_step(p.sim, -1), STET_ERROR_INVALID_ARGUMENT, "-1 time steps");
    assert_int_equal(phases_int(&p, order, 0), 0); /* no kernel ran */

    stet_reset_def def = stet_default_reset_def();
    const uint8_t one[5] = {0, 1};
    FAILS(stet_sim_set_reset(p.sim, wide, &def), STET_ERROR_INVALID_ARGUMENT, "[5][1]");
    FAILS(stet_sim_set_reset(p.sim, real, &def), STET_ERROR_INVALID_ARGUMENT, "of int");
    FAILS(stet_sim_set_reset(p.sim, far, &def), STET_ERROR_INVALID_ARGUMENT, "another device");
    def.keyframe = 99;
    FAILS(stet_sim_set_reset(p.sim, order, &def), STET_ERROR_INVALID_ARGUMENT, "keyframe 99");
    def = stet_default_reset_def();
    def.mask = one;
    FAILS(stet_sim_set_reset(p.sim, order, &def), STET_ERROR_INVALID_ARGUMENT, "leave the mask");
    OK(stet_sim_step(p.sim, 1)); /* the old arguments, and no reset */
    assert_int_equal(phases_int(&p, order, 0), 1);
    phases_close(&p);
    phases_close(&q);
}

static void refused_while_launches_are_listed(void **state)
{
    phases p = phases_open(&(room_def){.nworld = 5});
    stet_array *order = phases_array(&p, "order", STET_DTYPE_INT, 1), *tensor;
    stet_reset_def def = stet_default_reset_def();
    stet_snapshot *snapshot, *other;
    uint64_t hash;
    float frame[12];
    (void)ADD(&p, BEFORE, "k_note", stet_arg_array(order), stet_arg_int(1));
    OK(stet_snapshot_create(stet_sim_get_worlds(p.sim), &snapshot));
    (void)room_render(p.sim);
    OK(stet_record_begin(stet_sim_get_device(p.sim), "mine"));
    const stet_arg args[] = {stet_arg_array(order), stet_arg_int(2)};
    OK(stet_kernel_launch(p.kernel[0], 5, args, 2));
    FAILS(stet_sim_step(p.sim, 1), STET_ERROR_STATE, "stet_sim_step: launches are being listed");
    FAILS(stet_sim_reset(p.sim, &def), STET_ERROR_STATE, "being listed");
    FAILS(stet_sim_restore(p.sim, snapshot), STET_ERROR_STATE, "being listed");
    FAILS(stet_snapshot_create(stet_sim_get_worlds(p.sim), &other), STET_ERROR_STATE, "being listed");
    FAILS(stet_worlds_hash(stet_sim_get_worlds(p.sim), &hash), STET_ERROR_STATE, "being listed");
    FAILS(stet_sim_render(p.sim, NULL), STET_ERROR_STATE, "being listed");
    FAILS(stet_sim_get_array(p.sim, 0, 0, STET_OUTPUT_RGBA, &tensor), STET_ERROR_STATE, "being listed");
    FAILS(stet_stage_flush(stet_sim_get_stage(p.sim), true), STET_ERROR_STATE, "being listed");
    FAILS(stet_stage_read_world(stet_sim_get_stage(p.sim), 1, 0, 1, frame), STET_ERROR_STATE, "being listed");
    OK(stet_record_end(stet_sim_get_device(p.sim), STET_OK));
    OK(stet_sim_step(p.sim, 1));
    assert_int_equal(phases_int(&p, order, 4), 21);
    stet_snapshot_destroy(snapshot);
    phases_close(&p);
}

/* ---- destroyed while in use -------------------------------------------------------------------------------------- */

static void what_is_destroyed_is_told_at_the_next_step(void **state)
{
    phases p = phases_open(&(room_def){.nworld = 3, .physics = STET_PHYSICS_EXTERNAL});
    stet_array *order = phases_array(&p, "order", STET_DTYPE_INT, 1);
    int first = ADD(&p, BEFORE, "k_note", stet_arg_array(order), stet_arg_int(1));
    int second = ADD(&p, AFTER, "k_note", stet_arg_array(order), stet_arg_int(2));
    for (int i = 0; i < 3; ++i) OK(stet_sim_step(p.sim, 1)); /* a recording holds them */

    stet_kernel_destroy(p.kernel[1]);
    p.kernel[1] = NULL;
    for (int i = 0; i < 2; ++i)
        FAILS(stet_sim_step(p.sim, 1), STET_ERROR_STATE, "kernel k_note is a part of it and was destroyed");
    const stet_arg args[] = {stet_arg_array(order), stet_arg_int(3)};
    FAILS(stet_sim_set_kernel_args(p.sim, second, args, 2), STET_ERROR_STATE, "was destroyed");
    OK(stet_sim_remove_kernel(p.sim, second));
    assert_int_equal(phases_int(&p, order, 0), 121212);
    assert_true(fabsf(room_field(p.sim, "time", 0, 0) - 3 * 0.005f) < 1e-6f); /* nothing had happened */
    OK(stet_sim_step(p.sim, 1));
    assert_int_equal(phases_int(&p, order, 0), 1212121);

    stet_array_destroy(order);
    p.array[0] = NULL;
    FAILS(stet_sim_step(p.sim, 1), STET_ERROR_STATE, "kernel k_note takes array order, which was destroyed");
    stet_array *other = phases_array(&p, "other", STET_DTYPE_INT, 1);
    const stet_arg again[] = {stet_arg_array(other), stet_arg_int(3)};
    OK(stet_sim_set_kernel_args(p.sim, first, again, 2));
    OK(stet_sim_step(p.sim, 1));
    assert_int_equal(phases_int(&p, other, 2), 3);

    stet_array *mask = phases_array(&p, "done", STET_DTYPE_INT, 1);
    OK(stet_sim_set_reset(p.sim, mask, NULL));
    OK(stet_sim_step(p.sim, 1));
    stet_array_destroy(mask);
    p.array[p.narray - 1] = NULL;
    FAILS(stet_sim_step(p.sim, 1), STET_ERROR_STATE, "mask done of the reset was destroyed");
    OK(stet_sim_set_reset(p.sim, NULL, NULL));
    OK(stet_sim_step(p.sim, 1));
    phases_close(&p);
}

/* The stage's arrays are others when it grows. */
static void an_array_of_the_stage_that_grew(void **state)
{
    phases p = phases_open(&(room_def){.nworld = 2});
    stet_array *height = phases_array(&p, "height", STET_DTYPE_REAL, 1), *world;
    static const float frame[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2};
    int prim;
    OK(stet_stage_get_arrays(stet_sim_get_stage(p.sim), NULL, &world));
    int id = ADD(&p, AFTER, "k_where", stet_arg_array(world), stet_arg_array(height), stet_arg_int(1));
    OK(stet_sim_step(p.sim, 1));
    for (int i = 0; i < 300; ++i) OK(stet_stage_add(stet_sim_get_stage(p.sim), 0, NULL, frame, false, &prim));
    FAILS(stet_sim_step(p.sim, 1), STET_ERROR_STATE, "world transforms, which was destroyed");
    OK(stet_stage_get_arrays(stet_sim_get_stage(p.sim), NULL, &world));
    const stet_arg args[] = {stet_arg_array(world), stet_arg_array(height), stet_arg_int(prim)};
    OK(stet_sim_set_kernel_args(p.sim, id, args, 3));
    OK(stet_sim_step(p.sim, 1));
    assert_true(phases_real(&p, height, 1, 0) == 2);
    phases_close(&p);
}

static void the_sim_may_go_first(void **state)
{
    for (int k = 0; k < 3; ++k) {
        phases p = phases_open(&(room_def){.nworld = 9});
        (void)phases_episode(&p, true);
        for (int i = 0; i < 3 * k; ++i) OK(stet_sim_step(p.sim, 1));
        stet_sim_destroy(p.sim);
        p.sim = NULL;
        if (k == 1) stet_array_destroy(p.array[0]);
        p.array[0] = k == 1 ? NULL : p.array[0];
        phases_close(&p);
    }
    assert_int_equal(stet_get_memory_stats().blocks, 0);
}

/* ---- a launch fails ---------------------------------------------------------------------------------------------- */

static const sti_device_ops *true_ops;
static int fail_in; /* launches until the one that fails; 0: none */

static stet_result failing_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot,
                                  int64_t nblock, bool in_block)
{
    if (fail_in > 0 && --fail_in == 0) return sti_error(STET_ERROR_DEVICE, "the launch was made to fail");
    return true_ops->launch(device, code, slots, nslot, nblock, in_block);
}

static phases open_notes(stet_physics physics, stet_array **order)
{
    static const stet_phase phase[] = {STET_PHASE_BEFORE_PHYSICS, STET_PHASE_BEFORE_PHYSICS, STET_PHASE_AFTER_PHYSICS,
                                       STET_PHASE_AFTER_PHYSICS, STET_PHASE_AFTER_RESET};
    phases p = phases_open(&(room_def){.nworld = 3, .physics = physics});
    *order = phases_array(&p, "order", STET_DTYPE_INT, 1);
    for (int i = 0; i < 5; ++i) (void)ADD(&p, phase[i], "k_note", stet_arg_array(*order), stet_arg_int(i + 1));
    return p;
}

/* A step whose n-th launch fails, after some that work. False: it has no n-th. */
static bool step_with_a_failure(stet_physics physics, int before, int n)
{
    static const int32_t zero[3];
    static sti_device_ops ops;
    stet_array *order;
    phases p = open_notes(physics, &order);
    true_ops = stet_sim_get_device(p.sim)->ops;
    ops = *true_ops;
    ops.launch = failing_launch;
    stet_sim_get_device(p.sim)->ops = &ops;
    for (int i = 0; i < before; ++i) OK(stet_sim_step(p.sim, 2));
    OK(stet_array_write(order, zero, sizeof zero));
    fail_in = n;
    stet_result result = stet_sim_step(p.sim, 2);
    bool failed = fail_in == 0;
    fail_in = 0;
    int done = phases_int(&p, order, 1);
    if (result == STET_OK)
        assert_int_equal(done, 12345); /* what was not replayed was launched one by one */
    else
        assert_true(done == 0 || done == 1 || done == 12 || done == 123 || done == 1234);
    if (result != STET_OK && !strstr(stet_get_last_error(), "made to fail")) fail_msg("'%s'", stet_get_last_error());
    if (failed && result == STET_OK)
        assert_true(room_counters(p.sim).mechanism[STET_MECHANISM_GRAPH_REPLAY].fallbacks > 0);
    for (int i = 0; i < 3; ++i) {
        OK(stet_array_write(order, zero, sizeof zero));
        OK(stet_sim_step(p.sim, 2));
        for (int w = 0; w < 3; ++w) assert_int_equal(phases_int(&p, order, w), 12345);
    }
    phases_close(&p);
    return failed;
}

static void each_launch_fails_once(void **state)
{
    static const stet_physics physics[] = {STET_PHYSICS_MUJOCO, STET_PHYSICS_EXTERNAL};
    for (int k = 0; k < 2; ++k)
        for (int before = 0; before < 3; ++before) { /* launched one by one; compared; replayed */
            int n = 1;
            while (step_with_a_failure(physics[k], before, n)) ++n;
            int fused = k == 0 ? 2 : 1; /* lists: MuJoCo's physics on the host stands between kernels */
            assert_int_equal(n - 1, (before == 2 ? 0 : 5) + (before == 0 ? 0 : fused));
        }
}

/* ---- any call of a device, any allocation ------------------------------------------------------------------------ */

static void each_call_of_a_null_device_fails_once(void **state)
{
    for (int64_t n = 1;; ++n) {
        stet_sim_def def = room_sim_def(&(room_def){.nworld = 5, .physics = STET_PHYSICS_EXTERNAL});
        def.device.type = STET_DEVICE_NULL;
        def.device.null = &(sti_null_def){.lanes = 4};
        phases p = {.nworld = 5};
        stet_model *model = rig_model("cartpole.xml");
        OK(stet_sim_create(model, &def, &p.sim));
        stet_model_destroy(model);
        episode e = phases_episode(&p, true);
        const int32_t mask[5] = {0, 1, 0, 0, 1};
        bool failed = false;
        OK(sti_null_fail(stet_sim_get_device(p.sim), STI_NULL_OP_ANY, n));
        for (int i = 0; i < 4; ++i) {
            while (stet_array_write(e.done, mask, sizeof mask) != STET_OK) failed = true;
            if (stet_sim_step(p.sim, 1) == STET_OK) continue;
            if (failed || !strstr(stet_get_last_error(), "as it was told to")) fail_msg("'%s'", stet_get_last_error());
            failed = true;
            --i;
        }
        failed = failed || room_counters(p.sim).mechanism[STET_MECHANISM_GRAPH_REPLAY].fallbacks > 0;
        phases_close(&p);
        assert_int_equal(stet_get_memory_stats().blocks, 0);
        if (failed) continue;
        print_message("%lld calls of the device, each failed once\n", (long long)n - 1);
        assert_true(n > 30);
        break;
    }
}

/* Kernels are there; adding, stepping, removing may lack memory. */
static stet_result short_life(void)
{
    stet_sim_def def = room_sim_def(&(room_def){.nworld = 3, .physics = STET_PHYSICS_EXTERNAL});
    stet_model *model = NULL;
    stet_sim *sim = NULL;
    stet_kernel *note = NULL;
    stet_array *order = NULL, *mask = NULL;
    stet_kernel_def kernel = stet_default_kernel_def();
    kernel.source = phases_source;
    kernel.name = "k_note";
    kernel.cache_folder = folder;
    stet_reset_def reset = phases_noise();
    stet_result result = stet_model_load_string(ROOM_BALL, &model);
    if (result == STET_OK) result = stet_sim_create(model, &def, &sim);
    if (result == STET_OK) result = stet_kernel_create(stet_sim_get_device(sim), &kernel, &note);
    if (result == STET_OK) result = STI_ARRAY(stet_sim_get_device(sim), "order", STET_DTYPE_INT, true, &order, 3, 1);
    if (result == STET_OK) result = STI_ARRAY(stet_sim_get_device(sim), "mask", STET_DTYPE_INT, true, &mask, 3, 1);
    for (int i = 0; i < 10 && result == STET_OK; ++i) {
        const stet_arg args[] = {stet_arg_array(order), stet_arg_int(i % 2)};
        result = stet_sim_add_kernel(sim, (stet_phase)(i % 3), note, 3, args, 2, NULL);
    }
    if (result == STET_OK) result = stet_sim_set_reset(sim, mask, &reset);
    static const int32_t some[3] = {1, 0, 1};
    for (int i = 0; i < 3 && result == STET_OK; ++i) {
        result = stet_array_write(mask, some, sizeof some);
        if (result == STET_OK) result = stet_sim_step(sim, 1);
    }
    stet_kernel_destroy(note);
    stet_sim_destroy(sim);
    stet_array_destroy(order);
    stet_array_destroy(mask);
    stet_model_destroy(model);
    return result;
}

static void each_allocation_fails_once(void **state)
{
    assert_int_equal(short_life(), STET_OK);
    int64_t n = fail_each_allocation(short_life, true);
    print_message("%lld allocations, each failed once\n", (long long)n);
    assert_true(n > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_in_a_sentence),
        cmocka_unit_test(refused_while_launches_are_listed),
        cmocka_unit_test(what_is_destroyed_is_told_at_the_next_step),
        cmocka_unit_test(an_array_of_the_stage_that_grew),
        cmocka_unit_test(the_sim_may_go_first),
        cmocka_unit_test(each_launch_fails_once),
        cmocka_unit_test(each_call_of_a_null_device_fails_once),
        cmocka_unit_test(each_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
