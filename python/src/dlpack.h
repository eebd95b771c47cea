// Tensors of other libraries: the protocol __dlpack__ on both sides.
#pragma once

#include "core.h"

namespace binding
{

// How an array is handed out; None where Python's protocol says so.
struct Request {
    bool writable, announced, plain;
    nb::object stream, max_version, device, copy;
};

// A capsule "dltensor_versioned", or "dltensor" for consumers that ask for no version. BufferError: the request cannot
// be met.
nb::object to_capsule(const Array &array, const Request &request);
// (device type, number) of where to_capsule's tensor lies when nothing else is asked for.
nb::typed<nb::tuple, int, int> dlpack_device(const Array &array);

// Raises BufferError, as the protocol wants it.
[[noreturn]] void raise_buffer(const std::string &sentence);

// How a tensor lies in the array of an import, in elements.
struct Layout {
    std::vector<int64_t> shape, strides;
    int64_t first = 0;
};

// An array over the memory of anything with __dlpack__.
struct Import {
    bool worlds = false;
    int64_t nworld = 0;
    bool announced = false;
    std::string name = "tensor";
    Layout *span = nullptr; // all memory from the tensor's lowest to its highest element, whatever its strides
};
Array import_tensor(const Shared &core, nb::handle x, const Import &how);
// Whether x says that it lies on some GPU.
bool lies_on_gpu(nb::handle x);

} // namespace binding
