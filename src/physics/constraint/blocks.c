/* Constraint blocks as tables; see blocks.h. */
#include "physics/constraint/blocks.h"

#include "base/error.h"
#include "base/memory.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/contact/moved.h"
#include "physics/contact/pairs.h"
#include "physics/solver/places.h"
#include "physics/model/row_list.h"
#include "physics/contact/tree_pairs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static double clip(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* Stiffness and damping from solref, as MuJoCo has them. */
static void fill_reference(const mjModel *m, const mjtNum *solref, double high, double *K, double *B)
{
    double ref[2] = {solref[0], solref[1]};
    if ((ref[0] > 0) != (ref[1] > 0)) {
        ref[0] = 0.02;
        ref[1] = 1;
    }
    bool safe = !(m->opt.disableflags & mjDSBL_REFSAFE) && m->opt.integrator != mjINT_DISCRETE;
    if (safe && ref[0] > 0) ref[0] = fmax(ref[0], 2 * m->opt.timestep);
    *K = ref[0] > 0 ? 1 / fmax(mjMINVAL, high * high * ref[0] * ref[0] * ref[1] * ref[1]) : -ref[0] / (high * high);
    *B = ref[1] > 0 ? 2 / fmax(mjMINVAL, high * ref[0]) : -ref[1] / high;
}

/* The damping ratio of a limit or a contact whose spring may give way to the time step; 0: it does not. */
static double late_ratio(const mjModel *m, const sti_block *k)
{
    bool soft = k->kind != PH_EQUALITY && k->kind != PH_FRICTION && !(m->opt.disableflags & mjDSBL_REFSAFE);
    if (m->opt.integrator != mjINT_DISCRETE || !soft) return 0;
    if ((k->solref[0] > 0) != (k->solref[1] > 0)) return 1;
    return k->solref[0] > 0 ? k->solref[1] : 0;
}

/* What an elliptic contact or a pyramid has beside. All rows of a pyramid have one R, that of its edges. */
static void fill_friction(const mjModel *m, const sti_block *k, double high, double *out)
{
    const double *mu = k->friction;
    double ratio = fmax(mjMINVAL, m->opt.impratio), K;
    memcpy(out + P_FRICTION, mu, 5 * sizeof *out);
    out[P_MU] = mu[0] / sqrt(ratio);
    out[P_B_FRICTION] = out[P_B];
    if (k->solref_friction && (k->solref_friction[0] != 0 || k->solref_friction[1] != 0))
        fill_reference(m, k->solref_friction, high, &K, out + P_B_FRICTION);
    for (int i = 0; i < 5; ++i) out[P_SCALE + i] = mu[0] * mu[0] / (mu[i] * mu[i]) / ratio;
    if (k->kind == PH_PYRAMID) out[P_DIAG] *= (1 + mu[0] * mu[0]) * 2 * mu[0] * mu[0] / ratio;
}

/*
 * The least regularisation of rows of a contact, as a part of the inverse inertia of its bodies. MuJoCo's goes to 0
 * with the friction of a pyramid, and where a contact cannot move the bodies' centres of mass: rows that stiff have no
 * digits left in float. At this part accelerations differ by a millionth.
 */
static const double LEAST_R = 5e-7;

/* An inverse inertia of two geoms' bodies at their surfaces. */
static double contact_mobility(const mjModel *m, const sti_block *k)
{
    double sum = 0;
    for (int side = 0; side < 2; ++side) {
        const mjtNum *weight = m->body_invweight0 + 2 * m->geom_bodyid[k->obj[side]];
        double radius = m->geom_rbound[k->obj[side]];
        sum += weight[0] + weight[1] * radius * radius;
    }
    return sum;
}

