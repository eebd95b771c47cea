/*
 * Kernels and their disk cache together (mechanism kernel_cache): cold and warm, what is in the key, damage, refusals,
 * a full disk, processes that start at once, the switch, strict and audit.
 */
#include "kernel/user_rig.h"

#include "kernel/compile/cache.h"
#include "kernel/compile/compile_cpu.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

/* ---- what a test does with a kernel ------------------------------------------------------------------------------ */

/* Makes the kernel, sees that it works, destroys it; its id goes to id if that is not NULL. */
static void use(stet_device *d, const stet_kernel_def *def, float want, char id[STI_ID_SIZE])
{
    stet_kernel *k = make_kernel(d, def);
    assert_true(add_once(d, k) == want);
    if (id) (void)snprintf(id, STI_ID_SIZE, "%s", sti_user_kernel_id(k));
    stet_kernel_destroy(k);
}

/* The path of the only entry. */
static char *only_entry(void)
{
    DIR *dir = opendir(in_folder("cache"));
    char name[64] = "", path[128];
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (strstr(e->d_name, ".kernel")) (void)snprintf(name, sizeof name, "%.63s", e->d_name);
    closedir(dir);
    assert_int_equal(strlen(name), 32 + strlen(".kernel"));
    (void)snprintf(path, sizeof path, "cache/%s", name);
    return in_folder(path);
}

/* The bytes of a file; free them. */
static char *content(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = calloc(1, 1 << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 20, f);
    assert_true(*size < 1 << 20);
    assert_int_equal(fclose(f), 0);
    return bytes;
}

static void put_content(const char *path, const char *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void set_options(stet_device *d, bool disabled, bool strict, bool audit)
{
    stet_mechanism_options o = {
        .disabled = disabled ? 1u << STET_MECHANISM_KERNEL_CACHE : 0, .strict = strict, .audit = audit};
    OK(stet_device_set_mechanisms(d, &o));
}

static void clear_counters(stet_device *d) { stet_device_clear_counters(d); }

/* Since the counters were cleared: so many hits, and misses, all of one reason. */
static void counted(const stet_device *d, int hits, int misses, stet_reason why)
{
    stet_counter c = cache_counter(d);
    assert_int_equal(c.hits, hits);
    assert_int_equal(c.misses, misses);
    if (why != STET_REASON_NONE) assert_int_equal(reason_count(d, why), misses);
}

/* ---- cold and warm ----------------------------------------------------------------------------------------------- */

static void the_second_start_compiles_nothing(void **state)
{
    FOR_ISAS(isa)
    {
        stet_device *d = open_device(isa, 1);
        stet_kernel_def def = kernel_def(adder(5));
        char cold[STI_ID_SIZE], warm[STI_ID_SIZE];
        use(d, &def, 5, cold);
        counted(d, 0, 1, STET_REASON_KERNEL_CACHE_ABSENT);
        int64_t size = cache_counter(d).done_bytes;
        assert_true(size > 1000);
        stet_device_destroy(d);
        d = open_device(isa, 1);
        use(d, &def, 5, warm);
        counted(d, 1, 0, STET_REASON_NONE);
        assert_int_equal(cache_counter(d).saved_bytes, size);
        assert_int_equal(cache_counter(d).done_bytes, 0);
        assert_int_equal(cache_counter(d).fallbacks, 0);
        assert_string_equal(cold, warm);
        stet_device_destroy(d);
    }
}

static void held_bytes_are_those_of_loaded_kernels(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel *a = kernel_from(d, adder(1)), *b = kernel_from(d, adder(1));
    assert_int_equal(cache_counter(d).held_bytes, 2 * cache_counter(d).done_bytes);
    stet_kernel_destroy(a);
    stet_kernel_destroy(b);
    assert_int_equal(cache_counter(d).held_bytes, 0);
    stet_device_destroy(d);
}

static void switched_off_everything_is_compiled(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(adder(5));
    char on[STI_ID_SIZE], off[STI_ID_SIZE];
    set_options(d, true, false, false);
    use(d, &def, 5, off);
    use(d, &def, 5, off);
    counted(d, 0, 2, STET_REASON_KERNEL_CACHE_DISABLED);
    assert_int_equal(count_files(in_folder("cache")), -1); /* not even made */
    set_options(d, false, false, false);
    use(d, &def, 5, on);
    assert_string_equal(on, off);
    stet_device_destroy(d);
}

static void an_audit_compiles_again_and_compares(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(adder(5)), other = kernel_def(adder(6));
    set_options(d, false, false, true);
    use(d, &def, 5, NULL);
    use(d, &def, 5, NULL); /* the same bytes again */
    counted(d, 1, 1, STET_REASON_KERNEL_CACHE_ABSENT);
    /* An intact entry with another kernel's code: only the audit can see that. */
    size_t size;
    sti_entry right, wrong;
    char *path = only_entry(), *bytes = content(path, &size);
    assert_int_equal(sti_entry_read(bytes, size, NULL, &right), STI_FOUND);
    assert_int_equal(unlink(path), 0);
    use(d, &other, 6, NULL);
    size_t other_size;
    char *other_bytes = content(only_entry(), &other_size);
    assert_int_equal(sti_entry_read(other_bytes, other_size, NULL, &wrong), STI_FOUND);
    sti_cache c;
    sti_cache_key key = sti_cache_key_of(right.key, right.key_size);
    OK(sti_cache_open(def.cache_folder, 0, false, &c));
    OK(sti_cache_store(&c, &key, wrong.object, wrong.object_size));
    sti_cache_close(&c);
    stet_kernel *k;
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_AUDIT,
          "kernel_cache: kernel: compiled again, the kernel is not what entry");
    assert_non_null(strstr(stet_get_last_error(), key.id));
    free(bytes);
    free(other_bytes);
    stet_device_destroy(d);
}

