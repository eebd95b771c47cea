/*
 * The same bits: over instruction sets, threads, a GPU's teams, batches and the place of a pixel in the grid of
 * patches; and NaN stays in its world.
 *
 * Poses are made of small integers and one square root, so they are the same on every machine; the hashes below are
 * committed.
 */
#include "render/pictures.h"

#include "bench/count/count.h"
#include "kernel/gpu/table.h"

static const char scene[] =
    "<mujoco><visual><headlight ambient='.2 .2 .2' diffuse='.3 .3 .3'/></visual><asset>"
    "<texture type='skybox' builtin='gradient' rgb1='.7 .8 .9' rgb2='.2 .3 .4' width='32' height='192'/>"
    "<material name='a' rgba='.9 .4 .2 1' specular='.6' shininess='.4'/><material name='b' rgba='.2 .5 .8 1' "
    "emission='.2'/>"
    "<mesh name='lump' vertex='.3 0 0 -.3 0 0 0 .25 0 0 -.25 0 0 0 .4 0 0 -.2 .2 .2 .1'/>"
    "<hfield name='bumps' nrow='4' ncol='5' size='1.5 1.5 .3 .1' elevation='0 1 0 2 1 1 3 1 0 1 2 0 1 1 3 0 1 0 2 "
    "1'/></asset><worldbody>"
    "<light name='sun' directional='true' dir='-.4 .3 -.8' diffuse='.5 .5 .4' specular='.3 .3 .3'/>"
    "<light name='spot' type='spot' pos='0 0 3' dir='.1 0 -1' cutoff='40' exponent='6' attenuation='1 .1 .05'/>"
    "<geom type='plane' size='0 0 1' pos='0 0 -1.2' material='b'/><geom type='hfield' hfield='bumps' pos='0 0 -1.1'/>"
    "<body><freejoint/><geom type='box' size='.3 .2 .1' material='a'/></body>"
    "<body><freejoint/><geom type='sphere' size='.25' material='b'/><geom type='sphere' size='.1' pos='.2 0 "
    ".1'/></body>"
    "<body><freejoint/><geom type='capsule' size='.1 .3' material='a'/></body>"
    "<body><freejoint/><geom type='cylinder' size='.15 .2' rgba='.3 .8 .3 1'/></body>"
    "<body><freejoint/><geom type='ellipsoid' size='.1 .2 .3' material='b'/></body>"
    "<body><freejoint/><geom type='mesh' mesh='lump' material='a'/><camera name='rider' pos='0 0 .5' fovy='80'/></body>"
    "<camera name='far' pos='0 -4 1.5' xyaxes='1 0 0 0 .35 .94' fovy='45'/>"
    "<camera name='small' pos='0 0 1' resolution='64 64' focal='1 1' sensorsize='2 2'/>"
    "<camera name='large' pos='0 0 1' resolution='80 80' focal='1 1' sensorsize='2.5 2.5'/>"
    "</worldbody></mujoco>";

enum { NWORLD = 19, NBODY = 7, RIDER = 1, SMALL = 2, LARGE = 3, GRID_SHIFT = 8 };

/* Pose of body b of world w: position on a grid of sixteenths, orientation from integers. */
static void pose(int w, int b, float pos[3], float quat[4])
{
    unsigned h = (unsigned)(w * 7 + b) * 2654435761u;
    float sum = 0;
    for (int k = 0; k < 3; ++k) pos[k] = (float)((int)(h >> (8 * k) & 31) - 16) / 16.0f;
    for (int k = 0; k < 4; ++k) quat[k] = (float)((int)(h >> (7 * k) & 15) - 8 + (k == 0 ? 17 : 0));
    for (int k = 0; k < 4; ++k) sum += quat[k] * quat[k];
    for (int k = 0; k < 4; ++k) quat[k] /= sqrtf(sum);
}

