#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "physics/collide_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BORDER 1e-9 /* metres from the margin, where rounding decides whether there is a contact */

/* ---- cases */

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(n, size);
    assert_non_null(p);
    return p;
}

static void geom_xml(const char *type, int index, char *xml, size_t size)
{
    const char *asset = "", *base = "size='1 1 1'";
    if (strcmp(type, "mesh") == 0) asset = index ? "mesh='second'" : "mesh='first'", base = "";
    if (strcmp(type, "hfield") == 0) asset = "hfield='hills'", base = "";
    (void)snprintf(xml, size, "<geom type='%s' %s %s/>", type, asset, base);
}

/* The vertices of a random convex body of half a metre. */
static void mesh_xml(random_state *r, const char *name, int n, char *xml, size_t size)
{
    size_t at = (size_t)snprintf(xml, size, "<mesh name='%s' vertex='", name);
    for (int i = 0; i < n; ++i) {
        double d[3];
        random_direction(r, d);
        at += (size_t)snprintf(xml + at, size - at, "%.6f %.6f %.6f ", 0.3 * d[0], 0.2 * d[1], 0.25 * d[2]);
    }
    (void)snprintf(xml + at, size - at, "'/>");
}

static void hfield_xml(random_state *r, char *xml, size_t size)
{
    size_t at = (size_t)snprintf(xml, size, "<hfield name='hills' nrow='9' ncol='7' size='0.8 1 0.3 0.1' elevation='");
    for (int i = 0; i < 63; ++i) at += (size_t)snprintf(xml + at, size - at, "%.4f ", random_between(r, 0, 1));
    (void)snprintf(xml + at, size - at, "'/>");
}

static mjModel *pair_model(const collide_pair *pair, random_state *r)
{
    static char xml[16384], assets[12288], part[4096];
    char geom[2][256], error[512] = "";
    assets[0] = 0;
    hfield_xml(r, part, sizeof part);
    strcat(assets, part);
    for (int i = 0; i < 2; ++i) {
        mesh_xml(r, i ? "second" : "first", i ? 24 : 8, part, sizeof part);
        strcat(assets, part);
        geom_xml(i ? pair->second : pair->first, i, geom[i], sizeof geom[i]);
    }
    bool still = strcmp(pair->first, "plane") == 0 || strcmp(pair->first, "hfield") == 0;
    (void)snprintf(xml, sizeof xml,
                   "<mujoco><asset>%s</asset><worldbody><body %s>%s%s</body><body><freejoint/>%s</body></worldbody>"
                   "</mujoco>",
                   assets, still ? "mocap='true'" : "", still ? "" : "<freejoint/>", geom[0], geom[1]);
    mjSpec *spec = mj_parseXMLString(xml, NULL, error, sizeof error);
    if (!spec) fail_msg("%s: %s", pair->name, error);
    mjModel *m = mj_compile(spec, NULL);
    if (!m) fail_msg("%s: %s", pair->name, mjs_getError(spec));
    mj_deleteSpec(spec);
    m->opt.disableflags |= pair->disable;
    if (pair->ccd_tolerance > 0) m->opt.ccd_tolerance = pair->ccd_tolerance, m->opt.ccd_iterations = 300;
    return m;
}

static void random_quat(random_state *r, double q[4])
{
    double axis[3];
    random_direction(r, axis);
    mju_axisAngle2Quat(q, axis, random_between(r, 0, 2 * mjPI));
}

/* A turn by multiples of a quarter about the axes. */
static void square_quat(random_state *r, double q[4])
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double turn[4];
    mju_axisAngle2Quat(q, axes[0], (double)(random_bits(r) % 4) * mjPI / 2);
    for (int k = 1; k < 3; ++k) {
        mju_axisAngle2Quat(turn, axes[k], (double)(random_bits(r) % 4) * mjPI / 2);
        mju_mulQuat(q, q, turn);
    }
}

static void small_turn(random_state *r, double q[4])
{
    double axis[3];
    random_direction(r, axis);
    mju_axisAngle2Quat(q, axis, pow(10, random_between(r, -9, -2)));
}

