/* Variables with their first values, structures; see typing.h. */
#include "kernel/check/typing.h"

#include <stdio.h>

enum { MOST = 1 << 24 }; /* elements of an array */

/* ---- types of variables ------------------------------------------------------------------------------------------ */

bool sti_type_count(sti_typing *t, sti_node *e, int64_t *out)
{
    const sti_type *type = sti_type_decayed(t, e);
    if (!type) return false;
    if (!sti_type_integer(type) || !sti_constant(t->u, e, false, out)) {
        sti_report_mistake(t->u, e->place, "the size `%s` is not a constant: write a number or a #define",
                           sti_text(t->u, e));
        return false;
    }
    if (*out > 0 && *out <= MOST) return true;
    sti_report_mistake(t->u, e->place, "the size `%s` is %lld: an array has 1 to %d elements", sti_text(t->u, e),
                       (long long)*out, MOST);
    return false;
}

/* Sizes from the last to the first: a[2][3] is 2 arrays of 3. */
static const sti_type *with_sizes(sti_typing *t, sti_node *size, const sti_type *type, bool first_is_pointer)
{
    if (!size) return type;
    int64_t count, all = 1;
    bool good = sti_type_count(t, size, &count);
    type = with_sizes(t, size->next, type, false);
    if (!good || !type) return NULL;
    for (const sti_type *of = type; of->kind == STI_TYPE_ARRAY; of = of->of) all *= of->count;
    if (all * count > MOST) {
        sti_report_mistake(t->u, size->place, "an array of more than %d elements", MOST);
        return NULL;
    }
    return first_is_pointer ? sti_type_pointer(t->u, type) : sti_type_array(t->u, type, count);
}

const sti_type *sti_type_variable(sti_typing *t, const sti_node *v, bool parameter)
{
    const sti_type *type = v->named;
    const sti_type *team = sti_type_team_element(type);
    bool pointer = v->op == STI_OP_MUL, world = type->kind == STI_TYPE_WREAL || type->kind == STI_TYPE_WINT;
    if (type->kind == STI_TYPE_VOID) {
        sti_report_mistake(t->u, v->place, "`%s`: nothing is of type void", v->name->text);
        return NULL;
    }
    if (team && !(parameter && pointer && t->function->word != STI_WORD_LFN)) {
        sti_report_mistake(t->u, v->place,
                           "`%s`: memory of a team is a parameter of a kernel, treal *; here it is %s *", v->name->text,
                           team->kind == STI_TYPE_REAL   ? "real"
                           : team->kind == STI_TYPE_LINT ? "lint"
                                                         : "int");
        return NULL;
    }
    if (team && type->is_const) {
        sti_report_mistake(t->u, v->place, "`%s`: memory of a team holds nothing when a kernel begins: leave const out",
                           v->name->text);
        return NULL;
    }
    if (team) return sti_type_pointer(t->u, team);
    if (world && !pointer) {
        sti_report_mistake(t->u, v->place,
                           "`%s`: wreal and wint are arrays of all worlds, const wreal *; one number is ureal or int",
                           v->name->text);
        return NULL;
    }
    if (pointer && v->b) {
        sti_report_mistake(t->u, v->place, "`%s`: there are no arrays of pointers; keep indices", v->name->text);
        return NULL;
    }
    if (sti_is_bundle(type) && !(parameter && !pointer && !v->b)) {
        sti_report_mistake(t->u, v->place,
                           "`%s`: a structure with pointers is a parameter or a variable, not part of something else",
                           v->name->text);
        return NULL;
    }
    if (pointer) return sti_type_pointer(t->u, type);
    return with_sizes(t, v->b, type, parameter);
}

void sti_type_structure_fields(sti_typing *t, sti_node *n)
{
    sti_symbol **at = &n->named->structure->field;
    for (sti_node *d = n->a; d; d = d->next)
        for (sti_node *v = d->a; v; v = v->next) {
            if (v->a) sti_report_mistake(t->u, v->a->place, "a field has no first value: variables have");
            const sti_type *type = sti_type_variable(t, v, false);
            for (const sti_symbol *f = n->named->structure->field; f; f = f->next)
                if (f->name == v->name)
                    sti_report_mistake(t->u, v->place, "there is a field `%s` already", v->name->text);
            sti_symbol *s = type ? sti_unit_alloc(t->u, sizeof *s) : NULL;
            if (!s) continue;
            *s = (sti_symbol){.kind = STI_SYMBOL_FIELD, .name = v->name, .type = type, .place = v->place, .node = v};
            v->symbol = s;
            v->type = type;
            *at = s;
            at = &s->next;
        }
    for (const sti_symbol *f = sti_is_bundle(n->named) ? n->named->structure->field : NULL; f; f = f->next)
        if (f->type->kind == STI_TYPE_ARRAY || f->type->kind == STI_TYPE_STRUCT)
            sti_report_mistake(
                t->u, f->place,
                "`%s`: a structure with pointers holds pointers and numbers beside each other, no arrays "
                "and structures",
                f->name->text);
}

/* ---- first values ------------------------------------------------------------------------------------------------ */

static void type_initial(sti_typing *t, sti_node *value, const sti_type *to, const char *what);

