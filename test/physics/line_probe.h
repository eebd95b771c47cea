/* Rows of the arrays of line_probe.k.h. */
#ifndef TEST_PHYSICS_LINE_PROBE_H
#define TEST_PHYSICS_LINE_PROBE_H

#define LINE_TERMS 6
#define LINE_IN (3 + 3 * LINE_TERMS)
#define LINE_OUT 2
#define LINE_MOST 128 /* steps */

#endif
