"""stet.gym.tasks: the tasks of other projects' names. Kernels are held against the same sums in NumPy."""

import os
import pathlib
import re

import numpy as np
import pytest

pytest.importorskip("gymnasium")
CORPUS = pathlib.Path(__file__).parents[2] / ".venv" / "corpus"
if not (CORPUS / "mjlab").exists():
    pytest.skip("no models of other projects", allow_module_level=True)
os.environ.setdefault("STET_ROBOTS", str(CORPUS))

import stet
import stet.gym
import stet.train
from stet.gym.tasks import TASKS, scene
from stet.gym.tasks.velocity import TERMS

VELOCITY = {"Go1Velocity": (12, 4), "G1Velocity": (29, 2)}
SEED = int(os.environ.get("STET_TEST_SEED", 1))


def make(name, n=3, **more):
    return TASKS[name](n, "cpu", **{"physics": "native", "threads": 1, "autoreset_mode": "SAME_STEP", **more})


def act(env, k, size=0.5):
    """Actions of a step; those of a world are the same for any number of worlds."""
    rows = [np.random.default_rng((SEED, k, w)).normal(0, size, env.single_action_space.shape[0])
            for w in range(env.num_envs)]
    return np.clip(rows, -10, 10).astype(np.float32)


def test_a_robot_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("STET_ROBOTS", str(tmp_path))
    with pytest.raises(stet.NotFoundError, match=r"go1.xml, is not in .*; pip install --no-deps mjlab==1.6.0, or name"):
        make("Go1Velocity")
    monkeypatch.delenv("STET_ROBOTS")
    with pytest.raises(stet.NotFoundError, match="is not installed; pip install --no-deps playground"):
        scene.find_file("mujoco_playground", "no.xml")


def test_a_weight_that_is_not_there():
    with pytest.raises(stet.Error, match="no term of the reward 'slipp'; did you mean 'slip'"):
        make("Go1Velocity", weights={"slipp": 1})


def turn_of(q):
    w, x, y, z = q.T
    rows = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
    return np.array(rows).transpose(2, 0, 1)


def pick(table, names):
    return np.array([next(x for key, x in table.items() if re.fullmatch(key, name)) for name in names])


class Velocity:
    """The task in NumPy, beside an environment without disturbances."""

    def __init__(self, env):
        self.env, self.names, n = env, env.sim.model.joints[1:], env.num_envs
        self.air, self.peak = (np.zeros((n, len(env.feet))) for _ in range(2))
        self.previous = np.zeros((n, len(self.names)))
        self.spreads = [pick(table, self.names) for table in env.tolerances]
        low, high = env.sim.parameter("jnt_range")[0].reshape(-1, 2)[1:].T
        self.low, self.high = (low + high) / 2 - 0.45 * (high - low), (low + high) / 2 + 0.45 * (high - low)

    def step(self, action, command):
        """The terms of the step that was made, and the critic's part of what is seen but for the command."""
        env, sim = self.env, self.env.sim
        qpos, qvel, s = sim.qpos.numpy(), sim.qvel.numpy(), sim.array("step_sensordata").numpy()

        def sensor(name):
            return s[:, sim.columns("step_sensordata", name)]

        turn, off = turn_of(qpos[:, 3:7]), qpos[:, 7:] - env.home[7:]
        velocity = np.einsum("nji,nj->ni", turn, qvel[:, :3])
        speed = np.linalg.norm(command[:, :2], axis=1) + abs(command[:, 2])
        walks = (speed > 0.05).astype(float)
        spread = np.where(speed[:, None] >= 1.5, self.spreads[2], np.where(speed[:, None] > 0.05, self.spreads[1],
                                                                          self.spreads[0]))
        miss = velocity - np.c_[command[:, :2], np.zeros(len(command))]
        up, spin = sensor("torso_up"), sensor("torso_turning")
        touch = np.stack([sensor(f"{f}_contact")[:, 0] > 0 for f in env.feet], 1)
        force = np.stack([sensor(f"{f}_contact")[:, 1:] for f in env.feet], 1)
        height = np.stack([sensor(f"{f}_place")[:, 2] for f in env.feet], 1)
        slip = np.stack([np.square(sensor(f"{f}_velocity")[:, :2]).sum(1) for f in env.feet], 1)
        landed = touch & (self.air > 0)
        self.air = np.where(touch, 0, self.air + env.dt)
        self.peak = np.where(touch, self.peak, np.maximum(self.peak, height))
        terms = {
            "linear": np.exp(-np.square(miss).sum(1) / 0.25),
            "angular": np.exp(-(np.square(qvel[:, 5] - command[:, 2]) + np.square(qvel[:, 3:5]).sum(1)) / 0.5),
            "upright": np.exp(-np.square(up[:, :2]).sum(1) / 0.2),
            "pose": np.exp(-np.square(off / spread).mean(1)),
            "limits": (np.maximum(self.low - qpos[:, 7:], 0) + np.maximum(qpos[:, 7:] - self.high, 0)).sum(1),
            "change": np.square(action - self.previous).sum(1),
            "clearance": (abs(height - 0.1) * np.sqrt(slip)).sum(1) * walks,
            "swing": (np.square(self.peak / 0.1 - 1) * landed).sum(1) * walks,
            "slip": (slip * touch).sum(1) * walks,
            "landing": (np.linalg.norm(force, axis=2) * landed).sum(1) * walks,
            "rolling": np.square(spin[:, :2]).sum(1),
            "momentum": np.square(sensor("momentum")).sum(1),
            "itself": (np.linalg.norm(sensor("itself")[:, 1:], axis=1) > 10).astype(float)}
        self.peak = np.where(landed, 0, self.peak)
        self.previous = action.astype(float)
        seen = [velocity, qvel[:, 3:6], -turn[:, 2], off, qvel[:, 6:], action]
        feet = [height, self.air, touch, (np.sign(force) * np.log1p(abs(force))).reshape(len(off), -1)]
        return {name: env.dt * env.weights[name] * x for name, x in terms.items()}, np.concatenate(seen, 1), \
            np.concatenate(feet, 1), np.linalg.norm(miss[:, :2], axis=1), turn[:, 2, 2] < np.cos(np.radians(70))


