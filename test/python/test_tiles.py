"""Tiles of the caller's own: stet's pictures in other forms, and frames of another renderer, of any layout."""

import gc

import numpy as np
import pytest

import stet
from stet import Output, Picture

HIGH, WIDE, WORLDS = 6, 10, 5


def planes(x):
    return np.moveaxis(x, -1, 1)


def units(x, dtype="float32"):
    return (x.astype(np.float32) / np.float32(255)).astype(dtype)


def test_forms_of_stets_own_pictures(place, make):
    from conftest import keywords

    sim = make(cameras="all", width=WIDE, height=HIGH, outputs=("rgba", "depth", "normal"), **keywords(place))
    tiles = sim.tiles(
        [
            "rgba",
            Output("rgb", "top", "float16", planar=True),
            Output("rgba", 1, channels=2),
            Output("normal", "front", planar=True),
            Output("rgba", planar=True),
            Output("depth", dtype="float16", planar=True),
            Output("seg_body", dtype="int64"),
        ]
    )
    sim.step(3)
    assert (sim.render(), tiles.render()) == (0, 0)
    front, top = sim.read("rgba", "front"), sim.read("rgba", "top")
    assert len(np.unique(front)) > 3 and (front != top).any()
    expected = [
        front,
        planes(units(top[..., :3], "float16")),
        top[..., :2],
        planes(sim.read("normal")),
        planes(front),
        planes(sim.read("depth").astype("float16")),
    ]
    for k, one in enumerate(expected):
        np.testing.assert_array_equal(tiles.read(k), one)
        assert tiles.read(k).dtype == one.dtype
    assert tiles.read("seg_body").dtype == np.int64 and tiles.tensor("seg_body").shape == (WORLDS, HIGH, WIDE, 1)
    assert tiles.render() == 0  # nothing moved
    mask = np.array([0, 1, 0, 0, 1])
    sim.step(20)
    assert tiles.render(mask) == 1
    moved = (tiles.read(0) != front).any(axis=(1, 2, 3))
    assert not moved[mask == 0].any() and moved[mask == 1].all()
    np.testing.assert_array_equal(tiles.read(0, frame=0), front)


def pixels(channels=3, dtype="uint8", seed=0):
    return np.random.default_rng(seed).integers(0, 256, (WORLDS, HIGH, WIDE, channels)).astype(dtype)


def tiled(x, across=3):
    """One frame that has the tiles of x, row by row."""
    frame = np.zeros((2 * HIGH, across * WIDE + 1, x.shape[-1]), x.dtype)
    for w, one in enumerate(x):
        y, left = w // across * HIGH, w % across * WIDE
        frame[y : y + HIGH, left : left + WIDE] = one
    return frame


