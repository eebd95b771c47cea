/*
 * Makes the signatures of a source's kernels, as launches use them; see check.h.
 */
#include "base/error.h"
#include "base/memory.h"
#include "kernel/check/check.h"
#include "kernel/check/tree.h"

#include <stdio.h>
#include <string.h>

static bool is_kernel(const sti_unit *u, const sti_node *f, sti_file_test *wanted)
{
    return f->kind == STI_NODE_FUNCTION && f->op != STI_WORD_LFN && (!wanted || wanted(u->file[f->place.file]));
}

/* By rule RULES-5 (rules.h) each parameter of a kernel has one of these types. */
static sti_param_type param_type(sti_type_kind kind)
{
    switch (kind) {
    case STI_TYPE_REAL: return STI_PARAM_REAL;
    case STI_TYPE_LINT: return STI_PARAM_LINT;
    case STI_TYPE_WREAL: return STI_PARAM_WREAL;
    case STI_TYPE_WINT: return STI_PARAM_WINT;
    case STI_TYPE_TREAL: return STI_PARAM_TREAL;
    case STI_TYPE_TLINT: return STI_PARAM_TLINT;
    case STI_TYPE_TINT: return STI_PARAM_TINT;
    case STI_TYPE_UREAL: return STI_PARAM_UREAL;
    case STI_TYPE_I64: return STI_PARAM_I64;
    case STI_TYPE_U32: return STI_PARAM_U32;
    case STI_TYPE_U16: return STI_PARAM_U16;
    case STI_TYPE_U8: return STI_PARAM_U8;
    default: return STI_PARAM_INT;
    }
}

static void fill_parameter(const sti_node *v, const char *index, sti_param *out)
{
    *out = (sti_param){.type = param_type(v->named->kind), .pointer = v->op == STI_OP_MUL};
    (void)snprintf(out->name, sizeof out->name, "%s", v->name->text);
    out->written = out->pointer && !v->named->is_const;
    out->index = !out->pointer && out->type == STI_PARAM_INT && strcmp(out->name, index) == 0;
}

static void fill_signature(const sti_node *f, sti_signature *out)
{
    bool world = f->op == STI_WORD_WORLD_KERNEL;
    *out = (sti_signature){.kind = world ? STI_KERNEL_WORLD : STI_KERNEL_ITEM, .line = (int)f->place.line};
    (void)snprintf(out->name, sizeof out->name, "%s", f->name->text);
    for (const sti_node *v = f->a; v; v = v->next)
        fill_parameter(v, world ? "world" : "block", &out->param[out->nparam++]);
}

stet_result sti_unit_kernels(const sti_unit *u, sti_file_test *wanted, sti_signature **out, int *n)
{
    *out = NULL;
    *n = 0;
    if (u->nmistake > 0)
        return sti_error(STET_ERROR_STATE, "%s: there are mistakes in it; its kernels cannot be listed", u->file[0]);
    int count = 0;
    for (const sti_node *f = u->top; f; f = f->next) count += is_kernel(u, f, wanted);
    if (count == 0) return STET_OK;
    STI_TRY(sti_alloc(out, (size_t)count * sizeof **out, "the kernels of a source"));
    for (const sti_node *f = u->top; f; f = f->next)
        if (is_kernel(u, f, wanted)) fill_signature(f, &(*out)[(*n)++]);
    return STET_OK;
}
