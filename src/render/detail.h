/*
 * Details of geoms for the renderer, as MuJoCo's classic renderer draws them: textures and how they lie on a geom,
 * smooth normals of meshes. Parts of the tables of scene.k.h.
 */
#ifndef STI_RENDER_DETAIL_H
#define STI_RENDER_DETAIL_H

#include "stage/stage.h"

/* What of a model's textures and meshes is drawn, and where it goes, from the first number of all of it on. */
typedef struct sti_details {
    int64_t *texture; /* [ntex]; -1: not drawn */
    int64_t *corner;  /* [nmesh]; -1: no corners are needed */
    int64_t ntexel, ncorner;
    int sky; /* the texture of the sky; -1: none */
} sti_details;

/* drawn: a flag for each geom. */
stet_result sti_details_plan(const mjModel *m, const bool *drawn, sti_details *out);
void sti_details_free(sti_details *details);
/* Fills rows of a geom (DETAIL_SIZE, SCALE_SIZE), where textures begin at `textures` and corners at `corners`. */
void sti_details_geom(const sti_details *details, const mjModel *m, int geom, int textures, int corners, int *row,
                      double *scale);
/* Fills all textures and corners of the tables. */
void sti_details_fill(const sti_details *details, const mjModel *m, int textures, int *scene, double *corners);

/* ---- one texture */

bool sti_texture_drawn(const mjModel *m, int texture);
bool sti_texture_is_cube(const mjModel *m, int texture);
int64_t sti_texture_size(const mjModel *m, int texture); /* numbers of its block */
void sti_texture_fill(const mjModel *m, int texture, int *scene, int at);

#endif
