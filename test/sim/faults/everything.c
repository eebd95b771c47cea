/* The short run of everything; see everything.h. */
#include "sim/faults/everything.h"

#include "base/hash.h"
#include "stet/dlpack.h"
#include "stet/tiles.h"

#include <unistd.h>

enum { NWORLD = 3 };

static const char scene[] =
    "<mujoco><asset><mesh name='wedge' vertex='0 0 0  .4 0 0  0 .4 0  0 0 .4'/></asset><worldbody><light pos='0 0 3'/>"
    "<geom type='plane' size='2 2 .1'/><camera name='wide' pos='0 -3 1' xyaxes='1 0 0 0 .3 1'/>"
    "<body pos='0 0 .6'><joint name='hinge' axis='0 1 0'/><geom type='mesh' mesh='wedge'/>"
    "<camera mode='trackcom' pos='0 -2 .5' xyaxes='1 0 0 0 .2 1'/></body>"
    "<body mocap='true' pos='-.4 0 .7'><geom size='.1' contype='0' conaffinity='0'/></body></worldbody>"
    "<actuator><motor joint='hinge' ctrlrange='-1 1' ctrllimited='true'/></actuator></mujoco>";

static void note(everything *e, uint64_t number)
{
    assert_true(e->nnumber < EVERYTHING_NUMBERS);
    e->number[e->nnumber++] = number;
}

static const char *path(void)
{
    static char text[1024];
    (void)snprintf(text, sizeof text, "%s/everything_%d.state", STET_TEST_BINARY_DIR, (int)getpid());
    return text;
}

/* ---- the calls, in order ----------------------------------------------------------------------------------------- */

static stet_result load(everything *e) { return stet_model_load_string(scene, &e->model); }

static stet_result create(everything *e)
{
    stet_sim_def def =
        room_sim_def(&(room_def){.nworld = NWORLD, .camera = "all", .outputs = BIT(RGB) | BIT(DEPTH) | BIT(SEG_BODY)});
    def.device.mechanisms = e->how->options;
    if (e->how->place) e->how->place(&def.device);
    stet_result result = stet_sim_create(e->model, &def, &e->sim);
    if (result != STET_OK) assert_null(e->sim);
    return result;
}

static stet_result control(everything *e) { return stet_sim_control_noise(e->sim, 0.5, 30); }

/* ---- kernels of the caller's ---- */

static const char source[] = "#include \"stet/lang.h\"\n"
                             "world_kernel void k_push(const real *qpos, real *ctrl, int n)\n"
                             "{ each (i, n) put(ctrl, i, splat(-0.5f) * qpos[i]); }\n"
                             "world_kernel void k_look(const real *qpos, const real *xpos, real *seen)\n"
                             "{ each (i, 3) put(seen, i, xpos[3 + i] + qpos[0]); }\n"
                             "world_kernel void k_twice(const real *qpos, real *seen)\n"
                             "{ each (i, 3) put(seen, 3 + i, qpos[0] + qpos[0]); }\n";

static stet_result make_kernel(everything *e, int k)
{
    static const char *const names[EVERYTHING_KERNELS] = {"k_push", "k_look", "k_twice"};
    stet_kernel_def def = stet_default_kernel_def();
    def.source = source;
    def.name = names[k];
    def.cache_folder = e->how->kernels;
    return e->how->kernels ? stet_kernel_create(stet_sim_get_device(e->sim), &def, &e->kernel[k]) : STET_OK;
}

static stet_result make_push(everything *e) { return make_kernel(e, 0); }
static stet_result make_look(everything *e) { return make_kernel(e, 1); }
static stet_result make_twice(everything *e) { return make_kernel(e, 2); }

static stet_result make_seen(everything *e)
{
    return e->how->kernels ? STI_ARRAY(stet_sim_get_device(e->sim), "seen", STET_DTYPE_REAL, true, &e->seen, NWORLD, 6)
                           : STET_OK;
}

static stet_result add_kernels(everything *e)
{
    stet_array *qpos, *xpos, *ctrl;
    if (!e->how->kernels) return STET_OK;
    stet_sim_clear_kernels(e->sim);
    STI_TRY(stet_worlds_get_array(stet_sim_get_worlds(e->sim), "qpos", &qpos));
    STI_TRY(stet_worlds_get_array(stet_sim_get_worlds(e->sim), "xpos", &xpos));
    STI_TRY(stet_worlds_get_array(stet_sim_get_worlds(e->sim), "ctrl", &ctrl));
    const stet_arg push[] = {stet_arg_array(qpos), stet_arg_array(ctrl), stet_arg_int(1)};
    const stet_arg look[] = {stet_arg_array(qpos), stet_arg_array(xpos), stet_arg_array(e->seen)};
    const stet_arg twice[] = {stet_arg_array(qpos), stet_arg_array(e->seen)};
    STI_TRY(stet_sim_add_kernel(e->sim, STET_PHASE_BEFORE_PHYSICS, e->kernel[0], NWORLD, push, 3, NULL));
    STI_TRY(stet_sim_add_kernel(e->sim, STET_PHASE_AFTER_PHYSICS, e->kernel[1], NWORLD, look, 3, NULL));
    return stet_sim_add_kernel(e->sim, STET_PHASE_AFTER_PHYSICS, e->kernel[2], NWORLD, twice, 2, NULL);
}

