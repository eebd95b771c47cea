"""The caller's kernels: launched, in the step, in recordings and loops."""

import gc

import numpy as np
import pytest

import stet
from stet import _core
from conftest import KERNEL

COUNT = """#include "stet/lang.h"
world_kernel void k_count(lint *n, int by, int world) { each (i, 1) n[i] = n[i] + isplat(by); }
world_kernel void k_done(const lint *n, lint *done, int limit, int world)
{
    each (i, 1) done[i] = iselect(ilt(n[i], isplat(limit)), isplat(0), isplat(1));
}
world_kernel void k_restart(const lint *done, lint *n, int world)
{
    each (i, 1) n[i] = iselect(ieq(done[i], isplat(0)), n[i], isplat(0));
}
"""
DOWN = """#include "stet/lang.h"
item_kernel void k_down(int *left, int *sum, int block)
{
    items (p, 1) {
        sum[0] += left[0];
        left[0] -= 1;
    }
}
"""


def test_launch(sim):
    kernel = sim.kernel(KERNEL)
    assert kernel.name == "k_scale" and "const real *x" in repr(kernel)
    assert [p["name"] for p in kernel.params] == ["x", "y", "scale", "n", "count"]
    assert kernel.params[1] == {"name": "y", "type": "real", "kind": "array", "worlds": True, "written": True}
    y = sim.zeros((5, 2), worlds=True)
    for scale, n in [(2.0, 1), (2, True), (np.float32(2), np.int64(1)), (np.float64(2), np.int32(1))]:
        y[:] = 0
        kernel(5, sim.qpos, y, scale, n, 2)
        np.testing.assert_array_equal(y.numpy(), 2 * sim.qpos.numpy() + 1)
    assert kernel(0, sim.qpos, y, 1.0, 1, 2) is None


def test_refused_launches(sim, make):
    kernel = sim.kernel(KERNEL)
    x, other = sim.zeros((5, 2), worlds=True), make()
    before = x.generation
    for args, kind, why in [
        ((5, x, x, 1.0, 1), stet.InvalidArgumentError, "argument"),
        ((5, x, x, 1.0, 1, 2, 3), stet.InvalidArgumentError, "argument"),
        ((5, 1, x, 1.0, 1, 2), stet.InvalidArgumentError, "takes an array"),
        ((5, x, x, x, 1, 2), stet.InvalidArgumentError, "scale"),
        ((5, x, x, 1.0, 1.5, 2), stet.InvalidArgumentError, "n"),
        ((4, x, x, 1.0, 1, 2), stet.InvalidArgumentError, "worlds"),
        ((-1, x, x, 1.0, 1, 2), stet.InvalidArgumentError, "-1"),
        ((5, sim.zeros((5, 2)), x, 1.0, 1, 2), stet.InvalidArgumentError, "worlds"),
        ((5, x, sim.zeros((5, 2), "int32", worlds=True), 1.0, 1, 2), stet.InvalidArgumentError, "y"),
        ((5, x, other.zeros((5, 2), worlds=True), 1.0, 1, 2), stet.InvalidArgumentError, "another sim"),
        ((5, x, [1, 2], 1.0, 1, 2), stet.ArgumentTypeError, "argument 1 .y. is a 'list'"),
        ((5, x, np.zeros((5, 2)), 1.0, 1, 2), stet.ArgumentTypeError, "ndarray"),
        ((5, x, x, "1.0", 1, 2), stet.ArgumentTypeError, "str"),
        ((5, x, x, object(), 1, 2), stet.ArgumentTypeError, "object"),
        ((5, x, x, 1j, 1, 2), (TypeError, stet.Error), "complex"),
        (("5", x, x, 1.0, 1, 2), TypeError, None),
        ((), TypeError, None),
    ]:
        with pytest.raises(kind, match=why):
            kernel(*args)
    assert x.generation == before


def test_making(sim, tmp_path):
    path = tmp_path / "scale.k.h"
    path.write_text(KERNEL)
    assert sim.kernel(path=path).name == "k_scale"
    assert sim.kernel(COUNT, "k_done").name == "k_done"
    (tmp_path / "part.h").write_text("LFN real twice(real x) { return x + x; }\n")
    source = """#include "stet/lang.h"
#include "part.h"
world_kernel void k_twice(real *x, int world) { each (i, 1) put(x, i, twice(x[i])); }"""
    kernel = sim.kernel(source, includes=tmp_path)
    x = sim.zeros((5, 1), worlds=True)
    x[:] = 3
    kernel(5, x)
    assert (x.numpy() == 6).all()
    for more, kind, why in [
        ({"source": "no kernel"}, stet.ParseError, "kernel:1"),
        ({"source": KERNEL.replace("fma", "printf")}, stet.ParseError, "kernel:4"),
        ({"source": COUNT}, stet.Error, "k_count"),
        ({"source": COUNT, "name": "k_nothing"}, stet.NotFoundError, "k_nothing"),
        ({"path": tmp_path / "none.k.h"}, stet.NotFoundError, "none.k.h"),
        (
            {"source": KERNEL + "/* another text */", "compiler": "no-such-compiler"},
            stet.NotFoundError,
            "no-such-compiler",
        ),
        ({}, stet.InvalidArgumentError, "source or a path"),
    ]:
        if "compiler" in more and sim.device.type != "cpu":
            continue  # a GPU's is the driver's own
        with pytest.raises(kind, match=why):
            sim.kernel(**more)
    with pytest.raises(TypeError):
        sim.kernel(KERNEL, text=1)


