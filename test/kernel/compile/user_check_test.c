/*
 * The language's rules as people meet them, through stet_kernel_create: each kind of mistake is refused before any
 * compiler is asked, with file, line and column, in included files too; what keeps the rules becomes a kernel.
 */
#include "kernel/user_rig.h"

#define HEAD "#include <stet/lang.h>\n"

static stet_device *device;

static int open_it(void **state)
{
    if (begin_test(state)) return -1;
    device = open_device(STI_ISA_portable, 1);
    open_before = count_files("/proc/self/fd");
    return 0;
}
static int close_it(void **state)
{
    int left = end_test(state);
    stet_device_destroy(device);
    return left;
}
#define ON_DEVICE(f) cmocka_unit_test_setup_teardown(f, open_it, close_it)

/* A source that is refused with exactly this sentence. There is no compiler: nobody gets as far as to ask for one. */
static void refused(const stet_kernel_def *source, const char *sentence)
{
    stet_kernel_def def = *source;
    stet_kernel *k;
    def.compiler = "no-such-compiler";
    stet_result result = stet_kernel_create(device, &def, &k);
    assert_null(k);
    if (result != STET_ERROR_PARSE || strcmp(stet_get_last_error(), sentence) != 0)
        fail_msg("%s\n-- wanted:\n%s\n-- found (%d):\n%s", def.source ? def.source : def.path, sentence, (int)result,
                 stet_get_last_error());
}

typedef struct mistake {
    const char *source, *sentence;
} mistake;

static void refuse_all(const mistake *mistakes, size_t n, const char *before, const char *after)
{
    for (size_t i = 0; i < n; ++i) {
        char text[2048];
        (void)snprintf(text, sizeof text, "%s%s%s", before, mistakes[i].source, after);
        stet_kernel_def def = kernel_def(text);
        def.path = "arm.k.h"; /* a name, no file */
        refused(&def, mistakes[i].sentence);
    }
}
#define REFUSE_ALL(mistakes, before, after) refuse_all(mistakes, sizeof(mistakes) / sizeof *(mistakes), before, after)

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static const char before[] = HEAD "LFN void fill(real *a, int k) { a[k] = splat(0); }\n"
                                  "world_kernel void k_a(const real *x, real *y, const int *t, int n)\n{\n";
static const char after[] = "\n    each (k, n) put(y, k, x[k]);\n}\n";

static void rules_of_teams(void **state)
{
    static const mistake mistakes[] = {
        {"int s = 0; each (k, n) s += t[k];", "arm.k.h:5:24: `s` is declared outside of each: there, only elements of "
                                              "shared and a kernel's arrays are assigned"},
        {"each (k, n) put(y, 0, x[k]);",
         "arm.k.h:5:17: every iteration writes the same place of `y`: let what is passed depend on `k`"},
        {"each (k, n) { sync(); }", "arm.k.h:5:15: sync() within each: it stands where the whole team comes"},
        {"each (k, n) { each (l, n) put(y, l, x[l]); }",
         "arm.k.h:5:21: each within each: it stands where the whole team comes"},
        {"each (k, n) { if (k) return; put(y, k, x[k]); }",
         "arm.k.h:5:22: return within each: other threads of the team would go on; write continue, or if"},
        {"real a[4]; each (k, 4) a[k] = x[k];", "arm.k.h:5:25: `a` is an array of each thread, but the team fills it "
                                                "together: declare it shared(…, a, …)"},
        {"y[0] = x[0];", "arm.k.h:5:2: `y` is an array of this kernel: write put(y, i, x)"},
        {"each (k, n) fill(y, k);",
         "arm.k.h:5:18: `y` is an array of this kernel, and fill writes it without put: write put(y, i, x) there"},
        {"items (p, n) put(y, p, x[0]);", "arm.k.h:5:8: items in a world kernel: its lanes are worlds; use each"},
    };
    REFUSE_ALL(mistakes, before, after);
}

