// What a sim is and did: device, counters, times, faults; and what this build is (stet/info.py).
#include "names.h"
#include "numpy.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>

namespace binding
{

using namespace nb::literals;

// ---- counters ------------------------------------------------------------------------------------------------------

static nb::dict reasons_of(const stet_counters &counters, stet_mechanism mechanism)
{
    nb::dict out;
    for (int r = 0; r < STET_REASON_COUNT; ++r)
        if (stet_reason_mechanism((stet_reason)r) == mechanism && counters.reason[r] > 0)
            out[stet_reason_name((stet_reason)r)] = counters.reason[r];
    return out;
}

static nb::dict dict_of(const stet_counters &counters, stet_mechanism mechanism)
{
    const stet_counter &c = counters.mechanism[mechanism];
    nb::dict out;
    out["hits"] = c.hits;
    out["misses"] = c.misses;
    out["fallbacks"] = c.fallbacks;
    out["reasons"] = reasons_of(counters, mechanism);
    out["done_launches"] = c.done_launches;
    out["done_bytes"] = c.done_bytes;
    out["saved_launches"] = c.saved_launches;
    out["saved_bytes"] = c.saved_bytes;
    out["held_bytes"] = c.held_bytes;
    return out;
}

static nb::dict counters(const Sim &sim)
{
    stet_counters all;
    nb::dict out, total;
    run_now(*sim.core, [&] { return all = stet_device_get_counters(sim.core->device), STET_OK; });
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k)
        out[stet_mechanism_name((stet_mechanism)k)] = dict_of(all, (stet_mechanism)k);
    total["launches"] = all.launches;
    total["bytes_copied"] = all.bytes_copied;
    total["schedules_built"] = all.schedules_built;
    total["kinematics"] = all.kinematics;
    total["constants"] = all.constants;
    out["total"] = total;
    return out;
}

static nb::dict timing(const Sim &sim)
{
    stet_sim_timing t{};
    nb::dict out;
    run_now(*sim.core, [&] { return t = stet_sim_get_timing(sim.core->sim), STET_OK; });
    out["control"] = t.control;
    out["step"] = t.step;
    out["pose"] = t.pose;
    out["hierarchy"] = t.hierarchy;
    out["render"] = t.render;
    out["extract"] = t.extract;
    out["read"] = t.read;
    out["kernels"] = t.kernels;
    out["round"] = t.round;
    return out;
}

// ---- device and switches -------------------------------------------------------------------------------------------

struct Device {
    std::string name, type, isa;
    int lanes, threads, index;
};

static const char *type_name(stet_device_type type)
{
    static const char *const names[] = {"auto", "cpu", "null", "cuda", "hip"};
    return names[type];
}

static Device describe(stet_device *device, int index)
{
    return {stet_device_get_name(device),  type_name(stet_device_get_type(device)), stet_device_get_isa(device),
            stet_device_get_lanes(device), stet_device_get_threads(device),         index};
}

static Device device(const Sim &sim)
{
    Hold hold(*sim.core);
    return describe(sim.core->device, sim.core->index);
}

// Opens a device of this type and isa ("": the best) only to say what it is.
static Device probe(int type, int index, const std::string &isa)
{
    stet_device_def def = stet_default_device_def();
    stet_device *it = nullptr;
    def.type = (stet_device_type)type;
    def.gpu.index = index;
    def.isa = isa.empty() ? nullptr : isa.c_str();
    check(stet_device_create(&def, &it));
    Device out = describe(it, index);
    stet_device_destroy(it);
    return out;
}

static void configure(const Sim &sim, const std::vector<std::string> &disable, bool strict, bool audit)
{
    stet_mechanism_options options{to_mechanisms(disable), strict, audit};
    run(*sim.core, [&] { return stet_device_set_mechanisms(sim.core->device, &options); });
}

// ---- what it is ----------------------------------------------------------------------------------------------------

static nb::list cameras(const Sim &sim)
{
    Hold hold(*sim.core);
    nb::list out;
    for (int i = 0; i < stet_sim_get_ncamera(sim.core->sim); ++i)
        out.append(stet_sim_get_camera(sim.core->sim, i)->name);
    return out;
}

static nb::tuple outputs(const Sim &sim)
{
    Hold hold(*sim.core);
    nb::list out;
    for (int i = 0; i < STET_OUTPUT_COUNT; ++i)
        if (stet_sim_get_outputs(sim.core->sim) >> i & 1u) out.append(stet_output_name((stet_output)i));
    return nb::tuple(out);
}

