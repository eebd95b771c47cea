"""Episodes on the device (VectorEnv, episodes="device") beside the same environment with episodes on the host, and
steps as one graph: on a GPU PyTorch's own, on a CPU a double that plays the same operations again.
"""

import gc
import warnings
from contextlib import closing

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")

from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from torch.utils._python_dispatch import TorchDispatchMode

import stet
import stet.gym
from gym_rig import DEVICES, device_of
from stet.gym import Randomize
from stet.gym._graph import Cuda, StepGraph, find_culprit
from test_gym_randomize import SCENE

MODES = list(AutoresetMode)
N = 6
HAS_GPU = torch.cuda.is_available() and "cuda" in DEVICES
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason="there is no GPU that stet and PyTorch have")


class Balance(stet.gym.VectorEnv):
    """A cart-pole that falls at times that its actions and its first state decide, and remembers where it began."""

    def __init__(self, num_envs=N, device="cpu", noise=0.05, physics="native", **more):
        self.noise = noise
        super().__init__(stet.scenes / "cartpole_classic.xml", num_envs, device, frame_skip=2, arrays="torch",
                         physics=physics, **more)
        self.start = torch.zeros(num_envs, 2, device=self.device)

    def observation(self, state):
        return torch.cat([state.qpos, state.qvel], 1)

    def track(self, state):
        return state.qpos[:, 0]

    def reward(self, state, action):
        return {"alive": torch.ones_like(self.after), "speed": (self.after - self.before) / self.dt}

    def info(self, state):
        return {"height": state.xpos[:, 5]}

    def terminated(self, state):
        return state.qpos[:, 1].abs() > 0.1

    def begin(self, qpos, qvel, draws):
        qpos += draws.uniform(-self.noise, [self.noise, 2 * self.noise], 2)
        qvel += draws.until(lambda x: x[:, 0] > 0, lambda draws: self.noise * draws.normal(2))
        self.start[draws.worlds] = torch.as_tensor(qpos).to(self.start)


class Simple(Balance):
    """As a graph can have it: `until` asks the host."""

    def begin(self, qpos, qvel, draws):
        qpos += draws.uniform(-self.noise, [self.noise, 2 * self.noise], 2)
        qvel += self.noise * draws.normal(2)
        self.start[draws.worlds] = torch.as_tensor(qpos).to(self.start)


def act(step, n=N):
    """Actions of a step, those of world i are the same for any n."""
    return np.random.default_rng((7, step)).uniform(-1, 1, (50, 1)).astype(np.float32)[:n]


def on_host(x):
    return np.asarray(x.cpu() if hasattr(x, "cpu") else x)


def check_equal(ours, theirs, mode):
    """What a step says with episodes on the device, and what it says with episodes on the host."""
    for x, y in zip(ours[:4], theirs[:4], strict=True):
        assert isinstance(x, torch.Tensor) and x.dtype == y.dtype
        np.testing.assert_array_equal(on_host(x), on_host(y))
    info, other = ours[4], theirs[4]
    for name in ("alive", "speed", "height"):
        mask = on_host(info["_" + name])
        np.testing.assert_array_equal(mask, other.get("_" + name, np.zeros(len(mask), bool)))
        np.testing.assert_array_equal(on_host(info[name]), on_host(other.get(name, np.zeros(len(mask)))))
    if mode is not AutoresetMode.SAME_STEP:
        return
    over = on_host(info["_final_obs"])
    np.testing.assert_array_equal(over, other.get("_final_obs", np.zeros(len(over), bool)))
    for world in np.flatnonzero(over):
        np.testing.assert_array_equal(on_host(info["final_obs"])[world], on_host(other["final_obs"][world]))
        for name in ("alive", "speed", "height"):
            assert on_host(info["final_info"][name])[world] == on_host(other["final_info"][name])[world]


def play_beside(ours, theirs, mode, steps, first=0):
    """Steps of both; how many episodes ended by failing and by their length."""
    ended = np.zeros(2, int)
    for k in range(first, first + steps):
        a, b = ours.step(torch.from_numpy(act(k)).to(ours.start.device)), theirs.step(act(k))
        check_equal(a, b, mode)
        np.testing.assert_array_equal(on_host(ours.start), on_host(theirs.start))
        np.testing.assert_array_equal(on_host(ours.steps), theirs.steps)
        ended += on_host(a[2]).sum(), on_host(a[3]).sum()
        over = on_host(a[2] | a[3])
        if mode is AutoresetMode.DISABLED and over.any():
            seen = ours.reset(options={"reset_mask": a[2] | a[3]})[0], theirs.reset(options={"reset_mask": over})[0]
            np.testing.assert_array_equal(*map(on_host, seen))
    return ended


