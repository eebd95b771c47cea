"""The package as such: what it names, its stubs, the examples of its documentation."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import stet
from stet import _core

ROOT = Path(__file__).resolve().parents[2]


def test_version():
    assert re.search(r"project\(stet VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1] == stet.__version__


def test_all_is_there():
    for name in stet.__all__:
        assert getattr(stet, name).__doc__, name


def stubs():
    """Names of each class in _core.pyi."""
    tree = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text())
    return {
        node.name: {part.name if isinstance(part, ast.FunctionDef) else part.target.id for part in node.body if hasattr(part, "name") or hasattr(part, "target")}
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def test_stubs_say_all():
    known = stubs()
    for name, kind in inspect.getmembers(_core, inspect.isclass):
        public = {attribute for attribute in vars(kind) if not attribute.startswith("_")}
        assert public <= known[name], name
    assert (Path(stet.__file__).with_name("py.typed")).exists()


def said_of(kind, name):
    """The docstring of an attribute, without the signature that nanobind puts before it."""
    doc = inspect.getdoc(inspect.getattr_static(kind, name)) or ""
    return "\n".join(line for line in doc.splitlines() if not re.match(rf"{name}\(.*\) -> ", line)).strip()


def test_everything_is_documented():
    for kind in (stet.Sim, stet.Array, stet.Kernel, stet.Model, stet.Device):
        for name in dir(kind):
            if name.startswith("_") or re.fullmatch("n[a-z]+", name):  # nq, nbody: MuJoCo's own names
                continue
            assert said_of(kind, name), f"{kind.__name__}.{name}"


def python_blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.S)


def test_the_readme(monkeypatch, capsys):
    """Its section "From Python" runs as it stands, in the checkout."""
    section = (ROOT / "README.md").read_text().split("## From Python")[1].split("\n## ")[0]
    monkeypatch.chdir(ROOT)
    (block,) = python_blocks(section)
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    assert names["pixels"].shape == (64, 96, 128, 3) and names["pixels"].std() > 5
    height, frame = capsys.readouterr().out.split(" ", 1)
    assert 0.1 < float(height) < 0.5 and "'misses': 1" in frame and names["sim"].closed


def test_the_package_s_own_example(monkeypatch):
    example = inspect.cleandoc(re.search(r"    import stet\n.*", stet.__doc__, re.S)[0])
    monkeypatch.chdir(ROOT)
    names = {}
    exec(compile(example, "stet/__init__.py", "exec"), names)
    assert names["pixels"].shape == (64, 128, 128, 3)


@pytest.mark.parametrize("name", ["hand.xml", "cartpole.xml", "robot.urdf"])
def test_scenes(name):
    assert stet.load(stet.scenes / name).nbody > 1