static void random_sizes(random_state *r, const mjModel *m, int g, collide_kind kind)
{
    if (m->geom_type[g] == mjGEOM_MESH || m->geom_type[g] == mjGEOM_HFIELD) return;
    bool equal = kind == COLLIDE_DEGENERATE && random_bits(r) % 3 == 0;
    for (int k = 0; k < 3; ++k) {
        double size = equal && k ? m->geom_size[3 * g] : (double)(float)exp(random_between(r, log(0.03), log(0.6)));
        if (kind == COLLIDE_DEGENERATE && random_bits(r) % 16 == 0) size = 0.0009765625;
        m->geom_size[3 * g + k] = size;
    }
}

/* The half-lengths of a geom along its own axes. */
static void extents(const mjModel *m, int g, double e[3])
{
    const double *s = m->geom_size + 3 * (ptrdiff_t)g;
    double xyz[3] = {s[0], s[1], s[2]};
    switch (m->geom_type[g]) {
    case mjGEOM_SPHERE: xyz[1] = xyz[2] = s[0]; break;
    case mjGEOM_CAPSULE: xyz[1] = s[0], xyz[2] = s[0] + s[1]; break;
    case mjGEOM_CYLINDER: xyz[1] = s[0], xyz[2] = s[1]; break;
    case mjGEOM_PLANE: xyz[0] = xyz[1] = xyz[2] = 0; break;
    case mjGEOM_MESH:
    case mjGEOM_HFIELD: mju_copy3(xyz, m->geom_aabb + 6 * (ptrdiff_t)g + 3); break;
    default: break;
    }
    mju_copy3(e, xyz);
}

/* Where the second geom is, in the first one's frame. */
static void random_offset(random_state *r, const mjModel *m, collide_kind kind, double offset[3])
{
    double e1[3], e2[3];
    extents(m, 0, e1);
    extents(m, 1, e2);
    double reach = mju_norm3(e1) + mju_norm3(e2);
    if (m->geom_type[0] == mjGEOM_PLANE || m->geom_type[0] == mjGEOM_HFIELD) {
        for (int k = 0; k < 2; ++k) offset[k] = random_between(r, -0.9, 0.9) * (e1[k] > 0 ? e1[k] : 1);
        offset[2] = random_between(r, -0.5, 1.1) * mju_norm3(e2) + e1[2];
        if (kind == COLLIDE_DEGENERATE && random_bits(r) % 2) offset[2] = random_bits(r) % 2 ? e2[2] : 0;
        return;
    }
    random_direction(r, offset);
    mju_scl3(offset, offset, reach * random_between(r, 0, 0.9));
    if (kind == COLLIDE_GENERIC) return;
    int axis = (int)(random_bits(r) % 3);
    uint64_t choice = random_bits(r) % 4;
    if (choice == 0) return;
    mju_zero3(offset);
    if (choice == 1) offset[axis] = (e1[axis] + e2[axis]) * (random_bits(r) % 2 ? 1 : -1);
    if (choice == 2) offset[axis] = (e1[axis] + e2[axis]) * random_between(r, -1, 1);
}

/* Moves the second geom along the line between the nearest points, to within 2 cm of touching. */
static void nearly_touch(random_state *r, const mjModel *m, mjData *d, double pos2[3])
{
    double ends[6], dist = mj_geomDistance(m, d, 0, 1, 10, ends), way[3];
    mju_sub3(way, ends + 3, ends);
    if (dist < 0) mju_scl3(way, way, -1);
    if (mju_normalize3(way) < 1e-6) return;
    mju_addToScl3(pos2, way, random_between(r, -0.02, 0.02) - dist);
}

static void place(const mjModel *m, mjData *d, const double pose[14])
{
    double *first = m->nmocap ? d->mocap_pos : d->qpos;
    mju_copy3(first, pose);
    mju_copy4(m->nmocap ? d->mocap_quat : d->qpos + 3, pose + 3);
    mju_copy(d->qpos + (m->nmocap ? 0 : 7), pose + 7, 7);
    mj_kinematics(m, d);
}

