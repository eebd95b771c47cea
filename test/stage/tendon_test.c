/*
 * Pieces of spatial tendons against the capsules of MuJoCo's own scene (mjv_updateScene), in random scenes: straight,
 * around spheres and cylinders with and without side sites, from inside, with pulleys, and limp; with the model's sizes
 * of geoms and with sizes of worlds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scene.h"

#include "stage/tendon.h"

#include <stdio.h>

enum { SCENES = 60, WORLDS = 5, SITES = 8, GEOMS = 3, MOST = 512 };
#define NEAR 2e-4 /* metres, in scenes of a few metres: reals are floats */

typedef struct piece {
    double end[2][3], width;
    bool used;
} piece;

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static size_t add_path(char *text, size_t size, uint64_t *dice)
{
    int n = 2 + (int)(dice_next(dice) % 3), site = (int)(dice_next(dice) % SITES);
    size_t at = 0;
    for (int i = 0; i < n; ++i) {
        at += (size_t)snprintf(text + at, size - at, "<site site='s%d'/>", site++ % SITES);
        if (i == n - 1) break;
        int what = (int)(dice_next(dice) % 6), geom = (int)(dice_next(dice) % GEOMS);
        if (what == 0 && i > 0 && i < n - 2)
            at += (size_t)snprintf(text + at, size - at, "<pulley divisor='2'/><site site='s%d'/>", site++ % SITES);
        if (what == 1 || what == 2) at += (size_t)snprintf(text + at, size - at, "<geom geom='g%d'/>", geom);
        if (what == 3)
            at += (size_t)snprintf(text + at, size - at, "<geom geom='g%d' sidesite='s%d'/>", geom,
                                   (int)(dice_next(dice) % SITES));
        if (what == 4) at += (size_t)snprintf(text + at, size - at, "<geom geom='g%d' sidesite='in%d'/>", geom, geom);
    }
    return at;
}

