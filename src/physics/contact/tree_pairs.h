/*
 * Pairs of geoms of two trees, in scenes of many trees. Their number grows with the square of the scene, so they have
 * no rows in tables: a step makes the descriptions of those that are near (near_pairs.k.h) from tables that grow with
 * the scene. Geoms whose pairs are alike are one kind, and two kinds have one description; its parameters are those of
 * the first geoms of the kinds. (With parameters that differ between worlds each geom is a kind of its own.)
 *
 *   TREES-1  geoms of a tree follow one another, and so do their dofs; a later tree has later geoms and dofs
 */
#ifndef STI_PHYSICS_TREE_PAIRS_H
#define STI_PHYSICS_TREE_PAIRS_H

#include "base/validate.h"
#include "physics/model/builder.h"
#include "physics/contact/pairs.h"

/* The trees that have geoms which may touch others, if pairs of two of them have no rows. */
typedef struct sti_trees {
    int ntree;    /* 0: all pairs have rows, and what follows is NULL */
    int ngeom;    /* that may touch others, of all trees */
    int *adr;     /* [ntree + 1] places in geom */
    int *geom;    /* [ngeom] ascending */
    int *of_geom; /* [model's ngeom], -1: it moves with no tree, or touches nothing */
    int nfixed;   /* geoms that may touch others and do not move */
    int *fixed;   /* [nfixed] ascending */
} sti_trees;

/*
 * Pairs of two trees have rows up to STET_PAIR_ROWS of them (environment.h), 4096 if that is not set, and where planes
 * or height fields move, or MuJoCo's order of contacts matters (pair_order.h). Freed with sti_trees_free, also after an
 * error: OUT_OF_MEMORY.
 */
stet_result sti_trees_find(const mjModel *model, sti_trees *out);
void sti_trees_free(sti_trees *trees);
STI_VALIDATE(trees, sti_trees)
/* sti_physics_next_pair without pairs of two trees. */
bool sti_trees_next_pair(const mjModel *model, const sti_trees *trees, sti_pair_place *place);

/* Of each kind one geom, and of each geom its kind, or -1. */
typedef struct sti_geom_kinds {
    int n;
    int *first;   /* [n] */
    int *of_geom; /* [model's ngeom] */
} sti_geom_kinds;

/* apart: each geom is a kind. Freed with sti_geom_kinds_free, also after an error: OUT_OF_MEMORY. */
stet_result sti_geom_kinds_find(const mjModel *model, const sti_trees *trees, bool apart, sti_geom_kinds *out);
void sti_geom_kinds_free(sti_geom_kinds *kinds);

/* What a step reads of trees, M_TREE_ADR to M_CHAIN, but M_KIND_PAIR; after the pairs. */
void sti_physics_put_trees(sti_tables_builder *b, const sti_trees *trees, const sti_geom_kinds *kinds);
/* Fills M_GEOM_BOUND. */
void sti_physics_put_bounds(sti_tables_builder *b);

#endif
