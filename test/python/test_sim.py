"""The loop: making a sim, steps, controls, resets, pictures, snapshots, what it says of itself."""

import numpy as np
import pytest

import stet
from conftest import PLACES, SCENE, keywords


def test_what_it_is(make):
    sim = make(worlds=3, outputs="rgb", cameras="all", width=20, height=10)
    assert (sim.nworld, sim.physics, sim.keyframe, sim.closed) == (3, "native", 0, False)
    assert (sim.cameras, sim.outputs) == (["front", "top"], ("rgb",))
    assert sim.device.type == "cpu" and sim.device.threads == 2 and sim.device.lanes in (4, 8, 16)
    assert "3 worlds on" in repr(sim) and "1 world on" in repr(make(worlds=1)) and sim.device.isa in repr(sim.device)


def test_free_cameras_and_groups(make):
    """A framed scene has the more pixels; without groups there is nothing to see."""
    names = ["free", "free:fit", "free:20,-30,50"]
    sim = make(worlds=1, outputs="seg_geom", cameras=names, width=40, height=40)
    assert sim.cameras == names
    sim.render()
    seen = [(sim.read("seg_geom", name) >= 0).mean() for name in names]
    assert seen[2] < 0.02 < seen[1]
    none = make(worlds=1, outputs="seg_geom", cameras=names[:1], width=40, height=40, groups=())
    none.render()
    assert (none.read("seg_geom", "free") < 0).all()


def test_cameras_of_several_sizes(make):
    names = ["free", "free:20,-30,50"]
    sim = make(worlds=2, outputs="rgb", cameras=names, width=24, height=10, sizes=[(40, 16), (0, 12)])
    sim.render()
    assert [sim.read("rgb", name).shape for name in names] == [(2, 16, 40, 3), (2, 12, 24, 3)]
    with pytest.raises(ValueError, match="1 size for 2 cameras"):
        make(worlds=2, outputs="rgb", cameras=names, sizes=[(40, 16)])
    with pytest.raises(ValueError):
        make(worlds=2, outputs="rgb", cameras=names[:1], sizes=[(40, 16, 3)])


def test_model(make, tmp_path):
    path = tmp_path / "pair.xml"
    path.write_text(SCENE)
    model = stet.load(path)
    assert (model.nq, model.nv, model.nu, model.nbody, model.ncam, model.nkey) == (2, 2, 2, 3, 2, 2)
    assert model.timestep == 0.005
    assert model.bodies == ["world", "arm", "tip"] and model.actuators == ["lift", "turn"]
    assert model.find("actuators", "turn") == 1 and model.keyframes == ["home", "bent"]
    assert model.path == str(path) and make(model).model is model
    with pytest.raises(stet.NotFoundError, match="lift"):
        model.find("actuators", "nothing")
    with pytest.raises(stet.NotFoundError, match="wheels"):
        model.find("wheels", "turn")


def test_step_and_time(sim):
    sim.step()
    sim.step(3)
    sim.step(0)
    np.testing.assert_allclose(sim.time.numpy()[:, 0], 0.02, rtol=1e-6)
    sim.step(2, mask=[True, False, False, True, False])
    np.testing.assert_allclose(sim.time.numpy()[:, 0], [0.03, 0.02, 0.02, 0.03, 0.02], rtol=1e-6)
    sim.step(1, np.zeros(5, np.uint8))
    np.testing.assert_allclose(sim.time.numpy()[1, 0], 0.02, rtol=1e-6)


def test_controls_move_worlds(sim):
    sim.ctrl[:] = [[1, 0]] * 2 + [[0, 1]] * 3
    sim.step(5)
    qvel = sim.qvel.numpy()
    assert (qvel[0] == qvel[1]).all() and (qvel[2] == qvel[4]).all() and (qvel[0] != qvel[2]).any()
    sim.control_zero()
    assert (sim.ctrl.numpy() == 0).all()
    sim.control_noise(0.5, 7)
    noise = sim.ctrl.numpy()
    assert (np.abs(noise) <= [[0.5, 1]]).all() and len(np.unique(noise)) == noise.size


