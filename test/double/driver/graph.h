/*
 * Graphs: nodes of work with edges, made once, instantiated, launched.
 *
 * Invariants:
 *   GRAPH-1  nodes run in an order that the edges allow and that changes with the seed: an edge that is missing shows
 *   GRAPH-2  an executable graph owns a copy of all that it runs; the graph it came from may go
 *   GRAPH-3  a loop's body runs from its beginning to its end before the condition is looked at again
 *   GRAPH-4  an update keeps the number of nodes, their kinds and edges; else it is refused and nothing has changed
 */
#ifndef TEST_DOUBLE_GRAPH_H
#define TEST_DOUBLE_GRAPH_H

#include "double/exec/condition.h"
#include "double/exec/work.h"

typedef struct dd_node dd_node;
typedef struct dd_graph dd_graph;
typedef struct dd_exec dd_exec;

typedef struct dd_nodes {
    dd_node **at;
    int n, capacity;
} dd_nodes;
struct dd_node {
    dd_graph *graph;
    dd_work work;
    dd_graph *child; /* a copy that the node owns; its work is NOTHING then */
    dd_graph *body;  /* of a loop: run again and again while … */
    dd_condition *condition;
    dd_nodes after;
};

struct dd_graph {
    dd_graph *next;
    bool listed; /* a handle of the caller's; not a node's own copy */
    dd_nodes nodes;
};

int dd_nodes_add(dd_nodes *nodes, dd_node *node); /* once */
int dd_nodes_join(dd_nodes *nodes, const dd_nodes *more);
void dd_nodes_clear(dd_nodes *nodes);
bool dd_node_comes_after(const dd_node *node, const dd_node *other); /* it is the other, or an edge leads there */

int dd_graph_make(dd_graph **out);
int dd_graph_end(dd_graph *graph);
bool dd_graph_is_alive(const dd_graph *graph);
/*
 * Takes over what the work owns, whatever the result. INVALID_VALUE: a node that it comes after is not of this graph.
 */
int dd_graph_add(dd_graph *graph, dd_node *const *after, size_t nafter, dd_work *work, dd_node **out);
int dd_graph_add_child(dd_graph *graph, dd_node *const *after, size_t nafter, const dd_graph *child, dd_node **out);

/*
 * A loop, and *body for what is in it, which goes with the graph. INVALID_VALUE: the handle is not for it
 * (CONDITION-1).
 */
int dd_graph_add_loop(dd_graph *graph, dd_node *const *after, size_t nafter, uint64_t handle, dd_node **out,
                      dd_graph **body);
void dd_graph_forget(void);

/* ---- exec.c ---- */

int dd_exec_make(const dd_graph *graph, dd_exec **out);
int dd_exec_end(dd_exec *exec);
bool dd_exec_is_alive(const dd_exec *exec);
int dd_exec_update(dd_exec *exec, const dd_graph *graph);
/* Replaces the kernel of the node that this node of the graph became. */
int dd_exec_set_kernel(dd_exec *exec, const dd_node *node, dd_work *work);
int dd_exec_copy(const dd_exec *exec, dd_exec **out); /* what one launch of it runs */
/* Runs one node that may run now; false: all have run. */
bool dd_exec_step(dd_exec *exec);
void dd_exec_free(dd_exec *exec); /* one made by dd_exec_copy */
bool dd_exec_is_copy_of(const dd_exec *copy, const dd_exec *exec);
void dd_exec_forget(void);

#endif
