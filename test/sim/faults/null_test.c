/*
 * All of stet on a device that executes nothing: what does not depend on kernels gives what it gives on a CPU, the same
 * launches are asked for, and any call of the device may fail: a sentence, nothing leaked, nothing half-made, and the
 * same call again works.
 */
#include "sim/room.h"
#include "device/null/null.h"

#include "base/part.h"
#include "stet/dlpack.h"

#include <unistd.h>

enum { WORLDS = 5, WIDTH = 20, HEIGHT = 12 };

/*
 * A robot with what the stage has of kinds: a body in a body, a mocap body, a site, cameras that look and track,
 * lights, an actuator.
 */
static const char scene[] =
    "<mujoco><asset><texture name='t' type='2d' builtin='checker' width='8' height='8'/><material name='m' "
    "texture='t'/></asset><worldbody><light pos='0 0 3'/><geom type='plane' size='2 2 .1' material='m'/>"
    "<body name='arm' pos='0 0 1'><joint name='j' axis='0 1 0' range='-1 1'/><geom size='.05' fromto='0 0 0 .5 0 0' "
    "type='capsule'/><site name='s'/><body name='hand' pos='.5 0 0'><joint axis='0 0 1'/><geom type='box' size='.1 .1 "
    ".1'/><camera name='eye' pos='0 -.3 0'/></body></body><body name='target' mocap='true' pos='1 0 1'><geom size='.1' "
    "contype='0' conaffinity='0'/></body><camera name='watch' pos='0 -3 1' mode='targetbody' target='hand'/>"
    "</worldbody><actuator><motor joint='j' ctrlrange='-1 1'/></actuator><keyframe><key name='home' qpos='.1 .2' "
    "mpos='1 0 1' mquat='1 0 0 0'/></keyframe></mujoco>";

static stet_sim_def make_def(stet_device_type type, const char *isa)
{
    static const char *const cameras[] = {"eye", "watch"};
    stet_sim_def def = stet_default_sim_def();
    def.device.type = type;
    def.physics = STET_PHYSICS_MUJOCO;
    def.device.threads = 1;
    def.device.isa = isa;
    def.nworld = WORLDS;
    def.seed = 3;
    def.cameras = cameras;
    def.ncamera = 2;
    def.width = WIDTH;
    def.height = HEIGHT;
    def.outputs = BIT(RGBA) | BIT(DEPTH) | BIT(SEG_BODY);
    return def;
}

/* ---- a short life with everything in it, call by call ------------------------------------------------------------ */

typedef struct life {
    stet_model *model;
    stet_device_type type;
    int lanes;       /* of a null device */
    const char *isa; /* of a CPU */
    uint32_t disabled;
    stet_sim *sim;
    stet_worlds *worlds;
    stet_stage *stage;
    stet_tiles *tiles;
    stet_snapshot *snapshot;
    struct DLManagedTensorVersioned *tensor;
    stet_array *own, *bound;
    int prim, child;
    sti_null_op fail_op; /* while a sim is made, for it makes its own device */
    int64_t fail_at;
} life;

static stet_result create_sim(life *l)
{
    stet_sim_def def = make_def(l->type, l->isa);
    /* Whoever goes round its calls dies. */
    def.device.null = &(sti_null_def){.lanes = l->lanes, .apart = true, .fail_op = l->fail_op, .fail_at = l->fail_at};
    def.device.mechanisms.disabled = l->disabled;
    l->fail_at = 0;
    STI_TRY(stet_sim_create(l->model, &def, &l->sim));
    l->worlds = stet_sim_get_worlds(l->sim);
    l->stage = stet_sim_get_stage(l->sim);
    return STET_OK;
}

static stet_result make_array(life *l)
{
    return STI_ARRAY(stet_sim_get_device(l->sim), "own", STET_DTYPE_REAL, true, &l->own, WORLDS, 3);
}

static stet_result use_array(life *l)
{
    float rows[WORLDS][3], back[2][3];
    uint64_t hash;
    const void *host;
    for (int k = 0; k < WORLDS * 3; ++k) ((float *)rows)[k] = (float)k;
    STI_TRY(stet_array_write(l->own, rows, sizeof rows));
    STI_TRY(stet_array_write_worlds(l->own, 1, 2, rows, sizeof back));
    STI_TRY(stet_array_read_worlds(l->own, 2, 2, back, sizeof back));
    assert_true(back[0][0] == 3 && back[1][2] == 11);
    STI_TRY(stet_array_get_host(l->own, &host));
    return stet_array_hash(l->own, &hash);
}

