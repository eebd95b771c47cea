// Tiles of a caller's own: tensors of pictures in any form, of stet's renderer or of another one. What a user names
// becomes numbers in stet/tiles.py.
//
// Invariants:
//   T1  tiles go before what they show: the sim's stage (Core::before_sim) and the imported pictures (Shown)
#include "dlpack.h"
#include "names.h"
#include "numpy.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <list>
#include <optional>
#include <tuple>

namespace binding
{

using namespace nb::literals;

struct Tiles : Counted<Tiles> {
    Shared core;
    std::shared_ptr<Shown> shown;
    int64_t latest = -1;
};

stet_result Shown::find(int64_t frame, int request, stet_array **out) const
{
    return stet_tiles_get_array(own->get<stet_tiles>(), frame, request, out);
}

static void destroy_tiles(void *tiles) { stet_tiles_destroy(static_cast<stet_tiles *>(tiles)); }

// `make` fills a stet_tiles *; it runs with the sim held.
template <class Make> static Tiles make_tiles(const Sim &sim, std::vector<Held> pictures, Make &&make)
{
    stet_tiles *tiles = nullptr;
    run(*sim.core, [&] { return make(&tiles); });
    Tiles out;
    out.core = sim.core;
    out.shown = std::make_shared<Shown>();
    out.shown->pictures = std::move(pictures);
    out.shown->own = std::make_shared<Memory>(sim.core->gate, Thing{tiles, destroy_tiles});
    sim.core->before_sim.push_back(out.shown->own);
    return out;
}

// Of an output or the number of a picture: camera, element type, channels, planar.
using Wanted = std::tuple<nb::object, nb::object, nb::object, int, bool>;

static Tiles own_tiles(const Sim &sim, const std::vector<Wanted> &requests, int samples, const std::string &mode,
                       bool fog, uint32_t groups, int frames)
{
    Core &core = *sim.core;
    std::vector<stet_tile_request> list;
    for (const auto &[name, camera, dtype, channels, planar] : requests) {
        stet_output output = to_output(nb::cast<std::string>(name));
        list.push_back({to_camera(core, camera), output,
                        dtype.is_none() ? stet_output_dtype(output) : to_dtype(dtype, core.real_size), channels,
                        nullptr, planar});
    }
    stet_tiles_def def = stet_default_tiles_def();
    std::vector<stet_camera> cameras;
    def.requests = list.data();
    def.nrequest = (int)list.size();
    def.samples = samples;
    def.mode = to_render_mode(mode);
    def.fog = fog;
    def.groups = groups;
    def.frames_in_flight = frames;
    return make_tiles(sim, {}, [&](stet_tiles **out) {
        for (int i = 0; i < stet_sim_get_ncamera(core.sim); ++i) cameras.push_back(*stet_sim_get_camera(core.sim, i));
        def.cameras = cameras.data();
        def.ncamera = (int)cameras.size();
        return stet_tiles_create(stet_sim_get_stage(core.sim), &def, out);
    });
}

// ---- another renderer's --------------------------------------------------------------------------------------------

// All memory between a tensor's lowest and highest element, as an array; the tensor's shape; its strides and where its
// first element is, in elements.
static nb::tuple import_picture(const Sim &sim, nb::handle x, std::string name)
{
    Layout layout;
    Import how;
    how.announced = true; // by stet_tiles_accept
    how.name = std::move(name);
    how.span = &layout;
    Array array = import_tensor(sim.core, x, how);
    return nb::make_tuple(std::move(array), to_tuple(layout.shape), to_tuple(layout.strides), layout.first);
}

// An array, its channels, the tile table [world][camera], distances of rows, pixels and channels.
using ForeignPicture = std::tuple<nb::object, int, nb::object, int64_t, int64_t, int64_t>;

static Tiles foreign_tiles(const Sim &sim, const std::vector<ForeignPicture> &pictures,
                           const std::vector<std::pair<int, int>> &sizes, const std::vector<Wanted> &requests,
                           int frames)
{
    Core &core = *sim.core;
    stet_foreign_def def = stet_default_foreign_def();
    std::vector<stet_camera> cameras(sizes.size());
    std::vector<stet_foreign_picture> shown;
    std::vector<stet_foreign_request> list;
    std::vector<Held> held;
    std::list<Values> tables;
    for (size_t c = 0; c < sizes.size(); ++c) std::tie(cameras[c].height, cameras[c].width) = sizes[c];
    for (const auto &[array, channels, first, row, pixel, channel] : pictures) {
        const Array &a = nb::cast<const Array &>(array);
        const std::vector<int64_t> shape{core.nworld, (int64_t)sizes.size()};
        const Values &table = tables.emplace_back(first, STET_DTYPE_I64, core.real_size, shape, a.name);
        shown.push_back(
            {a.own->get<stet_array>(), channels, static_cast<const int64_t *>(table.data()), row, pixel, channel});
        held.push_back(a.own);
    }
    for (const auto &[picture, camera, dtype, channels, planar] : requests) {
        int k = nb::cast<int>(picture);
        stet_dtype own = stet_array_get_dtype(shown.at((size_t)k).array);
        list.push_back({k, nb::cast<int>(camera), dtype.is_none() ? own : to_dtype(dtype, core.real_size), channels,
                        planar, nullptr});
    }
    def.nworld = core.nworld;
    def.cameras = cameras.data();
    def.ncamera = (int)cameras.size();
    def.pictures = shown.data();
    def.npicture = (int)shown.size();
    def.requests = list.data();
    def.nrequest = (int)list.size();
    def.frames_in_flight = frames;
    return make_tiles(sim, std::move(held),
                      [&](stet_tiles **out) { return stet_tiles_create_foreign(core.device, &def, out); });
}

// ---- frames --------------------------------------------------------------------------------------------------------

static int64_t render(Tiles &tiles, nb::handle mask)
{
    Mask which(mask, tiles.core->nworld);
    run(*tiles.core,
        [&] { return stet_tiles_render(tiles.shown->own->get<stet_tiles>(), which.data(), &tiles.latest); });
    return tiles.latest;
}

static int64_t accept(Tiles &tiles, nb::handle mask, std::optional<uintptr_t> stream)
{
    Mask which(mask, tiles.core->nworld);
    stet_ready ready = stream ? STET_READY_IN_STREAM : STET_READY_NOW;
    void *handle = reinterpret_cast<void *>(stream.value_or(0));
    run(*tiles.core, [&] {
        return stet_tiles_accept(tiles.shown->own->get<stet_tiles>(), which.data(), ready, handle, &tiles.latest);
    });
    return tiles.latest;
}

static Array tensor(const Tiles &tiles, int request, std::optional<int64_t> frame)
{
    stet_array *array = nullptr;
    int64_t of = frame.value_or(tiles.latest);
    if (of < 0) raise(STET_ERROR_NOT_FOUND, "tiles: there is no frame " + std::to_string(of) + "; the first is 0");
    run(*tiles.core, [&] { return tiles.shown->find(of, request, &array); });
    Array out(tiles.core, nullptr, array, false);
    out.array = nullptr;
    out.read_only = true;
    out.frame = of;
    out.shown = tiles.shown;
    out.request = request;
    return out;
}

void bind_tiles(nb::module_ &m)
{
    nb::class_<Tiles>(m, "_Tiles")
        .def("render", render, "mask"_a.none())
        .def("accept", accept, "mask"_a.none(), "stream"_a.none())
        .def("tensor", tensor, "request"_a, "frame"_a.none());
    m.def("_own_tiles", own_tiles);
    m.def("_import_picture", import_picture, "sim"_a, "tensor"_a.none(), "name"_a,
          nb::sig("def _import_picture(sim: SimBase, tensor: object, name: str) -> tuple[Array, tuple[int, ...], "
                  "tuple[int, ...], int]"));
    m.def("_foreign_tiles", foreign_tiles);
}

} // namespace binding
