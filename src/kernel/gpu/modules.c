/* Modules of a GPU; see modules.h. */
#include "kernel/gpu/modules.h"

#include "kernel/gpu/compile.h"

#include <stdio.h>
#include <string.h>

/* A module that is being made. */
typedef struct job {
    sti_modules *modules;
    sti_module *module;
    sti_user_source source;
    sti_text_buffer key;
} job;

typedef struct jobs {
    job *job;
    int n;
} jobs;

void sti_modules_init(sti_modules *m, stet_device *device) { *m = (sti_modules){.device = device}; }

void sti_module_unload(const sti_modules *modules, sti_module *m)
{
    stet_device *device = modules->device;
    if (m->handle) {
        device->ops->unload(device, m->handle);
        sti_count_held(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, -(int64_t)m->size);
    }
    sti_free(m->constants);
    sti_free(m);
}

void sti_modules_close(sti_modules *m)
{
    for (int i = 0; i < m->nmodule; ++i) sti_module_unload(m, m->module[i]);
    sti_free(m->module);
    sti_rtc_close(&m->rtc);
    m->nmodule = 0;
}

/*
 * The compiler, opened when the first module is needed: also a start that finds all in the cache asks for its version.
 */
static stet_result open_compiler(sti_modules *p)
{
    if (p->rtc.library.handle) return STET_OK;
    stet_result result = sti_rtc_open(p->device->type, p->device->compiler_library, p->device->driver_version, &p->rtc);
    if (result == STET_OK) result = sti_rtc_target(&p->rtc, p->device->arch, &p->target);
    if (result == STET_OK) return STET_OK;
    sti_rtc_close(&p->rtc);
    return sti_error_prefix(result, "%s needs a compiler for its kernels", p->device->name);
}

/* ---- making modules ---------------------------------------------------------------------------------------------- */

static stet_result compile_job(void *context, sti_text_buffer *object)
{
    const job *j = context;
    const sti_modules *p = j->modules;
    return sti_gpu_compile(&(sti_gpu_program){&p->rtc, &p->target, p->device->arch, j->module->team, &j->source},
                           object);
}

/* The source is read: its entries, if it has kernels of the language, and its key. */
static stet_result finish_job(job *j, const sti_signature *const *kernel, int nkernel)
{
    const sti_modules *p = j->modules;
    if (nkernel > 0) STI_TRY(sti_gpu_finish(&j->source, kernel, nkernel, j->module->forms));
    const sti_gpu_program it = {&p->rtc, &p->target, p->device->arch, j->module->team, &j->source};
    return sti_gpu_key(&it, kernel, nkernel, &j->key);
}

static void free_jobs(jobs *all)
{
    for (int i = 0; i < all->n; ++i) {
        sti_user_source_free(&all->job[i].source);
        sti_text_buffer_free(&all->job[i].key);
        if (all->job[i].module) sti_module_unload(all->job[i].modules, all->job[i].module);
    }
    sti_free(all->job);
    *all = (jobs){0};
}

static stet_result add_job(sti_modules *p, jobs *all, const sti_module *wanted, job **out)
{
    STI_TRY(sti_realloc(&all->job, (size_t)(all->n + 1) * sizeof *all->job, "modules to be made"));
    job *j = &all->job[all->n];
    memset(j, 0, sizeof *j);
    j->modules = p;
    STI_TRY(sti_alloc(&j->module, sizeof *j->module, "a module"));
    *j->module = *wanted;
    j->module->constants = NULL;
    all->n++;
    *out = j;
    return wanted->constants ? sti_strdup(&j->module->constants, wanted->constants) : STET_OK;
}

static stet_result load_job(const job *j, const sti_text_buffer *object)
{
    stet_device *device = j->modules->device;
    stet_result result =
        device->ops->load(device, object->data, object->size, j->source.file[0].name, &j->module->handle);
    if (result != STET_OK) {
        char compiler[128];
        sti_rtc_identity(&j->modules->rtc, compiler, sizeof compiler);
        return sti_error_prefix(result, "code of %s", compiler);
    }
    j->module->size = object->size;
    sti_count_held(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, (int64_t)object->size);
    return STET_OK;
}

