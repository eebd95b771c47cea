/*
 * The programs of a device, for programs.c and fused.c: the table in which a launch finds its kernel's code, and other
 * code that is destroyed with the device.
 */
#ifndef STI_KERNEL_GPU_TABLE_H
#define STI_KERNEL_GPU_TABLE_H

#include "kernel/gpu/fused_text.h"
#include "kernel/gpu/modules.h"

/* Can a kernel be part of fused code? */
typedef enum sti_fusing { STI_FUSING_UNKNOWN, STI_FUSING_YES, STI_FUSING_REDEFINES } sti_fusing;

typedef struct sti_program {
    const sti_kernel *kernel;
    sti_code code;
    bool set;        /* the team was set by sti_program_set_team */
    bool failed;     /* its code could not be compiled beside: another's runs (sti_program_choose) */
    sti_module *own; /* of a user's kernel */
    sti_fusing fusing;
    bool asked;
    int shared; /* bytes that its team shares; valid if `asked` */
} sti_program;

/* Code of several kernels (fused.h). */
typedef struct sti_fused {
    sti_code code;
    sti_module *module;
    sti_phase *phase;
    int nphase, registers; /* `registers`: of a thread */
    int resident;          /* the resident threads that its registers are bounded for; 0: not bounded */
} sti_fused;

struct sti_programs {
    sti_modules modules;
    sti_program **slot; /* a hash table with open addressing, at most half full */
    int nslot, nprogram;
    char **name; /* names of user kernels and of fused code (sti_code.name), kept as long as the device */
    int nname;
    sti_module *condition; /* of loops in graphs; NULL: not needed so far */
    sti_code condition_code;
    sti_fused **fused;
    int nfused;
    sti_fused_head head; /* of fused texts; empty: not needed so far */
};

/* Makes an empty table. */
stet_result sti_table_begin(struct sti_programs *p);
void sti_table_end(struct sti_programs *p); /* frees the programs, but not their modules */
/* The slot of a kernel, or the free slot where it would be. */
sti_program **sti_table_find(const struct sti_programs *p, const sti_kernel *kernel);
stet_result sti_table_insert(struct sti_programs *p, const sti_kernel *kernel, sti_program **out);
/* Frees a program. Moves up the programs behind it in its run, so that they are still found. */
void sti_table_take_out(struct sti_programs *p, sti_program **at);
/* Copies a name; the copy lives as long as the device. */
stet_result sti_table_keep_name(struct sti_programs *p, const char *name, const char **out);

void sti_fused_free(struct sti_programs *p, sti_fused *it);
/* Drops the fused code that has this kernel; NULL: all fused code. No launch of it may be listed. */
void sti_fused_drop(struct sti_programs *p, const sti_kernel *kernel);

/* PROGRAMS-1, PROGRAMS-2: each kernel is found where it is; code has a name and a team. */
STI_VALIDATE(programs, struct sti_programs)

/* ---- programs.c ---- */

/* The device's programs, created if there are none. */
stet_result sti_programs_open(stet_device *device, struct sti_programs **out);
/*
 * Finds a kernel's program, or makes one without code. STET_ERROR_UNSUPPORTED: the library has no source of the kernel.
 */
stet_result sti_programs_get(struct sti_programs *p, const sti_kernel *kernel, sti_program **out);
#endif
