/*
 * For tests of graphs: a few arrays on a device and their copies on the host, lists of operations on them, and what
 * such a list does, done on the host one operation after the other.
 */
#ifndef TEST_DEVICE_GPU_GRAPH_H
#define TEST_DEVICE_GPU_GRAPH_H

#include "device/gpu/gpu_real.h"

enum { ARRAYS = 5, ITEMS = 9, OPS = 64, SLOTS = 3 };

/*
 * k_mix (items): out[i] = 3 · out[i] + in[i] + k, for i below the number of blocks; no two of them can change places
 * unnoticed. It waits by itself for what comes before it, k_less does not.
 * k_less: out[0] is less by the number of blocks, but not below 0. `foreign`: out[i] = 2 · in[i] + k.
 */
static const char *const graph_kernels =
    "typedef long long i64;\n"
    "struct sti_slot { union { void *p; i64 i; double f; }; i64 n; };\n"
    "struct three { sti_slot s[3]; };\n"
    "__device__ static void mix(const sti_slot *s, i64 n)\n"
    "{\n"
    "    i64 i = blockIdx.x;\n"
    "    if (i >= n || threadIdx.x != 0) return;\n"
    "    unsigned *out = (unsigned *)s[0].p;\n"
    "    out[i] = 3 * out[i] + ((const unsigned *)s[1].p)[i] + (unsigned)s[2].i;\n"
    "}\n"
    "#if !defined(sti_wait_for_others)\n"
    "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n"
    "#define sti_wait_for_others() asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")\n"
    "#else\n"
    "#define sti_wait_for_others() ((void)0)\n"
    "#endif\n"
    "#endif\n"
    "extern \"C\" __global__ void mix_value(three b, i64 n)\n"
    "{\n"
    "    sti_wait_for_others();\n"
    "    mix(b.s, n);\n"
    "}\n"
    "extern \"C\" __global__ void less_value(three b, i64 n)\n"
    "{\n"
    "    unsigned *out = (unsigned *)b.s[0].p;\n"
    "    if (blockIdx.x == 0 && threadIdx.x == 0 && n > 0) out[0] = out[0] > n ? out[0] - (unsigned)n : 0;\n"
    "}\n"
    "extern \"C\" __global__ void foreign(three b, i64 n)\n"
    "{\n"
    "    i64 i = blockIdx.x;\n"
    "    if (i < n) ((unsigned *)b.s[0].p)[i] = 2 * ((const unsigned *)b.s[1].p)[i] + (unsigned)b.s[2].i;\n"
    "}\n";

typedef struct rig {
    stet_device *device;
    char *code, *condition_code;
    void *module, *condition_module, *foreign;
    sti_code mix, less, condition;
    bool use_condition;
    unsigned *array[ARRAYS];
    unsigned host[ARRAYS][ITEMS];
} rig;

/* What was made before it failed is rig_let_go's. */
static inline stet_result rig_fill(rig *r, stet_device *device)
{
    size_t size;
    *r = (rig){.device = device, .use_condition = !o.hip};
    const sti_device_ops *ops = device->ops;
    r->code = compile(graph_kernels, &size);
    STI_TRY(ops->load(device, r->code, size, "kernels of graphs", &r->module));
    r->mix = (sti_code){.name = "mix", .team = 4, .teams = 1, .waits = strncmp(device->arch, "sm_9", 4) == 0};
    r->less = (sti_code){.name = "less", .team = 2, .teams = 1};
    r->condition = (sti_code){.name = "condition", .team = 1, .teams = 1};
    STI_TRY(ops->function(device, r->module, "mix_value", &r->mix.value));
    STI_TRY(ops->function(device, r->module, "less_value", &r->less.value));
    STI_TRY(ops->function(device, r->module, "foreign", &r->foreign));
    if (!o.hip) {
        r->condition_code = compile(sti_graph_condition_source, &size);
        STI_TRY(ops->load(device, r->condition_code, size, "the condition of loops", &r->condition_module));
        STI_TRY(ops->function(device, r->condition_module, sti_graph_condition_name, &r->condition.block));
    }
    for (int a = 0; a < ARRAYS; ++a) {
        STI_TRY(ops->alloc(device, sizeof *r->host, "an array", (void **)&r->array[a]));
        for (int i = 0; i < ITEMS; ++i) r->host[a][i] = (unsigned)(10 * a + i + 1);
        STI_TRY(ops->upload(device, r->array[a], r->host[a], sizeof *r->host));
    }
    return STET_OK;
}

