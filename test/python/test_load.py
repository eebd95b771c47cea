"""stet.load: URDF as ROS has it, files in memory, MuJoCo's own objects."""

import struct

import mujoco
import numpy as np
import pytest
import stet

ROBOT = """<?xml version="1.0"?>
<!-- <mujoco> --> <robot name="r">
 <link name="base"/>
 <link name="upper"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="package://arm_description/meshes/visual/link.stl"/></geometry></visual>
  <collision><geometry><mesh filename="package://arm_description/meshes/collision/link.stl"/></geometry></collision>
 </link>
 <link name="wrist"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><mesh filename='package://hand_description/link.stl'/></geometry></collision></link>
 <link name="tool0"/> <link name="camera_frame"/>
 <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 .5"/>
  <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="7" velocity="3"/></joint>
 <joint name="reach" type="prismatic"><parent link="upper"/><child link="wrist"/><origin xyz="0 0 .3"/>
  <axis xyz="0 0 1"/><limit lower="0" upper=".2" effort="20" velocity="1"/></joint>
 <joint name="fix" type="fixed"><parent link="wrist"/><child link="tool0"/><origin xyz=".1 0 .2" rpy="0 0 1.5707963"/>
 </joint>
 <joint name="look" type="fixed"><parent link="tool0"/><child link="camera_frame"/><origin xyz="1 0 0"/></joint>
</robot>"""


def stl(size):
    """A tetrahedron with edges of that length."""
    points = np.array([[0, 0, 0], [size, 0, 0], [0, size, 0], [0, 0, size]], np.float32)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    rows = [np.zeros(3, np.float32).tobytes() + points[list(f)].tobytes() + b"\0\0" for f in faces]
    return b"\0" * 80 + struct.pack("<I", len(rows)) + b"".join(rows)


@pytest.fixture
def ros(tmp_path, monkeypatch):
    """A workspace: the URDF is in one package, a mesh of it in another; meshes of one name differ."""
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    arm = tmp_path / "ws" / "src" / "arm_description"
    for folder, size in (("visual", 9.0), ("collision", 1.0)):
        (arm / "meshes" / folder).mkdir(parents=True)
        (arm / "meshes" / folder / "link.stl").write_bytes(stl(size))
    (arm / "urdf").mkdir()
    (arm / "urdf" / "arm.urdf").write_text(ROBOT)
    hand = tmp_path / "elsewhere" / "share" / "hand_description"
    hand.mkdir(parents=True)
    (hand / "link.stl").write_bytes(stl(3.0))
    return tmp_path


def sizes(model):
    """The sides of the meshes' boxes, by geoms."""
    with stet.Sim(model, threads=1) as sim:
        return [round(float(x), 2) for x in sim.parameter("geom_size").reshape(-1, 3).max(axis=1)]


def test_packages(ros, monkeypatch):
    urdf = ros / "ws" / "src" / "arm_description" / "urdf" / "arm.urdf"
    with pytest.raises(stet.NotFoundError, match="package://hand_description/link.stl is in none of 0 .*packages="):
        stet.load(urdf)
    with pytest.raises(stet.MissingFileError, match="there is no folder '/none'"):
        stet.load(urdf, packages="/none")
    there = ros / "elsewhere" / "share"
    small, large = sizes(stet.load(urdf, packages=there))  # the nearer one is that of `collision`, not of `visual`
    assert large == pytest.approx(3 * small, rel=0.05)
    for given in (there / "hand_description", [str(there)]):
        assert sizes(stet.load(urdf, packages=given)) == [small, large]
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{ros / 'elsewhere'}")
    assert sizes(stet.load(urdf)) == [small, large]
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{ros / 'ws'}:{there}")
    assert sizes(stet.load(str(urdf))) == [small, large]
    text = ROBOT.replace("package://arm_description", f"file://{urdf.parent.parent}")
    assert sizes(stet.load(text)) == [small, large]


def test_fixed_frames_are_sites(ros):
    model = stet.load(ros / "ws/src/arm_description/urdf/arm.urdf", packages=ros / "elsewhere/share")
    assert model.bodies == ["world", "upper", "wrist"]
    assert model.sites == ["base", "tool0", "camera_frame"]
    with stet.Sim(model, threads=1) as sim:
        sim.joint("reach").qpos = 0.1
        np.testing.assert_allclose(sim.site("base").xpos, [[0, 0, 0]], atol=1e-6)
        np.testing.assert_allclose(sim.site("tool0").xpos, [[0.1, 0, 1.1]], atol=1e-5)
        np.testing.assert_allclose(sim.site("camera_frame").xpos, [[0.1, 1, 1.1]], atol=1e-5)  # turned by a quarter
    kept = ROBOT.replace("<link name=\"base\"/>", '<mujoco><compiler fusestatic="false"/></mujoco><link name="base"/>')
    assert stet.load(kept, packages=[ros / "elsewhere/share", ros / "ws/src"]).sites == []


