/*
 * The tree of prims: which prims exist, and their parents. It holds connectivity only; transforms are elsewhere.
 *
 * Invariants:
 *   TREE-1  prim 0 is the root and the only one without a parent; prims of the model are never removed
 *   TREE-2  a prim's number stays the same for its life; numbers of removed prims are reused
 *   TREE-3  connectivity is bumped by each change of the tree, and by nothing else
 */
#ifndef STI_STAGE_TREE_H
#define STI_STAGE_TREE_H

#include "model/model.h"
#include "stet/stage.h"

/*
 * What writes a prim's world transform. The last five make it rigid: its local transform is computed from the world
 * transform.
 */
typedef enum sti_prim_source {
    STI_PRIM_FREE,
    STI_PRIM_FORWARD,
    STI_PRIM_POSE,
    STI_PRIM_TRACK,
    STI_PRIM_TENDON,
    STI_PRIM_DECOR, /* a part of a decoration */
    STI_PRIM_WRITTEN
} sti_prim_source;

typedef struct sti_prim {
    sti_prim_source source; /* FREE: this number is not in use */
    stet_prim_kind kind;
    int index; /* number of the model's object; an added prim: -1 */
    int parent;
    char *name; /* name of an added prim, owned; else NULL: the model has it */
} sti_prim;

typedef struct sti_tree {
    stet_model *model; /* borrowed */
    sti_prim *prim;    /* [capacity] */
    int capacity, count, nmodel;
    int first[STET_PRIM_XFORM], n[STET_PRIM_XFORM]; /* prims of the model's kinds BODY … TENDON; body 0 is the root */
    sti_version connectivity;
} sti_tree;

/* Makes the tree of a model. A failure leaves nothing behind. */
stet_result sti_tree_init(sti_tree *tree, stet_model *model);
void sti_tree_free(sti_tree *tree);

static inline bool sti_prim_rigid(const sti_prim *p) { return p->source > STI_PRIM_FORWARD; }
/* True if the prim exists. */
bool sti_tree_has(const sti_tree *tree, int prim);
/* Name for messages and searches; "" if it has none. */
const char *sti_tree_name(const sti_tree *tree, int prim);
/* True if prim is `ancestor` or below it. */
bool sti_tree_below(const sti_tree *tree, int prim, int ancestor);
/* Returns STET_ERROR_INVALID_ARGUMENT, with a message that names `call`, unless the prim exists. */
stet_result sti_tree_check(const sti_tree *tree, int prim, const char *call);
/* Finds the lowest prim of a kind with that name (the root is a body, too). False: there is none. */
bool sti_tree_has_name(const sti_tree *tree, stet_prim_kind kind, const char *name, int *out);
/* The same; the message of STET_ERROR_NOT_FOUND names some that exist. */
stet_result sti_tree_find(const sti_tree *tree, stet_prim_kind kind, const char *name, int *out);

/* A free number below the capacity, or -1. */
int sti_tree_vacant(const sti_tree *tree);
/* Capacity after the next growth. STET_ERROR_LIMIT: numbers of transforms would not fit an int. */
stet_result sti_tree_next_capacity(const sti_tree *tree, int *out);
stet_result sti_tree_grow(sti_tree *tree, int capacity);
/* Adds a prim of a kind, XFORM or SHAPE, under a vacant number; the name is copied. */
stet_result sti_tree_add(sti_tree *tree, int prim, int parent, stet_prim_kind kind, const char *name, bool rigid);
/* Removes an added prim and all below it. */
void sti_tree_remove(sti_tree *tree, int prim);
void sti_tree_reparent(sti_tree *tree, int prim, int parent);
STI_VALIDATE(tree, sti_tree)

#endif
