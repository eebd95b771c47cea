/* Creates tiles over a stage, with the renderer as painter. Cameras without a request are not rendered. */
#include "tiles/tiles.h"

#include "stage/stage.h"

#include <assert.h>
#include <string.h>

/*
 * With motion, pixels are also made from where their world was when it was last rendered. So a world that had moved
 * since the rendering before changes once more when it is rendered.
 */
typedef struct stage_painter {
    stet_stage *stage;
    sti_renderer *renderer;
    bool motion;                    /* with motion: */
    sti_generations changed, shown; /* of worlds; and the stage's generation when a world was rendered, 0: never */
    sti_version changes;            /* the version of `changed` */
    uint64_t seen;                  /* the stage's generation up to which `changed` follows it */
} stage_painter;

static stet_result update(void *context, sti_scene *out)
{
    stage_painter *p = context;
    const sti_generations *changed = sti_stage_changed(p->stage);
    const sti_version *changes = sti_stage_changes(p->stage);
    STI_TRY(sti_array_ensure(sti_stage_world(p->stage))); /* flushes the stage */
    STI_TRY(sti_renderer_update(p->renderer));
    if (p->motion) {
        (void)sti_generations_bump_since(&p->changed, &p->changes, changed, p->seen);
        p->seen = changes->generation;
    }
    *out = (sti_scene){.changed = p->motion ? &p->changed : changed,
                       .changes = p->motion ? p->changes : *changes,
                       .appearance = *sti_renderer_appearance(p->renderer),
                       .connectivity = *sti_stage_connectivity(p->stage)};
    out->nmove = sti_stage_moves(p->stage, out->moves);
    return STET_OK;
}

/* Was a world rendered before, and has moved since? */
static bool has_motion(const stage_painter *p, int64_t w)
{
    assert(w >= 0 && w < p->shown.n);
    uint64_t shown = sti_generation_of(&p->shown, w);
    return shown > 0 && sti_generation_of(sti_stage_changed(p->stage), w) > shown;
}

static void show_worlds(stage_painter *p, const int *worlds, int n)
{
    assert(n >= 0 && n <= p->shown.n && (worlds || n == p->shown.n));
    uint64_t next = p->changes.generation + 1, now = sti_stage_changes(p->stage)->generation;
    bool any = false;
    if (!worlds && !sti_stage_changed(p->stage)->apart && !p->shown.apart) { /* what is true of one is true of all */
        if (has_motion(p, 0)) (void)sti_generations_bump(&p->changed, &p->changes, NULL);
        sti_generations_put_all(&p->shown, now);
        return;
    }
    for (int i = 0; i < n; ++i) {
        int64_t w = worlds ? worlds[i] : i;
        if (has_motion(p, w)) {
            sti_generations_put(&p->changed, w, next);
            any = true;
        }
        sti_generations_put(&p->shown, w, now);
    }
    if (any) sti_version_bump(&p->changes);
}

static stet_result paint(void *context, const int *worlds, int n, const sti_render_target *target)
{
    stage_painter *p = context;
    STI_TRY(sti_renderer_run(p->renderer, worlds, n, target));
    if (p->motion) show_worlds(p, worlds, n);
    return STET_OK;
}

static stet_result make_standing(void *context, sti_standing *standing)
{
    const stage_painter *p = context;
    return sti_renderer_make_standing(p->renderer, standing);
}

static stet_result carry(void *context, sti_standing *from, sti_standing *to, const int *worlds, int n)
{
    const stage_painter *p = context;
    return sti_renderer_carry(p->renderer, from, to, worlds, n);
}

static void destroy(void *context)
{
    stage_painter *p = context;
    sti_renderer_destroy(p->renderer);
    sti_generations_free(&p->changed);
    sti_generations_free(&p->shown);
    sti_free(p);
}

/*
 * Copies the cameras that have requests, in their order, and the requests with new camera numbers. The arrays have
 * room.
 */
static int compact(const stet_tiles_def *def, stet_camera *cameras, stet_tile_request *requests)
{
    int n = 0;
    memcpy(requests, def->requests, (size_t)def->nrequest * sizeof *requests);
    for (int c = 0; c < def->ncamera; ++c) {
        bool named = false;
        for (int k = 0; k < def->nrequest; ++k) {
            if (def->requests[k].camera != c) continue;
            requests[k].camera = n;
            named = true;
        }
        if (named) cameras[n++] = def->cameras[c];
    }
    for (int k = 0; k < def->nrequest; ++k) assert(requests[k].camera >= 0 && requests[k].camera < n);
    return n;
}

