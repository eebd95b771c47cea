/* Modules of a GPU; see modules.h. */
#include "kernel/gpu/modules.h"

#include "kernel/compile/compiled.h"
#include "kernel/gpu/shipped.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A module that is compiled beside the caller (MODULES-3). */
struct sti_pending {
    sti_job job;
    sti_maker maker; /* the job's, which may outlive the device (leave_pending) */
    char *arch, *folder;
    sti_compile_request request;
    sti_beside *beside; /* NULL: it ended, and failed with … */
    stet_result result;
    char message[1024];
};

stet_result sti_modules_init(sti_modules *m, stet_device *device)
{
    *m = (sti_modules){.device = device, .maker.arch = device->arch};
    return sti_shipped_folder(&m->shipped);
}

/* It stays, without code. */
static void drop_code(const sti_modules *modules, sti_module *m)
{
    stet_device *device = modules->device;
    if (!m->handle) return;
    device->ops->unload(device, m->handle);
    sti_count_held(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, -(int64_t)m->size);
    m->handle = NULL;
}

void sti_module_unload(const sti_modules *modules, sti_module *m)
{
    drop_code(modules, m);
    sti_free(m->constants);
    sti_free(m);
}

static void free_job(const sti_modules *modules, sti_job *j)
{
    if (j->module) drop_code(modules, j->module);
    sti_job_free(j);
}

/*
 * The compiler, opened when the first module is needed that was not shipped: also a start that finds all in the cache
 * asks for its version. Where none is installed the search is not repeated.
 */
static stet_result open_compiler(sti_modules *p)
{
    if (p->maker.rtc.library.handle) return STET_OK;
    if (p->no_compiler) return sti_error(STET_ERROR_NOT_FOUND, "%s", p->no_compiler);
    const stet_device *device = p->device;
    sti_maker *m = &p->maker;
    stet_result result = sti_rtc_open(device->type, device->compiler_library, device->driver_version, &m->rtc);
    if (result == STET_OK) result = sti_rtc_target(&m->rtc, m->arch, &m->target);
    if (result == STET_OK) return STET_OK;
    sti_rtc_close(&m->rtc);
    result = sti_error_prefix(result, "%s needs a compiler for its kernels", device->name);
    if (result == STET_ERROR_NOT_FOUND) (void)sti_strdup(&p->no_compiler, stet_get_last_error());
    return result;
}

/* An audit compiles again and compares bytes, which another compiler's code may differ in. */
static bool looks_for_shipped(const sti_modules *p)
{
    const sti_mechanisms *m = &p->device->mechanisms;
    return p->shipped.size > 0 && sti_enabled(m, STET_MECHANISM_KERNEL_CACHE) && !m->options.audit;
}

/* ---- making modules ---------------------------------------------------------------------------------------------- */

static stet_result load_code(stet_device *device, const sti_job *j, const sti_text_buffer *object)
{
    STI_TRY(device->ops->load(device, object->data, object->size, j->source.file[0].name, &j->module->handle));
    j->module->size = object->size;
    sti_count_held(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, (int64_t)object->size);
    return STET_OK;
}

/* Loads code for the device's architecture. What a driver refuses, for being older than the code, is made again. */
static stet_result load_shipped(stet_device *device, sti_job *j, const sti_compile_request *found)
{
    stet_result result = load_code(device, j, &found->object);
    if (result == STET_ERROR_OUT_OF_MEMORY || result == STET_ERROR_STATE) return result;
    if (result != STET_OK) return sti_compile_fall_back(device, found, STET_REASON_KERNEL_CACHE_UNFIT);
    j->module->waits = sti_rtc_arch_number(device->arch) >= STI_ARCH_WAITS;
    sti_compile_count_shipped(device, found);
    return STET_OK;
}

/* The module, if its code was shipped (MODULES-4); else it has no handle. */
static stet_result look_for_shipped(const sti_modules *p, sti_job *j)
{
    sti_verdict verdict = STI_ABSENT;
    sti_compile_request it = sti_job_request(j);
    if (j->looked || !looks_for_shipped(p)) return STET_OK;
    j->looked = true;
    stet_result result = sti_compiled_shipped(p->shipped.data, &it.key, &it.object, &verdict);
    if (result == STET_OK && verdict == STI_FOUND)
        result = load_shipped(p->device, j, &it);
    else if (result == STET_OK && verdict != STI_ABSENT)
        result = sti_compile_unfit(p->device, &it, verdict);
    sti_text_buffer_free(&it.object);
    return result;
}

