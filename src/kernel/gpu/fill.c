/* Compiling code before it is needed; see shipped.h. */
#include "kernel/compile/compiled.h"
#include "kernel/gpu/jobs.h"
#include "kernel/gpu/shipped.h"

#include "base/memory.h"
#include "device/graph.h"

#include <string.h>

static bool is_amd(const char *arch) { return strncmp(arch, "gfx", 3) == 0; }

static stet_result check_arch(const char *arch)
{
    if (sti_rtc_arch_number(arch) > 0 || is_amd(arch)) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "%s: is no architecture of a GPU; give sm_ and a number, such as sm_90, or one of AMD's, such as "
                     "gfx90a",
                     arch);
}

/* The compiler, for code of the very architecture: what a driver would have to compile further is not worth keeping. */
static stet_result open_maker(const sti_fill_def *def, sti_maker *m)
{
    STI_TRY(sti_rtc_open(is_amd(def->arch) ? STET_DEVICE_HIP : STET_DEVICE_CUDA, def->compiler, 0, &m->rtc));
    STI_TRY(sti_rtc_target(&m->rtc, def->arch, &m->target));
    if (!m->target.further) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED, "%s %d.%d (%s): does not know %s; the newest that it knows is sm_%d",
                     sti_rtc_title(&m->rtc), m->rtc.major, m->rtc.minor, m->rtc.library.file, def->arch,
                     m->rtc.arch[m->rtc.narch - 1]);
}

static stet_result add_jobs(const sti_fill_def *def, const sti_maker *m, sti_jobs *jobs)
{
    stet_result result = STET_OK;
    for (const sti_embedded *u = sti_gpu_unit_first(def->sources); u && result == STET_OK; u = sti_gpu_unit_next(u))
        if (sti_gpu_unit_ships(u)) result = sti_jobs_add_unit(jobs, m, u, 1u << STI_FORM_VALUE, NULL, NULL);
    if (result == STET_OK && !is_amd(def->arch))
        result = sti_jobs_add_text(jobs, m, "a loop's condition", sti_graph_condition_source);
    return result;
}

static void free_jobs(sti_jobs *jobs)
{
    for (int i = 0; i < jobs->n; ++i) sti_job_free(&jobs->job[i]);
    sti_free(jobs->job);
}

static stet_result compile_jobs(stet_device *host, const sti_fill_def *def, const sti_maker *m, const sti_jobs *jobs)
{
    const sti_cache_options keeping = {
        .folder = def->folder, .limit = def->shipped ? INT64_MAX : 0, .parallel = m->rtc.parallel};
    sti_compile_request *wanted;
    stet_result result = STET_OK;
    STI_TRY(sti_alloc(&wanted, (size_t)jobs->n * sizeof *wanted, "code to be compiled"));
    for (int i = 0; i < jobs->n && result == STET_OK; ++i) {
        if (def->shipped)
            wanted[i] = sti_job_request(&jobs->job[i]);
        else
            result = sti_job_ask(&jobs->job[i], &wanted[i]);
    }
    if (result == STET_OK) result = sti_cached_compile(host, &keeping, wanted, jobs->n);
    for (int i = 0; i < jobs->n; ++i) sti_text_buffer_free(&wanted[i].object);
    sti_free(wanted);
    return result;
}

static stet_result check_folder(const char *folder)
{
    sti_cache cache;
    stet_result result = sti_cache_open(folder, 0, false, &cache);
    sti_cache_close(&cache);
    return result;
}

static stet_result begin_fill(const sti_fill_def *def, sti_maker *m)
{
    STI_TRY(check_arch(def->arch));
    STI_TRY(check_folder(def->folder));
    return open_maker(def, m);
}

stet_result sti_fill_check(const sti_fill_def *def)
{
    sti_maker m = {.arch = def->arch};
    stet_result result = begin_fill(def, &m);
    sti_rtc_close(&m.rtc);
    return result;
}

stet_result sti_fill(stet_device *host, const sti_fill_def *def)
{
    sti_maker m = {.arch = def->arch};
    sti_jobs jobs = {0};
    stet_result result = begin_fill(def, &m);
    if (result == STET_OK) result = add_jobs(def, &m, &jobs);
    if (result == STET_OK) result = compile_jobs(host, def, &m, &jobs);
    free_jobs(&jobs);
    sti_rtc_close(&m.rtc);
    return result;
}

stet_result sti_fill_count(const sti_fill_def *def, int *there, int *asked)
{
    const sti_maker m = {.arch = def->arch};
    sti_jobs jobs = {0};
    *there = *asked = 0;
    stet_result result = add_jobs(def, &m, &jobs);
    for (int i = 0; i < jobs.n && result == STET_OK; ++i) {
        sti_text_buffer object = {0};
        sti_verdict verdict;
        const sti_compile_request it = sti_job_request(&jobs.job[i]);
        result = sti_compiled_shipped(def->folder, &it.key, &object, &verdict);
        *there += verdict == STI_FOUND;
        sti_text_buffer_free(&object);
    }
    *asked = jobs.n;
    free_jobs(&jobs);
    return result;
}
