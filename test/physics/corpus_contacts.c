/* See corpus_contacts.h. */
#include "physics/corpus_contacts.h"

#include "physics/contact/pairs.h"
#include "worlds/quantities.h"

#include <math.h>

#define LEAST_FORCE 1e-2 /* N */
#define CORPUS_ROUNDING_SINE 1e-12

/* A contact; force: on the second geom, in the world's frame. */
typedef struct touch {
    int geom[2];
    double pos[3], dist, force[3];
} touch;

typedef struct touches {
    touch t[STI_MOST_SLOTS];
    int n;
} touches;

static void turn_force(touch *t, const double frame[9], const double force[3])
{
    for (int k = 0; k < 3; ++k) t->force[k] = frame[k] * force[0] + frame[3 + k] * force[1] + frame[6 + k] * force[2];
}

/* Without those that native physics has none of: in a gap that does not count, or of geoms that cannot move. */
static void take_mujocos(touches *all, const mjModel *m, const mjData *d)
{
    assert_true(d->ncon <= STI_MOST_SLOTS);
    all->n = 0;
    for (int i = 0; i < d->ncon; ++i) {
        const mjContact *c = d->contact + i;
        bool within = c->exclude == 1 && sti_physics_sees_gaps(m);
        if (c->efc_address < 0 && !within) continue;
        touch *t = &all->t[all->n++];
        double force[6];
        mj_contactForce(m, d, i, force);
        *t = (touch){.geom = {c->geom[0], c->geom[1]}, .dist = c->dist};
        mju_copy3(t->pos, c->pos);
        turn_force(t, c->frame, force);
    }
}

static void take_ours(touches *all, const contact_arrays *a, int w)
{
    int32_t n;
    OK(stet_array_read_worlds(a->ncon, w, 1, &n, sizeof n));
    all->n = n < (int)a->dist->nitem ? n : (int)a->dist->nitem;
    int32_t *geom = calloc((size_t)a->geom->nitem, sizeof *geom);
    assert_non_null(geom);
    OK(stet_array_read_worlds(a->geom, w, 1, geom, (size_t)a->geom->nitem * sizeof *geom));
    for (int i = 0; i < all->n; ++i) {
        touch *t = &all->t[i];
        double frame[9], force[3];
        *t = (touch){.geom = {geom[2 * i], geom[2 * i + 1]}, .dist = reals_get(a->dist, w, i)};
        for (int k = 0; k < 3; ++k) t->pos[k] = reals_get(a->pos, w, 3 * i + k);
        for (int k = 0; k < 9; ++k) frame[k] = reals_get(a->frame, w, 9 * i + k);
        for (int k = 0; k < 3; ++k) force[k] = reals_get(a->force, w, 6 * i + k);
        turn_force(t, frame, force);
    }
    free(geom);
}

static bool same_pair(const touch *a, const touch *b) { return a->geom[0] == b->geom[0] && a->geom[1] == b->geom[1]; }

static bool has_pair(const touches *all, int n, const touch *pair)
{
    for (int i = 0; i < n; ++i)
        if (same_pair(&all->t[i], pair)) return true;
    return false;
}

/*
 * Contacts of one pair: each with the nearest that no other has; false if one has none. Raises by how much places and
 * depths differ.
 */
static bool match_pair(const touches *ours, const touches *exact, const touch *pair, double *place, double *depth)
{
    static bool claimed[STI_MOST_SLOTS];
    int left = 0;
    for (int k = 0; k < exact->n; ++k) {
        claimed[k] = !same_pair(pair, &exact->t[k]);
        left += !claimed[k];
    }
    for (int i = 0; i < ours->n; ++i) {
        int best = -1;
        double least = HUGE_VAL;
        if (!same_pair(pair, &ours->t[i])) continue;
        for (int k = 0; k < exact->n; ++k) {
            double apart = mju_dist3(ours->t[i].pos, exact->t[k].pos);
            if (claimed[k] || !(apart < least)) continue;
            best = k;
            least = apart;
        }
        if (best < 0) return false;
        claimed[best] = true;
        left--;
        *place = fmax(*place, least);
        *depth = fmax(*depth, fabs(ours->t[i].dist - exact->t[best].dist));
    }
    return left == 0;
}

corpus_pairs corpus_pairs_of[CORPUS_TYPES][CORPUS_TYPES];