@pytest.mark.parametrize("physics", ["native", "mujoco"])
@pytest.mark.parametrize("name", VELOCITY)
def test_velocity_beside_numpy(name, physics):
    env = make(name, 5, physics=physics, isa="f64", disturb=False, randomize=(), weights={"slip": -0.3})
    assert env.weights["slip"] == -0.3 and env.weights["linear"] == 2
    assert env.weights["itself"] == (-4 if name == "G1Velocity" else 0)
    nu, feet = VELOCITY[name]
    seen, _ = env.reset(seed=SEED)
    assert seen["policy"].shape == (5, 12 + 3 * nu) and seen["critic"].shape == (5, 12 + 3 * nu + 6 * feet)
    task, ended = Velocity(env), np.zeros(5, bool)
    landings = 0
    for k in range(120):
        command, action = env.command.numpy(), act(env, k)
        begins = env.tick.numpy()[:, 0]
        seen, reward, terminated, truncated, info = env.step(action)
        if (terminated | truncated).any():
            ended |= terminated | truncated
        terms, first, last, error, fell = task.step(action, command)
        live = ~ended
        if not live.any():
            break
        for term in TERMS:
            assert np.allclose(info[term][live], terms[term][live], rtol=1e-6, atol=1e-9), (term, k)
        landings += (info["swing"][live] < 0).sum()
        assert np.allclose(reward[live], sum(terms.values())[live], rtol=1e-6, atol=1e-9)
        assert np.allclose(info["error"][live], error[live], atol=1e-6) and not fell[live].any()
        critic = seen["critic"][live]
        assert np.allclose(critic[:, : 9 + 3 * nu], first[live], atol=1e-5)
        assert np.allclose(critic[:, 9 + 3 * nu : 12 + 3 * nu], env.command.numpy()[live])
        assert np.allclose(critic[:, 12 + 3 * nu :], last[live], atol=1e-5)
        same = seen["policy"][live] - critic[:, : 12 + 3 * nu]
        bias = env.bias.numpy()[live]
        assert np.allclose(same[:, 9 : 9 + nu], bias, atol=1e-5) and abs(bias).max() <= 0.015
        same[:, 9 : 9 + nu] = 0
        assert np.allclose(same, 0, atol=1e-6), "without disturbances only encoders differ"
        assert (env.tick.numpy()[live, 0] == begins[live] + 1).all()
    assert landings > 0 and k > 30, f"seed {SEED}: no foot landed, or every world fell"
    env.close()


def test_velocity_ends_when_it_lies_on_its_side():
    env = make("Go1Velocity", 2, disturb=False)
    env.reset(seed=SEED)
    state = env.sim.qpos.numpy()
    state[0, 2:7] = 0.3, np.sqrt(0.5), np.sqrt(0.5), 0, 0
    env.sim.qpos.write(state)
    seen, _, terminated, truncated, info = env.step(act(env, 0, 0))
    assert terminated.tolist() == [True, False] and not truncated.any()
    assert env.tick.numpy()[:, 0].tolist() == [0, 1] and (env.gait.numpy()[0] == 0).all()
    assert np.allclose(seen["critic"][0, 6:9], [0, 0, -1], atol=1e-6), "the first observation of the next episode"
    env.close()


