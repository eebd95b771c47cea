/* Which parts the decorations of a model have, and their transforms; see decor.h. */
#include "stage/decor.h"

#include "device/host_mirror.h"
#include "geom/geom.h"
#include "kernel/record/launch.h"
#include "stage/flush.h"
#include "stage/table.h"
#include "worlds/quantities.h"

#include <assert.h>
#include <math.h>
#include <string.h>

extern const sti_kernel sti_k_decor_fixed, sti_k_decor_joints, sti_k_decor_coms, sti_k_decor_rays, sti_k_decor_contacts,
    sti_k_decor_forces;

enum { JOINT_GROUPS = 3 }; /* that MuJoCo's viewer shows at first */

/* Parts while they are listed. */
typedef struct parts {
    const mjModel *m;   /* which parts there are */
    const mjModel *own; /* and their masses and inertias: those of a world */
    const sti_tree *tree;
    int slots;
    bool inertia;         /* frames are those of inertia, as in MuJoCo, where both are shown */
    sti_decor_part *part; /* NULL: they are only counted */
    int n;
} parts;

/* ---- listing parts ----------------------------------------------------------------------------------------------- */

/* Adds a part; its numbers are all 0. */
static sti_decor_part *add_part(parts *p, int kind, int type, const float *rgba, int at, int more)
{
    static sti_decor_part unused;
    sti_decor_part *out = p->part ? &p->part[p->n] : &unused;
    p->n++;
    *out = (sti_decor_part){.type = type, .row = {[DECOR_KIND] = kind, [DECOR_AT] = at, [DECOR_MORE] = more}};
    assert(kind >= DECOR_FIXED && kind <= DECOR_FORCE_TAIL && at >= 0 && more >= 0);
    memcpy(out->rgba, rgba, sizeof out->rgba);
    return out;
}

static void add_along(parts *p, int kind, int type, const float *rgba, int at, double width, double length,
                      double start)
{
    sti_decor_part *out = add_part(p, kind, type, rgba, at, 0);
    out->number[DECOR_WIDTH] = width;
    out->number[DECOR_LENGTH] = length;
    out->number[DECOR_START] = start;
}

static void add_joints(parts *p)
{
    const mjModel *m = p->m;
    double length = (double)m->vis.scale.jointlength * m->stat.meansize, sixth = length * DECOR_HEAD;
    double width = (double)m->vis.scale.jointwidth * m->stat.meansize;
    const float rgba[4] = {m->vis.rgba.joint[0], m->vis.rgba.joint[1], m->vis.rgba.joint[2], 1};
    for (int j = 0; j < (int)m->njnt; ++j) {
        int group = m->jnt_group[j], type = m->jnt_type[j];
        if (group >= JOINT_GROUPS) continue;
        if (type == mjJNT_FREE || type == mjJNT_BALL) {
            int shape = type == mjJNT_FREE ? mjGEOM_BOX : mjGEOM_SPHERE;
            int body = p->tree->first[STET_PRIM_BODY] + m->jnt_bodyid[j];
            add_part(p, DECOR_JOINT_BLOCK, shape, rgba, j, body)->number[DECOR_WIDTH] = 0.3 * length;
        } else {
            double head = type == mjJNT_SLIDE ? 1.75 * width : width;
            add_along(p, DECOR_JOINT_ARROW, mjGEOM_CYLINDER, rgba, j, width, sixth, sixth);
            add_along(p, DECOR_JOINT_ARROW, STI_GEOM_CONE, rgba, j, head, sixth, 2 * sixth);
        }
    }
}

/* A part that is fixed to a body: the place and the turn of its own frame, and its columns' lengths. */
static void add_fixed(parts *p, int type, const float *rgba, int body, const mjtNum *pos, const mjtNum *turn,
                      const int axis[3], const double scale[3])
{
    sti_decor_part *out = add_part(p, DECOR_FIXED, type, rgba, p->tree->first[STET_PRIM_BODY] + body, 0);
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) out->number[4 * i + k] = turn[3 * i + axis[k]] * scale[k];
        out->number[4 * i + 3] = pos[i];
    }
}

