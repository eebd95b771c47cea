"""Tasks of robots, over the shipped scenes: a quadruped that follows a joystick, a humanoid that walks, a hand that
turns a cube, an arm that reaches, and one that picks. Each is a page over `KernelVectorEnv` with a kernel in
robots.k.h, and an example of it: copy one and change it. With pixels=True policies see pictures instead of states;
commands and targets are not in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

import stet

from . import _files
from .env import Env
from .kernels import KernelVectorEnv


class RobotVectorEnv(KernelVectorEnv):
    """Base of the tasks. An action is in [-1, 1] for each actuator: of servos the hold position of the keyframe plus
    the action times `_reach` of half the range, of motors the action times `_reach` of the range. Keywords as of
    VectorEnv; a class has the defaults.
    """

    previous: stet.Array
    """[num_envs, nu] The last actions; 0 when an episode begins."""
    _scene: str
    _observed: int
    _rewards_of: tuple[str, ...]
    _defaults: dict[str, Any] = {}
    _reach = 0.5
    _widths = 0.05, 0.05  # of noise on the joints' angles (rad) and velocities (rad/s) at the beginning

    def __init__(self, num_envs: int = 1, device: str = "auto", **more: Any) -> None:
        model = stet.load(stet.scenes / f"{self._scene}.xml")
        super().__init__(model, num_envs, device, observed=self._observed, rewards=self._rewards_of,
                         single_observation_space=spaces.Box(-np.inf, np.inf, (self._observed,), np.float32),
                         single_action_space=spaces.Box(-1, 1, (model.nu,), np.float32), **{**self._defaults, **more})

    def _make_kernels(self):
        sim = self.sim
        self.previous, self._change = self._zeros("previous", sim.model.nu), self._zeros("change", sim.model.nu)
        self._home = sim.zeros(self.home.shape, "real", name="home")
        self._home.write(self.home)
        self._make_task(sim.model)
        super()._make_kernels()

    def _make_task(self, model):
        """What a task's kernel needs of the model, and its own arrays."""

    def _zeros(self, name, items):
        return self.sim.zeros((self.num_envs, items), "real", worlds=True, name=name)

    def _kernel(self, name):
        return _files.load_kernel(self.sim, "robots.k.h", name)

    def controls(self):
        tables = [self.sim.control_table(name) for name in ("hold", "half", "low", "high")]
        return [(self._kernel("k_control"), (self.sim.ctrl, self.previous, self._change, *tables, self._reach,
                                             self.sim.model.nu))]

    def begin(self, qpos, qvel, draws):
        joints, dofs = self._noisy()
        qpos[:, joints] += draws.uniform(-self._widths[0], self._widths[0], len(joints))
        qvel[:, dofs] += draws.uniform(-self._widths[1], self._widths[1], len(dofs))
        for array, low, high in self.drawn():
            values = array.numpy()
            values[draws.worlds] = draws.uniform(low, high, array.shape[1])
            array.write(values)

    def widths(self):
        model, (joints, dofs) = self.sim.model, self._noisy()
        widths = np.zeros(model.nq + model.nv)
        widths[joints], widths[model.nq + dofs] = self._widths
        return widths

    def _noisy(self):
        """The places in qpos and qvel that begin with noise: hinges and slides of the robot."""
        model = self.sim.model
        robot = [j for j in range(model.njnt) if model.jnt_type[j] >= 2]  # as MuJoCo numbers types
        return model.jnt_qposadr[robot], model.jnt_dofadr[robot]


class QuadrupedJoystickVectorEnv(RobotVectorEnv):
    """A quadruped on bumpy ground goes as a joystick says: `command` [num_envs, 3], forward and left in m/s and turning
    in rad/s, drawn for each episode within `ranges`; who steers writes into it.

    Observation [48], in the trunk's frame: its velocity, its angular velocity, the direction of gravity, joint angles
    relative to the keyframe, their velocities, the last action, the command. Reward a second: 1 for the right
    velocity, 0.5 for the right turning, less for what shakes. It ends when the trunk lies on its side.
    """

    command: stet.Array
    _scene, _reach, _defaults = "quadruped", 0.3, {"frame_skip": 10, "max_episode_steps": 1000}
    _observed, _rewards_of = 48, ("velocity", "turning", "bouncing", "rolling", "tilt", "change")
    ranges = [-0.6, -0.4, -0.7], [1.0, 0.4, 0.7]

    def _make_task(self, model):
        self.command = self._zeros("command", 3)

    def drawn(self):
        return [(self.command, *self.ranges)]

    def kernels(self, begins):
        sim = self.sim
        return [(self._kernel("k_joystick"), (
            sim.qpos, sim.qvel, self.previous, self._change, self.command, self.begun, self._home, self.observed,
            self.worth, self.failed, self.dt, sim.model.nu, int(begins)))]


