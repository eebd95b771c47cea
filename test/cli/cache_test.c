/*
 * `stet cache`: what it says of real kernels, of entries that are no good, and what it refuses. Each run is a process
 * of its own.
 */
#include "kernel/user_rig.h"

#include "kernel/compile/compiled.h"

#include <jansson.h>
#include <sys/wait.h>

typedef struct said {
    int code;
    char out[8192], err[2048];
} said;

static void read_whole(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, size - 1, f);
    assert_true(n < size - 1);
    out[n] = 0;
    assert_int_equal(fclose(f), 0);
}

/* `stet cache` with these words, and settings of its environment before it. */
static said cache_with(const char *environment, const char *words)
{
    char command[2048];
    said s = {0};
    (void)snprintf(command, sizeof command, "%s '%s' cache %s >'%s' 2>'%s'", environment, STET_TEST_COMMAND, words,
                   in_folder("out"), in_folder("err"));
    int status = system(command);
    assert_true(WIFEXITED(status));
    s.code = WEXITSTATUS(status);
    read_whole(in_folder("out"), s.out, sizeof s.out);
    read_whole(in_folder("err"), s.err, sizeof s.err);
    return s;
}

static said cache(const char *words) { return cache_with("", words); }

/* On the folder that the tests' kernels are kept in. */
static said cache_here(const char *action)
{
    char words[600];
    (void)snprintf(words, sizeof words, "%s --folder '%s'", action, in_folder("cache"));
    return cache(words);
}

static void expect(said s, const char *out)
{
    if (s.code != 0 || s.err[0] || strcmp(s.out, out) != 0)
        fail_msg("code %d\n%s\n%s\n-- wanted:\n%s", s.code, s.out, s.err, out);
}

static void refuse(said s, const char *sentence)
{
    char whole[1024];
    (void)snprintf(whole, sizeof whole, "stet cache: %s\n", sentence);
    if (s.code != 2 || s.out[0] || strcmp(s.err, whole) != 0)
        fail_msg("code %d\n%s\n%s\n-- wanted:\n%s", s.code, s.out, s.err, whole);
}

static json_t *listing(void)
{
    said s = cache_here("list --json");
    if (s.code != 0 || s.err[0]) fail_msg("code %d: %s", s.code, s.err);
    json_error_t error;
    json_t *o = json_loads(s.out, 0, &error);
    if (!o) fail_msg("%s in %s", error.text, s.out);
    return o;
}

static const char *text_of(const json_t *o, const char *name) { return json_string_value(json_object_get(o, name)); }

static const json_t *entry_of(const json_t *list, const char *id)
{
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(list, "entries"), i, o) if (strcmp(text_of(o, "id"), id) == 0) return o;
    fail_msg("no entry %s", id);
    return NULL;
}

static const char pair_source[] = "#include <stet/lang.h>\n"
                                  "world_kernel void k_one(real *y, int n) { each (i, n) put(y, i, splat(1)); }\n"
                                  "world_kernel void k_two(real *y, int n) { each (i, n) put(y, i, splat(2)); }\n";

/* Two entries, the second used last: an adder, and a pair of kernels. */
typedef struct kept {
    char adder[STI_ID_SIZE], pair[STI_ID_SIZE];
} kept;

static void keep(stet_device *d, const stet_kernel_def *def, char id[STI_ID_SIZE])
{
    stet_kernel *k = make_kernel(d, def);
    (void)snprintf(id, STI_ID_SIZE, "%s", sti_user_kernel_id(k));
    stet_kernel_destroy(k);
}

static kept keep_two(void)
{
    kept two;
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def adds = kernel_def(adder(5)), pair = kernel_def(pair_source);
    pair.name = "k_two";
    keep(d, &adds, two.adder);
    keep(d, &pair, two.pair);
    stet_device_destroy(d);
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char name[64];
    (void)snprintf(name, sizeof name, "cache/%s.kernel", two.adder);
    assert_int_equal(utimensat(AT_FDCWD, in_folder(name), long_ago, 0), 0);
    return two;
}

