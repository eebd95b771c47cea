/* The tree of prims; see tree.h for its invariants. */
#include "stage/tree.h"

#include "base/error.h"
#include "base/memory.h"
#include "stage/tendon.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { GROWTH_MIN = 16 };

static const char *const kinds[] = {"root", "body", "geom", "site", "camera", "light", "tendon", "prim", "shape"};

/* ---- the model's prims ------------------------------------------------------------------------------------------- */

/* k_track writes the world transforms of cameras and lights that follow or aim at bodies. */
static sti_prim_source camlight_source(int mode, int target)
{
    bool aims = mode == mjCAMLIGHT_TARGETBODY || mode == mjCAMLIGHT_TARGETBODYCOM;
    if (mode == mjCAMLIGHT_FIXED || (aims && target < 0)) return STI_PRIM_FORWARD;
    return STI_PRIM_TRACK;
}

static sti_prim_source source_of(const mjModel *m, stet_prim_kind kind, int i)
{
    if (kind == STET_PRIM_BODY) return STI_PRIM_POSE;
    if (kind == STET_PRIM_CAMERA) return camlight_source(m->cam_mode[i], m->cam_targetbodyid[i]);
    if (kind == STET_PRIM_TENDON) return STI_PRIM_TENDON;
    if (kind == STET_PRIM_LIGHT) return camlight_source(m->light_mode[i], m->light_targetbodyid[i]);
    return STI_PRIM_FORWARD;
}

static void add_kind(sti_tree *tree, stet_prim_kind kind, int n, const int *bodies)
{
    assert(n >= 0 && tree->count + n <= tree->nmodel);
    tree->first[kind] = tree->count;
    tree->n[kind] = n;
    for (int i = 0; i < n; i++) {
        tree->prim[tree->count++] = (sti_prim){
            .source = source_of(tree->model->mj, kind, i), .kind = kind, .index = i, .parent = bodies ? bodies[i] : 0};
    }
}

stet_result sti_tree_init(sti_tree *tree, stet_model *model)
{
    const mjModel *m = model->mj;
    int64_t npiece = 0, n;
    for (int t = 0; t < m->ntendon; t++) npiece += sti_tendon_pieces(m, t);
    for (int f = 0; f < m->nflex; f++) npiece += sti_flex_pieces(m, f);
    n = (int64_t)m->nbody + m->ngeom + m->nsite + m->ncam + m->nlight + npiece;
    *tree = (sti_tree){.model = model, .nmodel = (int)n, .connectivity = sti_version_new()};
    if (n > INT32_MAX / 12)
        return sti_error(
            STET_ERROR_LIMIT,
            "stage: the model has %lld objects, more than the %d that a stage can number; use a smaller model",
            (long long)n, INT32_MAX / 12);
    STI_TRY(sti_tree_grow(tree, (int)n));
    add_kind(tree, STET_PRIM_BODY, (int)m->nbody, m->body_parentid);
    add_kind(tree, STET_PRIM_GEOM, (int)m->ngeom, m->geom_bodyid);
    add_kind(tree, STET_PRIM_SITE, (int)m->nsite, m->site_bodyid);
    add_kind(tree, STET_PRIM_CAMERA, (int)m->ncam, m->cam_bodyid);
    add_kind(tree, STET_PRIM_LIGHT, (int)m->nlight, m->light_bodyid);
    add_kind(tree, STET_PRIM_TENDON, (int)npiece, NULL);
    tree->prim[0].kind = STET_PRIM_ROOT;
    tree->prim[0].parent = -1;
    tree->n[STET_PRIM_ROOT] = 1;
    assert(tree->count == tree->nmodel);
    sti_validate_tree(tree);
    return STET_OK;
}

void sti_tree_free(sti_tree *tree)
{
    for (int i = 0; i < tree->capacity; i++) sti_free(tree->prim[i].name);
    sti_free(tree->prim);
    *tree = (sti_tree){0};
}

