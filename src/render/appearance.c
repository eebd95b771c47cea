/* Tables of geoms, materials and lamps for the renderer. */
#include "render/appearance.h"

#include "geom/geom.h"
#include "render/detail.h"
#include "render/scene.k.h"
#include "render/validate.h"
#include "stage/tendon.h"
#include "stet/render.h"

#include <math.h>
#include <string.h>

#define OPAQUE 0.995 /* alphas from here on, as in MuJoCo */

/* Host copies of both tables while they are filled. */
typedef struct scene_rows {
    int *scene;
    double *look;
    int64_t nscene, nlook;
    bool *drawn; /* [ngeom + nsite] */
    bool sized;  /* sizes of geoms differ between worlds */
    bool meshed; /* meshes of geoms do */
    const sti_soft *soft;
    const sti_shapes *shapes;
    sti_details details;
    int textures, corners; /* where they begin, in `scene` and in `look` */
    int light[LAMP_MOST];  /* of the model, for each lamp; -1: the headlight */
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

/* ---- geoms ------------------------------------------------------------------------------------------------------- */

bool sti_has_own_colour(const float *rgba)
{
    return rgba[0] != 0.5f || rgba[1] != 0.5f || rgba[2] != 0.5f || rgba[3] != 1;
}

void sti_appearance_of(const mjModel *m, ptrdiff_t material, const float *rgba, double *row)
{
    double emission = 0, specular = 0.5, shininess = 0.5;
    if (material >= 0) {
        if (!sti_has_own_colour(rgba)) rgba = &m->mat_rgba[4 * material];
        emission = m->mat_emission[material];
        specular = m->mat_specular[material];
        shininess = m->mat_shininess[material];
    }
    for (int k = 0; k < 4; ++k) row[k] = rgba[k];
    row[APPEARANCE_EMISSION] = emission;
    row[APPEARANCE_SPECULAR] = specular;
    row[APPEARANCE_SHININESS] = 128 * shininess; /* MuJoCo's 0 … 1 to OpenGL's exponent */
}

bool sti_group_in(int group, uint32_t groups) { return group < mjNGROUP && (groups >> (group < 0 ? 0 : group) & 1); }

static void geom_appearance(const mjModel *m, ptrdiff_t geom, double *row)
{
    sti_appearance_of(m, m->geom_matid[geom], &m->geom_rgba[4 * geom], row);
}

static void tendon_appearance(const mjModel *m, ptrdiff_t tendon, double *row)
{
    sti_appearance_of(m, m->tendon_matid[tendon], &m->tendon_rgba[4 * tendon], row);
}

const float *sti_soft_colour(const mjModel *m, int object)
{
    ptrdiff_t skin = object - m->nflex;
    return skin >= 0 ? &m->skin_rgba[4 * skin] : &m->flex_rgba[4 * (ptrdiff_t)object];
}

static void soft_appearance(const mjModel *m, int object, double *row)
{
    sti_appearance_of(m, sti_soft_material(m, object), sti_soft_colour(m, object), row);
}

static bool geom_drawn(const mjModel *m, ptrdiff_t geom, uint32_t groups)
{
    double row[APPEARANCE_SIZE];
    geom_appearance(m, geom, row);
    return sti_group_in(m->geom_group[geom], groups) && row[APPEARANCE_ALPHA] > 0;
}

/* If sizes differ between worlds, any plane may be endless in some. */
static bool endless_plane(const scene_rows *rows, const mjModel *m, ptrdiff_t geom)
{
    const mjtNum *size = &m->geom_size[3 * geom];
    return m->geom_type[geom] == mjGEOM_PLANE && (rows->sized || size[0] <= 0 || size[1] <= 0);
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
        ids[IDS_GEOM] = g;
        if (!rows->drawn[g]) continue;
        shown[SHOWN_GEOM] = g;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_GEOM, g, &shown[SHOWN_PRIM]));
        shown[SHOWN_TYPE] = m->geom_type[g];
        shown[SHOWN_KIND] = endless_plane(rows, m, g) ? SHOWN_ENDLESS : 0;
        head[SCENE_NSHOWN]++;
    }
    return STET_OK;
}

