/* The page that physics/corpus writes: a table by project, then the models that differ most; see corpus.h. */
#include "physics/corpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORST = 40 };

/* What the models of a project, or all of them, came to. */
typedef struct counts {
    int there, native, sensors_off, equal, searches, undecided, differs, rounding, others, failed, missing;
} counts;

static counts count(const corpus_model *model, int n, int source)
{
    counts c = {0};
    for (int k = 0; k < n; ++k) {
        const corpus_model *one = &model[k];
        if (source >= 0 && one->file->source != source) continue;
        c.there++;
        c.native += one->compared && !one->sensors_off;
        c.sensors_off += one->compared && one->sensors_off;
        c.equal += one->verdict == CORPUS_EQUAL;
        c.searches += one->verdict == CORPUS_SEARCHES;
        c.undecided += one->verdict == CORPUS_ROUNDING;
        c.differs += one->verdict == CORPUS_DIFFERS;
        c.rounding += one->rounding;
        c.others += one->searches;
        c.failed += one->failure[0] != 0;
        c.missing += !one->compared && one->failure[0] == 0;
    }
    return c;
}

static void write_row(FILE *out, const char *name, int files, int models, const counts *c)
{
    (void)fprintf(out, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", name, files, models, c->there,
                  c->native + c->sensors_off, c->equal, c->searches, c->undecided, c->differs, c->missing, c->failed);
}

static void write_projects(FILE *out, const corpus_list *list, const corpus_model *model, int n)
{
    int files = 0, models = 0;
    (void)fprintf(
        out,
        "\n| project | files | models | compared here | native | equal to rounding | but for contacts "
        "by iterations | rounding decides "
        "| differ | not covered, or more than 1000 dofs | failed |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < list->nsource; ++k) {
        counts c = count(model, n, k);
        write_row(out, list->source[k].name, list->source[k].files, list->source[k].models, &c);
        files += list->source[k].files;
        models += list->source[k].models;
    }
    counts all = count(model, n, -1);
    write_row(out, "all", files, models, &all);
    (void)fprintf(
        out,
        "\nOf 4 worlds a model, %d are not compared to the end because rounding decides which contacts MuJoCo "
        "has,\nand %d because contacts are others.\n",
        all.rounding, all.others);
    if (all.sensors_off) (void)fprintf(out, "\n%d of the native ones without their sensors.\n", all.sensors_off);
}

static void write_features(FILE *out, const corpus_model *model, int n, const char *const *feature, int nfeature)
{
    int lacking[CORPUS_FEATURES] = {0}, alone[CORPUS_FEATURES] = {0};
    for (int k = 0; k < n; ++k)
        for (int i = 0; i < nfeature; ++i) {
            lacking[i] += (model[k].missing >> i & 1) != 0;
            alone[i] += model[k].missing == 1ull << i;
        }
    (void)fprintf(out, "\n| missing feature | models that need it | that need nothing else |\n|---|---|---|\n");
    for (int most = n; most > 0; --most)
        for (int i = 0; i < nfeature; ++i)
            if (lacking[i] == most) (void)fprintf(out, "| %s | %d | %d |\n", feature[i], lacking[i], alone[i]);
}

static void write_missing(FILE *out, const corpus_model *model, int n, const char *const *feature, int nfeature)
{
    (void)fprintf(out, "\n| model that is not covered | needs |\n|---|---|\n");
    for (int k = 0; k < n; ++k) {
        if (model[k].missing == 0) continue;
        (void)fprintf(out, "| %s |", model[k].file->name);
        const char *comma = " ";
        for (int i = 0; i < nfeature; ++i)
            if (model[k].missing >> i & 1) {
                (void)fprintf(out, "%s%s", comma, feature[i]);
                comma = "; ";
            }
        (void)fprintf(out, " |\n");
    }
}

