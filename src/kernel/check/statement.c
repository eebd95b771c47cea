/*
 * Parses statements; see parser.h. The bodies of if, for, each and items are blocks in the tree, with or without
 * braces.
 */
#include "kernel/check/parser.h"

static sti_node *parse_statement(sti_parser *p);

/* Skips to the next statement: behind the ; or a block in braces, or before the } of the current block. */
static void recover(sti_parser *p)
{
    int braces = p->lists;
    while (p->t->kind != STI_TOKEN_END) {
        if (sti_parser_is(p, STI_OP_END) && braces == 0) return;
        bool end = sti_parser_is(p, STI_OP_END), done = sti_parser_is(p, STI_OP_SEMICOLON) && p->parens <= 0;
        braces += sti_parser_is(p, STI_OP_BEGIN) - end;
        sti_parser_pass(p);
        if (braces == 0 && (done || end)) return;
    }
}

/* Makes a block of a body with one statement. */
static sti_node *parse_body(sti_parser *p)
{
    if (sti_parser_is(p, STI_OP_BEGIN)) return sti_parse_block(p);
    sti_node *block = sti_parser_node(p, STI_NODE_BLOCK, p->t->place);
    if (!block) return NULL;
    if (sti_parser_at_type(p) || sti_parser_word(p, STI_WORD_SHARED) || sti_parser_word(p, STI_WORD_STAGED)) {
        sti_report_mistake(p->u, p->t->place, "a declaration stands in a block: write { … }");
        return NULL;
    }
    if (sti_parser_take(p, STI_OP_SEMICOLON)) return block;
    block->a = parse_statement(p);
    return block->a ? sti_parser_above(p, block) : NULL;
}

static sti_node *parse_if(sti_parser *p)
{
    sti_node *n = sti_parser_node(p, STI_NODE_IF, p->t->place);
    sti_parser_pass(p);
    if (!n || !sti_parser_expect(p, STI_OP_OPEN, "after if")) return NULL;
    n->a = sti_parse_expression(p);
    if (!n->a || !sti_parser_expect(p, STI_OP_CLOSE, "after the condition")) return NULL;
    n->b = parse_body(p);
    if (!n->b) return NULL;
    if (sti_parser_word(p, STI_WORD_ELSE)) {
        sti_parser_pass(p);
        n->c = parse_body(p);
        if (!n->c) return NULL;
    }
    return sti_parser_above(p, n);
}

/* Parses an expression as a statement, without the ;. */
static sti_node *parse_plain(sti_parser *p)
{
    sti_node *n = sti_parser_node(p, STI_NODE_EXPRESSION, p->t->place);
    if (!n) return NULL;
    n->a = sti_parse_expression(p);
    return n->a ? sti_parser_above(p, n) : NULL;
}

static sti_node *parse_declaration(sti_parser *p)
{
    const sti_type *named = sti_parser_type(p);
    return named ? sti_parse_variables(p, named) : NULL;
}

/* `rolled` before it means nothing here. */
static sti_node *parse_for(sti_parser *p)
{
    if (sti_parser_word(p, STI_WORD_ROLLED)) sti_parser_pass(p);
    sti_node *n = sti_parser_node(p, STI_NODE_FOR, p->t->place);
    if (!sti_parser_word(p, STI_WORD_FOR)) {
        sti_parser_unexpected(p, "for, behind rolled");
        return NULL;
    }
    sti_parser_pass(p);
    if (!n || !sti_parser_expect(p, STI_OP_OPEN, "after for")) return NULL;
    if (!sti_parser_is(p, STI_OP_SEMICOLON)) {
        n->a = sti_parser_at_type(p) ? parse_declaration(p) : parse_plain(p);
        if (!n->a) return NULL;
    }
    if (!sti_parser_expect(p, STI_OP_SEMICOLON, "after the first part of for")) return NULL;
    if (!sti_parser_is(p, STI_OP_SEMICOLON)) {
        n->b = sti_parse_expression(p);
        if (!n->b) return NULL;
    }
    if (!sti_parser_expect(p, STI_OP_SEMICOLON, "after the condition of for")) return NULL;
    if (!sti_parser_is(p, STI_OP_CLOSE)) {
        n->c = sti_parse_expression(p);
        if (!n->c) return NULL;
    }
    if (!sti_parser_expect(p, STI_OP_CLOSE, "after the last part of for")) return NULL;
    n->d = parse_body(p);
    return n->d ? sti_parser_above(p, n) : NULL;
}

/* each (i, count) body, items (p, count) body. */
static sti_node *parse_each(sti_parser *p)
{
    bool items = sti_parser_word(p, STI_WORD_ITEMS);
    sti_node *n = sti_parser_node(p, items ? STI_NODE_ITEMS : STI_NODE_EACH, p->t->place);
    sti_parser_pass(p);
    if (!n || !sti_parser_expect(p, STI_OP_OPEN, items ? "after items" : "after each")) return NULL;
    n->place = p->t->place;
    n->name = sti_parser_name(p, "the variable of the loop");
    if (!n->name || !sti_parser_expect(p, STI_OP_COMMA, "between the variable and the count")) return NULL;
    n->a = sti_parse_assignment(p);
    if (!n->a || !sti_parser_expect(p, STI_OP_CLOSE, "after the count")) return NULL;
    n->b = parse_body(p);
    return n->b ? sti_parser_above(p, n) : NULL;
}

