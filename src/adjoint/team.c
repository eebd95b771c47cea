/*
 * Iterations of an each, shared out over a team; see transform.h.
 *
 * The reverse of an each is an each: an iteration runs forward and back. Three kinds of gradients leave it:
 *   own      an element that only this iteration touches gets its gradient at once
 *   shares   of a variable from outside: each iteration's share goes to the tape; all threads add them up, in the order of the iterations
 *   listed   of an element that several iterations may touch: (place, gradient) go to the far end of the tape's columns. Then each
 *            element's owner adds what is there for it: iterations in their order, of each iteration in the order of its reverse
 * So no sum depends on how many threads there are, or which is first. Where iterations run one after the other, in their order (a CPU's lanes, not permuted),
 * adding at once is that same order, entry by entry: there nothing goes to the list but its length, so that a tape that is too short is found everywhere.
 */
#include "adjoint/transform.h"
#include "kernel/check/flow.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

enum { CODES = STI_ADJOINT_CODES };

bool sti_team_level(const sti_transform *t) { return t->kernel && !t->each; }

/* ---- the list ----------------------------------------------------------------------------------------------------- */

const char *sti_offset_of(sti_transform *t, const sti_node *e)
{
    if (e->kind == STI_NODE_NAME && e->symbol) {
        const sti_node *v = e->symbol->node;
        if (e->symbol->kind == STI_SYMBOL_STAGED) return sti_offset_of(t, v->a);
        if (e->symbol->kind != STI_SYMBOL_VARIABLE || e->type->kind == STI_TYPE_ARRAY) return "0";
        if (v && v->a) return sti_offset_of(t, v->a);
    }
    if (e->kind == STI_NODE_BINARY && e->a->type && sti_type_points(e->a->type)) {
        const char *before = sti_offset_of(t, e->a), *own = sti_closed(t, sti_value(t, e->b));
        bool minus = e->op == STI_OP_SUB;
        if (strcmp(before, "0") == 0 && !minus) return own;
        return sti_say(t, "%s %c %s", before, minus ? '-' : '+', own);
    }
    sti_complain(t->u, e->place, "where `%s` points is not followed: write the array with an index", sti_text(t->u, e));
    return "0";
}

int sti_team_code(sti_transform *t, const sti_symbol *array)
{
    for (int i = 0; i < t->ncode; ++i)
        if (t->coded[i] == array) return i;
    if (t->ncode == CODES) {
        sti_complain(t->u, t->each->place, "iterations of this each share more than %d arrays: its adjoint is not made",
                     CODES);
        return 0;
    }
    t->coded[t->ncode] = array;
    return t->ncode++;
}

/* A listed element grows by `more`. */
static void add_to(sti_transform *t, const sti_symbol *array, const char *index, const char *more)
{
    const char *g = sti_gradient_name(t, array);
    bool shared = array->kind == STI_SYMBOL_SHARED;
    sti_emit(t, shared ? "%s[%s] = %s[%s] + %s;" : "put(%s, %s, %s[%s] + %s);", g, index, g, index, more);
}

static void list_entry(sti_transform *t, const sti_node *place, const sti_symbol *array, const char *g)
{
    const char *index = place->kind == STI_NODE_INDEX ? sti_closed(t, sti_value(t, place->b)) : "0";
    const char *offset = sti_offset_of(t, place->a);
    if (strcmp(offset, "0") != 0) index = sti_say(t, "(%s + %s)", offset, index);
    sti_note_of(t, (const sti_symbol *)(const void *)t->inner)->listed++;
    t->taped |= 1u << STI_TAPE_REAL | 1u << STI_TAPE_INT | 1u << STI_TAPE_OVER;
    sti_emit(t, "if (top + listed < tape_depth) {");
    sti_open(t);
    sti_emit(t, "listed += 1;");
    sti_emit(t, "if (%s) {", STI_TEAM_LISTS);
    sti_open(t);
    sti_emit(t, "put(tape, (i64)(tape_depth - listed) * tape_width, %s);", g);
    sti_emit(t, "wtape[(i64)(tape_depth - listed) * tape_width] = (i64)%s * %d + %d;", index, CODES,
             sti_team_code(t, array));
    t->indent--;
    sti_emit(t, "} else {");
    sti_open(t);
    add_to(t, array, index, sti_closed(t, g));
    sti_close(t, "}");
    t->indent--;
    sti_emit(t, "} else {");
    sti_open(t);
    sti_emit(t, "tape_over[0] = %u;", sti_mark_of(place->place));
    sti_close(t, "}");
}