LAYOUTS = {
    "nhwc": lambda x: x,
    "nchw": lambda x: np.ascontiguousarray(planes(x)),
    "whcn": lambda x: np.ascontiguousarray(np.transpose(x, (2, 1, 3, 0))),
    "nhwc, every second world": lambda x: np.repeat(x, 2, axis=0)[::2],
    "nhwc, from below": lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    "hwc": tiled,
    "chw": lambda x: np.ascontiguousarray(np.moveaxis(tiled(x), -1, 0)),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float16", "int64"])
def test_any_layout_and_type(sim_on_cpu, name, dtype):
    x = pixels(dtype=dtype)
    held, layout = LAYOUTS[name](x), name.split(",")[0]
    size = None if "n" in layout else (HIGH, WIDE)
    tiles = sim_on_cpu.foreign_tiles(
        {"rgb": Picture(held, layout, size)}, ["rgb", Output("rgb", channels=2), Output("rgb", planar=True)]
    )
    tiles.accept()
    np.testing.assert_array_equal(tiles.read(0), x)
    np.testing.assert_array_equal(tiles.read(1), x[..., :2])
    np.testing.assert_array_equal(tiles.read(2), planes(x))


@pytest.fixture
def sim_on_cpu(make):
    return make()


def test_conversions_and_a_table_of_tiles(sim_on_cpu):
    x, frame = pixels(4), np.zeros((40, 60, 4), np.uint8)
    at = np.array([[30, 7], [0, 0], [9, 50], [20, 20], [0, 11]])
    for w, (y, left) in enumerate(at):
        frame[y : y + HIGH, left : left + WIDE] = x[w]
    ids = pixels(1, "int32", 1)
    tiles = sim_on_cpu.foreign_tiles(
        {"rgba": Picture(frame, size=(HIGH, WIDE), at=at), "ids": Picture(ids[..., 0], "nhw")},
        [Output("rgba", dtype="float16", channels=3, planar=True), Output("rgba", dtype="float32"), Output("ids"),
         Output("ids", dtype="uint8"), Output("ids", dtype="int64")],
    )
    tiles.accept()
    np.testing.assert_array_equal(tiles.read(0), planes(units(x[..., :3], "float16")))
    np.testing.assert_array_equal(tiles.read(1), units(x))
    for k, dtype in ((2, "int32"), (3, "uint8"), (4, "int64")):
        np.testing.assert_array_equal(tiles.read(k), ids.astype(dtype))


def test_cameras_and_subsets(sim_on_cpu):
    x = np.stack([pixels(seed=1), pixels(seed=2)], axis=1)
    shown = x.copy()
    tiles = sim_on_cpu.foreign_tiles(
        {"rgb": Picture(shown, "nkhwc")}, [Output("rgb", 0), Output("rgb", 1, "float32")]
    )
    assert tiles.accept() == 0
    np.testing.assert_array_equal(tiles.read(0), x[:, 0])
    np.testing.assert_array_equal(tiles.read(1), units(x[:, 1]))
    kept, mask = tiles.read(1), np.array([1, 0, 0, 1, 0], bool)
    shown[mask] = 255 - shown[mask]
    assert tiles.accept(mask) == 1
    expected = np.where(mask[:, None, None, None], units(255 - x[:, 1]), kept)
    np.testing.assert_array_equal(tiles.read(1), expected)
    np.testing.assert_array_equal(tiles.read(1, frame=0), kept)
    with pytest.raises(stet.NotFoundError):
        tiles.read(1, frame=7)


def test_a_layout_that_fits_is_not_copied(sim_on_cpu):
    x = pixels(4)
    tiles = sim_on_cpu.foreign_tiles({"rgba": x})
    tiles.accept()
    view = np.from_dlpack(tiles.tensor("rgba"))
    assert view.ctypes.data == x.ctypes.data and view.shape == x.shape


def test_lifetimes(make):
    sim = make(outputs=("rgb",), width=WIDE, height=HIGH)
    x = pixels(4)
    tiles, own = sim.foreign_tiles({"rgba": x.copy()}), sim.tiles("rgba")
    tiles.accept(), own.render()
    left, kept = tiles.tensor(), own.tensor()
    del tiles, own
    gc.collect()
    assert left.numpy().any() and kept.numpy().any()  # an array keeps what it is of
    sim.close()
    with pytest.raises(stet.StateError):
        kept.numpy()
    del left, kept


def test_tensors_of_torch(sim_on_cpu):
    torch = pytest.importorskip("torch")
    x = pixels()
    frame = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous()
    tiles = sim_on_cpu.foreign_tiles({"rgb": Picture(frame, "nchw")}, [Output("rgb", dtype="float16", planar=True)])
    tiles.accept()
    out = torch.from_dlpack(tiles.tensor())
    assert out.dtype == torch.float16 and torch.equal(out, (frame.float() / 255).half())


def test_what_is_wrong_is_said(sim_on_cpu):
    x = pixels()
    wrong = [
        ({"rgb": Picture(x, "nhw")}, "layout 'nhw' does not fit"),
        ({"rgb": Picture(x, "khwc")}, "has worlds"),
        ({"rgb": x[:3]}, "it has 3 worlds, the sim 5"),
        ({"rgb": tiled(x)}, "give the size of a tile"),
        ({"rgb": Picture(tiled(x), size=(HIGH, 2 * WIDE))}, "has room for 2 tiles"),
        ({"rgb": Picture(tiled(x), size=(HIGH, WIDE), at=np.zeros((5, 3), int))}, "rows and columns"),
        ({"rgb": Picture(tiled(x), size=(HIGH, WIDE), at=np.full((5, 2), 8))}, "not within the frame"),
        ({"rgb": x, "less": x[:, 1:]}, "make other tiles"),
    ]
    for pictures, message in wrong:
        with pytest.raises(stet.InvalidArgumentError, match=message):
            sim_on_cpu.foreign_tiles(pictures)
    with pytest.raises(stet.NotFoundError, match="no picture 'depth'; there are rgb"):
        sim_on_cpu.foreign_tiles({"rgb": x}, ["depth"])
    for pictures in x, None, ["rgb"]:
        with pytest.raises(stet.ArgumentTypeError, match="pictures are a dict of tensors by name, not a "):
            sim_on_cpu.foreign_tiles(pictures)
    assert repr(sim_on_cpu.foreign_tiles({"rgb": x}, ["rgb", "rgb"])) == "<stet.Tiles of rgb, rgb>"
    with pytest.raises(stet.InvalidArgumentError, match="no such conversion"):
        sim_on_cpu.foreign_tiles({"rgb": x}, [Output("rgb", dtype="int64")])
    with pytest.raises(stet.StateError, match="stet_tiles_accept|no renderer|render"):
        sim_on_cpu.foreign_tiles({"rgb": x}).render()
    with pytest.raises(stet.NotFoundError, match="there is no frame"):
        sim_on_cpu.foreign_tiles({"rgb": x}).read()
