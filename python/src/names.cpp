// See names.h.
#include "names.h"

#include <nanobind/stl/string.h>

namespace binding
{

stet_physics to_physics(const std::string &name)
{
    if (name == "auto") return STET_PHYSICS_AUTO;
    for (stet_physics p : {STET_PHYSICS_MUJOCO, STET_PHYSICS_EXTERNAL, STET_PHYSICS_NATIVE})
        if (name == stet_physics_name(p)) return p;
    raise(STET_ERROR_NOT_FOUND, "there is no physics '" + name + "'; it is auto, mujoco, native or external");
}

uint32_t to_mechanisms(const std::vector<std::string> &names)
{
    uint32_t bits = 0;
    for (const std::string &name : names) {
        stet_mechanism mechanism;
        check(stet_mechanism_find(name.c_str(), &mechanism));
        bits |= 1u << mechanism;
    }
    return bits;
}

stet_output to_output(const std::string &name)
{
    stet_output output;
    check(stet_output_find(name.c_str(), &output));
    return output;
}

uint32_t to_decorations(const std::vector<std::string> &names)
{
    uint32_t bits = 0;
    for (const std::string &name : names) {
        stet_decoration decoration;
        check(stet_decoration_find(name.c_str(), &decoration));
        bits |= 1u << decoration;
    }
    return bits;
}

stet_render_mode to_render_mode(const std::string &name)
{
    stet_render_mode mode;
    check(stet_render_mode_find(name.c_str(), &mode));
    return mode;
}

stet_phase to_phase(const std::string &name)
{
    static const char *const names[STET_PHASE_COUNT] = {"before_physics", "after_physics", "after_reset"};
    for (int i = 0; i < STET_PHASE_COUNT; ++i)
        if (name == names[i]) return (stet_phase)i;
    raise(STET_ERROR_NOT_FOUND,
          "there is no phase '" + name + "' in a step; it is before_physics, after_physics or after_reset");
}

int to_keyframe(const stet_model *model, nb::handle keyframe, int otherwise)
{
    int index = 0;
    if (keyframe.is_none()) return otherwise;
    if (!nb::isinstance<nb::str>(keyframe)) return nb::cast<int>(nb::borrow(keyframe));
    std::string name = nb::cast<std::string>(nb::borrow(keyframe));
    if (name == "qpos0" || name == "none") return -1;
    check(stet_model_find(model, STET_OBJECT_KEYFRAME, name.c_str(), &index));
    return index;
}

int to_camera(Core &core, nb::handle camera)
{
    if (!nb::isinstance<nb::str>(camera)) return nb::cast<int>(nb::borrow(camera));
    std::string name = nb::cast<std::string>(nb::borrow(camera)), all;
    Hold hold(core);
    for (int i = 0; i < stet_sim_get_ncamera(core.sim); ++i) {
        const char *one = stet_sim_get_camera(core.sim, i)->name;
        if (name == one) return i;
        all += std::string(all.empty() ? "" : ", ") + one;
    }
    raise(STET_ERROR_NOT_FOUND, "sim: there is no camera '" + name + "'; it has: " + (all.empty() ? "none" : all));
}

} // namespace binding
