/* Frames of the model's objects; see frame.h. */
#include "stage/frame.h"

#include <math.h>

static void put_frame(const double position[3], const double matrix[9], double out[12])
{
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) out[r * 4 + c] = matrix[r * 3 + c];
        out[r * 4 + 3] = position[r];
    }
}

static void put_quat(const double position[3], const double quat[4], double out[12])
{
    double matrix[9];
    mju_quat2Mat(matrix, quat);
    put_frame(position, matrix, out);
}

/* Writes any right-handed frame whose -z axis is the direction; x is along the world axis that is farthest from it. */
static void put_direction(const double position[3], const double direction[3], double out[12])
{
    double z[3], x[3], y[3], matrix[9];
    mju_scl3(z, direction, -1);
    mju_normalize3(z);
    int far = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(z[i]) < fabs(z[far])) far = i;
    for (int i = 0; i < 3; i++) x[i] = (i == far) - z[i] * z[far];
    mju_normalize3(x);
    mju_cross(y, z, x);
    for (size_t i = 0; i < 3; i++) {
        matrix[i * 3] = x[i];
        matrix[i * 3 + 1] = y[i];
        matrix[i * 3 + 2] = z[i];
    }
    put_frame(position, matrix, out);
}

void sti_frame_local(const mjModel *m, stet_prim_kind kind, int index, double out[12])
{
    size_t i = (size_t)index;
    if (kind == STET_PRIM_BODY)
        put_quat(m->body_pos + 3 * i, m->body_quat + 4 * i, out);
    else if (kind == STET_PRIM_GEOM)
        put_quat(m->geom_pos + 3 * i, m->geom_quat + 4 * i, out);
    else if (kind == STET_PRIM_SITE)
        put_quat(m->site_pos + 3 * i, m->site_quat + 4 * i, out);
    else if (kind == STET_PRIM_CAMERA)
        put_quat(m->cam_pos + 3 * i, m->cam_quat + 4 * i, out);
    else if (kind == STET_PRIM_TENDON)
        put_frame((double[3]){0}, (double[9]){0}, out);
    else
        put_direction(m->light_pos + 3 * i, m->light_dir + 3 * i, out);
}

void sti_frame_track(const mjModel *m, stet_prim_kind kind, int index, double out[12])
{
    size_t i = (size_t)index;
    if (kind == STET_PRIM_CAMERA) {
        bool com = m->cam_mode[i] == mjCAMLIGHT_TRACKCOM;
        put_frame((com ? m->cam_poscom0 : m->cam_pos0) + 3 * i, m->cam_mat0 + 9 * i, out);
    } else {
        bool com = m->light_mode[i] == mjCAMLIGHT_TRACKCOM;
        put_direction((com ? m->light_poscom0 : m->light_pos0) + 3 * i, m->light_dir0 + 3 * i, out);
    }
}
