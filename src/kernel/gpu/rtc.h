/*
 * A vendor's run-time compiler (NVRTC, hipRTC) under neutral names, loaded when it is needed.
 *
 * Invariants:
 *   RTC-1  the compiler is used only if all its entry points were found. A missing one is named
 *   RTC-2  code is made for exactly the device's architecture if the compiler knows it, else for the newest older one
 *       in a form that the driver compiles further, which is logged. An architecture that the compiler no longer
 *       supports is refused
 *   RTC-3  the code depends on the text, the options and the string of sti_rtc_identity only
 */
#ifndef STI_KERNEL_GPU_RTC_H
#define STI_KERNEL_GPU_RTC_H

#include "base/shared_library.h"
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
    bool parallel; /* several threads may compile at the same time */
    int major, minor;
    int64_t bytes; /* of its files: tells two builds of one version apart */
    int narch, arch[STI_RTC_ARCHS];
} sti_rtc;

/*
 * Opens the compiler for devices of this type (CUDA, HIP): the file `given` or, if NULL, the best that is installed.
 * driver: the version of CUDA's driver, 12040 is 12.4 (0: unknown). A compiler of a later major version is used only if
 * there is no other, because the driver may be unable to load its code. STET_ERROR_NOT_FOUND: the message says what was
 * searched. STET_ERROR_UNSUPPORTED: it lacks an entry point. *out is empty then.
 */
stet_result sti_rtc_open(stet_device_type type, const char *given, int driver, sti_rtc *out);
/* Closes it. An empty one is allowed. */
void sti_rtc_close(sti_rtc *rtc);
/* "NVRTC" or "hipRTC" */
const char *sti_rtc_title(const sti_rtc *rtc);
/* "nvrtc 13.0, 109338064 bytes" */
void sti_rtc_identity(const sti_rtc *rtc, char *out, size_t size);

/* The target of a compilation. */
typedef struct sti_compile_target {
    char option[64];
    bool further; /* the driver compiles the output further */
    int sm;       /* CUDA: the architecture, such as 90; else 0 */
} sti_compile_target;
/* 90 for "sm_90"; 0 for anything else. */
int sti_rtc_arch_number(const char *arch);
/*
 * Finds the target. arch as in stet_device: "sm_90", "gfx90a". STET_ERROR_UNSUPPORTED if the compiler cannot compile
 * for it.
 */
stet_result sti_rtc_target(const sti_rtc *rtc, const char *arch, sti_compile_target *out);

/*
 * Compiles one text. Adds the code to `code` and the compiler's messages to `said`. STET_ERROR_PARSE: errors in the
 * text. STET_ERROR_IO: another failure. May be called from any thread; without rtc.parallel one waits for the other.
 */
stet_result sti_rtc_compile(const sti_rtc *rtc, const char *text, const char *const *options, int noption, bool further,
                            sti_text_buffer *code, sti_text_buffer *said);

#endif