def make_pair(mode, device="cpu", kind=Balance, **more):
    keywords = {"autoreset_mode": mode, "max_episode_steps": 11, **device_of(device), **more}
    return kind(episodes="device", **keywords), kind(**keywords)


# ---- episodes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device, physics", [*((device, "native") for device in DEVICES), (DEVICES[-1], "mujoco")])
@pytest.mark.parametrize("mode", MODES)
def test_episodes_are_those_of_the_host_to_the_bit(mode, device, physics):
    if device == "cuda" and physics == "mujoco":
        with pytest.raises(ValueError, match="with physics='mujoco' a step is not on the device; use 'native'"):
            make_pair(mode, device, physics=physics)
        return
    ours, theirs = make_pair(mode, device, physics=physics)
    np.testing.assert_array_equal(*(on_host(env.reset(seed=1)[0]) for env in (ours, theirs)))
    assert play_beside(ours, theirs, mode, 60).min() > 2, "both kinds of ends"
    mask = np.arange(N) % 2 == 0
    for keywords in ({"seed": 5}, {}, {"seed": 8, "options": {"reset_mask": mask}}, {"seed": [3, None, 4, 5, None, 6]}):
        np.testing.assert_array_equal(*(on_host(env.reset(**keywords)[0]) for env in (ours, theirs)))
        play_beside(ours, theirs, mode, 8)
    np.testing.assert_array_equal(ours.sim.array("time").numpy(), theirs.sim.array("time").numpy())
    np.testing.assert_array_equal(ours.sim.faults(), theirs.sim.faults())
    ours.close(), theirs.close()


class OnHost(gymnasium.vector.VectorWrapper):
    """gymnasium's wrappers want NumPy."""

    def step(self, actions):
        *out, info = self.env.step(torch.from_numpy(actions))
        return *map(on_host, out), info


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_statistics_of_episodes_are_gymnasiums(mode):
    ours, theirs = make_pair(mode, noise=0.02)
    theirs = RecordEpisodeStatistics(OnHost(theirs))
    ours.reset(seed=3), theirs.reset(seed=3)
    ended = 0
    for k in range(70):
        info, other = ours.step(act(k))[4], theirs.step(act(k))[4]
        over = on_host(info["_episode"])
        np.testing.assert_array_equal(over, other.get("_episode", np.zeros(N, bool)))
        for name in "rl" if over.any() else "":
            np.testing.assert_array_equal(on_host(info["episode"][name]), other["episode"][name])
        ended += over.sum()
    assert ended > N
    ours.close(), theirs.close()


class Remembers(Simple):
    """Functions that keep something, which `begin` puts back, counts and replaces; states that it spoils elsewhere."""

    def setup(self):
        self.last = torch.zeros(self.num_envs, 1, device=self.device)
        self.memory = {"level": torch.zeros(self.num_envs, dtype=torch.int64, device=self.device)}

    def reward(self, state, action):
        terms = {**super().reward(state, action), "smooth": -(action - self.last)[:, 0].abs()}
        self.last.copy_(action)
        return terms

    def observation(self, state):
        return torch.cat([super().observation(state), self.last, self.memory["level"][:, None]], 1)

    def begin(self, qpos, qvel, draws):
        super().begin(qpos, qvel, draws)
        self.last[draws.worlds] = self.last.new_full((1,), 7)  # 7 would come from the host, which no graph allows
        self.memory["level"][draws.worlds] += 1
        qpos += 1e9 * ~draws.begins[:, None]


class Replaces(Remembers):
    def begin(self, qpos, qvel, draws):
        super().begin(qpos, qvel, draws)
        self.last = self.last.clone()
        self.last[draws.worlds] = torch.as_tensor(draws.uniform(0, 1, 1)).to(self.last)


@pytest.mark.parametrize("kind", [Remembers, Replaces])
@pytest.mark.parametrize("mode", MODES)
def test_begin_changes_only_worlds_that_begin(mode, kind):
    ours, theirs = make_pair(mode, kind=kind, noise=0.02)
    ours.reset(seed=2), theirs.reset(seed=2)
    play_beside(ours, theirs, mode, 40)
    np.testing.assert_array_equal(ours.memory["level"], theirs.memory["level"])
    assert ours.memory["level"].min() > 2
    ours.close(), theirs.close()


