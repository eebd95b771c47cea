/* Pairs of geoms that may touch; see pairs.h. */
#include "physics/contact/pairs.h"

#include "physics/dynamics/actuators.h"
#include "physics/model/layout.k.h"
#include "physics/sensors/sensors.h"

#include <math.h>
#include <string.h>

bool sti_physics_is_off(const mjModel *m, int flag) { return (m->opt.disableflags & (flag | mjDSBL_CONSTRAINT)) != 0; }

int sti_physics_pair_contacts(int first, int second)
{
    enum { FIELD = PH_MOST_CONTACTS };
    static const int most[mjGEOM_MESH + 1][mjGEOM_MESH + 1] = {
        /*                   plane, height field, sphere, capsule, ellipsoid, cylinder, box, mesh */
        [mjGEOM_PLANE] = {0, 0, 1, 2, 1, 4, 4, 4},
        [mjGEOM_HFIELD] = {0, 0, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD},
        [mjGEOM_SPHERE] = {0, 0, 1, 1, 1, 1, 1, 1},
        [mjGEOM_CAPSULE] = {0, 0, 0, 2, 1, 4, 2, 4},
        [mjGEOM_ELLIPSOID] = {0, 0, 0, 0, 1, 1, 1, 1},
        [mjGEOM_CYLINDER] = {0, 0, 0, 0, 0, 4, 4, 4},
        [mjGEOM_BOX] = {0, 0, 0, 0, 0, 0, 8, 4},
        [mjGEOM_MESH] = {0, 0, 0, 0, 0, 0, 0, 4},
    };
    return first <= mjGEOM_MESH && second <= mjGEOM_MESH ? most[first][second] : 0;
}

bool sti_physics_is_searched(int first, int second)
{
    bool closed = first == mjGEOM_PLANE || (first == mjGEOM_BOX && second == mjGEOM_BOX) ||
                  (first == mjGEOM_CAPSULE && (second == mjGEOM_CAPSULE || second == mjGEOM_BOX)) ||
                  (first == mjGEOM_SPHERE && second != mjGEOM_ELLIPSOID && second != mjGEOM_MESH);
    return !closed;
}

/* The first place in a sorted array where a signature of two bodies is, or would be. */
static int find_signature(const int *sorted, int64_t n, int signature)
{
    int low = 0, high = (int)n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sorted[middle] < signature)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int signature_of(int b1, int b2) { return b1 < b2 ? (b1 << 16) + b2 : (b2 << 16) + b1; }

/* MuJoCo's compiler sorts exclusions and explicit pairs by their signatures. */
static bool is_excluded(const mjModel *m, int b1, int b2)
{
    if (m->nexclude == 0) return false;
    int signature = signature_of(b1, b2), i = find_signature(m->exclude_signature, m->nexclude, signature);
    return i < m->nexclude && m->exclude_signature[i] == signature;
}

static bool is_explicit(const mjModel *m, int g1, int g2)
{
    if (m->npair == 0) return false;
    int signature = signature_of(m->geom_bodyid[g1], m->geom_bodyid[g2]);
    int i = find_signature(m->pair_signature, m->npair, signature);
    for (; i < m->npair && m->pair_signature[i] == signature; ++i)
        if ((m->pair_geom1[i] == g1 && m->pair_geom2[i] == g2) || (m->pair_geom1[i] == g2 && m->pair_geom2[i] == g1))
            return true;
    return false;
}

bool sti_physics_bits_match(const mjModel *m, int g1, int g2)
{
    return (m->geom_contype[g1] & m->geom_conaffinity[g2]) || (m->geom_contype[g2] & m->geom_conaffinity[g1]);
}

