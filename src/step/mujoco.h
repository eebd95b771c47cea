/*
 * Physics by MuJoCo: one mj_step per world and time step, worlds in parallel over threads.
 */
#ifndef STI_STEP_MUJOCO_H
#define STI_STEP_MUJOCO_H

#include "worlds/worlds.h"

/*
 * Advances worlds (which have exact data) by n time steps, n at least 1: all worlds, or those whose byte in mask is not
 * 0. A world that fails gets a fault and goes on from qpos0.
 */
stet_result sti_mujoco_steps(stet_worlds *worlds, const uint8_t *mask, int n);

/* mj_forward in the same worlds: what a step leaves in their data but the state, and step_sensordata (QUANTITY-4). */
stet_result sti_mujoco_forward(stet_worlds *worlds, const uint8_t *mask);

#endif