def test_what_functions_keep_is_made_in_time():
    class Late(Balance):
        def __init__(self, **more):
            super().__init__(**more)
            self.scale = 2

        def observation(self, state):
            return self.scale * state.qpos

    with pytest.raises(AttributeError, match="scale") as said:
        Late()
    assert "calls Late.observation to find its space; make what it uses in a method `setup`" in said.value.__notes__[0]
    with closing(Remembers()) as env:
        assert env.device == torch.device("cpu") and env.last.shape == (N, 1)


def test_begin_is_told_what_it_sees():
    class Wrong(Balance):
        def begin(self, qpos, qvel, draws):
            qpos += torch.from_numpy(draws.uniform(-1, 1, 2))

    with closing(Wrong(episodes="device")) as env, pytest.raises(TypeError) as said:
        env.reset(seed=0)
    assert "Wrong.begin: with episodes='device' it sees the arrays of all worlds" in said.value.__notes__[0]

    class Other(Balance):
        def begin(self, qpos, qvel, draws):
            qpos.add_(1)

    with closing(Other()) as env, pytest.raises(AttributeError) as said:
        env.reset(seed=0)
    assert said.value.__notes__[0].startswith("Other.begin: with episodes='host' it sees NumPy's arrays")

    class Mixed(Balance):
        def begin(self, qpos, qvel, draws):
            return qpos.numpy(), qvel

    with closing(Mixed(episodes="device")) as env:
        with pytest.raises(ValueError, match="begin returned a 'ndarray' and a 'Tensor'; return two of 'Tensor'$"):
            env.reset(seed=0)


def test_tensors_are_taken_where_episodes_are_on_the_host():
    with closing(Balance()) as env, closing(Balance()) as other:
        env.reset(seed=1), other.reset(seed=1)
        mask = np.arange(N) % 2 == 0
        seen = [one.reset(options={"reset_mask": m})[0] for one, m in ((env, torch.from_numpy(mask)), (other, mask))]
        assert torch.equal(*seen)
        for actions in (None, "left", np.zeros((N, 1), object), torch.zeros(N, 1, dtype=torch.complex64)):
            with pytest.raises(ValueError, match=r"^Balance.step: the actions are .* action space"):
                env.step(actions)


def test_pictures():
    ours, theirs = make_pair(AutoresetMode.NEXT_STEP, pixels=True, width=24, height=16)
    first = [env.reset(seed=0)[0] for env in (ours, theirs)]
    assert first[0].shape == (N, 16, 24, 3) and torch.equal(*first)
    for k in range(15):
        assert torch.equal(*(env.step(act(k))[0] for env in (ours, theirs)))
    ours.close(), theirs.close()


def test_a_closed_one_says_so():
    env = Balance(episodes="device")
    env.reset(seed=0)
    env.close()
    for call in (lambda: env.step(act(0)), env.reset):
        with pytest.raises(ClosedEnvironmentError, match="Balance was closed"):
            call()
    assert not env.captured


def test_one_alone():
    class One(stet.gym.Env):
        vector_type = Balance

    with closing(One(episodes="device", max_episode_steps=3)) as env:
        env.reset(seed=0)
        for k in range(3):
            _, _, _, truncated, info = env.step(act(k, 1)[0])
        assert truncated and info["episode"]["l"] == 3


def test_what_is_refused():
    for keywords, said in (
        ({"episodes": "gpu"}, "episodes is 'gpu'; use 'host' or 'device'"),
        ({"graph": True}, "graph=True needs episodes='device'"),
        ({"episodes": "device", "graph": True, "randomize": [Randomize("gravity", constant=(0, 0, -5))]},
         r"randomize\[0\], gravity: graph=True leaves the host nothing to draw in a step; use every='world'"),
        ({"episodes": "device", "graph": True, "autoreset_mode": AutoresetMode.SAME_STEP, "pixels": True},
         "with pixels graph=True needs autoreset_mode NEXT_STEP or DISABLED"),
    ):
        with pytest.raises(ValueError, match=said):
            Balance(**keywords)
    with closing(Balance(episodes="device")) as env:
        env.reset(seed=0)
        mask = torch.ones(N, dtype=torch.bool)
        with pytest.raises(ValueError, match=r"Balance\.reset has no option 'mask'; it takes reset_mask"):
            env.reset(options={"mask": mask})
    with pytest.raises(ValueError, match="for functions over tensors; give arrays='torch' or 'jax'"):
        stet.gym.VectorEnv(stet.scenes / "cartpole.xml", episodes="device")
    with pytest.raises(ValueError, match="its task is kernels; .* stet.gym.TensorVectorEnv"):
        gymnasium.make_vec("stet.gym:stet/QuadrupedJoystick-v0", 2, arrays="torch", episodes="device")


