/*
 * What kernels rely on in the tables of a model: indices are those of something, lists of lists ascend, types are
 * known. A kernel has no bounds, so a table that breaks this is found here, where it is made, and not by what a step
 * does.
 */
#include "physics/model/validate.h"

#ifndef NDEBUG

#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"

static const int *table(const sti_physics_tables *t, int number) { return t->m + t->m[number]; }

/* Whether the n numbers of a table are from `least` to `end`, which is not one. */
static bool within(const sti_physics_tables *t, int number, int n, int least, int end)
{
    const int *x = table(t, number);
    for (int i = 0; i < n; ++i)
        if (x[i] < least || x[i] >= end) return false;
    return true;
}

/* Whether a table has n + 1 places that ascend from 0 on, at most to `most`. */
static bool ascends(const sti_physics_tables *t, int number, int n, int most)
{
    const int *x = table(t, number);
    for (int i = 0; i < n; ++i)
        if (x[i + 1] < x[i]) return false;
    return x[0] == 0 && x[n] <= most;
}

/* Whether each of n runs, `first` and `count`, is among `most`; one of none may begin anywhere. */
static bool runs(const sti_physics_tables *t, int first, int count, int n, int most)
{
    const int *at = table(t, first), *of = table(t, count);
    for (int i = 0; i < n; ++i)
        if (of[i] < 0 || (of[i] > 0 && (at[i] < 0 || at[i] + of[i] > most))) return false;
    return true;
}

static void validate_tree(const sti_physics_tables *t)
{
    const int nbody = t->m[M_NBODY], *parent = table(t, M_BODY_PARENTID), *root = table(t, M_BODY_ROOTID);
    assert(nbody >= 1 && parent[0] == 0 && root[0] == 0 && "body 0 is the world");
    for (int b = 1; b < nbody; ++b) {
        assert(parent[b] >= 0 && parent[b] < b && "parents come first");
        assert(root[b] == (parent[b] == 0 ? b : root[parent[b]]) && "a tree has one root");
    }
    assert(runs(t, M_BODY_JNTADR, M_BODY_JNTNUM, nbody, t->m[M_NJNT]) && "joints of bodies");
    assert(runs(t, M_BODY_DOFADR, M_BODY_DOFNUM, nbody, t->m[M_NV]) && "dofs of bodies");
    assert(within(t, M_BODY_MOCAPID, nbody, -1, t->m[M_NMOCAP]) && "mocap bodies");
    assert(within(t, M_BODY_SAMEFRAME, nbody, 0, mjSAMEFRAME_INERTIAROT + 1) && "frames of bodies");
    assert(ascends(t, M_LEVEL_ADR, t->m[M_NLEVEL], nbody) && "levels of bodies");
    assert(within(t, M_LEVEL_BODY, table(t, M_LEVEL_ADR)[t->m[M_NLEVEL]], 1, nbody) && "bodies of levels");
    assert(ascends(t, M_CHILD_ADR, nbody, nbody) && "children of bodies");
    assert(within(t, M_CHILD, table(t, M_CHILD_ADR)[nbody], 0, nbody) && "children are bodies");
}

static void validate_dofs(const sti_physics_tables *t)
{
    const int njnt = t->m[M_NJNT], nv = t->m[M_NV], *nnz = table(t, M_M_ROWNNZ), *row = table(t, M_M_ROWADR);
    const int *column = table(t, M_M_COLIND);
    assert(within(t, M_JNT_TYPE, njnt, mjJNT_FREE, mjJNT_HINGE + 1) && "types of joints");
    assert(within(t, M_JNT_QPOSADR, njnt, 0, t->m[M_NQ]) && "places of joints in qpos");
    assert(within(t, M_JNT_DOFADR, njnt, 0, nv) && "dofs of joints");
    assert(within(t, M_JNT_BODYID, njnt, 1, t->m[M_NBODY]) && "bodies of joints");
    assert(within(t, M_DOF_BODYID, nv, 1, t->m[M_NBODY]) && "bodies of dofs");
    assert(within(t, M_DOF_JNTID, nv, 0, njnt) && "joints of dofs");
    for (int i = 0; i < nv; ++i) {
        assert(nnz[i] >= 1 && row[i] >= 0 && row[i] + nnz[i] <= t->m[M_NC] && "a row of qM");
        assert(column[row[i] + nnz[i] - 1] == i && "the diagonal of qM is the last entry of its row");
        for (int k = 1; k < nnz[i]; ++k) assert(column[row[i] + k - 1] < column[row[i] + k] && "columns of qM ascend");
    }
    assert(ascends(t, M_DOFLEVEL_ADR, t->m[M_NDOFLEVEL], nv) && "levels of dofs");
    assert(within(t, M_DOFLEVEL, table(t, M_DOFLEVEL_ADR)[t->m[M_NDOFLEVEL]], 0, nv) && "dofs of levels");
    assert(ascends(t, M_BELOW_ADR, nv, t->m[M_NC]) && "dofs below dofs");
    assert(within(t, M_BELOW_ROW, table(t, M_BELOW_ADR)[nv], 0, nv) && "rows below");
    assert(within(t, M_BELOW_ENTRY, table(t, M_BELOW_ADR)[nv], 0, t->m[M_NC]) && "entries of qM below");
}

static void validate_tendons(const sti_physics_tables *t)
{
    const int ntendon = t->m[M_NTENDON], entries = t->m[M_NTENJ];
    assert(ascends(t, M_TEN_J_ROWADR, ntendon, entries) && "rows of ten_J");
    assert(within(t, M_TEN_J_COLIND, table(t, M_TEN_J_ROWADR)[ntendon], 0, t->m[M_NV]) && "dofs of tendons");
    assert(ascends(t, M_DOF_TEN_ADR, t->m[M_NV], entries) && "tendons of dofs");
    assert(ascends(t, M_TEN_ACT_ADR, ntendon, t->m[M_NOUT]) && "outputs that pull tendons");
    assert(ascends(t, M_TEN_LINK_ADR, ntendon, t->m[M_NLINK]) && "links of tendons");
}