static char *path_of(const char *id)
{
    char name[64];
    (void)snprintf(name, sizeof name, "cache/%s.kernel", id);
    return in_folder(name);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void real_kernels_are_listed(void **state)
{
    kept two = keep_two();
    json_t *list = listing();
    const json_t *a = entry_of(list, two.adder), *b = entry_of(list, two.pair);
    struct stat status;
    assert_int_equal(json_array_size(json_object_get(list, "entries")), 2);
    assert_ptr_equal(json_array_get(json_object_get(list, "entries"), 0), a); /* the least recently used first */
    assert_string_equal(text_of(list, "folder"), in_folder("cache"));
    assert_int_equal(json_integer_value(json_object_get(list, "limit")), 256 << 20);
    assert_string_equal(text_of(a, "last_use"), "2001-09-09T01:46:40Z");
    assert_true(strcmp(text_of(b, "last_use"), "2026") > 0);
    assert_string_equal(text_of(a, "verdict"), "good");
    assert_string_equal(text_of(a, "target"), "portable");
    assert_non_null(strstr(text_of(a, "compiler"), "/cc"));
    assert_true(strlen(text_of(a, "compiler_version")) > 3 && !strchr(text_of(a, "compiler_version"), '\n'));
    assert_int_equal(stat(path_of(two.adder), &status), 0);
    assert_int_equal(json_integer_value(json_object_get(a, "bytes")), status.st_size);
    assert_int_equal(json_integer_value(json_object_get(list, "bytes")),
                     status.st_size + json_integer_value(json_object_get(b, "bytes")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(a, "kernels"), 0)), "k_add");
    assert_int_equal(json_array_size(json_object_get(a, "kernels")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(b, "kernels"), 0)), "k_one");
    assert_string_equal(json_string_value(json_array_get(json_object_get(b, "kernels"), 1)), "k_two");
    /* The text says the same. */
    char text[4096];
    int n = 0;
    const json_t *both[] = {a, b};
    for (int i = 0; i < 2; ++i)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %9lld B  %s  good        %s  portable  %s\n",
                      text_of(both[i], "id"), (long long)json_integer_value(json_object_get(both[i], "bytes")),
                      text_of(both[i], "last_use"), i ? "k_one, k_two" : "k_add", text_of(both[i], "compiler_version"));
    (void)snprintf(text + n, sizeof text - (size_t)n, "%s: 2 entries, %lld of 268435456 bytes\n", in_folder("cache"),
                   (long long)json_integer_value(json_object_get(list, "bytes")));
    expect(cache_here("list"), text);
    json_decref(list);
}

/* Listing looks, and does no more: no entry is used, changed or removed by it. */
static void entries_that_are_no_good_are_told(void **state)
{
    kept two = keep_two();
    assert_int_equal(truncate(path_of(two.adder), 100), 0);
    assert_int_equal(chmod(path_of(two.pair), 0622), 0);
    sti_cache c;
    OK(sti_cache_open(in_folder("cache"), 0, true, &c));
    sti_cache_key key = sti_cache_key_of("no lines at all", 15);
    OK(sti_cache_store(&c, &key, "object", 6));
    sti_cache_close(&c);
    char wrong[STI_ID_SIZE];
    memcpy(wrong, key.id, sizeof wrong);
    wrong[0] = wrong[0] == '0' ? '1' : '0';
    char command[1200];
    (void)snprintf(command, sizeof command, "cp '%s' '%s'", path_of(key.id), path_of(wrong));
    shell(command);
    (void)write_file("cache/notes.txt", "not the cache's\n");
    for (int round = 0; round < 2; ++round) { /* the second sees what the first did: nothing */
        json_t *list = listing();
        assert_int_equal(json_array_size(json_object_get(list, "entries")), 4);
        assert_string_equal(text_of(entry_of(list, two.adder), "verdict"), "damaged");
        assert_string_equal(text_of(entry_of(list, two.pair), "verdict"), "foreign");
        assert_string_equal(text_of(entry_of(list, wrong), "verdict"), "misplaced");
        assert_string_equal(text_of(entry_of(list, key.id), "verdict"), "good");
        assert_true(json_is_null(json_object_get(entry_of(list, key.id), "compiler")));
        assert_int_equal(json_array_size(json_object_get(entry_of(list, key.id), "kernels")), 0);
        json_decref(list);
    }
    assert_int_equal(count_files(in_folder("cache")), 5);
}

