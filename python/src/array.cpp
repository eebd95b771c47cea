// Arrays: stet.Array, and stet.Export, an array that is handed to another library in a way of the caller's choosing.
#include "dlpack.h"
#include "numpy.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

namespace binding
{

using namespace nb::literals;

// ---- to NumPy ------------------------------------------------------------------------------------------------------

static nb::object to_numpy(const Array &a, nb::handle out)
{
    nb::object values = numpy_empty(a.dtype, a.core->real_size, a.shape, out);
    Buffer buffer;
    buffer.open(values, true);
    run(a, [&](stet_array *array) { return stet_array_read(array, buffer.data(), buffer.size()); });
    return values;
}

static nb::object read_worlds(const Array &a, int64_t first, int64_t n)
{
    std::vector<int64_t> shape = a.shape;
    shape[0] = n < 0 ? 0 : n;
    nb::object values = numpy_empty(a.dtype, a.core->real_size, shape, nb::none());
    Buffer buffer;
    buffer.open(values, true);
    run(a, [&](stet_array *array) { return stet_array_read_worlds(array, first, n, buffer.data(), buffer.size()); });
    return values;
}

static nb::object to_array(const Array &a, nb::object dtype, nb::object copy)
{
    if (!copy.is_none() && !nb::cast<bool>(copy))
        raise(STET_ERROR_INVALID_ARGUMENT,
              "array " + a.name + ": NumPy gets a copy of it; host() is a view without one");
    nb::object values = to_numpy(a, nb::none());
    return dtype.is_none() ? values : nb::object(values.attr("astype")(dtype, "copy"_a = false));
}

// What keeps the memory of a host view: the sim it may be part of, and the array.
struct View {
    Shared core;
    Held own;
    View(Shared core_, Held own_) : core(std::move(core_)), own(std::move(own_)) { ++core->views; }
    ~View()
    {
        own.reset();
        core->drop_view();
    }
};

static nb::dlpack::dtype view_type(const Array &a)
{
    static const uint8_t codes[] = {kDLFloat, kDLInt, kDLInt, kDLUInt, kDLUInt, kDLUInt, kDLFloat};
    static const uint8_t bits[] = {32, 32, 64, 32, 16, 8, 16};
    return {codes[a.dtype], a.dtype == STET_DTYPE_REAL ? (uint8_t)(8 * a.core->real_size) : bits[a.dtype], 1};
}

static nb::object to_host(const Array &a)
{
    const void *data = nullptr;
    run(a, [&](stet_array *array) { return stet_array_get_host(array, &data); });
    nb::capsule owner(new View(a.core, a.own), [](void *view) noexcept { delete static_cast<View *>(view); });
    std::vector<size_t> shape(a.shape.begin(), a.shape.end());
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), owner, nullptr, view_type(a)));
}

// ---- from NumPy and others -----------------------------------------------------------------------------------------

static void copy_array(const Array &to, const Array &from)
{
    to.check_writable();
    if (to.core != from.core)
        raise(STET_ERROR_INVALID_ARGUMENT,
              "array " + to.name + ": array " + from.name + " is another sim's; write its numpy()");
    run(to, [&](stet_array *array) {
        stet_array *source;
        stet_result result = from.find(&source);
        return result == STET_OK ? stet_array_copy(array, source) : result;
    });
}

static void write_values(const Array &a, nb::handle x)
{
    a.check_writable();
    Values values(x, a.dtype, a.core->real_size, a.shape, a.name);
    run(a, [&](stet_array *array) { return stet_array_write(array, values.data(), values.size()); });
}

static void write(const Array &a, nb::handle x)
{
    bool gpu = a.core->type == STET_DEVICE_CUDA || a.core->type == STET_DEVICE_HIP;
    Array *other;
    if (nb::try_cast<Array *>(x, other) && other)
        copy_array(a, *other);
    else if (gpu && lies_on_gpu(x))
        copy_array(a, import_tensor(a.core, x, {a.worlds, 0, true, "what is written to " + a.name}));
    else
        write_values(a, x);
}

