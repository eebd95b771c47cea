"""Scenes of tasks, made from models of robots that other projects' packages have (mjlab, playground): its MJCF, with
actuators, a floor, friction, sensors and a keyframe. Nothing of those packages is imported, and none of what they need
is wanted: `pip install --no-deps mjlab==1.6.0` brings the files alone.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import stet
from stet._errors import InvalidArgumentError, NotFoundError

PACKAGES = {"mjlab": "mjlab==1.6.0", "mujoco_playground": "playground==0.2.0", "robosuite": "robosuite==1.5.2"}
"""What pip calls the packages that have robots."""


def find_file(package: str, path: str) -> Path:
    """A file of a package that is installed, or lies in a folder that the variable STET_ROBOTS names."""
    folder = os.environ.get("STET_ROBOTS")
    found = importlib.util.find_spec(package) if not folder else None
    roots = [Path(folder) / package] if folder else map(Path, found.submodule_search_locations if found else ())
    for root in roots:
        if (root / path).exists():
            return root / path
    raise NotFoundError(f"the robot's model, {package}/{path}, is not {'in ' + folder if folder else 'installed'}; "
                        f"pip install --no-deps {PACKAGES[package]}, or name the folder that has {package}/ in the "
                        "variable STET_ROBOTS")


class Scene:
    """A scene in the making, from a file of MJCF or URDF. Names are regular expressions that match whole names."""

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        self.root = ElementTree.parse(path).getroot()
        if self.root.tag == "robot":
            self.root = _from_urdf(self.root, path.parent.resolve())
        stet.terrain.Terrain._absolute(self.root, path.parent.resolve())

    def part(self, tag: str) -> ElementTree.Element:
        """The scene's element of this name, made where there is none."""
        found = self.root.find(tag)
        return ElementTree.SubElement(self.root, tag) if found is None else found

    def add(self, parent: str, tag: str, **attributes: Any) -> ElementTree.Element:
        """An element; numbers and rows of numbers are written as MJCF has them."""
        return ElementTree.SubElement(self.part(parent), tag, {name: _text(x) for name, x in attributes.items()})

    def named(self, tag: str, names: str) -> list[ElementTree.Element]:
        """The elements of the bodies' tree with these names, of which there is at least one."""
        found = [one for one in self.part("worldbody").iter(tag) if re.fullmatch(names, one.get("name", ""))]
        if not found:
            raise InvalidArgumentError(f"the scene has no {tag} {names!r}")
        return found

    def change(self, tag: str, names: str, **attributes: Any) -> None:
        """Sets attributes of elements of the bodies' tree; None: takes one away."""
        for one in self.named(tag, names):
            for name, x in attributes.items():
                one.attrib.pop(name, None) if x is None else one.set(name, _text(x))

    def site(self, name: str, body: str, pos: Sequence[float]) -> None:
        """A point of a body, such as a foot: pos in the body's frame, m."""
        ElementTree.SubElement(self.named("body", body)[0], "site", name=name, pos=_text(pos))

    def attach(self, path: Path, body: str) -> None:
        """Puts the bodies of another file of MJCF, with their meshes and materials, on a body of this scene."""
        other, (to,) = ElementTree.parse(path).getroot(), self.named("body", body)
        for one in other.iter():
            if one.get("file"):
                one.set("file", str(path.parent.resolve() / one.get("file", "")))
        for part in other.findall("asset"):
            self.part("asset").extend(part)
        for part in other.findall("worldbody"):
            to.extend(part)

    def leave_out_missing_meshes(self) -> None:
        """Leaves out meshes whose files are not there, with the geoms that show them."""
        folder = Path(self.part("compiler").get("meshdir", "."))
        missing = [one for one in self.part("asset").findall("mesh") if not (folder / one.get("file", "")).exists()]
        names = {one.get("name", Path(one.get("file", "")).stem) for one in missing}
        for one in missing:
            self.part("asset").remove(one)
        for body in self.part("worldbody").iter():
            for geom in [one for one in body.findall("geom") if one.get("mesh") in names]:
                body.remove(geom)

    def drop(self, parent: str, tag: str) -> None:
        """Takes all elements of a kind out of a part of the scene."""
        for within in list(self.part(parent).iter()):
            for one in within.findall(tag):
                within.remove(one)

    def floor(self, **attributes: Any) -> None:
        """Level ground, "floor", light from everywhere and a sky."""
        self.add("worldbody", "geom", **{"name": "floor", "type": "plane", "size": (0, 0, 0.05), "material": "floor",
                                         **attributes})
        self.add_look()

    def add_look(self) -> None:
        """Light, a sky, and the material "floor"."""
        self.add("visual", "headlight", ambient=(0.4, 0.4, 0.4), diffuse=(0.45, 0.45, 0.45), specular=(0.1, 0.1, 0.1))
        self.add("asset", "texture", name="sky", type="skybox", builtin="gradient", rgb1=(0.78, 0.86, 0.92),
                 rgb2=(0.34, 0.46, 0.6), width=64, height=384)
        self.add("asset", "texture", name="floor", type="2d", builtin="checker", rgb1=(0.5, 0.52, 0.5),
                 rgb2=(0.44, 0.46, 0.45), width=128, height=128)
        self.add("asset", "material", name="floor", texture="floor", texuniform=True, texrepeat=(2, 2))

    def box(self, name: str, size: Sequence[float], mass: float, **attributes: Any) -> None:
        """A box that is free to move, behind all that is there: its free joint has this name. size: half sides, m."""
        body = self.add("worldbody", "body", name=name, simple=False)  # its centre of mass may be a world's own
        ElementTree.SubElement(body, "freejoint", name=name)
        ElementTree.SubElement(body, "geom", {key: _text(x) for key, x in {
            "name": f"{name}_geom", "type": "box", "size": size, "mass": mass, **attributes}.items()})

    def motors(self, joints: str, inertia: float, effort: float) -> None:
        """Servos as mjlab's robots have them: for each of the joints one with the inertia of its rotor behind the gear,
        kg m², and a greatest torque, N m, that swings at 10 Hz, damped twice as much as needed not to.
        """
        rate = 2 * math.pi * 10
        self.servos(joints, inertia * rate**2, 4 * inertia * rate, effort, inertia)

    def servos(self, joints: str, stiffness: float, damping: float, effort: float, armature: float) -> None:
        """A servo at each of the joints, in N m/rad, N m s/rad and N m, and the inertia of its rotor, kg m²."""
        for joint in self.named("joint", joints):
            joint.set("armature", _text(armature))
            self.add("actuator", "position", name=joint.get("name"), joint=joint.get("name"), kp=stiffness, kv=damping,
                     forcelimited=True, forcerange=(-effort, effort), inheritrange=1)

    def home(self, joints: Mapping[str, float], **free: Sequence[float]) -> None:
        """The keyframe "home": angles by names of joints, 0 elsewhere, and of free joints, by their names, where they
        are (m), and, behind that, the quaternion if they are turned.
        """
        qpos: list[float] = []
        for joint in self.part("worldbody").iter():
            name = joint.get("name", "")
            if joint.tag == "freejoint" or joint.get("type") == "free":
                qpos += [*free[name], 1, 0, 0, 0][:7]
            elif joint.tag == "joint":
                qpos.append(next((x for names, x in joints.items() if re.fullmatch(names, name)), 0.0))
        self.add("keyframe", "key", name="home", qpos=qpos)

    def text(self) -> str:
        """The scene as MJCF; its actuators are in the order of their joints."""
        order = [one.get("name") for one in self.part("worldbody").iter("joint")]
        self.part("actuator")[:] = sorted(self.part("actuator"), key=lambda one: order.index(one.get("joint")))
        return ElementTree.tostring(self.root, encoding="unicode")