/* The key of a kernel for a GPU has an architecture, and a compiler that is no program. */
static void kernels_of_gpus(void **state)
{
    static const char text[] =
        "stet 0.1.0\nentry 1\narch sm_90\ncompiler NVRTC 13.0\noptions -a\nkernels k_a\nsource 9 00\n";
    sti_cache c;
    OK(sti_cache_open(in_folder("cache"), 0, false, &c));
    sti_cache_key key = sti_cache_key_of(text, sizeof text - 1);
    OK(sti_cache_store(&c, &key, "object", 6));
    sti_cache_close(&c);
    json_t *list = listing();
    assert_string_equal(text_of(entry_of(list, key.id), "target"), "sm_90");
    assert_string_equal(text_of(entry_of(list, key.id), "compiler"), "NVRTC 13.0");
    assert_true(json_is_null(json_object_get(entry_of(list, key.id), "compiler_version")));
    json_decref(list);
    said s = cache_here("list");
    assert_non_null(strstr(s.out, "  good        k_a  sm_90  NVRTC 13.0\n"));
}

static void a_key_that_is_no_text(void **state)
{
    static const char bytes[] = "stet \xff\xfe\nkernels k_\xff k_b\ncompiler /cc\nversion 9\nCompiler \xc0\nmore\n";
    sti_cache c;
    OK(sti_cache_open(in_folder("cache"), 0, false, &c));
    sti_cache_key key = sti_cache_key_of(bytes, sizeof bytes - 1);
    OK(sti_cache_store(&c, &key, "object", 6));
    sti_cache_close(&c);
    json_t *list = listing();
    const json_t *o = entry_of(list, key.id);
    assert_true(json_is_null(json_object_get(o, "stet")));
    assert_true(json_is_null(json_object_get(o, "compiler_version")));
    assert_string_equal(text_of(o, "compiler"), "/cc");
    assert_int_equal(json_array_size(json_object_get(o, "kernels")), 1);
    json_decref(list);
}

/* ---- verify, clear ----------------------------------------------------------------------------------------------- */

static void verify_removes_what_is_no_good(void **state)
{
    kept two = keep_two();
    char text[600];
    (void)snprintf(text, sizeof text, "%s: 2 good, 0 removed\n", in_folder("cache"));
    expect(cache_here("verify"), text);
    assert_int_equal(truncate(path_of(two.adder), 100), 0);
    (void)snprintf(text, sizeof text, "%s: 1 good, 1 removed\n", in_folder("cache"));
    expect(cache_here("verify"), text);
    assert_int_equal(access(path_of(two.adder), F_OK), -1);
    assert_int_equal(access(path_of(two.pair), F_OK), 0);
    /* Its kernel is made again, and the other stands. */
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def pair = kernel_def(pair_source);
    pair.name = "k_one";
    char id[STI_ID_SIZE];
    keep(d, &pair, id);
    stet_kernel_destroy(kernel_from(d, adder(5)));
    assert_int_equal(cache_counter(d).hits, 1);
    assert_int_equal(cache_counter(d).misses, 1);
    stet_device_destroy(d);
}

