// stet.Sim: rounds. What a user gives them, by name or as an array, becomes values of the library; stet/rounds.py has
// the rest.
#include "names.h"
#include "numpy.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <list>

namespace binding
{

using namespace nb::literals;

// ---- values --------------------------------------------------------------------------------------------------------

// A list of values, and what they borrow from.
struct RoundValues {
    std::list<std::string> names;
    std::list<Values> arrays;
    std::list<Buffer> buffers;
    std::vector<nb::object> kept;
    std::vector<stet_round_value> list;
    stet_round_value *data() { return list.data(); }
    int size() const { return (int)list.size(); }
};

static bool is_parameter(const std::string &name)
{
    for (const char *const *p = stet_worlds_get_parameters(); *p; ++p)
        if (name == *p) return true;
    return false;
}

// The field of a name; false: there is none, which the library says better.
static bool find_field(const Sim &sim, const std::string &name, std::vector<Array> *out)
{
    stet_array *array = nullptr;
    bool found = false;
    run_now(*sim.core, [&] {
        found = stet_worlds_get_array(sim.core->worlds, name.c_str(), &array) == STET_OK;
        return STET_OK;
    });
    if (found) out->emplace_back(sim.core, nullptr, array, true);
    return found;
}

static const Array &own_array(const Sim &sim, nb::handle key)
{
    const Array *a = nullptr;
    if (!nb::try_cast<const Array *>(key, a) || !a)
        raise_type("a round's values are named by str or stet.Array, not " + type_of(key));
    if (a->core != sim.core || !a->array)
        raise(STET_ERROR_INVALID_ARGUMENT,
              "round: array " + a->name + " is not one of this sim's that lasts; make it with zeros()");
    return *a;
}

static void add_numbers(RoundValues *v, nb::object numbers, int64_t frames)
{
    v->kept.push_back(numbers);
    v->buffers.emplace_back();
    v->buffers.back().open(numbers, false);
    stet_round_value value = stet_round_in(v->names.back().c_str(), v->buffers.back().data(), v->buffers.back().size());
    value.frames = frames;
    v->list.push_back(value);
}

static void add_array(const Sim &sim, RoundValues *v, const Array &a, nb::handle x)
{
    v->arrays.emplace_back(x, a.dtype, sim.core->real_size, a.shape, a.name);
    const Values &values = v->arrays.back();
    v->list.push_back(stet_round_array(a.array, STET_DIRECTION_IN, const_cast<void *>(values.data()), values.size()));
}

static void add_named(const Sim &sim, RoundValues *v, nb::handle key, nb::handle x)
{
    const std::string &name = v->names.emplace_back(nb::cast<std::string>(key));
    std::vector<Array> field;
    if (is_parameter(name))
        add_numbers(v, convert("numbers", x, name.c_str()), 0);
    else if (name == "seed")
        add_numbers(v, convert("seed", x), 0);
    else if (name == "controls") {
        nb::object controls = convert("controls", x, numpy_dtype(STET_DTYPE_REAL, sim.core->real_size));
        add_numbers(v, controls, nb::cast<int64_t>(nb::object(controls.attr("shape"))[0]));
    } else if (find_field(sim, name, &field))
        add_array(sim, v, field[0], x);
    else
        v->list.push_back(stet_round_in(name.c_str(), nullptr, 0));
}

// `pairs`: a list of (name or array, content).
static void take_inputs(const Sim &sim, nb::typed<nb::list, nb::object> pairs, RoundValues *v)
{
    for (nb::handle pair : pairs) {
        nb::object key = pair[0], x = pair[1];
        if (nb::isinstance<nb::str>(key))
            add_named(sim, v, key, x);
        else
            add_array(sim, v, own_array(sim, key), x);
    }
}

// ---- beginning -----------------------------------------------------------------------------------------------------

static void round_begin(const Sim &sim, nb::typed<nb::list, nb::object> pairs)
{
    RoundValues v;
    take_inputs(sim, pairs, &v);
    run(*sim.core, [&] { return stet_sim_round_begin(sim.core->sim, v.data(), v.size()); });
}

static void round_check(const Sim &sim, nb::typed<nb::list, nb::object> pairs)
{
    RoundValues v;
    take_inputs(sim, pairs, &v);
    run(*sim.core, [&] { return stet_sim_round_check(sim.core->sim, v.data(), v.size()); });
}

static void round_stage(const Sim &sim, nb::typed<nb::list, nb::object> pairs)
{
    RoundValues v;
    take_inputs(sim, pairs, &v);
    run(*sim.core, [&] { return stet_sim_round_stage(sim.core->sim, v.data(), v.size()); });
}

static void round_contract(const Sim &sim, nb::handle key, const std::string &name)
{
    const Array &a = own_array(sim, key);
    for (int c = 0; c < STET_CONTRACT_COUNT; ++c)
        if (name == stet_contract_name((stet_contract)c)) {
            run(*sim.core, [&] { return stet_sim_round_contract(sim.core->sim, a.array, (stet_contract)c); });
            return;
        }
    raise(STET_ERROR_NOT_FOUND, "there is no contract '" + name + "'; an array is \"keep\", \"epoch\" or \"zero\"");
}

// ---- ending --------------------------------------------------------------------------------------------------------

// Room for an output: a name, an array, or (array, header).
static void add_output(const Sim &sim, RoundValues *v, nb::handle key)
{
    bool pair = nb::isinstance<nb::tuple>(key) && nb::len(key) == 2;
    nb::object first = pair ? nb::object(key[0]) : nb::borrow(key);
    std::vector<Array> field;
    if (nb::isinstance<nb::str>(first)) {
        const std::string &name = v->names.emplace_back(nb::cast<std::string>(first));
        if (!find_field(sim, name, &field)) {
            v->kept.push_back(nb::none());
            v->list.push_back(stet_round_out(name.c_str(), nullptr, 0));
            return;
        }
    } else
        field.push_back(own_array(sim, first));
    const Array &a = field[0];
    v->kept.push_back(numpy_empty(a.dtype, sim.core->real_size, a.shape, nb::none()));
    v->buffers.emplace_back();
    v->buffers.back().open(v->kept.back(), true);
    stet_round_value value =
        stet_round_array(a.array, STET_DIRECTION_OUT, v->buffers.back().data(), v->buffers.back().size());
    if (pair) value.header = own_array(sim, key[1]).array;
    v->list.push_back(value);
}

static nb::list take_outputs(RoundValues *v)
{
    nb::list out;
    v->buffers.clear();
    for (size_t i = 0; i < v->list.size(); ++i)
        out.append(v->list[i].header ? v->kept[i][nb::slice(nb::int_(0), nb::int_(v->list[i].rows), nb::none())]
                                     : v->kept[i]);
    return out;
}

// A list of arrays as the keys say. faulty: a round whose worlds all have a fault ends as any other.
static nb::typed<nb::list, nb::object> round_end(const Sim &sim, nb::typed<nb::list, nb::object> keys, bool faulty)
{
    RoundValues v;
    for (nb::handle key : keys) add_output(sim, &v, key);
    run(*sim.core, [&] {
        bool open = stet_sim_get_round(sim.core->sim).open;
        stet_result result = stet_sim_round_end(sim.core->sim, v.data(), v.size());
        bool all = open && stet_sim_get_round(sim.core->sim).faulty == sim.core->nworld;
        for (const stet_round_value &value : v.list) all = all && value.result == STET_OK;
        return result == STET_ERROR_STATE && all && faulty ? STET_OK : result;
    });
    return take_outputs(&v);
}

// ---- looking -------------------------------------------------------------------------------------------------------

static nb::dict round_info(const Sim &sim)
{
    stet_round_info info{};
    nb::dict out;
    run_now(*sim.core, [&] { return info = stet_sim_get_round(sim.core->sim), STET_OK; });
    out["round"] = info.round;
    out["open"] = info.open;
    out["why"] = info.why == STET_REASON_NONE ? nb::none() : nb::object(nb::str(stet_reason_name(info.why)));
    out["inputs"] = info.inputs;
    out["copied_in"] = info.copied_in;
    out["staged"] = info.staged;
    out["outputs"] = info.outputs;
    out["copied_out"] = info.copied_out;
    out["bytes_in"] = info.bytes_in;
    out["bytes_out"] = info.bytes_out;
    out["setup"] = info.setup;
    out["seconds"] = info.seconds;
    out["faulty"] = info.faulty;
    return out;
}

static int64_t sim_bytes(const Sim &sim)
{
    int64_t out = 0;
    run_now(*sim.core, [&] { return out = stet_sim_get_bytes(sim.core->sim), STET_OK; });
    return out;
}

void bind_round(nb::class_<Sim> &sim)
{
    sim.def("_round_begin", round_begin, "pairs"_a)
        .def("_round_check", round_check, "pairs"_a)
        .def("_round_stage", round_stage, "pairs"_a)
        .def("_round_end", round_end, "keys"_a, "faulty"_a)
        .def("_round_contract", round_contract, "array"_a.none(), "contract"_a)
        .def("_round_info", round_info, nb::sig("def _round_info(self) -> dict[str, object]"))
        .def_prop_ro(
            "bytes", sim_bytes,
            "Bytes that it holds: its arrays and their host's sides, copies of inputs of rounds, and MuJoCo's data.");
}

} // namespace binding
