/*
 * Pairs in closed form where geoms are aligned, nearly aligned and not, in float: equal sizes, faces flush, edges on
 * edges, sizes from 1 mm to 1 km, positions up to 1 km from the origin. MuJoCo, in double, gets the same state.
 *
 * Float meets exact alignment, double does not: there what is right is what MuJoCo finds close by.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/part.h"
#include "physics/collide_rig.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CAPSULE_SHORTEST 1e-2 /* m; MuJoCo compares squares of shorter sizes with 1e-15 */

extern const sti_kernel sti_k_probe_plane_sphere, sti_k_probe_plane_capsule, sti_k_probe_plane_ellipsoid,
    sti_k_probe_plane_cylinder, sti_k_probe_plane_box, sti_k_probe_sphere_sphere, sti_k_probe_sphere_capsule,
    sti_k_probe_sphere_cylinder, sti_k_probe_capsule_capsule, sti_k_probe_sphere_box, sti_k_probe_capsule_box,
    sti_k_probe_box_box;

static const collide_pair pairs[] = {
    {.name = "plane sphere", "plane", "sphere", &sti_k_probe_plane_sphere, 1},
    {.name = "plane capsule", "plane", "capsule", &sti_k_probe_plane_capsule, 2},
    {.name = "plane ellipsoid", "plane", "ellipsoid", &sti_k_probe_plane_ellipsoid, 1},
    {.name = "plane cylinder", "plane", "cylinder", &sti_k_probe_plane_cylinder, 4},
    {.name = "plane box", "plane", "box", &sti_k_probe_plane_box, 4},
    {.name = "sphere sphere", "sphere", "sphere", &sti_k_probe_sphere_sphere, 1},
    {.name = "sphere capsule", "sphere", "capsule", &sti_k_probe_sphere_capsule, 1},
    {.name = "sphere cylinder", "sphere", "cylinder", &sti_k_probe_sphere_cylinder, 1},
    {.name = "capsule capsule", "capsule", "capsule", &sti_k_probe_capsule_capsule, 2},
    {.name = "sphere box", "sphere", "box", &sti_k_probe_sphere_box, 1},
    {.name = "capsule box", "capsule", "box", &sti_k_probe_capsule_box, 2},
    {.name = "box box", "box", "box", &sti_k_probe_box_box, 8},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

/* ---- poses */

/* Not aligned; aligned to rounding; nearly: by less than 1e-6 rad; by more, up to 0.1 rad. */
typedef enum nearness { APART, ALIGNED, WITHIN, BEYOND, NEARNESSES } nearness;
static const char *const nearness_names[NEARNESSES] = {"apart", "aligned", "within 1e-6", "beyond 1e-6"};

/* Two geoms as a state has them: all numbers but the quaternions are floats. */
typedef struct scene_pair {
    nearness kind;
    double pos[2][3], quat[2][4], size[2][3], margin;
} scene_pair;

/* A pair's model, and what MuJoCo made of its last pose. */
typedef struct bench_pair {
    const collide_pair *pair;
    mjModel *m;
    mjData *d;
} bench_pair;

static bench_pair bench_create(const collide_pair *pair)
{
    char xml[1024], error[256] = "";
    bool plane = strcmp(pair->first, "plane") == 0;
    (void)snprintf(xml, sizeof xml,
                   "<mujoco><default><geom contype='0' conaffinity='0'/></default><worldbody><body %s>%s<geom name='a' "
                   "type='%s' size='1 1 1'/></body><body><freejoint/><geom name='b' type='%s' size='1 1 1'/></body>"
                   "</worldbody><contact><pair geom1='a' geom2='b'/></contact></mujoco>",
                   plane ? "mocap='true'" : "", plane ? "" : "<freejoint/>", pair->first, pair->second);
    mjSpec *spec = mj_parseXMLString(xml, NULL, error, sizeof error);
    mjModel *m = spec ? mj_compile(spec, NULL) : NULL;
    if (!m) fail_msg("%s: %s", pair->name, error);
    mj_deleteSpec(spec);
    for (int g = plane; g < 2; ++g) m->geom_rbound[g] = 1e12; /* sizes change: nothing is left out by bounds */
    return (bench_pair){pair, m, mj_makeData(m)};
}

static void bench_destroy(bench_pair *b)
{
    mj_deleteData(b->d);
    mj_deleteModel(b->m);
}

/* What MuJoCo finds. */
static touches mujocos(bench_pair *b, const scene_pair *s)
{
    mjModel *m = b->m;
    mjData *d = b->d;
    for (int g = 0; g < 2; ++g) {
        bool mocap = m->nmocap && g == 0;
        double *pos = mocap ? d->mocap_pos : d->qpos + (m->nmocap || g == 0 ? 0 : 7);
        double *quat = mocap ? d->mocap_quat : pos + 3;
        mju_copy3(pos, s->pos[g]);
        mju_copy4(quat, s->quat[g]);
        if (m->geom_type[g] != mjGEOM_PLANE) mju_copy3(m->geom_size + (ptrdiff_t)3 * g, s->size[g]);
    }
    m->pair_margin[0] = s->margin;
    mj_kinematics(m, d);
    mj_collision(m, d);
    touches t = {.n = d->ncon < COLLIDE_MOST ? d->ncon : COLLIDE_MOST};
    for (int i = 0; i < t.n; ++i) {
        t.at[i].dist = d->contact[i].dist;
        mju_copy3(t.at[i].pos, d->contact[i].pos);
        mju_copy3(t.at[i].normal, d->contact[i].frame);
    }
    return t;
}

static int pick(random_state *r, int n) { return (int)(random_bits(r) % (uint64_t)n); }
static bool once_in(random_state *r, int n) { return pick(r, n) == 0; }
static double power(random_state *r, double low, double high) { return pow(10, random_between(r, low, high)); }

/* Half-lengths along a geom's axes. */
static void half_lengths(int type, const double size[3], double half[3])
{
    double r = size[0];
    mju_copy3(half, size);
    if (type == mjGEOM_PLANE) mju_zero3(half);
    if (type == mjGEOM_SPHERE || type == mjGEOM_CAPSULE || type == mjGEOM_CYLINDER) half[1] = r;
    if (type == mjGEOM_SPHERE) half[2] = r;
    if (type == mjGEOM_CAPSULE) half[2] = r + size[1];
    if (type == mjGEOM_CYLINDER) half[2] = size[1];
}

static void draw_sizes(random_state *r, const mjModel *m, scene_pair *s)
{
    double scale = power(r, -3, 3), other = scale * (pick(r, 4) ? 1 : power(r, -2, 2));
    for (int g = 0; g < 2; ++g) {
        bool equal = once_in(r, 3);
        for (int k = 0; k < 3; ++k)
            s->size[g][k] = equal && k ? s->size[g][0] : (float)((g ? other : scale) * power(r, -0.5, 0.5));
    }
    if (once_in(r, 3)) mju_copy3(s->size[1], s->size[0]);
    double half[3];
    half_lengths(m->geom_type[1], s->size[1], half);
    s->margin = once_in(r, 3) ? (float)(0.1 * half[0] * random_between(r, 0, 1)) : 0;
}

static void turn_by(random_state *r, double angle, double quat[4])
{
    double axis[3], turn[4];
    random_direction(r, axis);
    mju_axisAngle2Quat(turn, axis, angle);
    mju_mulQuat(quat, quat, turn);
}

/* Faces look the same way, but for a tilt: a turn by quarters, sometimes by eighths. */
static void draw_turn(random_state *r, nearness kind, double turn[4])
{
    static const double unit[4] = {1, 0, 0, 0};
    mju_copy4(turn, unit);
    if (kind == APART) {
        turn_by(r, random_between(r, 0, 2 * mjPI), turn);
        return;
    }
    for (int k = 0; k < 3; ++k) {
        double axis[3] = {k == 0, k == 1, k == 2}, part[4];
        mju_axisAngle2Quat(part, axis, mjPI / 4 * (once_in(r, 5) ? pick(r, 8) : 2 * pick(r, 4)));
        mju_mulQuat(turn, turn, part);
    }
    if (kind == WITHIN) turn_by(r, power(r, -9, -6), turn);
    if (kind == BEYOND) turn_by(r, power(r, -6, -1), turn);
}

/* Along one axis the geoms touch, overlap or are just apart; along the others they are flush, centred or anywhere. */
static void draw_offset(random_state *r, nearness kind, const double half[3], const double reach[3], bool plane,
                        double offset[3])
{
    static const double depths[] = {0, 1e-7, 1e-5, 1e-3, 1e-1, 0.5};
    if (kind == APART) {
        random_direction(r, offset);
        mju_scl3(offset, offset, (mju_norm3(half) + mju_norm3(reach)) * random_between(r, 0, 0.9));
        return;
    }
    double least = fmin(reach[0], fmin(reach[1], reach[2]));
    if (!plane) least = fmin(least, fmin(half[0], fmin(half[1], half[2])));
    int touching = plane ? 2 : pick(r, 3);
    for (int k = 0; k < 3; ++k) {
        double sum = half[k] + reach[k];
        if (k == touching) {
            offset[k] = (sum - least * depths[pick(r, 6)]) * (plane || once_in(r, 2) ? 1 : -1);
            continue;
        }
        double choices[] = {0, half[k] - reach[k], sum * random_between(r, -1, 1), half[k]};
        offset[k] = choices[pick(r, 4)] * (once_in(r, 2) ? 1 : -1);
        if (once_in(r, 2)) offset[k] += least * power(r, -9, -2) * random_between(r, -1, 1);
    }
}

static void draw_pair(random_state *r, const mjModel *m, scene_pair *s)
{
    static const nearness drawn[] = {APART, APART, APART, ALIGNED, ALIGNED, WITHIN, WITHIN, BEYOND, BEYOND, BEYOND};
    static const double unit[4] = {1, 0, 0, 0}, from_origin[] = {0, 0, 1, 1000};
    double half[3], own[3], reach[3] = {0, 0, 0}, mat[9], turn[4], offset[3], far = from_origin[pick(r, 4)];
    s->kind = drawn[pick(r, 10)];
    draw_sizes(r, m, s);
    mju_copy4(s->quat[0], unit);
    if (s->kind == APART || pick(r, 5) < 3) turn_by(r, random_between(r, 0, 2 * mjPI), s->quat[0]);
    draw_turn(r, s->kind, turn);
    mju_mulQuat(s->quat[1], s->quat[0], turn);
    mju_quat2Mat(mat, turn);
    half_lengths(m->geom_type[0], s->size[0], half);
    half_lengths(m->geom_type[1], s->size[1], own);
    for (int k = 0; k < 9; ++k) reach[k / 3] += fabs(mat[k]) * own[k % 3];
    draw_offset(r, s->kind, half, reach, m->nmocap > 0, offset);
    mju_rotVecQuat(offset, offset, s->quat[0]);
    for (int k = 0; k < 3; ++k) {
        s->pos[0][k] = (float)(far * random_between(r, -1, 1));
        s->pos[1][k] = (float)(s->pos[0][k] + offset[k]);
    }
}

static double largest_size(const bench_pair *b, const scene_pair *s)
{
    double most = 0, half[3];
    for (int g = 0; g < 2; ++g) {
        half_lengths(b->m->geom_type[g], s->size[g], half);
        most = fmax(most, fmax(half[0], fmax(half[1], half[2])));
    }
    return most;
}

/* How exact a depth must be: 1e-6 of the size, and four roundings of the coordinates. */
static double bound(const bench_pair *b, const scene_pair *s)
{
    double most = 0;
    for (int k = 0; k < 6; ++k) most = fmax(most, fabs(s->pos[k / 3][k % 3]));
    return 1e-6 * largest_size(b, s) + 4 * FLT_EPSILON * most;
}

/* ---- runs */

static collide_set set_of(const bench_pair *b, const scene_pair *s, int n)
{
    collide_set set = {.n = n, .padded = (n + COLLIDE_BLOCK - 1) / COLLIDE_BLOCK * COLLIDE_BLOCK, .model = b->m};
    set.in = calloc((size_t)PROBE_IN * (size_t)set.padded, sizeof *set.in);
    assert_non_null(set.in);
    for (int i = 0; i < n; ++i) {
        double *in = set.in + i, mat[9];
        for (int g = 0; g < 2; ++g, in += (ptrdiff_t)15 * set.padded) {
            mju_quat2Mat(mat, s[i].quat[g]);
            for (int k = 0; k < 3; ++k) in[k * set.padded] = s[i].pos[g][k];
            for (int k = 0; k < 9; ++k) in[(3 + k) * set.padded] = mat[k];
            for (int k = 0; k < 3; ++k) in[(12 + k) * set.padded] = s[i].size[g][k];
        }
        in[0] = s[i].margin;
    }
    return set;
}

/* What float finds in n pairs; all instruction sets find the same. The caller frees it. */
static touches *ours(const bench_pair *b, const scene_pair *s, int n)
{
    collide_set set = set_of(b, s, n);
    size_t count = (size_t)b->pair->slots * PROBE_OUT * (size_t)set.padded;
    float *floats = calloc(count, sizeof *floats);
    double *out = calloc(count, sizeof *out);
    touches *found = calloc((size_t)n, sizeof *found);
    assert_true(floats && out && found);
    collide_run(b->pair, &set, STI_ISA_w1, floats);
    for (size_t i = 0; i < count; ++i) out[i] = (double)floats[i];
    for (int i = 0; i < n; ++i) found[i] = collide_contacts(b->pair, &set, out, i);
    collide_check_widths(b->pair, &set);
    free(set.in);
    free(floats);
    free(out);
    return found;
}

static scene_pair *draw_pairs(random_state *r, const bench_pair *b, int n)
{
    scene_pair *s = calloc((size_t)n, sizeof *s);
    assert_non_null(s);
    for (int i = 0; i < n; ++i) draw_pair(r, b->m, s + i);
    return s;
}

static double deepest(const touches *t)
{
    double least = INFINITY;
    for (int i = 0; i < t->n; ++i) least = fmin(least, t->at[i].dist);
    return least;
}

static void print_case(const bench_pair *b, const scene_pair *s, const touches *got, const touches *want)
{
    print_message("%s, %s: MuJoCo has %d, deepest %.9g, here are %d, deepest %.9g; bound %.3g\n", b->pair->name,
                  nearness_names[s->kind], want->n, deepest(want), got->n, deepest(got), bound(b, s));
    for (int g = 0; g < 2; ++g)
        print_message("  pos %.9g %.9g %.9g quat %.17g %.17g %.17g %.17g size %.9g %.9g %.9g margin %.9g\n",
                      s->pos[g][0], s->pos[g][1], s->pos[g][2], s->quat[g][0], s->quat[g][1], s->quat[g][2],
                      s->quat[g][3], s->size[g][0], s->size[g][1], s->size[g][2], s->margin);
}

/* ---- nothing is lost */

/* At most how far inside a geom a point is, negative: outside. */
static double depth_in(int type, const double size[3], const double pos[3], const double quat[4], const double p[3])
{
    double x[3], back[4];
    mju_sub3(x, p, pos);
    mju_negQuat(back, quat);
    if (type == mjGEOM_ELLIPSOID) return -INFINITY; /* of its pairs, that with the plane has a formula */
    mju_rotVecQuat(x, x, back);
    double radial = hypot(x[0], x[1]);
    if (type == mjGEOM_PLANE) return -x[2];
    if (type == mjGEOM_SPHERE) return size[0] - mju_norm3(x);
    if (type == mjGEOM_CAPSULE) return size[0] - hypot(radial, fmax(0, fabs(x[2]) - size[1]));
    if (type == mjGEOM_CYLINDER) return fmin(size[0] - radial, size[1] - fabs(x[2]));
    return fmin(size[0] - fabs(x[0]), fmin(size[1] - fabs(x[1]), size[2] - fabs(x[2])));
}

/* Points between the centres, and where MuJoCo has contacts: how deep one of them is inside both. */
static double proved_depth(const bench_pair *b, const scene_pair *s, const touches *want)
{
    double most = -INFINITY;
    for (int i = 0; i < 17 + want->n; ++i) {
        double p[3], least = INFINITY;
        for (int k = 0; k < 3; ++k)
            p[k] = i < 17 ? s->pos[0][k] + i / 16.0 * (s->pos[1][k] - s->pos[0][k]) : want->at[i - 17].pos[k];
        for (int g = 0; g < 2; ++g)
            least = fmin(least, depth_in(b->m->geom_type[g], s->size[g], s->pos[g], s->quat[g], p));
        most = fmax(most, least);
    }
    return most;
}

/* The distance of a geom from a plane, from the formula of its support. */
static double plane_distance(int type, const scene_pair *s)
{
    static const double z[3] = {0, 0, 1};
    double normal[3], n[3], back[4], between[3];
    const double *size = s->size[1];
    mju_rotVecQuat(normal, z, s->quat[0]);
    mju_negQuat(back, s->quat[1]);
    mju_rotVecQuat(n, normal, back);
    mju_sub3(between, s->pos[1], s->pos[0]);
    double height = mju_dot3(between, normal), reach = size[0];
    if (type == mjGEOM_CAPSULE) reach += size[1] * fabs(n[2]);
    if (type == mjGEOM_CYLINDER) reach = size[1] * fabs(n[2]) + size[0] * hypot(n[0], n[1]);
    if (type == mjGEOM_BOX) reach = size[0] * fabs(n[0]) + size[1] * fabs(n[1]) + size[2] * fabs(n[2]);
    if (type == mjGEOM_ELLIPSOID)
        reach = sqrt(pow(size[0] * n[0], 2) + pow(size[1] * n[1], 2) + pow(size[2] * n[2], 2));
    return height - reach;
}

static void check_depths(const collide_pair *pair, random_state *r, int n)
{
    bench_pair b = bench_create(pair);
    scene_pair *s = draw_pairs(r, &b, n);
    touches *got = ours(&b, s, n);
    int met[NEARNESSES] = {0}, lost = 0, other = 0, shown = 0, all = 0;
    bool through = strcmp(pair->name, "capsule box") == 0; /* far from the edges, it touches as little as MuJoCo's */
    double worst = 0;
    for (int i = 0; i < n; ++i) {
        touches want = mujocos(&b, s + i);
        double error = bound(&b, s + i), found = fmin(deepest(got + i), s[i].margin);
        bool plane = b.m->geom_type[0] == mjGEOM_PLANE;
        double right = fmin(plane ? plane_distance(b.m->geom_type[1], s + i) : deepest(&want), s[i].margin);
        double proved = through ? -right : fmax(-right, proved_depth(&b, s + i, &want));
        bool missed = proved > error && found >= 0, wrong = fabs(found - right) > error;
        if (!plane && want.n == 0) wrong = false;
        met[s[i].kind] += want.n > 0;
        all += want.n > 0;
        lost += missed;
        other += wrong;
        if (plane) worst = fmax(worst, fabs(found - right) / error);
        if ((missed || wrong) && shown++ < 5) print_case(&b, s + i, got + i, &want);
    }
    print_message("%-16s %d pairs; touch: apart %d, aligned %d, within 1e-6 rad %d, beyond %d; lost %d, of another "
                  "depth %d",
                  pair->name, n, met[APART], met[ALIGNED], met[WITHIN], met[BEYOND], lost, other);
    print_message(worst > 0 ? "; greatest error of a depth: %.2g of its bound\n" : "\n", worst);
    assert_true(all > n / 8);
    assert_int_equal(lost, 0);
    assert_true(b.m->geom_type[0] == mjGEOM_PLANE ? other == 0 : other <= all / 200);
    free(s);
    free(got);
    bench_destroy(&b);
}

static void nothing_is_lost(void **state)
{
    random_state r = {dice_seed(__func__)};
    for (int i = 0; i < PAIRS; ++i) check_depths(&pairs[i], &r, in_part() ? 1000 : 30000);
}

/* ---- contact sets */

/* The greatest distance (m) of contacts that belong together, normals in units of `size`; INFINITY: others in number */
static double set_difference(const touches *got, const touches *want, double size)
{
    bool taken[COLLIDE_MOST] = {false};
    double most = got->n == want->n ? 0 : INFINITY;
    for (int i = 0; i < want->n && got->n == want->n; ++i) {
        double least = INFINITY;
        int best = 0;
        for (int k = 0; k < got->n; ++k) {
            const touch *a = &got->at[k], *c = &want->at[i];
            double apart = fmax(fabs(a->dist - c->dist), mju_dist3(a->pos, c->pos));
            apart = fmax(apart, size * mju_dist3(a->normal, c->normal));
            if (!taken[k] && apart < least) least = apart, best = k;
        }
        taken[best] = true;
        most = fmax(most, least);
    }
    return most;
}

static void drop_at_margin(touches *t, double most)
{
    int n = 0;
    for (int i = 0; i < t->n; ++i)
        if (t->at[i].dist < most) t->at[n++] = t->at[i];
    t->n = n;
}

/* Where nothing is aligned, all contacts are MuJoCo's; near alignment most are. */
static void check_sets(const collide_pair *pair, random_state *r, int n)
{
    bench_pair b = bench_create(pair);
    scene_pair *s = draw_pairs(r, &b, n);
    touches *got = ours(&b, s, n);
    int all[NEARNESSES] = {0}, number[NEARNESSES] = {0}, place[NEARNESSES] = {0};
    for (int i = 0; i < n; ++i) {
        touches want = mujocos(&b, s + i);
        double error = bound(&b, s + i), size = largest_size(&b, s + i);
        if (size < CAPSULE_SHORTEST || want.n + got[i].n == 0) continue;
        drop_at_margin(&want, s[i].margin - error);
        drop_at_margin(got + i, s[i].margin - error);
        double apart = set_difference(got + i, &want, size);
        ++all[s[i].kind];
        number[s[i].kind] += isinf(apart) != 0;
        place[s[i].kind] += !isinf(apart) && apart > 1e-4 * size + 4 * error;
    }
    print_message("%-16s sets that differ in number, position:", pair->name);
    for (int k = 0; k < NEARNESSES; ++k)
        print_message("%s %s %d, %d of %d", k ? ";" : "", nearness_names[k], number[k], place[k], all[k]);
    print_message("\n");
    assert_true(all[APART] > n / 16);
    assert_true(number[APART] + place[APART] <= all[APART] / 100);
    assert_true(number[BEYOND] + place[BEYOND] <= all[BEYOND] / 10);
    free(s);
    free(got);
    bench_destroy(&b);
}

static void sets_are_mujocos(void **state)
{
    random_state r = {dice_seed(__func__)};
    for (int i = 0; i < PAIRS; ++i) check_sets(&pairs[i], &r, in_part() ? 1000 : 30000);
}

/* ---- alignment is the limit */

enum { AROUND = 24 };

/* The force of contacts as stiff as one another, and its torque about a point. */
static void wrench(const touches *t, const double about[3], double force[3], double torque[3])
{
    mju_zero3(force);
    mju_zero3(torque);
    for (int i = 0; i < t->n; ++i) {
        double one[3], arm[3], turn[3];
        mju_scl3(one, t->at[i].normal, fmax(0, -t->at[i].dist));
        mju_sub3(arm, t->at[i].pos, about);
        mju_cross(turn, arm, one);
        mju_addTo3(force, one);
        mju_addTo3(torque, turn);
    }
}

/* How far force and torque are from those of MuJoCo's nearest one among poses 1e-5 rad and of the size away. */
static double limit_difference(random_state *r, bench_pair *b, const scene_pair *s, const touches *got, double *depth)
{
    double force[3], torque[3], size = largest_size(b, s), least = INFINITY;
    wrench(got, s->pos[1], force, torque);
    *depth = 0;
    for (int i = 0; i < AROUND; ++i) {
        scene_pair close = *s;
        double way[3], near_force[3], near_torque[3];
        for (int g = 0; g < 2; ++g) turn_by(r, random_between(r, 0.5e-5, 1e-5), close.quat[g]);
        random_direction(r, way);
        mju_addToScl3(close.pos[1], way, 0.5e-5 * size);
        touches want = mujocos(b, &close);
        wrench(&want, s->pos[1], near_force, near_torque);
        double strength = fmax(mju_norm3(near_force), DBL_MIN);
        double apart = fmax(mju_dist3(force, near_force), mju_dist3(torque, near_torque) / size) / strength;
        least = fmin(least, apart);
        *depth = fmax(*depth, -deepest(&want));
    }
    return least;
}

static void check_limit(const collide_pair *pair, random_state *r, int n)
{
    bench_pair b = bench_create(pair);
    scene_pair *s = draw_pairs(r, &b, n);
    for (int i = 0; i < n; ++i) s[i].margin = 0;
    touches *got = ours(&b, s, n);
    int all = 0, far = 0, shown = 0;
    for (int i = 0; i < n; ++i) {
        double depth, size = largest_size(&b, s + i);
        if (s[i].kind == APART || s[i].kind == BEYOND || size < CAPSULE_SHORTEST) continue;
        double apart = limit_difference(r, &b, s + i, got + i, &depth);
        if (depth < 3e-4 * size) continue; /* what 1e-5 changes is too much of it */
        ++all;
        far += apart > 0.05;
        if (apart <= 0.05 || shown++ >= 3) continue;
        touches want = mujocos(&b, s + i);
        print_case(&b, s + i, got + i, &want);
    }
    print_message("%-16s %d aligned to 1e-6 rad: of %d the force or torque is none of those around\n", pair->name, all,
                  far);
    assert_true(all > n / 50);
    assert_true(far <= all / 100);
    free(s);
    free(got);
    bench_destroy(&b);
}

static void alignment_is_the_limit(void **state)
{
    random_state r = {dice_seed(__func__)};
    for (int i = 0; i < PAIRS; ++i) check_limit(&pairs[i], &r, in_part() ? 1000 : 30000);
}

/* ---- anywhere */

/* Distances and normals are the same wherever a pair is, as long as its positions and their difference do. */
static void a_pair_is_anywhere(void **state)
{
    enum { CASES = 1000 };
    random_state r = {dice_seed(__func__)};
    for (int i = 0; i < PAIRS; ++i) {
        bench_pair b = bench_create(&pairs[i]);
        scene_pair *s = draw_pairs(&r, &b, CASES);
        for (int k = 0; k < CASES; ++k) {
            double scale = exp2(ceil(log2(largest_size(&b, s + k))));
            for (int j = 0; j < 3; ++j) { /* multiples of 2^-12 of the size, less than 8 of it apart */
                s[k].pos[1][j] = rint((s[k].pos[1][j] - s[k].pos[0][j]) / scale * 4096) / 4096 * scale;
                s[k].pos[0][j] = 0;
            }
        }
        touches *here = ours(&b, s, CASES);
        int found = 0;
        for (int k = 0; k < CASES; ++k) {
            double shift = 1000 * exp2(ceil(log2(largest_size(&b, s + k))));
            for (int j = 0; j < 6; ++j) s[k].pos[j / 3][j % 3] += shift;
        }
        touches *there = ours(&b, s, CASES);
        for (int k = 0; k < CASES; ++k) {
            assert_int_equal(here[k].n, there[k].n);
            found += here[k].n > 0;
            for (int j = 0; j < here[k].n; ++j) {
                assert_true(here[k].at[j].dist == there[k].at[j].dist);
                for (int c = 0; c < 3; ++c) assert_true(here[k].at[j].normal[c] == there[k].at[j].normal[c]);
            }
        }
        assert_true(found > CASES / 8);
        free(here);
        free(there);
        free(s);
        bench_destroy(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(sets_are_mujocos),
        cmocka_unit_test(alignment_is_the_limit),
        cmocka_unit_test(a_pair_is_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
