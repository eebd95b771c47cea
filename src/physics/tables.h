/*
 * The model as native physics reads it: one array of ints, one of reals, and the size of a team's memory. What stands
 * where is in rows.inl.
 *
 *   TABLES-1  each number of rows.inl is filled exactly once, by its row or by one function that tables.c calls
 *   TABLES-2  a table, a parameter and a quantity in team memory begin where the one before them ends: nothing overlaps
 */
#ifndef STI_PHYSICS_TABLES_H
#define STI_PHYSICS_TABLES_H

#include "physics/constraint/blocks.h"
#include "physics/model/builder.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"

#include <stdbool.h>

/*
 * The tables of a model whose features are all covered (features.h). The caller frees them with
 * sti_physics_tables_free, also after an error: OUT_OF_MEMORY.
 */
stet_result sti_physics_tables_make(const mjModel *model, sti_physics_tables *out);
/*
 * The same, but no two blocks share parameters, which may differ in the worlds that tables_values is asked for. meshes
 * [nmesh]: those that worlds have in place of the model's; NULL: none have others.
 */
stet_result sti_physics_tables_make_apart(const mjModel *model, const bool *meshes, sti_physics_tables *out);
/*
 * The reals of the same tables for a model with other parameters: f [nf] becomes what `made` would have in f, where
 * tables begin at `begin`, from PH_PARAMETER_FIRST on. `made`, of sti_physics_tables_make_apart, may have moved
 * entries.
 */
void sti_physics_tables_values(const mjModel *model, const sti_physics_tables *made, const int *begin, double *f);

/* How many contacts a team has room for. */
static inline int sti_physics_room(const sti_physics_tables *t) { return t->m[M_NSLOT] - t->m[M_NBLOCK]; }
/* Changes that, within the limit; nothing but the sizes and places of team memory changes. */
void sti_physics_tables_resize(const mjModel *model, sti_physics_tables *tables, int room);

void sti_physics_tables_free(sti_physics_tables *tables);
/* The name of what breaks TABLES-1 or TABLES-2, or NULL. */
const char *sti_validate_physics_tables(const sti_physics_tables *tables);

/* A quantity in team memory by MuJoCo's name ("qM", "cvel"): its number W_…, and how many reals it has; -1: none. */
int sti_physics_quantity(const char *name, const sti_physics_tables *tables, int *items);

/* A free body with no joints below it, which implicit integrators treat by itself. */
bool sti_physics_is_standalone(const mjModel *model, int body);

#endif
