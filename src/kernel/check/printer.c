/*
 * Prints trees; see printer.h.
 *
 * Parentheses are printed where precedence needs them, and where compilers would warn without them (& beside +, &&
 * beside
 * |). So printed kernels compile with the same warnings as written ones. Parentheses are no nodes and do not change the
 * tree.
 */
#include "kernel/check/printer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/plural.h"

#include <stdio.h>
#include <string.h>

enum { CUT = 72, UNARY = 20, BEHIND = 30 };

typedef struct printer {
    char *text;
    size_t size, capacity;
    bool fixed; /* the text does not grow: a longer one is cut */
    bool cut;
    bool failed;
    int indent;
} printer;

static void put_bytes(printer *p, const char *bytes, size_t n)
{
    if (p->failed || p->cut) return;
    if (p->size + n + 1 > p->capacity && p->fixed) {
        n = p->capacity - p->size - 1;
        p->cut = true;
    } else if (p->size + n + 1 > p->capacity) {
        size_t more = 2 * p->capacity + n + 1;
        if (sti_realloc(&p->text, more, "the text of a kernel") != STET_OK) {
            p->failed = true;
            return;
        }
        p->capacity = more;
    }
    memcpy(p->text + p->size, bytes, n);
    p->size += n;
    p->text[p->size] = 0;
}

static void put_printer(printer *p, const char *text) { put_bytes(p, text, strlen(text)); }

static void put_line(printer *p)
{
    put_printer(p, "\n");
    for (int i = 0; i < p->indent; ++i) put_printer(p, "    ");
}

