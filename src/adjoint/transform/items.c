/*
 * Adjoints of item kernels, whose lanes are items and whose arrays belong to all items; see transform.h.
 *
 * The reverse of items is items: a group of lanes runs forward and back. A gradient leaves it in one of three ways:
 *   own      an element at an index that belongs to this item only (s * item + c) gets its gradient at once, in the
 *            lanes that exist
 *   written  an element that an item writes is written by no other item, so the item takes its gradient there
 *   listed   for an element that other items may read, (place, gradient) goes to the item's column of the lists, which
 *            gather.h adds up
 * A number's gradient is summed over an item's own uses and then listed. Slot 0 of a column holds the number of its
 * entries as a value below 0, which is no entry.
 */
#include "adjoint/transform/save_restore.h"
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

/* An access by lanes: array[offset + lanes]. */
typedef struct access {
    sti_symbol *array;
    const char *offset, *lanes;
    sti_affine index;
    bool known; /* `index` is known */
    sti_source_place place;
} access;

/* ---- helpers of the text ----------------------------------------------------------------------------------------- */

void sti_item_helpers(sti_transform *t)
{
    sti_emit(t,
             "/* p[i] of the lanes where m is true, else 0. */\n"
             "LFN real item_read(mask m, const ureal *p, lint i)\n{\n"
             "    ureal x[STET_W];\n"
             "    int on[STET_W], at[STET_W];\n"
             "    istore(on, iselect(m, isplat(1), isplat(0)));\n"
             "    istore(at, i);\n"
             "    for (int l = 0; l < STET_W; ++l) x[l] = on[l] ? p[at[l]] : (ureal)0;\n"
             "    return load(x);\n}\n\n"
             "/* Lists g for element base + i of an array, in the lanes where m is true and g is not 0. */\n"
             "LFN void item_list(i64 *places, ureal *values, mask m, i64 base, lint i, int code, real g)\n{\n"
             "    int on[STET_W], at[STET_W];\n"
             "    istore(on, iselect(m_andnot(m, eq(g, splat(0))), isplat(1), isplat(0)));\n"
             "    istore(at, i);\n"
             "    store_if(m, values, g);\n"
             "    for (int l = 0; l < STET_W; ++l)\n"
             "        if (on[l]) places[l] = (base + at[l]) * %d + code;\n}\n",
             STI_LISTING_CODES);
}

/* Writes the code that makes all slots of the block's columns empty. */
void sti_item_begin(sti_transform *t)
{
    if (t->item->ncode == 0) return;
    const char *c = sti_fresh(t, "c"), *k = sti_fresh(t, "k");
    sti_emit(t,
             "each (%s, tape_width) for (int %s = 0; %s < list_depth; ++%s) list_places[((i64)block * list_depth + "
             "%s) * tape_width + %s] = -1;",
             c, k, k, k, k, c);
    sti_emit(t, "sync();");
}

/* ---- which elements ---------------------------------------------------------------------------------------------- */

static const char *sum_of(sti_transform *t, const char *a, const char *b)
{
    if (strcmp(a, "0") == 0) return b;
    return strcmp(b, "0") == 0 ? a : sti_say(t, "%s + %s", a, b);
}

/* The element behind a pointer, or in an array: the same in each lane, or at i. */
static bool access_of(sti_transform *t, const sti_node *pointer, const sti_node *index, const sti_node *i,
                      const char *lanes, access *out)
{
    bool only;
    const sti_affine_rules rules = sti_affine_each(t);
    *out = (access){.array = sti_origin_of(pointer, &only), .lanes = lanes, .place = pointer->place};
    if (!out->array || !only || out->array->kind != STI_SYMBOL_PARAMETER) {
        sti_report_mistake(t->u, pointer->place,
                           "the gradient of what `%s` points to is not made: use an array of this kernel",
                           sti_text(t->u, pointer));
        return false;
    }
    out->offset = sti_offset_of(t, pointer);
    if (index) out->offset = sum_of(t, out->offset, sti_closed(t, sti_value(t, index)));
    if (i) out->lanes = sti_value(t, i);
    out->known =
        sti_affine_add_place(&rules, pointer, &out->index) && (!i || sti_affine_add(&rules, i, 1, &out->index));
    out->index.lane += !i && strcmp(lanes, "lane()") == 0;
    return true;
}

/* True if two items, of any blocks, never have the same element. */
static bool is_own(sti_transform *t, const sti_affine *l)
{
    int64_t s = l->stride < 0 ? -l->stride : l->stride, of_block = l->block < 0 ? -l->block : l->block;
    if (s == 0 || l->lane != l->stride || l->high - l->low >= s) return false;
    for (const sti_node *v = t->function->a; v; v = v->next)
        if (strcmp(v->name->text, "block") == 0)
            return t->item->most_items > 0 && s * (t->item->most_items - 1) + l->high - l->low < of_block;
    return true;
}

/*
 * The first element of the item's own that is found decides which elements are its own. An access that does not match
 * is listed.
 */
