/*
 * Generates the C around a kernel: a function that the CPU device can call, and a description of its parameters. The
 * build writes it to files (tools/kernelgen); for a user's kernel it is generated at run time.
 *
 * Depends only on the signatures, so that the build's tool can include it.
 */
#ifndef STI_KERNEL_COMPILE_GENERATE_H
#define STI_KERNEL_COMPILE_GENERATE_H

#include "kernel/signature.h"

/* Receives the text in pieces, which are not zero-terminated. */
typedef struct sti_sink {
    void (*write)(void *context, const char *text, size_t size);
    void *context;
} sti_sink;

void sti_sink_text(const sti_sink *out, const char *text);
/* At most 1023 bytes. */
void sti_sink_format(const sti_sink *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Writes the function STI_ISA_NAME(sti_<kernel>), of type sti_call. It must come after "device/slot.h" and the kernel's
 * source.
 */
void sti_generate_call(const sti_sink *out, const sti_signature *sig);

/* How a GPU's entry of a kernel gets its slots: by value or in a block (see sti_code in device/device.h). */
typedef enum sti_form { STI_FORM_VALUE, STI_FORM_BLOCK } sti_form;
enum { STI_FORMS_BOTH = 1 << STI_FORM_VALUE | 1 << STI_FORM_BLOCK };

/*
 * Writes the arguments of a call of a kernel, from sti_s[slot] on: those of world sti_k in a world kernel (`world`),
 * else those of block sti_k. Returns the number of slots that they take.
 */
int sti_generate_arguments(const sti_sink *out, const sti_param *param, int nparam, bool world, int slot);
/* The struct sti_slot for a GPU's source, needed once before all entries. */
extern const char sti_generate_slot[];
/*
 * Writes the entry sti_<kernel>__value or sti_<kernel>__block. It must come after the struct and the kernel's source.
 */
void sti_generate_entry(const sti_sink *out, const sti_signature *sig, sti_form form);

/*
 * Writes all C of a kernel file: with STI_ISA defined the functions of its kernels, without it their descriptions.
 * `name` is the file's name in an #include, `table` the table of embedded sources that has it (compile/language.h;
 * NULL: none). Returns 0, or -1 with a sentence in message and its line.
 */
int sti_generate_unit(const sti_sink *out, const char *text, const char *name, const char *table, char *message,
                      size_t message_size, int *line);

#endif
