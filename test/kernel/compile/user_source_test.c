/*
 * Sources of user's kernels: what includes find, and what is said of mistakes: file, line, one sentence.
 */
#include "kernel/user_rig.h"

#include "kernel/compile/directive.h"
#include "kernel/language.h"
#include "kernel/compile/user_source.h"

/* ---- mistakes ---------------------------------------------------------------------------------------------------- */

#define HEAD "#include <stet/lang.h>\n"
#define FINE "world_kernel void k_fine(real *y, int n) { each (i, n) put(y, i, splat(1)); }\n"

static void mistakes_in_a_source(void **state)
{
    static const struct {
        const char *source, *says;
        stet_result result;
    } bad[] = {
        {"", "arm.k.h: has no kernel; write world_kernel or item_kernel before a function", STET_ERROR_PARSE},
        {HEAD "LFN int f(void) { return 1; }\n", "arm.k.h: has no kernel", STET_ERROR_PARSE},
        {HEAD "world_kernel void k_a(real *x)\n{\n    x[0] = ;\n}\n", "arm.k.h:4:", STET_ERROR_PARSE},
        {HEAD "world_kernel void k_a(real *x)\n{\n", "arm.k.h:", STET_ERROR_PARSE},
        {HEAD FINE "world_kernel void k_b(real *x)\n{\n    put(x, 0, splat(1));\n}\n",
         "arm.k.h: has 2 kernels (k_fine, k_b)", STET_ERROR_INVALID_ARGUMENT},
        {"#include \"absent.k.h\"\n" HEAD FINE,
         "arm.k.h:1:1: #error absent.k.h is neither beside this file nor in the include folders", STET_ERROR_PARSE},
        {HEAD "\n/* x */ # \\\n include <math.h>\n" FINE,
         "#error <math.h>: a kernel includes stet/lang.h and its own files in quotes", STET_ERROR_PARSE},
        {HEAD "#define WHERE \"a.h\"\n#include WHERE\n" FINE, "arm.k.h:3:1: #error an include names its file in quotes",
         STET_ERROR_PARSE},
        {HEAD "#include_next <math.h>\n" FINE, "#error an include names its file in quotes", STET_ERROR_PARSE},
        {HEAD "%:include <math.h>\n" FINE, "#error <math.h>", STET_ERROR_PARSE},
        {HEAD "#error not yet\n" FINE, "arm.k.h:2:1: #error not yet", STET_ERROR_PARSE},
    };
    stet_device *d = open_device(STI_ISA_portable, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        stet_kernel_def def = kernel_def(bad[i].source);
        stet_kernel *k;
        def.path = "arm.k.h"; /* a name, no file */
        stet_result result = stet_kernel_create(d, &def, &k);
        if (result != bad[i].result || !strstr(stet_get_last_error(), bad[i].says) ||
            strchr(stet_get_last_error(), '\n'))
            fail_msg("source %zu: %d, '%s', not '%s'", i, result, stet_get_last_error(), bad[i].says);
        assert_null(k);
        /* A warm start says the same: a mistake is never kept. */
        char first[1024];
        (void)snprintf(first, sizeof first, "%s", stet_get_last_error());
        assert_int_equal(stet_kernel_create(d, &def, &k), result);
        assert_string_equal(stet_get_last_error(), first);
    }
    stet_device_destroy(d);
}

static void many_mistakes_are_cut_short(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    char source[4096] = HEAD "world_kernel void k_a(real *x)\n{\n";
    for (int i = 0; i < 20; ++i)
        (void)snprintf(source + strlen(source), sizeof source - strlen(source), "    put(x, %d, unknown_%d);\n", i, i);
    strcat(source, "}\n");
    stet_kernel_def def = kernel_def(source);
    stet_kernel *k;
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE, "kernel:4:");
    assert_non_null(strstr(stet_get_last_error(), "unknown_2"));
    assert_null(strstr(stet_get_last_error(), "unknown_3"));
    assert_non_null(strstr(stet_get_last_error(), " more"));
    stet_device_destroy(d);
}

