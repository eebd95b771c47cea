/*
 * The caller's kernels inside a step: in which order they run, what is counted, that nothing changes a bit, the reset
 * by mask. What goes wrong: phase_fault_test.c.
 */
#include "sim/phases.h"

#include "base/hash.h"

#include <math.h>

#define ROW(c) ((c).mechanism[STET_MECHANISM_GRAPH_REPLAY])

/* ---- order ------------------------------------------------------------------------------------------------------- */

static void phases_in_order_kernels_in_the_order_of_adding(void **state)
{
    static const stet_physics physics[] = {STET_PHYSICS_MUJOCO, STET_PHYSICS_EXTERNAL};
    for (int k = 0; k < 2; ++k) {
        phases p = phases_open(&(room_def){.nworld = 5, .physics = physics[k], .strict = true});
        stet_array *order = phases_array(&p, "order", STET_DTYPE_INT, 1),
                   *seen = phases_array(&p, "seen", STET_DTYPE_REAL, 3);
        stet_array *time = phases_field(&p, "time");
        (void)ADD(&p, RESET, "k_note", stet_arg_array(order), stet_arg_int(5));
        int gone = ADD(&p, AFTER, "k_note", stet_arg_array(order), stet_arg_int(9));
        (void)ADD(&p, AFTER, "k_note", stet_arg_array(order), stet_arg_int(3));
        (void)ADD(&p, BEFORE, "k_note", stet_arg_array(order), stet_arg_int(1));
        (void)ADD(&p, AFTER, "k_note", stet_arg_array(order), stet_arg_int(4));
        (void)ADD(&p, BEFORE, "k_note", stet_arg_array(order), stet_arg_int(2));
        (void)ADD(&p, BEFORE, "k_time", stet_arg_array(time), stet_arg_array(seen), stet_arg_int(0));
        (void)ADD(&p, AFTER, "k_time", stet_arg_array(time), stet_arg_array(seen), stet_arg_int(1));
        (void)ADD(&p, RESET, "k_time", stet_arg_array(time), stet_arg_array(seen), stet_arg_int(2));
        OK(stet_sim_remove_kernel(p.sim, gone));
        FAILS(stet_sim_remove_kernel(p.sim, gone), STET_ERROR_NOT_FOUND, "no kernel of number 1");
        OK(stet_sim_step(p.sim, 0)); /* nothing at all */
        assert_int_equal(phases_int(&p, order, 4), 0);
        for (int i = 0; i < 4; ++i) {
            const int32_t zero[5] = {0};
            OK(stet_array_write(order, zero, sizeof zero));
            OK(stet_sim_step(p.sim, 3));
            for (int w = 0; w < 5; ++w) {
                assert_int_equal(phases_int(&p, order, w), 12345);
                assert_true(fabsf(phases_real(&p, seen, w, 0) - 0.015f * (float)i) < 1e-6f);
                assert_true(fabsf(phases_real(&p, seen, w, 1) - 0.015f * (float)(i + 1)) < 1e-6f);
                assert_true(phases_real(&p, seen, w, 2) == phases_real(&p, seen, w, 1));
            }
        }
        stet_sim_clear_kernels(p.sim);
        OK(stet_sim_step(p.sim, 1));
        assert_int_equal(phases_int(&p, order, 0), 12345);
        phases_close(&p);
    }
}

/* ---- what is counted --------------------------------------------------------------------------------------------- */

