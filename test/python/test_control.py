"""stet.control, beside MuJoCo's library and NumPy in double."""

import contextlib

import numpy as np
import pytest

import stet
from conftest import PLACES as DEVICES, keywords
from stet import control

mujoco = pytest.importorskip("mujoco")
N = 6
# physics, isa, how far numbers may be from those in double, relative to the greatest
PLACES = [("mujoco", "f64", 1e-12), ("mujoco", None, 2e-5), ("native", "f64", 1e-9), ("native", None, 1e-4)]


def model_of(path):
    return mujoco.MjModel.from_xml_path(str(path))


def spread(sim, seed=0, amount=0.4):
    """Random poses and velocities of hinges and slides, within their ranges."""
    rng, m = np.random.default_rng(seed), sim.model
    at = m.jnt_type > 1
    low, high = sim.parameter("jnt_range").reshape(sim.nworld, -1, 2).transpose(2, 0, 1)[:, :, at]
    q, v = sim.qpos.numpy(), sim.qvel.numpy()
    moved = q[:, m.jnt_qposadr[at]] + rng.uniform(-amount, amount, low.shape)
    q[:, m.jnt_qposadr[at]] = np.where(m.jnt_limited[at], np.clip(moved, low, high), moved)
    v[:, m.jnt_dofadr[at]] = rng.uniform(-1, 1, low.shape)
    sim.qpos.write(q)
    sim.qvel.write(v)
    sim.ctrl.write(rng.uniform(-0.2, 0.2, sim.ctrl.shape))


def data_of(m, sim, world):
    d = mujoco.MjData(m)
    for name in ("qpos", "qvel", "ctrl", "qfrc_applied"):
        getattr(d, name)[:] = getattr(sim, name).numpy()[world]
    mujoco.mj_forward(m, d)
    return d


def full_mass(m, d):
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(*((m, d, M) if mujoco.mj_version() >= 4000000 else (m, M, d.qM)))
    return M


def close(a, b, limit):
    np.testing.assert_allclose(a, b, rtol=0, atol=limit * max(1, np.abs(b).max()))


@contextlib.contextmanager
def bare_robot(physics, isa):
    """The arm in URDF without friction in its joints, in a sim and as MuJoCo's model."""
    m = model_of(stet.scenes / "robot.urdf")
    m.dof_frictionloss[:] = 0
    with stet.Sim(stet.scenes / "robot.urdf", N, "cpu", physics=physics, isa=isa, threads=1) as sim:
        sim.set_parameter("dof_frictionloss", np.zeros(m.nv))
        yield sim, m


@pytest.fixture(params=PLACES, ids=str)
def arm(request):
    """The arm at the table, and how exact it is."""
    physics, isa, limit = request.param
    with stet.Sim(stet.scenes / "arm_table.xml", N, "cpu", physics=physics, isa=isa, threads=1) as sim:
        spread(sim)
        yield sim, limit


# ---- what a limb is -------------------------------------------------------------------------------------------------


