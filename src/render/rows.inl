/*
 * The renderer's numbers by name: a line each, from which cmake/StetRender.cmake counts (render/names.k.h in the build
 * tree), for the kernels and for the host's code that fills the tables (appearance.c, detail.c, renderer.c).
 *
 *   NUMBER(name, accessor)   a number of the header of `scene`; kernels read it as accessor(w), w a rd_world
 *   ROW(what)                from here on counts begin at 0
 *   FIELD(name, n)           n numbers of a row, or n values
 *   WIDTH(name, unit)        how many numbers the row has: a multiple of the unit
 *
 * A new number is a line here; what reads rows finds it where it is now.
 */

/* The header: sizes, then the index of the first number of each kind of row in `scene` and in `look`. */
NUMBER(SCENE_NCAMERA, ncamera)
NUMBER(SCENE_NTILE, ntile) /* worlds * cameras */
NUMBER(SCENE_NPATCH, npatch)
NUMBER(SCENE_NSHOWN, nshown)
NUMBER(SCENE_NLAMP, nlamp)
NUMBER(SCENE_SKY, sky_at) /* the skybox in `scene`; 0: none */
NUMBER(SCENE_SHOWN, shown_at)
NUMBER(SCENE_IDS, ids_at)
NUMBER(SCENE_LAMPS, lamps_at)
NUMBER(SCENE_LOOK_LAMPS, look_lamps_at)
NUMBER(SCENE_LOOK_SCALE, look_scale_at)
NUMBER(SCENE_DETAIL, details_at) /* 0: no geom has details */
/* Rows like those of geoms to draw, after these: the opaque ones, or the same rows, where the lists are equal. */
NUMBER(SCENE_SOLID, solid_at)
NUMBER(SCENE_NSOLID, nsolid)
NUMBER(SCENE_CLEAR, clear_at) /* the transparent ones */
NUMBER(SCENE_NCLEAR, nclear)
NUMBER(SCENE_NSHADOW, nshadow) /* lamps that cast shadows */
NUMBER(SCENE_HAZE, haze_prim)  /* the prim of the endless plane that has haze above it, plus 1; 0: none */
NUMBER(SCENE_LOOK_HAZE, look_haze_at)
NUMBER(SCENE_NSITE, nsite)        /* sites, which only colours show; their rows follow those of geoms to draw */
NUMBER(SCENE_TENDON, has_tendons) /* 1: tendons, flexes or skins are drawn */
/* Undersides of planes, transparent in colours; their rows follow the transparent ones. */
NUMBER(SCENE_NUNDER, nunder)
NUMBER(SCENE_MIRROR, mirrors_at) /* geoms that reflect; the first one that the camera is above does */
NUMBER(SCENE_NMIRROR, nmirror)
NUMBER(SCENE_FOG, fog_at)           /* the fog in `look`; 0: none */
NUMBER(SCENE_FISHEYE, has_fisheyes) /* 1: a camera is a fisheye */
NUMBER(SCENE_PHYSICAL, is_physical) /* 1: mode physical: numbers of `look` and texels are linear light (tone.k.h) */
NUMBER(SCENE_CHOICE, nchoice)       /* how many shapes there are, if materials of geoms differ between worlds; else 0 */
NUMBER(SCENE_NADDED, nadded)        /* shapes that were added to the stage */
NUMBER(SCENE_ROLES, has_roles) /* 1: mode physical, and materials with textures of other roles, or metallic ones */
NUMBER(SCENE_PATCHES, patches_at) /* the first patch: the size of the header; at most 32 numbers: they have a bit each */

ROW(kernels for parts of a patch)
FIELD(PART_ALL, 1)
FIELD(PART_HITS, 1) /* the nearest hits */
FIELD(PART_SHADOWS, 1) /* what keeps lamps' light from them */
FIELD(PART_COLOURS, 1)

ROW(a patch: PATCH x PATCH pixels of a camera)
FIELD(PATCH_CAMERA, 1)
FIELD(PATCH_X, 1)
FIELD(PATCH_Y, 1)
FIELD(PATCH_PRIM, 1)
FIELD(PATCH_WIDTH, 1)
FIELD(PATCH_HEIGHT, 1)
FIELD(PATCH_FLAT, 1) /* orthographic */
WIDTH(PATCH_SIZE, 8)