static void with_external_physics_a_step_is_one_recording(void **state)
{
    phases p = phases_open(&(room_def){.nworld = 19, .physics = STET_PHYSICS_EXTERNAL});
    stet_array *seen = phases_array(&p, "seen", STET_DTYPE_REAL, 3),
               *order = phases_array(&p, "order", STET_DTYPE_INT, 1);
    stet_array *xpos = phases_field(&p, "xpos"), *time = phases_field(&p, "time");
    (void)ADD(&p, BEFORE, "k_lift", stet_arg_array(xpos), stet_arg_real(0.25), stet_arg_int(3));
    (void)ADD(&p, BEFORE, "k_note", stet_arg_array(order), stet_arg_int(1));
    (void)ADD(&p, AFTER, "k_look", stet_arg_array(phases_field(&p, "qpos")), stet_arg_array(xpos), stet_arg_array(seen),
              stet_arg_int(1));
    (void)ADD(&p, RESET, "k_time", stet_arg_array(time), stet_arg_array(seen), stet_arg_int(0));
    float start = phases_real(&p, xpos, 18, 5);
    OK(stet_sim_step(p.sim, 1));
    OK(stet_sim_step(p.sim, 1));
    stet_counters c = room_counters(p.sim);
    assert_int_equal(c.reason[STET_REASON_GRAPH_REPLAY_FIRST], 1);
    assert_int_equal(c.reason[STET_REASON_GRAPH_REPLAY_COMPARED], 1);
    assert_int_equal(ROW(c).misses, 2);
    c = phases_steady(p.sim, 10, 2);
    assert_int_equal(c.launches, 10 * 4);
    assert_int_equal(ROW(c).hits, 10);
    assert_int_equal(ROW(c).misses, 0);
    assert_int_equal(ROW(c).saved_launches, 10 * 4);
    assert_int_equal(c.mechanism[STET_MECHANISM_ARGS].hits, 10 * 4);
    assert_int_equal(c.mechanism[STET_MECHANISM_ARGS].misses, 0);
    assert_int_equal(c.kinematics, 0);
    assert_int_equal(stet_sim_get_device(p.sim)->recorder->nrecording, 1);
    assert_true(phases_real(&p, xpos, 18, 5) == start + 12 * 0.25f); /* who wrote them last counts */
    assert_true(phases_real(&p, seen, 18, 2) == start + 12 * 0.25f);
    assert_true(fabsf(phases_real(&p, seen, 18, 0) - 22 * 0.005f) < 1e-6f);
    phases_close(&p);
}

static void a_steady_state_has_exactly_its_launches(void **state)
{
    phases p = phases_open(&(room_def){.nworld = 33, .strict = true});
    episode e = phases_episode(&p, true);
    for (int i = 0; i < 12; ++i) OK(stet_sim_step(p.sim, 2)); /* the ninth step ends episodes */
    stet_counters c = phases_steady(p.sim, 18, 2);
    assert_int_equal(phases_int(&p, e.length, 3), 3);
    int64_t noise = c.launches - 18 * 4; /* of resets */
    assert_int_equal(noise, 2);
    assert_int_equal(ROW(c).hits, 18); /* the two kernels after the reset; the others are lists of one */
    assert_int_equal(ROW(c).misses, 0);
    int64_t crossed = c.mechanism[STET_MECHANISM_READBACK].misses; /* the mask, which is written in each step … */
    assert_true(stet_sim_get_device(p.sim)->can.host_memory ? crossed == 18
                                                            : crossed > 18); /* … and the two sides of the state */
    phases_close(&p);
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

static uint64_t play(const room_def *d)
{
    phases p = phases_open(d);
    episode e = phases_episode(&p, true);
    sti_hash h;
    sti_hash_begin(&h);
    for (int i = 0; i < 25; ++i) {
        OK(stet_sim_step(p.sim, 3));
        uint64_t x[] = {room_state(p.sim), phases_hash(e.done), phases_hash(e.length), phases_hash(e.seen)};
        sti_hash_add(&h, x, sizeof x);
        if (i % 8 != 7) continue;
        (void)room_render(p.sim);
        x[0] = room_frame(p.sim, STET_FRAME_LATEST);
        sti_hash_add(&h, x, sizeof *x);
    }
    phases_close(&p);
    return sti_hash_end(&h);
}

static void the_same_bits_whatever_is_switched(void **state)
{
    uint64_t plain = play(&(room_def){.nworld = 21});
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k)
        assert_true(play(&(room_def){.nworld = 21, .disabled = 1u << k}) == plain);
    assert_true(play(&(room_def){.nworld = 21, .disabled = (1u << STET_MECHANISM_COUNT) - 1}) == plain);
    assert_true(play(&(room_def){.nworld = 21, .audit = true}) == plain);
    assert_true(play(&(room_def){.nworld = 21, .threads = 3, .strict = true}) == plain);
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa)
        if (isa != STI_ISA_f64 && sti_isa_available((sti_isa)isa))
            assert_true(play(&(room_def){.nworld = 21, .isa = sti_isa_name((sti_isa)isa)}) == plain);
}

/* A world is the same in a crowd. */
static void a_world_does_not_notice_the_others(void **state)
{
    float seen[2][3];
    for (int k = 0; k < 2; ++k) {
        phases p = phases_open(&(room_def){.nworld = k ? 40 : 3});
        episode e = phases_episode(&p, true);
        for (int i = 0; i < 14; ++i) OK(stet_sim_step(p.sim, 2));
        for (int i = 0; i < 3; ++i) seen[k][i] = phases_real(&p, e.seen, 2, i);
        phases_close(&p);
    }
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
}

/* ---- the reset by mask ------------------------------------------------------------------------------------------- */