def test_commands_are_drawn_as_they_should_be():
    env = make("Go1Velocity", 500, randomize=(), disturb=False, max_episode_steps=0)
    env.reset(seed=SEED)
    first, lasted = env.command.numpy(), np.zeros(500)
    stands = (first == 0).all(1)
    ahead = (first[:, 0] > 0) & (first[:, 1:] == 0).all(1)
    aims = env.aim.numpy()[:, 0] > 0
    for share, what in ((0.1, stands), (0.2 * 0.9, ahead), (0.3 * 0.9 * 0.8, aims)):
        assert abs(what.mean() - share) < 5 * np.sqrt(share * (1 - share) / 500), f"seed {SEED}"
    low, high = np.array(env.ranges).T
    assert (first >= low).all() and (first <= high).all() and first[:, :2].std(0).min() > 0.3
    clock, due = env.clock.numpy()[:, 0], np.zeros(500, bool)
    assert clock.min() >= 3 and clock.max() <= 8
    turning = env.command.numpy()[:, 2]
    for k in range(160):
        env.step(act(env, k, 0.0))
        now = env.command.numpy()
        new = (now[:, 0] != first[:, 0]) & ~due
        lasted[new] = k + 1
        due |= new
    moved = due & (lasted > 0)
    assert moved.sum() > 20 and np.allclose(lasted[moved] * env.dt, clock[moved], atol=env.dt), f"seed {SEED}"
    assert (abs(env.command.numpy()[aims & ~due, 2] - turning[aims & ~due]) > 0).any(), "turning follows the heading"
    env.close()


def test_pushes_and_noise():
    pushed, still = make("Go1Velocity", 64, randomize=()), make("Go1Velocity", 64, randomize=(), disturb=False)
    a, b = (env.reset(seed=SEED)[0] for env in (pushed, still))
    assert np.array_equal(a["critic"], b["critic"]) and not np.array_equal(a["policy"], b["policy"])
    off = abs(a["policy"] - b["policy"])
    widths = np.concatenate([np.full(n or 12, x) for x, n in ((.5, 3), (.2, 3), (.05, 3), (.01, 0), (1.5, 0), (0, 0),
                                                              (0, 3))])
    assert (off <= widths + 1e-6).all() and (off.max(0) >= 0.8 * widths).all(), f"seed {SEED}"
    when = pushed.clock.numpy()[:, 1]
    assert when.min() >= 1 and when.max() <= 3
    for k in range(100):
        pushed.step(act(pushed, k, 0)), still.step(act(still, k, 0))
        apart = abs(pushed.sim.qvel.numpy() - still.sim.qvel.numpy()).max(1) > 1e-6
        time = (k + 1) * 0.02
        due = when < time - 0.01
        assert not apart[when > time + 0.01].any() and apart[due].sum() >= 0.9 * due.sum()
    assert apart.sum() > 10, f"seed {SEED}"
    pushed.close(), still.close()


@pytest.mark.parametrize("name", TASKS)
def test_worlds_do_not_know_of_each_other(name):
    """A world's episodes follow from the seed and its number; episodes on the device, too."""
    rows = []
    for n in (5, 2):
        for tensors in (False, True):
            env = make(name, n, randomize=(), max_episode_steps=8)
            env = stet.gym.TensorVectorEnv(env) if tensors else env
            seen, _ = env.reset(seed=SEED)
            out = [seen["policy"][:2]]
            for k in range(20):
                seen, reward, *_ = env.step(act(env, k))
                out += [seen["policy"][:2], seen["critic"][:2], reward[:2, None].astype(np.float32)]
            rows.append(np.concatenate(out, 1))
            env.close()
    assert np.array_equal(rows[0], rows[2]) and np.array_equal(rows[1], rows[3]), f"seed {SEED}"
    assert len(np.unique(rows[1][:, 0])) == 2


@pytest.fixture(scope="module")
def hills():
    """Small ground, with steps."""
    return stet.terrain.Terrain(3, 2, 4.0, 0.1, {"rough": stet.terrain.rough(0.02, 0.2)}, border=4.0, seed=SEED)


