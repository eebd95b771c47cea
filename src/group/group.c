/* Groups: creating them, comparing what ranks call, and exchanging bytes. Invariants: group.h. */
#include "group/group.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { GROUP_COOKIE = 0x57e76701, VERSION_SIZE = 48 };
/* ---- failures ---------------------------------------------------------------------------------------------------- */

static stet_result failed(const stet_group *g) { return sti_error(STET_ERROR_STATE, "%s", g->failure); }

stet_result sti_group_set_failure(stet_group *g, int rank, const char *text)
{
    assert(rank >= 0 && rank < g->transport.nrank && text && "a rank that all know has a reason");
    g->failed = true;
    (void)snprintf(g->failure, sizeof g->failure, "rank %d of %d: %.*s", rank, g->transport.nrank, STI_GROUP_TEXT,
                   text);
    return failed(g);
}

stet_result sti_group_check(stet_group *g, int code, const char *what)
{
    char text[STI_GROUP_TEXT];
    if (code == 0) return STET_OK;
    const char *why = g->transport.why ? g->transport.why(g->transport.context) : NULL;
    (void)snprintf(text, sizeof text, "%s failed: %s; another rank may have ended", what,
                   why && why[0] ? why : "no reason given");
    return sti_group_set_failure(g, g->transport.rank, text);
}

/* A rank has failed: all exchange their sentences, and keep the first one. */
static stet_result take_failure(stet_group *g, const char *own)
{
    const stet_transport *t = &g->transport;
    char text[STI_GROUP_TEXT] = "", *all;
    (void)snprintf(text, sizeof text, "%s", own);
    STI_TRY(sti_alloc(&all, (size_t)t->nrank * sizeof text, "messages of ranks"));
    stet_result result = sti_group_check(g, t->all_gather(t->context, text, all, sizeof text), "exchanging messages");
    for (int r = 0; r < t->nrank && result == STET_OK; ++r)
        if (g->heads[r].call == STI_GROUP_FAIL) result = sti_group_set_failure(g, r, all + (size_t)r * sizeof text);
    sti_free(all);
    return result;
}

/* ---- comparing calls --------------------------------------------------------------------------------------------- */

static const char *const call_name[STI_GROUP_CALLS] = {
    "failed",           "shares bytes", "gathers bytes a world", "scatters bytes a world",
    "broadcasts bytes", "sums numbers", "links with its device", "reduces bytes"};

static stet_result refuse_calls(stet_group *g, int rank)
{
    const sti_group_head *a = &g->heads[0], *b = &g->heads[rank];
    char text[STI_GROUP_TEXT];
    (void)snprintf(text, sizeof text, "it %s (%llu), while rank 0 %s (%llu); all ranks must make the same calls",
                   call_name[b->call < STI_GROUP_CALLS ? b->call : 0], (unsigned long long)b->size,
                   call_name[a->call < STI_GROUP_CALLS ? a->call : 0], (unsigned long long)a->size);
    return sti_group_set_failure(g, rank, text);
}

static stet_result meet(stet_group *g, sti_group_call call, uint64_t size, const char *message)
{
    const stet_transport *t = &g->transport;
    sti_group_head own = {call, size};
    assert(call >= STI_GROUP_FAIL && call < STI_GROUP_CALLS);
    sti_validate_group(g);
    if (g->failed) return failed(g);
    STI_TRY(sti_group_check(g, t->all_gather(t->context, &own, g->heads, sizeof own), "meeting the other ranks"));
    for (int r = 0; r < t->nrank; ++r)
        if (g->heads[r].call == STI_GROUP_FAIL) return take_failure(g, message);
    for (int r = 1; r < t->nrank; ++r)
        if (memcmp(&g->heads[r], &g->heads[0], sizeof own) != 0) return refuse_calls(g, r);
    return STET_OK;
}

stet_result sti_group_meet(stet_group *g, sti_group_call call, uint64_t size) { return meet(g, call, size, ""); }

void stet_group_fail(stet_group *g, const char *message)
{
    if (g && !g->failed) (void)meet(g, STI_GROUP_FAIL, 0, message ? message : "");
}

/* ---- one rank alone ---------------------------------------------------------------------------------------------- */

static int gather_alone(void *context, const void *send, void *recv, size_t size)
{
    (void)context;
    memmove(recv, send, size);
    return 0;
}

static int broadcast_alone(void *context, void *data, size_t size, int root)
{
    (void)context, (void)data, (void)size, (void)root;
    return 0;
}

/* ---- creating ---------------------------------------------------------------------------------------------------- */

