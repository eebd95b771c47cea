/*
 * Groups of a recording: planned, filled, run. fuse.h has the invariants; fuse_runs.c finds what can be fused.
 */
#include "kernel/record/fuse.h"

#include "kernel/gpu/fused.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The most operations of a fused sequence that does not repeat. A longer one is cut. */
enum { ONCE = 32 };

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void sti_groups_free(sti_groups *g)
{
    for (int i = 0; i < g->n; ++i) sti_free(g->group[i].slot);
    sti_free(g->group);
    *g = (sti_groups){0};
}

/* Groups follow each other without gaps. */
static void add_fuse(sti_groups *g, const sti_group *group)
{
    assert(group->end > group->first && group->first == (g->n > 0 ? g->group[g->n - 1].end : 0));
    g->group[g->n++] = *group;
}

/* ---- groups of a GPU --------------------------------------------------------------------------------------------- */

typedef struct planner {
    stet_device *device;
    const sti_list *list;
    const char *what;
    sti_groups *out;
} planner;

static void add_singly(const planner *p, int first, int end)
{
    assert(first <= end && p->out->n + (end - first) <= p->list->nop);
    for (; first < end; ++first) add_fuse(p->out, &(sti_group){.first = first, .end = first + 1});
}

static int slots_of(const sti_op *op) { return op->kind == STI_OP_COPY ? 2 : op->nslot; }

/* Finds the code of operations first … first + unit - 1. */
static stet_result find_code(const planner *p, int first, int unit, int64_t nblock, const sti_code **out)
{
    assert(unit >= 1 && unit <= STI_FUSE_UNIT && first + unit <= p->list->nop);
    sti_phase phase[STI_FUSE_UNIT];
    for (int i = 0; i < unit; ++i) {
        const sti_op *op = &p->list->op[first + i];
        phase[i] = (sti_phase){op->kernel, slots_of(op)};
    }
    return sti_program_fused(p->device, phase, unit, nblock, out);
}

/* FUSE-3. Lack of memory is returned: the recording handles it. */
static stet_result without_code(const planner *p, int first, int unit, stet_result why)
{
    char where[400];
    if (why == STET_ERROR_OUT_OF_MEMORY) return why;
    add_singly(p, first, first + unit);
    (void)snprintf(where, sizeof where, "%s (%s)", p->what, stet_get_last_error());
    return sti_fallback(&p->device->mechanisms, STET_MECHANISM_FUSION, STET_REASON_FUSION_FAILED, where);
}

/* Adds launches of the same code. Each takes as many repetitions as the code allows. */
static stet_result add_launches(const planner *p, const sti_code *code, int first, int unit, int times, int64_t nblock)
{
    while (times > 0) {
        int n = times < code->repeats ? times : code->repeats;
        assert(n > 0 && code->nslot > 0);
        sti_group group = {first, first + n * unit, nblock, true, code, unit, NULL};
        STI_TRY(sti_alloc(&group.slot, (size_t)code->nslot * sizeof *group.slot, "arguments of fused launches"));
        add_fuse(p->out, &group);
        first += n * unit;
        times -= n;
    }
    return STET_OK;
}

/* Adds a sequence that occurs `times` times. A sequence that is too long for one launch is halved. */
static stet_result add_sequence(const planner *p, int first, int unit, int times, int64_t nblock)
{
    const sti_code *code;
    if (unit * times == 1) {
        add_singly(p, first, first + 1);
        return STET_OK;
    }
    stet_result result = find_code(p, first, unit, nblock, &code);
    if (result == STET_OK) return add_launches(p, code, first, unit, times, nblock);
    if (result != STET_ERROR_LIMIT || unit == 1) return without_code(p, first, unit * times, result);
    for (int k = 0; k < times; ++k) {
        STI_TRY(add_sequence(p, first + k * unit, unit / 2, 1, nblock));
        STI_TRY(add_sequence(p, first + k * unit + unit / 2, unit - unit / 2, 1, nblock));
    }
    return STET_OK;
}