bool sti_tendon_drawn(const mjModel *m, ptrdiff_t tendon)
{
    double row[APPEARANCE_SIZE];
    tendon_appearance(m, tendon, row);
    return sti_group_in(m->tendon_group[tendon], STET_GROUPS_DEFAULT) && row[APPEARANCE_ALPHA] > 0;
}

bool sti_soft_drawn(const mjModel *m, int object)
{
    double row[APPEARANCE_SIZE];
    int group = object < (int)m->nflex ? m->flex_group[object] : m->skin_group[object - m->nflex];
    soft_appearance(m, object, row);
    return sti_group_in(group, STET_GROUPS_DEFAULT) && row[APPEARANCE_ALPHA] > 0;
}

/* Adds a row of geoms to draw, that of a tendon, a flex or a skin. */
static void show(scene_rows *rows, const int row[SHOWN_SIZE])
{
    int *head = rows->scene;
    memcpy(&head[head[SCENE_SHOWN] + (ptrdiff_t)SHOWN_SIZE * head[SCENE_NSHOWN]++], row, SHOWN_SIZE * sizeof *row);
    head[SCENE_TENDON] = 1;
}

/* Adds n pieces, from number *piece on, which have moved on afterwards. */
static stet_result show_pieces(scene_rows *rows, stet_stage *stage, int shape, int type, int n, bool drawn, int *piece)
{
    for (int i = 0; i < n; ++i, ++*piece) {
        int row[SHOWN_SIZE] = {[SHOWN_GEOM] = shape, [SHOWN_TYPE] = type, [SHOWN_KIND] = SHOWN_CORD};
        if (!drawn) continue;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_TENDON, *piece, &row[SHOWN_PRIM]));
        show(rows, row);
    }
    return STET_OK;
}

/* Spatial tendons and flexes of one dimension of MuJoCo's default groups, piece by piece. */
static stet_result fill_pieces(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene, first = (int)(m->ngeom + m->nsite), piece = 0;
    for (int t = 0; t < (int)m->ntendon; ++t) {
        int *ids = &head[head[SCENE_IDS] + (ptrdiff_t)IDS_SIZE * (first + t)];
        tendon_appearance(m, t, &rows->look[(ptrdiff_t)APPEARANCE_SIZE * (first + t)]);
        ids[IDS_BODY] = ids[IDS_TYPE] = IDS_TENDON;
        ids[IDS_GEOM] = -2 - t;
        STI_TRY(show_pieces(rows, stage, first + t, mjGEOM_CAPSULE, sti_tendon_pieces(m, t), sti_tendon_drawn(m, t),
                            &piece));
    }
    for (int f = 0; f < (int)m->nflex; ++f)
        STI_TRY(show_pieces(rows, stage, sti_shape_flex(m) + f, mjGEOM_CYLINDER, sti_flex_pieces(m, f),
                            sti_soft_drawn(m, f), &piece));
    return STET_OK;
}

/* Flexes and skins; those that deform as a whole are in the frame of the world. */
static void fill_soft(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene, first = sti_shape_flex(m);
    for (int i = 0; i < (int)(m->nflex + m->nskin); ++i) {
        int *ids = &head[head[SCENE_IDS] + (ptrdiff_t)IDS_SIZE * (first + i)];
        soft_appearance(m, i, &rows->look[(ptrdiff_t)APPEARANCE_SIZE * (first + i)]);
        ids[IDS_BODY] = ids[IDS_TYPE] = i < (int)m->nflex ? IDS_FLEX : IDS_SKIN;
        ids[IDS_GEOM] = -2 - (int)m->ntendon - i;
    }
    for (int i = 0; i < rows->soft->n; ++i)
        show(rows, (int[SHOWN_SIZE]){[SHOWN_GEOM] = first + rows->soft->surface[i].object,
                                     [SHOWN_TYPE] = mjGEOM_MESH,
                                     [SHOWN_KIND] = SHOWN_SOFT | SHOWN_ENDLESS});
}

