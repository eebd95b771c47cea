/* Statements and functions of a source in checked mode; see instrument.h and work.h. */
#include "kernel/checked/instrument.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernel/checked/marks.h"
#include "kernel/check/printer.h"
#include "kernel/check/rules.h"
#include "kernel/check/type.h"
#include "kernel/checked/rewrite.h"

#include <string.h>

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void change_block(sti_rewrite *w, sti_node *block);

/* The variables of a declaration, each for itself, a pointer with its span behind it; returns the last. */
static sti_node *change_declaration(sti_rewrite *w, sti_node *n)
{
    sti_node *after = n->next;
    for (sti_node *v = n->a; v;) {
        sti_node *rest = v->next;
        bool index = v->symbol && sti_is_marked(v->symbol);
        const char *span = v->a ? sti_rewrite_change(w, v->a, index ? STI_AS_INDEX : 0) : NULL;
        if (v->type && v->type->kind == STI_TYPE_POINTER) {
            n->next = sti_rewrite_statement(
                w, sti_rewrite_format(w, "sti_span sti_s_%s = %s", v->name->text, span ? span : "sti_span_none()"));
            if (!n->next) return n;
            n = n->next;
            n->next = after;
        }
        v->next = NULL;
        if (rest) {
            sti_node *d = sti_unit_alloc(w->u, sizeof *d);
            if (!d) return n;
            *d = (sti_node){.kind = STI_NODE_DECLARE, .named = v->named ? v->named : NULL, .a = rest, .next = after};
            n->next = d;
            n = d;
        }
        v = rest;
    }
    return n;
}

/* A copy of what is staged, on every device, made with checks. */
static void change_staged(sti_rewrite *w, sti_node *n)
{
    int site = sti_rewrite_site(w, n->a, STI_SITE_READ);
    const char *type = sti_rewrite_type(w, n->named), *name = n->name->text, *size = sti_rewrite_text(w, n->b);
    const char *span = sti_rewrite_change(w, n->a, 0), *from = sti_rewrite_text(w, n->a);
    int root = n->symbol ? sti_rewrite_root(w, n->symbol) : 0;
    n->kind = STI_NODE_EXPRESSION;
    n->a = sti_rewrite_node(
        w, sti_rewrite_format(
               w,
               "shared(%s, sti_g_%s, %s); each (%s_i, %s) sti_g_%s[%s_i] = "
               "*(const %s *)sti_at(sti_c, %s, %s, %s_i, sizeof(%s), %d); sync(); "
               "const %s *%s = sti_g_%s; sti_span sti_s_%s = sti_span_of(%s, (i64)(%s) * (i64)sizeof(%s), %d)",
               type, name, size, name, size, name, name, type, from, span, name, type, site, type, name, name, name,
               name, size, type, root));
    n->b = NULL;
}

static void put_first(sti_rewrite *w, sti_node *block, const char *text)
{
    sti_node *s = sti_rewrite_statement(w, text);
    if (!s) return;
    s->next = block->a;
    block->a = s;
}

/* Returns the statement that then comes behind. */
static sti_node *put_behind(sti_rewrite *w, sti_node *n, const char *text)
{
    sti_node *s = sti_rewrite_statement(w, text);
    if (!s) return n;
    s->next = n->next;
    return n->next = s;
}

static void put_last(sti_rewrite *w, sti_node *block, const char *text)
{
    sti_node **at = &block->a;
    while (*at) at = &(*at)->next;
    *at = sti_rewrite_statement(w, text);
}

static void stop_in(sti_rewrite *w, sti_node *block, bool team)
{
    put_first(w, block, team ? "if (STI_STOP_TEAM) break" : "if (STI_STOP) break");
}

static const char *iteration_text(sti_rewrite *w)
{
    return sti_rewrite_format(w, "STI_ITERATION(%s, %s)", w->each->name->text,
                              w->each->kind == STI_NODE_ITEMS ? "STET_W" : "1");
}

/* The each stands in a block then, behind its number. */
static void number_each(sti_rewrite *w, sti_node *n)
{
    sti_node *loop = sti_unit_alloc(w->u, sizeof *loop);
    if (!loop) return;
    *loop = *n;
    loop->next = NULL;
    *n = (sti_node){.kind = STI_NODE_BLOCK, .place = n->place, .a = loop, .next = n->next};
    put_first(w, n, "STI_EACH");
    put_last(w, n, "STI_UNWATCHED");
}

