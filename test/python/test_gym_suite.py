"""stet.gym's tasks of dm_control's suite beside dm_control's own tasks and physics, from the same states."""

import importlib.util
import os
import sys
import types
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
mujoco = pytest.importorskip("mujoco")
if importlib.util.find_spec("dm_control") is None:
    pytest.skip("dm_control is not installed", allow_module_level=True)

from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import stet
import stet.gym
from stet.gym.suite import TASKS

N = 2


class Anything(type):
    """A class whose attributes are functions that do nothing."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


class Unneeded(types.ModuleType):
    """A module of such classes."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})


class Loader:
    """Finds what dm_control imports for environments, logs and generated models, where it is not installed."""

    names = "dm_env", "lxml", "absl", "OpenGL", "glfw"

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name.split(".")[0] in self.names else None

    def create_module(self, spec):
        return Unneeded(spec.name)

    def exec_module(self, module):
        pass


@pytest.fixture(scope="module")
def domain():
    """Imports a domain of dm_control's suite."""
    os.environ.setdefault("MUJOCO_GL", "disable")
    loader = Loader()
    sys.meta_path.append(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dm_control.mujoco.wrapper.mjbindings import sizes
    empty = mujoco.MjModel.from_xml_string("<mujoco/>")
    for what, struct in (("mjmodel", empty), ("mjdata", mujoco.MjData(empty))):
        for name in list(sizes.array_sizes[what]):  # which this release of MuJoCo does not have any more
            if not hasattr(struct, name):
                del sizes.array_sizes[what][name]
    yield lambda name: importlib.import_module("dm_control.suite." + name)
    sys.meta_path.remove(loader)


TASK_OF = {
    "cartpole": lambda d, task: d.Balance("swingup" in task, "sparse" in task, random=1),
    "pendulum": lambda d, task: d.SwingUp(random=1),
    "acrobot": lambda d, task: d.Balance("sparse" in task, random=1),
    "cheetah": lambda d, task: d.Cheetah(random=1),
    "walker": lambda d, task: d.PlanarWalker({"stand": 0, "walk": d._WALK_SPEED, "run": d._RUN_SPEED}[task], random=1),
    "hopper": lambda d, task: d.Hopper(task == "hop", random=1),
    "point_mass": lambda d, task: d.PointMass(False, random=1),
    "reacher": lambda d, task: d.Reacher(d._BIG_TARGET if task == "easy" else d._SMALL_TARGET, random=1),
}


class Theirs:
    """A task and its physics in dm_control, in the state of a world of ours."""

    def __init__(self, domain, name, ours):
        kind, _, task = name.partition("-")
        module = domain(kind)
        self.ours, self.module = ours, module
        self.physics = module.Physics.from_xml_string(*module.get_model_and_assets())
        self.task = TASK_OF[kind](module, task)
        with self.physics.reset_context():
            self.task.initialize_episode(self.physics)

    def set_state(self, world):
        """Our state; the observation of it."""
        with self.physics.reset_context():
            for name in ("qpos", "qvel"):
                getattr(self.physics.data, name)[:] = self.ours.sim.array(name).numpy()[world]
            warm = self.ours.sim.qacc_warmstart.numpy()[world]
            self.physics.data.qacc_warmstart[: len(warm)] = warm
            if hasattr(self.ours, "target"):
                self.physics.named.model.geom_pos["target", :2] = self.ours.target.numpy()[world]
        return self.see()

    def see(self):
        return np.concatenate([np.ravel(x) for x in self.task.get_observation(self.physics).values()])

    def step(self, action):
        self.physics.set_control(action)
        self.physics.step(self.ours.frame_skip)
        return self.see(), self.task.get_reward(self.physics)


def make(name, n=N, **keywords):
    cls, own = TASKS[name]
    modes = {"autoreset_mode": AutoresetMode.DISABLED, "threads": 1, "max_episode_steps": 0, "physics": "mujoco"}
    return cls(n, "cpu", **{**modes, **own, **keywords})


def compare(domain, ours, name, steps, same_state):
    theirs, worst = [Theirs(domain, name, ours) for _ in range(N)], np.zeros(3)
    first, _ = ours.reset(seed=1)
    seen = [t.set_state(world) for world, t in enumerate(theirs)]
    worst[0] = np.abs(first - seen).max()
    for k in range(steps):
        action = np.random.default_rng((3, k)).uniform(-1, 1, ours.action_space.shape).astype(np.float32)
        if same_state:
            for world, t in enumerate(theirs):
                t.set_state(world)
        observation, reward, terminated, _, _ = ours.step(action)
        assert not terminated.any()
        for world, t in enumerate(theirs):
            seen, worth = t.step(action[world].astype(np.float64))
            error = np.abs(observation[world] - seen) / np.maximum(1, np.abs(seen))
            worst[1:] = np.maximum(worst[1:], [error.max(), abs(reward[world] - worth)])
    ours.close()
    return worst


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("isa, steps, bound", [("f64", 500, 1e-12), (None, 100, 1e-5)])
def test_steps_are_dm_controls(domain, name, isa, steps, bound):
    """A free run."""
    worst = compare(domain, make(name, isa=isa), name, steps, False)
    assert worst.max() < bound, worst


@pytest.mark.parametrize("name", ["cartpole-swingup_sparse", "pendulum-swingup", "acrobot-swingup_sparse",
                                  "reacher-easy", "reacher-hard"])
def test_rewards_near_the_goal_are_dm_controls(domain, name):
    """Which random actions do not find: upright, and with targets at distances from 0 to beyond their radius."""
    ours = make(name, 16, isa="f64")
    theirs = Theirs(domain, name, ours)
    ours.reset(seed=1)
    ours.sim.qpos.write(np.linspace(0, 0.3, 16)[:, None] * np.ones(ours.sim.model.nq))
    ours.sim.qvel.write(np.zeros(ours.sim.qvel.shape))
    if hasattr(ours, "target"):
        finger = 3 * ours.sim.model.find("geoms", "finger")
        ours.target.write(ours.sim.geom_xpos.numpy()[:, finger : finger + 2] + np.linspace(0, 0.07, 16)[:, None])
    rewards = []
    for world in range(16):
        theirs.set_state(world)
        rewards.append(theirs.step(np.zeros(ours.single_action_space.shape))[1])
    assert np.allclose(ours.step(np.zeros(ours.action_space.shape, np.float32))[1], rewards, atol=1e-12)
    assert rewards[0] > 0.9 and rewards[-1] < 0.1
    ours.close()


@pytest.mark.skipif(stet.info()["mujoco"] < "4", reason="native physics needs MuJoCo 4")
@pytest.mark.parametrize("name", TASKS)
def test_steps_of_native_physics_are_dm_controls_to_a_tolerance(domain, name):
    """In float, each step from the same state."""
    worst = compare(domain, make(name, physics="native"), name, 100, True)
    assert worst.max() < 1e-3, worst


@pytest.mark.parametrize("name", TASKS)
def test_limits_are_dm_controls(domain, name):
    ours, module = make(name, max_episode_steps=None), domain(name.partition("-")[0])
    dt = getattr(module, "_CONTROL_TIMESTEP", None) or ours.sim.model.timestep
    assert ours.dt == pytest.approx(dt) and ours.max_episode_steps == round(module._DEFAULT_TIME_LIMIT / dt)
    assert gymnasium.spec(f"stet/{name}-v0").max_episode_steps == ours.max_episode_steps
    ours.close()


@pytest.mark.parametrize("name", sorted({cls._model: name for name, (cls, _) in TASKS.items()}.values()))
def test_beginnings_are_distributed_as_dm_controls(domain, name):
    ours = make(name, 2000)
    theirs = Theirs(domain, name, ours)
    ours.reset(seed=1)
    states = []
    for _ in range(200):
        with theirs.physics.reset_context():
            theirs.task.initialize_episode(theirs.physics)
        target = theirs.physics.named.model.geom_pos["target", :2] if hasattr(ours, "target") else []
        states.append(np.hstack([theirs.physics.data.qpos, theirs.physics.data.qvel, target]))
    target = [ours.target.numpy()] if hasattr(ours, "target") else []
    a, b = np.hstack([ours.sim.qpos.numpy(), ours.sim.qvel.numpy(), *target]), np.array(states)
    moving = np.ptp(b, axis=0) > 1e-9
    assert np.allclose(a[:, ~moving], b[0, ~moving], atol=1e-6)
    assert (np.abs(a.mean(0) - b.mean(0)) < 5 * b.std(0) / 200**0.5 + 1e-6).all()
    assert (np.abs(a.std(0) - b.std(0)) < 0.35 * b.std(0) + 1e-6).all()
    ours.close()


@pytest.mark.parametrize("name", TASKS)
def test_gymnasium_checks_and_makes_them(name):
    alone = gymnasium.make(f"stet/{name}-v0", device="cpu")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_env(alone.unwrapped)
    assert [str(w.message) for w in said if "infinity" not in str(w.message)] == []
    envs = gymnasium.make_vec(f"stet/{name}-v0", num_envs=3, device="cpu")
    assert np.array_equal(envs.reset(seed=4)[0][0], alone.reset(seed=4)[0])
    assert envs.step(envs.action_space.sample())[0] in envs.observation_space
    envs.close(), alone.close()


def test_without_dm_control_it_is_said(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install dm_control"):
        make("cheetah-run")