def test_a_limb_is_what_mujoco_says(arm):
    sim, limit = arm
    m = model_of(stet.scenes / "arm_table.xml")
    hand = sim.model.find("bodies", "link5")
    for end in ({"site": "grasp"}, {"body": "link6"}, {"geom": np.flatnonzero(sim.model.geom_bodyid == hand)[0]}):
        limb = control.Limb(sim, **end)
        n = len(limb.joints)
        assert n > 0 and limb.jacobian.shape == (N, 6, n) and limb.mass_matrix.shape == (N, n, n)
        for world in range(N):
            d = data_of(m, sim, world)
            jac, quat = np.zeros((6, m.nv)), np.zeros(4)
            kind = limb.kind
            {"site": mujoco.mj_jacSite, "body": mujoco.mj_jacBody, "geom": mujoco.mj_jacGeom}[kind](
                m, d, jac[:3], jac[3:], limb.end)
            M = full_mass(m, d)
            place, turn = ({"body": (d.xpos, d.xmat), "site": (d.site_xpos, d.site_xmat),
                            "geom": (d.geom_xpos, d.geom_xmat)}[kind][k][limb.end] for k in (0, 1))
            mujoco.mju_mat2Quat(quat, turn)
            close(limb.position[world], place, limit)
            close(limb.quaternion[world] * np.sign(limb.quaternion[world] @ quat), quat, limit)
            close(limb.jacobian[world], jac[:, limb.dofs], limit)
            close(limb.mass_matrix[world], M[np.ix_(limb.dofs, limb.dofs)], limit)
            close(limb.resistance[world], (d.qfrc_bias - d.qfrc_passive)[limb.dofs], limit)
            close(limb.velocity[world], jac[:, limb.dofs] @ d.qvel[limb.dofs], limit)
            close(limb.q[world], d.qpos[limb.coordinates], limit)
        low, high = limb.limits
        ids = [sim.model.find("joints", name) for name in limb.joints]
        assert np.array_equal(low[0], m.jnt_range[ids, 0]) and np.array_equal(high[0], m.jnt_range[ids, 1])


def test_joints_of_a_limb():
    with stet.Sim(stet.scenes / "humanoid.xml", 2, "cpu", threads=1) as sim:
        limb = control.Limb(sim, site="right_hand")
        assert [name for name in limb.joints if "right" not in name] == ["waist_yaw", "waist_pitch", "waist_roll"]
        assert control.Limb(sim, site="right_hand", joints="right_.*").joints == [
            name for name in sim.model.joints if name.startswith("right_")]
        assert control.Limb(sim, site="head", joints=["waist_roll", "waist_yaw"]).joints == ["waist_yaw", "waist_roll"]
        with pytest.raises(stet.InvalidArgumentError, match="no hinge or slide moves site 0"):
            control.Limb(sim, site="imu")


@pytest.mark.parametrize("arguments, sentence", [
    ({}, "no end given; give one of"), ({"site": 0, "body": 1}, "site and body given"),
    ({"site": "gasp"}, "gasp"), ({"geom": 999}, "no geom 999.*0 to"), ({"body": "base"}, "no hinge or slide moves"),
    ({"site": 0, "joints": "joint9"}, "joint9.*there are joint1"), ({"site": 0, "arrays": "jax"}, "'numpy' or 'torch'"),
])
def test_wrong_limbs_are_said(arguments, sentence):
    with stet.Sim(stet.scenes / "arm_table.xml", 1, "cpu", threads=1) as sim:
        with pytest.raises((stet.Error, ValueError), match=sentence):
            control.Limb(sim, **arguments)


def test_wrong_targets_are_said(arm):
    limb = control.Limb(arm[0], site="grasp")
    ik, osc = control.InverseKinematics(limb), control.OperationalSpace(limb, 1, 1)
    for call, sentence in (
        (lambda: control.Limb(7, site=0), "sim is a stet.Sim, not a 'int'"),
        (lambda: control.InverseKinematics(limb, posture=np.ones(2)), r"posture has shape \[2\]"),
        (lambda: ik.solve("left"), r"position is 'left'; give numbers \[3\], or one such for each of the 6 worlds"),
        (lambda: ik.solve(np.ones((5, 3))), r"position has shape \[5, 3\]; give numbers \[3\]"),
        (lambda: osc.force(quaternion=[0, 0, 0, 0]), "quaternion is 0 or not a number in some world; give w x y z"),
        (lambda: osc.force(np.ones(3), velocity=[1, 2]), r"velocity is \[1, 2\]; give numbers \[6\]"),
        (lambda: control.OperationalSpace(limb, np.ones(2), 1), r"kp has shape \[2\]; give numbers \[6\]"),
    ):
        with pytest.raises(stet.Error, match=sentence):
            call()
    joints = ", ".join(f"joint{i}" for i in range(1, 8))
    assert repr(ik) == f"<stet.control.InverseKinematics of <stet.control.Limb, {joints} to site 'grasp'>>"
    assert "JointPD of <stet.control.Limb" in repr(control.JointPD(limb, 1, 1)) and "OperationalSpace" in repr(osc)
    assert {"Limb", "JointPD"} <= set(control.__all__) and all(hasattr(control, name) for name in control.__all__)


