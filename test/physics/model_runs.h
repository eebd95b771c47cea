/* Runs that have code for their model on a GPU (model_code.h): models, and numbers of worlds. */
#ifndef TEST_PHYSICS_MODEL_RUNS_H
#define TEST_PHYSICS_MODEL_RUNS_H

#include "physics/native_state.h"
#include "worlds/parameters.h"

enum { FEW = STI_NATIVE_MODEL_WORLDS, MANY = 2 * FEW };

static const char scene[] = PARAMETERS_SCENE("<option timestep='.004'/>");
static const char no_geoms[] =
    "<mujoco><worldbody><body><joint axis='0 1 0' damping='.1'/><inertial mass='1' pos='.2 0 "
    "0' diaginertia='.1 .1 .1'/></body></worldbody></mujoco>";

/* lone: for its size and number of worlds, on the few processors of a double, a thread alone has a world */
static const struct {
    const char *text;
    int64_t nworld;
    bool lone;
} model_runs[] = {{scene, FEW, false}, {scene, MANY, true}, {no_geoms, FEW, true}};
enum { MODEL_RUNS = sizeof model_runs / sizeof *model_runs };

#endif