static void free_jobs(const sti_modules *p, sti_jobs *all)
{
    for (int i = 0; i < all->n; ++i) free_job(p, &all->job[i]);
    sti_free(all->job);
    *all = (sti_jobs){0};
}

static stet_result load_job(const sti_modules *p, const sti_job *j, const sti_text_buffer *object)
{
    char compiler[128];
    stet_result result = load_code(p->device, j, object);
    j->module->waits = p->maker.target.sm >= STI_ARCH_WAITS;
    if (result == STET_OK) return STET_OK;
    sti_rtc_identity(&p->maker.rtc, compiler, sizeof compiler);
    return sti_error_prefix(result, "code of %s", compiler);
}

/* Compiles and loads the modules of these jobs. */
static stet_result compile_modules(sti_modules *p, sti_job *const *list, int n, const sti_cache_options *keeping,
                                   char *id)
{
    sti_compile_request *wanted;
    stet_result result = STET_OK;
    STI_TRY(open_compiler(p));
    sti_cache_options here = *keeping;
    here.parallel = p->maker.rtc.parallel;
    STI_TRY(sti_alloc(&wanted, (size_t)n * sizeof *wanted, "modules to be made"));
    for (int i = 0; i < n && result == STET_OK; ++i) result = sti_job_ask(list[i], &wanted[i]);
    if (result == STET_OK) result = sti_cached_compile(p->device, &here, wanted, n);
    for (int i = 0; i < n && result == STET_OK; ++i) result = load_job(p, list[i], &wanted[i].object);
    if (id) memcpy(id, wanted[0].key.id, STI_ID_SIZE);
    for (int i = 0; i < n; ++i) sti_text_buffer_free(&wanted[i].object);
    sti_free(wanted);
    return result;
}

/* Makes all of them, or none, and those that were not shipped at the same time. id of the first, if it is asked for. */
static stet_result make_modules(sti_modules *p, const sti_jobs *all, const sti_cache_options *keeping, char *id)
{
    sti_job **missing;
    int n = 0;
    stet_result result = STET_OK;
    STI_TRY(sti_alloc(&missing, (size_t)all->n * sizeof(void *), "modules to be made"));
    for (int i = 0; i < all->n && result == STET_OK; ++i) {
        if (!id) result = look_for_shipped(p, &all->job[i]); /* a user's kernel is the user's to ship */
        if (!all->job[i].module->handle) missing[n++] = &all->job[i];
    }
    if (result == STET_OK && n > 0) result = compile_modules(p, missing, n, keeping, id);
    sti_free(missing);
    return result;
}

/* ---- the library's kernels --------------------------------------------------------------------------------------- */

static sti_module *find_module(const sti_modules *p, const sti_module *wanted)
{
    for (int i = 0; i < p->nmodule; ++i)
        if (sti_module_is(p->module[i], wanted)) return p->module[i];
    return NULL;
}

/* Its place among those that are compiled beside; npending: it is not one of them. */
static int find_pending(const sti_modules *p, const sti_module *wanted)
{
    int i = 0;
    while (i < p->npending && !sti_module_is(p->pending[i]->job.module, wanted)) ++i;
    return i;
}

static bool is_there(const void *context, const sti_module *wanted)
{
    const sti_modules *p = context;
    return find_module(p, wanted) || find_pending(p, wanted) < p->npending;
}

static stet_result keep_module(sti_modules *p, sti_job *j)
{
    assert(j->module && j->module->handle && !find_module(p, j->module) && "a module has code, and is kept once");
    STI_TRY(sti_realloc(&p->module, (size_t)(p->nmodule + 1) * sizeof(void *), "modules"));
    p->module[p->nmodule++] = j->module;
    j->module = NULL;
    return STET_OK;
}

