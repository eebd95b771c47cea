/*
 * The reader of signatures: what it finds in good text, past comments and directives, and the sentence for each
 * mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/signature.h"

/* The only kernel of a text. */
static sti_signature one(const char *text)
{
    sti_signature sig, more;
    size_t cursor = 0;
    char message[512] = "";
    if (sti_signature_next(text, &cursor, &sig, message, sizeof message) != 1) fail_msg("'%s': %s", text, message);
    assert_int_equal(sti_signature_next(text, &cursor, &more, message, sizeof message), 0);
    return sig;
}

/* A text is refused with this sentence, at this line. */
static void refused(const char *text, int line, const char *sentence)
{
    sti_signature sig;
    size_t cursor = 0;
    char message[512] = "";
    assert_int_equal(sti_signature_next(text, &cursor, &sig, message, sizeof message), -1);
    assert_string_equal(message, sentence);
    assert_int_equal(sig.line, line);
}

static void expect_param(const sti_param *p, const char *name, sti_param_type type, bool pointer, bool written,
                         bool index)
{
    assert_string_equal(p->name, name);
    assert_int_equal(p->type, type);
    assert_int_equal(p->pointer, pointer);
    assert_int_equal(p->written, written);
    assert_int_equal(p->index, index);
}

static void a_world_kernel(void **state)
{
    sti_signature sig = one(
        "world_kernel void k_a(const real *x, lint *n, const int *table, ureal h, int m, i64 big, int world)\n{\n}");
    assert_string_equal(sig.name, "k_a");
    assert_int_equal(sig.kind, STI_KERNEL_WORLD);
    assert_int_equal(sig.line, 1);
    assert_int_equal(sig.nparam, 7);
    expect_param(&sig.param[0], "x", STI_PARAM_REAL, true, false, false);
    expect_param(&sig.param[1], "n", STI_PARAM_LINT, true, true, false);
    expect_param(&sig.param[2], "table", STI_PARAM_INT, true, false, false);
    expect_param(&sig.param[3], "h", STI_PARAM_UREAL, false, false, false);
    expect_param(&sig.param[4], "m", STI_PARAM_INT, false, false, false);
    expect_param(&sig.param[5], "big", STI_PARAM_I64, false, false, false);
    expect_param(&sig.param[6], "world", STI_PARAM_INT, false, false, true);
}

static void an_item_kernel(void **state)
{
    sti_signature sig = one(
        "item_kernel void k_b(const wreal *x, wint*n, u8 *a, u16 * b, const u32 *c, i64\n*d, int world, int block)");
    assert_int_equal(sig.kind, STI_KERNEL_ITEM);
    assert_int_equal(sig.nparam, 8);
    expect_param(&sig.param[0], "x", STI_PARAM_WREAL, true, false, false);
    expect_param(&sig.param[1], "n", STI_PARAM_WINT, true, true, false);
    expect_param(&sig.param[2], "a", STI_PARAM_U8, true, true, false);
    expect_param(&sig.param[3], "b", STI_PARAM_U16, true, true, false);
    expect_param(&sig.param[4], "c", STI_PARAM_U32, true, false, false);
    expect_param(&sig.param[5], "d", STI_PARAM_I64, true, true, false);
    expect_param(&sig.param[6], "world", STI_PARAM_INT, false, false, false); /* just a name, in this kind */
    expect_param(&sig.param[7], "block", STI_PARAM_INT, false, false, true);
    sig = one(
        "world_kernel void k_c(const int *world, int block)"); /* neither is the index: a pointer, the other kind's */
    assert_false(sig.param[0].index || sig.param[1].index);
}

static void types_have_names(void **state)
{
    static const char *const names[] = {"real",  "lint", "wreal", "wint", "treal", "tlint", "tint",
                                        "ureal", "int",  "i64",   "u32",  "u16",   "u8"};
    assert_int_equal(sizeof names / sizeof *names, STI_PARAM_TYPE_COUNT);
    for (int t = 0; t < STI_PARAM_TYPE_COUNT; ++t) {
        assert_string_equal(sti_param_type_name((sti_param_type)t), names[t]);
        assert_int_equal(sti_param_type_worlds((sti_param_type)t), t <= STI_PARAM_WINT);
        assert_int_equal(sti_param_type_team((sti_param_type)t), names[t][0] == 't');
    }
}