/* Writes the poses of the worlds from `first` on; with `broken` that world's second body has a NaN. */
static void write_poses(pictures *p, int first, int broken)
{
    float *pos = calloc((size_t)p->nworld * NBODY * 3, sizeof *pos),
          *quat = calloc((size_t)p->nworld * NBODY * 4, sizeof *quat);
    for (int w = 0; w < p->nworld; ++w) {
        quat[4 * w * NBODY] = 1;
        for (int b = 1; b < NBODY; ++b) pose(first + w, b, pos + 3 * (w * NBODY + b), quat + 4 * (w * NBODY + b));
    }
    if (broken >= 0) pos[3 * (broken * NBODY + 2)] = NAN;
    pictures_take_poses(p, pos, quat);
}

static void named_camera(pictures *p, const char *name, int width, int height)
{
    pictures_model_camera(p, mj_name2id(p->model->mj, mjOBJ_CAMERA, name), width, height);
}

static void open_scene(pictures *p, int first, int64_t nworld, const char *isa, int threads)
{
    pictures_open(p, scene, nworld, isa, threads);
    named_camera(p, "far", 50, 33);
    named_camera(p, "rider", 96, 64);
    named_camera(p, "small", 64, 64);
    named_camera(p, "large", 80, 80);
    pictures_ready(p);
    write_poses(p, first, -1);
    pictures_run(p);
}

static void all_hashes(pictures *p, uint64_t hash[STI_BUFFER_COUNT])
{
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) OK(stet_array_hash(p->target.pixels[b], &hash[b]));
}

static const uint64_t golden[STI_BUFFER_COUNT] = {
    0x9f7ad31fd215119c, 0x8cf0a1ffb68716a9, 0x7be01a72c717b647, 0xedfdbff627b1798c, 0x1fb98c436dd51c3f,
    0x0778b39407b8df93, 0x58211e31ccb82cbc, 0xc25fe2d42e5769d2, 0xbf7aa09da126cbdc, 0xd5b4904a12c826b6,
};

static void test_golden_hashes(void **state)
{
    static const char *const isas[] = {"portable", "w1", "avx2", "avx512"};
    for (int i = 0; i < 4; ++i) {
        sti_isa isa;
        if (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa)) continue;
        for (int threads = 1; threads <= 3; threads += 2) {
            pictures p;
            uint64_t hash[STI_BUFFER_COUNT];
            open_scene(&p, 0, NWORLD, isas[i], threads);
            all_hashes(&p, hash);
            for (int b = 0; b < STI_BUFFER_COUNT; ++b)
                if (hash[b] != golden[b])
                    print_message("%s, %d threads, buffer %d: 0x%016llx\n", isas[i], threads, b,
                                  (unsigned long long)hash[b]);
            assert_memory_equal(hash, golden, sizeof hash);
            pictures_close(&p);
        }
    }
}

static void clear_pixels(pictures *p)
{
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) {
        size_t size = stet_array_get_bytes(p->target.pixels[b]);
        void *zeros = calloc(1, size);
        OK(stet_array_write(p->target.pixels[b], zeros, size));
        free(zeros);
    }
}

/* Kernels that count what they do (bench/count) are the same otherwise. */
static void test_golden_hashes_while_counting(void **state)
{
    sti_isa isa;
    if (!sti_isa_find("w1", &isa) || !sti_isa_available(isa)) skip();
    pictures p;
    uint64_t hash[STI_BUFFER_COUNT];
    open_scene(&p, 0, NWORLD, "w1", 1);
    clear_pixels(&p);
    bench_count_on(p.device, bench_counted_render);
    bench_counts.flops = bench_counts.bytes = 0;
    pictures_run(&p);
    all_hashes(&p, hash);
    assert_memory_equal(hash, golden, sizeof hash);
    uint64_t pixels = (uint64_t)(p.nworld * p.npixel);
    print_message("%.1f operations and %.1f bytes a pixel\n", (double)bench_counts.flops / (double)pixels,
                  (double)bench_counts.bytes / (double)pixels);
    assert_true(bench_counts.flops > 100 * pixels); /* eye to pixel, and a test of each shape */
    assert_true(bench_counts.bytes > 48 * pixels);  /* what is written, at least */
    pictures_close(&p);
}

