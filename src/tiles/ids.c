/*
 * Ids of pixels: names, labels, colours; and arrays of ids turned into colours or classes on the device.
 *
 * Invariants:
 *   IDS-1  rows are in order of ids, without gaps: row k has the id first + k
 *   IDS-2  unless `dirty`, `lookup` on the device has the classes and colours that the rows have
 */
#include "base/memory.h"
#include "kernel/record/launch.h"
#include "render/render.h"
#include "stage/flush.h"
#include "stet/tiles.h"
#include "tiles/conversion.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

extern const sti_kernel sti_k_classify_ids, sti_k_colour_ids;
enum { SKY = -1 };

/* The numbers of an id that a lookup can give. */
typedef enum id_number { ID_COLOUR, ID_CLASS_COLOUR, ID_CLASS, ID_NUMBERS } id_number;

typedef struct id_entry {
    char name[192];
    int class_id;
} id_entry;

struct stet_id_table {
    stet_device *device;
    const stet_stage *stage; /* NULL: of a plain table */
    stet_output output;
    int first, nrow, nclass;
    id_entry *row;      /* [nrow] */
    char **class_label; /* [nclass]: of classes 1 …; owned */
    bool dirty;
    stet_array *lookup[ID_NUMBERS]; /* [nrow + 1], the last one of ids that are not in the table */
};

/* ---- colours ----------------------------------------------------------------------------------------------------- */

static uint8_t colour_byte(double x) { return (uint8_t)(x <= 0 ? 0 : x >= 1 ? 255 : x * 255 + 0.5); }

void stet_id_colour(int id, uint8_t colour[3])
{
    static const uint8_t black[3] = {0, 0, 0}, unobtrusive[3] = {74, 78, 86}; /* 0: the world body, mostly floors */
    if (!colour) return;
    if (id == SKY || id == 0) {
        memcpy(colour, id == 0 ? unobtrusive : black, 3);
        return;
    }
    /* Multiples of the golden angle give distinct hues; three steps of lightness separate later turns. */
    double hue = fmod(id * 0.6180339887498949, 1.0) * 6, light = 0.55 + 0.15 * (id / 7 % 3);
    for (int c = 0; c < 3; ++c) {
        double d = fabs(fmod(hue + 4.0 - 2.0 * c + 6.0, 6.0) - 3.0) - 1.0;
        d = d < 0 ? 0 : d > 1 ? 1 : d;
        colour[c] = colour_byte(light * (0.25 + 0.75 * d));
    }
}

