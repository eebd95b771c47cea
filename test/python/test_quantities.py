"""Quantities: what follows from a state, by MuJoCo's names."""

import numpy as np
import pytest

import stet
from conftest import keywords


def test_quantities_are_attributes(sim):
    sim.step(3)
    for name in stet.Sim.quantities:
        array = getattr(sim, name)
        assert array.shape[0] == sim.nworld, name
        assert np.isfinite(array.numpy()).all(), name
    assert sim.ncon.numpy().dtype == np.int32 and sim.contact_geom.numpy().dtype == np.int32
    nv = sim.model.nv
    M = sim.qM.numpy().reshape(sim.nworld, nv, nv)
    v = sim.qvel.numpy()
    np.testing.assert_allclose(sim.energy.numpy()[:, 1], np.einsum("wi,wij,wj->w", v, M, v) / 2, rtol=1e-4, atol=1e-7)
    balance = sim.qfrc_passive.numpy() - sim.qfrc_bias.numpy() + sim.qfrc_actuator.numpy() + sim.qfrc_constraint.numpy()
    np.testing.assert_allclose(np.einsum("wij,wj->wi", M, sim.qacc.numpy()), balance, rtol=1e-4, atol=1e-4)


def test_a_quantity_is_of_the_present_state(sim):
    before = sim.geom_xpos.numpy()
    misses = sim.counters()["quantities"]["misses"]
    np.testing.assert_array_equal(sim.geom_xpos.numpy(), before)
    assert sim.counters()["quantities"]["misses"] == misses
    sim.qpos[:] = sim.qpos.numpy() + 0.1
    assert (sim.geom_xpos.numpy() != before).any()
    sim.reset()
    np.testing.assert_array_equal(sim.geom_xpos.numpy(), before)


def test_jacobians(sim):
    nv = sim.model.nv
    tip = sim.model.find("bodies", "tip")
    J = sim.jacobian("body_com", tip).numpy().reshape(sim.nworld, 6, nv)
    x = sim.xipos.numpy()[:, 3 * tip : 3 * tip + 3]
    step = 1e-3
    qpos = sim.qpos.numpy()
    for d in range(nv):
        moved = qpos.copy()
        moved[:, d] += step
        sim.qpos[:] = moved
        np.testing.assert_allclose((sim.xipos.numpy()[:, 3 * tip : 3 * tip + 3] - x) / step, J[:, :3, d], atol=2e-3)
    assert sim.jacobian("point", tip, (0.1, 0, 0)).shape == (sim.nworld, 6 * nv)
    assert np.array_equal(sim.jacobian("body_com", "tip").numpy(), sim.jacobian("body_com", np.int64(tip)).numpy())
    with pytest.raises(stet.NotFoundError, match="body_com"):
        sim.jacobian("bodies", tip)
    with pytest.raises(stet.NotFoundError, match="body top: the model has none of this name; did you mean tip[?]"):
        sim.jacobian("point", "top", (0, 0, 0))
    with pytest.raises(stet.ArgumentTypeError, match="object is a whole number or a str, not a 'float'"):
        sim.jacobian("body", 1.5)
    with pytest.raises(stet.NotFoundError, match="jac_geom"):
        sim.jacobian("geom", 99)


@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_what_a_step_left_stays_until_a_step_or_a_forward(make, place, physics):
    sim = make(physics=physics, **keywords(place))
    left, sensors = sim.step_quantity("xpos"), sim.step_sensordata
    sim.qpos[:] = sim.qpos.numpy() + 0.1
    sim.qvel[:] = 0.5
    before = sim.xpos.numpy()
    sim.step()
    np.testing.assert_allclose(left.numpy(), before, atol=1e-6)
    assert (sim.xpos.numpy() != before).any()
    kept = left.numpy()
    sim.qpos[0] = sim.qpos.numpy()[0] + 0.1
    np.testing.assert_array_equal(left.numpy(), kept)
    state = sim.qpos.numpy()
    sim.forward([1, 0, 0, 0, 0])
    np.testing.assert_allclose(left.numpy()[0], sim.xpos.numpy()[0], atol=1e-6)
    np.testing.assert_array_equal(left.numpy()[1:], kept[1:])
    sim.forward()
    np.testing.assert_allclose(left.numpy(), sim.xpos.numpy(), atol=1e-6)
    np.testing.assert_array_equal(sensors.numpy(), sim.sensordata.numpy())
    np.testing.assert_array_equal(sim.qpos.numpy(), state)
    mask = sim.zeros((sim.nworld, 1), "int32", worlds=True)
    mask.write(np.array([[0], [1], [0], [0], [0]], np.int32))
    sim.qpos[:] = state + 0.2
    sim.forward(mask)
    assert [(left.numpy()[w] == sim.xpos.numpy()[w]).all() for w in (0, 2)] == [False, False]
    np.testing.assert_allclose(left.numpy()[1], sim.xpos.numpy()[1], atol=1e-6)
    with pytest.raises(stet.InvalidArgumentError, match="5"):
        sim.forward([1, 0])


def test_forward_needs_physics(make):
    with pytest.raises(stet.UnsupportedError, match="external"):
        make(physics="external").forward()


@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_addresses_last_for_the_life_of_the_sim(make, physics):
    """Of all fields and quantities, in lanes of the CPU and as plain tensors: whatever is done to the sim."""
    sim = make(stet.scenes / "humanoid.xml", physics=physics, worlds=3)
    arrays = [sim.array(name) for name in (*stet.Sim.fields, *stet.Sim.quantities)]
    arrays += [sim.step_quantity(name) for name in ("xpos", "cvel", "sensordata")]
    arrays = [a for a in arrays if a.numpy().size]
    held = [np.from_dlpack(a) for a in arrays]
    where = [h.__array_interface__["data"][0] for h in held]
    snapshot = sim.snapshot()
    for _ in range(3):
        sim.step(20)
        sim.set_parameter("body_mass", np.tile(sim.parameter("body_mass")[:1] * 1.1, (sim.nworld, 1)))
        sim.forward()
        sim.reset([1, 0, 0])
    sim.restore(snapshot)
    sim.step(30)
    sim.set_parameter("body_mass", None)
    sim.step()
    again = [np.from_dlpack(a) for a in arrays]
    assert [h.__array_interface__["data"][0] for h in again] == where
    for array, view in zip(arrays, held):
        np.testing.assert_array_equal(view, array.numpy(), err_msg=array.name)


def test_contact_slots(make):
    sim = make(worlds=2)
    sim.set_contact_slots(5)
    assert sim.contact_force.shape == (2, 30)
    with pytest.raises(stet.StateError, match="contact_force"):
        sim.set_contact_slots(6)
