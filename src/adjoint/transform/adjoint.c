/*
 * Makes the text with the adjoints of a unit; see adjoint.h.
 */
#include "adjoint/normalize/normalize.h"
#include "adjoint/transform/transform.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "kernel/check/type.h"

#include <assert.h>
#include <string.h>

static bool is_kernel(const sti_node *n) { return n->kind == STI_NODE_FUNCTION && n->op != STI_WORD_LFN; }

/* A making of the adjoints of a unit, as adjoint.h describes it. */
typedef struct job {
    sti_transform *t;
    const sti_adjoint_options *options;
    sti_adjoint *result;
} job;

/* True if the adjoint of a function, or of a kernel that calls it, is requested. */
static bool is_selected(const job *j, const sti_node *f)
{
    return !j->options->kernel || strcmp(f->name->text, j->options->kernel) == 0;
}

/* True if the adjoint of a function is written: it is wanted, and the source itself does not have it. */
static bool is_written(sti_transform *t, const sti_node *f)
{
    if (f->kind != STI_NODE_FUNCTION) return false;
    const sti_function_note *n = sti_function_note_of(t, f->symbol);
    return n->wanted && !n->given;
}

/* ---- which functions --------------------------------------------------------------------------------------------- */

static void want(sti_transform *t, const sti_node *f);

static void want_called(sti_transform *t, const sti_node *n)
{
    if (sti_is_own_call(n)) want(t, n->symbol->node);
}

static void want(sti_transform *t, const sti_node *f)
{
    sti_function_note *n = sti_function_note_of(t, f->symbol);
    if (n->wanted) return;
    n->wanted = true;
    n->given = sti_given_adjoint(t, f);
    if (!n->given || is_kernel(f)) sti_walk(t, f->b->a, want_called);
}

static bool is_given_adjoint(sti_transform *t, const sti_node *f)
{
    size_t length = f->name->length;
    if (length < 5 || strcmp(f->name->text + length - 4, "_adj") != 0) return false;
    for (const sti_node *n = t->u->top; n; n = n->next)
        if (n->kind == STI_NODE_FUNCTION && n->name->length == length - 4 &&
            strncmp(n->name->text, f->name->text, length - 4) == 0)
            return true;
    return false;
}

static bool has_kernels(sti_transform *t)
{
    for (const sti_node *n = t->u->top; n; n = n->next)
        if (is_kernel(n) && !is_given_adjoint(t, n)) return true;
    return false;
}

/* ---- before any text --------------------------------------------------------------------------------------------- */

static void note_given(sti_transform *t, const sti_node *f)
{
    for (const sti_node *v = f->a; v; v = v->next) {
        sti_note *n = sti_note_of(t, v->symbol);
        n->active = sti_type_carries(v->type);
        n->read = n->needed = true;
    }
}

/* Notes parameters for which some caller has no gradient. */
static void note_absent(sti_transform *t, const sti_node *n)
{
    int i = 0;
    for (const sti_node *a = sti_is_own_call(n) ? n->a : NULL; a; a = a->next, ++i) {
        const sti_symbol *p = sti_flow_parameter(n, i);
        if (p && sti_type_points(p->type) && sti_type_carries(p->type) && !sti_active_value(t, a))
            sti_note_of(t, p)->absent = true;
    }
}

/* Refuses a variable that hides another one, if both need values and gradients: the gradients would have one name. */
static void refuse_hidden(sti_transform *t, const sti_node *n)
{
    const sti_symbol *hidden = n->kind == STI_NODE_VARIABLE && n->symbol ? n->symbol->shadows : NULL;
    if (hidden && hidden->scope > 0)
        sti_report_mistake(t->u, n->place, "`%s` hides that of line %u, and adjoints need both: choose another name",
                           n->name->text, hidden->place.line);
}

/* What is left in a team's memory is not known after the launch, so nothing can go back through it. */
static void refuse_team_memory(sti_transform *t, const sti_node *f)
{
    for (const sti_node *v = f->a; v; v = v->next)
        if (sti_type_team_element(v->named))
            sti_report_mistake(t->u, v->place,
                               "`%s` is memory of a team, and adjoints do not know what it held: write "
                               "shared(…, %s, …), or take an array of worlds",
                               v->name->text, v->name->text);
}

