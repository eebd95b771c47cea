/*
 * Which models of other projects have gradients of their steps: of those that native physics covers, few are refused by
 * a tape, each by name (the aim is 3 %). Arguments are sources that tools/corpus.txt lists, or "all"; without any, two.
 */
#include "physics/corpus.h"
#include "worlds/rig.h"

#include "model/model.h"
#include "physics/native_pull.h"
#include "stet/stet.h"

#include <stdlib.h>
#include <string.h>

enum { REASONS = 32, MOST_PERCENT = 10 };

static corpus_list list;
static struct {
    char text[STI_GRADIENT_LACKS_SIZE];
    int models;
} reasons[REASONS];
static int nreason;

static void count_reason(const char *text)
{
    int k = 0;
    while (k < nreason && strcmp(reasons[k].text, text) != 0) ++k;
    assert_true(k < REASONS);
    if (k == nreason) (void)snprintf(reasons[nreason++].text, sizeof reasons[k].text, "%s", text);
    reasons[k].models++;
}

static bool is_covered(const stet_model *model)
{
    const char *name;
    bool covered;
    for (int i = 0; (name = stet_native_get_feature(model, i, &covered)) != NULL; ++i)
        if (!covered) return false;
    return true;
}

/* Is it refused? */
static bool count_lacks(const stet_model *model, const char *name)
{
    char text[STI_GRADIENT_LACKS_SIZE];
    if (!sti_gradient_lacks(model->mj, text, sizeof text)) return false;
    print_message("%s: %s\n", name, text);
    count_reason(text);
    return true;
}

static void check_models(const char *const *names)
{
    int covered = 0, refused = 0;
    corpus_read(&list, names);
    if (list.nfile == 0) {
        print_message("there are no models in .venv/: run tools/setup.sh test\n");
        skip();
    }
    for (int k = 0; k < list.nfile; ++k) {
        stet_model *model;
        if (stet_model_load(list.file[k].path, &model) != STET_OK) fail_msg("%s", stet_get_last_error());
        if (is_covered(model)) {
            covered++;
            refused += count_lacks(model, list.file[k].name);
        }
        stet_model_destroy(model);
    }
    print_message("%d of %d covered models are refused\n", refused, covered);
    for (int k = 0; k < nreason; ++k) print_message("%4d models: %s\n", reasons[k].models, reasons[k].text);
    assert_true(covered > 0 && 100 * refused <= MOST_PERCENT * covered);
}

static const char *const *sources;

static void few_models_are_refused(void **state) { check_models(sources); }

int main(int argc, char **argv)
{
    static const char *const installed[] = {"gymnasium", "dm_control", NULL};
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_models_are_refused)};
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    sources = all ? NULL : argc > 1 ? (const char *const *)argv + 1 : installed;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