static void fill_parameters(const mjModel *m, const sti_block *k, double *out)
{
    double *imp = out + P_SOLIMP;
    memset(out, 0, P_SIZE * sizeof *out);
    imp[0] = clip(k->solimp[0], mjMINIMP, mjMAXIMP);
    imp[1] = clip(k->solimp[1], mjMINIMP, mjMAXIMP);
    imp[2] = fmax(0, k->solimp[2]);
    imp[3] = clip(k->solimp[3], mjMINIMP, mjMAXIMP);
    imp[4] = fmax(1, k->solimp[4]);
    fill_reference(m, k->solref, imp[1], out + P_K, out + P_B);
    if (k->kind == PH_FRICTION) out[P_K] = 0;
    out[P_RATIO] = late_ratio(m, k);
    out[P_MARGIN] = k->margin;
    out[P_DIAG] = k->diag[0];
    out[P_DIAG + 1] = k->diag[1];
    out[P_LOSS] = k->loss;
    if (k->type == PH_GEOMS) {
        out[P_REACH] = k->reach;
        out[P_GAP] = k->gap;
        out[P_ADHESION] = k->adhesion;
        out[P_NORMAL_DIAG] = k->diag[0];
        out[P_LEAST_R] = LEAST_R * contact_mobility(m, k);
        fill_friction(m, k, imp[1], out);
    }
}

/* A body that is fixed to an equality: the site's body, or the object itself. */
static int equality_object(const mjModel *m, int i, int id)
{
    return id >= 0 && m->eq_objtype[i] == mjOBJ_SITE ? m->site_bodyid[id] : id;
}

static sti_block equality_block(const mjModel *m, int i)
{
    sti_block k = {.kind = PH_EQUALITY, .type = m->eq_type[i], .dim = 1, .id = i};
    k.obj[0] = equality_object(m, i, m->eq_obj1id[i]);
    k.obj[1] = equality_object(m, i, m->eq_obj2id[i]);
    k.solref = m->eq_solref + mjNREF * i;
    k.solimp = m->eq_solimp + mjNIMP * i;
    if (k.type <= PH_EQ_WELD) k.dim = k.type == PH_EQ_WELD ? 6 : 3;
    for (int side = 0; side < 2; ++side) {
        int id = k.obj[side];
        if (id < 0) continue;
        for (int r = 0; r < 2; ++r)
            k.diag[r] += k.type <= PH_EQ_WELD    ? m->body_invweight0[2 * id + r]
                         : k.type == PH_EQ_JOINT ? m->dof_invweight0[m->jnt_dofadr[id]]
                                                 : m->tendon_invweight0[id];
    }
    return k;
}

static sti_block loss_block(const mjModel *m, int type, int i)
{
    bool tendon = type == PH_LOSS_TENDON;
    sti_block k = {.kind = PH_FRICTION, .type = type, .dim = 1, .id = i};
    k.solref = tendon ? m->tendon_solref_fri + mjNREF * i : m->dof_solref + mjNREF * i;
    k.solimp = tendon ? m->tendon_solimp_fri + mjNIMP * i : m->dof_solimp + mjNIMP * i;
    k.diag[0] = tendon ? m->tendon_invweight0[i] : m->dof_invweight0[i];
    k.loss = tendon ? m->tendon_frictionloss[i] : m->dof_frictionloss[i];
    return k;
}

static sti_block limit_block(const mjModel *m, int type, int i, int side)
{
    bool tendon = type == PH_LIMIT_TENDON;
    sti_block k = {.kind = PH_LIMIT, .type = type, .dim = 1, .id = i, .side = side};
    k.solref = tendon ? m->tendon_solref_lim + mjNREF * i : m->jnt_solref + mjNREF * i;
    k.solimp = tendon ? m->tendon_solimp_lim + mjNIMP * i : m->jnt_solimp + mjNIMP * i;
    k.margin = tendon ? m->tendon_margin[i] : m->jnt_margin[i];
    k.diag[0] = tendon ? m->tendon_invweight0[i] : m->dof_invweight0[m->jnt_dofadr[i]];
    return k;
}