def test_same_bits_everywhere(make):
    hashes = set()
    for place in PLACES:
        sim = make(**keywords(place), outputs=("rgb", "depth"), width=24, height=16, seed=3)
        sim.control_noise(0.5, 9)
        sim.step(4)
        sim.render()
        hashes.add((sim.hash(), sim.hash_frame(), sim.qpos.hash()))
    assert len(hashes) == 1


def test_worlds_are_numbered_globally(make):
    whole, part = make(worlds=5, seed=3), make(worlds=2, seed=3, first_world=3)
    for sim in (whole, part):
        sim.reset(qpos_noise=0.1)
        sim.control_noise(0.5, 30)
        sim.step(4)
    assert (whole.qpos.numpy()[3:] == part.qpos.numpy()).all()
    with pytest.raises(ValueError, match="first_world is -1"):
        make(first_world=-1)


def test_reset(sim):
    home = sim.qpos.numpy()
    np.testing.assert_allclose(home, [[0.1, 0.2]] * 5, rtol=1e-6)
    sim.step(9)
    moved = sim.qpos.numpy()
    sim.reset(mask=[1, 0, 0, 0, 0])
    sim.reset(worlds=[4, 1])
    sim.reset(worlds=[])
    now = sim.qpos.numpy()
    assert (now[[0, 1, 4]] == home[[0, 1, 4]]).all() and (now[[2, 3]] == moved[[2, 3]]).all()
    sim.reset(keyframe="bent")
    np.testing.assert_allclose(sim.qpos.numpy(), [[0.5, -0.5]] * 5, rtol=1e-6)
    sim.reset(keyframe="qpos0")
    assert (sim.qpos.numpy() == 0).all()
    sim.reset(keyframe=1, qpos_noise=0.1)
    noisy = sim.qpos.numpy()
    assert (np.abs(noisy - [0.5, -0.5]) <= 0.1001).all() and len(np.unique(noisy)) == 10


@pytest.mark.parametrize("physics", ["native", "mujoco"])
def test_a_mask_on_the_device(place, make, physics):
    sims = [make(**keywords(place), physics=physics) for _ in range(2)]
    ours, theirs = sims
    ints, bytes_ = ours.zeros((5, 1), "int32", worlds=True), ours.zeros(5, "uint8")
    for k, mask in enumerate([[0, 1, 0, 0, 2], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 255, 1, 0]]):
        for array in (ints, bytes_):
            for sim in sims:
                sim.ctrl[:] = 1
                sim.step(3 + k)
            array.write(np.asarray(mask, array.dtype).reshape(array.shape))
            ours.reset(array, keyframe="bent", qpos_noise=0.1)
            theirs.reset(mask, keyframe="bent", qpos_noise=0.1)
            assert ours.hash() == theirs.hash()
    for wrong in (ours.zeros(4, "uint8"), ours.zeros((5, 2), "int32", worlds=True)):
        with pytest.raises(ValueError, match=r"must be an array of worlds of int, \[5\]\[1\], or of uint8, \[5\]"):
            ours.reset(wrong)
    with pytest.raises(ValueError, match="booleans or integers, not float"):
        ours.reset(ours.qpos)
    ours.step(), theirs.step()
    ours.reset(theirs.zeros(5, "uint8"))  # of another sim: by the host
    assert ours.hash() == theirs.hash()