static void files_that_cannot_be_a_source(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(NULL);
    stet_kernel *k;
    def.path = in_folder("absent.k.h");
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND,
          "absent.k.h: no file that can be read; check the kernel's path");
    def.path = folder;
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND, "no file that can be read");
    def.path = in_folder("pipe");
    assert_int_equal(mkfifo(def.path, 0600), 0);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND,
          "no file that can be read"); /* and no waiting for a writer */
    def.path = in_folder("zero.k.h");
    FILE *f = fopen(def.path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite("int a;\0int b;\n", 1, 14, f), 14);
    assert_int_equal(fclose(f), 0);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE, "zero.k.h: holds a zero byte");
    def.path = in_folder("huge.k.h");
    f = fopen(def.path, "wb");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), STI_SOURCE_MAX_SIZE + 1), 0);
    assert_int_equal(fclose(f), 0);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_LIMIT, "huge.k.h: larger than");
    stet_device_destroy(d);
}

/* ---- includes ---------------------------------------------------------------------------------------------------- */

static float value_of(stet_device *d, const stet_kernel_def *def)
{
    stet_kernel *k = make_kernel(d, def);
    float x = add_once(d, k);
    stet_kernel_destroy(k);
    return x;
}

static void make_tree(void)
{
    assert_int_equal(mkdir(in_folder("tree"), 0700), 0);
    assert_int_equal(mkdir(in_folder("tree/deep"), 0700), 0);
    assert_int_equal(mkdir(in_folder("extra"), 0700), 0);
    (void)write_file("tree/main.k.h", HEAD "#include \"deep/a.k.h\"\n#include \"deep/a.k.h\"\n#include \"extra.k.h\"\n"
                                           "world_kernel void k_add(real *y, int n)\n"
                                           "{\n    each (i, n) put(y, i, splat(A + EXTRA + B));\n}\n");
    (void)write_file("tree/deep/a.k.h", "#ifndef A\n#define A 1\n#include \"b.k.h\"\n#endif\n"); /* b lies beside a */
    (void)write_file("tree/deep/b.k.h", "#pragma once\n#include \"a.k.h\"\n#include \"b.k.h\"\n#define B 20\n");
    (void)write_file("extra/extra.k.h", "#define EXTRA 300\n");
}

static void includes_are_found_as_a_compiler_would(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    make_tree();
    char extra[512];
    (void)snprintf(extra, sizeof extra, "%s/extra", folder);
    stet_kernel_def def = kernel_def(NULL);
    stet_kernel *k;
    def.path = in_folder("tree/main.k.h");
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE,
          "tree/main.k.h:4:1: #error extra.k.h is neither beside this file");
    def.includes = (const char *const[]){extra};
    def.ninclude = 1;
    assert_true(value_of(d, &def) == 321);
    /*
     * A file beside the including one goes before those of the folders; that it was absent was no secret to the
     * cache.
     */
    (void)write_file("tree/extra.k.h", "#define EXTRA 500\n");
    assert_true(value_of(d, &def) == 521);
    assert_int_equal(unlink(in_folder("tree/extra.k.h")), 0);
    assert_true(value_of(d, &def) == 321);
    (void)write_file("tree/deep/b.k.h", "#define B 40\n");
    assert_true(value_of(d, &def) == 341);
    stet_device_destroy(d);
}

