/* The double of NCCL; see nccl.h. One lock, one condition; the driver double is called without the lock. */
#include "nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK, UNHANDLED_CUDA, SYSTEM_ERROR, INTERNAL, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR };
enum { RANKS = 8, GROUP = 4096, FUNCTIONS = 16, PATIENCE = 20 };

#define TRY(expression)                                                                                                \
    do {                                                                                                               \
        int try_result = (expression);                                                                                 \
        if (try_result) return try_result;                                                                             \
    } while (0)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

/* ---- the driver double ------------------------------------------------------------------------------------------- */

static struct {
#define BOTH(need, name, cuda, hip, result, parameters) result(*name) parameters;
#define CUDA(need, name, cuda, result, parameters) result(*name) parameters;
#define HIP(need, name, hip, result, parameters) result(*name) parameters;
#include "device/gpu/entries.inl"
} driver;

static void find(void *object, const char *symbol, void *slot)
{
    void *address = dlsym(object, symbol);
    memcpy(slot, &address, sizeof address);
}

__attribute__((constructor)) static void open_driver(void)
{
    void *object = dlopen(NCCL_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (!object) abort();
#define BOTH(need, name, cuda, hip, result, parameters) find(object, DD_HIP ? #hip : #cuda, &driver.name);
#define CUDA(need, name, cuda, result, parameters) find(object, DD_HIP ? "" : #cuda, &driver.name);
#define HIP(need, name, hip, result, parameters) find(object, DD_HIP ? #hip : "", &driver.name);
#include "device/gpu/entries.inl"
}

static int check_driver(int code) { return code == 0 ? OK : UNHANDLED_CUDA; }

/* The device that this thread's calls go to, as a number that no other one has. */
static int current(uintptr_t *out)
{
#if DD_HIP
    int ordinal = 0;
    TRY(check_driver(driver.device_current(&ordinal)));
    *out = (uintptr_t)ordinal + 1;
#else
    void *context = NULL;
    TRY(check_driver(driver.context_get(&context)));
    *out = (uintptr_t)context;
#endif
    return *out ? OK : INVALID_USAGE;
}

/* ---- counting, failing ------------------------------------------------------------------------------------------- */

static struct {
    const char *name;
    int64_t count;
} called[FUNCTIONS];
static char fails[32];
static int64_t fails_at;
static int fails_with;

static int enter(const char *function)
{
    int result = OK, k = 0;
    pthread_mutex_lock(&lock);
    while (k < FUNCTIONS - 1 && called[k].name && strcmp(called[k].name, function) != 0) ++k;
    called[k].name = function;
    if (++called[k].count == fails_at && strcmp(function, fails) == 0) result = fails_with;
    pthread_mutex_unlock(&lock);
    return result;
}

static void start(const char *function, int64_t at, int code)
{
    pthread_mutex_lock(&lock);
    memset(called, 0, sizeof called);
    snprintf(fails, sizeof fails, "%s", function ? function : "");
    fails_at = at;
    fails_with = code;
    pthread_mutex_unlock(&lock);
}

static int64_t count_calls(const char *function)
{
    int64_t count = 0;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < FUNCTIONS && called[k].name; ++k)
        if (strcmp(called[k].name, function) == 0) count = called[k].count;
    pthread_mutex_unlock(&lock);
    return count;
}

EXPORT const nccl_double_control *nccl_double_get_control(void);
const nccl_double_control *nccl_double_get_control(void)
{
    static const nccl_double_control control = {start, count_calls};
    return &control;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

typedef struct ncclUniqueId {
    char internal[128];
} ncclUniqueId;

/* What was sent and not received yet. The receiver owns `host` and `event` then. */
typedef struct parcel {
    struct parcel *next;
    size_t size;
    void *host, *event;
} parcel;

/* One communicator of all its ranks. */
typedef struct room {
    struct room *next;
    ncclUniqueId id;
    int nrank, joined, left;
    bool broken; /* a rank failed, or aborted */
    uintptr_t device[RANKS];
    parcel *mail[RANKS][RANKS]; /* from, to */
} room;

typedef struct ncclComm {
    room *room;
    int rank;
    parcel *kept; /* received; freed at the end */
} ncclComm;

static room *rooms;

static struct timespec deadline(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += PATIENCE;
    return t;
}

static int wait_until(const struct timespec *end)
{
    return pthread_cond_timedwait(&moved, &lock, end) ? SYSTEM_ERROR : OK;
}

static int break_room(room *r, int code)
{
    r->broken = true;
    pthread_cond_broadcast(&moved);
    return code;
}

EXPORT int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
    *version = 22707;
    return enter("ncclGetVersion");
}

EXPORT int ncclGetUniqueId(ncclUniqueId *id);
int ncclGetUniqueId(ncclUniqueId *id)
{
    static int64_t last;
    TRY(enter("ncclGetUniqueId"));
    pthread_mutex_lock(&lock);
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "communicator %lld", (long long)++last);
    pthread_mutex_unlock(&lock);
    return OK;
}

