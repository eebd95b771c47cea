/*
 * User kernels: reads and checks the source, gets the code from the disk cache or a compiler, loads and launches it. On
 * a GPU the code is one of the device's programs (gpu/programs.h).
 *
 * Invariants:
 *   USER-1  with or without a cache, the source is read and checked, and the object is loaded from checked bytes in
 *       memory. A cached kernel skips only the compilation. Code of another compiler is used only if no compiler is
 *       found
 *   USER-2  a compiled kernel works, whatever happens to the cache later
 */
#include "kernel/user/user.h"

#include "base/memory.h"
#include "base/plural.h"
#include "kernel/launch/binding.h"
#include "kernel/checked/checked.h"
#include "kernel/compile/compile_cpu.h"
#include "kernel/compile/compiled.h"
#include "kernel/gpu/programs.h"
#include "kernel/compile/shared_object.h"
#include "kernel/compile/cached_compile.h"
#include "kernel/record/record.h"

#include <stdio.h>
#include <string.h>

struct stet_kernel {
    sti_kernel kernel;
    stet_device *device;
    sti_signature signature; /* kernel.name and kernel.param point into it */
    char *file;
    sti_shared_object object;
    size_t object_size;
    char id[STI_ID_SIZE];
    sti_binding binding;
    sti_kernel_source source_kept;
    sti_attachment *attachment;
};

/* A kernel that is being made. */
typedef struct maker {
    const stet_kernel_def *def;
    stet_device *device;
    stet_kernel *kernel;
    sti_user_source source;
    sti_user_source instrumented; /* what is compiled in checked mode, else empty */
    sti_compiler compiler;
    sti_text_buffer key, object;
} maker;

/* ---- source and signature ---------------------------------------------------------------------------------------- */

/*
 * The one place where a user's source is checked before a compiler sees it. Checks the language's rules, as they are
 * for this device, and that the kernels' signatures can be launched.
 */
static stet_result check_source(const stet_device *device, sti_user_source *source)
{
    sti_check_options options = sti_user_check_options(device);
    return sti_user_source_check(source, &options);
}

sti_check_options sti_user_check_options(const stet_device *device)
{
    sti_check_options options = sti_default_check_options();
    options.lanes = sti_isa_width(device->isa);
    options.real_double = device->isa == STI_ISA_f64;
    if (device->can.compiles) {
        options.gpu = true;
        options.lanes = 1;
        options.real_double = false;
    }
    return options;
}

/* Finds the kernel called `name`, or the only one. The source must be checked. */
static stet_result pick_kernel(const sti_user_source *source, const char *name, sti_signature *out)
{
    const char *file = source->file[0].name;
    char known[512] = "";
    for (int i = 0; i < source->nkernel; ++i) {
        const sti_signature *sig = &source->kernel[i];
        if (name ? strcmp(name, sig->name) == 0 : source->nkernel == 1) {
            *out = *sig; /* names are unique: the checker refuses others */
            return STET_OK;
        }
        size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", sig->name);
    }
    if (!name)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: has %d kernels (%s); name the one that is meant", file,
                         source->nkernel, known);
    return sti_error(STET_ERROR_NOT_FOUND, "%s: has no kernel %s; it has: %s", file, name, known);
}

/* ---- compiled code ----------------------------------------------------------------------------------------------- */

/* The source that the compiler gets. */
static const sti_user_source *compiled(const maker *m)
{
    return m->kernel->kernel.checked ? &m->instrumented : &m->source;
}

static stet_result compile(void *context, sti_text_buffer *object)
{
    const maker *m = context;
    if (!m->compiler.path) /* an audit compiles again */
        return sti_error(STET_ERROR_NOT_FOUND,
                         "kernel %s: it is in the cache, but there is no compiler to compile it again",
                         m->kernel->kernel.name);
    return sti_compile_cpu(&m->compiler, m->device->isa, compiled(m), object);
}

static sti_compile_request request_of(maker *m)
{
    return (sti_compile_request){.key = sti_cache_key_of(m->key.data, m->key.size),
                                 .what = m->source.file[0].name,
                                 .kernel = m->kernel->kernel.name,
                                 .line = m->kernel->kernel.line,
                                 .compile = compile,
                                 .context = m};
}

