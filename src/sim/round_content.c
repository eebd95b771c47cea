/*
 * Contents of inputs in host memory. Uploads are sent from this copy. If the device has host memory that it copies
 * faster from, the copy is there; so content is copied once, and an upload can go on while the host continues.
 * Invariants: round.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

bool sti_content_is(const sti_content *c, const stet_round_value *value)
{
    if (!c->valid || c->size != value->size || c->frames != value->frames) return false;
    if (value->generation && value->generation == c->generation && value->data == c->place) return true;
    return value->size == 0 || memcmp(c->host, value->data, value->size) == 0;
}

void sti_content_note_place(sti_content *c, const stet_round_value *value)
{
    c->place = value->data;
    c->generation = value->generation;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void free_host(sti_content *c)
{
    if (c->device)
        c->device->ops->host_free(c->device, c->host);
    else
        sti_free(c->host);
    c->device = NULL;
    c->host = NULL;
    c->room = 0;
}

static stet_result make_host(sti_content *c, stet_device *device, size_t size, const char *name)
{
    assert(!c->valid && "ROUND-2");
    void *memory;
    free_host(c);
    if (!device->ops->host_alloc) {
        STI_TRY(sti_alloc(&c->host, size, name));
        c->room = size;
        return STET_OK;
    }
    STI_TRY(device->ops->host_alloc(device, size, name, &memory));
    c->device = device;
    c->host = memory;
    c->room = size;
    return device->ops->order(device, memory, STI_ORDER_HOST_KEEPS);
}

/* Allocates memory that no upload still reads. */
static stet_result make_room_round_content(sti_content *c, stet_device *device, size_t size, const char *name)
{
    if (c->room < size) return make_host(c, device, size, name);
    return c->device ? device->ops->order(device, c->host, STI_ORDER_HOST_BEHIND) : STET_OK;
}

/* Frees the device copy. The next user of that memory is ordered after the upload stream (ROUND-6). */
void sti_content_drop_held(sti_content *c)
{
    stet_device *device = c->held ? c->held->device : NULL;
    if (!device) return;
    if (sti_device_after_uploads(device) != STET_OK && device->ops->synchronize(device) != STET_OK)
        sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
    stet_array_destroy(c->held);
    c->held = NULL;
    c->held_valid = false;
}

void sti_content_free(sti_content *c)
{
    free_host(c);
    sti_content_drop_held(c);
    *c = (sti_content){0};
}

/* ---- taking it over ---------------------------------------------------------------------------------------------- */

stet_result sti_content_take(sti_content *c, stet_sim *sim, const stet_round_value *value, const char *name)
{
    assert((value->data || value->size == 0) && "ROUND-3: it was checked");
    c->valid = c->held_valid = false;
    STI_TRY(make_room_round_content(c, sim->device, value->size, name));
    assert(c->room >= value->size && !c->valid && "ROUND-2");
    if (value->size > 0) memcpy(c->host, value->data, value->size);
    c->size = value->size;
    c->frames = value->frames;
    sti_content_note_place(c, value);
    c->serial = ++sim->round.serial;
    c->valid = true;
    return STET_OK;
}