static void clear_removes_the_caches_own(void **state)
{
    (void)keep_two();
    (void)write_file("cache/notes.txt", "not the cache's\n");
    (void)write_file("cache/0123456789abcdef0123456789abcdef.tmp", "of somebody who was killed\n");
    char text[600];
    (void)snprintf(text, sizeof text, "%s: 2 removed\n", in_folder("cache"));
    expect(cache_here("clear"), text);
    assert_int_equal(count_files(in_folder("cache")), 1);
    assert_int_equal(access(in_folder("cache/notes.txt"), F_OK), 0);
    (void)snprintf(text, sizeof text, "%s: 0 removed\n", in_folder("cache"));
    expect(cache_here("clear"), text);
    (void)snprintf(text, sizeof text, "%s: 0 entries, 0 of 268435456 bytes\n", in_folder("cache"));
    expect(cache_here("list"), text);
}

/* ---- folders and words ------------------------------------------------------------------------------------------- */

static void the_usual_folder(void **state)
{
    char environment[600], text[600];
    (void)snprintf(environment, sizeof environment, "XDG_CACHE_HOME='%s'", in_folder("x"));
    /* Nothing was ever kept: an answer, and nothing is made. */
    (void)snprintf(text, sizeof text, "%s: 0 entries, 0 of 268435456 bytes\n", in_folder("x/stet"));
    expect(cache_with(environment, "list"), text);
    (void)snprintf(text, sizeof text, "%s: 0 good, 0 removed\n", in_folder("x/stet"));
    expect(cache_with(environment, "verify"), text);
    (void)snprintf(text, sizeof text, "%s: 0 removed\n", in_folder("x/stet"));
    expect(cache_with(environment, "clear"), text);
    assert_int_equal(access(in_folder("x"), F_OK), -1);
    (void)keep_two();
    assert_int_equal(mkdir(in_folder("x"), 0700), 0);
    assert_int_equal(rename(in_folder("cache"), in_folder("x/stet")), 0);
    (void)snprintf(text, sizeof text, "%s: 2 good, 0 removed\n", in_folder("x/stet"));
    expect(cache_with(environment, "verify"), text);
    refuse(cache_with("env -u HOME -u XDG_CACHE_HOME", "list"),
           "kernel cache: neither XDG_CACHE_HOME nor HOME is set; name a folder");
    char command[600];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", in_folder("x"));
    shell(command);
}

static void folders_that_are_refused(void **state)
{
    char sentence[600];
    (void)snprintf(sentence, sizeof sentence, "kernel cache %s: there is no such folder", in_folder("cache"));
    refuse(cache_here("list"), sentence);
    refuse(cache_here("verify"), sentence);
    refuse(cache_here("clear"), sentence);
    (void)keep_two();
    assert_int_equal(chmod(in_folder("cache"), 0777), 0);
    (void)snprintf(
        sentence, sizeof sentence,
        "kernel cache %s: the folder belongs to somebody else or others can write to it; make it yours alone "
        "(chmod 700), or name another",
        in_folder("cache"));
    refuse(cache_here("list"), sentence);
    refuse(cache_here("clear"), sentence);
    if (geteuid() == 0) {
        assert_int_equal(chmod(in_folder("cache"), 0700), 0);
        assert_int_equal(chown(in_folder("cache"), 65534, 65534), 0);
        refuse(cache_here("verify"), sentence);
        assert_int_equal(chown(in_folder("cache"), 0, 0), 0);
    }
    assert_int_equal(count_files(in_folder("cache")), 2);
}

