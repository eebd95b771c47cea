"""doc/gradients.md: its programs print what it shows."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "doc" / "gradients.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", PAGE, re.S)


def test_the_page_has_programs():
    assert len(PROGRAMS) == PAGE.count("```python") == 5


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs(number):
    program, shown = PROGRAMS[number]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "doc/gradients.md", "exec"), {})
    assert out.getvalue().strip() == shown.strip()
