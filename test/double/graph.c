/*
 * Graphs over host memory. Invariants: graph.h.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* In an executable graph, children are laid out flat: nodes know each other by number. */
struct dd_node {
    dd_graph *graph;
    dd_work work;
    dd_graph *child; /* a copy that the node owns; its work is NOTHING then */
    dd_nodes after;
};

struct dd_graph {
    dd_graph *next;
    bool listed; /* a handle of the caller's; not a node's own copy */
    dd_nodes nodes;
};

typedef struct step {
    dd_work work;
    const dd_node *from; /* only to be compared, never looked into */
    int *after;
    int nafter;
    bool done;
} step;

struct dd_exec {
    dd_exec *next;
    step *step;
    int n, capacity;
};

static dd_graph *graphs;
static dd_exec *execs;

/* ---- lists of nodes ------------------------------------------------------------------------------------------------- */

int dd_nodes_add(dd_nodes *nodes, dd_node *node)
{
    for (int i = 0; i < nodes->n; ++i)
        if (nodes->at[i] == node) return DD_OK;
    if (nodes->n == nodes->capacity) {
        int capacity = nodes->capacity ? 2 * nodes->capacity : 8;
        dd_node **more = realloc(nodes->at, (size_t)capacity * sizeof *more);
        if (!more) return DD_OUT_OF_MEMORY;
        nodes->at = more;
        nodes->capacity = capacity;
    }
    nodes->at[nodes->n++] = node;
    return DD_OK;
}

int dd_nodes_join(dd_nodes *nodes, const dd_nodes *more)
{
    int result = DD_OK;
    for (int i = 0; i < more->n && !result; ++i) result = dd_nodes_add(nodes, more->at[i]);
    return result;
}

void dd_nodes_clear(dd_nodes *nodes)
{
    free(nodes->at);
    *nodes = (dd_nodes){0};
}

static int number_of(const dd_nodes *nodes, const dd_node *node)
{
    for (int i = 0; i < nodes->n; ++i)
        if (nodes->at[i] == node) return i;
    return -1;
}

