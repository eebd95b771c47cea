/* The stage's public functions about decorations: their names, and showing them. See decor.h. */
#include "base/memory.h"
#include "stage/flush.h"

#include <string.h>

/* ---- the names --------------------------------------------------------------------------------------------------- */

static const char *const names[STET_DECORATION_COUNT + 1] = {
#define NAME(id, name, doc) [STET_DECORATION_##id] = name,
    STET_DECORATIONS(NAME)
#undef NAME
        NULL};

const char *stet_decoration_name(stet_decoration decoration)
{
    return (unsigned)decoration < STET_DECORATION_COUNT ? names[decoration] : NULL;
}

stet_result stet_decoration_find(const char *name, stet_decoration *out)
{
    if (!name || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_decoration_find: name or out is NULL; give both");
    for (int i = 0; i < STET_DECORATION_COUNT; ++i)
        if (strcmp(name, names[i]) == 0) {
            *out = (stet_decoration)i;
            return STET_OK;
        }
#define NAME(id, name, doc) " " name
    return sti_error(STET_ERROR_NOT_FOUND,
                     "decoration '%.64s': there is none of this name; there are:" STET_DECORATIONS(NAME), name);
#undef NAME
}

/* ---- prims and shapes -------------------------------------------------------------------------------------------- */

static stet_result add_prims(stet_stage *stage, sti_decor_part *parts)
{
    for (int i = 0; i < stage->decor.npart; ++i) {
        sti_decor_part *one = &parts[i];
        int prim, number;
        STI_TRY(sti_stage_vacant_prim(stage, &prim));
        STI_TRY(sti_shapes_vacant(&stage->shapes, &number));
        STI_TRY(sti_tree_add(&stage->tree, prim, 0, STET_PRIM_SHAPE, NULL, true));
        stage->tree.prim[prim].source = STI_PRIM_DECOR;
        sti_version_bump(&stage->shapes.set);
        sti_shape *shape = &stage->shapes.shape[number];
        *shape = (sti_shape){.prim = prim, .type = one->type, .size = {1, 1, 1}, .mesh = -1, .material = -1};
        shape->decor = true;
        shape->since = stage->shapes.set.generation;
        memcpy(shape->rgba, one->rgba, sizeof shape->rgba);
        one->row[DECOR_PRIM] = prim;
        sti_stage_due(stage, prim, 0, stage->worlds->nworld);
    }
    return STET_OK;
}

static void remove_prims(stet_stage *stage)
{
    for (int p = stage->tree.nmodel; p < stage->tree.capacity; ++p)
        if (stage->tree.prim[p].source == STI_PRIM_DECOR) sti_tree_remove(&stage->tree, p);
    sti_shapes_sweep(&stage->shapes, &stage->tree);
    sti_decor_free(&stage->decor);
}

static stet_result show_parts(stet_stage *stage, uint32_t shown)
{
    sti_decor_part *parts = NULL;
    stet_result result = sti_decor_list(&stage->decor, stage, shown, &parts);
    if (!result) result = add_prims(stage, parts);
    if (!result) result = sti_decor_init(&stage->decor, stage, parts);
    sti_free(parts);
    if (!result) stage->decor.shown = shown;
    return result;
}

stet_result stet_stage_decorate(stet_stage *stage, uint32_t decorations)
{
    if (!stage) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_decorate: stage is NULL; give one");
    STI_TRY(sti_not_listing(stage->device, "stet_stage_decorate"));
    if (decorations >> STET_DECORATION_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_stage_decorate: there is no decoration %d; use bits 1u << STET_DECORATION_…",
                         31 - __builtin_clz(decorations));
    if (decorations == stage->decor.shown) return STET_OK;
    sti_stage_before_write(stage);
    remove_prims(stage);
    stet_result result = show_parts(stage, decorations);
    if (result != STET_OK) remove_prims(stage);
    sti_stage_after_write(stage);
    sti_stage_due_connectivity(stage);
    return result;
}

uint32_t stet_stage_get_decorations(const stet_stage *stage) { return stage ? stage->decor.shown : 0; }
