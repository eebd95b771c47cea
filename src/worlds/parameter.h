/*
 * Parameters of the physics that differ from world to world.
 *
 * MuJoCo's step reads them from the model, which all worlds share. So each thread has a model of its own. The structure
 * is a copy; arrays that no parameter changes are shared; the others are filled before each world's step.
 *
 * Invariants:
 *   PARAMETER-1  what a world's step reads depends on that world's values alone, not on the thread or on the world
 *       stepped before
 *   PARAMETER-2  a parameter that was never given has the model's own value, bit for bit
 */
#ifndef STI_WORLDS_PARAMETER_H
#define STI_WORLDS_PARAMETER_H

#include "model/model.h"
#include "stet/worlds.h"

/* Name, numbers per world, whether they may be negative. stet/worlds.h describes them. */
#define STI_PARAMETERS(X)                                                                                              \
    X(gravity, 3, true)                                                                                                \
    X(friction, 1, false)                                                                                              \
    X(damping, 1, false)                                                                                               \
    X(stiffness, 1, false)

typedef enum sti_parameter {
#define STI_PARAMETER_ENUM(name, items, negative) STI_PARAMETER_##name,
    STI_PARAMETERS(STI_PARAMETER_ENUM)
#undef STI_PARAMETER_ENUM
        STI_PARAMETER_COUNT
} sti_parameter;

typedef struct sti_parameters {
    double *value[STI_PARAMETER_COUNT]; /* [nworld][items] */
    /* false: all worlds have the model's own value, and `value` is unused */
    bool given[STI_PARAMETER_COUNT];
    mjModel *model;  /* [threads]; NULL until a parameter is given */
    mjtNum *numbers; /* memory of those models' own arrays */
} sti_parameters;

/* Finds a parameter by name, with its numbers per world. False: there is none. */
bool sti_parameter_find(const char *name, sti_parameter *out, int *items);
/* Checks values of a parameter, either for all worlds alike (n its items) or for each (n nworld times its items). */
stet_result sti_parameter_check(const stet_worlds *worlds, sti_parameter parameter, const double *values, int64_t n);
/* The model with which a thread steps a world; valid until the thread's next call. */
const mjModel *sti_parameters_model(const stet_worlds *worlds, int64_t w, int thread);
bool sti_parameters_any(const sti_parameters *p);
void sti_parameters_free(sti_parameters *p);

#endif
