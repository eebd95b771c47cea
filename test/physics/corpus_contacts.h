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
/* After steps. */
void corpus_update_contacts(const contact_arrays *a);
/*
 * Are contacts MuJoCo's? LEVEL: but for capsules that are level on a box, whose second contact MuJoCo keeps or drops by
 * the sign of a rounding error. SEARCHED: but for pairs whose contacts are found by iterations, too.
 */
typedef enum corpus_match { CORPUS_SAME, CORPUS_LEVEL, CORPUS_SEARCHED, CORPUS_OTHER } corpus_match;
/*
 * World w against d, after forward dynamics: counts and differences go into c. Where all contacts are the same, raises
 * *force: by how much forces differ, relative to the greatest.
 */
corpus_match corpus_compare_contacts(const contact_arrays *a, int w, const mjModel *m, const mjData *d,
                                     corpus_contacts *c, double *force);
/* By how much forces of two states in MuJoCo's data differ. */
double corpus_compare_forces(const mjModel *m, const mjData *x, const mjData *d);

#endif