static void change_each(sti_rewrite *w, sti_node *n)
{
    int64_t value;
    bool known = sti_constant(w->u, n->a, false, &value);
    int site = known ? 0 : sti_rewrite_site(w, n->a, STI_SITE_COUNT);
    (void)sti_rewrite_change(w, n->a, STI_AS_INDEX);
    if (!known)
        sti_rewrite_replace(w, n->a,
                            sti_rewrite_format(w, "sti_count(sti_c, %s, %d)", sti_rewrite_text(w, n->a), site));
    w->apart = true;
    w->each = n;
    change_block(w, n->b);
    stop_in(w, n->b, false);
    put_first(w, n->b, iteration_text(w));
    w->apart = false;
    number_each(w, n);
}

/* In the else of `if (STET_GPU || STET_PERMUTE)` in an each, iterations run one after the other on every device. */
static void change_if(sti_rewrite *w, sti_node *n)
{
    const bool in_order = w->apart && sti_tests_order(n);
    (void)sti_rewrite_change(w, n->a, 0);
    change_block(w, n->b);
    if (!n->c) return;
    change_block(w, n->c);
    if (!in_order || n->c->kind != STI_NODE_BLOCK) return;
    put_first(w, n->c, "STI_UNWATCHED");
    put_last(w, n->c, iteration_text(w));
}

/* Pointers that begin in a for come before it, with their spans. */
static void change_for(sti_rewrite *w, sti_node *n)
{
    bool pointers = false;
    for (const sti_node *v = n->a && n->a->kind == STI_NODE_DECLARE ? n->a->a : NULL; v; v = v->next)
        pointers |= v->type && v->type->kind == STI_TYPE_POINTER;
    if (pointers) {
        sti_node *loop = sti_unit_alloc(w->u, sizeof *loop), *begin = n->a;
        if (!loop) return;
        *loop = *n;
        loop->a = loop->next = NULL;
        begin->next = loop;
        *n = (sti_node){.kind = STI_NODE_BLOCK, .place = n->place, .a = begin, .next = n->next};
        change_block(w, n);
        return;
    }
    if (n->a && n->a->kind == STI_NODE_DECLARE)
        for (sti_node *v = n->a->a; v; v = v->next) {
            if (v->a) (void)sti_rewrite_change(w, v->a, v->symbol && sti_is_marked(v->symbol) ? STI_AS_INDEX : 0);
        }
    else if (n->a)
        (void)sti_rewrite_change(w, n->a->a, 0);
    if (n->b) (void)sti_rewrite_change(w, n->b, 0);
    if (n->c) (void)sti_rewrite_change(w, n->c, 0);
    change_block(w, n->d);
    stop_in(w, n->d, !w->apart && w->function->symbol->team);
}

static sti_node *change_statement(sti_rewrite *w, sti_node *n)
{
    switch (n->kind) {
    case STI_NODE_BLOCK: change_block(w, n); break;
    case STI_NODE_DECLARE: return change_declaration(w, n);
    case STI_NODE_IF: change_if(w, n); break;
    case STI_NODE_SYNC: return put_behind(w, n, "sti_sync_seen()");
    case STI_NODE_FOR: change_for(w, n); break;
    case STI_NODE_EACH:
    case STI_NODE_ITEMS: change_each(w, n); break;
    case STI_NODE_STAGED: change_staged(w, n); break;
    case STI_NODE_EXPRESSION:
    case STI_NODE_RETURN:
        if (n->a) (void)sti_rewrite_change(w, n->a, 0);
        break;
    default: break;
    }
    return n;
}

