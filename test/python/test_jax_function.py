"""stet.jax: JAX's grad, jit and vmap through stet's launches."""

import ctypes as c

import numpy as np
import pytest

import stet

jax = pytest.importorskip("jax")
jnp = jax.numpy
from jax.test_util import check_grads  # noqa: E402

import stet.jax  # noqa: E402
from stet import _xla  # noqa: E402

from test_tape import BY, ITEMS, POINT, STEPS, WORLDS, Growth  # noqa: E402


HAS_GPU = any(device.platform == "gpu" for device in jax.devices())


@pytest.fixture(autouse=True)
def place():
    """JAX's arrays are on the CPU, also where there is a GPU, but for tests of it."""
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.fixture(params=["cpu", "cuda"])
def growth(request):
    """A sim on the CPU and, where JAX has one, on a GPU; JAX's arrays are there, too."""
    if request.param == "cuda":
        request.getfixturevalue("gpu")
        if not HAS_GPU:
            pytest.skip("JAX has no GPU here")
    with (jax.default_device(jax.devices("gpu" if request.param == "cuda" else "cpu")[0]),
          stet.Sim(POINT, worlds=WORLDS, device=request.param, physics="external") as sim):
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


def test_other_work_before_and_after(growth, rollout):
    """On a GPU the call is in the order of XLA's stream: it reads what was computed before, and is read after."""
    start, rate = values(growth)

    def make(function):
        def loss(x):
            noise = jax.random.normal(jax.random.key(0), (500, 500))
            later = 0 * (noise @ noise).sum()
            return (jnp.tanh(function(x + later, rate)) ** 2).sum() + later

        return jax.jit(jax.value_and_grad(loss))

    ours, theirs = make(rollout), make(grown)
    for k in range(20):
        close(ours(start * (1 - k / 100)), theirs(start * (1 - k / 100)))


def test_a_descent_in_one_program(growth, rollout):
    start, rate = values(growth)

    def descend(function):
        step = jax.grad(lambda x: (function(x, rate) ** 2).sum())
        return jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _, x: x - 0.05 * step(x), x))(start)

    close(descend(rollout), descend(grown))


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


# ---- GPUs --------------------------------------------------------------------------------------------------------


def test_memory_of_a_call_is_a_tensor():
    for values in np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(4.0), np.zeros((0, 2), np.float32):
        memory = _xla.Memory(values.ctypes.data, values.shape, values.dtype, 0, kind=1)
        seen = np.from_dlpack(memory)
        assert seen.dtype == values.dtype and np.array_equal(seen, values)
        values += 1
        assert np.array_equal(seen, values), "it is the same memory"


def test_the_handler_of_a_gpu():
    """Which XLA calls with pointers that only the device can follow, and a stream that it is asked for."""
    said = []
    handler = _xla.handler(lambda *call: said.append(call), gpu=True)

    def give(arguments):
        asked = c.cast(arguments, c.POINTER(_xla._StreamArguments)).contents
        assert asked.context == 5 and asked.struct_size == c.sizeof(_xla._StreamArguments)
        asked.stream = 77
        return None

    giver = c.CFUNCTYPE(c.c_void_p, c.c_void_p)(give)
    api = _xla._Api(get_stream=c.cast(giver, c.c_void_p))
    sizes = (c.c_int64 * 2)(4, 3)
    buffers = (c.POINTER(_xla._Buffer) * 1)(c.pointer(_xla._Buffer(dtype=11, data=64, rank=2, dims=sizes)))
    value, text = c.c_int64(9), c.create_string_buffer(b"way")
    names = (c.POINTER(_xla._Span) * 1)(c.pointer(_xla._Span(c.cast(text, c.POINTER(c.c_char)), 3)))
    items = (c.POINTER(_xla._Scalar) * 1)(c.pointer(_xla._Scalar(9, c.pointer(value))))
    call = _xla._Call(api=c.pointer(api), context=5, stage=_xla._EXECUTE,
                      arguments=_xla._Buffers(size=1, items=buffers), results=_xla._Buffers(size=0),
                      attributes=_xla._Attributes(size=1, names=names, items=items))
    assert handler(c.byref(call)) is None
    assert said == [([(64, (4, 3), np.dtype(np.float32))], [], {"way": 9}, 77)]


