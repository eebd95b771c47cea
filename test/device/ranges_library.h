/* What the library of ranges_library.c was told: names in the order of their push. */
#ifndef TEST_DEVICE_RANGES_LIBRARY_H
#define TEST_DEVICE_RANGES_LIBRARY_H

enum { RANGES_MOST = 4096, RANGES_DEPTH = 32, RANGES_NAME = 64 };

typedef struct ranges_told {
    struct {
        char name[RANGES_NAME];
        int depth;
    } range[RANGES_MOST];
    int n, pops, depth;
    int wrong; /* pops of nothing */
} ranges_told;

typedef ranges_told *ranges_look_function(void);

#endif
