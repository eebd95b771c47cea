"""A hand that turns the cube that lies in it: `LeapRotate`, as MuJoCo Playground's LeapCubeRotateZAxis, with these
differences: joints begin within a uniform width of the keyframe, not with normal noise, and the critic does not see the
servos' torques.

An observation has two parts: "policy": the joints' angles, with noise, and the last action; and "critic": the same
without noise, the joints' velocities, the way from the palm to each fingertip and from the cube to the palm (m), the
cube's quaternion and velocities.
"""

from __future__ import annotations

import numpy as np

import stet
from stet.gym.env import Env
from stet.gym.randomize import Randomize

from .base import TaskVectorEnv, noise_of
from .scene import Scene, find_file

TERMS = ("turning", "dropped", "change", "pose", "drift")
_FILES = "_src/manipulation/leap_hand/xmls"
_FACES = "up", "back", "down", "front", "left", "right"


class LeapRotateVectorEnv(TaskVectorEnv):
    """The LEAP hand, of sixteen joints, turns a cube about the vertical, as fast as it can. An action is how far a
    servo's angle is from the keyframe's, in 0.6 rad. info["slowness"] is how fast the cube turns the wrong way, rad/s.
    The hand's own meshes are in another package, so it is drawn as its boxes.
    """

    randomize = (
        Randomize("geom_friction", "(th|if|mf|rf)_tip", component=0, uniform=(0.5, 1.0), correlated=True,
                  every="world"),
        Randomize(("body_mass", "body_inertia"), "cube", uniform=(0.8, 1.2), operation="scale", correlated=True,
                  every="world"),
        Randomize("body_ipos", "cube", uniform=(-5e-3, 5e-3), operation="add", every="world"),
        Randomize("dof_frictionloss", "(th|if|mf|rf)_.*", uniform=(0.5, 2.0), operation="scale", every="world"),
        Randomize("dof_armature", "(th|if|mf|rf)_.*", uniform=(1.0, 1.05), operation="scale", every="world"),
    )
    terms = TERMS
    measured = "slowness", "mean", -0.5
    _usual = {"turning": 1, "dropped": -100}
    _defaults = {"frame_skip": 5, "max_episode_steps": 500}

    def __init__(self, num_envs: int = 1, device: str = "auto", *, disturb: bool = True,
                 weights: dict[str, float] | None = None, **more: object) -> None:
        model = stet.load(self.scene().text())
        nu = model.nu
        super().__init__(model, num_envs, device, 2 * nu, 3 * nu + 25, disturb, weights, **more)

    def scene(self) -> Scene:
        """The hand and a cube."""
        scene = Scene(find_file("mujoco_playground", f"{_FILES}/leap_rh_mjx.xml"))
        scene.leave_out_missing_meshes()
        faces = find_file("mujoco_playground", f"{_FILES}/reorientation_cube_textures/fileup.png").parent
        scene.add("asset", "texture", name="faces", type="cube",
                  **{f"file{face}": str(faces.resolve() / f"file{face}.png") for face in _FACES})
        scene.add("asset", "material", name="faces", texture="faces")
        scene.box("cube", (0.035, 0.035, 0.035), 0.108, friction=(0.3, 0.05), conaffinity=2, condim=3, material="faces")
        scene.floor(pos=(0, 0, -0.25), contype=2, conaffinity=2)
        scene.home({"(if|mf|rf)_(mcp|pip|dip)|th_(cmc|axl|mcp)": 0.8}, cube=(0.1, 0, 0.05))
        return scene

    def _scales(self, nu):
        return np.full(nu, 0.6)

    def _make_task(self, nu):
        model = self.sim.model
        self._hold = self._plain("hold", self.home[:nu])
        self._site = self.sim.zeros((5,), "int32", name="sites")
        self._site.write(np.array([model.find("sites", name) for name in (
            "grasp_site", "th_tip", "if_tip", "mf_tip", "rf_tip")], np.int32))
        self._noise = self._plain("noise", noise_of((0.05, nu), (0, nu)))
        self._number = self._plain("numbers", [self.dt, 0.17, 0.1, 0, 0.05, -0.05,
                                               *(self.weights[name] for name in TERMS)])

    def kernels(self, begins):
        sim = self.sim
        return [(self._kernel("rotate", "k_turn_cube"), (
            sim.qpos, sim.qvel, sim.array("site_xpos"), self.previous, self.change, self.begun, self.dice, self.tick,
            self._hold, self._site, self._noise, self._number, self.observed, self.worth, self.failed, 4, sim.model.nu,
            self._disturb, int(begins)))]


class LeapRotateEnv(Env):
    """One of LeapRotateVectorEnv."""

    vector_type = LeapRotateVectorEnv


TASKS = {"LeapRotate": LeapRotateVectorEnv}
