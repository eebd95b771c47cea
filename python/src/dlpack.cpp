// See dlpack.h.
//
// Invariant: a tensor is ended exactly once, by its consumer, or by its capsule if nobody took it. (A consumer of
// before DLPack's version 1 cannot be told that a tensor is for reading.)
#include "dlpack.h"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <optional>

namespace binding
{

using Tensor = DLManagedTensorVersioned;

// The structure of DLPack before its version 1.
struct OldTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(OldTensor *);
};

static const char *const new_name = "dltensor_versioned", *const old_name = "dltensor";
static const char *const used_new_name = "used_dltensor_versioned", *const used_old_name = "used_dltensor";

[[noreturn]] void raise_buffer(const std::string &sentence)
{
    PyErr_SetString(PyExc_BufferError, sentence.c_str());
    throw nb::python_error();
}

// ---- out: which tensor ---------------------------------------------------------------------------------------------

static bool is_gpu(const Core &core) { return core.type == STET_DEVICE_CUDA || core.type == STET_DEVICE_HIP; }

static int32_t own_type(const Core &core)
{
    return core.type == STET_DEVICE_CUDA ? kDLCUDA : core.type == STET_DEVICE_HIP ? kDLROCM : kDLCPU;
}

nb::typed<nb::tuple, int, int> dlpack_device(const Array &a)
{
    return nb::make_tuple(own_type(*a.core), is_gpu(*a.core) ? a.core->index : 0);
}

// Python's number of a stream as a handle of the driver; nothing: -1, the consumer needs no order.
static std::optional<void *> to_stream(const Core &core, int64_t number)
{
    if (number == -1) return std::nullopt;
    if (core.type == STET_DEVICE_CUDA) {
        if (number < 0 || number == 0)
            raise_buffer("__dlpack__: on CUDA stream is -1 (no order), 1 (the legacy default stream), 2 (the thread's) "
                         "or a handle");
        return number == 1 ? nullptr : reinterpret_cast<void *>(number); // 2 is the driver's own handle for it
    }
    if (number < 0 || number == 1 || number == 2)
        raise_buffer("__dlpack__: on ROCm stream is -1 (no order), 0 (the default stream) or a handle");
    return reinterpret_cast<void *>(number);
}

static void set_stream(const Core &core, nb::handle stream, stet_export_def &def)
{
    if (stream.is_none()) return; // ready now: any stream may read
    if (!is_gpu(core)) raise_buffer("__dlpack__: stream must be None for memory of the CPU");
    if (!PyLong_Check(stream.ptr())) raise_buffer("__dlpack__: stream is None or a number, not a " + type_of(stream));
    std::optional<void *> handle = to_stream(core, nb::cast<int64_t>(nb::borrow(stream)));
    def.ready = handle ? STET_READY_IN_STREAM : STET_READY_UNORDERED;
    if (handle) def.stream = *handle;
}

// A copy on the GPU itself: of an array of its own, which the tensor alone keeps.
static stet_result copy_on_device(stet_array *array, bool worlds, stet_export_def def, Tensor **out)
{
    stet_array_def copy_def = stet_default_array_def();
    stet_array *copy = nullptr;
    copy_def.name = stet_array_get_name(array);
    copy_def.dtype = stet_array_get_dtype(array);
    copy_def.worlds = worlds;
    copy_def.ndim = stet_array_get_ndim(array);
    std::copy_n(stet_array_get_shape(array), copy_def.ndim, copy_def.shape);
    stet_result result = stet_array_create(stet_array_get_device(array), &copy_def, &copy);
    if (result == STET_OK) result = stet_array_copy(copy, array);
    def.copy = false;
    def.writable = def.announced = true;
    if (result == STET_OK) result = stet_array_export(copy, &def, out);
    if (result == STET_OK) (*out)->flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    stet_array_destroy(copy);
    return result;
}