static bool owns(sti_transform *t, const access *a)
{
    sti_access_note *n = sti_access_note_of(t, a->array);
    sti_affine l = a->index;
    if (!a->known || !is_own(t, &l)) return false;
    if (n->places == STI_PLACES_NONE) {
        n->places = STI_PLACES_OWN;
        n->stride = l.stride;
        n->block = l.block;
        n->low = l.low;
        n->high = l.high;
    }
    if (n->stride != l.stride || n->block != l.block) return false;
    if (n->low < l.low) l.low = n->low;
    if (n->high > l.high) l.high = n->high;
    if (!is_own(t, &l)) return false;
    n->low = l.low;
    n->high = l.high;
    return true;
}

static const char *address(sti_transform *t, const char *array, const access *a)
{
    return strcmp(a->offset, "0") == 0 ? array : sti_say(t, "%s + %s", array, a->offset);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static int code_of(sti_transform *t, const sti_symbol *s, sti_source_place place)
{
    for (int i = 0; i < t->item->ncode; ++i)
        if (t->item->coded[i] == s) return i;
    if (t->item->ncode == STI_ADJOINT_CODES) {
        sti_report_mistake(t->u, place, "items share more than %d arrays and numbers: the adjoint is not made",
                           t->item->ncode);
        return 0;
    }
    t->item->coded[t->item->ncode] = s;
    return t->item->ncode++;
}

static void list_gradient(sti_transform *t, const sti_symbol *s, const char *base, const char *lanes, const char *g,
                          sti_source_place place)
{
    sti_region_note_of(t, t->tape->inner)->listed++;
    t->tape->taped |= 1u << STI_SPILL_OVER;
    t->item->lists = true;
    sti_emit(t, "if (listed + 1 < list_depth) {");
    sti_emit(t, "listed += 1;");
    const char *slot = "(i64)listed * tape_width";
    sti_emit(t, "item_list(place_list + %s, value_list + %s, %s, (i64)(%s), %s, %d, %s);", slot, slot, t->item->here,
             base, lanes, code_of(t, s, place), g);
    sti_else_overflow(t, place);
}

static void refuse_other_items(sti_transform *t, const access *a)
{
    sti_report_mistake(
        t->u, a->place,
        "`%s` is read and written by this kernel, and here it cannot be seen that the element is the item's "
        "own: index it by constant * item + constant, or write to another array",
        a->array->name->text);
}

static void add_gradient(sti_transform *t, const access *a, const char *g)
{
    if (!owns(t, a)) {
        if (a->array->written) refuse_other_items(t, a);
        list_gradient(t, a->array, a->offset, a->lanes, g, a->place);
        return;
    }
    const char *at = address(t, sti_gradient_name(t, a->array), a);
    sti_note_of(t, a->array)->graded = true;
    sti_emit(t, "scatter_if(%s, %s, %s, item_read(%s, %s, %s) + %s);", t->item->here, at, a->lanes, t->item->here, at,
             a->lanes, sti_closed(t, g));
}

bool sti_item_accumulate(sti_transform *t, const sti_node *place, const char *g)
{
    bool only;
    access a;
    const sti_symbol *s = t->items && t->kernel ? sti_origin_of(place, &only) : NULL;
    if (!s || !sti_is_array_symbol(s)) return false;
    const sti_node *index = place->kind == STI_NODE_INDEX ? place->b : NULL;
    if (!access_of(t, place->a, index, NULL, "isplat(0)", &a)) return true;
    a.known = false; /* all lanes access the same element */
    add_gradient(t, &a, g);
    return true;
}

/* load(p), gather(p, i), of_world(array, items, world, i). */
void sti_item_reverse_read(sti_transform *t, const sti_node *call, const char *g)
{
    access a;
    const char *name = call->name->text;
    const sti_node *i = sti_argument(call, 1);
    if (strcmp(name, "of_world") == 0) {
        if (!access_of(t, call->a, NULL, NULL, "isplat(0)", &a)) return;
        a.offset = sti_say(t, "(i64)(%s) * (%s) + (%s)", sti_value(t, sti_argument(call, 2)), sti_value(t, i),
                           sti_value(t, sti_argument(call, 3)));
        a.known = false;
    } else if (!access_of(t, call->a, NULL, strcmp(name, "gather") == 0 ? i : NULL, "lane()", &a)) {
        return;
    }
    add_gradient(t, &a, g);
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

/*
 * store(p, x), store_if(m, p, x), scatter_if(m, p, i, x): the lanes that write, as a text, and the access. NULL: it
 * cannot be followed.
 */
static const char *store_access(sti_transform *t, const sti_node *call, access *a)
{
    bool scatter = strcmp(call->name->text, "scatter_if") == 0, always = strcmp(call->name->text, "store") == 0;
    const sti_node *pointer = sti_argument(call, always ? 0 : 1);
    if (!access_of(t, pointer, NULL, scatter ? sti_argument(call, 2) : NULL, "lane()", a)) return NULL;
    if (always) return t->item->here;
    return sti_say(t, "m_and(%s, %s)", sti_value(t, call->a), t->item->here);
}

void sti_item_reverse_store(sti_transform *t, const sti_node *call)
{
    access a;
    const char *lanes = store_access(t, call, &a);
    if (!lanes) return;
    if (sti_note_of(t, a.array)->read && !owns(t, &a)) refuse_other_items(t, &a);
    const char *on = sti_fresh(t, "on"), *g = sti_fresh(t, "g"), *at = address(t, sti_gradient_name(t, a.array), &a);
    sti_note_of(t, a.array)->graded = true;
    sti_emit(t, "mask %s = %s;", on, lanes);
    sti_emit(t, "real %s = item_read(%s, %s, %s);", g, on, at, a.lanes);
    sti_emit(t, "scatter_if(%s, %s, %s, splat(0));", on, at, a.lanes);
    const sti_node *value = call->a;
    while (value->next) value = value->next;
    sti_reverse_value(t, value, g);
}

void sti_item_save(sti_transform *t, sti_step *s, const sti_node *call)
{
    access a;
    const sti_node *pointer = sti_argument(call, sti_store_of(call));
    bool only;
    const sti_symbol *array = sti_origin_of(pointer, &only);
    if (!array || !sti_is_array_symbol(array) || !sti_note_of(t, array)->overwritten ||
        !sti_ask(t, pointer, STI_NOTE(needed)))
        return;
    const char *on = store_access(t, call, &a);
    if (!on) return;
    const char *old = sti_fresh(t, array->name->text), *at = address(t, array->name->text, &a);
    (void)sti_mark(t, pointer, STI_NOTE(stored));
    sti_emit(t, "real %s = item_read(%s, %s, %s);", old, on, at, a.lanes);
    sti_restore_by(t, s, sti_say(t, "scatter_if(%s, %s, %s, %s);", on, at, a.lanes, old));
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

/* The constant that a count never exceeds; 0: unknown. */
static int64_t most_of(sti_transform *t, const sti_node *e)
{
    int64_t a, b;
    if (sti_constant(t->u, e, false, &a)) return a > 0 && a < 1 << 30 ? a : 0;
    if (e->kind == STI_NODE_NAME && e->symbol && !sti_note_of(t, e->symbol)->assigned) {
        const sti_node *v = e->symbol->node;
        return v && v->kind == STI_NODE_VARIABLE && v->a && sti_type_integer(sti_type_value(v->type)) ? most_of(t, v->a)
                                                                                                      : 0;
    }
    if (!sti_is_call_of(e, "nmin")) return 0;
    a = most_of(t, e->a);
    b = most_of(t, e->a->next);
    return a == 0 || (b > 0 && b < a) ? b : a;
}

/* Declares an item's own sum for each number of the kernel that the items use, or (`end`) lists the sums. */
static void move_numbers(sti_transform *t, const sti_node *n, bool end)
{
    for (const sti_node *v = t->function->a; v; v = v->next) {
        sti_note *note = sti_note_of(t, v->symbol);
        if (sti_type_points(v->type) || !sti_type_carries(v->type) || !note->active || !sti_mentions(n->b, v->symbol))
            continue;
        if (end) {
            list_gradient(t, v->symbol, "0", "isplat(0)", note->share, v->place);
            note->share = NULL;
        } else {
            note->share = sti_fresh(t, sti_say(t, "%s_share", v->name->text));
            sti_declare_gradient(t, v->symbol);
        }
    }
}

static sti_text_buffer body_of(sti_transform *t, sti_node *n)
{
    sti_text_buffer outer = sti_capture(t, 1);
    const sti_node *inner = t->tape->inner;
    t->tape->inner = n;
    move_numbers(t, n, false);
    sti_adjoint_list(t, n->b->a);
    move_numbers(t, n, true);
    t->tape->inner = inner;
    return sti_captured(t, outer, 1);
}

void sti_adjoint_items(sti_transform *t, sti_node *n)
{
    const char *item = n->name->text, *count = sti_fresh(t, "n");
    unsigned taped = t->tape->taped;
    t->each = n;
    t->tape->taped = 0;
    t->item->lists = false;
    t->item->here = sti_fresh(t, "here");
    t->item->most_items = most_of(t, n->a);
    sti_text_buffer body = body_of(t, n);
    t->each = NULL;
    sti_emit(t, "sync();");
    sti_emit(t, "int %s = %s;", count, sti_value(t, n->a));
    sti_emit(t, "items (%s, %s) {", item, count);
    sti_emit(t, "mask %s = in_range(%s, %s);", t->item->here, item, count);
    if (t->tape->taped) {
        sti_spill_begin(t, item);
        sti_emit(t, "int top = 0;");
    }
    if (t->item->lists) {
        sti_emit(t, "i64 *place_list = list_places + (i64)block * list_depth * tape_width + %s;", item);
        sti_emit(t, "ureal *value_list = list_values + (i64)block * list_depth * tape_width + %s;", item);
        sti_emit(t, "int listed = (int)(-1 - place_list[0]);");
    }
    sti_take_text(&t->output->text, &body);
    if (t->item->lists) sti_emit(t, "place_list[0] = -1 - (i64)listed;");
    sti_emit(t, "}");
    sti_emit(t, "sync();");
    t->tape->taped |= taped;
}
