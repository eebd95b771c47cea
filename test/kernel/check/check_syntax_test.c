/*
 * Syntax and directives: each mistake with its exact sentence, and that reading goes on behind it. Deep nesting and
 * macros that grow without end are refused, not followed.
 */
#include "check_case.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Definitions, statements, expressions. */
static const check_case syntax[] = {
    {"LFN int f(int a) { while (a) a = 1; return a; }",
     "1:20: `while` is not in the language: loops are `for`: write for (; condition;)"},
    {"LFN int f(int a) { do a = 1; while (a); return a; }",
     "1:20: `do` is not in the language: loops are `for`: write for (; condition;)\n1:30: `while` is not in the "
     "language: loops are `for`: write for (; condition;)"},
    {"LFN int f(int a) { goto end; end: return a; }",
     "1:20: `goto` is not in the language: there are no jumps: write for, break, continue or return\n1:33: `;` "
     "expected at the end of the statement, not `:`"},
    {"LFN int f(int a) { switch (a) { case 1: a = 2; } return a; }",
     "1:20: `switch` is not in the language: write if … else if …"},
    {"LFN float f(int a) { return a; }", "1:5: `float` is not in the language: write ureal, or real for lanes"},
    {"LFN int f(double a) { return 1; }", "1:11: `double` is not in the language: write ureal, or real for lanes"},
    {"LFN int f(unsigned a) { return 1; }", "1:11: `unsigned` is not in the language: write u32, u16, u8 or u64"},
    {"LFN int f(const float *a) { return 1; }", "1:17: `float` is not in the language: write ureal, or real for lanes"},
    {"LFN int f(int a) { return a ;", "1:18: this block has no end: write }"},
    {"LFN int f(int a) { return (a; }\nLFN int g(int a) { return b; }",
     "1:29: `)` expected after the expression, not `;`\n2:27: `b` is not declared"},
    {"LFN int f(int a) { a = ; a = b; a = 1 + ; return a }",
     "1:24: a value expected, not `;`\n1:30: `b` is not declared\n1:41: a value expected, not `;`\n1:52: `;` expected "
     "at the end of the statement, not `}`"},
    {"LFN int f(int a) { for (int i = 0; i < a) a = 2; b = 2; return a; }",
     "1:41: `;` expected after the condition of for, not `)`\n1:50: `b` is not declared"},
    {"LFN int f(int a) { rolled for (int i = 0; i < a; ++i) a = 2; return a; }", ""},
    {"LFN int f(int a) { rolled each (i, a) a = 2; return a; }", "1:27: for, behind rolled expected, not `each`"},
    {"LFN int f(int a) { if a > 1) a = 2; b = 2; return a; }",
     "1:23: `(` expected after if, not `a`\n1:37: `b` is not declared"},
    {"LFN int f(int a) { if (a) int b = 2; return a; }", "1:27: a declaration stands in a block: write { … }"},
    {"LFN int f(int a) { if (a) { a = $; } return b; }", "1:33: a value expected, not `$`\n1:45: `b` is not declared"},
    {"int f(int a) { return a; }", "1:1: outside of functions stand LFN, world_kernel, item_kernel, typedef struct and "
                                   "static const tables: nothing that changes"},
    {"static int f(int a) { return a; }", "1:1: outside of functions stand LFN, world_kernel, item_kernel, typedef "
                                          "struct and static const tables: nothing that changes"},
    {"int count = 0;", "1:1: outside of functions stand LFN, world_kernel, item_kernel, typedef struct and static "
                       "const tables: nothing that changes"},
    {"static int count;", "1:1: outside of functions stand LFN, world_kernel, item_kernel, typedef struct and static "
                          "const tables: nothing that changes"},
    {"static const int table[3] = {1, 2, 3};\nLFN int f(int a) { return table[a]; }", ""},
    {"static const int table[3];", "1:18: `table`: a table has its values, { … }"},
    {"static const real table[1] = {1};",
     "1:19: `table`: a table holds plain numbers\n1:31: `1` is int and `table` is real: write splat(1)"},
    {"static const ureal table[2] = {(ureal)0.5, x};",
     "1:31: `table`: the values of a table are constants\n1:44: `x` is not declared"},
    {"LFN int f(int a);", "1:9: f has no body: a function is defined, once, before its first use"},
    {"LFN int f();", "1:11: a function without parameters says (void)"},
    {"LFN int *f(int a) { return 0; }", "1:9: a function returns no pointer: let it return an index"},
    {"LFN int f(int **a) { return 0; }",
     "1:16: a pointer is `type *` or `const type *`: nothing points to pointers, and no pointer is const itself"},
    {"LFN int f(int *const a) { return 0; }",
     "1:16: a pointer is `type *` or `const type *`: nothing points to pointers, and no pointer is const itself"},
    {"LFN int f(int (*a)(int)) { return 0; }", "1:15: the name of a parameter expected, not `(`"},
    {"LFN int f(int a[]) { return 0; }", "1:17: the size of an array stands between [ and ]"},
    {"LFN int f(int a) { static int b = 2; return b; }",
     "1:20: static stands outside of functions only, before const tables of numbers\n1:45: `b` is not declared"},
    {"LFN int f(int a) { struct s b; return 1; }",
     "1:20: a structure is defined before the functions by typedef, and named without struct"},
    {"struct s { int a; };", "1:1: outside of functions stand LFN, world_kernel, item_kernel, typedef struct and "
                             "static const tables: nothing that changes"},
    {"typedef int number;", "1:9: a typedef is: typedef struct name { … } name;"},
    {"typedef struct s { int a; } t;", "1:29: a structure has one name: s, not t"},
    {"typedef struct s { int *a; } s;", ""},
    {"typedef struct s { int *a[2]; } s;", "1:25: `a`: there are no arrays of pointers; keep indices"},
    {"typedef struct s { int a; real a; } s;", "1:32: there is a field `a` already"},
    {"typedef struct s { int a = 3; } s;", "1:28: a field has no first value: variables have"},
    {"typedef struct s { int a; real v[3]; } s;\nLFN real f(s *p, int k) { s q = *p; q.a = 2; p->v[k] = q.v[1]; return "
     "p->w; }",
     "2:72: s has no field `w`"},
    {"typedef struct s { int a; real v[3]; } s;\nLFN real f(const s *p, int k) { p->a = 1; p->v[k] = splat(1); return "
     "p.v[0]; }",
     "2:34: `p->a` is const: it is only read\n2:47: `p->v[k]` is const: it is only read\n2:71: `p` is a pointer: write "
     "`->`"},
    {"LFN int f(int a) { int b[2] = {[1] = 2}; return b[0]; }",
     "1:32: values of a list stand in their order, without names and places\n1:49: `b` is not declared"},
    {"LFN int f(int a) { return (int){a}; }", "1:32: a list of values stands at the declaration of a variable only"},
    {"LFN int f(int a) { return g(1)(2); }",
     "1:31: only a function can be called, by its name: there are no pointers to functions"},
    {"LFN int f(int each) { return 1; }",
     "1:15: the name of a parameter expected, but `each` is a word of the language or a type"},
    {"LFN int f(int a) { int real = 1; return 1; }",
     "1:24: the name of a variable expected, but `real` is a word of the language or a type"},
    {"LFN int f(int a) { return sync(); }", "1:27: sync is a statement of its own, not a value"},
    {"LFN int f(int a) { sync; return 1; }", "1:24: `(` expected after sync, not `;`"},
    {"LFN int f(int a) { each (a) a = 1; return 1; }",
     "1:27: `,` expected between the variable and the count, not `)`"},
    {"LFN int f(int a) { shared(3, b, 3); return 1; }", "1:27: the type of the elements expected, not `3`"},
    {"LFN int f(int a) { if (a) return 1; }", "1:9: f does not return a value on every way: end it with return"},
    {"LFN int f(int a) { if (a) return 1; else return 2; }", ""},
    {"LFN int f(int a) { for (;;) return 1; }", "1:9: f does not return a value on every way: end it with return"},
    {"LFN void f(int a) { return; }\nLFN void f(int a) { return; }", "2:10: `f` is declared already, in line 1"},
    {"LFN real clamp(real a) { return a; }", "1:10: `clamp` is a function of the language: choose another name"},
    {"LFN int f(int a, int a) { return 1; }", "1:22: `a` is declared already, in line 1"},
    {"LFN int f(void) { return 1; }\nLFN int g(int a) { return f(a) + f(); }", "2:27: f takes 0 arguments, not 1"},
    {"LFN int f(int a) { return \"a\"; }", "1:27: there are no strings and characters in a kernel: write numbers"},
    {"LFN int f(int a) { return NULL; }", "1:27: `NULL` is not in the language: write 0"},
    {"LFN int f(int a) { asm(\"nop\"); return 1; }", "1:20: `asm` is not in the language: write C"},
    {"LFN int f(int a) { return a; } }",
     "1:32: LFN, world_kernel, item_kernel, typedef struct or static const expected, not `}`"},
    {"LFN int f(int a) { return a; } )) LFN int g(int a) { return b; }",
     "1:32: LFN, world_kernel, item_kernel, typedef struct or static const expected, not `)`\n1:61: `b` is not "
     "declared"},
    {"/* no end", "1:1: this comment has no end: write */"},
    {"@", "1:1: LFN, world_kernel, item_kernel, typedef struct or static const expected, not `@`"},
    {"LFN int f(int é) { return 1; }", "1:15: the name of a parameter expected, not `é`"},
};

