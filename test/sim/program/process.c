/*
 * The random program as one process among others: forked children, both sims stepping at the same time, steps that are
 * interrupted.
 */
#include "sim/program/program.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static bool on_the_host(const program *p)
{
    return device_of(p, SUBJECT)->can.host_memory && device_of(p, TWIN)->can.host_memory;
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* In the child, which may not fail as a test does; NULL: all is well. */
static const char *use_in_child(const program *p, int n)
{
    uint64_t hash[2] = {0};
    for (int i = 0; i < 2; ++i) {
        if (device_of(p, i)->can.compiles) {
            if (stet_device_synchronize(device_of(p, i)) != STET_ERROR_STATE) return "a GPU's device works in a child";
            continue;
        }
        if (stet_sim_step(p->sim[i], n) != STET_OK) return stet_get_last_error();
        if (stet_worlds_hash(worlds_of(p, i), &hash[i]) != STET_OK) return stet_get_last_error();
    }
    return on_the_host(p) && hash[SUBJECT] != hash[TWIN] ? "the states differ" : NULL;
}

void op_fork(program *p)
{
    int n = 1 + roll(p, 3), status = -1;
    say(p, "fork, and step %d in the child", n);
    (void)fflush(NULL);
    pid_t child = fork();
    CHECK(p, child >= 0, "no child was made");
    if (child == 0) {
        (void)alarm(120); /* a child that hangs is ended, and the parent says so */
        const char *wrong = use_in_child(p, n);
        if (wrong) (void)fprintf(stderr, "in the child: %s\n", wrong);
        _exit(wrong != NULL);
    }
    CHECK(p, waitpid(child, &status, 0) == child, "the child is lost");
    CHECK(p, status == 0, "the child ended with status %#x", (unsigned)status);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

typedef struct stepping {
    stet_sim *sim;
    int n;
    stet_result result;
    char said[256];
} stepping;

static void *step_aside(void *context)
{
    stepping *s = context;
    s->result = stet_sim_step(s->sim, s->n);
    (void)snprintf(s->said, sizeof s->said, "%s", stet_get_last_error());
    return NULL;
}

/* Each sim by one thread, both at the same time. */
void op_step_beside(program *p)
{
    pthread_t thread;
    stepping s = {.sim = p->sim[TWIN], .n = 1 + roll(p, 4)};
    if (!on_the_host(p)) return;
    say(p, "step %d, the twin in a thread of its own", s.n);
    CHECK(p, pthread_create(&thread, NULL, step_aside, &s) == 0, "no thread was made");
    stet_result result = stet_sim_step(p->sim[SUBJECT], s.n);
    CHECK(p, pthread_join(thread, NULL) == 0, "the thread is lost");
    must(p, SUBJECT, result, "stet_sim_step");
    CHECK(p, s.result == STET_OK, "the twin's step failed: %s", s.said);
}

/* ---- interruption ------------------------------------------------------------------------------------------------ */

static bool ends_it(void *context)
{
    ++*(int *)context;
    return true;
}

/* How far it comes depends on the clock, so both are put back after it (PROGRAM-3). */
void op_interrupt(program *p)
{
    stet_snapshot *before[2];
    uint64_t hash[2];
    int asked = 0;
    if (p->external || !on_the_host(p)) return;
    say(p, "a step that is interrupted");
    BOTH(p, stet_snapshot_create(worlds_of(p, i), &before[i]));
    stet_sim_set_interrupt(p->sim[SUBJECT], ends_it, &asked);
    stet_result result = stet_sim_step(p->sim[SUBJECT], 1000000000);
    stet_sim_set_interrupt(p->sim[SUBJECT], NULL, NULL);
    CHECK(p, result == STET_ERROR_INTERRUPTED && asked == 1, "asked %d times, result %d", asked, (int)result);
    must(p, TWIN, stet_sim_step(p->sim[TWIN], stet_sim_get_steps_made(p->sim[SUBJECT])), "stet_sim_step");
    BOTH(p, stet_worlds_hash(worlds_of(p, i), &hash[i]));
    CHECK(p, hash[SUBJECT] == hash[TWIN], "states differ after %d steps", stet_sim_get_steps_made(p->sim[SUBJECT]));
    BOTH(p, stet_sim_restore(p->sim[i], before[i]));
    for (int i = 0; i < 2; ++i) stet_snapshot_destroy(before[i]);
}
