/*
 * Bundles: structures with pointers, which functions pass on so that their lists of parameters stay short; typing.h.
 *
 * Typing takes a bundle apart. A parameter or variable `p` of a bundle becomes one for each field, p_qpos …, `p.qpos`
 * becomes that name, and an argument `p` the list of them. So whatever reads the tree after typing (rules, limits,
 * checked mode, adjoints, the printer) has pointers and numbers under names of their own, and no bundles.
 *
 *   BUNDLE-1  a name that is made for a field does not occur in the source
 *   BUNDLE-2  a parameter that a field became, and a pointer that gets its value, is const if nothing is written
 *       through it: functions that only read have const pointers in the tree, though a bundle has one type for all
 */
#include "kernel/check/flow.h"
#include "kernel/check/type.h"
#include "kernel/check/typing.h"

#include <stdio.h>
#include <string.h>

int sti_bundle_fields(const sti_structure *bundle)
{
    int n = 0;
    for (const sti_symbol *f = bundle->field; f; f = f->next) ++n;
    return n;
}

/* The name that stands for a field of the bundle `of`. NULL: no memory. */
static sti_name *name_field(sti_typing *t, const sti_name *of, const sti_name *field)
{
    size_t size = (size_t)of->length + field->length + 2;
    char *shown = sti_unit_alloc(t->u, size), *text = sti_unit_alloc(t->u, size);
    if (!shown || !text) return NULL;
    (void)snprintf(shown, size, "%s.%s", of->text, field->text);
    (void)snprintf(text, size, "%s_%s", of->text, field->text);
    for (size_t length = size - 1;; ++length) {
        sti_name *known = sti_unit_find(t->u, text, length);
        if (known && known->shown && strcmp(known->shown, shown) == 0) return known;
        if (!known) {
            sti_name *made = sti_unit_name(t->u, text, length);
            if (made) made->shown = shown;
            return made;
        }
        char *longer = sti_unit_alloc(t->u, length + 2); /* BUNDLE-1 */
        if (!longer) return NULL;
        memcpy(longer, text, length);
        longer[length] = '_';
        text = longer;
    }
}

static sti_node *make_node(sti_typing *t, sti_node_kind kind, sti_source_place place)
{
    sti_node *n = sti_unit_alloc(t->u, sizeof *n);
    if (n) *n = (sti_node){.kind = kind, .place = place, .depth = 1};
    return n;
}

/* A node for each field of the bundle `of`, named after it, and `rest` behind them. NULL: no memory. */
static sti_node *spread(sti_typing *t, const sti_node *of, const sti_structure *bundle, sti_node_kind kind,
                        sti_node *rest)
{
    sti_node *first = NULL, **at = &first;
    for (const sti_symbol *f = bundle->field; f; f = f->next) {
        sti_node *n = make_node(t, kind, of->place);
        sti_name *name = n ? name_field(t, of->name, f->name) : NULL;
        if (!name) return NULL;
        n->name = name;
        if (kind == STI_NODE_VARIABLE) {
            n->named = f->node->named;
            n->op = f->node->op;
        }
        *at = n;
        at = &n->next;
    }
    *at = rest;
    return first;
}

/* Declares the name of a bundle, under which its fields are found. */
static bool declare_bundle(sti_typing *t, sti_node *v)
{
    const char *name = v->name->text;
    const sti_symbol *outer = v->name->symbol;
    if (v->op == STI_OP_MUL)
        sti_report_mistake(t->u, v->place, "`%s`: nothing points to a structure with pointers: pass it without *",
                           name);
    else if (v->b)
        sti_report_mistake(t->u, v->place, "`%s`: there are no arrays of structures with pointers", name);
    else if (outer && outer->kind == STI_SYMBOL_BUNDLE)
        sti_report_mistake(t->u, v->place, "`%s` is a structure with pointers already: choose another name", name);
    else
        return sti_declare(t, STI_SYMBOL_BUNDLE, v, v->named) != NULL;
    return false;
}

sti_node *sti_bundle_parameter(sti_typing *t, sti_node *v)
{
    return declare_bundle(t, v) ? spread(t, v, v->named->structure, STI_NODE_VARIABLE, v->next) : NULL;
}

const sti_structure *sti_bundle_of(const sti_node *e)
{
    const sti_symbol *s = e->kind == STI_NODE_NAME ? e->name->symbol : NULL;
    return s && s->kind == STI_SYMBOL_BUNDLE ? s->type->structure : NULL;
}

