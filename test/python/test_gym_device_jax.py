"""Episodes on the device of functions over JAX's arrays, beside the same environment with episodes on the host."""

import contextlib

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
jax = pytest.importorskip("jax")

from gymnasium.vector import AutoresetMode

import stet
import stet.gym
from gym_rig import DEVICES, device_of
from stet.gym import Randomize

jnp = jax.numpy
MODES = list(AutoresetMode)
N = 6
PLACES = [place for place in DEVICES if place != "cuda" or any(one.platform == "gpu" for one in jax.devices())]


class Balance(stet.gym.VectorEnv):
    """A cart-pole that falls at times that its actions and its first state decide, and remembers where it began."""

    def __init__(self, num_envs=N, noise=0.05, **more):
        self.noise = noise
        super().__init__(stet.scenes / "cartpole_classic.xml", num_envs, frame_skip=2, arrays="jax",
                         physics="native", **more)

    def setup(self):
        self.start = jax.device_put(np.zeros((self.num_envs, 2), np.float32), self.device)
        self.memory = {"level": jax.device_put(np.zeros(self.num_envs, np.int32), self.device)}

    def observation(self, state):
        return jnp.concatenate([state.qpos, state.qvel, self.memory["level"][:, None]], 1)

    def track(self, state):
        return state.qpos[:, 0]

    def reward(self, state, action):
        return {"alive": jnp.ones_like(self.after), "speed": (self.after - self.before) / np.float32(self.dt)}

    def info(self, state):
        return {"height": state.xpos[:, 5:6]}

    def terminated(self, state):
        return jnp.abs(state.qpos[:, 1]) > 0.1

    def begin(self, qpos, qvel, draws):
        qpos = qpos + draws.uniform(-self.noise, [self.noise, 2 * self.noise], 2)
        self.start = self.start.at[draws.worlds].set(jnp.asarray(qpos, np.float32))
        self.memory["level"] = self.memory["level"].at[draws.worlds].add(1)
        return qpos, qvel + draws.uniform(-self.noise, self.noise, 2)


def act(step):
    return np.random.default_rng((7, step)).uniform(-1, 1, (N, 1)).astype(np.float32)


def check_info(info, other, mode):
    for name in ("alive", "speed", "height"):
        mask = np.asarray(info["_" + name])
        np.testing.assert_array_equal(mask, other.get("_" + name, np.zeros(N, bool)))
        np.testing.assert_array_equal(info[name], other.get(name, np.zeros_like(info[name])))
    if mode is not AutoresetMode.SAME_STEP:
        return
    over = np.asarray(info["_final_obs"])
    np.testing.assert_array_equal(over, other.get("_final_obs", np.zeros(N, bool)))
    for world in np.flatnonzero(over):
        np.testing.assert_array_equal(info["final_obs"][world], other["final_obs"][world])
        for name in ("alive", "speed", "height"):
            np.testing.assert_array_equal(info["final_info"][name][world], other["final_info"][name][world])


def play_beside(ours, theirs, mode, steps):
    """Steps of both; how many episodes ended by failing and by their length."""
    ended = np.zeros(2, int)
    for k in range(steps):
        a, b = ours.step(jax.device_put(act(k), ours.device)), theirs.step(act(k))
        for x, y in zip(a[:4], b[:4], strict=True):
            assert isinstance(x, jax.Array) and x.dtype == y.dtype and x.devices() == {ours.device}
            np.testing.assert_array_equal(x, y)
        check_info(a[4], b[4], mode)
        np.testing.assert_array_equal(ours.start, theirs.start)
        np.testing.assert_array_equal(ours.steps, theirs.steps)
        over = np.asarray(a[2] | a[3])
        np.testing.assert_array_equal(a[4]["_episode"], over)
        ended += np.asarray(a[2]).sum(), np.asarray(a[3]).sum()
        if mode is AutoresetMode.DISABLED and over.any():
            seen = ours.reset(options={"reset_mask": a[2] | a[3]})[0], theirs.reset(options={"reset_mask": over})[0]
            np.testing.assert_array_equal(*seen)
    return ended


@pytest.mark.parametrize("place, doubles", [*((place, True) for place in PLACES), (PLACES[-1], False)])
@pytest.mark.parametrize("mode", MODES)
def test_episodes_are_those_of_the_host_to_the_bit(mode, place, doubles):
    """Without JAX's doubles if nothing is drawn, as numbers that are drawn have fewer bits then."""
    with jax.enable_x64(doubles):
        keywords = {"autoreset_mode": mode, "max_episode_steps": 11, **device_of(place)}
        ours, theirs = (Balance(noise=0.05 * doubles, episodes=kind, **keywords) for kind in ("device", "host"))
        np.testing.assert_array_equal(*(env.reset(seed=1)[0] for env in (ours, theirs)))
        assert play_beside(ours, theirs, mode, 60)[1 - doubles :].min() > 2
        mask = np.arange(N) % 2 == 0
        for keywords in ({"seed": 5}, {}, {"seed": 8, "options": {"reset_mask": mask}}):
            np.testing.assert_array_equal(*(env.reset(**keywords)[0] for env in (ours, theirs)))
            play_beside(ours, theirs, mode, 8)
        np.testing.assert_array_equal(ours.memory["level"], theirs.memory["level"])
        ours.close(), theirs.close()


