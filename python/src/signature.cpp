// See speak.h.
//
// nanobind's types of functions are immutable for Python, so the attribute goes into their dictionaries from here.
#include "speak.h"

namespace binding
{

static PyObject *get_signature(PyObject *function, void *)
{
    try {
        return nb::module_::import_("stet._signature").attr("make_signature")(nb::handle(function)).release().ptr();
    } catch (nb::python_error &error) {
        error.restore();
        return nullptr;
    }
}

static PyGetSetDef signature = {"__signature__", get_signature, nullptr, nullptr, nullptr};

static void give_to_type(PyTypeObject *type)
{
    nb::object attribute = nb::steal(PyDescr_NewGetSet(type, &signature));
    nb::object shown = nb::handle(reinterpret_cast<PyObject *>(type)).attr("__dict__"); // shows the dictionary itself
    nb::object names = nb::module_::import_("gc").attr("get_referents")(shown)[0];
    if (!attribute.is_valid() || PyDict_SetItemString(names.ptr(), signature.name, attribute.ptr()))
        throw nb::python_error();
    PyType_Modified(type);
}

void give_signatures(nb::module_ &m)
{
    nb::object method = m.attr("Array").attr("write");
    nb::object bound = method.attr("__get__")(m.attr("Array").attr("__new__")(m.attr("Array")));
    for (nb::object one : {nb::object(m.attr("sum_worlds")), method, bound}) give_to_type(Py_TYPE(one.ptr()));
}

} // namespace binding
