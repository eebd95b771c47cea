/*
 * Runs statements plainly: once more as they are, without what is not needed; see transform.h.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/type.h"

/* ---- what need not be done --------------------------------------------------------------------------------------- */

/* True if all uses of a variable are gradients that do not depend on its value. */
static bool is_dead(sti_transform *t, const sti_symbol *s)
{
    return s->type->kind != STI_TYPE_POINTER && sti_type_carries(s->type) && !sti_note_of(t, s)->needed;
}

static bool writes_needed(sti_transform *t, const sti_node *call)
{
    int n = 0;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        if (p && p->written && (!sti_type_carries(p->type) || sti_ask(t, a, STI_NOTE(needed)))) return true;
    }
    return false;
}

static bool is_dead_assignment(sti_transform *t, const sti_node *e)
{
    bool number = e->type && sti_type_carries(e->type) && e->type->kind != STI_TYPE_POINTER, only;
    const sti_symbol *s = sti_origin_of(e->a, &only);
    bool dead = s && only && s->kind == STI_SYMBOL_VARIABLE && is_dead(t, s); /* a whole number of a structure */
    return (number || dead) && !sti_ask(t, e->a, STI_NOTE(needed));
}

/* ---- running plainly --------------------------------------------------------------------------------------------- */

static const char *sizes_of(sti_transform *t, const sti_node *v)
{
    const char *sizes = "";
    for (const sti_node *size = v->b; size; size = size->next) sizes = sti_say(t, "%s[%s]", sizes, sti_value(t, size));
    return sizes;
}

/* Declares a variable without a value: the value is not needed, but its address is taken. */
static void declare_passed(sti_transform *t, const sti_node *v)
{
    if (!sti_note_of(t, v->symbol)->passed) return;
    sti_emit(t, "%s %s%s;", sti_type_word(t, sti_type_value(sti_type_element(v->named))), v->name->text,
             sizes_of(t, v));
}

void sti_run_declaration(sti_transform *t, const sti_node *v)
{
    const sti_symbol *s = v->symbol;
    bool pointer = v->type->kind == STI_TYPE_POINTER;
    bool calls = sti_is_own_call(v->a) && writes_needed(t, v->a);
    if (is_dead(t, s) && !calls) {
        declare_passed(t, v);
        return;
    }
    if (calls) t->tape->deeds++;
    const char *sizes = sizes_of(t, v), *word = sti_type_word(t, sti_type_element(v->named));
    const char *value = v->a ? sti_value(t, v->a) : NULL;
    if (pointer && sti_type_carries(v->type) && !v->named->is_const && v->a) { /* const unless it is written */
        bool writes = sti_ask(t, v->a, STI_NOTE(needed)) && sti_place_written(v->a);
        word = writes ? sti_writable(t, v, word) : sti_say(t, "const %s", word);
    }
    if (!value && v->type->kind != STI_TYPE_ARRAY && v->type->kind != STI_TYPE_STRUCT && !pointer)
        value = v->type->kind == STI_TYPE_REAL   ? "splat(0)"
                : v->type->kind == STI_TYPE_LINT ? "isplat(0)"
                : v->type->kind == STI_TYPE_MASK ? "m_none()"
                                                 : "0";
    sti_emit(t, "%s %s%s%s%s%s;", word, pointer ? "*" : "", v->name->text, sizes, value ? " = " : "",
             value ? value : "");
}

static void note_writes(sti_transform *t, const sti_node *e)
{
    int n = 0;
    if (e->kind == STI_NODE_ASSIGN) {
        (void)sti_mark(t, e->a, STI_NOTE(stored));
        e = e->b;
    }
    for (const sti_node *a = e->kind == STI_NODE_CALL ? e->a : NULL; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(e, n);
        if (p && p->written) (void)sti_mark(t, a, STI_NOTE(stored));
    }
}

void sti_run_expression(sti_transform *t, const sti_node *e)
{
    if (e->kind == STI_NODE_ASSIGN && is_dead_assignment(t, e)) {
        if (!sti_is_own_call(e->b)) return;
        e = e->b;
    }
    bool step = e->kind == STI_NODE_POSTFIX || e->kind == STI_NODE_UNARY;
    if (e->kind == STI_NODE_CAST || (step && is_dead_assignment(t, e))) return; /* (void)x; s.n++; */
    if (e->kind == STI_NODE_CALL && !writes_needed(t, e)) return;
    t->tape->deeds++;
    note_writes(t, e);
    sti_log_write(t, e);
    sti_emit(t, "%s;", sti_value(t, e));
}