/* The source's own folder and those of includes, and nothing else, whatever is there. */
static void includes_stay_in_their_folders(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(NULL);
    stet_kernel *k;
    char text[1024], extra[512];
    static const char *const outside[] = {"../secret.h", "deep/../../secret.h", "nothing/../../secret.h"};
    (void)write_file("secret.h", "#define SECRET 7\nsecret words\n");
    for (size_t i = 0; i <= sizeof outside / sizeof *outside; ++i) {
        bool absolute = i == sizeof outside / sizeof *outside;
        (void)snprintf(text, sizeof text, HEAD "\n#include \"%s\"\n" FINE,
                       absolute ? in_folder("secret.h") : outside[i]);
        def.path = write_file("tree/out.k.h", text);
        FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE, "tree/out.k.h:3:1: #error");
        assert_non_null(strstr(stet_get_last_error(), "include folders"));
        assert_null(strstr(stet_get_last_error(), "secret words"));
    }
    /* Up and down again is within; so is what an include folder has. */
    (void)snprintf(extra, sizeof extra, "%s/extra", folder);
    (void)write_file("tree/deep/up.h", "#include \"../beside.h\"\n#include \"../../extra/extra.k.h\"\n");
    (void)write_file("tree/beside.h", "#define BESIDE 5\n");
    def.path = write_file("tree/in.k.h", HEAD "#include \"deep/up.h\"\nworld_kernel void k_add(real *y, int n)\n"
                                              "{\n    each (i, n) put(y, i, splat(BESIDE + EXTRA));\n}\n");
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE, "tree/deep/up.h:2:1: #error");
    def.includes = (const char *const[]){extra};
    def.ninclude = 1;
    assert_true(value_of(d, &def) == 305);
    /* A source that is a string lies nowhere. */
    def = kernel_def(HEAD "#include \"../secret.h\"\n" FINE);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE, "#error ../secret.h");
    stet_device_destroy(d);
}

static void mistakes_in_an_included_file_are_its_own(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(NULL);
    stet_kernel *k;
    (void)write_file("part.k.h", "\n\nLFN real half(real x) { return x * hlf; }\n");
    def.path = write_file("whole.k.h", HEAD "/* one\n two */ #include \"part.k.h\"\n" FINE
                                            "\nLFN int after(void) { return wrong; }\n");
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE, "part.k.h:3:");
    assert_non_null(strstr(stet_get_last_error(), "whole.k.h:6:"));
    (void)write_file("part.k.h", "#include \"whole.k.h\"\n");
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE, "part.k.h:1:1: #error this include closes a circle");
    /* Where the compiler does not get there, it does not matter. */
    (void)write_file(
        "part.k.h",
        "#if 0\n#include \"whole.k.h\"\n#include \"absent.k.h\"\n#include <stdio.h>\n#endif\n// #include \"x\"\n");
    def.path = write_file("whole.k.h", HEAD "#include \"part.k.h\"\n" FINE);
    k = make_kernel(d, &def);
    stet_kernel_destroy(k);
    stet_device_destroy(d);
}

/* A unit names files as the includes do; #pragma once; a folder as a source. */
static void units_name_their_files(void **state)
{
    const sti_check_options options = sti_default_check_options();
    (void)write_file("near.k.h", "#pragma once\nLFN int near(int a) { return a; }\n");
    (void)write_file("extra/near.k.h", "int wrong;\n");
    (void)write_file("extra/far.k.h", "\nLFN int far(int a) { return b; }\n");
    char extra[512];
    (void)snprintf(extra, sizeof extra, "%s/extra", folder);
    const char *const includes[] = {extra};
    const sti_user_source_def def = {
        .path = write_file("top.k.h", "#include \"near.k.h\"\n#include \"near.k.h\"\n#include \"far.k.h\"\n"
                                      "LFN int f(int a) { return near(a) + far(a); }\n"),
        .includes = includes,
        .ninclude = 1};
    sti_unit *unit;
    FAILS(sti_user_source_unit(&def, &options, &unit), STET_ERROR_PARSE, "extra/far.k.h:2:29: `b` is not declared");
    assert_int_equal(sti_unit_mistakes(unit), 1);
    sti_unit_destroy(unit);
    FAILS(sti_user_source_unit(&(sti_user_source_def){.path = folder}, &options, &unit), STET_ERROR_NOT_FOUND,
          "no file that can be read");
    assert_null(unit);
}

static int count_of(const char *text, const char *part)
{
    int n = 0;
    while ((text = strstr(text, part))) {
        text += strlen(part);
        n++;
    }
    return n;
}

