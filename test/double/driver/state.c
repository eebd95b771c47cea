/*
 * The lock, counts, faults and the report of the double; and the table that tests steer it by. Invariants: state.h.
 */
#define _GNU_SOURCE
#include "state.h"

#include "memory.h"
#include "module.h"
#include "queue.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 256 };

dd_state dd;
/*
 * A line of its own: the leak sanitizer takes a thread's variables of an opened library for a block of an old glibc
 * where their address has the remainder 16 by a page, which no multiple of 64 has.
 */
_Alignas(64) _Thread_local dd_device *dd_current;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t random_state = 1;

static struct count {
    const char *entry;
    int64_t calls;
} count[ENTRIES];
static int64_t all_calls;

static struct fault {
    char entry[64]; /* empty: any */
    int64_t in;     /* calls until it fails; 0: none is armed */
    int code;
    bool for_ever, on;
} fault, kernel_fault;

static struct report {
    int errors;
    char first[512];
} report;

void dd_lock(void) { pthread_mutex_lock(&lock); }
void dd_unlock(void) { pthread_mutex_unlock(&lock); }

/* splitmix64: any seed will do, and the next number follows from the last. */
uint64_t dd_random(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- counts and faults ---------------------------------------------------------------------------------------- */

static struct count *count_of(const char *entry)
{
    for (int i = 0; i < ENTRIES; ++i) {
        if (!count[i].entry) count[i].entry = entry;
        if (strcmp(count[i].entry, entry) == 0) return &count[i];
    }
    return NULL;
}

static int fails(struct fault *f)
{
    if (f->on) return f->code;
    if (f->in == 0 || --f->in > 0) return DD_OK;
    f->on = f->for_ever;
    return f->code;
}

int dd_enter_compiler(const char *entry)
{
    struct count *c = count_of(entry);
    if (c) c->calls++;
    return strcmp(fault.entry, entry) == 0 ? fails(&fault) : DD_OK;
}

int dd_enter(const char *entry)
{
    struct count *c = count_of(entry);
    if (c) c->calls++;
    all_calls++;
    dd.tick++;
    if (fault.entry[0] && strcmp(fault.entry, entry) != 0) return DD_OK;
    return fails(&fault);
}

int dd_kernel_fault(void) { return fails(&kernel_fault); }

int64_t dd_calls(const char *entry)
{
    if (!entry) return all_calls;
    for (int i = 0; i < ENTRIES && count[i].entry; ++i)
        if (strcmp(count[i].entry, entry) == 0) return count[i].calls;
    return 0;
}

void dd_fail(const char *entry, int64_t at, int code, bool for_ever)
{
    fault = (struct fault){.in = at, .code = code, .for_ever = for_ever};
    if (entry) snprintf(fault.entry, sizeof fault.entry, "%s", entry);
}

void dd_fail_kernel(int64_t at, int code) { kernel_fault = (struct fault){.in = at, .code = code}; }

void dd_wrong(const char *format, ...)
{
    va_list list;
    if (report.errors++ > 0) return;
    va_start(list, format);
    vsnprintf(report.first, sizeof report.first, format, list);
    va_end(list);
}

/* ---- names of results ----------------------------------------------------------------------------------------- */

static const struct {
    int code;
    const char *name, *sentence;
} error_text[] = {
    {DD_OK, "SUCCESS", "no error"},
    {DD_INVALID_VALUE, "INVALID_VALUE", "invalid argument"},
    {DD_OUT_OF_MEMORY, "OUT_OF_MEMORY", "out of memory"},
    {DD_NOT_INITIALIZED, "NOT_INITIALIZED", "initialization error"},
    {DD_NO_DEVICE, "NO_DEVICE", "no device is there"},
    {DD_INVALID_DEVICE, "INVALID_DEVICE", "invalid device ordinal"},
    {DD_INVALID_IMAGE, "INVALID_IMAGE", "device kernel image is invalid"},
    {DD_INVALID_CONTEXT, "INVALID_CONTEXT", "invalid device context"},
    {DD_NO_BINARY, "NO_BINARY_FOR_GPU", "no kernel image for this device"},
    {DD_INVALID_HANDLE, "INVALID_HANDLE", "invalid resource handle"},
    {DD_ILLEGAL_STATE, "ILLEGAL_STATE", "not permitted in the present state"},
    {DD_NOT_FOUND, "NOT_FOUND", "named symbol not found"},
    {DD_NOT_READY, "NOT_READY", "device not ready"},
    {DD_ILLEGAL_ADDRESS, "ILLEGAL_ADDRESS", "an illegal memory access was met"},
    {DD_OUT_OF_RESOURCES, "LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {DD_LAUNCH_FAILED, "LAUNCH_FAILED", "unspecified launch failure"},
    {DD_NOT_SUPPORTED, "NOT_SUPPORTED", "operation not supported"},
    {DD_CAPTURE_UNSUPPORTED, "STREAM_CAPTURE_UNSUPPORTED", "not permitted while a stream is captured"},
    {DD_CAPTURE_INVALIDATED, "STREAM_CAPTURE_INVALIDATED", "the capture failed before"},
    {DD_CAPTURE_UNJOINED, "STREAM_CAPTURE_UNJOINED", "the capture has streams that were not joined"},
    {DD_CAPTURE_ISOLATION, "STREAM_CAPTURE_ISOLATION", "what is captured would depend on what is not"},
    {DD_CAPTURE_IMPLICIT, "STREAM_CAPTURE_IMPLICIT", "it would depend on a capture through the legacy stream"},
    {DD_UNKNOWN, "UNKNOWN", "unknown error"},
};

const char *dd_error_name(int code)
{
    for (size_t i = 0; i < sizeof error_text / sizeof *error_text; ++i)
        if (error_text[i].code == code) return error_text[i].name;
    return NULL;
}

const char *dd_error_sentence(int code)
{
    for (size_t i = 0; i < sizeof error_text / sizeof *error_text; ++i)
        if (error_text[i].code == code) return error_text[i].sentence;
    return NULL;
}

/* ---- the table that tests steer by ---------------------------------------------------------------------------- */

static double_config control_defaults(void)
{
    return (double_config){.seed = 1,
                           .devices = 2,
                           .memory = (size_t)4 << 30,
                           .protect = true,
                           .progress = 10,
                           .latency = 3,
                           .cuda_version = 13000,
                           .hip_version = 60443483,
                           .nvrtc_version = 1300,
                           .major = 9,
                           .gfx = "gfx90a",
                           .multiprocessors = 4,
                           .shared_memory = 64 << 10,
                           .max_grid = 0x7fffffff};
}

static void forget(void)
{
    dd_queue_forget();
    dd_module_forget();
    dd_memory_forget();
    memset(count, 0, sizeof count);
    all_calls = 0;
    memset(&fault, 0, sizeof fault);
    memset(&kernel_fault, 0, sizeof kernel_fault);
    memset(&report, 0, sizeof report);
    int64_t programs = dd.alive.programs; /* they belong to a compiler, which has no device */
    memset(&dd, 0, sizeof dd);
    dd.alive.programs = programs;
    dd_current = NULL;
}

static void start(const double_config *config)
{
    forget();
    dd.config = *config;
    if (dd.config.devices > DD_DEVICES) dd.config.devices = DD_DEVICES;
    random_state = config->seed;
    for (int i = 0; i < DD_DEVICES; ++i) dd.device[i].ordinal = i;
}

static void control_start(const double_config *config)
{
    dd_lock();
    start(config);
    dd_unlock();
}

/* Whoever opens the object without steering it gets the defaults. */
__attribute__((constructor)) static void begin(void)
{
    double_config config = control_defaults();
    const char *held =
        getenv("STET_DOUBLE_HOLD"); /* for programs that are not the test's own: see double_control.hold */
    start(&config);
    if (held) dd_hold_compiler(held, NULL);
}

static void control_fail(const char *entry, int64_t at, int code, bool for_ever)
{
    dd_lock();
    dd_fail(entry, at, code, for_ever);
    dd_unlock();
}

static void control_fail_kernel(int64_t at, int code)
{
    dd_lock();
    dd_fail_kernel(at, code);
    dd_unlock();
}

static int64_t control_calls(const char *entry)
{
    dd_lock();
    int64_t n = dd_calls(entry);
    dd_unlock();
    return n;
}

static double_alive control_alive(void)
{
    dd_lock();
    double_alive alive = dd.alive;
    dd_unlock();
    return alive;
}

static int control_report(char *text, size_t size)
{
    dd_lock();
    dd_memory_check();
    int errors = report.errors;
    if (size > 0) snprintf(text, size, "%s", errors > 0 ? report.first : "");
    memset(&report, 0, sizeof report);
    dd_unlock();
    return errors;
}

static bool control_progress(void)
{
    dd_lock();
    bool ran = dd_queue_step();
    dd_memory_close();
    dd_unlock();
    return ran;
}

static int64_t control_waiting(void)
{
    dd_lock();
    int64_t n = dd_queue_waiting();
    dd_unlock();
    return n;
}

static int64_t control_early(void)
{
    dd_lock();
    int64_t n = dd.early;
    dd_unlock();
    return n;
}

static void *control_look(uint64_t address)
{
    dd_lock();
    void *p = dd_memory_find(address, 1) ? dd_memory_shadow(address) : NULL;
    dd_unlock();
    return p;
}

__attribute__((visibility("default"))) const double_control *double_get_control(void);

const double_control *double_get_control(void)
{
    static const double_control control = {
        .defaults = control_defaults,
        .start = control_start,
        .fail_call = control_fail,
        .fail_kernel = control_fail_kernel,
        .hold = dd_hold_compiler,
        .calls = control_calls,
        .alive = control_alive,
        .report = control_report,
        .progress = control_progress,
        .waiting = control_waiting,
        .early = control_early,
        .look = control_look,
    };
    return &control;
}
