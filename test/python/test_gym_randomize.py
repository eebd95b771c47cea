"""Domain randomisation of stet.gym: every parameter and every distribution against what the row says, made by hand."""

import hashlib

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import stet
from stet.gym import Randomize, VectorEnv

# Every kind of thing that a parameter is of.
SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 .1"/>
    <body name="box" pos="0 0 .2" simple="false">
      <freejoint name="free"/><geom name="box" type="box" size=".1 .12 .1" friction=".6 .01 .001"/>
    </body>
    <body name="left/arm" pos="1 0 .5" simple="false">
      <joint name="left/ball" type="ball" stiffness="1" damping=".1"/>
      <geom name="left" type="capsule" size=".05 .1" pos="0 0 .1" quat="1 1 0 0"/>
      <body name="left/hand" pos="0 0 .3" quat="1 0 1 0" simple="false">
        <joint name="left/h" axis="0 1 0" range="-2 2" limited="true" armature=".01" frictionloss=".02"/>
        <geom name="hand" size=".03" pos=".1 0 0"/><site name="tip" pos=".2 0 .1"/>
      </body>
    </body>
    <body name="cart" pos="2 0 1" simple="false">
      <joint name="slide" type="slide" axis="1 0 0" damping=".2" stiffness="2"/><geom size=".1"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="t" stiffness="2" damping=".1"><joint joint="left/h" coef="1"/><joint joint="slide" coef="-2"/></fixed>
  </tendon>
  <contact><pair geom1="floor" geom2="box" friction=".7 .6 .01 .001 .001"/></contact>
  <equality><joint name="tie" joint1="left/h" joint2="slide" active="false" solref=".05 1"/></equality>
  <actuator>
    <motor name="turn" joint="left/h" gear="3" ctrlrange="-1 1" forcerange="-3 3"/>
    <position name="hold" joint="slide" kp="10" kv="1" ctrlrange="-1 1"/>
  </actuator>
  <sensor><jointpos name="angle" joint="left/h" nsample="2"/></sensor>
</mujoco>
"""
N = 5


class Scene(VectorEnv):
    """Shows positions and velocities, and is worth nothing."""

    def __init__(self, num_envs=N, **more):
        super().__init__(SCENE, num_envs, "cpu", **{"physics": "native", "threads": 1, "max_episode_steps": 20, **more})

    def observation(self, state):
        return np.concatenate([state.qpos, state.qvel], axis=1)

    def reward(self, state, action):
        return np.zeros(self.num_envs)


class Looks(VectorEnv):
    """Shows pictures."""

    def __init__(self, num_envs=2, **more):
        super().__init__(stet.scenes / "quadruped.xml", num_envs, "cpu", threads=1, pixels=True, width=24, height=24,
                         cameras=["main"], **more)

    def reward(self, state, action):
        return np.zeros(self.num_envs)


def act(step, n=N):
    return np.random.default_rng(step).uniform(-1, 1, (50, 2)).astype(np.float32)[:n]


def made(*rows, seed=3, **more):
    """An environment that has begun."""
    env = Scene(randomize=rows, **more)
    env.reset(seed=seed)
    return env


def drawn(env):
    """What the only row drew."""
    (numbers,) = env.randomized.values()
    return numbers


# ---- looks ----------------------------------------------------------------------------------------------------------

LOOKED = """
<mujoco>
  <asset>
    <texture name="c" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="32" height="32"/>
    <material name="plain" rgba=".2 .7 .3 1"/><material name="check" texture="c" texrepeat="4 4"/>
  </asset>
  <worldbody>
    <light name="sun" directional="true" dir="0 0 -1"/><light name="lamp" pos="1 0 2"/>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body pos="0 0 .5"><joint name="j"/><geom name="ball" size=".2"/></body>
    <camera name="top" pos="0 0 3"/>
  </worldbody>
  <actuator><motor joint="j" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


class Looked(VectorEnv):
    """Worth nothing, but seen."""

    def __init__(self, randomize):
        super().__init__(LOOKED, N, "cpu", threads=1, pixels=True, width=24, height=24, randomize=randomize)

    def reward(self, state, action):
        return np.zeros(self.num_envs)


