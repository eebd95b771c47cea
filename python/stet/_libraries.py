"""Libraries that only parts of the package need."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import Any

from ._errors import UnsupportedError


def check_libraries(what: str, **packages: str) -> None:
    """UnsupportedError, unless all modules (name: its package) can be imported."""
    lacking = [package for module, package in packages.items() if importlib.util.find_spec(module) is None]
    if lacking:
        raise UnsupportedError(f"{what} needs {' and '.join(lacking)}: pip install {' '.join(lacking)}")


def progress(items: Iterable[Any], what: str) -> Iterable[Any]:
    """The items; where tqdm is installed and somebody watches, a bar on the terminal shows how far they are."""
    if importlib.util.find_spec("tqdm") is None:
        return items
    from tqdm import tqdm

    return tqdm(items, what, disable=None, leave=False)
