/* Integers of a model by MuJoCo's names: which joint has which coordinates, which body a geom is on … */
#include "model/model.h"

#include "base/error.h"

#include <string.h>

/* Name, that of the array in mjModel, and how many numbers it has (`m` is the mjModel). */
#define TABLES(X)                                                                                                      \
    X(jnt_type, m->njnt)                                                                                               \
    X(jnt_qposadr, m->njnt)                                                                                            \
    X(jnt_dofadr, m->njnt)                                                                                             \
    X(jnt_bodyid, m->njnt)                                                                                             \
    X(jnt_limited, m->njnt)                                                                                            \
    X(dof_jntid, m->nv)                                                                                                \
    X(body_parentid, m->nbody)                                                                                         \
    X(body_mocapid, m->nbody)                                                                                          \
    X(geom_type, m->ngeom)                                                                                             \
    X(geom_bodyid, m->ngeom)                                                                                           \
    X(geom_matid, m->ngeom)                                                                                            \
    X(geom_dataid, m->ngeom)                                                                                           \
    X(cam_mode, m->ncam)                                                                                               \
    X(cam_bodyid, m->ncam)                                                                                             \
    X(site_bodyid, m->nsite)                                                                                           \
    X(sensor_type, m->nsensor)                                                                                         \
    X(sensor_adr, m->nsensor)                                                                                          \
    X(sensor_dim, m->nsensor)                                                                                          \
    X(actuator_ctrladr, m->nactuator)                                                                                  \
    X(actuator_ctrlnum, m->nactuator)                                                                                  \
    X(actuator_actadr, m->nactuator)                                                                                   \
    X(actuator_actnum, m->nactuator)                                                                                   \
    X(actuator_outadr, m->nactuator)                                                                                   \
    X(actuator_outnum, m->nactuator)                                                                                   \
    X(actuator_trntype, m->nactuator)                                                                                  \
    X(actuator_trnid, 2 * m->nactuator)

enum {
#define TABLE_ENUM(name, items) TABLE_##name,
    TABLES(TABLE_ENUM)
#undef TABLE_ENUM
        TABLE_COUNT
};

static const char *const names[TABLE_COUNT + 1] = {
#define NAME(name, items) #name,
    TABLES(NAME)
#undef NAME
        NULL};

const char *const *stet_model_get_tables(void) { return names; }

static int find_table(const char *name)
{
    int k = 0;
    while (k < TABLE_COUNT && strcmp(name, names[k]) != 0) ++k;
    return k;
}

int64_t stet_model_get_table_items(const stet_model *model, const char *name)
{
    if (!model || !name) return 0;
    const mjModel *m = model->mj;
    const int64_t counts[TABLE_COUNT + 1] = {
#define ITEMS(name, n) n,
        TABLES(ITEMS)
#undef ITEMS
            0};
    return counts[find_table(name)];
}

stet_result stet_model_get_table(const stet_model *model, const char *name, int32_t *values, int64_t nvalue)
{
    if (!model || !name || !values)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_get_table: model, name and values must not be NULL");
    const mjModel *m = model->mj;
    int table = find_table(name);
    int64_t items = stet_model_get_table_items(model, name);
    if (table < TABLE_COUNT && nvalue != items)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "model: %s: room for %lld numbers; there are %lld", name,
                         (long long)nvalue, (long long)items);
    switch (table) {
#define COPY(name, items)                                                                                              \
    case TABLE_##name:                                                                                                 \
        for (int64_t i = 0; i < nvalue; ++i) values[i] = (int32_t)m->name[i];                                          \
        return STET_OK;
        TABLES(COPY)
#undef COPY
    default:
#define LISTED(name, items) " " #name
        return sti_error(STET_ERROR_NOT_FOUND, "model: there is no table '%.64s'; there are:" TABLES(LISTED), name);
#undef LISTED
    }
}

stet_result stet_model_get_hfield(const stet_model *model, int index, stet_hfield *out)
{
    if (!model || !out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "model: NULL");
    const mjModel *m = model->mj;
    if (index < 0 || index >= m->nhfield)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "model: there is no height field %d; there are %d", index,
                         (int)m->nhfield);
    *out = (stet_hfield){.nrow = m->hfield_nrow[index],
                         .ncol = m->hfield_ncol[index],
                         .elevations = m->hfield_data + m->hfield_adr[index]};
    memcpy(out->size, m->hfield_size + 4 * index, sizeof out->size);
    return STET_OK;
}