def test_pictures(place, make):
    sim = make(**keywords(place), cameras=["top", "front"], outputs=("rgb", "depth", "seg_body"), width=32, height=24)
    assert sim.render() == 0
    assert sim.render() == 0  # nothing moved
    rgb, depth = sim.read("rgb"), sim.read("depth", "front")
    assert rgb.shape == (5, 24, 32, 3) and rgb.dtype == np.uint8 and rgb.std() > 5
    assert depth.shape == (5, 24, 32, 1) and depth.dtype == np.float32 and np.isfinite(depth).any()
    assert set(np.unique(sim.read("seg_body", camera=1))) >= {-1, 1, 2}
    sim.step(20)
    assert sim.render() == 1
    assert (sim.read("rgb", frame=0) == rgb).all() and (sim.read("rgb", frame=1) != rgb).any()
    out = np.empty_like(rgb)
    assert sim.read("rgb", out=out, frame=0) is out and (out == rgb).all()
    sim.step(5)
    sim.render(mask=[0, 0, 0, 0, 1])
    assert sim.hash_frame(1) != sim.hash_frame()


def test_pictures_are_the_present_ones(make):
    sim, twin = (make(outputs=("rgb", "depth"), width=16, height=12) for _ in range(2))
    first = sim.read("rgb")
    tensor, number = sim.tensor("rgb"), sim.render()
    assert number == 0 and (first == twin.read("rgb", frame=twin.render())).all()
    for one in (sim, twin):
        one.step(40)
    assert (sim.read("rgb", frame="drawn") == first).all() and (tensor.numpy() == first).all()
    assert (sim.read("rgb") == twin.read("rgb", frame=twin.render())).all() and (sim.read("rgb") != first).any()
    assert (sim.read("rgb", frame=0) == first).all() and sim.render() == 1
    assert sim.hash_frame() == twin.hash_frame() and sim.hash_frame("drawn") == sim.hash_frame(1)
    for one in (sim, twin):
        one.qpos[:] = 0.25
    assert (np.asarray(sim.image("rgb")) == np.asarray(twin.image("rgb"))).all()
    sim.step(5)
    part = sim.hash_frame(sim.render(mask=[1] + [0] * (sim.nworld - 1)))
    assert sim.hash_frame("drawn") == part != sim.hash_frame()  # the present picture has all worlds
    sim.step()
    assert sim.hash_frame() != part
    with pytest.raises(stet.NotFoundError, match="no frame 'last'; give a number, \"drawn\""):
        sim.read("rgb", frame="last")
    with pytest.raises(stet.NotFoundError, match="no frame -1"):
        sim.read("rgb", frame=-1)
    with pytest.raises(stet.NotFoundError, match="nothing was rendered yet"):
        make(outputs=("rgb",), width=16, height=12).read("rgb", frame="drawn")
    with pytest.raises(stet.StateError, match="without outputs"):
        make().read("rgb")
    with pytest.raises(stet.StateError), sim.record("a list"):
        sim.read("rgb")


def test_samples(make):
    pictures = [make(cameras=["top"], outputs=("rgb", "depth"), width=32, height=24, samples=n) for n in (1, 16)]
    for sim in pictures:
        sim.render()
    assert (pictures[0].read("depth") == pictures[1].read("depth")).all()
    rgb = [len(np.unique(sim.read("rgb")[0].reshape(-1, 3), axis=0)) for sim in pictures]
    assert rgb[0] < rgb[1]  # edges are mixed


def test_mode(make):
    modes = ("mujoco", "physical")
    pictures = [make(cameras=["top"], outputs=("rgb", "depth"), width=32, height=24, mode=mode) for mode in modes]
    for sim in pictures:
        sim.render()
    assert (pictures[0].read("depth") == pictures[1].read("depth")).all()
    assert (pictures[0].read("rgb") != pictures[1].read("rgb")).any()
    tiles = pictures[0].tiles("rgb", mode="physical")
    tiles.render()
    assert (tiles.read("rgb") == pictures[1].read("rgb")).all()


