/* Loops shared by threads; see threads.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setname_np */
#endif
#include "device/cpu/threads.h"

#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum {
    MOST_HELPERS = 4096,
    SPIN_NS = 50000,           /* THREADS-2: busy waiting, for work and for helpers to leave */
    PAYS_AWAKE_NS = 8000,      /* what has to be left of a loop, where a helper is looking for work … */
    PAYS_ASLEEP_NS = 40000,    /* … and where one has to be woken */
    FIRST_CREDIT_NS = 1000000, /* what helpers may lose at first, and after each rest … */
    MOST_CREDIT_NS = 20000000, /* … and where they have brought as much before */
    MOST_LOSS_NS = 5000000,    /* what counts of one */
    LEAST_REST = 8, /* a loss that is not paid for is followed by so many times as much work without helpers, … */
    MOST_REST = 128 /* … twice as many each time, half as many with each gain where credit is full */
};

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
#include <immintrin.h>
static void relax(void) { _mm_pause(); }
#else
static void relax(void) { atomic_signal_fence(memory_order_seq_cst); }
#endif

/* ---- floating-point environment (THREADS-6) ----------------------------------------------------------------------------- */

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

typedef struct loop {
    const sti_loop_def *def;
    _Atomic int64_t next;   /* the first item that nobody has claimed */
    _Atomic int inside;     /* helpers */
    _Atomic int joined;     /* helpers, ever: the last one's thread */
    _Atomic int64_t helped; /* CPU time of helpers, ns */
    int room;               /* for helpers; the lock's */
    struct loop *below;     /* the lock's */
} loop;

typedef struct helper {
    pthread_t thread;
    bool busy; /* in a loop */
} helper;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, left;
    loop *open; /* loops that have room */
    int nhelper, most, asleep,
        woken; /* most: that loops have asked for; woken: of those that slept, who have not noticed yet */
    bool ends;
    helper helper[MOST_HELPERS];
    _Atomic bool any_open;         /* there are open loops */
    _Atomic int looking;           /* helpers that wait busily */
    _Atomic int waiting;           /* callers that sleep until their helpers have left */
    _Atomic int64_t credit, alone; /* THREADS-1: ns, of work that callers do alone before a loop is shown again */
    _Atomic int rest;
    _Atomic bool always;
} pool = {.rest = LEAST_REST,
          .credit = FIRST_CREDIT_NS,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER};

static _Thread_local bool in_loop;

static void claim_and_run(loop *l, int thread)
{
    const sti_loop_def *d = l->def;
    for (;;) {
        int64_t begin = atomic_fetch_add_explicit(&l->next, d->chunk, memory_order_relaxed);
        if (begin >= d->n) return;
        d->f(d->context, begin, d->n - begin < d->chunk ? d->n : begin + d->chunk, thread);
    }
}

static void close_loop(loop *l) /* with the lock; one that is not open is fine */
{
    loop **at = &pool.open;
    while (*at && *at != l) at = &(*at)->below;
    if (*at) *at = l->below;
    atomic_store(&pool.any_open, pool.open != NULL);
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static void *help(void *self);

/* Signals are for the program's own threads; what a thread brings on itself stays its own. */
static void block_signals(sigset_t *saved)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t all;
    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) (void)sigdelset(&all, own[i]);
    (void)pthread_sigmask(SIG_SETMASK, &all, saved);
}

/* T5. */
static void before_fork(void) { (void)pthread_mutex_lock(&pool.lock); }
static void after_fork(void) { (void)pthread_mutex_unlock(&pool.lock); }
static void in_child(void)
{
    (void)pthread_mutex_init(&pool.lock, NULL);
    (void)pthread_cond_init(&pool.work, NULL);
    (void)pthread_cond_init(&pool.left, NULL);
    pool.open = NULL;
    pool.nhelper = pool.asleep = pool.woken = 0;
    atomic_store(&pool.any_open, false);
    atomic_store(&pool.looking, 0);
    atomic_store(&pool.waiting, 0);
}
static void watch_forks(void) { (void)pthread_atfork(before_fork, after_fork, in_child); }

/* With the lock: one more helper looks for work. A system that has no thread to give is no error: fewer help. */
static void wake_one(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pool.asleep > 0) {
        pool.asleep--;
        pool.woken++;
        (void)pthread_cond_signal(&pool.work);
        return;
    }
    if (pool.nhelper >= pool.most || pool.ends) return;
    sigset_t saved;
    helper *h = &pool.helper[pool.nhelper];
    (void)pthread_once(&once, watch_forks);
    block_signals(&saved);
    h->busy = false;
    if (pthread_create(&h->thread, NULL, help, h) == 0) pool.nhelper++;
    (void)pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

/* With the lock, which is let go meanwhile: looks for a while, then sleeps until it is woken. */
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

