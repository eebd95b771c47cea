"""Environments that are saved and put back go on as they did: states, episodes, commands, delays and draws."""

import pickle

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.vector import AutoresetMode

import stet
import stet.gym
from stet.gym import Randomize

N, MODES = 4, list(AutoresetMode)
ROWS = (Randomize("body_mass", of="cart", uniform=(0.5, 2)), Randomize("qpos", uniform=(-0.02, 0.02), operation="add"),
        Randomize("qvel", normal=(0, 0.3), every=3, operation="add", name="kick"),
        Randomize("xfrc_applied", of="pole", uniform=(-1, 1), every=4, lasting=2),
        Randomize("action", normal=(0, 0.1)), Randomize("observation", normal=(0, 0.01)),
        Randomize("action_delay", choice=(0, 1, 2)), Randomize("observation_delay", choice=(0, 1)))


class Follow(stet.gym.VectorEnv):
    """The cart follows a command, which changes now and then; its functions keep what they need."""

    def __init__(self, num_envs=N, scene=stet.scenes / "cartpole.xml", **more):
        super().__init__(scene, num_envs, frame_skip=2, threads=1, max_episode_steps=23, **more)

    def setup(self):
        self.command, self.count = np.zeros(self.num_envs), 0
        self.past, self.kept = [], {"best": np.zeros(self.num_envs), "rounds": [0]}

    def observation(self, state):
        return np.concatenate([state.qpos, state.qvel, self.command[:, None]], 1)

    def reward(self, state, action):
        self.count += 1
        self.past = [*self.past, state.qpos[:, 0].copy()][-3:]
        if self.count % 5 == 0:
            self.command[:] = self.np_random.uniform(-1, 1, self.num_envs)
            self.kept["rounds"].append(self.count)
        self.kept["best"] = np.maximum(self.kept["best"], state.qpos[:, 0])
        return self.kept["best"] - abs(state.qpos[:, 0] - self.command) + sum(self.past) + len(self.kept["rounds"])

    def terminated(self, state):
        return abs(state.qpos[:, 1]) > 0.4

    def begin(self, qpos, qvel, draws):
        qpos += draws.uniform(-0.1, 0.1, 2)
        self.command[draws.worlds] = draws.uniform(-1, 1, 1)[:, 0]


def actions_of(env, steps, seed=5):
    rng = np.random.default_rng(seed)
    space = env.action_space
    return [rng.integers(space.nvec[0], size=env.num_envs) if hasattr(space, "nvec") else
            rng.uniform(-1, 1, space.shape).astype(np.float32) for _ in range(steps)]


def numbers(x):
    return {key: numbers(one) for key, one in x.items()} if isinstance(x, dict) else np.array(x)


def go(env, actions):
    """Everything that the steps give."""
    return [[numbers(part) for part in env.step(action)] for action in actions]


def assert_same(ours, theirs):
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key in ours:
            assert_same(ours[key], theirs[key])
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            assert_same(one, other)
    elif ours.dtype == object:
        for one, other in zip(ours, theirs):
            assert (one is None) == (other is None) and (one is None or np.array_equal(one, other))
    else:
        np.testing.assert_array_equal(ours, theirs)


def check(make, steps=30):
    """Saved in the middle: the same environment, a new one, and one from bytes go on alike."""
    env = make()
    first, later = actions_of(env, 11, 1), actions_of(env, steps, 2)
    env.reset(seed=3)
    go(env, first)
    saved = env.save()
    expected = go(env, later)
    env.restore(saved)
    assert_same(go(env, later), expected)
    other = make()
    other.reset(seed=8)
    go(other, later[:7])
    other.restore(pickle.loads(pickle.dumps(saved)))
    assert_same(go(other, later), expected)
    fresh = make()
    fresh.restore(saved)
    assert_same(go(fresh, later), expected)
    for one in (env, other, fresh):
        one.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_functions(mode, physics):
    if mode is AutoresetMode.DISABLED:
        check(lambda: Follow(physics=physics, autoreset_mode=mode, randomize=ROWS), 8)
    else:
        check(lambda: Follow(physics=physics, autoreset_mode=mode, randomize=ROWS))


NEXT_STEP, SAME_STEP = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP
NAMES = "CartPole-v0", "Ant-v5", "walker-walk-v0", "QuadrupedJoystick-v0", "ArmPick-v0"


@pytest.mark.parametrize(("name", "mode"), [*((name, mode) for name in NAMES for mode in (NEXT_STEP, SAME_STEP)),
                                            ("HandPixels-v0", NEXT_STEP)])
def test_registered(name, mode):
    check(lambda: gymnasium.make_vec(f"stet/{name}", num_envs=N, threads=1, autoreset_mode=mode), 12)


def test_tensors():
    from stet.gym.robots import QuadrupedJoystickVectorEnv

    check(lambda: stet.gym.TensorVectorEnv(QuadrupedJoystickVectorEnv(N, "cpu", physics="native", threads=1)), 12)


def test_jax():
    jax = pytest.importorskip("jax")

    class Jax(Follow):
        def setup(self):
            self.command, self.count = jax.numpy.zeros(self.num_envs), 0

        def observation(self, state):
            return jax.numpy.concatenate([state.qpos, state.qvel, self.command[:, None]], 1)

        def reward(self, state, action):
            self.command = self.command + state.qpos[:, 0]
            return self.command

        def begin(self, qpos, qvel, draws):
            return qpos + draws.uniform(-0.1, 0.1, 2), qvel

    check(lambda: Jax(arrays="jax", episodes="device", physics="native", randomize=ROWS[1:2]))


def test_alone():
    env = gymnasium.make("stet/CartPole-v0").unwrapped
    env.reset(seed=2)
    env.step(1)
    saved = env.save()
    expected = env.step(0)[0]
    env.restore(saved)
    assert np.array_equal(env.step(0)[0], expected)


def test_refusals():
    env, other = Follow(), Follow(3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.save()
    env.reset(seed=1)
    other.reset(seed=1)
    with pytest.raises(stet.InvalidArgumentError, match="saved by a Follow of 4 worlds, and this is a Follow of 3"):
        other.restore(env.save())
    with pytest.raises(stet.ArgumentTypeError, match="what save.. returned, not a 'int'"):
        env.restore(3)
    assert repr(env.save()) == "<stet.gym.Saved: Follow of 4 worlds>"