static void make_text(char *text, size_t size, uint64_t seed)
{
    uint64_t dice = seed;
    size_t at = (size_t)snprintf(
        text, size, "<mujoco><visual><quality numslices='9'/></visual><option gravity='1 0 -9'/><worldbody>");
    for (int i = 0; i < SITES + GEOMS; ++i) {
        double p[3];
        for (int k = 0; k < 3; ++k) p[k] = dice_between(&dice, -1, 1);
        if (i == SITES / 2 || i == SITES + 1)
            at += (size_t)snprintf(text + at, size - at, "<body pos='.1 .2 .3'><freejoint/><geom size='.1' mass='1'/>");
        if (i < SITES)
            at +=
                (size_t)snprintf(text + at, size - at, "<site name='s%d' pos='%.3f %.3f %.3f'/>", i, p[0], p[1], p[2]);
        else
            at += (size_t)snprintf(text + at, size - at,
                                   "<geom name='g%d' type='%s' size='.%d .3' pos='%.3f %.3f %.3f' euler='%d 30 0'/>"
                                   "<site name='in%d' pos='%.3f %.3f %.3f'/>",
                                   i - SITES, i % 2 ? "sphere" : "cylinder", 2 + i % 3, p[0], p[1], p[2], 37 * i,
                                   i - SITES, p[0] + .02, p[1] - .03, p[2]);
        if (i == SITES - 1 || i == SITES + GEOMS - 1) at += (size_t)snprintf(text + at, size - at, "</body>");
    }
    at += (size_t)snprintf(text + at, size - at, "</worldbody><tendon>");
    for (int i = 0; i < 6; ++i) {
        const char *limp = i == 0 ? "range='0 3'" : i == 1 ? "stiffness='1' springlength='0 2'" : "";
        at += (size_t)snprintf(text + at, size - at, "<spatial width='.0%d' %s>", 1 + i, limp);
        if (i < 2)
            at += (size_t)snprintf(text + at, size - at, "<site site='s%d'/><site site='s%d'/>", i,
                                   2 + i + (int)seed % 4);
        else
            at += add_path(text + at, size - at, &dice);
        at += (size_t)snprintf(text + at, size - at, "</spatial>");
    }
    (void)snprintf(text + at, size - at, "</tendon></mujoco>");
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* MuJoCo's capsules of a tendon. */
static int list_theirs(const mjModel *m, const mjvScene *drawn, int tendon, piece *out)
{
    int n = 0;
    for (int g = 0; g < drawn->ngeom; ++g) {
        const mjvGeom *v = &drawn->geoms[g];
        if (v->objtype != mjOBJ_TENDON || v->objid != tendon) continue;
        out[n] = (piece){.width = (double)v->size[0]};
        for (int k = 0; k < 3; ++k) {
            double half = (double)v->size[2] * (double)v->mat[3 * k + 2];
            out[n].end[0][k] = (double)v->pos[k] - half;
            out[n].end[1][k] = (double)v->pos[k] + half;
        }
        assert_true(++n < MOST);
    }
    assert_true(m->ntendon > tendon);
    return n;
}

/* Ours, from the transforms of its n prims from `first` on; those of zeros are not drawn. */
static int list_ours(const scene *s, int64_t w, int first, int n, double width, piece *out)
{
    int count = 0;
    for (int i = 0; i < n; ++i) {
        float m[12];
        must(stet_stage_read_world(s->stage, prim_of(s, STET_PRIM_TENDON, first + i), w, 1, m));
        double z[3], len = 0, across = 0;
        for (int k = 0; k < 3; ++k) {
            z[k] = (double)m[4 * k + 2];
            len += z[k] * z[k];
            across += (double)m[4 * k] * (double)m[4 * k];
        }
        if (len == 0) continue;
        assert_true(fabs(across - 1) < 1e-5);
        len = sqrt(len);
        out[count] = (piece){.width = width};
        for (int k = 0; k < 3; ++k) {
            double half = z[k] * (1 - width / len);
            out[count].end[0][k] = (double)m[4 * k + 3] - half;
            out[count].end[1][k] = (double)m[4 * k + 3] + half;
        }
        count++;
    }
    return count;
}

static double distance(const piece *a, const piece *b)
{
    double worst = fabs(a->width - b->width);
    for (int e = 0; e < 2; ++e)
        for (int k = 0; k < 3; ++k) worst = fmax(worst, fabs(a->end[e][k] - b->end[e][k]));
    return worst;
}

static double check_world(const scene *s, int64_t w, int *pieces)
{
    const mjModel *m = s->model->mj;
    static piece ours[MOST], theirs[MOST];
    mjvScene drawn;
    mjvOption option;
    mjvCamera camera;
    double worst = 0;
    mjData *d = scene_reference(s, w);
    mj_tendon(m, d);
    mjv_defaultScene(&drawn);
    mjv_makeScene(m, &drawn, 10000);
    mjv_defaultOption(&option);
    mjv_defaultFreeCamera(m, &camera);
    mjv_updateScene(m, d, &option, NULL, &camera, mjCAT_ALL, &drawn);
    for (int t = 0, first = 0; t < m->ntendon; first += sti_tendon_pieces(m, t++)) {
        int n = list_theirs(m, &drawn, t, theirs);
        int own = list_ours(s, w, first, sti_tendon_pieces(m, t), m->tendon_width[t], ours);
        if (own != n) fail_msg("world %d, tendon %d: %d pieces, MuJoCo: %d", (int)w, t, own, n);
        for (int i = 0; i < n; ++i) {
            int best = -1;
            for (int k = 0; k < n; ++k)
                if (!ours[k].used && (best < 0 || distance(&ours[k], &theirs[i]) < distance(&ours[best], &theirs[i])))
                    best = k;
            ours[best].used = true;
            double off = distance(&ours[best], &theirs[i]);
            if (!(off <= NEAR)) fail_msg("world %d, tendon %d, piece %d: off by %g", (int)w, t, i, off);
            worst = fmax(worst, off);
        }
        *pieces += n;
    }
    mjv_freeScene(&drawn);
    mj_deleteData(d);
    return worst;
}

/* The same where each world's geoms have other sizes. */
static double check_sizes(const scene *s, uint64_t *dice, int *pieces)
{
    const mjModel *m = s->model->mj; /* whose arrays are written for a while */
    const size_t n = (size_t)(3 * m->ngeom), size = n * sizeof(double);
    double worst = 0, *own = malloc(size), *sizes = malloc(size * WORLDS);
    memcpy(own, m->geom_size, size);
    for (size_t i = 0; i < n * WORLDS; ++i) sizes[i] = own[i % n] * dice_between(dice, 0.7, 1.4);
    must(stet_worlds_set_parameter(s->worlds, "geom_size", sizes, (int64_t)n * WORLDS));
    for (int64_t w = 0; w < WORLDS; ++w) {
        memcpy(m->geom_size, sizes + n * (size_t)w, size);
        worst = fmax(worst, check_world(s, w, pieces));
        memcpy(m->geom_size, own, size);
    }
    must(stet_worlds_set_parameter(s->worlds, "geom_size", NULL, 0));
    worst = fmax(worst, check_world(s, WORLDS - 1, pieces));
    free(own);
    free(sizes);
    return worst;
}

static void pieces_are_where_mujoco_draws_them(void **state)
{
    static char text[1 << 14];
    double worst = 0;
    int pieces = 0;
    uint64_t dice = 31;
    print_message("dice %d\n", (int)dice);
    for (uint64_t seed = 1; seed <= SCENES; ++seed) {
        make_text(text, sizeof text, seed);
        scene s = scene_open(&(scene_def){.xml = text, .nworld = WORLDS, .threads = 1});
        for (int turn = 0; turn < 2; ++turn) {
            scene_randomise(&s, seed * 7 + (uint64_t)turn);
            for (int64_t w = 0; w < WORLDS; ++w) worst = fmax(worst, check_world(&s, w, &pieces));
        }
        worst = fmax(worst, check_sizes(&s, &dice, &pieces));
        scene_close(&s);
    }
    print_message("%d pieces, off by at most %.1e m\n", pieces, worst);
    assert_true(pieces > 10000);
}

/* The same bits at every width and thread count, and with the mechanism off and audited. */
static void bits_are_the_same_everywhere(void **state)
{
    static const char *const isas[] = {"w1", "avx2", "avx512", NULL};
    static char text[1 << 14];
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        make_text(text, sizeof text, seed);
        uint64_t want = 0;
        for (int i = -1; i < 4; ++i)
            for (int kind = 0; kind < 3; ++kind) {
                sti_isa isa;
                const char *name = i < 0 ? "portable" : isas[i];
                if (name && (!sti_isa_find(name, &isa) || !sti_isa_available(isa))) continue;
                scene s = scene_open(&(scene_def){
                    .xml = text, .nworld = 37, .isa = name, .threads = 1 + kind, .off = kind == 1, .audit = kind == 2});
                scene_randomise(&s, seed);
                uint64_t hash = world_hash(&s);
                scene_nudge(&s, 3, 0.25f);
                hash ^= world_hash(&s) << 1;
                if (i < 0 && kind == 0) want = hash;
                assert_true(hash == want);
                scene_close(&s);
            }
    }
}

