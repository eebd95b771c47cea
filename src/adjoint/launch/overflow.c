/*
 * Stacks that were too short. Sizes of stacks are computed from data, so a stack is too short only if an array was
 * written without being marked, after its size was computed and before the launch.
 *
 * Code outside of stet can do that if an exported tensor shows one of the arrays that sizes come from, or if a captured
 * graph of the caller's holds its address. Then a launch saves what the adjoint writes and reads the overflow flags. If
 * a stack was too short it restores the arrays, marks the inputs as written, and runs again with larger stacks. In a
 * list of launches or in the caller's capture the flags cannot be read in between. There, and if no outside code can
 * write, the flags are read before the next host read (stacks.h), which then fails.
 */
#include "adjoint/launch/launch.h"

#include "base/error.h"
#include "kernel/check/unit.h"
#include "kernel/record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

stet_result sti_overflow_error(const stet_adjoint *a, int64_t mark, int64_t had, const char *needed)
{
    const sti_kernel_source *origin = sti_user_kernel_source(a->kernel);
    const char *file = a->unit->file[mark / STI_MARK_LINES % a->unit->nfile];
    sti_text_buffer where = {0}, name = {0};
    sti_text_buffer_format(&where, "%s:%" PRId64, file, mark % STI_MARK_LINES);
    if (where.result == STET_OK) sti_user_source_explain(&origin->source, where.data, where.size, &name);
    bool known = where.result == STET_OK && name.result == STET_OK;
    stet_result result =
        sti_error(STET_ERROR_LIMIT,
                  "kernel %s_adj: the stack of the loop at %s was too short: it had %" PRId64
                  " slots%s. An array that its trip count comes from was written without being announced "
                  "(stet_array_mark_written), so gradients since are not to be used",
                  a->k->name, known ? name.data : "?", had, needed);
    sti_text_buffer_free(&where);
    sti_text_buffer_free(&name);
    return result;
}

/* ---- whether ----------------------------------------------------------------------------------------------------- */

static bool can_be_written_outside(const stet_array *a)
{
    while (a->base) a = a->base;
    return a->share || a->outside;
}

bool sti_overflow_possible(const sti_adjoint_call *c)
{
    const stet_adjoint *a = c->adjoint;
    stet_device *device = a->stacks->device;
    bool others = false;
    for (int i = 0; i < a->nparam; ++i)
        if (a->sizing.inputs >> i & 1 && c->args[i].kind == STET_ARG_ARRAY && c->args[i].array)
            others |= can_be_written_outside(c->args[i].array);
    return others && !device->listing && !sti_joining(device);
}

/* ---- keeping and putting back ------------------------------------------------------------------------------------ */

/* The caller's array that parameter i of the code writes, or NULL. */
static stet_array *written(const sti_adjoint_call *c, int i)
{
    const sti_passing *p = &c->adjoint->passing[i];
    if (!p->written) return NULL;
    if (p->what == STI_PASSED_ARGUMENT) return (stet_array *)(uintptr_t)c->args[p->number].array;
    return p->what == STI_PASSED_GRADIENT ? c->gradients[p->number] : NULL;
}

static bool fits(const stet_array *a, const stet_array *b)
{
    return a && a->dtype == b->dtype && a->worlds == b->worlds && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

static stet_result save_written(const sti_adjoint_call *c)
{
    stet_array **saved = c->adjoint->saved;
    for (int i = 0; i < c->adjoint->npassing; ++i) {
        stet_array *a = written(c, i);
        if (!a) continue;
        if (!fits(saved[i], a)) {
            stet_array_destroy(saved[i]);
            saved[i] = NULL;
            STI_TRY(
                sti_array_new(a->device, "kept for another try", a->dtype, a->worlds, a->ndim, a->shape, &saved[i]));
            sti_array_held_by(saved[i], STET_MECHANISM_ADSTACK);
        }
        STI_TRY(sti_record_copy(saved[i], a));
    }
    return STET_OK;
}

static stet_result restore_written(const sti_adjoint_call *c)
{
    for (int i = 0; i < c->adjoint->npassing; ++i) {
        stet_array *a = written(c, i);
        if (a) STI_TRY(sti_record_copy(a, c->adjoint->saved[i]));
    }
    return STET_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static stet_result run_and_check(sti_adjoint_call *c, int64_t *mark)
{
    STI_TRY(sti_adjoint_run(c));
    return sti_flags_check(c->adjoint, mark);
}

stet_result sti_overflow_run(sti_adjoint_call *c)
{
    stet_adjoint *a = c->adjoint;
    int64_t mark, had = c->size[STI_DEPTH];
    char needed[96];
    STI_TRY(a->stacks->device->check_overflow(a->stacks->device)); /* reports overflows of earlier launches first */
    STI_TRY(save_written(c));
    STI_TRY(run_and_check(c, &mark));
    if (mark) {
        STI_TRY(restore_written(c));
        sti_sizing_overflown(&a->sizing, c->args);
        STI_TRY(sti_sizing_find(&a->sizing, a->kernel, &a->stacks->known, c->count, c->args, c->size));
        sti_log(STET_LOG_INFO, "adstack: kernel %s_adj: a stack had %lld slots and needs %lld: launched again",
                a->k->name, (long long)had, (long long)c->size[STI_DEPTH]);
        had = c->size[STI_DEPTH];
        STI_TRY(run_and_check(c, &mark));
    }
    if (!mark) return sti_adjoint_add_up(c);
    STI_TRY(restore_written(c));
    (void)snprintf(needed, sizeof needed, ", as many as it needs by its arguments, twice");
    return sti_overflow_error(a, mark, had, needed);
}
