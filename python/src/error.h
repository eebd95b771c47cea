// Results of the library as exceptions of Python (stet/_errors.py). All of it wants the GIL.
#pragma once

#include "stet/stet.h"

#include <nanobind/nanobind.h>

#include <string>

namespace nb = nanobind;

namespace binding
{

// Takes the classes from stet._errors; called once, when the module is imported.
void find_errors();

// Raises what the last failed call of this thread said.
[[noreturn]] void raise(stet_result result);
// The same for a call that was to open a file: NOT_FOUND is a missing file.
[[noreturn]] void raise_of_file(stet_result result);
// Raises a sentence of the binding's own.
[[noreturn]] void raise(stet_result result, const std::string &sentence);
// Raises stet.ArgumentTypeError.
[[noreturn]] void raise_type(const std::string &sentence);

// Hands on what the library has reported meanwhile (log.cpp).
bool log_waits();
void deliver_log();

inline void check(stet_result result)
{
    if (result == STET_ERROR_INTERRUPTED && PyErr_Occurred()) throw nb::python_error(); // a signal's
    if (result != STET_OK) raise(result);
    if (log_waits()) deliver_log();
}

// Turns an error that Python has set into a C++ exception.
inline void check_python(bool good)
{
    if (!good) throw nb::python_error();
}

// "1 world", "4 worlds".
inline std::string counted(long long n, const char *noun)
{
    return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

// "'ndarray'": the type of an object, for messages.
std::string type_of(nb::handle object);

} // namespace binding