def test_what_is_seen_of_the_ground(hills):
    """The heights of the ground are those of the field: around the trunk, and below each foot."""
    env = make("Go1Velocity", 6, isa="f64", disturb=False, randomize=(), ground=hills)
    seen, _ = env.reset(seed=SEED)
    assert {name: part.shape for name, part in seen.items()} == {"policy": (6, 48 + 187), "critic": (6, 72 + 187)}
    for k in range(30):
        seen, _, terminated, *_ = env.step(act(env, k, 0.3))
        qpos, s = env.sim.qpos.numpy(), env.sim.array("step_sensordata").numpy()
        turn = turn_of(qpos[:, 3:7])[:, :2, 0]
        turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        starts = stet.GridPattern().rays()[0]
        x = qpos[:, :1] + turn[:, :1] * starts[:, 0] - turn[:, 1:] * starts[:, 1]
        y = qpos[:, 1:2] + turn[:, 1:] * starts[:, 0] + turn[:, :1] * starts[:, 1]
        above = (qpos[:, 2:3] - hills.height(x, y)) / 5
        for part in seen.values():
            assert np.allclose(part[:, -187:][~terminated], above[~terminated], atol=2e-5), f"seed {SEED}"
        place = np.stack([s[:, env.sim.columns("step_sensordata", f"{foot}_place")] for foot in env.feet], 1)
        feet = place[:, :, 2] - hills.height(place[:, :, 0], place[:, :, 1])
        assert np.allclose(seen["critic"][~terminated, 48:52], feet[~terminated], atol=2e-5), f"seed {SEED}"
    env.close()


@pytest.mark.parametrize("tensors", [False, True])
def test_who_goes_far_goes_up(hills, tensors):
    vector = make("Go1Velocity", 4, disturb=False, randomize=(), ground=hills, max_episode_steps=5)
    env = stet.gym.TensorVectorEnv(vector) if tensors else vector
    env.reset(seed=SEED)
    sim, level, column = vector.sim, vector.level, vector.column.numpy()[:, 0]
    assert level.numpy()[:, 0].tolist() == [0, 0, 1, 1] and column.tolist() == [0, 1, 0, 1]
    level.write(np.array([[0], [1], [1], [2]], np.int32))
    vector.command.write(np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0]]))
    at = sim.qpos.numpy()
    at[:, :3] = hills.origins[[0, 1, 1, 2], column] + [[2.5, 0, 0.4], [0.02, 0, 0.4], [0.02, 0, 0.4], [0, 2.5, 0.4]]
    sim.qpos.write(at)
    for k in range(5):
        _, _, terminated, truncated, _ = env.step(act(env, k, 0))
    assert truncated.all() and not terminated.any()
    now = level.numpy()[:, 0]
    assert now[:3].tolist() == [1, 0, 1] and 0 <= now[3] < 3, "up, down, stood as it was told, beyond the last"
    begins = sim.qpos.numpy()[:, :3] - hills.origins[now, column]
    assert (abs(begins[:, :2]) <= 0.5).all() and np.allclose(begins[:, 2], 0.278 + 0.03, atol=0.021)
    env.reset(seed=SEED)
    assert level.numpy()[:, 0].tolist() == [0, 0, 1, 1], "a seed begins with the first levels"
    with pytest.raises(stet.Error, match="ground is 'flat', 'rough' or a Terrain, not 'hilly'"):
        make("Go1Velocity", ground="hilly")
    env.close()


@pytest.mark.parametrize("name", [*VELOCITY, "G1Tracking"])
def test_who_explores_does_not_earn_by_falling(name):
    """With the noise in actions that training begins with a second is worth something: an end of the episode costs."""
    kind = TASKS[name]
    noise = {**stet.train.SETTINGS["actor"], **kind.training.get("actor", {})}["distribution_cfg"]
    env = make(name, 32, **kind.training_keywords)
    env.reset(seed=SEED)
    worth = 0.0
    for k in range(60):
        worth += env.step(act(env, k, noise["init_std"]))[1].mean() / (60 * env.dt)
    assert worth > 0.25, f"seed {SEED}: {worth} a second"
    env.close()


LIFT = {"YamLift": (8, 7), "PandaPick": (9, 8)}


