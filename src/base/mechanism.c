/*
 * Mechanisms: their names and reasons from the table, the switches, and sti_let_stand.
 *
 * Invariants:
 *   MECHANISM-1  a stamp is invalid while its output is being made, so a failure half-way is never taken for a finished
 *       output
 *   MECHANISM-2  a miss is counted when it succeeded, with exactly one reason; a hit has none
 *   MECHANISM-3  an audited hit counts as a hit; what the repeated work itself counts is counted again
 */
#include "base/mechanism.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static_assert(STET_MECHANISM_COUNT <= 32, "the switches are bits of a uint32_t");

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *doc;
    stet_reason disabled;
} mechanisms[STET_MECHANISM_COUNT] = {
#define STET_MECHANISM(id, name, sentence) {name, sentence, STET_REASON_##id##_DISABLED},
#define STET_REASON(mechanism, id, name, sentence)
#include "stet/mechanisms.inl"
#undef STET_MECHANISM
#undef STET_REASON
};

static const struct {
    const char *name, *sentence;
    stet_mechanism mechanism;
} reasons[STET_REASON_COUNT] = {
    {"none", "no reason", STET_MECHANISM_COUNT},
#define STET_MECHANISM(id, name, sentence)
#define STET_REASON(mechanism, id, name, sentence) {name, sentence, STET_MECHANISM_##mechanism},
#include "stet/mechanisms.inl"
#undef STET_MECHANISM
#undef STET_REASON
};

static bool is_mechanism(stet_mechanism mechanism) { return (unsigned)mechanism < STET_MECHANISM_COUNT; }

static bool is_reason(stet_reason reason) { return (unsigned)reason < STET_REASON_COUNT; }

const char *stet_mechanism_name(stet_mechanism mechanism)
{
    return is_mechanism(mechanism) ? mechanisms[mechanism].name : "unknown";
}

const char *stet_mechanism_sentence(stet_mechanism mechanism)
{
    return is_mechanism(mechanism) ? mechanisms[mechanism].doc : "There is no such mechanism.";
}

const char *stet_reason_name(stet_reason reason) { return is_reason(reason) ? reasons[reason].name : "unknown"; }

const char *stet_reason_sentence(stet_reason reason)
{
    return is_reason(reason) ? reasons[reason].sentence : "there is no such reason";
}

stet_mechanism stet_reason_mechanism(stet_reason reason)
{
    return is_reason(reason) ? reasons[reason].mechanism : STET_MECHANISM_COUNT;
}

stet_reason sti_reason_disabled(stet_mechanism which)
{
    return is_mechanism(which) ? mechanisms[which].disabled : STET_REASON_NONE;
}

/* ---- finding and switching --------------------------------------------------------------------------------------- */

/* Lists "pose_sync, hierarchy, …", as many as fit. */
static void list_known(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < STET_MECHANISM_COUNT && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", mechanisms[i].name);
    }
}

/* Finds the mechanism whose name is the first `length` characters of name; STET_MECHANISM_COUNT: none. */
static stet_mechanism find_mechanism(const char *name, size_t length)
{
    int i = 0;
    while (i < STET_MECHANISM_COUNT &&
           (strlen(mechanisms[i].name) != length || strncmp(mechanisms[i].name, name, length) != 0))
        i++;
    return (stet_mechanism)i;
}