static void words_that_are_not_understood(void **state)
{
    refuse(cache("lst"), "lst: there are info, list, fill, clear and verify; give one");
    refuse(cache("list clear"), "clear: it is said already what to do (list); give one");
    refuse(cache("list --all"), "--all: there is no such option; stet cache --help lists them");
    refuse(cache("list --folder"), "--folder needs a value; stet cache --help explains");
    refuse(cache("list --folder="), "--folder: the name is empty; give a folder");
    refuse(cache("clear --json"), "--json goes with info and list only; leave it out");
    refuse(cache("--arch=sm_90"), "--arch goes with fill only; leave it out");
    refuse(cache("list --to x"), "--to goes with fill only; leave it out");
    refuse(cache("fill --to="), "--to: the name is empty; give a folder");
    refuse(cache("fill --to x --folder y"),
           "--folder is a cache, and --to a folder to be shipped; give one of the two");
    refuse(cache("fill --arch ,"), "--arch: no architecture is named; give some, such as sm_90");
    refuse(cache("fill --arch 9.0"), "9.0: is no architecture of a GPU; give sm_ and a number, such as sm_90, or one "
                                     "of AMD's, such as gfx90a");
    said s = cache("--help");
    assert_int_equal(s.code, 0);
    assert_non_null(strstr(s.out, "list|fill|clear|verify"));
}

/* ---- what was shipped -------------------------------------------------------------------------------------------- */

static void ship(const char *path, const char *text)
{
    const sti_cache_key key = sti_cache_key_of(text, strlen(text));
    const sti_text_buffer object = {.data = (char[]){"object"}, .size = 6};
    OK(sti_compiled_ship(path, &key, &object));
}

/* Beside the program, as an installation and the wheel have it: there is no need to say where. */
static void shipped_code_is_found_where_it_lies(void **state)
{
    static const char *const places[][2] = {
        {"p/bin/stet", "p/lib/stet/gpu_code"}, {"q/stet/bin/stet", "q/stet/gpu_code"}, {"r/stet", "r/gpu_code"}};
    char command[1200], line[700];
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        (void)snprintf(command, sizeof command, "mkdir -p '%s' '%s' && rmdir '%s' && cp '%s' '%s'",
                       in_folder(places[i][1]), in_folder(places[i][0]), in_folder(places[i][0]), STET_TEST_COMMAND,
                       in_folder(places[i][0]));
        shell(command);
        ship(in_folder(places[i][1]), "stet 1\narch sm_90\nkernels k_a\n");
        ship(in_folder(places[i][1]), "stet 1\narch sm_90\nkernels k_b\n");
        (void)snprintf(command, sizeof command, "env -u STET_GPU_CODE_FOLDER XDG_CACHE_HOME=/nowhere '%s' cache >'%s'",
                       in_folder(places[i][0]), in_folder("out"));
        shell(command);
        said s = {0};
        read_whole(in_folder("out"), s.out, sizeof s.out);
        (void)snprintf(line, sizeof line, "\nshipped  %s: 2 entries, ", in_folder(places[i][1]));
        if (!strstr(s.out, line) || !strstr(s.out, "\n  sm_90    0 of the ")) fail_msg("%s in %s", line, s.out);
        (void)snprintf(command, sizeof command, "rm '%s'", in_folder(places[i][0]));
        shell(command);
    }
    said s = cache_with("STET_GPU_CODE_FOLDER=/no/such XDG_CACHE_HOME=/nowhere", "");
    assert_int_equal(s.code, 0);
    assert_non_null(strstr(s.out, "cache    /nowhere/stet: 0 entries, 0 of 268435456 bytes\n"
                                  "shipped  /no/such: 0 entries, 0 bytes\n"));
    s = cache_with("STET_GPU_CODE_FOLDER= XDG_CACHE_HOME=/nowhere", "info --json");
    json_t *o = json_loads(s.out, 0, NULL);
    assert_non_null(o);
    assert_int_equal(json_integer_value(json_object_get(o, "entries")), 0);
    assert_true(json_is_object(json_object_get(json_object_get(o, "shipped"), "architectures")));
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(real_kernels_are_listed),
        TEST(entries_that_are_no_good_are_told),
        TEST(kernels_of_gpus),
        TEST(a_key_that_is_no_text),
        TEST(verify_removes_what_is_no_good),
        TEST(clear_removes_the_caches_own),
        TEST(the_usual_folder),
        TEST(folders_that_are_refused),
        TEST(words_that_are_not_understood),
        TEST(shipped_code_is_found_where_it_lies),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
