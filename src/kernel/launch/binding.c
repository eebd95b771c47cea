/* Bindings; see binding.h for the invariants. */
#include "kernel/launch/binding.h"

#include "base/plural.h"
#include "device/host_mirror.h"
#include "kernel/gpu/programs.h"
#include "kernel/record/record.h"

#include <assert.h>
#include <string.h>

static_assert((int)STI_ARG_ARRAY == (int)STET_ARG_ARRAY && (int)STI_ARG_INT == (int)STET_ARG_INT &&
                  (int)STI_ARG_REAL == (int)STET_ARG_REAL,
              "a caller's kinds are the library's");

/* ---- a caller's arguments ---------------------------------------------------------------------------------------- */

static inline sti_arg arg_of(const stet_arg *arg)
{
    return (sti_arg){(sti_arg_kind)arg->kind, (stet_array *)(uintptr_t)arg->array, arg->i, arg->f};
}

static inline stet_array *array_of(const sti_arg *arg) { return arg->kind == STI_ARG_ARRAY ? arg->array : NULL; }

static inline uint64_t id_of(const sti_arg *arg)
{
    const stet_array *a = array_of(arg);
    return a ? a->version.id : 0;
}

static stet_result check_kind(const sti_kernel *k, const stet_arg *arg, int at)
{
    if ((unsigned)arg->kind <= STET_ARG_REAL) return STET_OK;
    return sti_error(STET_INVALID_ARGUMENT,
                     "kernel %s: argument %d is of no kind; make it with stet_arg_array, stet_arg_int or stet_arg_real",
                     k->name, at);
}

stet_result sti_args_of(const sti_kernel *k, const stet_arg *args, int narg, sti_arg own[STI_MAX_PARAMS])
{
    if (narg < 0 || narg > STI_MAX_PARAMS)
        return sti_error(STET_INVALID_ARGUMENT, "kernel %s takes %d argument%s, not %d", k->name, sti_kernel_narg(k),
                         STI_S(sti_kernel_narg(k)), narg);
    if (narg > 0 && !args)
        return sti_error(STET_INVALID_ARGUMENT, "kernel %s: its arguments must not be NULL", k->name);
    for (int i = 0; i < narg; ++i) {
        STI_TRY(check_kind(k, &args[i], i));
        own[i] = arg_of(&args[i]);
    }
    return STET_OK;
}

/* ---- reusing arguments ------------------------------------------------------------------------------------------- */

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Compares kind and value. Members that the kind does not use are ignored. */
static inline bool same_value(const sti_arg *kept, const stet_arg *now)
{
    if ((int)kept->kind != (int)now->kind) return false;
    if (kept->kind == STI_ARG_ARRAY) return kept->array == now->array;
    return kept->kind == STI_ARG_INT ? kept->i == now->i : bits_of(kept->f) == bits_of(now->f);
}

/* BINDING-1, and the array is up to date. True of most arguments of most launches. */
static inline bool is_reusable(const sti_binding *b, int at, const stet_arg *now)
{
    if (!same_value(&b->arg[at], now)) return false;
    const stet_array *a = array_of(&b->arg[at]);
    return !a || (a->version.id == b->id[at] && a->data == b->launch.slot[at].p && sti_array_is_current(a));
}

static stet_result rebind(sti_binding *b, const stet_device *device, int at, const stet_arg *now)
{
    const sti_kernel *k = b->launch.kernel;
    STI_TRY(check_kind(k, now, at));
    b->arg[at] = arg_of(now);
    STI_TRY(sti_launch_bind(device, k, b->param[at], b->count, &b->arg[at], &b->launch.slot[at]));
    b->id[at] = id_of(&b->arg[at]);
    return STET_OK;
}

/* ---- binding ----------------------------------------------------------------------------------------------------- */

static stet_result bind_all(sti_binding *b, stet_device *device, const sti_kernel *k, int64_t count,
                            const stet_arg *args, int narg)
{
    b->known = false; /* BINDING-5 */
    STI_TRY(sti_args_of(k, args, narg, b->arg));
    STI_TRY(sti_launch_prepare(device, k, count, b->arg, narg, &b->launch));
    if (sti_device_is_gpu(device)) STI_TRY(sti_program_code(device, k, false, &b->launch.code));
    for (int i = 0, at = 0; i < k->nparam; ++i)
        if (!k->param[i].index) b->param[at++] = &k->param[i];
    for (int i = 0; i < narg; ++i) b->id[i] = id_of(&b->arg[i]);
    b->count = count;
    b->known = true;
    return STET_OK;
}

