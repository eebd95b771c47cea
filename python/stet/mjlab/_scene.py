"""A scene of mjlab's as a model of stet's."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
from mjlab.utils.xml import fix_spec_xml

from .. import _core
from .._errors import MissingFileError, UnsupportedError
from .._load import load

# What has to be the same in both releases of MuJoCo, so that numbers of objects mean the same.
_COUNTS = ("nq", "nv", "nu", "nbody", "njnt", "ngeom", "nsite")
# Of scenes that no Simulation was made of yet, their entities; with the spec, whose number may be another's later.
_entities: dict[int, tuple[Any, dict[str, Any]]] = {}


def remember(spec: Any, entities: dict[str, Any]) -> None:
    """A scene's spec does not know from which folders its entities' files come."""
    _entities[id(spec)] = (spec, {f"{name}/": entity for name, entity in entities.items()})


def _flatten_textures(spec: Any) -> None:
    """Textures in memory, which a text cannot hold, have one colour: stet's worlds draw none of mjlab's pictures."""
    for texture in spec.textures:
        if len(texture.data) > 0:
            texture.data = b""
            texture.builtin = mujoco.mjtBuiltin.mjBUILTIN_FLAT


def _specs(entity: Any) -> list[Any]:
    """Those that may know where an entity's files are: its own, and the one that it was made of."""
    make = getattr(entity.cfg, "spec_fn", None)
    return [entity.spec, make()] if make else [entity.spec]


def _apply_options(spec: Any, model: mujoco.MjModel) -> None:
    """Options of a compiled model into a spec: MujocoCfg writes them there. As mujoco_warp, no world begins anew by
    itself: one that is lost is for mjlab's terminations and its guard to find.
    """
    option = spec.option
    for name in ("timestep", "integrator", "cone", "jacobian", "solver", "impratio", "iterations", "tolerance",
                 "ls_iterations", "ls_tolerance", "ccd_iterations", "disableflags", "enableflags"):
        setattr(option, name, getattr(model.opt, name))
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET.value
    option.gravity[:] = model.opt.gravity


def _read_file(spec: Any, folder: str, name: str) -> bytes | None:
    """A file that an entity names: in its memory, or where its own folders are."""
    for key, data in dict(spec.assets or {}).items():
        if key == name or key.replace("\\", "/").endswith(f"/{name}"):
            return data
    path = Path(spec.modelfiledir or ".") / str(getattr(spec, folder) or "") / name
    return path.read_bytes() if path.is_file() else None


def _take_files(root: ElementTree.Element, entities: dict[str, Any]) -> dict[str, bytes]:
    """All files that a scene's text names, under names of their own: two entities may have one of the same name."""
    files = {}
    specs = {prefix: _specs(entity) for prefix, entity in entities.items()}
    for one in root.iterfind("asset/*[@file]"):
        folder, name = "texturedir" if one.tag == "texture" else "meshdir", one.get("file", "")
        owners = [prefix for prefix in specs if one.get("name", "").startswith(prefix)] or list(specs)
        found = ((prefix, _read_file(spec, folder, name)) for prefix in owners for spec in specs[prefix])
        prefix, data = next(((prefix, data) for prefix, data in found if data is not None), ("", None))
        if data is None:
            raise MissingFileError(f"stet.mjlab: {name}: no entity of the scene has this file, in memory or in the "
                                   "folder of its model")
        files[prefix + name] = data
        if not one.get("name"):
            one.set("name", Path(name).stem)
        one.set("file", prefix + name)
    return files


def load_scene(spec: Any, compiled: mujoco.MjModel) -> _core.Model:
    """The model of a spec with the options of `compiled`, which is its own, of mjlab's release of MuJoCo."""
    _, entities = _entities.pop(id(spec), (spec, {}))
    spec = spec.copy()
    _apply_options(spec, compiled)
    _flatten_textures(spec)
    root = ElementTree.fromstring(fix_spec_xml(spec.to_xml()))
    files = _take_files(root, entities)
    model = load(ElementTree.tostring(root, encoding="unicode"), assets=files)
    for name in _COUNTS:
        if getattr(model, name) != getattr(compiled, name):
            raise UnsupportedError(f"stet.mjlab: the exported scene has {name} {getattr(model, name)}, mjlab's has "
                                   f"{getattr(compiled, name)}")
    return model
