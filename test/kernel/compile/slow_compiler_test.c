/*
 * A compiler that takes long: a line in the log says which kernel it is at, once. The compiler here waits for it.
 */
#include "kernel/user_rig.h"

#include "kernel/compile/compile_cpu.h"

static char told[512];
static int lines, go = -1;

/* The compiler goes on when something is written. */
static void hear(stet_log_level level, const char *message, void *context)
{
    assert_int_equal(level, STET_LOG_WARNING);
    (void)snprintf(told, sizeof told, "%s", message);
    ++lines;
    go = open(in_folder("go"), O_RDWR); /* which waits for nobody; open until the compiler has read */
    assert_int_equal(write(go, "go\n", 3), 3);
}

/* Writes a compiler that is no compiler, and compiles with it. */
static void run(const char *script, int patience)
{
    static const char text[] =
        "#include \"stet/lang.h\"\nworld_kernel void k_wide(real *x)\n{\n    each (i, 1) put(x, i, splat(1));\n}\n";
    const sti_user_source_def def = {.text = text, .path = "wide.k.h"};
    sti_user_source source = {0};
    sti_text_buffer object = {0};
    sti_compiler c = {.path = (char *)(uintptr_t)in_folder("compiler"), .patience = patience};
    const sti_check_options options = sti_default_check_options();
    FILE *file = fopen(c.path, "w");
    assert_non_null(file);
    fputs(script, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(c.path, 0700), 0);
    OK(sti_user_source_read(&def, &source));
    OK(sti_user_source_check(&source, &options));
    lines = 0;
    stet_set_log(hear, NULL);
    assert_int_equal(sti_compile_cpu(&c, STI_ISA_portable, &source, &object), STET_ERROR_IO);
    stet_set_log(NULL, NULL);
    if (go >= 0) close(go);
    go = -1;
    assert_non_null(strstr(stet_get_last_error(), "(status 3)"));
    sti_text_buffer_free(&object);
    sti_user_source_free(&source);
}

static void a_compiler_that_takes_long_is_said_once(void **state)
{
    char script[600];
    assert_int_equal(mkfifo(in_folder("go"), 0600), 0);
    (void)snprintf(script, sizeof script, "#!/bin/sh\nread line <'%s'\nexit 3\n", in_folder("go"));
    run(script, 0);
    assert_int_equal(lines, 1);
    assert_non_null(strstr(told, "wide.k.h: the C compiler is not done with kernel k_wide yet"));
    assert_non_null(strstr(told, "this file has about 1 statement)"));
}

static void another_is_not(void **state)
{
    enum { MINUTE = 60000 };
    run("#!/bin/sh\nexit 3\n", MINUTE);
    assert_int_equal(lines, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_compiler_that_takes_long_is_said_once),
        TEST(another_is_not),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
