/*
 * Loops that threads share: each item is done once, by threads of different numbers, however many threads ask at the
 * same time; from within a loop, with signals, and on both sides of a fork.
 */
#include "device/rig.h"

#include "base/dice.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 3000, MOST_THREADS = 7 };

/* ---- one loop ---------------------------------------------------------------------------------------------------- */

typedef struct counting {
    _Atomic int *done;             /* [n] */
    _Atomic bool in[MOST_THREADS]; /* a thread of this number is inside */
    _Atomic int64_t threads;       /* bits of those that came */
    int limit;
    bool nests;
} counting;

static void add_one(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    int *n = context;
    *n += (int)(end - begin);
}

static void count(void *context, int64_t begin, int64_t end, int thread)
{
    counting *c = context;
    assert_in_range(thread, 0, c->limit - 1);
    assert_false(atomic_exchange(&c->in[thread], true));
    atomic_fetch_or(&c->threads, INT64_C(1) << thread);
    for (int64_t i = begin; i < end; ++i) atomic_fetch_add(&c->done[i], 1);
    if (c->nests) {
        int n = 0; /* no race: within a loop the thread that asks does all */
        sti_loop_run(&(sti_loop_def){.f = add_one, .context = &n, .n = 11, .chunk = 2, .threads = 5});
        assert_int_equal(n, 11);
    }
    atomic_store(&c->in[thread], false);
}

static int64_t run_counted(int64_t from, int64_t n, int64_t chunk, int threads, double seconds, bool nests)
{
    counting c = {.done = calloc((size_t)n + 1, sizeof *c.done), .limit = threads, .nests = nests};
    assert_non_null(c.done);
    sti_loop_run(&(sti_loop_def){
        .f = count, .context = &c, .from = from, .n = n, .chunk = chunk, .threads = threads, .seconds = seconds});
    for (int64_t i = 0; i < n; ++i) assert_int_equal(c.done[i], i >= from);
    free(c.done);
    return c.threads;
}

static void each_item_once(void **state)
{
    uint64_t dice = dice_seed("device/threads");
    for (int always = 0; always < 2; ++always) {
        (void)sti_loops_always_shared(always);
        for (int k = 0; k < 2000; ++k) {
            int64_t n = (int64_t)dice_below(&dice, dice_below(&dice, 4) ? 40 : MOST);
            int64_t chunk = 1 + (int64_t)dice_below(&dice, 9);
            static const double seconds[] = {0, 1e-9, 1, (double)INFINITY};
            (void)run_counted(0, n, chunk, 1 + (int)dice_below(&dice, MOST_THREADS), seconds[dice_below(&dice, 4)],
                              dice_below(&dice, 3) == 0);
        }
    }
}

/* Shared loops have more than one thread, and no more than they may. */
static void threads_come(void **state)
{
    int64_t came = 0;
    (void)sti_loops_always_shared(true);
    for (int k = 0; k < 200; ++k) came |= run_counted(0, 2000, 1, 3, 0, false);
    assert_true((came & ~INT64_C(7)) == 0);
    assert_true(came > 1);
    assert_true(sti_loop_helpers() > 0);
}

/* ---- several that ask -------------------------------------------------------------------------------------------- */

static void *ask_often(void *unused)
{
    for (int k = 0; k < 300; ++k) (void)run_counted(0, 500, 3, 4, k % 2 ? (double)INFINITY : 0, k % 5 == 0);
    return unused;
}

static void many_threads_ask(void **state)
{
    pthread_t thread[5];
    (void)sti_loops_always_shared(true);
    for (int i = 0; i < 5; ++i) assert_int_equal(pthread_create(&thread[i], NULL, ask_often, NULL), 0);
    for (int i = 0; i < 5; ++i) assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_in_range(sti_loop_helpers(), 1, MOST_THREADS - 1); /* T3: not five times as many */
}

/* ---- what a thread runs under ------------------------------------------------------------------------------------ */

static void check_mode(void *context, int64_t begin, int64_t end, int thread)
{
    sigset_t set;
    (void)begin, (void)end;
    volatile double one = 1, ten = 10;
    assert_true(one / ten > 0x1.9999999999999p-4); /* to nearest: up */
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
    if (thread)
        assert_true(sigismember(&set, SIGINT) == 1 && sigismember(&set, SIGSEGV) == 0);
    else
        assert_true(sigismember(&set, SIGINT) == 0);
    atomic_fetch_add((_Atomic int *)context, 1);
}

