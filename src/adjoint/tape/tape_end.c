/*
 * The end of a forward pass: can the tape be differentiated, how are gradients of plain arrays held, and which old
 * contents must a backward pass save. See tape.h for the invariants.
 */
#include "adjoint/launch/handle.h"
#include "adjoint/tape/tape.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- adjoints of kernels ----------------------------------------------------------------------------------------- */

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Finds the next whole word from `at` on, before `end`; NULL: there is none. */
static const char *find_word(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = at; (p = strstr(p, word)) && p < end; p += n)
        if (!in_name(p[n]) && (p == at || !in_name(p[-1]))) return p;
    return NULL;
}

/* Finds the body of a function in a printed text: from the brace that begins a line to the next one that does. */
static bool find_body(const char *text, const char *name, const char **begin, const char **end)
{
    const char *p = text, *limit = text + strlen(text);
    while ((p = find_word(p, limit, name)) && p[strlen(name)] != '(') p += strlen(name);
    *begin = p ? strstr(p, "\n{\n") : NULL;
    *end = *begin ? strstr(*begin, "\n}\n") : NULL;
    return *end != NULL;
}

/*
 * Finds which contents an adjoint reads. Its text leaves out everything that is not needed, so a parameter whose name
 * is not in its body is not read: reals that appear only in sums need not be saved. If the source itself has the
 * adjoint, all parameters count as read.
 */
static void find_reads(sti_tape_kernel *k)
{
    char name[2 * STI_MAX_NAME];
    const char *begin, *end;
    (void)snprintf(name, sizeof name, "%s_adj", k->name);
    bool own = k->adjoint->k == &k->adjoint->given;
    bool seen = !own && find_body(stet_adjoint_get_source(k->adjoint), name, &begin, &end);
    for (int i = 0; i < k->nparam; ++i) {
        sti_tape_param *p = &k->param[i];
        p->read = !seen || !p->real || find_word(begin, end, p->name) != NULL;
    }
}

static stet_result get_adjoint(sti_tape_kernel *k)
{
    stet_result result = stet_kernel_get_adjoint(k->kernel, &k->adjoint);
    k->why[0] = '\0';
    if (result == STET_ERROR_UNSUPPORTED) {
        k->adjoint = NULL;
        (void)snprintf(k->why, sizeof k->why, "%s", stet_get_last_error());
        return STET_OK;
    }
    STI_TRY(result);
    for (int i = 0; i < k->nparam; ++i) STI_TRY(stet_adjoint_has_gradient(k->adjoint, i, &k->param[i].graded));
    for (int i = 0; i < k->nparam; ++i) k->param[i].result = k->adjoint->has_result[i];
    find_reads(k);
    return STET_OK;
}

/* An operation's own adjoint, unless it says why there is none. */
static stet_result check_operation(sti_tape_kernel *k)
{
    stet_result result = k->operation->check(k->operation);
    k->why[0] = '\0';
    if (result != STET_ERROR_UNSUPPORTED) return result;
    (void)snprintf(k->why, sizeof k->why, "%s", stet_get_last_error());
    return STET_OK;
}

static stet_result get_adjoints(stet_tape *t)
{
    for (int64_t i = 0; i < t->nkernel; ++i) {
        sti_tape_kernel *k = t->kernel[i];
        if (!k->used) continue;
        if (!sti_tape_has(k))
            return sti_error(STET_ERROR_STATE,
                             "tape: kernel %s was destroyed; keep the kernels of a tape while it is used", k->name);
        if (k->writes_reals) STI_TRY(get_adjoint(k));
        if (k->operation) STI_TRY(check_operation(k));
    }
    return STET_OK;
}

/* True if what an operation leaves in an array has no gradient, which would be needed. */
static bool lacks_adjoint(const sti_tape_kernel *k, int i)
{
    if (!k || !k->param[i].written || !k->param[i].real) return false;
    return k->why[0] || (k->operation && !k->param[i].graded);
}

/* An operation has no derivative by such an operand: it may be anything. */
static bool is_indifferent(const sti_tape_kernel *k, int i) { return k && k->operation && !k->param[i].graded; }

const char *sti_tape_why(const stet_tape *t, const sti_tape_array *a)
{
    const sti_tape_kernel *k = t->kernel[a->blocked];
    return k->why[0] ? k->why : "there is no derivative of it";
}

