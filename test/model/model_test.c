/*
 * Models: all that loads, each kind of bad input, names, life time; and that an error of MuJoCo does not end the
 * process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/dice.h"
#include "base/folder.h"
#include "model/guard.h"
#include "model/model.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BALL                                                                                                           \
    "<mujoco><worldbody><body name='ball'><freejoint/><geom name='skin' size='0.1'/></body></worldbody></mujoco>"

/*
 * One test asks for more memory than there is: a sanitizer, if built in, must let that fail as it would without. MuJoCo
 * then loses the data that it was about to fill.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:mj_makeRawData\n"; }

static const char *write_bytes(const char *name, const void *bytes, size_t size)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}

static const char *write_text(const char *name, const char *text) { return write_bytes(name, text, strlen(text)); }

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not say \"%s\"", text, part);
}

/* The present message is one line, one sentence about `subject` that says `part`. */
static void assert_sentence(const char *subject, const char *part)
{
    const char *text = stet_get_last_error();
    assert_contains(text, subject);
    assert_contains(text, part);
    if (strpbrk(text, "\n\r\t")) fail_msg("several lines: \"%s\"", text);
    if (!strchr(text, ';')) fail_msg("\"%s\" does not say what to do", text);
}

static void assert_refused(const char *path, stet_result result, const char *part)
{
    stet_memory_stats before = stet_get_memory_stats();
    stet_model *model = (stet_model *)folder;
    assert_int_equal(stet_model_load(path, &model), result);
    assert_null(model);
    assert_sentence(path, part);
    assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
}

static void test_shipped_scenes(void **state)
{
    char scenes[600], path[1200];
    (void)snprintf(scenes, sizeof scenes, "%s/scenes", STET_TEST_SOURCE_DIR);
    DIR *d = opendir(scenes);
    assert_non_null(d);
    int loaded = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (!strstr(e->d_name, ".xml") && !strstr(e->d_name, ".urdf")) continue;
        (void)snprintf(path, sizeof path, "%s/%s", scenes, e->d_name);
        stet_model *model = NULL;
        if (stet_model_load(path, &model) != STET_OK) fail_msg("%s", stet_get_last_error());
        stet_model_info info = stet_model_get_info(model);
        assert_true(info.nbody > 1 && info.ngeom > 0 && info.nv > 0 && info.timestep > 0);
        assert_string_equal(stet_model_get_path(model), path);
        stet_model_destroy(model);
        ++loaded;
    }
    (void)closedir(d);
    assert_true(loaded >= 5);
}

static void test_string(void **state)
{
    stet_model *model = NULL;
    assert_int_equal(stet_model_load_string(BALL, &model), STET_OK);
    stet_model_info info = stet_model_get_info(model);
    assert_int_equal(info.nq, 7);
    assert_int_equal(info.nv, 6);
    assert_int_equal(info.nbody, 2);
    assert_int_equal(info.ngeom, 1);
    assert_int_equal(info.ncam, 0);
    assert_int_equal(info.nmesh, 0);
    assert_string_equal(stet_model_get_path(model), "");
    stet_model_destroy(model);
    assert_string_equal(stet_get_mujoco_version(), mj_versionString());
}

#define URDF_LINK(name, shape)                                                                                         \
    "<link name='" name "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"      \
    "</inertial><visual><geometry>" shape "</geometry></visual>"                                                       \
    "<collision><geometry>" shape "</geometry></collision></link>"
#define URDF(shape)                                                                                                    \
    "<robot name='r'>" URDF_LINK("base", "<box size='1 2 3'/>") URDF_LINK(                                             \
        "arm",                                                                                                         \
        shape) "<joint name='elbow' type='revolute'><parent link='base'/><child link='arm'/><axis xyz='0 0 1'/>"       \
               "<limit lower='-1' upper='1' effort='1' velocity='1'/></joint></robot>"

static void check_urdf(stet_model *model, int nmesh)
{
    int joint = -1;
    assert_int_equal(stet_model_find(model, STET_OBJECT_JOINT, "elbow", &joint), STET_OK);
    assert_int_equal(joint, 0);
    assert_int_equal(stet_model_get_info(model).nv, 1);
    assert_int_equal(stet_model_get_info(model).nmesh, nmesh);
    stet_model_destroy(model);
}

