/* Sensors as tables; see sensors.h. */
#include "physics/sensors/sensors.h"

#include "base/memory.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/model/known_plugins.h"
#include "physics/sensors/ray_shapes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

_Static_assert(PH_BODY == mjOBJ_BODY && PH_XBODY == mjOBJ_XBODY && PH_GEOM == mjOBJ_GEOM && PH_SITE == mjOBJ_SITE &&
                   PH_CAMERA == mjOBJ_CAMERA,
               "kernels know MuJoCo's kinds of objects");

/*
 * What each sensor is for kernels: kind, quantity in team memory, and how many numbers an object has there. The items
 * of joints are those of qpos or of their dofs. Without a quantity or an object the last number is SN_ITEM itself.
 */
static const struct {
    int type, kind, from, items;
} kinds[] = {
    {mjSENS_TOUCH, PH_SENSE_TOUCH, 0, 0},
    {mjSENS_VELOCIMETER, PH_SENSE_LINVEL, 0, 1},
    {mjSENS_GYRO, PH_SENSE_ANGVEL, 0, 1},
    {mjSENS_MAGNETOMETER, PH_SENSE_MAGNETOMETER, 0, 0},
    {mjSENS_CAMPROJECTION, PH_SENSE_PROJECTION, 0, 0},
    {mjSENS_RANGEFINDER, PH_SENSE_RANGEFINDER, 0, 0}, /* on a camera: PH_SENSE_CAMERARANGE */
    {mjSENS_JOINTPOS, PH_SENSE_COPY, W_QPOS, 1},
    {mjSENS_JOINTVEL, PH_SENSE_COPY, W_QVEL, 1},
    {mjSENS_TENDONPOS, PH_SENSE_COPY, W_TEN_LENGTH, 1},
    {mjSENS_TENDONVEL, PH_SENSE_COPY, W_TEN_VELOCITY, 1},
    {mjSENS_ACTUATORPOS, PH_SENSE_COPY, W_ACTUATOR_LENGTH, 1},
    {mjSENS_ACTUATORVEL, PH_SENSE_COPY, W_ACTUATOR_VELOCITY, 1},
    {mjSENS_ACTUATORFRC, PH_SENSE_COPY, W_ACTUATOR_FORCE, 1},
    {mjSENS_JOINTACTFRC, PH_SENSE_COPY, W_QFRC_ACTUATOR, 1},
    {mjSENS_TENDONACTFRC, PH_SENSE_TENDONFORCE, W_TEN_LENGTH, 1},
    {mjSENS_BALLQUAT, PH_SENSE_BALLQUAT, W_QPOS, 1},
    {mjSENS_BALLANGVEL, PH_SENSE_COPY, W_QVEL, 1},
    {mjSENS_JOINTLIMITPOS, PH_SENSE_LIMITPOS, W_QVEL, 1},
    {mjSENS_JOINTLIMITVEL, PH_SENSE_LIMITVEL, W_QVEL, 1},
    {mjSENS_JOINTLIMITFRC, PH_SENSE_LIMITFORCE, W_QVEL, 1},
    {mjSENS_TENDONLIMITPOS, PH_SENSE_LIMITPOS, W_TEN_VELOCITY, 1},
    {mjSENS_TENDONLIMITVEL, PH_SENSE_LIMITVEL, W_TEN_VELOCITY, 1},
    {mjSENS_TENDONLIMITFRC, PH_SENSE_LIMITFORCE, W_TEN_VELOCITY, 1},
    {mjSENS_FRAMEPOS, PH_SENSE_POS, 0, 0},
    {mjSENS_FRAMEQUAT, PH_SENSE_QUAT, 0, 0},
    {mjSENS_FRAMEXAXIS, PH_SENSE_AXIS, 0, 0},
    {mjSENS_FRAMEYAXIS, PH_SENSE_AXIS, 0, 1},
    {mjSENS_FRAMEZAXIS, PH_SENSE_AXIS, 0, 2},
    {mjSENS_FRAMELINVEL, PH_SENSE_LINVEL, 0, 0},
    {mjSENS_FRAMEANGVEL, PH_SENSE_ANGVEL, 0, 0},
    {mjSENS_SUBTREECOM, PH_SENSE_COPY, W_SUBTREE_COM, 3},
    {mjSENS_INSIDESITE, PH_SENSE_INSIDE, 0, 0},
    {mjSENS_USER, PH_SENSE_NOTHING, 0, 0}, /* as without a callback */
    {mjSENS_CLOCK, PH_SENSE_COPY, W_TIME, 0},
    {mjSENS_PLUGIN, PH_SENSE_GRID, 0, 0},
    {mjSENS_ACCELEROMETER, PH_SENSE_LINACC, 0, 1},
    {mjSENS_FRAMELINACC, PH_SENSE_LINACC, 0, 0},
    {mjSENS_FRAMEANGACC, PH_SENSE_ANGACC, 0, 0},
    {mjSENS_FORCE, PH_SENSE_FORCE, 0, 0},
    {mjSENS_TORQUE, PH_SENSE_TORQUE, 0, 0},
    {mjSENS_SUBTREELINVEL, PH_SENSE_COPY, W_SUBTREE_LINVEL, 3},
    {mjSENS_SUBTREEANGMOM, PH_SENSE_COPY, W_SUBTREE_ANGMOM, 3},
    {mjSENS_E_POTENTIAL, PH_SENSE_COPY, W_ENERGY, 0},
    {mjSENS_E_KINETIC, PH_SENSE_COPY, W_ENERGY, 1},
    {mjSENS_CONTACT, PH_SENSE_CONTACT, 0, 0},
    {mjSENS_GEOMDIST, PH_SENSE_DISTANCE, 0, 0},
    {mjSENS_GEOMNORMAL, PH_SENSE_DISTANCE, 0, 1},
    {mjSENS_GEOMFROMTO, PH_SENSE_DISTANCE, 0, 2},
};