def lift_terms(env, qpos, qvel, place, touch, target, reached):
    """The terms of a step that was made, before weights."""
    nq = len(qpos[0]) - 7
    box, joints = qpos[:, nq:], qpos[:, :nq]
    low, high = env._limits(slice(0, nq))
    near, far = (np.linalg.norm(x - box[:, :3], axis=1) for x in (place, target))
    turn = turn_of(box[:, 3:])
    arm = [not name.startswith(("finger", "left", "right")) for name in env.sim.model.joints[:nq]]
    reached |= near < 0.012
    return {
        "lift": np.exp(-np.square(near / 0.2)) * (1 + np.exp(-np.square(far / 0.3))),
        "precise": np.exp(-np.square(far / 0.05)),
        "change": np.square(env.change.numpy()).sum(1),
        "limits": (np.maximum(low - joints, 0) + np.maximum(joints - high, 0)).sum(1),
        "fast": np.square(np.maximum(abs(qvel[:, :nq]) - 0.5, 0)).sum(1),
        "gripper": 1 - np.tanh(5 * near),
        "brought": reached * (1 - np.tanh(5 * (0.9 * far + 0.1 * np.linalg.norm(
            (turn - np.eye(3)).reshape(-1, 9)[:, :6], axis=1)))),
        "clear": (touch[:, 0] <= 0).astype(float),
        "home": 1 - np.tanh(np.linalg.norm((joints - env.home[:nq])[:, arm], axis=1))}, far


@pytest.mark.parametrize("physics", ["native", "mujoco"])
@pytest.mark.parametrize("name", LIFT)
def test_lift_beside_numpy(name, physics):
    weights = {term: 0.1 * (k + 1) for k, term in enumerate(TASKS[name].terms)}
    env = make(name, 4, physics=physics, isa="f64", disturb=False, randomize=(), weights=weights)
    (nq, nu), sim = LIFT[name], env.sim
    seen, _ = env.reset(seed=SEED)
    low, high = np.array(env._box).T
    assert (seen["critic"][:, -13:-10] >= low - 1e-6).all() and (seen["critic"][:, -13:-10] <= high + 1e-6).all()
    reached = np.zeros(4, bool)
    turned = np.ptp(seen["critic"][:, -10:-6], axis=0).max() > 0
    assert turned == (name == "YamLift"), "what counts how the box is turned would have to be seen"
    for k in range(60):
        action, target = act(env, k, 1.0), env.target.numpy()
        if k == 30:  # the box in the gripper, which counts once
            state = sim.qpos.numpy()
            state[1:, nq : nq + 3] = sim.array("site_xpos").numpy().reshape(4, -1, 3)[1:, sim.model.find(
                "sites", env._grasp)]
            sim.qpos.write(state)
            action[:] = 0
        seen, _, terminated, _, info = env.step(action)
        qpos, qvel = sim.qpos.numpy(), sim.qvel.numpy()
        place = sim.array("site_xpos").numpy().reshape(4, -1, 3)[:, sim.model.find("sites", env._grasp)]
        touch = sim.array("step_sensordata").numpy()[:, sim.columns("step_sensordata", "touch")]
        terms, far = lift_terms(env, qpos, qvel, place, touch, target, reached)
        live = ~terminated
        for term, x in terms.items():
            assert np.allclose(info[term][live], (env.dt * weights[term] * x)[live], rtol=1e-5, atol=1e-8), (term, k)
        assert np.allclose(info["distance"][live], far[live], atol=1e-6)
        whole = np.concatenate([qpos[:, :nq] - env.home[:nq], qvel[:, :nq], qpos[:, nq : nq + 3] - place,
                                target - qpos[:, nq : nq + 3], np.clip(action, -10, 10), qpos[:, nq:], qvel[:, nq:]], 1)
        assert np.allclose(seen["critic"][live], whole[live], atol=2e-5)
        assert np.array_equal(seen["policy"], seen["critic"][:, : 2 * nq + 6 + nu])
        if terminated.any():
            break
    assert k > 30 and reached[1:].any(), f"seed {SEED}"
    env.close()


@pytest.mark.parametrize("name", LIFT)
def test_the_box_that_is_measured_was_there_for_long(name):
    """An episode that `stet play --measure` runs does not end just after the box was put elsewhere."""
    kind = TASKS[name]
    env = make(name, 64, randomize=(), **{**kind.measured_with, "autoreset_mode": "DISABLED"})
    env.reset(seed=SEED)
    since, target, k = np.zeros(64, int), env.target.numpy(), 0
    while k < env.max_episode_steps:
        truncated, k = env.step(act(env, 0, 0))[3], k + 1
        moved = (env.target.numpy() != target).any(1)
        since[moved], target = k, env.target.numpy()
    assert truncated.all() and ((k - since) * env.dt >= 3 - 1e-9).all(), f"seed {SEED}: {(k - since) * env.dt}"
    env.close()


