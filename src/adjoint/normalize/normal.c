/*
 * Brings a function's body to normal form; see normalize.h.
 *
 * Jumps are replaced by branches: what follows an `if` that jumps goes into its other branch, or behind a flag that the
 * jump clears. A loop that is left early gets a second flag in its condition.
 */
#include "adjoint/normalize/normalize.h"
#include "kernel/check/type.h"

/* The target of jumps: the body of a loop, or of the function. */
typedef struct level {
    struct level *up;
    sti_node *loop;       /* NULL: the function */
    bool tail;            /* nothing follows the loop in the level above */
    sti_symbol *go, *run; /* flags, if they are needed */
} level;

typedef struct normaliser {
    sti_transform *t;
    level *at;
    sti_symbol *result; /* of an early return */
} normaliser;

static void normalise_list(normaliser *n, sti_node **list, bool tail);

static sti_node *set_flag(normaliser *n, sti_symbol **flag, const char *stem, int value, sti_source_place place)
{
    if (!*flag) *flag = sti_build_symbol(n->t, stem, sti_type_basic(STI_TYPE_INT, false), place);
    return sti_build_assign(n->t, *flag, sti_build_number(n->t, value, place));
}

/* ---- jumps ------------------------------------------------------------------------------------------------------- */

/* True if control may leave this level's list within a statement. */
static bool jumps(const sti_node *s, bool in_loop)
{
    for (; s; s = s->next) {
        if (s->kind == STI_NODE_RETURN) return true;
        if (!in_loop && (s->kind == STI_NODE_BREAK || s->kind == STI_NODE_CONTINUE)) return true;
        if (s->kind == STI_NODE_IF && (jumps(s->b->a, in_loop) || (s->c && jumps(s->c->a, in_loop)))) return true;
        if (s->kind == STI_NODE_BLOCK && jumps(s->a, in_loop)) return true;
        if (s->kind == STI_NODE_FOR && jumps(s->d->a, true)) return true;
    }
    return false;
}

static bool jumps_alone(sti_node *s)
{
    sti_node *next = s->next;
    s->next = NULL;
    bool yes = jumps(s, false);
    s->next = next;
    return yes;
}

/* True if control never reaches the end of a list. */
static bool always_jumps(const sti_node *s)
{
    for (; s; s = s->next) {
        if (s->kind == STI_NODE_RETURN || s->kind == STI_NODE_BREAK || s->kind == STI_NODE_CONTINUE) return true;
        if (s->kind == STI_NODE_BLOCK && always_jumps(s->a)) return true;
        if (s->kind == STI_NODE_IF && s->c && always_jumps(s->b->a) && always_jumps(s->c->a)) return true;
    }
    return false;
}

/* Replaces a jump: clears flags and stores a result. Statements behind it are never reached. */
static sti_node *replace_jump(normaliser *n, const sti_node *s, bool tail)
{
    sti_node *first = NULL, **at = &first;
    if (s->kind == STI_NODE_RETURN && s->a) {
        if (!n->result) n->result = sti_build_symbol(n->t, "result", n->t->function->symbol->type, s->place);
        *at = sti_build_assign(n->t, n->result, s->a);
        at = &(*at)->next;
    }
    bool leaves = s->kind != STI_NODE_CONTINUE, all = s->kind == STI_NODE_RETURN;
    for (level *l = n->at; l; tail = l->tail, l = l->up) {
        if (leaves && l->loop) {
            *at = set_flag(n, &l->run, "run", 0, s->place);
            at = &(*at)->next;
        }
        if (!tail) {
            *at = set_flag(n, &l->go, "go", 0, s->place);
            at = &(*at)->next;
        }
        if (!all) break;
    }
    return first;
}

static void add_to_block(sti_node *block, sti_node *rest) { *sti_end_of(&block->a) = rest; }

/* Moves what follows an `if` that may jump into its branches. */
static void take_in_rest(normaliser *n, sti_node *s)
{
    sti_node *rest = s->next;
    if (!rest) return;
    if (always_jumps(s->b->a)) {
        if (!s->c) s->c = sti_build(n->t, STI_NODE_BLOCK, rest->place);
        add_to_block(s->c, rest);
        s->next = NULL;
    } else if (s->c && always_jumps(s->c->a)) {
        add_to_block(s->b, rest);
        s->next = NULL;
    }
}

/* Puts what follows a statement that may jump behind the flag. */
static void guard_rest(normaliser *n, sti_node *s)
{
    sti_node *rest = s->next;
    if (!rest || !n->at->go) return;
    s->next = sti_build_if(n->t, sti_build_name(n->t, n->at->go, rest->place), rest);
}

