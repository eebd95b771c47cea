/* The process that competes with the measured threads; see threads.c. */
#ifndef STET_BENCH_THREADS_H
#define STET_BENCH_THREADS_H

#include "bench/bench.h"

/* What `stet bench --burn` does: keeps one core busy until the process that started it ends. */
stet_result bench_burn(void);

#endif
