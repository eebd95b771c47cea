// The caller's own kernels: stet.Kernel, and arguments of launches.
#include "names.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace binding
{

using namespace nb::literals;

// ---- arguments -----------------------------------------------------------------------------------------------------

[[noreturn]] static void refuse(const Kernel &kernel, size_t i, nb::handle x)
{
    std::string which = i < kernel.params.size() ? std::string(" (") + kernel.params[i].name + ")" : "";
    raise_type(std::string("kernel ") + stet_kernel_get_name(kernel.get()) + ": argument " + std::to_string(i) + which +
               " is a " + type_of(x) +
               "; give an array of this sim, an int, a float, or None for an array that is absent");
}

static stet_arg array_arg(const Kernel &kernel, size_t i, const Array &a, Arguments *out)
{
    if (a.core != kernel.core)
        raise(STET_ERROR_INVALID_ARGUMENT, std::string("kernel ") + stet_kernel_get_name(kernel.get()) + ": argument " +
                                               std::to_string(i) + ", array " + a.name + ", is another sim's");
    if (i < kernel.params.size() && kernel.params[i].written) a.check_writable();
    if (!a.array) {
        out->pictures.resize(i + 1);
        out->pictures[i] = &a;
    }
    if (a.own) out->held.push_back(a.own);
    return stet_arg_array(a.array);
}

static bool takes_real(const Kernel &kernel, size_t i)
{
    return i < kernel.params.size() && kernel.params[i].kind == STET_ARG_REAL;
}

static stet_arg number_arg(const Kernel &kernel, size_t i, nb::handle x)
{
    PyObject *it = x.ptr();
    if (PyFloat_CheckExact(it)) return stet_arg_real(PyFloat_AsDouble(it));
    if (takes_real(kernel, i)) {
        double f = PyFloat_AsDouble(it);
        check_python(f != -1.0 || !PyErr_Occurred());
        return stet_arg_real(f);
    }
    if (PyIndex_Check(it)) {
        nb::object n = nb::steal(PyNumber_Index(it));
        check_python(n.is_valid());
        return stet_arg_int(nb::cast<long long>(n));
    }
    double f = PyFloat_AsDouble(it);
    check_python(f != -1.0 || !PyErr_Occurred());
    return stet_arg_real(f);
}

static stet_arg to_arg(const Kernel &kernel, size_t i, nb::handle x, Arguments *out)
{
    Array *array;
    if (x.is_none()) return stet_arg_array(nullptr);
    if (nb::try_cast<Array *>(x, array) && array) return array_arg(kernel, i, *array, out);
    if (PyLong_CheckExact(x.ptr()) || PyFloat_CheckExact(x.ptr())) return number_arg(kernel, i, x);
    if (nb::isinstance<nb::str>(x) || PyObject_Size(x.ptr()) >= 0) refuse(kernel, i, x); // a list, a tensor
    PyErr_Clear();
    if (!PyNumber_Check(x.ptr())) refuse(kernel, i, x);
    return number_arg(kernel, i, x);
}

Arguments to_arguments(const Kernel &kernel, nb::handle sequence)
{
    Arguments out;
    size_t n = nb::len(sequence), i = 0;
    out.args.reserve(n);
    for (nb::handle x : nb::borrow(sequence)) {
        stet_arg arg = to_arg(kernel, i++, x, &out);
        out.args.push_back(arg);
    }
    return out;
}

// ---- launching -----------------------------------------------------------------------------------------------------

stet_result find_pictures(Arguments *arguments)
{
    for (size_t i = 0; i < arguments->pictures.size(); ++i) {
        if (!arguments->pictures[i]) continue;
        stet_array *array;
        stet_result result = arguments->pictures[i]->find(&array);
        if (result != STET_OK) return result;
        arguments->args[i].array = array;
    }
    return STET_OK;
}

static void launch(const Kernel &kernel, int64_t count, nb::args args)
{
    Arguments arguments = to_arguments(kernel, args);
    run(*kernel.core, [&] {
        stet_result result = find_pictures(&arguments);
        if (result != STET_OK) return result;
        return stet_kernel_launch(kernel.get(), count, arguments.args.data(), (int)arguments.args.size());
    });
}

// ---- making --------------------------------------------------------------------------------------------------------

static void list_params(Kernel *kernel)
{
    int n = stet_kernel_get_nparam(kernel->get());
    for (int i = 0; i < n; ++i) {
        stet_kernel_param param;
        check(stet_kernel_get_param(kernel->get(), i, &param));
        kernel->params.push_back(param);
    }
}

static void destroy_kernel(void *kernel) { stet_kernel_destroy(static_cast<stet_kernel *>(kernel)); }

// Empty texts are absent ones; `source` may be absent only if there is a path.
struct Making {
    std::string source, name, path, compiler, cache_folder, shipped;
    std::vector<std::string> includes, constant;
    int team, teams;
};

static Kernel make_kernel(const Sim &sim, const Making &making)
{
    stet_kernel_def def = stet_default_kernel_def();
    stet_kernel *kernel = nullptr;
    std::vector<const char *> includes, constant;
    for (const std::string &folder : making.includes) includes.push_back(folder.c_str());
    for (const std::string &name : making.constant) constant.push_back(name.c_str());
    def.source = text_or_null(making.source);
    def.name = text_or_null(making.name);
    def.path = text_or_null(making.path);
    def.compiler = text_or_null(making.compiler);
    def.cache_folder = text_or_null(making.cache_folder);
    def.shipped_folder = text_or_null(making.shipped);
    def.includes = includes.data();
    def.ninclude = (int)includes.size();
    def.constant = constant.data();
    def.nconstant = (int)constant.size();
    def.team = making.team;
    def.teams = making.teams;
    run(*sim.core, [&] { return stet_kernel_create(sim.core->device, &def, &kernel); });
    Kernel out;
    out.core = sim.core;
    out.own = std::make_shared<Memory>(sim.core->gate, Thing{kernel, destroy_kernel});
    list_params(&out);
    return out;
}

static Kernel kernel_of(const Sim &sim, std::string source, std::string name, std::string path,
                        std::vector<std::string> includes, std::string compiler, std::string cache_folder,
                        std::string shipped, int team, int teams, std::vector<std::string> constant)
{
    return make_kernel(sim, {std::move(source), std::move(name), std::move(path), std::move(compiler),
                             std::move(cache_folder), std::move(shipped), std::move(includes), std::move(constant),
                             team, teams});
}

static nb::typed<nb::list, nb::typed<nb::dict, nb::str, nb::object>> list_of_params(const Kernel &kernel)
{
    static const char *const kinds[] = {"array", "int", "real"};
    nb::list out;
    for (const stet_kernel_param &p : kernel.params) {
        nb::dict one;
        one["name"] = p.name;
        one["type"] = p.type;
        one["kind"] = kinds[p.kind];
        one["worlds"] = p.worlds;
        one["written"] = p.written;
        out.append(one);
    }
    return out;
}

static std::string kernel_repr(const Kernel &kernel)
{
    std::string out = std::string("<stet.Kernel ") + stet_kernel_get_name(kernel.get()) + "(";
    for (size_t i = 0; i < kernel.params.size(); ++i) {
        const stet_kernel_param &p = kernel.params[i];
        bool array = p.kind == STET_ARG_ARRAY;
        out +=
            std::string(i ? ", " : "") + (array && !p.written ? "const " : "") + p.type + (array ? " *" : " ") + p.name;
    }
    return out + ")>";
}

void bind_kernel(nb::module_ &m)
{
    nb::class_<Kernel>(
        m, "Kernel",
        "A kernel in stet's language, compiled for the device of its sim. kernel(count, *args) launches it.")
        .def("__call__", launch, "count"_a, "args"_a, nb::sig("def __call__(self, count: int, *args: object) -> None"),
             "Runs it over `count` worlds (a world_kernel) or blocks of items (an item_kernel). Arguments in the order "
             "of its parameters: arrays "
             "of its sim, ints, floats, None for an array that is absent.")
        .def_prop_ro(
            "name", [](const Kernel &k) { return stet_kernel_get_name(k.get()); }, "Its name in the source.")
        .def_prop_ro("params", list_of_params,
                     "Its parameters: name, type in the language, kind (array, int, real), worlds, written.")
        .def_prop_ro("adjoint", adjoint_of,
                     "Its Adjoint. UnsupportedError: something in it cannot be differentiated; the sentence says where "
                     "and what to do.")
        .def("__repr__", kernel_repr);
    m.def("_kernel", kernel_of, "sim"_a, "source"_a, "name"_a, "path"_a, "includes"_a, "compiler"_a, "cache_folder"_a,
          "shipped_folder"_a, "team"_a, "teams"_a, "constant"_a);
}

} // namespace binding
