/* Filling the tables of native physics; see builder.h. */
#include "physics/model/builder.h"

#include "base/error.h"
#include "base/memory.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"

void sti_physics_fill(sti_tables_builder *b, int number, int64_t value)
{
    if (b->result != STET_OK || b->begin) return;
    if (b->t->m[number] != STI_UNFILLED) b->twice = true;
    b->t->m[number] = (int)value;
}

/* Memory for n elements behind `used` others, and for some more where it grows. */
static stet_result grow(void *block, size_t have, int used, int64_t n, size_t size, const char *what)
{
    enum { MORE = 1 << 20 };
    int64_t need = used + n, more = need < MORE ? need : MORE;
    if (need > INT_MAX)
        return sti_error(STET_ERROR_LIMIT, "%s: %lld numbers, more than an int counts; use physics mujoco", what,
                         (long long)need);
    return (size_t)need * size > have ? sti_realloc(block, (size_t)(need + more) * size, what) : STET_OK;
}

void sti_physics_reserve(sti_tables_builder *b, int64_t n)
{
    sti_physics_tables *t = b->t;
    if (b->result == STET_OK)
        b->result = grow(&t->m, sti_block_size(t->m), t->nm, n, sizeof *t->m, "tables of the physics");
}

int *sti_physics_new_table(sti_tables_builder *b, int number, int64_t n)
{
    sti_physics_tables *t = b->t;
    if (b->begin) return NULL;
    sti_physics_reserve(b, n);
    if (b->result != STET_OK) return NULL;
    sti_physics_fill(b, number, t->nm);
    t->nm += (int)n;
    return t->m + t->nm - n;
}

double *sti_physics_new_parameter(sti_tables_builder *b, int number, int64_t n)
{
    sti_physics_tables *t = b->t;
    if (b->begin) return t->f + b->begin[number - PH_PARAMETER_FIRST];
    if (b->result == STET_OK)
        b->result = grow(&t->f, sti_block_size(t->f), t->nf, n, sizeof *t->f, "parameters of the physics");
    if (b->result != STET_OK) return NULL;
    sti_physics_fill(b, number, t->nf);
    t->nf += (int)n;
    return t->f + t->nf - n;
}