bool sti_physics_may_touch(const mjModel *m, int g1, int g2)
{
    bool fields = m->geom_type[g1] <= mjGEOM_HFIELD && m->geom_type[g2] <= mjGEOM_HFIELD; /* or planes */
    if (fields || !sti_physics_bits_match(m, g1, g2)) return false;
    int b1 = m->geom_bodyid[g1], b2 = m->geom_bodyid[g2], w1 = m->body_weldid[b1], w2 = m->body_weldid[b2];
    if (w1 == w2) return false;
    int p1 = m->body_weldid[m->body_parentid[w1]], p2 = m->body_weldid[m->body_parentid[w2]];
    bool family = w1 != 0 && w2 != 0 && (w1 == p2 || w2 == p1) && !(m->opt.disableflags & mjDSBL_FILTERPARENT);
    return !family && !is_excluded(m, b1, b2) && !is_explicit(m, g1, g2);
}

double sti_physics_geom_margin(const mjModel *m, int g)
{
    return m->opt.enableflags & mjENBL_OVERRIDE ? m->opt.o_margin / 2 : m->geom_margin[g];
}

bool sti_physics_sees_gaps(const mjModel *m)
{
    bool any = false;
    for (int g = 0; g < m->ngeom && !any; ++g) any = m->geom_gap[g] > 0;
    for (int i = 0; i < m->npair && !any; ++i) any = m->pair_gap[i] > 0;
    return any && (sti_physics_count_adhesion(m) > 0 || sti_physics_has_contact_sensors(m) || m->flg_adhesion);
}

bool sti_physics_is_adhesive(const mjModel *m) { return m->flg_adhesion && sti_physics_has_pairs(m); }

double sti_physics_geom_gap(const mjModel *m, int g)
{
    return m->geom_gap[g] > 0 && sti_physics_sees_gaps(m) ? m->geom_gap[g] : 0;
}

/* What options say of all contacts in place of their geoms. */
static void override_block(const mjModel *m, sti_block *k)
{
    memcpy(k->ref, m->opt.o_solref, sizeof k->ref);
    memcpy(k->imp, m->opt.o_solimp, sizeof k->imp);
    memcpy(k->friction, m->opt.o_friction, sizeof k->friction);
    k->margin = m->opt.o_margin;
    k->solref_friction = NULL; /* that of the contact */
}

static double mix_of(double weight, double a, double b) { return weight * a + (1 - weight) * b; }

/* Solver parameters, friction and dimension of two geoms that touch. */
static void mix_geoms(const mjModel *m, int g1, int g2, sti_block *k)
{
    int p1 = m->geom_priority[g1], p2 = m->geom_priority[g2], g = p1 > p2 ? g1 : g2;
    double a = m->geom_solmix[g1], b = m->geom_solmix[g2], weight = a + b >= mjMINVAL ? a / (a + b) : 0.5;
    const mjtNum *r1 = m->geom_solref + mjNREF * g1, *r2 = m->geom_solref + mjNREF * g2;
    if (a < mjMINVAL && b >= mjMINVAL) weight = 0;
    if (a >= mjMINVAL && b < mjMINVAL) weight = 1;
    if (p1 != p2) weight = g == g1 ? 1 : 0;
    for (int i = 0; i < mjNREF; ++i)
        k->ref[i] = (r1[0] > 0 && r2[0] > 0) || p1 != p2 ? mix_of(weight, r1[i], r2[i]) : fmin(r1[i], r2[i]);
    for (int i = 0; i < mjNIMP; ++i)
        k->imp[i] = mix_of(weight, m->geom_solimp[mjNIMP * g1 + i], m->geom_solimp[mjNIMP * g2 + i]);
    for (int i = 0; i < 5; ++i) {
        static const int part[5] = {0, 0, 1, 2, 2}; /* slide, slide, spin, roll, roll */
        int at = part[i];
        double f1 = m->geom_friction[3 * g1 + at], f2 = m->geom_friction[3 * g2 + at];
        k->friction[i] = p1 != p2 ? m->geom_friction[3 * g + at] : fmax(f1, f2);
    }
    int d1 = m->geom_condim[g1], d2 = m->geom_condim[g2];
    k->dim = p1 != p2 ? m->geom_condim[g] : d1 > d2 ? d1 : d2;
    k->margin = sti_physics_geom_margin(m, g1) + sti_physics_geom_margin(m, g2);
    k->gap = sti_physics_geom_gap(m, g1) + sti_physics_geom_gap(m, g2);
    k->adhesion = p1 != p2 ? m->geom_adhesion[g] : m->geom_adhesion[g1] + m->geom_adhesion[g2];
}

