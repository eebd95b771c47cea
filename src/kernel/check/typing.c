/*
 * Types statements and functions; see typing.h.
 */
#include "kernel/check/typing.h"

#include <string.h>

static void type_block(sti_typing *t, sti_node *block);

static void type_if(sti_typing *t, sti_node *n)
{
    sti_type_test(t, n->a, "if");
    type_block(t, n->b);
    if (n->c) type_block(t, n->c);
}

static void type_for(sti_typing *t, sti_node *n)
{
    sti_scope_open(t);
    if (n->a && n->a->kind == STI_NODE_DECLARE && sti_is_bundle(n->a->named))
        sti_report_mistake(t->u, n->a->place, "a structure with pointers is declared before the loop");
    else if (n->a && n->a->kind == STI_NODE_DECLARE)
        sti_type_declare(t, n->a, STI_SYMBOL_VARIABLE);
    else if (n->a)
        sti_type_effect(t, n->a->a);
    if (n->b) sti_type_test(t, n->b, "for");
    if (n->c) sti_type_effect(t, n->c);
    t->loops++;
    type_block(t, n->d);
    t->loops--;
    sti_scope_close(t);
}

/* The language's macros declare variables: each (i, n) has i_n, i_k and i_s; shared and staged of x have x_ and x_i. */
static void refuse_hidden(sti_typing *t, const sti_node *n, const char *const *end, const char *macro)
{
    char hidden[256];
    size_t length = n->name->length;
    if (length + 3 > sizeof hidden) return;
    memcpy(hidden, n->name->text, length);
    for (; *end; ++end) {
        size_t more = strlen(*end);
        memcpy(hidden + length, *end, more + 1);
        const sti_name *name = sti_unit_name(t->u, hidden, length + more);
        if (name && name->symbol)
            sti_report_mistake(t->u, n->place, "%s uses the name %s itself, for `%s`: rename one of the two", macro,
                               hidden, n->name->text);
    }
}

static void type_each(sti_typing *t, sti_node *n)
{
    const sti_type *count = sti_type_decayed(t, n->a), *whole = sti_type_basic(STI_TYPE_INT, false);
    (void)sti_type_convert(t, n->a, count, whole, "the count of a loop", NULL);
    static const char *const ends[] = {"_n", "_k", "_s", NULL};
    refuse_hidden(t, n, ends, n->kind == STI_NODE_ITEMS ? "items" : "each");
    sti_scope_open(t);
    (void)sti_declare(t, STI_SYMBOL_LOOP, n, whole);
    t->loops++;
    type_block(t, n->b);
    t->loops--;
    sti_scope_close(t);
}

static bool is_number(const sti_type *type) { return sti_type_lanes(type) || sti_type_plain(type); }

static void type_team_array(sti_typing *t, sti_node *n)
{
    const sti_type *element = sti_type_value(n->named), *type = NULL;
    sti_node *size = n->kind == STI_NODE_STAGED ? n->b : n->a;
    const char *word = n->kind == STI_NODE_STAGED ? "staged" : "shared";
    static const char *const ends[] = {"_", "_i", NULL};
    int64_t count;
    bool good = sti_type_count(t, size, &count);
    refuse_hidden(t, n, ends, word);
    if (!is_number(element) || n->named->is_const || element->kind == STI_TYPE_WREAL ||
        element->kind == STI_TYPE_WINT) {
        sti_report_mistake(t->u, n->place, "%s(…): elements are real, lint, mask, ureal, int, i64, u64, u32, u16 or u8",
                           word);
        good = false;
    }
    if (n->kind == STI_NODE_STAGED) {
        const sti_type *from = sti_type_decayed(t, n->a), *constant = sti_type_basic(element->kind, true);
        type = good ? sti_type_pointer(t->u, constant) : NULL;
        if (type) (void)sti_type_convert(t, n->a, from, type, "the source of staged", NULL);
    } else if (good) {
        type = sti_type_array(t->u, element, count);
    }
    (void)sti_declare(t, n->kind == STI_NODE_STAGED ? STI_SYMBOL_STAGED : STI_SYMBOL_SHARED, n, type);
}

static void type_return(sti_typing *t, sti_node *n)
{
    const sti_type *to = t->function->type;
    if (!n->a && to->kind != STI_TYPE_VOID) {
        sti_report_mistake(t->u, n->place, "%s returns a value: write return with it", t->function->name->text);
    } else if (n->a && to->kind == STI_TYPE_VOID) {
        sti_report_mistake(t->u, n->place, "%s returns nothing: write return;", t->function->name->text);
    } else if (n->a) {
        const sti_type *from = sti_type_decayed(t, n->a);
        (void)sti_type_convert(t, n->a, from, to, "the result", NULL);
    }
}