def test_fog(make):
    text = """<mujoco><statistic extent="1"/><visual><map fogstart="1" fogend="2"/><rgba fog="0 .5 1 1"/></visual>
        <worldbody><geom type="box" size="9 9 .1" rgba="1 0 0 1"/>
        <camera pos="0 0 9" xyaxes="1 0 0 0 1 0"/></worldbody></mujoco>"""
    clear, foggy = (stet.Sim(text, device="cpu", outputs=("rgb", "depth"), width=8, height=8, **fog)
                    for fog in ({}, {"fog": True}))
    for sim in (clear, foggy):
        sim.render()
    assert (clear.read("depth") == foggy.read("depth")).all()
    assert (foggy.read("rgb") == (0, 128, 255)).all() and (clear.read("rgb")[..., 1:] < 128).all()
    tiles = clear.tiles("rgb", fog=True)
    tiles.render()
    assert (tiles.read("rgb") == foggy.read("rgb")).all()


def test_looks_of_worlds(make):
    sim = make(cameras=["top"], outputs=("rgb",), width=32, height=24)
    sim.render()
    before = sim.read("rgb").copy()
    rgb = sim.parameter("geom_rgb")
    rgb[1] = 1 - rgb[1]
    sim.set_parameter("geom_rgb", rgb)
    sim.render()
    now = sim.read("rgb")
    assert [(now[w] == before[w]).all() for w in range(3)] == [True, False, True]
    sim.randomize("cam_fovy", 20, 80)
    sim.set_parameter("geom_rgb", None)
    sim.render()
    assert (sim.read("rgb") == before).all()  # nothing is drawn before a reset
    sim.reset()
    sim.step(3)
    sim.render()
    angles = sim.parameter("cam_fovy")
    assert len(np.unique(angles)) == angles.size and angles.min() >= 20 and angles.max() <= 80
    now = sim.read("rgb")
    assert all((now[w] != now[0]).any() for w in range(1, 5))


def test_picture_arrays(make):
    sim = make(outputs="rgb", width=16, height=16, frames_in_flight=2)
    frame = sim.render()
    picture = sim.tensor("rgb")
    assert picture.shape == (5, 16, 16, 3) and picture.dtype == np.uint8
    first = sim.read("rgb", frame=frame)
    sim.step(3)
    sim.render()
    assert (picture.numpy() == first).all() and (np.from_dlpack(picture) == first).all()
    for _ in range(2):
        sim.step(3)
        sim.render()
    with pytest.raises(stet.NotFoundError, match="frame"):
        picture.numpy()
    assert picture.shape == (5, 16, 16, 3)


def test_points(place):
    scene = ("<mujoco><worldbody><geom type='plane' size='0 0 1'/>"
             "<camera pos='0 -1 1' xyaxes='1 0 0 0 .7 .7' fovy='100'/></worldbody></mujoco>")
    with stet.Sim(scene, worlds=2, width=24, height=16, outputs="depth", **keywords(place)) as sim:
        out = sim.zeros((2, 16, 24, 3))
        sim.points(out)
        points, hit = out.numpy(), np.isfinite(sim.read("depth")[..., 0])
        assert 0.5 < hit.mean() < 1 and np.isinf(points[~hit]).all()
        assert np.abs(points[hit][:, 2]).max() < 1e-4
        np.testing.assert_allclose(points[:, 7:9, 11:13].mean(axis=(1, 2)), 0, atol=0.05)
        with pytest.raises(ValueError, match="must be a plain one of 2304 reals"):
            sim.points(sim.zeros((2, 16, 24)))


def test_a_picture_follows_a_reset(make):
    sim = make(outputs="rgb", width=16, height=16)
    before = sim.read("rgb", frame=sim.render())
    sim.step(30)
    sim.render()
    moved = sim.tensor("rgb").numpy()
    sim.reset(worlds=[2])
    after = sim.tensor("rgb")
    values = after.numpy()
    assert (values[2] == before[2]).all() and (values[[0, 1, 3, 4]] == moved[[0, 1, 3, 4]]).all()
    assert (sim.read("rgb") == values).all()