/* ---- the key ----------------------------------------------------------------------------------------------------- */

static void kf36_the_key_has_what_makes_the_code_and_nothing_else(void **state)
{
    char first[STI_ID_SIZE], id[STI_ID_SIZE];
    stet_kernel_def def = kernel_def(NULL);
    (void)write_file("n.k.h", "#define N 5\n");
    static const char text[] =
        "#include <stet/lang.h>\n#include \"n.k.h\"\n"
        "world_kernel void k_add(real *y, int n)\n{\n    each (i, n) put(y, i, y[i] + splat(N));\n}\n";
    def.path = write_file("a.k.h", text);
    stet_device *d = open_device(STI_ISA_portable, 1), *other = open_device(STI_ISA_portable, 2);
    use(d, &def, 5, first);

    /*
     * No part of the code: threads, strict, where the files lie, what they are called, the size of the cache, folders
     * unused.
     */
    set_options(d, false, true, false);
    use(d, &def, 5, id);
    assert_string_equal(id, first);
    use(other, &def, 5, id);
    assert_string_equal(id, first);
    stet_kernel_def moved = def;
    assert_int_equal(mkdir(in_folder("moved"), 0700), 0);
    (void)write_file("moved/n.k.h", "#define N 5\n");
    moved.path = write_file("moved/b.k.h", text);
    moved.name = "k_add";
    moved.cache_limit = 1 << 20;
    moved.includes = (const char *const[]){"/no/such/folder"};
    moved.ninclude = 1;
    use(d, &moved, 5, id);
    assert_string_equal(id, first);
    assert_int_equal(cache_counter(d).misses, 1);
    assert_int_equal(cache_counter(other).hits, 1);

    /* A part of it: the instruction set, the compiler, each character, what is included. */
    stet_device *w1 = open_device(STI_ISA_f64, 1);
    stet_kernel *k = make_kernel(w1, &def);
    assert_string_not_equal(sti_user_kernel_id(k), first);
    stet_kernel_destroy(k);
    stet_device_destroy(w1);
    stet_kernel_def by = def;
    by.compiler = write_file("mycc", "#!/bin/sh\nexec cc \"$@\"\n"); /* the same version, but elsewhere */
    assert_int_equal(chmod(by.compiler, 0755), 0);
    use(d, &by, 5, id);
    assert_string_not_equal(id, first);
    char spaced[512];
    (void)snprintf(spaced, sizeof spaced, "%s ", text);
    def.path = write_file("c.k.h", spaced);
    use(d, &def, 5, id);
    assert_string_not_equal(id, first);
    def.path = in_folder("a.k.h");
    (void)write_file("n.k.h", "#define N 6\n");
    use(d, &def, 6, id);
    assert_string_not_equal(id, first);
    (void)write_file("n.k.h", "#define N 5\n");
    use(d, &def, 5, id);
    assert_string_equal(id, first);
    stet_device_destroy(d);
    stet_device_destroy(other);
}