/* Directives and macros. */
static const check_case directives[] = {
    {"#define N 3\n#define N 4\nLFN int f(int a) { return N; }",
     "2:9: N is defined already, as something else: write #undef N first"},
    {"#define N 3\n#define N 3\n#undef N\n#define N 4\nLFN int f(int a) { return N + x; }",
     "5:31: `x` is not declared"},
    {"#define real float", "1:9: real belongs to the language: give the macro another name"},
    {"#define clamp(x) x", "1:9: clamp belongs to the language: give the macro another name"},
    {"#define STET_W 3", "1:9: STET_W belongs to the language: give the macro another name"},
    {"#define F(a, b) a + b\nLFN int f(int a) { return F(1); }",
     "2:20: f returns a value: write return with it\n2:27: F takes 2 arguments, not 1"},
    {"#define F(a, b) a + b\nLFN int f(int a) { return F(1, 2; }",
     "2:18: this block has no end: write }\n2:27: the arguments of F have no end: write )\n2:36: a value expected, not "
     "`the end`"},
    {"#define F(a b) a", "1:1: the parameters of macro F are names with commas between them, then )"},
    {"#define F(a) #a", "1:14: macros have no # and ##: write the names out"},
    {"#define F(a) a##a", "1:15: macros have no # and ##: write the names out"},
    {"#define F(...) 1", "1:1: the parameters of macro F are names with commas between them, then )"},
    {"#define", "1:1: #define needs a name"},
    {"#define F(x) x\nLFN int f(int a) { return F(F(F(a))) + F(b); }", "2:42: `b` is not declared"},
    {"#define F x < y\nLFN mask f(real x, real y)\n{\n    return F;\n}", "4:12: `x < y` on lanes: write lt(x, y)"},
    {"#define G(m) (m)\nLFN mask f(real x, real y)\n{\n    return G(x < y);\n}",
     "4:16: `x < y` on lanes: write lt(x, y)"},
    {"#if 1\nLFN int f(int a) { return b; }", "2:27: `b` is not declared\n2:31: 1 #if of this file without #endif"},
    {"#endif", "1:1: #endif has no meaning here: a kernel has #define, #undef, #include, #if … #endif and #error"},
    {"#else", "1:1: #else has no meaning here: a kernel has #define, #undef, #include, #if … #endif and #error"},
    {"#if STET_GPU\nerror here \"'\n#elif STET_DOUBLE || defined(STET_NOT)\nand here\n#else\nLFN int f(int a) { return "
     "STET_W + c; }\n#endif",
     "6:36: `c` is not declared"},
    {"#if (1\n#endif", "1:1: `)` expected after the expression, not `the end`"},
    {"#if 1 2\n#endif", "1:7: the end of the line expected, not `2`"},
    {"#if 1.5\n#endif", "1:1: #if takes a constant of whole numbers"},
    {"#ifdef\n#endif", "1:1: #ifdef needs a name"},
    {"#include <stet/lang.h>\n # \t include\t<stet/lang.h> /* twice */", ""},
    {"#include <stet/lang.hh>", "1:1: a kernel includes \"stet/lang.h\" and other kernels by their names in quotes"},
    {"#include <math.h>", "1:1: a kernel includes \"stet/lang.h\" and other kernels by their names in quotes"},
    {"#include \"stet/lang.h\"\n#include \"a.k.h\"", "2:1: a kernel includes \"stet/lang.h\" and other kernels by "
                                                     "their names in quotes"},
    {"// a comment \\\nint a; // \\\r\n int b;", ""},
    {"#pragma once", ""},
    {"#error only for the GPU", "1:1: #error only for the GPU"},
    {"#line 3\nint a;", "3:1: outside of functions stand LFN, world_kernel, item_kernel, typedef struct and static "
                        "const tables: nothing that changes"},
    {"#line x", "1:1: #line needs the number of the next line"},
    {"#pragma once\nint a;", "2:1: outside of functions stand LFN, world_kernel, item_kernel, typedef struct and "
                             "static const tables: nothing that changes"},
    {"#pragma GCC push",
     "1:1: #pragma has no meaning here: a kernel has #define, #undef, #include, #if … #endif and #error"},
    {"#define A(x) x x\n#define B(x) A(A(A(A(A(x)))))\n#define C(x) B(B(B(B(B(x)))))\nLFN int f(int a) { C(C(;)) "
     "return 1; }",
     "4:18: this block has no end: write }\n4:27: more than 1048576 tokens, macros replaced: make the source smaller"},
    {"#define F F + 1\nLFN int f(int a) { return F; }", "2:27: `F` is not declared"},
};

