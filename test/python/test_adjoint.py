"""Adjoints of single kernels: source, launch, what has gradients, checks against differences."""

import gc

import numpy as np
import pytest

import stet

POINT = "<mujoco><worldbody/></mujoco>"
SOURCE = """#include "stet/lang.h"
/* y = a x^2 + w x: a of each world, w the same for all. */
world_kernel void k_curve(const real *x, const real *a, const ureal *w, ureal by, real *y, int n, int world)
{
    each (i, n) put(y, i, splat(by) * fma(a[0] * x[i], x[i], splat(w[i]) * x[i]));
}
"""
LOG = """#include "stet/lang.h"
world_kernel void k_log(const real *x, real *y, int n, int world) { each (i, n) put(y, i, log(x[i])); }
"""
BITS = """#include "stet/lang.h"
world_kernel void k_bits(const real *x, lint *y, int n, int world) { each (i, n) y[i] = as_bits(x[i] * x[i]); }
world_kernel void k_more(const real *x, real *y, int n, int world)
{
    each (i, n) put(y, i, from_bits(as_bits(x[i] * x[i])));
}
"""
WRONG = """#include "stet/lang.h"
LFN real twice(real x) { return splat(2) * x; }
LFN void twice_adj(real x, real *x_grads, real grad) { *x_grads = *x_grads + splat(3) * grad; }
world_kernel void k_twice(const real *x, real *y, int n, int world) { each (i, n) put(y, i, twice(x[i])); }
"""
WORLDS, ITEMS = 5, 7


@pytest.fixture
def sim():
    with stet.Sim(POINT, worlds=WORLDS, physics="external") as sim:
        yield sim


def worlds(sim, values):
    values = np.asarray(values, np.float32)
    array = sim.zeros(values.shape, worlds=True)
    array[:] = values
    return array


@pytest.fixture
def curve(sim):
    """A kernel, its arguments, and the numbers in them."""
    random = np.random.default_rng(7)
    x, a, w = (
        random.uniform(0.5, 2, (WORLDS, ITEMS)),
        random.uniform(0.5, 2, (WORLDS, 1)),
        random.uniform(0.5, 2, ITEMS),
    )
    plain = sim.zeros(ITEMS)
    plain[:] = w.astype(np.float32)
    args = worlds(sim, x), worlds(sim, a), plain, 1.5, worlds(sim, np.zeros((WORLDS, ITEMS))), ITEMS
    return sim.kernel(SOURCE), args, (x, a, w)


def gradients_of(sim):
    shapes = ITEMS, 1, ITEMS, 1, ITEMS
    return [sim.zeros((WORLDS, n), worlds=True) for n in shapes] + [None]


def test_launch(sim, curve):
    kernel, args, (x, a, w) = curve
    adjoint = kernel.adjoint
    kernel(WORLDS, *args)
    to = gradients_of(sim)
    y = np.random.default_rng(8).uniform(-1, 1, (WORLDS, ITEMS)).astype(np.float32)
    to[4][:] = y
    to[0][:] = 10.0
    adjoint(WORLDS, *args, gradients=to)
    close = lambda array, expected: np.testing.assert_allclose(array.numpy(), expected, rtol=2e-5, atol=1e-5)
    close(to[0], 10 + 1.5 * y * (2 * a * x + w))  # of what is read: added
    close(to[1], (1.5 * y * x * x).sum(axis=1, keepdims=True))
    close(to[2], 1.5 * y * x)  # the shares of the worlds
    close(to[3], (y * (a * x * x + w * x)).sum(axis=1, keepdims=True))
    close(to[4], np.zeros((WORLDS, ITEMS)))  # of what is only written: taken
    total = sim.zeros(ITEMS)
    stet.sum_worlds(total, to[2])
    close(total, (1.5 * y * x).sum(axis=0))