/* All blocks but contacts, in MuJoCo's order of rows; returns how many. */
static int list_blocks(const mjModel *m, sti_block *out)
{
    int n = 0;
#define ADD(...)                                                                                                       \
    {                                                                                                                  \
        if (out) out[n] = (__VA_ARGS__);                                                                               \
        ++n;                                                                                                           \
    }
    for (int i = 0; i < m->neq && !sti_physics_is_off(m, mjDSBL_EQUALITY); ++i) ADD(equality_block(m, i));
    for (int i = 0; i < m->nv && !sti_physics_is_off(m, mjDSBL_FRICTIONLOSS); ++i)
        if (m->dof_frictionloss[i] > 0) ADD(loss_block(m, PH_LOSS_DOF, i));
    for (int i = 0; i < m->ntendon && !sti_physics_is_off(m, mjDSBL_FRICTIONLOSS); ++i)
        if (m->tendon_frictionloss[i] > 0) ADD(loss_block(m, PH_LOSS_TENDON, i));
    for (int j = 0; j < m->njnt && !sti_physics_is_off(m, mjDSBL_LIMIT); ++j) {
        if (!m->jnt_limited[j] || m->jnt_type[j] == mjJNT_FREE) continue;
        bool ball = m->jnt_type[j] == mjJNT_BALL;
        for (int side = -1; side <= (ball ? -1 : 1); side += 2)
            ADD(limit_block(m, ball ? PH_LIMIT_BALL : PH_LIMIT_JOINT, j, side));
    }
    for (int t = 0; t < m->ntendon && !sti_physics_is_off(m, mjDSBL_LIMIT); ++t)
        for (int side = -1; m->tendon_limited[t] && side <= 1; side += 2) ADD(limit_block(m, PH_LIMIT_TENDON, t, side));
#undef ADD
    return n;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* What is made on the way to the tables of blocks. */
typedef struct making {
    sti_tables_builder *b;
    sti_block *blocks; /* [nblock], those that are no pairs of geoms */
    int nblock, npair;
    sti_trees trees; /* pairs of two of them are made in the step, from pairs of kinds of geoms: */
    sti_geom_kinds kinds;
    int *kind_pair; /* [kinds.n²] the number of the pair of two kinds, the first geom's first; -1: they do not touch */
    int nmade;
    int chain;           /* dofs that move a geom of a tree, at most */
    sti_row_list bodies; /* sti_moved_bodies: a list of dofs each, behind those of the blocks */
    sti_row_list prm;    /* P_SIZE reals: B_PRM is the number of a row meanwhile */
    int *last;           /* [nbody], the last dof that moves a body */
    int *scratch;        /* [4 nv] */
    uint8_t *touches;    /* [ngeom], 1: the geom is in some pair */
} making;

/* The next pair of geoms that moves something. */
static bool next_pair(const making *k, sti_pair_place *at)
{
    const mjModel *m = k->b->model;
    while (sti_trees_next_pair(m, &k->trees, at))
        if (k->last[m->geom_bodyid[at->geom[0]]] != k->last[m->geom_bodyid[at->geom[1]]]) return true;
    return false;
}

/* Numbers the pairs of kinds that may touch. (Where each geom is a kind, those of two trees, the earlier one first.) */
static stet_result number_kinds(making *k)
{
    const mjModel *m = k->b->model;
    size_t n = (size_t)k->kinds.n;
    STI_TRY(sti_alloc(&k->kind_pair, n * n * sizeof *k->kind_pair + 1, "kinds of geoms"));
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) {
            int a = k->kinds.first[i], b = k->kinds.first[j];
            bool other = !k->b->apart || k->trees.of_geom[a] < k->trees.of_geom[b];
            k->kind_pair[i * n + j] = other && sti_physics_bits_match(m, a, b) ? k->nmade++ : -1;
        }
    for (int i = 0; i < k->trees.ngeom; ++i) {
        int d = k->last[m->geom_bodyid[k->trees.geom[i]]], dofs = 0;
        for (k->touches[k->trees.geom[i]] = 1; d >= 0; d = m->dof_parentid[d]) ++dofs;
        if (dofs > k->chain) k->chain = dofs;
    }
    return STET_OK;
}

static stet_result begin_making(making *k)
{
    const mjModel *m = k->b->model;
    const char *what = "tables of the physics";
    sti_pair_place at = {.next = 0};
    k->nblock = list_blocks(m, NULL);
    STI_TRY(sti_alloc(&k->blocks, (size_t)k->nblock * sizeof *k->blocks, what));
    list_blocks(m, k->blocks);
    STI_TRY(sti_alloc(&k->scratch, 4 * (size_t)m->nv * sizeof *k->scratch, what));
    STI_TRY(sti_alloc(&k->touches, (size_t)m->ngeom, what));
    STI_TRY(sti_alloc(&k->last, (size_t)m->nbody * sizeof *k->last, what));
    for (int i = 0; i < m->nbody; ++i) k->last[i] = sti_physics_last_dof(m, i);
    STI_TRY(sti_trees_find(m, &k->trees));
    STI_TRY(sti_geom_kinds_find(m, &k->trees, k->b->apart, &k->kinds));
    for (; next_pair(k, &at); ++k->npair)
        for (int side = 0; side < 2; ++side) k->touches[at.geom[side]] = 1;
    return number_kinds(k);
}

