/* Bindings; see binding.h for the invariants. */
#include "kernel/launch/binding.h"

#include "base/plural.h"
#include "device/host_mirror.h"
#include "kernel/gpu/programs.h"

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
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "kernel %s: argument %d is of no kind; make it with stet_arg_array, stet_arg_int or stet_arg_real",
                     k->name, at);
}

stet_result sti_args_of(const sti_kernel *k, const stet_arg *args, int narg, sti_arg own[STI_MAX_PARAMS])
{
    if (narg < 0 || narg > STI_MAX_PARAMS)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s takes %d argument%s, not %d", k->name,
                         sti_kernel_narg(k), STI_S(sti_kernel_narg(k)), narg);
    if (narg > 0 && !args)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: its arguments must not be NULL", k->name);
    for (int i = 0; i < narg; ++i) {
        STI_TRY(check_kind(k, &args[i], i));
        own[i] = arg_of(&args[i]);
    }
    return STET_OK;
}

/* ---- what is still equal ----------------------------------------------------------------------------------------- */

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The same kind and value; what a kind does not use is not looked at. */
static inline bool same(const sti_arg *kept, const stet_arg *now)
{
    if ((int)kept->kind != (int)now->kind) return false;
    if (kept->kind == STI_ARG_ARRAY) return kept->array == now->array;
    return kept->kind == STI_ARG_INT ? kept->i == now->i : bits_of(kept->f) == bits_of(now->f);
}

/* BINDING-1, and nobody has to bring its array up to date. */
static inline bool stands(const sti_binding *b, int at, const stet_arg *now)
{
    if (!same(&b->arg[at], now)) return false;
    const stet_array *a = array_of(&b->arg[at]);
    return !a || (a->version.id == b->id[at] && a->data == b->launch.slot[at].p && sti_array_is_current(a));
}

static stet_result rebind(sti_binding *b, const stet_device *device, int at, const stet_arg *now)
{
    assert(at >= 0 && at < b->launch.nslot && !b->known && "BINDING-5");
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
    if (device->can.compiles) STI_TRY(sti_program_code(device, k, false, &b->launch.code));
    for (int i = 0, at = 0; i < k->nparam; ++i)
        if (!k->param[i].index) b->param[at++] = &k->param[i];
    for (int i = 0; i < narg; ++i) b->id[i] = id_of(&b->arg[i]);
    b->count = count;
    b->known = true;
    return STET_OK;
}

static stet_result bind_what_differs(sti_binding *b, const stet_device *device, const stet_arg *args, int narg)
{
    bool arrays = false;
    for (int i = 0; i < narg; ++i) {
        if (stands(b, i, &args[i])) continue;
        b->known = false; /* BINDING-5 */
        STI_TRY(rebind(b, device, i, &args[i]));
        arrays = arrays || b->arg[i].kind == STI_ARG_ARRAY;
    }
    if (arrays) sti_launch_list_written(&b->launch);
    b->known = true;
    return STET_OK;
}

stet_result sti_binding_update(sti_binding *b, stet_device *device, const sti_kernel *k, int64_t count,
                               const stet_arg *args, int narg)
{
    if (b->known && count == b->count && narg == b->launch.nslot && args)
        return bind_what_differs(b, device, args, narg);
    return bind_all(b, device, k, count, args, narg);
}
