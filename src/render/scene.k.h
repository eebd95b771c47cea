/*
 * Tables of a scene that the renderer's kernel reads, and the names of their numbers, for the kernel and for the host's
 * code that fills them (appearance.c, renderer.c). Only definitions.
 *
 * scene (INT): the header below, then rows of patches, of geoms to draw, of ids of all geoms, of lamps.
 * look (REAL): rows of all geoms' appearance, rows of lamps, colours of the sky (3 each).
 */
#ifndef STI_RENDER_SCENE_K_H
#define STI_RENDER_SCENE_K_H

/* The header: sizes, then the index of the first number of each kind of row in `scene` and in `look`. */
#define SCENE_NCAMERA 0
#define SCENE_NTILE 1 /* worlds * cameras */
#define SCENE_NPATCH 2
#define SCENE_NSHOWN 3
#define SCENE_NLAMP 4
#define SCENE_NSKY 5 /* 0: black */
#define SCENE_SHOWN 6
#define SCENE_IDS 7
#define SCENE_LAMPS 8
#define SCENE_LOOK_LAMPS 9
#define SCENE_LOOK_SKY 10
#define SCENE_PATCHES 16 /* the first patch: the size of the header */

/* A patch: PATCH x PATCH pixels of a camera. */
#define PATCH 16
#define PATCH_CAMERA 0
#define PATCH_X 1
#define PATCH_Y 2
#define PATCH_PRIM 3
#define PATCH_WIDTH 4
#define PATCH_HEIGHT 5
#define PATCH_FLAT 6 /* orthographic */
#define PATCH_SIZE 8

/* A geom to draw. */
#define SHOWN_GEOM 0
#define SHOWN_PRIM 1
#define SHOWN_TYPE 2
#define SHOWN_ENDLESS 3 /* an infinite plane: never left out */
#define SHOWN_SIZE 4

/* Ids of a geom. */
#define IDS_BODY 0
#define IDS_TYPE 1
#define IDS_SIZE 2

/* Appearance of a geom. */
#define APPEARANCE_RGB 0
#define APPEARANCE_ALPHA 3
#define APPEARANCE_EMISSION 4  /* times rgb */
#define APPEARANCE_SPECULAR 5  /* times white */
#define APPEARANCE_SHININESS 6 /* exponent */
#define APPEARANCE_SIZE 8

/* A lamp in `scene`. */
#define LAMP_PRIM 0 /* -1: the camera */
#define LAMP_POSITIONAL 1
#define LAMP_INTS 2

/* A lamp in `look`. */
#define LAMP_AMBIENT 0
#define LAMP_DIFFUSE 3
#define LAMP_SPECULAR 6
#define LAMP_ATTENUATION 9 /* constant, a metre, a square metre */
#define LAMP_CUTOFF 12     /* cosine of the cone's half angle; below -1: no cone */
#define LAMP_EXPONENT 13
#define LAMP_REALS 16

/* Buffers of pixels, numbered as sti_picture_buffer; a target's row of the tile table takes ROW_BITS bits a buffer. */
#define BUFFER_COLOUR 0
#define BUFFER_DEPTH 1
#define BUFFER_DISTANCE 2
#define BUFFER_NORMAL 3
#define BUFFER_ALBEDO 4
#define BUFFER_GEOM 5
#define BUFFER_BODY 6
#define BUFFER_TYPE 7
#define ROW_BITS 3

#endif