static void end_making(making *k)
{
    sti_free(k->blocks);
    sti_row_list_free(&k->bodies);
    sti_row_list_free(&k->prm);
    sti_free(k->last);
    sti_free(k->scratch);
    sti_free(k->touches);
    sti_free(k->kind_pair);
    sti_geom_kinds_free(&k->kinds);
    sti_trees_free(&k->trees);
}

static stet_result list_parameters(making *k, const sti_block *block, int *number)
{
    double prm[P_SIZE];
    fill_parameters(k->b->model, block, prm);
    if (!k->b->apart) return sti_row_list_share(&k->prm, prm, number);
    *number = k->prm.n;
    return sti_row_list_add(&k->prm, prm);
}

/* The description of a block; B_DOFS is the number of its list of dofs. */
static stet_result describe(making *k, const sti_block *block, int list, int *out)
{
    int part = block->type == PH_GEOMS ? 3 * block->obj[0] + block->obj[1] : 2 * block->id + (block->side > 0), prm;
    STI_TRY(list_parameters(k, block, &prm));
    const int row[B_SIZE] = {
        [B_KIND] = block->kind,
        [B_TYPE] = block->type,
        [B_DIM] = block->dim,
        [B_DOFS] = list,
        [B_PRM] = prm,
        [B_ID] = block->id,
        [B_SIDE] = block->side,
        [B_OBJ1] = block->obj[0],
        [B_OBJ2] = block->obj[1],
        [B_PART] = part % PH_SUMS,
    };
    memcpy(out, row, sizeof row);
    return STET_OK;
}

/* Descriptions of pairs of kinds, without lists of dofs; each has as many dofs as there can be. */
static stet_result describe_kinds(making *k, int *out)
{
    int n = k->kinds.n;
    for (int i = 0; i < n * n; ++i) {
        if (k->kind_pair[i] < 0) continue;
        sti_block block = sti_physics_geoms_block(k->b->model, k->kinds.first[i / n], k->kinds.first[i % n], -1);
        block.solref = block.ref;
        block.solimp = block.imp;
        STI_TRY(describe(k, &block, 0, out));
        out[B_NDOF] = 2 * k->chain;
        out[B_PRM] *= P_SIZE;
        out += B_SIZE;
    }
    return STET_OK;
}

static stet_result describe_all(making *k, int *out)
{
    const mjModel *m = k->b->model;
    sti_pair_place at = {.next = 0};
    for (int i = 0; i < k->nblock; ++i, out += B_SIZE) STI_TRY(describe(k, k->blocks + i, i, out));
    for (; next_pair(k, &at); out += B_SIZE) {
        int list;
        sti_block block = sti_physics_geoms_block(m, at.geom[0], at.geom[1], at.pair);
        sti_moved_bodies bodies = {{k->last[m->geom_bodyid[block.obj[0]]], k->last[m->geom_bodyid[block.obj[1]]]}};
        block.solref = block.ref;
        block.solimp = block.imp;
        STI_TRY(sti_row_list_share(&k->bodies, &bodies, &list));
        STI_TRY(describe(k, &block, k->nblock + list, out));
    }
    return describe_kinds(k, out);
}

/* The dofs of a list, in k->scratch + 2 nv; how many. */
static int list_dofs(const making *k, int list)
{
    const mjModel *m = k->b->model;
    int *out = k->scratch + 2 * m->nv;
    if (list < k->nblock) return sti_physics_list_block(m, k->blocks + list, k->scratch, out);
    const sti_moved_bodies *bodies = (const sti_moved_bodies *)k->bodies.rows + (list - k->nblock);
    return sti_physics_list_bodies(m, *bodies, k->scratch, out);
}

