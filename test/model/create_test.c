/* Models from a def: assets in memory, packages of ROS, actuators, bad defs; and names of all kinds of objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/folder.h"
#include "model/model.h"
#include "model/packages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static stet_model *create(const stet_model_def *def)
{
    stet_model *model = NULL;
    if (stet_model_create(def, &model) != STET_OK) fail_msg("%s", stet_get_last_error());
    return model;
}

static void refuse(const stet_model_def *def, stet_result result, const char *part)
{
    stet_model *model = NULL;
    assert_int_equal(stet_model_create(def, &model), result);
    assert_null(model);
    assert_contains(stet_get_last_error(), part);
}

static const char scene[] =
    "<mujoco><include file='part.xml'/><asset><texture name='sky' type='skybox' builtin='flat' width='4' height='24'/>"
    "<material name='red'/><material name='steel'/><hfield name='hill' nrow='2' ncol='2' size='1 1 1 1'/>"
    "<mesh name='cone' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset></mujoco>";
static const char part[] =
    "<mujoco><worldbody><body><joint name='turn' range='-90 90'/><geom size='1'/>"
    "<body><joint name='slide' type='slide'/><geom size='1'/></body></body></worldbody></mujoco>";

static void test_assets_and_actuators(void **state)
{
    stet_asset asset = {"part.xml", part, (int64_t)strlen(part)};
    stet_model_def def = stet_default_model_def();
    def.xml = scene;
    refuse(&def, STET_ERROR_PARSE, "part.xml");
    def.assets = &asset;
    def.nasset = 1;
    stet_model *model = create(&def);
    assert_int_equal(model->mj->njnt, 2);
    assert_int_equal(model->mj->nu, 0);
    stet_model_destroy(model);
    def.actuation = STET_ACTUATION_POSITION;
    refuse(&def, STET_ERROR_INVALID_ARGUMENT, "kp above 0");
    def.kp = 10;
    def.kd = -1;
    refuse(&def, STET_ERROR_INVALID_ARGUMENT, "kd is at least 0");
    def.kd = 2;
    model = create(&def);
    assert_int_equal(model->mj->nu, 2);
    assert_string_equal(stet_model_get_object_name(model, STET_OBJECT_ACTUATOR, 0), "turn");
    assert_float_equal(model->mj->actuator_ctrlrange[1], mjPI / 2, 1e-12);
    assert_false(model->mj->actuator_ctrllimited[1]);
    assert_true(model->mj->actuator_gainprm[0] == 10 && model->mj->actuator_biasprm[2] == -2);
    stet_model_destroy(model);
}

static void test_bad_defs(void **state)
{
    stet_model_def def = stet_default_model_def(), empty = {0};
    refuse(NULL, STET_ERROR_INVALID_ARGUMENT, "stet_default_model_def");
    refuse(&empty, STET_ERROR_INVALID_ARGUMENT, "stet_default_model_def");
    refuse(&def, STET_ERROR_INVALID_ARGUMENT, "path and xml are NULL");
    def.path = def.xml = scene;
    refuse(&def, STET_ERROR_INVALID_ARGUMENT, "both given");
    def.path = NULL;
    def.nasset = 1;
    refuse(&def, STET_ERROR_INVALID_ARGUMENT, "1 assets");
    stet_asset twice[2] = {{"part.xml", part, (int64_t)strlen(part)}, {"part.xml", part, (int64_t)strlen(part)}};
    def.assets = twice;
    def.nasset = 2;
    refuse(&def, STET_ERROR_INVALID_ARGUMENT, "asset part.xml: another one has this name");
    twice[0].bytes = NULL;
    refuse(&def, STET_ERROR_INVALID_ARGUMENT, "an asset wants a name, bytes");
    assert_int_equal(stet_model_create(&def, NULL), STET_ERROR_INVALID_ARGUMENT);
}

static void test_names_of_assets(void **state)
{
    stet_asset asset = {"part.xml", part, (int64_t)strlen(part)};
    stet_model_def def = stet_default_model_def();
    def.xml = scene;
    def.assets = &asset;
    def.nasset = 1;
    stet_model *model = create(&def);
    int at = -1;
    assert_int_equal(stet_model_find(model, STET_OBJECT_MATERIAL, "steel", &at), STET_OK);
    assert_int_equal(at, 1);
    assert_int_equal(stet_model_get_object_count(model, STET_OBJECT_MATERIAL), 2);
    assert_int_equal(stet_model_find(model, STET_OBJECT_TEXTURE, "sky", &at), STET_OK);
    assert_int_equal(stet_model_find(model, STET_OBJECT_HFIELD, "hill", &at), STET_OK);
    assert_int_equal(stet_model_find(model, STET_OBJECT_MESH, "cone", &at), STET_OK);
    assert_int_equal(stet_model_get_object_count(model, STET_OBJECT_SENSOR), 0);
    assert_int_equal(stet_model_get_object_count(model, (stet_object)99), 0);
    assert_int_equal(stet_model_get_object_count(NULL, STET_OBJECT_BODY), 0);
    assert_int_equal(stet_model_find(model, STET_OBJECT_MATERIAL, "stele", &at), STET_ERROR_NOT_FOUND);
    assert_contains(stet_get_last_error(), "material stele: the model has none of this name; did you mean steel?");
    stet_model_destroy(model);
}

/* Edges of texts: no name, an end without a quote, a name at the text's beginning, one file named twice. */
static void test_texts(void **state)
{
    sti_package_text t;
    const char *file = in_folder("link.stl");
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    const sti_package_path path = {0};
    for (const char *const *one =
             (const char *const[]){"", "://", "file://", "'file://", "\"package://a\"", "<a b='package:///'/>", NULL};
         *one; ++one) {
        assert_int_equal(sti_package_text_make(&path, *one, &t), STET_OK);
        assert_null(t.text);
        sti_package_text_free(&t);
    }
    char text[8192], expected[] = "<a f='link.stl' g=\"link.stl\" h='file:///none.stl'/>";
    (void)snprintf(text, sizeof text, "<a f='file://%s' g=\"file://%s\" h='file:///none.stl'/>", file, file);
    assert_int_equal(sti_package_text_make(&path, text, &t), STET_OK);
    assert_string_equal(t.text, expected);
    assert_int_equal(t.count, 1);
    assert_string_equal(t.file[0].path, file);
    assert_string_equal(t.missing, "file:///none.stl");
    sti_package_text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assets_and_actuators),
        cmocka_unit_test(test_bad_defs),
        cmocka_unit_test(test_names_of_assets),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests_name("model/create", tests, make_own_folder, remove_folder);
}
