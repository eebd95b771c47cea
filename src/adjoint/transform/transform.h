/*
 * The adjoints of functions: the declarations that the files of this folder share.
 *
 * The adjoint of a list of statements runs the statements (forward), then goes through them from the last to the first
 * (reverse). A statement that contains others (if, for, each, a block) is a region. When reverse reaches a region, all
 * variables are as they were before it, and reverse runs the adjoint of its body, forward part included. So nothing
 * inside of a region is saved except what reverse needs to enter it, and the tape of a loop nest is as deep as the sum
 * of its trip counts, not as their product.
 *
 * Invariants:
 *   TRANSFORM-1  the forward and the reverse text of one list are in one scope of C, so reverse sees the list's own
 *       variables
 *   TRANSFORM-2  after the reverse of a statement all variables that are still needed are as they were before the
 *       statement
 *   TRANSFORM-3  a gradient has lanes (`real`) even if its variable is plain: each lane has its own share, and no lane
 *       is added to another
 *   TRANSFORM-4  code that cannot be differentiated is reported at its place in the source. Nothing is left out
 *       silently
 *   TRANSFORM-5  a gradient of 0 gives its parts gradients of 0, whatever the partial derivative is
 */
#ifndef STI_ADJOINT_TRANSFORM_TRANSFORM_H
#define STI_ADJOINT_TRANSFORM_TRANSFORM_H

#include "adjoint/analysis/analysis.h"
#include "adjoint/transform/adjoint.h"
#include "adjoint/tree/build.h"
#include "adjoint/tree/derivative.h"
#include "adjoint/tree/text.h"

/* ---- the state --------------------------------------------------------------------------------------------------- */

/* The kinds of spill memory of the tape: lanes of reals, lanes of whole numbers, plain reals, plain whole numbers. */
typedef enum sti_spill_kind {
    STI_SPILL_REAL,
    STI_SPILL_LINT,
    STI_SPILL_UREAL,
    STI_SPILL_INT,
    STI_SPILL_COUNT
} sti_spill_kind;
/* One more bit beyond the kinds: overflow of the tape is checked and reported. */
enum { STI_SPILL_OVER = STI_SPILL_COUNT };

/* The tape of the function whose adjoint is written. */
typedef struct sti_tape_state {
    unsigned taped;        /* the kinds of spill memory that the adjoint takes, a bit each */
    const sti_node *inner; /* the innermost loop or each around this place */
    /* Statements that ran plainly and do more than declare. If none was added, the region around can be removed. */
    size_t deeds;
    const sti_symbol *logged[STI_ADJOINT_CODES]; /* the arrays in the log */
    int nlogged;
} sti_tape_state;

/* The list of gradients of the current each, and the plan for those of its kernel. */
typedef struct sti_list_state {
    bool listing;           /* the each has a list */
    bool by_lanes;          /* it lists some entries by lanes */
    const char *base, *end; /* variables: the slots where the each's tape begins and ends */
    int kept;               /* slots that the shares of the each take, or its count */
    bool unplanned;         /* the lists of the kernel cannot have a plan (launch/gather_plan.h) */
    int nlist;              /* eaches of the kernel that list gradients */
    const sti_symbol *planned[STI_ADJOINT_CODES]; /* the arrays whose gradients they list */
    int nplanned;
} sti_list_state;

/* The current items. */
typedef struct sti_item_state {
    const char *here;                           /* the mask of the lanes that exist */
    int64_t most_items;                         /* the most items of a block; 0: unknown */
    bool lists;                                 /* they list gradients */
    const sti_symbol *coded[STI_ADJOINT_CODES]; /* the arrays whose gradients they list */
    int ncode;
} sti_item_state;

/*
 * All of the state; `t` points to the other parts. The adjoint of a called function is written with a state of its
 * own.
 */
typedef struct sti_making {
    sti_transform t;
    sti_text_output output;
    sti_tape_state tape;
    sti_list_state list;
    sti_item_state item;
} sti_making;

/* ---- gradient.c: reverse of expressions -------------------------------------------------------------------------- */

/*
 * Adds to the gradients of an expression's parts. `g` is the gradient of its value, in lanes: a name or a closed text.
 */
