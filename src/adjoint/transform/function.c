/*
 * Writes signatures and bodies of adjoints, of functions and of kernels; see transform.h.
 */
#include "adjoint/sizing/extent.h"
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

/* ---- signatures -------------------------------------------------------------------------------------------------- */

static const char *sizes_of(sti_transform *t, const sti_node *v)
{
    const char *out = "";
    for (const sti_node *size = v->b; size; size = size->next) out = sti_say(t, "%s[%s]", out, sti_value(t, size));
    return out;
}

static const char *declaration(sti_transform *t, const sti_node *v, const char *type)
{
    return sti_say(t, "%s %s%s%s", type, v->op == STI_OP_MUL ? "*" : "", v->name->text, sizes_of(t, v));
}

/* The place to which a number's gradient is written at the end of the adjoint. */
static const char *number_out(sti_transform *t, const sti_node *v)
{
    return sti_say(t, "%ss", sti_gradient_name(t, v->symbol));
}

static const char *gradient_parameter(sti_transform *t, const sti_node *v)
{
    const char *type = sti_gradient_type(t, v->type);
    if (!sti_type_points(v->type)) return sti_say(t, "%s *%s", type, number_out(t, v));
    const char *star = v->op == STI_OP_MUL ? "*" : "";
    return sti_say(t, "%s %s%s%s", type, star, sti_gradient_name(t, v->symbol), sizes_of(t, v));
}

/* A parameter that the adjoint only reads is const, even if it is not in the function. */
static const char *function_parameters(sti_transform *t, const sti_node *f)
{
    const char *out = "", *comma = "";
    for (const sti_node *v = f->a; v; v = v->next, comma = ", ") {
        bool reads = sti_type_points(v->type) && !v->named->is_const && !sti_note_of(t, v->symbol)->stored;
        const char *word = sti_say(t, "%s%s", reads ? "const " : "", sti_type_word(t, v->named));
        out = sti_say(t, "%s%s%s", out, comma, declaration(t, v, word));
        if (sti_type_carries(v->type)) out = sti_say(t, "%s, %s", out, gradient_parameter(t, v));
    }
    if (sti_type_carries(f->symbol->type))
        out = sti_say(t, "%s%s%s result_grad", out, comma, sti_gradient_type(t, f->symbol->type));
    return t->tape->taped ? sti_say(t, "%s%s", out, sti_spill_parameters(t, false)) : out;
}

static bool is_constant(sti_transform *t, const sti_node *v) { return !sti_note_of(t, v->symbol)->active; }

/* An array that the adjoint only reads is const, even if it is not in the kernel. */
static const char *kernel_parameters(sti_transform *t, const sti_node *f)
{
    bool own = false, *number = &own;
    const char *out = "", *comma = "";
    for (const sti_node *v = f->a; v; v = v->next, comma = ", ") {
        const sti_note *n = sti_note_of(t, v->symbol);
        const char *word = sti_type_word(t, sti_type_value(v->named));
        bool reads = v->op == STI_OP_MUL && !n->stored;
        *number |= strcmp(v->name->text, t->items ? "block" : "world") == 0;
        out = sti_say(t, "%s%s%s%s", out, comma, reads ? "const " : "", declaration(t, v, word));
        if (!sti_type_carries(v->type) || is_constant(t, v)) continue;
        if (t->items) { /* gradients that are not added at once are listed */
            if (n->graded && v->op == STI_OP_MUL)
                out = sti_say(t, "%s, ureal *%s", out, sti_gradient_name(t, v->symbol));
            continue;
        }
        bool written = n->graded || v->op != STI_OP_MUL;
        const char *name = v->op == STI_OP_MUL ? sti_gradient_name(t, v->symbol) : number_out(t, v);
        out = sti_say(t, "%s, %sreal *%s", out, written ? "" : "const ", name);
    }
    if (!t->tape->taped) return out;
    if (t->list->nlist > 0) out = sti_say(t, "%s, const int *gather_plan, int gather_planned", out);
    out = sti_say(t, "%s%s%s", out, sti_spill_parameters(t, true),
                  t->items && t->item->ncode > 0 ? ", i64 *list_places, ureal *list_values, int list_depth" : "");
    return own ? out : sti_say(t, "%s, int %s", out, t->items ? "block" : "world");
}

/* ---- the user's own ---------------------------------------------------------------------------------------------- */

static const sti_node *find_function(const sti_transform *t, const char *name)
{
    for (const sti_node *n = t->u->top; n; n = n->next)
        if (n->kind == STI_NODE_FUNCTION && strcmp(n->name->text, name) == 0) return n;
    return NULL;
}

/* In an item kernel's adjoint a gradient has the shape of its array or number. */
static const char *gradient_word(sti_transform *t, const sti_node *f, const sti_type *type)
{
    if (f->op != STI_WORD_ITEM_KERNEL) return sti_gradient_type(t, type);
    return sti_type_points(type) && type->of && type->of->kind == STI_TYPE_WREAL ? "wreal" : "ureal";
}

