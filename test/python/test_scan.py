"""Scans beside mj_ray: grids and lidars on terrain and among shapes, in worlds that differ."""

import numpy as np
import pytest

import stet
from stet import GridPattern, LidarPattern, RayPattern

mujoco = pytest.importorskip("mujoco")

SEED = np.random.SeedSequence().entropy % 2**32
FIELD = np.random.default_rng(5).uniform(0, 1, (23, 31))
SCENE = f"""
<mujoco>
  <asset><hfield name="h" nrow="23" ncol="31" size="3 2 .7 .1" elevation="{' '.join(map(str, FIELD.ravel()))}"/></asset>
  <worldbody>
    <geom name="ground" type="hfield" hfield="h" pos=".1 .2 -.3" euler="2 -3 20"/>
    <geom name="far" type="plane" size="0 0 1" pos="0 0 -2"/>
    <geom name="box" type="box" size=".3 .2 .4" pos="1 .5 .5" euler="10 20 30"/>
    <geom name="ball" size=".3" pos="-1 -.5 .8"/>
    <geom name="can" type="cylinder" size=".2 .3" pos="-1 .8 .6" euler="30 0 0"/>
    <geom name="pill" type="capsule" size=".2 .3" pos="1 -.8 .6" euler="60 10 0"/>
    <geom name="egg" type="ellipsoid" size=".2 .3 .4" pos="0 1 .9" euler="60 10 0"/>
    <body name="robot" pos="0 0 1.5"><freejoint/><geom name="shell" type="box" size=".2 .1 .05"/></body>
    <body name="other" pos=".5 0 1.6"><freejoint/><geom name="drone" size=".1"/></body>
  </worldbody>
</mujoco>
"""
SHAPES = ["ground", "far", "box", "ball", "can", "pill", "egg"]


def place(sim, draws):
    """Each world's robot elsewhere, turned."""
    sim.qpos[:, :2] = draws.uniform(-1.2, 1.2, (sim.nworld, 2))
    sim.qpos[:, 2] = draws.uniform(1.4, 2.5, sim.nworld)
    yaw, tilt = draws.uniform(-np.pi, np.pi, sim.nworld), draws.uniform(-.2, .2, (2, sim.nworld))
    sim.qpos[:, 3:7] = np.stack([np.cos(yaw / 2), *tilt, np.sin(yaw / 2)], axis=1)


def expected(sim, model, pattern, far, names=SHAPES):
    """By mj_ray in double, of geoms in group 0; others are in group 1."""
    starts, ways = pattern.rays()
    out = np.empty((sim.nworld, len(starts)))
    model.geom_group[:] = 1
    for name in names:
        model.geom(name).group = 0
    group, geom = np.array([1, 0, 0, 0, 0, 0], np.uint8), np.zeros(1, np.int32)
    for world, qpos in enumerate(sim.qpos.numpy()):
        data = mujoco.MjData(model)
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        R = data.xmat[model.body("robot").id].reshape(3, 3)
        if pattern.align != "base":
            yaw = np.arctan2(R[1, 0], R[0, 0]) if pattern.align == "yaw" else 0
            R = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
        for ray in range(len(starts)):
            at = data.xpos[model.body("robot").id] + R @ starts[ray]
            t = mujoco.mj_ray(model, data, at, R @ ways[ray], group, 1, -1, geom)
            out[world, ray] = far if t < 0 else min(t, far)
    return out


@pytest.mark.parametrize("pattern", [GridPattern(height=1.0), GridPattern(height=2.0, align="world", ordering="yx"),
                                     LidarPattern(channels=6, vertical_fov=(-70, 20), resolution=15),
                                     LidarPattern(channels=4, vertical_fov=(-80, -10), align="yaw", resolution=20,
                                                  position=(.1, 0, .2)),
                                     RayPattern([0, 0, 1], [[0, 0, -1], [1, 0, -1], [1, 1, 0]], "base")])
def test_scans_are_mj_rays(make, pattern):
    draws = np.random.default_rng(SEED)
    print("seed", SEED)
    sim = make(SCENE, worlds=5)
    place(sim, draws)
    scan = sim.scanner("robot", pattern, geoms=SHAPES, far=12)
    seen, exact = scan.read(), expected(sim, mujoco.MjModel.from_xml_string(SCENE), pattern, 12)
    assert seen.shape == exact.shape == (5, len(pattern.rays()[0]))
    # Rays that graze an edge, or come to the field's walls or base, which no scan has, may differ.
    same = np.isclose(seen, exact, rtol=1e-4, atol=1e-4)
    assert same.mean() > 0.97 and (exact < 12).mean() > 0.3


