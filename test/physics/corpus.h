/*
 * Models of other projects, which tools/corpus.txt lists; tools/corpus.sh gets them. And what physics/corpus finds out
 * about each, and writes.
 */
#ifndef TEST_PHYSICS_CORPUS_H
#define TEST_PHYSICS_CORPUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CORPUS_MOST = 640, CORPUS_PATH = 512, CORPUS_SOURCES = 16, CORPUS_FEATURES = 64 };

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

/* Contacts of one state: worlds in which there are any, and those where both sides have the same. */
typedef struct corpus_contacts {
    int touch, same;
    double place, depth; /* of those that are the same: by how much they differ, m */
} corpus_contacts;

typedef struct corpus_model {
    const corpus_file *file;
    char failure[200]; /* why it was not compared, or "" */
    bool compared, sensors_off;
    bool searched;              /* contacts may be found by iterations */
    bool grazes;                /* a contact is at its margin but for rounding, which then decides whether it exists */
    bool differs;               /* by more than rounding */
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