/* A compiler that calls itself something else after an upgrade, in the same place. */
static void an_upgraded_compiler_compiles_again(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(adder(5));
    def.compiler = write_file("upcc", "#!/bin/sh\n[ \"$1\" != --version ] || exec echo upcc 1\nexec cc \"$@\"\n");
    assert_int_equal(chmod(def.compiler, 0755), 0);
    use(d, &def, 5, NULL);
    use(d, &def, 5, NULL);
    counted(d, 1, 1, STET_REASON_KERNEL_CACHE_ABSENT);
    (void)write_file("upcc", "#!/bin/sh\n[ \"$1\" != --version ] || exec echo upcc 2\nexec cc \"$@\"\n");
    use(d, &def, 5, NULL);
    counted(d, 1, 2, STET_REASON_KERNEL_CACHE_ABSENT);
    stet_device_destroy(d);
}

/* Nobody has to delete his cache after an upgrade of stet: the version is in the key. */
static void kf33_an_upgrade_of_stet(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(adder(5));
    use(d, &def, 5, NULL);
    size_t size;
    sti_entry e;
    char *bytes = content(only_entry(), &size), version[64];
    assert_int_equal(sti_entry_read(bytes, size, NULL, &e), STI_FOUND);
    int n = snprintf(version, sizeof version, "stet %d.%d.%d\ncall 1\nisa portable\nflags -", STET_VERSION_MAJOR,
                     STET_VERSION_MINOR, STET_VERSION_PATCH);
    assert_memory_equal(e.key, version, (size_t)n);
    /* The entry of an older stet, broken in a way that no checksum sees, has another id and is not looked at. */
    char *old = malloc(e.key_size);
    assert_non_null(old);
    memcpy(old, e.key, e.key_size);
    old[strlen("stet ")] = '9';
    sti_cache_key key = sti_cache_key_of(old, e.key_size);
    sti_cache c;
    OK(sti_cache_open(def.cache_folder, 0, false, &c));
    OK(sti_cache_store(&c, &key, "no code", 7));
    sti_cache_close(&c);
    clear_counters(d);
    use(d, &def, 5, NULL);
    counted(d, 1, 0, STET_REASON_NONE);
    assert_int_equal(count_files(in_folder("cache")), 2);
    free(old);
    free(bytes);
    stet_device_destroy(d);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

/* Spoils the only entry, and sees that it is rebuilt for this reason, and stands after that. */
static void rebuilt(stet_device *d, const stet_kernel_def *def, const char *bytes, size_t size, stet_reason why)
{
    put_content(only_entry(), bytes, size);
    clear_counters(d);
    use(d, def, 5, NULL);
    counted(d, 0, 1, why);
    clear_counters(d);
    use(d, def, 5, NULL);
    counted(d, 1, 0, STET_REASON_NONE);
}

static void kf35_a_spoilt_entry_is_rebuilt(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(adder(5));
    size_t size;
    use(d, &def, 5, NULL);
    char *bytes = content(only_entry(), &size);
    static const size_t lengths[] = {0, 1, 12, 63, 64, 65, 500};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i)
        rebuilt(d, &def, bytes, lengths[i], STET_REASON_KERNEL_CACHE_DAMAGED);
    rebuilt(d, &def, bytes, size - 1, STET_REASON_KERNEL_CACHE_DAMAGED);
    bytes[size / 2] = (char)~bytes[size / 2];
    rebuilt(d, &def, bytes, size, STET_REASON_KERNEL_CACHE_DAMAGED);
    bytes[size / 2] = (char)~bytes[size / 2];
    bytes[8] = 0; /* the schema of long ago */
    rebuilt(d, &def, bytes, size, STET_REASON_KERNEL_CACHE_SCHEMA);
    bytes[8] = 1;
    /* An intact entry with this id and the content of another key. */
    sti_text_buffer head = {0};
    sti_cache_key other = sti_cache_key_of("another", 7);
    sti_entry_write_head(&head, &other, "no code", 8);
    sti_text_buffer_add(&head, "no code", 8);
    rebuilt(d, &def, head.data, head.size, STET_REASON_KERNEL_CACHE_COLLISION);
    sti_text_buffer_free(&head);
    /* Others could have written it. */
    assert_int_equal(chmod(only_entry(), 0622), 0);
    clear_counters(d);
    use(d, &def, 5, NULL);
    counted(d, 0, 1, STET_REASON_KERNEL_CACHE_FOREIGN);
    if (geteuid() == 0) { /* somebody else did */
        assert_int_equal(chown(only_entry(), 65534, 65534), 0);
        clear_counters(d);
        use(d, &def, 5, NULL);
        counted(d, 0, 1, STET_REASON_KERNEL_CACHE_FOREIGN);
        clear_counters(d);
        use(d, &def, 5, NULL);
        counted(d, 1, 0, STET_REASON_NONE);
    }
    free(bytes);
    stet_device_destroy(d);
}

/* ---- folders and disks ------------------------------------------------------------------------------------------- */

