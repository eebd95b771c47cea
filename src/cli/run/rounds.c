/* See rounds.h. */
#include "cli/run/rounds.h"

#include "cli/report_error.h"
#include "cli/run/ranks.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MOST_SEED = 9007199254740992.0; /* 2^53: the largest that double represents with all smaller ones */

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool is_parameter(const char *name)
{
    for (const char *const *p = stet_worlds_get_parameters(); *p; ++p)
        if (strcmp(*p, name) == 0) return true;
    return false;
}

/* The noise seed of a round. */
static bool is_seed(const char *name) { return strcmp(name, "seed") == 0; }

/* Adds a value; NULL: it failed, and an error was printed. */
static rounds_value *add_value(rounds *r, const char *name)
{
    for (int i = 0; i < r->nvalue; ++i)
        if (strcmp(r->value[i].name, name) == 0) {
            report_error(EXIT_INPUT, "%s: its values are given twice; give them once, in one of --inputs and --sweep",
                         name);
            return NULL;
        }
    if (r->nvalue == ROUNDS_VALUES) {
        report_error(EXIT_INPUT, "%s: more than %d values of rounds; give fewer", name, ROUNDS_VALUES);
        return NULL;
    }
    rounds_value *v = &r->value[r->nvalue++];
    snprintf(v->name, sizeof v->name, "%s", name);
    v->value = stet_round_in(v->name, NULL, 0);
    return v;
}

/* Converts to the float bytes that the library reads for a field or controls. */
static int to_floats(rounds_value *v, const npy_array *a)
{
    float *out = malloc(((size_t)a->count + 1) * sizeof *out);
    if (!out) return report_error(EXIT_INPUT, "--inputs: out of memory for %s", v->name);
    for (int64_t i = 0; i < a->count; ++i) out[i] = (float)a->data[i];
    v->data = (char *)out;
    return -1;
}

static int to_doubles(rounds_value *v, const npy_array *a)
{
    double *out = malloc(((size_t)a->count + 1) * sizeof *out);
    if (!out) return report_error(EXIT_INPUT, "--inputs: out of memory for %s", v->name);
    if (a->count > 0) memcpy(out, a->data, (size_t)a->count * sizeof *out);
    v->data = (char *)out;
    return -1;
}

/* Converts seeds to uint64_t, whatever type the file has. */
static int to_seeds(rounds_value *v, const npy_array *a)
{
    uint64_t *out = malloc(((size_t)a->count + 1) * sizeof *out);
    if (!out) return report_error(EXIT_INPUT, "--inputs: out of memory for %s", v->name);
    v->data = (char *)out;
    for (int64_t i = 0; i < a->count; ++i) {
        if (!(a->data[i] >= 0 && a->data[i] <= MOST_SEED && floor(a->data[i]) == a->data[i]))
            return report_error(EXIT_INPUT, "--inputs: seed %g is not a whole number from 0 to 2^53", a->data[i]);
        out[i] = (uint64_t)a->data[i];
    }
    return -1;
}

/* Which dimension of a value counts worlds; 0: none. */
static int world_dimension(const npz_array *from, int64_t nworld)
{
    const npy_array *a = &from->array;
    if (is_seed(from->name)) return 0;
    int k = strcmp(from->name, "controls") == 0 ? 2 : 1, least = is_parameter(from->name) || k == 2 ? k + 2 : k + 1;
    return a->ndim >= least && a->shape[k] == nworld ? k : 0;
}

/* Keeps the worlds of this process of a value's numbers. */
static void cut_worlds(const rounds *r, npz_array *from)
{
    npy_array *a = &from->array;
    int k = world_dimension(from, r->options->worlds);
    int64_t rows = 1, nitem = 1, first = stet_group_get_first(r->group), own = stet_group_get_own(r->group);
    if (!r->group || k == 0) return;
    for (int i = 0; i < k; ++i) rows *= a->shape[i];
    for (int i = k + 1; i < a->ndim; ++i) nitem *= a->shape[i];
    for (int64_t i = 0; i < rows; ++i)
        memmove(a->data + i * own * nitem, a->data + (i * a->shape[k] + first) * nitem,
                (size_t)(own * nitem) * sizeof *a->data);
    a->shape[k] = own;
    a->count = rows * own * nitem;
}

static int take_array(rounds *r, const char *path, npz_array *from)
{
    const npy_array *a = &from->array;
    if (a->ndim < 2 || a->shape[0] < 1)
        return report_error(EXIT_INPUT, "--inputs %s: array %s has no round axis; its first dimension is the round",
                            path, from->name);
    cut_worlds(r, from);
    rounds_value *v = add_value(r, from->name);
    if (!v) return EXIT_INPUT;
    bool doubles = is_parameter(from->name), seeds = is_seed(from->name);
    v->rounds = a->shape[0];
    v->value.size = (size_t)(a->count / a->shape[0]) * (doubles || seeds ? sizeof(double) : sizeof(float));
    v->stride = a->shape[0] > 1 ? v->value.size : 0;
    if (strcmp(from->name, "controls") == 0) {
        v->value.frames = a->shape[1];
        r->controls = true;
    }
    return seeds ? to_seeds(v, a) : doubles ? to_doubles(v, a) : to_floats(v, a);
}

