/* Parallel loops over threads; see threads.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setname_np */
#endif
#include "device/cpu/threads.h"

#include "base/clock.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum {
    MOST_HELPERS = 4096,
    MOST_RANGES = 32,
    SPIN_NS = 50000,           /* THREADS-2: time of spinning, for work and for helpers to leave */
    PAYS_AWAKE_NS = 8000,      /* least remaining work of a loop that is offered to a spinning helper … */
    PAYS_ASLEEP_NS = 40000,    /* … and to one that must be woken */
    FIRST_CREDIT_NS = 1000000, /* credit: what helpers may lose at first, and after each rest … */
    MOST_CREDIT_NS = 20000000, /* … and the most that earlier gains can add up to */
    MOST_LOSS_NS = 5000000,    /* greatest loss that counts */
    /* after the credit is used up, this multiple of the loss is worked without helpers … */
    LEAST_REST = 8,
    MOST_REST = 128 /* … doubled each time, and halved by each gain at full credit */
};

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>
static void relax(void) { _mm_pause(); }
#else
static void relax(void) { atomic_signal_fence(memory_order_seq_cst); }
#endif

/* ---- floating-point environment (THREADS-6) ---------------------------------------------------------------------- */

#if defined(__SSE__)
typedef unsigned float_mode;
static inline float_mode enter_float_mode(void)
{
    unsigned saved = _mm_getcsr();
    _mm_setcsr(0x1f80); /* all exceptions masked, nearest, no flush to zero */
    return saved;
}
static inline void leave_float_mode(float_mode saved) { _mm_setcsr(saved); }
#else
#include <fenv.h>
typedef fenv_t float_mode;
static inline float_mode enter_float_mode(void)
{
    fenv_t saved;
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}
static inline void leave_float_mode(float_mode saved) { fesetenv(&saved); }
#endif

/* ---- what is shared ---------------------------------------------------------------------------------------------- */

/* A part of a loop's items, and the first of them that no thread has claimed. */
typedef struct range {
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} range;

typedef struct loop {
    const sti_loop_def *def;
    int nrange;
    range range[MOST_RANGES];
    _Atomic int inside;     /* helpers inside now */
    _Atomic int joined;     /* helpers that ever joined: the last one's thread number */
    _Atomic int64_t helped; /* CPU time of helpers, ns */
    int forks;              /* pool.forks when the loop began */
    int room;               /* for more helpers; guarded by the lock */
    struct loop *below;     /* next open loop; guarded by the lock */
} loop;

typedef struct helper {
    pthread_t thread;
    bool busy; /* running a loop */
} helper;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, left;
    loop *open; /* loops that have room */
    /* most: helpers that loops have asked for; woken: signalled helpers that have not noticed yet */
    int nhelper, most, asleep, woken;
    int forks; /* between this process and the one that loaded the library */
    bool ends;
    helper helper[MOST_HELPERS];
    _Atomic bool any_open; /* there is an open loop */
    _Atomic int looking;   /* helpers that spin */
    _Atomic int waiting;   /* callers that sleep until their helpers have left */
    /* THREADS-1: ns; alone: work to be done without helpers before the next loop is offered */
    _Atomic int64_t credit, alone;
    _Atomic int rest;
    _Atomic bool always;
} pool = {.rest = LEAST_REST,
          .credit = FIRST_CREDIT_NS,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER};

static _Thread_local bool in_loop;

/* THREADS-7: one range a thread, of whole chunks. */
static void make_ranges(loop *l)
{
    assert(l->def->chunk > 0 && l->def->n > l->def->from && l->def->threads > 1);
    const sti_loop_def *d = l->def;
    int64_t chunks = (d->n - d->from + d->chunk - 1) / d->chunk;
    int most = d->threads < MOST_RANGES ? d->threads : MOST_RANGES;
    l->nrange = chunks < most ? (int)chunks : most;
    for (int r = 0; r < l->nrange; ++r) {
        int64_t end = d->from + chunks * (r + 1) / l->nrange * d->chunk;
        atomic_init(&l->range[r].next, d->from + chunks * r / l->nrange * d->chunk);
        l->range[r].end = end < d->n ? end : d->n;
        assert(atomic_load(&l->range[r].next) < l->range[r].end && "THREADS-7: no range is empty");
    }
    assert(l->range[0].next == d->from && l->range[l->nrange - 1].end == d->n && "the ranges cover the loop");
}

