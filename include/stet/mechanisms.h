/*
 * The mechanisms: each lets stand what has not changed. Switches, counters, reasons, strict and audit are the same for
 * all of them and come from one table, mechanisms.inl beside this header.
 */
#ifndef STET_MECHANISMS_H
#define STET_MECHANISMS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stet_mechanism {
#define STET_MECHANISM(name, doc) STET_MECH_##name,
#define STET_REASON(mechanism, name, sentence)
#include "mechanisms.inl"
#undef STET_MECHANISM
#undef STET_REASON
    STET_MECH_COUNT
} stet_mechanism;

/* Why a mechanism did not let things stand, or fell back; each belongs to one mechanism. */
typedef enum stet_reason {
    STET_REASON_none,
#define STET_MECHANISM(name, doc)
#define STET_REASON(mechanism, name, sentence) STET_REASON_##mechanism##_##name,
#include "mechanisms.inl"
#undef STET_MECHANISM
#undef STET_REASON
    STET_REASON_COUNT
} stet_reason;

/*
 * What a mechanism did since the counters were last cleared. `hits`: asked, and it stood. `misses`: made again.
 * `fallbacks`: a slower way was taken, for a reason. `saved_*`: what hits did not do; `done_*`: what misses and
 * fallbacks did. `held_bytes`: memory that it holds now, of the device and (readback, kernel_cache) of the host.
 */
typedef struct stet_counter {
    int64_t hits, misses, fallbacks;
    int64_t done_launches, done_bytes, saved_launches, saved_bytes;
    int64_t held_bytes;
} stet_counter;

/* Counters of one sim (or of a part used alone): one row a mechanism, one count a reason, and totals of work. */
typedef struct stet_counters {
    stet_counter mechanism[STET_MECH_COUNT];
    int64_t reason[STET_REASON_COUNT];
    int64_t launches, bytes_copied, schedules_built, kinematics;
} stet_counters;

STET_API const char *stet_mechanism_name(stet_mechanism mechanism);              /* "pose_sync"; never NULL */
STET_API const char *stet_mechanism_doc(stet_mechanism mechanism);               /* one sentence */
STET_API stet_result stet_mechanism_find(const char *name, stet_mechanism *out); /* NOT_FOUND names the known ones */
STET_API const char *stet_reason_name(stet_reason reason); /* "disabled": unique within its mechanism */
STET_API const char *stet_reason_sentence(stet_reason reason);
STET_API stet_mechanism stet_reason_mechanism(stet_reason reason); /* STET_MECH_COUNT for none */

/*
 * How mechanisms behave. `disabled`: a bit a mechanism (1u << STET_MECH_x). The environment variable STET_DISABLE (a
 * comma-separated list of names) is added by stet_default_mechanism_options().
 */
typedef struct stet_mechanism_options {
    uint32_t disabled;
    bool strict; /* a fallback is an error, STET_STRICT */
    bool audit;  /* on a hit the work is done anyway and compared, byte for byte: STET_AUDIT names the mechanism */
} stet_mechanism_options;
STET_API stet_result stet_default_mechanism_options(stet_mechanism_options *out);

#ifdef __cplusplus
}
#endif
#endif
