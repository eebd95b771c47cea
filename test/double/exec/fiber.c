/*
 * Fibers, barriers, blocks. Invariants: fiber.h.
 */
#define _GNU_SOURCE
#include "fiber.h"

#include "condition.h"
#include "stack.h"

#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 1024, PARAMETERS = 128, WARP = 32, GARBAGE = 0xC7 };

/* What a lane gets from one that is not there. */
#define NOTHING 0xC7C7C7C7C7C7C7C7ull

typedef enum fiber_state { READY, AT_BLOCK, AT_LANES, ENDED } fiber_state;

typedef struct fiber {
    dd_stack *stack;
    fiber_state state;
    double_triple thread;
    unsigned lanes; /* that it waits for */
    double_exchange exchange;
    unsigned long long word, result; /* that it brings, and takes away */
    unsigned from;
} fiber;

/* The launch that runs; one at a time, under the double's lock. */
static struct run {
    const dd_function *function;
    unsigned grid[3], block[3];
    void *parameter[PARAMETERS];
    fiber fiber[THREADS];
    int nfiber;
    fiber *now;
    dd_place main;
    char *message;
    size_t message_size;
    pthread_t thread;
    volatile sig_atomic_t on;
    sigjmp_buf fault;
    void *fault_address;
    unsigned shared; /* bytes whose number the launch says */
    uint64_t waits;  /* of threads, for kernels before this one */
} run;

/* ---- inside a fiber ---------------------------------------------------------------------------------------------- */

static void sync_block(void)
{
    if (run.nfiber == 1) return;
    run.now->state = AT_BLOCK;
    dd_stack_leave(run.now->stack, &run.main);
}

/* The lanes of the fiber i's warp, of those that it names, that bring a word that is not 0, or the fiber's own. */
static unsigned long long lanes_with(int i, bool own)
{
    int first = i / WARP * WARP;
    const fiber *f = &run.fiber[i];
    unsigned long long set = 0;
    for (int lane = 0; lane < WARP && first + lane < run.nfiber; ++lane) {
        unsigned long long word = run.fiber[first + lane].word;
        if (f->lanes >> lane & 1 && (own ? word == f->word : word != 0)) set |= 1ull << lane;
    }
    return set;
}

/* What the fiber i of a warp gets of its lanes, which all have come; `votes`: what each of them gets of a vote. */
static unsigned long long exchanged(int i, unsigned long long votes)
{
    const fiber *f = &run.fiber[i];
    int from = i / WARP * WARP + (int)(f->from % WARP);
    switch (f->exchange) {
    case DOUBLE_FROM_LANE: return f->lanes >> f->from % WARP & 1 && from < run.nfiber ? run.fiber[from].word : NOTHING;
    case DOUBLE_VOTE: return votes;
    case DOUBLE_MATCH: return lanes_with(i, true);
    default: return 0;
    }
}

static unsigned long long exchange(unsigned lanes, double_exchange which, unsigned long long word, unsigned from)
{
    fiber *f = run.now;
    f->lanes = lanes;
    f->exchange = which;
    f->word = word;
    f->from = from;
    if (run.nfiber == 1) return exchanged(0, lanes_with(0, false));
    f->state = AT_LANES;
    dd_stack_leave(f->stack, &run.main);
    return f->result;
}

static void sync_warp(unsigned lanes) { (void)exchange(lanes, DOUBLE_SYNC, 0, 0); }

static void wait_for_others(void) { run.waits++; }

static void live(void)
{
    run.function->call(run.parameter);
    run.now->state = ENDED;
}

/* ---- a block ----------------------------------------------------------------------------------------------------- */

static void resume(fiber *f)
{
    run.now = f;
    run.function->module->frame->thread = f->thread;
    dd_stack_enter(f->stack, &run.main);
}

