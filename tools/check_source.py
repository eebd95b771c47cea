#!/usr/bin/env python3
"""Checks of the source that no compiler makes: what the library may not call, and how long a file may be.

The library neither prints, exits, aborts nor reads the environment. One file of src/base/ may read it; the command
(src/cli/) may print. Exit code 1 names every line that breaks this.
"""

import re
import sys

import source

LINES = 600  # a file has one subject

PRINTS = r"(?:v?printf|puts|putchar|perror)\s*\(|\b(?:stdout|stderr)\b"
ENDS = r"(?:exit|_exit|_Exit|quick_exit|abort|raise)\s*\("
ENVIRONMENT = r"(?:getenv|secure_getenv|setenv|unsetenv|putenv)\s*\(|\benviron\b"


def calls(path, pattern):
    text = source.code(source.read(path))
    for found in re.finditer(r"(?<![\w.>])(?:" + pattern + ")", text):
        line = text.count("\n", 0, found.start()) + 1
        yield line, found.group().rstrip("( \t")


def check_calls(paths):
    wrong = []
    readers = set()
    for path in paths:
        layer = path.split("/")[1]
        forbidden = ENDS if layer == "cli" else PRINTS + "|" + ENDS
        for line, name in calls(path, forbidden):
            wrong.append(f"{path}:{line}: uses {name}; return a stet_result with a message instead")
        for line, name in calls(path, ENVIRONMENT):
            readers.add(path)
            if layer != "base":
                wrong.append(f"{path}:{line}: uses {name}; the environment is read in src/base/ only")
    in_base = sorted(p for p in readers if p.startswith("src/base/"))
    if len(in_base) > 1:
        wrong.append(f"{' and '.join(in_base)}: one file may read the environment, not {len(in_base)}")
    return wrong


def check_length(paths):
    counted = ((path, source.read(path).count("\n")) for path in paths)
    return [f"{path}: {n} lines; split it along its subjects below {LINES}" for path, n in counted if n >= LINES]


def main():
    sources = source.files("src")
    every = source.files("bench", "examples", "src", "include", "test", "tools")
    wrong = check_calls(sources) + check_length(every)
    print("\n".join(wrong) if wrong else f"source: {len(every)} files, no forbidden call, none too long")
    return 1 if wrong or not every else 0


if __name__ == "__main__":
    sys.exit(main())
