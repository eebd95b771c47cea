/* Names of a model's objects, and the objects of names. A name that is not there is answered with the nearest one. */
#include "model/model.h"

#include "base/error.h"
#include "base/near.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_SHOWN = 8 };

/* All kinds of named objects: the noun, its count in mjModel and the offsets of the names. */
#define KINDS(X)                                                                                                       \
    X(STET_OBJECT_BODY, "body", nbody, name_bodyadr)                                                                   \
    X(STET_OBJECT_JOINT, "joint", njnt, name_jntadr)                                                                   \
    X(STET_OBJECT_GEOM, "geom", ngeom, name_geomadr)                                                                   \
    X(STET_OBJECT_SITE, "site", nsite, name_siteadr)                                                                   \
    X(STET_OBJECT_CAMERA, "camera", ncam, name_camadr)                                                                 \
    X(STET_OBJECT_LIGHT, "light", nlight, name_lightadr)                                                               \
    X(STET_OBJECT_ACTUATOR, "actuator", nactuator, name_actuatoradr)                                                   \
    X(STET_OBJECT_SENSOR, "sensor", nsensor, name_sensoradr)                                                           \
    X(STET_OBJECT_KEYFRAME, "keyframe", nkey, name_keyadr)                                                             \
    X(STET_OBJECT_TENDON, "tendon", ntendon, name_tendonadr)                                                           \
    X(STET_OBJECT_EQUALITY, "equality", neq, name_eqadr)                                                               \
    X(STET_OBJECT_MESH, "mesh", nmesh, name_meshadr)                                                                   \
    X(STET_OBJECT_HFIELD, "hfield", nhfield, name_hfieldadr)                                                           \
    X(STET_OBJECT_MATERIAL, "material", nmat, name_matadr)                                                             \
    X(STET_OBJECT_TEXTURE, "texture", ntex, name_texadr)

typedef struct names {
    const char *noun; /* NULL: there is no such kind */
    int64_t count;
    const int *offset;
} names;

static names names_of(const mjModel *m, stet_object kind)
{
    switch (kind) {
#define CASE(value, text, n, adr)                                                                                      \
    case value: return (names){text, (int64_t)m->n, m->adr};
        KINDS(CASE)
#undef CASE
    }
    return (names){0};
}

int stet_model_get_object_count(const stet_model *model, stet_object kind)
{
    return model ? (int)names_of(model->mj, kind).count : 0;
}

const char *stet_model_get_object_name(const stet_model *model, stet_object kind, int index)
{
    if (!model) return NULL;
    names n = names_of(model->mj, kind);
    return n.noun && index >= 0 && index < n.count ? model->mj->names + n.offset[index] : NULL;
}

/* "none of its 3 has a name", "did you mean main?" or "it has: main, top and 3 more". */
static void list_names(const mjModel *m, const names *n, const char *wanted, char *text, size_t size)
{
    size_t used = 0;
    int64_t shown = 0, named = 0;
    sti_near near = sti_near_begin(wanted);
    text[0] = 0;
    for (int64_t i = 0; i < n->count; ++i) {
        const char *name = m->names + n->offset[i];
        if (!name[0]) continue;
        ++named;
        sti_near_offer(&near, name);
        if (shown >= NAMES_SHOWN || used + strlen(name) + 48 > size) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", shown++ ? ", " : "it has: ", name);
    }
    if (named == 0)
        (void)snprintf(text, size, "none of its %lld has a name", (long long)n->count);
    else if (near.nearest)
        (void)snprintf(text, size, "did you mean %.300s?", near.nearest);
    else if (shown == 0)
        (void)snprintf(text, size, "it has %lld, with long names", (long long)named);
    else if (named > shown)
        (void)snprintf(text + used, size - used, " and %lld more", (long long)(named - shown));
}

stet_result stet_model_find(const stet_model *model, stet_object kind, const char *name, int *out)
{
    if (!model) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_find: model must not be NULL");
    const mjModel *m = model->mj;
    names n = names_of(m, kind);
    if (!n.noun)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_find: %d is no kind of object; give a stet_object",
                         (int)kind);
    if (!name || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_model_find: %s is NULL; give both a name and a place for the index",
                         name ? "out" : "name");
    for (int i = 0; name[0] && i < n.count; ++i)
        if (strcmp(m->names + n.offset[i], name) == 0) {
            *out = i;
            return STET_OK;
        }
    char text[400];
    list_names(m, &n, name, text, sizeof text);
    if (n.count == 0) return sti_error(STET_ERROR_NOT_FOUND, "%s %s: the model has no %s at all", n.noun, name, n.noun);
    return sti_error(STET_ERROR_NOT_FOUND, "%s %s: the model has none of this name; %s", n.noun, name, text);
}
