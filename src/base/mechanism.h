/*
 * sti_let_stand, which skips work whose inputs have not changed. It compares stamps, counts hits and misses, gives
 * reasons, audits and obeys the switches.
 */
#ifndef STI_BASE_MECHANISM_H
#define STI_BASE_MECHANISM_H

#include "base/trace.h"
#include "base/version.h"
#include "stet/mechanisms.h"

/* Options and counters of a device and of all that lives on it. One thread at a time uses them, like the device. */
typedef struct sti_mechanisms {
    stet_mechanism_options options;
    stet_counters counters;
    sti_trace *trace; /* events are traced here (base/trace.h); NULL: tracing is off */
} sti_mechanisms;

static inline bool sti_enabled(const sti_mechanisms *m, stet_mechanism which)
{
    return (m->options.disabled >> which & 1u) == 0;
}

/*
 * Memory on the host. With `fetch`, `data` stands for content elsewhere, whose `size` bytes fetch copies to the host.
 */
typedef struct sti_span {
    const void *data;
    size_t size;
    stet_result (*fetch)(const void *data, size_t size, void *to);
} sti_span;

/*
 * A piece of work that can be skipped. `make` does it, in place and completely. `outputs` lists the memory that it
 * writes, for the audit (data is NULL only if size is 0). `launches` and `bytes` (moved) are what one make costs, for
 * the counters.
 */
typedef struct sti_work {
    stet_mechanism mechanism;
    stet_reason why;      /* reason counted on a miss */
    const char *what;     /* names the output in messages: "world transforms" */
    sti_stamp *kept;      /* stamp of the inputs that the output was made from */
    const sti_stamp *now; /* stamp of the present inputs */
    stet_result (*make)(void *context);
    void *context;
    const sti_span *outputs;
    int noutput;
    int64_t launches, bytes;
} sti_work;

/*
 * If the mechanism is on and kept equals now, this is a hit and nothing is done. (Audit: saves the outputs, calls make
 * and compares. A difference is STET_ERROR_AUDIT; its message names the mechanism, what, and the first byte.) Otherwise
 * it calls make, keeps the stamp and counts a miss with its reason. If the mechanism is off, make is always called and
 * counted as a miss with the reason <mechanism>_disabled. If make fails, the stamp is invalid and the result is make's.
 */
stet_result sti_let_stand(sti_mechanisms *m, const sti_work *work);

/* For mechanisms whose hit does not skip one piece of work. */
void sti_count_hit(sti_mechanisms *m, stet_mechanism which, int64_t saved_launches, int64_t saved_bytes);
/* The same for several hits at once. */
void sti_count_hits(sti_mechanisms *m, stet_mechanism which, int64_t hits, int64_t saved_launches, int64_t saved_bytes);
/* The mechanism holds so many bytes more; negative: fewer. */
void sti_count_held(sti_mechanisms *m, stet_mechanism which, int64_t bytes);
void sti_count_miss(sti_mechanisms *m, stet_mechanism which, stet_reason why, int64_t launches, int64_t bytes);
/*
 * Counts a fallback and logs it (information). In strict mode returns STET_ERROR_STRICT with the reason's sentence and
 * `where`.
 */
stet_result sti_fallback(sti_mechanisms *m, stet_mechanism which, stet_reason why, const char *where);

/* MECHANISM-2: the reasons of a mechanism add up to its misses and fallbacks; nothing is counted below 0. */
STI_VALIDATE(mechanisms, sti_mechanisms)

/* Returns the reason "<mechanism>_disabled". */
stet_reason sti_reason_disabled(stet_mechanism which);

#endif
