/* What the command says while it waits for compilers, and how long it says that frames still take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/run/progress.h"

#include <string.h>

static void time_left_is_that_of_frames(void **state)
{
    char text[PROGRESS_LINE];
    progress_bar_text(1, 251, "frames", 1, text); /* 40 s of compilers before it are no frame's */
    assert_non_null(strstr(text, "1/251 frames, 250 s left"));
    progress_bar_text(1000000000, 2000000000, "frames", 1e6, text);
    assert_non_null(strstr(text, "[##################..................] 1000000000/2000000000 frames, 1000000"));
    progress_bar_text(0, 3, "frames", 5, text);
    assert_non_null(strstr(text, "0/3 frames, 0 s left"));
    progress_bar_text(0, 0, "frames", 5, text);
    assert_non_null(strstr(text, "0/0 frames"));
}

static void what_compilers_make(void **state)
{
    char text[PROGRESS_LINE];
    const double before = sti_compiling_look().seconds;
    assert_false(sti_compiling_waits());
    sti_compiling_begin("src/physics/native.k.h", 2);
    sti_compiling_begin("a/long/path/of/a/kernel/whose/name/goes/on/and/on/to/the/end/of/it.k.h", 1);
    sti_compiling_done();
    sti_compiling now = sti_compiling_look();
    assert_true(now.waits && now.done == 1 && now.total == 3 && now.since >= 0);
    progress_compiling_text(&now, text);
    assert_non_null(strstr(text, "/on/and/on/to/the/end/of/it.k.h, 1 of 3 done, 0 s"));
    sti_compiling_end();
    assert_true(sti_compiling_waits());
    sti_compiling_end();
    now = sti_compiling_look();
    assert_true(!now.waits && now.since == 0 && now.seconds >= before);
    sti_compiling_begin("src/render/render.k.h", 1); /* it counts from the beginning again */
    now = sti_compiling_look();
    assert_true(now.done == 0 && now.total == 1);
    assert_string_equal(now.what, "src/render/render.k.h");
    sti_compiling_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_left_is_that_of_frames),
        cmocka_unit_test(what_compilers_make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
