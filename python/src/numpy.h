// NumPy's arrays, as much of them as crossing over needs. All of it wants the GIL.
#pragma once

#include "core.h"

namespace binding
{

// Takes what is needed of NumPy and of stet/_convert.py; called once, when the module is imported.
void find_numpy();

// NumPy's name of an element type: "float32".
const char *numpy_name(stet_dtype dtype, size_t real_size);
// The element type of whatever numpy.dtype() takes, or "real".
stet_dtype to_dtype(nb::handle dtype, size_t real_size);
nb::object numpy_dtype(stet_dtype dtype, size_t real_size);
nb::tuple to_tuple(const std::vector<int64_t> &shape);

// The memory of an object, contiguous in C order, as long as this lives.
class Buffer
{
  public:
    Buffer() = default;
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { close(); }
    void close();
    void open(nb::handle object, bool writable); // raises BufferError
    bool try_open(nb::handle object);            // for reading; false: no memory like that, and no error is set
    const Py_buffer &view() const { return view_; }
    void *data() const { return view_.buf; }
    size_t size() const { return (size_t)view_.len; }

  private:
    Py_buffer view_{};
    bool open_ = false;
};

// A new array of NumPy's with this element type and shape, or, unless it is None, `out`, if it is just such an array.
nb::object numpy_empty(stet_dtype dtype, size_t real_size, const std::vector<int64_t> &shape, nb::handle out);

// Bytes in C order of anything that NumPy understands, converted and broadcast as in an assignment.
class Values
{
  public:
    Values(nb::handle x, stet_dtype dtype, size_t real_size, const std::vector<int64_t> &shape,
           const std::string &name);
    const void *data() const { return buffer_.data(); }
    size_t size() const { return buffer_.size(); }

  private:
    nb::object kept_;
    Buffer buffer_;
};

// A mask of worlds, [nworld], from None (all: data is NULL) or anything that NumPy takes for booleans.
class Mask
{
  public:
    Mask(nb::handle x, int64_t nworld);
    const uint8_t *data() const { return data_; }

  private:
    nb::object kept_;
    Buffer buffer_;
    const uint8_t *data_ = nullptr;
};

// Calls a function of stet/_convert.py.
template <class... Args> nb::object convert(const char *function, Args &&...args)
{
    return nb::module_::import_("stet._convert").attr(function)(std::forward<Args>(args)...);
}

} // namespace binding