static const char *begin_text(sti_transform *t, const sti_node *n)
{
    const sti_node *v = n ? n->a : NULL;
    if (!v) return "";
    return sti_say(t, "%s %s = %s", sti_type_word(t, v->named), v->name->text, v->a ? sti_value(t, v->a) : "0");
}

const char *sti_for_text(sti_transform *t, const sti_node *n)
{
    return sti_say(t, "for (%s;%s%s;%s%s) {", begin_text(t, n->a), n->b ? " " : "", n->b ? sti_value(t, n->b) : "",
                   n->c ? " " : "", n->c ? sti_value(t, n->c) : "");
}

void sti_run_block(sti_transform *t, const sti_node *block)
{
    for (const sti_node *n = block->a; n; n = n->next) sti_run_statement(t, n);
}

/* Removes the text behind a position. */
static void cut(sti_transform *t, size_t from)
{
    if (t->output->text.result != STET_OK || !t->output->text.data) return;
    t->output->text.size = from;
    t->output->text.data[from] = 0;
}

static void run_if(sti_transform *t, const sti_node *n)
{
    size_t before = t->output->text.size, deeds = t->tape->deeds;
    sti_emit(t, "if (%s) {", sti_value(t, n->a));
    sti_run_block(t, n->b);
    if (n->c) {
        size_t last = t->output->text.size, then = t->tape->deeds;
        sti_emit(t, "} else {");
        sti_run_block(t, n->c);
        if (t->tape->deeds == then) cut(t, last);
    }
    sti_emit(t, "}");
    if (t->tape->deeds == deeds) cut(t, before);
}

/* Runs a loop, an each or a block. A loop is left out if it changes only its own variable. */
static void run_nested(sti_transform *t, const sti_node *n, const char *begin, const sti_node *body)
{
    size_t before = t->output->text.size, deeds = t->tape->deeds;
    sti_emit(t, "%s", begin);
    sti_run_block(t, body);
    bool own = n->kind != STI_NODE_FOR || (n->a && n->a->kind == STI_NODE_DECLARE);
    sti_emit(t, "}");
    if (own && t->tape->deeds == deeds) cut(t, before);
    if (!own) t->tape->deeds++;
}

void sti_declare_team_array(sti_transform *t, const sti_node *n)
{
    const char *word = sti_type_word(t, n->named), *name = n->name->text, *first = sti_value(t, n->a);
    if (n->kind == STI_NODE_STAGED)
        sti_emit(t, "staged(%s, %s, %s, %s);", word, name, first, sti_value(t, n->b));
    else
        sti_emit(t, "shared(%s, %s, %s);", word, name, first);
}

void sti_run_statement(sti_transform *t, const sti_node *n)
{
    switch (n->kind) {
    case STI_NODE_DECLARE: sti_run_declaration(t, n->a); break;
    case STI_NODE_EXPRESSION: sti_run_expression(t, n->a); break;
    case STI_NODE_IF: run_if(t, n); break;
    case STI_NODE_FOR: run_nested(t, n, sti_for_text(t, n), n->d); break;
    case STI_NODE_EACH:
        if (t->log && sti_team_level(t) && sti_each_logs(t, n)) {
            t->tape->deeds++;
            sti_team_log_each(t, n);
            break;
        }
        /* fall through */
    case STI_NODE_ITEMS:
        run_nested(t, n,
                   sti_say(t, n->kind == STI_NODE_EACH ? "each (%s, %s) {" : "items (%s, %s) {", n->name->text,
                           sti_value(t, n->a)),
                   n->b);
        break;
    case STI_NODE_BLOCK: run_nested(t, n, "{", n); break;
    case STI_NODE_SHARED:
    case STI_NODE_STAGED: sti_declare_team_array(t, n); break;
    case STI_NODE_SYNC:
        t->tape->deeds++; /* other code may rely on it */
        sti_emit(t, "sync();");
        break;
    default: break;
    }
}
