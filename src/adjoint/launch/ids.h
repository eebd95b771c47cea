/*
 * A registry of ids that are hashes of content. Each user of an id registers its content, so two different contents
 * with the same id are detected, in any order.
 */
#ifndef STI_ADJOINT_LAUNCH_IDS_H
#define STI_ADJOINT_LAUNCH_IDS_H

#include "stet/base.h"

typedef struct sti_ids {
    struct sti_id *first;
} sti_ids;

/*
 * Registers a user of an id. STATE: the id has another content; nothing was added. `what` names the user in messages.
 */
stet_result sti_ids_add(sti_ids *ids, uint64_t id, const char *content, const char *what);
/* Removes a user of an id. An id that was never added is allowed. */
void sti_ids_drop(sti_ids *ids, uint64_t id);

#endif
