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
STET_REASON(deferred_tiles, exported, "a tensor lives through which a bound array may have been written unannounced")
STET_REASON(deferred_tiles, ring_full, "a new frame needed the place of one not read yet, which was extracted first")

STET_MECHANISM(frame, "Rendering a scene none of whose inputs moved does nothing; worlds that did not move keep their pixels.")
STET_REASON(frame, disabled, "switched off: every world is rendered at each render")
STET_REASON(frame, moved, "transforms, materials or cameras moved")
STET_REASON(frame, first, "nothing was rendered yet")

STET_MECHANISM(readback, "The same content of an array crosses between host and device once, in either direction.")
STET_REASON(readback, disabled, "switched off: each read copies")
STET_REASON(readback, moved, "the array was written since it was last read")
STET_REASON(readback, uploaded, "the host wrote the array since it was last on the device")
STET_REASON(readback, exported, "a tensor lives through which the array may have been written unannounced")

STET_MECHANISM(kernel_cache, "Kernels that were compiled at run time live on disk, under all that went into them, and are not compiled again.")
STET_REASON(kernel_cache, disabled, "switched off: each kernel is compiled anew, and not kept")
STET_REASON(kernel_cache, absent, "the cache had no entry for this kernel")
STET_REASON(kernel_cache, damaged, "the entry was cut off or altered: the kernel was compiled again")
STET_REASON(kernel_cache, foreign, "the entry was somebody else's, or others could write it: the kernel was compiled again")
STET_REASON(kernel_cache, schema, "the entry was of another schema: the kernel was compiled again")
STET_REASON(kernel_cache, collision, "the entry had this kernel's id, but not its content: the kernel was compiled again")
STET_REASON(kernel_cache, refused, "the cache's folder is not the user's alone or cannot be used: the kernel was compiled without it")
STET_REASON(kernel_cache, not_kept, "the entry could not be written: the kernel works, and is compiled again next time")

STET_MECHANISM(graph_replay, "A list of launches that was played before is replayed: its order and its blocks of arguments stand.")
STET_REASON(graph_replay, disabled, "switched off: launches are issued one by one")
STET_REASON(graph_replay, first, "the list was not seen before, or its recording went as the least recently used: launched one by one, and recorded")
STET_REASON(graph_replay, compared, "the recording was replayed for the first time and compared with launches one by one, before it is trusted")
STET_REASON(graph_replay, differed, "the recording gave other bits than launches one by one: it was dropped")
STET_REASON(graph_replay, failed, "an operation of the recording failed: it was dropped, and the rest was launched one by one")
STET_REASON(graph_replay, memory, "there was no memory to build the recording or to compare it: launched one by one")
STET_REASON(graph_replay, allocates, "an array was made while launches were being listed, which no replay can do: what was listed ran first")
STET_REASON(graph_replay, split, "the host read, wrote or made something that what was listed touches, or the list was full: what was listed ran first")

STET_REASON(graph_replay, joined, "the caller's stream is being captured: the launches became a part of that graph one by one")
STET_REASON(graph_replay, unsupported, "the driver could not build a graph of the list: it is replayed by a loop on the host")
STET_REASON(graph_replay, host_loop, "the driver has no conditional nodes: a loop whose end only the device knows runs on the host")
STET_REASON(graph_replay, capture, "work that stet does not launch itself could not be captured: launched one by one")

STET_MECHANISM(args, "A launch site uploads its arguments to its block on the device only when their bytes differ.")
STET_REASON(args, disabled, "switched off: each launch through a block uploads its arguments")
STET_REASON(args, first, "the site had no block yet")
STET_REASON(args, grown, "the arguments outgrew their block; a larger one starts empty")
STET_REASON(args, changed, "the bytes of the arguments differ")
STET_REASON(args, unknown, "what the block holds is not known: an upload failed, or somebody else wrote it")
STET_REASON(args, running, "a launch that is still running reads the block: this one passed its arguments by value")
