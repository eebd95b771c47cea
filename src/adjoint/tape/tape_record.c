/*
 * Records launches, and detects other writes to the arrays that they touch; see tape.h for the invariants.
 *
 * Nothing here fails a launch. An error breaks the tape (TAPE-1) and is returned by the end of the tape.
 */
#include "adjoint/tape/tape.h"

#include "device/share.h"
#include "kernel/record/record.h"

#include <assert.h>
#include <stdio.h>

void sti_tape_break(stet_tape *t, stet_result result)
{
    assert((result == STET_OK || *stet_get_last_error()) && "a failure has a sentence");
    if (result == STET_OK || t->broken != STET_OK) return;
    t->broken = result;
    (void)snprintf(t->why, sizeof t->why, "%s", stet_get_last_error());
}

static stet_tape *of(sti_launch_observer *launch_observer)
{
    return (stet_tape *)(void *)((char *)launch_observer - offsetof(stet_tape, launch_observer));
}

/* ---- one array of an operation ----------------------------------------------------------------------------------- */

/*
 * Refuses an array that was written since the tape touched it last, by something not recorded (TAPE-3). `by`: the
 * reader.
 */
static stet_result check_content(const sti_tape_array *a, bool written, const char *by)
{
    if (a->other[0])
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "tape: %s reads array %s, which was written by %s; that has no adjoint: do it before "
                         "stet_tape_begin",
                         by, a->name, a->other);
    if (!written && !a->written && a->array->share && sti_share_writer(a->array->share))
        return sti_error(
            STET_ERROR_STATE,
            "tape: %s reads array %s, which somebody else may write at any time, through a tensor: let its "
            "writes be announced, export it for reading, or pass a copy of it",
            by, a->name);
    if (a->touched && a->array->version.generation > a->expected)
        return sti_error(STET_ERROR_STATE,
                         "tape: array %s was written between two launches, and %s reads it (the host wrote it, or a "
                         "tensor through which others may write shows it); put what varies by step into one array, "
                         "and pass the step",
                         a->name, by);
    return STET_OK;
}

/* issued: its launches, which follow, move the generation. */
static stet_result touch(stet_tape *t, const stet_array *array, const char *by, bool written, bool issued, int *out)
{
    STI_TRY(sti_tape_find_array(t, array, out));
    assert(t->open && *out >= 0 && *out < t->narray && t->array[*out].array == array);
    sti_tape_array *a = &t->array[*out];
    STI_TRY(check_content(a, written, by));
    if (!a->touched) a->expected = array->version.generation;
    a->touched = true;
    if (!written) return STET_OK;
    if (!a->written) STI_TRY(sti_tape_first_copy(t, a));
    a->written = a->dirty = true;
    if (!issued) a->expected++;
    return STET_OK;
}

