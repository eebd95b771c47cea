"""Arms that lift a box to a point: `YamLift`, as mjlab's Mjlab-Lift-Cube-Yam, and `PandaPick`, as MuJoCo Playground's
PandaPickCube with robosuite's model of the arm and of its gripper.

An observation has two parts: "policy", with noise: the joints' places less those of the keyframe, their velocities, the
way from the gripper to the box and from the box to the target (m), the last action; and "critic", the same without
noise, and the box's pose and velocities.
"""

from __future__ import annotations

import numpy as np

import stet
from stet.gym.env import Env
from stet.gym.randomize import Randomize

from .base import TaskVectorEnv, noise_of
from .scene import Scene, find_file

TERMS = ("lift", "precise", "change", "limits", "fast", "gripper", "brought", "clear", "home")


class LiftVectorEnv(TaskVectorEnv):
    """Base of the tasks; a class has its robot. Keywords as of TaskVectorEnv. `target` [num_envs, 3] is where the box
    is to be; info["distance"] is how far it is from there, m.
    """

    target: stet.Array
    terms = TERMS
    measured = "distance", "last", 0.05
    training = {**TaskVectorEnv.training, "algorithm": {"entropy_coef": 0.005}}
    _box: tuple[tuple[float, float], ...]  # m: where it begins
    _target: tuple[tuple[float, float], ...]
    _times: tuple[float, float]  # s: until the box lies elsewhere
    _grasp: str
    _force = 1e9  # N: more between gripper and ground ends an episode
    _near = 0.012  # m: the gripper is at the box
    _turn = np.pi  # rad: how far it is turned about the vertical at most, either way, when it begins

    def __init__(self, num_envs: int = 1, device: str = "auto", *, disturb: bool = True,
                 weights: dict[str, float] | None = None, **more: object) -> None:
        scene = self.scene()
        scene.floor()
        model = stet.load(scene.text())
        seen = 2 * (model.nq - 7) + 6 + model.nu
        super().__init__(model, num_envs, device, seen, seen + 13, disturb, weights, **more)

    def scene(self) -> Scene:
        """The robot and a box, without ground, with a sensor of contact, "touch"."""
        raise NotImplementedError

    def _make_task(self, nu):
        sim, model = self.sim, self.sim.model
        self._joints = nq = model.nq - 7
        actuated = [model.joints.index(name) for name in model.actuators]
        self._hold = self._plain("hold", self.home[actuated])
        arm = np.array([not name.startswith(("finger", "left", "right")) for name in model.joints[:nq]], float)
        self._joint = self._plain("joint", [self.home[:nq], *self._limits(slice(0, nq)), arm])
        self._noise = self._plain("noise", noise_of((0.01, nq), (1.5, nq), (0.01, 6), (0, nu)))
        self._number = self._plain("numbers", [
            self.dt, *np.ravel(self._box), *np.ravel(self._target), *self._times, self._force, 0.5, self._near,
            self._turn, *(self.weights[name] for name in TERMS)])
        self._own(target=3, clock=1, reached=1)

    def kernels(self, begins):
        sim, model = self.sim, self.sim.model
        touch = sim.columns("step_sensordata", "touch").start
        return [(self._kernel("lift", "k_lift"), (
            sim.qpos, sim.qvel, sim.array("site_xpos"), sim.array("step_sensordata"), self.previous, self.change,
            self.begun, self.dice, self.target, self.clock, self.tick, self.reached, self._joint, self._noise,
            self._number, self.observed, self.worth, self.failed, model.find("sites", self._grasp), touch, self._joints,
            model.nu, self._disturb, int(begins)))]


