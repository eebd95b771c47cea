"""stet.gym.VectorEnv with tasks of one's own: episodes beside gymnasium's own vector environment, seeds, resets."""

import hashlib
import warnings
from contextlib import closing

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit, vector as wrappers

import stet
import stet.gym
from gym_rig import DEVICES, device_of

MODES = list(AutoresetMode)
N = 6


class Balance(stet.gym.VectorEnv):
    """A cart-pole that falls at times that its actions decide; without noise all worlds begin alike."""

    def __init__(self, num_envs=1, device="cpu", noise=0.0, **more):
        self.noise = noise
        super().__init__(stet.scenes / "cartpole_classic.xml", num_envs, device, frame_skip=2, **more)

    def observation(self, state):
        return np.concatenate([state.qpos, state.qvel], axis=1)

    def track(self, state):
        return state.qpos[:, 0]

    def reward(self, state, action):
        return {"alive": np.ones(self.num_envs), "speed": (self.after - self.before) / self.dt}

    def terminated(self, state):
        return np.abs(state.qpos[:, 1]) > 0.1

    def begin(self, qpos, qvel, draws):
        qpos += draws.uniform(-self.noise, self.noise, 2)
        qvel += self.noise * draws.normal(2)


class BalanceOne(stet.gym.Env):
    vector_type = Balance


def act(step, n=N):
    """Actions of a step, those of world i are the same for any n."""
    return np.random.default_rng((7, step)).uniform(-1, 1, (50, 1)).astype(np.float32)[:n]


def equal(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray) and a.dtype == object:
        return all(x is y is None or np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    return np.array_equal(a, b)


# ---- episodes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", MODES)
def test_episodes_are_those_of_gymnasiums_own_vector_environment(mode, device):
    place = device_of(device)
    ours = Balance(N, autoreset_mode=mode, max_episode_steps=11, **place)
    theirs = SyncVectorEnv([lambda: TimeLimit(BalanceOne(**place), 11)] * N, autoreset_mode=mode)
    assert np.array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0])
    ended = np.zeros(2, int)
    for k in range(60):
        a, b = ours.step(act(k)), theirs.step(act(k))
        assert [x.dtype for x in a[2:4]] == [np.bool_] * 2 and a[0].dtype == ours.single_observation_space.dtype
        assert np.array_equal(a[0], b[0]) and np.array_equal(a[2], b[2]) and np.array_equal(a[3], b[3])
        assert np.allclose(a[1], b[1], rtol=1e-6)
        assert equal(a[4], b[4])
        ended += a[2].sum(), a[3].sum()
        over = a[2] | a[3]
        if mode is AutoresetMode.DISABLED and over.any():
            fresh, others = (env.reset(options={"reset_mask": over}) for env in (ours, theirs))
            assert np.array_equal(fresh[0], others[0])
    assert ended.min() > 2, "both kinds of ends"
    ours.close(), theirs.close()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_statistics_of_episodes(mode):
    env = wrappers.RecordEpisodeStatistics(Balance(N, autoreset_mode=mode, max_episode_steps=20, noise=0.05))
    env.reset(seed=3)
    lengths, returns = [], np.zeros(N)
    for k in range(100):
        _, reward, terminated, truncated, info = env.step(act(k))
        returns += reward
        over = terminated | truncated
        if over.any():
            lengths += list(info["episode"]["l"][over])
            assert np.allclose(info["episode"]["r"][over], returns[over], rtol=1e-5)
            returns[over] = 0
    assert len(lengths) == env.episode_count > N and max(lengths) == 20 and min(lengths) < 20
    env.close()


def test_gymnasium_checks_it():
    env = BalanceOne(noise=0.05)
    with pytest.warns(UserWarning) as said:
        check_env(env)
    assert all("infinity" in str(w.message) or "a spec" in str(w.message) for w in said)
    env.close()