static stet_result add_run_of_gpu(const planner *p, int first, int end, int64_t nblock)
{
    int unit, times;
    for (; first < end; first += unit * times) {
        sti_fuse_period(p->list, first, end, &unit, &times);
        if (times == 1 && unit > ONCE) unit = ONCE;
        STI_TRY(add_sequence(p, first, unit, times, nblock));
    }
    return STET_OK;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static stet_result add_run(const planner *p, int first, int end, bool together)
{
    int64_t nblock;
    if (!together || !p->out->enabled) {
        add_singly(p, first, end);
        return STET_OK;
    }
    (void)sti_fuse_is_possible(p->device, p->list, first, &nblock);
    if (p->device->can.compiles) return add_run_of_gpu(p, first, end, nblock);
    add_fuse(p->out, &(sti_group){.first = first, .end = end, .nblock = nblock, .fused = true});
    return STET_OK;
}

static void count_run(const planner *p, int length, sti_stretch run)
{
    sti_mechanisms *m = &p->device->mechanisms;
    if (run.together)
        sti_count_miss(m, STET_MECHANISM_FUSION,
                       p->out->enabled ? STET_REASON_FUSION_PLANNED : STET_REASON_FUSION_DISABLED,
                       p->out->enabled ? 0 : length, 0);
    if (run.cut && p->out->enabled) sti_count_miss(m, STET_MECHANISM_FUSION, STET_REASON_FUSION_CUT, 0, 0);
}

static stet_result add_all(const planner *p)
{
    sti_stretch run;
    for (int first = 0, end; first < p->list->nop; first = end) {
        end = sti_fuse_run_end(p->device, p->list, first, &run);
        count_run(p, end - first, run);
        STI_TRY(add_run(p, first, end, run.together));
        assert(end > first && p->out->n > 0 && p->out->group[p->out->n - 1].end == end &&
               "each operation is in a group");
    }
    return STET_OK;
}

/*
 * True if the device can run fused groups. A null device runs nothing, and a CPU device can only fuse in its own
 * memory.
 */
static bool can_fuse(const stet_device *device)
{
    return device->type == STET_DEVICE_CPU ? device->can.host_memory : device->can.compiles;
}

stet_result sti_groups_apart(const sti_list *list, sti_groups *out)
{
    STI_TRY(sti_alloc(&out->group, (size_t)list->nop * sizeof *out->group, "groups of a list"));
    add_singly(&(planner){.list = list, .out = out}, 0, list->nop);
    return STET_OK;
}

stet_result sti_groups_plan(stet_device *device, const sti_list *list, const char *what, sti_groups *out)
{
    const planner p = {device, list, what, out};
    out->enabled = sti_enabled(&device->mechanisms, STET_MECHANISM_FUSION);
    if (!can_fuse(device)) return sti_groups_apart(list, out);
    STI_TRY(sti_alloc(&out->group, (size_t)list->nop * sizeof *out->group, "groups of a recording"));
    stet_result result = add_all(&p);
    if (result != STET_OK) sti_groups_free(out);
    return result;
}

int sti_group_of(const sti_groups *g, int op)
{
    int low = 0, high = g->n - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (g->group[middle].first <= op)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

const sti_group *sti_group_at(const sti_groups *g, int op)
{
    const sti_group *group = g->n > 0 ? &g->group[sti_group_of(g, op)] : NULL;
    return group && group->first == op ? group : NULL;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

void sti_group_fill(const sti_group *group, const sti_list *list)
{
    sti_slot *to = group->slot;
    assert(group->fused && group->code && (group->end - group->first) % group->unit == 0);
    *to++ = (sti_slot){.i = (group->end - group->first) / group->unit};
    for (int i = group->first; i < group->end; ++i) {
        const sti_op *op = &list->op[i];
        const sti_use *use = list->use + op->use;
        if (op->kind == STI_OP_COPY) {
            *to++ = (sti_slot){.p = use[0].array->data, .n = sti_block_bytes(use[0].array)};
            *to++ = (sti_slot){.p = use[1].array->data, .n = sti_block_bytes(use[1].array)};
        } else {
            memcpy(to, list->slot + op->slot, (size_t)op->nslot * sizeof *to);
            to += op->nslot;
        }
    }
    assert(to <= group->slot + group->code->nslot && "the arguments have the room that the code takes");
}

typedef struct sharing {
    const sti_group *group;
    const sti_list *list;
    sti_isa isa;
} sharing;

/* Runs all operations of a group for one block of worlds. */
static void run_block(const sharing *s, int64_t block)
{
    for (int i = s->group->first; i < s->group->end; ++i) {
        const sti_op *op = &s->list->op[i];
        if (op->kind == STI_OP_LAUNCH) {
            op->kernel->call[s->isa](s->list->slot + op->slot, block, block + 1);
            continue;
        }
        const sti_use *use = s->list->use + op->use;
        int64_t size = sti_block_bytes(use[0].array);
        assert(size == sti_block_bytes(use[1].array) && block < use[0].array->nblock && "FUSE-2");
        memcpy((char *)use[0].array->data + block * size, (const char *)use[1].array->data + block * size,
               (size_t)size);
    }
}

/* The kernel function of a fused group on a CPU. Its only slot points to the group. */
static void run_blocks(const sti_slot *slots, int64_t begin, int64_t end)
{
    for (int64_t block = begin; block < end; ++block) run_block(slots->p, block);
}

static stet_result run_on_cpu(stet_device *device, const sti_group *group, const sti_list *list)
{
    assert(device->type == STET_DEVICE_CPU && group->fused && group->nblock > 0);
    sharing s = {group, list, device->isa};
    const sti_slot slot = {.p = &s};
    const sti_code code = {.name = "fused launches", .call = run_blocks, .worlds = true};
    return device->ops->launch(device, &code, &slot, 1, group->nblock, false);
}

stet_result sti_group_run(stet_device *device, const sti_group *group, const sti_list *list)
{
    if (!group->code) return run_on_cpu(device, group, list);
    sti_group_fill(group, list);
    return device->ops->launch(device, group->code, group->slot, group->code->nslot, group->nblock, false);
}
