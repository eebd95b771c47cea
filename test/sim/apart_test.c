/*
 * All of stet on a device that runs kernels and whose memory the host cannot touch (device/apart.h), beside a twin on a
 * plain CPU: whatever is called, in whatever order, both give the same bits; and what crosses between host and device
 * is what has to.
 */
#include "device/apart.h"
#include "sim/room.h"

#include "stet/dlpack.h"
#include "tiles/extract.h"

enum { WORLDS = 5, WIDTH = 20, HEIGHT = 12, REQUESTS = 4, PRIMS = 6 };

/*
 * A robot with what the stage has of kinds: a body in a body, a mocap body, a site, cameras that look and track,
 * lights, an actuator.
 */
static const char robot[] =
    "<mujoco><asset><texture name='t' type='2d' builtin='checker' width='8' height='8'/><material name='m' "
    "texture='t'/></asset><worldbody><light pos='0 0 3'/><geom type='plane' size='2 2 .1' material='m'/>"
    "<body name='arm' pos='0 0 1'><joint name='j' axis='0 1 0' range='-1 1'/><geom size='.05' fromto='0 0 0 .5 0 0' "
    "type='capsule'/><site name='s'/><body name='hand' pos='.5 0 0'><joint axis='0 0 1'/><geom type='box' size='.1 .1 "
    ".1'/><camera name='eye' pos='0 -.3 0'/></body></body><body name='target' mocap='true' pos='1 0 1'><geom size='.1' "
    "contype='0' conaffinity='0'/></body><camera name='watch' pos='0 -3 1' mode='targetbody' target='hand'/>"
    "</worldbody><actuator><motor joint='j' ctrlrange='-1 1'/></actuator><sensor><jointpos joint='j'/></sensor>"
    "<keyframe><key name='home' qpos='.1 .2' mpos='1 0 1' mquat='1 0 0 0'/></keyframe></mujoco>";

typedef struct life {
    stet_device *device;
    stet_worlds *worlds;
    stet_step *step;
    stet_stage *stage;
    stet_tiles *tiles;
    stet_snapshot *snapshot;
    stet_array *bound;
    struct DLManagedTensorVersioned *tensor; /* of ctrl, announced */
} life;

static void make_tiles(life *l)
{
    stet_camera cameras[] = {{0, WIDTH, HEIGHT, 50, "eye", false, false},
                             {0, WIDTH, HEIGHT, 60, "watch", false, false}};
    for (int c = 0; c < 2; ++c) OK(stet_stage_get_prim(l->stage, STET_PRIM_CAMERA, c, &cameras[c].prim));
    OK(STI_ARRAY(l->device, "bound", STET_DTYPE_F16, false, &l->bound, WORLDS, HEIGHT, WIDTH, 1));
    const stet_tile_request requests[REQUESTS] = {{0, STET_OUTPUT_RGB, STET_DTYPE_U8, 3, NULL, false},
                                                  {1, STET_OUTPUT_RGBA, STET_DTYPE_U8, 4, NULL, false},
                                                  {1, STET_OUTPUT_DEPTH, STET_DTYPE_F16, 1, l->bound, false},
                                                  {0, STET_OUTPUT_SEG_GEOM, STET_DTYPE_INT, 1, NULL, false}};
    stet_tiles_def def = stet_default_tiles_def();
    def.cameras = cameras;
    def.ncamera = 2;
    def.requests = requests;
    def.nrequest = REQUESTS;
    OK(stet_tiles_create(l->stage, &def, &l->tiles));
}

static life begin(stet_device *device, stet_model *model, stet_physics physics, bool exact)
{
    life l = {.device = device};
    stet_worlds_def def = stet_default_worlds_def();
    def.nworld = WORLDS;
    def.keyframe = 0;
    def.seed = 5;
    def.exact = exact;
    OK(stet_worlds_create(device, model, &def, &l.worlds));
    OK(stet_step_create(l.worlds, physics, &l.step));
    OK(stet_stage_create(l.worlds, &l.stage));
    make_tiles(&l);
    return l;
}