static void change_block(sti_rewrite *w, sti_node *block)
{
    for (sti_node *n = block->a; n && w->result == STET_OK && !w->u->failed; n = n->next) n = change_statement(w, n);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* A parameter whose type is this text. */
static void add_parameter(sti_rewrite *w, sti_node *f, const char *type, const char *name)
{
    sti_node **at = &f->a, *v = sti_rewrite_node(w, name);
    sti_structure *s = sti_unit_alloc(w->u, sizeof *s);
    sti_node *written = sti_rewrite_node(w, type);
    if (!v || !s || !written) return;
    s->name = written->name;
    s->type[0] = (sti_type){.kind = STI_TYPE_STRUCT, .structure = s};
    v->kind = STI_NODE_VARIABLE;
    v->named = &s->type[0];
    while (*at) at = &(*at)->next;
    *at = v;
}

static void open_function(sti_rewrite *w, sti_node *f)
{
    add_parameter(w, f, "sti_watch *", "sti_c");
    for (const sti_symbol *p = f->symbol->parameter; p; p = p->next)
        if (p->type && p->type->kind == STI_TYPE_POINTER)
            add_parameter(w, f, "sti_span", sti_rewrite_format(w, "sti_s_%s", p->name->text));
}

/* Room for the largest thing that an access may be of. */
static const char *sink_text(sti_rewrite *w)
{
    const char *text = "union { real sti_r[16]; i64 sti_i[16];";
    int k = 0;
    for (const sti_node *n = w->u->top; n; n = n->next)
        if (n->kind == STI_NODE_STRUCT) text = sti_rewrite_format(w, "%s %s sti_m%d;", text, n->name->text, k++);
    return sti_rewrite_format(w, "%s } __attribute__((aligned(16))) sti_sink", text);
}

static void open_kernel(sti_rewrite *w, sti_node *f)
{
    bool world = f->op == STI_WORD_WORLD_KERNEL;
    const char *given = world ? "world" : "block";
    int slot = 0;
    sti_node *first = sti_rewrite_statement(w, sink_text(w)), *last = first;
    sti_node *spans = NULL, **at = &spans;
    for (const sti_node *v = f->a; v; v = v->next) {
        const sti_type *t = v->type;
        if (t->kind == STI_TYPE_INT && strcmp(v->name->text, given) == 0) continue;
        if (t->kind == STI_TYPE_POINTER) {
            *at = sti_rewrite_statement(
                w, sti_rewrite_format(w, "sti_span sti_s_%s = sti_span_array(%s, sti_slots, %d, sizeof(%s), %d%s)",
                                      v->name->text, v->name->text, slot, sti_rewrite_type(w, sti_type_value(t->of)),
                                      slot + 1, t->of->is_const ? "" : " | STI_SHARED_ROOT"));
            if (*at) at = &(*at)->next;
        }
        ++slot;
    }
    if (!last) return;
    last->next = sti_rewrite_statement(
        w, sti_rewrite_format(w,
                              "sti_watch sti_watched = sti_watch_open(sti_slots, %d, sti_block, %d, &sti_sink, "
                              "sizeof sti_sink), *sti_c = &sti_watched",
                              slot, world));
    if (!last->next) return;
    *at = f->b->a;
    last->next->next = spans;
    f->b->a = first;
    add_parameter(w, f, "const void *", "sti_slots");
    add_parameter(w, f, "i64", "sti_block");
}

static stet_result change_unit(sti_rewrite *w)
{
    for (sti_node *f = w->u->top; f; f = f->next) {
        if (f->kind != STI_NODE_FUNCTION) continue;
        w->function = f;
        sti_mark_indices(f);
        change_block(w, f->b);
        if (w->result != STET_OK || w->u->failed) break;
        if (f->op == STI_WORD_LFN)
            open_function(w, f);
        else
            open_kernel(w, f);
    }
    if (w->u->failed && w->result == STET_OK)
        return sti_error(STET_ERROR_OUT_OF_MEMORY, "checked mode: out of memory while a kernel was printed");
    return w->result;
}

stet_result sti_unit_instrument(sti_unit *unit, char **text, sti_sites *sites)
{
    static const char language[] = "#include \"stet/lang.h\"\n", own[] = "#include \"stet/lang_checked.h\"\n";
    *text = NULL;
    *sites = (sti_sites){0};
    sti_rewrite w = {.u = unit, .sites = sites};
    char *printed = NULL;
    STI_TRY(change_unit(&w));
    STI_TRY(sti_unit_print(unit, &printed));
    size_t head = sizeof language - 1, more = sizeof own - 1, size = strlen(printed);
    stet_result result = sti_alloc(text, size + more + 1, "the text of a checked kernel");
    if (result == STET_OK) {
        memcpy(*text, printed, head);
        memcpy(*text + head, own, more);
        memcpy(*text + head + more, printed + head, size - head + 1);
    }
    sti_free(printed);
    return result;
}