/* What a rank says first. It is the same in all versions of stet. */
typedef struct hello {
    char stet[VERSION_SIZE], mujoco[VERSION_SIZE];
    int64_t nworld, own;
} hello;

stet_group_def stet_default_group_def(void)
{
    return (stet_group_def){.cookie = GROUP_COOKIE, .transport = {.rank = -1}, .own = -1};
}

static int64_t even_share(int64_t nworld, int nrank, int rank) { return nworld / nrank + (rank < nworld % nrank); }

static stet_result check_hello(stet_group *g, const hello *all, int r)
{
    const hello *a = &all[0], *b = &all[r];
    char text[STI_GROUP_TEXT];
    if (memcmp(a->stet, b->stet, VERSION_SIZE) != 0 || memcmp(a->mujoco, b->mujoco, VERSION_SIZE) != 0)
        (void)snprintf(text, sizeof text,
                       "it runs stet %.40s with MuJoCo %.40s, rank 0 stet %.40s with MuJoCo %.40s; "
                       "install the same on all machines",
                       b->stet, b->mujoco, a->stet, a->mujoco);
    else if (a->nworld != b->nworld)
        (void)snprintf(text, sizeof text, "its run has %lld worlds, that of rank 0 has %lld; give all the same number",
                       (long long)b->nworld, (long long)a->nworld);
    else if (b->own < -1 || (b->own < 0) != (a->own < 0))
        (void)snprintf(text, sizeof text,
                       "its own worlds are %lld, those of rank 0 %lld; give all ranks a number of "
                       "them, or none",
                       (long long)b->own, (long long)a->own);
    else
        return STET_OK;
    return sti_group_set_failure(g, r, text);
}

/* GROUP-3. */
static stet_result divide(stet_group *g, const hello *all)
{
    int nrank = g->transport.nrank;
    char text[STI_GROUP_TEXT];
    for (int r = 0; r < nrank; ++r)
        g->first[r + 1] = g->first[r] + (all[r].own < 0 ? even_share(g->nworld, nrank, r) : all[r].own);
    if (g->first[nrank] == g->nworld) return STET_OK;
    (void)snprintf(text, sizeof text, "the ranks' own worlds are %lld together, and the run has %lld; make them equal",
                   (long long)g->first[nrank], (long long)g->nworld);
    return sti_group_set_failure(g, 0, text);
}

static stet_result introduce(stet_group *g, const stet_group_def *def, const char *stet, const char *mujoco)
{
    const stet_transport *t = &g->transport;
    hello own = {.nworld = def->nworld, .own = def->own}, *all;
    (void)snprintf(own.stet, sizeof own.stet, "%s", stet);
    (void)snprintf(own.mujoco, sizeof own.mujoco, "%s", mujoco);
    STI_TRY(sti_alloc(&all, (size_t)t->nrank * sizeof own, "ranks of a group"));
    stet_result result =
        sti_group_check(g, t->all_gather(t->context, &own, all, sizeof own), "meeting the other ranks");
    for (int r = 0; r < t->nrank && result == STET_OK; ++r) result = check_hello(g, all, r);
    if (result == STET_OK) result = divide(g, all);
    sti_free(all);
    return result;
}

static stet_result check_def(const stet_group_def *def)
{
    const stet_transport *t = &def->transport;
    if (def->cookie != GROUP_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "group: the def is not initialised; start from stet_default_group_def()");
    if (def->nworld < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "group: nworld is %lld; give 0 or more", (long long)def->nworld);
    bool all = t->all_gather && t->broadcast && t->send && t->receive;
    if (t->rank >= 0 && (t->rank >= t->nrank || (t->nrank > 1 && !all)))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "group: its transport has rank %d of %d, and must have all four functions", t->rank, t->nrank);
    return STET_OK;
}

