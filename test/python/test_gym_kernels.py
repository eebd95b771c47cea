"""stet.gym.KernelVectorEnv: a task as kernels beside the same as functions over arrays; the step in one call."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import stet
import stet.gym
from gym_rig import DEVICES, device_of
from stet.gym import Randomize
from stet.gym.mujoco import TASKS, AntVectorEnv

MODES = list(AutoresetMode)
N = 6
SOURCE = """#include "stet/lang.h"
/* worth: 1; speed; x, and both rates. before [1]: x of the last step. */
world_kernel void k_balance(const real *qpos, const real *qvel, const real *action, const lint *begun, real *before,
                            real *observed, real *worth, lint *failed, ureal dt, int begins)
{
    each (i, 1) {
        mask fresh = begins ? m_not(ieq(begun[0], isplat(0))) : m_none();
        for (int k = 0; k < 2; ++k) {
            put(observed, k, qpos[k]);
            put(observed, 2 + k, qvel[k]);
            put(worth, 4 + k, qvel[k]);
        }
        put(observed, 4, select(fresh, splat(-1), action[0]));
        put(worth, 0, splat(1));
        put(worth, 1, (qpos[0] - before[0]) / splat(dt));
        put(worth, 2, splat(-2) * action[0]);
        put(worth, 3, qpos[0]);
        put(before, 0, qpos[0]);
        failed[i] = iselect(gt(rabs(qpos[1]), splat((ureal)0.1)), isplat(1), isplat(0));
    }
}
"""


class Kernels(stet.gym.KernelVectorEnv):
    """A cart-pole that falls at times that its actions decide. An observation's last number is the last action."""

    def __init__(self, num_envs=1, device="cpu", **more):
        super().__init__(stet.scenes / "cartpole_classic.xml", num_envs, device, frame_skip=2, observed=5,
                         rewards=["alive", "speed", "effort"], shown=["x", ("rates", 2)], **more)

    def kernels(self, begins):
        before = self.before_x = getattr(self, "before_x", None) or self.sim.zeros((self.num_envs, 1), worlds=True)
        return [(self.sim.kernel(SOURCE), (self.sim.qpos, self.sim.qvel, self.action, self.begun, before,
                                           self.observed, self.worth, self.failed, self.dt, int(begins)))]

    def begin(self, qpos, qvel, draws):
        qpos += draws.uniform(-0.05, 0.05, 2)


class Functions(stet.gym.VectorEnv):
    """The same."""

    def __init__(self, num_envs=1, device="cpu", **more):
        self.action = np.zeros((num_envs, 1))
        super().__init__(stet.scenes / "cartpole_classic.xml", num_envs, device, frame_skip=2,
                         single_observation_space=spaces.Box(-np.inf, np.inf, (5,), np.float64), **more)

    def observation(self, state):
        last = np.where(self.steps[:, None] == 0, -1, self.action)
        return np.concatenate([state.qpos, state.qvel, last], axis=1, dtype=np.float64)

    def track(self, state):
        return state.qpos[:, 0]

    def reward(self, state, action):
        self.action = action
        return {"alive": np.ones(self.num_envs), "speed": (self.after - self.before) / self.dt,
                "effort": -2.0 * action[:, 0]}

    def info(self, state):
        return {"x": state.qpos[:, 0], "rates": state.qvel}

    def terminated(self, state):
        return np.abs(state.qpos[:, 1]) > 0.1

    begin = Kernels.begin


MOTOR = """#include "stet/lang.h"
/* A PD at the motor: `target` says where to, m. */
world_kernel void k_motor(const real *qpos, const real *qvel, const real *target, real *ctrl)
{
    each (i, 1) put(ctrl, i, splat(4) * (target[i] - qpos[i]) - splat(0.5f) * qvel[i]);
}
"""


class KernelMotor(Kernels):
    def actuators(self):
        return [(self.sim.kernel(MOTOR), (self.sim.qpos, self.sim.qvel, self.targets, self.sim.ctrl))]


class FunctionMotor(Functions):
    def actuate(self, state, action):
        return 4 * (action - state.qpos[:, :1]) - np.float32(0.5) * state.qvel[:, :1]


def act(step, n=N):
    return np.random.default_rng((7, step)).uniform(-1, 1, (50, 1)).astype(np.float32)[:n]


