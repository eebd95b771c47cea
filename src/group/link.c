/* Groups that are linked with a device; arrays from device to device. See link.h. */
#include "group/link.h"

#include "base/environment.h"
#include "base/memory.h"
#include "device/gpu/gpu.h"
#include "device/host_mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- linking ----------------------------------------------------------------------------------------------------- */

/* What a rank says: that it can use NCCL, or why not; that its transport takes memory of its GPU, or why not. */
typedef struct offer {
    int type, version;
    int64_t real_size, own;
    char why[STI_NCCL_TEXT], staged[200];
} offer;

stet_result sti_link_join(sti_link *l)
{
    if (!l->flying) return STET_OK;
    l->flying = false;
    return sti_gpu_second_join(l->device, l->second);
}

stet_result sti_link_begin(sti_link *l, bool beside, void **used)
{
    if (!beside || !l->direct) return sti_link_join(l);
    STI_TRY(sti_gpu_second_begin(l->device, &l->second, used));
    l->flying = true;
    return STET_OK;
}

void sti_link_end(sti_link *l, bool beside, void *used)
{
    if (beside && l->direct) sti_gpu_second_end(l->device, used);
}

static void close_link(sti_link *l, bool failed)
{
    if (l->flying) (void)sti_link_join(l);
    if (l->direct && !failed) (void)sti_device_wait_idle(l->device); /* NCCL must not be left with work */
    sti_nccl_leave(&l->nccl, l->device, failed);
    if (l->second) sti_gpu_second_destroy(l->device, l->second);
    stet_array_destroy(l->arrived);
    stet_array_destroy(l->merges);
    stet_array_destroy(l->nodes);
    stet_array_destroy(l->parts);
    sti_free(l->first_node);
    sti_device_release(l->device);
    sti_free(l);
}

static void say_why(offer *o, stet_result result)
{
    if (result != STET_OK) (void)snprintf(o->why, sizeof o->why, "%s", stet_get_last_error());
}

static void say_staged(const stet_transport *t, offer *o)
{
    const char *why = "its transport does not take memory of GPUs";
    if (sti_environment("STET_GROUP_STAGED"))
        why = "STET_GROUP_STAGED is set";
    else if (t->why_no_gpu)
        why = t->why_no_gpu(t->context, (stet_device_type)o->type);
    (void)snprintf(o->staged, sizeof o->staged, "%s", why ? why : "");
}

/* Why not all ranks can use NCCL; NULL: they can. */
static const char *find_no_nccl(const offer *all, int nrank, int *rank)
{
    for (int r = 0; r < nrank; ++r) {
        *rank = r;
        if (all[r].why[0]) return all[r].why;
        if (all[r].type != all[0].type) return "its GPU is of another vendor than that of rank 0";
        if (all[r].version != all[0].version) return "its NCCL has another version than that of rank 0";
    }
    return NULL;
}

/* Without NCCL arrays cross by the transport: writes how, and why. False: they don't have to. */
static bool say_transport(sti_link *l, const offer *all, int nrank)
{
    int r = 0, staged = 0;
    const char *why = find_no_nccl(all, nrank, &r);
    bool gpus = l->device->can.own_memory;
    if (!why) return false;
    for (int k = 1; k < nrank; ++k) gpus = gpus && all[k].type == all[0].type;
    while (staged < nrank && !all[staged].staged[0]) ++staged;
    l->aware = gpus && staged == nrank;
    int n = snprintf(l->text, sizeof l->text, "%s, because rank %d of %d: %.300s",
                     l->aware ? "GPU-aware transport" : "host memory", r, nrank, why);
    if (gpus && staged < nrank)
        (void)snprintf(l->text + n, sizeof l->text - (size_t)n, "; rank %d: %.200s", staged, all[staged].staged);
    return true;
}

/* What ranks must have in common with or without NCCL. */
static stet_result check_offers(stet_group *g, const offer *all)
{
    for (int r = 0; r < g->transport.nrank; ++r) {
        if (all[r].own == 0)
            return sti_group_set_failure(g, r, "it has no world; stet_group_link needs one of each rank");
        if (all[r].real_size != all[0].real_size)
            return sti_group_set_failure(g, r,
                                         "its REAL has another size than that of rank 0; use devices of one kind");
    }
    return STET_OK;
}