/* The library's files come once; again where the first one stood in a branch that the compiler may skip. */
static void the_language_is_in_the_text_once(void **state)
{
    static const struct {
        const char *before;
        int times;
    } cases[] = {
        {"", 1},
        {HEAD "#include <stet/lang_math.h>\n" HEAD, 1},
        {"#if 0\n" HEAD "#endif\n", 2},
        {"#ifdef A\n#else\n" HEAD "#endif\n", 2},
        {HEAD "#if 1\n" HEAD "#endif\n", 1},
        {"#ifndef A\n#define A\n#ifdef B\n#endif\n" HEAD "#endif\n", 2},
        {"#include <stet/lang_math.h>\n", 2}, /* which includes lang.h if that was not */
    };
    stet_device *d = open_device(STI_ISA_portable, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "%s" HEAD "world_kernel void k_add(real *y, int n) { each (i, n) put(y, i, splat(3)); }\n",
                       cases[i].before);
        sti_user_source source;
        OK(sti_user_source_read(&(sti_user_source_def){.text = text, .gpu = true}, &source));
        assert_int_equal(count_of(source.text.data, "#define STET_LANG_H\n"), cases[i].times);
        sti_user_source_free(&source);
        stet_kernel_def def = kernel_def(text);
        assert_true(value_of(d, &def) == 3);
    }
    stet_device_destroy(d);
}

static void includes_that_never_end(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    char name[32], text[128];
    for (int i = 0; i < 40; ++i) {
        (void)snprintf(name, sizeof name, "chain%d.k.h", i);
        (void)snprintf(text, sizeof text, "#include \"chain%d.k.h\"\n", i + 1);
        (void)write_file(name, text);
    }
    stet_kernel_def def = kernel_def(NULL);
    stet_kernel *k;
    def.path = in_folder("chain0.k.h");
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_LIMIT, "files include each other more than 32 deep");
    /* Each doubles the one before: 2^25 lines. */
    for (int i = 0; i < 25; ++i) {
        (void)snprintf(name, sizeof name, "chain%d.k.h", i);
        (void)snprintf(text, sizeof text, "#include \"chain%d.k.h\"\n#include \"chain%d.k.h\"\n", i + 1, i + 1);
        (void)write_file(name, text);
    }
    (void)write_file("chain25.k.h", "\n");
    def.path = in_folder("chain0.k.h");
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_LIMIT, "with all that it includes it has more than");
    stet_device_destroy(d);
}

/* ---- directives -------------------------------------------------------------------------------------------------- */