SENSED = """<mujoco><worldbody><geom type="plane" size="9 9 1"/><body name="box" pos="0 0 1"><freejoint/><geom
type="box" size=".2 .1 .1"/><site name="in" type="box" size=".3 .2 .2"/></body></worldbody><sensor><framequat
objtype="body" objname="box"/><gyro site="in"/><touch site="in"/></sensor></mujoco>"""


class Sensed(stet.gym.VectorEnv):
    """Boxes that begin upside down, on the ground; episodes of two steps."""

    def observation(self, state):
        return np.concatenate([state.sensordata, state.of_step("sensordata"), state.qpos[:, 3:], state.qvel[:, 3:]], 1)

    def reward(self, state, action):
        return np.zeros(self.num_envs)

    def terminated(self, state):
        return self.steps >= 2

    def begin(self, qpos, qvel, draws):
        qpos[:, 2:4] = [0.0999, 0]
        qpos[:, 4] = 1
        qvel[:, 3] = draws.uniform(1, 2, 1)[:, 0]


@pytest.mark.parametrize("physics", ["native", "mujoco"])
@pytest.mark.parametrize("mode", MODES)
def test_kf53_sensors_are_those_of_the_state_that_is_observed(physics, mode, tmp_path):
    """Also in the first observation of an episode, which no step came before."""
    path = tmp_path / "sensed.xml"
    path.write_text(SENSED)
    with closing(Sensed(path, 3, physics=physics, frame_skip=5, threads=1, autoreset_mode=mode)) as env:
        seen, _ = env.reset(seed=2)
        begun, over = np.ones(3, bool), np.zeros(3, bool)
        for _ in range(6):
            sensed, left, quat, spin = seen[:, :8], seen[:, 8:16], seen[:, 16:20], seen[:, 20:]
            np.testing.assert_allclose(sensed[:, :4], quat, atol=1e-5)
            np.testing.assert_allclose(sensed[:, 4:7], spin, atol=1e-4)
            assert (sensed[begun, 7] > 0).all() and (left[begun] == 0).all() and (left[~begun, :4] != 0).any(1).all()
            if mode == AutoresetMode.DISABLED and over.any():
                seen, _ = env.reset(options={"reset_mask": over})
                begun, over = over, np.zeros(3, bool)
                continue
            ended = over
            seen, _, over, _, _ = env.step(np.zeros((3, 0), np.float32))
            begun = over if mode == AutoresetMode.SAME_STEP else ended


def test_partial_resets_touch_no_other_world():
    env = Balance(N, autoreset_mode=AutoresetMode.DISABLED, noise=0.05)
    other = Balance(N, autoreset_mode=AutoresetMode.DISABLED, noise=0.05)
    assert np.array_equal(env.reset(seed=2)[0], other.reset(seed=2)[0])
    mask = np.arange(N) % 2 == 0
    for k in range(5):
        env.step(act(k)), other.step(act(k))
    before = other.step(act(5))[0]
    env.step(act(5))
    seen, _ = env.reset(options={"reset_mask": mask})
    assert np.array_equal(seen[~mask], before[~mask]) and (seen[mask] != before[mask]).all()
    assert np.array_equal(env.steps, np.where(mask, 0, 6))
    a, b = env.step(act(6)), other.step(act(6))
    assert np.array_equal(a[0][~mask], b[0][~mask]) and np.array_equal(a[1][~mask], b[1][~mask])
    env.close(), other.close()


FILTERED = """<mujoco><worldbody><geom type="plane" size="9 9 1"/><body pos="0 0 .3"><joint name="z" type="slide"
axis="0 0 1"/><joint name="x" type="slide" axis="1 0 0" damping="1"/><geom type="box" size=".1 .1 .1"/><body
pos=".2 0 0"><joint name="h" axis="0 1 0" damping=".1"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/></body>
</body></worldbody><actuator><position joint="x" kp="30" timeconst=".2"/><motor joint="h" gear="2"/></actuator>
</mujoco>"""


