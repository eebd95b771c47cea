/* The schedule; see schedule.h for its invariants. */
#include "stage/schedule.h"

#include <assert.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void free_selection(sti_selection *x)
{
    stet_array_destroy(x->prim);
    stet_array_destroy(x->level);
    sti_stamp_free(&x->from);
    *x = (sti_selection){0};
}

static stet_result new_list(stet_device *device, const char *name, int n, stet_array **out)
{
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_INT, false, out, n));
    sti_array_held_by(*out, STET_MECHANISM_HIERARCHY);
    return STET_OK;
}

static stet_result new_selection(sti_selection *x, stet_device *device, int capacity)
{
    STI_TRY(new_list(device, "prims by level", capacity, &x->prim));
    return new_list(device, "levels", capacity + 1, &x->level);
}

void sti_schedule_free(sti_schedule *s)
{
    sti_free(s->order);
    sti_free(s->depth);
    sti_free(s->scratch);
    sti_free(s->moving);
    sti_free(s->picked);
    stet_array_destroy(s->parent);
    stet_array_destroy(s->body);
    stet_array_destroy(s->rigid);
    free_selection(&s->all);
    free_selection(&s->poses);
    for (int i = 0; i < STI_SELECTIONS; i++) free_selection(&s->some[i]);
    sti_stamp_free(&s->from);
    sti_stamp_free(&s->asked);
    *s = (sti_schedule){0};
}