def test_pictures_show_the_looks_of_the_episode():
    env = Looked([Randomize("geom_matid", "floor", choice=(0, 1)), Randomize("geom_rgb", "ball", uniform=(0, 1)),
                  Randomize("light_diffuse", "sun", uniform=(0.2, 0.8), correlated="element"),
                  Randomize("mat_rgb", "plain", uniform=(0, 1)), Randomize("cam_fovy", "top", uniform=(30, 60))])
    first, _ = env.reset(seed=4)
    looks = "geom_matid", "geom_rgb", "mat_rgb", "light_diffuse", "cam_fovy"
    values = {name: env.sim.parameter(name) for name in looks}
    assert set(values["geom_matid"][:, 0]) == {0, 1} and (values["geom_matid"][:, 1] == -1).all()
    assert (values["geom_rgb"][:, :3] == 0.5).all() and len(np.unique(values["geom_rgb"][:, 3:])) == 3 * N
    sun, lamp = values["light_diffuse"][:, :3], values["light_diffuse"][:, 3:]
    assert (sun == sun[:, :1]).all() and len(np.unique(sun)) == N and len(np.unique(lamp)) == 1
    assert len(np.unique(values["mat_rgb"][:, :3])) == 3 * N and (values["mat_rgb"][:, 3:] == 1).all()
    assert ((values["cam_fovy"] >= 30) & (values["cam_fovy"] < 60)).all()
    for w in range(N):  # what a sim shows that has these looks in its first world
        with stet.Sim(LOOKED, 1, "cpu", outputs=("rgb",), width=24, height=24) as one:
            for name, value in values.items():
                one.set_parameter(name, value[w])
            one.render()
            assert (one.read("rgb")[0] == first[w]).all(), w
    second, _ = env.reset()
    assert all((second[w] != first[w]).any() for w in range(N))
    env.close()


# ---- every parameter, every distribution ----------------------------------------------------------------------------

DISTRIBUTIONS = {
    "uniform": ((0.9, 1.1), lambda x: (0.9 <= x) & (x < 1.1)),
    "loguniform": ((0.8, 1.25), lambda x: (0.8 <= x) & (x < 1.25)),
    "normal": ((1, 0.01), lambda x: np.abs(x - 1) < 0.06),
    "choice": ((0.9, 1.0, 1.2), lambda x: np.isin(x, (0.9, 1.0, 1.2))),
    "constant": (1.5, lambda x: x == 1.5),
}


def elements(field):
    """How many there are in the scene."""
    kinds = {"body": 5, "geom": 5, "jnt": 4, "dof": 4, "tendon": 1, "actuator": 2, "eq": 1, "qpos0": 4}
    return kinds.get(field.partition("_")[0], 1)


def unit(x):
    """Rows of quaternions, normalised."""
    x = x.reshape(len(x), -1, 4)
    return (x / np.linalg.norm(x, axis=2, keepdims=True)).reshape(len(x), -1)


LOOKS = ("geom_matid", "geom_rgb", "mat_", "light_", "cam_")  # which are tested with pictures
NUMBERS = ("geom_dataid",)  # of meshes: nothing is scaled


@pytest.mark.parametrize("field", [name for name in stet.Sim.parameters if not name.startswith(LOOKS + NUMBERS)])
def test_a_parameter_is_the_models_times_what_was_drawn(field):
    own = stet.Sim(SCENE, device="cpu").parameter(field)
    assert own.size > 0, "the scene has something of each kind"
    for kind, (given, inside) in DISTRIBUTIONS.items():
        for correlated in (True,) if "range" in field or "quat" in field else (False, "element", True):
            row = Randomize(field, **{kind: given}, operation="scale", correlated=correlated)
            env = made(row)
            numbers, now = drawn(env), env.sim.parameter(field)
            assert numbers.shape == (N, own.size) and inside(numbers).all(), (kind, correlated)
            expected = own * numbers
            expected = unit(expected) if "quat" in field else expected
            for at in (3, 7) if field == "qpos0" else ():  # quaternions of the free joint, the ball
                expected[:, at : at + 4] = unit(expected[:, at : at + 4])
            np.testing.assert_allclose(now, expected, rtol=1e-15, atol=1e-16)
            if kind not in ("constant", "choice"):
                assert len(np.unique(numbers[:, 0])) == N, "worlds differ"
                alike = {False: own.size, "element": elements(field), True: 1}[correlated]
                assert len(np.unique(numbers[0])) == alike
            env.step(act(0))
            np.testing.assert_array_equal(env.sim.parameter(field), now)
            first = numbers.copy()
            env.reset()
            assert (drawn(env) == first).all() == (kind == "constant"), "the next episode draws again"
            env.close()


