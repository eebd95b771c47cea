// See numpy.h.
#include "numpy.h"

#include <cstring>

namespace binding
{

// Element types by NumPy's names and the letters of buffers (int64's may be that of long).
static const struct {
    stet_dtype dtype;
    const char *name;
    size_t size;
    const char *letters;
} types[] = {
    {STET_DTYPE_REAL, "float32", 4, "f"}, {STET_DTYPE_REAL, "float64", 8, "d"}, {STET_DTYPE_INT, "int32", 4, "i"},
    {STET_DTYPE_I64, "int64", 8, "lq"},   {STET_DTYPE_U32, "uint32", 4, "I"},   {STET_DTYPE_U16, "uint16", 2, "H"},
    {STET_DTYPE_U8, "uint8", 1, "B?"},    {STET_DTYPE_U8, "bool", 1, "?"},      {STET_DTYPE_F16, "float16", 2, "e"},
};

static PyObject *empty; // numpy.empty; kept for the life of the process
static PyObject *dtypes[STET_DTYPE_COUNT][2];

void find_numpy()
{
    nb::module_ numpy = nb::module_::import_("numpy");
    empty = nb::object(numpy.attr("empty")).release().ptr();
    for (int i = 0; i < STET_DTYPE_COUNT; ++i)
        for (size_t wide = 0; wide < 2; ++wide)
            dtypes[i][wide] = nb::object(numpy.attr("dtype")(numpy_name((stet_dtype)i, 4 + 4 * wide))).release().ptr();
}

const char *numpy_name(stet_dtype dtype, size_t real_size)
{
    for (const auto &type : types)
        if (type.dtype == dtype && (dtype != STET_DTYPE_REAL || type.size == real_size)) return type.name;
    return "?";
}

nb::object numpy_dtype(stet_dtype dtype, size_t real_size) { return nb::borrow(dtypes[dtype][real_size == 8]); }

stet_dtype to_dtype(nb::handle dtype, size_t real_size)
{
    if (nb::isinstance<nb::str>(dtype) && nb::cast<std::string>(nb::borrow(dtype)) == "real") return STET_DTYPE_REAL;
    std::string name = nb::cast<std::string>(convert("dtype_name", dtype));
    for (const auto &type : types)
        if (name == type.name && (type.dtype != STET_DTYPE_REAL || type.size == real_size)) return type.dtype;
    raise(STET_ERROR_INVALID_ARGUMENT, "there are no arrays of " + name + " on this device; it has 'real' (" +
                                           numpy_name(STET_DTYPE_REAL, real_size) +
                                           "), int32, int64, uint32, uint16, uint8, bool (as uint8) and float16");
}

nb::tuple to_tuple(const std::vector<int64_t> &shape)
{
    nb::tuple out = nb::steal<nb::tuple>(PyTuple_New((Py_ssize_t)shape.size()));
    check_python(out.is_valid());
    for (size_t i = 0; i < shape.size(); ++i)
        check_python(PyTuple_SetItem(out.ptr(), (Py_ssize_t)i, PyLong_FromLongLong(shape[i])) == 0);
    return out;
}

// ---- memory --------------------------------------------------------------------------------------------------------

void Buffer::open(nb::handle object, bool writable)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    check_python(PyObject_GetBuffer(object.ptr(), &view_, flags) == 0);
    open_ = true;
}

bool Buffer::try_open(nb::handle object)
{
    if (!PyObject_CheckBuffer(object.ptr())) return false;
    open_ = PyObject_GetBuffer(object.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0;
    if (!open_) PyErr_Clear();
    return open_;
}

void Buffer::close()
{
    if (open_) PyBuffer_Release(&view_);
    open_ = false;
}

// Whether a buffer holds just these elements in just this shape.
static bool is_like(const Py_buffer &view, stet_dtype dtype, size_t real_size, const std::vector<int64_t> &shape)
{
    if ((size_t)view.ndim != shape.size()) return false;
    for (size_t i = 0; i < shape.size(); ++i)
        if (view.shape[i] != shape[i]) return false;
    const char *format = view.format ? view.format : "B";
    for (const auto &type : types)
        if (type.dtype == dtype && type.size == (size_t)view.itemsize &&
            (dtype != STET_DTYPE_REAL || type.size == real_size) && format[0] && !format[1] &&
            strchr(type.letters, format[0]))
            return true;
    return false;
}

nb::object numpy_empty(stet_dtype dtype, size_t real_size, const std::vector<int64_t> &shape, nb::handle out)
{
    if (out.is_none()) return nb::handle(empty)(to_tuple(shape), numpy_dtype(dtype, real_size));
    Buffer buffer;
    if (buffer.try_open(out) && !buffer.view().readonly && is_like(buffer.view(), dtype, real_size, shape))
        return nb::borrow(out);
    raise(STET_ERROR_INVALID_ARGUMENT,
          "out is " + nb::cast<std::string>(convert("describe", out)) + "; it must be a writable array in C order of " +
              numpy_name(dtype, real_size) + " " + nb::cast<std::string>(nb::str(to_tuple(shape))));
}

Values::Values(nb::handle x, stet_dtype dtype, size_t real_size, const std::vector<int64_t> &shape,
               const std::string &name)
    : kept_(nb::borrow(x))
{
    if (!buffer_.try_open(x) || !is_like(buffer_.view(), dtype, real_size, shape)) {
        kept_ = convert("values", x, numpy_dtype(dtype, real_size), to_tuple(shape), name.c_str());
        buffer_.close();
        buffer_.open(kept_, false);
    }
}

Mask::Mask(nb::handle x, int64_t nworld)
{
    if (x.is_none()) return;
    kept_ = nb::borrow(x);
    if (!buffer_.try_open(x) || buffer_.view().itemsize != 1 || buffer_.view().ndim != 1 ||
        buffer_.view().shape[0] != nworld) {
        kept_ = convert("mask", x, nworld);
        buffer_.close();
        buffer_.open(kept_, false);
    }
    data_ = static_cast<const uint8_t *>(buffer_.data());
}

} // namespace binding