def test_compiled_once(make, tmp_path):
    for hits in (0, 1):
        sim = make()
        sim.kernel(KERNEL, cache_folder=tmp_path / "kernels")
        assert sim.counters()["kernel_cache"]["hits"] == hits


def test_in_the_step(sim):
    n = sim.zeros((5, 1), "int32", worlds=True, name="n")
    done = sim.zeros((5, 1), "int32", worlds=True, name="done")
    count, judge, restart = (sim.kernel(COUNT, name) for name in ("k_count", "k_done", "k_restart"))
    first = sim.add_kernel("before_physics", count, [n, 1])
    sim.add_kernel("after_physics", judge, (n, done, 3))
    sim.add_kernel("after_reset", restart, [done, n], count=5)
    sim.set_reset(done)
    seen = []
    for _ in range(7):
        sim.step()
        seen.append((int(n[0, 0]), round(float(sim.time[0, 0]), 3)))
    assert seen == [(1, 0.005), (2, 0.01), (0, 0.0), (1, 0.005), (2, 0.01), (0, 0.0), (1, 0.005)]
    sim.set_kernel_args(first, [n, 2])
    sim.step()
    assert int(n[0, 0]) == 0
    sim.remove_kernel(first)
    sim.step()
    assert int(n[0, 0]) == 0
    sim.set_reset(None)
    sim.clear_kernels()
    before = n.generation
    sim.step()
    assert n.generation == before


def test_the_step_keeps_its_parts(make):
    sim = make()
    n = sim.zeros((5, 1), "int32", worlds=True)
    sim.add_kernel("before_physics", sim.kernel(COUNT, "k_count"), [n, 1])
    sim.set_reset(sim.zeros((5, 1), "int32", worlds=True))
    gc.collect()
    sim.step()
    assert int(n[4, 0]) == 1
    alive = _core._alive()["owned"]
    sim.clear_kernels()
    sim.set_reset(None)
    gc.collect()
    assert _core._alive()["owned"] == alive - 2


def test_refused_in_the_step(make):
    sim, other = make(outputs="depth", width=8, height=8), make()
    kernel, n = sim.kernel(COUNT, "k_count"), sim.zeros((5, 1), "int32", worlds=True)
    for args, kind, why in [
        (("sometime", kernel, [n, 1]), stet.NotFoundError, "after_reset"),
        (("after_physics", other.kernel(COUNT, "k_count"), [n, 1]), stet.InvalidArgumentError, "another sim"),
        (("after_physics", kernel, [n]), stet.InvalidArgumentError, "argument"),
        (("after_physics", kernel, [n, 1], 4), stet.InvalidArgumentError, "worlds"),
        (
            ("after_physics", kernel, [sim.tensor("depth") if sim.render() == 0 else n, 1]),
            stet.InvalidArgumentError,
            "picture",
        ),
        (("after_physics", kernel, 3), TypeError, None),
        (("after_physics", None, []), TypeError, None),
    ]:
        with pytest.raises(kind, match=why):
            sim.add_kernel(*args)
    for mask in [other.zeros((5, 1), "int32", worlds=True), sim.qpos, sim.zeros((5, 1)), sim.tensor("depth")]:
        with pytest.raises(stet.InvalidArgumentError):
            sim.set_reset(mask)
    for call in [lambda: sim.remove_kernel(0), lambda: sim.set_kernel_args(7, [])]:
        with pytest.raises(stet.NotFoundError):
            call()


def test_recordings(sim):
    kernel, n = sim.kernel(COUNT, "k_count"), sim.zeros((5, 1), "int32", worlds=True)
    for k in range(4):
        with sim.record("two counts") as record:
            before = n.generation
            kernel(5, n, 1)
            kernel(5, n, k)
            assert n.generation == before  # listed, not run
        assert record is not None
    assert (n.numpy() == 10).all()
    assert sim.counters()["graph_replay"]["hits"] > 0 and sim.recording > 0
    before = n.generation
    sim.replayed(sim.recording)
    assert n.generation > before
    with pytest.raises(stet.NotFoundError):
        sim.replayed(10**9)