/* ---- looking up -------------------------------------------------------------------------------------------------- */

bool sti_tree_has(const sti_tree *tree, int prim)
{
    return prim >= 0 && prim < tree->capacity && tree->prim[prim].source != STI_PRIM_FREE;
}

const char *sti_tree_name(const sti_tree *tree, int prim)
{
    assert(sti_tree_has(tree, prim));
    static const int types[] = {mjOBJ_BODY, mjOBJ_BODY, mjOBJ_GEOM, mjOBJ_SITE, mjOBJ_CAMERA, mjOBJ_LIGHT};
    const sti_prim *p = &tree->prim[prim];
    if (p->index < 0) return p->name ? p->name : "";
    if (p->kind == STET_PRIM_TENDON) return "";
    const char *name = mj_id2name(tree->model->mj, types[p->kind], p->index);
    return name ? name : "";
}

bool sti_tree_below(const sti_tree *tree, int prim, int ancestor)
{
    assert(prim >= 0 && prim < tree->capacity && ancestor >= 0);
    while (prim != ancestor && prim >= 0) prim = tree->prim[prim].parent;
    return prim == ancestor;
}

stet_result sti_tree_check(const sti_tree *tree, int prim, const char *call)
{
    if (sti_tree_has(tree, prim)) return STET_OK;
    return sti_error(
        STET_ERROR_INVALID_ARGUMENT,
        "%s: there is no prim %d; take numbers from stet_stage_get_prim, stet_stage_find or stet_stage_add", call,
        prim);
}

/* The root is of the kinds root and body. */
static bool of_kind(const sti_prim *p, stet_prim_kind kind)
{
    return p->source != STI_PRIM_FREE && (p->kind == kind || (kind == STET_PRIM_BODY && p->kind == STET_PRIM_ROOT));
}

/* Lists a kind's names: "a, b, c and 3 more". */
static void list_names(const sti_tree *tree, stet_prim_kind kind, char *text, size_t size)
{
    int shown = 0, more = 0;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < tree->capacity; i++) {
        if (!of_kind(&tree->prim[i], kind) || !*sti_tree_name(tree, i)) continue;
        if (shown == 8 || used + 80 > size) {
            more++;
            continue;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%.64s", shown++ ? ", " : "", sti_tree_name(tree, i));
    }
    if (more) snprintf(text + used, size - used, " and %d more", more);
}

bool sti_tree_has_name(const sti_tree *tree, stet_prim_kind kind, const char *name, int *out)
{
    for (int i = 0; *name && i < tree->capacity; i++) {
        if (!of_kind(&tree->prim[i], kind) || strcmp(sti_tree_name(tree, i), name) != 0) continue;
        *out = i;
        return true;
    }
    return false;
}

