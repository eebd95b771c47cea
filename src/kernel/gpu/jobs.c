/* Modules to be made; see jobs.h. */
#include "kernel/gpu/jobs.h"

#include "base/memory.h"
#include "kernel/gpu/compile.h"

#include <string.h>

static bool same_team(sti_team a, sti_team b) { return a.team == b.team && a.teams == b.teams; }

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

bool sti_module_is(const sti_module *m, const sti_module *wanted)
{
    return m->unit == wanted->unit && m->forms == wanted->forms && same_team(m->team, wanted->team) &&
           strcmp(m->only, wanted->only) == 0 && same_text(m->constants, wanted->constants);
}

/* ---- one job ----------------------------------------------------------------------------------------------------- */

stet_result sti_jobs_add(sti_jobs *jobs, const sti_maker *maker, const sti_module *wanted, sti_job **out)
{
    STI_TRY(sti_realloc(&jobs->job, (size_t)(jobs->n + 1) * sizeof *jobs->job, "modules to be made"));
    sti_job *j = &jobs->job[jobs->n];
    *j = (sti_job){.maker = maker};
    STI_TRY(sti_alloc(&j->module, sizeof *j->module, "a module"));
    *j->module = *wanted;
    j->module->constants = NULL;
    jobs->n++;
    *out = j;
    return wanted->constants ? sti_strdup(&j->module->constants, wanted->constants) : STET_OK;
}

stet_result sti_job_finish(sti_job *j, const sti_signature *const *kernel, int nkernel)
{
    if (nkernel > 0) STI_TRY(sti_gpu_finish(&j->source, kernel, nkernel, j->module->forms));
    const sti_gpu_program it = {.arch = j->maker->arch, .team = j->module->team, .source = &j->source};
    return sti_gpu_key(&it, kernel, nkernel, &j->key);
}

static stet_result compile_job(void *context, sti_text_buffer *object)
{
    const sti_job *j = context;
    const sti_maker *m = j->maker;
    return sti_gpu_compile(&(sti_gpu_program){&m->rtc, &m->target, m->arch, j->module->team, &j->source}, object);
}

sti_compile_request sti_job_request(sti_job *j)
{
    return (sti_compile_request){.key = sti_cache_key_of(j->key.data, j->key.size),
                                 .what = j->source.file[0].name,
                                 .compile = compile_job,
                                 .context = j};
}

stet_result sti_job_ask(sti_job *j, sti_compile_request *out)
{
    const sti_maker *m = j->maker;
    STI_TRY(sti_gpu_key_compiler(&(sti_gpu_program){.rtc = &m->rtc, .target = &m->target}, &j->key));
    *out = sti_job_request(j);
    return STET_OK;
}

void sti_job_free(sti_job *j)
{
    sti_user_source_free(&j->source);
    sti_text_buffer_free(&j->key);
    if (j->module) sti_free(j->module->constants);
    sti_free(j->module);
    *j = (sti_job){.maker = j->maker};
}

/* ---- the library's kernels --------------------------------------------------------------------------------------- */

/* The kernels of a unit, and the team of each. */
typedef struct unit_kernels {
    sti_signature *kernel;
    sti_team *team;
    int n;
} unit_kernels;

static stet_result read_kernels(const sti_embedded *unit, unit_kernels *out)
{
    const bool shares = sti_gpu_unit_shares(unit);
    memset(out, 0, sizeof *out);
    STI_TRY(sti_gpu_unit_kernels(unit, &out->kernel, &out->n));
    STI_TRY(sti_alloc(&out->team, (size_t)out->n * sizeof *out->team, "teams"));
    for (int i = 0; i < out->n; ++i)
        out->team[i] = sti_team_choose(unit->text, out->kernel[i].name, out->kernel[i].kind, shares);
    return STET_OK;
}

static void free_kernels(unit_kernels *u)
{
    sti_free(u->kernel);
    sti_free(u->team);
}

static stet_result no_kernels(const sti_module *wanted)
{
    return sti_error(STET_ERROR_NOT_FOUND, "%s%s: has no kernels with teams of %d x %d threads",
                     sti_gpu_unit_folder(wanted->unit), wanted->unit->name, wanted->team.team, wanted->team.teams);
}

/* The job of one module of a unit. */
static stet_result add_module(sti_jobs *jobs, const sti_maker *maker, const unit_kernels *u, const sti_module *wanted)
{
    const sti_signature **kernel;
    sti_job *j = NULL;
    int n = 0;
    STI_TRY(sti_alloc(&kernel, (size_t)u->n * sizeof(void *), "the kernels of a module"));
    for (int i = 0; i < u->n; ++i)
        if (wanted->only[0] ? strcmp(u->kernel[i].name, wanted->only) == 0 : same_team(u->team[i], wanted->team))
            kernel[n++] = &u->kernel[i];
    stet_result result = n > 0 ? sti_jobs_add(jobs, maker, wanted, &j) : no_kernels(wanted);
    if (result == STET_OK)
        result = sti_gpu_unit_read(wanted->unit, wanted->constants ? wanted->constants : "", &j->source);
    if (result == STET_OK) result = sti_job_finish(j, kernel, n);
    sti_free(kernel);
    return result;
}

stet_result sti_jobs_add_module(sti_jobs *jobs, const sti_maker *maker, const sti_module *wanted)
{
    unit_kernels u;
    stet_result result = read_kernels(wanted->unit, &u);
    if (result == STET_OK) result = add_module(jobs, maker, &u, wanted);
    free_kernels(&u);
    return result;
}

static bool is_job(const sti_jobs *jobs, const sti_module *wanted)
{
    for (int i = 0; i < jobs->n; ++i)
        if (sti_module_is(jobs->job[i].module, wanted)) return true;
    return false;
}

stet_result sti_jobs_add_unit(sti_jobs *jobs, const sti_maker *maker, const sti_embedded *unit, unsigned forms,
                              bool (*there)(const void *context, const sti_module *wanted), const void *context)
{
    unit_kernels u;
    stet_result result = read_kernels(unit, &u);
    for (int i = 0; i < u.n && result == STET_OK; ++i) {
        const sti_module wanted = {.unit = unit, .team = u.team[i], .forms = forms};
        if (!is_job(jobs, &wanted) && !(there && there(context, &wanted)))
            result = add_module(jobs, maker, &u, &wanted);
    }
    free_kernels(&u);
    return result;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

stet_result sti_jobs_add_text(sti_jobs *jobs, const sti_maker *maker, const char *name, const char *text)
{
    const sti_user_source_def def = {.text = text, .path = name, .gpu = true};
    sti_job *j;
    STI_TRY(sti_jobs_add(jobs, maker, &(sti_module){.team = {1, 1}}, &j));
    STI_TRY(sti_user_source_read(&def, &j->source));
    return sti_job_finish(j, NULL, 0);
}