static void put_type(printer *p, const sti_type *t)
{
    static const char *const words[] = {
#define WORD(word, tag) #word,
        STI_TYPE_WORDS(WORD)
#undef WORD
    };
    if (t->is_const) put_printer(p, "const ");
    put_printer(p, t->kind == STI_TYPE_STRUCT ? t->structure->name->text : words[t->kind]);
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static void put_expression(printer *p, const sti_node *e, int least);

static void put_list(printer *p, const sti_node *e)
{
    for (const sti_node *v = e; v; v = v->next) {
        if (v != e) put_printer(p, ", ");
        put_expression(p, v, -1);
    }
}

/* The precedence of an expression; -2: the lowest. */
static int strength(const sti_node *e)
{
    switch (e->kind) {
    case STI_NODE_COMMA: return -2;
    case STI_NODE_ASSIGN: return -1;
    case STI_NODE_CONDITION: return 0;
    case STI_NODE_BINARY: return sti_op_precedence((sti_operator)e->op);
    case STI_NODE_UNARY:
    case STI_NODE_CAST: return UNARY;
    default: return BEHIND;
    }
}

/* The least precedence of an operand that needs no parentheses. */
static int operand_strength(const sti_node *e, const sti_node *operand, bool right)
{
    int own = sti_op_precedence((sti_operator)e->op);
    if (operand->kind == STI_NODE_BINARY && operand->op != e->op) {
        int other = sti_op_precedence((sti_operator)operand->op);
        bool bits = e->op == STI_OP_AND || e->op == STI_OP_OR || e->op == STI_OP_XOR || e->op == STI_OP_SHL ||
                    e->op == STI_OP_SHR;
        bool compares = own == 6 || own == 7;
        if (bits || (compares && other <= 7) || (e->op == STI_OP_EITHER && operand->op == STI_OP_BOTH)) return UNARY;
    }
    bool compares_twice = (own == 6 || own == 7) && operand->kind == STI_NODE_BINARY &&
                          sti_op_precedence((sti_operator)operand->op) == own;
    if (compares_twice) return UNARY;
    return right ? own + 1 : own;
}

static void put_unary(printer *p, const sti_node *e)
{
    const char *op = sti_op_text((sti_operator)e->op);
    /* - -x, not --x. */
    bool apart = e->a->kind == STI_NODE_UNARY && sti_op_text((sti_operator)e->a->op)[0] == op[0];
    put_printer(p, op);
    if (apart) put_printer(p, " ");
    put_expression(p, e->a, UNARY);
}

static void put_cast(printer *p, const sti_node *e)
{
    put_printer(p, "(");
    put_type(p, e->named);
    put_printer(p, e->op == STI_OP_MUL ? " *)" : ")");
    put_expression(p, e->a, UNARY);
}

static void put_condition(printer *p, const sti_node *e)
{
    put_expression(p, e->a, 1);
    put_printer(p, " ? ");
    put_expression(p, e->b, 0);
    put_printer(p, " : ");
    put_expression(p, e->c, 0);
}

static void put_open(printer *p, const sti_node *e)
{
    switch (e->kind) {
    case STI_NODE_NUMBER:
    case STI_NODE_NAME: put_printer(p, p->fixed && e->name->shown ? e->name->shown : e->name->text); break;
    case STI_NODE_CALL:
        put_printer(p, e->name->text);
        put_printer(p, "(");
        put_list(p, e->a);
        put_printer(p, ")");
        break;
    case STI_NODE_INDEX:
        put_expression(p, e->a, BEHIND);
        put_printer(p, "[");
        put_expression(p, e->b, -1);
        put_printer(p, "]");
        break;
    case STI_NODE_MEMBER:
        put_expression(p, e->a, BEHIND);
        put_printer(p, sti_op_text((sti_operator)e->op));
        put_printer(p, e->name->text);
        break;
    case STI_NODE_POSTFIX:
        put_expression(p, e->a, BEHIND);
        put_printer(p, sti_op_text((sti_operator)e->op));
        break;
    case STI_NODE_UNARY: put_unary(p, e); break;
    case STI_NODE_CAST: put_cast(p, e); break;
    case STI_NODE_CONDITION: put_condition(p, e); break;
    case STI_NODE_SIZEOF:
        put_printer(p, "sizeof(");
        put_type(p, e->named);
        put_printer(p, ")");
        break;
    case STI_NODE_LIST:
        put_printer(p, "{");
        put_list(p, e->a);
        put_printer(p, "}");
        break;
    case STI_NODE_COMMA:
        put_expression(p, e->a, -2);
        put_printer(p, ", ");
        put_expression(p, e->b, -1);
        break;
    default: { /* BINARY, ASSIGN */
        bool assign = e->kind == STI_NODE_ASSIGN;
        put_expression(p, e->a, assign ? 0 : operand_strength(e, e->a, false));
        put_printer(p, " ");
        put_printer(p, sti_op_text((sti_operator)e->op));
        put_printer(p, " ");
        put_expression(p, e->b, assign ? 0 : operand_strength(e, e->b, true));
    }
    }
}

static void put_expression(printer *p, const sti_node *e, int least)
{
    if (p->cut) return;
    bool closed = strength(e) < least;
    if (closed) put_printer(p, "(");
    put_open(p, e);
    if (closed) put_printer(p, ")");
}

const char *sti_text(sti_unit *u, const sti_node *e)
{
    char text[CUT + 1] = "";
    printer p = {.text = text, .capacity = sizeof text, .fixed = true};
    put_expression(&p, e, -2);
    if (p.cut) memcpy(text + CUT - 3, "...", 4);
    const char *copy = sti_unit_copy(u, text);
    return copy ? copy : "";
}

const char *sti_text_whole(sti_unit *u, const sti_node *e)
{
    printer p = {0};
    put_expression(&p, e, -2);
    const char *copy = p.failed || !p.text ? NULL : sti_unit_copy(u, p.text);
    if (!copy) u->failed = true;
    sti_free(p.text);
    return copy ? copy : "";
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void put_statement(printer *p, const sti_node *n);

static void put_variable(printer *p, const sti_node *v)
{
    if (v->op == STI_OP_MUL) put_printer(p, "*");
    put_printer(p, v->name->text);
    for (const sti_node *size = v->b; size; size = size->next) {
        put_printer(p, "[");
        put_expression(p, size, 0);
        put_printer(p, "]");
    }
    if (!v->a) return;
    put_printer(p, " = ");
    put_expression(p, v->a, 0);
}

static void put_declaration(printer *p, const sti_node *n)
{
    put_type(p, n->named);
    for (const sti_node *v = n->a; v; v = v->next) {
        put_printer(p, v == n->a ? " " : ", ");
        put_variable(p, v);
    }
}

static void put_block(printer *p, const sti_node *block)
{
    put_printer(p, "{");
    p->indent++;
    for (const sti_node *n = block->a; n; n = n->next) {
        put_line(p);
        put_statement(p, n);
    }
    p->indent--;
    put_line(p);
    put_printer(p, "}");
}

static void put_if(printer *p, const sti_node *n)
{
    for (;;) {
        put_printer(p, "if (");
        put_expression(p, n->a, -2);
        put_printer(p, ") ");
        put_block(p, n->b);
        if (!n->c) return;
        put_printer(p, " else ");
        bool chain = n->c->a && n->c->a->kind == STI_NODE_IF && !n->c->a->next;
        if (!chain) break;
        n = n->c->a;
    }
    put_block(p, n->c);
}

static void put_for(printer *p, const sti_node *n)
{
    put_printer(p, "for (");
    if (n->a && n->a->kind == STI_NODE_DECLARE)
        put_declaration(p, n->a);
    else if (n->a)
        put_expression(p, n->a->a, -2);
    put_printer(p, n->b ? "; " : ";");
    if (n->b) put_expression(p, n->b, -2);
    put_printer(p, n->c ? "; " : ";");
    if (n->c) put_expression(p, n->c, -2);
    put_printer(p, ") ");
    put_block(p, n->d);
}

static void put_team(printer *p, const sti_node *n)
{
    bool loop = n->kind == STI_NODE_EACH || n->kind == STI_NODE_ITEMS;
    put_printer(p, n->kind == STI_NODE_EACH     ? "each ("
                   : n->kind == STI_NODE_ITEMS  ? "items ("
                   : n->kind == STI_NODE_SHARED ? "shared("
                                                : "staged(");
    if (!loop) {
        put_type(p, n->named);
        put_printer(p, ", ");
    }
    put_printer(p, n->name->text);
    put_printer(p, ", ");
    put_expression(p, n->a, -1);
    if (n->kind == STI_NODE_STAGED) {
        put_printer(p, ", ");
        put_expression(p, n->b, -1);
    }
    put_printer(p, loop ? ") " : ");");
    if (loop) put_block(p, n->b);
}

static void put_statement(printer *p, const sti_node *n)
{
    switch (n->kind) {
    case STI_NODE_BLOCK: put_block(p, n); break;
    case STI_NODE_DECLARE:
        put_declaration(p, n);
        put_printer(p, ";");
        break;
    case STI_NODE_IF: put_if(p, n); break;
    case STI_NODE_FOR: put_for(p, n); break;
    case STI_NODE_EACH:
    case STI_NODE_ITEMS:
    case STI_NODE_SHARED:
    case STI_NODE_STAGED: put_team(p, n); break;
    case STI_NODE_SYNC: put_printer(p, "sync();"); break;
    case STI_NODE_BREAK: put_printer(p, "break;"); break;
    case STI_NODE_CONTINUE: put_printer(p, "continue;"); break;
    case STI_NODE_RETURN:
        put_printer(p, n->a ? "return " : "return");
        if (n->a) put_expression(p, n->a, -1);
        put_printer(p, ";");
        break;
    default: /* EXPRESSION */ put_expression(p, n->a, -2); put_printer(p, ";");
    }
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static void put_function(printer *p, const sti_node *f)
{
    put_printer(p, f->op == STI_WORD_LFN ? "LFN " : f->op == STI_WORD_WORLD_KERNEL ? "world_kernel " : "item_kernel ");
    put_type(p, f->named);
    put_printer(p, " ");
    put_printer(p, f->name->text);
    put_printer(p, f->a ? "(" : "(void");
    for (const sti_node *v = f->a; v; v = v->next) {
        if (v != f->a) put_printer(p, ", ");
        put_type(p, v->named);
        put_printer(p, " ");
        put_variable(p, v);
    }
    put_printer(p, ")\n");
    put_block(p, f->b);
    put_printer(p, "\n");
}

static void put_structure(printer *p, const sti_node *n)
{
    put_printer(p, "typedef struct ");
    put_printer(p, n->name->text);
    put_printer(p, " {");
    p->indent++;
    for (const sti_node *d = n->a; d; d = d->next) {
        put_line(p);
        put_declaration(p, d);
        put_printer(p, ";");
    }
    p->indent--;
    put_printer(p, "\n} ");
    put_printer(p, n->name->text);
    put_printer(p, ";\n");
}

stet_result sti_unit_print(const sti_unit *unit, char **out)
{
    *out = NULL;
    if (unit->nmistake > 0)
        return sti_error(STET_ERROR_STATE, "a kernel source with %d mistake%s cannot be printed; correct it first",
                         unit->nmistake, STI_S(unit->nmistake));
    printer p = {0};
    put_printer(&p, "#include \"stet/lang.h\"\n");
    for (const sti_node *n = unit->top; n; n = n->next) {
        put_printer(&p, "\n");
        if (n->kind == STI_NODE_FUNCTION) {
            put_function(&p, n);
        } else if (n->kind == STI_NODE_STRUCT) {
            put_structure(&p, n);
        } else {
            put_printer(&p, "static ");
            put_declaration(&p, n);
            put_printer(&p, ";\n");
        }
    }
    if (p.failed) {
        sti_free(p.text);
        return STET_ERROR_OUT_OF_MEMORY;
    }
    *out = p.text;
    return STET_OK;
}
