"""Who keeps whom alive, use after the end, and that nothing stays behind however often things come and go."""

import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

import stet
from stet import _core
from conftest import KERNEL, SCENE


def alive():
    gc.collect()
    return _core._alive()


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def churn(work, times, limit):
    """Runs work `times` times, again and again: what leaks grows each time. The first rounds may allocate what stays:
    the C library's heap finds its size, and on a busy machine a thread may come to its first work late.
    """
    for _ in range(times):
        work()
    for _ in range(ROUNDS):
        before, blocks, started = alive(), _core._memory()["blocks"], resident()
        for _ in range(times):
            work()
        grown = {"blocks": _core._memory()["blocks"] - blocks, "bytes": resident() - started}
        same = alive() == before
        if same and grown["blocks"] <= 0 and grown["bytes"] < limit:
            return
    raise AssertionError(f"each of {ROUNDS} rounds leaves something behind: {grown}, {alive()} instead of {before}")


MB = 1 << 20
ROUNDS = 3


def test_a_leak_is_found(make):
    sim, kept = make(), []
    with pytest.raises(AssertionError, match="each of 3 rounds leaves something behind"):
        churn(lambda: kept.append(sim.zeros(1)), 3, 8 * MB)


def test_many_arrays(make):
    sim = make()

    def work():
        array = sim.zeros((16, 4))
        array[:] = 1
        array.host()
        np.from_dlpack(array)

    churn(work, 10000, 8 * MB)


def test_many_views_and_imports(make):
    sim, values = make(outputs="depth", width=8, height=8), np.zeros(100, np.float32)
    sim.render()

    def work():
        sim.qpos.host()
        sim.from_dlpack(values)
        np.from_dlpack(sim.qpos)
        np.from_dlpack(sim.tensor("depth"))
        sim.tensor("depth").export()

    churn(work, 10000, 8 * MB)


def test_many_errors(make):
    sim = make()

    def work():
        for call in (lambda: sim.array("nothing"), lambda: sim.ctrl.write("x"), lambda: sim.zeros(-1),
                     lambda: sim.reset(keyframe="nowhere")):
            with pytest.raises(stet.Error):
                call()

    churn(work, 500, 8 * MB)


def test_many_snapshots_and_records(make):
    sim, kernel = make(), None
    kernel = sim.kernel(KERNEL)
    x = sim.zeros((5, 2), worlds=True)

    def work():
        sim.restore(sim.snapshot())
        with sim.record():
            kernel(5, x, x, 1.0, 0, 2)
        sim.remove_kernel(sim.add_kernel("after_physics", kernel, [x, x, 1.0, 0, 2]))

    churn(work, 300, 8 * MB)


def test_many_kernels(make):
    sim = make()
    churn(lambda: sim.kernel(KERNEL), 150, 16 * MB)


def test_many_sims():
    def work():
        sim = stet.Sim(SCENE, 2, "cpu", threads=1, outputs="rgb", width=8, height=8)
        sim.step()
        sim.render()
        sim.read("rgb")
        kept.append(sim.qpos)
        if len(kept) % 2:
            sim.close()
        del kept[:-2]

    kept = []
    churn(work, 200, 48 * MB)


def test_an_array_keeps_its_sim():
    sim = stet.Sim(SCENE, 3, "cpu", outputs="depth", width=8, height=8)
    sim.render()
    gone, array, kernel, picture = weakref.ref(sim), sim.qpos, sim.kernel(KERNEL), sim.tensor("depth")
    snapshot, own, export = sim.snapshot(), sim.zeros((3, 2), worlds=True), sim.qvel.export()
    expected = array.numpy()
    del sim
    gc.collect()
    assert gone() is None  # Python's object; what it stands for lives
    kernel(3, array, own, 1.0, 0, 2)
    np.testing.assert_array_equal(own.numpy(), expected)
    assert picture.numpy().shape == (3, 8, 8, 1) and np.from_dlpack(export) is not None and snapshot is not None
    before = alive()["sims"]
    del array, kernel, own, picture, snapshot, export
    assert alive()["sims"] == before - 1


