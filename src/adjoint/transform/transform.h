/*
 * One transformation of a unit into the adjoints of its functions: what its parts share.
 *
 * The adjoint of a list of statements runs them (forward), then goes through them from the last to the first (reverse). A statement that
 * holds others (if, for, each, a block) is a region: reverse comes to it with all variables as they were before it, and runs the
 * adjoint of its body, forward part included. So nothing is kept of the inside of a region but what reverse needs to get into it, and
 * the tape of a loop nest is as deep as the sum of its trip counts, not as their product.
 *
 * Invariants:
 *   TRANSFORM-1  forward text and reverse text of one list stand in one scope of C, so reverse sees the list's own variables
 *   TRANSFORM-2  after the reverse of a statement all variables that anybody still needs are as they were before the statement
 *   TRANSFORM-3  a gradient is of lanes (`real`) also where its variable is plain: each lane has its own share, and no lane is added to another
 *   TRANSFORM-4  what cannot be followed is complained about at its place in the source; nothing is left out without a word
 */
#ifndef STI_ADJOINT_TRANSFORM_TRANSFORM_H
#define STI_ADJOINT_TRANSFORM_TRANSFORM_H

#include "adjoint/transform/adjoint.h"
#include "adjoint/transform/derivative.h"
#include "kernel/check/tree.h"

enum { STI_ADJOINT_BUCKETS = 256, STI_ADJOINT_CODES = 64, STI_ADJOINT_CHANGED = 64 };

/* What is known of a symbol. */
typedef struct sti_note {
    const sti_symbol *symbol;
    const char *gradient;  /* what its gradient is called; NULL: not asked for yet */
    bool active;           /* depends on something that has a gradient */
    bool needed;           /* some partial, address or condition takes its value */
    bool read;             /* memory: some element is read */
    bool overwritten;      /* memory: an element may be written after it was read */
    bool absent;           /* a parameter of a function: some caller has no gradient for it */
    bool stored, graded;   /* a kernel's array: its adjoint writes it, writes its gradient */
    bool given;            /* a function: its adjoint is the user's */
    bool made, made_items; /* a function: its adjoint has been written, for world kernels and for item kernels */
    bool wanted;           /* a function: some kernel gets to it */
    bool assigned;         /* a variable: not only where it is declared, or by the step of its loop */
    bool flag;             /* a variable of ours: it is 1 whenever its loop begins an iteration */
    unsigned taped;        /* a function: the parts of a tape that its adjoint takes, a bit each */
    const char *share;     /* within an each: the iteration's share of the gradient */
    const sti_node *loop;  /* a variable: the loop that declares it; its first value is not what it is */
    int slots;  /* a loop (by its node): slots of the tape an iteration, without the log's; an each: of shares */
    int listed; /* a loop or each (by its node): entries of the list that its body adds, without inner loops */
    int64_t stride, low, high, block; /* an array within an each: its elements belong to iterations, see team.c */
    int code;                         /* an array within an each: a word of sti_places; 0: there was no place yet */
    const char *
        sum; /* an array that an each reads at constant places: where the gradients of `nsum` of its elements, from `first` on, are */
    int64_t first; /* summed; NULL: nowhere */
    int nsum;
    bool summed; /* something was added there */
    struct sti_note *next;
} sti_note;

/* A part of the tape, by what it holds: lanes of reals, of whole numbers; plain reals, plain whole numbers. */
typedef enum sti_spill_kind {
    STI_SPILL_REAL,
    STI_SPILL_LINT,
    STI_SPILL_UREAL,
    STI_SPILL_INT,
    STI_SPILL_COUNT
} sti_spill_kind;
/* Beyond the parts: its end is looked for, and told of. */
enum { STI_SPILL_OVER = STI_SPILL_COUNT };

/* What is known of the places of an array within an each: any iteration may come to any; each has its own; they are constants, low … high, for all. */
typedef enum sti_places { STI_PLACES_SHARED = -1, STI_PLACES_OWN = -2, STI_PLACES_FIXED = -3 } sti_places;