# ---- rotations ------------------------------------------------------------------------------------------------------


def test_rotation_errors_are_mujocos():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(200, 4))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    b = rng.normal(size=(200, 4))
    b[:50] = a[:50] + 1e-8 * b[:50]
    b[50:60], b[60:70] = a[50:60], -a[60:70]
    b /= np.linalg.norm(b, axis=1, keepdims=True)
    for x, y, error in zip(a, b, control.rotation_error(np, a, b)):
        back, turn, expected = np.zeros(4), np.zeros(4), np.zeros(3)
        mujoco.mju_negQuat(back, x)
        mujoco.mju_mulQuat(turn, y, back)
        mujoco.mju_quat2Vel(expected, turn, 1)
        assert np.linalg.norm(error) <= np.pi + 1e-12
        np.testing.assert_allclose(error, expected, atol=1e-9)


# ---- inverse kinematics ---------------------------------------------------------------------------------------------


def poses(sim, seed=5):
    """Poses of the gripper that the arm can have, from other positions of its joints."""
    with stet.Sim(sim.model, N, "cpu", physics="external", isa="f64", threads=1) as other:
        spread(other, seed)
        limb = control.Limb(other, site="grasp")
        return limb.position, limb.quaternion


@pytest.mark.parametrize("gain", [0, 0.3])
def test_a_step_solves_damped_least_squares(arm, gain):
    """The stacked problem, which NumPy's lstsq solves in another way."""
    sim, limit = arm
    limb = control.Limb(sim, site="grasp")
    posture = np.linspace(-0.1, 0.1, 7)
    ik = control.InverseKinematics(limb, damping=0.2, posture=posture, posture_gain=gain)
    position, quaternion = poses(sim)
    small = limb.position + 0.02 * (position - limb.position)
    for target, rows in (((small, None), slice(3)), ((None, quaternion), slice(3, 6)), ((small, quaternion), slice(6))):
        error = limb.error(*target)
        J, q, (low, high) = limb.jacobian[:, rows], limb.q, limb.limits
        dq = ik.step(*target)
        free = 0
        for world in range(N):
            wish = gain * (posture - q[world])
            stacked = np.vstack([J[world], 0.2 * np.eye(7)])
            expected = np.linalg.lstsq(stacked, np.concatenate([error[world], np.zeros(7)]), rcond=None)[0]
            expected += wish - np.linalg.pinv(J[world]) @ (J[world] @ wish)
            if ((low[world] <= q[world] + expected) & (q[world] + expected <= high[world])).all():
                np.testing.assert_allclose(dq[world], expected, atol=1e-5 if gain else 1e-9)
                free += 1
        assert free >= N // 2
        assert (low - 1e-9 <= q + dq).all() and (q + dq <= high + 1e-9).all()


def test_joints_stay_within_limits_and_the_others_make_up_for_it(arm):
    sim, _ = arm
    limb = control.Limb(sim, site="grasp")
    ik = control.InverseKinematics(limb, damping=0.01, max_step=0.05)
    far = limb.position + [0, 0.3, 0.1]
    dq = ik.step(far)
    low, high = limb.limits
    assert (np.abs(dq) <= 0.05 + 1e-12).all() and (np.abs(dq).max(1) > 0.049).all()
    assert (low <= limb.q + dq + 1e-7).all() and (limb.q + dq <= high + 1e-7).all()
    J, error = limb.jacobian[:, :3], far - limb.position
    clipped = np.clip(control.InverseKinematics(limb, damping=0.01).step(far), -0.05, 0.05)
    ours, theirs = (np.linalg.norm(error - np.einsum("wxn,wn->wx", J, x), axis=1) for x in (dq, clipped))
    assert (ours <= theirs + 1e-9).mean() > 0.5
    for world in range(N):  # joints that did not stop solve what is left
        free = np.abs(dq[world]) < 0.05 - 1e-9
        rest = error[world] - J[world][:, ~free] @ dq[world, ~free]
        stacked = np.vstack([J[world][:, free], 0.01 * np.eye(free.sum())])
        expected = np.linalg.lstsq(stacked, np.concatenate([rest, np.zeros(free.sum())]), rcond=None)[0]
        np.testing.assert_allclose(dq[world, free], expected, atol=1e-7)