static int take_file(rounds *r, const char *path)
{
    npz file;
    const char *wrong = npz_read(path, &file);
    int code = wrong ? report_error(EXIT_INPUT, "--inputs %s", wrong) : -1;
    for (int i = 0; i < file.count && code < 0; ++i) code = take_array(r, path, &file.array[i]);
    npz_free(&file);
    return code;
}

/* The grid's values of one parameter at each of its `n` points; `each` consecutive points have the same value. */
static int take_sweep(rounds *r, const sweep_option *s, int64_t n, int64_t each)
{
    rounds_value *v = add_value(r, s->name);
    if (!v) return EXIT_INPUT;
    int64_t nitem = strcmp(s->name, "gravity") == 0 ? 3 : 1;
    double *out = calloc((size_t)(n * nitem), sizeof *out);
    if (!out) return report_error(EXIT_INPUT, "--sweep: out of memory for %lld rounds", (long long)n);
    for (int64_t k = 0; k < n; ++k) {
        double *to = &out[k * nitem + nitem - 1];
        *to = s->value[k / each % s->text.count];
        if (is_seed(s->name)) memcpy(to, &(uint64_t){(uint64_t)*to}, sizeof *to);
    }
    v->data = (char *)out;
    v->value.size = (size_t)nitem * sizeof *out;
    v->stride = v->value.size;
    v->rounds = n;
    return -1;
}

static int take_sweeps(rounds *r)
{
    const run_options *o = r->options;
    int64_t n = 1, stride = 1;
    for (int i = 0; i < o->nsweep; ++i) n *= o->sweep[i].text.count;
    if (n > INT32_MAX)
        return report_error(EXIT_INPUT, "--sweep: %" PRId64 " rounds are too many; give fewer values", n);
    int code = -1;
    for (int i = o->nsweep - 1; i >= 0 && code < 0; --i) {
        code = take_sweep(r, &o->sweep[i], n, stride);
        stride *= o->sweep[i].text.count;
    }
    return code;
}