stet_result sti_tree_find(const sti_tree *tree, stet_prim_kind kind, const char *name, int *out)
{
    if (sti_tree_has_name(tree, kind, name, out)) return STET_OK;
    char known[768];
    list_names(tree, kind, known, sizeof known);
    if (!known[0])
        return sti_error(STET_ERROR_NOT_FOUND, "%s '%.64s': the stage has none with a name; use its number",
                         kinds[kind], name);
    return sti_error(STET_ERROR_NOT_FOUND, "%s '%.64s': the stage has none of this name; it has: %s", kinds[kind], name,
                     known);
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

int sti_tree_vacant(const sti_tree *tree)
{
    if (tree->count == tree->capacity) return -1;
    int i = tree->nmodel;
    while (tree->prim[i].source != STI_PRIM_FREE) i++;
    return i;
}

stet_result sti_tree_next_capacity(const sti_tree *tree, int *out)
{
    int64_t grown = (int64_t)tree->capacity + tree->capacity / 2 + GROWTH_MIN;
    if (grown > INT32_MAX / 12)
        return sti_error(STET_ERROR_LIMIT, "stage: more than %d prims cannot be numbered; remove some first",
                         tree->capacity);
    *out = (int)grown;
    return STET_OK;
}

stet_result sti_tree_grow(sti_tree *tree, int capacity)
{
    assert(capacity >= tree->capacity && capacity <= INT32_MAX / 12 && "TREE-2: numbers stay");
    STI_TRY(sti_realloc(&tree->prim, (size_t)capacity * sizeof *tree->prim, "prims of the stage"));
    tree->capacity = capacity;
    return STET_OK;
}

stet_result sti_tree_add(sti_tree *tree, int prim, int parent, stet_prim_kind kind, const char *name, bool rigid)
{
    assert(prim >= tree->nmodel && prim < tree->capacity && !sti_tree_has(tree, prim) && "a vacant number");
    assert(sti_tree_has(tree, parent) && kind >= STET_PRIM_XFORM);
    sti_prim p = {.source = rigid ? STI_PRIM_WRITTEN : STI_PRIM_FORWARD, .kind = kind, .index = -1, .parent = parent};
    if (name) STI_TRY(sti_strdup(&p.name, name));
    tree->prim[prim] = p;
    tree->count++;
    sti_version_bump(&tree->connectivity);
    sti_validate_tree(tree);
    return STET_OK;
}

static void free_prim(sti_tree *tree, int prim)
{
    assert(prim >= tree->nmodel && tree->count > tree->nmodel && "TREE-1: prims of the model stay");
    sti_free(tree->prim[prim].name);
    tree->prim[prim] = (sti_prim){0};
    tree->count--;
}

/* Finding descendants needs their parents, so all are found, and marked by parent -2, before the first is freed. */
void sti_tree_remove(sti_tree *tree, int prim)
{
    assert(prim >= tree->nmodel && sti_tree_has(tree, prim) && "TREE-1: prims of the model stay");
    tree->prim[prim].parent = -2;
    for (bool found = true; found;) {
        found = false;
        for (int i = tree->nmodel; i < tree->capacity; i++) {
            sti_prim *p = &tree->prim[i];
            if (p->source == STI_PRIM_FREE || p->parent < 0 || tree->prim[p->parent].parent != -2) continue;
            p->parent = -2;
            found = true;
        }
    }
    for (int i = tree->nmodel; i < tree->capacity; i++)
        if (tree->prim[i].parent == -2) free_prim(tree, i);
    sti_version_bump(&tree->connectivity);
    sti_validate_tree(tree);
}

void sti_tree_reparent(sti_tree *tree, int prim, int parent)
{
    assert(sti_tree_has(tree, prim) && sti_tree_has(tree, parent) && !sti_tree_below(tree, parent, prim));
    tree->prim[prim].parent = parent;
    sti_version_bump(&tree->connectivity);
}

#ifndef NDEBUG

void sti_validate_tree(const sti_tree *tree)
{
    int count = 0;
    sti_validate_version(&tree->connectivity);
    assert(tree->nmodel >= 1 && tree->count >= tree->nmodel && tree->count <= tree->capacity);
    assert(tree->prim[0].kind == STET_PRIM_ROOT && tree->prim[0].parent == -1 && "TREE-1");
    for (int i = 0; i < tree->capacity; ++i) {
        const sti_prim *p = &tree->prim[i];
        bool own = i < tree->nmodel;
        count += p->source != STI_PRIM_FREE;
        assert((!own || (p->source != STI_PRIM_FREE && !p->name)) && "TREE-1: prims of the model are there, unnamed");
        if (p->source == STI_PRIM_FREE || i == 0) continue;
        assert(sti_tree_has(tree, p->parent) && p->parent != i && "TREE-1: only the root has no parent");
        assert((p->index < 0) == !own && (p->kind >= STET_PRIM_XFORM) == !own);
    }
    assert(count == tree->count);
}

#endif
