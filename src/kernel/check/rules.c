/*
 * Checks the rules of kernels and teams; see rules.h.
 */
#include "kernel/check/rules.h"

#include "kernel/check/flow.h"
#include "kernel/check/type.h"
#include "kernel/check/typing.h"
#include "kernel/signature.h"

#include <string.h>

typedef struct rules {
    sti_unit *u;
    sti_symbol *function;
    sti_node *each;  /* the each or items around this place */
    unsigned number; /* number of the each; increases from one to the next */
    bool one;        /* it has at most one iteration */
    bool in_order;   /* its iterations run one after the other here, on every device */
    int loops;       /* loops around this place, inside of the each */
    bool typed;      /* all types are right: then all writes are known */
} rules;

static bool is_kernel(const sti_symbol *f) { return f->word != STI_WORD_LFN; }

static const char *loop_of(const rules *r) { return r->each->kind == STI_NODE_ITEMS ? "items" : "each"; }

/* ---- writes ------------------------------------------------------------------------------------------------------ */

/* A write: to a place, or by a call through an argument. */
typedef struct writing {
    rules *r;
    const sti_node *at;   /* the expression whose address must vary; named in messages */
    const sti_node *call; /* NULL: an assignment */
    sti_source_place place;
    bool plainly;    /* reals are written without put */
    bool shared_out; /* the called function distributes the places over the team */
    bool reported;
} writing;

static bool is_memory(const sti_symbol *s)
{
    return s->kind == STI_SYMBOL_SHARED || (s->kind == STI_SYMBOL_PARAMETER && s->type && sti_type_points(s->type));
}

/* RULES-3: refuses memory of each thread that the team would fill together. */
static void refuse_private(writing *w, const sti_symbol *s)
{
    const char *name = s->name->text;
    if (s->kind == STI_SYMBOL_VARIABLE && s->type && s->type->kind == STI_TYPE_ARRAY)
        sti_report_mistake(
            w->r->u, w->place,
            "`%s` is an array of each thread, but the team fills it together: declare it shared(…, %s, …)", name, name);
    else
        sti_report_mistake(
            w->r->u, w->place,
            "`%s` is declared outside of %s: there, only elements of shared and a kernel's arrays are assigned", name,
            w->r->each ? loop_of(w->r) : "each");
    w->reported = true;
}

/*
 * True if a called function can write to different places in different iterations: through the pointer itself, or with
 * a whole number that it may use as an index. The last argument of the language's own functions is the value.
 */
static bool call_varies(const writing *w)
{
    if (sti_flow_varies(w->at, w->r->number)) return true;
    for (const sti_node *a = w->call->a; a; a = a->next) {
        bool value = w->call->symbol->kind == STI_SYMBOL_LIBRARY && !a->next;
        bool whole = a->type && (sti_type_integer(a->type) || sti_type_whole(a->type));
        if (whole && !value && sti_flow_varies(a, w->r->number)) return true;
    }
    return false;
}

static void write_in_each(writing *w, sti_symbol *s)
{
    rules *r = w->r;
    if (s->inside == r->number) return;
    if (!is_memory(s)) {
        if (!r->in_order) refuse_private(w, s);
        return;
    }
    s->written_in_each = true;
    if (r->one || r->in_order || (w->call ? call_varies(w) : sti_flow_varies(w->at, r->number))) return;
    if (w->call)
        sti_report_mistake(r->u, w->place,
                           "every iteration writes the same place of `%s`: let what is passed depend on `%s`",
                           s->name->text, r->each->name->text);
    else
        sti_report_mistake(r->u, w->place, "every iteration writes `%s`: let the index depend on `%s`",
                           sti_text(r->u, w->at), r->each->name->text);
    w->reported = true;
}