static void end(life *l)
{
    if (l->tensor) l->tensor->deleter(l->tensor);
    stet_snapshot_destroy(l->snapshot);
    stet_tiles_destroy(l->tiles);
    stet_array_destroy(l->bound);
    stet_stage_destroy(l->stage);
    stet_step_destroy(l->step);
    stet_worlds_destroy(l->worlds);
    stet_device_destroy(l->device);
}

static stet_array *field(const life *l, const char *name)
{
    stet_array *a;
    OK(stet_worlds_get_array(l->worlds, name, &a));
    return a;
}

/* ---- calls, on both --------------------------------------------------------------------------------------------- */

typedef struct program {
    life twin[2]; /* a CPU, and apart */
    uint64_t dice;
    int prim[PRIMS], nprim;
    bool rigid[PRIMS];
    size_t unit; /* bytes of a real */
} program;

#define BOTH(l) for (life *l = p->twin; l < p->twin + 2; ++l)

static int64_t roll(program *p, int64_t n) { return (int64_t)dice_below(&p->dice, (size_t)n); }
static float uniform(program *p) { return (float)roll(p, 2001) / 1000 - 1; }

static void same_content(stet_array *a, stet_array *b)
{
    uint64_t x, y;
    const void *mine, *theirs;
    OK(stet_array_get_host(a, &mine));
    OK(stet_array_get_host(b, &theirs));
    if (memcmp(mine, theirs, stet_array_get_bytes(a)) != 0) fail_msg("array %s differs", a->name);
    OK(stet_array_hash(a, &x));
    OK(stet_array_hash(b, &y));
    assert_true(x == y);
}

static void step(program *p)
{
    int n = (int)roll(p, 3) + 1;
    BOTH(l) OK(stet_step_run(l->step, n));
}

static void reset(program *p)
{
    uint8_t mask[WORLDS];
    stet_reset_def def = stet_default_reset_def();
    for (int w = 0; w < WORLDS; ++w) mask[w] = roll(p, 2) != 0;
    def.mask = mask;
    def.qpos_noise = roll(p, 2) ? 0.1 : 0;
    def.qvel_noise = roll(p, 2) ? 0.1 : 0;
    BOTH(l) OK(stet_worlds_reset(l->worlds, &def));
}

/* Some worlds of a field that callers write. */
static void write_field(program *p)
{
    static const char *const names[] = {"qpos", "qvel", "ctrl", "mocap_pos", "xfrc_applied", "time", "xpos"};
    const char *name = names[roll(p, sizeof names / sizeof *names)];
    stet_array *a = field(&p->twin[0], name);
    int64_t first = roll(p, WORLDS), n = roll(p, WORLDS - first) + 1;
    double rows[WORLDS * 64];
    assert_true(a->nitem <= 64);
    for (int64_t k = 0; k < n * a->nitem; ++k) {
        if (p->unit == sizeof(double))
            rows[k] = (double)uniform(p);
        else
            ((float *)rows)[k] = uniform(p);
    }
    BOTH(l) OK(stet_array_write_worlds(field(l, name), first, n, rows, (size_t)(n * a->nitem) * p->unit));
}

static void read_field(program *p)
{
    const char *const *names = stet_worlds_get_fields();
    int64_t n = 0;
    while (names[n]) n++;
    const char *name = names[roll(p, n)];
    same_content(field(&p->twin[0], name), field(&p->twin[1], name));
}

static void hash_state(program *p)
{
    uint64_t hash[2];
    OK(stet_worlds_hash(p->twin[0].worlds, &hash[0]));
    OK(stet_worlds_hash(p->twin[1].worlds, &hash[1]));
    assert_true(hash[0] == hash[1]);
}

static void draw_frame(program *p, float out[12])
{
    for (int k = 0; k < 12; ++k) out[k] = (k % 5 == 0) + uniform(p) / 4;
}

static void add_prim(program *p)
{
    float local[12];
    draw_frame(p, local);
    if (p->nprim == PRIMS) return;
    bool rigid = roll(p, 2) != 0;
    int parent = roll(p, 2) ? 1 : 0, prim = -1;
    BOTH(l) OK(stet_stage_add(l->stage, parent, NULL, local, rigid, &prim));
    p->rigid[p->nprim] = rigid;
    p->prim[p->nprim++] = prim;
}

