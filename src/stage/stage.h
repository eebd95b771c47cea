/*
 * The stage's interface for the renderer.
 */
#ifndef STI_STAGE_STAGE_H
#define STI_STAGE_STAGE_H

#include "stage/shape.h"
#include "stet/stage.h"
#include "worlds/worlds.h"

/* Arrays of worlds [nworld][capacity * 12]. Reading `world` (as an argument, or from the host) flushes. */
stet_array *sti_stage_world(stet_stage *stage);
stet_array *sti_stage_local(stet_stage *stage);
stet_worlds *sti_stage_worlds(stet_stage *stage);
/* Memory of copies on the host, which a GPU without the mechanism hierarchy needs. */
int64_t sti_stage_host_bytes(const stet_stage *stage);
/*
 * Valid after a flush: the generation of each world, which grows when a world transform of this world may have changed.
 * Borrowed.
 */
const sti_generations *sti_stage_changed(const stet_stage *stage);
/* Their version. */
const sti_version *sti_stage_changes(const stet_stage *stage);
/*
 * The versions of what may move something, a bit or not, so that what depends on them is the same whatever was compared
 * (WORLDS-11); how many.
 */
enum { STI_STAGE_MOVES = 3 };
int sti_stage_moves(const stet_stage *stage, sti_version out[STI_STAGE_MOVES]);
/* Allocates the memory that a flush needs, so that the next flush cannot run out of it. */
stet_result sti_stage_prepare(stet_stage *stage);
const sti_shapes *sti_stage_shapes(const stet_stage *stage);
/* The body of the model that a prim is, or is below. */
int sti_stage_body(const stet_stage *stage, int prim);
/* Bumped when prims are added, removed or re-parented. */
const sti_version *sti_stage_connectivity(const stet_stage *stage);

#endif
