/*
 * The disk cache by itself: entries as bytes, the folder, locks, eviction, several processes at once. No compiler is
 * needed.
 */
#include "kernel/user_rig.h"

#include "base/dice.h"
#include "base/failing.h"
#include "kernel/compile/cache.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* A key with a text of its own. */
static sti_cache_key key_of(const char *text) { return sti_cache_key_of(text, strlen(text)); }

static sti_cache open_cache(int64_t limit)
{
    sti_cache c;
    OK(sti_cache_open(in_folder("cache"), limit, false, &c));
    return c;
}

static char *entry_path(const sti_cache_key *key, const char *suffix)
{
    char name[128];
    (void)snprintf(name, sizeof name, "cache/%.32s%.16s", key->id, suffix);
    return in_folder(name);
}

/* Stores an object of `size` equal bytes, as a builder does. */
static stet_result store(const sti_cache *c, const sti_cache_key *key, int byte, size_t size)
{
    char *object = malloc(size + 1);
    assert_non_null(object);
    memset(object, byte, size);
    int lock = sti_cache_lock(c, key->id, true);
    assert_true(lock >= 0);
    stet_result result = sti_cache_store(c, key, object, size);
    sti_cache_unlock(c, key->id, lock);
    free(object);
    return result;
}

/* The verdict; where it is FOUND, the object must be equal bytes throughout, and *byte is what they are. */
static sti_verdict look(const sti_cache *c, const sti_cache_key *key, int *byte, size_t *size)
{
    sti_text_buffer object = {0};
    sti_verdict verdict;
    OK(sti_cache_load(c, key, &object, &verdict));
    for (size_t i = 1; i < object.size; ++i) assert_int_equal(object.data[i], object.data[0]);
    if (byte) *byte = object.size ? object.data[0] : 0;
    if (size) *size = object.size;
    sti_text_buffer_free(&object);
    return verdict;
}

/* ---- entries as bytes -------------------------------------------------------------------------------------------- */

static const char some_key[] = "stet 0\nkey of a test\n", some_object[] = "\177ELF and so on, with a zero \0 inside";

/* The bytes of an entry; free them. */
static char *make_entry(size_t *size)
{
    sti_text_buffer head = {0};
    sti_cache_key key = key_of(some_key);
    sti_entry_write_head(&head, &key, some_object, sizeof some_object);
    assert_int_equal(head.result, STET_OK);
    *size = head.size + sizeof some_object;
    char *bytes = malloc(*size);
    assert_non_null(bytes);
    memcpy(bytes, head.data, head.size);
    memcpy(bytes + head.size, some_object, sizeof some_object);
    sti_text_buffer_free(&head);
    return bytes;
}

static void an_entry_gives_back_what_went_in(void **state)
{
    size_t size;
    char *bytes = make_entry(&size);
    sti_cache_key key = key_of(some_key), other = key_of("another");
    sti_entry e;
    assert_int_equal(sti_entry_read(bytes, size, &key, &e), STI_FOUND);
    assert_int_equal(e.object_size, sizeof some_object);
    assert_memory_equal(e.object, some_object, sizeof some_object);
    assert_int_equal(e.key_size, strlen(some_key));
    assert_memory_equal(e.key, some_key, e.key_size);
    assert_int_equal(sti_entry_read(bytes, size, NULL, &e), STI_FOUND);
    assert_int_equal(sti_entry_read(bytes, size, &other, &e), STI_COLLISION);
    assert_int_equal(strlen(key.id), 32);
    assert_string_not_equal(key.id, other.id);
    assert_string_equal(key.id, key_of(some_key).id);
    free(bytes);
}

