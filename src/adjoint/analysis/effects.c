/* Finds what a statement changes of what is declared outside of it, and what of that is logged; see analysis.h. */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/type.h"

typedef struct collecting {
    sti_transform *t;
    const sti_node *statement;
    sti_effects *out;
    sti_source_place place; /* of the write */
    bool call;              /* a called function writes */
    bool quiet;             /* report no errors */
} collecting;

/* Memory that other threads see is logged, but not arrays that a team shares, nor writes by a called function. */
static void collect_array(collecting *c, sti_symbol *s)
{
    if (!sti_note_of(c->t, s)->overwritten || c->quiet) return;
    if (c->call || (c->t->items && c->t->kernel)) {
        sti_report_mistake(
            c->t->u, c->place,
            c->call ? "`%s` is overwritten by a function after it was read, and the adjoint needs what it held: "
                      "let it write a local array"
                    : "`%s` is overwritten after it was read, and the adjoint needs what it held: write to "
                      "another array",
            s->name->text);
        return;
    }
    for (int i = 0; i < c->out->narray; ++i)
        if (c->out->array[i] == s) return;
    if (c->out->narray < STI_ADJOINT_CODES) c->out->array[c->out->narray++] = s;
}

static void collect(sti_symbol *s, void *context)
{
    collecting *c = context;
    if (!sti_note_of(c->t, s)->needed || s->kind == STI_SYMBOL_TABLE || sti_declared_in(c->statement, s)) return;
    if (sti_is_array_symbol(s)) {
        collect_array(c, s);
        return;
    }
    for (int i = 0; i < c->out->count; ++i)
        if (c->out->symbol[i] == s) return;
    if (c->out->count == STI_ADJOINT_CHANGED) {
        if (c->quiet) return;
        sti_report_mistake(c->t->u, c->place,
                           "more than %d variables change within one statement: its adjoint is not made",
                           c->out->count);
        return;
    }
    c->out->symbol[c->out->count++] = s;
}

static void collect_place(collecting *c, const sti_node *place, sti_source_place where)
{
    c->place = where;
    c->call = false;
    if (place->kind == STI_NODE_NAME && place->symbol) /* the pointer itself, not the memory behind it */
        collect(place->symbol, c);
    else
        sti_origins((sti_node *)(uintptr_t)place, collect, c);
}

static void collect_call(collecting *c, const sti_node *call)
{
    int n = 0;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        if (!p || !p->written || !a->type) continue;
        c->place = a->place;
        c->call = call->symbol->kind == STI_SYMBOL_FUNCTION;
        sti_origins((sti_node *)(uintptr_t)a, collect, c);
    }
}

static bool collect_node(sti_transform *t, const sti_node *n, const void *context)
{
    collecting *c = (collecting *)(uintptr_t)context;
    const sti_node *place = sti_assigned_place(n);
    if (place) collect_place(c, place, n->place);
    if (n->kind == STI_NODE_CALL) collect_call(c, n);
    return t->u->failed;
}

static void collect_all(sti_transform *t, const sti_node *statement, bool quiet, sti_effects *out)
{
    collecting c = {.t = t, .statement = statement, .out = out, .quiet = quiet};
    sti_node alone = *statement;
    alone.next = NULL;
    out->count = out->narray = 0;
    (void)sti_any(t, &alone, collect_node, &c);
}

void sti_effects_of(sti_transform *t, const sti_node *statement, sti_effects *out)
{
    collect_all(t, statement, false, out);
}

bool sti_changes(sti_transform *t, const sti_node *statement, const sti_symbol *symbol)
{
    sti_effects e;
    collect_all(t, statement, true, &e);
    for (int i = 0; i < e.count; ++i)
        if (e.symbol[i] == symbol) return true;
    return e.count == STI_ADJOINT_CHANGED;
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

bool sti_is_logged(sti_transform *t, const sti_symbol *array)
{
    bool listed = !t->log;
    for (int i = 0; t->log && i < t->log->narray; ++i) listed |= t->log->array[i] == array;
    const sti_note *n = listed ? sti_note_of(t, array) : NULL;
    return n && sti_is_array_symbol(array) && n->needed && n->overwritten;
}

int sti_log_entries(sti_transform *t, const sti_node *e)
{
    int n = 0;
    bool only;
    const sti_node *place;
    for (int k = 0; (place = sti_written_place(t, e, k)); ++k) {
        const sti_symbol *s = sti_origin_of(place, &only);
        n += s && sti_is_logged(t, s);
    }
    return n;
}

static bool logs(sti_transform *t, const sti_node *n, const void *context)
{
    (void)context;
    return n->kind == STI_NODE_EXPRESSION && sti_log_entries(t, n->a) > 0;
}

bool sti_each_logs(sti_transform *t, const sti_node *each) { return sti_any(t, each->b->a, logs, NULL); }