static nb::object faults(const Sim &sim)
{
    nb::object out = numpy_empty(STET_DTYPE_U32, 4, {sim.core->nworld}, nb::none());
    Buffer buffer;
    buffer.open(out, true);
    run_now(*sim.core, [&] {
        const uint32_t *found = stet_worlds_get_faults(sim.core->worlds);
        if (!found) return STET_ERROR_DEVICE;
        memcpy(buffer.data(), found, buffer.size());
        return STET_OK;
    });
    return out;
}

static void set_parameter(const Sim &sim, std::string name, nb::handle values, nb::handle mask)
{
    Mask which(mask, sim.core->nworld);
    nb::object numbers = convert("numbers", values, name.c_str());
    Buffer buffer;
    if (!values.is_none()) buffer.open(numbers, false);
    run(*sim.core, [&] {
        return stet_worlds_set_parameter_where(sim.core->worlds, name.c_str(), which.data(),
                                               static_cast<const double *>(buffer.data()),
                                               (int64_t)(buffer.size() / sizeof(double)));
    });
}

static nb::object parameter(const Sim &sim, std::string name)
{
    int64_t items = stet_worlds_get_parameter_items(sim.core->worlds, name.c_str());
    nb::object out = numpy_empty(STET_DTYPE_REAL, sizeof(double), {sim.core->nworld, items}, nb::none());
    Buffer buffer;
    buffer.open(out, true);
    run(*sim.core, [&] {
        return stet_worlds_get_parameter(sim.core->worlds, name.c_str(), static_cast<double *>(buffer.data()),
                                         items * sim.core->nworld);
    });
    return out;
}

// Numbers of a world in a field.
static int64_t items_of(const Sim &sim, const char *field)
{
    stet_array *array = nullptr;
    run(*sim.core, [&] { return stet_worlds_get_array(sim.core->worlds, field, &array); });
    return stet_array_get_shape(array)[1];
}

// A pair of derivatives, [world, row, number of the state] and [world, row, control], of sensors or of the next step.
static void put_derivatives(const Sim &sim, bool sensors, nb::list out)
{
    int64_t n = 2 * items_of(sim, "qvel") + items_of(sim, "act"), nu = items_of(sim, "ctrl"), nworld = sim.core->nworld;
    int64_t rows = sensors ? items_of(sim, "sensordata") : n;
    nb::object A = numpy_empty(STET_DTYPE_REAL, sizeof(double), {nworld, rows, n}, nb::none());
    nb::object B = numpy_empty(STET_DTYPE_REAL, sizeof(double), {nworld, rows, nu}, nb::none());
    Buffer a, b;
    a.open(A, true);
    b.open(B, true);
    run(*sim.core, [&] {
        return (sensors ? stet_sim_linearize_sensors : stet_sim_linearize)(
            sim.core->sim, static_cast<double *>(a.data()), nworld * rows * n, static_cast<double *>(b.data()),
            nworld * rows * nu);
    });
    out.append(A);
    out.append(B);
}

static nb::object linearize(const Sim &sim, bool sensors)
{
    nb::list out;
    put_derivatives(sim, false, out);
    if (sensors) put_derivatives(sim, true, out);
    return nb::tuple(out);
}

static void randomize(const Sim &sim, std::string name, nb::handle low, nb::handle high)
{
    nb::object bounds[2] = {convert("numbers", low, name.c_str()), convert("numbers", high, name.c_str())};
    Buffer buffer[2];
    for (int k = 0; k < 2; ++k)
        if (!bounds[k].is_none()) buffer[k].open(bounds[k], false);
    if (buffer[0].size() != buffer[1].size())
        raise(STET_ERROR_INVALID_ARGUMENT,
              "randomize: low and high of " + name + " have different sizes; give as many");
    run(*sim.core, [&] {
        return stet_worlds_randomize(sim.core->worlds, name.c_str(), static_cast<const double *>(buffer[0].data()),
                                     static_cast<const double *>(buffer[1].data()),
                                     (int64_t)(buffer[0].size() / sizeof(double)));
    });
}

static std::string text_of_device(const Device &d) { return "<stet.Device " + d.name + ">"; }

static std::string repr(const Sim &sim)
{
    if (sim.core->closed) return "<stet.Sim, closed>";
    Hold hold(*sim.core);
    std::string path = stet_model_get_path(sim.core->model);
    return "<stet.Sim " + (path.empty() ? std::string("from text") : path) + ": " + counted(sim.core->nworld, "world") +
           " on " + stet_device_get_name(sim.core->device) + ", physics " +
           stet_physics_name(stet_sim_get_physics(sim.core->sim)) + ">";
}

// ---- for tests and benchmarks --------------------------------------------------------------------------------------

