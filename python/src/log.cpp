// What the library reports goes to Python's logging, as the logger "stet".
//
// Invariant:
//   L1  the library may report from any thread, with locks of its own and of the binding held; so a message only waits
//       here, and the next call's end hands it on, with the GIL and no lock
#include "core.h"

#include <pthread.h>

#include <atomic>
#include <vector>

namespace binding
{

using namespace nb::literals;

enum { MOST_WAITING = 1000 }; // what comes then is dropped, and counted

struct Message {
    stet_log_level level;
    std::string text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static std::vector<Message> waiting;
static size_t dropped;
static std::atomic<bool> some;

static void keep_message(stet_log_level level, const char *text, void *)
{
    pthread_mutex_lock(&lock);
    if (waiting.size() < MOST_WAITING)
        waiting.push_back({level, text});
    else
        ++dropped;
    some = true;
    pthread_mutex_unlock(&lock);
}

// A handler or filter that fails makes no call fail.
static void hand_on(const nb::object &logger, int level, const std::string &text)
{
    try {
        logger.attr("log")(level, nb::steal(PyUnicode_DecodeUTF8(text.data(), (Py_ssize_t)text.size(), "replace")));
    } catch (nb::python_error &error) {
        error.discard_as_unraisable("stet's log");
    }
}

bool log_waits() { return some.load(std::memory_order_relaxed); }

void deliver_log()
{
    std::vector<Message> messages;
    pthread_mutex_lock(&lock);
    messages.swap(waiting);
    size_t lost = dropped;
    dropped = 0;
    some = false;
    pthread_mutex_unlock(&lock);
    static const int levels[] = {40, 30, 20}; // logging's ERROR, WARNING, INFO
    nb::object logger = nb::module_::import_("logging").attr("getLogger")("stet");
    for (const Message &m : messages) hand_on(logger, levels[m.level], m.text);
    if (lost) hand_on(logger, levels[STET_LOG_WARNING], counted((long long)lost, "more message") + " at once");
}

void bind_log(nb::module_ &m)
{
    (void)pthread_atfork([] { pthread_mutex_lock(&lock); }, [] { pthread_mutex_unlock(&lock); },
                         [] { pthread_mutex_unlock(&lock); });
    stet_set_log(keep_message, nullptr);
    m.def("_deliver_log", deliver_log);
    nb::module_::import_("atexit").attr("register")(m.attr("_deliver_log"));
}

} // namespace binding