/* Makes what the jobs say and keeps the modules. */
static stet_result keep_modules(sti_modules *p, sti_jobs *all)
{
    const sti_cache_options keeping = {.folder = p->device->cache_folder};
    if (all->n == 0) return STET_OK;
    STI_TRY(sti_realloc(&p->module, (size_t)(p->nmodule + all->n) * sizeof(void *), "modules"));
    STI_TRY(make_modules(p, all, &keeping, NULL));
    for (int i = 0; i < all->n; ++i) {
        assert(all->job[i].module->handle && "MODULES-1");
        p->module[p->nmodule++] = all->job[i].module;
        all->job[i].module = NULL;
    }
    return STET_OK;
}

/* Those of all units that a simulation needs (MODULES-2), or of this one, if it is another's. */
static stet_result add_others(sti_modules *p, sti_jobs *all, const sti_module *wanted)
{
    stet_result result = STET_OK;
    if (!sti_gpu_unit_in_sim(wanted->unit))
        return sti_jobs_add_unit(all, &p->maker, wanted->unit, wanted->forms, is_there, p);
    for (const sti_embedded *u = sti_gpu_unit_first(sti_kernel_sources); u && result == STET_OK;
         u = sti_gpu_unit_next(u))
        if (sti_gpu_unit_in_sim(u)) result = sti_jobs_add_unit(all, &p->maker, u, wanted->forms, is_there, p);
    return result;
}

/* Makes a module; if it was not shipped, others with it. */
static stet_result make_units(sti_modules *p, const sti_module *wanted)
{
    sti_jobs all = {0};
    stet_result result = sti_jobs_add_module(&all, &p->maker, wanted);
    if (result == STET_OK) result = look_for_shipped(p, &all.job[0]);
    if (result == STET_OK && !all.job[0].module->handle) result = add_others(p, &all, wanted);
    if (result == STET_OK) result = keep_modules(p, &all);
    free_jobs(p, &all);
    return result;
}

/* A module with one kernel alone, of a team that was set, or with constants. */
static stet_result make_alone(sti_modules *p, const sti_module *wanted)
{
    sti_jobs all = {0};
    stet_result result = sti_jobs_add_module(&all, &p->maker, wanted);
    if (result == STET_OK) result = keep_modules(p, &all);
    free_jobs(p, &all);
    return result;
}

/* ---- beside the caller (MODULES-3) ------------------------------------------------------------------------------- */

/* Without what it has loaded. */
static void free_pending(void *context)
{
    sti_pending *it = context;
    sti_text_buffer_free(&it->request.object);
    sti_job_free(&it->job);
    sti_free(it->arch);
    sti_free(it->folder);
    sti_free(it);
}

static void drop_pending(sti_modules *p, int at)
{
    assert(at >= 0 && at < p->npending);
    sti_pending *it = p->pending[at];
    p->pending[at] = p->pending[--p->npending];
    if (it->beside && sti_beside_leave(it->beside, free_pending, it)) {
        p->left = true;
        return;
    }
    if (it->beside) (void)sti_beside_end(p->device, it->beside);
    if (it->job.module) drop_code(p, it->job.module);
    free_pending(it);
}

static stet_result load_pending(sti_modules *p, sti_pending *it)
{
    STI_TRY(load_job(p, &it->job, &it->request.object));
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
    assert(at >= 0 && at < p->npending);
    if (p->pending[at]->beside) return STET_OK;
    stet_result result = sti_error(p->pending[at]->result, "%s", p->pending[at]->message);
    drop_pending(p, at);
    return result;
}

/* Takes the job over. alone: see sti_module_begin. */
static stet_result begin_job(sti_modules *p, sti_job *j, bool alone)
{
    const char *folder = p->device->cache_folder;
    sti_pending *it;
    STI_TRY(look_for_shipped(p, j));
    if (j->module->handle) return keep_module(p, j);
    STI_TRY(open_compiler(p));
    STI_TRY(sti_realloc(&p->pending, (size_t)(p->npending + 1) * sizeof(void *), "modules to be made"));
    STI_TRY(sti_alloc(&it, sizeof *it, "a module to be made"));
    p->pending[p->npending++] = it;
    it->job = *j;
    *j = (sti_job){.maker = &p->maker};
    it->maker = p->maker;
    it->job.maker = &it->maker;
    stet_result result = sti_strdup(&it->arch, p->maker.arch);
    it->maker.arch = it->arch;
    if (result == STET_OK && folder) result = sti_strdup(&it->folder, folder);
    if (result == STET_OK) result = sti_job_ask(&it->job, &it->request);
    if (result == STET_OK)
        result = sti_beside_begin(p->device, &(sti_cache_options){.folder = it->folder}, &it->request,
                                  alone && !p->maker.rtc.parallel, &it->beside);
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
    sti_free(m->no_compiler);
    sti_text_buffer_free(&m->shipped);
    if (!m->left) sti_rtc_close(&m->maker.rtc);
    m->nmodule = 0;
}

