#!/usr/bin/env python3
"""Checks doc/where.md: every path in it exists, and every function of a row is defined in a file of that row.

A path is what stands in backticks with a / in it (<noun> stands for any name); functions stand in the last column. A
definition is a line that begins with no space, has the name before a bracket, and does not end in a semicolon.
"""

import os
import re
import sys

import source

PAGE = "doc/where.md"


def is_path(word):
    return "/" in word and "<" not in word


def defined(name, path):
    here = re.compile(rf"^(?=[A-Za-z]).*?\b{re.escape(name)}\s*\(", re.MULTILINE)
    text = source.read(path)
    lines = (text[m.start() : text.find("\n", m.start())] for m in here.finditer(text))
    return any(not line.rstrip().endswith(";") for line in lines)


def complaints(text):
    for path in filter(is_path, re.findall(r"`([^`\s]+)`", text)):
        if not os.path.exists(os.path.join(source.ROOT, path)):
            yield f"{PAGE}: there is no {path}"
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    if len(rows) < 15:
        yield f"{PAGE}: {len(rows)} rows; the page has lost its rows"
    for row in rows:
        cells = row.strip("| ").split(" | ")
        if len(cells) != 3:
            yield f"{PAGE}: not question, file, function: {row}"
            continue
        paths = [path for path in re.findall(r"`([^`]+)`", row) if is_path(path)]
        files = [path for path in paths if os.path.isfile(os.path.join(source.ROOT, path))]
        names = re.findall(r"`([^`]+)`", cells[2])
        if not names or not files:
            yield f"{PAGE}: names no file or no function: {row}"
        for name in names:
            if not any(defined(name, path) for path in files):
                yield f"{PAGE}: `{name}` is not defined in {' or '.join(files)}"


def main():
    wrong = list(complaints(source.read(PAGE)))
    print("\n".join(wrong) if wrong else f"{PAGE}: ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
