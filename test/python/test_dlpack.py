"""Arrays as tensors of others and the other way round, on the CPU: the protocol, the same memory, and an end for each
tensor.
"""

import ctypes
import gc
import os
import random

import numpy as np
import pytest

import stet
from stet import _core
from conftest import KERNEL, ON_CPU, keywords

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
        with pytest.raises((TypeError, BufferError)):
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
    assert seen.flags.writeable and not np.shares_memory(seen, blocks)
    assert blocks.shape == (-(-5 // lanes), 2, lanes) and not blocks.flags.writeable
    np.testing.assert_array_equal(blocks.transpose(0, 2, 1).reshape(-1, 2)[:5], seen)
    assert np.shares_memory(np.from_dlpack(sim.qpos.export(), copy=False), blocks)
    assert np.shares_memory(np.from_dlpack(sim.qpos, copy=False), seen)
    copy = np.from_dlpack(sim.qpos, copy=True)
    sim.qpos[:] = 3
    assert (seen == 3).all() and not (copy == 3).any()


def test_what_is_copied_is_counted(make):
    sim = make(isa="portable")
    sim.clear_counters()
    np.from_dlpack(sim.qpos.export())
    assert sim.counters()["total"]["bytes_copied"] == 0
    seen = np.from_dlpack(sim.qpos)
    assert sim.counters()["total"]["bytes_copied"] == 5 * 2 * 4
    assert sim.counters()["plain_view"]["held_bytes"] == 2 * 5 * 2 * 4
    sim.ctrl[:] = 0
    for _ in range(3):
        sim.xpos.shape, sim.ctrl.generation  # nothing moved qpos: it is not copied
    assert sim.counters()["plain_view"]["reasons"] == {"moved": 1}
    sim.qpos[:] = 1
    assert sim.counters()["plain_view"]["reasons"] == {"moved": 2}
    seen[2, 1] = 4
    assert sim.counters()["plain_view"]["reasons"] == {"moved": 2, "written": 1}
    del seen
    gc.collect()
    assert sim.counters()["plain_view"]["held_bytes"] == 0


# Every call of stet's that can move an array, and what it moves. A tensor that was made before shows the array after
# each.
MOVES = {
    "step": lambda sim: sim.step(3),
    "write": lambda sim: sim.qpos.write(np.arange(10, dtype=np.float32).reshape(5, 2) / 20),
    "rows": lambda sim: sim.qpos.write_worlds(3, [[0.25, 0.5]]),
    "item": lambda sim: sim.qpos.__setitem__(1, 0.125),
    "reset": lambda sim: sim.reset(worlds=[1, 4], keyframe="bent"),
    "noise": lambda sim: sim.reset(qpos_noise=0.1, qvel_noise=0.1),
    "control": lambda sim: sim.control_noise(0.5, 3),
    "render": lambda sim: sim.render(),
    "round": lambda sim: round_of(sim),
    "launch": lambda sim: launch(sim),
    "record": lambda sim: launch(sim, recorded=True),
    "restore": lambda sim: sim.restore(there_and_back(sim)),
    "copy": lambda sim: sim.qpos.write(sim.qvel),
}
FIELDS = ["qpos", "qvel", "ctrl", "xpos", "xquat", "time", "sensordata"]


def round_of(sim):
    with sim.round(qpos=(0.3, -0.3), seed=5) as r:
        sim.step(4)
        r.end("qpos")


def launch(sim, recorded=False):
    kernel = sim.kernel(KERNEL)
    arguments = [sim.qpos, sim.qvel, 2.0, 1, 2]
    if not recorded:
        kernel(5, *arguments)
        return
    with sim.record("scale"):
        kernel(5, *arguments)
        kernel(5, sim.qvel, sim.qpos, 0.5, 0, 2)


def there_and_back(sim):
    there = sim.snapshot()
    sim.step(2)
    return there


@pytest.mark.parametrize("how", [{}, {"audit": True}, {"disable": ["plain_view"]}])
def test_tensors_stay_fresh(make, place, how):
    sim = make(**keywords(place), outputs=("rgb",), width=16, height=16, **how)
    if sim.device.type == "cuda":
        pytest.skip("NumPy cannot see it")
    twin = make(**keywords(place), outputs=("rgb",), width=16, height=16)
    seen = {name: np.from_dlpack(getattr(sim, name)) for name in FIELDS}
    audit = how.get("audit", False)
    for name, move in [move for move in MOVES.items() if move[0] != "render" or not audit] * 2:
        move(sim)
        move(twin)
        for field, values in seen.items():
            if sim.device.lanes == 1:
                getattr(sim, field).update()
            np.testing.assert_array_equal(values, getattr(sim, field).numpy(), f"{field} after {name}")
            np.testing.assert_array_equal(
                values, getattr(twin, field).numpy(), f"{field} after {name}, beside one without tensors"
            )
    assert sim.hash() == twin.hash()


@pytest.mark.parametrize("name", MOVES)
def test_writes_of_others_arrive(make, place, name):
    sim, twin = (make(**keywords(place), outputs=("rgb",), width=16, height=16) for _ in range(2))
    if sim.device.type == "cuda":
        pytest.skip("NumPy cannot see it")
    qpos, ctrl, qvel = (np.from_dlpack(getattr(sim, field)) for field in ("qpos", "ctrl", "qvel"))
    for k in range(3):
        for field, values in ("qpos", qpos), ("ctrl", ctrl), ("qvel", qvel):
            values[k + 1] += 0.5 - k
            values[0, 1] = -0.25 * k
            there = getattr(twin, field).numpy()
            there[k + 1] += 0.5 - k
            there[0, 1] = -0.25 * k
            getattr(twin, field)[:] = there
        MOVES[name](sim)
        MOVES[name](twin)
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(sim, field).numpy(), getattr(twin, field).numpy(), f"{field}, {k}")
        assert (qpos == sim.qpos.numpy()).all() and (ctrl == sim.ctrl.numpy()).all()


def test_the_last_writes_arrive(sim):
    seen = np.from_dlpack(sim.qpos)
    before = sim.qpos.generation
    seen[4] = 7
    del seen
    gc.collect()
    assert (sim.qpos.numpy()[4] == 7).all() and sim.qpos.generation > before


def test_a_tensor_of_a_closed_sim_keeps_its_numbers(sim):
    seen, poses = np.from_dlpack(sim.qpos), np.from_dlpack(sim.xpos)
    sim.step(5)
    there, were = sim.qpos.numpy(), poses.copy()
    sim.close()
    gc.collect()
    np.testing.assert_array_equal(seen, there)
    np.testing.assert_array_equal(poses, were)
    seen[0] = 1


def test_tensors_for_reading_that_are_written_anyway(make):
    """As PyTorch does, which takes no notice of the flag."""
    sim = make(isa="portable")
    seen = np.from_dlpack(Old(sim.xpos))
    was = seen.copy()
    assert not seen.flags.writeable
    address = seen.__array_interface__["data"][0]
    ctypes.c_float.from_address(address + 4).value = 99
    with pytest.raises(stet.StateError, match="xpos.*for reading"):
        sim.step()
    np.testing.assert_array_equal(seen, was)
    sim.step()


def test_random_writes_and_calls(make):
    """Two sims get the same numbers, one through tensors of NumPy's."""
    seed = int(os.environ.get("STET_TEST_SEED", "1"))
    print("STET_TEST_SEED", seed)
    dice = random.Random(seed)
    for isa in ("portable", "w1", None):
        more = {"isa": isa} if isa else {}
        sim, twin = make(audit=dice.random() < 0.5, **more), make(**more)
        tensors = {}
        for _ in range(150):
            field = dice.choice(["qpos", "qvel", "ctrl"])
            kind = dice.random()
            if kind < 0.3:
                tensors[field] = np.from_dlpack(getattr(sim, field))
            elif kind < 0.4:
                tensors.pop(field, None)
                gc.collect()
            elif kind < 0.7 and field in tensors:
                world, item, x = (
                    dice.randrange(5),
                    dice.randrange(2),
                    dice.choice([0.0, -0.0, 0.5, dice.uniform(-1, 1)]),
                )
                tensors[field][world, item] = x
                array = getattr(twin, field)
                there = array.numpy()
                there[world, item] = x
                array[:] = there
            else:
                move = MOVES[dice.choice([name for name in MOVES if name != "render"])]
                move(sim)
                move(twin)
            for name, tensor in tensors.items():
                np.testing.assert_array_equal(tensor.view(np.int32), getattr(twin, name).numpy().view(np.int32))
        assert sim.hash() == twin.hash()


def test_copy(sim):
    array = sim.zeros(4)
    copy = np.from_dlpack(array, copy=True)
    array[:] = 1
    assert (copy == 0).all()


def test_poses_are_for_reading(sim):
    blocks = np.from_dlpack(sim.xpos.export())
    assert not blocks.flags.writeable
    with pytest.raises(stet.InvalidArgumentError, match="xpos.*would be lost"):
        sim.xpos.export(writable=True)
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
    sim.qpos.numpy()  # the plain view that nobody has any more goes
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