void sti_team_take_listed(sti_transform *t, const sti_node *place, const char *g)
{
    bool only;
    const sti_symbol *s = t->kernel && t->each && !t->items ? sti_origin_of(place, &only) : NULL;
    if (!s || !sti_is_array_symbol(s) || sti_team_owns(t, s) || !sti_note_of(t, s)->read) return;
    if (!only) {
        sti_complain(t->u, place->place, "`%s` may be an element of several arrays, and it is written: write the array",
                     sti_text(t->u, place));
        return;
    }
    const char *index = place->kind == STI_NODE_INDEX ? sti_closed(t, sti_value(t, place->b)) : "0";
    const char *offset = sti_offset_of(t, place->a), *own = sti_fresh(t, "own"), *k = sti_fresh(t, "k");
    const char *slot = sti_fresh(t, "slot");
    if (strcmp(offset, "0") != 0) index = sti_say(t, "(%s + %s)", offset, index);
    t->taped |= 1u << STI_TAPE_REAL | 1u << STI_TAPE_INT;
    sti_emit(t, "i64 %s = (i64)%s * %d + %d;", own, index, CODES, sti_team_code(t, s));
    sti_emit(t, "for (int %s = 1; %s <= (%s ? listed : 0); ++%s) {", k, k, STI_TEAM_LISTS, k);
    sti_open(t);
    sti_emit(t, "i64 %s = (i64)(tape_depth - %s) * tape_width;", slot, k);
    sti_emit(t, "if (wtape[%s] != %s) continue;", slot, own);
    sti_emit(t, "%s = %s + tape[%s];", g, g, slot);
    sti_emit(t, "wtape[%s] = -1;", slot);
    sti_close(t, "}");
}

bool sti_team_accumulate(sti_transform *t, const sti_node *place, const char *array, const char *index, const char *g)
{
    bool only;
    const sti_symbol *s = t->kernel ? sti_origin_of(place, &only) : NULL;
    if (!s || !sti_is_array_symbol(s)) return false;
    sti_note_graded(t, place);
    if (!t->each) {
        bool pointer = sti_through_pointer(place);
        const char *sum = sti_say(t, "%s[%s] + %s", sti_closed(t, array), index, sti_closed(t, g));
        sti_emit(t, pointer ? "each (%s, 1) put(%s, %s, %s);" : "each (%s, 1) %s[%s] = %s;", sti_fresh(t, "one"), array,
                 index, sum);
        return true;
    }
    if (!only) {
        sti_accumulate_chosen(t, place, g);
        return true;
    }
    if (sti_note_of(t, s)->code == -2) return false;
    list_entry(t, place, s, g);
    return true;
}

/* Each element's owner goes through all that was listed. How many owners there are changes no sum. */
static void add_listed(sti_transform *t, const char *count)
{
    const char *owner = sti_fresh(t, "owner"), *j = sti_fresh(t, "j"), *k = sti_fresh(t, "k"), *n = sti_fresh(t, "n");
    const char *slot = sti_fresh(t, "slot"), *mine = sti_fresh(t, "mine"), *owners = "(STET_GPU ? 32 : 1)";
    sti_emit(t, "each (%s, STET_GPU ? 32 : STET_PERMUTE) {", owner);
    sti_open(t);
    sti_emit(t, "for (int %s = 0; %s < %s; ++%s) {", j, j, count, j);
    sti_open(t);
    sti_emit(t, "int %s = (int)wtape[(i64)top * tape_width + %s];", n, j);
    sti_emit(t, "for (int %s = 1; %s <= %s; ++%s) {", k, k, n, k);
    sti_open(t);
    sti_emit(t, "i64 %s = (i64)(tape_depth - %s) * tape_width + %s, %s = -1;", slot, k, j, mine);
    sti_emit(t, "if (wtape[%s] / %d %% %s == %s) %s = wtape[%s];", slot, CODES, owners, owner, mine, slot);
    for (int i = 0; i < t->ncode; ++i) {
        const char *g = sti_gradient_name(t, t->coded[i]), *element = sti_say(t, "%s / %d", mine, CODES);
        bool shared = t->coded[i]->kind == STI_SYMBOL_SHARED;
        sti_emit(t,
                 shared ? "if (%s >= 0 && %s %% %d == %d) %s[%s] = %s[%s] + tape[%s];"
                        : "if (%s >= 0 && %s %% %d == %d) put(%s, %s, %s[%s] + tape[%s]);",
                 mine, mine, CODES, i, g, element, g, element, slot);
    }
    if (t->lists) sti_lane_add_listed(t, slot, owner, owners);
    sti_close(t, "}");
    sti_close(t, "}");
    sti_close(t, "}");
    sti_emit(t, "sync();");
}

/* ---- shares ------------------------------------------------------------------------------------------------------- */

typedef struct shares {
    sti_symbol *symbol[STI_ADJOINT_CODES];
    int count;
} shares;

/* Variables and local arrays from outside of the each whose gradients its iterations add to. */
static void find_shares(sti_transform *t, const sti_node *n, shares *out)
{
    for (; n; n = n->next) {
        sti_symbol *s = n->kind == STI_NODE_NAME ? n->symbol : NULL;
        bool variable = s && (s->kind == STI_SYMBOL_VARIABLE || s->kind == STI_SYMBOL_PARAMETER) && s->type &&
                        s->type->kind != STI_TYPE_POINTER && sti_type_carries(s->type);
        bool known = false;
        for (int i = 0; i < out->count; ++i) known |= out->symbol[i] == s;
        if (variable && !known && sti_note_of(t, s)->varied && !sti_declared_in(t->each, s)) {
            if (out->count < STI_ADJOINT_CODES)
                out->symbol[out->count++] = s;
            else
                sti_complain(t->u, n->place,
                             "more than %d variables from outside have gradients in this each: use arrays",
                             STI_ADJOINT_CODES);
        }
        find_shares(t, n->a, out);
        find_shares(t, n->b, out);
        find_shares(t, n->c, out);
        find_shares(t, n->d, out);
    }
}

