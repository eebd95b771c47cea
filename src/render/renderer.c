/*
 * The renderer: owns the kernel's tables and launches the kernel.
 *
 * Invariants:
 *   RENDERER-1  all memory is allocated at creation, and by sti_renderer_begin; a run allocates nothing, but the first
 *               one with motion or places in bodies, that after the stage grew, that after other looks differ between
 *               worlds, and that after shapes came, went, or moved in the tree
 *   RENDERER-2  the kernel's tables change only with the version of the appearance, with the stage's connectivity, and
 *               in worlds that count as changed (SHAPE-2)
 */
#include "base/plural.h"
#include "kernel/record/launch.h"
#include "render/lens.h"
#include "render/appearance.h"
#include "render/looks.h"
#include "render/parts.h"
#include "render/render.h"
#include "render/scene.k.h"
#include "render/surface.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

extern const sti_kernel sti_k_render, sti_k_boxes;

enum { MAX_EDGE = 16384 };
_Static_assert((int)BUFFER_DEPTH == (int)STI_BUFFER_DEPTH && (int)BUFFER_TYPE == (int)STI_BUFFER_TYPE &&
                   STI_BUFFER_CAST == 1 << ROW_BITS && STI_BUFFER_CAST * ROW_BITS < 32,
               "scene.k.h numbers the buffers as sti_picture_buffer, and packs their rows in one int");

struct sti_renderer {
    stet_stage *stage;
    stet_device *device;
    stet_camera *cameras;
    int ncamera, npatch;
    sti_drawing drawing;
    int side;          /* of the grid of a pixel's samples */
    int *chosen;       /* [nworld], staging for worlds */
    bool *asked;       /* [nworld], marks listed worlds; all false between runs */
    bool lists_all;    /* `worlds` lists all of them in order */
    double *lens_rows; /* [ncamera][STI_LENS_ROW], copy of `lens` */
    sti_soft *soft;
    sti_geoms *geoms;
    sti_appearance appearance;
    sti_looks looks;
    struct {
        uint64_t set, connectivity, colours; /* colours: 0 at first */
    } seen; /* generations of the stage's shapes and of its tree for which the tables were made */
    sti_parts parts;
    stet_array *lens, *worlds, *boxes; /* boxes: of k_boxes, or NULL */
    sti_surface surface;
    sti_stand stand;
    sti_version version;
};

static int patches_along(int pixels) { return (pixels + PATCH - 1) / PATCH; }

static stet_result check_camera(const stet_stage *stage, const stet_camera *camera)
{
    if (camera->prim < 0 || camera->prim >= stet_stage_get_capacity(stage))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "camera %s: prim %d does not exist; the stage has %d",
                         camera->name, camera->prim, stet_stage_get_nprim(stage));
    if (camera->width < 1 || camera->height < 1 || camera->width > MAX_EDGE || camera->height > MAX_EDGE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "camera %s: size %d x %d; give 1 to %d pixels each way",
                         camera->name, camera->width, camera->height, MAX_EDGE);
    return STET_OK;
}

static stet_result make_lenses(sti_renderer *r)
{
    STI_TRY(sti_alloc(&r->lens_rows, (size_t)r->ncamera * STI_LENS_ROW * sizeof *r->lens_rows, "lenses"));
    for (int c = 0; c < r->ncamera; ++c) {
        stet_lens lens;
        STI_TRY(sti_lens_of(r->stage, &r->cameras[c], &lens));
        sti_lens_row(&lens, &r->cameras[c], &r->lens_rows[(ptrdiff_t)STI_LENS_ROW * c]);
    }
    return sti_reals_new(r->device, "lenses", (int64_t)r->ncamera * STI_LENS_ROW, r->lens_rows, &r->lens);
}