static void kernels_are_found_where_they_are(void **state)
{
    static const char text[] = "/* world_kernel void k_no(int *a) */\n"
                               "// item_kernel void k_no(int *a)\n"
                               "#define world_kernel static inline\n"
                               "#define TWO_LINES \\\n"
                               "    item_kernel void k_no(int *a)\n"
                               "my_world_kernel world_kernels\n"
                               "LFN void helper(const real *a) { a = b / c; }\n"
                               "world_kernel /* of the kind */ void // really\n"
                               "k_first /* one */ ( /* of */ const /* a */ int /* plain */ * /* array */ a )\n"
                               "{ each (i, 3) put(a, i, 0); }\n"
                               "item_kernel void k_second(u8 *a) {}\n";
    sti_signature sig;
    size_t cursor = 0;
    char message[512];
    assert_int_equal(sti_signature_next(text, &cursor, &sig, message, sizeof message), 1);
    assert_string_equal(sig.name, "k_first");
    assert_int_equal(sig.line, 9);
    assert_int_equal(sig.nparam, 1);
    expect_param(&sig.param[0], "a", STI_PARAM_INT, true, false, false);
    assert_int_equal(sti_signature_next(text, &cursor, &sig, message, sizeof message), 1);
    assert_string_equal(sig.name, "k_second");
    assert_int_equal(sig.line, 11);
    assert_int_equal(sti_signature_next(text, &cursor, &sig, message, sizeof message), 0);
    assert_int_equal(cursor, sizeof text - 1);
    assert_int_equal(sti_signature_next(text, &cursor, &sig, message, sizeof message), 0); /* and stays there */
}

static void texts_without_kernels(void **state)
{
    static const char *const none[] = {"",
                                       " \n\t",
                                       "int a;",
                                       "/* never closed world_kernel void k(int *a)",
                                       "// world_kernel",
                                       "#",
                                       "#define X \\",
                                       "/",
                                       "k_a(const real *x)"};
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i) {
        sti_signature sig;
        size_t cursor = 0;
        char message[512];
        assert_int_equal(sti_signature_next(none[i], &cursor, &sig, message, sizeof message), 0);
        assert_int_equal(cursor, strlen(none[i]));
    }
}

static void every_mistake_has_its_sentence(void **state)
{
    refused("\nworld_kernel int k_a(int *a)", 2, "a kernel returns void, not 'int'");
    refused("world_kernel", 1, "a kernel returns void, not ''");
    refused("item_kernel void (int *a)", 1, "a kernel without a name");
    refused("item_kernel void\n\nk_a", 3, "kernel k_a: '(' expected after the name");
    refused("item_kernel void k_a[int *a]", 1, "kernel k_a: '(' expected after the name");
    refused("world_kernel void k_a()", 1,
            "kernel k_a: '' is not a type of a parameter (real, lint, wreal, wint, treal, tlint, tint, ureal, int, "
            "i64, u32, u16, u8)");
    refused("world_kernel void k_a(const float *x)", 1,
            "kernel k_a: 'float' is not a type of a parameter (real, lint, wreal, wint, treal, tlint, tint, ureal, "
            "int, i64, u32, u16, u8)");
    refused("world_kernel void k_a(int const *x)", 1, "kernel k_a: ',' or ')' expected after parameter const");
    refused("world_kernel void k_a(real *)", 1, "kernel k_a: parameter 1 has no name");
    refused("world_kernel void k_a(real *a, int **b)", 1, "kernel k_a: parameter 2 has no name");
    refused("world_kernel void k_a(real *a, )", 1,
            "kernel k_a: '' is not a type of a parameter (real, lint, wreal, wint, treal, tlint, tint, ureal, int, "
            "i64, u32, u16, u8)");
    refused("world_kernel void k_a(real *a; int n)", 1, "kernel k_a: ',' or ')' expected after parameter a");
    refused("world_kernel void k_a(real *a[3])", 1, "kernel k_a: ',' or ')' expected after parameter a");
    refused("world_kernel void k_a(real *a", 1, "kernel k_a: ',' or ')' expected after parameter a");
}

static void as_many_parameters_as_there_is_room_for(void **state)
{
    char text[4096], sentence[128];
    for (int n = STI_MAX_PARAMS; n <= STI_MAX_PARAMS + 1; ++n) {
        size_t at = (size_t)snprintf(text, sizeof text, "world_kernel void k_many(");
        for (int i = 0; i < n; ++i) at += (size_t)snprintf(text + at, sizeof text - at, "%sint a%d", i ? ", " : "", i);
        (void)snprintf(text + at, sizeof text - at, ")");
        if (n == STI_MAX_PARAMS) {
            assert_int_equal(one(text).nparam, STI_MAX_PARAMS);
        } else {
            (void)snprintf(sentence, sizeof sentence, "kernel k_many has more than %d parameters", STI_MAX_PARAMS);
            refused(text, 1, sentence);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_kernel),
        cmocka_unit_test(an_item_kernel),
        cmocka_unit_test(types_have_names),
        cmocka_unit_test(kernels_are_found_where_they_are),
        cmocka_unit_test(texts_without_kernels),
        cmocka_unit_test(every_mistake_has_its_sentence),
        cmocka_unit_test(as_many_parameters_as_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
