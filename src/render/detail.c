/* Which details of a model are drawn, and their rows. */
#include "render/detail.h"

#include "render/scene.k.h"

#include <math.h>
#include <string.h>

#define FLAT_FROM 0.8 /* MuJoCo: a vertex' normal counts if its product with the triangle's is at least this */

static int material_texture(const mjModel *m, ptrdiff_t material)
{
    if (material < 0) return -1;
    const int *roles = &m->mat_texid[material * mjNTEXROLE];
    int texture = roles[mjTEXROLE_RGB] >= 0 ? roles[mjTEXROLE_RGB] : roles[mjTEXROLE_RGBA];
    return sti_texture_drawn(m, texture) ? texture : -1;
}

/* Textures of other roles than colour that mode physical draws, in the order of a row's numbers. */
static const int drawn_roles[] = {mjTEXROLE_NORMAL, mjTEXROLE_OCCLUSION, mjTEXROLE_ROUGHNESS, mjTEXROLE_METALLIC,
                                  mjTEXROLE_EMISSIVE};
enum { NROLE = sizeof drawn_roles / sizeof *drawn_roles };
_Static_assert(DETAIL_BUMPS + NROLE - 1 == DETAIL_EMISSIVE, "a number for each role");

/* The texture of a role; -1: none that is drawn. Pictures alone, which lie as the colour's does. */
static int role_texture(const mjModel *m, ptrdiff_t material, int role)
{
    const int *roles = &m->mat_texid[material * mjNTEXROLE];
    int texture = roles[role], colour = material_texture(m, material);
    if (texture < 0 && role >= mjTEXROLE_OCCLUSION && role <= mjTEXROLE_METALLIC) texture = roles[mjTEXROLE_ORM];
    if (!sti_texture_has_values(m, texture) || (colour >= 0 && sti_texture_is_cube(m, colour))) return -1;
    return texture;
}

bool sti_role_drawn(const mjModel *m, ptrdiff_t material, int role)
{
    const int *roles = &m->mat_texid[material * mjNTEXROLE];
    for (int i = 0; i < NROLE; ++i)
        if (role == drawn_roles[i]) return role_texture(m, material, role) >= 0;
    bool parts = true; /* textures of their own for each part of an ORM texture replace it */
    for (int k = mjTEXROLE_OCCLUSION; k <= mjTEXROLE_METALLIC; ++k) parts = parts && roles[k] >= 0;
    return role == mjTEXROLE_ORM && !parts && role_texture(m, material, mjTEXROLE_OCCLUSION) >= 0;
}

/* The texture by which pictures lie on a surface: that of the colour, or one of the other roles; -1: there is none. */
static int mapped_texture(bool physical, const mjModel *m, ptrdiff_t material)
{
    int texture = material_texture(m, material);
    for (int i = 0; i < NROLE && texture < 0 && material >= 0 && physical; ++i)
        texture = role_texture(m, material, drawn_roles[i]);
    return texture;
}

sti_form sti_form_of_geom(const mjModel *m, ptrdiff_t geom)
{
    int type = m->geom_type[geom];
    return (sti_form){.type = type,
                      .mesh = type == mjGEOM_MESH || type == mjGEOM_SDF ? m->geom_dataid[geom] : -1,
                      .material = m->geom_matid[geom],
                      .size = m->geom_size + 3 * geom};
}

sti_form sti_form_of_site(const mjModel *m, ptrdiff_t site)
{
    return (sti_form){m->site_type[site], -1, m->site_matid[site], m->site_size + 3 * site};
}

sti_form sti_form_of_shape(const sti_shape *shape)
{
    return (sti_form){shape->type, shape->mesh, shape->material, shape->size};
}

/* The texture of a surface that deforms, which needs coordinates. */
int sti_soft_texture(const mjModel *m, int object, bool coordinates)
{
    int texture = material_texture(m, sti_soft_material(m, object));
    return texture >= 0 && coordinates && !sti_texture_is_cube(m, texture) ? texture : -1;
}

