/*
 * A vendor's run-time compiler (NVRTC, hipRTC) under neutral names, found when it is needed.
 *
 * Invariants:
 *   RTC-1  it is used only when all its entry points were found; a missing one is named
 *   RTC-2  code is made for the very architecture where the compiler knows it, else for the newest older one in a form that the
 *       driver compiles further, and that is logged; an architecture that the compiler has given up is refused
 *   RTC-3  what a program compiles to depends on its text, its options, and what sti_rtc_identity says, on nothing else
 */
#ifndef STI_KERNEL_GPU_RTC_H
#define STI_KERNEL_GPU_RTC_H

#include "device/gpu/library.h"
#include "kernel/compile/text_buffer.h"
#include "stet/device.h"

typedef struct sti_rtc_api {
#define BOTH(name, cuda, hip, result, parameters) result(*name) parameters;
#define CUDA(name, cuda, result, parameters) result(*name) parameters;
#define HIP(name, hip, result, parameters) result(*name) parameters;
#include "kernel/gpu/rtc.inl"
} sti_rtc_api;

enum { STI_RTC_ARCHS = 64 };

typedef struct sti_rtc {
    sti_library library;
    sti_rtc_api api;
    bool hip;
    bool parallel; /* several programs may be compiled at the same time, in threads */
    int major, minor;
    int64_t bytes; /* of its files: two builds of one version differ in it */
    int narch, arch[STI_RTC_ARCHS];
} sti_rtc;

/*
 * Opens the compiler for devices of this type (CUDA, HIP): the file `given`, or the best that is installed (NULL). driver: the version of
 * CUDA's driver, 12040 is 12.4 (0: unknown); a compiler of a later major version, whose code that driver need not load, is taken only
 * where there is no other.
 * STET_NOT_FOUND: the sentence names what was looked for; STET_UNSUPPORTED: it lacks an entry point. *out is empty then.
 */
stet_result sti_rtc_open(stet_device_type type, const char *given, int driver, sti_rtc *out);
/* An empty one is fine. */
void sti_rtc_close(sti_rtc *rtc);
/* "nvrtc 13.0, 109338064 bytes" */
void sti_rtc_identity(const sti_rtc *rtc, char *out, size_t size);

/* What to compile for. */
typedef struct sti_compile_target {
    char option[64];
    bool further; /* what comes out is compiled further by the driver */
    int sm;       /* of CUDA the architecture: 90; else 0 */
} sti_compile_target;
/* arch as in stet_device: "sm_90", "gfx90a". STET_UNSUPPORTED where the compiler has no way to it. */
stet_result sti_rtc_target(const sti_rtc *rtc, const char *arch, sti_compile_target *out);

/*
 * Compiles one text; the code is added to `code`, what the compiler had to say to `said`. STET_PARSE: it is about the text.
 * STET_IO: it failed otherwise. From any thread if rtc.parallel.
 */
stet_result sti_rtc_compile(const sti_rtc *rtc, const char *text, const char *const *options, int noption, bool further,
                            sti_text_buffer *code, sti_text_buffer *said);

#endif