// Whether the request wants a copy on the host, or on the device, or none.
enum class Copy { none, host, device };
static Copy which_copy(const Array &a, const Request &r)
{
    bool wanted = !r.copy.is_none() && nb::cast<bool>(r.copy), refused = !r.copy.is_none() && !wanted;
    bool to_host = false;
    if (!r.device.is_none()) {
        auto [type, index] = nb::cast<std::pair<int32_t, int32_t>>(r.device);
        bool own = type == own_type(*a.core) && (!is_gpu(*a.core) || index == a.core->index);
        if (!own && type != kDLCPU)
            raise_buffer("__dlpack__: array " + a.name + " can be had where it lies, or as a copy on the CPU, (1, 0)");
        to_host = !own;
    }
    if (refused && to_host)
        raise_buffer("__dlpack__: array " + a.name + " lies on a GPU: the CPU gets a copy or nothing");
    if (to_host || (wanted && !is_gpu(*a.core))) return Copy::host;
    return wanted ? Copy::device : Copy::none;
}

// ---- out: capsules -------------------------------------------------------------------------------------------------

static void end_new(PyObject *capsule)
{
    auto *tensor =
        static_cast<Tensor *>(PyCapsule_IsValid(capsule, new_name) ? PyCapsule_GetPointer(capsule, new_name) : nullptr);
    if (tensor && tensor->deleter) tensor->deleter(tensor);
}

static void end_old(PyObject *capsule)
{
    auto *tensor = static_cast<OldTensor *>(
        PyCapsule_IsValid(capsule, old_name) ? PyCapsule_GetPointer(capsule, old_name) : nullptr);
    if (tensor && tensor->deleter) tensor->deleter(tensor);
}

static nb::object put_new(Tensor *tensor)
{
    nb::object capsule = nb::steal(PyCapsule_New(tensor, new_name, end_new));
    if (!capsule.is_valid()) tensor->deleter(tensor);
    check_python(capsule.is_valid());
    return capsule;
}

static nb::object put_old(Tensor *tensor)
{
    auto delete_both = [](OldTensor *old) {
        auto *kept = static_cast<Tensor *>(old->manager_ctx);
        kept->deleter(kept);
        delete old;
    };
    auto *old = new OldTensor{tensor->dl_tensor, tensor, delete_both};
    nb::object capsule = nb::steal(PyCapsule_New(old, old_name, end_old));
    if (!capsule.is_valid()) delete_both(old);
    check_python(capsule.is_valid());
    return capsule;
}

static bool wants_version(nb::handle max_version)
{
    return !max_version.is_none() && nb::cast<std::pair<int, int>>(nb::borrow(max_version)).first >= 1;
}

nb::object to_capsule(const Array &a, const Request &r)
{
    bool versioned = wants_version(r.max_version);
    Copy copy = which_copy(a, r);
    stet_export_def def = stet_default_export_def();
    Tensor *tensor = nullptr;
    set_stream(*a.core, r.stream, def);
    def.copy = copy == Copy::host;
    def.writable = r.writable && copy == Copy::none;
    def.announced = r.announced && def.writable;
    def.plain = r.plain && copy == Copy::none;
    run(a, [&](stet_array *array) {
        return copy == Copy::device ? copy_on_device(array, a.worlds, def, &tensor)
                                    : stet_array_export(array, &def, &tensor);
    });
    return versioned ? put_new(tensor) : put_old(tensor);
}

// ---- in ------------------------------------------------------------------------------------------------------------

bool lies_on_gpu(nb::handle x)
{
    if (!nb::hasattr(x, "__dlpack_device__")) return false;
    auto device = nb::cast<nb::tuple>(nb::object(x.attr("__dlpack_device__")()));
    int64_t type = nb::cast<int64_t>(nb::int_(device[0]));
    return type == kDLCUDA || type == kDLROCM || type == kDLCUDAManaged;
}