typedef struct sti_transform {
    sti_unit *u;
    const sti_adjoint_options *options;
    sti_adjoint *result;
    sti_text_buffer out;    /* the text so far */
    sti_text_buffer before; /* what has to stand before it: adjoints of functions that it calls */
    int indent;
    unsigned serial; /* of names that are made */
    sti_note *note[STI_ADJOINT_BUCKETS];
    sti_note nothing; /* where memory is missing */
    sti_node *function;
    bool kernel;            /* it is a kernel */
    bool items;             /* it is an item kernel, or made for one */
    bool listing;           /* this each has a list of gradients */
    bool lists;             /* these items list gradients; this each lists some by lanes */
    bool unplanned;         /* what eaches list cannot have a plan (gather_plan.h) */
    bool logging;           /* what is run plainly notes what it overwrites */
    unsigned taped;         /* parts of the tape that its adjoint takes */
    const char *base, *end; /* of this each: variables with the slot where its tape begins, and where it ends */
    const char *here;       /* within items: the mask of the lanes that exist */
    int64_t most_items;     /* within items: there are no more of a block; 0: nobody knows */
    sti_node *each;         /* around this place */
    const sti_node *inner;  /* the innermost loop or each */
    size_t deeds; /* statements run plainly that do more than declare: where none came, what is around may go */
    int kept;     /* slots that the shares of this each take, or its count */
    int nlist;    /* eaches of this kernel that list gradients */
    int nplanned; /* arrays that they list gradients of */
    int ncode;    /* arrays that these items list gradients of */
    int nlogged;  /* arrays in the log of this function */
    const sti_symbol *planned[STI_ADJOINT_CODES];
    const sti_symbol *coded[STI_ADJOINT_CODES];
    const sti_symbol *logged[STI_ADJOINT_CODES];
} sti_transform;

/* ---- text.c ------------------------------------------------------------------------------------------------------- */

