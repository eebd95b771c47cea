"""XLA's foreign functions (its C API, version 0) for Python: a handler that XLA calls with the memory of a call's
arguments and results. Only the structures that are needed are here; jaxlib's include/xla/ffi/api/c_api.h has them all.
XLA asks a handler for the version of its API when it is registered, and refuses one that it is not compatible with.
"""

from __future__ import annotations

import ctypes as c

import numpy as np

_VERSION = 0, 1
_METADATA, _EXECUTE, _INTERNAL = 1, 3, 13
_TYPES = {5: np.int64, 8: np.uint32, 11: np.float32, 12: np.float64}


def _struct(name, *fields):
    """A structure of the API; most begin with their size and a list of extensions."""
    return type(name, (c.Structure,), {"_fields_": list(fields)})


_BASE = ("struct_size", c.c_size_t), ("extension", c.c_void_p)
_LIST = (*_BASE, ("size", c.c_int64), ("types", c.POINTER(c.c_int)))
_Extension = _struct("Extension", ("struct_size", c.c_size_t), ("type", c.c_int), ("next", c.c_void_p),
                     ("metadata", c.c_void_p))
_Version = _struct("Version", *_BASE, ("major", c.c_int), ("minor", c.c_int))
_Metadata = _struct("Metadata", ("struct_size", c.c_size_t), ("version", _Version))
_ErrorArguments = _struct("ErrorArguments", *_BASE, ("message", c.c_char_p), ("code", c.c_int))
_Api = _struct("Api", *_BASE, ("version", _Version), ("internal", c.c_void_p),
               ("create_error", c.CFUNCTYPE(c.c_void_p, c.POINTER(_ErrorArguments))))
_Buffer = _struct("Buffer", *_BASE, ("dtype", c.c_int), ("data", c.c_void_p), ("rank", c.c_int64),
                  ("dims", c.POINTER(c.c_int64)))
_Buffers = _struct("Buffers", *_LIST, ("items", c.POINTER(c.POINTER(_Buffer))))
_Span = _struct("Span", ("text", c.POINTER(c.c_char)), ("size", c.c_size_t))
_Scalar = _struct("Scalar", ("dtype", c.c_int), ("value", c.POINTER(c.c_int64)))
_Attributes = _struct("Attributes", *_LIST, ("names", c.POINTER(c.POINTER(_Span))),
                      ("items", c.POINTER(c.POINTER(_Scalar))))
_Call = _struct("Call", *_BASE, ("api", c.POINTER(_Api)), ("context", c.c_void_p), ("stage", c.c_int),
                ("arguments", _Buffers), ("results", _Buffers), ("attributes", _Attributes))
_HANDLER = c.CFUNCTYPE(c.c_void_p, c.POINTER(_Call))


def _array(buffer):
    """The memory of an argument or a result, during the call."""
    shape, dtype = buffer.dims[: buffer.rank], np.dtype(_TYPES[buffer.dtype])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer((c.c_char * size).from_address(buffer.data), dtype).reshape(shape)


def _arrays(buffers):
    return [_array(buffers.items[i].contents) for i in range(buffers.size)]


def handler(function):
    """A handler, as jax.ffi.pycapsule takes it, that calls function(arguments, results, attributes): lists of arrays,
    of which results are to be filled, and a dict of whole numbers. What it raises is an error of the call.
    """

    def called(pointer):
        call = pointer.contents
        if call.extension:
            extension = _Extension.from_address(call.extension)
            if extension.type == _METADATA:
                version = _Metadata.from_address(extension.metadata).version
                version.major, version.minor = _VERSION
                return None
        if call.stage != _EXECUTE:
            return None
        try:
            names = [call.attributes.names[i].contents for i in range(call.attributes.size)]
            attributes = {span.text[: span.size].decode(): call.attributes.items[i].contents.value[0]
                          for i, span in enumerate(names)}
            function(_arrays(call.arguments), _arrays(call.results), attributes)
        except BaseException as error:  # nothing may unwind into XLA
            message = f"{type(error).__name__}: {error}".encode()
            said = _ErrorArguments(c.sizeof(_ErrorArguments), None, message, _INTERNAL)
            return call.api.contents.create_error(c.byref(said))
        return None

    return _HANDLER(called)
