/*
 * What a function's statements do: which values have gradients and are needed, what is overwritten, how loops count,
 * which elements iterations touch. The results are in the notes (tree/state.h).
 *
 * Activity and need are iterated over all statements until nothing changes, so the order of statements does not matter.
 */
#ifndef STI_ADJOINT_ANALYSIS_ANALYSIS_H
#define STI_ADJOINT_ANALYSIS_ANALYSIS_H

#include "adjoint/tree/build.h"
#include "adjoint/tree/place.h"

/* ---- notes.c ----------------------------------------------------------------------------------------------------- */

/* Fills the notes of a function's symbols. Those of the functions that it calls must be filled. */
void sti_take_notes(sti_transform *t, sti_node *f);
/* ---- active.c ---------------------------------------------------------------------------------------------------- */

/* True if a real value depends on something that has a gradient. */
bool sti_active_value(sti_transform *t, const sti_node *e);
/* True if a statement, or one inside of it, gives a value to an active symbol. */
bool sti_active_statement(sti_transform *t, const sti_node *n);
void sti_vary_parameters(sti_transform *t, const sti_node *f);
/* One round over the statements. Returns true if a note is new. */
bool sti_vary(sti_transform *t, const sti_node *n);

/* ---- needed.c, order.c ------------------------------------------------------------------------------------------- */

/* One round over the statements. Returns true if a note is new. */
bool sti_need_statement(sti_transform *t, const sti_node *n);
/* Fills `overwritten` of a function's array parameters and shared arrays. */
void sti_note_order(sti_transform *t, const sti_node *f);

/* ---- effects.c: what a statement changes of what is declared outside of it --------------------------------------- */

typedef struct sti_effects {
    sti_symbol *symbol[STI_ADJOINT_CHANGED]; /* variables, local arrays */
    int count;
    /* Arrays that other threads see and whose elements are overwritten after they were read; for the log. */
    sti_symbol *array[STI_ADJOINT_CODES];
    int narray;
} sti_effects;
void sti_effects_of(sti_transform *t, const sti_node *statement, sti_effects *out);
/* True if a needed variable or local array from outside may have another value after a statement. */
bool sti_changes(sti_transform *t, const sti_node *statement, const sti_symbol *symbol);
/* True if an array's elements are logged before they are overwritten: by t->log, or by any log if that is NULL. */
bool sti_is_logged(sti_transform *t, const sti_symbol *array);
/* The number of elements that an expression statement logs, and whether an each logs any. */
int sti_log_entries(sti_transform *t, const sti_node *e);
bool sti_each_logs(sti_transform *t, const sti_node *each);
/* Slots of the team's log beyond those of its iterations. */
enum { STI_TEAM_LOG_SLOTS = 3 };

/* ---- counted.c: loops -------------------------------------------------------------------------------------------- */

/* A counted loop: for (int i = from; i < to; i += step), with a variable of its own that nothing else assigns. */
typedef struct sti_counted {
    const sti_symbol *variable;
    const sti_node *from, *to;
    int64_t step;         /* below 0: downwards */
    bool included;        /* <= or >= */
    bool early;           /* it may end early, by a break or another condition */
    const sti_node *flag; /* the variable of that break, or NULL */
} sti_counted;
bool sti_count_loop(sti_transform *t, const sti_node *n, sti_counted *out);
/* The number of trips if it is constant, else -1. */
int64_t sti_constant_trips(sti_transform *t, const sti_counted *c);
/* The range of its variable within an iteration. Returns false if it is not constant, or if there is no iteration. */
bool sti_loop_range(sti_transform *t, const sti_counted *c, int64_t *low, int64_t *high);
/* True if an expression of whole numbers does not change while a loop runs. */
bool sti_stable(sti_transform *t, const sti_node *loop, const sti_node *e);
/* True if an expression has the same value wherever its names are known. */
bool sti_is_fixed(sti_transform *t, const sti_node *e);

/* ---- affine.c: indices ------------------------------------------------------------------------------------------- */

enum { STI_AFFINE_TERMS = 16 };

/*
 * An index: stride * (the variable) + block * (the block's number) + lane * (the lane's number) + the terms, which do
 * not change, + a number from low to high.
 */
typedef struct sti_affine {
    int64_t stride, block, lane, low, high;
    int nterm;
    struct {
        const char *text; /* equal for equal expressions */
        int64_t times;
    } term[STI_AFFINE_TERMS];
} sti_affine;

/*
 * Which variable is counted, and what may be a term. Without a loop: nothing, and names have the values of their
 * declarations. With a loop: what does not change while it runs. `texts`: every expression, by its text.
 */
typedef struct sti_affine_rules {
    sti_transform *t;
    const sti_symbol *variable; /* NULL: none */
    const sti_node *loop;       /* NULL: none */
    const sti_symbol *array;    /* with a loop: the array whose elements are looked at */
    bool texts;
} sti_affine_rules;

/* Add times * e, or the offset of a pointer in its array. False: unknown, and *out is undefined. */
bool sti_affine_add(const sti_affine_rules *r, const sti_node *e, int64_t times, sti_affine *out);
bool sti_affine_add_pointer(const sti_affine_rules *r, const sti_node *e, sti_affine *out);
/* The offset of an element or pointer in its array. */
bool sti_affine_add_place(const sti_affine_rules *r, const sti_node *place, sti_affine *out);
bool sti_affine_same_terms(const sti_affine *a, const sti_affine *b);
/* The rules within the current each or items. */
sti_affine_rules sti_affine_each(sti_transform *t);
/* Finds constant limits of a place or pointer in its array, for all values of the variables. False: there are none. */
bool sti_constant_range(sti_transform *t, const sti_node *place, int64_t *low, int64_t *high);

/* ---- window.c, ownership.c, disjoint.c, overlap.c: which elements ------------------------------------------------ */

/* The range of elements that a function touches of the array behind a parameter. False: unknown. */
typedef struct sti_window {
    int64_t low, high;
} sti_window;
bool sti_window_of(sti_transform *t, const sti_symbol *parameter, const sti_symbol *function, sti_window *out);

/* Notes where the current each accesses arrays (sti_access_note). */
void sti_note_accesses(sti_transform *t);
/* True if each element of an array that this each touches belongs to one iteration. */
bool sti_team_owns(sti_transform *t, const sti_symbol *array);

/* True if a loop changes only elements that just one of its iterations touches. */
bool sti_disjoint(sti_transform *t, const sti_node *loop, const sti_counted *c, const sti_effects *changed);

/* Refuses pointers that are assigned. Called for a function as its source has it. */
void sti_refuse_moving_pointers(sti_transform *t, const sti_node *f);
/*
 * Refuses a call whose arguments may overlap, if its adjoint is to be written. Not called for calls that were inlined
 * (normalize/inline.c): there two names of one array are known to be the same array.
 */
void sti_refuse_overlaps(sti_transform *t, const sti_node *call);

/* ---- uniform.c --------------------------------------------------------------------------------------------------- */

/* True if the elements that a kernel's iterations list depend on plain whole numbers only (launch/gather_plan.h). */
bool sti_lists_uniformly(const sti_node *kernel);

#endif
