"""What goes wrong is one of stet's errors, with a sentence that says what to do, and is the builtin that fits."""

import gc
import inspect

import numpy as np
import pytest

import stet
from stet import _core
from conftest import KERNEL, SCENE

BUILTINS = {
    stet.InvalidArgumentError: ValueError,
    stet.ArgumentTypeError: TypeError,
    stet.NotFoundError: LookupError,
    stet.MissingFileError: FileNotFoundError,
    stet.FileError: OSError,
    stet.ParseError: ValueError,
    stet.OutOfMemoryError: MemoryError,
    stet.UnsupportedError: NotImplementedError,
    stet.LimitError: ValueError,
    stet.StrictError: RuntimeError,
    stet.AuditError: RuntimeError,
    stet.StateError: RuntimeError,
    stet.DeviceError: RuntimeError,
    stet.FaultError: IndexError,
}


@pytest.mark.parametrize("kind", BUILTINS, ids=lambda kind: kind.__name__)
def test_kinds(kind):
    assert issubclass(kind, stet.Error) and issubclass(kind, BUILTINS[kind])
    assert str(kind("a sentence")) == "a sentence" and kind.result in {
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "IO",
        "PARSE",
        "OUT_OF_MEMORY",
    } | {"UNSUPPORTED", "LIMIT", "STRICT", "AUDIT", "STATE", "DEVICE", "FAULT"}


def test_what_an_error_says():
    with pytest.raises(stet.MissingFileError) as caught:
        stet.Sim("no/such/scene.xml")
    assert "no/such/scene.xml" in str(caught.value) and caught.value.result == "NOT_FOUND"
    assert ".c:" in caught.value.where and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments, kind, why",
    [
        ({"world": 3}, stet.ArgumentTypeError, "did you mean 'worlds'"),
        ({"banana": 3}, stet.ArgumentTypeError, "there are scene, worlds"),
        ({"worlds": 0}, stet.InvalidArgumentError, "worlds is 0"),
        ({"worlds": 2.5}, stet.ArgumentTypeError, "whole number"),
        ({"worlds": "4"}, stet.ArgumentTypeError, "whole number"),
        ({"worlds": 2**40}, stet.LimitError, "at most"),
        ({"device": "gpu"}, stet.NotFoundError, "cuda:1"),
        ({"device": "cpu:1"}, stet.NotFoundError, "there is no device"),
        ({"device": 3}, stet.NotFoundError, "there is no device"),
        ({"device": "hip:7"}, stet.Error, ""),
        ({"physics": "magic"}, stet.NotFoundError, "native or external"),
        ({"cameras": "side"}, stet.NotFoundError, "front"),
        ({"cameras": [1]}, stet.ArgumentTypeError, "cameras are named"),
        ({"cameras": ["front", "front"], "outputs": "rgb"}, stet.InvalidArgumentError, "front"),
        ({"outputs": "colour"}, stet.NotFoundError, "rgb, rgba"),
        ({"outputs": [1]}, stet.ArgumentTypeError, "outputs are named"),
        ({"outputs": "rgb", "width": 20000}, stet.Error, "16384"),
        ({"width": -1}, stet.InvalidArgumentError, "width is -1"),
        ({"samples": 2}, stet.InvalidArgumentError, "2 samples a pixel; 1, 4 or 16"),
        ({"mode": "fancy"}, stet.NotFoundError, "use mujoco or physical"),
        ({"seed": -1}, stet.InvalidArgumentError, "seed is -1"),
        ({"seed": 2**64}, stet.InvalidArgumentError, "seed"),
        ({"keyframe": "fly"}, stet.NotFoundError, "home"),
        ({"keyframe": 2}, stet.Error, "keyframe"),
        ({"keyframe": -2}, stet.InvalidArgumentError, "keyframe is -2"),
        ({"keyframe": 1.5}, stet.ArgumentTypeError, "keyframe"),
        ({"frames_in_flight": 0}, stet.InvalidArgumentError, "frames_in_flight is 0"),
        ({"frames_in_flight": 17}, stet.InvalidArgumentError, "1 to 16"),
        ({"groups": [6]}, stet.InvalidArgumentError, "group of geoms is 6"),
        ({"cameras": "free:1", "outputs": "rgb"}, stet.InvalidArgumentError, "azimuth, elevation"),
        ({"threads": -1}, stet.InvalidArgumentError, "threads is -1"),
        ({"isa": "z80"}, stet.Error, "z80"),
        ({"disable": "everything"}, stet.NotFoundError, "pose_sync"),
        ({"disable": [3]}, stet.ArgumentTypeError, "mechanisms are named"),
    ],
    ids=str,
)
def test_sims(arguments, kind, why):
    gc.collect()
    before = _core._memory()["blocks"]
    with pytest.raises(kind, match=why or None) as caught:
        stet.Sim(SCENE, **{"device": "cpu", **arguments})
    assert isinstance(caught.value, BUILTINS.get(type(caught.value), stet.Error))
    del caught  # its frames hold the model
    gc.collect()
    assert _core._memory()["blocks"] == before


