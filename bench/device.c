/*
 * How well a GPU uses its memory: extraction and the hierarchy beside a plain copy on the same device, and the Newton
 * pilot; and kernels with several team sizes.
 *
 * A copy of n bytes reads n and writes n. Work that reads r bytes and writes w is compared with a copy of (r + w) / 2.
 */
#include "bench/bench.h"
#include "bench/copies.h"

#include "base/error.h"
#include "kernel/gpu/teams.h"
#include "bench/pilot/pilot.h"
#include "stage/stage.h"

#include <stdio.h>
#include <string.h>

/* ---- plain copies ------------------------------------------------------------------------------------------------ */

/* Two arrays of bytes on a device. */
typedef struct plain {
    stet_device *device;
    stet_array *from, *to;
} plain;

static stet_result copy_plainly(void *context)
{
    const plain *p = context;
    return sti_device_copy(p->device, p->to->data, p->from->data, p->from->size);
}

static stet_result wait_for(stet_device *device) { return device->ops->synchronize(device); }

static stet_result finish_plain(void *context) { return wait_for(((plain *)context)->device); }

static stet_result open_plain(plain *p, stet_device *device, size_t bytes)
{
    *p = (plain){.device = device};
    STI_TRY(STI_ARRAY(device, "source of a copy", STET_DTYPE_U8, false, &p->from, (int64_t)bytes));
    return STI_ARRAY(device, "destination of a copy", STET_DTYPE_U8, false, &p->to, (int64_t)bytes);
}

static void close_plain(plain *p)
{
    stet_array_destroy(p->from);
    stet_array_destroy(p->to);
}

/* Work that moves `moved` bytes, read and written, beside a copy that moves as many: seconds of work, of the copy. */
static stet_result beside_copy(stet_device *device, bench_work work, size_t moved, double seconds[2][BENCH_SAMPLES])
{
    plain p;
    stet_result result = open_plain(&p, device, moved / 2);
    const bench_work both[] = {work, {copy_plainly, &p, finish_plain}};
    if (result == STET_OK) result = bench_in_turns(both, 2, 0.02, seconds);
    close_plain(&p);
    return result;
}

/* A row of copy time over work time, from what beside_copy gave. */
static stet_result add_ratio(bench *b, const char *name, size_t moved, double seconds[2][BENCH_SAMPLES], double goal)
{
    double ratio[BENCH_SAMPLES];
    bench_row *row;
    for (int s = 0; s < BENCH_SAMPLES; ++s) ratio[s] = seconds[1][s] / seconds[0][s];
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "of a copy", true, "%s", name));
    bench_goal(row, goal);
    bench_note(row, "%.1f us, a copy that moves as many bytes (%.1f MB read and written) %.1f us",
               1e6 * bench_median(seconds[0], BENCH_SAMPLES), 1e-6 * (double)moved,
               1e6 * bench_median(seconds[1], BENCH_SAMPLES));
    return STET_OK;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static stet_result finish_copies(void *context) { return wait_for(((bench_copies *)context)->device); }

static stet_result measure_tiles(bench *b, stet_device *device, const bench_variant *v, int64_t nworld, int edge,
                                 double goal)
{
    bench_copies c = {.nworld = nworld, .size = {edge, edge}};
    double seconds[2][BENCH_SAMPLES];
    char name[BENCH_NAME];
    stet_result result = bench_copies_open(&c, device, v);
    size_t moved = c.bytes + c.source_bytes;
    if (result == STET_OK)
        result = beside_copy(device, (bench_work){bench_copies_extract, &c, finish_copies}, moved, seconds);
    bench_copies_close(&c);
    (void)snprintf(name, sizeof name, "device/tiles/%s/%lldx%dx%d/ratio_to_memcpy", v->name, (long long)nworld, edge,
                   edge);
    return result == STET_OK ? add_ratio(b, name, moved, seconds, goal) : result;
}

static stet_result measure_all_tiles(bench *b, stet_device *device)
{
    for (int k = 0; k < BENCH_VARIANTS; ++k)
        STI_TRY(measure_tiles(b, device, &bench_variants[k], 1225, 120, k == 0 ? 0.95 : 0.85));
    return measure_tiles(b, device, &bench_variants[0], 16384, 64, 0.95);
}

/* ---- hierarchy --------------------------------------------------------------------------------------------------- */

enum { PRIMS = 128, TREE_WORLDS = 8192 };

/* A stage of PRIMS prims in each world: a tree in which each prim has four children. */
typedef struct forest {
    stet_device *device;
    stet_model *model;
    stet_worlds *worlds;
    stet_stage *stage;
} forest;

static stet_result flush_all(void *context) { return stet_stage_flush(((forest *)context)->stage, true); }

static stet_result finish_forest(void *context) { return wait_for(((forest *)context)->device); }

