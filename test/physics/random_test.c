/* Random trees: smooth dynamics of native physics are MuJoCo's, in double to rounding, in float within a bound. */
#include "physics/oracle.h"
#include "physics/trees.h"

#include <math.h>

enum { TEXT = 1 << 16 };

static int nmodel = 200;

/* Has every connect and weld a mass? Without one MuJoCo makes it 1e15 times as stiff as it should be. */
static bool is_soft(const mjModel *m)
{
    for (int i = 0; i < m->neq; ++i)
        for (int k = 0; k < 2 && m->eq_type[i] <= mjEQ_WELD; ++k)
            if (m->body_invweight0[2 * m->eq_obj1id[i] + k] + m->body_invweight0[2 * m->eq_obj2id[i] + k] < 1e-2)
                return false;
    return true;
}

static bool compiles(const char *text)
{
    stet_model *model;
    if (stet_model_load_string(text, &model) != STET_OK) return false;
    bool sound = is_soft(model->mj) && tree_has_moments(model->mj);
    stet_model_destroy(model);
    return sound;
}

static void check_trees(const char *test, const char *isa, double limit, double conditioned)
{
    static char text[TEXT];
    uint64_t dice = dice_seed(test);
    tree_counts counts = {.models = 0};
    oracle_errors all = {.n = 0};
    while (counts.models - counts.refused < nmodel) {
        oracle_errors one = {.n = 0};
        tree_draw(&dice, text, sizeof text, false, &counts);
        if (!compiles(text)) {
            counts.refused++;
            assert_true(counts.refused < nmodel);
            continue;
        }
        oracle_check(text, isa, 1, &dice, &one);
        oracle_merge(&all, &one);
        oracle_limit(&one, limit, conditioned, text);
    }
    tree_print(&counts);
    oracle_print(&all, isa ? isa : "float");
}

static void random_trees_are_mujocos(void **state) { check_trees("random_trees_are_mujocos", "f64", 1e-9, 1e-5); }

static void random_trees_are_mujocos_in_float(void **state)
{
    check_trees("random_trees_are_mujocos_in_float", NULL, 1e-3, HUGE_VAL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_trees_are_mujocos),
        cmocka_unit_test(random_trees_are_mujocos_in_float),
    };
    if (argc > 1) nmodel = (int)strtol(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
