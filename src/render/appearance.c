/* Tables of geoms, materials and lamps for the renderer. */
#include "render/appearance.h"

#include "render/scene.k.h"

#include <math.h>
#include <string.h>

enum { NSKY = 65 };

/* Host copies of both tables while they are filled. */
typedef struct scene_rows {
    int *scene;
    double *look;
    int64_t nscene, nlook;
} scene_rows;

stet_result sti_reals_write(stet_array *array, int64_t n, const double *values)
{
    if (stet_dtype_size(array->device, STET_DTYPE_REAL) == sizeof(double))
        return stet_array_write(array, values, (size_t)n * sizeof(double));
    float *rounded;
    STI_TRY(sti_alloc(&rounded, (size_t)n * sizeof(float), array->name));
    for (int64_t i = 0; i < n; ++i) rounded[i] = (float)values[i];
    stet_result result = stet_array_write(array, rounded, (size_t)n * sizeof(float));
    sti_free(rounded);
    return result;
}

stet_result sti_reals_new(stet_device *device, const char *name, int64_t n, const double *values, stet_array **out)
{
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_REAL, false, out, n));
    return sti_reals_write(*out, n, values);
}

/*
 * ---- geoms
 * ------------------------------------------------------------------------------------------------------------
 */

static bool own_colour(const float *rgba)
{
    return rgba[0] != 0.5f || rgba[1] != 0.5f || rgba[2] != 0.5f || rgba[3] != 1;
}

static void geom_texture(const mjModel *m, ptrdiff_t material, double rgb[3])
{
    const int *roles = &m->mat_texid[material * mjNTEXROLE];
    int texture = roles[mjTEXROLE_RGB] >= 0 ? roles[mjTEXROLE_RGB] : roles[mjTEXROLE_RGBA];
    if (texture < 0) return;
    double mean[3];
    sti_texture_mean(m, texture, mean);
    for (int k = 0; k < 3; ++k) rgb[k] *= mean[k];
}

/* A row of `appearance`: r g b a, emission, specular, exponent. Without a material: MuJoCo's defaults. */
static void geom_appearance(const mjModel *m, ptrdiff_t geom, double *row)
{
    ptrdiff_t material = m->geom_matid[geom];
    const float *rgba = &m->geom_rgba[4 * geom];
    double emission = 0, specular = 0.5, shininess = 0.5;
    if (material >= 0) {
        if (!own_colour(rgba)) rgba = &m->mat_rgba[4 * material];
        emission = m->mat_emission[material];
        specular = m->mat_specular[material];
        shininess = m->mat_shininess[material];
    }
    for (int k = 0; k < 4; ++k) row[k] = rgba[k];
    if (material >= 0) geom_texture(m, material, row);
    row[APPEARANCE_EMISSION] = emission;
    row[APPEARANCE_SPECULAR] = specular;
    row[APPEARANCE_SHININESS] = 128 * shininess; /* MuJoCo's 0 … 1 to OpenGL's exponent */
}

static bool geom_shown(const mjModel *m, int geom, double alpha)
{
    int group = m->geom_group[geom] < 0 ? 0 : m->geom_group[geom];
    return group < mjNGROUP && (STI_SHOWN_GROUPS >> group & 1) && alpha > 0;
}

static bool endless_plane(const mjModel *m, ptrdiff_t geom)
{
    const mjtNum *size = &m->geom_size[3 * geom];
    return m->geom_type[geom] == mjGEOM_PLANE && (size[0] <= 0 || size[1] <= 0);
}

static stet_result fill_geoms(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene;
    for (int g = 0; g < (int)m->ngeom; ++g) {
        double *look = &rows->look[(ptrdiff_t)APPEARANCE_SIZE * g];
        int *ids = &head[head[SCENE_IDS] + (ptrdiff_t)IDS_SIZE * g];
        int *shown = &head[head[SCENE_SHOWN] + (ptrdiff_t)SHOWN_SIZE * head[SCENE_NSHOWN]];
        geom_appearance(m, g, look);
        ids[IDS_BODY] = m->geom_bodyid[g];
        ids[IDS_TYPE] = m->geom_type[g];
        if (!geom_shown(m, g, look[APPEARANCE_ALPHA])) continue;
        shown[SHOWN_GEOM] = g;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_GEOM, g, &shown[SHOWN_PRIM]));
        shown[SHOWN_TYPE] = m->geom_type[g];
        shown[SHOWN_ENDLESS] = endless_plane(m, g);
        head[SCENE_NSHOWN]++;
    }
    return STET_OK;
}

/*
 * ---- lamps
 * ------------------------------------------------------------------------------------------------------------
 */

/* A lamp of the model; false if it is off, or of a kind that only affects images of the surroundings. */
static bool model_lamp(const mjModel *m, int light, double *row, int *info)
{
    const float *colours[] = {m->light_ambient, m->light_diffuse, m->light_specular, m->light_attenuation};
    if (!m->light_active[light] || m->light_type[light] == mjLIGHT_IMAGE) return false;
    for (int c = 0; c < 4; ++c)
        for (int k = 0; k < 3; ++k) row[3 * c + k] = colours[c][3 * light + k];
    double *attenuation = &row[LAMP_ATTENUATION];
    if (attenuation[0] == 0 && attenuation[1] == 0 && attenuation[2] == 0) attenuation[0] = 1;
    bool cone = m->light_type[light] == mjLIGHT_SPOT && m->light_cutoff[light] <= 90;
    row[LAMP_CUTOFF] = cone ? cos(m->light_cutoff[light] * mjPI / 180) : -2;
    row[LAMP_EXPONENT] = cone ? m->light_exponent[light] : 0;
    info[LAMP_POSITIONAL] = m->light_type[light] != mjLIGHT_DIRECTIONAL;
    return true;
}

