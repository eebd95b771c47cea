"""stet.gym's episodes, with the cart-pole: when they end and begin, masks, tensors, and what is refused."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode

import stet
from gym_rig import DEVICES, PHYSICS, act, cartpole as make
from stet.gym import CartPoleVectorEnv

MODES = list(AutoresetMode)


# ---- episodes -------------------------------------------------------------------------------------------------------


class Model:
    """What gymnasium says about episodes, in Python, beside an environment whose observations it takes as they are."""

    def __init__(self, n, mode, limit):
        self.mode, self.limit = mode, limit
        self.steps, self.over = np.zeros(n, int), np.zeros(n, bool)

    def check(self, before, out):
        observation, reward, terminated, truncated, info = out
        fresh = self.over & (self.mode is AutoresetMode.NEXT_STEP)
        self.steps = np.where(fresh, 0, self.steps + 1)
        last = np.array(observation)
        if self.mode is AutoresetMode.SAME_STEP and (terminated | truncated).any():
            for world in np.flatnonzero(terminated | truncated):
                last[world] = info["final_obs"][world]
        failed = (np.abs(last[:, 0]) > 2.4) | (np.abs(last[:, 2]) > np.float32(np.radians(12)))
        assert np.array_equal(terminated, failed & ~fresh)
        assert np.array_equal(truncated, (self.steps >= self.limit) & ~fresh)
        assert np.array_equal(reward, np.where(fresh, 0, 1))
        self.over = terminated | truncated
        begins = fresh if self.mode is AutoresetMode.NEXT_STEP else self.over & (self.mode is AutoresetMode.SAME_STEP)
        assert (np.abs(np.array(observation)[begins]) <= 0.05).all()
        if self.mode is AutoresetMode.SAME_STEP:
            self.steps[self.over] = 0
            assert ("final_obs" in info) == self.over.any()
            if self.over.any():
                assert np.array_equal(info["_final_obs"], self.over) and info["final_info"] == {}
                assert [row is not None for row in info["final_obs"]] == list(self.over)
        else:
            assert info == {}
        return self.over.any()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("physics", PHYSICS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_episodes_end_and_begin(mode, physics, device):
    env, model = make(19, device, physics=physics, autoreset_mode=mode, max_episode_steps=23), Model(19, mode, 23)
    assert env.metadata["autoreset_mode"] is mode
    before, _ = env.reset(seed=2)
    ended = 0
    for k in range(120):
        out = env.step(act(k, 19, seed=4))
        ended += model.check(before, out)
        before = out[0]
    assert ended > 10
    env.close()


def test_truncation_is_at_the_limit_and_0_is_none():
    for limit in (1, 5, 0):
        env = make(2, max_episode_steps=limit)
        env.reset(seed=0)
        late = [bool(env.step(np.array([k % 2, k % 2]))[3].any()) for k in range(6)]
        assert late == {1: [True, False] * 3, 5: [False] * 4 + [True, False], 0: [False] * 6}[limit]
        env.close()


@pytest.mark.parametrize("physics", PHYSICS)
def test_reset_by_mask(physics):
    env = make(5, physics=physics, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=9)
    for k in range(8):
        before = env.step(np.ones(5, int))[0]
    mask = np.array([True, False, False, True, False])
    after, info = env.reset(options={"reset_mask": mask})
    assert info == {} and np.array_equal(after[~mask], before[~mask])
    assert (np.abs(after[mask]) <= 0.05).all() and (np.abs(before[mask]) > 0.05).any(axis=1).all()
    twin = make(5, physics=physics, autoreset_mode=AutoresetMode.DISABLED)
    twin.reset(seed=9)
    assert np.array_equal(twin.reset()[0][mask], after[mask]), "their next episode, whatever happened in the first"
    seeded = env.reset(seed=77, options={"reset_mask": mask})[0]
    assert np.array_equal(seeded[~mask], after[~mask])
    assert np.array_equal(seeded[mask], twin.reset(seed=77)[0][mask])
    later = env.reset()[0]
    assert np.array_equal(later[mask], twin.reset()[0][mask])
    twin.reset(seed=9)
    assert np.array_equal(later[~mask], twin.reset()[0][~mask]), "the others keep their seed"
    env.close(), twin.close()


def test_a_mask_ends_the_wait_for_the_next_step():
    env = make(3, max_episode_steps=4)
    env.reset(seed=0)
    for _ in range(4):
        out = env.step(np.zeros(3, int))
    assert out[3].all()
    env.reset(options={"reset_mask": np.array([True, False, False])})
    reward = env.step(np.zeros(3, int))[1]
    assert list(reward) == [1, 0, 0]
    env.close()


# ---- tensors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_tensors_are_the_arrays_themselves(mode):
    a, b = (make(10, autoreset_mode=mode) for _ in range(2))
    a.reset(seed=1), b.reset(seed=1)
    tensors = a.tensors(np.from_dlpack)
    assert tensors is a.tensors(np.from_dlpack) and tensors.action.flags.writeable
    assert not any(array.flags.writeable for array in tensors[1:5])
    assert (tensors.final_observation is not None) == (mode is AutoresetMode.SAME_STEP)
    for k in range(50):
        tensors.action[:] = act(k, 10)
        out, theirs = a.step_tensors(), b.step(act(k, 10))
        assert out[0] is tensors.observation and out[4] == {}
        for mine, other in zip(out[:4], theirs[:4]):
            assert np.array_equal(mine, other)
        if mode is AutoresetMode.SAME_STEP:
            for world in np.flatnonzero(theirs[2] | theirs[3]):
                assert np.array_equal(tensors.final_observation[world], theirs[4]["final_obs"][world])
    a.close(), b.close()
    assert np.isfinite(tensors.observation).all(), "what was imported lives on"


def test_actions_may_be_handed_over():
    a, b = make(4, continuous=True), make(4, continuous=True)
    a.reset(seed=1), b.reset(seed=1)
    push = np.array([[0.5], [-2], [2], [np.nan]], np.float32)
    out = a.step_tensors(push)
    assert all(isinstance(x, stet.Array) for x in out[:4]) and out[0] is a.observation
    b.step_tensors(np.array([[0.5], [-1], [1], [-1]], np.float32))
    assert np.array_equal(a.observation.numpy(), b.observation.numpy()), "beyond the range is its end"
    a.close(), b.close()


@pytest.mark.parametrize("device", DEVICES)
def test_a_step_stays_on_the_device(device):
    env = make(64, device, autoreset_mode=AutoresetMode.SAME_STEP, max_episode_steps=7)
    env.reset(seed=0)
    for _ in range(5):
        env.step_tensors()
    env.sim.clear_counters()
    for _ in range(20):
        env.step_tensors()
    counters = env.sim.counters()
    assert counters["total"]["bytes_copied"] == 0 and counters["readback"]["done_bytes"] == 0
    assert counters["graph_replay"]["hits"] == 20 and counters["graph_replay"]["misses"] == 0
    assert all(counters[name]["fallbacks"] == 0 for name in ("readback", "args", "graph_replay"))
    env.step(act(0, 64))
    least = 64 * (4 + 4 * 4 + 4 + 1 + 1)
    assert env.sim.counters()["total"]["bytes_copied"] >= least, "NumPy's step brings all of it over"
    env.close()


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_bad_input_is_one_sentence():
    for keywords, words in (
        ({"num_envs": 0}, "num_envs is 0"),
        ({"num_envs": 2.0}, "num_envs is 2.0"),
        ({"max_episode_steps": -1}, "max_episode_steps is -1"),
        ({"physics": "auto"}, "physics is 'auto'"),
        ({"render_mode": "human"}, "render_mode is 'human'"),
        ({"autoreset_mode": "Never"}, "Never"),
    ):
        with pytest.raises(ValueError, match=words):
            CartPoleVectorEnv(device="cpu", **keywords)
    with pytest.raises(stet.Error):
        CartPoleVectorEnv(2, device="cpu", width=-1, render_mode="rgb_array")


def test_bad_actions_are_refused_and_change_nothing():
    env = make(3)
    env.reset(seed=0)
    before = env.observation.numpy()
    for actions in ([0, 1], [0, 1, 2], [0.0, 1.0, 1.0], [[0, 1, 1]], ["a", "b", "c"], None, [-1, 0, 0]):
        with pytest.raises(ValueError, match="not in the action space"):
            env.step(actions)
    assert np.array_equal(env.observation.numpy(), before)
    with pytest.raises(stet.Error):
        env.step_tensors(np.zeros(7, np.int32))
    env.close()


@pytest.mark.parametrize("x", [1.5, -1.01, np.nan, np.inf, 1])
def test_bad_forces_are_refused(x):
    env = make(2, continuous=True)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="not in the action space"):
        env.step(np.array([[0], [x]]))
    env.step(np.array([[-1.0], [1.0]]))
    env.close()


def test_calls_out_of_order():
    env = make(3)
    for call in (lambda: env.step(np.zeros(3, int)), env.step_tensors, env.render,
                 lambda: env.reset(options={"reset_mask": np.array([True, False, False])})):
        with pytest.raises(ResetNeeded):
            call()
    env.reset(seed=0)
    for mask, error in ((np.zeros(3, bool), ValueError), (np.ones(2, bool), ValueError), (np.ones(3, int), TypeError),
                        ([True, False, True], TypeError)):
        with pytest.raises(error, match="reset_mask"):
            env.reset(options={"reset_mask": mask})
    env.close(), env.close()
    for call in (lambda: env.step(np.zeros(3, int)), env.reset, env.render, env.step_tensors,
                 lambda: env.tensors(np.from_dlpack)):
        with pytest.raises(ClosedEnvironmentError):
            call()
