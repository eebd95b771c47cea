"""stet.gradcheck: gradients of kernels, by their adjoints, against central differences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from . import _core
from ._errors import InvalidArgumentError


class GradcheckResult(NamedTuple):
    """Elements compared; of them wrong; not 0 by differences (moving). Not compared, because what the kernel computes
    there is not finite, has a kink or is too steep for differences (unfit). The greatest |difference| /
    (1 + |gradient|), and where it is.
    """

    compared: int
    wrong: int
    moving: int
    unfit: int
    worst: float
    where: str


def _list(names):
    return [os.fspath(name) for name in ([names] if isinstance(names, (str, os.PathLike)) else names)]


def gradcheck(
    source: str | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    kernel: str | None = None,
    constant: str | Iterable[str] = (),
    includes: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    numbers: Mapping[str, int] = {},
    items: Mapping[str, int] = {},
    values: Mapping[str, Iterable[int]] = {},
    ranges: Mapping[str, tuple[float, float]] = {},
    worlds: int = 2,
    tolerance: float = 1e-5,
    seed: int = 1,
    cache_folder: str | os.PathLike[str] | None = None,
) -> GradcheckResult:
    """Compares the gradients of a source's kernels (`kernel`: of one) with differences, in double, for random inputs.

    numbers   whole numbers by the name of the parameter (others: 3)
    items     sizes of arrays (others: 32); values: contents of arrays of whole numbers; ranges: where random reals lie
              (others: 0.1 to 0.9)
    constant  parameters that get no gradient

    Wrong gradients are no error: look at the result. An error is a source that cannot be read, differentiated or
    compiled.
    """
    if source is None and path is None:
        raise InvalidArgumentError("gradcheck: give a source or a path")
    return GradcheckResult(
        *_core._gradcheck(
            source or "",
            os.fspath(path) if path else "",
            kernel or "",
            _list(constant),
            _list(includes),
            dict(numbers),
            dict(items),
            {name: [int(x) for x in list_] for name, list_ in values.items()},
            {name: tuple(range_) for name, range_ in ranges.items()},
            worlds,
            tolerance,
            seed,
            os.fspath(cache_folder) if cache_folder else "",
        )
    )
