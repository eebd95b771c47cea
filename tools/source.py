"""What the checks of the source share: finding its files, and reading C without comments and strings."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
C_SUFFIXES = (".c", ".h", ".inl")


def files(*folders, suffixes=C_SUFFIXES):
    """Paths, relative to the checkout, of the files below the folders; sorted, so that reports are stable."""
    found = []
    for folder in folders:
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            found += [os.path.relpath(os.path.join(where, n), ROOT) for n in names if n.endswith(suffixes)]
    return sorted(found)


def tracked(*suffixes):
    """Paths of all files of the checkout with these endings, without build trees and hidden folders."""
    found = []
    for where, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".", "build", "_skbuild")) and f != "__pycache__"]
        found += [os.path.relpath(os.path.join(where, n), ROOT) for n in names if n.endswith(suffixes)]
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


# A string comes before a comment: "//" inside one does not start the other.
_SKIPPED = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)


def code(text):
    """The text with comments and the contents of strings blanked; lines keep their numbers."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return _SKIPPED.sub(blank, text)


def uncommented(text):
    """The text with comments blanked and strings kept (an #include names its file in one)."""

    def blank(match):
        return match.group() if match.group()[0] in "\"'" else re.sub(r"[^\n]", " ", match.group())

    return _SKIPPED.sub(blank, text)
