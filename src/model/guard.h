/*
 * Guards calls of MuJoCo, so that its errors and warnings neither end the process nor write a log file.
 *
 * Invariants:
 *   GUARD-1  an error of MuJoCo inside a guarded call returns to the guard, in the thread that made the call
 *   GUARD-2  a warning inside a guarded call goes to the log callback, and nowhere else
 *   GUARD-3  outside any guard, errors and warnings go to the handler that was installed before the first guard. The
 *       exception is the error for plugins that are registered a second time (with another copy of MuJoCo's libraries
 *       in this process): MuJoCo keeps the first ones, and the process goes on
 */
#ifndef STI_MODEL_GUARD_H
#define STI_MODEL_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs call(context), which may call MuJoCo. Returns false if MuJoCo reported an error: the call was aborted at that
 * point, and memory that it had allocated inside MuJoCo is lost. `message` (of `size` bytes, may be NULL) gets the
 * error or, if there was none, the last warning, or "". Thread-safe; may be nested.
 */
bool sti_mujoco_guard(void (*call)(void *context), void *context, char *message, size_t size);

/*
 * Runs call(context), which must not be aborted (for example because it loads a library). Errors of MuJoCo inside it
 * are logged as information, and MuJoCo goes on. Thread-safe; may be nested.
 */
void sti_mujoco_finish(void (*call)(void *context), void *context);

#endif
