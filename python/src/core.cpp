// See core.h.
#include "core.h"

namespace binding
{

// ---- gates ---------------------------------------------------------------------------------------------------------

void Gate::enter()
{
    if (inside_.try_lock()) return;
    nb::gil_scoped_release others;
    inside_.lock();
}

void Gate::leave()
{
    for (;;) {
        drain();
        inside_.unlock();
        {
            std::lock_guard<std::mutex> lock(buried_mutex_);
            if (buried_.empty()) return;
        }
        if (!inside_.try_lock()) return; // who is inside now will see to it
    }
}

void Gate::drain()
{
    for (;;) {
        std::vector<Thing> things;
        {
            std::lock_guard<std::mutex> lock(buried_mutex_);
            things.swap(buried_);
        }
        if (things.empty()) return;
        for (const Thing &thing : things) thing.destroy(thing.it);
    }
}

void Gate::bury(Thing thing)
{
    if (inside_.try_lock()) {
        thing.destroy(thing.it);
        leave();
        return;
    }
    std::lock_guard<std::mutex> lock(buried_mutex_);
    buried_.push_back(thing);
}

// ---- sims ----------------------------------------------------------------------------------------------------------

void Core::destroy()
{
    std::shared_ptr<Gate> through = gate;
    through->enter();
    for (const std::weak_ptr<Memory> &one : before_sim)
        if (Held held = one.lock()) held->end();
    before_sim.clear();
    stet_sim_destroy(sim);
    sim = nullptr;
    model = nullptr;
    device = nullptr;
    worlds = nullptr;
    parts.clear();
    reset_mask.clear();
    through->leave();
}

void Core::close()
{
    closed = true;
    if (views == 0) destroy();
}

void Core::drop_view()
{
    if (--views == 0 && closed) destroy();
}

Hold::Hold(Core &core) : gate_(core.gate)
{
    gate_->enter();
    if (!core.closed) return;
    gate_->leave();
    raise(STET_ERROR_STATE, "the sim is closed; make another one with stet.Sim(…)");
}

// ---- arrays --------------------------------------------------------------------------------------------------------

Array::Array(Shared core_, Held own_, stet_array *array_, bool worlds_)
    : core(std::move(core_)), own(std::move(own_)), array(array_), dtype(stet_array_get_dtype(array_)), worlds(worlds_),
      shape(stet_array_get_shape(array_), stet_array_get_shape(array_) + stet_array_get_ndim(array_)),
      name(stet_array_get_name(array_))
{
}

void Array::check_writable() const
{
    if (!result) return;
    const char *instead = name == "xpos" || name == "xquat" ? "write qpos, or make the sim with physics=\"external\""
                          : name == "step_sensordata"       ? "make a copy, or the sim with physics=\"external\""
                                                            : "make a copy";
    raise(STET_ERROR_INVALID_ARGUMENT,
          "array " + name + ": the physics makes it of the state, and what is written to it would be lost; " + instead);
}

stet_result Array::find(stet_array **out) const
{
    *out = array;
    if (shown) return shown->find(frame, request, out);
    return array ? STET_OK : stet_sim_get_array(core->sim, frame, camera, output, out);
}

} // namespace binding