/* Brings an argument's array up to date, or binds the argument again; then *why is the reason. */
static stet_result update_arg(sti_binding *b, const stet_device *device, int at, const stet_arg *now, stet_reason *why)
{
    bool equal = same_value(&b->arg[at], now);
    stet_array *a = equal ? array_of(&b->arg[at]) : NULL;
    *why = STET_REASON_none;
    if (a && a->version.id == b->id[at]) {
        STI_TRY(sti_array_produce(a));
        if (a->data == b->launch.slot[at].p) return STET_OK;
    }
    *why = equal ? STET_REASON_bindings_moved : STET_REASON_bindings_changed;
    return rebind(b, device, at, now);
}

/* *why: the reason of the first argument that was bound again; none: no argument was. */
static stet_result bind_what_differs(sti_binding *b, const stet_device *device, const stet_arg *args, int narg,
                                     stet_reason *why)
{
    bool arrays = false;
    *why = STET_REASON_none;
    for (int i = 0; i < narg; ++i) {
        stet_reason differs;
        if (is_reusable(b, i, &args[i])) continue;
        b->known = false; /* BINDING-5 */
        STI_TRY(update_arg(b, device, i, &args[i], &differs));
        arrays = arrays || (differs != STET_REASON_none && b->arg[i].kind == STI_ARG_ARRAY);
        if (*why == STET_REASON_none) *why = differs;
    }
    if (arrays) sti_launch_list_written(&b->launch);
    b->known = true;
    return STET_OK;
}

/* Binds all arguments again and compares them with those that were reused. */
static stet_result audit(sti_binding *b, stet_device *device)
{
    const sti_launch *had = &b->launch;
    sti_launch fresh;
    b->known = false; /* in case the audit fails */
    STI_TRY(sti_launch_prepare(device, had->kernel, b->count, b->arg, had->nslot, &fresh));
    for (int i = 0; i < had->nslot; ++i)
        if (fresh.slot[i].i != had->slot[i].i || fresh.slot[i].n != had->slot[i].n) /* all bits of the slot */
            return sti_error(STET_AUDIT,
                             "bindings: kernel %s: argument %d (parameter %s) is not what was bound, though it stood; "
                             "switch this mechanism off and report it",
                             had->kernel->name, i, b->param[i]->name);
    b->known = true;
    return STET_OK;
}

static stet_result bind(sti_binding *b, stet_device *device, const sti_kernel *k, int64_t count, const stet_arg *args,
                        int narg)
{
    sti_mechanisms *m = &device->mechanisms;
    stet_reason why = b->known ? STET_REASON_bindings_changed : STET_REASON_bindings_first;
    if (b->known && count == b->count && narg == b->launch.nslot && args)
        STI_TRY(bind_what_differs(b, device, args, narg, &why));
    else
        STI_TRY(bind_all(b, device, k, count, args, narg));
    if (why != STET_REASON_none) {
        sti_count_miss(m, STET_MECH_bindings, why, 0, 0);
        return STET_OK;
    }
    if (m->options.audit) STI_TRY(audit(b, device));
    sti_count_hit(m, STET_MECH_bindings, 0, 0);
    return STET_OK;
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

static stet_result launch_unbound(stet_device *device, const sti_kernel *k, int64_t count, const stet_arg *args,
                                  int narg)
{
    sti_arg own[STI_MAX_PARAMS];
    STI_TRY(sti_args_of(k, args, narg, own));
    return sti_launch_on(device, k, count, own, narg);
}

stet_result sti_binding_launch(sti_binding *b, stet_device *device, const sti_kernel *k, int64_t count,
                               const stet_arg *args, int narg)
{
    sti_mechanisms *m = &device->mechanisms;
    bool enabled = sti_enabled(m, STET_MECH_bindings);
    if (count <= 0) return launch_unbound(device, k, count, args, narg); /* refused, or nothing to launch */
    if (!enabled || b->busy) {
        STI_TRY(launch_unbound(device, k, count, args, narg));
        sti_count_miss(m, STET_MECH_bindings, enabled ? STET_REASON_bindings_reentrant : STET_REASON_bindings_disabled,
                       0, 0);
        return STET_OK;
    }
    b->busy = true;
    stet_result result = bind(b, device, k, count, args, narg);
    if (result == STET_OK) result = sti_launch_issue(device, &b->launch, count, device->listing);
    b->busy = false;
    return result;
}
