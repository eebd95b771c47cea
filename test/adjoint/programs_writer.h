/* Inside programs.h: what writes random expressions and statements. */
#ifndef TEST_ADJOINT_PROGRAMS_WRITER_H
#define TEST_ADJOINT_PROGRAMS_WRITER_H

#include "programs.h"

enum { REALS = 4 /* r0 … r3 */, EXPRESSION_DEPTH = 3, LOOP_DEPTH = 4 };

typedef struct writer {
    uint64_t state;
    sti_text_buffer *out;
    int functions; /* f0 … may be called */
    int indent, loops, budget, names;
    bool jumps;    /* a break or continue may stand here */
    bool returns;  /* a return may */
    const char *n; /* a whole number that programs differ by */
    /* Of a team's iteration: where it may read, and what it may write (before and behind the value); NULL: nothing. */
    void (*read)(struct writer *w);
    char own[2][64];
    uint64_t called; /* the functions that the text calls so far */
} writer;

uint32_t writer_draw(writer *w, uint32_t n); /* below n */
bool writer_chance(writer *w, uint32_t percent);
void writer_put(writer *w, const char *text);
void writer_line(writer *w);

/* programs_expression.c */
void writer_leaf(writer *w);
void writer_expression(writer *w, int depth);
/* Something of a size near 1. */
void writer_bounded(writer *w);
/* A condition on plain values, or of lanes. */
void writer_condition(writer *w);
/* 0, 1 or 2 as a place in v. */
void writer_index_of_v(writer *w);

/* programs_statement.c */
/* Statements on the variables that writer_variables declares, until the budget is used up. */
void writer_statements(writer *w);
/* r0 …, v, s from three values. */
void writer_variables(writer *w, const char *a, const char *b, const char *c);

/* programs_team.c */
void writer_team(writer *w, int number);

#endif
