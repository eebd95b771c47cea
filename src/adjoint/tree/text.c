/* Names, texts and lines of the output; see text.h. */
#include "adjoint/tree/text.h"
#include "adjoint/tree/place.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static const char *say_text(sti_transform *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? NULL : sti_unit_alloc(t->u, (size_t)length + 1);
    if (text) (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text ? text : "";
}

const char *sti_say(sti_transform *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = say_text(t, format, args);
    va_end(args);
    return text;
}

void sti_emit(sti_transform *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = say_text(t, format, args);
    va_end(args);
    sti_text_output *o = t->output;
    if (text[0] == '}') o->indent--;
    assert(o->indent >= 0); /* each } has its { */
    for (int i = 0; i < o->indent; ++i) sti_text_buffer_put(&o->text, "    ");
    sti_text_buffer_put(&o->text, text);
    sti_text_buffer_put(&o->text, "\n");
    if (text[0] && text[strlen(text) - 1] == '{') o->indent++;
}

/* ---- pointers that may be const ---------------------------------------------------------------------------------- */

typedef struct sti_held {
    bool gradient;   /* it points to a gradient */
    sti_node *value; /* the value that the pointer is declared with */
    const struct sti_held *next;
    int number;
} sti_held;

const char *sti_writable(sti_transform *t, const sti_node *pointer, const char *word)
{
    sti_held *h = sti_unit_alloc(t->u, sizeof *h);
    if (!h) return word;
    const sti_held *last = t->output->held;
    *h = (sti_held){.gradient = pointer->kind == STI_NODE_STAGED,
                    .value = pointer->a,
                    .next = last,
                    .number = last ? last->number + 1 : 1};
    t->output->held = h;
    return sti_say(t, "\x01%d\x01%s", h->number, word);
}

typedef struct storing {
    sti_transform *t;
    bool gradient; /* of the array's gradient */
    bool all;
} storing;

static void look_if_stored(sti_symbol *s, void *context)
{
    storing *all = context;
    bool array = sti_is_array_symbol(s) && s->kind == STI_SYMBOL_PARAMETER;
    const sti_note *n = sti_note_of(all->t, s);
    all->all &= !array || (all->gradient ? n->graded : n->stored);
}

void sti_settle_writable(sti_transform *t, sti_text_buffer *body)
{
    sti_text_buffer out = {.result = body->result};
    const char *p = body->data ? body->data : "";
    for (const char *mark; (mark = strchr(p, 1)); p = strchr(mark + 1, 1) + 1) {
        const sti_held *h = t->output->held;
        storing s = {.t = t, .all = true};
        while (h && h->number != atoi(mark + 1)) h = h->next;
        sti_text_buffer_add(&out, p, (size_t)(mark - p));
        s.gradient = h && h->gradient;
        if (h) sti_origins(h->value, look_if_stored, &s);
        if (!s.all) sti_text_buffer_put(&out, "const ");
    }
    sti_text_buffer_put(&out, p);
    sti_text_buffer_free(body);
    *body = out;
}

void sti_take_text(sti_text_buffer *to, sti_text_buffer *from)
{
    if (from->data) sti_text_buffer_add(to, from->data, from->size);
    if (from->result != STET_OK) to->result = from->result;
    sti_text_buffer_free(from);
}

sti_text_buffer sti_capture(sti_transform *t, int deeper)
{
    sti_text_buffer outer = t->output->text;
    t->output->text = (sti_text_buffer){0};
    t->output->indent += deeper;
    return outer;
}

sti_text_buffer sti_captured(sti_transform *t, sti_text_buffer outer, int deeper)
{
    sti_text_buffer text = t->output->text;
    t->output->text = outer;
    t->output->indent -= deeper;
    assert(t->output->indent >= 0);
    return text;
}

const char *sti_value(sti_transform *t, const sti_node *e) { return sti_text_whole(t->u, e); }

static bool is_simple(const char *text)
{
    int depth = 0;
    for (const char *p = text; *p; ++p) {
        if (*p == '(' || *p == '[') ++depth;
        if (*p == ')' || *p == ']') --depth;
        if (depth == 0 && (*p == ' ' || (p == text && (*p == '-' || *p == '*' || *p == '&' || *p == '('))))
            return false;
        if (depth == 1 && p == text && *p == '(') return false; /* a cast, or parentheses around only a part */
    }
    return true;
}