/* Adds a row to the list of opaque or of transparent geoms. */
static void list_by_alpha(scene_rows *rows, const int row[SHOWN_SIZE])
{
    int *head = rows->scene;
    bool clear = rows->look[(ptrdiff_t)APPEARANCE_SIZE * row[SHOWN_GEOM] + APPEARANCE_ALPHA] < OPAQUE;
    int *count = &head[clear ? SCENE_NCLEAR : SCENE_NSOLID], first = head[clear ? SCENE_CLEAR : SCENE_SOLID];
    memcpy(&head[first + (ptrdiff_t)SHOWN_SIZE * (*count)++], row, SHOWN_SIZE * sizeof *row);
}

/* Shapes that were added to the stage. Decorations are in the lists of colours alone: they cast no shadow, too. */
static void fill_shapes(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene, first = sti_shape_count(m);
    if (rows->shapes->n == 0) return;
    head[SCENE_NADDED] = rows->shapes->n;
    for (int i = 0; i < rows->shapes->n; ++i) {
        const sti_shape *s = &rows->shapes->shape[i];
        double *look = &rows->look[(ptrdiff_t)APPEARANCE_SIZE * (first + i)];
        int *ids = &head[head[SCENE_IDS] + (ptrdiff_t)IDS_SIZE * (first + i)];
        int *shown = &head[head[SCENE_SHOWN] + (ptrdiff_t)SHOWN_SIZE * head[SCENE_NSHOWN]];
        if (s->prim < 0) continue;
        sti_appearance_of(m, s->material, s->rgba, look);
        ids[IDS_BODY] = sti_stage_body(stage, s->prim);
        ids[IDS_TYPE] = s->type;
        ids[IDS_GEOM] = (int)m->ngeom + i;
        if (!(look[APPEARANCE_ALPHA] > 0)) continue;
        shown[SHOWN_GEOM] = first + i;
        shown[SHOWN_PRIM] = s->prim;
        shown[SHOWN_TYPE] = s->type;
        shown[SHOWN_KIND] = s->type == mjGEOM_PLANE && (s->size[0] <= 0 || s->size[1] <= 0) ? SHOWN_ENDLESS : 0;
        if (s->decor)
            list_by_alpha(rows, shown);
        else
            head[SCENE_NSHOWN]++;
    }
}

static void split_shown(scene_rows *rows)
{
    const int *head = rows->scene;
    for (int i = 0; i < head[SCENE_NSHOWN]; ++i)
        list_by_alpha(rows, &head[head[SCENE_SHOWN] + (ptrdiff_t)SHOWN_SIZE * i]);
}

static bool site_drawn(const mjModel *m, ptrdiff_t site)
{
    double look[APPEARANCE_SIZE];
    sti_appearance_of(m, m->site_matid[site], &m->site_rgba[4 * site], look);
    return sti_group_in(m->site_group[site], STET_GROUPS_DEFAULT) && look[APPEARANCE_ALPHA] > 0;
}

static stet_result fill_sites(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene;
    for (int s = 0; s < (int)m->nsite; ++s) {
        int row[SHOWN_SIZE] = {[SHOWN_GEOM] = (int)m->ngeom + s, [SHOWN_TYPE] = m->site_type[s]};
        sti_appearance_of(m, m->site_matid[s], &m->site_rgba[4 * (ptrdiff_t)s],
                          &rows->look[(ptrdiff_t)APPEARANCE_SIZE * row[SHOWN_GEOM]]);
        if (!rows->drawn[m->ngeom + s]) continue;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_SITE, s, &row[SHOWN_PRIM]));
        list_by_alpha(rows, row);
        int at = head[SCENE_NSHOWN] + head[SCENE_NSITE]++;
        memcpy(&head[head[SCENE_SHOWN] + (ptrdiff_t)SHOWN_SIZE * at], row, sizeof row);
    }
    return STET_OK;
}