static stet_result share_offers(stet_group *g, const offer *own, offer *all)
{
    return sti_group_check(g, g->transport.all_gather(g->transport.context, own, all, sizeof *own), "linking devices");
}

static void say_direct(sti_link *l)
{
    int v = l->nccl.version;
    l->direct = true;
    /* Versions before 2.9 have a digit for the minor number. */
    int big = v < 10000 ? 1000 : 10000;
    (void)snprintf(l->text, sizeof l->text, "%s %d.%d.%d", l->nccl.name, v / big, v % big / 100, v % 100);
}

/* All ranks can use NCCL: they make a communicator, or none of them has one. */
static stet_result join_all(stet_group *g, sti_link *l, offer *own, offer *all)
{
    const stet_transport *t = &g->transport;
    sti_nccl_id id = {0};
    if (t->rank == 0) say_why(own, sti_nccl_make_id(&l->nccl, &id));
    STI_TRY(sti_group_check(g, t->broadcast(t->context, &id, sizeof id, 0), "naming a communicator"));
    if (t->rank > 0 || !own->why[0]) say_why(own, sti_nccl_join(&l->nccl, l->device, &id, t->rank, t->nrank));
    STI_TRY(share_offers(g, own, all));
    if (say_transport(l, all, t->nrank))
        sti_nccl_leave(&l->nccl, l->device, true);
    else
        say_direct(l);
    return STET_OK;
}

static stet_result link_all(stet_group *g, sti_link *l, const char *library, offer *all)
{
    offer own = {
        .type = (int)l->device->type, .real_size = (int64_t)l->device->real_size, .own = stet_group_get_own(g)};
    say_why(&own, sti_nccl_open(l->device, library, &l->nccl));
    own.version = l->nccl.version;
    if (l->device->can.own_memory) say_staged(&g->transport, &own);
    STI_TRY(share_offers(g, &own, all));
    STI_TRY(check_offers(g, all));
    return say_transport(l, all, g->transport.nrank) ? STET_OK : join_all(g, l, &own, all);
}

stet_result stet_group_link(stet_group *g, stet_device *device, const char *library)
{
    sti_link *l;
    offer *all;
    if (!g || !device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_group_link: group and device must not be NULL");
    STI_TRY(sti_group_meet(g, STI_GROUP_LINK, 0));
    STI_TRY(sti_alloc(&l, sizeof *l, "a group's link"));
    sti_device_retain(device);
    l->device = device;
    stet_result result = sti_alloc(&all, (size_t)g->transport.nrank * sizeof *all, "ranks of a group");
    if (result == STET_OK) {
        result = link_all(g, l, library, all);
        sti_free(all);
    }
    if (result != STET_OK) {
        close_link(l, true);
        return result;
    }
    stet_group_unlink(g);
    g->link = l;
    g->close_link = close_link;
    return STET_OK;
}

const char *stet_group_get_link(const stet_group *g) { return g && g->link ? g->link->text : ""; }

/* Memory of the device crosses, in C order (LINK-3). */
static bool is_from_device(const sti_link *l) { return l->direct || l->aware; }

/* ---- exchanging -------------------------------------------------------------------------------------------------- */

stet_result sti_link_check(const stet_group *g, const stet_array *array, const char *call)
{
    if (!g || !array) return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: group and its arrays must not be NULL", call);
    if (!g->link || g->link->device != array->device)
        return sti_error(STET_ERROR_STATE, "%s: call stet_group_link with the device of array %s first", call,
                         array->name);
    if (array->device->listing || sti_device_capture(array->device) != 0)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "%s: ranks cannot meet in a recording, or while the stream is being captured; call it outside",
                         call);
    return STET_OK;
}

stet_result sti_link_prepare(stet_array *array)
{
    STI_TRY(sti_array_ensure(array));
    return sti_array_to_device(array);
}

/* One message; buffer: in the host's memory, NULL: the transport takes the device's. */
static stet_result pass_message(stet_group *g, const sti_message *m, char *buffer)
{
    const stet_transport *t = &g->transport;
    char *at = m->data;
    for (size_t left = m->size, n; left > 0; left -= n, at += n) {
        n = buffer && left > STI_GROUP_PIECE ? STI_GROUP_PIECE : left;
        char *data = buffer ? buffer : at;
        if (m->send) {
            if (buffer) STI_TRY(sti_device_download(g->link->device, buffer, at, n));
            STI_TRY(sti_group_check(g, t->send(t->context, data, n, m->peer), "sending an array"));
        } else {
            STI_TRY(sti_group_check(g, t->receive(t->context, data, n, m->peer), "receiving an array"));
            if (buffer) STI_TRY(sti_device_upload(g->link->device, at, buffer, n));
        }
    }
    return STET_OK;
}