def reach(mujoco, model, site, joints, goal, turn):
    """Joints with which the site is at a place, turned as `turn` [3, 3]: by damped least squares, from these."""
    data, place, spin = mujoco.MjData(model), np.zeros((3, model.nv)), np.zeros((3, model.nv))
    joints, n = joints.copy(), len(joints)
    low, high = model.jnt_range[:n].T
    for _ in range(3):
        data.qpos[:n] = joints
        mujoco.mj_kinematics(model, data), mujoco.mj_comPos(model, data)
        mujoco.mj_jacSite(model, data, place, spin, site)
        now = data.site_xmat[site].reshape(3, 3)
        off = np.r_[goal - data.site_xpos[site], 0.15 * sum(np.cross(now[:, k], turn[:, k]) for k in range(3))]
        rows = np.r_[place[:, :n], 0.3 * spin[:, :n]]
        change = rows.T @ np.linalg.solve(rows @ rows.T + 1e-4 * np.eye(6), off)
        joints = np.clip(joints + np.clip(change, -0.3, 0.3), low, high)
    return joints


def test_a_box_can_be_brought():
    """By a plan that knows what the policy sees: above the box, down, close, to the target. The measure can be had."""
    mujoco = pytest.importorskip("mujoco")
    kind, n, arm = TASKS["PandaPick"], 6, 7
    env = make("PandaPick", n, **{**kind.measured_with, "autoreset_mode": "DISABLED"})
    described = env.scene()
    described.floor()
    model = mujoco.MjModel.from_xml_string(described.text())
    site = model.site(env._grasp).id
    env.reset(seed=SEED)
    box, target = env.sim.qpos.numpy()[:, 9:], env.target.numpy()
    joints, held = np.repeat(env.home[None, :arm], n, 0), np.repeat(env.home[None, :arm], n, 0)
    for k in range(150):
        if k < 66:
            box = env.sim.qpos.numpy()[:, 9:]
        action = np.zeros((n, 8), np.float32)
        for w in range(n):
            part = np.clip((k - 81) / 35, 0, 1)
            goal = (1 - part) * box[w, :3] + part * target[w]
            goal[2] += 0.12 * (1 - np.clip((k - 36) / 24, 0, 1))
            joints[w] = reach(mujoco, model, site, joints[w], goal, np.diag([-1, 1, -1]))
            action[w] = np.r_[(joints[w] - held[w]) / env._step, 10 if k < 66 else -10]
        action = np.clip(action, -10, 10)
        held += action[:, :arm] * env._step
        _, _, terminated, _, info = env.step(action)
        assert not terminated.any(), f"seed {SEED}, step {k}"
    assert (info["distance"] <= kind.measured[2]).all(), f"seed {SEED}: {info['distance']}"
    assert info["brought"].min() > 0.7 * env.dt * env.weights["brought"], "the reward says so"
    env.close()


def test_a_box_that_is_lost_ends_an_episode():
    env = make("PandaPick", 2, disturb=False)
    env.reset(seed=SEED)
    state = env.sim.qpos.numpy()
    state[1, 9] = 1.2
    env.sim.qpos.write(state)
    _, _, terminated, *_ = env.step(act(env, 0, 2.0))
    assert terminated.tolist() == [False, True]
    held = env.held.numpy()[0]
    env.step(act(env, 1, 0))
    assert np.array_equal(env.held.numpy()[0], held) and abs(held - env.home[[*range(7), 7]]).max() > 0.01
    assert np.allclose(env.held.numpy()[1], env.home[[*range(7), 7]], atol=1e-6), "it begins at the keyframe again"
    env.close()


@pytest.mark.parametrize("physics", ["native", "mujoco"])
def test_rotate_beside_numpy(physics):
    weights = {"turning": 1, "dropped": -100, "change": -0.01, "pose": -0.1, "drift": -0.2}
    env = make("LeapRotate", 4, physics=physics, isa="f64", randomize=(), weights=weights)
    sim = env.sim
    seen, _ = env.reset(seed=SEED)
    begins = sim.qpos.numpy()
    assert np.allclose(np.linalg.norm(begins[:, 19:], axis=1), 1) and abs(begins[:, :16] - env.home[:16]).max() <= 0.17
    assert abs(begins[:, 16:19] - [0.1, 0, 0.05]).max() <= 0.01 and (begins.std(0) > 0).all()
    tips = [sim.model.find("sites", name) for name in ("grasp_site", "th_tip", "if_tip", "mf_tip", "rf_tip")]
    for k in range(40):
        action = act(env, k)
        if k == 35:
            begins = sim.qpos.numpy()
            begins[1, 18] = -0.1
            sim.qpos.write(begins)
        seen, reward, terminated, _, info = env.step(action)
        assert terminated.tolist() == [False, k == 35, False, False]
        live = ~terminated
        qpos, qvel = sim.qpos.numpy(), sim.qvel.numpy()
        turning = np.einsum("ni,ni->n", turn_of(qpos[:, 19:])[:, 2], qvel[:, 19:])
        terms = {"turning": turning, "dropped": np.zeros(4), "change": np.square(env.change.numpy()).sum(1),
                 "pose": np.square(qpos[:, :16] - env.home[:16]).sum(1), "drift": abs(qvel[:, 16:19]).sum(1)}
        for term, x in terms.items():
            assert np.allclose(info[term][live], (0.05 * weights[term] * x)[live], rtol=1e-5, atol=1e-8), (term, k)
        assert np.allclose(info["slowness"][live], -turning[live], atol=1e-6)
        if terminated.any():
            assert np.isclose(info["final_info"]["dropped"][1], -5)
        place = sim.array("site_xpos").numpy().reshape(4, -1, 3)[:, tips]
        whole = np.concatenate([qpos[:, :16], action, qvel[:, :16], (place[:, 1:] - place[:, :1]).reshape(4, -1),
                                place[:, 0] - qpos[:, 16:19], qpos[:, 19:], qvel[:, 16:]], 1)
        assert np.allclose(seen["critic"][live], whole[live], atol=2e-5)
        noise = abs(seen["policy"] - seen["critic"][:, :32])
        assert 0 < noise[:, :16].max() <= 0.05 + 1e-6 and (noise[:, 16:] < 1e-6).all()
    env.close()


