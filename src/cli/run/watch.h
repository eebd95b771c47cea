/*
 * Whoever looks at a run: another process that asks on a socket for states of worlds, and gets them between frames.
 *
 * A request is a line of JSON:
 *     {"first": W, "count": N, "fields": [names], "whole": [names]}
 * fields: of worlds W … W + N - 1; whole: of all worlds. The answer is a line of JSON, and behind it the arrays' bytes:
 *     {"scene": PATH, "worlds": N, "frame": F, "arrays": [[name, worlds, items, type of NumPy], ...], "bytes": B,
 *     "faults": [[world, bits], ...]}
 *
 *   WATCH-1  a run never waits for the socket, unless it was asked to wait for the first request for worlds. What
 *            cannot be sent is sent after a later frame, and the next request is read only then; whoever asks for what
 *            is not there is not answered any more
 *   WATCH-2  nothing of the sim is written
 */
#ifndef STI_CLI_RUN_WATCH_H
#define STI_CLI_RUN_WATCH_H

#include "stet/stet.h"

enum { WATCH_REQUEST = 4096 };

typedef struct watch {
    bool open;
    bool waits; /* until somebody asks for worlds */
    int socket;
    const char *scene;
    char request[WATCH_REQUEST];
    size_t got; /* bytes of the request */
    uint8_t *answer;
    size_t size, sent; /* bytes of the answer */
} watch;

/* Returns a sentence if it is no socket. scene: borrowed. */
const char *watch_open(watch *w, int64_t socket, const char *scene);
void watch_frame(watch *w, stet_sim *sim, int64_t frame);
void watch_close(watch *w);

#endif
