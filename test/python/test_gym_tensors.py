"""stet.gym.TensorVectorEnv: a task as kernels whose episodes are kernels, too, beside the environment that it is of."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import stet
import stet.gym
from gym_rig import DEVICES, device_of
from stet.gym import Randomize, TensorVectorEnv, VectorEnv
from stet.gym.mujoco import HalfCheetahVectorEnv, HopperVectorEnv, ReacherVectorEnv
from stet.gym.robots import TASKS

N = 5
KINDS = {**TASKS, "Hopper": HopperVectorEnv, "HalfCheetah": HalfCheetahVectorEnv}
NATIVE = {"physics": "native"}


def make(name, n=N, device="cpu", mode=AutoresetMode.SAME_STEP, **more):
    return TensorVectorEnv(KINDS[name](n, **device_of(device), **{**NATIVE, "autoreset_mode": mode, **more}))


def act(env, k):
    """Actions of a step; those of world i are the same for any number of worlds."""
    space = env.single_action_space
    return np.random.default_rng((5, k)).uniform(space.low, space.high, (9, *space.shape)).astype(np.float32)[
        : env.num_envs]


@pytest.mark.parametrize("name", KINDS)
def test_beside_the_environment_itself(name):
    """From the same states, commands and actions, what is seen, worth and over is the same, to the bit."""
    envs, same = make(name, mode=AutoresetMode.DISABLED), KINDS[name](
        N, "cpu", threads=1, autoreset_mode=AutoresetMode.DISABLED, **NATIVE)
    first, _ = envs.reset(seed=3)
    same.reset(seed=1)
    for field in "qpos", "qvel":
        same.sim.array(field).write(envs.sim.array(field).numpy())
    for (to, *_), (array, *_) in zip(same.drawn(), envs.env.drawn()):
        to.write(array.numpy())
    same._launch(same._after_begin)
    np.testing.assert_array_equal(first, same.observation(same._state).astype(np.float32))
    over = np.zeros(N, bool)
    for k in range(40):
        seen, reward, terminated, _, info = envs.step(act(envs, k))
        other, worth, ended, _, _ = same.step(act(same, k))
        assert seen.dtype == np.float32 and info == {}
        np.testing.assert_array_equal(seen, other.astype(np.float32))
        np.testing.assert_allclose(reward, worth, rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(terminated, ended)
        over |= ended
    assert over.any() or name != "Hopper", "episodes that fail are among them"
    envs.close(), same.close()


@pytest.mark.parametrize("device", DEVICES)
def test_episodes_begin_and_end(device):
    """In each mode; initial states within their widths, commands within their ranges, others in each episode."""
    envs = make("QuadrupedJoystick", device=device, max_episode_steps=6)
    low, high = envs.env.ranges
    home, widths = envs.env.home, envs.env.widths()
    commands, states = [], []
    envs.reset(seed=2)
    for k in range(18):
        if k % 6 == 0:
            commands.append(envs.env.command.numpy())
            states.append(envs.sim.qpos.numpy())
            assert (np.abs(states[-1] - home) <= widths[: len(home)] + 1e-6).all()
            assert (np.abs(envs.sim.qvel.numpy()) <= widths[len(home) :] + 1e-6).all()
            assert (commands[-1] >= low).all() and (commands[-1] <= high).all()
        seen, reward, terminated, truncated, info = envs.step(act(envs, k))
        assert not terminated.any() and truncated.all() == truncated.any() == (k % 6 == 5)
        if k % 6 == 5:
            last = np.stack(info["final_obs"])
            assert (last[:, 33:45] != 0).any() and (seen[:, 33:45] == 0).all(), "the last action is forgotten"
            np.testing.assert_array_equal(last[:, 45:], commands[-1].astype(np.float32))
    assert len(np.unique(np.concatenate(commands))) == 3 * N * 3 and len(np.unique(states, axis=0)) == 3
    envs.close()
    runs = []
    for n in N, N, 2:
        envs = make("QuadrupedJoystick", n, device, AutoresetMode.NEXT_STEP, max_episode_steps=6)
        rows = [envs.reset(seed=2)[0][:2]]
        for k in range(16):
            seen, reward, _, truncated, _ = envs.step(act(envs, k))
            assert truncated.all() == truncated.any() == (k % 7 == 5) and (k % 7 != 6 or (reward == 0).all())
            rows += [seen[:2], reward[:2]]
        runs.append(rows)
        envs.close()
    for row, again, fewer in zip(*runs):
        np.testing.assert_array_equal(row, again)
        np.testing.assert_array_equal(row, fewer)


def test_normal_noise():
    """As the environment by itself has it: positions are uniform, velocities normal, of its scale."""
    envs = make("HalfCheetah", 3000, reset_noise_scale=0.2)
    envs.reset(seed=4)
    one = envs.sim.qvel.numpy()
    envs.reset()
    two = envs.sim.qvel.numpy()
    for velocities in one, two:
        assert np.abs(velocities.mean(0)).max() < 0.02 and np.abs(velocities.std(0) - 0.2).max() < 0.015
        x = (velocities / 0.2).ravel()
        assert abs((x**3).mean()) < 0.1 and abs((x**4).mean() - 3) < 0.25 and 3.5 < np.abs(x).max() < 7
        assert np.abs(np.corrcoef(velocities.T) - np.eye(9)).max() < 0.09, "numbers are independent"
    assert np.abs((one * two).mean(0)).max() < 0.004, "so are episodes"
    away = envs.sim.qpos.numpy() - envs.env.home
    assert np.abs(away).max() <= 0.2 and np.abs(away.std(0) - 0.2 / 3**0.5).max() < 0.005
    envs.close()


def test_a_step_is_one_recording():
    envs = make("HandRotate", 4, mode=AutoresetMode.NEXT_STEP)
    envs.reset(seed=1)
    for k in range(12):
        if k == 2:
            envs.sim.clear_counters()
        envs.step_tensors()
    assert envs.sim.counters()["graph_replay"]["hits"] >= 10
    envs.close()


def test_pictures():
    envs = make("HandRotate", 2, mode=AutoresetMode.NEXT_STEP, pixels=True, width=40, height=30)
    first, _ = envs.reset(seed=1)
    assert first.shape == (2, 30, 40, 3) and first in envs.observation_space and first.std() > 10
    for k in range(4):
        picture = envs.step(act(envs, k))[0]
    np.testing.assert_array_equal(picture, envs.sim.read("rgb"))
    assert not np.array_equal(first, picture)
    seen = envs.step_tensors()[0]
    np.testing.assert_array_equal(np.from_dlpack(seen), envs.sim.read("rgb"))
    envs.close()


def test_tensors():
    torch = pytest.importorskip("torch")
    envs, same = make("ArmPick"), make("ArmPick")
    now = envs.tensors(torch.from_dlpack)
    np.testing.assert_array_equal(envs.reset(seed=1)[0], same.reset(seed=1)[0])
    for k in range(5):
        now.action[:] = torch.from_numpy(act(envs, k))
        envs.step_tensors()
        seen, reward, *_ = same.step(act(same, k))
        np.testing.assert_array_equal(now.observation.numpy(), seen)
        np.testing.assert_array_equal(now.reward.numpy(), reward)
    envs.close(), same.close()


class Functions(VectorEnv):
    def __init__(self):
        super().__init__(stet.scenes / "cartpole.xml", 2, "cpu",
                         single_observation_space=spaces.Box(-np.inf, np.inf, (2,), np.float64))


@pytest.mark.parametrize("device", DEVICES)
def test_worlds_differ_as_those_of_the_environment_itself(device):
    rows = [Randomize("body_mass", uniform=(0.5, 2), operation="scale", every="world"),
            Randomize("geom_friction", component=0, loguniform=(0.5, 2), operation="scale", every="world")]
    envs, same = make("Hopper", device=device, randomize=rows, max_episode_steps=5), HopperVectorEnv(
        N, randomize=rows, **device_of(device), **NATIVE)
    plain = make("Hopper", device=device, max_episode_steps=5)
    for seed in (3, 4):
        for env in (envs, same, plain):
            env.reset(seed=seed)
        for k in range(12):
            seen, other = envs.step(act(envs, k))[0], plain.step(act(envs, k))[0]
            for name in ("body_mass", "geom_friction"):
                np.testing.assert_array_equal(*(env.sim.parameter(name) for env in (envs, same)))
        assert (np.abs(seen - other).max(1) > 1e-4).all(), "the physics has them"
        np.testing.assert_array_equal(envs.randomized["body_mass"], same.randomized["body_mass"])
    first = envs.sim.parameter("body_mass")
    envs.reset(seed=[None, 7, None, None, None])
    changed = (envs.sim.parameter("body_mass") != first).any(1)
    assert changed.tolist() == [False, True, False, False, False]
    envs.reset()
    np.testing.assert_array_equal(envs.sim.parameter("body_mass")[0], first[0])
    envs.close(), same.close(), plain.close()


def test_what_is_refused():
    with pytest.raises(TypeError, match="takes a KernelVectorEnv, not Functions"):
        TensorVectorEnv(Functions())
    for row in (Randomize("body_mass", uniform=(0.9, 1.1), operation="scale"), Randomize("qpos", constant=0)):
        with pytest.raises(ValueError, match=rf"randomize\[0\], {row.field}: the host .* takes .* every='world'"):
            make("Hopper", randomize=[row])
    with pytest.raises(ValueError, match="with pixels TensorVectorEnv needs autoreset_mode NEXT_STEP or DISABLED"):
        make("HandRotate", pixels=True, width=8, height=8)
    with pytest.raises(NotImplementedError, match="ReacherVectorEnv has no function `widths`"):
        TensorVectorEnv(ReacherVectorEnv(2, **NATIVE))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_kf54_a_world_that_diverges_ends_its_episode(mode, device):
    env = make("HalfCheetah", 3, device, mode)
    env.reset(seed=1)
    for k in range(5):
        if k == 2:
            qvel = env.sim.qvel.numpy()
            qvel[1] = 1e30
            env.sim.qvel.write(qvel)
        _, _, terminated, truncated, info = env.step(0 * act(env, k))
        assert terminated.tolist() == [False, k == 2 or (k > 2 and mode == AutoresetMode.DISABLED), False]
        assert not truncated.any() and ("faults" in info) == bool(terminated.any())
        if k == 2:
            assert info["_faults"].tolist() == [False, True, False]
            assert info["faults"].tolist() == [0, stet.info()["faults"]["bad_qvel"], 0]
    assert env.sim.faults().any() == (mode is AutoresetMode.DISABLED)
    env.close()