static void random_pose(random_state *r, const mjModel *m, mjData *d, collide_kind kind, double pose[14])
{
    double offset[3], turn[4];
    for (int k = 0; k < 3; ++k) pose[k] = random_between(r, -1, 1);
    random_quat(r, pose + 3);
    if (kind == COLLIDE_DEGENERATE && random_bits(r) % 2) pose[3] = 1, pose[4] = pose[5] = pose[6] = 0;
    random_quat(r, turn);
    if (kind == COLLIDE_DEGENERATE) {
        uint64_t choice = random_bits(r) % 4;
        if (choice < 2) square_quat(r, turn);
        if (choice == 2) small_turn(r, turn);
    }
    mju_mulQuat(pose + 10, pose + 3, turn);
    random_offset(r, m, kind, offset);
    mju_rotVecQuat(offset, offset, pose + 3);
    mju_add3(pose + 7, pose, offset);
    place(m, d, pose);
    if (kind == COLLIDE_GENERIC && m->geom_type[0] != mjGEOM_PLANE && m->geom_type[0] != mjGEOM_HFIELD &&
        random_bits(r) % 2) {
        nearly_touch(r, m, d, pose + 7);
        place(m, d, pose);
    }
}

static void take_inputs(const mjModel *m, const mjData *d, double margin, double *in, int padded)
{
    for (int g = 0; g < 2; ++g, in += (ptrdiff_t)15 * padded) {
        for (int k = 0; k < 3; ++k) in[k * padded] = d->geom_xpos[3 * g + k];
        for (int k = 0; k < 9; ++k) in[(3 + k) * padded] = d->geom_xmat[9 * g + k];
        for (int k = 0; k < 3; ++k) in[(12 + k) * padded] = m->geom_size[3 * g + k];
    }
    in[0] = margin;
}

static void take_contacts(const mjData *d, touches *want)
{
    want->n = d->ncon < COLLIDE_MOST ? d->ncon : COLLIDE_MOST;
    for (int i = 0; i < want->n; ++i) {
        want->at[i].dist = d->contact[i].dist;
        mju_copy3(want->at[i].pos, d->contact[i].pos);
        mju_copy3(want->at[i].normal, d->contact[i].frame);
    }
}

collide_set collide_set_create(const collide_pair *pair, random_state *r, int n)
{
    collide_set s = {.n = n, .padded = (n + COLLIDE_BLOCK - 1) / COLLIDE_BLOCK * COLLIDE_BLOCK};
    s.in = zeros((size_t)PROBE_IN * (size_t)s.padded, sizeof *s.in);
    s.kind = zeros((size_t)n, sizeof *s.kind);
    s.want = zeros((size_t)n, sizeof *s.want);
    s.model = pair_model(pair, r);
    mjData *d = mj_makeData(s.model);
    for (int i = 0; i < n; ++i) {
        s.kind[i] = i % 4 == 3 ? COLLIDE_DEGENERATE : COLLIDE_GENERIC;
        double pose[14], margin = random_bits(r) % 2 ? random_between(r, 0, pair->most_margin) : 0;
        for (int g = 0; g < 2; ++g) {
            random_sizes(r, s.model, g, s.kind[i]);
            s.model->geom_margin[g] = g ? margin : 0;
        }
        random_pose(r, s.model, d, s.kind[i], pose);
        mj_collision(s.model, d);
        take_inputs(s.model, d, margin, s.in + i, s.padded);
        take_contacts(d, s.want + i);
    }
    mj_deleteData(d);
    return s;
}

void collide_set_destroy(collide_set *s)
{
    free(s->in);
    free(s->kind);
    free(s->want);
    mj_deleteModel(s->model);
}

/* ---- runs */

