/*
 * The programs of a device from inside: the table in which a launch finds its kernel's code, and what else goes with the device. Shared by
 * programs.c and fused.c.
 */
#ifndef STI_KERNEL_GPU_TABLE_H
#define STI_KERNEL_GPU_TABLE_H

#include "kernel/gpu/fused_text.h"
#include "kernel/gpu/modules.h"

/* May a kernel be part of fused code? */
typedef enum sti_fusing { STI_FUSING_UNKNOWN, STI_FUSING_YES, STI_FUSING_REDEFINES } sti_fusing;

typedef struct sti_program {
    const sti_kernel *kernel;
    sti_code code;
    bool set;        /* the team was set */
    sti_module *own; /* of a user's kernel */
    sti_fusing fusing;
    bool asked;
    int shared; /* bytes that its team shares, once that was asked */
} sti_program;

/* Code of several kernels (fused.h). */
typedef struct sti_fused {
    sti_code code;
    sti_module *module;
    sti_phase *phase;
    int nphase, registers; /* of a thread */
    int resident;          /* threads that its registers are bounded for; 0: they are not */
} sti_fused;

struct sti_programs {
    sti_modules modules;
    sti_program **slot; /* a table with open addressing; at most half of it is full */
    int nslot, nprogram;
    char **name; /* sti_code.name of kernels of the user's and of fused code: they live as long as the device */
    int nname;
    sti_module *condition; /* of loops in graphs; NULL: none was needed yet */
    sti_code condition_code;
    sti_fused **fused;
    int nfused;
    sti_fused_head head; /* of fused texts; empty: none was needed yet */
};

/* An empty table. */
stet_result sti_table_begin(struct sti_programs *p);
void sti_table_end(struct sti_programs *p); /* frees the programs, but not their modules */
/* Where a kernel is, or the free place where it would be. */
sti_program **sti_table_find(const struct sti_programs *p, const sti_kernel *kernel);
stet_result sti_table_insert(struct sti_programs *p, const sti_kernel *kernel, sti_program **out);
/* Frees a program; those behind it in its run move up, so that they are found. */
void sti_table_take_out(struct sti_programs *p, sti_program **at);
/* A copy of a name that lives as long as the device. */
stet_result sti_table_keep_name(struct sti_programs *p, const char *name, const char **out);

/* ---- programs.c ---- */

/* The device's programs; made if there are none. */
stet_result sti_programs_open(stet_device *device, struct sti_programs **out);
/* A kernel's program, made without code if there is none. STET_UNSUPPORTED: the library does not carry its source. */
stet_result sti_programs_get(struct sti_programs *p, const sti_kernel *kernel, sti_program **out);
/* Does what was compiled for this target wait for the kernels before it by itself (stet/lang_gpu.h)? */
static inline bool sti_target_waits(const sti_compile_target *target) { return target->sm >= 90; }

#endif
