/*
 * Code from the cache or a compiler, several pieces at once: who compiles what, in which process, and what is said when
 * one fails. The compiler is the test's own.
 */
#include "kernel/user_rig.h"

#include "base/failing.h"
#include "kernel/compile/cached_compile.h"

#include <sys/wait.h>

enum { PIECES = 6, PROCESSES = 8 };

/* in_folder's own memory is used again and again. */
static const char *cache_folder(void)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/cache", folder);
    return path;
}
/* Written by `forget` only: compilations read it from several threads. */
static char made_file[512];

/* A piece's code is its text, backwards; each compilation leaves a line in the file `made`. */
typedef struct piece {
    char key[64];
    bool fails;
} piece;

static stet_result compile(void *context, sti_text_buffer *object)
{
    const piece *p = context;
    char line[80];
    if (p->fails) return sti_error(STET_ERROR_PARSE, "%s: does not compile", p->key);
    int n = snprintf(line, sizeof line, "%s\n", p->key), fd = open(made_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        return sti_error(STET_ERROR_IO, "the test's own file cannot be written");
    close(fd);
    for (size_t i = strlen(p->key); i-- > 0;) sti_text_buffer_add(object, &p->key[i], 1);
    return object->result;
}

static void make_pieces(piece *p, sti_compile_request *wanted)
{
    for (int i = 0; i < PIECES; ++i) {
        (void)snprintf(p[i].key, sizeof p[i].key, "piece %d", i);
        p[i].fails = false;
        wanted[i] = (sti_compile_request){.key = sti_cache_key_of(p[i].key, strlen(p[i].key)),
                                          .what = p[i].key,
                                          .compile = compile,
                                          .context = &p[i]};
    }
}

static bool is_good(const piece *p, const sti_compile_request *w)
{
    size_t n = strlen(p->key);
    bool good = w->object.size == n;
    for (size_t i = 0; good && i < n; ++i) good = w->object.data[i] == p->key[n - 1 - i];
    return good;
}

static void free_objects(sti_compile_request *wanted)
{
    for (int i = 0; i < PIECES; ++i) sti_text_buffer_free(&wanted[i].object);
}

/* Lines of `made`: compilations. */
static int made(void)
{
    FILE *f = fopen(made_file, "rb");
    int n = 0;
    if (!f) return 0;
    for (int c; (c = fgetc(f)) != EOF;) n += c == '\n';
    (void)fclose(f);
    return n;
}

static void forget(void)
{
    (void)snprintf(made_file, sizeof made_file, "%s/made", folder);
    (void)unlink(made_file);
}

/* Asks for all pieces; those compiled, hits and misses must be as many. */
static void ask(stet_device *d, bool parallel, int compiled, int hits, int misses)
{
    piece p[PIECES];
    sti_compile_request wanted[PIECES];
    const sti_cache_options keeping = {.folder = cache_folder(), .parallel = parallel};
    stet_counter before = cache_counter(d);
    make_pieces(p, wanted);
    forget();
    OK(sti_cached_compile(d, &keeping, wanted, PIECES));
    for (int i = 0; i < PIECES; ++i) assert_true(is_good(&p[i], &wanted[i]));
    assert_int_equal(made(), compiled);
    assert_int_equal(cache_counter(d).hits - before.hits, hits);
    assert_int_equal(cache_counter(d).misses - before.misses, misses);
    free_objects(wanted);
}

static void remove_some(int n)
{
    DIR *dir = opendir(cache_folder());
    assert_non_null(dir);
    for (struct dirent *e; n > 0 && (e = readdir(dir));)
        if (strstr(e->d_name, ".kernel")) n -= unlinkat(dirfd(dir), e->d_name, 0) == 0;
    closedir(dir);
    assert_int_equal(n, 0);
}

static void only_what_is_missing_is_compiled(void **state)
{
    for (int parallel = 0; parallel < 2; ++parallel) {
        stet_device *d = open_device(STI_ISA_portable, 4);
        (void)begin_test(state);
        ask(d, parallel, PIECES, 0, PIECES);
        ask(d, parallel, 0, PIECES, 0);
        remove_some(2);
        ask(d, parallel, 2, PIECES - 2, 2);
        assert_int_equal(count_files(cache_folder()), PIECES); /* no locks are left */
        d->mechanisms.options.audit = true;
        ask(d, parallel, parallel ? 0 : PIECES, PIECES, 0);
        ask(d, parallel, 0, PIECES, 0); /* compiled once in a process, and compared each time */
        d->mechanisms.options.audit = false;
        d->mechanisms.options.disabled = 1u << STET_MECHANISM_KERNEL_CACHE;
        ask(d, parallel, PIECES, 0, PIECES);
        assert_int_equal(reason_count(d, STET_REASON_KERNEL_CACHE_DISABLED), PIECES);
        stet_device_destroy(d);
    }
}

/* The message comes from the thread that compiled; nothing of the rest is lost or held. */
static void one_that_does_not_compile(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 4);
    piece p[PIECES];
    sti_compile_request wanted[PIECES];
    const sti_cache_options keeping = {.folder = cache_folder(), .parallel = true};
    make_pieces(p, wanted);
    p[3].fails = true;
    forget();
    FAILS(sti_cached_compile(d, &keeping, wanted, PIECES), STET_ERROR_PARSE, "piece 3: does not compile");
    free_objects(wanted);
    assert_int_equal(count_files(cache_folder()), 0);
    ask(d, true, PIECES, 0, PIECES);
    stet_device_destroy(d);
}