void collide_run(const collide_pair *pair, const collide_set *s, int isa, void *out)
{
    size_t n = (size_t)PROBE_IN * (size_t)s->padded;
    float *floats = zeros(n, sizeof *floats);
    for (size_t i = 0; i < n; ++i) floats[i] = (float)s->in[i];
    sti_slot slots[16] = {{.p = isa == STI_ISA_f64 ? (void *)s->in : (void *)floats}, {.p = out}};
    int k = 2;
    if (pair->more) k += pair->more(s->model, isa == STI_ISA_f64, slots + k);
    slots[k] = (sti_slot){.i = s->padded};
    pair->kernel->call[isa](slots, 0, s->padded / COLLIDE_BLOCK);
    free(floats);
}

touches collide_contacts(const collide_pair *pair, const collide_set *s, const double *out, int i)
{
    touches got = {0};
    for (int k = 0; k < pair->slots; ++k) {
        const double *o = out + (ptrdiff_t)k * PROBE_OUT * s->padded + i;
        if (o[0] == 0) continue;
        touch *t = &got.at[got.n++];
        t->dist = o[s->padded];
        for (int j = 0; j < 3; ++j) t->pos[j] = o[(2 + j) * s->padded], t->normal[j] = o[(5 + j) * s->padded];
    }
    return got;
}

/* ---- comparison */

/* In units of the tolerances. */
static double touch_difference(const collide_pair *pair, const touch *a, const touch *b)
{
    if (pair->deeper && a->dist <= b->dist + pair->tolerance) return 0;
    double most = fabs(a->dist - b->dist) / pair->tolerance;
    for (int k = 0; k < 3; ++k)
        most = fmax(most, fmax(fabs(a->pos[k] - b->pos[k]), fabs(a->normal[k] - b->normal[k])) / pair->way_tolerance);
    return isnan(a->dist + a->pos[0] + a->pos[1] + a->pos[2] + a->normal[0]) ? INFINITY : most;
}

static void drop_at_border(touches *t, double margin)
{
    int n = 0;
    for (int i = 0; i < t->n; ++i)
        if (fabs(t->at[i].dist - margin) > BORDER) t->at[n++] = t->at[i];
    t->n = n;
}

/* The greatest difference of contacts that belong together, in any order; INFINITY: there are more here than there. */
static double difference(const collide_pair *pair, touches got, touches want, double margin)
{
    if (got.n != want.n) drop_at_border(&got, margin), drop_at_border(&want, margin);
    if (got.n != want.n) return INFINITY;
    double most = 0;
    for (int i = 0; i < want.n; ++i) {
        int best = i;
        for (int k = i; k < got.n; ++k)
            if (touch_difference(pair, &got.at[k], &want.at[i]) < touch_difference(pair, &got.at[best], &want.at[i]))
                best = k;
        most = fmax(most, touch_difference(pair, &got.at[best], &want.at[i]));
        touch swap = got.at[i];
        got.at[i] = got.at[best];
        got.at[best] = swap;
    }
    return most;
}

static double deepest(const touches *t)
{
    double least = INFINITY;
    for (int i = 0; i < t->n; ++i) least = fmin(least, t->at[i].dist);
    return least;
}

/* Where MuJoCo has more contacts than there are slots: those kept are some of them, and the deepest is. */
static double kept_difference(const collide_pair *pair, const touches *got, const touches *want)
{
    if (got->n < pair->slots / 2) return INFINITY;
    if (want->n == mjMAXCONPAIR) return 0; /* the first ones only */
    double deeper = deepest(want) - deepest(got), most = (pair->deeper ? -deeper : fabs(deeper)) / pair->tolerance;
    for (int i = 0; i < got->n; ++i) {
        double least = INFINITY;
        for (int k = 0; k < want->n; ++k) least = fmin(least, touch_difference(pair, &got->at[i], &want->at[k]));
        most = fmax(most, least);
    }
    return most;
}

static void print_touches(const char *name, const touches *t)
{
    for (int i = 0; i < t->n; ++i)
        print_message("  %s %d: dist %.9g pos %.9g %.9g %.9g normal %.9g %.9g %.9g\n", name, i, t->at[i].dist,
                      t->at[i].pos[0], t->at[i].pos[1], t->at[i].pos[2], t->at[i].normal[0], t->at[i].normal[1],
                      t->at[i].normal[2]);
}