void sti_reverse_value(sti_transform *t, const sti_node *e, const char *g);
/* The gradient of a place or pointer, as an expression of the same form. */
const char *sti_gradient_place(sti_transform *t, const sti_node *e);
/* Declares the gradient of a variable, all zeros: "real x_grad = splat(0);". */
void sti_declare_gradient(sti_transform *t, const sti_symbol *symbol);
/* "real", or of a structure the structure of its gradients. */
const char *sti_gradient_type(sti_transform *t, const sti_type *type);
/*
 * Adds the gradients of a value's numbers to others, one by one; `clear`: sets them to 0. `to`: NULL if there are none
 * to add to.
 */
void sti_add_numbers(sti_transform *t, const char *to, const char *from, const sti_type *type, bool clear);
/* Adds to the gradient of a place. */
void sti_accumulate(sti_transform *t, const sti_node *place, const char *g);
/* Adds to an element behind a pointer that selects one of two arrays: if (…) to one array, else to the other. */
void sti_accumulate_selected(sti_transform *t, const sti_node *place, const char *g);
/*
 * Moves the gradient of a place into a new variable, sets the place's gradient to 0, and returns the variable's name.
 */
const char *sti_take_gradient(sti_transform *t, const sti_node *place);

/* ---- call.c ------------------------------------------------------------------------------------------------------ */

/* Writes the adjoint of a call of the source's own function. g: the gradient of its result; NULL: it has none. */
void sti_reverse_call(sti_transform *t, const sti_node *call, const char *g);
/* Writes the adjoint of a call of the language's own function as a statement: a store. */
void sti_reverse_store(sti_transform *t, const sti_node *call);

/* ---- run_again.c ------------------------------------------------------------------------------------------------- */

/* These write statements once more, for the adjoint, and leave out what is not needed. */
void sti_run_declaration(sti_transform *t, const sti_node *variable);
void sti_run_expression(sti_transform *t, const sti_node *e);
void sti_run_block(sti_transform *t, const sti_node *block);
void sti_run_statement(sti_transform *t, const sti_node *n);
/* "shared(…);" or "staged(…);" */
void sti_declare_team_array(sti_transform *t, const sti_node *n);
/* "for (…; …; …) {" */
const char *sti_for_text(sti_transform *t, const sti_node *n);

/* ---- region.c ---------------------------------------------------------------------------------------------------- */

/* Writes forward and reverse of a list into the scope that is open. */
void sti_adjoint_list(sti_transform *t, sti_node *list);

/* ---- spill.c: what reverse needs from inside of loops ------------------------------------------------------------ */

/* The kind of spill memory that holds a type; -1: it is no number. */
int sti_spill_of(const sti_type *type);
/* Slots that a value takes. Each slot has room for one number of each kind. */
typedef struct sti_slots {
    int used[STI_SPILL_COUNT];
} sti_slots;
/* Writes the statement that stores `value` in a slot, and returns the text that reads the slot. */
void sti_spill_put(sti_transform *t, sti_spill_kind part, const char *at, const char *value);
const char *sti_spill_get(sti_transform *t, sti_spill_kind part, const char *at);
/*
 * Writes the statements that store a value, all its numbers, in the slots from `top` on, or (`back`) read it from
 * there. Counts in `slots`.
 */
void sti_spill_copy(sti_transform *t, const char *place, const sti_type *type, bool back, sti_slots *slots);
/* Adds what `times` values of a type take. */
void sti_spill_count(const sti_type *type, int64_t times, sti_slots *slots);
int sti_slots_count(const sti_slots *slots);
/* The text that declares an adjoint's tape, in a kernel or a function, and the text that passes it on. */
const char *sti_spill_parameters(sti_transform *t, bool kernel);
const char *sti_spill_arguments(sti_transform *t, unsigned used);
/* The value of an overflow flag: the loop's line, plus STI_MARK_LINES times the file's number in the unit. */
static inline unsigned sti_mark_of(sti_source_place place)
{
    return place.line % STI_MARK_LINES + place.file * STI_MARK_LINES;
}
/* Ends the text of "if (there is room) {" with an else that sets the overflow flag. */
void sti_else_overflow(sti_transform *t, sti_source_place place);
/*
 * Begins the use of the tape in a kernel: the part of this thread or iteration. First in a scope. `column`: "0" or an
 * each's variable.
 */
void sti_spill_begin(sti_transform *t, const char *column);

/* ---- log.c ------------------------------------------------------------------------------------------------------- */

/* Before an expression statement that runs plainly: logs what it overwrites, if logging is on. */
void sti_log_write(sti_transform *t, const sti_node *e);
/* Runs an each plainly, with a log. */
void sti_team_log_each(sti_transform *t, const sti_node *n);
/* Undoes all entries above a mark, a variable with an earlier value of `top`. */
void sti_log_undo(sti_transform *t, const sti_effects *effects, const char *mark);

