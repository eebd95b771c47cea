"""Arrays and NumPy: what goes in and out, and what is refused."""

import numpy as np
import pytest

import stet
from conftest import KERNEL, SCENE

TYPES = [
    "real", "float32", "int32", "int64", "uint32", "uint16", "uint8", "float16", bool, np.float32,
    np.dtype("int32")
]


@pytest.mark.parametrize("worlds", [False, True])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type(sim, dtype, worlds):
    kind = np.dtype({"real": np.float32, bool: np.uint8}.get(dtype, dtype))
    if worlds and kind.name not in ("float32", "int32"):
        with pytest.raises(stet.InvalidArgumentError, match="real or int"):
            sim.zeros((5, 3), dtype, worlds=True)
        return
    array = sim.zeros((5, 3), dtype, worlds=worlds, name="some")
    assert (array.shape, array.ndim, array.dtype, array.name, array.worlds) == ((5, 3), 2, kind, "some", worlds)
    assert (array.numpy() == 0).all() and len(array) == 5 and "some" in repr(array)
    values = np.arange(15).reshape(5, 3).astype(kind)
    array.write(values)
    assert array.numpy().dtype == kind
    np.testing.assert_array_equal(array.numpy(), values)
    np.testing.assert_array_equal(np.asarray(array), values)
    np.testing.assert_array_equal(array.read_worlds(1, 3), values[1:4])


def test_double_precision(make):
    sim = make(isa="f64")
    assert sim.qpos.dtype == np.float64 and sim.zeros(3).dtype == np.float64
    sim.qpos[0] = np.array([1 / 3, 2 / 3])
    assert sim.qpos.numpy()[0, 0] == 1 / 3
    with pytest.raises(stet.InvalidArgumentError, match="float64"):
        sim.zeros(3, "float32")


def test_fields(sim):
    names = stet.Sim.fields
    assert "qpos" in names and set(names) <= set(dir(sim))
    for name in names:
        array = getattr(sim, name)
        assert array.name == name and array.shape[0] == 5 and array.worlds and array.generation == sim.array(
            name).generation
    with pytest.raises(stet.NotFoundError):
        sim.array("nothing")
    with pytest.raises(AttributeError):
        sim.nothing


def test_shapes(sim):
    assert (
        sim.zeros(7).shape == (7,)
        and sim.zeros((2, 3, 4)).shape == (2, 3, 4)
        and sim.zeros([0, 3]).numpy().shape == (0, 3)
    )
    for shape in [(1,) * 7, -1, (2, -3), (2**62, 8)]:
        with pytest.raises(stet.Error):
            sim.zeros(shape)
    for shape in [None, "ab", 1.5, (1, 2.5)]:
        with pytest.raises(stet.ArgumentTypeError, match="whole number"):
            sim.zeros(shape)


def test_numpy_into(sim):
    out = np.empty((5, 2), np.float32)
    assert sim.qpos.numpy(out=out) is out and (out == sim.qpos.numpy()).all()
    for bad in [
        np.empty((5, 2)),
        np.empty((2, 5), np.float32),
        np.empty((5, 4), np.float32)[:, ::2],
        [1],
        np.empty((2, 5), np.float32).T,
    ]:
        with pytest.raises(stet.InvalidArgumentError, match="out is"):
            sim.qpos.numpy(out=bad)
    out.flags.writeable = False
    with pytest.raises(stet.InvalidArgumentError, match="read-only"):
        sim.qpos.numpy(out)


def test_as_numpy(sim):
    assert np.asarray(sim.qpos, dtype=np.float64).dtype == np.float64
    assert (np.sin(sim.qpos) == np.sin(sim.qpos.numpy())).all() and (sim.qpos.numpy() + sim.qvel.numpy()).shape == (
        5,
        2,
    )
    with pytest.raises(ValueError):
        np.asarray(sim.qpos, copy=False)


def test_written_values(sim):
    sim.ctrl.write(0.5)
    assert (sim.ctrl.numpy() == 0.5).all()
    sim.ctrl.write([1, 2])
    assert (sim.ctrl.numpy() == [1, 2]).all()
    sim.ctrl.write(np.arange(10).reshape(5, 2))
    assert (sim.ctrl.numpy() == np.arange(10).reshape(5, 2)).all()
    sim.ctrl.write(np.arange(20, dtype=np.float32).reshape(5, 4)[:, ::2])
    assert (sim.ctrl.numpy()[4] == [16, 18]).all()
    sim.qvel.write(sim.ctrl)
    assert (sim.qvel.numpy() == sim.ctrl.numpy()).all()
    small = sim.zeros(3, "uint8")
    small.write([1, 255, True])
    assert (small.numpy() == [1, 255, 1]).all()


@pytest.mark.parametrize(
    "values, why",
    [
        (np.zeros((5, 3)), "shape"),
        (np.zeros((4, 2)), "shape"),
        (np.zeros((5, 2), complex), "complex128"),
        (["a", "b"], "<U1"),
        (None, "object"),
        (object(), "object"),
        ([[1, 2], [3]], "cannot be written"),
    ],
)
def test_refused_values(sim, values, why):
    before = sim.ctrl.generation
    with pytest.raises((stet.InvalidArgumentError, stet.ArgumentTypeError), match=why):
        sim.ctrl.write(values)
    with pytest.raises(stet.Error):
        sim.ctrl[:] = values
    assert sim.ctrl.generation == before