static void test_urdf(void **state)
{
    stet_model *model = NULL;
    if (stet_model_load_string(URDF("<sphere radius='1'/>"), &model) != STET_OK) fail_msg("%s", stet_get_last_error());
    check_urdf(model, 0);
    if (stet_model_load(write_text("a.urdf", URDF("<sphere radius='1'/>")), &model) != STET_OK)
        fail_msg("%s", stet_get_last_error());
    check_urdf(model, 0);
    /* Also by content, and with a mesh beside the file, while the working directory is another. */
    (void)write_text("tetra.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    if (stet_model_load(write_text("b.xml", URDF("<mesh filename='tetra.obj'/>")), &model) != STET_OK)
        fail_msg("%s", stet_get_last_error());
    check_urdf(model, 1);
}

/* A model from its bytes, and from what is none. */
static void check_bytes(const stet_model *model)
{
    int64_t size = stet_model_get_size(model);
    char *bytes = malloc((size_t)size);
    stet_model *again = NULL;
    uint64_t a, b;
    assert_non_null(bytes);
    assert_int_equal(stet_model_save_bytes(model, bytes, size), STET_OK);
    assert_int_equal(stet_model_load_bytes(bytes, size, "a/ball.xml", &again), STET_OK);
    assert_string_equal(stet_model_get_path(again), "a/ball.xml");
    assert_int_equal(sti_model_fingerprint(model, &a), STET_OK);
    assert_int_equal(sti_model_fingerprint(again, &b), STET_OK);
    assert_true(a == b);
    stet_model_destroy(again);
    assert_int_equal(stet_model_load_bytes(bytes, size / 2, "", &again), STET_ERROR_PARSE);
    assert_null(again);
    for (int64_t k = 0; k < 150; ++k) { /* in all parts; the first bytes are what tells that there is a checksum */
        bytes[size * k / 150] ^= 16;
        assert_int_equal(stet_model_load_bytes(bytes, size, "", &again), STET_ERROR_PARSE);
        assert_null(again);
        bytes[size * k / 150] ^= 16;
    }
    assert_int_equal(stet_model_load_bytes(bytes, size, "", &again), STET_OK);
    stet_model_destroy(again);
    memset(bytes, 'x', (size_t)size);
    assert_int_equal(stet_model_load_bytes(bytes, size, "", &again), STET_ERROR_PARSE);
    assert_sentence("model", "MuJoCo cannot load it");
    assert_int_equal(stet_model_load_bytes(bytes, 0, "", &again), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_model_save_bytes(model, bytes, size - 1), STET_ERROR_INVALID_ARGUMENT);
    free(bytes);
}

static void test_compiled(void **state)
{
    stet_model *model = NULL, *again = NULL;
    assert_int_equal(stet_model_load_string(BALL, &model), STET_OK);
    const char *path = in_folder("ball.mjb");
    mj_saveModel(model->mj, path, NULL, 0);
    if (stet_model_load(path, &again) != STET_OK) fail_msg("%s", stet_get_last_error());
    assert_int_equal(stet_model_get_info(again).nv, 6);
    assert_string_equal(stet_model_get_object_name(again, STET_OBJECT_GEOM, 0), "skin");
    assert_true(again->version.id != model->version.id);
    stet_model_destroy(again);
    check_bytes(model);
    stet_model_destroy(model);
    assert_refused(write_text("text.mjb", "this is not a compiled model, though it is long enough to look like one"),
                   STET_ERROR_PARSE, "MuJoCo cannot load it: ");
}

/* Whatever is wrong in a compiled model, it is a model or a sentence. */
static void test_damaged(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* MuJoCo leaks what it had read when it meets the damage */
#endif
    enum { SIZE = 1 << 17, TRIES = 60 };
    stet_model *model = NULL, *again;
    uint64_t dice = dice_seed("test_damaged");
    static unsigned char bytes[SIZE];
    assert_int_equal(stet_model_load_string(BALL, &model), STET_OK);
    const char *path = in_folder("ball.mjb");
    mj_saveModel(model->mj, path, NULL, 0);
    stet_model_destroy(model);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, SIZE, f);
    (void)fclose(f);
    assert_true(size > 1000 && size < SIZE);
    for (int k = 0; k < TRIES; ++k) {
        size_t at = (size_t)(dice_next(&dice) % (k % 2 ? size : 1000));
        unsigned char was = bytes[at], bit = (unsigned char)(1u << dice_next(&dice) % 8);
        bytes[at] ^= bit;
        stet_result result = stet_model_load(write_bytes("damaged.mjb", bytes, size), &again);
        if (result == STET_OK)
            stet_model_destroy(again);
        else
            assert_int_equal(result, STET_ERROR_PARSE);
        bytes[at] = was;
    }
}