static void open_shares(sti_transform *t, const shares *s)
{
    for (int i = 0; i < s->count; ++i) {
        sti_note_of(t, s->symbol[i])->share = sti_fresh(t, sti_say(t, "%s_share", s->symbol[i]->name->text));
        sti_declare_gradient(t, s->symbol[i]);
    }
}

/* Writes shares to the tape (`sum` NULL), or adds those of iteration `sum` to the gradient. */
static void move_share(sti_transform *t, const char *place, const sti_type *type, const char *sum, int *slot)
{
    if (type->kind == STI_TYPE_ARRAY) {
        for (int64_t k = 0; k < type->count; ++k)
            move_share(t, sti_say(t, "%s[%lld]", place, (long long)k), type->of, sum, slot);
    } else if (type->kind == STI_TYPE_STRUCT) {
        for (const sti_symbol *f = type->structure->field; f; f = f->next)
            if (sti_type_carries(f->type)) move_share(t, sti_say(t, "%s.%s", place, f->name->text), f->type, sum, slot);
    } else if (sum) {
        sti_emit(t, "%s = %s + tape[(i64)(top + %d) * tape_width + %s];", place, place, (*slot)++, sum);
    } else {
        sti_emit(t, "put(tape, (i64)(top + %d) * tape_width, %s);", (*slot)++, place);
    }
}

static int close_shares(sti_transform *t, const shares *s)
{
    int slot = 0;
    for (int i = 0; i < s->count; ++i) {
        sti_note *n = sti_note_of(t, s->symbol[i]);
        move_share(t, n->share, s->symbol[i]->type, NULL, &slot);
        n->share = NULL;
    }
    if (slot > 0) t->taped |= 1u << STI_TAPE_REAL;
    return slot;
}

static void add_shares(sti_transform *t, const shares *s, const char *count)
{
    const char *j = sti_fresh(t, "j");
    int slot = 0;
    if (s->count == 0) return;
    sti_emit(t, "for (int %s = 0; %s < %s; ++%s) {", j, j, count, j);
    sti_open(t);
    for (int i = 0; i < s->count; ++i) move_share(t, sti_gradient_name(t, s->symbol[i]), s->symbol[i]->type, j, &slot);
    sti_close(t, "}");
    sti_emit(t, "sync();");
}

/* ---- an each ------------------------------------------------------------------------------------------------------ */

void sti_forget_codes(sti_transform *t)
{
    for (int i = 0; i < STI_ADJOINT_BUCKETS; ++i)
        for (sti_note *n = t->note[i]; n; n = n->next) n->code = 0;
    t->ncode = 0;
}

/* The body's text is made first: only then it is known what of a tape it takes. */
static sti_buffer body_of(sti_transform *t, sti_node *n, const shares *s, int *slots)
{
    sti_buffer before = t->out;
    t->out = (sti_buffer){0};
    const sti_node *inner = t->inner;
    t->inner = n;
    t->indent++;
    open_shares(t, s);
    sti_adjoint_list(t, n->b->a);
    *slots = close_shares(t, s);
    if (t->ncode > 0) sti_emit(t, "if (%s) wtape[(i64)top * tape_width] = listed;", STI_TEAM_LISTS);
    t->indent--;
    t->inner = inner;
    sti_buffer body = t->out;
    t->out = before;
    return body;
}

void sti_adjoint_each(sti_transform *t, sti_node *n)
{
    if (t->items) {
        sti_complain(
            t->u, n->place,
            "an each of an item kernel gives values to something that has a gradient, and its adjoint is not made: "
            "write items");
        return;
    }
    shares s = {.count = 0};
    const char *count = sti_value(t, n->a), *base = sti_fresh(t, "base");
    unsigned taped = t->taped;
    int slots;
    t->each = n;
    t->taped = 0;
    t->lists = false;
    sti_forget_codes(t);
    sti_note_places(t, n->b->a);
    find_shares(t, n->b->a, &s);
    sti_buffer body = body_of(t, n, &s, &slots);
    t->each = NULL;
    sti_note_of(t, (const sti_symbol *)(const void *)n)->slots = slots > 0 ? slots : t->ncode > 0;
    sti_emit(t, "sync();");
    if (t->taped) sti_emit(t, "int %s = top;", base);
    sti_emit(t, "each (%s, %s) {", n->name->text, count);
    sti_open(t);
    if (t->taped) {
        sti_tape_begin(t, n->name->text);
        sti_emit(t, "int top = %s;", base);
    }
    if (t->ncode > 0) sti_emit(t, "int listed = 0;");
    sti_take_text(&t->out, &body);
    sti_close(t, "}");
    sti_emit(t, "sync();");
    add_shares(t, &s, count);
    if (t->ncode > 0) add_listed(t, count);
    t->taped |= taped;
}