/* M_BLOCK_DOFS, what follows from them, and where in those the blocks have theirs. */
static void put_dofs(making *k)
{
    sti_tables_builder *b = k->b;
    int nlist = k->nblock + k->bodies.n, words = b->t->m[M_NWORD], *begin;
    int64_t all = 0;
    if (b->result == STET_OK)
        b->result = sti_alloc(&begin, ((size_t)nlist + 1) * sizeof *begin, "tables of the physics");
    if (b->result != STET_OK) return;
    for (int i = 0; i < nlist && all < INT_MAX; ++i) begin[i + 1] = (int)(all += list_dofs(k, i));
    sti_physics_reserve(b, 3 * all + (int64_t)words * nlist);
    sti_physics_new_table(b, M_BLOCK_DOFS, 2 * all);
    sti_physics_new_table(b, M_BLOCK_PLACES, all);
    sti_physics_new_table(b, M_BLOCK_TILES, (int64_t)words * nlist);
    int *m = b->t->m;
    for (int i = 0; b->result == STET_OK && i < nlist; ++i) {
        const int *dof = k->scratch + 2 * b->model->nv;
        int n = list_dofs(k, i), *tiles = m + m[M_BLOCK_TILES] + words * i;
        memcpy(m + m[M_BLOCK_DOFS] + 2 * begin[i], dof, 2 * (size_t)n * sizeof *dof);
        for (int d = 0; d < n; ++d) {
            int place = m[m[M_PLACE] + dof[2 * d]];
            m[m[M_BLOCK_PLACES] + begin[i] + d] = place;
            if (words > 0) sti_physics_mark_tile(tiles, place);
        }
    }
    for (int i = 0; b->result == STET_OK && i < k->nblock + k->npair; ++i) {
        int at = m[M_BLOCK] + B_SIZE * i, *block = m + at, list = block[B_DOFS], first = begin[list];
        block[B_NDOF] = begin[list + 1] - first;
        block[B_DOFS] = m[M_BLOCK_DOFS] + 2 * first - at;
        block[B_PLACES] = m[M_BLOCK_PLACES] + first - at;
        block[B_TILES] = m[M_BLOCK_TILES] + words * list - at;
        block[B_LOW] = block[B_NDOF] > 0 ? block[block[B_PLACES] + block[B_NDOF] - 1] / 4 : 0;
        block[B_PRM] *= P_SIZE;
        assert(block[B_DIM] >= 1 && block[B_DIM] <= 6 && block[B_NDOF] >= 0 && "a contact has six rows at most");
    }
    sti_free(begin);
}

/* Blocks and pairs as tables: their descriptions, dofs, parameters. */
static void put_block_tables(making *k)
{
    sti_tables_builder *b = k->b;
    int64_t rows = (int64_t)k->nblock + k->npair + k->nmade;
    int *block = sti_physics_new_table(b, M_BLOCK, B_SIZE * rows);
    if (block) b->result = describe_all(k, block);
    sti_physics_fill(b, M_PAIR, b->t->m[M_BLOCK] + B_SIZE * k->nblock);
    put_dofs(k);
    double *prm = sti_physics_new_parameter(b, M_BLOCK_PRM, (int64_t)P_SIZE * k->prm.n);
    if (prm && k->prm.n > 0) memcpy(prm, k->prm.rows, (size_t)k->prm.n * k->prm.size);
    int64_t kinds = (int64_t)k->kinds.n * k->kinds.n;
    int *pair = sti_physics_new_table(b, M_KIND_PAIR, kinds);
    if (pair && kinds > 0) memcpy(pair, k->kind_pair, (size_t)kinds * sizeof *pair);
    sti_physics_put_trees(b, &k->trees, &k->kinds);
}

/*
 * Reals of team memory in which a team's rows should fit in the beginning, or as many as the solver's matrix has, if
 * that is more; and contacts that it has anyway. ROOM_MEMORY: what no team's rows exceed.
 */
enum { ROW_MEMORY = 8000, LEAST_CONTACTS = 64, ROOM_MEMORY = 1 << 22 };

/* Pairs of two trees that the list of near ones has room for, beside those that have rows: so many for each contact. */
enum { NEAR_A_CONTACT = 4 };

/* Contacts of pairs of two trees, at most `side` a pair; an int holds them. */
static int contacts_of_trees(const int *m, int side)
{
    double n = m[M_NTREE] > 0 ? (m + m[M_TREE_ADR])[m[M_NTREE]] : 0, all = side * n * (n - 1) / 2;
    return all < INT_MAX / 2 ? (int)all : INT_MAX / 2;
}

/* Contacts of the largest kind that a number of reals holds, at most as many as there can be. */
static int contacts_in(const sti_contact_sizes *z, int reals)
{
    int room = reals / z->reals;
    return room < z->most ? room : z->most;
}

