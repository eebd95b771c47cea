/*
 * The mechanisms: each reuses a result whose inputs have not changed. Switches, counters, reasons, strict mode and
 * audit mode are the same for all mechanisms and come from one table, mechanisms.inl in this folder.
 */
#ifndef STET_MECHANISMS_H
#define STET_MECHANISMS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stet_mechanism {
#define STET_MECHANISM(id, name, sentence) STET_MECHANISM_##id,
#define STET_REASON(mechanism, id, name, sentence)
#include "mechanisms.inl"
#undef STET_MECHANISM
#undef STET_REASON
    STET_MECHANISM_COUNT
} stet_mechanism;

/* Why a mechanism did the work again or fell back. Each reason belongs to one mechanism. */
typedef enum stet_reason {
    STET_REASON_NONE,
#define STET_MECHANISM(id, name, sentence)
#define STET_REASON(mechanism, id, name, sentence) STET_REASON_##mechanism##_##id,
#include "mechanisms.inl"
#undef STET_MECHANISM
#undef STET_REASON
    STET_REASON_COUNT
} stet_reason;

/*
 * What a mechanism did since its counters were cleared. `hits`: the result was still valid and was reused. `misses`:
 * the work was done again. `fallbacks`: a slower way was taken, for a reason. `saved_*`: work that hits avoided.
 * `done_*`: work of misses and fallbacks. `held_bytes`: memory that the mechanism holds now, on the device and
 * (readback, kernel_cache) the host.
 */
typedef struct stet_counter {
    int64_t hits, misses, fallbacks;
    int64_t done_launches, done_bytes, saved_launches, saved_bytes;
    int64_t held_bytes;
} stet_counter;

/*
 * Counters of one sim, or of a part that is used alone: one row per mechanism, one count per reason, and totals of all
 * work.
 */
typedef struct stet_counters {
    stet_counter mechanism[STET_MECHANISM_COUNT];
    int64_t reason[STET_REASON_COUNT];
    int64_t launches, bytes_copied, schedules_built, kinematics;
    int64_t constants; /* worlds whose constants were derived anew because a parameter changed (mj_setConst) */
} stet_counters;

STET_API const char *stet_mechanism_name(stet_mechanism mechanism);              /* "pose_sync"; never NULL */
STET_API const char *stet_mechanism_sentence(stet_mechanism mechanism);          /* one sentence */
STET_API stet_result stet_mechanism_find(const char *name, stet_mechanism *out); /* NOT_FOUND lists the known names */
STET_API const char *stet_reason_name(stet_reason reason); /* "disabled": unique within its mechanism */
STET_API const char *stet_reason_sentence(stet_reason reason);
STET_API stet_mechanism stet_reason_mechanism(stet_reason reason); /* STET_MECHANISM_COUNT for none */

/*
 * How mechanisms behave. `disabled` has one bit per mechanism (1u << STET_MECHANISM_x).
 * stet_default_mechanism_options() adds the names in the environment variable STET_DISABLE (separated by commas).
 */
typedef struct stet_mechanism_options {
    uint32_t disabled;
    bool strict; /* a fallback is an error, STET_ERROR_STRICT */
    /* a hit does the work anyway and compares the bytes; a difference is STET_ERROR_AUDIT and names the mechanism */
    bool audit;
} stet_mechanism_options;
STET_API stet_result stet_default_mechanism_options(stet_mechanism_options *out);

#ifdef __cplusplus
}
#endif
#endif