#define WORLD(text) "<mujoco><worldbody>" text "</worldbody></mujoco>"
#define MANY(n, what) "<replicate count='" #n "' offset='1 0 0'>" what "</replicate>"
#define GEOM "<geom size='.1'/>"

/* What MuJoCo would take without an end is refused before; what only looks like it is not. */
static void test_limits(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"<mujoco><size nuser_body='2000000000'/><worldbody><body/></worldbody></mujoco>", "its nuser_body needs"},
        {"<mujoco><size nuser_sensor='2000000000'/><worldbody><body name='a'/></worldbody><sensor><framepos "
         "objtype='body' objname='a'/></sensor></mujoco>",
         "its nuser_sensor needs"},
        {"<mujoco><asset><hfield name='a' nrow='200000' ncol='200000' size='1 1 1 1'/></asset></mujoco>",
         "its height field needs"},
        {"<mujoco><asset><texture name='a' type='2d' builtin='flat' width='200000' height='200000'/></asset></mujoco>",
         "its texture needs"},
        {WORLD(MANY(100000, GEOM)), "<replicate> makes 100000 of something"},
        {WORLD(MANY(300, MANY(300, GEOM))), "<replicate> makes 90000 of something"},
        {WORLD("<body><composite type='cable' count = \"1000 1000 1\"/></body>"), "<composite> makes 1000000"},
        {WORLD("<flexcomp name='a' type='grid' count='1000 1000 1000' spacing='1 1 1'/>"),
         "<flexcomp> makes 1000000000"},
    };
    stet_model *model = NULL;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        assert_int_equal(stet_model_load_string(rows[k].text, &model), STET_ERROR_LIMIT);
        assert_null(model);
        assert_sentence("model string", rows[k].part);
        assert_refused(write_text("limit.xml", rows[k].text), STET_ERROR_LIMIT, rows[k].part);
    }
    (void)write_text("many.xml", "<mujoco><worldbody>" MANY(100000, GEOM) "</worldbody></mujoco>");
    assert_int_equal(stet_model_load(write_text("outer.xml", "<mujoco><include file='many.xml'/></mujoco>"), &model),
                     STET_ERROR_LIMIT);
    assert_non_null(strstr(stet_get_last_error(), "many.xml: <replicate> makes 100000"));
    assert_int_equal(
        stet_model_load_string(
            WORLD("<!--" MANY(100000, GEOM) "-->" MANY(30, GEOM) MANY(30, GEOM) MANY(2, MANY(3, GEOM))), &model),
        STET_OK);
    assert_int_equal(stet_model_get_info(model).ngeom, 66);
    stet_model_destroy(model);
}

static void test_time_steps(void **state)
{
    static const char *const steps[] = {"0", "-1", "nan", "inf"};
    stet_model *model = NULL;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; ++k) {
        char text[200];
        (void)snprintf(text, sizeof text, "<mujoco><option timestep='%s'/><worldbody>" GEOM "</worldbody></mujoco>",
                       steps[k]);
        assert_int_equal(stet_model_load_string(text, &model), STET_ERROR_PARSE);
        assert_null(model);
    }
    assert_int_equal(stet_model_load_string("<mujoco><option timestep='0'/></mujoco>", &model), STET_ERROR_PARSE);
    assert_sentence("model string", "its option timestep is 0; give seconds above 0");
}

