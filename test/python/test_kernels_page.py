"""doc/kernels.md: its kernels compile, its programs print what it shows, and its refusals are the checker's."""

import contextlib
import io
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import stet
from stet import _core

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "doc" / "kernels.md").read_text()
COMMAND = Path(_core.__file__).with_name("bin") / "stet"
EMPTY = "<mujoco><worldbody/></mujoco>"

# What stands around a row's source: a kernel whose arrays are all written.
BEFORE = '#include "stet/lang.h"\n'
PARAMETERS = "const real *x, real *y, lint *m, int n, ureal a"
WRITES = "each (i, n) { put(y, i, x[i]); m[i] = isplat(n); }"
WHOLE = re.compile(r"(typedef|LFN|world_kernel|item_kernel|int counter)\b")


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S)


def rows(heading):
    """(source, sentence) of the tables whose second column has this heading."""
    tables = re.findall(rf"\| source \| {re.escape(heading)} \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", PAGE)
    return [re.fullmatch(r"\| `(.*?)` \| (.*) \|", line).groups() for table in tables for line in table.splitlines()]


def source_of(row):
    """A whole source around what a row has."""
    if not WHOLE.match(row):
        return f"{BEFORE}world_kernel void k_f({PARAMETERS})\n{{\n{WRITES}\n{row}\n}}\n"
    own = "" if "_kernel" in row else f"\nworld_kernel void k_f({PARAMETERS}) {{ {WRITES} }}"
    return f"{BEFORE}{row}{own}\n"


def same(shown, printed):
    """Whether a text is as the page shows it, where … stands for anything in a line."""
    return re.fullmatch(re.escape(shown.strip()).replace("…", r".*?"), printed.strip())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the page's kernels, under the names that they begin with."""
    place = tmp_path_factory.mktemp("kernels")
    for text in blocks("c"):
        (place / re.match(r"/\* ([\w.]+\.k\.h): ", text)[1]).write_text(text)
    return place


def test_the_page_has_examples():
    assert len(blocks("c")) == 5 and len(blocks("python")) == 4 and len(blocks("console")) == 2


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_programs(folder, monkeypatch, number):
    program, shown = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", PAGE, re.S)[number]
    monkeypatch.chdir(folder)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "doc/kernels.md", "exec"), {})
    assert same(shown, out.getvalue()), out.getvalue()


def commands():
    parts = [part for block in blocks("console") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [part.split("\n", 1) for part in parts]


@pytest.mark.parametrize("line, shown", commands())
def test_commands(folder, line, shown):
    words = line.split()
    assert words[0] == "stet"
    done = subprocess.run([COMMAND, *words[1:]], cwd=folder, env=os.environ, capture_output=True, text=True)
    assert same(shown, done.stdout + done.stderr), done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(re.findall(r"```c\n/\* ([\w.]+): ", PAGE)))
def test_kernels(folder, name):
    """All compile, for lanes of every width, and have adjoints."""
    for isa in ("portable", None):
        with stet.Sim(EMPTY, physics="external", device="cpu", isa=isa) as sim:
            assert sim.kernel(path=folder / name).adjoint.source


@pytest.fixture
def scrambling(tmp_path):
    """A compiler with which `each` runs its iterations in a scrambled order."""
    compiler = tmp_path / "scrambling-cc"
    compiler.write_text('#!/bin/sh\nexec cc -DSTET_PERMUTE=1 "$@"\n')
    compiler.chmod(0o755)
    return str(compiler)


def test_equal_bits(folder, scrambling):
    """Example 2 has the same bits at every width, and in whatever order the team works."""
    plan = np.random.default_rng(2).uniform(-1, 1, (9, 50))
    results = []
    for isa, compiler in [(None, None), ("portable", None), ("w1", None), (None, scrambling)]:
        with stet.Sim(EMPTY, worlds=9, physics="external", device="cpu", isa=isa) as sim:
            kernel = sim.kernel(path=folder / "smooth.k.h", compiler=compiler)
            before, after = (sim.zeros(plan.shape, worlds=True) for _ in range(2))
            before[:] = plan
            kernel(9, before, after, 5, 50)
            results.append(after.numpy().tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize("row, sentence", rows("what stet says"))
def test_refusals(row, sentence):
    with stet.Sim(EMPTY, physics="external", device="null") as sim:
        with pytest.raises(stet.ParseError) as caught:
            sim.kernel(source_of(row))
    first = str(caught.value).split("; kernel:")[0]
    assert re.sub(r"^kernel:\d+:\d+: ", "", first) == sentence


@pytest.mark.parametrize("row, sentence", rows("what `stet adjoint` says"))
def test_refused_gradients(tmp_path, row, sentence):
    (tmp_path / "k.k.h").write_text(source_of(row))
    done = subprocess.run([COMMAND, "adjoint", "k.k.h"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert re.sub(r"^(stet adjoint: )?k\.k\.h:\d+:\d+: ", "", done.stderr.splitlines()[0]) == sentence


def test_the_tables_are_found():
    assert len(rows("what stet says")) > 30 and len(rows("what `stet adjoint` says")) == 4