/* Compiles and loads all of them, or none. id of the first, if it is asked for. */
static stet_result make_modules(const jobs *all, const sti_cache_options *keeping, char *id)
{
    sti_compile_request *wanted;
    STI_TRY(sti_alloc(&wanted, (size_t)all->n * sizeof *wanted, "modules to be made"));
    for (int i = 0; i < all->n; ++i) {
        job *j = &all->job[i];
        wanted[i] = (sti_compile_request){.key = sti_cache_key_of(j->key.data, j->key.size),
                                          .what = j->source.file[0].name,
                                          .compile = compile_job,
                                          .context = j};
    }
    stet_result result = sti_cached_compile(all->job[0].modules->device, keeping, wanted, all->n);
    for (int i = 0; i < all->n && result == STET_OK; ++i) result = load_job(&all->job[i], &wanted[i].object);
    if (id) memcpy(id, wanted[0].key.id, STI_ID_SIZE);
    for (int i = 0; i < all->n; ++i) sti_text_buffer_free(&wanted[i].object);
    sti_free(wanted);
    return result;
}

/* ---- the library's kernels --------------------------------------------------------------------------------------- */

static bool same_team(sti_team a, sti_team b) { return a.team == b.team && a.teams == b.teams; }

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static sti_module *find_module(const sti_modules *p, const sti_module *wanted)
{
    for (int i = 0; i < p->nmodule; ++i) {
        sti_module *m = p->module[i];
        if (m->unit == wanted->unit && m->forms == wanted->forms && same_team(m->team, wanted->team) &&
            strcmp(m->only, wanted->only) == 0 && same_text(m->constants, wanted->constants))
            return m;
    }
    return NULL;
}

static bool is_job(const jobs *all, const sti_module *wanted)
{
    for (int i = 0; i < all->n; ++i) {
        const sti_module *m = all->job[i].module;
        if (m->unit == wanted->unit && m->forms == wanted->forms && same_team(m->team, wanted->team)) return true;
    }
    return false;
}

/* The kernels of a unit, and the team of each. */
typedef struct unit_kernels {
    sti_signature *kernel;
    sti_team *team;
    int n;
} unit_kernels;

static stet_result read_kernels(const sti_modules *p, const sti_embedded *unit, unit_kernels *out)
{
    const bool shares = sti_gpu_unit_shares(unit);
    memset(out, 0, sizeof *out);
    STI_TRY(sti_gpu_unit_kernels(unit, &out->kernel, &out->n));
    STI_TRY(sti_alloc(&out->team, (size_t)out->n * sizeof *out->team, "teams"));
    for (int i = 0; i < out->n; ++i)
        out->team[i] = sti_team_choose(out->kernel[i].name, out->kernel[i].kind, p->device->arch, shares);
    return STET_OK;
}

static void free_kernels(unit_kernels *u)
{
    sti_free(u->kernel);
    sti_free(u->team);
}

/* The job of one module of a unit. */
static stet_result add_unit_job(sti_modules *p, jobs *all, const unit_kernels *u, const sti_module *wanted)
{
    const sti_signature **kernel;
    job *j = NULL;
    int n = 0;
    STI_TRY(sti_alloc(&kernel, (size_t)u->n * sizeof(void *), "the kernels of a module"));
    for (int i = 0; i < u->n; ++i)
        if (wanted->only[0] ? strcmp(u->kernel[i].name, wanted->only) == 0 : same_team(u->team[i], wanted->team))
            kernel[n++] = &u->kernel[i];
    stet_result result = add_job(p, all, wanted, &j);
    if (result == STET_OK)
        result = sti_gpu_unit_read(wanted->unit, wanted->constants ? wanted->constants : "", &j->source);
    if (result == STET_OK) result = finish_job(j, kernel, n);
    sti_free(kernel);
    return result;
}

/* Jobs for all modules of a unit in one form that are not there yet. */
static stet_result add_unit_jobs(sti_modules *p, jobs *all, const sti_embedded *unit, unsigned forms)
{
    unit_kernels u;
    stet_result result = read_kernels(p, unit, &u);
    for (int i = 0; i < u.n && result == STET_OK; ++i) {
        const sti_module wanted = {.unit = unit, .team = u.team[i], .forms = forms};
        if (!find_module(p, &wanted) && !is_job(all, &wanted)) result = add_unit_job(p, all, &u, &wanted);
    }
    free_kernels(&u);
    return result;
}

/* Makes what the jobs say and keeps the modules. */
static stet_result keep_modules(sti_modules *p, jobs *all)
{
    const sti_cache_options keeping = {.folder = p->device->cache_folder, .parallel = p->rtc.parallel};
    if (all->n == 0) return STET_OK;
    STI_TRY(sti_realloc(&p->module, (size_t)(p->nmodule + all->n) * sizeof(void *), "modules"));
    STI_TRY(make_modules(all, &keeping, NULL));
    for (int i = 0; i < all->n; ++i) {
        p->module[p->nmodule++] = all->job[i].module;
        all->job[i].module = NULL;
    }
    return STET_OK;
}

