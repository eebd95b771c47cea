/*
 * Recordings as callers have them: record.h's, with pointers checked.
 *
 *   RP1  what is not between a begin and its end is refused in a sentence, never taken for something else
 */
#include "kernel/record.h"
#include "stet/kernel.h"

static stet_result need(const void *thing, const char *call, const char *what)
{
    return thing ? STET_OK : sti_error(STET_INVALID_ARGUMENT, "%s: %s must not be NULL", call, what);
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

uint64_t stet_recording_last(const stet_device *device) { return device ? sti_record_last(device) : 0; }

/* ---- replays by others ------------------------------------------------------------------------------------------- */

stet_result stet_recording_replayed(stet_device *device, uint64_t recording)
{
    STI_TRY(need(device, "stet_recording_replayed", "device"));
    const sti_recorder *r = device->recorder;
    for (int k = 0; r && k < r->nrecording; ++k) {
        const sti_list *l = &r->recording[k]->list;
        if (r->recording[k]->id != recording) continue;
        for (int i = 0; i < l->nop; ++i)
            for (int u = 0; l->op[i].kind != STI_OP_WHILE && u < l->op[i].nuse; ++u)
                if (l->use[l->op[i].use + u].written) sti_version_bump(&l->use[l->op[i].use + u].array->version);
        return STET_OK;
    }
    return sti_error(STET_NOT_FOUND,
                     "there is no recording %llu any more: it went with an array, or as the least recently used",
                     (unsigned long long)recording);
}
