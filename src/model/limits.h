/*
 * What a model may ask of MuJoCo, which takes memory and time without limits of its own, and ends the process where it
 * gets none.
 *
 *   LIMITS-1  a text, and texts that it includes, are looked at before MuJoCo parses them, a parsed model before it is
 *       compiled
 *   LIMITS-2  a compiled model in a file may be damaged in any way: another process loads it first, and may end by it
 */
#ifndef STI_MODEL_LIMITS_H
#define STI_MODEL_LIMITS_H

#include "base/error.h"

#include <mujoco/mujoco.h>

#include <stdbool.h>

/*
 * Refuses a text that repeats elements very often (each repetition takes MuJoCo longer than the one before), or whose
 * height fields or textures do not fit into this machine's memory. `what` names the text.
 */
stet_result sti_limits_check_text(const char *what, const char *text);
/* The same of a file; of one that cannot be read MuJoCo says what is wrong. */
stet_result sti_limits_check_file(const char *path);
/* Refuses a parsed model whose numbers of the user's do not fit into it. */
stet_result sti_limits_check_spec(const char *what, mjSpec *spec);
/*
 * Runs call(context) in a process of its own, which may end in any way. False: it crashed, or took longer than a
 * minute. True also where no process can be made.
 */
bool sti_limits_survives(void (*call)(void *context), void *context);

#endif