def test_stet_works_in_pytorchs_stream(monkeypatch):
    class Stream:  # PyTorch's is neither equal nor unequal to None
        def __init__(self, number):
            self.number = number

        def __eq__(self, other):
            return other is not None and self.number == other.number

        def __ne__(self, other):
            return other is not None and self.number != other.number

    class Sim:
        def use_stream(self, stream):
            used.append(stream.number)
            self._in_stream = stream

    used, calls = [], Cuda(Sim(), torch.device("cuda"))
    for number in (0, 0, 3, 3, 0):
        monkeypatch.setattr(torch.cuda, "current_stream", lambda device, number=number: Stream(number))
        calls.follow()
    assert used == [0, 3, 0]


# ---- domain randomisation -------------------------------------------------------------------------------------------

THERE = [  # rows that are drawn on the device
    Randomize("qpos", uniform=(-0.05, 0.05), operation="add"),
    Randomize("qvel", 1, uniform=(-0.4, 0.4), operation="add", every=5),
    Randomize("xfrc_applied", 1, [0, 1], uniform=(-3, 3), every=6, lasting=3),
    Randomize("qfrc_applied", 0, choice=(-0.5, 0, 0.5), every="world"),
    Randomize("action_delay", choice=range(3)),
    Randomize("action", uniform=(-0.2, 0.2), clip=(-1, 1)),
    Randomize("observation", uniform=(-0.02, 0.02)),
    Randomize("observation", [0, 3], choice=((1, 2), (3, 5), (0, 0)), correlated=True, name="bias", every="episode"),
    Randomize("observation_delay", choice=(0, 2), every="world"),
]
HERE = [  # rows that the host draws
    Randomize("gravity", normal=(0, 0.2), operation="add"),
    Randomize("body_mass", loguniform=(0.5, 2), operation="scale", every="world"),
    Randomize("dof_damping", uniform=(0, 0.1), every=4),
]


def check_rows(ours, theirs):
    """What was drawn, and what came of it."""
    assert list(ours.randomized) == list(theirs.randomized)
    for name, x in ours.randomized.items():
        assert isinstance(x, torch.Tensor)
        np.testing.assert_array_equal(on_host(x), theirs.randomized[name], name)
    for name in ("gravity", "body_mass", "dof_damping"):
        np.testing.assert_array_equal(*(env.sim.parameter(name) for env in (ours, theirs)))
    for name in ("xfrc_applied", "qfrc_applied", "qpos", "qvel"):
        np.testing.assert_array_equal(*(env.sim.array(name).numpy() for env in (ours, theirs)))


def play_rows_beside(ours, theirs, mode, steps=60):
    ended = 0
    for k in range(steps):
        ended += play_beside(ours, theirs, mode, 1, k).sum()
        check_rows(ours, theirs)
    return ended


@pytest.mark.parametrize("kind", [Balance, Remembers])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", MODES)
def test_rows_are_those_of_the_host_to_the_bit(mode, device, kind):
    ours, theirs = make_pair(mode, device, kind, randomize=THERE + HERE)
    np.testing.assert_array_equal(*(on_host(env.reset(seed=1)[0]) for env in (ours, theirs)))
    check_rows(ours, theirs)
    assert play_rows_beside(ours, theirs, mode) > 2 * N
    mask = np.arange(N) % 2 == 0
    for keywords in ({"seed": 5}, {}, {"seed": 8, "options": {"reset_mask": mask}}, {"options": {"reset_mask": ~mask}}):
        np.testing.assert_array_equal(*(on_host(env.reset(**keywords)[0]) for env in (ours, theirs)))
        check_rows(ours, theirs)
        play_rows_beside(ours, theirs, mode, 8)
    ours.close(), theirs.close()


