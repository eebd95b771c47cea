// A step of an environment in one call: actions in, what gymnasium's step returns out. EnvStep is of environments whose
// task is kernels at the end of the sim's step (stet/gym/kernels.py), EpisodeStep of those whose episodes are, too
// (stet/gym/_episodes.py).
#include "numpy.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

namespace binding
{

using namespace nb::literals;

// Faults after which a world did not go on: the physics put it back to its beginning, or could not compute it.
static const uint32_t LOST =
    1u << STET_FAULT_BAD_QPOS | 1u << STET_FAULT_BAD_QVEL | 1u << STET_FAULT_BAD_QACC | 1u << STET_FAULT_PHYSICS_ERROR;

enum Autoreset { DISABLED, NEXT_STEP, SAME_STEP };

// Columns of worth under one name: in info [world], or with a width [world, width].
struct Term {
    nb::object name, mask_name;
    int64_t first, width;
    Term(const std::string &text, int64_t first_, int64_t width_)
        : name(nb::str(text.c_str())), mask_name(nb::str(("_" + text).c_str())), first(first_), width(width_)
    {
    }
};

// Memory of a new array of NumPy's, for as long as this lives.
template <class T> struct Filled {
    nb::object array;
    Buffer buffer;
    T *data;
    explicit Filled(nb::object made) : array(std::move(made))
    {
        buffer.open(array, true);
        data = static_cast<T *>(buffer.data());
    }
};

class EnvStep
{
  public:
    // steps, over: NumPy's [world], of the environment, which are written. What is observed is float64, if wide; else
    // float32.
    EnvStep(const Array &action, const Array &observed, const Array &worth, const Array &failed, nb::object steps,
            nb::object over, bool wide)
        : core_(action.core), action_(action), observed_(observed), worth_(worth), failed_(failed), wide_(wide)
    {
        nb::module_ numpy = nb::module_::import_("numpy");
        empty_ = numpy.attr("empty");
        float64_ = numpy.attr("dtype")("float64");
        seen_type_ = wide ? float64_ : numpy.attr("dtype")("float32");
        bool_ = numpy.attr("dtype")("bool");
        uint32_ = numpy.attr("dtype")("uint32");
        n_ = core_->nworld;
        one_ = nb::make_tuple(n_);
        seen_shape_ = nb::make_tuple(n_, observed.shape[1]);
        terms_shape_ = nb::make_tuple(worth.shape[1], n_);
        steps_.open(steps, true);
        over_.open(over, true);
        check_size(steps_, sizeof(int64_t), "steps");
        check_size(over_, 1, "over");
    }

    void set_episodes(int substeps, int rewards, int64_t limit, int mode)
    {
        substeps_ = substeps;
        rewards_ = rewards;
        limit_ = limit;
        mode_ = (Autoreset)mode;
    }

    void add_term(std::string name, int64_t first, int64_t width)
    {
        if (first < 0 || width < 0 || first + (width ? width : 1) > worth_.shape[1])
            raise(STET_ERROR_INVALID_ARGUMENT, "term " + name + " is beyond the columns of worth");
        terms_.emplace_back(name, first, width);
    }

    nb::object step(nb::handle actions);

  private:
    // Reals of the device: the caller's memory, or scratch_.
    const void *take_actions(const Buffer &in);
    bool fits(const Py_buffer &view) const;
    void check_size(const Buffer &buffer, size_t item, const char *what) const
    {
        if (buffer.size() != item * (size_t)n_)
            raise(STET_ERROR_INVALID_ARGUMENT, std::string(what) + " has not a number for each world");
    }
    template <class Real>
    void fill(const Real *seen, const Real *worth, const int32_t *failed, const uint32_t *faults, void *out,
              double *terms, double *reward, uint8_t *terminated, uint8_t *truncated);
    void add_faults(nb::dict *info) const;
    nb::object row(const nb::object &terms, const double *data, const Term &term) const;