/* A thread begins with its own range, and then helps with the others'. */
static void claim_and_run(loop *l, int thread)
{
    const sti_loop_def *d = l->def;
    for (int k = 0; k < l->nrange; ++k) {
        range *r = &l->range[(thread + k) % l->nrange];
        for (;;) {
            int64_t begin = atomic_fetch_add_explicit(&r->next, d->chunk, memory_order_relaxed);
            if (begin >= r->end) break;
            d->f(d->context, begin, r->end - begin < d->chunk ? r->end : begin + d->chunk, thread);
        }
    }
}

static void close_loop(loop *l) /* called with the lock; does nothing if the loop is not open */
{
    loop **at = &pool.open;
    while (*at && *at != l) at = &(*at)->below;
    if (*at) *at = l->below;
    atomic_store(&pool.any_open, pool.open != NULL);
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static void *run_helper(void *self);

/*
 * Blocks signals in a helper, because they are for the program's own threads. Signals that a thread causes itself stay
 * unblocked.
 */
static void block_signals(sigset_t *saved)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t all;
    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) (void)sigdelset(&all, own[i]);
    (void)pthread_sigmask(SIG_SETMASK, &all, saved);
}

/*
 * THREADS-5. The handlers are there before any thread can hold the lock: a child forked beside the first loop would
 * have inherited a lock that nobody releases.
 */
static void before_fork(void) { (void)pthread_mutex_lock(&pool.lock); }
static void after_fork(void) { (void)pthread_mutex_unlock(&pool.lock); }
static void reset_in_child(void)
{
    (void)pthread_cond_init(&pool.work, NULL);
    (void)pthread_cond_init(&pool.left, NULL);
    pool.open = NULL;
    pool.nhelper = pool.asleep = pool.woken = 0;
    pool.forks++;
    atomic_store(&pool.any_open, false);
    atomic_store(&pool.looking, 0);
    atomic_store(&pool.waiting, 0);
    (void)pthread_mutex_unlock(&pool.lock);
}
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, reset_in_child);
}

/*
 * Called with the lock: makes one more helper look for work. If the system has no more threads, there are fewer
 * helpers.
 */
