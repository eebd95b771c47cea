/* Restores arrays by copies on the device, issued as one list; see restores.h. */
#include "worlds/restores.h"

#include "base/memory.h"
#include "device/host_mirror.h"
#include "kernel/record/record.h"

#include <assert.h>

/*
 * Above this size the driver's copies take so long that a recording saves nothing. A recording would also be compared
 * once (record.h, RECORD-4), which takes twice as much host memory.
 */
static const size_t LISTED = (size_t)64 << 20;

stet_result sti_restores_add(sti_restores *restores, const sti_restore *one)
{
    assert(one->to && one->from && one->to != one->from && one->to->size == one->from->size && "RESTORES-1");
    assert(one->to->device == one->from->device && restores->n <= restores->room);
    for (int i = 0; i < restores->n; ++i) assert(restores->one[i].to != one->to && "an array is restored once");
    if (restores->n == restores->room) {
        int room = restores->room ? 2 * restores->room : 16;
        STI_TRY(sti_realloc(&restores->one, (size_t)room * sizeof *one, "what is put back on the device"));
        restores->room = room;
    }
    restores->one[restores->n++] = *one;
    return STET_OK;
}

static size_t bytes_of(const sti_restores *restores)
{
    size_t n = 0;
    for (int i = 0; i < restores->n; ++i) n += restores->one[i].to->size;
    return n;
}

static stet_result copy_all(const sti_restores *restores)
{
    for (int i = 0; i < restores->n; ++i) STI_TRY(sti_record_copy(restores->one[i].to, restores->one[i].from));
    return STET_OK;
}

/* RESTORES-2. */
static void update_host(const sti_restore *r)
{
    if (r->bytes) sti_mirror_fill(r->to, r->bytes);
    if (r->stamp) sti_stamp_keep_version(r->stamp, &r->to->version);
}

static stet_result list_all(const sti_restores *restores, stet_device *device, const char *what)
{
    STI_TRY(sti_record_begin(device, what));
    return sti_record_end(device, copy_all(restores));
}

stet_result sti_restores_make(sti_restores *restores, stet_device *device, const char *what, bool once)
{
    int n = restores->n;
    bool listed = n > 1 && !once && bytes_of(restores) <= LISTED;
    stet_result result = listed ? list_all(restores, device, what) : copy_all(restores);
    assert(restores->n == n && "RESTORES-1: nothing was added meanwhile");
    for (int i = 0; i < n && result == STET_OK; ++i) update_host(&restores->one[i]);
    sti_restores_clear(restores);
    return result;
}

void sti_restores_free(sti_restores *restores)
{
    sti_free(restores->one);
    *restores = (sti_restores){0};
}
