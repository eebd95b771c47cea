"""Terrain: its tiles, its field in a model, where robots begin, and curricula."""

import numpy as np
import pytest

import stet
from stet import terrain
from stet.terrain import Curriculum, Terrain

ROBOT = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
    <body name="ball" pos="0 0 .1"><freejoint/><geom size=".1"/></body>
  </worldbody>
</mujoco>
"""
TILES = {"flat": terrain.flat(), "slope": terrain.slope(), "pit": terrain.slope(down=True), "stairs": terrain.stairs(),
         "stairs down": terrain.stairs(down=True), "rough": terrain.rough(), "obstacles": terrain.obstacles(),
         "stones": terrain.stepping_stones(), "gaps": terrain.gaps(), "waves": terrain.waves()}


@pytest.mark.parametrize("name", TILES)
def test_tiles_are_harder_on_later_levels(name):
    ground = Terrain(levels=3, columns=1, kinds={name: TILES[name]}, border=0, seed=4)
    assert ground.kinds == [name] and ground.heights.shape == (81, 241)
    spread = [np.abs(np.diff(ground.heights[:, 80 * k:80 * k + 80], axis=0)).sum() for k in range(3)]
    assert spread == [0, 0, 0] if name == "flat" else spread[2] > spread[0]
    same = Terrain(levels=3, columns=1, kinds={name: TILES[name]}, border=0, seed=4)
    assert (same.heights == ground.heights).all()


def test_columns_follow_shares():
    ground = Terrain(levels=1, columns=10, kinds={"a": (terrain.flat(), 3), "b": (terrain.waves(), 1)}, border=0)
    assert ground.kinds.count("a") in (7, 8) and ground.kinds == sorted(ground.kinds)


def test_robots_rest_on_the_ground_where_they_begin(make):
    ground = Terrain(levels=3, columns=8, size=6, seed=2)
    course = Curriculum(ground, 24, seed=1)
    sim = make(ground.add_to(ROBOT, without="floor"), worlds=24)
    assert "floor" not in sim.model.geoms and "terrain" in sim.model.geoms
    sim.qpos[:, :3] += course.origins
    at = sim.qpos.numpy()
    ahead = sim.height_scan("ball", stet.GridPattern(size=(1, 1), resolution=.25), offset=0).read()
    below = ground.height(at[:, 0], at[:, 1])
    np.testing.assert_allclose(ahead.reshape(24, 5, 5)[:, 2, 2], at[:, 2] - below, atol=2e-3)
    for _ in range(50):
        sim.step(10)
        sim.qvel[:, [0, 1, 3, 4, 5]] = 0  # it falls straight down
    now = sim.qpos.numpy()
    assert (now[:, 2] > ground.height(now[:, 0], now[:, 1])).all() and not sim.faults().any()


def test_files_of_a_scene_are_found(tmp_path, make):
    (tmp_path / "part.xml").write_text("<mujoco><worldbody><body name='part'><geom size='.1'/></body></worldbody>"
                                       "</mujoco>")
    (tmp_path / "scene.xml").write_text("<mujoco><include file='part.xml'/></mujoco>")
    ground = Terrain(levels=1, columns=1, size=2, border=0)
    assert "part" in make(ground.add_to(tmp_path / "scene.xml")).model.bodies


def test_curricula_promote_and_demote():
    ground = Terrain(levels=4, columns=3, size=2, border=0)
    course = Curriculum(ground, 6, highest=0)
    assert (course.level == 0).all() and course.column.tolist() == [0, 0, 1, 1, 2, 2]
    assert (course.origins == ground.origins[0, course.column]).all()
    up = np.array([1, 1, 1, 0, 0, 0], bool)
    course.update(up, down=~up)
    assert course.level.tolist() == [1, 1, 1, 0, 0, 0]
    course.update(up, down=True, mask=[1, 0, 1, 1, 1, 1])
    assert course.level.tolist() == [2, 1, 2, 0, 0, 0]
    for _ in range(20):
        course.update(True, False)
        assert ((course.level >= 0) & (course.level < 4)).all()
    assert len(set(course.level)) > 1  # those past the last level begin anywhere


def test_wrong_terrain_says_so():
    with pytest.raises(stet.InvalidArgumentError, match="divides"):
        Terrain(size=1, resolution=0.3)
    with pytest.raises(stet.InvalidArgumentError, match="tile 'odd'"):
        Terrain(kinds={"odd": lambda x, y, difficulty, draws: x[:-1]})
    with pytest.raises(stet.NotFoundError, match="'flor'"):
        Terrain(levels=1, columns=1, size=2).add_to(ROBOT, without="flor")
    with pytest.raises(stet.InvalidArgumentError, match="mask"):
        Curriculum(Terrain(levels=1, columns=1, size=2), 4).update(True, False, mask=[True])