static bool mapped_by_corners(bool physical, const mjModel *m, const sti_form *form)
{
    int texture = mapped_texture(physical, m, form->material);
    return texture >= 0 && !sti_texture_is_cube(m, texture) && form->mesh >= 0 && m->mesh_texcoordadr[form->mesh] >= 0;
}

/* ---- corners of meshes ------------------------------------------------------------------------------------------- */

static void face_normal(const mjModel *m, int mesh, int64_t face, double n[3])
{
    const int *corner = m->mesh_face + 3 * face;
    const float *v[3];
    double e[2][3], len = 0;
    for (int i = 0; i < 3; ++i) v[i] = m->mesh_vert + 3 * ((int64_t)m->mesh_vertadr[mesh] + corner[i]);
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k) e[i][k] = (double)v[i + 1][k] - (double)v[0][k];
    for (int k = 0; k < 3; ++k) {
        n[k] = e[0][(k + 1) % 3] * e[1][(k + 2) % 3] - e[0][(k + 2) % 3] * e[1][(k + 1) % 3];
        len += n[k] * n[k];
    }
    for (int k = 0; k < 3; ++k) n[k] = len > 0 ? n[k] / sqrt(len) : 0;
}

/* The normals at the corners of a face; returns whether they differ from the face's. */
static bool corner_normals(const mjModel *m, int mesh, int64_t face, double n[9])
{
    double flat[3];
    bool differ = false;
    face_normal(m, mesh, face, flat);
    for (ptrdiff_t i = 0; i < 3; ++i) {
        const float *own = m->mesh_normal + 3 * ((int64_t)m->mesh_normaladr[mesh] + m->mesh_facenormal[3 * face + i]);
        double along = (double)own[0] * flat[0] + (double)own[1] * flat[1] + (double)own[2] * flat[2];
        bool smooth = m->mesh_texcoordadr[mesh] >= 0 || along >= FLAT_FROM;
        for (int k = 0; k < 3; ++k) n[3 * i + k] = smooth ? (double)own[k] : flat[k];
        differ |= smooth && along < 1 - 1e-6;
    }
    return differ;
}

static bool mesh_is_smooth(const mjModel *m, int mesh)
{
    double n[9];
    for (int f = 0; f < m->mesh_facenum[mesh]; ++f)
        if (corner_normals(m, mesh, m->mesh_faceadr[mesh] + f, n)) return true;
    return false;
}

