/*
 * What a launch hands to a kernel: a block of slots, one for each parameter that the caller passes. Plain bytes without
 * padding, so that two blocks are equal when their bytes are.
 */
#ifndef STI_DEVICE_SLOT_H
#define STI_DEVICE_SLOT_H

#include "device/isa.h"

#include <stdint.h>

typedef struct sti_slot {
    union {
        void *p;   /* arrays: the data */
        int64_t i; /* int, i64 */
        double f;  /* ureal */
    };
    int64_t n; /* arrays of worlds: numbers from one block of worlds to the next, in lanes (items a world); else 0 */
} sti_slot;

/* A kernel compiled for one instruction set: blocks begin … end - 1 (of worlds, or of items), one after the other. */
typedef void sti_call(const sti_slot *slots, int64_t begin, int64_t end);

/* Used by generated code: STI_ISA_NAME(sti_k_x) is sti_k_x__avx512 where STI_ISA is avx512. */
#define STI_ISA_PASTE_(name, isa) name##__##isa
#define STI_ISA_PASTE(name, isa) STI_ISA_PASTE_(name, isa)
#define STI_ISA_NAME(name) STI_ISA_PASTE(name, STI_ISA)

#endif
