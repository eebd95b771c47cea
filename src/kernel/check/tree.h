/*
 * The tree of a kernel source.
 *
 * One kind of node for everything; what its fields hold depends on the kind:
 *
 *   kind         name        named   a           b          c         d
 *   NUMBER       spelling
 *   NAME         name
 *   CALL         function            arguments
 *   INDEX                            array       index
 *   MEMBER       field               object                                  op: . or ->
 *   UNARY                            operand                                 op: - + ! ~ * & ++ --
 *   POSTFIX                          operand                                 op: ++ --
 *   BINARY                           left        right                       op
 *   ASSIGN                           left        right                       op: = += …
 *   CONDITION                        test        then       else
 *   COMMA                            left        right
 *   CAST                     type    operand                                 op: * makes it a pointer
 *   SIZEOF                   type
 *   LIST                             values                                  { … } of an initialiser
 *   VARIABLE     name        type    initial     sizes                       op: * makes it a pointer
 *   BLOCK                            statements                              op: 1 where some are left out for mistakes
 *   DECLARE                  type    variables
 *   EXPRESSION                       expression
 *   IF                               test        then       else             then, else: blocks
 *   FOR                              begin       test       step      body
 *   EACH, ITEMS  variable            count       body
 *   SHARED       name        type    size
 *   STAGED       name        type    source      size
 *   RETURN                           value
 *   BREAK, CONTINUE, SYNC
 *   FUNCTION     name        result  parameters  body                        op: word of its kind (sti_word)
 *   STRUCT       name                fields                                  fields: DECLARE
 *   TABLE                    type    variables                               static const
 *
 * In FOR, begin is a DECLARE or EXPRESSION, and begin, test and step may be absent. Lists are chained by `next`. Typing
 * fills `symbol` (the meaning of a name) and `type` (of a value, or of a declared variable).
 *
 * Invariant: no path from the top of a tree is longer than a few times STI_CHECK_DEPTH, so recursive walks are safe.
 */
#ifndef STI_KERNEL_CHECK_TREE_H
#define STI_KERNEL_CHECK_TREE_H

#include "kernel/check/lexer.h"

typedef enum sti_node_kind {
    STI_NODE_NUMBER,
    STI_NODE_NAME,
    STI_NODE_CALL,
    STI_NODE_INDEX,
    STI_NODE_MEMBER,
    STI_NODE_UNARY,
    STI_NODE_POSTFIX,
    STI_NODE_BINARY,
    STI_NODE_ASSIGN,
    STI_NODE_CONDITION,
    STI_NODE_COMMA,
    STI_NODE_CAST,
    STI_NODE_SIZEOF,
    STI_NODE_LIST,
    STI_NODE_VARIABLE,
    STI_NODE_BLOCK,
    STI_NODE_DECLARE,
    STI_NODE_EXPRESSION,
    STI_NODE_IF,
    STI_NODE_FOR,
    STI_NODE_EACH,
    STI_NODE_ITEMS,
    STI_NODE_SHARED,
    STI_NODE_STAGED,
    STI_NODE_SYNC,
    STI_NODE_RETURN,
    STI_NODE_BREAK,
    STI_NODE_CONTINUE,
    STI_NODE_FUNCTION,
    STI_NODE_STRUCT,
    STI_NODE_TABLE
} sti_node_kind;

/* ---- types ------------------------------------------------------------------------------------------------------- */

typedef enum sti_type_kind {
#define STI_TYPE_ENUM(word, tag) STI_TYPE_##tag,
    STI_TYPE_WORDS(STI_TYPE_ENUM)
#undef STI_TYPE_ENUM
        STI_TYPE_DOUBLE, /* of constants such as 0.5, until they become ureal */
    STI_TYPE_STRUCT,
    STI_TYPE_POINTER,
    STI_TYPE_ARRAY
} sti_type_kind;

typedef struct sti_type {
    sti_type_kind kind;
    bool is_const;
    const struct sti_type *of; /* of pointers and arrays */
    int64_t count;             /* of an array */
    struct sti_structure *structure;
} sti_type;

