/*
 * Models of other projects, which tools/corpus.txt lists; tools/corpus.sh gets them. And what physics/corpus finds out
 * about each, and writes.
 */
#ifndef TEST_PHYSICS_CORPUS_H
#define TEST_PHYSICS_CORPUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CORPUS_MOST = 1024, CORPUS_PATH = 512, CORPUS_SOURCES = 16, CORPUS_FEATURES = 64 };

typedef struct corpus_source {
    char name[32];
    char folder[CORPUS_PATH]; /* that holds it; "" if it is not there */
    int files, models;        /* in the list; those that MuJoCo loads */
} corpus_source;

typedef struct corpus_file {
    char path[CORPUS_PATH];
    const char *name; /* the part of the path that the list has */
    int source;
} corpus_file;

typedef struct corpus_list {
    corpus_source source[CORPUS_SOURCES];
    corpus_file file[CORPUS_MOST]; /* models of the sources that are there, in the list's order */
    int nsource, nfile;
} corpus_list;

/*
 * Reads the list, and says which sources are not there. names: only these sources, up to a NULL, or NULL: all. Fails at
 * a file that is not there, or is not the one that was listed. CORPUS_FOLDER in the environment: a folder that is
 * looked into first.
 */
void corpus_read(corpus_list *list, const char *const *names);

/* The greatest relative errors over the worlds. */
typedef struct corpus_distance {
    double qacc, sensors, force; /* of the state; force: of one geom on another, all their contacts together */
    double first, first_speed;   /* qpos, qvel after a step */
    double last, last_speed;     /* after several */
} corpus_distance;

/* Contacts of states, and before steps: how often a world has any, and how often all are MuJoCo's. */
typedef struct corpus_contacts {
    int touch, same;
    double place, depth; /* of pairs of geoms that have as many on both sides: by how much they differ, m */
} corpus_contacts;

/* Pairs of geoms of two types, in ascending order, that touch: of all models so far. */
typedef struct corpus_pairs {
    int touch, number, place; /* all; with another number of contacts than MuJoCo; as many, but elsewhere */
} corpus_pairs;
enum { CORPUS_TYPES = 8 };
#define CORPUS_PLACE 1e-6 /* m: contacts that are nearer to MuJoCo's are the same */
/* N. A contact whose geoms cannot move along its normal has a force of one over what rounding leaves. */
#define CORPUS_MOST_FORCE 1e12
extern corpus_pairs corpus_pairs_of[CORPUS_TYPES][CORPUS_TYPES];

typedef enum corpus_verdict {
    CORPUS_NONE,     /* not compared, */
    CORPUS_ROUNDING, /* or in no world */
    CORPUS_EQUAL,    /* to rounding */
    CORPUS_SEARCHES, /* but for contacts that are found by iterations: in the states, or on the way */
    CORPUS_DIFFERS
} corpus_verdict;

typedef struct corpus_model {
    const corpus_file *file;
    char failure[200];                 /* why it was not compared, or "" */
    bool compared, sensors_off, other; /* other: contacts that are not found by iterations are not MuJoCo's */
    bool searched, inside;             /* contacts may be found by iterations; tendons pass geoms from within */
    int rounding;           /* worlds that are not compared to the end: rounding decides which contacts MuJoCo has */
    int searches;           /* … contacts that are found by iterations, or others, are not MuJoCo's */
    corpus_verdict verdict; /* if compared */
    unsigned long long missing; /* bits: numbers of features */
    int nv, most_rows;
    uint32_t faults;
    corpus_contacts contacts;
    corpus_distance error, spread;
} corpus_model;

/* Writes the page. */
void corpus_report(FILE *out, const corpus_list *list, const corpus_model *model, int n,
                   const char *const feature[CORPUS_FEATURES], int nfeature);

#endif