sti_node *sti_bundle_argument(sti_typing *t, sti_node *e)
{
    return spread(t, e, sti_bundle_of(e), STI_NODE_NAME, e->next);
}

bool sti_bundle_member(sti_typing *t, sti_node *e)
{
    const sti_structure *bundle = sti_bundle_of(e->a);
    if (!bundle || e->op != STI_OP_DOT) return false;
    for (const sti_symbol *f = bundle->field; f; f = f->next)
        if (f->name == e->name) {
            sti_name *name = name_field(t, e->a->name, f->name);
            if (!name) return false;
            *e = (sti_node){.kind = STI_NODE_NAME, .place = e->a->place, .depth = 1, .name = name, .next = e->next};
            return true;
        }
    return false;
}

/* The values that the fields of variable v begin with: a list of them, or another bundle. NULL: a mistake. */
static sti_node *first_values(sti_typing *t, const sti_node *v)
{
    const sti_structure *bundle = v->named->structure;
    const char *type = bundle->name->text;
    int n = 0, wanted = sti_bundle_fields(bundle);
    if (v->a && sti_bundle_of(v->a) == bundle) {
        v->a->next = NULL;
        return sti_bundle_argument(t, v->a);
    }
    if (!v->a || v->a->kind != STI_NODE_LIST) {
        sti_report_mistake(t->u, v->place, "`%s` is %s: write its fields, { … }, or the name of another %s",
                           v->name->text, type, type);
        return NULL;
    }
    for (const sti_node *a = v->a->a; a; a = a->next) ++n;
    if (n == wanted) return v->a->a;
    sti_report_mistake(t->u, v->place, "`%s` is %s, which has %d fields, and the list has %d", v->name->text, type,
                       wanted, n);
    return NULL;
}

void sti_bundle_declare(sti_typing *t, sti_node *n)
{
    sti_node *behind = n->next, *declaration = NULL;
    for (sti_node *v = n->a, *more; v; v = more) {
        more = v->next;
        sti_node *value = first_values(t, v);
        if (!value || !declare_bundle(t, v)) break;
        for (sti_node *field = spread(t, v, v->named->structure, STI_NODE_VARIABLE, NULL), *other; field;
             field = other) {
            other = field->next;
            field->next = NULL;
            field->a = value;
            value = value->next;
            field->a->next = NULL;
            field->depth = field->a->depth + 1;
            declaration = declaration ? (declaration->next = make_node(t, STI_NODE_DECLARE, n->place)) : n;
            if (!declaration) return;
            *declaration = (sti_node){.kind = STI_NODE_DECLARE,
                                      .place = n->place,
                                      .depth = field->depth + 1,
                                      .named = field->named,
                                      .a = field};
        }
    }
    if (declaration)
        declaration->next = behind;
    else
        n->a = NULL; /* a mistake: nothing is declared */
}

bool sti_bundle_drop(sti_unit *u)
{
    bool found = false;
    for (sti_node **at = &u->top; *at;)
        if ((*at)->kind == STI_NODE_STRUCT && sti_is_bundle((*at)->named)) {
            found = true;
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    return found;
}

/* ---- const, and unused fields (BUNDLE-2) ------------------------------------------------------------------------- */

/* Notes that pointers in e are written through; true if one was not yet. */
static bool note_writes(const sti_node *e)
{
    switch (e->kind) {
    case STI_NODE_NAME: {
        bool fresh = e->symbol && !e->symbol->through;
        if (e->symbol) e->symbol->through = true;
        return fresh;
    }
    case STI_NODE_BINARY: return note_writes(e->a->type && sti_type_points(e->a->type) ? e->a : e->b);
    case STI_NODE_CONDITION: {
        bool fresh = note_writes(e->b);
        return note_writes(e->c) || fresh;
    }
    case STI_NODE_CALL: return e->a && note_writes(e->a);
    case STI_NODE_INDEX:
    case STI_NODE_MEMBER:
    case STI_NODE_UNARY:
    case STI_NODE_POSTFIX:
    case STI_NODE_CAST: return note_writes(e->a);
    default: return false;
    }
}

static bool writes_through(const sti_symbol *s)
{
    return s && s->through && s->type && s->type->kind == STI_TYPE_POINTER;
}

/* Of a call: arguments that are written through. */
static bool note_arguments(const sti_node *call)
{
    bool fresh = false;
    int n = 0;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        if (p && (call->symbol->kind == STI_SYMBOL_FUNCTION ? p->through : p->written)) fresh |= note_writes(a);
    }
    return fresh;
}