def test_solve_reaches_poses_and_moves_no_robot(arm):
    sim, _ = arm
    limb = control.Limb(sim, site="grasp")
    ik = control.InverseKinematics(limb)
    before = sim.qpos.numpy()
    position, quaternion = poses(sim)
    q, left = ik.solve(position, quaternion, iterations=300)
    assert (left < 1e-5).sum() >= N - 1 and np.array_equal(before, sim.qpos.numpy())
    low, high = limb.limits
    assert (low <= q + 1e-9).all() and (q <= high + 1e-9).all()
    moved = before.copy()
    moved[:, limb.coordinates] = q
    sim.qpos.write(moved)
    good = left < 1e-5
    np.testing.assert_allclose(limb.position[good], position[good], atol=2e-5)
    assert np.abs(np.abs((limb.quaternion * quaternion).sum(1))[good] - 1).max() < 1e-6
    one, left = ik.solve([0.45, 0.05, 0.7])
    assert (left < 1e-5).all() and one.shape == (N, 7)
    assert (ik.solve([9, 9, 9], iterations=5)[1] > 5).all(), "what cannot be reached has an error"


def test_solve_has_the_worlds_own_bodies():
    with stet.Sim(stet.scenes / "arm_table.xml", 3, "cpu", threads=1) as sim:
        place = sim.parameter("body_pos").reshape(3, -1, 3)
        place[:, 1, 0] += [0, 0.1, 0.2]
        sim.set_parameter("body_pos", place.reshape(3, -1))
        limb = control.Limb(sim, site="grasp")
        target = limb.position + [0, 0.05, 0]
        q, left = control.InverseKinematics(limb).solve(target)
        assert (left < 1e-5).all() and np.allclose(q, q[0], atol=1e-3)
        assert np.ptp(limb.position[:, 0]) > 0.1


def test_a_posture_holds_in_the_null_space():
    """The end stays, the joints go where they were asked to as far as that lets them."""
    with stet.Sim(stet.scenes / "arm_table.xml", 4, "cpu", physics="external", isa="f64", threads=1) as sim:
        limb = control.Limb(sim, site="grasp")
        posture = limb.q[0] + [0, 0, 0.5, 0, 0.2, 0, 0]
        ik = control.InverseKinematics(limb, damping=1e-3, posture=posture, posture_gain=0.1)
        place, before = limb.position.copy(), np.linalg.norm(limb.q - posture, axis=1)
        for _ in range(60):
            q = sim.qpos.numpy()
            q[:, limb.coordinates] += ik.step(place)
            sim.qpos.write(q)
        assert np.abs(limb.position - place).max() < 1e-4
        assert (np.linalg.norm(limb.q - posture, axis=1) < 0.75 * before).all()
        J = limb.jacobian[0, :3]
        left = (np.eye(7) - np.linalg.pinv(J) @ J) @ (posture - limb.q[0])
        assert np.linalg.norm(left) < 0.01, "what is left of the way would move the end"


# ---- PD -------------------------------------------------------------------------------------------------------------