/* Undersides of planes, with their textures: transparent, after the transparent geoms. */
static stet_result fill_planes(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene, under = sti_shape_under(m);
    int *row = &head[head[SCENE_CLEAR] + (ptrdiff_t)SHOWN_SIZE * head[SCENE_NCLEAR]];
    for (int g = 0; g < (int)m->ngeom; ++g) {
        if (m->geom_type[g] != mjGEOM_PLANE) continue;
        int own = under++;
        if (!rows->drawn[g]) continue;
        const int *ids = &head[head[SCENE_IDS]];
        memcpy(&head[head[SCENE_IDS] + (ptrdiff_t)IDS_SIZE * own], &ids[(ptrdiff_t)IDS_SIZE * g],
               IDS_SIZE * sizeof *ids);
        double *look = &rows->look[(ptrdiff_t)APPEARANCE_SIZE * own];
        geom_appearance(m, g, look);
        look[APPEARANCE_ALPHA] *= 0.3;
        if (head[SCENE_DETAIL]) {
            const int *detail = &head[head[SCENE_DETAIL]];
            const double *scale = &rows->look[head[SCENE_LOOK_SCALE]];
            memcpy(&head[head[SCENE_DETAIL] + (ptrdiff_t)DETAIL_SIZE * own], &detail[(ptrdiff_t)DETAIL_SIZE * g],
                   DETAIL_SIZE * sizeof *detail);
            memcpy(&rows->look[head[SCENE_LOOK_SCALE] + (ptrdiff_t)SCALE_SIZE * own], &scale[(ptrdiff_t)SCALE_SIZE * g],
                   SCALE_SIZE * sizeof *scale);
        }
        row[SHOWN_GEOM] = own;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_GEOM, g, &row[SHOWN_PRIM]));
        row[SHOWN_TYPE] = mjGEOM_PLANE;
        row[SHOWN_KIND] = SHOWN_UNDERSIDE | (endless_plane(rows, m, g) ? SHOWN_ENDLESS : 0);
        row += SHOWN_SIZE;
        head[SCENE_NUNDER]++;
    }
    return STET_OK;
}

/* Geoms that reflect: opaque planes, and boxes, up to the first box. */
static stet_result fill_mirrors(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene, *row = &head[head[SCENE_MIRROR]];
    double *look = &rows->look[LOOK_MIRROR(head)];
    bool box = false;
    for (int g = 0; g < (int)m->ngeom && !box; ++g) {
        ptrdiff_t material = m->geom_matid[g];
        if (!rows->drawn[g] || material < 0 || !(m->mat_reflectance[material] > 0)) continue;
        if (rows->look[(ptrdiff_t)APPEARANCE_SIZE * g + APPEARANCE_ALPHA] < OPAQUE) continue;
        box = m->geom_type[g] == mjGEOM_BOX;
        if (!box && m->geom_type[g] != mjGEOM_PLANE) continue;
        row[MIRROR_GEOM] = g;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_GEOM, g, &row[MIRROR_PRIM]));
        row[MIRROR_BOX] = box;
        *look++ = (double)m->mat_reflectance[material];
        row += MIRROR_SIZE;
        head[SCENE_NMIRROR]++;
    }
    return STET_OK;
}

/* MuJoCo's haze: a cone around the camera, from the first endless plane to the horizon, where there is a skybox. */
static stet_result fill_haze(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene, plane = 0, prim;
    double *row = &rows->look[head[SCENE_LOOK_HAZE]], width = (double)m->vis.map.haze, up = atan2(1, width);
    const mjtNum *size = m->geom_size;
    while (plane < (int)m->ngeom &&
           !(rows->drawn[plane] && m->geom_type[plane] == mjGEOM_PLANE && size[0] <= 0 && size[1] <= 0))
        ++plane, size += 3;
    if (plane == (int)m->ngeom || !head[SCENE_SKY] || !(width > 0) || width >= 1) return STET_OK;
    STI_TRY(stet_stage_get_prim(stage, STET_PRIM_GEOM, plane, &prim));
    head[SCENE_HAZE] = prim + 1;
    for (int k = 0; k < 3; ++k) row[HAZE_RGB + k] = (double)m->vis.rgba.haze[k];
    row[HAZE_WIDTH] = width;
    row[HAZE_RADIUS] = sti_sky_distance(m);
    row[HAZE_THICK] = sqrt(0.5) * width * sin(up) / sin(0.75 * mjPI - up);
    return STET_OK;
}

