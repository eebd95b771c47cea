/*
 * The arguments of a launch: a block of slots, one for each parameter that the caller passes. Slots are plain bytes
 * without padding, so two blocks are equal when their bytes are equal.
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
    union {
        /* arrays of worlds: distance between blocks of worlds, in lane vectors (items per world); else 0 */
        int64_t n;
        /*
         * Memory of a team: its bytes, and for how many teams there is room at p; 0: the device finds the memory, and
         * i has the bytes.
         */
        struct {
            uint32_t bytes, teams;
        } team;
    };
} sti_slot;
_Static_assert(sizeof(sti_slot) == 16, "kernels on a GPU have the same struct");

/* A kernel compiled for one instruction set. Runs blocks begin … end - 1 (of worlds or items), one after the other. */
typedef void sti_call(const sti_slot *slots, int64_t begin, int64_t end);

/* Used by generated code: STI_ISA_NAME(sti_k_x) is sti_k_x__avx512 where STI_ISA is avx512. */
#define STI_ISA_PASTE_(name, isa) name##__##isa
#define STI_ISA_PASTE(name, isa) STI_ISA_PASTE_(name, isa)
#define STI_ISA_NAME(name) STI_ISA_PASTE(name, STI_ISA)

#endif
