/*
 * The generator of the build: the C that it writes, and what it says and leaves when it fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/folder.h"

static void write_input(const char *text, size_t before)
{
    FILE *f = fopen(in_folder("in.k.h"), "w");
    assert_non_null(f);
    for (size_t i = 0; i < before; ++i) assert_true(fputs("/* nothing */\n", f) >= 0);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* The content of a file; free it. NULL: there is none. */
static char *content(const char *name)
{
    FILE *f = fopen(in_folder(name), "r");
    if (!f) return NULL;
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    assert_true(n < (1 << 20) - 1);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Runs kernelgen with these arguments; the exit status. What it says goes to the file "said". */
static int kernelgen(const char *arguments)
{
    char command[2048];
    (void)snprintf(command, sizeof command, "'%s/kernelgen' %s 2>'%s'", STET_TEST_BINARY_DIR, arguments,
                   in_folder("said"));
    (void)remove(in_folder("out.c"));
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int generate(void)
{
    char arguments[1024];
    (void)snprintf(arguments, sizeof arguments, "'%s' src/x/in.k.h '%s'", in_folder("in.k.h"), in_folder("out.c"));
    return kernelgen(arguments);
}

static void says(const char *part)
{
    char *said = content("said");
    assert_non_null(said);
    if (!strstr(said, part)) fail_msg("it says '%s', not '%s'", said, part);
    free(said);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
}

static void a_kernel_becomes_a_call_and_a_description(void **state)
{
    write_input("world_kernel void k_a(const real *x, int world, lint *n, const int *t, ureal h, i64 m)\n{\n}\n"
                "item_kernel void k_b(const wreal *x, u8 *to, int n, int block)\n{\n}\n",
                0);
    assert_int_equal(generate(), 0);
    char *c = content("out.c");
    assert_non_null(c);
    has(c, "/* Made by kernelgen from src/x/in.k.h. */\n#ifdef STI_ISA\n");
    has(c, "#include \"src/x/in.k.h\"");
    has(c,
        "k_a((real *)sti_s[0].p + sti_k * sti_s[0].n, (int)(sti_k * STET_W), (lint *)sti_s[1].p + sti_k * sti_s[1].n, "
        "(int *)sti_s[2].p, (ureal)sti_s[3].f, (i64)sti_s[4].i);");
    has(c, "k_b((wreal *)sti_s[0].p, (u8 *)sti_s[1].p, (int)sti_s[2].i, (int)sti_k);");
    has(c, "{\"x\", STI_PARAM_REAL, 1, 0, 0},\n    {\"world\", STI_PARAM_INT, 0, 0, 1},\n    {\"n\", STI_PARAM_LINT, "
           "1, 1, 0},\n");
    has(c, "\"k_a\", STI_KERNEL_WORLD, 6, params_k_a, STI_FILE, 1,");
    has(c, "\"k_b\", STI_KERNEL_ITEM, 4, params_k_b, STI_FILE, 4,");
    free(c);
}

static void a_file_without_kernels_is_fine(void **state)
{
    write_input("LFN int f(void) { return 1; }\n", 0);
    assert_int_equal(generate(), 0);
    char *c = content("out.c");
    assert_non_null(c);
    assert_null(strstr(c, "sti_k_"));
    free(c);
}

static void a_large_file_is_read_whole(void **state)
{
    write_input("world_kernel void k_last(int *a)\n{\n}\n", 20000); /* 280 kB before it */
    assert_int_equal(generate(), 0);
    char *c = content("out.c");
    assert_non_null(c);
    has(c, "\"k_last\", STI_KERNEL_WORLD, 1, params_k_last, STI_FILE, 20001,");
    free(c);
}

static void a_mistake_is_named_by_file_and_line(void **state)
{
    write_input("world_kernel void k_good(int *a)\n{\n}\n\nworld_kernel void k_bad(double *a)\n{\n}\n", 0);
    assert_int_equal(generate(), 1);
    says("src/x/in.k.h:5: kernel k_bad: 'double' is not a type of a parameter");
    assert_null(content("out.c")); /* nothing half-made */
}

static void bad_arguments(void **state)
{
    char arguments[1024];
    assert_int_equal(kernelgen(""), 2);
    says("usage: kernelgen INPUT.k.h NAME OUTPUT.c [TABLE]");
    assert_int_equal(kernelgen("one two three four five"), 2);
    (void)snprintf(arguments, sizeof arguments, "'%s' name '%s'", in_folder("absent.k.h"), in_folder("out.c"));
    assert_int_equal(kernelgen(arguments), 1);
    says("kernelgen: cannot open");
    says("absent.k.h");
    assert_null(content("out.c"));
    write_input("", 0);
    (void)snprintf(arguments, sizeof arguments, "'%s' name '%s'", in_folder("in.k.h"),
                   in_folder("no/such/folder/out.c"));
    assert_int_equal(kernelgen(arguments), 1);
    says("no/such/folder/out.c");
}

/* What the generator lists is what the library can call. */
static void every_instruction_set_is_listed(void **state)
{
    write_input("world_kernel void k_a(int *a)\n{\n}\n", 0);
    assert_int_equal(generate(), 0);
    char *c = content("out.c");
    assert_non_null(c);
    has(c, "void STI_ISA_NAME(sti_k_a)(const sti_slot *sti_s, int64_t sti_begin, int64_t sti_end)\n{");
    has(c, "#define X(isa, width, test_only) STI_UNLESS_LEFT_OUT(isa, STI_UNIT, sti_k_a__##isa),\n        STI_ISAS(X)");
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_becomes_a_call_and_a_description),
        cmocka_unit_test(a_file_without_kernels_is_fine),
        cmocka_unit_test(a_large_file_is_read_whole),
        cmocka_unit_test(a_mistake_is_named_by_file_and_line),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(every_instruction_set_is_listed),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