class Filtered(stet.gym.VectorEnv):
    """A box that falls on the ground, with a filter in one of its actuators."""

    def observation(self, state):
        return np.concatenate([state.qpos, state.qvel], 1)

    def reward(self, state, action):
        return state.qvel[:, 1]

    def terminated(self, state):
        return np.zeros(self.num_envs, bool)

    def begin(self, qpos, qvel, draws):
        qpos[:, 0] += draws.uniform(-0.3, 0, 1)[:, 0]


@pytest.mark.parametrize("physics", ["native", "mujoco"])
def test_kf55_nothing_of_an_episode_reaches_the_next(physics, tmp_path):
    """Delays, filters, warm starts, controls, forces: an episode is the same whatever the world did before."""
    rows = [stet.gym.Randomize("action_delay", constant=2), stet.gym.Randomize("observation_delay", constant=1),
            stet.gym.Randomize("xfrc_applied", 1, uniform=(-1, 1), every=3, lasting=2),
            stet.gym.Randomize("body_mass", 1, uniform=(0.5, 2), operation="scale")]
    path, mask = tmp_path / "filtered.xml", np.array([True, False, True, False])
    path.write_text(FILTERED)
    played, fresh = (Filtered(path, 4, physics=physics, frame_skip=5, threads=1, randomize=rows,
                              autoreset_mode=AutoresetMode.DISABLED) for _ in range(2))
    with closing(played), closing(fresh):
        for env in (played, fresh):
            env.reset(seed=11)
        for k in range(30):
            seen = played.step(np.random.default_rng(k).uniform(-1, 1, (4, 2)).astype(np.float32))[0]
        assert (np.abs(seen[:, 1:3]).max(1) > 1e-3).all(), "all have moved"
        a, b = (env.reset(options={"reset_mask": mask})[0] for env in (played, fresh))
        assert np.array_equal(a[mask], b[mask])
        for k in range(20):
            u = np.random.default_rng(100 + k).uniform(-1, 1, (4, 2)).astype(np.float32)
            a, b = (env.step(u)[:2] for env in (played, fresh))
            assert np.array_equal(a[0][mask], b[0][mask]) and np.array_equal(a[1][mask], b[1][mask]), k
            assert not np.array_equal(a[0][~mask], b[0][~mask]), "the others go on where they were"


# ---- seeds ----------------------------------------------------------------------------------------------------------


def play(env, seed, steps=60):
    digest = hashlib.sha256()
    digest.update(env.reset(seed=seed)[0].tobytes())
    for k in range(steps):
        for x in env.step(act(k, env.num_envs))[:4]:
            digest.update(np.ascontiguousarray(x).tobytes())
    return digest.hexdigest()


def test_a_seed_decides_about_all_episodes():
    env = Balance(N, noise=0.05, max_episode_steps=9)
    assert play(env, 5) == play(env, 5) != play(env, 6)
    seeds = [4, 5, 6, None, 8, 4]
    first = env.reset(seed=seeds)[0]
    again = env.reset(seed=seeds)[0]
    given = [s is not None for s in seeds]
    assert np.array_equal(first[given], again[given]) and not np.array_equal(first[3], again[3])
    assert len(np.unique(first, axis=0)) == N, "world 0 and 5 have the same seed, but are other worlds"
    with pytest.raises(ValueError, match="2 seeds for 6 worlds"):
        env.reset(seed=[1, 2])
    env.close()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_world_does_not_know_how_many_there_are(mode):
    few, many = (Balance(n, autoreset_mode=mode, noise=0.05) for n in (3, 29))
    assert np.array_equal(few.reset(seed=11)[0], many.reset(seed=11)[0][:3])
    ends = 0
    for k in range(60):
        a, b = few.step(act(k, 3)), many.step(act(k, 29))
        assert all(np.array_equal(x, y[:3]) for x, y in zip(a[:4], b[:4]))
        ends += a[2].sum()
    assert ends > 3
    few.close(), many.close()