/* Two for each geom that may touch another, at least 16, at most so many. */
static int usual_contacts(const int *m, int most)
{
    int room = 2 * m[M_NTOUCH] < 16 ? 16 : 2 * m[M_NTOUCH];
    return room < most ? room : most;
}

sti_contact_sizes sti_physics_contact_sizes(const int *m)
{
    sti_contact_sizes z = {.dim = 1, .entries = 1};
    int side = 0; /* of pairs of kinds */
    for (int p = 0; p < m[M_NPAIR] + m[M_NMADE]; ++p) {
        const int *pair = m + m[M_PAIR] + B_SIZE * p;
        int entries = pair[B_DIM] * pair[B_NDOF];
        if (p < m[M_NPAIR]) z.most += pair[B_SIDE];
        if (p >= m[M_NPAIR] && pair[B_SIDE] > side) side = pair[B_SIDE];
        if (pair[B_DIM] > z.dim) z.dim = pair[B_DIM];
        if (entries > z.entries) z.entries = entries;
    }
    z.most += contacts_of_trees(m, side);
    z.reals = 6 * z.dim + z.entries + 1;
    if (m[M_NOSLIP_ITERATIONS] > 0) z.reals += z.dim * m[M_NV];
    int tiles = (m[M_NV] + 3) / 4, matrix = 8 * tiles * (tiles + 1);
    int fits = contacts_in(&z, matrix > ROOM_MEMORY ? ROOM_MEMORY : matrix > ROW_MEMORY ? matrix : ROW_MEMORY);
    int least = LEAST_CONTACTS < z.most ? LEAST_CONTACTS : z.most;
    z.start = fits > least ? fits : least;
    z.usual = usual_contacts(m, z.start);
    z.limit = contacts_in(&z, ROOM_MEMORY);
    if (z.limit < z.start) z.limit = z.start;
    assert(z.most >= 0 && z.usual <= z.start && z.start <= z.most && z.reals > 0);
    return z;
}

int sti_physics_usual_memory(const int *m)
{
    sti_contact_sizes z = sti_physics_contact_sizes(m);
    int more = m[M_NSLOT] - m[M_NBLOCK] - z.usual;
    return m[M_NMEMORY] - (m[W_THIN] - m[W_H_LOW]) - (more > 0 ? more * z.reals : 0);
}

/* Room for the rows of all blocks, and for so many contacts of the largest kind. */
void sti_physics_put_room(sti_tables_builder *b, int room)
{
    const int *m = b->t->m;
    int rows = 0, entries = 0, widest = 1, n = m[M_NBLOCK], npair = m[M_NPAIR], trees = m[M_NTREE] > 0;
    if (b->result != STET_OK) return;
    sti_contact_sizes z = sti_physics_contact_sizes(m);
    for (int i = 0; i < n + npair + m[M_NMADE]; ++i) {
        const int *block = m + m[M_BLOCK] + B_SIZE * i;
        if (block[B_DIM] > widest) widest = block[B_DIM];
        rows += i < n ? block[B_DIM] : 0;
        entries += i < n ? block[B_DIM] * block[B_NDOF] : 0;
    }
    room = room < 0 ? z.start : room < z.limit ? room : z.limit;
    assert(room >= 0 && widest >= z.dim && "the widest block is no narrower than the widest contact");
    int nslot = n + room, nnear = npair + (trees ? NEAR_A_CONTACT * room : 0);
    sti_physics_fill(b, M_NROW, rows + room * z.dim);
    sti_physics_fill(b, M_BLOCKDIM, widest);
    sti_physics_fill(b, M_NEFCJ, entries + room * z.entries);
    sti_physics_fill(b, M_NSLOT, nslot);
    sti_physics_fill(b, M_HOLDS, room < z.limit);
    sti_physics_fill(b, M_NNEAR, nnear);
    int64_t made = trees ? (int64_t)B_SIZE * nnear + (int64_t)m[M_NLISTED] * nslot : 0;
    sti_physics_fill(b, M_NINTS, S_SLOTS + 7 * nslot + n + (int64_t)NEAR_SIZE * nnear + m[M_NPATTERN] + made);
}

