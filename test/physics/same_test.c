/*
 * Native physics has the same bits on the device that the run is about (picked.h) as on a CPU with one lane: state,
 * sensors and contacts of the shipped scenes, of random trees, and of the models of other projects that it covers,
 * where those are installed (tools/setup.sh corpus). With STET_STAGES that device has the launches that it says, and
 * the CPU one kernel.
 *
 * Usage: test_physics_same [TESTS [TREES [WORLDS]]]; TESTS is a name of tests, with * for any part. A GPU runs code for
 * each model, as it does with many worlds. CORPUS in the environment: a part of the paths of the models of other
 * projects that are taken. In part (base/part.h) one in three of those models is.
 */
#include "base/part.h"
#include "physics/corpus.h"
#include "physics/heap.h"
#include "physics/native_state.h"
#include "physics/trees.h"
#include "worlds/rig.h"

#include <math.h>
#include <stdlib.h>

enum { TEXT = 1 << 16, CALLS = 3, STEPS = 6, ON_A_DOUBLE = 2, ENOUGH = 128 };

static int ntree = 12;
static int64_t nworld = 5;

static bool on_a_double(void) { return picked_double != NULL; }

/* ---- one model --------------------------------------------------------------------------------------------------- */

/* Adds waves of this size to a field. */
static void stir(const rig *r, const char *field, float size)
{
    stet_array *a = rig_array(r, field);
    size_t bytes = (size_t)a->nitem * sizeof(float);
    float *row = malloc(bytes + 1);
    assert_non_null(row);
    for (int64_t w = 0; w < nworld && a->nitem > 0; ++w) {
        OK(stet_array_read_worlds(a, w, 1, row, bytes));
        for (int64_t i = 0; i < a->nitem; ++i) row[i] += size * rig_wave(w, 1, i);
        OK(stet_array_write_worlds(a, w, 1, row, bytes));
    }
    free(row);
}

static void write_controls(const rig *r, int64_t step)
{
    stet_array *a = rig_array(r, "ctrl");
    size_t bytes = (size_t)a->nitem * sizeof(float);
    float *row = malloc(bytes + 1);
    assert_non_null(row);
    for (int64_t w = 0; w < nworld && a->nitem > 0; ++w) {
        rig_controls(r->model->mj, w, step, row);
        OK(stet_array_write_worlds(a, w, 1, row, bytes));
    }
    free(row);
}

/* What is compared: fields of the state and sensors, contacts with their forces, faults. */
enum { STATE, CONTACTS, FAULTS, WHAT };
static const char *const what[WHAT] = {"state and sensors", "contacts", "faults"};

typedef struct digest {
    uint64_t of[WHAT];
    int64_t ncon; /* of all worlds, after each call */
} digest;

static void add_digest(const rig *r, digest *d)
{
    static const char *const contacts[] = {"ncon",        "contact_geom",  "contact_dist",
                                           "contact_pos", "contact_frame", "contact_force"};
    d->of[STATE] = d->of[STATE] * 31 + rig_all_hash(r);
    for (size_t k = 0; k < sizeof contacts / sizeof *contacts; ++k)
        d->of[CONTACTS] = d->of[CONTACTS] * 31 + rig_array_hash(r, contacts[k]);
    for (int64_t w = 0; w < nworld; ++w) {
        d->of[FAULTS] = d->of[FAULTS] * 31 + stet_worlds_get_faults(r->worlds)[w];
        const void *ncon;
        OK(stet_array_get_host(rig_array(r, "ncon"), &ncon));
        d->ncon += ((const int32_t *)ncon)[w];
    }
}

/* Forces of a body that are not finite, or become it, in some worlds. */
static void break_worlds(const rig *r)
{
    static const float forces[] = {HUGE_VALF, 3e38f, -1e30f, NAN};
    stet_array *a = rig_array(r, "qfrc_applied");
    float row[64] = {0};
    assert_in_range(a->nitem, 1, 64);
    for (int k = 0; k < 4; ++k) {
        row[k] = forces[k];
        OK(stet_array_write_worlds(a, k, 1, row, (size_t)a->nitem * sizeof(float)));
        row[k] = 0;
    }
}

/* stages NULL: what STET_STAGES says. team: threads a world of a GPU. broken: some worlds are. */
static void run(stet_model *model, const char *isa, const char *stages, int team, bool broken, digest *out)
{
    rig r = {.device = rig_open_device(isa, 2), .model = model};
    stet_worlds_def def = stet_default_worlds_def();
    def.nworld = nworld;
    def.exact = false;
    def.seed = 7;
    def.keyframe = stet_model_get_info(model).nkey > 0 ? 0 : -1;
    OK(stet_worlds_create(r.device, model, &def, &r.worlds));
    sti_native *native;
    OK(sti_native_create(r.worlds, &native));
    if (stages) OK(sti_native_set_stages(native, stages));
    if (sti_physics_room(&native->tables) < ENOUGH) /* with less a GPU leaves out contacts at first, and says so */
        OK(sti_native_set_room(native, ENOUGH));
    native->many = native->old = true;
    native->team = native->stages.team = (sti_team){team, 256 / team};
    stir(&r, "qpos", .01f);
    stir(&r, "qvel", .1f);
    if (broken) break_worlds(&r);
    *out = (digest){.ncon = 0};
    for (int k = 0; k < CALLS; ++k) {
        write_controls(&r, k);
        OK(sti_native_steps(native, NULL, STEPS));
        assert_int_equal(native->code.size > 0, r.device->can.compiles && native->tables.nm <= STI_NATIVE_MODEL_INTS);
        add_digest(&r, out);
    }
    sti_native_destroy(native);
    stet_worlds_destroy(r.worlds);
    stet_device_destroy(r.device);
}

