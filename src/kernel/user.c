/*
 * The user's own kernels on the CPU: read, checked, taken from the disk cache or compiled, loaded, launched.
 *
 * Invariants:
 *   U1  with a cache or without, cold or warm: the source is read and checked, the compiler is asked for its version,
 *   and the
 *       object is loaded from checked bytes in memory; a warm start leaves out the compiling, and nothing else
 *   U2  a kernel that was compiled works, whatever becomes of the cache
 */
#include "kernel/user.h"

#include "base/memory.h"
#include "kernel/cache.h"
#include "kernel/compile_cpu.h"
#include "kernel/object.h"
#include "kernel/record.h"

#include <stdio.h>
#include <string.h>

enum { KERNEL_COOKIE = 0x57e7d00b };

struct stet_kernel {
    sti_kernel kernel;
    stet_device *device;
    sti_signature signature; /* what kernel.name and kernel.param point into */
    char *file;
    sti_object object;
    size_t object_size;
    char id[STI_ID_SIZE];
};

/* What a kernel is being made from. */
typedef struct maker {
    const stet_kernel_def *def;
    stet_device *device;
    stet_kernel *kernel;
    sti_user_source source;
    sti_compiler compiler;
    sti_buffer key, object;
} maker;

stet_kernel_def stet_default_kernel_def(void) { return (stet_kernel_def){.cookie = KERNEL_COOKIE}; }

/* ---- source and signature ---------------------------------------------------------------------------------------- */

/*
 * The one place where a user's source is checked before a compiler sees it: its kernels must have signatures that a
 * launch can serve.
 */
static stet_result check_source(const sti_user_source *source)
{
    const sti_user_source_file *f = &source->file[0];
    size_t cursor = 0;
    sti_signature sig;
    char message[512];
    int found, n = 0;
    while ((found = sti_signature_next(f->text.data, &cursor, &sig, message, sizeof message)) > 0) ++n;
    if (found < 0) return sti_error(STET_PARSE, "%s:%d: %s", f->name, sig.line, message);
    if (n == 0)
        return sti_error(STET_PARSE, "%s: has no kernel; write world_kernel or item_kernel before a function", f->name);
    return STET_OK;
}

/* The kernel that is called `name`, or the only one. The source is checked. */
static stet_result pick_kernel(const sti_user_source *source, const char *name, sti_signature *out)
{
    const sti_user_source_file *f = &source->file[0];
    size_t cursor = 0;
    sti_signature sig;
    char message[512], known[512] = "";
    int matches = 0, n = 0;
    while (sti_signature_next(f->text.data, &cursor, &sig, message, sizeof message) > 0) {
        size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", n++ ? ", " : "", sig.name);
        if (name && strcmp(name, sig.name) != 0) continue;
        if (matches++ == 0) *out = sig;
    }
    if (matches == 1) return STET_OK;
    if (!name)
        return sti_error(STET_INVALID_ARGUMENT, "%s: has %d kernels (%s); name the one that is meant", f->name, n,
                         known);
    if (matches > 1) return sti_error(STET_PARSE, "%s: has %d kernels of the name %s", f->name, matches, name);
    return sti_error(STET_NOT_FOUND, "%s: has no kernel %s; it has: %s", f->name, name, known);
}

/* ---- compiled code ----------------------------------------------------------------------------------------------- */

static stet_result compile(maker *m, sti_buffer *object)
{
    return sti_compile_cpu(&m->compiler, m->device->isa, &m->source, object);
}

/* A slower way was taken; the thread's message says why. */
static stet_result fall_back(maker *m, stet_reason why)
{
    char where[512];
    (void)snprintf(where, sizeof where, "%s: %s", m->source.file[0].name, stet_last_error());
    return sti_fallback(&m->device->mechanisms, STET_MECH_kernel_cache, why, where);
}

/* A hit; under audit it is compiled all the same, and must give the same bytes. */
static stet_result take_hit(maker *m)
{
    if (m->device->mechanisms.options.audit) {
        sti_buffer again = {0};
        stet_result result = compile(m, &again);
        if (result == STET_OK && (again.size != m->object.size || memcmp(again.data, m->object.data, again.size) != 0))
            result =
                sti_error(STET_AUDIT,
                          "kernel_cache: %s: compiled again, the kernel is not what entry %s holds; clear the cache "
                          "and report it",
                          m->source.file[0].name, m->kernel->id);
        sti_buffer_free(&again);
        STI_TRY(result);
    }
    sti_count_hit(&m->device->mechanisms, STET_MECH_kernel_cache, 0, (int64_t)m->object.size);
    return STET_OK;
}