static void remove_prim(program *p)
{
    if (p->nprim == 0) return;
    BOTH(l) OK(stet_stage_remove(l->stage, p->prim[p->nprim - 1]));
    p->nprim--;
}

static void move_prim(program *p)
{
    float rows[WORLDS * 12], back[2][WORLDS * 12];
    if (p->nprim == 0) return;
    int64_t k = roll(p, p->nprim), first = roll(p, WORLDS), n = roll(p, WORLDS - first) + 1;
    for (int64_t w = 0; w < n; ++w) draw_frame(p, rows + w * 12);
    BOTH(l)
    {
        OK(p->rigid[k] ? stet_stage_write_world(l->stage, p->prim[k], first, n, rows)
                       : stet_stage_write_local(l->stage, p->prim[k], first, n, rows));
    }
    if (roll(p, 2)) return;
    bool local = roll(p, 2) != 0;
    BOTH(l)
    {
        float *out = back[l - p->twin];
        OK(local ? stet_stage_read_local(l->stage, p->prim[k], 0, WORLDS, out)
                 : stet_stage_read_world(l->stage, p->prim[k], 0, WORLDS, out));
    }
    assert_memory_equal(back[0], back[1], sizeof back[0]);
}

static void look_at_stage(program *p)
{
    stet_array *local[2], *world[2];
    bool force = roll(p, 4) == 0;
    BOTH(l)
    {
        if (force) OK(stet_stage_flush(l->stage, true));
        OK(stet_stage_get_arrays(l->stage, &local[l - p->twin], &world[l - p->twin]));
    }
    same_content(world[0], world[1]);
    same_content(local[0], local[1]);
}

static void render(program *p)
{
    uint8_t mask[WORLDS];
    int64_t frame[2];
    bool all = roll(p, 2) != 0;
    for (int w = 0; w < WORLDS; ++w) mask[w] = roll(p, 2) != 0;
    BOTH(l) OK(stet_tiles_render(l->tiles, all ? NULL : mask, &frame[l - p->twin]));
    assert_int_equal(frame[0], frame[1]);
}

static void read_tiles(program *p)
{
    stet_array *a[2];
    int request = (int)roll(p, REQUESTS);
    BOTH(l)
    {
        stet_result result = stet_tiles_get_array(l->tiles, -1, request, &a[l - p->twin]);
        if (result == STET_ERROR_NOT_FOUND) return; /* nothing was rendered yet */
        OK(result);
    }
    same_content(a[0], a[1]);
}

static void snapshot(program *p)
{
    bool restore = p->twin[0].snapshot && roll(p, 2);
    BOTH(l)
    {
        if (restore) {
            OK(stet_worlds_restore(l->worlds, l->snapshot));
        } else {
            stet_snapshot_destroy(l->snapshot);
            OK(stet_snapshot_create(l->worlds, &l->snapshot));
        }
    }
}

/* Somebody else shows, and writes, the controls. */
static void use_tensor(program *p)
{
    stet_export_def def = stet_default_export_def();
    def.writable = def.announced = true;
    if (p->twin[0].tensor && roll(p, 3) == 0) {
        BOTH(l)
        {
            l->tensor->deleter(l->tensor);
            l->tensor = NULL;
        }
        return;
    }
    float x = uniform(p);
    int64_t w = roll(p, WORLDS);
    BOTH(l)
    {
        stet_array *ctrl = field(l, "ctrl");
        if (!l->tensor) OK(stet_array_export(ctrl, &def, &l->tensor));
        sti_mirror_set(ctrl, apart_here(l->tensor->dl_tensor.data), w, 0, (double)x);
        stet_array_mark_written(ctrl);
    }
}

static void switch_mechanisms(program *p)
{
    uint32_t bits = 0;
    if (roll(p, 2))
        for (int m = 0; m < STET_MECHANISM_COUNT; ++m) bits |= (uint32_t)(roll(p, 4) == 0) << m;
    stet_mechanism_options options = {.disabled = bits, .audit = roll(p, 3) == 0};
    BOTH(l) OK(stet_device_set_mechanisms(l->device, &options));
}

static void (*const calls[])(program *p) = {
    step,      reset,       write_field,   read_field, hash_state, add_prim, remove_prim, move_prim,         move_prim,
    step,      write_field, look_at_stage, render,     read_tiles, snapshot, use_tensor,  switch_mechanisms, render,
    read_tiles};