/* Appends a camera's patches, row by row. */
static stet_result fill_patches(const sti_renderer *r, int camera, sti_patches *patches)
{
    const stet_camera *c = &r->cameras[camera];
    stet_lens lens;
    STI_TRY(sti_lens_of(r->stage, c, &lens));
    patches->fisheye = patches->fisheye || lens.fisheye;
    for (int y = 0; y < c->height; y += PATCH) {
        for (int x = 0; x < c->width; x += PATCH) {
            const int row[PATCH_SIZE] = {[PATCH_CAMERA] = camera,
                                         [PATCH_X] = x,
                                         [PATCH_Y] = y,
                                         [PATCH_PRIM] = c->prim,
                                         [PATCH_WIDTH] = c->width,
                                         [PATCH_HEIGHT] = c->height,
                                         [PATCH_FLAT] = lens.orthographic};
            memcpy(patches->row + (size_t)PATCH_SIZE * (size_t)patches->n++, row, sizeof row);
        }
    }
    return STET_OK;
}

/* Room for the boxes of geoms, where they are made before patches (cull.k.h). */
static stet_result make_boxes(sti_renderer *r)
{
    int64_t nworld = sti_stage_worlds(r->stage)->nworld;
    stet_array_destroy(r->boxes);
    r->boxes = NULL;
    if (!r->appearance.nbox) return STET_OK;
    return STI_ARRAY(r->device, "boxes of geoms", STET_DTYPE_REAL, false, &r->boxes, nworld,
                     BOXES_SIZE((int64_t)r->appearance.nbox));
}

static stet_result make_appearance(sti_renderer *r)
{
    sti_patches patches = {.ncamera = r->ncamera,
                           .drawing = r->drawing,
                           .choice = r->looks.given & (STI_LOOK_MATERIALS | STI_LOOK_MESHES),
                           .meshed = r->looks.given & STI_LOOK_MESHES,
                           .sized = r->looks.given & STI_LOOK_SIZES};
    int64_t n = 0;
    for (int c = 0; c < r->ncamera; ++c)
        n += (int64_t)patches_along(r->cameras[c].width) * patches_along(r->cameras[c].height);
    if (n > INT32_MAX / PATCH_SIZE)
        return sti_error(STET_ERROR_LIMIT,
                         "%d cameras: together they have too many pixels for one world; make them smaller", r->ncamera);
    STI_TRY(sti_alloc(&patches.row, (size_t)n * PATCH_SIZE * sizeof *patches.row, "patches"));
    stet_result result = STET_OK;
    for (int c = 0; c < r->ncamera && !result; ++c) result = fill_patches(r, c, &patches);
    assert((result || patches.n == n) && "each camera has all its patches");
    r->npatch = patches.n;
    sti_appearance made = {0};
    if (!result) result = sti_appearance_init(&made, r->stage, r->soft, &patches);
    sti_free(patches.row);
    STI_TRY(result);
    made.has |= r->appearance.has; /* so that code need not be made again for what went */
    made.types |= r->appearance.types;
    sti_appearance_free(&r->appearance);
    r->appearance = made;
    return make_boxes(r);
}

static sti_parts_def parts_def(const sti_renderer *r)
{
    int64_t n = 0, nworld = sti_stage_worlds(r->stage)->nworld;
    for (int c = 0; c < r->ncamera; ++c) n += (int64_t)r->cameras[c].width * r->cameras[c].height;
    return (sti_parts_def){.types = r->appearance.types,
                           .has = r->appearance.has,
                           .side = r->side,
                           .boxes = r->boxes,
                           .npatch = nworld * r->npatch,
                           .nsample = nworld * n * r->side * r->side};
}

static stet_result make_parts(sti_renderer *r)
{
    const sti_parts_def def = parts_def(r);
    return sti_parts_make(r->device, &def, &r->parts);
}

static stet_result make_shapes(sti_renderer *r)
{
    const stet_worlds *worlds = sti_stage_worlds(r->stage);
    const mjModel *m = worlds->model->mj;
    bool *drawn;
    STI_TRY(sti_alloc(&drawn, (size_t)(m->nflex + m->nskin + 1) * sizeof *drawn, "flexes and skins to draw"));
    for (int i = 0; i < (int)(m->nflex + m->nskin); ++i) drawn[i] = sti_soft_drawn(m, i);
    stet_result result = sti_soft_create(r->device, worlds->model, drawn, worlds->nworld, &r->soft);
    sti_free(drawn);
    STI_TRY(result);
    return sti_geoms_create(r->device, worlds->model, r->soft, &r->geoms);
}