static void mistakes_in_syntax(void **state) { CHECK_CASES(syntax, "", ""); }

static void mistakes_in_directives(void **state) { CHECK_CASES(directives, "", ""); }

/* before, n times piece, after. */
static char *repeated(const char *before, const char *piece, int n, const char *after)
{
    char *text = malloc(strlen(before) + (size_t)n * strlen(piece) + strlen(after) + 1);
    assert_non_null(text);
    char *at = text + sprintf(text, "%s", before);
    for (int i = 0; i < n; ++i) at += sprintf(at, "%s", piece);
    (void)sprintf(at, "%s", after);
    return text;
}

static void deep_nesting_is_refused(void **state)
{
    static const char *const nests[][3] = {
        {"LFN int f(int a) { return ", "(", "1; }"},
        {"LFN int f(int a) { return ", "-", "a; }"},
        {"LFN int f(int a) { return a", " - 1", "; }"},
        {"LFN int f(int a) { return ", "a ? 1 : ", "1; }"},
        {"LFN int f(int a) { return ", "f(", "1; }"},
        {"LFN int f(int a) { return a", "[a", "; }"},
        {"LFN int f(int a) { ", "{", " }"},
        {"LFN int f(int a) { ", "if (a) ", "a = 1; }"},
        {"LFN int f(int a) { ", "for (;;) ", "a = 1; }"},
        {"LFN int f(int a) { ", "if (a) a = 1; else ", "a = 1; }"},
        {"LFN int f(int a) { int b[2] = ", "{", "1; }"},
        {"LFN int f(int a) { a = 1", ", a = 1", "; }"},
        {"LFN int f(int a) { return ", "(int)", "a; }"},
        {"LFN int f(int a) { return a", ".a", "; }"},
        {"LFN int f(int a) { int b", "[2]", "; }"},
    };
    for (size_t i = 0; i < sizeof nests / sizeof *nests; ++i) {
        char *text = repeated(nests[i][0], nests[i][1], 100000, nests[i][2]);
        sti_unit *unit = check_text(text, NULL);
        assert_true(sti_unit_mistakes(unit) > 0);
        sti_unit_destroy(unit);
        free(text);
    }
    char *text = repeated("LFN int f(int a) { return ", "(", 150, "1");
    char *whole = repeated(text, ")", 150, "; }");
    sti_unit *unit = check_text(whole, NULL);
    check_mistakes(unit, 0, "", whole);
    sti_unit_destroy(unit);
    free(whole);
    free(text);
    text = repeated("LFN int f(int a) { return ", "(", 201, "1; }");
    unit = check_text(text, NULL);
    check_mistakes(unit, 0, "1:226: nested more than 200 deep: use variables and functions in between", text);
    sti_unit_destroy(unit);
    free(text);
}