static stet_result step(life *l) { return stet_sim_step(l->sim, 2); }

static stet_result control(life *l)
{
    STI_TRY(stet_sim_control_zero(l->sim));
    return stet_sim_control_noise(l->sim, 0.5, 30);
}

static stet_result render(life *l)
{
    int64_t frame;
    return stet_sim_render(l->sim, &frame);
}

static stet_result read_frame(life *l)
{
    float depth[WORLDS * WIDTH * HEIGHT];
    stet_array *a;
    uint64_t hash;
    STI_TRY(stet_sim_get_array(l->sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA, &a));
    STI_TRY(stet_sim_read(l->sim, STET_FRAME_LATEST, 1, STET_OUTPUT_DEPTH, depth, sizeof depth));
    return stet_sim_hash_frame(l->sim, STET_FRAME_LATEST, &hash);
}

static stet_result reset(life *l)
{
    static const uint8_t mask[WORLDS] = {0, 1, 0, 1, 1};
    stet_reset_def def = stet_default_reset_def();
    def.mask = mask;
    def.qpos_noise = 0; /* noise is made by a kernel */
    def.qvel_noise = 0;
    return stet_sim_reset(l->sim, &def);
}

static stet_result noisy_reset(life *l)
{
    stet_reset_def def = stet_default_reset_def();
    def.qpos_noise = 0.1;
    return stet_sim_reset(l->sim, &def);
}

static stet_result write_state(life *l)
{
    stet_array *a;
    float qpos[2] = {0.3f, -0.2f};
    STI_TRY(stet_worlds_get_array(l->worlds, "qpos", &a));
    return stet_array_write_worlds(a, 2, 1, qpos, sizeof qpos);
}

static stet_result read_poses(life *l)
{
    stet_array *a;
    const void *host;
    STI_TRY(stet_worlds_get_array(l->worlds, "xpos", &a));
    STI_TRY(stet_array_update(a));
    return stet_array_get_host(a, &host);
}

static const float at_origin[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

static stet_result add(life *l) { return stet_stage_add(l->stage, 0, "added", at_origin, false, &l->prim); }

static stet_result add_rigid(life *l) { return stet_stage_add(l->stage, 0, "rigid", at_origin, true, &l->child); }

static stet_result reparent(life *l) { return stet_stage_reparent(l->stage, l->prim, 1); }

static stet_result move(life *l)
{
    float value[24];
    memcpy(value, at_origin, sizeof at_origin);
    memcpy(value + 12, at_origin, sizeof at_origin);
    STI_TRY(stet_stage_write_local(l->stage, l->prim, 1, 2, value));
    STI_TRY(stet_stage_write_world(l->stage, l->child, 0, 1, value));
    STI_TRY(stet_stage_read_local(l->stage, l->child, 3, 2, value));
    return stet_stage_read_world(l->stage, l->prim, 3, 2, value);
}

static stet_result flush(life *l)
{
    stet_array *local, *world;
    const void *host;
    STI_TRY(stet_stage_flush(l->stage, true));
    STI_TRY(stet_stage_get_arrays(l->stage, &local, &world));
    STI_TRY(stet_array_get_host(local, &host));
    return stet_array_get_host(world, &host);
}

static stet_result remove_prim(life *l) { return stet_stage_remove(l->stage, l->prim); }

static stet_result bind_array(life *l)
{
    return STI_ARRAY(stet_sim_get_device(l->sim), "bound", STET_DTYPE_F16, false, &l->bound, WORLDS, HEIGHT, WIDTH, 1);
}

static stet_result create_tiles(life *l)
{
    const stet_camera cameras[] = {*stet_sim_get_camera(l->sim, 0), *stet_sim_get_camera(l->sim, 1)};
    const stet_tile_request requests[] = {{0, STET_OUTPUT_RGB, STET_DTYPE_U8, 3, NULL, false},
                                          {1, STET_OUTPUT_DEPTH, STET_DTYPE_F16, 1, l->bound, false},
                                          {1, STET_OUTPUT_SEG_GEOM, STET_DTYPE_INT, 1, NULL, false}};
    stet_tiles_def def = stet_default_tiles_def();
    def.cameras = cameras;
    def.ncamera = 2;
    def.requests = requests;
    def.nrequest = 3;
    def.frames_in_flight = 2;
    return stet_tiles_create(l->stage, &def, &l->tiles);
}

static stet_result render_tiles(life *l)
{
    static const uint8_t mask[WORLDS] = {1, 1, 0, 0, 1};
    int64_t frame;
    (void)stet_tiles_is_stale(l->tiles, 1);
    return stet_tiles_render(l->tiles, l->snapshot ? mask : NULL, &frame);
}

static stet_result read_tiles(life *l)
{
    stet_array *a;
    const void *host;
    for (int k = 0; k < 3; ++k) {
        STI_TRY(stet_tiles_get_array(l->tiles, -1, k, &a));
        STI_TRY(stet_array_get_host(a, &host));
    }
    return STET_OK;
}

static stet_result save(life *l) { return stet_snapshot_create(l->worlds, &l->snapshot); }

static stet_result restore(life *l) { return stet_sim_restore(l->sim, l->snapshot); }

static stet_result through_a_file(life *l)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/null_test.%ld.state", STET_TEST_BINARY_DIR, (long)getpid());
    stet_result result = stet_worlds_save(l->worlds, path);
    if (result == STET_OK) result = stet_sim_resume(l->sim, path);
    (void)remove(path);
    return result;
}