static void add_frames(parts *p)
{
    const mjModel *m = p->m;
    double length = (double)m->vis.scale.framelength * m->stat.meansize / 2;
    double width = (double)m->vis.scale.framewidth * m->stat.meansize;
    for (int b = 1; b < (int)m->nbody; ++b) {
        mjtNum turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        if (p->inertia) mju_quat2Mat(turn, p->own->body_iquat + 4 * (ptrdiff_t)b);
        for (int k = 0; k < 3; ++k) {
            const float rgba[4] = {k == 0 ? .9f : 0, k == 1 ? .9f : 0, k == 2 ? .9f : 0, 1};
            mjtNum at[3];
            for (int i = 0; i < 3; ++i)
                at[i] = (p->inertia ? p->own->body_ipos[3 * (ptrdiff_t)b + i] : 0) + turn[3 * i + k] * length;
            add_fixed(p, mjGEOM_CYLINDER, rgba, b, at, turn, (int[]){(k + 1) % 3, (k + 2) % 3, k},
                      (double[]){width, width, length});
        }
    }
}

/*
 * Half sizes of the box (or half axes of the ellipsoid) with a body's mass and inertia. One that is flat is visible,
 * too; and all are a little larger, for that of a box lies on the box, and is to be seen on all of it, as in MuJoCo.
 */
static void inertia_size(const mjModel *m, ptrdiff_t body, double size[3])
{
    const mjtNum *moment = m->body_inertia + 3 * body;
    double all = moment[0] + moment[1] + moment[2], factor = m->vis.global.ellipsoidinertia ? 5 : 3;
    for (int k = 0; k < 3; ++k) {
        double square = (all - 2 * moment[k]) / (2 * m->body_mass[body]) * factor;
        size[k] = sqrt(square > 1e-12 ? square : 1e-12) * (1 + 0x1p-15);
    }
}

static void add_inertias(parts *p)
{
    const mjModel *m = p->m;
    for (int b = 1; b < (int)m->nbody; ++b) {
        mjtNum turn[9];
        double size[3];
        if (m->body_mass[b] <= mjMINVAL) continue;
        mju_quat2Mat(turn, p->own->body_iquat + 4 * (ptrdiff_t)b);
        inertia_size(p->own, b, size);
        add_fixed(p, m->vis.global.ellipsoidinertia ? mjGEOM_SPHERE : mjGEOM_BOX, m->vis.rgba.inertia, b,
                  p->own->body_ipos + 3 * (ptrdiff_t)b, turn, (int[]){0, 1, 2}, size);
    }
}

static void add_coms(parts *p)
{
    const mjModel *m = p->m;
    for (int b = 1; b < (int)m->nbody; ++b)
        if (m->body_rootid[b] == b)
            add_part(p, DECOR_COM, mjGEOM_SPHERE, m->vis.rgba.com, b, 0)->number[DECOR_WIDTH] =
                (double)m->vis.scale.com * m->stat.meansize;
}

/* Does a range finder have a ray from a site, with a distance? */
static bool has_ray(const mjModel *m, int sensor)
{
    if (m->sensor_type[sensor] != mjSENS_RANGEFINDER || m->sensor_objtype[sensor] != mjOBJ_SITE) return false;
#if mjVERSION_HEADER >= 4000000
    return m->sensor_intprm[(ptrdiff_t)sensor * mjNSENS] & 1 << mjRAYDATA_DIST;
#else
    return true;
#endif
}

/* MuJoCo's rays are lines of three pixels; these are as wide as half an axis of a frame. */
static void add_rays(parts *p)
{
    const mjModel *m = p->m;
    double width = (double)m->vis.scale.framewidth * m->stat.meansize / 2;
    for (int s = 0; s < (int)m->nsensor; ++s) {
        int site = p->tree->first[STET_PRIM_SITE] + m->sensor_objid[s], at = m->sensor_adr[s];
        if (has_ray(m, s))
            add_part(p, DECOR_RAY, mjGEOM_CYLINDER, m->vis.rgba.rangefinder, at, site)->number[DECOR_WIDTH] = width;
        else if (m->sensor_type[s] == mjSENS_GEOMFROMTO)
            add_part(p, DECOR_SPAN, mjGEOM_CYLINDER, m->vis.rgba.rangefinder, at, 0)->number[DECOR_WIDTH] = width;
    }
}

static void add_contacts(parts *p)
{
    const mjModel *m = p->m;
    double width = (double)m->vis.scale.contactwidth * m->stat.meansize;
    double height = (double)m->vis.scale.contactheight * m->stat.meansize;
    for (int c = 0; c < p->slots; ++c)
        add_along(p, DECOR_CONTACT, mjGEOM_CYLINDER, m->vis.rgba.contactpoint, c, width, height, 0);
}

