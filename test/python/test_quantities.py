"""Quantities: what follows from a state, by MuJoCo's names."""

import numpy as np
import pytest

import stet


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


def test_contact_slots(make):
    sim = make(worlds=2)
    sim.set_contact_slots(5)
    assert sim.contact_force.shape == (2, 30)
    with pytest.raises(stet.StateError, match="contact_force"):
        sim.set_contact_slots(6)
