/* Pairs of geoms of two trees; see tree_pairs.h. */
#include "physics/contact/tree_pairs.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/memory.h"
#include "physics/contact/groups.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/contact/moved.h"
#include "physics/contact/pair_order.h"
#include "physics/model/row_list.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 4096 };

/* ---- trees ------------------------------------------------------------------------------------------------------- */

static int tree_of(const mjModel *m, int g)
{
    int dof = sti_physics_last_dof(m, m->geom_bodyid[g]);
    return dof < 0 ? -1 : m->dof_treeid[dof];
}

static bool may_touch_any(const mjModel *m, int g) { return m->geom_contype[g] || m->geom_conaffinity[g]; }

/* How many pairs of two trees have rows. */
static double most_rows(void)
{
    const char *text = sti_environment("STET_PAIR_ROWS");
    return text ? strtod(text, NULL) : MOST_ROWS;
}

/* Geoms of trees are numbered; false: a plane or a height field moves, or the order is not that of TREES-1. */
static bool list_geoms(const mjModel *m, sti_trees *out)
{
    int last = -1;
    for (int g = 0; g < m->ngeom; ++g) {
        int tree = tree_of(m, g);
        out->of_geom[g] = -1;
        if (!may_touch_any(m, g)) continue;
        if (tree < 0) {
            out->fixed[out->nfixed++] = g;
            continue;
        }
        if (m->geom_type[g] <= mjGEOM_HFIELD || tree < last) return false;
        if (tree > last) out->adr[out->ntree++] = out->ngeom;
        last = tree;
        out->of_geom[g] = out->ntree - 1;
        out->geom[out->ngeom++] = g;
    }
    out->adr[out->ntree] = out->ngeom;
    return true;
}

/* Of how many pairs the two geoms are of two trees. */
static double count_pairs(const sti_trees *trees)
{
    double n = trees->ngeom, all = n * n;
    for (int t = 0; t < trees->ntree; ++t) {
        double own = trees->adr[t + 1] - trees->adr[t];
        all -= own * own;
    }
    return all / 2;
}

stet_result sti_trees_find(const mjModel *m, sti_trees *out)
{
    const char *what = "trees of the physics";
    size_t n = (size_t)m->ngeom;
    memset(out, 0, sizeof *out);
    STI_TRY(sti_alloc(&out->adr, (n + 1) * sizeof *out->adr, what));
    STI_TRY(sti_alloc(&out->geom, (n + 1) * sizeof *out->geom, what));
    STI_TRY(sti_alloc(&out->of_geom, (n + 1) * sizeof *out->of_geom, what));
    STI_TRY(sti_alloc(&out->fixed, (n + 1) * sizeof *out->fixed, what));
    bool contacts = !sti_physics_is_off(m, mjDSBL_CONTACT) && !sti_physics_needs_pair_order(m);
    if (contacts && list_geoms(m, out) && count_pairs(out) > most_rows()) {
        sti_validate_trees(out);
        return STET_OK;
    }
    sti_trees_free(out);
    return STET_OK;
}

void sti_trees_free(sti_trees *trees)
{
    sti_free(trees->adr);
    sti_free(trees->geom);
    sti_free(trees->of_geom);
    sti_free(trees->fixed);
    memset(trees, 0, sizeof *trees);
}

#ifndef NDEBUG
void sti_validate_trees(const sti_trees *t)
{
    assert(t->ntree >= 0 && t->adr[0] == 0 && t->adr[t->ntree] == t->ngeom);
    for (int k = 0; k < t->ntree; ++k) {
        assert(t->adr[k] < t->adr[k + 1] && "a tree has geoms");
        for (int i = t->adr[k]; i < t->adr[k + 1]; ++i) {
            assert(t->of_geom[t->geom[i]] == k);
            assert((i == 0 || t->geom[i - 1] < t->geom[i]) && "TREES-1");
        }
    }
    for (int i = 0; i < t->nfixed; ++i)
        assert(t->of_geom[t->fixed[i]] < 0 && (i == 0 || t->fixed[i - 1] < t->fixed[i]));
}
#endif

