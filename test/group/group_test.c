/*
 * Groups of ranks that are threads: exchanging, sums in one order, failures, and the state of all worlds.
 */
#include "group/ranks.h"

#include "base/dice.h"
#include "group/group.h"
#include "sim/room.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* What ranks do and find; assertions are made when they have ended. */
typedef struct job {
    int nrank;
    int64_t nworld, own[RANKS_MOST]; /* own -1: even shares */
    int64_t n;                       /* numbers a world */
    const double *values;            /* [nworld][n] */
    double *out[RANKS_MOST], *all;
    const char *version[RANKS_MOST];
    int ends; /* this rank ends early; -1: none */
    const char *path;
    uint64_t hash, shot;
    stet_result result[RANKS_MOST];
    char said[RANKS_MOST][512];
} job;

static stet_result keep(job *j, int rank, stet_result result)
{
    j->result[rank] = result;
    (void)snprintf(j->said[rank], sizeof j->said[rank], "%s", result == STET_OK ? "" : stet_get_last_error());
    return result;
}

static stet_result join_group(const job *j, int rank, const stet_transport *transport, stet_group **out)
{
    stet_group_def def = stet_default_group_def();
    def.transport = *transport;
    def.nworld = j->nworld;
    def.own = j->own[rank];
    if (!j->version[rank]) return stet_group_create(&def, out);
    return sti_group_create_as(&def, j->version[rank], "3.2.1", out);
}

/* All ranks found the same, and said this. */
static void check_all(const job *j, stet_result result, const char *words)
{
    for (int r = 0; r < j->nrank; ++r) {
        if (j->result[r] != result || !strstr(j->said[r], words))
            fail_msg("rank %d: %d, '%s' lacks '%s'", r, j->result[r], j->said[r], words);
        assert_string_equal(j->said[r], j->said[0]);
    }
}

/* ---- sums and exchanges ------------------------------------------------------------------------------------------ */

/* The definition: a node without worlds on one side is the other side. */
static double tree_sum(const job *j, int64_t i, int64_t at, int64_t size)
{
    if (size == 1) return j->values[at * j->n + i];
    double left = tree_sum(j, i, at, size / 2);
    return at + size / 2 < j->nworld ? left + tree_sum(j, i, at + size / 2, size / 2) : left;
}

static void exchange(int rank, const stet_transport *transport, void *context)
{
    job *j = context;
    stet_group *g;
    if (keep(j, rank, join_group(j, rank, transport, &g)) != STET_OK) return;
    size_t item = (size_t)j->n * sizeof(double), own = (size_t)stet_group_get_own(g) * item;
    const double *from = j->values + stet_group_get_first(g) * j->n;
    double *back = calloc(1, own + 1);
    stet_result result = stet_group_sum(g, from, j->n, j->out[rank]);
    if (result == STET_OK) result = stet_group_gather(g, from, item, rank == 0 ? j->all : NULL);
    if (result == STET_OK) result = stet_group_scatter(g, rank == 0 ? j->all : NULL, item, back);
    if (result == STET_OK && memcmp(back, from, own) != 0) result = sti_error(STET_ERROR_FAULT, "scattered otherwise");
    keep(j, rank, result);
    free(back);
    stet_group_destroy(g);
}

static void divide_at_random(uint64_t *d, job *j)
{
    int64_t left = j->nworld;
    bool even = dice_below(d, 3) == 0;
    for (int r = 0; r < j->nrank; ++r) {
        j->own[r] = even ? -1 : r + 1 == j->nrank ? left : (int64_t)dice_below(d, (size_t)left + 1);
        left -= even ? 0 : j->own[r];
    }
}

