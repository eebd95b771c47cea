/*
 * Ranks that are threads: a transport over the memory of one process. A rank that ends without its part of an exchange
 * makes the others fail, as a launcher would end them.
 */
#ifndef STET_TEST_GROUP_RANKS_H
#define STET_TEST_GROUP_RANKS_H

#include "stet/group.h"

enum { RANKS_MOST = 9 };

/* Where the bytes of a message are, if not where its address says: of doubles of GPUs. NULL: no such memory. */
extern const void *(*ranks_see)(const void *data);

/* What one rank does; `transport` is handed to a group. */
typedef void ranks_body(int rank, const stet_transport *transport, void *context);
/* Runs nrank threads and waits for them. */
void ranks_run(int nrank, ranks_body *body, void *context);

#endif
