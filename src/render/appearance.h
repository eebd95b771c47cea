/*
 * The appearance of a model, computed once on the host: geoms to draw, materials, lamps, sky.
 *
 * Drawn are geoms of the groups 0, 1 and 2 (MuJoCo's default; collision geoms are usually in group 3) whose colour has
 * an alpha above 0. An alpha between 0 and 1 is drawn opaque. The colour is MuJoCo's: the geom's own unless it is
 * MuJoCo's default grey, else the material's. A texture is not drawn; its mean colour multiplies.
 */
#ifndef STI_RENDER_APPEARANCE_H
#define STI_RENDER_APPEARANCE_H

#include "stage/stage.h"

/* Groups of geoms that are drawn, one bit each. */
enum { STI_SHOWN_GROUPS = 1 << 0 | 1 << 1 | 1 << 2 };

/* Patches of all cameras: rows as in scene.k.h. */
typedef struct sti_patches {
    int *row;
    int n, ncamera;
} sti_patches;

/* The two tables of scene.k.h, plain arrays. */
typedef struct sti_appearance {
    stet_array *scene; /* INT */
    stet_array *look;  /* REAL */
} sti_appearance;

/* A failure frees everything and leaves *appearance empty. STET_ERROR_LIMIT: the patches are too many for one table. */
stet_result sti_appearance_init(sti_appearance *appearance, stet_stage *stage, const sti_patches *patches);
void sti_appearance_free(sti_appearance *appearance);

/* Creates a plain array of n numbers, rounded to the device's real. */
stet_result sti_reals_new(stet_device *device, const char *name, int64_t n, const double *values, stet_array **out);
stet_result sti_reals_write(stet_array *array, int64_t n, const double *values);

/* Colours of a skybox by the sine of elevation, from straight down up, [n][3]; false if the model has no skybox. */
bool sti_sky_colours(const mjModel *m, int n, double *rgb);
/* Mean colour of a texture, 0 … 1. */
void sti_texture_mean(const mjModel *m, int texture, double rgb[3]);

#endif