bool dd_node_comes_after(const dd_node *node, const dd_node *other)
{
    if (node == other) return true;
    for (int i = 0; i < node->after.n; ++i)
        if (dd_node_comes_after(node->after.at[i], other)) return true;
    return false;
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

static dd_graph *new_graph(bool listed)
{
    dd_graph *g = calloc(1, sizeof *g);
    if (!g || !listed) return g;
    *g = (dd_graph){.next = graphs, .listed = true};
    graphs = g;
    dd.alive.graphs++;
    return g;
}

int dd_graph_make(dd_graph **out)
{
    *out = new_graph(true);
    return *out ? DD_OK : DD_OUT_OF_MEMORY;
}

static void free_graph(dd_graph *graph)
{
    for (int i = 0; i < graph->nodes.n; ++i) {
        dd_node *node = graph->nodes.at[i];
        dd_work_drop(&node->work);
        if (node->child) free_graph(node->child);
        dd_nodes_clear(&node->after);
        free(node);
    }
    dd_nodes_clear(&graph->nodes);
    free(graph);
}

bool dd_graph_is_alive(const dd_graph *graph)
{
    const dd_graph *g = graphs;
    while (g && g != graph) g = g->next;
    return g;
}

int dd_graph_end(dd_graph *graph)
{
    if (!dd_graph_is_alive(graph)) return DD_INVALID_HANDLE;
    dd_graph **at = &graphs;
    while (*at != graph) at = &(*at)->next;
    *at = graph->next;
    free_graph(graph);
    dd.alive.graphs--;
    return DD_OK;
}

int dd_graph_add(dd_graph *graph, dd_node *const *after, size_t nafter, dd_work *work, dd_node **out)
{
    int result = DD_OK;
    dd_node *node = calloc(1, sizeof *node);
    if (!node) result = DD_OUT_OF_MEMORY;
    for (size_t i = 0; i < nafter && !result; ++i)
        result = number_of(&graph->nodes, after[i]) < 0 ? DD_INVALID_VALUE : dd_nodes_add(&node->after, after[i]);
    if (!result) result = dd_nodes_add(&graph->nodes, node);
    if (result) {
        if (node) dd_nodes_clear(&node->after);
        free(node);
        dd_work_drop(work);
        return result;
    }
    node->graph = graph;
    node->work = *work;
    *out = node;
    return DD_OK;
}

static int copy_graph(const dd_graph *from, dd_graph **out)
{
    dd_graph *copy = *out = new_graph(false);
    int result = copy ? DD_OK : DD_OUT_OF_MEMORY;
    for (int i = 0; i < from->nodes.n && !result; ++i) {
        const dd_node *node = from->nodes.at[i];
        dd_nodes after = {0};
        dd_node *made;
        dd_work work = {0};
        for (int k = 0; k < node->after.n && !result; ++k)
            result = dd_nodes_add(&after, copy->nodes.at[number_of(&from->nodes, node->after.at[k])]);
        if (!result) result = dd_work_same(&node->work, &work);
        if (!result) result = dd_graph_add(copy, after.at, (size_t)after.n, &work, &made);
        if (!result && node->child) result = copy_graph(node->child, &made->child);
        dd_nodes_clear(&after);
    }
    if (result && copy) free_graph(copy);
    return result;
}

int dd_graph_add_child(dd_graph *graph, dd_node *const *after, size_t nafter, const dd_graph *child, dd_node **out)
{
    dd_graph *copy;
    int result = copy_graph(child, &copy);
    if (result) return result;
    result = dd_graph_add(graph, after, nafter, &(dd_work){0}, out);
    if (result)
        free_graph(copy);
    else
        (*out)->child = copy;
    return result;
}

/* ---- executable graphs -------------------------------------------------------------------------------------------------- */

static int add_step(dd_exec *exec, const dd_work *work, const dd_node *from, const int *after, int nafter, int *out)
{
    if (exec->n == exec->capacity) {
        int capacity = exec->capacity ? 2 * exec->capacity : 16;
        step *more = realloc(exec->step, (size_t)capacity * sizeof *more);
        if (!more) return DD_OUT_OF_MEMORY;
        exec->step = more;
        exec->capacity = capacity;
    }
    step s = {.from = from, .nafter = nafter, .after = malloc(((size_t)nafter + 1) * sizeof(int))};
    int result = s.after ? dd_work_same(work, &s.work) : DD_OUT_OF_MEMORY;
    if (result) {
        free(s.after);
        return result;
    }
    if (nafter > 0) memcpy(s.after, after, (size_t)nafter * sizeof(int));
    *out = exec->n;
    exec->step[exec->n++] = s;
    return DD_OK;
}

/* A child's nodes come after a step that comes after what the child does; a last step comes after all of them. */
static int flatten(dd_exec *exec, const dd_graph *graph, const int *outer, int nouter, int *out)
{
    int n = graph->nodes.n, result = DD_OK, nall = 0;
    int *last = calloc((size_t)n + 1, sizeof *last), *after = calloc((size_t)(n + nouter + 1), sizeof *after);
    if (!last || !after) result = DD_OUT_OF_MEMORY;
    for (int i = 0; i < n && !result; ++i) {
        const dd_node *node = graph->nodes.at[i];
        int m = 0;
        for (int k = 0; k < nouter; ++k) after[m++] = outer[k];
        for (int k = 0; k < node->after.n; ++k) after[m++] = last[number_of(&graph->nodes, node->after.at[k])];
        result = add_step(exec, &node->work, node, after, m, &last[i]);
        if (!result && node->child) {
            int entry = last[i];
            result = flatten(exec, node->child, &entry, 1, &last[i]);
        }
    }
    for (int i = 0; i < n && !result; ++i) after[nall++] = last[i];
    for (int k = 0; k < nouter && !result; ++k) after[nall++] = outer[k];
    if (!result) result = add_step(exec, &(dd_work){0}, NULL, after, nall, out);
    free(last);
    free(after);
    return result;
}

void dd_exec_free(dd_exec *exec)
{
    for (int i = 0; i < exec->n; ++i) {
        dd_work_drop(&exec->step[i].work);
        free(exec->step[i].after);
    }
    free(exec->step);
    free(exec);
}

static int build(const dd_graph *graph, dd_exec **out)
{
    int last;
    dd_exec *e = calloc(1, sizeof *e);
    int result = e ? flatten(e, graph, NULL, 0, &last) : DD_OUT_OF_MEMORY;
    if (result && e) dd_exec_free(e);
    if (!result) *out = e;
    return result;
}

int dd_exec_make(const dd_graph *graph, dd_exec **out)
{
    int result = build(graph, out);
    if (result) return result;
    (*out)->next = execs;
    execs = *out;
    dd.alive.graphs++;
    return DD_OK;
}

bool dd_exec_is_alive(const dd_exec *exec)
{
    const dd_exec *e = execs;
    while (e && e != exec) e = e->next;
    return e;
}

int dd_exec_end(dd_exec *exec)
{
    if (!dd_exec_is_alive(exec)) return DD_INVALID_HANDLE;
    dd_exec **at = &execs;
    while (*at != exec) at = &(*at)->next;
    *at = exec->next;
    dd_exec_free(exec);
    dd.alive.graphs--;
    return DD_OK;
}

int dd_exec_copy(const dd_exec *exec, dd_exec **out)
{
    int ignored, result = DD_OK;
    dd_exec *copy = *out = calloc(1, sizeof *copy);
    if (!copy) return DD_OUT_OF_MEMORY;
    for (int i = 0; i < exec->n && !result; ++i) {
        const step *s = &exec->step[i];
        result = add_step(copy, &s->work, s->from, s->after, s->nafter, &ignored);
    }
    if (result) dd_exec_free(copy);
    return result;
}

static bool same_shape(const dd_exec *a, const dd_exec *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; ++i) {
        const step *x = &a->step[i], *y = &b->step[i];
        same = x->work.kind == y->work.kind && x->nafter == y->nafter &&
               (x->nafter == 0 || memcmp(x->after, y->after, (size_t)x->nafter * sizeof *x->after) == 0);
    }
    return same;
}