/* A twin gets its reset from the host, between the phases, by hand. */
static void check_reset_by_mask(stet_physics physics)
{
    room_def d = {.nworld = 13, .physics = physics};
    phases a = phases_open(&d), b = phases_open(&d);
    episode e = phases_episode(&a, true), f = phases_episode(&b, false);
    uint8_t mask[13];
    int resets = 0;
    for (int i = 0; i < 30; ++i) {
        OK(stet_sim_step(a.sim, 2));
        OK(stet_sim_step(b.sim, 2));
        stet_reset_def def = phases_noise();
        def.mask = mask;
        for (int w = 0; w < 13; ++w) resets += mask[w] = phases_int(&b, f.done, w) != 0;
        OK(stet_sim_reset(b.sim, &def));
        assert_true(room_state(a.sim) == room_state(b.sim));
        assert_true(phases_hash(e.length) == phases_hash(f.length) && phases_hash(e.done) == phases_hash(f.done));
        if (i % 10 != 8) continue; /* the frame is of before, as far as the worlds go that were not put back */
        (void)room_render(a.sim);
        (void)room_render(b.sim);
        assert_true(room_frame(a.sim, STET_FRAME_LATEST) == room_frame(b.sim, STET_FRAME_LATEST));
    }
    assert_true(resets >= 13 * 3);
    phases_close(&a);
    phases_close(&b);
}

static void a_reset_by_mask_is_a_reset(void **state)
{
    check_reset_by_mask(STET_PHYSICS_MUJOCO);
    check_reset_by_mask(STET_PHYSICS_NATIVE);
}

/* Numbers of resets, which native physics counts on the device until somebody asks. */
static const uint64_t *resets_of(const phases *p)
{
    assert_non_null(stet_worlds_get_faults(stet_sim_get_worlds(p->sim)));
    return stet_sim_get_worlds(p->sim)->state.resets;
}

static void check_put_back_once(stet_physics physics)
{
    phases p = phases_open(&(room_def){.nworld = 4, .physics = physics});
    stet_array *mask = phases_array(&p, "mask", STET_DTYPE_INT, 1);
    OK(stet_sim_set_reset(p.sim, mask, NULL));
    const int32_t two[4] = {0, 7, 0, -1};
    OK(stet_sim_step(p.sim, 1)); /* nobody */
    OK(stet_array_write(mask, two, sizeof two));
    const uint64_t *resets = resets_of(&p);
    for (int i = 0; i < 3; ++i) {
        OK(stet_sim_step(p.sim, 1));
        (void)resets_of(&p);
        assert_true(resets[0] == 0 && resets[1] == 1 && resets[2] == 0 && resets[3] == 1);
        assert_true(fabsf(room_field(p.sim, "time", 1, 0) - 0.005f * (float)i) < 1e-6f);
    }
    assert_int_equal(phases_int(&p, mask, 1), 7); /* it is left as it is */
    stet_counters c = phases_steady(p.sim, 5, 1);
    if (stet_sim_get_device(p.sim)->can.host_memory) /* elsewhere the state has two sides that cross */
        assert_int_equal(c.mechanism[STET_MECHANISM_READBACK].misses + c.mechanism[STET_MECHANISM_READBACK].hits, 0);
    stet_array_mark_written(mask);
    OK(stet_sim_step(p.sim, 1));
    (void)resets_of(&p);
    assert_true(resets[1] == 2 && resets[2] == 0);
    OK(stet_array_write(mask, two, sizeof two));
    OK(stet_sim_set_reset(p.sim, NULL, NULL));
    OK(stet_sim_step(p.sim, 1));
    (void)resets_of(&p);
    assert_true(resets[1] == 2);
    for (int i = 0; i < 2; ++i) { /* what was written meanwhile counts, and counts once */
        OK(stet_sim_set_reset(p.sim, mask, NULL));
        OK(stet_sim_step(p.sim, 1));
        (void)resets_of(&p);
        assert_true(resets[1] == 3);
        OK(stet_sim_set_reset(p.sim, NULL, NULL));
    }
    phases_close(&p);
}

static void worlds_are_put_back_once_a_write(void **state)
{
    check_put_back_once(STET_PHYSICS_MUJOCO);
    check_put_back_once(STET_PHYSICS_NATIVE);
}