@pytest.mark.parametrize(
    "scene, kind, why",
    [
        ("<mujoco><worldbody><nothing/></worldbody></mujoco>", stet.ParseError, "nothing"),
        ("<broken", stet.ParseError, ""),
        (b"\xff\xfe", stet.Error, ""),
        (3, stet.ArgumentTypeError, "a scene is a path"),
        (None, stet.ArgumentTypeError, "a scene is a path"),
        (".", stet.Error, ""),
        ("", stet.Error, ""),
    ],
    ids=str,
)
def test_scenes(scene, kind, why):
    with pytest.raises(kind, match=why or None):
        stet.Sim(scene)


def test_calls(make):
    sim = make(outputs="rgb", width=8, height=8)
    sim.render()
    for call, kind, why in [
        (lambda: sim.step(-1), stet.InvalidArgumentError, "-1"),
        (lambda: sim.step(mask=[1, 0]), stet.InvalidArgumentError, r"shape \(5,\)"),
        (lambda: sim.step(mask=[0.5] * 5), stet.InvalidArgumentError, "booleans"),
        (lambda: sim.step(mask="abcde"), stet.InvalidArgumentError, "mask"),
        (lambda: sim.render(mask=np.ones((5, 2))), stet.InvalidArgumentError, "mask"),
        (lambda: sim.reset(mask=[1] * 6), stet.InvalidArgumentError, "mask"),
        (lambda: sim.reset(worlds=[5]), stet.InvalidArgumentError, "5"),
        (lambda: sim.reset(worlds=[-1]), stet.InvalidArgumentError, "-1"),
        (lambda: sim.reset(worlds=[0.5]), stet.InvalidArgumentError, "integers"),
        (lambda: sim.reset(worlds=[[1]]), stet.InvalidArgumentError, "list"),
        (lambda: sim.reset(mask=[1] * 5, worlds=[1]), stet.InvalidArgumentError, "mask"),
        (lambda: sim.reset(keyframe="nowhere"), stet.NotFoundError, "home"),
        (lambda: sim.reset(keyframe=7), stet.Error, "7"),
        (lambda: sim.reset(qpos_noise=-1), stet.InvalidArgumentError, "noise"),
        (lambda: sim.reset(qpos_noise=float("nan")), stet.InvalidArgumentError, "noise"),
        (lambda: sim.read("depth"), stet.NotFoundError, "outputs"),
        (lambda: sim.read("smell"), stet.NotFoundError, "rgb"),
        (lambda: sim.read("rgb", camera=3), stet.NotFoundError, "camera 3"),
        (lambda: sim.read("rgb", camera="side"), stet.NotFoundError, "front"),
        (lambda: sim.read("rgb", frame=9), stet.NotFoundError, "frame"),
        (lambda: sim.read("rgb", frame=-1), stet.NotFoundError, "frame -1"),
        (lambda: sim.read("rgb", out=np.zeros(3)), stet.InvalidArgumentError, "out is"),
        (lambda: sim.tensor("rgb", "front", 7), stet.NotFoundError, "frame"),
        (lambda: sim.control_noise(-1, 0), stet.InvalidArgumentError, "scale"),
        (lambda: sim.control_noise(1, -1), stet.InvalidArgumentError, "frame"),
        (lambda: sim.set_parameter("charm", 1), stet.NotFoundError, "gravity"),
        (lambda: sim.set_parameter("friction", [1, 2]), stet.InvalidArgumentError, "friction"),
        (lambda: sim.set_parameter("friction", "slippery"), stet.InvalidArgumentError, "friction"),
        (lambda: sim.configure(disable=["none"]), stet.NotFoundError, "none"),
        (lambda: sim.use_stream("s"), stet.ArgumentTypeError, "stream"),
        (lambda: sim.wait_stream(-1), stet.InvalidArgumentError, "stream"),
        (lambda: sim.signal_stream(None), stet.ArgumentTypeError, "stream"),
        (lambda: sim.save("/no/such/folder/state"), stet.Error, "/no/such/folder"),
        (lambda: sim.step("x"), TypeError, "step"),
        (lambda: sim.step(n=1, many=2), TypeError, "step"),
        (lambda: sim.restore(3), TypeError, "restore"),
        (lambda: sim.replayed("x"), TypeError, "replayed"),
        (lambda: sim.record(3), TypeError, ""),
    ]:
        with pytest.raises(kind, match=why or None):
            call()
    with pytest.raises(stet.StateError, match="outputs"):
        make().render()
    with pytest.raises(stet.StateError, match="outputs"):
        make().hash_frame()
    two, other = make(worlds=3), make(worlds=2)
    with pytest.raises(stet.InvalidArgumentError):
        two.restore(other.snapshot())


