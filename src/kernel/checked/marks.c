/* Numbers that become indices; see marks.h. */
#include "kernel/checked/marks.h"

#include "kernel/check/type.h"

#include <string.h>

enum { MARK = 0x494e4458 }; /* in a symbol's `varies`, whose rules are done */

bool sti_is_marked(const sti_symbol *s) { return s && s->varies == MARK; }

typedef struct marks {
    bool more; /* something was marked that was not */
} marks;

/* Names whose value is a part of a sum or product. */
static void mark(marks *m, sti_node *e)
{
    if (!e) return;
    switch (e->kind) {
    case STI_NODE_NAME: {
        sti_symbol *s = e->symbol;
        bool variable = s && (s->kind == STI_SYMBOL_VARIABLE || s->kind == STI_SYMBOL_PARAMETER);
        if (!variable || !s->type || !sti_type_integer(s->type) || s->varies == MARK) return;
        s->varies = MARK;
        m->more = true;
        return;
    }
    case STI_NODE_BINARY:
        if (e->op != STI_OP_ADD && e->op != STI_OP_SUB && e->op != STI_OP_MUL) return;
        mark(m, e->a);
        mark(m, e->b);
        return;
    case STI_NODE_UNARY:
    case STI_NODE_CAST: mark(m, e->a); return;
    case STI_NODE_CONDITION:
        mark(m, e->b);
        mark(m, e->c);
        return;
    default: return;
    }
}

static void mark_call(marks *m, sti_node *e)
{
    const sti_symbol *p = e->symbol ? e->symbol->parameter : NULL;
    bool library = e->symbol && e->symbol->kind == STI_SYMBOL_LIBRARY;
    bool indexed = library && (strcmp(e->name->text, "put") == 0 || strcmp(e->name->text, "put4") == 0 ||
                               strcmp(e->name->text, "load4") == 0 || strcmp(e->name->text, "of_world") == 0);
    for (sti_node *a = e->a; a; a = a->next) {
        if (indexed || sti_is_marked(p)) mark(m, a);
        if (p) p = p->next;
    }
}

static void mark_list(marks *m, sti_node *n)
{
    for (; n; n = n->next) {
        bool pointer = n->type && sti_type_points(n->type);
        if (n->kind == STI_NODE_INDEX) mark(m, n->b);
        if (n->kind == STI_NODE_BINARY && pointer) {
            mark(m, n->a);
            mark(m, n->b);
        }
        if (n->kind == STI_NODE_CALL) mark_call(m, n);
        if (n->kind == STI_NODE_ASSIGN && n->a->kind == STI_NODE_NAME && sti_is_marked(n->a->symbol)) mark(m, n->b);
        if (n->kind == STI_NODE_VARIABLE && sti_is_marked(n->symbol)) mark(m, n->a);
        mark_list(m, n->a);
        mark_list(m, n->b);
        mark_list(m, n->c);
        mark_list(m, n->d);
    }
}

void sti_mark_indices(sti_node *function)
{
    marks m = {true};
    while (m.more) {
        m.more = false;
        mark_list(&m, function->b);
    }
}