const char *sti_closed(sti_transform *t, const char *text) { return is_simple(text) ? text : sti_say(t, "(%s)", text); }

const char *sti_lanes(sti_transform *t, const sti_node *e)
{
    const char *text = sti_value(t, e);
    if (e->type && e->type->kind == STI_TYPE_REAL) return sti_closed(t, text);
    if (e->type && (e->type->kind == STI_TYPE_UREAL || e->type->kind == STI_TYPE_WREAL))
        return sti_say(t, "splat(%s)", text);
    if (e->type && sti_type_plain(e->type)) return sti_say(t, "splat((ureal)%s)", sti_closed(t, text));
    return sti_closed(t, text); /* masks, lanes of whole numbers, and everything else that is no number */
}

const char *sti_type_word(sti_transform *t, const sti_type *type)
{
    char text[256];
    sti_type_text(type, text, sizeof text);
    return sti_say(t, "%s", text);
}

const char *sti_type_sizes(sti_transform *t, const sti_type *type)
{
    const char *sizes = "";
    for (; type->kind == STI_TYPE_ARRAY; type = type->of) sizes = sti_say(t, "%s[%lld]", sizes, (long long)type->count);
    return sizes;
}

void sti_each_number(sti_transform *t, const char *suffix, const sti_type *type, bool reals, sti_number_fn *call,
                     void *context)
{
    if (type->kind == STI_TYPE_ARRAY) {
        for (int64_t k = 0; k < type->count; ++k)
            sti_each_number(t, sti_say(t, "%s[%lld]", suffix, (long long)k), type->of, reals, call, context);
    } else if (type->kind == STI_TYPE_STRUCT) {
        for (const sti_symbol *f = type->structure->field; f; f = f->next)
            if (!reals || sti_type_carries(f->type))
                sti_each_number(t, sti_say(t, "%s.%s", suffix, f->name->text), f->type, reals, call, context);
    } else {
        call(t, suffix, type, context);
    }
}

const char *sti_offset_of(sti_transform *t, const sti_node *e)
{
    if (e->kind == STI_NODE_NAME && e->symbol) {
        const sti_node *v = e->symbol->node;
        if (e->symbol->kind == STI_SYMBOL_STAGED) return sti_offset_of(t, v->a);
        if (e->symbol->kind != STI_SYMBOL_VARIABLE || e->type->kind == STI_TYPE_ARRAY) return "0";
        if (v && v->a) return sti_offset_of(t, v->a);
    }
    if (sti_is_offset(e)) {
        const char *before = sti_offset_of(t, e->a), *own = sti_closed(t, sti_value(t, e->b));
        bool minus = e->op == STI_OP_SUB;
        if (strcmp(before, "0") == 0 && !minus) return own;
        return sti_say(t, "%s %c %s", before, minus ? '-' : '+', own);
    }
    sti_report_mistake(t->u, e->place, "where `%s` points is not followed: write the array with an index",
                       sti_text(t->u, e));
    return "0";
}

const char *sti_element_index(sti_transform *t, const sti_node *place)
{
    const char *index = place->kind == STI_NODE_INDEX ? sti_closed(t, sti_value(t, place->b)) : "0";
    const char *offset = sti_offset_of(t, place->a);
    return strcmp(offset, "0") != 0 ? sti_say(t, "(%s + %s)", offset, index) : index;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool name_taken(const sti_unit *u, const char *text) { return sti_unit_find(u, text, strlen(text)) != NULL; }

const char *sti_joined(sti_transform *t, const char *stem, const char *suffix)
{
    size_t n = strlen(stem); /* names with two _ in a row are reserved */
    return sti_say(t, "%s%s%s", stem, n > 0 && stem[n - 1] == '_' ? "" : "_", suffix);
}

const char *sti_fresh(sti_transform *t, const char *stem)
{
    const char *name;
    do name = sti_joined(t, stem, sti_say(t, "%u", ++t->output->serial));
    while (!t->u->failed && name_taken(t->u, name));
    return name;
}

const char *sti_gradient_name(sti_transform *t, const sti_symbol *symbol)
{
    sti_note *n = sti_note_of(t, symbol);
    if (n->share) return n->share;
    if (!n->gradient) {
        const char *name = sti_joined(t, symbol->name->text, "grad");
        n->gradient = name_taken(t->u, name) ? sti_fresh(t, name) : name;
    }
    return n->gradient;
}