/* Row number `row` of details: what has this form, at a prim. */
static void fill_detail(const scene_rows *rows, const mjModel *m, sti_form form, int prim, ptrdiff_t row)
{
    const int *head = rows->scene;
    int *detail = &rows->scene[head[SCENE_DETAIL] + DETAIL_SIZE * row];
    sti_details_form(&rows->details, m, &form, rows->textures, rows->corners, detail,
                     &rows->look[head[SCENE_LOOK_SCALE] + SCALE_SIZE * row]);
    detail[DETAIL_PRIM] = prim;
}

/* Tendons and flexes of one dimension have their materials alone. */
static void fill_plain(const scene_rows *rows, const mjModel *m)
{
    const int *head = rows->scene;
    for (ptrdiff_t s = m->ngeom + m->nsite; s < sti_shape_flex(m) + m->nflex; ++s) {
        ptrdiff_t tendon = s - m->ngeom - m->nsite, flex = s - sti_shape_flex(m);
        if (flex >= 0 && sti_soft_object(m, (int)flex)) continue;
        ptrdiff_t material = flex >= 0 ? sti_soft_material(m, (int)flex) : m->tendon_matid[tendon];
        sti_details_plain(&rows->details, m, material, &rows->scene[head[SCENE_DETAIL] + DETAIL_SIZE * s],
                          &rows->look[head[SCENE_LOOK_SCALE] + SCALE_SIZE * s]);
    }
}

/* A scene without any details has no rows of details. */
static void note_details(scene_rows *rows)
{
    int *head = rows->scene;
    bool any = false;
    for (const int *row = head + head[SCENE_DETAIL]; row < head + head[SCENE_MIRROR]; row += DETAIL_SIZE) {
        any |= row[DETAIL_TEXTURE] || row[DETAIL_CORNER];
        for (int k = DETAIL_BUMPS; k <= DETAIL_METAL; ++k) head[SCENE_ROLES] |= row[k] != 0;
    }
    if (!any && !head[SCENE_ROLES]) head[SCENE_DETAIL] = 0;
}

/* The rows of a geom with each material and, where these differ, each mesh. */
static void fill_choices(const scene_rows *rows, const mjModel *m, sti_form form, int prim, int g)
{
    bool each = rows->meshed && form.type == mjGEOM_MESH;
    int nshape = sti_shape_count(m) + rows->shapes->n, own = form.mesh;
    for (form.mesh = each ? 0 : own; form.mesh <= (each ? (int)m->nmesh - 1 : own); ++form.mesh)
        for (form.material = -1; form.material < (int)m->nmat; ++form.material)
            fill_detail(rows, m, form, prim, sti_details_row(m, nshape, rows->meshed, g, form.mesh, form.material));
}

/* Textures and corners, and the geoms' details. */
static stet_result fill_details(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene;
    sti_details_fill(&rows->details, m, rows->textures, head, rows->look + rows->corners);
    if (rows->details.sky >= 0) head[SCENE_SKY] = rows->textures + (int)rows->details.texture[rows->details.sky];
    for (int g = 0; g < (int)m->ngeom; ++g) {
        int prim;
        sti_form form = sti_form_of_geom(m, g);
        if (!rows->drawn[g]) continue;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_GEOM, g, &prim));
        fill_detail(rows, m, form, prim, g);
        if (head[SCENE_CHOICE]) fill_choices(rows, m, form, prim, g);
    }
    for (int s = 0; s < (int)m->nsite; ++s) {
        int prim;
        if (!rows->drawn[m->ngeom + s]) continue;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_SITE, s, &prim));
        fill_detail(rows, m, sti_form_of_site(m, s), prim, m->ngeom + s);
    }
    for (int i = 0; i < rows->soft->n; ++i) {
        ptrdiff_t shape = sti_shape_flex(m) + rows->soft->surface[i].object;
        sti_details_soft(&rows->details, m, &rows->soft->surface[i], rows->textures, rows->corners,
                         &head[head[SCENE_DETAIL] + DETAIL_SIZE * shape],
                         &rows->look[head[SCENE_LOOK_SCALE] + SCALE_SIZE * shape], rows->look);
    }
    for (int i = 0; i < rows->shapes->n; ++i) {
        const sti_shape *shape = &rows->shapes->shape[i];
        if (shape->prim >= 0) fill_detail(rows, m, sti_form_of_shape(shape), shape->prim, sti_shape_count(m) + i);
    }
    fill_plain(rows, m);
    note_details(rows);
    return STET_OK;
}

