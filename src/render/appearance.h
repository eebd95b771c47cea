/*
 * The look of a model, worked out once on the host: what is drawn, materials, lamps, sky.
 *
 * Drawn are geoms of the groups 0, 1 and 2 (MuJoCo's own default; collision geoms usually are in group 3) whose colour
 * has an alpha above 0. Between 0 and 1 they are opaque. The colour is MuJoCo's: the geom's own where it has one (is
 * not MuJoCo's default grey), else its material's. A texture is not drawn yet as such: its mean colour multiplies.
 */
#ifndef STI_RENDER_APPEARANCE_H
#define STI_RENDER_APPEARANCE_H

#include "stage/stage.h"

/* Geom groups that are drawn, a bit each. */
enum { STI_SHOWN_GROUPS = 1 << 0 | 1 << 1 | 1 << 2 };

/* Plain arrays; their rows are described in cull.k.h, shade.k.h and sky.k.h. Each has at least one row. */
typedef struct sti_appearance {
    int nshown, nlamp, nsky;
    stet_array *shown;      /* INT [nshown * 4] */
    stet_array *ids;        /* INT [ngeom * 2]: body and type */
    stet_array *appearance; /* REAL [ngeom * 8] */
    stet_array *lamp_info;  /* INT [nlamp * 2] */
    stet_array *lamp;       /* REAL [nlamp * 16] */
    stet_array *sky;        /* REAL [nsky * 3]; nsky 0: black */
} sti_appearance;

/* On failure everything is freed and *look is empty. */
stet_result sti_appearance_init(sti_appearance *appearance, stet_stage *stage);
void sti_appearance_free(sti_appearance *appearance);

/* A plain array of n numbers (n may be 0: then one zero); the numbers are rounded to the device's real. */
stet_result sti_reals_new(stet_device *device, const char *name, int64_t n, const double *values, stet_array **out);
stet_result sti_reals_write(stet_array *array, int64_t n, const double *values);
stet_result sti_ints_new(stet_device *device, const char *name, int64_t n, const int *values, stet_array **out);

/* Colours by the sine of elevation, straight down first, [n][3], of a skybox; false if the model has none. */
bool sti_sky_colours(const mjModel *m, int n, double *rgb);
/* Mean colour of a texture, 0 … 1. */
void sti_texture_mean(const mjModel *m, int texture, double rgb[3]);

#endif