/* Sets the team of all code of the ray caster that the device has; returns how many there are. */
static int set_teams(stet_device *device, int team)
{
    struct sti_programs *p;
    int n = 0;
    OK(sti_programs_open(device, &p));
    for (int i = 0; i < p->nslot; ++i) {
        const sti_program *it = p->slot[i];
        if (!it || strcmp(it->kernel->name, "k_render") != 0) continue;
        OK(sti_program_set_team(device, it->kernel, (sti_team){team, 1}));
        assert_int_equal(it->code.team, team);
        ++n;
    }
    return n;
}

/* The threads that share a patch on a GPU: the CPU's bits whatever their number is. */
static void test_any_team(void **state)
{
    static const int team[] = {32, 64, 128, 256};
    enum { WORLDS = 3 };
    pictures p;
    uint64_t expected[STI_BUFFER_COUNT], hash[STI_BUFFER_COUNT];
    if (!picked_any()) skip();
    open_scene(&p, 0, WORLDS, "portable", 1); /* on the CPU */
    all_hashes(&p, expected);
    pictures_close(&p);
    open_scene(&p, 0, WORLDS, NULL, 1);
    assert_true(p.device->can.compiles);
    for (int t = 0; t < 4; ++t) {
        assert_true(set_teams(p.device, team[t]) > 0);
        clear_pixels(&p);
        pictures_run(&p);
        all_hashes(&p, hash);
        assert_memory_equal(hash, expected, sizeof hash);
    }
    pictures_close(&p);
}

static void test_world_of_many_as_alone(void **state)
{
    pictures many, one;
    open_scene(&many, 0, NWORLD, NULL, 2);
    for (int w = 0; w < NWORLD; w += 6) {
        open_scene(&one, w, 1, NULL, 1);
        for (int b = 0; b < STI_BUFFER_COUNT; ++b)
            assert_true(pictures_hash(&many, (sti_picture_buffer)b, w) ==
                        pictures_hash(&one, (sti_picture_buffer)b, 0));
        pictures_close(&one);
    }
    assert_true(pictures_hash(&many, STI_BUFFER_DEPTH, 0) != pictures_hash(&many, STI_BUFFER_DEPTH, 1));
    pictures_close(&many);
}

/*
 * The small camera sees, pixel by pixel, exactly the rays of the middle of the large one, in other patches with other
 * candidates.
 */
static void test_patches_change_no_pixel(void **state)
{
    pictures p;
    open_scene(&p, 0, NWORLD, NULL, 2);
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) {
        size_t pixel = 4 * (size_t)sti_buffer_channels((sti_picture_buffer)b);
        char *bytes = pictures_read(&p, (sti_picture_buffer)b);
        for (int w = 0; w < NWORLD; ++w)
            for (int y = 0; y < 64; ++y) {
                int64_t a = pictures_first(&p, w, SMALL) + 64 * y;
                int64_t c = pictures_first(&p, w, LARGE) + 80 * (y + GRID_SHIFT) + GRID_SHIFT;
                assert_memory_equal(bytes + (size_t)a * pixel, bytes + (size_t)c * pixel, 64 * pixel);
            }
        free(bytes);
    }
    pictures_close(&p);
}

