/*
 * Tables of a scene that the renderer's kernels read, for these and for the host's code that fills them (appearance.c,
 * renderer.c). Only definitions; rows.inl has the names of their numbers.
 *
 * scene (INT): the header below, then rows of patches, of geoms to draw (three lists), of ids of all geoms, of lamps,
 * of details of all geoms, then the textures that are drawn (texture.k.h).
 * Sites, tendons, flexes and skins are geoms after the model's: rows of appearance, of ids and of details are those of
 * all geoms, then of all sites, tendons, flexes, skins, and of the undersides of all planes. A tendon, and a flex of
 * one dimension, is drawn as its pieces, which are rows of geoms to draw with its number. After all these come shapes
 * that were added to the stage, whose ids are those of geoms after the model's. Of surfaces that lie in each other the
 * one in the earlier row is seen: rows begin with what MuJoCo's renderer draws last, which covers the others.
 * look (REAL): rows of all geoms' appearance, of lamps, of all geoms' scales, the haze, the fog, numbers of mirrors,
 * then corners of triangles.
 * Worlds whose looks differ have the rows of appearance and of lamps in a table of their own (looks.h), and those in
 * which geoms have other sizes the scales. If materials differ, details and scales have further rows: of each geom
 * without a material, then with each of the model's.
 */
#ifndef STI_RENDER_SCENE_K_H
#define STI_RENDER_SCENE_K_H

#include "render/names.k.h"

/*
 * The nearest hit of a pixel, which parts hand over. Reals: depth and normal. Words: the geom; of a mesh the triangle,
 * later the texel and shadows; in mode physical the shares of light; two of roles; two of the sum of several samples.
 */
#define HIT_REALS 4
#define HIT_SHARE 2
#define HIT_ROLES(has) (HIT_SHARE + (int)((has) >> SCENE_PHYSICAL & 1))
#define HIT_SUM(has) (HIT_ROLES(has) + 2 * (int)((has) >> SCENE_ROLES & 1))
#define HIT_WORDS(has, side) (HIT_SUM(has) + 2 * ((side) > 1))

#define PATCH 16 /* pixels along an edge */
#define STRIP 8  /* patches of a block on a processor; a GPU has one */

/* Bits of SHOWN_KIND. */
#define SHOWN_ENDLESS 1   /* an infinite plane, a surface that deforms: never left out */
#define SHOWN_CORD 2      /* a capsule or cylinder, a piece of a tendon or of a flex */
#define SHOWN_UNDERSIDE 4 /* a plane as seen from below */
#define SHOWN_SOFT 8      /* a surface that deforms: each world has its own */

#define CHUNK 128 /* geoms that a patch culls together: how long its list is */
/* How many rows of geoms to draw there are, in all lists. */
#define SCENE_NROW(scene)                                                                                              \
    (((scene)[SCENE_CLEAR] - (scene)[SCENE_SHOWN]) / SHOWN_SIZE + (scene)[SCENE_NCLEAR] + (scene)[SCENE_NUNDER])
/* How far apart the numbers of n boxes of k_boxes are: whole vectors may be read at the last one. */
#define BOX_STRIDE(n) ((n) + 16)
/* The order of rows in which those that are near each other follow each other (near.c), GROUP at a time; as long. */
#define SCENE_ORDER(scene) ((scene)[SCENE_SHOWN] + SHOWN_SIZE * SCENE_NROW(scene))
#define GROUP 32
#define GROUPS(n) (((n) + GROUP - 1) / GROUP)
/* Numbers of the boxes of a world: of n rows, then of their groups. */
#define BOXES_SIZE(n) (BOX_SIZE * (BOX_STRIDE(n) + BOX_STRIDE(GROUPS(n))))

/* Where in `look` the numbers of mirrors begin: how much each reflects. */
#define LOOK_MIRROR(scene) ((scene)[SCENE_LOOK_HAZE] + HAZE_SIZE + FOG_SIZE)

/* Ids of what is no geom. */
#define IDS_TENDON (-2)
#define IDS_FLEX (-3)
#define IDS_SKIN (-4)

#define TEXEL_UNIT (1.0 / 255)
#define TEXEL_BITS 10 /* a channel in mode physical */
#define TEXEL_MOST 1023

#define LAMP_SHADOW_BIT 24 /* the first lamp's; below it, a word has a texel's colour */
#define LAMP_SHADOW_MOST 7 /* lamps; others cast none */
#define SHADOW_RAYS 15     /* to a bulb, at most; a share takes SHADOW_BITS bits */
#define SHADOW_BITS 4
#define LAMP_MOST 8 /* with the headlight, which is the first; MuJoCo, too, leaves out what comes after */

#define ROW_BITS 3 /* of a buffer, in a target's row of the tile table */

#endif
