/* Scopes, and what is declared in them; see typing.h. */
#include "kernel/check/typing.h"

#include <string.h>

void sti_scope_open(sti_typing *t) { t->scope++; }

void sti_scope_close(sti_typing *t)
{
    for (sti_symbol *s = t->innermost; s && s->scope == t->scope; s = t->innermost) {
        s->name->symbol = s->shadows;
        t->innermost = s->before;
    }
    t->scope--;
}

/* Also what C keeps for itself. */
static bool belongs_to_language(const char *name)
{
    return strncmp(name, "sti_", 4) == 0 || strncmp(name, "STI_", 4) == 0 || strncmp(name, "STET_", 5) == 0 ||
           strstr(name, "__") != NULL || (name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z');
}

sti_symbol *sti_declare(sti_typing *t, sti_symbol_kind kind, sti_node *n, const sti_type *type)
{
    sti_symbol *old = n->name->symbol;
    const char *name = n->name->text;
    bool outer = t->scope == 0; /* a function or a table: the language's names are taken there */
    if (belongs_to_language(name) || (old && old->kind == STI_SYMBOL_SETTING)) {
        sti_report_mistake(t->u, n->place, "`%s` belongs to the language: choose another name", name);
        return NULL;
    }
    if (outer && strcmp(name, "main") == 0) {
        sti_report_mistake(t->u, n->place, "`main` is where programs begin, which is no kernel's: choose another name");
        return NULL;
    }
    if (old && outer && old->kind == STI_SYMBOL_LIBRARY) {
        sti_report_mistake(t->u, n->place, "`%s` is a function of the language: choose another name", name);
        return NULL;
    }
    if (old && old->kind != STI_SYMBOL_LIBRARY && old->scope == t->scope) {
        sti_report_mistake(t->u, n->place, "`%s` is declared already, in line %u", name, old->place.line);
        return NULL;
    }
    sti_symbol *s = sti_unit_alloc(t->u, sizeof *s);
    if (!s) return NULL;
    *s = (sti_symbol){.kind = kind, .name = n->name, .type = type, .place = n->place, .node = n};
    s->shadows = old;
    s->before = t->innermost;
    s->scope = t->scope;
    n->name->symbol = s;
    n->symbol = s;
    n->type = type;
    t->innermost = s;
    return s;
}
