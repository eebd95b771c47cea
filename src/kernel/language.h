/*
 * Sources that are embedded in the library, for compiling at run time. The build writes the tables (tools/embed).
 */
#ifndef STI_KERNEL_LANGUAGE_H
#define STI_KERNEL_LANGUAGE_H

typedef struct sti_embedded {
    const char *name;                 /* as an #include names it; NULL ends the table */
    const char *text;                 /* zero-terminated */
    const struct sti_embedded *table; /* the table that it is in */
} sti_embedded;

/* The headers of the kernel language: "stet/lang.h" and what it includes, "device/slot.h" and "device/isa.h". */
extern const sti_embedded sti_language[];
/* The library's own kernels: their files, and what they include beyond the language ("stage/stage.k.h"). */
extern const sti_embedded sti_kernel_sources[];

#endif
