/*
 * Code for one model: a step of native physics that a GPU compiles with the model's tables as constants, and with a
 * part of team memory in shared memory (layout.k.h has its words). A team of one thread has the rest for its own
 * (PH_OWN_REALS and PH_OWN_INTS). Its bits are those of the code for all models. The same for a group of its stages.
 */
#ifndef STI_PHYSICS_MODEL_CODE_H
#define STI_PHYSICS_MODEL_CODE_H

#include "kernel/compile/text_buffer.h"
#include "kernel/gpu/teams.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/tables.h"

/* The size of a step's team memory: M_NMEMORY or M_NMEMORY_ALL. */
static inline int sti_model_memory(const sti_physics_tables *tables)
{
    return tables->m[M_STEP_EXTRA] & PH_EXTRA_BEHIND ? M_NMEMORY_ALL : M_NMEMORY;
}

/* Reals of a quantity of a step's team memory, from W_QPOS on. */
static inline int sti_model_quantity_size(const int *m, int quantity)
{
    return m[quantity + 1 < PH_AFTER_FIRST ? quantity + 1 : M_NMEMORY] - m[quantity];
}

/*
 * Appends the lines that go before the source of k_native_step (sti_kernel.constants) or, if there are `stages`, of a
 * k_native_stages with those: what other stages use is not in shared memory then, nor a thread's own. A processor runs
 * a block of teams; shared: bytes that it has for that; *near: reals of a team that the code takes of them. The caller
 * looks at the buffer's result.
 */
void sti_model_code_write(const sti_physics_tables *tables, sti_team team, int64_t shared, int stages,
                          sti_text_buffer *out, int *near);

#endif
