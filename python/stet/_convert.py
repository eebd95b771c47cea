"""What the binding leaves to Python: conversions that are not on the way of a step.

Each returns what the library can take as it is, or raises one of stet's errors with a sentence that names the array.
"""

import ast
import difflib
import re

import numpy as np

from ._errors import ArgumentTypeError, InvalidArgumentError


# ---- arguments -------------------------------------------------------------------------------------------------------


def whole(what, value, least, most):
    """A whole number within these bounds."""
    try:
        number = value.__index__()
    except AttributeError:
        raise ArgumentTypeError(f"{what} is a whole number, not a {type(value).__name__!r}") from None
    if not least <= number <= most:
        raise InvalidArgumentError(f"{what} is {number}; it may be {least} to {most}")
    return number


def texts(what, names):
    """A name or several as a list of str."""
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{what} are named by str, not {type(name).__name__!r}")
    return names


def stream_handle(stream):
    """The handle of a stream: a number, or what has one (torch.cuda.Stream, anything with __cuda_stream__)."""
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    elif hasattr(stream, "cuda_stream"):
        stream = stream.cuda_stream
    return whole("a stream", stream, 0, 2**64 - 1)


# ---- calls with wrong arguments --------------------------------------------------------------------------------------


def unknown_keyword(function, name, names, kind="argument"):
    """A sentence about a keyword that is not there, with the one that was meant, if that can be guessed."""
    near = difflib.get_close_matches(name, names, 1)
    hint = (
        f"did you mean {near[0]!r}?"
        if near
        else f"there are {', '.join(names)}" if len(names) > 1 else f"it takes {names[0] if names else 'none'}"
    )
    return f"{function} has no {kind} {name!r}; {hint}"


_FITS = {
    "int": lambda x: hasattr(x, "__index__"),
    "float": lambda x: hasattr(x, "__float__") or hasattr(x, "__index__"),
    "str": lambda x: isinstance(x, str),
    "bool": lambda x: isinstance(x, bool),
}
_WORDS = {"int": "a whole number", "float": "a number", "str": "a str", "bool": "True or False"}


def _fits(x, annotation):
    """False only where x cannot be what the annotation says."""
    kinds = [kind.strip() for kind in re.sub(r"\[.*\]", "", annotation).split("|")]
    if any(kind in ("object", "None") and (kind == "object" or x is None) for kind in kinds):
        return True
    known = [kind for kind in kinds if kind in _FITS]
    named = [kind.rsplit(".", 1)[-1] for kind in kinds if kind not in _FITS]
    classes = {one.__name__ for one in type(x).__mro__}
    if any(name[:1].islower() or name in ("Sequence", "NDArray", "PathLike", "DType") for name in named):
        return True
    return any(_FITS[kind](x) for kind in known) or bool(classes.intersection(named))


def _kind(annotation):
    words = [_WORDS.get(kind.strip(), kind.strip()) for kind in annotation.replace("stet._core.", "").split("|")]
    words = [
        f"a{'n' * (word[0] in 'AEIOU')} {word}" if word[0].isupper() and word not in ("None", "True or False") else word
        for word in words
    ]
    return " or ".join(words)


def wrong_arguments(function, values, keywords):
    """What is wrong with a call of a function of the extension, in a sentence: an argument too many, too few, misspelt,
    or of another type.
    """
    name = function.__name__ if function.__name__.startswith("__") else function.__name__.lstrip("_")
    name = "a kernel's launch" if name == "__call__" else name
    signature = re.sub(r"\\\d+", "None", function.__nb_signature__[0][0])
    said = ast.parse(signature + ": ...").body[0].args
    places = [*said.posonlyargs, *said.args]
    method = bool(places) and places[0].arg == "self"
    if method:
        places, values = places[1:], values[1:]
    every = [*places, *said.kwonlyargs]
    given = values[: len(values) - len(keywords)]
    named = dict(zip(keywords, values[len(given) :]))
    names = [one.arg for one in every]
    for key in named:
        if key not in names and not said.kwarg:
            return unknown_keyword(name, key, names)
    if len(given) > len(places) and not said.vararg:
        return f"{name} takes {len(places)} argument{'s' * (len(places) != 1)} by place, not {len(given)}"
    have = {one.arg: x for one, x in zip(places, given)} | named
    needed = [one.arg for one in places[: len(places) - len(said.defaults)]]
    needed += [one.arg for one, default in zip(said.kwonlyargs, said.kw_defaults) if default is None]
    for one in needed:
        if one not in have:
            return f"{name} needs {one!r}"
    for one in every:
        if one.arg not in have or one.annotation is None:
            continue
        annotation, x = ast.unparse(one.annotation), have[one.arg]
        if not _fits(x, annotation):
            return f"{name}: {one.arg} is {_kind(annotation)}, not a {type(x).__name__!r}"
        if "int" in annotation and isinstance(x, int) and not -(2**63) <= x < 2**64:
            return f"{name}: {one.arg} is {x}, which does not fit a number of 64 bits"
    types = ", ".join([type(x).__name__ for x in given] + [f"{key}={type(x).__name__}" for key, x in named.items()])
    parameters = ", ".join(
        one.arg + (f": {_kind(ast.unparse(one.annotation))}" if one.annotation else "") for one in every
    )
    return f"{name}({parameters}) does not take ({types}); give what its signature says"


def describe(x):
    """'float64 (3, 2)', or the type of what is no array."""
    if isinstance(x, np.ndarray):
        order = "" if x.flags.c_contiguous else ", not in C order"
        return f"{x.dtype} {x.shape}{order}{'' if x.flags.writeable else ', read-only'}"
    return f"of type {type(x).__name__!r}"


