// SimMaking a sim: what stet/sim.py has made of its arguments becomes a def of the library.
#include "names.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace binding
{

using namespace nb::literals;

using Texts = std::vector<std::string>;

// A def while it is made, and what it borrows.
struct SimMaking {
    stet_model *model;
    stet_sim_def def = stet_default_sim_def();
    Texts cameras;
    std::vector<const char *> names;
    std::vector<std::array<int, 2>> sizes;
    std::vector<float> fisheyes;
    std::string isa, cache_folder;
};

// Into the def: a device, as (type, number).
static void take_device(SimMaking &m, nb::handle x)
{
    auto [type, index] = nb::cast<std::array<int, 2>>(x);
    m.def.device.type = (stet_device_type)type;
    m.def.device.gpu.index = index;
}

static void take_cameras(SimMaking &m, nb::handle x)
{
    m.cameras = nb::cast<Texts>(x);
    for (const std::string &name : m.cameras) m.names.push_back(name.c_str());
    m.def.cameras = m.names.data();
    m.def.ncamera = (int)m.names.size();
}

static void take_sizes(SimMaking &m, nb::handle x)
{
    m.sizes = nb::cast<std::vector<std::array<int, 2>>>(x);
    m.def.sizes = m.sizes.empty() ? nullptr : reinterpret_cast<const int(*)[2]>(m.sizes.data());
    m.def.nsize = (int)m.sizes.size();
}

static void take_fisheyes(SimMaking &m, nb::handle x)
{
    m.fisheyes = nb::cast<std::vector<float>>(x);
    m.def.fisheyes = m.fisheyes.empty() ? nullptr : m.fisheyes.data();
    m.def.nfisheye = (int)m.fisheyes.size();
}

static void take_outputs(SimMaking &m, nb::handle x)
{
    for (const std::string &name : nb::cast<Texts>(x)) m.def.outputs |= 1u << to_output(name);
}

// Into a text that the def borrows; an empty one is absent.
static const char *keep_text(std::string &kept, nb::handle x)
{
    kept = nb::cast<std::string>(x);
    return text_or_null(kept);
}

// The options of stet.Sim, as stet/sim.py hands them on: a row each.
static const struct {
    const char *name;
    void (*take)(SimMaking &m, nb::handle x);
} options[] = {
    {"worlds", [](SimMaking &m, nb::handle x) { m.def.nworld = nb::cast<int64_t>(x); }},
    {"first_world", [](SimMaking &m, nb::handle x) { m.def.first_world = nb::cast<int64_t>(x); }},
    {"device", take_device},
    {"physics", [](SimMaking &m, nb::handle x) { m.def.physics = to_physics(nb::cast<std::string>(x)); }},
    {"cameras", take_cameras},
    {"width", [](SimMaking &m, nb::handle x) { m.def.width = nb::cast<int>(x); }},
    {"height", [](SimMaking &m, nb::handle x) { m.def.height = nb::cast<int>(x); }},
    {"sizes", take_sizes},
    {"fisheye", take_fisheyes},
    {"samples", [](SimMaking &m, nb::handle x) { m.def.samples = nb::cast<int>(x); }},
    {"mode", [](SimMaking &m, nb::handle x) { m.def.mode = to_render_mode(nb::cast<std::string>(x)); }},
    {"fog", [](SimMaking &m, nb::handle x) { m.def.fog = nb::cast<bool>(x); }},
    {"outputs", take_outputs},
    {"seed", [](SimMaking &m, nb::handle x) { m.def.seed = nb::cast<uint64_t>(x); }},
    {"keyframe", [](SimMaking &m, nb::handle x) { m.def.keyframe = to_keyframe(m.model, x, m.def.keyframe); }},
    {"frames_in_flight", [](SimMaking &m, nb::handle x) { m.def.frames_in_flight = nb::cast<int>(x); }},
    {"groups", [](SimMaking &m, nb::handle x) { m.def.groups = nb::cast<uint32_t>(x); }},
    {"show", [](SimMaking &m, nb::handle x) { m.def.decorations = to_decorations(nb::cast<Texts>(x)); }},
    {"threads", [](SimMaking &m, nb::handle x) { m.def.device.threads = nb::cast<int>(x); }},
    {"isa", [](SimMaking &m, nb::handle x) { m.def.device.isa = keep_text(m.isa, x); }},
    {"disable",
     [](SimMaking &m, nb::handle x) { m.def.device.mechanisms.disabled |= to_mechanisms(nb::cast<Texts>(x)); }},
    {"strict", [](SimMaking &m, nb::handle x) { m.def.device.mechanisms.strict = nb::cast<bool>(x); }},
    {"audit", [](SimMaking &m, nb::handle x) { m.def.device.mechanisms.audit = nb::cast<bool>(x); }},
    {"checked", [](SimMaking &m, nb::handle x) { m.def.device.checked = nb::cast<bool>(x); }},
    {"cache_folder", [](SimMaking &m, nb::handle x) { m.def.device.cache_folder = keep_text(m.cache_folder, x); }},
};

static int gpu_index(stet_device_type type, int asked)
{
    return type == STET_DEVICE_CUDA || type == STET_DEVICE_HIP ? asked : 0;
}

static Shared make_core(const SimMaking &m)
{
    auto core = std::make_shared<Core>();
    stet_result result;
    {
        nb::gil_scoped_release others;
        result = stet_sim_create(m.model, &m.def, &core->sim);
    }
    check(result);
    core->model = stet_sim_get_model(core->sim);
    core->device = stet_sim_get_device(core->sim);
    core->worlds = stet_sim_get_worlds(core->sim);
    core->nworld = m.def.nworld;
    core->lanes = stet_device_get_lanes(core->device);
    core->type = stet_device_get_type(core->device);
    core->index = gpu_index(core->type, m.def.device.gpu.index);
    core->real_size = stet_dtype_size(core->device, STET_DTYPE_REAL);
    return core;
}

static void init_sim(Sim *self, const Model &model, const nb::typed<nb::dict, nb::str, nb::object> &given)
{
    SimMaking m{model.model};
    check(stet_default_mechanism_options(&m.def.device.mechanisms));
    for (const auto &option : options) option.take(m, given[option.name]);
    new (self) Sim{make_core(m)};
}

void bind_making(nb::class_<Sim> &sim) { sim.def("__init__", init_sim, "model"_a, "options"_a); }

} // namespace binding