static void rules_of_types(void **state)
{
    static const mistake mistakes[] = {
        {"put(y, 0, x[0] < x[1] ? x[0] : x[1]);", "arm.k.h:5:16: `x[0] < x[1]` on lanes: write lt(x[0], x[1])"},
        {"mask m = lt(x[0], x[1]); m = !m;", "arm.k.h:5:30: `!m` on lanes: write m_not(m)"},
        {"put(y, 0, x[0] + n);", "arm.k.h:5:16: `x[0] + n` mixes lanes (real) and plain (int): write x[0] + splat(n)"},
        {"real a = 0.5f;", "arm.k.h:5:10: `0.5f` is ureal and `a` is real: write splat(0.5f)"},
        {"lint i = to_int(x[0]); i = i / i;",
         "arm.k.h:5:30: `i / i` on lint: a lane that divides by 0 ends the program; write ishr, or divide as real"},
        {"put(y, 0, speed);", "arm.k.h:5:11: `speed` is not declared"},
        {"put(x, 0, x[1]);",
         "arm.k.h:5:5: `x` is const real * and argument 1 of put is real *: what is const is only read"},
        {"put(y, 0);", "arm.k.h:5:1: put takes 3 arguments, not 2"},
        {"const real *p = t;", "arm.k.h:5:17: `t` is const int * and `p` is const real *"},
        {"int m = n, m = 2;", "arm.k.h:5:12: `m` is declared already, in line 5"},
        {"return 1;", "arm.k.h:5:1: k_a returns nothing: write return;"},
        {"int a[n];", "arm.k.h:5:7: the size `n` is not a constant: write a number or a #define"},
    };
    REFUSE_ALL(mistakes, before, after);
}

static void words_that_are_not_in_the_language(void **state)
{
    static const mistake mistakes[] = {
        {"while (n > 0) --n;",
         "arm.k.h:5:1: `while` is not in the language: loops are `for`: write for (; condition;)"},
        {"switch (n) { case 1: break; }", "arm.k.h:5:1: `switch` is not in the language: write if … else if …"},
        {"float f = 1;", "arm.k.h:5:1: `float` is not in the language: write ureal, or real for lanes"},
        {"int class = 1;", "arm.k.h:5:5: `class` is not in the language: GPUs compile C++, which keeps it for itself; "
                           "choose another name"},
        {"int8_t b = 1;", "arm.k.h:5:1: `int8_t` is not in the language: write int"},
        {"ptrdiff_t d = 1;", "arm.k.h:5:1: `ptrdiff_t` is not in the language: write i64"},
        {"typeof(n) m = 1;", "arm.k.h:5:1: `typeof` is not in the language: write the type"},
        {"int _Atomic = 1;", "arm.k.h:5:5: `_Atomic` belongs to the language: choose another name"},
        {"printf(n);", "arm.k.h:5:1: `printf` is no function of the language: use an array to write to"},
        {"put(y, 0, fabsf(x[0]));", "arm.k.h:5:11: `fabsf` is no function of the language: use rabs (lanes) or uabs"},
        {"int c = later(3);",
         "arm.k.h:5:9: `later` is no function of the language or this source: define it with LFN before its use"},
        {"int (*f)(int) = 0;", "arm.k.h:5:5: the name of a variable expected, not `(`"},
        {"int s = \"text\";", "arm.k.h:5:9: there are no strings and characters in a kernel: write numbers"},
    };
    REFUSE_ALL(mistakes, before, after);
}

#define FINE "world_kernel void k_fine(real *y, int n) { each (i, n) put(y, i, splat(1)); }\n"
#define OUTSIDE                                                                                                        \
    "outside of functions stand LFN, world_kernel, item_kernel, typedef struct and static const tables: nothing that " \
    "changes"

static void rules_outside_of_functions(void **state)
{
    static const mistake mistakes[] = {
        {"int counter;\n", "arm.k.h:2:1: " OUTSIDE},
        {"void outside(int);\n", "arm.k.h:2:1: " OUTSIDE},
        {"LFN int fact(int n) { return n > 0 ? n * fact(n - 1) : 1; }\n",
         "arm.k.h:2:42: `fact` calls itself: there is no recursion; write a for with a stack of constant size"},
        {"LFN int f(int a) { }\n", "arm.k.h:2:9: f does not return a value on every way: end it with return"},
        {"#define GLUE(a, b) a##b\n", "arm.k.h:2:21: macros have no # and ##: write the names out"},
        {"#define put(a, b, c) (a)\n", "arm.k.h:2:9: put belongs to the language: give the macro another name"},
        {"#define N 1\n#define N 2\n", "arm.k.h:3:9: N is defined already, as something else: write #undef N first"},
        {"#pragma omp parallel\n", "arm.k.h:2:1: #pragma has no meaning here: a kernel has #define, #undef, #include, "
                                   "#if … #endif and #error"},
        {"#error not yet\n", "arm.k.h:2:1: #error not yet"},
        {"world_kernel void main(real *x, int world) { put(x, 0, splat(1)); }\n",
         "arm.k.h:2:19: `main` is where programs begin, which is no kernel's: choose another name"},
        {"LFN int main(int a) { return a; }\n",
         "arm.k.h:2:9: `main` is where programs begin, which is no kernel's: choose another name"},
        {"world_kernel void k_b(const real x) { }\n",
         "arm.k.h:2:34: kernel k_b: parameter x: lanes can't be passed by value; use ureal or int"},
        {"world_kernel void k_b(const wreal *x) { }\n",
         "arm.k.h:2:36: kernel k_b: parameter x: a world kernel sees arrays of worlds as real or lint"},
        {"item_kernel void k_b(const real *x) { }\n",
         "arm.k.h:2:34: kernel k_b: parameter x: an item kernel sees arrays of worlds as wreal or wint"},
        {"world_kernel void k_b(real *x) { }\n",
         "arm.k.h:2:29: kernel k_b: parameter x is never written: make it const"},
        {"world_kernel int k_b(const real *x) { return 1; }\n", "arm.k.h:2:18: kernel k_b: a kernel returns void"},
        {"world_kernel void k_fine(const real *x) { }\n", "arm.k.h:3:19: `k_fine` is declared already, in line 2"},
    };
    REFUSE_ALL(mistakes, HEAD, FINE);
}