static void directives_are_found(void **state)
{
    static const struct {
        const char *text;
        sti_directive_kind kind;
        const char *name;
        size_t length; /* of the logical line */
    } cases[] = {
        {"", STI_DIRECTIVE_NONE, "", 0},
        {"int a;\nint b;\n", STI_DIRECTIVE_NONE, "", 7},
        {"#include \"a.h\"\nx", STI_DIRECTIVE_INCLUDE, "a.h", 15},
        {"#include \"a.h\"", STI_DIRECTIVE_INCLUDE, "a.h", 14},
        {" \t# include\t<a/b.h> // why\r\n", STI_DIRECTIVE_SYSTEM_INCLUDE, "a/b.h", 28},
        {"#inc\\\nlude \"a.h\"\n", STI_DIRECTIVE_INCLUDE, "a.h", 17},
        {"#include \"a\\\r\n.h\"\n", STI_DIRECTIVE_INCLUDE, "a.h", 18},
        {"/* a\n # */ /**/ # /* b */ include /* c */ \"a.h\"\nx", STI_DIRECTIVE_INCLUDE, "a.h", 48},
        {"/\\\n* #include \"no\" *\\\n/ #include \"a.h\"\n", STI_DIRECTIVE_INCLUDE, "a.h", 39},
        {"// #include \"a.h\" \\\n#include \"a.h\"\nx", STI_DIRECTIVE_NONE, "", 35},
        {"/* #include \"a.h\"", STI_DIRECTIVE_NONE, "", 17},
        {"x = \"/*\"; #include \"a.h\"\n*/", STI_DIRECTIVE_NONE, "", 25},
        {"c = '\"'; /* \" */\n", STI_DIRECTIVE_NONE, "", 17},
        {"s = \"\\\"/*\";\nx", STI_DIRECTIVE_NONE, "", 12},
        {"#error don't\nx", STI_DIRECTIVE_NONE, "", 13},
        {"#included \"a.h\"\n", STI_DIRECTIVE_NONE, "", 16},
        {"#include\n", STI_DIRECTIVE_OTHER_INCLUDE, "", 9},
        {"#include \"\"\n", STI_DIRECTIVE_OTHER_INCLUDE, "", 12},
        {"#include \"a.h\n", STI_DIRECTIVE_OTHER_INCLUDE, "", 14},
        {"#include X\n", STI_DIRECTIVE_OTHER_INCLUDE, "", 11},
        {"#import <a.h>\n", STI_DIRECTIVE_OTHER_INCLUDE, "", 14},
        {"#embed \"a\"\n", STI_DIRECTIVE_OTHER_INCLUDE, "", 11},
        {"%:include \"a.h\"\n", STI_DIRECTIVE_INCLUDE, "a.h", 16},
        {"# pragma  once\n", STI_DIRECTIVE_ONCE, "", 15},
        {"#pragma onces\n", STI_DIRECTIVE_NONE, "", 14},
        {"#else\nx", STI_DIRECTIVE_ELSE, "", 6},
        {" # elif A // b\n", STI_DIRECTIVE_ELSE, "", 15},
        {"#endif /* A */", STI_DIRECTIVE_ENDIF, "", 14},
        {"#if A\n", STI_DIRECTIVE_IF, "", 6},
        {"#ifdef A\n", STI_DIRECTIVE_IF, "", 9},
        {" # ifndef A\n", STI_DIRECTIVE_IF, "", 12},
        {"#ifs\n", STI_DIRECTIVE_NONE, "", 5},
        {"\\", STI_DIRECTIVE_NONE, "", 1},
        {"/", STI_DIRECTIVE_NONE, "", 1},
        {"'\\", STI_DIRECTIVE_NONE, "", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        sti_directive d;
        size_t end = sti_directive_next(cases[i].text, 0, &d);
        if (end != cases[i].length || d.kind != cases[i].kind || strcmp(d.name, cases[i].name) != 0)
            fail_msg("case %zu: kind %d, name '%s', %zu bytes", i, (int)d.kind, d.name, end);
    }
}

static void guards_are_found(void **state)
{
    static const struct {
        const char *text, *name; /* NULL: no guard */
    } cases[] = {
        {"#ifndef A\n#define A\nint a;\n#endif\n", "A"},
        {"/* why */\n\n# ifndef A_B // c\n#if 1\n#endif\n#endif /* A_B */\n\n/* end */", "A_B"},
        {"", NULL},
        {"int a;\n", NULL},
        {"int a;\n#ifndef A\n#endif\n", NULL},
        {"#ifdef A\n#endif\n", NULL},
        {"#ifndef\n#endif\n", NULL},
        {"#ifndef A\n#endif\nint a;\n", NULL},
        {"#ifndef A\n#endif\n#define B\n", NULL},
        {"#ifndef A\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char name[STI_DIRECTIVE_NAME] = "";
        bool found = sti_directive_guard(cases[i].text, name);
        if (found != (cases[i].name != NULL) || (found && strcmp(name, cases[i].name) != 0))
            fail_msg("case %zu: %d, '%s'", i, found, name);
    }
}

static void macros_are_found(void **state)
{
    static const char text[] = "#define A 1\n"
                               "/* #define NO */ # \\\n define B(x) \\\n    #define NO\n"
                               "// #undef NO \\\n#undef NO\n"
                               "x = \"#define NO\";\n"
                               "#if 0\n%:undef C // gone\n#else\n#define\n#define 7\n#defined NO\n#endif\n"
                               "#\tdefine D";
    static const char *const names[] = {"A", "B", "C", "7", "D"};
    char name[STI_DIRECTIVE_NAME], longest[600] = "#define ";
    size_t at = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        assert_true(sti_directive_macro(text, &at, name));
        assert_string_equal(name, names[i]);
    }
    assert_false(sti_directive_macro(text, &at, name));
    assert_int_equal(at, strlen(text));
    memset(longest + 8, 'a', sizeof longest - 9);
    at = 0;
    assert_true(sti_directive_macro(longest, &at, name));
    assert_int_equal(strlen(name), STI_DIRECTIVE_NAME - 1);
}

static void identifiers_are_found(void **state)
{
    static const struct {
        const char *text;
        bool uses;
    } cases[] = {
        {"", false},
        {"shared", true},
        {"a(shared)", true},
        {"share staged(int, s, t, 5);", true},
        {"share stag shared_staged", false},
        {"    shared(real, s, 4);\n", true},
        {"#define S shared\n", true},
        {"/", false},
        {"a / shared", true},
        {"x /* */ shared", true},
        {"unshared shared_ Shared shared2 2shared", false},
        {"// shared \\\nshared\n", false},
        {"// not\nshared\n", true},
        {"/* shared\n * shared */", false},
        {"/* shared", false},
        {"#line 3 \"shared.h\"\n", false},
        {"c = 's'; \"\\\" shared\" '\\' shared'", false},
        {"\"shared\nshared", true},
    };
    static const char *const words[] = {"shared", "staged"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        if (sti_directive_uses(cases[i].text, words, 2) != cases[i].uses) fail_msg("case %zu: '%s'", i, cases[i].text);
}

/* What the checker and fused code see: all but the language. */
static void own_text_has_what_is_not_the_languages(void **state)
{
    static const sti_embedded files[] = {{"lib/a.h", "#ifndef A_H\n#define A_H\nint in_a;\n#endif\n", NULL},
                                         {NULL, NULL, NULL}};
    const sti_user_source_def def = {
        .text = HEAD "#include \"lib/a.h\"\nint in_main;\n", .path = "main.k.h", .files = files, .gpu = true};
    sti_user_source source;
    OK(sti_user_source_read(&def, &source));
    assert_non_null(strstr(source.text.data, "STET_LANG_H"));
    assert_null(strstr(source.own.data, "STET_LANG_H"));
    assert_non_null(strstr(source.own.data, "#line 1 \"lib/a.h\"\n#ifndef A_H\n"));
    assert_non_null(strstr(source.own.data, "int in_a;\n"));
    assert_non_null(strstr(source.own.data, "int in_main;\n"));
    sti_user_source_free(&source);
}

static void names_come_back_into_what_is_said(void **state)
{
    sti_user_source source;
    const sti_user_source_def def = {.text = HEAD, .path = "my \"own\" file"};
    OK(sti_user_source_read(&def, &source));
    static const char said[] = "<0>:3: a <0> b <999999>:1 <7777>:2 <>:3 <0";
    sti_text_buffer out = {0};
    sti_user_source_explain(&source, said, strlen(said), &out);
    assert_string_equal(out.data, "my \"own\" file:3: a <0> b <999999>:1 <7777>:2 <>:3 <0");
    sti_text_buffer_free(&out);
    sti_user_source_free(&source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mistakes_in_a_source),
        TEST(many_mistakes_are_cut_short),
        TEST(files_that_cannot_be_a_source),
        TEST(includes_are_found_as_a_compiler_would),
        TEST(includes_stay_in_their_folders),
        TEST(mistakes_in_an_included_file_are_its_own),
        TEST(units_name_their_files),
        TEST(the_language_is_in_the_text_once),
        TEST(includes_that_never_end),
        TEST(directives_are_found),
        TEST(guards_are_found),
        TEST(macros_are_found),
        TEST(identifiers_are_found),
        TEST(own_text_has_what_is_not_the_languages),
        TEST(names_come_back_into_what_is_said),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
