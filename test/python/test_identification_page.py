"""doc/identification.md: its program prints what it shows."""

import contextlib
import io
import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "doc" / "identification.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```(?:\n```text\n(.*?)```)?", PAGE, re.S)


def test_programs():
    names = {}
    assert len(PROGRAMS) == 1
    for program, shown in PROGRAMS:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(program, "doc/identification.md", "exec"), names)
        assert out.getvalue().strip() == shown.strip()