static void type_statement(sti_typing *t, sti_node *n)
{
    switch (n->kind) {
    case STI_NODE_BLOCK: type_block(t, n); break;
    case STI_NODE_DECLARE:
        if (sti_is_bundle(n->named)) sti_bundle_declare(t, n);
        sti_type_declare(t, n, STI_SYMBOL_VARIABLE);
        break;
    case STI_NODE_EXPRESSION: sti_type_effect(t, n->a); break;
    case STI_NODE_IF: type_if(t, n); break;
    case STI_NODE_FOR: type_for(t, n); break;
    case STI_NODE_EACH:
    case STI_NODE_ITEMS: type_each(t, n); break;
    case STI_NODE_SHARED:
    case STI_NODE_STAGED: type_team_array(t, n); break;
    case STI_NODE_RETURN: type_return(t, n); break;
    case STI_NODE_BREAK:
    case STI_NODE_CONTINUE:
        if (t->loops == 0)
            sti_report_mistake(t->u, n->place, "%s stands in a loop only",
                               n->kind == STI_NODE_BREAK ? "break" : "continue");
        break;
    default: break;
    }
}

static void type_block(sti_typing *t, sti_node *block)
{
    sti_scope_open(t);
    for (sti_node *n = block->a; n; n = n->next) type_statement(t, n);
    sti_scope_close(t);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* True if control never reaches the end of a block. */
static bool always_returns(const sti_node *block)
{
    for (const sti_node *n = block->a; n; n = n->next) {
        if (n->kind == STI_NODE_RETURN) return true;
        if (n->kind == STI_NODE_BLOCK && always_returns(n)) return true;
        if (n->kind == STI_NODE_IF && n->c && always_returns(n->b) && always_returns(n->c)) return true;
    }
    return block->op != 0; /* mistakes left statements out, perhaps a return */
}

static void type_parameters(sti_typing *t, sti_node *f)
{
    sti_symbol **at = &f->symbol->parameter;
    sti_node **link = &f->a;
    for (sti_node *v = f->a; v; v = *(link = &v->next)) {
        const sti_structure *bundle = f->op == STI_WORD_LFN && sti_is_bundle(v->named) ? v->named->structure : NULL;
        if (bundle && !(v = *link = sti_bundle_parameter(t, v))) return;
        const sti_type *type = sti_type_variable(t, v, true);
        bool team = sti_type_team_element(v->named) != NULL;
        sti_symbol *s = sti_declare(t, team ? STI_SYMBOL_SHARED : STI_SYMBOL_PARAMETER, v, type);
        if (!s) continue;
        s->bundle = bundle;
        *at = s;
        at = &s->next;
        f->symbol->nparameter += 1 - (bundle ? sti_bundle_fields(bundle) - 1 : 0);
    }
}

static void type_function(sti_typing *t, sti_node *f)
{
    const sti_type *result = sti_type_value(f->named);
    if (result->kind == STI_TYPE_WREAL || result->kind == STI_TYPE_WINT || f->named->is_const || sti_is_bundle(result))
        sti_report_mistake(t->u, f->place, "%s returns void, lanes or a plain type", f->name->text);
    sti_symbol *s = sti_declare(t, STI_SYMBOL_FUNCTION, f, result);
    if (!s) return;
    s->word = (sti_word)f->op;
    t->function = s;
    t->loops = 0;
    sti_scope_open(t);
    type_parameters(t, f);
    for (sti_node *n = f->b->a; n; n = n->next) type_statement(t, n); /* parameters and the body are one scope */
    sti_scope_close(t);
    t->function = NULL;
    if (result->kind != STI_TYPE_VOID && !always_returns(f->b))
        sti_report_mistake(t->u, f->place, "%s does not return a value on every way: end it with return",
                           f->name->text);
}

void sti_type_unit(sti_unit *u)
{
    sti_typing t = {.u = u};
    for (sti_node *n = u->top; n && !u->failed; n = n->next) {
        if (n->kind == STI_NODE_FUNCTION)
            type_function(&t, n);
        else if (n->kind == STI_NODE_STRUCT)
            sti_type_structure_fields(&t, n);
        else
            sti_type_declare(&t, n, STI_SYMBOL_TABLE);
    }
}
