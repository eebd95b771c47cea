/*
 * Tables of a scene that the renderer's kernel reads, and the names of their numbers, for the kernel and for the host's
 * code that fills them (appearance.c, renderer.c). Only definitions.
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

/* The header: sizes, then the index of the first number of each kind of row in `scene` and in `look`. */
#define SCENE_NCAMERA 0
#define SCENE_NTILE 1 /* worlds * cameras */
#define SCENE_NPATCH 2
#define SCENE_NSHOWN 3
#define SCENE_NLAMP 4
#define SCENE_SKY 5 /* the skybox in `scene`; 0: none */
#define SCENE_SHOWN 6
#define SCENE_IDS 7
#define SCENE_LAMPS 8
#define SCENE_LOOK_LAMPS 9
#define SCENE_LOOK_SCALE 10
#define SCENE_DETAIL 11 /* 0: no geom has details */
/*
 * Rows like those of geoms to draw, after these: the opaque ones (or the same rows, where the lists are equal), and the
 * transparent ones.
 */
#define SCENE_SOLID 12
#define SCENE_NSOLID 13
#define SCENE_CLEAR 14
#define SCENE_NCLEAR 15
#define SCENE_NSHADOW 16 /* lamps that cast shadows */
#define SCENE_HAZE 17    /* the prim of the endless plane that has haze above it, plus 1; 0: none */
#define SCENE_LOOK_HAZE 18
#define SCENE_NSITE 19  /* sites, which only colours show; their rows follow those of geoms to draw */
#define SCENE_TENDON 20 /* 1: tendons, flexes or skins are drawn */
#define SCENE_NUNDER 21 /* undersides of planes, transparent in colours; their rows follow the transparent ones */
#define SCENE_MIRROR 22 /* geoms that reflect, rows of MIRROR_SIZE; the first one that the camera is above does */
#define SCENE_NMIRROR 23
#define SCENE_FOG 24      /* the fog in `look`; 0: none */
#define SCENE_FISHEYE 25  /* 1: a camera is a fisheye */
#define SCENE_PHYSICAL 26 /* 1: mode physical: numbers of `look` and texels are linear light (tone.k.h) */
#define SCENE_CHOICE 27   /* how many shapes there are, if materials of geoms differ between worlds; else 0 */
#define SCENE_NADDED 28   /* shapes that were added to the stage */
#define SCENE_ROLES 29    /* 1: mode physical, and materials with textures of other roles than colour, or metallic */
#define SCENE_PATCHES 30  /* the first patch: the size of the header; at most 32 numbers, for they have a bit each */

/* Kernels for parts of a patch: the nearest hits; what keeps lamps' light from them; colours. */
#define PART_ALL 0
#define PART_HITS 1
#define PART_SHADOWS 2
#define PART_COLOURS 3
/*
 * The nearest hit of a pixel, which parts hand over. Reals: depth and normal. Words: the geom; of a mesh the triangle,
 * later the texel and shadows; in mode physical the shares of light; two of roles; two of the sum of several samples.
 */
#define HIT_REALS 4
#define HIT_SHARE 2
#define HIT_ROLES(has) (HIT_SHARE + (int)((has) >> SCENE_PHYSICAL & 1))
#define HIT_SUM(has) (HIT_ROLES(has) + 2 * (int)((has) >> SCENE_ROLES & 1))
#define HIT_WORDS(has, side) (HIT_SUM(has) + 2 * ((side) > 1))

/* A patch: PATCH x PATCH pixels of a camera. */
#define PATCH 16
#define STRIP 8 /* patches of a block on a processor; a GPU has one */
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
#define SHOWN_KIND 3      /* bits: */
#define SHOWN_ENDLESS 1   /* an infinite plane, a surface that deforms: never left out */
#define SHOWN_CORD 2      /* a capsule or cylinder, a piece of a tendon or of a flex */
#define SHOWN_UNDERSIDE 4 /* a plane as seen from below */
#define SHOWN_SOFT 8      /* a surface that deforms: each world has its own */
#define SHOWN_SIZE 4
#define CHUNK 128 /* geoms that a patch culls together: how long its list is */
/* How many rows of geoms to draw there are, in all lists. */
#define SCENE_NROW(scene)                                                                                              \
    (((scene)[SCENE_CLEAR] - (scene)[SCENE_SHOWN]) / SHOWN_SIZE + (scene)[SCENE_NCLEAR] + (scene)[SCENE_NUNDER])
#define BOX_SIZE 14 /* numbers of a geom's box: see cull.k.h */
/* How far apart the numbers of n boxes of k_boxes are: whole vectors may be read at the last one. */
#define BOX_STRIDE(n) ((n) + 16)
/* The order of rows in which those that are near each other follow each other (near.c), GROUP at a time; as long. */
#define SCENE_ORDER(scene) ((scene)[SCENE_SHOWN] + SHOWN_SIZE * SCENE_NROW(scene))
#define GROUP 32
#define GROUPS(n) (((n) + GROUP - 1) / GROUP)
/* Numbers of the boxes of a world: of n rows, then of their groups. */
#define BOXES_SIZE(n) (BOX_SIZE * (BOX_STRIDE(n) + BOX_STRIDE(GROUPS(n))))

/* A geom that reflects: a plane, or a box, whose upper side does. Its number: how much. */
#define LOOK_MIRROR(scene) ((scene)[SCENE_LOOK_HAZE] + HAZE_SIZE + FOG_SIZE) /* where those of the first begin */
#define MIRROR_GEOM 0
#define MIRROR_PRIM 1
#define MIRROR_BOX 2 /* it reflects for all cameras */
#define MIRROR_SIZE 3