def test_external_physics(make):
    sim = make(physics="external", outputs="seg_body", width=16, height=16)
    sim.render()
    before = sim.read("seg_body")
    poses = sim.xpos.numpy().reshape(5, 3, 3)
    poses[:, 2] += [0, 0, 0.7]
    sim.xpos.write(poses.reshape(5, 9))
    sim.step()
    sim.render()
    assert sim.physics == "external" and (sim.read("seg_body") != before).any()
    assert (sim.xpos.numpy().reshape(5, 3, 3) == poses).all()


def test_snapshots_and_files(sim, tmp_path):
    sim.step(4)
    snapshot, was = sim.snapshot(), sim.hash()
    sim.save(tmp_path / "state")
    sim.step(3)
    assert sim.hash() != was
    sim.restore(snapshot)
    assert sim.hash() == was
    sim.step(3)
    sim.resume(tmp_path / "state")
    assert sim.hash() == was
    with pytest.raises(stet.MissingFileError):
        sim.resume(tmp_path / "nothing")
    (tmp_path / "state").write_bytes(b"no state")
    with pytest.raises(stet.ParseError):
        sim.resume(tmp_path / "state")


def test_counters_and_switches(make):
    sim = make(outputs="rgb", width=16, height=16)
    sim.render()
    sim.render()
    counters = sim.counters()
    assert counters["frame"]["hits"] == 1 and counters["frame"]["reasons"] == {"first": 1}
    assert counters["total"]["launches"] > 0
    sim.configure(disable=["frame"])
    sim.clear_counters()
    sim.render()
    sim.render()
    assert sim.counters()["frame"]["reasons"] == {"disabled": 2} and sim.counters()["frame"]["hits"] == 0
    assert make(disable="frame").counters().keys() == stet.info()["mechanisms"].keys() | {"total"}
    timing = sim.timing()
    assert timing["render"] > 0
    sim.clear_timing()
    assert set(sim.timing().values()) == {0.0}


def test_audit(make):
    sim = make(outputs="rgb", width=16, height=16, audit=True)
    sim.render()
    sim.render()
    assert sim.counters()["frame"]["hits"] == 1


def test_faults_and_parameters(sim):
    assert sim.faults().dtype == np.uint32 and (sim.faults() == 0).all()
    sim.set_parameter("gravity", [0, 0, 0])
    sim.reset(keyframe="qpos0")
    sim.step(10)
    np.testing.assert_allclose(sim.qvel.numpy(), 0, atol=1e-6)
    sim.set_parameter("gravity", None)
    sim.step(10)
    assert (np.abs(sim.qvel.numpy()[:, 0]) > 0.1).all()
    sim.qpos[2] = np.nan
    sim.step()
    bad = stet.info()["faults"]["bad_qpos"]
    assert sim.faults()[2] & bad and not (np.delete(sim.faults(), 2) & bad).any()


def test_with_closes():
    with stet.Sim(SCENE, 2, "cpu") as sim:
        sim.step()
    assert sim.closed and repr(sim) == "<stet.Sim, closed>"
    sim.close()


def test_null_device(make):
    sim = make(device="null", outputs="rgb", width=8, height=8)
    sim.step()
    sim.render()
    assert sim.device.type == "null" and sim.read("rgb").shape == (5, 8, 8, 3)


def test_info():
    info = stet.info()
    assert info["version"] == stet.__version__ and info["mujoco"].split(".")[0] in ("3", "4")
    assert "cpu" in info["devices"]["cpu"] and info["outputs"]["rgb"] == ("uint8", 3)
    assert "pose_sync" in info["mechanisms"] and (stet.scenes / "hand.xml").exists()


def test_keyframes_begin_worlds(make):
    for keyframe, number in ((None, 0), ("home", 0), ("bent", 1), (1, 1), ("none", -1), ("qpos0", -1), (-1, -1)):
        with make(worlds=2, keyframe=keyframe) as sim:
            assert sim.keyframe == number
            assert np.allclose(sim.qpos[1], [(0, 0), (0.1, 0.2), (0.5, -0.5)][number + 1])