static void add_forces(parts *p)
{
    const mjModel *m = p->m;
    double width = (double)m->vis.scale.forcewidth * m->stat.meansize;
    double scale = (double)m->vis.map.force / m->stat.meanmass;
    for (int c = 0; c < p->slots; ++c) {
        add_along(p, DECOR_FORCE_SHAFT, mjGEOM_CYLINDER, m->vis.rgba.contactforce, c, width, scale, 0);
        add_along(p, DECOR_FORCE_HEAD, STI_GEOM_CONE, m->vis.rgba.contactforce, c, 1.75 * width, scale, 0);
        add_along(p, DECOR_FORCE_TAIL, STI_GEOM_CONE, m->vis.rgba.contactforce, c, 1.75 * width, scale, 0);
    }
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* The kernels, in the order of the parts. */
enum { KERNEL_FIXED, KERNEL_JOINTS, KERNEL_COMS, KERNEL_RAYS, KERNEL_CONTACTS, KERNEL_FORCES };

/* Which decorations' parts they write, and from which quantities. */
static const struct {
    uint32_t shown;
    unsigned reads; /* bits 1u << STI_DECOR_… */
} kernels[STI_DECOR_KERNELS] = {
    [KERNEL_FIXED] = {1u << STET_DECORATION_FRAMES | 1u << STET_DECORATION_INERTIA, 0},
    [KERNEL_JOINTS] = {1u << STET_DECORATION_JOINTS, 1u << STI_DECOR_XANCHOR | 1u << STI_DECOR_XAXIS},
    [KERNEL_COMS] = {1u << STET_DECORATION_COM, 1u << STI_DECOR_COM},
    [KERNEL_RAYS] = {1u << STET_DECORATION_RANGEFINDER, 1u << STI_DECOR_SENSORDATA},
    [KERNEL_CONTACTS] = {1u << STET_DECORATION_CONTACTS, 1u << STI_DECOR_NCON | 1u << STI_DECOR_CONTACT_DIST |
                                                             1u << STI_DECOR_CONTACT_POS |
                                                             1u << STI_DECOR_CONTACT_FRAME},
    [KERNEL_FORCES] = {1u << STET_DECORATION_CONTACTFORCE,
                       1u << STI_DECOR_NCON | 1u << STI_DECOR_CONTACT_GEOM | 1u << STI_DECOR_CONTACT_POS |
                           1u << STI_DECOR_CONTACT_FRAME | 1u << STI_DECOR_CONTACT_FORCE},
};

/* Lists those that are fixed to bodies. */
static void list_fixed(parts *p, uint32_t shown)
{
    p->n = 0;
    p->inertia = shown >> STET_DECORATION_INERTIA & 1;
    if (p->inertia) add_inertias(p);
    if (shown >> STET_DECORATION_FRAMES & 1) add_frames(p);
}

/* Lists all parts of `shown`, and notes which kernel writes which. */
static void list_parts(parts *p, uint32_t shown, sti_decor *decor)
{
    p->n = 0;
    for (int k = 0; k < STI_DECOR_KERNELS; ++k) {
        decor->first[k] = p->n;
        uint32_t some = shown & kernels[k].shown;
        if (k == KERNEL_FIXED) list_fixed(p, some);
        if (some >> STET_DECORATION_JOINTS & 1) add_joints(p);
        if (some >> STET_DECORATION_COM & 1) add_coms(p);
        if (some >> STET_DECORATION_RANGEFINDER & 1) add_rays(p);
        if (some >> STET_DECORATION_CONTACTS & 1) add_contacts(p);
        if (some >> STET_DECORATION_CONTACTFORCE & 1) add_forces(p);
        decor->n[k] = p->n - decor->first[k];
    }
    decor->npart = p->n;
}

stet_result sti_decor_list(sti_decor *decor, const stet_stage *stage, uint32_t shown, sti_decor_part **out)
{
    parts p = {.m = stage->tree.model->mj, .own = stage->tree.model->mj, .tree = &stage->tree};
    p.slots = (int)sti_quantity_items(stage->worlds, STI_QUANTITY_contact_dist);
    list_parts(&p, shown, decor);
    STI_TRY(sti_alloc(out, ((size_t)p.n + 1) * sizeof **out, "decorations"));
    p.part = *out;
    list_parts(&p, shown, decor);
    assert(sti_block_size(*out) >= ((size_t)p.n + 1) * sizeof **out && "as many parts are listed as were counted");
    return STET_OK;
}

static stet_result get_quantities(stet_worlds *worlds, sti_decor *decor)
{
    static const char *const fields[STI_DECOR_QUANTITIES] = {
        [STI_DECOR_XANCHOR] = "xanchor",
        [STI_DECOR_XAXIS] = "xaxis",
        [STI_DECOR_COM] = "subtree_com",
        [STI_DECOR_SENSORDATA] = "sensordata",
        [STI_DECOR_NCON] = "ncon",
        [STI_DECOR_CONTACT_GEOM] = "contact_geom",
        [STI_DECOR_CONTACT_DIST] = "contact_dist",
        [STI_DECOR_CONTACT_POS] = "contact_pos",
        [STI_DECOR_CONTACT_FRAME] = "contact_frame",
        [STI_DECOR_CONTACT_FORCE] = "contact_force",
    };
    unsigned reads = 0;
    for (int k = 0; k < STI_DECOR_KERNELS; ++k) reads |= decor->n[k] > 0 ? kernels[k].reads : 0;
    assert(reads >> STI_DECOR_QUANTITIES == 0 && "kernels read what has a name");
    for (int q = 0; q < STI_DECOR_QUANTITIES; ++q)
        if (reads >> q & 1) STI_TRY(stet_worlds_get_array(worlds, fields[q], &decor->quantity[q]));
    decor->reads = reads != 0;
    return STET_OK;
}

/* Room for `each` numbers of each world. */
static stet_result make_own(sti_decor *decor, const stet_stage *stage, int64_t each)
{
    stet_array_destroy(decor->own);
    decor->own = NULL;
    return STI_ARRAY(stage->device, "decorations of worlds", STET_DTYPE_REAL, true, &decor->own, stage->worlds->nworld,
                     each);
}

stet_result sti_decor_init(sti_decor *decor, const stet_stage *stage, const sti_decor_part *part)
{
    const mjModel *m = stage->tree.model->mj;
    int n = decor->npart, *row = NULL, *body = NULL;
    double *number = NULL;
    STI_TRY(get_quantities(stage->worlds, decor));
    stet_result result = sti_alloc(&row, ((size_t)n + 1) * DECOR_ROW * sizeof *row, "decorations");
    if (!result) result = sti_alloc(&number, ((size_t)n + 1) * DECOR_LOOK * sizeof *number, "decorations");
    if (!result) result = sti_alloc(&body, ((size_t)m->ngeom + 1) * sizeof *body, "decorations");
    for (int i = 0; !result && i < n; ++i) {
        memcpy(row + (ptrdiff_t)DECOR_ROW * i, part[i].row, sizeof part[i].row);
        memcpy(number + (ptrdiff_t)DECOR_LOOK * i, part[i].number, sizeof part[i].number);
    }
    for (int g = -1; !result && g < (int)m->ngeom; ++g) body[g + 1] = g < 0 ? (int)m->nbody : m->geom_bodyid[g];
    if (!result) result = sti_table_ints(stage->device, "decorations", row, (int64_t)n * DECOR_ROW, &decor->row);
    if (!result)
        result = sti_table_reals(stage->device, "decorations", number, (int64_t)n * DECOR_LOOK, &decor->number);
    if (!result) result = sti_table_ints(stage->device, "bodies of geoms", body, m->ngeom + 1, &decor->body);
    if (!result) result = make_own(decor, stage, 1);
    sti_free(row);
    sti_free(number);
    sti_free(body);
    return result;
}

void sti_decor_free(sti_decor *decor)
{
    stet_array_destroy(decor->row);
    stet_array_destroy(decor->number);
    stet_array_destroy(decor->body);
    stet_array_destroy(decor->own);
    *decor = (sti_decor){0};
}

/* ---- masses and inertias of worlds ------------------------------------------------------------------------------- */

static bool any_given(const sti_parameters *p)
{
    return p->given[STI_PARAMETER_body_mass] || p->given[STI_PARAMETER_body_inertia] ||
           p->given[STI_PARAMETER_body_ipos] || p->given[STI_PARAMETER_body_iquat];
}

/* A model, for parts that are fixed to bodies alone, that has the masses and inertias of a world. */
static mjModel model_of(const stet_worlds *worlds, int64_t w)
{
    const sti_parameters *p = &worlds->parameters;
    mjModel m = *worlds->model->mj;
    sti_parameters_point(p, &m, STI_PARAMETER_body_mass, w, &m.body_mass);
    sti_parameters_point(p, &m, STI_PARAMETER_body_inertia, w, &m.body_inertia);
    sti_parameters_point(p, &m, STI_PARAMETER_body_ipos, w, &m.body_ipos);
    sti_parameters_point(p, &m, STI_PARAMETER_body_iquat, w, &m.body_iquat);
    return m;
}

bool sti_decor_due(const stet_stage *stage)
{
    const sti_decor *d = &stage->decor;
    const sti_parameters *p = &stage->worlds->parameters;
    return d->n[KERNEL_FIXED] > 0 && d->clock != p->clock && (d->apart || any_given(p));
}

stet_result sti_decor_update(stet_stage *stage)
{
    sti_decor *d = &stage->decor;
    void *mirror;
    sti_decor_part *part;
    parts p = {.m = stage->tree.model->mj, .tree = &stage->tree};
    int n = d->n[KERNEL_FIXED];
    assert(n > 0 && d->own && "sti_decor_due");
    if (!d->apart) STI_TRY(make_own(d, stage, (int64_t)n * DECOR_LOOK));
    d->apart = true;
    STI_TRY(sti_alloc(&part, (size_t)n * sizeof *part, "decorations"));
    stet_result result = sti_mirror_overwrite(d->own, &mirror);
    for (int64_t w = 0; result == STET_OK && w < stage->worlds->nworld; ++w) {
        const mjModel own = model_of(stage->worlds, w);
        p.own = &own;
        p.part = part;
        list_fixed(&p, d->shown);
        assert(p.n == n && "each world has the same parts");
        for (int64_t i = 0; i < (int64_t)n * DECOR_LOOK; ++i)
            sti_mirror_set(d->own, mirror, w, i, part[i / DECOR_LOOK].number[i % DECOR_LOOK]);
    }
    sti_free(part);
    STI_TRY(result);
    sti_array_mirror_written(d->own);
    d->clock = stage->worlds->parameters.clock;
    return STET_OK;
}

/* ---- transforms -------------------------------------------------------------------------------------------------- */

stet_result sti_decor_ensure(const sti_decor *decor)
{
    for (int q = 0; q < STI_DECOR_QUANTITIES; ++q)
        if (decor->quantity[q]) STI_TRY(sti_array_ensure(decor->quantity[q]));
    return STET_OK;
}

#define PART_ARGS                                                                                                      \
    sti_arg_array(stage->stale.array), sti_arg_array(stage->world), sti_arg_array(d->row), sti_arg_array(d->number)
#define QUANTITY(name) sti_arg_array(d->quantity[STI_DECOR_##name])
#define RANGE(kernel) sti_arg_int(d->first[kernel]), sti_arg_int(d->n[kernel])

static stet_result launch_kernel(stet_stage *stage, int kernel)
{
    const sti_decor *d = &stage->decor;
    stet_device *device = stage->device;
    int64_t n = stage->worlds->nworld;
    switch (kernel) {
    case KERNEL_FIXED:
        return STI_LAUNCH(sti_k_decor_fixed, device, n, PART_ARGS, sti_arg_array(d->own), sti_arg_int(d->apart),
                          RANGE(kernel));
    case KERNEL_JOINTS:
        return STI_LAUNCH(sti_k_decor_joints, device, n, PART_ARGS, QUANTITY(XANCHOR), QUANTITY(XAXIS), RANGE(kernel));
    case KERNEL_COMS: return STI_LAUNCH(sti_k_decor_coms, device, n, PART_ARGS, QUANTITY(COM), RANGE(kernel));
    case KERNEL_RAYS: return STI_LAUNCH(sti_k_decor_rays, device, n, PART_ARGS, QUANTITY(SENSORDATA), RANGE(kernel));
    case KERNEL_CONTACTS:
        return STI_LAUNCH(sti_k_decor_contacts, device, n, PART_ARGS, QUANTITY(NCON), QUANTITY(CONTACT_DIST),
                          QUANTITY(CONTACT_POS), QUANTITY(CONTACT_FRAME), RANGE(kernel));
    default:
        return STI_LAUNCH(sti_k_decor_forces, device, n, PART_ARGS, sti_arg_array(d->body), QUANTITY(NCON),
                          QUANTITY(CONTACT_GEOM), QUANTITY(CONTACT_POS), QUANTITY(CONTACT_FRAME),
                          QUANTITY(CONTACT_FORCE), RANGE(kernel));
    }
}

stet_result sti_decor_run(stet_stage *stage, int64_t *launches)
{
    for (int k = 0; k < STI_DECOR_KERNELS; ++k) {
        if (stage->decor.n[k] == 0) continue;
        STI_TRY(launch_kernel(stage, k));
        ++*launches;
    }
    return STET_OK;
}