static stet_result see(everything *e)
{
    uint64_t hash;
    if (!e->how->kernels) return STET_OK;
    STI_TRY(stet_array_hash(e->seen, &hash));
    note(e, hash);
    return STET_OK;
}

static stet_result export_seen(everything *e)
{
    stet_export_def def = stet_default_export_def();
    return e->how->kernels ? stet_array_export(e->seen, &def, &e->tensor) : STET_OK;
}

/* With kernels in it, a step that fails in the middle has advanced: who makes it again goes back first. */
static stet_result step(everything *e)
{
    if (!e->how->kernels) return stet_sim_step(e->sim, 1);
    if (e->before) STI_TRY(stet_sim_restore(e->sim, e->before));
    if (!e->before) STI_TRY(stet_snapshot_create(stet_sim_get_worlds(e->sim), &e->before));
    STI_TRY(stet_sim_step(e->sim, 1));
    stet_snapshot_destroy(e->before);
    e->before = NULL;
    return STET_OK;
}

/* ---- the others ---- */

static stet_result render(everything *e)
{
    int64_t frame;
    STI_TRY(stet_sim_render(e->sim, &frame));
    note(e, (uint64_t)frame);
    return STET_OK;
}

static stet_result read_frame(everything *e)
{
    static uint8_t pixels[NWORLD * 24 * 16 * 3];
    STI_TRY(stet_sim_read(e->sim, STET_FRAME_LATEST, 1, STET_OUTPUT_RGB, pixels, sizeof pixels));
    note(e, sti_hash_bytes(pixels, sizeof pixels));
    return STET_OK;
}

static stet_result hash_frame(everything *e)
{
    uint64_t hash;
    STI_TRY(stet_sim_hash_frame(e->sim, STET_FRAME_LATEST, &hash));
    note(e, hash);
    return STET_OK;
}

static stet_result hash_state(everything *e)
{
    uint64_t hash;
    STI_TRY(stet_worlds_hash(stet_sim_get_worlds(e->sim), &hash));
    note(e, hash);
    return STET_OK;
}

static stet_result reset(everything *e)
{
    const uint8_t mask[NWORLD] = {0, 1};
    stet_reset_def def = stet_default_reset_def();
    def.mask = mask;
    def.qpos_noise = 0.2;
    return stet_sim_reset(e->sim, &def);
}

static stet_result mirror(everything *e)
{
    stet_array *xpos;
    const void *data;
    STI_TRY(stet_worlds_get_array(stet_sim_get_worlds(e->sim), "xpos", &xpos));
    STI_TRY(stet_array_get_host(xpos, &data));
    note(e, sti_hash_bytes(data, stet_array_get_bytes(xpos)));
    return STET_OK;
}

static const float frame[12] = {1, 0, 0, .1f, 0, 1, 0, .2f, 0, 0, 1, .3f};

static stet_result add(everything *e, int k, int parent, bool rigid)
{
    static const char *const names[] = {"one", "two", "three"};
    STI_TRY(stet_stage_add(stet_sim_get_stage(e->sim), parent, names[k], frame, rigid, &e->prim[k]));
    note(e, (uint64_t)e->prim[k]);
    return STET_OK;
}

static stet_result add_one(everything *e) { return add(e, 0, 1, false); }
static stet_result add_two(everything *e) { return add(e, 1, e->prim[0], true); }
static stet_result add_three(everything *e) { return add(e, 2, e->prim[1], false); }
static stet_result place(everything *e)
{
    return stet_stage_write_local(stet_sim_get_stage(e->sim), e->prim[2], 1, 1, frame);
}
static stet_result pin(everything *e)
{
    return stet_stage_write_world(stet_sim_get_stage(e->sim), e->prim[1], 0, 1, frame);
}
static stet_result reparent(everything *e) { return stet_stage_reparent(stet_sim_get_stage(e->sim), e->prim[2], 0); }
static stet_result remove_one(everything *e) { return stet_stage_remove(stet_sim_get_stage(e->sim), e->prim[0]); }
static stet_result force(everything *e) { return stet_stage_flush(stet_sim_get_stage(e->sim), true); }

static stet_result locals(everything *e)
{
    float x[NWORLD * 12];
    STI_TRY(stet_stage_read_local(stet_sim_get_stage(e->sim), e->prim[1], 0, NWORLD, x));
    note(e, sti_hash_bytes(x, sizeof x));
    STI_TRY(stet_stage_read_world(stet_sim_get_stage(e->sim), e->prim[2], 0, NWORLD, x));
    e->nnumber--;
    note(e, e->number[e->nnumber] ^ sti_hash_bytes(x, sizeof x));
    return STET_OK;
}

static stet_result bind(everything *e)
{
    return STI_ARRAY(stet_sim_get_device(e->sim), "bound", STET_DTYPE_REAL, false, &e->bound, NWORLD, 5, 7, 1);
}

