/*
 * The public functions for recordings: those of record.h, with pointers checked.
 *
 *   PUBLIC-RECORDING-1  a call that belongs between a begin and its end is refused elsewhere, with a sentence
 */
#include "kernel/record/record.h"
#include "stet/kernel.h"

static stet_result need(const void *thing, const char *call, const char *what)
{
    return thing ? STET_OK : sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: %s must not be NULL", call, what);
}

stet_result stet_record_begin(stet_device *device, const char *what)
{
    STI_TRY(need(device, "stet_record_begin", "device"));
    return sti_record_begin(device, what ? what : "a list of launches");
}

stet_result stet_record_end(stet_device *device, stet_result result)
{
    STI_TRY(need(device, "stet_record_end", "device"));
    return sti_record_end(device, result);
}

stet_result stet_record_while(stet_device *device, stet_array *condition, int64_t most)
{
    STI_TRY(need(device, "stet_record_while", "device"));
    STI_TRY(need(condition, "stet_record_while", "condition"));
    return sti_record_while(device, condition, most);
}

stet_result stet_record_while_end(stet_device *device)
{
    STI_TRY(need(device, "stet_record_while_end", "device"));
    return sti_record_while_end(device);
}

stet_result stet_array_copy(stet_array *to, stet_array *from)
{
    STI_TRY(need(to, "stet_array_copy", "to"));
    STI_TRY(need(from, "stet_array_copy", "from"));
    return sti_record_copy(to, from);
}

static stet_result check_uses(const stet_use *uses, int nuse)
{
    if (nuse < 0 || nuse > STI_FOREIGN_USES)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_record_foreign: %d uses; 0 … %d are possible", nuse,
                         STI_FOREIGN_USES);
    if (nuse > 0) STI_TRY(need(uses, "stet_record_foreign", "uses"));
    for (int i = 0; i < nuse; ++i) STI_TRY(need(uses[i].array, "stet_record_foreign", "an array that is used"));
    return STET_OK;
}

stet_result stet_record_foreign(stet_device *device, const char *what, stet_foreign_fn *work, void *context,
                                const stet_use *uses, int nuse)
{
    STI_TRY(need(device, "stet_record_foreign", "device"));
    if (!work) return need(NULL, "stet_record_foreign", "work");
    STI_TRY(check_uses(uses, nuse));
    return sti_record_foreign(
        device, &(sti_foreign){
                    .name = what ? what : "foreign work", .work = work, .context = context, .use = uses, .nuse = nuse});
}

uint64_t stet_recording_get_last(const stet_device *device) { return device ? sti_record_last(device) : 0; }

/* ---- replays by the caller --------------------------------------------------------------------------------------- */

stet_result stet_recording_mark_replayed(stet_device *device, uint64_t recording)
{
    STI_TRY(need(device, "stet_recording_mark_replayed", "device"));
    sti_recorder *r = device->recorder;
    sti_recording *x = r ? sti_recording_find_id(r, recording) : NULL;
    if (x) {
        const sti_list *l = &x->list;
        for (int i = 0; i < l->nop; ++i)
            for (int u = 0; l->op[i].kind != STI_OP_WHILE && u < l->op[i].nuse; ++u)
                if (l->use[l->op[i].use + u].written) sti_version_bump(&l->use[l->op[i].use + u].array->version);
        x->used = ++r->clock;
        return STET_OK;
    }
    return sti_error(STET_ERROR_NOT_FOUND,
                     "there is no recording %llu any more: it went with an array, or as the least recently used",
                     (unsigned long long)recording);
}
