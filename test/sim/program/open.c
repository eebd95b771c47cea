/* The random program's two sims: how they are made, what they share, and the switches. */
#include "sim/program/program.h"

#include "device/isa.h"

#include <stdlib.h>

/* ---- making ------------------------------------------------------------------------------------------------------ */

static bool exists(const char *isa)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device = NULL;
    def.isa = isa;
    def.threads = 1;
    stet_result result = stet_device_create(&def, &device);
    stet_device_destroy(device);
    return result == STET_OK;
}

static const char *pick_isa(program *p)
{
    static const char *const isas[] = {"w1", "portable", "avx2", "avx512"};
    if (p->f64) return "f64";
    const char *isa = isas[roll(p, 4)];
    return exists(isa) ? isa : "w1";
}

/* For the subject the device that the run is about, if it is about one; else a CPU's of some width. */
static void pick_device(program *p, int who, stet_device_def *def)
{
    const char *isa = pick_isa(p);
    bool cpu = !picked_any() || (who == TWIN && once_in(p, 2));
    def->type = STET_DEVICE_AUTO;
    def->isa = cpu ? isa : NULL;
    def->threads = once_in(p, 6) ? 2 : 1;
    picked_device(def);
}

static uint32_t random_outputs(program *p)
{
    uint32_t outputs = 0;
    while (!outputs)
        for (int o = 0; o < STET_OUTPUT_COUNT; ++o) outputs |= (uint32_t)once_in(p, 4) << o;
    return outputs;
}

static stet_sim_def random_def(program *p, const char *const **cameras)
{
    static const char *const all[] = {"all"}, *const none[] = {"free"};
    stet_sim_def def = stet_default_sim_def();
    int which = roll(p, 3);
    def.nworld = p->nworld = 1 + roll(p, 5);
    def.physics = p->external ? STET_PHYSICS_EXTERNAL : p->native ? STET_PHYSICS_NATIVE : STET_PHYSICS_MUJOCO;
    def.seed = dice_next(&p->dice);
    def.width = 8 + roll(p, 13);
    def.height = 6 + roll(p, 4);
    def.outputs = random_outputs(p);
    *cameras = which == 0 ? all : which == 1 ? none : NULL;
    def.cameras = *cameras;
    def.ncamera = *cameras != NULL;
    return def;
}

static void open_gallery(program *p, int depth)
{
    const stet_sim *sim = p->sim[SUBJECT];
    size_t bytes[MOST_ITEMS];
    int n = 0;
    for (int c = 0; c < sim->ncamera; ++c)
        for (int o = 0; o < STET_OUTPUT_COUNT; ++o)
            if (sim->outputs >> o & 1u) {
                CHECK(p, n < MOST_ITEMS, "more pictures than the test has room for");
                bytes[n++] = stet_sim_get_output_bytes(sim, c, (stet_output)o);
            }
    gallery_open(p, &p->shown, depth, bytes, n);
}

/* Prims that the sim added itself. */
static void list_added(program *p)
{
    p->nadded = 0;
    for (int c = 0; c < stet_sim_get_ncamera(p->sim[SUBJECT]); ++c) {
        int prim = stet_sim_get_camera(p->sim[SUBJECT], c)->prim;
        if (prim >= model_prims(p)) p->added[p->nadded++] = (added_prim){.prim = prim, .keep = true};
    }
}

static stet_mechanism_options options_of(int who)
{
    if (who == SUBJECT) return (stet_mechanism_options){.audit = true};
    return (stet_mechanism_options){.disabled = (1u << STET_MECHANISM_COUNT) - 1};
}

/*
 * On a GPU all kernels come with the sim: most of the time they are not compiled again, as they would be under audit
 * and without the cache.
 */
