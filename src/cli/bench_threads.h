/* The process that is in the way of threads that are measured; see bench_threads.c. */
#ifndef STI_CLI_BENCH_THREADS_H
#define STI_CLI_BENCH_THREADS_H

#include "cli/bench.h"

/* What `stet bench --burn` does: keeps one core busy until the process that started it ends. */
stet_result bench_burn(void);

#endif