@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_the_physics_has_what_was_drawn(physics):
    rows = [Randomize("gravity", uniform=(-9, 3)), Randomize("body_mass", normal=(2, 0.1), operation="scale"),
            Randomize("dof_damping", uniform=(0, 1), operation="add")]
    env = made(*rows, physics=physics)
    with stet.Sim(SCENE, N, "cpu", physics=physics, threads=1, keyframe=env.sim.keyframe) as sim:
        for name in ("gravity", "body_mass", "dof_damping"):
            sim.set_parameter(name, env.sim.parameter(name))
        for step in range(10):
            env.step(act(step))
            sim.ctrl.write(act(step))
            sim.step()
        assert np.array_equal(sim.qpos.numpy(), env.sim.qpos.numpy()) and np.isfinite(sim.qpos.numpy()).all()
        assert len(np.unique(sim.qpos.numpy(), axis=0)) == N
    env.close()


def test_distributions_have_their_moments():
    n = 4000
    rows = {
        "uniform": Randomize("observation", uniform=(1, 3)),
        "loguniform": Randomize("observation", loguniform=(np.exp(1), np.exp(3))),
        "normal": Randomize("observation", normal=(2, 0.5)),
        "choice": Randomize("observation", choice=(1, 2, 6)),
    }

    class Few(Scene):
        def observation(self, state):
            return np.zeros((self.num_envs, 3), np.float32)

    env = Few(n, randomize=[Randomize(row.field, **{k: getattr(row, k)}, name=k) for k, row in rows.items()])
    env.reset(seed=1)
    x = env.randomized
    for numbers, mean, deviation in ((x["uniform"], 2, 2 / 12**0.5), (np.log(x["loguniform"]), 2, 2 / 12**0.5),
                                     (x["normal"], 2, 0.5), (x["choice"], 3, (14 / 3) ** 0.5)):
        assert np.allclose(numbers.mean(0), mean, atol=0.1) and np.allclose(numbers.std(0), deviation, atol=0.1)
    together = np.hstack([*x.values()])
    assert np.abs(np.corrcoef(together.T) - np.eye(12)).max() < 0.08, "rows and columns are independent"
    env.close()


# ---- which numbers, and what is done with them ----------------------------------------------------------------------


@pytest.mark.parametrize("of, component, expected", [
    ("box", None, [1]), ("left/.*", None, [2, 3]), (["cart", 1], None, [1, 4]), (range(2, 5), None, [2, 3, 4]),
    (0, None, [0]), (None, None, range(5)), (np.int64(3), None, [3]), (".*", None, range(5)),
])
def test_elements_are_chosen(of, component, expected):
    env = made(Randomize("body_mass", of, component, constant=2, operation="scale"))
    own = stet.Sim(SCENE, device="cpu").parameter("body_mass")[0]
    assert drawn(env).shape == (N, len(expected))
    factor = np.where(np.isin(np.arange(5), expected), 2, 1)
    assert np.array_equal(env.sim.parameter("body_mass"), np.tile(own * factor, (N, 1)))
    env.close()


def test_components_are_chosen():
    env = made(Randomize("geom_friction", "box", 0, constant=0.25),
               Randomize("dof_armature", "free", [3, 5], constant=2),
               Randomize("actuator_gainprm", "hold", 0, constant=7), Randomize("qpos", "left/ball", 2, constant=0.5))
    assert np.array_equal(env.sim.parameter("geom_friction")[2].reshape(-1, 3)[1], [0.25, 0.01, 0.001])
    assert np.array_equal(env.sim.parameter("dof_armature")[2], [0, 0, 0, 2, 0, 2, 0, 0, 0, 0.01, 0])
    assert np.array_equal(env.sim.parameter("actuator_gainprm")[2].reshape(2, -1)[:, 0], [1, 7])
    ball = env.sim.qpos.numpy()[2, 7:11]
    assert np.allclose(ball, np.array([1, 0, 0.5, 0]) / 1.25**0.5), "quaternions are normalised"
    env.close()


