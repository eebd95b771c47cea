/* Run-time compilers; see rtc.h. */
#include "kernel/gpu/rtc.h"

#include "base/error.h"
#include "base/memory.h"
#include "device/gpu/driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Both vendors' code for "the program does not compile". Other codes are not errors of the text. */
enum { COMPILATION = 6 };

/* ---- finding it -------------------------------------------------------------------------------------------------- */

const char *sti_rtc_title(const sti_rtc *rtc) { return rtc->hip ? "hipRTC" : "NVRTC"; }

/* Fills the table. Names of missing symbols are added to `missing`. */
static void fill_rtc(sti_rtc *rtc, sti_text_buffer *missing)
{
    void *symbol;
#define FILL(name, symbol_name)                                                                                        \
    symbol = sti_library_symbol(&rtc->library, symbol_name);                                                           \
    memcpy(&rtc->api.name, &symbol, sizeof symbol);                                                                    \
    if (!symbol) sti_text_buffer_format(missing, "%s%s", missing->size ? ", " : "", symbol_name);
#define BOTH(name, cuda, hip_name, result, parameters) FILL(name, rtc->hip ? #hip_name : #cuda)
#define CUDA(name, cuda, result, parameters)                                                                           \
    if (!rtc->hip) {                                                                                                   \
        FILL(name, #cuda)                                                                                              \
    }
#define HIP(name, hip_name, result, parameters)                                                                        \
    if (rtc->hip) {                                                                                                    \
        FILL(name, #hip_name)                                                                                          \
    }
#include "kernel/gpu/rtc.inl"
#undef FILL
}

static int64_t file_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (int64_t)status.st_size : 0;
}

/*
 * The size of the library in hipRTC's folder that does the compilation. It is not opened: it is large, and a start with
 * a full cache does not need it.
 */
static int64_t worker_bytes(const sti_rtc *rtc)
{
    static const char *const names[] = {"libamd_comgr.so.3", "libamd_comgr.so.2"};
    const char *slash = strrchr(rtc->library.file, '/');
    int folder = slash ? (int)(slash - rtc->library.file) + 1 : 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && bytes == 0; ++i) {
        char path[sizeof rtc->library.file + 32];
        (void)snprintf(path, sizeof path, "%.*s%s", folder, rtc->library.file, names[i]);
        bytes = file_bytes(path);
    }
    return bytes;
}

/* Asks for version and architectures. */
static stet_result query_compiler(sti_rtc *rtc)
{
    int result = rtc->api.version(&rtc->major, &rtc->minor);
    if (result == 0 && !rtc->hip) result = rtc->api.arch_count(&rtc->narch);
    if (result == 0 && rtc->narch > STI_RTC_ARCHS)
        return sti_error(STET_ERROR_UNSUPPORTED, "%s (%s): knows %d architectures; at most %d are expected",
                         sti_rtc_title(rtc), rtc->library.file, rtc->narch, STI_RTC_ARCHS);
    if (result == 0 && !rtc->hip) result = rtc->api.arch_list(rtc->arch);
    if (result != 0)
        return sti_error(STET_ERROR_UNSUPPORTED, "%s (%s): does not say what it is: %s", sti_rtc_title(rtc),
                         rtc->library.file, rtc->api.error_text(result));
    rtc->bytes = file_bytes(rtc->library.file) + (rtc->hip ? worker_bytes(rtc) : 0);
    return STET_OK;
}

enum { MAX_NAMES = 32 };

/* The major version in a name, such as 12 of "libnvrtc.so.12"; 0: none. */
static int major_of(const char *name)
{
    const char *dot = strstr(name, ".so.");
    return dot ? (int)strtol(dot + 4, NULL, 10) : 0;
}

/* NVRTC's names in their order, but those beyond the driver's major version last. */
static sti_library_names names_for(int driver, const char *sorted[MAX_NAMES + 1])
{
    sti_library_names names = sti_cuda_compiler;
    int n = 0, major = driver / 1000;
    for (int later = 0; later < 2; ++later)
        for (const char *const *name = names.names; *name && n < MAX_NAMES; ++name)
            if ((major > 0 && major_of(*name) > major) == later) sorted[n++] = *name;
    sorted[n] = NULL;
    names.names = sorted;
    return names;
}

static stet_result open_library(sti_rtc *rtc, const char *given, int driver)
{
    const char *sorted[MAX_NAMES + 1];
    if (rtc->hip) return sti_library_open(&sti_hip_compiler, given, &rtc->library);
    const sti_library_names names = names_for(driver, sorted);
    return sti_library_open(&names, given, &rtc->library);
}

stet_result sti_rtc_open(stet_device_type type, const char *given, int driver, sti_rtc *out)
{
    memset(out, 0, sizeof *out);
    out->hip = type == STET_DEVICE_HIP;
    out->parallel = !out->hip; /* NVRTC guarantees it */
    STI_TRY(open_library(out, given, driver));
    sti_text_buffer missing = {0};
    fill_rtc(out, &missing);
    stet_result result = missing.result;
    if (result == STET_OK && missing.size > 0)
        result = sti_error(STET_ERROR_UNSUPPORTED, "%s (%s): has no %s; install a newer one", sti_rtc_title(out),
                           out->library.file, missing.data);
    if (result == STET_OK) result = query_compiler(out);
    if (result == STET_OK && !out->hip && driver > 0 && out->major > driver / 1000)
        sti_log(STET_LOG_INFO,
                "NVRTC %d.%d (%s) is newer than the driver, which knows CUDA %d.%d and may refuse its code", out->major,
                out->minor, out->library.file, driver / 1000, driver % 1000 / 10);
    sti_text_buffer_free(&missing);
    if (result != STET_OK) sti_rtc_close(out);
    return result;
}