class Things(stet.gym.VectorEnv):
    """A scene with joints of all kinds, seen as it is; `begin` is the base's."""

    def __init__(self, num_envs=N, device="cpu", **more):
        super().__init__(SCENE, num_envs, device, arrays="torch", physics="native", max_episode_steps=9, **more)

    def observation(self, state):
        return torch.cat([state.qpos, state.qvel], 1)

    def reward(self, state, action):
        return state.qvel[:, 0]


@pytest.mark.parametrize("mode", MODES)
def test_quaternions_of_rows(mode):
    rows = [Randomize("qpos", uniform=(-0.3, 0.3), operation="add"),
            Randomize("qpos", "left/ball", uniform=(0.9, 1.1), operation="scale", every=3, name="kick")]
    ours, theirs = (Things(episodes=episodes, randomize=rows, autoreset_mode=mode, threads=1)
                    for episodes in ("device", "host"))
    np.testing.assert_array_equal(*(on_host(env.reset(seed=1)[0]) for env in (ours, theirs)))
    for _ in range(25):
        for x, y in zip(*(env.step(np.zeros((N, 2), np.float32))[:4] for env in (ours, theirs))):
            np.testing.assert_array_equal(on_host(x), on_host(y))
        np.testing.assert_allclose(np.linalg.norm(ours.sim.qpos.numpy()[:, 3:7], axis=1), 1, atol=1e-6)
    ours.close(), theirs.close()


def test_functions_of_another_library_in_rows():
    """log, exp and cos of PyTorch may differ in the last bit from NumPy's."""
    rows = [Randomize("observation", normal=(0, 0.1)), Randomize("qvel", loguniform=(0.1, 1))]
    ours, theirs = make_pair(AutoresetMode.NEXT_STEP, kind=Simple, randomize=rows)
    seen = [on_host(env.reset(seed=1)[0]) for env in (ours, theirs)]
    for k in range(30):
        np.testing.assert_allclose(*seen, rtol=1e-5, atol=1e-6)
        seen = [on_host(env.step(act(k))[0]) for env in (ours, theirs)]
    ours.close(), theirs.close()


# ---- a step as one graph, with a double of PyTorch's ----------------------------------------------------------------


class Tape(TorchDispatchMode):
    """Operations of PyTorch, and what stet did between them, in their order; each can be played again."""

    def __init__(self):
        super().__init__()
        self.plays = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))

        def play():
            new = func(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor) and new.data_ptr() != out.data_ptr():
                out.copy_(new)

        self.plays.append(play)
        return out


class Double:
    """PyTorch's graphs on a CPU: a capture runs the step and notes it, and the first replay is that run."""

    def __init__(self, env, tensors=True):
        self.tape, self.env, self.recorded = None, env, True
        env.sim.replayed = self.check_recording
        library, device = env._library, env._device
        for owner, name in ((library, "write"), (env, "_advance"), (device, "_launch"), (device, "_put_back")):
            setattr(owner, name, self.noting(getattr(owner, name)))
        library.see = self.noting(library.see, copied=True)

    def noting(self, call, copied=False):
        def note(*args):
            out = call(*args)
            if self.tape is not None:
                self.tape.plays.append((lambda: out.copy_(call(*args))) if copied else (lambda: call(*args)))
            return out

        return note

    def check_recording(self, number):
        if not self.recorded:
            self.recorded = True
            raise stet.NotFoundError("the recording is gone")

    def watch(self, run):
        return run(), ""

    def capture(self, run):
        assert not gc.isenabled(), "what it frees would end a capture"
        self.tape = Tape()
        try:
            with self.tape:
                out = run()
            plays = self.tape.plays
        finally:
            self.tape = None
        return Replay(plays), out, 1


class Replay:
    def __init__(self, plays):
        self.plays, self.played = plays, 0

    def replay(self):
        for play in self.plays if self.played else ():
            play()
        self.played += 1


def give_graph(env):
    """A step of the environment is a graph of the double's from now on."""
    env._device._looks = False  # as on a GPU
    env._device.graph = StepGraph(env, env._device._run, [], Double(env))
    return env._device.graph


