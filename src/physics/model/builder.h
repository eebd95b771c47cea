/* How the files of this layer fill the tables of a model; tables.c calls them in order. */
#ifndef STI_PHYSICS_BUILDER_H
#define STI_PHYSICS_BUILDER_H

#include "model/model.h"

#include <limits.h>

enum { STI_UNFILLED = INT_MIN };

typedef struct sti_physics_tables {
    int *m; /* [nm] */
    int nm;
    double *f; /* [nf] */
    int nf;
    int *shapes; /* [nshape], M_SHAPES: kernels have them behind f, so that they are no constants of code for a model */
    int nshape;
} sti_physics_tables;

typedef struct sti_tables_builder {
    const mjModel *model;
    sti_physics_tables *t;
    stet_result result; /* of the first allocation that failed; later calls do nothing */
    bool twice;         /* a number was filled a second time */
    bool apart;         /* no blocks share parameters: worlds may have their own */
    /* [nmesh], which meshes some world has in place of the model's; NULL: worlds have the model's */
    const bool *meshes;
    /*
     * where parameters begin in t->f, from PH_PARAMETER_FIRST on: they alone are filled, in place; NULL: everything is
     * made
     */
    const int *begin;
} sti_tables_builder;

void sti_physics_fill(sti_tables_builder *b, int number, int64_t value);
/* Makes room for n more ints at once, which the next tables need. */
void sti_physics_reserve(sti_tables_builder *b, int64_t n);
/* Begins a table of n ints; returns it, zeroed and valid until the next one, or NULL. */
int *sti_physics_new_table(sti_tables_builder *b, int number, int64_t n);
/* The same for a parameter of n reals. */
double *sti_physics_new_parameter(sti_tables_builder *b, int number, int64_t n);

#endif
