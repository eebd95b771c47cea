/*
 * Cameras and lights that follow or aim at bodies; see track.h. The modes are those of mj_camlight: MuJoCo's
 * documentation, XML reference, "body/camera/mode".
 */
#include "stage/track.h"

#include "stage/frame.h"
#include "stage/table.h"

#include <string.h>

enum { ENTRY = 6, FRAME = 12, PART = 4 }; /* numbers per entry, as in k_track */

/* The tables while they are built. Each tracked prim may need all bodies for its centre of mass. */
typedef struct lists {
    int *entry, *body;
    double *frame, *part;
    size_t n, nbody;
} lists;

static bool in_subtree(const mjModel *m, int body, int top)
{
    while (body > top) body = m->body_parentid[body];
    return body == top;
}

/*
 * Lists the bodies of top's subtree, from its leaves up as MuJoCo adds them, with their share of its mass. A massless
 * subtree: top alone.
 */
static void list_subtree(const mjModel *m, int top, lists *l)
{
    double mass = m->body_subtreemass[top];
    for (int b = (int)m->nbody - 1; b >= top; b--) {
        if (!in_subtree(m, b, top) || (mass < mjMINVAL && b != top)) continue;
        double *part = l->part + l->nbody * PART;
        part[0] = mass < mjMINVAL ? 1 : m->body_mass[b] / mass;
        memcpy(part + 1, m->body_ipos + 3 * (size_t)b, 3 * sizeof *part);
        l->body[l->nbody++] = b;
    }
}

static void add_track(const mjModel *m, const sti_prim *p, int prim, lists *l)
{
    bool camera = p->kind == STET_PRIM_CAMERA;
    int mode = camera ? m->cam_mode[p->index] : m->light_mode[p->index];
    int target = camera ? m->cam_targetbodyid[p->index] : m->light_targetbodyid[p->index];
    bool aims = mode == mjCAMLIGHT_TARGETBODY || mode == mjCAMLIGHT_TARGETBODYCOM;
    bool com = mode == mjCAMLIGHT_TRACKCOM || mode == mjCAMLIGHT_TARGETBODYCOM;
    int *entry = l->entry + l->n * ENTRY;
    double *frame = l->frame + l->n++ * FRAME;
    entry[0] = prim;
    entry[1] = aims;
    entry[2] = p->parent;
    entry[3] = aims ? target : p->parent;
    entry[4] = (int)l->nbody;
    if (com) list_subtree(m, entry[3], l);
    entry[5] = (int)l->nbody - entry[4];
    if (aims)
        sti_frame_local(m, p->kind, p->index, frame);
    else
        sti_frame_track(m, p->kind, p->index, frame);
}

static stet_result upload_tables(sti_track *track, stet_device *device, const lists *l)
{
    track->n = (int)l->n;
    STI_TRY(sti_table_ints(device, "tracking prims", l->entry, (int64_t)(l->n * ENTRY), &track->entry));
    STI_TRY(sti_table_reals(device, "tracking frames", l->frame, (int64_t)(l->n * FRAME), &track->frame));
    STI_TRY(sti_table_ints(device, "bodies of centres of mass", l->body, (int64_t)l->nbody, &track->body));
    return sti_table_reals(device, "shares of centres of mass", l->part, (int64_t)(l->nbody * PART), &track->part);
}

/* Allocates for n tracked prims, and for every body under each of them. */
static stet_result reserve(size_t n, size_t nbody, lists *l)
{
    STI_TRY(sti_alloc(&l->entry, n * ENTRY * sizeof *l->entry, "tracking prims"));
    STI_TRY(sti_alloc(&l->frame, n * FRAME * sizeof *l->frame, "tracking frames"));
    STI_TRY(sti_alloc(&l->body, n * nbody * sizeof *l->body, "bodies of centres of mass"));
    return sti_alloc(&l->part, n * nbody * PART * sizeof *l->part, "shares of centres of mass");
}

stet_result sti_track_init(sti_track *track, stet_device *device, const sti_tree *tree)
{
    lists l = {0};
    size_t n = 0, nbody = (size_t)tree->model->mj->nbody;
    *track = (sti_track){0};
    for (int i = 0; i < tree->nmodel; i++) n += tree->prim[i].source == STI_PRIM_TRACK;
    if (n > (size_t)INT32_MAX / FRAME / nbody)
        return sti_error(STET_ERROR_LIMIT,
                         "stage: %zu tracking cameras and lights are too many for %zu bodies; make some of them fixed",
                         n, nbody);
    stet_result result = reserve(n, nbody, &l);
    for (int i = 0; result == STET_OK && i < tree->nmodel; i++)
        if (tree->prim[i].source == STI_PRIM_TRACK) add_track(tree->model->mj, &tree->prim[i], i, &l);
    if (result == STET_OK) result = upload_tables(track, device, &l);
    sti_free(l.entry);
    sti_free(l.frame);
    sti_free(l.body);
    sti_free(l.part);
    if (result != STET_OK) sti_track_free(track);
    return result;
}

void sti_track_free(sti_track *track)
{
    stet_array_destroy(track->entry);
    stet_array_destroy(track->frame);
    stet_array_destroy(track->body);
    stet_array_destroy(track->part);
    *track = (sti_track){0};
}