def test_pd_forces(arm):
    sim, limit = arm
    limb = control.Limb(sim, site="grasp")
    kp, target = np.arange(1, 8) * 10.0, np.full(7, 0.1)
    expected = kp * (target - limb.q) + 3 * (0.5 - limb.v)
    assert np.array_equal(control.JointPD(limb, kp, 3).force(target, 0.5), expected)
    limited = control.JointPD(limb, kp, 3, limit=2).force(target, 0.5)
    assert np.array_equal(limited, np.clip(expected, -2, 2)) and (np.abs(expected) > 2).any()
    with pytest.raises(stet.InvalidArgumentError, match=r"target is \[1, 2, 3\]; give numbers \[7\]"):
        control.JointPD(limb, 1, 1).force([1, 2, 3])
    with pytest.raises(stet.InvalidArgumentError, match=r"kd has shape \[2\]; give numbers \[7\]"):
        control.JointPD(limb, 1, np.ones(2))


@pytest.mark.parametrize("physics, isa, limit", PLACES)
def test_computed_torque_makes_the_acceleration(physics, isa, limit):
    """Of an arm with nothing but its joints."""
    with bare_robot(physics, isa) as (sim, m):
        spread(sim)
        limb = control.Limb(sim, body=sim.model.nbody - 1)
        pd = control.JointPD(limb, [40, 30, 20, 10], 5, feedforward=True)
        target = [0.3, -0.2, 0.1, 0.4]
        sim.qfrc_applied.write(limb.applied(pd.force(target, velocity=0.1, acceleration=2)))
        expected = 2 + np.array([40, 30, 20, 10]) * (target - limb.q) + 5 * (0.1 - limb.v)
        free = [d for d in (data_of(m, sim, world) for world in range(N)) if d.nefc == 0]
        for d, acceleration in zip(free, expected):
            close(d.qacc, acceleration, 100 * limit)
        assert len(free) == N


def test_controls_have_the_force(arm):
    """Servos and motors alike, with MuJoCo's own forces; also those of worlds with other gains."""
    sim, limit = arm
    limb = control.Limb(sim, site="grasp")
    gains = sim.parameter("actuator_gainprm").reshape(N, -1, 10)
    gains[:, :, 0] *= np.linspace(1, 2, N)[:, None]
    sim.set_parameter("actuator_gainprm", gains.reshape(N, -1))
    force = np.random.default_rng(1).uniform(-20, 20, (N, 7))
    before = sim.ctrl.numpy()
    sim.ctrl.write(limb.controls(force))
    close(sim.qfrc_actuator.numpy()[:, limb.dofs], force, 30 * limit)
    others = np.setdiff1d(np.arange(sim.model.nu), limb.actuators)
    assert len(others) > 0 and np.array_equal(sim.ctrl.numpy()[:, others], before[:, others])


def test_joints_without_actuators_are_said():
    with stet.Sim(stet.scenes / "robot.urdf", 1, "cpu", threads=1) as sim:
        with pytest.raises(stet.UnsupportedError, match="'turn' has 0 actuators.*qfrc_applied"):
            control.Limb(sim, body=sim.model.nbody - 1).controls(0)


# ---- operational space ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("physics, isa, limit", PLACES)
def test_the_end_has_the_acceleration_that_was_asked_for(physics, isa, limit):
    """MuJoCo's: J qacc, at rest, where J does not change; whatever the posture wants."""
    with bare_robot(physics, isa) as (sim, m):
        spread(sim, amount=0.8)
        sim.qvel.write(0 * sim.qvel.numpy())
        limb = control.Limb(sim, body=sim.model.nbody - 1)
        rest = [0.1, 0.2, 0.3, 0.4]
        osc = control.OperationalSpace(limb, 50, 12, posture=rest, posture_kp=20, posture_kd=3, damping=0)
        target = limb.position + [0.1, -0.05, 0.02]
        sim.qfrc_applied.write(limb.applied(osc.force(target)))
        checked = 0
        for world in range(N):
            d = data_of(m, sim, world)
            J = np.zeros((3, m.nv))
            mujoco.mj_jacBody(m, d, J, None, limb.end)
            if d.nefc or np.linalg.svd(J)[1][-1] < 0.05:
                continue
            close(J @ d.qacc, 50 * (target[world] - d.xpos[limb.end]), 1e3 * limit)
            mass, load = full_mass(m, d), d.qfrc_bias - d.qfrc_passive
            inverse = np.linalg.inv(mass)
            core = np.linalg.inv(J @ inverse @ J.T)
            still = mass @ (20 * (rest - d.qpos))
            away = np.eye(m.nv) - J.T @ core @ J @ inverse  # the textbook's projector
            expected = J.T @ core @ (50 * (target[world] - d.xpos[limb.end])) + away @ still + load
            close(sim.qfrc_applied.numpy()[world], expected, 1e3 * limit)
            checked += 1
        assert checked >= 2