static sti_node *flag_up(normaliser *n, sti_symbol *flag)
{
    return sti_build_declare(n->t, flag, sti_build_number(n->t, 1, flag->place));
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static bool assigns_reals(const sti_node *e)
{
    if (!e) return false;
    if (e->kind == STI_NODE_COMMA) return assigns_reals(e->a) || assigns_reals(e->b);
    return e->kind == STI_NODE_ASSIGN && e->type && sti_type_carries(e->type);
}

enum { MOST_PARTS = 16 };

static int split_parts(sti_node *e, sti_node **part, int n)
{
    if (e->kind == STI_NODE_COMMA) {
        n = split_parts(e->a, part, n);
        return n < 0 ? n : split_parts(e->b, part, n);
    }
    if (n == MOST_PARTS) return -1;
    part[n] = e;
    return n + 1;
}

static sti_node *as_statement(normaliser *n, sti_node *e)
{
    sti_node *s = sti_build(n->t, STI_NODE_EXPRESSION, e->place);
    s->a = e;
    return s;
}

/*
 * For loops such as for (int k = …; …; s = s * t, ++k): everything but the step of the loop's own variable moves to the
 * end of the body. NULL: there is nothing else, or moving it would change the result.
 */
static sti_node *take_parts(normaliser *n, sti_node *s)
{
    sti_node *part[MOST_PARTS], *first = NULL, **at = &first;
    int count = s->a && s->c && s->c->kind == STI_NODE_COMMA ? split_parts(s->c, part, 0) : 0, own = -1;
    for (int i = 0; i < count; ++i)
        if (part[i]->a && part[i]->a->kind == STI_NODE_NAME && part[i]->a->symbol == s->a->a->symbol)
            own = own < 0 ? i : count;
    if (own < 0 || own == count) return NULL;
    for (int i = own + 1; i < count; ++i)
        if (sti_mentions(part[i], part[own]->a->symbol)) return NULL;
    for (int i = 0; i < count; ++i) {
        if (i == own) continue;
        *at = as_statement(n, part[i]);
        at = &(*at)->next;
    }
    s->c = part[own];
    return first;
}

/* True if a loop's first part must move before the loop: it does not declare just one whole number. */
static bool begins_apart(const sti_node *s)
{
    if (!s->a) return false;
    if (s->a->kind != STI_NODE_DECLARE) return true;
    return s->a->a->next || !sti_type_integer(sti_type_value(s->a->a->type)) || s->a->a->b;
}

static sti_node *with_flag(normaliser *n, sti_symbol *run, sti_node *test)
{
    sti_node *name = sti_build_name(n->t, run, run->place);
    if (!test) return name;
    sti_node *both = sti_build(n->t, STI_NODE_BINARY, test->place);
    both->op = STI_OP_BOTH;
    both->type = sti_type_basic(STI_TYPE_INT, false);
    both->a = name;
    both->b = test;
    return both;
}

/* Puts a loop and what it declares into a block of its own. */
static void wrap(normaliser *n, sti_node *s, sti_node *before)
{
    sti_node *loop = sti_build(n->t, STI_NODE_FOR, s->place), *next = s->next;
    *loop = *s;
    loop->next = NULL;
    *s = (sti_node){.kind = STI_NODE_BLOCK, .place = s->place, .next = next, .a = before};
    *sti_end_of(&s->a) = loop;
}

static void normalise_loop(normaliser *n, sti_node *s, bool tail)
{
    level own = {.up = n->at, .loop = s, .tail = tail};
    sti_node *before = NULL, *last = NULL;
    bool each = s->kind != STI_NODE_FOR;
    sti_node **body = each ? &s->b->a : &s->d->a;
    n->at = &own;
    if (!each && begins_apart(s)) {
        before = s->a;
        s->a = NULL;
    }
    bool leaves = jumps(*body, false);
    if (!each) last = take_parts(n, s);
    if (!each && !last && s->c && (assigns_reals(s->c) || (leaves && !s->a))) {
        last = as_statement(n, s->c);
        s->c = NULL;
    }
    normalise_list(n, body, last == NULL);
    if (last && own.run) last = sti_build_if(n->t, sti_build_name(n->t, own.run, s->place), last);
    if (last) normalise_list(n, &last, true);
    *sti_end_of(body) = last;
    if (own.go) {
        sti_node *up = flag_up(n, own.go);
        up->next = *body;
        *body = up;
    }
    n->at = own.up;
    if (before) normalise_list(n, &before, true);
    if (own.run) {
        sti_note_of(n->t, own.run)->flag = true;
        s->b = with_flag(n, own.run, s->b);
        *sti_end_of(&before) = flag_up(n, own.run);
    }
    if (before) wrap(n, s, before);
}

/* ---- single statements ------------------------------------------------------------------------------------------- */

/* Splits real a = …, b = …; into two declarations. */
static void split_declaration(normaliser *n, sti_node *s)
{
    for (; s->a->next && !n->t->u->failed; s = s->next) {
        sti_node *rest = sti_build(n->t, STI_NODE_DECLARE, s->place);
        *rest = *s;
        rest->a = s->a->next;
        s->a->next = NULL;
        s->next = rest;
    }
}

static void split_comma(normaliser *n, sti_node *s)
{
    while (s->a->kind == STI_NODE_COMMA && !n->t->u->failed) {
        sti_node *comma = s->a, *second = as_statement(n, comma->b);
        second->next = s->next;
        s->next = second;
        s->a = comma->a;
    }
}

/* Expands a += b of reals to a = a + b. */
static void expand_assignment(normaliser *n, sti_node *e)
{
    sti_operator op = sti_op_compound((sti_operator)e->op);
    if (op == STI_OP_NONE || !e->type || !sti_type_real(e->type)) return;
    sti_node *sum = sti_build(n->t, STI_NODE_BINARY, e->place);
    sum->op = (int)op;
    sum->type = sti_type_value(e->type);
    sum->a = e->a;
    sum->b = e->b;
    e->op = STI_OP_ASSIGN;
    e->b = sum;
}

static void normalise_expression(normaliser *n, sti_node ***at, sti_node *s)
{
    split_comma(n, s);
    sti_node *e = s->a;
    if (e->kind == STI_NODE_ASSIGN) {
        expand_assignment(n, e);
        bool effect = e->b->kind == STI_NODE_CALL && sti_flow_writes(e->b->symbol);
        sti_take_out_calls(n->t, at, e->b, e->a->kind == STI_NODE_NAME && !effect);
    } else if (e->kind == STI_NODE_CALL) {
        sti_take_out_calls(n->t, at, e, true);
    }
}

static void normalise_declaration(normaliser *n, sti_node ***at, sti_node *s)
{
    split_declaration(n, s);
    if (s->a->a) sti_take_out_calls(n->t, at, s->a->a, true);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void normalise_if(normaliser *n, sti_node *s, bool tail)
{
    bool leaves = jumps_alone(s);
    if (leaves) take_in_rest(n, s);
    bool last = tail && !s->next;
    normalise_list(n, &s->b->a, last || !leaves);
    if (s->c) normalise_list(n, &s->c->a, last || !leaves);
    if (leaves) guard_rest(n, s);
}

/* Normalises one statement at *at, which may move on. */
static void normalise_statement(normaliser *n, sti_node ***at, bool tail)
{
    sti_node *s = **at;
    switch (s->kind) {
    case STI_NODE_DECLARE: normalise_declaration(n, at, s); break;
    case STI_NODE_EXPRESSION: normalise_expression(n, at, s); break;
    case STI_NODE_IF: normalise_if(n, s, tail); break;
    case STI_NODE_BLOCK: {
        bool leaves = jumps_alone(s);
        normalise_list(n, &s->a, (tail && !s->next) || !leaves);
        if (leaves) guard_rest(n, s);
        break;
    }
    case STI_NODE_FOR:
    case STI_NODE_EACH:
    case STI_NODE_ITEMS: {
        bool leaves = jumps_alone(s);
        normalise_loop(n, s, tail && !s->next);
        if (leaves) guard_rest(n, s);
        break;
    }
    case STI_NODE_BREAK:
    case STI_NODE_CONTINUE:
    case STI_NODE_RETURN:
        if (s->a) sti_take_out_calls(n->t, at, s->a, false);
        **at = replace_jump(n, s, tail);
        while (**at && (**at)->next) *at = &(**at)->next;
        break;
    default: break;
    }
}

static void normalise_list(normaliser *n, sti_node **list, bool tail)
{
    for (sti_node **at = list; *at && !n->t->u->failed; at = &(*at)->next) {
        normalise_statement(n, &at, tail);
        if (!*at) return;
    }
}

void sti_normalise(sti_transform *t, sti_node *f)
{
    level whole = {0};
    normaliser n = {.t = t, .at = &whole};
    sti_node **last = &f->b->a;
    while (*last && (*last)->next) last = &(*last)->next;
    sti_node *end = *last && (*last)->kind == STI_NODE_RETURN ? *last : NULL;
    sti_node **before = &f->b->a;
    for (; *before && *before != end; before = &(*before)->next) {
    }
    *before = NULL;
    bool early = jumps(f->b->a, false);
    if (early && end) *before = end, end = NULL;
    normalise_list(&n, &f->b->a, true);
    if (n.result) {
        end = sti_build(t, STI_NODE_RETURN, f->place);
        end->a = sti_build_name(t, n.result, f->place);
        sti_node *d = sti_build_declare(t, n.result, NULL);
        d->next = f->b->a;
        f->b->a = d;
    }
    if (end && end->a) {
        sti_node **tail = sti_end_of(&f->b->a), **at = tail;
        *tail = end;
        sti_take_out_calls(t, &at, end->a, false);
    }
    if (whole.go) {
        sti_node *up = flag_up(&n, whole.go);
        up->next = f->b->a;
        f->b->a = up;
    }
}