def test_rows_of_a_field_follow_each_other():
    env = made(Randomize("body_mass", constant=2, operation="scale"), Randomize("body_mass", "cart", constant=3,
               operation="add"), Randomize("body_mass", "box", constant=5), Randomize("body_mass", "left/hand",
               constant=9, operation="scale", clip=(0, 0.5)))
    own = stet.Sim(SCENE, device="cpu").parameter("body_mass")[0]
    assert np.allclose(env.sim.parameter("body_mass")[1], [0, 5, 2 * own[2], 0.5, 2 * own[4] + 3])
    env.close()


def test_correlation_across_fields():
    """A body's mass and inertia by one factor; or each number by its own, or all by one."""
    shapes = {"element": 5, True: 1, False: 20}
    for correlated, different in shapes.items():
        env = made(Randomize(("body_mass", "body_inertia"), uniform=(0.5, 2), operation="scale", correlated=correlated))
        numbers = drawn(env)
        assert numbers.shape == (N, 20) and len(np.unique(numbers[0])) == different
        if correlated:
            assert np.array_equal(np.repeat(numbers[:, :5], 3, axis=1), numbers[:, 5:])
        env.close()


def test_bounds_for_each_number():
    low, high = [-1, -2, -12], [1, 2, -8]
    env = made(Randomize("gravity", uniform=(low, high)))
    g = env.sim.parameter("gravity")
    assert ((low <= g) & (g <= high)).all() and np.array_equal(g, drawn(env))
    env.close()
    poses = [[0, 0.1], [1, 0.2], [2, 0.3]]
    env = made(Randomize("qpos", ["left/h", "slide"], choice=poses, correlated=True), num_envs=40)
    seen = {tuple(row) for row in drawn(env)}
    assert seen == {tuple(map(float, pose)) for pose in poses}
    env.close()


# ---- when it is drawn -----------------------------------------------------------------------------------------------


def test_when_a_row_is_drawn():
    env = made(*(Randomize("friction", uniform=(0.5, 1), every=every, operation="scale", name=str(every))
                 for every in ("world", "episode", 3, 1)))
    before = {name: x.copy() for name, x in env.randomized.items()}
    for step in range(1, 8):
        env.step(act(step))
        now = env.randomized
        same = {name: np.array_equal(now[name], x) for name, x in before.items()}
        late = step - 1  # before the physics of this step there were as many
        assert same == {"world": True, "episode": True, "3": late % 3 > 0 or late == 0, "1": late == 0}, step
        assert np.allclose(env.sim.parameter("friction"), np.prod([x for x in now.values()], axis=0))
        before = {name: x.copy() for name, x in now.items()}
    mask = np.arange(N) % 2 == 0
    env.reset(options={"reset_mask": mask})
    for name, x in env.randomized.items():
        changed = (x != before[name])[:, 0]
        assert np.array_equal(changed, mask & (name != "world")), name
    env.reset(seed=3)
    again = made(*(Randomize("friction", uniform=(0.5, 1), every="world", operation="scale", name="world"),))
    assert np.array_equal(again.randomized["world"], env.randomized["world"])
    env.reset(seed=4)
    assert (again.randomized["world"] != env.randomized["world"]).all(), "a seed is a new world"
    env.close(), again.close()


def test_a_state_begins_elsewhere_and_is_kicked():
    env = made(Randomize("qvel", "slide", uniform=(1, 2), operation="add", every=4),
               Randomize("qpos", "slide", constant=0.25, every=6))
    slide = env.sim.model.jnt_dofadr[env.sim.model.find("joints", "slide")]
    plain = made()
    q = env.sim.qpos.numpy()
    assert (q[:, -1] == 0.25).all() and np.array_equal(q[:, :-1], plain.sim.qpos.numpy()[:, :-1])
    for step in range(9):
        v = env.sim.qvel.numpy()[:, slide].astype(float)
        env.step(np.zeros((N, 2), np.float32))
        jump = np.abs(env.sim.qvel.numpy()[:, slide] - v)
        assert ((jump > 0.8) == (step in (4, 8))).all(), step
        assert (np.abs(env.sim.qpos.numpy()[:, -1] - 0.25) < 0.02).all() or step != 6
    env.close(), plain.close()


