// stet.Sim: state, arrays, kernels in the step, streams, snapshots, the sim's end.
#include "dlpack.h"
#include "names.h"
#include "numpy.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <variant>

namespace binding
{

using namespace nb::literals;

// ---- arrays --------------------------------------------------------------------------------------------------------

static bool is_quantity(const std::string &name)
{
    for (const char *const *q = stet_worlds_get_quantities(); *q; ++q)
        if (name == *q) return true;
    return false;
}

static Array field(const Sim &sim, const char *name)
{
    stet_array *array = nullptr;
    run_now(*sim.core, [&] { return stet_worlds_get_array(sim.core->worlds, name, &array); });
    Array out(sim.core, nullptr, array, true);
    std::string is = name;
    out.result = ((is == "xpos" || is == "xquat" || is == "step_sensordata") &&
                  stet_sim_get_physics(sim.core->sim) != STET_PHYSICS_EXTERNAL) ||
                 is_quantity(is);
    out.read_only = out.result;
    return out;
}

static nb::object step_faults(const Sim &sim)
{
    stet_array *array = nullptr;
    if (stet_sim_get_physics(sim.core->sim) == STET_PHYSICS_EXTERNAL) return nb::none();
    run_now(*sim.core, [&] { return stet_sim_get_step_faults(sim.core->sim, &array); });
    Array out(sim.core, nullptr, array, true);
    out.read_only = true;
    return nb::cast(std::move(out));
}

static Array jacobian(const Sim &sim, std::string kind, std::variant<int, std::string> object,
                      std::optional<std::array<double, 3>> point)
{
    static const char *const kinds[] = {"body", "body_com", "geom", "site", "point"};
    static const stet_object objects[] = {STET_OBJECT_BODY, STET_OBJECT_BODY, STET_OBJECT_GEOM, STET_OBJECT_SITE,
                                          STET_OBJECT_BODY};
    stet_array *array = nullptr;
    int of = 0;
    while (of < 5 && kind != kinds[of]) ++of;
    if (of == 5)
        raise(STET_ERROR_NOT_FOUND,
              "jacobian: there is no kind '" + kind + "'; use body, body_com, geom, site or point");
    run_now(*sim.core, [&] {
        const std::string *name = std::get_if<std::string>(&object);
        int index = name ? 0 : std::get<int>(object);
        stet_result found = name ? stet_model_find(sim.core->model, objects[of], name->c_str(), &index) : STET_OK;
        if (found != STET_OK) return found;
        return stet_worlds_get_jacobian(sim.core->worlds, (stet_jacobian)of, index, point ? point->data() : nullptr,
                                        &array);
    });
    Array out(sim.core, nullptr, array, true);
    out.result = out.read_only = true;
    return out;
}

static Array step_quantity(const Sim &sim, std::string name)
{
    stet_array *array = nullptr;
    run_now(*sim.core, [&] { return stet_worlds_get_step_quantity(sim.core->worlds, name.c_str(), &array); });
    Array out(sim.core, nullptr, array, true);
    out.result = out.read_only = true;
    return out;
}

static Array parameter_array(const Sim &sim, std::string name)
{
    stet_array *array = nullptr;
    run_now(*sim.core, [&] { return stet_worlds_get_parameter_array(sim.core->worlds, name.c_str(), &array); });
    return Array(sim.core, nullptr, array, true);
}

static nb::object inverse_dynamics(const Sim &sim, nb::handle qacc)
{
    Core &core = *sim.core;
    int64_t nv = 0;
    run_now(core, [&] { return nv = stet_model_get_info(core.model).nv, STET_OK; });
    Values given(qacc, STET_DTYPE_REAL, sizeof(double), {core.nworld, nv}, "qacc");
    nb::object out = numpy_empty(STET_DTYPE_REAL, sizeof(double), {core.nworld, nv}, nb::none());
    Buffer buffer;
    buffer.open(out, true);
    run(core, [&] {
        return stet_worlds_inverse_dynamics(core.worlds, static_cast<const double *>(given.data()),
                                            static_cast<double *>(buffer.data()), core.nworld * nv);
    });
    return out;
}

static void set_contact_slots(const Sim &sim, int slots)
{
    run_now(*sim.core, [&] { return stet_worlds_set_contact_slots(sim.core->worlds, slots); });
}

static Array control_table(const Sim &sim, std::string name)
{
    stet_array *array = nullptr;
    run_now(*sim.core, [&] { return stet_sim_get_control_table(sim.core->sim, name.c_str(), &array); });
    Array out(sim.core, nullptr, array, false);
    out.read_only = true;
    return out;
}

static void destroy_array(void *array) { stet_array_destroy(static_cast<stet_array *>(array)); }

// A whole number; invalid, with no error of Python's: it is none, such as an array of several.
static nb::object whole_number(nb::handle n)
{
    nb::object out = PyIndex_Check(n.ptr()) ? nb::steal(PyNumber_Index(n.ptr())) : nb::object();
    if (!out.is_valid()) PyErr_Clear();
    return out;
}

static int64_t to_length(nb::handle n)
{
    nb::object whole = whole_number(n);
    int64_t length = 0;
    if (!whole.is_valid()) raise_type("zeros: a shape has whole numbers, not a " + type_of(n));
    if (!nb::try_cast<int64_t>(whole, length))
        raise(STET_ERROR_INVALID_ARGUMENT, "zeros: " + std::string(nb::str(whole).c_str()) +
                                               " is no length of a dimension; give 0 or more, below 2^63");
    return length;
}

static void set_shape(nb::handle shape, stet_array_def *def)
{
    bool one = whole_number(shape).is_valid();
    if (!one && !PySequence_Check(shape.ptr()))
        raise_type("zeros: a shape is a whole number or several, not a " + type_of(shape));
    nb::object list = one ? nb::object(nb::make_tuple(nb::borrow(shape))) : nb::borrow(shape);
    def->ndim = 0;
    for (nb::handle n : list) {
        int64_t length = to_length(n);
        if (def->ndim == STET_MAX_DIMS)
            raise(STET_ERROR_INVALID_ARGUMENT,
                  "zeros: an array has at most " + std::to_string(STET_MAX_DIMS) + " dimensions");
        def->shape[def->ndim++] = length;
    }
}

static Array zeros(const Sim &sim, nb::handle shape, nb::handle dtype, bool worlds, std::string name)
{
    stet_array_def def = stet_default_array_def();
    stet_array *array = nullptr;
    def.name = name.c_str();
    def.dtype = to_dtype(dtype, sim.core->real_size);
    def.worlds = worlds;
    set_shape(shape, &def);
    run(*sim.core, [&] { return stet_array_create(sim.core->device, &def, &array); });
    return Array(sim.core, std::make_shared<Memory>(sim.core->gate, Thing{array, destroy_array}), array, worlds);
}

static Array from_dlpack(const Sim &sim, nb::handle x, bool worlds, int64_t nworld, bool announced, std::string name)
{
    return import_tensor(sim.core, x, {worlds, nworld, announced, std::move(name)});
}

static const char *field_doc(const std::string &name)
{
    static const struct {
        const char *name, *doc;
    } docs[] = {
        {"qpos", "[world, nq] Joint positions: metres, radians, unit quaternions w x y z."},
        {"qvel", "[world, nv] Joint velocities: metres and radians a second."},
        {"act", "[world, na] Activations of actuators."},
        {"ctrl", "[world, nu] Controls, the caller's to write."},
        {"qfrc_applied", "[world, nv] Forces on joints, the caller's: newtons, newton metres."},
        {"xfrc_applied", "[world, 6 nbody] Forces and torques on bodies in the world's frame, the caller's."},
        {"mocap_pos", "[world, 3 nmocap] Positions of mocap bodies, metres, the caller's."},
        {"mocap_quat", "[world, 4 nmocap] Orientations of mocap bodies, w x y z, the caller's."},
        {"eq_active", "[world, neq] 0 for an equality constraint that is switched off, the caller's to write."},
        {"time", "[world, 1] Seconds since the last reset."},
        {"step_sensordata",
         "[world, nsensordata] What the last step left of sensordata: with Euler's method the sensors "
         "of the state before its last time step; 0 after a reset."},
        {"qacc_warmstart", "[world, nv] Where the solver of native physics begins; with MuJoCo's physics no items."},
        {"xpos", "[world, 3 nbody] Positions of bodies in the world's frame, metres; worked out when they are read."},
        {"xquat", "[world, 4 nbody] Orientations of bodies, w x y z; worked out when they are read."},
    };
    for (const auto &row : docs)
        if (name == row.name) return row.doc;
    return "An array of the state, [world, item].";
}

static const char *quantity_doc(const std::string &name)
{
    static const struct {
        const char *name, *doc;
    } docs[] = {
        {"qM", "[world, nv nv] The mass matrix."},
        {"energy", "[world, 2] Potential and kinetic energy, joules."},
        {"sensordata", "[world, nsensordata] Sensors of the present state and inputs, as mj_forward has them."},
        {"ncon", "[world, 1] Number of contacts, also of those without a slot."},
        {"contact_geom", "[world, 2 slots] The two geoms of each contact; -1: the slot is empty."},
        {"contact_dist", "[world, slots] Distances of contacts, metres; below 0 they penetrate."},
        {"contact_pos", "[world, 3 slots] Positions of contacts in the world's frame, metres."},
        {"contact_frame", "[world, 9 slots] Frames of contacts: rows normal and tangents."},
        {"contact_force", "[world, 6 slots] Forces and torques on the second geom, in the contact's frame."},
    };
    for (const auto &row : docs)
        if (name == row.name) return row.doc;
    return "A quantity of the present state by MuJoCo's name, [world, item]; worked out when it is read.";
}

static nb::typed<nb::list, nb::str> list_names(const char *const *name)
{
    nb::typed<nb::list, nb::str> out;
    for (; *name; ++name) out.append(*name);
    return out;
}

static void bind_arrays(nb::class_<Sim> &sim)
{
    for (const char *const *name = stet_worlds_get_fields(); *name; ++name)
        sim.def_prop_ro(
            *name, [name](const Sim &s) { return field(s, *name); }, field_doc(*name));
    for (const char *const *name = stet_worlds_get_quantities(); *name; ++name)
        sim.def_prop_ro(
            *name, [name](const Sim &s) { return field(s, *name); }, quantity_doc(*name));
    sim.def(
           "array", [](const Sim &s, std::string name) { return field(s, name.c_str()); }, "name"_a,
           "The array of a field of the state, or of a quantity.")
        .def("jacobian", jacobian, "kind"_a, "object"_a, "point"_a = nb::none(),
             "[world, 6 nv] The Jacobian of a body, its centre of mass (body_com), a geom, a site, or a point that is "
             "fixed to a body, in the body's frame: three rows of the linear velocity, three of the angular one. "
             "object: its number or name.")
        .def("step_quantity", step_quantity, "name"_a,
             "A quantity, or xpos or xquat, as MuJoCo's data have it after a step, [world, item]: of the last "
             "evaluation of the dynamics, which with all integrators but RK4 was before the last time step. It stays "
             "until the next step or forward(), whatever is written; after a reset or a restore it is that of the "
             "present state. Native physics keeps what it takes from this call on, and has none with integrator RK4; "
             "external physics has \"sensordata\" (the field step_sensordata) alone.")
        .def("parameter_array", parameter_array, "name"_a,
             "The values of a parameter of the physics (set_parameter) as an array, [world, item], rounded, that you, "
             "a kernel or another library may write in place, at the same address for the life of the sim. What is "
             "written counts from the next call on that reads it or what follows from it, as if set_parameter had set "
             "it: constants that MuJoCo derives follow in the worlds that changed. They are derived on the host, so "
             "such a call waits for who wrote the array; a step in a captured graph has what the last call outside of "
             "it read. A number that the parameter does not take is an error of each such call until it is written "
             "well.")
        .def_prop_ro("step_faults", step_faults, nb::sig("def step_faults(self) -> Array | None"),
                     "[world, 1] of int32, for kernels: bits of faults (stet.info()['faults']) that steps found since "
                     "the world's last reset or, with native physics, since the host last asked for them (faults(), "
                     "time). None with external physics.")
        .def("inverse_dynamics", inverse_dynamics, "qacc"_a,
             nb::sig("def inverse_dynamics(self, qacc: object) -> NDArray"),
             "[world, nv] of float64: the forces that actuators and applied forces together must have for these "
             "accelerations in the present state, contacts accounted for (mj_inverse). Computed on the host.")
        .def("set_contact_slots", set_contact_slots, "slots"_a,
             "Slots for contacts of a world in the arrays contact_...; before one of them is used. 64 at first.")
        .def("control_table", control_table, "name"_a,
             "[nu] Of each actuator the \"hold\" position, \"half\" of its range (1 without one), its \"low\" and "
             "\"high\" end, in units of ctrl: "
             "arguments for kernels that write controls; not to be written.")
        .def_prop_ro_static(
            "fields", [](nb::handle) { return list_names(stet_worlds_get_fields()); },
            "Names of the fields of the state, each an attribute.")
        .def_prop_ro_static(
            "quantities", [](nb::handle) { return list_names(stet_worlds_get_quantities()); },
            "Names of quantities that follow from the state, each an attribute.")
        .def_prop_ro_static(
            "parameters", [](nb::handle) { return list_names(stet_worlds_get_parameters()); },
            "Names of the parameters of the physics that may differ between worlds (set_parameter).")
        .def("zeros", zeros, "shape"_a.none(), "dtype"_a.none() = "real", "worlds"_a = false, "name"_a = "array",
             "A new array on the device, of zeros. worlds: its first dimension is the worlds, for kernels that take an "
             "array of worlds.")
        .def("from_dlpack", from_dlpack, "x"_a.none(), "worlds"_a = false, "nworld"_a = 0, "announced"_a = false,
             "name"_a = "tensor",
             "An array over the memory of a tensor of another library, where the device can reach it. announced: "
             "whoever else writes it says so by "
             "mark_written(); otherwise it counts as written at each time that stet reads it.");
}

// ---- kernels in the step -------------------------------------------------------------------------------------------

static Arguments lasting(const Kernel &kernel, nb::handle args)
{
    Arguments out = to_arguments(kernel, args);
    if (!out.pictures.empty())
        raise(STET_ERROR_INVALID_ARGUMENT,
              std::string("kernel ") + stet_kernel_get_name(kernel.get()) +
                  ": a picture lasts for a few frames only and cannot be an argument in the step");
    out.held.insert(out.held.begin(), kernel.own);
    return out;
}

static int add_kernel(const Sim &sim, std::string phase, const Kernel &kernel, nb::handle args,
                      std::optional<int64_t> count)
{
    Core &core = *sim.core;
    stet_phase when = to_phase(phase);
    if (kernel.core != sim.core)
        raise(STET_ERROR_INVALID_ARGUMENT,
              std::string("kernel ") + stet_kernel_get_name(kernel.get()) + " was made for another sim");
    Arguments arguments = lasting(kernel, args);
    int id = 0;
    run(core, [&] {
        return stet_sim_add_kernel(core.sim, when, kernel.get(), count.value_or(core.nworld), arguments.args.data(),
                                   (int)arguments.args.size(), &id);
    });
    core.parts[id] = {kernel.params, std::move(arguments.held)};
    return id;
}

static void set_kernel_args(const Sim &sim, int id, nb::handle args)
{
    Core &core = *sim.core;
    auto part = core.parts.find(id);
    if (part == core.parts.end()) raise(STET_ERROR_NOT_FOUND, "the step has no kernel of number " + std::to_string(id));
    Kernel kernel;
    kernel.core = sim.core;
    kernel.own = part->second.held[0];
    kernel.params = part->second.params;
    Arguments arguments = lasting(kernel, args);
    run(core,
        [&] { return stet_sim_set_kernel_args(core.sim, id, arguments.args.data(), (int)arguments.args.size()); });
    core.parts[id].held = std::move(arguments.held);
}

static void remove_kernel(const Sim &sim, int id)
{
    run(*sim.core, [&] { return stet_sim_remove_kernel(sim.core->sim, id); });
    sim.core->parts.erase(id);
}

static void clear_kernels(const Sim &sim)
{
    run(*sim.core, [&] { return stet_sim_clear_kernels(sim.core->sim), STET_OK; });
    sim.core->parts.clear();
}

static void bind_kernels(nb::class_<Sim> &sim)
{
    sim.def("add_kernel", add_kernel, "phase"_a, "kernel"_a, "args"_a.none(), "count"_a = nb::none(),
            "Makes a launch a part of each step, \"before_physics\", \"after_physics\" or \"after_reset\"; count None: "
            "the number of worlds. Returns "
            "its number. The step keeps the kernel and the arrays.")
        .def("set_kernel_args", set_kernel_args, "id"_a, "args"_a.none(),
             "Other arguments for a kernel in the step, from the next step on.")
        .def("remove_kernel", remove_kernel, "id"_a, "Takes it out of the step.")
        .def("clear_kernels", clear_kernels, "Takes all kernels out of the step; the reset by mask stays.");
}

// ---- streams and recordings ----------------------------------------------------------------------------------------

static void use_stream(const Sim &sim, std::optional<uintptr_t> stream)
{
    Core &core = *sim.core;
    run(core, [&] {
        return stream ? stet_device_use_stream(core.device, reinterpret_cast<void *>(*stream))
                      : stet_device_use_own_stream(core.device);
    });
    core.callers_stream = stream.has_value();
}

static void bind_streams(nb::class_<Sim> &sim)
{
    sim.def("_use_stream", use_stream, nb::arg().none())
        .def("_wait_stream",
             [](const Sim &s, uintptr_t stream) {
                 run(*s.core,
                     [&] { return stet_device_wait_stream(s.core->device, reinterpret_cast<void *>(stream)); });
             })
        .def("_signal_stream",
             [](const Sim &s, uintptr_t stream) {
                 run(*s.core,
                     [&] { return stet_device_signal_stream(s.core->device, reinterpret_cast<void *>(stream)); });
             })
        .def(
            "synchronize", [](const Sim &s) { run(*s.core, [&] { return stet_device_synchronize(s.core->device); }); },
            "Waits until all that was issued to the device is done.")
        .def(
            "wait_for_code",
            [](const Sim &s) { run(*s.core, [&] { return stet_device_wait_for_code(s.core->device); }); },
            "On a GPU, waits until code that is being compiled beside the run is there: for the model, the scene.\n"
            "Steps and pictures have the same bits before. To be called before work is captured into a graph.")
        .def_prop_ro(
            "recording",
            [](const Sim &s) {
                uint64_t out = 0;
                run_now(*s.core, [&] { return out = stet_recording_get_last(s.core->device), STET_OK; });
                return out;
            },
            "Number of the recording of the list that ran last, or of what is being captured into a caller's stream; "
            "0: there is none.")
        .def(
            "replayed",
            [](const Sim &s, uint64_t recording) {
                run(*s.core, [&] { return stet_recording_mark_replayed(s.core->device, recording); });
            },
            "recording"_a,
            "Announces that somebody else ran a recording, as a part of a graph of his own: what it writes has moved.");
}

// ---- snapshots -----------------------------------------------------------------------------------------------------

struct Snapshot : Counted<Snapshot> {
    Shared core;
    Held own;
};

static void destroy_snapshot(void *snapshot) { stet_snapshot_destroy(static_cast<stet_snapshot *>(snapshot)); }

static Snapshot take_snapshot(const Sim &sim)
{
    stet_snapshot *snapshot = nullptr;
    run(*sim.core, [&] { return stet_snapshot_create(sim.core->worlds, &snapshot); });
    Snapshot out;
    out.core = sim.core;
    out.own = std::make_shared<Memory>(sim.core->gate, Thing{snapshot, destroy_snapshot});
    return out;
}

static void restore(const Sim &sim, const Snapshot &snapshot)
{
    run(*sim.core, [&] { return stet_sim_restore(sim.core->sim, snapshot.own->get<stet_snapshot>()); });
}

static Snapshot select_worlds(const Snapshot &snapshot, const std::vector<int64_t> &worlds)
{
    stet_snapshot *made = nullptr;
    check(stet_snapshot_select(snapshot.own->get<stet_snapshot>(), worlds.data(), (int64_t)worlds.size(), &made));
    Snapshot out;
    out.core = snapshot.core;
    out.own = std::make_shared<Memory>(std::make_shared<Gate>(), Thing{made, destroy_snapshot});
    return out;
}

// A function and its arguments, from which another process makes the same snapshot.
static nb::tuple reduce_snapshot(const Snapshot &snapshot)
{
    const stet_snapshot *own = snapshot.own->get<stet_snapshot>();
    int64_t size = stet_snapshot_get_size(own);
    nb::bytes bytes = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, size));
    check(stet_snapshot_save_bytes(own, PyBytes_AsString(bytes.ptr()), size));
    return nb::make_tuple(nb::module_::import_("stet.sim").attr("_load_snapshot"), nb::make_tuple(bytes));
}