    Shared core_;
    Array action_, observed_, worth_, failed_;
    nb::object empty_, float64_, seen_type_, bool_, uint32_, one_, seen_shape_, terms_shape_;
    Buffer steps_, over_;
    std::vector<Term> terms_;
    std::vector<char> scratch_;
    int64_t n_ = 0, limit_ = 0;
    int substeps_ = 1, rewards_ = 0;
    Autoreset mode_ = NEXT_STEP;
    bool fresh_ = false, again_ = false; // in some world
    std::vector<uint32_t> lost_;         // faults of worlds whose episode they end; empty: of none
    bool wide_;
};

bool EnvStep::fits(const Py_buffer &view) const
{
    const char *format = view.format ? view.format : "B";
    bool real = (format[0] == 'f' || format[0] == 'd') && !format[1];
    return real && view.ndim == 2 && view.shape[0] == n_ && view.shape[1] == action_.shape[1];
}

template <class To, class From> static void convert_all(const void *from, std::vector<char> *to, size_t n)
{
    to->resize(n * sizeof(To));
    for (size_t i = 0; i < n; ++i) reinterpret_cast<To *>(to->data())[i] = (To) static_cast<const From *>(from)[i];
}

const void *EnvStep::take_actions(const Buffer &in)
{
    size_t item = (size_t)in.view().itemsize, n = in.size() / item;
    if (item == core_->real_size) return in.data();
    if (item == sizeof(double))
        convert_all<float, double>(in.data(), &scratch_, n);
    else
        convert_all<double, float>(in.data(), &scratch_, n);
    return scratch_.data();
}

// With NEXT_STEP worlds that were over begin now: they have no reward and do not end. The last loops are over columns,
// as info has them.
template <class Real>
void EnvStep::fill(const Real *seen, const Real *worth, const int32_t *failed, const uint32_t *faults, void *out,
                   double *terms, double *reward, uint8_t *terminated, uint8_t *truncated)
{
    int64_t *steps = static_cast<int64_t *>(steps_.data()), nterm = worth_.shape[1];
    uint8_t *over = static_cast<uint8_t *>(over_.data());
    fresh_ = again_ = false;
    lost_.clear();
    for (int64_t w = 0; w < n_; ++w) {
        bool fresh = mode_ == NEXT_STEP && over[w], late = limit_ > 0 && ++steps[w] >= limit_;
        if (limit_ <= 0) ++steps[w];
        bool lost = (faults[w] & LOST) && !fresh;
        if (lost && lost_.empty()) lost_.resize((size_t)n_);
        if (lost) lost_[(size_t)w] = faults[w] & LOST;
        terminated[w] = lost || (failed[w] && !fresh);
        truncated[w] = late && !fresh;
        over[w] = terminated[w] | truncated[w];
        again_ |= mode_ == SAME_STEP ? over[w] : fresh;
        reward[w] = 0;
        for (int t = 0; t < rewards_ && !fresh; ++t) reward[w] += (double)worth[w * nterm + t];
        for (int64_t t = 0; t < nterm; ++t) terms[t * n_ + w] = (double)worth[w * nterm + t];
    }
    int64_t n = n_ * observed_.shape[1];
    if (wide_)
        std::copy(seen, seen + n, static_cast<double *>(out));
    else
        for (int64_t i = 0; i < n; ++i) static_cast<float *>(out)[i] = (float)seen[i];
}

nb::object EnvStep::row(const nb::object &terms, const double *data, const Term &term) const
{
    if (!term.width) {
        nb::object one = nb::steal(PySequence_GetItem(terms.ptr(), term.first));
        check_python(one.is_valid());
        return one;
    }
    Filled<double> wide(empty_(nb::make_tuple(n_, term.width), float64_));
    for (int64_t w = 0; w < n_; ++w)
        for (int64_t k = 0; k < term.width; ++k) wide.data[w * term.width + k] = data[(term.first + k) * n_ + w];
    return wide.array;
}

// "faults", which ended episodes, and "_faults", of which worlds.
void EnvStep::add_faults(nb::dict *info) const
{
    if (lost_.empty()) return;
    Filled<uint32_t> bits(empty_(one_, uint32_));
    Filled<uint8_t> whose(empty_(one_, bool_));
    for (int64_t w = 0; w < n_; ++w) {
        bits.data[w] = lost_[(size_t)w];
        whose.data[w] = bits.data[w] != 0;
    }
    (*info)["faults"] = bits.array;
    (*info)["_faults"] = whose.array;
}

nb::object EnvStep::step(nb::handle actions)
{
    Buffer in;
    if (!in.try_open(actions) || !fits(in.view())) return nb::none();
    Filled<void> seen(empty_(seen_shape_, seen_type_));
    Filled<double> terms(empty_(terms_shape_, float64_)), reward(empty_(one_, float64_));
    Filled<uint8_t> terminated(empty_(one_, bool_)), truncated(empty_(one_, bool_));
    std::vector<uint8_t> before(static_cast<uint8_t *>(over_.data()), static_cast<uint8_t *>(over_.data()) + n_);
    run(*core_, [&] {
        const void *values = take_actions(in), *observed = nullptr, *worth = nullptr, *failed = nullptr;
        stet_result r = stet_array_write(action_.array, values, (size_t)(n_ * action_.shape[1]) * core_->real_size);
        stet_sim_set_interrupt(core_->sim, substeps_ > 1 ? signal_raised : nullptr, nullptr);
        if (!r) r = stet_sim_step(core_->sim, substeps_);
        if (!r) r = stet_array_get_host(observed_.array, &observed);
        if (!r) r = stet_array_get_host(worth_.array, &worth);
        if (!r) r = stet_array_get_host(failed_.array, &failed);
        const uint32_t *faults = r ? nullptr : stet_worlds_get_faults(core_->worlds);
        if (!r && !faults) r = STET_ERROR_DEVICE;
        if (r) return r;
        const int32_t *ends = static_cast<const int32_t *>(failed);
        if (core_->real_size == sizeof(double))
            fill(static_cast<const double *>(observed), static_cast<const double *>(worth), ends, faults, seen.data,
                 terms.data, reward.data, terminated.data, truncated.data);
        else
            fill(static_cast<const float *>(observed), static_cast<const float *>(worth), ends, faults, seen.data,
                 terms.data, reward.data, terminated.data, truncated.data);
        return STET_OK;
    });
    nb::dict info;
    for (const Term &term : terms_) info[term.name] = row(terms.array, terms.data, term);
    add_faults(&info);
    if (again_) {
        Filled<uint8_t> again(empty_(one_, bool_));
        memcpy(again.data, mode_ == SAME_STEP ? over_.data() : before.data(), (size_t)n_);
        return nb::make_tuple(seen.array, reward.array, terminated.array, truncated.array, info, again.array);
    }
    Filled<uint8_t> all(empty_(one_, bool_));
    memset(all.data, 1, (size_t)n_);
    for (const Term &term : terms_) info[term.mask_name] = all.array;
    return nb::make_tuple(seen.array, reward.array, terminated.array, truncated.array, info);
}

// ---- environments whose episodes are kernels -----------------------------------------------------------------------

class EpisodeStep
{
  public:
    // low, high: of the action space, [world …], as float64.
    EpisodeStep(const Array &action, std::vector<Array> seen, nb::object low, nb::object high, int substeps)
        : core_(action.core), action_(action), seen_(std::move(seen)), substeps_(substeps)
    {
        nb::module_ numpy = nb::module_::import_("numpy");
        empty_ = numpy.attr("empty");
        for (const Array &a : seen_) {
            shapes_.push_back(to_tuple(a.shape));
            types_.push_back(numpy.attr("dtype")(a.dtype == STET_DTYPE_REAL ? "float32" : "bool"));
        }
        low_.open(low, false);
        high_.open(high, false);
    }

