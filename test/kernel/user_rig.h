/*
 * What the tests of user's kernels and of their disk cache share: a folder of the test's own, kernels made in it,
 * counters.
 */
#ifndef TEST_KERNEL_USER_RIG_H
#define TEST_KERNEL_USER_RIG_H

#include "base/folder.h"
#include "device/reals.h"
#include "device/rig.h"

#include "kernel/user/user.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything that a test writes lies in `folder`: `cache` (the cache's folder), `work` (the compiler's, by TMPDIR). */
static inline int make_folder(void **state)
{
    if (make_own_folder(state) != 0 || mkdir(in_folder("work"), 0700) != 0) return -1;
    return setenv("TMPDIR", in_folder("work"), 1);
}

/* Runs a shell command; it must succeed. */
static inline void shell(const char *command)
{
    if (system(command) != 0) fail_msg("'%s' failed", command);
}

/* Names in a folder, without `.` and `..`. */
static inline int count_files(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    if (!d) return -1;
    for (struct dirent *e; (e = readdir(d));) n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

/* Before each test: no cache yet. After it: no compiler left anything, and no file stayed open. */
static int open_before;
static inline int begin_test(void **state)
{
    char command[600];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", in_folder("cache"));
    open_before = count_files("/proc/self/fd");
    return system(command);
}
static inline int end_test(void **state)
{
    int left = count_files(in_folder("work")), opened = count_files("/proc/self/fd") - open_before;
    if (left || opened) print_error("%d files left by the compiler, %d files still open\n", left, opened);
    return left || opened;
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_test, end_test)

/* Writes a file in the folder; returns its path, which stays for sixteen more. */
static inline const char *write_file(const char *name, const char *text)
{
    static char kept[16][512];
    static int next;
    char *path = kept[next++ % 16];
    (void)snprintf(path, sizeof kept[0], "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    return path;
}

static inline void quick_script(const char *name, const char *compiler, const char *path)
{
    char script[5000];
    (void)snprintf(script, sizeof script,
                   "#!/bin/sh\n[ \"$*\" = --version ] && echo '%s, not optimising' && exit\n"
                   "PATH='%s'\nexec %s \"$@\" -O0 -Dalways_inline=unused\n",
                   compiler, path, compiler);
    assert_int_equal(chmod(write_file(name, script), 0700), 0);
}

/*
 * From now on `cc`, and the driver double's `c++`, do not optimise, and call the language's functions instead of
 * inlining them: the bits are the same. gcc takes half of the time of clang for a small source, clang a third of that
 * of gcc for a large one; the other is taken where that is missing.
 */
static inline void quick_compiler(bool large)
{
    static char path[4096];
    const char *found = getenv("PATH") ? getenv("PATH") : "";
    bool gcc = system("gcc --version >/dev/null 2>&1 && g++ --version >/dev/null 2>&1") == 0;
    bool clang = (large || !gcc) && system("clang --version >/dev/null 2>&1 && clang++ --version >/dev/null 2>&1") == 0;
    if (!clang && !gcc) return;
    assert_int_equal(mkdir(in_folder("bin"), 0700), 0);
    quick_script("bin/cc", clang ? "clang" : "gcc", found);
    quick_script("bin/c++", clang ? "clang++" : "g++", found);
    (void)snprintf(path, sizeof path, "%s:%s", in_folder("bin"), found);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(unsetenv("CC"), 0);                    /* it would come before PATH, and optimise */
    assert_int_equal(setenv("STET_TEST_QUICK", "1", 1), 0); /* what doubles compile is kept apart */
}

/* make_folder for tests that compile much: without optimisation. */
static inline int make_quick_folder(void **state)
{
    int result = make_folder(state);
    if (result == 0) quick_compiler(false);
    return result;
}
static inline int make_quick_folder_for_large(void **state)
{
    int result = make_folder(state);
    if (result == 0) quick_compiler(true);
    return result;
}

static inline stet_kernel_def kernel_def(const char *source)
{
    static char cache[512];
    stet_kernel_def def = stet_default_kernel_def();
    (void)snprintf(cache, sizeof cache, "%s/cache", folder);
    def.source = source;
    def.cache_folder = cache;
    return def;
}

static inline stet_kernel *make_kernel(stet_device *device, const stet_kernel_def *def)
{
    stet_kernel *kernel;
    OK(stet_kernel_create(device, def, &kernel));
    return kernel;
}

static inline stet_kernel *kernel_from(stet_device *device, const char *source)
{
    stet_kernel_def def = kernel_def(source);
    return make_kernel(device, &def);
}

static inline stet_counter cache_counter(const stet_device *device)
{
    return device->mechanisms.counters.mechanism[STET_MECHANISM_KERNEL_CACHE];
}

static inline int64_t reason_count(const stet_device *device, stet_reason reason)
{
    return device->mechanisms.counters.reason[reason];
}

/* y[i] += `add` for each of n items: a source whose number shows in the result. */
static inline const char *adder(int add)
{
    static char text[4][512];
    static int next;
    char *t = text[next++ % 4];
    (void)snprintf(t, sizeof text[0],
                   "#include <stet/lang.h>\n"
                   "world_kernel void k_add(real *y, int n)\n{\n    each (i, n) put(y, i, y[i] + splat(%d));\n}\n",
                   add);
    return t;
}

/* Launches an adder on 5 worlds of 3 zeros and returns what they all are then. */
static inline float add_once(stet_device *device, stet_kernel *kernel)
{
    stet_array *y;
    OK(STI_ARRAY(device, "y", STET_DTYPE_REAL, true, &y, 5, 3));
    stet_arg args[] = {stet_arg_array(y), stet_arg_int(3)};
    OK(stet_kernel_launch(kernel, 5, args, 2));
    double first = reals_get(y, 0, 0);
    for (int w = 0; w < 5; ++w)
        for (int i = 0; i < 3; ++i) assert_true(reals_get(y, w, i) == first);
    stet_array_destroy(y);
    return (float)first;
}

#endif