def test_streams_of_what_has_none(make):
    """On the CPU work is done when a call returns: these calls check their arguments, and that is all."""
    sim = make()

    class Protocol:
        def __cuda_stream__(self):
            return (0, 16)

    class Torch:
        cuda_stream = 32

    for stream in (0, 16, Protocol(), Torch(), np.int64(5)):
        sim.use_stream(stream)
        sim.wait_stream(stream)
        sim.signal_stream(stream)
    sim.use_stream(None)
    sim.synchronize()
    sim.step()


def test_wrong_arguments_are_one_sentence(make):
    """Every function of the extension that is called with arguments that it does not take, in every wrong way: one
    sentence, no list of signatures.
    """
    sim = make(outputs="rgb", width=8, height=8)
    kernel, array = sim.kernel(KERNEL), sim.qpos
    for call, why in [
        (lambda: sim.step("x"), "step: n is a whole number, not a 'str'"),
        (lambda: sim.step(n=None), "step: n is a whole number, not a 'NoneType'"),
        (lambda: sim.step(1, 2, 3), "step takes 2 arguments by place, not 3"),
        (lambda: sim.step(2**70), "does not fit a number of 64 bits"),
        (lambda: sim.reset(qpos_noise="a"), "reset: qpos_noise is a number"),
        (lambda: sim.control_noise(), "control_noise needs 'scale'"),
        (lambda: sim.tensor(3), "tensor: output is a str, not a 'int'"),
        (lambda: sim.restore(None), "restore: snapshot is a Snapshot, not a 'NoneType'"),
        (lambda: sim.set_reset(3), "set_reset: mask is an Array or None, not a 'int'"),
        (lambda: sim.kernel(3), "kernel: source is a str, not a 'int'"),
        (lambda: sim.kernel(KERNEL, team="a"), "kernel: team is a whole number, not a 'str'"),
        (lambda: sim.kernel(KERNEL, compilr="x"), "kernel has no argument 'compilr'; did you mean 'compiler'?"),
        (lambda: array.read_worlds(1), "read_worlds needs 'n'"),
        (lambda: array.read_worlds(frist=1, n=2), "read_worlds has no argument 'frist'; did you mean 'first'?"),
        (lambda: array.export(writeable=True), "export has no argument 'writeable'; did you mean 'writable'?"),
        (lambda: array.__dlpack__(max_version=1), "does not take"),
        (lambda: kernel(array), "a kernel's launch: count is a whole number, not a 'Array'"),
        (lambda: kernel(), "a kernel's launch needs 'count'"),
        (lambda: sim.model.find(3, 4), "find: kind is a str"),
        (lambda: stet.Sim(SCENE, wrlds=3), "Sim has no argument 'wrlds'; did you mean 'worlds'?"),
    ]:
        with pytest.raises(stet.ArgumentTypeError) as caught:
            call()
        text = str(caught.value)
        assert why in text and "\n" not in text and len(text) < 300, text


