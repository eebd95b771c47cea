/* Compiling for a GPU; see compile.h. */
#include "kernel/gpu/compile.h"

#include "base/error.h"
#include "base/hash.h"
#include "kernel/compile/compiler_errors.h"

#include <stdio.h>
#include <string.h>

/* Version of how the device calls an entry (sti_code) and of the text around it. Increase it when they change. */
enum { ENTRY_VERSION = 5, MAX_OPTIONS = 16, OPTION = 64 };

/*
 * Options for the CPU's bits: no contraction, denormals kept, division and roots rounded correctly, sums of whole
 * numbers that wrap round (of which NVRTC has no option; doc/kernels.md says what that means), memory that is read as
 * another type than it was stored as (which NVRTC does not need to be told). Functions without an execution space are
 * device functions.
 */
static const char *const cuda_options[] = {
    "--std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--device-as-default-execution-space",
    NULL,
};
static const char *const hip_options[] = {
    "-std=c++17",
    "-O3",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fhip-fp32-correctly-rounded-divide-sqrt",
    "-fno-gpu-flush-denormals-to-zero",
    NULL,
};
static const char hip_before[] = "#pragma clang force_cuda_host_device begin\n";
static const char hip_after[] = "#pragma clang force_cuda_host_device end\n";

typedef struct options {
    char made[2][OPTION];
    const char *list[MAX_OPTIONS];
    int n;
} options;

static bool is_hip(const sti_gpu_program *p) { return p->rtc ? p->rtc->hip : strncmp(p->arch, "gfx", 3) == 0; }

/* Options of the code; they are the same for each version of the compiler. */
static void add_options(const sti_gpu_program *p, options *out)
{
    (void)snprintf(out->made[0], OPTION, "-DSTET_TEAM=%d", p->team.team);
    (void)snprintf(out->made[1], OPTION, "-DSTET_TEAMS=%d", p->team.teams);
    out->list[out->n++] = out->made[0];
    out->list[out->n++] = out->made[1];
    for (const char *const *o = is_hip(p) ? hip_options : cuda_options; *o; ++o) out->list[out->n++] = *o;
}

/* Options that differ between compilers. */
static void add_own_options(const sti_gpu_program *p, options *out)
{
    out->list[out->n++] = p->target->option;
    if (!p->rtc->hip && p->rtc->major >= 13) out->list[out->n++] = "--no-cache"; /* the kernel cache stores the code */
}

static void put_options(const options *o, sti_text_buffer *out)
{
    for (int i = 0; i < o->n; ++i) sti_text_buffer_format(out, " %s", o->list[i]);
}

stet_result sti_gpu_key(const sti_gpu_program *p, const sti_signature *const *kernel, int nkernel, sti_text_buffer *out)
{
    options o = {.n = 0};
    const sti_text_buffer *text = &p->source->text;
    sti_hash second;
    sti_hash_begin(&second);
    sti_hash_add(&second, "source", 6); /* another start value gives another hash */
    sti_hash_add(&second, text->data, text->size);
    add_options(p, &o);
    sti_text_buffer_format(out, "stet %s\nentry %d\narch %s\noptions", STET_VERSION_STRING, ENTRY_VERSION, p->arch);
    put_options(&o, out);
    sti_text_buffer_put(out, "\nkernels");
    for (int i = 0; i < nkernel; ++i) sti_text_buffer_format(out, " %s", kernel[i]->name);
    sti_text_buffer_format(out, "\nsource %zu %016llx%016llx\n", text->size,
                           (unsigned long long)sti_hash_bytes(text->data, text->size),
                           (unsigned long long)sti_hash_end(&second));
    return p->rtc ? sti_gpu_key_compiler(p, out) : out->result;
}

stet_result sti_gpu_key_compiler(const sti_gpu_program *p, sti_text_buffer *key)
{
    options o = {.n = 0};
    char compiler[128];
    add_own_options(p, &o);
    sti_rtc_identity(p->rtc, compiler, sizeof compiler);
    sti_text_buffer_format(key, "compiler %s\ntarget", compiler);
    put_options(&o, key);
    sti_text_buffer_put(key, "\n");
    return key->result;
}

static stet_result compile_text(const sti_gpu_program *p, const char *text, sti_text_buffer *object)
{
    options o = {.n = 0};
    sti_text_buffer said = {0};
    add_own_options(p, &o);
    add_options(p, &o);
    stet_result result = sti_rtc_compile(p->rtc, text, o.list, o.n, p->target->further, object, &said);
    if (result == STET_ERROR_PARSE || (result == STET_ERROR_IO && said.size > 1)) {
        char compiler[OPTION];
        (void)snprintf(compiler, sizeof compiler, "%s %d.%d failed", p->rtc->hip ? "hipRTC" : "NVRTC", p->rtc->major,
                       p->rtc->minor);
        result = sti_compiler_errors_report(compiler, p->source, &said);
    }
    sti_text_buffer_free(&said);
    return result;
}

stet_result sti_gpu_compile(const sti_gpu_program *p, sti_text_buffer *object)
{
    if (!p->rtc->hip) return compile_text(p, p->source->text.data, object);
    sti_text_buffer text = {0};
    sti_text_buffer_put(&text, hip_before);
    sti_text_buffer_put(&text, p->source->text.data);
    sti_text_buffer_put(&text, hip_after);
    stet_result result = text.result;
    if (result == STET_OK) result = compile_text(p, text.data, object);
    sti_text_buffer_free(&text);
    return result;
}
