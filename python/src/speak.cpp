// See speak.h.
//
// nanobind's functions carry the address of what runs them, one of a few. Each is replaced by a function that calls it
// and looks at the error, so a call that goes well costs one jump more. The address follows the object's head; the
// tests would not survive another place.
#include "speak.h"

#include <nanobind/stl/string.h>

#include <cstring>

namespace binding
{

enum { MOST_RUNNERS = 8 };
static vectorcallfunc runners[MOST_RUNNERS];

// Whether the error that is set is one of nanobind's about types: its class is a builtin, its text nanobind's own.
static bool is_raw(PyObject *message)
{
    static const char *const texts[] = {"incompatible function arguments", "std::bad_cast"};
    const char *text = message ? PyUnicode_AsUTF8AndSize(message, nullptr) : nullptr;
    for (const char *one : texts)
        if (text && strstr(text, one)) return true;
    return false;
}

// Takes the error that is set, and sets another one that says the same better, or it again.
static void say_better(PyObject *function, PyObject *const *args, size_t n, PyObject *keywords)
{
    nb::python_error error; // takes it
    nb::object message = nb::str(error.value());
    if (!is_raw(message.ptr())) {
        error.restore();
        return;
    }
    try {
        nb::list values;
        size_t all = n + (keywords ? (size_t)PyTuple_Size(keywords) : 0);
        for (size_t i = 0; i < all; ++i) values.append(nb::handle(args[i]));
        nb::object names = keywords ? nb::borrow(keywords) : nb::object(nb::make_tuple());
        nb::object sentence =
            nb::module_::import_("stet._convert").attr("wrong_arguments")(nb::handle(function), values, names);
        raise_type(nb::cast<std::string>(sentence));
    } catch (nb::python_error &better) {
        better.restore();
    }
}

template <int K> static PyObject *call(PyObject *function, PyObject *const *args, size_t n, PyObject *keywords)
{
    PyObject *result = runners[K](function, args, n, keywords);
    if (!result && (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_RuntimeError)))
        say_better(function, args, (size_t)PyVectorcall_NARGS(n), keywords);
    return result;
}

static const vectorcallfunc calls[MOST_RUNNERS] = {call<0>, call<1>, call<2>, call<3>,
                                                   call<4>, call<5>, call<6>, call<7>};

static void replace(nb::handle function)
{
    std::string type = nb::cast<std::string>(function.type().attr("__name__"));
    if (type != "nb_func" && type != "nb_method") return;
    auto *place = reinterpret_cast<vectorcallfunc *>(reinterpret_cast<PyVarObject *>(function.ptr()) + 1);
    for (int k = 0; k < MOST_RUNNERS; ++k) {
        if (*place == calls[k]) return;
        if (runners[k] && runners[k] != *place) continue;
        runners[k] = *place;
        *place = calls[k];
        return;
    }
}

static void replace_in(nb::handle names, int depth)
{
    for (auto [name, value] : nb::cast<nb::dict>(nb::module_::import_("builtins").attr("dict")(names))) {
        if (PyType_Check(value.ptr()) && depth > 0)
            replace_in(value.attr("__dict__"), depth - 1);
        else if (value.type().is(nb::handle(reinterpret_cast<PyObject *>(&PyProperty_Type))))
            replace(value.attr("fset"));
        else
            replace(value);
    }
}

void speak_of_wrong_arguments(nb::module_ &m) { replace_in(m.attr("__dict__"), 2); }

} // namespace binding