// Seconds of n calls of stet_sim_step in a loop of C: what stet/bench.py compares a loop of Python with.
static double step_loop(const Sim &sim, int n)
{
    auto begin = std::chrono::steady_clock::now();
    run(*sim.core, [&] {
        stet_result result = STET_OK;
        for (int i = 0; i < n && result == STET_OK; ++i) result = stet_sim_step(sim.core->sim, 1);
        return result;
    });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

static nb::typed<nb::dict, nb::str, nb::int_> alive()
{
    nb::dict out;
    out["sims"] = Counted<Core>::alive();
    out["arrays"] = Counted<Array>::alive();
    out["kernels"] = Counted<Kernel>::alive();
    out["models"] = Counted<Model>::alive();
    out["owned"] = Memory::alive();
    return out;
}

static nb::typed<nb::dict, nb::str, nb::int_> memory()
{
    stet_memory_stats stats = stet_get_memory_stats();
    nb::dict out;
    out["blocks"] = stats.blocks;
    out["bytes"] = stats.bytes;
    out["peak_bytes"] = stats.peak_bytes;
    out["allocations"] = stats.allocations;
    return out;
}

static nb::typed<nb::dict, nb::str, nb::object> tables()
{
    nb::dict out, mechanisms, kinds, faults_, results;
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k)
        mechanisms[stet_mechanism_name((stet_mechanism)k)] = stet_mechanism_sentence((stet_mechanism)k);
    for (int k = 0; k < STET_OUTPUT_COUNT; ++k)
        kinds[stet_output_name((stet_output)k)] = nb::make_tuple(
            numpy_name(stet_output_dtype((stet_output)k), sizeof(float)), stet_output_channels((stet_output)k));
    for (int k = 0; k < STET_FAULT_COUNT; ++k) faults_[stet_fault_name((stet_fault)k)] = 1u << k;
    for (int k = 0; k < STET_RESULT_COUNT; ++k) results[nb::int_(k)] = stet_result_sentence((stet_result)k);
    out["mechanisms"] = mechanisms;
    out["outputs"] = kinds;
    out["faults"] = faults_;
    out["results"] = results;
    return out;
}

// ---- traces --------------------------------------------------------------------------------------------------------

static void trace_begin(const Sim &sim)
{
    stet_trace_def def = stet_default_trace_def();
    run(*sim.core, [&] { return stet_trace_begin(sim.core->device, &def); });
}

static nb::list trace_end(const Sim &sim)
{
    nb::list out;
    stet_trace_event e;
    run(*sim.core, [&] { return stet_trace_end(sim.core->device); });
    Hold hold(*sim.core);
    for (int64_t i = 0; stet_trace_get_event(sim.core->device, i, &e); ++i) {
        nb::dict row;
        row["kind"] = stet_trace_kind_name(e.kind);
        row["name"] = e.name;
        row["begin"] = (double)e.begin * 1e-9;
        row["seconds"] = (double)e.duration * 1e-9;
        if (e.device_begin >= 0) {
            row["device_begin"] = (double)e.device_begin * 1e-9;
            row["device_seconds"] = (double)e.device_duration * 1e-9;
        }
        row["amount"] = e.amount;
        if (e.kind == STET_TRACE_MISS || e.kind == STET_TRACE_FALLBACK) row["reason"] = stet_reason_name(e.reason);
        out.append(row);
    }
    return out;
}