/* Fills m->object from the cache or a compiler. */
static stet_result compile_cached(maker *m)
{
    const sti_cache_options keeping = {.folder = m->def->cache_folder, .limit = m->def->cache_limit};
    sti_compile_request wanted = request_of(m);
    memcpy(m->kernel->id, wanted.key.id, sizeof wanted.key.id);
    stet_result result = sti_cached_compile(m->device, &keeping, &wanted, 1);
    m->object = wanted.object;
    return result;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static stet_result load(maker *m)
{
    stet_kernel *k = m->kernel;
    char symbol[2 * STI_MAX_NAME];
    STI_TRY(sti_shared_object_load(m->object.data, m->object.size, k->kernel.name, &k->object));
    (void)snprintf(symbol, sizeof symbol, "sti_%s__%s", k->kernel.name, sti_isa_name(m->device->isa));
    void *address = sti_shared_object_find(&k->object, symbol);
    if (!address)
        return sti_error(STET_ERROR_IO,
                         "kernel %s: its compiled code has no function %s; name a gcc or clang as compiler",
                         k->kernel.name, symbol);
    memcpy(&k->kernel.call[m->device->isa], &address, sizeof address);
    k->object_size = m->object.size;
    sti_count_held(&m->device->mechanisms, STET_MECHANISM_KERNEL_CACHE, (int64_t)k->object_size);
    return STET_OK;
}

static stet_result describe(maker *m)
{
    stet_kernel *k = m->kernel;
    const sti_signature *sig = &k->signature;
    STI_TRY(pick_kernel(&m->source, m->def->name, &k->signature));
    STI_TRY(sti_strdup(&k->file, m->source.file[0].name));
    k->kernel = (sti_kernel){.name = sig->name,
                             .kind = sig->kind,
                             .nparam = sig->nparam,
                             .param = sig->param,
                             .file = k->file,
                             .line = sig->line,
                             .team_slots = sti_team_slots(sig->param, sig->nparam),
                             .user = k};
    return STET_OK;
}

static bool cached(const maker *m) { return sti_enabled(&m->device->mechanisms, STET_MECHANISM_KERNEL_CACHE); }

/* Looks for shipped code. m->key has no compiler. */
static stet_result load_shipped(maker *m, bool *found)
{
    sti_verdict verdict;
    sti_compile_request wanted = request_of(m);
    if (!m->def->shipped_folder || !cached(m)) return STET_OK;
    STI_TRY(sti_compiled_shipped(m->def->shipped_folder, &wanted.key, &wanted.object, &verdict));
    *found = verdict == STI_FOUND;
    if (verdict != STI_FOUND) return verdict == STI_ABSENT ? STET_OK : sti_compile_unfit(m->device, &wanted, verdict);
    memcpy(m->kernel->id, wanted.key.id, sizeof wanted.key.id);
    sti_compile_count_shipped(m->device, &wanted);
    m->object = wanted.object;
    return STET_OK;
}

/* Gets the code from the cache or a compiler. Without a compiler, the cache may have code of any compiler. */
static stet_result load_compiled(maker *m)
{
    stet_result result = sti_compiler_open(m->def->compiler, &m->compiler);
    if (result == STET_ERROR_NOT_FOUND && !m->def->compiler && cached(m)) {
        result = sti_compiled_by_any(m->def->cache_folder, &m->key);
    } else if (result == STET_OK) {
        m->key.size = 0;
        result = sti_compile_key(&m->compiler, m->device->isa, compiled(m), &m->key);
    }
    STI_TRY(result);
    return compile_cached(m);
}

static stet_result make_for_cpu(maker *m)
{
    bool shipped = false;
    sti_user_source *source = m->kernel->kernel.checked ? &m->instrumented : &m->source;
    STI_TRY(sti_compile_finish(source));
    STI_TRY(sti_compile_key(NULL, m->device->isa, source, &m->key));
    STI_TRY(load_shipped(m, &shipped));
    if (!shipped) STI_TRY(load_compiled(m));
    return load(m);
}

static stet_result make_for_gpu(maker *m)
{
    const sti_cache_options keeping = {.folder = m->def->cache_folder, .limit = m->def->cache_limit};
    const sti_team team = {m->def->team, m->def->teams};
    sti_user_source *source = m->kernel->kernel.checked ? &m->instrumented : &m->source;
    return sti_program_add(m->device, &m->kernel->kernel, source, team, &keeping, m->kernel->id);
}

/* Checked mode: compiles the instrumented text, which gives its kernel another signature. */
static stet_result instrument(maker *m)
{
    stet_kernel *k = m->kernel;
    const sti_check_options options = sti_user_check_options(m->device);
    STI_TRY(sti_checked_make(&m->source, &options, m->device->can.compiles, &m->instrumented, &k->kernel.checked));
    STI_TRY(pick_kernel(&m->instrumented, k->kernel.name, &k->signature));
    k->kernel.nparam = k->signature.nparam;
    k->kernel.checked->kernel = &k->kernel;
    return STET_OK;
}

static stet_result make_user(maker *m)
{
    const stet_kernel_def *def = m->def;
    const sti_user_source_def source = {.text = def->source,
                                        .path = def->path,
                                        .includes = def->includes,
                                        .ninclude = def->ninclude,
                                        .gpu = m->device->can.compiles};
    STI_TRY(sti_user_source_read(&source, &m->source));
    STI_TRY(check_source(m->device, &m->source));
    STI_TRY(describe(m));
    if (m->device->checked && !def->unchecked) STI_TRY(instrument(m));
    STI_TRY(source.gpu ? make_for_gpu(m) : make_for_cpu(m));
    m->kernel->kernel.source = &m->kernel->source_kept.source;
    return sti_kernel_source_keep(&m->kernel->source_kept, def, &m->source);
}

static stet_result check_def(const stet_kernel_def *def)
{
    if (def->cookie != STI_KERNEL_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "kernel: the def is not initialised; start from stet_default_kernel_def()");
    if (def->ninclude < 0 || (def->ninclude > 0 && !def->includes))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel: %d include folder%s announced, but not given",
                         def->ninclude, STI_S(def->ninclude));
    for (int i = 0; i < def->ninclude; ++i)
        if (!def->includes[i] || !def->includes[i][0])
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel: include folder %d has no name", i);
    if (def->nconstant < 0 || (def->nconstant > 0 && !def->constant))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel: %d constant%s announced, but not given", def->nconstant,
                         STI_S(def->nconstant));
    for (int i = 0; i < def->nconstant; ++i)
        if (!def->constant[i]) return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel: constant %d has no name", i);
    if (def->team < 0 || def->teams < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "kernel: a team of %d threads, %d a block; give 0 for the usual sizes", def->team, def->teams);
    if (def->cache_limit < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel: a cache of %lld bytes; give 0 for the usual limit",
                         (long long)def->cache_limit);
    return STET_OK;
}