static void macros_without_end_are_refused(void **state)
{
    static const char doubling[] = "#define A(x) x x\n#define B(x) A(A(A(A(A(x)))))\n#define C(x) B(B(B(B(B(x)))))\n"
                                   "LFN int f(int a)\n{\n    C(C(a = 1;)) return 1;\n}\n";
    sti_unit *unit = check_text(doubling, NULL);
    check_mistakes(
        unit, 0,
        "5:1: this block has no end: write }\n6:17: more than 1048576 tokens, macros replaced: make the source smaller",
        doubling);
    sti_unit_destroy(unit);
    char *text = repeated("#define F(x) x\nLFN int f(int a) { return ", "F(", 100000, "1; }");
    unit = check_text(text, NULL);
    assert_true(sti_unit_mistakes(unit) > 0);
    sti_unit_destroy(unit);
    free(text);
}

/* All mistakes are counted, the first hundred are kept. */
static void many_mistakes(void **state)
{
    char *text = repeated("LFN void f(int a)\n{\n", "a = b;\n", 1000, "}\n");
    sti_unit *unit = check_text(text, NULL);
    assert_int_equal(sti_unit_mistakes(unit), 1000);
    int n = 0;
    for (const sti_diagnostic *d = sti_unit_diagnostics(unit); d; d = d->next, ++n) {
        assert_int_equal(d->line, n + 3);
        assert_int_equal(d->column, 5);
    }
    assert_int_equal(n, STI_CHECK_DIAGNOSTICS);
    sti_unit_destroy(unit);
    free(text);
}