static void test_bad_files(void **state)
{
    assert_refused(in_folder("none.xml"), STET_ERROR_NOT_FOUND, "no such file");
    assert_refused(in_folder("none.mjb"), STET_ERROR_NOT_FOUND, "no such file");
    assert_refused("", STET_ERROR_NOT_FOUND, "the path is empty");
    assert_refused(folder, STET_ERROR_IO, "folder");
    assert_refused("/dev/null", STET_ERROR_IO, "not a plain file");
    assert_refused(write_text("empty.xml", ""), STET_ERROR_PARSE, "empty");
    assert_refused(write_text("text.xml", "hello"), STET_ERROR_PARSE, "XML");
    assert_refused(write_text("broken.xml", "<mujoco>\n<worldbody>\n<geom size='1'"), STET_ERROR_PARSE, "ine number=3");
    assert_refused(write_text("root.xml", "<pudding/>"), STET_ERROR_PARSE, "pudding");
    assert_refused(
        write_text("element.xml", "<mujoco>\n<worldbody>\n<bdy/></worldbody></mujoco>"), STET_ERROR_PARSE,
        "MuJoCo cannot load it: XML Error: Schema violation: unrecognized element, Element 'bdy', line 3; correct");
    assert_refused(write_text("type.xml", "<mujoco><worldbody><geom type='spere'/></worldbody></mujoco>"),
                   STET_ERROR_PARSE, "spere");
    assert_refused(write_text("mesh.xml", "<mujoco><asset><mesh file='nope.obj'/></asset></mujoco>"), STET_ERROR_PARSE,
                   "nope.obj");
    assert_refused(write_text("include.xml", "<mujoco><include file='nope.xml'/></mujoco>"), STET_ERROR_PARSE,
                   "nope.xml");
    static const unsigned char noise[] = {0xff, 0xfe, 0x00, 0x80, 0x3c, 0x00, 0x01, 0xff, 0xd8, 0x00, 0x00};
    assert_refused(write_bytes("noise.xml", noise, sizeof noise), STET_ERROR_PARSE, "MuJoCo cannot load it");
}

static void test_absurd_values(void **state)
{
    static const char *const bad[] = {
        "<mujoco><worldbody><geom size='1e999'/></worldbody></mujoco>",
        "<mujoco><worldbody><geom size='-1'/></worldbody></mujoco>",
        "<mujoco><worldbody><geom size='one'/></worldbody></mujoco>",
        "<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>",
        "<mujoco><worldbody><geom size='1' name='a'/><geom size='1' name='a'/></worldbody></mujoco>",
        "<mujoco><size memory='900000000G'/><worldbody><geom size='1'/></worldbody></mujoco>",
        "<mujoco><actuator><motor joint='none'/></actuator></mujoco>",
        "<mujoco><asset><hfield name='h' nrow='-3' ncol='2' size='1 1 1 1'/></asset></mujoco>",
        "<mujoco><worldbody><geom type='mesh' mesh='none'/></worldbody></mujoco>",
        "<mujoco><worldbody><camera fovy='500'/></worldbody></mujoco>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        stet_model *model = (stet_model *)folder;
        stet_result result = stet_model_load_string(bad[i], &model);
        if (result != STET_ERROR_PARSE) fail_msg("%s: %s", bad[i], stet_result_sentence(result));
        assert_null(model);
        assert_sentence("model string", "MuJoCo cannot load it: ");
    }
    stet_model *model = NULL;
    assert_int_equal(stet_model_load_string("", &model), STET_ERROR_PARSE);
    assert_sentence("model string", "empty");
    assert_int_equal(stet_model_load_string(" \n\t", &model), STET_ERROR_PARSE);
    assert_int_equal(stet_model_load_string(NULL, &model), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_model_load_string(BALL, NULL), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_model_load(NULL, &model), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_model_load("x.xml", NULL), STET_ERROR_INVALID_ARGUMENT);
}

