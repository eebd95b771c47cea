/*
 * The double's run-time compiler: hands a kernel's source to the system's C++ compiler, behind the prelude, and takes
 * the shared object that comes out for the code.
 *
 * Invariants:
 *   DOUBLE-RTC-1  an option that the real compiler does not know is refused; without the options that forbid it,
 *   multiply-adds are contracted DOUBLE-RTC-2  what the compiler says names the files as the program named them, in the
 *   real compiler's manner DOUBLE-RTC-3  an entry point that is named as a function of the host's is called all the
 *   same (-Bsymbolic) DOUBLE-RTC-4  compiling holds no lock: several threads may compile at the same time
 */
#define _GNU_SOURCE
#include "memory.h"
#include "module.h"
#include "source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOTH_TO(name, symbol, result, parameters)                                                                      \
    __attribute__((visibility("default"))) result rtc_##name parameters __asm__(#symbol);
#if DD_HIP
#define BOTH(name, cuda, hip, result, parameters) BOTH_TO(name, hip, result, parameters)
#define CUDA(name, cuda, result, parameters)
#define HIP(name, hip, result, parameters) BOTH_TO(name, hip, result, parameters)
#else
#define BOTH(name, cuda, hip, result, parameters) BOTH_TO(name, cuda, result, parameters)
#define CUDA(name, cuda, result, parameters) BOTH_TO(name, cuda, result, parameters)
#define HIP(name, hip, result, parameters)
#endif
#include "kernel/gpu/rtc.inl"

enum { RTC_OK, RTC_OUT_OF_MEMORY, RTC_CREATION, RTC_INPUT, RTC_PROGRAM, RTC_OPTION, RTC_COMPILATION, RTC_CODES };

#define MAGIC 0x70726f6772616d21u

typedef struct program {
    uint64_t magic; /* a program that was destroyed has none */
    dd_source source;
    dd_text log, code;
    bool further; /* code for a driver to compile on: no architecture's own */
    char *text;   /* the source, for `hold` */
} program;

static bool is_program(const program *p) { return p && p->magic == MAGIC; }

