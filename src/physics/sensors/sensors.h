/* Sensors of a model as tables: what each measures, of what, and what that needs of a step. */
#ifndef STI_PHYSICS_SENSORS_H
#define STI_PHYSICS_SENSORS_H

#include "physics/model/builder.h"

/* Are there sensors that are not disabled? */
static inline bool sti_physics_has_sensors(const mjModel *m)
{
    return m->nsensor > 0 && !(m->opt.disableflags & mjDSBL_SENSOR);
}
bool sti_physics_has_contact_sensors(const mjModel *model);
/* Does something need the time: a clock, or a plugin's setpoint that changes only so fast? */
int sti_physics_needs_time(const mjModel *model);
/* What the last time step of a call does for them: bits PH_EXTRA_…, 0 if there are none. */
int sti_physics_sensing(const mjModel *model);
/* Are there sensors of distances between geoms, and is this geom one of theirs? */
bool sti_physics_has_distances(const mjModel *model);
bool sti_physics_measures(const mjModel *model, int geom);
/* Do some need the poses of sites, of geoms? */
bool sti_physics_senses_sites(const mjModel *model);
bool sti_physics_senses_geoms(const mjModel *model);

/* Sensors and what rays may hit; after blocks. */
void sti_physics_put_sensors(sti_tables_builder *b);
/* M_CAM_PRM, which worlds may have their own of. */
void sti_physics_put_camera_values(sti_tables_builder *b);

#endif