def test_what_moves_is_hit_where_it_is(make):
    sim = make(SCENE, worlds=3)
    sim.qpos[:, 7:10] = [[1, 0, 1.5], [0, 2, 1.5], [-1, 0, 1.5]]
    scan = sim.scanner("robot", RayPattern([0, 0, 0], [[1, 0, 0], [0, 1, 0], [-1, 0, 0]]), geoms="drone", far=5)
    np.testing.assert_allclose(scan.read(), np.where(np.eye(3), [[.9], [1.9], [.9]], 5), atol=1e-5)


def test_height_scan_is_the_height_above_ground(make):
    sim = make("<mujoco><worldbody><geom type='plane' size='9 9 1' pos='0 0 .3'/><body name='b' pos='0 0 1'>"
               "<freejoint/><geom size='.1'/></body></worldbody></mujoco>", worlds=4)
    sim.qpos[:, 2] = [1, 2, 3, 4]
    scan = sim.height_scan("b")
    seen = scan.read()
    assert seen.shape == (4, 187)
    np.testing.assert_allclose(seen, np.broadcast_to([[.2], [1.2], [2.2], [3.2]], (4, 187)), atol=1e-5)
    sim.qpos[:, 2] = 5
    np.testing.assert_allclose(scan.read(), 4.2, atol=1e-5)


def test_a_world_has_its_bits_among_others(make):
    """In lanes beside other worlds, and alone."""
    many = make(SCENE, worlds=19)
    place(many, np.random.default_rng(3))
    pattern = LidarPattern(channels=5, vertical_fov=(-60, 10), resolution=12)
    all_worlds = many.scanner("robot", pattern).read()
    for world in (0, 7, 18):
        one = make(SCENE, worlds=1)
        one.qpos[0] = many.qpos.numpy()[world]
        assert (one.scanner("robot", pattern).read()[0] == all_worlds[world]).all()


def test_what_rays_side_by_side_pass_is_left_out_without_a_trace(make):
    """One more ray, of another direction, and nothing is left out: targets at the rim of a grid, in worlds apart."""
    sim = make(SCENE, worlds=200)
    place(sim, np.random.default_rng(6))
    sim.qpos[:, :2] = np.random.default_rng(7).uniform(-2.5, 2.5, (sim.nworld, 2))
    grid = GridPattern(size=(.8, .6), height=2.0)
    starts, ways = grid.rays()
    other = RayPattern([*starts, [0, 0, 1]], [*ways, [1, 0, -1]], grid.align)
    one = make(SCENE, worlds=1)
    alone = one.scanner("robot", grid, geoms=SHAPES[1:])
    seen, all_seen = (sim.scanner("robot", p, geoms=SHAPES[1:]).read() for p in (grid, other))
    assert (seen == all_seen[:, :-1]).all() and (seen < 3).any()
    for world in range(0, sim.nworld, 10):
        one.qpos[0] = sim.qpos.numpy()[world]
        assert (alone.read()[0] == seen[world]).all()


def test_widths_have_the_same_bits(make):
    pattern = LidarPattern(channels=4, vertical_fov=(-60, 10), resolution=20)
    seen = []
    for isa in ("w1", "portable", None):
        sim = make(SCENE, worlds=6, **({"isa": isa} if isa else {}))
        place(sim, np.random.default_rng(4))
        seen.append([sim.scanner("robot", pattern).read(), sim.height_scan("robot").read()])
    for other in seen[1:]:
        assert all((a == b).all() for a, b in zip(seen[0], other))


def test_targets_that_do_not_move_follow_parameters(make):
    sim = make(SCENE, worlds=2)
    scan = sim.scanner("robot", RayPattern([0, 0, 0], [0, 0, -1]), geoms="far")
    assert scan.read()[:, 0] == pytest.approx([3.5, 3.5])
    sim.set_parameter("geom_pos", [[-1], [-4]], of="far", component=2)
    scan.refresh()
    assert scan.read()[:, 0] == pytest.approx([2.5, 5.5])


def test_wrong_scanners_say_so(make):
    sim = make(SCENE)
    with pytest.raises(stet.NotFoundError, match="robot"):
        sim.scanner("robbot")
    with pytest.raises(stet.InvalidArgumentError, match="far"):
        sim.scanner("robot", far=-1)
    with pytest.raises(stet.InvalidArgumentError, match="resolution"):
        GridPattern(resolution=0)
    with pytest.raises(stet.InvalidArgumentError, match="360"):
        LidarPattern(horizontal_fov=(0, 400))
    mesh = ("<mujoco><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset><worldbody><geom name='rock' "
            "type='mesh' mesh='m'/><body name='b'><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    with pytest.raises(stet.UnsupportedError, match="'rock' is a mesh"):
        make(mesh).scanner("b")
