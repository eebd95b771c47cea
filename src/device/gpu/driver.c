/* Opens a driver and queries its devices; see driver.h. */
#include "device/gpu/driver.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static_assert(sizeof(void *) == 8 && sizeof(int) == 4 && sizeof(size_t) == 8, "what both drivers mean by these");

typedef struct entry {
    const char *name, *symbol[2]; /* CUDA's, HIP's; NULL: the vendor has none */
    bool required;
    size_t offset; /* offset of the pointer in sti_gpu_api */
} entry;

#define REQUIRED true
#define OPTIONAL false
#define BOTH(need, name, cuda, hip, result, parameters) {#name, {#cuda, #hip}, need, offsetof(sti_gpu_api, name)},
#define CUDA(need, name, cuda, result, parameters) {#name, {#cuda, NULL}, need, offsetof(sti_gpu_api, name)},
#define HIP(need, name, hip, result, parameters) {#name, {NULL, #hip}, need, offsetof(sti_gpu_api, name)},
static const entry entries[] = {
#include "device/gpu/entries.inl"
};
#undef REQUIRED
#undef OPTIONAL

enum { ENTRIES = sizeof entries / sizeof *entries };

/* Returns the vendor's symbol; NULL: the vendor has none. */
static const char *symbol_of(const sti_gpu_driver *d, const entry *e)
{
    return e->symbol[d->vendor->type == STET_DEVICE_HIP];
}

static void note_missing(char *missing, size_t size, const char *symbol)
{
    size_t used = strlen(missing);
    (void)snprintf(missing + used, size - used, "%s%s", used ? ", " : "", symbol);
}

/* Fills the table; the message names every required symbol that is missing. */
static stet_result fill_driver(sti_gpu_driver *d)
{
    char missing[600] = "";
    for (size_t i = 0; i < ENTRIES; ++i) {
        const char *symbol = symbol_of(d, &entries[i]);
        void *address = symbol ? sti_library_symbol(&d->library, symbol) : NULL;
        memcpy((char *)&d->api + entries[i].offset, &address, sizeof address);
        if (symbol && !address && entries[i].required) note_missing(missing, sizeof missing, symbol);
    }
    if (!missing[0]) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED, "%s: %s lacks %s; install a newer driver", d->vendor->driver->what,
                     d->library.file, missing);
}

stet_result sti_gpu_driver_needs(const sti_gpu_driver *d, const char *const *names, const char *what)
{
    char missing[600] = "";
    for (; *names; ++names)
        for (size_t i = 0; i < ENTRIES; ++i) {
            const char *symbol = symbol_of(d, &entries[i]);
            void *address;
            memcpy(&address, (const char *)&d->api + entries[i].offset, sizeof address);
            if (symbol && !address && strcmp(entries[i].name, *names) == 0)
                note_missing(missing, sizeof missing, symbol);
        }
    if (!missing[0]) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED, "%s: %s need %s, which %s (%s) lacks; install a newer driver",
                     d->vendor->driver->what, what, missing, d->library.file, d->version_text);
}

stet_result sti_gpu_call_failed(const sti_gpu_driver *d, int code, const char *where, const char *call)
{
    const char *name = NULL, *text = NULL;
    d->vendor->error_text(d, code, &name, &text);
    stet_result result = code == STI_GPU_OUT_OF_MEMORY   ? STET_ERROR_OUT_OF_MEMORY
                         : code == STI_GPU_NOT_FOUND     ? STET_ERROR_NOT_FOUND
                         : code == STI_GPU_NOT_SUPPORTED ? STET_ERROR_UNSUPPORTED
                                                         : STET_ERROR_DEVICE;
    return sti_error(result, "%s: %s failed: %s (%d), %s", where, call, name ? name : "an error without a name", code,
                     text ? text : "of which the driver says nothing");
}

static stet_result check_driver(const sti_gpu_driver *d, int code, const char *call)
{
    return code == STI_GPU_OK ? STET_OK : sti_gpu_call_failed(d, code, d->vendor->driver->what, call);
}

static stet_result check_version(sti_gpu_driver *d)
{
    char least[32];
    STI_TRY(check_driver(d, d->api.driver_version(&d->version), "driver_version"));
    d->vendor->version_text(d->version, d->version_text, sizeof d->version_text);
    if (d->version >= d->vendor->least) return STET_OK;
    d->vendor->version_text(d->vendor->least, least, sizeof least);
    return sti_error(STET_ERROR_UNSUPPORTED, "%s: %s is of version %s, and %s is needed; install a newer driver",
                     d->vendor->driver->what, d->library.file, d->version_text, least);
}

static stet_result no_device(const sti_gpu_driver *d)
{
    return sti_error(STET_ERROR_NOT_FOUND, "%s: %s is there (%s), but it sees no device", d->vendor->driver->what,
                     d->library.file, d->version_text);
}

/* A driver without devices may count none, or return an error. */
static stet_result start_driver(sti_gpu_driver *d)
{
    int code = d->api.init(0);
    if (code == STI_GPU_OK) code = d->api.device_count(&d->ndevice);
    bool none = code == STI_GPU_NO_DEVICE || code == STI_GPU_INVALID_DEVICE || (code == STI_GPU_OK && d->ndevice == 0);
    if (none) return no_device(d);
    return check_driver(d, code, "init");
}

stet_result sti_gpu_driver_open(const sti_gpu_vendor *vendor, const char *given, sti_gpu_driver *out)
{
    memset(out, 0, sizeof *out);
    out->vendor = vendor;
    STI_TRY(sti_library_open(vendor->driver, given, &out->library));
    stet_result result = fill_driver(out);
    if (result == STET_OK) result = check_version(out);
    if (result != STET_OK) {
        sti_library_close(&out->library); /* no driver call was made yet */
        return result;
    }
    return start_driver(out);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

stet_result sti_gpu_facts_of(const sti_gpu_driver *d, int index, sti_gpu_facts *out)
{
    memset(out, 0, sizeof *out);
    if (index < 0 || index >= d->ndevice)
        return sti_error(STET_ERROR_NOT_FOUND, "%s: there is no device %d; the driver sees %d, counted from 0",
                         d->vendor->name, index, d->ndevice);
    STI_TRY(check_driver(d, d->api.device_get(&out->ordinal, index), "device_get"));
    STI_TRY(check_driver(d, d->api.device_name(out->name, (int)sizeof out->name, out->ordinal), "device_name"));
    out->name[sizeof out->name - 1] = 0;
    STI_TRY(check_driver(d, d->api.device_memory(&out->memory, out->ordinal), "device_memory"));
    for (int f = 0; f < STI_GPU_FACT_COUNT; ++f)
        if (d->vendor->fact[f] >= 0)
            STI_TRY(check_driver(d, d->api.device_attribute(&out->fact[f], d->vendor->fact[f], out->ordinal),
                                 "device_attribute"));
    return d->vendor->arch(d, out->ordinal, out->fact, out->arch, sizeof out->arch);
}
