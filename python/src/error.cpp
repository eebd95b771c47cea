// See error.h.
#include "error.h"

#include <nanobind/stl/string.h>

#include <cstring>

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

// What the library's sentences call things, and what Python does; the longer of two that begin alike comes first.
static const char *const words[][2] = {
    {"set `outputs` in its def", "make it with outputs: stet.Sim(…, outputs=(\"rgb\",))"},
    {"add it to `outputs` in the sim's def", "make the sim with it: stet.Sim(…, outputs=(…))"},
    {"leave the mask of the reset's def out", "leave the mask out"},
    {"stet_array_copy", "Array.write"},
    {"stet_array_", "Array."},
    {"stet_kernel_create", "Sim.kernel"},
    {"stet_kernel_", "Kernel."},
    {"stet_sim_set_kernel_args", "Sim.set_kernel_args"},
    {"stet_sim_round_begin", "Sim.round"},
    {"stet_sim_round_end", "Round.end"},
    {"stet_sim_round_stage", "Sim.stage"},
    {"stet_sim_round_", "Sim."},
    {"stet_worlds_get_array", "Sim.array"},
    {"stet_worlds_get_step_quantity", "Sim.step_quantity"},
    {"stet_worlds_", "Sim."},
    {"stet_step_run", "Sim.step"},
    {"stet_step_forward", "Sim.forward"},
    {"stet_sim_hash_frame", "Sim.hash_frame"},
    {"stet_sim_", "Sim."},
    {"stet_render_points", "Sim.points"},
    {"stet_tiles_get_array", "Tiles.tensor"},
    {"stet_tiles_", "Tiles."},
    {"stet_tape_begin", "`with tape`"},
    {"stet_tape_end", "the end of `with tape`"},
    {"stet_tape_get_gradient", "Tape.gradient"},
    {"stet_tape_", "Tape."},
    {"stet_record_begin", "Sim.record"},
    {"stet_record_while", "Sim.loop"},
    {"stet_snapshot_create", "Sim.snapshot"},
    {"stet_snapshot_", "Snapshot."},
    {"stet_trace_", "Sim.trace_"},
    {"stet_group_", "Group."},
};

static std::string speak_python(std::string text)
{
    for (const auto &row : words)
        for (size_t at = 0; (at = text.find(row[0], at)) != std::string::npos; at += strlen(row[1]))
            text.replace(at, strlen(row[0]), row[1]);
    return text;
}

// The library's sentence; its text may be in any encoding (names of files).
static std::string last_sentence(stet_result result)
{
    const char *text = stet_get_last_error();
    nb::object decoded =
        nb::steal(PyUnicode_DecodeUTF8(*text ? text : stet_result_sentence(result),
                                       (Py_ssize_t)strlen(*text ? text : stet_result_sentence(result)), "replace"));
    check_python(decoded.is_valid());
    return speak_python(nb::cast<std::string>(decoded));
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