static void test_names(void **state)
{
    char xml[4096] = "<mujoco><worldbody>", one[128];
    for (int i = 0; i < 12; ++i) {
        (void)snprintf(one, sizeof one, "<camera name='cam%d'/><geom size='1'/>", i);
        strcat(xml, one);
    }
    strcat(xml, "<site name='here'/><light name='sun'/></worldbody><keyframe><key name='home'/></keyframe></mujoco>");
    stet_model *model = NULL;
    if (stet_model_load_string(xml, &model) != STET_OK) fail_msg("%s", stet_get_last_error());
    int at = -1;
    for (int i = 0; i < 12; ++i) {
        (void)snprintf(one, sizeof one, "cam%d", i);
        assert_int_equal(stet_model_find(model, STET_OBJECT_CAMERA, one, &at), STET_OK);
        assert_int_equal(at, i);
        assert_string_equal(stet_model_get_object_name(model, STET_OBJECT_CAMERA, i), one);
        assert_string_equal(stet_model_get_object_name(model, STET_OBJECT_GEOM, i), "");
    }
    assert_int_equal(stet_model_find(model, STET_OBJECT_BODY, "world", &at), STET_OK);
    assert_int_equal(stet_model_find(model, STET_OBJECT_SITE, "here", &at), STET_OK);
    assert_int_equal(stet_model_find(model, STET_OBJECT_LIGHT, "sun", &at), STET_OK);
    assert_int_equal(stet_model_find(model, STET_OBJECT_KEYFRAME, "home", &at), STET_OK);

    assert_int_equal(stet_model_find(model, STET_OBJECT_CAMERA, "nose", &at), STET_ERROR_NOT_FOUND);
    assert_sentence("camera nose", "it has: cam0, cam1");
    assert_contains(stet_get_last_error(), "and 4 more");
    assert_int_equal(stet_model_find(model, STET_OBJECT_GEOM, "nose", &at), STET_ERROR_NOT_FOUND);
    assert_sentence("geom nose", "none of its 12 has a name");
    assert_int_equal(stet_model_find(model, STET_OBJECT_GEOM, "", &at), STET_ERROR_NOT_FOUND);
    assert_int_equal(stet_model_find(model, STET_OBJECT_SENSOR, "nose", &at), STET_ERROR_NOT_FOUND);
    assert_contains(stet_get_last_error(), "no sensor");
    assert_int_equal(stet_model_find(model, (stet_object)99, "nose", &at), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_model_find(model, STET_OBJECT_GEOM, NULL, &at), STET_ERROR_INVALID_ARGUMENT);
    assert_null(stet_model_get_object_name(model, STET_OBJECT_CAMERA, 12));
    assert_null(stet_model_get_object_name(model, STET_OBJECT_CAMERA, -1));
    assert_null(stet_model_get_object_name(model, (stet_object)99, 0));
    stet_model_destroy(model);
}

