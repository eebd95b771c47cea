/*
 * Checked mode of users' kernels (doc/design/checked.md): an instrumented text is compiled instead of the source, a
 * launch passes sizes and a record of faults, and the launch, or the list that contains it, returns the first fault in
 * the record as its error.
 *
 * Invariants:
 *   CHECKED-1  memory that is no part of a kernel's arrays is not touched
 *   CHECKED-2  a launch reports the fault of the lowest block; in that block the first in program order on a CPU, the
 *       first in the source on a GPU
 *   CHECKED-3  a record is all zero before a launch, unless reading it failed before (CHECKED-4)
 *   CHECKED-4  a record whose download failed is read the next time: the launch fails with the device's error, but it
 *       ran
 */
#ifndef STI_KERNEL_CHECKED_CHECKED_H
#define STI_KERNEL_CHECKED_CHECKED_H

#include "kernel/checked/instrument.h"
#include "kernel/kernel.h"
#include "kernel/compile/user_source.h"

/* A record that was too small. */
typedef struct sti_former_record {
    uint64_t *record;
    struct sti_former_record *next;
} sti_former_record;

typedef struct sti_checked {
    sti_sites sites;
    char *file;                                            /* what messages call the source */
    int64_t items[STI_MAX_PARAMS], worlds[STI_MAX_PARAMS]; /* of the arrays of the last launch */
    int64_t count;                                         /* its worlds; 0 for an item kernel */
    uint64_t *record; /* on the device: a word that says if there are faults, then one per block */
    int64_t blocks;
    sti_former_record *before; /* smaller ones, which recordings may still hold */
    bool waiting;              /* launched, and its record was not read yet */
    struct sti_checked *next;  /* next in the device's list unread_faults */
    const sti_kernel *kernel;
} sti_checked;

/*
 * Fills `out` with what is compiled instead of `source`, which was read and checked, and fills *checked. Free that with
 * sti_checked_free, also after a failure.
 */
stet_result sti_checked_make(const sti_user_source *source, const sti_check_options *options, bool gpu,
                             sti_user_source *out, sti_checked **checked);
void sti_checked_free(stet_device *device, sti_checked *checked);

/* Adds the slot of a checked kernel's record to a launch that is bound. */
stet_result sti_checked_prepare(stet_device *device, sti_launch *launch, int64_t count);
/* The size that an array's slot passes: see sti_span_array in lang_checked.h. */
int64_t sti_checked_size(const sti_kernel *kernel, const stet_array *array);
/* Call it when the kernel was launched, or listed. */
void sti_checked_note_launch(stet_device *device, const sti_kernel *kernel);
/*
 * Reads the records of all kernels that ran: the first fault is the result (STET_ERROR_FAULT). Waits for the device if
 * there are records to read.
 */
stet_result sti_checked_read_faults(stet_device *device);

#endif