static void write_pairs(FILE *out)
{
    static const char *const types[CORPUS_TYPES] = {"plane",     "height field", "sphere", "capsule",
                                                    "ellipsoid", "cylinder",     "box",    "mesh"};
    (void)fprintf(out, "\n| pairs of geoms that touch, up to the first difference of a world | pairs | another number "
                       "of contacts than MuJoCo's "
                       "| as many, but more than 1e-6 m away |\n|---|---|---|---|\n");
    for (int i = 0; i < CORPUS_TYPES; ++i)
        for (int k = i; k < CORPUS_TYPES; ++k) {
            const corpus_pairs *p = &corpus_pairs_of[i][k];
            if (p->touch == 0) continue;
            (void)fprintf(out, "| %s, %s | %d | %d (%.1f %%) | %d (%.1f %%) |\n", types[i], types[k], p->touch,
                          p->number, 100.0 * p->number / p->touch, p->place, 100.0 * p->place / p->touch);
        }
}

static double greatest(const corpus_distance *e)
{
    return fmax(fmax(fmax(e->qacc, e->sensors), fmax(e->force, e->first)), fmax(e->last, e->last_speed));
}

/* Those that differ first; then by their greatest error. */
static int by_error(const void *a, const void *b)
{
    const corpus_model *x = *(corpus_model *const *)a, *y = *(corpus_model *const *)b;
    double p = greatest(&x->error), q = greatest(&y->error);
    return x->verdict != y->verdict ? (int)y->verdict - (int)x->verdict : (p < q) - (p > q);
}

static void write_distance(FILE *out, const corpus_distance *e)
{
    (void)fprintf(out, " %.0e, %.0e, %.0e, %.0e, %.0e, %.0e, %.0e |", e->qacc, e->sensors, e->force, e->first,
                  e->first_speed, e->last, e->last_speed);
}

static void write_errors(FILE *out, const corpus_model *model, int n)
{
    static const corpus_model *sorted[CORPUS_MOST];
    int compared = 0;
    for (int k = 0; k < n; ++k)
        if (model[k].compared) sorted[compared++] = &model[k];
    qsort(sorted, (size_t)compared, sizeof *sorted, by_error);
    (void)fprintf(out,
                  "\nThe %d of %d models that differ most. Errors, and the spread of MuJoCo itself: qacc; sensors; "
                  "forces of\ncontact; qpos and qvel after a step, and after all.\n\n"
                  "| model | dofs | rows | states with MuJoCo's contacts | they are off by, m; their depth by | error "
                  "| spread | |\n|---|---|---|---|---|---|---|---|\n",
                  compared < WORST ? compared : WORST, compared);
    for (int k = 0; k < compared && k < WORST; ++k) {
        const corpus_model *c = sorted[k];
        (void)fprintf(out, "| %s | %d | %d | %d of %d | %.0e; %.0e |", c->file->name, c->nv, c->most_rows,
                      c->contacts.same, c->contacts.touch, c->contacts.place, c->contacts.depth);
        write_distance(out, &c->error);
        write_distance(out, &c->spread);
        (void)fprintf(out, " %s%s%s|\n", c->verdict == CORPUS_DIFFERS ? "differs " : "",
                      c->sensors_off ? "without sensors " : "", c->faults ? "faults " : "");
    }
}

void corpus_report(FILE *out, const corpus_list *list, const corpus_model *model, int n,
                   const char *const feature[CORPUS_FEATURES], int nfeature)
{
    (void)fprintf(out, "# Models of other projects\n\nWritten by the test physics/corpus, which says what is measured. "
                       "`tools/corpus.txt` lists the\nfiles, and why some are no models that MuJoCo loads.\n");
    write_projects(out, list, model, n);
    write_pairs(out);
    write_features(out, model, n, feature, nfeature);
    write_errors(out, model, n);
    write_missing(out, model, n, feature, nfeature);
    (void)fprintf(out, "\n| model that failed | why |\n|---|---|\n");
    for (int k = 0; k < n; ++k)
        if (model[k].failure[0]) (void)fprintf(out, "| %s | %s |\n", model[k].file->name, model[k].failure);
}