ROW(a geom to draw)
FIELD(SHOWN_GEOM, 1)
FIELD(SHOWN_PRIM, 1)
FIELD(SHOWN_TYPE, 1)
FIELD(SHOWN_KIND, 1) /* bits SHOWN_… */
WIDTH(SHOWN_SIZE, 1)

ROW(a geom that reflects: a plane or a box whose upper side does)
FIELD(MIRROR_GEOM, 1)
FIELD(MIRROR_PRIM, 1)
FIELD(MIRROR_BOX, 1) /* it reflects for all cameras */
WIDTH(MIRROR_SIZE, 1)

/*
 * Of a geom, of a site (unused), of others: body and type of a tendon, of a flex, of a skin, whose ids as geoms are
 * -2, -3 … in this order; of a plane's underside, those of the plane.
 */
ROW(ids)
FIELD(IDS_BODY, 1)
FIELD(IDS_TYPE, 1)
FIELD(IDS_GEOM, 1)
WIDTH(IDS_SIZE, 1)

ROW(appearance of a geom)
FIELD(APPEARANCE_RGB, 3)
FIELD(APPEARANCE_ALPHA, 1)
FIELD(APPEARANCE_EMISSION, 1) /* times rgb */
FIELD(APPEARANCE_SPECULAR, 1) /* times white */
FIELD(APPEARANCE_SHININESS, 1) /* exponent */
WIDTH(APPEARANCE_SIZE, 8)

ROW(details of a geom beyond its appearance)
FIELD(DETAIL_PRIM, 1)
FIELD(DETAIL_TEXTURE, 1) /* index in `scene`; 0: none */
FIELD(DETAIL_MAP, 1) /* how its surface is mapped to it: MAP_… */
FIELD(DETAIL_CORNER, 1) /* the first corner of its mesh, index in `look`; 0: none */
FIELD(DETAIL_NORMALS, 1) /* of a surface that deforms: how many rows after a triangle's own its normals are (soft.k.h) */
FIELD(DETAIL_BUMPS, 1) /* in mode physical: texture of normals; 0: none */
FIELD(DETAIL_ORM, 3) /* textures of occlusion, roughness, metallic, whose channels 0, 1 and 2 are these */
FIELD(DETAIL_EMISSIVE, 1) /* texture of light */
FIELD(DETAIL_METAL, 1) /* 1: lit as a metal or not (metal_light), by roughness and metallic */
WIDTH(DETAIL_SIZE, 1)

ROW(scale of a geom)
FIELD(SCALE_UNIT, 3) /* from its frame to that of a unit shape */
FIELD(SCALE_LENGTH, 1) /* of a capsule half its length */
FIELD(SCALE_END, 1) /* and the scale along z beyond it */
FIELD(SCALE_REPEAT, 2) /* what texture coordinates are multiplied by */
FIELD(SCALE_SHIFT, 2) /* and what is added */
FIELD(SCALE_ROUGHNESS, 1) /* its material's */
FIELD(SCALE_METALLIC, 1)
WIDTH(SCALE_SIZE, 1)

ROW(maps of a surface)
FIELD(MAP_CUBE, 1)
FIELD(MAP_CORNERS, 1) /* the texture coordinates of a mesh */
FIELD(MAP_PLANE, 1)
FIELD(MAP_BOX, 1)
FIELD(MAP_BALL, 1)
FIELD(MAP_CAPSULE, 1)
FIELD(MAP_CYLINDER, 1)

ROW(what a mesh has at the corners of a triangle in the order of its faces)
FIELD(CORNER_NORMAL, 9) /* unused where a surface deforms */
FIELD(CORNER_COORD, 6)
WIDTH(CORNER_SIZE, 16)

ROW(a texture: its head, then its levels)
FIELD(TEXTURE_LEVELS, 1) /* how many */
FIELD(TEXTURE_REPEAT, 1) /* else the edge goes on */
FIELD(TEXTURE_CUBE, 1) /* six faces in each level, one after the other; else one, also for all sides of a cube */
WIDTH(TEXTURE_HEAD, 1)

ROW(a level of a texture)
FIELD(LEVEL_FIRST, 1) /* its first texel, index in `scene` */
FIELD(LEVEL_WIDTH, 1)
FIELD(LEVEL_HEIGHT, 1)
WIDTH(LEVEL_SIZE, 1)

ROW(haze)
FIELD(HAZE_RGB, 3)
FIELD(HAZE_WIDTH, 1) /* where it begins, as a part of its radius from the end */
FIELD(HAZE_RADIUS, 1)
FIELD(HAZE_THICK, 1) /* the height of its thickest */
WIDTH(HAZE_SIZE, 1)

