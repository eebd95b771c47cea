"""stet.gym's tasks of robots: what gymnasium asks of them, seeds, rewards in states whose worth is known, pixels."""

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import stet
import stet.control
import stet.gym
from robot_functions import FUNCTIONS
from stet.gym.robots import TASKS

SEEN = {"QuadrupedJoystick": 48, "HumanoidWalk": 73, "HandRotate": 81, "ArmReach": 24, "ArmPick": 34}
MOST = {"QuadrupedJoystick": 1.5, "HumanoidWalk": None, "HandRotate": 5, "ArmReach": 1, "ArmPick": 5}


def make(name, n=3, **keywords):
    return TASKS[name](n, "cpu", **{"threads": 1, "autoreset_mode": AutoresetMode.DISABLED, **keywords})


def act(env, k):
    """Actions of a step, those of world i are the same for any number of worlds."""
    size = env.single_action_space.shape[0]
    return np.random.default_rng((3, k)).uniform(-1, 1, (5, size)).astype(np.float32)[: env.num_envs]


@pytest.fixture(params=TASKS)
def name(request):
    return request.param


def test_gymnasium_s_checks(name):
    env = gymnasium.make(f"stet.gym:stet/{name}-v0", device="cpu", threads=1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_env(env.unwrapped)
    assert [str(w.message) for w in said if "infinity" not in str(w.message)] == []
    env.close()


def test_spaces_and_rewards(name):
    envs = make(name)
    observation, _ = envs.reset(seed=1)
    assert envs.single_observation_space.shape == (SEEN[name],) and envs.single_observation_space.dtype == np.float32
    space, most = envs.single_action_space, MOST[name] and MOST[name] * envs.dt
    assert space.shape == (envs.sim.model.nu,) and (space.low == -1).all() and (space.high == 1).all()
    for k in range(60):
        observation, reward, terminated, truncated, info = envs.step(act(envs, k))
        assert observation in envs.observation_space and np.isfinite(observation).all() and not truncated.any()
        assert reward.shape == (3,) and (reward <= (1 if most is None else most)).all()
        assert (reward >= (0 if most is None else -1.5)).all()
    assert observation.std(axis=0).max() > 0.01, "worlds differ"
    envs.close()


def test_seeds(name):
    """A world's episodes follow from the seed and its number."""
    runs = []
    for n in 3, 3, 2:
        envs = make(name, n, autoreset_mode=AutoresetMode.NEXT_STEP, max_episode_steps=8)
        rows = [envs.reset(seed=5)[0]]
        for k in range(20):
            out = envs.step(act(envs, k))
            rows += [out[0], out[1][:, None]]
        runs.append([row[:2] for row in rows])
        envs.close()
    for row, again, fewer in zip(*runs):
        np.testing.assert_array_equal(row, again)
        np.testing.assert_array_equal(row, fewer)
    envs = make(name)
    first, _ = envs.reset(seed=5)
    assert not np.array_equal(first, envs.reset()[0]) and np.array_equal(first, envs.reset(seed=5)[0])
    envs.step(act(envs, 0))
    after, _ = envs.reset(options={"reset_mask": np.array([True, False, False])})
    assert not np.array_equal(after[0], first[0]) 
    previous = envs.previous.numpy()
    assert (previous[0] == 0).all() and (previous[1] != 0).any()
    envs.close()


def test_pixels(name):
    envs = gymnasium.make_vec(f"stet.gym:stet/{name}-v0", num_envs=2, device="cpu", threads=1, pixels=True, width=40,
                              height=30)
    first, _ = envs.reset(seed=1)
    assert first.shape == (2, 30, 40, 3) and first.dtype == np.uint8 and first in envs.observation_space
    assert first.std() > 10
    for k in range(5):
        picture = envs.step(act(envs, k))[0]
    np.testing.assert_array_equal(picture, envs.unwrapped.sim.read("rgb"))
    assert not np.array_equal(picture, first)
    envs.close()


def test_pictures_get_no_noise():
    with pytest.raises(ValueError, match="noise is for a Box of floats"):
        make("ArmReach", pixels=True, width=8, height=8, randomize=stet.gym.Randomize("observation", normal=(0, 0.1)))


def test_pictures_as_tensors():
    torch = pytest.importorskip("torch")
    envs, same = (make("HandRotate", pixels=True, width=8, height=8, **more) for more in ({"arrays": "torch"}, {}))
    picture, _ = envs.reset(seed=1)
    assert picture.dtype == torch.uint8
    np.testing.assert_array_equal(picture.numpy(), same.reset(seed=1)[0])
    envs.close(), same.close()


def test_kernels_beside_functions(name):
    """Episodes of the task as kernels and as functions over arrays: the same but for rounding."""
    more = {"isa": "f64", "autoreset_mode": AutoresetMode.SAME_STEP, "max_episode_steps": 25, "randomize": ()}
    kernels, functions = make(name, **more), FUNCTIONS[name](3, "cpu", threads=1, **more)
    np.testing.assert_allclose(kernels.reset(seed=7)[0], functions.reset(seed=7)[0], rtol=1e-6, atol=1e-6)
    for k in range(60):
        seen, reward, terminated, truncated, info = kernels.step(act(kernels, k))
        other, worth, ended, late, terms = functions.step(act(functions, k))
        np.testing.assert_allclose(seen, other, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(reward, worth, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(terminated, ended), np.testing.assert_array_equal(truncated, late)
        for key in terms:
            if key[0] != "_" and "final" not in key:
                np.testing.assert_allclose(info[key], terms[key], rtol=1e-6, atol=1e-6)
        assert kernels._call is not None, "a step is one call"
    kernels.close(), functions.close()


def set_state(envs, **arrays):
    """Puts numbers into fields of the state, by (field, places); the task's kernels see it."""
    for field, (places, values) in arrays.items():
        array = envs.sim.array(field)
        x = array.numpy()
        x[:, places] = values
        array.write(x)
    for array in envs.previous, envs._change:
        array.write(np.zeros(array.shape))
    envs._launch(envs._after_step)


def rate(envs):
    """The terms of the reward for the present state and no action."""
    set_state(envs)
    terms = envs.reward(envs._state, None)
    return {key: x / envs.dt for key, x in terms.items()}


def test_a_quadruped_that_does_as_the_joystick_says():
    envs = make("QuadrupedJoystick")
    envs.reset(seed=1)
    low, high = envs.ranges
    command = envs.command.numpy()
    assert (command >= low).all() and (command <= high).all() and len(np.unique(command)) == 9
    envs.command[:] = 0.5, -0.2, 0.6
    turn = np.sin(np.pi / 4)  # it looks to the left, where y is
    set_state(envs, qpos=(slice(3, 7), [turn, 0, 0, turn]), qvel=(slice(0, 6), [0.2, 0.5, 0, 0, 0, 0.6]))
    terms = rate(envs)
    np.testing.assert_allclose(terms["velocity"], 1, atol=1e-4)
    np.testing.assert_allclose(terms["turning"], 0.5, atol=1e-4)
    assert max(np.abs(terms[key]).max() for key in ("bouncing", "rolling", "tilt", "change")) < 1e-6
    np.testing.assert_allclose(envs.observation(envs._state)[:, :3], [[0.5, -0.2, 0]] * 3, atol=1e-4)
    assert not envs.terminated(envs._state).any()
    set_state(envs, qpos=(slice(3, 7), [turn, turn, 0, 0]))
    assert envs.terminated(envs._state).all() and (rate(envs)["tilt"] < -0.9).all()
    envs.close()


def walks(envs):
    return rate(envs)["walking"] * envs.dt


def test_a_humanoid_that_walks():
    envs, stands = make("HumanoidWalk"), make("HumanoidWalk", speed=0)
    for one in envs, stands:
        one.reset(seed=1)
        set_state(one, qvel=(slice(None), 0.0))
    assert (walks(stands) > 0.95).all() and (walks(envs) < 0.3).all()
    for one in envs, stands:
        set_state(one, qvel=(0, 1.2))
    assert (walks(envs) > 0.95).all() and (walks(stands) < 0.3).all()
    set_state(envs, qpos=(2, 0.45))
    assert envs.terminated(envs._state).all() and (walks(envs) < 0.3).all()
    envs.close(), stands.close()


def test_a_cube_that_turns():
    envs = make("HandRotate")
    envs.reset(seed=1)
    assert not envs.terminated(envs._state).any()
    half = np.sin(np.pi / 4)
    at, spin = envs._place, envs._spin  # the cube lies on its side: its own y points down
    set_state(envs, qpos=(slice(at + 3, at + 7), [half, -half, 0, 0]), qvel=(slice(spin + 3, spin + 6), [0, -2, 0]))
    np.testing.assert_allclose(rate(envs)["turning"], 2, atol=1e-4)
    set_state(envs, qvel=(slice(spin + 3, spin + 6), [0, 9, 0]))
    np.testing.assert_allclose(rate(envs)["turning"], -5)
    set_state(envs, qpos=(at, envs.home[at] + 0.11))
    assert envs.terminated(envs._state).all()
    np.testing.assert_allclose(rate(envs)["dropped"] * envs.dt, -1)
    envs.close()


@pytest.mark.parametrize("name", ["ArmReach", "ArmPick"])
def test_an_arm_whose_gripper_is_where_it_should(name):
    envs = make(name)
    envs.reset(seed=1)
    before = rate(envs)
    limb = stet.control.Limb(envs.sim, site="grasp")
    to = envs.target.numpy() if name == "ArmReach" else envs.sim.qpos.numpy()[:, envs._box : envs._box + 3]
    q, error = stet.control.InverseKinematics(limb, damping=0.05).solve(to, iterations=100)
    set_state(envs, qpos=(slice(0, 7), q))
    after, key = rate(envs), "near" if name == "ArmReach" else "grip"
    assert (after[key] > 0.99).all() and (before[key] < 0.9).all(), error
    envs.close()


def test_a_box_at_its_target():
    envs = make("ArmPick")
    envs.reset(seed=1)
    assert (rate(envs)["place"] < 3.2).all() and not envs.terminated(envs._state).any()
    set_state(envs, qpos=(slice(envs._box, envs._box + 3), envs.target.numpy()))
    np.testing.assert_allclose(rate(envs)["place"], 4)
    set_state(envs, qpos=(envs._box + 2, 0.02))
    assert envs.terminated(envs._state).all()
    envs.close()
