/*
 * Checkpoints: copies of a tape's arrays at the beginning of some of its steps; see tape.h for the invariants.
 *
 * If the caller does not set the number of steps between two checkpoints, it is a power of two that is doubled as steps
 * come in: after T steps it is between the square roots of T / 2 and of 2 T. With operations of the library on the tape
 * it stays 1, or what it is, as long as the copies fit into the memory that the tape may take. A checkpoint copies only
 * arrays that were written since their latest copy.
 */
#include "adjoint/tape/tape.h"

#include "device/share.h"
#include "kernel/record/record.h"

#include <assert.h>

/*
 * Copies an array's current content at once, even while launches are listed: no listed operation writes the array. What
 * is computed when it is read stays as old as it is: the tape computes it before its next read.
 */
static stet_result copy_now(stet_tape *t, sti_tape_array *a, stet_array *to)
{
    stet_device *device = t->device;
    bool listing = device->listing, producing = a->array->producing;
    device->listing = false;
    device->launch_observer = NULL;
    a->array->producing = a->array->producer != NULL;
    stet_result result = sti_record_copy(to, a->array);
    a->array->producing = producing;
    device->launch_observer = t->open ? &t->launch_observer : NULL;
    device->listing = listing;
    return result;
}

/* Takes a free copy, or makes one. Reserves the room that is needed to give all copies back. */
static stet_result take_spare(stet_tape *t, sti_tape_array *a, stet_array **out)
{
    stet_device *device = t->device;
    bool listing = device->listing;
    STI_TRY(sti_tape_reserve(&a->copy, &a->copy_room, a->ncopy + 1, sizeof *a->copy));
    STI_TRY(sti_tape_reserve(&a->spare.array, &a->spare.room, a->ncopy + a->spare.n + 1, sizeof(stet_array *)));
    device->listing = false;
    stet_result result = a->spare.n > 0 ? STET_OK : sti_tape_pooled(&a->spare, 0, a->array);
    device->listing = listing;
    if (result == STET_OK) *out = a->spare.array[--a->spare.n];
    return result;
}

static stet_result add_copy(stet_tape *t, sti_tape_array *a, int64_t step)
{
    stet_array *copy;
    STI_TRY(take_spare(t, a, &copy));
    stet_result result = copy_now(t, a, copy);
    if (result != STET_OK) {
        a->spare.array[a->spare.n++] = copy;
        return result;
    }
    a->copy[a->ncopy++] = (sti_tape_copy){step, copy};
    t->copied += (int64_t)copy->size;
    return STET_OK;
}

stet_result sti_tape_first_copy(stet_tape *t, sti_tape_array *a) { return add_copy(t, a, 0); }

const stet_array *sti_tape_copy_at(const sti_tape_array *a, int64_t step)
{
    int64_t k = a->ncopy - 1;
    assert(k >= 0); /* TAPE-2 */
    while (k > 0 && a->copy[k].step > step) --k;
    return a->copy[k].copy;
}

/*
 * Removes copies after the distance of checkpoints was doubled. A copy moves to the next step that keeps its
 * checkpoint, unless a later copy belongs to that step: no segment begins in between.
 */
static void thin_array(stet_tape *t, sti_tape_array *a, int64_t every)
{
    int64_t n = 0, before = a->ncopy;
    for (int64_t k = 0; k < a->ncopy; ++k) {
        int64_t step = (a->copy[k].step + every - 1) / every * every;
        if (k + 1 < a->ncopy && (a->copy[k + 1].step + every - 1) / every * every == step)
            a->spare.array[a->spare.n++] = a->copy[k].copy;
        else
            a->copy[n++] = (sti_tape_copy){step, a->copy[k].copy};
    }
    a->ncopy = n;
    if (before > n) t->copied -= (before - n) * (int64_t)a->copy[0].copy->size;
}

static void thin(stet_tape *t)
{
    int64_t n = 0;
    t->every *= 2; /* the latest checkpoint is at a multiple of the doubled distance: see the caller */
    for (int64_t i = 0; i < t->narray; ++i) thin_array(t, &t->array[i], t->every);
    for (int64_t k = 0; k < t->ncheck; ++k)
        if (t->check[k].step % t->every == 0) t->check[n++] = t->check[k];
    t->ncheck = n;
}

bool sti_tape_strayed(const sti_tape_array *a)
{
    return a->array->version.generation != a->expected || (a->array->share && sti_share_writer(a->array->share));
}

static bool is_copied(const sti_tape_array *a) { return a->written && a->dirty && a->array; }

/* Bytes that a checkpoint takes here. */
static int64_t bytes_of_checkpoint(const stet_tape *t)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < t->narray; ++i)
        if (is_copied(&t->array[i])) bytes += (int64_t)t->array[i].array->size;
    return bytes;
}

/*
 * Is it time to drop every second checkpoint? There are more than a segment has steps, and the memory is full, or a
 * copy costs as much as what it saves: a kernel's launch over the same arrays. Never where the latest one would be
 * dropped: what it copied would have no place.
 */
static bool is_full(const stet_tape *t)
{
    if (t->given > 0 || t->step <= 2 * t->every * t->every || (t->step - 1) / t->every % 2 != 0) return false;
    return !t->operates || t->copied + bytes_of_checkpoint(t) > t->memory;
}

static stet_result copy_dirty(stet_tape *t, sti_tape_array *a)
{
    STI_TRY(add_copy(t, a, t->step));
    a->dirty = false;
    return STET_OK;
}

stet_result sti_tape_checkpoint(stet_tape *t)
{
    sti_tape_check check = {.step = t->step, .op = t->nop};
    if (is_full(t)) thin(t);
    if (t->step % t->every != 0) return STET_OK;
    STI_TRY(sti_tape_reserve(&t->check, &t->check_room, t->ncheck + 1, sizeof *t->check));
    for (int64_t i = 0; i < t->narray; ++i) {
        if (!is_copied(&t->array[i])) continue;
        check.strayed |= sti_tape_strayed(&t->array[i]);
        STI_TRY(copy_dirty(t, &t->array[i]));
    }
    t->check[t->ncheck++] = check;
    return STET_OK;
}
