/*
 * The log: the values of array elements before they were overwritten inside of a loop or branch; see transform.h.
 *
 * An entry takes one slot of the tape: (index, array) in wtape, and the old value in the part of its type. It is
 * written when a region is run plainly. Before reverse enters that region, the entries are undone, from the last one to
 * a mark.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/flow.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

enum { CODES = STI_ADJOINT_CODES };

static bool is_kept(sti_transform *t, const sti_symbol *s)
{
    bool listed = !t->logging;
    for (int i = 0; t->logging && i < t->log->narray; ++i) listed |= t->log->array[i] == s;
    if (!listed) return false;
    return sti_is_array_symbol(s) && sti_note_of(t, s)->needed && sti_note_of(t, s)->overwritten;
}

/* The k-th element that an expression statement writes; NULL: there is none. */
static const sti_node *written_place(sti_transform *t, const sti_node *e, int k)
{
    bool step = e->kind == STI_NODE_POSTFIX ||
                (e->kind == STI_NODE_UNARY && (e->op == STI_OP_INCREMENT || e->op == STI_OP_DECREMENT));
    if (k == 0 && (e->kind == STI_NODE_ASSIGN || step)) return e->a->kind == STI_NODE_NAME ? NULL : e->a;
    if (sti_store_of(e) < 0) return NULL;
    bool four = strcmp(e->name->text, "put4") == 0 || strcmp(e->name->text, "load4") == 0;
    bool one = strcmp(e->name->text, "put") == 0;
    return k < (four ? 4 : one) ? sti_stored_element(t, e, k) : NULL;
}

int sti_log_entries(sti_transform *t, const sti_node *e)
{
    int n = 0;
    bool only;
    const sti_node *place;
    for (int k = 0; (place = written_place(t, e, k)); ++k) {
        const sti_symbol *s = sti_origin_of(place, &only);
        n += s && is_kept(t, s);
    }
    return n;
}

static int code_of(sti_transform *t, const sti_symbol *s)
{
    for (int i = 0; i < t->nlogged; ++i)
        if (t->logged[i] == s) return i;
    if (t->nlogged == CODES) return 0; /* a function has fewer parameters than this array has room for */
    t->logged[t->nlogged] = s;
    return t->nlogged++;
}

static const char *part_of(const sti_type *type)
{
    static const char *const names[] = {"tape", "ltape", "utape", "wtape"};
    int part = sti_spill_of(type);
    return part < 0 ? NULL : names[part];
}

/* A whole number is in the same part as its index, one slot before it. */
static int slots_of(const sti_type *type) { return sti_spill_of(type) == STI_SPILL_INT ? 2 : 1; }

static void log_place(sti_transform *t, const sti_node *place)
{
    bool only;
    const sti_symbol *s = sti_origin_of(place, &only);
    if (!s || !is_kept(t, s)) return;
    const sti_type *type = place->type ? sti_type_value(place->type) : s->type;
    const char *part = part_of(type);
    bool simple = only && part && place->a->type && place->kind != STI_NODE_MEMBER && place->a->kind != STI_NODE_INDEX;
    if (!simple) {
        sti_complain(
            t->u, place->place,
            "`%s` is overwritten in a loop or branch after it was read, and what it held is not kept: write it "
            "as an element of one array",
            sti_text(t->u, place));
        return;
    }
    const char *index = place->kind == STI_NODE_INDEX ? sti_closed(t, sti_value(t, place->b)) : "0";
    const char *offset = sti_offset_of(t, place->a);
    if (strcmp(offset, "0") != 0) index = sti_say(t, "(%s + %s)", offset, index);
    int slots = slots_of(type);
    t->taped |= 1u << STI_SPILL_INT | 1u << sti_spill_of(type) | 1u << STI_SPILL_OVER;
    sti_emit(t, "if (top + %d <= tape_depth) {", slots);
    const char *at = "(i64)top * tape_width", *value = sti_value(t, place);
    sti_spill_put(t, (sti_spill_kind)sti_spill_of(type), at, value);
    sti_emit(t,
             slots == 2 ? "wtape[(i64)(top + 1) * tape_width] = (i64)%s * %d + %d;"
                        : "wtape[(i64)top * tape_width] = (i64)%s * %d + %d;",
             index, CODES, code_of(t, s));
    sti_emit(t, "top += %d;", slots);
    sti_emit(t, "} else {");
    sti_emit(t, "tape_over[0] = %u;", sti_mark_of(place->place));
    sti_emit(t, "}");
}

void sti_log_write(sti_transform *t, const sti_node *e)
{
    const sti_node *place;
    if (t->logging && sti_team_level(t) && sti_log_entries(t, e) > 0) {
        sti_complain(
            t->u, e->place,
            "`%s`: the whole team overwrites this after it was read, and what it held is not kept: write it in an "
            "each (i, 1)",
            sti_text(t->u, e));
        return;
    }
    for (int k = 0; t->logging && (place = written_place(t, e, k)); ++k) log_place(t, place);
}

static void undo_array(sti_transform *t, const sti_symbol *s, const char *at)
{
    const sti_type *type = sti_type_value(sti_type_element(s->type));
    const char *part = part_of(type);
    bool whole = slots_of(type) == 2;
    if (!part) return;
    const char *index = sti_say(t, "%s / %d", at, CODES);
    const char *old = sti_spill_get(t, (sti_spill_kind)sti_spill_of(type), "(i64)top * tape_width");
    bool puts = type->kind == STI_TYPE_REAL && s->kind == STI_SYMBOL_PARAMETER && (t->kernel || !s->written_plainly);
    const char *word =
        type->kind == STI_TYPE_REAL || type->kind == STI_TYPE_LINT ? "" : sti_say(t, "(%s)", sti_type_word(t, type));
    t->taped |= 1u << sti_spill_of(type);
    sti_note_of(t, s)->stored = true;
    sti_emit(t, "if (%s %% %d == %d) {", at, CODES, code_of(t, s));
    if (whole) sti_emit(t, "top -= 1;");
    if (puts)
        sti_emit(t, "put(%s, %s, %s);", s->name->text, index, old);
    else
        sti_emit(t, "%s[%s] = %s%s;", s->name->text, index, word, old);
    sti_emit(t, "}");
}

void sti_log_undo_entry(sti_transform *t, const sti_effects *e)
{
    const char *at = sti_fresh(t, "at");
    sti_emit(t, "top -= 1;");
    sti_emit(t, "i64 %s = wtape[(i64)top * tape_width];", at);
    for (int i = 0; i < e->narray; ++i) undo_array(t, e->array[i], at);
}

void sti_log_undo(sti_transform *t, const sti_effects *e, const char *mark)
{
    if (e->narray == 0) return;
    t->taped |= 1u << STI_SPILL_INT;
    if (sti_team_level(t)) {
        sti_team_log_undo(t, e, mark);
        return;
    }
    sti_emit(t, "for (; top > %s;) {", mark);
    sti_log_undo_entry(t, e);
    sti_emit(t, "}");
}
