"""inspect.signature over all that is public."""

import inspect

import pytest

import stet
from stet import _core


def public_callables():
    for name in stet.__all__:
        one = getattr(stet, name)
        if inspect.isclass(one):
            for member, value in inspect.getmembers(one, callable):
                of_python = getattr(BaseException, member, None) is value
                if not (member.startswith("_") or of_python or inspect.isclass(value)):
                    yield pytest.param(value, id=f"{name}.{member}")
        elif callable(one):
            yield pytest.param(one, id=name)


@pytest.mark.parametrize("function", public_callables())
def test_has_a_signature(function):
    text, parameters = getattr(function, "__nb_signature__", None), inspect.signature(function).parameters
    if text is not None:
        assert all(name in text[0][0] for name in parameters)
        assert text[0][0].count(" = ") == sum(p.default is not p.empty for p in parameters.values())


def test_names_and_defaults():
    assert str(inspect.signature(_core.SimBase.step)) == "(self, n: 'int' = 1, mask: 'object | None' = None) -> 'None'"
    camera = inspect.signature(stet.Sim.read).parameters["camera"]
    assert (camera.annotation, camera.default) == ("int | str", 0)
    kind = inspect.signature(stet.Array.export).parameters["writable"]
    assert (kind.kind, kind.default) == (kind.KEYWORD_ONLY, False)


def test_a_bound_method_has_no_self(sim):
    assert list(inspect.signature(sim.step).parameters) == ["n", "mask"]
    assert list(inspect.signature(sim.qpos.write).parameters) == ["x"]
