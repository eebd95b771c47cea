"""Calls of mjlab's Simulation as an environment makes them, over a scene of stet's, and what its data hold after each.

    python test/python/mjlab_calls.py           # mjlab as it is; writes golden/mjlab.npz

The command needs an environment with mjlab 1.6, without stet: what it stores is mujoco_warp's, on a CPU.
"""

import importlib.metadata
import json
from pathlib import Path

import numpy as np

STORED = Path(__file__).parent / "golden" / "mjlab.npz"
SCENE = Path(__file__).resolve().parents[2] / "scenes" / "quadruped.xml"
# Not more steps: at the tenth mujoco_warp's solver ends before it is done in world 1, 8e-5 from MuJoCo's and stet's.
WORLDS, STEPS, SEED = 3, 8, 1
STATE, SEEN = ("qpos", "qvel", "time"), ("xpos", "xquat", "cvel", "site_xpos", "subtree_com", "qacc", "sensordata",
                                         "actuator_force")
# What masses change, which mjlab expands with them.
DERIVED = ("body_subtreemass", "dof_invweight0", "body_invweight0", "actuator_acc0")


class Tape:
    """Copies of arrays, by the call that they come after."""

    def __init__(self, simulation):
        self.simulation, self.arrays = simulation, {}

    def keep(self, call, names):
        for name in names:
            self.arrays[f"{call}/{name}"] = getattr(self.simulation.data, name).cpu().numpy().copy()


def make_calls(simulation, set_const, torch):
    """Domain randomisation, a state, steps with controls, a reset of one world. set_const: mjlab's level."""
    dice, tape = np.random.default_rng(SEED), Tape(simulation)
    model, home = simulation.mj_model, simulation.mj_model.key_qpos[0]

    def draw(low, high, *shape):
        return torch.from_numpy(dice.uniform(low, high, (WORLDS, *shape)).astype(np.float32))

    simulation.expand_model_fields(("body_mass", "geom_friction", *DERIVED))
    simulation.model.body_mass[:] *= draw(0.8, 1.2, model.nbody)
    simulation.model.geom_friction[:, :, 0] = draw(0.4, 1, model.ngeom)
    simulation.recompute_constants(set_const)
    simulation.data.qpos[:] = torch.from_numpy(home.astype(np.float32))
    simulation.data.qpos[:, 7:] += draw(-0.1, 0.1, model.nq - 7)
    simulation.data.qvel[:] = draw(-0.2, 0.2, model.nv)
    simulation.forward()
    tape.keep("forward", STATE + SEEN)
    for step in range(STEPS):
        simulation.data.ctrl[:] = torch.from_numpy(model.key_ctrl[0].astype(np.float32)) + draw(-0.2, 0.2, model.nu)
        simulation.step()
        tape.keep(f"step {step}", STATE + SEEN)
    simulation.reset(torch.tensor([1]))
    tape.keep("reset", STATE)
    simulation.data.qpos[1] = torch.from_numpy(home.astype(np.float32))
    simulation.forward()
    tape.keep("forward again", STATE + SEEN)
    simulation.step()
    tape.keep("step again", STATE + SEEN)
    return tape.arrays


def jacobian(fill, torch, simulation):
    """Of a point of a foot and one of the trunk. fill(body, point, positions, rotations)."""
    arrays = {}
    for body in (1, simulation.mj_model.nbody - 1):
        point = simulation.data.xpos[:, body] + torch.tensor([0.05, 0.02, -0.1])
        positions, rotations = (torch.empty(WORLDS, 3, simulation.mj_model.nv) for _ in range(2))
        fill(body, point, positions, rotations)
        arrays[f"jacobian {body}"] = torch.cat([positions, rotations], 1).numpy().copy()
    return arrays


def record():
    import mujoco
    import mujoco_warp
    import torch
    import warp
    from mjlab.managers.event_manager import RecomputeLevel
    from mjlab.sim import MujocoCfg, Simulation, SimulationCfg

    config = SimulationCfg(nconmax=100, njmax=400, mujoco=MujocoCfg(timestep=0.004))
    simulation = Simulation(WORLDS, config, spec=mujoco.MjSpec.from_file(str(SCENE)), device="cpu")

    def fill(body, point, positions, rotations):
        jacp, jacr = (warp.zeros((WORLDS, 3, simulation.mj_model.nv), dtype=float, device="cpu") for _ in range(2))
        mujoco_warp.jac(simulation.wp_model, simulation.wp_data, jacp, jacr,
                        warp.from_torch(point.contiguous(), dtype=warp.vec3),
                        warp.full(WORLDS, body, dtype=int, device="cpu"))
        positions[:], rotations[:] = warp.to_torch(jacp), warp.to_torch(jacr)

    arrays = make_calls(simulation, RecomputeLevel.set_const, torch) | jacobian(fill, torch, simulation)
    option = simulation.mj_model.opt
    said = {name: importlib.metadata.version(name) for name in ("mjlab", "mujoco", "mujoco-warp", "warp-lang", "torch")}
    options = {name: getattr(option, name) for name in ("timestep", "integrator", "cone", "solver", "jacobian",
                                                        "iterations", "tolerance", "ls_iterations", "ls_tolerance",
                                                        "ccd_iterations", "impratio", "disableflags", "enableflags")}
    np.savez_compressed(STORED, wheels=json.dumps(said), options=json.dumps(options), **arrays)


if __name__ == "__main__":
    record()