def test_refused_integers(sim):
    counts = sim.zeros(2, "uint8")
    for values in ([256, 0], [-1, 0]):
        with pytest.raises(stet.InvalidArgumentError, match="fit"):
            counts.write(values)
    with pytest.raises(stet.InvalidArgumentError, match="float64"):
        counts.write([0.5, 1])
    with pytest.raises(stet.InvalidArgumentError):
        counts.write(sim.zeros(2, "int32"))


def test_items(sim):
    rng = np.random.default_rng(3)
    values = rng.standard_normal((5, 4)).astype(np.float32)
    array = sim.zeros((5, 4), worlds=True)
    array[:] = values
    keys = [
        0, -1,
        np.int64(2),
        slice(1, 3),
        slice(4, 1),
        slice(None, None, 2), (2, 1), (slice(1, 4), -1), (..., 0), ...
    ]
    for key in [*keys, [0, 3], np.array([True, False, True, False, True]), (slice(None), [1, 2]), (None, 2), ()]:
        np.testing.assert_array_equal(array[key], values[key])
        array[key] = np.float32(7)
        values[key] = 7
        np.testing.assert_array_equal(array.numpy(), values)
    array[1:3] = [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert (array[2] == [5, 6, 7, 8]).all()
    for key in [5, (0, 4), "a", (0, 0, 0)]:
        with pytest.raises((IndexError, stet.InvalidArgumentError)):
            array[key]
        with pytest.raises((IndexError, stet.InvalidArgumentError)):
            array[key] = 0
    with pytest.raises(stet.InvalidArgumentError):
        array[1:3] = np.zeros((3, 4))


def test_only_what_is_asked_for_crosses(make):
    sim = make()
    sim.clear_counters()
    sim.qpos[3]
    assert sim.counters()["total"]["bytes_copied"] == 8
    sim.ctrl[3] = 0
    assert sim.counters()["total"]["bytes_copied"] == 24  # read, then written


def test_some_worlds(sim):
    sim.qpos.write_worlds(1, [[1, 2], [3, 4]])
    assert (sim.qpos.numpy()[1:3] == [[1, 2], [3, 4]]).all()
    for first, n in [(-1, 2), (4, 2), (6, 0)]:
        with pytest.raises(stet.InvalidArgumentError, match="rows"):
            sim.qpos.read_worlds(first, n)
    with pytest.raises(stet.InvalidArgumentError):
        sim.qpos.read_worlds(0, -1)
    with pytest.raises(stet.InvalidArgumentError, match="rows"):
        sim.qpos.write_worlds(4, [[1, 2], [3, 4]])
    with pytest.raises(stet.ArgumentTypeError):
        sim.qpos.write_worlds(4, 1.5)


def test_host_view(sim):
    sim.clear_counters()
    view, again = sim.qpos.host(), sim.qpos.host()
    if sim.device.type == "cpu":
        assert sim.counters()["readback"]["hits"] == 1 and sim.counters()["readback"]["misses"] == 1
    assert np.shares_memory(view, again) and not view.flags.writeable and view.dtype == np.float32
    with pytest.raises(ValueError):
        view[0] = 1
    sim.step(3)
    np.testing.assert_array_equal(sim.qpos.host(), sim.qpos.numpy())
    sim.close()
    assert np.isfinite(view).all()  # its memory is there as long as it is


def test_generations(sim):
    array = sim.zeros(3)
    before = array.generation
    array.numpy()
    array.host()
    assert array.generation == before
    array.write(1)
    assert array.generation > before
    before = array.generation
    array.mark_written()
    assert array.generation > before
    assert sim.zeros(3).hash() != array.hash() == sim.zeros(3).hash() * 0 + array.hash()
    array.update()


def test_two_sims_apart(make):
    one, two = make(), make(SCENE)
    with pytest.raises(stet.InvalidArgumentError, match="another sim"):
        one.ctrl.write(two.ctrl)
    one.ctrl.write(two.ctrl.numpy())
    assert one.qpos.hash() == two.qpos.hash()


def test_results_refuse_writes(make):
    """What MuJoCo's physics makes of the state; with physics of the caller's own they are his."""
    sim, own = make(), make(physics="external")
    kernel = sim.kernel(KERNEL)
    for name in ("xpos", "xquat", "step_sensordata"):
        array, theirs = getattr(sim, name), getattr(own, name)
        before = array.numpy()
        for write in [
            lambda: array.write(1),
            lambda: array.write(array),
            lambda: array.write_worlds(0, before[:1]),
            lambda: array.__setitem__(0, 1),
            lambda: array.__setitem__(slice(None), 1),
            lambda: array.export(writable=True),
            lambda: array.export(writable=True, announced=True),
            lambda: kernel(5, array, array, 1.0, 0, 1),
            lambda: sim.add_kernel("after_physics", kernel, [sim.qpos, array, 1.0, 0, 1]),
        ]:
            with pytest.raises(stet.InvalidArgumentError, match=f"array {name}: the physics makes it"):
                write()
        assert not np.from_dlpack(array).flags.writeable and not array.host().flags.writeable
        assert (array.numpy() == before).all()
        kernel(5, array, sim.zeros((5, 2), worlds=True), 1.0, 0, 1)  # reading it is fine
        theirs[:] = 0.5
        assert (theirs.numpy() == 0.5).all()
    for name in ("qpos", "qvel", "ctrl", "qfrc_applied", "xfrc_applied", "time"):
        getattr(sim, name)[:] = 0.25
        assert (getattr(sim, name).numpy() == 0.25).all()