/* Each table, in a scene that has something of each kind. */
static void test_tables(void **state)
{
    stet_model *model = NULL;
    assert_int_equal(stet_model_load(STET_TEST_SOURCE_DIR "/scenes/arm_table.xml", &model), STET_OK);
    const mjModel *m = model->mj;
    int32_t values[512], none;
    int tables = 0;
#define EXPECT(name, n)                                                                                                \
    assert_int_equal(stet_model_get_table_items(model, #name), n);                                                     \
    assert_int_equal(stet_model_get_table(model, #name, values, n), STET_OK);                                          \
    for (int64_t i = 0; i < (n); ++i) assert_int_equal(values[i], m->name[i]);                                         \
    tables += (n) > 0
    EXPECT(jnt_type, m->njnt);
    EXPECT(jnt_qposadr, m->njnt);
    EXPECT(jnt_dofadr, m->njnt);
    EXPECT(jnt_bodyid, m->njnt);
    EXPECT(jnt_limited, m->njnt);
    EXPECT(dof_jntid, m->nv);
    EXPECT(body_parentid, m->nbody);
    EXPECT(body_mocapid, m->nbody);
    EXPECT(geom_type, m->ngeom);
    EXPECT(geom_bodyid, m->ngeom);
    EXPECT(geom_matid, m->ngeom);
    EXPECT(geom_dataid, m->ngeom);
    EXPECT(cam_mode, m->ncam);
    EXPECT(cam_bodyid, m->ncam);
    EXPECT(site_bodyid, m->nsite);
    EXPECT(sensor_type, m->nsensor);
    EXPECT(sensor_adr, m->nsensor);
    EXPECT(sensor_dim, m->nsensor);
    EXPECT(actuator_ctrladr, m->nactuator);
    EXPECT(actuator_ctrlnum, m->nactuator);
    EXPECT(actuator_actadr, m->nactuator);
    EXPECT(actuator_actnum, m->nactuator);
    EXPECT(actuator_outadr, m->nactuator);
    EXPECT(actuator_outnum, m->nactuator);
    EXPECT(actuator_trntype, m->nu);
    EXPECT(actuator_trnid, 2 * m->nu);
#undef EXPECT
    int listed = 0;
    for (const char *const *name = stet_model_get_tables(); *name; ++name) ++listed;
    assert_int_equal(tables, listed);
    assert_string_equal(stet_model_get_object_name(model, STET_OBJECT_TENDON, 0), "grip");
    assert_string_equal(stet_model_get_object_name(model, STET_OBJECT_EQUALITY, 0), "fingers");
    assert_int_equal(stet_model_get_table_items(model, "jnt_nose"), 0);
    assert_int_equal(stet_model_get_table(model, "jnt_nose", &none, 1), STET_ERROR_NOT_FOUND);
    assert_sentence("jnt_nose", "jnt_qposadr");
    assert_int_equal(stet_model_get_table(model, "jnt_type", &none, 1), STET_ERROR_INVALID_ARGUMENT);
    assert_sentence("jnt_type", "there are 15");
    assert_int_equal(stet_model_get_table(model, NULL, &none, 1), STET_ERROR_INVALID_ARGUMENT);
    stet_model_destroy(model);
}

static void test_height_fields(void **state)
{
    stet_model *model = NULL;
    stet_hfield field;
    assert_int_equal(stet_model_load(STET_TEST_SOURCE_DIR "/scenes/quadruped.xml", &model), STET_OK);
    const mjModel *m = model->mj;
    assert_true(m->nhfield > 0);
    for (int i = 0; i < m->nhfield; ++i) {
        assert_int_equal(stet_model_get_hfield(model, i, &field), STET_OK);
        assert_int_equal(field.nrow, m->hfield_nrow[i]);
        assert_int_equal(field.ncol, m->hfield_ncol[i]);
        assert_memory_equal(field.size, m->hfield_size + 4 * i, sizeof field.size);
        assert_ptr_equal(field.elevations, m->hfield_data + m->hfield_adr[i]);
    }
    assert_int_equal(stet_model_get_hfield(model, (int)m->nhfield, &field), STET_ERROR_INVALID_ARGUMENT);
    assert_sentence("height field 1", "there are 1");
    assert_int_equal(stet_model_get_hfield(model, -1, &field), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_model_get_hfield(model, 0, NULL), STET_ERROR_INVALID_ARGUMENT);
    stet_model_destroy(model);
}

static void *retain_and_destroy(void *context)
{
    for (int i = 0; i < 10000; ++i) {
        sti_model_retain(context);
        stet_model_destroy(context);
    }
    return NULL;
}

static void test_references(void **state)
{
    stet_memory_stats before = stet_get_memory_stats();
    stet_model *model = NULL;
    assert_int_equal(stet_model_load_string(BALL, &model), STET_OK);
    sti_model_retain(model);
    stet_model_destroy(model);
    assert_int_equal(stet_model_get_info(model).nv, 6);
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&threads[i], NULL, retain_and_destroy, model), 0);
    for (int i = 0; i < 2; ++i) (void)pthread_join(threads[i], NULL);
    assert_int_equal(stet_model_get_info(model).nv, 6);
    stet_model_destroy(model);
    stet_model_destroy(NULL);
    assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
}

/* ---- the guard --------------------------------------------------------------------------------------------------- */

static void *failing_alloc(size_t size, size_t align, void *context)
{
    (void)size, (void)align, (void)context;
    return NULL;
}
static void plain_free(void *memory, void *context)
{
    (void)context;
    free(memory);
}

static void test_out_of_memory(void **state)
{
    stet_model *model = NULL;
    assert_int_equal(stet_set_allocator(failing_alloc, plain_free, NULL), STET_OK);
    stet_result result = stet_model_load_string(BALL, &model);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
    assert_int_equal(result, STET_ERROR_OUT_OF_MEMORY);
    assert_null(model);
}

static void raise_error(void *context)
{
    mju_error("the %s has a fault", (const char *)context);
    fail_msg("mju_error came back");
}

static void raise_warning(void *context) { mju_warning("the %s is worn", (const char *)context); }

static void raise_nested(void *context)
{
    char text[100];
    assert_false(sti_mujoco_guard(raise_error, (void *)"inner part", text, sizeof text));
    assert_string_equal(text, "the inner part has a fault");
    assert_true(sti_mujoco_guard(raise_warning, (void *)"inner part", text, sizeof text));
    raise_error(context);
}

static char logged[200];
static int nlogged;
static void keep_log(stet_log_level level, const char *message, void *context)
{
    (void)context;
    assert_int_equal(level, STET_LOG_WARNING);
    (void)snprintf(logged, sizeof logged, "%s", message);
    ++nlogged;
}

static void test_guard(void **state)
{
    char text[100] = "before";
    assert_false(sti_mujoco_guard(raise_error, (void *)"wheel", text, sizeof text));
    assert_string_equal(text, "the wheel has a fault");
    assert_false(sti_mujoco_guard(raise_nested, (void *)"outer part", text, sizeof text));
    assert_string_equal(text, "the outer part has a fault");
    assert_false(sti_mujoco_guard(raise_error, (void *)"wheel", NULL, 0));
    assert_false(sti_mujoco_guard(raise_error, (void *)"wheel", text, 4));
    assert_string_equal(text, "the");

    /* In an empty folder, to see that MuJoCo's log file does not appear. */
    char here[600];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    stet_set_log(keep_log, NULL);
    assert_true(sti_mujoco_guard(raise_warning, (void *)"belt", text, sizeof text));
    stet_set_log(NULL, NULL);
    bool written = access("MUJOCO_LOG.TXT", F_OK) == 0;
    assert_int_equal(chdir(here), 0);
    assert_string_equal(text, "the belt is worn");
    assert_int_equal(nlogged, 1);
    assert_contains(logged, "the belt is worn");
    assert_false(written);
    assert_true(sti_mujoco_guard(raise_warning, (void *)"belt", NULL, 0));
    assert_int_equal(nlogged, 1);
}

static void *raise_in_thread(void *context)
{
    char text[100], expected[100];
    for (int i = 0; i < 500; ++i) {
        (void)snprintf(expected, sizeof expected, "the %s has a fault", (const char *)context);
        if (sti_mujoco_guard(raise_error, context, text, sizeof text) || strcmp(text, expected) != 0) return NULL;
    }
    return context;
}

static void test_guard_threads(void **state)
{
    static char names[4][8] = {"a", "b", "c", "d"};
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, raise_in_thread, names[i]), 0);
    for (int i = 0; i < 4; ++i) {
        void *result = NULL;
        (void)pthread_join(threads[i], &result);
        assert_ptr_equal(result, names[i]);
    }
}

/* Outside a guard the handler that was there before has its say: the one that main() installs. */
static int nunguarded;
static void count_unguarded(const mjLogMessage *message) { nunguarded += message->level == mjLOG_WARNING; }

static void test_unguarded(void **state)
{
    int before = nunguarded;
    assert_true(sti_mujoco_guard(raise_warning, (void *)"belt", NULL, 0));
    assert_int_equal(nunguarded, before);
    mju_warning("nobody listens");
    assert_int_equal(nunguarded, before + 1);
}

int main(void)
{
    (void)mju_setLogHandler(count_unguarded);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_scenes), cmocka_unit_test(test_string),
        cmocka_unit_test(test_urdf),           cmocka_unit_test(test_compiled),
        cmocka_unit_test(test_bad_files),      cmocka_unit_test(test_absurd_values),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_tables),
        cmocka_unit_test(test_references),     cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_guard),          cmocka_unit_test(test_guard_threads),
        cmocka_unit_test(test_unguarded),      cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_time_steps),
        cmocka_unit_test(test_height_fields),
    };
    return cmocka_run_group_tests_name("model/model", tests, make_own_folder, remove_folder);
}