/* The shapes that were added to the stage, after the model's. */
static stet_result add_shapes(sti_renderer *r)
{
    const sti_shapes *shapes = sti_stage_shapes(r->stage);
    sti_geom_more *more;
    STI_TRY(sti_alloc(&more, (size_t)(shapes->n + 1) * sizeof *more, "shapes to draw"));
    for (int i = 0; i < shapes->n; ++i) {
        const sti_shape *s = &shapes->shape[i];
        more[i] = (sti_geom_more){.type = s->type, .mesh = s->mesh};
        memcpy(more[i].size, s->size, sizeof more[i].size);
    }
    stet_result result = sti_geoms_add(r->geoms, more, shapes->n);
    sti_free(more);
    return result;
}

static void see_shapes(sti_renderer *r)
{
    const sti_shapes *shapes = sti_stage_shapes(r->stage);
    r->seen.set = shapes->set.generation;
    r->seen.connectivity = sti_stage_connectivity(r->stage)->generation;
}

static stet_result make_tables(sti_renderer *r)
{
    const stet_worlds *worlds = sti_stage_worlds(r->stage);
    STI_TRY(sti_alloc(&r->chosen, (size_t)worlds->nworld * sizeof *r->chosen, "worlds to render"));
    STI_TRY(sti_alloc(&r->asked, (size_t)worlds->nworld * sizeof *r->asked, "worlds to render"));
    STI_TRY(STI_ARRAY(r->device, "worlds to render", STET_DTYPE_INT, false, &r->worlds, worlds->nworld));
    STI_TRY(sti_array_prepare_put(r->worlds));
    STI_TRY(make_lenses(r));
    STI_TRY(make_shapes(r));
    STI_TRY(add_shapes(r));
    STI_TRY(make_appearance(r));
    see_shapes(r);
    return STET_OK;
}

stet_result sti_renderer_create(stet_stage *stage, const stet_camera *cameras, int ncamera, sti_drawing drawing,
                                sti_renderer **out)
{
    if (!stage || !out || !cameras || ncamera < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "renderer: a stage and at least one camera are needed (%d given)",
                         ncamera);
    *out = NULL;
    if (sti_stage_worlds(stage)->nworld > INT32_MAX / ncamera)
        return sti_error(STET_ERROR_LIMIT,
                         "renderer: %lld worlds with %d camera%s make more than 2^31 tiles; use fewer",
                         (long long)sti_stage_worlds(stage)->nworld, ncamera, STI_S(ncamera));
    for (int c = 0; c < ncamera; ++c) STI_TRY(check_camera(stage, &cameras[c]));
    sti_renderer *r;
    STI_TRY(sti_alloc(&r, sizeof *r, "renderer"));
    r->stage = stage;
    r->surface.stage = stage;
    r->device = sti_stage_worlds(stage)->device;
    r->ncamera = ncamera;
    r->drawing = drawing;
    r->side = 1;
    r->version = sti_version_new();
    stet_result result = sti_alloc(&r->cameras, (size_t)ncamera * sizeof *cameras, "cameras");
    if (!result) {
        memcpy(r->cameras, cameras, (size_t)ncamera * sizeof *cameras);
        result = make_tables(r);
        if (!result) result = make_parts(r);
        if (!result) result = sti_stand_create(r->device, sti_stage_worlds(stage)->nworld, r->npatch, &r->stand);
    }
    if (result) {
        sti_renderer_destroy(r);
        return result;
    }
    *out = r;
    return STET_OK;
}

void sti_renderer_destroy(sti_renderer *r)
{
    if (!r) return;
    sti_parts_free(r->device, &r->parts);
    sti_appearance_free(&r->appearance);
    sti_looks_free(&r->looks);
    sti_geoms_destroy(r->geoms);
    sti_soft_destroy(r->soft);
    sti_surface_free(&r->surface);
    sti_stand_free(&r->stand);
    stet_array_destroy(r->lens);
    stet_array_destroy(r->worlds);
    stet_array_destroy(r->boxes);
    sti_free(r->cameras);
    sti_free(r->chosen);
    sti_free(r->asked);
    sti_free(r->lens_rows);
    sti_free(r);
}