def test_forces_push_and_end():
    env = made(Randomize("xfrc_applied", "cart", 0, uniform=(50, 90), every=5, lasting=2),
               Randomize("qfrc_applied", "left/h", normal=(0, 1), every="episode"))
    cart = 6 * env.sim.model.find("bodies", "cart")
    pushes = []
    for step in range(12):
        env.step(act(step))
        force = env.sim.xfrc_applied.numpy()
        assert np.count_nonzero(force) == N * (step % 5 < 2), step
        pushes.append(force[:, cart])
        load = env.randomized["qfrc_applied of left/h"][:, 0].astype("f")
        assert np.array_equal(env.sim.qfrc_applied.numpy()[:, 9], load)
    pushes = np.array(pushes)
    assert np.array_equal(pushes[0], pushes[1]) and (pushes[5] != pushes[0]).all() and (pushes[5] >= 50).all()
    assert np.array_equal(pushes[10], env.randomized["xfrc_applied of cart"][:, 0].astype("f"))
    mask = np.arange(N) == 1
    env.reset(options={"reset_mask": mask})
    assert np.array_equal(env.sim.xfrc_applied.numpy()[~mask, cart], pushes[11][~mask])
    assert env.sim.xfrc_applied.numpy()[1, cart] >= 50
    env.close()


# ---- observations and actions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_observations_have_noise(mode):
    more = {"autoreset_mode": mode, "max_episode_steps": 6}
    noisy = made(Randomize("observation", normal=(0, 0.1)),
                 Randomize("observation", [0, 3], uniform=(1, 2), name="bias", every="episode"), **more)
    plain = made(**more)
    for step in range(15):
        a, b = noisy.step(act(step)), plain.step(act(step))
        noise, bias = noisy.randomized["observation"], np.zeros_like(noisy.randomized["observation"])
        bias[:, [0, 3]] = noisy.randomized["bias"]
        np.testing.assert_allclose(a[0], b[0] + noise + bias, atol=1e-6)
        assert a[0].dtype == np.float32 and (noise != 0).all() and np.array_equal(a[3], b[3])
        if "final_obs" in a[4]:
            off = np.stack(a[4]["final_obs"]) - np.stack(b[4]["final_obs"])
            assert (np.abs(off) > 0).mean() > 0.9 and np.abs(np.delete(off, [0, 3], axis=1)).max() < 0.6
        if mode is AutoresetMode.DISABLED and a[3].any():
            noisy.reset(), plain.reset()
    noisy.close(), plain.close()


class Recorded(Scene):
    """Remembers what reaches the actuators."""

    def control(self, action):
        self.got = np.array(action)
        return self.got


def test_actions_are_late_and_noisy():
    rows = [Randomize("action_delay", choice=(0, 1, 3)), Randomize("action", "turn", uniform=(-0.1, 0.1))]
    env = Recorded(randomize=rows, max_episode_steps=7)
    env.reset(seed=5)
    history, delays = [], set()
    for step in range(30):
        if step % 8 == 0:
            history = []
        delay = env.randomized["action_delay"][:, 0].astype(int).copy()
        delays.update(delay)
        history.append(act(step))
        env.step(act(step))
        if step % 8 == 7:  # the next episode has begun
            continue
        expected = np.array([history[max(len(history) - 1 - d, 0)][w] for w, d in enumerate(delay)])
        expected[:, 0] += env.randomized["action of turn"][:, 0]
        np.testing.assert_allclose(env.got, expected, atol=1e-7)
    assert delays == {0, 1, 3}
    env.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_observations_are_late_after_their_noise(mode):
    rows = [Randomize("observation_delay", choice=(0, 1, 3)), Randomize("observation", of=0, uniform=(-0.1, 0.1))]
    env = Scene(randomize=rows, max_episode_steps=7, autoreset_mode=mode)
    seen = env.reset(seed=4)[0]
    history, delays = [[] for _ in range(N)], set()
    for step in range(40):
        now = np.concatenate([env.sim.qpos.numpy(), env.sim.qvel.numpy()], axis=1)
        now[:, 0] += env.randomized["observation of 0"][:, 0]
        delay = env.randomized["observation_delay"][:, 0].astype(int)
        delays.update(delay)
        history = [[*(history[w] if env.steps[w] else []), now[w]] for w in range(N)]
        expected = np.array([history[w][max(len(history[w]) - 1 - delay[w], 0)] for w in range(N)])
        np.testing.assert_allclose(seen, expected, atol=1e-6)
        seen, _, _, over, _ = env.step(act(step))
        if mode is AutoresetMode.DISABLED and over.any():
            seen = env.reset(options={"reset_mask": over})[0]
    assert delays == {0, 1, 3}
    env.close()


