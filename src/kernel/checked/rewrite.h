/*
 * What instrument.c (statements and functions) and access.c (expressions and calls) share. Expressions are replaced,
 * from the leaves up, by names whose text is C; the printer prints the tree.
 */
#ifndef STI_KERNEL_CHECKED_REWRITE_H
#define STI_KERNEL_CHECKED_REWRITE_H

#include "kernel/checked/instrument.h"
#include "kernel/check/tree.h"

typedef struct sti_rewrite {
    sti_unit *u;
    sti_sites *sites;
    size_t site_room, root_room;
    stet_result result;
    const sti_node *function;
    bool apart; /* within each or items: threads of a team may diverge */
    const sti_node *each;
} sti_rewrite;

/* What an expression is for. */
enum { STI_WRITTEN = 1, STI_AS_INDEX = 2 };

/* Rewrites an expression; the span of a pointer, else NULL. */
const char *sti_rewrite_change(sti_rewrite *w, sti_node *e, int use);

/* Texts in the unit's memory, never NULL. */
const char *sti_rewrite_format(sti_rewrite *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *sti_rewrite_text(sti_rewrite *w, const sti_node *e);
const char *sti_rewrite_type(sti_rewrite *w, const sti_type *t);
/* Nodes that are printed as this text; NULL: no memory. */
sti_node *sti_rewrite_node(sti_rewrite *w, const char *text);
sti_node *sti_rewrite_statement(sti_rewrite *w, const char *text);
/* An expression becomes this text, which holds together by itself. */
void sti_rewrite_replace(sti_rewrite *w, sti_node *e, const char *text);
/* The number of a place that is checked, asked before it is rewritten; that of a variable. */
int sti_rewrite_site(sti_rewrite *w, const sti_node *e, sti_site_kind kind);
int sti_rewrite_root(sti_rewrite *w, sti_symbol *s);

#endif