stet_result sti_renderer_begin(sti_renderer *r, bool colours)
{
    const sti_parts_def def = parts_def(r);
    return sti_parts_begin(r->device, &def, colours, &r->parts);
}

const sti_version *sti_renderer_appearance(const sti_renderer *renderer) { return &renderer->version; }

stet_result sti_renderer_set_fovy(sti_renderer *r, int camera, float fovy)
{
    if (camera < 0 || camera >= r->ncamera)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "camera %d: the renderer has cameras 0 to %d", camera,
                         r->ncamera - 1);
    stet_camera changed = r->cameras[camera];
    stet_lens lens;
    changed.fovy = fovy;
    STI_TRY(sti_lens_of(r->stage, &changed, &lens));
    sti_lens_row(&lens, &changed, &r->lens_rows[(ptrdiff_t)STI_LENS_ROW * camera]);
    STI_TRY(sti_reals_write(r->lens, (int64_t)r->ncamera * STI_LENS_ROW, r->lens_rows));
    r->cameras[camera] = changed;
    sti_version_bump(&r->version);
    r->looks.clock = 0; /* lenses of worlds are made again */
    return sti_stand_change(&r->stand);
}

bool sti_samples_known(int samples) { return samples == 1 || samples == 4 || samples == 16; }

stet_result sti_renderer_set_samples(sti_renderer *r, int samples)
{
    if (!sti_samples_known(samples))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "render: %d samples a pixel; 1, 4 or 16 are possible", samples);
    r->side = samples == 16 ? 4 : samples == 4 ? 2 : 1;
    sti_version_bump(&r->version);
    STI_TRY(sti_stand_change(&r->stand));
    return make_parts(r);
}

/* Tables for the shapes of the stage, and for materials and sizes if they differ between worlds. */
static stet_result make_tables_anew(sti_renderer *r)
{
    unsigned has = r->appearance.has, types = r->appearance.types;
    bool many = r->boxes;
    sti_surface_forget(&r->surface);
    STI_TRY(add_shapes(r));
    STI_TRY(make_appearance(r));
    if (r->appearance.has != has || r->appearance.types != types || many != (r->boxes != NULL)) STI_TRY(make_parts(r));
    see_shapes(r);
    return STET_OK;
}

stet_result sti_renderer_update(sti_renderer *r)
{
    const stet_worlds *worlds = sti_stage_worlds(r->stage);
    const sti_shapes *shapes = sti_stage_shapes(r->stage);
    unsigned given = sti_looks_given(worlds), before = r->looks.given;
    bool looks = r->looks.clock != worlds->parameters.look_clock;
    bool moved = shapes->n > 0 && r->seen.connectivity != sti_stage_connectivity(r->stage)->generation;
    bool other = moved || r->seen.set != shapes->set.generation;
    bool coloured = r->seen.colours != shapes->colours.generation;
    if (!looks && !other && !coloured) return STET_OK;
    STI_TRY(sti_stand_change(&r->stand));
    if ((given ^ before) & (STI_LOOK_MATERIALS | STI_LOOK_SIZES | STI_LOOK_MESHES) || other) {
        r->looks.given = given;
        r->seen.set = 0; /* a failure is not forgotten */
        STI_TRY(make_tables_anew(r));
    }
    const sti_looks_def def = {.stage = r->stage,
                               .base = &r->appearance,
                               .geoms = r->geoms,
                               .cameras = r->cameras,
                               .ncamera = r->ncamera,
                               .physical = r->drawing.mode == STET_RENDER_MODE_PHYSICAL};
    STI_TRY(sti_looks_update(&r->looks, &def, given != before || other || coloured));
    r->seen.colours = shapes->colours.generation;
    if (looks) sti_version_bump(&r->version);
    return STET_OK;
}

stet_result sti_renderer_make_standing(sti_renderer *r, sti_standing *standing)
{
    return sti_standing_make(&r->stand, sti_stage_world(r->stage)->nitem, standing);
}