def test_after_close(make):
    sim = make(outputs="depth", width=8, height=8)
    sim.render()
    parts = {
        "array": sim.qpos,
        "own": sim.zeros((5, 2), worlds=True),
        "picture": sim.tensor("depth"),
        "kernel": sim.kernel(KERNEL),
        "record": sim.record(),
        "snapshot": sim.snapshot(),
        "export": sim.qvel.export(),
    }
    loop = sim.loop(sim.zeros(1, "int32"), 3)
    sim.close()
    own, kernel = parts["own"], parts["kernel"]
    calls = [
        lambda: sim.step(),
        lambda: sim.render(),
        lambda: sim.reset(),
        lambda: sim.read("depth"),
        lambda: sim.tensor("depth"),
        lambda: sim.qpos,
        lambda: sim.zeros(3),
        lambda: sim.from_dlpack(np.zeros(3, np.float32)),
        lambda: sim.kernel(KERNEL),
        lambda: sim.add_kernel("after_physics", kernel, [own, own, 1.0, 0, 2]),
        lambda: sim.set_reset(None),
        lambda: sim.counters(),
        lambda: sim.clear_counters(),
        lambda: sim.timing(),
        lambda: sim.snapshot(),
        lambda: sim.restore(parts["snapshot"]),
        lambda: sim.save("nowhere"),
        lambda: sim.hash(),
        lambda: sim.hash_frame(),
        lambda: sim.device,
        lambda: sim.physics,
        lambda: sim.faults(),
        lambda: sim.cameras,
        lambda: sim.control_zero(),
        lambda: sim.control_noise(1, 2),
        lambda: sim.use_stream(None),
        lambda: sim.synchronize(),
        lambda: sim.recording,
        lambda: sim.replayed(1),
        lambda: sim.configure(),
        lambda: sim.set_parameter("gravity", None),
        lambda: sim.remove_kernel(0),
        lambda: sim.clear_kernels(),
        lambda: kernel(5, own, own, 1.0, 0, 2),
        lambda: parts["record"].__enter__(),
        lambda: loop.__enter__(),
        lambda: np.from_dlpack(parts["export"]),
    ]
    for array in (parts["array"], own, parts["picture"]):
        calls += [
            array.numpy, array.host, array.hash, array.update, array.mark_written, lambda a=array: a.generation,
            lambda a=array: a[0]
        ]
        calls += [lambda a=array: a.write(0), lambda a=array: np.from_dlpack(a), lambda a=array: a.read_worlds(0, 1)]
        assert array.shape and array.name and "closed" in repr(array)
    for call in calls:
        with pytest.raises((stet.StateError, stet.NotFoundError)):
            call()
    assert sim.closed and sim.nworld == 5 and sim.model.nq == 2
    sim.close()


def test_closed_in_a_recording(make):
    sim = make()
    kernel, x = sim.kernel(KERNEL), sim.zeros((5, 2), worlds=True)
    with pytest.raises(stet.StateError):
        with sim.record():
            kernel(5, x, x, 1.0, 0, 2)
            sim.close()
            kernel(5, x, x, 1.0, 0, 2)
    with make().record():
        pass


def test_subclasses_and_cycles():
    class Mine(stet.Sim):
        pass

    before = alive()
    sim = Mine(SCENE, 2, "cpu")
    sim.me, sim.array = sim, sim.qpos  # a cycle, which Python's collector finds
    del sim
    assert alive() == before


def test_half_made_sims():
    before = alive()
    for more in ({"worlds": 2**40}, {"cameras": "none such",
                                     "outputs": "rgb"}, {"keyframe": 9}, {"outputs": "rgb", "width": 99999}):
        with pytest.raises(stet.Error):
            stet.Sim(SCENE, device="cpu", **more)
    assert alive() == before
    empty = stet.Sim.__new__(stet.Sim)
    with pytest.warns(RuntimeWarning), pytest.raises((TypeError, RuntimeError)):
        empty.step()


def test_the_end_of_the_process():
    """Whatever is alive when Python ends, in whatever order it goes: no message, no crash."""
    code = f"""
import numpy as np, stet
sim = stet.Sim({SCENE!r}, 2, "cpu", outputs="rgb", width=8, height=8)
sim.render()
array, view, seen, picture = sim.qpos, sim.qpos.host(), np.from_dlpack(sim.qvel), sim.tensor("rgb")
own = sim.zeros(3)
shared, record = np.from_dlpack(own), sim.record()
record.__enter__()
class Late:
    def __del__(self):
        globals()
sim.late = Late()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
