/* Devices: creation, names, counters. What differs between kinds of device is in sti_device_ops. */
#include "device/device.h"
#include "base/environment.h"
#include "base/plural.h"
#include "device/ranges.h"
#include "device/trace.h"

#include <string.h>

enum { DEVICE_COOKIE = 0x57e7d001 };

stet_device_def stet_default_device_def(void)
{
    stet_device_def def = {.cookie = DEVICE_COOKIE, .type = STET_DEVICE_AUTO};
    /* An invalid STET_DISABLE is reported by stet_device_create, which reads it again. */
    if (stet_default_mechanism_options(&def.mechanisms) != STET_OK) def.cookie = ~(uint32_t)DEVICE_COOKIE;
    return def;
}

static stet_result check_options(const stet_mechanism_options *options)
{
    if (options->disabled >> STET_MECHANISM_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "mechanisms: disabled has bits beyond the %d mechanisms",
                         STET_MECHANISM_COUNT);
    return STET_OK;
}

static stet_result check_def(const stet_device_def *def)
{
    stet_mechanism_options options;
    STI_TRY(stet_default_mechanism_options(&options));
    if (def->cookie != DEVICE_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "device: the def is not initialised; start from stet_default_device_def()");
    if ((unsigned)def->type > STET_DEVICE_HIP)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "device: there is no type %d", (int)def->type);
    if (def->threads < 0 || def->threads > 4096)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "device: %d threads; give 1 to 4096, or 0 for one a processor",
                         def->threads);
    if (def->nworld < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "device: %lld worlds; give how many there will be, or 0 for many",
                         (long long)def->nworld);
    return check_options(&def->mechanisms);
}

/* Opens a GPU with all that it needs: its driver, the device, and the run-time compiler of kernels. */
static stet_result init_gpu(stet_device *device, const stet_device_def *def, stet_device_type type)
{
    stet_device_def one = *def;
    one.type = type;
    STI_TRY(sti_gpu_device_init(device, &one));
    stet_result result = sti_gpu_find_compiler(&one);
    if (result != STET_OK) device->ops->destroy(device);
    return result == STET_ERROR_NOT_FOUND ? STET_ERROR_UNSUPPORTED : result;
}

/* Opens the best device that exists. A GPU that exists and cannot be used is worth a warning; a missing GPU is not. */
static stet_result init_best(stet_device *device, const stet_device_def *def)
{
    static const stet_device_type gpus[] = {STET_DEVICE_CUDA, STET_DEVICE_HIP};
    for (size_t i = 0; !def->isa && i < sizeof gpus / sizeof *gpus; ++i) {
        stet_result result = init_gpu(device, def, gpus[i]);
        if (result == STET_OK || result == STET_ERROR_OUT_OF_MEMORY) return result; /* out of host memory */
        sti_log(result == STET_ERROR_NOT_FOUND ? STET_LOG_INFO : STET_LOG_WARNING, "device auto: no GPU: %s",
                stet_get_last_error());
    }
    return sti_cpu_device_init(device, def);
}

static stet_result init(stet_device *device, const stet_device_def *def)
{
    switch (def->type) {
    case STET_DEVICE_AUTO: return init_best(device, def);
    case STET_DEVICE_CPU: return sti_cpu_device_init(device, def);
    case STET_DEVICE_NULL: return sti_null_device_init(device, def);
    case STET_DEVICE_CUDA:
    case STET_DEVICE_HIP: return sti_gpu_device_init(device, def);
    }
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "device: there is no type %d", (int)def->type);
}

static bool is_on(const char *variable)
{
    const char *value = sti_environment(variable);
    return value && strcmp(value, "0") != 0;
}

