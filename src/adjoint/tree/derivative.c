/* The table of derivatives; see derivative.h. */
#include "adjoint/tree/derivative.h"

#include "adjoint/tree/derivative.inl"

#include <string.h>

static const sti_derivative table[] = {
#define ROW(name, kind, first, second, third) {name, STI_DERIVATIVE_##kind, {first, second, third}},
    STI_DERIVATIVES(ROW)
#undef ROW
};

const sti_derivative *sti_derivative_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i)
        if (strcmp(table[i].name, name) == 0) return &table[i];
    return NULL;
}

const sti_derivative *sti_derivative_of(const sti_node *e)
{
    if (e->kind == STI_NODE_CALL && e->symbol && e->symbol->kind == STI_SYMBOL_LIBRARY)
        return sti_derivative_find(e->name->text);
    if (e->kind == STI_NODE_BINARY) return sti_derivative_find(sti_op_text((sti_operator)e->op));
    if (e->kind == STI_NODE_UNARY && e->op == STI_OP_SUB) return sti_derivative_find("neg");
    return NULL;
}
