/*
 * Details of geoms for the renderer, as MuJoCo's classic renderer draws them: textures and how they lie on a geom,
 * smooth normals of meshes. Parts of the tables of scene.k.h.
 */
#ifndef STI_RENDER_DETAIL_H
#define STI_RENDER_DETAIL_H

#include "geom/soft.h"
#include "stage/stage.h"

/* What of a model's textures and meshes is drawn, and where it goes, from the first number of all of it on. */
typedef struct sti_details {
    bool physical;    /* mode physical, which has materials that are metallic, and textures of other roles */
    int64_t *texture; /* [ntex]; -1: not drawn */
    int64_t *values;  /* [ntex]: where a texture's bytes are not colours, but values of 0 … 1; -1: nowhere */
    int64_t *corner;  /* [nmesh]; -1: no corners are needed */
    int64_t soft;     /* the first corner of surfaces that deform, one after the other */
    int64_t ntexel, ncorner;
    int sky; /* the texture of the sky; -1: none */
} sti_details;

/* What details depend on, of a geom or of a shape that was added. */
typedef struct sti_form {
    int type, mesh, material; /* mjtGeom; -1: none */
    const mjtNum *size;       /* 3 */
} sti_form;

sti_form sti_form_of_geom(const mjModel *m, ptrdiff_t geom);
sti_form sti_form_of_site(const mjModel *m, ptrdiff_t site);
sti_form sti_form_of_shape(const sti_shape *shape);

/*
 * drawn: a flag for each geom, then for each site. soft: the surfaces that deform, and shapes: those that were added;
 * all are drawn. choice: geoms may get any of the materials; meshed: and those with meshes any of these.
 */
stet_result sti_details_plan(const mjModel *m, const bool *drawn, const sti_soft *soft, const sti_shapes *shapes,
                             bool choice, bool meshed, bool physical, sti_details *out);
/*
 * With `choice`, behind the rows of the nshape shapes: how many rows there are, and that of a geom with a mesh (-1:
 * none) and a material.
 */
int64_t sti_details_choices(const mjModel *m, bool meshed);
int sti_details_row(const mjModel *m, int nshape, bool meshed, ptrdiff_t geom, int mesh, int material);
void sti_details_free(sti_details *details);
/* Fills rows of a form (DETAIL_SIZE, SCALE_SIZE), where textures begin at `textures` and corners at `corners`. */
void sti_details_form(const sti_details *details, const mjModel *m, const sti_form *form, int textures, int corners,
                      int *row, double *scale);
/* How a picture lies on a form: a scale (SCALE_SIZE), but for its last two numbers; returns MAP_…, or -1: none does. */
int sti_details_scale(bool physical, const mjModel *m, const sti_form *form, double *scale);
/* The same of a surface that deforms, and its corners. */
void sti_details_soft(const sti_details *details, const mjModel *m, const sti_soft_surface *surface, int textures,
                      int corners, int *row, double *scale, double *look);
/* The same of what has neither textures nor corners, by its material alone. */
void sti_details_plain(const sti_details *details, const mjModel *m, ptrdiff_t material, int *row, double *scale);
/* Fills all textures and corners of the tables. */
void sti_details_fill(const sti_details *details, const mjModel *m, int textures, int *scene, double *corners);
/* Does mode physical draw the texture that a material has in this role, other than colour? */
bool sti_role_drawn(const mjModel *m, ptrdiff_t material, int role);

/* The texture that is drawn of an object of sti_soft_object, with coordinates or without; -1: none. */
int sti_soft_texture(const mjModel *m, int object, bool coordinates);

/* ---- one texture */

bool sti_texture_drawn(const mjModel *m, int texture);
bool sti_texture_has_values(const mjModel *m, int texture); /* a picture, also of one channel */
bool sti_texture_is_cube(const mjModel *m, int texture);
int64_t sti_texture_size(const mjModel *m, int texture); /* numbers of its block */
/* Texels as mode mujoco has them, as mode physical has them (tone.k.h), and these of bytes that are not colours. */
typedef enum sti_texels { STI_TEXELS_BYTES, STI_TEXELS_LINEAR, STI_TEXELS_VALUES } sti_texels;
void sti_texture_fill(const mjModel *m, int texture, sti_texels kind, int *scene, int at);
double sti_linear_of_srgb(double c); /* 0 … 1, and beyond it on the same curve */

#endif
