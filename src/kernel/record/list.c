/* Lists of operations; see list.h for the invariants. */
#include "kernel/record/list.h"

#include "base/hash.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(stet_foreign_fn *) == sizeof(uint64_t), "a function is a word of a key");

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void sti_list_clear(sti_list *l) { l->nop = l->nslot = l->nuse = l->nkey = l->nsite = 0; }

void sti_list_free(sti_list *l)
{
    sti_free(l->op);
    sti_free(l->slot);
    sti_free(l->use);
    sti_free(l->key);
    *l = (sti_list){0};
}

/* Makes room for n items of a growing block. */
static stet_result reserve(void *block, int *room, int n, size_t item)
{
    int more = *room ? *room : 32;
    size_t size;
    if (n <= *room) return STET_OK;
    while (more < n) {
        if (more > INT32_MAX / 2) return sti_error(STET_ERROR_LIMIT, "a list of launches has no room for %d things", n);
        more *= 2;
    }
    STI_TRY(sti_mul_size((size_t)more, item, &size, "a list of launches"));
    STI_TRY(sti_realloc(block, size, "a list of launches"));
    *room = more;
    return STET_OK;
}

static stet_result grow(sti_list *l, int nslot, int nuse, int nkey)
{
    STI_TRY(reserve(&l->op, &l->op_room, l->nop + 1, sizeof *l->op));
    STI_TRY(reserve(&l->slot, &l->slot_room, l->nslot + nslot, sizeof *l->slot));
    STI_TRY(reserve(&l->use, &l->use_room, l->nuse + nuse, sizeof *l->use));
    return reserve(&l->key, &l->key_room, l->nkey + nkey, sizeof *l->key);
}

/* Makes room for one more operation with its slots, uses and words of the key (LIST-3). */
static inline stet_result make_room_list(sti_list *l, int nslot, int nuse, int nkey)
{
    bool enough = l->nop < l->op_room && l->nslot + nslot <= l->slot_room && l->nuse + nuse <= l->use_room &&
                  l->nkey + nkey <= l->key_room;
    return enough ? STET_OK : grow(l, nslot, nuse, nkey);
}

stet_result sti_list_copy(sti_list *to, const sti_list *from)
{
    stet_result result = reserve(&to->op, &to->op_room, from->nop, sizeof *to->op);
    if (result == STET_OK) result = reserve(&to->use, &to->use_room, from->nuse, sizeof *to->use);
    if (result == STET_OK) result = reserve(&to->key, &to->key_room, from->nkey, sizeof *to->key);
    if (result != STET_OK) {
        sti_list_free(to);
        return result;
    }
    to->nop = from->nop;
    to->nuse = from->nuse;
    to->nkey = from->nkey;
    to->nsite = from->nsite;
    memcpy(to->op, from->op, (size_t)from->nop * sizeof *to->op);
    if (from->nuse) memcpy(to->use, from->use, (size_t)from->nuse * sizeof *to->use);
    memcpy(to->key, from->key, (size_t)from->nkey * sizeof *to->key);
    assert(sti_list_same(to, from));
    return STET_OK;
}

int64_t sti_list_bytes(const sti_list *l)
{
    size_t bytes = (size_t)l->op_room * sizeof *l->op + (size_t)l->slot_room * sizeof *l->slot +
                   (size_t)l->use_room * sizeof *l->use + (size_t)l->key_room * sizeof *l->key;
    return (int64_t)bytes;
}

/* ---- appending --------------------------------------------------------------------------------------------------- */

static inline sti_op *add_op(sti_list *l, sti_op_kind kind, int parent)
{
    assert(l->nop < l->op_room && l->nkey < l->key_room && "LIST-3");
    assert(parent == -1 || (parent < l->nop && l->op[parent].kind == STI_OP_WHILE));
    sti_op *op = &l->op[l->nop++];
    *op = (sti_op){.kind = kind, .parent = parent, .match = -1, .slot = l->nslot, .use = l->nuse};
    l->key[l->nkey++] = (uint64_t)kind;
    return op;
}