stet_result stet_mechanism_find(const char *name, stet_mechanism *out)
{
    if (!name || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_mechanism_find: name or out is NULL; give both");
    stet_mechanism found = find_mechanism(name, strlen(name));
    if (found == STET_MECHANISM_COUNT) {
        char known[512];
        list_known(known, sizeof known);
        return sti_error(STET_ERROR_NOT_FOUND, "'%.64s' is not a mechanism; use one of %s", name, known);
    }
    *out = found;
    return STET_OK;
}

/* Sets the bit of each name in a comma-separated list; blanks around names and empty names are skipped. */
static stet_result parse_disabled(const char *list, uint32_t *disabled)
{
    for (const char *at = list; *at;) {
        at += strspn(at, ", \t");
        size_t length = strcspn(at, ", \t");
        if (length == 0) continue;
        stet_mechanism found = find_mechanism(at, length);
        if (found == STET_MECHANISM_COUNT) {
            char known[512];
            list_known(known, sizeof known);
            return sti_error(
                STET_ERROR_INVALID_ARGUMENT,
                "the environment variable STET_DISABLE names '%.*s', which is not a mechanism; use some of %s",
                length < 64 ? (int)length : 64, at, known);
        }
        *disabled |= UINT32_C(1) << found;
        at += length;
    }
    return STET_OK;
}

stet_result stet_default_mechanism_options(stet_mechanism_options *out)
{
    if (!out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_default_mechanism_options: out is NULL; give a place to write to");
    *out = (stet_mechanism_options){0};
    const char *list = sti_environment("STET_DISABLE");
    uint32_t disabled = 0;
    if (list) STI_TRY(parse_disabled(list, &disabled));
    out->disabled = disabled;
    return STET_OK;
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

void sti_count_hits(sti_mechanisms *m, stet_mechanism which, int64_t hits, int64_t saved_launches, int64_t saved_bytes)
{
    assert(is_mechanism(which) && hits >= 0 && saved_launches >= 0 && saved_bytes >= 0);
    stet_counter *c = &m->counters.mechanism[which];
    c->hits += hits;
    c->saved_launches += saved_launches;
    c->saved_bytes += saved_bytes;
}

void sti_count_hit(sti_mechanisms *m, stet_mechanism which, int64_t saved_launches, int64_t saved_bytes)
{
    sti_count_hits(m, which, 1, saved_launches, saved_bytes);
}

void sti_count_held(sti_mechanisms *m, stet_mechanism which, int64_t bytes)
{
    assert(is_mechanism(which) && m->counters.mechanism[which].held_bytes >= -bytes);
    m->counters.mechanism[which].held_bytes += bytes;
}

void sti_count_miss(sti_mechanisms *m, stet_mechanism which, stet_reason why, int64_t launches, int64_t bytes)
{
    assert(stet_reason_mechanism(why) == which && "a miss needs a reason of its mechanism");
    stet_counter *c = &m->counters.mechanism[which];
    c->misses++;
    c->done_launches += launches;
    c->done_bytes += bytes;
    m->counters.reason[why]++;
    if (m->trace)
        sti_trace_instant(
            m->trace, &(sti_trace_what){
                          .kind = STET_TRACE_MISS, .name = stet_mechanism_name(which), .reason = why, .amount = bytes});
}

stet_result sti_fallback(sti_mechanisms *m, stet_mechanism which, stet_reason why, const char *where)
{
    assert(stet_reason_mechanism(why) == which && "a fallback needs a reason of its mechanism");
    m->counters.mechanism[which].fallbacks++;
    m->counters.reason[why]++;
    if (m->trace)
        sti_trace_instant(m->trace, &(sti_trace_what){.kind = STET_TRACE_FALLBACK, .name = where, .reason = why});
    sti_log(STET_LOG_INFO, "%s: %s: %s", stet_mechanism_name(which), where, stet_reason_sentence(why));
    if (!m->options.strict) return STET_OK;
    return sti_error(STET_ERROR_STRICT,
                     "%s: %s: %s; strict mode does not allow this fallback, remove its cause or switch strict mode off",
                     stet_mechanism_name(which), where, stet_reason_sentence(why));
}

/* ---- sti_let_stand ----------------------------------------------------------------------------------------------- */

static stet_result make_and_keep_stamp(const sti_work *work)
{
    sti_stamp_invalidate(work->kept);
    STI_TRY(work->make(work->context));
    sti_stamp_keep(work->kept, work->now);
    return STET_OK;
}

/*
 * The outputs' bytes before and after the repeated work; `fresh` has room for the largest output that must be fetched.
 */
typedef struct outputs {
    uint8_t *saved, *fresh;
} outputs;

static stet_result measure_outputs(const sti_work *work, size_t *total, size_t *fetched)
{
    *total = *fetched = 0;
    for (int i = 0; i < work->noutput; i++) {
        const sti_span *span = &work->outputs[i];
        if (span->size > SIZE_MAX / 2 - *total)
            return sti_error(STET_ERROR_LIMIT, "%s: its outputs are too large to audit; switch the audit off",
                             work->what);
        *total += span->size;
        if (span->fetch && span->size > *fetched) *fetched = span->size;
    }
    return STET_OK;
}

static stet_result fetch_span(const sti_span *span, uint8_t *to)
{
    if (span->size == 0) return STET_OK;
    if (span->fetch) return span->fetch(span->data, span->size, to);
    memcpy(to, span->data, span->size);
    return STET_OK;
}

/* Allocates one block: the saved outputs one after the other, and room for the fetched ones. */
static stet_result save_outputs(const sti_work *work, outputs *out)
{
    size_t total, fetched;
    STI_TRY(measure_outputs(work, &total, &fetched));
    STI_TRY(sti_alloc(&out->saved, total + fetched, "the audit's copy of outputs"));
    out->fresh = out->saved + total;
    uint8_t *at = out->saved;
    for (int i = 0; i < work->noutput; i++) {
        STI_TRY(fetch_span(&work->outputs[i], at));
        at += work->outputs[i].size;
    }
    return STET_OK;
}

static stet_result compare_outputs(const sti_work *work, const outputs *o)
{
    const uint8_t *saved = o->saved;
    for (int i = 0; i < work->noutput; i++) {
        const sti_span *span = &work->outputs[i];
        const uint8_t *fresh = span->fetch ? o->fresh : span->data;
        size_t size = span->size, k = 0;
        if (span->fetch) STI_TRY(fetch_span(span, o->fresh));
        if (size > 0 && memcmp(saved, fresh, size) != 0) {
            while (saved[k] == fresh[k]) k++;
            return sti_error(
                STET_ERROR_AUDIT,
                "%s: %s had changed at byte %zu of output %d though its stamp stood; switch this mechanism off "
                "and report it, or announce a write that was not announced",
                stet_mechanism_name(work->mechanism), work->what, k, i);
        }
        saved += size;
    }
    return STET_OK;
}

/* Does the work again over valid outputs; it must leave them as they were. */
static stet_result audit(const sti_work *work)
{
    outputs o = {0};
    stet_result result = save_outputs(work, &o);
    if (result == STET_OK) result = make_and_keep_stamp(work);
    if (result == STET_OK) {
        result = compare_outputs(work, &o);
        if (result != STET_OK) sti_stamp_invalidate(work->kept);
    }
    sti_free(o.saved);
    return result;
}

#ifndef NDEBUG
void sti_validate_mechanisms(const sti_mechanisms *m)
{
    int64_t counted[STET_MECHANISM_COUNT] = {0};
    for (int i = 1; i < STET_REASON_COUNT; i++) {
        assert(m->counters.reason[i] >= 0);
        counted[reasons[i].mechanism] += m->counters.reason[i];
    }
    assert(m->counters.reason[STET_REASON_NONE] == 0);
    assert(m->counters.launches >= 0 && m->counters.bytes_copied >= 0);
    assert(m->options.disabled >> STET_MECHANISM_COUNT == 0);
    for (int i = 0; i < STET_MECHANISM_COUNT; i++) {
        const stet_counter *c = &m->counters.mechanism[i];
        assert(c->hits >= 0 && c->misses >= 0 && c->fallbacks >= 0);
        assert(counted[i] == c->misses + c->fallbacks && "MECHANISM-2: one reason for each");
        assert(c->done_launches >= 0 && c->done_bytes >= 0);
        assert(c->saved_launches >= 0 && c->saved_bytes >= 0);
        assert(c->held_bytes >= 0);
    }
}
#endif

stet_result sti_let_stand(sti_mechanisms *m, const sti_work *work)
{
    assert(is_mechanism(work->mechanism));
    assert(work->make && work->kept && work->now && work->kept != work->now);
    assert(work->noutput == 0 || work->outputs);
    assert(work->launches >= 0 && work->bytes >= 0);
    bool enabled = sti_enabled(m, work->mechanism);
    if (enabled && sti_stamp_equal(work->kept, work->now)) {
        if (m->options.audit) STI_TRY(audit(work));
        sti_count_hit(m, work->mechanism, work->launches, work->bytes);
        return STET_OK;
    }
    STI_TRY(make_and_keep_stamp(work));
    stet_reason why = enabled ? work->why : sti_reason_disabled(work->mechanism);
    sti_count_miss(m, work->mechanism, why, work->launches, work->bytes);
    return STET_OK;
}
