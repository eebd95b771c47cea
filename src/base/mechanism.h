/*
 * Letting things stand: the one place that compares stamps, counts, explains, audits and obeys the switches.
 */
#ifndef STI_BASE_MECHANISM_H
#define STI_BASE_MECHANISM_H

#include "base/trace.h"
#include "base/version.h"
#include "stet/mechanisms.h"

/* Options and counters of a device and of all that lives on it. One thread at a time, like its owner. */
typedef struct sti_mechanisms {
    stet_mechanism_options options;
    stet_counters counters;
    sti_trace *trace; /* what happens is traced (base/trace.h); NULL: it is not */
} sti_mechanisms;

static inline bool sti_enabled(const sti_mechanisms *m, stet_mechanism which)
{
    return (m->options.disabled >> which & 1u) == 0;
}

/* Memory: the host's, or with `fetch` something that is `data`, whose `size` bytes it copies to the host. */
typedef struct sti_span {
    const void *data;
    size_t size;
    stet_result (*fetch)(const void *data, size_t size, void *to);
} sti_span;

/*
 * A piece of work that may stand. `make` does it, in place and completely; `outputs` lists the memory that it writes
 * (for the audit; data must not be NULL unless size is 0). `launches` and `bytes` are what one make costs, for the
 * counters (bytes moved).
 */
typedef struct sti_work {
    stet_mechanism mechanism;
    stet_reason why;      /* reason counted on a miss */
    const char *what;     /* names the thing in messages: "world transforms" */
    sti_stamp *kept;      /* what the thing was made from */
    const sti_stamp *now; /* what it would be made from */
    stet_result (*make)(void *context);
    void *context;
    const sti_span *outputs;
    int noutput;
    int64_t launches, bytes;
} sti_work;

/*
 * Switch on, kept equal to now: a hit; nothing is done (audit: the outputs are saved, make is called, a difference is
 * STET_AUDIT naming mechanism, what and the first byte). Otherwise make is called, the stamp kept, a miss counted with
 * its reason. Switch off: make is always called and counted as a miss with the reason <mechanism>_disabled. If make
 * fails, the stamp is invalid and the result is make's.
 */
stet_result sti_let_stand(sti_mechanisms *m, const sti_work *work);

/* For mechanisms whose hit is not a skip of one piece of work. */
void sti_count_hit(sti_mechanisms *m, stet_mechanism which, int64_t saved_launches, int64_t saved_bytes);
void sti_count_miss(sti_mechanisms *m, stet_mechanism which, stet_reason why, int64_t launches, int64_t bytes);
/* Counts, logs (information) and, in strict mode, returns STET_STRICT with the reason's sentence and `where`. */
stet_result sti_fallback(sti_mechanisms *m, stet_mechanism which, stet_reason why, const char *where);

/* The reason "<mechanism>_disabled". */
stet_reason sti_reason_disabled(stet_mechanism which);

#endif
