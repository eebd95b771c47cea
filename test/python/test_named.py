"""Parts of arrays by names: Sim.columns, Sim.sensor, Sim.joint …, State's, and of= of set_parameter."""

import mujoco
import numpy as np
import pytest
import stet
from stet.state import State

SCENE = """<mujoco><worldbody>
  <body name="cube" pos="0 0 1"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/><site name="imu"/></body>
  <body name="arm"><joint name="shoulder" type="ball"/><geom size=".1"/>
    <body name="fore" pos="0 0 .3"><joint name="elbow" axis="0 1 0"/><joint name="slide" type="slide"/>
      <geom name="hand" size=".05"/><site name="tip"/></body></body>
  <body name="target" mocap="true" pos="1 0 0"><geom size=".1" contype="0" conaffinity="0"/></body>
  <body name="aim" mocap="true" pos="0 1 0"><geom size=".1" contype="0" conaffinity="0"/></body>
 </worldbody>
 <tendon><fixed name="cord"><joint joint="elbow" coef="1"/><joint joint="slide" coef="2"/></fixed></tendon>
 <equality><joint name="tie" joint1="elbow" joint2="slide" active="false"/></equality>
 <actuator><motor name="lift" joint="slide" gear="3"/><intvelocity name="turn" joint="elbow" kp="1" actrange="-1 1"/>
  <position name="servo" joint="elbow" kp="5"/></actuator>
 <sensor><gyro name="imu_gyro" site="imu"/><jointpos name="bend" joint="elbow"/><framequat name="turned" objtype="site"
  objname="tip"/></sensor></mujoco>"""
N = 5


@pytest.fixture(scope="module")
def sim():
    with stet.Sim(SCENE, N, threads=1) as it:
        rng = np.random.default_rng(7)
        it.qvel[:] = rng.uniform(-1, 1, (N, it.model.nv))
        it.ctrl[:] = rng.uniform(-1, 1, (N, it.model.nu))
        it.step(5)
        yield it


def test_every_number_of_every_array_has_one_owner(sim):
    """The columns of all owners of an array are the array; numbers of MuJoCo's own accessors are in them."""
    checked = 0
    for array in [*sim.fields, *sim.quantities, *sim.parameters]:
        items = sim.parameter(array).shape[1] if array in sim.parameters else sim.array(array).shape[1]
        if items == 0:
            continue
        columns = np.arange(items)[sim.columns(array, None)]
        assert columns.tolist() == list(range(items)), array
        checked += 1
    assert checked > 70


def test_columns_are_those_of_mujoco(sim):
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    for name in ("qpos", "qvel", "act", "ctrl", "sensordata", "ten_length", "xpos", "xquat", "site_xpos", "geom_xpos",
                 "mocap_pos", "qfrc_bias", "cvel", "actuator_force", "eq_active"):
        x = getattr(data, name)
        x.reshape(-1)[:] = np.arange(1, x.size + 1) % 2 if name == "eq_active" else np.arange(x.size)

    def ours(array, of):
        return np.arange(sim.array(array).shape[1])[sim.columns(array, of)]

    for joint in ("shoulder", "elbow", "slide"):
        for array in ("qpos", "qvel", "qfrc_bias"):
            assert ours(array, joint).tolist() == getattr(data.joint(joint), array).tolist()
    assert ours("qpos", "cube").tolist() == data.joint(0).qpos.tolist()  # by its body, as it has no name
    for body in ("cube", "fore"):
        assert ours("xpos", body).tolist() == data.body(body).xpos.tolist()
        assert ours("cvel", body).tolist() == data.body(body).cvel.tolist()
    for site in ("imu", "tip"):
        assert ours("site_xpos", site).tolist() == data.site(site).xpos.tolist()
    for actuator in ("lift", "turn", "servo"):
        assert ours("ctrl", actuator).tolist() == data.actuator(actuator).ctrl.tolist()
        assert ours("actuator_force", actuator).tolist() == data.actuator(actuator).force.tolist()
    assert ours("act", "turn").tolist() == [0]
    for sensor in ("imu_gyro", "bend", "turned"):
        assert ours("sensordata", sensor).tolist() == data.sensor(sensor).data.tolist()
    assert ours("geom_xpos", "hand").tolist() == data.geom("hand").xpos.tolist()
    assert ours("ten_length", "cord").tolist() == [0] and ours("eq_active", "tie").tolist() == [0]
    assert ours("mocap_pos", "aim").tolist() == [3, 4, 5]
    assert ours("xpos", ["arm", "fore"]).tolist() == [6, 7, 8, 9, 10, 11]
    assert sim.columns("qpos", "el.*|slide") == slice(11, 13) and sim.columns("xpos", "fore", 2) == slice(11, 12)
    assert sim.columns("xpos", ["cube", "fore"], [2]).tolist() == [5, 11]