static int count_rounds(rounds *r)
{
    r->count = r->options->rounds;
    for (int i = 0; i < r->nvalue; ++i)
        if (r->value[i].rounds > r->count && !r->options->rounds) r->count = r->value[i].rounds;
    if (r->count == 0) r->count = 1;
    for (int i = 0; i < r->nvalue; ++i)
        if (r->value[i].rounds != 1 && r->value[i].rounds != r->count)
            return report_error(EXIT_INPUT,
                                "%s: its values are those of %lld rounds, and there are %lld; give as many, or 1",
                                r->value[i].name, (long long)r->value[i].rounds, (long long)r->count);
    return -1;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static void set_data(rounds *r, int64_t k, stet_round_value out[ROUNDS_VALUES])
{
    for (int i = 0; i < r->nvalue; ++i) {
        out[i] = r->value[i].value;
        out[i].data = r->value[i].data + (size_t)k * r->value[i].stride;
        out[i].generation = r->value[i].stride ? 0 : 1; /* it is never written */
    }
}

int rounds_open(rounds *r, const run_options *options, stet_sim *sim, stet_group *group)
{
    int code = -1;
    *r = (rounds){.options = options, .sim = sim, .group = group};
    if (!options_rounds(options)) return -1;
    for (int i = 0; i < options->inputs.count && code < 0; ++i) code = take_file(r, options->inputs.name[i]);
    if (code < 0) code = take_sweeps(r);
    if (code < 0) code = count_rounds(r);
    if (code >= 0) return code;
    if (r->controls && options->control != CONTROL_ZERO)
        return report_error(EXIT_INPUT, "--control: the inputs have controls; leave one of the two out");
    r->row = calloc((size_t)r->count, sizeof *r->row);
    if (!r->row) return report_error(EXIT_INPUT, "--rounds: out of memory for %lld rounds", (long long)r->count);
    stet_round_value values[ROUNDS_VALUES];
    set_data(r, 0, values);
    return stet_sim_round_check(sim, values, r->nvalue) == STET_OK ? -1 : report_last_error(EXIT_INPUT);
}

void rounds_close(rounds *r)
{
    for (int i = 0; i < r->nvalue; ++i) free(r->value[i].data);
    free(r->row);
    *r = (rounds){0};
}

/* Inputs that could not be staged are copied when their round begins. */
static void stage(rounds *r, int64_t k)
{
    stet_round_value values[ROUNDS_VALUES];
    if (k >= r->count || r->nvalue == 0) return;
    set_data(r, k, values);
    if (stet_sim_round_stage(r->sim, values, r->nvalue) != STET_OK)
        sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
}

int rounds_begin(rounds *r, int64_t k)
{
    stet_round_value values[ROUNDS_VALUES];
    set_data(r, k, values);
    if (stet_sim_round_begin(r->sim, values, r->nvalue) != STET_OK) return report_last_error(EXIT_WORK);
    stage(r, k + 1);
    return -1;
}

int rounds_end(rounds *r, int64_t frame)
{
    rounds_row *row = &r->row[r->done];
    stet_result result = stet_sim_round_end(r->sim, NULL, 0);
    stet_round_info info = stet_sim_get_round(r->sim);
    if (result != STET_OK && info.faulty < stet_worlds_get_nworld(stet_sim_get_worlds(r->sim)))
        return report_last_error(EXIT_WORK);
    if (result != STET_OK) sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
    *row = (rounds_row){.setup = info.setup, .seconds = info.seconds, .faulty = info.faulty, .staged = info.staged};
    if (ranks_hash(r->group, r->sim, &row->state) != STET_OK ||
        (r->options->outputs && ranks_hash_frame(r->group, r->sim, frame, &row->frame) != STET_OK) ||
        (r->group && ranks_add(r->group, &row->faulty, 1) != STET_OK))
        return report_last_error(EXIT_WORK);
    r->done++;
    return -1;
}

void rounds_cancel(rounds *r) { (void)stet_sim_round_end(r->sim, NULL, 0); }

/* ---- what came of them ------------------------------------------------------------------------------------------- */

static int compare_rounds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of a column over all rounds but the first. */
static double later(const rounds *r, size_t offset)
{
    double median = 0, *x = r->done > 1 ? malloc((size_t)r->done * sizeof *x) : NULL;
    if (!x) return 0;
    for (int64_t k = 1; k < r->done; ++k) memcpy(&x[k - 1], (const char *)&r->row[k] + offset, sizeof *x);
    qsort(x, (size_t)r->done - 1, sizeof *x, compare_rounds);
    median = x[(r->done - 1) / 2];
    free(x);
    return median;
}

rounds_figures rounds_look(const rounds *r)
{
    rounds_figures f = {0};
    if (r->done == 0) return f;
    f.first_setup = r->row[0].setup;
    f.first_seconds = r->row[0].seconds;
    f.later_setup = later(r, offsetof(rounds_row, setup));
    f.later_seconds = later(r, offsetof(rounds_row, seconds));
    return f;
}

static const char *write_column(const rounds *r, npz_writer *w, const char *name, const char *descr, size_t offset)
{
    char *x = malloc((size_t)r->done * 8 + 1); /* every column has 8 bytes */
    if (!x) return "out of memory for rounds.npz";
    for (int64_t k = 0; k < r->done; ++k) memcpy(x + 8 * k, (const char *)&r->row[k] + offset, 8);
    const char *wrong = npz_add(w, name, descr, 1, &r->done, x, (size_t)r->done * 8);
    free(x);
    return wrong;
}

static const char *write_sweeps(const rounds *r, npz_writer *w)
{
    const char *wrong = NULL;
    for (int i = 0; i < r->nvalue && !wrong; ++i) {
        const rounds_value *v = &r->value[i];
        char name[NPZ_NAME + 8];
        int64_t nitem = (int64_t)(v->value.size / sizeof(double));
        if (!v->stride || !(is_parameter(v->name) || is_seed(v->name))) continue;
        snprintf(name, sizeof name, "given_%s", v->name);
        wrong = npz_add(w, name, is_seed(v->name) ? "<u8" : "<f8", 2, (int64_t[]){r->done, nitem}, v->data,
                        (size_t)r->done * v->value.size);
    }
    return wrong;
}

static const char *take_recordings(const rounds *r, recorder *recorded, npz_writer *w)
{
    for (int i = 0; i < recorded->count; ++i) {
        const char *wrong = npy_seal(&recorded->file[i]->w, r->done);
        if (!wrong) wrong = npz_add_npy(w, r->options->record.name[i], &recorded->file[i]->w);
        if (wrong) return wrong;
    }
    return NULL;
}

const char *rounds_write(const rounds *r, recorder *recorded, const char *path)
{
    npz_writer w;
    const char *wrong = npz_open(&w, path);
    if (wrong) return wrong;
    wrong = write_column(r, &w, "state_hash", "<u8", offsetof(rounds_row, state));
    if (!wrong && r->options->outputs) wrong = write_column(r, &w, "frame_hash", "<u8", offsetof(rounds_row, frame));
    if (!wrong) wrong = write_column(r, &w, "faulty", "<i8", offsetof(rounds_row, faulty));
    if (!wrong) wrong = write_column(r, &w, "setup_seconds", "<f8", offsetof(rounds_row, setup));
    if (!wrong) wrong = write_column(r, &w, "seconds", "<f8", offsetof(rounds_row, seconds));
    if (!wrong) wrong = write_sweeps(r, &w);
    if (!wrong) wrong = take_recordings(r, recorded, &w);
    if (!wrong) return npz_close(&w);
    npz_drop(&w);
    return wrong;
}
