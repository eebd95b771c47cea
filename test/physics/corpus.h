/* Model files of the packages gymnasium, dm_control and mujoco_warp, where tools/setup.sh corpus put them. */
#ifndef TEST_PHYSICS_CORPUS_H
#define TEST_PHYSICS_CORPUS_H

#include <stdbool.h>

enum { CORPUS_MOST = 400, CORPUS_PATH = 512 };

typedef struct corpus_file {
    char path[CORPUS_PATH];
    const char *name; /* the path below the folder of packages */
} corpus_file;

/*
 * Lists the XML files, package by package, each in the order of paths; returns their number. *whole: all packages are
 * there. CORPUS_FOLDER in the environment: a folder that holds the packages instead.
 */
int corpus_list(corpus_file file[CORPUS_MOST], bool *whole);

#endif
