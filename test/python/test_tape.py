"""Tapes: gradients through many launches, blocks that fail, lifetimes."""

import gc

import numpy as np
import pytest

import stet

POINT = "<mujoco><worldbody/></mujoco>"
SOURCE = """#include "stet/lang.h"
/* x = x + by * (rate[i] - x^2). */
world_kernel void k_grow(real *x, const ureal *rate, ureal by, int n, int world)
{
    each (i, n) put(x, i, fma(splat(by), fma(-x[i], x[i], splat(rate[i])), x[i]));
}
world_kernel void k_square(const real *x, real *y, int n, int world) { each (i, n) put(y, i, x[i] * x[i]); }
world_kernel void k_bits(const real *x, real *y, int n, int world) { each (i, n) put(y, i, from_bits(as_bits(x[i]))); }
"""
WORLDS, ITEMS, STEPS, BY = 5, 3, 30, 0.05


class Growth:
    def __init__(self, sim, every=0):
        self.sim, self.tape = sim, stet.Tape(sim, every)
        self.grow, self.square = (sim.kernel(SOURCE, name=name) for name in ("k_grow", "k_square"))
        self.start, self.x, self.y = (
            sim.zeros((WORLDS, ITEMS), worlds=True, name=name) for name in ("start", "x", "y")
        )
        self.rate = sim.zeros(ITEMS, name="rate")
        self.start[:] = np.linspace(0.1, 1, WORLDS * ITEMS, dtype=np.float32).reshape(WORLDS, ITEMS)
        self.rate[:] = np.float32([0.5, 1, 2])

    def run(self, steps=STEPS):
        self.x.write(self.start)
        for _ in range(steps):
            self.tape.step()
            self.grow(WORLDS, self.x, self.rate, BY, ITEMS)
        self.square(WORLDS, self.x, self.y, ITEMS)

    def taped(self, steps=STEPS):
        with self.tape:
            self.run(steps)
        return self

    def backward(self):
        self.tape.zero()
        self.tape.gradient(self.y)[:] = 1.0
        self.tape.backward()
        return self.tape.gradient(self.start).numpy()


def by_hand(start, rate, steps=STEPS):
    """Gradients of the sum of x^2 with respect to start, rate (a share a world) and by, in double."""
    x, to_start, to_rate, to_by = (
        start.astype(float),
        np.ones_like(start, float),
        np.zeros_like(start, float),
        np.zeros_like(start, float),
    )
    for _ in range(steps):
        slope = 1 - 2 * BY * x
        to_start, to_rate, to_by = slope * to_start, slope * to_rate + BY, slope * to_by + rate - x * x
        x = x + BY * (rate - x * x)
    return tuple(2 * x * to for to in (to_start, to_rate, to_by))


@pytest.fixture
def sim():
    with stet.Sim(POINT, worlds=WORLDS, physics="external") as sim:
        yield sim


@pytest.fixture
def growth(sim):
    return Growth(sim)


def close(array, expected):
    np.testing.assert_allclose(
        array.numpy() if isinstance(array, stet.Array) else array, expected, rtol=1e-4, atol=1e-6
    )