static void a_source_without_the_language(void **state)
{
    stet_kernel_def def = kernel_def(FINE);
    refused(&def, "kernel: does not include the language; begin with #include <stet/lang.h>");
    def.source = "#include \"device/slot.h\"\n" FINE; /* another header of the library's does not do */
    refused(&def, "kernel: does not include the language; begin with #include <stet/lang.h>");
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* The first three are told, in the order of the source, each in its own file. */
static void mistakes_of_several_files(void **state)
{
    (void)write_file("deep.k.h", "\n\nLFN real half(real x) { return x * hlf; }\n");
    (void)write_file("part.k.h", "#include \"deep.k.h\"\n/* a\n   b */ LFN real third(real x) { return x * thrd; }\n");
    stet_kernel_def def = kernel_def(NULL);
    def.path = write_file("whole.k.h", HEAD "/* one\n two */ #include \"part.k.h\"\n" FINE "\nLFN int f(void) { }\n"
                                            "LFN int g(void) { }\n");
    char sentence[2048];
    (void)snprintf(sentence, sizeof sentence,
                   "%s/deep.k.h:3:36: `hlf` is not declared; %s/part.k.h:3:45: `thrd` is not declared; "
                   "%s/whole.k.h:6:9: f does not return a value on every way: end it with return; and 1 more",
                   folder, folder, folder);
    refused(&def, sentence);
}

/* Lines count on behind a branch that was skipped, whatever was included there. */
static void lines_behind_skipped_includes(void **state)
{
    (void)write_file("long.k.h", "\n\n\n\n\n\n\n\n\n\n\n\n");
    stet_kernel_def def = kernel_def(NULL);
    def.path = write_file("whole.k.h", HEAD "#if 0\n#include \"long.k.h\"\n#elif 0\n#include \"long.k.h\"\n#else\n\n"
                                            "LFN int f(void) { }\n#endif\nLFN int g(void) { }\n" FINE);
    char sentence[1024];
    (void)snprintf(sentence, sizeof sentence,
                   "%s/whole.k.h:8:9: f does not return a value on every way: end it with return; "
                   "%s/whole.k.h:10:9: g does not return a value on every way: end it with return",
                   folder, folder);
    refused(&def, sentence);
}

/* A generator's own #line is believed. */
static void lines_of_a_generator(void **state)
{
    stet_kernel_def def = kernel_def(HEAD "#line 70 \"arm.py\"\nLFN int f(void) { }\n" FINE);
    refused(&def, "arm.py:70:9: f does not return a value on every way: end it with return");
    def.source =
        HEAD "#line 70 \"arm.py\"\nworld_kernel void k_add(real *y, int n) { each (i, n) put(y, i, splat(4)); }\n";
    stet_kernel *k = make_kernel(device, &def);
    assert_int_equal(sti_user_kernel(k)->line, 70);
    assert_true(add_once(device, k) == 4);
    stet_kernel_destroy(k);
}

/* What is checked is what this device compiles. */
static void the_configuration_counts(void **state)
{
    stet_kernel_def def = kernel_def(HEAD "#if STET_DOUBLE\nLFN int f(void) { }\n#elif STET_W == 4\n"
                                          "LFN int g(void) { }\n#elif STET_GPU\nLFN int h(void) { }\n#endif\n" FINE);
    refused(&def, "kernel:5:9: g does not return a value on every way: end it with return");
    stet_device *portable = device;
    device = open_device(STI_ISA_f64, 1);
    refused(&def, "kernel:3:9: f does not return a value on every way: end it with return");
    stet_device_destroy(device);
    device = open_device(STI_ISA_w1, 1);
    def.compiler = NULL;
    stet_kernel_destroy(make_kernel(device, &def));
    stet_device_destroy(device);
    device = portable;
}

/* ---- what is fine ------------------------------------------------------------------------------------------------ */

/* Helper functions, macros, a table, a structure, files in files: y[i] = 3 x^2 / 4 + TABLE[i % 2]. */
static void a_kernel_of_many_parts(void **state)
{
    assert_int_equal(mkdir(in_folder("parts"), 0700), 0);
    (void)write_file("parts/square.k.h", "#pragma once\n#include \"scale.k.h\"\n"
                                         "LFN real square(scaled s) { return s.factor * s.x * s.x; }\n");
    (void)write_file("parts/scale.k.h", "#ifndef SCALE\n#define SCALE(n, d) ((ureal)(n) / (ureal)(d))\n"
                                        "typedef struct scaled {\n    real x, factor;\n} scaled;\n#endif\n");
    static const char main_file[] =
        "#include \"stet/lang.h\"\n#include \"parts/square.k.h\"\n#include \"parts/scale.k.h\"\n"
        "#define COUNT 2\n#define KERNEL(name) world_kernel void name(real *y, int n, int world)\n"
        "static const ureal TABLE[COUNT] = {0.25f, 8};\n"
        "LFN ureal offset(int i) { return TABLE[i % COUNT]; }\n"
        "#if 0\nworld_kernel void k_absent(real *y) { nothing }\n#endif\n"
        "KERNEL(k_parts)\n{\n"
        "    shared(real, row, 8);\n    each (i, n) row[i] = y[i] + splat(world - world);\n    sync();\n"
        "    each (i, n) {\n        scaled s;\n        s.x = row[i] + splat(2);\n        s.factor = splat(SCALE(3, "
        "4));\n"
        "        put(y, i, square(s) + splat(offset(i)));\n    }\n}\n";
    FOR_ISAS(isa)
    {
        stet_device *d = open_device(isa, 1);
        stet_kernel_def def = kernel_def(NULL);
        stet_array *y;
        def.path = write_file("parts.k.h", main_file);
        stet_kernel *k = make_kernel(d, &def);
        assert_string_equal(stet_kernel_get_name(k), "k_parts");
        assert_int_equal(stet_kernel_get_nparam(k), 2);
        assert_int_equal(sti_user_kernel(k)->line, 11);
        OK(STI_ARRAY(d, "y", STET_DTYPE_REAL, true, &y, 5, 4));
        OK(stet_kernel_launch(k, 5, (stet_arg[]){stet_arg_array(y), stet_arg_int(4)}, 2));
        for (int w = 0; w < 5; ++w)
            for (int i = 0; i < 4; ++i) assert_true(reals_get(y, w, i) == (i % 2 ? 11 : 3.25));
        stet_array_destroy(y);
        stet_kernel_destroy(k);
        stet_device_destroy(d);
    }
}

/* A file that is included may have kernels of its own: they are not those of the source that was asked for. */
static void kernels_of_included_files_are_not_offered(void **state)
{
    (void)write_file("library.k.h", HEAD FINE "LFN real two(void) { return splat(2); }\n");
    stet_kernel_def def = kernel_def(NULL);
    def.path = write_file("own.k.h", "#include \"library.k.h\"\n"
                                     "world_kernel void k_own(real *y, int n) { each (i, n) put(y, i, two()); }\n");
    stet_kernel *k = make_kernel(device, &def);
    assert_string_equal(stet_kernel_get_name(k), "k_own");
    assert_true(add_once(device, k) == 2);
    stet_kernel_destroy(k);
    def.name = "k_fine";
    char sentence[512];
    (void)snprintf(sentence, sizeof sentence, "%s: has no kernel k_fine; it has: k_own", def.path);
    FAILS(stet_kernel_create(device, &def, &k), STET_ERROR_NOT_FOUND, sentence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DEVICE(rules_of_teams),
        ON_DEVICE(rules_of_types),
        ON_DEVICE(words_that_are_not_in_the_language),
        ON_DEVICE(rules_outside_of_functions),
        ON_DEVICE(a_source_without_the_language),
        ON_DEVICE(mistakes_of_several_files),
        ON_DEVICE(lines_behind_skipped_includes),
        ON_DEVICE(lines_of_a_generator),
        ON_DEVICE(the_configuration_counts),
        ON_DEVICE(a_kernel_of_many_parts),
        ON_DEVICE(kernels_of_included_files_are_not_offered),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