static void test_nan_stays_in_its_world(void **state)
{
    enum { BROKEN = 5 };
    pictures good, bad;
    open_scene(&good, 0, NWORLD, NULL, 2);
    open_scene(&bad, 0, NWORLD, NULL, 2);
    write_poses(&bad, 0, BROKEN);
    pictures_run(&bad);
    for (int w = 0; w < NWORLD; ++w)
        for (int b = 0; b < STI_BUFFER_CAST; ++b) {
            bool same = pictures_hash(&good, (sti_picture_buffer)b, w) == pictures_hash(&bad, (sti_picture_buffer)b, w);
            assert_true(same == (w != BROKEN));
        }
    int *body = pictures_read(&bad, STI_BUFFER_BODY);
    float *depth = pictures_read(&bad, STI_BUFFER_DEPTH);
    for (int64_t i = BROKEN * bad.npixel; i < (BROKEN + 1) * bad.npixel; ++i) {
        assert_int_not_equal(body[i], 2);
        assert_true(depth[i] > 0);
    }
    free(body);
    free(depth);
    pictures_close(&good);
    pictures_close(&bad);
}

/* A camera on a body whose pose is NaN sees nothing. */
static void test_nan_camera_sees_nothing(void **state)
{
    pictures p;
    open_scene(&p, 0, 2, NULL, 1);
    stet_array *xpos;
    float pos[2 * NBODY * 3];
    OK(stet_worlds_get_array(p.worlds, "xpos", &xpos));
    OK(stet_array_read(xpos, pos, sizeof pos));
    pos[3 * (NBODY - 1)] = NAN;
    OK(stet_array_write(xpos, pos, sizeof pos));
    pictures_run(&p);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM);
    float *depth = pictures_read(&p, STI_BUFFER_DEPTH);
    int64_t first = pictures_first(&p, 0, RIDER), hits = 0;
    for (int64_t i = first; i < first + 96 * 64; ++i) {
        assert_int_equal(geom[i], -1);
        assert_true(isinf(depth[i]));
    }
    for (int64_t i = p.npixel; i < 2 * p.npixel; ++i) hits += geom[i] >= 0;
    assert_true(hits > 0);
    free(geom);
    free(depth);
    pictures_close(&p);
}

/* Haze over a plane, and a shadow: both are computed from distances. */
static const char hazy[] =
    "<mujoco><statistic extent='1'/><visual><map zfar='10' haze='.5'/><rgba haze='0 1 0 1'/></visual><asset>"
    "<texture type='skybox' builtin='flat' rgb1='0 0 1' rgb2='0 0 1' width='16' height='96'/></asset><worldbody>"
    "<light pos='1 -1 3'/><geom type='plane' size='0 0 1'/><geom type='box' pos='0 0 .5' size='.6 .3 .4'/>"
    "</worldbody></mujoco>";

/* Prims may have any axes, also a camera's: then directions of rays are longer or shorter than 1. */
static void test_any_axes_of_a_camera(void **state)
{
    static const char *const isas[] = {"w1", "portable", "avx2", "avx512"};
    enum { WORLDS = 200 };
    uint64_t seed = dice_seed("axes"), hash[4][STI_BUFFER_COUNT];
    float frame[WORLDS][12];
    for (int w = 0; w < WORLDS; ++w)
        for (int k = 0; k < 12; ++k) frame[w][k] = (float)dice_in(&seed, -1, 1) + (k == 11 ? 1 : 0);
    for (int i = 0; i < 4; ++i) {
        sti_isa isa;
        if (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa)) continue;
        pictures p;
        pictures_open(&p, hazy, WORLDS, isas[i], 1);
        pictures_camera(&p, (double[]){0, -3, 1}, (double[]){0, 0, 1}, 60, 40, 20);
        pictures_ready(&p);
        OK(stet_stage_write_local(p.stage, p.camera[0].prim, 0, WORLDS, frame[0]));
        pictures_run(&p);
        all_hashes(&p, hash[i]);
        assert_memory_equal(hash[i], hash[0], sizeof hash[0]);
        pictures_close(&p);
    }
}

/*
 * A ball is seen in all pixels whose ray meets it, whatever the angles between a camera's axes; these are made unit
 * vectors. Balls around geoms that are tested before their shapes know nothing of such angles.
 */
