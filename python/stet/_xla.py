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
               ("create_error", c.CFUNCTYPE(c.c_void_p, c.POINTER(_ErrorArguments))), ("error_message", c.c_void_p),
               ("destroy_error", c.c_void_p), ("register", c.c_void_p), ("get_stream", c.c_void_p))
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
_StreamArguments = _struct("StreamArguments", *_BASE, ("context", c.c_void_p), ("stream", c.c_void_p))

# A tensor of DLPack, before its version 1.
_Shape = c.POINTER(c.c_int64)
_Tensor = _struct("Tensor", ("data", c.c_void_p), ("device", c.c_int32), ("index", c.c_int32), ("rank", c.c_int32),
                  ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", _Shape),
                  ("strides", _Shape), ("offset", c.c_uint64))
_Managed = _struct("Managed", ("tensor", _Tensor), ("context", c.c_void_p), ("deleter", c.c_void_p))
_CODES = {"i": 0, "u": 1, "f": 2}
_CUDA = 2
_new_capsule = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)(("PyCapsule_New", c.pythonapi))


class Memory:
    """Memory of a call on a GPU, as a tensor of DLPack. Keep it as long as what was made of it."""

    def __init__(self, pointer, shape, dtype, index, kind=_CUDA):
        self.shape, self.dtype, self._device = tuple(shape), np.dtype(dtype), (kind, index)
        self._shape = (c.c_int64 * len(self.shape))(*self.shape)
        tensor = _Tensor(pointer, kind, index, len(self.shape), _CODES[self.dtype.kind], 8 * self.dtype.itemsize, 1,
                         c.cast(self._shape, _Shape), None, 0)
        self._managed = _Managed(tensor, None, None)

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return _new_capsule(c.addressof(self._managed), b"dltensor", None)


def _array(buffer):
    """The memory of an argument or a result, during the call."""
    shape, dtype = buffer.dims[: buffer.rank], np.dtype(_TYPES[buffer.dtype])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer((c.c_char * size).from_address(buffer.data), dtype).reshape(shape)


def _memory(buffer):
    """The same on a GPU; who takes it says which."""
    return buffer.data, tuple(buffer.dims[: buffer.rank]), np.dtype(_TYPES[buffer.dtype])


def _each(buffers, see):
    return [see(buffers.items[i].contents) for i in range(buffers.size)]


def _stream(call):
    """The GPU's stream that the call is in the order of."""
    get = c.CFUNCTYPE(c.c_void_p, c.POINTER(_StreamArguments))(call.api.contents.get_stream)
    asked = _StreamArguments(c.sizeof(_StreamArguments), None, call.context, None)
    if get(c.byref(asked)):
        raise RuntimeError("XLA gives no stream for the call")
    return asked.stream or 0


def handler(function, gpu=False):
    """A handler, as jax.ffi.pycapsule takes it, that calls function(arguments, results, attributes): lists of arrays,
    of which results are to be filled, and a dict of whole numbers. With gpu instead of arrays (pointer, shape, type),
    and a fourth argument, the stream. What it raises is an error of the call.
    """
    see = _memory if gpu else _array

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
            more = [_stream(call)] if gpu else []
            function(_each(call.arguments, see), _each(call.results, see), attributes, *more)
        except BaseException as error:  # nothing may unwind into XLA
            message = f"{type(error).__name__}: {error}".encode()
            said = _ErrorArguments(c.sizeof(_ErrorArguments), None, message, _INTERNAL)
            return call.api.contents.create_error(c.byref(said))
        return None

    return _HANDLER(called)