static void print_case(const collide_set *s, int i, const touches *got)
{
    print_message(" case %d:", i);
    for (int k = 0; k < PROBE_IN; ++k) print_message(" %.17g", s->in[k * s->padded + i]);
    print_message("\n");
    print_touches("MuJoCo's", &s->want[i]);
    print_touches("ours    ", got);
}

static void check_sane(const collide_pair *pair, const touches *t, double margin)
{
    for (int i = 0; i < t->n; ++i) {
        const touch *c = &t->at[i];
        if (!(fabs(mju_norm3(c->normal) - 1) < 1e-9)) fail_msg("%s: a normal of %g", pair->name, mju_norm3(c->normal));
        if (!(c->dist <= margin + BORDER)) fail_msg("%s: %g m apart, margin %g", pair->name, c->dist, margin);
        if (!isfinite(c->pos[0] + c->pos[1] + c->pos[2])) fail_msg("%s: a position that is no number", pair->name);
    }
}

/* Environment variable COLLIDE_SHOW: how many cases that differ are printed. */
static int shown(void)
{
    const char *show = getenv("COLLIDE_SHOW");
    return show ? (int)strtol(show, NULL, 10) : 0;
}

void collide_check_oracle(const collide_pair *pair, const collide_set *s)
{
    double *out = zeros((size_t)pair->slots * PROBE_OUT * (size_t)s->padded, sizeof *out);
    collide_run(pair, s, STI_ISA_f64, out);
    int cases[COLLIDE_KINDS] = {0}, agree[COLLIDE_KINDS] = {0}, touching = 0, counts = 0, show = shown();
    double most = 0;
    for (int i = 0; i < s->n; ++i) {
        touches got = collide_contacts(pair, s, out, i);
        double margin = s->in[(PROBE_IN - 1) * s->padded + i];
        double apart = s->want[i].n > pair->slots ? kept_difference(pair, &got, &s->want[i])
                                                  : difference(pair, got, s->want[i], margin);
        check_sane(pair, &got, margin);
        ++cases[s->kind[i]];
        touching += s->want[i].n > 0;
        if (apart <= 1)
            ++agree[s->kind[i]], most = fmax(most, apart);
        else if (counts += isinf(apart) != 0, show-- > 0)
            print_case(s, i, &got);
    }
    print_message("%-18s %d cases, %d touch; agree: generic %d of %d, degenerate %d of %d (other count: %d); "
                  "greatest difference %.2g of %.0e\n",
                  pair->name, s->n, touching, agree[0], cases[0], agree[1], cases[1], counts, most, pair->tolerance);
    assert_true(touching > s->n / 8);
    assert_true(agree[0] >= pair->generic_share * cases[0]);
    assert_true(agree[1] >= pair->degenerate_share * cases[1]);
    free(out);
}

static void move_geom(const double turn[9], const double shift[3], double *in, int padded)
{
    double pos[3], mat[9], out[9];
    for (int k = 0; k < 3; ++k) pos[k] = in[k * padded];
    for (int k = 0; k < 9; ++k) mat[k] = in[(3 + k) * padded];
    mju_mulMatVec3(out, turn, pos);
    for (int k = 0; k < 3; ++k) in[k * padded] = out[k] + shift[k];
    mju_mulMatMat(out, turn, mat, 3, 3, 3);
    for (int k = 0; k < 9; ++k) in[(3 + k) * padded] = out[k];
}

static void move_touches(const double turn[9], const double shift[3], touches *t)
{
    for (int i = 0; i < t->n; ++i) {
        double out[3];
        mju_mulMatVec3(out, turn, t->at[i].pos);
        mju_add3(t->at[i].pos, out, shift);
        mju_mulMatVec3(out, turn, t->at[i].normal);
        mju_copy3(t->at[i].normal, out);
    }
}