/* A message's place among those of all ranks: by sender, then by receiver, then as listed. */
typedef struct place {
    int from, to, at;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/*
 * Of all messages that have not crossed, the first one is the next of both its ranks: so one of them always crosses.
 */
static stet_result pass_messages(stet_group *g, const sti_message *messages, int n, place *places, char *buffer)
{
    int rank = g->transport.rank;
    for (int k = 0; k < n; ++k) {
        const sti_message *m = &messages[k];
        places[k] = (place){m->send ? rank : m->peer, m->send ? m->peer : rank, k};
    }
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int k = 0; k < n; ++k) STI_TRY(pass_message(g, &messages[places[k].at], buffer));
    return STET_OK;
}

/* With the GPU current and idle: what the transport reads has been written, and what it writes is not being read. */
static stet_result pass_from_gpu(stet_group *g, const sti_message *messages, int n, place *places)
{
    STI_TRY(sti_device_wait_idle(g->link->device));
    STI_GPU_WITHIN(g->link->device->state, pass_messages(g, messages, n, places, NULL));
}

static stet_result pass_through_host(stet_group *g, const sti_message *messages, int n, place *places)
{
    char *buffer;
    size_t most = 1;
    for (int k = 0; k < n; ++k) most = messages[k].size > most ? messages[k].size : most;
    STI_TRY(sti_alloc(&buffer, most < STI_GROUP_PIECE ? most : STI_GROUP_PIECE, "messages between ranks"));
    stet_result result = pass_messages(g, messages, n, places, buffer);
    sti_free(buffer);
    return result;
}

static stet_result exchange_by_transport(stet_group *g, const sti_message *messages, int n)
{
    place *places;
    STI_TRY(sti_alloc(&places, ((size_t)n + 1) * sizeof *places, "messages between ranks"));
    stet_result result = (g->link->aware ? pass_from_gpu : pass_through_host)(g, messages, n, places);
    sti_free(places);
    return result;
}

stet_result sti_link_exchange(stet_group *g, const sti_message *messages, int n)
{
    sti_link *l = g->link;
    if (!l->direct) return exchange_by_transport(g, messages, n);
    if (sti_nccl_exchange(&l->nccl, l->device, messages, n) == STET_OK) return STET_OK;
    return sti_group_set_failure(g, g->transport.rank, stet_get_last_error());
}

/* ---- arrays of worlds, and plain ones ---------------------------------------------------------------------------- */

/* Bytes of a world's row of an array with this many rows. */
static stet_result item_of(const stet_array *a, int64_t rows, const char *call, size_t *item)
{
    if (stet_array_get_shape(a)[0] != rows)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array %s has %lld rows, and must have %lld", call, a->name,
                         (long long)stet_array_get_shape(a)[0], (long long)rows);
    *item = stet_array_get_bytes(a) / (size_t)rows;
    return STET_OK;
}

/* Checks own, and on rank 0 all, before ranks meet. */
static stet_result check_pair(const stet_group *g, stet_array *own, stet_array *all, const char *call, size_t *item)
{
    size_t same;
    STI_TRY(sti_link_check(g, own, call));
    STI_TRY(item_of(own, stet_group_get_own(g), call, item));
    if (stet_group_get_rank(g) != 0) return STET_OK;
    STI_TRY(sti_link_check(g, all, call));
    STI_TRY(item_of(all, stet_group_get_nworld(g), call, &same));
    if (same != *item || own->dtype != all->dtype)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: rows of %s and of %s differ", call, own->name, all->name);
    return STET_OK;
}

/* Rank 0 exchanges with each other rank that rank's rows. */
static int list_rows(const stet_group *g, bool gather, stet_array *own, stet_array *all, size_t item, sti_message *out)
{
    int n = 0;
    if (stet_group_get_rank(g) != 0) {
        out[0] = (sti_message){gather, 0, own->data, (size_t)stet_group_get_own(g) * item};
        return 1;
    }
    for (int r = 1; r < stet_group_get_nrank(g); ++r)
        out[n++] = (sti_message){!gather, r, (char *)all->data + (size_t)g->first[r] * item,
                                 (size_t)stet_group_get_own_of(g, r) * item};
    return n;
}