/* A site that the caller moves takes the tendon with it; nothing can hang on a prim. */
static void paths_follow_the_stage(void **state)
{
    scene s =
        scene_open(&(scene_def){.xml = "<mujoco><worldbody><site name='a'/><site name='b' pos='1 0 0'/></worldbody>"
                                       "<tendon><spatial width='.1'><site site='a'/><site site='b'/></spatial>"
                                       "</tendon></mujoco>",
                                .nworld = 2});
    const float moved[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 4};
    float m[12];
    int prim = prim_of(&s, STET_PRIM_TENDON, 0), added;
    must(stet_stage_read_world(s.stage, prim, 1, 1, m));
    assert_true(m[3] == 0.5f && m[7] == 0 && m[11] == 0 && fabs((double)m[2] - 0.6) < 1e-6);
    must(stet_stage_write_local(s.stage, prim_named(&s, STET_PRIM_SITE, "b"), 1, 1, moved));
    must(stet_stage_read_world(s.stage, prim, 0, 1, m));
    assert_true(m[3] == 0.5f && m[11] == 0);
    must(stet_stage_read_world(s.stage, prim, 1, 1, m));
    assert_true(m[3] == 0 && m[11] == 2 && fabs((double)m[10] - 2.1) < 1e-6);
    assert_refused(stet_stage_add(s.stage, prim, "x", moved, false, &added), STET_ERROR_INVALID_ARGUMENT, "site");
    must(stet_stage_add(s.stage, 0, "x", moved, false, &added));
    assert_refused(stet_stage_reparent(s.stage, added, prim), STET_ERROR_INVALID_ARGUMENT, "site");
    assert_refused(stet_stage_remove(s.stage, prim), STET_ERROR_INVALID_ARGUMENT, "belongs to the model");
    scene_close(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_where_mujoco_draws_them),
        cmocka_unit_test(bits_are_the_same_everywhere),
        cmocka_unit_test(paths_follow_the_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