/* Without the lock. After `inside` is counted down the loop may be gone (THREADS-4). */
static void help_with(loop *l, int thread)
{
    int64_t start = sti_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    claim_and_run(l, thread);
    atomic_fetch_add(&l->helped, sti_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
    if (atomic_fetch_sub(&l->inside, 1) > 1 || !atomic_load(&pool.waiting)) return;
    (void)pthread_mutex_lock(&pool.lock);
    (void)pthread_cond_broadcast(&pool.left);
    (void)pthread_mutex_unlock(&pool.lock);
}

static void *help(void *self)
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
        if (--l->room == 0) close_loop(l);
        if (pool.open && !atomic_load(&pool.looking)) wake_one();
        h->busy = true;
        (void)pthread_mutex_unlock(&pool.lock);
        help_with(l, thread);
        (void)pthread_mutex_lock(&pool.lock);
        h->busy = false;
    }
    (void)pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* T5. A helper that is in a loop is another thread's, who goes on while the process ends. */
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

/* Does it pay to show what is left? Work that does not, for the rest alone, is counted. */
static bool pays(double ns)
{
    if (atomic_load_explicit(&pool.always, memory_order_relaxed)) return true;
    if (ns < PAYS_AWAKE_NS) return false;
    if (ns < PAYS_ASLEEP_NS && !atomic_load_explicit(&pool.looking, memory_order_relaxed)) return false;
    if (isinf(ns) || atomic_load_explicit(&pool.alone, memory_order_relaxed) <= 0) return true;
    atomic_fetch_sub_explicit(&pool.alone, (int64_t)ns, memory_order_relaxed);
    return false;
}

static void show_threads(loop *l)
{
    const sti_loop_def *d = l->def;
    int64_t chunks = (d->n - atomic_load_explicit(&l->next, memory_order_relaxed) + d->chunk - 1) / d->chunk;
    l->room = chunks < d->threads ? (int)chunks - 1 : d->threads - 1;
    if (l->room < 1) return;
    (void)pthread_mutex_lock(&pool.lock);
    if (pool.most < l->room) pool.most = l->room < MOST_HELPERS ? l->room : MOST_HELPERS;
    l->below = pool.open;
    pool.open = l;
    atomic_store(&pool.any_open, true);
    if (!atomic_load(&pool.looking)) wake_one();
    bool any = pool.nhelper > 0;
    (void)pthread_mutex_unlock(&pool.lock);
    if (!any || !atomic_load_explicit(&pool.always, memory_order_relaxed)) return;
    for (int i = 0; i < 10000 && !atomic_load(&l->joined); ++i) (void)sched_yield();
}

/* Until no helper is inside; none can come any more. */
static void wait_for_helpers(loop *l)
{
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

/* T1. Where other processes want the processors, a helper may stand still in the middle of its work, and the caller with it. */
static void account(int64_t gain)
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
    atomic_store_explicit(&pool.credit, credit, memory_order_relaxed);
}

/* Returns the CPU time that it took, ns. */
static double share(const sti_loop_def *d)
{
    loop l = {.def = d, .next = d->from};
    int64_t start = sti_now_ns(), cpu = sti_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    show_threads(&l);
    claim_and_run(&l, 0);
    cpu = sti_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    wait_for_helpers(&l);
    int64_t end = sti_now_ns(), all = cpu + atomic_load(&l.helped);
    if (!isinf(d->seconds)) account(all - (end - start));
    return (double)all;
}

/* ---- what loops take --------------------------------------------------------------------------------------------- */

/* Of a loop that came before in this thread. A short one is taken for as short as it was, and looked at again after a while. */
typedef struct known {
    const void *key;
    int64_t n;
    double ns;
    int trust; /* times that it is still run without a look at the clock */
} known;

enum { KNOWN = 64, TRUST = 15 };
static _Thread_local known table[KNOWN];

static known *find_threads(const sti_loop_def *d)
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

/* Where nothing is known, the first chunk tells. */
static double run_unknown(const sti_loop_def *d)
{
    int64_t start = sti_now_ns();
    d->f(d->context, 0, d->chunk, 0);
    double each = (double)(sti_now_ns() - start) / (double)d->chunk;
    sti_loop_def rest = *d;
    rest.from = d->from + d->chunk;
    if (pays(each * (double)(d->n - rest.from))) return share(&rest) + each * (double)d->chunk;
    (void)run_alone(d, rest.from);
    return each * (double)d->n;
}

static void run_threads(const sti_loop_def *d)
{
    known own = {.ns = d->seconds * 1e9}, *k = d->key ? find_threads(d) : &own;
    if (k->trust > 0 && !atomic_load_explicit(&pool.always, memory_order_relaxed)) {
        k->trust--;
        d->f(d->context, 0, d->n, 0);
        return;
    }
    k->ns = k->ns == 0 ? run_unknown(d) : pays(k->ns) ? share(d) : run_alone(d, 0);
    if (k->ns < (double)PAYS_AWAKE_NS / 2) k->trust = TRUST;
}

void sti_loop_run(const sti_loop_def *d)
{
    float_mode saved = enter_float_mode();
    bool nested = in_loop;
    in_loop = true;
    if (nested || d->threads <= 1 || d->n <= d->chunk)
        d->f(d->context, 0, d->n, 0);
    else
        run_threads(d);
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
