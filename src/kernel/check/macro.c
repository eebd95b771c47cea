/*
 * Replaces macros; see reader.h.
 *
 * Tokens of a macro's body get the place where the macro is used. Tokens of its arguments keep their own places.
 */
#include "kernel/check/reader.h"

#include "base/plural.h"

static bool is_op(const sti_token *t, sti_operator op) { return t->kind == STI_TOKEN_OP && t->op == op; }

bool sti_tokens_add(sti_unit *u, sti_tokens *t, const sti_token *token)
{
    if (!sti_unit_grow(u, &t->token, t->count, &t->capacity, sizeof *t->token)) return false;
    t->token[t->count++] = *token;
    return true;
}

static bool push(sti_reader *r, const sti_token *token, size_t count, sti_macro *macro, bool barrier)
{
    sti_frame *f = sti_unit_alloc(r->u, sizeof *f);
    if (!f) return false;
    *f = (sti_frame){token, count, 0, macro, barrier, r->frame};
    r->frame = f;
    if (macro) macro->active = true;
    return true;
}

static void pop(sti_reader *r)
{
    if (r->frame->macro) r->frame->macro->active = false;
    r->frame = r->frame->below;
}

/* Reads the next token before replacement. */
static bool next_raw(sti_reader *r, sti_token *out)
{
    while (r->frame && r->frame->at == r->frame->count && !r->frame->barrier) pop(r);
    if (!r->stopped && ++r->steps > STI_CHECK_TOKENS) {
        r->stopped = true;
        sti_report_mistake(r->u, r->lexer.place, "more than %d tokens, macros replaced: make the source smaller",
                           STI_CHECK_TOKENS);
    }
    if (r->stopped || (r->frame && r->frame->at == r->frame->count)) {
        *out = (sti_token){.kind = STI_TOKEN_END, .place = r->lexer.place};
        return true;
    }
    if (!r->frame) return sti_reader_text(r, out);
    *out = r->frame->token[r->frame->at++];
    return true;
}

static bool push_back(sti_reader *r, const sti_token *t)
{
    if (t->kind == STI_TOKEN_END) return true; /* it is read again later */
    sti_token *copy = sti_unit_alloc(r->u, sizeof *copy);
    if (!copy) return false;
    *copy = *t;
    return push(r, copy, 1, NULL, false);
}

bool sti_reader_expand(sti_reader *r, const sti_token *token, size_t count, sti_tokens *out)
{
    if (!push(r, token, count, NULL, true)) return false;
    const sti_frame *mine = r->frame;
    sti_token t;
    do {
        if (!sti_reader_next(r, &t)) return false;
        if (t.kind != STI_TOKEN_END && !sti_tokens_add(r->u, out, &t)) return false;
    } while (t.kind != STI_TOKEN_END);
    while (r->frame != mine) pop(r); /* a limit may leave some */
    pop(r);
    return true;
}

/* Reads the tokens between the parentheses of a use, split at commas. *found: the number of arguments; -1: no end. */
static bool read_arguments(sti_reader *r, const sti_macro *m, sti_tokens *argument, int *found)
{
    int depth = 0, n = 0;
    bool some = false;
    for (;;) {
        sti_token t;
        if (!next_raw(r, &t)) return false;
        if (t.kind == STI_TOKEN_END) {
            *found = -1;
            return true;
        }
        if (depth == 0 && is_op(&t, STI_OP_CLOSE)) break;
        depth += is_op(&t, STI_OP_OPEN) - is_op(&t, STI_OP_CLOSE);
        some = true;
        if (depth == 0 && is_op(&t, STI_OP_COMMA)) {
            ++n;
            continue;
        }
        /*
         * A macro's name that is found while the macro is being replaced is not replaced, also when it is read again.
         */
        if (t.kind == STI_TOKEN_NAME && t.name->macro && t.name->macro->active) t.fixed = true;
        if (n < m->nparam && !sti_tokens_add(r->u, &argument[n], &t)) return false;
    }
    *found = n + (m->nparam > 0 || some);
    return true;
}

static int parameter_of(const sti_macro *m, const sti_token *t)
{
    for (int i = 0; t->kind == STI_TOKEN_NAME && i < m->nparam; ++i)
        if (m->param.token[i].name == t->name) return i;
    return -1;
}

/* Replaces parameters in the body by arguments, whose macros are replaced first. Then the body is read again. */
static bool substitute(sti_reader *r, sti_macro *m, const sti_tokens *argument, sti_source_place place)
{
    sti_tokens *full = m->nparam ? sti_unit_alloc(r->u, (size_t)m->nparam * sizeof *full) : NULL;
    if (m->nparam && !full) return false;
    for (int i = 0; argument && full && i < m->nparam; ++i)
        if (!sti_reader_expand(r, argument[i].token, argument[i].count, &full[i])) return false;
    sti_tokens body = {0};
    for (size_t k = 0; k < m->body.count; ++k) {
        int i = parameter_of(m, &m->body.token[k]);
        sti_token t = m->body.token[k];
        t.place = place;
        if (i < 0 && !sti_tokens_add(r->u, &body, &t)) return false;
        for (size_t j = 0; full && i >= 0 && j < full[i].count && r->steps <= STI_CHECK_TOKENS; ++j, ++r->steps)
            if (!sti_tokens_add(r->u, &body, &full[i].token[j])) return false;
    }
    return push(r, body.token, body.count, m, false);
}

/* `t` is the name of a macro with parameters. *used: a parenthesis follows, so the macro is used here. */
static bool use_function(sti_reader *r, const sti_token *t, bool *used)
{
    sti_macro *m = t->name->macro;
    sti_token open;
    if (!next_raw(r, &open)) return false;
    *used = is_op(&open, STI_OP_OPEN);
    if (!*used) return push_back(r, &open);
    sti_tokens *argument = m->nparam ? sti_unit_alloc(r->u, (size_t)m->nparam * sizeof *argument) : NULL;
    if (m->nparam && !argument) return false;
    int found;
    if (!read_arguments(r, m, argument, &found)) return false;
    if (found < 0) {
        if (!r->stopped) sti_report_mistake(r->u, t->place, "the arguments of %s have no end: write )", t->name->text);
        return true;
    }
    if (found != m->nparam) {
        sti_report_mistake(r->u, t->place, "%s takes %d argument%s, not %d", t->name->text, m->nparam, STI_S(m->nparam),
                           found);
        return true;
    }
    if (r->depth >= STI_CHECK_DEPTH) {
        r->stopped = true;
        sti_report_mistake(r->u, t->place, "macros are used within each other more than %d deep", STI_CHECK_DEPTH);
        return true;
    }
    ++r->depth;
    bool done = substitute(r, m, argument, t->place);
    --r->depth;
    return done;
}

bool sti_reader_next(sti_reader *r, sti_token *out)
{
    for (;;) {
        if (!next_raw(r, out)) return false;
        sti_macro *m = out->kind == STI_TOKEN_NAME && !out->fixed ? out->name->macro : NULL;
        if (!m) return true;
        if (m->active) {
            out->fixed = true;
            return true;
        }
        sti_token use = *out;
        bool used = true;
        if (m->function ? !use_function(r, &use, &used) : !substitute(r, m, NULL, use.place)) return false;
        *out = use;
        if (!used) return true;
    }
}