static void sums_do_not_depend_on_the_division(void **state)
{
    enum { CASES = 120, MOST = 70 };
    uint64_t d = dice_seed("group/group");
    static double values[MOST * 3], all[MOST * 3], out[RANKS_MOST][3];
    for (int k = 0; k < CASES; ++k) {
        job j = {.nrank = 1 + (int)dice_below(&d, 8),
                 .nworld = 1 + (int64_t)dice_below(&d, MOST),
                 .n = 1 + (int64_t)dice_below(&d, 3)};
        for (int64_t i = 0; i < j.nworld * j.n; ++i)
            values[i] = ldexp((double)dice_below(&d, 1 << 20) - (1 << 19), (int)dice_below(&d, 80) - 60);
        j.values = values;
        j.all = all;
        for (int r = 0; r < j.nrank; ++r) j.out[r] = out[r];
        divide_at_random(&d, &j);
        ranks_run(j.nrank, exchange, &j);
        check_all(&j, STET_OK, "");
        assert_memory_equal(all, values, (size_t)(j.nworld * j.n) * sizeof *values);
        for (int64_t i = 0; i < j.n; ++i) {
            double right = tree_sum(&j, i, 0, 128);
            for (int r = 0; r < j.nrank; ++r) assert_memory_equal(&out[r][i], &right, sizeof right);
        }
    }
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void only_join(int rank, const stet_transport *transport, void *context)
{
    job *j = context;
    stet_group *g = NULL;
    keep(j, rank, join_group(j, rank, transport, &g));
    stet_group_destroy(g);
}

static void what_does_not_fit_is_refused(void **state)
{
    job j = {.nrank = 3, .nworld = 6, .own = {2, 2, 1}};
    ranks_run(3, only_join, &j);
    check_all(&j, STET_ERROR_STATE, "the ranks' own worlds are 5 together, and the run has 6");
    j.own[2] = -1;
    ranks_run(3, only_join, &j);
    check_all(&j, STET_ERROR_STATE, "rank 2 of 3: its own worlds are -1, those of rank 0 2");
    j = (job){.nrank = 3, .nworld = 6, .own = {2, 2, 2}, .version = {"0.1.0", "0.1.1", "0.1.0"}};
    ranks_run(3, only_join, &j);
    check_all(&j, STET_ERROR_STATE, "rank 1 of 3: it runs stet 0.1.1 with MuJoCo 3.2.1, rank 0 stet 0.1.0");
}

/* The last rank makes another call, or fails, or ends. */
static void differ(int rank, const stet_transport *transport, void *context)
{
    job *j = context;
    stet_group *g;
    char all[RANKS_MOST * 8], own[8] = "";
    if (keep(j, rank, join_group(j, rank, transport, &g)) != STET_OK) return;
    bool last = rank == j->nrank - 1;
    if (last && j->ends == 1)
        keep(j, rank, stet_group_share(g, own, 4, all));
    else if (last && j->ends == 2)
        stet_group_fail(g, "its disk is full");
    else if (!last || j->ends != 3)
        keep(j, rank, stet_group_share(g, own, 8, all));
    if (!last || j->ends != 3) keep(j, rank, stet_group_share(g, own, 8, all)); /* GROUP-2 */
    stet_group_destroy(g);
}

static void a_rank_that_goes_wrong_ends_all(void **state)
{
    job j = {.nrank = 4, .nworld = 4, .own = {-1, -1, -1, -1}};
    j.ends = 1;
    ranks_run(4, differ, &j);
    check_all(&j, STET_ERROR_STATE, "rank 3 of 4: it shares bytes (4), while rank 0 shares bytes (8)");
    j.ends = 2;
    ranks_run(4, differ, &j);
    check_all(&j, STET_ERROR_STATE, "rank 3 of 4: its disk is full");
    j.ends = 3;
    ranks_run(4, differ, &j);
    for (int r = 0; r < 3; ++r) {
        assert_int_equal(j.result[r], STET_ERROR_STATE);
        assert_non_null(strstr(j.said[r], "a rank has ended; another rank may have ended"));
    }
}

/* ---- state ------------------------------------------------------------------------------------------------------- */

static stet_sim *open_block(int64_t first, int64_t nworld)
{
    room_def room = {.nworld = nworld, .physics = STET_PHYSICS_NATIVE};
    stet_sim_def def = room_sim_def(&room);
    stet_model *model;
    stet_sim *sim = NULL;
    char path[1024];
    def.first_world = first;
    (void)snprintf(path, sizeof path, "%s/scenes/quadruped.xml", STET_TEST_SOURCE_DIR);
    if (stet_model_load(path, &model) == STET_OK) {
        (void)stet_sim_create(model, &def, &sim);
        stet_model_destroy(model);
    }
    return sim;
}

static stet_result live(stet_sim *sim, int64_t frame)
{
    STI_TRY(stet_sim_control_noise(sim, 0.5, 30 + frame));
    STI_TRY(stet_sim_step(sim, 5));
    return stet_sim_render(sim, NULL);
}

static stet_result live_in_group(job *j, stet_group *g, stet_sim *sim)
{
    uint64_t hash, shot;
    if (j->path) STI_TRY(stet_group_resume(g, sim, j->path));
    STI_TRY(live(sim, j->path != NULL));
    STI_TRY(stet_group_hash(g, stet_sim_get_worlds(sim), &hash));
    STI_TRY(stet_group_hash_frame(g, sim, STET_FRAME_LATEST, &shot));
    if (hash != j->hash || shot != j->shot) return sti_error(STET_ERROR_FAULT, "other bits than in one process");
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/group_%d", STET_TEST_BINARY_DIR, (int)getpid());
    return j->path ? STET_OK : stet_group_save(g, stet_sim_get_worlds(sim), path);
}

static void live_as_rank(int rank, const stet_transport *transport, void *context)
{
    job *j = context;
    stet_group *g;
    if (keep(j, rank, join_group(j, rank, transport, &g)) != STET_OK) return;
    stet_sim *sim = open_block(stet_group_get_first(g), stet_group_get_own(g));
    if (!sim || keep(j, rank, live_in_group(j, g, sim)) != STET_OK) stet_group_fail(g, stet_get_last_error());
    stet_sim_destroy(sim);
    stet_group_destroy(g);
}

static void a_state_goes_on_over_other_ranks(void **state)
{
    char path[1024];
    job j = {.nrank = 3, .nworld = 5, .own = {1, 3, 1}};
    (void)snprintf(path, sizeof path, "%s/group_%d", STET_TEST_BINARY_DIR, (int)getpid());
    stet_sim *whole = open_block(0, 5);
    assert_non_null(whole);
    OK(live(whole, 0));
    OK(stet_worlds_hash(stet_sim_get_worlds(whole), &j.hash));
    OK(stet_sim_hash_frame(whole, STET_FRAME_LATEST, &j.shot));
    ranks_run(3, live_as_rank, &j);
    check_all(&j, STET_OK, "");
    stet_sim *again = open_block(0, 5);
    OK(stet_sim_resume(again, path));
    assert_int_equal(room_state(again), j.hash);
    stet_sim_destroy(again);
    OK(live(whole, 1));
    OK(stet_worlds_hash(stet_sim_get_worlds(whole), &j.hash));
    OK(stet_sim_hash_frame(whole, STET_FRAME_LATEST, &j.shot));
    j = (job){.nrank = 2, .nworld = 5, .own = {-1, -1}, .path = path, .hash = j.hash, .shot = j.shot};
    ranks_run(2, live_as_rank, &j);
    check_all(&j, STET_OK, "");
    stet_sim_destroy(whole);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_do_not_depend_on_the_division),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_rank_that_goes_wrong_ends_all),
        cmocka_unit_test(a_state_goes_on_over_other_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
