/*
 * The tables of arrays and kernels that a tape knows, by number; see tape.h for the invariants.
 */
#include "adjoint/tape/tape.h"

#include "kernel/user/user.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

stet_result sti_tape_reserve(void *block, int64_t *room, int64_t n, size_t item)
{
    int64_t more = *room ? *room : 32;
    size_t size;
    if (n <= *room) return STET_OK;
    while (more < n) more *= 2;
    STI_TRY(sti_mul_size((size_t)more, item, &size, "tape"));
    STI_TRY(sti_realloc(block, size, "tape"));
    *room = more;
    return STET_OK;
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

stet_result sti_tape_pooled(sti_tape_pool *pool, int64_t n, const stet_array *like)
{
    while (pool->n <= n) {
        STI_TRY(sti_tape_reserve(&pool->array, &pool->room, pool->n + 1, sizeof(stet_array *)));
        STI_TRY(sti_array_new(like->device, like->name, like->dtype, like->worlds, like->ndim, like->shape,
                              &pool->array[pool->n]));
        pool->n++;
    }
    return STET_OK;
}

static void free_pool(sti_tape_pool *pool)
{
    for (int64_t i = 0; i < pool->n; ++i) stet_array_destroy(pool->array[i]);
    sti_free(pool->array);
    *pool = (sti_tape_pool){0};
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static uint64_t mixed(uint64_t id) { return id * UINT64_C(0x9e3779b97f4a7c15) >> 32; }

/* The place of an identity in the table, or the free place for it. */
static int64_t place_of(const stet_tape *t, uint64_t id)
{
    int64_t mask = t->nplace - 1, p = (int64_t)mixed(id) & mask;
    while (t->place[p] >= 0 && t->array[t->place[p]].id != id) p = (p + 1) & mask;
    return p;
}

static void place_all(stet_tape *t)
{
    for (int64_t p = 0; p < t->nplace; ++p) t->place[p] = -1;
    for (int64_t i = 0; i < t->narray; ++i) t->place[place_of(t, t->array[i].id)] = (int)i;
}

static stet_result grow_places(stet_tape *t)
{
    int64_t n = t->nplace ? 2 * t->nplace : 64;
    STI_TRY(sti_realloc(&t->place, (size_t)n * sizeof *t->place, "tape"));
    t->nplace = n;
    place_all(t);
    return STET_OK;
}

int sti_tape_known_array(const stet_tape *t, const stet_array *array)
{
    return t->nplace ? t->place[place_of(t, array->version.id)] : -1;
}

stet_result sti_tape_find_array(stet_tape *t, const stet_array *array, int *out)
{
    *out = sti_tape_known_array(t, array);
    if (*out >= 0) return STET_OK;
    if (t->narray == INT32_MAX / 2) return sti_error(STET_ERROR_LIMIT, "tape: too many arrays");
    if (2 * (t->narray + 1) > t->nplace) STI_TRY(grow_places(t));
    STI_TRY(sti_tape_reserve(&t->array, &t->array_room, t->narray + 1, sizeof *t->array));
    sti_tape_array *a = &t->array[t->narray];
    *a = (sti_tape_array){.array = (stet_array *)array, .id = array->version.id};
    (void)snprintf(a->name, sizeof a->name, "%s", array->name);
    *out = (int)t->narray++;
    t->place[place_of(t, a->id)] = *out;
    return STET_OK;
}

static void free_array(sti_tape_array *a)
{
    for (int64_t i = 0; i < a->ncopy; ++i) stet_array_destroy(a->copy[i].copy);
    sti_free(a->copy);
    a->copy = NULL;
    a->ncopy = a->copy_room = 0;
    free_pool(&a->spare);
    free_pool(&a->undo);
    free_pool(&a->scratch);
    stet_array_destroy(a->final);
    stet_array_destroy(a->ahead);
    stet_array_destroy(a->gradient);
    a->final = a->ahead = a->gradient = a->array = NULL;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static void describe(const sti_kernel *from, sti_tape_kernel *k)
{
    k->kernel = from->user;
    k->items = from->kind == STI_KERNEL_ITEM;
    (void)snprintf(k->name, sizeof k->name, "%s", from->name);
    for (int i = 0; i < from->nparam; ++i) {
        const sti_param *p = &from->param[i];
        if (p->index) continue;
        sti_tape_param *own = &k->param[k->nparam++];
        *own = (sti_tape_param){.array = p->pointer, .written = p->written, .worlds = sti_param_type_worlds(p->type)};
        own->real = p->type == STI_PARAM_REAL || p->type == STI_PARAM_WREAL || p->type == STI_PARAM_UREAL;
        memcpy(own->name, p->name, sizeof own->name);
        k->writes_reals |= own->real && own->written;
    }
}

static void describe_operation(const sti_operation *from, sti_tape_kernel *k)
{
    assert(from->noperand <= STI_MAX_PARAMS);
    k->operation = from;
    (void)snprintf(k->name, sizeof k->name, "%s", from->name);
    for (int i = 0; i < from->noperand; ++i) {
        const sti_operand *p = &from->operand[i];
        sti_tape_param *own = &k->param[k->nparam++];
        *own = (sti_tape_param){.array = !p->number, .real = p->real, .worlds = true};
        own->written = p->uses & STI_OPERAND_WRITTEN;
        own->read = p->uses & STI_OPERAND_READ;
        own->result = p->uses & STI_OPERAND_RESULT;
        own->graded = p->uses & STI_OPERAND_GRADED;
        (void)snprintf(own->name, sizeof own->name, "%s", p->name);
    }
}

static stet_result add_kernel(stet_tape *t, sti_tape_kernel **k, int *out)
{
    STI_TRY(sti_tape_reserve(&t->kernel, &t->kernel_room, t->nkernel + 1, sizeof(sti_tape_kernel *)));
    STI_TRY(sti_alloc(k, sizeof **k, "tape"));
    *out = (int)t->nkernel;
    t->kernel[t->nkernel++] = *k;
    return STET_OK;
}

stet_result sti_tape_find_kernel(stet_tape *t, const sti_kernel *kernel, int *out)
{
    sti_tape_kernel *k;
    for (*out = 0; *out < t->nkernel; ++*out)
        if (t->kernel[*out]->kernel == kernel->user) return STET_OK;
    STI_TRY(add_kernel(t, &k, out));
    describe(kernel, k);
    return STET_OK;
}

stet_result sti_tape_find_operation(stet_tape *t, const sti_operation *operation, int *out)
{
    sti_tape_kernel *k;
    for (*out = 0; *out < t->nkernel; ++*out)
        if (t->kernel[*out]->operation == operation) return STET_OK;
    STI_TRY(add_kernel(t, &k, out));
    describe_operation(operation, k);
    return STET_OK;
}

static void free_kernel(sti_tape_kernel *k)
{
    for (int i = 0; i < k->nparam; ++i) {
        stet_array_destroy(k->param[i].number);
        k->param[i].number = NULL;
    }
    k->kernel = NULL;
    k->operation = NULL;
    k->adjoint = NULL;
}

/* ---- going ------------------------------------------------------------------------------------------------------- */

void sti_tape_gone(sti_watcher *watcher, const void *thing)
{
    stet_tape *t = (stet_tape *)(void *)((char *)watcher - offsetof(stet_tape, watcher));
    for (int64_t i = 0; i < t->narray; ++i)
        if (t->array[i].array == thing) free_array(&t->array[i]);
    for (int64_t i = 0; i < t->nkernel; ++i)
        if (t->kernel[i]->kernel == thing || t->kernel[i]->operation == thing) free_kernel(t->kernel[i]);
}

static void forget_array(sti_tape_array *a)
{
    /* tape_checkpoints.c reserved the room when it took the copies, so giving them back cannot fail */
    for (int64_t i = a->ncopy; i > 0; --i) a->spare.array[a->spare.n++] = a->copy[i - 1].copy;
    a->ncopy = 0;
    a->touched = a->written = a->dirty = a->behind = a->foreseen = false;
    a->other[0] = '\0';
    a->shares = STI_SHARES_UNKNOWN;
    a->undone = 0;
}

void sti_tape_forget(stet_tape *t)
{
    int64_t n = 0, nkernel = 0;
    for (int64_t i = 0; i < t->narray; ++i) {
        if (!t->array[i].array) continue;
        forget_array(&t->array[i]);
        t->array[n++] = t->array[i];
    }
    t->narray = n;
    place_all(t);
    for (int64_t i = 0; i < t->nkernel; ++i) {
        sti_tape_kernel *k = t->kernel[i];
        k->used = false;
        k->latest = 0;
        if (sti_tape_has(k))
            t->kernel[nkernel++] = k;
        else
            sti_free(k);
    }
    t->nkernel = nkernel;
    t->nop = t->narg = t->ncheck = t->step = t->copied = 0;
    t->stepped = t->complete = t->operates = false;
}

void sti_tape_free_tables(stet_tape *t)
{
    for (int64_t i = 0; i < t->narray; ++i) free_array(&t->array[i]);
    for (int64_t i = 0; i < t->nkernel; ++i) {
        free_kernel(t->kernel[i]);
        sti_free(t->kernel[i]);
    }
    void *all[] = {t->array, t->place, t->kernel, t->op, t->arg, t->check};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) sti_free(all[i]);
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static void validate_array(const stet_tape *t, int64_t i)
{
    const sti_tape_array *a = &t->array[i];
    assert(t->place[place_of(t, a->id)] == i);
    assert(a->touched || !a->written);
    assert(a->ncopy <= a->copy_room && a->spare.n <= a->spare.room);
    assert(!a->written || !a->array || a->ncopy > 0); /* TAPE-2 */
    for (int64_t k = 1; k < a->ncopy; ++k) assert(a->copy[k - 1].step < a->copy[k].step);
    (void)a;
}

void sti_validate_tape(const stet_tape *t)
{
    assert(t->narray <= t->array_room && t->nkernel <= t->kernel_room && t->nop <= t->op_room);
    assert(t->narg <= t->arg_room && t->ncheck <= t->check_room);
    assert(2 * t->narray <= t->nplace && (t->nplace & (t->nplace - 1)) == 0);
    for (int64_t i = 0; i < t->narray; ++i) validate_array(t, i);
    for (int64_t k = 0; k < t->nop; ++k) {
        const sti_tape_op *op = &t->op[k];
        assert(op->kernel >= -1 && op->kernel < t->nkernel && op->arg + op->narg <= t->narg);
        for (int i = 0; i < op->narg; ++i)
            assert(t->arg[op->arg + i].array >= -1 && t->arg[op->arg + i].array < t->narray);
        (void)op;
    }
    for (int64_t k = 1; k < t->ncheck; ++k)
        assert(t->check[k - 1].step < t->check[k].step && t->check[k - 1].op <= t->check[k].op);
    for (int64_t k = 0; k < t->ncheck && t->complete; ++k)
        assert(t->check[k].op <= t->check[k].known && t->check[k].known <= t->nop);
    (void)validate_array, (void)t;
}