def test_a_recording_that_fails(sim):
    kernel, n = sim.kernel(COUNT, "k_count"), sim.zeros((5, 1), "int32", worlds=True)
    with pytest.raises(KeyError):
        with sim.record():
            kernel(5, n, 1)
            raise KeyError
    assert (n.numpy() == 0).all()
    with pytest.raises(stet.InvalidArgumentError):
        with sim.record():
            kernel(5, n, 1)
            kernel(5, n)
    record = sim.record("again and again")
    for _ in range(2):
        with record:
            kernel(5, n, 1)
    with pytest.raises(stet.StateError, match="already"):
        with record:
            with record:
                pass
    with pytest.raises(stet.StateError):
        with sim.record():
            sim.step()
    sim.step()


def test_a_block_that_nobody_finishes(sim):
    kernel, n = sim.kernel(COUNT, "k_count"), sim.zeros((5, 1), "int32", worlds=True)

    def generator():
        with sim.record():
            kernel(5, n, 1)
            yield

    g = generator()
    next(g)
    del g
    gc.collect()
    sim.record().__enter__()  # its end comes with the object's
    gc.collect()
    kernel(5, n, 5)
    assert (n.numpy() == 5).all()
    sim.step()


def test_loops(sim):
    kernel = sim.kernel(DOWN)
    left, total = sim.zeros(1, "int32"), sim.zeros(1, "int32")
    for most, expected in [(100, 15), (2, 9)]:
        left[:] = 5
        total[:] = 0
        with sim.record():
            with sim.loop(left, most):
                kernel(1, left, total)
        assert int(total[0]) == expected
    with pytest.raises(stet.StateError):
        with sim.loop(left, 3):
            pass
    with pytest.raises(stet.Error):
        with sim.record():
            with sim.loop(sim.qpos, 3):
                pass
    with pytest.raises(TypeError):
        sim.loop(3, left)
    with pytest.raises(KeyError):
        with sim.record():
            with sim.loop(left, 3):
                raise KeyError
    sim.step()


def test_pictures_as_arguments(make):
    sim = make(worlds=2, outputs="depth", width=8, height=8)
    source = """#include "stet/lang.h"
item_kernel void k_sum(const ureal *depth, ureal *out, int n, int block)
{
    items (p, 1) {
        ureal sum = 0;
        for (int i = 0; i < n; ++i) sum += depth[i] < 1e6f ? depth[i] : 0;
        out[0] = sum;
    }
}
"""
    kernel, out = sim.kernel(source), sim.zeros(1)
    sim.render()
    depth = sim.tensor("depth")
    kernel(1, depth, out, 128)
    values = depth.numpy()
    np.testing.assert_allclose(out[0], values[values < 1e6].sum(), rtol=1e-4)
    for _ in range(3):
        sim.step(5)
        sim.render()
    with pytest.raises(stet.NotFoundError):
        kernel(1, depth, out, 128)


FAR = """#include "stet/lang.h"
world_kernel void k_far(real *y, int i, int world)
{
    put(y, i, splat(7));
}
world_kernel void k_divide(int *n, int d, int world) { n[0] = 6 / d; }
"""


def test_checked(make, tmp_path):
    path = tmp_path / "far.k.h"
    path.write_text(FAR)
    sim = make(checked=True)
    kernel = sim.kernel(name="k_far", path=path)
    arrays = [sim.zeros((5, 4), worlds=True) for _ in range(3)]
    for x in arrays:
        x[:] = 3
    assert kernel(5, arrays[1], 2) is None
    right = [x.numpy().copy() for x in arrays]
    assert (right[1][:, 2] == 7).all() and (right[1][:, :2] == 3).all()
    for i in (4, -1, 100000000):
        with pytest.raises(stet.FaultError) as caught:
            kernel(5, arrays[1], i)
        said = str(caught.value)
        assert (
            said.startswith("kernel k_far: ")
            and f"far.k.h:4:5: `put(y, i, splat(7))` writes element {i} of `y`, which has 4 (world" in said
        )
        assert caught.value.result == "FAULT" and isinstance(caught.value, IndexError)
        for x, was in zip(arrays, right):
            np.testing.assert_array_equal(x.numpy(), was)
    assert kernel(5, arrays[1], 3) is None  # the next launch is clean
    with pytest.raises(stet.FaultError, match="`6 / d` divides by 0"):
        sim.kernel(name="k_divide", path=path)(5, sim.zeros(4, "int32"), 0)


def test_checked_by_the_environment(make, monkeypatch):
    monkeypatch.setenv("STET_CHECKED", "1")
    sim = make()
    with pytest.raises(stet.FaultError, match="element 9"):
        sim.kernel(FAR, "k_far")(5, sim.zeros((5, 4), worlds=True), 9)
