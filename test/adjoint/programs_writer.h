/* Inside programs.h: what draws programs from the grammar. */
#ifndef TEST_ADJOINT_PROGRAMS_WRITER_H
#define TEST_ADJOINT_PROGRAMS_WRITER_H

#include "programs.h"
#include "programs_grammar.inl"

/* What a production needs. */
enum {
    NEEDS_LOOP = 1,   /* a loop around */
    NEEDS_JUMP = 2,   /* a loop that may be left here */
    NEEDS_RETURN = 4, /* a place where the function may return */
    LOOP = 8,         /* it is a loop: as deep as LOOP_DEPTH allows */
    CALLS = 16,       /* an earlier function */
    READ_ONLY = 32,   /* a place that is not assigned */
    ODD = 64,         /* it may be refused */
    CHOOSES = 128,    /* what is in it may be left out */
    NOT_CHOSEN = 256, /* not in such a one: adjoints of calls are made where they are sure to run */
    NOT_INDEX = 512   /* not in an index, which may not read what it is an index of */
};

#define COUNT_PRODUCTION(name, of, in, needs, text) +1
enum { PRODUCTIONS = GRAMMAR(COUNT_PRODUCTION), EXPRESSION_DEPTH = 3, LOOP_DEPTH = 4, NONE = -1 };
#undef COUNT_PRODUCTION

typedef struct production {
    const char *name;
    char of;
    const char *in;
    unsigned needs;
    const char *text;
} production;

extern const production productions[PRODUCTIONS];

typedef struct writer {
    uint64_t state;
    sti_text_buffer *out;
    char kind;         /* of the program: F, P, T, I */
    const char *n;     /* a whole number that programs differ by */
    uint64_t callable; /* functions that may be called */
    uint64_t called;   /* those that the program calls so far */
    int loops, budget, names, indent;
    char loop[LOOP_DEPTH + 1][16];     /* the variables of the loops around */
    bool jumps;                        /* a break or continue may stand here */
    bool chosen;                       /* in a production that chooses */
    bool indexes;                      /* in an index */
    bool reads;                        /* a place that is written next is read */
    int odd;                           /* the production that may be refused and is to come; NONE */
    uint16_t *used;                    /* [PRODUCTIONS] of the program */
    bool aims;                         /* the program draws what the source had least often */
    unsigned drawn[PRODUCTIONS];       /* of the source */
    unsigned drawn_of[128], rows[128]; /* of each nonterminal: draws, and productions that are not odd */
    /* Of a team's iteration: where it may read, and what it may write, before and behind the value. */
    void (*read)(struct writer *w);
    char own[2][64];
    int first;          /* of its elements in p and w; of an item program its number */
    const char *shared; /* an array of the team's */
} writer;

void writer_begin(writer *w, uint64_t seed);
uint32_t writer_draw(writer *w, uint32_t n); /* below n */
bool writer_chance(writer *w, uint32_t percent);
void writer_put(writer *w, const char *text);
void writer_line(writer *w);
/* One of a nonterminal's productions. */
void writer_expand(writer *w, char of, int depth);
/* Statements on the variables that writer_variables declares, until the budget is used up. */
void writer_statements(writer *w);
/* r0 …, v, m, s, o and others from three values. */
void writer_variables(writer *w, const char *a, const char *b, const char *c);
/* An odd production of the program's kind: turns that follow each other give them one after the other. */
int writer_choose_odd(const writer *w, uint64_t turn);

/* programs_team.c */
void writer_somewhere(writer *w); /* 0 … TEAM_ITEMS - 1, of an iteration i */
void writer_team(writer *w, int number);

/* programs_functions.c: what stands before the programs. */
extern const char programs_prelude[];

#endif
