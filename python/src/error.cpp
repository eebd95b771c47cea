// See error.h.
#include "error.h"

#include <nanobind/stl/string.h>

namespace binding
{

// The class of each result, by its name in _errors.py.
static const char *const names[STET_RESULT_COUNT] = {
    "Error",       "InvalidArgumentError", "NotFoundError",    "FileError",
    "ParseError",  "OutOfMemoryError",     "UnsupportedError", "LimitError",
    "StrictError", "AuditError",           "StateError",       "DeviceError",
    "Error", // INTERRUPTED: what Python's signal handler has raised is raised instead (run)
    "FaultError",
};

// Kept for the life of the process, as the module is.
static PyObject *classes[STET_RESULT_COUNT], *missing_file, *argument_type;

void find_errors()
{
    nb::object module = nb::module_::import_("stet._errors");
    for (int i = 0; i < STET_RESULT_COUNT; ++i) classes[i] = nb::object(module.attr(names[i])).release().ptr();
    missing_file = nb::object(module.attr("MissingFileError")).release().ptr();
    argument_type = nb::object(module.attr("ArgumentTypeError")).release().ptr();
}

[[noreturn]] static void raise_as(PyObject *type, const std::string &sentence, const char *where)
{
    nb::object error = nb::borrow(type)(nb::str(sentence.c_str(), sentence.size()));
    if (where && *where) error.attr("where") = where;
    if (log_waits()) deliver_log();
    PyErr_SetObject(type, error.ptr());
    throw nb::python_error();
}

// The library's sentence; its text may be in any encoding (names of files).
static std::string last_sentence(stet_result result)
{
    const char *text = stet_get_last_error();
    nb::object decoded =
        nb::steal(PyUnicode_DecodeUTF8(*text ? text : stet_result_sentence(result),
                                       (Py_ssize_t)strlen(*text ? text : stet_result_sentence(result)), "replace"));
    check_python(decoded.is_valid());
    return nb::cast<std::string>(decoded);
}

void raise(stet_result result) { raise_as(classes[result], last_sentence(result), stet_get_last_error_where()); }

void raise_of_file(stet_result result)
{
    raise_as(result == STET_ERROR_NOT_FOUND ? missing_file : classes[result], last_sentence(result),
             stet_get_last_error_where());
}

void raise(stet_result result, const std::string &sentence) { raise_as(classes[result], sentence, nullptr); }

void raise_type(const std::string &sentence) { raise_as(argument_type, sentence, nullptr); }

std::string type_of(nb::handle object) { return "'" + nb::cast<std::string>(object.type().attr("__name__")) + "'"; }

} // namespace binding