static stet_result export_array(life *l)
{
    stet_export_def def = stet_default_export_def();
    def.copy = true;
    return stet_array_export(l->own, &def, &l->tensor);
}

/* In this order. `kernels`: what the host sees afterwards was worked out by a kernel, if the device runs them. */
static const struct {
    const char *name;
    stet_result (*call)(life *l);
    bool kernels;
} calls[] = {
    {"create", create_sim, false},
    {"make an array", make_array, false},
    {"use it", use_array, false},
    {"step", step, false},
    {"render", render, false},
    {"read a frame", read_frame, false},
    {"control", control, true},
    {"write state", write_state, false},
    {"step", step, false},
    {"read poses", read_poses, false},
    {"add", add, false},
    {"add a rigid prim", add_rigid, false},
    {"reparent", reparent, false},
    {"move", move, false},
    {"flush", flush, false},
    {"bind an array", bind_array, false},
    {"make tiles", create_tiles, false},
    {"render tiles", render_tiles, false},
    {"read tiles", read_tiles, false},
    {"snapshot", save, false},
    {"reset", reset, false},
    {"render tiles", render_tiles, false},
    {"step", step, false},
    {"read a frame", read_frame, false},
    {"read tiles", read_tiles, false},
    {"restore", restore, false},
    {"remove", remove_prim, false},
    {"render", render, false},
    {"save and resume", through_a_file, false},
    {"export", export_array, false},
    {"step", step, false},
    {"read a frame", read_frame, false},
    {"reset with noise", noisy_reset, true},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void end_life(life *l)
{
    if (l->tensor) l->tensor->deleter(l->tensor);
    stet_snapshot_destroy(l->snapshot);
    stet_tiles_destroy(l->tiles);
    stet_array_destroy(l->own);
    stet_array_destroy(l->bound);
    stet_sim_destroy(l->sim);
}

/* Hash of the state and of all that the host makes of it. */
static uint64_t state_of(life *l)
{
    uint64_t all, hash;
    stet_array *a;
    OK(stet_worlds_hash(l->worlds, &all));
    for (const char *const *f = stet_worlds_get_fields(); *f; ++f) {
        OK(stet_worlds_get_array(l->worlds, *f, &a));
        OK(stet_array_hash(a, &hash));
        all = all * 31 + hash;
    }
    OK(stet_array_hash(l->own, &hash));
    return all * 31 + hash;
}

/* ---- without failures -------------------------------------------------------------------------------------------- */

static uint64_t live(life l, stet_counters *counters)
{
    for (int k = 0; k < CALLS; ++k) {
        if (calls[k].kernels) continue;
        stet_result result = calls[k].call(&l);
        if (result != STET_OK)
            fail_msg("%s: %s (%s)", calls[k].name, stet_get_last_error(), stet_get_last_error_where());
    }
    uint64_t state = state_of(&l);
    *counters = stet_device_get_counters(stet_sim_get_device(l.sim));
    end_life(&l);
    return state;
}

/* Copies that were asked for, without those between the two sides of arrays (which a CPU does not have). */
static int64_t bytes_asked_for(const stet_counters *c)
{
    return c->bytes_copied - c->mechanism[STET_MECHANISM_READBACK].done_bytes;
}

/* What the host works out is the same bits, from the same launches and copies. */
static void it_lives_as_on_a_cpu(void **state)
{
    static const struct {
        int lanes;
        const char *isa;
    } rows[] = {{1, "w1"}, {4, "portable"}, {8, "avx2"}, {16, "avx512"}};
    int64_t blocks = stet_get_memory_stats().blocks;
    stet_model *model = rig_model(scene);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        stet_counters on_cpu, on_null;
        uint64_t theirs = live((life){.model = model, .type = STET_DEVICE_NULL, .lanes = rows[k].lanes}, &on_null);
        sti_isa isa;
        if (!sti_isa_find(rows[k].isa, &isa) || !sti_isa_available(isa)) continue;
        assert_true(theirs == live((life){.model = model, .type = STET_DEVICE_CPU, .isa = rows[k].isa}, &on_cpu));
        assert_int_equal(on_null.launches, on_cpu.launches);
        assert_int_equal(bytes_asked_for(&on_null), bytes_asked_for(&on_cpu));
        assert_int_equal(on_null.kinematics, on_cpu.kinematics);
        assert_int_equal(on_null.schedules_built, on_cpu.schedules_built);
        for (int m = 0; m < STET_MECHANISM_COUNT; ++m)
            if (m != STET_MECHANISM_READBACK &&
                m != STET_MECHANISM_FUSION) /* a null device runs nothing, neither together nor alone */
                assert_memory_equal(&on_null.mechanism[m], &on_cpu.mechanism[m], sizeof *on_cpu.mechanism);
        const stet_counter *crossed = &on_null.mechanism[STET_MECHANISM_READBACK];
        assert_true(crossed->hits > 0 && on_null.reason[STET_REASON_READBACK_UPLOADED] > 0);
        assert_int_equal(on_cpu.reason[STET_REASON_READBACK_UPLOADED], 0);
        assert_true(on_null.launches > 10);
    }
    stet_model_destroy(model);
    assert_int_equal(stet_get_memory_stats().blocks, blocks);
}

