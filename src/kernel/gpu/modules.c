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

/* A module that is compiled beside the caller (MODULES-3). */
struct sti_pending {
    job job;
    sti_compile_request request;
    sti_beside *beside; /* NULL: it ended, and failed with … */
    stet_result result;
    char message[1024];
};

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

static void free_job(job *j)
{
    sti_user_source_free(&j->source);
    sti_text_buffer_free(&j->key);
    if (j->module) sti_module_unload(j->modules, j->module);
    *j = (job){.modules = j->modules};
}

static void free_jobs(jobs *all)
{
    for (int i = 0; i < all->n; ++i) free_job(&all->job[i]);
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

static sti_compile_request request_of(job *j)
{
    return (sti_compile_request){.key = sti_cache_key_of(j->key.data, j->key.size),
                                 .what = j->source.file[0].name,
                                 .compile = compile_job,
                                 .context = j};
}

/* Compiles and loads all of them, or none. id of the first, if it is asked for. */
static stet_result make_modules(const jobs *all, const sti_cache_options *keeping, char *id)
{
    sti_compile_request *wanted;
    STI_TRY(sti_alloc(&wanted, (size_t)all->n * sizeof *wanted, "modules to be made"));
    for (int i = 0; i < all->n; ++i) wanted[i] = request_of(&all->job[i]);
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

static bool is_module(const sti_module *m, const sti_module *wanted)
{
    return m->unit == wanted->unit && m->forms == wanted->forms && same_team(m->team, wanted->team) &&
           strcmp(m->only, wanted->only) == 0 && same_text(m->constants, wanted->constants);
}

static sti_module *find_module(const sti_modules *p, const sti_module *wanted)
{
    for (int i = 0; i < p->nmodule; ++i)
        if (is_module(p->module[i], wanted)) return p->module[i];
    return NULL;
}

/* Its place among those that are compiled beside; npending: it is not one of them. */
static int find_pending(const sti_modules *p, const sti_module *wanted)
{
    int i = 0;
    while (i < p->npending && !is_module(p->pending[i]->job.module, wanted)) ++i;
    return i;
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
        if (!find_module(p, &wanted) && find_pending(p, &wanted) == p->npending && !is_job(all, &wanted))
            result = add_unit_job(p, all, &u, &wanted);
    }
    free_kernels(&u);
    return result;
}

static stet_result keep_module(sti_modules *p, job *j)
{
    STI_TRY(sti_realloc(&p->module, (size_t)(p->nmodule + 1) * sizeof(void *), "modules"));
    p->module[p->nmodule++] = j->module;
    j->module = NULL;
    return STET_OK;
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

static stet_result add_one_job(sti_modules *p, jobs *all, const sti_module *wanted)
{
    unit_kernels u;
    stet_result result = read_kernels(p, wanted->unit, &u);
    if (result == STET_OK) result = add_unit_job(p, all, &u, wanted);
    free_kernels(&u);
    return result;
}

/* A module with one kernel alone, of a team that was set, or with constants. */
static stet_result make_alone(sti_modules *p, const sti_module *wanted)
{
    jobs all = {0};
    stet_result result = add_one_job(p, &all, wanted);
    if (result == STET_OK) result = keep_modules(p, &all);
    free_jobs(&all);
    return result;
}

/* ---- beside the caller (MODULES-3) ------------------------------------------------------------------------------- */

static void drop_pending(sti_modules *p, int at)
{
    sti_pending *it = p->pending[at];
    if (it->beside && !sti_beside_is_done(it->beside))
        sti_log(STET_LOG_INFO, "%s: the device ends when it is compiled, so that the cache has it the next time",
                it->request.what);
    if (it->beside) (void)sti_beside_end(p->device, it->beside);
    sti_text_buffer_free(&it->request.object);
    free_job(&it->job);
    sti_free(it);
    p->pending[at] = p->pending[--p->npending];
}

static stet_result load_pending(sti_modules *p, sti_pending *it)
{
    STI_TRY(load_job(&it->job, &it->request.object));
    return keep_module(p, &it->job);
}

/* Loads what is there. The failure of another is kept until somebody asks for it. */
static void take_pending(sti_modules *p)
{
    for (int i = p->npending - 1; i >= 0; --i) {
        sti_pending *it = p->pending[i];
        if (!it->beside || !sti_beside_is_done(it->beside)) continue;
        it->result = sti_beside_end(p->device, it->beside);
        it->beside = NULL;
        if (it->result == STET_OK) it->result = load_pending(p, it);
        if (it->result == STET_OK)
            drop_pending(p, i);
        else
            (void)snprintf(it->message, sizeof it->message, "%s", stet_get_last_error());
    }
}

/* The failure of one that was compiled beside, which is forgotten with it. */
static stet_result take_failure(sti_modules *p, int at)
{
    if (p->pending[at]->beside) return STET_OK;
    stet_result result = sti_error(p->pending[at]->result, "%s", p->pending[at]->message);
    drop_pending(p, at);
    return result;
}

/* Takes the job over. */
static stet_result begin_job(sti_modules *p, job *j, bool only_look)
{
    const sti_cache_options keeping = {.folder = p->device->cache_folder};
    sti_pending *it;
    STI_TRY(sti_realloc(&p->pending, (size_t)(p->npending + 1) * sizeof(void *), "modules to be made"));
    STI_TRY(sti_alloc(&it, sizeof *it, "a module to be made"));
    p->pending[p->npending++] = it;
    it->job = *j;
    *j = (job){.modules = p};
    it->request = request_of(&it->job);
    stet_result result = sti_beside_begin(p->device, &keeping, &it->request, only_look, &it->beside);
    if (result == STET_OK && it->beside) return STET_OK;
    if (result == STET_OK && it->request.object.size > 0) result = load_pending(p, it);
    drop_pending(p, p->npending - 1);
    return result;
}

/* Waits for a module that is compiled beside; *out stays NULL if it is none. */
static stet_result await_pending(sti_modules *p, const sti_module *wanted, const sti_module **out)
{
    int at = find_pending(p, wanted);
    if (at == p->npending) return STET_OK;
    if (p->pending[at]->beside) sti_beside_wait(&p->pending[at]->beside, 1);
    take_pending(p);
    *out = find_module(p, wanted);
    return *out ? STET_OK : take_failure(p, find_pending(p, wanted));
}

/* ---- what others call -------------------------------------------------------------------------------------------- */

void sti_modules_close(sti_modules *m)
{
    while (m->npending > 0) drop_pending(m, m->npending - 1);
    sti_free(m->pending);
    for (int i = 0; i < m->nmodule; ++i) sti_module_unload(m, m->module[i]);
    sti_free(m->module);
    sti_rtc_close(&m->rtc);
    m->nmodule = 0;
}

stet_result sti_module_begin(sti_modules *modules, const sti_module *wanted, bool alone, bool *ready)
{
    jobs all = {0};
    take_pending(modules);
    *ready = find_module(modules, wanted) != NULL;
    if (*ready) return STET_OK;
    int at = find_pending(modules, wanted);
    if (at < modules->npending) return take_failure(modules, at);
    STI_TRY(open_compiler(modules));
    stet_result result = add_one_job(modules, &all, wanted);
    if (result == STET_OK) result = begin_job(modules, &all.job[0], alone && !modules->rtc.parallel);
    free_jobs(&all);
    *ready = find_module(modules, wanted) != NULL;
    return result;
}

stet_result sti_modules_wait(const sti_modules *modules)
{
    sti_beside **running;
    int n = 0;
    STI_TRY(sti_alloc(&running, (size_t)(modules->npending + 1) * sizeof(void *), "modules to be made"));
    for (int i = 0; i < modules->npending; ++i)
        if (modules->pending[i]->beside) running[n++] = modules->pending[i]->beside;
    sti_beside_wait(running, n);
    sti_free(running);
    return STET_OK;
}

void sti_modules_finish(sti_modules *modules)
{
    for (int i = 0; i < modules->npending; ++i)
        if (modules->pending[i]->beside) sti_beside_wait(&modules->pending[i]->beside, 1);
    take_pending(modules);
}

stet_result sti_module_get(sti_modules *modules, const sti_module *wanted, const sti_module **out)
{
    *out = find_module(modules, wanted);
    if (*out) return STET_OK;
    STI_TRY(await_pending(modules, wanted, out));
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
