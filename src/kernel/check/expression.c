/*
 * Parses expressions; see parser.h.
 */
#include "kernel/check/parser.h"

static sti_node *parse_unary(sti_parser *p);

/* ---- values ------------------------------------------------------------------------------------------------------ */

static sti_node *parse_arguments(sti_parser *p, sti_node *call)
{
    sti_node **at = &call->a;
    int depth = 0;
    if (!sti_parser_is(p, STI_OP_CLOSE)) {
        do {
            sti_node *value = sti_parse_assignment(p);
            if (!value) return NULL;
            if (value->depth > depth) depth = value->depth;
            *at = value;
            at = &value->next;
        } while (sti_parser_take(p, STI_OP_COMMA));
    }
    call->depth = depth + 1;
    return sti_parser_expect(p, STI_OP_CLOSE, "after the arguments") ? call : NULL;
}

static sti_node *parse_name(sti_parser *p)
{
    sti_source_place place = p->t->place;
    sti_name *name = p->t->name;
    if (name->word == STI_WORD_SYNC || name->word == STI_WORD_EACH || name->word == STI_WORD_ITEMS ||
        name->word == STI_WORD_SHARED || name->word == STI_WORD_STAGED) {
        sti_report_mistake(p->u, place, "%s is a statement of its own, not a value", name->text);
        return NULL;
    }
    name = sti_parser_name(p, "a value");
    sti_node *n = name ? sti_parser_node(p, STI_NODE_NAME, place) : NULL;
    if (!n) return NULL;
    n->name = name;
    if (!sti_parser_take(p, STI_OP_OPEN)) return n;
    n->kind = STI_NODE_CALL;
    return parse_arguments(p, n);
}

static sti_node *parse_sizeof(sti_parser *p)
{
    sti_node *n = sti_parser_node(p, STI_NODE_SIZEOF, p->t->place);
    sti_parser_pass(p);
    if (!n || !sti_parser_expect(p, STI_OP_OPEN, "after sizeof")) return NULL;
    if (!sti_parser_at_type(p)) {
        sti_parser_unexpected(p, "a type in sizeof(…)");
        return NULL;
    }
    n->named = sti_parser_type(p);
    return n->named && sti_parser_expect(p, STI_OP_CLOSE, "after the type of sizeof") ? n : NULL;
}

/* Parses a cast, after the parenthesis and at the type. */
static sti_node *parse_cast(sti_parser *p, sti_source_place place)
{
    sti_node *n = sti_parser_node(p, STI_NODE_CAST, place);
    const sti_type *t = n ? sti_parser_type(p) : NULL;
    if (!t) return NULL;
    n->named = t;
    n->op = sti_parser_take(p, STI_OP_MUL) ? STI_OP_MUL : STI_OP_NONE;
    if (!sti_parser_expect(p, STI_OP_CLOSE, "after the type of a cast")) return NULL;
    if (sti_parser_is(p, STI_OP_BEGIN)) {
        sti_report_mistake(p->u, p->t->place, "a list of values stands at the declaration of a variable only");
        return NULL;
    }
    n->a = parse_unary(p);
    return n->a ? sti_parser_above(p, n) : NULL;
}

static sti_node *parse_parentheses(sti_parser *p)
{
    sti_source_place place = p->t->place;
    sti_parser_pass(p);
    if (sti_parser_at_type(p)) return parse_cast(p, place);
    sti_node *n = sti_parse_expression(p);
    return n && sti_parser_expect(p, STI_OP_CLOSE, "after the expression") ? n : NULL;
}

static sti_node *parse_value(sti_parser *p)
{
    if (p->t->kind == STI_TOKEN_NUMBER) {
        sti_node *n = sti_parser_node(p, STI_NODE_NUMBER, p->t->place);
        if (n) n->name = p->t->name;
        sti_parser_pass(p);
        return n;
    }
    if (sti_parser_is(p, STI_OP_OPEN)) return parse_parentheses(p);
    if (sti_parser_word(p, STI_WORD_SIZEOF)) return parse_sizeof(p);
    if (p->t->kind == STI_TOKEN_NAME) return parse_name(p);
    if (p->t->kind == STI_TOKEN_TEXT)
        sti_report_mistake(p->u, p->t->place, "there are no strings and characters in a kernel: write numbers");
    else
        sti_parser_unexpected(p, "a value");
    return NULL;
}

/* ---- postfix and prefix operators -------------------------------------------------------------------------------- */

