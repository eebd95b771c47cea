/*
 * The double of NCCL (and of RCCL): its functions over the driver double, for ranks that are threads of one process,
 * each with a device of the double. Messages are copies and events in the ranks' streams, so that the double's order
 * between streams (DOUBLE-3) shows what is not ordered. Sums are those of two ranks, of floats, added up on the host.
 *
 * What it does that NCCL does not:
 *   NCCL-DOUBLE-1  the end of a group of calls waits for the ranks that it exchanges messages with, so that an order of
 *       calls that could wait for ever does
 *   NCCL-DOUBLE-2  messages that differ in size, a receive without a send, two ranks on one device are errors
 *   NCCL-DOUBLE-3  each function can be made to fail
 * A rank that waits longer than 20 s gives up.
 */
#ifndef TEST_DOUBLE_NCCL_NCCL_H
#define TEST_DOUBLE_NCCL_NCCL_H

#include <stdint.h>

typedef struct nccl_double_control {
    /* Forgets counts; from now on the at-th call (from 1) of a function ("ncclSend") returns `code`; 0: none. */
    void (*start)(const char *fails, int64_t at, int code);
    int64_t (*calls)(const char *function);
} nccl_double_control;

typedef const nccl_double_control *nccl_double_get_control_function(void);

#endif