def test_looks_are_drawn_by_name():
    rows = [Randomize("light_diffuse", "sun", uniform=(0.2, 1), correlated="element"),
            Randomize("geom_rgb", "ground", uniform=([0, 0, 0], [1, 1, 1])),
            Randomize("cam_fovy", "main", uniform=(40, 60), every="world")]
    env = Looks(4, randomize=rows)
    pictures = env.reset(seed=1)[0]
    assert len({picture.tobytes() for picture in pictures}) == 4, "each world looks different"
    model = env.sim.model
    sun, main = model.find("lights", "sun"), model.find("cameras", "main")
    light = env.sim.parameter("light_diffuse").reshape(4, -1, 3)[:, sun]
    assert (light == light[:, :1]).all() and np.ptp(light[:, 0]) > 0
    np.testing.assert_allclose(env.sim.parameter("cam_fovy")[:, main], env.randomized["cam_fovy of main"][:, 0],
                               rtol=1e-6)
    floor = env.sim.parameter("geom_rgb").reshape(4, -1, 3)[:, model.find("geoms", "ground")]
    np.testing.assert_allclose(floor, env.randomized["geom_rgb of ground"], rtol=1e-6)
    assert np.array_equal(pictures, env.reset(seed=1)[0])
    with pytest.raises(stet.NotFoundError, match="no camera is named 'mein'.*main"):
        Looks(randomize=[Randomize("cam_fovy", "mein", constant=45)])
    with pytest.raises(stet.InvalidArgumentError, match="pictures are not kept; leave the row out"):
        Looks(randomize=[Randomize("observation_delay", constant=1)])
    env.close()


def test_a_choice_can_be_late_but_has_no_noise():
    class Choice(Recorded):
        def control(self, action):
            return super().control(np.repeat(action[:, None], 2, axis=1) - 1.0)

    space = spaces.Discrete(3)
    env = Choice(randomize=[Randomize("action_delay", constant=1)], single_action_space=space)
    env.reset(seed=0)
    for step, seen in enumerate([1, 1, 2, 0]):
        env.step(np.full(N, [1, 2, 0, 0][step]))
        assert (env.got == seen - 1).all(), step
    env.close()
    with pytest.raises(stet.InvalidArgumentError, match="Box of floats"):
        Choice(randomize=[Randomize("action", normal=(0, 1))], single_action_space=space)


# ---- reproducible ---------------------------------------------------------------------------------------------------

TABLE = [
    Randomize("body_mass", uniform=(0.8, 1.2), operation="scale", every="world"),
    Randomize("geom_friction", component=0, loguniform=(0.5, 2), operation="scale", correlated=True),
    Randomize("gravity", normal=(0, 0.2), operation="add", every=4),
    Randomize("qpos", ["left/h", "slide"], uniform=(-0.2, 0.2), operation="add"),
    Randomize("qvel", "slide", normal=(0, 1), operation="add", every=5),
    Randomize("xfrc_applied", "cart", [0, 1, 2], normal=(0, 20), every=6, lasting=3),
    Randomize("action_delay", choice=range(3)),
    Randomize("action", normal=(0, 0.1)),
    Randomize("observation", normal=(0, 0.01)),
    Randomize("observation_delay", choice=range(3)),
]


