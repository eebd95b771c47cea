/* MuJoCo's order of contacts; see pair_order.h. */
#include "physics/contact/pair_order.h"

#include "base/memory.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/contact/pairs.h"
#include "physics/sensors/sensors.h"

#include <assert.h>
#include <stdlib.h>

typedef struct place {
    int key[5]; /* two bodies, 0 if the pair is explicit, its number or one geom, the other geom */
    int pair;
} place;

/* Geoms are in the order of their types, as blocks have them, or without a middle phase in that of their bodies. */
static place find_place(const mjModel *m, const int *block, int pair)
{
    int a = block[B_OBJ1], b = block[B_OBJ2], p = m->geom_bodyid[a], q = m->geom_bodyid[b], id = block[B_ID];
    bool swap = m->opt.disableflags & mjDSBL_MIDPHASE && a > b;
    if (id >= 0) return (place){{p < q ? p : q, p < q ? q : p, 0, id, 0}, pair};
    return (place){{p < q ? p : q, p < q ? q : p, 1, swap ? b : a, swap ? a : b}, pair};
}

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    for (int i = 0; i < 5; ++i)
        if (x->key[i] != y->key[i]) return x->key[i] < y->key[i] ? -1 : 1;
    return 0;
}

bool sti_physics_needs_pair_order(const mjModel *m)
{
    return sti_physics_has_contact_sensors(m) || (m->opt.noslip_iterations > 0 && sti_physics_slips(m));
}

void sti_physics_put_pair_order(sti_tables_builder *b)
{
    if (b->result != STET_OK) return;
    int n = sti_physics_needs_pair_order(b->model) ? b->t->m[M_NPAIR] : 0;
    place *places = NULL;
    b->result = sti_alloc(&places, (size_t)n * sizeof *places, "tables of the physics");
    int *order = b->result == STET_OK ? sti_physics_new_table(b, M_PAIR_ORDER, n) : NULL;
    if (order) {
        const int *pair = b->t->m + b->t->m[M_PAIR];
        for (int i = 0; i < n; ++i) places[i] = find_place(b->model, pair + (ptrdiff_t)B_SIZE * i, i);
        qsort(places, (size_t)n, sizeof *places, compare_places);
        for (int i = 0; i < n; ++i) order[places[i].pair] = i;
        assert((n < 2 || compare_places(places, places + 1) < 0) && "no two pairs have one place");
    }
    sti_free(places);
}