/* Those of all units that a simulation needs. */
static stet_result add_sim_jobs(sti_modules *p, jobs *all, unsigned forms)
{
    stet_result result = STET_OK;
    for (const sti_embedded *u = sti_gpu_unit_first(sti_kernel_sources); u && result == STET_OK;
         u = sti_gpu_unit_next(u))
        if (sti_gpu_unit_in_sim(u)) result = add_unit_jobs(p, all, u, forms);
    return result;
}

/* Makes a unit's modules in one form; with a unit of the simulation's, all others of it (MODULES-2). */
static stet_result make_units(sti_modules *p, const sti_embedded *unit, unsigned forms)
{
    jobs all = {0};
    stet_result result;
    if (!sti_gpu_unit_in_sim(unit)) {
        result = add_unit_jobs(p, &all, unit, forms);
    } else {
        result = add_sim_jobs(p, &all, forms);
    }
    if (result == STET_OK) result = keep_modules(p, &all);
    free_jobs(&all);
    return result;
}

/* A module with one kernel alone, of a team that was set, or with constants. */
static stet_result make_alone(sti_modules *p, const sti_module *wanted)
{
    jobs all = {0};
    unit_kernels u;
    stet_result result = read_kernels(p, wanted->unit, &u);
    if (result == STET_OK) result = add_unit_job(p, &all, &u, wanted);
    if (result == STET_OK) result = keep_modules(p, &all);
    free_kernels(&u);
    free_jobs(&all);
    return result;
}

/* ---- what others call -------------------------------------------------------------------------------------------- */

stet_result sti_module_get(sti_modules *modules, const sti_module *wanted, const sti_module **out)
{
    *out = find_module(modules, wanted);
    if (*out) return STET_OK;
    STI_TRY(open_compiler(modules));
    STI_TRY(wanted->only[0] ? make_alone(modules, wanted) : make_units(modules, wanted->unit, wanted->forms));
    *out = find_module(modules, wanted);
    if (*out) return STET_OK;
    return sti_error(STET_ERROR_NOT_FOUND, "%s%s: has no kernels with teams of %d x %d threads",
                     sti_gpu_unit_folder(wanted->unit), wanted->unit->name, wanted->team.team, wanted->team.teams);
}

stet_result sti_module_make(sti_modules *modules, sti_team team, const sti_signature *kernel, sti_user_source *source,
                            const sti_cache_options *keeping, char *id, sti_module **out)
{
    const sti_module wanted = {.team = team, .forms = STI_FORMS_BOTH};
    jobs all = {0};
    job *j;
    STI_TRY(open_compiler(modules));
    stet_result result = add_job(modules, &all, &wanted, &j);
    if (result == STET_OK) {
        j->source = *source; /* lent */
        result = finish_job(j, &kernel, 1);
        if (result == STET_OK) result = make_modules(&all, keeping, id);
        *source = j->source;
        j->source = (sti_user_source){0};
    }
    if (result == STET_OK) {
        *out = j->module;
        j->module = NULL;
    }
    free_jobs(&all);
    return result;
}

stet_result sti_module_from_source(sti_modules *modules, sti_team team, sti_user_source *source, sti_module **out)
{
    const sti_cache_options keeping = {.folder = modules->device->cache_folder};
    const sti_module wanted = {.team = team};
    jobs all = {0};
    job *j;
    STI_TRY(open_compiler(modules));
    stet_result result = add_job(modules, &all, &wanted, &j);
    if (result == STET_OK) {
        j->source = *source; /* lent */
        result = finish_job(j, NULL, 0);
        if (result == STET_OK) result = make_modules(&all, &keeping, NULL);
        *source = j->source;
        j->source = (sti_user_source){0};
    }
    if (result == STET_OK) {
        *out = j->module;
        j->module = NULL;
    }
    free_jobs(&all);
    return result;
}

stet_result sti_module_from_text(sti_modules *modules, const char *name, const char *text, sti_module **out)
{
    const sti_user_source_def def = {.text = text, .path = name, .gpu = true};
    sti_user_source source;
    STI_TRY(sti_user_source_read(&def, &source));
    stet_result result = sti_module_from_source(modules, (sti_team){1, 1}, &source, out);
    sti_user_source_free(&source);
    return result;
}

stet_result sti_module_function(const sti_modules *modules, const sti_module *module, const char *kernel, sti_form form,
                                void **out)
{
    char symbol[2 * STI_MAX_NAME];
    (void)snprintf(symbol, sizeof symbol, "sti_%s__%s", kernel, form == STI_FORM_BLOCK ? "block" : "value");
    return modules->device->ops->function(modules->device, module->handle, symbol, out);
}