static stet_reason reason_of(sti_verdict verdict)
{
    switch (verdict) {
    case STI_DAMAGED: return STET_REASON_kernel_cache_damaged;
    case STI_FOREIGN: return STET_REASON_kernel_cache_foreign;
    case STI_OTHER_SCHEMA: return STET_REASON_kernel_cache_schema;
    case STI_COLLISION: return STET_REASON_kernel_cache_collision;
    default: return STET_REASON_kernel_cache_absent;
    }
}

static stet_result compile_and_count(maker *m, stet_reason why)
{
    STI_TRY(compile(m, &m->object));
    sti_count_miss(&m->device->mechanisms, STET_MECH_kernel_cache, why, 0, (int64_t)m->object.size);
    return STET_OK;
}

/* With the lock of the key held: somebody else may have made the entry meanwhile. */
static stet_result build_entry(maker *m, const sti_cache *cache, const sti_cache_key *key)
{
    sti_verdict verdict;
    STI_TRY(sti_cache_load(cache, key, &m->object, &verdict));
    if (verdict == STI_FOUND) return take_hit(m);
    STI_TRY(compile_and_count(m, reason_of(verdict)));
    if (sti_cache_store(cache, key, m->object.data, m->object.size) == STET_OK) return STET_OK;
    return fall_back(m, STET_REASON_kernel_cache_not_kept);
}

static stet_result from_cache(maker *m, const sti_cache *cache, const sti_cache_key *key)
{
    sti_verdict verdict;
    STI_TRY(sti_cache_load(cache, key, &m->object, &verdict));
    if (verdict == STI_FOUND) return take_hit(m);
    int lock = sti_cache_lock(cache, key->id, true);
    if (lock < 0) {
        (void)sti_error(STET_IO, "kernel cache: the folder allows no locks");
        STI_TRY(fall_back(m, STET_REASON_kernel_cache_not_kept));
        return compile(m, &m->object);
    }
    stet_result result = build_entry(m, cache, key);
    sti_cache_unlock(cache, key->id, lock);
    return result;
}

/* Fills m->object. */
static stet_result obtain(maker *m, const sti_cache_key *key)
{
    if (!sti_enabled(&m->device->mechanisms, STET_MECH_kernel_cache))
        return compile_and_count(m, STET_REASON_kernel_cache_disabled);
    sti_cache cache;
    stet_result result = sti_cache_open(m->def->cache_folder, m->def->cache_limit, false, &cache);
    if (result == STET_OUT_OF_MEMORY) return result;
    if (result != STET_OK) {
        STI_TRY(fall_back(m, STET_REASON_kernel_cache_refused));
        return compile(m, &m->object);
    }
    result = from_cache(m, &cache, key);
    sti_cache_close(&cache);
    return result;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static stet_result load(maker *m)
{
    stet_kernel *k = m->kernel;
    char symbol[2 * STI_MAX_NAME];
    STI_TRY(sti_object_load(m->object.data, m->object.size, k->kernel.name, &k->object));
    (void)snprintf(symbol, sizeof symbol, "sti_%s__%s", k->kernel.name, sti_isa_name(m->device->isa));
    void *address = sti_object_find(&k->object, symbol);
    if (!address)
        return sti_error(STET_IO, "kernel %s: its compiled code has no function %s; name a gcc or clang as compiler",
                         k->kernel.name, symbol);
    memcpy(&k->kernel.call[m->device->isa], &address, sizeof address);
    k->object_size = m->object.size;
    m->device->mechanisms.counters.mechanism[STET_MECH_kernel_cache].held_bytes += (int64_t)k->object_size;
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
                             .line = sig->line};
    return STET_OK;
}

static stet_result make(maker *m)
{
    const sti_user_source_def source = {m->def->source, m->def->path, m->def->includes, m->def->ninclude};
    STI_TRY(sti_user_source_read(&source, &m->source));
    STI_TRY(check_source(&m->source));
    STI_TRY(describe(m));
    STI_TRY(sti_compile_finish(&m->source));
    STI_TRY(sti_compiler_open(m->def->compiler, &m->compiler));
    STI_TRY(sti_compile_key(&m->compiler, m->device->isa, &m->source, &m->key));
    const sti_cache_key key = sti_cache_key_of(m->key.data, m->key.size);
    memcpy(m->kernel->id, key.id, sizeof key.id);
    STI_TRY(obtain(m, &key));
    return load(m);
}

