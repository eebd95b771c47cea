"""stet.gym's hand: pictures, how actions become controls, what it is worth, when it ends."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.vector import AutoresetMode

from gym_rig import DEVICES, device_of
import stet
from stet.gym import HandPixelsVectorEnv


def make(n, device="cpu", **keywords):
    return HandPixelsVectorEnv(n, **{"width": 32, "height": 24, **device_of(device), **keywords})


def rest(n):
    return np.zeros((n, 20), np.float32)


def test_spaces():
    env = make(3, depth=True)
    assert env.observation_space["rgb"].shape == (3, 24, 32, 3) and env.observation_space["rgb"].dtype == np.uint8
    assert env.observation_space["depth"].shape == (3, 24, 32, 1) and env.action_space.shape == (3, 20)
    seen, _ = env.reset(seed=0)
    assert seen in env.observation_space and 0.2 < np.median(seen["depth"]) < 2
    assert env.step(rest(3))[0] in env.observation_space
    env.close()


def test_actions_are_controls_around_the_hold_position():
    env = make(3)
    env.reset(seed=0)
    hold, half, low, high = (env.sim.control_table(name).numpy() for name in ("hold", "half", "low", "high"))
    actions = np.random.default_rng(1).uniform(-1, 1, (3, 20)).astype(np.float32)
    actions[0] = 0
    env.step(actions)
    wanted = np.clip(hold + half * actions.astype(np.float64), low, high)
    assert np.allclose(env.sim.ctrl.numpy(), wanted, rtol=0, atol=1e-6)
    assert np.array_equal(env.sim.ctrl.numpy()[0], hold)
    env.step_tensors(np.full((3, 20), 9, np.float32))
    assert np.array_equal(env.sim.ctrl.numpy(), np.broadcast_to(np.minimum(hold + half, high), (3, 20)))
    env.close()


def test_a_hand_at_rest_keeps_its_cube():
    env = make(4, max_episode_steps=30)
    env.reset(seed=0)
    for k in range(29):
        _, reward, dropped, late, _ = env.step(rest(4))
        assert not dropped.any() and not late.any() and (np.abs(reward) < 1.5).all()
    assert env.step(rest(4))[3].all()
    env.close()


def turning(env):
    """What the reward should be: the vertical part of the cube's rate, in double, from the worlds' state."""
    qpos, qvel = env.sim.qpos.numpy().astype(float), env.sim.qvel.numpy().astype(float)
    w, x, y, z = qpos[:, -4:].T
    up = np.stack((2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)), axis=1)
    return (up * qvel[:, -3:]).sum(axis=1)


def test_reward_is_the_rate_of_turning_and_dropping_costs():
    env = make(6, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=5)
    env.action_space.seed(1)
    home = env.sim.qpos.numpy()[:, -7:-4]
    dropped = np.zeros(6, bool)
    for _ in range(70):
        _, reward, terminated, _, _ = env.step(env.action_space.sample())
        away = np.linalg.norm(env.sim.qpos.numpy()[:, -7:-4] - home, axis=1)
        assert (terminated == (away > 0.1))[np.abs(away - 0.1) > 0.006].all()
        held = ~terminated
        assert np.allclose(reward[held], np.clip(turning(env)[held], -5, 5), atol=1e-3)
        assert (reward[terminated] == -10).all()
        dropped |= terminated
    assert 0 < dropped.sum(), "random actions drop cubes"
    env.close()


def test_a_dropped_cube_lies_in_the_hand_again():
    env = make(6, max_episode_steps=0)
    env.reset(seed=5)
    env.action_space.seed(1)
    ended = np.zeros(6, bool)
    seen = 0
    for _ in range(90):
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        if ended.any():
            assert (reward[ended] == 0).all() and not terminated[ended].any()
            assert (np.abs(env.sim.time.numpy()[ended, 0]) == 0).all()
            height = env.sim.qpos.numpy()[ended, -5]
            assert np.allclose(height, 0.27918, atol=1e-6)
            seen += ended.sum()
        ended = terminated
        assert not truncated.any()
    assert seen > 0
    env.close()


def test_episodes_begin_near_home_and_by_seed():
    env = make(8)
    env.reset(seed=1)
    first = env.sim.qpos.numpy()
    assert np.ptp(first[:, :-7], axis=0).min() > 0.01 and np.ptp(first[:, :-7], axis=0).max() < 0.04
    assert np.ptp(first[:, -7:-5], axis=0).max() < 0.006 and np.ptp(first[:, -5:], axis=0).max() == 0
    env.reset()
    assert not np.array_equal(env.sim.qpos.numpy(), first)
    env.reset(seed=1)
    assert np.array_equal(env.sim.qpos.numpy(), first)
    few = make(3)
    few.reset(seed=1)
    assert np.array_equal(few.sim.qpos.numpy(), first[:3])
    env.close(), few.close()


@pytest.mark.parametrize("device", DEVICES)
def test_pictures_are_the_same_everywhere(device):
    a, b = make(5, "w1", depth=True), make(5, device, depth=True)
    for env in (a, b):
        env.action_space.seed(2)
    seen, others = a.reset(seed=3)[0], b.reset(seed=3)[0]
    for _ in range(12):
        assert all(np.array_equal(seen[name], others[name]) for name in seen)
        seen, others = a.step(a.action_space.sample())[0], b.step(b.action_space.sample())[0]
    a.close(), b.close()


def test_pictures_move_and_are_the_callers():
    env = make(2, render_mode="rgb_array")
    first, _ = env.reset(seed=0)
    copy = first.copy()
    second = env.step(np.ones((2, 20), np.float32))[0]
    assert np.array_equal(first, copy) and (first != second).any(axis=-1).mean() > 0.05
    assert np.array_equal(np.array(env.render()), second)
    env.close()


@pytest.mark.parametrize("depth", [False, True])
def test_tensors_are_those_of_the_latest_frame(depth):
    env, twin = make(3, depth=depth), make(3, depth=depth)
    env.reset(seed=1), twin.reset(seed=1)
    tensors = env.tensors(np.from_dlpack)
    for k in range(6):
        tensors.action[:] = np.sin(k)
        seen, reward, *_ = env.step_tensors()
        other, worth, *_ = twin.step(np.full((3, 20), np.sin(k), np.float32))
        assert np.array_equal(reward, worth)
        pairs = [(seen[name], other[name]) for name in other] if depth else [(seen, other)]
        assert all(np.array_equal(mine, theirs) for mine, theirs in pairs)
    env.close(), twin.close()


def test_what_it_does_not_do():
    with pytest.raises(ValueError, match="no autoreset_mode SAME_STEP here; use .* NEXT_STEP, DISABLED"):
        make(2, autoreset_mode=AutoresetMode.SAME_STEP)


def test_faces_of_the_cube_are_read_from_outside():
    """Each face in turn before the camera from above: its file, in one of four turns, not mirrored."""
    image = pytest.importorskip("PIL.Image")
    turn, side = np.sqrt(0.5), 174  # so that a face is 128 pixels wide, as its file is
    shown = {"a": (turn, 0, -turn, 0), "b": (turn, 0, turn, 0), "c": (turn, turn, 0, 0), "d": (turn, -turn, 0, 0),
             "e": (1, 0, 0, 0), "f": (0, 1, 0, 0)}
    with stet.Sim(stet.scenes / "hand.xml", len(shown), "cpu", cameras="top", width=side, height=side,
                  outputs="albedo", threads=1) as sim:
        qpos = sim.qpos.numpy()
        qpos[:, -7:-4] = (0.065, 0, 0.5)
        qpos[:, -4:] = list(shown.values())
        sim.qpos[:] = qpos
        sim.render()
        edge = (side - 128) // 2
        seen = sim.read("albedo")[:, edge:-edge, edge:-edge, :3].astype(float)
    for letter, picture in zip(shown, seen):
        file = np.asarray(image.open(stet.scenes / "assets" / f"cube_{letter}.png"), float)
        apart = [np.abs(picture - np.rot90(other, k)).mean() for other in (file, file[:, ::-1]) for k in range(4)]
        assert min(apart[:4]) < 4 and min(apart[:4]) < min(apart[4:]) + 1e-9, (letter, apart)


def test_kf54_a_hand_that_diverges_ends_its_episode():
    """Of MuJoCo's physics, whose faults are the host's; the kernel of episodes gets them behind the physics."""
    env = make(3)
    env.reset(seed=0)
    for k in range(4):
        if k == 2:
            qvel = env.sim.qvel.numpy()
            qvel[1] = 1e30
            env.sim.qvel.write(qvel)
        _, _, terminated, truncated, info = env.step(rest(3))
        assert terminated.tolist() == [False, k == 2, False] and not truncated.any()
        assert ("_faults" in info) == (k == 2)
        if k == 2:
            assert info["faults"].tolist() == [0, stet.info()["faults"]["bad_qvel"], 0]
    env.close()