ROWS = [
    Randomize("qpos", uniform=(-0.05, 0.05), operation="add"),
    Randomize("qvel", 1, uniform=(-0.4, 0.4), operation="add", every=5),
    Randomize("xfrc_applied", 1, [0, 1], uniform=(-3, 3), every=6, lasting=3),
    Randomize("action_delay", choice=range(3)),
    Randomize("action", uniform=(-0.2, 0.2), clip=(-1, 1)),
    Randomize("observation", uniform=(-0.02, 0.02)),
    Randomize("observation_delay", choice=(0, 2), every="world"),
    Randomize("gravity", normal=(0, 0.2), operation="add"),
    Randomize("body_mass", loguniform=(0.5, 2), operation="scale", every="world"),
]


@pytest.mark.parametrize("mode", MODES)
def test_rows_are_those_of_the_host_to_the_bit(mode):
    with jax.enable_x64(True):
        ours, theirs = (Balance(episodes=kind, autoreset_mode=mode, max_episode_steps=11, randomize=ROWS,
                                **device_of(PLACES[-1])) for kind in ("device", "host"))
        np.testing.assert_array_equal(*(env.reset(seed=1)[0] for env in (ours, theirs)))
        for _ in range(13):
            play_beside(ours, theirs, mode, 2)
            assert list(ours.randomized) == list(theirs.randomized)
            for name, x in ours.randomized.items():
                assert isinstance(x, jax.Array)
                np.testing.assert_array_equal(x, theirs.randomized[name], name)
            np.testing.assert_array_equal(*(env.sim.parameter("gravity") for env in (ours, theirs)))
        ours.close(), theirs.close()


@pytest.mark.parametrize("doubles", [True, False])
def test_draws(doubles):
    seen = []

    class Draws(Balance):
        def begin(self, qpos, qvel, draws):
            seen.append([draws.uniform(0, 1, 5), draws.normal(3), draws.until(lambda x: x[:, 0] > 0.5, self.draw)])
            return qpos, qvel

        def draw(self, draws):
            return draws.uniform(0, 1, 2)

    with jax.enable_x64(doubles):
        for episodes in ("device", "host"):
            with contextlib.closing(Draws(episodes=episodes)) as env:
                env.reset(seed=3)
        for ours, theirs in zip(*seen):
            assert isinstance(ours, jax.Array) and not isinstance(theirs, jax.Array)
            np.testing.assert_allclose(ours, theirs, atol=1e-14 if doubles else 1e-6)
            assert (np.asarray(seen[0][0]) < 1).all() and (np.asarray(seen[0][2])[:, 0] > 0.5).all()


def test_statistics():
    with contextlib.closing(Balance(episodes="device", noise=0.02, max_episode_steps=9)) as env:
        env.reset(seed=3)
        total, steps, ended, fresh = np.zeros(N), np.zeros(N, int), 0, np.zeros(N, bool)
        for k in range(40):
            _, reward, terminated, truncated, info = env.step(act(k))
            total, steps = (total + reward) * ~fresh, (steps + 1) * ~fresh
            fresh = np.asarray(info["_episode"])
            np.testing.assert_array_equal(fresh, terminated | truncated)
            np.testing.assert_array_equal(info["episode"]["l"], steps * fresh)
            np.testing.assert_allclose(info["episode"]["r"], total * fresh, rtol=1e-6)
            ended += fresh.sum()
        assert ended > N


def test_what_is_refused():
    class Nothing(Balance):
        def begin(self, qpos, qvel, draws):
            qpos += 1

    class Part(Balance):
        def begin(self, qpos, qvel, draws):
            return qpos[:2], qvel

    for kind, said in ((Nothing, "begin returned nothing; JAX's arrays cannot be changed in place: return qpos, qvel"),
                       (Part, r"Part.begin returned \[2, 2\], \[6, 2\]; return nothing, or both states, \[6, 2\]")):
        with contextlib.closing(kind(episodes="device")) as env, pytest.raises(ValueError, match=said):
            env.reset(seed=0)
    with pytest.raises(ValueError, match="graph=True is for arrays='torch'"):
        Balance(episodes="device", graph=True)
    with contextlib.closing(Balance(episodes="device")) as env:
        env.reset(seed=0)
        for mask in (jnp.ones(N), jnp.ones(N - 1, bool)):
            with pytest.raises(ValueError, match=r"options\['reset_mask'\] is .*; give bool \[6\]"):
                env.reset(options={"reset_mask": mask})


@pytest.mark.parametrize("mode", MODES)
def test_kf54_a_world_that_diverges_ends_its_episode(mode):
    with jax.enable_x64(True):
        env = Balance(noise=0.01, episodes="device", autoreset_mode=mode)
        env.reset(seed=1)
        for k in range(5):
            if k == 2:
                qvel = env.sim.qvel.numpy()
                qvel[1] = 1e30
                env.sim.qvel.write(qvel)
            _, _, terminated, truncated, info = env.step(jax.device_put(0 * act(k), env.device))
            broke = np.arange(N) == 1 if k == 2 or (k > 2 and mode is AutoresetMode.DISABLED) else np.zeros(N, bool)
            np.testing.assert_array_equal(info["_faults"], broke)
            np.testing.assert_array_equal(info["faults"], broke * stet.info()["faults"]["bad_qvel"])
            assert (np.asarray(terminated) >= broke).all() and not truncated.any()
        env.close()
