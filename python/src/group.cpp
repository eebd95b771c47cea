// Processes that share the worlds of a run: what stet/group.py is made of.
//
// Invariant: the library is called without the GIL; a transport of Python's takes it for each of its calls, and what it
// raises becomes the reason of the group's failure.
#include "numpy.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>

namespace binding
{

using namespace nb::literals;

// Bytes of Python between ranks: an object with all_gather, broadcast, send, receive.
struct PythonTransport {
    nb::object it;
    std::string why;

    template <class Work> int call(Work &&work)
    {
        nb::gil_scoped_acquire gil;
        try {
            work();
            return 0;
        } catch (std::exception &error) {
            why = error.what();
            size_t line = why.find('\n');
            if (line != std::string::npos) why.resize(line);
            return 1;
        }
    }

    static void take(nb::handle given, void *out, size_t size, const char *what)
    {
        Buffer buffer;
        buffer.open(given, false);
        if (buffer.size() != size)
            throw std::runtime_error(std::string(what) + " gave " + std::to_string(buffer.size()) +
                                     " bytes in place of " + std::to_string(size));
        if (size > 0) std::memcpy(out, buffer.data(), size);
    }

    static PythonTransport *of(void *context) { return static_cast<PythonTransport *>(context); }

    static int all_gather(void *context, const void *send, void *recv, size_t size)
    {
        PythonTransport *t = of(context);
        return t->call([&] {
            size_t nrank = nb::cast<size_t>(t->it.attr("nrank"));
            take(t->it.attr("all_gather")(nb::bytes(send, size)), recv, nrank * size, "all_gather");
        });
    }

    static int broadcast(void *context, void *data, size_t size, int root)
    {
        PythonTransport *t = of(context);
        return t->call([&] { take(t->it.attr("broadcast")(nb::bytes(data, size), root), data, size, "broadcast"); });
    }

    static int send(void *context, const void *data, size_t size, int to)
    {
        PythonTransport *t = of(context);
        return t->call([&] { t->it.attr("send")(nb::bytes(data, size), to); });
    }

    static int receive(void *context, void *data, size_t size, int from)
    {
        PythonTransport *t = of(context);
        return t->call([&] { take(t->it.attr("receive")(size, from), data, size, "receive"); });
    }

    static const char *reason(void *context) { return of(context)->why.c_str(); }

    static void close(void *context)
    {
        nb::gil_scoped_acquire gil;
        delete of(context);
    }
};

class Group
{
  public:
    Group(int64_t worlds, nb::object transport, int64_t own)
    {
        stet_group_def def = stet_default_group_def();
        def.nworld = worlds;
        def.own = own;
        if (!transport.is_none()) {
            int rank = nb::cast<int>(transport.attr("rank")), nrank = nb::cast<int>(transport.attr("nrank"));
            def.transport = {rank,
                             nrank,
                             0,
                             0,
                             new PythonTransport{std::move(transport), ""},
                             PythonTransport::all_gather,
                             PythonTransport::broadcast,
                             PythonTransport::send,
                             PythonTransport::receive,
                             PythonTransport::reason,
                             PythonTransport::close};
        }
        call([&] { return stet_group_create(&def, &group_); });
        owned_ = std::shared_ptr<stet_group>(group_, stet_group_destroy);
    }
    Group(const Group &) = delete;
    Group &operator=(const Group &) = delete;

    int rank() const { return stet_group_get_rank(group_); }
    int nrank() const { return stet_group_get_nrank(group_); }
    int64_t worlds() const { return stet_group_get_nworld(group_); }
    int64_t first() const { return stet_group_get_first(group_); }
    int64_t own() const { return stet_group_get_own(group_); }

    nb::tuple blocks() const
    {
        nb::list out;
        for (int r = 0; r < nrank(); ++r)
            out.append(nb::make_tuple(stet_group_get_first_of(group_, r), stet_group_get_own_of(group_, r)));
        return nb::tuple(out);
    }

    nb::bytes share(nb::bytes own) const
    {
        std::string all(own.size() * (size_t)nrank(), 0);
        call([&] { return stet_group_share(group_, own.c_str(), own.size(), all.data()); });
        return nb::bytes(all.data(), all.size());
    }

    nb::object gather(nb::bytes own, size_t item) const
    {
        std::string all(rank() == 0 ? (size_t)worlds() * item : 0, 0);
        call([&] { return stet_group_gather(group_, own.c_str(), item, all.data()); });
        return rank() == 0 ? nb::object(nb::bytes(all.data(), all.size())) : nb::none();
    }

    nb::bytes scatter(nb::bytes all, size_t item) const
    {
        std::string mine((size_t)own() * item, 0);
        call([&] { return stet_group_scatter(group_, all.c_str(), item, mine.data()); });
        return nb::bytes(mine.data(), mine.size());
    }

    nb::bytes sum(nb::bytes values, int64_t n) const
    {
        std::string out((size_t)n * sizeof(double), 0);
        call([&] {
            return stet_group_sum(group_, reinterpret_cast<const double *>(values.c_str()), n,
                                  reinterpret_cast<double *>(out.data()));
        });
        return nb::bytes(out.data(), out.size());
    }

    void fail(const std::string &message) const
    {
        nb::gil_scoped_release others;
        stet_group_fail(group_, message.c_str());
    }

    void save(const Sim &sim, const std::string &path) const
    {
        run(*sim.core, [&] { return stet_group_save(group_, sim.core->worlds, path.c_str()); });
    }

