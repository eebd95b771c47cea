"""Robots with legs that go as they are commanded: `Go1Velocity`, `G1Velocity`.

The robots, commands, rewards, observations and what differs between worlds are those of mjlab's tasks
Mjlab-Velocity-Flat-Unitree-Go1 and -G1 (Zakka and others, "mjlab: a lightweight framework for GPU-accelerated robot
learning"), with these differences: velocities that are observed are the trunk's, not those at the IMU; contacts are
those of the state before the last time step.

An observation has two parts: "policy", what the robot can know, with noise: the trunk's velocity and angular velocity,
the direction of gravity, all in its frame; the joints' angles less those of the keyframe, their velocities, the last
action, the command; and "critic", the same without noise, and of each foot its height, the seconds that it has been in
the air, whether it touches the ground, and the force there (the logarithm of 1 + newtons, each coordinate).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import stet
from stet import terrain
from stet._errors import InvalidArgumentError
from stet.gym.env import Env
from stet.gym.randomize import Randomize
from stet.scan import GridPattern, Scanner
from stet.scan import load_kernel as load_scan_kernel
from stet.terrain import Terrain

from .base import TaskVectorEnv, noise_of, pick
from .scene import Scene, find_file, g1_scene

TERMS = ("linear", "angular", "upright", "pose", "limits", "change", "clearance", "swing", "slip", "landing", "rolling",
         "momentum", "itself")
"""Terms of the reward, in the order of velocity.k.h."""


def rough() -> Terrain:
    """mjlab's rough ground, as one field of heights."""
    return Terrain(10, 20, 8.0, 0.1, {
        "flat": (terrain.flat(), 0.2), "stairs": (terrain.stairs(0.0, 0.1, platform=1.5), 0.2),
        "stairs down": (terrain.stairs(0.0, 0.1, platform=1.5, down=True), 0.2),
        "slope": (terrain.slope(1.0), 0.1), "slope down": (terrain.slope(1.0, down=True), 0.1),
        "rough": (terrain.rough(0.02, 0.1), 0.1), "waves": (terrain.waves(0.0, 0.2), 0.1)}, border=20.0)


