/*
 * The table of mechanisms. A row is STET_MECHANISM(name, one sentence), followed by its reasons:
 * STET_REASON(mechanism, name, sentence). Everything else (switches, counters, command line, documentation) follows from it.
 */
STET_MECHANISM(pose_sync, "Body poses and scene transforms are brought up to date before something reads them, not after each substep.")
STET_REASON(pose_sync, disabled, "switched off: poses are synchronised after every substep")
STET_REASON(pose_sync, qpos, "joint positions moved")
STET_REASON(pose_sync, external, "the caller wrote poses")

STET_MECHANISM(hierarchy, "World transforms of the scene tree are propagated for all worlds, level by level, and only when an input moved.")
STET_REASON(hierarchy, disabled, "switched off: every level is propagated for every world at each flush")
STET_REASON(hierarchy, connectivity, "prims were added, removed or given another parent: the schedule was built again")
STET_REASON(hierarchy, values, "poses or local transforms moved")
STET_REASON(hierarchy, forced, "the caller asked for all")

STET_MECHANISM(tiles, "All requested outputs of all cameras of all worlds leave the tiled frame in one launch.")
STET_REASON(tiles, disabled, "switched off: one launch for each world and output")
STET_REASON(tiles, extracted, "tiles were copied out of the frame")
STET_REASON(tiles, not_direct, "the renderer could not write the destination's layout itself: converted, strided or a subset")

STET_MECHANISM(deferred_tiles, "Outputs are extracted when somebody reads them, once a frame.")
STET_REASON(deferred_tiles, disabled, "switched off: outputs are extracted at each render")
STET_REASON(deferred_tiles, first_read, "first read of a frame")
STET_REASON(deferred_tiles, ring_full, "a new frame needed the place of one not read yet, which was extracted first")

STET_MECHANISM(frame, "Rendering a scene none of whose inputs moved does nothing; worlds that did not move keep their pixels.")
STET_REASON(frame, disabled, "switched off: every world is rendered at each render")
STET_REASON(frame, moved, "transforms, materials or cameras moved")
STET_REASON(frame, first, "nothing was rendered yet")

STET_MECHANISM(readback, "Reading the same array twice on the host converts and copies it once.")
STET_REASON(readback, disabled, "switched off: each read copies")
STET_REASON(readback, moved, "the array was written since it was last read")