    // The step is a list of launches; without any, it is the sim's.
    void add_launch(const Kernel &kernel, nb::handle arguments)
    {
        launches_.push_back({kernel, to_arguments(kernel, arguments)});
    }

    nb::object step(nb::handle actions);

  private:
    struct Launch {
        Kernel kernel;
        Arguments arguments;
    };
    template <class To, class From> bool take(const Buffer &in);
    bool take_actions(const Buffer &in);
    stet_result advance();
    stet_result read(size_t i, void *out);

    Shared core_;
    Array action_;
    std::vector<Array> seen_;
    nb::object empty_;
    std::vector<nb::object> shapes_, types_;
    Buffer low_, high_;
    std::vector<Launch> launches_;
    std::vector<char> scratch_;
    int substeps_;
};

// Whether all are in the action space; then scratch_ has them as the device wants them.
template <class To, class From> bool EpisodeStep::take(const Buffer &in)
{
    size_t n = in.size() / sizeof(From);
    const double *low = static_cast<const double *>(low_.data()), *high = static_cast<const double *>(high_.data());
    scratch_.resize(n * sizeof(To));
    for (size_t i = 0; i < n; ++i) {
        From x = static_cast<const From *>(in.data())[i];
        if (!((double)x >= low[i] && (double)x <= high[i])) return false;
        reinterpret_cast<To *>(scratch_.data())[i] = (To)x;
    }
    return true;
}

bool EpisodeStep::take_actions(const Buffer &in)
{
    const Py_buffer &view = in.view(), &like = low_.view();
    if (view.ndim != like.ndim) return false;
    for (int i = 0; i < view.ndim; ++i)
        if (view.shape[i] != like.shape[i]) return false;
    char letter = view.format && !view.format[1] ? view.format[0] : 0;
    if (action_.dtype == STET_DTYPE_INT) return letter == 'l' && sizeof(long) == 8 && take<int32_t, int64_t>(in);
    bool wide = core_->real_size == sizeof(double);
    return letter == 'f' && (wide ? take<double, float>(in) : take<float, float>(in));
}

stet_result EpisodeStep::advance()
{
    if (launches_.empty()) return stet_sim_step(core_->sim, substeps_);
    stet_result result = stet_record_begin(core_->device, "a step of the environment");
    if (result) return result;
    for (Launch &l : launches_) {
        if (!result)
            result = stet_kernel_launch(l.kernel.get(), core_->nworld, l.arguments.args.data(),
                                        (int)l.arguments.args.size());
    }
    return stet_record_end(core_->device, result);
}

// Reals as float, others as they are.
stet_result EpisodeStep::read(size_t i, void *out)
{
    const void *data = nullptr;
    size_t n = 1;
    for (int64_t size : seen_[i].shape) n *= (size_t)size;
    stet_result result = stet_array_get_host(seen_[i].array, &data);
    if (result) return result;
    if (seen_[i].dtype != STET_DTYPE_REAL)
        memcpy(out, data, n);
    else if (core_->real_size == sizeof(float))
        memcpy(out, data, n * sizeof(float));
    else
        for (size_t k = 0; k < n; ++k) static_cast<float *>(out)[k] = (float)static_cast<const double *>(data)[k];
    return STET_OK;
}

nb::object EpisodeStep::step(nb::handle actions)
{
    Buffer in;
    if (!in.try_open(actions) || !take_actions(in)) return nb::none();
    nb::tuple out = nb::steal<nb::tuple>(PyTuple_New((Py_ssize_t)seen_.size()));
    std::vector<void *> to;
    for (size_t i = 0; i < seen_.size(); ++i) {
        Filled<void> made(empty_(shapes_[i], types_[i]));
        to.push_back(made.data);
        check_python(PyTuple_SetItem(out.ptr(), (Py_ssize_t)i, made.array.release().ptr()) == 0);
    }
    run(*core_, [&] {
        stet_result r = stet_array_write(action_.array, scratch_.data(), scratch_.size());
        if (!r) r = advance();
        for (size_t i = 0; i < seen_.size() && !r; ++i) r = read(i, to[i]);
        return r;
    });
    return out;
}

void bind_env(nb::module_ &m)
{
    nb::class_<EnvStep>(m, "_EnvStep")
        .def(nb::init<const Array &, const Array &, const Array &, const Array &, nb::object, nb::object, bool>(),
             "action"_a, "observed"_a, "worth"_a, "failed"_a, "steps"_a, "over"_a, "wide"_a)
        .def("set_episodes", &EnvStep::set_episodes, "substeps"_a, "rewards"_a, "limit"_a, "mode"_a)
        .def("add_term", &EnvStep::add_term, "name"_a, "first"_a, "width"_a)
        .def("__call__", &EnvStep::step, "actions"_a.none(),
             "(observation, reward, terminated, truncated, info); where worlds begin again now (observation, …, terms, "
             "which worlds); None for actions that are no floats of the right shape, contiguous in memory.");
    nb::class_<EpisodeStep>(m, "_EpisodeStep")
        .def(nb::init<const Array &, std::vector<Array>, nb::object, nb::object, int>(), "action"_a, "seen"_a, "low"_a,
             "high"_a, "substeps"_a)
        .def("add_launch", &EpisodeStep::add_launch, "kernel"_a, "arguments"_a)
        .def("__call__", &EpisodeStep::step, "actions"_a.none(),
             "What the arrays `seen` have after the step, in NumPy; None for actions that are not in the action space, "
             "in its type.");
}

} // namespace binding