/* The headlight shines from the camera along its viewing direction. */
static void head_lamp(const mjModel *m, double *row, int *info)
{
    const float *colours[] = {m->vis.headlight.ambient, m->vis.headlight.diffuse, m->vis.headlight.specular};
    for (int c = 0; c < 3; ++c)
        for (int k = 0; k < 3; ++k) row[3 * c + k] = colours[c][k];
    row[LAMP_ATTENUATION] = 1;
    row[LAMP_CUTOFF] = -2;
    info[LAMP_PRIM] = -1;
    info[LAMP_POSITIONAL] = 0;
}

static stet_result fill_lamps(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene, *info = &head[head[SCENE_LAMPS]];
    double *row = &rows->look[head[SCENE_LOOK_LAMPS]];
    if (m->vis.headlight.active) head_lamp(m, row, info);
    int n = m->vis.headlight.active ? 1 : 0;
    for (int i = 0; i < (int)m->nlight; ++i) {
        int *entry = &info[(ptrdiff_t)LAMP_INTS * n];
        if (!model_lamp(m, i, &row[(ptrdiff_t)LAMP_REALS * n], entry)) continue;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_LIGHT, i, &entry[LAMP_PRIM]));
        ++n;
    }
    head[SCENE_NLAMP] = n;
    return STET_OK;
}

/*
 * ---- all of it
 * --------------------------------------------------------------------------------------------------------
 */

/* Sizes, and where the rows begin; there is room for every geom and every lamp, shown or not. */
static stet_result lay_out(scene_rows *rows, stet_stage *stage, const sti_patches *patches)
{
    const stet_worlds *worlds = sti_stage_worlds(stage);
    int64_t ngeom = worlds->model->mj->ngeom, nlamp = worlds->model->mj->nlight + 1;
    int64_t shown = SCENE_PATCHES + (int64_t)PATCH_SIZE * patches->n, ids = shown + SHOWN_SIZE * ngeom;
    int64_t lamps = ids + IDS_SIZE * ngeom, sky = APPEARANCE_SIZE * ngeom + LAMP_REALS * nlamp;
    rows->nscene = lamps + LAMP_INTS * nlamp;
    rows->nlook = sky + (int64_t)3 * NSKY;
    if (rows->nscene > INT32_MAX || rows->nlook > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT,
                         "%d cameras: together they have too many pixels for one world; make them smaller",
                         patches->ncamera);
    STI_TRY(sti_alloc(&rows->scene, (size_t)rows->nscene * sizeof *rows->scene, "scene"));
    STI_TRY(sti_alloc(&rows->look, (size_t)rows->nlook * sizeof *rows->look, "look of the scene"));
    int *head = rows->scene;
    head[SCENE_NCAMERA] = patches->ncamera;
    head[SCENE_NTILE] = (int)worlds->nworld * patches->ncamera;
    head[SCENE_NPATCH] = patches->n;
    head[SCENE_SHOWN] = (int)shown;
    head[SCENE_IDS] = (int)ids;
    head[SCENE_LAMPS] = (int)lamps;
    head[SCENE_LOOK_LAMPS] = (int)(APPEARANCE_SIZE * ngeom);
    head[SCENE_LOOK_SKY] = (int)sky;
    memcpy(head + SCENE_PATCHES, patches->row, sizeof(int) * PATCH_SIZE * (size_t)patches->n);
    return STET_OK;
}

static stet_result fill_tables(scene_rows *rows, stet_stage *stage, const sti_patches *patches)
{
    STI_TRY(lay_out(rows, stage, patches));
    STI_TRY(fill_geoms(rows, stage));
    STI_TRY(fill_lamps(rows, stage));
    int *head = rows->scene;
    if (sti_sky_colours(sti_stage_worlds(stage)->model->mj, NSKY, &rows->look[head[SCENE_LOOK_SKY]]))
        head[SCENE_NSKY] = NSKY;
    return STET_OK;
}

stet_result sti_appearance_init(sti_appearance *appearance, stet_stage *stage, const sti_patches *patches)
{
    stet_device *device = sti_stage_worlds(stage)->device;
    scene_rows rows = {0};
    memset(appearance, 0, sizeof *appearance);
    stet_result result = fill_tables(&rows, stage, patches);
    if (!result) result = STI_ARRAY(device, "scene", STET_DTYPE_INT, false, &appearance->scene, rows.nscene);
    if (!result) result = stet_array_write(appearance->scene, rows.scene, (size_t)rows.nscene * sizeof *rows.scene);
    if (!result) result = sti_reals_new(device, "look of the scene", rows.nlook, rows.look, &appearance->look);
    sti_free(rows.scene);
    sti_free(rows.look);
    if (result) sti_appearance_free(appearance);
    return result;
}

void sti_appearance_free(sti_appearance *appearance)
{
    stet_array_destroy(appearance->scene);
    stet_array_destroy(appearance->look);
    memset(appearance, 0, sizeof *appearance);
}