def test_elements(sim):
    assert np.array_equal(sim.sensor("imu_gyro"), sim.sensordata.numpy()[:, :3])
    assert np.array_equal(sim.joint("shoulder").qpos, sim.qpos.numpy()[:, 7:11])
    assert np.array_equal(sim.joint("cube").qvel, sim.qvel.numpy()[:, :6])
    assert np.array_equal(sim.site("tip").xpos, sim.site_xpos.numpy()[:, 3:6])
    assert np.array_equal(sim.actuator("lift").force, sim.actuator_force.numpy()[:, :1])
    assert np.array_equal(sim.body(1).xfrc_applied, np.zeros((N, 6)))
    assert np.array_equal(sim.tendon("cord").length, sim.ten_length.numpy())
    assert "xquat" in dir(sim.geom("hand")) and "xpos" not in dir(sim.joint("elbow"))
    with pytest.raises(ValueError, match="read-only"):
        sim.sensor("bend")[:] = 0
    before = sim.ctrl.numpy()
    sim.actuator("turn").ctrl = np.arange(N)[:, None]
    before[:, 1] = np.arange(N)
    assert np.array_equal(sim.ctrl.numpy(), before)
    with pytest.raises(AttributeError, match="no array 'xpos' of the state is of joints; it has .*qpos"):
        sim.joint("elbow").xpos  # noqa: B018


def test_states(sim):
    state = State(sim)
    assert np.array_equal(state.sensor("turned"), sim.sensor("turned"))
    assert np.array_equal(state.joint("elbow").qpos, sim.joint("elbow").qpos)
    assert np.array_equal(state.body("fore").xpos, sim.body("fore").xpos)
    with pytest.raises(AttributeError, match=r"to change the worlds: sim.qpos\[:, sim.columns"):
        state.joint("elbow").qpos = 0


def test_near_misses(sim):
    for ask, sentence in (
        (lambda: sim.sensor("gyro"), "no sensor is named 'gyro' or matches it; did you mean 'imu_gyro'"),
        (lambda: sim.joint("elbwo"), "no joint is named 'elbwo' .*did you mean 'elbow'"),
        (lambda: sim.site(2), "there is no site 2; give names, or numbers from 0 to 1"),
        (lambda: sim.columns("site_xpso", "tip"), "no array 'site_xpso'; did you mean 'site_xpos'"),
        (lambda: sim.columns("gravity", "x"), "no element is named 'x' or matches it; give numbers, 0 to 0"),
        (lambda: sim.columns("light_pos", "sun"), "no light is named 'sun' or matches it; the model has none at all"),
        (lambda: sim.model.find("joints", "elbo"), "joint elbo: .* did you mean elbow?"),
        (lambda: sim.model.find("materials", "red"), "the model has no material at all"),
    ):
        with pytest.raises(stet.NotFoundError, match=sentence):
            ask()
    with pytest.raises(stet.InvalidArgumentError, match="component 3; give numbers from 0 to 2"):
        sim.columns("xpos", "arm", 3)


def test_parameters_of_objects(sim):
    own = sim.parameter("geom_friction")
    sim.set_parameter("geom_friction", 0.4, of="hand", component=0)
    expected = own.copy()
    expected[:, 3 * 2] = 0.4
    assert np.array_equal(sim.parameter("geom_friction"), expected)
    assert np.array_equal(sim.parameter("geom_friction", of="hand"), expected[:, 6:9])
    mass = np.linspace(1, 2, N)[:, None]
    only = np.arange(N) % 2 == 0
    before = sim.parameter("body_mass")
    sim.set_parameter("body_mass", mass, mask=only, of="cube")
    assert np.array_equal(sim.parameter("body_mass", of="cube"), np.where(only[:, None], mass, before[:, [1]]))
    sim.set_parameter("gravity", -3, component=2)
    assert sim.parameter("gravity").tolist() == [[0, 0, -3]] * N
    for name in ("geom_friction", "body_mass", "gravity"):
        sim.set_parameter(name, None)
    assert np.array_equal(sim.parameter("geom_friction"), own)
    with pytest.raises(stet.InvalidArgumentError, match="geom_friction of 'hand': .*broadcast"):
        sim.set_parameter("geom_friction", [1, 2], of="hand")
    with pytest.raises(stet.InvalidArgumentError, match="leave of and component out, or give numbers"):
        sim.set_parameter("geom_friction", None, of="hand")
    with pytest.raises(stet.NotFoundError, match="no geom is named 'hnd'.*'hand'"):
        sim.set_parameter("geom_friction", 1, of="hnd")
    with pytest.raises(stet.Error, match="geom_frictoin"):
        sim.set_parameter("geom_frictoin", 1, of="hand")
