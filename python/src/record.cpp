// Lists of launches that are replayed: `with sim.record("name"):` and `with sim.loop(condition, most):`.
//
// Invariant: each begin of the library gets its end, also when the block is left by an exception, or never entered
// again (a generator that nobody finishes).
#include "core.h"

#include <nanobind/stl/string.h>

namespace binding
{

using namespace nb::literals;

class Record
{
  public:
    Record(Shared core, std::string what) : core_(std::move(core)), what_(std::move(what)) {}
    ~Record()
    {
        if (open_ && !core_->closed) end(STET_ERROR_STATE);
    }

    void begin()
    {
        if (open_) raise(STET_ERROR_STATE, "record: this list is being recorded already");
        run_now(*core_, [&] { return stet_record_begin(core_->device, what_.c_str()); });
        open_ = true;
    }

    // What it returns where `result` is a failure says nothing new.
    stet_result end(stet_result result)
    {
        core_->gate->enter();
        {
            nb::gil_scoped_release others;
            result = stet_record_end(core_->device, result);
            stet_result shown = stet_device_show_views(core_->device);
            if (result == STET_OK) result = shown;
        }
        core_->gate->leave();
        open_ = false;
        return result;
    }

    void leave(bool failed)
    {
        if (!open_) raise(STET_ERROR_STATE, "record: this list is not being recorded");
        if (core_->closed) {
            open_ = false;
            return;
        }
        stet_result result = end(failed ? STET_ERROR_STATE : STET_OK);
        if (!failed) check(result);
    }

  private:
    Shared core_;
    std::string what_;
    bool open_ = false;
};

class Loop
{
  public:
    Loop(Array condition, int64_t most) : condition_(std::move(condition)), most_(most) {}

    void begin()
    {
        run_now(condition_,
                [&](stet_array *array) { return stet_record_while(condition_.core->device, array, most_); });
    }

    void leave(bool failed)
    {
        if (condition_.core->closed) return;
        Hold hold(*condition_.core);
        stet_result result = stet_record_while_end(condition_.core->device);
        if (!failed) check(result);
    }

  private:
    Array condition_;
    int64_t most_;
};

template <class Of> static void bind_block(nb::module_ &m, const char *name, const char *doc)
{
    nb::class_<Of>(m, name, doc)
        .def("__enter__",
             [](nb::object self) {
                 nb::cast<Of &>(self).begin();
                 return self;
             })
        .def(
            "__exit__", [](Of &self, nb::object type, nb::object, nb::object) { self.leave(!type.is_none()); },
            "type"_a = nb::none(), "value"_a = nb::none(), "traceback"_a = nb::none());
}

static Loop make_loop(const Sim &sim, const Array &condition, int64_t most)
{
    if (condition.core != sim.core)
        raise(STET_ERROR_INVALID_ARGUMENT, "loop: array " + condition.name + " is another sim's");
    return Loop(condition, most);
}

void bind_record(nb::module_ &m)
{
    bind_block<Record>(m, "Record", "A list of launches in the making: see Sim.record.");
    bind_block<Loop>(m, "Loop", "A loop in such a list: see Sim.loop.");
    m.def("_record", [](const Sim &sim, std::string what) { return new Record(sim.core, std::move(what)); });
    m.def("_loop", make_loop);
}

} // namespace binding
