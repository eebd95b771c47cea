/*
 * Executable graphs: children are laid out flat, loops have a graph of their own. Invariants: graph.h.
 */
#include "double/driver/graph.h"

#include <stdlib.h>
#include <string.h>

/* Steps know each other by number. */
typedef struct step {
    dd_work work;
    const dd_node *node; /* only to be compared, never looked into */
    int *after;
    int nafter;
    bool done;
    dd_exec *body; /* of a loop … */
    dd_condition *condition;
    bool inside; /* … in the midst of a trip */
} step;

struct dd_exec {
    dd_exec *next;
    const dd_exec *original; /* of a copy */
    step *step;
    int n, capacity;
};

static dd_exec *execs;

static int number_of(const dd_nodes *nodes, const dd_node *node)
{
    int i = 0;
    while (nodes->at[i] != node) ++i;
    return i;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static int add_step(dd_exec *exec, const dd_work *work, const dd_node *node, const int *after, int nafter, int *out)
{
    if (exec->n == exec->capacity) {
        int capacity = exec->capacity ? 2 * exec->capacity : 16;
        step *more = realloc(exec->step, (size_t)capacity * sizeof *more);
        if (!more) return DD_OUT_OF_MEMORY;
        exec->step = more;
        exec->capacity = capacity;
    }
    step s = {.node = node, .nafter = nafter, .after = malloc(((size_t)nafter + 1) * sizeof(int))};
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

static int build(const dd_graph *graph, dd_exec **out);

static int add_node(dd_exec *exec, const dd_node *node, const int *after, int nafter, int *out)
{
    int result = add_step(exec, &node->work, node, after, nafter, out);
    if (result || !node->body) return result;
    exec->step[*out].condition = node->condition;
    return build(node->body, &exec->step[*out].body);
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
        result = add_node(exec, node, after, m, &last[i]);
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
        if (exec->step[i].body) dd_exec_free(exec->step[i].body);
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
    int made, result = DD_OK;
    dd_exec *copy = *out = calloc(1, sizeof *copy);
    if (!copy) return DD_OUT_OF_MEMORY;
    copy->original = exec;
    for (int i = 0; i < exec->n && !result; ++i) {
        const step *s = &exec->step[i];
        result = add_step(copy, &s->work, s->node, s->after, s->nafter, &made);
        if (result || !s->body) continue;
        copy->step[made].condition = s->condition;
        result = dd_exec_copy(s->body, &copy->step[made].body);
    }
    if (result) dd_exec_free(copy);
    return result;
}

static bool same_shape(const dd_exec *a, const dd_exec *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; ++i) {
        const step *x = &a->step[i], *y = &b->step[i];
        same = !x->body && !y->body && x->work.kind == y->work.kind && x->nafter == y->nafter &&
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

static step *find_kernel(dd_exec *exec, const dd_node *node)
{
    step *found = NULL;
    for (int i = 0; i < exec->n && !found; ++i) {
        step *s = &exec->step[i];
        if (s->node == node && s->work.kind == DD_KERNEL) found = s;
        if (s->body) found = find_kernel(s->body, node);
    }
    return found;
}

int dd_exec_set_kernel(dd_exec *exec, const dd_node *node, dd_work *work)
{
    step *s = find_kernel(exec, node);
    if (!s) {
        dd_work_drop(work);
        return DD_INVALID_VALUE;
    }
    work->early = s->work.early;
    dd_work_drop(&s->work);
    s->work = *work;
    return DD_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool may_run(const dd_exec *exec, const step *s)
{
    for (int i = 0; i < s->nafter; ++i)
        if (!exec->step[s->after[i]].done) return false;
    return !s->done;
}

/* One node of the body, or a look whether there is another trip; true: the loop is over (GRAPH-3). */
static bool step_loop(step *s)
{
    if (!s->inside) {
        if (!dd_condition_look(s->condition)) return true;
        for (int i = 0; i < s->body->n; ++i) s->body->step[i].done = false;
    }
    s->inside = dd_exec_step(s->body);
    return false;
}

bool dd_exec_step(dd_exec *exec)
{
    int n = 0;
    step *chosen = NULL;
    for (int i = 0; i < exec->n; ++i)
        if (may_run(exec, &exec->step[i]) && dd_below((uint64_t)++n) == 0) chosen = &exec->step[i];
    if (!chosen) return false;
    if (chosen->work.kind != DD_NOTHING) dd_work_run(&chosen->work);
    chosen->done = !chosen->body || step_loop(chosen);
    return true;
}

bool dd_exec_is_copy_of(const dd_exec *copy, const dd_exec *exec) { return copy->original == exec; }

void dd_exec_forget(void)
{
    while (execs) {
        dd_exec *e = execs;
        execs = e->next;
        dd_exec_free(e);
    }
}
