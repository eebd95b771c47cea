// Making a sim: what stet/sim.py has made of its arguments becomes a def of the library.
#include "names.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace binding
{

using namespace nb::literals;

// What stet/sim.py has made of its arguments; empty texts are absent ones.
struct Options {
    int64_t worlds, first_world;
    stet_device_type type;
    int index;
    std::string physics;
    std::vector<std::string> cameras;
    int width, height;
    std::vector<std::array<int, 2>> sizes;
    std::vector<float> fisheyes;
    int samples;
    std::string mode;
    bool fog;
    std::vector<std::string> outputs;
    uint64_t seed;
    nb::object keyframe; // None, a number or a name
    int frames_in_flight;
    uint32_t groups;
    std::vector<std::string> show;
    int threads;
    std::string isa;
    std::vector<std::string> disable;
    bool strict, audit, checked;
    std::string cache_folder;
};

static void set_device(const Options &o, stet_device_def *device)
{
    check(stet_default_mechanism_options(&device->mechanisms));
    device->type = o.type;
    device->threads = o.threads;
    device->isa = text_or_null(o.isa);
    device->gpu.index = o.index;
    device->cache_folder = text_or_null(o.cache_folder);
    device->mechanisms.disabled |= to_mechanisms(o.disable);
    device->mechanisms.strict = o.strict;
    device->mechanisms.audit = o.audit;
    device->checked = o.checked;
}

// Borrows texts of `o`, and puts the cameras' into `cameras`.
static stet_sim_def to_def(const Model &model, const Options &o, std::vector<const char *> *cameras)
{
    stet_sim_def def = stet_default_sim_def();
    set_device(o, &def.device);
    for (const std::string &name : o.cameras) cameras->push_back(name.c_str());
    for (const std::string &name : o.outputs) def.outputs |= 1u << to_output(name);
    def.nworld = o.worlds;
    def.first_world = o.first_world;
    def.physics = to_physics(o.physics);
    def.seed = o.seed;
    def.keyframe = to_keyframe(model.model, o.keyframe, def.keyframe);
    def.cameras = cameras->data();
    def.ncamera = (int)cameras->size();
    def.width = o.width;
    def.height = o.height;
    def.sizes = o.sizes.empty() ? nullptr : reinterpret_cast<const int(*)[2]>(o.sizes.data());
    def.nsize = (int)o.sizes.size();
    def.fisheyes = o.fisheyes.empty() ? nullptr : o.fisheyes.data();
    def.nfisheye = (int)o.fisheyes.size();
    def.samples = o.samples;
    def.mode = to_render_mode(o.mode);
    def.fog = o.fog;
    def.frames_in_flight = o.frames_in_flight;
    def.groups = o.groups;
    def.decorations = to_decorations(o.show);
    return def;
}

static int gpu_index(stet_device_type type, int asked)
{
    return type == STET_DEVICE_CUDA || type == STET_DEVICE_HIP ? asked : 0;
}

static Shared make_core(const Model &model, const Options &o)
{
    std::vector<const char *> cameras;
    stet_sim_def def = to_def(model, o, &cameras);
    auto core = std::make_shared<Core>();
    stet_result result;
    {
        nb::gil_scoped_release others;
        result = stet_sim_create(model.model, &def, &core->sim);
    }
    check(result);
    core->model = stet_sim_get_model(core->sim);
    core->device = stet_sim_get_device(core->sim);
    core->worlds = stet_sim_get_worlds(core->sim);
    core->nworld = o.worlds;
    core->lanes = stet_device_get_lanes(core->device);
    core->type = stet_device_get_type(core->device);
    core->index = gpu_index(core->type, o.index);
    core->real_size = stet_dtype_size(core->device, STET_DTYPE_REAL);
    return core;
}

static void init_sim(Sim *self, const Model &model, int64_t worlds, int64_t first_world, int type, int index,
                     std::string physics, std::vector<std::string> cameras, int width, int height,
                     std::vector<std::array<int, 2>> sizes, std::vector<float> fisheyes, int samples, std::string mode,
                     bool fog, std::vector<std::string> outputs, uint64_t seed, nb::object keyframe,
                     int frames_in_flight, uint32_t groups, std::vector<std::string> show, int threads, std::string isa,
                     std::vector<std::string> disable, bool strict, bool audit, bool checked, std::string cache_folder)
{
    Options o{worlds,
              first_world,
              (stet_device_type)type,
              index,
              std::move(physics),
              std::move(cameras),
              width,
              height,
              std::move(sizes),
              std::move(fisheyes),
              samples,
              std::move(mode),
              fog,
              std::move(outputs),
              seed,
              std::move(keyframe),
              frames_in_flight,
              groups,
              std::move(show),
              threads,
              std::move(isa),
              std::move(disable),
              strict,
              audit,
              checked,
              std::move(cache_folder)};
    new (self) Sim{make_core(model, o)};
}

void bind_making(nb::class_<Sim> &sim)
{
    sim.def("__init__", init_sim, "model"_a, "worlds"_a, "first_world"_a, "type"_a, "index"_a, "physics"_a, "cameras"_a,
            "width"_a, "height"_a, "sizes"_a, "fisheyes"_a, "samples"_a, "mode"_a, "fog"_a, "outputs"_a, "seed"_a,
            "keyframe"_a.none(), "frames_in_flight"_a, "groups"_a, "show"_a, "threads"_a, "isa"_a, "disable"_a,
            "strict"_a, "audit"_a, "checked"_a, "cache_folder"_a);
}

} // namespace binding
