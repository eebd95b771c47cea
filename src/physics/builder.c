/* Filling the tables of native physics; see builder.h. */
#include "physics/builder.h"

#include "base/memory.h"
#include "physics/layout.k.h"

void sti_physics_fill(sti_tables_builder *b, int number, int64_t value)
{
    if (b->result != STET_OK || b->begin) return;
    if (b->t->m[number] != STI_UNFILLED) b->twice = true;
    b->t->m[number] = (int)value;
}

int *sti_physics_new_table(sti_tables_builder *b, int number, int64_t n)
{
    sti_physics_tables *t = b->t;
    if (b->begin) return NULL;
    if (b->result == STET_OK)
        b->result = sti_realloc(&t->m, ((size_t)t->nm + (size_t)n) * sizeof *t->m, "tables of the physics");
    if (b->result != STET_OK) return NULL;
    sti_physics_fill(b, number, t->nm);
    t->nm += (int)n;
    return t->m + t->nm - n;
}

double *sti_physics_new_parameter(sti_tables_builder *b, int number, int64_t n)
{
    sti_physics_tables *t = b->t;
    if (b->begin) return t->f + b->begin[number - M_TIMESTEP];
    if (b->result == STET_OK)
        b->result = sti_realloc(&t->f, ((size_t)t->nf + (size_t)n) * sizeof *t->f, "parameters of the physics");
    if (b->result != STET_OK) return NULL;
    sti_physics_fill(b, number, t->nf);
    t->nf += (int)n;
    return t->f + t->nf - n;
}