def _from_urdf(robot, folder):
    """The same robot as MJCF, which MuJoCo's Python package makes. Its root link floats: the free joint is "root"."""
    try:
        import mujoco
    except ModuleNotFoundError:
        raise ModuleNotFoundError("a URDF is read by MuJoCo's Python package: pip install mujoco",
                                  name="mujoco") from None
    children = {one.get("link") for one in robot.iter("child")}
    base = next(link.get("name") for link in robot.iter("link") if link.get("name") not in children)
    ElementTree.SubElement(robot, "link", name="world")
    joint = ElementTree.SubElement(robot, "joint", name="root", type="floating")
    ElementTree.SubElement(joint, "parent", link="world")
    ElementTree.SubElement(joint, "child", link=base)
    about = ElementTree.SubElement(robot, "mujoco")
    ElementTree.SubElement(about, "compiler", meshdir=str(folder), strippath="false", fusestatic="false")
    return ElementTree.fromstring(mujoco.MjSpec.from_string(ElementTree.tostring(robot, encoding="unicode")).to_xml())


def g1_scene() -> Scene:
    """Unitree's G1 as mjlab has it, knees bent: motors by their types, ankles and waist by two of them each."""
    scene = Scene(find_file("mjlab", "asset_zoo/robots/unitree_g1/xmls/g1.xml"))
    scene.part("option").attrib.update(timestep="0.005", iterations="10", ls_iterations="20")
    scene.change("geom", ".*_collision", condim=1)
    scene.change("geom", "(left|right)_foot[1-7]_collision", condim=3, priority=1, friction=(0.6,))

    def inertia(rotors, gears):  # of planetary gears in two stages, at their end
        return rotors[0] * (gears[1] * gears[2]) ** 2 + rotors[1] * gears[2] ** 2 + rotors[2]

    small = inertia((0.139e-4, 0.017e-4, 0.169e-4), (1, 1 + 46 / 18, 1 + 56 / 16))
    middle = inertia((0.489e-4, 0.098e-4, 0.533e-4), (1, 4.5, 1 + 48 / 22))
    large = inertia((0.489e-4, 0.109e-4, 0.738e-4), (1, 4.5, 5))
    wrist = inertia((0.068e-4, 0.0, 0.0), (1, 5, 5))
    scene.motors(".*_(elbow|shoulder_(pitch|roll|yaw)|wrist_roll)_joint", small, 25)
    scene.motors(".*_hip_(pitch|yaw)_joint|waist_yaw_joint", middle, 88)
    scene.motors(".*_(hip_roll|knee)_joint", large, 139)
    scene.motors(".*_wrist_(pitch|yaw)_joint", wrist, 5)
    scene.motors("waist_(pitch|roll)_joint|.*_ankle_(pitch|roll)_joint", 2 * small, 50)
    scene.home({".*_hip_pitch_joint": -0.312, ".*_knee_joint": 0.669, ".*_ankle_pitch_joint": -0.363,
                ".*_elbow_joint": 0.6, ".*_shoulder_pitch_joint": 0.2, "left_shoulder_roll_joint": 0.2,
                "right_shoulder_roll_joint": -0.2}, floating_base_joint=(0, 0, 0.76))
    return scene


def _text(x):
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, (int, float)):
        return f"{x:.9g}"
    return x if isinstance(x, str) else " ".join(map(_text, x)) if isinstance(x, Iterable) else str(x)