def play(env, seed, first=None, steps=50):
    """Everything that the first worlds see, and what was drawn for them."""
    digest = hashlib.sha256(env.reset(seed=seed)[0][:first].tobytes())
    for k in range(steps):
        for x in (*env.step(act(k, env.num_envs))[:4], *env.randomized.values(), env.sim.qpos.numpy()):
            digest.update(np.ascontiguousarray(x[:first]).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("physics", ["mujoco", "native"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_run_is_a_function_of_seed_and_world(physics, mode):
    few, many = (Scene(n, randomize=TABLE, physics=physics, autoreset_mode=mode) for n in (3, 11))
    assert play(few, 7) == play(few, 7) == play(many, 7, 3) != play(many, 8, 3)
    few.close(), many.close()


def test_a_world_alone_and_the_class_attribute():
    class Own(Scene):
        randomize = TABLE

    class One(stet.gym.Env):
        vector_type = Own

        def __init__(self):
            super().__init__()

    one, many = One(), Own(4)
    assert np.array_equal(one.reset(seed=2)[0], many.reset(seed=2)[0][0])
    assert np.array_equal(one.step(act(0)[0])[0], many.step(act(0, 4))[0][0])
    assert list(many.randomized) == list(one.vector.randomized) and not many.randomized["action"].flags.writeable
    none = Own(4, randomize=())
    none.reset(seed=2)
    assert none.randomized == {}
    one.close(), many.close(), none.close()


def test_what_was_drawn_can_be_observed():
    class Privileged(Scene):
        def observation(self, state):
            return np.concatenate([super().observation(state), self.randomized["friction"]], axis=1, dtype=np.float32)

    env = Privileged(randomize=[Randomize("friction", uniform=(0.5, 1)), Randomize("observation", 0, normal=(0, 1))])
    seen, _ = env.reset(seed=0)
    assert np.array_equal(seen[:, -1], env.sim.parameter("friction")[:, 0].astype("f"))
    env.close()


def test_tasks_of_others_take_a_table():
    rows = [Randomize("body_mass", "torso", uniform=(0.5, 2), operation="scale")]
    env = gymnasium.make_vec("stet.gym:stet/Hopper-v5", 3, randomize=rows, threads=1)
    env.reset(seed=0)
    assert len(np.unique(env.unwrapped.sim.parameter("body_mass")[:, 1])) == 3
    env.close()


@pytest.mark.parametrize("arrays", ["torch", "jax"])
def test_arrays_of_other_libraries_have_noise(arrays):
    xp = pytest.importorskip({"torch": "torch", "jax": "jax.numpy"}[arrays])

    class Tensors(Scene):
        def observation(self, state):
            return xp.concatenate([state.qpos, state.qvel], 1)

        def reward(self, state, action):
            return xp.zeros_like(state.qpos[:, 0])

    a, b = Tensors(arrays=arrays, randomize=TABLE), Scene(randomize=TABLE)
    assert np.allclose(a.reset(seed=1)[0], b.reset(seed=1)[0])
    for k in range(12):
        assert np.allclose(a.step(xp.asarray(act(k)))[0], b.step(act(k))[0], atol=1e-5)
    a.close(), b.close()


# ---- bad rows -------------------------------------------------------------------------------------------------------

BAD = [
    (dict(field="body_masses", constant=1), "did you mean 'body_mass'"),
    (dict(field="body_mass", of="boxes", constant=1), "no body is named 'boxes'.*did you mean 'box'"),
    (dict(field="body_mass", of=9, constant=1), "no body 9.*0 to 4"),
    (dict(field="body_mass", of=[True, "cart", 1.5], constant=1), "no body 1.5"),
    (dict(field="body_mass", of=1.5, constant=1), "of is 1.5; give names, numbers, or a list"),
    (dict(field="body_mass", of="box(", constant=1), r"'box\(' is no regular expression"),
    (dict(field="geom_friction", component=3, constant=1), "component 3.*0 to 2"),
    (dict(field="geom_friction", component=-1, constant=1), "component -1.*0 to 2"),
    (dict(field="body_mass"), "no distribution.*give one of uniform"),
    (dict(field="body_mass", constant=1, normal=(0, 1)), "normal and constant"),
    (dict(field="body_mass", uniform=2), r"give uniform=\(low, high\)"),
    (dict(field="body_mass", uniform=(2, 1)), "between 2 and 1.*lower bound first"),
    (dict(field="body_mass", uniform=([1, 2], 3)), "give a finite number, or 5 of them"),
    (dict(field="body_mass", uniform=(0, np.inf)), "give a finite number"),
    (dict(field="body_mass", uniform=("a", 2)), "give a finite number"),
    (dict(field="body_mass", loguniform=(0, 1)), "above 0"),
    (dict(field="body_mass", normal=(0, -1)), "deviation.*0 or more"),
    (dict(field="body_mass", normal=(0, 1, 2)), r"give normal=\(mean, deviation\)"),
    (dict(field="body_mass", choice=()), "what to choose from"),
    (dict(field="body_mass", choice=3), "what to choose from"),
    (dict(field="body_mass", constant=-1), "number 0 is -1; give finite numbers of 0 or more"),
    (dict(field="body_mass", uniform=(-2, 1), operation="scale"), "number 1 is -"),
    (dict(field="jnt_range", of="left/h", constant=(1, -1)), "pairs of which the first is at most the second"),
    (dict(field="geom_quat", of="box", constant=0), "length is not 0"),
    (dict(field="body_mass", constant=1, operation="times"), "'abs', 'add' or 'scale'"),
    (dict(field="body_mass", constant=1, every=0), "every is 0"),
    (dict(field="body_mass", constant=1, every="day"), "every is 'day'"),
    (dict(field="body_mass", constant=1, lasting=1), "lasting is of xfrc_applied"),
    (dict(field="xfrc_applied", constant=1, lasting=1), "lasting is of xfrc_applied"),
    (dict(field="xfrc_applied", constant=1, every=5, lasting=5), "from 1 to 4"),
    (dict(field="body_mass", constant=1, correlated="all"), "correlated is 'all'"),
    (dict(field="body_mass", constant=1, clip=(2, 1)), r"give \(least, most\)"),
    (dict(field=("body_mass", "qpos"), constant=1), "give each of the others its own"),
    (dict(field=("body_mass", "geom_friction"), constant=1, correlated="element"), "a body and a geom are no one"),
    (dict(field="qpos", of="slide", component=1, constant=1), "component 1.*0 to 0"),
    (dict(field="action_delay", uniform=(0, 2)), "whole number of steps"),
    (dict(field="observation_delay", constant=-1), "whole number of steps"),
    (dict(field="action_delay", choice=(0, -1)), "whole number of steps"),
    (dict(field="action_delay", choice=(0, 0.5)), "whole number of steps"),
    (dict(field="observation", of="qpos", constant=1), "no column is named 'qpos'.*0 to 23"),
]


@pytest.mark.parametrize("row, sentence", BAD, ids=lambda x: str(x)[:60])
def test_bad_rows_are_said(row, sentence):
    with pytest.raises(stet.Error, match=r"randomize\[1\], .*" + sentence) as caught:
        Scene(randomize=[Randomize("friction", constant=1), Randomize(**row)])
    assert "\n" not in str(caught.value) and ";" in str(caught.value)


def test_bad_tables_are_said():
    with pytest.raises(stet.ArgumentTypeError, match=r"randomize\[0\] is a 'str'; give rows"):
        Scene(randomize=["body_mass"])
    with pytest.raises(stet.InvalidArgumentError, match=r"randomize\[0\], friction: another.*name="):
        Scene(randomize=[Randomize("friction", constant=1)] * 2)
    with pytest.raises(stet.InvalidArgumentError, match="tendon_stiffness of t: the model has none; remove the row"):
        VectorEnv(stet.scenes / "cartpole.xml", randomize=[Randomize("tendon_stiffness", "t", constant=1)])
    env = Scene(randomize=[Randomize("body_mass", normal=(0, 1))])
    with pytest.raises(stet.InvalidArgumentError, match=r"randomize\[0\], body_mass: .*0 or more"):
        env.reset(seed=0)
    env.close()
