/* MuJoCo's plugins that native physics has: PID controllers, grids of touch. */
#ifndef STI_PHYSICS_KNOWN_PLUGINS_H
#define STI_PHYSICS_KNOWN_PLUGINS_H

#include "physics/model/builder.h"

/* Is actuator i one of mujoco.pid? Is sensor i one of mujoco.sensor.touch_grid, whose contacts are one sensor's own? */
bool sti_physics_is_plugin_pid(const mjModel *model, int i);
bool sti_physics_is_grid(const mjModel *model, int i);
int sti_physics_count_plugin_pids(const mjModel *model);
int sti_physics_count_grids(const mjModel *model);
/* Has actuator i, one of mujoco.pid, an integral of the error, or a setpoint that only changes so fast? */
bool sti_physics_plugin_integrates(const mjModel *model, int i);
bool sti_physics_plugin_slews(const mjModel *model, int i);
/* Does every plugin of a model belong to one of those? */
bool sti_physics_knows_plugins(const mjModel *model);

/* What grid of touch i is: columns, rows, channels; edges, if not NULL: of columns, then of rows (rad). */
void sti_physics_grid(const mjModel *model, int i, int size[3], double *edges);
/* Fills M_PLUGIN_PID, M_GRID_EDGES. */
void sti_physics_put_plugins(sti_tables_builder *b);

#endif