@pytest.mark.parametrize("mode", MODES)
def test_replays_are_steps(mode):
    ours, theirs = make_pair(mode, kind=Remembers)
    graph = give_graph(ours)
    np.testing.assert_array_equal(*(on_host(env.reset(seed=1)[0]) for env in (ours, theirs)))
    assert not ours.captured
    assert play_beside(ours, theirs, mode, 60).min() > 1
    assert ours.captured and graph.captures == 1 and not graph.refused and gc.isenabled()
    for keywords in ({"seed": 5}, {}, {"seed": 8, "options": {"reset_mask": np.arange(N) % 2 == 0}}):
        np.testing.assert_array_equal(*(on_host(env.reset(**keywords)[0]) for env in (ours, theirs)))
        play_beside(ours, theirs, mode, 8)
    assert ours.captured and graph.captures == 1, "seeds and resets are no reason for another"
    ours.close(), theirs.close()


@pytest.mark.parametrize("mode", MODES)
def test_replays_draw_rows(mode):
    rows = [*THERE, Randomize("body_mass", uniform=(0.5, 2), operation="scale", every="world")]
    ours, theirs = make_pair(mode, kind=Remembers, noise=0.02, randomize=rows)
    graph = give_graph(ours)
    ours.reset(seed=1), theirs.reset(seed=1)
    assert play_rows_beside(ours, theirs, mode, 40) > N
    assert ours.captured and graph.captures == 1
    for captures, keywords in ((1, {}), (2, {"seed": 5})):  # whose masses are other ones
        ours.reset(**keywords), theirs.reset(**keywords)
        play_rows_beside(ours, theirs, mode, 12)
        assert ours.captured and graph.captures == captures
    ours.close(), theirs.close()


def test_what_changes_is_captured_again():
    ours, theirs = make_pair(AutoresetMode.NEXT_STEP, kind=Simple)
    graph = give_graph(ours)
    ours.reset(seed=1), theirs.reset(seed=1)
    play_beside(ours, theirs, AutoresetMode.NEXT_STEP, 8)
    for env in (ours, theirs):
        env.sim.set_parameter("gravity", [0, 0, -3])
    assert not ours.captured
    play_beside(ours, theirs, AutoresetMode.NEXT_STEP, 8, 8)
    assert ours.captured and graph.captures == 2
    graph._calls.recorded = False  # as when memory of stet's part was made anew
    play_beside(ours, theirs, AutoresetMode.NEXT_STEP, 8, 16)
    assert ours.captured and graph.captures == 3
    ours.close(), theirs.close()


def test_now_and_then_the_host_looks(monkeypatch):
    monkeypatch.setattr("stet.gym._graph._LOOK", 5)
    ours, theirs = make_pair(AutoresetMode.NEXT_STEP, kind=Simple)
    graph = give_graph(ours)
    ours.reset(seed=1), theirs.reset(seed=1)
    play_beside(ours, theirs, AutoresetMode.NEXT_STEP, 30)
    assert graph.captures == 1 and graph._graph.played < 30 - 3
    rewards = {id(ours.step(act(k))[1]) for k in range(10)}
    assert len(rewards) == 1, "what a step returns lies where the graph has it"
    ours.close(), theirs.close()


class Rebinds(Simple):
    def reward(self, state, action):
        self.last = action
        return super().reward(state, action)


class Raises(Simple):
    calls = 0

    def terminated(self, state):
        Raises.calls += 1
        if Raises.calls > 3:
            raise RuntimeError("operation not permitted when stream is capturing\nmore of it")
        return super().terminated(state)


@pytest.mark.parametrize("kind, why", [
    (Rebinds, r"self\.last is bound to another object in the step, .* write into a tensor instead"),
    (Raises, r"terminated, line \d+: RuntimeError: operation not permitted when stream is capturing$"),
])
def test_what_cannot_be_captured_is_said_once(kind, why):
    Raises.calls = 0
    with closing(kind(episodes="device")) as env:
        graph = give_graph(env)
        env.reset(seed=0)
        with pytest.warns(RuntimeWarning, match=f"^{kind.__name__}: the step is not captured as one graph, .*" + why):
            for k in range(4):
                try:
                    env.step(act(k))
                except RuntimeError:
                    assert kind is Raises  # and does so outside of the capture, too
        assert not env.captured and graph.refused and graph.captures == 0
        Raises.calls = -100
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for k in range(5):
                env.step(act(k))


def test_the_first_error_is_the_culprit():
    def reward():
        raise ValueError("of the function")

    try:
        try:
            reward()
        finally:
            raise RuntimeError("of the capture")
    except RuntimeError as error:
        assert find_culprit(error).endswith("ValueError: of the function") and "reward, line" in find_culprit(error)


# ---- a step as one graph, on a GPU ----------------------------------------------------------------------------------


