/*
 * What is put back by copies on the device: gathered one by one, then copied as one list, which is a recording when it comes back
 * (kernel/record/record.h).
 *
 * Invariants:
 *   RESTORES-1  between adding an array and restoring it nobody looks at it, and what it is restored from stays as it is
 *   RESTORES-2  what the host knows of an array (its host's side, a stamp) is told only when all copies have been issued
 */
#ifndef STI_WORLDS_RESTORES_H
#define STI_WORLDS_RESTORES_H

#include "device/device.h"

/* An array, and one of its kind (sti_record_copy) from which it is restored. */
typedef struct sti_restore {
    stet_array *to, *from;
    const void *bytes; /* what `from` has, on the host, in its layout: for the host's side of `to`; NULL: not known */
    sti_stamp *stamp;  /* gets the version of `to`; NULL: nobody wants it */
} sti_restore;

/* The zeroed struct has none. */
typedef struct sti_restores {
    sti_restore *one;
    int n, room;
} sti_restores;

stet_result sti_restores_add(sti_restores *restores, const sti_restore *one); /* all that it names is borrowed */
/*
 * Makes all copies, and forgets them, also if that fails; `what` names the list in messages. No array of them is restored from another.
 * once: this list is not going to come back, and is no recording.
 */
stet_result sti_restores_make(sti_restores *restores, stet_device *device, const char *what, bool once);
static inline void sti_restores_clear(sti_restores *restores) { restores->n = 0; } /* keeps its memory */
void sti_restores_free(sti_restores *restores);

#endif