/* The place of a type in `kinds`; -1: none. */
static int find_kind(int type)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        if (kinds[k].type == type) return (int)k;
    return -1;
}

static bool senses(const mjModel *m, mjtObj object)
{
    for (int i = 0; i < m->nsensor && sti_physics_has_sensors(m); ++i)
        if (m->sensor_objtype[i] == (int)object || m->sensor_reftype[i] == (int)object) return true;
    return false;
}

static bool has_type(const mjModel *m, mjtSensor type)
{
    for (int i = 0; i < m->nsensor && sti_physics_has_sensors(m); ++i)
        if (m->sensor_type[i] == (int)type) return true;
    return false;
}

int sti_physics_sensing(const mjModel *m)
{
    static const mjtSensor forces[] = {mjSENS_ACCELEROMETER, mjSENS_FRAMELINACC, mjSENS_FRAMEANGACC, mjSENS_FORCE,
                                       mjSENS_TORQUE};
    int extra = sti_physics_has_sensors(m) ? PH_EXTRA_SENSORS : 0;
    for (size_t k = 0; k < sizeof forces / sizeof *forces; ++k)
        if (has_type(m, forces[k])) extra |= PH_EXTRA_FORCES;
    if (has_type(m, mjSENS_SUBTREELINVEL) || has_type(m, mjSENS_SUBTREEANGMOM)) extra |= PH_EXTRA_MOMENTA;
    if (has_type(m, mjSENS_E_POTENTIAL) || has_type(m, mjSENS_E_KINETIC)) extra |= PH_EXTRA_ENERGY;
    if (sti_physics_has_contact_sensors(m)) extra |= PH_EXTRA_CONTACTS;
    return extra;
}

bool sti_physics_has_contact_sensors(const mjModel *m)
{
    return has_type(m, mjSENS_CONTACT) || sti_physics_count_grids(m) > 0;
}

