/*
 * MuJoCo's errors and warnings, kept from ending the process and from writing a log file.
 *
 * Invariants:
 *   GUARD-1  an error of MuJoCo inside a guarded call comes back to the guard, in the thread that made the call
 *   GUARD-2  a warning inside a guarded call goes to the log callback, and nowhere else
 *   GUARD-3  outside any guard, errors and warnings go to the handler that was there before the first guard
 */
#ifndef STI_MODEL_GUARD_H
#define STI_MODEL_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs call(context), which may call MuJoCo. False if MuJoCo reported an error: the call was left at that point, and what it had
 * allocated inside MuJoCo is lost. `message` (of `size` bytes, may be NULL) gets the error or, if there was none, the last warning, or
 * "". Thread safe; may be nested.
 */
bool sti_mujoco_guard(void (*call)(void *context), void *context, char *message, size_t size);

#endif