static stet_result open_tiles(everything *e)
{
    const stet_camera cameras[] = {{.prim = e->prim[2], .width = 7, .height = 5, .fovy = 60, .name = "own"}};
    const stet_tile_request requests[] = {{0, STET_OUTPUT_DEPTH, STET_DTYPE_REAL, 0, e->bound, false},
                                          {0, STET_OUTPUT_RGB, STET_DTYPE_F16, 2, NULL, false}};
    stet_tiles_def def = stet_default_tiles_def();
    def.cameras = cameras;
    def.ncamera = 1;
    def.requests = requests;
    def.nrequest = 2;
    return stet_tiles_create(stet_sim_get_stage(e->sim), &def, &e->tiles);
}

static stet_result render_some(everything *e)
{
    int64_t number;
    STI_TRY(stet_tiles_render(e->tiles, (const uint8_t[]){1, 0, 1}, &number));
    note(e, (uint64_t)number);
    return STET_OK;
}

static stet_result read_tiles(everything *e)
{
    for (int k = 0; k < 2; ++k) {
        stet_array *tensor;
        uint64_t hash;
        STI_TRY(stet_tiles_get_array(e->tiles, -1, k, &tensor));
        STI_TRY(stet_array_hash(tensor, &hash));
        if (k == 0) continue;
        note(e, hash);
    }
    return STET_OK;
}

static stet_result snapshot(everything *e) { return stet_snapshot_create(stet_sim_get_worlds(e->sim), &e->snapshot); }
static stet_result restore(everything *e) { return stet_sim_restore(e->sim, e->snapshot); }
static stet_result save(everything *e) { return stet_worlds_save(stet_sim_get_worlds(e->sim), path()); }
static stet_result resume(everything *e) { return stet_sim_resume(e->sim, path()); }

static stet_result close_tiles(everything *e)
{
    stet_tiles_destroy(e->tiles);
    stet_array_destroy(e->bound);
    e->tiles = NULL;
    e->bound = NULL;
    return STET_OK;
}

static const struct {
    const char *name;
    stet_result (*call)(everything *e);
} calls[] = {
#define CALL(name)                                                                                                     \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
    CALL(load),        CALL(create),     CALL(make_push),   CALL(make_look),  CALL(make_twice), CALL(make_seen),
    CALL(add_kernels), CALL(control),    CALL(step),        CALL(render),     CALL(read_frame), CALL(mirror),
    CALL(reset),       CALL(read_frame), CALL(save),        CALL(add_one),    CALL(add_two),    CALL(add_three),
    CALL(place),       CALL(locals),     CALL(render),      CALL(hash_frame), CALL(bind),       CALL(open_tiles),
    CALL(render_some), CALL(read_tiles), CALL(pin),         CALL(reparent),   CALL(snapshot),   CALL(step),
    CALL(render_some), CALL(hash_state), CALL(render),      CALL(restore),    CALL(read_frame), CALL(force),
    CALL(locals),      CALL(read_tiles), CALL(close_tiles), CALL(remove_one), CALL(step),       CALL(see),
    CALL(export_seen), CALL(step),       CALL(step),        CALL(render),     CALL(see),        CALL(hash_frame),
    CALL(resume),      CALL(hash_frame), CALL(mirror),      CALL(hash_state),
#undef CALL
};
enum { NCALL = sizeof calls / sizeof *calls };

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static void end(everything *e)
{
    if (e->tensor) e->tensor->deleter(e->tensor);
    stet_snapshot_destroy(e->snapshot);
    stet_snapshot_destroy(e->before);
    stet_tiles_destroy(e->tiles);
    stet_array_destroy(e->bound);
    stet_sim_destroy(e->sim);
    for (int k = 0; k < EVERYTHING_KERNELS; ++k) stet_kernel_destroy(e->kernel[k]);
    stet_array_destroy(e->seen);
    stet_model_destroy(e->model);
}

static stet_result run_call(everything *e, int k)
{
    int seen = e->nnumber;
    stet_result result = calls[k].call(e);
    if (result == STET_OK) return STET_OK;
    if (!e->how->fair(result) || !stet_get_last_error()[0])
        fail_msg("%s: %s: '%s'", calls[k].name, stet_result_sentence(result), stet_get_last_error());
    e->failures++;
    if (!e->how->retry) return result;
    e->nnumber = seen;
    result = calls[k].call(e);
    if (result != STET_OK)
        fail_msg("%s again: %s (%s)", calls[k].name, stet_get_last_error(), stet_get_last_error_where());
    return STET_OK;
}

stet_result everything_run(const everything_how *how, everything *reference)
{
    everything e = {.how = how};
    stet_result result = STET_OK;
    for (int k = 0; k < NCALL && result == STET_OK; ++k) result = run_call(&e, k);
    end(&e);
    if (result != STET_OK) return result;
    if (!reference->nnumber) *reference = e;
    assert_int_equal(e.nnumber, reference->nnumber);
    for (int k = 0; k < e.nnumber; ++k)
        if (e.number[k] != reference->number[k]) fail_msg("number %d is another one after a failure", k);
    reference->failures = e.failures;
    return STET_OK;
}

void everything_clean(void) { (void)unlink(path()); }
