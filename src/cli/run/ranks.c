/* See ranks.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, gethostname */
#endif
#include "cli/run/ranks.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "cli/report_error.h"
#include "cli/run/progress.h"
#include "device/processors.h"
#include "group/group.h"
#include "model/model.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What each rank has: *all [nrank], which the caller frees. */
static stet_result share_all(stet_group *group, const void *own, size_t size, void *all)
{
    void *found;
    STI_TRY(sti_alloc(&found, (size_t)stet_group_get_nrank(group) * size, "what ranks share"));
    stet_result result = stet_group_share(group, own, size, found);
    if (result != STET_OK) sti_free(found);
    *(void **)all = result == STET_OK ? found : NULL;
    return result;
}

/* Of two ranks' numbers one: `into` takes in those of the next rank. */
typedef void fold_ranks(void *into, const void *next, size_t size);

/* own: becomes what is made of that of all ranks, from rank 0 on. */
static stet_result fold_all(stet_group *group, void *own, size_t size, fold_ranks *fold)
{
    char *all;
    STI_TRY(share_all(group, own, size, &all));
    memcpy(own, all, size);
    for (int k = 1; k < stet_group_get_nrank(group); ++k) fold(own, all + (size_t)k * size, size);
    sti_free(all);
    return STET_OK;
}

/* ---- who is there ------------------------------------------------------------------------------------------------ */

/* Where a rank runs, and what it was asked to do. */
typedef struct place {
    char host[64];
    uint64_t processors, words; /* hashes of those that it may run on, and of its command line */
    int64_t code;
} place;

static place this_place(int argc, char **argv, int code)
{
    place p = {.code = code};
    cpu_set_t set;
    sti_hash words;
    sti_hash_begin(&words);
    for (int k = 1; k < argc; ++k) sti_hash_add(&words, argv[k], strlen(argv[k]) + 1);
    p.words = sti_hash_end(&words);
    CPU_ZERO(&set);
    if (gethostname(p.host, sizeof p.host - 1) != 0) p.host[0] = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) p.processors = sti_hash_bytes(&set, sizeof set);
    return p;
}

static int open_group(const stet_transport *transport, int64_t nworld, stet_group **out)
{
    stet_group_def def = stet_default_group_def();
    def.transport = *transport;
    def.nworld = nworld;
    return stet_group_create(&def, out) == STET_OK ? -1 : report_last_error(EXIT_INPUT);
}

int ranks_open(ranks *r)
{
    stet_transport transport;
    *r = (ranks){.count = 1, .every = 1};
    if (!stet_mpi_is_launched()) return -1;
    if (stet_transport_open_mpi(NULL, true, &transport) != STET_OK) return report_last_error(EXIT_INPUT);
    r->rank = transport.rank;
    r->count = transport.nrank;
    r->local = transport.local;
    if (r->count == 1) {
        transport.close(transport.context);
        return sti_mpi_check_launcher(&transport) == STET_OK ? -1 : report_last_error(EXIT_INPUT);
    }
    report_hold();
    if (r->rank != 0 && !freopen("/dev/null", "w", stdout)) return report_error(EXIT_WORK, "/dev/null is not there");
    return open_group(&transport, 0, &r->all);
}

/* Ranks of one machine that may run on the same processors share them. */
static void share_processors(ranks *r, const place *all)
{
    int same = 0;
    for (int k = 0; k < r->count; ++k)
        same += strcmp(all[k].host, all[r->rank].host) == 0 && all[k].processors == all[r->rank].processors;
    r->threads = sti_processors() / (same > 0 ? same : 1);
    if (r->threads < 1) r->threads = 1;
}

int ranks_divide(ranks *r, const run_options *o, int argc, char **argv, int code)
{
    stet_transport transport;
    if (!r->all) return code;
    if (code > 0) return ranks_agree(r, code, code);
    place own = this_place(argc, argv, code), *all;
    code = -1;
    if (share_all(r->all, &own, sizeof own, &all) != STET_OK) return report_last_error(EXIT_INPUT);
    for (int k = 0; k < r->count && code < 0; ++k)
        if (all[k].code != own.code || all[k].words != own.words)
            code = report_error(EXIT_INPUT, "rank %d of %d: its options are not those of rank 0; give all the same",
                                k > 0 ? k : r->rank, r->count);
    if (code < 0) share_processors(r, all);
    sti_free(all);
    if (code >= 0 || own.code >= 0) return code >= 0 ? code : (int)own.code;
    r->idle = r->rank >= o->worlds;
    if (stet_transport_open_mpi(NULL, !r->idle, &transport) != STET_OK) return report_last_error(EXIT_INPUT);
    return r->idle ? 0 : open_group(&transport, o->worlds, &r->group);
}

/* ---- going on, or ending ----------------------------------------------------------------------------------------- */

