// Gradients of one kernel: stet.Adjoint, sums over worlds, and checks against differences.
#include "names.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace binding
{

using namespace nb::literals;

// ---- adjoints ------------------------------------------------------------------------------------------------------

Adjoint adjoint_of(const Kernel &kernel)
{
    Adjoint out{kernel, nullptr};
    run(*kernel.core, [&] { return stet_kernel_get_adjoint(kernel.get(), &out.adjoint); });
    return out;
}

static std::string source(const Adjoint &a)
{
    Hold hold(*a.kernel.core);
    return stet_adjoint_get_source(a.adjoint);
}

static nb::tuple differentiable(const Adjoint &a)
{
    nb::list out;
    for (size_t i = 0; i < a.kernel.params.size(); ++i) {
        bool has = false;
        run_now(*a.kernel.core, [&] { return stet_adjoint_has_gradient(a.adjoint, (int)i, &has); });
        if (has) out.append(a.kernel.params[i].name);
    }
    return nb::tuple(out);
}

// An array by parameter, NULL where there is none.
static std::vector<stet_array *> to_gradients(const Adjoint &a, nb::handle sequence)
{
    std::vector<stet_array *> out;
    for (nb::handle x : nb::borrow(sequence)) {
        Array *array = nullptr;
        if (!x.is_none() && (!nb::try_cast<Array *>(x, array) || !array))
            raise_type(std::string("the adjoint of kernel ") + stet_kernel_get_name(a.kernel.get()) + ": gradient " +
                       std::to_string(out.size()) + " is a " + type_of(x) + "; give an array of this sim or None");
        if (array && (array->core != a.kernel.core || !array->array))
            raise(STET_ERROR_INVALID_ARGUMENT, std::string("the adjoint of kernel ") +
                                                   stet_kernel_get_name(a.kernel.get()) + ": array " + array->name +
                                                   " is not one of this sim's that lasts");
        out.push_back(array ? array->array : nullptr);
    }
    return out;
}

static void launch(const Adjoint &a, int64_t count, nb::args args, nb::handle gradients)
{
    Arguments arguments = to_arguments(a.kernel, args);
    std::vector<stet_array *> to = to_gradients(a, gradients);
    if (to.size() != arguments.args.size())
        raise(STET_ERROR_INVALID_ARGUMENT,
              std::string("the adjoint of kernel ") + stet_kernel_get_name(a.kernel.get()) + ": " +
                  counted((long long)arguments.args.size(), "argument") + " and " +
                  counted((long long)to.size(), "gradient") + "; give as many, None where a parameter has no gradient");
    run(*a.kernel.core, [&] {
        stet_result result = find_pictures(&arguments);
        if (result != STET_OK) return result;
        return stet_adjoint_launch(a.adjoint, count, arguments.args.data(), to.data(), (int)to.size());
    });
}

static void sum_worlds(const Array &sum, const Array &shares)
{
    if (sum.core != shares.core)
        raise(STET_ERROR_INVALID_ARGUMENT,
              "sum_worlds: arrays " + sum.name + " and " + shares.name + " are of two sims");
    run(sum, [&](stet_array *array) {
        stet_array *from;
        stet_result result = shares.find(&from);
        return result == STET_OK ? stet_adjoint_sum_worlds(array, from) : result;
    });
}

// ---- checks --------------------------------------------------------------------------------------------------------

// What stet/adjoint.py has made of the arguments of gradcheck; empty texts are absent ones.
struct Checking {
    std::string source, path, kernel, cache_folder;
    std::vector<std::string> constant, includes;
    std::map<std::string, int64_t> numbers, items;
    std::map<std::string, std::vector<int64_t>> values;
    std::map<std::string, std::pair<double, double>> ranges;
};

static stet_gradcheck_value &value_of(std::map<std::string, stet_gradcheck_value> &all, const std::string &name,
                                      int64_t usual)
{
    auto [it, is_new] = all.try_emplace(name);
    if (is_new) {
        it->second.name = it->first.c_str();
        it->second.number = usual;
    }
    return it->second;
}

static std::vector<stet_gradcheck_value> to_values(const Checking &c, int64_t usual,
                                                   std::map<std::string, stet_gradcheck_value> *all)
{
    std::vector<stet_gradcheck_value> out;
    for (const auto &[name, n] : c.numbers) value_of(*all, name, usual).number = n;
    for (const auto &[name, n] : c.items) value_of(*all, name, usual).nitem = n;
    for (const auto &[name, list] : c.values) {
        value_of(*all, name, usual).value = list.data();
        value_of(*all, name, usual).nitem = (int64_t)list.size();
    }
    for (const auto &[name, range] : c.ranges) {
        value_of(*all, name, usual).low = range.first;
        value_of(*all, name, usual).high = range.second;
    }
    for (const auto &[name, value] : *all) out.push_back(value);
    return out;
}

static std::vector<const char *> texts(const std::vector<std::string> &list)
{
    std::vector<const char *> out;
    for (const std::string &text : list) out.push_back(text.c_str());
    return out;
}

static nb::tuple result_of(const stet_gradcheck_result &r)
{
    return nb::make_tuple(r.compared, r.wrong, r.moving, r.unfit, r.worst, std::string(r.where));
}

static nb::typed<nb::tuple, nb::any, nb::ellipsis>
gradcheck(std::string source, std::string path, std::string kernel, std::vector<std::string> constant,
          std::vector<std::string> includes, std::map<std::string, int64_t> numbers,
          std::map<std::string, int64_t> items, std::map<std::string, std::vector<int64_t>> values,
          std::map<std::string, std::pair<double, double>> ranges, int worlds, double tolerance, uint64_t seed,
          std::string cache_folder)
{
    Checking c{std::move(source),   std::move(path),    std::move(kernel), std::move(cache_folder), std::move(constant),
               std::move(includes), std::move(numbers), std::move(items),  std::move(values),       std::move(ranges)};
    stet_gradcheck_def def = stet_default_gradcheck_def();
    std::map<std::string, stet_gradcheck_value> all;
    std::vector<stet_gradcheck_value> value = to_values(c, def.number, &all);
    std::vector<const char *> constants = texts(c.constant), folders = texts(c.includes);
    def.source = text_or_null(c.source);
    def.path = text_or_null(c.path);
    def.kernel = text_or_null(c.kernel);
    def.cache_folder = text_or_null(c.cache_folder);
    def.constant = constants.data();
    def.nconstant = (int)constants.size();
    def.includes = folders.data();
    def.ninclude = (int)folders.size();
    def.value = value.data();
    def.nvalue = (int)value.size();
    def.nworld = worlds;
    def.tolerance = tolerance;
    def.seed = seed;
    stet_gradcheck_result out = {};
    stet_result result;
    {
        nb::gil_scoped_release others;
        result = stet_gradcheck(&def, &out);
    }
    check(result);
    return result_of(out);
}

void bind_adjoint(nb::module_ &m)
{
    nb::class_<Adjoint>(m, "Adjoint",
                        "What takes gradients of what a kernel wrote to gradients of what it read: Kernel.adjoint. "
                        "adjoint(count, *args, gradients=[...]) runs it.")
        .def("__call__", launch, "count"_a, "args"_a, nb::kw_only(), "gradients"_a,
             nb::sig("def __call__(self, count: int, *args: object, gradients: object) -> None"),
             "Runs it with the kernel's own arguments, arrays holding what they held before the kernel ran. gradients: "
             "for each of them an array "
             "of worlds with as many items (of a number: one), None where there is none. Gradients of what is only "
             "read are added to; those of what is only written become 0.")
        .def_prop_ro("source", source, "Its source, in the kernel language.")
        .def_prop_ro("differentiable", differentiable, nb::sig("def differentiable(self) -> tuple[str, ...]"),
                     "Names of the parameters that have gradients.")
        .def("__repr__", [](const Adjoint &a) {
            return std::string("<stet.Adjoint of ") + stet_kernel_get_name(a.kernel.get()) + ">";
        });
    m.def("sum_worlds", sum_worlds, "sum"_a, "shares"_a,
          "sum [items] = the shares of all worlds [world, items], added in an order that is the same on every device.");
    m.def("_gradcheck", gradcheck);
}

} // namespace binding