/* A kernel of the last phase writes the mask: the next step, not this one, puts worlds back. */
static void check_written_behind_the_reset(stet_physics physics)
{
    phases p = phases_open(&(room_def){.nworld = 3, .physics = physics});
    stet_array *mask = phases_array(&p, "mask", STET_DTYPE_INT, 1), *all = phases_array(&p, "all", STET_DTYPE_INT, 1);
    const int32_t one[3] = {1, 1, 1};
    OK(stet_array_write(all, one, sizeof one));
    OK(stet_sim_set_reset(p.sim, mask, NULL));
    int id = ADD(&p, RESET, "k_begin", stet_arg_array(mask), stet_arg_array(all)); /* reads it */
    OK(stet_sim_step(p.sim, 1));
    assert_int_equal(resets_of(&p)[2], 0);
    OK(stet_sim_remove_kernel(p.sim, id));
    (void)ADD(&p, RESET, "k_note", stet_arg_array(mask), stet_arg_int(1));
    for (int i = 0; i < 4; ++i) {
        OK(stet_sim_step(p.sim, 1));
        assert_int_equal(resets_of(&p)[2], i);
    }
    phases_close(&p);
}

static void a_mask_that_is_written_behind_the_reset_counts_in_the_next_step(void **state)
{
    check_written_behind_the_reset(STET_PHYSICS_MUJOCO);
    check_written_behind_the_reset(STET_PHYSICS_NATIVE);
}