/* The kernel works without the cache; strict mode does not let that pass. */
static void falls_back(const stet_kernel_def *def, stet_reason why, const char *says)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    use(d, def, 5, NULL);
    use(d, def, 5, NULL);
    assert_int_equal(cache_counter(d).fallbacks, 2);
    assert_int_equal(cache_counter(d).hits, 0);
    assert_int_equal(reason_count(d, why), 2);
    set_options(d, false, true, false);
    stet_kernel *k;
    FAILS(stet_kernel_create(d, def, &k), STET_ERROR_STRICT, says);
    assert_null(k);
    stet_device_destroy(d);
}

static void a_folder_that_is_refused(void **state)
{
    stet_kernel_def def = kernel_def(adder(5));
    assert_int_equal(mkdir(def.cache_folder, 0700), 0);
    assert_int_equal(chmod(def.cache_folder, 0777), 0);
    falls_back(&def, STET_REASON_KERNEL_CACHE_REFUSED, "the folder belongs to somebody else or others can write to it");
    assert_int_equal(count_files(def.cache_folder), 0);
    if (geteuid() == 0) {
        assert_int_equal(chmod(def.cache_folder, 0700), 0);
        assert_int_equal(chown(def.cache_folder, 65534, 65534), 0);
        falls_back(&def, STET_REASON_KERNEL_CACHE_REFUSED, "the cache's folder is not the user's alone");
        assert_int_equal(count_files(def.cache_folder), 0);
    }
    def.cache_folder = write_file("occupied", "a file\n");
    falls_back(&def, STET_REASON_KERNEL_CACHE_REFUSED, "occupied: cannot be opened");
}

static void an_entry_too_large_is_not_kept(void **state)
{
    stet_kernel_def def = kernel_def(adder(5));
    def.cache_limit = 1000;
    falls_back(&def, STET_REASON_KERNEL_CACHE_NOT_KEPT, "larger than the whole cache may be (1000)");
    assert_int_equal(count_files(def.cache_folder), 0);
}

static void a_full_disk(void **state)
{
    stet_kernel_def def = kernel_def(adder(5));
    assert_int_equal(mkdir(def.cache_folder, 0700), 0);
    if (mount("stet", def.cache_folder, "tmpfs", 0, "size=8k,mode=700") != 0) skip(); /* only root may */
    falls_back(&def, STET_REASON_KERNEL_CACHE_NOT_KEPT, "an entry could not be written: No space left on device");
    int left = count_files(def.cache_folder);
    assert_int_equal(umount(def.cache_folder), 0);
    assert_int_equal(left, 0);
}

/* ---- several processes ------------------------------------------------------------------------------------------- */

static stet_kernel_def slow_def(void)
{
    stet_kernel_def def = kernel_def(adder(5));
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "#!/bin/sh\n[ \"$1\" != --version ] || exec cc --version\necho x >>'%s'\nsleep 0.3\nexec cc \"$@\"\n",
        in_folder("compiled"));
    def.compiler = write_file("slowcc", text);
    assert_int_equal(chmod(def.compiler, 0755), 0);
    (void)write_file("compiled", "");
    return def;
}

/* How often the slow compiler compiled. */
static int compilations(void)
{
    struct stat status;
    assert_int_equal(stat(in_folder("compiled"), &status), 0);
    return (int)status.st_size / 2;
}

/* In a process of its own: 1 if it hit, 2 if it compiled, 0 if anything is wrong. */
static int make_in_child(const stet_kernel_def *def)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    use(d, def, 5, NULL);
    stet_counter c = cache_counter(d);
    stet_device_destroy(d);
    return c.hits == 1 && c.misses == 0 ? 1 : c.hits == 0 && c.misses == 1 ? 2 : 0;
}

static void kf34_eight_processes_compile_once(void **state)
{
    stet_kernel_def def = slow_def();
    pid_t pids[8];
    int hits = 0, compiled = 0;
    for (int i = 0; i < 8; ++i) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) _exit(make_in_child(&def));
    }
    for (int i = 0; i < 8; ++i) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        hits += WEXITSTATUS(status) == 1;
        compiled += WEXITSTATUS(status) == 2;
    }
    assert_int_equal(compiled, 1);
    assert_int_equal(hits, 7);
    assert_int_equal(compilations(), 1);
    assert_int_equal(count_files(def.cache_folder), 1);
}