/*
 * Ids of a geom, of a site (unused), of others: body and type of a tendon, of a flex, of a skin, whose ids as geoms are
 * -2, -3 … in this order; of a plane's underside, those of the plane.
 */
#define IDS_BODY 0
#define IDS_TYPE 1
#define IDS_GEOM 2
#define IDS_SIZE 3
#define IDS_TENDON (-2)
#define IDS_FLEX (-3)
#define IDS_SKIN (-4)

/* Appearance of a geom. */
#define APPEARANCE_RGB 0
#define APPEARANCE_ALPHA 3
#define APPEARANCE_EMISSION 4  /* times rgb */
#define APPEARANCE_SPECULAR 5  /* times white */
#define APPEARANCE_SHININESS 6 /* exponent */
#define APPEARANCE_SIZE 8

/*
 * Details of a geom, beyond its appearance: its texture (index in `scene`; 0: none), how its surface is mapped to it,
 * and the first corner of its mesh (index in `look`; 0: none). Of a surface that deforms: how many rows after a
 * triangle's own its normals are (soft.k.h); else 0. Textures of other roles, in mode physical (0: none). Its scale:
 * from its frame to that of a unit shape; of a capsule half its length, and the scale along z beyond it; what texture
 * coordinates are multiplied by, and what is added (2 each); its material's roughness and metallic.
 */
#define DETAIL_PRIM 0
#define DETAIL_TEXTURE 1
#define DETAIL_MAP 2
#define DETAIL_CORNER 3
#define DETAIL_NORMALS 4
#define DETAIL_BUMPS 5    /* texture of normals */
#define DETAIL_ORM 6      /* textures of occlusion, roughness, metallic, whose channels 0, 1 and 2 are these */
#define DETAIL_EMISSIVE 9 /* texture of light */
#define DETAIL_METAL 10   /* 1: lit as a metal or not (metal_light), by roughness and metallic */
#define DETAIL_SIZE 11
#define SCALE_LENGTH 3
#define SCALE_END 4
#define SCALE_REPEAT 5
#define SCALE_SHIFT 7
#define SCALE_ROUGHNESS 9
#define SCALE_METALLIC 10
#define SCALE_SIZE 11
#define MAP_CUBE 0
#define MAP_CORNERS 1 /* the texture coordinates of a mesh */
#define MAP_PLANE 2
#define MAP_BOX 3
#define MAP_BALL 4
#define MAP_CAPSULE 5
#define MAP_CYLINDER 6

/* What a mesh has at the corners of a triangle, in the order of its faces: normals (3 x 3), coordinates (3 x 2). */
#define CORNER_NORMAL 0 /* unused where a surface deforms */
#define CORNER_COORD 9
#define CORNER_SIZE 16

/* A texture: numbers of levels, flags; and of each level its first texel (index in `scene`), width and height. */
#define TEXTURE_LEVELS 0
#define TEXTURE_REPEAT 1 /* else the edge goes on */
#define TEXTURE_CUBE 2   /* six faces in each level, one after the other; else one, also for all sides of a cube */
#define TEXTURE_HEAD 3
#define LEVEL_FIRST 0
#define LEVEL_WIDTH 1
#define LEVEL_HEIGHT 2
#define LEVEL_SIZE 3
#define TEXEL_UNIT (1.0 / 255)
#define TEXEL_BITS 10 /* a channel in mode physical */
#define TEXEL_MOST 1023

/* Haze: its colour; where it begins, as a part of its radius from the end; its radius; the height of its thickest. */
#define HAZE_RGB 0
#define HAZE_WIDTH 3
#define HAZE_RADIUS 4
#define HAZE_THICK 5
#define HAZE_SIZE 6

/* Fog: its colour; the depth from which on it hides all; 1 over that less where it begins; how far the sky is. */
#define FOG_RGB 0
#define FOG_END 3
#define FOG_SCALE 4
#define FOG_SKY 5
#define FOG_SIZE 6

/* A lamp in `scene`. */
#define LAMP_PRIM 0 /* -1: the camera */
#define LAMP_POSITIONAL 1
/*
 * 0: casts none; else a bit of a pixel's word that says that it is in this lamp's. Mode physical: 1 + the first bit of
 * the share of its light, of SHADOW_RAYS, in a word of its own.
 */
#define LAMP_SHADOW 2
#define LAMP_SHADOW_BIT 24 /* the first lamp's; below it, a word has a texel's colour */
#define LAMP_SHADOW_MOST 7 /* lamps; others cast none */
#define SHADOW_RAYS 15     /* to a bulb, at most; a share takes SHADOW_BITS bits */
#define SHADOW_BITS 4
#define LAMP_MOST 8 /* with the headlight, which is the first; MuJoCo, too, leaves out what comes after */
#define LAMP_INTS 3

/* A lamp in `look`. */
#define LAMP_AMBIENT 0
#define LAMP_DIFFUSE 3
#define LAMP_SPECULAR 6
#define LAMP_ATTENUATION 9 /* constant, a metre, a square metre */
#define LAMP_CUTOFF 12     /* cosine of the cone's half angle; below -1: no cone */
#define LAMP_EXPONENT 13
#define LAMP_RADIUS 14 /* of its bulb, metres; 0: shadows are hard */
#define LAMP_REALS 15

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
