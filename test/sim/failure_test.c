/*
 * A short run of everything in which the n-th allocation fails, for every n: the call says so in a sentence, the same
 * call made again does what it should, all numbers are those of a run without a failure, and nothing is left.
 */
#include "sim/room.h"

#include "base/failing.h"
#include "base/hash.h"
#include "stet/tiles.h"

#include <unistd.h>

enum { NWORLD = 3, DIGEST = 64 };

static const char scene[] =
    "<mujoco><asset><mesh name='wedge' vertex='0 0 0  .4 0 0  0 .4 0  0 0 .4'/></asset><worldbody><light pos='0 0 3'/>"
    "<geom type='plane' size='2 2 .1'/><camera name='wide' pos='0 -3 1' xyaxes='1 0 0 0 .3 1'/>"
    "<body pos='0 0 .6'><joint name='hinge' axis='0 1 0'/><geom type='mesh' mesh='wedge'/>"
    "<camera mode='trackcom' pos='0 -2 .5' xyaxes='1 0 0 0 .2 1'/></body>"
    "<body mocap='true' pos='-.4 0 .7'><geom size='.1' contype='0' conaffinity='0'/></body></worldbody>"
    "<actuator><motor joint='hinge' ctrlrange='-1 1' ctrllimited='true'/></actuator></mujoco>";

typedef struct everything {
    stet_model *model;
    stet_sim *sim;
    stet_tiles *tiles;
    stet_array *bound;
    stet_snapshot *snapshot;
    int prim[3];
    uint64_t digest[DIGEST];
    int ndigest;
} everything;

static stet_mechanism_options options;
static bool retry;
static bool elsewhere; /* on a device that runs nothing, whose memory the host cannot touch */

static void note(everything *e, uint64_t number)
{
    assert_true(e->ndigest < DIGEST);
    e->digest[e->ndigest++] = number;
}

static const char *path(void)
{
    static char text[1024];
    (void)snprintf(text, sizeof text, "%s/failure_%d.state", STET_TEST_BINARY_DIR, (int)getpid());
    return text;
}

/* ---- the calls, in order ----------------------------------------------------------------------------------------- */

static stet_result load(everything *e) { return stet_model_load_string(scene, &e->model); }

static stet_result create(everything *e)
{
    stet_sim_def def =
        room_sim_def(&(room_def){.nworld = NWORLD, .camera = "all", .outputs = BIT(RGB) | BIT(DEPTH) | BIT(SEG_BODY)});
    def.device.mechanisms = options;
    if (elsewhere) def.device.type = STET_DEVICE_NULL;
    def.device.null.apart = elsewhere;
    def.device.null.lanes = 4;
    stet_result result = stet_sim_create(e->model, &def, &e->sim);
    if (result != STET_OK) assert_null(e->sim);
    return result;
}

static stet_result control(everything *e) { return stet_sim_control_noise(e->sim, 0.5, 30); }
static stet_result step(everything *e) { return stet_sim_step(e->sim, 1); }

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
    STI_TRY(stet_sim_frame_hash(e->sim, STET_FRAME_LATEST, &hash));
    note(e, hash);
    return STET_OK;
}

static stet_result hash_state(everything *e)
{
    uint64_t hash;
    STI_TRY(stet_worlds_hash(stet_sim_worlds(e->sim), &hash));
    note(e, hash);
    return STET_OK;
}

static stet_result reset(everything *e)
{
    static const int64_t one = 1;
    stet_reset_def def = stet_default_reset_def();
    def.worlds = &one;
    def.nworlds = 1;
    def.qpos_noise = 0.2;
    return stet_sim_reset(e->sim, &def);
}

static stet_result mirror(everything *e)
{
    stet_array *xpos;
    const void *data;
    STI_TRY(stet_worlds_array(stet_sim_worlds(e->sim), "xpos", &xpos));
    STI_TRY(stet_array_host(xpos, &data));
    note(e, sti_hash_bytes(data, stet_array_bytes(xpos)));
    return STET_OK;
}

static const float frame[12] = {1, 0, 0, .1f, 0, 1, 0, .2f, 0, 0, 1, .3f};

static stet_result add(everything *e, int k, int parent, bool rigid)
{
    static const char *const names[] = {"one", "two", "three"};
    STI_TRY(stet_stage_add(stet_sim_stage(e->sim), parent, names[k], frame, rigid, &e->prim[k]));
    note(e, (uint64_t)e->prim[k]);
    return STET_OK;
}

static stet_result add_one(everything *e) { return add(e, 0, 1, false); }
static stet_result add_two(everything *e) { return add(e, 1, e->prim[0], true); }
static stet_result add_three(everything *e) { return add(e, 2, e->prim[1], false); }
static stet_result place(everything *e)
{
    return stet_stage_set_local(stet_sim_stage(e->sim), e->prim[2], 1, 1, frame);
}
static stet_result pin(everything *e) { return stet_stage_set_world(stet_sim_stage(e->sim), e->prim[1], 0, 1, frame); }
static stet_result reparent(everything *e) { return stet_stage_reparent(stet_sim_stage(e->sim), e->prim[2], 0); }
static stet_result remove_one(everything *e) { return stet_stage_remove(stet_sim_stage(e->sim), e->prim[0]); }
static stet_result force(everything *e) { return stet_stage_flush(stet_sim_stage(e->sim), true); }

static stet_result locals(everything *e)
{
    float x[NWORLD * 12];
    STI_TRY(stet_stage_get_local(stet_sim_stage(e->sim), e->prim[1], 0, NWORLD, x));
    note(e, sti_hash_bytes(x, sizeof x));
    STI_TRY(stet_stage_get_world(stet_sim_stage(e->sim), e->prim[2], 0, NWORLD, x));
    e->ndigest--;
    note(e, e->digest[e->ndigest] ^ sti_hash_bytes(x, sizeof x));
    return STET_OK;
}

