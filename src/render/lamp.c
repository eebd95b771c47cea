/* Rows of lamps (scene.k.h), of the model's lights and of its headlight. */
#include "render/appearance.h"

#include "render/scene.k.h"

#include <math.h>

bool sti_lamp_shines(const mjModel *m, int light, bool physical)
{
    int type = m->light_type[light];
    return m->light_active[light] && type != mjLIGHT_IMAGE && (physical || type != mjLIGHT_POINT);
}

void sti_lamp_of_model(const mjModel *m, int light, double *row, int *info)
{
    const float *colours[] = {m->light_ambient, m->light_diffuse, m->light_specular, m->light_attenuation};
    for (int c = 0; c < 4; ++c)
        for (int k = 0; k < 3; ++k) row[3 * c + k] = colours[c][3 * light + k];
    double *attenuation = &row[LAMP_ATTENUATION];
    if (attenuation[0] == 0 && attenuation[1] == 0 && attenuation[2] == 0) attenuation[0] = 1;
    bool cone = m->light_type[light] == mjLIGHT_SPOT && m->light_cutoff[light] <= 90;
    row[LAMP_CUTOFF] = cone ? cos(m->light_cutoff[light] * mjPI / 180) : -2;
    row[LAMP_EXPONENT] = cone ? m->light_exponent[light] : 0;
    row[LAMP_RADIUS] = m->light_type[light] != mjLIGHT_DIRECTIONAL ? m->light_bulbradius[light] : 0;
    info[LAMP_POSITIONAL] = m->light_type[light] != mjLIGHT_DIRECTIONAL;
}

void sti_lamp_of_head(const mjModel *m, double *row, int *info)
{
    const float *colours[] = {m->vis.headlight.ambient, m->vis.headlight.diffuse, m->vis.headlight.specular};
    for (int c = 0; c < 3; ++c)
        for (int k = 0; k < 3; ++k) row[3 * c + k] = colours[c][k];
    row[LAMP_ATTENUATION] = 1;
    row[LAMP_CUTOFF] = -2;
    info[LAMP_PRIM] = -1;
    info[LAMP_POSITIONAL] = 0;
}