static void wake_helper(void)
{
    assert(pool.asleep >= 0 && pool.woken >= 0 && pool.nhelper <= MOST_HELPERS);
    if (pool.asleep > 0) {
        pool.asleep--;
        pool.woken++;
        (void)pthread_cond_signal(&pool.work);
        return;
    }
    if (pool.nhelper >= pool.most || pool.ends) return;
    sigset_t saved;
    helper *h = &pool.helper[pool.nhelper];
    block_signals(&saved);
    h->busy = false;
    if (pthread_create(&h->thread, NULL, run_helper, h) == 0) pool.nhelper++;
    (void)pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

/* Called with the lock, which is released meanwhile: spins for a while, then sleeps until it is woken. */
static void wait_for_work(void)
{
    atomic_fetch_add(&pool.looking, 1);
    (void)pthread_mutex_unlock(&pool.lock);
    for (int64_t end = sti_now_ns() + SPIN_NS;
         !atomic_load_explicit(&pool.any_open, memory_order_relaxed) && sti_now_ns() < end;)
        for (int i = 0; i < 8; ++i) relax();
    (void)pthread_mutex_lock(&pool.lock);
    atomic_fetch_sub(&pool.looking, 1);
    if (pool.open || pool.ends) return;
    pool.asleep++;
    while (!pool.woken && !pool.ends) (void)pthread_cond_wait(&pool.work, &pool.lock);
    if (pool.woken) pool.woken--;
}

/* In a child that was forked by one of the loop's own items: nobody does the items that other threads had begun. */
static bool is_abandoned(const loop *l)
{
    if (l->forks == pool.forks) return false;
    sti_log(STET_LOG_WARNING, "a process was forked inside a parallel loop, and its child went on with the loop, which "
                              "lacks what other threads had begun; let such a child call exec or _exit");
    return true;
}

/* Called without the lock. After `inside` is decremented the loop may no longer exist (THREADS-4). */
static void help_with(loop *l, int thread)
{
    int64_t start = sti_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    claim_and_run(l, thread);
    if (is_abandoned(l)) pthread_exit(NULL); /* the child's only thread: with it the child ends */
    atomic_fetch_add(&l->helped, sti_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
    assert(thread > 0 && atomic_load(&l->inside) > 0 && "THREADS-4");
    if (atomic_fetch_sub(&l->inside, 1) > 1 || !atomic_load(&pool.waiting)) return;
    (void)pthread_mutex_lock(&pool.lock);
    (void)pthread_cond_broadcast(&pool.left);
    (void)pthread_mutex_unlock(&pool.lock);
}

static void *run_helper(void *self)
{
    helper *h = self;
    in_loop = true;
    (void)pthread_setname_np(pthread_self(), "stet");
    (void)enter_float_mode();
    (void)pthread_mutex_lock(&pool.lock);
    while (!pool.ends) {
        loop *l = pool.open;
        if (!l) {
            wait_for_work();
            continue;
        }
        int thread = atomic_fetch_add(&l->joined, 1) + 1;
        atomic_fetch_add(&l->inside, 1);
        assert(l->room > 0 && "an open loop has room");
        if (--l->room == 0) close_loop(l);
        if (pool.open && !atomic_load(&pool.looking)) wake_helper();
        h->busy = true;
        (void)pthread_mutex_unlock(&pool.lock);
        help_with(l, thread);
        (void)pthread_mutex_lock(&pool.lock);
        h->busy = false;
    }
    (void)pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/*
 * THREADS-5. A helper inside a loop is not joined: another thread, which still runs while the process ends, owns that
 * loop.
 */
__attribute__((destructor)) static void end_helpers(void)
{
    (void)pthread_mutex_lock(&pool.lock);
    pool.ends = true;
    (void)pthread_cond_broadcast(&pool.work);
    for (int i = 0; i < pool.nhelper; ++i) {
        helper h = pool.helper[i];
        (void)pthread_mutex_unlock(&pool.lock);
        if (h.busy)
            (void)pthread_detach(h.thread);
        else
            (void)pthread_join(h.thread, NULL);
        (void)pthread_mutex_lock(&pool.lock);
    }
    pool.nhelper = 0;
    (void)pthread_mutex_unlock(&pool.lock);
}

/* ---- the caller -------------------------------------------------------------------------------------------------- */

/* Does it pay to offer the remaining work? Work that does not, only because of a rest, is subtracted from the rest. */
static bool is_worth_sharing(double ns)
{
    if (atomic_load_explicit(&pool.always, memory_order_relaxed)) return true;
    if (ns < PAYS_AWAKE_NS) return false;
    if (ns < PAYS_ASLEEP_NS && !atomic_load_explicit(&pool.looking, memory_order_relaxed)) return false;
    if (isinf(ns) || atomic_load_explicit(&pool.alone, memory_order_relaxed) <= 0) return true;
    atomic_fetch_sub_explicit(&pool.alone, (int64_t)ns, memory_order_relaxed);
    return false;
}

static void offer_loop(loop *l)
{
    const sti_loop_def *d = l->def;
    int64_t chunks = (d->n - d->from + d->chunk - 1) / d->chunk;
    l->room = chunks < d->threads ? (int)chunks - 1 : d->threads - 1;
    if (l->room < 1) return;
    (void)pthread_mutex_lock(&pool.lock);
    if (pool.most < l->room) pool.most = l->room < MOST_HELPERS ? l->room : MOST_HELPERS;
    l->below = pool.open;
    pool.open = l;
    atomic_store(&pool.any_open, true);
    if (!atomic_load(&pool.looking)) wake_helper();
    bool any = pool.nhelper > 0;
    (void)pthread_mutex_unlock(&pool.lock);
    if (!any || !atomic_load_explicit(&pool.always, memory_order_relaxed)) return;
    for (int i = 0; i < 10000 && !atomic_load(&l->joined); ++i) (void)sched_yield();
}

/* Waits until no helper is inside; no new one can join. */
static void wait_for_helpers(loop *l)
{
    if (is_abandoned(l)) return;
    (void)pthread_mutex_lock(&pool.lock);
    close_loop(l);
    (void)pthread_mutex_unlock(&pool.lock);
    if (!atomic_load(&l->inside)) return;
    for (int64_t end = sti_now_ns() + SPIN_NS; atomic_load(&l->inside) && sti_now_ns() < end;)
        for (int i = 0; i < 8; ++i) relax();
    if (!atomic_load(&l->inside)) return;
    (void)pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.waiting, 1);
    while (atomic_load(&l->inside)) (void)pthread_cond_wait(&pool.left, &pool.lock);
    atomic_fetch_sub(&pool.waiting, 1);
    (void)pthread_mutex_unlock(&pool.lock);
}

/*
 * THREADS-1. Where other processes use the processors, a helper can be descheduled in the middle of its work while the
 * caller waits for it.
 */
static void update_credit(int64_t gain)
{
    int64_t credit = atomic_load_explicit(&pool.credit, memory_order_relaxed) + gain;
    int rest = atomic_load_explicit(&pool.rest, memory_order_relaxed);
    if (credit < 0) {
        int64_t loss = FIRST_CREDIT_NS + (credit < -MOST_LOSS_NS ? MOST_LOSS_NS : -credit);
        atomic_store_explicit(&pool.alone, rest * loss, memory_order_relaxed);
        atomic_store_explicit(&pool.rest, rest < MOST_REST ? 2 * rest : rest, memory_order_relaxed);
        credit = FIRST_CREDIT_NS;
    } else if (credit > MOST_CREDIT_NS) {
        atomic_store_explicit(&pool.rest, rest > LEAST_REST ? rest / 2 : rest, memory_order_relaxed);
        credit = MOST_CREDIT_NS;
    }
    assert(credit >= 0 && credit <= MOST_CREDIT_NS && "THREADS-1");
    atomic_store_explicit(&pool.credit, credit, memory_order_relaxed);
}

/* Returns the CPU time that the loop took, ns. */
static double run_shared(const sti_loop_def *d)
{
    loop l;
    l.def = d;
    l.forks = pool.forks;
    atomic_init(&l.inside, 0);
    atomic_init(&l.joined, 0);
    atomic_init(&l.helped, 0);
    make_ranges(&l);
    int64_t start = sti_now_ns(), cpu = sti_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    offer_loop(&l);
    claim_and_run(&l, 0);
    cpu = sti_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    wait_for_helpers(&l);
    int64_t end = sti_now_ns(), all = cpu + atomic_load(&l.helped);
    assert(l.forks != pool.forks || atomic_load(&l.inside) == 0);
    if (!isinf(d->seconds)) update_credit(all - (end - start));
    return (double)all;
}

/* ---- what loops take --------------------------------------------------------------------------------------------- */

/*
 * The time of a loop that this thread has run before. A short loop counts as short, and is timed again after some runs.
 */
typedef struct known {
    const void *key;
    int64_t n;
    double ns;
    int trust; /* runs left without reading the clock */
} known;

enum { KNOWN = 64, TRUST = 15 };
static _Thread_local known table[KNOWN];

static known *find_known(const sti_loop_def *d)
{
    known *k = &table[((uintptr_t)d->key >> 4 ^ (uintptr_t)d->n) % KNOWN];
    if (k->key != d->key || k->n != d->n) *k = (known){.key = d->key, .n = d->n};
    return k;
}

static double run_alone(const sti_loop_def *d, int64_t from)
{
    int64_t start = sti_now_ns();
    d->f(d->context, from, d->n, 0);
    return (double)(sti_now_ns() - start) * (double)d->n / (double)(d->n - from);
}

/* Runs a loop of unknown duration; its first chunk is timed. */
static double run_unknown(const sti_loop_def *d)
{
    int64_t start = sti_now_ns();
    d->f(d->context, 0, d->chunk, 0);
    double each = (double)(sti_now_ns() - start) / (double)d->chunk;
    sti_loop_def rest = *d;
    rest.from = d->from + d->chunk;
    if (is_worth_sharing(each * (double)(d->n - rest.from))) return run_shared(&rest) + each * (double)d->chunk;
    (void)run_alone(d, rest.from);
    return each * (double)d->n;
}

static void run_timed(const sti_loop_def *d)
{
    known own = {.ns = d->seconds * 1e9}, *k = d->key ? find_known(d) : &own;
    if (k->trust > 0 && !atomic_load_explicit(&pool.always, memory_order_relaxed)) {
        k->trust--;
        d->f(d->context, 0, d->n, 0);
        return;
    }
    k->ns = k->ns == 0 ? run_unknown(d) : is_worth_sharing(k->ns) ? run_shared(d) : run_alone(d, 0);
    if (k->ns < (double)PAYS_AWAKE_NS / 2) k->trust = TRUST;
}

void sti_loop_run(const sti_loop_def *d)
{
    assert(d->f && d->n >= 0 && d->chunk > 0 && d->from == 0 && d->seconds >= 0);
    float_mode saved = enter_float_mode();
    bool nested = in_loop;
    in_loop = true;
    if (nested || d->threads <= 1 || d->n <= d->chunk)
        d->f(d->context, 0, d->n, 0);
    else
        run_timed(d);
    in_loop = nested;
    leave_float_mode(saved);
}

bool sti_loops_always_shared(bool always) { return atomic_exchange(&pool.always, always); }

int sti_loop_helpers(void)
{
    (void)pthread_mutex_lock(&pool.lock);
    int n = pool.nhelper;
    (void)pthread_mutex_unlock(&pool.lock);
    return n;
}
