/*
 * What is known of the surface points that pixels show: their motion since the world was last rendered, and their place
 * in the frame of their body (surface.k.h). Made after the rays are cast, from the pictures of depths and geoms.
 */
#ifndef STI_RENDER_SURFACE_H
#define STI_RENDER_SURFACE_H

#include "render/render.h"

typedef struct sti_surface {
    stet_stage *stage;
    stet_array *owner;  /* INT [ngeom + shapes][2]: prims of geoms, and of their bodies; NULL: to be made */
    uint64_t since;     /* generation of the set of shapes that had transforms then */
    stet_array *before; /* REAL [nworld][nitem]: world transforms when a world was last rendered; NULL: never */
} sti_surface;

/* What the renderer has for its own launch. */
typedef struct sti_surface_rows {
    stet_array *worlds, *scene, *lens;
    int lens_stride, n, npatch;
} sti_surface_rows;

/* Allocates what `target` needs. Does nothing from the second call on, unless the stage has grown. */
stet_result sti_surface_prepare(sti_surface *surface, const sti_render_target *target);
/* Fills the buffers MOTION and BODY_POINT of n worlds, and keeps the worlds' transforms for the next time. */
stet_result sti_surface_run(sti_surface *surface, const sti_surface_rows *rows, const sti_render_target *target);
/* The stage has other shapes. */
void sti_surface_forget(sti_surface *surface);
void sti_surface_free(sti_surface *surface);

#endif