def test_gradients(growth):
    to_start, to_rate, to_by = by_hand(growth.start.numpy(), growth.rate.numpy())
    growth.taped()
    y = growth.y.numpy()
    close(growth.backward(), to_start)
    tape = growth.tape
    assert tape.gradient(growth.rate).shape == (WORLDS, ITEMS) and tape.gradient(growth.rate).worlds
    close(tape.gradient(growth.rate), to_rate)
    close(tape.total(growth.rate), to_rate.sum(axis=0))
    close(tape.number_gradient(growth.grow, "by"), to_by.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(growth.y.numpy(), y)
    assert tape.gradient(growth.start) is not None and tape.total(growth.start).shape == (WORLDS, ITEMS)


def test_again(growth):
    growth.taped()
    first = growth.backward()
    np.testing.assert_array_equal(growth.backward(), first)
    growth.tape.gradient(growth.y)[:] = 1.0
    growth.tape.backward()  # without zero(): it adds up
    close(growth.tape.gradient(growth.start), 2 * first)


def test_the_same_whatever_every_is(sim, growth):
    expected = growth.taped().backward()
    for every in (1, 7, 100):
        other = Growth(sim, every)
        np.testing.assert_array_equal(other.taped().backward(), expected)
        assert other.tape.info["every"] == every


def test_info(growth):
    assert growth.tape.info["launches"] == 0
    info = growth.taped().tape.info
    assert (
        info["steps"] == STEPS + 1 and info["launches"] == STEPS + 2
    ), "the copy before the first step is a step of its own"
    assert 1 < info["checkpoints"] < STEPS and info["checkpoint_bytes"] > 0 and info["gradient_bytes"] == 0
    growth.backward()
    assert growth.tape.info["gradient_bytes"] > 0


def test_an_exception_leaves_an_empty_tape(growth):
    with pytest.raises(ZeroDivisionError):
        with growth.tape:
            growth.run(2)
            1 / 0
    with pytest.raises(stet.StateError):
        growth.tape.backward()
    close(growth.taped().backward(), by_hand(growth.start.numpy(), growth.rate.numpy())[0])


def test_what_cannot_be_differentiated(sim, growth):
    bits = sim.kernel(SOURCE, name="k_bits")
    with pytest.raises(stet.UnsupportedError, match="as_bits"):
        with growth.tape:
            bits(WORLDS, growth.start, growth.x, ITEMS)
            growth.square(WORLDS, growth.x, growth.y, ITEMS)


def test_wrong_calls(sim, growth):
    with pytest.raises(stet.StateError):
        growth.tape.step()
    with pytest.raises(stet.StateError):
        growth.tape.backward()
    with pytest.raises(stet.StateError):
        with growth.tape, stet.Tape(sim):
            pass
    growth.taped(1)
    with pytest.raises(stet.NotFoundError):
        growth.tape.number_gradient(growth.grow, "nothing")
    with pytest.raises(stet.InvalidArgumentError):
        growth.tape.gradient(sim.zeros(3, "int32"))
    with pytest.raises(stet.InvalidArgumentError):
        stet.Tape(sim, -1)
    with stet.Sim(POINT, physics="external") as other:
        with pytest.raises(stet.InvalidArgumentError, match="another sim's"):
            growth.tape.gradient(other.zeros(3))


def test_lifetimes(sim):
    growth = Growth(sim).taped()
    growth.backward()
    gradient, total = growth.tape.gradient(growth.start), growth.tape.total(growth.rate)
    expected = gradient.numpy(), total.numpy()
    del growth
    gc.collect()
    np.testing.assert_array_equal(gradient.numpy(), expected[0])  # a gradient keeps its tape
    np.testing.assert_array_equal(total.numpy(), expected[1])
    growth = Growth(sim)
    growth.tape.__enter__()
    del growth  # open
    gc.collect()
    Growth(sim).taped()  # another one can begin


def test_closed(sim, growth):
    growth.taped()
    gradient = growth.tape.gradient(growth.start)
    sim.close()
    for call in (growth.tape.backward, growth.tape.zero, growth.tape.step, gradient.numpy, lambda: growth.tape.info):
        with pytest.raises(stet.StateError, match="the sim is closed"):
            call()


BALLS = """<mujoco><option timestep=".002"/><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 .4">
<joint type="slide" axis="0 0 1"/><geom size=".1"/></body></worldbody></mujoco>"""


def test_first_touch():
    with stet.Sim(BALLS, worlds=8, physics="native", device="cpu") as sim:
        found = {}
        for touch in ("steps", "saltation"):
            sim.reset()
            sim.qpos[:, 0] = np.linspace(0, 0.03, 8)
            tape = stet.Tape(sim, touch=touch)
            with tape:
                for _ in range(140):
                    tape.step()
                    sim.step()
            tape.gradient(sim.qpos)[:] = 1
            tape.backward()
            found[touch] = tape.gradient(sim.qpos).numpy().mean()
        assert found["steps"] > 0 > found["saltation"]
        assert tape.touches.tolist() == [1] * 8
        with pytest.raises(stet.StateError, match="touches are counted"):
            other = stet.Tape(sim)
            other.touches
        with pytest.raises(stet.InvalidArgumentError, match='"steps" or "saltation", not "hard"'):
            stet.Tape(sim, touch="hard")


def test_derivatives_of_sensors():
    with stet.Sim(stet.scenes / "cartpole_classic.xml", worlds=3, physics="native", device="cpu") as sim:
        A, B = sim.linearize()
        again, _, C, D = sim.linearize(sensors=True)
        sensors = sim.array("sensordata").shape[1]
        assert A.shape == (3, 4, 4) and B.shape == (3, 4, 1) and np.array_equal(A, again)
        assert C.shape == (3, sensors, 4) and D.shape == (3, sensors, 1)
        assert np.abs(C).sum() > 0