static void bind_sim_report(nb::class_<Sim> &sim)
{
    sim.def("counters", counters, nb::sig("def counters(self) -> dict[str, dict[str, Any]]"),
            "What each mechanism did since the counters were last cleared: hits, misses, fallbacks, reasons, launches "
            "and bytes; under \"total\" what "
            "was done in all.")
        .def(
            "clear_counters",
            [](const Sim &s) { run_now(*s.core, [&] { return stet_device_clear_counters(s.core->device), STET_OK; }); },
            "Counts from 0 again; what is held stays counted.")
        .def(
            "timing", timing, nb::sig("def timing(self) -> dict[str, float]"),
            "Seconds spent in each part of the loop since the sim was made or cleared: control, step, pose, hierarchy, "
            "render, extract, read, kernels (the caller's, in steps), round (beginning and ending rounds).")
        .def(
            "clear_timing",
            [](const Sim &s) { run_now(*s.core, [&] { return stet_sim_clear_timing(s.core->sim), STET_OK; }); },
            "Times from 0 again.")
        .def("trace_begin", trace_begin,
             "From now on a list is kept of what the sim's device does and when: phases, launches, copies, replays. No "
             "result changes.")
        .def("trace_end", trace_end, nb::sig("def trace_end(self) -> list[dict[str, Any]]"),
             "Ends the trace. Its events in the order of their begin: kind, name, begin and seconds on the host, on a "
             "GPU device_begin and device_seconds, amount (bytes of copies, blocks of launches), reason of a miss.")
        .def("configure", configure, nb::kw_only(), "disable"_a = nb::make_tuple(), "strict"_a = false,
             "audit"_a = false, "Sets which mechanisms are switched off, strict and audit mode, anew.")
        .def("faults", faults, nb::sig("def faults(self) -> NDArray"),
             "Faults of each world since its last reset, [world] of uint32: bits as in info()[\"faults\"].")
        .def("set_parameter", set_parameter, "name"_a, "values"_a.none(), "mask"_a = nb::none(),
             nb::sig("def set_parameter(self, name: str, values: object | None, mask: object | None = None) -> None"),
             "See stet.Sim.set_parameter.")
        .def("linearize", linearize, "sensors"_a = false,
             nb::sig("def linearize(self, sensors: bool = False) -> tuple[NDArray, ...]"),
             "Derivatives of the next time step of each world at its present state and inputs, exact where MuJoCo's "
             "mjd_transitionFD takes differences: A [world, n, n] and B [world, n, control] of float64, n = 2 nv + na: "
             "positions (by small turns of quaternions), velocities, activations. With sensors also those of "
             "sensordata, C [world, number, n] and D [world, number, control]; of a number without a derivative they "
             "are NaN. The sim stays as it is.")
        .def("_has_parameter",
             [](const Sim &s, std::string name) {
                 Hold hold(*s.core);
                 return stet_worlds_has_parameter(s.core->worlds, name.c_str());
             })
        .def("parameter", parameter, "name"_a, nb::sig("def parameter(self, name: str) -> NDArray"),
             "See stet.Sim.parameter.")
        .def("randomize", randomize, "name"_a, "low"_a.none(), "high"_a.none(),
             nb::sig("def randomize(self, name: str, low: object | None, high: object | None) -> None"),
             "From now on each reset draws this parameter (set_parameter) for the worlds that it resets: uniform "
             "between low and high, numbers or one an item. A draw is a function of the sim's seed, the world and "
             "the number of its resets. None, None ends it; values stay.")
        .def_prop_ro("device", device, "The device that it runs on.")
        .def_prop_ro("cameras", cameras, nb::sig("def cameras(self) -> list[str]"), "Names of its cameras.")
        .def_prop_ro("outputs", outputs, nb::sig("def outputs(self) -> tuple[str, ...]"), "Names of its outputs.")
        .def_prop_ro(
            "nworld", [](const Sim &s) { return s.core->nworld; }, "Number of worlds.")
        .def_prop_ro(
            "physics",
            [](const Sim &s) {
                Hold hold(*s.core);
                return stet_physics_name(stet_sim_get_physics(s.core->sim));
            },
            "\"mujoco\", \"native\" or \"external\".")
        .def_prop_ro(
            "physics_reason",
            [](const Sim &s) {
                Hold hold(*s.core);
                return std::string(stet_sim_get_physics_reason(s.core->sim));
            },
            "Why it is this physics: \"asked for\", or why \"auto\" took it.")
        .def_prop_ro(
            "keyframe",
            [](const Sim &s) {
                Hold hold(*s.core);
                return stet_sim_get_keyframe(s.core->sim);
            },
            "Number of the keyframe that worlds begin with; -1: qpos0.")
        .def("_step_loop", step_loop)
        .def("__repr__", repr);
}

void bind_report(nb::module_ &m)
{
    nb::class_<Device>(m, "Device", "A device: what a sim runs on.")
        .def_ro("name", &Device::name, "\"cpu (avx512, 16 lanes, 2 threads)\".")
        .def_ro("type", &Device::type, "\"cpu\", \"cuda\", \"hip\" or \"null\".")
        .def_ro("isa", &Device::isa, "Of a CPU its instruction set, of a GPU its architecture.")
        .def_ro("index", &Device::index, "Number of a GPU.")
        .def_ro("lanes", &Device::lanes, "Worlds in a block of the layout.")
        .def_ro("threads", &Device::threads, "Threads of the host that work for it.")
        .def("__repr__", text_of_device);
    auto sim = nb::borrow<nb::class_<Sim>>(nb::type<Sim>());
    bind_sim_report(sim);
    m.def("_probe", probe);
    m.def("_alive", alive);
    m.def("_memory", memory);
    m.def("_tables", tables);
}

} // namespace binding
