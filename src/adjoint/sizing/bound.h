/*
 * Bounds: whole numbers that are known only at a launch, as expressions over its arguments. The sizes of tapes come
 * from them.
 *
 *   kind      value                                    a           b     c
 *   NUMBER    number
 *   ARGUMENT  the argument `name`, a number
 *   VARIABLE  the variable of an enclosing OVER
 *   ELEMENT   element a of the argument `name`         index
 *   OVER      greatest value of c for variable in      from        to    of what
 *             from … to - 1; 0 if there is none
 *   others    the operation                            left        right
 *
 * A launch evaluates the tree, on the host or by reductions on its device.
 */
#ifndef STI_ADJOINT_SIZING_BOUND_H
#define STI_ADJOINT_SIZING_BOUND_H

#include "kernel/compile/text_buffer.h"
#include "stet/base.h"

#define STI_BOUND_KINDS(X)                                                                                             \
    X(NUMBER, "")                                                                                                      \
    X(ARGUMENT, "")                                                                                                    \
    X(VARIABLE, "")                                                                                                    \
    X(ELEMENT, "")                                                                                                     \
    X(OVER, "")                                                                                                        \
    X(ADD, "+")                                                                                                        \
    X(SUB, "-")                                                                                                        \
    X(MUL, "*")                                                                                                        \
    X(DIV, "/")                                                                                                        \
    X(MOD, "%")                                                                                                        \
    X(MAX, "max")                                                                                                      \
    X(MIN, "min")

/* The name of the launch's count (worlds or blocks), which is no parameter. */
#define STI_BOUND_COUNT "(count)"

typedef enum sti_bound_kind {
#define STI_BOUND_ENUM(tag, text) STI_BOUND_##tag,
    STI_BOUND_KINDS(STI_BOUND_ENUM)
#undef STI_BOUND_ENUM
} sti_bound_kind;

typedef struct sti_bound {
    sti_bound_kind kind;
    int64_t number;   /* of a variable its value during the evaluation */
    const char *name; /* of an argument; of a variable, for printing */
    struct sti_bound *a, *b, *c;
    struct sti_bound *variable; /* of an OVER: the node of its variable, wherever it occurs in c */
} sti_bound;

/* Gives access to a launch's arguments. */
typedef struct sti_bound_values {
    /* Return false if there is no such argument, or no such element. */
    bool (*number)(void *context, const char *name, int64_t *out);
    bool (*element)(void *context, const char *name, int64_t index, int64_t *out);
    void *context;
    /* Returns true if the value of this OVER or ELEMENT is known. NULL: no value is. */
    bool (*known)(void *context, const struct sti_bound *bound, int64_t *out);
} sti_bound_values;

/*
 * Evaluates a bound. STET_ERROR_INVALID_ARGUMENT: an element that does not exist, or a division by 0; the message names
 * it. STET_ERROR_LIMIT: more than 2^28 steps, or a value beyond 2^62.
 */
stet_result sti_bound_evaluate(sti_bound *bound, const sti_bound_values *values, int64_t *out);
/* Prints a bound for people: "max over i < n of first[i + 1] - first[i]". */
void sti_bound_print(const sti_bound *bound, sti_text_buffer *out);
/* A hash of the expression. Equal expressions have equal ids in all processes. */
uint64_t sti_bound_id(const sti_bound *bound);

#endif