static stet_result plant(forest *f, stet_device *device)
{
    static const char scene[] = "<mujoco/>";
    static const float local[12] = {0.8f, -0.6f, 0, 0.25f, 0.6f, 0.8f, 0, 0.5f, 0, 0, 1, 0.125f};
    stet_worlds_def def = stet_default_worlds_def();
    int prim[PRIMS] = {0};
    f->device = device;
    def.nworld = TREE_WORLDS;
    def.exact = false;
    STI_TRY(stet_model_load_string(scene, &f->model));
    STI_TRY(stet_worlds_create(device, f->model, &def, &f->worlds));
    STI_TRY(stet_stage_create(f->worlds, &f->stage));
    for (int k = 1; k < PRIMS; ++k) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%d", k);
        STI_TRY(stet_stage_add(f->stage, prim[(k - 1) / 4], name, local, false, &prim[k]));
    }
    return flush_all(f);
}

static void fell(forest *f)
{
    stet_stage_destroy(f->stage);
    stet_worlds_destroy(f->worlds);
    stet_model_destroy(f->model);
}

/* Seconds of the host for one flush. The device's queue has room, so the host waits for nothing. */
static stet_result host_time(forest *f, double *seconds)
{
    enum { FLUSHES = 20 };
    STI_TRY(finish_forest(f));
    double start = bench_now();
    for (int k = 0; k < FLUSHES; ++k) STI_TRY(flush_all(f));
    *seconds = (bench_now() - start) / FLUSHES;
    return finish_forest(f);
}

/* Each local matrix is read once and each world matrix written once. */
static stet_result measure_hierarchy(bench *b, stet_device *device)
{
    forest f = {0};
    double seconds[2][BENCH_SAMPLES];
    size_t moved = (size_t)TREE_WORLDS * PRIMS * 12 * sizeof(float) * 2;
    stet_result result = plant(&f, device);
    if (result == STET_OK) result = beside_copy(device, (bench_work){flush_all, &f, finish_forest}, moved, seconds);
    double host = 0;
    if (result == STET_OK) result = host_time(&f, &host);
    fell(&f);
    if (result == STET_OK) result = add_ratio(b, "device/hierarchy/ratio_to_copy", moved, seconds, 0.6);
    if (result == STET_OK) {
        bench_row *row = &b->row[b->nrow - 1];
        size_t n = strlen(row->note);
        (void)snprintf(row->note + n, sizeof row->note - n, "; %.1f us of the host", 1e6 * host);
    }
    return result;
}

/* ---- the Newton pilot -------------------------------------------------------------------------------------------- */

typedef struct newton {
    stet_device *device;
    sti_pilot pilot;
} newton;

static stet_result run_newton(void *context)
{
    newton *n = context;
    return sti_pilot_run(n->device, &n->pilot);
}

static stet_result finish_newton(void *context) { return wait_for(((newton *)context)->device); }

static stet_result measure_newton(bench *b, stet_device *device)
{
    enum { SIZE = 8192 };
    newton n = {.device = device};
    double seconds[1][BENCH_SAMPLES];
    bench_row *row;
    STI_TRY(sti_pilot_create(device, STI_PILOT_NEWTON, SIZE, &n.pilot));
    stet_result result = bench_in_turns(&(bench_work){run_newton, &n, finish_newton}, 1, 0.02, seconds);
    sti_pilot_destroy(&n.pilot);
    STI_TRY(result);
    for (int s = 0; s < BENCH_SAMPLES; ++s) seconds[0][s] *= 1e9 / SIZE;
    STI_TRY(bench_add(b, &row, seconds[0], BENCH_SAMPLES, "ns/world", false, "device/newton27/ns_per_world"));
    bench_goal(row, 20);
    bench_note(row, "%d worlds", SIZE);
    return STET_OK;
}

/* ---- sizes of teams ---------------------------------------------------------------------------------------------- */

extern const sti_kernel sti_k_render, sti_k_extract, sti_k_forward, sti_k_newton;

/* Times of a kernel with several team sizes. STET_TEAM_… of kernels are made from these. */
static stet_result try_teams(bench *b, stet_device *device, const sti_kernel *kernel, const char *name,
                             const sti_team *team, int n, bench_work work)
{
    stet_result result = STET_OK;
    for (int k = 0; k < n && result == STET_OK; ++k) {
        double seconds[1][BENCH_SAMPLES];
        bench_row *row;
        result = sti_program_set_team(device, kernel, team[k]);
        if (result == STET_OK) result = bench_in_turns(&work, 1, 0.005, seconds);
        for (int s = 0; result == STET_OK && s < BENCH_SAMPLES; ++s) seconds[0][s] *= 1e6;
        if (result == STET_OK)
            result = bench_add(b, &row, seconds[0], BENCH_SAMPLES, "us", false, "teams/%s/%dx%d", name, team[k].team,
                               team[k].teams);
    }
    (void)sti_program_set_team(device, kernel, (sti_team){0, 0});
    return result;
}