// What its producer makes wait until the tensor is ready: stet's stream.
static nb::object stream_number(Core &core)
{
    if (!is_gpu(core)) return nb::none();
    void *stream = nullptr;
    run_now(core, [&] {
        stream = stet_device_get_stream(core.device);
        return STET_OK;
    });
    if (!stream) return nb::int_(core.type == STET_DEVICE_CUDA ? 1 : 0);
    return nb::int_(reinterpret_cast<uintptr_t>(stream));
}

static nb::object ask(nb::handle x, nb::handle stream)
{
    if (!nb::hasattr(x, "__dlpack__"))
        raise_type("a " + type_of(x) + " has no __dlpack__: give a tensor, or write its values to an array");
    nb::object method = x.attr("__dlpack__");
    try {
        return method(nb::arg("stream") = stream, nb::arg("max_version") = nb::make_tuple(1, 1));
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_TypeError)) throw;
    }
    return method(nb::arg("stream") = stream);
}

static Tensor *wrap(OldTensor *old)
{
    auto delete_both = [](Tensor *tensor) {
        auto *kept = static_cast<OldTensor *>(tensor->manager_ctx);
        if (kept->deleter) kept->deleter(kept);
        delete tensor;
    };
    return new Tensor{{1, 1}, old, delete_both, 0, old->dl_tensor};
}

// Takes the tensor out of a capsule.
static Tensor *take(nb::handle capsule)
{
    PyObject *it = capsule.ptr();
    if (PyCapsule_IsValid(it, new_name)) {
        auto *tensor = static_cast<Tensor *>(PyCapsule_GetPointer(it, new_name));
        check_python(PyCapsule_SetName(it, used_new_name) == 0);
        return tensor;
    }
    if (!PyCapsule_IsValid(it, old_name))
        raise_type("__dlpack__ of a tensor returned " + type_of(capsule) + ", not a capsule of DLPack");
    auto *old = static_cast<OldTensor *>(PyCapsule_GetPointer(it, old_name));
    Tensor *tensor = wrap(old);
    check_python(PyCapsule_SetName(it, used_old_name) == 0);
    return tensor;
}

static Layout layout_of(const DLTensor &t)
{
    Layout out;
    int64_t dense = 1;
    out.shape.assign(t.shape, t.shape + t.ndim);
    out.strides.resize(out.shape.size());
    for (size_t i = out.shape.size(); i-- > 0; dense *= out.shape[i]) out.strides[i] = t.strides ? t.strides[i] : dense;
    for (size_t i = 0; i < out.shape.size(); ++i)
        if (out.strides[i] < 0 && out.shape[i] > 0) out.first -= out.strides[i] * (out.shape[i] - 1);
    return out;
}

static void destroy_array(void *array) { stet_array_destroy(static_cast<stet_array *>(array)); }

Array import_tensor(const Shared &core, nb::handle x, const Import &how)
{
    nb::object stream = nb::none();
    if (lies_on_gpu(x)) stream = stream_number(*core);
    nb::object capsule = ask(x, stream);
    stet_import_def def = stet_default_import_def();
    stet_array *array = nullptr;
    def.name = how.name.c_str();
    def.worlds = how.worlds;
    def.nworld = how.nworld;
    def.announced = how.announced;
    def.span = how.span != nullptr;
    Tensor *tensor = take(capsule);
    if (how.span) *how.span = layout_of(tensor->dl_tensor);
    run(*core, [&] {
        // The producer made stet's stream wait. In a stream of the caller's, the tensor may also go in that stream's
        // order.
        if (core->callers_stream) {
            def.ready = STET_READY_IN_STREAM;
            def.stream = stet_device_get_stream(core->device);
        }
        return stet_array_import(core->device, tensor, &def, &array);
    });
    return Array(core, std::make_shared<Memory>(core->gate, Thing{array, destroy_array}), array, how.worlds);
}

} // namespace binding