static void every_launch_is_a_call(void **state)
{
    life l = {.model = rig_model(scene), .type = STET_DEVICE_NULL};
    OK(create_sim(&l));
    stet_device *device = stet_sim_get_device(l.sim);
    stet_counters c;
    /* A recording is compared with launches of its own, which are no work that was asked for. */
    stet_mechanism_options options = stet_device_get_mechanisms(device);
    options.disabled |= 1u << STET_MECHANISM_GRAPH_REPLAY;
    OK(stet_device_set_mechanisms(device, &options));
    stet_device_clear_counters(device);
    int64_t before = sti_null_calls(device, STI_NULL_OP_LAUNCH);
    for (int k = 0; k < 4; ++k) {
        OK(step(&l));
        OK(render(&l));
        OK(read_frame(&l));
    }
    c = stet_device_get_counters(device);
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_LAUNCH) - before, c.launches);
    assert_true(c.launches > 0);
    /* Nothing moves: nothing is asked of the device, but for what is read. */
    int64_t asked = sti_null_calls(device, STI_NULL_OP_ANY);
    OK(render(&l));
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_ANY), asked);
    end_life(&l);
    stet_model_destroy(l.model);
}

/* ---- with failures ----------------------------------------------------------------------------------------------- */

/* Looks at the state while no failure is armed; *left: calls until the one that fails, 0 or less if it did. */
static uint64_t state_in_between(life *l, sti_null_op slot, int64_t *left)
{
    stet_device *device = stet_sim_get_device(l->sim);
    *left -= sti_null_calls(device, slot);
    OK(sti_null_fail(device, slot, 0));
    uint64_t state = state_of(l);
    if (*left > 0) OK(sti_null_fail(device, slot, *left));
    *left += sti_null_calls(device, slot);
    return state;
}

