/* The table of parameters of the physics; see parameter.h. */
#include "worlds/parameter.h"

#include <string.h>

static const struct {
    sti_parameter_rule rule;
    bool derives;
} rows[STI_PARAMETER_COUNT] = {
#define ROW(name, items, rule, derives) {STI_RULE_##rule, derives},
    STI_PARAMETERS(ROW)
#undef ROW
};

static const char *const names[STI_PARAMETER_COUNT + 1] = {
#define NAME(name, items, rule, derives) #name,
    STI_PARAMETERS(NAME)
#undef NAME
        NULL};

const char *const *stet_worlds_get_parameters(void) { return names; }

bool sti_parameter_find(const char *name, sti_parameter *out)
{
    for (int k = 0; name && k < STI_PARAMETER_COUNT; ++k) {
        if (strcmp(name, names[k]) != 0) continue;
        *out = (sti_parameter)k;
        return true;
    }
    return false;
}

int64_t sti_parameter_items(const mjModel *m, sti_parameter parameter)
{
    const int64_t counts[STI_PARAMETER_COUNT] = {
#define ITEMS(name, items, rule, derives) (items),
        STI_PARAMETERS(ITEMS)
#undef ITEMS
    };
    return counts[parameter];
}

sti_parameter_rule sti_parameter_rule_of(sti_parameter parameter) { return rows[parameter].rule; }
bool sti_parameter_derives(sti_parameter parameter) { return rows[parameter].derives; }

const double *sti_parameter_own(const mjModel *m, sti_parameter parameter)
{
    switch (parameter) {
    case STI_PARAMETER_gravity: return m->opt.gravity;
    case STI_PARAMETER_timestep: return &m->opt.timestep;
#define OWN(name, items, rule, derives)                                                                                \
    case STI_PARAMETER_##name: return m->name;
        STI_PARAMETER_ARRAYS(OWN)
        STI_PARAMETER_PLACES(OWN)
#undef OWN
    default: return NULL;
    }
}

int sti_parameter_stream(sti_parameter parameter)
{
    const int k = (int)parameter, first = STI_PARAMETER_geom_contype, end = STI_PARAMETER_PHYSICS, later = end - first;
    return k < first ? k : k < end ? STI_PARAMETER_COUNT - later + (k - first) : k - later;
}

double sti_parameter_own_number(const mjModel *m, sti_parameter parameter, int64_t item)
{
    const double *own = sti_parameter_own(m, parameter);
    switch (parameter) {
    case STI_PARAMETER_geom_contype: return m->geom_contype[item];
    case STI_PARAMETER_geom_conaffinity: return m->geom_conaffinity[item];
    case STI_PARAMETER_geom_matid: return m->geom_matid[item];
    case STI_PARAMETER_geom_rgb: return m->geom_rgba[4 * (item / 3) + item % 3];
    case STI_PARAMETER_light_ambient: return m->light_ambient[item];
    case STI_PARAMETER_light_diffuse: return m->light_diffuse[item];
    case STI_PARAMETER_light_specular: return m->light_specular[item];
    case STI_PARAMETER_cam_fovy: return m->cam_fovy[item];
    default: return own ? own[item] : 1;
    }
}

void sti_parameters_point(const sti_parameters *p, const mjModel *m, sti_parameter which, int64_t w, mjtNum **array)
{
    if (p->given[which]) *array = p->value[which] + w * sti_parameter_items(m, which);
}

double sti_parameters_look(const sti_parameters *p, const mjModel *m, sti_parameter look, int64_t w, int64_t item)
{
    return p->given[look] ? p->value[look][w * sti_parameter_items(m, look) + item]
                          : sti_parameter_own_number(m, look, item);
}