stet_result sti_renderer_carry(sti_renderer *r, sti_standing *from, sti_standing *to, const int *worlds, int n)
{
    return sti_standing_carry(&r->stand, from, to, worlds, n);
}

stet_result sti_renderer_count_patches(sti_renderer *r, int64_t *stood, int64_t *of)
{
    return sti_stand_count(&r->stand, stood, of);
}

/* Checks that each listed world exists and is listed once; otherwise two threads would write its pixels. */
static stet_result check_worlds(sti_renderer *r, const int *worlds, int n)
{
    int64_t nworld = sti_stage_worlds(r->stage)->nworld;
    stet_result result = STET_OK;
    int taken = 0;
    for (; taken < n && !result; ++taken) {
        int w = worlds[taken];
        if (w < 0 || w >= nworld)
            result = sti_error(STET_ERROR_INVALID_ARGUMENT, "render: world %d does not exist; there are %lld", w,
                               (long long)nworld);
        else if (r->asked[w])
            result = sti_error(STET_ERROR_INVALID_ARGUMENT, "render: world %d is asked for twice; name each once", w);
        if (result) break;
        r->asked[w] = true;
        r->chosen[taken] = w;
    }
    for (int i = 0; i < taken; ++i) r->asked[worlds[i]] = false;
    for (int64_t w = 0; w < nworld; ++w) assert(!r->asked[w] && "no mark is left between runs");
    return result;
}

/* Uploads the list of worlds; NULL: of all. */
static stet_result put_worlds(sti_renderer *r, const int *worlds)
{
    if (!worlds && r->lists_all) return STET_OK;
    for (int w = 0; !worlds && w < (int)sti_stage_worlds(r->stage)->nworld; ++w) r->chosen[w] = w;
    r->lists_all = false;
    STI_TRY(sti_array_put(r->worlds, r->chosen, stet_array_get_bytes(r->worlds)));
    r->lists_all = !worlds;
    return STET_OK;
}

static stet_result check_target(const sti_renderer *r, const sti_render_target *target)
{
    int64_t ntile = sti_stage_worlds(r->stage)->nworld * r->ncamera;
    const stet_array *tables[] = {target->first, target->pitch};
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) {
        if (!target->pixels[b]) continue;
        for (int i = 0; i < 2; ++i)
            if (!tables[i] || target->row[b] < 0 || target->row[b] >= STI_BUFFER_COUNT ||
                stet_array_get_nelement(tables[i]) < (target->row[b] + 1) * ntile)
                return sti_error(STET_ERROR_INVALID_ARGUMENT,
                                 "render: buffer %s needs first pixel and pitch of %lld tiles",
                                 stet_array_get_name(target->pixels[b]), (long long)ntile);
    }
    return STET_OK;
}

/* Rows of the wanted buffers in the tile table, as the kernel takes them; the table has rays' buffers first. */
static int pack_rows(const sti_render_target *target)
{
    int rows = 0;
    for (int b = 0; b < STI_BUFFER_CAST; ++b) {
        if (!target->pixels[b]) continue;
        assert(target->row[b] >= 0 && target->row[b] < 1 << ROW_BITS);
        rows |= target->row[b] << b * ROW_BITS;
    }
    return rows;
}

static int lens_stride(const sti_renderer *r) { return r->looks.lens ? r->ncamera * STI_LENS_ROW : 0; }

/* Shapes of worlds, or of all: rows a world, sizes, bounds. */
static int own_shapes(const sti_renderer *r) { return r->looks.size ? r->appearance.nshape : 0; }
static stet_array *sizes_of(const sti_renderer *r) { return r->looks.size ? r->looks.size : r->geoms->size; }
static stet_array *data_of(const sti_renderer *r) { return r->looks.data ? r->looks.data : r->geoms->data; }
static stet_array *bounds_of(const sti_renderer *r) { return r->looks.bounds ? r->looks.bounds : r->geoms->bounds; }

