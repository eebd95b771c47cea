/*
 * What code that is made for one scene knows of it. On a GPU the renderer defines these (renderer.c), so code has
 * only what the scene needs, often less than half of all. Elsewhere code is for all scenes. Part of render.k.h.
 */
#ifndef SCENE_HAS
#define SCENE_HAS 0xffffffff /* numbers of the scene's header that are not 0, a bit each */
#endif
#ifndef RENDER_SIDE
#define RENDER_SIDE 0 /* of the grid of a pixel's samples; 0: any */
#endif
#ifndef RENDER_COLOURS
#define RENDER_COLOURS 1 /* 0: neither colours nor albedo are asked for */
#endif
#ifndef MAY_BE_MANY
#define MAY_BE_MANY 1 /* 0: no list of geoms is longer than CHUNK */
#endif
#ifndef RENDER_PART
#define RENDER_PART PART_ALL /* what of a patch is done, see scene.k.h */
#endif

/* A number of the scene's header; by name: rows.inl. */
LFN int scene_number(const int *scene, int entry) { return SCENE_HAS >> entry & 1 ? scene[entry] : 0; }
#define MAY_BE_PHYSICAL (SCENE_HAS >> SCENE_PHYSICAL & 1)
#define MAY_HAVE_ROLES (SCENE_HAS >> SCENE_ROLES & 1)
#define DOES_PART(part) (RENDER_PART == PART_ALL || RENDER_PART == (part))
/* Memory of a block for n numbers of a patch, of which parts hand over theirs. */
#define OWN(n) (RENDER_PART == PART_ALL ? (n) : 1)