/* ---- loop.c, team.c ---------------------------------------------------------------------------------------------- */

void sti_adjoint_for(sti_transform *t, sti_node *n);

/* True if all threads of a team reach this place together. */
bool sti_team_level(const sti_transform *t);
/*
 * In the adjoint's text: the condition under which entries are collected in the list. Otherwise iterations run in
 * order, and an entry is added at once.
 */
#define STI_TEAM_LISTS "STET_GPU || STET_PERMUTE"
/* Enclose the two versions of an entry, "… } else { …": for the list, and for adding at once. */
void sti_team_open_entry(sti_transform *t);
void sti_team_close_entry(sti_transform *t, sti_source_place place);
/*
 * Adds to `g` the gradients that this iteration has listed for a place that it wrote itself, and removes them from the
 * list.
 */
void sti_team_take_listed(sti_transform *t, const sti_node *place, const char *g);
/* Adds to an element of a gradient that several iterations may add to. False: a plain addition is enough. */
bool sti_team_accumulate(sti_transform *t, const sti_node *place, const char *array, const char *index, const char *g);

void sti_adjoint_each(sti_transform *t, sti_node *n);

/* team_shares.c: variables and local arrays from outside of an each to whose gradients its iterations add. */
typedef struct sti_shares {
    sti_symbol *symbol[STI_ADJOINT_CODES];
    int count;
} sti_shares;
void sti_find_shares(sti_transform *t, const sti_node *n, sti_shares *out);
/* What a pointer from outside of the current each points to, if that has shares. NULL: it has none. */
const sti_node *sti_pointed_share(sti_transform *t, const sti_node *name);
/* The slots that they take. */
int64_t sti_count_shares(const sti_shares *shares);
/* Enclose an iteration: its shares begin with 0, and they go to the tape at its end. */
void sti_open_shares(sti_transform *t, const sti_shares *shares);
void sti_close_shares(sti_transform *t, const sti_shares *shares);
/* Adds up the shares of all iterations. */
void sti_add_shares(sti_transform *t, const sti_shares *shares, const char *count);

/* ---- sums.c ------------------------------------------------------------------------------------------------------ */

/* sti_adjoint_each with sums of gradients at constant places around it. */
void sti_adjoint_summed_each(sti_transform *t, sti_node *each);
/* Where iterations run one after the other: adds to an element's sum. False: the element belongs to no such sum. */
bool sti_sum_add(sti_transform *t, const sti_symbol *array, const char *index, const char *more);

/* ---- lanes.c ----------------------------------------------------------------------------------------------------- */

/* Writes helper functions for adjoints of kernels whose lanes read different places. */
void sti_lane_helpers(sti_transform *t);
void sti_lane_reverse_read(sti_transform *t, const sti_node *call, const char *g);

/* ---- items.c ----------------------------------------------------------------------------------------------------- */

struct sti_step;
/* Writes helper functions for the adjoints of item kernels. */
void sti_item_helpers(sti_transform *t);
/* Writes the beginning of an item kernel's adjoint, after its body is made. */
void sti_item_begin(sti_transform *t);
/* Adds to an element of a kernel's array. False: the array is not an item kernel's. */
bool sti_item_accumulate(sti_transform *t, const sti_node *place, const char *g);
/* The adjoints of load, gather and of_world; of a store; and the code that saves what a store overwrites. */
void sti_item_reverse_read(sti_transform *t, const sti_node *call, const char *g);
void sti_item_reverse_store(sti_transform *t, const sti_node *call);
void sti_item_save(sti_transform *t, struct sti_step *s, const sti_node *call);
void sti_adjoint_items(sti_transform *t, sti_node *n);

/* ---- function.c -------------------------------------------------------------------------------------------------- */

/* Writes the adjoint of a kernel. NULL: that failed. */
sti_adjoint_kernel *sti_adjoint_kernel_of(sti_transform *t, sti_node *f);
/* Writes the adjoint of a function, before the text that is being written, unless it was written before. */
void sti_adjoint_function(sti_transform *t, sti_node *f);
/* True if the source itself has the adjoint of a function. Reports an error if its parameters differ. */
bool sti_given_adjoint(sti_transform *t, const sti_node *f);
/* Writes "typedef struct … s_grad;" for each structure that has reals. */
void sti_gradient_structures(sti_transform *t);

#endif