/* The boxes of the n listed worlds' geoms, where they are many. */
static stet_result fill_boxes(sti_renderer *r, int n)
{
    stet_array *xform = sti_stage_world(r->stage);
    int64_t nrun = (r->appearance.nbox + CHUNK - 1) / CHUNK;
    if (!r->boxes) return STET_OK;
    return STI_LAUNCH(sti_k_boxes, r->device, n * nrun, sti_arg_array(xform), sti_arg_int(xform->nitem),
                      sti_arg_array(r->worlds), sti_arg_array(r->appearance.scene), sti_arg_array(bounds_of(r)),
                      sti_arg_int(own_shapes(r)), sti_arg_array(r->boxes));
}

/* Finds which patches of the n listed worlds stand. */
static stet_result find_standing(sti_renderer *r, const sti_render_target *t, int n)
{
    const sti_looks *k = &r->looks;
    if (!t->standing) return STET_OK;
    const sti_stand_rows rows = {.xform = sti_stage_world(r->stage),
                                 .worlds = r->worlds,
                                 .scene = r->appearance.scene,
                                 .own = k->own ? k->own : r->appearance.look,
                                 .stride = k->own ? (int)r->appearance.nown : 0,
                                 .lens = k->lens ? k->lens : r->lens,
                                 .lens_stride = lens_stride(r),
                                 .size = sizes_of(r),
                                 .bounds = bounds_of(r),
                                 .shapes = own_shapes(r),
                                 .n = n,
                                 .coloured = t->pixels[STI_BUFFER_COLOUR]};
    return sti_standing_run(&r->stand, t->standing, &rows);
}

/* A launch of the kernel for n blocks, the first of which is `start`. sample, reflected: of a part. */
typedef struct part_launch {
    const sti_kernel *kernel;
    int64_t start, n;
    int sample, reflected;
} part_launch;

static stet_result launch(sti_renderer *r, const sti_render_target *t, const part_launch *p)
{
    const sti_geoms *g = r->geoms;
    const sti_looks *k = &r->looks;
    stet_array *xform = sti_stage_world(r->stage), *const *pixels =
                                                       t->pixels; /* a stage that grows has another array */
    stet_array *stands = t->standing ? r->stand.stands : NULL, *range = t->standing ? t->standing->range : NULL;
    return STI_LAUNCH(
        *p->kernel, r->device, p->n, sti_arg_array(xform), sti_arg_int(xform->nitem), sti_arg_array(r->worlds),
        sti_arg_array(r->appearance.scene), sti_arg_array(r->appearance.look),
        sti_arg_array(k->own ? k->own : r->appearance.look), sti_arg_int(k->own ? (int)r->appearance.nown : 0),
        sti_arg_array(k->choice ? k->choice : r->appearance.scene), sti_arg_array(k->lens ? k->lens : r->lens),
        sti_arg_int(lens_stride(r)), sti_arg_array(sizes_of(r)), sti_arg_array(data_of(r)), sti_arg_array(bounds_of(r)),
        sti_arg_int(own_shapes(r)), sti_arg_array(k->scale ? k->scale : r->appearance.look),
        sti_arg_int(k->scale ? r->appearance.nscale : 0), sti_arg_array(r->boxes), sti_arg_array(g->node),
        sti_arg_array(g->tri), sti_arg_array(g->elevation), STI_BUFFERS_CAST(STI_BUFFER_ARG) sti_arg_array(t->first),
        sti_arg_array(t->pitch), sti_arg_array(stands), sti_arg_array(range), sti_arg_array(r->parts.hits),
        sti_arg_array(r->parts.words), sti_arg_int((int)p->start), sti_arg_int(p->sample), sti_arg_int(p->reflected),
        sti_arg_int(pack_rows(t)), sti_arg_int(r->side));
}

/* One round of the patches of p, part by part. Centres of pixels that have several samples have no colours. */
static stet_result launch_round(sti_renderer *r, const sti_render_target *t, part_launch p)
{
    p.kernel = &r->parts.kernel[STI_PART_HITS];
    STI_TRY(launch(r, t, &p));
    if (!t->pixels[STI_BUFFER_COLOUR] || (p.sample < 0 && r->side > 1)) return STET_OK;
    p.kernel = &r->parts.kernel[STI_PART_SHADOWS];
    if (r->parts.has[STI_PART_SHADOWS] && !p.reflected) STI_TRY(launch(r, t, &p));
    p.kernel = &r->parts.kernel[STI_PART_COLOURS];
    return launch(r, t, &p);
}

