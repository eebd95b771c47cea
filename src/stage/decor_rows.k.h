/* Rows of decorations, for the kernels (decor.k.h) and the host (decor.c). Only definitions. */
#ifndef STI_STAGE_DECOR_ROWS_K_H
#define STI_STAGE_DECOR_ROWS_K_H

/* A part: the prim that is written, what it is, what it is at, one thing more that its kind needs. */
#define DECOR_PRIM 0
#define DECOR_KIND 1
#define DECOR_AT 2
#define DECOR_MORE 3
#define DECOR_ROW 4

/* Kinds, in the order of their rows. At: a prim. Numbers: the part's transform in its frame. */
#define DECOR_FIXED 0
/* At: a joint. Arrow: a part along its axis, numbers as DECOR_WIDTH … Block: more: the prim whose frame turns it. */
#define DECOR_JOINT_ARROW 1
#define DECOR_JOINT_BLOCK 2
#define DECOR_COM 3 /* at: a body */
/* At: a sensor's first number. Ray: more: its site's prim. Span: two points. */
#define DECOR_RAY 4
#define DECOR_SPAN 5
#define DECOR_CONTACT 6 /* at: a slot */
/* At: a slot. Shaft and head go with the force, the tail shows that it acts on two bodies that move. */
#define DECOR_FORCE_SHAFT 7
#define DECOR_FORCE_HEAD 8
#define DECOR_FORCE_TAIL 9

/* Numbers of a part. Along an axis: its half width, its length along the axis, where it begins. */
#define DECOR_WIDTH 0
#define DECOR_LENGTH 1
#define DECOR_START 2
#define DECOR_LOOK 12

#define DECOR_HEAD (1.0 / 6) /* of an arrow that would be 1 long: MuJoCo draws half of it */
#define DECOR_LEAST 1e-15    /* mjMINVAL */

#endif
