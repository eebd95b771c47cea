/*
 * The transformation of a unit into the adjoints of its functions: the declarations that its parts share.
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

#include "adjoint/transform/adjoint.h"
#include "adjoint/transform/derivative.h"
#include "kernel/check/tree.h"

enum { STI_ADJOINT_BUCKETS = 256, STI_ADJOINT_CODES = 64, STI_ADJOINT_CHANGED = 64 };

/* What the transformation knows about a symbol. */
typedef struct sti_note {
    const sti_symbol *symbol;
    const char *gradient;  /* the name of its gradient; NULL: not needed so far */
    bool active;           /* depends on something that has a gradient */
    bool needed;           /* a partial derivative, address or condition uses its value */
    bool read;             /* memory: an element is read */
    bool overwritten;      /* memory: an element may be written after it was read */
    bool absent;           /* a parameter of a function: some caller has no gradient for it */
    bool stored, graded;   /* a kernel's array: its adjoint writes it, writes its gradient */
    bool given;            /* a function: the source itself has its adjoint */
    bool made, made_items; /* a function: its adjoint was written, for world kernels and for item kernels */
    bool wanted;           /* a function: a kernel calls it, directly or through others */
    bool passed;           /* a variable: its address goes to a called function or a pointer */
    bool assigned;         /* a variable: it is assigned outside of its declaration and its loop's step */
    bool flag;             /* a generated variable: it is 1 whenever its loop begins an iteration */
    unsigned taped;        /* a function: the kinds of spill memory that its adjoint takes, a bit each */
    const char *share;     /* within an each: the iteration's share of the gradient */
    const sti_node *loop;  /* a variable: the loop that declares it; its value changes from its first one */
    /* A loop (by its node): tape slots of an iteration, without the log's. An each: of its shares. */
    int slots;
    int listed; /* a loop or each (by its node): entries that its body lists, without inner loops */
    int64_t stride, low, high, block; /* an array within an each: which elements belong to an iteration, see team.c */
    int code;                         /* an array within an each: one of sti_places; 0: none so far */
    /*
     * An array that an each reads at constant places: the name of the sums of gradients of its elements first … first +
     * nsum - 1. NULL: there are none.
     */
    const char *sum;
    int64_t first; /* of `sum` */
    int nsum;
    bool summed; /* something was added to `sum` */
    struct sti_note *next;
} sti_note;

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

/*
 * Where an each accesses an array, if not at places that stride, low and high describe. SHARED: any iteration may
 * access any element. OWN: each iteration has its own elements. FIXED: all access constant places, low … high.
 */
typedef enum sti_places { STI_PLACES_SHARED = -1, STI_PLACES_OWN = -2, STI_PLACES_FIXED = -3 } sti_places;

typedef struct sti_transform {
    sti_unit *u;
    const sti_adjoint_options *options;
    sti_adjoint *result;
    sti_text_buffer out;    /* the text so far */
    sti_text_buffer before; /* the text that must come before it: adjoints of the functions that it calls */
    int indent;
    unsigned serial; /* number of the next generated name */
    sti_note *note[STI_ADJOINT_BUCKETS];
    sti_note nothing; /* used when memory runs out */
    sti_node *function;
    bool kernel;                   /* the function is a kernel */
    bool items;                    /* the function is an item kernel, or is made for one */
    bool listing;                  /* the current each has a list of gradients */
    bool lists;                    /* the current items list gradients; the current each lists some by lanes */
    bool unplanned;                /* the lists of the eaches cannot have a plan (gather_plan.h) */
    bool logging;                  /* statements that run plainly log what they overwrite */
    const struct sti_effects *log; /* while logging: for these arrays; others are declared inside of the statement */
    unsigned taped;                /* the kinds of spill memory that its adjoint takes */
    const char *base, *end;        /* variables of the current each: the slots where its tape begins and ends */
    const char *here;              /* within items: the mask of the lanes that exist */
    int64_t most_items;            /* within items: the most items of a block; 0: unknown */
    sti_node *each;                /* the each around this place */
    const sti_node *inner;         /* the innermost loop or each around this place */
    /*
     * Statements that were run plainly and do more than declare. If none was added, the region around can be removed.
     */
    size_t deeds;
    int kept;     /* slots that the shares of the current each take, or its count */
    int nlist;    /* eaches of this kernel that list gradients */
    int nplanned; /* arrays whose gradients they list */
    int ncode;    /* arrays whose gradients the current items list */
    int nlogged;  /* arrays in the log of this function */
    const sti_symbol *planned[STI_ADJOINT_CODES];
    const sti_symbol *coded[STI_ADJOINT_CODES];
    const sti_symbol *logged[STI_ADJOINT_CODES];
    const struct sti_held *held; /* local pointers that may be const */
} sti_transform;

