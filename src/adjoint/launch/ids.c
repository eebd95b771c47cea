/*
 * The registry of ids; see ids.h.
 */
#include "adjoint/launch/ids.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

typedef struct sti_id {
    uint64_t id;
    char *content;
    int64_t users;
    struct sti_id *next;
} sti_id;

static sti_id **find_ids(sti_ids *ids, uint64_t id)
{
    sti_id **at = &ids->first;
    while (*at && (*at)->id != id) at = &(*at)->next;
    return at;
}

static stet_result append_ids(sti_id **at, uint64_t id, const char *content)
{
    sti_id *own;
    STI_TRY(sti_alloc(&own, sizeof *own, "an id"));
    own->id = id;
    own->users = 1;
    stet_result result = sti_strdup(&own->content, content);
    if (result != STET_OK)
        sti_free(own);
    else
        *at = own;
    return result;
}

stet_result sti_ids_add(sti_ids *ids, uint64_t id, const char *content, const char *what)
{
    sti_id **at = find_ids(ids, id);
    if (!*at) return append_ids(at, id, content);
    if (strcmp((*at)->content, content) != 0)
        return sti_error(STET_ERROR_STATE,
                         "%s has the id %016" PRIx64 ", which stands for something else here: change its text a little "
                         "(a name in it, say)",
                         what, id);
    (*at)->users++;
    return STET_OK;
}

void sti_ids_drop(sti_ids *ids, uint64_t id)
{
    sti_id **at = find_ids(ids, id), *own = *at;
    if (!own || --own->users > 0) return;
    *at = own->next;
    sti_free(own->content);
    sti_free(own);
}
