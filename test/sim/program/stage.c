/* The random program's stage: prims that come and go, transforms that are written and read. */
#include "sim/program/program.h"

#include <math.h>
#include <stdlib.h>

/* ---- prims ------------------------------------------------------------------------------------------------------- */

/* Any prim: of the model, or added. */
static int any_prim(program *p)
{
    int k = roll(p, model_prims(p) + 3 * p->nadded);
    return k < model_prims(p) ? k : p->added[(k - model_prims(p)) % p->nadded].prim;
}

static bool below(const program *p, int prim, int ancestor)
{
    for (; prim != ancestor;) {
        int k = 0;
        while (k < p->nadded && p->added[k].prim != prim) k++;
        if (k == p->nadded) return false;
        prim = p->added[k].parent;
    }
    return true;
}

/* A turn about a random axis, sometimes scaled or flat, and a small way. */
static void random_frame(program *p, float out[12])
{
    double q[4], norm = 0, m[9], scale = once_in(p, 8) ? 0.5 + (double)roll(p, 3) : 1;
    for (int k = 0; k < 4; ++k) {
        q[k] = (double)wave(p) + (k == 0);
        norm += q[k] * q[k];
    }
    norm = sqrt(norm > 1e-6 ? norm : 1);
    for (int k = 0; k < 4; ++k) q[k] /= norm;
    mju_quat2Mat(m, q);
    if (once_in(p, 40)) scale = 0;
    for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c) out[r * 4 + c] = (float)(scale * m[r * 3 + c]);
        out[r * 4 + 3] = near(p, 0.5f * wave(p));
    }
}

void op_add(program *p)
{
    float frame[12];
    char name[32];
    int prim[2];
    if (p->nadded >= MOST_ADDED || p->keeps_tree) {
        op_remove(p);
        return;
    }
    added_prim a = {.parent = any_prim(p), .rigid = once_in(p, 3)};
    random_frame(p, frame);
    (void)snprintf(name, sizeof name, "prim %d", p->nnamed++);
    say(p, "add a %sprim under %d", a.rigid ? "rigid " : "", a.parent);
    BOTH(p, stet_stage_add(stage_of(p, i), a.parent, name, frame, a.rigid, &prim[i]));
    CHECK(p, prim[SUBJECT] == prim[TWIN], "added prims have the numbers %d and %d", prim[SUBJECT], prim[TWIN]);
    say(p, ": %d", prim[SUBJECT]);
    a.prim = prim[SUBJECT];
    p->added[p->nadded++] = a;
}

/* An added prim that may go or move; NULL if there is none. */
static added_prim *any_added(program *p)
{
    if (p->nadded == 0) return NULL;
    added_prim *a = &p->added[roll(p, p->nadded)];
    for (int k = 0; k < p->nadded; ++k)
        if (p->added[k].keep && below(p, p->added[k].prim, a->prim)) return NULL;
    return a;
}

void op_remove(program *p)
{
    const added_prim *a = any_added(p);
    if (!a || p->keeps_tree) return;
    int gone = a->prim, n = 0;
    say(p, "remove prim %d", gone);
    if (p->own.tiles[SUBJECT] && below(p, p->own.camera_prim, gone)) own_close(p);
    BOTH(p, stet_stage_remove(stage_of(p, i), gone));
    bool out[MOST_ADDED + 2];
    for (int k = 0; k < p->nadded; ++k) out[k] = below(p, p->added[k].prim, gone);
    for (int k = 0; k < p->nadded; ++k)
        if (!out[k]) p->added[n++] = p->added[k];
    p->nadded = n;
}

void op_reparent(program *p)
{
    added_prim *a = any_added(p);
    int parent = any_prim(p);
    if (!a) return;
    say(p, "reparent prim %d to %d", a->prim, parent);
    bool can = !below(p, parent, a->prim);
    for (int i = 0; i < 2; ++i) {
        stet_result result = stet_stage_reparent(stage_of(p, i), a->prim, parent);
        CHECK(p, (result == STET_OK) == can, "reparent: %s", stet_result_sentence(result));
    }
    if (can) a->parent = parent;
}

/* ---- transforms of one prim -------------------------------------------------------------------------------------- */

static void random_worlds(program *p, int64_t *first, int64_t *n)
{
    *first = roll(p, (int)p->nworld);
    *n = once_in(p, 3) ? p->nworld - *first : roll(p, (int)(p->nworld - *first) + 1);
}

/* The same result from both: whether a prim takes a transform is known by its kind. */
static void set_transform(program *p, int prim, bool world)
{
    float frames[8][12];
    int64_t first, n;
    stet_result result[2];
    random_worlds(p, &first, &n);
    for (int64_t w = 0; w < n; ++w) random_frame(p, frames[w]);
    say(p, "set %s of prim %d in worlds %lld + %lld", world ? "world" : "local", prim, (long long)first, (long long)n);
    for (int i = 0; i < 2; ++i)
        result[i] = world ? stet_stage_write_world(stage_of(p, i), prim, first, n, frames[0])
                          : stet_stage_write_local(stage_of(p, i), prim, first, n, frames[0]);
    bool rigid = sti_prim_rigid(&stage_of(p, SUBJECT)->tree.prim[prim]);
    bool can = world ? stage_of(p, SUBJECT)->tree.prim[prim].source == STI_PRIM_WRITTEN : !rigid;
    for (int i = 0; i < 2; ++i) CHECK(p, (result[i] == STET_OK) == can, "set: %s", stet_result_sentence(result[i]));
    if (!can) say(p, ", refused");
}

