/* Counts forks; see process.h. */
#include "base/process.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic int forks;

static void note_fork(void) { atomic_fetch_add(&forks, 1); }
static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, note_fork); }

int sti_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
