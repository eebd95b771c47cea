// Tables of ids: names, labels and colours of what pixels show. What a user names becomes numbers in stet/ids.py.
#include "dlpack.h"
#include "names.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace binding
{

using namespace nb::literals;

struct Ids : Counted<Ids> {
    Shared core;
    Held own;
    stet_id_table *get() const { return own->get<stet_id_table>(); }
};

static void destroy_table(void *table) { stet_id_table_destroy(static_cast<stet_id_table *>(table)); }

// `make` fills a stet_id_table *; it runs with the sim held.
template <class Make> static Ids make_table(const Sim &sim, Make &&make)
{
    stet_id_table *table = nullptr;
    run(*sim.core, [&] { return make(&table); });
    Ids out;
    out.core = sim.core;
    out.own = std::make_shared<Memory>(sim.core->gate, Thing{table, destroy_table});
    sim.core->before_sim.push_back(out.own); // it borrows the stage
    return out;
}

static Ids model_ids(const Sim &sim, std::string name)
{
    stet_output output = to_output(name);
    return make_table(
        sim, [&](stet_id_table **out) { return stet_id_table_create(stet_sim_get_stage(sim.core->sim), output, out); });
}

static Ids plain_ids(const Sim &sim, int first, int nid)
{
    return make_table(
        sim, [&](stet_id_table **out) { return stet_id_table_create_plain(sim.core->device, first, nid, out); });
}

static nb::list get_rows(const Ids &ids)
{
    Hold hold(*ids.core);
    nb::list rows;
    for (int k = 0; k < stet_id_table_get_nrow(ids.get()); ++k) {
        stet_id_row row = stet_id_table_get_row(ids.get(), k);
        rows.append(nb::make_tuple(row.id, row.name, row.label, row.class_id,
                                   nb::make_tuple(row.colour[0], row.colour[1], row.colour[2]),
                                   nb::make_tuple(row.class_colour[0], row.class_colour[1], row.class_colour[2])));
    }
    return rows;
}

static void label_id(const Ids &ids, int id, std::string label)
{
    run_now(*ids.core, [&] { return stet_id_table_label(ids.get(), id, label.c_str()); });
}

static void label_prim(const Ids &ids, bool geom, std::string name, std::string label)
{
    run_now(*ids.core, [&] {
        int prim = 0;
        stet_result result = stet_stage_find(stet_sim_get_stage(ids.core->sim), geom ? STET_PRIM_GEOM : STET_PRIM_BODY,
                                             name.c_str(), &prim);
        return result ? result : stet_id_table_label_prim(ids.get(), prim, label.c_str());
    });
}

// `write` gets both arrays; `out` is one that lasts.
template <class Write>
static void write_numbers(const char *call, const Shared &core, const Array &pixels, const Array &out, Write &&write)
{
    if (pixels.core != core || out.core != core || !out.array)
        raise(STET_ERROR_INVALID_ARGUMENT, std::string(call) + ": arrays " + pixels.name + " and " + out.name +
                                               " must be of this sim, and the second one lasting: zeros()");
    run(pixels, [&](stet_array *from) { return write(from, out.array); });
}

static void colour(const Ids &ids, const Array &pixels, const Array &out, bool by_class)
{
    write_numbers("ids", ids.core, pixels, out, [&](stet_array *from, stet_array *to) {
        return stet_id_table_colour(ids.get(), from, by_class, to);
    });
}

static void classify(const Ids &ids, const Array &pixels, const Array &out)
{
    write_numbers("ids", ids.core, pixels, out,
                  [&](stet_array *from, stet_array *to) { return stet_id_table_classify(ids.get(), from, to); });
}

static void colour_depth(const Sim &sim, const Array &pixels, const Array &out, float near, float far)
{
    write_numbers("colour_depth", sim.core, pixels, out,
                  [&](stet_array *from, stet_array *to) { return stet_depth_colours(from, near, far, to); });
}

void bind_ids(nb::module_ &m)
{
    nb::class_<Ids>(m, "_Ids")
        .def("rows", get_rows,
             nb::sig("def rows(self) -> list[tuple[int, str, str, int, tuple[int, int, int], tuple[int, int, int]]]"))
        .def("label_id", label_id, "id"_a, "label"_a)
        .def("label_prim", label_prim, "geom"_a, "name"_a, "label"_a)
        .def("colour", colour, "pixels"_a, "out"_a, "by_class"_a)
        .def("classify", classify, "pixels"_a, "out"_a);
    m.def("_model_ids", model_ids);
    m.def("_plain_ids", plain_ids);
    m.def("_colour_depth", colour_depth, "sim"_a, "pixels"_a, "out"_a, "near"_a, "far"_a);
}

} // namespace binding