static void modes(void **state)
{
    _Atomic int n = 0;
    (void)sti_loops_always_shared(true);
    assert_int_equal(fesetround(FE_DOWNWARD), 0);
    for (int k = 0; k < 50; ++k)
        sti_loop_run(&(sti_loop_def){.f = check_mode, .context = &n, .n = 64, .chunk = 1, .threads = 4});
    assert_int_equal(fegetround(), FE_DOWNWARD);
    assert_int_equal(fesetround(FE_TONEAREST), 0);
    assert_int_equal(n, 50 * 64);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
/*
 * A child forked beside other threads inherits Clang's thread sanitizer in the middle of what it does, and may hang in
 * it.
 */
#define NOT_UNDER_TSAN                                                                                                 \
    do {                                                                                                               \
        if (UNDER_TSAN) skip();                                                                                        \
    } while (0)

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* The child's exit code; a child that hangs is ended by its alarm, and the signal is the test's failure. */
static void must_end_well(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) fail_msg("the child ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_child_starts_its_own(void **state)
{
    (void)sti_loops_always_shared(true);
    for (int k = 0; k < 10; ++k) {
        (void)run_counted(0, 300, 1, 4, 0, false);
        assert_true(sti_loop_helpers() > 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(60);
            bool good = sti_loop_helpers() == 0;
            (void)run_counted(0, 300, 1, 4, 0, false);
            good = good && sti_loop_helpers() > 0;
            exit(good ? 0 : 1); /* and with that, its helpers end */
        }
        (void)run_counted(0, 300, 1, 4, 0, false);
        must_end_well(child);
    }
}

/* In a forked child no memory is asked for: another thread may have held the allocator. Returns an exit code. */
static int run_in_child(void)
{
    static _Atomic int done[100];
    counting c = {.done = done, .limit = 3};
    (void)alarm(20);
    sti_loop_run(&(sti_loop_def){.f = count, .context = &c, .n = 100, .chunk = 1, .threads = 3});
    for (int i = 0; i < 100; ++i)
        if (done[i] != 1) return 1;
    return 0;
}

/* Forked while other threads are in the middle of loops. */
static void fork_beside_loops(void **state)
{
    NOT_UNDER_TSAN;
    pthread_t thread[2];
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&thread[i], NULL, ask_often, NULL), 0);
    for (int k = 0; k < 10; ++k) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(run_in_child());
        must_end_well(child);
    }
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_join(thread[i], NULL), 0);
}

static _Atomic bool starts;

static void *run_first_loop(void *unused)
{
    static _Atomic int done[100];
    counting c = {.done = done, .limit = 3};
    atomic_store(&starts, true);
    sti_loop_run(&(sti_loop_def){.f = count, .context = &c, .n = 100, .chunk = 1, .threads = 3});
    return unused;
}

/* A process whose first loop starts at about the time of a fork. Returns an exit code. */
static int fork_at_first_loop(int delay)
{
    pthread_t thread;
    int status = -1;
    if (pthread_create(&thread, NULL, run_first_loop, NULL) != 0) return 2;
    while (!atomic_load(&starts)) (void)sched_yield();
    for (volatile int i = 0; i < delay; ++i) continue;
    pid_t child = fork();
    if (child == 0) _exit(run_in_child());
    if (child < 0 || waitpid(child, &status, 0) != child) return 3;
    if (pthread_join(thread, NULL) != 0) return 4;
    return status == 0 ? 0 : 5;
}

/* The first test: this process has run no loop, so neither have its children. */
static void fork_beside_the_first_loop(void **state)
{
    NOT_UNDER_TSAN;
    uint64_t dice = dice_seed("first loop");
    (void)sti_loops_always_shared(true);
    for (int k = 0; k < 200; ++k) {
        int delay = (int)dice_below(&dice, 20000);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(fork_at_first_loop(delay));
        must_end_well(child);
    }
}

/* ---- fork within a loop ------------------------------------------------------------------------------------------ */

static pid_t parent, forked;
static int forked_by; /* thread of the loop */
static _Atomic bool warned;

static void hear(stet_log_level level, const char *message, void *context)
{
    (void)context;
    if (level == STET_LOG_WARNING && strstr(message, "exec or _exit")) atomic_store(&warned, true);
}

static void fork_at_item(void *context, int64_t begin, int64_t end, int thread)
{
    int64_t item = *(const int64_t *)context;
    if (item < begin || item >= end || getpid() != parent) return;
    forked_by = thread;
    forked = fork();
    if (forked == 0) (void)alarm(20);
}

/* A child goes on with the loop whose item forked it, as it should not: it does not wait for threads that it lacks. */
static void fork_within_a_loop(void **state)
{
    NOT_UNDER_TSAN;
    int seen[2] = {0};
    parent = getpid();
    stet_set_log(hear, NULL);
    (void)sti_loops_always_shared(true);
    for (int64_t k = 0; k < 1000 && !(seen[0] && seen[1]); ++k) {
        int64_t item = k % 100;
        (void)fflush(NULL);
        sti_loop_run(&(sti_loop_def){
            .f = fork_at_item, .context = &item, .n = 100, .chunk = 1, .threads = 3, .seconds = (double)INFINITY});
        if (getpid() != parent) _exit(!atomic_load(&warned) || run_in_child() != 0);
        int status = -1;
        assert_true(forked > 0);
        assert_int_equal(waitpid(forked, &status, 0), forked);
        assert_true(WIFEXITED(status)); /* of a helper's child the leak checker knows no stack but the helper's */
        assert_true(forked_by != 0 || WEXITSTATUS(status) == 0);
        seen[forked_by != 0]++;
    }
    assert_true(seen[0] && seen[1]);
    stet_set_log(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_beside_the_first_loop),
        cmocka_unit_test(each_item_once),
        cmocka_unit_test(threads_come),
        cmocka_unit_test(many_threads_ask),
        cmocka_unit_test(modes),
        cmocka_unit_test(a_child_starts_its_own),
        cmocka_unit_test(fork_beside_loops),
        cmocka_unit_test(fork_within_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
