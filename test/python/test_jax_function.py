"""stet.jax: JAX's grad, jit and vmap through stet's launches."""

import numpy as np
import pytest

import stet

jax = pytest.importorskip("jax")
jnp = jax.numpy
from jax.test_util import check_grads  # noqa: E402

import stet.jax  # noqa: E402

from test_tape import BY, ITEMS, POINT, STEPS, WORLDS, Growth  # noqa: E402


@pytest.fixture
def growth():
    with stet.Sim(POINT, worlds=WORLDS, device="cpu", physics="external") as sim:
        yield Growth(sim)


@pytest.fixture
def rollout(growth):
    return stet.jax.function(growth.tape, growth.run, [growth.start, growth.rate], [growth.y])


def grown(start, rate):
    """The same in JAX."""
    x = start
    for _ in range(STEPS):
        x = x + BY * (rate - x * x)
    return x * x


def values(growth):
    """Of the inputs, before a call writes into them."""
    return jnp.array(growth.start.numpy()), jnp.array(growth.rate.numpy())


def close(ours, theirs):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), ours, theirs)


@pytest.mark.parametrize("compiled", [False, True])
def test_grad(growth, rollout, compiled):
    """As a part of a longer computation, of an array of worlds and of a plain one."""
    results, given = [], values(growth)
    for function in rollout, grown:
        both = jax.value_and_grad(lambda a, b, f=function: (f(jnp.sin(a), 2 * b) ** 2).sum(), (0, 1))
        results.append((jax.jit(both) if compiled else both)(*given))
    close(*results)


def test_several_calls(growth, rollout):
    """In one program: the tape has the run of only one of them."""
    start, rate = values(growth)
    close(*(jax.jit(jax.grad(lambda a, f=f: (f(a, rate) * f(2 * a, rate) + f(a / 3, rate)).sum()))(start)
            for f in (rollout, grown)))


def test_functions_share_a_tape(growth, rollout):
    start, rate = values(growth)
    y, back = jax.vjp(rollout, start, rate)
    stet.jax.function(growth.tape, lambda: growth.run(2), [growth.start], [growth.y])(start)
    close(back(jnp.ones_like(y)), jax.vjp(grown, start, rate)[1](jnp.ones_like(y)))


def test_a_pass_back_runs_again_only_where_it_must(growth):
    runs = []
    rollout = stet.jax.function(growth.tape, lambda: (runs.append(1), growth.run()), [growth.start], [growth.y])
    start, rate = values(growth)
    y, back = jax.vjp(rollout, start)
    first = back(jnp.ones_like(y))
    close(back(jnp.ones_like(y)), first)
    assert len(runs) == 1
    rollout(start / 2)
    close(back(jnp.ones_like(y)), first)
    assert len(runs) == 3


def test_vmap(growth, rollout):
    start, rate = values(growth)
    starts = jnp.stack([start, start / 2, start / 3])
    for wrap in (lambda f: f), (lambda f: jax.grad(lambda a, b: f(a, b).sum(), (0, 1))):
        close(*(jax.vmap(wrap(f), (0, None))(starts, rate) for f in (rollout, grown)))
    close(*(jax.jacrev(lambda b, f=f: f(start, b).sum(0))(rate) for f in (rollout, grown)))


@pytest.mark.parametrize("rows", [1, WORLDS, 2 * WORLDS + 2])
def test_vmap_over_worlds(growth, rows):
    runs = []
    rollout = stet.jax.function(growth.tape, lambda: (runs.append(1), growth.run()), [growth.start, growth.rate],
                                [growth.y])
    starts, rate = jnp.linspace(0.1, 1, rows * ITEMS).reshape(rows, ITEMS), values(growth)[1]
    close(*(jax.jit(jax.vmap(f, (0, None)))(starts, rate) for f in (rollout.one_world, grown)))
    assert len(runs) == -(-rows // WORLDS)
    close(*(jax.grad(lambda a, b, f=f: jax.vmap(f, (0, None))(a, b).sum(), (0, 1))(starts, rate)
            for f in (rollout.one_world, grown)))
    close(*(f(starts[0], rate) for f in (rollout.one_world, grown)))


def test_double():
    with stet.Sim(POINT, worlds=WORLDS, device="cpu", isa="f64", physics="external") as sim:
        growth = Growth(sim)
        make = lambda: stet.jax.function(growth.tape, lambda: growth.run(4), [growth.start], [growth.y])  # noqa: E731
        with pytest.raises(stet.InvalidArgumentError, match="jax_enable_x64"):
            make()
        with jax.enable_x64(True):
            rollout, start = make(), jnp.array(growth.start.numpy())
            assert rollout(start).dtype == rollout(start.astype("float32")).dtype == jnp.float64
            check_grads(rollout, (start,), order=1, modes=["rev"], rtol=1e-7, atol=1e-7)


def test_what_goes_wrong(growth, rollout):
    start, rate = values(growth)
    with pytest.raises(stet.InvalidArgumentError, match="reshape it"):
        rollout(start[:2], rate)
    with pytest.raises(stet.InvalidArgumentError, match="in_axes=None"):
        jax.vmap(rollout.one_world)(start, jnp.stack([rate] * WORLDS))
    with jax.enable_x64(True), pytest.raises(stet.InvalidArgumentError, match="isa='f64'"):
        rollout(start.astype("float64"), rate)
    failing = stet.jax.function(growth.tape, lambda: 1 / 0, [growth.start], [growth.y])
    with pytest.raises(Exception, match="ZeroDivisionError: division by zero"):
        jax.block_until_ready(failing(start))
    other = stet.jax.function(growth.tape, growth.run, [growth.start], [growth.y])
    y, back = jax.vjp(other, start)
    other(start / 2)
    growth.rate[:] = 3.0
    with pytest.raises(Exception, match="not among its inputs"):
        jax.block_until_ready(back(jnp.ones_like(y)))


def test_a_gpu_is_refused(gpu):
    with stet.Sim(POINT, worlds=WORLDS, device=gpu, physics="external") as sim:
        growth = Growth(sim)
        with pytest.raises(stet.UnsupportedError, match="device='cpu'"):
            stet.jax.function(growth.tape, growth.run, [growth.start], [growth.y])