/* ---- lamps ------------------------------------------------------------------------------------------------------- */

static stet_result fill_lamps(scene_rows *rows, stet_stage *stage)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    int *head = rows->scene, *info = &head[head[SCENE_LAMPS]];
    double *row = &rows->look[head[SCENE_LOOK_LAMPS]];
    if (m->vis.headlight.active) sti_lamp_of_head(m, row, info);
    rows->light[0] = -1;
    int n = m->vis.headlight.active ? 1 : 0;
    for (int i = 0; i < (int)m->nlight && n < LAMP_MOST; ++i) {
        int *entry = &info[(ptrdiff_t)LAMP_INTS * n];
        if (!sti_lamp_shines(m, i, head[SCENE_PHYSICAL])) continue;
        sti_lamp_of_model(m, i, &row[(ptrdiff_t)LAMP_REALS * n], entry);
        rows->light[n] = i;
        STI_TRY(stet_stage_get_prim(stage, STET_PRIM_LIGHT, i, &entry[LAMP_PRIM]));
        if (m->light_castshadow[i] && m->vis.quality.shadowsize > 0 && head[SCENE_NSHADOW] < LAMP_SHADOW_MOST) {
            int nth = head[SCENE_NSHADOW]++;
            entry[LAMP_SHADOW] = head[SCENE_PHYSICAL] ? 1 + SHADOW_BITS * nth : 1 << (LAMP_SHADOW_BIT + nth);
        }
        ++n;
    }
    head[SCENE_NLAMP] = n;
    return STET_OK;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Which geoms, sites and details are drawn. */
static stet_result plan_rows(scene_rows *rows, const mjModel *m, const sti_patches *patches)
{
    STI_TRY(sti_alloc(&rows->drawn, (size_t)(m->ngeom + m->nsite + 1) * sizeof *rows->drawn, "geoms to draw"));
    for (int g = 0; g < (int)m->ngeom; ++g) rows->drawn[g] = geom_drawn(m, g, patches->drawing.groups);
    for (int s = 0; s < (int)m->nsite; ++s) rows->drawn[m->ngeom + s] = site_drawn(m, s);
    return sti_details_plan(m, rows->drawn, rows->soft, rows->shapes, patches->choice, patches->meshed,
                            patches->drawing.mode == STET_RENDER_MODE_PHYSICAL, &rows->details);
}

