"""Which numbers of an array of worlds are whose: of joints, bodies, sensors … by names, numbers or regular expressions.
Sim.columns, Sim.set_parameter and stet.gym's tables of domain randomisation go by it.
"""

import dataclasses
import difflib
import re

import numpy as np

from ._errors import InvalidArgumentError, NotFoundError

_BODIES = ("xpos", "xquat", "xmat", "xipos", "ximat", "xfrc_applied", "subtree_com", "subtree_linvel", "subtree_angmom",
           "cinert", "cvel", "cacc", "cfrc_int", "cfrc_ext")
_DOFS = ("qvel", "qacc", "qacc_warmstart", "qfrc_applied", "qfrc_bias", "qfrc_passive", "qfrc_actuator",
         "qfrc_constraint")
_JOINTS = ("qpos", "qpos0", "xanchor", "xaxis", *_DOFS)
_SENSORS = ("sensordata", "step_sensordata")
_ACTUATORS = ("ctrl", "act", "kp", "kd")
_OUTS = ("actuator_length", "actuator_velocity", "actuator_force", "actuator_gear")
# How the owners of arrays are called, by the beginnings of the arrays' names, and Model's lists of them.
_BEGINNINGS = {"body": "body", "geom": "geom", "site": "site", "jnt": "joint", "dof": "joint", "tendon": "tendon",
               "ten": "tendon", "actuator": "actuator", "eq": "equality", "light": "light", "cam": "camera",
               "mat": "material", "mocap": "mocap body"}
_LISTS = {"body": "bodies", "geom": "geoms", "site": "sites", "tendon": "tendons", "actuator": "actuators",
          "sensor": "sensors", "equality": "equalities", "light": "lights", "camera": "cameras",
          "material": "materials"}


@dataclasses.dataclass
class Places:
    """Numbers of an array: the element that each belongs to, and which of the element's it is."""

    element: np.ndarray
    component: np.ndarray
    names: list[str]
    noun: str


def regular(count, names, noun):
    """All elements have equally many numbers, one element after the other."""
    per = count // len(names) if names else 0
    at = np.arange(count)
    return Places(at // max(per, 1), at % max(per, 1), names, noun)


def _in_runs(first, size, names, noun):
    """Element i has the `size[i]` numbers from `first[i]` on."""
    has = np.flatnonzero(size)
    has = has[np.argsort(first[has])]
    component = np.concatenate([np.arange(n) for n in size[has]]) if len(has) else np.arange(0)
    return Places(np.repeat(has, size[has]), component, names, noun)


def _joint_names(model):
    """A joint without a name that is its body's only one goes by the body's: <body name="cube"><freejoint/>."""
    names, bodies, owner = list(model.joints), model.bodies, model.jnt_bodyid
    alone = np.bincount(owner, minlength=model.nbody) == 1
    return [name or (bodies[body] if alone[body] and bodies[body] not in names else "")
            for name, body in zip(names, owner)]


def find_owner(array):
    """How the objects are called whose numbers an array has: "joint", "body" …; "element": of none, as of gravity."""
    for names, owner in ((_BODIES, "body"), (_JOINTS, "joint"), (_ACTUATORS, "actuator"), (_SENSORS, "sensor")):
        if array in names:
            return owner
    return _BEGINNINGS.get(array.partition("_")[0], "element")


def find_names(model, owner):
    """Names of all owners of a kind, "" where there is none."""
    if owner == "joint":
        return _joint_names(model)
    if owner == "mocap body":
        bodies = np.flatnonzero(model.body_mocapid >= 0)
        return [model.bodies[body] for body in bodies[np.argsort(model.body_mocapid[bodies])]]
    return getattr(model, _LISTS[owner]) if owner in _LISTS else [""]


def find_places(sim, array):
    """Of a field of the state, a quantity or a parameter of the physics."""
    model, owner = sim.model, find_owner(array)
    names = find_names(model, owner)
    if array in ("qpos", "qpos0"):
        return _in_runs(model.jnt_qposadr, np.array([7, 4, 1, 1])[model.jnt_type], names, owner)
    if array in _DOFS or array.startswith("dof_"):
        return _in_runs(model.jnt_dofadr, np.array([6, 3, 1, 1])[model.jnt_type], names, owner)
    if array in _SENSORS:
        return _in_runs(model.sensor_adr, model.sensor_dim, names, owner)
    if array in ("ctrl", "actuator_ctrlrange"):
        per = 1 if array == "ctrl" else 2
        return _in_runs(per * model.actuator_ctrladr, per * model.actuator_ctrlnum, names, owner)
    if array == "act":
        return _in_runs(model.actuator_actadr, model.actuator_actnum, names, owner)
    if array in _OUTS:
        per = 6 if array == "actuator_gear" else 1
        return _in_runs(per * model.actuator_outadr, per * model.actuator_outnum, names, owner)
    shape = sim.parameter(array).shape if array in sim.parameters else sim.array(array).shape
    return regular(shape[1], names, owner)


def _match(all_names, noun, pattern, who):
    """Numbers of the elements of this name, or whose names match."""
    names = {i: name for i, name in enumerate(all_names) if name}
    found = [i for i, name in names.items() if name == pattern]
    try:
        found = found or [i for i, name in names.items() if re.fullmatch(pattern, name)]
    except re.error as error:
        raise InvalidArgumentError(
            f"{who}: {pattern!r} is no regular expression ({error}); write one, or a name") from None
    if not found:
        near = difflib.get_close_matches(pattern, names.values(), 3)
        near += [name for name in names.values() if pattern.lower() in name.lower() and name not in near][:3]
        known = list(names.values())[:6]
        hint = (f"did you mean {' or '.join(map(repr, near[:3]))}?" if near else
                f"there are {', '.join(known)}{' …' * (len(names) > 6)}" if known else
                f"give numbers, 0 to {len(all_names) - 1}" if all_names else "the model has none at all")
        raise NotFoundError(f"{who}: no {noun} is named {pattern!r} or matches it; {hint}")
    return found


def pick_elements(names, noun, of, who):
    """Numbers of the elements that are meant, in order."""
    count = len(names)
    if of is None:
        return np.arange(count)
    if not isinstance(of, (int, np.integer)) and not np.iterable(of):
        raise InvalidArgumentError(f"{who}: of is {of!r}; give names, numbers, or a list of them")
    chosen = set()
    for one in [of] if isinstance(of, (str, int, np.integer)) else of:
        if isinstance(one, str):
            chosen.update(_match(names, noun, one, who))
        elif not isinstance(one, (int, np.integer)) or not 0 <= one < count:
            raise NotFoundError(
                f"{who}: there is no {noun} {one!r}; give names, or numbers from 0 to {count - 1}")
        else:
            chosen.add(int(one))
    return np.array(sorted(chosen), int)


def pick_items(places, of, component, who):
    """Where the numbers are that belong to the elements `of` (None: to all), of these the components (None: all)."""
    picked = np.isin(places.element, pick_elements(places.names, places.noun, of, who))
    if component is not None:
        wanted = np.atleast_1d(component)
        most = places.component[picked].max(initial=-1)
        if wanted.dtype.kind not in "iu" or not ((0 <= wanted) & (wanted <= most)).all():
            raise InvalidArgumentError(f"{who}: component {component!r}; give numbers from 0 to {most}")
        picked &= np.isin(places.component, wanted)
    if not picked.any():
        raise NotFoundError(f"{who}: of and component leave no number; give others")
    return np.flatnonzero(picked)