void op_set_local(program *p) { set_transform(p, any_prim(p), false); }

void op_set_world(program *p)
{
    int prim = any_prim(p);
    for (int k = 0; k < p->nadded; ++k)
        if (p->added[k].rigid && once_in(p, 2)) prim = p->added[k].prim;
    set_transform(p, prim, true);
}

static void get_transform(program *p, int prim, int64_t first, int64_t n, bool world)
{
    float frames[2][8 * 12];
    char what[LINE];
    (void)snprintf(what, sizeof what, "%s transform of prim %d", world ? "world" : "local", prim);
    BOTH(p, world ? stet_stage_read_world(stage_of(p, i), prim, first, n, frames[i])
                  : stet_stage_read_local(stage_of(p, i), prim, first, n, frames[i]));
    same_bytes(p, frames[SUBJECT], frames[TWIN], (size_t)n * 12 * sizeof(float), what);
}

void op_get_transform(program *p)
{
    int prim = any_prim(p);
    int64_t first, n;
    bool world = !once_in(p, 3);
    random_worlds(p, &first, &n);
    say(p, "get %s of prim %d in worlds %lld + %lld", world ? "world" : "local", prim, (long long)first, (long long)n);
    get_transform(p, prim, first, n, world);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Numbers of prims that do not exist mean nothing. */
static void compare_rows(program *p, const uint8_t *data, size_t size, size_t row, const char *name)
{
    const sti_tree *tree = &stage_of(p, SUBJECT)->tree;
    char what[LINE];
    for (int64_t w = 0; w < p->nworld; ++w)
        for (int prim = 0; prim < tree->capacity; ++prim) {
            size_t at = ((size_t)w * (size_t)tree->capacity + (size_t)prim) * row;
            if (!sti_tree_has(tree, prim)) continue;
            (void)snprintf(what, sizeof what, "%s transform of prim %d in world %lld", name, prim, (long long)w);
            same_bytes(p, data + at, data + size + at, row, what);
        }
}

static void compare_whole(program *p, bool world, bool mirror)
{
    stet_array *a[2];
    for (int i = 0; i < 2; ++i)
        must(p, i, stet_stage_get_arrays(stage_of(p, i), world ? NULL : &a[i], world ? &a[i] : NULL),
             "stet_stage_get_arrays");
    size_t size = stet_array_get_bytes(a[SUBJECT]);
    uint8_t *data = room(p, 2 * size);
    for (int i = 0; i < 2; ++i) fetch(p, i, a[i], mirror, data + (size_t)i * size);
    compare_rows(p, data, size, 12 * (p->f64 ? sizeof(double) : sizeof(float)), world ? "world" : "local");
    free(data);
}

void op_stage_arrays(program *p)
{
    bool world = once_in(p, 2), mirror = once_in(p, 2);
    say(p, "read all %s transforms%s", world ? "world" : "local", mirror ? ", the mirror" : "");
    compare_whole(p, world, mirror);
}

/* Written as a caller's own: what follows from something else is made again, the rest stays as written. */
void op_stage_write_arrays(program *p)
{
    stet_array *a[2];
    bool world = once_in(p, 2);
    int64_t first, n;
    random_worlds(p, &first, &n);
    for (int i = 0; i < 2; ++i)
        must(p, i, stet_stage_get_arrays(stage_of(p, i), world ? NULL : &a[i], world ? &a[i] : NULL),
             "stet_stage_get_arrays");
    size_t size = (size_t)(n * a[SUBJECT]->nitem) * (p->f64 ? sizeof(double) : sizeof(float));
    say(p, "write all %s transforms of worlds %lld + %lld", world ? "world" : "local", (long long)first, (long long)n);
    uint8_t *data = room(p, size);
    must(p, TWIN, stet_array_read_worlds(a[TWIN], first, n, data, size), "stet_array_read_worlds");
    for (int64_t i = 0; i < n * a[SUBJECT]->nitem; ++i) {
        if (!once_in(p, 6)) continue;
        if (p->f64)
            ((double *)(void *)data)[i] = (double)wave(p);
        else
            ((float *)(void *)data)[i] = wave(p);
    }
    BOTH(p, stet_array_write_worlds(a[i], first, n, data, size));
    free(data);
}

void op_flush(program *p)
{
    bool force = once_in(p, 2);
    say(p, "flush%s", force ? ", all" : "");
    BOTH(p, stet_stage_flush(stage_of(p, i), force));
}

void compare_stage(program *p)
{
    CHECK(p, stet_stage_get_nprim(stage_of(p, SUBJECT)) == stet_stage_get_nprim(stage_of(p, TWIN)),
          "prims differ in number");
    compare_whole(p, true, false);
    compare_whole(p, false, false);
}
