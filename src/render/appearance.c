/* Tables of geoms, materials and lamps for the renderer. */
#include "render/appearance.h"

#include <math.h>
#include <string.h>

enum { SHOWN_SIZE = 4, APPEARANCE_SIZE = 8, LAMP_SIZE = 16, NSKY = 65 };

stet_result sti_reals_write(stet_array *array, int64_t n, const double *values)
{
    if (n == 0) return STET_OK;
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
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_REAL, false, out, n ? n : 1));
    return sti_reals_write(*out, n, values);
}

stet_result sti_ints_new(stet_device *device, const char *name, int64_t n, const int *values, stet_array **out)
{
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_INT, false, out, n ? n : 1));
    return n ? stet_array_write(*out, values, (size_t)n * sizeof(int)) : STET_OK;
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
    row[4] = emission;
    row[5] = specular;
    row[6] = 128 * shininess; /* MuJoCo's 0 … 1 to OpenGL's exponent */
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

static stet_result fill_geoms(sti_appearance *appearance, stet_stage *stage, double *rows, int *shown, int *ids)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    for (int g = 0; g < (int)m->ngeom; ++g) {
        int *entry = &shown[(ptrdiff_t)SHOWN_SIZE * appearance->nshown];
        geom_appearance(m, g, &rows[(ptrdiff_t)APPEARANCE_SIZE * g]);
        ids[(ptrdiff_t)2 * g] = m->geom_bodyid[g];
        ids[(ptrdiff_t)2 * g + 1] = m->geom_type[g];
        if (!geom_shown(m, g, rows[(ptrdiff_t)APPEARANCE_SIZE * g + 3])) continue;
        entry[0] = g;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_GEOM, g, &entry[1]));
        entry[2] = m->geom_type[g];
        entry[3] = endless_plane(m, g);
        appearance->nshown++;
    }
    return STET_OK;
}

static stet_result make_geoms(sti_appearance *appearance, stet_stage *stage)
{
    stet_device *device = sti_stage_worlds(stage)->device;
    int64_t n = sti_stage_worlds(stage)->model->mj->ngeom;
    double *rows = NULL;
    int *shown = NULL, *ids = NULL;
    stet_result result = sti_alloc(&rows, (size_t)n * APPEARANCE_SIZE * sizeof *rows, "look of geoms");
    if (!result) result = sti_alloc(&shown, (size_t)n * SHOWN_SIZE * sizeof *shown, "geoms shown");
    if (!result) result = sti_alloc(&ids, (size_t)n * 2 * sizeof *ids, "ids of geoms");
    if (!result) result = fill_geoms(appearance, stage, rows, shown, ids);
    if (!result) result = sti_reals_new(device, "look of geoms", n * APPEARANCE_SIZE, rows, &appearance->appearance);
    if (!result)
        result =
            sti_ints_new(device, "geoms shown", (int64_t)appearance->nshown * SHOWN_SIZE, shown, &appearance->shown);
    if (!result) result = sti_ints_new(device, "ids of geoms", n * 2, ids, &appearance->ids);
    sti_free(rows);
    sti_free(shown);
    sti_free(ids);
    return result;
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
    if (row[9] == 0 && row[10] == 0 && row[11] == 0) row[9] = 1;
    bool cone = m->light_type[light] == mjLIGHT_SPOT && m->light_cutoff[light] <= 90;
    row[12] = cone ? cos(m->light_cutoff[light] * mjPI / 180) : -2;
    row[13] = cone ? m->light_exponent[light] : 0;
    info[1] = m->light_type[light] != mjLIGHT_DIRECTIONAL;
    return true;
}

/* The headlight shines from the camera along its viewing direction. */
static void head_lamp(const mjModel *m, double *row, int *info)
{
    const float *colours[] = {m->vis.headlight.ambient, m->vis.headlight.diffuse, m->vis.headlight.specular};
    for (int c = 0; c < 3; ++c)
        for (int k = 0; k < 3; ++k) row[3 * c + k] = colours[c][k];
    row[9] = 1;
    row[12] = -2;
    info[0] = -1;
    info[1] = 0;
}

static stet_result fill_lamps(sti_appearance *appearance, stet_stage *stage, double *rows, int *info)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    if (m->vis.headlight.active) {
        head_lamp(m, rows, info);
        appearance->nlamp++;
    }
    for (int i = 0; i < (int)m->nlight; ++i) {
        int *entry = &info[(ptrdiff_t)2 * appearance->nlamp];
        if (!model_lamp(m, i, &rows[(ptrdiff_t)LAMP_SIZE * appearance->nlamp], entry)) continue;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_LIGHT, i, &entry[0]));
        appearance->nlamp++;
    }
    return STET_OK;
}

static stet_result make_lamps(sti_appearance *appearance, stet_stage *stage)
{
    stet_device *device = sti_stage_worlds(stage)->device;
    size_t n = (size_t)sti_stage_worlds(stage)->model->mj->nlight + 1;
    double *rows = NULL;
    int *info = NULL;
    stet_result result = sti_alloc(&rows, n * LAMP_SIZE * sizeof *rows, "lamps");
    if (!result) result = sti_alloc(&info, n * 2 * sizeof *info, "prims of lamps");
    if (!result) result = fill_lamps(appearance, stage, rows, info);
    if (!result)
        result = sti_reals_new(device, "lamps", (int64_t)appearance->nlamp * LAMP_SIZE, rows, &appearance->lamp);
    if (!result)
        result = sti_ints_new(device, "prims of lamps", (int64_t)appearance->nlamp * 2, info, &appearance->lamp_info);
    sti_free(rows);
    sti_free(info);
    return result;
}

/*
 * ---- all of it
 * --------------------------------------------------------------------------------------------------------
 */

static stet_result make_sky(sti_appearance *appearance, stet_stage *stage)
{
    const stet_worlds *worlds = sti_stage_worlds(stage);
    double rgb[NSKY * 3];
    if (sti_sky_colours(worlds->model->mj, NSKY, rgb)) appearance->nsky = NSKY;
    return sti_reals_new(worlds->device, "sky", (int64_t)appearance->nsky * 3, rgb, &appearance->sky);
}

stet_result sti_appearance_init(sti_appearance *appearance, stet_stage *stage)
{
    memset(appearance, 0, sizeof *appearance);
    stet_result result = make_geoms(appearance, stage);
    if (!result) result = make_lamps(appearance, stage);
    if (!result) result = make_sky(appearance, stage);
    if (result) sti_appearance_free(appearance);
    return result;
}

void sti_appearance_free(sti_appearance *appearance)
{
    stet_array_destroy(appearance->shown);
    stet_array_destroy(appearance->ids);
    stet_array_destroy(appearance->appearance);
    stet_array_destroy(appearance->lamp_info);
    stet_array_destroy(appearance->lamp);
    stet_array_destroy(appearance->sky);
    memset(appearance, 0, sizeof *appearance);
}