int ranks_agree(ranks *r, int code, int other)
{
    stet_group *group = r->group ? r->group : r->all;
    if (!group || r->idle) return code;
    if (code >= 0) return stet_group_fail(group, report_held()), code;
    char none = 0; /* ranks compare what they call (GROUP-1): that is all */
    return stet_group_broadcast(group, &none, sizeof none) == STET_OK ? code : report_last_error(other);
}

void ranks_close(ranks *r)
{
    report_release(r->rank == 0);
    stet_group_destroy(r->group);
    stet_group_destroy(r->all);
    sti_free(r->row);
    *r = (ranks){0};
}

typedef struct vote {
    int64_t every; /* rank 0's counts */
    bool stop;
} vote;

static void fold_votes(void *into, const void *next, size_t size)
{
    (void)size;
    ((vote *)into)->stop |= ((const vote *)next)->stop;
}

/* About every tenth of a second, or after each frame if that takes longer: rank 0 counts. */
int ranks_stop(ranks *r, int64_t frame, bool interrupted, bool *stop)
{
    *stop = interrupted && !r->group;
    if (!r->group || frame % r->every != 0) return -1;
    double now = progress_now(), each = (now - r->since) / (double)r->every;
    vote all = {0};
    all.every = r->since > 0 ? (int64_t)fmin(fmax(0.1 / each, 1), 1000) : 1;
    all.stop = interrupted;
    r->since = now;
    if (fold_all(r->group, &all, sizeof all, fold_votes) != STET_OK) return report_last_error(EXIT_WORK);
    r->every = all.every;
    *stop = all.stop;
    return -1;
}

static int check_same(ranks *r, uint64_t own, const char *what)
{
    uint64_t first = own;
    if (!r->group) return -1;
    if (stet_group_broadcast(r->group, &first, sizeof first) != STET_OK) return report_last_error(EXIT_INPUT);
    return first == own ? -1 : report_error(EXIT_INPUT, "%s", what);
}

int ranks_check_scene(ranks *r, const stet_model *model)
{
    uint64_t own = 0;
    if (r->group && sti_model_fingerprint(model, &own) != STET_OK) return report_last_error(EXIT_INPUT);
    return check_same(r, own, "its scene is not that of rank 0; give all processes the same files");
}

int ranks_check_physics(ranks *r, stet_physics physics)
{
    return check_same(r, (uint64_t)physics,
                      "its device takes other physics than that of rank 0; name one that both have with --physics");
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

stet_result ranks_hash(stet_group *group, stet_sim *sim, uint64_t *out)
{
    stet_worlds *worlds = stet_sim_get_worlds(sim);
    return group ? stet_group_hash(group, worlds, out) : stet_worlds_hash(worlds, out);
}

stet_result ranks_hash_frame(stet_group *group, stet_sim *sim, int64_t frame, uint64_t *out)
{
    return group ? stet_group_hash_frame(group, sim, frame, out) : stet_sim_hash_frame(sim, frame, out);
}

static void fold_counts(void *into, const void *next, size_t size)
{
    for (size_t k = 0; k < size / sizeof(int64_t); ++k) ((int64_t *)into)[k] += ((const int64_t *)next)[k];
}

stet_result ranks_add(stet_group *group, int64_t *x, int n)
{
    return fold_all(group, x, (size_t)n * sizeof *x, fold_counts);
}

static void fold_most(void *into, const void *next, size_t size)
{
    (void)size;
    *(double *)into = fmax(*(double *)into, *(const double *)next);
}

stet_result ranks_most(ranks *r, double *x) { return r->group ? fold_all(r->group, x, sizeof *x, fold_most) : STET_OK; }

stet_result ranks_gather_rows(ranks *r, const rank_row *own)
{
    if (!r->group) return STET_OK;
    rank_row row = *own;
    row.first = stet_group_get_first(r->group);
    row.nworld = stet_group_get_own(r->group);
    if (gethostname(row.host, sizeof row.host - 1) != 0) row.host[0] = 0;
    return share_all(r->group, &row, sizeof row, &r->row);
}

static int compare_seconds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int ranks_straggler(const ranks *r)
{
    int n = stet_group_get_nrank(r->group), slowest = 0;
    double *busy = r->row && n > 1 ? malloc((size_t)n * sizeof *busy) : NULL;
    if (!busy) return -1;
    for (int k = 0; k < n; ++k) {
        busy[k] = r->row[k].busy;
        if (busy[k] > r->row[slowest].busy) slowest = k;
    }
    qsort(busy, (size_t)n, sizeof *busy, compare_seconds);
    double median = busy[(n - 1) / 2];
    free(busy);
    return r->row[slowest].busy > 1.25 * median && r->row[slowest].busy > median + 0.1 ? slowest : -1;
}
