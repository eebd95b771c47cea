/*
 * The state of a transformation, and its notes: what it knows about symbols, functions, loops and accesses.
 *
 * Each part of the folder sees this. The text that is written (tree/text.h) and the states of tapes, eaches and items
 * (transform/transform.h) are behind pointers, and only files that use them include their headers.
 */
#ifndef STI_ADJOINT_TREE_STATE_H
#define STI_ADJOINT_TREE_STATE_H

#include "kernel/check/tree.h"
#include "kernel/check/unit.h"

/* The most arrays in a list or log, and the most variables that change within one statement. */
enum { STI_ADJOINT_CODES = 64, STI_ADJOINT_CHANGED = 64 };

/* ---- notes ------------------------------------------------------------------------------------------------------- */

/* A variable, parameter or array. */
typedef struct sti_note {
    const char *gradient; /* the name of its gradient; NULL: not needed so far */
    const char *share;    /* within an each: the iteration's share of the gradient */
    const sti_node *loop; /* the loop that declares it; its value changes from its first one */
    bool constant;        /* a kernel's parameter that is declared constant: it gets no gradient */
    bool active;          /* depends on something that has a gradient */
    bool needed;          /* a partial derivative, address or condition uses its value */
    bool read;            /* memory: an element is read */
    bool overwritten;     /* memory: an element may be written after it was read */
    bool absent;          /* a parameter of a function: some caller has no gradient for it */
    bool stored, graded;  /* a kernel's array: its adjoint writes it, writes its gradient */
    bool passed;          /* its address goes to a called function or a pointer */
    bool assigned;        /* it is assigned outside of its declaration and its loop's step */
    bool flag;            /* a generated variable: it is 1 whenever its loop begins an iteration */
} sti_note;

typedef struct sti_function_note {
    bool given;            /* the source itself has its adjoint */
    bool made, made_items; /* its adjoint was written, for world kernels and for item kernels */
    bool wanted;           /* a kernel calls it, directly or through others */
    unsigned taped;        /* the kinds of spill memory that its adjoint takes, a bit each */
} sti_function_note;

/* A loop, each or items. */
typedef struct sti_region_note {
    int slots;  /* a loop: tape slots of an iteration, without the log's. An each: of its shares */
    int listed; /* entries that its body lists, without inner loops */
} sti_region_note;

/*
 * Where an each, or items, access an array. KNOWN: at places that stride, low, high and block describe, and each
 * iteration has its own elements. SHARED: any iteration may access any element. FIXED: all access constant places,
 * low … high.
 */
typedef enum sti_places { STI_PLACES_NONE, STI_PLACES_OWN, STI_PLACES_FIXED, STI_PLACES_SHARED } sti_places;

/* An array within an each or items. */
typedef struct sti_access_note {
    sti_places places;
    int64_t stride, low, high, block;
    /* The sums of gradients of its elements first … first + nsum - 1, where it is FIXED. NULL: there are none. */
    const char *sum;
    int64_t first;
    int nsum;
    bool summed; /* something was added to `sum` */
} sti_access_note;

typedef struct sti_notes sti_notes;

/* ---- the state --------------------------------------------------------------------------------------------------- */

typedef struct sti_transform {
    sti_unit *u;
    sti_notes *notes;
    sti_node *function; /* whose adjoint is made */
    bool kernel;        /* the function is a kernel */
    bool items;         /* the function is an item kernel, or is made for one */
    sti_node *each;     /* the each or items around this place */
    /* Statements that run plainly log what they overwrite in these arrays; NULL: they log nothing. */
    const struct sti_effects *log;
    struct sti_text_output *output; /* the text: tree/text.h */
    struct sti_tape_state *tape;    /* transform/transform.h, as the next ones */
    struct sti_list_state *list;
    struct sti_item_state *item;
} sti_transform;

/*
 * The note of a symbol, function, region or access; all zero if there was none. Never NULL: if memory runs out, a note
 * that is shared.
 */
sti_note *sti_note_of(sti_transform *t, const sti_symbol *symbol);
sti_function_note *sti_function_note_of(sti_transform *t, const sti_symbol *function);
sti_region_note *sti_region_note_of(sti_transform *t, const sti_node *region);
sti_access_note *sti_access_note_of(sti_transform *t, const sti_symbol *array);
/* Empties all notes of accesses: another each begins. */
void sti_forget_accesses(sti_transform *t);
/* Makes the table of notes in the unit's memory. NULL: there is no memory. */
sti_notes *sti_notes_make(sti_unit *u);

#endif