/* ---- text.c ------------------------------------------------------------------------------------------------------ */

sti_note *sti_note_of(sti_transform *t, const sti_symbol *symbol);
/* Formats a text in the unit's memory. Returns "" if there is no memory. */
const char *sti_say(sti_transform *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends a text to another and frees it. A failure of `from` is passed on to `to`. */
void sti_take_text(sti_text_buffer *to, sti_text_buffer *from);
/*
 * The type of a local pointer, declared as writable for now. sti_settle_writable adds const in the end if no note says
 * that the adjoint stores through the pointer.
 */
const char *sti_writable(sti_transform *t, const sti_node *pointer, const char *word);
void sti_settle_writable(sti_transform *t, sti_text_buffer *body);
/*
 * Writes a line of the output. A line that ends with { indents those that follow, one that begins with } ends that.
 */
void sti_emit(sti_transform *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Begins a text of its own, `deeper` levels further in, and returns the outer text; sti_captured ends it, returns it and
 * goes on with the outer one.
 */
sti_text_buffer sti_capture(sti_transform *t, int deeper);
sti_text_buffer sti_captured(sti_transform *t, sti_text_buffer outer, int deeper);
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

/* ---- build.c: nodes that the source does not have ---------------------------------------------------------------- */

sti_node *sti_build(sti_transform *t, sti_node_kind kind, sti_source_place place);
sti_symbol *sti_build_symbol(sti_transform *t, const char *stem, const sti_type *type, sti_source_place place);
sti_node *sti_build_name(sti_transform *t, sti_symbol *symbol, sti_source_place place);
sti_node *sti_build_number(sti_transform *t, int value, sti_source_place place);
/* symbol = value; */
sti_node *sti_build_assign(sti_transform *t, sti_symbol *symbol, sti_node *value);
/* type symbol = value; */
sti_node *sti_build_declare(sti_transform *t, sti_symbol *symbol, sti_node *value);
sti_node *sti_build_if(sti_transform *t, sti_node *test, sti_node *then);

/* ---- normal.c ---------------------------------------------------------------------------------------------------- */

/*
 * Brings a function's body to normal form, which the rest relies on: one variable a declaration; plain assignments of
 * reals; calls of the source's own functions that return reals are whole values of a statement; no break or continue,
 * and no return except one at the end.
 */
void sti_normalise(sti_transform *t, sti_node *f);
/*
 * Replaces calls in an expression by variables that are declared before the statement at *at; *at moves on behind the
 * declarations. `root`: the expression itself may stay a call. hoist.c.
 */
void sti_take_out_calls(sti_transform *t, sti_node ***at, sti_node *e, bool root);

/*
 * After notes were taken: an offset of a pointer becomes a variable of its own if something in it changes later.
 * Returns true if there was one; notes must be taken again then. hoist.c.
 */
bool sti_fix_pointer_offsets(sti_transform *t, sti_node **list);

/* ---- overlap.c --------------------------------------------------------------------------------------------------- */

/* Refuses pointers that are assigned. Called for a function as its source has it. */
void sti_refuse_moving_pointers(sti_transform *t, const sti_node *n);
/*
 * Refuses a call whose arguments may overlap, if its adjoint is to be written. Not called for calls that were inlined
 * (inline.c): there two names of one array are known to be the same array.
 */
void sti_refuse_overlaps(sti_transform *t, const sti_node *call);

/* ---- inline.c ---------------------------------------------------------------------------------------------------- */

/* After the normal form of a kernel: inlines its calls of functions that the adjoint cannot handle as calls. */
void sti_put_in_calls(sti_transform *t, sti_node *kernel);
/*
 * Copies statements. In the copy `from` is replaced by `to`, and variables that the statements declare get new names.
 * Returns NULL if there is no memory, or if there are no statements.
 */
sti_node *sti_copy_body(sti_transform *t, const sti_node *body, const sti_symbol *from, sti_symbol *to);

/* ---- unroll.c ---------------------------------------------------------------------------------------------------- */

/* After notes were taken: unrolls loops. Returns true if a loop was unrolled; notes must be taken again then. */
bool sti_unroll(sti_transform *t, sti_node *f);

/* ---- notes.c ----------------------------------------------------------------------------------------------------- */

/* Fills the notes of a function's symbols. Those of the functions that it calls must be filled. */
void sti_take_notes(sti_transform *t, sti_node *f);
/* True if a real value depends on something that has a gradient. */
bool sti_active_value(sti_transform *t, const sti_node *e);
/* True if a statement, or one inside of it, gives a value to an active symbol. */
bool sti_active_statement(sti_transform *t, const sti_node *n);
/* True if the value of the symbol that a place belongs to is needed. */
bool sti_place_needed(sti_transform *t, const sti_node *place);
/* True if the source writes a symbol that the place may belong to. */
bool sti_place_written(const sti_node *place);
bool sti_type_real(const sti_type *type);    /* real, ureal, wreal */
bool sti_type_carries(const sti_type *type); /* contains reals: a real, or an array, structure or pointer of such */
const sti_type *sti_type_element(const sti_type *type);
/* True if a symbol occurs in a tree. */
bool sti_mentions(const sti_node *n, const sti_symbol *symbol);
/* For a store of the language: the index of the array among its arguments; -1: it is no store. */
int sti_store_of(const sti_node *call);
bool sti_is_array_symbol(const sti_symbol *s); /* memory that other threads see: a parameter's array, a shared array */

/* Note that the adjoint writes the symbol that a place belongs to, or writes its gradient. */
void sti_note_stored(sti_transform *t, const sti_node *place);
void sti_note_graded(sti_transform *t, const sti_node *place);
/* Returns the symbol that a place belongs to; if there may be several, one of them, with *only false. NULL: unknown. */
sti_symbol *sti_origin_of(const sti_node *place, bool *only);

/* ---- effects.c: what a statement changes of what is declared outside of it --------------------------------------- */

typedef struct sti_effects {
    sti_symbol *symbol[STI_ADJOINT_CHANGED]; /* variables, local arrays */
    int count;
    /* Arrays that other threads see and whose elements are overwritten after they were read; for the log. */
    sti_symbol *array[STI_ADJOINT_CODES];
    int narray;
} sti_effects;
/* True if a statement, or one inside of it, declares a symbol. */
bool sti_declared_in(const sti_node *statement, const sti_symbol *symbol);
void sti_effects_of(sti_transform *t, const sti_node *statement, sti_effects *out);
/* True if a needed variable or local array from outside may have another value after a statement. */
bool sti_changes(sti_transform *t, const sti_node *statement, const sti_symbol *symbol);

/* ---- gradient.c: reverse of expressions -------------------------------------------------------------------------- */

/*
 * Adds to the gradients of an expression's parts. `g` is the gradient of its value, in lanes: a name or a closed text.
 */
void sti_reverse_value(sti_transform *t, const sti_node *e, const char *g);
/* The gradient of a place or pointer, as an expression of the same form. */
const char *sti_gradient_place(sti_transform *t, const sti_node *e);
/* True if elements are reached through a pointer, so that put writes them: a parameter's, not a local array's. */
bool sti_through_pointer(const sti_node *place);
/* Declares the gradient of a variable, all zeros: "real x_grad = splat(0);". */
void sti_declare_gradient(sti_transform *t, const sti_symbol *symbol);
/* "real", or of a structure the structure of its gradients. */
const char *sti_gradient_type(sti_transform *t, const sti_type *type);
/* Adds to the gradient of a place. */
void sti_accumulate(sti_transform *t, const sti_node *place, const char *g);
/*
 * Moves the gradient of a place into a new variable, sets the place's gradient to 0, and returns the variable's name.
 */
const char *sti_take_gradient(sti_transform *t, const sti_node *place);

/* ---- call.c ------------------------------------------------------------------------------------------------------ */

/* Writes the adjoint of a call of the source's own function. g: the gradient of its result; NULL: it has none. */
void sti_reverse_call(sti_transform *t, const sti_node *call, const char *g);
/* Writes the adjoint of a call of the language's own function as a statement: a store. */
void sti_reverse_store(sti_transform *t, const sti_node *call);
/* Element `more` of those that load4 reads. */
sti_node *sti_loaded_element(sti_transform *t, const sti_node *call, int more);
/* Element `more` of those that a store writes, as a place. put4 writes, and load4 fills, four. */
sti_node *sti_stored_element(sti_transform *t, const sti_node *call, int more);

/* ---- run_again.c ------------------------------------------------------------------------------------------------- */

/* True for a call of the source's own function. */
bool sti_is_own_call(const sti_node *e);
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

/* True if a statement is the last of its list. */
bool sti_last_of_list(const sti_node *n);
/* Writes forward and reverse of a list into the scope that is open. */
void sti_adjoint_list(sti_transform *t, sti_node *list);

/* Copies a whole value. */
void sti_copy(sti_transform *t, const char *to, const char *from, const sti_type *type);
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
/*
 * Begins the use of the tape in a kernel: the part of this thread or iteration. First in a scope. `column`: "0" or an
 * each's variable.
 */
void sti_spill_begin(sti_transform *t, const char *column);

/* ---- uniform.c: plans of what is listed (gather_plan.h) ---------------------------------------------------------- */

/* True if the elements that a kernel's iterations list depend on plain whole numbers only. */
bool sti_lists_uniformly(const sti_node *kernel);
/* The number of an array in plans; the array is listed. */
int sti_planned_array(sti_transform *t, const sti_symbol *array);
/* Writes the statements that add up by the plan, instead of the list. */
void sti_add_planned(sti_transform *t);

/* ---- select_pointer.c -------------------------------------------------------------------------------------------- */

/* True if an expression has the same value wherever its names are known. */
bool sti_is_fixed(sti_transform *t, const sti_node *e);
/* Adds to an element behind a pointer that selects one of two arrays: if (…) to one array, else to the other. */
void sti_accumulate_selected(sti_transform *t, const sti_node *place, const char *g);

/* ---- team_log.c: what the whole team overwrites ------------------------------------------------------------------ */

/* True if an each logs something when it runs with a log. */
bool sti_each_logs(sti_transform *t, const sti_node *each);
/* Runs an each plainly, with a log. */
void sti_team_log_each(sti_transform *t, const sti_node *n);
/* Undoes everything that eaches logged above a mark. */
void sti_team_log_undo(sti_transform *t, const sti_effects *effects, const char *mark);
/* Slots of the team's log beyond those of its iterations. */
enum { STI_TEAM_LOG_SLOTS = 3 };

/* ---- log.c ------------------------------------------------------------------------------------------------------- */

/* Before an expression statement that runs plainly: logs what it overwrites, if logging is on. */
void sti_log_write(sti_transform *t, const sti_node *e);
/* The number of entries that sti_log_write writes. */
int sti_log_entries(sti_transform *t, const sti_node *e);
/* Undoes the entry below `top`. */
void sti_log_undo_entry(sti_transform *t, const sti_effects *effects);
/* Undoes all entries above a mark, a variable with an earlier value of `top`. */
void sti_log_undo(sti_transform *t, const sti_effects *effects, const char *mark);

/* ---- loop.c ------------------------------------------------------------------------------------------------------ */

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

void sti_adjoint_for(sti_transform *t, sti_node *n);

/* ---- disjoint.c -------------------------------------------------------------------------------------------------- */

/* True if a loop changes only elements that just one of its iterations touches. */
bool sti_disjoint(sti_transform *t, const sti_node *loop, const sti_counted *c, const sti_effects *changed);

/* ---- team.c ------------------------------------------------------------------------------------------------------ */

/* True if all threads of a team reach this place together. */
bool sti_team_level(const sti_transform *t);
/*
 * The index of an each's access: stride * (the each's variable) + a number from low to high. It belongs to a place or a
 * pointer. In an item kernel it also has `block` times the block's number and `lane` times the lane's.
 */
typedef struct sti_linear {
    int64_t stride, low, high, block, lane;
} sti_linear;
/* True if a type has room for any index. A narrower type can make two indices equal. */
bool sti_saves_index(const sti_type *type);
bool sti_linear_of_value(sti_transform *t, const sti_node *e, sti_linear *out);
bool sti_linear_of_place(sti_transform *t, const sti_node *place, sti_linear *out);
/* Finds constant limits of a place or pointer in its array, for all values of the variables. False: there are none. */
bool sti_constant_range(sti_transform *t, const sti_node *place, int64_t *low, int64_t *high);
/* Notes all places below n, inside of an each, for the functions that follow. */
void sti_note_places(sti_transform *t, const sti_node *n);
/* True if each element of an array that this each touches belongs to one iteration. */
bool sti_team_owns(sti_transform *t, const sti_symbol *array);
/* The offset of a pointer in its array, as a text. Reports an error if it cannot be followed. */
const char *sti_offset_of(sti_transform *t, const sti_node *e);
/*
 * In the adjoint's text: the condition under which entries are collected in the list. Otherwise iterations run in
 * order, and an entry is added at once.
 */
#define STI_TEAM_LISTS "STET_GPU || STET_PERMUTE"
/* Enclose the two versions of an entry, "… } else { …": for the list, and for adding at once. */
void sti_team_open_entry(sti_transform *t);
void sti_team_close_entry(sti_transform *t, sti_source_place place);
/*
 * The number of iterations that have room on the tape, as a text, for use before a scope with columns. `slots`: slots
 * that each of them needs in any case.
 */
const char *sti_team_count(sti_transform *t, const sti_node *each, int slots);
/*
 * Adds to `g` the gradients that this iteration has listed for a place that it wrote itself, and removes them from the
 * list.
 */
void sti_team_take_listed(sti_transform *t, const sti_node *place, const char *g);
/* Adds to an element of a gradient that several iterations may add to. False: a plain addition is enough. */
bool sti_team_accumulate(sti_transform *t, const sti_node *place, const char *array, const char *index, const char *g);

/* team_shares.c: variables and local arrays from outside of an each to whose gradients its iterations add. */
typedef struct sti_shares {
    sti_symbol *symbol[STI_ADJOINT_CODES];
    int count;
} sti_shares;
void sti_find_shares(sti_transform *t, const sti_node *n, sti_shares *out);
/* The slots that they take. */
int64_t sti_count_shares(const sti_shares *shares);
/* Enclose an iteration: its shares begin with 0, and they go to the tape at its end. */
void sti_open_shares(sti_transform *t, const sti_shares *shares);
void sti_close_shares(sti_transform *t, const sti_shares *shares);
/* Adds up the shares of all iterations. */
void sti_add_shares(sti_transform *t, const sti_shares *shares, const char *count);

/* Removes the numbers of arrays in lists. */
void sti_forget_codes(sti_transform *t);
void sti_adjoint_each(sti_transform *t, sti_node *n);

/* ---- sums.c ------------------------------------------------------------------------------------------------------ */

/* sti_adjoint_each with sums of gradients at constant places around it. */
void sti_adjoint_summed_each(sti_transform *t, sti_node *each);
/* Where iterations run one after the other: adds to an element's sum. False: the element belongs to no such sum. */
bool sti_sum_add(sti_transform *t, const sti_symbol *array, const char *index, const char *more);

/* ---- lanes.c ----------------------------------------------------------------------------------------------------- */

/* Writes helper functions for adjoints of kernels whose lanes read different places. */
void sti_lane_helpers(sti_transform *t);
/* True for load and gather. */
bool sti_lane_read(const sti_node *e);
void sti_lane_reverse_read(sti_transform *t, const sti_node *call, const char *g);
/* The elements that the lanes of a read may access, for all lanes. */
bool sti_linear_of_lanes(sti_transform *t, const sti_node *call, sti_linear *out);

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

/* ---- window.c ---------------------------------------------------------------------------------------------------- */

/* The range of elements that a function touches of the array behind a parameter. False: unknown. */
typedef struct sti_window {
    int64_t low, high;
} sti_window;
bool sti_window_of(sti_transform *t, const sti_symbol *parameter, const sti_symbol *function, sti_window *out);

/* ---- function.c -------------------------------------------------------------------------------------------------- */

/* Writes the adjoint of a kernel and adds its entry to the result. */
void sti_adjoint_kernel_of(sti_transform *t, sti_node *f);
/* Writes the adjoint of a function, before the text that is being written, unless it was written before. */
void sti_adjoint_function(sti_transform *t, sti_node *f);
/* True if the source itself has the adjoint of a function. Reports an error if its parameters differ. */
bool sti_given_adjoint(sti_transform *t, const sti_node *f);
/* Writes "typedef struct … s_grad;" for each structure that has reals. */
void sti_gradient_structures(sti_transform *t);

#endif