/*
 * A little more than the radii of the bounding spheres and the margin, since it decides what is not looked at. Where
 * the bits of a world's geoms leave out a pair that other worlds have: NaN, which no distance is below.
 */
static double reach_of(const mjModel *m, const sti_block *k)
{
    int a = k->obj[0], b = k->obj[1];
    if (k->id < 0 && !sti_physics_bits_match(m, a, b)) return NAN;
    double first = m->geom_type[a] == mjGEOM_PLANE    ? 0
                   : m->geom_type[a] == mjGEOM_HFIELD ? m->hfield_size[4 * m->geom_dataid[a] + 2]
                                                      : m->geom_rbound[a];
    return (first + m->geom_rbound[b] + k->margin + k->gap) * (1 + 1e-5);
}

sti_block sti_physics_geoms_block(const mjModel *m, int g1, int g2, int pair)
{
    bool swap = m->geom_type[g1] > m->geom_type[g2];
    sti_block k = {.type = PH_GEOMS, .id = pair, .obj = {swap ? g2 : g1, swap ? g1 : g2}};
    k.side = sti_physics_pair_contacts(m->geom_type[k.obj[0]], m->geom_type[k.obj[1]]);
    if (pair < 0) {
        mix_geoms(m, g1, g2, &k);
    } else {
        memcpy(k.ref, m->pair_solref + mjNREF * pair, sizeof k.ref);
        memcpy(k.imp, m->pair_solimp + mjNIMP * pair, sizeof k.imp);
        memcpy(k.friction, m->pair_friction + 5 * pair, sizeof k.friction);
        k.solref_friction = m->pair_solreffriction + mjNREF * pair;
        k.dim = m->pair_dim[pair];
        k.margin = m->pair_margin[pair];
        k.adhesion = m->pair_adhesion[pair];
        k.gap = m->pair_gap[pair] > 0 && sti_physics_sees_gaps(m) ? m->pair_gap[pair] : 0;
    }
    if (m->opt.enableflags & mjENBL_OVERRIDE) override_block(m, &k);
    k.reach = reach_of(m, &k);
    for (int i = 0; i < 5; ++i) k.friction[i] = fmax(mjMINMU, k.friction[i]);
    k.kind = k.dim == 1 ? PH_CONTACT : m->opt.cone == mjCONE_PYRAMIDAL ? PH_PYRAMID : PH_ELLIPTIC;
    for (int r = 0; r < 2; ++r)
        k.diag[r] = m->body_invweight0[2 * m->geom_bodyid[g1] + r] + m->body_invweight0[2 * m->geom_bodyid[g2] + r];
    return k;
}

bool sti_physics_next_pair(const mjModel *m, sti_pair_place *at)
{
    if (sti_physics_is_off(m, mjDSBL_CONTACT)) return false;
    if (at->next < m->npair) {
        *at = (sti_pair_place){{m->pair_geom1[at->next], m->pair_geom2[at->next]}, at->next, at->next + 1};
        return true;
    }
    if (at->next == m->npair) *at = (sti_pair_place){{0, 0}, -1, at->next + 1};
    for (int a = at->geom[0], b = at->geom[1] + 1; a < m->ngeom; ++a, b = a + 1)
        for (; b < m->ngeom; ++b) {
            if (!sti_physics_may_touch(m, a, b)) continue;
            at->geom[0] = a;
            at->geom[1] = b;
            return true;
        }
    return false;
}

bool sti_physics_slips(const mjModel *m)
{
    bool loss = false;
    for (int i = 0; i < m->nv; ++i) loss = loss || m->dof_frictionloss[i] > 0;
    for (int i = 0; i < m->ntendon; ++i) loss = loss || m->tendon_frictionloss[i] > 0;
    return sti_physics_has_pairs(m) || (loss && !sti_physics_is_off(m, mjDSBL_FRICTIONLOSS));
}

bool sti_physics_has_pairs(const mjModel *m)
{
    sti_pair_place at = {.next = 0};
    return sti_physics_next_pair(m, &at);
}