static int enter(const char *entry)
{
    dd_lock();
    int result = dd_enter_compiler(entry);
    dd_unlock();
    return result;
}
#define ENTER(name)                                                                                                    \
    do {                                                                                                               \
        int enter_result = enter("rtc_" #name);                                                                        \
        if (enter_result) return enter_result;                                                                         \
    } while (0)

int rtc_version(int *major, int *minor)
{
    ENTER(version);
    int version = DD_HIP ? dd.config.hip_version / 10000000 * 100 + dd.config.hip_version / 100000 % 100
                         : dd.config.nvrtc_version;
    *major = version / 100;
    *minor = DD_HIP ? version % 100 : version % 100 / 10;
    return RTC_OK;
}

const char *rtc_error_text(int result)
{
    static const char *const names[RTC_CODES] = {"SUCCESS",
                                                 "ERROR_OUT_OF_MEMORY",
                                                 "ERROR_PROGRAM_CREATION_FAILURE",
                                                 "ERROR_INVALID_INPUT",
                                                 "ERROR_INVALID_PROGRAM",
                                                 "ERROR_INVALID_OPTION",
                                                 "ERROR_COMPILATION"};
    return result >= 0 && result < RTC_CODES ? names[result] : "ERROR_INTERNAL";
}

static void count(int by)
{
    dd_lock();
    dd.alive.programs += by;
    dd_unlock();
}

int rtc_create(void **out, const char *source, const char *name, int nheader, const char *const *headers,
               const char *const *names)
{
    ENTER(create);
    *out = NULL;
    if (!source || nheader < 0) return RTC_INPUT;
    program *p = calloc(1, sizeof *p);
    if (!p) return RTC_OUT_OF_MEMORY;
    p->magic = MAGIC;
    p->text = strdup(source);
    if (!dd_source_make(&p->source, source, name ? name : "default_program", nheader, headers, names)) {
        dd_source_drop(&p->source);
        free(p->text);
        free(p);
        return RTC_CREATION;
    }
    count(1);
    *out = p;
    return RTC_OK;
}

int rtc_destroy(void **out)
{
    ENTER(destroy);
    program *p = *out;
    if (!is_program(p)) return RTC_PROGRAM;
    dd_source_drop(&p->source);
    free(p->log.text);
    free(p->code.text);
    free(p->text);
    p->magic = 0;
    free(p);
    *out = NULL;
    count(-1);
    return RTC_OK;
}

/* ---- options (DOUBLE-RTC-1) -------------------------------------------------------------------------------------- */

typedef struct options {
    char arch[32];
    bool contract;
    bool further;
} options;

static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static bool known(const char *option)
{
    static const char *const others[] = {"--ftz=false",
                                         "-ftz=false",
                                         "--prec-div=true",
                                         "-prec-div=true",
                                         "--prec-sqrt=true",
                                         "-prec-sqrt=true",
                                         "-lineinfo",
                                         "--generate-line-info",
                                         "-default-device",
                                         "--device-as-default-execution-space",
                                         "--no-display-error-number",
                                         "--no-cache",
                                         "--no-cache",
                                         "--disable-warnings",
                                         "-w"};
    if (starts(option, "-D") || starts(option, "-I") || starts(option, "-std=c++") || starts(option, "--std=c++"))
        return true;
    if (DD_HIP)
        return starts(option, "-f") || starts(option, "-O") || starts(option, "-W") || strcmp(option, "-w") == 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        if (strcmp(option, others[i]) == 0) return true;
    return starts(option, "--diag-") || starts(option, "-diag-");
}

static bool take_option(const char *option, options *out)
{
    const char *value = strchr(option, '=');
    bool arch =
        DD_HIP ? starts(option, "--offload-arch=") : starts(option, "--gpu-architecture=") || starts(option, "-arch=");
    if (arch && value) {
        snprintf(out->arch, sizeof out->arch, "%s", value + 1);
        out->further = starts(out->arch, "compute_");
        return true;
    }
    if (!DD_HIP && value && (starts(option, "--fmad=") || starts(option, "-fmad="))) {
        out->contract = strcmp(value, "=true") == 0;
        return true;
    }
    if (DD_HIP && starts(option, "-ffp-contract=")) {
        out->contract = strcmp(value, "=off") != 0;
        return true;
    }
    return known(option);
}

static const int architectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

static bool arch_is_known(const char *arch)
{
    int number = 0;
    if (DD_HIP) return starts(arch, "gfx");
    if (sscanf(arch, "sm_%d", &number) != 1 && sscanf(arch, "compute_%d", &number) != 1) return false;
    for (int i = 0; i < ARCHITECTURES; ++i)
        if (architectures[i] == number) return true;
    return false;
}

/* ---- holding ----------------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char with[64], without[64];
} held = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void dd_hold_compiler(const char *with, const char *without)
{
    pthread_mutex_lock(&held.lock);
    snprintf(held.with, sizeof held.with, "%s", with ? with : "");
    snprintf(held.without, sizeof held.without, "%s", without ? without : "");
    pthread_cond_broadcast(&held.changed);
    pthread_mutex_unlock(&held.lock);
}

/* Says by a file, if STET_DOUBLE_HELD names one, that a program is held. */
static void say_held(void)
{
    const char *path = getenv("STET_DOUBLE_HELD");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) fclose(f);
}

static bool is_held(const program *p)
{
    return p->text && held.with[0] && strstr(p->text, held.with) &&
           (!held.without[0] || !strstr(p->text, held.without));
}