static inline void add_use(sti_list *l, sti_op *op, stet_array *array, bool written)
{
    uint64_t *key = l->key + l->nkey;
    assert(l->nkey + 3 <= l->key_room && (!array || l->nuse < l->use_room) && "LIST-3");
    l->nkey += 3;
    key[0] = array ? array->version.id : 0;
    key[1] = array ? (uint64_t)(uintptr_t)array->data : 0;
    key[2] = array ? array->size : 0;
    if (!array) return;
    l->use[l->nuse++] = (sti_use){array, written};
    op->nuse++;
}

stet_result sti_list_launch(sti_list *l, int parent, const sti_launch *launch)
{
    const sti_kernel *k = launch->kernel;
    assert(launch->nblock > 0 && launch->nslot >= 0);
    STI_TRY(make_room_list(l, launch->nslot, launch->nslot, 2 + 3 * launch->nslot));
    sti_op *op = add_op(l, STI_OP_LAUNCH, parent);
    op->kernel = k;
    op->nblock = launch->nblock;
    op->nslot = launch->nslot;
    l->key[l->nkey++] = (uint64_t)(uintptr_t)k;
    for (int i = 0, at = 0; i < k->nparam; ++i) {
        if (k->param[i].index) continue;
        if (k->param[i].pointer) add_use(l, op, launch->args[at].array, k->param[i].written);
        ++at;
    }
    if (launch->nslot) memcpy(l->slot + l->nslot, launch->slot, (size_t)launch->nslot * sizeof *l->slot);
    l->nslot += launch->nslot;
    l->nsite += launch->nslot > 0;
    return STET_OK;
}

stet_result sti_list_array_copy(sti_list *l, int parent, stet_array *to, stet_array *from)
{
    STI_TRY(make_room_list(l, 0, 2, 7));
    sti_op *op = add_op(l, STI_OP_COPY, parent);
    add_use(l, op, to, true);
    add_use(l, op, from, false);
    return STET_OK;
}

stet_result sti_list_while(sti_list *l, int parent, stet_array *condition, int64_t most)
{
    STI_TRY(make_room_list(l, 0, 1, 4));
    sti_op *op = add_op(l, STI_OP_WHILE, parent);
    op->most = most;
    add_use(l, op, condition, false);
    return STET_OK;
}

stet_result sti_list_end(sti_list *l, int loop)
{
    assert(loop >= 0 && loop < l->nop && l->op[loop].kind == STI_OP_WHILE && l->op[loop].match < 0 && "ended once");
    STI_TRY(make_room_list(l, 0, 0, 1));
    sti_op *op = add_op(l, STI_OP_END, l->op[loop].parent);
    op->match = loop;
    l->op[loop].match = l->nop - 1;
    l->op[loop].nuse = l->nuse - l->op[loop].use; /* LIST-2 */
    return STET_OK;
}

stet_result sti_list_foreign(sti_list *l, int parent, const sti_foreign *f)
{
    STI_TRY(make_room_list(l, 0, f->nuse, 3 + 4 * f->nuse));
    sti_op *op = add_op(l, STI_OP_FOREIGN, parent);
    op->name = f->name;
    op->work = f->work;
    op->context = f->context;
    memcpy(&l->key[l->nkey++], &f->work, sizeof f->work);
    l->key[l->nkey++] = (uint64_t)(uintptr_t)f->context;
    for (int i = 0; i < f->nuse; ++i) {
        l->key[l->nkey++] = f->use[i].written;
        add_use(l, op, (stet_array *)f->use[i].array, f->use[i].written);
    }
    return STET_OK;
}

