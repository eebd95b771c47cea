/* See looks.h. */
#include "render/looks.h"

#include "base/memory.h"
#include "render/detail.h"
#include "render/lens.h"
#include "render/scene.k.h"
#include "worlds/worlds.h"

#include <assert.h>
#include <math.h>
#include <string.h>

unsigned sti_looks_given(const stet_worlds *worlds)
{
    unsigned given = 0;
    for (int k = STI_PARAMETER_PHYSICS; k < STI_PARAMETER_PLACES; ++k)
        given |= (unsigned)worlds->parameters.given[k] << (k - STI_PARAMETER_PHYSICS);
    if (worlds->parameters.given[STI_PARAMETER_geom_size]) given |= STI_LOOK_SIZES;
    return worlds->parameters.given[STI_PARAMETER_geom_dataid] ? given | STI_LOOK_MESHES : given;
}

static bool differs(const sti_looks *looks, sti_parameter look)
{
    return looks->given >> (look - STI_PARAMETER_PHYSICS) & 1;
}

/* Arrays of floats of the model that rows are made of: name, count, which rows. */
#define FLOATS(X)                                                                                                      \
    X(light_ambient, 3 * m->nlight, LAMPS)                                                                             \
    X(light_diffuse, 3 * m->nlight, LAMPS)                                                                             \
    X(light_specular, 3 * m->nlight, LAMPS)                                                                            \
    X(light_attenuation, 3 * m->nlight, LAMPS)                                                                         \
    X(light_cutoff, m->nlight, LAMPS)                                                                                  \
    X(light_exponent, m->nlight, LAMPS)                                                                                \
    X(mat_emission, m->nmat, MATERIALS)                                                                                \
    X(mat_specular, m->nmat, MATERIALS)                                                                                \
    X(mat_shininess, m->nmat, MATERIALS)                                                                               \
    X(cam_intrinsic, 4 * m->ncam, LENSES)
typedef enum rows { LAMPS, MATERIALS, LENSES } rows;

static bool any_differs(const sti_looks *looks, rows which)
{
    bool any = false;
#define DIFFERS(name, count, of) any = any || (which == of && differs(looks, STI_PARAMETER_##name));
    FLOATS(DIFFERS)
#undef DIFFERS
    return any;
}

static bool materials_differ(const sti_looks *looks)
{
    return differs(looks, STI_PARAMETER_mat_rgb) || any_differs(looks, MATERIALS);
}

/* Do worlds choose rows of details? */
static bool has_choice(const sti_looks *looks) { return looks->given & (STI_LOOK_MATERIALS | STI_LOOK_MESHES); }

static bool geoms_differ(const sti_looks *looks)
{
    return has_choice(looks) || differs(looks, STI_PARAMETER_geom_rgb) || materials_differ(looks);
}

static bool lamps_differ(const sti_looks *looks) { return any_differs(looks, LAMPS); }

static bool lenses_differ(const sti_looks *looks)
{
    return differs(looks, STI_PARAMETER_cam_fovy) || any_differs(looks, LENSES);
}

static double look_of(const stet_worlds *worlds, sti_parameter look, int64_t w, int64_t item)
{
    return sti_parameters_look(&worlds->parameters, worlds->model->mj, look, w, item);
}

static size_t count_floats(const mjModel *m)
{
    size_t n = 0;
#define COUNT(name, count, of) n += (size_t)(count);
    FLOATS(COUNT)
#undef COUNT
    return n;
}

