// Gradients through many launches: stet.Tape.
//
// Invariants:
//   PYTAPE-1  arrays whose gradients were asked for live as long as the tape, and the tape as long as a gradient:
//             dropping never leaves an Array without
//       memory
//   T2  each begin of the library gets its end; a tape that is dropped while open is ended by its destruction
#include "names.h"

#include "numpy.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace binding
{

using namespace nb::literals;

// The tape and what it needs (PYTAPE-1). Members go in reverse, so the tape goes first.
struct Taped {
    std::vector<Held> primals;
    Memory memory;
    Taped(std::shared_ptr<Gate> gate, Thing thing) : memory(std::move(gate), thing) {}
};

class Tape
{
  public:
    Tape(Shared core, stet_tape *tape, stet_touch touch)
        : core_(std::move(core)),
          taped_(std::make_shared<Taped>(
              core_->gate, Thing{tape, [](void *it) { stet_tape_destroy(static_cast<stet_tape *>(it)); }})),
          tape_(tape), touch_(touch)
    {
    }

    void begin()
    {
        run(*core_, [&] { return stet_tape_begin(tape_); });
    }

    void leave(bool failed)
    {
        if (core_->closed) return;
        stet_result result;
        run(*core_, [&] { return result = stet_tape_end(tape_, failed ? STET_ERROR_STATE : STET_OK), STET_OK; });
        if (!failed) check(result);
    }

    void step()
    {
        run(*core_, [&] { return stet_tape_step(tape_); });
    }

    void zero()
    {
        run(*core_, [&] { return stet_tape_zero(tape_); });
    }

    // The sim may have tapes with another touch, so each pass says its own.
    void backward()
    {
        run(*core_, [&] {
            stet_result result = stet_sim_set_touch(core_->sim, touch_);
            return result == STET_OK ? stet_tape_backward(tape_) : result;
        });
    }

    nb::object touches() const
    {
        stet_array *counts = nullptr;
        nb::object out = numpy_empty(STET_DTYPE_INT, sizeof(int32_t), {core_->nworld}, nb::none());
        Buffer buffer;
        buffer.open(out, true);
        run(*core_, [&] {
            stet_result result = stet_sim_get_touches(core_->sim, &counts);
            return result == STET_OK ? stet_array_read(counts, buffer.data(), buffer.size()) : result;
        });
        return out;
    }

    Array gradient(const Array &of)
    {
        stet_array *out = nullptr;
        if (of.core != core_) raise(STET_ERROR_INVALID_ARGUMENT, "tape: array " + of.name + " is another sim's");
        run(of, [&](stet_array *array) { return stet_tape_get_gradient(tape_, array, &out); });
        if (of.own) keep(of.own);
        return share(out, of.worlds || stet_array_get_ndim(out) != (int)of.shape.size());
    }

    // Of an array of worlds: the gradient itself.
    Array total(const Array &of)
    {
        Array shares = gradient(of);
        if (shares.worlds == of.worlds) return shares;
        auto found = totals_.find(of.array);
        if (found == totals_.end()) found = totals_.emplace(of.array, make_total(of)).first;
        Array &sum = found->second;
        run(sum, [&](stet_array *array) { return stet_adjoint_sum_worlds(array, shares.array); });
        return sum;
    }

    Array number_gradient(const Kernel &kernel, const std::string &parameter)
    {
        stet_array *out = nullptr;
        if (kernel.core != core_)
            raise(STET_ERROR_INVALID_ARGUMENT,
                  std::string("tape: kernel ") + stet_kernel_get_name(kernel.get()) + " is another sim's");
        run(*core_, [&] { return stet_tape_get_number_gradient(tape_, kernel.get(), parameter.c_str(), &out); });
        keep(kernel.own);
        return share(out, true);
    }

    // [world, item] of float64.
    nb::object parameter_gradient(const std::string &name)
    {
        int64_t items = stet_worlds_get_parameter_items(core_->worlds, name.c_str());
        nb::object out = numpy_empty(STET_DTYPE_REAL, sizeof(double), {core_->nworld, items}, nb::none());
        Buffer buffer;
        buffer.open(out, true);
        run(*core_, [&] {
            return stet_sim_get_parameter_gradient(core_->sim, tape_, name.c_str(),
                                                   static_cast<double *>(buffer.data()), items * core_->nworld);
        });
        return out;
    }

    nb::dict info() const
    {
        stet_tape_info info;
        {
            Hold hold(*core_);
            info = stet_tape_get_info(tape_);
        }
        nb::dict out;
        out["steps"] = info.steps;
        out["launches"] = info.launches;
        out["checkpoints"] = info.checkpoints;
        out["every"] = info.every;
        out["checkpoint_bytes"] = info.checkpoint_bytes;
        out["undo_bytes"] = info.undo_bytes;
        out["gradient_bytes"] = info.gradient_bytes;
        out["stack_bytes"] = info.stack_bytes;
        return out;
    }

  private:
    void keep(const Held &primal)
    {
        for (const Held &one : taped_->primals)
            if (one == primal) return;
        taped_->primals.push_back(primal);
    }
    Array share(stet_array *gradient, bool worlds) const
    {
        return Array(core_, Held(taped_, &taped_->memory), gradient, worlds);
    }

    Array make_total(const Array &of) const
    {
        stet_array_def def = stet_default_array_def();
        stet_array *array = nullptr;
        def.name = "total";
        def.dtype = STET_DTYPE_REAL;
        def.ndim = (int)of.shape.size();
        for (int d = 0; d < def.ndim; ++d) def.shape[d] = of.shape[(size_t)d];
        run(*core_, [&] { return stet_array_create(core_->device, &def, &array); });
        return Array(
            core_,
            std::make_shared<Memory>(core_->gate,
                                     Thing{array, [](void *it) { stet_array_destroy(static_cast<stet_array *>(it)); }}),
            array, false);
    }

    Shared core_;
    std::shared_ptr<Taped> taped_;
    std::map<const stet_array *, Array> totals_; // by the array, which lives as long (PYTAPE-1)
    stet_tape *tape_;
    stet_touch touch_;
};

static void init_tape(Tape *self, const Sim &sim, int64_t every, const std::vector<std::string> &parameters,
                      int64_t memory, const std::string &touch)
{
    if (touch != "steps" && touch != "saltation")
        raise(STET_ERROR_INVALID_ARGUMENT, "tape: touch is \"steps\" or \"saltation\", not \"" + touch + "\"");
    stet_touch kind = touch == "steps" ? STET_TOUCH_STEPS : STET_TOUCH_SALTATION;
    stet_tape_def def = stet_default_tape_def();
    stet_tape *tape = nullptr;
    std::vector<const char *> names;
    for (const std::string &name : parameters) names.push_back(name.c_str());
    def.every = every;
    def.memory = memory;
    if (!names.empty())
        run(*sim.core, [&] { return stet_sim_take_parameters(sim.core->sim, names.data(), (int)names.size()); });
    run(*sim.core, [&] { return stet_sim_set_touch(sim.core->sim, kind); });
    run(*sim.core, [&] { return stet_tape_create(sim.core->device, &def, &tape); });
    new (self) Tape(sim.core, tape, kind);
}

void bind_tape(nb::module_ &m)
{
    nb::class_<Tape>(m, "Tape", nb::is_weak_referenceable(),
                     "Takes down the launches of a block, `with tape:`, and goes through them backwards. every: steps "
                     "between two checkpoints; 0: the square root of their number, with native physics 1 as long as "
                     "checkpoints fit into `memory` bytes (1 GiB). "
                     "parameters: those of the physics (Sim.set_parameter) by which tapes of this sim have gradients "
                     "from now on (parameter_gradient). touch: what gradients say where contacts and limits begin: "
                     "\"steps\" what the steps as they were taken do, \"saltation\" also what moving the time of touch "
                     "does, averaged over where it falls in a step.")
        .def("__init__", init_tape, "sim"_a, "every"_a = 0, "parameters"_a = std::vector<std::string>(),
             "memory"_a = stet_default_tape_def().memory, "touch"_a = "steps")
        .def("__enter__",
             [](nb::object self) {
                 nb::cast<Tape &>(self).begin();
                 return self;
             })
        .def(
            "__exit__", [](Tape &self, nb::object type, nb::object, nb::object) { self.leave(!type.is_none()); },
            "type"_a = nb::none(), "value"_a = nb::none(), "traceback"_a = nb::none())
        .def("step", &Tape::step, "A step begins here; checkpoints lie between steps.")
        .def("gradient", &Tape::gradient, "array"_a,
             "The Array of the gradient with respect to `array`: of its shape if it is an array of worlds; of a plain "
             "one the shares of the worlds, [world, ...] (stet.sum_worlds adds them up). Zeros when it is first asked "
             "for; it lives with the tape.")
        .def("total", &Tape::total, "array"_a,
             "The same with the shares of all worlds added up: of the array's shape, as it is now; asked again it is "
             "the "
             "same Array.")
        .def("number_gradient", &Tape::number_gradient, "kernel"_a, "parameter"_a,
             "The gradient with respect to a number that the kernel is launched with, [world, 1], over all its "
             "launches.")
        .def("parameter_gradient", &Tape::parameter_gradient, "name"_a,
             nb::sig("def parameter_gradient(self, name: str) -> NDArray"),
             "After backward(): gradients by a parameter of the physics that the tape was made with, [world, item] of "
             "float64, at the values that each world has, through all that MuJoCo derives from it.")
        .def("zero", &Tape::zero, "All gradients become 0.")
        .def("backward", &Tape::backward,
             "From gradients with respect to what the block left, as they are now, to gradients with respect to what "
             "it began with. May be called again.")
        .def_prop_ro("touches", &Tape::touches, nb::sig("def touches(self) -> NDArray"),
                     "With touch=\"saltation\", after backward(): how many contacts and limits began in the steps of "
                     "each world, [world].")
        .def_prop_ro("info", &Tape::info, nb::sig("def info(self) -> dict[str, int]"),
                     "What it holds: steps, launches, checkpoints, every (steps from one to the next), and bytes of "
                     "checkpoints, old contents (undo), gradients and stacks.");
}

} // namespace binding