static stet_result pass_rows(stet_group *g, bool gather, stet_array *own, stet_array *all, size_t item)
{
    sti_message *messages;
    bool root = stet_group_get_rank(g) == 0;
    if (root)
        STI_TRY(sti_device_copy(own->device, gather ? all->data : own->data, gather ? own->data : all->data,
                                stet_array_get_bytes(own)));
    STI_TRY(sti_alloc(&messages, (size_t)stet_group_get_nrank(g) * sizeof *messages, "messages between ranks"));
    stet_result result = sti_link_exchange(g, messages, list_rows(g, gather, own, all, item, messages));
    sti_free(messages);
    return result;
}

static stet_result exchange_rows(stet_group *g, bool gather, stet_array *own, stet_array *all, size_t item, bool beside)
{
    void *used = NULL;
    bool root = stet_group_get_rank(g) == 0;
    STI_TRY(sti_link_prepare(own));
    if (root) STI_TRY(sti_link_prepare(all));
    STI_TRY(sti_link_begin(g->link, beside, &used));
    stet_result result = pass_rows(g, gather, own, all, item);
    sti_link_end(g->link, beside, used);
    if (root || !gather) sti_version_bump(gather ? &all->version : &own->version);
    return result;
}

/* Through the host, which sees all arrays in C order (LINK-3). */
static stet_result gather_through_host(stet_group *g, stet_array *own, stet_array *all)
{
    char *data = NULL;
    size_t size = stet_group_get_rank(g) == 0 ? stet_array_get_bytes(all) : 0;
    if (size > 0) STI_TRY(sti_alloc(&data, size, "an array of all ranks"));
    stet_result result = stet_group_read(g, own, data);
    if (result == STET_OK && size > 0) result = stet_array_write(all, data, size);
    sti_free(data);
    return result;
}

static stet_result scatter_through_host(stet_group *g, stet_array *all, stet_array *own, size_t item)
{
    char *data = NULL, *mine;
    size_t size = stet_group_get_rank(g) == 0 ? stet_array_get_bytes(all) : 0;
    STI_TRY(sti_alloc(&mine, stet_array_get_bytes(own), "an array of a rank"));
    stet_result result = size > 0 ? sti_alloc(&data, size, "an array of all ranks") : STET_OK;
    if (result == STET_OK && size > 0) result = stet_array_read(all, data, size);
    if (result == STET_OK) result = stet_group_scatter(g, data, item, mine);
    if (result == STET_OK) result = stet_array_write(own, mine, stet_array_get_bytes(own));
    sti_free(data);
    sti_free(mine);
    return result;
}

static stet_result gather_array(stet_group *g, stet_array *own, stet_array *all, bool beside, const char *call)
{
    size_t item;
    STI_TRY(check_pair(g, own, all, call, &item));
    if (!is_from_device(g->link)) return gather_through_host(g, own, all);
    STI_TRY(sti_group_meet(g, STI_GROUP_GATHER, item));
    return exchange_rows(g, true, own, all, item, beside);
}

stet_result stet_group_gather_array(stet_group *g, stet_array *own, stet_array *all)
{
    return gather_array(g, own, all, false, "stet_group_gather_array");
}

stet_result stet_group_gather_begin(stet_group *g, stet_array *own, stet_array *all)
{
    return gather_array(g, own, all, true, "stet_group_gather_begin");
}

/* ---- piece by piece ---------------------------------------------------------------------------------------------- */

/* To rank 0, in the pieces that it receives. */
static stet_result send_pieces(stet_group *g, const stet_array *own, size_t item)
{
    char *at = own->data;
    for (size_t left = (size_t)stet_group_get_own(g) * item, n; left > 0; left -= n, at += n) {
        n = left < STI_GROUP_PIECE ? left : STI_GROUP_PIECE;
        STI_TRY(sti_link_exchange(g, &(sti_message){true, 0, at, n}, 1));
    }
    return STET_OK;
}