typedef struct sti_structure {
    sti_name *name;
    struct sti_symbol *field; /* chained by next */
    sti_type type[2];         /* plain, const */
} sti_structure;

/* ---- meanings ---------------------------------------------------------------------------------------------------- */

typedef enum sti_symbol_kind {
    STI_SYMBOL_VARIABLE, /* of a function, in the memory of each thread */
    STI_SYMBOL_PARAMETER,
    STI_SYMBOL_LOOP, /* of each and items */
    STI_SYMBOL_SHARED,
    STI_SYMBOL_STAGED,
    STI_SYMBOL_TABLE, /* static const */
    STI_SYMBOL_FIELD,
    STI_SYMBOL_BUNDLE,   /* a structure with pointers, taken apart into its fields (bundle.c) */
    STI_SYMBOL_SETTING,  /* a constant of the configuration, such as STET_W */
    STI_SYMBOL_FUNCTION, /* of the source */
    STI_SYMBOL_LIBRARY   /* of the language */
} sti_symbol_kind;

/* A place where a pointer may point: another symbol (an array, a parameter, a variable). */
typedef struct sti_reach {
    struct sti_symbol *symbol;
    struct sti_reach *next;
} sti_reach;

typedef struct sti_symbol {
    sti_symbol_kind kind;
    sti_name *name;
    const sti_type *type; /* of a function: its result */
    sti_source_place place;
    struct sti_node *node;      /* its declaration; of the language: NULL */
    struct sti_symbol *next;    /* the next parameter or field */
    struct sti_symbol *shadows; /* the outer meaning of the name */
    struct sti_symbol *before;  /* declared before this one, in this scope or around it */
    int64_t value;              /* of a setting */
    int scope;                  /* depth of the scope of its declaration */

    /* Of functions. */
    struct sti_symbol *parameter;
    int nparameter;
    sti_word word;    /* LFN, world_kernel, item_kernel */
    const char *twin; /* of the language: the function to use on plain values (or on lanes), or NULL */
    bool team;        /* the whole team must call it: it has each, items or sync inside */
    bool items;       /* it has items inside: only for item kernels */

    /* Of the first of the parameters that a bundle became. */
    const struct sti_structure *bundle;

    /* For parameters: what the function does to the memory that the parameter points to. */
    bool written;         /* in any way */
    bool written_plainly; /* reals are written without put or store */
    bool written_in_each; /* distributed over the team */
    bool through;         /* of a pointer in a unit with bundles: it is written through (bundle.c) */
    bool used;            /* in such a unit: it occurs behind its declaration */

    /* Notes of the rules within one function. */
    sti_reach *origin;         /* of a pointer that leads a group */
    struct sti_symbol *leader; /* of a group of pointers that are assigned to each other */
    unsigned inside;           /* number of the each in which it was declared; 0: in none */
    unsigned varies;           /* number of the each in whose iterations it differs */
} sti_symbol;

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

typedef struct sti_node {
    sti_node_kind kind;
    int op; /* sti_operator or, of a function, sti_word */
    sti_source_place place;
    int depth; /* height of the tree below */
    sti_name *name;
    sti_symbol *symbol;
    const sti_type *named;
    const sti_type *type;
    struct sti_node *a, *b, *c, *d, *next;
} sti_node;

/*
 * Evaluates a constant expression of whole numbers. False: it is not constant. In #if, a name without a meaning is 0.
 */
bool sti_constant(const sti_unit *u, const sti_node *e, bool in_if, int64_t *out);
/* Reads a number without a point, with its type. False: it is not one. */
bool sti_integer(const char *text, uint64_t *out, sti_type_kind *kind);
/* True if a number with a point or exponent is well formed. Its type is UREAL with the suffix f, else DOUBLE. */
bool sti_floating(const char *text, sti_type_kind *kind);
/* True if an expression consists of numbers and settings only. */
bool sti_is_constant(const sti_node *e);

#endif
