// Models: stet.Model, a scene loaded from MJCF or URDF.
#include "numpy.h"

#include <cstring>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace binding
{

using namespace nb::literals;

static stet_actuation to_actuation(const std::string &name)
{
    static const char *const names[] = {"none", "motor", "position", "velocity"};
    for (int i = 0; i < 4; ++i)
        if (name == names[i]) return (stet_actuation)i;
    raise(STET_ERROR_NOT_FOUND,
          "load: there are no actuators '" + name + "'; they are \"motor\", \"position\" or \"velocity\"");
}

static Model *load(const std::string &scene, bool is_text, const std::vector<std::pair<std::string, nb::bytes>> &assets,
                   const std::vector<std::string> &packages, const std::string &actuators, double kp, double kd)
{
    auto model = std::make_unique<Model>();
    stet_result result;
    std::vector<stet_asset> files;
    for (const auto &one : assets) files.push_back({one.first.c_str(), one.second.data(), (int64_t)one.second.size()});
    std::vector<const char *> folders;
    for (const std::string &one : packages) folders.push_back(one.c_str());
    stet_model_def def = stet_default_model_def();
    (is_text ? def.xml : def.path) = scene.c_str();
    def.assets = files.data();
    def.nasset = (int)files.size();
    def.packages = folders.data();
    def.npackage = (int)folders.size();
    def.actuation = to_actuation(actuators);
    def.kp = kp;
    def.kd = kd;
    {
        nb::gil_scoped_release others;
        result = stet_model_create(&def, &model->model);
    }
    if (result != STET_OK) raise_of_file(result);
    return model.release();
}

// Kinds of objects by the names of Python's lists of them.
static const struct {
    const char *name;
    stet_object kind;
    const char *doc;
} kinds[] = {
    {"bodies", STET_OBJECT_BODY, "Names of the bodies, \"\" for those without."},
    {"joints", STET_OBJECT_JOINT, "Names of the joints."},
    {"geoms", STET_OBJECT_GEOM, "Names of the geoms."},
    {"sites", STET_OBJECT_SITE, "Names of the sites."},
    {"cameras", STET_OBJECT_CAMERA, "Names of the model's cameras."},
    {"lights", STET_OBJECT_LIGHT, "Names of the lights."},
    {"actuators", STET_OBJECT_ACTUATOR,
     "Names of the actuators, in the order of ctrl (those with several controls: actuator_ctrladr, actuator_ctrlnum)."},
    {"sensors", STET_OBJECT_SENSOR,
     "Names of the sensors; sensor_adr, sensor_dim say which numbers of sensordata are theirs (or Sim.sensor)."},
    {"keyframes", STET_OBJECT_KEYFRAME, "Names of the keyframes."},
    {"tendons", STET_OBJECT_TENDON, "Names of the tendons."},
    {"equalities", STET_OBJECT_EQUALITY, "Names of the equality constraints."},
    {"meshes", STET_OBJECT_MESH, "Names of the meshes."},
    {"hfields", STET_OBJECT_HFIELD, "Names of the height fields."},
    {"materials", STET_OBJECT_MATERIAL, "Names of the materials."},
    {"textures", STET_OBJECT_TEXTURE, "Names of the textures."},
};

static nb::typed<nb::list, nb::str> names_of(const Model &model, stet_object kind)
{
    nb::typed<nb::list, nb::str> out;
    for (int i = 0; i < stet_model_get_object_count(model.model, kind); ++i) {
        const char *name = stet_model_get_object_name(model.model, kind, i);
        out.append(nb::str(name ? name : ""));
    }
    return out;
}

static int find(const Model &model, const std::string &kind, const std::string &name)
{
    for (const auto &row : kinds) {
        int index = 0;
        if (kind != row.name) continue;
        check(stet_model_find(model.model, row.kind, name.c_str(), &index));
        return index;
    }
    std::string all;
    for (const auto &row : kinds) all += std::string(all.empty() ? "" : ", ") + row.name;
    raise(STET_ERROR_NOT_FOUND, "model: there is no kind '" + kind + "'; it is one of " + all);
}

static std::string repr(const Model &model)
{
    stet_model_info info = stet_model_get_info(model.model);
    std::string path = stet_model_get_path(model.model);
    return "<stet.Model " + (path.empty() ? std::string("from text") : path) + ": nq " + std::to_string(info.nq) +
           ", nv " + std::to_string(info.nv) + ", nu " + std::to_string(info.nu) + ", nbody " +
           std::to_string(info.nbody) + ">";
}

static void bind_sizes(nb::class_<Model> &model)
{
#define SIZE(field) model.def_prop_ro(#field, [](const Model &m) { return stet_model_get_info(m.model).field; })
    SIZE(nq);
    SIZE(nv);
    SIZE(na);
    SIZE(nu);
    SIZE(nbody);
    SIZE(njnt);
    SIZE(ngeom);
    SIZE(nsite);
    SIZE(ncam);
    SIZE(nlight);
    SIZE(nmesh);
    SIZE(nhfield);
    SIZE(nmat);
    SIZE(nsensor);
    SIZE(nsensordata);
    SIZE(nkey);
    SIZE(nmocap);
    SIZE(neq);
    SIZE(ntendon);
#undef SIZE
    model.def_prop_ro(
        "timestep", [](const Model &m) { return stet_model_get_info(m.model).timestep; },
        "Seconds of a step of physics.");
}

// A function and its arguments, from which another process makes the same model.
static nb::tuple reduce(const Model &model)
{
    int64_t size = stet_model_get_size(model.model);
    nb::bytes bytes = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, size));
    check(stet_model_save_bytes(model.model, PyBytes_AsString(bytes.ptr()), size));
    return nb::make_tuple(nb::module_::import_("stet.sim").attr("_load_bytes"),
                          nb::make_tuple(bytes, stet_model_get_path(model.model)));
}