/* Refuses operations that read reals which a kernel without an adjoint wrote. */
static stet_result check_op(stet_tape *t, const sti_tape_op *op)
{
    const sti_tape_arg *arg = t->arg + op->arg;
    const sti_tape_kernel *k = op->kernel >= 0 ? t->kernel[op->kernel] : NULL;
    for (int i = 0; i < op->narg; ++i) {
        const sti_tape_array *a = arg[i].array >= 0 ? &t->array[arg[i].array] : NULL;
        if (!a || a->blocked < 0 || is_indifferent(k, i)) continue;
        bool operation = t->kernel[a->blocked]->operation != NULL;
        return sti_error(STET_ERROR_UNSUPPORTED, "tape: %s reads array %s, which %s without an adjoint wrote: %s",
                         k ? k->name : "a copy", a->name, operation ? t->kernel[a->blocked]->name : "a kernel",
                         sti_tape_why(t, a));
    }
    for (int i = 0; i < op->narg; ++i)
        if (arg[i].array >= 0 && lacks_adjoint(k, i)) t->array[arg[i].array].blocked = op->kernel;
    return STET_OK;
}

static stet_result check_ops(stet_tape *t)
{
    for (int64_t i = 0; i < t->narray; ++i) t->array[i].blocked = -1;
    for (int64_t i = 0; i < t->nop; ++i) STI_TRY(check_op(t, &t->op[i]));
    return STET_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool overlap(const stet_array *a, const stet_array *b)
{
    const char *p = a->data, *q = b->data;
    return a->size && b->size && p < q + b->size && q < p + a->size;
}

/* Refuses arrays that share memory: the same memory would have two gradients. */
static stet_result check_overlaps(const stet_tape *t)
{
    for (int64_t i = 0; i < t->narray; ++i)
        for (int64_t k = 0; k < t->narray; ++k) {
            const sti_tape_array *a = &t->array[i], *b = &t->array[k];
            if (i == k || !a->written || !b->touched || !a->array || !b->array) continue;
            if (overlap(a->array, b->array))
                return sti_error(STET_ERROR_UNSUPPORTED,
                                 "tape: arrays %s and %s share memory, and one of them is written; launch with one of "
                                 "the two",
                                 a->name, b->name);
        }
    return STET_OK;
}

/* ---- gradients of plain arrays ----------------------------------------------------------------------------------- */

static stet_result set_shares(sti_tape_array *a, int64_t shares)
{
    if (a->shares == STI_SHARES_UNKNOWN) a->shares = shares;
    if (a->shares == shares) return STET_OK;
    if (a->shares == STI_SHARES_NONE || shares == STI_SHARES_NONE)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "tape: array %s is read by a world kernel and by an item kernel, whose gradients differ in "
                         "shape; give one of them a copy (stet_array_copy)",
                         a->name);
    return sti_error(STET_ERROR_UNSUPPORTED,
                     "tape: array %s is read over %lld worlds and over %lld; give one of the launches a copy "
                     "(stet_array_copy)",
                     a->name, (long long)a->shares, (long long)shares);
}

static stet_result shares_of_launch(stet_tape *t, const sti_tape_op *op)
{
    sti_tape_kernel *k = t->kernel[op->kernel];
    const sti_tape_arg *arg = t->arg + op->arg;
    int64_t shares = k->items ? STI_SHARES_NONE : op->count;
    for (int i = 0; i < op->narg; ++i) {
        const sti_tape_param *p = &k->param[i];
        if (!p->graded) continue;
        if (p->array && !p->worlds && arg[i].array >= 0) STI_TRY(set_shares(&t->array[arg[i].array], shares));
        if (p->array || k->items) continue;
        if (k->count == 0) k->count = op->count;
        if (k->count != op->count)
            return sti_error(
                STET_ERROR_UNSUPPORTED,
                "tape: kernel %s is launched over %lld worlds and over %lld, so the gradient of its number %s "
                "has no shape; make a second kernel of the source",
                k->name, (long long)k->count, (long long)op->count, p->name);
    }
    return STET_OK;
}

/*
 * Gives both arrays of a copy the same kind of gradient, because gradients are copied, too. *moved: one of them was not
 * known before.
 */
static stet_result shares_of_copy(stet_tape *t, const sti_tape_op *op, bool *moved)
{
    sti_tape_array *a = &t->array[t->arg[op->arg].array], *b = &t->array[t->arg[op->arg + 1].array];
    if (a->shares == b->shares) return STET_OK;
    *moved |= a->shares == STI_SHARES_UNKNOWN || b->shares == STI_SHARES_UNKNOWN;
    if (a->shares == STI_SHARES_UNKNOWN) return set_shares(a, b->shares);
    return set_shares(b, a->shares);
}