/* Sizes, and where the rows begin; there is room for every geom and every lamp, shown or not. */
static stet_result lay_out(scene_rows *rows, stet_stage *stage, const sti_patches *patches)
{
    const stet_worlds *worlds = sti_stage_worlds(stage);
    const mjModel *m = worlds->model->mj;
    int64_t ngeom = m->ngeom, nlamp = m->nlight + 1, nadded = rows->shapes->n;
    int64_t nrow = ngeom + m->nsite + rows->soft->n + nadded, nshape = sti_shape_count(m) + nadded;
    int64_t nplane = sti_model_planes(m),
            ndetail = nshape + (patches->choice ? sti_details_choices(m, patches->meshed) : 0);
    for (int t = 0; t < m->ntendon; ++t) nrow += sti_tendon_pieces(m, t);
    for (int f = 0; f < m->nflex; ++f) nrow += sti_flex_pieces(m, f);
    int64_t shown = SCENE_PATCHES + (int64_t)PATCH_SIZE * patches->n, solid = shown + SHOWN_SIZE * nrow;
    int64_t clear = solid + SHOWN_SIZE * nrow, order = clear + SHOWN_SIZE * (nrow + nplane);
    int64_t ids = order + BOX_STRIDE(3 * nrow + nplane), lamps = ids + IDS_SIZE * nshape;
    int64_t detail = lamps + LAMP_INTS * nlamp, mirror = detail + DETAIL_SIZE * ndetail;
    int64_t textures = mirror + MIRROR_SIZE * ngeom;
    int64_t scale = APPEARANCE_SIZE * nshape + LAMP_REALS * nlamp, haze = scale + SCALE_SIZE * ndetail;
    int64_t corners = haze + HAZE_SIZE + FOG_SIZE + ngeom;
    rows->nscene = textures + rows->details.ntexel;
    rows->nlook = corners + rows->details.ncorner;
    if (rows->nscene > INT32_MAX || rows->nlook > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT,
                         "%d cameras: together with the model's textures they have too many pixels; make them smaller",
                         patches->ncamera);
    STI_TRY(sti_alloc(&rows->scene, (size_t)rows->nscene * sizeof *rows->scene, "scene"));
    STI_TRY(sti_alloc(&rows->look, (size_t)(rows->nlook + 1) * sizeof *rows->look, "look of the scene"));
    rows->textures = (int)textures;
    rows->corners = (int)corners;
    int *head = rows->scene;
    head[SCENE_NCAMERA] = patches->ncamera;
    head[SCENE_NTILE] = (int)worlds->nworld * patches->ncamera;
    head[SCENE_NPATCH] = patches->n;
    head[SCENE_FISHEYE] = patches->fisheye;
    head[SCENE_CHOICE] = patches->choice ? (int)nshape : 0;
    head[SCENE_PHYSICAL] = patches->drawing.mode == STET_RENDER_MODE_PHYSICAL;
    head[SCENE_SHOWN] = (int)shown;
    head[SCENE_SOLID] = (int)solid;
    head[SCENE_CLEAR] = (int)clear;
    head[SCENE_IDS] = (int)ids;
    head[SCENE_LAMPS] = (int)lamps;
    head[SCENE_DETAIL] = (int)detail;
    head[SCENE_LOOK_LAMPS] = (int)(APPEARANCE_SIZE * nshape);
    head[SCENE_LOOK_SCALE] = (int)scale;
    head[SCENE_LOOK_HAZE] = (int)haze;
    head[SCENE_MIRROR] = (int)mirror;
    head[SCENE_FOG] = patches->drawing.fog ? (int)haze + HAZE_SIZE : 0;
    memcpy(head + SCENE_PATCHES, patches->row, sizeof(int) * PATCH_SIZE * (size_t)patches->n);
    return STET_OK;
}

static void make_colours_linear(double *colours, int n)
{
    for (int k = 0; k < n; ++k) colours[k] = sti_linear_of_srgb(colours[k]);
}

/*
 * Mode physical: colours of surfaces, of the haze and of the fog are meant for bytes that are shown as they are, so
 * they become linear. Lights, emission, specular and reflectance are amounts of light already.
 */
static void make_linear(scene_rows *rows, const mjModel *m)
{
    const int *head = rows->scene;
    for (ptrdiff_t g = 0; g < sti_shape_count(m) + rows->shapes->n; ++g)
        make_colours_linear(&rows->look[APPEARANCE_SIZE * g + APPEARANCE_RGB], 3);
    make_colours_linear(&rows->look[head[SCENE_LOOK_HAZE] + HAZE_RGB], 3);
    if (head[SCENE_FOG]) make_colours_linear(&rows->look[head[SCENE_FOG] + FOG_RGB], 3);
}

static stet_result fill_tables(scene_rows *rows, stet_stage *stage, const sti_patches *patches)
{
    STI_TRY(plan_rows(rows, sti_stage_worlds(stage)->model->mj, patches));
    STI_TRY(lay_out(rows, stage, patches));
    STI_TRY(fill_geoms(rows, stage));
    STI_TRY(fill_pieces(rows, stage));
    fill_soft(rows, stage);
    fill_shapes(rows, stage);
    split_shown(rows);
    STI_TRY(fill_sites(rows, stage));
    STI_TRY(fill_details(rows, stage));
    STI_TRY(fill_planes(rows, stage));
    STI_TRY(fill_mirrors(rows, stage));
    sti_lists_order(rows->scene);
    sti_lists_close_up(rows->scene);
    STI_TRY(fill_haze(rows, stage));
    if (rows->scene[SCENE_FOG]) sti_fog_row(sti_stage_worlds(stage)->model->mj, &rows->look[rows->scene[SCENE_FOG]]);
    STI_TRY(fill_lamps(rows, stage));
    if (rows->scene[SCENE_PHYSICAL]) make_linear(rows, sti_stage_worlds(stage)->model->mj);
    return STET_OK;
}