static inline void rig_open(rig *r) { OK(rig_fill(r, open_gpu())); }

/* What is the host's alone. */
static inline void rig_drop(rig *r)
{
    free(r->code);
    free(r->condition_code);
}

static inline void rig_let_go(rig *r)
{
    const sti_device_ops *ops = r->device->ops;
    for (int a = 0; a < ARRAYS; ++a) ops->free(r->device, r->array[a]);
    ops->unload(r->device, r->condition_module);
    ops->unload(r->device, r->module);
    rig_drop(r);
}

static inline void rig_close(rig *r)
{
    rig_let_go(r);
    assert_int_equal(o.control->alive().graphs, 0);
    close_gpu(r->device);
}

static inline void rig_set(rig *r, int a, unsigned value)
{
    r->host[a][0] = value;
    OK(r->device->ops->upload(r->device, r->array[a], &value, sizeof value));
}

static inline void rig_compare(const rig *r)
{
    for (int a = 0; a < ARRAYS; ++a) {
        unsigned back[ITEMS];
        OK(r->device->ops->download(r->device, back, r->array[a], sizeof back));
        for (int i = 0; i < ITEMS; ++i)
            if (back[i] != r->host[a][i]) fail_msg("array %d has %u at %d, not %u", a, back[i], i, r->host[a][i]);
    }
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

typedef struct op {
    sti_graph_kind kind;
    const char *name;
    bool less; /* LAUNCH: k_less, else k_mix */
    int to, from, k;
    int64_t number; /* of blocks, of items, of trips */
    int parent, match;
    unsigned reads, writes; /* arrays; of a loop also those of all that is in it */
    stet_foreign_fn *work;
    void *context;
} op;

typedef struct list {
    op op[OPS];
    int nop;
    int64_t trips; /* of the loop that ran last */
    uint64_t random;
} list;

static inline int list_add(list *l, op added)
{
    assert_true(l->nop < OPS);
    for (int loop = added.parent; loop >= 0; loop = l->op[loop].parent) {
        l->op[loop].reads |= added.reads;
        l->op[loop].writes |= added.writes;
    }
    l->op[l->nop] = added;
    return l->nop++;
}

static inline int list_mix(list *l, int parent, int to, int from, int k, int64_t number)
{
    return list_add(l, (op){.kind = STI_GRAPH_LAUNCH,
                            .name = "mix",
                            .to = to,
                            .from = from,
                            .k = k,
                            .number = number,
                            .parent = parent,
                            .reads = 1u << to | 1u << from,
                            .writes = 1u << to});
}

static inline int list_less(list *l, int parent, int to)
{
    return list_add(l, (op){.kind = STI_GRAPH_LAUNCH,
                            .name = "less",
                            .less = true,
                            .to = to,
                            .from = to,
                            .number = 1,
                            .parent = parent,
                            .reads = 1u << to,
                            .writes = 1u << to});
}

static inline int list_copy(list *l, int parent, int to, int from)
{
    return list_add(l, (op){.kind = STI_GRAPH_COPY,
                            .name = "copy",
                            .to = to,
                            .from = from,
                            .number = ITEMS,
                            .parent = parent,
                            .reads = 1u << from,
                            .writes = 1u << to});
}

/* While the first item of array `condition` is not 0. */
static inline int list_while(list *l, int parent, int condition, int64_t most)
{
    return list_add(l, (op){.kind = STI_GRAPH_WHILE,
                            .name = "while",
                            .from = condition,
                            .number = most,
                            .parent = parent,
                            .reads = 1u << condition});
}

static inline void list_end(list *l, int loop)
{
    int end = list_add(l, (op){.kind = STI_GRAPH_END, .name = "end", .parent = l->op[loop].parent, .match = loop});
    l->op[loop].match = end;
}

/* Reads array 1, writes array 2. */
static inline int list_foreign(list *l, stet_foreign_fn *work, void *context)
{
    return list_add(l, (op){.kind = STI_GRAPH_FOREIGN,
                            .name = "foreign",
                            .parent = -1,
                            .reads = 1u << 1,
                            .writes = 1u << 2,
                            .work = work,
                            .context = context});
}

static inline void op_slots(const rig *r, const op *p, sti_slot *slots)
{
    memset(slots, 0, SLOTS * sizeof *slots);
    slots[0].p = r->array[p->to];
    slots[1].p = r->array[p->from];
    slots[2].i = p->k;
}

/* The graph's operation becomes the list's. */
static inline stet_result list_set(const rig *r, const list *l, void *graph, int i)
{
    sti_slot slots[SLOTS];
    op_slots(r, &l->op[i], slots);
    return r->device->ops->graph_set(r->device, graph, i, slots, SLOTS, l->op[i].number);
}

/* Every pair that touches the same array, in the order of where edges lead. */
static inline int list_edges(const list *l, sti_edge *edge)
{
    int n = 0;
    for (int b = 0; b < l->nop; ++b)
        for (int a = 0; a < b; ++a) {
            const op *x = &l->op[a], *y = &l->op[b];
            bool conflict = (x->writes & (y->reads | y->writes)) | (y->writes & x->reads);
            if (x->parent != y->parent || x->kind == STI_GRAPH_END || y->kind == STI_GRAPH_END || !conflict) continue;
            edge[n++] = (sti_edge){a, b};
        }
    return n;
}

static inline stet_result list_graph(rig *r, const list *l, void **graph)
{
    sti_graph_op ops[OPS];
    sti_slot slots[OPS][SLOTS];
    sti_edge edge[OPS * OPS];
    for (int i = 0; i < l->nop; ++i) {
        const op *p = &l->op[i];
        ops[i] = (sti_graph_op){.kind = p->kind, .name = p->name, .match = p->match};
        if (p->kind == STI_GRAPH_LAUNCH) {
            ops[i].code = p->less ? &r->less : &r->mix;
            op_slots(r, p, slots[i]);
            ops[i].slots = slots[i];
            ops[i].nslot = SLOTS;
            ops[i].nblock = p->number;
        } else if (p->kind == STI_GRAPH_COPY) {
            ops[i].to = r->array[p->to];
            ops[i].from = r->array[p->from];
            ops[i].size = (size_t)p->number * sizeof(int);
        } else if (p->kind == STI_GRAPH_WHILE) {
            ops[i].code = r->use_condition ? &r->condition : NULL;
            ops[i].condition = (const int32_t *)r->array[p->from];
            ops[i].most = p->number;
        } else {
            ops[i].work = p->work;
            ops[i].context = p->context;
        }
    }
    int nedge = list_edges(l, edge);
    return r->device->ops->graph_make(r->device, ops, l->nop, edge, nedge, "a test", graph);
}

/* ---- the same on the host ---------------------------------------------------------------------------------------- */

static inline void list_run_one(rig *r, const list *l, int i)
{
    const op *p = &l->op[i];
    unsigned *to = r->host[p->to];
    const unsigned *from = r->host[p->from];
    if (p->kind == STI_GRAPH_COPY) memmove(to, from, (size_t)p->number * sizeof *to);
    if (p->kind != STI_GRAPH_LAUNCH) return;
    for (int64_t k = 0; k < p->number && p->less; ++k) to[0] -= to[0] > 0;
    for (int64_t k = 0; k < p->number && !p->less; ++k) to[k] = 3 * to[k] + from[k] + (unsigned)p->k;
}

static inline void list_run_from(rig *r, list *l, int begin, int end)
{
    for (int i = begin; i < end; ++i) {
        const op *p = &l->op[i];
        if (p->kind != STI_GRAPH_WHILE) {
            list_run_one(r, l, i);
            continue;
        }
        int64_t trips = 0;
        for (; trips < p->number && r->host[p->from][0] != 0; ++trips) list_run_from(r, l, i + 1, p->match);
        l->trips = trips;
        i = p->match;
    }
}

static inline void list_run(rig *r, list *l) { list_run_from(r, l, 0, l->nop); }

/* ---- lists by chance --------------------------------------------------------------------------------------------- */

static inline unsigned list_below(list *l, unsigned n)
{
    l->random = l->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(l->random >> 33) % n;
}

static inline int list_some(list *l, int parent)
{
    int to = (int)list_below(l, ARRAYS), from = (int)list_below(l, ARRAYS);
    switch (list_below(l, 4)) {
    case 0: return list_copy(l, parent, to, from == to ? (to + 1) % ARRAYS : from);
    case 1: return list_less(l, parent, to);
    default: return list_mix(l, parent, to, from, (int)list_below(l, 100), (int64_t)list_below(l, ITEMS + 1));
    }
}

/* Some operations; with loops also some of those, in each other. */
static inline void list_fill_in(list *l, int parent, int depth)
{
    int n = 1 + (int)list_below(l, 5);
    for (int i = 0; i < n; ++i) {
        if (depth < 2 && list_below(l, 4) == 0) {
            int loop = list_while(l, parent, (int)list_below(l, ARRAYS), 1 + (int64_t)list_below(l, 3));
            list_fill_in(l, loop, depth + 1);
            list_end(l, loop);
        } else {
            (void)list_some(l, parent);
        }
        if (l->nop > OPS / 2) return;
    }
}

static inline void list_fill(list *l, bool loops)
{
    while (l->nop < 8) list_fill_in(l, -1, loops ? 0 : 2);
}

/* One of a list is issued at once, its arguments by value. */
static inline void list_issue(rig *r, const list *l, int i)
{
    const op *p = &l->op[i];
    const sti_device_ops *ops = r->device->ops;
    const sti_slot slots[SLOTS] = {{.p = r->array[p->to]}, {.p = r->array[p->from]}, {.i = p->k}};
    assert_true(p->kind == STI_GRAPH_COPY || (p->kind == STI_GRAPH_LAUNCH && !p->less));
    if (p->kind == STI_GRAPH_COPY)
        OK(ops->copy(r->device, r->array[p->to], r->array[p->from], (size_t)p->number * sizeof(int)));
    else
        OK(ops->launch(r->device, &r->mix, slots, SLOTS, p->number, false));
}

/* Some launch or copy, issued and done on the host. */
static inline void rig_step(rig *r, list *l)
{
    int to = (int)list_below(l, ARRAYS), from = (to + 1 + (int)list_below(l, ARRAYS - 1)) % ARRAYS;
    l->nop = 0;
    if (list_below(l, 4) == 0)
        (void)list_copy(l, -1, to, from);
    else
        (void)list_mix(l, -1, to, from, (int)list_below(l, 100), (int64_t)list_below(l, ITEMS + 1));
    list_issue(r, l, 0);
    list_run_one(r, l, 0);
}

/* Other numbers for some of the operations, in the list and in its graph. */
static inline void list_change(const rig *r, list *l, void *graph)
{
    for (int i = 0; i < l->nop; ++i) {
        op *p = &l->op[i];
        bool loop = p->kind == STI_GRAPH_WHILE;
        if ((!loop && p->kind != STI_GRAPH_LAUNCH) || list_below(l, 2)) continue;
        p->number = (int64_t)list_below(l, loop ? 4 : p->less ? 3 : ITEMS + 1);
        OK(list_set(r, l, graph, i));
    }
}

#endif