stet_result stet_device_create(const stet_device_def *def, stet_device **out)
{
    if (!def || !out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_device_create: def and out must not be NULL");
    *out = NULL;
    STI_TRY(check_def(def));
    stet_device *device;
    STI_TRY(sti_alloc(&device, sizeof *device, "device"));
    device->mechanisms.options = def->mechanisms;
    device->checked = def->checked || is_on("STET_CHECKED");
    device->wait_for_code = def->wait_for_code || is_on("STET_WAIT_FOR_CODE");
    atomic_init(&device->refs, 1);
    stet_result result = init(device, def);
    if (result != STET_OK) {
        sti_free(device);
        return result;
    }
    sti_ranges_begin_asked(device);
    sti_validate_device(device);
    *out = device;
    return STET_OK;
}

void stet_device_destroy(stet_device *device)
{
    if (!device) return;
    sti_validate_device(device);
    if (device->narray)
        sti_log(STET_LOG_WARNING, "device: %lld array%s not destroyed yet: it lives as long", (long long)device->narray,
                STI_S(device->narray));
    if (device->list_hooks) device->list_hooks->destroy(device);
    sti_device_release(device);
}

void sti_device_retain(stet_device *device) { atomic_fetch_add(&device->refs, 1); }

void sti_device_release(stet_device *device)
{
    assert(atomic_load(&device->refs) > 0 && "released more often than retained");
    if (atomic_fetch_sub(&device->refs, 1) > 1) return;
    sti_times_end(device);
    if (device->programs) device->drop_programs(device);
    device->ops->destroy(device);
    sti_trace_free(device->traced);
    sti_ranges_free(device);
    sti_free(device->stacks);
    sti_free(device);
}

void sti_device_watch(stet_device *device, sti_watcher *watcher)
{
    assert(watcher->gone);
    watcher->next = device->watchers;
    device->watchers = watcher;
}

void sti_device_unwatch(stet_device *device, sti_watcher *watcher)
{
    for (sti_watcher **at = &device->watchers; *at; at = &(*at)->next) {
        if (*at != watcher) continue;
        *at = watcher->next;
        return;
    }
}

void sti_device_notify_destroyed(stet_device *device, const void *thing)
{
    for (sti_watcher *w = device->watchers; w; w = w->next) w->gone(w, thing);
}

const char *stet_device_get_name(const stet_device *device) { return device ? device->name : ""; }

stet_device_type stet_device_get_type(const stet_device *device) { return device ? device->type : STET_DEVICE_AUTO; }

const char *stet_device_get_isa(const stet_device *device)
{
    if (!device) return "";
    if (device->can.compiles) return device->arch;
    return device->type == STET_DEVICE_CPU ? sti_isa_name(device->isa) : "none";
}

int stet_device_get_lanes(const stet_device *device) { return device ? device->lanes : 0; }

int stet_device_get_threads(const stet_device *device) { return device ? device->threads : 0; }

const char *stet_reuse_name(stet_reuse reuse)
{
    static const char *const names[] = {
#define NAME(id, name, sentence) name,
        STET_REUSES(NAME)
#undef NAME
    };
    return (unsigned)reuse < STET_REUSE_COUNT ? names[reuse] : "unknown";
}

const char *stet_device_get_instead(const stet_device *device, stet_reuse reuse)
{
    return device && (unsigned)reuse < STET_REUSE_COUNT ? device->ops->instead(device, reuse) : NULL;
}

stet_counters stet_device_get_counters(const stet_device *device)
{
    return device ? device->mechanisms.counters : (stet_counters){0};
}

void stet_device_clear_counters(stet_device *device)
{
    if (!device) return;
    stet_counters *c = &device->mechanisms.counters;
    int64_t held[STET_MECHANISM_COUNT]; /* held bytes are no counter */
    for (int i = 0; i < STET_MECHANISM_COUNT; ++i) held[i] = c->mechanism[i].held_bytes;
    memset(c, 0, sizeof *c);
    for (int i = 0; i < STET_MECHANISM_COUNT; ++i) c->mechanism[i].held_bytes = held[i];
}

stet_mechanism_options stet_device_get_mechanisms(const stet_device *device)
{
    return device ? device->mechanisms.options : (stet_mechanism_options){0};
}

stet_result stet_device_set_mechanisms(stet_device *device, const stet_mechanism_options *options)
{
    if (!device || !options)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_device_set_mechanisms: device and options must not be NULL");
    STI_TRY(check_options(options));
    device->mechanisms.options = *options;
    return STET_OK;
}

#ifndef NDEBUG
void sti_validate_device(const stet_device *d)
{
    assert(d->ops && d->ops->version == STI_DEVICE_OPS_VERSION);
    assert(d->lanes > 0 && (d->lanes & (d->lanes - 1)) == 0);
    assert(d->real_size == sizeof(float) || d->real_size == sizeof(double));
    assert(d->threads > 0);
    assert(d->narray >= 0 && d->array_bytes >= 0);
    assert(atomic_load(&d->refs) >= d->narray && "each array holds its device");
    assert((d->recorder != NULL) == (d->list_hooks != NULL));
    assert((d->programs != NULL) == (d->drop_programs != NULL));
    assert((!d->listing || d->recorder) && "lists have a recorder");
    assert(d->unlisted >= 0);
    sti_validate_mechanisms(&d->mechanisms);
}
#endif