/* Notes the parameters that are declared constant. */
static void note_constants(const job *j)
{
    const sti_unit *u = j->t->u;
    for (int i = 0; i < j->options->nconstant; ++i) {
        bool found = false;
        for (const sti_node *f = u->top; f; f = f->next)
            for (const sti_node *v = is_kernel(f) ? f->a : NULL; v; v = v->next) {
                if (strcmp(v->name->text, j->options->constant[i]) != 0) continue;
                if (v->symbol) sti_note_of(j->t, v->symbol)->constant = true;
                found |= is_selected(j, f);
            }
        if (!found)
            sti_report_mistake(j->t->u, u->top ? u->top->place : (sti_source_place){0},
                               "`%s` is declared to be constant, but no kernel has such a parameter",
                               j->options->constant[i]);
    }
}

/* Refuses calls whose effect on an active value or array cannot be followed: as_bits, and functions of lists. */
static void refuse_bits(sti_transform *t, const sti_node *n)
{
    const sti_derivative *d = n->kind == STI_NODE_CALL ? sti_derivative_of(n) : NULL;
    bool array = n->a && n->a->type && sti_type_points(n->a->type);
    if (d && d->kind == STI_DERIVATIVE_REFUSED && sti_active_value(t, n->a))
        sti_report_mistake(t->u, n->place,
                           "%s takes %s that has a gradient, and what becomes of %s cannot be followed: "
                           "put it into a function, and write that function's adjoint",
                           n->name->text, array ? "an array" : "the bits of a value", array ? "it" : "them");
    if (sti_is_library_call(n) && !d)
        sti_report_mistake(t->u, n->place, "the derivative of `%s` is not known", n->name->text);
}

/* True for names that adjoints use themselves, in the scope of the source's code. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {"tape",        "ltape",       "utape",      "wtape",       "tape_over",
                                       "tape_width",  "tape_depth",  "top",        "tapes",       "ltapes",
                                       "utapes",      "wtapes",      "tape_overs", "result_grad", "listed",
                                       "list_places", "list_values", "list_depth", "place_list",  "value_list",
                                       "wtape_room",  "utape_room",  "over_room"};
    const sti_derivative *d = sti_derivative_find(name);
    if (d && d->kind == STI_DERIVATIVE_REFUSED) return true; /* functions of lists */
    for (size_t i = 0; i < sizeof ours / sizeof *ours; ++i)
        if (strcmp(name, ours[i]) == 0) return true;
    return false;
}

static void refuse_name(sti_transform *t, const sti_node *n)
{
    if (sti_declares(n) && is_ours(n->name->text))
        sti_report_mistake(t->u, n->place, "adjoints have a `%s` of their own: choose another name", n->name->text);
}

static void refuse_function_name(sti_transform *t, const sti_node *f)
{
    const char *name = f->name->text;
    if (name[f->name->length - 1] == '_')
        sti_report_mistake(t->u, f->place, "%s gets no adjoint, since %s_adj has two _ in a row: choose another name",
                           name, name);
    if (is_kernel(f) && f->name->length + 4 >= STI_MAX_NAME)
        sti_report_mistake(t->u, f->place, "%s gets no adjoint: %s_adj is %d letters or longer", name, name,
                           STI_MAX_NAME);
}

static bool goes_on(const sti_transform *t) { return !t->u->failed && t->u->nmistake == 0; }

/*
 * Refuses writes to arrays that all worlds share: the order of worlds is not defined, so the gradient of the old
 * content has no meaning.
 */
static void refuse_shared_writes(sti_transform *t, const sti_node *f)
{
    for (const sti_node *v = f->op == STI_WORD_WORLD_KERNEL ? f->a : NULL; v; v = v->next) {
        const sti_note *n = sti_note_of(t, v->symbol);
        bool plain = v->op == STI_OP_MUL && v->named->kind == STI_TYPE_UREAL;
        if (plain && v->symbol->written && n->overwritten && n->active)
            sti_report_mistake(
                t->u, v->place,
                "`%s` is one array for all worlds, and each of them overwrites what others read there: write "
                "to another array, or let `%s` be an array of worlds, real *",
                v->name->text, v->name->text);
    }
}

