/* What a model needs of the physics, and what of that native physics covers: one table. */
#ifndef STI_PHYSICS_FEATURES_H
#define STI_PHYSICS_FEATURES_H

#include "model/model.h"

#include <stdbool.h>

/* The i-th feature that the model needs; NULL after the last. *covered: native physics has it. */
const char *sti_physics_feature(const mjModel *model, int i, bool *covered);
enum { STI_LACKS_SIZE = 4096 }; /* more than the names of all features have together */
/* Writes what native physics lacks for the model, "contacts, sensors", cut where `size` ends; false: nothing. */
bool sti_physics_lacks(const mjModel *model, char *text, size_t size);
/* Adds a name to such a list, of which `at` characters are written; gives how many are now. */
size_t sti_physics_add_name(char *text, size_t size, size_t at, const char *name);
/* Native physics uses Newton's method where the model asks for another solver, and may need one. */
bool sti_physics_replaces_solver(const mjModel *model);
/* The model asks for so few iterations that a step may end elsewhere than MuJoCo's. */
bool sti_physics_ends_early(const mjModel *model);
/*
 * How many lanes nworld worlds fill: of a model of many trees, which is solved world by world, each has one to itself.
 */
int64_t sti_physics_count_lanes(const mjModel *model, int64_t nworld);
/* UNSUPPORTED with all that is missing, if something is. */
stet_result sti_physics_check_model(const mjModel *model);

#endif
