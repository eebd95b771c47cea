/*
 * What compilers say, made into one sentence with the files' own names.
 */
#include "kernel/user_rig.h"

#include "kernel/compile/compiler_errors.h"

static void said(const char *text, stet_result result, const char *sentence)
{
    static sti_user_source_file files[] = {{.name = "arm.k.h"}, {.name = "parts/hand.k.h"}};
    const sti_user_source source = {.file = files, .nfile = 2};
    sti_text_buffer bytes = {0};
    sti_text_buffer_put(&bytes, text);
    assert_int_equal(sti_compiler_errors_report("NVRTC 13.0 failed", &source, &bytes), result);
    assert_string_equal(stet_get_last_error(), sentence);
    sti_text_buffer_free(&bytes);
}

static void sentences(void **state)
{
    said("<0>(12): error: identifier \"speed\" is undefined\n\n  put(x, 0, speed);\n            ^\n\n1 error "
         "detected.\n",
         STET_ERROR_PARSE, "arm.k.h:12: error: identifier \"speed\" is undefined");
    said("<1>:7:5: error: no x\n    x = 1;\n    ^\n", STET_ERROR_PARSE, "parts/hand.k.h:7:5: error: no x");
    said("src/stage/stage.k.h(3): error: f(1): no\n", STET_ERROR_PARSE, "src/stage/stage.k.h:3: error: f(1): no");
    said("<0>(1): error: a\n<0>(2): error: b\n<0>(3): warning #1: w\n<1>(4): error: c\n<0>(5): error: d\n",
         STET_ERROR_PARSE, "arm.k.h:1: error: a; arm.k.h:2: error: b; parts/hand.k.h:4: error: c; and 1 more");
    said("ptxas error   : Entry function 'sti_k_a__value' uses too much shared data\n", STET_ERROR_PARSE,
         "ptxas error   : Entry function 'sti_k_a__value' uses too much shared data");
    said("out of luck\n", STET_ERROR_IO, "NVRTC 13.0 failed on arm.k.h: out of luck");
    said("", STET_ERROR_IO, "NVRTC 13.0 failed on arm.k.h: it does not say why");
    said("(): : error: ()\n): error:\n<9>:1: error: x\n", STET_ERROR_PARSE,
         "(): : error: (); ): error:; <9>:1: error: x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