/* What C++, and so a GPU's compiler, does not take in a list without a cast. */
static bool narrows(const sti_unit *u, const sti_type *from, const sti_type *to)
{
    int64_t a, b;
    if (!sti_type_integer(from) || !sti_type_plain(to)) return false;
    if (!sti_type_integer(to)) return true;
    bool from_signed = from->kind == STI_TYPE_INT || from->kind == STI_TYPE_I64;
    bool to_signed = to->kind == STI_TYPE_INT || to->kind == STI_TYPE_I64;
    (void)sti_type_size(u, from, &a); /* whole numbers have a size */
    (void)sti_type_size(u, to, &b);
    return from_signed == to_signed ? false : to_signed ? a == b : true;
}

static void refuse_narrowing(sti_typing *t, const sti_node *value, const sti_type *to)
{
    const sti_type *from = value->type ? sti_type_decay(t->u, value->type) : NULL;
    char is[128], wanted[128];
    if (!from || sti_is_constant(value) || !narrows(t->u, from, to)) return;
    sti_type_text(from, is, sizeof is);
    sti_type_text(sti_type_value(to), wanted, sizeof wanted);
    sti_report_mistake(t->u, value->place, "`%s` is %s in a list of %s: write a cast (%s)", sti_text(t->u, value), is,
                       wanted, wanted);
}

static void type_list(sti_typing *t, sti_node *list, const sti_type *to, const char *what)
{
    const sti_symbol *field = to->kind == STI_TYPE_STRUCT ? to->structure->field : NULL;
    int64_t room = to->kind == STI_TYPE_ARRAY ? to->count : 0, n = 0;
    for (const sti_symbol *f = field; f; f = f->next) ++room;
    list->type = to;
    if (!list->a) sti_report_mistake(t->u, list->place, "an empty list: write the first value");
    for (sti_node *v = list->a; v; v = v->next) {
        if (++n > room) {
            sti_report_mistake(t->u, v->place, "the list has more values than %s has room for: %lld", what,
                               (long long)room);
            return;
        }
        type_initial(t, v, field ? field->type : to->of, what);
        if (v->kind != STI_NODE_LIST) refuse_narrowing(t, v, field ? field->type : to->of);
        if (field) field = field->next;
    }
}

static void type_initial(sti_typing *t, sti_node *value, const sti_type *to, const char *what)
{
    bool many = to->kind == STI_TYPE_ARRAY || to->kind == STI_TYPE_STRUCT;
    if (value->kind == STI_NODE_LIST && many) {
        type_list(t, value, to, what);
    } else if (value->kind == STI_NODE_LIST) {
        sti_report_mistake(t->u, value->place, "%s is one value: write it without braces", what);
    } else if (to->kind == STI_TYPE_ARRAY) {
        sti_report_mistake(t->u, value->place, "%s is an array: write a list { … }, or assign its elements in a for",
                           what);
    } else {
        const sti_type *from = sti_type_decayed(t, value);
        (void)sti_type_convert(t, value, from, to, what, NULL);
    }
}

static bool constant_list(const sti_node *value)
{
    if (value->kind != STI_NODE_LIST) return sti_is_constant(value);
    for (const sti_node *v = value->a; v; v = v->next)
        if (!constant_list(v)) return false;
    return true;
}

static bool of_lanes(const sti_type *type)
{
    while (type->of) type = type->of;
    if (type->kind != STI_TYPE_STRUCT) return sti_type_lanes(type);
    for (const sti_symbol *f = type->structure->field; f; f = f->next)
        if (of_lanes(f->type)) return true;
    return false;
}

/* A table outside of functions: constants all through. */
static void check_table(sti_typing *t, const sti_node *v)
{
    if (v->op == STI_OP_MUL || of_lanes(v->type))
        sti_report_mistake(t->u, v->place, "`%s`: a table holds plain numbers", v->name->text);
    else if (!v->a)
        sti_report_mistake(t->u, v->place, "`%s`: a table has its values, { … }", v->name->text);
    else if (!constant_list(v->a))
        sti_report_mistake(t->u, v->a->place, "`%s`: the values of a table are constants", v->name->text);
}

/* A name in the first value of a variable of that name. */
static const sti_node *find_name(const sti_node *n, const sti_name *name)
{
    for (const sti_node *found; n; n = n->next) {
        if ((n->kind == STI_NODE_NAME || n->kind == STI_NODE_CALL) && n->name == name) return n;
        if ((found = find_name(n->a, name)) || (found = find_name(n->b, name)) || (found = find_name(n->c, name)) ||
            (found = find_name(n->d, name)))
            return found;
    }
    return NULL;
}

/* C lets a variable be seen in its own first value, where it has none yet. Without an outer one it is not declared. */
static void refuse_own_value(sti_typing *t, const sti_node *v)
{
    const sti_symbol *outer = v->name->symbol;
    const sti_node *own = outer && outer->kind != STI_SYMBOL_SETTING ? find_name(v->a, v->name) : NULL;
    if (own)
        sti_report_mistake(t->u, own->place,
                           "`%s` is the variable that is declared here, which has no value yet, and none of that name "
                           "outside: choose another name",
                           v->name->text);
}

void sti_type_declare(sti_typing *t, sti_node *n, sti_symbol_kind kind)
{
    for (sti_node *v = n->a; v; v = v->next) {
        const sti_type *type = sti_type_variable(t, v, false);
        char what[160];
        (void)snprintf(what, sizeof what, "`%.120s`", v->name->text);
        if (v->a && type) {
            refuse_own_value(t, v);
            type_initial(t, v->a, type, what);
        }
        (void)sti_declare(t, kind, v, type);
        if (kind == STI_SYMBOL_TABLE && v->type) check_table(t, v);
    }
}