static int packed_colour(int id)
{
    uint8_t c[3];
    stet_id_colour(id, c);
    return (int)((uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (id == SKY ? 0 : 0xff000000u));
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void name_object(char *out, size_t size, const mjModel *m, mjtObj type, const char *kind, int i)
{
    const char *name = mj_id2name(m, (int)type, i);
    if (name && *name)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%s %d", kind, i);
}

static void name_geom(char *out, size_t size, const mjModel *m, int geom)
{
    char kind[96] = "geom", body[80];
    name_object(body, sizeof body, m, mjOBJ_BODY, "body", m->geom_bodyid[geom]);
    snprintf(kind, sizeof kind, "%s geom", body);
    name_object(out, size, m, mjOBJ_GEOM, kind, geom);
}

/* Ids below the sky's in pictures of geoms: tendons, then flexes, then skins. */
static void name_other(char *out, size_t size, const mjModel *m, int i)
{
    if (i < (int)m->ntendon)
        name_object(out, size, m, mjOBJ_TENDON, "tendon", i);
    else if (i < (int)(m->ntendon + m->nflex))
        name_object(out, size, m, mjOBJ_FLEX, "flex", i - (int)m->ntendon);
    else
        name_object(out, size, m, mjOBJ_SKIN, "skin", i - (int)(m->ntendon + m->nflex));
}

/* Shapes that were added to the stage have ids after the geoms'. */
static void name_shape(char *out, size_t size, const stet_stage *stage, int shape)
{
    int prim = shape < stage->shapes.n ? stage->shapes.shape[shape].prim : -1;
    const char *name = prim < 0 ? "" : sti_tree_name(&stage->tree, prim);
    if (*name)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "shape %d", shape);
}

static void name_row(char *out, size_t size, const stet_stage *stage, stet_output output, int id)
{
    const mjModel *m = stage->tree.model->mj;
    static const char *const types[mjNGEOMTYPES] = {"plane",    "hfield", "sphere", "capsule", "ellipsoid",
                                                    "cylinder", "box",    "mesh",   "sdf"};
    if (id == SKY)
        snprintf(out, size, "sky");
    else if (id < SKY && output == STET_OUTPUT_SEG_GEOM)
        name_other(out, size, m, -2 - id);
    else if (id < SKY)
        snprintf(out, size, "%s", id == -2 ? "tendons" : id == -3 ? "flexes" : "skins");
    else if (output == STET_OUTPUT_SEG_GEOM && id >= (int)m->ngeom)
        name_shape(out, size, stage, id - (int)m->ngeom);
    else if (output == STET_OUTPUT_SEG_GEOM)
        name_geom(out, size, m, id);
    else if (output == STET_OUTPUT_SEG_BODY)
        name_object(out, size, m, mjOBJ_BODY, "body", id);
    else
        snprintf(out, size, "%s", types[id]);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static int default_class(int id) { return id == SKY ? SKY : 0; }

static stet_result make_rows(stet_id_table *t)
{
    static const char *const names[ID_NUMBERS] = {"colours of ids", "colours of classes", "classes of ids"};
    STI_TRY(sti_alloc(&t->row, (size_t)t->nrow * sizeof *t->row, "rows of ids"));
    for (int k = 0; k < t->nrow; ++k) {
        t->row[k].class_id = default_class(t->first + k);
        if (t->stage)
            name_row(t->row[k].name, sizeof t->row[k].name, t->stage, t->output, t->first + k);
        else
            snprintf(t->row[k].name, sizeof t->row[k].name, "%d", t->first + k);
    }
    for (int k = 0; k < ID_NUMBERS; ++k)
        STI_TRY(STI_ARRAY(t->device, names[k], STET_DTYPE_INT, false, &t->lookup[k], t->nrow + 1));
    t->dirty = true;
    return STET_OK;
}

static stet_result create_table(stet_device *device, const stet_stage *stage, stet_output output, int first, int nrow,
                                stet_id_table **out)
{
    stet_id_table *t;
    STI_TRY(sti_alloc(&t, sizeof *t, "table of ids"));
    t->device = device;
    t->stage = stage;
    t->output = output;
    t->first = first;
    t->nrow = nrow;
    stet_result result = make_rows(t);
    if (result != STET_OK) {
        stet_id_table_destroy(t);
        return result;
    }
    *out = t;
    return STET_OK;
}

stet_result stet_id_table_create(stet_stage *stage, stet_output output, stet_id_table **out)
{
    if (!stage || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_id_table_create: stage and out must not be NULL");
    *out = NULL;
    const mjModel *m = stage->tree.model->mj;
    int others = (int)(m->ntendon + m->nflex + m->nskin);
    switch ((int)output) {
    case STET_OUTPUT_SEG_GEOM:
        return create_table(stage->device, stage, output, SKY - others, (int)m->ngeom + stage->shapes.n - SKY + others,
                            out);
    case STET_OUTPUT_SEG_BODY: return create_table(stage->device, stage, output, SKY - 3, (int)m->nbody - SKY + 3, out);
    case STET_OUTPUT_SEG_TYPE: return create_table(stage->device, stage, output, SKY - 3, mjNGEOMTYPES - SKY + 3, out);
    default: break;
    }
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "stet_id_table_create: output %s has no ids; seg_geom, seg_body and seg_type have",
                     stet_output_name(output));
}

stet_result stet_id_table_create_plain(stet_device *device, int first, int nid, stet_id_table **out)
{
    if (!device || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_id_table_create_plain: device and out must not be NULL");
    *out = NULL;
    if (nid < 1 || nid > 1 << 24 || first > INT32_MAX - nid)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_id_table_create_plain: %d ids from %d on; give 1 to %d, all of them ints", nid, first,
                         1 << 24);
    return create_table(device, NULL, STET_OUTPUT_COUNT, first, nid, out);
}

void stet_id_table_destroy(stet_id_table *t)
{
    if (!t) return;
    for (int k = 0; k < ID_NUMBERS; ++k) stet_array_destroy(t->lookup[k]);
    for (int k = 0; k < t->nclass; ++k) sti_free(t->class_label[k]);
    sti_free(t->class_label);
    sti_free(t->row);
    sti_free(t);
}

int stet_id_table_get_nrow(const stet_id_table *t) { return t ? t->nrow : 0; }

stet_id_row stet_id_table_get_row(const stet_id_table *t, int row)
{
    if (!t) return (stet_id_row){.id = SKY, .class_id = SKY, .name = "", .label = ""};
    assert(row >= 0 && row < t->nrow);
    const id_entry *e = &t->row[row];
    const char *label = e->class_id > 0 ? t->class_label[e->class_id - 1] : "";
    stet_id_row out = {t->first + row, e->class_id, e->name, label, {0}, {0}};
    stet_id_colour(out.id, out.colour);
    stet_id_colour(e->class_id, out.class_colour);
    return out;
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* The class of a label; a new one if the label is. */
static stet_result find_class(stet_id_table *t, const char *label, int *out)
{
    for (int k = 0; k < t->nclass; ++k)
        if (strcmp(t->class_label[k], label) == 0) {
            *out = k + 1;
            return STET_OK;
        }
    STI_TRY(sti_realloc(&t->class_label, (size_t)(t->nclass + 1) * sizeof *t->class_label, "labels of ids"));
    STI_TRY(sti_strdup(&t->class_label[t->nclass], label));
    *out = ++t->nclass;
    return STET_OK;
}

static bool has_id(const stet_id_table *t, int id) { return id >= t->first && (int64_t)id - t->first < t->nrow; }

static void set_class(stet_id_table *t, int id, int class_id)
{
    t->row[id - t->first].class_id = class_id ? class_id : default_class(id);
    t->dirty = true;
}

stet_result stet_id_table_label(stet_id_table *t, int id, const char *label)
{
    int class_id = 0;
    if (!t) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_id_table_label: table must not be NULL");
    if (!has_id(t, id))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_id_table_label: there is no id %d; ids are %d to %d", id,
                         t->first, t->first + t->nrow - 1);
    if (label && *label) STI_TRY(find_class(t, label, &class_id));
    set_class(t, id, class_id);
    return STET_OK;
}

/* The kind of prims whose numbers the table's ids are. */
static bool kind_of(const stet_id_table *t, stet_prim_kind *kind)
{
    *kind = t->output == STET_OUTPUT_SEG_GEOM ? STET_PRIM_GEOM : STET_PRIM_BODY;
    return t->output == STET_OUTPUT_SEG_GEOM || t->output == STET_OUTPUT_SEG_BODY;
}

stet_result stet_id_table_label_prim(stet_id_table *t, int prim, const char *label)
{
    stet_prim_kind kind;
    int class_id = 0;
    if (!t) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_id_table_label_prim: table must not be NULL");
    if (!kind_of(t, &kind))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_id_table_label_prim: only tables of seg_geom and seg_body have prims; label an id");
    const sti_tree *tree = &t->stage->tree;
    STI_TRY(sti_tree_check(tree, prim, "stet_id_table_label_prim"));
    if (label && *label) STI_TRY(find_class(t, label, &class_id));
    for (int p = 0; p < tree->nmodel; ++p) {
        bool root = tree->prim[p].kind == STET_PRIM_ROOT && kind == STET_PRIM_BODY;
        if ((root || tree->prim[p].kind == kind) && sti_tree_below(tree, p, prim))
            set_class(t, root ? 0 : tree->prim[p].index, class_id);
    }
    const sti_shapes *shapes = &t->stage->shapes;
    for (int i = 0; i < shapes->n && kind == STET_PRIM_GEOM; ++i) {
        int id = (int)tree->model->mj->ngeom + i, p = shapes->shape[i].prim;
        if (p >= 0 && !shapes->shape[i].decor && has_id(t, id) && sti_tree_below(tree, p, prim))
            set_class(t, id, class_id);
    }
    return STET_OK;
}

/* ---- on the device ----------------------------------------------------------------------------------------------- */

static int number_of(const stet_id_table *t, id_number number, int id)
{
    int class_id = has_id(t, id) ? t->row[id - t->first].class_id : SKY;
    if (number == ID_CLASS) return class_id;
    return packed_colour(number == ID_CLASS_COLOUR ? class_id : has_id(t, id) ? id : SKY);
}

/* IDS-2. */
static stet_result upload_lookups(stet_id_table *t)
{
    int *values;
    if (!t->dirty) return STET_OK;
    size_t bytes = (size_t)(t->nrow + 1) * sizeof *values;
    STI_TRY(sti_alloc(&values, bytes, "numbers of ids"));
    stet_result result = STET_OK;
    for (int number = 0; number < ID_NUMBERS && result == STET_OK; ++number) {
        for (int k = 0; k <= t->nrow; ++k) values[k] = number_of(t, (id_number)number, t->first + k);
        result = stet_array_write(t->lookup[number], values, bytes);
    }
    sti_free(values);
    t->dirty = result != STET_OK;
    return result;
}

static stet_result check_numbers(const stet_id_table *t, const stet_array *a, stet_dtype dtype, const char *what,
                                 const char *call)
{
    if (a->device != t->device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array %s is on another device than the table", call,
                         a->name);
    if (a->dtype == dtype && !a->worlds) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: %s: array %s must be a plain one of %s", call, what, a->name,
                     stet_dtype_name(dtype));
}

/* Blocks of n ids. */
static stet_result count_blocks(int64_t n, const char *call, int64_t *nblock)
{
    *nblock = (n + STI_IDS_BLOCK - 1) / STI_IDS_BLOCK;
    if (*nblock <= INT32_MAX) return STET_OK;
    return sti_error(STET_ERROR_LIMIT, "%s: %lld ids are too many", call, (long long)n);
}

stet_result stet_id_table_colour(stet_id_table *t, const stet_array *ids, bool by_class, stet_array *colours)
{
    static const char call[] = "stet_id_table_colour";
    int64_t nblock;
    if (!t || !ids || !colours)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: table, ids and colours must not be NULL", call);
    STI_TRY(check_numbers(t, ids, STET_DTYPE_INT, "ids", call));
    STI_TRY(check_numbers(t, colours, STET_DTYPE_U8, "colours", call));
    int64_t n = stet_array_get_nelement(ids), channels = n ? stet_array_get_nelement(colours) / n : 0;
    if ((channels != 3 && channels != 4) || channels * n != stet_array_get_nelement(colours))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array %s must have 3 or 4 bytes for each of %lld ids", call,
                         colours->name, (long long)n);
    STI_TRY(count_blocks(n, call, &nblock));
    STI_TRY(upload_lookups(t));
    return STI_LAUNCH(sti_k_colour_ids, t->device, nblock, sti_arg_array(ids),
                      sti_arg_array(t->lookup[by_class ? ID_CLASS_COLOUR : ID_COLOUR]), sti_arg_int(t->first),
                      sti_arg_int(t->nrow), sti_arg_int(n), sti_arg_int(channels), sti_arg_array(colours));
}

stet_result stet_id_table_classify(stet_id_table *t, const stet_array *ids, stet_array *classes)
{
    static const char call[] = "stet_id_table_classify";
    int64_t nblock;
    if (!t || !ids || !classes)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: table, ids and classes must not be NULL", call);
    STI_TRY(check_numbers(t, ids, STET_DTYPE_INT, "ids", call));
    STI_TRY(check_numbers(t, classes, STET_DTYPE_INT, "classes", call));
    int64_t n = stet_array_get_nelement(ids);
    if (stet_array_get_nelement(classes) != n)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array %s must have %lld elements, as the ids", call,
                         classes->name, (long long)n);
    STI_TRY(count_blocks(n, call, &nblock));
    STI_TRY(upload_lookups(t));
    return STI_LAUNCH(sti_k_classify_ids, t->device, nblock, sti_arg_array(ids), sti_arg_array(t->lookup[ID_CLASS]),
                      sti_arg_int(t->first), sti_arg_int(t->nrow), sti_arg_int(n), sti_arg_array(classes));
}
