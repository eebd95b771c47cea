/* What sims ask about physics before they make a step. */
#ifndef STI_STEP_STEP_H
#define STI_STEP_STEP_H

#include "physics/features.h"
#include "stet/step.h"

#include <stdbool.h>
#include <stddef.h>

enum { STI_STEP_REASON = STI_LACKS_SIZE + 32 }; /* bytes, at most, of why a step has its physics */

/*
 * Does AUTO take native physics for so many worlds of a model on a device? It does where that covers the model and, on
 * a processor, is at least as fast by an estimate (physics/pace.h). Says why, or why not, in `reason`.
 */
bool sti_step_native_suits(const stet_model *model, const stet_device *device, int64_t nworld, int keyframe,
                           char *reason, size_t size);
/* stet_step_create of a physics that AUTO was picked to be, for that reason. */
stet_result sti_step_create_picked(stet_worlds *worlds, stet_physics picked, const char *reason, stet_step **out);
/* What the first step needs of the host, before a list that it is a part of. */
stet_result sti_step_prepare(stet_step *step);

#endif
