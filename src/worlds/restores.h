/*
 * Restores arrays by copies on the device. The copies are gathered one by one, then issued as one list, which is a
 * recording when the same list comes again (kernel/record/record.h).
 *
 * Invariants:
 *   RESTORES-1  between adding an array and restoring it nothing reads it, and the array it is restored from does not
 *       change
 *   RESTORES-2  what the host knows of an array (its host mirror, a stamp) is updated only when all copies have been
 *       issued
 */
#ifndef STI_WORLDS_RESTORES_H
#define STI_WORLDS_RESTORES_H

#include "device/device.h"

/* An array, and one of equal shape (sti_record_copy) that it is restored from. */
typedef struct sti_restore {
    stet_array *to, *from;
    /* content of `from` on the host, in its layout, for the host mirror of `to`; NULL: not known */
    const void *bytes;
    sti_stamp *stamp; /* gets the version of `to`; NULL: not needed */
} sti_restore;

/* A zeroed struct is empty. */
typedef struct sti_restores {
    sti_restore *one;
    int n, room;
} sti_restores;

/* Everything that it points to is borrowed. */
stet_result sti_restores_add(sti_restores *restores, const sti_restore *one);
/*
 * Makes all copies and empties the list, also on failure. `what` names the list in messages. No array is both restored
 * and restored from. once: the same list will not come again, so it is not recorded.
 */
stet_result sti_restores_make(sti_restores *restores, stet_device *device, const char *what, bool once);
/* Keeps its memory. */
static inline void sti_restores_clear(sti_restores *restores) { restores->n = 0; }
void sti_restores_free(sti_restores *restores);

#endif
