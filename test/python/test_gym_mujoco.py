"""stet.gym's MuJoCo environments beside gymnasium's own, from the same states and with the same actions."""

import importlib.util
import inspect
import sys
import types
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
mujoco = pytest.importorskip("mujoco")

if importlib.util.find_spec("glfw") is None:  # gymnasium's renderer wants it at once; nothing here is drawn by it
    sys.modules["gymnasium.envs.mujoco.mujoco_rendering"] = types.SimpleNamespace(MujocoRenderer=lambda *_: None)

from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import stet
import stet.gym
from stet.gym.mujoco import TASKS

N = 2


def load(name, **keywords):
    """gymnasium's own environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gymnasium.make(name + "-v5", **keywords).unwrapped


def make(name, n=N, **keywords):
    own = {"physics": "mujoco", "autoreset_mode": AutoresetMode.DISABLED, "threads": 1}
    return TASKS[name](n, "cpu", **{**own, **keywords})


def set_state(theirs, ours, world):
    """Puts gymnasium's environment into the state of a world, as after a reset; returns its observation."""
    mujoco.mj_resetData(theirs.model, theirs.data)
    warm = ours.sim.qacc_warmstart.numpy()[world]
    theirs.data.qacc_warmstart[: len(warm)] = warm
    theirs.set_state(*(x.numpy()[world].astype(np.float64) for x in (ours.sim.qpos, ours.sim.qvel)))
    return theirs._get_obs()


def act(env, step):
    """Actions of a step, up to a tenth out of bounds; numbers that float has."""
    space = env.single_action_space
    u = np.random.default_rng((3, step)).uniform(-0.05, 1.05, (env.num_envs, *space.shape))
    return (space.low + u * (space.high - space.low)).astype(np.float32)


