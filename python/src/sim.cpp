// stet.Sim: stepping, pictures, putting worlds back. Python's half is stet/sim.py.
#include "dlpack.h"
#include "names.h"
#include "numpy.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <variant>

namespace binding
{

using namespace nb::literals;

// ---- steps and controls --------------------------------------------------------------------------------------------

bool signal_raised(void *)
{
    nb::gil_scoped_acquire python;
    return PyErr_CheckSignals() != 0;
}

// Python calls handlers in its main thread alone. Between single steps it does so by itself.
static bool takes_signals(int n)
{
    if (n <= 1) return false;
    nb::object main = nb::module_::import_("threading").attr("main_thread")().attr("ident");
    return nb::cast<unsigned long>(main) == PyThread_get_thread_ident();
}

static void step(const Sim &sim, int n, nb::handle mask)
{
    Core &core = *sim.core;
    Mask which(mask, core.nworld);
    stet_interrupt_fn *ask = takes_signals(n) ? signal_raised : nullptr;
    run(core, [&] {
        stet_sim_set_interrupt(core.sim, ask, nullptr);
        return stet_sim_step_worlds(core.sim, which.data(), n);
    });
}

static void control_zero(const Sim &sim)
{
    run(*sim.core, [&] { return stet_sim_control_zero(sim.core->sim); });
}

static void control_noise(const Sim &sim, double scale, int64_t frame)
{
    run(*sim.core, [&] { return stet_sim_control_noise(sim.core->sim, scale, frame); });
}

// ---- pictures ------------------------------------------------------------------------------------------------------

static int64_t render(const Sim &sim, nb::handle mask)
{
    Core &core = *sim.core;
    Mask which(mask, core.nworld);
    int64_t frame = 0;
    run(core, [&] { return stet_sim_render_worlds(core.sim, which.data(), &frame); });
    return frame;
}

// A frame: its number, "drawn", or None.
using Frame = std::optional<std::variant<int64_t, std::string>>;

static int64_t to_frame(const Frame &frame)
{
    if (!frame) return STET_FRAME_LATEST;
    if (const std::string *word = std::get_if<std::string>(&*frame)) {
        if (*word == "drawn") return STET_FRAME_DRAWN;
        raise(STET_ERROR_NOT_FOUND, "sim: there is no frame '" + *word +
                                        "'; give a number, \"drawn\" (the newest, as it was drawn) or None (the "
                                        "present picture)");
    }
    int64_t number = std::get<int64_t>(*frame);
    if (number < 0)
        raise(STET_ERROR_NOT_FOUND, "sim: there is no frame " + std::to_string(number) +
                                        "; frames are counted from 0, None is the present picture");
    return number;
}

// One camera's output in a frame.
struct Picture {
    stet_output output;
    int camera;
    int64_t frame;
};

static Picture to_picture(const Sim &sim, const std::string &output, nb::handle camera, const Frame &frame)
{
    return {to_output(output), to_camera(*sim.core, camera), to_frame(frame)};
}

static Array tensor(const Sim &sim, std::string output, nb::handle camera, const Frame &frame)
{
    Core &core = *sim.core;
    Picture p = to_picture(sim, output, camera, frame);
    stet_array *array = nullptr;
    run(core, [&] {
        stet_result result = stet_sim_get_array(core.sim, p.frame, p.camera, p.output, &array);
        if (p.frame < 0) p.frame = stet_sim_get_latest_frame(core.sim);
        return result;
    });
    Array out(sim.core, nullptr, array, false);
    out.array = nullptr;
    out.read_only = true;
    out.frame = p.frame;
    out.camera = p.camera;
    out.output = p.output;
    return out;
}

static std::vector<int64_t> shape_of(Core &core, const Picture &p)
{
    Hold hold(core);
    const stet_camera *camera = stet_sim_get_camera(core.sim, p.camera);
    if (!camera) return {0};
    return {core.nworld, camera->height, camera->width, stet_output_channels(p.output)};
}

static nb::tuple place_camera(const Sim &sim, std::string name, nb::handle camera)
{
    Core &core = *sim.core;
    int which = to_camera(core, camera);
    double at[6];
    run(core, [&] { return stet_sim_place_camera(core.sim, which, name.c_str(), at); });
    return nb::make_tuple(at[0], at[1], at[2], at[3], at[4], at[5]);
}

static nb::object read(const Sim &sim, std::string output, nb::handle camera, const Frame &frame, nb::handle out)
{
    Core &core = *sim.core;
    Picture p = to_picture(sim, output, camera, frame);
    stet_array *array = nullptr;
    // Before there is memory for it: what is wrong with the frame, the camera, the output.
    run(core, [&] { return stet_sim_get_array(core.sim, p.frame, p.camera, p.output, &array); });
    nb::object values = numpy_empty(stet_output_dtype(p.output), core.real_size, shape_of(core, p), out);
    Buffer buffer;
    buffer.open(values, true);
    run(core, [&] { return stet_sim_read(core.sim, p.frame, p.camera, p.output, buffer.data(), buffer.size()); });
    return values;
}

static void points(const Sim &sim, const Array &out, nb::handle camera)
{
    Core &core = *sim.core;
    if (out.core != sim.core || !out.array)
        raise(STET_ERROR_INVALID_ARGUMENT,
              "points: array " + out.name + " is not one of this sim's that lasts; make it with zeros()");
    Picture p = to_picture(sim, "depth", camera, std::nullopt);
    run(core, [&] {
        stet_array *depth = nullptr;
        stet_result result = stet_sim_render(core.sim, &p.frame);
        if (!result) result = stet_sim_get_array(core.sim, p.frame, p.camera, p.output, &depth);
        return result ? result
                      : stet_render_points(stet_sim_get_stage(core.sim), stet_sim_get_camera(core.sim, p.camera), depth,
                                           out.array);
    });
}

static const stet_camera *find_camera(Core &core, nb::handle camera)
{
    int which = to_camera(core, camera);
    Hold hold(core);
    const stet_camera *found = stet_sim_get_camera(core.sim, which);
    if (!found)
        raise(STET_ERROR_NOT_FOUND, "sim: there is no camera " + std::to_string(which) + "; there are " +
                                        std::to_string(stet_sim_get_ncamera(core.sim)));
    return found;
}

static nb::dict lens(const Sim &sim, nb::handle camera)
{
    Core &core = *sim.core;
    const stet_camera *which = find_camera(core, camera);
    stet_lens it = {};
    run(core, [&] { return stet_render_get_lens(stet_sim_get_stage(core.sim), which, &it); });
    nb::dict out;
    out["kind"] = it.fisheye ? "fisheye" : it.orthographic ? "orthographic" : "perspective";
    out["left"] = it.left;
    out["right"] = it.right;
    out["bottom"] = it.bottom;
    out["top"] = it.top;
    out["near"] = it.near;
    out["far"] = it.far;
    return out;
}

static nb::object camera_poses(const Sim &sim, nb::handle camera)
{
    Core &core = *sim.core;
    int prim = find_camera(core, camera)->prim;
    nb::object values = numpy_empty(STET_DTYPE_REAL, sizeof(float), {core.nworld, 3, 4}, nb::none());
    Buffer buffer;
    buffer.open(values, true);
    float *rows = static_cast<float *>(buffer.data());
    run(core, [&] { return stet_stage_read_world(stet_sim_get_stage(core.sim), prim, 0, core.nworld, rows); });
    return values;
}

static uint64_t hash_frame(const Sim &sim, const Frame &frame)
{
    uint64_t out = 0;
    int64_t which = to_frame(frame);
    run(*sim.core, [&] { return stet_sim_hash_frame(sim.core->sim, which, &out); });
    return out;
}

// ---- putting worlds back -------------------------------------------------------------------------------------------

static bool is_mask(const Array &a)
{
    return a.array && (a.worlds ? a.dtype == STET_DTYPE_INT : a.dtype == STET_DTYPE_U8);
}

// A mask that the library takes where it lies: an array of this sim, or a tensor on its GPU.
static std::optional<Array> find_mask(const Shared &core, nb::handle x)
{
    Array *own;
    if (nb::try_cast<Array *>(x, own) && own)
        return own->core == core && is_mask(*own) ? std::optional(*own) : std::nullopt;
    bool gpu = core->type == STET_DEVICE_CUDA || core->type == STET_DEVICE_HIP;
    if (!gpu || !lies_on_gpu(x)) return std::nullopt;
    Array seen = import_tensor(core, x, {false, 0, true, "mask"});
    if (seen.dtype == STET_DTYPE_INT) seen = import_tensor(core, x, {true, 0, true, "mask"});
    if (!is_mask(seen))
        raise(STET_ERROR_INVALID_ARGUMENT, "a mask of worlds on a GPU has bool, uint8 or int32; convert it first");
    return seen;
}

// A reset in Python's terms. The mask lives in it.
struct Reset {
    std::optional<Array> array;
    std::optional<Mask> mask;
    stet_reset_def def = stet_default_reset_def();