static void validate_actuators(const sti_physics_tables *t)
{
    const int n = t->m[M_NACTUATOR], nout = t->m[M_NOUT];
    assert(within(t, M_ACT_TRNTYPE, n, mjTRN_JOINT, mjTRN_UNDEFINED) && "transmissions");
    assert(within(t, M_ACT_ACTADR, n, -1, t->m[M_NA]) && "activations of actuators");
    assert(within(t, M_ACT_OUTADR, n, 0, nout) && "outputs of actuators");
    assert(runs(t, M_ACT_CTRLADR, M_ACT_CTRLNUM, n, t->m[M_NU]) && "controls of actuators");
    assert(ascends(t, M_MOMENT_ROWADR, nout, t->m[M_NMOMENT]) && "rows of moments");
    assert(within(t, M_MOMENT_COLIND, table(t, M_MOMENT_ROWADR)[nout], 0, t->m[M_NV]) && "dofs of outputs");
    assert(ascends(t, M_DOF_ACT_ADR, t->m[M_NV], t->m[M_NMOMENT]) && "outputs of dofs");
}

/* Blocks, then pairs of geoms, then those of kinds: their dofs are in the tables. */
static void validate_blocks(const sti_physics_tables *t)
{
    const int listed = t->m[M_NBLOCK] + t->m[M_NPAIR];
    for (int i = 0; i < listed + t->m[M_NMADE]; ++i) {
        const int *block = table(t, M_BLOCK) + (ptrdiff_t)B_SIZE * i;
        assert(block[B_DIM] >= 1 && block[B_DIM] <= t->m[M_BLOCKDIM] && "rows of a block");
        assert(block[B_NDOF] >= 0 && block[B_NDOF] <= 2 * t->m[M_NV] && "dofs of a block");
        for (int d = 0; i < listed && d < block[B_NDOF]; ++d) {
            const int dof = block[block[B_DOFS] + 2 * d];
            assert(dof >= 0 && dof < t->m[M_NV]);
        }
    }
}

/* Controls, then sensors, that are kept. */
static void validate_past(const sti_physics_tables *t)
{
    const int n = t->m[M_NPAST], all = n + t->m[M_NPASTSENSOR];
    for (int i = 0; i < all; ++i) {
        const int *row = table(t, M_PAST) + (ptrdiff_t)PA_SIZE * i;
        assert(row[PA_FROM] >= 0 && row[PA_FROM] + row[PA_DIM] <= (i < n ? t->m[M_NU] : t->m[M_NSENSORDATA]));
        assert(row[PA_N] > 0 && row[PA_AT] >= 0 && row[PA_INTERP] >= 0);
    }
}

static void validate_shapes(const sti_physics_tables *t)
{
    const int ngeom = t->m[M_NGEOM], nsite = t->m[M_NSITE];
    assert(within(t, M_GEOM_BODYID, ngeom, 0, t->m[M_NBODY]) && "bodies of geoms");
    assert(within(t, M_GEOM_TYPE, ngeom, mjGEOM_PLANE, mjNGEOMTYPES) && "types of geoms");
    assert(within(t, M_GEOM_SAMEFRAME, ngeom, 0, mjSAMEFRAME_INERTIAROT + 1) && "frames of geoms");
    assert(within(t, M_SITE_BODYID, nsite, 0, t->m[M_NBODY]) && "bodies of sites");
    assert(within(t, M_SITE_TYPE, nsite, mjGEOM_PLANE, mjNGEOMTYPES) && "types of sites");
    assert(within(t, M_RAY_GEOM, t->m[M_NRAYGEOM], 0, ngeom) && "geoms that rays may hit");
    assert(t->m[M_STEP_NGEOM] == 0 || t->m[M_STEP_NGEOM] == ngeom);
    assert(t->m[M_STEP_NSITE] == 0 || t->m[M_STEP_NSITE] == nsite);
    assert(t->m[M_NPAIR] >= 0 && t->m[M_NBLOCK] >= 0 && t->m[M_NGROUP] >= 0);
    assert(t->m[M_NSLOT] >= 0 && t->m[M_NROW] >= 0 && t->m[M_NEFCJ] >= 0 && t->m[M_BLOCKDIM] >= 0);
}

void sti_validate_kernel_tables(const sti_physics_tables *t)
{
    static const int counts[] = {M_NQ,     M_NV,      M_NU,        M_NA,      M_NBODY,     M_NJNT,   M_NGEOM, M_NSITE,
                                 M_NMOCAP, M_NC,      M_NEQ,       M_NTENDON, M_NACTUATOR, M_NOUT,   M_NTENJ, M_NLINK,
                                 M_NLEVEL, M_NSENSOR, M_NDOFLEVEL, M_NMOMENT, M_NRAYGEOM,  M_NMEMORY};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) assert(t->m[counts[i]] >= 0 && "a count");
    assert(t->m[M_NQ] >= t->m[M_NV] && t->m[M_NOUT] >= t->m[M_NACTUATOR]);
    assert(t->m[M_NMEMORY_ALL] >= t->m[M_NMEMORY] && "stage after has its memory behind that of a step");
    validate_tree(t);
    validate_dofs(t);
    validate_tendons(t);
    validate_actuators(t);
    validate_blocks(t);
    validate_past(t);
    validate_shapes(t);
}

#endif