static void put_rows(sti_tables_builder *b)
{
    making k = {.b = b, .bodies = {.size = sizeof(sti_moved_bodies)}, .prm = {.size = P_SIZE * sizeof(double)}};
    int ntouch = 0;
    if (b->result == STET_OK) b->result = begin_making(&k);
    for (int g = 0; b->result == STET_OK && g < b->model->ngeom; ++g) ntouch += k.touches[g];
    sti_physics_fill(b, M_NBLOCK, k.nblock);
    sti_physics_fill(b, M_NPAIR, k.npair);
    sti_physics_fill(b, M_NTOUCH, ntouch);
    sti_physics_fill(b, M_NTREE, k.trees.ntree);
    sti_physics_fill(b, M_NKIND, k.kinds.n);
    sti_physics_fill(b, M_NMADE, k.nmade);
    sti_physics_fill(b, M_NLISTED, k.trees.ntree > 0 ? 6 * k.chain + b->t->m[M_NWORD] : 0);
    put_block_tables(&k);
    sti_physics_put_room(b, -1);
    end_making(&k);
}

/*
 * M_EQ_DATA of an equality. Connect and weld: a point in the frame of each body, an orientation in each, torquescale.
 * Joints and tendons: five coefficients, and the two positions at which the polynomial is 0.
 */
static void fill_equality(const mjModel *m, int i, double *out)
{
    const mjtNum *data = m->eq_data + mjNEQDATA * i;
    int id[2] = {m->eq_obj1id[i], m->eq_obj2id[i]}, weld = m->eq_type[i] == mjEQ_WELD;
    out[6] = out[10] = 1;
    out[14] = weld ? data[10] : 1;
    if (m->eq_type[i] > mjEQ_WELD) {
        memcpy(out, data, 5 * sizeof *out);
        for (int k = 0; k < 2; ++k)
            out[5 + k] = id[k] < 0                     ? 0
                         : m->eq_type[i] == mjEQ_JOINT ? m->qpos0[m->jnt_qposadr[id[k]]]
                                                       : m->tendon_length0[id[k]];
        return;
    }
    for (int k = 0; k < 2; ++k) {
        bool site = m->eq_objtype[i] == mjOBJ_SITE;
        memcpy(out + 3 * k, site ? m->site_pos + 3 * id[k] : data + 3 * (weld ? 1 - k : k), 3 * sizeof *out);
        if (site && weld) memcpy(out + 6 + 4 * k, m->site_quat + 4 * id[k], 4 * sizeof *out);
    }
    if (weld && m->eq_objtype[i] != mjOBJ_SITE) memcpy(out + 6, data + 6, 4 * sizeof *out);
}

static void put_equalities(sti_tables_builder *b)
{
    double *to = sti_physics_new_parameter(b, M_EQ_DATA, 15 * b->model->neq);
    for (int i = 0; to && i < b->model->neq; ++i) {
        memset(to + 15 * (ptrdiff_t)i, 0, 15 * sizeof *to);
        fill_equality(b->model, i, to + 15 * (ptrdiff_t)i);
    }
}

void sti_physics_put_blocks(sti_tables_builder *b)
{
    put_equalities(b);
    put_rows(b);
}

/* The block of a description, with the parameters of this model. */
static sti_block described_block(const mjModel *m, const int *d)
{
    int id = d[B_ID], a = d[B_OBJ1], b = d[B_OBJ2];
    if (d[B_KIND] == PH_EQUALITY) return equality_block(m, id);
    if (d[B_KIND] == PH_FRICTION) return loss_block(m, d[B_TYPE], id);
    if (d[B_KIND] == PH_LIMIT) return limit_block(m, d[B_TYPE], id, d[B_SIDE]);
    if (id >= 0) return sti_physics_geoms_block(m, m->pair_geom1[id], m->pair_geom2[id], id);
    return sti_physics_geoms_block(m, a < b ? a : b, a < b ? b : a, -1);
}

void sti_physics_put_block_values(sti_tables_builder *b)
{
    const int *t = b->t->m, *d = t + t[M_BLOCK];
    int n = t[M_NBLOCK] + t[M_NPAIR] + t[M_NMADE];
    double *prm = sti_physics_new_parameter(b, M_BLOCK_PRM, (int64_t)P_SIZE * n);
    put_equalities(b);
    sti_physics_put_bounds(b);
    for (int i = 0; i < n; ++i, d += B_SIZE) {
        sti_block k = described_block(b->model, d);
        if (k.type == PH_GEOMS) {
            k.solref = k.ref;
            k.solimp = k.imp;
        }
        fill_parameters(b->model, &k, prm + d[B_PRM]);
    }
}