/* Runs all that can run, once, in a new order; false: none could. */
static bool run_ready(void)
{
    int order[THREADS], n = 0;
    for (int i = 0; i < run.nfiber; ++i)
        if (run.fiber[i].state == READY) order[n++] = i;
    for (int i = n; i > 1; --i) {
        int k = (int)dd_below((uint64_t)i), t = order[k];
        order[k] = order[i - 1];
        order[i - 1] = t;
    }
    for (int i = 0; i < n; ++i) resume(&run.fiber[order[i]]);
    return n > 0;
}

static int count_in(fiber_state state)
{
    int n = 0;
    for (int i = 0; i < run.nfiber; ++i) n += run.fiber[i].state == state;
    return n;
}

static bool release_block(void)
{
    if (count_in(AT_BLOCK) != run.nfiber) return false;
    for (int i = 0; i < run.nfiber; ++i) run.fiber[i].state = READY;
    return true;
}

/*
 * All threads of the warp that begins at `first` and that fiber i waits for wait for the same, at an exchange of the
 * same kind (FIBER-3). Lanes that do not exist have come. */
static bool lanes_have_come(int i)
{
    int first = i / WARP * WARP;
    unsigned lanes = run.fiber[i].lanes;
    if (!(lanes >> (i - first) & 1)) return false;
    for (int lane = 0; lane < WARP && first + lane < run.nfiber; ++lane) {
        const fiber *f = &run.fiber[first + lane];
        if (!(lanes >> lane & 1)) continue;
        if (f->state != AT_LANES || f->lanes != lanes || f->exchange != run.fiber[i].exchange) return false;
    }
    return true;
}

static bool release_lanes(void)
{
    bool any = false;
    for (int i = 0; i < run.nfiber; ++i) {
        if (run.fiber[i].state != AT_LANES || !lanes_have_come(i)) continue;
        int first = i / WARP * WARP;
        unsigned lanes = run.fiber[i].lanes;
        unsigned long long votes = lanes_with(i, false);
        for (int lane = 0; lane < WARP && first + lane < run.nfiber; ++lane)
            if (lanes >> lane & 1) run.fiber[first + lane].result = exchanged(first + lane, votes);
        for (int lane = 0; lane < WARP && first + lane < run.nfiber; ++lane)
            if (lanes >> lane & 1) run.fiber[first + lane].state = READY;
        any = true;
    }
    return any;
}

static int run_block(void)
{
    for (int i = 0; i < run.nfiber; ++i) {
        run.fiber[i].state = READY;
        dd_stack_begin(run.fiber[i].stack, live);
    }
    while (count_in(ENDED) < run.nfiber)
        if (!run_ready() && !release_block() && !release_lanes()) {
            snprintf(run.message, run.message_size,
                     "threads of a block of %d part at a barrier: %d wait for the block, %d for lanes, %d have ended",
                     run.nfiber, count_in(AT_BLOCK), count_in(AT_LANES), count_in(ENDED));
            return DD_LAUNCH_FAILED;
        }
    return DD_OK;
}

/* ---- wrong accesses (FIBER-4) ------------------------------------------------------------------------------------ */

static struct sigaction before[2];
static const int signals[2] = {SIGSEGV, SIGBUS};

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (run.on && pthread_equal(pthread_self(), run.thread)) {
        run.fault_address = info->si_addr;
        siglongjmp(run.fault, 1);
    }
    /* Somebody else's: as if this handler had never been, the access faults again. */
    for (int i = 0; i < 2; ++i)
        if (signals[i] == signal) sigaction(signal, &before[i], NULL);
}

static void catch_faults(stack_t *old)
{
    static unsigned char stack[1 << 16];
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, old);
    for (int i = 0; i < 2; ++i) sigaction(signals[i], &action, &before[i]);
    run.thread = pthread_self();
    run.on = 1;
}

static void leave_faults(const stack_t *old)
{
    run.on = 0;
    for (int i = 0; i < 2; ++i) sigaction(signals[i], &before[i], NULL);
    sigaltstack(old, NULL);
}

/* ---- a grid ------------------------------------------------------------------------------------------------------ */

