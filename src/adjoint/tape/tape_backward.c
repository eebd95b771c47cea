/*
 * The backward pass over a tape. For each segment, from the last to the first: its arrays are restored to their
 * contents at its beginning, those of its launches whose results are in no checkpoint run again while old contents are
 * saved, and then its adjoints are launched from last to first. See tape.h for the invariants.
 *
 * The launches of a segment are listed. Segments with the same launches, and later passes, list the same operations, so
 * they replay recordings. Only checkpoints are copied outside of lists, because each segment has its own.
 */
#include "adjoint/launch/handle.h"
#include "adjoint/tape/tape.h"

#include "kernel/record/record.h"

#include <assert.h>
#include <stdio.h>

static const char what[] = "a backward pass";

/* ---- before it begins -------------------------------------------------------------------------------------------- */

/* A gradient of an array goes back through whoever wrote it last. */
static stet_result check_writer(const stet_tape *t, const sti_tape_array *a)
{
    if (!a->array || !a->asked) return STET_OK;
    if (a->other[0])
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "stet_tape_backward: array %s has a gradient, and %s wrote it, which has no adjoint", a->name,
                         a->other);
    if (a->touched && a->blocked >= 0)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "stet_tape_backward: array %s has a gradient, and %s%s wrote it, which has no adjoint: %s",
                         a->name, t->kernel[a->blocked]->operation ? "" : "kernel ", t->kernel[a->blocked]->name,
                         sti_tape_why(t, a));
    return STET_OK;
}

static stet_result check_array(const sti_tape_array *a)
{
    if (!a->touched) return STET_OK;
    if (!a->array)
        return sti_error(STET_ERROR_STATE,
                         "stet_tape_backward: array %s was destroyed; keep the arrays of a tape while it is used",
                         a->name);
    if (!a->written) STI_TRY(sti_array_produce(a->array));
    if (!a->written && a->array->version.generation != a->expected)
        return sti_error(STET_ERROR_STATE,
                         "stet_tape_backward: array %s was written since the tape ended%s%s, and its launches read it; "
                         "take down a new tape",
                         a->name, a->other[0] ? ", or on it by " : "", a->other);
    return STET_OK;
}

static stet_result check_tape(stet_tape *t)
{
    STI_TRY(sti_not_listing(t->device, "stet_tape_backward"));
    if (t->device->launch_observer)
        return sti_error(STET_ERROR_STATE, "stet_tape_backward: a tape of this device is open; end it");
    if (!t->complete || t->nop == 0) return sti_error(STET_ERROR_STATE, "stet_tape_backward: nothing is on the tape");
    if (sti_device_capture(t->device))
        return sti_error(STET_ERROR_STATE, "stet_tape_backward: not while a caller's stream is being captured");
    for (int64_t i = 0; i < t->narray; ++i) STI_TRY(check_writer(t, &t->array[i]));
    for (int64_t i = 0; i < t->narray; ++i) STI_TRY(check_array(&t->array[i]));
    for (int64_t i = 0; i < t->nkernel; ++i)
        if (t->kernel[i]->used && !sti_tape_has(t->kernel[i]))
            return sti_error(STET_ERROR_STATE,
                             "stet_tape_backward: kernel %s was destroyed; keep the kernels of a tape while it is used",
                             t->kernel[i]->name);
    return STET_OK;
}

/* Makes the gradients for an operation's arrays, as many for each as it has places in the launch. */
static stet_result make_gradients(stet_tape *t, const sti_tape_op *op)
{
    const sti_tape_arg *arg = t->arg + op->arg;
    sti_tape_kernel *k = op->kernel >= 0 ? t->kernel[op->kernel] : NULL;
    if (k && !sti_tape_differs(t, op)) return STET_OK;
    if (k) STI_TRY(k->operation ? k->operation->prepare(k->operation) : sti_adjoint_code(k->adjoint));
    for (int i = 0; i < op->narg; ++i) {
        if (k && !k->param[i].graded) continue;
        if (k && !k->param[i].array) STI_TRY(sti_tape_make_number(t, k, &k->param[i]));
        if (arg[i].array < 0) continue;
        sti_tape_array *a = &t->array[arg[i].array];
        if (!sti_tape_real(a)) continue;
        STI_TRY(sti_tape_make_gradient(t, a));
        if (a->seen++ > 0) STI_TRY(sti_tape_pooled(&a->scratch, a->seen - 2, a->gradient));
    }
    for (int i = 0; i < op->narg; ++i)
        if (arg[i].array >= 0) t->array[arg[i].array].seen = 0;
    return STET_OK;
}