static bool has_parameter(const sti_node *f, const char *name)
{
    for (const sti_node *v = f->a; v; v = v->next)
        if (strcmp(v->name->text, name) == 0) return true;
    return false;
}

/* Is v, of the adjoint that the source has for a kernel, what that left in its parameter x: `x_after`? */
static bool is_result(sti_transform *t, const sti_node *kernel, const sti_node *v)
{
    for (const sti_node *x = kernel->op == STI_WORD_LFN ? NULL : kernel->a; x; x = x->next) {
        if (!sti_type_points(x->type) || strcmp(v->name->text, sti_say(t, "%s_after", x->name->text)) != 0) continue;
        return !has_parameter(kernel, v->name->text);
    }
    return false;
}

/* left_out: what the source's adjoint of this kernel has besides, of what the kernel left, does not count. */
static const char *parameter_types(sti_transform *t, const sti_node *f, bool adjoint, const sti_node *left_out)
{
    const char *out = "", *comma = "";
    for (const sti_node *v = f->a; v; v = v->next) {
        if (left_out && is_result(t, left_out, v)) continue;
        out = sti_say(t, "%s%s%s", out, comma, sti_type_word(t, sti_type_value(v->type)));
        comma = ", ";
        if (!adjoint || !sti_type_carries(v->type)) continue;
        const char *sizes = sti_type_points(v->type) && v->type->of ? sti_type_sizes(t, v->type->of) : "";
        out = sti_say(t, "%s, %s *%s", out, gradient_word(t, f, v->type), sizes);
    }
    if (adjoint && sti_type_carries(f->symbol->type))
        out = sti_say(t, "%s%s%s", out, comma, sti_gradient_type(t, f->symbol->type));
    return out;
}

/* An adjoint may declare const what it only reads, even if the function does not. */
static bool types_fit(const char *found, const char *wanted)
{
    static const char word[] = "const ";
    const size_t n = sizeof word - 1;
    for (; *found && *wanted; found += strspn(found, ", "), wanted += strspn(wanted, ", ")) {
        bool points = memchr(wanted, '*', strcspn(wanted, ",")) != NULL;
        if (points && strncmp(found, word, n) == 0 && strncmp(wanted, word, n) != 0) found += n;
        size_t length = strcspn(wanted, ",");
        if (strcspn(found, ",") != length || strncmp(found, wanted, length) != 0) return false;
        found += length;
        wanted += length;
    }
    return !*found && !*wanted;
}

static const char *kind_of(const sti_node *f)
{
    if (f->op == STI_WORD_LFN) return "an LFN that returns void";
    return f->op == STI_WORD_ITEM_KERNEL ? "an item_kernel" : "a world_kernel";
}