/* The model with a world's numbers of those arrays, in memory for as many. */
static mjModel own_model(const stet_worlds *worlds, int64_t w, float *at)
{
    const mjModel *m = worlds->model->mj;
    mjModel own = *m;
#define OWN(array, count, of)                                                                                          \
    for (int64_t i = 0; worlds->parameters.given[STI_PARAMETER_##array] && i < (int64_t)(count); ++i) {                \
        own.array = at;                                                                                                \
        at[i] = (float)look_of(worlds, STI_PARAMETER_##array, w, i);                                                   \
    }                                                                                                                  \
    at += (count);
    FLOATS(OWN)
#undef OWN
    sti_parameters_point(&worlds->parameters, m, STI_PARAMETER_cam_fovy, w, &own.cam_fovy);
    return own;
}

/* Which mesh a geom has in a world, if it has one; else -1. */
static int mesh_of(const stet_worlds *worlds, int64_t w, int geom)
{
    const mjModel *m = worlds->model->mj;
    assert(geom >= 0 && geom < m->ngeom);
    if (m->geom_type[geom] != mjGEOM_MESH) return sti_form_of_geom(m, geom).mesh;
    return (int)floor(look_of(worlds, STI_PARAMETER_geom_dataid, w, geom));
}

/* What has this colour or, if it has none of its own, that of a world's material; how opaque it is stays. */
static void fill_look(const stet_worlds *worlds, const mjModel *m, int64_t w, int material, const float *rgba,
                      bool physical, double *row)
{
    double alpha = row[APPEARANCE_ALPHA];
    sti_appearance_of(m, material, rgba, row);
    row[APPEARANCE_ALPHA] = alpha;
    for (int k = 0; k < 3 && material >= 0 && !sti_has_own_colour(rgba); ++k)
        row[APPEARANCE_RGB + k] = (float)look_of(worlds, STI_PARAMETER_mat_rgb, w, 3 * (int64_t)material + k);
    for (int k = 0; k < 3 && physical; ++k) row[APPEARANCE_RGB + k] = sti_linear_of_srgb(row[APPEARANCE_RGB + k]);
}

/* A world's numbers while they are filled. */
typedef struct own_look {
    const sti_looks *looks;
    const stet_worlds *worlds;
    const mjModel *m; /* with its own numbers (own_model) */
    int64_t w;
    int nshape;
    bool physical;
    double *numbers;
} own_look;

static void fill_geom(const own_look *o, int geom, int shape)
{
    int material = (int)floor(look_of(o->worlds, STI_PARAMETER_geom_matid, o->w, geom));
    bool meshed = o->looks->given & STI_LOOK_MESHES;
    float rgba[4] = {0, 0, 0, o->m->geom_rgba[4 * (ptrdiff_t)geom + 3]};
    for (int k = 0; k < 3; ++k)
        rgba[k] = (float)look_of(o->worlds, STI_PARAMETER_geom_rgb, o->w, 3 * (int64_t)geom + k);
    fill_look(o->worlds, o->m, o->w, material, rgba, o->physical, o->numbers + (ptrdiff_t)APPEARANCE_SIZE * shape);
    if (o->looks->row)
        o->looks->row[o->w * o->nshape + shape] =
            sti_details_row(o->m, o->nshape, meshed, geom, mesh_of(o->worlds, o->w, geom), material);
}

/* A plane's underside looks like the plane, but for its opacity. */
static void fill_geoms(const own_look *o)
{
    int under = sti_shape_under(o->m), *row = o->looks->row;
    for (int s = 0; row && s < o->nshape; ++s) row[o->w * o->nshape + s] = s;
    for (int g = 0; g < (int)o->m->ngeom; ++g) {
        fill_geom(o, g, g);
        if (o->m->geom_type[g] == mjGEOM_PLANE) fill_geom(o, g, under++);
    }
    assert(under <= o->nshape && "undersides are shapes");
}

/* What else shows the model's materials. */
static void fill_others(const stet_worlds *worlds, const mjModel *m, int64_t w, bool physical, double *numbers)
{
    double *row = numbers + APPEARANCE_SIZE * (ptrdiff_t)m->ngeom;
    for (int s = 0; s < (int)m->nsite; ++s, row += APPEARANCE_SIZE)
        fill_look(worlds, m, w, m->site_matid[s], &m->site_rgba[4 * (ptrdiff_t)s], physical, row);
    for (int t = 0; t < (int)m->ntendon; ++t, row += APPEARANCE_SIZE)
        fill_look(worlds, m, w, m->tendon_matid[t], &m->tendon_rgba[4 * (ptrdiff_t)t], physical, row);
    for (int i = 0; i < (int)(m->nflex + m->nskin); ++i)
        fill_look(worlds, m, w, sti_soft_material(m, i), sti_soft_colour(m, i), physical,
                  numbers + APPEARANCE_SIZE * (ptrdiff_t)(sti_shape_flex(m) + i));
}

/* Colours of shapes that were added to the stage. */
static void fill_shapes(const sti_shapes *shapes, int first, int64_t w, bool physical, double *numbers)
{
    for (int i = 0; i < shapes->n; ++i) {
        const float *rgb = shapes->shape[i].colour;
        double *row = numbers + (ptrdiff_t)APPEARANCE_SIZE * (first + i) + APPEARANCE_RGB;
        for (int k = 0; k < 3 && rgb; ++k)
            row[k] = physical ? sti_linear_of_srgb((double)rgb[3 * w + k]) : (double)rgb[3 * w + k];
    }
}

static void fill_lamps(const mjModel *m, const sti_appearance *base, double *lamps)
{
    for (int l = 0; l < base->nlamp; ++l) {
        int info[LAMP_INTS]; /* of all worlds alike */
        assert(base->light[l] >= -1 && base->light[l] < m->nlight);
        if (base->light[l] >= 0) sti_lamp_of_model(m, base->light[l], lamps + (ptrdiff_t)LAMP_REALS * l, info);
    }
}

/* Cameras of the model that are no fisheyes. */
static stet_result fill_lenses(const sti_looks *looks, const sti_looks_def *def, const mjModel *m, int64_t w)
{
    for (int c = 0; c < def->ncamera; ++c) {
        stet_camera camera = def->cameras[c];
        stet_lens lens;
        int own = sti_lens_camera(def->stage, camera.prim);
        if (own >= 0 && !camera.fisheye)
            camera.fovy = (float)look_of(sti_stage_worlds(def->stage), STI_PARAMETER_cam_fovy, w, own);
        STI_TRY(sti_lens_of_model(m, own, &camera, &lens));
        sti_lens_row(&lens, &camera, &looks->lenses[(w * def->ncamera + c) * STI_LENS_ROW]);
    }
    return STET_OK;
}

/* Shapes of geoms with a world's own sizes and meshes. */
static void fill_sizes(const sti_looks *looks, const sti_looks_def *def, int64_t w)
{
    const stet_worlds *worlds = sti_stage_worlds(def->stage);
    const mjModel *m = worlds->model->mj;
    const ptrdiff_t first = (ptrdiff_t)w * def->base->nshape;
    const sti_geom_rows own = {
        .size = looks->sizes + 4 * first, .data = looks->datas + 4 * first, .bounds = looks->boxes + 6 * first};
    mjtNum *size = m->geom_size;
    sti_parameters_point(&worlds->parameters, m, STI_PARAMETER_geom_size, w, &size);
    for (int g = 0; g < (int)m->ngeom; ++g) looks->meshes[g] = mesh_of(worlds, w, g);
    sti_geoms_resize(def->geoms, m, size, looks->meshes, &own);
}

/* How pictures lie on them: with each material, where these differ. */
static void fill_scales(const sti_looks *looks, const sti_looks_def *def, int64_t w)
{
    const stet_worlds *worlds = sti_stage_worlds(def->stage);
    const mjModel *m = worlds->model->mj;
    assert(worlds->parameters.value[STI_PARAMETER_geom_size] && "sizes differ");
    const mjtNum *size = worlds->parameters.value[STI_PARAMETER_geom_size] + w * 3 * m->ngeom;
    const int nshape = def->base->nshape;
    const bool meshed = looks->given & STI_LOOK_MESHES;
    double *scales = looks->scales + w * def->base->nscale;
    int under = sti_shape_under(m);
    memcpy(scales, def->base->scales, (size_t)def->base->nscale * sizeof *scales);
    for (int g = 0; g < (int)m->ngeom; ++g) {
        sti_form form = sti_form_of_geom(m, g);
        double *own = scales + (ptrdiff_t)SCALE_SIZE * g;
        form.size = size + 3 * (ptrdiff_t)g;
        (void)sti_details_scale(def->physical, m, &form, own);
        if (form.type == mjGEOM_PLANE) memcpy(scales + (ptrdiff_t)SCALE_SIZE * under++, own, SCALE_SIZE * sizeof *own);
        form.mesh = mesh_of(worlds, w, g);
        for (form.material = -1; has_choice(looks) && form.material < (int)m->nmat; ++form.material) {
            own = scales + (ptrdiff_t)SCALE_SIZE * sti_details_row(m, nshape, meshed, g, form.mesh, form.material);
            (void)sti_details_scale(def->physical, m, &form, own);
        }
    }
}

static void free_tables(sti_looks *looks)
{
    stet_array_destroy(looks->own);
    stet_array_destroy(looks->choice);
    stet_array_destroy(looks->lens);
    stet_array_destroy(looks->size);
    stet_array_destroy(looks->bounds);
    stet_array_destroy(looks->data);
    stet_array_destroy(looks->scale);
    sti_free(looks->numbers);
    sti_free(looks->lenses);
    sti_free(looks->sizes);
    sti_free(looks->boxes);
    sti_free(looks->scales);
    sti_free(looks->row);
    sti_free(looks->datas);
    sti_free(looks->meshes);
    *looks = (sti_looks){.clock = looks->clock, .given = looks->given, .coloured = looks->coloured};
}

void sti_looks_free(sti_looks *looks) { free_tables(looks); }

/* A table of worlds, `each` reals or integers a world, on the host and on the device; host: where its pointer goes. */
static stet_result make_table(const stet_worlds *worlds, const char *what, stet_dtype dtype, int64_t each, void *host,
                              stet_array **out)
{
    size_t size, one = dtype == STET_DTYPE_REAL ? sizeof(double) : sizeof(int);
    STI_TRY(sti_mul_size((size_t)each * one, (size_t)worlds->nworld, &size, what));
    STI_TRY(sti_alloc(host, size, what));
    return STI_ARRAY(worlds->device, what, dtype, false, out, worlds->nworld, each);
}

static stet_result make_tables(sti_looks *looks, const stet_worlds *worlds, const sti_appearance *base, int ncamera)
{
    int64_t nshape = base->nshape;
    if (geoms_differ(looks) || lamps_differ(looks) || looks->coloured)
        STI_TRY(make_table(worlds, "looks of worlds", STET_DTYPE_REAL, base->nown, &looks->numbers, &looks->own));
    if (lenses_differ(looks))
        STI_TRY(make_table(worlds, "lenses of worlds", STET_DTYPE_REAL, (int64_t)ncamera * STI_LENS_ROW, &looks->lenses,
                           &looks->lens));
    if (looks->given & (STI_LOOK_SIZES | STI_LOOK_MESHES)) {
        STI_TRY(make_table(worlds, "sizes of worlds", STET_DTYPE_REAL, 4 * nshape, &looks->sizes, &looks->size));
        STI_TRY(make_table(worlds, "bounds of worlds", STET_DTYPE_REAL, 6 * nshape, &looks->boxes, &looks->bounds));
        STI_TRY(make_table(worlds, "meshes of worlds", STET_DTYPE_INT, 4 * nshape, &looks->datas, &looks->data));
        STI_TRY(sti_alloc(&looks->meshes, (size_t)(worlds->model->mj->ngeom + 1) * sizeof *looks->meshes, "meshes"));
    }
    if (looks->given & STI_LOOK_SIZES)
        STI_TRY(make_table(worlds, "scales of worlds", STET_DTYPE_REAL, base->nscale, &looks->scales, &looks->scale));
    if (!has_choice(looks)) return STET_OK;
    return make_table(worlds, "materials of worlds", STET_DTYPE_INT, nshape, &looks->row, &looks->choice);
}

static stet_result upload(const sti_looks *looks)
{
    stet_array *const arrays[] = {looks->own, looks->lens, looks->size, looks->bounds, looks->scale};
    const double *const numbers[] = {looks->numbers, looks->lenses, looks->sizes, looks->boxes, looks->scales};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
        assert((arrays[i] == NULL) == (numbers[i] == NULL) && "LOOKS-2: a table is on the device and on the host");
        if (arrays[i]) STI_TRY(sti_reals_write(arrays[i], stet_array_get_nelement(arrays[i]), numbers[i]));
    }
    if (looks->data) STI_TRY(stet_array_write(looks->data, looks->datas, stet_array_get_bytes(looks->data)));
    if (!looks->choice) return STET_OK;
    return stet_array_write(looks->choice, looks->row, stet_array_get_bytes(looks->choice));
}

static stet_result fill_world(sti_looks *looks, const sti_looks_def *def, int64_t w, float *floats)
{
    const sti_appearance *base = def->base;
    const stet_worlds *worlds = sti_stage_worlds(def->stage);
    const sti_shapes *shapes = sti_stage_shapes(def->stage);
    const mjModel own = own_model(worlds, w, floats);
    double *numbers = looks->numbers ? looks->numbers + w * base->nown : NULL;
    if (numbers) memcpy(numbers, base->own, (size_t)base->nown * sizeof *numbers);
    const own_look geoms = {looks, worlds, &own, w, base->nshape, def->physical, numbers};
    if (numbers && geoms_differ(looks)) fill_geoms(&geoms);
    if (numbers && materials_differ(looks)) fill_others(worlds, &own, w, def->physical, numbers);
    if (numbers && lamps_differ(looks)) fill_lamps(&own, base, numbers + (ptrdiff_t)APPEARANCE_SIZE * base->nshape);
    if (numbers && looks->coloured) fill_shapes(shapes, base->nshape - shapes->n, w, def->physical, numbers);
    if (looks->lenses) STI_TRY(fill_lenses(looks, def, &own, w));
    if (looks->sizes) fill_sizes(looks, def, w);
    if (looks->scales) fill_scales(looks, def, w);
    return STET_OK;
}

static stet_result update(sti_looks *looks, const sti_looks_def *def, bool anew)
{
    const sti_appearance *base = def->base;
    const stet_worlds *worlds = sti_stage_worlds(def->stage);
    const sti_parameters *p = &worlds->parameters;
    const sti_shapes *shapes = sti_stage_shapes(def->stage);
    if (anew) {
        free_tables(looks);
        looks->coloured = false;
        for (int i = 0; i < shapes->n; ++i) looks->coloured |= shapes->shape[i].colour != NULL;
        looks->given = sti_looks_given(worlds);
        STI_TRY(make_tables(looks, worlds, base, def->ncamera));
    }
    float *floats = NULL;
    if (looks->given || looks->coloured)
        STI_TRY(sti_alloc(&floats, count_floats(worlds->model->mj) * sizeof *floats, "looks of a world"));
    stet_result result = STET_OK;
    for (int64_t w = 0; result == STET_OK && (looks->given || looks->coloured) && w < worlds->nworld; ++w)
        if (anew || looks->clock == 0 || sti_generation_of(&p->look_changed, w) > looks->clock)
            result = fill_world(looks, def, w, floats);
    sti_free(floats);
    STI_TRY(result);
    STI_TRY(upload(looks));
    assert(looks->clock <= p->look_clock && "a clock of looks goes on");
    looks->clock = p->look_clock;
    return STET_OK;
}

stet_result sti_looks_update(sti_looks *looks, const sti_looks_def *def, bool anew)
{
    stet_result result = update(looks, def, anew);
    if (result == STET_OK) return STET_OK;
    free_tables(looks); /* the next call makes them anew */
    looks->given = 0;
    looks->coloured = false;
    looks->clock = 0;
    return result;
}