def test_draws_have_their_distributions():
    n = 2000
    draws = stet.gym.Draws(np.full((n, 2), 3), np.arange(n), np.zeros(n))
    u, v = draws.uniform([-1, 10], [1, 20], 2), draws.normal(5)
    assert u.shape == (n, 2) and v.shape == (n, 5)
    assert np.allclose([u.min(0), u.max(0)], [[-1, 10], [1, 20]], atol=0.05)
    assert np.allclose(u.mean(0), [0, 15], atol=0.3)
    assert abs(v.mean()) < 0.05 and abs(v.std() - 1) < 0.05
    assert np.abs(np.corrcoef(np.hstack([u, v]).T) - np.eye(7)).max() < 0.1


def test_what_is_drawn_again_changes_nothing_else():
    """Neither in the worlds whose rows were good at once, nor in what is drawn afterwards."""
    n = 500
    few, many = (stet.gym.Draws(np.full((k, 2), 3), np.arange(k), np.zeros(k)) for k in (1, n))
    a, b = (d.until(lambda x: x[:, 0] > 0.9, lambda d: d.uniform(0, 1, 1)) for d in (few, many))
    assert b.min() > 0.9 and np.array_equal(a[0], b[0]) and len(np.unique(b)) == n
    c, d = few.uniform(0, 1, 3), many.uniform(0, 1, 3)
    assert np.array_equal(c[0], d[0]) and not np.isin(b, d).any()


def test_draws_are_the_librarys_generator():
    """Philox4x32-10 of counter 0 and key 0: the first words of its published known answers."""
    draws = stet.gym.Draws([[0, 0]], [0], [0])
    words = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert np.array_equal(draws.uniform(0, 2**32, 4)[0], words)


# ---- what functions see ---------------------------------------------------------------------------------------------


def test_functions_see_the_sims_own_memory():
    env = Balance(N)
    env.reset(seed=0)
    env.step(act(0))
    state = stet.gym.State(env.sim)
    assert state.qpos.base is not None and not state.qpos.flags.writeable
    assert np.shares_memory(state.qpos, state.qpos)
    assert np.array_equal(state.xpos, env.sim.xpos.numpy()) and state.site_xpos.shape[0] == N
    with pytest.raises(stet.NotFoundError, match="qposs"):
        state.qposs
    env.close()


def test_spaces_are_found_or_given():
    env = Balance(2)
    assert env.single_observation_space == spaces.Box(-np.inf, np.inf, (4,), np.float32)
    assert env.single_action_space == spaces.Box(-1, 1, (1,), np.float32)
    assert env.dt == 2 * env.sim.model.timestep and env.metadata["render_fps"] == round(1 / env.dt)
    own = Balance(2, single_action_space=spaces.Discrete(3), single_observation_space=spaces.Box(-9, 9, (4,)))
    assert own.action_space == spaces.MultiDiscrete([3, 3]) and own.single_observation_space.low[0] == -9
    env.close(), own.close()


class Choice(Balance):
    """Discrete actions: control makes controls of them."""

    def __init__(self, num_envs=1):
        super().__init__(num_envs, single_action_space=spaces.Discrete(2))

    def control(self, action):
        return (2.0 * action - 1)[:, None]


def test_control_makes_controls_of_actions():
    env = Choice(3)
    env.reset(seed=0)
    env.step(np.array([0, 1, 1]))
    assert np.array_equal(env.sim.ctrl.numpy()[:, 0], [-1, 1, 1])
    env.close()


def find_library(arrays):
    """Its functions, its type of arrays, and whether it has a GPU."""
    if arrays == "torch":
        torch = pytest.importorskip("torch")
        return torch, torch.Tensor, torch.cuda.is_available()
    jax = pytest.importorskip("jax")
    return jax.numpy, jax.Array, any(device.platform == "gpu" for device in jax.devices())


def on_host(x):
    return np.asarray(x.cpu() if hasattr(x, "cpu") else x)