static void wait_while_held(const program *p)
{
    pthread_mutex_lock(&held.lock);
    if (is_held(p)) say_held();
    while (is_held(p)) pthread_cond_wait(&held.changed, &held.lock);
    pthread_mutex_unlock(&held.lock);
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static bool takes_fma(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

int rtc_compile(void *handle, int noption, const char *const *option)
{
    ENTER(compile);
    program *p = handle;
    if (!is_program(p)) return RTC_PROGRAM;
    wait_while_held(p);
    options o = {.contract = true};
    /* With -fipa-cp code for one stage of physics is rid of the others before it is optimised. */
    const char *arguments[128] = {"c++",   "-x",  "c++",      "-std=c++17", "-shared", "-Wl,-Bsymbolic",
                                  "-fPIC", "-O1", "-fipa-cp", "-w"};
    int n = 10;
    snprintf(o.arch, sizeof o.arch, "%s", DD_HIP ? dd.config.gfx : "compute_75");
    o.further = !DD_HIP;
    for (int i = 0; i < noption; ++i) {
        if (!take_option(option[i], &o)) {
            dd_text_say(&p->log, "error: unrecognized option %s found\n", option[i]);
            return RTC_OPTION;
        }
        if ((starts(option[i], "-D") || starts(option[i], "-I")) && n < 100) arguments[n++] = option[i];
    }
    if (!arch_is_known(o.arch)) {
        dd_text_say(&p->log, "error: invalid value for the architecture: %s\n", o.arch);
        return RTC_OPTION;
    }
    arguments[n++] = o.contract ? "-ffp-contract=fast" : "-ffp-contract=off";
    arguments[n++] = "-fno-math-errno";
    arguments[n++] = "-fno-strict-aliasing";
    arguments[n++] = "-fwrapv";
    arguments[n++] = DD_HIP ? "-D__HIPCC_RTC__=1" : "-D__CUDACC_RTC__=1";
    arguments[n++] = "-DDOUBLE_KERNEL=1";
    if (takes_fma()) {
        arguments[n++] = "-mfma";
        arguments[n++] = "-mavx2";
    }
    arguments[n++] = "-include";
    arguments[n++] = DOUBLE_PRELUDE;
    arguments[n] = NULL;
    p->further = o.further;
    return dd_source_compile(&p->source, arguments, o.arch, !DD_HIP, &p->log, &p->code) ? RTC_OK : RTC_COMPILATION;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

/* The log ends with a zero, which its size counts. */
int rtc_log_size(void *handle, size_t *size)
{
    ENTER(log_size);
    const program *p = handle;
    if (!is_program(p)) return RTC_PROGRAM;
    *size = p->log.size + 1;
    return RTC_OK;
}

int rtc_log(void *handle, char *log)
{
    ENTER(log);
    const program *p = handle;
    if (!is_program(p)) return RTC_PROGRAM;
    if (p->log.size > 0) memcpy(log, p->log.text, p->log.size);
    log[p->log.size] = 0;
    return RTC_OK;
}

static int size_of(const program *p, bool there, size_t *size)
{
    if (!is_program(p) || !p->code.text) return RTC_PROGRAM;
    *size = there ? p->code.size : 0;
    return RTC_OK;
}

static int bytes_of(const program *p, bool there, char *bytes)
{
    if (!is_program(p) || !p->code.text) return RTC_PROGRAM;
    if (there) memcpy(bytes, p->code.text, p->code.size);
    return RTC_OK;
}

int rtc_code_size(void *handle, size_t *size)
{
    ENTER(code_size);
    const program *p = handle;
    return size_of(p, is_program(p) && !p->further, size);
}

int rtc_code(void *handle, char *code)
{
    ENTER(code);
    const program *p = handle;
    return bytes_of(p, is_program(p) && !p->further, code);
}

#if !DD_HIP
int rtc_ptx_size(void *handle, size_t *size)
{
    ENTER(ptx_size);
    return size_of(handle, true, size);
}

int rtc_ptx(void *handle, char *ptx)
{
    ENTER(ptx);
    return bytes_of(handle, true, ptx);
}

int rtc_arch_count(int *n)
{
    ENTER(arch_count);
    *n = ARCHITECTURES;
    return RTC_OK;
}

int rtc_arch_list(int *archs)
{
    ENTER(arch_list);
    memcpy(archs, architectures, sizeof architectures);
    return RTC_OK;
}
#endif
