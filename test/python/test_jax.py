"""JAX: arrays that never change, so they take stet's memory for reading; on the CPU and, where JAX has one, on a GPU.
"""

import numpy as np
import pytest

import stet

jax = pytest.importorskip("jax")
jnp = jax.numpy


def platforms():
    try:
        return {device.platform for device in jax.devices()}
    except RuntimeError:
        return set()


@pytest.fixture(params=["cpu", "cuda"])
def sim(request, make):
    if request.param == "cuda":
        request.getfixturevalue("gpu")
        if "gpu" not in platforms():
            pytest.skip("JAX has no GPU here")
    return make(device=request.param)


def pointer(x):
    return x.unsafe_buffer_pointer()


def test_from_dlpack(sim):
    array = sim.zeros((64, 4))
    array[:] = np.arange(256).reshape(64, 4)
    x = jax.dlpack.from_dlpack(array)
    assert x.shape == (64, 4) and x.dtype == jnp.float32
    np.testing.assert_array_equal(np.asarray(x), array.numpy())
    np.testing.assert_array_equal(np.asarray(jnp.sum(x, axis=1)), array.numpy().sum(axis=1))
    if sim.device.type == "cuda":
        assert pointer(x) == pointer(jax.dlpack.from_dlpack(array.export()))


def test_state(sim):
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(sim.qpos)), sim.qpos.numpy())


def test_into_stet(sim):
    device = jax.devices("gpu" if sim.device.type == "cuda" else "cpu")[0]
    x = jax.device_put(jnp.arange(10, dtype=jnp.float32).reshape(5, 2) / 10, device)
    sim.ctrl.write(x * 2)
    np.testing.assert_array_equal(sim.ctrl.numpy(), np.asarray(x * 2))
    array = sim.from_dlpack(x)
    np.testing.assert_array_equal(array.numpy(), np.asarray(x))


def test_a_loop(sim):
    @jax.jit
    def policy(qpos, qvel):
        return -2 * qpos - 0.5 * qvel

    for _ in range(20):
        sim.ctrl.write(policy(jax.dlpack.from_dlpack(sim.qpos), jax.dlpack.from_dlpack(sim.qvel)))
        sim.step(2)
    expected = np.asarray(policy(sim.qpos.numpy(), sim.qvel.numpy()))
    assert np.isfinite(expected).all() and (sim.ctrl.numpy() != 0).all()


def test_refused(sim):
    with pytest.raises(stet.Error):
        sim.from_dlpack(jnp.zeros(3, jnp.complex64))