/* What the kernel's code must have for this scene. */
static void note_needs(const int *head, sti_appearance *out)
{
    const int all = head[SCENE_NSHOWN] + head[SCENE_NSITE], clear = head[SCENE_NCLEAR] + head[SCENE_NUNDER];
    for (int e = 0; e < SCENE_PATCHES; ++e) out->has |= (unsigned)(head[e] != 0) << e;
    for (int i = 0; i < SCENE_NROW(head); ++i)
        out->types |= 1u << head[head[SCENE_SHOWN] + (ptrdiff_t)i * SHOWN_SIZE + SHOWN_TYPE];
    if (all > CHUNK || head[SCENE_NSOLID] > CHUNK || clear > CHUNK) out->nbox = SCENE_NROW(head);
}

/* A copy for worlds whose looks differ. */
static stet_result keep_own(const scene_rows *rows, sti_appearance *out)
{
    out->nshape = rows->scene[SCENE_LOOK_LAMPS] / APPEARANCE_SIZE;
    out->nlamp = rows->scene[SCENE_NLAMP];
    out->nown = rows->scene[SCENE_LOOK_LAMPS] + (int64_t)LAMP_REALS * out->nlamp;
    memcpy(out->light, rows->light, sizeof out->light);
    STI_TRY(sti_alloc(&out->own, (size_t)(out->nown + 1) * sizeof *out->own, "look of the scene"));
    memcpy(out->own, rows->look, (size_t)out->nown * sizeof *out->own);
    out->nscale = rows->scene[SCENE_LOOK_HAZE] - rows->scene[SCENE_LOOK_SCALE];
    STI_TRY(sti_alloc(&out->scales, (size_t)out->nscale * sizeof *out->scales, "look of the scene"));
    memcpy(out->scales, rows->look + rows->scene[SCENE_LOOK_SCALE], (size_t)out->nscale * sizeof *out->scales);
    return STET_OK;
}

stet_result sti_appearance_init(sti_appearance *appearance, stet_stage *stage, const sti_soft *soft,
                                const sti_patches *patches)
{
    stet_device *device = sti_stage_worlds(stage)->device;
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    scene_rows rows = {
        .soft = soft, .shapes = sti_stage_shapes(stage), .sized = patches->sized, .meshed = patches->meshed};
    memset(appearance, 0, sizeof *appearance);
    stet_result result = fill_tables(&rows, stage, patches);
    if (!result) {
        sti_validate_scene_rows(&(sti_scene_rows){.scene = rows.scene,
                                                  .look = rows.look,
                                                  .nscene = rows.nscene,
                                                  .nlook = rows.nlook,
                                                  .nprim = stet_stage_get_capacity(stage),
                                                  .nshape = (int)sti_shape_count(m) + rows.shapes->n});
        note_needs(rows.scene, appearance);
    }
    if (!result && appearance->nbox) result = sti_near_order(stage, rows.scene, &rows.scene[SCENE_ORDER(rows.scene)]);
    if (!result) result = keep_own(&rows, appearance);
    if (!result) result = STI_ARRAY(device, "scene", STET_DTYPE_INT, false, &appearance->scene, rows.nscene);
    if (!result) result = stet_array_write(appearance->scene, rows.scene, (size_t)rows.nscene * sizeof *rows.scene);
    if (!result) result = sti_reals_new(device, "look of the scene", rows.nlook, rows.look, &appearance->look);
    sti_free(rows.scene);
    sti_free(rows.look);
    sti_free(rows.drawn);
    sti_details_free(&rows.details);
    if (result) sti_appearance_free(appearance);
    return result;
}

void sti_appearance_free(sti_appearance *appearance)
{
    stet_array_destroy(appearance->scene);
    stet_array_destroy(appearance->look);
    sti_free(appearance->own);
    sti_free(appearance->scales);
    memset(appearance, 0, sizeof *appearance);
}
