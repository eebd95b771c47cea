"""Observations that are dicts, and models of actuators that run in each time step (VectorEnv.actuate)."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import stet
import stet.gym
from stet.gym import Randomize

N, MODES = 4, list(AutoresetMode)
SCENE = stet.scenes / "cartpole.xml"


class Flat(stet.gym.VectorEnv):
    def __init__(self, num_envs=N, **more):
        super().__init__(SCENE, num_envs, frame_skip=2, threads=1, max_episode_steps=9, **more)

    def observation(self, state):
        return np.concatenate([state.qpos, state.qvel], 1)

    def reward(self, state, action):
        return state.qpos[:, 0]

    def begin(self, qpos, qvel, draws):
        qpos += draws.uniform(-0.1, 0.1, 2)


class Parts(Flat):
    """The same in two parts, of which one comes first by its name."""

    def observation(self, state):
        return {"pos": state.qpos, "a_rate": state.qvel}


def joined(x):
    return np.concatenate([x["pos"], x["a_rate"]], 1)


@pytest.mark.parametrize("mode", MODES)
def test_dicts_are_the_parts(mode):
    rows = [Randomize("observation_delay", choice=(0, 1, 2))]
    flat, parts = (cls(autoreset_mode=mode, randomize=rows) for cls in (Flat, Parts))
    assert parts.single_observation_space == spaces.Dict(
        {"pos": spaces.Box(-np.inf, np.inf, (2,), np.float32), "a_rate": spaces.Box(-np.inf, np.inf, (2,), np.float32)})
    first, seen = flat.reset(seed=1)[0], parts.reset(seed=1)[0]
    assert np.array_equal(joined(seen), first)
    assert parts.observation_space.contains(seen)
    rng = np.random.default_rng(2)
    for _ in range(8 if mode is AutoresetMode.DISABLED else 25):
        action = rng.uniform(-1, 1, (N, 1)).astype(np.float32)
        ours, theirs = parts.step(action), flat.step(action)
        assert np.array_equal(joined(ours[0]), theirs[0])
        assert all(np.array_equal(*pair) for pair in zip(ours[1:4], theirs[1:4]))
        assert ("final_obs" in ours[4]) == ("final_obs" in theirs[4])
        for one, other in zip(ours[4].get("final_obs", ()), theirs[4].get("final_obs", ())):
            assert (one is None) == (other is None)
            assert one is None or np.array_equal(np.concatenate([one["pos"], one["a_rate"]]), other)


def test_noise_of_a_part():
    plain, noisy = Parts(), Parts(randomize=[Randomize("observation", of="a_rate", component=1, constant=5)])
    ours, theirs = noisy.reset(seed=1)[0], plain.reset(seed=1)[0]
    assert np.array_equal(ours["pos"], theirs["pos"])
    np.testing.assert_allclose(ours["a_rate"] - theirs["a_rate"], [[0, 5]] * N, atol=1e-6)
    assert ours["a_rate"].dtype == np.float32
    with pytest.raises(stet.NotFoundError, match="no part is named 'rate' or matches it; did you mean 'a_rate'"):
        Parts(randomize=[Randomize("observation", of="rate", constant=5)])


def test_dicts_of_jax():
    jax = pytest.importorskip("jax")

    class Jax(Parts):
        def begin(self, qpos, qvel, draws):
            return qpos + draws.uniform(-0.1, 0.1, 2), qvel

    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        env = Jax(arrays="jax", episodes="device", physics="native", autoreset_mode=mode)
        host = Parts(physics="native", autoreset_mode=mode)
        ours, theirs = env.reset(seed=1)[0], host.reset(seed=1)[0]
        np.testing.assert_allclose(joined(ours), joined(theirs), atol=1e-6)
        for step in range(20):
            action = np.sin(np.arange(N) + step).astype(np.float32)[:, None]
            ours, theirs = env.step(jax.numpy.asarray(action))[0], host.step(action)[0]
            for k in ("pos", "a_rate"):
                np.testing.assert_allclose(ours[k], theirs[k], rtol=1e-5, atol=1e-6)


def test_dicts_are_checked():
    class Other(Parts):
        def observation(self, state):
            seen = super().observation(state)
            return seen if self.sim.time.host()[0, 0] == 0 else {"pos": seen["pos"]}

    env = Other()
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"returned a dict of \['pos'\]; return a dict of \['a_rate', 'pos'\]"):
        env.step(env.action_space.sample())

    class Wrong(Parts):
        def observation(self, state):
            return {"pos": state.qpos[:2]}

    with pytest.raises(ValueError, match="observation returned float32 of shape .*as 'pos'"):
        Wrong()


class Motor(Flat):
    """A PD at the motor: the policy says where to."""

    def control(self, action):
        return 0.5 * action

    def actuate(self, state, action):
        self.seen.append((self.substep, state.qpos.copy()))
        return 0.8 * (action - state.qpos[:, :1]) - 0.1 * state.qvel[:, :1]

    def setup(self):
        self.seen = []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_actuators_run_in_each_time_step(mode, physics):
    env = Motor(autoreset_mode=mode, physics=physics)
    env.reset(seed=1)
    with stet.Sim(SCENE, N, physics=physics, threads=1) as sim:
        sim.qpos.write(env.sim.qpos.numpy())
        rng = np.random.default_rng(3)
        for _ in range(8):
            action = rng.uniform(-1, 1, (N, 1)).astype(np.float32)
            env.step(action)
            for _ in range(env.frame_skip):
                sim.ctrl.write(0.8 * (0.5 * action - sim.qpos.numpy()[:, :1]) - 0.1 * sim.qvel.numpy()[:, :1])
                sim.step()
            assert np.array_equal(sim.qpos.numpy(), env.sim.qpos.numpy())
    assert [number for number, _ in env.seen] == [0, 1] * 8
    assert not np.array_equal(env.seen[0][1], env.seen[1][1])
    for _ in range(5):  # into the next episode, where there is one
        env.step(env.action_space.sample()) if mode is not AutoresetMode.DISABLED else None


def test_actuators_of_jax():
    jax = pytest.importorskip("jax")

    class Jax(Motor):
        def actuate(self, state, action):
            return 0.8 * (action - state.qpos[:, :1]) - 0.1 * state.qvel[:, :1]

        def begin(self, qpos, qvel, draws):
            return qpos + draws.uniform(-0.1, 0.1, 2), qvel

    env, host = Jax(arrays="jax", episodes="device", physics="native"), Motor(physics="native")
    env.reset(seed=1)
    host.reset(seed=1)
    for step in range(20):  # over the end of the first episode
        action = np.sin(np.arange(N) + step).astype(np.float32)[:, None]
        ours, theirs = env.step(jax.numpy.asarray(action)), host.step(action)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-5)
        assert np.array_equal(ours[3], theirs[3])


def test_actuators_are_checked():
    class Wrong(Flat):
        def actuate(self, state, action):
            return action[:1]

    env = Wrong()
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"actuate returned float32 of shape \[1, 1\]"):
        env.step(env.action_space.sample())

    class Kernels(stet.gym.robots.QuadrupedJoystickVectorEnv):
        def actuate(self, state, action):
            return action

    with pytest.raises(ValueError, match="which run once a step, so it has no `actuate`; write `actuators`"):
        Kernels(2, threads=1)
