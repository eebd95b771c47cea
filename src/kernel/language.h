/*
 * The headers of the kernel language, carried in the library, for compiling at run time: "stet/lang.h" and what it
 * includes, "device/slot.h" and "device/isa.h". The table is made by the build (tools/embed).
 */
#ifndef STI_KERNEL_LANGUAGE_H
#define STI_KERNEL_LANGUAGE_H

typedef struct sti_embedded {
    const char *name; /* as an #include names it; NULL ends the table */
    const char *text; /* zero-terminated */
} sti_embedded;

extern const sti_embedded sti_language[];

#endif