def close(a, b):
    """Whether two things that steps say are the same, to a rounding of float."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray) and a.dtype == object:
        return all(x is y is None or close(x, y) for x, y in zip(a, b, strict=True))
    return a.shape == b.shape and (a.dtype == bool) == (b.dtype == bool) and np.allclose(a, b, rtol=1e-6, atol=1e-6)


def run_both(ours, theirs, steps, n=N):
    """Compares two environments over a run, with resets of what is over where they do not reset themselves; returns
    how many episodes ended and were cut.
    """
    ended = np.zeros(2, int)
    assert close(ours.reset(seed=3), theirs.reset(seed=3))
    for k in range(steps):
        a, b = ours.step(act(k, n)), theirs.step(act(k, n))
        assert close(a, b), k
        assert np.array_equal(ours.steps, theirs.steps)
        ended += a[2].sum(), a[3].sum()
        over = a[2] | a[3]
        if ours.metadata["autoreset_mode"] is AutoresetMode.DISABLED and over.any():
            options = {"reset_mask": over}
            assert close(*(tuple(x[over] for x in env.reset(options=options)[:1]) for env in (ours, theirs)))
    ours.close(), theirs.close()
    return ended


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", MODES)
def test_kernels_are_the_functions(mode, device):
    place = device_of(device)
    ours, theirs = (cls(N, autoreset_mode=mode, max_episode_steps=11, **place) for cls in (Kernels, Functions))
    assert ours.single_observation_space == theirs.single_observation_space
    assert run_both(ours, theirs, 60).min() > 2, "both kinds of ends"
    assert ours._call is None, "closed"


@pytest.mark.parametrize("mode", MODES)
def test_noise_and_delays_touch_what_the_actuators_get_alone(mode):
    rows = [Randomize("action", normal=(0, 0.3)), Randomize("action_delay", choice=(0, 2)),
            Randomize("observation", of=[0, 1], normal=(0, 0.1)), Randomize("body_mass", uniform=(0.5, 1))]
    ours, theirs = (cls(N, autoreset_mode=mode, max_episode_steps=9, threads=1, randomize=rows)
                    for cls in (Kernels, Functions))
    assert run_both(ours, theirs, 40).sum() > 2


# ---- one call -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["Ant", "Humanoid", "InvertedPendulum", "Reacher"])
def test_one_call_says_what_the_functions_say(name, mode):
    one, many = (TASKS[name](4, "cpu", autoreset_mode=mode, max_episode_steps=7, threads=1) for _ in range(2))
    one.reset(seed=5), many.reset(seed=5)
    assert one._call is not None
    many._call, shown = None, 0
    for k in range(30):
        u = np.random.default_rng((k, 1)).uniform(-1, 1, one.action_space.shape).astype(np.float32)
        a, b = one.step(u), many.step(u)
        assert close(a, b) and np.array_equal(a[0], b[0])
        assert a[1].dtype == np.float64 and a[2].dtype == a[3].dtype == np.bool_
        over = a[2] | a[3]
        shown += len(a[4])
        if mode is AutoresetMode.DISABLED and over.any():
            one.reset(options={"reset_mask": over}), many.reset(options={"reset_mask": over})
    assert shown > 20
    one.close(), many.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_world_that_diverges_ends_its_episode(mode):
    """In the one call of a step, as in Python's."""
    env = AntVectorEnv(3, autoreset_mode=mode, threads=1)
    env.reset(seed=1)
    assert env._call is not None
    for k in range(4):
        if k == 2:
            qvel = env.sim.qvel.numpy()
            qvel[1] = 1e30
            env.sim.qvel.write(qvel)
        _, _, terminated, truncated, info = env.step(np.zeros((3, 8), np.float32))
        assert terminated.tolist() == [False, k == 2 or (k > 2 and mode == AutoresetMode.DISABLED), False]
        assert not truncated.any() and ("faults" in info) == bool(terminated.any())
        if k == 2:
            assert info["_faults"].tolist() == [False, True, False]
            assert info["faults"].tolist() == [0, stet.info()["faults"]["bad_qvel"], 0]
    env.close()


def test_what_a_step_returned_stays():
    env = Kernels(N, threads=1)
    env.reset(seed=1)
    first = env.step(act(0))
    kept = [x.copy() for x in first[:4]]
    env.step(act(1))
    assert all(np.array_equal(x, y) for x, y in zip(first, kept))
    first[0][:] = 0  # the caller's
    env.close()