static void run(program *p, int n)
{
    for (int k = 0; k < n; ++k) calls[roll(p, sizeof calls / sizeof *calls)](p);
    BOTH(l) OK(stet_device_set_mechanisms(l->device, &(stet_mechanism_options){0}));
    for (const char *const *f = stet_worlds_get_fields(); *f; ++f)
        same_content(field(&p->twin[0], *f), field(&p->twin[1], *f));
    look_at_stage(p);
}

static void both_give_the_same(void **state)
{
    uint64_t seed = dice_seed("apart");
    stet_model *model = rig_model(robot);
    int64_t blocks = stet_get_memory_stats().blocks;
    static const struct {
        stet_physics physics;
        bool exact;
    } ways[] = {{STET_PHYSICS_MUJOCO, true}, {STET_PHYSICS_EXTERNAL, true}, {STET_PHYSICS_EXTERNAL, false}};
    FOR_ISAS(isa)
    for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
        program p = {.dice = seed + k};
        p.twin[0] = begin(open_device(isa, 1), model, ways[k].physics, ways[k].exact);
        p.twin[1] = begin(open_apart(isa, 1 + (k == 0)), model, ways[k].physics, ways[k].exact);
        p.unit = p.twin[0].device->real_size;
        run(&p, 100);
        for (int t = 0; t < 2; ++t) end(&p.twin[t]);
        assert_int_equal(apart.host, 0);
    }
    stet_model_destroy(model);
    assert_true(stet_get_memory_stats().blocks <= blocks);
}

/* ---- what crosses ----------------------------------------------------------------------------------------------- */

static void forget_crossings(void) { apart.uploads = apart.downloads = 0, apart.bytes_up = apart.bytes_down = 0; }

/* Physics on the host: states stay there, poses go up once a frame, and only if they moved. */
static void poses_go_up_once_a_frame(void **state)
{
    stet_model *model = rig_model(robot);
    life l = begin(open_apart(STI_ISA_w1, 1), model, STET_PHYSICS_MUJOCO, true);
    int64_t frame;
    for (int k = 0; k < 3; ++k) { /* until all is allocated, compiled, compared */
        OK(stet_step_run(l.step, 2));
        OK(stet_tiles_render(l.tiles, NULL, &frame));
    }
    int64_t poses = (int64_t)(field(&l, "xpos")->size + field(&l, "xquat")->size);
    for (int k = 0; k < 4; ++k) {
        forget_crossings();
        for (int substep = 0; substep < 5; ++substep) OK(stet_step_run(l.step, 1));
        assert_int_equal(apart.uploads + apart.downloads, 0);
        OK(stet_tiles_render(l.tiles, NULL, &frame));
        assert_int_equal(apart.downloads, 0);
        int64_t beside = apart.bytes_up - poses; /* lists of worlds, blocks of arguments */
        assert_in_range(beside, 0, 2048);
        forget_crossings();
        OK(stet_tiles_render(l.tiles, NULL, &frame));
        assert_int_equal(apart.uploads + apart.downloads, 0);
    }
    end(&l);
    stet_model_destroy(model);
}

/* Physics elsewhere, on the device: what it writes never comes to the host. */
static void poses_that_are_written_there_stay_there(void **state)
{
    stet_model *model = rig_model(robot);
    life l = begin(open_apart(STI_ISA_w1, 1), model, STET_PHYSICS_EXTERNAL, false);
    int64_t frame;
    for (int k = 0; k < 6; ++k) {
        if (k == 3) forget_crossings();
        ((float *)apart_here(field(&l, "xpos")->data))[4] = (float)k;
        stet_array_mark_written(field(&l, "xpos"));
        OK(stet_step_run(l.step, 1));
        OK(stet_tiles_render(l.tiles, NULL, &frame));
    }
    assert_int_equal(apart.downloads, 0);
    assert_true(apart.launches > 0);
    end(&l);
    stet_model_destroy(model);
}

