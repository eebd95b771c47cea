/*
 * The stage's internals that the renderer reads.
 */
#ifndef STI_STAGE_STAGE_H
#define STI_STAGE_STAGE_H

#include "stet/stage.h"
#include "worlds/worlds.h"

/* Arrays of worlds [nworld][capacity * 12]; reading `world` (as an argument, from the host) flushes. */
stet_array *sti_stage_world(stet_stage *stage);
stet_array *sti_stage_local(stet_stage *stage);
stet_worlds *sti_stage_worlds(stet_stage *stage);
/* After a flush: a number for each world that changes when any of its world transforms may have changed. [nworld], borrowed. */
const uint64_t *sti_stage_changed(const stet_stage *stage);
/* Of all these numbers: while its generation stands, none of them changes. */
const sti_version *sti_stage_changes(const stet_stage *stage);
/* Takes the memory that a flush needs, so that the next one cannot fail for want of it. */
stet_result sti_stage_prepare(stet_stage *stage);
/* Bumped when prims were added, removed, re-parented. */
const sti_version *sti_stage_connectivity(const stet_stage *stage);

#endif
