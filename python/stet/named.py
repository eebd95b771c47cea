"""What is a joint's, a body's, a sensor's … in arrays of all worlds, by its name: Sim.joint, Sim.sensor, State.site.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._convert import unknown_keyword
from ._errors import NotFoundError
from ._places import find_names, find_owner, find_places, pick_elements, pick_items

# The beginnings of arrays' names that may be left out.
_BEGINNINGS = {"body": ("", "body_"), "joint": ("", "jnt_"), "geom": ("geom_",), "site": ("site_",),
               "actuator": ("", "actuator_"), "tendon": ("ten_", "tendon_")}


def _find_columns(sim: Any, array: str, of: object, component: object, who: str) -> Any:
    """A slice where the numbers are neighbours, so that the array's part is a view; else their places."""
    items = pick_items(find_places(sim, array), of, component, who)
    first, last = int(items[0]), int(items[-1]) + 1
    return slice(first, last) if last - first == len(items) else items


def check_array(sim: Any, array: str) -> None:
    known = [*sim.fields, *sim.quantities, *sim.parameters]
    if array not in known:
        raise NotFoundError(unknown_keyword("the sim", array, known, "array"))


class Element:
    """One object of the model, in all worlds: Sim.joint, Sim.body, Sim.geom, Sim.site, Sim.actuator, Sim.tendon, and
    the same of State. Each attribute is the object's part of an array of the state or of a quantity, by MuJoCo's name,
    [worlds, numbers]: `sim.joint("knee").qpos`, `sim.body("torso").xpos`, `sim.site("grasp").xpos` (of site_xpos),
    `sim.actuator("hip").force` (of actuator_force). Units and frames are the array's. Of a sim it is a read-only view
    of NumPy's, until the array is written, and assigning to it writes the array: `sim.joint("knee").qpos = 0.3`. A name
    that there is not raises NotFoundError, an array that is not of such objects AttributeError.
    """

    def __init__(self, of: Any, kind: str, name: str | int) -> None:
        sim = of._named_sim()
        pick_elements(find_names(sim.model, kind), kind, name, "sim")
        for attribute, value in (("_of", of), ("_sim", sim), ("_kind", kind), ("_name", name)):
            object.__setattr__(self, attribute, value)

    def _find(self, array):
        arrays = (*self._sim.fields, *self._sim.quantities)
        for beginning in _BEGINNINGS[self._kind]:
            whole = beginning + array
            if whole in arrays and find_owner(whole) == self._kind:
                return whole, _find_columns(self._sim, whole, self._name, None, self._kind)
        raise AttributeError(f"{self._kind} {self._name}: no array {array!r} of the state is of "
                             f"{'bodies' if self._kind == 'body' else self._kind + 's'}; it has {', '.join(dir(self))}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        array, columns = self._find(name)
        return self._of._named_part(array, columns)

    if not TYPE_CHECKING:  # which would take any assignment then

        def __setattr__(self, name, value):
            array, columns = self._find(name)
            self._of._named_write(array, columns, value)

    def __dir__(self) -> list[str]:
        sim, names = self._sim, []
        for array in (*sim.fields, *sim.quantities):
            if find_owner(array) == self._kind:
                short = [b for b in _BEGINNINGS[self._kind] if b and array.startswith(b)]
                names.append(array[len(short[0]):] if short else array)
        return names

    def __repr__(self) -> str:
        return f"<{self._kind} {self._name!r} of {self._sim.nworld} worlds: {', '.join(dir(self))}>"


class Named:
    """Parts of a sim's or a state's arrays by names. What inherits it has _named_sim(), _named_part(array, columns) and
    _named_write(array, columns, values).
    """

    def columns(self, array: str, of: object, component: object = None) -> Any:
        """Which columns of an array [worlds, items] are an object's: a field of the state, a quantity, or a parameter
        (Sim.parameters). of: a name, a number, a regular expression that whole names match, or a list of them: joints
        (of qpos, qvel, qacc, qfrc_…, dof_…, jnt_…), bodies, geoms, sites, actuators, sensors … by the array's name. A
        joint without a name that is its body's only one goes by the body's. component: which of each object's numbers,
        such as 2 for the height in xpos. A slice if they are neighbours, else an array of numbers:
        `sim.ctrl[:, sim.columns("ctrl", "hip")] = 0`. NotFoundError suggests the name that was meant.
        """
        sim = self._named_sim()
        check_array(sim, array)
        return _find_columns(sim, array, of, component, f"columns: {array}")

    def sensor(self, name: object) -> Any:
        """[worlds, numbers of the sensor] What a sensor of the present state shows, in MuJoCo's units and frames: its
        part of sensordata, read-only. Of several (a list, a regular expression) all their numbers.
        """
        return self._named_part("sensordata", self.columns("sensordata", name))

    def body(self, name: str | int) -> Element:
        """A body by name or number: xpos, xquat, cvel, subtree_com, xfrc_applied … (Element)."""
        return Element(self, "body", name)

    def joint(self, name: str | int) -> Element:
        """A joint by name or number: qpos, qvel, qacc, qfrc_applied, xanchor … (Element)."""
        return Element(self, "joint", name)

    def geom(self, name: str | int) -> Element:
        """A geom by name or number: xpos, xmat, xquat (Element)."""
        return Element(self, "geom", name)

    def site(self, name: str | int) -> Element:
        """A site by name or number: xpos, xmat, xquat (Element)."""
        return Element(self, "site", name)

    def actuator(self, name: str | int) -> Element:
        """An actuator by name or number: ctrl, act, force, length, velocity (Element)."""
        return Element(self, "actuator", name)

    def tendon(self, name: str | int) -> Element:
        """A tendon by name or number: length, velocity (Element)."""
        return Element(self, "tendon", name)

    def _named_sim(self) -> Any:
        raise NotImplementedError

    def _named_part(self, array: str, columns: Any) -> Any:
        raise NotImplementedError

    def _named_write(self, array: str, columns: Any, values: Any) -> None:
        raise NotImplementedError