/* Refuses U8 identifiers that would be ambiguous: 255 means sky. */
static stet_result check_bytes(stet_stage *stage, const stet_tiles_def *def)
{
    const mjModel *m = sti_stage_worlds(stage)->model->mj;
    for (int k = 0; k < def->nrequest; ++k) {
        const stet_tile_request *ask = &def->requests[k];
        int most = ask->output == STET_OUTPUT_SEG_GEOM   ? (int)(m->ngeom + m->ntendon + m->nflex + m->nskin)
                   : ask->output == STET_OUTPUT_SEG_BODY ? (int)m->nbody + (m->nskin > 0   ? 3
                                                                            : m->nflex > 0 ? 2
                                                                                           : m->ntendon > 0)
                                                         : 0;
        if (ask->dtype == STET_DTYPE_U8 && most > 255)
            return sti_error(STET_ERROR_LIMIT,
                             "tiles: request %d: %s as u8 tells 255 apart, the model has %d; ask for int", k,
                             stet_output_name(ask->output), most);
    }
    return STET_OK;
}

static bool asks_for_motion(const stet_tiles_def *def)
{
    bool asks = false;
    for (int k = 0; k < def->nrequest; ++k) asks = asks || def->requests[k].output == STET_OUTPUT_MOTION;
    return asks;
}

static bool asks_for_colours(const stet_tiles_def *def)
{
    bool asks = false;
    for (int k = 0; k < def->nrequest; ++k) {
        const sti_picture_buffer buffer = sti_output_buffer(def->requests[k].output);
        asks = asks || buffer == STI_BUFFER_COLOUR || buffer == STI_BUFFER_ALBEDO;
    }
    return asks;
}

static stet_result follow_motion(stage_painter *p)
{
    int64_t n = sti_stage_worlds(p->stage)->nworld;
    p->motion = true;
    p->changes = sti_version_new();
    STI_TRY(sti_generations_init(&p->changed, n, "changes of worlds"));
    return sti_generations_init(&p->shown, n, "renderings of worlds");
}

static stet_result create(stet_stage *stage, const stet_tiles_def *def, stet_tiles **out)
{
    stet_worlds *worlds = sti_stage_worlds(stage);
    stage_painter *p;
    STI_TRY(sti_alloc(&p, sizeof *p, "painter"));
    p->stage = stage;
    sti_painter painter = {p, worlds->device, worlds->nworld, update, paint, make_standing, carry, destroy};
    const sti_drawing drawing = {def->groups, def->mode, def->fog};
    stet_result result = sti_renderer_create(stage, def->cameras, def->ncamera, drawing, &p->renderer);
    if (result == STET_OK) result = sti_renderer_set_samples(p->renderer, def->samples);
    if (result == STET_OK) result = sti_renderer_begin(p->renderer, asks_for_colours(def));
    if (result == STET_OK && asks_for_motion(def)) result = follow_motion(p);
    if (result == STET_OK) result = sti_tiles_create_with(&painter, def, out);
    if (result != STET_OK) destroy(p);
    return result;
}

stet_result stet_tiles_create(stet_stage *stage, const stet_tiles_def *def, stet_tiles **out)
{
    if (!stage || !def || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tiles_create: stage, def and out must not be NULL");
    *out = NULL;
    STI_TRY(sti_tiles_check(def, sti_stage_worlds(stage)->device, sti_stage_worlds(stage)->nworld));
    STI_TRY(check_bytes(stage, def));
    stet_tiles_def used = *def;
    stet_camera *cameras;
    stet_tile_request *requests = NULL;
    STI_TRY(sti_alloc(&cameras, (size_t)def->ncamera * sizeof *cameras, "cameras"));
    stet_result result = sti_alloc(&requests, (size_t)def->nrequest * sizeof *requests, "requests");
    if (result == STET_OK) {
        used.ncamera = compact(def, cameras, requests);
        used.cameras = cameras;
        used.requests = requests;
        result = create(stage, &used, out);
    }
    sti_free(requests);
    sti_free(cameras);
    return result;
}