/*
 * The geom after b that a geom of tree t may have a row with: another one of the tree, or one that cannot move; of one
 * that moves with no tree (t -1) any.
 */
static int next_partner(const mjModel *m, const sti_trees *trees, int t, int b)
{
    int low = 0, high = trees->nfixed;
    assert(t < trees->ntree);
    if (t < 0) return b + 1;
    if (b + 1 < m->ngeom && b < trees->geom[trees->adr[t + 1] - 1]) return b + 1;
    while (low < high) { /* the first one after b */
        int middle = low + (high - low) / 2;
        if (trees->fixed[middle] <= b)
            low = middle + 1;
        else
            high = middle;
    }
    return low < trees->nfixed ? trees->fixed[low] : (int)m->ngeom;
}

bool sti_trees_next_pair(const mjModel *m, const sti_trees *trees, sti_pair_place *at)
{
    if (trees->ntree == 0 || at->next < m->npair) return sti_physics_next_pair(m, at);
    if (at->next == m->npair) *at = (sti_pair_place){{0, 0}, -1, at->next + 1};
    for (int a = at->geom[0], b = at->geom[1]; a < m->ngeom; b = ++a) {
        int tree = trees->of_geom[a];
        if (!may_touch_any(m, a)) continue;
        for (b = next_partner(m, trees, tree, b); b < m->ngeom; b = next_partner(m, trees, tree, b)) {
            if (!sti_physics_may_touch(m, a, b)) continue;
            at->geom[0] = a;
            at->geom[1] = b;
            return true;
        }
    }
    return false;
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

/* Inverse inertias of equal bodies in other places are equal but for the last digits. */
static double round_digits(double x)
{
    const double digits = 1099511627776.0; /* 2^40 */
    int exponent;
    double part = frexp(x, &exponent);
    return ldexp(rint(part * digits) / digits, exponent);
}

/* All that the description of a pair depends on (pairs.c, blocks.c), and the bits that say which geoms may touch. */
typedef struct kind {
    double type, contype, conaffinity, condim, priority, solmix, margin, gap, adhesion, radius;
    double solref[mjNREF], solimp[mjNIMP], friction[3], weight[2];
} kind;

static void fill_kind(const mjModel *m, int g, kind *k)
{
    memset(k, 0, sizeof *k);
    k->type = m->geom_type[g];
    k->contype = m->geom_contype[g];
    k->conaffinity = m->geom_conaffinity[g];
    k->condim = m->geom_condim[g];
    k->priority = m->geom_priority[g];
    k->solmix = m->geom_solmix[g];
    k->margin = sti_physics_geom_margin(m, g);
    k->gap = sti_physics_geom_gap(m, g);
    k->adhesion = m->geom_adhesion[g];
    k->radius = m->geom_rbound[g];
    memcpy(k->solref, m->geom_solref + (ptrdiff_t)mjNREF * g, sizeof k->solref);
    memcpy(k->solimp, m->geom_solimp + (ptrdiff_t)mjNIMP * g, sizeof k->solimp);
    memcpy(k->friction, m->geom_friction + (ptrdiff_t)3 * g, sizeof k->friction);
    for (int i = 0; i < 2; ++i) k->weight[i] = round_digits(m->body_invweight0[2 * m->geom_bodyid[g] + i]);
}

static stet_result find_kind(const mjModel *m, int g, bool apart, sti_row_list *list, int *number)
{
    kind k;
    fill_kind(m, g, &k);
    if (!apart) return sti_row_list_share(list, &k, number);
    *number = list->n;
    return sti_row_list_add(list, &k);
}

stet_result sti_geom_kinds_find(const mjModel *m, const sti_trees *trees, bool apart, sti_geom_kinds *out)
{
    const char *what = "kinds of geoms";
    sti_row_list list = {.size = sizeof(kind)};
    memset(out, 0, sizeof *out);
    if (trees->ntree == 0) return STET_OK;
    STI_TRY(sti_alloc(&out->first, (size_t)trees->ngeom * sizeof *out->first, what));
    STI_TRY(sti_alloc(&out->of_geom, (size_t)m->ngeom * sizeof *out->of_geom, what));
    memset(out->of_geom, -1, (size_t)m->ngeom * sizeof *out->of_geom);
    stet_result result = STET_OK;
    for (int i = 0; result == STET_OK && i < trees->ngeom; ++i) {
        int g = trees->geom[i];
        result = find_kind(m, g, apart, &list, out->of_geom + g);
        if (result == STET_OK && list.n > out->n) out->first[out->n++] = g;
        assert(result != STET_OK || (out->of_geom[g] >= 0 && out->of_geom[g] < out->n && out->n == list.n));
    }
    sti_row_list_free(&list);
    return result;
}

void sti_geom_kinds_free(sti_geom_kinds *kinds)
{
    sti_free(kinds->first);
    sti_free(kinds->of_geom);
    memset(kinds, 0, sizeof *kinds);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void put_copy(sti_tables_builder *b, int number, const int *from, int64_t n)
{
    int *to = sti_physics_new_table(b, number, n);
    if (to && n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

/* Two geoms, the first one before the second, that do not touch in spite of their kinds. */
typedef struct apart {
    int first, second;
} apart;

static int compare_apart(const void *a, const void *b)
{
    const apart *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

static stet_result add_apart(const sti_trees *trees, sti_row_list *list, int g1, int g2)
{
    apart row = {g1 < g2 ? g1 : g2, g1 < g2 ? g2 : g1};
    int one = trees->of_geom[g1], two = trees->of_geom[g2];
    return one < 0 || two < 0 || one == two ? STET_OK : sti_row_list_add(list, &row);
}

/* Explicit pairs, and geoms of bodies that are excluded. */
static stet_result list_apart(const mjModel *m, const sti_trees *trees, sti_row_list *list)
{
    for (int i = 0; i < m->npair; ++i) STI_TRY(add_apart(trees, list, m->pair_geom1[i], m->pair_geom2[i]));
    for (int i = 0; i < m->nexclude; ++i) {
        int one = m->exclude_signature[i] >> 16, two = m->exclude_signature[i] & 0xffff;
        for (int a = 0; a < m->body_geomnum[one]; ++a)
            for (int b = 0; b < m->body_geomnum[two]; ++b)
                STI_TRY(add_apart(trees, list, m->body_geomadr[one] + a, m->body_geomadr[two] + b));
    }
    if (list->n > 0) qsort(list->rows, (size_t)list->n, list->size, compare_apart);
    return STET_OK;
}

static void put_apart(sti_tables_builder *b, const sti_trees *trees)
{
    sti_row_list list = {.size = sizeof(apart)};
    int64_t n = b->model->ngeom;
    if (b->result == STET_OK && trees->ntree > 0) b->result = list_apart(b->model, trees, &list);
    const apart *rows = (const apart *)list.rows;
    int *out = sti_physics_new_table(b, M_APART, list.n);
    for (int i = 0; out && i < list.n; ++i) out[i] = rows[i].second;
    int *adr = sti_physics_new_table(b, M_APART_ADR, trees->ntree > 0 ? n + 1 : 0);
    for (int g = 0, i = 0; adr && trees->ntree > 0 && g <= n; ++g) {
        while (i < list.n && rows[i].first < g) ++i;
        adr[g] = i;
    }
    sti_row_list_free(&list);
}

/* Where in `dofs` those that move a geom begin, and how many they are; geoms of one body have one list. */
static stet_result list_chains(const mjModel *m, const sti_trees *trees, int *scratch, sti_row_list *dofs, int *of_geom)
{
    int last = -1, begin = 0;
    for (int i = 0; i < trees->ngeom; ++i) {
        int g = trees->geom[i], dof = sti_physics_last_dof(m, m->geom_bodyid[g]), *out = scratch + 2 * m->nv;
        if (dof != last) {
            int n = sti_physics_list_bodies(m, (sti_moved_bodies){{dof, -1}}, scratch, out);
            begin = dofs->n;
            for (int k = 0; k < n; ++k) STI_TRY(sti_row_list_add(dofs, out + 2 * (ptrdiff_t)k));
        }
        last = dof;
        of_geom[2 * (ptrdiff_t)g] = begin;
        of_geom[2 * (ptrdiff_t)g + 1] = dofs->n - begin;
    }
    return STET_OK;
}

static void put_chains(sti_tables_builder *b, const sti_trees *trees)
{
    const mjModel *m = b->model;
    sti_row_list dofs = {.size = sizeof(int)};
    int *scratch = NULL;
    int64_t n = trees->ntree > 0 ? m->ngeom : 0;
    int *of_geom = sti_physics_new_table(b, M_GEOM_CHAIN, 2 * n);
    if (of_geom) b->result = sti_alloc(&scratch, 4 * (size_t)m->nv * sizeof *scratch + 1, "dofs of the physics");
    if (of_geom && b->result == STET_OK) b->result = list_chains(m, trees, scratch, &dofs, of_geom);
    put_copy(b, M_CHAIN, (const int *)dofs.rows, dofs.n);
    of_geom = b->result == STET_OK ? b->t->m + b->t->m[M_GEOM_CHAIN] : NULL;
    for (int64_t g = 0; of_geom && g < n; ++g) of_geom[2 * g] += b->t->m[M_CHAIN];
    sti_row_list_free(&dofs);
    sti_free(scratch);
}

/* From which pair on each geom is the first of the two; explicit pairs come before all. */
static void put_row_places(sti_tables_builder *b, const sti_trees *trees)
{
    int n = trees->ntree > 0 ? (int)b->model->ngeom + 1 : 0, *adr = sti_physics_new_table(b, M_ROW_ADR, n);
    const int *t = b->t->m;
    for (int g = 0, p = 0; adr && g < n; ++g) {
        for (; p < t[M_NPAIR]; ++p) {
            const int *row = t + t[M_PAIR] + (ptrdiff_t)B_SIZE * p;
            if (row[B_ID] < 0 && (row[B_OBJ1] < row[B_OBJ2] ? row[B_OBJ1] : row[B_OBJ2]) >= g) break;
        }
        adr[g] = p;
    }
}

void sti_physics_put_trees(sti_tables_builder *b, const sti_trees *trees, const sti_geom_kinds *kinds)
{
    const mjModel *m = b->model;
    int64_t n = trees->ntree > 0 ? m->ngeom : 0;
    put_copy(b, M_TREE_ADR, trees->adr, n > 0 ? trees->ntree + 1 : 0);
    put_copy(b, M_TREE_GEOM, trees->geom, trees->ngeom);
    put_copy(b, M_GEOM_TREE, trees->of_geom, n);
    put_copy(b, M_GEOM_KIND, kinds->of_geom, n);
    int *centre = sti_physics_new_table(b, M_TREE_CENTRE, trees->ntree);
    for (int t = 0; centre && t < trees->ntree; ++t)
        centre[t] = sti_physics_central_geom(m, m->geom_bodyid[trees->geom[trees->adr[t]]]);
    put_apart(b, trees);
    put_chains(b, trees);
    put_row_places(b, trees);
    sti_physics_put_bounds(b);
}

void sti_physics_put_bounds(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int64_t n = b->t->m[M_NTREE] > 0 ? m->ngeom : 0;
    double *bound = sti_physics_new_parameter(b, M_GEOM_BOUND, n);
    for (int g = 0; bound && g < n; ++g)
        bound[g] =
            (m->geom_rbound[g] + fmax(0, sti_physics_geom_margin(m, g)) + sti_physics_geom_gap(m, g)) * (1 + 2e-5);
}
