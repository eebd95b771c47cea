/* Constraint blocks as tables; see blocks.h. */
#include "physics/blocks.h"

#include "base/memory.h"
#include "physics/layout.k.h"
#include "physics/pairs.h"
#include "physics/places.h"

#include <math.h>
#include <string.h>

/*
 * What a block or pair of bodies moves: body (a dof of its chain counts), joint or tendon, by the block's type. Bits: 1
 * the first, 2 the second.
 */
static int dof_sides(const mjModel *m, const sti_block *k, int dof)
{
    int sides = 0;
    for (int side = 0; side < 2; ++side) {
        int id = k->kind == PH_EQUALITY || k->type == PH_GEOMS ? k->obj[side] : side == 0 ? k->id : -1;
        if (k->type == PH_GEOMS) id = m->geom_bodyid[id];
        bool has = false;
        if (id < 0) continue;
        switch (k->type) {
        case PH_EQ_CONNECT:
        case PH_EQ_WELD:
        case PH_GEOMS:
            for (int b = id; b != 0 && !has; b = m->body_parentid[b]) has = m->dof_bodyid[dof] == b;
            break;
        case PH_EQ_JOINT:
        case PH_LIMIT_JOINT: has = m->jnt_dofadr[id] == dof; break;
        case PH_LIMIT_BALL: has = m->dof_jntid[dof] == id; break;
        case PH_LOSS_DOF: has = dof == id; break;
        default:
            for (int e = 0; e < m->ten_J_rownnz[id]; ++e) has = has || m->ten_J_colind[m->ten_J_rowadr[id] + e] == dof;
        }
        if (has) sides |= 1 << side;
    }
    return k->type == PH_GEOMS && sides == 3 ? 0 : sides; /* both bodies move alike where they touch */
}