int dd_exec_update(dd_exec *exec, const dd_graph *graph)
{
    dd_exec *made;
    int result = build(graph, &made);
    if (result) return result;
    if (!same_shape(exec, made)) result = DD_INVALID_VALUE;
    for (int i = 0; i < exec->n && !result; ++i) {
        dd_work work = exec->step[i].work;
        exec->step[i].work = made->step[i].work;
        made->step[i].work = work;
    }
    dd_exec_free(made);
    return result;
}

int dd_exec_set_kernel(dd_exec *exec, const dd_node *node, dd_work *work)
{
    for (int i = 0; i < exec->n; ++i) {
        step *s = &exec->step[i];
        if (s->from != node || s->work.kind != DD_KERNEL) continue;
        dd_work_drop(&s->work);
        s->work = *work;
        return DD_OK;
    }
    dd_work_drop(work);
    return DD_INVALID_VALUE;
}

/* ---- running -------------------------------------------------------------------------------------------------------------- */

static bool may_run(const dd_exec *exec, const step *s)
{
    for (int i = 0; i < s->nafter; ++i)
        if (!exec->step[s->after[i]].done) return false;
    return !s->done;
}

bool dd_exec_step(dd_exec *exec)
{
    int n = 0;
    step *chosen = NULL;
    for (int i = 0; i < exec->n; ++i)
        if (may_run(exec, &exec->step[i]) && dd_below((uint64_t)++n) == 0) chosen = &exec->step[i];
    if (!chosen) return false;
    if (chosen->work.kind != DD_NOTHING) dd_work_run(&chosen->work);
    chosen->done = true;
    return true;
}

void dd_graph_forget(void)
{
    while (execs) {
        dd_exec *e = execs;
        execs = e->next;
        dd_exec_free(e);
    }
    while (graphs) {
        dd_graph *g = graphs;
        graphs = g->next;
        free_graph(g);
    }
}