@pytest.mark.parametrize("arrays", ["torch", "jax"])
@pytest.mark.parametrize("mode", MODES)
def test_functions_over_arrays_of_other_libraries(mode, arrays):
    xp, kind, has_gpu = find_library(arrays)

    class Tensors(Balance):
        def observation(self, state):
            assert isinstance(state.qpos, kind)
            return xp.concatenate([state.qpos, state.qvel], 1)

        def reward(self, state, action):
            assert isinstance(action, kind)
            return {"alive": xp.ones_like(self.after), "speed": (self.after - self.before) / self.dt}

        def terminated(self, state):
            return xp.abs(state.qpos[:, 1]) > 0.1

    for device in ["cpu"] + ["cuda"] * (has_gpu and "cuda" in DEVICES):
        keywords = {"noise": 0.05, "autoreset_mode": mode, "max_episode_steps": 12}
        ours, theirs = Tensors(N, device, arrays=arrays, **keywords), Balance(N, device, **keywords)
        first = ours.reset(seed=1)[0]
        assert np.array_equal(on_host(first), theirs.reset(seed=1)[0])
        for k in range(40):
            action = xp.asarray(act(k))
            action = action.to(device) if arrays == "torch" else action
            a, b = ours.step(action), theirs.step(act(k))
            assert all(isinstance(x, kind) for x in a[:4])
            assert all(x.device == first.device for x in a[:4])
            assert all(np.allclose(on_host(x), y, rtol=1e-6) for x, y in zip(a[:4], b[:4]))
            assert a[4].keys() == b[4].keys()
            for world in np.flatnonzero(b[4].get("_final_obs", [])):
                assert np.array_equal(on_host(a[4]["final_obs"][world]), b[4]["final_obs"][world])
        ours.close(), theirs.close()


def test_jax_is_not_given_rounded_doubles():
    jax = pytest.importorskip("jax")
    with pytest.raises(stet.InvalidArgumentError, match="jax_enable_x64"):
        Balance(N, "cpu", arrays="jax", isa="f64")
    with jax.enable_x64(True):
        env = Balance(N, "cpu", arrays="jax", isa="f64")
        assert env._state.qpos.dtype == "float64"
        env.close()


# ---- pictures, wrong use --------------------------------------------------------------------------------------------


def test_pictures():
    env = Balance(2, render_mode="rgb_array", width=40, height=30, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0)
    first = env.render()
    for k in range(9):
        env.step(np.ones((2, 1), np.float32))
    assert len(first) == 2 and first[0].shape == (30, 40, 3) and (first[0] != env.render()[0]).any()
    env.close()


def test_wrong_use_is_said():
    env = Balance(2)
    with pytest.raises(ResetNeeded):
        env.step(act(0, 2))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"\[3, 1\]"):
        env.step(act(0, 3))
    with pytest.raises(TypeError, match="reset_mask"):
        env.reset(options={"reset_mask": [True, False]})
    with pytest.raises(ValueError, match=r"Balance\.reset has no option 'reset_msk'; did you mean 'reset_mask'\?"):
        env.reset(options={"reset_msk": np.array([True, False])})
    one = BalanceOne()
    with pytest.raises(ValueError, match=r"BalanceOne\.reset has no option 'reset_mask'; it takes none"):
        one.reset(options={"reset_mask": np.array([True])})
    one.close()
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.reset()
    with pytest.raises(ValueError, match="'numpy', 'torch' or 'jax'"):
        Balance(2, arrays="cupy")
    with pytest.raises(ValueError, match="frame_skip"):
        stet.gym.VectorEnv(stet.scenes / "hand.xml", frame_skip=0)
    with pytest.raises(NotImplementedError, match="observation"):
        stet.gym.VectorEnv(stet.scenes / "cartpole.xml")
    with pytest.raises(stet.ArgumentTypeError, match="thread"):
        Balance(2, threds=1)
    with pytest.raises(stet.ArgumentTypeError, match="Balance has no argument 'max_steps'; did you mean 'max_episode_"):
        Balance(2, max_steps=1)
    with pytest.raises(ValueError, match="there is no autoreset_mode sometimes here; use .*NEXT_STEP, SAME_STEP, DISA"):
        Balance(2, autoreset_mode="sometimes")
    with pytest.raises(ValueError, match="width is 0; give a whole number of at least 1"):
        Balance(2, pixels=True, width=0)
    with closing(Balance(3)) as env:
        for seed in (-1, [1, -2, 3], 1.5, "abc"):
            with pytest.raises(ValueError, match="a seed is .*; give a whole number of at least 0, one for each world"):
                env.reset(seed=seed)
        with pytest.raises(TypeError, match="options is a 'list'; give a dict, or None"):
            env.reset(options=[])
        env.reset(seed=0)
        with pytest.raises(ValueError, match=r"Balance.step: the actions are complex128; give numbers of the act"):
            env.step(np.zeros((3, 1), complex))
    with pytest.raises(stet.ArgumentTypeError, match=r"randomize is a 'int'; give a list of Randomize\(field, …\)"):
        Balance(3, randomize=3)