static void fill_corners(const mjModel *m, int mesh, double *row)
{
    for (int f = 0; f < m->mesh_facenum[mesh]; ++f, row += CORNER_SIZE) {
        int64_t face = m->mesh_faceadr[mesh] + f;
        (void)corner_normals(m, mesh, face, row + CORNER_NORMAL);
        if (m->mesh_texcoordadr[mesh] < 0) continue;
        const float *coord = m->mesh_texcoord + 2 * (int64_t)m->mesh_texcoordadr[mesh];
        for (ptrdiff_t i = 0; i < 6; ++i)
            row[CORNER_COORD + i] = (double)coord[2 * (int64_t)m->mesh_facetexcoord[3 * face + i / 2] + i % 2];
    }
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

/* blocks: of colours, or of values. */
static void plan_texture(const mjModel *m, int texture, int64_t *blocks, sti_details *out)
{
    if (texture < 0 || blocks[texture] >= 0) return;
    blocks[texture] = out->ntexel;
    out->ntexel += sti_texture_size(m, texture);
}

/* Only light is a colour; the others are values. */
static int64_t *blocks_of(const sti_details *details, int role)
{
    return role == mjTEXROLE_EMISSIVE ? details->texture : details->values;
}

static void plan_roles(const mjModel *m, ptrdiff_t material, sti_details *out)
{
    for (int i = 0; i < NROLE && material >= 0 && out->physical; ++i)
        plan_texture(m, role_texture(m, material, drawn_roles[i]), blocks_of(out, drawn_roles[i]), out);
}

static void plan_form(const mjModel *m, sti_form form, sti_details *out)
{
    int mesh = form.mesh;
    plan_texture(m, material_texture(m, form.material), out->texture, out);
    plan_roles(m, form.material, out);
    if (mesh < 0 || out->corner[mesh] >= 0 || !(mapped_by_corners(out->physical, m, &form) || mesh_is_smooth(m, mesh)))
        return;
    out->corner[mesh] = out->ncorner;
    out->ncorner += (int64_t)CORNER_SIZE * m->mesh_facenum[mesh];
}

stet_result sti_details_plan(const mjModel *m, const bool *drawn, const sti_soft *soft, const sti_shapes *shapes,
                             bool choice, bool meshed, bool physical, sti_details *out)
{
    memset(out, 0, sizeof *out);
    out->physical = physical;
    STI_TRY(sti_alloc(&out->texture, (size_t)(m->ntex + 1) * sizeof *out->texture, "textures"));
    STI_TRY(sti_alloc(&out->corner, (size_t)(m->nmesh + 1) * sizeof *out->corner, "corners of meshes"));
    STI_TRY(sti_alloc(&out->values, (size_t)(m->ntex + 1) * sizeof *out->values, "textures"));
    for (int i = 0; i < m->ntex; ++i) out->texture[i] = out->values[i] = -1;
    for (int i = 0; i < m->nmesh; ++i) out->corner[i] = -1;
    for (int g = 0; g < m->ngeom; ++g) {
        sti_form form = sti_form_of_geom(m, g);
        int last = choice ? (int)m->nmat - 1 : form.material;
        if (choice) form.material = -1;
        for (; drawn[g] && form.material <= last; ++form.material) {
            plan_form(m, form, out);
            for (int i = 0; meshed && form.type == mjGEOM_MESH && i < (int)m->nmesh; ++i) {
                sti_form other = form;
                other.mesh = i;
                plan_form(m, other, out);
            }
        }
    }
    for (int s = 0; s < m->nsite; ++s)
        if (drawn[m->ngeom + s]) plan_form(m, sti_form_of_site(m, s), out);
    for (int i = 0; i < shapes->n; ++i)
        if (shapes->shape[i].prim >= 0) plan_form(m, sti_form_of_shape(&shapes->shape[i]), out);
    out->soft = out->ncorner;
    for (int i = 0; i < soft->n; ++i) {
        plan_texture(m, sti_soft_texture(m, soft->surface[i].object, soft->surface[i].coord), out->texture, out);
        if (soft->surface[i].coord) plan_roles(m, sti_soft_material(m, soft->surface[i].object), out);
        out->ncorner += (int64_t)CORNER_SIZE * soft->surface[i].ntri;
    }
    out->sky = 0;
    while (out->sky < (int)m->ntex && m->tex_type[out->sky] != mjTEXTURE_SKYBOX) ++out->sky;
    if (out->sky == (int)m->ntex || !sti_texture_drawn(m, out->sky)) out->sky = -1;
    plan_texture(m, out->sky, out->texture, out);
    return STET_OK;
}

int64_t sti_details_choices(const mjModel *m, bool meshed)
{
    return m->ngeom * (m->nmat + 1) * (meshed ? m->nmesh + 1 : 1);
}

int sti_details_row(const mjModel *m, int nshape, bool meshed, ptrdiff_t geom, int mesh, int material)
{
    ptrdiff_t form = meshed ? geom * (m->nmesh + 1) + mesh + 1 : geom;
    return nshape + (int)(form * (m->nmat + 1)) + material + 1;
}

void sti_details_free(sti_details *details)
{
    sti_free(details->texture);
    sti_free(details->values);
    sti_free(details->corner);
    memset(details, 0, sizeof *details);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Half sizes as MuJoCo's shapes have them: x, y, z; 0: endless. */
static void half_sizes(const sti_form *form, double half[3])
{
    const mjtNum *size = form->size;
    int type = form->type;
    bool round = type == mjGEOM_SPHERE || type == mjGEOM_CAPSULE || type == mjGEOM_CYLINDER;
    half[0] = size[0];
    half[1] = round ? size[0] : size[1];
    half[2] = type == mjGEOM_SPHERE ? size[0] : round ? size[1] : size[2];
}

static int map_of_type(int type)
{
    switch (type) {
    case mjGEOM_BOX: return MAP_BOX;
    case mjGEOM_SPHERE:
    case mjGEOM_ELLIPSOID: return MAP_BALL;
    case mjGEOM_CAPSULE: return MAP_CAPSULE;
    case mjGEOM_CYLINDER: return MAP_CYLINDER;
    default: return MAP_PLANE;
    }
}

/*
 * A picture on a geom: repeated so often, or, uniform, so often per two metres. On a plane that has no end on a side
 * the middle of a picture is at the origin.
 */
static void scale_2d(const mjModel *m, const sti_form *form, double *scale)
{
    ptrdiff_t material = form->material;
    int type = form->type;
    bool projected = form->mesh >= 0 || type == mjGEOM_HFIELD, plane = type == mjGEOM_PLANE;
    double half[3];
    half_sizes(form, half);
    for (int k = 0; k < 3; ++k) scale[k] = half[k] > 0 ? 1 / half[k] : 1;
    scale[SCALE_LENGTH] = half[2];
    scale[SCALE_END] = scale[0];
    for (int k = 0; k < 2; ++k) {
        double *repeat = &scale[SCALE_REPEAT + k];
        *repeat = (double)m->mat_texrepeat[2 * material + k];
        if (m->mat_texuniform[material] && half[k] > 0) *repeat *= half[k];
        scale[SCALE_SHIFT + k] = projected || (plane && !(half[0] > 0 && half[1] > 0)) ? -0.5 : 0;
        if (plane && half[k] > 0) scale[SCALE_SHIFT + k] += *repeat / 2;
    }
}

/* From the geom's frame to a cube's: shapes are unit shapes there; planes, meshes and height fields are as they are. */
static void scale_cube(const mjModel *m, const sti_form *form, double *scale)
{
    int type = form->type;
    bool uniform = m->mat_texuniform[form->material];
    bool own = form->mesh >= 0 || type == mjGEOM_PLANE || type == mjGEOM_HFIELD;
    double half[3];
    half_sizes(form, half);
    for (int k = 0; k < 3; ++k) {
        double unit = own ? (uniform ? half[k] : 1) : (uniform ? 1 : 1 / half[k]);
        scale[k] = half[k] > 0 ? unit : 1;
    }
    if (type == mjGEOM_CAPSULE) {
        scale[SCALE_LENGTH] = half[2];
        scale[SCALE_END] = scale[2] * half[2] / half[0];
    }
}

/* As MuJoCo's classic renderer, mode mujoco shows no cube on a mesh that has coordinates. */
static bool hides_cube(bool physical, const mjModel *m, const sti_form *form, int texture)
{
    return !physical && texture >= 0 && sti_texture_is_cube(m, texture) && form->mesh >= 0 &&
           m->mesh_texcoordadr[form->mesh] >= 0;
}

int sti_details_scale(bool physical, const mjModel *m, const sti_form *form, double *scale)
{
    int texture = mapped_texture(physical, m, form->material);
    if (texture < 0 || hides_cube(physical, m, form, texture)) return -1;
    if (sti_texture_is_cube(m, texture)) {
        scale_cube(m, form, scale);
        return MAP_CUBE;
    }
    scale_2d(m, form, scale);
    if (!mapped_by_corners(physical, m, form)) return map_of_type(form->type);
    scale[SCALE_SHIFT] = scale[SCALE_SHIFT + 1] = 0;
    return MAP_CORNERS;
}

/* textures: where these begin; 0: without them. */
static void fill_roles(const sti_details *details, const mjModel *m, ptrdiff_t material, int textures, int *row,
                       double *scale)
{
    if (material < 0 || !details->physical) return;
    double rough = (double)m->mat_roughness[material], metal = (double)m->mat_metallic[material];
    for (int i = 0; i < NROLE && textures; ++i) {
        int texture = role_texture(m, material, drawn_roles[i]);
        if (texture >= 0) row[DETAIL_BUMPS + i] = textures + (int)blocks_of(details, drawn_roles[i])[texture];
    }
    row[DETAIL_METAL] = rough >= 0 || metal >= 0 || row[DETAIL_ORM + 1] || row[DETAIL_ORM + 2];
    scale[SCALE_ROUGHNESS] = rough >= 0 ? rough : 1;
    scale[SCALE_METALLIC] = metal >= 0 ? metal : row[DETAIL_ORM + 2] ? 1 : 0;
}

void sti_details_form(const sti_details *details, const mjModel *m, const sti_form *form, int textures, int corners,
                      int *row, double *scale)
{
    int colour = material_texture(m, form->material), map = sti_details_scale(details->physical, m, form, scale);
    int mesh = form->mesh;
    if (mesh >= 0 && details->corner[mesh] >= 0) row[DETAIL_CORNER] = corners + (int)details->corner[mesh];
    fill_roles(details, m, form->material, textures, row, scale);
    if (colour >= 0 && !hides_cube(details->physical, m, form, colour))
        row[DETAIL_TEXTURE] = textures + (int)details->texture[colour];
    if (map >= 0) row[DETAIL_MAP] = map;
}

void sti_details_soft(const sti_details *details, const mjModel *m, const sti_soft_surface *surface, int textures,
                      int corners, int *row, double *scale, double *look)
{
    int texture = sti_soft_texture(m, surface->object, surface->coord);
    int first = corners + (int)details->soft + CORNER_SIZE * (surface->first_tri / 2);
    row[DETAIL_CORNER] = first;
    row[DETAIL_NORMALS] = surface->ntri;
    for (ptrdiff_t i = 0; surface->coord && i < surface->ntri; ++i)
        memcpy(look + first + CORNER_SIZE * i + CORNER_COORD, surface->coord + 6 * i, 6 * sizeof *look);
    ptrdiff_t material = sti_soft_material(m, surface->object);
    fill_roles(details, m, material, surface->coord ? textures : 0, row, scale);
    if (texture >= 0) row[DETAIL_TEXTURE] = textures + (int)details->texture[texture];
    if (!surface->coord || mapped_texture(details->physical, m, material) < 0) return;
    row[DETAIL_MAP] = MAP_CORNERS;
    for (int k = 0; k < 2; ++k) scale[SCALE_REPEAT + k] = (double)m->mat_texrepeat[2 * material + k];
}

void sti_details_plain(const sti_details *details, const mjModel *m, ptrdiff_t material, int *row, double *scale)
{
    fill_roles(details, m, material, 0, row, scale);
}

void sti_details_fill(const sti_details *details, const mjModel *m, int textures, int *scene, double *corners)
{
    const sti_texels colours = details->physical ? STI_TEXELS_LINEAR : STI_TEXELS_BYTES;
    for (int i = 0; i < m->ntex; ++i) {
        if (details->texture[i] >= 0) sti_texture_fill(m, i, colours, scene, textures + (int)details->texture[i]);
        if (details->values[i] >= 0)
            sti_texture_fill(m, i, STI_TEXELS_VALUES, scene, textures + (int)details->values[i]);
    }
    for (int i = 0; i < m->nmesh; ++i)
        if (details->corner[i] >= 0) fill_corners(m, i, corners + details->corner[i]);
}
