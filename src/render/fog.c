/* How far the sky is, and the renderer's row of fog. */
#include "render/appearance.h"

#include "render/scene.k.h"

double sti_sky_distance(const mjModel *m) { return 0.7 * (double)m->vis.map.zfar * m->stat.extent; }

void sti_fog_row(const mjModel *m, double *row)
{
    double extent = m->stat.extent, end = (double)m->vis.map.fogend * extent;
    double thick = end - (double)m->vis.map.fogstart * extent;
    for (int k = 0; k < 3; ++k) row[FOG_RGB + k] = (double)m->vis.rgba.fog[k];
    row[FOG_END] = end;
    row[FOG_SCALE] = thick != 0 ? 1 / thick : 1;
    row[FOG_SKY] = sti_sky_distance(m);
}
