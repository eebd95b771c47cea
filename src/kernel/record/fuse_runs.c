/*
 * Finds which operations of a list can run world by world, and which sequences repeat. See fuse.h. Nothing here depends
 * on scalar arguments.
 */
#include "kernel/record/fuse.h"

#include "kernel/gpu/fused.h"

#include <assert.h>

/* The most arrays that one run may touch; the least operations that a repeated sequence must cover to be worth it. */
enum { TOUCHED = 256, WORTH = 8 };

/* ---- one operation ----------------------------------------------------------------------------------------------- */

static bool may_copy(const sti_list *l, const sti_op *op, int64_t *nblock)
{
    const stet_array *to = l->use[op->use].array, *from = l->use[op->use + 1].array;
    *nblock = to->nblock;
    return to->worlds && from->worlds && to->nblock == from->nblock && !sti_memory_overlaps(to, from) && to->size > 0 &&
           sti_block_bytes(to) % (int64_t)sizeof(uint32_t) == 0;
}

/* True if the operation uses an array of worlds, which gives the number of worlds (FUSE-2). */
static bool has_worlds(const sti_list *l, const sti_op *op)
{
    for (int i = op->use; i < op->use + op->nuse; ++i)
        if (l->use[i].array->worlds) return true;
    return false;
}

bool sti_fuse_is_possible(stet_device *device, const sti_list *l, int i, int64_t *nblock)
{
    const sti_op *op = &l->op[i];
    if (op->kind == STI_OP_COPY) return may_copy(l, op, nblock);
    if (op->kind != STI_OP_LAUNCH || op->kernel->kind != STI_KERNEL_WORLD) return false;
    if (op->kernel->team_slots) return false; /* its memory is handed out by the device's launch */
    if (op->kernel->checked) return false;    /* a fused kernel has no place for its fault record */
    *nblock = op->nblock;
    if (!has_worlds(l, op)) return false;
    return device->can.compiles ? sti_program_can_fuse(device, op->kernel) : op->kernel->call[device->isa] != NULL;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct touched {
    sti_use use[TOUCHED];
    int n;
} touched;

/* FUSE-1 for two uses by different operations. */
static bool keeps_worlds_apart(const sti_use *a, const sti_use *b)
{
    if (!a->written && !b->written) return true;
    if (a->array == b->array) return a->array->worlds || a->array->by_world;
    if (!sti_memory_overlaps(a->array, b->array)) return true;
    return a->array->worlds && b->array->worlds && a->array->data == b->array->data &&
           sti_block_bytes(a->array) == sti_block_bytes(b->array);
}

static bool op_keeps_worlds_apart(const touched *t, const sti_list *l, const sti_op *op)
{
    for (int i = op->use; i < op->use + op->nuse; ++i)
        for (int k = 0; k < t->n; ++k)
            if (!keeps_worlds_apart(&t->use[k], &l->use[i])) return false;
    return true;
}

static bool touch(touched *t, const sti_use *use)
{
    for (int k = 0; k < t->n; ++k)
        if (t->use[k].array == use->array) {
            t->use[k].written |= use->written;
            return true;
        }
    if (t->n == TOUCHED) return false;
    t->use[t->n++] = *use;
    return true;
}

static bool touch_all(touched *t, const sti_list *l, const sti_op *op)
{
    for (int i = op->use; i < op->use + op->nuse; ++i)
        if (!touch(t, &l->use[i])) return false;
    return true;
}

/* True if the operation depends on the run: both touch memory, and one of them writes it. */
static bool depends_on_run(const touched *t, const sti_list *l, const sti_op *op)
{
    for (int i = op->use; i < op->use + op->nuse; ++i)
        for (int k = 0; k < t->n; ++k)
            if ((t->use[k].written || l->use[i].written) && sti_memory_overlaps(t->use[k].array, l->use[i].array))
                return true;
    return false;
}

/* FUSE-4. On a CPU launches run one after the other anyway. */
static bool worth_it(const stet_device *device, int launches, int following)
{
    return launches > 1 && (!device->can.queues || 2 * following >= launches);
}

int sti_fuse_run_end(stet_device *device, const sti_list *l, int first, sti_stretch *run)
{
    touched t = {.n = 0};
    int64_t nblock, other;
    int end = first, launches = 0, following = 0;
    *run = (sti_stretch){false, false};
    if (!sti_fuse_is_possible(device, l, first, &nblock)) return first + 1;
    for (; end < l->nop; ++end) {
        const sti_op *op = &l->op[end];
        if (op->parent != l->op[first].parent || !sti_fuse_is_possible(device, l, end, &other)) break;
        bool after = depends_on_run(&t, l, op);
        run->cut = other != nblock || !op_keeps_worlds_apart(&t, l, op) || !touch_all(&t, l, op);
        if (run->cut) break;
        launches += op->kind == STI_OP_LAUNCH;
        following += op->kind == STI_OP_LAUNCH && after;
    }
    /* Copies at the end may overlap with operations that come next. */
    while (end > first + 1 && l->op[end - 1].kind == STI_OP_COPY) --end;
    assert(following <= launches && end <= l->nop);
    run->together = worth_it(device, launches, following);
    return end > first ? end : first + 1;
}

/* ---- what comes again -------------------------------------------------------------------------------------------- */

static bool alike(const sti_op *a, const sti_op *b) { return a->kind == b->kind && a->kernel == b->kernel; }

static int count_times(const sti_list *l, int first, int end, int unit)
{
    int at = first + unit;
    while (at < end && alike(&l->op[at], &l->op[at - unit])) ++at;
    return (at - first) / unit;
}

/* Finds the sequence that begins at `first` and whose repetitions cover most operations. */
static void find_period(const sti_list *l, int first, int end, int *unit, int *times)
{
    int covered = 0;
    *unit = *times = 1;
    for (int length = 1; length <= STI_FUSE_UNIT && first + 2 * length <= end; ++length) {
        int n = count_times(l, first, end, length);
        assert(first + n * length <= end);
        if (n < 2 || n * length < WORTH || n * length <= covered) continue;
        covered = n * length;
        *unit = length;
        *times = n;
    }
}

void sti_fuse_period(const sti_list *l, int first, int end, int *unit, int *times)
{
    find_period(l, first, end, unit, times);
    if (*times > 1) return;
    int next = first + 1, ignored, again = 1;
    for (; next < end && next < first + STI_FUSE_UNIT; ++next) {
        find_period(l, next, end, &ignored, &again);
        if (again > 1) break;
    }
    *unit = next - first;
}