def test_calls_with_memory(monkeypatch):
    """What a GPU's handler calls, with the memory of a CPU: a run and its gradients."""
    monkeypatch.setattr(stet.jax, "_CUDA", 1)
    with stet.Sim(POINT, worlds=WORLDS, device="cpu", isa="w1", physics="external") as sim:
        growth = Growth(sim)
        rollout = stet.jax.function(growth.tape, growth.run, [growth.start, growth.rate], [growth.y])
        given = [np.array(x) for x in values(growth)]
        y, gradient = np.zeros_like(given[0]), np.full_like(given[0], 2)
        found = [np.zeros_like(x) for x in given]
        plain = lambda arrays: [(x.ctypes.data, x.shape, x.dtype) for x in arrays]  # noqa: E731
        for _ in range(2):
            rollout._called_on_gpu(stet.jax._FORWARD, plain(given), plain([y]), 0)
            given[0] *= 0.5
        back = jax.vjp(grown, *(jnp.array(x) for x in given))
        rollout._called_on_gpu(stet.jax._FORWARD, plain(given), plain([y]), 0)
        close(y, back[0])
        rollout._called_on_gpu(stet.jax._TOTALS, plain([*given, y, gradient]), plain(found), 0)
        close(tuple(found), back[1](jnp.array(gradient)))


@pytest.mark.skipif(not HAS_GPU, reason="JAX has no GPU here")
def test_a_sim_on_a_cpu_and_arrays_on_a_gpu():
    with stet.Sim(POINT, worlds=WORLDS, device="cpu", physics="external") as sim:
        growth = Growth(sim)
        rollout = stet.jax.function(growth.tape, growth.run, [growth.start, growth.rate], [growth.y])
        given = [jax.device_put(x, jax.devices("gpu")[0]) for x in values(growth)]
        with pytest.raises(Exception, match="JAX's arrays are on a GPU"):
            jax.block_until_ready(rollout(*given))


# ---- steps of native physics -----------------------------------------------------------------------------------------


def test_a_rollout():
    """A rollout under jit and grad: steps of the sim itself, and its gradients those of a tape over them."""
    with stet.Sim(stet.scenes / "cartpole_classic.xml", worlds=3, physics="native") as sim:
        rollout = stet.jax.rollout(sim, steps=4, substeps=2)
        rng = np.random.default_rng(5)
        qpos, qvel, ctrl = (rng.uniform(-0.3, 0.3, shape).astype(np.float32) for shape in ((3, 2), (3, 2), (4, 3, 1)))

        @jax.jit
        def loss(qpos, qvel, ctrl):
            states = rollout(qpos, qvel, ctrl)
            return (states.qpos[-1, :, 1] ** 2).sum() + states.qvel[1, :, 0].sum(), states

        (_, states), found = jax.value_and_grad(loss, (0, 1, 2), has_aux=True)(qpos, qvel, ctrl)
        assert states.qpos.shape == (4, 3, 2) and states.act is None
        sim.reset()
        sim.qpos[:], sim.qvel[:] = qpos, qvel
        for t in range(4):
            sim.ctrl[:] = ctrl[t]
            sim.step(2)
            assert np.array_equal(states.qpos[t], sim.qpos.numpy())
    h = 1e-5
    with stet.Sim(stet.scenes / "cartpole_classic.xml", worlds=3, physics="native", isa="f64") as sim:
        def by_hand(qpos, qvel, ctrl):
            sim.reset()
            sim.qpos[:], sim.qvel[:] = qpos, qvel
            total = 0
            for t in range(4):
                sim.ctrl[:] = ctrl[t]
                sim.step(2)
                total += sim.qvel.numpy()[:, 0].sum() if t == 1 else 0
            return total + (sim.qpos.numpy()[:, 1] ** 2).sum()

        given = [x.astype(np.float64) for x in (qpos, qvel, ctrl)]
        for k, gradient in enumerate(found):
            for at in np.ndindex(gradient.shape):
                ends = []
                for sign in (h, -h):
                    moved = [x.copy() for x in given]
                    moved[k][at] += sign
                    ends.append(by_hand(*moved))
                assert abs((ends[0] - ends[1]) / (2 * h) - float(gradient[at])) < 1e-4


def test_a_rollout_needs_native_physics():
    with stet.Sim(stet.scenes / "cartpole_classic.xml", worlds=3, physics="mujoco") as sim:
        with pytest.raises(stet.UnsupportedError, match="a rollout needs native physics"):
            stet.jax.rollout(sim, steps=4)