void collide_check_moved(const collide_pair *pair, collide_set *s, random_state *r, double allowed)
{
    size_t n = (size_t)pair->slots * PROBE_OUT * (size_t)s->padded;
    double *first = zeros(n, sizeof *first), *moved = zeros(n, sizeof *moved), quat[4], turn[9], shift[3];
    collide_run(pair, s, STI_ISA_f64, first);
    random_quat(r, quat);
    mju_quat2Mat(turn, quat);
    random_direction(r, shift);
    for (int i = 0; i < s->n; ++i)
        for (int g = 0; g < 2; ++g) move_geom(turn, shift, s->in + i + (ptrdiff_t)15 * g * s->padded, s->padded);
    collide_run(pair, s, STI_ISA_f64, moved);
    int generic = 0, differ = 0;
    for (int i = 0; i < s->n; ++i) {
        if (s->kind[i] != COLLIDE_GENERIC) continue;
        touches want = collide_contacts(pair, s, first, i), got = collide_contacts(pair, s, moved, i);
        move_touches(turn, shift, &want);
        ++generic;
        differ += difference(pair, got, want, s->in[(PROBE_IN - 1) * s->padded + i]) > 1;
    }
    if (differ > allowed * generic) fail_msg("%s: %d of %d are others when moved", pair->name, differ, generic);
    free(first);
    free(moved);
}

void collide_check_float(const collide_pair *pair, const collide_set *s, double bound, double allowed)
{
    size_t n = (size_t)pair->slots * PROBE_OUT * (size_t)s->padded;
    double *exact = zeros(n, sizeof *exact), *rounded = zeros(n, sizeof *rounded);
    float *out = zeros(n, sizeof *out);
    collide_run(pair, s, STI_ISA_f64, exact);
    collide_run(pair, s, STI_ISA_w1, out);
    for (size_t i = 0; i < n; ++i) rounded[i] = (double)out[i];
    int generic = 0, differ = 0;
    for (int i = 0; i < s->n; ++i) {
        if (s->kind[i] != COLLIDE_GENERIC) continue;
        touches want = collide_contacts(pair, s, exact, i), got = collide_contacts(pair, s, rounded, i);
        double margin = s->in[(PROBE_IN - 1) * s->padded + i], a = deepest(&want), b = deepest(&got);
        ++generic;
        differ += !(fabs(fmin(a, margin) - fmin(b, margin)) <= bound);
    }
    print_message("%-18s in float: %d of %d generic cases are more than %.0e m deeper or less deep\n", pair->name,
                  differ, generic, bound);
    assert_true(differ <= allowed * generic);
    free(exact);
    free(rounded);
    free(out);
}

void collide_check_widths(const collide_pair *pair, const collide_set *s)
{
    size_t n = (size_t)pair->slots * PROBE_OUT * (size_t)s->padded;
    float *first = zeros(n, sizeof *first), *out = zeros(n, sizeof *out);
    collide_run(pair, s, STI_ISA_w1, first);
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) {
        if (isa == STI_ISA_f64 || !sti_isa_available((sti_isa)isa)) continue;
        collide_run(pair, s, isa, out);
        size_t i = 0;
        for (; i < n && memcmp(first + i, out + i, sizeof *out) == 0;) ++i;
        if (i < n)
            fail_msg("%s: case %zu, row %zu: %a on %s, %a on w1", pair->name, i % (size_t)s->padded,
                     i / (size_t)s->padded, (double)out[i], sti_isa_name((sti_isa)isa), (double)first[i]);
    }
    free(first);
    free(out);
}

void collide_check_pair(const collide_pair *pair, random_state *r, int n, double float_allowed, double moved_allowed)
{
    collide_set s = collide_set_create(pair, r, n);
    collide_check_oracle(pair, &s);
    collide_check_widths(pair, &s);
    collide_check_float(pair, &s, 1e-4, float_allowed);
    collide_check_moved(pair, &s, r, moved_allowed);
    collide_set_destroy(&s);
}
