"""stet.gym as gymnasium sees it: registration, its checker, its wrappers."""

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

import stet.gym
from gym_rig import act, play

IDS = ("stet/CartPole-v0", "stet/HandPixels-v0")
TWICE = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


@pytest.mark.parametrize("id_", IDS)
def test_made_by_name(id_):
    envs = gymnasium.make_vec("stet.gym:" + id_, num_envs=3, device="cpu")
    assert envs.unwrapped.spec.id == id_ and envs.num_envs == 3
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert envs.max_episode_steps == gymnasium.spec(id_).max_episode_steps
    alone = gymnasium.make(id_, device="cpu")
    assert alone.observation_space == envs.single_observation_space and alone.action_space == envs.single_action_space
    assert np.array_equal(alone.reset(seed=4)[0], envs.reset(seed=4)[0][0]), "one alone is world 0"
    envs.close(), alone.close()


def test_the_limit_of_make_vec_reaches_the_episodes():
    envs = gymnasium.make_vec("stet/CartPole-v0", num_envs=2, device="cpu", max_episode_steps=3)
    envs.reset(seed=0)
    assert [bool(envs.step(np.zeros(2, int))[3].all()) for _ in range(3)] == [False, False, True]
    envs.close()


@pytest.mark.parametrize("vectorization", ["sync", "vector_entry_point"])
def test_vectorized_by_gymnasium_or_by_stet(vectorization):
    envs = gymnasium.make_vec("stet/CartPole-v0", num_envs=2, vectorization_mode=vectorization, device="cpu")
    observation, _ = envs.reset(seed=0)
    assert observation in envs.observation_space
    for k in range(60):
        out = envs.step(act(k, 2))
        assert out[0] in envs.observation_space
        assert all(x.shape == (2,) for x in out[1:4]) and out[2].dtype == out[3].dtype == np.bool_
    envs.close()


@pytest.mark.parametrize("keywords", [{}, {"physics": "mujoco"}, {"continuous": True}, {"render_mode": "rgb_array"}])
def test_gymnasium_checks_the_cart_pole(keywords):
    check("stet/CartPole-v0", may_say="infinity", **keywords)


@pytest.mark.parametrize("keywords", [{}, {"depth": True}, {"render_mode": "rgb_array"}])
def test_gymnasium_checks_the_hand(keywords):
    check("stet/HandPixels-v0", may_say="infinity", width=24, height=16, **keywords)


def check(id_, may_say, **keywords):
    """gymnasium's checker, whose warnings are errors; but for bounds of a space, which it would like to be finite."""
    env = gymnasium.make(id_, device="cpu", **keywords)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_env(env.unwrapped)
    assert [str(w.message) for w in said if may_say not in str(w.message)] == []
    env.close()


@pytest.mark.parametrize("mode", TWICE)
def test_statistics_of_episodes(mode):
    envs = wrappers.RecordEpisodeStatistics(
        stet.gym.CartPoleVectorEnv(12, "cpu", autoreset_mode=mode, max_episode_steps=20)
    )
    envs.reset(seed=3)
    lengths, steps, over = [], np.zeros(12, int), np.zeros(12, bool)
    for k in range(100):
        _, _, terminated, truncated, info = envs.step(act(k, 12))
        fresh = over & (mode is AutoresetMode.NEXT_STEP)
        steps, over = np.where(fresh, 0, steps + 1), terminated | truncated
        if over.any():
            assert np.array_equal(info["episode"]["l"][over], steps[over])
            assert np.array_equal(info["episode"]["r"][over], steps[over])
            lengths += list(steps[over])
        if mode is AutoresetMode.SAME_STEP:
            steps[over] = 0
    assert len(lengths) == envs.episode_count > 12 and max(lengths) == 20 and min(lengths) < 20
    envs.close()


def test_wrappers_stack():
    envs = gymnasium.make_vec("stet/CartPole-v0", num_envs=4, device="cpu")
    envs = wrappers.RecordEpisodeStatistics(envs)
    envs = wrappers.NormalizeObservation(wrappers.ClipReward(wrappers.DtypeObservation(envs, np.float64), 0, 0.5))
    envs = wrappers.DictInfoToList(envs)
    observation, infos = envs.reset(seed=0)
    assert observation.shape == (4, 4) and list(infos) == [{}] * 4
    ended = []
    for k in range(60):
        observation, reward, _, _, infos = envs.step(act(k, 4))
        assert observation.shape == (4, 4) and set(np.unique(reward)) <= {0, 0.5}
        ended += [info["episode"]["l"] for info in infos if "episode" in info]
    assert len(ended) > 4 and np.isfinite(observation).all()
    envs.close()


def test_pictures_through_wrappers():
    envs = gymnasium.make_vec(
        "stet/HandPixels-v0", num_envs=2, device="cpu", width=24, height=16, render_mode="rgb_array"
    )
    envs = wrappers.GrayscaleObservation(envs)
    assert envs.single_observation_space == spaces.Box(0, 255, (16, 24), np.uint8)
    pictures, _ = envs.reset(seed=0)
    assert pictures.shape == (2, 16, 24) and pictures.std() > 5
    assert np.array_equal(envs.render()[1].shape, (16, 24, 3))
    envs.close()


def test_one_alone_is_world_0_of_many():
    alone, many = stet.gym.CartPoleEnv("cpu"), stet.gym.CartPoleVectorEnv(
        3, "cpu", autoreset_mode=AutoresetMode.DISABLED
    )
    assert np.array_equal(alone.reset(seed=8)[0], many.reset(seed=8)[0][0])
    for k in range(10):
        observation, reward, terminated, truncated, info = alone.step(int(act(k, 1)[0]))
        out = many.step(act(k, 3))
        assert np.array_equal(observation, out[0][0]) and (reward, terminated) == (out[1][0], out[2][0])
        assert type(reward) is float and type(terminated) is bool and truncated is False and info == {}
    alone.close(), alone.close(), many.close()


def test_runs_are_repeated():
    envs = gymnasium.make_vec("stet/CartPole-v0", num_envs=5, device="cpu")
    assert play(envs, 50) == play(envs, 50)
    envs.close()


WITHOUT_A_COMPILER = """
import gymnasium, numpy as np, os, stet.gym
for isa in ("portable", "w1", ""):
    os.environ["CC"] = os.environ["PATH"] = "/nowhere"
    for name in {ids!r}:
        envs = gymnasium.make_vec("stet.gym:" + name, num_envs=3, device="cpu", **({{"isa": isa}} if isa else {{}}))
        envs.reset(seed=1)
        print(isa, name, float(np.sum(envs.step(envs.action_space.sample() * 0)[1])))
        cache = envs.unwrapped.sim.counters()["kernel_cache"]
        assert cache["misses"] == cache["reasons"]["shipped"] > 0 and cache["hits"] == 0, cache
        envs.close()
"""


def test_no_compiler_is_needed(tmp_path):
    """The environments' kernels come compiled: on a machine without a compiler, and with an empty cache."""
    import os
    import subprocess
    import sys

    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_COMPILER.format(ids=IDS)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 6 and not list(tmp_path.rglob("*.kernel"))
