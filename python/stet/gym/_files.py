"""Where the environments' scenes and kernels are: in the package, or, for what it has from elsewhere, in the checkout
around it.
"""

from pathlib import Path

import stet
from stet import _core

_HERE = Path(__file__).resolve().parent
_CHECKOUT = _HERE.parents[2]

_SHIPPED = Path(_core.__file__).with_name("kernels")
"""Where the environments' kernels lie compiled, for every instruction set."""


def _first(*candidates):
    for candidate in candidates:
        if candidate.exists():
            return str(candidate)
    raise FileNotFoundError(f"{candidates[0]} is missing from this installation of stet; install it again")


def scene(name):
    """The path of a shipped scene."""
    return _first(stet.scenes / name, _CHECKOUT / "scenes" / name)


def load_kernel(sim, file, name, **more):
    """A kernel of a sim, from one of the environments' files. more: as of Sim.kernel."""
    # Kernels look there for what they include: the generator of random numbers is the library's own.
    random = Path(_first(_HERE / "worlds" / "random.k.h", _CHECKOUT / "src" / "worlds" / "random.k.h"))
    return sim.kernel(path=_first(_HERE / file), name=name, includes=[str(random.parents[1])], shipped_folder=_SHIPPED,
                      **more)