void sti_rtc_close(sti_rtc *rtc)
{
    sti_library_close(&rtc->library);
    memset(rtc, 0, sizeof *rtc);
}

void sti_rtc_identity(const sti_rtc *rtc, char *out, size_t size)
{
    (void)snprintf(out, size, "%s %d.%d, %lld bytes", rtc->hip ? "hiprtc" : "nvrtc", rtc->major, rtc->minor,
                   (long long)rtc->bytes);
}

/* ---- what for ---------------------------------------------------------------------------------------------------- */

int sti_rtc_arch_number(const char *arch)
{
    char *end = NULL;
    long n = strncmp(arch, "sm_", 3) == 0 ? strtol(arch + 3, &end, 10) : 0;
    return n > 0 && n < 10000 && end && *end == 0 ? (int)n : 0;
}

stet_result sti_rtc_target(const sti_rtc *rtc, const char *arch, sti_compile_target *out)
{
    memset(out, 0, sizeof *out);
    if (rtc->hip) {
        (void)snprintf(out->option, sizeof out->option, "--offload-arch=%s", arch);
        return STET_OK;
    }
    int wanted = sti_rtc_arch_number(arch), newest = 0;
    for (int i = 0; i < rtc->narch; ++i)
        if (rtc->arch[i] <= wanted && rtc->arch[i] > newest) newest = rtc->arch[i];
    if (newest == 0)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "NVRTC %d.%d (%s): does not compile for %s; install the NVRTC of a release of CUDA that does",
                         rtc->major, rtc->minor, rtc->library.file, arch);
    out->further = newest != wanted;
    out->sm = newest;
    (void)snprintf(out->option, sizeof out->option, "--gpu-architecture=%s_%d", out->further ? "compute" : "sm",
                   newest);
    if (out->further)
        sti_log(STET_LOG_INFO,
                "NVRTC %d.%d does not know %s: kernels are compiled for compute_%d, and by the driver from there",
                rtc->major, rtc->minor, arch, newest);
    return STET_OK;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

typedef int size_entry(void *program, size_t *size);
typedef int bytes_entry(void *program, char *bytes);

/* Adds one of a program's outputs (its log, its code) to `out`. */
static stet_result fetch(const sti_rtc *rtc, void *program, size_entry *get_size, bytes_entry *get,
                         sti_text_buffer *out)
{
    size_t size = 0;
    int result = get_size(program, &size);
    if (result == 0 && size > 0) {
        char *bytes;
        STI_TRY(sti_alloc(&bytes, size, "compiled code"));
        result = get(program, bytes);
        if (result == 0) sti_text_buffer_add(out, bytes, size);
        sti_free(bytes);
    }
    if (result != 0) return sti_error(STET_ERROR_IO, "%s: %s", sti_rtc_title(rtc), rtc->api.error_text(result));
    return out->result;
}

static stet_result compile(const sti_rtc *rtc, void *program, const char *const *options, int noption, bool further,
                           sti_text_buffer *code, sti_text_buffer *said)
{
    int result = rtc->api.compile(program, noption, options);
    STI_TRY(fetch(rtc, program, rtc->api.log_size, rtc->api.log, said));
    if (result == COMPILATION)
        return sti_error(STET_ERROR_PARSE, "%s: the program does not compile", sti_rtc_title(rtc));
    if (result != 0) return sti_error(STET_ERROR_IO, "%s: %s", sti_rtc_title(rtc), rtc->api.error_text(result));
    if (further) return fetch(rtc, program, rtc->api.ptx_size, rtc->api.ptx, code);
    return fetch(rtc, program, rtc->api.code_size, rtc->api.code, code);
}

static stet_result compile_text(const sti_rtc *rtc, const char *text, const char *const *options, int noption,
                                bool further, sti_text_buffer *code, sti_text_buffer *said)
{
    void *program = NULL;
    int result = rtc->api.create(&program, text, "kernel.cu", 0, NULL, NULL);
    if (result != 0) return sti_error(STET_ERROR_IO, "%s: %s", sti_rtc_title(rtc), rtc->api.error_text(result));
    stet_result compiled = compile(rtc, program, options, noption, further, code, said);
    (void)rtc->api.destroy(&program);
    return compiled;
}

stet_result sti_rtc_compile(const sti_rtc *rtc, const char *text, const char *const *options, int noption, bool further,
                            sti_text_buffer *code, sti_text_buffer *said)
{
    static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
    if (!rtc->parallel) (void)pthread_mutex_lock(&alone);
    stet_result result = compile_text(rtc, text, options, noption, further, code, said);
    if (!rtc->parallel) (void)pthread_mutex_unlock(&alone);
    return result;
}