class VelocityVectorEnv(TaskVectorEnv):
    """Base of the tasks; a class has its robot: `scene`, `feet`, `tolerances`, `root`, `torso`. Keywords as of
    TaskVectorEnv, and

    ground    "flat"; "rough": stairs, slopes, waves and rubble in ten levels of difficulty, which worlds climb by going
              far, and 187 heights of the trunk above the ground around it in both parts of the observation; or a
              stet.terrain.Terrain

    `command` [num_envs, 3] has forward, left (m/s) and turning (rad/s), which each world draws again after 3 to 8
    seconds. info["error"] is how far the velocity is from it, m/s.
    """

    command: stet.Array
    terms = TERMS
    measured = "error", "mean", 0.25
    ranges = (-1.0, 1.0), (-1.0, 1.0), (-0.5, 0.5)
    _usual = {"linear": 2, "angular": 2, "upright": 1, "pose": 1, "limits": -1, "change": -0.1, "clearance": -2,
              "swing": -0.25, "slip": -0.1, "landing": -1e-5}
    feet: dict[str, dict[str, str]]
    """By names of sites, at most four: what of the robot touches the ground there, as attributes of a sensor of
    contact, {"geom1": name} or {"subtree1": body}.
    """
    tolerances: tuple[dict[str, float], dict[str, float], dict[str, float]]
    """How far joints may be from the keyframe's angles, rad, by names (regular expressions): to stand, walk, run."""
    root: str
    """The body with the free joint."""
    torso: str
    """The body that is to be upright."""

    def __init__(self, num_envs: int = 1, device: str = "auto", *, ground: str | Terrain = "flat", disturb: bool = True,
                 weights: dict[str, float] | None = None, **more: Any) -> None:
        if ground not in ("flat", "rough") and not isinstance(ground, Terrain):
            raise InvalidArgumentError(f"{type(self).__name__}: ground is 'flat', 'rough' or a Terrain, not {ground!r}")
        self._terrain = rough() if ground == "rough" else None if ground == "flat" else ground
        self._nray, text = 0 if self._terrain is None else GridPattern().shape[0] * GridPattern().shape[1], self._text()
        model = stet.load(text) if self._terrain is None else self._terrain.add_to(text, name="floor")
        seen = 12 + 3 * model.nu + self._nray
        super().__init__(model, num_envs, device, seen, seen + 6 * len(self.feet), disturb, weights, **more)

    def scene(self) -> Scene:
        """The robot without ground: its free joint first, then joints with a servo each, and a keyframe."""
        raise NotImplementedError

    def _text(self):
        scene = self.scene()
        self._add_sensors(scene)
        if self._terrain is None:
            scene.floor()
        else:
            scene.add_look()
        return scene.text()

    def _add_sensors(self, scene):
        """Those that velocity.k.h reads."""
        for foot, contact in self.feet.items():
            scene.add("sensor", "contact", name=f"{foot}_contact", **contact, geom2="floor", data="found force",
                      reduce="netforce")
            scene.add("sensor", "framepos", name=f"{foot}_place", objtype="site", objname=foot)
            scene.add("sensor", "framelinvel", name=f"{foot}_velocity", objtype="site", objname=foot)
        scene.add("sensor", "framezaxis", name="torso_up", objtype="xbody", objname=self.torso)
        scene.add("sensor", "frameangvel", name="torso_turning", objtype="xbody", objname=self.torso)
        scene.add("sensor", "subtreeangmom", name="momentum", body=self.root)
        scene.add("sensor", "contact", name="itself", subtree1=self.root, subtree2=self.root,
                  data="found force", reduce="maxforce")

    def _make_task(self, nu):
        sim, names, feet = self.sim, self.sim.model.joints[1:], len(self.feet)
        self._hold = self._plain("hold", self.home[7:])
        self._joint = self._plain("joint", [self.home[7:], *self._limits(slice(1, None)),
                                            *(pick(spread, names) for spread in self.tolerances)])
        self._noise = self._plain("noise", noise_of((0.5, 3), (0.2, 3), (0.05, 3), (0.01, nu), (1.5, nu), (0, nu + 3)))
        self._number = self._plain("numbers", [
            self.dt, *np.ravel(self.ranges), 3, 8, 0.1, 0.3, 0.2, 0.5, 0.5, 0.5, 0.4, 0.52, 0.52, 0.78, 1, 3, 0.05, 1.5,
            0.1, np.cos(np.radians(70)), *(self.weights[name] for name in TERMS),
            self._terrain.size if self._terrain else 0, self.max_episode_steps * self.dt])
        self._own(command=3, aim=2, clock=2, gait=3 * feet, bias=nu, ground=feet, walked=2)
        self._own("int32", level=1, column=1)
        if self._terrain is not None:
            self._scan = Scanner(sim, 1, GridPattern(), "floor", far=25, shift=-GridPattern().height)
            self._heights = self._plain("heights of the ground", self._terrain.heights)
        self._origins = self._plain("origins", self._terrain.origins if self._terrain else np.zeros(3))
        self.forget(np.ones(self.num_envs, np.bool_))

    def forget(self, mask):
        """Worlds that get a seed begin on the first levels again: level [num_envs, 1], of the first half of all."""
        worlds, (levels, columns) = np.arange(self.num_envs), self._grid()
        for array, values in ((self.tick, 0 * worlds), (self.level, worlds // columns % max((levels + 1) // 2, 1)),
                              (self.column, worlds % columns)):
            now = array.numpy()
            now[mask, 0] = values[mask]
            array.write(now)

    def _grid(self):
        return (self._terrain.levels, self._terrain.columns) if self._terrain is not None else (0, 1)

    def kernels(self, begins):
        sim, model, nray, feet = self.sim, self.sim.model, self._nray, len(self.feet)
        at, below, after = sim.columns("step_sensordata", f"{next(iter(self.feet))}_contact").start, [], []
        if nray and not begins:
            below = [(load_scan_kernel(sim, "k_ground"), (
                sim.array("step_sensordata"), self._heights, self.ground, *self._heights.shape,
                self._terrain.resolution, at + 4, 10, feet))]
        if nray:
            critic = 12 + 3 * model.nu
            after = [self._scan.arguments(), (self._kernel("velocity", "k_see_ground"), (
                self._scan.array, self.dice, self.tick, self.observed, critic, nray + 2 * critic + 6 * feet, nray,
                self._disturb))]
        return [*below, (self._kernel("velocity", "k_velocity"), (
            sim.qpos, sim.qvel, sim.array("step_sensordata"), self.previous, self.change, self.begun, self.dice,
            self.bias, self.command, self.aim, self.clock, self.tick, self.gait, self._joint, self._noise, self._number,
            self.ground, self.level, self.column, self.walked, self._origins, self.observed, self.worth, self.failed,
            at, model.nu, feet, *self._grid(), nray, self._disturb, int(begins))), *after]

    def drawn(self):
        return [*super().drawn(), (self.bias, -0.015, 0.015)]


class Go1VelocityVectorEnv(VelocityVectorEnv):
    """Unitree's Go1, a quadruped (VelocityVectorEnv). It is trained with smaller weights of what keeps a robot from
    moving its feet, and with small networks: with the task's own it stands for millions of steps.
    """

    training = {**TaskVectorEnv.training,
                "algorithm": {"entropy_coef": 0.01, "num_learning_epochs": 4},
                "actor": {"hidden_dims": [128, 64, 32]}, "critic": {"hidden_dims": [128, 64, 32]}}
    training_keywords = {"weights": {"change": -0.01, "clearance": -0.5, "pose": 0.5}}
    training_size = {"cpu": (512, 900), "gpu": (4096, 500)}

    randomize = (
        Randomize("geom_friction", ".*_foot_collision", component=0, uniform=(0.3, 1.5), correlated=True,
                  every="world", name="slide"),
        Randomize("geom_friction", ".*_foot_collision", component=1, loguniform=(1e-4, 2e-2), correlated=True,
                  every="world", name="spin"),
        Randomize("geom_friction", ".*_foot_collision", component=2, loguniform=(1e-5, 5e-3), correlated=True,
                  every="world", name="roll"),
        Randomize("body_ipos", "trunk", uniform=([-0.025, -0.025, -0.03], [0.025, 0.025, 0.03]), operation="add",
                  every="world"),
    )
    feet = {foot: {"geom1": f"{foot}_foot_collision"} for foot in ("FR", "FL", "RR", "RL")}
    root = torso = "trunk"
    tolerances = ({".*_(hip|thigh)_joint": 0.05, ".*": 0.1}, *({".*_(hip|thigh)_joint": 0.3, ".*": 0.6},) * 2)

    def scene(self):
        scene = Scene(find_file("mjlab", "asset_zoo/robots/unitree_go1/xmls/go1.xml"))
        scene.part("option").attrib.update(timestep="0.005", iterations="10", ls_iterations="20", impratio="10",
                                           cone="elliptic")
        scene.change("geom", r".*_collision\d*", condim=1, solref=(0.01, 1))
        scene.change("geom", ".*_foot_collision", condim=6, priority=1, friction=(1, 5e-3, 5e-4))
        rotor = 0.000111842
        scene.motors(".*_(hip|thigh)_joint", inertia=rotor * 6**2, effort=23.7)
        scene.motors(".*_calf_joint", inertia=rotor * 9**2, effort=35.55)
        scene.home({".*thigh_joint": 0.9, ".*calf_joint": -1.8, ".*R_hip_joint": 0.1, ".*L_hip_joint": -0.1},
                   floating_base_joint=(0, 0, 0.278))
        return scene


class G1VelocityVectorEnv(VelocityVectorEnv):
    """Unitree's G1, a humanoid, on level ground (VelocityVectorEnv). It is trained with less noise in actions than
    others, because a second with more costs more than it brings, and policies first learn to fall soon.
    """

    training = {**TaskVectorEnv.training, "actor": {"distribution_cfg": {"init_std": 0.3}}}
    randomize = (
        Randomize("geom_friction", ".*_foot[1-7]_collision", component=0, uniform=(0.3, 1.2), correlated=True,
                  every="world"),
        Randomize("body_ipos", "torso_link", uniform=([-0.025, -0.025, -0.03], [0.025, 0.025, 0.03]), operation="add",
                  every="world"),
    )
    feet = {f"{side}_foot": {"subtree1": f"{side}_ankle_roll_link"} for side in ("left", "right")}
    root, torso = "pelvis", "torso_link"
    _usual = {**VelocityVectorEnv._usual, "rolling": -0.05, "momentum": -0.02, "itself": -4}
    tolerances = (
        {".*": 0.05},
        {".*hip_pitch.*": 0.3, ".*hip_(roll|yaw).*": 0.15, ".*knee.*": 0.35, ".*ankle_pitch.*": 0.25,
         ".*ankle_roll.*": 0.1, ".*waist_yaw.*": 0.2, ".*waist_roll.*": 0.08, ".*waist_pitch.*": 0.1,
         ".*shoulder_(pitch|roll).*": 0.15, ".*shoulder_yaw.*": 0.1, ".*elbow.*": 0.15, ".*wrist.*": 0.3},
        {".*hip_pitch.*": 0.5, ".*hip_(roll|yaw).*": 0.2, ".*knee.*": 0.6, ".*ankle_pitch.*": 0.35,
         ".*ankle_roll.*": 0.15, ".*waist_yaw.*": 0.3, ".*waist_roll.*": 0.08, ".*waist_pitch.*": 0.2,
         ".*shoulder_pitch.*": 0.5, ".*shoulder_roll.*": 0.2, ".*shoulder_yaw.*": 0.15, ".*elbow.*": 0.35,
         ".*wrist.*": 0.3})

    def scene(self):
        return g1_scene()


class Go1VelocityEnv(Env):
    """One of Go1VelocityVectorEnv."""

    vector_type = Go1VelocityVectorEnv


class G1VelocityEnv(Env):
    """One of G1VelocityVectorEnv."""

    vector_type = G1VelocityVectorEnv


TASKS = {"Go1Velocity": Go1VelocityVectorEnv, "G1Velocity": G1VelocityVectorEnv}