    Reset(const Shared &shared, nb::handle mask_, nb::handle worlds_, nb::handle keyframe, double qpos_noise,
          double qvel_noise)
    {
        Core &core = *shared;
        if (worlds_.is_none()) array = find_mask(shared, mask_);
        if (array)
            def.mask_array = array->array;
        else
            def.mask = mask.emplace(convert("chosen", mask_, worlds_, core.nworld), core.nworld).data();
        Hold hold(core);
        def.keyframe = to_keyframe(core.model, keyframe, def.keyframe);
        def.qpos_noise = qpos_noise;
        def.qvel_noise = qvel_noise;
    }
};

static void reset(const Sim &sim, nb::handle mask, nb::handle worlds, nb::handle keyframe, double qpos_noise,
                  double qvel_noise)
{
    Reset how(sim.core, mask, worlds, keyframe, qpos_noise, qvel_noise);
    run(*sim.core, [&] { return stet_sim_reset(sim.core->sim, &how.def); });
}

static void forward(const Sim &sim, nb::handle mask)
{
    Core &core = *sim.core;
    std::optional<Array> array = find_mask(sim.core, mask);
    std::optional<Mask> which;
    if (!array) which.emplace(mask, core.nworld);
    run(core,
        [&] { return stet_sim_forward(core.sim, which ? which->data() : nullptr, array ? array->array : nullptr); });
}

static void set_reset(const Sim &sim, const Array *mask, nb::handle keyframe, double qpos_noise, double qvel_noise)
{
    Core &core = *sim.core;
    if (mask && (mask->core != sim.core || !mask->array))
        raise(STET_ERROR_INVALID_ARGUMENT,
              "set_reset: array " + mask->name + " is not one of this sim's that lasts; make the mask with zeros()");
    Reset how(sim.core, nb::none(), nb::none(), keyframe, qpos_noise, qvel_noise);
    run(core, [&] { return stet_sim_set_reset(core.sim, mask ? mask->array : nullptr, &how.def); });
    core.reset_mask.clear();
    if (mask && mask->own) core.reset_mask.push_back(mask->own);
}

static void bind_worlds(nb::class_<Sim> &sim)
{
    sim.def("step", step, "n"_a = 1, "mask"_a = nb::none(),
            "Advances the worlds by n time steps; mask: only those whose entry is not 0. The caller's kernels in the "
            "step run once a call. Ctrl-C ends a long step between two time steps; the sim can be used on.")
        .def("reset", reset, "mask"_a = nb::none(), "worlds"_a = nb::none(), "keyframe"_a = nb::none(),
             "qpos_noise"_a = 0.0, "qvel_noise"_a = 0.0,
             "Puts worlds back: those of a mask [world], or of a list of numbers, or all. To `keyframe` (a number or a "
             "name, \"qpos0\"; None: the "
             "initial one), with uniform noise of that half-width (metres and radians, and their rates). A mask may "
             "be on the device: an array of this sim, zeros((nworld, 1), \"int32\", worlds=True) or zeros(nworld, "
             "\"uint8\"), or a tensor of bool, uint8 or int32 on the same GPU. With native physics the host does not "
             "read it then, and all worlds count as moved. In a capture give an array that lasts.")
        .def("forward", forward, "mask"_a = nb::none(),
             "What follows from the present state, without a step (mj_forward): step_quantity arrays and "
             "step_sensordata become those of the present state and inputs, in the worlds of a mask (as of reset; on "
             "the device, too), or in all. The state does not change. Arrays of the present state (sim.xpos, "
             "sim.sensordata …) need no call. With native physics one launch of forward dynamics, which may be part "
             "of a captured graph. External physics raises UnsupportedError.")
        .def("set_reset", set_reset, "mask"_a.none(), "keyframe"_a = nb::none(), "qpos_noise"_a = 0.0,
             "qvel_noise"_a = 0.0,
             "The reset by mask: in each step, after the kernels of \"after_physics\", worlds whose mask is not 0 are "
             "put back. mask: an array of "
             "int32, zeros((nworld, 1), \"int32\", worlds=True); None: no such reset any more.")
        .def("control_zero", control_zero, "Controls of all worlds to their hold position.")
        .def("control_noise", control_noise, "scale"_a, "frame"_a,
             "Controls of all worlds to hold position + scale * half of the actuator's range * smooth noise of (seed, "
             "world, actuator, frame).");
}

static void bind_pictures(nb::class_<Sim> &sim)
{
    sim.def("render", render, "mask"_a = nb::none(),
            "Starts a frame of all cameras and worlds (mask: of those whose entry is not 0); returns its number, the "
            "last one's if nothing moved.")
        .def("read", read, "output"_a, "camera"_a = 0, "frame"_a = nb::none(), "out"_a = nb::none(),
             nb::sig("def read(self, output: str, camera: int | str = 0, frame: int | str | None = None, out: "
                     "NDArray | None = None) -> NDArray"),
             "A camera's output as NumPy's array, [world, height, width, channels]. frame: None is the present picture "
             "(worlds that moved since the latest render are rendered first), a number that of a frame (render), "
             "\"drawn\" the newest frame as it was drawn.")
        .def("tensor", tensor, "output"_a, "camera"_a = 0, "frame"_a = nb::none(),
             nb::sig("def tensor(self, output: str, camera: int | str = 0, frame: int | str | None = None) -> "
                     "Array"),
             "The same on the device, an Array. It stays that frame's while worlds move on, and is gone, and raises "
             "NotFoundError, when frames_in_flight further "
             "frames were started.")
        .def("place_camera", place_camera, "name"_a, "camera"_a = 0,
             nb::sig("def place_camera(self, name: str, camera: int | str = 0) -> tuple[float, float, float, float, "
                     "float, float]"),
             "Puts a free camera elsewhere, in all worlds: \"free:90,-30,2.5,0,0,1\", \"free:fit\" …, as in Sim's "
             "cameras. Returns azimuth and elevation (degrees), distance, and the point x, y, z that it looks at "
             "(metres).")
        .def("points", points, "out"_a, "camera"_a = 0,
             "Renders, and writes the point cloud of a camera to an array zeros((nworld, height, width, 3)): where in "
             "the world the pixels of its output \"depth\" are, metres; infinity where nothing was hit.")
        .def("lens", lens, "camera"_a = 0, nb::sig("def lens(self, camera: int | str = 0) -> dict[str, Any]"),
             "What a camera's picture shows: kind (\"perspective\", \"orthographic\", \"fisheye\"); left, right, "
             "bottom, "
             "top of the picture on the plane one metre in front of the camera (orthographic: metres, fisheye: "
             "radians); near and far plane, metres.")
        .def("camera_poses", camera_poses, "camera"_a = 0,
             nb::sig("def camera_poses(self, camera: int | str = 0) -> NDArray"),
             "[world, 3, 4] of float32: where a camera is in each world, as it stands now. Columns are its axes right, "
             "up and back in the world, and its position.")
        .def("hash_frame", hash_frame, "frame"_a = nb::none(),
             nb::sig("def hash_frame(self, frame: int | str | None = None) -> int"),
             "Hash of all outputs of a frame, the same on every device.");
}

void bind_sim(nb::module_ &m)
{
    nb::class_<Sim> sim(m, "SimBase", nb::is_weak_referenceable());
    bind_making(sim);
    bind_worlds(sim);
    bind_pictures(sim);
    bind_sim_parts(sim);
    bind_round(sim);
}

} // namespace binding
