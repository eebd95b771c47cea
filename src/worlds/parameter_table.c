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
    case STI_PARAMETER_density: return &m->opt.density;
    case STI_PARAMETER_viscosity: return &m->opt.viscosity;
    case STI_PARAMETER_wind: return m->opt.wind;
#define OWN(name, items, rule, derives)                                                                                \
    case STI_PARAMETER_##name: return m->name;
        STI_PARAMETER_ARRAYS(OWN)
        STI_PARAMETER_MORE(OWN)
        STI_PARAMETER_PLACES(OWN)
#undef OWN
    default: return NULL;
    }
}

int sti_parameter_stream(sti_parameter parameter)
{
    enum { LOOKS = 1 << 12 }; /* room for arrays, whose number grows */
    const int k = (int)parameter, first = STI_PARAMETER_geom_contype, end = STI_PARAMETER_PHYSICS, later = end - first;
    const int looks = STI_PARAMETER_light_attenuation, places = STI_PARAMETER_PLACES, more = places - looks + 1;
    if (k == STI_PARAMETER_mat_rgb) return LOOKS - 1;
    if (k < first) return k;
    if (k < end) return STI_PARAMETER_COUNT - more - later + (k - first);
    if (k >= looks && k < places) return LOOKS + (k - looks);
    return k - later - (k >= places ? more : k > STI_PARAMETER_mat_rgb);
}

/*
 * Servos, as MuJoCo's shortcuts compile them: the force is kp ctrl - kp length - kv velocity, or kv ctrl - kv velocity.
 * The gain and the bias together make the set point.
 */
typedef enum servo { NO_SERVO, POSITION_SERVO, VELOCITY_SERVO } servo;

static servo servo_of(const mjModel *m, int64_t actuator)
{
    const mjtNum gain = m->actuator_gainprm[mjNGAIN * actuator], *bias = m->actuator_biasprm + mjNBIAS * actuator;
    if (m->actuator_gaintype[actuator] != mjGAIN_FIXED || m->actuator_biastype[actuator] != mjBIAS_AFFINE || gain == 0)
        return NO_SERVO;
    return bias[1] == -gain ? POSITION_SERVO : bias[1] == 0 && bias[2] == -gain ? VELOCITY_SERVO : NO_SERVO;
}

bool sti_parameter_in_servo(const mjModel *m, sti_parameter gain, int64_t actuator)
{
    const servo s = servo_of(m, actuator);
    return s == POSITION_SERVO || (s == VELOCITY_SERVO && gain == STI_PARAMETER_actuator_kv);
}

static double servo_gain(const mjModel *m, sti_parameter gain, int64_t actuator)
{
    const int item = gain == STI_PARAMETER_actuator_kp ? 1 : 2; /* 0 - …: no zero below 0 */
    return sti_parameter_in_servo(m, gain, actuator) ? 0 - m->actuator_biasprm[mjNBIAS * actuator + item] : 0;
}

void sti_parameters_put_servos(const sti_parameters *p, const mjModel *m, int64_t w, mjtNum *gainprm, mjtNum *biasprm)
{
    const sti_parameter gains[] = {STI_PARAMETER_actuator_kp, STI_PARAMETER_actuator_kv};
    for (int g = 0; g < 2; ++g)
        for (int64_t a = 0; p->given[gains[g]] && a < m->nactuator; ++a) {
            if (!sti_parameter_in_servo(m, gains[g], a)) continue;
            const double gain = p->value[gains[g]][w * m->nactuator + a];
            biasprm[mjNBIAS * a + 1 + g] = 0 - gain;
            if (g == (servo_of(m, a) == VELOCITY_SERVO)) gainprm[mjNGAIN * a] = gain;
        }
}

double sti_parameter_own_number(const mjModel *m, sti_parameter parameter, int64_t item)
{
    const double *own = sti_parameter_own(m, parameter);
    switch (parameter) {
    case STI_PARAMETER_geom_contype: return m->geom_contype[item];
    case STI_PARAMETER_geom_conaffinity: return m->geom_conaffinity[item];
    case STI_PARAMETER_geom_dataid: return m->geom_dataid[item];
    case STI_PARAMETER_geom_matid: return m->geom_matid[item];
    case STI_PARAMETER_actuator_kp:
    case STI_PARAMETER_actuator_kv: return servo_gain(m, parameter, item);
    case STI_PARAMETER_geom_rgb: return m->geom_rgba[4 * (item / 3) + item % 3];
    case STI_PARAMETER_mat_rgb: return m->mat_rgba[4 * (item / 3) + item % 3];
    case STI_PARAMETER_light_ambient: return m->light_ambient[item];
    case STI_PARAMETER_light_diffuse: return m->light_diffuse[item];
    case STI_PARAMETER_light_specular: return m->light_specular[item];
    case STI_PARAMETER_cam_fovy: return m->cam_fovy[item];
#define LOOK(name, items, rule, derives)                                                                               \
    case STI_PARAMETER_##name: return m->name[item];
        STI_PARAMETER_MORE_LOOKS(LOOK)
#undef LOOK
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
