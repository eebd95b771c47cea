/* Links of spatial tendons; see tendon.h. */
#include "stage/tendon.h"

#include "device/host_mirror.h"
#include "stage/table.h"
#include "stage/tendon_rows.k.h"

#include <math.h>
#include <string.h>

/* Rows while they are counted (link is NULL) or filled. */
typedef struct rows {
    const mjModel *m;
    const sti_tree *tree; /* NULL: only counting */
    int nlink, npiece, *link, *geom;
    double *look;
} rows;

static bool is_spatial(const mjModel *m, int tendon)
{
    return m->tendon_num[tendon] > 0 && m->wrap_type[m->tendon_adr[tendon]] != mjWRAP_JOINT;
}

/* The length at which a tendon is taut, if MuJoCo draws it as a catenary; else 0. */
static double limp_length(const mjModel *m, ptrdiff_t t)
{
    const mjtNum *spring = m->tendon_lengthspring + 2 * t, *range = m->tendon_range + 2 * t;
    bool gravity = !(m->opt.disableflags & mjDSBL_GRAVITY) &&
                   sqrt(m->opt.gravity[0] * m->opt.gravity[0] + m->opt.gravity[1] * m->opt.gravity[1] +
                        m->opt.gravity[2] * m->opt.gravity[2]) > mjMINVAL;
    if (!gravity || m->tendon_num[t] != 2 || m->tendon_damping[t] != 0 || m->tendon_frictionloss[t] != 0) return 0;
    for (ptrdiff_t a = 0; a < m->nu; ++a)
        if (m->actuator_trntype[a] == mjTRN_TENDON && m->actuator_trnid[2 * a] == t) return 0;
    if (m->tendon_stiffness[t] > 0) return spring[0] == 0 ? spring[1] : 0;
    return m->tendon_limited[t] && range[0] == 0 ? range[1] : 0;
}

static int count_pieces(const mjModel *m, int kind)
{
    int most = kind == TENDON_CATENARY ? TENDON_HANGING : TENDON_ARC, slices = m->vis.quality.numslices;
    int n = slices < 3 ? 3 : slices > most ? most : slices;
    return kind == TENDON_STRAIGHT ? 1 : kind == TENDON_CATENARY ? n : n + 2;
}

/* Adds the link from the path's site i to its site j; between the two there may be a geom. limp: 0, or limp_length. */
static void add_link(rows *r, int tendon, int i, int j, double limp)
{
    const mjModel *m = r->m;
    int kind = limp > 0 ? TENDON_CATENARY : TENDON_STRAIGHT, geom = j - i == 2 ? m->wrap_objid[i + 1] : -1;
    if (geom >= 0 && m->geom_size[(ptrdiff_t)3 * geom] > mjMINVAL)
        kind = m->wrap_type[i + 1] == mjWRAP_SPHERE ? TENDON_SPHERE : TENDON_CYLINDER;
    if (r->link) {
        const int *first = r->tree->first;
        int *link = r->link + (ptrdiff_t)TENDON_LINK * r->nlink, side = geom >= 0 ? (int)lrint(m->wrap_prm[i + 1]) : -1;
        double *look = r->look + (ptrdiff_t)TENDON_LOOK * r->nlink;
        link[TENDON_KIND] = kind;
        link[TENDON_FROM] = first[STET_PRIM_SITE] + m->wrap_objid[i];
        link[TENDON_TO] = first[STET_PRIM_SITE] + m->wrap_objid[j];
        link[TENDON_GEOM] = geom < 0 ? -1 : first[STET_PRIM_GEOM] + geom;
        link[TENDON_SIDE] = side < 0 ? -1 : first[STET_PRIM_SITE] + side;
        link[TENDON_FIRST] = first[STET_PRIM_TENDON] + r->npiece;
        link[TENDON_PIECES] = count_pieces(m, kind);
        r->geom[r->nlink] = geom;
        look[TENDON_WIDTH] = m->tendon_width[tendon];
        look[TENDON_RADIUS] = geom < 0 ? 0 : m->geom_size[(ptrdiff_t)3 * geom];
        look[TENDON_PER_RADIAN] = m->vis.quality.numslices / mjPI;
        look[TENDON_LENGTH] = limp;
        for (int k = 0; k < 3; ++k) look[TENDON_UP + k] = -m->opt.gravity[k];
        mju_normalize3(look + TENDON_UP);
    }
    r->nlink++;
    r->npiece += count_pieces(m, kind);
}

/* A path: sites, with a geom between two of them, and pulleys between parts. */
static void add_tendon(rows *r, int tendon)
{
    const int *type = r->m->wrap_type;
    double limp = limp_length(r->m, tendon);
    int begin = r->m->tendon_adr[tendon], end = begin + r->m->tendon_num[tendon];
    for (int i = begin; i + 1 < end;) {
        bool apart = type[i] == mjWRAP_PULLEY || type[i + 1] == mjWRAP_PULLEY;
        int j = type[i + 1] == mjWRAP_SITE || apart ? i + 1 : i + 2;
        if (!apart) add_link(r, tendon, i, j, limp);
        i = j;
    }
}

