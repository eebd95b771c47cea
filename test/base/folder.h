/*
 * A folder of the test program's own, for the files that its tests write: make_own_folder and remove_folder are the
 * set-up and the tear-down of a group.
 */
#ifndef TEST_BASE_FOLDER_H
#define TEST_BASE_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[32];

/* A path in the folder; eight may be in use at a time. */
static inline char *in_folder(const char *name)
{
    static char path[8][512];
    static int next;
    char *p = path[next++ % 8];
    (void)snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static inline int make_own_folder(void **state)
{
    memcpy(folder, "/tmp/stet-test-XXXXXX", sizeof "/tmp/stet-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

#endif
