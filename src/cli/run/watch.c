/* See watch.h. */
#include "cli/run/watch.h"

#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const char *watch_open(watch *w, int64_t socket, const char *scene)
{
    int type;
    socklen_t size = sizeof type;
    *w = (watch){.socket = (int)socket, .scene = scene};
    if (getsockopt(w->socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        fcntl(w->socket, F_SETFL, O_NONBLOCK) != 0)
        return "--view-socket: this is no open socket; use --view with the stet command of the Python package";
    w->open = true;
    return NULL;
}

void watch_close(watch *w)
{
    if (w->open) close(w->socket);
    free(w->answer);
    *w = (watch){0};
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Appends rows of a field to the answer, and its form to `arrays`; false: there is no such field, or no memory. */
static bool add_array(watch *w, stet_sim *sim, const char *name, int64_t first, int64_t n, json_t *arrays)
{
    stet_array *array;
    if (stet_worlds_get_array(stet_sim_get_worlds(sim), name, &array) != STET_OK) return false;
    int64_t items = stet_array_get_shape(array)[1];
    bool whole = stet_array_get_dtype(array) == STET_DTYPE_INT;
    size_t each = stet_dtype_size(stet_sim_get_device(sim), stet_array_get_dtype(array));
    size_t bytes = (size_t)(n * items) * each;
    uint8_t *grown = realloc(w->answer, w->size + bytes + 1);
    if (!grown) return false;
    w->answer = grown;
    if (bytes && stet_array_read_worlds(array, first, n, w->answer + w->size, bytes) != STET_OK) return false;
    w->size += bytes;
    return json_array_append_new(arrays, json_pack("[sIIs]", name, (json_int_t)n, (json_int_t)items,
                                                   whole       ? "<i4"
                                                   : each == 8 ? "<f8"
                                                               : "<f4")) == 0;
}

static bool add_arrays(watch *w, stet_sim *sim, const json_t *names, int64_t first, int64_t n, json_t *arrays)
{
    for (size_t k = 0; k < json_array_size(names); ++k) {
        const char *name = json_string_value(json_array_get(names, k));
        if (!name || !add_array(w, sim, name, first, n, arrays)) return false;
    }
    return true;
}

static json_t *faults_of(stet_worlds *worlds)
{
    const uint32_t *faults = stet_worlds_get_faults(worlds);
    json_t *out = json_array();
    for (int64_t k = 0; faults && k < stet_worlds_get_nworld(worlds); ++k)
        if (faults[k]) json_array_append_new(out, json_pack("[II]", (json_int_t)k, (json_int_t)faults[k]));
    return out;
}

/* Puts the head before the arrays. */
static bool add_head(watch *w, json_t *head)
{
    char *text = head ? json_dumps(head, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) + 1 : 0;
    uint8_t *grown = text ? realloc(w->answer, w->size + length) : NULL;
    if (grown) {
        w->answer = grown;
        memmove(grown + length, grown, w->size);
        memcpy(grown, text, length - 1);
        grown[length - 1] = '\n';
        w->size += length;
    }
    free(text);
    return grown != NULL;
}

static bool make_answer(watch *w, stet_sim *sim, int64_t frame)
{
    stet_worlds *worlds = stet_sim_get_worlds(sim);
    json_t *request = json_loads(w->request, 0, NULL), *fields, *whole, *arrays = json_array(), *head = NULL;
    json_int_t first, count;
    int64_t n = stet_worlds_get_nworld(worlds);
    bool good = request && json_unpack(request, "{s:I,s:I,s:o,s:o}", "first", &first, "count", &count, "fields",
                                       &fields, "whole", &whole) == 0;
    good = good && first >= 0 && count >= 0 && first <= n && count <= n - first &&
           add_arrays(w, sim, fields, first, count, arrays) && add_arrays(w, sim, whole, 0, n, arrays);
    if (good && count > 0) w->waits = false;
    if (good) {
        head =
            json_pack("{s:s,s:I,s:I,s:O,s:I,s:o}", "scene", w->scene, "worlds", (json_int_t)n, "frame",
                      (json_int_t)frame, "arrays", arrays, "bytes", (json_int_t)w->size, "faults", faults_of(worlds));
        good = add_head(w, head);
    }
    json_decref(head);
    json_decref(arrays);
    json_decref(request);
    return good;
}

/* ---- between two frames ------------------------------------------------------------------------------------------ */

/* Sends what it can; false: nobody is there any more. */
static bool send_some(watch *w)
{
    while (w->sent < w->size) {
        ssize_t n = send(w->socket, w->answer + w->sent, w->size - w->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        w->sent += (size_t)n;
    }
    w->size = w->sent = 0;
    return true;
}

/* 1: a request is there; 0: not yet; -1: nobody is there any more, or it is none. */
static int read_request(watch *w)
{
    ssize_t n = recv(w->socket, w->request + w->got, sizeof w->request - 1 - w->got, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    w->got += (size_t)n;
    if (n == 0 || w->got == sizeof w->request - 1) return -1;
    if (w->request[w->got - 1] != '\n') return 0;
    w->request[w->got] = 0;
    w->got = 0;
    return 1;
}

static void serve(watch *w, stet_sim *sim, int64_t frame)
{
    bool good = send_some(w);
    int asked = good && !w->size ? read_request(w) : 0;
    if (asked > 0) good = make_answer(w, sim, frame) && send_some(w);
    if (!good || asked < 0) watch_close(w);
}

void watch_frame(watch *w, stet_sim *sim, int64_t frame)
{
    enum { MOST_WAIT = 100 }; /* milliseconds, after which an interruption is looked for */
    if (w->open) serve(w, sim, frame);
    while (w->open && w->waits && !interrupt_signal()) {
        struct pollfd there = {.fd = w->socket, .events = (short)(POLLIN | (w->size ? POLLOUT : 0))};
        (void)poll(&there, 1, MOST_WAIT);
        serve(w, sim, frame);
    }
}