sti_note *sti_note_of(sti_transform *t, const sti_symbol *symbol);
/* A text in the unit's memory; "" without memory. */
const char *sti_say(sti_transform *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a text to another and frees it; if it failed, so has the other. */
void sti_take_text(sti_text_buffer *to, sti_text_buffer *from);
/* A line of the output. */
void sti_emit(sti_transform *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sti_open(sti_transform *t); /* the lines that follow are a level deeper */
void sti_close(sti_transform *t, const char *line);
/* stem_suffix */
const char *sti_joined(sti_transform *t, const char *stem, const char *suffix);
/* A name that the source does not have: stem, or stem and a number. */
const char *sti_fresh(sti_transform *t, const char *stem);
/* What the gradient of a variable, array or parameter is called at this place. */
const char *sti_gradient_name(sti_transform *t, const sti_symbol *symbol);
const char *sti_value(sti_transform *t, const sti_node *e);
/* A real value as lanes, and as an operand: closed where precedence might matter. */
const char *sti_lanes(sti_transform *t, const sti_node *e);
const char *sti_closed(sti_transform *t, const char *text);
/* "const real" and the like, as it stands in a declaration. */
const char *sti_type_word(sti_transform *t, const sti_type *type);

/* ---- build.c: nodes that no source has ---------------------------------------------------------------------------- */

sti_node *sti_build(sti_transform *t, sti_node_kind kind, sti_source_place place);
sti_symbol *sti_build_symbol(sti_transform *t, const char *stem, const sti_type *type, sti_source_place place);
sti_node *sti_build_name(sti_transform *t, sti_symbol *symbol, sti_source_place place);
sti_node *sti_build_number(sti_transform *t, int value, sti_source_place place);
/* symbol = value; */
sti_node *sti_build_assign(sti_transform *t, sti_symbol *symbol, sti_node *value);
/* type symbol = value; */
sti_node *sti_build_declare(sti_transform *t, sti_symbol *symbol, sti_node *value);
sti_node *sti_build_if(sti_transform *t, sti_node *test, sti_node *then);

/* ---- normal.c ----------------------------------------------------------------------------------------------------- */

/*
 * Brings a function's body to the form that the rest knows: one variable a declaration, plain assignments of reals, calls of the source's own
 * functions that return reals as whole values of a statement, no break, continue or return but one at the end.
 */
void sti_normalise(sti_transform *t, sti_node *f);
/*
 * Calls in an expression become first values of variables, declared before the statement at *at, which moves on behind them. `root`: the
 * expression itself may stay a call. hoist.c.
 */
void sti_take_out_calls(sti_transform *t, sti_node ***at, sti_node *e, bool root);

/*
 * After notes were taken: offsets of pointers become variables of their own where what they are made of changes later. True: there are such, and
 * notes have to be taken again. hoist.c.
 */
bool sti_fix_pointer_offsets(sti_transform *t, sti_node **list);

/* ---- inline.c ----------------------------------------------------------------------------------------------------- */

/* After the normal form of a kernel: its calls of functions that the adjoint cannot follow become their statements. */
void sti_put_in_calls(sti_transform *t, sti_node *kernel);
/* Statements once more: where they name `from` they name `to`, and what they declare has names of its own. NULL: no memory, or there were none. */
sti_node *sti_copy_body(sti_transform *t, const sti_node *body, const sti_symbol *from, sti_symbol *to);

/* ---- unroll.c ----------------------------------------------------------------------------------------------------- */

/* After notes were taken; true: some loop went, and notes have to be taken again. */
bool sti_unroll(sti_transform *t, sti_node *f);

/* ---- notes.c ------------------------------------------------------------------------------------------------------ */

/* Fills the notes of a function's symbols; of the functions that it calls they are filled. */
void sti_take_notes(sti_transform *t, sti_node *f);
/* Whether a real value depends on something that has a gradient. */
bool sti_active_value(sti_transform *t, const sti_node *e);
/* Whether a statement, with all in it, gives a value to something varied. */
bool sti_active_statement(sti_transform *t, const sti_node *n);
/* Whether the value of what a place belongs to is needed. */
bool sti_place_needed(sti_transform *t, const sti_node *place);
/* Whether the source writes anything that a place may belong to. */
bool sti_place_written(const sti_node *place);
bool sti_type_real(const sti_type *type);    /* real, ureal, wreal */
bool sti_type_carries(const sti_type *type); /* has reals in it: a real, an array, structure or pointer of such */
const sti_type *sti_type_element(const sti_type *type);
/* Whether a symbol occurs in a tree. */
bool sti_mentions(const sti_node *n, const sti_symbol *symbol);
/* A store of the language: which argument is the array; -1: it is none. */
int sti_store_of(const sti_node *call);
bool sti_is_array_symbol(const sti_symbol *s); /* memory that others see: a parameter's, shared */

/* Notes that the adjoint writes what a place belongs to, or its gradient. */
void sti_note_stored(sti_transform *t, const sti_node *place);
void sti_note_graded(sti_transform *t, const sti_node *place);
/* What a place belongs to, one of these if it may be several; NULL: nothing that is known. */
sti_symbol *sti_origin_of(const sti_node *place, bool *only);

/* ---- effects.c: what a statement changes of what was declared outside of it --------------------------------------- */

typedef struct sti_effects {
    sti_symbol *symbol[STI_ADJOINT_CHANGED]; /* variables, local arrays */
    int count;
    sti_symbol *array
        [STI_ADJOINT_CODES]; /* that others see, whose elements are overwritten after they were read: for the log */
    int narray;
} sti_effects;
/* Whether a statement declares a symbol, or something in it does. */
bool sti_declared_in(const sti_node *statement, const sti_symbol *symbol);
void sti_effects_of(sti_transform *t, const sti_node *statement, sti_effects *out);
/* Whether a variable or local array, declared outside and needed, may be another after a statement. */
bool sti_changes(sti_transform *t, const sti_node *statement, const sti_symbol *symbol);

/* ---- gradient.c: reverse of expressions --------------------------------------------------------------------------- */

/* Adds what the gradient `g` (lanes; a name or a closed text) of an expression's value is for its parts. */
void sti_reverse_value(sti_transform *t, const sti_node *e, const char *g);
/* The gradient of a place or pointer, as an expression of the same form. */
const char *sti_gradient_place(sti_transform *t, const sti_node *e);
/* Whether elements are reached through a pointer, so that put writes them: of a parameter, not of a local array. */
bool sti_through_pointer(const sti_node *place);
/* Declares the gradient of a variable, all zeros: "real x_grad = splat(0);". */
void sti_declare_gradient(sti_transform *t, const sti_symbol *symbol);
/* "real", or of a structure the structure of its gradients. */
const char *sti_gradient_type(sti_transform *t, const sti_type *type);
/* Adds to the gradient of a place. */
void sti_accumulate(sti_transform *t, const sti_node *place, const char *g);
/* The gradient of a place is taken away into a fresh variable, whose name is returned; the place's own becomes 0. */
const char *sti_take_gradient(sti_transform *t, const sti_node *place);

/* ---- call.c ------------------------------------------------------------------------------------------------------- */

/* The adjoint of a call of the source's own function; g: the gradient of its result, NULL: it has none. */
void sti_reverse_call(sti_transform *t, const sti_node *call, const char *g);
/* The adjoint of a call of the language's own function as a statement: a store. */
void sti_reverse_store(sti_transform *t, const sti_node *call);
/* Element `more` of those that load4 reads. */
sti_node *sti_loaded_element(sti_transform *t, const sti_node *call, int more);
/* Element `more` of those that a store writes, as a place: put4 and load4 write four. */
sti_node *sti_stored_element(sti_transform *t, const sti_node *call, int more);

/* ---- run_again.c -------------------------------------------------------------------------------------------------------- */

/* A call of the source's own function. */
bool sti_is_own_call(const sti_node *e);
/* What is not needed is left out. */
void sti_run_declaration(sti_transform *t, const sti_node *variable);
void sti_run_expression(sti_transform *t, const sti_node *e);
void sti_run_block(sti_transform *t, const sti_node *block);
void sti_run_statement(sti_transform *t, const sti_node *n);
/* "for (…; …; …) {" */
const char *sti_for_text(sti_transform *t, const sti_node *n);

/* ---- region.c ----------------------------------------------------------------------------------------------------- */

/* Whether nothing comes after a statement in its list. */
bool sti_last_of_list(const sti_node *n);
/* Forward and reverse of a list, in the scope that is open. */
void sti_adjoint_list(sti_transform *t, sti_node *list);

/* All of a value to another place. */
void sti_copy(sti_transform *t, const char *to, const char *from, const sti_type *type);
/* ---- spill.c: what reverse needs from inside of loops -------------------------------------------------------------- */

/* Which part of the tape holds a type; -1: it is no number. */
int sti_spill_of(const sti_type *type);
/* Slots that a value takes; each slot has room for one number of each part. */
typedef struct sti_slots {
    int used[STI_SPILL_COUNT];
} sti_slots;
/* A statement that writes `value` to a slot, and the text of what is there. */
void sti_spill_put(sti_transform *t, sti_spill_kind part, const char *at, const char *value);
const char *sti_spill_get(sti_transform *t, sti_spill_kind part, const char *at);
/* Writes a value, all its numbers, to the slots from `top` on, or reads it back; counts in `slots`. */
void sti_spill_copy(sti_transform *t, const char *place, const sti_type *type, bool back, sti_slots *slots);
/* Adds what `times` values of a type take. */
void sti_spill_count(const sti_type *type, int64_t times, sti_slots *slots);
int sti_slots_count(const sti_slots *slots);
/* How an adjoint's tape is declared, in a kernel and in a function, and passed on. */
const char *sti_spill_parameters(sti_transform *t, bool kernel);
const char *sti_spill_arguments(sti_transform *t, unsigned used);
/* What a flag says: the line of the loop, and the file's number in the unit above STI_MARK_LINES of them. */
static inline unsigned sti_mark_of(sti_source_place place)
{
    return place.line % STI_MARK_LINES + place.file * STI_MARK_LINES;
}
/* The tape of this thread or iteration, from that of all: in a kernel, first in a scope. `column`: "0" or an each's variable. */
void sti_spill_begin(sti_transform *t, const char *column);

/* ---- uniform.c: plans of what is listed (gather_plan.h) ----------------------------------------------------------- */

/* Whether what a kernel's iterations list may follow from plain whole numbers alone. */
bool sti_lists_uniformly(const sti_node *kernel);
/* The number of an array in plans; it is listed. */
int sti_planned_array(sti_transform *t, const sti_symbol *array);
/* Adds up by the plan, instead of the list. */
void sti_add_planned(sti_transform *t);

/* ---- select_pointer.c ----------------------------------------------------------------------------------------------------- */

/* Whether an expression means the same wherever its names are known. */
bool sti_is_fixed(sti_transform *t, const sti_node *e);
/* Adds to an element behind a pointer that chooses: if (…) of one array, else of the other. */
void sti_accumulate_selected(sti_transform *t, const sti_node *place, const char *g);

/* ---- team_log.c: what the whole team overwrites ------------------------------------------------------------------- */

/* Whether an each notes something when it is run with a log. */
bool sti_each_logs(sti_transform *t, const sti_node *each);
/* Runs an each plainly, with a log. */
void sti_team_log_each(sti_transform *t, const sti_node *n);
/* Takes back all that eaches noted above a mark. */
void sti_team_log_undo(sti_transform *t, const sti_effects *effects, const char *mark);
/* Slots of the team's log beyond those of its iterations. */
enum { STI_TEAM_LOG_SLOTS = 3 };

/* ---- log.c -------------------------------------------------------------------------------------------------------- */

/* Before an expression statement that is run plainly: notes what it overwrites, where that is asked for. */
void sti_log_write(sti_transform *t, const sti_node *e);
/* Entries that this takes. */
int sti_log_entries(sti_transform *t, const sti_node *e);
/* Takes back the entry below `top`. */
void sti_log_undo_entry(sti_transform *t, const sti_effects *effects);
/* Takes back all entries above a mark (a variable that holds what `top` was). */
void sti_log_undo(sti_transform *t, const sti_effects *effects, const char *mark);

/* ---- loop.c ------------------------------------------------------------------------------------------------------- */

/* for (int i = from; i < to; i += step): what a loop with a variable of its own that nobody else assigns counts. */
typedef struct sti_counted {
    const sti_symbol *variable;
    const sti_node *from, *to;
    int64_t step;         /* below 0: downwards */
    bool included;        /* <= or >= */
    bool early;           /* may end before, by a break or another condition */
    const sti_node *flag; /* the variable of that break, or NULL */
} sti_counted;
bool sti_count_loop(sti_transform *t, const sti_node *n, sti_counted *out);
/* Its trips where they are constant; -1: they are not. */
int64_t sti_constant_trips(sti_transform *t, const sti_counted *c);
/* The least and the greatest value of its variable in an iteration, where they are constant and there is one. */
bool sti_loop_range(sti_transform *t, const sti_counted *c, int64_t *low, int64_t *high);
/* Whether nothing in an expression of whole numbers changes while a loop runs. */
bool sti_stable(sti_transform *t, const sti_node *loop, const sti_node *e);

void sti_adjoint_for(sti_transform *t, sti_node *n);

/* ---- disjoint.c --------------------------------------------------------------------------------------------------- */

/* Whether all that a loop changes are elements that only one of its iterations touches. */
bool sti_disjoint(sti_transform *t, const sti_node *loop, const sti_counted *c, const sti_effects *changed);

/* ---- team.c ------------------------------------------------------------------------------------------------------- */

/* Whether all threads of a team are here together. */
bool sti_team_level(const sti_transform *t);
/* Adds to an element of a gradient that several iterations may add to; false: no care is needed here. */
/*
 * What an each's own elements are: stride * (its variable) + something from low to high; of a place, or of a pointer. In an item kernel also
 * so many times the block's number, and the lane's.
 */
typedef struct sti_linear {
    int64_t stride, low, high, block, lane;
} sti_linear;
/* Whether a type has room for any index: narrower ones can make two equal. */
bool sti_saves_index(const sti_type *type);
bool sti_linear_of_value(sti_transform *t, const sti_node *e, sti_linear *out);
bool sti_linear_of_place(sti_transform *t, const sti_node *place, sti_linear *out);
/* Whether a place or pointer lies between two constants of its array, whatever the variables are. */
bool sti_constant_range(sti_transform *t, const sti_node *place, int64_t *low, int64_t *high);
/* Looks at all places below n, in an each, for what follows. */
void sti_note_places(sti_transform *t, const sti_node *n);
/* Whether all elements of an array that this each touches belong to one iteration each. */
bool sti_team_owns(sti_transform *t, const sti_symbol *array);
/* Offset of a pointer in its array, as a text; complains where it is not followed. */
const char *sti_offset_of(sti_transform *t, const sti_node *e);
/* In the adjoint's text: whether entries wait in the list. Else iterations run in their order, and an entry is added at once. */
#define STI_TEAM_LISTS "STET_GPU || STET_PERMUTE"
/* Around the two ways of an entry: "… } else { …", the list's and the one that adds at once. */
void sti_team_open_entry(sti_transform *t);
void sti_team_close_entry(sti_transform *t, sti_source_place place);
/* The number of iterations that have room on the tape, as a text: before a scope that uses columns. `slots`: that each of them needs in any case. */
const char *sti_team_count(sti_transform *t, const sti_node *each, int slots);
/* What this iteration has listed for a place that it wrote itself is that write's: it goes to `g`. */
void sti_team_take_listed(sti_transform *t, const sti_node *place, const char *g);
bool sti_team_accumulate(sti_transform *t, const sti_node *place, const char *array, const char *index, const char *g);

/* team_shares.c: variables and local arrays from outside of an each whose gradients its iterations add to. */
typedef struct sti_shares {
    sti_symbol *symbol[STI_ADJOINT_CODES];
    int count;
} sti_shares;
void sti_find_shares(sti_transform *t, const sti_node *n, sti_shares *out);
/* Slots that they take. */
int64_t sti_count_shares(const sti_shares *shares);
/* Around an iteration: its shares begin with 0; they go to the tape. */
void sti_open_shares(sti_transform *t, const sti_shares *shares);
void sti_close_shares(sti_transform *t, const sti_shares *shares);
/* Adds up those of all iterations. */
void sti_add_shares(sti_transform *t, const sti_shares *shares, const char *count);

/* Arrays have no numbers in lists any more. */
void sti_forget_codes(sti_transform *t);
void sti_adjoint_each(sti_transform *t, sti_node *n);

/* ---- sums.c ------------------------------------------------------------------------------------------------------- */

/* sti_adjoint_each, with sums of gradients at constant places around it. */
void sti_adjoint_summed_each(sti_transform *t, sti_node *each);
/* Where iterations run one after the other: an element's gradient grows; false: it is in no such sum. */
bool sti_sum_add(sti_transform *t, const sti_symbol *array, const char *index, const char *more);

/* ---- lanes.c ------------------------------------------------------------------------------------------------------ */

/* A function that adjoints of kernels call, where lanes read different places. */
void sti_lane_helpers(sti_transform *t);
/* load or gather. */
bool sti_lane_read(const sti_node *e);
void sti_lane_reverse_read(sti_transform *t, const sti_node *call, const char *g);
/* Which elements its lanes read, in all lanes that there may be. */
bool sti_linear_of_lanes(sti_transform *t, const sti_node *call, sti_linear *out);

/* ---- items.c ------------------------------------------------------------------------------------------------------ */

struct sti_step;
/* Functions that adjoints of item kernels call. */
void sti_item_helpers(sti_transform *t);
/* First in the adjoint of an item kernel, after its body is made. */
void sti_item_begin(sti_transform *t);
/* Adds to an element of a kernel's array; false: it is none of an item kernel. */
bool sti_item_accumulate(sti_transform *t, const sti_node *place, const char *g);
/* The adjoint of load, gather, of_world; of a store; what a store overwrites is kept. */
void sti_item_reverse_read(sti_transform *t, const sti_node *call, const char *g);
void sti_item_reverse_store(sti_transform *t, const sti_node *call);
void sti_item_save(sti_transform *t, struct sti_step *s, const sti_node *call);
void sti_adjoint_items(sti_transform *t, sti_node *n);

/* ---- window.c ----------------------------------------------------------------------------------------------------- */

/* Elements that a function touches of the array that a parameter points to; false: nobody knows. */
typedef struct sti_window {
    int64_t low, high;
} sti_window;
bool sti_window_of(sti_transform *t, const sti_symbol *parameter, const sti_symbol *function, sti_window *out);

/* ---- function.c --------------------------------------------------------------------------------------------------- */

/* Writes the adjoint of a kernel, with its entry in the result. */
void sti_adjoint_kernel_of(sti_transform *t, sti_node *f);
/* Writes the adjoint of a function before all that is being written, if it is not there yet. */
void sti_adjoint_function(sti_transform *t, sti_node *f);
/* Whether the source has an adjoint of a function, which is then the user's; complains if it takes other parameters. */
bool sti_given_adjoint(sti_transform *t, const sti_node *f);
/* "typedef struct … s_grad;" for each structure that has reals. */
void sti_gradient_structures(sti_transform *t);

#endif
