"""Arrays as tensors of others and the other way round, on the CPU: the protocol, the same memory, and an end for each tensor."""

import ctypes
import gc

import numpy as np
import pytest

import stet
from stet import _core
from conftest import ON_CPU, keywords

NEW, OLD = b"dltensor_versioned", b"dltensor"
valid = ctypes.pythonapi.PyCapsule_IsValid
valid.argtypes = [ctypes.py_object, ctypes.c_char_p]


@pytest.fixture(params=ON_CPU)
def sim(request, make):
    return make(**keywords(request.param))


class Old:
    """A producer or consumer of before DLPack 1: no versions."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_capsules(sim):
    array = sim.zeros((2, 3))
    assert array.__dlpack_device__() == array.export().__dlpack_device__() == (1, 0)
    assert valid(array.__dlpack__(), OLD) and valid(array.__dlpack__(max_version=(0, 8)), OLD)
    assert valid(array.__dlpack__(max_version=(1, 0)), NEW) and valid(array.__dlpack__(None, (1, 3), (1, 0), None), NEW)
    for bad in [{"stream": 1}, {"dl_device": (2, 0)}]:
        with pytest.raises(BufferError):
            array.__dlpack__(**bad)
    for bad in [{"max_version": 1}, {"stream": "x"}, {"what": 1}]:
        with pytest.raises((TypeError, RuntimeError, BufferError)):
            array.__dlpack__(**bad)


def test_plain_arrays_share_memory(sim):
    array = sim.zeros((2, 3))
    seen = np.from_dlpack(array)
    assert seen.flags.writeable and seen.shape == (2, 3)
    array[0] = 5
    assert (seen[0] == 5).all()
    before = array.generation
    seen[1] = 7  # not announced: it counts as written while the tensor lives
    assert (array.numpy()[1] == 7).all() and array.generation > before
    del seen
    gc.collect()
    array.numpy()
    before = array.generation
    array.numpy()
    assert array.generation == before
    assert np.shares_memory(np.from_dlpack(array), np.from_dlpack(Old(array)))


def test_worlds_are_world_item(sim):
    seen = np.from_dlpack(sim.qpos)
    np.testing.assert_array_equal(seen, sim.qpos.numpy())
    blocks = np.from_dlpack(sim.qpos.export())
    lanes = sim.device.lanes
    if lanes == 1:
        assert np.shares_memory(seen, blocks) and seen.flags.writeable
        return
    assert not seen.flags.writeable and not np.shares_memory(seen, blocks)
    assert blocks.shape == (-(-5 // lanes), 2, lanes) and not blocks.flags.writeable
    np.testing.assert_array_equal(blocks.transpose(0, 2, 1).reshape(-1, 2)[:5], seen)
    assert np.shares_memory(np.from_dlpack(sim.qpos.export(), copy=False), blocks)
    with pytest.raises(BufferError, match="blocks"):
        sim.qpos.__dlpack__(copy=False)


def test_copies_are_counted(make):
    sim = make(isa="portable")
    sim.clear_counters()
    np.from_dlpack(sim.qpos.export())
    assert sim.counters()["total"]["bytes_copied"] == 0
    np.from_dlpack(sim.qpos)
    assert sim.counters()["total"]["bytes_copied"] == 5 * 2 * 4


def test_copy(sim):
    array = sim.zeros(4)
    copy = np.from_dlpack(array, copy=True)
    array[:] = 1
    assert (copy == 0).all()


def test_poses_are_for_reading(sim):
    blocks = np.from_dlpack(sim.xpos.export())
    assert not blocks.flags.writeable
    with pytest.raises(stet.InvalidArgumentError, match="announced"):
        np.from_dlpack(sim.xpos.export(writable=True))
    assert np.from_dlpack(sim.xpos.export(writable=True, announced=True)).flags.writeable
    for _ in range(2):
        assert not np.from_dlpack(sim.xpos).flags.writeable


def test_announced_writes(sim):
    ctrl = np.from_dlpack(sim.ctrl.export(writable=True, announced=True))
    before = sim.ctrl.generation
    sim.ctrl.numpy()
    assert sim.ctrl.generation == before
    ctrl[..., 0] = 1 if ctrl.ndim == 3 else 0
    sim.ctrl.mark_written()
    assert sim.ctrl.generation > before and sim.ctrl.numpy().any() == (ctrl.ndim == 3)
    with pytest.raises(stet.InvalidArgumentError, match="writable"):
        sim.ctrl.export(announced=True)


def test_a_tensor_outlives_all(make):
    sim = make()
    array = sim.zeros((100, 10))
    array[:] = 3
    seen, field = np.from_dlpack(array), np.from_dlpack(sim.qpos.export())
    blocks = _core._memory()["blocks"]
    sim.close()
    del array, sim
    gc.collect()
    assert (seen == 3).all() and np.isfinite(field).all()
    assert 0 < _core._memory()["blocks"] < blocks


def test_a_capsule_that_nobody_takes(make):
    sim = make()
    array = sim.zeros(4)
    array.numpy()
    blocks = _core._memory()["blocks"]
    for version in [None, (1, 0)]:
        for _ in range(10):
            array.__dlpack__(max_version=version)
            sim.qpos.__dlpack__(max_version=version)
    gc.collect()
    assert _core._memory()["blocks"] <= blocks + 1  # what an array that is shared needs stays with it


def test_in(sim):
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = sim.from_dlpack(values, name="values")
    assert (array.shape, array.name, array.dtype) == ((3, 4), "values", np.float32)
    values[2, 3] = 99
    assert array.numpy()[2, 3] == 99
    array[0] = -1
    assert (values[0] == -1).all()
    assert np.shares_memory(np.from_dlpack(array), values)
    assert (sim.from_dlpack(Old(values)).numpy() == values).all()
    values.flags.writeable = False
    with pytest.raises(stet.InvalidArgumentError, match="for reading"):
        sim.from_dlpack(values)[:] = 1


def test_in_as_worlds(sim):
    lanes = sim.device.lanes
    memory = np.zeros(lanes * 8 + 64, np.float32)
    start = (-memory.ctypes.data // 4) % 64  # aligned to a vector of lanes
    blocks = memory[start : start + 2 * lanes].reshape((1, 2, lanes) if lanes > 1 else (1, 2))
    array = sim.from_dlpack(blocks, worlds=True, nworld=0 if lanes == 1 else lanes)
    assert array.shape == (lanes, 2) and array.worlds
    array[0] = [1, 2]
    assert blocks.reshape(2, lanes)[:, 0].tolist() == [1, 2]


def test_refused(sim):
    for values, kind in [
        (np.zeros(3, np.float64), stet.UnsupportedError),
        (np.zeros((4, 4), np.float32)[:, ::2], stet.UnsupportedError),
        (np.zeros(3, np.complex64), stet.UnsupportedError),
        ([1.0, 2.0], stet.ArgumentTypeError),
        (None, stet.ArgumentTypeError),
    ]:
        with pytest.raises(kind):
            sim.from_dlpack(values)

    class Liar:
        def __dlpack__(self, **_):
            return "no capsule"

    class Failing:
        def __dlpack__(self, **_):
            raise ValueError("not today")

    with pytest.raises(stet.ArgumentTypeError, match="capsule"):
        sim.from_dlpack(Liar())
    with pytest.raises(ValueError, match="not today"):
        sim.from_dlpack(Failing())
    used = np.zeros(3, np.float32).__dlpack__(max_version=(1, 0))

    class Twice:
        def __dlpack__(self, **_):
            return used

    sim.from_dlpack(Twice())
    with pytest.raises(stet.ArgumentTypeError, match="capsule"):
        sim.from_dlpack(Twice())


def test_an_import_keeps_its_tensor(sim):
    class Watched(np.ndarray):
        pass

    values = np.zeros(1000, np.float32).view(Watched)
    alive = ctypes.py_object(values)
    import weakref

    gone = weakref.ref(values)
    array = sim.from_dlpack(values)
    del values, alive
    gc.collect()
    assert gone() is not None
    seen = np.from_dlpack(array)
    del array
    gc.collect()
    assert gone() is not None and (seen == 0).all()
    del seen
    gc.collect()
    assert gone() is None