/* The same source for other machines: #if sees them. */
static void configurations(void **state)
{
    static const char text[] =
        "#if STET_GPU\nint gpu;\n#elif STET_DOUBLE\nint real_double;\n#elif STET_W == 4\nint four;\n#endif\n";
    static const char *const sentence = "outside of functions stand LFN, world_kernel, item_kernel, typedef struct and "
                                        "static const tables: nothing that changes";
    const sti_check_options options[] = {
        {.lanes = 1, .gpu = true}, {.lanes = 1, .real_double = true}, {.lanes = 4}, {.lanes = 16}};
    for (int i = 0; i < 4; ++i) {
        char mistake[256] = "";
        if (i < 3) (void)snprintf(mistake, sizeof mistake, "%d:1: %s", 2 * i + 2, sentence);
        sti_unit *unit = check_text(text, &options[i]);
        check_mistakes(unit, 0, mistake, text);
        sti_unit_destroy(unit);
    }
    sti_unit *unit = (sti_unit *)&unit;
    sti_check_options wrong = {.lanes = 3};
    FAILS(sti_check_source(text, "k", &wrong, &unit), STET_ERROR_INVALID_ARGUMENT,
          "k: checked for 3 lanes; there are 1, 4, 8 and 16");
    assert_null(unit);
    wrong = (sti_check_options){.lanes = 4, .gpu = true};
    FAILS(sti_check_source(text, "k", &wrong, &unit), STET_ERROR_INVALID_ARGUMENT,
          "k: checked for 4 lanes; a GPU and double have 1");
}

/* The thread's message names the first mistake. */
static void the_message_of_a_check(void **state)
{
    sti_check_options options = sti_default_check_options();
    sti_unit *unit;
    FAILS(sti_check_source("\nint a;", "own.k.h", &options, &unit), STET_ERROR_PARSE,
          "own.k.h:2:1: outside of functions stand");
    char *printed = (char *)&unit;
    FAILS(sti_unit_print(unit, &printed), STET_ERROR_STATE,
          "a kernel source with 1 mistake cannot be printed; correct it first");
    assert_null(printed);
    sti_unit_destroy(unit);
    FAILS(sti_check_source("int a;\nint b;", "own.k.h", &options, &unit), STET_ERROR_PARSE,
          "nothing that changes (and more)");
    sti_unit_destroy(unit);
    FAILS(sti_check_source("\n#line 30 \"other.k.h\"\nint a;\n#line 5 \"own.k.h\"", "own.k.h", &options, &unit),
          STET_ERROR_PARSE, "other.k.h:30:1: outside");
    sti_unit_destroy(unit);
    sti_unit_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_in_syntax),      cmocka_unit_test(mistakes_in_directives),
        cmocka_unit_test(deep_nesting_is_refused), cmocka_unit_test(macros_without_end_are_refused),
        cmocka_unit_test(many_mistakes),           cmocka_unit_test(configurations),
        cmocka_unit_test(the_message_of_a_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
