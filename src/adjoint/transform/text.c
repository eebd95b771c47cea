/*
 * Names, texts and lines of the output; see transform.h.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/flow.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- notes by symbol --------------------------------------------------------------------------------------------- */

sti_note *sti_note_of(sti_transform *t, const sti_symbol *symbol)
{
    sti_note **at = &t->note[((uintptr_t)symbol >> 4) % STI_ADJOINT_BUCKETS];
    for (sti_note *n = *at; n; n = n->next)
        if (n->symbol == symbol) return n;
    sti_note *n = sti_unit_alloc(t->u, sizeof *n);
    if (!n) {
        t->nothing = (sti_note){0};
        return &t->nothing;
    }
    *n = (sti_note){.symbol = symbol, .next = *at};
    *at = n;
    return n;
}

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
    if (text[0] == '}') t->indent--;
    for (int i = 0; i < t->indent; ++i) sti_text_buffer_put(&t->out, "    ");
    sti_text_buffer_put(&t->out, text);
    sti_text_buffer_put(&t->out, "\n");
    if (text[0] && text[strlen(text) - 1] == '{') t->indent++;
}

/* ---- pointers that may be const ---------------------------------------------------------------------------------- */

typedef struct sti_held {
    sti_node *value; /* the value that the pointer is declared with */
    const struct sti_held *next;
    int number;
} sti_held;

const char *sti_writable(sti_transform *t, const sti_node *pointer, const char *word)
{
    sti_held *h = sti_unit_alloc(t->u, sizeof *h);
    if (!h) return word;
    *h = (sti_held){.value = pointer->a, .next = t->held, .number = t->held ? t->held->number + 1 : 1};
    t->held = h;
    return sti_say(t, "\x01%d\x01%s", h->number, word);
}

typedef struct storing {
    sti_transform *t;
    bool all;
} storing;

static void look_if_stored(sti_symbol *s, void *context)
{
    storing *all = context;
    bool array = sti_is_array_symbol(s) && s->kind == STI_SYMBOL_PARAMETER;
    all->all &= !array || sti_note_of(all->t, s)->stored;
}

void sti_settle_writable(sti_transform *t, sti_text_buffer *body)
{
    sti_text_buffer out = {.result = body->result};
    const char *p = body->data ? body->data : "";
    for (const char *mark; (mark = strchr(p, 1)); p = strchr(mark + 1, 1) + 1) {
        const sti_held *h = t->held;
        storing s = {t, true};
        while (h && h->number != atoi(mark + 1)) h = h->next;
        sti_text_buffer_add(&out, p, (size_t)(mark - p));
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
    sti_text_buffer outer = t->out;
    t->out = (sti_text_buffer){0};
    t->indent += deeper;
    return outer;
}

sti_text_buffer sti_captured(sti_transform *t, sti_text_buffer outer, int deeper)
{
    sti_text_buffer text = t->out;
    t->out = outer;
    t->indent -= deeper;
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
    do name = sti_joined(t, stem, sti_say(t, "%u", ++t->serial));
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
