"""stet.gym's cart-pole: against gymnasium's own equations, against MuJoCo; seeds; pictures."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.envs.classic_control.cartpole import CartPoleEnv as Reference
from gymnasium.vector import AutoresetMode

from gym_rig import DEVICES, PHYSICS, act, cartpole as make, play


REFERENCE = Reference()
REFERENCE.kinematics_integrator = "semi-implicit euler"


def reference_step(state, action):
    """A step of gymnasium's cart-pole, in double, from a state of ours: the new state, and whether it failed."""
    env = REFERENCE
    env.steps_beyond_terminated = None
    env.state = np.array(state, np.float64)
    _, _, failed, _, _ = env.step(int(action))
    return np.array(env.state), failed


# ---- physics --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("physics", PHYSICS)
def test_a_step_is_that_of_the_textbook(physics):
    env = make(9, physics=physics, autoreset_mode=AutoresetMode.DISABLED)
    before, _ = env.reset(seed=1)
    failures = 0
    for k in range(60):
        actions = act(k, 9)
        after, _, terminated, _, _ = env.step(actions)
        for world in range(9):
            state, failed = reference_step(before[world], actions[world])
            assert np.allclose(after[world], state, rtol=2e-6, atol=2e-6)
            assert failed == terminated[world]
            failures += failed
        before = after
    assert failures > 0
    env.close()


def test_a_trajectory_is_that_of_mujoco():
    ours, theirs = (make(5, physics=physics, autoreset_mode=AutoresetMode.DISABLED) for physics in PHYSICS)
    assert np.array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for k in range(25):
        a, b = (env.step(act(k, 5)) for env in (ours, theirs))
        assert np.allclose(a[0], b[0], rtol=1e-4, atol=1e-5)
    ours.close(), theirs.close()


def test_forces_of_one_newton_up_to_ten():
    env = make(4, continuous=True, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0)
    start = env.reset(seed=0)[0]
    push = np.array([[-1], [0.1], [0], [1]], np.float32)
    rates = env.step(push)[0][:, 1] - start[:, 1]
    full = make(4, autoreset_mode=AutoresetMode.DISABLED)
    assert np.array_equal(full.reset(seed=0)[0], start)
    left_and_right = full.step(np.array([0, 0, 1, 1]))[0][:, 1] - start[:, 1]
    assert rates[0] == left_and_right[0] and rates[3] == left_and_right[3]
    assert 0.15 < rates[3] < 0.25 and abs(rates[2]) < 0.01 and 0 < rates[1] < 0.04
    env.close(), full.close()


@pytest.mark.parametrize("device", DEVICES)
def test_the_same_bits_everywhere(device):
    a, b = make(21, "portable"), make(21, device)
    assert play(a, 120) == play(b, 120)
    a.close(), b.close()


@pytest.mark.parametrize(
    "disable", [("graph_replay",), ("args", "readback"), ("pose_sync", "graph_replay", "args", "readback")]
)
@pytest.mark.parametrize("physics", PHYSICS)
def test_the_same_bits_whatever_is_switched(disable, physics):
    a, b = make(6, physics=physics), make(6, physics=physics, disable=disable, threads=2)
    assert play(a, 60) == play(b, 60)
    a.close(), b.close()


@pytest.mark.parametrize("physics, audit", [("external", True), ("mujoco", False)])
def test_the_same_bits_when_hits_are_checked_and_no_fallback_is_allowed(physics, audit):
    a, b = make(6, physics=physics), make(6, physics=physics, strict=True, audit=audit)
    assert play(a, 40) == play(b, 40)
    a.close(), b.close()


def test_numbers_are_float32_in_a_double_build():
    a, b = make(5), make(5, "f64")
    seen, others = a.reset(seed=1)[0], b.reset(seed=1)[0]
    assert np.array_equal(seen, others), "initial states are exact in both"
    for k in range(15):
        seen, others = a.step(act(k, 5)), b.step(act(k, 5))
        assert [x.dtype for x in others[:4]] == [x.dtype for x in seen[:4]] and np.allclose(
            seen[0], others[0], atol=1e-5
        )
    a.close(), b.close()


# ---- seeds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("physics", PHYSICS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_world_does_not_know_how_many_there_are(mode, physics):
    envs = [make(n, physics=physics, autoreset_mode=mode) for n in (1, 7, 33)]
    seen = [env.reset(seed=11)[0] for env in envs]
    for k in range(80):
        for i, few in enumerate(seen[:-1]):
            assert np.array_equal(few, seen[i + 1][: len(few)])
        seen = [env.step(act(k, 33)[: env.num_envs])[0] for env in envs]
    for env in envs:
        env.close()


def test_a_seed_decides_about_all_episodes():
    env = make(6)
    first = play(env, 100, seed=5)
    assert play(env, 100, seed=5) == first
    assert play(env, 100, seed=6) != first
    states = [env.reset(seed=5)[0]] + [env.reset()[0] for _ in range(3)]
    again = [env.reset(seed=5)[0]] + [env.reset()[0] for _ in range(3)]
    assert np.array_equal(states, again)
    assert len(np.unique(np.concatenate(states), axis=0)) == 24, "no two episodes begin alike"
    assert np.abs(states).max() < 0.05 and np.abs(states).max() > 0.045
    env.close()


def test_without_a_seed_two_environments_differ():
    a, b = make(2), make(2)
    assert not np.array_equal(a.reset()[0], b.reset()[0])
    a.close(), b.close()


# ---- pictures -------------------------------------------------------------------------------------------------------


def test_pictures_show_the_state():
    ours, theirs = (make(3, physics=physics, render_mode="rgb_array", autoreset_mode=AutoresetMode.DISABLED)
                    for physics in PHYSICS)
    ours.reset(seed=3), theirs.reset(seed=3)
    first = ours.render()
    assert len(first) == 3 and all(p.shape == (200, 300, 3) and p.dtype == np.uint8 for p in first)
    for k in range(20):
        ours.step(np.array([0, 1, 1])), theirs.step(np.array([0, 1, 1]))
    pictures, others = np.array(ours.render()), np.array(theirs.render())
    assert (pictures != others).any(axis=-1).mean() < 0.001, "the equations and MuJoCo differ by their rounding only"
    assert (pictures != np.array(first)).any(axis=-1).mean() > 0.005
    mirrored = (pictures[0] != pictures[1][:, ::-1]).any(axis=-1).mean()
    assert mirrored < 0.06, "left and right"
    assert make(2).render_mode is None
    ours.close(), theirs.close()


def test_no_picture_without_render_mode():
    env = make(2)
    env.reset(seed=0)
    assert env.render() is None
    env.close()