ROW(fog)
FIELD(FOG_RGB, 3)
FIELD(FOG_END, 1) /* the depth from which on it hides all */
FIELD(FOG_SCALE, 1) /* 1 over that less where it begins */
FIELD(FOG_SKY, 1) /* how far the sky is */
WIDTH(FOG_SIZE, 1)

ROW(a lamp in `scene`)
FIELD(LAMP_PRIM, 1) /* -1: the camera */
FIELD(LAMP_POSITIONAL, 1)
/*
 * 0: casts none; else a bit of a pixel's word that says that it is in this lamp's. Mode physical: 1 + the first bit of
 * the share of its light, of SHADOW_RAYS, in a word of its own.
 */
FIELD(LAMP_SHADOW, 1)
WIDTH(LAMP_INTS, 1)

ROW(a lamp in `look`)
FIELD(LAMP_AMBIENT, 3)
FIELD(LAMP_DIFFUSE, 3)
FIELD(LAMP_SPECULAR, 3)
FIELD(LAMP_ATTENUATION, 3) /* constant, a metre, a square metre */
FIELD(LAMP_CUTOFF, 1) /* cosine of the cone's half angle; below -1: no cone */
FIELD(LAMP_EXPONENT, 1)
FIELD(LAMP_RADIUS, 1) /* of its bulb, metres; 0: shadows are hard */
WIDTH(LAMP_REALS, 1)

ROW(a lamp in a world)
FIELD(LAMP_POSITION, 3) /* world frame */
FIELD(LAMP_DIRECTION, 3) /* unit */
WIDTH(LAMP_PLACE, 1)

ROW(buffers of pixels: numbered as sti_picture_buffer)
FIELD(BUFFER_COLOUR, 1)
FIELD(BUFFER_DEPTH, 1)
FIELD(BUFFER_DISTANCE, 1)
FIELD(BUFFER_NORMAL, 1)
FIELD(BUFFER_ALBEDO, 1)
FIELD(BUFFER_GEOM, 1)
FIELD(BUFFER_BODY, 1)
FIELD(BUFFER_TYPE, 1)

/*
 * For across and down the middle of the picture and the size of a pixel on the plane one metre in front of the eye
 * (orthographic: in metres; fisheye: in radians), and the number of pixels from the edge to the middle.
 */
ROW(a lens)
FIELD(LENS_PLANE, 6)
FIELD(LENS_NEAR, 1) /* depth of the near plane */
FIELD(LENS_FAR, 1)
FIELD(LENS_FISHEYE, 1) /* 1: it is one */
WIDTH(LENS_SIZE, 1)

ROW(a view: view.k.h)
FIELD(VIEW_EYE, 3)
FIELD(VIEW_RIGHT, 3) /* axes, unit, world frame */
FIELD(VIEW_UP, 3)
FIELD(VIEW_BACK, 3)
FIELD(VIEW_LENS, 6) /* and the rest of the lens */
FIELD(VIEW_NEAR, 1)
FIELD(VIEW_FAR, 1)
FIELD(VIEW_FISHEYE, 1)
WIDTH(VIEW_SIZE, 1)

ROW(the box of a geom: box.k.h)
FIELD(BOX_CENTRE, 3) /* world frame, as the edges */
FIELD(BOX_EDGE, 9) /* half of its three edges as vectors */
FIELD(BOX_SLACK, 1) /* what the slack of tests grows with */
FIELD(BOX_RADIUS, 1) /* of the ball around it; only where lanes are geoms */
WIDTH(BOX_SIZE, 1)

ROW(a candidate of a patch: trace.k.h)
FIELD(CANDIDATE_AXES, 9) /* the camera's axes in the geom's frame: columns right, up, back */
FIELD(CANDIDATE_EYE, 3) /* in that frame */
FIELD(CANDIDATE_SHAPE, 4) /* the geom's size and radius (geom/geom.h) */
FIELD(CANDIDATE_BALL, 4) /* a ball around it: its centre from the eye in the camera's axes, its radius */
WIDTH(CANDIDATE_SIZE, 1)

ROW(what lamps need of a patch's hits: pixel.k.h)
FIELD(KEPT_FAR, 1)
FIELD(KEPT_NORMAL, 3)
FIELD(KEPT_WAY, 3)
FIELD(KEPT_POINT, 3)
WIDTH(KEPT_SIZE, 1)