/* Of worlds on a CPU, with poses that the caller wrote, into worlds that nobody has looked at yet. */
static void a_snapshot_goes_into_new_worlds(void **state)
{
    stet_model *model = rig_model(robot);
    for (int exact = 0; exact < 2; ++exact) {
        life twin[2] = {begin(open_device(STI_ISA_w1, 1), model, STET_PHYSICS_EXTERNAL, exact),
                        begin(open_apart(STI_ISA_w1, 1), model, STET_PHYSICS_EXTERNAL, exact)};
        float row[3 * 4] = {0};
        uint64_t hash[2];
        stet_array *xpos = field(&twin[0], "xpos");
        for (int k = 0; k < 12; ++k) row[k] = (float)k;
        OK(stet_step_run(twin[0].step, 3));
        assert_int_equal(xpos->nitem, 12);
        OK(stet_array_write_worlds(xpos, 3, 1, row, sizeof row));
        OK(stet_snapshot_create(twin[0].worlds, &twin[0].snapshot));
        OK(stet_worlds_restore(twin[1].worlds, twin[0].snapshot));
        for (const char *const *f = stet_worlds_get_fields(); *f; ++f)
            same_content(field(&twin[0], *f), field(&twin[1], *f));
        for (int t = 0; t < 2; ++t) OK(stet_worlds_hash(twin[t].worlds, &hash[t]));
        assert_true(hash[0] == hash[1]);
        for (int t = 0; t < 2; ++t) end(&twin[t]);
    }
    stet_model_destroy(model);
}

/* Pixels of some worlds go to where the host has written: the rows of the others stay. */
static void extraction_leaves_what_the_host_wrote(void **state)
{
    enum { WIDE = 4, HIGH = 3, PIXELS = WIDE * HIGH };
    stet_device *device = open_apart(STI_ISA_portable, 1);
    const sti_tile_size size = {WIDE, HIGH};
    const bool direct = false;
    bool used[STI_BUFFER_COUNT] = {false};
    sti_tile_part part;
    sti_tile_layout layout[STI_BUFFER_COUNT];
    sti_tile_table table;
    sti_extractor x;
    stet_array *pixels[STI_BUFFER_COUNT] = {NULL}, *to;
    int conversion, rows[WORLDS][PIXELS];
    bool plain;
    void *mirror;
    int64_t bytes;
    used[STI_BUFFER_GEOM] = true;
    OK(sti_tile_plan(&size, &direct, 1, WORLDS, &part, &layout[STI_BUFFER_GEOM]));
    OK(sti_tile_table_create(device, layout, used, &table));
    OK(sti_extractor_create(device, WORLDS, 1, 4, &x));
    OK(STI_ARRAY(device, "pixels", STET_DTYPE_INT, false, &pixels[STI_BUFFER_GEOM], layout[STI_BUFFER_GEOM].npixel));
    OK(STI_ARRAY(device, "rows", STET_DTYPE_INT, false, &to, WORLDS, HIGH, WIDE, 1));
    OK(sti_conversion(STET_OUTPUT_SEG_GEOM, STET_DTYPE_INT, 1, &conversion, &plain));
    OK(sti_array_mirror_write(to, &mirror));
    for (int k = 0; k < WORLDS * PIXELS; ++k) ((int *)mirror)[k] = 7;
    sti_array_mirror_written(to);
    const sti_tile_source source = {&table, 1, pixels};
    const sti_copy copy = {.buffer = STI_BUFFER_GEOM, .conversion = conversion, .channels = 1, .size = size, .to = to};
    OK(sti_extract(&x, &source, &copy, 1, (const int[]){1, 4}, 2, &bytes));
    OK(stet_array_read(to, rows, sizeof rows));
    for (int w = 0; w < WORLDS; ++w)
        for (int k = 0; k < PIXELS; ++k) assert_int_equal(rows[w][k], w == 1 || w == 4 ? 0 : 7);
    sti_extractor_destroy(&x);
    sti_tile_table_destroy(&table);
    stet_array_destroy(pixels[STI_BUFFER_GEOM]);
    stet_array_destroy(to);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_give_the_same),
        cmocka_unit_test(a_snapshot_goes_into_new_worlds),
        cmocka_unit_test(extraction_leaves_what_the_host_wrote),
        cmocka_unit_test(poses_go_up_once_a_frame),
        cmocka_unit_test(poses_that_are_written_there_stay_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