/* Gradients that already exist keep their kind. */
static void share_as_before(stet_tape *t)
{
    for (int64_t i = 0; i < t->narray; ++i) {
        const stet_array *gradient = t->array[i].gradient;
        t->array[i].shares = STI_SHARES_UNKNOWN;
        if (gradient) t->array[i].shares = gradient->worlds ? gradient->shape[0] : STI_SHARES_NONE;
    }
    for (int64_t i = 0; i < t->nkernel; ++i) {
        t->kernel[i]->count = 0;
        for (int p = 0; p < t->kernel[i]->nparam; ++p)
            if (t->kernel[i]->param[p].number) t->kernel[i]->count = t->kernel[i]->param[p].number->shape[0];
    }
}

static stet_result share_out(stet_tape *t)
{
    share_as_before(t);
    for (int64_t i = 0; i < t->nop; ++i)
        if (sti_tape_differs(t, &t->op[i])) STI_TRY(shares_of_launch(t, &t->op[i]));
    for (bool moved = true; moved;) {
        moved = false;
        for (int64_t i = 0; i < t->nop; ++i)
            if (t->op[i].kernel < 0) STI_TRY(shares_of_copy(t, &t->op[i], &moved));
    }
    return STET_OK;
}

/* ---- old contents ------------------------------------------------------------------------------------------------ */

/*
 * Plans which old contents an operation must save: those that an adjoint needs, its own or that of an earlier operation
 * since the array was last written, or, if that reads results, of the one that wrote it.
 */
static void plan_op(stet_tape *t, const sti_tape_op *op)
{
    sti_tape_arg *arg = t->arg + op->arg;
    bool differs = sti_tape_differs(t, op);
    for (int i = 0; i < op->narg; ++i) {
        if (arg[i].array < 0) continue;
        sti_tape_array *a = &t->array[arg[i].array];
        a->needed |= differs && t->kernel[op->kernel]->param[i].read;
        if (!arg[i].written) continue;
        arg[i].slot = a->needed ? (int)a->slots++ : -1;
        a->needed = differs && t->kernel[op->kernel]->param[i].result; /* for whoever writes it next */
    }
}

/*
 * Can an operation be left out of what is run again, if all behind it in its segment are? Not if a later one saves what
 * it leaves.
 */
static bool is_known(const stet_tape *t, const sti_tape_op *op)
{
    for (int i = 0; i < op->narg; ++i) {
        const sti_tape_arg *arg = &t->arg[op->arg + i];
        if (arg->array >= 0 && arg->written && t->array[arg->array].later == STI_TAPE_SAVED) return false;
    }
    return true;
}

static void leave_out(stet_tape *t, const sti_tape_op *op)
{
    for (int i = 0; i < op->narg; ++i) {
        sti_tape_arg *arg = &t->arg[op->arg + i];
        sti_tape_array *a = arg->array >= 0 && arg->written ? &t->array[arg->array] : NULL;
        if (!a) continue;
        arg->ahead = a->later == STI_TAPE_LEFT && a->needed;
        a->foreseen |= arg->ahead;
        a->later = arg->slot >= 0 ? STI_TAPE_SAVED : STI_TAPE_WRITTEN;
    }
}

/*
 * The last operations of a segment need not run again: what they found is in this checkpoint, or in the next one. Gives
 * the first of them. Of each array `needed` says whether an adjoint reads what it holds at the end.
 */
static int64_t find_known(stet_tape *t, int64_t first, int64_t end)
{
    for (int64_t i = 0; i < t->narray; ++i) t->array[i].later = STI_TAPE_LEFT;
    for (; end > first && is_known(t, &t->op[end - 1]); --end) leave_out(t, &t->op[end - 1]);
    return end;
}

/* Plans each segment by itself, so that all segments use the same undo arrays. */
static void plan(stet_tape *t)
{
    for (int64_t k = 0; k < t->ncheck; ++k) {
        int64_t end = k + 1 < t->ncheck ? t->check[k + 1].op : t->nop;
        for (int64_t i = 0; i < t->narray; ++i) {
            t->array[i].needed = false;
            t->array[i].slots = 0;
        }
        for (int64_t i = t->check[k].op; i < end; ++i) plan_op(t, &t->op[i]);
        bool strayed = k + 1 < t->ncheck && t->check[k + 1].strayed;
        t->check[k].known = strayed ? end : find_known(t, t->check[k].op, end);
        for (int64_t i = 0; i < t->narray; ++i)
            if (t->array[i].slots > t->array[i].undone) t->array[i].undone = t->array[i].slots;
    }
}

stet_result sti_tape_finish(stet_tape *t)
{
    STI_TRY(get_adjoints(t));
    STI_TRY(check_ops(t));
    STI_TRY(check_overlaps(t));
    STI_TRY(share_out(t));
    plan(t);
    return STET_OK;
}