@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_the_arm_goes_to_a_pose(physics):
    """Closed loop, through the scene's own servos: each world to its own pose."""
    with stet.Sim(stet.scenes / "arm_table.xml", 4, "cpu", physics=physics, threads=1) as sim:
        limb = control.Limb(sim, site="grasp")
        position = limb.position + [[0, 0.1, 0.05], [0.05, -0.1, 0.1], [-0.05, 0, 0.1], [0, 0, 0.15]]
        quaternion, posture = limb.quaternion.copy(), limb.q.copy()
        osc = control.OperationalSpace(limb, 100, 20, posture=posture, posture_kp=10, posture_kd=6, damping=1e-2)
        for _ in range(600):
            sim.ctrl.write(limb.controls(osc.force(position, quaternion)))
            sim.step()
        assert np.abs(limb.error(position, quaternion)).max() < 0.01


# ---- PyTorch --------------------------------------------------------------------------------------------------------


def test_tensors():
    torch = pytest.importorskip("torch")
    with stet.Sim(stet.scenes / "arm_table.xml", N, "cpu", threads=1) as sim:
        spread(sim)
        numpy, tensor = (control.Limb(sim, site="grasp", arrays=arrays) for arrays in ("numpy", "torch"))
        target, quaternion = numpy.position + [0.05, 0, 0.1], [0, 1, 0, 0]
        both = []
        for limb, convert in ((numpy, np.asarray), (tensor, torch.as_tensor)):
            ik = control.InverseKinematics(limb, posture_gain=0.1, max_step=0.1)
            both.append([ik.step(convert(target), quaternion), *ik.solve(convert(target)),
                         control.JointPD(limb, 10, 1, limit=5, feedforward=True).force(0.1),
                         control.OperationalSpace(limb, 10, 1).force(convert(target), quaternion),
                         limb.controls(1.0), limb.applied(2.0), limb.mass_matrix, limb.velocity])
        for a, b in zip(*both):
            assert isinstance(b, torch.Tensor) and b.dtype == torch.float64
            np.testing.assert_allclose(b.numpy(), a, atol=1e-9)


# ---- in the step ----------------------------------------------------------------------------------------------------


def random_goal(limb, what, rng):
    """What a controller is to reach, as arguments of force() and as the target of its kernel."""
    n = len(limb.joints)
    if what == "joints":
        goal = limb.q + rng.uniform(-0.2, 0.2, (N, n)), *rng.uniform(-1, 1, (2, N, n))
        return goal, np.concatenate(goal, 1)
    place = limb.position + rng.uniform(-0.1, 0.1, (N, 3))
    turn, velocity = rng.normal(size=(N, 4)), rng.uniform(-1, 1, (N, 6))
    seen = {"pose": (place, turn), "place": (place, None), "turn": (None, turn)}[what]
    return (*seen, velocity), np.concatenate([place, turn, velocity], 1)