def test_actions_are_taken_in_every_form():
    env = Kernels(N, threads=1, isa="f64", autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=1)
    one, wide = act(0), np.zeros((N, 3))
    wide[:, 1:2] = one
    for action in (one, one.astype(np.float64), one.tolist(), wide[:, 1:2], np.ones((N, 1), int)):
        env.step(action)
        assert np.array_equal(env.sim.ctrl.numpy(), np.asarray(action, np.float64))
    for wrong in (np.zeros((N, 2), np.float32), np.zeros(N), 0.0):
        with pytest.raises(ValueError, match=r"the actions have shape \[.*the action space is Box"):
            env.step(wrong)
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.step(one)


def test_what_a_subclass_replaces_counts():
    class Still(AntVectorEnv):
        def reward(self, state, action):
            return super().reward(state, action) | {"reward_still": -np.abs(state.qvel).sum(axis=1)}

    env = Still(2, "cpu", threads=1)
    env.reset(seed=1)
    _, reward, _, _, info = env.step(np.zeros((2, 8)))
    parts = [info[name] for name in info if name.startswith("reward_")]
    assert len(parts) == 5 and np.allclose(reward, sum(parts)) and (info["reward_still"] < 0).all()
    env.close()


def test_pictures_and_views_see_each_step():
    env = Kernels(2, threads=1, pixels=True, width=16, height=16)
    seen = env.reset(seed=1)[0]
    assert seen.shape == (2, 16, 16, 3)
    for k in range(20):
        now = env.step(act(k, 2))[0]
    assert (now != seen).any()
    env.close()
    env = Kernels(2, threads=1)
    env.reset(seed=1)
    steps = []
    whole = env.sim.step
    env.sim.step = lambda *n: (steps.append(n), whole(*n))
    env.step(act(0, 2))
    assert steps == [(2,)]
    env.close()


def test_a_task_without_kernels_is_said():
    class Nothing(stet.gym.KernelVectorEnv):
        pass

    with pytest.raises(NotImplementedError, match="Nothing has no function `kernels`"):
        Nothing(stet.scenes / "cartpole_classic.xml", observed=1, rewards=())
    for returned in None, [3], [("kernel", ())]:
        wrong = type("Wrong", (stet.gym.KernelVectorEnv,), {"kernels": lambda *_: returned})
        with pytest.raises(ValueError, match=r"Wrong.kernels returned no list of launches; return \[\(kernel, argum"):
            wrong(stet.scenes / "cartpole_classic.xml", observed=1, rewards="one")
    with pytest.raises(ValueError, match="Nothing: two terms are named 'up'; give each a name of its own"):
        Nothing(stet.scenes / "cartpole_classic.xml", observed=1, rewards=["up"], shown=["x", "up"])
    with pytest.raises(ValueError, match="observed is 0; give a whole number of at least 1"):
        Nothing(stet.scenes / "cartpole_classic.xml", observed=0, rewards="up")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_actuators_run_in_each_time_step(physics, device, mode):
    more = {**device_of(device), "physics": physics, "autoreset_mode": mode, "max_episode_steps": 30}
    ours, theirs = KernelMotor(N, **more), FunctionMotor(N, **more)
    ended = run_both(ours, theirs, 80)
    assert ended.any(), "the comparison goes over ends of episodes"


def test_actuators_get_delayed_actions_and_kernels_what_the_policy_did():
    rows = [Randomize("action_delay", constant=1)]
    ours, theirs = (task(N, randomize=rows, physics="native", threads=1) for task in (KernelMotor, FunctionMotor))
    for env in (ours, theirs):
        env.reset(seed=3)
        for step in range(12):
            env.step(act(step))
    assert np.array_equal(ours.sim.qpos.numpy(), theirs.sim.qpos.numpy())
    running = ours.steps > 1  # others have no earlier action
    assert running.any() and np.array_equal(ours.action.numpy(), act(11))
    assert np.array_equal(ours.targets.numpy()[running], act(10)[running])
    ours.close()
    theirs.close()


def test_actuators_are_not_for_tensors():
    env = KernelMotor(2, physics="native", threads=1)
    with pytest.raises(ValueError, match="KernelMotor: its `actuators` run in each time step, and TensorVectorEnv"):
        stet.gym.TensorVectorEnv(env)
    env.close()