def test_actuators(ros):
    path, packages = ros / "ws/src/arm_description/urdf/arm.urdf", ros / "elsewhere/share"
    assert stet.load(path, packages=packages).actuators == []
    motors = stet.load(path, packages=packages, actuators="motor")
    assert motors.actuators == ["shoulder", "reach"]
    with stet.Sim(motors, threads=1) as sim:
        assert sim.parameter("actuator_ctrlrange").tolist() == [[-7, 7, -20, 20]]
    servos = stet.load(path, packages=packages, actuators="position", kp=50, kd=5)
    with stet.Sim(servos, threads=1) as sim:
        np.testing.assert_allclose(sim.parameter("actuator_ctrlrange"), [[-1, 2, 0, 0.2]])
        assert sim.parameter("actuator_gainprm", of="reach", component=0).tolist() == [[50]]
        assert sim.parameter("actuator_biasprm", of="reach", component=[1, 2]).tolist() == [[-50, -5]]
    with stet.Sim(stet.load(path, packages=packages, actuators="velocity", kd=4), threads=1) as sim:
        assert sim.parameter("actuator_biasprm", of="shoulder", component=[1, 2]).tolist() == [[0, -4]]
    one = """<mujoco><worldbody><body><joint name="a" range="-90 45"/><geom size="1"/><body><joint name="b"/>
        <geom size="1"/></body></body></worldbody><actuator><motor name="own" joint="b"/></actuator></mujoco>"""
    model = stet.load(one, actuators="position", kp=1)
    assert model.actuators == ["own", "a"]
    with stet.Sim(model, threads=1) as sim:
        np.testing.assert_allclose(sim.parameter("actuator_ctrlrange", of="a"), [[-np.pi / 2, np.pi / 4]])
    with pytest.raises(stet.InvalidArgumentError, match="position servos want kp above 0"):
        stet.load(one, actuators="position")
    with pytest.raises(stet.InvalidArgumentError, match="a joint has no name"):
        stet.load(one.replace(' name="a"', ""), actuators="motor")
    with pytest.raises(stet.NotFoundError, match="no actuators 'servo'"):
        stet.load(one, actuators="servo")
    with pytest.raises(stet.InvalidArgumentError, match="a compiled model does not take actuators"):
        stet.load(model, actuators="motor")


MEMORY = """<mujoco><compiler meshdir="m"/><include file="part.xml"/><asset><mesh name="t" file="t.stl"/></asset>
<worldbody><geom type="mesh" mesh="t"/></worldbody></mujoco>"""
PART = "<mujoco><worldbody><body name='of_part'><joint/><geom size='1'/></body></worldbody></mujoco>"


def test_files_in_memory():
    model = stet.load(MEMORY, assets={"part.xml": PART, "m/t.stl": stl(1.0)})
    assert model.bodies == ["world", "of_part"] and model.nmesh == 1
    assert stet.load(MEMORY, assets={"part.xml": PART.encode(), "t.stl": stl(1.0)}).nmesh == 1
    with pytest.raises(stet.ParseError, match="t.stl"):
        stet.load(MEMORY, assets={"part.xml": PART})
    with pytest.raises(stet.ArgumentTypeError, match="asset 't.stl' is bytes or a text, not a 'int'"):
        stet.load(MEMORY, assets={"t.stl": 3})
    with pytest.raises(stet.LimitError, match="part.xml"):
        stet.load(MEMORY, assets={"part.xml": PART.replace("<body", "<replicate count='1000000000'><body").replace(
            "</body>", "</body></replicate>"), "m/t.stl": stl(1.0)})
    robot = ROBOT.replace("package://arm_description/meshes/", "").replace("package://hand_description/link", "hand")
    both = {"link.stl": stl(1.0), "hand.stl": stl(3.0)}
    assert stet.load(robot, assets=both).sites == ["base", "tool0", "camera_frame"]


def test_specs_and_models_of_mujoco(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "t.stl").write_bytes(stl(1.0))
    (tmp_path / "scene.xml").write_text(MEMORY.replace('"m"', '"meshes"').replace('<include file="part.xml"/>', ""))
    spec = mujoco.MjSpec.from_file(str(tmp_path / "scene.xml"))
    spec.worldbody.add_body(name="new", pos=[0, 0, 3]).add_geom(size=[0.1, 0, 0])
    assert stet.load(spec).bodies == ["world", "new"]
    assert spec.worldbody.first_body().name == "new"  # the spec is as it was
    held = mujoco.MjSpec.from_string(MEMORY, include={"part.xml": PART.encode()}, assets={"m/t.stl": stl(1.0)})
    with stet.Sim(held, 2, threads=1) as sim:
        assert sim.model.nmesh == 1 and sim.nworld == 2
    assert stet.load(spec, actuators=None).path == ""
    model = mujoco.MjModel.from_xml_string(PART)
    assert stet.load(model).bodies == ["world", "of_part"]

    class MjModel:
        """As of another release: its module says which."""

    MjModel.__module__ = __name__
    globals()["__version__"] = "2.3.7"
    with pytest.raises(stet.UnsupportedError, match="MjModel is of MuJoCo 2.3.7, and stet has .*give the MjSpec"):
        stet.load(MjModel())
    with pytest.raises(stet.ArgumentTypeError, match="not a 'int'"):
        stet.load(3)