static void test_a_ball_in_any_axes(void **state)
{
    enum { WORLDS = 60, EDGE = 24 };
    uint64_t seed = dice_seed("ball");
    static float frame[WORLDS][12];
    int hits = 0;
    pictures p;
    pictures_open(&p, "<mujoco><statistic extent='1'/><worldbody><geom type='sphere' size='.3'/></worldbody></mujoco>",
                  WORLDS, NULL, 1);
    pictures_camera(&p, (double[]){0, -3, 1}, (double[]){0, 0, 1}, 90, EDGE, EDGE);
    pictures_ready(&p);
    for (int w = 0; w < WORLDS; ++w)
        for (int k = 0; k < 12; ++k)
            frame[w][k] = (float)(dice_in(&seed, -0.4, 0.4) + (k % 5 == 0) + (k % 4 == 2 && k != 10) * 0.3 + (k == 11));
    OK(stet_stage_write_local(p.stage, p.camera[0].prim, 0, WORLDS, frame[0]));
    pictures_run(&p);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM);
    for (int i = 0; i < WORLDS * EDGE * EDGE; ++i) {
        const float *m = frame[i / (EDGE * EDGE)];
        double u = (i % EDGE + 0.5) * 2 / EDGE - 1, v = 1 - (i / EDGE % EDGE + 0.5) * 2 / EDGE, d[3] = {0, 0, 0};
        for (int k = 0; k < 3; ++k) {
            double len = sqrt(m[k] * m[k] + m[4 + k] * m[4 + k] + m[8 + k] * m[8 + k]);
            for (int r = 0; r < 3; ++r) d[r] += m[4 * r + k] / len * (k == 0 ? u : k == 1 ? v : -1);
        }
        double o[3] = {m[3], m[7], m[11]}, od = mju_dot3(o, d), dd = mju_dot3(d, d), oo = mju_dot3(o, o) - 0.09;
        double rest = od * od - oo * dd;
        if (fabs(rest) < 1e-4 || oo < 0) continue;
        assert_int_equal(geom[i], rest > 0 && od < 0 ? 0 : -1);
        hits += geom[i] == 0;
    }
    assert_true(hits > 300);
    free(geom);
    pictures_close(&p);
}

/*
 * Which rows and columns of a patch may show a geom is decided for all of a row's rays at once (span.k.h), also of
 * planes that are seen from the side; one lane looks at each ray alone. And depths alone are those of all outputs.
 */
static void test_rows_and_columns_leave_nothing_out(void **state)
{
    static const char *const types[] = {"plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "hfield"};
    static const char *const isas[] = {"w1", "portable", "avx2", "avx512"};
    uint64_t seed = dice_seed("rows"), hash[4][STI_BUFFER_COUNT];
    for (int n = 0; n < 12; ++n) {
        scene_text t = {.n = 0};
        double place[4][6];
        add(&t, "<mujoco><statistic extent='1'/><visual><map znear='.02'/></visual>");
        add_assets(&t, &seed);
        add(&t, "<worldbody>");
        for (int i = 0; i < 14; ++i) add_geom(&t, types[dice_below(&seed, n % 2 ? 7 : 6)], &seed);
        add(&t, "<geom type='plane' size='0 0 1' pos='0 0 %.3f'/></worldbody></mujoco>", dice_in(&seed, -2, 0));
        for (int c = 0; c < 4; ++c)
            for (int k = 0; k < 6; ++k) place[c][k] = dice_in(&seed, -1, 1) * (k < 3 ? 4 : 2);
        for (int i = 0; i < 4; ++i) {
            sti_isa isa;
            pictures p;
            uint64_t alone;
            if (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa)) continue;
            pictures_open(&p, t.at, 1, isas[i], 1);
            for (int c = 0; c < 4; ++c) {
                pictures_camera(&p, place[c], place[c] + 3, c == 3 ? 5 : 30 + 30 * (float)c, 75, 52);
                p.camera[c].orthographic = c == 3;
            }
            pictures_ready(&p);
            pictures_run(&p);
            all_hashes(&p, hash[i]);
            assert_memory_equal(hash[i], hash[0], sizeof hash[0]);
            sti_render_target all = p.target;
            for (int b = 0; b < STI_BUFFER_COUNT; ++b)
                if (b != STI_BUFFER_DEPTH) p.target.pixels[b] = NULL;
            size_t size = stet_array_get_bytes(p.target.pixels[STI_BUFFER_DEPTH]);
            void *zeros = calloc(1, size);
            OK(stet_array_write(p.target.pixels[STI_BUFFER_DEPTH], zeros, size));
            free(zeros);
            pictures_run(&p);
            OK(stet_array_hash(p.target.pixels[STI_BUFFER_DEPTH], &alone));
            assert_true(alone == hash[0][STI_BUFFER_DEPTH]);
            p.target = all;
            pictures_close(&p);
        }
    }
}

