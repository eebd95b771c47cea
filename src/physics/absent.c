/* In place of native physics in a build with MuJoCo 3, whose models lack what it reads: it refuses each model. */
#include "physics/features.h"
#include "physics/native.h"
#include "physics/pace.h"
#include "physics/tables.h"

#include <mujoco/mujoco.h>

#include <stdio.h>

static const char needed[] = "native physics, which needs a stet that is built with MuJoCo 4 or later";

const char *sti_physics_feature(const mjModel *model, int i, bool *covered)
{
    (void)model;
    *covered = false;
    return i == 0 ? needed : NULL;
}

bool sti_physics_lacks(const mjModel *model, char *text, size_t size)
{
    (void)model;
    (void)snprintf(text, size, "a stet that is built with MuJoCo 4 or later");
    return true;
}

bool sti_physics_replaces_solver(const mjModel *model)
{
    (void)model;
    return false;
}

bool sti_physics_ends_early(const mjModel *model)
{
    (void)model;
    return false;
}

int64_t sti_physics_count_lanes(const mjModel *model, int64_t nworld)
{
    (void)model;
    return nworld;
}

stet_result sti_physics_check_model(const mjModel *model)
{
    (void)model;
    return sti_error(STET_ERROR_UNSUPPORTED, "step: there is no %s; use physics mujoco", needed);
}

stet_result sti_native_create(stet_worlds *worlds, sti_native **out)
{
    (void)out;
    return sti_physics_check_model(worlds->model->mj);
}

void sti_native_destroy(sti_native *native) { (void)native; }

stet_array *sti_native_faults(const sti_native *native)
{
    (void)native;
    return NULL;
}

stet_result sti_native_prepare(sti_native *native)
{
    (void)native;
    return STET_OK;
}

stet_result sti_native_steps(sti_native *native, const uint8_t *mask, int n)
{
    (void)native, (void)mask, (void)n;
    return STET_OK;
}

stet_result sti_native_forward(sti_native *native, const uint8_t *mask, stet_array *mask_array)
{
    (void)native, (void)mask, (void)mask_array;
    return STET_OK;
}

stet_result sti_native_set_stages(sti_native *native, const char *stages)
{
    (void)native, (void)stages;
    return STET_OK;
}

stet_result sti_native_set_room(sti_native *native, int room)
{
    (void)native, (void)room;
    return STET_OK;
}

stet_result sti_native_quantity(sti_native *native, const char *name, stet_array **out)
{
    (void)native, (void)name, (void)out;
    return sti_physics_check_model(NULL);
}

stet_result sti_native_set_touch(sti_native *native, bool touches)
{
    (void)native, (void)touches;
    return sti_physics_check_model(NULL);
}

stet_array *sti_native_touches(const sti_native *native)
{
    (void)native;
    return NULL;
}

stet_result sti_native_linearize(sti_native *native, double *A, double *B)
{
    (void)native, (void)A, (void)B;
    return sti_physics_check_model(NULL);
}

stet_result sti_native_linearize_sensors(sti_native *native, double *C, double *D)
{
    (void)native, (void)C, (void)D;
    return sti_physics_check_model(NULL);
}

stet_result sti_native_take_parameters(sti_native *native, const char *const *names, int count)
{
    (void)native, (void)names, (void)count;
    return sti_physics_check_model(NULL);
}

stet_array *sti_native_table_numbers(const sti_native *native)
{
    (void)native;
    return NULL;
}

stet_result sti_native_parameter_gradient(sti_native *native, const char *name, stet_array *gradient, double *out)
{
    (void)native, (void)name, (void)gradient, (void)out;
    return sti_physics_check_model(NULL);
}

sti_pace sti_physics_estimate_pace(const mjModel *model, int keyframe, int lanes, int64_t nworld)
{
    (void)model, (void)keyframe, (void)lanes, (void)nworld;
    return (sti_pace){0, 0};
}

stet_result sti_physics_tables_make(const mjModel *model, sti_physics_tables *out)
{
    (void)out;
    return sti_physics_check_model(model);
}

sti_contact_sizes sti_physics_contact_sizes(const int *m)
{
    (void)m;
    return (sti_contact_sizes){.most = 0};
}

void sti_physics_tables_resize(const mjModel *model, sti_physics_tables *tables, int room)
{
    (void)model, (void)tables, (void)room;
}

void sti_physics_tables_free(sti_physics_tables *tables) { (void)tables; }
