/*
 * Operations: work of the library that is several launches, and one thing to a launch observer, because as a whole it
 * has an adjoint. A time step of native physics is one.
 *
 * Invariants:
 *   OPERATION-1  the launches of an operation write nothing that others read but those of its operands that say so
 *   OPERATION-2  `again`, over what the operands held before the operation, leaves the same bits in those that are
 *       written, and changes nothing else that anybody sees
 */
#ifndef STI_KERNEL_RECORD_OPERATION_H
#define STI_KERNEL_RECORD_OPERATION_H

#include "kernel/kernel.h"

/* How an operation uses an operand. */
enum {
    STI_OPERAND_READ = 1,    /* the adjoint reads what it held before the operation */
    STI_OPERAND_WRITTEN = 2, /* it is written */
    STI_OPERAND_RESULT = 4,  /* the adjoint reads what the operation left in it */
    STI_OPERAND_GRADED = 8   /* the operation has a derivative by it, or of it */
};

/* An operand: an array, of worlds if it is of reals and graded, or a number. */
typedef struct sti_operand {
    const char *name;
    int uses;
    bool real, number;
} sti_operand;

typedef struct sti_operation sti_operation;
struct sti_operation {
    const char *name; /* for messages: "a step of native physics" */
    void *owner;
    const sti_operand *operand;
    int noperand;
    int64_t count; /* of worlds */
    int most;      /* launches and copies that `again` lists at most, or `back` */
    /* UNSUPPORTED: it has no adjoint; the message says why. */
    stet_result (*check)(const sti_operation *operation);
    /* Allocates and compiles all that the following two need, so that they can be listed. */
    stet_result (*prepare)(const sti_operation *operation);
    /* Does the operation once more (OPERATION-2). */
    stet_result (*again)(const sti_operation *operation, const sti_arg *args);
    /*
     * Launches the adjoint. `args` hold what they held before the operation; results [noperand], where the operand asks
     * for it, what they held behind it; gradients [noperand], where it is graded, become those of the content before.
     */
    stet_result (*back)(const sti_operation *operation, const sti_arg *args, stet_array *const *results,
                        stet_array *const *gradients);
    /* NULL, or: the operands hold again what they held before a backward pass. */
    void (*restored)(const sti_operation *operation);
};

/* Notifies the device's launch observer that an operation begins, whose launches follow; and that they were issued. */
void sti_operation_begin(stet_device *device, const sti_operation *operation, const sti_arg *args);
stet_result sti_operation_end(stet_device *device, const sti_operation *operation, stet_result result);

#endif