/* Notes that something without an adjoint writes an array. Reading it later is refused. */
static stet_result written_by(stet_tape *t, const stet_array *array, const char *name)
{
    int i;
    STI_TRY(sti_tape_find_array(t, array, &i));
    (void)snprintf(t->array[i].other, sizeof t->array[i].other, "%s", name);
    return STET_OK;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/*
 * Refuses a launch that writes an array which it has at two places: an adjoint does not account for two parameters that
 * are one array.
 */
static stet_result check_places(const stet_tape *t, const sti_tape_op *op)
{
    const sti_tape_arg *arg = t->arg + op->arg;
    const sti_tape_kernel *k = t->kernel[op->kernel];
    for (int i = 0; i < op->narg; ++i)
        for (int j = i + 1; j < op->narg; ++j)
            if (arg[i].array >= 0 && arg[i].array == arg[j].array && (arg[i].written || arg[j].written))
                return sti_error(STET_ERROR_UNSUPPORTED,
                                 "tape: kernel %s has array %s both as %s and as %s, and writes it; give it two arrays "
                                 "(stet_array_copy)",
                                 k->name, t->array[arg[i].array].name, k->param[i].name, k->param[j].name);
    return STET_OK;
}

static stet_result take_arg(stet_tape *t, const sti_tape_kernel *k, int i, const sti_arg *arg)
{
    sti_tape_arg *out = &t->arg[t->narg];
    assert(t->narg < t->arg_room && i >= 0 && i < k->nparam);
    *out = (sti_tape_arg){.written = k->param[i].written, .array = -1, .slot = -1};
    switch (arg->kind) {
    case STI_ARG_INT:
        out->kind = STET_ARG_INT;
        out->value.i = arg->i;
        return STET_OK;
    case STI_ARG_REAL:
        out->kind = STET_ARG_REAL;
        out->value.f = arg->f;
        return STET_OK;
    default: out->kind = STET_ARG_ARRAY; return STET_OK;
    }
}

/* Records a launch, or an operation of the library. It counts as recorded only when all of it is. */
static stet_result take_launch(stet_tape *t, int kernel, int64_t count, const sti_arg *args, int narg)
{
    sti_tape_op op = {.kernel = kernel, .arg = t->narg, .count = count, .narg = narg};
    int64_t before = t->narg;
    STI_TRY(sti_tape_reserve(&t->op, &t->op_room, t->nop + 1, sizeof *t->op));
    STI_TRY(sti_tape_reserve(&t->arg, &t->arg_room, t->narg + narg, sizeof *t->arg));
    sti_tape_kernel *k = t->kernel[op.kernel];
    for (int i = 0; i < narg; ++i) {
        STI_TRY(take_arg(t, k, i, &args[i]));
        if (args[i].array)
            STI_TRY(touch(t, args[i].array, k->name, k->param[i].written, k->operation, &t->arg[before + i].array));
        t->narg++;
    }
    assert(t->narg == before + narg && t->nop < t->op_room && "an operation has all its arguments");
    STI_TRY(check_places(t, &op));
    k->used = true;
    t->op[t->nop++] = op;
    return STET_OK;
}

static stet_result take_kernel(stet_tape *t, const sti_kernel *kernel, int64_t count, const sti_arg *args, int narg)
{
    int k;
    STI_TRY(sti_tape_find_kernel(t, kernel, &k));
    return take_launch(t, k, count, args, narg);
}

/*
 * Something of the library's own writes an array. What an operation that is being issued writes is a part of it, if it
 * is one of its operands (OPERATION-1).
 */
static stet_result write_inside(stet_tape *t, const stet_array *array, const char *name)
{
    const sti_tape_op *op = t->inside >= 0 ? &t->op[t->inside] : NULL;
    for (int i = 0; op && i < op->narg; ++i) {
        const sti_tape_arg *arg = &t->arg[op->arg + i];
        if (arg->array < 0 || t->array[arg->array].array != array) continue;
        assert(arg->written && "an operation says what it writes");
        t->array[arg->array].expected++;
        return STET_OK;
    }
    return written_by(t, array, name);
}

static stet_result pass_by(stet_tape *t, const sti_kernel *kernel, const sti_arg *args)
{
    for (int i = 0, at = 0; i < kernel->nparam; ++i) {
        if (kernel->param[i].index) continue;
        if (kernel->param[i].written && args[at].array) STI_TRY(write_inside(t, args[at].array, kernel->name));
        ++at;
    }
    return STET_OK;
}

/* Refuses launches in the caller's capture, because they have not run. */
static stet_result check_capture(const stet_tape *t, const char *what)
{
    if (!sti_device_capture(t->device)) return STET_OK;
    return sti_error(STET_ERROR_STATE,
                     "tape: %s went into a graph of the caller's, and has not run; capture after the tape", what);
}

static void launched(sti_launch_observer *launch_observer, const sti_kernel *kernel, int64_t count, const sti_arg *args,
                     int narg)
{
    stet_tape *t = of(launch_observer);
    if (t->broken != STET_OK) return;
    stet_result result = check_capture(t, kernel->name);
    bool own = kernel->user && t->inside < 0;
    if (result == STET_OK) result = own ? take_kernel(t, kernel, count, args, narg) : pass_by(t, kernel, args);
    sti_tape_break(t, result);
}

/* ---- copies and foreign work ------------------------------------------------------------------------------------- */

static stet_result take_copy(stet_tape *t, stet_array *to, stet_array *from)
{
    sti_tape_op op = {.kernel = -1, .arg = t->narg, .narg = 2};
    STI_TRY(check_capture(t, "a copy"));
    STI_TRY(sti_tape_reserve(&t->op, &t->op_room, t->nop + 1, sizeof *t->op));
    STI_TRY(sti_tape_reserve(&t->arg, &t->arg_room, t->narg + 2, sizeof *t->arg));
    sti_tape_arg *arg = t->arg + t->narg;
    arg[0] = (sti_tape_arg){.kind = STET_ARG_ARRAY, .written = true, .slot = -1};
    arg[1] = (sti_tape_arg){.kind = STET_ARG_ARRAY, .slot = -1};
    STI_TRY(touch(t, from, "a copy", false, false, &arg[1].array));
    STI_TRY(touch(t, to, "a copy", true, false, &arg[0].array));
    if (arg[0].array == arg[1].array)
        return sti_error(STET_ERROR_UNSUPPORTED, "tape: array %s is copied to itself; leave that out", to->name);
    t->narg += 2;
    assert(t->narg <= t->arg_room && t->nop < t->op_room);
    t->op[t->nop++] = op;
    return STET_OK;
}

static void copied(sti_launch_observer *launch_observer, stet_array *to, stet_array *from)
{
    stet_tape *t = of(launch_observer);
    if (t->broken != STET_OK) return;
    sti_tape_break(t, t->inside >= 0 ? write_inside(t, to, "a copy") : take_copy(t, to, from));
}

static void foreign(sti_launch_observer *launch_observer, const sti_foreign *f)
{
    stet_tape *t = of(launch_observer);
    for (int i = 0; i < f->nuse && t->broken == STET_OK; ++i)
        if (f->use[i].written) sti_tape_break(t, written_by(t, f->use[i].array, f->name));
}

static void looped(sti_launch_observer *launch_observer)
{
    sti_tape_break(of(launch_observer),
                   sti_error(STET_ERROR_UNSUPPORTED,
                             "tape: a loop of launches (stet_record_while) does not tell how often it "
                             "ran; launch its trips one by one"));
}

static void computed(sti_launch_observer *launch_observer, const stet_array *array, const char *by)
{
    stet_tape *t = of(launch_observer);
    if (t->broken == STET_OK) sti_tape_break(t, written_by(t, array, by));
}

/* The message of the launch that failed stays that of its caller. */
static void lost(sti_launch_observer *launch_observer, const char *what)
{
    stet_tape *t = of(launch_observer);
    if (t->broken != STET_OK) return;
    t->broken = STET_ERROR_STATE;
    (void)snprintf(t->why, sizeof t->why,
                   "tape: %s failed or was left out, so what is on the tape is not what ran; give stet_tape_end its "
                   "result",
                   what);
}

/* ---- operations of the library ----------------------------------------------------------------------------------- */

/*
 * An operation that comes again in a step begins a step of its own, so that calls of many time steps have checkpoints,
 * too; not in a list, whose launches have not run.
 */
static stet_result step_within(stet_tape *t, sti_tape_kernel *k)
{
    if (k->latest == t->step + 1 && !t->device->listing) {
        t->step++;
        STI_TRY(sti_tape_checkpoint(t));
    }
    k->latest = t->step + 1;
    return STET_OK;
}

static stet_result take_operation(stet_tape *t, const sti_operation *operation, const sti_arg *args)
{
    int k;
    STI_TRY(check_capture(t, operation->name));
    STI_TRY(sti_tape_find_operation(t, operation, &k));
    STI_TRY(step_within(t, t->kernel[k]));
    t->operates = true;
    STI_TRY(take_launch(t, k, operation->count, args, operation->noperand));
    t->inside = t->nop - 1;
    return STET_OK;
}

static void begun(sti_launch_observer *launch_observer, const sti_operation *operation, const sti_arg *args)
{
    stet_tape *t = of(launch_observer);
    assert(t->inside < 0 && "operations do not nest");
    if (t->broken == STET_OK) sti_tape_break(t, take_operation(t, operation, args));
}

static void ended(sti_launch_observer *launch_observer) { of(launch_observer)->inside = -1; }

const sti_launch_observer sti_tape_observer = {.launch = launched,
                                               .copy = copied,
                                               .foreign = foreign,
                                               .loop = looped,
                                               .host = computed,
                                               .lost = lost,
                                               .begin = begun,
                                               .end = ended};