stet_result sti_list_add_use(sti_list *l, stet_array *array, bool written)
{
    STI_TRY(make_room_list(l, 0, 1, 4));
    l->key[l->nkey++] = written;
    add_use(l, &l->op[l->nop - 1], array, written);
    return STET_OK;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

uint64_t sti_list_hash(const sti_list *l) { return sti_hash_bytes(l->key, (size_t)l->nkey * sizeof *l->key); }

bool sti_list_same(const sti_list *a, const sti_list *b)
{
    return a->nkey == b->nkey && memcmp(a->key, b->key, (size_t)a->nkey * sizeof *a->key) == 0;
}

bool sti_list_touches(const sti_list *l, const stet_array *array, bool written)
{
    for (int i = 0; i < l->nuse; ++i)
        if ((l->use[i].written || !written) && sti_memory_overlaps(l->use[i].array, array)) return true;
    return false;
}

bool sti_list_holds(const sti_list *l, const stet_array *array)
{
    for (int i = 0; i < l->nuse; ++i)
        if (l->use[i].array == array) return true;
    return false;
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

static bool in_conflict(const sti_list *l, const sti_op *a, const sti_op *b)
{
    for (int i = a->use; i < a->use + a->nuse; ++i)
        for (int k = b->use; k < b->use + b->nuse; ++k)
            if ((l->use[i].written || l->use[k].written) && sti_memory_overlaps(l->use[i].array, l->use[k].array))
                return true;
    return false;
}

typedef struct edges {
    sti_edge *edge;
    int n, room;
    uint64_t *before; /* [nop][words]: bit i of row j is set if the edges so far order i before j */
    size_t words;
} edges;

/* Adds the edges to one operation. Goes backwards from the nearest one, so an edge that others imply is left out. */
static stet_result add_edges(edges *e, const sti_list *l, int to)
{
    uint64_t *row = e->before + (size_t)to * e->words;
    for (int from = to - 1; from > l->op[to].parent; --from) {
        uint64_t bit = UINT64_C(1) << ((unsigned)from % 64);
        const uint64_t *earlier = e->before + (size_t)from * e->words;
        if (l->op[from].kind == STI_OP_END || l->op[from].parent != l->op[to].parent) continue;
        if (row[from / 64] & bit || !in_conflict(l, &l->op[from], &l->op[to])) continue;
        STI_TRY(reserve(&e->edge, &e->room, e->n + 1, sizeof *e->edge));
        e->edge[e->n++] = (sti_edge){from, to};
        row[from / 64] |= bit;
        for (size_t k = 0; k < e->words; ++k) row[k] |= earlier[k];
    }
    return STET_OK;
}

stet_result sti_list_edges(const sti_list *l, sti_edge **out, int *nedge)
{
    edges e = {.words = ((size_t)l->nop + 63) / 64};
    stet_result result =
        sti_alloc(&e.before, e.words * (size_t)l->nop * sizeof *e.before, "order of a list of launches");
    for (int to = 0; result == STET_OK && to < l->nop; ++to)
        if (l->op[to].kind != STI_OP_END) result = add_edges(&e, l, to);
    sti_free(e.before);
    if (result != STET_OK) {
        sti_free(e.edge);
        e = (edges){0};
    }
    for (int i = 1; i < e.n; ++i) assert(e.edge[i - 1].to <= e.edge[i].to && "edges are in the order of their ends");
    *out = e.edge;
    *nedge = e.n;
    return result;
}

#ifndef NDEBUG

static void validate_loop(const sti_list *l, int i)
{
    const sti_op *op = &l->op[i];
    assert(op->parent >= -1 && op->parent < i);
    assert(op->parent < 0 || l->op[op->parent].kind == STI_OP_WHILE);
    if (op->kind == STI_OP_END) assert(l->op[op->match].kind == STI_OP_WHILE && l->op[op->match].match == i);
    if (op->kind != STI_OP_WHILE) return;
    assert(op->nuse >= 1 && op->most >= 0 && op->trips >= 0);
    assert(op->match < l->nop && (op->match < 0 || l->op[op->match].kind == STI_OP_END));
}

void sti_validate_list(const sti_list *l)
{
    int nsite = 0;
    assert(l->nop >= 0 && l->nop <= l->op_room && l->nslot <= l->slot_room);
    assert(l->nuse >= 0 && l->nuse <= l->use_room && l->nkey <= l->key_room);
    for (int i = 0; i < l->nop; ++i) {
        const sti_op *op = &l->op[i];
        validate_loop(l, i);
        assert(op->use >= 0 && op->nuse >= 0 && op->use + op->nuse <= l->nuse);
        if (op->kind == STI_OP_LAUNCH) assert(op->kernel && op->nblock > 0 && op->slot >= 0);
        if (op->kind == STI_OP_LAUNCH && l->nslot > 0) assert(op->slot + op->nslot <= l->nslot);
        if (op->kind == STI_OP_COPY) assert(op->nuse == 2 && l->use[op->use].written && !l->use[op->use + 1].written);
        nsite += op->kind == STI_OP_LAUNCH && op->nslot > 0;
    }
    for (int i = 0; i < l->nuse; ++i) assert(l->use[i].array);
    assert(nsite == l->nsite);
}

#endif
