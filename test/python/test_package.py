"""The package as such: what it names, its stubs, the examples of its documentation."""

import ast
import inspect
import os
import re
import subprocess
import sys
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


def test_modules_are_imported_when_they_are_used():
    code = "import sys, stet; assert 'stet.control' not in sys.modules; print(stet.control.__name__, stet.nothing)"
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "AttributeError: module 'stet' has no attribute 'nothing'" in done.stderr
    for name in "control", "data", "gym", "jax", "torch", "video":
        try:
            module = getattr(stet, name)
            assert module.__name__ == f"stet.{name}" and set(module.__all__) <= set(dir(module))
            assert name == "gym" or dir(module) == sorted(module.__all__), "what a module imports is not its own"
        except ModuleNotFoundError as error:
            assert error.name in ("h5py", "gymnasium", "jax", "torch")


def stubs():
    """Names of each class in _core.pyi."""
    tree = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text())
    return {
        node.name: {
            part.name if isinstance(part, ast.FunctionDef) else part.target.id
            for part in node.body
            if hasattr(part, "name") or hasattr(part, "target")
        }
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


def test_the_readme_s_model(monkeypatch, capsys):
    """Its section "Your own model" runs as it stands, in the checkout."""
    section = (ROOT / "README.md").read_text().split("## Your own model")[1].split("\n## ")[0]
    monkeypatch.chdir(ROOT)
    (block,) = python_blocks(section)
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    assert names["pixels"].shape == (64, 96, 128, 3) and names["pixels"].std() > 5
    assert capsys.readouterr().out.startswith("(64, ")


def test_the_readme_s_robot(capsys):
    """Its section "Train a robot" runs as it stands, with two updates."""
    pytest.importorskip("gymnasium")
    (block,) = python_blocks((ROOT / "README.md").read_text().split("## Train a robot")[1].split("\n## ")[0])
    names = {}
    exec(compile(block.replace("np.zeros((17, 6)), 60", "np.zeros((17, 6)), 2"), "README.md", "exec"), names)
    names["env"].close()
    returns = re.findall(r"^(\d) mean return (-?[\d.]+)$", capsys.readouterr().out, re.M)
    assert [update for update, _ in returns] == ["0", "1"] and names["policy"].any()


def test_the_page_s_environment():
    """The section "Environments" of doc/python.md runs as it stands."""
    pytest.importorskip("gymnasium")
    (block,) = python_blocks((ROOT / "doc/python.md").read_text().split("## Environments")[1].split("\n## ")[0])
    names = {}
    exec(compile(block, "doc/python.md", "exec"), names)
    assert names["observation"].shape == (64, 4) and (names["reward"] > 0.9).all()
    names["envs"].close()


def test_the_readme_s_c(tmp_path):
    """Its C, and that of doc/c.md, is C: the lines of a body of main, or of a function that has what they name."""
    before = "#include <stet/stet.h>\n#include <stdio.h>\n"
    text = (ROOT / "README.md").read_text() + (ROOT / "doc/c.md").read_text()
    blocks = re.findall(r"^```c\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 2
    body = (
        "stet_result launches(void);\n"
        "int lines(stet_tape *tape, stet_array *miss, stet_array *gradient, stet_result result, int steps)\n"
    )
    source = before + "int main(void)\n{\n" + blocks[0] + "return 0;\n}\n" + body + "{\n" + blocks[
        1] + "return (int)result;\n}\n"
    (tmp_path / "readme.c").write_text(source)
    done = subprocess.run([
        "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}", tmp_path / "readme.c"
    ], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def python_page():
    """doc/python.md before its section about environments."""
    return (ROOT / "doc/python.md").read_text().split("\n## Environments")[0]


def test_the_page(monkeypatch, capsys):
    """doc/python.md runs as it stands, in the checkout."""
    monkeypatch.chdir(ROOT)
    (block,) = python_blocks(python_page())
    names = {}
    exec(compile(block, "doc/python.md", "exec"), names)
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


# ---- what an installation has --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The package as the wheel has it: what the build installs (component python), with Python's own files beside it,
    as the wheel's builder copies them.
    """
    build = Path(_core.__file__).parents[2]
    cache = build / "CMakeCache.txt"
    if not cache.exists():
        pytest.skip("not in a build tree")
    cmake = re.search(r"^CMAKE_COMMAND:INTERNAL=(.*)$", cache.read_text(), re.M)[1]
    place = tmp_path_factory.mktemp("site")
    subprocess.run(
        [cmake, "--install", build, "--component", "python", "--prefix", place], check=True, capture_output=True
    )
    for file in (ROOT / "python" / "stet").rglob("*"):
        if file.suffix in (".py", ".h", ".typed") and "__pycache__" not in file.parts:
            to = place / "stet" / file.relative_to(ROOT / "python" / "stet")
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(file.read_bytes())
    return place


def outside(wheel, folder, *command):
    """Runs a command in a folder that is no checkout, with the installed package alone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STET_")} | {
        "PYTHONPATH": str(wheel)
    }
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_the_wheel_has_all(wheel):
    have = {str(file.relative_to(wheel / "stet")) for file in (wheel / "stet").rglob("*") if file.is_file()}
    assert {"bin/stet", "_command.py", "_core.pyi", "py.typed", "scenes/hand.xml", "gym/worlds/random.k.h",
            "control.k.h"} <= have
    assert any(name.startswith("libmujoco") for name in have)
    assert any(name.startswith("licenses/mujoco/LICENSE") for name in have)
    assert "Apache License" in "".join(file.read_text() for file in (wheel / "stet" / "licenses" / "mujoco").iterdir())
    assert len([name for name in have if name.startswith("kernels/")]) == 13 * (
        5 if os.uname().machine == "x86_64" else 3
    )


def test_the_installed_command(wheel, tmp_path):
    command = [sys.executable, "-m", "stet._command"]
    done = outside(wheel, tmp_path, *command, "--help")
    assert (
        done.returncode == 0
        and done.stdout == outside(wheel, tmp_path, str(wheel / "stet" / "bin" / "stet"), "--help").stdout
    )
    scene = str(wheel / "stet" / "scenes" / "cartpole.xml")
    done = outside(
        wheel, tmp_path, *command, "run", scene, "--worlds", "3", "--frames", "2", "--output", "none", "--json"
    )
    assert done.returncode == 0 and '"nworld": 3' in done.stdout.replace('"worlds"', '"nworld"'), done.stderr
    assert outside(wheel, tmp_path, *command, "run", "nothing.xml").returncode == 2
    done = outside(wheel, tmp_path, *command, "bench", "--list")
    assert done.returncode != 0 and "make builds it" in done.stderr, "a wheel has no benchmarks"


def test_the_installed_package(wheel, tmp_path):
    """The Python of doc/python.md, from outside of the checkout, with the scenes of the package."""
    (block,) = python_blocks(python_page())
    block = block.replace('"scenes/hand.xml"', 'stet.scenes / "hand.xml"')
    done = outside(wheel, tmp_path, sys.executable, "-c", block + "\nassert '/build/' not in stet.__file__")
    assert done.returncode == 0, done.stderr


def test_the_page_names_what_is_needed(wheel):
    """Of the system, at run time: as ldd says."""
    section = python_page()
    packages = {
        "libgomp": "libgomp1",
        "libstdc++": "libstdc++6",
        "libpng16": "libpng16-16",
        "libjansson": "libjansson4",
        "libminizip": "libminizip1",
    }
    own = ("linux-vdso", "ld-linux", "libc", "libm", "libdl", "libpthread", "librt", "libgcc_s", "libz", "libmujoco")
    for file in [wheel / "stet" / "bin" / "stet", *(wheel / "stet").glob("_core*.so")]:
        text = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
        assert "not found" not in text and f"{wheel}" in text  # MuJoCo's library is the package's own
        for line in text.splitlines():
            name = line.split()[0].rsplit("/", 1)[-1].split(".so")[0]
            if name not in own and not name.startswith("ld-linux"):
                assert packages[name] in section, name


def test_the_metadata():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"stet": "stet._command:main"} and project["optional-dependencies"]["gym"]
    assert project["urls"] and all(
        "," not in label and url.startswith("https://") for label, url in project["urls"].items()
    )
    assert any(name.startswith("Topic ::") for name in project["classifiers"]) and project["license"] == "Apache-2.0"
    assert ".[gym,view]" in (ROOT / "README.md").read_text() and project["optional-dependencies"]["view"]


def test_gym_says_what_it_needs(wheel, tmp_path):
    block = "import sys; sys.modules['gymnasium'] = None\nimport stet.gym"
    done = outside(wheel, tmp_path, sys.executable, "-c", block)
    assert done.returncode == 1 and "stet.gym needs gymnasium" in done.stderr