/* Killed while it compiles, with the lock in its hand: the next one does it again. */
static void killed_while_compiling(void **state)
{
    stet_kernel_def def = slow_def();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(make_in_child(&def));
    while (compilations() == 0) (void)usleep(1000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(count_files(def.cache_folder), 1); /* its lock's file */
    stet_device *d = open_device(STI_ISA_portable, 1);
    use(d, &def, 5, NULL);
    counted(d, 0, 1, STET_REASON_KERNEL_CACHE_ABSENT);
    assert_int_equal(compilations(), 2);
    assert_int_equal(count_files(def.cache_folder), 1); /* the entry */
    stet_device_destroy(d);
    /* What the killed one's compiler had to work in stays; it may still be writing there. */
    (void)usleep(700000);
    char command[600];
    (void)snprintf(command, sizeof command, "rm -rf '%s'/*", in_folder("work"));
    shell(command);
}

/* ---- compilers --------------------------------------------------------------------------------------------------- */

/* What the environment says of a compiler, for as long as a test wants. */
static char *path_before;
static void set_path(const char *path)
{
    if (!path_before) path_before = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    assert_int_equal(setenv("PATH", path ? path : path_before, 1), 0);
}

static void a_warm_cache_needs_no_compiler(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(adder(7)), other = kernel_def(adder(8)), named = def;
    char first[STI_ID_SIZE], second[STI_ID_SIZE];
    stet_kernel *k;
    use(d, &def, 7, first);
    set_path(in_folder("nothing"));
    use(d, &def, 7, second);
    assert_string_equal(first, second);
    assert_int_equal(cache_counter(d).hits, 1);
    FAILS(stet_kernel_create(d, &other, &k), STET_ERROR_NOT_FOUND, "there is no compiler 'cc' to be found");
    FAILS(stet_kernel_create(d, &other, &k), STET_ERROR_NOT_FOUND, "environment variable CC");
    named.compiler = "no-such-compiler"; /* whoever names one means it */
    FAILS(stet_kernel_create(d, &named, &k), STET_ERROR_NOT_FOUND, "no-such-compiler");
    set_options(d, true, false, false);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND, "there is no compiler");
    set_options(d, false, false, true); /* an audit compiles again */
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND, "it is in the cache, but there is no compiler");
    set_path(NULL);
    stet_device_destroy(d);

    d = open_device(STI_ISA_w1, 1); /* another instruction set is another kernel */
    set_path(in_folder("nothing"));
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND, "there is no compiler");
    set_path(NULL);
    stet_device_destroy(d);
}

static void the_environment_names_the_compiler(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(adder(9)), more = kernel_def(adder(10));
    char text[1100], cc[600];
    stet_kernel *k;
    (void)snprintf(text, sizeof text, "#!/bin/sh\necho \"$1\" >> '%s'\nexec cc \"$@\"\n", in_folder("called"));
    const char *mine = write_file("mine", text);
    assert_int_equal(chmod(mine, 0700), 0);
    (void)snprintf(cc, sizeof cc, "%s  -pipe", mine);
    assert_int_equal(setenv("CC", cc, 1), 0);
    use(d, &def, 9, NULL);
    size_t size;
    char *called = content(in_folder("called"), &size);
    assert_string_equal(called, "-pipe\n-pipe\n"); /* its version, and the kernel */
    free(called);
    assert_int_equal(setenv("CC", "no-such-cc", 1), 0);
    use(d, &def, 9, NULL); /* from the cache */
    FAILS(stet_kernel_create(d, &more, &k), STET_ERROR_NOT_FOUND, "there is no compiler 'no-such-cc'");
    more.compiler = "cc"; /* what the def names comes first */
    use(d, &more, 10, NULL);
    assert_int_equal(setenv("CC", "cc 1 2 3 4 5 6 7 8 9", 1), 0);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_LIMIT, "CC has more than 9 words");
    assert_int_equal(unsetenv("CC"), 0);
    assert_int_equal(unlink(in_folder("called")), 0);
    stet_device_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_warm_cache_needs_no_compiler),
        TEST(the_environment_names_the_compiler),
        TEST(the_second_start_compiles_nothing),
        TEST(held_bytes_are_those_of_loaded_kernels),
        TEST(switched_off_everything_is_compiled),
        TEST(an_audit_compiles_again_and_compares),
        TEST(kf36_the_key_has_what_makes_the_code_and_nothing_else),
        TEST(an_upgraded_compiler_compiles_again),
        TEST(kf33_an_upgrade_of_stet),
        TEST(kf35_a_spoilt_entry_is_rebuilt),
        TEST(a_folder_that_is_refused),
        TEST(an_entry_too_large_is_not_kept),
        TEST(a_full_disk),
        TEST(kf34_eight_processes_compile_once),
        TEST(killed_while_compiling),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
