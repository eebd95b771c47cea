/*
 * The text that a transformation writes: names, expressions, lines.
 */
#ifndef STI_ADJOINT_TREE_TEXT_H
#define STI_ADJOINT_TREE_TEXT_H

#include "adjoint/tree/state.h"
#include "kernel/compile/text_buffer.h"

typedef struct sti_text_output {
    sti_text_buffer text;   /* so far */
    sti_text_buffer before; /* what must come before it: adjoints of the functions that it calls */
    int indent;
    unsigned serial;             /* number of the next generated name */
    const struct sti_held *held; /* local pointers that may be const */
} sti_text_output;

/* Formats a text in the unit's memory. Returns "" if there is no memory. */
const char *sti_say(sti_transform *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Writes a line of the output. A line that ends with { indents those that follow, one that begins with } ends that.
 */
void sti_emit(sti_transform *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Begins a text of its own, `deeper` levels further in, and returns the outer text. sti_captured ends it, returns it
 * and goes on with the outer one.
 */
sti_text_buffer sti_capture(sti_transform *t, int deeper);
sti_text_buffer sti_captured(sti_transform *t, sti_text_buffer outer, int deeper);
/* Appends a text to another and frees it. A failure of `from` is passed on to `to`. */
void sti_take_text(sti_text_buffer *to, sti_text_buffer *from);
/*
 * The type of a local pointer, declared as writable for now. sti_settle_writable adds const in the end if no note says
 * that the adjoint stores through the pointer.
 */
const char *sti_writable(sti_transform *t, const sti_node *pointer, const char *word);
void sti_settle_writable(sti_transform *t, sti_text_buffer *body);

/* Makes the name stem_suffix. */
const char *sti_joined(sti_transform *t, const char *stem, const char *suffix);
/* Makes a name that the source does not have: stem, or stem and a number. */
const char *sti_fresh(sti_transform *t, const char *stem);
/* The name of the gradient of a variable, array or parameter at this place. */
const char *sti_gradient_name(sti_transform *t, const sti_symbol *symbol);
const char *sti_value(sti_transform *t, const sti_node *e);
/* A real value as lanes, and a text as an operand: in parentheses where precedence might matter. */
const char *sti_lanes(sti_transform *t, const sti_node *e);
const char *sti_closed(sti_transform *t, const char *text);
/* The word for a type in a declaration, such as "const real". */
const char *sti_type_word(sti_transform *t, const sti_type *type);
/* The sizes of an array behind its name, such as "[3][4]"; "" for other types. */
const char *sti_type_sizes(sti_transform *t, const sti_type *type);
/*
 * Calls for each number in a value, with the text to put behind the value's place: ".field[2]". `reals`: without fields
 * that contain no reals.
 */
typedef void sti_number_fn(sti_transform *t, const char *suffix, const sti_type *type, void *context);
void sti_each_number(sti_transform *t, const char *suffix, const sti_type *type, bool reals, sti_number_fn *call,
                     void *context);
/* The offset of pointer e in its array, as a text. Reports an error if it cannot be followed. */
const char *sti_offset_of(sti_transform *t, const sti_node *e);
/* The index of an element in its array, as a closed text. */
const char *sti_element_index(sti_transform *t, const sti_node *place);

#endif
