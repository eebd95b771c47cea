"""The tasks of stet.gym.robots as functions over arrays, which the kernels are held against."""

import numpy as np
from gymnasium import spaces

import stet
from stet.gym import VectorEnv


def tolerance(x, low, high, margin=0.0, at_margin=0.1, shape="gaussian"):
    """1 between low and high; beyond, it falls with the distance, to at_margin at `margin`; without a margin to 0."""
    x = np.asarray(x, np.float64)
    distance = np.maximum(np.maximum(low - x, x - high), 0)
    if margin == 0:
        return np.where(distance == 0, 1.0, 0.0)
    d = distance / margin
    if shape == "gaussian":
        return np.exp(np.log(at_margin) * d**2)
    fall = (1 - at_margin) * (d if shape == "linear" else d**2)
    scale = 1 - at_margin if shape == "linear" else np.sqrt(1 - at_margin)
    return np.where(d * scale < 1, 1 - fall, 0.0)


class RobotVectorEnv(VectorEnv):
    _defaults = {}
    _reach = 0.5
    _widths = 0.05, 0.05  # of noise on the joints' angles (rad) and velocities (rad/s) at the beginning

    def __init__(self, num_envs=1, device="auto", **more):
        model = stet.load(stet.scenes / f"{self._scene}.xml")
        self.previous = np.zeros((num_envs, model.nu))
        """[num_envs, nu] The last actions; 0 when an episode begins."""
        self._make_task(model, num_envs)
        space = spaces.Box(-1, 1, (model.nu,), np.float32)
        super().__init__(model, num_envs, device, single_action_space=space, **{**self._defaults, **more})
        tables = [self.sim.control_table(name).numpy()[: model.nu] for name in ("hold", "half", "low", "high")]
        self._hold, self._half, self._low, self._high = tables

    def _make_task(self, model, n):
        """What a task's functions need of the model, and its own arrays."""

    def control(self, action):
        action = np.clip(action, -1, 1)
        self.change, self.previous = action - self.previous, action.copy()
        return np.clip(self._hold + self._reach * self._half * action, self._low, self._high)

    def begin(self, qpos, qvel, draws):
        self.previous[draws.worlds] = 0
        joints, dofs = self._noisy()
        qpos[:, joints] += draws.uniform(-self._widths[0], self._widths[0], len(joints))
        qvel[:, dofs] += draws.uniform(-self._widths[1], self._widths[1], len(dofs))

    def _noisy(self):
        """The places in qpos and qvel that begin with noise: hinges and slides of the robot."""
        model = self.sim.model
        robot = [j for j in range(model.njnt) if model.jnt_type[j] >= 2]  # as MuJoCo numbers types
        return model.jnt_qposadr[robot], model.jnt_dofadr[robot]

    @staticmethod
    def _turn(state, place=0):
        """[num_envs, 3, 3] The rotation of the body whose free joint is at this place of qpos; its axes are columns.
        """
        w, x, y, z = state.qpos[:, place + 3 : place + 7].T.astype(np.float64)
        rows = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
        return np.array(rows).transpose(2, 0, 1)

    def _join(self, *parts):
        return np.concatenate(parts, axis=1, dtype=np.float32)


class QuadrupedJoystickVectorEnv(RobotVectorEnv):
    _scene, _reach, _defaults = "quadruped", 0.3, {"frame_skip": 10, "max_episode_steps": 1000}
    ranges = [-0.6, -0.4, -0.7], [1.0, 0.4, 0.7]

    def _make_task(self, model, n):
        self.command = np.zeros((n, 3))

    def begin(self, qpos, qvel, draws):
        super().begin(qpos, qvel, draws)
        self.command[draws.worlds] = draws.uniform(*self.ranges, 3)

    def _see(self, state):
        """Velocity, angular velocity and the direction of gravity, in the trunk's frame."""
        turn = self._turn(state)
        return np.einsum("wji,wj->wi", turn, state.qvel[:, :3]), state.qvel[:, 3:6], -turn[:, 2]

    def observation(self, state):
        angles = state.qpos[:, 7:] - self.home[7:]
        return self._join(*self._see(state), angles, state.qvel[:, 6:], self.previous, self.command)

    def reward(self, state, action):
        velocity, turning, gravity = self._see(state)
        terms = {
            "velocity": np.exp(-np.square(velocity[:, :2] - self.command[:, :2]).sum(axis=1) / 0.25),
            "turning": 0.5 * np.exp(-np.square(turning[:, 2] - self.command[:, 2]) / 0.25),
            "bouncing": -0.5 * np.square(velocity[:, 2]),
            "rolling": -0.05 * np.square(turning[:, :2]).sum(axis=1),
            "tilt": -1.0 * np.square(gravity[:, :2]).sum(axis=1),
            "change": -0.01 * np.square(self.change).sum(axis=1),
        }
        return {name: self.dt * term for name, term in terms.items()}

    def terminated(self, state):
        return self._turn(state)[:, 2, 2] < 0.3