static room *room_of(const ncclUniqueId *id, int nrank)
{
    room *r = rooms;
    while (r && memcmp(&r->id, id, sizeof *id) != 0) r = r->next;
    if (r) return r;
    r = calloc(1, sizeof *r);
    r->id = *id;
    r->nrank = nrank;
    r->next = rooms;
    return rooms = r;
}

static int take_place(room *r, int rank, uintptr_t device)
{
    if (r->device[rank]) return break_room(r, INVALID_ARGUMENT);
    r->device[rank] = device;
    ++r->joined;
    for (int k = 0; k < r->nrank; ++k)
        if (k != rank && r->device[k] == device) (void)break_room(r, INVALID_USAGE);
    pthread_cond_broadcast(&moved);
    const struct timespec end = deadline();
    while (r->joined < r->nrank && !r->broken)
        if (wait_until(&end)) return break_room(r, SYSTEM_ERROR);
    return r->broken ? INVALID_USAGE : OK;
}

EXPORT int ncclCommInitRank(ncclComm **out, int nrank, ncclUniqueId id, int rank);
int ncclCommInitRank(ncclComm **out, int nrank, ncclUniqueId id, int rank)
{
    uintptr_t device;
    *out = NULL;
    TRY(enter("ncclCommInitRank"));
    TRY(current(&device));
    if (nrank < 1 || nrank > RANKS || rank < 0 || rank >= nrank || !id.internal[0]) return INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    room *r = room_of(&id, nrank);
    int result = r->nrank == nrank ? take_place(r, rank, device) : INVALID_ARGUMENT;
    pthread_mutex_unlock(&lock);
    if (result) return result;
    *out = calloc(1, sizeof **out);
    **out = (ncclComm){.room = r, .rank = rank};
    return OK;
}

static void free_parcels(parcel *p)
{
    for (parcel *next; p; p = next) {
        next = p->next;
        (void)driver.event_destroy(p->event);
        (void)driver.host_free(p->host);
        free(p);
    }
}

static void leave_room(room *r)
{
    pthread_mutex_lock(&lock);
    bool last = ++r->left == r->nrank;
    room **at = &rooms;
    while (last && *at != r) at = &(*at)->next;
    if (last) *at = r->next;
    pthread_mutex_unlock(&lock);
    if (!last) return;
    for (int from = 0; from < r->nrank; ++from)
        for (int to = 0; to < r->nrank; ++to) free_parcels(r->mail[from][to]);
    free(r);
}

EXPORT int ncclCommDestroy(ncclComm *comm);
int ncclCommDestroy(ncclComm *comm)
{
    int result = enter("ncclCommDestroy");
    free_parcels(comm->kept);
    leave_room(comm->room);
    free(comm);
    return result;
}

