/* See ranks.h. One lock, one condition; a message waits until it is received. */
#include "group/ranks.h"

#include <pthread.h>
#include <string.h>

const void *(*ranks_see)(const void *data);

static const void *see(const void *data) { return ranks_see ? ranks_see(data) : data; }

typedef struct room {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int nrank, here, round, ended;
    bool gone[RANKS_MOST];
    const void *given[RANKS_MOST];
    struct {
        const void *data;
        size_t size;
    } mail[RANKS_MOST][RANKS_MOST]; /* from, to */
} room;

typedef struct member {
    room *room;
    int rank;
    ranks_body *body;
    void *context;
    stet_transport transport;
} member;

/* With the lock: waits for all ranks. False: one has ended. */
static bool meet(room *r)
{
    int round = r->round;
    if (++r->here == r->nrank) {
        r->here = 0;
        ++r->round;
        pthread_cond_broadcast(&r->moved);
    }
    while (round == r->round && r->ended == 0) pthread_cond_wait(&r->moved, &r->lock);
    return round != r->round;
}

static int all_gather(void *context, const void *send, void *recv, size_t size)
{
    member *m = context;
    room *r = m->room;
    pthread_mutex_lock(&r->lock);
    r->given[m->rank] = send;
    bool good = meet(r);
    for (int k = 0; k < r->nrank && good; ++k) memcpy((char *)recv + (size_t)k * size, r->given[k], size);
    good = good && meet(r);
    pthread_mutex_unlock(&r->lock);
    return !good;
}

static int broadcast(void *context, void *data, size_t size, int root)
{
    member *m = context;
    room *r = m->room;
    pthread_mutex_lock(&r->lock);
    r->given[m->rank] = data;
    bool good = meet(r);
    if (good && m->rank != root) memcpy(data, r->given[root], size);
    good = good && meet(r);
    pthread_mutex_unlock(&r->lock);
    return !good;
}

static int send_bytes(void *context, const void *data, size_t size, int to)
{
    member *m = context;
    room *r = m->room;
    pthread_mutex_lock(&r->lock);
    r->mail[m->rank][to].data = see(data);
    r->mail[m->rank][to].size = size;
    pthread_cond_broadcast(&r->moved);
    while (r->mail[m->rank][to].data && !r->gone[to]) pthread_cond_wait(&r->moved, &r->lock);
    bool good = !r->mail[m->rank][to].data;
    pthread_mutex_unlock(&r->lock);
    return !good;
}

static int receive_bytes(void *context, void *data, size_t size, int from)
{
    member *m = context;
    room *r = m->room;
    pthread_mutex_lock(&r->lock);
    while (!r->mail[from][m->rank].data && !r->gone[from]) pthread_cond_wait(&r->moved, &r->lock);
    bool good = r->mail[from][m->rank].data && r->mail[from][m->rank].size == size;
    if (good) memcpy((void *)(uintptr_t)see(data), r->mail[from][m->rank].data, size);
    r->mail[from][m->rank].data = NULL;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
    return !good;
}

static const char *why(void *context)
{
    (void)context;
    return "a rank has ended";
}

static void *run_member(void *context)
{
    member *m = context;
    m->body(m->rank, &m->transport, m->context);
    pthread_mutex_lock(&m->room->lock);
    ++m->room->ended;
    m->room->gone[m->rank] = true;
    pthread_cond_broadcast(&m->room->moved);
    pthread_mutex_unlock(&m->room->lock);
    return NULL;
}

void ranks_run(int nrank, ranks_body *body, void *context)
{
    room r = {.nrank = nrank};
    member members[RANKS_MOST];
    pthread_t threads[RANKS_MOST];
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.moved, NULL);
    for (int k = 0; k < nrank; ++k)
        members[k] = (member){&r, k, body, context,
                              .transport = {.rank = k,
                                            .nrank = nrank,
                                            .context = &members[k],
                                            .all_gather = all_gather,
                                            .broadcast = broadcast,
                                            .send = send_bytes,
                                            .receive = receive_bytes,
                                            .why = why}};
    for (int k = 0; k < nrank; ++k) pthread_create(&threads[k], NULL, run_member, &members[k]);
    for (int k = 0; k < nrank; ++k) pthread_join(threads[k], NULL);
    pthread_cond_destroy(&r.moved);
    pthread_mutex_destroy(&r.lock);
}