class HumanoidWalkVectorEnv(RobotVectorEnv):
    """A humanoid with motors walks forward at `speed` m/s (0: it stands).

    Observation [73]: the pelvis' height and the direction of gravity in its frame, the centre of mass' velocity, joint
    angles, velocities, the last action. Reward in [0, 1]: upright, the head up, at the right speed, with
    small controls; a product, so all of it counts. It ends when the pelvis is lower than 0.5 m.
    """

    _scene, _reach, _defaults = "humanoid", 1.0, {"frame_skip": 5, "max_episode_steps": 1000}
    _observed, _rewards_of = 73, ("walking",)
    _widths = 0.02, 0.02

    def __init__(self, num_envs: int = 1, device: str = "auto", *, speed: float = 1.0, **more: Any) -> None:
        self.speed = speed
        super().__init__(num_envs, device, **more)

    def kernels(self, begins):
        sim, model = self.sim, self.sim.model
        pelvis, torso = (model.find("bodies", name) for name in ("pelvis", "torso"))
        least, most = (self.speed, np.inf) if self.speed > 0 else (-0.1, 0.1)
        return [(self._kernel("k_walk"), (
            sim.qpos, sim.qvel, self.previous, self.begun, sim.array("subtree_linvel"), sim.array("site_xpos"),
            sim.array("xmat"), self.observed, self.worth, self.failed, least, most, max(self.speed, 0.5), pelvis, torso,
            model.find("sites", "head"), model.nq, model.nv, model.nu, int(begins)))]


class HandRotateVectorEnv(RobotVectorEnv):
    """A hand turns the cube that lies in it about the vertical, counter-clockwise from above.

    Observation [81]: joint angles, their velocities, the cube's place relative to where it lay (m), its rotation (a
    quaternion), its velocities. Reward a second: how fast the cube turns, in rad/s within 5 either way, less for quick
    changes of the action; -1 for dropping it, which ends the episode: it is farther than 0.1 m from where it lay.
    """

    _scene, _defaults = "hand", {"frame_skip": 10, "max_episode_steps": 500}
    _observed, _rewards_of = 81, ("turning", "change", "dropped")
    _widths = 0.02, 0.0

    def _make_task(self, model):
        cube = model.find("joints", "cube")
        self._place, self._spin = int(model.jnt_qposadr[cube]), int(model.jnt_dofadr[cube])

    def kernels(self, begins):
        sim, model = self.sim, self.sim.model
        return [(self._kernel("k_rotate"), (
            sim.qpos, sim.qvel, self.previous, self._change, self.begun, self._home, self.observed, self.worth,
            self.failed, self.dt, self._place, self._spin, model.nv, model.nu, int(begins)))]


class ArmReachVectorEnv(RobotVectorEnv):
    """An arm brings the middle of its gripper to `target` [num_envs, 3], a point over the table, drawn for each
    episode.

    Observation [24]: the seven angles, their velocities, the gripper's place, the target, and how far it is, each
    coordinate; how far the gripper is open. Reward a second: 1 at the target (within 2 cm), less with the distance, and
    for quick changes of the action.
    """

    target: stet.Array
    _scene, _reach, _defaults = "arm_table", 0.6, {"frame_skip": 10, "max_episode_steps": 200}
    _observed, _rewards_of = 24, ("near", "change")
    _low_target, _high_target = [0.35, -0.35, 0.55], [0.65, 0.35, 0.85]

    _box = -1  # its place in qpos; there is none in this task

    def _make_task(self, model):
        self.target = self._zeros("target", 3)

    def _noisy(self):
        return np.arange(7), np.arange(7)

    def drawn(self):
        return [(self.target, self._low_target, self._high_target)]

    def kernels(self, begins):
        sim, model = self.sim, self.sim.model
        return [(self._kernel("k_arm"), (
            sim.qpos, sim.qvel, self.previous, self._change, self.begun, self.target, sim.array("site_xpos"),
            self.observed, self.worth, self.failed, self.dt, model.find("sites", "grasp"), self._box, model.nu,
            int(begins)))]


class ArmPickVectorEnv(ArmReachVectorEnv):
    """An arm picks up the red box and brings it to `target` [num_envs, 3], over the table.

    Observation [34]: that of ArmReach, with the box's place and rotation. Reward a second: up to 1 for the gripper at
    the box, and up to 4 for the box at the target. It ends when the box falls off the table.
    """

    _observed, _rewards_of = 34, ("grip", "place", "change")
    _low_target, _high_target = [0.4, -0.1, 0.55], [0.6, 0.3, 0.75]

    def _make_task(self, model):
        super()._make_task(model)
        self._box = int(model.jnt_qposadr[model.find("joints", "box")])

    def begin(self, qpos, qvel, draws):
        super().begin(qpos, qvel, draws)
        qpos[:, self._box : self._box + 2] += draws.uniform(-0.03, 0.03, 2)

    def widths(self):
        widths = super().widths()
        widths[self._box : self._box + 2] = 0.03
        return widths


TASKS = {cls.__name__.replace("VectorEnv", ""): cls
         for cls in (QuadrupedJoystickVectorEnv, HumanoidWalkVectorEnv, HandRotateVectorEnv, ArmReachVectorEnv,
                     ArmPickVectorEnv)}
"""The tasks by name."""

for _name, _cls in TASKS.items():  # QuadrupedJoystickEnv …: one alone
    globals()[_name + "Env"] = type(_name + "Env", (Env,), {"vector_type": _cls, "__module__": __name__,
                                                            "__doc__": f"One of {_cls.__name__}."})