static void a_piece_that_the_audit_finds_changed(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 2);
    piece p[PIECES];
    sti_compile_request wanted[PIECES];
    const sti_cache_options keeping = {.folder = cache_folder(), .parallel = true};
    sti_cache cache;
    ask(d, true, PIECES, 0, PIECES);
    make_pieces(p, wanted);
    OK(sti_cache_open(cache_folder(), 0, true, &cache));
    OK(sti_cache_store(&cache, &wanted[4].key, "else", 4));
    sti_cache_close(&cache);
    d->mechanisms.options.audit = true;
    FAILS(sti_cached_compile(d, &keeping, wanted, PIECES), STET_ERROR_AUDIT, "kernel_cache: piece 4: compiled again");
    free_objects(wanted);
    stet_device_destroy(d);
}

/* A folder that is not the user's alone: each is compiled, with a reason each, and an error where that is strict. */
static void a_folder_that_is_refused(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 2);
    piece p[PIECES];
    sti_compile_request wanted[PIECES];
    const sti_cache_options keeping = {.folder = cache_folder(), .parallel = true};
    assert_int_equal(mkdir(cache_folder(), 0777), 0);
    assert_int_equal(chmod(cache_folder(), 0777), 0);
    ask(d, true, PIECES, 0, 0);
    assert_int_equal(reason_count(d, STET_REASON_KERNEL_CACHE_REFUSED), PIECES);
    d->mechanisms.options.strict = true;
    make_pieces(p, wanted);
    assert_int_equal(sti_cached_compile(d, &keeping, wanted, PIECES), STET_ERROR_STRICT);
    free_objects(wanted);
    stet_device_destroy(d);
}

/* Each asks in an order of its own; nobody waits for ever, and each piece is compiled once in all. */
static void eight_processes_on_an_empty_cache(void **state)
{
    pid_t child[PROCESSES];
    forget();
    for (int k = 0; k < PROCESSES; ++k) {
        child[k] = fork();
        assert_true(child[k] >= 0);
        if (child[k] > 0) continue;
        stet_device_def def = stet_default_device_def();
        const sti_cache_options keeping = {.folder = cache_folder()};
        piece p[PIECES];
        sti_compile_request wanted[PIECES], turned[PIECES];
        stet_device *d;
        def.type = STET_DEVICE_NULL;
        alarm(120);
        make_pieces(p, wanted);
        for (int i = 0; i < PIECES; ++i) turned[i] = wanted[k % 2 ? (i + k) % PIECES : (2 * PIECES - i - k) % PIECES];
        bool good =
            stet_device_create(&def, &d) == STET_OK && sti_cached_compile(d, &keeping, turned, PIECES) == STET_OK;
        for (int i = 0; good && i < PIECES; ++i) good = is_good(turned[i].context, &turned[i]);
        _exit(good ? 0 : 1);
    }
    for (int k = 0; k < PROCESSES; ++k) {
        int status;
        assert_int_equal(waitpid(child[k], &status, 0), child[k]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(made(), PIECES);
    assert_int_equal(count_files(cache_folder()), PIECES);
}

static stet_result obtain_all(void)
{
    stet_device_def def = stet_default_device_def();
    const sti_cache_options keeping = {.folder = cache_folder()};
    piece p[PIECES];
    sti_compile_request wanted[PIECES];
    stet_device *d;
    def.type = STET_DEVICE_NULL;
    STI_TRY(stet_device_create(&def, &d));
    make_pieces(p, wanted);
    stet_result result = sti_cached_compile(d, &keeping, wanted, PIECES);
    free_objects(wanted);
    stet_device_destroy(d);
    return result;
}

static void every_allocation_fails(void **state)
{
    assert_true(fail_each_allocation(obtain_all, true) > PIECES);
    stet_device *d = open_device(STI_ISA_portable, 1);
    ask(d, false, 0, PIECES, 0);
    stet_device_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_is_missing_is_compiled),     TEST(one_that_does_not_compile),
        TEST(a_piece_that_the_audit_finds_changed), TEST(a_folder_that_is_refused),
        TEST(eight_processes_on_an_empty_cache),    TEST(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
