/*
 * Checked mode of people's kernels (doc/design/checked.md): an instrumented text is compiled in the place of the
 * source, a launch passes sizes and a record of faults, and what the record has is told as an error of the launch, or
 * of the list that it was in.
 *
 * Invariants:
 *   CHECKED-1  memory that is no part of a kernel's arrays is not touched
 *   CHECKED-2  of a launch the fault of the lowest block is told; there, the first in program order on a CPU, the first
 *       in the source on a GPU
 *   CHECKED-3  a record is all zero before a launch that nobody has failed to look at
 *   CHECKED-4  a record that the device failed to hand out is looked at the next time: the launch fails with the
 *       device's error, but it ran
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
    int64_t items[STI_MAX_PARAMS], worlds[STI_MAX_PARAMS]; /* of the arrays of the latest launch */
    int64_t count;                                         /* worlds of it; of an item kernel 0 */
    uint64_t *record; /* the device's: whether there are faults, then a word a block */
    int64_t blocks;
    sti_former_record *before; /* smaller ones, which recordings may still hold */
    bool waiting;              /* launched, and not looked at */
    struct sti_checked *next;  /* that is waiting */
    const sti_kernel *kernel;
} sti_checked;

/*
 * Fills `out` with what is compiled in the place of `source`, which was read and checked, and *checked. Free that with
 * sti_checked_free, also after a failure.
 */
stet_result sti_checked_make(const sti_user_source *source, const sti_check_options *options, bool gpu,
                             sti_user_source *out, sti_checked **checked);
void sti_checked_free(stet_device *device, sti_checked *checked);

/* Adds to a launch that is bound what a checked kernel wants beside. */
stet_result sti_checked_prepare(stet_device *device, sti_launch *launch, int64_t count);
/* How an array's slot says its size: see sti_span_array in lang_checked.h. */
int64_t sti_checked_size(const sti_kernel *kernel, const stet_array *array);
/* It was launched, or listed. */
void sti_checked_note_launch(stet_device *device, const sti_kernel *kernel);
/*
 * Looks at the records of all that ran: the first fault is the result (STET_ERROR_FAULT). Waits for the device if
 * somebody is waiting.
 */
stet_result sti_checked_read_faults(stet_device *device);

#endif