def angle(a, b):
    """Between rotations [..., 3, 3]."""
    return np.arccos(np.clip((np.einsum("...ij,...ij->...", a, b) - 1) / 2, -1, 1))


def turns_of(q):
    return turn_of(q.reshape(-1, 4)).reshape(*q.shape[:-1], 3, 3)


@pytest.mark.parametrize("physics", ["native", "mujoco"])
def test_tracking_beside_numpy(physics):
    env = make("G1Tracking", 3, physics=physics, isa="f64", randomize=(), disturb=False, max_episode_steps=0)
    sim, frames, n = env.sim, env._frames, len(env._body.numpy())
    body, anchor = env._body.numpy(), 7
    seen, _ = env.reset(seed=SEED)
    assert {name: part.shape for name, part in seen.items()} == {"policy": (3, 160), "critic": (3, 286)}
    assert np.allclose(sim.qpos.numpy(), frames[0, :36], atol=1e-6) and np.allclose(sim.qvel.numpy(), frames[0, 36:71])
    assert np.allclose(seen["critic"][:, 58:67], [0, 0, 0, 1, 0, 0, 1, 0, 0], atol=1e-6), "it is where the motion is"
    low, high = env._limits(slice(1, None))
    for k in range(25):
        action = act(env, k, 0.2)
        seen, reward, terminated, _, info = env.step(action)
        if terminated.any():
            break
        want = frames[k + 1, 71:].reshape(n, 13)
        place, turn = (sim.array(name).numpy().reshape(3, -1, size)[:, body]
                       for name, size in (("xpos", 3), ("xquat", 4)))
        moves = sim.array("step_sensordata").numpy()
        at = sim.columns("step_sensordata", "pelvis_velocity").start
        moves, itself = moves[:, at : at + 6 * n].reshape(3, n, 6), moves[:, at + 6 * n :]
        mine, theirs = turns_of(turn), turns_of(want[:, 3:7])
        offset = mine[:, anchor] @ theirs[anchor].T
        heading = np.arctan2(offset[:, 1, 0] - offset[:, 0, 1], offset[:, 0, 0] + offset[:, 1, 1])
        c, s, zero = np.cos(heading), np.sin(heading), 0 * heading
        yaw = np.array([[c, -s, zero], [s, c, zero], [zero, zero, zero + 1]]).transpose(2, 0, 1)
        aim = np.einsum("nij,bj->nbi", yaw, want[:, :3] - want[anchor, :3])
        aim += np.c_[place[:, anchor, :2], np.full(3, want[anchor, 2])][:, None]
        off = np.linalg.norm(aim - place, axis=2)
        joints = sim.qpos.numpy()[:, 7:]
        terms = {
            "root": np.exp(-np.square(want[anchor, :3] - place[:, anchor]).sum(1) / 0.09),
            "root_turn": np.exp(-np.square(angle(theirs[anchor], mine[:, anchor])) / 0.16),
            "bodies": np.exp(-np.square(off).mean(1) / 0.09),
            "turns": np.exp(-np.square(angle(yaw[:, None] @ theirs, mine)).mean(1) / 0.16),
            "velocities": np.exp(-np.square(want[:, 7:10] - moves[:, :, :3]).sum(2).mean(1)),
            "spins": np.exp(-np.square(want[:, 10:] - moves[:, :, 3:]).sum(2).mean(1) / 3.14**2),
            "change": np.square(env.change.numpy()).sum(1),
            "limits": (np.maximum(low - joints, 0) + np.maximum(joints - high, 0)).sum(1),
            "itself": (np.linalg.norm(itself[:, 1:4], axis=1) > 10).astype(float)}
        for term, x in terms.items():
            assert np.allclose(info[term], env.dt * env.weights[term] * x, rtol=1e-5, atol=1e-8), (term, k)
        assert np.allclose(info["error"], off.mean(1), atol=1e-6)
        inside = np.einsum("nji,nbj->nbi", mine[:, anchor], place - place[:, anchor : anchor + 1])
        turned = np.einsum("nji,nbjk->nbik", mine[:, anchor], mine)[..., :2].reshape(3, n, 6)
        assert np.allclose(seen["critic"][:, 160:], np.concatenate([inside, turned], 2).reshape(3, -1), atol=2e-5)
        assert np.allclose(seen["critic"][:, :29], frames[k + 1, 7:36], atol=1e-6)
        assert np.allclose(seen["critic"][:, 29:58], frames[k + 1, 42:71], atol=1e-5)
        assert np.allclose(seen["policy"][:, 73 : 73 + 29], joints - env.home[7:] + env.bias.numpy(), atol=2e-5)
    assert k > 10, f"seed {SEED}"
    env.close()