static stet_result check_def(const stet_kernel_def *def)
{
    if (def->cookie != KERNEL_COOKIE)
        return sti_error(STET_INVALID_ARGUMENT,
                         "kernel: the def is not initialised; start from stet_default_kernel_def()");
    if (def->ninclude < 0 || (def->ninclude > 0 && !def->includes))
        return sti_error(STET_INVALID_ARGUMENT, "kernel: %d include folders are announced, but not given",
                         def->ninclude);
    for (int i = 0; i < def->ninclude; ++i)
        if (!def->includes[i] || !def->includes[i][0])
            return sti_error(STET_INVALID_ARGUMENT, "kernel: include folder %d has no name", i);
    if (def->cache_limit < 0)
        return sti_error(STET_INVALID_ARGUMENT, "kernel: a cache of %lld bytes; give 0 for the usual limit",
                         (long long)def->cache_limit);
    return STET_OK;
}

stet_result stet_kernel_create(stet_device *device, const stet_kernel_def *def, stet_kernel **out)
{
    if (!device || !def || !out)
        return sti_error(STET_INVALID_ARGUMENT, "stet_kernel_create: device, def and out must not be NULL");
    *out = NULL;
    STI_TRY(check_def(def));
    maker m = {.def = def, .device = device};
    STI_TRY(sti_alloc(&m.kernel, sizeof *m.kernel, "kernel"));
    m.kernel->device = device;
    stet_result result = make(&m);
    sti_user_source_free(&m.source);
    sti_compiler_close(&m.compiler);
    sti_buffer_free(&m.key);
    sti_buffer_free(&m.object);
    if (result == STET_OK)
        *out = m.kernel;
    else
        stet_kernel_destroy(m.kernel);
    return result;
}

void stet_kernel_destroy(stet_kernel *k)
{
    if (!k) return;
    sti_record_kernel_gone(k->device, &k->kernel);
    if (k->object_size > 0)
        k->device->mechanisms.counters.mechanism[STET_MECH_kernel_cache].held_bytes -= (int64_t)k->object_size;
    sti_object_unload(&k->object);
    sti_free(k->file);
    sti_free(k);
}

/* ---- signature and launch ---------------------------------------------------------------------------------------- */

const sti_kernel *sti_user_kernel(const stet_kernel *kernel) { return &kernel->kernel; }

stet_device *sti_user_kernel_device(const stet_kernel *kernel) { return kernel->device; }

const char *sti_user_kernel_id(const stet_kernel *kernel) { return kernel->id; }

const char *stet_kernel_name(const stet_kernel *kernel) { return kernel->kernel.name; }

int stet_kernel_nparam(const stet_kernel *kernel)
{
    int n = 0;
    for (int i = 0; i < kernel->kernel.nparam; ++i) n += !kernel->kernel.param[i].index;
    return n;
}

stet_result stet_kernel_get_param(const stet_kernel *kernel, int i, stet_kernel_param *out)
{
    for (int k = 0, at = 0; k < kernel->kernel.nparam; ++k) {
        const sti_param *p = &kernel->kernel.param[k];
        if (p->index || at++ != i) continue;
        stet_arg_kind scalar = p->type == STI_PARAM_UREAL ? STET_ARG_REAL : STET_ARG_INT;
        *out = (stet_kernel_param){.name = p->name,
                                   .type = sti_param_type_name(p->type),
                                   .kind = p->pointer ? STET_ARG_ARRAY : scalar,
                                   .worlds = p->pointer && sti_param_type_worlds(p->type),
                                   .written = p->written};
        return STET_OK;
    }
    return sti_error(STET_INVALID_ARGUMENT, "kernel %s: there is no parameter %d; it has %d", kernel->kernel.name, i,
                     stet_kernel_nparam(kernel));
}

stet_result stet_kernel_launch(stet_kernel *kernel, int64_t count, const stet_arg *args, int narg)
{
    if (!kernel || narg < 0 || (narg > 0 && !args))
        return sti_error(STET_INVALID_ARGUMENT, "stet_kernel_launch: kernel and args must not be NULL");
    if (narg > STI_MAX_PARAMS)
        return sti_error(STET_INVALID_ARGUMENT, "kernel %s takes %d arguments, not %d", kernel->kernel.name,
                         stet_kernel_nparam(kernel), narg);
    sti_arg own[STI_MAX_PARAMS];
    for (int i = 0; i < narg; ++i) {
        switch (args[i].kind) {
        case STET_ARG_ARRAY: own[i] = sti_arg_array(args[i].array); break;
        case STET_ARG_INT: own[i] = sti_arg_int(args[i].i); break;
        case STET_ARG_REAL: own[i] = sti_arg_real(args[i].f); break;
        default:
            return sti_error(STET_INVALID_ARGUMENT,
                             "kernel %s: argument %d is of no kind; make it with stet_arg_array, stet_arg_int or "
                             "stet_arg_real",
                             kernel->kernel.name, i);
        }
    }
    return sti_launch_on(kernel->device, &kernel->kernel, count, own, narg);
}