/* Whether native physics covers it; if so, it has the bits of one lane. */
static bool check(stet_model *model, const char *name, bool broken, int64_t *ncon)
{
    const char *feature;
    bool covered;
    digest want, got;
    for (int i = 0; (feature = stet_native_get_feature(model, i, &covered)) != NULL; ++i)
        if (!covered) return false;
    run(model, "w1", "whole", 1, broken, &want);
    /* Some code is for 32 threads a world. Where code takes long to compile, models have 32 and 8 in turn. */
    static int turn;
    int first = picked_any() && (on_a_double() || turn++ % 2) ? 8 : 32, last = on_a_double() ? 32 : first;
    for (int team = first; team <= last; team *= 4) {
        run(model, NULL, NULL, team, broken, &got);
        for (int k = 0; k < WHAT; ++k)
            if (want.of[k] != got.of[k])
                fail_msg("%s: %s, %d threads a world: %016" PRIx64 ", not %016" PRIx64, name, what[k], team, got.of[k],
                         want.of[k]);
    }
    *ncon += want.ncon;
    return true;
}

/* ---- the models -------------------------------------------------------------------------------------------------- */

static void shipped_scenes(void **state)
{
    static const char *const scenes[] = {"cartpole.xml",  "hand.xml",   "humanoid.xml",        "quadruped.xml",
                                         "arm_table.xml", "robot.urdf", "cartpole_classic.xml"};
    enum { SCENES = sizeof scenes / sizeof *scenes };
    int64_t ncon = 0;
    for (int k = 0; k < (on_a_double() ? ON_A_DOUBLE : SCENES); ++k) {
        stet_model *model = rig_model(scenes[k]);
        assert_true(check(model, scenes[k], false, &ncon));
        stet_model_destroy(model);
    }
    assert_true(ncon > 0);
}

/* Contacts couple dofs of many trees. */
static void check_heap(const char *options, const char *bodies, bool broken, int least, int touching)
{
    static char text[TEXT];
    stet_model *model;
    int64_t ncon = 0;
    (void)snprintf(text, sizeof text, "<mujoco>%s<worldbody><geom type='plane' size='9 9 1'/>%s</worldbody></mujoco>",
                   options, bodies);
    OK(stet_model_load_string(text, &model));
    assert_true(stet_model_get_info(model).nv > least);
    assert_true(check(model, "heap of trees", broken, &ncon));
    assert_true(ncon > CALLS * nworld * touching);
    stet_model_destroy(model);
}

static void heaps_of_trees(void **state)
{
    check_heap("", HEAP_OF_TREES, false, 128, 24);
    check_heap("", SMALL_HEAP, false, 32, 8);
}

/* Where sums are not finite, it matters which zeros take part in them. */
static void worlds_that_break(void **state)
{
    check_heap("<option><flag autoreset='disable'/></option>",
               "<replicate count='4' offset='.19 0 .005'><body pos='0 0 .095'><freejoint/><geom "
               "size='.1'/></body></replicate>",
               true, 20, 0);
}

static void check_random(const char *test, bool touching)
{
    static char text[TEXT];
    uint64_t dice = dice_seed(test);
    tree_counts counts = {.models = 0};
    int n = on_a_double() && ntree > ON_A_DOUBLE ? ON_A_DOUBLE : ntree;
    int64_t ncon = 0;
    for (int tries = 0; n > 0; ++tries) {
        stet_model *model;
        assert_true(tries < 4 * (ntree + 1));
        tree_draw(&dice, text, sizeof text, touching, &counts);
        if (stet_model_load_string(text, &model) != STET_OK) continue;
        int64_t before = ncon;
        if (check(model, text, false, &ncon) && (!touching || ncon > before)) n--;
        stet_model_destroy(model);
    }
    tree_print(&counts);
}

static void random_trees(void **state) { check_random("random_trees", false); }

static void random_trees_that_touch(void **state) { check_random("random_trees_that_touch", true); }

static void models_of_other_projects(void **state)
{
    static corpus_list list;
    const char *const sources[] = {"gymnasium", "dm_control", "mujoco_warp", NULL}, *only = getenv("CORPUS");
    int loaded = 0, compared = 0;
    int64_t ncon = 0;
    if (on_a_double() && !only) skip();
    corpus_read(&list, sources);
    if (list.nfile == 0) skip();
    bool whole = list.nfile == list.source[0].models + list.source[1].models + list.source[2].models;
    const test_part part = choose_part(3);
    for (int64_t i = part.first - 1; i < list.nfile; i += part.step) {
        const corpus_file *file = &list.file[i];
        stet_model *model;
        if ((only && !strstr(file->path, only)) || stet_model_load(file->path, &model) != STET_OK) continue;
        loaded++;
        compared += check(model, file->name, false, &ncon);
        stet_model_destroy(model);
    }
    print_message("%d models that load, %d covered and equal, with %lld contacts\n", loaded, compared, (long long)ncon);
    if (whole) assert_true(compared >= (only ? 1 : 50 / part.step) && (only || ncon > 0));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_scenes),          cmocka_unit_test(heaps_of_trees),
        cmocka_unit_test(worlds_that_break),       cmocka_unit_test(random_trees),
        cmocka_unit_test(random_trees_that_touch), cmocka_unit_test(models_of_other_projects),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (argc > 2) ntree = (int)strtol(argv[2], NULL, 10);
    if (argc > 3) nworld = strtoll(argv[3], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
