#!/usr/bin/env python3
"""Checks what the pages of doc/ and the READMEs name: files and folders of the tree, and functions, types, macros and
kernels of the library. What is in backticks or in a link and looks like one of these has to be there. And counts: of
COUNTS, what a page says is what is counted.

A path begins with a folder of the tree and may end in `<noun>`, `*` or `…`; a name begins as the library's names do.
"""

import glob
import os
import re
import sys

import source

TOPS = "bench cmake doc examples include python scenes src test tools".split()
MADE = ("doc/gallery/", "build/")  # by scripts, not in the tree
NAMES = re.compile(r"\b(?:stet|sti|STET|STI|k|ph)_\w+\b")
# Patterns of names, and those that a program of the reader's has.
PATTERNS = re.compile(r"_$|^(?:k|ph|sti|stet|STET|STI)_(?:f|height|axpy|name|NAME|x)$")

WORDS = "none one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
# A page, its sentence about a number; the file and the pattern whose finds are counted or, if it has a group, that.
COUNTS = (
    ("doc/environments.md", r"have\s+(\w+) examples", "python/stet/gym/mujoco.py", r"^class (?!Mujoco)[A-Z]\w+Vec"),
    ("doc/environments.md", r"`robots.k.h` (\w+)", "python/stet/gym/robots.py", r"^class (?!Robot)[A-Z]\w+Vec"),
    ("doc/environments.md", r"`suite.k.h` (\w+)", "python/stet/gym/suite.py", r'^    "[\w-]+": \(\w+VectorEnv, '),
    ("doc/kernels.md", r"At most (\w+) parameters", "src/kernel/signature.h", r"STI_MAX_PARAMS = (\d+)"),
    ("doc/similarity.md", r"of (\d+) pictures have", "bench/results/similarity.md", r" models, (\d+) pictures;"),
)


def pages():
    """Those of the present; what changed once may be no more."""
    return [path for path in source.tracked(".md") if not path.startswith(("bench/results/", "CHANGELOG"))]


def paths_in(text):
    for word in re.findall(r"`([^`\s]+)`|\]\(([^)\s#]+)", text):
        path = (word[0] or word[1]).rstrip(".,:")
        if path.split("/")[0] in TOPS and "/" in path and "://" not in path:
            yield path


def is_there(path):
    if path.startswith(MADE):
        return True
    path = re.sub(r"<\w+>|…", "*", re.sub(r":\d+$", "", path))
    braces = re.search(r"\{([^}]*)\}", path)
    choices = [path[:braces.start()] + one + path[braces.end():] for one in braces[1].split(",")] if braces else [path]
    tests = f"test/{path}_test.*", f"test/python/test_{path.removeprefix('python/')}.py"  # by their names in CTest
    return (all(glob.glob(os.path.join(source.ROOT, choice)) for choice in choices)
            or any(glob.glob(os.path.join(source.ROOT, test)) for test in tests))


def known_names():
    """All words of the source that begin as the library's names do."""
    words = set()
    for path in source.tracked(".c", ".h", ".inl", ".cpp", ".py", ".txt", ".cmake", ".sh", "Makefile"):
        text = source.read(path)
        words.update(NAMES.findall(text))
        words.update(re.findall(r"\b((?:stet|sti|STET|STI|k|ph)_\w*_)##", text))  # of names that macros make
    return words


def complaints(page, text, words):
    for path in dict.fromkeys(paths_in(text)):
        if not is_there(path):
            yield f"{page}: there is no {path}"
    made = tuple(word for word in words if word.endswith("_"))
    for span in re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        for name in NAMES.findall(span):
            if name not in words and not PATTERNS.search(name) and not name.startswith(made):
                yield f"{page}: nothing is called {name}"


def wrong_counts():
    for page, sentence, path, pattern in COUNTS:
        said = re.search(sentence, source.read(page))
        found = re.findall(pattern, source.read(path), re.MULTILINE)
        count = int(found[0]) if "(\\d+)" in pattern and found else len(found)
        if not said or said[1] not in (str(count), *WORDS[count : count + 1]):
            yield f"{page}: says {repr(said[0]) if said else 'nothing'} of {path}, which has {count}"


def main():
    words = known_names()
    wrong = [line for page in pages() for line in complaints(page, source.read(page), words)] + list(wrong_counts())
    print("\n".join(dict.fromkeys(wrong)) if wrong else f"docs: {len(pages())} pages name what there is")
    return 1 if wrong or not pages() or len(words) < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
