/*
 * Rows of the links of spatial tendons and of lines of flexes, for the kernel (tendon.k.h) and the host (tendon.c).
 * Only definitions.
 */
#ifndef STI_STAGE_TENDON_ROWS_K_H
#define STI_STAGE_TENDON_ROWS_K_H

/*
 * A link: prims of its sites (of a line: of its bodies), of the geom that it wraps around and of the side site (-1:
 * none), its pieces' prims.
 */
#define TENDON_KIND 0
#define TENDON_FROM 1
#define TENDON_TO 2
#define TENDON_GEOM 3
#define TENDON_SIDE 4
#define TENDON_FIRST 5
#define TENDON_PIECES 6
#define TENDON_LINK 8
#define TENDON_STRAIGHT 0
#define TENDON_SPHERE 1
#define TENDON_CYLINDER 2
#define TENDON_CATENARY 3
#define TENDON_LINE 4

/*
 * Its numbers: width, radius of the geom, pieces of an arc per radian, length of a catenary and its upward axis
 * (3), where a line begins and ends in the frames of its bodies (3 each).
 */
#define TENDON_WIDTH 0
#define TENDON_RADIUS 1
#define TENDON_PER_RADIAN 2
#define TENDON_LENGTH 3
#define TENDON_UP 4
#define TENDON_LINE_FROM 7
#define TENDON_LINE_TO 10
#define TENDON_LOOK 13

#define TENDON_HANGING 32 /* most pieces of a catenary; MuJoCo has numslices, of which the last one is twice as wide */
#define TENDON_ARC 16     /* most pieces of an arc; MuJoCo has numslices for half a circle and more */
#define TENDON_STEPS 8

#endif
