/* MuJoCo's plugins; see known_plugins.h. */
#include "physics/model/known_plugins.h"

#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_plugin(const mjModel *m, int instance, const char *name)
{
    const mjpPlugin *plugin = instance >= 0 ? mjp_getPluginAtSlot(m->plugin[instance]) : NULL;
    return plugin && strcmp(plugin->name, name) == 0;
}

/* The text of an attribute; "" if there is none. */
static const char *config(const mjModel *m, int instance, const char *key)
{
    const char *text = mj_getPluginConfig(m, instance, key);
    return text ? text : "";
}

static double number(const mjModel *m, int instance, const char *key) { return strtod(config(m, instance, key), NULL); }

/* ---- mujoco.pid -------------------------------------------------------------------------------------------------- */

bool sti_physics_is_plugin_pid(const mjModel *m, int i)
{
    int dyn = m->actuator_dyntype[i];
    return is_plugin(m, m->actuator_plugin[i], "mujoco.pid") && m->actuator_gaintype[i] == mjGAIN_FIXED &&
           m->actuator_biastype[i] == mjBIAS_NONE && dyn <= mjDYN_FILTEREXACT;
}

int sti_physics_count_plugin_pids(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nactuator; ++i) n += sti_physics_is_plugin_pid(m, i);
    return n;
}

bool sti_physics_plugin_integrates(const mjModel *m, int i) { return number(m, m->actuator_plugin[i], "ki") != 0; }
bool sti_physics_plugin_slews(const mjModel *m, int i) { return config(m, m->actuator_plugin[i], "slewmax")[0] != 0; }

static void put_pids(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    bool any = sti_physics_count_plugin_pids(m) > 0;
    double *to = sti_physics_new_parameter(b, M_PLUGIN_PID, any ? 5 * m->nactuator : 0);
    for (int i = 0; to && any && i < m->nactuator; ++i) {
        int instance = m->actuator_plugin[i];
        if (!sti_physics_is_plugin_pid(m, i)) continue;
        double *prm = to + (ptrdiff_t)5 * i, ki = number(m, instance, "ki");
        prm[0] = number(m, instance, "kp");
        prm[1] = ki;
        prm[2] = number(m, instance, "kd");
        prm[3] = config(m, instance, "imax")[0] && ki != 0 ? number(m, instance, "imax") / ki : -1; /* a force's */
        prm[4] = sti_physics_plugin_slews(m, i) ? number(m, instance, "slewmax") : -1;
    }
}

/* ---- mujoco.sensor.touch_grid ------------------------------------------------------------------------------------ */

/* An instance fills the first sensor that names it. */
static bool is_first(const mjModel *m, int sensor)
{
    for (int i = 0; i < m->nsensor; ++i)
        if (i != sensor && m->sensor_plugin[i] == m->sensor_plugin[sensor]) return false;
    return true;
}

bool sti_physics_is_grid(const mjModel *m, int i)
{
    return m->sensor_type[i] == mjSENS_PLUGIN && m->sensor_objtype[i] == mjOBJ_SITE && !(m->sensor_cutoff[i] > 0) &&
           is_plugin(m, m->sensor_plugin[i], "mujoco.sensor.touch_grid") && is_first(m, i);
}

int sti_physics_count_grids(const mjModel *m)
{
    int n = 0;
    bool senses = !(m->opt.disableflags & mjDSBL_SENSOR);
    for (int i = 0; i < m->nsensor && senses; ++i) n += sti_physics_is_grid(m, i);
    return n;
}

/* Edges of n cells over fov degrees to both sides: even, or with gamma narrower in the middle. */
static void fill_edges(int n, double fov, double gamma, double *edges)
{
    double x = -1, step = 2. / n;
    for (int i = 0; i <= n; ++i, x += step) edges[i] = (gamma * pow(x, 5) + (1 - gamma) * x) * (fov * mjPI / 180);
}

void sti_physics_grid(const mjModel *m, int i, int size[3], double *edges)
{
    int instance = m->sensor_plugin[i];
    char *end;
    const char *fov = config(m, instance, "fov");
    size[0] = (int)strtol(config(m, instance, "size"), &end, 10);
    size[1] = (int)strtol(end, NULL, 10);
    size[2] = m->sensor_dim[i] / (size[0] * size[1]);
    if (!edges) return;
    double gamma = number(m, instance, "gamma"), wide = strtod(fov, &end), high = strtod(end, NULL);
    fill_edges(size[0], wide, gamma, edges);
    fill_edges(size[1], high, gamma, edges + size[0] + 1);
}

static void put_edges(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int n = 0, size[3];
    for (int i = 0; i < m->nsensor && sti_physics_count_grids(m) > 0; ++i)
        if (sti_physics_is_grid(m, i)) {
            sti_physics_grid(m, i, size, NULL);
            n += size[0] + size[1] + 2;
        }
    double *edges = sti_physics_new_parameter(b, M_GRID_EDGES, n);
    for (int i = 0; edges && n > 0 && i < m->nsensor; ++i)
        if (sti_physics_is_grid(m, i)) {
            sti_physics_grid(m, i, size, edges);
            edges += size[0] + size[1] + 2;
        }
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

bool sti_physics_knows_plugins(const mjModel *m)
{
    for (int k = 0; k < m->nplugin; ++k) {
        bool known = true;
        for (int i = 0; i < m->nactuator; ++i)
            if (m->actuator_plugin[i] == k) known = known && sti_physics_is_plugin_pid(m, i);
        for (int i = 0; i < m->nsensor; ++i)
            if (m->sensor_plugin[i] == k) known = known && sti_physics_is_grid(m, i);
        bool ours = is_plugin(m, k, "mujoco.pid") || is_plugin(m, k, "mujoco.sensor.touch_grid");
        if (!ours || !known) return false;
    }
    return true;
}

void sti_physics_put_plugins(sti_tables_builder *b)
{
    put_pids(b);
    put_edges(b);
}