/* Allocates for as many prims as the tree can hold, so a steady state allocates nothing. */
static stet_result reserve(sti_schedule *s, stet_device *device, const sti_tree *tree)
{
    size_t n = (size_t)tree->capacity;
    if (s->capacity == tree->capacity) return STET_OK;
    sti_schedule_free(s);
    STI_TRY(sti_alloc(&s->order, n * sizeof *s->order, "order of prims"));
    STI_TRY(sti_alloc(&s->depth, n * sizeof *s->depth, "levels of prims"));
    STI_TRY(sti_alloc(&s->scratch, (n + 1) * sizeof *s->scratch, "lists of prims"));
    STI_TRY(sti_alloc(&s->moving, n, "moving prims"));
    STI_TRY(sti_alloc(&s->picked, n, "selected prims"));
    STI_TRY(new_list(device, "parents of prims", tree->capacity, &s->parent));
    STI_TRY(new_list(device, "bodies", tree->n[STET_PRIM_BODY], &s->body));
    STI_TRY(new_list(device, "rigid prims", tree->capacity, &s->rigid));
    STI_TRY(new_selection(&s->all, device, tree->capacity));
    STI_TRY(new_selection(&s->poses, device, tree->capacity));
    for (int i = 0; i < STI_SELECTIONS; i++) STI_TRY(new_selection(&s->some[i], device, tree->capacity));
    s->capacity = tree->capacity;
    return STET_OK;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* SCHEDULE-2. */
static int depth_of(const sti_tree *tree, int prim)
{
    assert(tree->prim[prim].source == STI_PRIM_FORWARD);
    int depth = 0;
    while (!sti_prim_rigid(&tree->prim[tree->prim[prim].parent])) {
        prim = tree->prim[prim].parent;
        depth++;
    }
    return depth;
}

/* Counting sort by level; by number within a level. */
static void find_order(sti_schedule *s, const sti_tree *tree)
{
    int *first = s->scratch;
    memset(first, 0, ((size_t)s->capacity + 1) * sizeof *first);
    s->norder = 0;
    for (int p = 0; p < s->capacity; p++) {
        if (tree->prim[p].source != STI_PRIM_FORWARD) continue;
        s->depth[p] = depth_of(tree, p);
        first[s->depth[p] + 1]++;
        s->norder++;
    }
    for (int l = 0; l < s->capacity; l++) first[l + 1] += first[l];
    for (int p = 0; p < s->capacity; p++)
        if (tree->prim[p].source == STI_PRIM_FORWARD) s->order[first[s->depth[p]]++] = p;
    for (int k = 1; k < s->norder; k++) assert(s->depth[s->order[k - 1]] <= s->depth[s->order[k]] && "by level");
}

/* Marks rigid prims that physics moves: bodies not welded to the world, and prims that follow bodies. */
static void find_moving(sti_schedule *s, const sti_tree *tree, bool external)
{
    const int *weld = tree->model->mj->body_weldid;
    memset(s->moving, 0, (size_t)s->capacity);
    for (int p = 0; p < tree->nmodel; p++) {
        const sti_prim *x = &tree->prim[p];
        bool follows = x->source == STI_PRIM_TRACK || x->source == STI_PRIM_TENDON;
        s->moving[p] = follows || (x->source == STI_PRIM_POSE && (external || weld[x->index] != 0));
    }
}

/* ---- selections -------------------------------------------------------------------------------------------------- */

static stet_result write_selection(sti_selection *x, sti_schedule *s)
{
    int *list = s->scratch, n = 0;
    memset(list, 0, ((size_t)s->capacity + 1) * sizeof *list);
    for (int k = 0; k < s->norder; k++)
        if (s->picked[s->order[k]]) list[n++] = s->order[k];
    STI_TRY(stet_array_write(x->prim, list, stet_array_get_bytes(x->prim)));
    memset(list, 0, ((size_t)s->capacity + 1) * sizeof *list);
    x->nprim = n;
    x->nlevel = 0;
    for (int k = 0, at = 0; k < s->norder; k++) {
        int p = s->order[k];
        if (!s->picked[p]) continue;
        while (x->nlevel <= s->depth[p]) list[x->nlevel++] = at;
        at++;
    }
    assert(x->nlevel <= s->capacity && (n == 0) == (x->nlevel == 0));
    list[x->nlevel] = n;
    return stet_array_write(x->level, list, stet_array_get_bytes(x->level));
}

/* SCHEDULE-3: selects everything below the prims with root set, level by level. */
static stet_result make_selection(sti_selection *x, sti_schedule *s, const sti_tree *tree, const uint8_t *root,
                                  bool poses)
{
    memset(s->picked, 0, (size_t)s->capacity);
    for (int k = 0; k < s->norder; k++) {
        int p = s->order[k], parent = tree->prim[p].parent;
        bool rigid = sti_prim_rigid(&tree->prim[parent]);
        assert((rigid || s->depth[p] == s->depth[parent] + 1) && "SCHEDULE-2");
        s->picked[p] = root[p] || (rigid ? root[parent] || (poses && s->moving[parent]) : s->picked[parent]);
    }
    return write_selection(x, s);
}

/*
 * The stamp of a selection: the schedule, whether poses are wanted, and each root that poses do not cover. Returns how
 * many such roots.
 */
static int stamp_selection(sti_stamp *now, const sti_schedule *s, const sti_tree *tree, const uint8_t *root, bool poses)
{
    int n = 0;
    sti_stamp_begin(now);
    sti_stamp_add(now, &tree->connectivity);
    sti_stamp_add_value(now, poses);
    for (int p = 0; p < s->capacity; p++) {
        if (!root[p] || (poses && s->moving[p] && !sti_prim_rigid(&tree->prim[p]))) continue;
        sti_stamp_add_value(now, (uint64_t)p);
        n++;
    }
    return n;
}

/* Finds the kept selection with the requested stamp, or the least recently used one. */
static sti_selection *find_selection(sti_schedule *s)
{
    sti_selection *oldest = &s->some[0];
    for (int i = 0; i < STI_SELECTIONS; i++) {
        if (sti_stamp_equal(&s->some[i].from, &s->asked)) return &s->some[i];
        if (s->some[i].used < oldest->used) oldest = &s->some[i];
    }
    return oldest;
}

stet_result sti_schedule_select(sti_schedule *s, const sti_tree *tree, const uint8_t *root, bool poses,
                                const sti_selection **out, int *built)
{
    assert(s->from.valid && s->capacity == tree->capacity && "the schedule is up to date");
    *out = &s->poses;
    if (stamp_selection(&s->asked, s, tree, root, poses) == 0 && poses) return STET_OK;
    sti_selection *x = find_selection(s);
    x->used = ++s->clock;
    *out = x;
    if (sti_stamp_equal(&x->from, &s->asked)) return STET_OK;
    sti_stamp_invalidate(&x->from);
    STI_TRY(make_selection(x, s, tree, root, poses));
    sti_stamp_keep(&x->from, &s->asked);
    ++*built;
    return STET_OK;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static stet_result write_parents(sti_schedule *s, const sti_tree *tree)
{
    for (int p = 0; p < s->capacity; p++) s->scratch[p] = sti_tree_has(tree, p) ? tree->prim[p].parent : -1;
    return stet_array_write(s->parent, s->scratch, stet_array_get_bytes(s->parent));
}

/* Lists rigid prims, those that cannot move last, so that the others are the beginning of the list. */
static stet_result write_rigid(sti_schedule *s, const sti_tree *tree)
{
    int *list = s->scratch;
    memset(list, 0, (size_t)s->capacity * sizeof *list);
    s->nbody = s->nrigid = 0;
    for (int moving = 1; moving >= 0; moving--) {
        for (int b = 0; b < tree->n[STET_PRIM_BODY]; b++)
            if (s->moving[b] == moving) list[s->nbody++] = b;
        if (moving) s->nbody_moving = s->nbody;
    }
    STI_TRY(stet_array_write(s->body, list, stet_array_get_bytes(s->body)));
    for (int last = 0; last <= 1; last++) {
        for (int p = 0; p < s->capacity; p++) {
            const sti_prim *x = &tree->prim[p];
            if (sti_prim_rigid(x) && (x->source == STI_PRIM_POSE && !s->moving[p]) == (bool)last) list[s->nrigid++] = p;
        }
        if (!last) s->nrigid_moving = s->nrigid;
    }
    assert(s->nbody == tree->n[STET_PRIM_BODY] && s->nbody_moving <= s->nbody && s->nrigid_moving <= s->nrigid);
    assert(s->nrigid + s->norder == tree->count && "a prim is rigid or propagated");
    return stet_array_write(s->rigid, list, stet_array_get_bytes(s->rigid));
}

static stet_result build(sti_schedule *s, stet_device *device, const sti_tree *tree, bool external)
{
    STI_TRY(reserve(s, device, tree));
    find_order(s, tree);
    find_moving(s, tree, external);
    STI_TRY(write_parents(s, tree));
    STI_TRY(write_rigid(s, tree));
    memset(s->picked, 1, (size_t)s->capacity);
    STI_TRY(write_selection(&s->all, s));
    uint8_t *none;
    STI_TRY(sti_alloc(&none, (size_t)s->capacity, "no prims"));
    stet_result result = make_selection(&s->poses, s, tree, none, true);
    sti_free(none);
    for (int k = 0; result == STET_OK && k < s->norder; k++) s->moving[s->order[k]] = s->picked[s->order[k]];
    for (int i = 0; i < STI_SELECTIONS; i++) sti_stamp_invalidate(&s->some[i].from);
    return result;
}

stet_result sti_schedule_update(sti_schedule *s, stet_device *device, const sti_tree *tree, bool external, int *built)
{
    sti_stamp now = {0};
    sti_stamp_begin(&now);
    sti_stamp_add(&now, &tree->connectivity);
    sti_stamp_add_value(&now, external);
    /* two words and a value fit into `few`: nothing to free */
    if (sti_stamp_equal(&s->from, &now)) return STET_OK;
    sti_stamp_invalidate(&s->from);
    STI_TRY(build(s, device, tree, external));
    assert(s->poses.nprim <= s->all.nprim && s->all.nprim == s->norder);
    sti_stamp_keep(&s->from, &now);
    ++*built;
    return STET_OK;
}
