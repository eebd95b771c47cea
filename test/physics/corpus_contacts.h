/* Contacts of native physics held against those of MuJoCo, in one state. */
#ifndef TEST_PHYSICS_CORPUS_CONTACTS_H
#define TEST_PHYSICS_CORPUS_CONTACTS_H

#include "physics/corpus.h"
#include "worlds/rig.h"

/* Arrays of the worlds' contacts, brought up to date; there is room for all of data[0 … nworld − 1] and some more. */
typedef struct contact_arrays {
    stet_array *ncon, *geom, *dist, *pos, *frame, *force;
} contact_arrays;

/* Before anything else asks for contacts. */
contact_arrays corpus_find_contacts(const rig *r, mjData *const *data, int nworld);
/* World w against d: counts and differences go into c. Returns by how much forces differ, relative to the greatest. */
double corpus_compare_contacts(const contact_arrays *a, int w, const mjModel *m, const mjData *d, corpus_contacts *c);
/* The same of two states in MuJoCo's data: the forces alone. */
double corpus_compare_forces(const mjModel *m, const mjData *x, const mjData *d);

#endif
