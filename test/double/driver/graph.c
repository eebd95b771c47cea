/*
 * Graphs over host memory. Invariants: graph.h.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static dd_graph *graphs;

/* ---- lists of nodes ---------------------------------------------------------------------------------------------- */

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

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

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
        if (node->body) free_graph(node->body);
        dd_nodes_clear(&node->after);
        free(node);
    }
    dd_nodes_clear(&graph->nodes);
    free(graph);
}

static bool is_body_in(const dd_graph *g, const dd_graph *graph)
{
    for (int i = 0; i < g->nodes.n; ++i) {
        const dd_graph *body = g->nodes.at[i]->body;
        if (body && (body == graph || is_body_in(body, graph))) return true;
    }
    return false;
}

bool dd_graph_is_alive(const dd_graph *graph)
{
    const dd_graph *g = graphs;
    while (g && g != graph && !is_body_in(g, graph)) g = g->next;
    return g;
}

int dd_graph_end(dd_graph *graph)
{
    if (!dd_graph_is_alive(graph) || !graph->listed) return DD_INVALID_HANDLE; /* a body goes with its graph */
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
        if (node->body) result = DD_NOT_SUPPORTED; /* its condition belongs to the one graph (CONDITION-1) */
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

int dd_graph_add_loop(dd_graph *graph, dd_node *const *after, size_t nafter, uint64_t handle, dd_node **out,
                      dd_graph **body)
{
    dd_condition *condition = dd_condition_take(graph, handle);
    if (!condition) return DD_INVALID_VALUE;
    dd_graph *made = new_graph(false);
    int result = made ? dd_graph_add(graph, after, nafter, &(dd_work){0}, out) : DD_OUT_OF_MEMORY;
    if (result) {
        free(made);
        condition->taken = false;
        return result;
    }
    (*out)->condition = condition;
    *body = (*out)->body = made;
    return DD_OK;
}

void dd_graph_forget(void)
{
    while (graphs) {
        dd_graph *g = graphs;
        graphs = g->next;
        free_graph(g);
    }
    dd_condition_forget();
}
