"""Tables of ids: rows, labels, colours and classes of pictures, and of another renderer's frames."""

import numpy as np
import pytest

import stet


def looked_up(pixels, table, what, other):
    values = {row.id: getattr(row, what) for row in table.rows}
    return np.array([values.get(int(id), other) for id in pixels.ravel()])


def test_bodies_and_geoms_have_labels(place, make):
    from conftest import keywords

    sim = make(cameras="front", width=40, height=30, outputs=("seg_geom", "seg_body", "seg_type"), **keywords(place))
    sim.render()
    for output, names in (("seg_geom", ["sky", "world geom 0", "arm geom 1", "tip geom 2"]),
                          ("seg_body", ["sky", "world", "arm", "tip"])):
        table = sim.ids(output)
        assert [row.name for row in table.rows if row.id >= -1] == names
        table.label("robot", body="arm")
        table.label("floor", id=0)
        assert [row.label for row in table.rows if row.id >= -1] == ["", "floor", "robot", "robot"]
        pixels, tensor = sim.read(output), sim.tensor(output)
        assert {-1, 0, 1, 2} <= set(np.unique(pixels))
        assert (table.colour(tensor).numpy().reshape(-1, 3) == looked_up(pixels, table, "colour", (0, 0, 0))).all()
        classes = table.classify(tensor)
        assert classes.shape == tensor.shape and set(np.unique(classes.numpy())) == {-1, 1, 2}
        assert (classes.numpy().ravel() == looked_up(pixels, table, "class_id", -1)).all()
        out = sim.zeros((*pixels.shape[:-1], 4), "uint8")
        assert table.colour(tensor, out, by_class=True) is out
        painted = out.numpy().reshape(-1, 4)
        assert (painted[:, :3] == looked_up(pixels, table, "class_colour", (0, 0, 0))).all()
        assert (painted[:, 3] == np.where(pixels.ravel() == -1, 0, 255)).all()
        table.label("", body="tip")
        assert 0 in table.classify(tensor, classes).numpy()
    assert [row.name for row in sim.ids("seg_type").rows][3:6] == ["sky", "plane", "hfield"]


def test_ids_of_another_renderer(make):
    sim = make(outputs=(), device="cpu")
    frame = np.arange(sim.nworld * 4 * 6, dtype=np.int32).reshape(sim.nworld, 4, 6, 1) % 9
    tiles = sim.foreign_tiles({"ids": frame})
    tiles.accept()
    table = sim.ids(range(2, 7))
    table.label("cup", id=2)
    table.label("cup", id=5)
    assert [row.class_id for row in table.rows] == [1, 0, 0, 1, 0]
    classes = table.classify(tiles.tensor("ids")).numpy()
    assert (classes.ravel() == looked_up(frame, table, "class_id", -1)).all()
    colours = table.colour(tiles.tensor("ids")).numpy().reshape(-1, 3)
    assert (colours == looked_up(frame, table, "colour", (0, 0, 0))).all()


def test_depths_have_colours(place, make):
    from conftest import keywords

    sim = make(cameras="front", width=40, height=30, outputs=("depth", "distance"), **keywords(place))
    sim.render()
    for output in ("depth", "distance"):
        depth, tensor = sim.read(output)[..., 0], sim.tensor(output)
        hit = np.isfinite(depth)
        near, far = float(np.quantile(depth[hit], 0.1)), float(np.quantile(depth[hit], 0.9))
        out = sim.zeros((*depth.shape, 4), "uint8")
        assert sim.colour_depth(tensor, near, far, out) is out
        colours, three = out.numpy(), sim.colour_depth(tensor, near, far).numpy()
        assert (colours[..., :3] == three).all() and (colours[..., 3] == np.where(hit, 255, 0)).all()
        assert (three[~hit] == 0).all() and hit.any() and not hit.all()
        assert (three[hit & (depth <= near)] == (252, 242, 189)).all()
        assert (three[hit & (depth >= far)] == (23, 20, 66)).all()
        light = three[hit].sum(axis=1, dtype=int)[np.argsort(depth[hit])]
        assert (np.diff(light) <= 2).all() and len(np.unique(light)) > 20, "further is darker, but for roundings"
        with pytest.raises(ValueError, match="0 <= near < far"):
            sim.colour_depth(tensor, far, near)
    with pytest.raises(ValueError, match="colour_depth.*lasting"):
        sim.colour_depth(sim.tensor("depth"), 0, 1, sim.tensor("depth"))


def test_what_makes_no_sense(make):
    sim = make(outputs=("seg_geom", "depth"))
    sim.render()
    table = sim.ids("seg_geom")
    assert repr(table) == f"<stet.Ids, {len(table.rows)} ids>"
    with pytest.raises(ValueError, match="depth has no ids"):
        sim.ids("depth")
    with pytest.raises(ValueError, match="has gaps"):
        sim.ids(range(0, 9, 2))
    with pytest.raises(ValueError, match="one of id, body and geom"):
        table.label("x")
    with pytest.raises(ValueError, match="ids are -1 to 2"):
        table.label("x", id=3)
    with pytest.raises(stet.NotFoundError, match="leg"):
        table.label("x", body="leg")
    with pytest.raises(ValueError, match="plain one of int"):
        table.colour(sim.tensor("depth"))
    with pytest.raises(ValueError, match="lasting"):
        table.classify(sim.tensor("seg_geom"), sim.tensor("seg_geom"))
    sim.close()
    with pytest.raises(stet.StateError):
        table.rows
