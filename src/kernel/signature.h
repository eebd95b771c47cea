/*
 * Signatures of kernels, read from their source text: what a launch has to pass, and what it reads and writes.
 *
 * The rule is the language's own: a `const` pointer is read, any other pointer is written (and may be read); the type
 * says where the data lives. This parser serves the library's own kernels, when the library is built and when a
 * GPU is opened, where no checker runs: `make lint` checks them. All other kernels, adjoints too, get their signatures
 * from the checker's syntax tree (check/check.h).
 */
#ifndef STI_KERNEL_SIGNATURE_H
#define STI_KERNEL_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The name of the extra parameter of an instrumented kernel (checked.h), which passes its slots and its block. Names of
 * a user's parameters cannot begin with sti_.
 */
#define STI_WATCH "sti_watch"

enum { STI_MAX_PARAMS = 48, STI_MAX_NAME = 64 };

typedef enum sti_kernel_kind { STI_KERNEL_WORLD, STI_KERNEL_ITEM } sti_kernel_kind;

/*
 * The types of parameters: name in the language, whether it is an array of worlds (blocked by the lane width),
 * enumerator. `real` and `lint` are arrays of worlds in world kernels; `wreal` and `wint` are the same arrays seen from
 * item kernels. `treal`, `tlint` and `tint` are memory of a team, whose size the launch passes as an integer.
 */
#define STI_PARAM_TYPES(X)                                                                                             \
    X(real, true, REAL)                                                                                                \
    X(lint, true, LINT)                                                                                                \
    X(wreal, true, WREAL)                                                                                              \
    X(wint, true, WINT)                                                                                                \
    X(treal, false, TREAL)                                                                                             \
    X(tlint, false, TLINT)                                                                                             \
    X(tint, false, TINT)                                                                                               \
    X(ureal, false, UREAL)                                                                                             \
    X(int, false, INT)                                                                                                 \
    X(i64, false, I64)                                                                                                 \
    X(u32, false, U32)                                                                                                 \
    X(u16, false, U16)                                                                                                 \
    X(u8, false, U8)

typedef enum sti_param_type {
#define STI_PARAM_ENUM(name, worlds, tag) STI_PARAM_##tag,
    STI_PARAM_TYPES(STI_PARAM_ENUM)
#undef STI_PARAM_ENUM
        STI_PARAM_TYPE_COUNT
} sti_param_type;

typedef struct sti_param {
    char name[STI_MAX_NAME];
    sti_param_type type;
    bool pointer;
    bool written; /* a pointer that is not const */
    bool index;   /* `int world`, `int block` or STI_WATCH: the launch supplies it, not the caller */
} sti_param;

typedef struct sti_signature {
    char name[STI_MAX_NAME];
    sti_kernel_kind kind;
    int nparam;
    sti_param param[STI_MAX_PARAMS + 1]; /* the last one is for checked mode (checked.h) */
    int line;                            /* of the kernel's name in the text, from 1 */
} sti_signature;

/*
 * Finds the next kernel at or after *cursor in a zero-terminated text. Returns 1, fills out and moves *cursor past the
 * parameters; 0 at the end of the text; -1 on an error, with a sentence in message and the line in out->line.
 */
int sti_signature_next(const char *text, size_t *cursor, sti_signature *out, char *message, size_t message_size);

const char *sti_param_type_name(sti_param_type type);
bool sti_param_type_worlds(sti_param_type type);
static inline bool sti_param_type_team(sti_param_type type)
{
    return type == STI_PARAM_TREAL || type == STI_PARAM_TLINT || type == STI_PARAM_TINT;
}
/* A bit for each slot of a launch that is memory of a team. */
uint64_t sti_team_slots(const sti_param *param, int nparam);

#endif