@needs_gpu
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("graph", [False, True])
def test_nothing_of_a_step_comes_to_the_host(graph, mode):
    with closing(Simple(64, "cuda", episodes="device", graph=graph, autoreset_mode=mode, max_episode_steps=7)) as env:
        env.reset(seed=0)
        actions = torch.zeros(64, 1, device="cuda")
        for _ in range(5):
            env.step(actions)
        env.sim.clear_counters()
        for _ in range(20):
            env.step(actions)
        counters = env.sim.counters()
        assert counters["total"]["bytes_copied"] == 0 and counters["readback"]["done_bytes"] == 0
        assert env.captured == graph


@needs_gpu
@pytest.mark.parametrize("mode", MODES)
def test_a_graph_on_a_gpu(mode):
    keywords = {"device": "cuda", "autoreset_mode": mode, "max_episode_steps": 11}
    graph, theirs = Remembers(episodes="device", graph=True, **keywords), Remembers(**keywords)
    graph.reset(seed=1), theirs.reset(seed=1)
    assert play_beside(graph, theirs, mode, 60).min() > 1
    assert graph.captured and graph._device.graph.captures == 1
    for keywords in ({"seed": 5}, {}, {"seed": 8, "options": {"reset_mask": np.arange(N) % 2 == 0}}):
        np.testing.assert_array_equal(*(on_host(env.reset(**keywords)[0]) for env in (graph, theirs)))
        play_beside(graph, theirs, mode, 8)
    for env in (graph, theirs):
        env.sim.set_parameter("gravity", [0, 0, -3])
    play_beside(graph, theirs, mode, 12)
    assert graph.captured and graph._device.graph.captures == 2
    graph.close(), theirs.close()


@needs_gpu
@pytest.mark.parametrize("mode", MODES)
def test_a_graph_on_a_gpu_draws_rows(mode):
    keywords = {"device": "cuda", "autoreset_mode": mode, "max_episode_steps": 11, "randomize": [*THERE, HERE[1]]}
    graph, theirs = Remembers(episodes="device", graph=True, **keywords), Remembers(**keywords)
    graph.reset(seed=1), theirs.reset(seed=1)
    assert play_rows_beside(graph, theirs, mode, 40) > N
    assert graph.captured and graph._device.graph.captures == 1
    graph.reset(seed=5), theirs.reset(seed=5)
    play_rows_beside(graph, theirs, mode, 12)
    assert graph.captured and graph._device.graph.captures == 2
    graph.close(), theirs.close()


@needs_gpu
def test_a_graph_with_pictures_in_a_stream_of_its_own():
    keywords = {"device": "cuda", "pixels": True, "width": 24, "height": 16, "max_episode_steps": 9}
    with torch.cuda.stream(torch.cuda.Stream()):
        graph, theirs = Simple(episodes="device", graph=True, **keywords), Simple(**keywords)
        graph.reset(seed=0), theirs.reset(seed=0)
        for k in range(25):
            actions = torch.from_numpy(act(k)).cuda()
            assert torch.equal(*(env.step(actions)[0] for env in (graph, theirs)))
        assert graph.captured
        graph.close(), theirs.close()


class Reads(Simple):
    def terminated(self, state):
        if state.qpos.abs().max().item() > 1e9:
            return self._nowhere
        return super().terminated(state)


class Chooses(Simple):
    def reward(self, state, action):
        ends = state.qpos[:, 1].abs() > 0.1
        assert len(self.after[ends]) <= len(self.after)
        return super().reward(state, action)


class Makes(Simple):
    def reward(self, state, action):
        return super().reward(state, action)["alive"] * torch.tensor([1.0], device="cuda")


@needs_gpu
@pytest.mark.parametrize("kind", [Reads, Chooses, Makes, Rebinds])
def test_what_a_gpu_cannot_capture(kind):
    graph = kind(episodes="device", graph=True, device="cuda", max_episode_steps=11)
    theirs = kind(device="cuda", max_episode_steps=11)
    graph.reset(seed=1), theirs.reset(seed=1)
    with pytest.warns(RuntimeWarning, match="the step is not captured as one graph") as said:
        for k in range(30):
            actions = torch.from_numpy(act(k)).cuda()
            a, b = graph.step(actions), theirs.step(actions)
            for x, y in zip(a[:4], b[:4]):
                np.testing.assert_array_equal(on_host(x), on_host(y))
    assert len(said) == 1 and not graph.captured
    graph.close(), theirs.close()