/* A life in which the n-th call of a slot fails; what failed is asked for again. Returns whether there were n calls. */
static bool live_with_failure(life l, sti_null_op slot, int64_t n, uint64_t want)
{
    l.fail_op = slot;
    l.fail_at = n;
    int64_t blocks = stet_get_memory_stats().blocks, fail_at = n;
    int failures = 0;
    for (int k = 0; k < CALLS; ++k) {
        if (calls[k].kernels && k != CALLS - 1) continue;
        if (failures) fail_at = 0; /* a sim that failed to be made is made again with a device that counts anew */
        if (k == CALLS - 1 && state_in_between(&l, slot, &fail_at) != want)
            fail_msg("call %lld: the state differs", (long long)n);
        stet_result result = calls[k].call(&l);
        if (result == STET_OK) continue;
        if (result != STET_ERROR_DEVICE || !strstr(stet_get_last_error(), "null device: ") || ++failures > 1)
            fail_msg("%s, call %lld of %s: %s (%s)", calls[k].name, (long long)n, sti_null_op_name(slot),
                     stet_get_last_error(), stet_get_last_error_where());
        if (k == 0) {
            assert_null(l.sim);
            assert_int_equal(stet_get_memory_stats().blocks, blocks);
        }
        result = calls[k].call(&l);
        if (result != STET_OK)
            fail_msg("%s again, after call %lld of %s: %s (%s)", calls[k].name, (long long)n, sti_null_op_name(slot),
                     stet_get_last_error(), stet_get_last_error_where());
    }
    bool enough = failures || sti_null_calls(stet_sim_get_device(l.sim), slot) >= fail_at;
    end_life(&l);
    assert_int_equal(stet_get_memory_stats().blocks, blocks);
    return enough;
}

static void any_call_of_the_device_may_fail(void **state)
{
    /*
     * With pose_sync off a step is many calls of the device, and those that were made stay made: no state to compare
     * with.
     */
    static const uint32_t most =
        (uint32_t)((UINT64_C(1) << STET_MECHANISM_COUNT) - 1) & ~(1u << STET_MECHANISM_POSE_SYNC);
    stet_model *model = rig_model(scene);
    const life ways[] = {{.model = model, .type = STET_DEVICE_NULL, .lanes = 1},
                         {.model = model, .type = STET_DEVICE_NULL, .lanes = 4},
                         {.model = model, .type = STET_DEVICE_NULL, .lanes = 1, .disabled = most}};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
        stet_counters counters;
        uint64_t want = live(ways[k], &counters);
        int64_t n = in_part() ? 1 + (int64_t)k : 1; /* in part every seventh call, another one each way */
        while (live_with_failure(ways[k], STI_NULL_OP_ANY, n, want)) n += in_part() ? 7 : 1;
        print_message("%lld calls of the device\n", (long long)n - 1);
        assert_true(n > 100);
    }
    stet_model_destroy(model);
}

static void any_call_of_a_slot_may_fail(void **state)
{
    stet_model *model = rig_model(scene);
    const life way = {.model = model, .type = STET_DEVICE_NULL, .lanes = 8};
    stet_counters counters;
    uint64_t want = live(way, &counters);
    for (int slot = STI_NULL_OP_ALLOC; slot < STI_NULL_OP_COUNT; ++slot) {
        if (slot == STI_NULL_OP_FREE) continue;
        int64_t n = 1;
        while (live_with_failure(way, (sti_null_op)slot, n, want)) n += 1 + n / 8;
        print_message("%s: less than %lld calls\n", sti_null_op_name((sti_null_op)slot), (long long)n);
        bool used = slot != STI_NULL_OP_COPY && slot != STI_NULL_OP_SYNCHRONIZE;
        if (used) assert_true(n > 5);
    }
    stet_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_lives_as_on_a_cpu),
        cmocka_unit_test(every_launch_is_a_call),
        cmocka_unit_test(any_call_of_the_device_may_fail),
        cmocka_unit_test(any_call_of_a_slot_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
