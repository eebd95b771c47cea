"""stet.load: models from files, texts, and MuJoCo's own objects."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._errors import ArgumentTypeError, InvalidArgumentError, MissingFileError, UnsupportedError

_Path = str | os.PathLike[str]


def _read_files(spec, have):
    """The files on the disk that an MjSpec names, as its text will name them."""
    found = {}
    base = Path(getattr(spec, "modelfiledir", "") or ".")
    folders = {"meshes": "meshdir", "hfields": "meshdir", "skins": "meshdir", "textures": "texturedir"}
    for kind, folder in folders.items():
        for one in getattr(spec, kind, ()):
            names = [one.file, *getattr(one, "cubefiles", ())]
            for name in filter(None, map(str, names)):
                inside = getattr(spec.compiler, folder, None) or getattr(spec, folder, "") or ""
                path = base / str(inside) / name
                known = {name, os.path.basename(name), os.path.join(str(inside), name)}
                if known.isdisjoint(have) and path.is_file():
                    found[os.path.join(str(inside), name)] = path.read_bytes()
    return found


def _load_spec(spec, options):
    """An MjSpec of any release goes through its text."""
    spec = spec.copy()
    try:
        spec.compile()  # without which releases of MuJoCo before 3.3 write no text
        text = spec.to_xml()
    except ValueError as error:
        raise InvalidArgumentError(f"load: the MjSpec cannot be compiled: {error}") from None
    own = {str(name): data for name, data in dict(getattr(spec, "assets", {}) or {}).items()}
    assets = {**_read_files(spec, own), **own, **dict(options.pop("assets") or {})}
    return _load_scene(text, assets=assets, **options)


def _load_compiled(model):
    """An MjModel is bytes that only its own release can read."""
    library = sys.modules[type(model).__module__.partition(".")[0]]
    theirs, ours = getattr(library, "__version__", "unknown"), _core.mujoco_version
    if theirs != ours:
        raise UnsupportedError(
            f"load: the MjModel is of MuJoCo {theirs}, and stet has {ours}: their compiled models differ; give the "
            "MjSpec that it came from, the XML, or its path")
    buffer = np.empty(library.mj_sizeModel(model), np.uint8)
    library.mj_saveModel(model, None, buffer)
    return _core._load_bytes(buffer.tobytes(), "")


def _load_scene(scene, *, assets, packages, actuators, kp, kd):
    is_text = isinstance(scene, str) and scene.lstrip().startswith("<")
    try:
        named = scene if is_text else os.fspath(scene)
    except TypeError:
        raise ArgumentTypeError(
            "a scene is a path, a text of MJCF or URDF, a stet.Model, or an MjSpec or MjModel of MuJoCo's, not a "
            f"{type(scene).__name__!r}") from None
    files = []
    for name, data in dict(assets or {}).items():
        if isinstance(data, str):
            data = data.encode()
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError(f"load: asset {name!r} is bytes or a text, not a {type(data).__name__!r}")
        files.append((str(name), bytes(data)))
    folders = [packages] if isinstance(packages, (str, os.PathLike)) else list(packages)
    for folder in folders:
        if not os.path.isdir(folder):
            raise MissingFileError(f"load: packages: there is no folder {os.fspath(folder)!r}; check the path")
    return _core._load(named, is_text, files, [os.fspath(folder) for folder in folders], actuators or "none",
                       float(kp or 0), float(kd or 0))


def load(
    scene: _Path | _core.Model | Any,
    *,
    assets: Mapping[str, bytes | str] | None = None,
    packages: _Path | Iterable[_Path] = (),
    actuators: str | None = None,
    kp: float = 0,
    kd: float = 0,
) -> _core.Model:
    """A Model.

    scene      a file (MJCF, URDF, .mjb); a text of MJCF or URDF, which begins with "<"; an MjSpec of MuJoCo's, of any
               release (its text and its assets are taken); an MjModel of the release that stet has; or a stet.Model
    assets     files in memory that the scene names: {"link.stl": bytes, "arm.xml": text}; others come from the disk
    packages   where "package://NAME/…" of URDF is looked for: a package's own folder, or one that holds packages; then
               in those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, and in the folders above the URDF file
    actuators  of all hinges and slides without one, under the joints' names: "motor" (forces, N or N m, in the range
               that the joint allows: URDF's effort), "position" (kp (target - position) - kd velocity, the target in
               the joint's range) or "velocity" (kd (target - velocity)); None: none, as URDF knows none
    kp, kd     their gains, N m/rad or N/m, and those times s

    Links of URDF at fixed joints are parts of the bodies above them, as in MuJoCo; their frames stay as sites of their
    names. ParseError says what MuJoCo does not read, MissingFileError which file there is not, UnsupportedError that an
    MjModel is of another release.
    """
    options = {"assets": assets, "packages": packages, "actuators": actuators, "kp": kp, "kd": kd}
    given = [name for name, value in options.items() if value]
    kind = type(scene).__name__
    if isinstance(scene, _core.Model) or kind == "MjModel":
        if given:
            raise InvalidArgumentError(f"load: a compiled model does not take {', '.join(given)}; give its XML")
        return scene if isinstance(scene, _core.Model) else _load_compiled(scene)
    return _load_spec(scene, options) if kind == "MjSpec" else _load_scene(scene, **options)