/* Each beginning of an entry, in memory of exactly that size, and each with something behind it. */
static void kf35_truncated_at_every_length(void **state)
{
    size_t size;
    char *bytes = make_entry(&size);
    sti_cache c = open_cache(0);
    sti_cache_key key = key_of(some_key);
    for (size_t n = 0; n < size; ++n) {
        char *cut = malloc(n ? n : 1);
        sti_entry e;
        assert_non_null(cut);
        memcpy(cut, bytes, n);
        assert_int_equal(sti_entry_read(cut, n, &key, &e), STI_DAMAGED);
        assert_null(e.object);
        FILE *f = fopen(entry_path(&key, ".kernel"), "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(cut, 1, n, f), n);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(look(&c, &key, NULL, NULL), STI_DAMAGED);
        free(cut);
    }
    char *longer = calloc(1, size + 8);
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    sti_entry e;
    for (size_t n = 1; n <= 8; ++n) assert_int_equal(sti_entry_read(longer, size + n, &key, &e), STI_DAMAGED);
    OK(store(&c, &key, 'x', 100)); /* in the damaged one's place */
    assert_int_equal(look(&c, &key, NULL, NULL), STI_FOUND);
    sti_cache_close(&c);
    free(longer);
    free(bytes);
}

static void every_bit_of_an_entry_counts(void **state)
{
    size_t size;
    char *bytes = make_entry(&size);
    sti_cache_key key = key_of(some_key);
    for (size_t bit = 0; bit < size * 8; ++bit) {
        sti_entry e;
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        bool schema = bit / 8 >= 8 && bit / 8 < 12;
        assert_int_equal(sti_entry_read(bytes, size, &key, &e), schema ? STI_OTHER_SCHEMA : STI_DAMAGED);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    free(bytes);
}

/* An older schema had a shorter header, perhaps: the two words that tell it are enough. */
static void an_older_schema_is_told_by_its_first_words(void **state)
{
    char bytes[16] = "stetkern";
    sti_entry e;
    uint32_t schema = 0;
    memcpy(bytes + 8, &schema, sizeof schema);
    assert_int_equal(sti_entry_read(bytes, 12, NULL, &e), STI_OTHER_SCHEMA);
    assert_int_equal(sti_entry_read(bytes, 11, NULL, &e), STI_DAMAGED);
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static void refused(const char *path, const char *why)
{
    sti_cache c;
    FAILS(sti_cache_open(path, 0, false, &c), STET_ERROR_UNSUPPORTED, why);
    assert_int_equal(c.folder, -1);
    sti_cache_close(&c);
}

static void folders_that_are_not_the_users_alone(void **state)
{
    char *path = in_folder("cache");
    assert_int_equal(mkdir(path, 0700), 0);
    static const mode_t modes[] = {0777, 0770, 0702, 01777};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
        assert_int_equal(chmod(path, modes[i]), 0);
        refused(path, "the folder belongs to somebody else or others can write to it; make it yours alone");
    }
    assert_int_equal(chmod(path, 0755), 0); /* others may read */
    sti_cache c = open_cache(0);
    sti_cache_close(&c);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        refused(path, "belongs to somebody else");
        assert_int_equal(chown(path, 0, 0), 0);
    } else {
        refused("/", "belongs to somebody else");
    }
    refused(write_file("plain", "a file\n"), "cannot be opened");
    refused(in_folder("plain/below"), "cannot be opened");
    FAILS(sti_cache_open(in_folder("absent"), 0, true, &c), STET_ERROR_NOT_FOUND, "there is no such folder");
}

static void the_usual_folder(void **state)
{
    sti_text_buffer path = {0};
    const char *had = getenv("HOME");
    char *home = strdup(had ? had : "/");
    assert_int_equal(setenv("XDG_CACHE_HOME", in_folder("a/b"), 1), 0);
    OK(sti_cache_default_folder(&path));
    assert_string_equal(path.data, in_folder("a/b/stet"));
    sti_cache c;
    OK(sti_cache_open(NULL, 0, false, &c)); /* with all folders above it */
    sti_cache_close(&c);
    struct stat status;
    assert_int_equal(stat(in_folder("a/b/stet"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    assert_int_equal(setenv("HOME", folder, 1), 0);
    sti_text_buffer_free(&path);
    OK(sti_cache_default_folder(&path));
    assert_string_equal(path.data, in_folder(".cache/stet"));
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    FAILS(sti_cache_default_folder(&path), STET_ERROR_NOT_FOUND, "neither XDG_CACHE_HOME nor HOME is set");
    FAILS(sti_cache_open(NULL, 0, false, &c), STET_ERROR_NOT_FOUND, "neither");
    assert_int_equal(setenv("HOME", home, 1), 0);
    sti_text_buffer_free(&path);
    free(home);
}

static void entries_of_somebody_else(void **state)
{
    sti_cache c = open_cache(0);
    sti_cache_key key = key_of(some_key);
    OK(store(&c, &key, 'a', 50));
    assert_int_equal(chmod(entry_path(&key, ".kernel"), 0666), 0);
    assert_int_equal(look(&c, &key, NULL, NULL), STI_FOREIGN);
    OK(store(&c, &key, 'a', 50));
    assert_int_equal(look(&c, &key, NULL, NULL), STI_FOUND);
    if (geteuid() == 0) {
        assert_int_equal(chown(entry_path(&key, ".kernel"), 65534, 65534), 0);
        assert_int_equal(look(&c, &key, NULL, NULL), STI_FOREIGN);
        OK(store(&c, &key, 'a', 50));
    }
    assert_int_equal(rename(entry_path(&key, ".kernel"), in_folder("elsewhere")), 0);
    assert_int_equal(symlink(in_folder("elsewhere"), entry_path(&key, ".kernel")), 0);
    assert_int_equal(look(&c, &key, NULL, NULL), STI_FOREIGN);
    assert_int_equal(unlink(entry_path(&key, ".kernel")), 0);
    assert_int_equal(mkfifo(entry_path(&key, ".kernel"), 0600), 0);
    assert_int_equal(look(&c, &key, NULL, NULL), STI_FOREIGN);
    OK(store(&c, &key, 'b', 50));
    int byte;
    assert_int_equal(look(&c, &key, &byte, NULL), STI_FOUND);
    assert_int_equal(byte, 'b');
    sti_cache_close(&c);
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

static void set_use(const sti_cache_key *key, int64_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, entry_path(key, ".kernel"), times, 0), 0);
}

static void the_least_recently_used_go_first(void **state)
{
    enum { N = 6, SIZE = 1000 };
    static const char *const texts[N] = {"k0", "k1", "k2", "k3", "k4", "k5"};
    sti_cache_key key[N];
    sti_cache c = open_cache(5 * (SIZE + STI_ENTRY_HEADER + 2));
    for (int i = 0; i < N; ++i) key[i] = key_of(texts[i]);
    for (int i = 0; i < 5; ++i) {
        OK(store(&c, &key[i], 'a' + i, SIZE));
        set_use(&key[i], 1000 + i);
    }
    for (int i = 0; i < 5; ++i) assert_int_equal(access(entry_path(&key[i], ".kernel"), F_OK), 0); /* all fit */
    assert_int_equal(look(&c, &key[0], NULL, NULL), STI_FOUND); /* used now: 1 is the oldest */
    OK(store(&c, &key[5], 'f', SIZE));
    assert_int_equal(look(&c, &key[1], NULL, NULL), STI_ABSENT);
    static const int left[] = {0, 2, 3, 4, 5};
    for (int i = 0; i < 5; ++i) assert_int_equal(access(entry_path(&key[left[i]], ".kernel"), F_OK), 0);
    /* One as large as three: 2, 3 and 4 go. */
    for (int i = 2; i < 5; ++i) set_use(&key[i], 1000 + i);
    OK(store(&c, &key[1], 'b', 3 * SIZE));
    for (int i = 0; i < N; ++i)
        assert_int_equal(look(&c, &key[i], NULL, NULL), i == 0 || i == 1 || i == 5 ? STI_FOUND : STI_ABSENT);
    FAILS(store(&c, &key[2], 'c', 6 * SIZE), STET_ERROR_LIMIT, "larger than the whole cache may be");
    assert_int_equal(look(&c, &key[0], NULL, NULL), STI_FOUND);
    sti_cache_close(&c);
}

/* The usual way to have no space without being root: the size of files is limited. */
static void a_write_that_fails_leaves_the_cache_as_it_was(void **state)
{
    sti_cache c = open_cache(0);
    sti_cache_key key = key_of(some_key);
    OK(store(&c, &key, 'a', 500));
    struct rlimit had, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &had), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = had.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    FAILS(store(&c, &key, 'b', 100000), STET_ERROR_IO, "an entry could not be written: File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &had), 0);
    (void)signal(SIGXFSZ, handler);
    int byte;
    assert_int_equal(look(&c, &key, &byte, NULL), STI_FOUND);
    assert_int_equal(byte, 'a');
    assert_int_equal(count_files(in_folder("cache")), 1);
    sti_cache_close(&c);
}

static void count_item(void *context, const sti_cache_item *item)
{
    int *verdicts = context;
    verdicts[item->verdict]++;
    assert_int_equal(strlen(item->id), 32);
    assert_true(item->size > 0 && item->used > 0);
    assert_true((item->verdict == STI_FOUND) == (item->key != NULL));
    if (item->key) assert_memory_equal(item->key, "k", 1);
}

static void listed_verified_cleared(void **state)
{
    sti_cache c = open_cache(0);
    sti_cache_key key[5];
    static const char *const texts[] = {"k0", "k1", "k2", "k3", "k4"};
    for (int i = 0; i < 5; ++i) {
        key[i] = key_of(texts[i]);
        OK(store(&c, &key[i], 'a' + i, 100));
    }
    assert_int_equal(truncate(entry_path(&key[1], ".kernel"), 40), 0);
    assert_int_equal(chmod(entry_path(&key[2], ".kernel"), 0666), 0);
    assert_int_equal(rename(entry_path(&key[3], ".kernel"),
                            entry_path(&(sti_cache_key){.id = "0123456789abcdef0123456789abcdef"}, ".kernel")),
                     0);
    (void)write_file("cache/README", "not the cache's own\n");
    (void)write_file("cache/0123.kernel", "nor this\n");
    int verdicts[8] = {0};
    OK(sti_cache_list(&c, count_item, verdicts));
    assert_int_equal(verdicts[STI_FOUND], 2);
    assert_int_equal(verdicts[STI_DAMAGED], 1);
    assert_int_equal(verdicts[STI_FOREIGN], 1);
    assert_int_equal(verdicts[STI_COLLISION], 1);
    int64_t good, removed;
    OK(sti_cache_verify(&c, &good, &removed));
    assert_int_equal(good, 2);
    assert_int_equal(removed, 3);
    OK(sti_cache_verify(&c, &good, &removed));
    assert_int_equal(good, 2);
    assert_int_equal(removed, 0);
    /* Of somebody who was killed, and of somebody who is at work. */
    (void)write_file("cache/00000000000000000000000000000000.tmp", "half");
    (void)write_file("cache/00000000000000000000000000000000.lock", "");
    (void)write_file("cache/11111111111111111111111111111111.tmp", "half");
    int lock = sti_cache_lock(&c, "11111111111111111111111111111111", true);
    assert_true(lock >= 0);
    OK(sti_cache_clear(&c, &removed));
    assert_int_equal(removed, 2);
    assert_int_equal(count_files(in_folder("cache")), 4); /* the two strangers; a lock and what it guards */
    sti_cache_unlock(&c, "11111111111111111111111111111111", lock);
    OK(sti_cache_clear(&c, &removed));
    assert_int_equal(removed, 0);
    assert_int_equal(count_files(in_folder("cache")), 2);
    sti_cache_close(&c);
}

/* ---- several processes ------------------------------------------------------------------------------------------- */

/* Forks; the child ends with the number of `run`. */
static pid_t child(int (*run)(int), int i)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(run(i));
    return pid;
}

static void expect_exit(pid_t pid, int code)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

/* Reads or writes one entry again and again; 0 if all went well. */
static int write_or_read(int i)
{
    sti_cache c = open_cache(0);
    sti_cache_key key = key_of(some_key);
    for (int round = 0; round < 60; ++round) {
        sti_verdict v = STI_FOUND;
        if (i % 2 == 0 && store(&c, &key, 'a' + i, (size_t)(1000 * (i + 1) + round)) != STET_OK) return 1;
        int byte;
        size_t size;
        if (i % 2 == 1) v = look(&c, &key, &byte, &size);
        if (v != STI_FOUND && v != STI_ABSENT) return 2;
        if (i % 2 == 1 && v == STI_FOUND && (int)(size / 1000) != byte - 'a' + 1) return 3;
    }
    sti_cache_close(&c);
    return 0;
}

static void kf34_eight_processes_write_and_read_one_entry(void **state)
{
    pid_t pids[8];
    for (int i = 0; i < 8; ++i) pids[i] = child(write_or_read, i);
    for (int i = 0; i < 8; ++i) expect_exit(pids[i], 0);
    assert_int_equal(count_files(in_folder("cache")), 1); /* no lock, nothing half-written */
}

static int *inside; /* shared by the processes: who holds the lock now, and how often two did */

static int hold_lock(int i)
{
    (void)i;
    sti_cache c = open_cache(0);
    sti_cache_key key = key_of(some_key);
    for (int round = 0; round < 200; ++round) {
        int lock = sti_cache_lock(&c, key.id, true);
        if (lock < 0) return 1;
        if (__atomic_add_fetch(&inside[0], 1, __ATOMIC_SEQ_CST) != 1)
            __atomic_add_fetch(&inside[1], 1, __ATOMIC_SEQ_CST);
        if (round % 16 == 0) (void)usleep(100);
        __atomic_sub_fetch(&inside[0], 1, __ATOMIC_SEQ_CST);
        sti_cache_unlock(&c, key.id, lock);
    }
    sti_cache_close(&c);
    return 0;
}

static void one_at_a_time_holds_a_lock(void **state)
{
    inside = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(inside != MAP_FAILED);
    pid_t pids[8];
    for (int i = 0; i < 8; ++i) pids[i] = child(hold_lock, i);
    for (int i = 0; i < 8; ++i) expect_exit(pids[i], 0);
    assert_int_equal(inside[1], 0);
    sti_cache c = open_cache(0);
    int lock = sti_cache_lock(&c, key_of("k").id, true);
    assert_true(lock >= 0);
    assert_int_equal(sti_cache_lock(&c, key_of("k").id, false), -1); /* not even for this process */
    int other = sti_cache_lock(&c, key_of("other").id, false);
    assert_true(other >= 0);
    sti_cache_unlock(&c, key_of("other").id, other);
    sti_cache_unlock(&c, key_of("k").id, lock);
    sti_cache_unlock(&c, key_of("k").id, -1);
    sti_cache_close(&c);
    assert_int_equal(count_files(in_folder("cache")), 0);
    assert_int_equal(munmap(inside, 4096), 0);
}

static int write_for_ever(int i)
{
    sti_cache c = open_cache(0);
    sti_cache_key key = key_of(some_key);
    for (int n = 0; n < 1 << 30; ++n) (void)store(&c, &key, 'a' + i % 20, 1 << 22);
    return 0;
}

static void killed_in_the_middle_of_a_write(void **state)
{
    uint64_t dice = dice_seed("killed_in_the_middle_of_a_write");
    sti_cache c = open_cache(0);
    sti_cache_key key = key_of(some_key);
    int half = 0;
    for (int round = 0; round < 40; ++round) {
        pid_t pid = child(write_for_ever, round);
        /* At any time, or (odd rounds) as soon as it is seen to be writing. */
        if (round % 2 == 0) (void)usleep((useconds_t)(2000 + dice_below(&dice, 8000)));
        while (round % 2 && access(entry_path(&key, ".tmp"), F_OK) != 0) continue;
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        half += access(entry_path(&key, ".tmp"), F_OK) == 0;
        sti_verdict v = look(&c, &key, NULL, NULL);
        if (v != STI_FOUND && v != STI_ABSENT) fail_msg("round %d: verdict %d", round, v);
        OK(store(&c, &key, 'z', 100)); /* its lock is free, and what it left is in nobody's way */
        assert_int_equal(access(entry_path(&key, ".tmp"), F_OK), -1);
    }
    print_message("%d of 40 were killed with an entry half written\n", half);
    assert_true(half > 0);
    OK(store(&c, &key, 'z', 100));
    OK(sti_cache_trim(&c, NULL));
    assert_int_equal(count_files(in_folder("cache")), 1);
    sti_cache_close(&c);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static stet_result everything_once(void)
{
    sti_cache c;
    sti_cache_key key = key_of(some_key);
    sti_text_buffer object = {0};
    sti_verdict verdict = STI_ABSENT;
    int64_t good, removed;
    STI_TRY(sti_cache_open(in_folder("cache"), 0, false, &c));
    int lock = sti_cache_lock(&c, key.id, true);
    stet_result result = sti_cache_store(&c, &key, some_object, sizeof some_object);
    sti_cache_unlock(&c, key.id, lock);
    if (!result) result = sti_cache_load(&c, &key, &object, &verdict);
    if (!result && verdict != STI_FOUND) result = STET_ERROR_STATE;
    if (!result) result = sti_cache_verify(&c, &good, &removed);
    if (!result) result = sti_cache_clear(&c, &removed);
    sti_text_buffer_free(&object);
    sti_cache_close(&c);
    return result;
}

static void every_allocation_may_fail(void **state)
{
    int64_t n = fail_each_allocation(everything_once, false);
    if (n < 6) fail_msg("%lld allocations", (long long)n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_entry_gives_back_what_went_in),
        TEST(kf35_truncated_at_every_length),
        TEST(every_bit_of_an_entry_counts),
        TEST(an_older_schema_is_told_by_its_first_words),
        TEST(folders_that_are_not_the_users_alone),
        TEST(the_usual_folder),
        TEST(entries_of_somebody_else),
        TEST(the_least_recently_used_go_first),
        TEST(a_write_that_fails_leaves_the_cache_as_it_was),
        TEST(listed_verified_cleared),
        TEST(kf34_eight_processes_write_and_read_one_entry),
        TEST(one_at_a_time_holds_a_lock),
        TEST(killed_in_the_middle_of_a_write),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
