// Decorations, and markers: shapes that pictures show, each below a prim of its own that moves. What a user names
// becomes numbers in stet/markers.py.
#include "names.h"
#include "numpy.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <optional>

namespace binding
{

using namespace nb::literals;
using Text = std::optional<std::string>;

static const char *text_of(const Text &text) { return text ? text->c_str() : nullptr; }

// A prim by its kind and name; kind "": the world.
static stet_result find_prim(const stet_stage *stage, const std::string &kind, const std::string &name, int *prim)
{
    static const std::pair<const char *, stet_prim_kind> kinds[] = {
        {"body", STET_PRIM_BODY}, {"geom", STET_PRIM_GEOM}, {"site", STET_PRIM_SITE}, {"camera", STET_PRIM_CAMERA}};
    *prim = 0;
    for (const auto &one : kinds)
        if (kind == one.first) return stet_stage_find(stage, one.second, name.c_str(), prim);
    return STET_OK;
}

static stet_shape_type to_type(const std::string &name)
{
    static const char *const names[] = {"plane", "", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};
    for (int k = 0; k < 8; ++k)
        if (*names[k] && name == names[k]) return (stet_shape_type)k;
    raise(STET_ERROR_NOT_FOUND, "add_marker: there is no shape '" + name +
                                    "'; it is plane, sphere, capsule, ellipsoid, cylinder, box or mesh");
}

// Returns the prim that moves, its shape, and the shape's id in pictures of geoms.
static std::tuple<int, int, int> add_marker(const Sim &sim, std::string type, std::array<double, 3> size,
                                            std::string kind, std::string under, std::array<float, 4> rgba, Text mesh,
                                            Text material, Text name)
{
    static const float unmoved[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    int prim = 0, shape = 0, id = 0;
    stet_shape made{};
    made.type = to_type(type);
    for (int k = 0; k < 3; ++k) made.size[k] = size[k];
    for (int k = 0; k < 4; ++k) made.rgba[k] = rgba[k];
    made.mesh = text_of(mesh);
    made.material = text_of(material);
    made.name = text_of(name);
    run(*sim.core, [&] {
        int parent;
        stet_stage *stage = stet_sim_get_stage(sim.core->sim);
        stet_result result = find_prim(stage, kind, under, &parent);
        if (result == STET_OK) result = stet_stage_add(stage, parent, nullptr, unmoved, false, &prim);
        if (result != STET_OK) return result;
        result = stet_stage_add_shape(stage, prim, &made, nullptr, &shape, &id);
        if (result != STET_OK) stet_stage_remove(stage, prim); // its own sentence stays the thread's
        return result;
    });
    return {prim, shape, id};
}

// A rotation by a quaternion w x y z of any length, and a place.
static bool put_pose(const double *pos, const double *quat, float *out)
{
    double length = std::sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]);
    if (!(length > 0) || !std::isfinite(length)) return false;
    double w = quat[0] / length, v[3] = {quat[1] / length, quat[2] / length, quat[3] / length};
    for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c) {
            double turn = r == c ? 2 * w * w - 1 : (c == (r + 1) % 3 ? -2 : 2) * w * v[3 - r - c];
            out[4 * r + c] = (float)(2 * v[r] * v[c] + turn);
        }
        out[4 * r + 3] = (float)pos[r];
    }
    return true;
}

// first, n: the worlds.
static void move_marker(const Sim &sim, int prim, nb::handle pos, nb::handle quat, int64_t first, int64_t n)
{
    Values places(pos, STET_DTYPE_REAL, sizeof(double), {n, 3}, "pos");
    Values turns(quat, STET_DTYPE_REAL, sizeof(double), {n, 4}, "quat");
    std::vector<float> rows((size_t)n * 12);
    for (int64_t w = 0; w < n; ++w)
        if (!put_pose(static_cast<const double *>(places.data()) + 3 * w,
                      static_cast<const double *>(turns.data()) + 4 * w, &rows[(size_t)w * 12]))
            raise(STET_ERROR_INVALID_ARGUMENT, "marker: a quat is 0 or not finite; give w x y z");
    run(*sim.core,
        [&] { return stet_stage_write_local(stet_sim_get_stage(sim.core->sim), prim, first, n, rows.data()); });
}

static void show_marker(const Sim &sim, int shape, nb::handle visible, int64_t first, int64_t n)
{
    Values shown(visible, STET_DTYPE_U8, sizeof(float), {n}, "visible");
    run(*sim.core, [&] {
        return stet_stage_show(stet_sim_get_stage(sim.core->sim), shape, first, n,
                               static_cast<const uint8_t *>(shown.data()));
    });
}

static void colour_marker(const Sim &sim, int shape, nb::handle rgb, int64_t first, int64_t n)
{
    Values colours(rgb, STET_DTYPE_REAL, sizeof(float), {n, 3}, "rgb");
    run(*sim.core, [&] {
        return stet_stage_colour(stet_sim_get_stage(sim.core->sim), shape, first, n,
                                 static_cast<const float *>(colours.data()));
    });
}

static void attach_marker(const Sim &sim, int prim, std::string kind, std::string under)
{
    run(*sim.core, [&] {
        int parent;
        stet_stage *stage = stet_sim_get_stage(sim.core->sim);
        stet_result result = find_prim(stage, kind, under, &parent);
        return result == STET_OK ? stet_stage_reparent(stage, prim, parent) : result;
    });
}

static void remove_marker(const Sim &sim, int prim)
{
    run(*sim.core, [&] { return stet_stage_remove(stet_sim_get_stage(sim.core->sim), prim); });
}

static void decorate(const Sim &sim, std::vector<std::string> names)
{
    uint32_t decorations = to_decorations(names);
    run(*sim.core, [&] { return stet_stage_decorate(stet_sim_get_stage(sim.core->sim), decorations); });
}

void bind_markers(nb::module_ &m)
{
    m.def("_decorate", decorate);
    m.def("_add_marker", add_marker, "sim"_a, "type"_a, "size"_a, "kind"_a, "under"_a, "rgba"_a, "mesh"_a.none(),
          "material"_a.none(), "name"_a.none());
    m.def("_move_marker", move_marker);
    m.def("_show_marker", show_marker);
    m.def("_colour_marker", colour_marker);
    m.def("_attach_marker", attach_marker);
    m.def("_remove_marker", remove_marker);
}

} // namespace binding
