/*
 * Stands in for NVTX and ROCTX: has the entry points of one of them (RANGES_PUSH, RANGES_POP), and keeps what it was
 * told. The test opens it, too, and looks by ranges_look.
 */
#include "device/ranges_library.h"

#include <string.h>

static ranges_told told;

#define SHOWN __attribute__((visibility("default")))

SHOWN int RANGES_PUSH(const char *name);
SHOWN int RANGES_POP(void);
SHOWN ranges_told *ranges_look(void);

int RANGES_PUSH(const char *name)
{
    if (told.n < RANGES_MOST) {
        told.range[told.n].depth = told.depth;
        strncpy(told.range[told.n++].name, name, sizeof told.range[0].name - 1);
    }
    return told.depth++;
}

int RANGES_POP(void)
{
    if (told.depth == 0) told.wrong++;
    told.pops++;
    return --told.depth;
}

ranges_told *ranges_look(void) { return &told; }