/* An image that is read after the step shows worlds as they are after the reset. */
static void check_image_after_reset(stet_physics physics)
{
    phases p = phases_open(&(room_def){.nworld = 3, .physics = physics});
    stet_array *mask = phases_array(&p, "mask", STET_DTYPE_INT, 1);
    OK(stet_sim_set_reset(p.sim, mask, NULL));
    (void)room_render(p.sim);
    size_t one = stet_sim_get_output_bytes(p.sim, 0, STET_OUTPUT_RGBA) / 3;
    uint8_t *start = room_read(p.sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
    for (int w = 0; w < 3; ++w) room_write(p.sim, "ctrl", w, 0, 1);
    for (int i = 0; i < 10; ++i) OK(stet_sim_step(p.sim, 5));
    (void)room_render(p.sim);
    const int32_t chosen[3] = {0, 1, 0};
    OK(stet_array_write(mask, chosen, sizeof chosen));
    OK(stet_sim_step(p.sim, 1));
    uint8_t *now = room_read(p.sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
    assert_memory_equal(now + one, start + one, one);
    assert_memory_not_equal(now, start, one);
    free(start);
    free(now);
    phases_close(&p);
}

static void kf18_an_image_after_a_reset_by_mask_shows_the_worlds_after_it(void **state)
{
    check_image_after_reset(STET_PHYSICS_MUJOCO);
    check_image_after_reset(STET_PHYSICS_NATIVE);
}

/* ---- lists end where the host works ------------------------------------------------------------------------------ */

static void see_what_follows(const room_def *d)
{
    phases p = phases_open(d);
    stet_array *seen = phases_array(&p, "seen", STET_DTYPE_REAL, 3),
               *height = phases_array(&p, "height", STET_DTYPE_REAL, 1);
    stet_array *qpos = phases_field(&p, "qpos"), *xpos = phases_field(&p, "xpos"), *world;
    int prim;
    OK(stet_stage_get_arrays(stet_sim_get_stage(p.sim), NULL, &world));
    OK(stet_stage_find(stet_sim_get_stage(p.sim), STET_PRIM_BODY, "cart", &prim));
    int set = ADD(&p, AFTER, "k_set", stet_arg_array(qpos), stet_arg_real(0.5));
    (void)ADD(&p, AFTER, "k_look", stet_arg_array(qpos), stet_arg_array(xpos), stet_arg_array(seen), stet_arg_int(1));
    int lift = ADD(&p, AFTER, "k_lift", stet_arg_array(xpos), stet_arg_real(0), stet_arg_int(3));
    (void)ADD(&p, AFTER, "k_where", stet_arg_array(world), stet_arg_array(height), stet_arg_int(prim));
    for (int i = 1; i <= 4; ++i) {
        room_reset(p.sim, -1);
        const stet_arg to[] = {stet_arg_array(qpos), stet_arg_real(0.125 * i)};
        const stet_arg by[] = {stet_arg_array(xpos), stet_arg_real(0.25 * i), stet_arg_int(3)};
        OK(stet_sim_set_kernel_args(p.sim, set, to, 2));
        OK(stet_sim_set_kernel_args(p.sim, lift, by, 3));
        OK(stet_sim_step(p.sim, 1));
        for (int w = 0; w < 3; ++w) {
            assert_true(phases_real(&p, seen, w, 0) == 0.25f * (float)i);
            assert_true(phases_real(&p, height, w, 0) == 0.85f + 0.25f * (float)i);
        }
    }
    phases_close(&p);
}

static void kernels_see_what_follows_from_what_others_wrote(void **state)
{
    room_def d = {.nworld = 3, .physics = STET_PHYSICS_EXTERNAL, .strict = true};
    see_what_follows(&d);
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k) {
        d.disabled = 1u << k;
        see_what_follows(&d);
    }
    d.disabled = 0;
    d.audit = true;
    see_what_follows(&d);
}

/* More kernels than one list holds. */
static void a_full_list_ends_and_another_begins(void **state)
{
    phases p = phases_open(&(room_def){.nworld = 2, .physics = STET_PHYSICS_EXTERNAL, .strict = true});
    stet_array *length = phases_array(&p, "length", STET_DTYPE_INT, 1),
               *done = phases_array(&p, "done", STET_DTYPE_INT, 1);
    const stet_arg args[] = {stet_arg_array(phases_field(&p, "qpos")), stet_arg_array(done), stet_arg_array(length),
                             stet_arg_int(5)};
    (void)phases_add(&p, AFTER, "k_fell", args, 4);
    for (int i = 1; i < STI_LIST_OPS + 7; ++i) OK(stet_sim_add_kernel(p.sim, AFTER, p.kernel[0], 2, args, 4, NULL));
    for (int i = 1; i <= 3; ++i) {
        OK(stet_sim_step(p.sim, 1));
        assert_int_equal(phases_int(&p, length, 1), i * (STI_LIST_OPS + 7));
    }
    assert_int_equal(stet_sim_get_device(p.sim)->recorder->nrecording, 2);
    phases_close(&p);
}

/* ---- numbers that change ----------------------------------------------------------------------------------------- */

static void kf10_numbers_that_change_reach_the_step(void **state)
{
    phases p = phases_open(&(room_def){.nworld = 3, .physics = STET_PHYSICS_EXTERNAL, .strict = true});
    stet_array *order = phases_array(&p, "order", STET_DTYPE_INT, 1),
               *other = phases_array(&p, "other", STET_DTYPE_INT, 1);
    int id = ADD(&p, BEFORE, "k_note", stet_arg_array(order), stet_arg_int(1));
    (void)ADD(&p, AFTER, "k_note", stet_arg_array(order), stet_arg_int(0));
    for (int i = 1; i < 6; ++i) {
        const int32_t zero[3] = {0};
        const stet_arg args[] = {stet_arg_array(order), stet_arg_int(i)};
        OK(stet_array_write(order, zero, sizeof zero));
        OK(stet_sim_set_kernel_args(p.sim, id, args, 2));
        OK(stet_sim_step(p.sim, 1));
        assert_int_equal(phases_int(&p, order, 2), 10 * i);
    }
    stet_counters c = room_counters(p.sim);
    assert_int_equal(c.reason[STET_REASON_GRAPH_REPLAY_FIRST], 1);
    assert_int_equal(ROW(c).hits, 3);
    assert_int_equal(c.reason[STET_REASON_ARGS_CHANGED], 3);
    const stet_arg args[] = {stet_arg_array(other), stet_arg_int(4)}; /* other arrays, another recording */
    OK(stet_sim_set_kernel_args(p.sim, id, args, 2));
    OK(stet_sim_step(p.sim, 1));
    assert_int_equal(phases_int(&p, other, 0), 4);
    assert_int_equal(phases_int(&p, order, 0), 500);
    assert_int_equal(room_counters(p.sim).reason[STET_REASON_GRAPH_REPLAY_FIRST], 2);
    phases_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_in_order_kernels_in_the_order_of_adding),
        cmocka_unit_test(with_external_physics_a_step_is_one_recording),
        cmocka_unit_test(a_steady_state_has_exactly_its_launches),
        cmocka_unit_test(the_same_bits_whatever_is_switched),
        cmocka_unit_test(a_world_does_not_notice_the_others),
        cmocka_unit_test(a_reset_by_mask_is_a_reset),
        cmocka_unit_test(worlds_are_put_back_once_a_write),
        cmocka_unit_test(a_mask_that_is_written_behind_the_reset_counts_in_the_next_step),
        cmocka_unit_test(kf18_an_image_after_a_reset_by_mask_shows_the_worlds_after_it),
        cmocka_unit_test(kernels_see_what_follows_from_what_others_wrote),
        cmocka_unit_test(a_full_list_ends_and_another_begins),
        cmocka_unit_test(kf10_numbers_that_change_reach_the_step),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