static stet_result receive_pieces(stet_group *g, int rank, size_t item, char *buffer, sti_group_take *take,
                                  void *context, stet_result *taken)
{
    sti_link *l = g->link;
    for (size_t left = (size_t)stet_group_get_own_of(g, rank) * item, n; left > 0; left -= n) {
        n = left < STI_GROUP_PIECE ? left : STI_GROUP_PIECE;
        STI_TRY(sti_link_exchange(g, &(sti_message){false, rank, l->arrived->data, n}, 1));
        STI_TRY(sti_device_download(l->device, buffer, l->arrived->data, n));
        if (*taken == STET_OK) *taken = take(context, buffer, n);
    }
    return STET_OK;
}

static stet_result take_all(stet_group *g, stet_array *own, size_t item, char *buffer, sti_group_take *take,
                            void *context)
{
    const void *host;
    STI_TRY(stet_array_get_host(own, &host));
    stet_result taken = take(context, host, stet_array_get_bytes(own)), result = STET_OK;
    for (int r = 1; r < stet_group_get_nrank(g) && result == STET_OK; ++r)
        result = receive_pieces(g, r, item, buffer, take, context, &taken);
    return result == STET_OK ? taken : result;
}

/* Rank 0's room, before ranks meet: if it has none, all hear of it. */
static stet_result make_arrived(sti_link *l)
{
    if (l->arrived) return STET_OK;
    STI_TRY(STI_ARRAY(l->device, "a piece from another rank", STET_DTYPE_U8, false, &l->arrived, STI_GROUP_PIECE));
    return sti_link_prepare(l->arrived);
}

stet_result sti_group_stream_array(stet_group *g, stet_array *own, sti_group_take *take, void *context)
{
    const void *host;
    char *buffer;
    sti_link *l = g->link;
    size_t item = stet_array_get_bytes(own) / (size_t)stet_array_get_shape(own)[0];
    if (!l || !is_from_device(l) || l->device != own->device) {
        STI_TRY(stet_array_get_host(own, &host));
        return sti_group_stream(g, host, item, take, context);
    }
    STI_TRY(sti_link_check(g, own, "streaming an array"));
    STI_TRY(sti_link_prepare(own));
    if (stet_group_get_rank(g) == 0) STI_TRY(make_arrived(l));
    STI_TRY(sti_group_meet(g, STI_GROUP_GATHER, item));
    STI_TRY(sti_link_join(l));
    if (stet_group_get_rank(g) != 0) return send_pieces(g, own, item);
    STI_TRY(sti_alloc(&buffer, STI_GROUP_PIECE, "what ranks send"));
    stet_result result = take_all(g, own, item, buffer, take, context);
    sti_free(buffer);
    return result;
}

stet_result stet_group_wait(stet_group *g)
{
    if (!g) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_group_wait: group must not be NULL");
    return g->link ? sti_link_join(g->link) : STET_OK;
}

stet_result stet_group_scatter_array(stet_group *g, stet_array *all, stet_array *own)
{
    size_t item;
    STI_TRY(check_pair(g, own, all, "stet_group_scatter_array", &item));
    if (!is_from_device(g->link)) return scatter_through_host(g, all, own, item);
    STI_TRY(sti_group_meet(g, STI_GROUP_SCATTER, item));
    return exchange_rows(g, false, own, all, item, false);
}

stet_result stet_group_broadcast_array(stet_group *g, stet_array *array)
{
    sti_message *messages;
    int n = 0;
    STI_TRY(sti_link_check(g, array, "stet_group_broadcast_array"));
    if (array->worlds)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_group_broadcast_array: array %s has worlds, which are each rank's own; give a plain one",
                         array->name);
    size_t size = stet_array_get_bytes(array);
    STI_TRY(sti_group_meet(g, STI_GROUP_BROADCAST, size));
    STI_TRY(sti_link_prepare(array));
    STI_TRY(sti_link_join(g->link));
    STI_TRY(sti_alloc(&messages, (size_t)stet_group_get_nrank(g) * sizeof *messages, "messages between ranks"));
    bool root = stet_group_get_rank(g) == 0;
    if (!root) messages[n++] = (sti_message){false, 0, array->data, size};
    for (int r = 1; root && r < stet_group_get_nrank(g); ++r) messages[n++] = (sti_message){true, r, array->data, size};
    stet_result result = sti_link_exchange(g, messages, n);
    sti_free(messages);
    if (!root) sti_version_bump(&array->version);
    return result;
}