/* What is declared together has one type. */
static bool note_together(const sti_node *declare)
{
    bool any = false, fresh = false;
    for (const sti_node *v = declare->a; v; v = v->next) any |= v->op != STI_OP_MUL || writes_through(v->symbol);
    for (const sti_node *v = declare->a; any && v; v = v->next)
        if (v->symbol && !v->symbol->through) fresh = v->symbol->through = true;
    return fresh;
}

static bool note_list(const sti_node *n)
{
    bool fresh = false;
    for (; n; n = n->next) {
        bool step = n->kind == STI_NODE_POSTFIX ||
                    (n->kind == STI_NODE_UNARY && (n->op == STI_OP_INCREMENT || n->op == STI_OP_DECREMENT));
        if ((n->kind == STI_NODE_ASSIGN || step) && n->a->kind != STI_NODE_NAME) fresh |= note_writes(n->a);
        if (n->kind == STI_NODE_ASSIGN && n->a->kind == STI_NODE_NAME && writes_through(n->a->symbol))
            fresh |= note_writes(n->b);
        if (n->kind == STI_NODE_VARIABLE && n->a && writes_through(n->symbol)) fresh |= note_writes(n->a);
        if (n->kind == STI_NODE_DECLARE) fresh |= note_together(n);
        if (n->kind == STI_NODE_CALL) fresh |= note_arguments(n);
        sti_node *const parts[] = {n->a, n->b, n->c, n->d};
        for (int k = 0; k < 4; ++k) fresh |= note_list(parts[k]);
    }
    return fresh;
}

static const sti_type *const_of(const sti_type *t)
{
    return t->kind == STI_TYPE_STRUCT ? sti_type_structure(t->structure, true) : sti_type_basic(t->kind, true);
}

static void make_const(sti_unit *u, sti_node *v)
{
    if (v->kind != STI_NODE_VARIABLE || v->op != STI_OP_MUL || v->named->is_const || !v->symbol || v->symbol->through)
        return;
    v->named = const_of(v->named);
    v->type = v->symbol->type = sti_type_pointer(u, v->named);
}

static void note_uses(sti_node *n)
{
    for (; n; n = n->next) {
        if (n->kind == STI_NODE_NAME && n->symbol) n->symbol->used = true;
        note_uses(n->a);
        note_uses(n->b);
        note_uses(n->c);
        note_uses(n->d);
    }
}

/* Puts (void)v; into a list if v is a field that nobody uses, so that compilers do not warn of what is printed. */
static void put_void(sti_unit *u, sti_node **at, const sti_node *v)
{
    if (!v->name->shown || !v->symbol || v->symbol->used) return;
    const sti_type *none = sti_type_basic(STI_TYPE_VOID, false);
    sti_node *n = sti_unit_alloc(u, 3 * sizeof *n);
    if (!n) return;
    n[2] = (sti_node){.kind = STI_NODE_NAME, .place = v->place, .depth = 1, .name = v->name};
    n[2].symbol = v->symbol;
    n[2].type = v->type;
    n[1] = (sti_node){.kind = STI_NODE_CAST, .place = v->place, .depth = 2, .named = none, .type = none, .a = &n[2]};
    n[0] = (sti_node){.kind = STI_NODE_EXPRESSION, .place = v->place, .depth = 3, .a = &n[1], .next = *at};
    *at = &n[0];
}

static void make_list_const(sti_unit *u, sti_node *n)
{
    for (; n; n = n->next) {
        if (n->kind == STI_NODE_DECLARE) {
            for (sti_node *v = n->a; v; v = v->next) make_const(u, v);
            if (n->a && n->a->op == STI_OP_MUL) n->named = n->a->named;
            if (n->a) put_void(u, &n->next, n->a);
        }
        make_list_const(u, n->a);
        make_list_const(u, n->b);
        make_list_const(u, n->c);
        make_list_const(u, n->d);
    }
}

void sti_bundle_const(sti_unit *u)
{
    for (sti_node *f = u->top; f && !u->failed; f = f->next) {
        if (f->kind != STI_NODE_FUNCTION) continue;
        for (bool fresh = true; fresh;) fresh = note_list(f->b);
        note_uses(f->b);
        make_list_const(u, f->b);
        for (sti_node *v = f->a; v && f->op == STI_WORD_LFN; v = v->next) {
            make_const(u, v);
            put_void(u, &f->b->a, v);
        }
    }
}
