/* Code from the cache or a compiler; see cached_compile.h. */
#include "kernel/compile/cached_compile.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE = 1024 };

/* What becomes of one that is wanted. */
typedef struct item {
    sti_wanted *wanted;
    sti_verdict verdict;
    stet_reason why; /* it has to be compiled */
    bool found;      /* in the cache; compiled all the same under audit, into `again` */
    bool compiled;   /* is to be */
    bool counted;    /* its compilation is a miss; if not, a fallback was counted already */
    int lock;        /* of the cache; -1: none is held */
    sti_text_buffer again;
    stet_result result; /* of compiling */
    char message[MESSAGE];
} item;

typedef struct obtainer {
    stet_device *device;
    const sti_keeping *keeping;
    sti_cache cache;
    bool open;
    item *item; /* in the order of their ids */
    int n;
} obtainer;

/* A slower way was taken; the thread's message says why. */
static stet_result fall_back(const obtainer *o, const item *it, stet_reason why)
{
    char where[MESSAGE];
    (void)snprintf(where, sizeof where, "%s: %s", it->wanted->what, stet_last_error());
    return sti_fallback(&o->device->mechanisms, STET_MECH_kernel_cache, why, where);
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

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static stet_result look_cached_compile(obtainer *o, item *it)
{
    STI_TRY(sti_cache_load(&o->cache, &it->wanted->key, &it->wanted->object, &it->verdict));
    it->found = it->verdict == STI_FOUND;
    it->why = reason_of(it->verdict);
    it->counted = true;
    return STET_OK;
}

/* Looks; what is missing is looked for again with its lock held: somebody else may have made it meanwhile. */
static stet_result look_up(obtainer *o, item *it)
{
    STI_TRY(look_cached_compile(o, it));
    if (it->found) return STET_OK;
    it->lock = sti_cache_lock(&o->cache, it->wanted->key.id, true);
    if (it->lock >= 0) return look_cached_compile(o, it);
    it->counted = false;
    (void)sti_error(STET_IO, "kernel cache: the folder allows no locks");
    return fall_back(o, it, STET_REASON_kernel_cache_not_kept);
}

static stet_result look_all(obtainer *o)
{
    if (!sti_enabled(&o->device->mechanisms, STET_MECH_kernel_cache)) {
        for (int i = 0; i < o->n; ++i) {
            o->item[i].why = STET_REASON_kernel_cache_disabled;
            o->item[i].counted = true;
        }
        return STET_OK;
    }
    stet_result result = sti_cache_open(o->keeping->folder, o->keeping->limit, false, &o->cache);
    if (result == STET_OUT_OF_MEMORY) return result;
    o->open = result == STET_OK;
    for (int i = 0; i < o->n; ++i)
        STI_TRY(o->open ? look_up(o, &o->item[i]) : fall_back(o, &o->item[i], STET_REASON_kernel_cache_refused));
    return STET_OK;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* In any thread; messages are a thread's own, so the message goes with the item. */
static void compile_one(void *context, int64_t i, int thread)
{
    obtainer *o = context;
    item *it = &o->item[i];
    (void)thread;
    if (!it->compiled) return;
    it->result = it->wanted->compile(it->wanted->context, it->found ? &it->again : &it->wanted->object);
    if (it->result != STET_OK) (void)snprintf(it->message, sizeof it->message, "%s", stet_last_error());
}

static sti_trace_what traced(const item *it, stet_trace_kind kind)
{
    const sti_wanted *w = it->wanted;
    return (sti_trace_what){
        kind, w->kernel ? w->kernel : w->what, w->what, w->line, STET_REASON_none, (int64_t)w->object.size, 0};
}

/* A trace is one thread's: the event of several that are compiled at the same time bears the first one's name. */
static void compile_traced(obtainer *o, int n, const item *first)
{
    sti_trace *trace = o->device->mechanisms.trace;
    sti_trace_mark mark = {0};
    const sti_trace_what what = traced(first, STET_TRACE_COMPILE);
    stet_result result = STET_OK;
    if (trace) mark = sti_trace_open(trace, &what);
    if (n > 1 && o->keeping->parallel)
        sti_device_parallel(o->device, o->n, compile_one, o);
    else
        for (int i = 0; i < o->n; ++i) compile_one(o, i, 0);
    for (int i = 0; i < o->n; ++i) {
        if (o->item[i].compiled) mark.amount += (int64_t)o->item[i].wanted->object.size;
        if (o->item[i].result != STET_OK) result = o->item[i].result;
    }
    if (trace) sti_trace_close(trace, mark, result);
}

static stet_result compile_all(obtainer *o)
{
    const item *first = NULL;
    int n = 0;
    for (int i = o->n - 1; i >= 0; --i) {
        o->item[i].compiled = !o->item[i].found || o->device->mechanisms.options.audit;
        if (!o->item[i].compiled) continue;
        first = &o->item[i];
        ++n;
    }
    if (n == 0) return STET_OK;
    compile_traced(o, n, first);
    for (int i = 0; i < o->n; ++i)
        if (o->item[i].result != STET_OK) return sti_error(o->item[i].result, "%s", o->item[i].message);
    return STET_OK;
}

/* ---- what comes of it -------------------------------------------------------------------------------------------- */

static stet_result take_hit(obtainer *o, const item *it)
{
    const sti_text_buffer *was = &it->wanted->object;
    if (it->compiled && (it->again.size != was->size || memcmp(it->again.data, was->data, was->size) != 0))
        return sti_error(STET_AUDIT,
                         "kernel_cache: %s: compiled again, the kernel is not what entry %s holds; clear the cache "
                         "and report it",
                         it->wanted->what, it->wanted->key.id);
    const sti_trace_what cached = traced(it, STET_TRACE_CACHED);
    if (o->device->mechanisms.trace) sti_trace_instant(o->device->mechanisms.trace, &cached);
    sti_count_hit(&o->device->mechanisms, STET_MECH_kernel_cache, 0, (int64_t)was->size);
    return STET_OK;
}

static stet_result wait_idle(obtainer *o, const item *it)
{
    const sti_text_buffer *object = &it->wanted->object;
    if (it->found) return take_hit(o, it);
    if (it->counted) sti_count_miss(&o->device->mechanisms, STET_MECH_kernel_cache, it->why, 0, (int64_t)object->size);
    if (it->lock < 0) return STET_OK;
    if (sti_cache_store(&o->cache, &it->wanted->key, object->data, object->size) == STET_OK) return STET_OK;
    return fall_back(o, it, STET_REASON_kernel_cache_not_kept);
}

static stet_result obtain(obtainer *o)
{
    STI_TRY(look_all(o));
    STI_TRY(compile_all(o));
    for (int i = 0; i < o->n; ++i) STI_TRY(wait_idle(o, &o->item[i]));
    return STET_OK;
}

/* COMPILE-3 */
static void order(obtainer *o, sti_wanted *wanted)
{
    for (int i = 0; i < o->n; ++i) {
        int at = i;
        for (; at > 0 && strcmp(o->item[at - 1].wanted->key.id, wanted[i].key.id) > 0; --at)
            o->item[at].wanted = o->item[at - 1].wanted;
        o->item[at].wanted = &wanted[i];
    }
    for (int i = 0; i < o->n; ++i) o->item[i].lock = -1;
}

stet_result sti_cached_compile(stet_device *device, const sti_keeping *keeping, sti_wanted *wanted, int n)
{
    obtainer o = {.device = device, .keeping = keeping, .n = n};
    STI_TRY(sti_alloc(&o.item, (size_t)n * sizeof *o.item, "kernels to be compiled"));
    order(&o, wanted);
    stet_result result = obtain(&o);
    for (int i = 0; i < n; ++i) {
        if (o.item[i].lock >= 0) sti_cache_unlock(&o.cache, o.item[i].wanted->key.id, o.item[i].lock);
        sti_text_buffer_free(&o.item[i].again);
    }
    if (o.open) sti_cache_close(&o.cache);
    sti_free(o.item);
    return result;
}