/*
 * A plane without an end is where it was after it moved along itself, also by more than any box is long: it has none,
 * neither where a block makes boxes nor where they are made before (more geoms than a list takes), and no ball, which
 * rays are tested against alone, beside a mesh, or through something transparent.
 */
static void test_planes_without_an_end_have_no_place_on_them(void **state)
{
    static const char *const isas[] = {"w1", "portable", "avx2", "avx512"};
    static const float away[][2] = {{0, 0}, {1e14f, 0}, {-1e12f, 1e14f}, {1e18f, -1e18f}, {-1e30f, 1e25f}};
    enum { WORLDS = 5, BODIES = 2 };
    for (int i = 0; i < 12; ++i) {
        scene_text t = {.n = 0};
        sti_isa isa;
        pictures p;
        if (!sti_isa_find(isas[i % 4], &isa) || !sti_isa_available(isa)) continue;
        add(&t,
            "<mujoco><statistic extent='1'/><asset><mesh name='lump' vertex='.2 0 0 -.2 0 0 0 .2 0 0 0 .3'/></asset>"
            "<worldbody><light pos='1 -1 3'/><body mocap='true'><geom type='plane' size='0 0 1' rgba='1 1 1 %s'/>"
            "</body>",
            i < 8 ? "1" : ".5");
        int nball = i / 4 == 1 ? 300 : 5, before = nball + (i >= 8); /* the world's own geoms come before the plane */
        if (i >= 8) add(&t, "<geom type='mesh' mesh='lump' pos='0 1 .2'/>");
        for (int k = 0; k < nball; ++k)
            add(&t, "<geom size='.0625' pos='%g %g .25'/>", k % 20 * 0.125 - 1, k / 20 * 0.125);
        add(&t, "</worldbody></mujoco>");
        pictures_open(&p, t.at, WORLDS, isas[i % 4], 1);
        pictures_camera(&p, (double[]){0, -3, 2}, (double[]){0, 0, 0}, 50, 70, 45);
        pictures_ready(&p);
        float *pos = calloc(WORLDS * BODIES * 3, sizeof *pos), *quat = calloc(WORLDS * BODIES * 4, sizeof *quat);
        for (int k = 0; k < WORLDS * BODIES; ++k) quat[4 * k] = 1;
        for (int w = 0; w < WORLDS; ++w) memcpy(pos + 3 * (w * BODIES + 1), away[w], sizeof away[w]);
        pictures_take_poses(&p, pos, quat);
        pictures_run(&p);
        int *geom = pictures_read(&p, STI_BUFFER_GEOM), plane = 0;
        for (int64_t k = 0; k < p.npixel; ++k) plane += geom[k] == before;
        assert_true(plane > 500 && plane < p.npixel);
        free(geom);
        for (int w = 1; w < WORLDS; ++w) {
            assert_true(pictures_hash(&p, STI_BUFFER_GEOM, w) == pictures_hash(&p, STI_BUFFER_GEOM, 0));
            assert_true(pictures_hash(&p, STI_BUFFER_DEPTH, w) == pictures_hash(&p, STI_BUFFER_DEPTH, 0));
            assert_true(pictures_hash(&p, STI_BUFFER_COLOUR, w) == pictures_hash(&p, STI_BUFFER_COLOUR, 0));
        }
        pictures_close(&p);
    }
}