static Snapshot load_snapshot(const nb::bytes &bytes)
{
    stet_snapshot *snapshot = nullptr;
    check(stet_snapshot_load_bytes(bytes.data(), (int64_t)bytes.size(), &snapshot));
    Snapshot out;
    out.own = std::make_shared<Memory>(std::make_shared<Gate>(), Thing{snapshot, destroy_snapshot});
    return out;
}

static std::string snapshot_repr(const Snapshot &snapshot)
{
    int64_t size = stet_snapshot_get_size(snapshot.own->get<stet_snapshot>());
    return "<stet.Snapshot, " + std::to_string(size) + " bytes>";
}

template <class Work> static void with_file(Core &core, Work &&work)
{
    stet_result result;
    {
        Hold hold(core);
        nb::gil_scoped_release others;
        result = in_step(core, work);
    }
    if (result != STET_OK) raise_of_file(result);
}

static uint64_t state_hash(const Sim &sim)
{
    uint64_t out = 0;
    run(*sim.core, [&] { return stet_worlds_hash(sim.core->worlds, &out); });
    return out;
}

static void bind_snapshots(nb::class_<Sim> &sim)
{
    sim.def("snapshot", take_snapshot, "A copy of the whole state, exact.")
        .def("restore", restore, "snapshot"_a,
             "Puts all worlds back to a snapshot: the same bits, whatever happened in between.")
        .def("_save",
             [](const Sim &s, std::string path) {
                 with_file(*s.core, [&] { return stet_worlds_save(s.core->worlds, path.c_str()); });
             })
        .def("_resume",
             [](const Sim &s, std::string path) {
                 with_file(*s.core, [&] { return stet_sim_resume(s.core->sim, path.c_str()); });
             })
        .def("hash", state_hash, "Hash of the exact state, world by world.");
}

void bind_sim_parts(nb::class_<Sim> &sim)
{
    nb::module_ core = nb::module_::import_("stet._core");
    nb::class_<Snapshot>(core, "Snapshot", "The state of all worlds at a time: see Sim.snapshot. It can be pickled.")
        .def("select", select_worlds, "worlds"_a, nb::sig("def select(self, worlds: Sequence[int]) -> Snapshot"),
             "A snapshot of some of its worlds in this order, each as often as it is named: for sims of another size.")
        .def("__reduce__", reduce_snapshot, nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def("__repr__", snapshot_repr);
    core.def("_load_snapshot", load_snapshot);
    bind_arrays(sim);
    bind_kernels(sim);
    bind_streams(sim);
    bind_snapshots(sim);
    sim.def(
           "close", [](const Sim &s) { s.core->close(); },
           "Ends the sim. What belongs to it raises StateError from then on; its memory goes when no host() view is "
           "left.")
        .def_prop_ro(
            "closed", [](const Sim &s) { return s.core->closed; }, "Whether close() was called.");
}

} // namespace binding