static void write_worlds(const Array &a, int64_t first, nb::handle x)
{
    a.check_writable();
    std::vector<int64_t> shape = a.shape;
    shape[0] = PyObject_Size(x.ptr());
    if (shape[0] < 0) {
        PyErr_Clear();
        raise_type("array " + a.name + ": write_worlds takes values with the worlds first, not a " + type_of(x));
    }
    Values values(x, a.dtype, a.core->real_size, shape, a.name);
    run(a, [&](stet_array *array) {
        return stet_array_write_worlds(array, first, shape[0], values.data(), values.size());
    });
}

// ---- DLPack --------------------------------------------------------------------------------------------------------

struct Export {
    Array array;
    bool writable, announced;
};

static Export make_export(const Array &a, bool writable, bool announced)
{
    if (announced && !writable)
        raise(STET_ERROR_INVALID_ARGUMENT,
              "array " + a.name + ": only writes are announced; export it with writable=True as well");
    if (writable) a.check_writable();
    return {a, writable, announced};
}

static nb::object export_capsule(const Export &e, nb::object stream, nb::object max_version, nb::object device,
                                 nb::object copy)
{
    return to_capsule(e.array, {e.writable, e.announced, false, stream, max_version, device, copy});
}

// Without a word from the caller: [world, item], writable where stet allows it, else for reading.
static nb::object array_capsule(Array &a, nb::object stream, nb::object max_version, nb::object device, nb::object copy)
{
    Request request{!a.read_only, false, true, stream, max_version, device, copy};
    if (a.read_only) return to_capsule(a, request);
    try {
        return to_capsule(a, request);
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_ValueError)) throw;
    }
    a.read_only = true;
    request.writable = false;
    return to_capsule(a, request);
}

// ---- the class -----------------------------------------------------------------------------------------------------

static std::string array_repr(const Array &a)
{
    std::string shape = nb::cast<std::string>(nb::str(to_tuple(a.shape)));
    return "<stet.Array " + a.name + " " + numpy_name(a.dtype, a.core->real_size) + " " + shape +
           (a.core->closed ? ", of a closed sim" : "") + ">";
}

static uint64_t generation(const Array &a)
{
    uint64_t out = 0;
    run_now(a, [&](stet_array *array) {
        out = stet_array_get_generation(array);
        return STET_OK;
    });
    return out;
}

static uint64_t hash(const Array &a)
{
    uint64_t out = 0;
    run(a, [&](stet_array *array) { return stet_array_hash(array, &out); });
    return out;
}

static int64_t length(const Array &a)
{
    if (a.shape.empty()) raise_type("array " + a.name + " has no dimensions, so no length");
    return a.shape[0];
}

static void bind_properties(nb::class_<Array> &array)
{
    array
        .def_prop_ro(
            "shape", [](const Array &a) { return to_tuple(a.shape); }, nb::sig("def shape(self) -> tuple[int, ...]"),
            "Its sizes, as the host sees it: (world, item) of a field.")
        .def_prop_ro(
            "ndim", [](const Array &a) { return a.shape.size(); }, "Number of its dimensions.")
        .def_prop_ro(
            "dtype", [](const Array &a) { return numpy_dtype(a.dtype, a.core->real_size); },
            nb::sig("def dtype(self) -> DType"), "Its element type.")
        .def_prop_ro(
            "name", [](const Array &a) { return a.name; }, "What messages call it.")
        .def_prop_ro(
            "worlds", [](const Array &a) { return a.worlds; },
            "Whether its first dimension is the worlds, for kernels that take an array of worlds.")
        .def_prop_ro("generation", generation, "Grows with each write: equal generations, equal content.")
        .def("__len__", length)
        .def("__repr__", array_repr);
}