/* The double build of the same source sees the same geoms, but for pixels on edges. */
static void test_double_build(void **state)
{
    pictures p[2];
    int *geom[2], differ = 0, hits = 0;
    for (int i = 0; i < 2; ++i) {
        pictures_open(&p[i], scene, 1, i ? "f64" : NULL, 1);
        named_camera(&p[i], "far", 160, 120);
        pictures_ready(&p[i]);
        pictures_run(&p[i]);
        geom[i] = pictures_read(&p[i], STI_BUFFER_GEOM);
    }
    for (int64_t i = 0; i < p[0].npixel; ++i) {
        differ += geom[0][i] != geom[1][i];
        hits += geom[0][i] > 1;
    }
    print_message("%d pixels of bodies, %d differ\n", hits, differ);
    assert_true(differ <= 20);
    assert_true(hits > 200);
    for (int i = 0; i < 2; ++i) {
        free(geom[i]);
        pictures_close(&p[i]);
    }
}

/* Pictures of odd sizes: nothing beyond their edges is written, and all of them is. */
static void test_odd_sizes(void **state)
{
    static const int sizes[][2] = {{1, 1}, {7, 5}, {17, 3}, {640, 3}, {33, 47}};
    static const char *const isas[] = {"portable", "w1", NULL};
    for (int i = 0; i < 3; ++i)
        for (int s = 0; s < 5; ++s) {
            pictures p;
            pictures_open(&p,
                          "<mujoco><statistic extent='1'/><worldbody><geom type='box' size='900 1 900' pos='0 2 "
                          "0'/></worldbody></mujoco>",
                          2, isas[i], 1);
            const double eye[3] = {0, -1, 0}, target[3] = {0, 0, 0};
            pictures_camera(&p, eye, target, 60, sizes[s][0], sizes[s][1]);
            pictures_ready(&p);
            size_t n = stet_array_get_bytes(p.target.pixels[STI_BUFFER_GEOM]) / sizeof(int);
            int *geom = malloc(n * sizeof *geom);
            for (size_t k = 0; k < n; ++k) geom[k] = 99;
            OK(stet_array_write(p.target.pixels[STI_BUFFER_GEOM], geom, n * sizeof *geom));
            const int last = 1;
            OK(sti_renderer_run(p.renderer, &last, 1, &p.target));
            OK(stet_array_read(p.target.pixels[STI_BUFFER_GEOM], geom, n * sizeof *geom));
            for (size_t k = 0; k < n; ++k) assert_int_equal(geom[k], k < n / 2 ? 99 : 0);
            free(geom);
            pictures_close(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_hashes),
        cmocka_unit_test(test_golden_hashes_while_counting),
        cmocka_unit_test(test_any_team),
        cmocka_unit_test(test_world_of_many_as_alone),
        cmocka_unit_test(test_patches_change_no_pixel),
        cmocka_unit_test(test_nan_stays_in_its_world),
        cmocka_unit_test(test_nan_camera_sees_nothing),
        cmocka_unit_test(test_any_axes_of_a_camera),
        cmocka_unit_test(test_a_ball_in_any_axes),
        cmocka_unit_test(test_rows_and_columns_leave_nothing_out),
        cmocka_unit_test(test_planes_without_an_end_have_no_place_on_them),
        cmocka_unit_test(test_odd_sizes),
        cmocka_unit_test(test_double_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
