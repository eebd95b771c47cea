/*
 * The C around a kernel: a function that the CPU device can call, and a description of its parameters. The build writes
 * it to files (tools/kernelgen), a kernel of the user's gets the same at run time.
 *
 * Needs no other part of the library but the signatures, so that a tool of the build can have it.
 */
#ifndef STI_KERNEL_COMPILE_GENERATE_H
#define STI_KERNEL_COMPILE_GENERATE_H

#include "kernel/launch/signature.h"

/* Where the text goes, piece by piece; the pieces are not terminated. */
typedef struct sti_sink {
    void (*write)(void *context, const char *text, size_t size);
    void *context;
} sti_sink;

void sti_sink_text(const sti_sink *out, const char *text);
/* At most 1023 bytes. */
void sti_sink_format(const sti_sink *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The function STI_ISA_NAME(sti_<kernel>), of type sti_call; it needs "device/slot.h" and the kernel's source before
 * it.
 */
void sti_generate_call(const sti_sink *out, const sti_signature *sig);

/* How a GPU's entry of a kernel gets its slots (see sti_code in device/device.h). */
typedef enum sti_form { STI_FORM_VALUE, STI_FORM_BLOCK } sti_form;
enum { STI_FORMS_BOTH = 1 << STI_FORM_VALUE | 1 << STI_FORM_BLOCK };

/*
 * The arguments of a call of a kernel, from sti_s[slot] on; of a world kernel (`world`) those of world sti_k, else of block sti_k. Returns the
 * number of slots that they take.
 */
int sti_generate_arguments(const sti_sink *out, const sti_param *param, int nparam, bool world, int slot);
/* The struct sti_slot as a GPU's source has it, once before all entries. */
extern const char sti_generate_slot[];
/* The entry sti_<kernel>__value or sti_<kernel>__block; it needs the kernel's source and the struct before it. */
void sti_generate_entry(const sti_sink *out, const sti_signature *sig, sti_form form);

/*
 * All of a kernel file's C: with STI_ISA defined, the functions of its kernels; without, their descriptions. `name` is
 * the file as it includes it. Returns 0, or -1 with a sentence in message and its line.
 */
int sti_generate_unit(const sti_sink *out, const char *text, const char *name, char *message, size_t message_size,
                      int *line);

#endif
