/*
 * Ids that are hashes of content: who uses one says what it stands for, so two contents under one id are found, whichever came first.
 */
#ifndef STI_ADJOINT_LAUNCH_IDS_H
#define STI_ADJOINT_LAUNCH_IDS_H

#include "stet/base.h"

typedef struct sti_ids {
    struct sti_id *first;
} sti_ids;

/* Counts its users. STATE: the id stands for something else; nothing was added. `what` names the newcomer. */
stet_result sti_ids_add(sti_ids *ids, uint64_t id, const char *content, const char *what);
/* One that was not added is fine. */
void sti_ids_drop(sti_ids *ids, uint64_t id);

#endif
