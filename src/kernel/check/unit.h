/*
 * The unit, which all parts of the checker share: its memory, its table of names, places in the source, diagnostics.
 *
 * Invariants:
 *   UNIT-1  equal names are one sti_name, so names are compared by address
 *   UNIT-2  a function that gets no memory returns at once. `failed` records it, and the check ends with
 *       STET_ERROR_OUT_OF_MEMORY
 */
#ifndef STI_KERNEL_CHECK_UNIT_H
#define STI_KERNEL_CHECK_UNIT_H

#include "base/arena.h"
#include "kernel/check/check.h"
#include "kernel/check/words.inl"

enum { STI_CHECK_FILES = 128, STI_CHECK_BUCKETS = 1024 };

typedef enum sti_word {
    STI_WORD_NONE,
#define STI_WORD_ENUM(word, tag) STI_WORD_##tag,
    STI_TYPE_WORDS(STI_WORD_ENUM) STI_WORDS(STI_WORD_ENUM)
#undef STI_WORD_ENUM
        STI_WORD_REFUSED
} sti_word;

typedef struct sti_source_place {
    uint32_t line;
    uint16_t column, file; /* `file`: its number in the unit */
} sti_source_place;

struct sti_macro;
struct sti_symbol;
struct sti_structure;

typedef struct sti_name {
    const char *text;
    const char *shown; /* in messages, if not the text: the field of a bundle (bundle.c) */
    uint32_t length;
    sti_word word;
    const char *advice;              /* of a refused word */
    struct sti_macro *macro;         /* its macro while tokens are read */
    struct sti_symbol *symbol;       /* its meaning at this point of the source */
    struct sti_structure *structure; /* the type of this name */
    struct sti_name *next;           /* next in its bucket */
} sti_name;

struct sti_node;

struct sti_unit {
    sti_arena arena;
    char *piece; /* bytes left of the current block of the arena */
    size_t left;
    bool failed;
    sti_check_options options;
    const char *file[STI_CHECK_FILES]; /* the files' names for messages */
    int nfile;
    sti_name *bucket[STI_CHECK_BUCKETS];
    sti_diagnostic *first;
    int nmistake;
    struct sti_node *top; /* definitions, in order */
};

/* Allocates zeroed memory that lives as long as the unit. NULL: there is none (UNIT-2). */
void *sti_unit_alloc(sti_unit *u, size_t size);
/* Makes room for one more item in *items, which has `count` items of `size` bytes. False: no memory. */
bool sti_unit_grow(sti_unit *u, void *items, size_t count, size_t *capacity, size_t size);
sti_name *sti_unit_name(sti_unit *u, const char *text, size_t length);
/* NULL: the name does not occur. */
sti_name *sti_unit_find(const sti_unit *u, const char *text, size_t length);
const char *sti_unit_copy(sti_unit *u, const char *text);

/* Reports a mistake at a place of the source: one sentence with what is wrong and what is wanted. */
void sti_report_mistake(sti_unit *u, sti_source_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
