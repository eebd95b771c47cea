/*
 * What all adjoints of a device share: the memory of their stacks, what is known of sizes, the registry of ids, and the look at their flags. It is there
 * while one of them is, and until all that it has to tell was told.
 *
 * A launch whose stack is too short sets a flag, `tape_overs`, and goes no further. Nobody waits for that flag after a launch; the host looks before it next
 * reads anything of the device (STACKS-1), and where the sizes of a launch come from memory that others can write, at once (overflow.h).
 *
 * Invariants:
 *   STACKS-1  no host read of any array succeeds between a launch whose stack was too short and the error that tells of it
 *   STACKS-2  flags are looked at only if launches, or replays, that can set them have run since; versions say so
 */
#ifndef STI_ADJOINT_LAUNCH_STACKS_H
#define STI_ADJOINT_LAUNCH_STACKS_H

#include "adjoint/launch/gather.h"
#include "adjoint/launch/spill_pool.h"
#include "adjoint/launch/ids.h"
#include "adjoint/sizing/reduce.h"
#include "stet/adjoint.h"

typedef struct sti_stacks {
    stet_device *device;
    sti_spill_pool spill_pool;
    sti_known known;
    sti_ids ids;
    sti_gathering *gathering; /* NULL: not needed yet */
    stet_array *found;        /* of looks: [block] (place, mark); NULL: not needed yet */
    stet_adjoint *first;      /* all of the device, by `next` */
    bool looking;
    bool untold; /* of an adjoint that is gone: … */
    char late[320];
} sti_stacks;

/* Those of the kernel's device; the first adjoint makes them, the last one takes them with it. */
stet_result sti_stacks_join(stet_adjoint *adjoint);
void sti_stacks_leave(stet_adjoint *adjoint);
/* LIMIT: a stack was too short in a launch or replay since the last look. Looks only if one that can have been has run; in a capture not at all. */
stet_result sti_stacks_check_overflow(stet_device *device);
/* Bytes of stacks and lists that the device has now. */
int64_t sti_stacks_bytes(const stet_device *device);

/* Flags: room for them, zero; and what they say. */
stet_result sti_flags_room(stet_adjoint *adjoint, int64_t n);
/* *mark: what the flag says (adjoint.h) of a stack that was too short since the last look, the first in the order of worlds and columns; 0: there was none. */
stet_result sti_flags_check(stet_adjoint *adjoint, int64_t *mark);

#endif
