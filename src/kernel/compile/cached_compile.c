/* Code from the cache or a compiler; see cached_compile.h. */
#include "kernel/compile/cached_compile.h"
#include "kernel/compile/compiling.h"

#include "base/hash.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE = 1024, AUDITED_MOST = 1024 };

/* Hashes of the last entries that audits of this process have compiled: of id and code (COMPILE-5). */
static struct {
    pthread_mutex_t lock;
    uint64_t entry[AUDITED_MOST];
    size_t n; /* in all; the oldest are written over */
} audited = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The state of one request. */
typedef struct item {
    sti_compile_request *wanted;
    sti_verdict verdict;
    stet_reason why; /* the reason to compile it */
    bool found;      /* in the cache; in audit mode it is compiled again, into `again` */
    bool compiled;   /* it is to be compiled */
    bool counted;    /* its compilation counts as a miss; false: a fallback was counted already */
    int lock;        /* of the cache; -1: not held */
    sti_text_buffer again;
    stet_result result; /* of the compilation */
    char message[MESSAGE];
} item;

typedef struct compilation {
    stet_device *device;
    const sti_cache_options *keeping;
    sti_cache cache;
    bool open;
    item *item; /* in the order of their ids */
    int n;
} compilation;

stet_result sti_compile_fall_back(stet_device *device, const sti_compile_request *wanted, stet_reason why)
{
    char where[MESSAGE];
    (void)snprintf(where, sizeof where, "%s: %s", wanted->what, stet_get_last_error());
    return sti_fallback(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, why, where);
}

static stet_result fall_back(const compilation *o, const item *it, stet_reason why)
{
    return sti_compile_fall_back(o->device, it->wanted, why);
}

