"""Sim.contacts: forces between two sets of geoms beside MuJoCo's own, and against weights."""

import numpy as np
import pytest

import stet
from stet import _core

WEIGHT = 9.81
SCENE = """
<mujoco>
  <option timestep=".002" gravity="0 0 -9.81"/>
  <worldbody>
    <geom name="floor" type="plane" size="4 4 .1"/>
    <body name="low" pos="0 0 .1"><freejoint/><geom name="block" type="box" size=".2 .2 .1" mass="3"/></body>
    <body name="high" pos="0 0 .25"><freejoint/><geom name="brick" type="box" size=".1 .1 .05" mass="1"/>
      <geom name="knob" type="sphere" size=".03" pos=".05 0 .05" mass=".5"/></body>
    <body name="away" pos="2 0 .1"><freejoint/><geom name="ball" type="sphere" size=".1" mass="2"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(params=["mujoco", "native"])
def sim(request, make):
    if request.param == "native" and stet.info()["mujoco"] < "4":
        pytest.skip("native physics needs MuJoCo 4")
    sim = make(SCENE, worlds=3, physics=request.param)
    sim.qpos[1, 7 * 2 + 2] = 1.0  # the ball of world 1 is in the air
    sim.step(1500)
    return sim


def test_weights_rest_on_what_is_below(sim):
    sim.qpos[1, 7 * 2 + 2] = 1.0
    up = np.array([0, 0, WEIGHT])
    for names, mass in (({"geom1": "block", "geom2": "floor"}, 4.5), ({"geom1": "brick", "geom2": "block"}, 1.5),
                        ({"body1": "high", "body2": ["low", "world"]}, 1.5), ({"geom1": "ball"}, 2)):
        seen = sim.contacts(**names)
        rests = np.array([True, names.get("geom1") != "ball", True])
        np.testing.assert_allclose(seen.force, mass * up * rests[:, None], atol=0.05)
        assert ((seen.count > 0) == rests).all() and (seen.slots.sum(axis=1) == seen.count).all()
        assert (seen.dist[rests] < 1e-3).all() and (seen.dist[~rests] == np.inf).all()
    other = sim.contacts("floor", "block")
    np.testing.assert_allclose(other.force, -4.5 * up * np.ones((3, 1)), atol=0.05)
    assert (other.swapped != sim.contacts("block", "floor").swapped)[other.slots].all()
    assert sim.contacts("knob", "floor").count.sum() == 0
    assert (sim.contacts().count == sim.ncon.numpy()[:, 0]).all()
    assert (sim.contacts(body1="world").count + sim.contacts("brick", "block").count == sim.contacts().count).all()


def test_what_does_not_exist_is_said(sim, make):
    with pytest.raises(stet.NotFoundError, match="flor"):
        sim.contacts("flor")
    with pytest.raises(stet.ArgumentTypeError, match="geoms are named by str or int, not 'float'"):
        sim.contacts([1.5])
    with pytest.raises(stet.ArgumentTypeError, match="body3"):
        sim.contacts(body3="low")
    few = make(SCENE, worlds=2)
    few.set_contact_slots(3)
    few.step(50)
    with pytest.raises(stet.LimitError, match=r"world 0 has \d+ contacts, and 3 are kept; call set_contact_slots"):
        few.contacts("floor")


def test_forces_are_mujocos():
    """Of a tumbling pile, pair by pair, as mj_contactForce has them."""
    mujoco = pytest.importorskip("mujoco")
    if mujoco.mj_versionString() != _core.mujoco_version:
        pytest.skip("another release of MuJoCo")
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print("seed", seed)
    model = mujoco.MjModel.from_xml_string(SCENE)
    data, sim = mujoco.MjData(model), stet.Sim(SCENE, 1, "cpu", physics="mujoco", isa="f64", threads=1)
    random = np.random.default_rng(seed)
    sim.qvel[:] = random.uniform(-1, 1, (1, model.nv))
    seen = 0
    for _ in range(20):
        sim.step(10)
        data.qpos[:], data.qvel[:] = sim.qpos.numpy()[0], sim.qvel.numpy()[0]
        mujoco.mj_forward(model, data)
        for a in range(model.ngeom):
            total = np.zeros(3)
            for k, contact in enumerate(data.contact[: data.ncon]):
                force = np.zeros(6)
                mujoco.mj_contactForce(model, data, k, force)
                if a in contact.geom:
                    total += (1 if contact.geom[1] == a else -1) * contact.frame.reshape(3, 3).T @ force[:3]
                    seen += 1
            np.testing.assert_allclose(sim.contacts(a).force[0], total, atol=1e-4 * max(1, np.abs(total).max()))
    assert seen > 20
    sim.close()