/* Shared memory whose size the launch says; as much as any configuration has. */
static unsigned char dynamic[1 << 20] __attribute__((aligned(64)));

static int prepare(const dd_function *function, const unsigned grid[3], const unsigned block[3], unsigned shared,
                   const unsigned char *bytes)
{
    run.shared = shared;
    if (shared > sizeof dynamic) return DD_INVALID_VALUE;
    if (function->nparam > PARAMETERS) return DD_INVALID_VALUE;
    run.function = function;
    memcpy(run.grid, grid, sizeof run.grid);
    memcpy(run.block, block, sizeof run.block);
    run.nfiber = (int)(block[0] * block[1] * block[2]);
    for (size_t i = 0, at = 0; i < function->nparam; at += (function->size[i++] + 15) / 16 * 16)
        run.parameter[i] = (void *)(uintptr_t)(bytes + at);
    double_frame *frame = function->module->frame;
    frame->block_size = (double_triple){block[0], block[1], block[2]};
    frame->grid_size = (double_triple){grid[0], grid[1], grid[2]};
    frame->sync_block = sync_block;
    frame->sync_warp = sync_warp;
    frame->exchange = exchange;
    frame->set_condition = dd_condition_set;
    frame->wait_for_others = wait_for_others;
    frame->dynamic = dynamic;
    run.waits = 0;
    for (int i = 0; i < run.nfiber; ++i) {
        fiber *f = &run.fiber[i];
        unsigned k = (unsigned)i;
        f->thread = (double_triple){k % block[0], k / block[0] % block[1], k / block[0] / block[1]};
        if (!f->stack && !(f->stack = dd_stack_make())) return DD_OUT_OF_MEMORY;
    }
    return DD_OK;
}

/*
 * Numbers 0 … n - 1 in another order, without a list: i → (a·i + b) mod n, with a prime to n.
 */
static uint64_t prime_to(uint64_t n)
{
    for (uint64_t a = 1 + dd_below(n);; ++a) {
        uint64_t x = a, y = n;
        while (y) {
            uint64_t r = x % y;
            x = y;
            y = r;
        }
        if (x == 1) return a;
    }
}

static int run_blocks(void)
{
    const unsigned *g = run.grid;
    uint64_t n = (uint64_t)g[0] * g[1] * g[2], a = prime_to(n) % n, at = dd_below(n);
    double_frame *frame = run.function->module->frame;
    int result = DD_OK;
    for (uint64_t i = 0; i < n && !result; ++i) {
        at = at + a < n ? at + a : at + a - n;
        frame->block =
            (double_triple){(unsigned)(at % g[0]), (unsigned)(at / g[0] % g[1]), (unsigned)(at / g[0] / g[1])};
        memset(run.function->module->shared, GARBAGE, run.function->module->shared_size);
        memset(dynamic, GARBAGE, run.shared);
        result = run_block();
    }
    return result;
}

bool dd_grid_waited(void)
{
    const unsigned *g = run.grid, *b = run.block;
    return run.waits == (uint64_t)g[0] * g[1] * g[2] * b[0] * b[1] * b[2];
}

int dd_grid_run(const dd_function *function, const unsigned grid[3], const unsigned block[3], unsigned shared,
                const unsigned char *bytes, char *message, size_t size)
{
    run.message = message;
    run.message_size = size;
    int result = prepare(function, grid, block, shared, bytes);
    if (result) return result;
    fenv_t environment;
    stack_t old;
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    catch_faults(&old);
    if (sigsetjmp(run.fault, 0) == 0) {
        result = run_blocks();
    } else {
        result = DD_ILLEGAL_ADDRESS;
        const double_frame *frame = run.function->module->frame;
        snprintf(message, size, "block %u, thread %u of it touched %p, which is closed or nowhere", frame->block.x,
                 frame->thread.x, run.fault_address);
    }
    leave_faults(&old);
    fesetenv(&environment);
    return result;
}