stet_result sti_module_begin(sti_modules *modules, const sti_module *wanted, bool alone, bool *ready)
{
    sti_jobs all = {0};
    take_pending(modules);
    *ready = find_module(modules, wanted) != NULL;
    if (*ready) return STET_OK;
    int at = find_pending(modules, wanted);
    if (at < modules->npending) return take_failure(modules, at);
    stet_result result = sti_jobs_add_module(&all, &modules->maker, wanted);
    if (result == STET_OK) result = begin_job(modules, &all.job[0], alone);
    free_jobs(modules, &all);
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
    STI_TRY(wanted->only[0] ? make_alone(modules, wanted) : make_units(modules, wanted));
    *out = find_module(modules, wanted);
    assert(*out && "what was made is found");
    return STET_OK;
}

/* Makes the job's module, which becomes the caller's. */
static stet_result make_own(sti_modules *p, const sti_jobs *all, const sti_cache_options *keeping, char *id,
                            sti_module **out)
{
    STI_TRY(make_modules(p, all, keeping, id));
    *out = all->job[0].module;
    all->job[0].module = NULL;
    return STET_OK;
}

/* The source is lent to the job. kernel NULL: its text is finished. */
static stet_result make_of_source(sti_modules *p, const sti_module *wanted, const sti_signature *kernel,
                                  sti_user_source *source, const sti_cache_options *keeping, char *id, sti_module **out)
{
    sti_jobs all = {0};
    sti_job *j;
    stet_result result = sti_jobs_add(&all, &p->maker, wanted, &j);
    if (result == STET_OK) {
        j->source = *source;
        result = sti_job_finish(j, &kernel, kernel != NULL);
        if (result == STET_OK) result = make_own(p, &all, keeping, id, out);
        *source = j->source;
        j->source = (sti_user_source){0};
    }
    free_jobs(p, &all);
    return result;
}

stet_result sti_module_make(sti_modules *modules, sti_team team, const sti_signature *kernel, sti_user_source *source,
                            const sti_cache_options *keeping, char *id, sti_module **out)
{
    char here[STI_ID_SIZE];
    const sti_module wanted = {.team = team, .forms = STI_FORMS_BOTH};
    STI_TRY(open_compiler(modules));
    return make_of_source(modules, &wanted, kernel, source, keeping, id ? id : here, out);
}

stet_result sti_module_from_source(sti_modules *modules, sti_team team, sti_user_source *source, sti_module **out)
{
    const sti_cache_options keeping = {.folder = modules->device->cache_folder};
    return make_of_source(modules, &(sti_module){.team = team}, NULL, source, &keeping, NULL, out);
}

stet_result sti_module_from_text(sti_modules *modules, const char *name, const char *text, sti_module **out)
{
    const sti_cache_options keeping = {.folder = modules->device->cache_folder};
    sti_jobs all = {0};
    stet_result result = sti_jobs_add_text(&all, &modules->maker, name, text);
    if (result == STET_OK) result = make_own(modules, &all, &keeping, NULL, out);
    free_jobs(modules, &all);
    return result;
}

stet_result sti_module_function(const sti_modules *modules, const sti_module *module, const char *kernel, sti_form form,
                                void **out)
{
    char symbol[2 * STI_MAX_NAME];
    assert(module->handle && kernel[0]);
    (void)snprintf(symbol, sizeof symbol, "sti_%s__%s", kernel, form == STI_FORM_BLOCK ? "block" : "value");
    return modules->device->ops->function(modules->device, module->handle, symbol, out);
}