bool sti_given_adjoint(sti_transform *t, const sti_node *f)
{
    const sti_node *given = find_function(t, sti_say(t, "%s_adj", f->name->text));
    if (!given) return false;
    const char *wanted = parameter_types(t, f, true, NULL), *found = parameter_types(t, given, false, f);
    if (given->op != f->op || given->symbol->type->kind != STI_TYPE_VOID)
        sti_report_mistake(t->u, given->place, "%s, the adjoint of %s, is of another kind: it has to be %s",
                           given->name->text, f->name->text, kind_of(f));
    else if (!types_fit(found, wanted))
        sti_report_mistake(t->u, given->place, "%s, the adjoint of %s, takes (%s); it has to take (%s)",
                           given->name->text, f->name->text, found, wanted);
    return true;
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static void begin_numbers(sti_transform *t, const sti_node *f)
{
    for (const sti_node *v = f->a; v; v = v->next)
        if (sti_type_carries(v->type) && !sti_type_points(v->type) && !is_constant(t, v))
            sti_declare_gradient(t, v->symbol);
}

static void end_numbers(sti_transform *t, const sti_node *f)
{
    for (const sti_node *v = f->a; v; v = v->next) {
        if (!sti_type_carries(v->type) || sti_type_points(v->type) || is_constant(t, v)) continue;
        const char *out = number_out(t, v), *g = sti_gradient_name(t, v->symbol);
        if (t->kernel)
            sti_emit(t, "each (%s, 1) put(%s, 0, %s[0] + %s);", sti_fresh(t, "one"), out, out, g);
        else
            sti_add_numbers(t, sti_say(t, "(*%s)", out), g, sti_type_value(v->type), false);
    }
}

static sti_text_buffer body_of(sti_transform *t, sti_node *f)
{
    sti_text_buffer outer = sti_capture(t, 1);
    bool numbers = !t->items || !t->kernel; /* items list their gradients */
    if (numbers) begin_numbers(t, f);
    sti_adjoint_list(t, f->b->a);
    if (numbers) end_numbers(t, f);
    sti_text_buffer body = sti_captured(t, outer, 1);
    sti_settle_writable(t, &body);
    return body;
}

/* Resets the state of the transformation for a function. */
static void begin_function(sti_transform *t, sti_node *f, bool kernel)
{
    t->function = f;
    t->kernel = kernel;
    if (kernel) t->items = f->op == STI_WORD_ITEM_KERNEL;
    t->tape->taped = 0;
    t->each = NULL;
    t->tape->nlogged = 0;
    t->log = NULL;
    t->tape->inner = f;
    t->output->indent = 0;
    t->output->held = NULL;
    t->output->serial = 0;
}

void sti_adjoint_function(sti_transform *t, sti_node *f)
{
    sti_function_note *note = sti_function_note_of(t, f->symbol);
    bool *made = t->items ? &note->made_items : &note->made;
    if (*made || note->given || t->u->failed) return;
    *made = true;
    sti_making *all = (sti_making *)(void *)t, outer = *all; /* t is its first member */
    t->output->text = (sti_text_buffer){0};
    t->output->before = (sti_text_buffer){0};
    begin_function(t, f, false);
    sti_text_buffer body = body_of(t, f);
    sti_take_text(&t->output->text, &t->output->before);
    note->taped = t->tape->taped;
    sti_emit(t, "/* The adjoint of %s. */", f->name->text);
    sti_emit(t, "LFN void %s_adj%s(%s)\n{", f->name->text, t->items ? "_item" : "", function_parameters(t, f));
    sti_take_text(&t->output->text, &body);
    sti_emit(t, "}\n");
    sti_text_buffer text = t->output->text;
    *all = outer;
    sti_take_text(&t->output->before, &text);
}

static void print_bound(sti_transform *t, const char *name, const sti_bound *bound)
{
    sti_text_buffer text = {0};
    sti_bound_print(bound, &text);
    if (text.result == STET_OK)
        sti_emit(t, " * %s: %s", name, text.data);
    else
        t->output->text.result = text.result;
    sti_text_buffer_free(&text);
}

static void print_extent(sti_transform *t, const sti_adjoint_kernel *k)
{
    print_bound(t, "tape_width", k->width);
    print_bound(t, "tape_depth", k->depth);
    if (k->entries) print_bound(t, "list_depth", k->entries);
    sti_emit(t, " */");
}

static void begin_tape(sti_transform *t)
{
    if (!t->tape->taped) return;
    if (t->items) { /* item kernels have tapes of their own */
        sti_item_begin(t);
    } else {
        sti_spill_begin(t, "0");
        sti_emit(t, "int top = 0;");
    }
}

static void note_listings(sti_transform *t, sti_adjoint_kernel *k)
{
    const sti_symbol *const *array = t->items ? t->item->coded : t->list->planned;
    for (int i = t->items ? t->item->ncode : t->list->nplanned; i-- > 0;) {
        sti_listing *l = sti_unit_alloc(t->u, sizeof *l);
        if (!l) return;
        *l = (sti_listing){.name = array[i]->name->text, .code = i, .next = k->listing};
        k->listing = l;
    }
}

sti_adjoint_kernel *sti_adjoint_kernel_of(sti_transform *t, sti_node *f)
{
    sti_adjoint_kernel *k = sti_unit_alloc(t->u, sizeof *k);
    if (!k) return NULL;
    begin_function(t, f, true);
    if (t->items) {
        sti_forget_accesses(t);
        t->item->ncode = 0;
    }
    bool uniform = !t->items && sti_lists_uniformly(f);
    t->list->nlist = t->list->nplanned = 0;
    t->list->unplanned = false;
    sti_text_buffer body = body_of(t, f);
    sti_take_text(&t->output->text, &t->output->before);
    const char *parameters = kernel_parameters(t, f);
    k->items = t->items;
    k->uniform = uniform && t->list->nlist == 1 && !t->list->unplanned;
    note_listings(t, k);
    k->name = f->name->text;
    k->taped = t->tape->taped != 0;
    sti_extents sizes = {0};
    sti_extent_of(t, f, t->items && t->item->ncode > 0, &sizes);
    k->width = sizes.width;
    k->depth = sizes.depth;
    k->entries = sizes.entries;
    if (t->u->failed) {
        sti_text_buffer_free(&body);
        return NULL;
    }
    sti_emit(t, t->tape->taped ? "/*\n * The adjoint of %s." : "/* The adjoint of %s. */", f->name->text);
    if (t->tape->taped) print_extent(t, k);
    sti_emit(t, "%s void %s_adj(%s)\n{", t->items ? "item_kernel" : "world_kernel", f->name->text, parameters);
    begin_tape(t);
    sti_take_text(&t->output->text, &body);
    sti_emit(t, "}\n");
    return k;
}

/* ---- structures -------------------------------------------------------------------------------------------------- */

void sti_gradient_structures(sti_transform *t)
{
    for (const sti_node *n = t->u->top; n; n = n->next) {
        if (n->kind != STI_NODE_STRUCT || !n->named->structure || !sti_type_carries(n->named)) continue;
        const char *name = sti_gradient_type(t, n->named);
        sti_emit(t, "typedef struct %s {", name);
        for (const sti_symbol *f = n->named->structure->field; f; f = f->next) {
            if (!sti_type_carries(f->type)) continue;
            sti_emit(t, "%s %s%s;", sti_gradient_type(t, f->type), f->name->text, sti_type_sizes(t, f->type));
        }
        sti_emit(t, "} %s;\n", name);
    }
}