static double clip(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* Stiffness and damping from solref, as MuJoCo has them. */
static void fill_reference(const mjModel *m, const mjtNum *solref, double high, double *K, double *B)
{
    double ref[2] = {solref[0], solref[1]};
    if ((ref[0] > 0) != (ref[1] > 0)) {
        ref[0] = 0.02;
        ref[1] = 1;
    }
    if (!(m->opt.disableflags & mjDSBL_REFSAFE) && ref[0] > 0) ref[0] = fmax(ref[0], 2 * m->opt.timestep);
    *K = ref[0] > 0 ? 1 / fmax(mjMINVAL, high * high * ref[0] * ref[0] * ref[1] * ref[1]) : -ref[0] / (high * high);
    *B = ref[1] > 0 ? 2 / fmax(mjMINVAL, high * ref[0]) : -ref[1] / high;
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
    out[P_MARGIN] = k->margin;
    out[P_DIAG] = k->diag[0];
    out[P_DIAG + 1] = k->diag[1];
    out[P_LOSS] = k->loss;
    if (k->type == PH_GEOMS) {
        out[P_REACH] = k->reach;
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

static int count_dofs(const mjModel *m, const sti_block *k)
{
    int n = 0;
    for (int d = 0; d < m->nv; ++d) n += dof_sides(m, k, d) != 0;
    return n;
}

/* Its dofs, their rows of the solver's matrix and its bits of tiles are in m, from at[0], at[1], at[2] on. */
static void fill_block(const sti_block *k, const int *m, int ndof, const int *at, int prm, int *out)
{
    int part = k->type == PH_GEOMS ? 3 * k->obj[0] + k->obj[1] : 2 * k->id + (k->side > 0);
    const int row[B_SIZE] = {
        [B_KIND] = k->kind,
        [B_TYPE] = k->type,
        [B_DIM] = k->dim,
        [B_NDOF] = ndof,
        [B_DOFS] = at[0],
        [B_PRM] = prm,
        [B_ID] = k->id,
        [B_SIDE] = k->side,
        [B_OBJ1] = k->obj[0],
        [B_OBJ2] = k->obj[1],
        [B_TILES] = at[2],
        [B_LOW] = ndof > 0 ? m[at[1] + ndof - 1] / 4 : 0,
        [B_PART] = part % PH_SUMS,
        [B_PLACES] = at[1],
    };
    memcpy(out, row, sizeof row);
}

/* Blocks and pairs as tables: their dofs, descriptions, parameters. */
static void put_block_tables(sti_tables_builder *b, const sti_block *blocks, int nblock, int npair)
{
    const mjModel *m = b->model;
    int n = nblock + npair, all = 0, k = 0;
    for (int i = 0; i < n; ++i) all += count_dofs(m, blocks + i);
    int *dof = sti_physics_new_table(b, M_BLOCK_DOFS, 2 * (int64_t)all), at = b->t->m[M_BLOCK_DOFS];
    for (int i = 0; dof && i < n; ++i)
        for (int d = 0; d < m->nv; ++d) {
            int sides = dof_sides(m, blocks + i, d);
            if (!sides) continue;
            dof[2 * k] = d;
            dof[2 * k++ + 1] = sides;
        }
    int words = b->t->m[M_NWORD];
    int *place = sti_physics_new_table(b, M_BLOCK_PLACES, all);
    for (int i = 0; place && i < all; ++i) place[i] = b->t->m[b->t->m[M_PLACE] + b->t->m[at + 2 * i]];
    sti_physics_new_table(b, M_BLOCK_TILES, (int64_t)words * n);
    int begin[] = {at, b->t->m[M_BLOCK_PLACES], b->t->m[M_BLOCK_TILES]};
    int *to = sti_physics_new_table(b, M_BLOCK, (int64_t)B_SIZE * n);
    sti_physics_fill(b, M_PAIR, b->t->m[M_BLOCK] + B_SIZE * nblock);
    for (int i = 0; to && i < n; ++i) {
        int *table = b->t->m, ndof = count_dofs(m, blocks + i);
        fill_block(blocks + i, table, ndof, begin, P_SIZE * i, to + (ptrdiff_t)B_SIZE * i);
        for (int d = 0; d < ndof; ++d) sti_physics_mark_tile(table + begin[2], table[begin[1] + d]);
        begin[0] += 2 * ndof;
        begin[1] += ndof;
        begin[2] += words;
    }
    double *prm = sti_physics_new_parameter(b, M_BLOCK_PRM, (int64_t)P_SIZE * n);
    for (int i = 0; prm && i < n; ++i) fill_parameters(m, blocks + i, prm + (ptrdiff_t)P_SIZE * i);
}

/*
 * Reals of team memory in which a team's rows should fit in the beginning, or as many as the solver's matrix has, if
 * that is more; and contacts that it has anyway. ROOM_MEMORY: what no team's rows exceed.
 */
enum { ROW_MEMORY = 8000, LEAST_CONTACTS = 64, ROOM_MEMORY = 1 << 22 };

/* Contacts of the largest kind that a number of reals holds, at most as many as there can be. */
static int contacts_in(const sti_contact_sizes *z, int reals)
{
    int room = reals / z->reals;
    return room < z->most ? room : z->most;
}

/* Two for each geom that may touch another, at least 16, at most so many. */
static int contacts_alone(const int *m, int most)
{
    int room = 0;
    for (int g = 0; g < m[M_NGEOM]; ++g) {
        bool touches = false;
        for (int p = 0; p < m[M_NPAIR] && !touches; ++p) {
            const int *pair = m + m[M_PAIR] + B_SIZE * p;
            touches = pair[B_OBJ1] == g || pair[B_OBJ2] == g;
        }
        room += touches ? 2 : 0;
    }
    room = room < 16 ? 16 : room;
    return room < most ? room : most;
}

sti_contact_sizes sti_physics_contact_sizes(const int *m)
{
    sti_contact_sizes z = {.dim = 1, .entries = 1};
    for (int p = 0; p < m[M_NPAIR]; ++p) {
        const int *pair = m + m[M_PAIR] + B_SIZE * p;
        int entries = pair[B_DIM] * pair[B_NDOF];
        z.most += pair[B_SIDE];
        if (pair[B_DIM] > z.dim) z.dim = pair[B_DIM];
        if (entries > z.entries) z.entries = entries;
    }
    z.reals = 6 * z.dim + z.entries + 1;
    int tiles = (m[M_NV] + 3) / 4, matrix = 8 * tiles * (tiles + 1);
    int fits = contacts_in(&z, ROW_MEMORY > matrix ? ROW_MEMORY : matrix);
    int least = LEAST_CONTACTS < z.most ? LEAST_CONTACTS : z.most;
    z.start = fits > least ? fits : least;
    z.alone = contacts_alone(m, z.start);
    z.limit = contacts_in(&z, ROOM_MEMORY);
    if (z.limit < z.start) z.limit = z.start;
    return z;
}

/* Room for the rows of all blocks, and for so many contacts of the largest kind. */
void sti_physics_put_room(sti_tables_builder *b, int room)
{
    const int *m = b->t->m;
    int rows = 0, entries = 0, widest = 1, n = m[M_NBLOCK], npair = m[M_NPAIR];
    if (b->result != STET_OK) return;
    sti_contact_sizes z = sti_physics_contact_sizes(m);
    for (int i = 0; i < n + npair; ++i) {
        const int *block = m + m[M_BLOCK] + B_SIZE * i;
        if (block[B_DIM] > widest) widest = block[B_DIM];
        rows += i < n ? block[B_DIM] : 0;
        entries += i < n ? block[B_DIM] * block[B_NDOF] : 0;
    }
    room = room < 0 ? z.start : room < z.limit ? room : z.limit;
    int nslot = n + room;
    sti_physics_fill(b, M_NROW, rows + room * z.dim);
    sti_physics_fill(b, M_BLOCKDIM, widest);
    sti_physics_fill(b, M_NEFCJ, entries + room * z.entries);
    sti_physics_fill(b, M_NSLOT, nslot);
    sti_physics_fill(b, M_NINTS, S_SLOTS + 7 * nslot + n + NEAR_SIZE * npair + m[M_NPATTERN]);
}

static void put_rows(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int n = list_blocks(m, NULL), npair = sti_physics_list_pairs(m, NULL), kept = 0;
    sti_block *blocks;
    if (b->result == STET_OK)
        b->result = sti_alloc(&blocks, (size_t)(n + npair + 1) * sizeof *blocks, "constraint blocks");
    if (b->result != STET_OK) return;
    list_blocks(m, blocks);
    sti_physics_list_pairs(m, blocks + n);
    for (int i = n; i < n + npair; ++i)
        if (count_dofs(m, blocks + i) > 0) blocks[n + kept++] = blocks[i];
    for (int i = n; i < n + kept; ++i) {
        blocks[i].solref = blocks[i].ref;
        blocks[i].solimp = blocks[i].imp;
    }
    sti_physics_fill(b, M_NBLOCK, n);
    sti_physics_fill(b, M_NPAIR, kept);
    put_block_tables(b, blocks, n, kept);
    sti_physics_put_room(b, -1);
    sti_free(blocks);
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
    double *prm = sti_physics_new_parameter(b, M_BLOCK_PRM, (int64_t)P_SIZE * (t[M_NBLOCK] + t[M_NPAIR]));
    put_equalities(b);
    for (int i = 0; i < t[M_NBLOCK] + t[M_NPAIR]; ++i, d += B_SIZE) {
        sti_block k = described_block(b->model, d);
        if (k.type == PH_GEOMS) {
            k.solref = k.ref;
            k.solimp = k.imp;
        }
        fill_parameters(b->model, &k, prm + d[B_PRM]);
    }
}