static sti_node *parse_behind(sti_parser *p)
{
    sti_node *n = parse_value(p);
    while (n) {
        sti_operator op = p->t->kind == STI_TOKEN_OP ? (sti_operator)p->t->op : STI_OP_NONE;
        sti_node_kind kind = op == STI_OP_LEFT                                  ? STI_NODE_INDEX
                             : op == STI_OP_DOT || op == STI_OP_ARROW           ? STI_NODE_MEMBER
                             : op == STI_OP_INCREMENT || op == STI_OP_DECREMENT ? STI_NODE_POSTFIX
                                                                                : STI_NODE_NUMBER;
        if (op == STI_OP_OPEN) {
            sti_report_mistake(p->u, p->t->place,
                               "only a function can be called, by its name: there are no pointers to functions");
            return NULL;
        }
        if (kind == STI_NODE_NUMBER) return n;
        sti_node *above = sti_parser_node(p, kind, p->t->place);
        sti_parser_pass(p);
        if (!above) return NULL;
        above->a = n;
        above->op = op == STI_OP_LEFT ? STI_OP_NONE : (int)op;
        if (kind == STI_NODE_INDEX) {
            above->b = sti_parse_assignment(p);
            if (!above->b || !sti_parser_expect(p, STI_OP_RIGHT, "after the index")) return NULL;
        } else if (kind == STI_NODE_MEMBER) {
            above->name = sti_parser_name(p, "a field");
            if (!above->name) return NULL;
        }
        n = sti_parser_above(p, above);
    }
    return n;
}

static bool is_before(sti_operator op)
{
    return op == STI_OP_SUB || op == STI_OP_ADD || op == STI_OP_NOT || op == STI_OP_INVERT || op == STI_OP_MUL ||
           op == STI_OP_AND || op == STI_OP_INCREMENT || op == STI_OP_DECREMENT;
}

static sti_node *parse_unary(sti_parser *p)
{
    if (!sti_parser_enter(p)) return NULL;
    sti_node *n;
    if (p->t->kind == STI_TOKEN_OP && is_before((sti_operator)p->t->op)) {
        n = sti_parser_node(p, STI_NODE_UNARY, p->t->place);
        int op = p->t->op;
        sti_parser_pass(p);
        if (n) {
            n->op = op;
            n->a = parse_unary(p);
            n = n->a ? sti_parser_above(p, n) : NULL;
        }
    } else {
        n = parse_behind(p);
    }
    sti_parser_leave(p);
    return n;
}

/* ---- operators between values ------------------------------------------------------------------------------------ */

static sti_node *parse_binary(sti_parser *p, int least)
{
    sti_node *left = parse_unary(p);
    while (left && p->t->kind == STI_TOKEN_OP && sti_op_precedence((sti_operator)p->t->op) >= least) {
        sti_node *n = sti_parser_node(p, STI_NODE_BINARY, p->t->place);
        int op = p->t->op;
        sti_parser_pass(p);
        if (!n) return NULL;
        n->op = op;
        n->a = left;
        n->b = parse_binary(p, sti_op_precedence((sti_operator)op) + 1);
        left = n->b ? sti_parser_above(p, n) : NULL;
    }
    return left;
}

/* Parses a conditional expression, after the ?. */
static sti_node *parse_choice(sti_parser *p, sti_node *out)
{
    if (!out || !sti_parser_enter(p)) return NULL;
    out->b = sti_parse_conditional(p);
    out->c = out->b && sti_parser_expect(p, STI_OP_COLON, "in a condition ? a : b") ? sti_parse_conditional(p) : NULL;
    sti_parser_leave(p);
    return out->c ? sti_parser_above(p, out) : NULL;
}

sti_node *sti_parse_conditional(sti_parser *p)
{
    sti_node *test = parse_binary(p, 1);
    if (!test || !sti_parser_is(p, STI_OP_QUESTION)) return test;
    sti_node *out = sti_parser_node(p, STI_NODE_CONDITION, p->t->place);
    sti_parser_pass(p);
    if (out) out->a = test;
    return parse_choice(p, out);
}

static bool is_assignment(sti_operator op) { return op == STI_OP_ASSIGN || sti_op_compound(op) != STI_OP_NONE; }

sti_node *sti_parse_assignment(sti_parser *p)
{
    sti_node *left = sti_parse_conditional(p);
    if (!left || p->t->kind != STI_TOKEN_OP) return left;
    sti_operator op = (sti_operator)p->t->op;
    if (!is_assignment(op)) return left;
    sti_node *n = sti_parser_node(p, STI_NODE_ASSIGN, p->t->place);
    sti_parser_pass(p);
    if (!n) return NULL;
    n->op = (int)op;
    n->a = left;
    n->b = sti_parse_conditional(p);
    if (n->b && p->t->kind == STI_TOKEN_OP && is_assignment((sti_operator)p->t->op)) {
        sti_report_mistake(p->u, p->t->place, "one assignment at a time: write two statements");
        return NULL;
    }
    return n->b ? sti_parser_above(p, n) : NULL;
}

sti_node *sti_parse_expression(sti_parser *p)
{
    sti_node *left = sti_parse_assignment(p);
    while (left && sti_parser_is(p, STI_OP_COMMA)) {
        sti_node *n = sti_parser_node(p, STI_NODE_COMMA, p->t->place);
        sti_parser_pass(p);
        if (!n) return NULL;
        n->a = left;
        n->b = sti_parse_assignment(p);
        left = n->b ? sti_parser_above(p, n) : NULL;
    }
    return left;
}