class YamLiftVectorEnv(LiftVectorEnv):
    """I2RT's YAM, an arm of six joints with a gripper, lifts a cube; after 8 to 12 s the cube lies elsewhere."""

    randomize = tuple(
        Randomize("geom_friction", "[lr]f_down(6|7|8|9|10|11)_collision", component=k, every="world", name=name, **how)
        for k, name, how in ((0, "slide", {"uniform": (0.3, 1.5)}), (1, "spin", {"loguniform": (1e-4, 2e-2)}),
                             (2, "roll", {"loguniform": (1e-5, 5e-3)})))
    _usual = {"lift": 1, "precise": 1, "change": -0.01, "limits": -10, "fast": -0.01}
    _box = (0.2, 0.4), (-0.2, 0.2), (0.02, 0.05)
    _target = (0.3, 0.5), (-0.2, 0.2), (0.2, 0.4)
    _times, _force, _grasp = (8.0, 12.0), 10.0, "grasp_site"
    measured_with = {**LiftVectorEnv.measured_with, "max_episode_steps": 375}  # 7.5 s: the cube was put nowhere else

    def scene(self):
        scene = Scene(find_file("mjlab", "asset_zoo/robots/i2rt_yam/xmls/yam.xml"))
        scene.part("option").attrib.update(timestep="0.005", iterations="10", ls_iterations="20", impratio="10",
                                           cone="elliptic")
        scene.change("geom", ".*_collision", contype=0, conaffinity=0, condim=3, friction=(0.6,))
        scene.change("geom", "(link6|[lr]f)_.*_collision", contype=1, conaffinity=1)
        scene.change("geom", "[lr]f_down(6|7|8|9|10|11)_collision", condim=6, friction=(1, 5e-3, 5e-4),
                     solref=(0.01, 1), priority=1)
        inertias = 0.123153, 0.277411, 0.232763, 0.030154, 0.009126, 0.002868  # kg m², of what each joint turns
        rate = 4 * np.pi  # of a servo, damped twice as much as needed not to swing
        for k, inertia in enumerate(inertias, 1):
            effort, armature = (28, 0.032) if k <= 3 else (10, 0.0018)
            scene.servos(f"joint{k}", inertia * rate**2, 4 * inertia * rate, effort, armature)
        crank, mass = 0.071 / 2.7, 2.781624  # m of the gripper a radian of its motor; kg
        scene.servos("left_finger", mass * (rate / 2) ** 2, 4 * mass * rate / 2, 0.1 * 10 / crank, 0.0018 / crank**2)
        scene.change("body", "arm", pos=(0, 0, 0.01))
        scene.box("cube", (0.02, 0.02, 0.02), 0.05, rgba=(0.8, 0.2, 0.2, 1))
        scene.add("sensor", "contact", name="touch", subtree1="link_6", geom2="floor", data="found force",
                  reduce="maxforce")
        scene.home({"joint2": 1.047, "joint3": 1.05, "joint4": -0.9, "left_finger": 0.01875, "right_finger": -0.01875},
                   cube=(0.3, 0, 0.02))
        return scene


class PandaPickVectorEnv(LiftVectorEnv):
    """Franka's Panda, an arm of seven joints with a gripper, lifts a box from the ground. An action moves what each
    servo holds by 0.04 rad (of the gripper, m) at 1.
    """

    randomize = (Randomize("geom_friction", "box_geom", component=0, uniform=(0.7, 1.3), operation="scale",
                           every="world"),)
    _usual = {"gripper": 4, "brought": 8, "clear": 0.25, "home": 0.3}
    _box = (0.4, 0.7), (-0.2, 0.2), (0.03, 0.03)
    _target = (0.4, 0.7), (-0.2, 0.2), (0.23, 0.43)
    _times, _grasp, _step = (1e6, 1e6), "grip_site", 0.04
    _turn = 0.0  # "brought" counts how it is turned, which the policy does not see
    _defaults = {"frame_skip": 4, "max_episode_steps": 150}

    def scene(self):
        scene = Scene(find_file("robosuite", "models/assets/robots/panda/robot.xml"))
        scene.drop("actuator", "motor")
        scene.attach(find_file("robosuite", "models/assets/grippers/panda_gripper.xml"), "right_hand")
        scene.drop("worldbody", "camera")
        scene.change("site", ".*", rgba=(0, 0, 0, 0))
        scene.change("geom", ".*_collision", group=3)
        scene.part("option").attrib.update(timestep="0.005", iterations="5", ls_iterations="8",
                                           integrator="implicitfast")
        for joints, stiffness, effort in (("joint[12]", 4500, 87), ("joint[34]", 3500, 87), ("joint[567]", 2000, 12)):
            scene.servos(joints, stiffness, stiffness / 10, effort, 0.1)
        scene.change("joint", "finger_joint[12]", armature=0.1, damping=1, frictionloss=0)
        scene.servos("finger_joint1", 350, 10, 100, 0.1)
        scene.add("equality", "joint", joint1="finger_joint1", joint2="finger_joint2", polycoef=(0, -1, 0, 0, 0))
        scene.box("box", (0.02, 0.02, 0.03), 0.1, friction=(1, 0.03, 0.003), solref=(0.01, 1), rgba=(0, 1, 0, 1))
        scene.add("sensor", "contact", name="touch", subtree1="right_gripper", geom2="floor", data="found force",
                  reduce="maxforce")
        scene.home({"joint2": 0.3, "joint4": -1.57079, "joint6": 2.0, "joint7": -0.7853, "finger_joint1": 0.04,
                    "finger_joint2": -0.04}, box=(0.55, 0, 0.03))
        return scene


class YamLiftEnv(Env):
    """One of YamLiftVectorEnv."""

    vector_type = YamLiftVectorEnv


class PandaPickEnv(Env):
    """One of PandaPickVectorEnv."""

    vector_type = PandaPickVectorEnv


TASKS = {"YamLift": YamLiftVectorEnv, "PandaPick": PandaPickVectorEnv}