@pytest.mark.parametrize("function, returned, said", [
    ("reward", np.ones((3, 1)), r"float64 of shape \[3, 1\]; return an array of shape \[3\]"),
    ("reward", 1.0, r"a 'float'; return an array of shape \[3\]"),
    ("reward", None, r"a 'NoneType'; return an array of shape \[3\]"),
    ("reward", {"one": np.ones(3), "two": np.ones(2)},
     r"float64 of shape \[2\] as 'two'; return an array of shape \[3\]"),
    ("reward", {}, r"a dict without terms; return an array of shape \[3\]"),
    ("terminated", np.zeros(3), r"float64 of shape \[3\]; return an array of bool of shape \[3\]"),
    ("terminated", np.zeros(3, np.int64), r"int64 of shape \[3\]; return an array of bool of shape \[3\]"),
    ("terminated", False, r"a 'bool'; return an array of bool of shape \[3\]"),
    ("track", np.ones(2), r"float64 of shape \[2\]; return an array of shape \[3, …\]"),
    ("info", {"more": 7}, r"a 'int' as 'more'; return an array of shape \[3, …\]"),
    ("info", [7], "a 'list'; return a dict of arrays"),
    ("control", np.zeros((3, 2)), r"float64 of shape \[3, 2\]; return an array of shape \[3, 1\]"),
    ("begin", (1, 2), r"\[\], \[\]; return nothing, or both states, \[3, 2\], \[3, 2\]"),
    ("begin", 7, r"a 'int'; return nothing, or both states, \[3, 2\], \[3, 2\]"),
    ("observation", None, r"a 'NoneType'; return an array of shape \[3, …\]"),
    ("observation", np.zeros(4), r"float64 of shape \[4\]; return an array of shape \[3, …\]"),
])
def test_what_functions_return_is_checked(function, returned, said):
    task = type("Wrong", (Balance,), {function: lambda *_: returned})
    with pytest.raises(ValueError, match=rf"^Wrong\.{function} returned " + said + "$"):
        env = task(3)
        env.reset(seed=0)
        env.step(act(0, 3))


class Diverges(Balance):
    """World 1 at its third step: its speed is beyond all bounds, and the physics puts it back."""

    broken = 0

    def control(self, action):
        if self.steps[1] == 2:
            self.broken += 1
            qvel = self.sim.qvel.numpy()
            qvel[1] = 1e30
            self.sim.qvel.write(qvel)
        return action


@pytest.mark.parametrize("physics", ["native", "mujoco"])
@pytest.mark.parametrize("mode", MODES)
def test_kf54_a_world_that_diverges_ends_its_episode(physics, mode):
    with closing(Diverges(3, physics=physics, autoreset_mode=mode, noise=0.01)) as env:
        env.reset(seed=0)
        for k in range(5):
            _, _, terminated, truncated, info = env.step(0 * act(k, 3))
            assert terminated.tolist() == [False, k == 2 or (k > 2 and mode == AutoresetMode.DISABLED), False]
            assert not truncated.any() and ("faults" in info) == terminated.any()
            if k == 2:
                assert info["_faults"].tolist() == [False, True, False]
                assert info["faults"][1] == stet.info()["faults"]["bad_qvel"] and info["faults"][0] == 0
            if mode == AutoresetMode.SAME_STEP or (mode == AutoresetMode.NEXT_STEP and k > 2):
                assert not env.sim.faults().any()
        assert env.broken == 1