int sti_flex_pieces(const mjModel *m, int flex)
{
    return m->flex_dim[flex] == 1 && m->flex_interp[flex] == 0 ? m->flex_elemnum[flex] : 0;
}

/* The lines of a flex, a link each. */
static void add_lines(rows *r, ptrdiff_t flex)
{
    const mjModel *m = r->m;
    const int *ends = m->flex_elem + m->flex_elemdataadr[flex];
    for (int e = 0; e < sti_flex_pieces(m, (int)flex); ++e, ends += 2, ++r->nlink, ++r->npiece) {
        if (!r->link) continue;
        int *link = r->link + (ptrdiff_t)TENDON_LINK * r->nlink;
        double *look = r->look + (ptrdiff_t)TENDON_LOOK * r->nlink;
        ptrdiff_t from = m->flex_vertadr[flex] + ends[0], to = m->flex_vertadr[flex] + ends[1];
        link[TENDON_KIND] = TENDON_LINE;
        link[TENDON_FROM] = r->tree->first[STET_PRIM_BODY] + m->flex_vertbodyid[from];
        link[TENDON_TO] = r->tree->first[STET_PRIM_BODY] + m->flex_vertbodyid[to];
        link[TENDON_GEOM] = link[TENDON_SIDE] = r->geom[r->nlink] = -1;
        link[TENDON_FIRST] = r->tree->first[STET_PRIM_TENDON] + r->npiece;
        link[TENDON_PIECES] = 1;
        look[TENDON_WIDTH] = m->flex_radius[flex];
        memcpy(look + TENDON_LINE_FROM, m->flex_vert + 3 * from, 3 * sizeof *look);
        memcpy(look + TENDON_LINE_TO, m->flex_vert + 3 * to, 3 * sizeof *look);
    }
}

static void add_tendons(rows *r)
{
    r->nlink = r->npiece = 0;
    for (int t = 0; t < r->m->ntendon; ++t)
        if (is_spatial(r->m, t)) add_tendon(r, t);
    for (int f = 0; f < r->m->nflex; ++f) add_lines(r, f);
}

int sti_tendon_pieces(const mjModel *m, int tendon)
{
    rows r = {.m = m};
    if (is_spatial(m, tendon)) add_tendon(&r, tendon);
    return r.npiece;
}

stet_result sti_tendons_init(sti_tendons *tendons, stet_device *device, const sti_tree *tree)
{
    rows r = {.m = tree->model->mj, .tree = tree};
    *tendons = (sti_tendons){0};
    add_tendons(&r);
    stet_result result = sti_alloc(&r.link, ((size_t)r.nlink + 1) * TENDON_LINK * sizeof *r.link, "links of tendons");
    if (!result) result = sti_alloc(&r.look, ((size_t)r.nlink + 1) * TENDON_LOOK * sizeof *r.look, "links of tendons");
    if (!result) result = sti_alloc(&r.geom, ((size_t)r.nlink + 1) * sizeof *r.geom, "links of tendons");
    if (!result) {
        add_tendons(&r);
        result = sti_table_ints(device, "links of tendons", r.link, (int64_t)TENDON_LINK * r.nlink, &tendons->link);
    }
    if (!result)
        result = sti_table_reals(device, "numbers of links", r.look, (int64_t)TENDON_LOOK * r.nlink, &tendons->look);
    tendons->nlink = r.nlink;
    tendons->npiece = r.npiece;
    tendons->geom = r.geom;
    for (int l = 0; l < r.nlink && !result; ++l) tendons->wraps |= r.geom[l] >= 0;
    sti_free(r.link);
    sti_free(r.look);
    if (result) sti_tendons_free(tendons);
    return result;
}

stet_result sti_tendons_update(sti_tendons *tendons, const stet_worlds *worlds, bool *changed)
{
    const sti_parameters *p = &worlds->parameters;
    void *mirror;
    *changed =
        tendons->wraps && p->look_clock != tendons->clock && (tendons->radius || p->given[STI_PARAMETER_geom_size]);
    if (!*changed) return STET_OK;
    if (!tendons->radius)
        STI_TRY(STI_ARRAY(worlds->device, "radii of links", STET_DTYPE_REAL, true, &tendons->radius, worlds->nworld,
                          tendons->nlink));
    STI_TRY(sti_mirror_overwrite(tendons->radius, &mirror));
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        mjModel m = *worlds->model->mj;
        sti_parameters_point(p, &m, STI_PARAMETER_geom_size, w, &m.geom_size);
        for (int l = 0; l < tendons->nlink; ++l)
            sti_mirror_set(tendons->radius, mirror, w, l,
                           tendons->geom[l] < 0 ? 0 : m.geom_size[(ptrdiff_t)3 * tendons->geom[l]]);
    }
    sti_array_mirror_written(tendons->radius);
    tendons->clock = p->look_clock;
    return STET_OK;
}

void sti_tendons_free(sti_tendons *tendons)
{
    stet_array_destroy(tendons->radius);
    sti_free(tendons->geom);
    stet_array_destroy(tendons->link);
    stet_array_destroy(tendons->look);
    *tendons = (sti_tendons){0};
}
