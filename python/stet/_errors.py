"""The errors that stet raises: one class a result of the library, each also the builtin that fits it.

`str(error)` is the library's sentence: what, where, and what to do. `error.result` is the result's name ("NOT_FOUND"),
`error.where` the line of the library's source where it was born, for bug reports.
"""


class Error(Exception):
    """Any failure of stet."""

    result = ""
    where = ""


class InvalidArgumentError(Error, ValueError):
    """An argument is not valid."""

    result = "INVALID_ARGUMENT"


class ArgumentTypeError(Error, TypeError):
    """An argument is of a type that is not taken, or has a name that is not known."""

    result = "INVALID_ARGUMENT"


class NotFoundError(Error, LookupError):
    """There is no such camera, output, field, keyframe, frame, kernel …"""

    result = "NOT_FOUND"


class MissingFileError(NotFoundError, FileNotFoundError):
    """There is no such file."""


class FileError(Error, OSError):
    """A file could not be read or written."""

    result = "IO"


class ParseError(Error, ValueError):
    """The content of a file, or the source of a kernel, is not understood."""

    result = "PARSE"


class OutOfMemoryError(Error, MemoryError):
    """There is no memory for it, on the host or on the device."""

    result = "OUT_OF_MEMORY"


class UnsupportedError(Error, NotImplementedError):
    """It is not supported here."""

    result = "UNSUPPORTED"


class LimitError(Error, ValueError):
    """A limit is exceeded."""

    result = "LIMIT"


class StrictError(Error, RuntimeError):
    """A fallback happened in strict mode."""

    result = "STRICT"


class AuditError(Error, RuntimeError):
    """A mechanism let stand what had changed."""

    result = "AUDIT"


class StateError(Error, RuntimeError):
    """It is not possible in this state: after close(), say."""

    result = "STATE"


class DeviceError(Error, RuntimeError):
    """The device reported an error."""

    result = "DEVICE"


class FaultError(Error, IndexError):
    """A kernel in checked mode went out of bounds, divided by zero, or an index of it overflowed."""

    result = "FAULT"


def add_note(error: BaseException, note: str) -> None:
    """BaseException.add_note, which Python 3.10 does not have: there the note ends the error's text."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.args = ("\n".join([*(str(one) for one in error.args[:1]), note]), *error.args[1:])
