/* What sims ask about physics before they make a step. */
#ifndef STI_STEP_STEP_H
#define STI_STEP_STEP_H

#include "stet/step.h"

#include <stdbool.h>
#include <stddef.h>

/* Does AUTO take native physics for a model? Says why, or why not, in `reason`. */
bool sti_step_native_suits(const stet_model *model, char *reason, size_t size);

#endif