static stet_result bind(everything *e)
{
    return STI_ARRAY(stet_sim_device(e->sim), "bound", STET_REAL, false, &e->bound, NWORLD, 5, 7, 1);
}

static stet_result open_tiles(everything *e)
{
    const stet_camera cameras[] = {{.prim = e->prim[2], .width = 7, .height = 5, .fovy = 60, .name = "own"}};
    const stet_tile_request requests[] = {{0, STET_OUTPUT_DEPTH, STET_REAL, 0, e->bound},
                                          {0, STET_OUTPUT_RGB, STET_F16, 2, NULL}};
    stet_tiles_def def = stet_default_tiles_def();
    def.cameras = cameras;
    def.ncamera = 1;
    def.requests = requests;
    def.nrequest = 2;
    return stet_tiles_create(stet_sim_stage(e->sim), &def, &e->tiles);
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
        STI_TRY(stet_tiles_read(e->tiles, -1, k, &tensor));
        STI_TRY(stet_array_hash(tensor, &hash));
        if (k == 0) continue;
        note(e, hash);
    }
    return STET_OK;
}

static stet_result snapshot(everything *e) { return stet_worlds_snapshot(stet_sim_worlds(e->sim), &e->snapshot); }
static stet_result restore(everything *e) { return stet_sim_restore(e->sim, e->snapshot); }
static stet_result save(everything *e) { return stet_worlds_save(stet_sim_worlds(e->sim), path()); }
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
    CALL(load),       CALL(create),      CALL(control),    CALL(step),        CALL(render),     CALL(read_frame),
    CALL(mirror),     CALL(reset),       CALL(read_frame), CALL(save),        CALL(add_one),    CALL(add_two),
    CALL(add_three),  CALL(place),       CALL(locals),     CALL(render),      CALL(hash_frame), CALL(bind),
    CALL(open_tiles), CALL(render_some), CALL(read_tiles), CALL(pin),         CALL(reparent),   CALL(snapshot),
    CALL(step),       CALL(render_some), CALL(hash_state), CALL(render),      CALL(restore),    CALL(read_frame),
    CALL(force),      CALL(locals),      CALL(read_tiles), CALL(close_tiles), CALL(remove_one), CALL(step),
    CALL(hash_frame), CALL(resume),      CALL(hash_frame), CALL(mirror),      CALL(hash_state),
#undef CALL
};
enum { NCALL = sizeof calls / sizeof *calls };

/* ---- the runs ---------------------------------------------------------------------------------------------------- */

static everything reference;

static void end(everything *e)
{
    stet_snapshot_destroy(e->snapshot);
    stet_tiles_destroy(e->tiles);
    stet_array_destroy(e->bound);
    stet_sim_destroy(e->sim);
    stet_model_destroy(e->model);
}

/* A call that failed for want of memory says so; made again, it does what it should. */
static stet_result run_call(everything *e, int k)
{
    int noted = e->ndigest;
    stet_result result = calls[k].call(e);
    if (result == STET_OK) return STET_OK;
    if (result != STET_OUT_OF_MEMORY || !strstr(stet_last_error(), "memory"))
        fail_msg("%s: %s: '%s'", calls[k].name, stet_result_string(result), stet_last_error());
    if (!retry) return result;
    e->ndigest = noted;
    result = calls[k].call(e);
    if (result != STET_OK) fail_msg("%s again: %s (%s)", calls[k].name, stet_last_error(), stet_last_error_where());
    return STET_OK;
}

static stet_result run(void)
{
    everything e = {0};
    stet_result result = STET_OK;
    for (int k = 0; k < NCALL && result == STET_OK; ++k) result = run_call(&e, k);
    end(&e);
    if (result != STET_OK) return result;
    if (!reference.ndigest) reference = e;
    assert_int_equal(e.ndigest, reference.ndigest);
    for (int k = 0; k < e.ndigest; ++k)
        if (e.digest[k] != reference.digest[k]) fail_msg("number %d is another one after a failure", k);
    return STET_OK;
}

/* The n-th fails, and those after it work. How many there are. */
static int64_t each_allocation_fails(stet_mechanism_options how)
{
    options = how;
    retry = true;
    assert_int_equal(run(), STET_OK);
    int64_t n = fail_each_allocation(run, true);
    print_message("%lld allocations, each failed once\n", (long long)n);
    assert_true(n > 300);
    (void)unlink(path());
    return n;
}

static void as_it_comes(void **state)
{
    (void)state;
    int64_t n = each_allocation_fails((stet_mechanism_options){0});
    retry = false; /* the run ends where it failed, and gives back what there was */
    assert_true(fail_each_allocation(run, true) == n);
    (void)unlink(path());
}

static void under_audit(void **state)
{
    (void)state;
    (void)each_allocation_fails((stet_mechanism_options){.audit = true});
}

/* The numbers are the same as with all of them on. */
static void with_all_mechanisms_off(void **state)
{
    (void)state;
    (void)each_allocation_fails((stet_mechanism_options){.disabled = (1u << STET_MECH_COUNT) - 1});
}

/* Numbers of its own, for pictures are empty; what the host works out goes through faces, which take memory, too. */
static void where_arrays_have_two_sides(void **state)
{
    (void)state;
    elsewhere = true;
    reference.ndigest = 0;
    (void)each_allocation_fails((stet_mechanism_options){0});
    (void)each_allocation_fails((stet_mechanism_options){.audit = true});
    elsewhere = false;
    reference.ndigest = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_it_comes),
        cmocka_unit_test(under_audit),
        cmocka_unit_test(with_all_mechanisms_off),
        cmocka_unit_test(where_arrays_have_two_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
