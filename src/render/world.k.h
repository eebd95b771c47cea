/*
 * What functions of the renderer pass on, each as one parameter: a scene in a world, its surfaces, a patch of a
 * picture, its hits, its lists of geoms, the pictures. Part of render.k.h and stand.k.h.
 */

/* A scene in one world: what culling, lamps and mirrors read. */
typedef struct rd_world {
    const wreal *xform;         /* transforms of prims: nitem numbers a world */
    int nitem, world;           /* the number of the world */
    const int *scene;           /* scene.k.h; its header by name: nlamp(w) */
    const ureal *own;           /* this world's rows of appearance and of lamps */
    const ureal *size, *bounds; /* of its shapes (geom/geom.h) */
} rd_world;

/* What rays and colours read of its surfaces. */
typedef struct rd_surfaces {
    const int *data; /* this world's; geom/geom.h, as the next three */
    const ureal *node, *tri, *elevation;
    const ureal *look;   /* scene.k.h */
    const ureal *scales; /* this world's */
    const int *choice;   /* the shapes' rows of details in it, if materials differ */
} rd_surfaces;

/* A patch of a camera's picture, as a round of rays sees it. */
typedef struct rd_patch {
    const ureal *view, *pyramid;  /* view.k.h */
    const ureal *glass;           /* of the mirror (mirror.k.h) */
    const ureal *lamps;           /* places of lamps, LAMP_PLACE numbers each */
    int flat;                     /* orthographic */
    int x, y, width, height;      /* its first pixel; of the picture */
    int mirror, mirrored, sample; /* number of the mirror that it may show, 0: none; whether this is what it shows */
    int bare;                     /* normals of hits are not wanted */
    ureal near;                   /* rays hit nothing nearer; of rays in a mirror, from there on */
} rd_patch;

/* The nearest hits of its pixels, PIXELS of each; see HIT_REALS. */
typedef struct rd_hits {
    ureal *best; /* depth and normal */
    int *geom, *part, *share, *further, *sum;
    ureal *kept;  /* KEPT_SIZE rows */
    int *blocked; /* rays to a bulb that meet something, a bit each */
} rd_hits;

/* A block's memory for geoms that a patch may show (cull.k.h). */
typedef struct rd_lists {
    const ureal *boxes; /* of this world, of k_boxes, or absent */
    int *flag, *list;   /* FLAG_SIZE and LIST_SIZE numbers */
    ureal *candidate;   /* CANDIDATES numbers */
    ureal *tubes;       /* PYRAMID_SIZE numbers for each lamp */
} rd_lists;

/* Pyramids that geoms are tested against: `which` has a bit for each; 1 where lanes are geoms. */
typedef struct rd_beams {
    const ureal *view, *pyramid; /* where they begin; PYRAMID_SIZE numbers each */
    int which;
} rd_beams;

/* The n geoms that were listed of rows of geoms to draw, `shown`. */
typedef struct rd_found {
    const ureal *candidate;
    const int *list;
    int n;
    const int *shown;
} rd_found;

/* Pictures that are wanted, absent where not; the tile table: first pixel and pitch of each tile of each buffer. */
typedef struct rd_pictures {
    int *colour;
    ureal *depth, *distance, *normal;
    int *albedo, *geom, *body, *type;
    const i64 *first;
    const int *pitch;
    int rows, ntile, tile; /* the buffers' rows in the table, ROW_BITS bits each; tiles of a row; this patch's tile */
} rd_pictures;

LFN void xform_of(const wreal *xform, int nitem, int world, int prim, ureal *m)
{
    for (int k = 0; k < 12; ++k) m[k] = of_world(xform, nitem, world, prim * 12 + k);
}

/* The transform of a prim, 3 x 4 by rows. */
LFN void prim_xform(rd_world w, int prim, ureal *m) { xform_of(w.xform, w.nitem, w.world, prim, m); }