/* shared(type, name, size); staged(type, name, source, size); */
static sti_node *parse_team_array(sti_parser *p)
{
    bool staged = sti_parser_word(p, STI_WORD_STAGED);
    sti_node *n = sti_parser_node(p, staged ? STI_NODE_STAGED : STI_NODE_SHARED, p->t->place);
    sti_parser_pass(p);
    if (!n || !sti_parser_expect(p, STI_OP_OPEN, staged ? "after staged" : "after shared")) return NULL;
    if (!sti_parser_at_type(p)) {
        sti_parser_unexpected(p, "the type of the elements");
        return NULL;
    }
    n->named = sti_parser_type(p);
    if (!n->named || !sti_parser_expect(p, STI_OP_COMMA, "after the type")) return NULL;
    n->place = p->t->place;
    n->name = sti_parser_name(p, "an array");
    if (!n->name || !sti_parser_expect(p, STI_OP_COMMA, "after the name")) return NULL;
    n->a = sti_parse_assignment(p);
    if (!n->a) return NULL;
    if (staged) {
        n->b = sti_parser_expect(p, STI_OP_COMMA, "after the source") ? sti_parse_assignment(p) : NULL;
        if (!n->b) return NULL;
    }
    return sti_parser_expect(p, STI_OP_CLOSE, "after the size") ? sti_parser_above(p, n) : NULL;
}

static sti_node *parse_sync(sti_parser *p)
{
    sti_node *n = sti_parser_node(p, STI_NODE_SYNC, p->t->place);
    sti_parser_pass(p);
    bool good = sti_parser_expect(p, STI_OP_OPEN, "after sync") && sti_parser_expect(p, STI_OP_CLOSE, "after sync(");
    return good ? n : NULL;
}

static sti_node *parse_jump(sti_parser *p)
{
    sti_word word = p->t->name->word;
    sti_node_kind kind = word == STI_WORD_RETURN  ? STI_NODE_RETURN
                         : word == STI_WORD_BREAK ? STI_NODE_BREAK
                                                  : STI_NODE_CONTINUE;
    sti_node *n = sti_parser_node(p, kind, p->t->place);
    sti_parser_pass(p);
    if (!n || word != STI_WORD_RETURN || sti_parser_is(p, STI_OP_SEMICOLON)) return n;
    n->a = sti_parse_expression(p);
    return n->a ? sti_parser_above(p, n) : NULL;
}

/* A statement that ends with ; */
static sti_node *parse_simple(sti_parser *p)
{
    sti_word word = p->t->kind == STI_TOKEN_NAME ? p->t->name->word : STI_WORD_NONE;
    sti_node *n;
    if (word == STI_WORD_SHARED || word == STI_WORD_STAGED)
        n = parse_team_array(p);
    else if (word == STI_WORD_SYNC)
        n = parse_sync(p);
    else if (word == STI_WORD_RETURN || word == STI_WORD_BREAK || word == STI_WORD_CONTINUE)
        n = parse_jump(p);
    else if (sti_parser_at_type(p))
        n = parse_declaration(p);
    else
        n = parse_plain(p);
    return n && sti_parser_expect(p, STI_OP_SEMICOLON, "at the end of the statement") ? n : NULL;
}

static sti_node *parse_statement(sti_parser *p)
{
    if (!sti_parser_enter(p)) return NULL;
    sti_node *n;
    if (sti_parser_is(p, STI_OP_BEGIN))
        n = sti_parse_block(p);
    else if (sti_parser_word(p, STI_WORD_IF))
        n = parse_if(p);
    else if (sti_parser_word(p, STI_WORD_FOR) || sti_parser_word(p, STI_WORD_ROLLED))
        n = parse_for(p);
    else if (sti_parser_word(p, STI_WORD_EACH) || sti_parser_word(p, STI_WORD_ITEMS))
        n = parse_each(p);
    else
        n = parse_simple(p);
    sti_parser_leave(p);
    return n;
}

sti_node *sti_parse_block(sti_parser *p)
{
    sti_node *block = sti_parser_node(p, STI_NODE_BLOCK, p->t->place);
    if (!block || !sti_parser_expect(p, STI_OP_BEGIN, "at the beginning of a block")) return NULL;
    sti_node **at = &block->a;
    int depth = 0;
    while (!sti_parser_is(p, STI_OP_END)) {
        if (p->t->kind == STI_TOKEN_END) {
            sti_report_mistake(p->u, block->place, "this block has no end: write }");
            return NULL;
        }
        if (sti_parser_take(p, STI_OP_SEMICOLON)) continue;
        int deep = p->depth;
        p->parens = p->lists = 0;
        *at = parse_statement(p);
        if (p->u->failed) return NULL;
        if (*at) {
            if ((*at)->depth > depth) depth = (*at)->depth;
            at = &(*at)->next;
        } else {
            block->op = 1;
            recover(p);
        }
        p->depth = deep;
    }
    sti_parser_pass(p);
    block->depth = depth + 1;
    return block;
}