stet_result sti_group_create_as(const stet_group_def *def, const char *stet, const char *mujoco, stet_group **out)
{
    stet_group *g;
    if (!def || !out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_group_create: def and out must not be NULL");
    *out = NULL;
    stet_result checked = check_def(def);
    if (checked == STET_OK) checked = sti_alloc(&g, sizeof *g, "a group");
    if (checked != STET_OK) {
        if (def->cookie == GROUP_COOKIE && def->transport.close) def->transport.close(def->transport.context);
        return checked;
    }
    g->nworld = def->nworld;
    g->transport = def->transport;
    stet_result result = STET_OK;
    if (g->transport.nrank == 1 && !g->transport.all_gather) g->transport.all_gather = gather_alone;
    if (g->transport.nrank == 1 && !g->transport.broadcast) g->transport.broadcast = broadcast_alone;
    if (g->transport.rank < 0) {
        result = stet_transport_open_mpi(NULL, true, &g->transport);
        if (result == STET_OK) result = sti_mpi_check_launcher(&g->transport);
    }
    size_t n = result == STET_OK ? (size_t)g->transport.nrank : 0;
    if (result == STET_OK) result = sti_alloc(&g->first, (n + 1) * sizeof *g->first, "ranks of a group");
    if (result == STET_OK) result = sti_alloc(&g->heads, n * sizeof *g->heads, "ranks of a group");
    if (result == STET_OK) result = introduce(g, def, stet, mujoco);
    if (result == STET_OK)
        *out = g;
    else
        stet_group_destroy(g);
    return result;
}

stet_result stet_group_create(const stet_group_def *def, stet_group **out)
{
    char version[VERSION_SIZE];
    (void)snprintf(version, sizeof version, "%d.%d.%d", STET_VERSION_MAJOR, STET_VERSION_MINOR, STET_VERSION_PATCH);
    return sti_group_create_as(def, version, stet_get_mujoco_version(), out);
}

#ifndef NDEBUG
void sti_validate_group(const stet_group *g)
{
    const stet_transport *t = &g->transport;
    assert(t->nrank >= 1 && t->rank >= 0 && t->rank < t->nrank && t->all_gather && t->broadcast && g->heads);
    assert((!g->failed || g->failure[0]) && "GROUP-2: a failure has a sentence");
    assert(g->first[0] == 0 && g->first[t->nrank] == g->nworld && "GROUP-3");
    for (int r = 0; r < t->nrank; ++r) assert(g->first[r] <= g->first[r + 1] && "GROUP-3");
    assert(!g->link || g->close_link);
}
#endif

void stet_group_unlink(stet_group *g)
{
    if (!g || !g->link) return;
    g->close_link(g->link, g->failed);
    g->link = NULL;
}

void stet_group_destroy(stet_group *g)
{
    if (!g) return;
    stet_group_unlink(g);
    if (g->transport.close) g->transport.close(g->transport.context);
    sti_free(g->first);
    sti_free(g->heads);
    sti_free(g);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

int stet_group_get_rank(const stet_group *g) { return g ? g->transport.rank : 0; }
int stet_group_get_nrank(const stet_group *g) { return g ? g->transport.nrank : 0; }
int64_t stet_group_get_nworld(const stet_group *g) { return g ? g->nworld : 0; }
int64_t stet_group_get_first(const stet_group *g) { return g ? g->first[g->transport.rank] : 0; }
int64_t stet_group_get_own(const stet_group *g) { return g ? stet_group_get_own_of(g, g->transport.rank) : 0; }

int64_t stet_group_get_first_of(const stet_group *g, int rank)
{
    return g && rank >= 0 && rank < g->transport.nrank ? g->first[rank] : 0;
}

int64_t stet_group_get_own_of(const stet_group *g, int rank)
{
    return g && rank >= 0 && rank < g->transport.nrank ? g->first[rank + 1] - g->first[rank] : 0;
}

/* ---- exchanging -------------------------------------------------------------------------------------------------- */

static stet_result check_pointers(const void *group, bool good, const char *call)
{
    if (group && good) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: group and its data must not be NULL", call);
}

stet_result stet_group_share(stet_group *g, const void *own, size_t size, void *all)
{
    STI_TRY(check_pointers(g, own && all, "stet_group_share"));
    STI_TRY(sti_group_meet(g, STI_GROUP_SHARE, size));
    return sti_group_check(g, g->transport.all_gather(g->transport.context, own, all, size), "sharing");
}

stet_result stet_group_broadcast(stet_group *g, void *data, size_t size)
{
    STI_TRY(check_pointers(g, data, "stet_group_broadcast"));
    STI_TRY(sti_group_meet(g, STI_GROUP_BROADCAST, size));
    return sti_group_check(g, g->transport.broadcast(g->transport.context, data, size, 0), "broadcasting");
}

/* Sends or receives all bytes in pieces. */
static stet_result send_all(stet_group *g, const char *data, size_t size, int to)
{
    assert(to >= 0 && to < g->transport.nrank && to != g->transport.rank && "a message has another rank");
    for (size_t n; size > 0; data += n, size -= n) {
        n = size < STI_GROUP_PIECE ? size : STI_GROUP_PIECE;
        STI_TRY(sti_group_check(g, g->transport.send(g->transport.context, data, n, to), "sending"));
    }
    return STET_OK;
}

static stet_result receive_all(stet_group *g, char *data, size_t size, int from)
{
    assert(from >= 0 && from < g->transport.nrank && from != g->transport.rank && "a message has another rank");
    for (size_t n; size > 0; data += n, size -= n) {
        n = size < STI_GROUP_PIECE ? size : STI_GROUP_PIECE;
        STI_TRY(sti_group_check(g, g->transport.receive(g->transport.context, data, n, from), "receiving"));
    }
    return STET_OK;
}

static size_t bytes_of(const stet_group *g, int rank, size_t item)
{
    return (size_t)stet_group_get_own_of(g, rank) * item;
}

/* What a rank sends: all of it is received, also after `take` failed, so that nothing is left on its way. */
static stet_result stream_from(stet_group *g, int rank, size_t item, char *buffer, sti_group_take *take, void *context,
                               stet_result *taken)
{
    for (size_t left = bytes_of(g, rank, item), n; left > 0; left -= n) {
        n = left < STI_GROUP_PIECE ? left : STI_GROUP_PIECE;
        STI_TRY(receive_all(g, buffer, n, rank));
        if (*taken == STET_OK) *taken = take(context, buffer, n);
    }
    return STET_OK;
}

/* What rank 0 does with its own and with what the others send. */
static stet_result stream_here(stet_group *g, const void *own, size_t item, sti_group_take *take, void *context)
{
    char *buffer;
    size_t most = 1;
    for (int r = 1; r < g->transport.nrank; ++r) most = bytes_of(g, r, item) > most ? bytes_of(g, r, item) : most;
    STI_TRY(sti_alloc(&buffer, most < STI_GROUP_PIECE ? most : STI_GROUP_PIECE, "what ranks send"));
    size_t size = bytes_of(g, 0, item);
    stet_result taken = size > 0 ? take(context, own, size) : STET_OK, result = STET_OK;
    for (int r = 1; r < g->transport.nrank && result == STET_OK; ++r)
        result = stream_from(g, r, item, buffer, take, context, &taken);
    sti_free(buffer);
    return result == STET_OK ? taken : result;
}

stet_result sti_group_stream(stet_group *g, const void *own, size_t item, sti_group_take *take, void *context)
{
    int rank = g->transport.rank;
    STI_TRY(sti_group_meet(g, STI_GROUP_GATHER, item));
    return rank == 0 ? stream_here(g, own, item, take, context) : send_all(g, own, bytes_of(g, rank, item), 0);
}

stet_result sti_group_put(void *context, const void *data, size_t size)
{
    char **at = context;
    memcpy(*at, data, size);
    *at += size;
    return STET_OK;
}

stet_result stet_group_gather(stet_group *g, const void *own, size_t item, void *all)
{
    STI_TRY(check_pointers(g, g && (own || stet_group_get_own(g) == 0) && (all || g->transport.rank != 0),
                           "stet_group_gather"));
    return sti_group_stream(g, own, item, sti_group_put, &all);
}

stet_result stet_group_scatter(stet_group *g, const void *all, size_t item, void *own)
{
    STI_TRY(check_pointers(g, g && (own || stet_group_get_own(g) == 0) && (all || g->transport.rank != 0),
                           "stet_group_scatter"));
    STI_TRY(sti_group_meet(g, STI_GROUP_SCATTER, item));
    if (g->transport.rank != 0) return receive_all(g, own, bytes_of(g, g->transport.rank, item), 0);
    if (stet_group_get_own(g) > 0) memcpy(own, all, bytes_of(g, 0, item));
    for (int r = 1; r < g->transport.nrank; ++r)
        STI_TRY(send_all(g, (const char *)all + (size_t)g->first[r] * item, bytes_of(g, r, item), r));
    return STET_OK;
}

stet_result stet_group_read(stet_group *g, stet_array *own, void *all)
{
    char *data;
    STI_TRY(check_pointers(g, own && g && (all || g->transport.rank != 0), "stet_group_read"));
    int64_t nworld = stet_array_get_shape(own)[0];
    size_t size = stet_array_get_bytes(own);
    if (nworld != stet_group_get_own(g) || nworld == 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_group_read: the array has %lld rows, this rank %lld worlds",
                         (long long)nworld, (long long)stet_group_get_own(g));
    STI_TRY(sti_alloc(&data, size, "an array of a rank"));
    stet_result result = stet_array_read(own, data, size);
    if (result == STET_OK) result = stet_group_gather(g, data, size / (size_t)nworld, all);
    sti_free(data);
    return result;
}