@pytest.mark.parametrize("to", ["ctrl", "qfrc_applied"])
@pytest.mark.parametrize("what, kind, arguments", [
    ("joints", control.JointPD, {"kp": np.arange(1, 8) * 10.0, "kd": 3, "limit": 4}),
    ("joints", control.JointPD, {"kp": 100, "kd": 20, "feedforward": True}),
    ("pose", control.OperationalSpace, {"kp": 100, "kd": 20, "posture": np.full(7, 0.1), "posture_kp": 10,
                                        "posture_kd": 6, "damping": 0.01}),
    ("place", control.OperationalSpace, {"kp": [90, 80, 70, 1, 2, 3], "kd": 20, "limit": 9}),
    ("turn", control.OperationalSpace, {"kp": 50, "kd": [1, 2, 3, 4, 5, 6], "posture_kd": 2}),
])
def test_controllers_in_the_step(arm, what, kind, arguments, to):
    """A kernel of the step has the forces that force() has, and is gone when it was removed."""
    sim, limit = arm
    limb = control.Limb(sim, site="grasp")
    controller = kind(limb, **arguments)
    goal, target = random_goal(limb, what, np.random.default_rng(3))
    force = controller.force(*goal)
    more = {} if what == "joints" else {"position": what != "turn", "quaternion": what != "place"}
    here = controller.add_to_step(to=to, **more)
    still = controller.force(limb.q, 0, 0) if what == "joints" else controller.force(
        *(pose if use else None for pose, use in zip((limb.position, limb.quaternion), more.values())), 0)
    for written, expected in ((here.target.numpy(), still), (target, force)):
        here.target[:] = written
        before, others = sim.snapshot(), sim.array(to).numpy()
        sim.step()
        found = sim.array(to).numpy()
        sim.restore(before)
        close(found, limb.controls(expected) if to == "ctrl" else limb.applied(expected), limit)
        own = limb.actuators if to == "ctrl" else limb.dofs
        assert np.array_equal(np.delete(found, own, 1), np.delete(others, own, 1))
    sim.remove_kernel(here.kernel)
    sim.array(to)[:] = 0.125
    sim.step()
    assert (sim.array(to).numpy() == 0.125).all()


def test_a_controller_in_the_step_gets_there():
    """Many steps without a call of Python's between them; checked: no kernel leaves its arrays."""
    for checked in False, True:
        with stet.Sim(stet.scenes / "arm_table.xml", N, "cpu", physics="native", threads=1, checked=checked) as sim:
            limb = control.Limb(sim, site="grasp")
            osc = control.OperationalSpace(limb, 100, 20, posture=limb.q[0], posture_kp=10, posture_kd=6, damping=0.01)
            here = osc.add_to_step()
            goal = limb.position + np.random.default_rng(0).uniform(-0.1, 0.1, (N, 3))
            here.target[:, :3] = goal
            for _ in range(20 if checked else 400):
                sim.step()
            assert checked or np.linalg.norm(limb.position - goal, axis=1).max() < 0.01


@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_controllers_in_the_step_have_the_same_bits_everywhere(physics):
    found = {}
    for place in DEVICES:
        with stet.Sim(stet.scenes / "arm_table.xml", N, physics=physics, threads=1, **keywords(place)) as sim:
            limb = control.Limb(sim, site="grasp")
            sim.qpos[:, :7] = limb.q + np.linspace(-0.2, 0.2, N)[:, None]
            control.OperationalSpace(limb, 100, 20).add_to_step().target[:, :3] = [0.5, 0.1, 0.7]
            pd = control.JointPD(limb, 30, 5, feedforward=True, limit=20).add_to_step(to="qfrc_applied")
            pd.target[:, :7] = 0.3
            for _ in range(5):
                sim.step()
            found[place] = sim.ctrl.numpy().tobytes() + sim.qfrc_applied.numpy().tobytes(), sim.hash()
    assert len(set(found.values())) == 1, {place: hash_ for place, (_, hash_) in found.items()}


def test_what_add_to_step_refuses(arm):
    limb = control.Limb(arm[0], site="grasp")
    with pytest.raises(stet.InvalidArgumentError, match="to is 'qpos'; give 'ctrl' or 'qfrc_applied'"):
        control.JointPD(limb, 1, 1).add_to_step(to="qpos")
    with pytest.raises(stet.InvalidArgumentError, match="give a position, a quaternion or both"):
        control.OperationalSpace(limb, 1, 1).add_to_step(position=False, quaternion=False)