stet_result stet_kernel_create(stet_device *device, const stet_kernel_def *def, stet_kernel **out)
{
    if (!device || !def || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_kernel_create: device, def and out must not be NULL");
    *out = NULL;
    STI_TRY(check_def(def));
    maker m = {.def = def, .device = device};
    STI_TRY(sti_alloc(&m.kernel, sizeof *m.kernel, "kernel"));
    m.kernel->device = device;
    sti_device_retain(device);
    stet_result result = make_user(&m);
    sti_user_source_free(&m.source);
    sti_user_source_free(&m.instrumented);
    sti_compiler_close(&m.compiler);
    sti_text_buffer_free(&m.key);
    sti_text_buffer_free(&m.object);
    if (result == STET_OK)
        *out = m.kernel;
    else
        stet_kernel_destroy(m.kernel);
    return result;
}

void stet_kernel_destroy(stet_kernel *k)
{
    if (!k) return;
    stet_device *device = k->device;
    if (k->attachment) k->attachment->destroy(k->attachment);
    sti_program_drop(device, &k->kernel);
    sti_device_notify_destroyed(device, k);
    if (k->object_size > 0) sti_count_held(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, -(int64_t)k->object_size);
    sti_shared_object_unload(&k->object);
    sti_checked_free(device, k->kernel.checked);
    sti_kernel_source_free(&k->source_kept);
    sti_free(k->file);
    sti_free(k);
    sti_device_release(device);
}

/* ---- signature and launch ---------------------------------------------------------------------------------------- */

const sti_kernel *sti_user_kernel(const stet_kernel *kernel) { return &kernel->kernel; }

stet_device *sti_user_kernel_device(const stet_kernel *kernel) { return kernel->device; }

const char *sti_user_kernel_id(const stet_kernel *kernel) { return kernel->id; }

const sti_kernel_source *sti_user_kernel_source(const stet_kernel *kernel) { return &kernel->source_kept; }

sti_attachment **sti_user_kernel_attachment(stet_kernel *kernel) { return &kernel->attachment; }

const char *stet_kernel_get_name(const stet_kernel *kernel) { return kernel ? kernel->kernel.name : ""; }

int stet_kernel_get_nparam(const stet_kernel *kernel) { return kernel ? sti_kernel_narg(&kernel->kernel) : 0; }

stet_result stet_kernel_get_param(const stet_kernel *kernel, int i, stet_kernel_param *out)
{
    if (!kernel || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_kernel_get_param: kernel and out must not be NULL");
    for (int k = 0, at = 0; k < kernel->kernel.nparam; ++k) {
        const sti_param *p = &kernel->kernel.param[k];
        if (p->index || at++ != i) continue;
        stet_arg_kind scalar = p->type == STI_PARAM_UREAL ? STET_ARG_REAL : STET_ARG_INT;
        *out = (stet_kernel_param){.name = p->name,
                                   .type = sti_param_type_name(p->type),
                                   .kind = p->pointer && !sti_param_type_team(p->type) ? STET_ARG_ARRAY : scalar,
                                   .worlds = p->pointer && sti_param_type_worlds(p->type),
                                   .written = p->written};
        return STET_OK;
    }
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: there is no parameter %d; it has %d", kernel->kernel.name,
                     i, stet_kernel_get_nparam(kernel));
}

stet_result sti_user_args(const stet_kernel *kernel, const stet_arg *args, int narg, sti_arg own[STI_MAX_PARAMS])
{
    return sti_args_of(&kernel->kernel, args, narg, own);
}

stet_result stet_kernel_launch(stet_kernel *kernel, int64_t count, const stet_arg *args, int narg)
{
    if (!kernel) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_kernel_launch: kernel must not be NULL");
    return sti_binding_launch(&kernel->binding, kernel->device, &kernel->kernel, count, args, narg);
}