class HumanoidWalkVectorEnv(RobotVectorEnv):
    _scene, _reach, _defaults = "humanoid", 1.0, {"frame_skip": 5, "max_episode_steps": 1000}
    _widths = 0.02, 0.02

    def __init__(self, num_envs=1, device="auto", *, speed=1.0, **more):
        self.speed = speed
        super().__init__(num_envs, device, **more)

    def _make_task(self, model, n):
        self._pelvis, self._torso = (model.find("bodies", name) for name in ("pelvis", "torso"))
        self._head = model.find("sites", "head")

    def observation(self, state):
        gravity = -self._turn(state)[:, 2]
        return self._join(state.qpos[:, 2:3], gravity, self._velocity(state), state.qpos[:, 7:], state.qvel[:, 3:],
                          self.previous)

    def _velocity(self, state):
        return state.subtree_linvel[:, 3 * self._pelvis : 3 * self._pelvis + 3]

    def reward(self, state, action):
        head = state.site_xpos[:, 3 * self._head + 2]
        upright = tolerance(state.xmat[:, 9 * self._torso + 8], 0.9, np.inf, 1.9, 0, "linear")
        small = (4 + tolerance(np.clip(action, -1, 1), 0, 0, 1, 0, "quadratic").mean(axis=1)) / 5
        forward = self._velocity(state)[:, 0]
        least, most = (self.speed, np.inf) if self.speed > 0 else (-0.1, 0.1)
        speed = (1 + 5 * tolerance(forward, least, most, max(self.speed, 0.5), 0, "linear")) / 6
        return upright * tolerance(head, 1.4, np.inf, 0.4) * small * speed

    def terminated(self, state):
        return state.qpos[:, 2] < 0.5


class HandRotateVectorEnv(RobotVectorEnv):
    _scene, _defaults = "hand", {"frame_skip": 10, "max_episode_steps": 500}
    _widths = 0.02, 0.0

    def _make_task(self, model, n):
        joint = model.find("joints", "cube")
        self._place, self._spin = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])

    def _away(self, state):
        return state.qpos[:, self._place : self._place + 3] - self.home[self._place : self._place + 3]

    def observation(self, state):
        hand, cube = slice(0, self._place), slice(self._place + 3, self._place + 7)
        return self._join(state.qpos[:, hand] - self.home[hand], state.qvel, self._away(state), state.qpos[:, cube],
                          self.previous)

    def reward(self, state, action):
        turning = np.einsum("wi,wi->w", self._turn(state, self._place)[:, 2],
                            state.qvel[:, self._spin + 3 : self._spin + 6])
        return {"turning": self.dt * np.clip(turning, -5, 5), "change": -0.01 * self.dt * np.square(self.change).sum(1),
                "dropped": -1.0 * self.terminated(state)}

    def terminated(self, state):
        return np.linalg.norm(self._away(state), axis=1) > 0.1


class ArmReachVectorEnv(RobotVectorEnv):
    _scene, _reach, _defaults = "arm_table", 0.6, {"frame_skip": 10, "max_episode_steps": 200}
    _low_target, _high_target = [0.35, -0.35, 0.55], [0.65, 0.35, 0.85]

    def _make_task(self, model, n):
        self.target, self._grasp = np.zeros((n, 3)), model.find("sites", "grasp")

    def _noisy(self):
        return np.arange(7), np.arange(7)

    def begin(self, qpos, qvel, draws):
        super().begin(qpos, qvel, draws)
        self.target[draws.worlds] = draws.uniform(self._low_target, self._high_target, 3)

    def _hand(self, state):
        return state.site_xpos[:, 3 * self._grasp : 3 * self._grasp + 3].astype(np.float64)

    def observation(self, state):
        hand = self._hand(state)
        return self._join(state.qpos[:, :7], state.qvel[:, :7], hand, self.target, self.target - hand,
                          state.qpos[:, 7:8])

    def reward(self, state, action):
        distance = np.linalg.norm(self.target - self._hand(state), axis=1)
        return {"near": self.dt * tolerance(distance, 0, 0.02, 0.3), **self._effort()}

    def _effort(self):
        return {"change": -0.01 * self.dt * np.square(self.change).sum(axis=1)}


class ArmPickVectorEnv(ArmReachVectorEnv):
    _low_target, _high_target = [0.4, -0.1, 0.55], [0.6, 0.3, 0.75]

    def _make_task(self, model, n):
        super()._make_task(model, n)
        self._box = int(model.jnt_qposadr[model.find("joints", "box")])

    def begin(self, qpos, qvel, draws):
        super().begin(qpos, qvel, draws)
        qpos[:, self._box : self._box + 2] += draws.uniform(-0.03, 0.03, 2)

    def observation(self, state):
        box = state.qpos[:, self._box : self._box + 7]
        return self._join(super().observation(state), box[:, :3] - self._hand(state), box)

    def reward(self, state, action):
        box = state.qpos[:, self._box : self._box + 3].astype(np.float64)
        to_box, to_target = (np.linalg.norm(x, axis=1) for x in (box - self._hand(state), self.target - box))
        return {"grip": self.dt * tolerance(to_box, 0, 0.02, 0.3),
                "place": 4 * self.dt * tolerance(to_target, 0, 0.02, 0.3), **self._effort()}

    def terminated(self, state):
        return state.qpos[:, self._box + 2] < 0.3


FUNCTIONS = {cls.__name__.replace("VectorEnv", ""): cls
             for cls in (QuadrupedJoystickVectorEnv, HumanoidWalkVectorEnv, HandRotateVectorEnv, ArmReachVectorEnv,
                         ArmPickVectorEnv)}