def test_no_function_lists_its_signatures(make):
    """The same for all of them, with what nobody takes."""
    sim = make(outputs="rgb", width=8, height=8)
    sim.render()

    class Nothing:
        pass

    for thing in (sim, sim.qpos, sim.kernel(KERNEL), sim.model, sim.device, sim.snapshot(), sim.qpos.export()):
        for name in dir(type(thing)):
            function = getattr(type(thing), name)
            if type(function).__name__ != "nb_method" or name == "__init__":
                continue
            for arguments, keywords in [((Nothing(),) * 9, {}), ((), {"no_such_argument": 1}), ((Nothing(),), {})]:
                try:
                    function(thing, *arguments, **keywords)
                except TypeError as error:
                    assert "incompatible" not in str(error) and "\n" not in str(error), (name, error)
                except Exception as error:
                    assert "std::" not in str(error), (name, error)


SAME = """#include "stet/lang.h"
world_kernel void k_same(const real *x, real *y) { each (i, 1) put(y, i, x[0]); }"""


def test_sentences_speak_python():
    """The library's name what Python has, by Python's names."""
    sim = stet.Sim(SCENE, worlds=2, outputs=("rgb",), width=8, height=8)
    kernel = sim.kernel(SAME)
    for said, kind, call in (
        ("make it with outputs: stet.Sim", stet.StateError, lambda: stet.Sim(SCENE).read("rgb")),
        ("make the sim with it: stet.Sim", stet.NotFoundError, lambda: sim.read("depth")),
        ("Sim.array", stet.UnsupportedError, lambda: stet.Sim(SCENE, physics="external").step_quantity("qacc")),
        ("(Array.write)", stet.UnsupportedError, lambda: taped(sim, lambda: kernel(2, sim.qpos, sim.qpos))),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert said in str(caught.value) and "stet_" not in str(caught.value) and " def" not in str(caught.value)


def taped(sim, run):
    with stet.Tape(sim):
        run()


def test_shapes_that_are_none():
    sim = stet.Sim(SCENE, worlds=2)
    assert sim.zeros(np.array([2, 9])).shape == (2, 9) and sim.zeros(np.int64(3)).shape == (3,)
    assert sim.zeros(np.array(4)).shape == (4,)
    for shape in (np.zeros((3, 9)), np.array([2.5, 1]), sim.qpos, "abc", None, 2.5, [None], [[2, 3]], {2: 3}):
        with pytest.raises((stet.ArgumentTypeError, stet.InvalidArgumentError), match="^zeros: "):
            sim.zeros(shape)
    for shape in (2**63, [2**70], [-(2**64)]):
        with pytest.raises(stet.Error, match="length of a dimension"):
            sim.zeros(shape)


class Index:
    """It says that it is a whole number, and is none."""

    def __index__(self):
        raise ZeroDivisionError("no number")


def test_numbers_that_are_none():
    sim = stet.Sim(SCENE, worlds=2)
    with pytest.raises(ZeroDivisionError, match="no number"):
        sim.kernel(KERNEL)(2, sim.qpos, sim.qvel, 1.0, Index(), 1)


class Old(Exception):
    """As those of Python 3.10 are."""

    @property
    def add_note(self):
        raise AttributeError


def test_notes_of_errors():
    """Where errors have no notes their text ends with it."""
    ends = (ValueError("what"), "what"), (Old("what"), "what\nwhy"), (Old(), "why"), (Old(2, 3), "2\nwhy")
    for error, text in ends:
        stet._errors.add_note(error, "why")
        assert str(error.args[0] if error.args else "") == text, error
        assert getattr(error, "__notes__", []) == (["why"] if type(error) is ValueError else [])


def test_signatures_are_explicit():
    """Misspelt keywords are found by those that check types: no function takes what it does not name."""
    for function in (stet.Sim.__init__, stet.Sim.kernel):
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds
    of_sim = [
        name for name, one in inspect.signature(stet.Sim.__init__).parameters.items() if one.kind is one.KEYWORD_ONLY
    ]
    assert list(stet.sim.SimOptions.__annotations__) == of_sim  # what Pool.get and the environments hand on
    with pytest.raises(stet.ArgumentTypeError, match="did you mean 'outputs'"):
        stet.Pool().get(SCENE, output="rgb")
