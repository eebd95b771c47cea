/*
 * The appearance of a model, computed once on the host: geoms to draw, materials, details, lamps, sky.
 *
 * Drawn are geoms of the chosen groups (by default 0, 1 and 2 as in MuJoCo; collision geoms are usually in group 3)
 * whose colour has an alpha above 0; those below 0.995 are transparent in colours (blend.k.h), and opaque in depth and
 * ids. The colour is MuJoCo's: the geom's own unless it is MuJoCo's default grey, else the material's. Textures and
 * smooth normals: detail.h. Sites of the groups 0, 1 and 2 are drawn in colours alone, and spatial tendons, flexes and
 * skins of these groups everywhere; tendons and flexes of one dimension without textures. Shapes that were added to the
 * stage are drawn as geoms.
 */
#ifndef STI_RENDER_APPEARANCE_H
#define STI_RENDER_APPEARANCE_H

#include "geom/soft.h"
#include "render/render.h"
#include "stage/stage.h"

/* What cameras show: patches of all cameras, rows as in scene.k.h; and how. */
typedef struct sti_patches {
    int *row;
    int n, ncamera;
    bool fisheye; /* at least one camera */
    bool choice;  /* materials or meshes of geoms differ between worlds */
    bool meshed;  /* meshes do */
    bool sized;   /* sizes of geoms do */
    sti_drawing drawing;
} sti_patches;

/* Is a group one of `groups`? As MuJoCo, a negative group counts as 0, and those above 5 are never drawn. */
bool sti_group_in(int group, uint32_t groups);
bool sti_tendon_drawn(const mjModel *m, ptrdiff_t tendon);
/* The same for an object of sti_soft_object: a flex, or nflex + a skin. */
bool sti_soft_drawn(const mjModel *m, int object);
const float *sti_soft_colour(const mjModel *m, int object); /* its rgba in the model */
/* False: it is MuJoCo's default, which stands for the material's colour. */
bool sti_has_own_colour(const float *rgba);
/* A row of appearance (scene.k.h) from a material (-1: none, MuJoCo's defaults) and an object's own colour. */
void sti_appearance_of(const mjModel *m, ptrdiff_t material, const float *rgba, double *row);

/*
 * Is a light of the model a lamp? Not if it is off, or an image of the surroundings; nor, in mode mujoco, if it is a
 * point: mjv_updateScene gives points a cone of no angle, so MuJoCo's classic renderer shows nothing of them.
 */
bool sti_lamp_shines(const mjModel *m, int light, bool physical);
void sti_lamp_of_model(const mjModel *m, int light, double *row, int *info);
/* The headlight shines from the camera along its viewing direction. */
void sti_lamp_of_head(const mjModel *m, double *row, int *info);

/* The two tables of scene.k.h, plain arrays. */
typedef struct sti_appearance {
    stet_array *scene; /* INT */
    stet_array *look;  /* REAL */
    unsigned has;      /* numbers of the scene's header that are not 0, a bit each */
    int nbox;          /* of k_boxes, if a list has more than CHUNK geoms; else 0 */
    unsigned types;    /* of what is drawn, bits 1 << mjtGeom */
    double *own;       /* [nown]: a copy of the rows of appearance and of lamps, which `look` begins with */
    int64_t nown;
    double *scales; /* [nscale]: a copy of those of `look` */
    int nscale;
    int nlamp, nshape; /* nshape: rows of appearance, with those of shapes that were added */
    int light[8];      /* [nlamp], of LAMP_MOST: lights of the model; -1: the headlight */
} sti_appearance;

/*
 * soft: the surfaces that deform. A failure frees everything and leaves *appearance empty. STET_ERROR_LIMIT: the
 * patches are too many for one table.
 */
stet_result sti_appearance_init(sti_appearance *appearance, stet_stage *stage, const sti_soft *soft,
                                const sti_patches *patches);
void sti_appearance_free(sti_appearance *appearance);

/*
 * Puts the lists of tables with this header in the order in which surfaces hide those that lie in them: the last geom
 * first, and mirrors, of which there is a list already, last. One order for colours and ids: a ray of both is cast
 * once.
 */
void sti_lists_order(int *head);
/* Puts the three lists next to each other; that of the opaque is that of all, where they are equal. */
void sti_lists_close_up(int *head);

/*
 * Fills the order of all rows of geoms to draw of tables with this header: those of a list that are near each other in
 * the first world, as it is now, follow each other. No result depends on it.
 */
stet_result sti_near_order(stet_stage *stage, const int *head, int *order);

/* Radius and half the height of the upright cylinder around the camera that MuJoCo draws the sky on, metres. */
double sti_sky_distance(const mjModel *m);
/* The row of OpenGL's linear fog; where it begins and ends at once it is 1 m thick, as Mesa has it. */
void sti_fog_row(const mjModel *m, double *row);

/* Creates a plain array of n numbers, rounded to the device's real. */
stet_result sti_reals_new(stet_device *device, const char *name, int64_t n, const double *values, stet_array **out);
stet_result sti_reals_write(stet_array *array, int64_t n, const double *values);

#endif