static void bind_values(nb::class_<Array> &array)
{
    array
        .def("numpy", to_numpy, "out"_a = nb::none(), nb::sig("def numpy(self, out: NDArray | None = None) -> NDArray"),
             "A copy in NumPy, [world, item] in C order; into `out`, if it is given: an array of just this type and "
             "shape.")
        .def("host", to_host, nb::sig("def host(self) -> NDArray"),
             "A read-only view of the copy that stet keeps on the host: asked again while nothing was written, nothing "
             "is copied. Valid until "
             "the array is written; then ask again, the view's content is what was last asked for.")
        .def("read_worlds", read_worlds, "first"_a, "n"_a,
             nb::sig("def read_worlds(self, first: int, n: int) -> NDArray"),
             "A copy of the worlds first … first + n - 1 (of any array: of its first dimension).")
        .def("write", write, "x"_a.none(),
             "Writes all of it: from what NumPy understands, converted and broadcast as by `a[...] = x`; from another "
             "array of this sim, or from a "
             "tensor on the same GPU, of the same type and shape, without the host.")
        .def("write_worlds", write_worlds, "first"_a, "x"_a.none(), "Writes as many worlds as x has, from `first` on.")
        .def(
            "mark_written",
            [](const Array &a) { run_now(a, [](stet_array *it) { return stet_array_mark_written(it), STET_OK; }); },
            "Announces a write that stet could not see: through an announced export.")
        .def(
            "update", [](const Array &a) { run(a, stet_array_update); },
            "Brings it up to date now, for those that read its memory themselves: poses are worked out when they are "
            "read.")
        .def("hash", hash, "Hash of the content in C order, equal on every device.")
        .def("__array__", to_array, "dtype"_a = nb::none(), "copy"_a = nb::none(),
             nb::sig("def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray"))
        .def(
            "__getitem__", [](nb::object self, nb::object key) { return convert("get_item", self, key); },
            "key"_a.none())
        .def(
            "__setitem__", [](nb::object self, nb::object key, nb::object x) { convert("set_item", self, key, x); },
            "key"_a.none(), "x"_a.none());
}

/* For stet.jax, which has arrays alone. */
static void bind_beside(nb::class_<Array> &array)
{
    array
        .def(
            "_beside",
            [](const Array &a, nb::handle x, bool worlds) {
                return import_tensor(a.core, x, {worlds, 0, true, "beside " + a.name});
            },
            "x"_a, "worlds"_a, "An array over the memory of a tensor on the same device.")
        .def(
            "_wait_stream",
            [](const Array &a, uintptr_t stream) {
                run(*a.core, [&] { return stet_device_wait_stream(a.core->device, reinterpret_cast<void *>(stream)); });
            },
            "stream"_a)
        .def(
            "_signal_stream",
            [](const Array &a, uintptr_t stream) {
                run(*a.core,
                    [&] { return stet_device_signal_stream(a.core->device, reinterpret_cast<void *>(stream)); });
            },
            "stream"_a);
}

static void bind_tensors(nb::module_ &m, nb::class_<Array> &array)
{
    array
        .def(
            "__dlpack__", array_capsule, "stream"_a = nb::none(), "max_version"_a = nb::none(),
            "dl_device"_a = nb::none(), "copy"_a = nb::none(),
            "For from_dlpack(array). Its own memory, writable where stet allows it and then taken as written while "
            "the tensor lives; poses and pictures for reading. On a CPU whose worlds lie in blocks, an array of worlds "
            "is shown as [world, item] by memory that each call of stet's keeps in step with the array, both ways. "
            "copy=True: a copy of its own. See export().")
        .def("__dlpack_device__", dlpack_device)
        .def("export", make_export, nb::kw_only(), "writable"_a = false, "announced"_a = false,
             "For from_dlpack(array.export(…)): the array's own memory, without a copy, on a CPU with worlds in blocks "
             "as [block, item, lane]. "
             "writable: the other side may write; announced: it says so by mark_written(), so that between writes "
             "things stand.");
    nb::class_<Export>(m, "Export", "An array on its way to another library: give it to from_dlpack.")
        .def("__dlpack__", export_capsule, "stream"_a = nb::none(), "max_version"_a = nb::none(),
             "dl_device"_a = nb::none(), "copy"_a = nb::none())
        .def("__dlpack_device__", [](const Export &e) { return dlpack_device(e.array); })
        .def("__repr__", [](const Export &e) { return "<stet.Export of " + e.array.name + ">"; });
}

void bind_array(nb::module_ &m)
{
    nb::class_<Array> array(m, "Array",
                            "An array on the device of a sim. It keeps the sim alive; after sim.close(), and where it "
                            "is a picture whose frame is gone, "
                            "using it raises stet.Error.");
    bind_properties(array);
    bind_values(array);
    bind_tensors(m, array);
    bind_beside(array);
}

} // namespace binding