static bool is_level(const mjModel *m, const mjData *d, const touch *pair)
{
    const mjtNum *capsule = d->geom_xmat + 9 * (ptrdiff_t)pair->geom[0],
                 *box = d->geom_xmat + 9 * (ptrdiff_t)pair->geom[1];
    double least = 1;
    if (m->geom_type[pair->geom[0]] != mjGEOM_CAPSULE || m->geom_type[pair->geom[1]] != mjGEOM_BOX) return false;
    for (int k = 0; k < 3; ++k)
        least = fmin(least, fabs(capsule[2] * box[k] + capsule[5] * box[3 + k] + capsule[8] * box[6 + k]));
    return least < CORPUS_ROUNDING_SINE;
}

/* Pair by pair. */
static corpus_match match(const touches *ours, const touches *exact, const mjModel *m, const mjData *d,
                          corpus_contacts *c)
{
    corpus_match same = CORPUS_SAME;
    const touches *sides[] = {exact, ours};
    for (int side = 0; side < 2; ++side)
        for (int i = 0; i < sides[side]->n; ++i) {
            const touch *pair = &sides[side]->t[i];
            double place = 0, depth = 0;
            if (has_pair(sides[side], i, pair) || (side == 1 && has_pair(exact, exact->n, pair))) continue;
            bool number = match_pair(ours, exact, pair, &place, &depth);
            int first = m->geom_type[pair->geom[0]], second = m->geom_type[pair->geom[1]];
            corpus_pairs *p = &corpus_pairs_of[first][second];
            bool elsewhere = number && fmax(place, depth) > CORPUS_PLACE;
            p->touch++;
            p->number += !number;
            p->place += elsewhere;
            c->place = fmax(c->place, number ? place : 0);
            c->depth = fmax(c->depth, number ? depth : 0);
            if (number && !elsewhere) continue;
            corpus_match found = is_level(m, d, pair)                     ? CORPUS_LEVEL
                                 : sti_physics_is_searched(first, second) ? CORPUS_SEARCHED
                                                                          : CORPUS_OTHER;
            same = found > same ? found : same;
        }
    return same;
}

static void add_pair(const touches *all, const touch *pair, double sum[3])
{
    for (int i = 0; i < all->n; ++i)
        if (same_pair(&all->t[i], pair)) mju_addTo3(sum, all->t[i].force);
}

/*
 * Of all pairs of either; NaN counts as infinite. Magnitudes: where two centres coincide the direction is rounding, and
 * where it counts, accelerations show it.
 */
static double compare_forces(const touches *ours, const touches *exact)
{
    double worst = 0, scale = LEAST_FORCE;
    const touches *sides[] = {exact, ours};
    for (int side = 0; side < 2; ++side)
        for (int i = 0; i < sides[side]->n; ++i) {
            double one[3] = {0}, other[3] = {0};
            add_pair(exact, &sides[side]->t[i], one);
            add_pair(ours, &sides[side]->t[i], other);
            if (fmax(mju_norm3(one), mju_norm3(other)) > CORPUS_MOST_FORCE) continue;
            double diff = fabs(mju_norm3(one) - mju_norm3(other));
            scale = fmax(scale, mju_norm3(one));
            worst = fmax(worst, diff == diff ? diff : HUGE_VAL);
        }
    return worst / scale;
}

void corpus_update_contacts(const contact_arrays *a)
{
    stet_array *all[] = {a->ncon, a->geom, a->dist, a->pos, a->frame, a->force};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) OK(sti_array_ensure(all[k]));
}

contact_arrays corpus_find_contacts(const rig *r, mjData *const *data, int nworld)
{
    int most = 0;
    for (int w = 0; w < nworld; ++w) most = most > data[w]->ncon ? most : data[w]->ncon;
    most = 2 * most + 64;
    OK(stet_worlds_set_contact_slots(r->worlds, most < STI_MOST_SLOTS ? most : STI_MOST_SLOTS));
    contact_arrays a = {rig_array(r, "ncon"),        rig_array(r, "contact_geom"),  rig_array(r, "contact_dist"),
                        rig_array(r, "contact_pos"), rig_array(r, "contact_frame"), rig_array(r, "contact_force")};
    corpus_update_contacts(&a);
    return a;
}

static touches ours, exact;

corpus_match corpus_compare_contacts(const contact_arrays *a, int w, const mjModel *m, const mjData *d,
                                     corpus_contacts *c, double *force)
{
    take_ours(&ours, a, w);
    take_mujocos(&exact, m, d);
    corpus_match found = match(&ours, &exact, m, d, c);
    bool any = ours.n > 0 || exact.n > 0;
    c->touch += any;
    c->same += any && found == CORPUS_SAME;
    if (found == CORPUS_SAME) *force = fmax(*force, compare_forces(&ours, &exact));
    return found;
}

double corpus_compare_forces(const mjModel *m, const mjData *x, const mjData *d)
{
    take_mujocos(&ours, m, x);
    take_mujocos(&exact, m, d);
    return compare_forces(&ours, &exact);
}