EXPORT int ncclCommAbort(ncclComm *comm);
int ncclCommAbort(ncclComm *comm)
{
    pthread_mutex_lock(&lock);
    (void)break_room(comm->room, OK);
    pthread_mutex_unlock(&lock);
    return ncclCommDestroy(comm);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef struct message {
    ncclComm *comm;
    bool send;
    int peer;
    void *data;
    size_t size;
    void *stream;
} message;

static _Thread_local struct {
    int depth, count;
    message list[GROUP];
} group;

/* The data are on their way to the host when the event has come. */
static int pack(const message *m, parcel **out)
{
    parcel *p = calloc(1, sizeof *p);
    p->size = m->size;
    int code = driver.host_alloc(&p->host, m->size, 1);
    if (code == 0) code = driver.event_create(&p->event, 2);
    if (code == 0) code = driver.copy_to_host_async(p->host, m->data, m->size, m->stream);
    if (code == 0) code = driver.event_record(p->event, m->stream);
    *out = p;
    return check_driver(code);
}

static int send_one(const message *m)
{
    parcel *p;
    room *r = m->comm->room;
    TRY(pack(m, &p));
    pthread_mutex_lock(&lock);
    parcel **last = &r->mail[m->comm->rank][m->peer];
    while (*last) last = &(*last)->next;
    *last = p;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
    return OK;
}

static int take_parcel(const message *m, parcel **out)
{
    room *r = m->comm->room;
    parcel **first = &r->mail[m->peer][m->comm->rank];
    const struct timespec end = deadline();
    while (!*first && !r->broken)
        if (wait_until(&end)) return break_room(r, SYSTEM_ERROR);
    if (!*first) return REMOTE_ERROR;
    *out = *first;
    *first = (*out)->next;
    (*out)->next = m->comm->kept;
    m->comm->kept = *out;
    pthread_cond_broadcast(&moved);
    return (*out)->size == m->size ? OK : break_room(r, INVALID_ARGUMENT);
}

static int receive_one(const message *m)
{
    parcel *p;
    pthread_mutex_lock(&lock);
    int result = take_parcel(m, &p);
    pthread_mutex_unlock(&lock);
    if (result) return result;
    int code = driver.stream_wait_event(m->stream, p->event, 0);
    if (code == 0) code = driver.copy_to_device_async(m->data, p->host, m->size, m->stream);
    return check_driver(code);
}

/* NCCL-DOUBLE-1: until all that this rank sent was taken. */
static int wait_taken(const message *m)
{
    room *r = m->comm->room;
    const struct timespec end = deadline();
    int result = OK;
    pthread_mutex_lock(&lock);
    while (r->mail[m->comm->rank][m->peer] && !r->broken && !result) result = wait_until(&end);
    if (r->broken) result = REMOTE_ERROR;
    pthread_mutex_unlock(&lock);
    return result;
}

static int run_group(void)
{
    for (int k = 0; k < group.count; ++k)
        if (group.list[k].send) TRY(send_one(&group.list[k]));
    for (int k = 0; k < group.count; ++k)
        if (!group.list[k].send) TRY(receive_one(&group.list[k]));
    for (int k = 0; k < group.count; ++k)
        if (group.list[k].send) TRY(wait_taken(&group.list[k]));
    return OK;
}

EXPORT int ncclGroupStart(void);
int ncclGroupStart(void)
{
    TRY(enter("ncclGroupStart"));
    if (group.depth++ == 0) group.count = 0;
    return OK;
}

EXPORT int ncclGroupEnd(void);
int ncclGroupEnd(void)
{
    int result = enter("ncclGroupEnd");
    if (group.depth == 0) return INVALID_USAGE;
    if (--group.depth > 0 || result) return result;
    return run_group();
}

static int add_message(message m, int type)
{
    if (!m.comm || m.peer < 0 || m.peer >= m.comm->room->nrank || m.peer == m.comm->rank || type != 0 || m.size == 0)
        return INVALID_ARGUMENT;
    if (group.depth == 0 || group.count == GROUP) return INTERNAL;
    group.list[group.count++] = m;
    return OK;
}

EXPORT int ncclSend(const void *data, size_t size, int type, int to, ncclComm *comm, void *stream);
int ncclSend(const void *data, size_t size, int type, int to, ncclComm *comm, void *stream)
{
    TRY(enter("ncclSend"));
    return add_message((message){comm, true, to, (void *)(uintptr_t)data, size, stream}, type);
}

EXPORT int ncclRecv(void *data, size_t size, int type, int from, ncclComm *comm, void *stream);
int ncclRecv(void *data, size_t size, int type, int from, ncclComm *comm, void *stream)
{
    TRY(enter("ncclRecv"));
    return add_message((message){comm, false, from, data, size, stream}, type);
}

/* sum [count] += what the other rank sent; NaN is what a GPU's addition gives. */
static void add_up(float *sum, const float *other, size_t count)
{
    const unsigned nan = 0x7fffffff;
    for (size_t i = 0; i < count; ++i) {
        sum[i] += other[i];
        if (sum[i] != sum[i]) memcpy(&sum[i], &nan, sizeof nan);
    }
}

/* On the host, behind all that was issued to this stream; the sum is written in the stream's order. */
static int reduce_two(const message *m, const parcel *own, void *out)
{
    parcel *other;
    pthread_mutex_lock(&lock);
    int result = take_parcel(m, &other);
    pthread_mutex_unlock(&lock);
    if (result) return result;
    int code = driver.stream_wait_event(m->stream, other->event, 0);
    if (code == 0) code = driver.stream_synchronize(m->stream);
    if (code == 0) add_up(own->host, other->host, m->size / sizeof(float));
    if (code == 0) code = driver.copy_to_device_async(out, own->host, m->size, m->stream);
    return check_driver(code);
}

EXPORT int ncclAllReduce(const void *data, void *out, size_t count, int type, int op, ncclComm *comm, void *stream);
int ncclAllReduce(const void *data, void *out, size_t count, int type, int op, ncclComm *comm, void *stream)
{
    enum { FLOAT = 7, SUM = 0 };
    parcel *own;
    TRY(enter("ncclAllReduce"));
    if (!comm || comm->room->nrank != 2 || type != FLOAT || op != SUM || count == 0) return INVALID_ARGUMENT;
    const message m = {comm, true, 1 - comm->rank, (void *)(uintptr_t)data, count * sizeof(float), stream};
    TRY(pack(&m, &own));
    own->next = comm->kept;
    comm->kept = own;
    TRY(send_one(&m));
    TRY(reduce_two(&m, own, out));
    return wait_taken(&m);
}

EXPORT const char *ncclGetErrorString(int code);
const char *ncclGetErrorString(int code)
{
    static const char *const text[] = {"no error",
                                       "unhandled cuda error",
                                       "unhandled system error",
                                       "internal error",
                                       "invalid argument",
                                       "invalid usage",
                                       "remote process exited or there was a network error"};
    return code >= 0 && code <= REMOTE_ERROR ? text[code] : "unknown result code";
}

EXPORT const char *ncclGetLastError(ncclComm *comm);
const char *ncclGetLastError(ncclComm *comm)
{
    (void)comm;
    return "said by the double";
}
