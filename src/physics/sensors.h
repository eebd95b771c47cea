/* Sensors of a model as tables: what each measures, of what, and what that needs of a step. */
#ifndef STI_PHYSICS_SENSORS_H
#define STI_PHYSICS_SENSORS_H

#include "physics/builder.h"

/* Are there sensors that are not disabled? */
bool sti_physics_has_sensors(const mjModel *model);
bool sti_physics_has_contact_sensors(const mjModel *model);
/* What the last time step of a call does for them: bits PH_EXTRA_…, 0 if there are none. */
int sti_physics_sensing(const mjModel *model);
/* Are there sensors of distances between geoms, and is this geom one of theirs? */
bool sti_physics_has_distances(const mjModel *model);
bool sti_physics_measures(const mjModel *model, int geom);
/* Are there rangefinders? */
bool sti_physics_has_rays(const mjModel *model);
/* Do some need the poses of sites, of geoms? */
bool sti_physics_senses_sites(const mjModel *model);
bool sti_physics_senses_geoms(const mjModel *model);

/* Sensors and what rays may hit; after blocks. */
void sti_physics_put_sensors(sti_tables_builder *b);
/* M_CAM_PRM, which worlds may have their own of. */
void sti_physics_put_camera_values(sti_tables_builder *b);

#endif