def dtype_name(dtype):
    """The name of whatever numpy.dtype() takes."""
    try:
        return np.dtype(dtype).name
    except TypeError:
        raise ArgumentTypeError(f"{dtype!r} is no element type; give 'real' or one of NumPy's") from None


def _as_numpy(x, name):
    try:
        return np.asarray(x)
    except Exception as error:
        raise ArgumentTypeError(f"array {name}: a {type(x).__name__!r} cannot be written to it: {error}") from None


def _cast(x, dtype, name):
    """x as dtype, where nothing but precision is lost."""
    if np.can_cast(x.dtype, dtype, "same_kind"):
        return x.astype(dtype, copy=False)
    if x.dtype.kind in "biu" and dtype.kind in "iu":
        info = np.iinfo(dtype)
        if x.size == 0 or (x.min() >= info.min and x.max() <= info.max):
            return x.astype(dtype)
        raise InvalidArgumentError(f"array {name}: {x.min()} to {x.max()} do not all fit its {dtype}")
    raise InvalidArgumentError(f"array {name}: {x.dtype} does not go into its {dtype}; convert it with astype first")


def values(x, dtype, shape, name):
    """x in C order with this dtype and shape: converted and broadcast as by `a[...] = x`."""
    x = _cast(_as_numpy(x, name), dtype, name)
    try:
        return np.ascontiguousarray(np.broadcast_to(x, shape))
    except ValueError:
        raise InvalidArgumentError(
            f"array {name}: values of shape {x.shape} do not go into its shape {shape}"
        ) from None


def mask(x, nworld):
    """A mask of worlds: booleans or integers, one a world."""
    x = _as_numpy(x, "mask")
    if x.dtype.kind not in "biu":
        raise InvalidArgumentError(f"a mask of worlds has booleans or integers, not {x.dtype}")
    if x.shape != (nworld,) and x.shape != (nworld, 1):
        raise InvalidArgumentError(f"a mask of worlds has shape ({nworld},) here, not {x.shape}")
    return np.ascontiguousarray(x.reshape(nworld) != 0)


def chosen(mask, x, nworld):
    """A mask from a mask or from numbers of worlds."""
    if x is None:
        return mask
    if mask is not None:
        raise InvalidArgumentError("reset: give a list of worlds or a mask, not both")
    x = _as_numpy(x, "worlds")
    if x.size and x.dtype.kind not in "iu":
        raise InvalidArgumentError(f"worlds to reset are named by integers, not {x.dtype}; a mask goes to `mask`")
    if x.ndim != 1:
        raise InvalidArgumentError(f"worlds to reset are a list, not an array of shape {x.shape}")
    for world in x:
        if not 0 <= world < nworld:
            raise InvalidArgumentError(f"reset: there is no world {world}; they are 0 to {nworld - 1}")
    made = np.zeros(nworld, bool)
    made[x.astype(np.int64)] = True
    return made


def _whole(key):
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def _worlds(array, key):
    """(first, n, rest of the key) where a key begins with worlds that lie together, else None."""
    head, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
    count = array.shape[0]
    if isinstance(head, slice):
        first, end, step = head.indices(count)
        return (first, max(end - first, 0), (slice(None), *rest)) if step == 1 else None
    if isinstance(head, (int, np.integer)) and not isinstance(head, bool) and -count <= head < count:
        return int(head) % count, 1, (0, *rest)
    return None


def get_item(array, key):
    """array[key]: only the worlds that are asked for cross over."""
    part = None if _whole(key) else _worlds(array, key)
    if part is None:
        return array.numpy()[key]
    first, n, rest = part
    return array.read_worlds(first, n)[rest]


def set_item(array, key, x):
    """array[key] = x: only the worlds that are meant are written."""
    if _whole(key):
        array.write(x)
        return
    part = _worlds(array, key)
    if part is None:
        now = array.numpy()
        now[key] = _cast(_as_numpy(x, array.name), now.dtype, array.name)
        array.write(now)
        return
    first, n, rest = part
    now = array.read_worlds(first, n)
    try:
        now[rest] = _cast(_as_numpy(x, array.name), now.dtype, array.name)
    except (IndexError, ValueError) as error:
        raise InvalidArgumentError(f"array {array.name}: {error}") from None
    array.write_worlds(first, now)


def numbers(x, name):
    """x as doubles in C order; None stays None."""
    if x is None:
        return None
    x = _as_numpy(x, name)
    if x.dtype.kind not in "biuf":
        raise InvalidArgumentError(f"parameter {name}: numbers are wanted, not {x.dtype}")
    return np.ascontiguousarray(x, dtype=np.float64)


def controls(x, dtype):
    """Controls over time, [frame, nu] or [frame, world, nu]."""
    x = _cast(_as_numpy(x, "controls"), dtype, "controls")
    if x.ndim not in (2, 3):
        raise InvalidArgumentError(f"controls have the shape [frame, nu] or [frame, world, nu], not {x.shape}")
    return np.ascontiguousarray(x)


def seed(x):
    """One uint64."""
    try:
        number = x.__index__()
    except AttributeError:
        raise ArgumentTypeError(f"a seed is a whole number, not a {type(x).__name__!r}") from None
    if not 0 <= number < 2**64:
        raise InvalidArgumentError(f"seed is {number}; it may be 0 to {2**64 - 1}")
    return np.array([number], np.uint64)