stet_reason sti_compile_reason(sti_verdict verdict)
{
    switch (verdict) {
    case STI_DAMAGED: return STET_REASON_KERNEL_CACHE_DAMAGED;
    case STI_FOREIGN: return STET_REASON_KERNEL_CACHE_FOREIGN;
    case STI_OTHER_SCHEMA: return STET_REASON_KERNEL_CACHE_SCHEMA;
    case STI_COLLISION: return STET_REASON_KERNEL_CACHE_COLLISION;
    default: return STET_REASON_KERNEL_CACHE_ABSENT;
    }
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static uint64_t hash_of_entry(const item *it, const sti_text_buffer *code)
{
    sti_hash h;
    sti_hash_begin(&h);
    sti_hash_add(&h, it->wanted->key.id, strlen(it->wanted->key.id));
    sti_hash_add(&h, code->data, code->size);
    return sti_hash_end(&h);
}

static void remember_audited(const item *it)
{
    pthread_mutex_lock(&audited.lock);
    audited.entry[audited.n++ % AUDITED_MOST] = hash_of_entry(it, &it->again);
    pthread_mutex_unlock(&audited.lock);
}

static bool was_audited(const item *it)
{
    uint64_t entry = hash_of_entry(it, &it->wanted->object);
    bool found = false;
    pthread_mutex_lock(&audited.lock);
    for (size_t i = 0; i < audited.n && i < AUDITED_MOST && !found; ++i) found = audited.entry[i] == entry;
    pthread_mutex_unlock(&audited.lock);
    return found;
}

static stet_result load_cached(compilation *o, item *it)
{
    STI_TRY(sti_cache_load(&o->cache, &it->wanted->key, &it->wanted->object, &it->verdict));
    it->found = it->verdict == STI_FOUND;
    it->why = sti_compile_reason(it->verdict);
    it->counted = true;
    return STET_OK;
}

/*
 * Looks an entry up. A missing one is looked up again while its lock is held, because another process may have made it
 * meanwhile.
 */
static stet_result look_up(compilation *o, item *it)
{
    STI_TRY(load_cached(o, it));
    if (it->found) return STET_OK;
    it->lock = sti_cache_lock(&o->cache, it->wanted->key.id, true);
    if (it->lock >= 0) return load_cached(o, it);
    it->counted = false;
    (void)sti_error(STET_ERROR_IO, "kernel cache: the folder allows no locks");
    return fall_back(o, it, STET_REASON_KERNEL_CACHE_NOT_KEPT);
}

static stet_result look_up_all(compilation *o)
{
    if (!sti_enabled(&o->device->mechanisms, STET_MECHANISM_KERNEL_CACHE)) {
        for (int i = 0; i < o->n; ++i) {
            o->item[i].why = STET_REASON_KERNEL_CACHE_DISABLED;
            o->item[i].counted = true;
        }
        return STET_OK;
    }
    stet_result result = sti_cache_open(o->keeping->folder, o->keeping->limit, false, &o->cache);
    if (result == STET_ERROR_OUT_OF_MEMORY) return result;
    o->open = result == STET_OK;
    for (int i = 0; i < o->n; ++i)
        STI_TRY(o->open ? look_up(o, &o->item[i]) : fall_back(o, &o->item[i], STET_REASON_KERNEL_CACHE_REFUSED));
    return STET_OK;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* Runs in any thread. Messages belong to a thread, so the message is copied into the item. */
static void compile_one(void *context, int64_t i, int thread)
{
    compilation *o = context;
    item *it = &o->item[i];
    (void)thread;
    assert(it->wanted->compile && it->wanted->what);
    if (!it->compiled) return;
    sti_compiling_name(it->wanted->what);
    it->result = it->wanted->compile(it->wanted->context, it->found ? &it->again : &it->wanted->object);
    if (it->result != STET_OK) (void)snprintf(it->message, sizeof it->message, "%s", stet_get_last_error());
    sti_compiling_done();
}

static sti_trace_what trace_event(const sti_compile_request *w, stet_trace_kind kind)
{
    return (sti_trace_what){
        kind, w->kernel ? w->kernel : w->what, w->what, w->line, STET_REASON_NONE, (int64_t)w->object.size, 0};
}

/* A trace belongs to one thread: one event covers all parallel compilations and has the name of the first. */
static void compile_traced(compilation *o, int n, const item *first)
{
    sti_trace *trace = o->device->mechanisms.trace;
    sti_trace_mark mark = {0};
    const sti_trace_what what = trace_event(first->wanted, STET_TRACE_COMPILE);
    stet_result result = STET_OK;
    if (trace) mark = sti_trace_open(trace, &what);
    if (n > 1 && o->keeping->parallel) /* no limit on threads: they wait for compilers */
        sti_device_parallel(o->device, o->n, (double)INFINITY, compile_one, o);
    else
        for (int i = 0; i < o->n; ++i) compile_one(o, i, 0);
    for (int i = 0; i < o->n; ++i) {
        if (o->item[i].compiled) mark.amount += (int64_t)o->item[i].wanted->object.size;
        if (o->item[i].result != STET_OK) result = o->item[i].result;
    }
    if (trace) sti_trace_close(trace, mark, result);
}

static stet_result compile_all(compilation *o)
{
    const item *first = NULL;
    int n = 0;
    for (int i = o->n - 1; i >= 0; --i) {
        o->item[i].compiled = !o->item[i].found || (o->device->mechanisms.options.audit && !was_audited(&o->item[i]));
        if (!o->item[i].compiled) continue;
        first = &o->item[i];
        ++n;
    }
    if (n == 0) return STET_OK;
    sti_compiling_begin(first->wanted->what, n);
    compile_traced(o, n, first);
    sti_compiling_end();
    for (int i = 0; i < o->n; ++i)
        if (o->item[i].result != STET_OK) return sti_error(o->item[i].result, "%s", o->item[i].message);
    return STET_OK;
}

/* ---- what comes of it -------------------------------------------------------------------------------------------- */

static void trace_cached(const stet_device *device, const sti_compile_request *wanted)
{
    const sti_trace_what cached = trace_event(wanted, STET_TRACE_CACHED);
    if (device->mechanisms.trace) sti_trace_instant(device->mechanisms.trace, &cached);
}

void sti_compile_count_shipped(stet_device *device, const sti_compile_request *wanted)
{
    trace_cached(device, wanted);
    sti_count_miss(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, STET_REASON_KERNEL_CACHE_SHIPPED, 0,
                   (int64_t)wanted->object.size);
}

stet_result sti_compile_unfit(stet_device *device, const sti_compile_request *wanted, sti_verdict verdict)
{
    (void)sti_error(STET_ERROR_IO, "the shipped entry %s.kernel is %s; install stet again", wanted->key.id,
                    verdict == STI_OTHER_SCHEMA ? "of another version" : "damaged");
    return sti_compile_fall_back(device, wanted, STET_REASON_KERNEL_CACHE_UNFIT);
}

void sti_compile_count_cached(stet_device *device, const sti_compile_request *wanted)
{
    trace_cached(device, wanted);
    sti_count_hit(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, 0, (int64_t)wanted->object.size);
}

static stet_result count_cached(const compilation *o, const item *it)
{
    const sti_text_buffer *was = &it->wanted->object;
    if (it->compiled && (it->again.size != was->size || memcmp(it->again.data, was->data, was->size) != 0))
        return sti_error(STET_ERROR_AUDIT,
                         "kernel_cache: %s: compiled again, the kernel is not what entry %s holds; clear the cache "
                         "and report it",
                         it->wanted->what, it->wanted->key.id);
    if (it->compiled) remember_audited(it);
    sti_compile_count_cached(o->device, it->wanted);
    return STET_OK;
}

static stet_result finish_request(compilation *o, const item *it)
{
    const sti_text_buffer *object = &it->wanted->object;
    if (it->found) return count_cached(o, it);
    if (it->counted)
        sti_count_miss(&o->device->mechanisms, STET_MECHANISM_KERNEL_CACHE, it->why, 0, (int64_t)object->size);
    if (it->lock < 0) return STET_OK;
    assert(o->open && "a lock is one of an open cache");
    if (sti_cache_store(&o->cache, &it->wanted->key, object->data, object->size) == STET_OK) return STET_OK;
    return fall_back(o, it, STET_REASON_KERNEL_CACHE_NOT_KEPT);
}

static stet_result compile_missing(compilation *o)
{
    STI_TRY(look_up_all(o));
    STI_TRY(compile_all(o));
    for (int i = 0; i < o->n; ++i) STI_TRY(finish_request(o, &o->item[i]));
    return STET_OK;
}

/* COMPILE-3 */
static void sort_by_id(compilation *o, sti_compile_request *wanted)
{
    for (int i = 0; i < o->n; ++i) {
        int at = i;
        for (; at > 0 && strcmp(o->item[at - 1].wanted->key.id, wanted[i].key.id) > 0; --at)
            o->item[at].wanted = o->item[at - 1].wanted;
        o->item[at].wanted = &wanted[i];
    }
    for (int i = 0; i < o->n; ++i) {
        assert((i == 0 || strcmp(o->item[i - 1].wanted->key.id, o->item[i].wanted->key.id) < 0) && "COMPILE-3");
        o->item[i].lock = -1;
    }
}

stet_result sti_cached_compile(stet_device *device, const sti_cache_options *keeping, sti_compile_request *wanted,
                               int n)
{
    compilation o = {.device = device, .keeping = keeping, .n = n};
    assert(n > 0 && wanted);
    STI_TRY(sti_alloc(&o.item, (size_t)n * sizeof *o.item, "kernels to be compiled"));
    sort_by_id(&o, wanted);
    stet_result result = compile_missing(&o);
    for (int i = 0; i < n; ++i) {
        if (o.item[i].lock >= 0) sti_cache_unlock(&o.cache, o.item[i].wanted->key.id, o.item[i].lock);
        sti_text_buffer_free(&o.item[i].again);
    }
    if (o.open) sti_cache_close(&o.cache);
    sti_free(o.item);
    return result;
}