int sti_physics_needs_time(const mjModel *m)
{
    for (int i = 0; i < m->nactuator; ++i)
        if (sti_physics_is_plugin_pid(m, i) && sti_physics_plugin_slews(m, i)) return 1;
    return has_type(m, mjSENS_CLOCK);
}

bool sti_physics_senses_sites(const mjModel *m) { return senses(m, mjOBJ_SITE); }
bool sti_physics_has_distances(const mjModel *m)
{
    return has_type(m, mjSENS_GEOMDIST) || has_type(m, mjSENS_GEOMNORMAL) || has_type(m, mjSENS_GEOMFROMTO);
}

bool sti_physics_senses_geoms(const mjModel *m)
{
    return senses(m, mjOBJ_GEOM) || has_type(m, mjSENS_RANGEFINDER) || sti_physics_has_distances(m);
}

bool sti_physics_measures(const mjModel *m, int g)
{
    for (int i = 0; i < m->nsensor && sti_physics_has_sensors(m); ++i) {
        if (m->sensor_type[i] < mjSENS_GEOMDIST || m->sensor_type[i] > mjSENS_GEOMFROMTO) continue;
        if (m->sensor_objid[i] == (m->sensor_objtype[i] == mjOBJ_GEOM ? g : m->geom_bodyid[g])) return true;
        if (m->sensor_refid[i] == (m->sensor_reftype[i] == mjOBJ_GEOM ? g : m->geom_bodyid[g])) return true;
    }
    return false;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The three ints of an object, or of a reference frame. */
static void fill_object(const mjModel *m, int type, int id, int *out)
{
    bool frame = id >= 0 && (type == mjOBJ_BODY || type == mjOBJ_XBODY || type == mjOBJ_GEOM || type == mjOBJ_SITE ||
                             type == mjOBJ_CAMERA);
    out[0] = frame ? type : -1;
    out[1] = id;
    out[2] = !frame                 ? -1
             : type == mjOBJ_GEOM   ? m->geom_bodyid[id]
             : type == mjOBJ_SITE   ? m->site_bodyid[id]
             : type == mjOBJ_CAMERA ? m->cam_bodyid[id]
                                    : id;
}

/* The blocks of the limits of a joint or tendon. */
static void fill_limits(const sti_physics_tables *t, bool tendon, int id, int *row)
{
    for (int b = t->m[M_NBLOCK] - 1; b >= 0; --b) {
        const int *block = t->m + t->m[M_BLOCK] + (ptrdiff_t)B_SIZE * b;
        bool limit = tendon ? block[B_TYPE] == PH_LIMIT_TENDON
                            : block[B_TYPE] == PH_LIMIT_JOINT || block[B_TYPE] == PH_LIMIT_BALL;
        if (!limit || block[B_ID] != id) continue;
        row[SN_BLOCK] = b;
        row[SN_NBLOCK]++;
    }
}

/* What a contact sensor has instead, see contact_sensor.k.h. */
static void fill_contact(const mjModel *m, int i, int *row)
{
    row[SN_ITEM] = m->sensor_intprm[mjNSENS * i];
    row[SN_FROM] = m->sensor_intprm[mjNSENS * i + 1];
    row[SN_NBLOCK] = m->sensor_intprm[mjNSENS * i + 2];
    assert(row[SN_NBLOCK] > 0 && row[SN_DIM] % row[SN_NBLOCK] == 0 && "a sensor has slots of one size");
    row[SN_BLOCK] = row[SN_DIM] / row[SN_NBLOCK];
}

/* What a grid of touch has instead, see touch_grid.k.h; `edges`: where its edges begin. */
static void fill_grid(const mjModel *m, int i, int edges, int *row)
{
    int size[3];
    sti_physics_grid(m, i, size, NULL);
    assert(size[0] > 0 && size[1] > 0 && edges >= 0);
    row[SN_REF] = m->body_weldid[m->site_bodyid[m->sensor_objid[i]]];
    row[SN_FROM] = edges;
    row[SN_BLOCK] = size[0];
    row[SN_NBLOCK] = size[1];
    row[SN_ITEM] = size[2];
}

/* How many edges grids before sensor i have. */
static int count_edges(const mjModel *m, int sensor)
{
    int n = 0, size[3];
    for (int i = 0; i < sensor; ++i)
        if (sti_physics_is_grid(m, i)) {
            sti_physics_grid(m, i, size, NULL);
            n += size[0] + size[1] + 2;
        }
    return n;
}

/* The geoms of one side: the first, and how many there are. */
static void fill_geoms(const mjModel *m, int type, int id, int *out)
{
    out[0] = type == mjOBJ_GEOM ? id : m->body_geomadr[id];
    out[1] = type == mjOBJ_GEOM ? 1 : m->body_geomnum[id];
}

static bool has_own_cutoff(int type) { return type == mjSENS_CONTACT || type == mjSENS_GEOMFROMTO; }

static int cut_of(const mjModel *m, int i)
{
    if (!(m->sensor_cutoff[i] > 0) || has_own_cutoff(m->sensor_type[i])) return 0;
    return m->sensor_datatype[i] == mjDATATYPE_REAL ? 1 : m->sensor_datatype[i] == mjDATATYPE_POSITIVE ? 2 : 0;
}

static bool is_camera_range(const mjModel *m, int i)
{
    return m->sensor_type[i] == mjSENS_RANGEFINDER && m->sensor_objtype[i] == mjOBJ_CAMERA;
}

static void fill_sensor(const mjModel *m, const sti_physics_tables *t, int i, int *row)
{
    int k = find_kind(m->sensor_type[i]), id = m->sensor_objid[i], object = m->sensor_objtype[i];
    assert(k >= 0); /* features.c */
    memset(row, 0, SN_SIZE * sizeof *row);
    row[SN_KIND] = kinds[k].kind;
    row[SN_ADR] = m->sensor_adr[i];
    row[SN_DIM] = m->sensor_dim[i];
    row[SN_CUT] = cut_of(m, i);
    fill_object(m, object, id, row + SN_OBJECT);
    fill_object(m, m->sensor_reftype[i], m->sensor_refid[i], row + SN_REF);
    row[SN_FROM] = kinds[k].from;
    row[SN_ITEM] = kinds[k].from == 0 || id < 0 ? kinds[k].items
                   : object == mjOBJ_ACTUATOR   ? m->actuator_outadr[id]
                   : object != mjOBJ_JOINT      ? kinds[k].items * id
                   : kinds[k].from == W_QPOS    ? m->jnt_qposadr[id]
                                                : m->jnt_dofadr[id];
    if (kinds[k].kind == PH_SENSE_RANGEFINDER) row[SN_ITEM] = m->sensor_intprm[mjNSENS * i];
    if (is_camera_range(m, i)) {
        row[SN_KIND] = PH_SENSE_CAMERARANGE;
        row[SN_BLOCK] = m->cam_resolution[2 * id];
        row[SN_NBLOCK] = m->cam_resolution[2 * id + 1];
    }
    if (kinds[k].kind == PH_SENSE_CONTACT) fill_contact(m, i, row);
    if (kinds[k].kind == PH_SENSE_GRID) fill_grid(m, i, count_edges(m, i), row);
    if (kinds[k].kind == PH_SENSE_DISTANCE) {
        fill_geoms(m, object, id, row + SN_OBJECT);
        fill_geoms(m, m->sensor_reftype[i], m->sensor_refid[i], row + SN_REF);
    }
    if (object == mjOBJ_JOINT || object == mjOBJ_TENDON) fill_limits(t, object == mjOBJ_TENDON, id, row);
}

/* 0: needs no rows, 1: does, 2: a contact sensor or a grid of touch, 3: of distances, 4: rays of a camera. */
static int group_of(const mjModel *m, int i)
{
    int kind = kinds[find_kind(m->sensor_type[i])].kind;
    if (is_camera_range(m, i)) return 4;
    if (kind == PH_SENSE_CONTACT || kind == PH_SENSE_GRID) return 2;
    return kind < PH_SENSE_ROWS ? 0 : kind < PH_SENSE_CONTACT ? 1 : 3;
}

static void put_rows(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int n = sti_physics_has_sensors(m) ? (int)m->nsensor : 0, count[5] = {0, 0, 0, 0, 0}, k = 0;
    for (int i = 0; i < n; ++i) count[group_of(m, i)]++;
    sti_physics_fill(b, M_NSENSOR, count[0]);
    sti_physics_fill(b, M_NSENSORROW, count[1]);
    sti_physics_fill(b, M_NSENSORCONTACT, count[2]);
    sti_physics_fill(b, M_NSENSORDISTANCE, count[3]);
    sti_physics_fill(b, M_NSENSORCAMERA, count[4]);
    int *to = sti_physics_new_table(b, M_SENSOR, (int64_t)SN_SIZE * n);
    double *cutoff = sti_physics_new_parameter(b, M_SENSOR_CUTOFF, n);
    for (int group = 0; to && cutoff && group < 5; ++group)
        for (int i = 0; i < n; ++i) {
            if (group_of(m, i) != group) continue;
            fill_sensor(m, b->t, i, to + (ptrdiff_t)SN_SIZE * k);
            cutoff[k++] = m->sensor_cutoff[i];
        }
    assert((!to || !cutoff || k == n) && "each sensor is of one group");
}

/* Lengths of camera i as rays have them, and as projections do; in float, as in MuJoCo, where they come from a lens. */
static void fill_camera(const mjModel *m, int i, double *out)
{
    const int *pixels = m->cam_resolution + (ptrdiff_t)2 * i;
    const float *sensor = m->cam_sensorsize + (ptrdiff_t)2 * i, *lens = m->cam_intrinsic + (ptrdiff_t)4 * i;
    double width = pixels[0], height = pixels[1], focal = .5 / tan(m->cam_fovy[i] * mjPI / 360) * height;
    bool lensed = sensor[0] != 0 && sensor[1] != 0, parallel = m->cam_projection[i] == mjPROJ_ORTHOGRAPHIC;
    double own[PH_CAM_PRM] = {focal, focal, width / 2, height / 2, 0, focal, focal, width / 2, height / 2};
    for (int k = 0; k < 2 && lensed; ++k) {
        own[5 + k] = own[k] = (double)(lens[k] / sensor[k] * (float)pixels[k]);
        own[2 + k] = (double)(lens[2 + k] / sensor[k] * (float)pixels[k]);
    }
    for (int k = 0; k < 2 && parallel; ++k) own[k] = own[2 + k] = pixels[k] / 2.;
    if (parallel) own[4] = m->cam_fovy[i] / 2;
    memcpy(out, own, sizeof own);
}

void sti_physics_put_camera_values(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int64_t n = senses(m, mjOBJ_CAMERA) ? m->ncam : 0;
    double *to = sti_physics_new_parameter(b, M_CAM_PRM, PH_CAM_PRM * n);
    for (int i = 0; to && i < n; ++i) fill_camera(m, i, to + (ptrdiff_t)PH_CAM_PRM * i);
}

void sti_physics_put_sensors(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int n = 0, k = 0;
    bool rays = sti_physics_has_rays(m);
    put_rows(b);
    for (int g = 0; rays && g < m->ngeom; ++g) n += sti_physics_is_visible(m, g);
    sti_physics_fill(b, M_NRAYGEOM, n);
    int *geom = sti_physics_new_table(b, M_RAY_GEOM, n);
    for (int g = 0; geom && rays && g < m->ngeom; ++g)
        if (sti_physics_is_visible(m, g)) geom[k++] = g;
    double *magnetic = sti_physics_new_parameter(b, M_MAGNETIC, 3);
    for (int c = 0; magnetic && c < 3; ++c) magnetic[c] = m->opt.magnetic[c];
}