static void write_origin(sti_symbol *s, void *context)
{
    writing *w = context;
    rules *r = w->r;
    if (w->reported) return;
    s->written = true;
    bool lanes = s->kind == STI_SYMBOL_PARAMETER && s->type && s->type->kind == STI_TYPE_POINTER &&
                 s->type->of->kind == STI_TYPE_REAL;
    if (lanes && w->plainly) {
        s->written_plainly = true;
        if (is_kernel(r->function)) {
            if (w->call)
                sti_report_mistake(
                    r->u, w->place,
                    "`%s` is an array of this kernel, and %s writes it without put: write put(%s, i, x) there",
                    s->name->text, w->call->name->text, s->name->text);
            else
                sti_report_mistake(r->u, w->place, "`%s` is an array of this kernel: write put(%s, i, x)",
                                   s->name->text, s->name->text);
            w->reported = true;
            return;
        }
    }
    if (w->shared_out && !is_memory(s)) {
        refuse_private(w, s);
        return;
    }
    if (w->shared_out) s->written_in_each = true;
    if (r->each) write_in_each(w, s);
}

static void write_place(rules *r, sti_node *e)
{
    writing w = {.r = r, .at = e, .place = e->place, .plainly = e->type && e->type->kind == STI_TYPE_REAL};
    if (e->kind != STI_NODE_NAME) {
        sti_origins(e, write_origin, &w);
    } else if (e->symbol && r->each && e->symbol->inside != r->number) {
        sti_report_mistake(
            r->u, e->place,
            "`%s` is declared outside of %s: there, only elements of shared and a kernel's arrays are assigned",
            e->name->text, loop_of(r));
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void check_call(rules *r, sti_node *e)
{
    sti_symbol *f = e->symbol;
    if (!f) return;
    r->function->team |= f->team;
    r->function->items |= f->items;
    if (f->team && r->each)
        sti_report_mistake(
            r->u, e->place, "`%s` %s: it is called where the whole team comes, not within %s", e->name->text,
            f->kind == STI_SYMBOL_LIBRARY ? "is for a team" : "has each, items, sync or shared in it", loop_of(r));
    if (f->items && r->function->word == STI_WORD_WORLD_KERNEL)
        sti_report_mistake(r->u, e->place, "`%s` has items in it: in a world kernel lanes are worlds; use each",
                           e->name->text);
    int n = 0;
    for (sti_node *a = e->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(e, n);
        if (!p || !p->written || !a->type) continue;
        writing w = {.r = r,
                     .at = a,
                     .call = e,
                     .place = a->place,
                     .plainly = p->written_plainly,
                     .shared_out = p->written_in_each};
        sti_origins(a, write_origin, &w);
    }
}

/* Checks everything in a list of expressions. RULES-EFFECT-2: none has an effect, except where the caller allows it. */
static void check_expressions(rules *r, sti_node *n)
{
    for (; n; n = n->next) {
        bool step = n->kind == STI_NODE_POSTFIX ||
                    (n->kind == STI_NODE_UNARY && (n->op == STI_OP_INCREMENT || n->op == STI_OP_DECREMENT));
        if (n->type && (n->kind == STI_NODE_ASSIGN || step)) write_place(r, n->a);
        if (n->kind == STI_NODE_CALL) {
            check_call(r, n);
            if (sti_flow_writes(n->symbol))
                sti_report_mistake(
                    r->u, n->place,
                    "`%s` writes through a pointer within an expression: call it in a statement of its own, "
                    "f(…); or x = f(…);",
                    sti_text(r->u, n));
        }
        check_expressions(r, n->a);
        check_expressions(r, n->b);
        check_expressions(r, n->c);
        check_expressions(r, n->d);
    }
}

/* Checks a value that is a whole statement, the value of x = …; or a first value: here a call may have an effect. */
static void check_value(rules *r, sti_node *e)
{
    if (e && e->kind == STI_NODE_CALL) {
        check_call(r, e);
        check_expressions(r, e->a);
    } else if (e) {
        check_expressions(r, e);
    }
}

static void check_effect(rules *r, sti_node *e)
{
    if (e->kind == STI_NODE_COMMA) {
        check_effect(r, e->a);
        check_effect(r, e->b);
    } else if (e->kind == STI_NODE_ASSIGN && e->op == STI_OP_ASSIGN && e->a->kind == STI_NODE_NAME) {
        if (e->type) write_place(r, e->a);
        check_value(r, e->b);
    } else {
        check_value(r, e);
    }
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void check_list(rules *r, sti_node *n);

/* RULES-2: checks that the whole team arrives here. */
static bool team_comes(rules *r, const sti_node *n, const char *word)
{
    r->function->team = true;
    if (!r->each) return true;
    sti_report_mistake(r->u, n->place, "%s within %s: it stands where the whole team comes", word, loop_of(r));
    return false;
}

static void check_each(rules *r, sti_node *n)
{
    bool items = n->kind == STI_NODE_ITEMS;
    if (items) {
        r->function->items = true;
        if (r->function->word == STI_WORD_WORLD_KERNEL)
            sti_report_mistake(r->u, n->place, "items in a world kernel: its lanes are worlds; use each");
    }
    check_expressions(r, n->a);
    if (!team_comes(r, n, items ? "items" : "each")) return;
    int64_t count;
    r->each = n;
    r->number++;
    r->one = sti_constant(r->u, n->a, false, &count) && count <= 1;
    r->loops = 0;
    sti_flow_each(n, r->number);
    check_list(r, n->b);
    r->each = NULL;
}

static void check_jump(rules *r, const sti_node *n)
{
    if (r->each && n->kind == STI_NODE_RETURN)
        sti_report_mistake(r->u, n->place,
                           "return within %s: other threads of the team would go on; write continue, or if",
                           loop_of(r));
    if (r->each && n->kind == STI_NODE_BREAK && r->loops == 0)
        sti_report_mistake(r->u, n->place,
                           "break leaves %s: other threads of the team would go on; write continue, or if", loop_of(r));
}

static bool is_setting(const sti_node *e, const char *name)
{
    bool setting = e->kind == STI_NODE_NAME && e->symbol && e->symbol->kind == STI_SYMBOL_SETTING;
    return setting && strcmp(e->name->text, name) == 0;
}

bool sti_tests_order(const sti_node *n)
{
    return n->a->kind == STI_NODE_BINARY && n->a->op == STI_OP_EITHER && is_setting(n->a->a, "STET_GPU") &&
           is_setting(n->a->b, "STET_PERMUTE");
}

static void check_if(rules *r, sti_node *n)
{
    bool in_order = r->in_order;
    check_expressions(r, n->a);
    check_list(r, n->b);
    r->in_order |= sti_tests_order(n) && r->each && r->each->kind == STI_NODE_EACH;
    check_list(r, n->c);
    r->in_order = in_order;
}

static void check_statement(rules *r, sti_node *n)
{
    switch (n->kind) {
    case STI_NODE_EACH:
    case STI_NODE_ITEMS: check_each(r, n); break;
    case STI_NODE_SYNC: (void)team_comes(r, n, "sync()"); break;
    case STI_NODE_SHARED:
    case STI_NODE_STAGED:
        (void)team_comes(r, n, n->kind == STI_NODE_STAGED ? "staged" : "shared");
        check_expressions(r, n->a);
        break;
    case STI_NODE_IF: check_if(r, n); break;
    case STI_NODE_FOR:
        check_expressions(r, n->a);
        check_expressions(r, n->b);
        check_expressions(r, n->c);
        r->loops++;
        check_list(r, n->d);
        r->loops--;
        break;
    case STI_NODE_BLOCK: check_list(r, n->a); break;
    case STI_NODE_EXPRESSION: check_effect(r, n->a); break;
    case STI_NODE_DECLARE:
        for (sti_node *v = n->a; v; v = v->next) {
            check_value(r, v->a);
            check_expressions(r, v->b);
        }
        break;
    default: check_jump(r, n); check_expressions(r, n->a);
    }
}

static void check_list(rules *r, sti_node *n)
{
    for (; n; n = n->next) check_statement(r, n);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* RULES-5 */
static void check_parameter(sti_unit *u, const sti_node *f, const sti_node *v)
{
    sti_type_kind kind = v->named->kind;
    bool own = kind == STI_TYPE_REAL || kind == STI_TYPE_LINT, seen = kind == STI_TYPE_WREAL || kind == STI_TYPE_WINT;
    bool pointer = v->op == STI_OP_MUL, world = f->op == STI_WORD_WORLD_KERNEL;
    bool number = kind == STI_TYPE_UREAL || kind == STI_TYPE_INT || kind == STI_TYPE_I64;
    bool team = sti_type_team_element(v->named) != NULL;
    bool element = own || seen || number || team || kind == STI_TYPE_U32 || kind == STI_TYPE_U16 || kind == STI_TYPE_U8;
    const char *kernel = f->name->text, *name = v->name->text;
    if (v->b)
        sti_report_mistake(u, v->place, "kernel %s: parameter %s: write it as a pointer", kernel, name);
    else if (!element)
        sti_report_mistake(
            u, v->place,
            "kernel %s: parameter %s: it is real, lint, wreal, wint, treal, tlint, tint, ureal, int, i64, u32, "
            "u16 or u8",
            kernel, name);
    else if (own && !pointer)
        sti_report_mistake(u, v->place, "kernel %s: parameter %s: lanes can't be passed by value; use ureal or int",
                           kernel, name);
    else if (own && !world)
        sti_report_mistake(u, v->place,
                           "kernel %s: parameter %s: an item kernel sees arrays of worlds as wreal or wint", kernel,
                           name);
    else if (seen && world)
        sti_report_mistake(u, v->place, "kernel %s: parameter %s: a world kernel sees arrays of worlds as real or lint",
                           kernel, name);
    else if (!pointer && !number && !team)
        sti_report_mistake(u, v->place, "kernel %s: parameter %s: a scalar is int, i64 or ureal", kernel, name);
    else if (!pointer && v->named->is_const)
        sti_report_mistake(u, v->place, "kernel %s: parameter %s: a number is passed without const", kernel, name);
}

static void check_kernel(const rules *r, const sti_node *f)
{
    sti_unit *u = r->u;
    int n = 0;
    if (f->named->kind != STI_TYPE_VOID)
        sti_report_mistake(u, f->place, "kernel %s: a kernel returns void", f->name->text);
    for (const sti_node *v = f->a; v; v = v->next) {
        check_parameter(u, f, v);
        if (++n == STI_MAX_PARAMS + 1)
            sti_report_mistake(u, v->place, "kernel %s has more than %d parameters", f->name->text, STI_MAX_PARAMS);
        if (v->name->length >= STI_MAX_NAME)
            sti_report_mistake(u, v->place, "kernel %s: the name of parameter %d is too long: below %d letters",
                               f->name->text, n, STI_MAX_NAME);
        bool pointer = v->symbol && v->type && v->type->kind == STI_TYPE_POINTER;
        if (r->typed && pointer && !v->type->of->is_const && !v->symbol->written)
            sti_report_mistake(u, v->place, "kernel %s: parameter %s is never written: make it const", f->name->text,
                               v->name->text);
    }
    if (n == 0) sti_report_mistake(u, f->place, "kernel %s: a kernel without parameters does nothing", f->name->text);
    if (f->name->length >= STI_MAX_NAME)
        sti_report_mistake(u, f->place, "the name of a kernel is shorter than %d letters", STI_MAX_NAME);
}

void sti_check_rules(sti_unit *u)
{
    rules r = {.u = u, .typed = u->nmistake == 0};
    for (sti_node *f = u->top; f && !u->failed; f = f->next) {
        if (f->kind != STI_NODE_FUNCTION || !f->symbol) continue;
        r.function = f->symbol;
        if (!sti_flow_pointers(u, f->b)) return;
        check_list(&r, f->b->a);
        if (f->op != STI_WORD_LFN) check_kernel(&r, f);
    }
}