static stet_result make_like(stet_tape *t, const sti_tape_array *a, stet_array **out)
{
    if (*out) return STET_OK;
    return sti_array_new(t->device, a->name, a->array->dtype, a->array->worlds, a->array->ndim, a->array->shape, out);
}

/* Allocates everything before anything is changed (TAPE-4). */
static stet_result make_room(stet_tape *t)
{
    for (int64_t i = 0; i < t->narray; ++i) {
        sti_tape_array *a = &t->array[i];
        a->seen = 0;
        if (a->undone > 0) STI_TRY(sti_tape_pooled(&a->undo, a->undone - 1, a->array));
        if (a->foreseen) STI_TRY(make_like(t, a, &a->ahead));
        if (a->written) STI_TRY(make_like(t, a, &a->final));
    }
    for (int64_t i = 0; i < t->nop; ++i) STI_TRY(make_gradients(t, &t->op[i]));
    return STET_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static stet_result begin_list(stet_tape *t)
{
    STI_TRY(sti_record_begin(t->device, what));
    t->listed = true;
    return STET_OK;
}

static stet_result end_list(stet_tape *t, stet_result result)
{
    if (!t->listed) return result;
    t->listed = false;
    return sti_record_end(t->device, result);
}

/*
 * Ends a list that has no room for n more operations, and begins another. Where that happens depends only on the tape.
 */
static stet_result have_room(stet_tape *t, int n)
{
    const sti_list *pending = sti_record_pending(t->device);
    if (!pending || pending->nop + n <= STI_LIST_OPS) return STET_OK;
    STI_TRY(end_list(t, STET_OK));
    return begin_list(t);
}

/* ---- one operation ----------------------------------------------------------------------------------------------- */

static stet_arg argument(const stet_tape *t, const sti_tape_arg *arg, bool held)
{
    if (arg->kind == STET_ARG_INT) return stet_arg_int(arg->value.i);
    if (arg->kind == STET_ARG_REAL) return stet_arg_real(arg->value.f);
    if (arg->array < 0) return stet_arg_array(NULL);
    return stet_arg_array(held ? t->array[arg->array].holder : t->array[arg->array].array);
}

/* The arguments of an operation of the library. */
static void operands(const stet_tape *t, const sti_tape_op *op, bool held, sti_arg *out)
{
    for (int i = 0; i < op->narg; ++i) {
        const sti_tape_arg *arg = &t->arg[op->arg + i];
        stet_arg a = argument(t, arg, held);
        out[i] = arg->kind == STET_ARG_INT    ? sti_arg_int(arg->value.i)
                 : arg->kind == STET_ARG_REAL ? sti_arg_real(arg->value.f)
                                              : sti_arg_array(a.array);
    }
}

static stet_result operate_again(const stet_tape *t, const sti_tape_op *op)
{
    const sti_operation *operation = t->kernel[op->kernel]->operation;
    sti_arg args[STI_MAX_PARAMS];
    operands(t, op, false, args);
    return operation->again(operation, args);
}

static const sti_operation *operation_of(const stet_tape *t, const sti_tape_op *op)
{
    return op->kernel >= 0 ? t->kernel[op->kernel]->operation : NULL;
}

/* Saves what the operation overwrites, where an adjoint needs it. */
static stet_result save(stet_tape *t, const sti_tape_op *op)
{
    const sti_tape_arg *arg = t->arg + op->arg;
    const sti_operation *operation = operation_of(t, op);
    STI_TRY(have_room(t, op->narg + (operation ? operation->most : 1)));
    for (int i = 0; i < op->narg; ++i)
        if (arg[i].slot >= 0)
            STI_TRY(sti_record_copy(t->array[arg[i].array].undo.array[arg[i].slot], t->array[arg[i].array].array));
    return STET_OK;
}

static stet_result forward(stet_tape *t, const sti_tape_op *op)
{
    const sti_tape_arg *arg = t->arg + op->arg;
    const sti_operation *operation = operation_of(t, op);
    stet_arg args[STI_MAX_PARAMS];
    STI_TRY(save(t, op));
    if (op->kernel < 0) return sti_record_copy(t->array[arg[0].array].array, t->array[arg[1].array].array);
    if (operation) return operate_again(t, op);
    for (int i = 0; i < op->narg; ++i) args[i] = argument(t, &arg[i], false);
    return stet_kernel_launch(t->kernel[op->kernel]->kernel, op->count, args, op->narg);
}

/* Returns the gradient for one place of a launch: the array's own for its first place, a scratch array for others. */
static stet_array *gradient_of(stet_tape *t, const sti_tape_arg *arg)
{
    if (arg->array < 0) return NULL;
    sti_tape_array *a = &t->array[arg->array];
    if (!sti_tape_real(a)) return NULL;
    int place = a->seen++;
    return place == 0 ? a->gradient : a->scratch.array[place - 1];
}

/* Launches it for arguments that hold what they held before the operation. results [narg]: behind it, or NULL. */
static stet_result launch_back(const stet_tape *t, const sti_tape_op *op, stet_array *const *results,
                               stet_array *const *gradients)
{
    const sti_tape_kernel *k = t->kernel[op->kernel];
    if (k->operation) {
        sti_arg args[STI_MAX_PARAMS];
        operands(t, op, true, args);
        return k->operation->back(k->operation, args, results, gradients);
    }
    stet_arg args[STI_MAX_PARAMS];
    for (int i = 0; i < op->narg; ++i) args[i] = argument(t, &t->arg[op->arg + i], true);
    return sti_adjoint_launch(k->adjoint, op->count, args, results, gradients, op->narg);
}

static stet_result launch_adjoint(stet_tape *t, const sti_tape_op *op, stet_array *const *results)
{
    const sti_tape_arg *arg = t->arg + op->arg;
    const sti_tape_kernel *k = t->kernel[op->kernel];
    stet_array *gradients[STI_MAX_PARAMS];
    for (int i = 0; i < op->narg; ++i) {
        const sti_tape_param *p = &k->param[i];
        gradients[i] = !p->graded ? NULL : p->array ? gradient_of(t, &arg[i]) : p->number;
    }
    STI_TRY(launch_back(t, op, results, gradients));
    for (int i = 0; i < op->narg; ++i) {
        if (!gradients[i] || !k->param[i].array) continue;
        sti_tape_array *a = &t->array[arg[i].array];
        a->seen = 0;
        if (gradients[i] != a->gradient) STI_TRY(sti_tape_add(a->gradient, gradients[i]));
    }
    return STET_OK;
}

/*
 * The most operations of an adjoint's launch: the launch itself, sums of gradients, and the rounds of a sort for each
 * listed gradient.
 */
static int most_ops(const stet_tape *t, const sti_tape_op *op)
{
    enum { ITSELF = 8, SORT = 96 };
    const sti_operation *operation = operation_of(t, op);
    int n = op->narg + (operation ? operation->most : ITSELF);
    for (int i = 0; i < op->narg && !operation && sti_tape_differs(t, op); ++i)
        if (t->kernel[op->kernel]->adjoint->listed[i] >= 0) n += SORT;
    return n < STI_LIST_OPS ? n : STI_LIST_OPS;
}

/*
 * Ends and runs the list if it writes an array that the sizes of an adjoint's stacks depend on, because the host must
 * know the sizes before the launch. An example is the copy of a count that the next launch overwrites. Where that
 * happens depends only on the tape, so these lists are replayed, too.
 */
static stet_result let_sizes_be_known(stet_tape *t, const sti_tape_op *op)
{
    const sti_list *pending = sti_record_pending(t->device);
    const stet_adjoint *adjoint = t->kernel[op->kernel]->adjoint;
    bool waits = false;
    for (int i = 0; adjoint && pending && i < op->narg; ++i) {
        if (!(adjoint->sizing.inputs >> i & 1)) continue;
        stet_arg a = argument(t, &t->arg[op->arg + i], true);
        waits |= a.kind == STET_ARG_ARRAY && a.array && sti_list_touches(pending, a.array, true);
    }
    if (!waits) return STET_OK;
    STI_TRY(end_list(t, STET_OK));
    return begin_list(t);
}

static stet_result back(stet_tape *t, const sti_tape_op *op)
{
    const sti_tape_arg *arg = t->arg + op->arg;
    stet_array *results[STI_MAX_PARAMS] = {NULL};
    STI_TRY(have_room(t, most_ops(t, op)));
    for (int i = 0; i < op->narg; ++i) {
        sti_tape_array *a = arg[i].array >= 0 ? &t->array[arg[i].array] : NULL;
        if (a && op->kernel >= 0 && t->kernel[op->kernel]->param[i].result) results[i] = a->holder;
        if (arg[i].slot >= 0) a->holder = a->undo.array[arg[i].slot];
    }
    if (op->kernel >= 0 && sti_tape_differs(t, op)) STI_TRY(let_sizes_be_known(t, op));
    if (op->kernel >= 0) return sti_tape_differs(t, op) ? launch_adjoint(t, op, results) : STET_OK;
    sti_tape_array *to = &t->array[arg[0].array], *from = &t->array[arg[1].array];
    return sti_tape_real(to) ? sti_tape_add(from->gradient, to->gradient) : STET_OK;
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

/* A part of the tape between two checkpoints. */
typedef struct segment {
    int64_t step, first, known, end;
    const sti_tape_check *next; /* NULL: the last segment */
} segment;

/* At the end of the tape, something else may have written what is needed. */
static bool has_strayed(const stet_tape *t, const sti_tape_check *check)
{
    for (int64_t k = check->known; k < t->nop; ++k)
        for (int i = 0; i < t->op[k].narg; ++i) {
            const sti_tape_arg *arg = &t->arg[t->op[k].arg + i];
            if (arg->ahead && !t->array[arg->array].stands) return true;
        }
    return false;
}

static segment segment_at(const stet_tape *t, int64_t k)
{
    const sti_tape_check *check = &t->check[k], *next = k + 1 < t->ncheck ? check + 1 : NULL;
    segment s = {.step = check->step, .first = check->op, .known = check->known, .next = next};
    s.end = next ? next->op : t->nop;
    if (!next && has_strayed(t, check)) s.known = s.end;
    return s;
}

/* What an operation that is not run again left in an array. */
static stet_result look_ahead(const sti_tape_array *a, const segment *s)
{
    const stet_array *left = s->next ? sti_tape_copy_at(a, s->next->step) : a->final;
    return sti_record_copy(a->ahead, (stet_array *)left);
}

/*
 * Restores the arrays that the launches of a segment touch to their contents at its beginning; what nobody looks at
 * before it is overwritten is left.
 */
static stet_result put_back(stet_tape *t, const segment *s)
{
    for (int64_t i = 0; i < t->narray; ++i) t->array[i].holder = NULL;
    for (int64_t k = s->first; k < s->end; ++k)
        for (int i = 0; i < t->op[k].narg; ++i) {
            const sti_tape_arg *arg = &t->arg[t->op[k].arg + i];
            sti_tape_array *a = arg->array >= 0 ? &t->array[arg->array] : NULL;
            if (!a) continue;
            if (k >= s->known && arg->ahead) STI_TRY(look_ahead(a, s));
            if (a->holder) continue;
            a->holder = a->array;
            bool unseen = k >= s->known && arg->written && arg->slot < 0;
            if (a->written && !unseen) STI_TRY(sti_record_copy(a->array, (stet_array *)sti_tape_copy_at(a, s->step)));
        }
    return STET_OK;
}

/* From here on adjoints find what the operations left that were not run again. */
static void hold_ahead(stet_tape *t, const segment *s)
{
    for (int64_t k = s->known; k < s->end; ++k)
        for (int i = 0; i < t->op[k].narg; ++i) {
            const sti_tape_arg *arg = &t->arg[t->op[k].arg + i];
            if (arg->ahead) t->array[arg->array].holder = t->array[arg->array].ahead;
        }
}

static stet_result go_through(stet_tape *t, const segment *s)
{
    for (int64_t k = s->first; k < s->known; ++k) STI_TRY(forward(t, &t->op[k]));
    for (int64_t k = s->known; k < s->end; ++k) STI_TRY(save(t, &t->op[k]));
    hold_ahead(t, s);
    for (int64_t k = s->end; k > s->first; --k) STI_TRY(back(t, &t->op[k - 1]));
    return STET_OK;
}

static stet_result run_segment(stet_tape *t, int64_t k)
{
    segment s = segment_at(t, k);
    STI_TRY(put_back(t, &s));
    STI_TRY(begin_list(t));
    return end_list(t, go_through(t, &s));
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

static stet_result keep_final(stet_tape *t)
{
    for (int64_t i = 0; i < t->narray; ++i) {
        sti_tape_array *a = &t->array[i];
        a->stands = a->written && !sti_tape_strayed(a);
    }
    for (int64_t i = 0; i < t->narray; ++i)
        if (t->array[i].written) STI_TRY(sti_record_copy(t->array[i].final, t->array[i].array));
    return STET_OK;
}

/*
 * Contents of arrays are those of other times during the pass: what computes them when they are read must not (again:
 * operations do). Afterwards they are as they were.
 */
static void hold_producers(stet_tape *t, bool hold)
{
    for (int64_t i = 0; i < t->narray; ++i) {
        stet_array *a = t->array[i].array;
        if (!a || !a->producer || !t->array[i].written) continue;
        assert(a->producing != hold && "no producer runs while a pass begins or ends");
        a->producing = hold;
    }
    for (int64_t i = 0; i < t->nkernel && !hold; ++i) {
        const sti_operation *operation = t->kernel[i]->used ? t->kernel[i]->operation : NULL;
        if (operation && operation->restored) operation->restored(operation);
    }
}

/* Restores as many arrays as possible. Returns the first failure. */
static stet_result put_final(stet_tape *t, stet_result result)
{
    char why[512];
    stet_result own = STET_OK;
    (void)snprintf(why, sizeof why, "%s", stet_get_last_error());
    for (int64_t i = 0; i < t->narray; ++i) {
        if (!t->array[i].written) continue;
        stet_result one = sti_record_copy(t->array[i].array, t->array[i].final);
        if (t->array[i].stands) t->array[i].expected = t->array[i].array->version.generation;
        if (own == STET_OK) own = one;
    }
    if (own == STET_OK) return result;
    if (result != STET_OK) return sti_error(result, "%s; arrays that the launches wrote could not be put back", why);
    return sti_error_prefix(own, "stet_tape_backward: arrays that the launches wrote could not be put back");
}

static stet_result clean(stet_tape *t)
{
    for (int64_t i = 0; i < t->narray && t->unclean; ++i)
        for (int64_t k = 0; k < t->array[i].scratch.n; ++k) STI_TRY(sti_tape_clear(t->array[i].scratch.array[k]));
    t->unclean = false;
    return STET_OK;
}

stet_result stet_tape_backward(stet_tape *t)
{
    if (!t) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tape_backward: tape must not be NULL");
    STI_TRY(check_tape(t));
    STI_TRY(make_room(t));
    sti_validate_tape(t);
    STI_TRY(clean(t));
    hold_producers(t, true);
    stet_result result = keep_final(t);
    if (result != STET_OK) {
        hold_producers(t, false);
        return result;
    }
    for (int64_t k = t->ncheck; k > 0 && result == STET_OK; --k) result = run_segment(t, k - 1);
    if (result != STET_OK) {
        t->unclean = true;
        result = sti_error_prefix(result, "stet_tape_backward: gradients are not complete");
    }
    result = put_final(t, result);
    hold_producers(t, false);
    return result;
}