class Rebinds(Balance):
    def begin(self, qpos, qvel, draws):
        qpos = qpos + draws.uniform(-0.1, 0.1, 2)
        qvel += 1


class Writes(Balance):
    def begin(self, qpos, qvel, draws):
        self.sim.qvel[:] = 1


class Replaces(Balance):
    def begin(self, qpos, qvel, draws):
        self.sim.qpos = qpos + 1


class Keeps(Balance):
    def reward(self, state, action):
        state.qpos = state.qpos + 1
        return state.qpos[:, 0]


def test_what_would_be_lost_is_said():
    for kind, error, said in (
        (Rebinds, RuntimeWarning, r"^Rebinds.begin binds qpos to another array .*; change it in place \(qpos\[:\] = …"),
        (Writes, ValueError, r"^Writes.begin wrote into sim.qvel, where its arguments .*; change these instead$"),
        (Replaces, AttributeError, r"^Sim.qpos cannot be replaced; write into it: sim.qpos.write\(…\)"),
        (Keeps, AttributeError, r"^state.qpos shows what the sim has, .* to change the worlds, self.sim.qpos.write"),
    ):
        with closing(kind(3)) as env:
            how = pytest.warns if error is RuntimeWarning else pytest.raises
            with how(error, match=said):
                env.reset(seed=0)
                env.step(act(0, 3))
            if error is RuntimeWarning:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    env.reset(seed=0)


def test_begin_changes_states_in_place_or_returns_them():
    class Returns(Balance):
        def begin(self, qpos, qvel, draws):
            changed = qpos.copy(), qvel.copy()
            super().begin(*changed, draws)
            return changed

    ours, theirs = (kind(3, max_episode_steps=4) for kind in (Returns, Balance))
    assert np.array_equal(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
    for k in range(9):
        assert np.array_equal(ours.step(act(k, 3))[0], theirs.step(act(k, 3))[0])
    ours.close(), theirs.close()


def test_what_a_new_user_gets_wrong():
    with pytest.raises(TypeError, match="Balance has no argument 'worlds'; their number is num_envs"):
        Balance(worlds=3)
    with closing(Balance(3, autoreset_mode="SAME_STEP")) as env:
        assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        assert {"qpos", "site_xpos", "of_step"} <= set(dir(env._state))
        env.reset(seed=0)
        with pytest.raises(ValueError, match="is False everywhere; at least one world"):
            env.reset(options={"reset_mask": np.zeros(3, bool)})
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"observation returned a 'ndarray'; return a torch.Tensor of shape \[3, …\]"):
        Balance(3, "cpu", arrays="torch")

    class Tensors(Balance):
        def observation(self, state):
            return torch.cat([state.qpos, state.qvel], 1)

        def reward(self, state, action):
            return {"alive": torch.ones(3)}

        def terminated(self, state):
            return state.qpos[:, 1].abs() > 0.2

    with closing(Tensors(3, "cpu", arrays="torch")) as env:
        env.reset(seed=0)
        reward = env.step(torch.zeros(3, 1, requires_grad=True))[1]  # of a policy without no_grad
        assert not reward.requires_grad


def test_an_observation_fits_its_space():
    wide = spaces.Box(-1, 1, (5,), np.float32)
    with closing(Balance(3, single_observation_space=wide)) as env:
        with pytest.raises(ValueError, match=r"float32 of shape \[3, 4\]; return an array of shape \[3, 5\]"):
            env.reset(seed=0)
    with closing(type("Lists", (Balance,), {"reward": lambda *_: [1, 2, 3]})(3)) as env:
        env.reset(seed=0)
        assert env.step(act(0, 3))[1].tolist() == [1, 2, 3], "lists are numbers, too"