def error(a, b):
    """Greatest error, relative to numbers above 1."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float((np.abs(a - b) / np.maximum(1, np.abs(b))).max(initial=0))


def compare(ours, theirs, steps, same_state=False):
    """Errors of first observations, observations, rewards and info, and how many episodes ended in both. Episodes that
    end begin again in both; with same_state each step begins in our state.
    """
    worst, ends = np.zeros(4), 0

    def begin(mask):
        seen = ours.reset(options={"reset_mask": mask})[0] if ours._ready else ours.reset(seed=1)[0]
        return max(error(seen[w], set_state(theirs[w], ours, w)) for w in np.flatnonzero(mask))

    worst[0] = begin(np.ones(len(theirs), bool))
    for k in range(steps):
        action = act(ours, k)
        if same_state:
            for world, env in enumerate(theirs):
                set_state(env, ours, world)
        observation, reward, terminated, truncated, info = ours.step(action)
        assert not truncated.any()
        for world, env in enumerate(theirs):
            seen, worth, ended, _, terms = env.step(action[world].astype(np.float64))
            assert terminated[world] == ended
            known = max(error(info[name][world], terms[name]) for name in terms)
            errors = error(observation[world], seen), error(reward[world], worth), known
            worst[1:] = np.maximum(worst[1:], errors)
        ends += terminated.sum()
        if terminated.any():
            worst[0] = max(worst[0], begin(terminated))
    return worst, ends


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("isa, steps, bound", [("f64", 1000, 1e-13), (None, 200, 1e-5)])
def test_steps_are_gymnasiums(name, isa, steps, bound):
    """A free run: only the first states of episodes are taken over. Both are MuJoCo's, so nothing drifts apart: in
    double the states are equal, and float rounds what is seen.
    """
    ours, theirs = make(name, isa=isa, max_episode_steps=0), [load(name) for _ in range(N)]
    worst, ends = compare(ours, theirs, steps)
    assert worst.max() < bound, dict(zip(("first", "observation", "reward", "info"), worst))
    assert ends > 0 or steps < 1000 or name in ("HalfCheetah", "HumanoidStandup", "Pusher", "Reacher", "Swimmer")
    if isa == "f64":
        for world in range(N):
            assert np.array_equal(ours.sim.qpos.numpy()[world], theirs[world].data.qpos)
    ours.close()


# Greatest errors of observation and reward with native physics in float. Its state is MuJoCo's to the solver's
# rounding; RK4 leaves forces, velocities and poses of its last stage, native physics gives those of the new state: what
# shows them (LAST_STAGE) is compared by the reward alone. An ant's contact forces, clipped to 1, may then be any number
# at an impact. A humanoid's own solver, PGS, ends before it has converged; native physics has Newton's method.
NATIVE = {"Ant": (1e-4, 0.1), "HalfCheetah": (2e-3, 1e-4), "Hopper": (1e-4, 1e-4), "Humanoid": (0.1, 0.5),
          "HumanoidStandup": (1e-3, 0.05), "InvertedPendulum": (1e-5, 1e-5), "InvertedDoublePendulum": (1e-4, 1e-3),
          "Pusher": (1e-4, 1e-5), "Reacher": (0.02, 0.02), "Swimmer": (1e-4, 1e-5), "Walker2d": (1e-3, 1e-4)}
HUMANOIDS = ("cinert", "cvel", "qfrc_actuator", "cfrc_ext")
LAST_STAGE = {"Ant": ("cfrc_ext",), "Humanoid": HUMANOIDS, "HumanoidStandup": HUMANOIDS}


@pytest.mark.skipif(stet.info()["mujoco"] < "4", reason="native physics needs MuJoCo 4")
@pytest.mark.parametrize("name", NATIVE)
def test_steps_of_native_physics_are_gymnasiums_to_a_tolerance(name):
    keywords = {f"include_{part}_in_observation": False for part in LAST_STAGE.get(name, ())}
    ours = make(name, physics="native", max_episode_steps=0, **keywords)
    worst, _ = compare(ours, [load(name, **keywords) for _ in range(N)], 150, same_state=True)
    assert worst[1] < NATIVE[name][0] and worst[2] < NATIVE[name][1], worst
    ours.close()


# ---- keywords -------------------------------------------------------------------------------------------------------

OTHERS = {
    "Ant": dict(main_body="torso", include_cfrc_ext_in_observation=False, healthy_z_range=(0.3, 0.9), frame_skip=2,
                exclude_current_positions_from_observation=False, contact_force_range=(-0.5, 2.0),
                contact_cost_weight=0.1),
    "HalfCheetah": dict(forward_reward_weight=2.0, exclude_current_positions_from_observation=False),
    "Hopper": dict(healthy_state_range=(-1.0, 1.0), healthy_angle_range=(-0.1, 0.3), healthy_reward=2.0),
    "Humanoid": dict(include_cinert_in_observation=False, include_qfrc_actuator_in_observation=False,
                     contact_cost_range=(-np.inf, 0.001), terminate_when_unhealthy=False),
    "HumanoidStandup": dict(include_cvel_in_observation=False, include_cfrc_ext_in_observation=False,
                            impact_cost_range=(0.01, 0.02)),
    "InvertedDoublePendulum": dict(healthy_reward=3.0, frame_skip=1),
    "Pusher": dict(reward_near_weight=2.0, reward_dist_weight=3.0, reward_control_weight=4.0),
    "Reacher": dict(reward_dist_weight=3.0, reward_control_weight=4.0),
    "Swimmer": dict(exclude_current_positions_from_observation=False, ctrl_cost_weight=1.0),
    "Walker2d": dict(terminate_when_unhealthy=False, exclude_current_positions_from_observation=False),
}


@pytest.mark.parametrize("name", OTHERS)
def test_keywords_do_what_gymnasiums_do(name):
    ours = make(name, isa="f64", max_episode_steps=0, **OTHERS[name])
    theirs = [load(name, **OTHERS[name]) for _ in range(N)]
    assert ours.single_observation_space == theirs[0].observation_space
    worst, _ = compare(ours, theirs, 60)
    assert worst.max() < 1e-13
    ours.close()


@pytest.mark.parametrize("name", TASKS)
def test_keywords_limits_and_spaces_are_gymnasiums(name):
    ours, theirs, cls = make(name), load(name), TASKS[name]
    defaults = {p.name: p.default for p in inspect.signature(type(theirs).__init__).parameters.values()
                if p.default is not inspect.Parameter.empty}
    del defaults["default_camera_config"]
    assert defaults.pop("xml_file") == cls._model and defaults.pop("frame_skip") == cls._frame_skip
    assert defaults == cls._defaults
    for id_ in (name + "-v5", f"stet/{name}-v5"):
        assert gymnasium.spec(id_).max_episode_steps == ours.max_episode_steps
    assert ours.single_observation_space == theirs.observation_space
    assert ours.single_action_space == theirs.action_space
    assert ours.dt == theirs.dt and ours.metadata["render_fps"] == theirs.metadata["render_fps"]
    ours.close()


# ---- beginnings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_beginnings_are_distributed_as_gymnasiums(name):
    n, few = 4000, 400
    ours, theirs = make(name, n), load(name)
    ours.reset(seed=2), theirs.reset(seed=2)
    a = np.hstack([ours.sim.qpos.numpy(), ours.sim.qvel.numpy()])
    b = np.array([(theirs.reset(), np.hstack([theirs.data.qpos, theirs.data.qvel]))[1] for _ in range(few)])
    width = np.maximum(a.max(0) - a.min(0), 1e-12)
    still = np.ptp(b, axis=0) == 0
    assert np.array_equal(width == 1e-12, still) and np.allclose(a[0, still], b[0, still])
    assert (np.abs(a.mean(0) - b.mean(0)) < 5 * a.std(0) / few**0.5 + 1e-6).all()
    assert (np.abs(a.std(0) - b.std(0)) < 0.06 * width).all()
    if TASKS[name]._noise == "uniform":
        assert (b.min(0) - a.min(0) > -0.02 * width - 1e-6).all() and (a.max(0) - b.max(0) > -0.02 * width - 1e-6).all()
    if name == "Reacher":
        assert np.hypot(*a[:, 2:4].T).max() < 0.2
    ours.close()


# ---- as gymnasium sees them -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_gymnasium_checks_and_makes_them(name):
    how = dict(device="cpu", physics="native")  # "auto" may differ between one world and three
    alone = gymnasium.make(f"stet.gym:stet/{name}-v5", **how)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_env(alone.unwrapped)
    known = "infinity", "symmetric and normalized"  # of gymnasium's spaces
    assert [str(w.message) for w in said if not any(words in str(w.message) for words in known)] == []
    envs = gymnasium.make_vec(f"stet.gym:stet/{name}-v5", num_envs=3, **how)
    observation, _ = envs.reset(seed=4)
    assert observation in envs.observation_space and np.array_equal(observation[0], alone.reset(seed=4)[0])
    out = envs.step(envs.action_space.sample())
    assert out[0] in envs.observation_space and out[1].dtype == np.float64 and out[2].dtype == np.bool_
    envs.close(), alone.close()


def test_models_of_ones_own(tmp_path):
    own = tmp_path / "ant.xml"
    assets = importlib.util.find_spec("gymnasium").submodule_search_locations[0] + "/envs/mujoco/assets/"
    own.write_text(open(assets + "ant.xml").read().replace('timestep="0.01"', 'timestep="0.005"'))
    ours = make("Ant", xml_file=str(own))
    assert ours.dt == 0.025
    ours.close()
    with pytest.raises(FileNotFoundError, match="the installed gymnasium has no model 'aunt.xml'.*pip install"):
        make("Ant", xml_file="aunt.xml")


def test_unknown_keywords_are_said():
    with pytest.raises(stet.ArgumentTypeError, match="healthy_rewards"):
        make("Ant", healthy_rewards=1)


@pytest.mark.skipif(stet.info()["mujoco"] < "4", reason="native physics needs MuJoCo 4")
def test_native_physics_is_taken_where_it_is_as_fast_and_says_so_once(monkeypatch):
    from stet.gym import _base

    monkeypatch.setattr(_base, "_said", set())

    def said_by(**keywords):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            envs = gymnasium.make_vec("stet/HalfCheetah-v5", num_envs=64, **keywords)
        physics, device = envs.unwrapped.sim.physics, envs.unwrapped.sim.device.type
        envs.close()
        return physics, device, [str(w.message) for w in said if "physics" in str(w.message)]

    physics, _, said = said_by()
    assert physics == "native" and len(said) == 1
    assert "gymnasium's observation within 2e-3 and reward within 1e-4; physics=\"mujoco\" gives" in said[0]
    assert said_by()[2] == []  # once
    monkeypatch.setattr(_base, "_said", set())
    assert said_by(physics="native")[::2] == ("native", [])
    assert said_by(physics="mujoco") == ("mujoco", "cpu", [])