def test_motions(tmp_path):
    """Velocities of a motion are those of its frames; it is read from files, and begins again when it is over."""
    env = make("G1Tracking", 2, disturb=False, randomize=())
    frames, model = env._frames, env.sim.model
    env.close()
    feet = frames[:, 71:].reshape(400, -1, 13)[:, [3, 6]]
    assert abs(feet[:, :, :3] - feet[0, :, :3]).max() < 0.02 and abs(feet[:, :, 7:]).max() < 0.3, "the feet stay"
    assert np.ptp(frames[:, 2]) > 0.08 and np.ptp(frames[:, 7:36], axis=0).max() > 1
    time = np.arange(60) / 50
    qpos = np.repeat(frames[:1, :36], 60, axis=0)
    qpos[:, 0], qpos[:, 10] = 0.7 * time, 0.3 + 0.2 * np.sin(3 * time)
    yaw = 0.8 * time
    qpos[:, 3:7] = np.c_[np.cos(yaw / 2), 0 * yaw, 0 * yaw, np.sin(yaw / 2)]
    np.savez(tmp_path / "own.npz", joint_pos=qpos[:, 7:], body_pos_w=qpos[:, None, :3], body_quat_w=qpos[:, None, 3:7])
    read = make("G1Tracking", 2, motion=tmp_path / "own.npz", disturb=False, randomize=())
    own = read._frames
    assert np.allclose(own[:, :36], qpos) and np.allclose(own[1:-1, 36], 0.7, atol=1e-5)
    assert np.allclose(own[1:-1, 41], 0.8, atol=1e-4) and np.allclose(own[1:-1, 71 + 12], 0.8, atol=1e-4)
    assert np.allclose(own[1:-1, 45], 0.6 * np.cos(3 * time[1:-1]), atol=2e-3)
    read.reset(seed=SEED)
    read.frame.write(np.array([[58], [3]], np.int32))
    read.step(act(read, 0, 0))
    assert read.frame.numpy()[:, 0].tolist() == [0, 4] and np.allclose(read.sim.qpos.numpy()[0], qpos[0], atol=1e-6)
    read.close()
    with pytest.raises(stet.Error, match=r"it is \[frames, 36\] finite numbers"):
        make("G1Tracking", motion=np.zeros((5, 7)))
    np.savez(tmp_path / "none.npz", joint_pos=qpos)
    with pytest.raises(stet.Error, match="neither qpos nor body_pos_w, body_quat_w"):
        make("G1Tracking", motion=tmp_path / "none.npz")


@pytest.mark.parametrize("name", TASKS)
def test_worlds_differ_as_the_table_says(name):
    env = make(name, 4)
    env.reset(seed=SEED)
    drawn = env.randomized
    assert len(drawn) >= 1 and all(np.ptp(values, axis=0).max() > 0 for values in drawn.values()), f"seed {SEED}"
    for k in range(5):
        seen, reward, terminated, truncated, info = env.step(act(env, k, 0.3))
        assert all(np.isfinite(part).all() for part in seen.values()) and np.isfinite(reward).all()
    assert set(env.terms) | {env.measured[0]} <= set(info)
    one = env.unwrapped.single_observation_space
    assert {key: space.shape for key, space in one.items()} == {key: part.shape[1:] for key, part in seen.items()}
    env.close()
