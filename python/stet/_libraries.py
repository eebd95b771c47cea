"""Libraries that only parts of the package need."""

import importlib.util

from ._errors import UnsupportedError


def check_libraries(what: str, **packages: str) -> None:
    """UnsupportedError, unless all modules (name: its package) can be imported."""
    lacking = [package for module, package in packages.items() if importlib.util.find_spec(module) is None]
    if lacking:
        raise UnsupportedError(f"{what} needs {' and '.join(lacking)}: pip install {' '.join(lacking)}")