/* All rounds of the n patches of the listed worlds, as many patches at a time as there is room for. */
static stet_result launch_parts(sti_renderer *r, const sti_render_target *t, int64_t n)
{
    const bool mirrors = r->appearance.has >> SCENE_NMIRROR & 1, colour = t->pixels[STI_BUFFER_COLOUR];
    bool centre = r->side == 1 || t->pixels[STI_BUFFER_ALBEDO];
    for (int b = STI_BUFFER_DEPTH; b < STI_BUFFER_CAST; ++b) centre = centre || t->pixels[b];
    part_launch p = {.n = r->parts.npatch};
    for (p.start = 0; p.start < n; p.start += r->parts.npatch) {
        if (n - p.start < p.n) p.n = n - p.start;
        int last = colour && r->side > 1 ? r->side * r->side - 1 : -1;
        for (p.sample = centre ? -1 : 0; p.sample <= last; ++p.sample)
            for (p.reflected = mirrors && colour && (p.sample >= 0 || r->side == 1); p.reflected >= 0; --p.reflected)
                STI_TRY(launch_round(r, t, p));
    }
    return STET_OK;
}

/* Draws the n listed worlds. */
static stet_result draw(sti_renderer *r, const sti_render_target *t, int n)
{
    const int strip = r->device->can.teams ? 1 : STRIP;
    const bool lit = t->pixels[STI_BUFFER_COLOUR] || t->pixels[STI_BUFFER_ALBEDO];
    part_launch all = {.n = (int64_t)n * ((r->npatch + strip - 1) / strip)};
    STI_TRY(sti_parts_choose(r->device, &r->parts, lit, &all.kernel));
    return all.kernel ? launch(r, t, &all) : launch_parts(r, t, all.n);
}

/* Transforms are up to date. */
static stet_result draw_listed(sti_renderer *r, const sti_render_target *target, int n)
{
    STI_TRY(sti_geoms_deform(r->geoms, r->soft, sti_stage_world(r->stage), r->worlds, n));
    STI_TRY(fill_boxes(r, n));
    STI_TRY(find_standing(r, target, n));
    STI_TRY(draw(r, target, n));
    stet_array *lens = r->looks.lens ? r->looks.lens : r->lens;
    const sti_surface_rows rows = {r->worlds, r->appearance.scene, lens, lens_stride(r), n, r->npatch};
    return sti_surface_run(&r->surface, &rows, target);
}

stet_result sti_renderer_run(sti_renderer *r, const int *worlds, int n, const sti_render_target *target)
{
    int64_t nworld = sti_stage_worlds(r->stage)->nworld;
    if (n < 0 || n > nworld || (n > 0 && n < nworld && !worlds))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "render: a list of 0 to %lld worlds is needed (%d given)",
                         (long long)nworld, n);
    if ((int64_t)n * r->npatch > INT32_MAX || (int64_t)n * r->soft->n > INT32_MAX ||
        n * (((int64_t)r->appearance.nbox + CHUNK - 1) / CHUNK) > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT,
                         "render: %d worlds of %d patches are more than 2^31; render fewer worlds at once", n,
                         r->npatch);
    STI_TRY(check_target(r, target));
    if (worlds) STI_TRY(check_worlds(r, worlds, n));
    STI_TRY(sti_renderer_update(r));
    STI_TRY(sti_surface_prepare(&r->surface, target));
    if (n == 0) return STET_OK;
    STI_TRY(put_worlds(r, worlds));
    if (!sti_array_is_current(sti_stage_world(r->stage))) STI_TRY(sti_array_produce(sti_stage_world(r->stage)));
    stet_array *xform = sti_stage_world(r->stage);
    bool producing = xform->producing;
    xform->producing = true; /* once for all launches of a frame: it is one reader */
    stet_result result = draw_listed(r, target, n);
    xform->producing = producing;
    return result;
}