def test_what_it_is(sim, curve):
    kernel, _, _ = curve
    adjoint = kernel.adjoint
    assert adjoint.differentiable == ("x", "a", "w", "by", "y")
    assert "k_curve_adj" in adjoint.source and repr(adjoint) == "<stet.Adjoint of k_curve>"
    assert sim.kernel(SOURCE, constant="w").adjoint.differentiable == ("x", "a", "by", "y")
    assert sim.kernel(SOURCE, constant=["w", "by"]).adjoint.differentiable == ("x", "a", "y")


def test_it_outlives_its_kernel(sim, curve):
    _, args, _ = curve
    kernel = sim.kernel(SOURCE)
    adjoint = kernel.adjoint
    del kernel
    gc.collect()
    to = gradients_of(sim)
    to[4][:] = 1.0
    adjoint(WORLDS, *args, gradients=to)
    assert to[0].numpy().all()
    sim.close()
    with pytest.raises(stet.StateError, match="the sim is closed"):
        adjoint(WORLDS, *args, gradients=[None] * 6)


def test_what_cannot_be_differentiated(sim):
    with pytest.raises(stet.UnsupportedError, match="as_bits"):
        sim.kernel(BITS, name="k_more").adjoint
    x = worlds(sim, np.ones((WORLDS, 1)))
    sim.kernel(BITS, name="k_more")(WORLDS, x, worlds(sim, np.ones((WORLDS, 1))), 1)  # the kernel itself is fine


def test_wrong_calls(sim, curve):
    kernel, args, _ = curve
    adjoint, to = kernel.adjoint, gradients_of(sim)
    with pytest.raises(stet.InvalidArgumentError, match="6 arguments and 5 gradients"):
        adjoint(WORLDS, *args, gradients=to[:-1])
    with pytest.raises(stet.ArgumentTypeError, match="gradient 0 is a 'int'"):
        adjoint(WORLDS, *args, gradients=[1] + to[1:])
    with pytest.raises(stet.InvalidArgumentError):
        adjoint(WORLDS, *args, gradients=[None] + to[1:])  # x has one
    with pytest.raises(stet.InvalidArgumentError):
        adjoint(WORLDS, *args, gradients=[to[1]] + to[1:])  # of another size
    with pytest.raises(TypeError):
        adjoint(WORLDS, *args)
    with stet.Sim(POINT, worlds=WORLDS, physics="external") as other:
        with pytest.raises(stet.InvalidArgumentError, match="is not one of this sim's"):
            adjoint(WORLDS, *args, gradients=[other.zeros((WORLDS, ITEMS), worlds=True)] + to[1:])
        with pytest.raises(stet.InvalidArgumentError, match="two sims"):
            stet.sum_worlds(other.zeros(ITEMS), to[2])


def test_gradcheck():
    result = stet.gradcheck(
        SOURCE, numbers={"n": ITEMS}, items={"x": ITEMS, "y": ITEMS, "a": 1, "w": ITEMS}, ranges={"x": (-2, 2)}
    )
    assert result.wrong == 0 and result.unfit == 0 and result.moving > 2 * ITEMS
    assert result.worst < 1e-5 and "k_curve" in result.where
    fewer = stet.gradcheck(
        SOURCE, constant="x", numbers={"n": ITEMS}, items={"x": ITEMS, "y": ITEMS, "a": 1, "w": ITEMS}
    )
    assert fewer.wrong == 0 and fewer.compared < result.compared
    assert stet.gradcheck(WRONG, numbers={"n": 2}).wrong > 0, "an adjoint that is wrong is found"
    assert (
        stet.gradcheck(LOG, ranges={"x": (-1, 1)}).unfit > 0
    ), "where there is no logarithm there is nothing to compare"


def test_gradcheck_wrong_calls():
    with pytest.raises(stet.InvalidArgumentError, match="give a source or a path"):
        stet.gradcheck()
    with pytest.raises(stet.UnsupportedError, match="as_bits"):
        stet.gradcheck(BITS)
    with pytest.raises(stet.Error):
        stet.gradcheck(path="/nowhere/at/all.k.h")
