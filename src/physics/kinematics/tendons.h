/*
 * Tables of tendons: ten_J's pattern, coefficients of fixed ones, links of spatial ones (tendon.k.h), and which forces
 * of links an entry of ten_J is made of.
 */
#ifndef STI_PHYSICS_TENDONS_H
#define STI_PHYSICS_TENDONS_H

#include "physics/model/builder.h"

/* Links of all spatial tendons: what lies between a site and the next one. */
int sti_physics_count_links(const mjModel *m);
void sti_physics_put_tendons(sti_tables_builder *b);

#endif