static void prepare(sti_transform *t, sti_node *f)
{
    const sti_function_note *n = sti_function_note_of(t, f->symbol);
    if (!n->wanted) return;
    refuse_team_memory(t, f);
    if (n->given) {
        note_given(t, f);
        return;
    }
    t->function = f;
    t->kernel = is_kernel(f);
    refuse_function_name(t, f);
    sti_walk(t, f->a, refuse_name);
    sti_walk(t, f->b, refuse_name);
    sti_refuse_moving_pointers(t, f);
    if (t->u->nmistake > 0) return;
    sti_normalise(t, f);
    if (t->kernel) sti_inline_calls(t, f);
    if (!goes_on(t)) return;
    sti_take_notes(t, f);
    if (sti_fix_pointer_offsets(t, &f->b->a)) sti_take_notes(t, f);
    if (sti_unroll(t, f)) sti_take_notes(t, f);
    sti_walk(t, f->b->a, refuse_bits);
    refuse_shared_writes(t, f);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static void choose(const job *j)
{
    sti_transform *t = j->t;
    bool kernels = has_kernels(t);
    for (const sti_node *f = t->u->top; f; f = f->next)
        if (f->kind == STI_NODE_FUNCTION && (is_kernel(f) || !kernels) && !is_given_adjoint(t, f) && is_selected(j, f))
            want(t, f);
}

static bool reads_by_lanes(sti_transform *t, const sti_node *n, const void *context)
{
    (void)context;
    return sti_lane_read(n) && sti_active_value(t, n);
}

static void refuse_taken(sti_transform *t, const char *name)
{
    if (t->u->top && sti_unit_find(t->u, name, strlen(name)))
        sti_report_mistake(t->u, t->u->top->place, "adjoints have a function `%s` of their own: choose another name",
                           name);
}

/* Writes the helper functions that the adjoints call. */
static void make_helpers(sti_transform *t)
{
    bool has_items = false, lanes = false;
    for (const sti_node *n = t->u->top; n; n = n->next) {
        if (!is_written(t, n)) continue;
        has_items |= n->op == STI_WORD_ITEM_KERNEL;
        lanes |= n->op != STI_WORD_ITEM_KERNEL && sti_any(t, n->b, reads_by_lanes, NULL);
    }
    if (has_items) refuse_taken(t, "item_read"), refuse_taken(t, "item_list");
    if (lanes) refuse_taken(t, "lane_add");
    if (has_items) sti_item_helpers(t);
    if (lanes) sti_lane_helpers(t);
}

static void transform(const job *j)
{
    sti_transform *t = j->t;
    sti_adjoint_kernel **at = &j->result->kernel;
    note_constants(j);
    choose(j);
    for (sti_node *f = t->u->top; f && !t->u->failed; f = f->next)
        if (f->kind == STI_NODE_FUNCTION) prepare(t, f);
    if (!goes_on(t)) return;
    for (sti_node *f = t->u->top; f; f = f->next) {
        if (!is_written(t, f)) continue;
        t->function = f;
        sti_walk(t, f->b->a, note_absent);
        sti_walk(t, f->b->a, refuse_hidden);
    }
    sti_gradient_structures(t);
    make_helpers(t);
    bool kernels = has_kernels(t);
    for (sti_node *f = t->u->top; f && !t->u->failed; f = f->next) {
        if (!is_written(t, f)) continue;
        if (is_kernel(f) && (*at = sti_adjoint_kernel_of(t, f))) at = &(*at)->next;
        if (!kernels) sti_adjoint_function(t, f);
    }
    sti_take_text(&t->output->text, &t->output->before);
}

static stet_result result_of(const sti_transform *t)
{
    const sti_diagnostic *d = t->u->first;
    if (t->u->failed)
        return sti_error(STET_ERROR_OUT_OF_MEMORY, "%s: out of memory while its adjoint was made", t->u->file[0]);
    if (t->u->nmistake == 0) return t->output->text.result;
    return sti_error(STET_ERROR_UNSUPPORTED, "%s:%d:%d: %s%s", d->file, d->line, d->column, d->message,
                     t->u->nmistake > 1 ? " (and more)" : "");
}

/* Finds the kernel or function whose adjoint contains a line of the text. */
static sti_source_place place_of(const sti_transform *t, const sti_unit *text, int line)
{
    const sti_node *f = NULL;
    for (const sti_node *n = text->top; n; n = n->next)
        if (n->kind == STI_NODE_FUNCTION && (int)n->place.line <= line) f = n;
    for (const sti_node *n = f ? t->u->top : NULL; n; n = n->next)
        if (n->kind == STI_NODE_FUNCTION && strncmp(f->name->text, n->name->text, n->name->length) == 0 &&
            strncmp(f->name->text + n->name->length, "_adj", 4) == 0)
            return n->place;
    return t->u->top ? t->u->top->place : (sti_source_place){0};
}

/*
 * Checks that the generated text follows the language's rules, and lists its kernels. If it does not, there is no
 * adjoint, and the message names the function in the source, not lines that the user did not write.
 */
static void check_text(sti_transform *t, sti_adjoint *out)
{
    sti_unit *text = NULL;
    if (t->output->text.result != STET_OK) return;
    stet_result result = sti_check_source(t->output->text.data, "the adjoint", &t->u->options, &text);
    if (result == STET_OK) result = sti_unit_kernels(text, NULL, &out->signature, &out->nsignature);
    if (result == STET_ERROR_PARSE)
        sti_report_mistake(
            t->u, place_of(t, text, text->first->line),
            "its adjoint is not made: what would be written is no source of the language (%s); write the "
            "kernel in another form",
            text->first->message);
    else if (result != STET_OK)
        t->u->failed = true;
    sti_unit_destroy(text);
}

static void give_ids(sti_adjoint *out, const sti_adjoint_options *options, const char *sources)
{
    for (sti_adjoint_kernel *k = out->kernel; k; k = k->next) {
        sti_hash h;
        sti_hash_begin(&h);
        sti_hash_add(&h, sources, strlen(sources));
        sti_hash_add(&h, k->name, strlen(k->name) + 1);
        for (int i = 0; i < options->nconstant; ++i)
            sti_hash_add(&h, options->constant[i], strlen(options->constant[i]) + 1);
        k->id = sti_hash_end(&h);
    }
}

stet_result sti_adjoint_make(sti_unit *unit, const sti_adjoint_options *options, sti_adjoint *out)
{
    static const sti_adjoint_options none;
    char *sources;
    sti_making *m;
    assert(unit && out && unit->nmistake == 0);
    *out = (sti_adjoint){0};
    STI_TRY(sti_unit_print(unit, &sources));
    stet_result result = sti_alloc(&m, sizeof *m, "a transformation");
    if (result == STET_OK) {
        const job j = {&m->t, options ? options : &none, out};
        m->t = (sti_transform){.u = unit,
                               .notes = sti_notes_make(unit),
                               .output = &m->output,
                               .tape = &m->tape,
                               .list = &m->list,
                               .item = &m->item};
        sti_text_buffer_put(&m->output.text, sources);
        sti_text_buffer_put(&m->output.text, "\n");
        if (m->t.notes) transform(&j);
        if (goes_on(&m->t)) check_text(&m->t, out);
        result = result_of(&m->t);
        give_ids(out, j.options, sources);
        out->text = m->output.text;
        sti_text_buffer_free(&m->output.before);
        sti_free(m);
    }
    sti_free(sources);
    if (result != STET_OK) sti_adjoint_free(out);
    return result;
}

void sti_adjoint_free(sti_adjoint *adjoint)
{
    sti_text_buffer_free(&adjoint->text);
    sti_free(adjoint->signature);
    *adjoint = (sti_adjoint){0};
}