static stet_result teams_of_extraction(bench *b, stet_device *device)
{
    static const sti_team team[] = {{64, 1}, {128, 1}, {256, 1}, {512, 1}};
    stet_result result = STET_OK;
    for (int k = 0; k < 2 && result == STET_OK; ++k) { /* a plain copy, and a conversion */
        bench_copies c = {.nworld = 1225, .size = {120, 120}};
        result = bench_copies_open(&c, device, &bench_variants[k == 0 ? 0 : 3]);
        if (result == STET_OK)
            result = try_teams(b, device, &sti_k_extract, k == 0 ? "k_extract/rgba8" : "k_extract/rgb32f", team, 4,
                               (bench_work){bench_copies_extract, &c, finish_copies});
        bench_copies_close(&c);
    }
    return result;
}

static stet_result teams_of_hierarchy(bench *b, stet_device *device)
{
    static const sti_team team[] = {{32, 1}, {32, 4}, {32, 8}, {64, 1}, {128, 1}, {256, 1}};
    forest f = {0};
    stet_result result = plant(&f, device);
    if (result == STET_OK)
        result = try_teams(b, device, &sti_k_forward, "k_forward", team, 6, (bench_work){flush_all, &f, finish_forest});
    fell(&f);
    return result;
}

static stet_result draw(void *context) { return stet_sim_render(context, NULL); }

static stet_result finish_drawing(void *context) { return wait_for(stet_sim_get_device(context)); }

/* Colours and depths of as many hands as run the code for all scenes; with the mechanisms off each render draws all. */
static stet_result teams_of_renderer(bench *b)
{
    static const sti_team team[] = {{32, 1}, {64, 1}, {128, 1}, {256, 1}};
    char path[512];
    stet_model *model;
    stet_sim *sim = NULL;
    stet_sim_def def = stet_default_sim_def();
    (void)snprintf(path, sizeof path, "%s/hand.xml", b->scenes);
    def.device = b->device;
    def.device.mechanisms.disabled = 1u << STET_MECHANISM_FRAME | 1u << STET_MECHANISM_PATCHES;
    def.nworld = 63;
    def.width = def.height = 64;
    def.outputs = 1u << STET_OUTPUT_RGBA | 1u << STET_OUTPUT_DEPTH;
    STI_TRY(stet_model_load(path, &model));
    stet_result result = stet_sim_create(model, &def, &sim);
    stet_model_destroy(model);
    if (result == STET_OK)
        result = try_teams(b, stet_sim_get_device(sim), &sti_k_render, "k_render", team, 4,
                           (bench_work){draw, sim, finish_drawing});
    stet_sim_destroy(sim);
    return result;
}

static stet_result teams_of_newton(bench *b, stet_device *device)
{
    static const sti_team team[] = {{16, 2}, {32, 1}, {64, 1}, {96, 1}};
    newton n = {.device = device};
    STI_TRY(sti_pilot_create(device, STI_PILOT_NEWTON, 8192, &n.pilot));
    stet_result result =
        try_teams(b, device, &sti_k_newton, "k_newton", team, 4, (bench_work){run_newton, &n, finish_newton});
    sti_pilot_destroy(&n.pilot);
    return result;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

stet_result bench_open_gpu(bench *b, const char *what, stet_device **out)
{
    STI_TRY(stet_device_create(&b->device, out));
    if ((*out)->can.compiles) {
        bench_name_gpu(b, *out);
        return STET_OK;
    }
    (void)fprintf(stderr, "stet bench: %s: no GPU is here, or none was asked for (%s); nothing was measured\n", what,
                  stet_device_get_name(*out));
    stet_device_destroy(*out);
    *out = NULL;
    return STET_OK;
}

stet_result bench_device(bench *b)
{
    stet_device *device;
    STI_TRY(bench_open_gpu(b, "device", &device));
    if (!device) return STET_OK;
    stet_result result = measure_all_tiles(b, device);
    if (result == STET_OK) result = measure_hierarchy(b, device);
    if (result == STET_OK) result = measure_newton(b, device);
    stet_device_destroy(device);
    return result;
}

stet_result bench_teams(bench *b)
{
    stet_device *device;
    STI_TRY(bench_open_gpu(b, "teams", &device));
    if (!device) return STET_OK;
    stet_result result = teams_of_extraction(b, device);
    if (result == STET_OK) result = teams_of_hierarchy(b, device);
    if (result == STET_OK) result = teams_of_newton(b, device);
    if (result == STET_OK) result = teams_of_renderer(b);
    stet_device_destroy(device);
    return result;
}