def test_parameters_of_the_model(sim):
    """Arrays by MuJoCo's names, for some worlds only, and drawn at resets."""
    mass = sim.parameter("body_mass")
    assert mass.shape[0] == sim.nworld and (mass == mass[0]).all()
    sim.set_parameter("body_mass", 2 * mass)
    assert (sim.parameter("body_mass") == 2 * mass).all()
    chosen = np.arange(sim.nworld) == 1
    sim.set_parameter("body_mass", None, mask=chosen)
    assert (sim.parameter("body_mass") == np.where(chosen[:, None], mass, 2 * mass)).all()
    sim.step()
    assert sim.counters()["total"]["constants"] == sim.nworld - 1
    sim.set_parameter("body_mass", None)
    sim.randomize("body_mass", 0.5 * mass[0], mass[0])
    sim.reset(mask=chosen)
    drawn = sim.parameter("body_mass")
    assert (drawn[~chosen] == mass[~chosen]).all() and (drawn[chosen] < mass[chosen]).any()
    sim.randomize("body_mass", None, None)
    with pytest.raises(stet.InvalidArgumentError, match="different sizes"):
        sim.randomize("timestep", 0.1, [0.1, 0.2])
    with pytest.raises(stet.NotFoundError, match="body_mass"):
        sim.parameter("charm")


@pytest.mark.parametrize("physics", ["mujoco", "native"])
def test_a_parameter_is_an_array(make, place, physics):
    """Written by NumPy's view, by a kernel of the step, and by set_parameter; invalid numbers end in a sentence."""
    sim, same = (make(physics=physics, **keywords(place)) for _ in range(2))
    mass = sim.parameter_array("body_mass")
    assert mass.shape == (sim.nworld, sim.model.nbody)
    np.testing.assert_allclose(mass.numpy(), sim.parameter("body_mass"), rtol=1e-6)
    values = mass.numpy() * np.linspace(1.1, 2, sim.nworld, dtype=np.float32)[:, None]
    mass.write(values)
    same.set_parameter("body_mass", values)
    for one in (sim, same):
        one.step(5)
    np.testing.assert_array_equal(sim.qpos.numpy(), same.qpos.numpy())
    np.testing.assert_array_equal(sim.parameter("body_mass"), same.parameter("body_mass"))
    kernel = sim.kernel("""#include "stet/lang.h"
        world_kernel void k_gravity(real *gravity, int world) { put(gravity, 2, splat(-3)); }""")
    at = sim.add_kernel("before_physics", kernel, [sim.parameter_array("gravity")])
    same.set_parameter("gravity", [0, 0, -3])
    for one in (sim, same):
        one.step(5)
    np.testing.assert_array_equal(sim.qpos.numpy(), same.qpos.numpy())
    sim.remove_kernel(at)
    mass.write(-values)
    with pytest.raises(stet.InvalidArgumentError, match="body_mass: number"):
        sim.step()
    mass.write(values)
    sim.step()
    sim.set_parameter("body_mass", None)
    np.testing.assert_allclose(mass.numpy()[1], sim.parameter("body_mass")[0], rtol=1e-6)
    with pytest.raises(stet.NotFoundError, match="did you mean body_mass"):
        sim.parameter_array("body_mas")


def test_an_array_of_a_look_makes_the_next_picture(make):
    sim = make(outputs="rgb", width=16, height=16, worlds=2)
    light = sim.parameter_array("light_diffuse")
    sim.render()
    before = sim.read("rgb").copy()
    values = light.numpy()
    values[1] = 0
    light.write(values)
    after = sim.read("rgb")
    np.testing.assert_array_equal(after[0], before[0])
    assert (after[1] != before[1]).any()
