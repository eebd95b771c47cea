/*
 * Time steps of a sim's physics, with the caller's interrupt function asked in between.
 */
#include "sim/sim.h"

#include "stage/stage.h"

#include <assert.h>

/* Time steps that a GPU takes in one launch, which cannot be interrupted. */
enum { ASKS_A_SECOND = 100, MOST_QUEUED = 64 };

/* Calls the caller's interrupt function between time steps. */
static stet_result ask_caller(stet_sim *sim, int n)
{
    if (!sim->interrupt.ask || sim->made == n || sti_now() < sim->interrupt.next) return STET_OK;
    bool ends = sim->interrupt.ask(sim->interrupt.context);
    sim->interrupt.next = sti_now() + 1.0 / ASKS_A_SECOND;
    if (!ends) return STET_OK;
    return sti_error(STET_ERROR_INTERRUPTED, "step: interrupted after %d of %d time steps", sim->made, n);
}

static int64_t count_stepped(const stet_sim *sim)
{
    if (!sim->stepped) return sim->worlds->nworld;
    int64_t n = 0;
    for (int64_t w = 0; w < sim->worlds->nworld; ++w) n += sim->stepped[w] != 0;
    return n;
}

/* Number of time steps until the next call of the interrupt function, at most `left`. No bit depends on it. */
static int piece_of(const stet_sim *sim, int64_t nstepped, int left)
{
    double seconds = sim->worlds->state.step_seconds * (double)nstepped;
    if (left <= 1 || seconds == 0) return 1;
    double fit = 1 / (seconds * ASKS_A_SECOND);
    int piece = fit >= left ? left : fit >= 1 ? (int)fit : 1;
    assert(piece >= 1 && piece <= left && "a step ends");
    return piece;
}

bool sti_sim_steps_at_once(const stet_sim *sim, int n)
{
    stet_physics physics = stet_step_get_physics(sim->step);
    bool queued = physics == STET_PHYSICS_NATIVE && sim->device->can.queues && n <= MOST_QUEUED;
    return !sim->interrupt.ask || n <= 1 || physics == STET_PHYSICS_EXTERNAL || queued;
}

static stet_result step_in_pieces(stet_sim *sim, int n)
{
    bool whole = sti_sim_steps_at_once(sim, n);
    int64_t nstepped = whole ? 0 : count_stepped(sim);
    do {
        int piece = whole ? n : piece_of(sim, nstepped, n - sim->made);
        STI_TRY(stet_step_run_worlds(sim->step, sim->stepped, piece));
        sim->made += piece;
        assert(sim->made <= n);
        STI_TRY(ask_caller(sim, n));
    } while (sim->made < n);
    return STET_OK;
}

/*
 * A step with pose_sync switched off: poses and transforms are updated after each time step. All memory for that is
 * allocated before the step, so a step that was made cannot fail afterwards.
 */
static stet_result step_and_follow(stet_sim *sim, int n)
{
    STI_TRY(sti_stage_prepare(sim->stage));
    for (int i = 0; i < n; ++i) {
        STI_TRY_TIMED(sim, step, stet_step_run_worlds(sim->step, sim->stepped, 1));
        STI_TRY_TIMED(sim, hierarchy, stet_stage_flush(sim->stage, false));
        sim->made++;
        STI_TRY(ask_caller(sim, n));
    }
    return STET_OK;
}

stet_result sti_sim_physics(stet_sim *sim, int n)
{
    if (n > 0 && !sti_enabled(&sim->device->mechanisms, STET_MECHANISM_POSE_SYNC)) return step_and_follow(sim, n);
    STI_TRY_TIMED(sim, step, step_in_pieces(sim, n));
    return STET_OK;
}

void stet_sim_set_interrupt(stet_sim *sim, stet_interrupt_fn *ask, void *context)
{
    if (!sim) return;
    sim->interrupt.ask = ask;
    sim->interrupt.context = context;
}

int stet_sim_get_steps_made(const stet_sim *sim) { return sim ? sim->made : 0; }