static Model *load_bytes(const nb::bytes &bytes, const std::string &path)
{
    auto model = std::make_unique<Model>();
    stet_result result = stet_model_load_bytes(bytes.data(), (int64_t)bytes.size(), path.c_str(), &model->model);
    if (result != STET_OK) raise_of_file(result);
    return model.release();
}

static nb::object table(const Model &model, const char *name)
{
    int64_t items = stet_model_get_table_items(model.model, name);
    nb::object out = numpy_empty(STET_DTYPE_INT, sizeof(int32_t), {items}, nb::none());
    Buffer buffer;
    buffer.open(out, true);
    check(stet_model_get_table(model.model, name, static_cast<int32_t *>(buffer.data()), items));
    return out;
}

static nb::tuple hfield(const Model &model, int index)
{
    stet_hfield it;
    check(stet_model_get_hfield(model.model, index, &it));
    nb::object out = numpy_empty(STET_DTYPE_REAL, sizeof(float), {it.nrow, it.ncol}, nb::none());
    Buffer buffer;
    buffer.open(out, true);
    std::memcpy(buffer.data(), it.elevations, sizeof(float) * (size_t)it.nrow * (size_t)it.ncol);
    return nb::make_tuple(nb::make_tuple(it.size[0], it.size[1], it.size[2], it.size[3]), out);
}

static void bind_tables(nb::class_<Model> &model)
{
    for (const char *const *name = stet_model_get_tables(); *name; ++name)
        model.def_prop_ro(
            *name, [name](const Model &m) { return table(m, *name); },
            nb::sig(("def " + std::string(*name) + "(self) -> NDArray").c_str()), "Integers by MuJoCo's name.");
}

void bind_model(nb::module_ &m)
{
    nb::class_<Model> model(m, "Model", "A robot scene, immutable. Sizes (nq, nv, nu …) are named as in MuJoCo.");
    bind_sizes(model);
    bind_tables(model);
    for (const auto &row : kinds)
        model.def_prop_ro(
            row.name, [&row](const Model &it) { return names_of(it, row.kind); }, row.doc);
    model
        .def_prop_ro(
            "path", [](const Model &it) { return stet_model_get_path(it.model); },
            "The file it came from; \"\" if from text.")
        .def("find", find, "kind"_a, "name"_a,
             "Index of the object of this name among those of its kind: find(\"actuators\", \"thumb\"). Which numbers "
             "of "
             "an array are the object's: Sim.columns.")
        .def("hfield", hfield, "index"_a,
             nb::sig("def hfield(self, index: int) -> tuple[tuple[float, float, float, float], NDArray]"),
             "A height field: its four sizes (m), as MuJoCo's hfield_size, and elevations from 0 to 1, [rows along y, "
             "columns along x].")
        .def("__reduce__", reduce, nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def("__repr__", repr);
    m.def("_load_bytes", load_bytes, nb::rv_policy::take_ownership);
    m.def("_load", load, nb::rv_policy::take_ownership);
}

} // namespace binding