    void resume(const Sim &sim, const std::string &path) const
    {
        run(*sim.core, [&] { return stet_group_resume(group_, sim.core->sim, path.c_str()); });
    }

    uint64_t hash(const Sim &sim) const
    {
        uint64_t out = 0;
        run(*sim.core, [&] { return stet_group_hash(group_, sim.core->worlds, &out); });
        return out;
    }

    uint64_t hash_frame(const Sim &sim, int64_t frame) const
    {
        uint64_t out = 0;
        run(*sim.core, [&] { return stet_group_hash_frame(group_, sim.core->sim, frame, &out); });
        return out;
    }

    // The link ends before the sim does, or with the group, in a turn with the sim (Gate).
    std::string link(const Sim &sim, const std::optional<std::string> &library)
    {
        using Owner = std::shared_ptr<stet_group>;
        link_.reset();
        run(*sim.core, [&] { return stet_group_link(group_, sim.core->device, library ? library->c_str() : nullptr); });
        link_ = std::make_shared<Memory>(sim.core->gate, Thing{new Owner(owned_), [](void *it) {
                                                                   auto *owner = static_cast<Owner *>(it);
                                                                   stet_group_unlink(owner->get());
                                                                   delete owner;
                                                               }});
        sim.core->before_sim.push_back(link_);
        return stet_group_get_link(group_);
    }

    void gather_array(const Array &own, const Array *all, bool wait) const
    {
        auto *gather = wait ? stet_group_gather_array : stet_group_gather_begin;
        with_arrays(own, all, [&](stet_array *a, stet_array *b) { return gather(group_, a, b); });
    }

    void wait(const Sim &sim) const
    {
        run(*sim.core, [&] { return stet_group_wait(group_); });
    }

    void scatter_array(const Array *all, const Array &own) const
    {
        own.check_writable();
        with_arrays(own, all, [&](stet_array *a, stet_array *b) { return stet_group_scatter_array(group_, b, a); });
    }

    void broadcast_array(const Array &array) const
    {
        array.check_writable();
        run(array, [&](stet_array *a) { return stet_group_broadcast_array(group_, a); });
    }

    void reduce(const Array &own, const Array &out, bool wait) const
    {
        out.check_writable();
        auto *add = wait ? stet_group_reduce : stet_group_reduce_begin;
        with_arrays(own, &out, [&](stet_array *a, stet_array *b) { return add(group_, a, b); });
    }

  private:
    template <class Work> static void with_arrays(const Array &a, const Array *b, Work &&work)
    {
        run(a, [&](stet_array *first) {
            stet_array *second = nullptr;
            stet_result result = b ? b->find(&second) : STET_OK;
            return result == STET_OK ? work(first, second) : result;
        });
    }

    template <class Work> static void call(Work &&work)
    {
        stet_result result;
        {
            nb::gil_scoped_release others;
            result = work();
        }
        check(result);
    }

    stet_group *group_ = nullptr;
    std::shared_ptr<stet_group> owned_;
    Held link_;
};

void bind_group(nb::module_ &m)
{
    nb::class_<Group>(m, "GroupBase")
        .def(nb::init<int64_t, nb::object, int64_t>(), "worlds"_a, "transport"_a.none(), "own"_a)
        .def_prop_ro("rank", &Group::rank, "Number of this process among those of the group.")
        .def_prop_ro("nrank", &Group::nrank, "How many these are.")
        .def_prop_ro("worlds", &Group::worlds, "Worlds of the whole run.")
        .def_prop_ro("first", &Group::first, "Number of this process's first world.")
        .def_prop_ro("own", &Group::own, "Worlds of this process.")
        .def_prop_ro("blocks", &Group::blocks, nb::sig("def blocks(self) -> tuple[tuple[int, int], ...]"),
                     "(first, own) of each process.")
        .def("_share", &Group::share, "own"_a)
        .def("_gather", &Group::gather, "own"_a, "item"_a)
        .def("_scatter", &Group::scatter, "all"_a, "item"_a)
        .def("_sum", &Group::sum, "values"_a, "n"_a)
        .def("_link", &Group::link, "sim"_a, "library"_a.none())
        .def("gather_array", &Group::gather_array, "own"_a, "all"_a = nb::none(), "wait"_a = true,
             "Puts the stet.Array own [own, …] of all processes together in `all` [worlds, …], which only rank 0 "
             "gives. wait=False: later work on the device does not wait for it before wait().")
        .def("scatter_array", &Group::scatter_array, "all"_a.none(), "own"_a, "The reverse.")
        .def("broadcast_array", &Group::broadcast_array, "array"_a, "Gives rank 0's plain stet.Array to all.")
        .def("reduce", &Group::reduce, "own"_a, "out"_a, "wait"_a = true,
             "out [n], plain, becomes the sum of own [own, n] over all worlds of the run, in float32 and in one order: "
             "the same bits for any number of processes, on all devices. wait=False: later work on the device does not "
             "wait for it before wait(); until then nobody writes own or uses out.")
        .def("wait", &Group::wait, "sim"_a, "Later work on the device comes after what was begun with wait=False.")
        .def("_hash_frame", &Group::hash_frame, "sim"_a, "frame"_a)
        .def("_save", &Group::save, "sim"_a, "path"_a)
        .def("_resume", &Group::resume, "sim"_a, "path"_a)
        .def("fail", &Group::fail, "message"_a,
             "Ends the group: the next call of each other process raises StateError with this message.")
        .def("hash", &Group::hash, "sim"_a, "The hash of the state of all worlds, as one sim of them all has it.");
}

} // namespace binding