static void create_sim(program *p, int who, stet_sim_def *def)
{
    stet_mechanism_options options = options_of(who);
    bool known = !def->device.isa && !once_in(p, 25);
    def->device.mechanisms = known ? (stet_mechanism_options){0} : options;
    must(p, who, stet_sim_create(p->model[p->scene], def, &p->sim[who]), "stet_sim_create");
    must(p, who, stet_device_set_mechanisms(device_of(p, who), &options), "stet_device_set_mechanisms");
}

static bool is_covered(const stet_model *model)
{
    bool covered = true;
    for (int i = 0; covered && stet_native_get_feature(model, i, &covered); ++i) continue;
    return covered;
}

void program_open(program *p)
{
    const char *const *cameras;
    int flight = 0;
    p->scene = once_in(p, 2) ? DRAWN : roll(p, DRAWN);
    p->external = once_in(p, 3);
    p->f64 = once_in(p, 8) && !picked_any();
    p->keeps_poses = once_in(p, 3);
    p->keeps_tree = once_in(p, 3);
    p->saved = false;
    if (p->scene == DRAWN) p->model[DRAWN] = program_draw_model(p, -1);
    p->native = !p->external && !once_in(p, 3) && is_covered(p->model[p->scene]);
    stet_sim_def def = random_def(p, &cameras);
    say(p, " open: scene %d, %lld worlds, physics %s, %d x %d, outputs %x, cameras %s", p->scene, (long long)p->nworld,
        stet_physics_name(def.physics), def.width, def.height, def.outputs, cameras ? cameras[0] : "first");
    stet_sim_def both[2];
    for (int i = 0; i < 2; ++i) {
        pick_device(p, i, &def.device);
        def.frames_in_flight = 1 + roll(p, 3);
        if (i == SUBJECT) flight = def.frames_in_flight;
        say(p, ", %s", def.device.isa ? def.device.isa : "the picked device");
        both[i] = def;
        create_sim(p, i, &def);
    }
    open_neighbours(p, both);
    list_added(p);
    open_gallery(p, flight);
}

/* Destroys a sim: then no mechanism of its device holds anything. */
static void destroy_sim(program *p, int who)
{
    stet_device *device = device_of(p, who);
    sti_device_retain(device);
    stet_sim_destroy(p->sim[who]);
    p->sim[who] = NULL;
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k)
        CHECK(p,
              (k == STET_MECHANISM_KERNEL_CACHE && device->can.compiles) /* its code, as long as it lives */ ||
                  device->mechanisms.counters.mechanism[k].held_bytes == 0,
              "%s holds %lld bytes of what is gone", stet_mechanism_name((stet_mechanism)k),
              (long long)device->mechanisms.counters.mechanism[k].held_bytes);
    sti_device_release(device);
}

void program_close(program *p)
{
    own_close(p);
    gallery_close(&p->shown);
    drop_kernels(p);
    drop_snapshots(p);
    drop_exports(p);
    for (int i = 0; i < 2; ++i) destroy_sim(p, i);
    close_neighbours(p);
    stet_model_destroy(p->model[DRAWN]);
    p->model[DRAWN] = NULL;
    p->nheld = 0;
}

void op_anew(program *p)
{
    say(p, "anew; ");
    program_close(p);
    program_open(p);
}

/* ---- switches ---------------------------------------------------------------------------------------------------- */

void op_mechanisms(program *p)
{
    uint32_t some = (uint32_t)dice_next(&p->dice) & (uint32_t)dice_next(&p->dice) & ((1u << STET_MECHANISM_COUNT) - 1);
    stet_mechanism_options options = {
        .disabled = once_in(p, 2) ? 0 : some, .strict = once_in(p, 3), .audit = !once_in(p, 4)};
    say(p, "mechanisms: %x off, audit %s%s", options.disabled, options.audit ? "on" : "off",
        options.strict ? ", strict" : "");
    must(p, SUBJECT, stet_device_set_mechanisms(device_of(p, SUBJECT), &options), "stet_device_set_mechanisms");
}
