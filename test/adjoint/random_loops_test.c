/*
 * Random loops that overwrite what they read, at places that may or may not meet: their adjoints give the gradients that differences give.
 * `random_loops_test [SOURCES [SEED]]`; a source has KERNELS kernels.
 *
 * Each iteration of the each has ROOM elements of y of its own. An index is a sum of loops' variables, each times a number, and a number, and stays below
 * ROOM whatever the variables are (each is 0 … 2). Values stay near 1.
 */
#include "rig.h"

enum { KERNELS = 8, ROOM = 12, DEPTH = 3, LOOP_MOST = 2, STATEMENTS = 3 };

static int sources = 1;
static uint64_t first_seed = 1;

typedef struct writer {
    uint64_t state;
    sti_text_buffer text;
    int loops, budget, names;
} writer;

static uint32_t draw(writer *w, uint32_t n)
{
    uint64_t z = (w->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 16) % n;
}

/* `form` with k for each # and c for each @. */
static void fill(writer *w, const char *form, int k, int c)
{
    for (; *form; ++form) {
        if (*form == '#' || *form == '@')
            sti_text_buffer_format(&w->text, "%d", *form == '#' ? k : c);
        else
            sti_text_buffer_add(&w->text, form, 1);
    }
}

static void put_index(writer *w)
{
    int left = ROOM - 1;
    for (int k = w->loops - 1; k >= 0; --k) {
        int most = left / LOOP_MOST < 4 ? left / LOOP_MOST : 4;
        int times = draw(w, 4) ? (int)draw(w, (uint32_t)most + 1) : 0;
        if (times > 0) fill(w, draw(w, 2) ? "@ * k# + " : "k# * @ + ", k, times);
        left -= times * LOOP_MOST;
    }
    sti_text_buffer_format(&w->text, "%u", draw(w, (uint32_t)left + 1));
}

static void put_element(writer *w)
{
    bool pointer = draw(w, 4) == 0;
    sti_text_buffer_put(&w->text, pointer ? "own[" : "y[first + ");
    put_index(w);
    sti_text_buffer_put(&w->text, "]");
}

static void put_value(writer *w)
{
    static const char *const forms[] = {"sin($) * $",          "$ * $",         "tanh($ + s)", "s * cos($)",
                                        "fma($, s, $ * x[i])", "sin(s) + $ * $"};
    sti_text_buffer_put(&w->text, "splat((ureal)0.7) * (");
    for (const char *p = forms[draw(w, sizeof forms / sizeof *forms)]; *p; ++p) {
        if (*p == '$')
            put_element(w);
        else
            sti_text_buffer_add(&w->text, p, 1);
    }
    sti_text_buffer_put(&w->text, ")");
}

static void put_statements(writer *w);

static void put_loop(writer *w)
{
    static const char *const heads[] = {"for (int k# = 0; k# < 3; ++k#) {\n", "for (int k# = 2; k# >= 0; --k#) {\n",
                                        "for (int k# = 0; k# < 3; k# += 2) {\n", "for (i64 k# = 1; k# <= 2; k#++) {\n",
                                        "for (int k# = 0; k# < nmin(count[i + @], 3); ++k#) {\n"};
    int k = w->loops++;
    fill(w, heads[draw(w, sizeof heads / sizeof *heads)], k, (int)draw(w, 4));
    put_statements(w);
    sti_text_buffer_put(&w->text, "}\n");
    w->loops--;
}

static void put_statement(writer *w)
{
    uint32_t kind = draw(w, 100);
    if (kind < 40 && w->loops < DEPTH) {
        put_loop(w);
        return;
    }
    if (kind < 55) {
        sti_text_buffer_put(&w->text, "s = ");
        put_value(w);
    } else if (kind < 65) { /* an index and a value by name */
        int name = w->names++;
        sti_text_buffer_format(&w->text, "int at%d = first + (int)(", name);
        put_index(w);
        sti_text_buffer_format(&w->text, "); real v%d = ", name);
        put_value(w);
        sti_text_buffer_format(&w->text, "; put(y, at%d, v%d * y[at%d])", name, name, name);
    } else {
        if (kind > 90 && w->loops > 0) sti_text_buffer_format(&w->text, "if (k%u != 1) ", draw(w, (uint32_t)w->loops));
        sti_text_buffer_put(&w->text, "put(y, first + ");
        put_index(w);
        sti_text_buffer_put(&w->text, ", ");
        put_value(w);
        sti_text_buffer_put(&w->text, ")");
    }
    sti_text_buffer_put(&w->text, ";\n");
}

static void put_statements(writer *w)
{
    int n = 1 + (int)draw(w, STATEMENTS);
    for (int i = 0; i < n && w->budget-- > 0; ++i) put_statement(w);
}

static void write_source(uint64_t seed, sti_text_buffer *out)
{
    writer w = {.state = seed};
    sti_text_buffer_put(&w.text, SOURCE(""));
    for (int k = 0; k < KERNELS; ++k) {
        sti_text_buffer_format(
            &w.text, "world_kernel void k_%d(const real *x, const int *count, real *y, int n) {\neach (i, n) {\n", k);
        sti_text_buffer_format(&w.text, "int first = i * %d; real *own = y + i * %d; real s = x[i];\n", ROOM, ROOM);
        w.budget = 12;
        while (w.budget > 0) put_statements(&w);
        sti_text_buffer_put(&w.text, "put(y, first, y[first] + s);\n} }\n");
    }
    *out = w.text;
}

/* How many of a source's adjoints keep something on a tape. */
static int taped_of(const char *source)
{
    made m;
    int taped = 0;
    OK(make_adjoint(source, NULL, &m));
    for (const sti_adjoint_kernel *k = m.adjoint.kernel; k; k = k->next) taped += k->taped;
    free_made(&m);
    return taped;
}

/* Returns how many of its adjoints keep something on a tape. */
static int check_seed(uint64_t seed)
{
    sti_text_buffer text;
    write_source(seed, &text);
    assert_int_equal(text.result, STET_OK);
    int taped = taped_of(text.data);
    const int64_t counts[] = {0, 2, 1, 3, 0, 1, 2, 3};
    const stet_gradcheck_value values[] = {{.name = "count", .items = 8, .value = counts}, {.name = "n", .number = 2}};
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(text.data);
    def.items = 2 * ROOM;
    def.value = values;
    def.nvalue = 2;
    def.seed = seed;
    if (stet_gradcheck(&def, &r) != STET_OK)
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, stet_last_error(), text.data);
    if (r.wrong > 0)
        fail_msg("seed %llu: %lld of %lld gradients are wrong: %s\n%s", (unsigned long long)seed, (long long)r.wrong,
                 (long long)r.compared, r.where, text.data);
    assert_int_equal(r.unfit, 0);
    assert_true(r.moving > KERNELS * ROOM / 2);
    sti_text_buffer_free(&text);
    return taped;
}

static void gradients_of_random_loops_are_right(void **state)
{
    (void)state;
    print_message("%d sources of %d kernels, seeds from %llu\n", sources, KERNELS, (unsigned long long)first_seed);
    int taped = 0;
    for (int i = 0; i < sources; ++i) taped += check_seed(first_seed + (uint64_t)i);
    print_message("%d of %d adjoints keep something on a tape\n", taped, sources * KERNELS);
    assert_true(taped > 0 && taped < sources * KERNELS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(gradients_of_random_loops_are_right)};
    if (argc > 1) sources = atoi(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
