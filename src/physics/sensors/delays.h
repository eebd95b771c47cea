/* Tables of controls and sensors that are kept, and delayed (delay.k.h). */
#ifndef STI_PHYSICS_DELAYS_H
#define STI_PHYSICS_DELAYS_H

#include "physics/model/builder.h"

void sti_physics_put_past(sti_tables_builder *b);
/* The parameters: delays, and history after a reset. */
void sti_physics_put_past_values(sti_tables_builder *b);

#endif
