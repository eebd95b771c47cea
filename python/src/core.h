// What Python's objects are made of: the sim behind them, arrays, kernels, and who may touch them when.
//
// Python's objects do not refer to each other; they share parts in C++, and the last one to go takes a part along.
//
//     Sim ─┬─> Core ──> Gate <── Memory <─┬─ Array
//          │    └ parts: Memory of what kernels in the step use
//          └─ (Array, Kernel, Snapshot, … each hold the Core, too)
//
// Invariants:
//   C1  a Core's library objects are touched by one thread at a time: whoever does holds its Gate (Hold). Who waits for
//       a Gate has let the GIL go
//   C2  Memory holds a Gate but never a Core, so a Core may hold Memory without a cycle
//   C3  what is dropped while another thread is inside is destroyed when that one leaves: dropping never waits
//   C4  after close() every call raises StateError; the sim itself lives until no host view of its memory is left
#pragma once

#include "error.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace binding
{

// Objects of a kind that are alive, for tests of lifetimes.
template <class Of> class Counted
{
  public:
    Counted() { ++count; }
    Counted(const Counted &) { ++count; }
    Counted &operator=(const Counted &) = default;
    ~Counted() { --count; }
    static int64_t alive() { return count; }

  private:
    inline static std::atomic<int64_t> count{0};
};

// Something of the library, and how it ends.
struct Thing {
    void *it;
    void (*destroy)(void *);
};

class Gate
{
  public:
    ~Gate() { drain(); }
    void enter(); // with the GIL, which is let go while waiting
    void leave();
    void bury(Thing thing); // C3

  private:
    void drain();

    std::recursive_mutex inside_;
    std::mutex buried_mutex_;
    std::vector<Thing> buried_;
};

// An array, kernel or snapshot that Python owns.
class Memory : Counted<Memory>
{
  public:
    Memory(std::shared_ptr<Gate> gate, Thing thing) : gate_(std::move(gate)), thing_(thing) {}
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory() { end(); }
    // Before its time; with its sim's gate entered.
    void end()
    {
        if (thing_.it) gate_->bury(thing_);
        thing_.it = nullptr;
    }
    template <class Of> Of *get() const { return static_cast<Of *>(thing_.it); }
    using Counted<Memory>::alive;

  private:
    std::shared_ptr<Gate> gate_;
    Thing thing_;
};
using Held = std::shared_ptr<Memory>;

// A kernel in the step: its parameters, and what it must keep alive, itself first.
struct Part {
    std::vector<stet_kernel_param> params;
    std::vector<Held> held;
};

struct Core : Counted<Core> {
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();
    stet_sim *sim = nullptr;
    stet_model *model = nullptr; // these three are the sim's
    stet_device *device = nullptr;
    stet_worlds *worlds = nullptr;
    int64_t nworld = 0;
    int lanes = 1, index = 0; // of a GPU: its number
    stet_device_type type = STET_DEVICE_CPU;
    size_t real_size = sizeof(float);
    bool closed = false;
    bool callers_stream = false; // use_stream was called with one
    int views = 0;               // of its memory, given to NumPy (C4); guarded by the GIL
    std::map<int, Part> parts;   // kernels in the step, by number
    std::vector<Held> reset_mask;
    std::vector<std::weak_ptr<Memory>> before_sim; // what must end before the sim does

    Core() = default;
    Core(const Core &) = delete;
    Core &operator=(const Core &) = delete;
    ~Core() { destroy(); }
    void close();
    void drop_view();

  private:
    void destroy();
};
using Shared = std::shared_ptr<Core>;

// One thread's turn with a sim that is open (C1).
class Hold
{
  public:
    explicit Hold(Core &core);
    ~Hold() { gate_->leave(); }
    Hold(const Hold &) = delete;
    Hold &operator=(const Hold &) = delete;

  private:
    std::shared_ptr<Gate> gate_;
};

// With the sim held: work between the two steps that keep tensors of others in step with arrays that lie in blocks
// (stet/dlpack.h).
template <class Work> stet_result in_step(Core &core, Work &&work)
{
    stet_result result = stet_device_take_views(core.device);
    if (result != STET_OK) return result;
    result = work();
    stet_result shown = stet_device_show_views(core.device);
    return shown == STET_OK ? result : shown; // the later failure's sentence is the thread's
}

// Calls the library for a sim without the GIL, and raises what went wrong.
template <class Work> void run(Core &core, Work &&work)
{
    stet_result result;
    {
        Hold hold(core);
        nb::gil_scoped_release others;
        result = in_step(core, work);
    }
    check(result);
}

// The same for what is done in no time: the GIL is kept.
template <class Work> void run_now(Core &core, Work &&work)
{
    stet_result result;
    {
        Hold hold(core);
        result = in_step(core, work);
    }
    check(result);
}

// Tiles of a caller's own, and the pictures that they show.
struct Shown {
    std::vector<Held> pictures;
    Held own;
    stet_result find(int64_t frame, int request, stet_array **out) const;
};

// An array as Python has it.
struct Array : Counted<Array> {
    Shared core;       // first, so that it goes last
    Held own;          // NULL: the sim's own
    stet_array *array; // of a picture: NULL
    stet_dtype dtype;
    bool worlds;            // an array of worlds, perhaps blocked
    bool read_only = false; // an export for writing was refused before
    bool result = false;    // MuJoCo's physics makes it, so that what others write would be lost
    std::vector<int64_t> shape;
    std::string name;
    int64_t frame = -1; // of a picture, whose array is asked for at each use
    int camera = 0;
    stet_output output = STET_OUTPUT_RGB;
    std::shared_ptr<Shown> shown; // of a picture of the caller's own tiles: these, and its request
    int request = 0;

    Array(Shared core, Held own, stet_array *array, bool worlds);
    // With the sim held: the array as it is now. NOT_FOUND: a picture whose frame is gone.
    stet_result find(stet_array **out) const;
    // Raises InvalidArgumentError if it is a result.
    void check_writable() const;
};

// Calls the library for an array; see run.
template <class Work> void run(const Array &a, Work &&work)
{
    run(*a.core, [&] {
        stet_array *array;
        stet_result result = a.find(&array);
        return result == STET_OK ? work(array) : result;
    });
}
template <class Work> void run_now(const Array &a, Work &&work)
{
    run_now(*a.core, [&] {
        stet_array *array;
        stet_result result = a.find(&array);
        return result == STET_OK ? work(array) : result;
    });
}

struct Sim {
    Shared core;
};

// A stet_interrupt_fn, between two time steps of a long step: in the main thread Ctrl-C and other signals have their
// handlers called; one that raises ends it.
bool signal_raised(void *);

struct Model : Counted<Model> {
    stet_model *model = nullptr;
    Model() = default;
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;
    ~Model() { stet_model_destroy(model); }
};

struct Kernel : Counted<Kernel> {
    Shared core;
    Held own;
    std::vector<stet_kernel_param> params; // texts borrowed from the kernel
    stet_kernel *get() const { return own->get<stet_kernel>(); }
};

struct Adjoint {
    Kernel kernel;
    stet_adjoint *adjoint; // the kernel's
};
Adjoint adjoint_of(const Kernel &kernel);

// Arguments of a launch, checked as far as Python's types go, and what they must keep alive.
struct Arguments {
    std::vector<stet_arg> args;
    std::vector<const Array *> pictures; // by place in args; NULL: no picture
    std::vector<Held> held;
};
Arguments to_arguments(const Kernel &kernel, nb::handle sequence);
// Puts their arrays into args, as they are now; with the sim held.
stet_result find_pictures(Arguments *arguments);

void bind_adjoint(nb::module_ &m);
void bind_model(nb::module_ &m);
void bind_array(nb::module_ &m);
void bind_env(nb::module_ &m);
void bind_group(nb::module_ &m);
void bind_kernel(nb::module_ &m);
void bind_random(nb::module_ &m);
void bind_log(nb::module_ &m);
void bind_record(nb::module_ &m);
void bind_report(nb::module_ &m);
void bind_sim(nb::module_ &m);
void bind_tape(nb::module_ &m);
void bind_tiles(nb::module_ &m);
void bind_ids(nb::module_ &m);
void bind_markers(nb::module_ &m);
void bind_making(nb::class_<Sim> &sim);
void bind_sim_parts(nb::class_<Sim> &sim);
void bind_round(nb::class_<Sim> &sim);

} // namespace binding
